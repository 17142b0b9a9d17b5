// SPDX-License-Identifier: GPL-2.0
/*
 * Grants: sinks that a client may write to without asking.
 *
 * A large WRITE costs two round trips because the client first has to learn
 * where to.  So a server that has just served one keeps its sink, registers it
 * anew under another key, and says so in the reply.  The client's next WRITE
 * that fits posts [RDMA WRITE..., CALL with invalidate of that key] at once: one
 * round trip.  A grant is good for one WRITE, whose reply brings the next; so
 * a client comes to hold as many as it has WRITEs outstanding.
 *
 * On the server a grant belongs to its session, whose connections have one
 * protection domain: whichever carries the WRITE's slot may use it.  It is
 * charged like any MR, and ends by use, by the client's RETURN, or with the
 * connection that registered it, with which the others fall.  When somebody
 * finds no translations, all are called back (RECALL) and none is made for a
 * while; a client that neither uses nor returns one in time loses its
 * connections, and with them the keys.  A client returns what it has not used
 * for some seconds.
 *
 * The sink's pages are the session's own (mr.c), and are read only when the key
 * is known to be invalid.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include "transport/client.h"
#include "transport/server.h"

/* Most grants of one session. */
unsigned int rxp_grants_max = 32;

/* Seconds without new grants after somebody found no translations. */
#define RXP_SHORTAGE_SECS	2

/* Seconds that a client has for a RETURN. */
#define RXP_RECALL_SECS		10

/* ------------------------------------------------------------------ the server */

static void rxp_grant_free(struct rxp_grant *g)
{
	rxp_mr_put(g->pool, g->mr);
	rxp_buf_put(g->pool, g->buf);
	rxp_pool_put(g->pool);
	kfree(g);
}

static void rxp_grant_unlink(struct rdmafs_xprt_session *s, struct rxp_grant *g)
{
	lockdep_assert_held(&s->lock);
	list_del(&g->link);
	s->nr_grants--;
}

/* By the protection domain of where it is named: those of before a reconnect are void. */
static struct rxp_grant *rxp_grant_find(struct rdmafs_xprt_session *s, struct rxp_conn *conn,
					u32 rkey)
{
	struct rxp_grant *g;

	lockdep_assert_held(&s->lock);
	list_for_each_entry(g, &s->grants, link)
		if (g->pool == conn->pool && g->mr->mr->rkey == rkey)
			return g;
	return NULL;
}

static bool rxp_grants_short(struct rxp_pool *pool)
{
	return rpol_pressed(pool->member) ||
	       time_before(jiffies, READ_ONCE(pool->rdev->short_until));
}

/**
 * rxp_grant_offer - make a grant of the sink that a WRITE came through
 * @req:  the WRITE, served; its sink is invalid
 * @conn: where its reply goes
 * @tag:  out: what the reply says
 *
 * Process context.  On success the sink is the grant's, and req->reg has to be
 * posted before the reply.
 *
 * Return: whether there is a grant.
 */
bool rxp_grant_offer(struct rxp_req *req, struct rxp_conn *conn, struct rxp_wire_tag *tag)
{
	struct rdmafs_xprt_session *s = req->session;
	struct rxp_grant *g;
	bool granted;
	u32 len;

	if (!(req->flags & RXP_F_WRITE) || !req->mr || !req->buf || req->pool != conn->pool ||
	    READ_ONCE(s->nr_grants) >= READ_ONCE(rxp_grants_max) ||
	    rxp_grants_short(req->pool))
		return false;
	g = kzalloc(sizeof(*g), GFP_KERNEL);
	if (!g)
		return false;
	len = min(req->buf->size, req->mr->policy.entries * (u32)PAGE_SIZE);
	if (rxp_mr_map_buf(req->pool, req->mr, req->buf, len, &req->reg)) {
		kfree(g);
		return false;
	}
	g->conn = conn;
	g->session = s;
	g->pool = req->pool;
	g->buf = req->buf;
	g->mr = req->mr;
	g->mr->bound = true;
	tag->length = cpu_to_le32(len);
	tag->rkey = cpu_to_le32(g->mr->mr->rkey);
	tag->iova = cpu_to_le64(g->mr->mr->iova);
	rxp_buf_sync_for_device(g->pool, g->buf);

	spin_lock_bh(&s->lock);
	/* When the connection is gone nobody would come to take it back. */
	granted = s->conns[conn->index] == conn &&
		  s->nr_grants < min(READ_ONCE(rxp_grants_max), RXP_WIRE_GRANTS);
	if (granted) {
		list_add(&g->link, &s->grants);
		s->nr_grants++;
	}
	spin_unlock_bh(&s->lock);
	if (!granted) {
		g->mr->bound = false;	/* never posted */
		kfree(g);
		return false;
	}
	rxp_pool_get(g->pool);
	req->buf = NULL;
	req->mr = NULL;
	rxp_count(&s->stats, grants_made);
	return true;
}

