// SPDX-License-Identifier: GPL-2.0
/*
 * A request as an object: how it is made, moved from state to state, unbound and freed.
 *
 * serve.c and reply.c decide when it moves; reqstate.c has its states.  A request is
 * freed with its last reference: the slot has one, and each posted chain.  Its pages are charged
 * to its session until then (budget.c).
 */
#include <linux/ktime.h>
#include <linux/slab.h>
#include "transport/points.h"
#include "transport/server/server.h"
#include "transport/server/trace.h"

static struct kmem_cache *rxs_req_cache;

/**
 * rxs_req_charge - charge a request's session for pages that the request is about to get
 * @req:   the request, without pages; it may be charged for more or less already
 * @bytes: bytes of all pages that it will hold
 * @within: it may not go beyond the bounds, as it can do with less
 *
 * A READ holds its pages until the device has sent them, and a sink for as long as it exists.
 *
 * Context: any but hard interrupt; takes the budget's lock.
 * Return: true: they are charged until rxs_req_uncharge(); false: its session, or its client, may
 * not have so many.
 */
bool rxs_req_charge(struct rxs_req *req, u32 bytes, bool within)
{
	if (within && req->overdrawn)
		return false;
	if (bytes > req->charged) {
		if (rdmafs_test_fails("req_charge", req->slot) ||
		    !rxs_session_charge(req->session, bytes - req->charged, req->charged,
					within, &req->overdrawn))
			return false;
	} else {
		rxs_session_uncharge(req->session, req->charged - bytes, req->overdrawn);
	}
	req->charged = bytes;
	return true;
}

/**
 * rxs_req_trim - free idle pages before a request gets new ones
 * @req: the request, charged for them, @req->pool set
 *
 * So the pages in use and idle together are no more than the session, and its client, may have.
 *
 * Context: process.
 */
void rxs_req_trim(struct rxs_req *req)
{
	rxp_buf_trim(req->pool, rxs_session_left(req->session));
}

/**
 * rxs_req_buf_get - get pages for a request's data
 * @req: the request, charged for them, @req->pool set
 * @len: bytes
 *
 * Context: process, may sleep for memory.
 * Return: whether there are any, in @req->buf.
 */
bool rxs_req_buf_get(struct rxs_req *req, u32 len)
{
	/* With an idle buffer the session has no more pages than before: nothing to trim. */
	req->buf = rxp_buf_get_idle(req->pool, len);
	if (!req->buf) {
		rxs_req_trim(req);
		req->buf = rxp_buf_get(req->pool, len);
	}
	return req->buf;
}

/**
 * rxs_req_uncharge - give back what a request's session is charged for it
 * @req: the request, without pages
 *
 * Context: any but hard interrupt; takes the budget's lock.
 */
void rxs_req_uncharge(struct rxs_req *req)
{
	rxs_session_uncharge(req->session, req->charged, req->overdrawn);
	req->charged = 0;
	req->overdrawn = false;
}

static void rxs_req_free(struct rxs_req *req)
{
	if (req->mr)
		rxp_mr_put(req->pool, req->mr);
	if (req->buf)
		rxp_buf_put(req->pool, req->buf);
	if (req->pages)
		rxs_pages_free(req->pool, req->pages);
	rxs_req_uncharge(req);
	if (req->pool)
		rxp_pool_put(req->pool);
	if (req->conn)
		rxp_conn_put(req->conn);
	rxs_session_put(req->session);
	kmem_cache_free(rxs_req_cache, req);
}

static void rxs_req_free_work(struct work_struct *work)
{
	rxs_req_free(container_of(work, struct rxs_req, free_work));
}

/*
 * The last reference may be dropped by a reply that is posted because its thread is about to sleep
 * (rxp_unplug()), where nothing may sleep.  Deregistering an MR sleeps, and freeing a connection's
 * memory may: then a worker does it, and keeps the pages until then.
 */
static void rxs_req_release(struct kref *ref)
{
	struct rxs_req *req = container_of(ref, struct rxs_req, ref);

	if (req->counted)
		atomic_dec(&req->session->slots[req->slot].alive);
	if (req->grant)
		rxs_grant_drop(req->grant);
	if (req->pool && (req->flags & RXP_F_WRITE) && !req->regained)
		rxs_req_regain_mr(req);
	if ((req->mr && rxp_mr_known(req->mr)) || (req->conn && rxp_conn_is_lost(req->conn))) {
		INIT_WORK(&req->free_work, rxs_req_free_work);
		queue_work(rxp_wq, &req->free_work);
	} else {
		rxs_req_free(req);
	}
}

/**
 * rxs_req_put - drop a reference to a request
 * @req: the request
 *
 * Context: any but hard interrupt; does not sleep.
 */
void rxs_req_put(struct rxs_req *req)
{
	kref_put(&req->ref, rxs_req_release);
}

/**
 * rxs_req_buf - get the buffer of a request's slot
 * @req: the request
 *
 * Context: any.
 * Return: RXP_SLOT_BUF bytes in the session's ring.
 */
void *rxs_req_buf(struct rxs_req *req)
{
	return rxp_ring_buf(&req->session->tx_ring, req->slot);
}

/**
 * rxs_slot_leave - take a request that is over from its slot
 * @s:	   the session
 * @slot:  the slot
 * @state: the slot's new state: RXS_SLOT_FREE or RXS_SLOT_CACHED
 *
 * Context: any but hard interrupt; the session's lock held.
 */
void rxs_slot_leave(struct rdmafs_xprt_session *s, struct rxs_slot *slot,
		    enum rxs_slot_state state)
{
	lockdep_assert_held(&s->lock);
	slot->state = state;
	slot->req = NULL;
	s->requests--;
	rxs_session_end_if_empty(s);
}

