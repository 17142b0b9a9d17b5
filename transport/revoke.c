// SPDX-License-Identifier: GPL-2.0
/*
 * What is bound to an I/O and needed elsewhere, and does not come back.
 *
 * A response is the upper bound on how long somebody who is entitled to
 * translations waits for them.  A server whose disk hangs would make that for
 * ever.  So a READ that is overdue by the grace period T while others wait gets
 * a CANCEL.  A server that lives drops the RDMA WRITE, held or yet to come, and
 * says so in a DROPPED that invalidates the key; it answers the call, CANCELLED,
 * when it is through with it, and the call is sent again in its turn.  A server
 * that does not live misses its heartbeats as well: the connection goes, and
 * the keys with it (client.c).  So it does if a server that answers PINGs has not
 * answered a CANCEL within T, or not taken what a key's end stands behind.  From the CANCEL
 * to the key's end there is T once, whatever the server says meanwhile.
 *
 * On the server the same holds for sinks of a client that does not send the data
 * it announced: its connection goes.  So it does, whether others wait or not, if none
 * of them is filled, a held reply not asked for, or one that is sent not taken, for long:
 * they take memory.  How long that may be is none of T but a limit of the port (limits.c).
 */
#include <linux/module.h>
#include "transport/client.h"
#include "transport/server.h"
#include "transport/trace.h"

/* The grace period T (Magoutis, section 4), in milliseconds. */
unsigned int rxp_grace_ms = 10000;

/* ------------------------------------------------------------------ the client */

/* The MR of a READ that the server could be asked to let go of, or has been. */
static const struct rxp_mr *rxp_slot_revocable(const struct rxp_slot *slot)
{
	const struct rdmafs_xprt_call *call = slot->call;
	const struct rxp_io *io = call ? call->x.io : NULL;

	if (!io || call->dir != RDMAFS_XPRT_READ || !rxp_call_unanswered(slot->state) ||
	    rxp_call_being_mapped(slot->state) || !io->mr || !rxp_mr_known(io->mr))
		return NULL;
	return io->mr;
}

/* Entries that come back without being asked for once more. */
static u64 rxp_calls_revoked(struct rdmafs_xprt *x)
{
	const struct rxp_mr *mr;
	u64 entries = 0;
	u32 i;

	lockdep_assert_held(&x->lock);
	for (i = 0; i < x->slot_account.max; i++) {
		mr = rxp_slot_revocable(&x->slots[i]);
		/* Dropped and there still: our LOCAL_INV is on its way. */
		if (mr && (x->slots[i].state == RXP_CALL_CANCELLED ||
			   x->slots[i].state == RXP_CALL_DROPPED))
			entries += mr->policy.entries;
	}
	return entries;
}

/*
 * A CANCEL that has not been answered in time costs the server its connection.  So it does,
 * while others wait, if what brings a READ's MR back stands in the send queue for as long:
 * its STCRW, the CALL that is answered, or our LOCAL_INV.
 *
 * That befalls an honest server on a slow link as well: an STCRW behind many WRITEs costs all
 * connections, and what was under way is sent again.  Calls that are answered end with the
 * connection, and their data is there: so there is progress, though slow.
 */
static bool rxp_slot_overdue(const struct rxp_slot *slot, bool wanted, unsigned long before)
{
	const struct rdmafs_xprt_call *call = slot->call;
	const struct rxp_io *io = call ? call->x.io : NULL;

	if (!io || call->dir != RDMAFS_XPRT_READ || !READ_ONCE(io->mr) ||
	    !time_before(io->since, before))
		return false;
	switch (slot->state) {
	case RXP_CALL_CANCELLED:
		return rxp_mr_lent(io->mr);
	case RXP_CALL_FOLLOWED:
	case RXP_CALL_DROPPED:
		return wanted;
	case RXP_CALL_ANSWERED:
		/* Else nothing is under way, and the MR may be put at this moment. */
		return wanted && refcount_read(&call->x.pending);
	default:
		return false;
	}
}

/*
 * At two beats, and nothing has become of it between them.  At the first one alone what has
 * come may wait to be looked at: this machine may have stood still.
 */
static bool rxp_slot_overdue_twice(struct rxp_slot *slot, bool wanted, unsigned long before)
{
	struct rxp_io *io = slot->call ? slot->call->x.io : NULL;
	enum rxp_call_state last;

	if (!io)
		return false;
	last = io->overdue;
	io->overdue = rxp_slot_overdue(slot, wanted, before) ? slot->state : RXP_CALL_FREE;
	return io->overdue && io->overdue == last;
}

/**
 * rxp_calls_revoke - cancel the READs that hold for too long what others wait for
 * @x: the session
 *
 * No more of them than cover what others are entitled to: each one that is
 * cancelled is read again, and a server that is slow would never come to an
 * end with any.
 *
 * Process context, from the heartbeat.
 */
