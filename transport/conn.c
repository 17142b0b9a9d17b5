// SPDX-License-Identifier: GPL-2.0
/*
 * A connection: one RC queue pair, one completion queue, and receives for all that the peer may
 * send at any time.  send.c has the sending side; connstate.c has the table of states, which only
 * rxp_conn_step() applies.
 *
 * The end of a connection: rxp_conn_lost() may be called in any context, any number of times.
 * The owner is told once, and queues its worker.  rxp_conn_kill() bars further posting, flushes
 * the queue pair, waits until every completion has been handled, and destroys the queues.  Then
 * it gives back the chains that had no completion, with ok = false.  Memory that a work request
 * named must not be freed or reused before that.
 *
 * Locks: sq_lock guards posting, of sends and receives; state_lock guards the state.  DEAD is set
 * with both held.
 */
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "transport/internal.h"
#include "transport/trace.h"

static void rxp_wc_recv(struct ib_cq *cq, struct ib_wc *wc);

/**
 * rxp_conn_init - make a connection without a device
 * @conn:  all zero; it is in memory that @ops->free() frees after the last rxp_conn_put()
 * @ops:   the owner's callbacks
 * @owner: the owner
 * @stats: where to count; must outlive the queue pair
 * @index: its place among the connections of its session
 * @count: how many connections the session has
 *
 * Context: any.
 */
void rxp_conn_init(struct rxp_conn *conn, const struct rxp_conn_ops *ops, void *owner,
		   struct rxp_stats *stats, u32 index, u32 count)
{
	kref_init(&conn->ref);
	spin_lock_init(&conn->state_lock);
	conn->ops = ops;
	conn->owner = owner;
	conn->stats = stats;
	conn->index = index;
	conn->count = count;
	rxp_send_init(conn);
	INIT_LIST_HEAD(&conn->dev_link);
	conn->last_rx = jiffies;
}

/* How long a peer waits when its SEND found no receive.  The RDMA core's default is 655 ms. */
#define RXP_RNR_TIMER	IB_RNR_TIMER_010_24

/* How long to wait for an acknowledgment: 4.096 us << 17 is half a second. */
#define RXP_ACK_TIMEOUT	17

/**
 * rxp_conn_tune - choose the queue pair's timers and type of service
 * @conn: conn->id is not resolved, or not accepted, yet
 *
 * Otherwise a server's timers would come from the connection request, and a client would decide
 * how long the server waits for it.
 *
 * Context: process.
 */
