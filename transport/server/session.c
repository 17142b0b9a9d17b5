// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions on the server: how they are made and closed.  bind.c binds connections to them.
 *
 * A session is made by a work on the queue of connections.  A BYE, the end of the lease, or the
 * end of the server begins to close it.  When its last connection and its last request are gone,
 * it is closed by a work on a queue of its own kind.  That may take as long as the file systems
 * below do, and however many sessions are being closed, new ones can be made.
 *
 * Its lock guards its state, its connections and its slots (server.h).
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "transport/server/server.h"
#include "transport/server/trace.h"

/* Numbers the sessions of all ports: their directories in /proc stand side by side. */
static atomic_t rxs_session_count = ATOMIC_INIT(0);

/**
 * rxs_conn_wake - queue a connection's worker
 * @conn: the connection; the worker gets a reference
 *
 * Context: any.
 */
void rxs_conn_wake(struct rxp_conn *conn)
{
	rxp_conn_get(conn);
	/* If the work is queued already it has a reference, so this is not the last. */
	if (!queue_work(rxs_conn_wq, &rxs_conn(conn)->work))
		rxp_conn_put(conn);
}

/**
 * rxs_session_get - take a reference to a session
 * @session: the session
 *
 * Context: any.
 */
void rxs_session_get(struct rdmafs_xprt_session *session)
{
	kref_get(&session->ref);
}

static void rxs_session_release(struct kref *ref)
{
	struct rdmafs_xprt_session *s = container_of(ref, struct rdmafs_xprt_session, ref);
	struct rdmafs_xprt_server *server = s->server;

	WARN_ON_ONCE(s->overdraft || s->grant_bytes || s->grant_recalled ||
		     atomic64_read(&s->data_bytes));
	rxs_turns_exit(&s->turns);
	kvfree(s->slots);
	rxp_ring_destroy(&s->tx_ring);
	rxs_account_uncharge(s->account, s->ring_charged, 0);
	rxs_account_put(s->account);
	rxp_stats_destroy(&s->stats);
	kfree(s);

	spin_lock_bh(&server->lock);
	server->nr_sessions--;
	wake_up_all(&server->empty);
	spin_unlock_bh(&server->lock);
}

/**
 * rxs_session_put - drop a reference to a session
 * @session: the session
 *
 * Context: any but hard interrupt; process, no lock held, if it may be the last reference.
 */
void rxs_session_put(struct rdmafs_xprt_session *session)
{
	kref_put(&session->ref, rxs_session_release);
}

/* Change a session's state by an event. */
static void rxs_session_move(struct rdmafs_xprt_session *s, enum rxs_session_event event)
{
	int next = rxs_session_next(s->state, event);

	lockdep_assert_held(&s->lock);
	trace_rdmafs_server_session_state(s->id, s->state, event, next);
	if (!WARN_ON_ONCE(next < 0))
		s->state = next;
}

/**
 * rxs_session_end_if_empty - queue the end of a session that is closing, if nothing is left of it
 * @session: the session
 *
 * To be called after a request or a connection has left it.
 *
 * Context: any but hard interrupt; the session's lock held.
 */
void rxs_session_end_if_empty(struct rdmafs_xprt_session *session)
{
	lockdep_assert_held(&session->lock);
	if (session->state != RXS_SESSION_CLOSING || session->nr_bound || session->requests)
		return;
	rxs_session_move(session, RXS_SESSION_EMPTY);
	queue_work(rxs_session_wq, &session->end);
}

/**
 * rxs_session_lose_conns - close all connections of a session
 * @session: the session
 *
 * Context: any but hard interrupt; the session's lock held.
 */
void rxs_session_lose_conns(struct rdmafs_xprt_session *session)
{
	u32 i;

	lockdep_assert_held(&session->lock);
	for (i = 0; i < session->nr_conns; i++)
		if (session->conns[i])
			rxp_conn_lost(session->conns[i]);
}

/**
 * rxs_session_close_locked - begin to close a session; a worker does the rest
 * @session: the session
 *
 * Context: any but hard interrupt; the session's lock held.
 */
