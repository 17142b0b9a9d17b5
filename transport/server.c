// SPDX-License-Identifier: GPL-2.0
/*
 * A server's port: listening, accepting, binding connections to sessions, and
 * the end of both.
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
 * Each connection has one work item, which kills and destroys it.  Each
 * session has one, which closes it: asked for by a BYE, by the lease, or by
 * the end of the server.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include "transport/server.h"

/* How often leases are looked at. */
#define RXP_LEASE_TICK		(5 * HZ)

/* Unbound or bound, so many at most: a peer must not exhaust the host by connecting. */
#define RXP_CONNS_MAX		4096

/* Numbers the sessions of all ports: their directories in /proc stand side by side. */
static atomic_t rxp_session_count = ATOMIC_INIT(0);

static void rxp_server_lost(struct rxp_conn *conn)
{
	queue_work(rxp_wq, &conn->work);
}

static const struct rxp_conn_ops rxp_server_conn_ops = {
	.recv = rxp_server_recv,
	.lost = rxp_server_lost,
};

/* -------------------------------------------------------------------- sessions */

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

static void rxp_session_proc_abort(void *owner)
{
	rxp_session_close(owner);
}

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
	spin_lock_bh(&server->lock);
	list_add_tail(&s->link, &server->sessions);
	spin_unlock_bh(&server->lock);

	s->proc.net = server->net;
	s->proc.owner = s;
	s->proc.stats = &s->stats;
	s->proc.pool = rxp_session_proc_pool;
	s->proc.show_mount = rxp_session_show_mount;
	s->proc.show_window = rxp_session_show_window;
	s->proc.abort = rxp_session_proc_abort;
	snprintf(dir, sizeof(dir), "client-%u", atomic_inc_return(&rxp_session_count));
	rxp_proc_add(&s->proc, dir);	/* without it the session is only not to be seen */
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

/* The pool of the session that a connection wants to join, if it may; a reference. */
static struct rxp_pool *rxp_join_pool(struct rdmafs_xprt_server *server, struct rxp_conn *conn)
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

/* The connection's HELLO has come: bind it.  Process context. */
static int rxp_conn_bind(struct rdmafs_xprt_server *server, struct rxp_conn *conn)
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
		rxp_session_get(s);
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

static void rxp_hello_work(struct work_struct *work)
{
	struct rxp_conn *conn = container_of(work, struct rxp_conn, hello_work);

	if (rxp_conn_bind(conn->owner, conn))
		rxp_conn_lost(conn);
	rxp_conn_put(conn);
}

/* ----------------------------------------------------------------- connections */

/* The connection is lost: take it out of everything, drain it, free it. */
static void rxp_server_conn_work(struct work_struct *work)
{
	struct rxp_conn *conn = container_of(work, struct rxp_conn, work);
	struct rdmafs_xprt_server *server = conn->owner;
	struct rdmafs_xprt_session *s;

	rxp_conn_kill(conn);
	/*
	 * No message comes to queue it again.  Not flushed: it is of the same
	 * workqueue as this, whose rescuer may be all there is to run either.
	 */
	if (cancel_work_sync(&conn->hello_work))
		rxp_conn_put(conn);
	s = conn->session;
	if (s) {
		rxp_session_drop_waiting(s, conn);
		spin_lock_bh(&s->lock);
		s->conns[conn->index] = NULL;
		s->nr_bound--;
		s->last_seen = jiffies;
		/* The others go, too: so what waited for this one is sent again with all. */
		rxp_session_lose(s);
		wake_up_all(&s->idle);
		spin_unlock_bh(&s->lock);
		/* No more are made for this connection, now that it is nobody's. */
		rxp_grants_drop(s, conn);
	}
	rxp_conn_destroy(conn);
	conn->stats = &server->stats;
	if (s)
		rxp_session_put(s);
	spin_lock_bh(&server->lock);
	list_del(&conn->link);
	server->nr_conns--;
	wake_up_all(&server->empty);
	spin_unlock_bh(&server->lock);
	rxp_conn_put(conn);
}

