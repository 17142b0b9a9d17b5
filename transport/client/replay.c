// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that have no reply when their connection is lost are sent again here, or ended.
 *
 * They are unmapped first, and sent on the next connections.  The recovery worker
 * (session.c) does all of this.  The connections have been taken from the session and drained,
 * so no other party touches such a call, except its submitter: rxc_calls_unmap_lost() waits for one
 * that still maps pages, and any may still drop its references.  The reply's reference, which
 * the worker drops when it fails a call, keeps the call.
 */
#include <linux/wait.h>
#include "transport/client/client.h"

/* The call in a slot that is in state LOST, or NULL. */
static struct rdmafs_xprt_call *rxc_slot_lost_call(struct rdmafs_xprt *x, u32 i)
{
	struct rdmafs_xprt_call *call;

	spin_lock_bh(&x->lock);
	call = x->slots[i].state == RXC_CALL_LOST ? x->slots[i].call : NULL;
	spin_unlock_bh(&x->lock);
	return call;
}

static bool rxc_call_mapping_over(struct rdmafs_xprt *x, const struct rxc_slot *slot)
{
	bool over;

	spin_lock_bh(&x->lock);
	over = slot->state != RXC_CALL_LOST_MAPPING;
	spin_unlock_bh(&x->lock);
	return over;
}

/**
 * rxc_calls_unmap_lost - unmap the unanswered calls, whose device can't use them any more
 * @x: the session; its connections are drained
 *
 * Context: process; sleeps until submitters that map pages have done so.  The recovery worker.
 */
void rxc_calls_unmap_lost(struct rdmafs_xprt *x)
{
	struct rdmafs_xprt_call *call;
	u32 i;

	for (i = 0; x->slots && i < x->slot_account.max; i++) {
		struct rxc_slot *slot = &x->slots[i];

		spin_lock_bh(&x->lock);
		rxc_call_move(x, slot, RXC_CALL_EV_LOSE);
		spin_unlock_bh(&x->lock);
		/*
		 * A submitter that maps the pages sees that the connection is gone, and wakes
		 * this.
		 */
		wait_event(x->wait, rxc_call_mapping_over(x, slot));
		call = rxc_slot_lost_call(x, i);
		if (call && call->x.io)
			rxc_io_unmap(call->x.io);
	}
}

/* End a call that is LOST.  With -EAGAIN it is sent again, in whatever slot. */
static void rxc_call_end_lost(struct rdmafs_xprt *x, struct rxc_slot *slot, int err)
{
	struct rdmafs_xprt_call *call = slot->call;

	spin_lock_bh(&x->lock);
	rxc_call_move(x, slot, RXC_CALL_EV_FAIL);
	spin_unlock_bh(&x->lock);
	call->status = err;
	rxc_call_put(call);
}

/**
 * rxc_calls_renumber - begin the slots anew: the server has made a new session
 * @x:        the session; it has no connection that calls travel on
 * @data_max: most bytes of data in one call of the new session
 *
 * A call that must not be executed twice fails with -EREMOTEIO, one that has become too large
 * with -E2BIG.  Each other unanswered call becomes the first of its slot.  If the new session
 * does not have the slot, the call leaves it and is sent again in another.
 *
 * Context: process.  The recovery worker.
 */
void rxc_calls_renumber(struct rdmafs_xprt *x, u32 data_max)
{
	struct rdmafs_xprt_call *call;
	u32 i;

	for (i = 0; i < x->slot_account.max; i++) {
		struct rxc_slot *slot = &x->slots[i];

		call = rxc_slot_lost_call(x, i);
		slot->seq = rdmafs_test_knob(seq_before);
		if (!call)
			continue;
		if (!(call->flags & RDMAFS_CALL_IDEMPOTENT))
			rxc_call_end_lost(x, slot, -EREMOTEIO);
		else if (iov_iter_count(&call->iter) > data_max)
			rxc_call_end_lost(x, slot, -E2BIG);
		else if (i >= x->slot_account.nr)
			rxc_call_end_lost(x, slot, -EAGAIN);
		else
			slot->seq = rxp_seq_next(slot->seq);
	}
}

/*
 * The errno of a READ that could not be mapped, for when the server has answered CANCELLED.
 * With -EAGAIN it then stands in line for translations without a slot, unless that could never
 * succeed.
 */
static int rxc_replay_error(int err)
{
	switch (err) {
	case -EAGAIN:
	case -ENOMEM:
	case -EIO:
	case -ESHUTDOWN:	/* the device goes, or an abort: rxc_call_pool() will see */
		return -EAGAIN;
	default:
		return err;
	}
}

