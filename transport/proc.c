// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/fs/rdmafs: a directory for each RNIC, each mount, each client of a server and each port
 * of a server.  Documentation/ABI/proc-rdmafs describes every line.
 *
 * A mount's files are for the network namespace that it was mounted in: a task in another one
 * gets ENOENT.
 *
 * The end of an owner (RNIC, mount, session, server) must not wait for a task that reads or
 * writes a file: the task copies from or to its own memory, which may map a file whose server is
 * dead.  But proc_remove() waits for every task that is in a method of proc's.  So rxp_proc_ops
 * has no method of ours but open, which touches no user memory: it gives the file the operations
 * in rxp_proc_fops, and takes references on the directory and the module for them.  These test,
 * with the directory's lock held, whether the owner still exists, and return EIO if not.
 */
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/wait_bit.h>
#include "transport/internal.h"

static struct proc_dir_entry *rxp_proc_root;

/* More than any quota needs; a longer write is refused as a whole. */
#define RXP_PROC_WRITE_MAX	256

static const char * const rxp_stat_names[RXP_NR_STATS] = {
	[RXP_STAT_calls] = "calls",
	[RXP_STAT_replies] = "replies",
	[RXP_STAT_served_now] = "served_now",
	[RXP_STAT_served_by_thread] = "served_by_thread",
	[RXP_STAT_msgs_sent] = "msgs_sent",
	[RXP_STAT_msgs_joined] = "msgs_joined",
	[RXP_STAT_msgs_received] = "msgs_received",
	[RXP_STAT_send_completions] = "send_completions",
	[RXP_STAT_doorbells] = "doorbells",
	[RXP_STAT_read_inline] = "read_inline",
	[RXP_STAT_read_rdma] = "read_rdma",
	[RXP_STAT_read_overlapped] = "read_overlapped",
	[RXP_STAT_read_in_place] = "read_in_place",
	[RXP_STAT_write_inline] = "write_inline",
	[RXP_STAT_write_rdma] = "write_rdma",
	[RXP_STAT_write_granted] = "write_granted",
	[RXP_STAT_bytes_read] = "bytes_read",
	[RXP_STAT_bytes_written] = "bytes_written",
	[RXP_STAT_rdma_writes] = "rdma_writes",
	[RXP_STAT_reg_mr] = "reg_mr",
	[RXP_STAT_local_inv] = "local_inv",
	[RXP_STAT_remote_inv] = "remote_inv",
	[RXP_STAT_mr_alloc] = "mr_alloc",
	[RXP_STAT_mr_free] = "mr_free",
	[RXP_STAT_bounced] = "bounced",
	[RXP_STAT_grants_made] = "sinks_granted",
	[RXP_STAT_grants_returned] = "sinks_returned",
	[RXP_STAT_grants_recalled] = "sinks_recalled",
	[RXP_STAT_grants_recalled_us] = "sinks_recalled_us",
	[RXP_STAT_recalls] = "recalls",
	[RXP_STAT_returns] = "returns",
	[RXP_STAT_retry_later] = "retry_later",
	[RXP_STAT_cancelled] = "cancelled",
	[RXP_STAT_replays] = "replays",
	[RXP_STAT_reconnects] = "reconnects",
	[RXP_STAT_session_resets] = "session_resets",
	[RXP_STAT_protocol_errors] = "protocol_errors",
	[RXP_STAT_rpc_us] = "rpc_us",
	[RXP_STAT_poll_hits] = "poll_hits",
	[RXP_STAT_poll_misses] = "poll_misses",
};

/**
 * rxp_stats_init - make a set of counters
 * @st: the set to fill in
 *
 * Context: Process context, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rxp_stats_init(struct rxp_stats *st)
{
	atomic_set(&st->pools, 0);
	st->v = __alloc_percpu(RXP_NR_STATS * sizeof(u64), sizeof(u64));
	return st->v ? 0 : -ENOMEM;
}

/**
 * rxp_stats_wait - wait until no pool counts in a set any more
 * @st: the set; no new pool will use it, and the caller holds no reference on one that does
 *
 * It does not flush the workqueue: other work there may wait for a server, or for translations,
 * and take as long as they do.
 *
 * Context: Process context, sleeps.
 */