/* The parameter may be written at any time, with anything. */
static u32 rxp_conns_allowed(void)
{
	return clamp_t(u32, READ_ONCE(rxp_conns_max), 1, RDMAFS_XPRT_CONNS_MAX);
}

static int rxp_server_reject(struct rdma_cm_id *id, u16 reason)
{
	struct rxp_wire_reject rej = {
		.magic = cpu_to_le32(RXP_WIRE_MAGIC),
		.version = cpu_to_le16(RXP_WIRE_VERSION),
		.reason = cpu_to_le16(reason),
	};

	if (reason == RXP_REJECT_COUNT)
		rej.limit = cpu_to_le32(rxp_conns_allowed());
	rdma_reject(id, &rej, sizeof(rej), IB_CM_REJ_CONSUMER_DEFINED);
	/* Nonzero has the CM destroy the identifier. */
	return -ECONNREFUSED;
}

/* A session's own, or that of the session which is joined; a reference, or an ERR_PTR. */
static struct rxp_pool *rxp_server_pool(struct rdmafs_xprt_server *server,
					struct rxp_conn *conn, struct rxp_device *rdev)
{
	static const struct rpol_quota quota = {
		.max = RPOL_NO_MAX,
		.weight = RPOL_WEIGHT_DEFAULT,
	};

	return conn->index ? rxp_join_pool(server, conn) :
			     rxp_pool_create(rdev, &quota, &server->stats);
}

static int rxp_server_accept(struct rdmafs_xprt_server *server, struct rxp_conn *conn)
{
	const struct rxp_wire_cm *req = &conn->cm;
	struct rxp_wire_cm cm = {
		.magic = cpu_to_le32(RXP_WIRE_MAGIC),
		.version = cpu_to_le16(RXP_WIRE_VERSION),
		.index = req->index,
		.count = req->count,
		.recv_size = cpu_to_le32(RXP_MSG_MAX),
		.reserve = cpu_to_le16(RXP_RECV_RESERVE),
		.slots = req->slots,
		.incarnation = req->incarnation,
	};
	struct rdma_conn_param param = {
		.private_data = &cm,
		.private_data_len = sizeof(cm),
		.rnr_retry_count = 6,
	};
	struct rxp_device *rdev = rxp_device_get(conn->id->device);
	struct rxp_pool *pool;
	int ret;

	if (!rdev)
		return -ENODEV;
	memcpy(cm.session, req->session, sizeof(cm.session));
	/* An unaligned sink is not needed: all entries hold data. */
	conn->data_max = min3(le32_to_cpu(req->data_max), RDMAFS_XPRT_DATA_MAX,
			      (u32)(rdev->max_entries * PAGE_SIZE));
	cm.data_max = cpu_to_le32(conn->data_max);
	pool = rxp_server_pool(server, conn, rdev);
	rxp_device_put(rdev);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	ret = rxp_conn_setup(conn, pool, le16_to_cpu(req->slots), IB_POLL_WORKQUEUE);
	rxp_pool_put(pool);
	if (ret)
		return ret;
	return rdma_accept(conn->id, &param);
}

