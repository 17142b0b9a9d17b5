// SPDX-License-Identifier: GPL-2.0
/*
 * Requests: from a CALL's arrival to its reply.
 *
 * A completion handler checks the message, gives the request its slot, and
 * serves it if the service can do so without blocking; else it queues it to the
 * threads (threads.c), where the file system may block for as long as it likes.
 *
 * A CALL that announces a large write first gets a sink: pages of the
 * session, registered, named to the client by an STCRW.  No thread waits for
 * the data; its DATA message queues the request again.  If there are no
 * translations for a sink the client is told to come back (RETRY_LATER), so
 * that nobody sits on a slot while waiting for another client.
 *
 * A CALL that announces a large READ but names no memory will be followed by
 * an STCRW (Ou et al., FRRWP): the client registers while the file is read.
 * Whichever of the two is ready first waits for the other: a reply with its
 * RDMA WRITEs is held in the request, and posted by the STCRW's completion.
 * Either kind of waiting ends by a CANCEL, too, and with the connection.
 *
 * Slots make a call happen once.  A sequence number one above the last is new;
 * the last one again is a replay after a reconnect: answered from the slot's
 * buffer, or bound to the connection it came on if it is executing still, or
 * executed again if its answer was not worth keeping.  Anything else breaks
 * the protocol.
 */
#include <linux/blkdev.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include "transport/server.h"
#include "transport/trace.h"

static struct kmem_cache *rxp_req_cache;

static void rxp_req_release(struct kref *ref)
{
	struct rxp_req *req = container_of(ref, struct rxp_req, ref);

	if (req->mr)
		rxp_mr_put(req->pool, req->mr);
	if (req->buf)
		rxp_buf_put(req->pool, req->buf);
	if (req->pages)
		rxp_pages_release(req->pool, req->pages);
	if (req->pool)
		rxp_pool_put(req->pool);
	if (req->conn)
		rxp_conn_put(req->conn);
	rxp_session_put(req->session);
	kmem_cache_free(rxp_req_cache, req);
}

/**
 * rxp_req_put - drop a reference
 * @req: the request
 *
 * Process context: an MR that is still bound is deregistered.
 */
void rxp_req_put(struct rxp_req *req)
{
	kref_put(&req->ref, rxp_req_release);
}

/**
 * rxp_req_buf - the buffer of a request's slot
 * @req: the request
 *
 * Return: RXP_SLOT_BUF bytes, in the session's ring.
 */
void *rxp_req_buf(struct rxp_req *req)
{
	return rxp_ring_buf(&req->session->tx_ring, req->slot);
}

/**
 * rxp_slot_leave - a slot's request is over, one way or the other
 * @s:	   the session; its lock is held
 * @slot:  the slot
 * @state: what it is now: free, or its answer cached
 */
void rxp_slot_leave(struct rdmafs_xprt_session *s, struct rxp_sslot *slot,
		    enum rxp_sslot_state state)
{
	lockdep_assert_held(&s->lock);
	slot->state = state;
	slot->req = NULL;
	if (!--s->requests)
		wake_up_all(&s->idle);
}

/*
 * Under the session's lock: the request's connection died before its data was
 * there, or before that could go.  It is as if the CALL had never come: the
 * client sends it again.
 */
static void rxp_req_gone(struct rxp_req *req)
{
	struct rxp_sslot *slot = &req->session->slots[req->slot];

	req->state = RXP_REQ_GONE;
	slot->seq--;
	rxp_slot_leave(req->session, slot, RXP_SLOT_FREE);
}

/**
 * rxp_session_drop_waiting - forget the requests that wait for data of a connection
 * @s:	  the session
 * @conn: its connection, drained
 *
 * Process context.
 */
void rxp_session_drop_waiting(struct rdmafs_xprt_session *s, struct rxp_conn *conn)
{
	struct rxp_req *req;
	u32 i;

	for (i = 0; i < s->nr_slots; i++) {
		spin_lock_bh(&s->lock);
		req = s->slots[i].req;
		if (req && req->bound == conn &&
		    (req->state == RXP_REQ_WAITING || req->state == RXP_REQ_HELD))
			rxp_req_gone(req);
		else
			req = NULL;
		spin_unlock_bh(&s->lock);
		if (req)
			rxp_req_put(req);
	}
}