/**
 * rxp_grant_use - a CALL says that its data is in a granted sink
 * @req:  the request, new, with its session's lock held
 * @conn: where it came from
 *
 * Return: whether there is such a grant; its sink is the request's then.
 */
bool rxp_grant_use(struct rxp_req *req, struct rxp_conn *conn)
{
	struct rdmafs_xprt_session *s = req->session;
	struct rxp_grant *g = rxp_grant_find(s, conn, req->rkey);

	if (!g || req->bulk_len > g->mr->mr->length)
		return false;
	rxp_grant_unlink(s, g);
	req->pool = g->pool;
	req->buf = g->buf;
	req->mr = g->mr;
	kfree(g);
	return true;
}

static void rxp_grant_inv_done(struct rxp_chain *chain, bool ok)
{
	struct rxp_grant *g = container_of(chain, struct rxp_grant, inv_chain);
	struct rdmafs_xprt_session *s = g->session;

	if (ok)
		g->mr->bound = false;
	rxp_grant_free(g);
	rxp_session_put(s);
}

/**
 * rxp_grant_return - the client gives a grant back
 * @conn: where it says so
 * @rkey: the grant's
 *
 * Process context.  One that is not there was used in the meantime, or never
 * was: then the client can't do anything with it either.
 */
void rxp_grant_return(struct rxp_conn *conn, u32 rkey)
{
	struct rdmafs_xprt_session *s = conn->session;
	struct rxp_grant *g;

	spin_lock_bh(&s->lock);
	g = rxp_grant_find(s, conn, rkey);
	if (g)
		rxp_grant_unlink(s, g);
	spin_unlock_bh(&s->lock);
	if (!g)
		return;
	rxp_session_get(s);
	rxp_count(&s->stats, grants_returned);
	rxp_count(&s->stats, local_inv);
	rxp_fill_inv(&g->inv, rkey);
	rxp_chain_init(&g->inv_chain, rxp_grant_inv_done);
	rxp_chain_add(&g->inv_chain, &g->inv);
	if (rxp_post(conn, &g->inv_chain))
		rxp_grant_inv_done(&g->inv_chain, false);
}

/**
 * rxp_grants_drop - a connection is drained: its grants are void
 * @s:	  the session, unbound from @conn
 * @conn: the connection
 *
 * Process context.
 */
void rxp_grants_drop(struct rdmafs_xprt_session *s, struct rxp_conn *conn)
{
	struct rxp_grant *g, *tmp;
	LIST_HEAD(gone);

	spin_lock_bh(&s->lock);
	list_for_each_entry_safe(g, tmp, &s->grants, link) {
		if (g->conn != conn)
			continue;
		rxp_grant_unlink(s, g);
		list_add(&g->link, &gone);
	}
	spin_unlock_bh(&s->lock);
	list_for_each_entry_safe(g, tmp, &gone, link)
		rxp_grant_free(g);
}

/* Ask for all of a session's; false if its client has had its time. */
static bool rxp_grants_recall_session(struct rdmafs_xprt_session *s)
{
	struct rxp_wire_tag tag = {};
	struct rxp_grant *g;
	bool patient = true;

	spin_lock_bh(&s->lock);
	list_for_each_entry(g, &s->grants, link) {
		if (g->recalled) {
			patient &= time_before(jiffies, g->recalled + RXP_RECALL_SECS * HZ);
			continue;
		}
		tag.rkey = cpu_to_le32(g->mr->mr->rkey);
		if (rxp_ctl_send(g->conn, RXP_NOTIFY, RXP_NOTIFY_RECALL, &tag, sizeof(tag)))
			break;	/* at the next tick */
		g->recalled = jiffies | 1;
		rxp_count(&s->stats, grants_recalled);
	}
	spin_unlock_bh(&s->lock);
	return patient;
}

/**
 * rxp_grants_tick - call grants back while translations are short
 * @server: the server, its lock held
 *
 * Return: whether it has to be called again soon.
 */
bool rxp_grants_tick(struct rdmafs_xprt_server *server)
{
	struct rdmafs_xprt_session *s;
	bool more = false;

	lockdep_assert_held(&server->lock);
	list_for_each_entry(s, &server->sessions, link) {
		struct rxp_grant *g;
		bool recall;

		spin_lock_bh(&s->lock);
		g = list_first_entry_or_null(&s->grants, struct rxp_grant, link);
		/* Those called back have to come, shortage or not. */
		recall = g && (g->recalled || rxp_grants_short(g->pool));
		if (rxp_session_overdue(s, &more)) {
			pr_warn_ratelimited("rdmafs: %s keeps what others wait for: disconnecting\n",
					    s->name);
			rxp_session_lose(s);
		}
		spin_unlock_bh(&s->lock);
		if (!recall)
			continue;
		more = true;
		if (rxp_grants_recall_session(s))
			continue;
		spin_lock_bh(&s->lock);
		if (s->nr_bound) {
			pr_warn_ratelimited("rdmafs: %s does not return grants: disconnecting\n",
					    s->name);
			rxp_session_lose(s);
		}
		spin_unlock_bh(&s->lock);
	}
	return more;
}

