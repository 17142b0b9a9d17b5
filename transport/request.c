// SPDX-License-Identifier: GPL-2.0
/*
 * A request as an object: made, moved from state to state, unbound, freed.  What
 * moves it is in serve.c, reply.c and revoke.c; what may follow what, in reqstate.c.
 */
#include <linux/ktime.h>
#include <linux/slab.h>
#include "transport/points.h"
#include "transport/server.h"
#include "transport/trace.h"

static struct kmem_cache *rxp_req_cache;

/**
 * rxp_req_charge - a request is about to get pages for its data
 * @req:   the request, without any; it may be charged for more or less already
 * @bytes: how many it will hold
 * @within: not beyond the bounds, which are for what can't do with less
 *
 * They are a READ's until the device has sent them, and a sink's for as long as that is there.
 *
 * Return: whether its session, and its client, may have so many; if so until
 * rxp_req_uncharge().
 */
bool rxp_req_charge(struct rxp_req *req, u32 bytes, bool within)
{
	if (within && req->beyond)
		return false;
	if (bytes > req->charged) {
		if (rdmafs_test_fail("req_charge", req->slot) ||
		    !rxp_session_charge(req->session, bytes - req->charged, req->charged,
					within, &req->beyond))
			return false;
	} else {
		rxp_session_uncharge(req->session, req->charged - bytes, req->beyond);
	}
	req->charged = bytes;
	return true;
}

/**
 * rxp_req_trim - a request's session is about to have more pages
 * @req: the request, charged for them, its pool there
 *
 * What is idle goes before there is more than the session may have, in use and idle, or its
 * client.
 *
 * Process context.
 */
void rxp_req_trim(struct rxp_req *req)
{
	rxp_buf_trim(req->pool, rxp_session_left(req->session));
}

/**
 * rxp_req_buf_get - pages for a request's data
 * @req: the request, charged for them, its pool there
 * @len: bytes
 *
 * Process context, may sleep for memory.
 *
 * Return: whether there are any, in @req->buf.
 */
bool rxp_req_buf_get(struct rxp_req *req, u32 len)
{
	/* One that is idle stays one: the session has no more than before. */
	req->buf = rxp_buf_get_idle(req->pool, len);
	if (!req->buf) {
		rxp_req_trim(req);
		req->buf = rxp_buf_get(req->pool, len);
	}
	return req->buf;
}

/**
 * rxp_req_uncharge - a request has no pages any more
 * @req: the request
 */
void rxp_req_uncharge(struct rxp_req *req)
{
	rxp_session_uncharge(req->session, req->charged, req->beyond);
	req->charged = 0;
	req->beyond = false;
}

static void rxp_req_free(struct rxp_req *req)
{
	if (req->mr)
		rxp_mr_put(req->pool, req->mr);
	if (req->buf)
		rxp_buf_put(req->pool, req->buf);
	if (req->pages)
		rxp_pages_release(req->pool, req->pages);
	rxp_req_uncharge(req);
	if (req->pool)
		rxp_pool_put(req->pool);
	if (req->conn)
		rxp_conn_put(req->conn);
	rxp_session_put(req->session);
	kmem_cache_free(rxp_req_cache, req);
}

static void rxp_req_free_work(struct work_struct *work)
{
	rxp_req_free(container_of(work, struct rxp_req, free_work));
}

/*
 * The last reference may be that of a reply which goes out because its thread is about to
 * sleep (rxp_unplug()), and nothing that is done there may sleep.  To deregister an MR does,
 * and to free a connection's memory may: a worker does it, and pages stay until then.
 */
static void rxp_req_release(struct kref *ref)
{
	struct rxp_req *req = container_of(ref, struct rxp_req, ref);

	if (req->counted)
		atomic_dec(&req->session->slots[req->slot].alive);
	if (req->grant)
		rxp_grant_cancel(req->grant);
	if (req->pool && (req->flags & RXP_F_WRITE) && !req->regained)
		rxp_req_regain_mr(req);
	if ((req->mr && rxp_mr_known(req->mr)) || (req->conn && rxp_conn_is_lost(req->conn))) {
		INIT_WORK(&req->free_work, rxp_req_free_work);
		queue_work(rxp_wq, &req->free_work);
	} else {
		rxp_req_free(req);
	}
}

