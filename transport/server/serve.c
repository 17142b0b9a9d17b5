// SPDX-License-Identifier: GPL-2.0
/*
 * Requests: from a CALL's arrival to its reply.
 *
 * A completion handler checks the message, gives the request its slot, and serves it if the
 * service can do so without blocking.  Otherwise it queues the request to the threads
 * (threads.c), where the file system may block for any length of time.
 *
 * A CALL that announces a large WRITE first gets a sink (sink.c).  No thread waits for the data;
 * the client's DATA message queues the request again.
 *
 * A CALL that announces a large READ but names no memory will be followed by an STCRW (Ou et al.,
 * FRRWP): the client registers its memory while the server reads the file.  If the reply is ready
 * first, it is held with its RDMA WRITEs in the request, and posted when the STCRW arrives.
 *
 * Each of these waits also ends by a CANCEL of the client, and with the connection.
 *
 * Slots make a call happen once.  A sequence number next to the last one is a new CALL.  The last
 * number again is a replay after a reconnect: it is answered from the slot's buffer, or bound to
 * the new connection if the request is still executing, or executed again if its answer was not
 * kept.  Any other number breaks the protocol.  So does a client that sends CALLs though too many
 * former replies have not been completed: each keeps its data until the device is done with it.
 *
 * The session's lock guards a request's state (reqstate.c), slot and connection.
 */
#include <linux/blkdev.h>
#include "transport/server/server.h"
#include "transport/server/trace.h"

/*
 * Find the request of the RPC that a CONTROL names.  NULL: there is none (it may be answered
 * already), or the message breaks the protocol, and @wrong says how.
 */
static struct rxs_req *rxs_req_find(struct rxp_conn *conn, const struct rxp_frame *f,
				    const char **wrong)
{
	const struct rxs_conn *sc = rxs_conn(conn);
	struct rdmafs_xprt_session *s = sc->session;
	struct rxs_slot *slot = &s->slots[f->slot];
	struct rxs_req *req = slot->req;

	lockdep_assert_held(&s->lock);
	/* The CALL may not have been taken: the session ends, or there was no memory. */
	if (rxs_session_closes(s) || rxp_conn_is_lost(conn))
		return NULL;
	/* The CONTROL may cross the reply, but must not follow the slot's next CALL. */
	if (!f->seq || f->seq != slot->seq ||
	    (req && (req->seq != f->seq || req->conn_serial != sc->serial)))
		*wrong = "a CONTROL for no RPC";
	return *wrong ? NULL : req;
}

/* An STCRW: the client's memory is registered; if the reply is held for that, post it. */
static const char *rxs_stcrw_arrived(struct rxp_conn *conn, const struct rxp_frame *f)
{
	struct rdmafs_xprt_session *s = rxs_conn(conn)->session;
	const char *wrong = NULL;
	struct rxs_answer a;
	struct rxs_req *req;

	spin_lock_bh(&s->lock);
	req = rxs_req_find(conn, f, &wrong);
	if (!req)
		goto out;
	if (!(req->flags & RXP_F_READ) || req->keyed || req->cancelled ||
	    f->bulk.length != req->bulk.length || rxp_segment_wraps(&f->bulk)) {
		wrong = "an STCRW for no read";
		goto out;
	}
	req->keyed = true;
	/* Not the length, which is read without the lock, and is the same. */
	req->bulk.rkey = f->bulk.rkey;
	req->bulk.iova = f->bulk.iova;
	rxs_trace(stcrw_received, req, f->bulk.length);
	if (req->state != RXS_REQ_HELD)
		goto out;
	rxs_answer_take(req, 0, false, &a);
	spin_unlock_bh(&s->lock);
	rxs_answer_post(req, &a);
	return NULL;
out:
	spin_unlock_bh(&s->lock);
	return wrong;
}

static void rxs_revoked_done(struct rxp_chain *chain, bool ok)
{
	rxs_req_put(container_of(chain, struct rxs_req, stcrw));
}

/*
 * Give the client the key of a READ back: its data will not be written.  @req is being served, its
 * key is known, and it is cancelled from now on.  The session's lock is held, so that the reply,
 * which comes without the key, can't be posted ahead of this message.
 */
