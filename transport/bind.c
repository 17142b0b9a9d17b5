// SPDX-License-Identifier: GPL-2.0
/*
 * Connections and sessions on the server: what a HELLO does.
 *
 * A client's connection 0 is accepted before it is known whose it is; its HELLO
 * binds it to a session, old or new.  If the old session still has connections,
 * they are drained first: no request then waits for data that could come twice,
 * and no reply is on its way (design, section 6).
 *
 * Nobody waits for that.  The connection becomes its session's *next*, and
 * whoever brings about what it needs, that is the last of the old ones when it has
 * left, or the worker that makes a new session, wakes its worker.  There is one
 * next: of a client that asks several times the newest wins, as its connections
 * were asked for one after the other.  One that asks late, when a newer is the
 * session's, or waits to be, is turned away and changes nothing.
 *
 * The other connections name the session that they join, which shows that they are
 * the same client's, when they ask to be accepted: their queue pairs are made in
 * its protection domain.  They also name the incarnation, so that one which comes
 * late, when connection 0 is another, is turned away.
 */
#include <linux/slab.h>
#include "transport/points.h"
#include "transport/server.h"

/* ----------------------------------------------------------------------- joining */

/*
 * May a connection come in this place of the session?  Asked when it wants to be
 * accepted, and again when it is bound: much may have happened in between.
 */
static bool rxp_join_fits(const struct rdmafs_xprt_session *s, const struct rxp_wire_cm *cm)
{
	lockdep_assert_held(&s->lock);
	return s->conns[0] && !rxp_session_closes(s) &&
	       le32_to_cpu(cm->incarnation) == s->incarnation && cm->count == s->nr_conns &&
	       !s->conns[cm->index] && le16_to_cpu(cm->slots) == s->nr_slots &&
	       le32_to_cpu(cm->data_max) >= s->data_max;
}

/* The session that a connection joins; a reference, or NULL. */
static struct rdmafs_xprt_session *rxp_session_joined(struct rdmafs_xprt_server *server,
						      const struct rxp_wire_cm *cm)
{
	struct rdmafs_xprt_session *s, *found = NULL;

	spin_lock_bh(&server->lock);
	list_for_each_entry(s, &server->sessions, link) {
		if (memcmp(s->id, cm->session, sizeof(s->id)))
			continue;
		rxp_session_get(s);
		found = s;
		break;
	}
	spin_unlock_bh(&server->lock);
	return found;
}

/**
 * rxp_join_pool - the pool of the session that a connection wants to join
 * @server: the server
 * @conn:   the connection, its request checked
 *
 * Process context.
 *
 * Return: a reference, or an ERR_PTR: it may not join.
 */
struct rxp_pool *rxp_join_pool(struct rdmafs_xprt_server *server, struct rxp_conn *conn)
{
	struct rdmafs_xprt_session *s = rxp_session_joined(server, &conn->cm);
	struct rxp_pool *pool = NULL;

	if (!s)
		return ERR_PTR(-ESTALE);
	spin_lock_bh(&s->lock);
	if (rxp_join_fits(s, &conn->cm) && s->conns[0]->pool->rdev->ib == conn->id->device) {
		pool = s->conns[0]->pool;
		rxp_pool_get(pool);
	}
	spin_unlock_bh(&s->lock);
	rxp_session_put(s);
	return pool ?: ERR_PTR(-ESTALE);
}

/* Under the session's lock: the place is free; a reference on the session goes with it. */
static int rxp_conn_take_place(struct rxp_conn *conn, struct rdmafs_xprt_session *s)
{
	int ret;

	lockdep_assert_held(&s->lock);
	ret = rxp_conn_move(conn, RXP_CONN_BIND);
	if (ret)
		return ret;
	s->conns[conn->index] = conn;
	s->nr_bound++;
	s->last_seen = jiffies;
	conn->session = s;
	conn->stats = &s->stats;
	conn->data_max = s->data_max;
	return 0;
}

/* A connection that joins its session has said HELLO.  Process context. */
static int rxp_conn_join(struct rdmafs_xprt_server *server, struct rxp_conn *conn)
{
	const struct rxp_wire_hello *hello = &conn->hello;
	struct rdmafs_xprt_session *s = rxp_session_joined(server, &conn->cm);
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
	ret = rxp_join_fits(s, &conn->cm) ? rxp_conn_take_place(conn, s) : -ESTALE;
	spin_unlock_bh(&s->lock);
	if (!ret)
		return 0;
	/* The buffers are the session's, which may go before the connection does. */
	rxp_conn_unmap_tx(conn);
out_put:
	rxp_session_put(s);
	return ret;
}

