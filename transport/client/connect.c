// SPDX-License-Identifier: GPL-2.0
/*
 * Make one attempt to connect a mount to its server.  session.c says when.
 *
 * For each connection in turn: the address, the route, the queues, the server's accept, then
 * HELLO and WELCOME, each step bounded in time.  Connection 0 makes or resumes the session.
 * The others join it, by the session's id and the incarnation that connection 0 was told.  If
 * one of them can't be made none stays, and the next attempt begins with connection 0 and
 * another incarnation.
 *
 * This runs in mount(8) the first time and later in the recovery worker (session.c), never twice
 * at once: so it reads without a lock the fields of the session that no other party writes.
 * The CM's event handler sets up and tears down nothing: it leaves a status and completes
 * rxc_conn.cm_done, which the attempt waits for.
 */
#include <linux/kthread.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/unaligned.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include "transport/client/client.h"

/*
 * Milliseconds without a WELCOME after which an iWARP server's device is sent something to look
 * at (rxc_welcome_wait()).
 */
#define RXC_RTR_MS		100U

/* Milliseconds after which an address is asked for again (rxc_resolve_addr()). */
#define RXC_RESOLVE_MS		500U

/**
 * struct rxc_attempt - connections being made
 * @step_ms:     how long each step of each connection may take, milliseconds
 * @count:       number of connections to be made
 * @limit:       number that the server allows, if it refused @count, else 0
 * @incarnation: the incarnation that connection 0 was told
 * @conns:       those that are bound
 */
struct rxc_attempt {
	unsigned int step_ms;
	u32 count;
	u32 limit;
	__le32 incarnation;
	struct rxp_conn *conns[RDMAFS_XPRT_CONNS_MAX];
};

static void rxc_lost(struct rxp_conn *conn)
{
	struct rxc_conn *cc = rxc_conn(conn);
	struct rdmafs_xprt *x = conn->owner;

	/*
	 * While the connection is being made, the CM's event says how it ends, not this: siw
	 * flushes the receives of a connection that the server refuses before the CM reports
	 * the reason.  But if the device is being removed, the CM waits for us to let it go: so
	 * the attempt is ended here.
	 */
	if (conn->rdev && READ_ONCE(conn->rdev->removed)) {
		cc->cm_status = -ENOTCONN;
		complete_all(&cc->cm_done);
	}
	complete_all(&cc->welcomed);
	/*
	 * Pairs with the barrier in rxc_bind(): either this sees the state that
	 * rxc_bind() has set, or rxc_bind() sees that the connection is lost.
	 */
	smp_mb();
	if (READ_ONCE(x->state) != RXC_CONNECTING)
		mod_delayed_work(rxc_recover_wq, &x->recover, 0);
}

/* Of the messages of no slot, only RETURNs are kept for when a buffer is free again. */
static void rxc_room(struct rxp_conn *conn)
{
	rxc_grants_return_due(conn->owner);
}

static void rxc_conn_free(struct rxp_conn *conn)
{
	rxc_receives_free(&conn->rx_ring);
	kfree(rxc_conn(conn));
}

static const struct rxp_conn_ops rxc_ops = {
	.recv = rxc_recv,
	.lost = rxc_lost,
	.room = rxc_room,
	.receives = rxc_receives,
	.free = rxc_conn_free,
};