static int rxp_server_connect_request(struct rdmafs_xprt_server *server, struct rdma_cm_id *id,
				      const struct rdma_cm_event *event)
{
	struct rxp_wire_cm req;
	struct rxp_conn *conn;
	bool full;
	int ret;

	ret = rxp_frame_check_cm(event->param.conn.private_data,
				 event->param.conn.private_data_len, U32_MAX, &req);
	if (ret) {
		pr_warn_ratelimited("rdmafs: refused %pISpc: %s\n", &id->route.addr.dst_addr,
				    ret == -EPROTONOSUPPORT ? "it speaks another version" :
				    "not a valid rdmafs connection request");
		return rxp_server_reject(id, ret == -EPROTONOSUPPORT ? RXP_REJECT_VERSION :
							   RXP_REJECT_PARAMS);
	}
	/* Those of a session that has them already are let in. */
	if (!req.index && req.count > rxp_conns_allowed())
		return rxp_server_reject(id, RXP_REJECT_COUNT);
	conn = rxp_conn_alloc(&rxp_server_conn_ops, server, &server->stats, req.index, req.count);
	if (!conn)
		return rxp_server_reject(id, RXP_REJECT_RESOURCES);
	conn->cm = req;
	INIT_WORK(&conn->work, rxp_server_conn_work);
	INIT_WORK(&conn->hello_work, rxp_hello_work);
	conn->id = id;
	set_bit(0, &conn->lost);

	spin_lock_bh(&server->lock);
	full = server->stopping || server->nr_conns >= RXP_CONNS_MAX;
	if (!full) {
		server->nr_conns++;
		list_add_tail(&conn->link, &server->conns);
	}
	spin_unlock_bh(&server->lock);
	if (full) {
		rxp_conn_put(conn);
		return rxp_server_reject(id, server->stopping ? RXP_REJECT_STOPPING :
							RXP_REJECT_RESOURCES);
	}

	id->context = conn;
	ret = rxp_server_accept(server, conn);
	if (!ret)
		goto out;
	pr_warn_ratelimited("rdmafs: can't accept %pISpc: %d\n", &id->route.addr.dst_addr, ret);
	rxp_server_reject(id, ret == -ESTALE ? RXP_REJECT_JOIN : RXP_REJECT_RESOURCES);
out:
	/* Only from here on may anybody else have the connection torn down. */
	clear_bit(0, &conn->lost);
	if (ret || (conn->rdev && READ_ONCE(conn->rdev->removed)))
		rxp_conn_lost(conn);
	return 0;
}

static int rxp_server_cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return rxp_server_connect_request(id->context, id, event);
	case RDMA_CM_EVENT_ESTABLISHED:
		return 0;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		/* A listening identifier has no queue pair; it stays for devices to come. */
		if (id->qp)
			rxp_conn_lost(id->context);
		return 0;
	default:
		return 0;
	}
}

/* ---------------------------------------------------------------------- leases */

static void rxp_lease_work(struct work_struct *work)
{
	struct rdmafs_xprt_server *server =
		container_of(work, struct rdmafs_xprt_server, lease.work);
	unsigned long lease = msecs_to_jiffies(RXP_LEASE_MS);
	struct rdmafs_xprt_session *s;
	struct rxp_conn *conn;

	spin_lock_bh(&server->lock);
	list_for_each_entry(conn, &server->conns, link)
		if (time_after(jiffies, (unsigned long)READ_ONCE(conn->last_rx) + lease))
			rxp_conn_lost(conn);
	list_for_each_entry(s, &server->sessions, link) {
		spin_lock(&s->lock);
		if (!s->nr_bound && time_after(jiffies, s->last_seen + lease))
			rxp_session_close(s);
		spin_unlock(&s->lock);
	}
	spin_unlock_bh(&server->lock);
	queue_delayed_work(rxp_wq, &server->recall, 0);
	queue_delayed_work(rxp_wq, &server->lease, RXP_LEASE_TICK);
}

static void rxp_recall_work(struct work_struct *work)
{
	struct rdmafs_xprt_server *server =
		container_of(work, struct rdmafs_xprt_server, recall.work);
	bool more;

	spin_lock_bh(&server->lock);
	more = rxp_grants_tick(server);
	spin_unlock_bh(&server->lock);
	if (more)
		queue_delayed_work(rxp_wq, &server->recall, HZ / 4);
}

/* ------------------------------------------------------------------- listening */

