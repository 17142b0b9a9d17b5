// SPDX-License-Identifier: GPL-2.0
/*
 * What /proc/fs/rdmafs shows of a member of the sharing policy: of a mount, or of a client of a
 * server (proc.c has the directories and files, Documentation/ABI/proc-rdmafs describes the lines).
 */
#include <linux/seq_file.h>
#include <linux/string.h>
#include "transport/internal.h"
#include "transport/points.h"

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