/* ----------------------------------------------------------- data of large writes */

static void rxp_stcrw_done(struct rxp_chain *chain, bool ok)
{
	rxp_req_put(container_of(chain, struct rxp_req, stcrw));
}

/* A sink for the client's data: -EAGAIN if there is none to be had now, -E2BIG never. */
static int rxp_req_sink(struct rxp_req *req, struct rxp_pool *pool)
{
	struct rxp_mr *mr;

	rxp_pool_get(pool);
	req->pool = pool;
	req->buf = rxp_buf_get(pool, req->bulk_len);
	if (!req->buf)
		return -EAGAIN;
	mr = rxp_mr_get(pool, rxp_buf_pages(req->buf, req->bulk_len),
			RPOL_NOWAIT | RPOL_RECLAIM);
	if (IS_ERR(mr)) {
		if (PTR_ERR(mr) == -E2BIG)
			return -E2BIG;
		/* Of a connection that is gone: that is no shortage. */
		if (PTR_ERR(mr) != -ESHUTDOWN)
			rxp_grants_shortage(req->session->server, pool);
		if (PTR_ERR(mr) == -EAGAIN)
			rxp_mr_claim(pool, rxp_buf_pages(req->buf, req->bulk_len));
		return -EAGAIN;
	}
	req->mr = mr;
	rxp_buf_sync_for_device(pool, req->buf);
	return rxp_mr_map_buf(pool, mr, req->buf, req->bulk_len, &req->reg) ? -EAGAIN : 0;
}

static void rxp_stcrw_build(struct rxp_req *req, struct rxp_way *way)
{
	void *msg = rxp_req_buf(req) + RXP_MSG_MAX;
	struct rxp_wire_tag *tag = msg + sizeof(struct rxp_wire_hdr);

	rxp_frame_put_hdr(msg, RXP_NOTIFY, RXP_NOTIFY_STCRW, req->slot, req->seq);
	tag->length = cpu_to_le32(req->bulk_len);
	tag->rkey = cpu_to_le32(req->mr->mr->rkey);
	tag->iova = cpu_to_le64(req->mr->mr->iova);
	ib_dma_sync_single_for_device(way->pool->rdev->ib, way->dma + RXP_MSG_MAX, RXP_CTL_MAX,
				      DMA_TO_DEVICE);
	req->sge[0].addr = way->dma + RXP_MSG_MAX;
	req->sge[0].length = sizeof(struct rxp_wire_hdr) + sizeof(*tag);
	req->sge[0].lkey = way->pool->pd->local_dma_lkey;
	rxp_fill_send(&req->send, req->sge, 1, 0);
	rxp_chain_init(&req->stcrw, rxp_stcrw_done);
	rxp_chain_add(&req->stcrw, &req->reg.wr);
	rxp_chain_add(&req->stcrw, &req->send);
	req->mr->bound = true;
}

/* The client can't send what it announced: no sink is bound for it any more. */
static void rxp_req_cancelled(struct rxp_req *req)
{
	rxp_req_finish(req, RXP_STATUS_CANCELLED, 0, 0, false);
}

