// SPDX-License-Identifier: GPL-2.0
/*
 * Replies: where their data is put while a request is served, and how they are sent.
 *
 * The task that serves a request answers it.  If the reply is held for the client's memory, the
 * completion handler that receives the STCRW sends it (serve.c).  Under the session's lock the
 * request leaves its slot and the connection for the reply is chosen (rxs_answer_take()).  Then,
 * without the lock, the reply is posted there (rxs_answer_post()).
 *
 * The reply is sent from the slot's buffer, which is the session's, and from pages, which the
 * request owns until its chain is completed.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include "transport/points.h"
#include "transport/server/server.h"
#include "transport/server/trace.h"

static void rxs_reply_done(struct rxp_chain *chain, bool ok)
{
	struct rxs_req *req = container_of(chain, struct rxs_req, reply);

	rxs_trace(completed, req, 0);
	if (ok && (req->flags & RXP_F_READ))
		rxs_session_progress(req->session);
	rxs_req_put(req);
}

/**
 * rxs_route_get - get the connection that a reply can go on now
 * @s:		 the session
 * @conn_serial: serial number of the connection that the last CALL came on
 * @slot:	 the slot
 * @route:	 out: the connection, to be put by rxs_route_put()
 *
 * Context: any but hard interrupt; the session's lock held.
 * Return: whether the connection is still bound.
 */
bool rxs_route_get(struct rdmafs_xprt_session *s, u64 conn_serial, u16 slot,
		   struct rxs_route *route)
{
	struct rxp_conn *conn = rxs_slot_conn(s, slot);

	if (!conn || rxs_conn(conn)->serial != conn_serial)
		return false;
	route->conn = conn;
	route->pool = conn->pool;
	route->dma = rxp_ring_dma(&s->tx_ring, conn->tx_dma, slot);
	rxp_conn_get(route->conn);
	rxp_pool_get(route->pool);
	return true;
}

/**
 * rxs_route_put - give up what rxs_route_get() got
 * @route: rxs_route_get() filled it in
 *
 * Context: any but hard interrupt.
 */
void rxs_route_put(struct rxs_route *route)
{
	rxp_pool_put(route->pool);
	rxp_conn_put(route->conn);
}

/**
 * rxs_reply_post - post the reply that stands in the slot's buffer, which is synced
 * @req:      the request; the chain takes a reference
 * @route:    the connection that it goes on
 * @head_len: bytes of the head
 * @data_len: bytes of data in the message
 * @sg:	      data that goes before it by RDMA WRITE
 * @nr_wr:    number of RDMA WRITEs; if 0, @sg may be NULL
 * @inv_rkey: the client's key that it invalidates, or 0
 * @grant:    a grant that it brings, or NULL; the registration, req->reg, goes before it, so that
 *	      the key is valid before the client learns of it
 *
 * If the connection is dead nothing is posted: the client will repeat the CALL.
 *
 * Context: process.
 */
void rxs_reply_post(struct rxs_req *req, struct rxs_route *route, u32 head_len, u32 data_len,
		    struct rxp_sg *sg, u32 nr_wr, u32 inv_rkey, struct rxs_grant *grant)
{
	u32 lkey = route->pool->pd->local_dma_lkey, i;
	int ret;

	req->sge[0].addr = route->dma;
	req->sge[0].length = head_len;
	req->sge[0].lkey = lkey;
	req->sge[1].addr = route->dma + RXP_HEAD_MAX;
	req->sge[1].length = data_len;
	req->sge[1].lkey = lkey;

	rxp_chain_init(&req->reply, rxs_reply_done);
	for (i = 0; i < nr_wr; i++)
		rxp_chain_add(&req->reply, &sg->wr[i].wr);
	if (grant) {
		rxp_chain_reg(&req->reply, grant->mr, &req->reg);
		rxp_count(&req->session->stats, reg_mr);
	}
	rxp_fill_send(&req->send, req->sge, data_len ? 2 : 1, inv_rkey);
	rxp_chain_add(&req->reply, &req->send);
	rxp_chain_quiet(route->conn, &req->reply, head_len + data_len);

	rxs_trace(replied, req, data_len + req->out_len);
	kref_get(&req->ref);
	/* A reply with data waits for those that follow; one with a grant (of a WRITE) does not. */
	if (grant)
		ret = rxs_grant_post(grant, &req->reply);
	else if (req->reply.quiet || nr_wr)
		ret = rxp_post_plugged(route->conn, &req->reply);
	else
		ret = rxp_post(route->conn, &req->reply);
	if (ret) {
		rxs_req_put(req);
		return;
	}
	rxp_add(&req->session->stats, rdma_writes, nr_wr);
}

