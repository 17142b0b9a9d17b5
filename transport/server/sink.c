// SPDX-License-Identifier: GPL-2.0
/*
 * Sinks: where clients write the data of large WRITEs to.
 *
 * A sink has pages of the session, is registered, and is named to the client by an STCRW.  The
 * client's DATA message says that the data is there; then the key is invalidated, unless DATA has
 * done so, and the request is queued to be served.  (A WRITE into a grant has its sink from the
 * beginning: grant.c.)
 *
 * If there are no translations for a sink, the request waits for them in its slot: so translations
 * that others give back are used at once, not a round trip later.  At most half of a session's
 * slots wait so, and several only with at most half of its pages.  So other requests of the session
 * do not wait for other clients, except for the one place beyond the bounds (budget.c).  A WRITE
 * that finds all these places taken is answered RETRY_LATER.
 */
#include "transport/points.h"
#include "transport/server/server.h"
#include "transport/server/trace.h"

static void rxs_stcrw_done(struct rxp_chain *chain, bool ok)
{
	struct rxs_req *req = container_of(chain, struct rxs_req, stcrw);

	if (ok)
		rxs_session_progress(req->session);
	/* The data may have come before this completion: then the MR could not be lent yet. */
	rxs_req_lend_mr(req);
	rxs_req_put(req);
}

static void rxs_req_drop_sink(struct rxs_req *req)
{
	if (req->mr)
		rxp_mr_put(req->pool, req->mr);
	if (req->buf)
		rxp_buf_put(req->pool, req->buf);
	rxs_req_uncharge(req);
	rxp_pool_put(req->pool);
	req->mr = NULL;
	req->buf = NULL;
	req->pool = NULL;
}

/*
 * Take a place among the requests that wait for translations; returns false if this one may not
 * wait.  It would keep its pages, so except for the first that waits, half of what the session and
 * its client may have is left to requests that don't wait.  A client that is refused repeats the
 * WRITE when another that waits is answered, or after a delay: so none is left out.
 */
static bool rxs_req_take_place(struct rxs_req *req)
{
	u32 places = DIV_ROUND_UP(req->session->nr_slots, 2);
	u32 nr = atomic_inc_return(&rxs_pool(req->pool)->claims);

	if (nr == 1 || (nr <= places && rxs_session_spares(req->session, 0)))
		return true;
	atomic_dec(&rxs_pool(req->pool)->claims);
	return false;
}

/*
 * Get a sink for the client's data; @req->buf and @req->mr are used if they are there already.
 * -EINPROGRESS: the request has to wait for translations; -EAGAIN: there is no sink now; -E2BIG:
 * there never will be.
 */
static int rxs_req_sink(struct rxs_req *req, struct rxp_pool *pool)
{
	struct rxp_mr *mr;
	u32 pages;

	/* A sink from the pool of a former connection is of no use. */
	if (req->pool && req->pool != pool)
		rxs_req_drop_sink(req);
	if (!req->pool) {
		rxp_pool_get(pool);
		req->pool = pool;
	}
	/* Pages come first, so that no request that has translations waits for pages. */
	if (!req->buf && (!rxs_req_charge(req, rxp_buf_size(req->bulk.length), false) ||
			  !rxs_req_buf_get(req, req->bulk.length)))
		return -EAGAIN;
	if (!req->mr) {
		pages = rxp_buf_pages(req->buf, req->bulk.length);
		mr = rxp_mr_get(pool, pages);
		if (IS_ERR(mr)) {
			if (PTR_ERR(mr) == -E2BIG)
				return -E2BIG;
			rxs_grants_pause(req->session->server, pool, pages, PTR_ERR(mr));
			return PTR_ERR(mr) == -EAGAIN && rxs_req_take_place(req) ? -EINPROGRESS :
										   -EAGAIN;
		}
		req->mr = mr;
	}
	rxp_buf_sync_for_device(pool, req->buf);
	return rxp_mr_map_buf(pool, req->mr, req->buf, req->bulk.length, &req->reg) ? -EAGAIN : 0;
}

static void rxs_req_claimed(struct rxs_req *req);

/*
 * The request got its translations, or was refused them as its connection is gone.  It does not
 * go by way of the threads: all those that it may use may be blocked, while other requests wait
 * for the translations that it has now.
 */
static void rxs_req_claim_work(struct work_struct *work)
{
	struct rxs_req *req = container_of(work, struct rxs_req, claim_work);
	struct rdmafs_xprt_session *s = req->session;

	rdmafs_test_point("req_turn", req->slot);
	/* The request may be freed below, and its reference to the session with it. */
	rxs_session_get(s);
	atomic_dec(&rxs_pool(req->pool)->claims);
	rxs_req_claimed(req);
	rxs_session_put(s);
}