static int rxp_listen_one(struct rdmafs_xprt_server *server, int i, struct sockaddr *addr)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(server->net, rxp_server_cm_event, server, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	if (addr->sa_family == AF_INET6) {
		ret = rdma_set_afonly(id, 1);
		if (ret)
			goto out;
	}
	ret = rdma_bind_addr(id, addr);
	if (!ret)
		ret = rdma_listen(id, 128);
	if (ret)
		goto out;
	server->id[i] = id;
	return 0;
out:
	rdma_destroy_id(id);
	return ret;
}

static bool rxp_server_empty(struct rdmafs_xprt_server *server)
{
	bool empty;

	spin_lock_bh(&server->lock);
	empty = !server->nr_conns && !server->nr_sessions;
	spin_unlock_bh(&server->lock);
	return empty;
}

/**
 * rdmafs_xprt_unlisten - stop serving
 * @server: the server
 *
 * Process context.  Waits until every request in hand is over and every
 * session is closed.  Clients will try to come back.
 */
void rdmafs_xprt_unlisten(struct rdmafs_xprt_server *server)
{
	struct rdmafs_xprt_session *s;
	struct rxp_conn *conn;
	int i;

	spin_lock_bh(&server->lock);
	server->stopping = true;
	spin_unlock_bh(&server->lock);
	for (i = 0; i < ARRAY_SIZE(server->id); i++)
		if (server->id[i])
			rdma_destroy_id(server->id[i]);
	cancel_delayed_work_sync(&server->lease);
	disable_delayed_work_sync(&server->recall);

	do {
		spin_lock_bh(&server->lock);
		list_for_each_entry(conn, &server->conns, link)
			rxp_conn_lost(conn);
		list_for_each_entry(s, &server->sessions, link)
			rxp_session_close(s);
		spin_unlock_bh(&server->lock);
		/* Again and again: a HELLO may be making a session just now. */
	} while (!wait_event_timeout(server->empty, rxp_server_empty(server), HZ / 10));

	rxp_threads_stop(&server->threads);
	flush_workqueue(rxp_wq);
	rxp_stats_destroy(&server->stats);
	put_net(server->net);
	kfree(server);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_unlisten);

/**
 * rdmafs_xprt_listen - serve a port
 * @net:     network namespace
 * @port:    port, on all addresses, IPv4 and IPv6
 * @service: what serves the requests
 * @ctx:     for it
 *
 * Process context.
 *
 * Return: the server, or an ERR_PTR: -EADDRINUSE, -ENOMEM, or what the CM said.
 */
struct rdmafs_xprt_server *rdmafs_xprt_listen(struct net *net, u16 port,
					      const struct rdmafs_xprt_service *service,
					      void *ctx)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	struct sockaddr_in6 sin6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
	};
	struct rdmafs_xprt_server *server;
	int ret;

	server = kzalloc(sizeof(*server), GFP_KERNEL);
	if (!server)
		return ERR_PTR(-ENOMEM);
	ret = rxp_stats_init(&server->stats);
	if (ret) {
		kfree(server);
		return ERR_PTR(ret);
	}
	server->net = get_net(net);
	server->port = port;
	server->service = service;
	server->ctx = ctx;
	server->boot = get_random_u64() | 1;	/* 0 is "none" */
	spin_lock_init(&server->lock);
	INIT_LIST_HEAD(&server->sessions);
	INIT_LIST_HEAD(&server->conns);
	init_waitqueue_head(&server->empty);
	INIT_DELAYED_WORK(&server->lease, rxp_lease_work);
	INIT_DELAYED_WORK(&server->recall, rxp_recall_work);
	ret = rxp_threads_start(&server->threads);
	if (ret)
		goto out;
	queue_delayed_work(rxp_wq, &server->lease, RXP_LEASE_TICK);

	ret = rxp_listen_one(server, 0, (struct sockaddr *)&sin);
	if (!ret) {
		ret = rxp_listen_one(server, 1, (struct sockaddr *)&sin6);
		if (ret == -EAFNOSUPPORT)	/* a kernel without IPv6 */
			ret = 0;
	}
	if (!ret)
		return server;
out:
	rdmafs_xprt_unlisten(server);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_listen);

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