/* Ask the client for a large write's data.  On a thread. */
static void rxp_req_fetch(struct rxp_req *req)
{
	struct rdmafs_xprt_session *s = req->session;
	bool alive, cancelled;
	struct rxp_way way;
	int ret;

	spin_lock_bh(&s->lock);
	alive = rxp_way_get(s, req->bound, req->slot, &way);
	if (!alive)
		rxp_req_gone(req);
	spin_unlock_bh(&s->lock);
	if (!alive) {
		rxp_rx_put(req->rx);
		rxp_req_put(req);
		return;
	}
	ret = rxp_req_sink(req, way.pool);
	if (ret) {
		rxp_way_put(&way);
		if (ret != -E2BIG)
			rxp_count(&s->stats, retry_later);
		rxp_req_finish(req, ret == -E2BIG ? RXP_STATUS_TOO_LARGE : RXP_STATUS_RETRY_LATER,
			       0, 0, false);
		return;
	}
	rxp_stcrw_build(req, &way);
	rxp_trace(stcrw_sent, req, req->bulk_len);

	spin_lock_bh(&s->lock);
	alive = rxp_slot_conn(s, req->slot) == way.conn && req->bound == way.conn;
	cancelled = alive && req->cancelled;
	if (alive && !cancelled) {
		req->state = RXP_REQ_WAITING;
		req->waits_since = jiffies;
		kref_get(&req->ref);
	} else {
		/* Never posted. */
		req->mr->bound = false;
	}
	if (!alive)
		rxp_req_gone(req);
	spin_unlock_bh(&s->lock);
	if (!alive) {
		rxp_rx_put(req->rx);
		rxp_req_put(req);
	} else if (cancelled) {
		rxp_req_cancelled(req);
	} else if (rxp_post(way.conn, &req->stcrw)) {
		/* The connection's end finds the request waiting. */
		rxp_req_put(req);
	} else {
		rxp_count(&s->stats, reg_mr);
	}
	rxp_way_put(&way);
}

/*
 * The sink's key is invalid: what is in its pages is what the service will see.
 * The MR stays: it may become a grant.
 */
static void rxp_req_fetched(struct rxp_req *req)
{
	rxp_buf_sync_for_cpu(req->pool, req->buf);
	iov_iter_bvec(&req->r.data, ITER_SOURCE, req->buf->bv, req->buf->nents, req->bulk_len);
	req->r.data_len = req->bulk_len;
	rxp_add(&req->session->stats, bytes_written, req->bulk_len);
	rxp_trace(data, req, req->bulk_len);
	rxp_threads_add(&req->session->server->threads, req);
}

static void rxp_sink_inv_done(struct rxp_chain *chain, bool ok)
{
	struct rxp_req *req = container_of(chain, struct rxp_req, inv_chain);
	struct rdmafs_xprt_session *s = req->session;

	if (ok)
		req->mr->bound = false;
	if (ok && req->cancelled) {
		rxp_req_cancelled(req);
	} else if (ok) {
		rxp_req_fetched(req);
	} else {
		spin_lock_bh(&s->lock);
		rxp_req_gone(req);
		spin_unlock_bh(&s->lock);
		rxp_req_put(req);
	}
	rxp_req_put(req);
}

/* Take the sink's key back ourselves; a reference goes with it. */
static void rxp_sink_inv(struct rxp_req *req, struct rxp_conn *conn)
{
	rxp_fill_inv(&req->inv, req->mr->mr->rkey);
	rxp_chain_init(&req->inv_chain, rxp_sink_inv_done);
	rxp_chain_add(&req->inv_chain, &req->inv);
	rxp_count(&req->session->stats, local_inv);
	if (rxp_post(conn, &req->inv_chain))
		rxp_sink_inv_done(&req->inv_chain, false);
}

/* A DATA message: the client says that its CRW has fired. */
static const char *rxp_req_data(struct rxp_conn *conn, const struct rxp_frame *f,
				const struct ib_wc *wc)
{
	struct rdmafs_xprt_session *s = conn->session;
	struct rxp_sslot *slot = &s->slots[f->slot];
	struct rxp_req *req;

	spin_lock_bh(&s->lock);
	req = slot->req;
	if (!req || req->seq != f->seq || req->state != RXP_REQ_WAITING || req->bound != conn ||
	    f->bulk_len != req->bulk_len || f->rkey != req->mr->mr->rkey ||
	    ((wc->wc_flags & IB_WC_WITH_INVALIDATE) && wc->ex.invalidate_rkey != f->rkey)) {
		spin_unlock_bh(&s->lock);
		return "data for no write";
	}
	req->state = RXP_REQ_SERVED;
	kref_get(&req->ref);	/* for the rest of this function, or the LOCAL_INV */
	spin_unlock_bh(&s->lock);

	if (wc->wc_flags & IB_WC_WITH_INVALIDATE) {
		rxp_count(&s->stats, remote_inv);
		req->mr->bound = false;
		rxp_req_fetched(req);
		rxp_req_put(req);
		return NULL;
	}
	rxp_sink_inv(req, conn);
	return NULL;
}