/*
 * The policy calls this with locks held, and from softirqs; what follows takes memory and may
 * sleep, so a worker does it.
 */
static void rxs_req_claim_done(struct rpol_waiter *w, int ret)
{
	struct rxs_req *req = container_of(w, struct rxs_req, claim);

	req->claim_granted = !ret;
	queue_work(rxs_conn_wq, &req->claim_work);
}

/**
 * rxs_req_claim_init - prepare a request for waiting for translations
 * @req: a new request
 *
 * Context: any.
 */
void rxs_req_claim_init(struct rxs_req *req)
{
	INIT_WORK(&req->claim_work, rxs_req_claim_work);
	req->claim.done = rxs_req_claim_done;
}

/**
 * rxs_req_post_cancelled - answer a WRITE that its client has cancelled
 * @req: the WRITE, which has no sink any more
 * @a:	 filled in by rxs_answer_take_cancelled()
 *
 * Context: process; @req may be freed.
 */
void rxs_req_post_cancelled(struct rxs_req *req, struct rxs_answer *a)
{
	/* Before the reply, which gives the client the credit for this receive again. */
	rxp_rx_put(req->rx);
	req->r.body = NULL;
	rxp_count(&req->session->stats, replies);
	rxs_trace(served, req, 0);
	rxs_answer_post(req, a);
}

/*
 * Wait for translations: the policy owns @req from now on.  The request keeps its pages.  Otherwise
 * it might find none when it gets translations, lose these again, and so on for ever.
 */
static void rxs_req_claim(struct rxs_req *req)
{
	u32 pages = rxp_buf_pages(req->buf, req->bulk.length);
	struct rdmafs_xprt_session *s = req->session;
	struct rxs_answer a;
	bool cancelled;

	rdmafs_test_point("req_claim", req->slot);
	spin_lock_bh(&s->lock);
	cancelled = req->cancelled;
	if (cancelled) {
		rxs_answer_take_cancelled(req, &a);
	} else {
		/* One step: a CANCEL sets @cancelled before, or finds the claim after it. */
		rxs_req_move(req, RXS_REQ_CLAIM);
		req->in_line = true;
		rxp_mr_claim(req->pool, pages, &req->claim);
	}
	spin_unlock_bh(&s->lock);
	if (cancelled) {
		atomic_dec(&rxs_pool(req->pool)->claims);
		rxs_req_post_cancelled(req, &a);
	}
}

/**
 * rxs_req_unclaim - stop waiting for translations
 * @req: the request
 *
 * Context: any but hard interrupt; the session's lock held.
 * Return: false if the request does not wait, or if the policy has granted or refused it, perhaps
 * just now: then its claim_work has it, or is about to.
 */
bool rxs_req_unclaim(struct rxs_req *req)
{
	lockdep_assert_held(&req->session->lock);
	if (!req->in_line || !rpol_mr_cancel(&req->claim))
		return false;
	req->in_line = false;
	atomic_dec(&rxs_pool(req->pool)->claims);
	return true;
}

static void rxs_stcrw_build(struct rxs_req *req, struct rxs_route *route)
{
	struct rxp_frame f = {
		.type = RXP_NOTIFY,
		.op = RXP_NOTIFY_STCRW,
		.slot = req->slot,
		.seq = req->seq,
		.bulk = rxp_mr_segment(req->mr, req->bulk.length),
	};

	rxp_build_ctl(route->pool, rxs_req_buf(req), route->dma, &f, req->sge, &req->send, 0);
	rxp_chain_init(&req->stcrw, rxs_stcrw_done);
	rxp_chain_reg(&req->stcrw, req->mr, &req->reg);
	rxp_chain_add(&req->stcrw, &req->send);
}

/* How rxs_req_send_stcrw() ended. */
enum rxs_stcrw_sent {
	RXS_STCRW_POSTED,	/* WAITING: the STCRW is posted, or the connection just died */
	RXS_STCRW_CANCELLED,	/* the client has cancelled its WRITE, and is answered so */
	RXS_STCRW_UNBOUND,	/* the connection is gone: the caller drops the sink */
};

static enum rxs_stcrw_sent rxs_req_send_stcrw(struct rxs_req *req, struct rxs_route *route)
{
	struct rdmafs_xprt_session *s = req->session;
	enum rxs_stcrw_sent sent = RXS_STCRW_POSTED;
	struct rxs_answer a;
	bool unsent = false;

