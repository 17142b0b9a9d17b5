// SPDX-License-Identifier: GPL-2.0
/*
 * Connections and sessions on the server: what a HELLO does.
 *
 * A client's connection 0 is accepted before the server knows which session it belongs to.  Its
 * HELLO binds it to a session, old or new.  If the old session still has connections, they are
 * drained first: then no request waits for data that could come twice, and no reply is on its way
 * (Documentation/architecture.rst, "When the connection dies").
 *
 * No worker sleeps for that.  The connection becomes its session's *next*.  Its worker is woken by
 * the last of the old connections when that is unbound, or by the worker that makes a new session.
 * There is only one next: if a client asks several times the newest connection wins, as the client
 * asked for them one after the other.  A connection that asks late, when a newer one is bound to
 * the session or waits for it, is refused and changes nothing.
 *
 * The other connections name the session that they join when they ask to be accepted, as their
 * queue pairs are made in its protection domain.  The session's id shows that they come from the
 * same client.  They also name the incarnation: one that comes late, after another connection 0,
 * is refused.
 */
#include <linux/slab.h>
#include "transport/points.h"
#include "transport/server/server.h"

/* ----------------------------------------------------------------------- joining */

/*
 * May a connection take its place in the session?  Tested when it asks to be accepted, and again
 * when it is bound, as the session may have changed in between.
 */
static bool rxs_join_fits(const struct rdmafs_xprt_session *s, const struct rxp_wire_cm *cm)
{
	lockdep_assert_held(&s->lock);
	return s->conns[0] && !rxs_session_closes(s) &&
	       le32_to_cpu(cm->incarnation) == s->incarnation && cm->count == s->nr_conns &&
	       !s->conns[cm->index] && le16_to_cpu(cm->slots) == s->nr_slots &&
	       le32_to_cpu(cm->data_max) >= s->data_max;
}

/* Find the session that a connection wants to join; a reference, or NULL. */
static struct rdmafs_xprt_session *rxs_session_find(struct rdmafs_xprt_server *server,
						    const struct rxp_wire_cm *cm)
{
	struct rdmafs_xprt_session *s, *found = NULL;

	spin_lock_bh(&server->lock);
	list_for_each_entry(s, &server->sessions, link) {
		if (memcmp(s->id, cm->session, sizeof(s->id)))
			continue;
		rxs_session_get(s);
		found = s;
		break;
	}
	spin_unlock_bh(&server->lock);
	return found;
}

/**
 * rxs_join_pool - get the pool of the session that a connection wants to join
 * @server: the server
 * @conn:   the connection, its request checked
 *
 * Context: process; takes the server's lock, and then the session's, not both at once.
 * Return: a reference to the pool, or ERR_PTR(-ESTALE): the connection may not join.
 */
struct rxp_pool *rxs_join_pool(struct rdmafs_xprt_server *server, struct rxp_conn *conn)
{
	struct rdmafs_xprt_session *s = rxs_session_find(server, &conn->cm);
	struct rxp_pool *pool = NULL;

	if (!s)
		return ERR_PTR(-ESTALE);
	spin_lock_bh(&s->lock);
	if (rxs_join_fits(s, &conn->cm) && s->conns[0]->pool->rdev->ib == conn->id->device) {
		pool = s->conns[0]->pool;
		rxp_pool_get(pool);
	}
	spin_unlock_bh(&s->lock);
	rxs_session_put(s);
	return pool ?: ERR_PTR(-ESTALE);
}

/* Bind a connection to its place, which is free; it takes over a reference to the session. */
static int rxs_conn_take_place(struct rxp_conn *conn, struct rdmafs_xprt_session *s)
{
	int ret;

	lockdep_assert_held(&s->lock);
	ret = rxp_conn_move(conn, RXP_CONN_BIND);
	if (ret)
		return ret;
	s->conns[conn->index] = conn;
	s->nr_bound++;
	s->last_seen = jiffies;
	rxs_conn(conn)->session = s;
	conn->stats = &s->stats;
	conn->data_max = s->data_max;
	return 0;
}

/* Bind a connection other than 0 that has said HELLO.  Process context. */
static int rxs_conn_join(struct rdmafs_xprt_server *server, struct rxp_conn *conn)
{
	const struct rxp_wire_hello *hello = &rxs_conn(conn)->hello;
	struct rdmafs_xprt_session *s = rxs_session_find(server, &conn->cm);
	int ret = -ESTALE;

	if (!s)
		return ret;
	if (memcmp(hello->session, s->id, sizeof(s->id)) ||
	    memcmp(hello->client, s->client, sizeof(s->client)) ||
	    le64_to_cpu(hello->boot) != server->boot)
		goto out_put;
	ret = rxp_conn_map_tx(conn, &s->tx_ring);
	if (ret)
		goto out_put;
	spin_lock_bh(&s->lock);
	ret = rxs_join_fits(s, &conn->cm) ? rxs_conn_take_place(conn, s) : -ESTALE;
	spin_unlock_bh(&s->lock);
	if (!ret)
		return 0;
	/* Unmap the session's buffers now: the session may be freed before the connection. */
	rxp_conn_unmap_tx(conn);
out_put:
	rxs_session_put(s);
	return ret;
}

