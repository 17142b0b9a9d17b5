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
 * translations for a sink it stands in line for them, in its slot: so what others give
 * back is bound to it at once, and does not lie idle for a round trip.  No more than half
 * of a session's slots do so, and with no more than half of its pages if they are several,
 * so that other requests do not wait for other clients, unless it is for the place beyond the
 * bounds (limits.c); for one more the client is told to come back (RETRY_LATER).
 *
 * A CALL that announces a large READ but names no memory will be followed by
 * an STCRW (Ou et al., FRRWP): the client registers while the file is read.
 * Whichever of the two is ready first waits for the other: a reply with its
 * RDMA WRITEs is held in the request, and posted by the STCRW's completion.
 * Either kind of waiting ends by a CANCEL, too, and with the connection; and so does
 * standing in line.
 *
 * Slots make a call happen once.  A sequence number next to the last is new;
 * the last one again is a replay after a reconnect: answered from the slot's
 * buffer, or bound to the connection it came on if it is executing still, or
 * executed again if its answer was not worth keeping.  Anything else breaks
 * the protocol, and so does a client that goes on while its replies do not: each
 * keeps its data until the device is done with it.
 */
#include <linux/blkdev.h>
#include "transport/server.h"
#include "transport/trace.h"

/* ----------------------------------------------------------- data of large writes */

static void rxp_stcrw_done(struct rxp_chain *chain, bool ok)
{
	struct rxp_req *req = container_of(chain, struct rxp_req, stcrw);

	if (ok)
		rxp_session_progress(req->session);
	/* If the client was faster with its data than the device with this. */
	rxp_req_lend_mr(req);
	rxp_req_put(req);
}

static void rxp_req_drop_sink(struct rxp_req *req)
{
	if (req->mr)
		rxp_mr_put(req->pool, req->mr);
	if (req->buf)
		rxp_buf_put(req->pool, req->buf);
	rxp_req_uncharge(req);
	rxp_pool_put(req->pool);
	req->mr = NULL;
	req->buf = NULL;
	req->pool = NULL;
}

/*
 * Has its session a place in line?  They stand there with their pages: but for the first, half
 * of what the session, and its client, may have is for what waits for nobody.  Who is sent away
 * has others there, whose replies tell it to come again, or comes again by itself: so nobody is
 * left out.
 */
static bool rxp_req_may_claim(struct rxp_req *req)
{
	u32 places = DIV_ROUND_UP(req->session->nr_slots, 2);
	u32 nr = atomic_inc_return(&req->pool->claims);

	if (nr == 1 || (nr <= places && rxp_session_spares(req->session, 0)))
		return true;
	atomic_dec(&req->pool->claims);
	return false;
}

/*
 * A sink for the client's data, of what was stood in line for if that is there.
 * -EINPROGRESS: has to stand in line; -EAGAIN: none is to be had now; -E2BIG: never.
 */
static int rxp_req_sink(struct rxp_req *req, struct rxp_pool *pool)
{
	struct rxp_mr *mr;
	u32 pages;

	/* That is of no use any more if it is of a connection that is gone. */
	if (req->pool && req->pool != pool)
		rxp_req_drop_sink(req);
	if (!req->pool) {
		rxp_pool_get(pool);
		req->pool = pool;
	}
	/* Pages first, and translations for these: nobody who has those waits for pages. */
	if (!req->buf && (!rxp_req_charge(req, rxp_buf_size(req->bulk_len), false) ||
			  !rxp_req_buf_get(req, req->bulk_len)))
		return -EAGAIN;
	if (!req->mr) {
		pages = rxp_buf_pages(req->buf, req->bulk_len);
		mr = rxp_mr_get(pool, pages);
		if (IS_ERR(mr)) {
			if (PTR_ERR(mr) == -E2BIG)
				return -E2BIG;
			rxp_grants_found_none(req->session->server, pool, pages, PTR_ERR(mr));
			return PTR_ERR(mr) == -EAGAIN && rxp_req_may_claim(req) ? -EINPROGRESS :
										  -EAGAIN;
		}
		req->mr = mr;
	}
	rxp_buf_sync_for_device(pool, req->buf);
	return rxp_mr_map_buf(pool, req->mr, req->buf, req->bulk_len, &req->reg) ? -EAGAIN : 0;
}

