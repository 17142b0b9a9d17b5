// SPDX-License-Identifier: GPL-2.0
/*
 * A server's port: listening, accepting, and the end of both.  bind.c binds a connection to its
 * session.
 *
 * Each connection has one work item, which accepts it, binds it and ends it, and so never does two
 * of these at once.  The callback of the connection manager only checks the request: making queues
 * and mapping their buffers takes milliseconds, for which all other requests would wait.
 *
 * On iWARP the connection manager may wait for the client's first message after the accept (MPA's
 * peer-to-peer mode, RFC 6581).  Until that comes, a task that ends the connection sleeps for as
 * long as the client likes, so no worker tries.  Such a connection is *pending*.  It is lost when
 * its time is over, as any other, but is ended only when the manager reports that it is
 * established or has failed.  Until then it counts for its client (limits.c).
 *
 * server->lock guards the lists of connections and sessions, and their counts.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include "transport/points.h"
#include "transport/server/server.h"
#include "transport/server/source.h"

/* How often leases are checked. */
#define RXS_LEASE_TICK		(5 * HZ)

/* How often connections are checked that are not bound to a session yet. */
#define RXS_UNBOUND_TICK	(HZ / 4)

/* A connection has a buffer for a message again: send the RECALLs and EVENT that found none. */
static void rxs_conn_room(struct rxp_conn *conn)
{
	struct rdmafs_xprt_session *s = READ_ONCE(rxs_conn(conn)->session);

	rxp_pool_reclaim(conn->pool);
	/* The connection keeps it until it is drained. */
	if (s)
		rxs_session_event_again(s);
}

static void rxs_conn_free(struct rxp_conn *conn)
{
	struct rxs_conn *sc = rxs_conn(conn);

	rxp_ring_destroy(&conn->rx_ring);
	if (sc->account) {
		rxs_account_uncharge(sc->account, sc->ring_charged, sc->large_charged);
		rxs_account_put(sc->account);
	}
	kfree(sc);
}

static const struct rxp_conn_ops rxs_conn_ops = {
	.recv = rxs_recv,
	.lost = rxs_conn_wake,
	.room = rxs_conn_room,
	.receives = rxs_receives,
	.free = rxs_conn_free,
};

/* ----------------------------------------------------------------- connections */

/* End a connection that is lost: drain it, unbind it, and free what it has. */
static void rxs_conn_end(struct rxp_conn *conn)
{
	struct rdmafs_xprt_server *server = conn->owner;
	struct rdmafs_xprt_session *s;

	rdmafs_test_point("conn_ends", conn->index);
	rxp_conn_kill(conn);
	s = rxs_conn(conn)->session;
	/*
	 * Requests that wait for translations of this pool need none any more.  But the pool of a
	 * connection that has not joined its session is in use by the session's others.
	 */
	if (conn->pool && (s || !conn->index))
		rxp_pool_close(conn->pool);
	rxs_conn_unset_next(conn);
	if (s) {
		rdmafs_test_point("conn_drained", conn->index);
		rxs_session_unbind(s, conn);
		/* No more grants are made for this connection, now that it is unbound. */
		rxs_grants_drop(s, conn);
		if (!conn->index)
			rxs_pool_bind(conn->pool, NULL);
	}
	rxp_conn_destroy(conn);
	conn->stats = &server->stats;
	if (s)
		rxs_session_put(s);
	rxs_unbound_uncount(server, conn);
	spin_lock_bh(&server->lock);
	list_del(&rxs_conn(conn)->link);
	server->nr_conns--;
	wake_up_all(&server->empty);
	spin_unlock_bh(&server->lock);
	rxp_conn_put(conn);
}

/* The parameter may be written at any time, with any value. */
static u32 rxs_conns_allowed(void)
{
	return clamp_t(u32, READ_ONCE(rxs_conns_max), 1, RDMAFS_XPRT_CONNS_MAX);
}

static int rxs_reject(struct rdma_cm_id *id, u16 reason, u32 limit)
{
	struct rxp_wire_reject rej = {
		.magic = cpu_to_le32(RXP_WIRE_MAGIC),
		.version = cpu_to_le16(RXP_WIRE_VERSION),
		.reason = cpu_to_le16(reason),
		.limit = cpu_to_le32(limit),
	};

	rdma_reject(id, &rej, sizeof(rej), IB_CM_REJ_CONSUMER_DEFINED);
	/* A nonzero value makes the CM destroy the identifier. */
	return -ECONNREFUSED;
}