static int rxc_reject_errno(struct rxp_conn *conn, struct rdma_cm_event *event)
{
	const struct rxp_wire_reject *rej;
	u8 len = 0;

	rej = rdma_consumer_reject_data(conn->id, event, &len);
	/* No connection is rejected that rxc_connect() has not asked for: @conn->rdev is set. */
	if (!rej && conn->rdev->quirks.rejects_reset) {
		/*
		 * rdma_consumer_reject_data() does not take ECONNRESET for a reject by the server:
		 * look at the private data here.
		 */
		rej = event->param.conn.private_data;
		len = event->param.conn.private_data_len;
	}
	if (rej && len >= sizeof(*rej) && le32_to_cpu(rej->magic) == RXP_WIRE_MAGIC) {
		switch (le16_to_cpu(rej->reason)) {
		case RXP_REJECT_VERSION:
			return -EPROTONOSUPPORT;
		case RXP_REJECT_RESOURCES:
			return -EBUSY;
		case RXP_REJECT_STOPPING:
			return -ECONNREFUSED;
		case RXP_REJECT_COUNT:
			rxc_conn(conn)->limit = le32_to_cpu(rej->limit);
			return -ERANGE;
		case RXP_REJECT_LIMIT:
			return -EUSERS;
		case RXP_REJECT_JOIN:
			/* The server lost the session while it was being joined. */
			return -ECONNRESET;
		default:
			return -EPROTO;
		}
	}
	if (event->status < 0)		/* on iWARP the status is an errno */
		return event->status;
	switch (event->status) {
	case IB_CM_REJ_STALE_CONN:
		return -EAGAIN;
	case IB_CM_REJ_CONSUMER_DEFINED:
		/*
		 * Other private data, unless all zero, is not that of an rdmafs server.  Without
		 * private data it may be one whose connection was gone before it could say why.
		 */
		return rej && memchr_inv(rej, 0, len) ? -EPROTO : -EAGAIN;
	default:
		return -ECONNREFUSED;
	}
}

/*
 * The handler of the CM's events.  The CM waits for it, so it must not wait for the task that
 * makes the connection: it only sets a status, marks the connection lost and completes
 * rxc_conn.cm_done.
 */
static int rxc_cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rxp_conn *conn = id->context;
	struct rxc_conn *cc = rxc_conn(conn);
	int status = 0;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		status = rxp_frame_check_cm(event->param.conn.private_data,
					    event->param.conn.private_data_len,
					    RDMAFS_XPRT_DATA_MAX, &conn->cm);
		/*
		 * The CM has given our queue pair this count.  With a larger one it could repeat
		 * for ever a message for which the server has no receive.
		 */
		if (!status && event->param.conn.rnr_retry_count > RXP_RETRY_COUNT)
			status = -EPROTO;
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		status = event->status < 0 ? event->status : -EHOSTUNREACH;
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		status = event->status < 0 ? event->status : -EHOSTUNREACH;
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		status = event->status < 0 ? event->status : -ECONNRESET;
		break;
	case RDMA_CM_EVENT_REJECTED:
		status = rxc_reject_errno(conn, event);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		rxp_conn_lost(conn);
		status = -ENOTCONN;
		break;
	default:
		return 0;
	}
	cc->cm_status = status;
	complete(&cc->cm_done);
	return 0;
}

/*
 * Wait for the CM's next event, @timeout in jiffies.  Returns 1 if its status is in
 * rxc_conn.cm_status, 0 if the time is over, -EINTR if the task is killed.
 */
static int rxc_cm_answer(struct rxp_conn *conn, unsigned long timeout)
{
	long left = wait_for_completion_killable_timeout(&rxc_conn(conn)->cm_done, timeout);

	return left < 0 ? -EINTR : !!left;
}

static int rxc_cm_wait(struct rxp_conn *conn, unsigned int timeout_ms)
{
	int ret = rxc_cm_answer(conn, msecs_to_jiffies(timeout_ms));

	if (ret > 0)
		return rxc_conn(conn)->cm_status;
	return ret ?: -ETIMEDOUT;
}

static void rxc_pool_free(struct rxp_pool *pool)
{
	kfree(pool);
}

static const struct rxp_pool_ops rxc_pool_ops = {
	.free = rxc_pool_free,
};

static struct rxp_pool *rxc_pool_create(struct rdmafs_xprt *x, struct rxp_device *rdev)
{
	struct rxp_pool *pool = kzalloc(sizeof(*pool), GFP_KERNEL);
	int ret;

	if (!pool)
		return ERR_PTR(-ENOMEM);
	ret = rxp_pool_init(pool, &rxc_pool_ops, rdev, &x->stats);
	if (!ret)
		return pool;
	kfree(pool);
	return ERR_PTR(ret);
}

