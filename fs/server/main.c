// SPDX-License-Identifier: GPL-2.0
/*
 * rdmafsd: loading and unloading, and the parameter of the module.
 *
 * Nothing is served until the administrator enables it in configfs.  Each directory made there
 * holds a reference to the module, and so does each export that ends.  So when the module is
 * unloaded there are no exports, no ports and hence no sessions.  There may be notes of opens
 * that clients may come back for (cut.c), processes that just look at a client's lock
 * (lockowner.c), and memory that waits for an RCU grace period.
 */
#include <linux/module.h>
#include "server.h"
#include "opened.h"

/*
 * The workers are armed by the former time, so all of them are made to look at once.  A parameter
 * may be written before the module's init and after its exit, too: then there are neither notes
 * nor exports, and no worker is armed.
 */
static int rdmafsd_reclaim_set(const char *val, const struct kernel_param *kp)
{
	int err = param_set_uint(val, kp);

	if (err)
		return err;
	rdmafsd_cuts_rearm();
	rdmafsd_exports_rearm();
	return 0;
}

static const struct kernel_param_ops rdmafsd_reclaim_ops = {
	.set = rdmafsd_reclaim_set,
	.get = param_get_uint,
};

module_param_cb(reclaim_s, &rdmafsd_reclaim_ops, &rdmafsd_reclaim_s, 0644);
__MODULE_PARM_TYPE(reclaim_s, "uint");
MODULE_PARM_DESC(reclaim_s, "seconds for which a client may open again what it had open");

static int __init rdmafsd_init(void)
{
	int err;

	rdmafsd_changes_init();
	rdmafsd_opens_init();
	err = rdmafsd_creds_init();
	if (err)
		return err;
	err = rdmafsd_reap_init();
	if (err)
		goto out_creds;
	err = rdmafsd_exports_init();
	if (err)
		goto out_reap;
	err = rdmafsd_sessions_init();
	if (err)
		goto out_exports;
	err = rdmafsd_locks_init();
	if (err)
		goto out_sessions;
	err = rdmafsd_configfs_init();
	if (err)
		goto out_locks;
	return 0;

out_locks:
	rdmafsd_locks_exit();
out_sessions:
	rdmafsd_sessions_exit();
out_exports:
	rdmafsd_exports_exit();
out_reap:
	rdmafsd_reap_exit();
out_creds:
	rdmafsd_creds_exit();
	return err;
}

static void __exit rdmafsd_exit(void)
{
	rdmafsd_configfs_exit();
	rdmafsd_locks_exit();
	rdmafsd_sessions_exit();
	rdmafsd_exports_exit();
	rdmafsd_cuts_exit();
	rdmafsd_reap_exit();
	rcu_barrier();
	rdmafsd_creds_exit();
}

module_init(rdmafsd_init);
module_exit(rdmafsd_exit);

MODULE_DESCRIPTION("rdmafs server");
MODULE_LICENSE("GPL");
MODULE_SOFTDEP("pre: configfs");
