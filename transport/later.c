// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that can't go on yet.
 *
 * WRITEs for which the server had no sink (RETRY_LATER).  They are kept in the
 * order in which they came, and those submitted after them queue behind.  What
 * the server has room for is only known from its answers.  A WRITE that was
 * served leaves room for one, so with each that comes back one more goes: as many
 * stay on their way as the server has sinks for us, and hardly any is refused.
 * To find out when there are more, a few go in addition every now and then,
 * twice as many each time that none was refused.
 *
 * READs whose translations were taken back (revoke.c).  They stand in line for
 * new ones, which sleeps, one after the other; not on the workqueue that
 * writeback needs, nor in front of WRITEs.
 *
 * Such a call has left its slot; it is still in flight, and the session can't go
 * before it.
 */
#include <linux/blkdev.h>
#include "transport/client.h"

/* Milliseconds between two attempts to have more on their way; doubled while nothing is served. */
#define RXP_PROBE_MS_MIN	10U
#define RXP_PROBE_MS_MAX	80U

/* So many WRITEs at first, and at most. */
#define RXP_PROBE_MIN		4U
#define RXP_PROBE_MAX		1024U

/**
 * rxp_later_add - a call has to be sent again later
 * @x:	  the session, its lock held
 * @call: the call, without a slot
 *
 * Any context but hard interrupt.
 */
void rxp_later_add(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call)
{
	struct rxp_later *later = &x->later;

	lockdep_assert_held(&x->lock);
	if (call->dir == RDMAFS_XPRT_READ) {
		bool at_once = call->x.io && call->x.io->cancelled;

		list_add_tail(&call->x.link, &later->reads);
		queue_delayed_work(system_unbound_wq, &later->read_work,
				   at_once ? 0 : msecs_to_jiffies(RXP_PROBE_MS_MIN));
		return;
	}
	later->refused = true;
	list_add_tail(&call->x.link, &later->writes);
	queue_delayed_work(rxp_wq, &later->write_work, msecs_to_jiffies(later->probe_ms));
}

/**
 * rxp_later_behind - does a new WRITE queue behind others?
 * @x:	  the session
 * @call: the WRITE, in flight, not sent
 *
 * Any context but hard interrupt.
 *
 * Return: true: it does, and will be sent.
 */
bool rxp_later_behind(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call)
{
	bool behind;

	spin_lock_bh(&x->lock);
	behind = !list_empty(&x->later.writes) && !x->nr_grants && x->state == RXP_UP;
	if (behind)
		list_add_tail(&call->x.link, &x->later.writes);
	spin_unlock_bh(&x->lock);
	return behind;
}

/**
 * rxp_later_room - the server has served a large WRITE
 * @x: the session, its lock held
 *
 * Any context but hard interrupt.
 */
void rxp_later_room(struct rdmafs_xprt *x)
{
	struct rxp_later *later = &x->later;

	lockdep_assert_held(&x->lock);
	if (list_empty(&later->writes))
		return;
	later->served = true;
	later->room++;
	mod_delayed_work(rxp_wq, &later->write_work, 0);
}

/* How many may go now. */
static u32 rxp_later_turns(struct rxp_later *later)
{
	u32 n = later->room;

	later->room = 0;
	if (time_before(jiffies, later->probe_at))
		return n;
	if (later->served)
		later->probe_ms = RXP_PROBE_MS_MIN;
	else
		later->probe_ms = min(2 * later->probe_ms, RXP_PROBE_MS_MAX);
	later->probe = later->refused ? RXP_PROBE_MIN : min(2 * later->probe, RXP_PROBE_MAX);
	later->refused = false;
	later->served = false;
	later->probe_at = jiffies + msecs_to_jiffies(later->probe_ms);
	return n + later->probe;
}

