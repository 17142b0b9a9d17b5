// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that can't go on yet.
 *
 * WRITEs for which the server had neither a sink nor a place in line for one
 * (RETRY_LATER).  They are kept in the order in which they came, and those submitted
 * after them queue behind.  What the server has room for is only known from its answers.
 * A WRITE that was served leaves room for one, so with each that comes back one more
 * goes: as many stay on their way as the server has sinks and places for us, and hardly
 * any is refused.
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

/* For a READ that the server refused, which had no memory. */
static unsigned long rxp_later_read_delay(struct rxp_later *later)
{
	if (time_after(jiffies, later->read_refused + HZ))
		later->read_ms = RXP_PROBE_MS_MIN;
	else
		later->read_ms = min(2 * later->read_ms, RXP_PROBE_MS_MAX);
	later->read_refused = jiffies;
	return msecs_to_jiffies(later->read_ms);
}

/* By age: the one that was refused is one of the oldest. */
static void rxp_later_insert(struct rxp_later *later, struct rdmafs_xprt_call *call)
{
	struct rdmafs_xprt_call *c;

	list_for_each_entry(c, &later->writes, x.link)
		if (c->x.submitted_ns > call->x.submitted_ns)
			break;
	list_add_tail(&call->x.link, &c->x.link);
}

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
		bool cancelled = call->x.io && call->x.io->map_err;

		list_add_tail(&call->x.link, &later->reads);
		queue_delayed_work(rxp_turn_wq, &later->read_work,
				   cancelled ? 0 : rxp_later_read_delay(later));
		return;
	}
	/* What was learnt some time ago does not count any more. */
	if (!time_in_range(later->probe_at, jiffies - HZ,
			   jiffies + msecs_to_jiffies(RXP_PROBE_MS_MAX))) {
		later->probe = RXP_PROBE_MIN;
		later->probe_ms = RXP_PROBE_MS_MIN;
		later->probe_at = jiffies + msecs_to_jiffies(later->probe_ms);
		later->served = false;
	}
	later->refused = true;
	rxp_later_insert(later, call);
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
	struct rxp_later *later = &x->later;
	bool behind;

	spin_lock_bh(&x->lock);
	behind = (!list_empty(&later->writes) || later->sending) && !x->nr_grants &&
		 x->state == RXP_UP;
	if (behind)
		list_add_tail(&call->x.link, &later->writes);
	spin_unlock_bh(&x->lock);
	return behind;
}

/**
 * rxp_later_room - the server has served a large WRITE
 * @x: the session, its lock held
 *
 * READs have the same chance of the room that it leaves as the next WRITE, which else would
 * have it each time; but not those that have just been refused, of which each WRITE would
 * bring all again.
 *
 * Any context but hard interrupt.
 */
void rxp_later_room(struct rdmafs_xprt *x)
{
	struct rxp_later *later = &x->later;

	lockdep_assert_held(&x->lock);
	if (!list_empty(&later->reads) && time_after(jiffies, later->read_refused + 1))
		mod_delayed_work(rxp_turn_wq, &later->read_work, 0);
	if (list_empty(&later->writes) && !later->sending)
		return;
	later->served = true;
	later->room++;
	mod_delayed_work(rxp_wq, &later->write_work, 0);
}

/* How many may go in addition. */
static u32 rxp_later_probe(struct rxp_later *later)
{
	if (time_before(jiffies, later->probe_at))
		return 0;
	if (later->served)
		later->probe_ms = RXP_PROBE_MS_MIN;
	else
		later->probe_ms = min(2 * later->probe_ms, RXP_PROBE_MS_MAX);
	later->probe = later->refused ? RXP_PROBE_MIN : min(2 * later->probe, RXP_PROBE_MAX);
	later->refused = false;
	later->served = false;
	later->probe_at = jiffies + msecs_to_jiffies(later->probe_ms);
	return later->probe;
}

/* Send the oldest again; the session's lock is dropped meanwhile. */
static int rxp_later_send(struct rdmafs_xprt *x)
	__must_hold(&x->lock)
{
	struct rxp_later *later = &x->later;
	struct rdmafs_xprt_call *call;
	int ret;

	call = list_first_entry(&later->writes, struct rdmafs_xprt_call, x.link);
	list_del_init(&call->x.link);
	spin_unlock_bh(&x->lock);
	call->status = 0;
	ret = rxp_call_send(x, call, true);
	if (ret && ret != -EAGAIN) {
		call->status = ret;
		rxp_call_done(call);
	}
	cond_resched();
	spin_lock_bh(&x->lock);
	if (ret == -EAGAIN)
		rxp_later_insert(later, call);
	return ret;
}

static void rxp_later_writes(struct work_struct *work)
{
	struct rdmafs_xprt *x = container_of(work, struct rdmafs_xprt, later.write_work.work);
	struct rxp_later *later = &x->later;
	struct blk_plug plug;
	bool aborted;
	int ret = 0;
	u32 probe;

	blk_start_plug(&plug);
	spin_lock_bh(&x->lock);
	later->sending = true;
	probe = rxp_later_probe(later);
	while ((later->room || probe) && !list_empty(&later->writes)) {
		bool room = later->room;

		/* Taken first: while one is sent more may come. */
		if (room)
			later->room--;
		else
			probe--;
		ret = rxp_later_send(x);
		if (ret == -EAGAIN) {
			/* No slot, or no connection: nothing is known of the server's room. */
			later->room += room;
			later->refused = true;
			break;
		}
	}
	later->sending = false;
	if (list_empty(&later->writes))
		later->room = 0;
	/* Unless all is over, and somebody has been here before us to say so. */
	aborted = x->state == RXP_ABORTED;
	if (!aborted && !list_empty(&later->writes))
		queue_delayed_work(rxp_wq, &later->write_work,
				   max_t(long, later->probe_at - jiffies, 1));
	spin_unlock_bh(&x->lock);
	blk_finish_plug(&plug);
	if (aborted)
		rxp_later_fail(x);
}

static void rxp_later_reads(struct work_struct *work)
{
	struct rdmafs_xprt *x = container_of(work, struct rdmafs_xprt, later.read_work.work);
	struct rdmafs_xprt_call *call, *tmp;
	LIST_HEAD(turn);
	int ret;

	/* Those that are refused meanwhile wait anew. */
	spin_lock_bh(&x->lock);
	list_splice_init(&x->later.reads, &turn);
	spin_unlock_bh(&x->lock);
	list_for_each_entry_safe(call, tmp, &turn, x.link) {
		list_del_init(&call->x.link);
		call->status = 0;
		ret = rxp_call_send(x, call, false);
		if (ret) {
			call->status = ret;
			rxp_call_done(call);
		}
	}
}

/**
 * rxp_later_fail - end the calls that wait here and are given up
 * @x: the session
 *
 * Process context.
 */
void rxp_later_fail(struct rdmafs_xprt *x)
{
	struct list_head *lists[] = { &x->later.writes, &x->later.reads };
	struct rdmafs_xprt_call *call, *tmp;
	LIST_HEAD(calls);
	int i;

	spin_lock_bh(&x->lock);
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		list_for_each_entry_safe(call, tmp, lists[i], x.link) {
			call->status = rxp_call_given_up(x, call);
			if (call->status)
				list_move_tail(&call->x.link, &calls);
		}
	}
	spin_unlock_bh(&x->lock);
	list_for_each_entry_safe(call, tmp, &calls, x.link) {
		list_del_init(&call->x.link);
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
	x->later.probe_at = jiffies - 2 * HZ;
	x->later.read_ms = RXP_PROBE_MS_MIN;
	x->later.read_refused = jiffies;
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