void rxp_calls_revoke(struct rdmafs_xprt *x)
{
	u32 grace_ms = rdmafs_test_knob(grace_ms) ?: READ_ONCE(rxp_grace_ms);
	unsigned long before = jiffies - msecs_to_jiffies(grace_ms);
	u64 excess = 0, revoked = 0;
	u32 i;

	spin_lock_bh(&x->lock);
	if (x->state == RXP_UP && x->pool)
		excess = rpol_excess(x->pool->member);
	if (excess)
		revoked = rxp_calls_revoked(x);
	for (i = 0; x->state == RXP_UP && i < x->slot_account.max; i++) {
		if (!rxp_slot_overdue_twice(&x->slots[i], excess, before))
			continue;
		pr_warn_ratelimited("rdmafs: %pISpc does not answer a CANCEL, or take what is sent: disconnecting\n",
				    &x->addr);
		rxp_conn_lost(x->conns[i % x->nr_conns]);
		break;
	}
	for (i = 0; revoked < excess && i < x->slot_account.max; i++) {
		struct rxp_slot *slot = &x->slots[i];
		const struct rxp_mr *mr = rxp_slot_revocable(slot);
		struct rxp_io *io;

		if (!mr || !time_before(slot->sent, before))
			continue;
		io = slot->call->x.io;
		/* Cancelled already, or its STCRW is in the send queue still. */
		if (slot->state != RXP_CALL_SENT)
			continue;
		rxp_call_move(x, slot, RXP_CALL_EV_CANCEL);
		io->map_err = -EAGAIN;
		refcount_inc(&slot->call->x.pending);
		revoked += mr->policy.entries;
		rxp_count(&x->stats, cancelled);
		rxp_cancel_send(x, x->conns[i % x->nr_conns], io);
	}
	spin_unlock_bh(&x->lock);
}

/**
 * rxp_call_dropped - the server will not write to a call's memory any more
 * @x:	  the session
 * @conn: where it says so
 * @f:	  the message
 * @wc:	  its completion, which says what it has invalidated
 *
 * Softirq.
 *
 * Return: NULL, or what is wrong with it.
 */
const char *rxp_call_dropped(struct rdmafs_xprt *x, const struct rxp_conn *conn,
			     const struct rxp_frame *f, const struct ib_wc *wc)
{
	struct rxp_slot *slot = &x->slots[f->slot];
	struct rxp_io *io;
	struct rxp_mr *mr;

	spin_lock_bh(&x->lock);
	/* In no other state: else its MR may be put at this moment, without the lock. */
	io = slot->state == RXP_CALL_CANCELLED ? slot->call->x.io : NULL;
	if (!io || slot->seq != f->seq || !io->mr || !rxp_mr_lent(io->mr) ||
	    !(wc->wc_flags & IB_WC_WITH_INVALIDATE) ||
	    wc->ex.invalidate_rkey != io->mr->mr->rkey ||
	    !rxp_call_move(x, slot, RXP_CALL_EV_DROP)) {
		spin_unlock_bh(&x->lock);
		return "a key of no call";
	}
	mr = io->mr;
	if (rxp_mr_remote_inv(mr, false))
		io->mr = NULL;
	else
		mr = NULL;
	spin_unlock_bh(&x->lock);
	rxp_count(&x->stats, remote_inv);
	/* The pool stays with the call until its reply, which can't overtake us. */
	if (mr)
		rxp_mr_put(io->pool, mr);
	else
		rxp_io_invalidate(io);
	return NULL;
}

/* ------------------------------------------------------------------ the server */

static void rxp_dropped_done(struct rxp_chain *chain, bool ok)
{
	rxp_req_put(container_of(chain, struct rxp_req, stcrw));
}

/**
 * rxp_req_drop - a READ's data will not be written; give the client its key back
 * @req:  being served, its key known; cancelled from now on
 * @conn: the connection that it is bound to
 *
 * Context: process, with the session's lock held: so the reply, which comes
 * without the key, can't get ahead of this message.
 */
