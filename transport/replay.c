// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that have no reply when their connection is lost: unmapped, sent again on
 * the next one, or ended.  All of this is the recovery worker's (client.c).  The
 * connection is drained, so nothing but the worker and rxp_call_put() of the
 * reply's reference touches the calls.
 */
#include <linux/wait.h>
#include "transport/client.h"

/* The call in a slot that lost its connection before there was a reply, or NULL. */
static struct rdmafs_xprt_call *rxp_call_lost(struct rdmafs_xprt *x, u32 i)
{
	struct rdmafs_xprt_call *call;

	spin_lock_bh(&x->lock);
	call = x->slots[i].state == RXP_CALL_LOST ? x->slots[i].call : NULL;
	spin_unlock_bh(&x->lock);
	return call;
}

static bool rxp_call_settled(struct rdmafs_xprt *x, const struct rxp_slot *slot)
{
	bool settled;

	spin_lock_bh(&x->lock);
	settled = slot->state != RXP_CALL_LOST_MAPPING;
	spin_unlock_bh(&x->lock);
	return settled;
}

/**
 * rxp_calls_lose - take what unanswered calls have of a device that is dead to us
 * @x: the session; its connections are drained
 *
 * Process context.
 */
void rxp_calls_lose(struct rdmafs_xprt *x)
{
	struct rdmafs_xprt_call *call;
	u32 i;

	for (i = 0; x->slots && i < x->slot_account.max; i++) {
		struct rxp_slot *slot = &x->slots[i];

		spin_lock_bh(&x->lock);
		rxp_call_move(x, slot, RXP_CALL_EV_LOSE);
		spin_unlock_bh(&x->lock);
		/* Its submitter sees that the connection is gone, and wakes us. */
		wait_event(x->wait, rxp_call_settled(x, slot));
		call = rxp_call_lost(x, i);
		if (call && call->x.io)
			rxp_io_unmap(call->x.io);
	}
}

/* With -EAGAIN it is sent again, in whatever slot. */
static void rxp_call_fail(struct rdmafs_xprt *x, struct rxp_slot *slot, int err)
{
	struct rdmafs_xprt_call *call = slot->call;

	spin_lock_bh(&x->lock);
	rxp_call_move(x, slot, RXP_CALL_EV_FAIL);
	spin_unlock_bh(&x->lock);
	call->status = err;
	rxp_call_put(call);
}

/**
 * rxp_calls_renumber - the server has made a new session: its slots begin anew
 * @x:	      the session; it has no connection that calls travel on
 * @data_max: most bytes of data in one of its calls
 *
 * Process context.  What may not be done twice fails with -EREMOTEIO, what has become
 * too large with -E2BIG; the other unanswered calls are their slots' first.  Those in
 * slots that the new session has not leave them, and are sent again in others.
 */
void rxp_calls_renumber(struct rdmafs_xprt *x, u32 data_max)
{
	struct rdmafs_xprt_call *call;
	u32 i;

	for (i = 0; i < x->slot_account.max; i++) {
		struct rxp_slot *slot = &x->slots[i];

		call = rxp_call_lost(x, i);
		slot->seq = rdmafs_test_knob(seq_before);
		if (!call)
			continue;
		if (!(call->flags & RDMAFS_CALL_IDEMPOTENT))
			rxp_call_fail(x, slot, -EREMOTEIO);
		else if (iov_iter_count(&call->iter) > data_max)
			rxp_call_fail(x, slot, -E2BIG);
		else if (i >= x->slot_account.nr)
			rxp_call_fail(x, slot, -EAGAIN);
		else
			slot->seq = rxp_seq_next(slot->seq);
	}
}

/*
 * What becomes of a READ that can't be mapped, when the server has said that it is
 * cancelled: it stands in line without a slot, unless that were for ever.
 */
static int rxp_replay_error(int err)
{
	switch (err) {
	case -EAGAIN:
	case -ENOMEM:
	case -EIO:
	case -ESHUTDOWN:	/* the device goes, or all is aborted: who comes next will see */
		return -EAGAIN;
	default:
		return err;
	}
}

/* Send a call again whose io, if it has one, is mapped, or is not with @err. */
static void rxp_call_replay(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rxp_slot *slot,
			    int err)
{
	struct rdmafs_xprt_call *call = slot->call;
	enum rxp_call_event event = RXP_CALL_EV_SEND;

	if (err)
		event = RXP_CALL_EV_VOID;
	else if (call->x.io && call->dir == RDMAFS_XPRT_WRITE)
		event = RXP_CALL_EV_HOLD;
	rxp_call_encode(x, conn, call, slot, slot->seq, !err, NULL);
	rxp_count(&x->stats, replays);
	spin_lock_bh(&x->lock);
	slot->sent = jiffies;
	slot->sent_ns = 0;
	if (call->x.io)
		call->x.io->map_err = err ? rxp_replay_error(err) : 0;
	refcount_add(err ? 2 : 1, &call->x.pending);
	rxp_call_move(x, slot, event);
	rxp_call_post(conn, call, slot, false);
	if (err)
		rxp_cancel_send(x, conn, call->x.io);
	spin_unlock_bh(&x->lock);
}

/**
 * rxp_calls_replay - send every unanswered call again on new connections
 * @x:	   the session
 * @conns: its new connections, all bound
 * @nr:	   how many
 *
 * A READ that needs more translations than are to be had at once does not wait for
 * them in its slot, for which those who have them may wait (design, rule 8).  But the
 * server counts its number: so it is sent, and a CANCEL behind it.
 *
 * Process context.
 *
 * Return: how many WRITEs are left, for whose data there is no memory just now.
 */
u32 rxp_calls_replay(struct rdmafs_xprt *x, struct rxp_conn **conns, u32 nr)
{
	struct rdmafs_xprt_call *call;
	u32 i, left = 0;
	int err;

	for (i = 0; i < x->slot_account.max; i++) {
		call = rxp_call_lost(x, i);
		if (!call)
			continue;
		err = call->x.io ? rxp_io_map(call->x.io, conns[i % nr]->pool, true) : 0;
		/* The server may have its data already, and answer it: it can't be cancelled. */
		if (err && call->dir == RDMAFS_XPRT_WRITE)
			left++;
		else
			rxp_call_replay(x, conns[i % nr], &x->slots[i], err);
	}
	return left;
}

/**
 * rxp_calls_bound - does any call wait for its reply, or for the device?
 * @x: the session, its lock held
 *
 * One that is answered, too: it does not end before its connection's send queue is done
 * with it, which the server can see to that it never is.
 *
 * Return: true if so: what ends it for certain is the end of its connection.
 */
bool rxp_calls_bound(struct rdmafs_xprt *x)
{
	u32 i;

	lockdep_assert_held(&x->lock);
	for (i = 0; x->slots && i < x->slot_account.max; i++)
		if (x->slots[i].call)
			return true;
	return false;
}

/**
 * rxp_calls_fail - end all calls that have no reply
 * @x:	 the session; it has no connection
 * @err: what they are told
 *
 * Process context.
 *
 * Return: how many there were in slots: the server may serve these still.
 */
int rxp_calls_fail(struct rdmafs_xprt *x, int err)
{
	int n = 0;
	u32 i;

	for (i = 0; x->slots && i < x->slot_account.max; i++) {
		if (!rxp_call_lost(x, i))
			continue;
		rxp_call_fail(x, &x->slots[i], err);
		n++;
	}
	rxp_later_fail(x);
	return n;
}
