// SPDX-License-Identifier: GPL-2.0
/*
 * Grants: sinks that a client may write to without asking.
 *
 * A large WRITE costs two round trips, because the client first has to learn where to write to.
 * So a server that has just served one keeps the sink, registers it anew under another key, and
 * says so in the reply.  The client's next WRITE that fits posts [RDMA WRITE..., CALL with
 * invalidate of that key] at once: one round trip.  A grant is good for one WRITE, whose reply
 * brings the next grant.  So a client comes to hold as many as it has WRITEs outstanding.
 *
 * On the server a grant belongs to its session.  The session's connections share a protection
 * domain: the client uses the grant on the one that carries the WRITE's slot, and returns it on
 * any.  A grant ends when it is used, by the client's RETURN, or with the connection that
 * registered it, with which the session's others end.  A client may guess a grant and name it
 * before it was told of it.  So a grant is listed in the same step that posts its registration,
 * and is invalidated behind that (transport/binding.c).
 *
 * A grant's MR is charged like any other.  For the policy it is lent, that is, idle.  When a
 * session or a mount of this host waits for translations of the device, the policy chooses the
 * grants that are wanted back: they go in one RECALL and come back in one RETURN.  After a session
 * found no translations, though it may have more, no grants are made for a while.
 *
 * The oldest grants of a session are recalled, too, if the grants of the session, or of its client,
 * have more pages than half of what it may have by now (budget.c).  That is checked every few
 * seconds, soon after a request found too few pages, and when the limits are changed.
 *
 * A client returns grants that it has not used for some seconds.  A client that neither uses nor
 * returns a recalled grant in time loses its connections, and with them the keys.  A grant that is
 * returned counts until its key is invalid.  That has to happen in the same time, as its LOCAL_INV
 * stands in a send queue that the client can stop.
 *
 * The sink's pages are the session's own (transport/buf.c).  The server reads them only when the
 * key is known to be invalid.  From then on the WRITE does not need the sink's translations until
 * it is served, which may last as long as the file system blocks.  So meanwhile they are lent as
 * well, and the request gives them up at once when another party waits for translations.
 *
 * Locks: a session's lock, then its pool's.  The former guards the session's grants, the latter
 * the list of WRITEs with a lent MR.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include "transport/points.h"
#include "transport/server/server.h"
#include "transport/server/trace.h"

/* Most grants of one session. */
unsigned int rxs_grants_max = 32;

/* Seconds without new grants on a device after a session found no translations. */
#define RXS_SHORTAGE_SECS	2

/* Seconds that a client has for a RETURN. */
#define RXS_RECALL_SECS		10

/* How many grants that are not there a connection may return: a correct client returns none. */
#define RXS_STRAYS_MAX		16

/* Trace a step of a grant that is complete; @rpc: the WRITE that brings or uses it, or NULL. */
#define rxs_grant_trace(step, grant, rpc)					\
do {										\
	const struct rxs_grant *t = (grant);					\
	const struct rxs_req *w = (rpc);					\
										\
	trace_rdmafs_grant_##step(t->session->id, t->index, t->mr->mr->rkey,	\
				  t->mr->mr->length, w ? w->slot : 0, w ? w->seq : 0);	\
} while (0)

static void rxs_grant_free(struct rxs_grant *g)
{
	rxp_mr_put(g->pool, g->mr);
	rxp_buf_put(g->pool, g->buf);
	rxs_session_uncharge(g->session, g->charged, false);
	rxp_pool_put(g->pool);
	kfree(g);
}

static void rxs_grant_unlink(struct rdmafs_xprt_session *s, struct rxs_grant *g)
{
	lockdep_assert_held(&s->lock);
	list_del_init(&g->link);
	s->nr_grants--;
	rxs_session_uncount_grant(s, g->charged, g->recalled);
}

/* A grant is to come back: the client's time for that runs from now on. */
static void rxs_grant_mark_recalled(struct rdmafs_xprt_session *s, struct rxs_grant *g)
{
	lockdep_assert_held(&s->lock);
	if (g->recalled)
		return;
	g->recalled = jiffies | 1;
	if (!g->returned)
		rxs_grant_trace(wanted, g, NULL);
	rxs_session_count_recall(s, g->charged);
}