/**
 * rxs_req_new - make a request for a CALL
 * @conn: the connection that the CALL came on
 * @rx:	  the receive that it is in
 * @f:	  the CALL
 *
 * Context: process, may sleep for memory.
 * Return: the request, without its slot yet; NULL: no memory.
 */
struct rxs_req *rxs_req_new(struct rxp_conn *conn, struct rxp_rx *rx, const struct rxp_frame *f)
{
	struct rdmafs_xprt_session *s = rxs_conn(conn)->session;
	struct rxs_req *req = kmem_cache_zalloc(rxs_req_cache, GFP_KERNEL);

	if (!req)
		return NULL;
	kref_init(&req->ref);
	rxs_session_get(s);
	req->session = s;
	req->slot = f->slot;
	req->seq = f->seq;
	req->flags = f->flags;
	req->keyed = (f->flags & RXP_F_READ) && (f->flags & RXP_F_RKEY);
	req->bulk = f->bulk;
	/* The time tells a client whether to overlap mapping with it, and what a message costs. */
	if (f->bulk.length > RDMAFS_XPRT_INLINE_MAX || !(f->seq % RXP_WIRE_SAMPLE))
		req->arrived_ns = ktime_get_ns();
	rxp_conn_get(conn);
	req->conn = conn;
	req->conn_serial = rxs_conn(conn)->serial;
	req->rx = rx;
	req->state = RXS_REQ_QUEUED;
	INIT_LIST_HEAD(&req->lent);

	req->r.session = s;
	req->r.body = f->body;
	req->r.body_len = f->body_len;
	if (f->flags & RXP_F_READ)
		req->r.read_max = f->bulk.length;
	req->r.data_len = f->data_len;
	req->in.iov_base = (void *)f->data;
	req->in.iov_len = f->data_len;
	iov_iter_kvec(&req->r.data, ITER_SOURCE, &req->in, 1, f->data_len);
	return req;
}

/**
 * rxs_req_move - change a request's state by an event
 * @req:   the request
 * @event: the event
 *
 * Context: any but hard interrupt; the session's lock held.
 * Return: 0; -EPROTO: the event can't happen in its state, which stays.
 */
int rxs_req_move(struct rxs_req *req, enum rxs_req_event event)
{
	int next = rxs_req_next(req->state, event);

	lockdep_assert_held(&req->session->lock);
	trace_rdmafs_req_state(req->session->id, req->slot, req->seq, req->state, event, next);
	/* Only a replay can come out of place by the client's fault. */
	WARN_ON_ONCE(next < 0 && event != RXS_REQ_REPLAY);
	if (next < 0)
		return next;
	if (req->state != next)
		req->since = jiffies;
	req->state = next;
	return 0;
}

/**
 * rxs_req_forget - take a request from its slot as if its CALL had never come
 * @req:   the request; the caller has to drop the slot's reference, without the lock
 * @event: the event that leads to RXS_REQ_GONE
 *
 * Its connection died before its data had come, or before its reply could be sent: the client
 * sends the CALL again.  The receive that the CALL is in went with that connection.
 *
 * Context: any but hard interrupt; the session's lock held.
 */
void rxs_req_forget(struct rxs_req *req, enum rxs_req_event event)
{
	struct rxs_slot *slot = &req->session->slots[req->slot];

	rxs_req_move(req, event);
	slot->seq--;
	rxs_slot_leave(req->session, slot, RXS_SLOT_FREE);
}

/**
 * rxs_session_unbind - unbind a connection from its session and from the session's requests
 * @s:	  the session
 * @conn: the connection, drained
 *
 * This is one step.  A task that found the connection bound may have left a request to the
 * client's messages (WAITING, HELD): that request ends here.  A task that looks later finds no
 * connection.  No CALL can be sent again before this, as no other connection can be bound.
 *
 * Context: process; takes the session's lock.
 */
void rxs_session_unbind(struct rdmafs_xprt_session *s, struct rxp_conn *conn)
{
	struct rxs_req *req, *next;
	LIST_HEAD(gone);
	u32 i;

	spin_lock_bh(&s->lock);
	for (i = conn->index; i < s->nr_slots; i += s->nr_conns) {
		req = s->slots[i].req;
		if (!req || req->conn_serial != rxs_conn(conn)->serial)
			continue;
		if (rxs_req_next(req->state, RXS_REQ_UNBIND) == RXS_REQ_GONE) {
			rxs_req_forget(req, RXS_REQ_UNBIND);
			list_add(&req->link, &gone);
		} else {
			rxs_req_move(req, RXS_REQ_UNBIND);
		}
	}
	s->conns[conn->index] = NULL;
	s->nr_bound--;
	s->last_seen = jiffies;
	/* The session's others are lost, too: the client sends its CALLs again on new ones. */
	rxs_session_lose_conns(s);
	if (!s->nr_bound && s->next)
		rxs_conn_wake(s->next);
	rxs_session_end_if_empty(s);
	spin_unlock_bh(&s->lock);
	list_for_each_entry_safe(req, next, &gone, link)
		rxs_req_put(req);
}

/**
 * rxs_init - make the server's cache of requests
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rxs_init(void)
{
	rxs_req_cache = KMEM_CACHE(rxs_req, SLAB_HWCACHE_ALIGN);
	return rxs_req_cache ? 0 : -ENOMEM;
}

/**
 * rxs_exit - free the server's cache of requests
 *
 * Context: process, may sleep; no request is left.
 */
void rxs_exit(void)
{
	kmem_cache_destroy(rxs_req_cache);
}
