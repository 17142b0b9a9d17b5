// SPDX-License-Identifier: GPL-2.0
/* Load and unload the client file system: what all mounts have in common, its name in the VFS. */
#include <linux/module.h>
#include "client.h"
#include "op.h"

static int __init rdmafs_init(void)
{
	int err;

	rdmafs_idmap_init();
	err = rdmafs_op_init();
	if (err)
		return err;
	err = rdmafs_inode_init();
	if (err)
		goto err_op;
	err = rdmafs_export_init();
	if (err)
		goto err_inode;
	err = rdmafs_share_init();
	if (err)
		goto err_export;
	err = register_filesystem(&rdmafs_type);
	if (err)
		goto err_share;
	return 0;

err_share:
	rdmafs_share_exit();
err_export:
	rdmafs_export_exit();
err_inode:
	rdmafs_inode_exit();
err_op:
	rdmafs_op_exit();
	return err;
}

static void __exit rdmafs_exit(void)
{
	unregister_filesystem(&rdmafs_type);
	rdmafs_share_exit();
	rdmafs_export_exit();
	/* Waits for RCU walks, which may leave notes. */
	rdmafs_inode_exit();
	rdmafs_idmap_exit();
	rdmafs_op_exit();
}

module_init(rdmafs_init);
module_exit(rdmafs_exit);

MODULE_DESCRIPTION("rdmafs: client file system");
MODULE_LICENSE("GPL");
MODULE_ALIAS_FS("rdmafs");