/* Make a pool for connection 0, or get that of the session to be joined; a reference or ERR_PTR. */
static struct rxp_pool *rxs_conn_pool(struct rdmafs_xprt_server *server,
				      struct rxp_conn *conn, struct rxp_device *rdev)
{
	if (conn->index)
		return rxs_join_pool(server, conn);
	return rxs_pool_create(rdev, rxs_conn(conn)->account, &server->stats);
}

static int rxs_conn_accept(struct rdmafs_xprt_server *server, struct rxp_conn *conn)
{
	const struct rxp_wire_cm *req = &conn->cm;
	struct rxp_wire_cm cm = {
		.magic = cpu_to_le32(RXP_WIRE_MAGIC),
		.version = cpu_to_le16(RXP_WIRE_VERSION),
		.index = req->index,
		.count = req->count,
		.reserve = cpu_to_le16(RXP_RECV_RESERVE),
		.incarnation = req->incarnation,
	};
	struct rdma_conn_param param = {
		.private_data = &cm,
		.private_data_len = sizeof(cm),
		.rnr_retry_count = RXP_RETRY_COUNT,
	};
	struct rxp_device *rdev = rxp_device_get(conn->id->device);
	struct rxp_pool *pool;
	u32 slots;
	int ret;

	if (!rdev)
		return -ENODEV;
	memcpy(cm.session, req->session, sizeof(cm.session));
	/* A connection that joins a session asks for as many slots as that has. */
	slots = le16_to_cpu(req->slots);
	if (!conn->index)
		slots = min(slots, READ_ONCE(server->limits.slots));
	cm.slots = cpu_to_le16(slots);
	/* The server's sinks are aligned, so that all entries of an MR hold data. */
	conn->data_max = min3(le32_to_cpu(req->data_max), RDMAFS_XPRT_DATA_MAX,
			      (u32)(rdev->max_entries * PAGE_SIZE));
	cm.data_max = cpu_to_le32(conn->data_max);
	pool = rxs_conn_pool(server, conn, rdev);
	rxp_device_put(rdev);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	ret = rxp_conn_setup(conn, pool, slots, IB_POLL_WORKQUEUE);
	rxp_pool_put(pool);
	if (ret)
		return ret;
	cm.recv_size = cpu_to_le32(conn->recv_size);
	rxp_send_limit(conn);
	/* Before the accept: the client's HELLO may be handled before that returns. */
	ret = rxp_conn_move(conn, RXP_CONN_MADE);
	if (ret)
		return ret;
	rxp_conn_tune(conn);
	rdma_lock_handler(conn->id);
	/* Set first: the event that clears it may come once the handler's lock is released. */
	WRITE_ONCE(rxs_conn(conn)->cm_pending,
		   rdma_protocol_iwarp(conn->id->device, conn->id->port_num));
	/* A connection that is lost counts no more, and would again if it became pending. */
	ret = rxp_conn_is_lost(conn) ? -ENOTCONN : rdma_accept(conn->id, &param);
	if (ret)
		WRITE_ONCE(rxs_conn(conn)->cm_pending, false);
	rdma_unlock_handler(conn->id);
	rdmafs_test_point("conn_accepted", conn->index);
	return ret;
}

static void rxs_conn_accept_or_reject(struct rxp_conn *conn)
{
	int ret = rxs_conn_accept(conn->owner, conn);

	if (!ret || rxp_conn_is_lost(conn))
		return;		/* if it is lost the worker runs again to end it */
	pr_warn_ratelimited("rdmafs: can't accept %pISpc: %d\n", &conn->id->route.addr.dst_addr,
			    ret);
	rxs_reject(conn->id, ret == -ESTALE ? RXP_REJECT_JOIN : RXP_REJECT_RESOURCES,
		   0);
	rxp_conn_lost(conn);
}

