// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions on the server: made, bound to connections, closed.
 *
 * A client's connection 0 is accepted before it is known whose it is; its HELLO
 * binds it to a session, old or new.  If the old session still has connections,
 * they are drained first: no request then waits for data that could come twice,
 * and no reply is on its way (design, section 6).
 *
 * The others name the session that they join, which shows that they are the same
 * client's, when they ask to be accepted: their queue pairs are made in its
 * protection domain.  They also name the incarnation, so that one which comes
 * late, when connection 0 is another, is turned away.
 *
 * Each session has one work item, which closes it: asked for by a BYE, by the
 * lease, or by the end of the server.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "transport/server.h"

/* Numbers the sessions of all ports: their directories in /proc stand side by side. */
static atomic_t rxp_session_count = ATOMIC_INIT(0);

/**
 * rxp_session_get - take a reference
 * @session: the session
 */
void rxp_session_get(struct rdmafs_xprt_session *session)
{
	kref_get(&session->ref);
}

static void rxp_session_release(struct kref *ref)
{
	struct rdmafs_xprt_session *s = container_of(ref, struct rdmafs_xprt_session, ref);
	struct rdmafs_xprt_server *server = s->server;

	kfree(s->slots);
	rxp_ring_destroy(&s->tx_ring);
	rxp_stats_destroy(&s->stats);
	kfree(s);

	spin_lock_bh(&server->lock);
	server->nr_sessions--;
	wake_up_all(&server->empty);
	spin_unlock_bh(&server->lock);
}

/**
 * rxp_session_put - drop a reference
 * @session: the session
 */
void rxp_session_put(struct rdmafs_xprt_session *session)
{
	kref_put(&session->ref, rxp_session_release);
}

/**
 * rxp_session_close - begin to end a session
 * @session: the session
 *
 * Any context but hard interrupt; a worker does it.
 */
void rxp_session_close(struct rdmafs_xprt_session *session)
{
	if (!test_and_set_bit(0, &session->closing)) {
		rxp_session_get(session);
		queue_work(rxp_wq, &session->close);
	}
}

static bool rxp_session_idle(struct rdmafs_xprt_session *s)
{
	bool idle;

	spin_lock_bh(&s->lock);
	idle = !s->nr_bound && !s->requests;
	spin_unlock_bh(&s->lock);
	return idle;
}

/**
 * rxp_session_lose - all connections of a session are of no more use
 * @session: the session, its lock held
 */
void rxp_session_lose(struct rdmafs_xprt_session *session)
{
	u32 i;

	lockdep_assert_held(&session->lock);
	for (i = 0; i < session->nr_conns; i++)
		if (session->conns[i])
			rxp_conn_lost(session->conns[i]);
}

static void rxp_session_close_work(struct work_struct *work)
{
	struct rdmafs_xprt_session *s = container_of(work, struct rdmafs_xprt_session, close);
	struct rdmafs_xprt_server *server = s->server;

	spin_lock_bh(&s->lock);
	rxp_session_lose(s);
	spin_unlock_bh(&s->lock);
	wait_event(s->idle, rxp_session_idle(s));

	rxp_proc_remove(&s->proc);
	server->service->session_close(s, server->ctx);
	spin_lock_bh(&server->lock);
	list_del(&s->link);
	spin_unlock_bh(&server->lock);
	rxp_session_put(s);	/* the list's */
	rxp_session_put(s);	/* this work's */
}

static struct rxp_pool *rxp_session_proc_pool(void *owner)
{
	struct rdmafs_xprt_session *s = owner;
	struct rxp_pool *pool = NULL;

	spin_lock_bh(&s->lock);
	if (s->conns[0]) {
		pool = s->conns[0]->pool;
		rxp_pool_get(pool);
	}
	spin_unlock_bh(&s->lock);
	return pool;
}

static void rxp_session_show_mount(struct seq_file *m, void *owner)
{
	struct rdmafs_xprt_session *s = owner;

	seq_printf(m, "client %s port %u\n", s->name, s->server->port);
}

static void rxp_session_show_window(struct seq_file *m, void *owner)
{
	struct rdmafs_xprt_session *s = owner;

	spin_lock_bh(&s->lock);
	seq_printf(m, "client %s\nstate %s\nconnections %u\n", s->name,
		   s->nr_bound ? "up" : "down", s->nr_bound);
	seq_printf(m, "slots %u\nexecuting %u\ndata_max %u\n", s->nr_slots, s->requests,
		   s->data_max);
	spin_unlock_bh(&s->lock);
}

static int rxp_session_set_quota(void *owner, const struct rpol_quota *quota)
{
	struct rdmafs_xprt_session *s = owner;
	struct rxp_pool *pool;
	int ret = -ENOTCONN;

	mutex_lock(&s->quota_change);
	pool = rxp_session_proc_pool(s);
	if (pool) {
		ret = rpol_member_set_quota(pool->member, quota);
		rxp_pool_put(pool);
	}
	if (!ret) {
		spin_lock_bh(&s->lock);
		s->quota = *quota;
		spin_unlock_bh(&s->lock);
	}
	mutex_unlock(&s->quota_change);
	return ret;
}

