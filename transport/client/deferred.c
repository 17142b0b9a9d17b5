// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that can't be sent again yet.
 *
 * WRITEs for which the server had neither a sink nor a place in line for one (RETRY_LATER).
 * They are kept in the order in which they were submitted, and later ones queue behind them.
 * The client knows only from the server's answers what the server has room for.  A WRITE that
 * was served leaves room for one, so each one that comes back lets one more be sent.  So as
 * many WRITEs stay on their way as the server has sinks and places for this session, and hardly
 * any is refused.  To find out when there is room for more, a few are sent in addition every
 * now and then, and twice as many each time that none was refused.
 *
 * READs whose translations were taken back (revoke.c), or that the server refused.  They stand
 * in line for new translations one after the other, which sleeps: on a workqueue of their own,
 * not on the one that writeback needs, and not in front of WRITEs.
 *
 * Such a call has left its slot.  It still counts as in flight, so the session is not freed
 * before it.
 *
 * The lists, and all of struct rxc_later, are guarded by the session's lock.
 */
#include <linux/blkdev.h>
#include "transport/client/client.h"

/*
 * Milliseconds from one attempt to have more WRITEs on their way to the next; doubled while
 * none is served.
 */
#define RXC_PROBE_MS_MIN	10U
#define RXC_PROBE_MS_MAX	80U

/* WRITEs that are sent in addition in one attempt, at first and at most. */
#define RXC_PROBE_MIN		4U
#define RXC_PROBE_MAX		1024U

/*
 * The delay of a READ that the server refused because it was short of memory, in jiffies;
 * doubled while READs are refused again within a second.
 */
static unsigned long rxc_later_read_delay(struct rxc_later *later)
{
	if (time_after(jiffies, later->read_refused + HZ))
		later->read_ms = RXC_PROBE_MS_MIN;
	else
		later->read_ms = min(2 * later->read_ms, RXC_PROBE_MS_MAX);
	later->read_refused = jiffies;
	return msecs_to_jiffies(later->read_ms);
}

/* Insert a WRITE by age: one that was refused is among the oldest. */
static void rxc_later_insert(struct rxc_later *later, struct rdmafs_xprt_call *call)
{
	struct rdmafs_xprt_call *c;

	list_for_each_entry(c, &later->writes, x.link)
		if (c->x.submitted_ns > call->x.submitted_ns)
			break;
	list_add_tail(&call->x.link, &c->x.link);
}

/**
 * rxc_later_add - keep a call that has to be sent again later
 * @x:    the session, its lock held
 * @call: the call, without a slot
 *
 * Context: any but hard interrupt.
 */
void rxc_later_add(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call)
{
	struct rxc_later *later = &x->later;

	lockdep_assert_held(&x->lock);
	if (call->dir == RDMAFS_XPRT_READ) {
		bool cancelled = call->x.io && call->x.io->map_err;

		list_add_tail(&call->x.link, &later->reads);
		queue_delayed_work(rxp_turn_wq, &later->read_work,
				   cancelled ? 0 : rxc_later_read_delay(later));
		return;
	}
	/* What was learnt more than a second ago does not count any more. */
	if (!time_in_range(later->probe_at, jiffies - HZ,
			   jiffies + msecs_to_jiffies(RXC_PROBE_MS_MAX))) {
		later->probe = RXC_PROBE_MIN;
		later->probe_ms = RXC_PROBE_MS_MIN;
		later->probe_at = jiffies + msecs_to_jiffies(later->probe_ms);
		later->served = false;
	}
	later->refused = true;
	rxc_later_insert(later, call);
	queue_delayed_work(rxp_wq, &later->write_work, msecs_to_jiffies(later->probe_ms));
}

/**
 * rxc_later_behind - queue a new WRITE if others wait
 * @x:    the session
 * @call: the WRITE, counted in flight, not sent
 *
 * A WRITE does not queue if there is a granted sink for it, or if the session has no
 * connection: it waits for that as any call does.
 *
 * Context: any but hard interrupt; takes the session's lock.
 *
 * Return: true if it was queued, and will be sent or ended from here.
 */
bool rxc_later_behind(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call)
{
	struct rxc_later *later = &x->later;
	bool behind;

	spin_lock_bh(&x->lock);
	behind = (!list_empty(&later->writes) || later->sending) && !x->nr_grants &&
		 x->state == RXC_UP;
	if (behind)
		list_add_tail(&call->x.link, &later->writes);
	spin_unlock_bh(&x->lock);
	return behind;
}

/**
 * rxc_later_room - let one more WRITE go: the server has served a large one
 * @x: the session, its lock held
 *
 * READs that the server refused get the same chance of the room that a WRITE leaves as the next
 * WRITE, which would otherwise have it each time.  But READs that were refused just now do not:
 * each WRITE would bring all of them again.
 *
 * Context: any but hard interrupt.
 */
void rxc_later_room(struct rdmafs_xprt *x)
{
	struct rxc_later *later = &x->later;

	lockdep_assert_held(&x->lock);
	if (!list_empty(&later->reads) && time_after(jiffies, later->read_refused + 1))
		mod_delayed_work(rxp_turn_wq, &later->read_work, 0);
	if (list_empty(&later->writes) && !later->sending)
		return;
	later->served = true;
	later->room++;
	mod_delayed_work(rxp_wq, &later->write_work, 0);
}