/**
 * rxs_answer_take - take an answered request from its slot
 * @req:      the request
 * @data_len: bytes of data in the message
 * @cache:    whether a replay can be answered from the slot's buffer
 * @a:	      out: for rxs_answer_post(), which follows without the lock
 *
 * Context: any but hard interrupt; the session's lock held.
 */
void rxs_answer_take(struct rxs_req *req, u32 data_len, bool cache, struct rxs_answer *a)
{
	struct rdmafs_xprt_session *s = req->session;
	struct rxs_slot *slot = &s->slots[req->slot];

	lockdep_assert_held(&s->lock);
	rxs_req_move(req, RXS_REQ_ANSWER);
	slot->head_len = req->head_len;
	slot->data_len = data_len;
	rxs_slot_leave(s, slot, cache ? RXS_SLOT_CACHED : RXS_SLOT_FREE);
	a->send = rxs_route_get(s, req->conn_serial, req->slot, &a->route);
	a->grant = a->send && req->grant && a->route.conn == req->conn;
	/* The grant was made for a connection that is gone. */
	if (req->grant && !a->grant)
		rxp_frame_clear_grant(rxs_req_buf(req));
	if (a->send)
		rxs_route_sync(s, &a->route, 0, RXP_SLOT_BUF);
	a->keyed = req->keyed;
	a->bulk = req->bulk;
	a->data_len = data_len;
}

/* What the RDMA WRITEs of a reply read, visible to the device: lent pages or a buffer. */
static struct rxp_sg *rxs_req_source(struct rxs_req *req)
{
	if (req->pages)
		return req->pages;
	rxp_buf_sync_for_device(req->pool, req->buf);
	return &req->buf->sg;
}

/**
 * rxs_answer_post - send the reply that stands in the slot's buffer, with its data
 * @req: the request; the slot's reference to it goes
 * @a:	 rxs_answer_take() filled it in
 *
 * Context: process, without the session's lock.
 */
void rxs_answer_post(struct rxs_req *req, struct rxs_answer *a)
{
	struct rxp_sg *sg = NULL;
	u32 nr_wr = 0;

	if (a->send && req->out_len && a->route.pool->rdev != req->pool->rdev) {
		/* The client came back over another device: it has to send the CALL again there. */
		rxp_conn_lost(a->route.conn);
		rxs_route_put(&a->route);
		a->send = false;
	}
	if (a->send && req->out_len) {
		sg = rxs_req_source(req);
		nr_wr = rxp_build_writes(a->route.pool, sg, req->out_len);
		rxp_aim_writes(sg, nr_wr, &a->bulk);
		/* A test lets the reply claim data that was not written. */
		if (rdmafs_test_fails("reply_unwritten", req->slot))
			nr_wr = 0;
	}
	if (a->send) {
		struct rxs_grant *grant = a->grant ? req->grant : NULL;
		u32 head_len = req->head_len + (grant ? sizeof(struct rxp_wire_tag) : 0);

		if (grant)
			req->grant = NULL;
		rxs_reply_post(req, &a->route, head_len, a->data_len, sg, nr_wr,
			       a->keyed ? a->bulk.rkey : 0, grant);
		rxs_route_put(&a->route);
	}
	rxs_req_put(req);
}

/* Build the reply CANCELLED: the client has taken back its data, or the room for it. */
static void rxs_req_write_cancelled(struct rxs_req *req)
{
	struct rxp_frame f = {
		.slot = req->slot,
		.seq = req->seq,
		.status = RXP_STATUS_CANCELLED,
	};

	req->head_len = rxp_frame_write_reply(rxs_req_buf(req), &f);
	req->out_len = 0;
}

/**
 * rxs_answer_take_cancelled - take a request from its slot that its client has cancelled
 * @req: the request, @req->cancelled set
 * @a:	 out: for rxs_answer_post(), which follows without the lock
 *
 * Otherwise, between the two, the connection could be lost, and the CALL be sent again on the next
 * one, where it is not cancelled.
 *
 * Context: any but hard interrupt; the session's lock held since @req->cancelled was read.
 */
void rxs_answer_take_cancelled(struct rxs_req *req, struct rxs_answer *a)
{
	rxs_req_write_cancelled(req);
	rxs_answer_take(req, 0, false, a);
}

/**
 * rxs_req_answer - reply to a request that is served, or hold the reply until it can be sent
 * @req:       the request; not to be touched any more
 * @status:    RXP_STATUS_*
 * @reply_len: bytes of the reply's body, which stands in the slot's buffer
 * @data_len:  bytes of data
 * @cache:     whether a replay can be answered from the slot's buffer
 *
 * Context: process; takes the session's lock.
 */