void rxs_session_close_locked(struct rdmafs_xprt_session *session)
{
	lockdep_assert_held(&session->lock);
	if (rxs_session_closes(session))
		return;
	rxs_session_move(session, RXS_SESSION_CLOSE);
	rxs_session_lose_conns(session);
	/* The worker of the connection that waits for a place will see that there is none. */
	if (session->next)
		rxs_conn_wake(session->next);
	rxs_session_end_if_empty(session);
}

/**
 * rxs_session_close - begin to close a session; a worker does the rest
 * @session: the session
 *
 * Context: any but hard interrupt; takes the session's lock.
 */
void rxs_session_close(struct rdmafs_xprt_session *session)
{
	spin_lock_bh(&session->lock);
	rxs_session_close_locked(session);
	spin_unlock_bh(&session->lock);
}

static struct rdmafs_xprt_session *rxs_member_session(struct rxp_member *member)
{
	return container_of(member, struct rdmafs_xprt_session, member);
}

static struct rxp_pool *rxs_session_pool(struct rxp_member *member)
{
	struct rdmafs_xprt_session *s = rxs_member_session(member);
	struct rxp_pool *pool = NULL;

	spin_lock_bh(&s->lock);
	if (s->conns[0]) {
		pool = s->conns[0]->pool;
		rxp_pool_get(pool);
	}
	spin_unlock_bh(&s->lock);
	return pool;
}

static int rxs_session_set_quota(struct rxp_member *member, const struct rpol_quota *quota)
{
	/* Without a connection there is no device that could tell whether it keeps the quota. */
	return rxp_member_set_quota(member, quota, false);
}

static void rxs_session_show_mount(struct seq_file *m, struct rxp_member *member)
{
	seq_printf(m, "client %s port %u\n", member->name,
		   rxs_member_session(member)->server->port);
}

static void rxs_session_show_window(struct seq_file *m, struct rxp_member *member)
{
	struct rdmafs_xprt_session *s = rxs_member_session(member);

	spin_lock_bh(&s->lock);
	seq_printf(m, "client %s\nstate %s\nconnections %u\n", member->name,
		   s->nr_bound ? "up" : "down", s->nr_bound);
	seq_printf(m, "slots %u\nexecuting %u\ndata_max %u\n", s->nr_slots, s->requests,
		   s->data_max);
	seq_printf(m, "data_bytes %llu\ngrant_bytes %llu\n",
		   (u64)atomic64_read(&s->data_bytes), s->grant_bytes);
	spin_unlock_bh(&s->lock);
}

static void rxs_session_abort(struct rxp_member *member)
{
	rxs_session_close(rxs_member_session(member));
}

static const struct rxp_member_ops rxs_member_ops = {
	.pool = rxs_session_pool,
	.set_quota = rxs_session_set_quota,
	.show_mount = rxs_session_show_mount,
	.show_window = rxs_session_show_window,
	.abort = rxs_session_abort,
};

static void rxs_session_add_proc(struct rdmafs_xprt_session *s)
{
	char dir[32];

	snprintf(dir, sizeof(dir), "client-%u", atomic_inc_return(&rxs_session_count));
	/* On failure the session is only not visible. */
	rxp_member_make_dir(&s->member, s->server->net, dir);
}

/* Make a session: allocate its memory, and let the service open it. */
static int rxs_session_make(struct rdmafs_xprt_session *s)
{
	struct rdmafs_xprt_server *server = s->server;
	int ret;
	u32 i;

	if (!rxs_account_charge(s->account, (u64)s->want_slots * RXP_SLOT_BUF))
		return -ENOBUFS;
	s->ring_charged = (u64)s->want_slots * RXP_SLOT_BUF;
	ret = rxp_ring_init(&s->tx_ring, s->want_slots, RXP_SLOT_BUF, DMA_TO_DEVICE, true);
	if (ret)
		return ret;
	s->slots = kvcalloc(s->want_slots, sizeof(*s->slots), GFP_KERNEL);
	if (!s->slots)
		return -ENOMEM;
	for (i = 0; i < s->want_slots; i++)
		s->slots[i].seq = rdmafs_test_knob(seq_before);
	ret = server->service->session_open(s, server->ctx);
	if (ret)
		return ret;
	s->opened = true;
	rxs_session_add_proc(s);
	return 0;
}