void rxp_stats_wait(struct rxp_stats *st)
{
	wait_var_event(&st->pools, !atomic_read_acquire(&st->pools));
}

/**
 * rxp_stats_destroy - free a set of counters
 * @st: the set; rxp_stats_wait() has returned if pools have used it
 *
 * Context: Process context.
 */
void rxp_stats_destroy(struct rxp_stats *st)
{
	free_percpu(st->v);
	st->v = NULL;
}

/**
 * rxp_stats_show - write counters as "name value" lines
 * @m:  the file
 * @st: the set
 *
 * Context: Process context; takes no lock.
 */
void rxp_stats_show(struct seq_file *m, const struct rxp_stats *st)
{
	int i, cpu;

	for (i = 0; i < RXP_NR_STATS; i++) {
		u64 sum = 0;

		for_each_possible_cpu(cpu)
			sum += per_cpu_ptr(st->v, cpu)[i];
		seq_printf(m, "%s %llu\n", rxp_stat_names[i], sum);
	}
}

/* ------------------------------------------------------------ directories, files */

struct rxp_proc_file {
	struct rxp_proc_dir *dir;
	const struct rxp_proc_kind *kind;
};

/*
 * The owner holds one reference until it ends, and each open file holds one.
 *
 * @lock: a reader keeps the owner alive; the owner takes it for writing when it ends.  No user
 * memory is touched with it held, and its holder waits for nothing but, when a quota is changed,
 * a device.
 *
 * @change: inside @lock.  It serialises writes, so that a write changes the values that it names
 * and no others, even beside another write.  A write to a file that is at_once does not take it:
 * aborting a mount does not wait for a change of its quota.
 */
struct rxp_proc_dir {
	struct kref ref;
	struct rw_semaphore lock;
	struct mutex change;		/* held during write() unless the file is at_once */
	void *owner;			/* guarded by lock; NULL: it has ended */
	const struct net *net;		/* where the files can be opened; NULL: everywhere */
	struct proc_dir_entry *entry;	/* NULL: not linked in /proc */
	int nr;				/* number of files */
	struct rxp_proc_file files[];
};

static void rxp_proc_dir_release(struct kref *ref)
{
	struct rxp_proc_dir *dir = container_of(ref, struct rxp_proc_dir, ref);

	mutex_destroy(&dir->change);
	kfree(dir);
}

static int rxp_proc_show(struct seq_file *m, void *v)
{
	const struct rxp_proc_file *f = m->private;
	int ret = -EIO;

	down_read(&f->dir->lock);
	if (f->dir->owner) {
		f->kind->show(m, f->dir->owner);
		ret = 0;
	}
	up_read(&f->dir->lock);
	return ret;
}

/* Copy a write's text without its newline; the caller frees it.  May sleep; no lock held. */
static char *rxp_proc_text(const char __user *ubuf, size_t len)
{
	char *text;

	if (!len || len > RXP_PROC_WRITE_MAX)
		return ERR_PTR(-EINVAL);
	text = memdup_user_nul(ubuf, len);
	if (IS_ERR(text))
		return text;
	if (strlen(text) != len) {
		kfree(text);
		return ERR_PTR(-EINVAL);
	}
	if (text[len - 1] == '\n')
		text[len - 1] = '\0';
	return text;
}

static ssize_t rxp_proc_write(struct file *file, const char __user *ubuf, size_t len, loff_t *pos)
{
	const struct rxp_proc_file *f = ((struct seq_file *)file->private_data)->private;
	int ret = -EIO;
	char *text;

	if (!f->kind->write)
		return -EIO;
	text = rxp_proc_text(ubuf, len);
	if (IS_ERR(text))
		return PTR_ERR(text);
	down_read(&f->dir->lock);
	if (!f->kind->at_once)
		mutex_lock(&f->dir->change);
	if (f->dir->owner)
		ret = f->kind->write(f->dir->owner, text);
	if (!f->kind->at_once)
		mutex_unlock(&f->dir->change);
	up_read(&f->dir->lock);
	kfree(text);
	return ret ? ret : len;
}

static int rxp_proc_release(struct inode *inode, struct file *file)
{
	const struct rxp_proc_file *f = ((struct seq_file *)file->private_data)->private;

	kref_put(&f->dir->ref, rxp_proc_dir_release);
	return single_release(inode, file);
}

