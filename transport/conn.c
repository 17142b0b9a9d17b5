// SPDX-License-Identifier: GPL-2.0
/*
 * A connection: one RC queue pair, one completion queue, a ring of receives
 * that always covers what the peer may send.  How things are sent stands in send.c.
 *
 * Ending: rxp_conn_lost() may come from any context, any number of times; the
 * owner hears of it once and queues its worker.  rxp_conn_kill() bars further
 * posting, flushes the queue pair, waits until every completion has been seen,
 * and destroys the queues; what has had no completion is then given back with
 * ok = false.  Only after that may memory that a work request named be freed or
 * used for something else.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "transport/internal.h"
#include "transport/slot.h"

/* The part of all memory that large receives may take: one in so many. */
#define RXP_RECV_SHARE	64

static atomic64_t rxp_recv_charged = ATOMIC64_INIT(0);

static void rxp_wc_recv(struct ib_cq *cq, struct ib_wc *wc);

/**
 * rxp_conn_alloc - make a connection object without any device
 * @ops:   the owner's callbacks
 * @owner: the owner
 * @stats: where to count; outlives the queue pair
 * @index: which of its session's connections it is
 * @count: how many they are
 *
 * Return: the connection with one reference, or NULL.
 */
struct rxp_conn *rxp_conn_alloc(const struct rxp_conn_ops *ops, void *owner,
				struct rxp_stats *stats, u32 index, u32 count)
{
	struct rxp_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	kref_init(&conn->ref);
	conn->ops = ops;
	conn->owner = owner;
	conn->stats = stats;
	conn->index = index;
	conn->count = count;
	rxp_send_init(conn);
	INIT_LIST_HEAD(&conn->link);
	INIT_LIST_HEAD(&conn->dev_link);
	init_completion(&conn->cm_done);
	init_completion(&conn->welcomed);
	conn->last_rx = jiffies;
	return conn;
}

static void rxp_qp_event(struct ib_event *event, void *context)
{
	struct rxp_conn *conn = context;

	/* Errors come with completions as well; these alone must not be missed. */
	if (event->event == IB_EVENT_QP_FATAL || event->event == IB_EVENT_QP_ACCESS_ERR ||
	    event->event == IB_EVENT_QP_REQ_ERR)
		rxp_conn_lost(conn);
}

/*
 * Messages of a burst travel in one another as far as a receive goes, so the larger
 * receives are, the fewer messages, acknowledgments and wake-ups there are; but each slot
 * has two.  So they are large only until all large ones together take RXP_RECV_SHARE of
 * the memory.
 */
static void rxp_recv_charge(struct rxp_conn *conn)
{
	u32 size = clamp(READ_ONCE(rxp_recv_size), RXP_MSG_MAX, RXP_RECV_MAX);
	u64 limit = ((u64)totalram_pages() << PAGE_SHIFT) / RXP_RECV_SHARE;
	u64 bytes = (u64)conn->nr_rx * size;

	conn->recv_size = RXP_MSG_MAX;
	/* On iWARP a peer's messages hardly travel in one another: rxp_send_limit(). */
	if (size == RXP_MSG_MAX || conn->by_reference)
		return;
	if (atomic64_add_return(bytes, &rxp_recv_charged) > limit) {
		atomic64_sub(bytes, &rxp_recv_charged);
		return;
	}
	conn->recv_size = size;
	conn->recv_charged = bytes;
}

static int rxp_post_recv(struct rxp_rx *rx)
{
	struct rxp_conn *conn = rx->conn;
	struct ib_sge sge = {
		.addr	= rxp_ring_dma(&conn->rx_ring, conn->rx_dma, rx->index),
		.length	= conn->recv_size,
		.lkey	= conn->pool->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe	 = &rx->cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_recv(conn->qp, &wr, NULL);
}

static int rxp_rx_init(struct rxp_conn *conn)
{
	u32 nr = conn->nr_rx, i;
	int ret;

	ret = rxp_ring_init(&conn->rx_ring, nr, conn->recv_size);
	if (ret)
		return ret;
	conn->rx = kcalloc(nr, sizeof(*conn->rx), GFP_KERNEL);
	conn->rx_dma = rxp_ring_map(&conn->rx_ring, conn->rdev->ib, DMA_FROM_DEVICE);
	if (!conn->rx || !conn->rx_dma)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		conn->rx[i].cqe.done = rxp_wc_recv;
		conn->rx[i].conn = conn;
		conn->rx[i].index = i;
	}
	return 0;
}

/*
 * The connections of a session complete on CPUs that follow each other, and
 * sessions begin anywhere.
 */
static int rxp_conn_vector(struct rxp_conn *conn)
{
	static atomic_t next = ATOMIC_INIT(0);
	u32 vectors = min_t(u32, conn->id->device->num_comp_vectors, num_online_cpus());

	if (!conn->index)
		conn->pool->vector = atomic_inc_return(&next);
	return (conn->pool->vector + conn->index) % max(vectors, 1U);
}