/* A CONTROL that names an RPC of this connection: find its request; NULL: it is answered. */
static struct rxp_req *rxp_req_named(struct rxp_conn *conn, const struct rxp_frame *f,
				     const char **wrong)
{
	struct rxp_sslot *slot = &conn->session->slots[f->slot];
	struct rxp_req *req = slot->req;

	lockdep_assert_held(&conn->session->lock);
	/* Its CALL was not taken: the session ends, or there was no memory for it. */
	if (test_bit(0, &conn->session->closing) || test_bit(0, &conn->lost))
		return NULL;
	/* It may cross the reply, but not the slot's next CALL. */
	if (!f->seq || f->seq != slot->seq || (req && (req->seq != f->seq || req->bound != conn)))
		*wrong = "a CONTROL for no RPC";
	return *wrong ? NULL : req;
}

/* The client's memory is registered: a reply that is held for it goes. */
static const char *rxp_req_stcrw(struct rxp_conn *conn, const struct rxp_frame *f)
{
	struct rdmafs_xprt_session *s = conn->session;
	const char *wrong = NULL;
	struct rxp_answer a;
	struct rxp_req *req;

	spin_lock_bh(&s->lock);
	req = rxp_req_named(conn, f, &wrong);
	if (!req)
		goto out;
	if (!(req->flags & RXP_F_READ) || req->keyed || req->cancelled ||
	    f->bulk_len != req->bulk_len || f->iova > U64_MAX - f->bulk_len) {
		wrong = "an STCRW for no read";
		goto out;
	}
	req->keyed = true;
	req->rkey = f->rkey;
	req->iova = f->iova;
	rxp_trace(stcrw_received, req, f->bulk_len);
	if (req->state != RXP_REQ_HELD)
		goto out;
	req->state = RXP_REQ_SERVED;
	rxp_answer_take(req, 0, false, &a);
	spin_unlock_bh(&s->lock);
	rxp_answer_post(req, &a);
	return NULL;
out:
	spin_unlock_bh(&s->lock);
	return wrong;
}

/*
 * The client could not map what the CALL is about; or it has named memory for
 * it, and needs that elsewhere (revoke.c).
 */
static const char *rxp_req_cancel(struct rxp_conn *conn, const struct rxp_frame *f)
{
	struct rdmafs_xprt_session *s = conn->session;
	const char *wrong = NULL;
	struct rxp_answer a;
	struct rxp_req *req;

	spin_lock_bh(&s->lock);
	req = rxp_req_named(conn, f, &wrong);
	if (!req)
		goto out;
	if (req->cancelled || !(req->flags & (RXP_F_READ | RXP_F_WRITE)) ||
	    ((req->flags & RXP_F_WRITE) && (req->keyed || req->state == RXP_REQ_SERVED))) {
		wrong = "a CANCEL of nothing";
		goto out;
	}
	if (req->keyed) {
		rxp_req_drop(req, conn);
		goto out;
	}
	req->cancelled = true;
	if (req->state == RXP_REQ_HELD) {
		req->state = RXP_REQ_SERVED;
		rxp_req_write_cancelled(req);
		rxp_answer_take(req, 0, false, &a);
		spin_unlock_bh(&s->lock);
		rxp_answer_post(req, &a);
		return NULL;
	}
	if (req->state != RXP_REQ_WAITING)
		goto out;	/* whoever is at work with it will see */
	req->state = RXP_REQ_SERVED;
	kref_get(&req->ref);
	spin_unlock_bh(&s->lock);
	rxp_sink_inv(req, conn);
	return NULL;
out:
	spin_unlock_bh(&s->lock);
	return wrong;
}

/* ------------------------------------------------------------------- receiving */