static const struct file_operations rxp_proc_fops = {
	.owner = THIS_MODULE,
	.read_iter = seq_read_iter,
	.splice_read = copy_splice_read,
	.write = rxp_proc_write,
	.llseek = seq_lseek,
	.release = rxp_proc_release,
};

/* The owner exists: before it ends, it calls proc_remove(), which waits until this returns. */
static int rxp_proc_open(struct inode *inode, struct file *file)
{
	struct rxp_proc_file *f = pde_data(inode);
	const struct file_operations *fops;
	unsigned int nofs;
	int ret;

	if (f->dir->net && !net_eq(current->nsproxy->net_ns, f->dir->net))
		return -ENOENT;
	fops = fops_get(&rxp_proc_fops);
	if (!fops)
		return -ENODEV;
	/* Reclaim might wait for the server of another mount, and the owner's end waits for us. */
	nofs = memalloc_nofs_save();
	ret = single_open(file, rxp_proc_show, f);
	memalloc_nofs_restore(nofs);
	if (ret) {
		fops_put(fops);
		return ret;
	}
	kref_get(&f->dir->ref);
	replace_fops(file, fops);
	return 0;
}

/* No other methods: proc_remove() would wait for them as well. */
static const struct proc_ops rxp_proc_ops = {
	.proc_open = rxp_proc_open,
	.proc_lseek = seq_lseek,	/* never called; without it the file can't seek */
};

/*
 * Take the directory out of /proc.  Afterwards no task can look it up, and each task that was in
 * open has finished.
 */
static void rxp_proc_unlink(struct rxp_proc_dir *dir)
{
	proc_remove(dir->entry);
	dir->entry = NULL;
}

/*
 * Link the directory in /proc, under a name that no other directory has.  Returns false without
 * memory.
 */
static bool rxp_proc_link(struct rxp_proc_dir *dir, const char *name)
{
	struct rxp_proc_file *f;

	dir->entry = proc_mkdir(name, rxp_proc_root);
	if (!dir->entry)
		return false;
	for (f = dir->files; f < dir->files + dir->nr; f++) {
		if (!proc_create_data(f->kind->name, f->kind->write ? 0644 : 0444, dir->entry,
				      &rxp_proc_ops, f)) {
			rxp_proc_unlink(dir);
			return false;
		}
	}
	return true;
}

/**
 * rxp_proc_remove - remove a directory
 * @dir: the directory, or NULL
 *
 * The owner is not used any more when this returns.  This does not wait until open files are
 * closed.
 *
 * Context: Process context, sleeps; takes @dir's lock for writing.
 */
void rxp_proc_remove(struct rxp_proc_dir *dir)
{
	if (!dir)
		return;
	rxp_proc_unlink(dir);
	down_write(&dir->lock);
	dir->owner = NULL;
	up_write(&dir->lock);
	kref_put(&dir->ref, rxp_proc_dir_release);
}

/* Make a directory that is not linked in /proc yet.  Returns NULL without memory. */
static struct rxp_proc_dir *rxp_proc_alloc(const struct net *net, const struct rxp_proc_kind *kinds,
					   int nr, void *owner)
{
	struct rxp_proc_dir *dir = kzalloc(struct_size(dir, files, nr), GFP_KERNEL);
	int i;

	if (!dir)
		return NULL;
	kref_init(&dir->ref);
	init_rwsem(&dir->lock);
	mutex_init(&dir->change);
	dir->owner = owner;
	dir->net = net;
	dir->nr = nr;
	for (i = 0; i < nr; i++) {
		dir->files[i].dir = dir;
		dir->files[i].kind = &kinds[i];
	}
	return dir;
}

/**
 * rxp_proc_make - make a directory
 * @name:  its name
 * @net:   the network namespace in which its files can be opened; NULL: all
 * @kinds: its files
 * @nr:    number of @kinds
 * @owner: what the files show; it removes the directory before it ends
 *
 * Context: Process context, may sleep.
 *
 * Return: the directory, or NULL without memory.
 */
struct rxp_proc_dir *rxp_proc_make(const char *name, const struct net *net,
				   const struct rxp_proc_kind *kinds, int nr, void *owner)
{
	struct rxp_proc_dir *dir = rxp_proc_alloc(net, kinds, nr, owner);

	if (dir && !rxp_proc_link(dir, name)) {
		rxp_proc_remove(dir);
		return NULL;
	}
	return dir;
}