static void rxp_req_claimed(struct rxp_req *req);

/*
 * Its turn has come, or its connection is gone.  Not by way of the threads: those that
 * it may have may all be blocked, and others wait for what it has now.
 */
static void rxp_req_claim_work(struct work_struct *work)
{
	struct rxp_req *req = container_of(work, struct rxp_req, claim_work);
	struct rdmafs_xprt_session *s = req->session;

	rdmafs_test_point("req_turn", req->slot);
	/* For as long as we look at it: the request may be over before. */
	rxp_session_get(s);
	atomic_dec(&req->pool->claims);
	rxp_req_claimed(req);
	rxp_session_put(s);
}

/*
 * For a worker: what it takes from here on is memory, too, and the policy is called with
 * locks held and by softirqs.
 */
static void rxp_req_claim_granted(struct rpol_waiter *w, int ret)
{
	struct rxp_req *req = container_of(w, struct rxp_req, claim);

	req->claim_granted = !ret;
	queue_work(rxp_conn_wq, &req->claim_work);
}

/**
 * rxp_req_claim_init - it does not stand in line yet
 * @req: a new request
 */
void rxp_req_claim_init(struct rxp_req *req)
{
	INIT_WORK(&req->claim_work, rxp_req_claim_work);
	req->claim.granted = rxp_req_claim_granted;
}

/*
 * The client can't send what it announced: no sink is bound for it any more.
 * rxp_answer_cancelled() has filled in @a.
 */
static void rxp_req_cancelled(struct rxp_req *req, struct rxp_answer *a)
{
	/* Before the reply: it lets the client send into this receive again. */
	rxp_rx_put(req->rx);
	req->r.body = NULL;
	rxp_count(&req->session->stats, replies);
	rxp_trace(served, req, 0);
	rxp_answer_post(req, a);
}

/*
 * Stand in line: @req is the policy's from now on.  It keeps its pages: without them it could
 * find others in their place when its turn comes, lose that, too, and so on for ever.
 */
static void rxp_req_claim(struct rxp_req *req)
{
	u32 pages = rxp_buf_pages(req->buf, req->bulk_len);
	struct rdmafs_xprt_session *s = req->session;
	struct rxp_answer a;
	bool cancelled;

	rdmafs_test_point("req_claim", req->slot);
	spin_lock_bh(&s->lock);
	cancelled = req->cancelled;
	if (cancelled) {
		rxp_answer_cancelled(req, &a);
	} else {
		/* In one step: a CANCEL before finds that we will see it, one after the claim. */
		rxp_req_move(req, RXP_REQ_CLAIM);
		req->in_line = true;
		rxp_mr_claim(req->pool, pages, &req->claim);
	}
	spin_unlock_bh(&s->lock);
	if (cancelled) {
		atomic_dec(&req->pool->claims);
		rxp_req_cancelled(req, &a);
	}
}

/*
 * Leave the line before the turn comes.  False if the policy has granted it, or refused,
 * be it in this moment: then it is on its way to a thread, and stays so.
 */
static bool rxp_req_unclaim(struct rxp_req *req)
{
	lockdep_assert_held(&req->session->lock);
	if (!req->in_line || !rpol_mr_cancel(&req->claim))
		return false;
	req->in_line = false;
	atomic_dec(&req->pool->claims);
	return true;
}

static void rxp_stcrw_build(struct rxp_req *req, struct rxp_way *way)
{
	void *msg = rxp_req_buf(req) + RXP_MSG_MAX;
	struct rxp_wire_tag *tag = msg + sizeof(struct rxp_wire_hdr);

	rxp_frame_put_hdr(msg, RXP_NOTIFY, RXP_NOTIFY_STCRW, req->slot, req->seq);
	tag->length = cpu_to_le32(req->bulk_len);
	tag->rkey = cpu_to_le32(req->mr->mr->rkey);
	tag->iova = cpu_to_le64(req->mr->mr->iova);
	req->sge[0].addr = way->dma + RXP_MSG_MAX;
	req->sge[0].length = sizeof(struct rxp_wire_hdr) + sizeof(*tag);
	req->sge[0].lkey = way->pool->pd->local_dma_lkey;
	rxp_fill_send(&req->send, req->sge, 1, 0);
	rxp_chain_init(&req->stcrw, rxp_stcrw_done);
	rxp_chain_reg(&req->stcrw, req->mr, &req->reg);
	rxp_chain_add(&req->stcrw, &req->send);
}