/**
 * rxc_pool_retire - let go of a pool that the session has had
 * @x:    the session, of which @pool is no more
 * @pool: the pool; its reference is dropped
 *
 * Calls that wait for its translations, or hold some and wait for a slot, begin anew.  Deadlines,
 * umount -f and an abort would not reach them: these look for waiters at the session's pool.
 *
 * Context: process, may sleep.  The recovery worker, or the task in its place.
 */
void rxc_pool_retire(struct rdmafs_xprt *x, struct rxp_pool *pool)
{
	rpol_member_shutdown(pool->member);
	/* Before there are slots there are no calls. */
	if (x->slots)
		rxc_slots_dismiss_all(&x->slot_account);
	rxp_pool_put(pool);
}

/*
 * Give a pool the mount's quota, and the mount the pool in place of the one that it may have.  If
 * the minimum can't be had, a mount that is in use goes on without it; a mount that connects for
 * the first time fails.
 */
static int rxc_pool_replace(struct rdmafs_xprt *x, struct rxp_pool *pool)
{
	int ret;

	mutex_lock(&x->member.lock);
	ret = rxp_member_give_quota(&x->member, pool, !x->slots);
	if (!ret) {
		spin_lock_bh(&x->lock);
		swap(x->pool, pool);
		spin_unlock_bh(&x->lock);
	}
	mutex_unlock(&x->member.lock);
	if (ret)
		rxp_pool_put(pool);
	else if (pool)
		rxc_pool_retire(x, pool);
	return ret;
}

/*
 * See to it that the mount has a pool on the connection's device.  It keeps its pool while it
 * stays on one device, and is never on two.
 */
static int rxc_pool_take(struct rdmafs_xprt *x, struct rxp_conn *conn)
{
	struct rxp_device *rdev = rxp_device_get(conn->id->device);
	struct rxp_pool *pool;

	if (!rdev)
		return -ENODEV;
	rdmafs_test_point("client_device", conn->index);
	if (x->pool && x->pool->rdev == rdev) {
		rxp_device_put(rdev);
		return 0;
	}
	if (conn->index) {
		rxp_device_put(rdev);
		pr_warn_ratelimited("rdmafs: %pISpc: its connections would go over several RDMA devices: give nconnect=1\n",
				    &x->addr);
		return -ENODEV;
	}
	pool = rxc_pool_create(x, rdev);
	rxp_device_put(rdev);
	return IS_ERR(pool) ? PTR_ERR(pool) : rxc_pool_replace(x, pool);
}

/*
 * Slots to ask for.  Connection 0 asks for as many as there is memory for, once that is
 * allocated: the server may be one that gives more than the last did.  The others join with as
 * many as the session has.
 */
static u32 rxc_wants(const struct rdmafs_xprt *x, u32 index)
{
	if (index)
		return x->slot_account.nr;
	return x->slots ? x->slot_account.max : x->want_slots;
}

static int rxc_accept_apply(struct rdmafs_xprt *x, struct rxp_conn *conn)
{
	u32 slots = le16_to_cpu(conn->cm.slots), i;
	int ret;

	if (slots > rxc_wants(x, conn->index) || conn->cm.index != conn->index ||
	    conn->cm.count != conn->count || conn->cm.heartbeat_ms ||
	    (conn->index && slots != x->slot_account.nr))
		return -EPROTO;
	if (x->slots)
		goto out;
	ret = rxp_ring_init(&x->tx_ring, slots, RXP_SLOT_BUF, DMA_TO_DEVICE, true);
	if (!ret)
		ret = rxc_slots_init(&x->slot_account, slots);
	if (ret)
		return ret;
	x->slots = kvcalloc(slots, sizeof(*x->slots), GFP_KERNEL);
	if (!x->slots)
		return -ENOMEM;
	for (i = 0; i < slots; i++) {
		x->slots[i].index = i;
		x->slots[i].seq = rdmafs_test_knob(seq_before);
	}
out:
	conn->slots = slots;
	/*
	 * conn->data_max bounds what the server may say; x->data_max, what calls may ask for,
	 * is also bounded by the size of the device's MRs.
	 */
	conn->data_max = min(le32_to_cpu(conn->cm.data_max), RDMAFS_XPRT_DATA_MAX);
	if (!conn->index)
		WRITE_ONCE(x->data_max, min_t(u64, conn->data_max,
					      (u64)conn->rdev->max_entries * PAGE_SIZE));
	rxp_send_limit(conn);
	return 0;
}