static void rxs_session_end_work(struct work_struct *work)
{
	struct rdmafs_xprt_session *s = container_of(work, struct rdmafs_xprt_session, end);
	struct rdmafs_xprt_server *server = s->server;

	rxp_proc_remove(s->member.dir);
	rdmafs_test_point("session_end", s->nr_slots);
	if (s->opened)
		server->service->session_close(s, server->ctx);
	spin_lock_bh(&server->lock);
	list_del(&s->link);
	spin_unlock_bh(&server->lock);
	rxs_session_put(s);	/* the list's */
}

static void rxs_session_make_work(struct work_struct *work)
{
	struct rdmafs_xprt_session *s = container_of(work, struct rdmafs_xprt_session, make);
	int ret = rxs_session_make(s);

	rdmafs_test_point("session_made", s->want_slots);
	spin_lock_bh(&s->lock);
	if (!ret)
		s->nr_slots = s->want_slots;
	rxs_session_move(s, ret ? RXS_SESSION_FAIL : RXS_SESSION_MADE);
	if (s->next)
		rxs_conn_wake(s->next);
	/* It may have been closed meanwhile. */
	rxs_session_end_if_empty(s);
	spin_unlock_bh(&s->lock);
	rxs_session_put(s);	/* the work's */
}

/**
 * rxs_session_alloc - allocate a session for a connection 0 that brings none
 * @server: the server
 * @conn:   connection 0, its HELLO received
 *
 * The session is in no list yet: the caller calls rxs_session_enlist() or rxs_session_free() next.
 *
 * Context: process, may sleep.
 * Return: the session with the reference for the server's list, or NULL.
 */
struct rdmafs_xprt_session *rxs_session_alloc(struct rdmafs_xprt_server *server,
					      struct rxp_conn *conn)
{
	struct rdmafs_xprt_session *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	if (rxs_turns_init(&s->turns)) {
		kfree(s);
		return NULL;
	}
	if (rxp_stats_init(&s->stats)) {
		rxs_turns_exit(&s->turns);
		kfree(s);
		return NULL;
	}
	kref_init(&s->ref);
	s->server = server;
	spin_lock_init(&s->lock);
	mutex_init(&s->member.lock);
	rxp_member_init(&s->member, &rxs_member_ops, &conn->id->route.addr.dst_addr, &s->stats,
			&rxp_quota_default);
	INIT_WORK(&s->make, rxs_session_make_work);
	INIT_WORK(&s->end, rxs_session_end_work);
	INIT_LIST_HEAD(&s->link);
	INIT_LIST_HEAD(&s->grants);
	get_random_bytes(s->id, sizeof(s->id));
	memcpy(s->client, rxs_conn(conn)->hello.client, sizeof(s->client));
	s->account = rxs_account_get(rxs_conn(conn)->account);
	s->state = RXS_SESSION_MAKING;
	s->nr_conns = conn->count;
	s->want_slots = conn->slots;
	s->data_max = conn->data_max;
	s->last_seen = jiffies;
	s->progress = jiffies;
	s->newest = rxs_conn(conn)->serial;
	return s;
}

/**
 * rxs_session_free - free a session that was not started
 * @session: from rxs_session_alloc(), or NULL
 *
 * Context: process.
 */
void rxs_session_free(struct rdmafs_xprt_session *session)
{
	if (!session)
		return;
	rxs_account_put(session->account);
	rxp_stats_destroy(&session->stats);
	rxs_turns_exit(&session->turns);
	kfree(session);
}

/**
 * rxs_session_enlist - list a new session and have a worker make it
 * @session: from rxs_session_alloc()
 *
 * Context: any but hard interrupt; the server's lock held.
 */
void rxs_session_enlist(struct rdmafs_xprt_session *session)
{
	struct rdmafs_xprt_server *server = session->server;
	struct rdmafs_xprt_session *s;

	lockdep_assert_held(&server->lock);
	list_for_each_entry(s, &server->sessions, link) {
		if (s->account == session->account) {
			rxs_turns_join(&session->turns, &s->turns);
			break;
		}
	}
	server->nr_sessions++;
	list_add_tail(&session->link, &server->sessions);
	rxs_session_get(session);
	queue_work(rxs_conn_wq, &session->make);
}

/**
 * rdmafs_xprt_session_set_priv - set the service's pointer in a session
 * @session: the session
 * @priv:    the pointer
 *
 * Context: any; called by the service's session_open() and session_close().
 */
