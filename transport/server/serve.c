// SPDX-License-Identifier: GPL-2.0
/*
 * Requests: from a CALL's arrival to its reply.
 *
 * A completion handler checks the message, gives the request its slot, and serves it if the
 * service can do so without blocking.  Otherwise it queues the request to the threads
 * (threads.c), where the file system may block for any length of time.
 *
 * A CALL that announces a large WRITE first gets a sink: pages of the session, registered and
 * named to the client by an STCRW.  No thread waits for the data; the client's DATA message queues
 * the request again.  If there are no translations for a sink, the request waits for them in its
 * slot: so translations that others give back are used at once, not a round trip later.  At most
 * half of a session's slots wait so, and several only with at most half of its pages.  So other
 * requests of the session do not wait for other clients, except for the one place beyond the
 * bounds (budget.c).  One WRITE more is answered RETRY_LATER.
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

/* ----------------------------------------------------------- data of large writes */

static void rxp_stcrw_done(struct rxp_chain *chain, bool ok)
{
	struct rxp_req *req = container_of(chain, struct rxp_req, stcrw);

	if (ok)
		rxp_session_progress(req->session);
	/* The data may have come before this completion: then the MR could not be lent yet. */
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
 * May a request wait for translations?  It keeps its pages, so except for the first that waits,
 * half of what the session and its client may have is left to requests that don't wait.  A client
 * that is refused repeats the WRITE when another that waits is answered, or after a delay: so none
 * is left out.
 */
static bool rxp_req_may_claim(struct rxp_req *req)
{
	u32 places = DIV_ROUND_UP(req->session->nr_slots, 2);
	u32 nr = atomic_inc_return(&rxs_pool(req->pool)->claims);

	if (nr == 1 || (nr <= places && rxp_session_spares(req->session, 0)))
		return true;
	atomic_dec(&rxs_pool(req->pool)->claims);
	return false;
}

/*
 * Get a sink for the client's data; @req->buf and @req->mr are used if they are there already.
 * -EINPROGRESS: the request has to wait for translations; -EAGAIN: there is no sink now; -E2BIG:
 * there never will be.
 */
static int rxp_req_sink(struct rxp_req *req, struct rxp_pool *pool)
{
	struct rxp_mr *mr;
	u32 pages;

	/* A sink from the pool of a former connection is of no use. */
	if (req->pool && req->pool != pool)
		rxp_req_drop_sink(req);
	if (!req->pool) {
		rxp_pool_get(pool);
		req->pool = pool;
	}
	/* Pages come first, so that no request that has translations waits for pages. */
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
 * The request got its translations, or was refused them as its connection is gone.  It does not
 * go by way of the threads: all those that it may use may be blocked, while other requests wait
 * for the translations that it has now.
 */
static void rxp_req_claim_work(struct work_struct *work)
{
	struct rxp_req *req = container_of(work, struct rxp_req, claim_work);
	struct rdmafs_xprt_session *s = req->session;

	rdmafs_test_point("req_turn", req->slot);
	/* The request may be freed below, and its reference to the session with it. */
	rxp_session_get(s);
	atomic_dec(&rxs_pool(req->pool)->claims);
	rxp_req_claimed(req);
	rxp_session_put(s);
}

/*
 * The policy calls this with locks held, and from softirqs; what follows takes memory and may
 * sleep, so a worker does it.
 */
static void rxp_req_claim_granted(struct rpol_waiter *w, int ret)
{
	struct rxp_req *req = container_of(w, struct rxp_req, claim);

	req->claim_granted = !ret;
	queue_work(rxp_conn_wq, &req->claim_work);
}

/**
 * rxp_req_claim_init - prepare a request for waiting for translations
 * @req: a new request
 *
 * Context: any.
 */
void rxp_req_claim_init(struct rxp_req *req)
{
	INIT_WORK(&req->claim_work, rxp_req_claim_work);
	req->claim.granted = rxp_req_claim_granted;
}

/*
 * The client has cancelled its WRITE, and no sink is bound for it any more: answer the request.
 * rxp_answer_cancelled() has filled in @a.
 */
static void rxp_req_cancelled(struct rxp_req *req, struct rxp_answer *a)
{
	/* Before the reply, which gives the client the credit for this receive again. */
	rxp_rx_put(req->rx);
	req->r.body = NULL;
	rxp_count(&req->session->stats, replies);
	rxs_trace(served, req, 0);
	rxp_answer_post(req, a);
}

/*
 * Wait for translations: the policy owns @req from now on.  The request keeps its pages.  Otherwise
 * it might find none when it gets translations, lose these again, and so on for ever.
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
		/* One step: a CANCEL sets @cancelled before, or finds the claim after it. */
		rxp_req_move(req, RXP_REQ_CLAIM);
		req->in_line = true;
		rxp_mr_claim(req->pool, pages, &req->claim);
	}
	spin_unlock_bh(&s->lock);
	if (cancelled) {
		atomic_dec(&rxs_pool(req->pool)->claims);
		rxp_req_cancelled(req, &a);
	}
}