/*
 * Resolve the server's address.  ib_core looks a neighbour up again when it is notified that
 * one is known, and when the request's time is over.  It misses a notification that comes while
 * it queues the request, and any of a neighbour that it has given up.  So the time is asked for
 * in pieces, and each one looks again.
 */
static int rxc_resolve_addr(struct rdmafs_xprt *x, struct rxp_conn *conn,
			    unsigned int step_ms)
{
	struct rxc_conn *cc = rxc_conn(conn);
	unsigned long deadline = jiffies + msecs_to_jiffies(2 * step_ms), now;
	unsigned int ms, left = step_ms;
	int ret;

	for (;;) {
		ms = min(left, RXC_RESOLVE_MS);
		left -= ms;
		ret = rdma_resolve_addr(conn->id, NULL, (struct sockaddr *)&x->addr, ms);
		if (ret)
			return ret;
		now = jiffies;
		ret = rxc_cm_answer(conn, time_before(now, deadline) ? deadline - now : 1);
		/* Without an event the request is still at work, and can't be made again. */
		if (ret <= 0)
			return ret ?: -ETIMEDOUT;
		reinit_completion(&cc->cm_done);
		if (cc->cm_status != -ETIMEDOUT || !left)
			return cc->cm_status;
	}
}

static int rxc_resolve(struct rdmafs_xprt *x, struct rxp_conn *conn, unsigned int step_ms)
{
	int ret = rxc_resolve_addr(x, conn, step_ms);

	if (ret)
		return ret;
	ret = rdma_resolve_route(conn->id, step_ms);
	if (ret)
		return ret;
	ret = rxc_cm_wait(conn, 2 * step_ms);
	/*
	 * The CM has answered all requests so far.  An event that comes from now on, even
	 * before rdma_connect(), must be kept for rxc_connect(): it says that the device
	 * goes.
	 */
	reinit_completion(&rxc_conn(conn)->cm_done);
	return ret;
}

/*
 * Wait for WELCOME.  In siw_accept() (6.12) the server tells the client of the connection a
 * moment before it listens for data on it, and finds what arrives in between only when more
 * arrives.  The client sends nothing after HELLO until it is answered, so on iWARP an empty
 * RDMA WRITE is sent now and then: on any device, since the server's may be siw whatever the
 * client's is.
 */
static int rxc_welcome_wait(struct rxp_conn *conn, unsigned int step_ms)
{
	struct rxc_conn *cc = rxc_conn(conn);
	bool iwarp = rdma_protocol_iwarp(conn->id->device, conn->id->port_num);
	unsigned int waited, ms;
	long left;

	for (waited = 0; waited < step_ms; waited += ms) {
		ms = iwarp ? min(step_ms - waited, RXC_RTR_MS) : step_ms;
		left = wait_for_completion_killable_timeout(&cc->welcomed, msecs_to_jiffies(ms));
		if (left)
			return left < 0 ? -EINTR : 0;
		if (iwarp)
			rxp_ctl_rtr(conn);
	}
	return -ETIMEDOUT;
}