void rdmafs_xprt_session_set_priv(struct rdmafs_xprt_session *session, void *priv)
{
	session->priv = priv;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_session_set_priv);

/**
 * rdmafs_xprt_session_priv - get the service's pointer from a session
 * @session: the session
 *
 * Context: any.
 * Return: what rdmafs_xprt_session_set_priv() was given.
 */
void *rdmafs_xprt_session_priv(struct rdmafs_xprt_session *session)
{
	return session->priv;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_session_priv);

/*
 * Send the EVENT that the service wants sent, if it does.  The wish stays until an EVENT is posted:
 * a connection's room() has this called again, and so has the WELCOME of the next connection.  A
 * client that connects again asks what there is without an EVENT, but it may do so before the
 * service wants the EVENT sent, and the WELCOME arrives before @welcomed is set.  So it may get an
 * EVENT for what it has asked already, which does no harm.
 */
static void rxs_session_send_event(struct rdmafs_xprt_session *s)
{
	struct rxp_conn *conn;
	u32 i;

	lockdep_assert_held(&s->lock);
	for (i = 0; s->rings && i < s->nr_conns; i++) {
		conn = s->conns[i];
		if (!conn || !READ_ONCE(rxs_conn(conn)->welcomed) ||
		    rxp_ctl_send(conn, RXP_NOTIFY, RXP_NOTIFY_EVENT, NULL, 0))
			continue;
		rxp_count(&s->stats, events);
		s->rings = false;
	}
}

/**
 * rxs_session_event_again - send the EVENT that could not be sent, if there is one
 * @s: the session
 *
 * Context: any but hard interrupt; takes the session's lock.
 */
void rxs_session_event_again(struct rdmafs_xprt_session *s)
{
	spin_lock_bh(&s->lock);
	rxs_session_send_event(s);
	spin_unlock_bh(&s->lock);
}

/**
 * rdmafs_xprt_session_ring - send a client an EVENT: the service has something to tell
 * @s: a session for which session_close() has not returned
 *
 * The client asks by a call.  It also asks when it has connected again, so that the service need
 * not care whether the EVENT arrives.  Until it has been asked a service sends no second one: a
 * client has receives for a few.
 *
 * Context: any but hard interrupt; does not sleep; takes the session's lock.
 */
void rdmafs_xprt_session_ring(struct rdmafs_xprt_session *s)
{
	spin_lock_bh(&s->lock);
	s->rings = true;
	rxs_session_send_event(s);
	spin_unlock_bh(&s->lock);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_session_ring);

/**
 * rdmafs_xprt_session_closes - tell whether a session closes, or is to because its server stops
 * @session: a session for which session_close() has not returned
 *
 * When a server stops, this is true of all of its sessions before session_close() is called for the
 * first of them.
 *
 * Context: any but hard interrupt; does not sleep; takes the session's lock.
 * Return: true if so, and for good.
 */
bool rdmafs_xprt_session_closes(struct rdmafs_xprt_session *session)
{
	bool closes;

	spin_lock_bh(&session->lock);
	/* The lock of the server is not needed: it was set before the first session was closed. */
	closes = rxs_session_closes(session) || READ_ONCE(session->server->stopping);
	spin_unlock_bh(&session->lock);
	return closes;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_session_closes);

/**
 * rdmafs_xprt_session_client - get what the client calls itself
 * @session: the session
 * @client:  out: RDMAFS_XPRT_CLIENT_ID bytes: random, the same in all sessions of a mount, and
 *	     secret but to a party that reads the wire
 *
 * Context: any.
 */
void rdmafs_xprt_session_client(const struct rdmafs_xprt_session *session, u8 *client)
{
	static_assert(sizeof(session->client) == RDMAFS_XPRT_CLIENT_ID);
	memcpy(client, session->client, sizeof(session->client));
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_session_client);

/**
 * rdmafs_xprt_session_source - get the address that transport counts as one client
 * @session: the session
 * @source:  out: the address that the session comes from
 *
 * Context: any.
 */
void rdmafs_xprt_session_source(const struct rdmafs_xprt_session *session,
				struct rdmafs_xprt_source *source)
{
	*source = session->account->source;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_session_source);