/* Find a grant in the pool of the connection that names it; one from before a reconnect is void. */
static struct rxs_grant *rxs_grant_find(struct rdmafs_xprt_session *s, struct rxp_conn *conn,
					u32 rkey)
{
	struct rxs_grant *g;

	lockdep_assert_held(&s->lock);
	list_for_each_entry(g, &s->grants, link)
		if (!g->returned && g->pool == conn->pool && g->mr->mr->rkey == rkey)
			return g;
	return NULL;
}

static bool rxs_grants_short(struct rxp_pool *pool)
{
	return rpol_pressed(pool->member) ||
	       time_before(jiffies, READ_ONCE(pool->rdev->short_until));
}

static void rxs_req_give_mr(struct rxs_req *req)
{
	struct rxp_mr *mr = req->mr;

	lockdep_assert_held(&req->pool->lock);
	list_del_init(&req->lent);
	req->mr = NULL;
	/* No peer knows its key, so this does not sleep. */
	rxp_mr_put(req->pool, mr);
}

/**
 * rxs_req_lend_mr - let others have the MR of a WRITE whose data has arrived
 * @req: the WRITE.  If the chain that registered its sink is completed only later, this is called
 *	 again then; the WRITE may be served by that time
 *
 * The WRITE does not need the MR until it is served.  For the policy it is idle from now on, lent
 * to the request.  If the device has too few translations the MR is put at once, as there will be
 * no grant.
 *
 * Context: any but hard interrupt; takes the pool's lock.
 */
void rxs_req_lend_mr(struct rxs_req *req)
{
	struct rxp_pool *pool = req->pool;
	bool wanted = rxs_grants_short(pool);

	spin_lock_bh(&pool->lock);
	/* @regained is checked first: once it is set @mr is used without this lock. */
	if (!req->regained && req->mr && !rxp_mr_known(req->mr) && list_empty(&req->lent)) {
		if (wanted) {
			rxs_req_give_mr(req);
		} else {
			/* Listed first: a worker finds it there if it is wanted at once. */
			list_add_tail(&req->lent, &rxs_pool(pool)->lent);
			rpol_mr_lend(pool->member, &req->mr->policy);
		}
	}
	spin_unlock_bh(&pool->lock);
}

/**
 * rxs_req_regain_mr - take a request's MR back, so that no other party gets it any more
 * @req: the request, which has a pool; @req->mr is NULL afterwards if the MR was given away
 *
 * Context: any but hard interrupt; takes the pool's lock.
 */
void rxs_req_regain_mr(struct rxs_req *req)
{
	spin_lock_bh(&req->pool->lock);
	req->regained = true;
	if (!list_empty(&req->lent)) {
		list_del_init(&req->lent);
		rpol_mr_regain(req->pool->member, &req->mr->policy);
	}
	spin_unlock_bh(&req->pool->lock);
}

/**
 * rxs_reqs_give_mrs - take lent MRs that the policy wants back from WRITEs not served yet
 * @pool: the pool; its connections, and their session, may be gone
 *
 * Context: any but hard interrupt; takes the pool's lock.
 */
void rxs_reqs_give_mrs(struct rxp_pool *pool)
{
	struct rxs_req *req, *next;

	spin_lock_bh(&pool->lock);
	list_for_each_entry_safe(req, next, &rxs_pool(pool)->lent, lent)
		if (rpol_mr_recalled(&req->mr->policy))
			rxs_req_give_mr(req);
	spin_unlock_bh(&pool->lock);
}

/**
 * rxs_grant_offer - make a grant of a WRITE's sink
 * @req:  the WRITE, served; the sink's key is invalid
 * @conn: the connection that its reply goes to
 * @sink: out: the grant, as the reply names it
 *
 * On success the grant owns the sink and its charge, and req->reg is the registration to be posted.
 *
 * Context: process, may sleep.
 * Return: the grant, for rxs_grant_post() or rxs_grant_drop(); or NULL: none can be made.
 */
struct rxs_grant *rxs_grant_offer(struct rxs_req *req, struct rxp_conn *conn,
				  struct rxp_segment *sink)
{
	struct rdmafs_xprt_session *s = req->session;
	struct rxs_grant *g;
	bool room;
	u32 len;