static void rxs_req_ack_revoke(struct rxs_req *req, struct rxp_conn *conn)
{
	u64 dma = rxp_ring_dma(&req->session->tx_ring, conn->tx_dma, req->slot);
	struct rxp_frame f = {
		.type = RXP_NOTIFY,
		.op = RXP_NOTIFY_REVOKED,
		.slot = req->slot,
		.seq = req->seq,
	};

	lockdep_assert_held(&req->session->lock);
	req->cancelled = true;
	req->keyed = false;
	rxp_build_ctl(conn->pool, rxs_req_buf(req), dma, &f, &req->revoked_sge, &req->inv,
		      req->bulk.rkey);
	ib_dma_sync_single_for_device(conn->rdev->ib, dma + RXP_MSG_MAX, RXP_CTL_MAX,
				      DMA_TO_DEVICE);
	rxp_chain_init(&req->stcrw, rxs_revoked_done);
	rxp_chain_add(&req->stcrw, &req->inv);
	kref_get(&req->ref);
	if (rxp_post(conn, &req->stcrw)) {
		/* This is not the last reference: the request is being served. */
		rxs_req_put(req);
		return;
	}
	rxp_count(&req->session->stats, cancelled);
}

/*
 * A CANCEL: the client could not map memory for the CALL; or it has named memory for it and
 * wants that back (the client's revoke.c).
 */
static const char *rxs_cancel_arrived(struct rxp_conn *conn, const struct rxp_frame *f)
{
	struct rdmafs_xprt_session *s = rxs_conn(conn)->session;
	const char *wrong = NULL;
	struct rxs_answer a;
	struct rxs_req *req;

	spin_lock_bh(&s->lock);
	req = rxs_req_find(conn, f, &wrong);
	if (!req)
		goto out;
	if (req->cancelled || !(req->flags & (RXP_F_READ | RXP_F_WRITE)) ||
	    ((req->flags & RXP_F_WRITE) && (req->keyed || req->state > RXS_REQ_WAITING))) {
		wrong = "a CANCEL of nothing";
		goto out;
	}
	if (req->keyed) {
		rxs_req_ack_revoke(req, conn);
		goto out;
	}
	req->cancelled = true;
	if (req->state == RXS_REQ_HELD) {
		rxs_answer_take_cancelled(req, &a);
		spin_unlock_bh(&s->lock);
		rxs_answer_post(req, &a);
		return NULL;
	}
	if (rxs_req_unclaim(req)) {
		rxs_answer_take_cancelled(req, &a);
		spin_unlock_bh(&s->lock);
		rxs_req_post_cancelled(req, &a);
		return NULL;
	}
	if (req->state != RXS_REQ_WAITING)
		goto out;	/* the task at work with the request will see @cancelled */
	rxs_req_move(req, RXS_REQ_INVALIDATE);
	kref_get(&req->ref);
	spin_unlock_bh(&s->lock);
	rxs_sink_inv(req);
	return NULL;
out:
	spin_unlock_bh(&s->lock);
	return wrong;
}

/* ------------------------------------------------------------------- receiving */

enum rxs_arrival {
	RXS_ARRIVAL_NEW,	/* execute it */
	RXS_ARRIVAL_AGAIN,	/* executing already: its answer will go to this connection */
	RXS_ARRIVAL_CACHED,	/* answer it from the slot's buffer */
	RXS_ARRIVAL_CLOSING,	/* the session or connection ends, and no answer goes */
	RXS_ARRIVAL_EARLY,	/* a protocol error: too many former replies are not completed */
	RXS_ARRIVAL_WRONG,	/* a protocol error: out of sequence, or not what it was before */
};

/* Count a request that will be answered in its slot's @alive, until it is freed. */
static enum rxs_arrival rxs_slot_count(struct rxs_slot *slot, struct rxs_req *req,
				       enum rxs_arrival arrival)
{
	if (atomic_read(&slot->alive) >= RXS_SLOT_LAG_MAX)
		return RXS_ARRIVAL_EARLY;
	atomic_inc(&slot->alive);
	req->counted = true;
	return arrival;
}