/**
 * rxp_req_put - drop a reference
 * @req: the request
 *
 * Any context but hard interrupt; does not sleep.
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
	s->requests--;
	rxp_session_settle(s);
}

/**
 * rxp_req_new - a request for a CALL
 * @conn: where it came from
 * @rx:	  the receive that it stands in
 * @f:	  what it says
 *
 * Process context.
 *
 * Return: the request, without its slot yet; NULL: no memory.
 */
struct rxp_req *rxp_req_new(struct rxp_conn *conn, struct rxp_rx *rx, const struct rxp_frame *f)
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
	/* Of use where mapping can overlap with it, and to learn what a message costs. */
	if (f->bulk_len > RDMAFS_XPRT_INLINE_MAX || !(f->seq % RXP_WIRE_SAMPLE))
		req->arrived_ns = ktime_get_ns();
	rxp_conn_get(conn);
	req->conn = conn;
	req->bound = conn->serial;
	req->rx = rx;
	req->state = RXP_REQ_QUEUED;
	INIT_LIST_HEAD(&req->lent);
	rxp_req_claim_init(req);

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

/**
 * rxp_req_move - something happens to a request
 * @req:   the request; its session's lock is held
 * @event: what
 *
 * Return: 0; -EPROTO: not in the state that it is in, which stays.
 */
int rxp_req_move(struct rxp_req *req, enum rxp_req_event event)
{
	int next = rxp_req_next(req->state, event);

	lockdep_assert_held(&req->session->lock);
	trace_rdmafs_req_state(req->session->id, req->slot, req->seq, req->state, event, next);
	/* Of these only the client can be the cause. */
	WARN_ON_ONCE(next < 0 && event != RXP_REQ_REPLAY);
	if (next < 0)
		return next;
	if (req->state != next)
		req->since = jiffies;
	req->state = next;
	return 0;
}

/**
 * rxp_req_gone - it is as if a request's CALL had never come
 * @req:   the request; its session's lock is held.  The slot's reference is the
 *	   caller's to drop, without the lock
 * @event: what happens to it
 *
 * Its connection died before its data was there, or before that could go: the client
 * sends the CALL again.  The receive it stands in went with that connection.
 */
void rxp_req_gone(struct rxp_req *req, enum rxp_req_event event)
{
	struct rxp_sslot *slot = &req->session->slots[req->slot];

	rxp_req_move(req, event);
	slot->seq--;
	rxp_slot_leave(req->session, slot, RXP_SLOT_FREE);
}

/**
 * rxp_session_unbind - a connection is no more its session's, nor its requests'
 * @s:	  the session
 * @conn: its connection, drained
 *
 * Process context.  Both in one step: who finds the connection bound may leave a
 * request to its messages (WAITING, HELD), and it is seen here; who comes later finds it
 * gone.  And no CALL is sent again before that, since no other connection is bound.
 */
void rxp_session_unbind(struct rdmafs_xprt_session *s, struct rxp_conn *conn)
{
	struct rxp_req *req, *next;
	LIST_HEAD(gone);
	u32 i;

	spin_lock_bh(&s->lock);
	for (i = conn->index; i < s->nr_slots; i += s->nr_conns) {
		req = s->slots[i].req;
		if (!req || req->bound != conn->serial)
			continue;
		if (rxp_req_next(req->state, RXP_REQ_UNBIND) == RXP_REQ_GONE) {
			rxp_req_gone(req, RXP_REQ_UNBIND);
			list_add(&req->link, &gone);
		} else {
			rxp_req_move(req, RXP_REQ_UNBIND);
		}
	}
	s->conns[conn->index] = NULL;
	s->nr_bound--;
	s->last_seen = jiffies;
	/* The others go, too: so what waited for this one is sent again with all. */
	rxp_session_lose(s);
	if (!s->nr_bound && s->next)
		rxp_server_conn_wake(s->next);
	rxp_session_settle(s);
	spin_unlock_bh(&s->lock);
	list_for_each_entry_safe(req, next, &gone, link)
		rxp_req_put(req);
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