	spin_lock_bh(&s->lock);
	if (req->conn_serial != rxs_conn(route->conn)->serial ||
	    rxs_slot_conn(s, req->slot) != route->conn) {
		sent = RXS_STCRW_UNBOUND;
	} else if (req->cancelled) {
		sent = RXS_STCRW_CANCELLED;
		rxs_answer_take_cancelled(req, &a);
	} else {
		rxs_req_move(req, RXS_REQ_SEND_STCRW);
		rxs_route_sync(s, route, RXP_MSG_MAX, RXP_CTL_MAX);
		/* One step: once the request is WAITING its REG_MR is in the queue. */
		kref_get(&req->ref);
		unsent = rxp_post(route->conn, &req->stcrw);
	}
	spin_unlock_bh(&s->lock);
	if (sent == RXS_STCRW_CANCELLED)
		rxs_req_post_cancelled(req, &a);
	else if (unsent)
		rxs_req_put(req);	/* the connection's end finds it waiting */
	else if (sent == RXS_STCRW_POSTED)
		rxp_count(&s->stats, reg_mr);
	return sent;
}

/* Take the translations that were granted.  If none were, rxs_req_sink() asks again. */
static void rxs_req_take_claim(struct rxs_req *req)
{
	struct rxp_mr *mr;

	if (!req->claim_granted)
		return;
	mr = rxp_mr_get_claimed(req->pool, &req->claim);
	if (!IS_ERR(mr))
		req->mr = mr;
}

/* Find the route to the connection that the CALL came from last; false: it is gone, so is @req. */
static bool rxs_req_fetch_route(struct rxs_req *req, struct rxs_route *route)
{
	struct rdmafs_xprt_session *s = req->session;
	bool alive;

	spin_lock_bh(&s->lock);
	alive = rxs_route_get(s, req->conn_serial, req->slot, route);
	if (!alive)
		rxs_req_forget(req, RXS_REQ_FORGET);
	spin_unlock_bh(&s->lock);
	if (!alive)
		rxs_req_put(req);
	return alive;
}

/**
 * rxs_req_fetch - ask the client for a large WRITE's data
 * @req: the WRITE, in state FETCHING; it may be freed when this returns
 *
 * Meanwhile the connection may be lost, and the CALL come again on the next one.  Then the request
 * is bound to that one, and only this function will ask there, so it begins anew.
 *
 * Context: process, may sleep.
 */
void rxs_req_fetch(struct rxs_req *req)
{
	struct rdmafs_xprt_session *s = req->session;
	u16 slot = req->slot;
	enum rxs_stcrw_sent sent;
	struct rxs_route route;
	int ret;

	do {
		if (!rxs_req_fetch_route(req, &route))
			return;
		ret = rxs_req_sink(req, route.pool);
		if (ret == -EINPROGRESS) {
			rxs_route_put(&route);
			rxs_req_claim(req);
			return;
		}
		rdmafs_test_point("req_ask", slot);
		if (ret) {
			rxs_route_put(&route);
			if (ret != -E2BIG)
				rxp_count(&s->stats, retry_later);
			/* A WRITE that is put off keeps nothing, however long its reply takes. */
			if (req->pool)
				rxs_req_drop_sink(req);
			rxs_req_answer(req, ret == -E2BIG ? RXP_STATUS_TOO_LARGE :
				       RXP_STATUS_RETRY_LATER, 0, 0, false);
			return;
		}
		rxs_stcrw_build(req, &route);
		rxs_trace(stcrw_sent, req, req->bulk.length);
		/* After this the request may be freed, except with RXS_STCRW_UNBOUND. */
		sent = rxs_req_send_stcrw(req, &route);
		rdmafs_test_point("req_asked", slot);
		if (sent == RXS_STCRW_UNBOUND) {
			rxs_req_drop_sink(req);
			rxs_route_put(&route);
		}
	} while (sent == RXS_STCRW_UNBOUND);
	rxs_route_put(&route);
}

static void rxs_req_claimed(struct rxs_req *req)
{
	spin_lock_bh(&req->session->lock);
	req->in_line = false;
	spin_unlock_bh(&req->session->lock);
	rxs_req_take_claim(req);
	rxs_req_fetch(req);
}

/*
 * The sink's key is invalid, so its pages no longer change: queue the WRITE to be served.  The
 * request keeps the MR while no other party needs it: it may become a grant.
 */
static void rxs_req_data_ready(struct rxs_req *req)
{
	rxs_req_lend_mr(req);
	rxp_buf_sync_for_cpu(req->pool, req->buf);
	iov_iter_bvec(&req->r.data, ITER_SOURCE, req->buf->bv, req->buf->sg.nents,
		      req->bulk.length);
	req->r.data_len = req->bulk.length;
	rxp_add(&req->session->stats, bytes_written, req->bulk.length);
	rxs_trace(data, req, req->bulk.length);
	rxs_threads_add(&req->session->server->threads, req);
}