/* Send a call again.  Its io, if it has one, is mapped, or failed to be with @err. */
static void rxc_call_replay(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rxc_slot *slot,
			    int err)
{
	struct rdmafs_xprt_call *call = slot->call;
	enum rxc_call_event event = RXC_CALL_EV_SEND;

	if (err)
		event = RXC_CALL_EV_VOID;
	else if (call->x.io && call->dir == RDMAFS_XPRT_WRITE)
		event = RXC_CALL_EV_HOLD;
	rxc_call_encode(x, conn, call, slot, slot->seq, !err, NULL);
	rxp_count(&x->stats, replays);
	spin_lock_bh(&x->lock);
	slot->sent = jiffies;
	slot->sent_ns = 0;
	if (call->x.io)
		call->x.io->map_err = err ? rxc_replay_error(err) : 0;
	refcount_add(err ? 2 : 1, &call->x.pending);
	rxc_call_move(x, slot, event);
	rxc_call_post(conn, call, slot, false);
	if (err)
		rxc_cancel_send(x, conn, call->x.io);
	spin_unlock_bh(&x->lock);
}

/**
 * rxc_calls_replay - send every unanswered call again on new connections
 * @x:     the session
 * @conns: its new connections, all bound
 * @nr:    number of @conns
 *
 * A READ that can't get its translations at once does not wait for them in its slot: a
 * submitter that holds translations may wait for a slot (Documentation/architecture.rst,
 * "Order of acquisition").  But the server counts the slot's sequence number, so the CALL is sent
 * with a CANCEL behind it.
 *
 * Context: process, may sleep.  The recovery worker.
 *
 * Return: number of WRITEs that are left, as there is no memory just now to map their data.
 */
u32 rxc_calls_replay(struct rdmafs_xprt *x, struct rxp_conn **conns, u32 nr)
{
	struct rdmafs_xprt_call *call;
	u32 i, left = 0;
	int err;

	for (i = 0; i < x->slot_account.max; i++) {
		call = rxc_slot_lost_call(x, i);
		if (!call)
			continue;
		err = call->x.io ? rxc_io_map(call->x.io, conns[i % nr]->pool, true) : 0;
		/*
		 * The server may have a WRITE's data already and answer it, so the WRITE can't
		 * be cancelled: it stays.
		 */
		if (err && call->dir == RDMAFS_XPRT_WRITE)
			left++;
		else
			rxc_call_replay(x, conns[i % nr], &x->slots[i], err);
	}
	return left;
}

/**
 * rxc_calls_in_slots - test whether any call waits for its reply, or for the device
 * @x: the session, its lock held
 *
 * A call that is answered counts as well: it ends only when its connection's send queue is done
 * with it, and the server can see to it that this never happens.
 *
 * Context: any.
 *
 * Return: true if so: only the end of the connections is certain to end such a call.
 */
bool rxc_calls_in_slots(struct rdmafs_xprt *x)
{
	u32 i;

	lockdep_assert_held(&x->lock);
	for (i = 0; x->slots && i < x->slot_account.max; i++)
		if (x->slots[i].call)
			return true;
	return false;
}

/* Why the call in a slot is to end, if it is LOST and given up; else 0.  The lock is held. */
static int rxc_slot_given_up(const struct rdmafs_xprt *x, const struct rxc_slot *slot)
{
	lockdep_assert_held(&x->lock);
	return slot->state == RXC_CALL_LOST ? rxc_call_given_up(x, slot->call) : 0;
}

/**
 * rxc_calls_given_up - test whether rxc_calls_fail() would end any call in a slot
 * @x: the session, its lock held, without a connection
 *
 * Context: process.  The recovery worker.
 *
 * Return: true if it would.
 */
bool rxc_calls_given_up(const struct rdmafs_xprt *x)
{
	u32 i;

	for (i = 0; x->slots && i < x->slot_account.max; i++)
		if (rxc_slot_given_up(x, &x->slots[i]))
			return true;
	return false;
}

/**
 * rxc_calls_fail - end the calls that have no reply and are given up
 * @x: the session, without a connection
 *
 * After an abort, or rdmafs_xprt_fail_outstanding(), these are all calls that are in slots.  Calls
 * whose deadline has not passed stay, and are sent again.  Calls that wait to be sent again end as
 * well, if they are given up (deferred.c).
 *
 * Context: process.  The recovery worker.
 *
 * Return: number of calls that were in slots: the server may still serve them.
 */
int rxc_calls_fail(struct rdmafs_xprt *x)
{
	int n = 0, err;
	u32 i;

	for (i = 0; x->slots && i < x->slot_account.max; i++) {
		spin_lock_bh(&x->lock);
		err = rxc_slot_given_up(x, &x->slots[i]);
		spin_unlock_bh(&x->lock);
		if (!err)
			continue;
		rxc_call_end_lost(x, &x->slots[i], err);
		n++;
	}
	rxc_deferred_fail(x);
	return n;
}