static void rxs_conn_work(struct work_struct *work)
{
	struct rxp_conn *conn = &container_of(work, struct rxs_conn, work)->conn;

	/* In state HELLO the HELLO is there: pairs with smp_wmb() in rxs_control(). */
	switch (smp_load_acquire(&conn->state)) {
	case RXP_CONN_NEW:
		rxs_conn_accept_or_reject(conn);
		break;
	case RXP_CONN_HELLO:
		if (rxs_conn_bind(conn->owner, conn))
			rxp_conn_lost(conn);
		break;
	case RXP_CONN_LOST:
		/* If it is pending, the event that ends that wakes the worker again. */
		if (!READ_ONCE(rxs_conn(conn)->cm_pending))
			rxs_conn_end(conn);
		break;
	default:
		break;
	}
	rxp_conn_put(conn);
}

/* The connection manager no longer waits for the client: the connection can be ended. */
static void rxs_conn_cm_ended(struct rxp_conn *conn)
{
	struct rxs_conn *sc = rxs_conn(conn);

	if (!sc->cm_pending)
		return;
	WRITE_ONCE(sc->cm_pending, false);
	/* If it is lost from now on, the worker sees that it is not pending. */
	smp_mb();
	if (rxp_conn_is_lost(conn))
		rxs_conn_wake(conn);
}

static int rxs_conn_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rxp_conn *conn = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		rxs_conn_cm_ended(conn);
		return 0;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		rxs_conn_cm_ended(conn);
		rxp_conn_lost(conn);
		return 0;
	/* This does not come while a connection is pending: it keeps its device. */
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		rxp_conn_lost(conn);
		return 0;
	default:
		return 0;
	}
}

/* Find the client that a request for a connection counts for. */
static void rxs_id_source(const struct rdma_cm_id *id, struct rdmafs_xprt_source *source)
{
	const struct rdma_route *route = &id->route;

	/* There is a path if InfiniBand's connection manager handled the request (not on iWARP). */
	rxs_source(&route->addr.dst_addr, route->path_rec ? route->path_rec->dgid.raw : NULL,
		   rdma_protocol_roce(id->device, id->port_num), source);
}

/* The server's queue pair retries as often as the client asks; more than usual is refused. */
static bool rxs_retries_allowed(const struct rdma_conn_param *param)
{
	u32 most = rdmafs_test_knob(retries) ?: RXP_RETRY_COUNT;

	return param->retry_count <= most && param->rnr_retry_count <= most;
}

/* Make the connection that a client asks for by @req; it is in no list.  NULL: no memory. */
static struct rxs_conn *rxs_conn_new(struct rdmafs_xprt_server *server, struct rdma_cm_id *id,
				     const struct rxp_wire_cm *req)
{
	struct rxs_conn *sc = kzalloc(sizeof(*sc), GFP_KERNEL);
	struct rdmafs_xprt_source source;
	struct rxp_conn *conn;

	if (!sc)
		return NULL;
	conn = &sc->conn;
	rxp_conn_init(conn, &rxs_conn_ops, server, &server->stats, req->index, req->count);
	INIT_LIST_HEAD(&sc->link);
	INIT_WORK(&sc->work, rxs_conn_work);
	conn->cm = *req;
	conn->id = id;
	sc->asked = jiffies;
	rxs_id_source(id, &source);
	sc->account = rxs_account_find_or_new(server->budget, &source);
	if (!sc->account) {
		rxp_conn_put(conn);
		return NULL;
	}
	return sc;
}