/* Compare a CALL with what its slot has had.  A NEW one gets the slot. */
static enum rxs_arrival rxs_slot_take(struct rdmafs_xprt_session *s, struct rxs_slot *slot,
				      struct rxs_req *req)
{
	struct rxs_req *old = slot->req;

	lockdep_assert_held(&s->lock);
	if (rxs_session_closes(s))
		return RXS_ARRIVAL_CLOSING;
	if (req->seq == rxp_seq_next(slot->seq)) {
		if (slot->state == RXS_SLOT_EXECUTING)
			return RXS_ARRIVAL_WRONG;
	} else if (req->seq == slot->seq && req->seq) {
		if (slot->state == RXS_SLOT_CACHED)
			return rxs_slot_count(slot, req, RXS_ARRIVAL_CACHED);
		if (slot->state == RXS_SLOT_EXECUTING) {
			/* A READ that named no memory (overlapped) names it when sent again. */
			if (old->conn_serial == req->conn_serial ||
			    ((old->flags ^ req->flags) & ~RXP_F_RKEY) ||
			    old->bulk.length != req->bulk.length ||
			    rxs_req_move(old, RXS_REQ_REPLAY))
				return RXS_ARRIVAL_WRONG;
			old->conn_serial = req->conn_serial;
			old->keyed = req->keyed;
			old->cancelled = false;
			old->bulk.rkey = req->bulk.rkey;
			old->bulk.iova = req->bulk.iova;
			return RXS_ARRIVAL_AGAIN;
		}
	} else {
		return RXS_ARRIVAL_WRONG;
	}
	if (rxs_slot_count(slot, req, RXS_ARRIVAL_NEW) != RXS_ARRIVAL_NEW)
		return RXS_ARRIVAL_EARLY;
	slot->seq = req->seq;
	slot->state = RXS_SLOT_EXECUTING;
	slot->req = req;
	s->requests++;
	return RXS_ARRIVAL_NEW;
}

/*
 * Two stages (Liss et al.): a request that can't block is served here, and its reply is on its way
 * before a thread would have been woken.
 */
static bool rxs_req_now(struct rxs_req *req)
{
	struct rdmafs_xprt_server *server = req->session->server;

	/* A WRITE may have to fetch its data first, and may end before it is served. */
	if (!server->service->handle_now || (req->flags & RXP_F_WRITE) ||
	    req->bulk.length > RDMAFS_XPRT_INLINE_MAX ||
	    rdmafs_test_knob(service_us))
		return false;
	/* A reference of our own, as the answer gives away the slot's. */
	kref_get(&req->ref);
	if (server->service->handle_now(&req->r, server->ctx)) {
		rxp_count(&req->session->stats, served_now);
		rxs_req_put(req);
		return true;
	}
	rxs_req_put(req);
	return false;
}

/**
 * struct rxs_cached - an answer that is in its slot, to be sent again
 * @route:    how it goes
 * @head_len: bytes of its head
 * @data_len: bytes of its data
 */
struct rxs_cached {
	struct rxs_route route;
	u32 head_len;
	u32 data_len;
};

/* Prepare to send the answer in a slot again; false: the connection is gone.  The lock is held. */
static bool rxs_call_cached(struct rxs_req *req, struct rxp_conn *conn, struct rxs_cached *cached)
{
	struct rdmafs_xprt_session *s = req->session;
	struct rxs_slot *slot = &s->slots[req->slot];

	lockdep_assert_held(&s->lock);
	cached->head_len = slot->head_len;
	cached->data_len = slot->data_len;
	if (!rxs_route_get(s, rxs_conn(conn)->serial, req->slot, &cached->route))
		return false;
	rxp_frame_clear_grant(rxs_req_buf(req));
	rxs_route_sync(s, &cached->route, 0, RXP_SLOT_BUF);
	return true;
}

/*
 * Find out what a CALL is in its slot.  @granted: its data is in a granted sink; then, if it is
 * RXS_ARRIVAL_NEW, @invalid: the sink's key is invalid by now.  @cached: filled in if it is
 * RXS_ARRIVAL_CACHED.
 */
static enum rxs_arrival rxs_call_take(struct rxs_req *req, struct rxp_conn *conn,
				      const struct ib_wc *wc, bool granted, bool *invalid,
				      struct rxs_cached *cached)
{
	struct rdmafs_xprt_session *s = req->session;
	enum rxs_arrival arrival;