	if (!(req->flags & RXP_F_WRITE) || !req->buf || req->overdrawn || req->pool != conn->pool ||
	    READ_ONCE(s->nr_grants) >= READ_ONCE(rxs_grants_max) ||
	    rxs_grants_short(req->pool))
		return NULL;
	rxs_req_regain_mr(req);
	if (!req->mr || rxp_mr_known(req->mr))
		return NULL;
	g = kzalloc(sizeof(*g), GFP_KERNEL);
	if (!g)
		return NULL;
	INIT_LIST_HEAD(&g->link);
	g->charged = req->charged;
	spin_lock_bh(&s->lock);
	room = s->nr_grants < min(READ_ONCE(rxs_grants_max), RXP_WIRE_GRANTS) &&
	       rxs_session_count_grant(s, g->charged);
	if (room)
		s->nr_grants++;
	spin_unlock_bh(&s->lock);
	if (!room)
		goto out_free;
	len = min(req->buf->size, req->mr->room * (u32)PAGE_SIZE);
	if (rxp_mr_map_buf(req->pool, req->mr, req->buf, len, &req->reg))
		goto out_unlink;
	g->conn = conn;
	g->index = conn->index;
	g->session = s;
	g->pool = req->pool;
	g->buf = req->buf;
	g->mr = req->mr;
	*sink = rxp_mr_segment(g->mr, len);
	rxs_grant_trace(made, g, req);
	rxp_buf_sync_for_device(g->pool, g->buf);
	rxp_pool_get(g->pool);
	req->charged = 0;
	req->buf = NULL;
	req->mr = NULL;
	return g;

out_unlink:
	spin_lock_bh(&s->lock);
	rxs_grant_unlink(s, g);
	spin_unlock_bh(&s->lock);
out_free:
	kfree(g);
	return NULL;
}

/**
 * rxs_grant_post - post the reply that brings a grant, which the client may use from now on
 * @g:	   the grant
 * @chain: its registration and the reply
 *
 * Context: process; takes the session's lock.
 * Return: 0; -ENOTCONN: the connection is dead, the chain was not posted, @g is freed.
 */
int rxs_grant_post(struct rxs_grant *g, struct rxp_chain *chain)
{
	struct rdmafs_xprt_session *s = g->session;
	int ret;

	/* One step: a task that finds the grant in the list knows its REG_MR in the queue. */
	spin_lock_bh(&s->lock);
	ret = rxp_post(g->conn, chain);
	if (!ret) {
		list_add(&g->link, &s->grants);
		/* If the policy wants it back at once, a worker's RECALL goes behind the reply. */
		rpol_mr_lend(g->pool->member, &g->mr->policy);
	}
	spin_unlock_bh(&s->lock);
	if (ret)
		rxs_grant_drop(g);
	else
		rxp_count(&s->stats, grants_made);
	return ret;
}

/**
 * rxs_grant_drop - free a grant that the client can't use
 * @g: the grant, not posted, or returned and its key invalid
 *
 * Context: any but hard interrupt; takes the session's lock.
 */
void rxs_grant_drop(struct rxs_grant *g)
{
	if (g->returned)
		rxs_grant_trace(ended, g, NULL);
	else
		rxs_grant_trace(dropped, g, NULL);
	spin_lock_bh(&g->session->lock);
	rxs_grant_unlink(g->session, g);
	spin_unlock_bh(&g->session->lock);
	rxs_grant_free(g);
}

/* The client has used or returned a grant: add up how long that took after its RECALL. */
static void rxs_grant_finish(struct rxs_grant *g)
{
	if (g->told_ns)
		rxp_add(&g->session->stats, grants_recalled_us,
			div_u64(ktime_get_ns() - g->told_ns, NSEC_PER_USEC));
}

/**
 * rxs_grant_use - give a granted sink to the request whose CALL says that its data is there
 * @req:  the request, new
 * @conn: the connection that the CALL came on
 *
 * Context: any but hard interrupt; the session's lock held.
 * Return: true: the request owns the sink and its charge; false: there is no such grant.
 */