static struct rxp_req *rxp_req_new(struct rxp_conn *conn, struct rxp_rx *rx,
				   const struct rxp_frame *f)
{
	struct rdmafs_xprt_session *s = conn->session;
	struct rxp_req *req = kmem_cache_zalloc(rxp_req_cache, GFP_KERNEL);

	if (!req)
		return NULL;
	kref_init(&req->ref);
	rxp_session_get(s);
	req->session = s;
	req->slot = f->slot;
	req->seq = f->seq;
	req->flags = f->flags;
	req->bulk_len = f->bulk_len;
	req->keyed = (f->flags & RXP_F_READ) && (f->flags & RXP_F_RKEY);
	req->rkey = f->rkey;
	req->iova = f->iova;
	/* Of use to the client only where mapping can overlap with it. */
	if (f->bulk_len > RDMAFS_XPRT_INLINE_MAX)
		req->arrived_ns = ktime_get_ns();
	rxp_conn_get(conn);
	req->conn = conn;
	req->bound = conn;
	req->rx = rx;
	req->state = RXP_REQ_QUEUED;

	req->r.session = s;
	req->r.body = f->body;
	req->r.body_len = f->body_len;
	if (f->flags & RXP_F_READ)
		req->r.read_max = f->bulk_len;
	req->r.data_len = f->data_len;
	req->in.iov_base = (void *)f->data;
	req->in.iov_len = f->data_len;
	iov_iter_kvec(&req->r.data, ITER_SOURCE, &req->in, 1, f->data_len);
	return req;
}

enum rxp_arrival {
	RXP_ARRIVAL_NEW,	/* execute it */
	RXP_ARRIVAL_AGAIN,	/* executing already, its answer will come here */
	RXP_ARRIVAL_CACHED,	/* answer it from the slot's buffer */
	RXP_ARRIVAL_CLOSING,	/* the session ends: the client will see that */
	RXP_ARRIVAL_WRONG,
};

/* Under the session's lock: what is this CALL, seen from its slot? */
static enum rxp_arrival rxp_slot_take(struct rdmafs_xprt_session *s, struct rxp_sslot *slot,
				      struct rxp_req *req)
{
	struct rxp_req *old = slot->req;

	lockdep_assert_held(&s->lock);
	if (test_bit(0, &s->closing))
		return RXP_ARRIVAL_CLOSING;
	if (req->seq == slot->seq + 1) {
		if (slot->state == RXP_SLOT_EXECUTING)
			return RXP_ARRIVAL_WRONG;
	} else if (req->seq == slot->seq && req->seq) {
		if (slot->state == RXP_SLOT_CACHED)
			return RXP_ARRIVAL_CACHED;
		if (slot->state == RXP_SLOT_EXECUTING) {
			/* What was overlapped is direct when it is sent again. */
			if (old->bound == req->bound ||
			    ((old->flags ^ req->flags) & ~RXP_F_RKEY) ||
			    old->bulk_len != req->bulk_len)
				return RXP_ARRIVAL_WRONG;
			old->bound = req->bound;
			old->keyed = req->keyed;
			old->cancelled = false;
			old->rkey = req->rkey;
			old->iova = req->iova;
			return RXP_ARRIVAL_AGAIN;
		}
	} else {
		return RXP_ARRIVAL_WRONG;
	}
	slot->seq = req->seq;
	slot->state = RXP_SLOT_EXECUTING;
	slot->req = req;
	s->requests++;
	return RXP_ARRIVAL_NEW;
}

/* A CALL whose data is in a granted sink: is the key invalid? Then it can be served. */
static const char *rxp_call_granted(struct rxp_conn *conn, struct rxp_req *req,
				    const struct ib_wc *wc)
{
	rxp_count(&req->session->stats, write_granted);
	if (!(wc->wc_flags & IB_WC_WITH_INVALIDATE)) {
		kref_get(&req->ref);
		rxp_sink_inv(req, conn);
		return NULL;
	}
	rxp_count(&req->session->stats, remote_inv);
	req->mr->bound = false;
	rxp_req_fetched(req);
	return NULL;
}

/*
 * Two stages (Liss et al.): what can't block is served here, and its reply is
 * on its way before anybody else has been woken.
 */