void rxp_req_drop(struct rxp_req *req, struct rxp_conn *conn)
{
	u64 dma = rxp_ring_dma(&req->session->tx_ring, conn->tx_dma, req->slot) + RXP_MSG_MAX;
	void *msg = rxp_req_buf(req) + RXP_MSG_MAX;

	lockdep_assert_held(&req->session->lock);
	req->cancelled = true;
	req->keyed = false;
	rxp_frame_put_hdr(msg, RXP_NOTIFY, RXP_NOTIFY_DROPPED, req->slot, req->seq);
	ib_dma_sync_single_for_device(conn->rdev->ib, dma, RXP_CTL_MAX, DMA_TO_DEVICE);
	req->drop_sge.addr = dma;
	req->drop_sge.length = sizeof(struct rxp_wire_hdr);
	req->drop_sge.lkey = conn->pool->pd->local_dma_lkey;
	rxp_fill_send(&req->inv, &req->drop_sge, 1, req->rkey);
	rxp_chain_init(&req->stcrw, rxp_dropped_done);
	rxp_chain_add(&req->stcrw, &req->inv);
	kref_get(&req->ref);
	if (rxp_post(conn, &req->stcrw)) {
		/* Not the last one: the request is at work. */
		rxp_req_put(req);
		return;
	}
	rxp_count(&req->session->stats, cancelled);
}

/*
 * What a client lets wait for its own part.  A key that we take back stands behind what the
 * client has not let go.
 */
static bool rxp_req_overdue(const struct rxp_req *req, unsigned long before)
{
	return req && (req->state == RXP_REQ_WAITING || req->state == RXP_REQ_INVALIDATING) &&
	       time_before(req->since, before);
}

/*
 * What has all of its data, or room for it, in memory: that ends in any case.  Many sinks
 * may take long to fill, one after the other, and what a client says stands behind the data of
 * others in its send queue, as an STCRW does in ours: there is time as long as any data moves,
 * but not for more than each slot may have.
 */
static bool rxp_req_held_too_long(const struct rxp_req *req, u32 held_ms)
{
	unsigned long held = msecs_to_jiffies(held_ms);
	const struct rdmafs_xprt_session *s;

	if (!req || (req->state != RXP_REQ_HELD && req->state != RXP_REQ_WAITING &&
		     req->state != RXP_REQ_INVALIDATING))
		return false;
	s = req->session;
	return time_before(req->since, jiffies - held * s->nr_slots) ||
	       (time_before(req->since, jiffies - held) &&
		time_before(READ_ONCE(s->progress), jiffies - held));
}

/* From one look at a send queue that stands to the next. */
#define RXP_LOOK_AGAIN	(HZ / 5)

/*
 * At two looks something stood.  At the first one alone completions may wait to be looked at:
 * this machine may have stood still.
 */
static bool rxp_conn_stands(struct rxp_conn *conn, unsigned long before, unsigned long ever,
			    bool *more)
{
	u64 first = rxp_send_stands(conn, before, ever);

	if (first && !conn->oldest)
		conn->found_at = jiffies;
	conn->oldest = first;
	*more |= first;
	return first && time_after(jiffies, conn->found_at + RXP_LOOK_AGAIN);
}

/*
 * Nor has it let go of what we send it: pages of replies stand in our send queue.  On iWARP
 * that may stand for ever, as TCP takes a window that is shut, or all but, for a peer that
 * lives, and the client is heard.  There is as much time as for what is held.
 */
static bool rxp_session_stands(const struct rdmafs_xprt_session *s, u32 held_ms, bool *more)
{
	unsigned long held = msecs_to_jiffies(held_ms);
	unsigned long ever = jiffies - held * s->nr_slots;
	unsigned long before = jiffies - held;
	bool stands = false;
	u32 i;

	/* Its connections may share one way. */
	if (!time_before(READ_ONCE(s->progress), before))
		before = ever;
	for (i = 0; i < s->nr_conns; i++)
		if (s->conns[i] && !rxp_conn_is_lost(s->conns[i]))
			stands |= rxp_conn_stands(s->conns[i], before, ever, more);
	return stands;
}

/**
 * rxp_session_overdue - does a client keep to itself what it has no use for?
 * @s:	  the session; its lock and the server's are held
 * @more: set if it has to be asked again
 *
 * Translations only while others wait for them; memory always.
 *
 * Return: true if for longer than it may: its connection is to go.
 */
bool rxp_session_overdue(struct rdmafs_xprt_session *s, bool *more)
{
	u32 grace_ms = rdmafs_test_knob(grace_ms) ?: READ_ONCE(rxp_grace_ms);
	unsigned long before = jiffies - msecs_to_jiffies(grace_ms);
	u32 held_ms = s->server->limits.held_ms;
	bool wanted;
	u32 i;

	lockdep_assert_held(&s->server->lock);
	lockdep_assert_held(&s->lock);
	if (!s->conns[0])
		return false;
	wanted = rpol_excess(s->conns[0]->pool->member);
	*more |= wanted;
	for (i = 0; i < s->nr_slots; i++) {
		if (rxp_req_held_too_long(s->slots[i].req, held_ms)) {
			s->server->held_dropped++;
			return true;
		}
		if (wanted && rxp_req_overdue(s->slots[i].req, before))
			return true;
	}
	if (!rxp_session_stands(s, held_ms, more))
		return false;
	s->server->held_dropped++;
	return true;
}