bool rxs_grant_use(struct rxs_req *req, struct rxp_conn *conn)
{
	struct rdmafs_xprt_session *s = req->session;
	struct rxs_grant *g = rxs_grant_find(s, conn, req->bulk.rkey);

	if (!g || req->bulk.length > g->mr->mr->length)
		return false;
	rxs_grant_unlink(s, g);
	rxs_grant_finish(g);
	rxs_grant_trace(used, g, req);
	rpol_mr_regain(g->pool->member, &g->mr->policy);
	req->pool = g->pool;
	req->buf = g->buf;
	req->mr = g->mr;
	req->charged = g->charged;
	kfree(g);
	return true;
}

static void rxs_grant_inv_done(struct rxp_chain *chain, bool ok)
{
	struct rxs_grant *g = container_of(chain, struct rxs_grant, inv_chain);
	struct rdmafs_xprt_session *s = g->session;

	rxs_grant_drop(g);
	rxs_session_put(s);
}

static const char *rxs_grant_return(struct rxp_conn *conn, u32 rkey)
{
	struct rxs_conn *sc = rxs_conn(conn);
	struct rdmafs_xprt_session *s = sc->session;
	struct rxs_grant *g;

	spin_lock_bh(&s->lock);
	g = rxs_grant_find(s, conn, rkey);
	if (g) {
		g->returned = true;
		rxs_grant_trace(returned, g, NULL);
		rxs_grant_finish(g);
		rxs_grant_mark_recalled(s, g);
	}
	spin_unlock_bh(&s->lock);
	if (!g)
		return ++sc->strays > RXS_STRAYS_MAX ? "RETURNs of no grants" : NULL;
	rxs_session_get(s);
	rxp_count(&s->stats, grants_returned);
	rxp_count(&s->stats, local_inv);
	if (rxp_mr_invalidate(g->mr, &g->inv_chain, &g->inv, rxs_grant_inv_done))
		rxs_grant_inv_done(&g->inv_chain, false);
	return NULL;
}

/**
 * rxs_return_arrived - take back the grants that a client's RETURN names
 * @conn: the connection it came on, not necessarily the one that registered them
 * @f:	  the RETURN
 *
 * Context: process; takes the session's lock.
 * Return: NULL, or what is wrong: the client has returned too many grants that are not there.
 */
const char *rxs_return_arrived(struct rxp_conn *conn, const struct rxp_frame *f)
{
	const char *wrong = NULL;
	u32 i;

	rxp_count(&rxs_conn(conn)->session->stats, returns);
	for (i = 0; !wrong && i < f->nr_keys; i++)
		wrong = rxs_grant_return(conn, rxp_frame_key(f, i));
	return wrong;
}

/**
 * rxs_grants_drop - free the grants that a connection registered
 * @s:	  the session, unbound from @conn
 * @conn: the connection, drained
 *
 * A grant that is returned is freed by the completion of its LOCAL_INV.
 *
 * Context: process; takes the session's lock.
 */
void rxs_grants_drop(struct rdmafs_xprt_session *s, struct rxp_conn *conn)
{
	struct rxs_grant *g, *tmp;
	LIST_HEAD(gone);

	spin_lock_bh(&s->lock);
	list_for_each_entry_safe(g, tmp, &s->grants, link) {
		if (g->conn != conn || g->returned)
			continue;
		rxs_grant_trace(dropped, g, NULL);
		rxs_grant_unlink(s, g);
		list_add(&g->link, &gone);
	}
	spin_unlock_bh(&s->lock);
	list_for_each_entry_safe(g, tmp, &gone, link)
		rxs_grant_free(g);
}

/*
 * Recall as many of a connection's grants as one message can name.  The RECALL goes on the
 * connection that their replies went on, so that it can't arrive first.  False if there are none
 * to recall, or no buffer for a message: the connection's room() is called when there is one.
 */