static bool rxp_req_now(struct rxp_req *req)
{
	struct rdmafs_xprt_server *server = req->session->server;

	/* A WRITE may have to fetch its data first, and may end before it is served. */
	if (!server->service->handle_now || (req->flags & RXP_F_WRITE) ||
	    req->bulk_len > RDMAFS_XPRT_INLINE_MAX ||
	    unlikely(READ_ONCE(rxp_inject.service_us)))
		return false;
	/* Its own, as answering gives away the slot's. */
	kref_get(&req->ref);
	if (server->service->handle_now(&req->r, server->ctx)) {
		rxp_count(&req->session->stats, served_now);
		rxp_req_put(req);
		return true;
	}
	rxp_req_put(req);
	return false;
}

static const char *rxp_call_arrived(struct rxp_conn *conn, struct rxp_rx *rx,
				    const struct rxp_frame *f, const struct ib_wc *wc)
{
	bool granted = (f->flags & RXP_F_WRITE) && (f->flags & RXP_F_RKEY);
	struct rdmafs_xprt_session *s = conn->session;
	struct rxp_sslot *slot = &s->slots[f->slot];
	struct rxp_req *req = rxp_req_new(conn, rx, f);
	u32 head_len = 0, data_len = 0;
	enum rxp_arrival arrival;
	struct rxp_way way = {};

	if (!req) {
		/* The client sends it again on its next connection. */
		rxp_conn_lost(conn);
		return NULL;
	}
	spin_lock_bh(&s->lock);
	arrival = rxp_slot_take(s, slot, req);
	if (granted && arrival == RXP_ARRIVAL_NEW) {
		if (rxp_grant_use(req, conn)) {
			req->state = RXP_REQ_SERVED;
		} else {
			slot->seq--;
			rxp_slot_leave(s, slot, RXP_SLOT_FREE);
			arrival = RXP_ARRIVAL_WRONG;
		}
	} else if (granted && arrival != RXP_ARRIVAL_CLOSING) {
		/* A grant does not outlive its connection, and so is never said again. */
		arrival = RXP_ARRIVAL_WRONG;
	}
	if (arrival == RXP_ARRIVAL_CACHED) {
		head_len = slot->head_len;
		data_len = slot->data_len;
		if (!rxp_way_get(s, conn, req->slot, &way))
			arrival = RXP_ARRIVAL_CLOSING;
	}
	spin_unlock_bh(&s->lock);

	switch (arrival) {
	case RXP_ARRIVAL_NEW:
		rxp_count(&s->stats, calls);
		rxp_trace(arrived, req, f->bulk_len + f->data_len);
		req->r.reply = rxp_req_buf(req) + RXP_BODY_OFFSET;
		memset(req->r.reply, 0, RDMAFS_XPRT_BODY_MAX);
		if (granted)
			return rxp_call_granted(conn, req, wc);
		if (rxp_req_now(req))
			return NULL;
		rxp_threads_add(&req->session->server->threads, req);
		return NULL;
	case RXP_ARRIVAL_CACHED:
		rxp_count(&s->stats, replays);
		rxp_rx_put(rx);
		rxp_frame_drop_grant(rxp_req_buf(req));
		rxp_reply_post(req, &way, head_len, data_len, NULL, 0, 0, false);
		rxp_way_put(&way);
		break;
	case RXP_ARRIVAL_AGAIN:
		rxp_count(&s->stats, replays);
		rxp_rx_put(rx);
		break;
	case RXP_ARRIVAL_CLOSING:
		break;
	case RXP_ARRIVAL_WRONG:
		rxp_req_put(req);
		return "a CALL out of sequence";
	}
	rxp_req_put(req);
	return NULL;
}