/* ---------------------------------------------------------------- connection 0 */

/* Can the session go on with this connection? */
static bool rxp_session_matches(const struct rdmafs_xprt_session *s, const struct rxp_conn *conn)
{
	const struct rxp_wire_hello *hello = &conn->hello;

	lockdep_assert_held(&s->lock);
	return s->state == RXP_SESSION_OPEN && !memcmp(s->id, hello->session, sizeof(s->id)) &&
	       le64_to_cpu(hello->boot) == s->server->boot && s->nr_slots == conn->slots &&
	       s->data_max <= conn->data_max;
}

/* It waits for its place there from now on, and is woken; a reference goes with it. */
static void rxp_session_set_next(struct rdmafs_xprt_session *s, struct rxp_conn *conn)
{
	struct rxp_conn *old;

	lockdep_assert_held(&s->lock);
	old = s->next;
	s->next = conn;
	conn->asks = s;
	rxp_session_get(s);
	if (old)
		rxp_conn_lost(old);
}

/*
 * Find the session that the HELLO names, and become its next; false if there is
 * none.  Another session of that client is over.  But what it still executes is sent
 * again in the next one, and must not be done once more after that: -EBUSY has the
 * client wait.
 */
static bool rxp_session_found(struct rdmafs_xprt_server *server, struct rxp_conn *conn, int *ret)
{
	struct rdmafs_xprt_session *s;
	bool found = false;

	lockdep_assert_held(&server->lock);
	*ret = 0;
	list_for_each_entry(s, &server->sessions, link) {
		if (memcmp(s->client, conn->hello.client, sizeof(s->client)))
			continue;
		if (s->newest > conn->serial) {
			*ret = -ESTALE;
			return true;
		}
		s->newest = conn->serial;
		spin_lock(&s->lock);
		if (rxp_session_matches(s, conn)) {
			rxp_session_set_next(s, conn);
			found = true;
		} else {
			rxp_session_close_locked(s);
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
static int rxp_conn_ask(struct rdmafs_xprt_server *server, struct rxp_conn *conn)
{
	struct rdmafs_xprt_session *s = NULL;
	int ret;

	spin_lock_bh(&server->lock);
	while (!rxp_session_found(server, conn, &ret)) {
		if (server->stopping) {
			ret = -EBUSY;
			break;
		}
		if (s) {
			ret = rxp_admit_session(server, s);
			if (ret)
				break;
			rxp_session_start(s);
			spin_lock(&s->lock);
			rxp_session_set_next(s, conn);
			spin_unlock(&s->lock);
			s = NULL;
			break;
		}
		spin_unlock_bh(&server->lock);
		s = rxp_session_alloc(server, conn);
		if (!s)
			return -EBUSY;
		spin_lock_bh(&server->lock);
	}
	spin_unlock_bh(&server->lock);
	/* Somebody else has been quicker. */
	rxp_session_free(s);
	return ret;
}

/* Under the session's lock: 0: its turn; -EAGAIN: it is woken when it may be. */
static int rxp_conn_turn(struct rdmafs_xprt_session *s, struct rxp_conn *conn)
{
	lockdep_assert_held(&s->lock);
	if (s->next != conn || rxp_conn_is_lost(conn))
		return -ESTALE;
	if (rxp_session_closes(s))
		return -EBUSY;
	if (s->state == RXP_SESSION_MAKING)
		return -EAGAIN;
	if (!s->nr_bound)
		return 0;
	/* The last of them wakes us when it has been drained. */
	rxp_session_lose(s);
	return -EAGAIN;
}

/*
 * The administrator's quota, for the pool that the session has now.  While it had none
 * somebody else may have been promised its minimum: he is told so, and all but that stays.
 */
static void rxp_session_take_quota(struct rdmafs_xprt_session *s, struct rxp_pool *pool)
{
	struct rpol_quota quota;

	/* Who has just written one for the pool before has said so in s->quota. */
	mutex_lock(&s->quota_change);
	quota = s->quota;
	if (rpol_member_set_quota(pool->member, &quota)) {
		pr_warn("rdmafs: %s: its minimum of %llu entries can't be kept any more\n",
			s->name, quota.min);
		quota.min = 0;
		rpol_member_set_quota(pool->member, &quota);
		spin_lock_bh(&s->lock);
		s->quota = quota;
		spin_unlock_bh(&s->lock);
	}
	mutex_unlock(&s->quota_change);
}

/*
 * Connection 0 begins an incarnation of a session: all that is left of the one
 * before goes first, with what is on its way.  Process context.
 */
static int rxp_conn_begin(struct rdmafs_xprt_session *s, struct rxp_conn *conn)
{
	int ret;

	spin_lock_bh(&s->lock);
	ret = rxp_conn_turn(s, conn);
	spin_unlock_bh(&s->lock);
	if (!ret && !conn->tx_ring)
		ret = rxp_conn_map_tx(conn, &s->tx_ring);
	if (ret)
		return ret;
	spin_lock_bh(&s->lock);
	/* Nobody but the next takes a place where there is none: only that may have changed. */
	ret = rxp_conn_turn(s, conn);
	if (!ret)
		ret = rxp_conn_take_place(conn, s);
	if (!ret) {
		s->next = NULL;
		conn->asks = NULL;	/* its reference is the place's */
		/* 0 is no incarnation and 1 the first, also after all of them. */
		s->incarnation = s->incarnation + 1 ?: 2;
		s->nr_conns = conn->count;
		/* In the same step: who finds the place taken may lend of what the pool has. */
		rxp_pool_bind(conn->pool, s);
	}
	spin_unlock_bh(&s->lock);
	if (ret)
		return ret;
	rdmafs_test_point("conn_placed", conn->index);
	rxp_session_take_quota(s, conn->pool);
	return 0;
}

/* By the connection's worker, which is the one to take its session away. */
static int rxp_welcome(struct rdmafs_xprt_server *server, struct rxp_conn *conn, u32 status)
{
	struct rdmafs_xprt_session *s = conn->session;
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

/**
 * rxp_conn_unask - a connection does not wait for a place any more
 * @conn: the connection; nothing of a session was ever sent on it, or it is drained
 *
 * Process context, the connection's worker.
 */
void rxp_conn_unask(struct rxp_conn *conn)
{
	struct rdmafs_xprt_session *s = conn->asks;

	if (!s)
		return;
	spin_lock_bh(&s->lock);
	if (s->next == conn)
		s->next = NULL;
	spin_unlock_bh(&s->lock);
	conn->asks = NULL;
	/* The buffers are the session's, which may go before the connection does. */
	rxp_conn_unmap_tx(conn);
	rxp_session_put(s);
}

/**
 * rxp_conn_bind - a connection has said HELLO: bind it to its session, and answer
 * @server: the server
 * @conn:   the connection
 *
 * Process context, the connection's worker.  Waits for nobody: it is called again
 * when there is something to go on with.
 *
 * Return: 0, also if the client was told to come again or has to wait; else the
 * connection is of no use.
 */
int rxp_conn_bind(struct rdmafs_xprt_server *server, struct rxp_conn *conn)
{
	u32 status;
	int ret;

	if (conn->index) {
		ret = rxp_conn_join(server, conn);
		if (ret)
			return ret;
		rxp_conn_settled(server, conn);
		return rxp_welcome(server, conn, RXP_WELCOME_BOUND);
	}
	ret = conn->asks ? 0 : rxp_conn_ask(server, conn);
	if (!ret)
		ret = rxp_conn_begin(conn->asks, conn);
	if (ret == -EAGAIN)
		return 0;
	if (!ret) {
		rxp_conn_settled(server, conn);
		status = conn->session->incarnation == 1 ? RXP_WELCOME_NEW : RXP_WELCOME_BOUND;
		return rxp_welcome(server, conn, status);
	}
	rxp_conn_unask(conn);
	if (ret != -EBUSY && ret != -EUSERS)
		return ret;
	/* In the former case it tries again. */
	status = ret == -EUSERS ? RXP_WELCOME_LIMIT : RXP_WELCOME_REFUSED;
	ret = rxp_conn_move(conn, RXP_CONN_REFUSE);
	return ret ?: rxp_welcome(server, conn, status);
}