static int rxc_hello(struct rdmafs_xprt *x, struct rxp_conn *conn, unsigned int step_ms)
{
	const struct rxp_wire_welcome *welcome = &rxc_conn(conn)->welcome;
	struct rxp_wire_hello hello = {
		.boot = cpu_to_le64(x->boot),
	};
	int ret;

	memcpy(hello.session, x->session, sizeof(hello.session));
	memcpy(hello.client, x->client, sizeof(hello.client));
	/*
	 * What the server may send is known (rxc_accept_apply()): WELCOME may come from here
	 * on.
	 */
	ret = rxp_conn_move(conn, RXP_CONN_GREET);
	if (ret)
		return ret;
	ret = rxp_ctl_send(conn, RXP_CONTROL, RXP_CONTROL_HELLO, &hello, sizeof(hello));
	if (ret)
		return ret;
	ret = rxc_welcome_wait(conn, step_ms);
	if (ret)
		return ret;
	rdmafs_test_point("client_welcomed", conn->index);
	if (rxp_conn_is_lost(conn))
		return -ENOTCONN;
	switch (le32_to_cpu(welcome->status)) {
	case RXP_WELCOME_BOUND:
		return rxc_session_known(x) && conn->slots == x->slot_account.nr &&
		       !memcmp(welcome->session, x->session, sizeof(x->session)) ? 0 : -EPROTO;
	case RXP_WELCOME_NEW:
		return !conn->index && memchr_inv(welcome->session, 0, sizeof(x->session)) ?
		       0 : -EPROTO;
	case RXP_WELCOME_REFUSED:
		return -EBUSY;
	case RXP_WELCOME_LIMIT:
		return -EUSERS;
	default:
		return -EPROTO;
	}
}

/*
 * Connection 0 has its WELCOME, so the session is the one that it names, even if the other
 * connections can't be made this time.  No call was sent in it yet on these connections.
 */
static void rxc_adopt(struct rdmafs_xprt *x, struct rxp_conn *conn)
{
	const struct rxp_wire_welcome *welcome = &rxc_conn(conn)->welcome;

	memcpy(x->session, welcome->session, sizeof(x->session));
	rpol_member_set_label(conn->pool->member, get_unaligned_be32(x->session));
	x->boot = le64_to_cpu(welcome->boot);
	if (conn->slots != x->slot_account.nr)
		pr_info("rdmafs: %pISpc now grants %u slots instead of %u\n", &x->addr,
			conn->slots, x->slot_account.nr);
	/*
	 * This comes before the session is UP: rxc_call_fits() compares a slot with the number
	 * of slots that is set here.
	 */
	rxc_slots_spread(&x->slot_account, conn->slots, conn->count);
	if (le32_to_cpu(welcome->status) != RXP_WELCOME_NEW ||
	    READ_ONCE(x->state) == RXC_CONNECTING)
		return;
	rxp_count(&x->stats, session_resets);
	pr_info("rdmafs: %pISpc: the server made a new session\n", &x->addr);
	if (x->ops && x->ops->session_reset)
		x->ops->session_reset(x->ctx);
	rxc_calls_renumber(x, conn->data_max);
}

/* All connections are bound: send the unanswered calls again, then let submitters in. */
static void rxc_bind(struct rdmafs_xprt *x, struct rxc_attempt *a)
{
	bool again = READ_ONCE(x->state) != RXC_CONNECTING;
	bool lost = false;
	u32 i;

	x->bound_at = jiffies;
	/* This may be another path, or another device: forget what a message costs. */
	WRITE_ONCE(x->message_ns, 0);
	WRITE_ONCE(x->message_guess, x->pool->rdev->quirks.message_ns);
	if (again) {
		rxp_count(&x->stats, reconnects);
		x->unsent = rxc_calls_replay(x, a->conns, a->count);
		lost = x->unsent;
	}
	spin_lock_bh(&x->lock);
	memcpy(x->conns, a->conns, sizeof(x->conns));
	x->nr_conns = a->count;
	rxc_state_move(x, RXC_EV_BOUND);
	/* Pairs with the barrier in rxc_lost(). */
	smp_mb();
	for (i = 0; i < a->count; i++)
		lost |= rxp_conn_is_lost(a->conns[i]);
	spin_unlock_bh(&x->lock);
	wake_up_all(&x->wait);
	/* An EVENT may have been lost with the connections. */
	if (again && x->ops && x->ops->event)
		x->ops->event(x->ctx);
	/*
	 * A connection may have been lost before the session knew it, or a call not have been
	 * sent.
	 */
	if (lost)
		mod_delayed_work(rxc_recover_wq, &x->recover, 0);
}

/**
 * struct rxc_connecting - an rdma_connect() in a thread of its own
 * @id:    the connection's
 * @param: argument of rdma_connect()
 * @cut:   rdma_connect() need not begin any more
 * @done:  rdma_connect() has returned, or was not called
 */