/**
 * rxp_conn_setup - give a connection its queues and post its receives
 * @conn:  conn->id is bound to a device
 * @pool:  pool on that device; a reference is taken
 * @slots: RPCs at once in the session; receives are posted for twice as many as
 *	   travel here, and the reserve
 * @poll:  where completions are handled
 *
 * Process context.  On failure the caller destroys the connection.
 *
 * Return: 0 or a negative errno.
 */
int rxp_conn_setup(struct rxp_conn *conn, struct rxp_pool *pool, u32 slots,
		   enum ib_poll_context poll)
{
	struct ib_device *ib = conn->id->device;
	struct ib_qp_init_attr attr = {};
	u32 carried = rxp_slots_carried(slots, conn->index, conn->count);
	u32 nr_recv = 2 * carried + RXP_RECV_RESERVE, i;
	u32 sq;
	int ret;

	rxp_pool_get(pool);
	conn->pool = pool;
	conn->rdev = pool->rdev;
	conn->slots = slots;
	conn->nr_rx = nr_recv;
	conn->by_reference = rdma_protocol_iwarp(ib, conn->id->port_num);
	rxp_recv_charge(conn);

	/* Room for every slot's usual chain, and twice for the longest; others wait their turn. */
	sq = max3(4 * carried, 128U,
		  2 * (DIV_ROUND_UP(pool->rdev->max_entries, pool->max_sge) + RXP_CHAIN_EXTRA));
	sq = min_t(u32, sq, ib->attrs.max_qp_wr - 1);
	if (nr_recv + 1 > ib->attrs.max_qp_wr)
		return -EINVAL;

	ret = rxp_rx_init(conn);
	if (ret)
		return ret;
	ret = rxp_ctl_init(conn);
	if (ret)
		return ret;

	/* One more of each kind for the drain's own work requests. */
	conn->cq = ib_alloc_cq(ib, conn, sq + nr_recv + 2, rxp_conn_vector(conn), poll);
	if (IS_ERR(conn->cq)) {
		ret = PTR_ERR(conn->cq);
		conn->cq = NULL;
		return ret;
	}
	attr.event_handler = rxp_qp_event;
	attr.qp_context = conn;
	attr.send_cq = conn->cq;
	attr.recv_cq = conn->cq;
	attr.sq_sig_type = IB_SIGNAL_REQ_WR;
	attr.qp_type = IB_QPT_RC;
	attr.cap.max_send_wr = sq + 1;
	attr.cap.max_recv_wr = nr_recv + 1;
	attr.cap.max_send_sge = max_t(u32, pool->max_sge, 2);
	conn->send_sge = attr.cap.max_send_sge;
	attr.cap.max_recv_sge = 1;
	ret = rdma_create_qp(conn->id, pool->pd, &attr);
	if (ret)
		return ret;
	conn->qp = conn->id->qp;
	conn->sq_free = sq;
	conn->sq_quiet_max = sq / 4;

	spin_lock_bh(&conn->rdev->lock);
	list_add(&conn->dev_link, &conn->rdev->conns);
	spin_unlock_bh(&conn->rdev->lock);
	if (READ_ONCE(conn->rdev->removed))
		return -ENODEV;

