// SPDX-License-Identifier: GPL-2.0
/*
 * What shares RNICs with others: a mount, or a client's session on a server.  Here is its quota,
 * which stays while pools come and go, and what /proc/fs/rdmafs shows of it (proc.c has the
 * directories and files, Documentation/ABI/proc-rdmafs describes the lines).
 */
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/sprintf.h>
#include <linux/string.h>
#include "transport/internal.h"
#include "transport/points.h"

/* --------------------------------------------------------------------- quota */

/**
 * rxp_member_init - make a member that has no pool and no directory yet
 * @member: the member, all zero but for its lock.  That is initialised by a mutex_init() of the
 *	    half's own, so that lockdep tells the lock of a mount from the lock of a session: one
 *	    kernel may have both
 * @ops:    the half's
 * @peer:   the peer's address and port
 * @stats:  the member's counters, which live as long as it does
 * @quota:  its first quota, which does not contradict itself
 *
 * Context: any.
 */
void rxp_member_init(struct rxp_member *member, const struct rxp_member_ops *ops,
		     const struct sockaddr_storage *peer, struct rxp_stats *stats,
		     const struct rpol_quota *quota)
{
	member->ops = ops;
	snprintf(member->name, sizeof(member->name), "%pISpc", peer);
	member->stats = stats;
	member->quota = *quota;
}

/**
 * rxp_member_set_quota - change a member's quota
 * @member: the member
 * @quota:  the new quota, which does not contradict itself
 * @keep:   keep it for the next pool if the member has none now
 *
 * Context: process; takes the member's lock.
 *
 * Return: 0.  Or nothing has changed: -EINVAL if the device can't keep its minimum; -ENOTCONN if
 * the member has no pool, unless @keep.
 */
int rxp_member_set_quota(struct rxp_member *member, const struct rpol_quota *quota, bool keep)
{
	struct rxp_pool *pool;
	int ret = keep ? 0 : -ENOTCONN;

	mutex_lock(&member->lock);
	pool = member->ops->pool(member);
	if (pool) {
		ret = rpol_member_set_quota(pool->member, quota);
		rxp_pool_put(pool);
	}
	if (!ret)
		member->quota = *quota;
	mutex_unlock(&member->lock);
	return ret;
}

/**
 * rxp_member_get_quota - read a member's quota
 * @member: the member
 * @quota:  filled in
 *
 * Context: process; takes the member's lock.
 */
void rxp_member_get_quota(struct rxp_member *member, struct rpol_quota *quota)
{
	mutex_lock(&member->lock);
	*quota = member->quota;
	mutex_unlock(&member->lock);
}

/**
 * rxp_member_give_quota - give a member's quota to the pool that it gets
 * @member: the member
 * @pool:   the pool
 * @must:   fail if the device can't keep the minimum
 *
 * While the member had no pool its minimum may have been promised to another one, or this device
 * may have less to promise.  Unless @must, the administrator is warned then, and the quota holds
 * without the minimum.
 *
 * Context: process; the caller holds the member's lock.  If ops->pool() does not return
 * @pool yet, the caller holds it until ops->pool() does: a task that sets a quota in between would
 * give it to the former pool.
 *
 * Return: 0; or -ENOSPC, and nothing has changed.
 */
int rxp_member_give_quota(struct rxp_member *member, struct rxp_pool *pool, bool must)
{
	lockdep_assert_held(&member->lock);
	if (!rpol_member_set_quota(pool->member, &member->quota))
		return 0;
	if (must)
		return -ENOSPC;
	pr_warn("rdmafs: %s: its minimum of %llu entries can't be kept any more\n", member->name,
		member->quota.min);
	member->quota.min = 0;
	rpol_member_set_quota(pool->member, &member->quota);
	return 0;
}

/* --------------------------------------------------------------------- /proc */

static void rxp_mount_show(struct seq_file *m, void *owner)
{
	struct rxp_member *member = owner;

	member->ops->show_mount(m, member);
}

static void rxp_window_show(struct seq_file *m, void *owner)
{
	struct rxp_member *member = owner;
	struct rxp_pool *pool = member->ops->pool(member);
	struct rpol_member_stats st;

	member->ops->show_window(m, member);
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
static void rxp_member_policy_show(struct seq_file *m, const struct rpol_member_stats *st)
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
	struct rxp_member *member = owner;
	struct rxp_pool *pool = member->ops->pool(member);
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
	struct rxp_member *member = owner;
	struct rxp_pool *pool = member->ops->pool(member);
	struct rpol_member_stats st;

	rxp_stats_show(m, member->stats);
	if (pool) {
		rpol_member_get_stats(pool->member, &st);
		rxp_member_policy_show(m, &st);
		rxp_pool_put(pool);
	}
}

static void rxp_quota_show(struct seq_file *m, void *owner)
{
	struct rxp_member *member = owner;
	struct rpol_quota q;

	rxp_member_get_quota(member, &q);
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
	struct rxp_member *member = owner;
	struct rpol_quota q;
	int ret;

	/* Take the member's quota, not the pool's: a new pool may not have been given it yet. */
	rxp_member_get_quota(member, &q);
	rdmafs_test_point("proc_quota", 0);
	ret = rpol_quota_parse(text, &q);
	if (!ret)
		ret = member->ops->set_quota(member, &q);
	return ret && ret != -ENOTCONN ? -EINVAL : ret;
}

static int rxp_abort_write(void *owner, char *text)
{
	struct rxp_member *member = owner;

	if (strcmp(text, "1"))
		return -EINVAL;
	member->ops->abort(member);
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
 * rxp_member_make_dir - make the directory of a mount or a client
 * @member: the mount or the client's session; used until rxp_proc_remove() of its @dir
 * @net:    the network namespace in which the files can be opened
 * @name:   the directory's name
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rxp_member_make_dir(struct rxp_member *member, const struct net *net, const char *name)
{
	member->dir = rxp_proc_make(name, net, rxp_member_files, ARRAY_SIZE(rxp_member_files),
				    member);
	return member->dir ? 0 : -ENOMEM;
}