struct rxc_connecting {
	struct rdma_cm_id *id;
	struct rdma_conn_param *param;
	bool cut;
	struct completion done;
};

static int rxc_connecting_thread(void *arg)
{
	struct rxc_connecting *c = arg;
	unsigned int noio = memalloc_noio_save();
	int ret = -EINTR;

	/*
	 * A SIGKILL that comes before this call is dropped; then the lock that is taken in the
	 * call orders the read of @cut behind its write.
	 */
	allow_kernel_signal(SIGKILL);
	if (!READ_ONCE(c->cut))
		ret = rdma_connect(c->id, c->param);
	complete(&c->done);
	memalloc_noio_restore(noio);
	return ret;
}

/*
 * With siw, rdma_connect() connects a socket and waits until TCP gives up, two minutes by
 * default; only a signal ends that.  So a thread of its own calls it, and gets a SIGKILL
 * when the step's time is over or when the caller is killed.  The thread has ended when this
 * returns.
 */
static int rxc_connect_bounded(struct rdma_cm_id *id, struct rdma_conn_param *param,
			       unsigned int step_ms)
{
	struct rxc_connecting c = { .id = id, .param = param };
	struct task_struct *task;
	long left;
	int ret;

	init_completion(&c.done);
	task = kthread_create(rxc_connecting_thread, &c, "rdmafs_connect");
	if (IS_ERR(task))
		return PTR_ERR(task);
	get_task_struct(task);
	wake_up_process(task);
	left = wait_for_completion_killable_timeout(&c.done, msecs_to_jiffies(step_ms));
	if (left <= 0) {
		WRITE_ONCE(c.cut, true);
		send_sig(SIGKILL, task, 1);
	}
	ret = kthread_stop_put(task);
	if (left <= 0)
		return left ? -EINTR : -ETIMEDOUT;
	return ret;
}

static int rxc_connect(struct rdmafs_xprt *x, struct rxc_attempt *a,
		       struct rxp_conn *conn, u32 slots)
{
	struct rxp_wire_cm cm = {
		.magic = cpu_to_le32(RXP_WIRE_MAGIC),
		.version = cpu_to_le16(RXP_WIRE_VERSION + rdmafs_test_knob(version_up)),
		.index = conn->index,
		.count = conn->count,
		.recv_size = cpu_to_le32(conn->recv_size),
		.data_max = cpu_to_le32(RDMAFS_XPRT_DATA_MAX),
		.slots = cpu_to_le16(slots),
		.reserve = cpu_to_le16(RXP_RECV_RESERVE),
		.heartbeat_ms = cpu_to_le32(READ_ONCE(rxc_heartbeat_ms)),
	};
	struct rdma_conn_param param = {
		.private_data = &cm,
		.private_data_len = sizeof(cm),
		.retry_count = RXP_RETRY_COUNT,
		.rnr_retry_count = RXP_RETRY_COUNT,
	};
	int ret;

	if (conn->index) {
		cm.incarnation = a->incarnation;
		memcpy(cm.session, x->session, sizeof(cm.session));
	}
	/*
	 * The socket is made in the network namespace of the current task, and a thread's is the
	 * first one.  In any other namespace mount(8) has to call rdma_connect() itself, unbounded.
	 */
	if (conn->rdev->quirks.connects_here && net_eq(x->net, &init_net))
		ret = rxc_connect_bounded(conn->id, &param, a->step_ms);
	else
		ret = rdma_connect(conn->id, &param);
	return ret ?: rxc_cm_wait(conn, a->step_ms);
}

/**
 * rxc_conn_end - free a connection, but keep its receive buffers for the next one
 * @x:    the session
 * @conn: killed; the owner's reference is dropped
 *
 * Context: process, may sleep; the recovery worker, or the task in its place.
 */