/* Number of WRITEs that may be sent in addition now. */
static u32 rxc_later_probe(struct rxc_later *later)
{
	if (time_before(jiffies, later->probe_at))
		return 0;
	if (later->served)
		later->probe_ms = RXC_PROBE_MS_MIN;
	else
		later->probe_ms = min(2 * later->probe_ms, RXC_PROBE_MS_MAX);
	later->probe = later->refused ? RXC_PROBE_MIN : min(2 * later->probe, RXC_PROBE_MAX);
	later->refused = false;
	later->served = false;
	later->probe_at = jiffies + msecs_to_jiffies(later->probe_ms);
	return later->probe;
}

/* Send the oldest WRITE again.  The session's lock is held; it is dropped meanwhile. */
static int rxc_later_send(struct rdmafs_xprt *x)
	__must_hold(&x->lock)
{
	struct rxc_later *later = &x->later;
	struct rdmafs_xprt_call *call;
	int ret;

	call = list_first_entry(&later->writes, struct rdmafs_xprt_call, x.link);
	list_del_init(&call->x.link);
	spin_unlock_bh(&x->lock);
	call->status = 0;
	ret = rxc_call_send(x, call, true);
	if (ret && ret != -EAGAIN) {
		call->status = ret;
		rxc_call_done(call);
	}
	cond_resched();
	spin_lock_bh(&x->lock);
	if (ret == -EAGAIN)
		rxc_later_insert(later, call);
	return ret;
}

static void rxc_later_writes(struct work_struct *work)
{
	struct rdmafs_xprt *x = container_of(work, struct rdmafs_xprt, later.write_work.work);
	struct rxc_later *later = &x->later;
	struct blk_plug plug;
	bool aborted;
	int ret = 0;
	u32 probe;

	blk_start_plug(&plug);
	spin_lock_bh(&x->lock);
	later->sending = true;
	probe = rxc_later_probe(later);
	while ((later->room || probe) && !list_empty(&later->writes)) {
		bool room = later->room;

		/* The room is taken first: more may come while a WRITE is sent. */
		if (room)
			later->room--;
		else
			probe--;
		ret = rxc_later_send(x);
		if (ret == -EAGAIN) {
			/*
			 * There is no slot, or no connection: that says nothing of the server's
			 * room.
			 */
			later->room += room;
			later->refused = true;
			break;
		}
	}
	later->sending = false;
	if (list_empty(&later->writes))
		later->room = 0;
	/*
	 * An aborted session sends nothing more.  rxc_later_fail() may have run before the
	 * WRITE that was being sent came back to the list, so it is called once more below.
	 */
	aborted = x->state == RXC_ABORTED;
	if (!aborted && !list_empty(&later->writes))
		queue_delayed_work(rxp_wq, &later->write_work,
				   max_t(long, later->probe_at - jiffies, 1));
	spin_unlock_bh(&x->lock);
	blk_finish_plug(&plug);
	if (aborted)
		rxc_later_fail(x);
}

static void rxc_later_reads(struct work_struct *work)
{
	struct rdmafs_xprt *x = container_of(work, struct rdmafs_xprt, later.read_work.work);
	struct rdmafs_xprt_call *call, *tmp;
	LIST_HEAD(turn);
	int ret;

	/* READs that are refused meanwhile wait for the next run. */
	spin_lock_bh(&x->lock);
	list_splice_init(&x->later.reads, &turn);
	spin_unlock_bh(&x->lock);
	list_for_each_entry_safe(call, tmp, &turn, x.link) {
		list_del_init(&call->x.link);
		call->status = 0;
		ret = rxc_call_send(x, call, false);
		if (ret) {
			call->status = ret;
			rxc_call_done(call);
		}
	}
}

/**
 * rxc_later_fail - end the calls that wait here and are given up
 * @x: the session
 *
 * Context: process; takes the session's lock.
 */
void rxc_later_fail(struct rdmafs_xprt *x)
{
	struct list_head *lists[] = { &x->later.writes, &x->later.reads };
	struct rdmafs_xprt_call *call, *tmp;
	LIST_HEAD(calls);
	int i;

	spin_lock_bh(&x->lock);
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		list_for_each_entry_safe(call, tmp, lists[i], x.link) {
			call->status = rxc_call_given_up(x, call);
			if (call->status)
				list_move_tail(&call->x.link, &calls);
		}
	}
	spin_unlock_bh(&x->lock);
	list_for_each_entry_safe(call, tmp, &calls, x.link) {
		list_del_init(&call->x.link);
		rxc_call_done(call);
	}
}

/**
 * rxc_later_init - begin without calls
 * @x: a new session
 *
 * Context: process.
 */
void rxc_later_init(struct rdmafs_xprt *x)
{
	INIT_LIST_HEAD(&x->later.writes);
	INIT_LIST_HEAD(&x->later.reads);
	INIT_DELAYED_WORK(&x->later.write_work, rxc_later_writes);
	INIT_DELAYED_WORK(&x->later.read_work, rxc_later_reads);
	x->later.probe_at = jiffies - 2 * HZ;
	x->later.read_ms = RXC_PROBE_MS_MIN;
	x->later.read_refused = jiffies;
}

/**
 * rxc_later_stop - stop the workers
 * @x: a session without calls, to be freed
 *
 * Context: process, sleeps.
 */
void rxc_later_stop(struct rdmafs_xprt *x)
{
	cancel_delayed_work_sync(&x->later.write_work);
	cancel_delayed_work_sync(&x->later.read_work);
}