static const char *rxp_control(struct rxp_conn *conn, const struct rxp_frame *f,
			       const struct ib_wc *wc)
{
	if (f->op == RXP_CONTROL_HELLO) {
		if (conn->hello_seen)
			return "a second HELLO";
		conn->hello_seen = true;
		memcpy(&conn->hello, f->body, sizeof(conn->hello));
		rxp_conn_get(conn);
		queue_work(rxp_wq, &conn->hello_work);
		return NULL;
	}
	if (!conn->session)
		return "no HELLO";
	switch (f->op) {
	case RXP_CONTROL_DATA:
		return rxp_req_data(conn, f, wc);
	case RXP_CONTROL_STCRW:
		return rxp_req_stcrw(conn, f);
	case RXP_CONTROL_CANCEL:
		return rxp_req_cancel(conn, f);
	case RXP_CONTROL_RETURN:
		rxp_grant_return(conn, f->rkey);
		return NULL;
	case RXP_CONTROL_PING:
		rxp_ctl_send(conn, RXP_NOTIFY, RXP_NOTIFY_PONG, NULL, 0);
		return NULL;
	default:		/* RXP_CONTROL_BYE: rxp_frame_check() knows no other */
		rxp_session_close(conn->session);
		return NULL;
	}
}

static const char *rxp_frame_arrived(struct rxp_conn *conn, struct rxp_rx *rx,
				     const struct rxp_frame *f, const struct ib_wc *wc)
{
	const char *wrong;

	if (rxp_frame_astray(f, conn->index, conn->count))
		return "a message on another connection than its slot's";
	if ((wc->wc_flags & IB_WC_WITH_INVALIDATE) &&
	    !(f->type == RXP_CONTROL && f->op == RXP_CONTROL_DATA) &&
	    !(f->type == RXP_CALL && f->alone && f->flags == (RXP_F_WRITE | RXP_F_RKEY) &&
	      f->rkey == wc->ex.invalidate_rkey))
		return "an invalidation out of place";
	if (f->type == RXP_CONTROL) {
		wrong = rxp_control(conn, f, wc);
		if (!wrong)
			rxp_rx_put(rx);
		return wrong;
	}
	if (!conn->session)
		return "no HELLO";
	return rxp_call_arrived(conn, rx, f, wc);
}

/**
 * rxp_server_recv - a message from a client
 * @conn: where
 * @rx:	  in which buffer
 * @wc:	  its completion
 * @len:  its length
 *
 * Process context, the completion queue's worker.
 */
void rxp_server_recv(struct rxp_conn *conn, struct rxp_rx *rx, struct ib_wc *wc, u32 len)
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
			/* The replies to CALLs that travelled together do so, too. */
			blk_start_plug(&plug);
			plugged = true;
		}
		/* Each has a use of the buffer; the last one that of the message. */
		if (at < len)
			rxp_rx_get(rx);
		wrong = rxp_frame_arrived(conn, rx, &f, wc);
	} while (!wrong && at < len);
	if (plugged)
		blk_finish_plug(&plug);
	if (wrong)
		rxp_conn_protocol_error(conn, wrong);
	/* A completion queue may hold thousands of them; to stop at each breaks bursts up. */
	if (conn->received % RXP_RECV_BURST == 0)
		cond_resched();
}

/**
 * rxp_req_run - serve a request, or ask for its data
 * @req: the request, from rxp_threads_add()
 *
 * On a thread.
 */
void rxp_req_run(struct rxp_req *req)
{
	struct rdmafs_xprt_session *s = req->session;
	struct rdmafs_xprt_server *server = s->server;
	/* Before it is counted: who sees the count knows what it will take. */
	u32 us = READ_ONCE(rxp_inject.service_us);

	if (req->state == RXP_REQ_QUEUED && (req->flags & RXP_F_WRITE)) {
		rxp_req_fetch(req);
		return;
	}
	rxp_count(&s->stats, served_by_thread);
	spin_lock_bh(&s->lock);
	req->state = RXP_REQ_SERVED;
	spin_unlock_bh(&s->lock);
	if (unlikely(us))
		rxp_pretend(us);
	server->service->handle(&req->r, server->ctx);
}

/**
 * rxp_server_init - make the pools of the server
 *
 * Return: 0 or -ENOMEM.
 */
int rxp_server_init(void)
{
	rxp_req_cache = KMEM_CACHE(rxp_req, SLAB_HWCACHE_ALIGN);
	return rxp_req_cache ? 0 : -ENOMEM;
}

/**
 * rxp_server_exit - free the pools of the server
 */
void rxp_server_exit(void)
{
	kmem_cache_destroy(rxp_req_cache);
}