/*
 * Stop waiting for translations.  False if the request does not wait, or if the policy has
 * granted or refused it, perhaps just now: then claim_work has it, or is about to.
 */
static bool rxp_req_unclaim(struct rxp_req *req)
{
	lockdep_assert_held(&req->session->lock);
	if (!req->in_line || !rpol_mr_cancel(&req->claim))
		return false;
	req->in_line = false;
	atomic_dec(&rxs_pool(req->pool)->claims);
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

/* How rxp_req_ask() ended. */
enum rxp_asked {
	RXP_ASKED,		/* WAITING: the STCRW is posted, or the connection just died */
	RXP_ASKED_IN_VAIN,	/* the client has cancelled its WRITE, and is answered so */
	RXP_ASKED_ELSEWHERE,	/* the connection is gone: the caller drops the sink */
};

static enum rxp_asked rxp_req_ask(struct rxp_req *req, struct rxp_way *way)
{
	struct rdmafs_xprt_session *s = req->session;
	enum rxp_asked asked = RXP_ASKED;
	struct rxp_answer a;
	bool unsent = false;

	spin_lock_bh(&s->lock);
	if (req->bound != rxs_conn(way->conn)->serial || rxp_slot_conn(s, req->slot) != way->conn) {
		asked = RXP_ASKED_ELSEWHERE;
	} else if (req->cancelled) {
		asked = RXP_ASKED_IN_VAIN;
		rxp_answer_cancelled(req, &a);
	} else {
		rxp_req_move(req, RXP_REQ_ASK);
		rxp_way_sync(s, way, RXP_MSG_MAX, RXP_CTL_MAX);
		/* One step: once the request is WAITING its REG_MR is in the queue. */
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

/* Take the translations that were granted.  If none were, rxp_req_sink() asks again. */
static void rxp_req_take_claim(struct rxp_req *req)
{
	struct rxp_mr *mr;

	if (!req->claim_granted)
		return;
	mr = rxp_mr_claimed(req->pool, &req->claim);
	if (!IS_ERR(mr))
		req->mr = mr;
}

/* Find the way to the connection that the CALL came from last; false: it is gone, so is @req. */
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
 * Ask the client for a large WRITE's data.  Process context, may sleep.  Meanwhile the connection
 * may be lost, and the CALL come again on the next one.  Then the request is bound to that one, and
 * only this function will ask there, so it begins anew.
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
			/* A WRITE that is put off keeps nothing, however long its reply takes. */
			if (req->pool)
				rxp_req_drop_sink(req);
			rxp_req_finish(req, ret == -E2BIG ? RXP_STATUS_TOO_LARGE :
				       RXP_STATUS_RETRY_LATER, 0, 0, false);
			return;
		}
		rxp_stcrw_build(req, &way);
		rxs_trace(stcrw_sent, req, req->bulk_len);
		/* After this the request may be freed, except with RXP_ASKED_ELSEWHERE. */
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
 * The sink's key is invalid, so its pages no longer change: queue the WRITE to be served.  The
 * request keeps the MR while no other party needs it: it may become a grant.
 */
static void rxp_req_fetched(struct rxp_req *req)
{
	rxp_req_lend_mr(req);
	rxp_buf_sync_for_cpu(req->pool, req->buf);
	iov_iter_bvec(&req->r.data, ITER_SOURCE, req->buf->bv, req->buf->nents, req->bulk_len);
	req->r.data_len = req->bulk_len;
	rxp_add(&req->session->stats, bytes_written, req->bulk_len);
	rxs_trace(data, req, req->bulk_len);
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

/* Invalidate the sink's key by a LOCAL_INV, which takes over one reference to @req. */
static void rxp_sink_inv(struct rxp_req *req)
{
	rxp_count(&req->session->stats, local_inv);
	if (rxp_mr_invalidate(req->mr, &req->inv_chain, &req->inv, rxp_sink_inv_done))
		rxp_sink_inv_done(&req->inv_chain, false);
}

/*
 * Has the client invalidated the sink's key, and does that hold?  @own: the key was registered
 * for this request, by its STCRW, not for a grant.
 */
static bool rxp_sink_invalid(struct rxp_req *req, const struct ib_wc *wc, bool own)
{
	if (!(wc->wc_flags & IB_WC_WITH_INVALIDATE))
		return false;
	rxp_count(&req->session->stats, remote_inv);
	/*
	 * rxe retransmits from the first packet that is not acknowledged, and executes each
	 * REG_MR on the way again: until the STCRW is completed the client could so make the key
	 * valid again.  A request holds a reference until its own STCRW is completed, but not
	 * one for the chain that registered a grant.
	 */
	return rxp_mr_remote_inv(req->mr, own && !req->pool->rdev->repeats_reg);
}

/* A DATA message: the client says that it has written the data of a WRITE to the sink. */
static const char *rxp_req_data(struct rxp_conn *conn, const struct rxp_frame *f,
				const struct ib_wc *wc)
{
	bool invalid = false, claimed = wc->wc_flags & IB_WC_WITH_INVALIDATE;
	struct rdmafs_xprt_session *s = rxs_conn(conn)->session;
	struct rxp_sslot *slot = &s->slots[f->slot];
	struct rxp_req *req;

	spin_lock_bh(&s->lock);
	req = slot->req;
	if (!req || req->seq != f->seq || req->state != RXP_REQ_WAITING ||
	    req->bound != rxs_conn(conn)->serial || f->bulk_len != req->bulk_len ||
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

/*
 * Find the request of the RPC that a CONTROL names.  NULL: there is none (it may be answered
 * already), or the message breaks the protocol, and @wrong says how.
 */
static struct rxp_req *rxp_req_named(struct rxp_conn *conn, const struct rxp_frame *f,
				     const char **wrong)
{
	const struct rxs_conn *sc = rxs_conn(conn);
	struct rdmafs_xprt_session *s = sc->session;
	struct rxp_sslot *slot = &s->slots[f->slot];
	struct rxp_req *req = slot->req;

	lockdep_assert_held(&s->lock);
	/* The CALL may not have been taken: the session ends, or there was no memory. */
	if (rxp_session_closes(s) || rxp_conn_is_lost(conn))
		return NULL;
	/* The CONTROL may cross the reply, but must not follow the slot's next CALL. */
	if (!f->seq || f->seq != slot->seq ||
	    (req && (req->seq != f->seq || req->bound != sc->serial)))
		*wrong = "a CONTROL for no RPC";
	return *wrong ? NULL : req;
}

/* An STCRW: the client's memory is registered; if the reply is held for that, post it. */
static const char *rxp_req_stcrw(struct rxp_conn *conn, const struct rxp_frame *f)
{
	struct rdmafs_xprt_session *s = rxs_conn(conn)->session;
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
	rxs_trace(stcrw_received, req, f->bulk_len);
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

static void rxp_dropped_done(struct rxp_chain *chain, bool ok)
{
	rxp_req_put(container_of(chain, struct rxp_req, stcrw));
}

/*
 * Give the client the key of a READ back: its data will not be written.  @req is being served, its
 * key is known, and it is cancelled from now on.  The session's lock is held, so that the reply,
 * which comes without the key, can't be posted ahead of this message.
 */
static void rxp_req_drop(struct rxp_req *req, struct rxp_conn *conn)
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
 * A CANCEL: the client could not map memory for the CALL; or it has named memory for it and
 * wants that back (the client's revoke.c).
 */
static const char *rxp_req_cancel(struct rxp_conn *conn, const struct rxp_frame *f)
{
	struct rdmafs_xprt_session *s = rxs_conn(conn)->session;
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
		goto out;	/* the task at work with the request will see @cancelled */
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
	RXP_ARRIVAL_AGAIN,	/* executing already: its answer will go to this connection */
	RXP_ARRIVAL_CACHED,	/* answer it from the slot's buffer */
	RXP_ARRIVAL_CLOSING,	/* the session or connection ends, and no answer goes */
	RXP_ARRIVAL_EARLY,	/* a protocol error: too many former replies are not completed */
	RXP_ARRIVAL_WRONG,	/* a protocol error: out of sequence, or not what it was before */
};

/* Count a request that will be answered in its slot's @alive, until it is freed. */
static enum rxp_arrival rxp_slot_count(struct rxp_sslot *slot, struct rxp_req *req,
				       enum rxp_arrival arrival)
{
	if (atomic_read(&slot->alive) >= RXP_SLOT_LAG_MAX)
		return RXP_ARRIVAL_EARLY;
	atomic_inc(&slot->alive);
	req->counted = true;
	return arrival;
}

/* Compare a CALL with what its slot has had.  A NEW one gets the slot. */
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
			/* A READ that named no memory (overlapped) names it when sent again. */
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

/* A CALL whose data is in a granted sink: serve it once the key is invalid. */
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
 * Two stages (Liss et al.): a request that can't block is served here, and its reply is on its way
 * before a thread would have been woken.
 */
static bool rxp_req_now(struct rxp_req *req)
{
	struct rdmafs_xprt_server *server = req->session->server;

	/* A WRITE may have to fetch its data first, and may end before it is served. */
	if (!server->service->handle_now || (req->flags & RXP_F_WRITE) ||
	    req->bulk_len > RDMAFS_XPRT_INLINE_MAX ||
	    rdmafs_test_knob(service_us))
		return false;
	/* A reference of our own, as the answer gives away the slot's. */
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
	struct rdmafs_xprt_session *s = rxs_conn(conn)->session;
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
		/* A grant ends with its connection, so no replay may name one. */
		arrival = RXP_ARRIVAL_WRONG;
	}
	if (arrival == RXP_ARRIVAL_CACHED) {
		head_len = slot->head_len;
		data_len = slot->data_len;
		if (rxp_way_get(s, rxs_conn(conn)->serial, req->slot, &way)) {
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
		rxs_trace(arrived, req, f->bulk_len + f->data_len);
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
	struct rxs_conn *sc = rxs_conn(conn);

	if (f->op == RXP_CONTROL_HELLO) {
		/* First: once the state has moved, the worker may run and bind by the HELLO. */
		if (READ_ONCE(conn->state) == RXP_CONN_OPEN)
			memcpy(&sc->hello, f->body, sizeof(sc->hello));
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
	if (!sc->session)
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
		rxp_session_close(sc->session);
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
	if (!rxs_conn(conn)->session)
		return "no HELLO";
	return rxp_call_arrived(conn, rx, f, wc);
}

/**
 * rxp_server_recv - handle a message from a client
 * @conn: the connection it came on
 * @rx:	  its receive buffer
 * @wc:	  its completion
 * @len:  its length in bytes
 *
 * Context: process, the completion queue's worker.
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
			/* Replies to CALLs that came in one message are posted together. */
			blk_start_plug(&plug);
			plugged = true;
		}
		/* Each frame has a use of the buffer; the last frame has the message's. */
		if (at < len)
			rxp_rx_get(rx);
		wrong = rxp_frame_arrived(conn, rx, &f, wc);
	} while (!wrong && at < len);
	if (plugged)
		blk_finish_plug(&plug);
	if (wrong)
		rxp_conn_protocol_error(conn, wrong);
	/* The queue may hold thousands of messages; to stop at each would break up bursts. */
	if (conn->received % RXP_RECV_BURST == 0)
		cond_resched();
}

/**
 * rxp_req_run - serve a request, or ask the client for its data
 * @req: the request, from rxp_threads_add()
 *
 * Context: process, one of the server's threads; may sleep.
 */
void rxp_req_run(struct rxp_req *req)
{
	struct rdmafs_xprt_session *s = req->session;
	struct rdmafs_xprt_server *server = s->server;
	/* Read before the request is counted: a test that sees the count may change the knob. */
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
