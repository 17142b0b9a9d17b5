// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that can't be sent yet wait here, and are sent when there is room for them.
 *
 * Some are WRITEs for which the server had neither a sink nor a place in line for one
 * (RETRY_LATER).  They are kept in the order in which they were submitted, and later ones queue
 * behind them.  The client knows only from the server's answers what the server has room for.
 * A WRITE that was served leaves room for one, so each one that comes back lets one more be
 * sent.  So as many WRITEs stay on their way as the server has sinks and places for this session,
 * and hardly any is refused.  To find out when there is room for more, a few are sent in addition
 * every now and then, and twice as many each time that none was refused.  If there is no slot for
 * one that is to be sent, they stand in line for a slot like all others, but no task sleeps for it.
 *
 * The others are READs whose translations were taken back (revoke.c), or that the server refused.
 * They stand in line for new translations one after the other, which sleeps: on a workqueue of
 * their own, not on the one that writeback needs, and not in front of WRITEs.
 *
 * Such a call has left its slot.  It still counts as in flight, so the session is not freed
 * before it.
 *
 * The lists, and all of struct rxc_deferred, are guarded by the session's lock.
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
static unsigned long rxc_deferred_read_delay(struct rxc_deferred *deferred)
{
	if (time_after(jiffies, deferred->read_refused + HZ))
		deferred->read_ms = RXC_PROBE_MS_MIN;
	else
		deferred->read_ms = min(2 * deferred->read_ms, RXC_PROBE_MS_MAX);
	deferred->read_refused = jiffies;
	return msecs_to_jiffies(deferred->read_ms);
}

/* Insert a WRITE by age: one that was refused is among the oldest. */
static void rxc_deferred_insert(struct rxc_deferred *deferred, struct rdmafs_xprt_call *call)
{
	struct rdmafs_xprt_call *c;

	list_for_each_entry(c, &deferred->writes, x.link)
		if (c->x.submitted_ns > call->x.submitted_ns)
			break;
	list_add_tail(&call->x.link, &c->x.link);
}

/**
 * rxc_deferred_add - keep a call that has to be sent again later
 * @x:    the session, its lock held
 * @call: the call, without a slot
 *
 * Context: any but hard interrupt.
 */
void rxc_deferred_add(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call)
{
	struct rxc_deferred *deferred = &x->deferred;

	lockdep_assert_held(&x->lock);
	if (call->dir == RDMAFS_XPRT_READ) {
		bool cancelled = call->x.io && call->x.io->map_err;

		list_add_tail(&call->x.link, &deferred->reads);
		queue_delayed_work(rxc_turn_wq, &deferred->read_work,
				   cancelled ? 0 : rxc_deferred_read_delay(deferred));
		return;
	}
	/* What was learnt more than a second ago does not count any more. */
	if (!time_in_range(deferred->probe_at, jiffies - HZ,
			   jiffies + msecs_to_jiffies(RXC_PROBE_MS_MAX))) {
		deferred->probe = RXC_PROBE_MIN;
		deferred->probe_ms = RXC_PROBE_MS_MIN;
		deferred->probe_at = jiffies + msecs_to_jiffies(deferred->probe_ms);
		deferred->served = false;
	}
	deferred->refused = true;
	rxc_deferred_insert(deferred, call);
	queue_delayed_work(rxp_wq, &deferred->write_work, msecs_to_jiffies(deferred->probe_ms));
}

/**
 * rxc_deferred_queue - queue a new large WRITE if others wait
 * @x:    the session
 * @call: the WRITE, counted in flight, not sent
 *
 * A WRITE does not queue if there is a granted sink for it, or if the session has no
 * connection: it waits for that as any call does.  Nor does one that has been given up already,
 * which would not be looked for here any more.
 *
 * Context: any but hard interrupt; takes the session's lock.
 *
 * Return: true if it was queued, and will be sent or ended from here.
 */