static int rxs_connect_request(struct rdmafs_xprt_server *server, struct rdma_cm_id *id,
			       const struct rdma_cm_event *event)
{
	struct rxp_wire_cm req;
	struct rxs_conn *sc;
	u32 limit = 0;
	u16 reason;
	int ret;

	ret = rxp_frame_check_cm(event->param.conn.private_data,
				 event->param.conn.private_data_len, U32_MAX, &req);
	if (!ret && !rxs_retries_allowed(&event->param.conn))
		ret = -EINVAL;
	if (ret) {
		pr_warn_ratelimited("rdmafs: refused %pISpc: %s\n", &id->route.addr.dst_addr,
				    ret == -EPROTONOSUPPORT ? "it speaks another version" :
				    "not a valid rdmafs connection request");
		return rxs_reject(id, ret == -EPROTONOSUPPORT ? RXP_REJECT_VERSION :
							   RXP_REJECT_PARAMS, 0);
	}
	/* Only connection 0 is refused: the others belong to a session that was let in. */
	if (!req.index && req.count > rxs_conns_allowed())
		return rxs_reject(id, RXP_REJECT_COUNT, rxs_conns_allowed());
	sc = rxs_conn_new(server, id, &req);
	if (!sc)
		return rxs_reject(id, RXP_REJECT_RESOURCES, 0);

	spin_lock_bh(&server->lock);
	reason = rxs_admit_conn(server, sc, &limit);
	if (!reason) {
		server->nr_conns++;
		sc->serial = ++server->serial;
		list_add_tail(&sc->link, &server->conns);
		sc->unbound = true;
		sc->account->unbound++;
		if (!server->nr_unbound++)
			mod_delayed_work(rxp_wq, &server->unbound, RXS_UNBOUND_TICK);
	}
	spin_unlock_bh(&server->lock);
	if (reason) {
		rxp_conn_put(&sc->conn);
		if (reason != RXP_REJECT_STOPPING)
			pr_warn_ratelimited("rdmafs: refused %pISpc: port %u has no room for more connections%s\n",
					    &id->route.addr.dst_addr, server->port,
					    limit ? " of this client" : "");
		return rxs_reject(id, reason, limit);
	}

	id->context = &sc->conn;
	id->event_handler = rxs_conn_event;
	rxs_conn_wake(&sc->conn);
	return 0;
}

/* An event of an identifier that listens. */
static int rxs_cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	/* It stays when a device goes, for devices to come. */
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	return rxs_connect_request(id->context, id, event);
}

/* ---------------------------------------------------------------------- leases */

static void rxs_lease_work(struct work_struct *work)
{
	struct rdmafs_xprt_server *server =
		container_of(work, struct rdmafs_xprt_server, lease.work);
	unsigned long lease = msecs_to_jiffies(RXP_LEASE_MS);
	struct rdmafs_xprt_session *s;
	struct rxs_conn *sc;

	spin_lock_bh(&server->lock);
	list_for_each_entry(sc, &server->conns, link)
		if (time_after(jiffies, (unsigned long)READ_ONCE(sc->conn.last_rx) + lease))
			rxp_conn_lost(&sc->conn);
	list_for_each_entry(s, &server->sessions, link) {
		spin_lock(&s->lock);
		if (!s->nr_bound && time_after(jiffies, s->last_seen + lease))
			rxs_session_close_locked(s);
		spin_unlock(&s->lock);
	}
	spin_unlock_bh(&server->lock);
	mod_delayed_work(rxp_wq, &server->recall, 0);
	queue_delayed_work(rxp_wq, &server->lease, RXS_LEASE_TICK);
}

/* Close connections that have not been bound to a session in time. */
static void rxs_unbound_work(struct work_struct *work)
{
	struct rdmafs_xprt_server *server =
		container_of(work, struct rdmafs_xprt_server, unbound.work);
	unsigned long patience;
	struct rxs_conn *sc;

	spin_lock_bh(&server->lock);
	patience = msecs_to_jiffies(server->limits.unbound_ms);
	list_for_each_entry(sc, &server->conns, link) {
		if (!sc->unbound || rxp_conn_is_lost(&sc->conn) ||
		    !time_after(jiffies, sc->asked + patience))
			continue;
		server->unbound_dropped++;
		rxp_conn_lost(&sc->conn);
	}
	if (server->nr_unbound)
		queue_delayed_work(rxp_wq, &server->unbound, RXS_UNBOUND_TICK);
	spin_unlock_bh(&server->lock);
}

static void rxs_recall_work(struct work_struct *work)
{
	struct rdmafs_xprt_server *server =
		container_of(work, struct rdmafs_xprt_server, recall.work);
	bool more;

	spin_lock_bh(&server->lock);
	more = rxs_sessions_tick(server);
	spin_unlock_bh(&server->lock);
	if (more)
		queue_delayed_work(rxp_wq, &server->recall, HZ / 4);
}

/* ------------------------------------------------------------------- listening */

static int rxs_listen_one(struct rdmafs_xprt_server *server, int i, struct sockaddr *addr)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(server->net, rxs_cm_event, server, RDMA_PS_TCP, IB_QPT_RC);
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