	spin_lock_bh(&s->lock);
	arrival = rxs_slot_take(s, &s->slots[req->slot], req);
	if (granted && arrival == RXS_ARRIVAL_NEW) {
		if (rxs_grant_use(req, conn)) {
			rxs_session_progress(s);
			*invalid = rxs_sink_inv_arrived(req, wc, false);
			rxs_req_move(req, *invalid ? RXS_REQ_DATA : RXS_REQ_INVALIDATE);
		} else {
			rxs_req_forget(req, RXS_REQ_FORGET);
			arrival = RXS_ARRIVAL_WRONG;
		}
	} else if (granted && arrival != RXS_ARRIVAL_CLOSING && arrival != RXS_ARRIVAL_EARLY) {
		/* A grant ends with its connection, so no replay may name one. */
		arrival = RXS_ARRIVAL_WRONG;
	}
	if (arrival == RXS_ARRIVAL_CACHED && !rxs_call_cached(req, conn, cached))
		arrival = RXS_ARRIVAL_CLOSING;
	spin_unlock_bh(&s->lock);
	return arrival;
}

static const char *rxs_call_arrived(struct rxp_conn *conn, struct rxp_rx *rx,
				    const struct rxp_frame *f, const struct ib_wc *wc)
{
	bool granted = (f->flags & RXP_F_WRITE) && (f->flags & RXP_F_RKEY);
	struct rdmafs_xprt_session *s = rxs_conn(conn)->session;
	struct rxs_req *req = rxs_req_new(conn, rx, f);
	struct rxs_cached cached = {};
	bool invalid = false;

	if (!req) {
		/* The client sends it again on its next connection. */
		rxp_conn_lost(conn);
		return NULL;
	}
	rxs_req_claim_init(req);
	switch (rxs_call_take(req, conn, wc, granted, &invalid, &cached)) {
	case RXS_ARRIVAL_NEW:
		rxp_count(&s->stats, calls);
		rxs_trace(arrived, req, f->bulk.length + f->data_len);
		req->r.reply = rxs_req_buf(req) + RXP_BODY_OFFSET;
		memset(req->r.reply, 0, RDMAFS_XPRT_BODY_MAX);
		if (granted)
			rxs_req_data_in_grant(req, invalid);
		else if (!rxs_req_now(req))
			rxs_threads_add(&req->session->server->threads, req);
		return NULL;
	case RXS_ARRIVAL_CACHED:
		rxp_count(&s->stats, replays);
		rxp_rx_put(rx);
		rxs_reply_post(req, &cached.route, cached.head_len, cached.data_len, NULL, 0, 0,
			       NULL);
		rxs_route_put(&cached.route);
		break;
	case RXS_ARRIVAL_AGAIN:
		rxp_count(&s->stats, replays);
		rxp_rx_put(rx);
		break;
	case RXS_ARRIVAL_CLOSING:
		break;
	case RXS_ARRIVAL_EARLY:
		rxs_req_put(req);
		return "CALLs ahead of their replies";
	case RXS_ARRIVAL_WRONG:
		rxs_req_put(req);
		return "a CALL out of sequence";
	}
	rxs_req_put(req);
	return NULL;
}

static const char *rxs_control(struct rxp_conn *conn, const struct rxp_frame *f,
			       const struct ib_wc *wc)
{
	struct rxs_conn *sc = rxs_conn(conn);

	if (f->op == RXP_CONTROL_HELLO) {
		/* First: once the state has moved, the worker may run and bind by the HELLO. */
		if (READ_ONCE(conn->state) == RXP_CONN_OPEN)
			memcpy(&sc->hello, f->body, sizeof(sc->hello));
		smp_wmb();	/* pairs with rxs_conn_work() */
		switch (rxp_conn_move(conn, RXP_CONN_GREET)) {
		case -EPROTO:
			return "a second HELLO";
		case -ENOTCONN:
			return NULL;
		}
		rxs_conn_wake(conn);
		return NULL;
	}
	if (!sc->session)
		return "no HELLO";
	switch (f->op) {
	case RXP_CONTROL_DATA:
		return rxs_data_arrived(conn, f, wc);
	case RXP_CONTROL_STCRW:
		return rxs_stcrw_arrived(conn, f);
	case RXP_CONTROL_CANCEL:
		if (rdmafs_test_fails("cancel_unheard", f->slot))
			return NULL;
		return rxs_cancel_arrived(conn, f);
	case RXP_CONTROL_RETURN:
		return rxs_return_arrived(conn, f);
	case RXP_CONTROL_PING:
		rxp_ctl_send(conn, RXP_NOTIFY, RXP_NOTIFY_PONG, NULL, 0);
		return NULL;
	default:		/* RXP_CONTROL_BYE: rxp_frame_check() knows no other */
		rxs_session_close(sc->session);
		return NULL;
	}
}