void rxs_req_answer(struct rxs_req *req, u32 status, u16 reply_len, u32 data_len, bool cache)
{
	struct rdmafs_xprt_session *s = req->session;
	struct rxp_frame f = {
		.slot = req->slot,
		.seq = req->seq,
		.body_len = reply_len,
		.status = status,
	};
	struct rxp_segment sink;
	struct rxs_answer a;

	if (req->in_message)
		f.data_len = data_len;
	else
		f.bulk.length = data_len;
	if (req->arrived_ns)
		f.service_us = min_t(u64, U32_MAX,
				     div_u64(ktime_get_ns() - req->arrived_ns, NSEC_PER_USEC));
	req->head_len = rxp_frame_write_reply(rxs_req_buf(req), &f);
	req->out_len = f.bulk.length;
	if (status == RXP_STATUS_OK)
		req->grant = rxs_grant_offer(req, req->conn, &sink);
	if (req->grant)
		rxp_frame_write_grant(rxs_req_buf(req), req->head_len, &sink);

	/* Before the reply, which gives the client the credit for this receive again. */
	rxp_rx_put(req->rx);
	req->r.body = NULL;

	rxp_count(&s->stats, replies);
	rxp_add(&s->stats, bytes_read, data_len);
	rxs_trace(served, req, data_len);
	spin_lock_bh(&s->lock);
	if (req->out_len && !req->keyed) {
		if (req->cancelled) {
			rxs_req_write_cancelled(req);
		} else if (rxs_req_connected(req)) {
			/* The STCRW's arrival posts the reply, or the connection's end drops it. */
			rxs_req_move(req, RXS_REQ_HOLD);
			rxs_trace(crw_held, req, req->out_len);
			spin_unlock_bh(&s->lock);
			rdmafs_test_point("req_held", f.slot);
			return;
		}
	}
	rxs_answer_take(req, f.data_len, cache, &a);
	spin_unlock_bh(&s->lock);
	rxs_answer_post(req, &a);
}

/**
 * rdmafs_xprt_req_reply - answer a request and let go of it
 * @r:	       the request; not to be touched any more, nor what it points to
 * @reply_len: bytes at r->reply, 1..RDMAFS_XPRT_BODY_MAX
 * @data_len:  bytes put where rdmafs_xprt_req_room() said
 * @flags:     RDMAFS_REPLY_*
 *
 * Context: process.
 */
void rdmafs_xprt_req_reply(struct rdmafs_xprt_req *r, u16 reply_len, u32 data_len,
			   unsigned int flags)
{
	struct rxs_req *req = container_of(r, struct rxs_req, r);
	bool cache;

	/* Data outside the message is not kept, so the answer can't be either. */
	cache = !(flags & RDMAFS_REPLY_NOCACHE) && (!data_len || req->in_message);

	if (req->put_off) {
		rxp_count(&req->session->stats, retry_later);
		rxs_req_answer(req, RXP_STATUS_RETRY_LATER, 0, 0, false);
		return;
	}
	rxs_req_answer(req, RXP_STATUS_OK, reply_len, data_len, cache);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_req_reply);

/* Get the pool for a reply's data: that of the connection there is now; false: there is none. */
static bool rxs_req_take_pool(struct rxs_req *req)
{
	struct rdmafs_xprt_session *s = req->session;
	struct rxp_conn *conn;

	spin_lock_bh(&s->lock);
	conn = rxs_slot_conn(s, req->slot);
	if (conn && !req->pool) {
		req->pool = conn->pool;
		rxp_pool_get(req->pool);
	}
	spin_unlock_bh(&s->lock);
	return req->pool;
}

/**
 * rdmafs_xprt_req_reserve - reserve room for the reply's data before that is read
 * @r:	 the request, without room yet
 * @len: bytes of data at most
 *
 * So the service does not read data in vain.  Bytes that are not needed are given back when the
 * data gets its room, or with the request.
 *
 * Context: process.
 * Return: 0: rdmafs_xprt_req_room() for @len bytes will not find that the session has too many
 * pages; -EMSGSIZE: the client has less room; -ENOMEM: the session has as many pages as it may,
 * and the request will be answered RETRY_LATER, whatever the service replies.
 */
int rdmafs_xprt_req_reserve(struct rdmafs_xprt_req *r, u32 len)
{
	struct rxs_req *req = container_of(r, struct rxs_req, r);

	if (len > r->read_max)
		return -EMSGSIZE;
	if (len <= RDMAFS_XPRT_INLINE_MAX)
		return 0;
	if (req->buf || req->pages || req->put_off)
		return -ENOMEM;
	if (!rxs_req_charge(req, rxp_buf_size(len), false)) {
		req->put_off = true;
		return -ENOMEM;
	}
	if (rxs_req_take_pool(req))
		rxs_req_trim(req);
	return 0;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_req_reserve);