/**
 * rxp_grants_shortage - somebody found no translations for a sink
 * @server: whose sessions may hold some as grants
 * @pool:   of the one that found none
 *
 * Any context but hard interrupt.
 */
void rxp_grants_shortage(struct rdmafs_xprt_server *server, struct rxp_pool *pool)
{
	WRITE_ONCE(pool->rdev->short_until, jiffies + RXP_SHORTAGE_SECS * HZ);
	queue_delayed_work(rxp_wq, &server->recall, 0);
}

/* ------------------------------------------------------------------ the client */

/**
 * rxp_granted - a reply brought a grant
 * @x: the session
 * @f: the reply
 *
 * Softirq.
 *
 * Return: false if it brings more than there can be, or one that is there.
 */
bool rxp_granted(struct rdmafs_xprt *x, const struct rxp_frame *f)
{
	struct rxp_held_grant *h;
	bool room;
	u32 i;

	spin_lock_bh(&x->lock);
	room = x->nr_grants < RXP_WIRE_GRANTS;
	for (i = 0; i < x->nr_grants; i++)
		room &= x->grants[i].rkey != f->grant_rkey;
	if (room) {
		h = &x->grants[x->nr_grants++];
		h->len = f->grant_len;
		h->rkey = f->grant_rkey;
		h->iova = f->grant_iova;
		h->recalled = false;
		h->since = jiffies;
	}
	spin_unlock_bh(&x->lock);
	return room;
}

/**
 * rxp_grant_take - a grant for a WRITE, if there is one
 * @x:	 the session, its lock held
 * @len: bytes to be written
 * @out: out: the grant, no longer held
 *
 * The smallest that fits, and of those the youngest: what is not needed grows
 * old and is returned.
 *
 * Return: whether there was one.
 */
bool rxp_grant_take(struct rdmafs_xprt *x, u32 len, struct rxp_held_grant *out)
{
	u32 i, best = U32_MAX;

	lockdep_assert_held(&x->lock);
	for (i = 0; i < x->nr_grants; i++) {
		const struct rxp_held_grant *h = &x->grants[i];

		if (h->len >= len && !h->recalled &&
		    (best == U32_MAX || h->len <= x->grants[best].len))
			best = i;
	}
	if (best == U32_MAX)
		return false;
	*out = x->grants[best];
	x->nr_grants--;
	memmove(&x->grants[best], &x->grants[best + 1],
		(x->nr_grants - best) * sizeof(*x->grants));
	return true;
}

/**
 * rxp_grants_forget - the connections are gone, and all grants with them
 * @x: the session, its lock held
 */
void rxp_grants_forget(struct rdmafs_xprt *x)
{
	lockdep_assert_held(&x->lock);
	x->nr_grants = 0;
}

/**
 * rxp_grants_give_back - return what was called back or has grown old
 * @x: the session
 *
 * Process context, from the heartbeat, or any but hard interrupt.
 */
void rxp_grants_give_back(struct rdmafs_xprt *x)
{
	unsigned long old = jiffies - RXP_IDLE_SECS * HZ;
	struct rxp_wire_tag tag = {};
	u32 i, kept = 0;

	spin_lock_bh(&x->lock);
	for (i = 0; x->nr_conns && i < x->nr_grants; i++) {
		struct rxp_held_grant h = x->grants[i];

		tag.rkey = cpu_to_le32(h.rkey);
		if ((h.recalled || time_before(h.since, old)) &&
		    !rxp_ctl_send(x->conns[0], RXP_CONTROL, RXP_CONTROL_RETURN, &tag,
				  sizeof(tag)))
			rxp_count(&x->stats, grants_returned);
		else
			x->grants[kept++] = h;
	}
	if (x->nr_conns)
		x->nr_grants = kept;
	spin_unlock_bh(&x->lock);
}

/**
 * rxp_grant_recalled - the server wants a grant back
 * @x:	  the session
 * @rkey: the grant's
 *
 * Softirq.  One that is not held is being used: the server will see.
 */
void rxp_grant_recalled(struct rdmafs_xprt *x, u32 rkey)
{
	u32 i;

	spin_lock_bh(&x->lock);
	for (i = 0; i < x->nr_grants; i++)
		if (x->grants[i].rkey == rkey)
			x->grants[i].recalled = true;
	spin_unlock_bh(&x->lock);
	rxp_grants_give_back(x);
}
