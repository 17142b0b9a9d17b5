// SPDX-License-Identifier: GPL-2.0
/*
 * Translations and memory that are bound to an I/O, are needed elsewhere, and do not come back.
 *
 * On the client: a member that is entitled to translations waits at most until the READs that
 * hold them are answered.  A server whose disk hangs would make that for ever.  So a READ that
 * has waited for the grace period T while others want its translations gets a CANCEL.  A server
 * that lives drops the RDMA WRITE, held or yet to come, and says so in a DROPPED that
 * invalidates the key.  When it is done with the call it answers CANCELLED, and the client
 * sends the call again in its turn.  A server that does not live misses its heartbeats as well:
 * the connections end, and the keys with them (client/session.c).
 *
 * They also end if a server that answers PINGs does not answer a CANCEL within T, or does not
 * take the messages that the end of a key waits for in the send queue.  From the CANCEL to the
 * end of the key there is T once, whatever the server says meanwhile.
 *
 * On the server the same holds for sinks of a client that does not send the data that it
 * announced: its connection ends.  It also ends, whether others wait or not, if for long no
 * sink of the client is filled, a held reply is not asked for, or a reply that was sent is not
 * taken: they take memory.  How long that may be is not T but a limit of the port, held_ms
 * (server/limits.c).
 */
#include <linux/module.h>
#include "transport/client/client.h"
#include "transport/server/server.h"
#include "transport/trace.h"

/* The grace period T (Magoutis, section 4), in milliseconds. */
unsigned int rxp_grace_ms = 10000;

/* ------------------------------------------------------------------ the client */

/*
 * The MR of a READ that the server could be asked to let go of, or was asked already; NULL if
 * there is none.  The session's lock is held.
 */
static const struct rxp_mr *rxp_slot_revocable(const struct rxp_slot *slot)
{
	const struct rdmafs_xprt_call *call = slot->call;
	const struct rxp_io *io = call ? call->x.io : NULL;

	if (!io || call->dir != RDMAFS_XPRT_READ || !rxp_call_unanswered(slot->state) ||
	    rxp_call_being_mapped(slot->state) || !io->mr || !rxp_mr_known(io->mr))
		return NULL;
	return io->mr;
}

/* Entries of the MRs that were asked for already, and that come back without more. */
static u64 rxp_calls_revoked(struct rdmafs_xprt *x)
{
	const struct rxp_mr *mr;
	u64 entries = 0;
	u32 i;

	lockdep_assert_held(&x->lock);
	for (i = 0; i < x->slot_account.max; i++) {
		mr = rxp_slot_revocable(&x->slots[i]);
		/* A READ that is DROPPED and still has its MR waits for our LOCAL_INV. */
		if (mr && (x->slots[i].state == RXP_CALL_CANCELLED ||
			   x->slots[i].state == RXP_CALL_DROPPED))
			entries += mr->policy.entries;
	}
	return entries;
}

/*
 * Is a READ so late that its server is to lose its connection?  A CANCEL that was posted before
 * @before must have been answered.  While others want translations (@wanted), a message that
 * the MR's return waits for must have left the send queue in the same time: the STCRW, the CALL
 * of a READ that is answered, or our LOCAL_INV.
 *
 * This may hit an honest server on a slow link: an STCRW behind many WRITEs costs all
 * connections, and the calls under way are sent again.  But calls that are answered end with
 * the connection, and have their data: so there is progress, though it is slow.
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
		/*
		 * Without a reference nothing is under way, and the MR may be put at this
		 * moment.
		 */
		return wanted && refcount_read(&call->x.pending);
	default:
		return false;
	}
}