void rxp_conn_tune(struct rxp_conn *conn)
{
	int tos = READ_ONCE(rxp_service_type);

	rdma_set_min_rnr_timer(conn->id, RXP_RNR_TIMER);
	rdma_set_ack_timeout(conn->id, RXP_ACK_TIMEOUT);
	if (tos >= 0)
		rdma_set_service_type(conn->id, tos);
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

/*
 * Make the receives, which the owner allocates.
 *
 * The messages of a burst are joined as far as they fit into a receive.  So the larger the
 * receives are, the fewer messages, acknowledgments and wake-ups there are.  But each slot has
 * two receives, so the owner makes them large only as far as there is memory.
 */
static int rxp_rx_init(struct rxp_conn *conn)
{
	u32 size = clamp(READ_ONCE(rxp_recv_size), RXP_MSG_MAX, RXP_RECV_MAX);
	u32 nr = conn->nr_rx, i;
	int ret;

	/*
	 * The peer's device is most likely of our kind, and joins no more than stays below a page:
	 * rxp_send_limit().
	 */
	if (conn->by_reference)
		size = RXP_MSG_MAX;
	ret = conn->ops->receives(conn, size);
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
 * @pool:  a pool on that device; a reference is taken
 * @slots: slots of the session; two receives are posted for each slot that this connection
 *	   carries, and RXP_RECV_RESERVE more
 * @poll:  the context in which completions are handled
 *
 * Context: process, may sleep.  On failure the caller kills and destroys the connection.
 *
 * Return: 0 or a negative errno.
 */
int rxp_conn_setup(struct rxp_conn *conn, struct rxp_pool *pool, u32 slots,
		   enum ib_poll_context poll)
{
	u32 carried = rxp_slots_carried(slots, conn->index, conn->count);
	u32 nr_recv = 2 * carried + RXP_RECV_RESERVE, i;
	int ret;

	rxp_pool_get(pool);
	conn->pool = pool;
	conn->rdev = pool->rdev;
	conn->slots = slots;
	conn->nr_rx = nr_recv;
	conn->by_reference = pool->rdev->quirks.by_reference;

	if (nr_recv + 1 > conn->rdev->ib->attrs.max_qp_wr)
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
 * Context: process, may sleep.
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
 * @conn: mapped or not; drained, or no buffer of @conn->tx_ring was ever sent on it
 *
 * Context: process.
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
 *
 * Context: any.
 */
void rxp_conn_get(struct rxp_conn *conn)
{
	kref_get(&conn->ref);
}

static void rxp_conn_release(struct kref *ref)
{
	struct rxp_conn *conn = container_of(ref, struct rxp_conn, ref);

	/* kvfree() sleeps if the memory is from vmalloc(). */
	might_sleep();
	kvfree(conn->rx);
	kfree(conn->ctl);
	conn->ops->free(conn);
}

/**
 * rxp_conn_put - drop a reference
 * @conn: the connection; the last reference is dropped after rxp_conn_destroy()
 *
 * Context: process, may sleep.  Any context but hard interrupt if this can't be the last
 * reference: the owner holds one as long as the queue pair exists.
 */
void rxp_conn_put(struct rxp_conn *conn)
{
	kref_put(&conn->ref, rxp_conn_release);
}

/* Change the state; no other function does.  @conn->state_lock held. */
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
 * rxp_conn_move - change a connection's state after an event
 * @conn:  the connection
 * @event: not RXP_CONN_LOSE or RXP_CONN_KILL: see rxp_conn_lost() and rxp_conn_kill()
 *
 * Context: any; takes @conn->state_lock.
 *
 * Return: 0; -EPROTO: the event can't happen in the present state; -ENOTCONN: the connection is
 * lost.
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
 * rxp_conn_lost - mark a connection lost and tell its owner
 * @conn: the connection
 *
 * The owner is told once, and not at all if it has begun to end the connection.
 *
 * Context: any; takes @conn->state_lock, and calls ops->lost() with it held.
 */
void rxp_conn_lost(struct rxp_conn *conn)
{
	unsigned long flags;
	bool told;

	spin_lock_irqsave(&conn->state_lock, flags);
	told = conn->state >= RXP_CONN_LOST;
	rxp_conn_step(conn, RXP_CONN_LOSE);
	/*
	 * Under the lock: a task that sees the connection lost can rely on the owner's having
	 * been told.
	 */
	if (!told)
		conn->ops->lost(conn);
	spin_unlock_irqrestore(&conn->state_lock, flags);
}

/**
 * rxp_conn_protocol_error - cut off a peer that broke the protocol
 * @conn: its connection
 * @what: the violation, for the log
 *
 * Context: any, as rxp_conn_lost().
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
 * Afterwards no completion comes any more.  Every chain's done() has been called, or, if the
 * chain is quiet, the task that has posted it may still be calling it.
 *
 * Context: process, sleeps.  Called once, by the owner's worker.
 */
void rxp_conn_kill(struct rxp_conn *conn)
{
	unsigned long flags;

	/*
	 * Both locks: posting tests the state with sq_lock held, rxp_conn_lost() with state_lock.
	 */
	spin_lock_bh(&conn->sq_lock);
	spin_lock_irqsave(&conn->state_lock, flags);
	rxp_conn_step(conn, RXP_CONN_KILL);
	spin_unlock_irqrestore(&conn->state_lock, flags);
	spin_unlock_bh(&conn->sq_lock);
	/* A task that has plugged chains unplugs them, at the latest before it sleeps. */
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
 * rxp_conn_destroy - free everything that a connection has of the device
 * @conn: killed
 *
 * conn->id is destroyed, unless the caller has taken it away.  The struct stays until its last
 * reference is dropped.
 *
 * Context: process, sleeps.
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
	 * An RDMA WRITE with immediate data takes a receive, too.  It leaves the old contents in
	 * the buffer, and its length is that of the WRITE, not of the buffer.
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
 * rxp_rx_put - give a receive buffer back; the last user gives it to the device
 * @rx: the buffer; the caller does not read it any more
 *
 * On a dead connection the buffer is not posted: the lock keeps a receive from being posted after
 * the drain.
 *
 * Context: any but hard interrupt; takes the connection's sq_lock.
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
