// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/fs/rdmafs: a directory for each RNIC, each mount and each client of a
 * server.  Documentation/ABI/proc-rdmafs describes every line.
 *
 * A mount's files are for the network namespace it was mounted in: others
 * get ENOENT.  proc_remove() waits for readers, so the owner only has to call
 * rxp_proc_remove() before it goes.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait_bit.h>
#include "transport/internal.h"
#include "transport/server.h"

static struct proc_dir_entry *rxp_proc_root;

/* A write changes what it names and nothing else, also beside another. */
static DEFINE_MUTEX(rxp_proc_write_lock);

/* More than any quota needs; longer writes are refused whole. */
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
 * @st: to fill in
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
 * rxp_stats_wait - wait until no pool counts there any more
 * @st: the set; nobody makes such a pool any more, or has use of one
 *
 * Process context.  For these pools alone: what else the workqueue has to do
 * may wait for a server, or for translations, for as long as these take.
 */
void rxp_stats_wait(struct rxp_stats *st)
{
	wait_var_event(&st->pools, !atomic_read_acquire(&st->pools));
}

/**
 * rxp_stats_destroy - free a set of counters
 * @st: the set
 */
void rxp_stats_destroy(struct rxp_stats *st)
{
	free_percpu(st->v);
	st->v = NULL;
}

/**
 * rxp_stats_show - write counters as "name value" lines
 * @m:	where
 * @st: the set
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

/* Copy what was written, without its newline; the caller frees it. */
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

/* --------------------------------------------------------------- mounts, clients */

static bool rxp_proc_visible(const struct rxp_proc *p)
{
	return net_eq(current->nsproxy->net_ns, p->net);
}

static int rxp_mount_show(struct seq_file *m, void *v)
{
	struct rxp_proc *p = m->private;

	p->show_mount(m, p->owner);
	return 0;
}

static int rxp_window_show(struct seq_file *m, void *v)
{
	struct rxp_proc *p = m->private;
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
	return 0;
}

/* What the policy counts of a member. */
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

/* Waits by length: those shorter than so many microseconds, and not than half of it. */
static int rxp_waits_show(struct seq_file *m, void *v)
{
	struct rxp_proc *p = m->private;
	struct rxp_pool *pool = p->pool(p->owner);
	struct rpol_member_stats st;
	int i;

	if (!pool)
		return 0;
	rpol_member_get_stats(pool->member, &st);
	rxp_pool_put(pool);
	for (i = 0; i < RPOL_WAIT_BUCKETS - 1; i++)
		seq_printf(m, "%llu %llu\n", 1ULL << i, st.wait_hist[i]);
	seq_printf(m, "longer %llu\n", st.wait_hist[i]);
	return 0;
}

static int rxp_member_stats_show(struct seq_file *m, void *v)
{
	struct rxp_proc *p = m->private;
	struct rxp_pool *pool = p->pool(p->owner);
	struct rpol_member_stats st;

	rxp_stats_show(m, p->stats);
	if (pool) {
		rpol_member_get_stats(pool->member, &st);
		rxp_account_show(m, &st);
		rxp_pool_put(pool);
	}
	return 0;
}

static int rxp_quota_show(struct seq_file *m, void *v)
{
	struct rxp_proc *p = m->private;
	struct rpol_quota q;

	p->get_quota(p->owner, &q);
	seq_printf(m, "min %llu\n", q.min);
	if (q.max == RPOL_NO_MAX)
		seq_puts(m, "max none\n");
	else
		seq_printf(m, "max %llu\n", q.max);
	seq_printf(m, "weight %u\n", q.weight);
	return 0;
}

static int rxp_abort_show(struct seq_file *m, void *v)
{
	seq_puts(m, "0\n");
	return 0;
}

static ssize_t rxp_quota_write(struct file *file, const char __user *ubuf, size_t len,
			       loff_t *pos)
{
	struct rxp_proc *p = pde_data(file_inode(file));
	char *text = rxp_proc_text(ubuf, len);
	struct rpol_quota q;
	int ret;

	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&rxp_proc_write_lock);
	/* The owner's: a pool that it has just got does not know of it yet. */
	p->get_quota(p->owner, &q);
	ret = rpol_quota_parse(text, &q);
	if (!ret)
		ret = p->set_quota(p->owner, &q);
	mutex_unlock(&rxp_proc_write_lock);
	kfree(text);
	if (ret)
		return ret == -ENOTCONN ? ret : -EINVAL;
	return len;
}