/* --------------------------------------------------------------- mounts, clients */

static void rxp_mount_show(struct seq_file *m, void *owner)
{
	struct rxp_proc *p = owner;

	p->show_mount(m, p->owner);
}

static void rxp_window_show(struct seq_file *m, void *owner)
{
	struct rxp_proc *p = owner;
	struct rxp_pool *pool = p->pool(p->owner);
	struct rpol_member_stats st;

	p->show_window(m, p->owner);
	if (pool) {
		rpol_member_get_stats(pool->member, &st);
		seq_printf(m, "device %s\n", pool->rdev->ib->name);
		seq_printf(m, "charged %llu\nin_use %llu\nidle %llu\nlent %llu\n", st.charged,
			   st.in_use, st.idle, st.lent);
		seq_printf(m, "waiting %llu\nwaiters %llu\n", st.waiting, st.waiters);
		seq_printf(m, "demand %llu\nentitlement %llu\ndeficit_us %lld\n", st.demand,
			   st.entitlement, st.deficit_us);
		if (st.window == RPOL_NO_WINDOW)
			seq_puts(m, "window none\n");
		else
			seq_printf(m, "window %llu\n", st.window);
		rxp_pool_put(pool);
	}
}

/* Show what the policy counts for a member. */
static void rxp_account_show(struct seq_file *m, const struct rpol_member_stats *st)
{
	seq_printf(m, "grants %llu\nwaits %llu\nrefused %llu\nreclaims %llu\n",
		   st->grants, st->waits, st->refused, st->reclaims);
	seq_printf(m, "revocations %llu\nwindow_cuts %llu\n", st->revoked, st->cuts);
	seq_printf(m, "charged_us %llu\nbound_us %llu\nconverting_us %llu\n", st->charged_us,
		   st->bound_us, st->converting_us);
	seq_printf(m, "idle_us %llu\nidle_waited_us %llu\nwaiting_us %llu\n", st->idle_us,
		   st->idle_waited_us, st->waiting_us);
	seq_printf(m, "wait_us %llu\nwait_max_us %llu\ncharged_peak %llu\n",
		   div_u64(st->wait_ns, NSEC_PER_USEC), div_u64(st->wait_max_ns, NSEC_PER_USEC),
		   st->charged_peak);
}

/*
 * Show waits by length: each line counts waits shorter than its number of microseconds, but not
 * shorter than half of it.
 */
static void rxp_waits_show(struct seq_file *m, void *owner)
{
	struct rxp_proc *p = owner;
	struct rxp_pool *pool = p->pool(p->owner);
	struct rpol_member_stats st;
	int i;

	if (!pool)
		return;
	rpol_member_get_stats(pool->member, &st);
	rxp_pool_put(pool);
	for (i = 0; i < RPOL_WAIT_BUCKETS - 1; i++)
		seq_printf(m, "%llu %llu\n", 1ULL << i, st.wait_hist[i]);
	seq_printf(m, "longer %llu\n", st.wait_hist[i]);
}

static void rxp_member_stats_show(struct seq_file *m, void *owner)
{
	struct rxp_proc *p = owner;
	struct rxp_pool *pool = p->pool(p->owner);
	struct rpol_member_stats st;

	rxp_stats_show(m, p->stats);
	if (pool) {
		rpol_member_get_stats(pool->member, &st);
		rxp_account_show(m, &st);
		rxp_pool_put(pool);
	}
}

static void rxp_quota_show(struct seq_file *m, void *owner)
{
	struct rxp_proc *p = owner;
	struct rpol_quota q;

	p->get_quota(p->owner, &q);
	seq_printf(m, "min %llu\n", q.min);
	if (q.max == RPOL_NO_MAX)
		seq_puts(m, "max none\n");
	else
		seq_printf(m, "max %llu\n", q.max);
	seq_printf(m, "weight %u\n", q.weight);
}

static void rxp_abort_show(struct seq_file *m, void *owner)
{
	seq_puts(m, "0\n");
}

