// SPDX-License-Identifier: GPL-2.0
/*
 * The client file system's module: caches, the work queue, registration.
 *
 * The work queue carries what callbacks can't do (COMMIT, CLOSE, sending
 * again, the end of direct writes).  Writeback depends on it, hence
 * WQ_MEM_RECLAIM; its work items wait for the server and not for each other.
 */
#include <linux/module.h>
#include "client.h"

struct workqueue_struct *rdmafs_wq;

static int __init rdmafs_init(void)
{
	int err;

	rdmafs_wq = alloc_workqueue("rdmafs", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!rdmafs_wq)
		return -ENOMEM;
	err = rdmafs_op_init();
	if (err)
		goto err_wq;
	err = rdmafs_inode_init();
	if (err)
		goto err_op;
	err = register_filesystem(&rdmafs_type);
	if (err)
		goto err_inode;
	return 0;

err_inode:
	rdmafs_inode_exit();
err_op:
	rdmafs_op_exit();
err_wq:
	destroy_workqueue(rdmafs_wq);
	return err;
}

static void __exit rdmafs_exit(void)
{
	unregister_filesystem(&rdmafs_type);
	destroy_workqueue(rdmafs_wq);
	rdmafs_inode_exit();
	rdmafs_op_exit();
}

module_init(rdmafs_init);
module_exit(rdmafs_exit);

MODULE_DESCRIPTION("rdmafs: client file system");
MODULE_LICENSE("GPL");
MODULE_ALIAS_FS("rdmafs");