	for (i = 0; i < nr_recv; i++) {
		ret = rxp_post_recv(&conn->rx[i]);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * rxp_conn_map_tx - map the owner's slot buffers for this connection
 * @conn: set up
 * @ring: the buffers; they outlive the connection's queue pair
 *
 * Return: 0 or -ENOMEM.
 */
int rxp_conn_map_tx(struct rxp_conn *conn, const struct rxp_ring *ring)
{
	conn->tx_dma = rxp_ring_map(ring, conn->rdev->ib, DMA_TO_DEVICE);
	if (!conn->tx_dma)
		return -ENOMEM;
	conn->tx_ring = ring;
	return 0;
}

/**
 * rxp_conn_unmap_tx - undo rxp_conn_map_tx()
 * @conn: mapped or not; drained, or nothing of the buffers was ever sent
 */
void rxp_conn_unmap_tx(struct rxp_conn *conn)
{
	if (conn->tx_ring)
		rxp_ring_unmap(conn->tx_ring, conn->rdev->ib, conn->tx_dma, DMA_TO_DEVICE);
	conn->tx_ring = NULL;
	conn->tx_dma = NULL;
}

/**
 * rxp_conn_get - take a reference on the struct and its receive buffers
 * @conn: the connection
 */
void rxp_conn_get(struct rxp_conn *conn)
{
	kref_get(&conn->ref);
}

static void rxp_conn_release(struct kref *ref)
{
	struct rxp_conn *conn = container_of(ref, struct rxp_conn, ref);

	rxp_ring_destroy(&conn->rx_ring);
	atomic64_sub(conn->recv_charged, &rxp_recv_charged);
	kfree(conn->rx);
	kfree(conn->ctl);
	kfree(conn);
}

/**
 * rxp_conn_put - drop a reference; any context but hard interrupt
 * @conn: the connection; the last reference is dropped after rxp_conn_destroy()
 */
void rxp_conn_put(struct rxp_conn *conn)
{
	kref_put(&conn->ref, rxp_conn_release);
}

/**
 * rxp_conn_lost - the connection is of no more use
 * @conn: the connection
 *
 * Any context.  The owner is told once.
 */
void rxp_conn_lost(struct rxp_conn *conn)
{
	if (!test_and_set_bit(0, &conn->lost))
		conn->ops->lost(conn);
}

/**
 * rxp_conn_protocol_error - the peer did what it must not do: cut it off
 * @conn: its connection
 * @what: what it did, for the log
 */
void rxp_conn_protocol_error(struct rxp_conn *conn, const char *what)
{
	rxp_count(conn->stats, protocol_errors);
	pr_warn_ratelimited("rdmafs: %pISpc broke the protocol (%s): disconnecting\n",
			    &conn->id->route.addr.dst_addr, what);
	rxp_conn_lost(conn);
}

/**
 * rxp_conn_kill - stop a connection and wait until the device is done with it
 * @conn: the connection
 *
 * Process context, sleeps.  Called by the owner's worker, once.  Afterwards
 * no completion comes any more and every chain's done() has been called, or
 * is being called by whoever has posted it (a quiet one).
 */
void rxp_conn_kill(struct rxp_conn *conn)
{
	set_bit(0, &conn->lost);
	spin_lock_bh(&conn->sq_lock);
	conn->dead = true;
	spin_unlock_bh(&conn->sq_lock);
	/* Whoever has plugged something unplugs before sleeping. */
	wait_var_event(&conn->plugged, !READ_ONCE(conn->plugged));

	if (conn->qp) {
		rdma_disconnect(conn->id);
		ib_drain_qp(conn->qp);
		rdma_destroy_qp(conn->id);
	}
	conn->qp = NULL;
	if (conn->cq)
		ib_free_cq(conn->cq);
	conn->cq = NULL;
	rxp_send_end(conn);
}

/**
 * rxp_conn_destroy - free all that a connection has of the device
 * @conn: killed
 *
 * Process context.  The struct stays until its last reference goes.
 * conn->id is destroyed, unless the caller has taken it away.
 */
void rxp_conn_destroy(struct rxp_conn *conn)
{
	if (conn->rdev) {
		spin_lock_bh(&conn->rdev->lock);
		list_del_init(&conn->dev_link);
		spin_unlock_bh(&conn->rdev->lock);
	}
	if (conn->id)
		rdma_destroy_id(conn->id);
	if (conn->rdev) {
		rxp_ctl_unmap(conn);
		rxp_conn_unmap_tx(conn);
		rxp_ring_unmap(&conn->rx_ring, conn->rdev->ib, conn->rx_dma, DMA_FROM_DEVICE);
		conn->rx_dma = NULL;
		rxp_pool_put(conn->pool);
	}
	conn->rdev = NULL;
	conn->pool = NULL;
}

/* ------------------------------------------------------------------ receiving */

static void rxp_wc_recv(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rxp_rx *rx = container_of(wc->wr_cqe, struct rxp_rx, cqe);
	struct rxp_conn *conn = rx->conn;

	if (wc->status != IB_WC_SUCCESS) {
		rxp_conn_lost(conn);
		return;
	}
	WRITE_ONCE(conn->last_rx, jiffies);
	WRITE_ONCE(conn->received, conn->received + 1);
	rxp_count(conn->stats, msgs_received);
	ib_dma_sync_single_for_cpu(conn->rdev->ib,
				   rxp_ring_dma(&conn->rx_ring, conn->rx_dma, rx->index),
				   wc->byte_len, DMA_FROM_DEVICE);
	atomic_set(&rx->users, 1);
	conn->ops->recv(conn, rx, wc, wc->byte_len);
}

/**
 * rxp_rx_put - done with a receive buffer; the last one gives it to the device
 * @rx: the buffer; not to be read any more
 *
 * Any context but hard interrupt.  Harmless on a dead connection: the lock
 * keeps a receive from being posted behind the drain.
 */
void rxp_rx_put(struct rxp_rx *rx)
{
	struct rxp_conn *conn = rx->conn;
	bool lost = false;

	if (!atomic_dec_and_test(&rx->users))
		return;
	spin_lock_bh(&conn->sq_lock);
	if (!conn->dead)
		lost = rxp_post_recv(rx);
	spin_unlock_bh(&conn->sq_lock);
	if (lost)
		rxp_conn_lost(conn);
}