static int rxp_quota_write(void *owner, char *text)
{
	struct rxp_proc *p = owner;
	struct rpol_quota q;
	int ret;

	/* Take the owner's quota, not the pool's: a new pool may not have been given it yet. */
	p->get_quota(p->owner, &q);
	rdmafs_test_point("proc_quota", 0);
	ret = rpol_quota_parse(text, &q);
	if (!ret)
		ret = p->set_quota(p->owner, &q);
	return ret && ret != -ENOTCONN ? -EINVAL : ret;
}

static int rxp_abort_write(void *owner, char *text)
{
	struct rxp_proc *p = owner;

	if (strcmp(text, "1"))
		return -EINVAL;
	p->abort(p->owner);
	return 0;
}

static const struct rxp_proc_kind rxp_member_files[] = {
	{ "mount", rxp_mount_show },
	{ "window", rxp_window_show },
	{ "stats", rxp_member_stats_show },
	{ "waits", rxp_waits_show },
	{ "quota", rxp_quota_show, rxp_quota_write },
	{ "abort", rxp_abort_show, rxp_abort_write, .at_once = true },
};

/**
 * rxp_proc_add - make the directory of a mount or a client
 * @p:    filled in but for @dir; used until rxp_proc_remove() of its @dir
 * @name: its name
 *
 * Context: Process context, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rxp_proc_add(struct rxp_proc *p, const char *name)
{
	p->dir = rxp_proc_make(name, p->net, rxp_member_files, ARRAY_SIZE(rxp_member_files), p);
	return p->dir ? 0 : -ENOMEM;
}

/* --------------------------------------------------------------------- devices */

static void rxp_capacity_show(struct seq_file *m, void *owner)
{
	struct rxp_device *rdev = owner;
	struct rpol_domain_stats st;

	rpol_domain_get_stats(rdev->domain, &st);
	seq_printf(m, "%llu\n", st.capacity);
}

static int rxp_capacity_write(void *owner, char *text)
{
	u64 capacity;
	int ret;

	ret = kstrtou64(text, 10, &capacity);
	if (!ret)
		ret = rxp_device_set_capacity(owner, capacity);
	return ret ? -EINVAL : 0;
}

static void rxp_free_show(struct seq_file *m, void *owner)
{
	struct rxp_device *rdev = owner;
	struct rpol_domain_stats st;

	rpol_domain_get_stats(rdev->domain, &st);
	seq_printf(m, "%llu\n", st.capacity - min(st.capacity, st.charged));
}

static void rxp_device_stats_show(struct seq_file *m, void *owner)
{
	struct rxp_device *rdev = owner;
	struct rpol_domain_stats st;

	rpol_domain_get_stats(rdev->domain, &st);
	seq_printf(m, "capacity %llu\ncharged %llu\nreserved_min %llu\n", st.capacity,
		   st.charged, st.reserved_min);
	seq_printf(m, "members %llu\nwaiters %llu\nwaits %llu\n", st.members, st.waiters,
		   st.waits);
	seq_printf(m, "revoking %llu\nrebalances %llu\n", st.revoking, st.rebalances);
	seq_printf(m, "capacity_us %llu\ncharged_us %llu\nbound_us %llu\n", st.capacity_us,
		   st.charged_us, st.bound_us);
	seq_printf(m, "converting_us %llu\nidle_us %llu\nidle_waited_us %llu\n",
		   st.converting_us, st.idle_us, st.idle_waited_us);
	seq_printf(m, "max_entries %u\nmax_mrs %u\nmr_least %u\n", rdev->max_entries, rdev->max_mrs,
		   rdev->mr_least);
}

static void rxp_policy_show(struct seq_file *m, void *owner)
{
	struct rxp_device *rdev = owner;
	struct rpol_tunables tun;

	rpol_domain_get_tunables(rdev->domain, &tun);
	seq_printf(m, "discipline %s\nreplacement %s\n", rpol_discipline_name(tun.discipline),
		   rpol_replacement_name(tun.replacement));
	seq_printf(m, "low %llu\nhigh %llu\nidle_ms %u\n", tun.low, tun.high, tun.idle_ms);
}

static int rxp_policy_write(void *owner, char *text)
{
	struct rxp_device *rdev = owner;
	struct rpol_tunables tun;
	int ret;

	rpol_domain_get_tunables(rdev->domain, &tun);
	ret = rpol_tunables_parse(text, &tun);
	if (!ret)
		ret = rpol_domain_set_tunables(rdev->domain, &tun);
	return ret ? -EINVAL : 0;
}