/* What came of a sink once there was one. */
enum rxp_asked {
	RXP_ASKED,		/* the STCRW is posted */
	RXP_ASKED_IN_VAIN,	/* the client has taken its WRITE back, and is told so */
	RXP_ASKED_ELSEWHERE,	/* the connection is gone: the sink is of no use any more */
};

static enum rxp_asked rxp_req_ask(struct rxp_req *req, struct rxp_way *way)
{
	struct rdmafs_xprt_session *s = req->session;
	enum rxp_asked asked = RXP_ASKED;
	struct rxp_answer a;
	bool unsent = false;

	spin_lock_bh(&s->lock);
	if (req->bound != way->conn->serial || rxp_slot_conn(s, req->slot) != way->conn) {
		asked = RXP_ASKED_ELSEWHERE;
	} else if (req->cancelled) {
		asked = RXP_ASKED_IN_VAIN;
		rxp_answer_cancelled(req, &a);
	} else {
		rxp_req_move(req, RXP_REQ_ASK);
		rxp_way_sync(s, way, RXP_MSG_MAX, RXP_CTL_MAX);
		/* In one step: whoever finds it waiting finds its REG_MR in the queue. */
		kref_get(&req->ref);
		unsent = rxp_post(way->conn, &req->stcrw);
	}
	spin_unlock_bh(&s->lock);
	if (asked == RXP_ASKED_IN_VAIN)
		rxp_req_cancelled(req, &a);
	else if (unsent)
		rxp_req_put(req);	/* the connection's end finds it waiting */
	else if (asked == RXP_ASKED)
		rxp_count(&s->stats, reg_mr);
	return asked;
}

/* What it stood in line for is its own; or it may ask again, and learn why it got none. */
static void rxp_req_take_claim(struct rxp_req *req)
{
	struct rxp_mr *mr;

	if (!req->claim_granted)
		return;
	mr = rxp_mr_claimed(req->pool, &req->claim);
	if (!IS_ERR(mr))
		req->mr = mr;
}

/* A way to where the CALL came from last, or the end of the request. */
static bool rxp_req_fetch_way(struct rxp_req *req, struct rxp_way *way)
{
	struct rdmafs_xprt_session *s = req->session;
	bool alive;

	spin_lock_bh(&s->lock);
	alive = rxp_way_get(s, req->bound, req->slot, way);
	if (!alive)
		rxp_req_gone(req, RXP_REQ_DROP);
	spin_unlock_bh(&s->lock);
	if (!alive)
		rxp_req_put(req);
	return alive;
}

/*
 * Ask the client for a large write's data.  Process context.  While that gets a sink, or the
 * request stands in line for one, the connection may be lost, and the CALL may have come
 * again on the next one: then the request is that one's, and nobody but us will ask there.
 */
static void rxp_req_fetch(struct rxp_req *req)
{
	struct rdmafs_xprt_session *s = req->session;
	u16 slot = req->slot;
	enum rxp_asked asked;
	struct rxp_way way;
	int ret;

	do {
		if (!rxp_req_fetch_way(req, &way))
			return;
		ret = rxp_req_sink(req, way.pool);
		if (ret == -EINPROGRESS) {
			rxp_way_put(&way);
			rxp_req_claim(req);
			return;
		}
		rdmafs_test_point("req_ask", slot);
		if (ret) {
			rxp_way_put(&way);
			if (ret != -E2BIG)
				rxp_count(&s->stats, retry_later);
			/* Who is put off keeps nothing, however long his reply takes. */
			if (req->pool)
				rxp_req_drop_sink(req);
			rxp_req_finish(req, ret == -E2BIG ? RXP_STATUS_TOO_LARGE :
				       RXP_STATUS_RETRY_LATER, 0, 0, false);
			return;
		}
		rxp_stcrw_build(req, &way);
		rxp_trace(stcrw_sent, req, req->bulk_len);
		/* Once it has asked, the client's data may have ended it; or it is answered. */
		asked = rxp_req_ask(req, &way);
		rdmafs_test_point("req_asked", slot);
		if (asked == RXP_ASKED_ELSEWHERE) {
			rxp_req_drop_sink(req);
			rxp_way_put(&way);
		}
	} while (asked == RXP_ASKED_ELSEWHERE);
	rxp_way_put(&way);
}

