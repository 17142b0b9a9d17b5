// SPDX-License-Identifier: GPL-2.0
/*
 * A connection: one RC queue pair, one completion queue, a ring of receives
 * that always covers what the peer may send.  How things are sent stands in send.c.
 *
 * What it may do next is in connstate.c; rxp_conn_step() is where it does.
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
#include "transport/trace.h"

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
	spin_lock_init(&conn->state_lock);
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

/* The peer finds no receive: wait so long.  Left alone it is 655 ms. */
#define RXP_RNR_TIMER	IB_RNR_TIMER_010_24

/* Wait so long for an acknowledgment: 4.096 us << 17 is half a second. */
#define RXP_ACK_TIMEOUT	17

/**
 * rxp_conn_tune - choose what the other side would choose for us, or nobody
 * @conn: conn->id is not resolved, or not accepted, yet
 *
 * A queue pair's patience is taken from the request otherwise, so a client would say
 * how long a server waits for it.
 */
void rxp_conn_tune(struct rxp_conn *conn)
{
	int tos = READ_ONCE(rxp_service_type);

	rdma_set_min_rnr_timer(conn->id, RXP_RNR_TIMER);
	rdma_set_ack_timeout(conn->id, RXP_ACK_TIMEOUT);
	if (tos >= 0)
		rdma_set_service_type(conn->id, tos);
}

/**
 * rxp_recv_release - free receive buffers
 * @ring: the buffers, or a ring of zeros
 */
void rxp_recv_release(struct rxp_ring *ring)
{
	rxp_ring_destroy(ring);
	atomic64_sub(ring->charged, &rxp_recv_charged);
	ring->charged = 0;
}

/* Large receives, unless there are too many, or no memory for them. */
static int rxp_recv_large(struct rxp_ring *ring, u32 nr, u32 size)
{
	u64 limit = ((u64)totalram_pages() << PAGE_SHIFT) / RXP_RECV_SHARE;
	u64 bytes = (u64)nr * size;

	if (atomic64_add_return(bytes, &rxp_recv_charged) > limit ||
	    rxp_ring_init(ring, nr, size, DMA_FROM_DEVICE, false)) {
		atomic64_sub(bytes, &rxp_recv_charged);
		return -ENOMEM;
	}
	ring->charged = bytes;
	return 0;
}

/* A server's: its share of what clients may have (limits.c). */
static int rxp_recv_init_budget(struct rxp_conn *conn, u32 size)
{
	u32 nr = conn->nr_rx;

	conn->recv_size = rxp_taker_large(conn->taker, nr, size);
	conn->ring_charged = (u64)nr * conn->recv_size;
	if (conn->recv_size > RXP_MSG_MAX) {
		conn->recv_charged = conn->ring_charged;
		if (!rxp_ring_init(&conn->rx_ring, nr, conn->recv_size, DMA_FROM_DEVICE, false))
			return 0;
		rxp_taker_uncharge(conn->taker, conn->ring_charged, conn->recv_charged);
		conn->recv_charged = 0;
		conn->recv_size = RXP_MSG_MAX;
		conn->ring_charged = (u64)nr * RXP_MSG_MAX;
	}
	if (!rxp_taker_charge(conn->taker, conn->ring_charged)) {
		conn->ring_charged = 0;
		return -ENOBUFS;
	}
	return rxp_ring_init(&conn->rx_ring, nr, RXP_MSG_MAX, DMA_FROM_DEVICE, true);
}

/*
 * Messages of a burst travel in one another as far as a receive goes, so the larger
 * receives are, the fewer messages, acknowledgments and wake-ups there are; but each slot
 * has two.  So they are large only until all large ones together take RXP_RECV_SHARE of
 * the memory, and as long as there is any without an effort.  Those that the connection
 * before had are there already, on the client: a mount connects again when there is no
 * memory left, too.  A server's have a budget of their own.
 */