static const struct rxp_proc_kind rxp_device_files[] = {
	{ "capacity", rxp_capacity_show, rxp_capacity_write },
	{ "policy", rxp_policy_show, rxp_policy_write },
	{ "free", rxp_free_show },
	{ "stats", rxp_device_stats_show },
};

/*
 * Guards rxp_proc_devices, and the directory and the name of each RNIC on that list.  It nests
 * inside the RDMA core's locks of devices.  Its holder may wait for a task that opens a file of a
 * directory (rxp_proc_unlink()), but not for one that reads or writes a file.
 */
static DEFINE_MUTEX(rxp_proc_devices_lock);
static LIST_HEAD(rxp_proc_devices);

/* Might a mount, a client or a port have a directory of this name, or is the name invalid? */
static bool rxp_proc_reserved(const char *name)
{
	return name[0] == '.' || strpbrk(name, "/:") || strstarts(name, "client-") ||
	       strstarts(name, "port-");
}

/*
 * Link an RNIC's directory under @name.  No two RNICs have the same name: if another one's
 * directory has it, that RNIC was renamed while it was being removed, and then rename is not
 * called for it.
 */
static int rxp_proc_link_device(struct rxp_device *rdev, const char *name)
{
	struct rxp_device *other;

	lockdep_assert_held(&rxp_proc_devices_lock);
	list_for_each_entry(other, &rxp_proc_devices, proc_link) {
		if (other == rdev || !strcmp(other->proc_name, name))
			rxp_proc_unlink(other->proc);
	}
	if (rxp_proc_reserved(name))
		return -EINVAL;
	if (!rdev->proc) {
		rdev->proc = rxp_proc_alloc(NULL, rxp_device_files, ARRAY_SIZE(rxp_device_files),
					    rdev);
		if (!rdev->proc)
			return -ENOMEM;
		list_add(&rdev->proc_link, &rxp_proc_devices);
	}
	strscpy(rdev->proc_name, name);
	return rxp_proc_link(rdev->proc, name) ? 0 : -ENOMEM;
}

/**
 * rxp_proc_name_device - give an RNIC's directory the name that the RNIC has now
 * @rdev: the device
 *
 * The directory is made if there is none.  Open files of it stay valid.  If this fails, a warning
 * is logged, and the RNIC has no directory until it gets another name.
 *
 * Context: Process context, from an ib_client's add or rename: the RDMA core changes no device's
 * name until that returns, and this device's removal waits for it.
 */
void rxp_proc_name_device(struct rxp_device *rdev)
{
	const char *name = rdev->ib->name;
	unsigned int nofs;
	int ret;

	/* Reclaim of an inode might wait for an RNIC that can't come back before this is over. */
	nofs = memalloc_nofs_save();
	mutex_lock(&rxp_proc_devices_lock);
	ret = rxp_proc_link_device(rdev, name);
	mutex_unlock(&rxp_proc_devices_lock);
	memalloc_nofs_restore(nofs);
	if (ret)
		pr_warn("rdmafs: %s has no directory in /proc/fs/rdmafs: %s\n", name,
			ret == -EINVAL ? "what is no RNIC might have that name" : "no memory");
}

/**
 * rxp_proc_remove_device - remove an RNIC's directory
 * @rdev: the device; it is being removed, and has no other users
 *
 * Context: Process context, sleeps, as rxp_proc_remove().
 */
void rxp_proc_remove_device(struct rxp_device *rdev)
{
	if (!rdev->proc)
		return;
	mutex_lock(&rxp_proc_devices_lock);
	list_del(&rdev->proc_link);
	rxp_proc_unlink(rdev->proc);
	mutex_unlock(&rxp_proc_devices_lock);
	rxp_proc_remove(rdev->proc);
}

/**
 * rxp_proc_init - make /proc/fs/rdmafs
 *
 * Context: Process context, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rxp_proc_init(void)
{
	rxp_proc_root = proc_mkdir("fs/rdmafs", NULL);
	return rxp_proc_root ? 0 : -ENOMEM;
}

/**
 * rxp_proc_exit - remove /proc/fs/rdmafs
 *
 * Context: Process context, sleeps.
 */
void rxp_proc_exit(void)
{
	proc_remove(rxp_proc_root);
}