static bool rxs_grants_send_recall(struct rdmafs_xprt_session *s, struct rxp_conn *conn)
{
	struct rxs_grant *batch[RXP_WIRE_KEYS], *g;
	u32 rkeys[RXP_WIRE_KEYS], nr = 0, i;
	u64 now;

	lockdep_assert_held(&s->lock);
	list_for_each_entry(g, &s->grants, link) {
		if (g->conn != conn || g->told_ns || g->returned ||
		    (!g->recalled && !rpol_mr_recalled(&g->mr->policy)))
			continue;
		/* Its time runs even if no RECALL can go: a client may keep us from sending. */
		rxs_grant_mark_recalled(s, g);
		if (nr == RXP_WIRE_KEYS)
			continue;
		batch[nr] = g;
		rkeys[nr++] = g->mr->mr->rkey;
	}
	if (!nr || rdmafs_test_fails("recall", 0))
		return false;
	/* Before the client can trace that it came. */
	if (trace_rdmafs_grant_recalled_enabled())
		for (i = 0; i < nr; i++)
			rxs_grant_trace(recalled, batch[i], NULL);
	if (rxp_ctl_send_keys(conn, RXP_NOTIFY, RXP_NOTIFY_RECALL, rkeys, nr))
		return false;
	now = ktime_get_ns();
	for (i = 0; i < nr; i++)
		batch[i]->told_ns = now;
	rxp_count(&s->stats, recalls);
	rxp_add(&s->stats, grants_recalled, nr);
	return true;
}

static void rxs_session_send_recalls(struct rdmafs_xprt_session *s)
{
	u32 i;

	lockdep_assert_held(&s->lock);
	for (i = 0; i < s->nr_conns; i++)
		while (s->conns[i] && rxs_grants_send_recall(s, s->conns[i]))
			;
}

/**
 * rxs_grants_overdue - test whether a grant that was recalled or returned is overdue
 * @s:	  the session
 * @more: set if any such grant has yet to end
 *
 * Context: any but hard interrupt; the session's lock held.
 * Return: true if so: the session's connections are to end.
 */
bool rxs_grants_overdue(struct rdmafs_xprt_session *s, bool *more)
{
	bool overdue = false;
	struct rxs_grant *g;

	lockdep_assert_held(&s->lock);
	list_for_each_entry(g, &s->grants, link) {
		if (!g->recalled)
			continue;
		*more = true;
		overdue |= time_after(jiffies, g->recalled + RXS_RECALL_SECS * HZ);
	}
	return overdue;
}

/**
 * rxs_grants_recall - send RECALLs for a pool's grants that the policy or the tick wants back
 * @pool: the pool
 *
 * Context: process, the pool's worker; takes the session's lock, after the pool's is released.
 */
void rxs_grants_recall(struct rxp_pool *pool)
{
	struct rdmafs_xprt_session *s;
	bool any = false;

	spin_lock_bh(&pool->lock);
	s = rxs_pool(pool)->session;
	if (s)
		rxs_session_get(s);
	spin_unlock_bh(&pool->lock);
	if (!s)
		return;
	spin_lock_bh(&s->lock);
	rxs_session_send_recalls(s);
	rxs_grants_overdue(s, &any);
	spin_unlock_bh(&s->lock);
	/* Check later that they come back. */
	if (any)
		queue_delayed_work(rxp_wq, &s->server->recall, HZ / 4);
	rxs_session_put(s);
}

/**
 * rxs_grants_want_back - mark the oldest grants as recalled if grants have too many pages
 * @s: the session
 *
 * The pool's worker sends the RECALLs.
 *
 * Context: any but hard interrupt; the session's lock held.
 */
void rxs_grants_want_back(struct rdmafs_xprt_session *s)
{
	u64 excess = rxs_session_excess(s);
	struct rxs_grant *g;

	lockdep_assert_held(&s->lock);
	list_for_each_entry_reverse(g, &s->grants, link) {
		if (!excess)
			return;
		if (g->recalled)
			continue;
		rxs_grant_mark_recalled(s, g);
		excess -= min(excess, g->charged);
		rxp_pool_reclaim(g->pool);
	}
}

/**
 * rxs_grants_pause - stop making grants for a while, as a request got no MR for a sink
 * @server: the server
 * @pool:   the pool of the request's session
 * @pages:  pages that the MR was to have
 * @error:  the error that the request got for it
 *
 * Grants of the same device may be the reason, unless the request's connection is gone
 * (-ESHUTDOWN), or the session's own quota is exhausted.
 *
 * Context: any but hard interrupt.
 */
void rxs_grants_pause(struct rdmafs_xprt_server *server, struct rxp_pool *pool, u32 pages,
		      int error)
{
	if (error == -ESHUTDOWN || (error == -EAGAIN && rxp_mr_capped(pool, pages)))
		return;
	WRITE_ONCE(pool->rdev->short_until, jiffies + RXS_SHORTAGE_SECS * HZ);
	mod_delayed_work(rxp_wq, &server->recall, 0);
}