/* Those that could not be sent wait in front of the others; unless all is over. */
static void rxp_later_put_back(struct rdmafs_xprt *x, struct list_head *calls)
{
	struct rxp_later *later = &x->later;
	bool aborted;

	spin_lock_bh(&x->lock);
	aborted = x->state == RXP_ABORTED;
	list_splice_init(calls, &later->writes);
	if (!aborted && !list_empty(&later->writes))
		queue_delayed_work(rxp_wq, &later->write_work,
				   max_t(long, later->probe_at - jiffies, 1));
	spin_unlock_bh(&x->lock);
	if (aborted)
		rxp_later_fail(x, -ESHUTDOWN);
}

static void rxp_later_writes(struct work_struct *work)
{
	struct rdmafs_xprt *x = container_of(work, struct rdmafs_xprt, later.write_work.work);
	struct rdmafs_xprt_call *call;
	struct blk_plug plug;
	LIST_HEAD(turn);
	int ret = 0;
	u32 n;

	spin_lock_bh(&x->lock);
	for (n = rxp_later_turns(&x->later); n && !list_empty(&x->later.writes); n--)
		list_move_tail(x->later.writes.next, &turn);
	spin_unlock_bh(&x->lock);

	blk_start_plug(&plug);
	while (ret != -EAGAIN && !list_empty(&turn)) {
		call = list_first_entry(&turn, struct rdmafs_xprt_call, x.link);
		list_del_init(&call->x.link);
		call->status = 0;
		call->flags |= RDMAFS_CALL_NOWAIT;
		ret = rxp_call_send(x, call);
		if (ret == -EAGAIN) {
			list_add(&call->x.link, &turn);
		} else if (ret) {
			call->status = ret;
			rxp_call_done(call);
		}
	}
	blk_finish_plug(&plug);
	rxp_later_put_back(x, &turn);
}

static void rxp_later_reads(struct work_struct *work)
{
	struct rdmafs_xprt *x = container_of(work, struct rdmafs_xprt, later.read_work.work);
	struct rdmafs_xprt_call *call;
	int ret;

	for (;;) {
		spin_lock_bh(&x->lock);
		call = list_first_entry_or_null(&x->later.reads, struct rdmafs_xprt_call, x.link);
		if (call)
			list_del_init(&call->x.link);
		spin_unlock_bh(&x->lock);
		if (!call)
			return;
		call->status = 0;
		call->flags &= ~RDMAFS_CALL_NOWAIT;
		ret = rxp_call_send(x, call);
		if (ret) {
			call->status = ret;
			rxp_call_done(call);
		}
	}
}

/**
 * rxp_later_fail - end all calls that wait here
 * @x:	 the session; it has no connection and gets none
 * @err: what they are told
 *
 * Process context.
 */
void rxp_later_fail(struct rdmafs_xprt *x, int err)
{
	struct rdmafs_xprt_call *call, *tmp;
	LIST_HEAD(calls);

	spin_lock_bh(&x->lock);
	list_splice_init(&x->later.writes, &calls);
	list_splice_init(&x->later.reads, &calls);
	spin_unlock_bh(&x->lock);
	list_for_each_entry_safe(call, tmp, &calls, x.link) {
		list_del_init(&call->x.link);
		call->status = err;
		rxp_call_done(call);
	}
}

/**
 * rxp_later_init - nothing waits yet
 * @x: a new session
 */
void rxp_later_init(struct rdmafs_xprt *x)
{
	INIT_LIST_HEAD(&x->later.writes);
	INIT_LIST_HEAD(&x->later.reads);
	INIT_DELAYED_WORK(&x->later.write_work, rxp_later_writes);
	INIT_DELAYED_WORK(&x->later.read_work, rxp_later_reads);
	x->later.probe_at = jiffies;
	x->later.probe_ms = RXP_PROBE_MS_MIN;
	x->later.probe = RXP_PROBE_MIN;
}

/**
 * rxp_later_stop - nothing waits, and nothing will
 * @x: a session without calls
 *
 * Process context, sleeps.
 */
void rxp_later_stop(struct rdmafs_xprt *x)
{
	cancel_delayed_work_sync(&x->later.write_work);
	cancel_delayed_work_sync(&x->later.read_work);
}