bool rxc_deferred_queue(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call)
{
	struct rxc_deferred *deferred = &x->deferred;
	bool queued;

	spin_lock_bh(&x->lock);
	queued = (!list_empty(&deferred->writes) || deferred->sending) && x->state == RXC_UP &&
		 !rxc_call_given_up(x, call) && !rxc_grant_fits(x, call->x.io->len);
	if (queued)
		list_add_tail(&call->x.link, &deferred->writes);
	spin_unlock_bh(&x->lock);
	return queued;
}

/**
 * rxc_deferred_admit_one - let one more WRITE go: the server has served a large one
 * @x: the session, its lock held
 *
 * READs that the server refused get the same chance of the room that a WRITE leaves as the next
 * WRITE, which would otherwise have it each time.  But READs that were refused just now do not:
 * each WRITE would bring all of them again.
 *
 * Context: any but hard interrupt.
 */
void rxc_deferred_admit_one(struct rdmafs_xprt *x)
{
	struct rxc_deferred *deferred = &x->deferred;

	lockdep_assert_held(&x->lock);
	if (!list_empty(&deferred->reads) && time_after(jiffies, deferred->read_refused + 1))
		mod_delayed_work(rxc_turn_wq, &deferred->read_work, 0);
	if (list_empty(&deferred->writes) && !deferred->sending)
		return;
	deferred->served = true;
	deferred->room++;
	mod_delayed_work(rxp_wq, &deferred->write_work, 0);
}

/* Number of WRITEs that may be sent in addition now. */
static u32 rxc_deferred_probe(struct rxc_deferred *deferred)
{
	if (time_before(jiffies, deferred->probe_at))
		return 0;
	if (deferred->served)
		deferred->probe_ms = RXC_PROBE_MS_MIN;
	else
		deferred->probe_ms = min(2 * deferred->probe_ms, RXC_PROBE_MS_MAX);
	deferred->probe = deferred->refused ? RXC_PROBE_MIN :
					      min(2 * deferred->probe, RXC_PROBE_MAX);
	deferred->refused = false;
	deferred->served = false;
	deferred->probe_at = jiffies + msecs_to_jiffies(deferred->probe_ms);
	return deferred->probe;
}

/* Send the oldest WRITE again.  The session's lock is held; it is dropped meanwhile. */
static int rxc_deferred_send(struct rdmafs_xprt *x)
	__must_hold(&x->lock)
{
	struct rxc_deferred *deferred = &x->deferred;
	struct rdmafs_xprt_call *call;
	int ret;

	lockdep_assert_held(&x->lock);
	call = list_first_entry(&deferred->writes, struct rdmafs_xprt_call, x.link);
	list_del_init(&call->x.link);
	spin_unlock_bh(&x->lock);
	call->status = 0;
	ret = rxc_call_send(x, call, true, &deferred->slot_turn);
	cond_resched();
	spin_lock_bh(&x->lock);
	if (!ret)
		return 0;
	/* rxc_deferred_fail() may have run meanwhile, and not found it in the list. */
	call->status = ret == -EAGAIN ? rxc_call_given_up(x, call) : ret;
	if (!call->status) {
		rxc_deferred_insert(deferred, call);
		return ret;
	}
	spin_unlock_bh(&x->lock);
	rxc_call_finish(call);
	spin_lock_bh(&x->lock);
	return ret;
}

/* There is a slot for the oldest WRITE, or it has to ask for one again. */
static void rxc_deferred_slot_ready(struct rxc_slot_waiter *turn)
{
	struct rdmafs_xprt *x = container_of(turn, struct rdmafs_xprt, deferred.slot_turn);

	mod_delayed_work(rxp_wq, &x->deferred.write_work, 0);
}