static void rxp_session_get_quota(void *owner, struct rpol_quota *quota)
{
	struct rdmafs_xprt_session *s = owner;

	spin_lock_bh(&s->lock);
	*quota = s->quota;
	spin_unlock_bh(&s->lock);
}

static void rxp_session_proc_abort(void *owner)
{
	rxp_session_close(owner);
}

/* In the list of sessions; the caller gets a reference of its own. */
static struct rdmafs_xprt_session *rxp_session_new(struct rdmafs_xprt_server *server,
						   struct rxp_conn *conn)
{
	struct rdmafs_xprt_session *s;
	char dir[32];
	int ret;

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return ERR_PTR(-ENOMEM);
	kref_init(&s->ref);
	s->server = server;
	spin_lock_init(&s->lock);
	mutex_init(&s->quota_change);
	init_waitqueue_head(&s->idle);
	INIT_WORK(&s->close, rxp_session_close_work);
	INIT_LIST_HEAD(&s->link);
	INIT_LIST_HEAD(&s->grants);
	get_random_bytes(s->id, sizeof(s->id));
	memcpy(s->client, conn->hello.client, sizeof(s->client));
	snprintf(s->name, sizeof(s->name), "%pISpc", &conn->id->route.addr.dst_addr);
	s->nr_conns = conn->count;
	s->nr_slots = conn->slots;
	s->data_max = conn->data_max;
	s->last_seen = jiffies;
	rpol_member_get_quota(conn->pool->member, &s->quota);
	spin_lock_bh(&server->lock);
	server->nr_sessions++;
	spin_unlock_bh(&server->lock);

	ret = rxp_stats_init(&s->stats);
	if (!ret)
		ret = rxp_ring_init(&s->tx_ring, s->nr_slots, RXP_SLOT_BUF);
	s->slots = kcalloc(s->nr_slots, sizeof(*s->slots), GFP_KERNEL);
	if (!s->slots)
		ret = -ENOMEM;
	if (!ret)
		ret = server->service->session_open(s, server->ctx);
	if (ret) {
		rxp_session_put(s);
		return ERR_PTR(ret);
	}
	s->proc.net = server->net;
	s->proc.owner = s;
	s->proc.stats = &s->stats;
	s->proc.pool = rxp_session_proc_pool;
	s->proc.set_quota = rxp_session_set_quota;
	s->proc.get_quota = rxp_session_get_quota;
	s->proc.show_mount = rxp_session_show_mount;
	s->proc.show_window = rxp_session_show_window;
	s->proc.abort = rxp_session_proc_abort;
	snprintf(dir, sizeof(dir), "client-%u", atomic_inc_return(&rxp_session_count));
	rxp_proc_add(&s->proc, dir);	/* without it the session is only not to be seen */

	/* Once it is in the list it may be closed, which takes all this down again. */
	rxp_session_get(s);
	spin_lock_bh(&server->lock);
	list_add_tail(&s->link, &server->sessions);
	spin_unlock_bh(&server->lock);
	return s;
}

/*
 * Of the id and the boot that the client names; a reference, or NULL.
 *
 * Another session of that client is over.  But what it still executes is sent
 * again in the next one, and must not be done once more after that: *@busy
 * says that the next one has to wait.
 */
static struct rdmafs_xprt_session *rxp_session_find(struct rdmafs_xprt_server *server,
						    struct rxp_conn *conn, bool *busy)
{
	const struct rxp_wire_hello *hello = &conn->hello;
	struct rdmafs_xprt_session *s, *found = NULL;

	*busy = false;
	if (le64_to_cpu(hello->boot) != server->boot)
		return NULL;
	spin_lock_bh(&server->lock);
	list_for_each_entry(s, &server->sessions, link) {
		if (memcmp(s->client, hello->client, sizeof(s->client)))
			continue;
		if (memcmp(s->id, hello->session, sizeof(s->id)) ||
		    s->nr_slots != conn->slots || s->data_max > conn->data_max ||
		    test_bit(0, &s->closing)) {
			rxp_session_close(s);
			*busy = true;
			continue;
		}
		rxp_session_get(s);
		found = s;
		break;
	}
	spin_unlock_bh(&server->lock);
	return found;
}

static bool rxp_session_unbound(struct rdmafs_xprt_session *s)
{
	bool unbound;

	spin_lock_bh(&s->lock);
	unbound = !s->nr_bound;
	spin_unlock_bh(&s->lock);
	return unbound;
}

/*
 * May a connection come in this place of the session?  Asked when it wants to be
 * accepted, and again when it is bound: much may have happened in between.
 */