/* ---------------------------------------------------------------- connection 0 */

/* Is it the session that the HELLO names, and can it go on with this connection? */
static bool rxs_session_matches(const struct rdmafs_xprt_session *s, const struct rxp_conn *conn)
{
	const struct rxp_wire_hello *hello = &rxs_conn(conn)->hello;

	lockdep_assert_held(&s->lock);
	return s->state == RXS_SESSION_OPEN && !memcmp(s->id, hello->session, sizeof(s->id)) &&
	       le64_to_cpu(hello->boot) == s->server->boot && s->nr_slots == conn->slots &&
	       s->data_max <= conn->data_max;
}

/* Let a connection wait for its place in the session; it takes a reference, and will be woken. */
static void rxs_session_set_next(struct rdmafs_xprt_session *s, struct rxp_conn *conn)
{
	struct rxp_conn *old;

	lockdep_assert_held(&s->lock);
	old = s->next;
	s->next = conn;
	rxs_conn(conn)->next_of = s;
	rxs_session_get(s);
	if (old)
		rxp_conn_lost(old);
}

/*
 * Let a connection become the next of the session that its HELLO names; false if there is none.
 * Any other session of the client is closed.  The client will send requests again in the next
 * session that a closed one still executes, and these must not be executed twice: so while there
 * is a closed one @ret is -EBUSY, and the client has to wait.
 */
static bool rxs_session_resume(struct rdmafs_xprt_server *server, struct rxp_conn *conn, int *ret)
{
	const struct rxs_conn *sc = rxs_conn(conn);
	struct rdmafs_xprt_session *s;
	bool found = false;

	lockdep_assert_held(&server->lock);
	*ret = 0;
	list_for_each_entry(s, &server->sessions, link) {
		if (memcmp(s->client, sc->hello.client, sizeof(s->client)))
			continue;
		if (s->newest > sc->serial) {
			*ret = -ESTALE;
			return true;
		}
		s->newest = sc->serial;
		spin_lock(&s->lock);
		if (rxs_session_matches(s, conn)) {
			rxs_session_set_next(s, conn);
			found = true;
		} else {
			rxs_session_close_locked(s);
			if (!found)
				*ret = -EBUSY;
		}
		spin_unlock(&s->lock);
	}
	if (found)
		*ret = 0;
	return found || *ret;
}

/* Become the next connection 0 of a session, old or new. */
static int rxs_conn_become_next(struct rdmafs_xprt_server *server, struct rxp_conn *conn)
{
	struct rdmafs_xprt_session *s = NULL;
	int ret;

	spin_lock_bh(&server->lock);
	while (!rxs_session_resume(server, conn, &ret)) {
		if (server->stopping) {
			ret = -EBUSY;
			break;
		}
		if (s) {
			ret = rxs_admit_session(server, s);
			if (ret)
				break;
			rxs_session_enlist(s);
			spin_lock(&s->lock);
			rxs_session_set_next(s, conn);
			spin_unlock(&s->lock);
			s = NULL;
			break;
		}
		spin_unlock_bh(&server->lock);
		s = rxs_session_alloc(server, conn);
		if (!s)
			return -EBUSY;
		spin_lock_bh(&server->lock);
	}
	spin_unlock_bh(&server->lock);
	/* Not started: another connection was quicker, or there is no room for a session. */
	rxs_session_free(s);
	return ret;
}

/*
 * Whether connection 0 may take its place.  -EAGAIN: not yet, its worker will be woken.  Loses the
 * session's old connections if there are any; the last of them wakes the worker when it is drained
 * and unbound.
 */
static int rxs_conn_try_place(struct rdmafs_xprt_session *s, struct rxp_conn *conn)
{
	lockdep_assert_held(&s->lock);
	if (s->next != conn || rxp_conn_is_lost(conn))
		return -ESTALE;
	if (rxs_session_closes(s))
		return -EBUSY;
	if (s->state == RXS_SESSION_MAKING)
		return -EAGAIN;
	if (!s->nr_bound)
		return 0;
	rxs_session_lose_conns(s);
	return -EAGAIN;
}

/*
 * Let connection 0 begin an incarnation of a session, once all connections of the former one are
 * drained.  Process context.
 */