void rxc_conn_end(struct rdmafs_xprt *x, struct rxp_conn *conn)
{
	struct rxp_ring *spare = &x->rx_rings[conn->index];

	rxp_conn_destroy(conn);
	/* No message is looked at on the client after its completion has been handled. */
	rxc_receives_free(spare);
	*spare = conn->rx_ring;
	memset(&conn->rx_ring, 0, sizeof(conn->rx_ring));
	rxp_conn_put(conn);
}

/* Make a connection, up to its WELCOME. */
static int rxc_connect_one(struct rdmafs_xprt *x, struct rxc_attempt *a, u32 index)
{
	struct rxc_conn *cc = kzalloc(sizeof(*cc), GFP_KERNEL);
	struct rxp_conn *conn;
	u32 slots;
	int ret;

	if (!cc)
		return -ENOMEM;
	conn = &cc->conn;
	rxp_conn_init(conn, &rxc_ops, x, &x->stats, index, a->count);
	init_completion(&cc->cm_done);
	init_completion(&cc->welcomed);
	conn->rx_ring = x->rx_rings[index];
	memset(&x->rx_rings[index], 0, sizeof(x->rx_rings[index]));
	conn->id = rdma_create_id(x->net, rxc_cm_event, conn, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(conn->id)) {
		ret = PTR_ERR(conn->id);
		conn->id = NULL;
		goto out;
	}
	rxp_conn_tune(conn);
	slots = rxc_wants(x, index);
	ret = rxc_resolve(x, conn, a->step_ms);
	if (!ret)
		ret = rxc_pool_take(x, conn);
	if (!ret)
		ret = rxp_conn_setup(conn, x->pool, slots, IB_POLL_SOFTIRQ);
	if (!ret)
		ret = rxp_conn_move(conn, RXP_CONN_MADE);
	if (!ret)
		ret = rxc_connect(x, a, conn, slots);
	if (!ret)
		ret = rxc_accept_apply(x, conn);
	if (!ret)
		ret = rxp_conn_map_tx(conn, &x->tx_ring);
	if (!ret)
		ret = rxc_hello(x, conn, a->step_ms);
	if (ret)
		goto out;
	if (!index) {
		a->incarnation = cc->welcome.incarnation;
		rxc_adopt(x, conn);
	}
	a->conns[index] = conn;
	return 0;

out:
	/*
	 * If the connection was lost, but not because the server broke the protocol, the next
	 * one may live.
	 */
	if (ret == -ENOTCONN && !READ_ONCE(conn->broke))
		ret = -EAGAIN;
	a->limit = cc->limit;
	rxp_conn_kill(conn);
	rxc_conn_end(x, conn);
	return ret;
}

static int rxc_connect_all(struct rdmafs_xprt *x, struct rxc_attempt *a)
{
	int ret;
	u32 i;

	for (i = 0; i < a->count; i++) {
		ret = rxc_connect_one(x, a, i);
		if (ret)
			goto out;
	}
	return 0;

out:
	while (i--) {
		rxp_conn_kill(a->conns[i]);
		rxc_conn_end(x, a->conns[i]);
	}
	return ret;
}

/**
 * rxc_connect_once - try to connect, and let submitters in
 * @x:       the session, without a connection
 * @step_ms: how long each step of each connection may take, milliseconds
 *
 * Context: process; sleeps, killably.  mount(8) or the recovery worker.
 *
 * Return: 0, or a negative errno of rdmafs_xprt_connect(), with no connection left; -EAGAIN:
 * the server still has a stale connection, or this one was lost, or refused without a reason.
 */
int rxc_connect_once(struct rdmafs_xprt *x, unsigned int step_ms)
{
	struct rxc_attempt a = { .step_ms = step_ms, .count = x->want_conns };
	int ret = rxc_connect_all(x, &a);

	/* The server says how many it allows: fewer are better than none. */
	if (ret == -ERANGE && a.limit && a.limit < a.count) {
		pr_info("rdmafs: %pISpc allows %u connections instead of %u\n", &x->addr,
			a.limit, a.count);
		a.count = a.limit;
		ret = rxc_connect_all(x, &a);
	}
	if (!ret)
		rxc_bind(x, &a);
	return ret == -ERANGE ? -EPROTO : ret;
}
