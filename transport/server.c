// SPDX-License-Identifier: GPL-2.0
/*
 * A server's port: listening, accepting, and the end of both.  What binds a
 * connection to its session is in session.c.
 *
 * Each connection has one work item, which kills and destroys it.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include "transport/server.h"

/* How often leases are looked at. */
#define RXP_LEASE_TICK		(5 * HZ)

/* Unbound or bound, so many at most: a peer must not exhaust the host by connecting. */
#define RXP_CONNS_MAX		4096

static void rxp_server_lost(struct rxp_conn *conn)
{
	queue_work(rxp_wq, &conn->work);
}

static const struct rxp_conn_ops rxp_server_conn_ops = {
	.recv = rxp_server_recv,
	.lost = rxp_server_lost,
};

/* ----------------------------------------------------------------- connections */

static void rxp_hello_work(struct work_struct *work)
{
	struct rxp_conn *conn = container_of(work, struct rxp_conn, hello_work);

	if (rxp_conn_bind(conn->owner, conn))
		rxp_conn_lost(conn);
	rxp_conn_put(conn);
}

/* The connection is lost: take it out of everything, drain it, free it. */
static void rxp_server_conn_work(struct work_struct *work)
{
	struct rxp_conn *conn = container_of(work, struct rxp_conn, work);
	struct rdmafs_xprt_server *server = conn->owner;
	struct rdmafs_xprt_session *s;

	rxp_conn_kill(conn);
	/* Who stands in line for translations for this connection needs none any more. */
	if (conn->pool)
		rxp_pool_close(conn->pool);
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
	cm.recv_size = cpu_to_le32(conn->recv_size);
	rxp_send_limit(conn);
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
	rxp_stats_wait(&server->stats);
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