static void rxp_req_claimed(struct rxp_req *req)
{
	spin_lock_bh(&req->session->lock);
	req->in_line = false;
	spin_unlock_bh(&req->session->lock);
	rxp_req_take_claim(req);
	rxp_req_fetch(req);
}

/*
 * The sink's key is invalid: what is in its pages is what the service will see.
 * The MR stays if nobody needs it: it may become a grant.
 */
static void rxp_req_fetched(struct rxp_req *req)
{
	rxp_req_lend_mr(req);
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
	struct rxp_answer a;
	bool cancelled;

	spin_lock_bh(&s->lock);
	cancelled = req->cancelled;
	if (!ok)
		rxp_req_gone(req, RXP_REQ_DROP);
	else if (cancelled)
		rxp_answer_cancelled(req, &a);
	else
		rxp_req_move(req, RXP_REQ_INVALIDATED);
	spin_unlock_bh(&s->lock);
	if (!ok)
		rxp_req_put(req);
	else if (cancelled)
		rxp_req_cancelled(req, &a);
	else
		rxp_req_fetched(req);
	rxp_req_put(req);
}

/* Take the sink's key back ourselves; a reference goes with it. */
static void rxp_sink_inv(struct rxp_req *req)
{
	rxp_count(&req->session->stats, local_inv);
	if (rxp_mr_invalidate(req->mr, &req->inv_chain, &req->inv, rxp_sink_inv_done))
		rxp_sink_inv_done(&req->inv_chain, false);
}

/* Did the client invalidate the sink's key, and can that be believed? */
static bool rxp_sink_invalid(struct rxp_req *req, const struct ib_wc *wc, bool own)
{
	if (!(wc->wc_flags & IB_WC_WITH_INVALIDATE))
		return false;
	rxp_count(&req->session->stats, remote_inv);
	/*
	 * Of its own STCRW the request has a reference; a grant was another one's.  But rxe
	 * goes back to what is not acknowledged, and executes each REG_MR on the way once
	 * more: until the STCRW is out the client could make the key valid again.
	 */
	return rxp_mr_remote_inv(req->mr, own && !req->pool->rdev->repeats_reg);
}