static void rxs_sink_inv_done(struct rxp_chain *chain, bool ok)
{
	struct rxs_req *req = container_of(chain, struct rxs_req, inv_chain);
	struct rdmafs_xprt_session *s = req->session;
	struct rxs_answer a;
	bool cancelled;

	spin_lock_bh(&s->lock);
	cancelled = req->cancelled;
	if (!ok)
		rxs_req_forget(req, RXS_REQ_FORGET);
	else if (cancelled)
		rxs_answer_take_cancelled(req, &a);
	else
		rxs_req_move(req, RXS_REQ_INVALIDATED);
	spin_unlock_bh(&s->lock);
	if (!ok)
		rxs_req_put(req);
	else if (cancelled)
		rxs_req_post_cancelled(req, &a);
	else
		rxs_req_data_ready(req);
	rxs_req_put(req);
}

/**
 * rxs_sink_inv - invalidate a sink's key by a LOCAL_INV
 * @req: the WRITE; one reference to it is taken over
 *
 * Context: process, the completion queue's worker.
 */
void rxs_sink_inv(struct rxs_req *req)
{
	rxp_count(&req->session->stats, local_inv);
	if (rxp_mr_invalidate(req->mr, &req->inv_chain, &req->inv, rxs_sink_inv_done))
		rxs_sink_inv_done(&req->inv_chain, false);
}

/**
 * rxs_sink_inv_arrived - handle the invalidation of a sink's key that came with a message, if any
 * @req: the WRITE
 * @wc:	 completion of the message
 * @own: the key was registered for this request, by its STCRW, not for a grant
 *
 * Context: process, the completion queue's worker; the session's lock held.
 * Return: true if the key is invalid now; else the caller invalidates it, see rxs_sink_inv().
 */
bool rxs_sink_inv_arrived(struct rxs_req *req, const struct ib_wc *wc, bool own)
{
	lockdep_assert_held(&req->session->lock);
	if (!(wc->wc_flags & IB_WC_WITH_INVALIDATE))
		return false;
	rxp_count(&req->session->stats, remote_inv);
	/*
	 * rxe retransmits from the first packet that is not acknowledged, and executes each
	 * REG_MR on the way again: until the STCRW is completed the client could so make the key
	 * valid again.  A request holds a reference until its own STCRW is completed, but not
	 * one for the chain that registered a grant.
	 */
	return rxp_mr_remote_inv(req->mr, own && !req->pool->rdev->quirks.repeats_reg);
}

/**
 * rxs_data_arrived - handle a DATA: the client says that it has written a WRITE's data to the sink
 * @conn: the connection that it came on
 * @f:	  the message
 * @wc:	  its completion
 *
 * Context: process, the completion queue's worker; takes the session's lock.
 * Return: NULL, or what is wrong with the message.
 */
const char *rxs_data_arrived(struct rxp_conn *conn, const struct rxp_frame *f,
			     const struct ib_wc *wc)
{
	bool invalid = false, claimed = wc->wc_flags & IB_WC_WITH_INVALIDATE;
	struct rdmafs_xprt_session *s = rxs_conn(conn)->session;
	struct rxs_slot *slot = &s->slots[f->slot];
	struct rxs_req *req;

	spin_lock_bh(&s->lock);
	req = slot->req;
	if (!req || req->seq != f->seq || req->state != RXS_REQ_WAITING ||
	    req->conn_serial != rxs_conn(conn)->serial || f->bulk.length != req->bulk.length ||
	    f->bulk.rkey != req->mr->mr->rkey ||
	    (claimed && wc->ex.invalidate_rkey != f->bulk.rkey)) {
		spin_unlock_bh(&s->lock);
		return "data for no write";
	}
	rxs_session_progress(s);
	invalid = rxs_sink_inv_arrived(req, wc, true);
	rxs_req_move(req, invalid ? RXS_REQ_DATA : RXS_REQ_INVALIDATE);
	kref_get(&req->ref);	/* for the rest of this function, or the LOCAL_INV */
	spin_unlock_bh(&s->lock);

	if (invalid) {
		rxs_req_data_ready(req);
		rxs_req_put(req);
	} else {
		rxs_sink_inv(req);
	}
	return NULL;
}

/**
 * rxs_req_data_in_grant - go on with a WRITE whose data is in a granted sink
 * @req:     the WRITE, new; it may be freed when this returns
 * @invalid: its key is invalid
 *
 * Context: process, the completion queue's worker.
 */
void rxs_req_data_in_grant(struct rxs_req *req, bool invalid)
{
	rxp_count(&req->session->stats, write_granted);
	if (invalid) {
		rxs_req_data_ready(req);
	} else {
		kref_get(&req->ref);
		rxs_sink_inv(req);
	}
}