static int rxp_recv_init(struct rxp_conn *conn)
{
	u32 size = clamp(READ_ONCE(rxp_recv_size), RXP_MSG_MAX, RXP_RECV_MAX);
	struct rxp_ring *ring = &conn->rx_ring, large = {};
	bool kept = ring->chunk && ring->nr >= conn->nr_rx;
	int ret = 0;

	/* On iWARP a peer's messages hardly travel in one another: rxp_send_limit(). */
	if (conn->by_reference)
		size = RXP_MSG_MAX;
	if (conn->taker)
		return rxp_recv_init_budget(conn, size);
	if (size > RXP_MSG_MAX && !(kept && ring->size >= size) &&
	    !rxp_recv_large(&large, conn->nr_rx, size)) {
		rxp_recv_release(ring);
		*ring = large;
	} else if (!kept) {
		rxp_recv_release(ring);
		ret = rxp_ring_init(ring, conn->nr_rx, RXP_MSG_MAX, DMA_FROM_DEVICE, true);
	}
	conn->recv_size = ring->charged ? min(size, ring->size) : RXP_MSG_MAX;
	return ret;
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

	ret = rxp_recv_init(conn);
	if (ret)
		return ret;
	conn->rx = kvcalloc(nr, sizeof(*conn->rx), GFP_KERNEL);
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
	u32 carried = rxp_slots_carried(slots, conn->index, conn->count);
	u32 nr_recv = 2 * carried + RXP_RECV_RESERVE, i;
	int ret;

	rxp_pool_get(pool);
	conn->pool = pool;
	conn->rdev = pool->rdev;
	conn->slots = slots;
	conn->nr_rx = nr_recv;
	conn->by_reference = rdma_protocol_iwarp(ib, conn->id->port_num);

	if (nr_recv + 1 > ib->attrs.max_qp_wr)
		return -EINVAL;

	ret = rxp_rx_init(conn);
	if (ret)
		return ret;
	ret = rxp_ctl_init(conn);
	if (ret)
		return ret;

	ret = rxp_qp_create(conn, carried, poll);
	if (ret)
		return ret;

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

	/* kvfree() does, of what vmalloc() made. */
	might_sleep();
	rxp_recv_release(&conn->rx_ring);
	if (conn->taker) {
		rxp_taker_uncharge(conn->taker, conn->ring_charged, conn->recv_charged);
		rxp_taker_put(conn->taker);
	}
	kvfree(conn->rx);
	kfree(conn->ctl);
	kfree(conn);
}

/**
 * rxp_conn_put - drop a reference
 * @conn: the connection; the last reference is dropped after rxp_conn_destroy()
 *
 * Process context, may sleep; any but hard interrupt if it can't be the last one, as the
 * owner's is there as long as the queue pair is.
 */
void rxp_conn_put(struct rxp_conn *conn)
{
	kref_put(&conn->ref, rxp_conn_release);
}

/* The one place where a connection's state changes. */
static int rxp_conn_step(struct rxp_conn *conn, enum rxp_conn_event event)
{
	enum rxp_conn_state from = conn->state;
	int to = rxp_conn_next(from, event);

	lockdep_assert_held(&conn->state_lock);
	if (to >= 0)
		WRITE_ONCE(conn->state, to);
	if (to != from)
		trace_rdmafs_conn_state(conn, conn->index, from, event, to);
	return to;
}

/**
 * rxp_conn_move - something has happened to a connection
 * @conn:  the connection
 * @event: what; not RXP_CONN_LOSE and RXP_CONN_KILL, which have functions of their own
 *
 * Any context.
 *
 * Return: 0; -EPROTO: not in the state that it is in; -ENOTCONN: it is lost.
 */
int rxp_conn_move(struct rxp_conn *conn, enum rxp_conn_event event)
{
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&conn->state_lock, flags);
	ret = rxp_conn_step(conn, event);
	spin_unlock_irqrestore(&conn->state_lock, flags);
	return min(ret, 0);
}

/**
 * rxp_conn_lost - the connection is of no more use
 * @conn: the connection
 *
 * Any context.  The owner is told once, unless he has begun to end it himself.
 */
void rxp_conn_lost(struct rxp_conn *conn)
{
	unsigned long flags;
	bool told;

	spin_lock_irqsave(&conn->state_lock, flags);
	told = conn->state >= RXP_CONN_LOST;
	rxp_conn_step(conn, RXP_CONN_LOSE);
	/* Under the lock: whoever sees it lost may rely on the owner's knowing. */
	if (!told)
		conn->ops->lost(conn);
	spin_unlock_irqrestore(&conn->state_lock, flags);
}

/**
 * rxp_conn_protocol_error - the peer did what it must not do: cut it off
 * @conn: its connection
 * @what: what it did, for the log
 */
void rxp_conn_protocol_error(struct rxp_conn *conn, const char *what)
{
	rxp_count(conn->stats, protocol_errors);
	WRITE_ONCE(conn->broke, true);
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
	unsigned long flags;

	/* Both locks: who posts holds the one, who only asks the other. */
	spin_lock_bh(&conn->sq_lock);
	spin_lock_irqsave(&conn->state_lock, flags);
	rxp_conn_step(conn, RXP_CONN_KILL);
	spin_unlock_irqrestore(&conn->state_lock, flags);
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
	/*
	 * An RDMA WRITE with immediate data takes a receive too, leaves in it what stood
	 * there, and has a length of its own, which is not one of that buffer.
	 */
	if (wc->opcode != IB_WC_RECV || (wc->wc_flags & IB_WC_WITH_IMM) ||
	    wc->byte_len > conn->recv_size) {
		rxp_conn_protocol_error(conn, "not a SEND");
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
	if (!rxp_conn_is_dead(conn))
		lost = rxp_post_recv(rx);
	spin_unlock_bh(&conn->sq_lock);
	if (lost)
		rxp_conn_lost(conn);
}