/* A DATA message: the client says that its CRW has fired. */
static const char *rxp_req_data(struct rxp_conn *conn, const struct rxp_frame *f,
				const struct ib_wc *wc)
{
	bool invalid = false, claimed = wc->wc_flags & IB_WC_WITH_INVALIDATE;
	struct rdmafs_xprt_session *s = conn->session;
	struct rxp_sslot *slot = &s->slots[f->slot];
	struct rxp_req *req;

	spin_lock_bh(&s->lock);
	req = slot->req;
	if (!req || req->seq != f->seq || req->state != RXP_REQ_WAITING ||
	    req->bound != conn->serial || f->bulk_len != req->bulk_len ||
	    f->rkey != req->mr->mr->rkey ||
	    (claimed && wc->ex.invalidate_rkey != f->rkey)) {
		spin_unlock_bh(&s->lock);
		return "data for no write";
	}
	rxp_session_progress(s);
	invalid = rxp_sink_invalid(req, wc, true);
	rxp_req_move(req, invalid ? RXP_REQ_DATA : RXP_REQ_INVALIDATE);
	kref_get(&req->ref);	/* for the rest of this function, or the LOCAL_INV */
	spin_unlock_bh(&s->lock);

	if (invalid) {
		rxp_req_fetched(req);
		rxp_req_put(req);
	} else {
		rxp_sink_inv(req);
	}
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
	if (rxp_session_closes(conn->session) || rxp_conn_is_lost(conn))
		return NULL;
	/* It may cross the reply, but not the slot's next CALL. */
	if (!f->seq || f->seq != slot->seq ||
	    (req && (req->seq != f->seq || req->bound != conn->serial)))
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
	    ((req->flags & RXP_F_WRITE) && (req->keyed || req->state > RXP_REQ_WAITING))) {
		wrong = "a CANCEL of nothing";
		goto out;
	}
	if (req->keyed) {
		rxp_req_drop(req, conn);
		goto out;
	}
	req->cancelled = true;
	if (req->state == RXP_REQ_HELD) {
		rxp_answer_cancelled(req, &a);
		spin_unlock_bh(&s->lock);
		rxp_answer_post(req, &a);
		return NULL;
	}
	if (rxp_req_unclaim(req)) {
		rxp_answer_cancelled(req, &a);
		spin_unlock_bh(&s->lock);
		rxp_req_cancelled(req, &a);
		return NULL;
	}
	if (req->state != RXP_REQ_WAITING)
		goto out;	/* whoever is at work with it will see */
	rxp_req_move(req, RXP_REQ_INVALIDATE);
	kref_get(&req->ref);
	spin_unlock_bh(&s->lock);
	rxp_sink_inv(req);
	return NULL;
out:
	spin_unlock_bh(&s->lock);
	return wrong;
}

/* ------------------------------------------------------------------- receiving */

enum rxp_arrival {
	RXP_ARRIVAL_NEW,	/* execute it */
	RXP_ARRIVAL_AGAIN,	/* executing already, its answer will come here */
	RXP_ARRIVAL_CACHED,	/* answer it from the slot's buffer */
	RXP_ARRIVAL_CLOSING,	/* the session ends: the client will see that */
	RXP_ARRIVAL_EARLY,	/* the replies to too many before it have not gone */
	RXP_ARRIVAL_WRONG,
};

/* Will there be a reply to it? Then what it takes is its slot's until that has gone. */
static enum rxp_arrival rxp_slot_count(struct rxp_sslot *slot, struct rxp_req *req,
				       enum rxp_arrival arrival)
{
	if (atomic_read(&slot->alive) >= RXP_SLOT_LAG_MAX)
		return RXP_ARRIVAL_EARLY;
	atomic_inc(&slot->alive);
	req->counted = true;
	return arrival;
}

/* Under the session's lock: what is this CALL, seen from its slot? */
static enum rxp_arrival rxp_slot_take(struct rdmafs_xprt_session *s, struct rxp_sslot *slot,
				      struct rxp_req *req)
{
	struct rxp_req *old = slot->req;