static bool rxs_empty(struct rdmafs_xprt_server *server)
{
	bool empty;

	spin_lock_bh(&server->lock);
	empty = !server->nr_conns && !server->nr_sessions;
	spin_unlock_bh(&server->lock);
	return empty;
}

/**
 * rdmafs_xprt_unlisten - stop serving a port
 * @server: the server, freed by this
 *
 * It waits until each request is over and each session is closed.  Clients will try to come back.
 *
 * Context: process, may sleep.
 */
void rdmafs_xprt_unlisten(struct rdmafs_xprt_server *server)
{
	struct rdmafs_xprt_session *s;
	struct rxs_conn *sc;
	int i;

	spin_lock_bh(&server->lock);
	WRITE_ONCE(server->stopping, true);
	spin_unlock_bh(&server->lock);
	for (i = 0; i < ARRAY_SIZE(server->id); i++)
		if (server->id[i])
			rdma_destroy_id(server->id[i]);
	cancel_delayed_work_sync(&server->lease);
	disable_delayed_work_sync(&server->recall);
	disable_delayed_work_sync(&server->unbound);
	rxp_proc_remove(server->proc);

	do {
		spin_lock_bh(&server->lock);
		list_for_each_entry(sc, &server->conns, link)
			rxp_conn_lost(&sc->conn);
		list_for_each_entry(s, &server->sessions, link)
			rxs_session_close(s);
		spin_unlock_bh(&server->lock);
		/* Repeated, as a HELLO may be making a session just now. */
	} while (!wait_event_timeout(server->empty, rxs_empty(server), HZ / 10));

	rxs_threads_stop(&server->threads);
	rxp_stats_wait(&server->stats);
	rxp_stats_destroy(&server->stats);
	put_net(server->net);
	rxs_budget_put(server->budget);
	kfree(server);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_unlisten);

static const struct rxp_proc_kind rxs_port_files[] = {
	{ "limits", rxs_limits_show },
};

/* Make the server's directory in /proc.  On failure the server is only not visible there. */
static void rxs_show(struct rdmafs_xprt_server *server)
{
	char name[16];

	snprintf(name, sizeof(name), "port-%u", server->port);
	server->proc = rxp_proc_make(name, NULL, rxs_port_files, ARRAY_SIZE(rxs_port_files),
				     server);
}

/**
 * rdmafs_xprt_listen - serve a port
 * @net:     network namespace
 * @port:    port, on all addresses, IPv4 and IPv6
 * @service: what serves the requests
 * @ctx:     passed to the service
 * @limits:  what clients are allowed; NULL: the defaults
 *
 * Context: process, may sleep.
 * Return: the server, or an ERR_PTR: -EADDRINUSE, -ENOMEM, or another error of the CM.
 */
struct rdmafs_xprt_server *rdmafs_xprt_listen(struct net *net, u16 port,
					      const struct rdmafs_xprt_service *service,
					      void *ctx, const struct rdmafs_xprt_limits *limits)
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
	if (limits)
		server->limits = *limits;
	else
		rdmafs_xprt_limits_default(&server->limits);
	server->budget = rxs_budget_create(&server->limits);
	if (!server->budget) {
		rxp_stats_destroy(&server->stats);
		kfree(server);
		return ERR_PTR(-ENOMEM);
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
	INIT_DELAYED_WORK(&server->lease, rxs_lease_work);
	INIT_DELAYED_WORK(&server->recall, rxs_recall_work);
	INIT_DELAYED_WORK(&server->unbound, rxs_unbound_work);
	ret = rxs_threads_start(&server->threads, server->limits.threads, rxs_req_run);
	if (ret)
		goto out;
	queue_delayed_work(rxp_wq, &server->lease, RXS_LEASE_TICK);

	ret = rxs_listen_one(server, 0, (struct sockaddr *)&sin);
	if (!ret) {
		ret = rxs_listen_one(server, 1, (struct sockaddr *)&sin6);
		if (ret == -EAFNOSUPPORT)	/* a kernel without IPv6 */
			ret = 0;
	}
	if (!ret) {
		rxs_show(server);
		return server;
	}
out:
	rdmafs_xprt_unlisten(server);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_listen);