/*
 * Is a call overdue at two heartbeats in a row, in the same state?  At the first alone its
 * messages may have come and not been handled yet: this machine may have stood still.
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
 * rxp_calls_revoke - cancel the READs that hold translations for too long while others wait
 * @x: the session
 *
 * No more READs are cancelled than cover what others are entitled to: each is sent again and
 * read again, and a slow server would never come to an end with any.
 *
 * A connection whose server is overdue in answering a CANCEL, or in taking messages, is ended.
 *
 * Context: process, from the heartbeat; takes the session's lock.
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
		/* It is cancelled already, or its STCRW is still in the send queue. */
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
 * rxp_call_dropped - handle a DROPPED: the server will not write to a READ's memory any more
 * @x:    the session
 * @conn: the connection that it came on
 * @f:    the message
 * @wc:   its completion, which tells the key that it invalidated
 *
 * Context: softirq.
 *
 * Return: NULL, or what is wrong with the message.
 */
const char *rxp_call_dropped(struct rdmafs_xprt *x, const struct rxp_conn *conn,
			     const struct rxp_frame *f, const struct ib_wc *wc)
{
	struct rxp_slot *slot = &x->slots[f->slot];
	struct rxp_io *io;
	struct rxp_mr *mr;

	spin_lock_bh(&x->lock);
	/*
	 * io->mr is looked at in no other state: a call that is ANSWERED may end at this
	 * moment, and put its MR without the lock.
	 */
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
	/*
	 * io->pool stays with the call until its reply, which this handler sees only after this
	 * message.
	 */
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
 * rxp_req_drop - give the client the key of a READ back: its data will not be written
 * @req:  being served, its key known; cancelled from now on
 * @conn: the connection that it is bound to
 *
 * The session's lock is held, so that the reply, which comes without the key, can't be posted
 * ahead of this message.
 *
 * Context: process, the session's lock held.
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
		/* This is not the last reference: the request is being served. */
		rxp_req_put(req);
		return;
	}
	rxp_count(&req->session->stats, cancelled);
}

/*
 * Does a request wait for the client since before @before?  WAITING: the client's data has not
 * come.  INVALIDATING: our LOCAL_INV stands in the send queue behind messages that the client
 * has not taken.
 */
static bool rxp_req_overdue(const struct rxp_req *req, unsigned long before)
{
	return req && (req->state == RXP_REQ_WAITING || req->state == RXP_REQ_INVALIDATING) &&
	       time_before(req->since, before);
}

/*
 * Does a request wait for the client for longer than @held_ms allows?  It holds memory for all
 * of its data, or room for it.  In any other state it goes on without the client.
 *
 * Many sinks may take long to be filled, one after the other.  A message of the client may wait
 * in its send queue behind the data of other requests, as our STCRW may in ours.  So there is
 * time as long as any data of the session moves, but in all no more than @held_ms for each
 * slot.
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

/* Time from one look at a send queue that stands to the next. */
#define RXP_LOOK_AGAIN	(HZ / 5)

/*
 * Does a send queue stand at two looks, RXP_LOOK_AGAIN apart?  At the first alone its
 * completions may not have been handled yet: this machine may have stood still.  @before and
 * @ever: rxp_send_stands(); @more is set if it is to be looked at again.
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
 * Does a client not take what is sent to it?  Pages of replies stand in our send queue then.
 * On iWARP that may last for ever: TCP takes a window that is shut, or nearly, for a peer that
 * lives, and the client is heard.  The time is the same as for requests that are held.
 */
static bool rxp_session_stands(const struct rdmafs_xprt_session *s, u32 held_ms, bool *more)
{
	unsigned long held = msecs_to_jiffies(held_ms);
	unsigned long ever = jiffies - held * s->nr_slots;
	unsigned long before = jiffies - held;
	bool stands = false;
	u32 i;

	/* Its connections may share one link: data that moves on any of them counts. */
	if (!time_before(READ_ONCE(s->progress), before))
		before = ever;
	for (i = 0; i < s->nr_conns; i++)
		if (s->conns[i] && !rxp_conn_is_lost(s->conns[i]))
			stands |= rxp_conn_stands(s->conns[i], before, ever, more);
	return stands;
}

/**
 * rxp_session_overdue - test whether a client holds for too long what it does not use
 * @s:    the session; its lock and the server's are held
 * @more: set if the session has to be tested again
 *
 * Translations count only while others wait for them; memory counts always.
 *
 * Context: any but hard interrupt, both locks held.
 *
 * Return: true if so: its connections are to end.
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