static ssize_t rxp_abort_write(struct file *file, const char __user *ubuf, size_t len,
			       loff_t *pos)
{
	struct rxp_proc *p = pde_data(file_inode(file));
	char *text = rxp_proc_text(ubuf, len);
	bool yes;

	if (IS_ERR(text))
		return PTR_ERR(text);
	yes = !strcmp(text, "1");
	kfree(text);
	if (!yes)
		return -EINVAL;
	p->abort(p->owner);
	return len;
}

#define RXP_PROC_FILE(fn)							\
static int fn##_open(struct inode *inode, struct file *file)			\
{										\
	struct rxp_proc *p = pde_data(inode);					\
										\
	return rxp_proc_visible(p) ? single_open(file, fn##_show, p) : -ENOENT;	\
}

RXP_PROC_FILE(rxp_mount)
RXP_PROC_FILE(rxp_window)
RXP_PROC_FILE(rxp_member_stats)
RXP_PROC_FILE(rxp_waits)
RXP_PROC_FILE(rxp_quota)
RXP_PROC_FILE(rxp_abort)

static const struct proc_ops rxp_mount_ops = {
	.proc_open = rxp_mount_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

static const struct proc_ops rxp_window_ops = {
	.proc_open = rxp_window_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

static const struct proc_ops rxp_member_stats_ops = {
	.proc_open = rxp_member_stats_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

static const struct proc_ops rxp_waits_ops = {
	.proc_open = rxp_waits_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

static const struct proc_ops rxp_quota_ops = {
	.proc_open = rxp_quota_open,
	.proc_read = seq_read,
	.proc_write = rxp_quota_write,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

static const struct proc_ops rxp_abort_ops = {
	.proc_open = rxp_abort_open,
	.proc_read = seq_read,
	.proc_write = rxp_abort_write,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

/**
 * rxp_proc_add - make an owner's directory
 * @p:	  filled in; lives until rxp_proc_remove()
 * @name: its name
 *
 * Return: 0 or -ENOMEM.
 */
int rxp_proc_add(struct rxp_proc *p, const char *name)
{
	p->dir = proc_mkdir(name, rxp_proc_root);
	if (!p->dir)
		return -ENOMEM;
	if (proc_create_data("mount", 0444, p->dir, &rxp_mount_ops, p) &&
	    proc_create_data("window", 0444, p->dir, &rxp_window_ops, p) &&
	    proc_create_data("stats", 0444, p->dir, &rxp_member_stats_ops, p) &&
	    proc_create_data("waits", 0444, p->dir, &rxp_waits_ops, p) &&
	    proc_create_data("quota", 0644, p->dir, &rxp_quota_ops, p) &&
	    proc_create_data("abort", 0644, p->dir, &rxp_abort_ops, p))
		return 0;
	rxp_proc_remove(p);
	return -ENOMEM;
}

/**
 * rxp_proc_remove - remove an owner's directory; waits for its readers
 * @p: may never have been added
 */
void rxp_proc_remove(struct rxp_proc *p)
{
	proc_remove(p->dir);
	p->dir = NULL;
}

/* --------------------------------------------------------------------- devices */

static int rxp_capacity_show(struct seq_file *m, void *v)
{
	struct rxp_device *rdev = m->private;
	struct rpol_domain_stats st;

	rpol_domain_get_stats(rdev->domain, &st);
	seq_printf(m, "%llu\n", st.capacity);
	return 0;
}

static int rxp_capacity_open(struct inode *inode, struct file *file)
{
	return single_open(file, rxp_capacity_show, pde_data(inode));
}

static ssize_t rxp_capacity_write(struct file *file, const char __user *ubuf, size_t len,
				  loff_t *pos)
{
	struct rxp_device *rdev = pde_data(file_inode(file));
	char *text = rxp_proc_text(ubuf, len);
	u64 capacity;
	int ret;

	if (IS_ERR(text))
		return PTR_ERR(text);
	ret = kstrtou64(text, 10, &capacity);
	kfree(text);
	if (!ret)
		ret = rxp_device_set_capacity(rdev, capacity);
	return ret ? -EINVAL : len;
}

static int rxp_free_show(struct seq_file *m, void *v)
{
	struct rxp_device *rdev = m->private;
	struct rpol_domain_stats st;

	rpol_domain_get_stats(rdev->domain, &st);
	seq_printf(m, "%llu\n", st.capacity - min(st.capacity, st.charged));
	return 0;
}

static int rxp_device_stats_show(struct seq_file *m, void *v)
{
	struct rxp_device *rdev = m->private;
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
	return 0;
}

static int rxp_policy_show(struct seq_file *m, void *v)
{
	struct rxp_device *rdev = m->private;
	struct rpol_tunables tun;

	rpol_domain_get_tunables(rdev->domain, &tun);
	seq_printf(m, "discipline %s\nreplacement %s\n", rpol_discipline_name(tun.discipline),
		   rpol_replacement_name(tun.replacement));
	seq_printf(m, "low %llu\nhigh %llu\nidle_ms %u\n", tun.low, tun.high, tun.idle_ms);
	return 0;
}

static int rxp_policy_open(struct inode *inode, struct file *file)
{
	return single_open(file, rxp_policy_show, pde_data(inode));
}

static ssize_t rxp_policy_write(struct file *file, const char __user *ubuf, size_t len,
				loff_t *pos)
{
	struct rxp_device *rdev = pde_data(file_inode(file));
	char *text = rxp_proc_text(ubuf, len);
	struct rpol_tunables tun;
	int ret;

	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&rxp_proc_write_lock);
	rpol_domain_get_tunables(rdev->domain, &tun);
	ret = rpol_tunables_parse(text, &tun);
	if (!ret)
		ret = rpol_domain_set_tunables(rdev->domain, &tun);
	mutex_unlock(&rxp_proc_write_lock);
	kfree(text);
	return ret ? -EINVAL : len;
}

static const struct proc_ops rxp_capacity_ops = {
	.proc_open = rxp_capacity_open,
	.proc_read = seq_read,
	.proc_write = rxp_capacity_write,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

static const struct proc_ops rxp_policy_ops = {
	.proc_open = rxp_policy_open,
	.proc_read = seq_read,
	.proc_write = rxp_policy_write,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

/**
 * rxp_proc_add_device - make an RNIC's directory; without it, it is only not to be seen
 * @rdev: the device
 */
void rxp_proc_add_device(struct rxp_device *rdev)
{
	rdev->proc = proc_mkdir(rdev->ib->name, rxp_proc_root);
	if (!rdev->proc)
		return;
	proc_create_data("capacity", 0644, rdev->proc, &rxp_capacity_ops, rdev);
	proc_create_data("policy", 0644, rdev->proc, &rxp_policy_ops, rdev);
	proc_create_single_data("free", 0444, rdev->proc, rxp_free_show, rdev);
	proc_create_single_data("stats", 0444, rdev->proc, rxp_device_stats_show, rdev);
}

static int rxp_port_limits_show(struct seq_file *m, void *v)
{
	rxp_limits_show(m, m->private);
	return 0;
}

/**
 * rxp_proc_add_port - make a server's directory
 * @port:   its port
 * @server: the server, which removes the directory before it goes
 *
 * Return: the directory, or NULL.
 */
struct proc_dir_entry *rxp_proc_add_port(u16 port, void *server)
{
	struct proc_dir_entry *dir;
	char name[16];

	snprintf(name, sizeof(name), "port-%u", port);
	dir = proc_mkdir(name, rxp_proc_root);
	if (dir)
		proc_create_single_data("limits", 0444, dir, rxp_port_limits_show, server);
	return dir;
}

/**
 * rxp_proc_init - make /proc/fs/rdmafs
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
 */
void rxp_proc_exit(void)
{
	proc_remove(rxp_proc_root);
}