	lockdep_assert_held(&s->lock);
	if (rxp_session_closes(s))
		return RXP_ARRIVAL_CLOSING;
	if (req->seq == rxp_seq_next(slot->seq)) {
		if (slot->state == RXP_SLOT_EXECUTING)
			return RXP_ARRIVAL_WRONG;
	} else if (req->seq == slot->seq && req->seq) {
		if (slot->state == RXP_SLOT_CACHED)
			return rxp_slot_count(slot, req, RXP_ARRIVAL_CACHED);
		if (slot->state == RXP_SLOT_EXECUTING) {
			/* What was overlapped is direct when it is sent again. */
			if (old->bound == req->bound ||
			    ((old->flags ^ req->flags) & ~RXP_F_RKEY) ||
			    old->bulk_len != req->bulk_len ||
			    rxp_req_move(old, RXP_REQ_REPLAY))
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
	if (rxp_slot_count(slot, req, RXP_ARRIVAL_NEW) != RXP_ARRIVAL_NEW)
		return RXP_ARRIVAL_EARLY;
	slot->seq = req->seq;
	slot->state = RXP_SLOT_EXECUTING;
	slot->req = req;
	s->requests++;
	return RXP_ARRIVAL_NEW;
}

/* A CALL whose data is in a granted sink: is the key invalid? Then it can be served. */
static const char *rxp_call_granted(struct rxp_req *req, bool invalid)
{
	rxp_count(&req->session->stats, write_granted);
	if (invalid) {
		rxp_req_fetched(req);
	} else {
		kref_get(&req->ref);
		rxp_sink_inv(req);
	}
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
	    rdmafs_test_knob(service_us))
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
	bool invalid = false;
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
			rxp_session_progress(s);
			invalid = rxp_sink_invalid(req, wc, false);
			rxp_req_move(req, invalid ? RXP_REQ_DATA : RXP_REQ_INVALIDATE);
		} else {
			rxp_req_gone(req, RXP_REQ_DROP);
			arrival = RXP_ARRIVAL_WRONG;
		}
	} else if (granted && arrival != RXP_ARRIVAL_CLOSING && arrival != RXP_ARRIVAL_EARLY) {
		/* A grant does not outlive its connection, and so is never said again. */
		arrival = RXP_ARRIVAL_WRONG;
	}
	if (arrival == RXP_ARRIVAL_CACHED) {
		head_len = slot->head_len;
		data_len = slot->data_len;
		if (rxp_way_get(s, conn->serial, req->slot, &way)) {
			rxp_frame_drop_grant(rxp_req_buf(req));
			rxp_way_sync(s, &way, 0, RXP_SLOT_BUF);
		} else {
			arrival = RXP_ARRIVAL_CLOSING;
		}
	}
	spin_unlock_bh(&s->lock);

	switch (arrival) {
	case RXP_ARRIVAL_NEW:
		rxp_count(&s->stats, calls);
		rxp_trace(arrived, req, f->bulk_len + f->data_len);
		req->r.reply = rxp_req_buf(req) + RXP_BODY_OFFSET;
		memset(req->r.reply, 0, RDMAFS_XPRT_BODY_MAX);
		if (granted)
			return rxp_call_granted(req, invalid);
		if (rxp_req_now(req))
			return NULL;
		rxp_threads_add(&req->session->server->threads, req);
		return NULL;
	case RXP_ARRIVAL_CACHED:
		rxp_count(&s->stats, replays);
		rxp_rx_put(rx);
		rxp_reply_post(req, &way, head_len, data_len, NULL, 0, 0, NULL);
		rxp_way_put(&way);
		break;
	case RXP_ARRIVAL_AGAIN:
		rxp_count(&s->stats, replays);
		rxp_rx_put(rx);
		break;
	case RXP_ARRIVAL_CLOSING:
		break;
	case RXP_ARRIVAL_EARLY:
		rxp_req_put(req);
		return "CALLs ahead of their replies";
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
		/* First: whoever wakes the worker from then on, it binds by what stands here. */
		if (READ_ONCE(conn->state) == RXP_CONN_OPEN)
			memcpy(&conn->hello, f->body, sizeof(conn->hello));
		smp_wmb();	/* pairs with rxp_server_conn_work() */
		switch (rxp_conn_move(conn, RXP_CONN_GREET)) {
		case -EPROTO:
			return "a second HELLO";
		case -ENOTCONN:
			return NULL;
		}
		rxp_server_conn_wake(conn);
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
		if (rdmafs_test_fail("cancel_unheard", f->slot))
			return NULL;
		return rxp_req_cancel(conn, f);
	case RXP_CONTROL_RETURN:
		return rxp_grants_returned(conn, f);
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
	u32 us = rdmafs_test_knob(service_us);

	bool fetch;

	spin_lock_bh(&s->lock);
	fetch = req->state == RXP_REQ_QUEUED && (req->flags & RXP_F_WRITE);
	rxp_req_move(req, fetch ? RXP_REQ_FETCH : RXP_REQ_SERVE);
	spin_unlock_bh(&s->lock);
	if (fetch) {
		rxp_req_fetch(req);
		return;
	}
	rxp_count(&s->stats, served_by_thread);
	rdmafs_test_delay(us);
	rdmafs_test_point("req_run", req->slot);
	server->service->handle(&req->r, server->ctx);
}