static void rxc_deferred_writes(struct work_struct *work)
{
	struct rdmafs_xprt *x = container_of(work, struct rdmafs_xprt, deferred.write_work.work);
	struct rxc_deferred *deferred = &x->deferred;
	struct blk_plug plug;
	int ret = 0;
	u32 probe;

	blk_start_plug(&plug);
	spin_lock_bh(&x->lock);
	deferred->sending = true;
	probe = rxc_deferred_probe(deferred);
	/* A WRITE that has stood in line for its slot was to be sent when it came there. */
	while ((deferred->room || probe || READ_ONCE(deferred->slot_turn.slot) >= 0) &&
	       !list_empty(&deferred->writes)) {
		bool room = deferred->room;

		/* The room is taken first: more may come while a WRITE is sent. */
		if (room)
			deferred->room--;
		else if (probe)
			probe--;
		ret = rxc_deferred_send(x);
		if (ret == -EAGAIN) {
			/*
			 * There is no slot, or no connection: that says nothing of the server's
			 * room.
			 */
			deferred->room += room;
			deferred->refused = true;
			break;
		}
	}
	deferred->sending = false;
	if (list_empty(&deferred->writes)) {
		deferred->room = 0;
		rxc_slots_end_turn(&x->slot_account, &deferred->slot_turn);
	}
	/* An aborted session sends nothing more. */
	if (x->state != RXC_ABORTED && !list_empty(&deferred->writes))
		queue_delayed_work(rxp_wq, &deferred->write_work,
				   max_t(long, deferred->probe_at - jiffies, 1));
	spin_unlock_bh(&x->lock);
	blk_finish_plug(&plug);
}

static void rxc_deferred_reads(struct work_struct *work)
{
	struct rdmafs_xprt *x = container_of(work, struct rdmafs_xprt, deferred.read_work.work);
	struct rxc_deferred *deferred = &x->deferred;
	struct rdmafs_xprt_call *call;
	int ret;

	spin_lock_bh(&x->lock);
	/* READs that are refused meanwhile wait for the next run. */
	list_splice_tail_init(&deferred->reads, &deferred->turn);
	while (!list_empty(&deferred->turn)) {
		call = list_first_entry(&deferred->turn, struct rdmafs_xprt_call, x.link);
		list_del_init(&call->x.link);
		spin_unlock_bh(&x->lock);
		call->status = 0;
		ret = rxc_call_send(x, call, false, NULL);
		if (ret) {
			call->status = ret;
			rxc_call_finish(call);
		}
		spin_lock_bh(&x->lock);
	}
	spin_unlock_bh(&x->lock);
}

/**
 * rxc_deferred_fail - end the calls that wait here and are given up
 * @x: the session
 *
 * Context: process; takes the session's lock.
 */
void rxc_deferred_fail(struct rdmafs_xprt *x)
{
	struct rxc_deferred *deferred = &x->deferred;
	struct list_head *lists[] = { &deferred->writes, &deferred->reads, &deferred->turn };
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
		rxc_call_finish(call);
	}
}

/**
 * rxc_deferred_init - begin without calls
 * @x: a new session
 *
 * Context: process.
 */
void rxc_deferred_init(struct rdmafs_xprt *x)
{
	INIT_LIST_HEAD(&x->deferred.writes);
	INIT_LIST_HEAD(&x->deferred.reads);
	INIT_LIST_HEAD(&x->deferred.turn);
	INIT_DELAYED_WORK(&x->deferred.write_work, rxc_deferred_writes);
	rxc_slots_turn_init(&x->deferred.slot_turn, rxc_deferred_slot_ready);
	INIT_DELAYED_WORK(&x->deferred.read_work, rxc_deferred_reads);
	x->deferred.probe_at = jiffies - 2 * HZ;
	x->deferred.read_ms = RXC_PROBE_MS_MIN;
	x->deferred.read_refused = jiffies;
}

/**
 * rxc_deferred_exit - undo rxc_deferred_init(): stop the workers
 * @x: a session without calls, to be freed
 *
 * Context: process, sleeps.
 */
void rxc_deferred_exit(struct rdmafs_xprt *x)
{
	/* After this nothing queues the work any more. */
	rxc_slots_end_turn(&x->slot_account, &x->deferred.slot_turn);
	cancel_delayed_work_sync(&x->deferred.write_work);
	cancel_delayed_work_sync(&x->deferred.read_work);
}