/**
 * rdmafs_xprt_req_room - get room for the reply's data
 * @r:	  the request
 * @len:  bytes wanted, at most r->read_max
 * @dest: out: an ITER_DEST of @len bytes
 *
 * More than RDMAFS_XPRT_INLINE_MAX bytes can be had only once for a request.
 *
 * Context: process; may sleep for memory if @len is more than RDMAFS_XPRT_INLINE_MAX.
 * Return: 0; -EMSGSIZE: the client has less room; -ENOMEM: there is no memory, or the session has
 * as many pages as it may: then the request will be answered RETRY_LATER, whatever the service
 * replies; -ENOTCONN: the client is gone, the service may reply anything: if the client comes
 * back it sends the CALL again.
 */
int rdmafs_xprt_req_room(struct rdmafs_xprt_req *r, u32 len, struct iov_iter *dest)
{
	struct rxs_req *req = container_of(r, struct rxs_req, r);

	if (len > r->read_max)
		return -EMSGSIZE;
	if (len <= RDMAFS_XPRT_INLINE_MAX) {
		/* Pages may have been reserved that are not needed. */
		if (!req->buf && !req->pages)
			rxs_req_uncharge(req);
		req->in_message = true;
		req->out.iov_base = rxs_req_buf(req) + RXP_HEAD_MAX;
		req->out.iov_len = len;
		iov_iter_kvec(dest, ITER_DEST, &req->out, 1, len);
		return 0;
	}
	if (!rxs_req_take_pool(req)) {
		rdmafs_test_point("req_unconnected", req->slot);
		/* The client may send the CALL again on the next connection before the reply. */
		req->put_off = true;
		return -ENOTCONN;
	}
	if (req->buf || req->pages || req->put_off)
		return -ENOMEM;
	if (!rxs_req_charge(req, rxp_buf_size(len), false)) {
		req->put_off = true;
		return -ENOMEM;
	}
	if (!rxs_req_buf_get(req, len)) {
		rxs_req_uncharge(req);
		return -ENOMEM;
	}
	iov_iter_bvec(dest, ITER_DEST, req->buf->bv, req->buf->sg.nents, len);
	return 0;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_req_room);

/*
 * The bytes that can't be freed while these pages are lent: whole folios, each counted once if its
 * pages are adjacent in @bv.
 */
static u64 rxs_pages_held(const struct bio_vec *bv, u32 nr)
{
	struct folio *folio, *last = NULL;
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		folio = page_folio(bv[i].bv_page);
		if (folio != last)
			bytes += folio_size(folio);
		last = folio;
	}
	return bytes;
}

/**
 * rdmafs_xprt_req_pages - send the reply's data from the service's pages
 * @r:	the request
 * @bv: the data, without gaps.  A reference comes with each entry, and no other party may take the
 *	page back before transport drops it
 * @nr: number of entries, at least 1
 * @len: bytes, more than RDMAFS_XPRT_INLINE_MAX and at most r->read_max
 *
 * To be used instead of rdmafs_xprt_req_room(), which may find room where this does not: a folio
 * counts as a whole even if little of it is read, and half of all room is left to other requests.
 *
 * Context: process, may sleep for memory.
 * Return: 0: transport owns the references; or the caller keeps them: -EMSGSIZE, -ENOMEM,
 * -ENOTCONN, -EAGAIN (the client has not said where the data goes).
 */
int rdmafs_xprt_req_pages(struct rdmafs_xprt_req *r, const struct bio_vec *bv, u32 nr, u32 len)
{
	struct rxs_req *req = container_of(r, struct rxs_req, r);
	struct rdmafs_xprt_session *s = req->session;
	struct rxp_sg *pages;
	bool more;
	u64 held;

	if (len > r->read_max || len <= RDMAFS_XPRT_INLINE_MAX || req->pages || req->buf)
		return -EMSGSIZE;
	/* A client that does not name its memory could make us keep the pages for ever. */
	if (!READ_ONCE(req->keyed))
		return -EAGAIN;
	if (!rxs_req_take_pool(req))
		return -ENOTCONN;
	held = rxs_pages_held(bv, nr);
	/*
	 * If the folios take more than a copy would, other requests may need that room.  Then the
	 * request must not go beyond the bounds, not even for a moment.
	 */
	more = held > rxp_buf_size(len);
	if (held > U32_MAX ||
	    (more && !rxs_session_spares(s, held - min(held, req->charged))) ||
	    !rxs_req_charge(req, held, more))
		return -ENOMEM;
	rxs_req_trim(req);
	pages = rxs_pages_new(req->pool, bv, nr);
	if (IS_ERR(pages)) {
		rxs_req_uncharge(req);
		return PTR_ERR(pages);
	}
	req->pages = pages;
	rxp_count(&req->session->stats, read_in_place);
	return 0;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_req_pages);