static const char *rxs_frame_arrived(struct rxp_conn *conn, struct rxp_rx *rx,
				     const struct rxp_frame *f, const struct ib_wc *wc)
{
	const char *wrong;

	if (rxp_frame_astray(f, conn->index, conn->count))
		return "a message on another connection than its slot's";
	if ((wc->wc_flags & IB_WC_WITH_INVALIDATE) &&
	    !(f->type == RXP_CONTROL && f->op == RXP_CONTROL_DATA) &&
	    !(f->type == RXP_CALL && f->alone && f->flags == (RXP_F_WRITE | RXP_F_RKEY) &&
	      f->bulk.rkey == wc->ex.invalidate_rkey))
		return "an invalidation out of place";
	if (f->type == RXP_CONTROL) {
		wrong = rxs_control(conn, f, wc);
		if (!wrong)
			rxp_rx_put(rx);
		return wrong;
	}
	if (!rxs_conn(conn)->session)
		return "no HELLO";
	return rxs_call_arrived(conn, rx, f, wc);
}

/**
 * rxs_recv - handle a message from a client
 * @conn: the connection it came on
 * @rx:	  its receive buffer
 * @wc:	  its completion
 * @len:  its length in bytes
 *
 * Context: process, the completion queue's worker.
 */
void rxs_recv(struct rxp_conn *conn, struct rxp_rx *rx, struct ib_wc *wc, u32 len)
{
	const char *wrong = NULL;
	struct blk_plug plug;
	struct rxp_frame f;
	bool plugged = false;
	u32 at = 0;

	do {
		if (rxp_frame_check(rxp_conn_buf(rx), len, at, true, conn->slots, conn->data_max,
				    &f)) {
			wrong = "a malformed message";
			break;
		}
		at = f.end;
		if (!f.alone && !plugged) {
			/* Replies to CALLs that came in one message are posted together. */
			blk_start_plug(&plug);
			plugged = true;
		}
		/* Each frame has a use of the buffer; the last frame has the message's. */
		if (at < len)
			rxp_rx_get(rx);
		wrong = rxs_frame_arrived(conn, rx, &f, wc);
	} while (!wrong && at < len);
	if (plugged)
		blk_finish_plug(&plug);
	if (wrong)
		rxp_conn_protocol_error(conn, wrong);
	/* The queue may hold thousands of messages; to stop at each would break up bursts. */
	if (conn->received % RXS_RECV_BURST == 0)
		cond_resched();
}

/**
 * rxs_req_run - serve a request, or ask the client for its data
 * @req: the request, from rxs_threads_add()
 *
 * Context: process, one of the server's threads; may sleep.
 */
void rxs_req_run(struct rxs_req *req)
{
	struct rdmafs_xprt_session *s = req->session;
	struct rdmafs_xprt_server *server = s->server;
	/* Read before the request is counted: a test that sees the count may change the knob. */
	u32 us = rdmafs_test_knob(service_us);
	bool fetch;

	spin_lock_bh(&s->lock);
	fetch = req->state == RXS_REQ_QUEUED && (req->flags & RXP_F_WRITE);
	rxs_req_move(req, fetch ? RXS_REQ_FETCH : RXS_REQ_SERVE);
	spin_unlock_bh(&s->lock);
	if (fetch) {
		rxs_req_fetch(req);
		return;
	}
	rxp_count(&s->stats, served_by_thread);
	rdmafs_test_delay(us);
	rdmafs_test_point("req_run", req->slot);
	server->service->handle(&req->r, server->ctx);
}