static bool rxp_join_fits(const struct rdmafs_xprt_session *s, const struct rxp_wire_cm *cm)
{
	lockdep_assert_held(&s->lock);
	return s->conns[0] && !test_bit(0, &s->closing) &&
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
 * Return: a reference, or -ESTALE as an ERR_PTR: it may not join.
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
static void rxp_conn_take_place(struct rxp_conn *conn, struct rdmafs_xprt_session *s)
{
	lockdep_assert_held(&s->lock);
	s->conns[conn->index] = conn;
	s->nr_bound++;
	s->last_seen = jiffies;
	conn->session = s;
	conn->stats = &s->stats;
	conn->data_max = s->data_max;
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
	if (rxp_join_fits(s, &conn->cm) && !test_bit(0, &conn->lost))
		rxp_conn_take_place(conn, s);
	else
		ret = -ESTALE;
	spin_unlock_bh(&s->lock);
	if (!ret)
		return 0;
	/* The buffers are the session's, which may go before the connection does. */
	rxp_conn_unmap_tx(conn);
out_put:
	rxp_session_put(s);
	return ret;
}

/*
 * Connection 0 begins an incarnation of a session: all that is left of the one
 * before goes first, with what is on its way.  Process context.
 */
static int rxp_conn_begin(struct rdmafs_xprt_session *s, struct rxp_conn *conn)
{
	int ret;

	for (;;) {
		spin_lock_bh(&s->lock);
		rxp_session_lose(s);
		spin_unlock_bh(&s->lock);
		if (!wait_event_timeout(s->idle, rxp_session_unbound(s), 30 * HZ))
			return -ETIMEDOUT;
		ret = conn->tx_ring ? 0 : rxp_conn_map_tx(conn, &s->tx_ring);
		if (ret)
			return ret;
		spin_lock_bh(&s->lock);
		if (test_bit(0, &s->closing) || test_bit(0, &conn->lost)) {
			spin_unlock_bh(&s->lock);
			return -ENOTCONN;
		}
		if (!s->nr_bound)
			break;
		spin_unlock_bh(&s->lock);
	}
	/* 0 is no incarnation, not even after all of them. */
	s->incarnation = s->incarnation + 1 ?: 1;
	s->nr_conns = conn->count;
	rxp_conn_take_place(conn, s);
	spin_unlock_bh(&s->lock);
	/* Who has just written one for the pool before has said so in s->quota. */
	mutex_lock(&s->quota_change);
	if (rpol_member_set_quota(conn->pool->member, &s->quota))
		pr_warn_ratelimited("rdmafs: %s: its minimum of %llu entries can't be kept any more\n",
				    s->name, s->quota.min);
	mutex_unlock(&s->quota_change);
	return 0;
}

/* Nobody takes the connection's session away before rxp_hello_work() is over. */
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
 * rxp_conn_bind - a connection's HELLO has come: bind it to its session, and answer
 * @server: the server
 * @conn:   the connection
 *
 * Process context; waits for connections that it replaces.
 *
 * Return: 0, also if the client was told to come again; else the connection is
 * of no use.
 */
int rxp_conn_bind(struct rdmafs_xprt_server *server, struct rxp_conn *conn)
{
	u32 status = RXP_WELCOME_BOUND;
	struct rdmafs_xprt_session *s;
	bool busy;
	int ret;

	if (conn->index) {
		ret = rxp_conn_join(server, conn);
		return ret ?: rxp_welcome(server, conn, status);
	}
	s = rxp_session_find(server, conn, &busy);
	if (!s) {
		s = busy ? ERR_PTR(-EBUSY) : rxp_session_new(server, conn);
		if (IS_ERR(s)) {
			/* It tries again. */
			rxp_welcome(server, conn, RXP_WELCOME_REFUSED);
			return 0;
		}
		status = RXP_WELCOME_NEW;
	}
	ret = rxp_conn_begin(s, conn);
	if (ret) {
		rxp_conn_unmap_tx(conn);
		rxp_session_put(s);
		return ret;
	}
	return rxp_welcome(server, conn, status);
}

/**
 * rdmafs_xprt_session_set_priv - leave a pointer with a session
 * @session: the session
 * @priv:    the service's own
 */
void rdmafs_xprt_session_set_priv(struct rdmafs_xprt_session *session, void *priv)
{
	session->priv = priv;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_session_set_priv);

/**
 * rdmafs_xprt_session_priv - the service's pointer
 * @session: the session
 *
 * Return: what rdmafs_xprt_session_set_priv() was given.
 */
void *rdmafs_xprt_session_priv(struct rdmafs_xprt_session *session)
{
	return session->priv;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_session_priv);

/**
 * rdmafs_xprt_session_name - who the client is, for the log
 * @session: the session
 *
 * Return: its address and port.
 */
const char *rdmafs_xprt_session_name(struct rdmafs_xprt_session *session)
{
	return session->name;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_session_name);