static int rxs_conn_begin(struct rdmafs_xprt_session *s, struct rxp_conn *conn)
{
	int ret;

	spin_lock_bh(&s->lock);
	ret = rxs_conn_try_place(s, conn);
	spin_unlock_bh(&s->lock);
	if (!ret && !conn->tx_ring)
		ret = rxp_conn_map_tx(conn, &s->tx_ring);
	if (ret)
		return ret;
	spin_lock_bh(&s->lock);
	/* Only @next can take the place, so the place is still free; but @next may have changed. */
	ret = rxs_conn_try_place(s, conn);
	if (!ret)
		ret = rxs_conn_take_place(conn, s);
	if (!ret) {
		s->next = NULL;
		rxs_conn(conn)->next_of = NULL;	/* the place takes over its reference */
		/* 0 means none and 1 the first, so the number wraps to 2. */
		s->incarnation = s->incarnation + 1 ?: 2;
		s->nr_conns = conn->count;
		/* In the same step: once the place is taken, grants may be made from the pool. */
		rxs_pool_bind(conn->pool, s);
	}
	spin_unlock_bh(&s->lock);
	if (ret)
		return ret;
	rdmafs_test_point("conn_placed", conn->index);
	/* The session keeps its quota, or what can be had of it, over all of its pools. */
	mutex_lock(&s->member.lock);
	rxp_member_give_quota(&s->member, conn->pool, false);
	mutex_unlock(&s->member.lock);
	return 0;
}

/* Send a WELCOME.  The connection's worker calls this, so its session does not change. */
static int rxs_welcome_send(struct rdmafs_xprt_server *server, struct rxp_conn *conn, u32 status)
{
	struct rdmafs_xprt_session *s = rxs_conn(conn)->session;
	struct rxp_wire_welcome welcome = {
		.boot = cpu_to_le64(server->boot),
		.lease_ms = cpu_to_le32(RXP_LEASE_MS),
		.status = cpu_to_le32(status),
	};

	if (s) {
		memcpy(welcome.session, s->id, sizeof(welcome.session));
		spin_lock_bh(&s->lock);
		welcome.incarnation = cpu_to_le32(s->incarnation);
		spin_unlock_bh(&s->lock);
	}
	return rxp_ctl_send(conn, RXP_NOTIFY, RXP_NOTIFY_WELCOME, &welcome, sizeof(welcome));
}

/* Send the WELCOME of a connection that has its place; then the EVENT that had to wait for it. */
static int rxs_conn_welcome(struct rdmafs_xprt_server *server, struct rxp_conn *conn, u32 status)
{
	int ret = rxs_welcome_send(server, conn, status);

	if (!ret) {
		WRITE_ONCE(rxs_conn(conn)->welcomed, true);
		rxs_session_event_again(rxs_conn(conn)->session);
	}
	return ret;
}

/**
 * rxs_conn_unset_next - end a connection's wait for a place, if it waits
 * @conn: the connection; nothing of the session was ever sent on it, or it is drained
 *
 * Context: process, the connection's worker; takes the session's lock.
 */
void rxs_conn_unset_next(struct rxp_conn *conn)
{
	struct rxs_conn *sc = rxs_conn(conn);
	struct rdmafs_xprt_session *s = sc->next_of;

	if (!s)
		return;
	spin_lock_bh(&s->lock);
	if (s->next == conn)
		s->next = NULL;
	spin_unlock_bh(&s->lock);
	sc->next_of = NULL;
	/* Unmap the session's buffers now: the session may be freed before the connection. */
	rxp_conn_unmap_tx(conn);
	rxs_session_put(s);
}

/**
 * rxs_conn_bind - bind a connection that has said HELLO to its session, and answer
 * @server: the server
 * @conn:   the connection
 *
 * This does not wait for other connections or workers.  If the session is not ready, it is called
 * again when the connection's worker is woken.
 *
 * Context: process, the connection's worker; may sleep for memory.
 * Return: 0, also if the client was told to come again or has to wait; else a negative errno, and
 * the caller closes the connection.
 */
int rxs_conn_bind(struct rdmafs_xprt_server *server, struct rxp_conn *conn)
{
	struct rxs_conn *sc = rxs_conn(conn);
	u32 status;
	int ret;

	if (conn->index) {
		ret = rxs_conn_join(server, conn);
		if (ret)
			return ret;
		rxs_unbound_uncount(server, conn);
		return rxs_conn_welcome(server, conn, RXP_WELCOME_BOUND);
	}
	ret = sc->next_of ? 0 : rxs_conn_become_next(server, conn);
	if (!ret)
		ret = rxs_conn_begin(sc->next_of, conn);
	if (ret == -EAGAIN)
		return 0;
	if (!ret) {
		rxs_unbound_uncount(server, conn);
		status = sc->session->incarnation == 1 ? RXP_WELCOME_NEW : RXP_WELCOME_BOUND;
		return rxs_conn_welcome(server, conn, status);
	}
	rxs_conn_unset_next(conn);
	if (ret != -EBUSY && ret != -EUSERS)
		return ret;
	/* -EUSERS: the client has as many sessions as it may; -EBUSY: it tries again. */
	status = ret == -EUSERS ? RXP_WELCOME_LIMIT : RXP_WELCOME_REFUSED;
	ret = rxp_conn_move(conn, RXP_CONN_REFUSE);
	return ret ?: rxs_welcome_send(server, conn, status);
}
