// SPDX-License-Identifier: GPL-2.0
/*
 * A call's life: it is submitted and sent, its answer comes, and its submitter is told.
 *
 * A submitter acquires translations (for a READ whose data does not fit a message), then a slot;
 * then it posts (Documentation/architecture.rst, "Order of acquisition").  If the send queue has
 * no room, the chain waits for it, not the thread.
 *
 * Where mapping overlaps with the server's work (io.c), the CALL goes first and the submitter
 * maps its pages afterwards.  A READ then sends an STCRW, which makes the server fire its CRW.
 * A WRITE holds a CRW of its own, which fires when its pages are mapped and the server's STCRW
 * has come.  If the pages can't be mapped after all, the submitter sends a CANCEL, and the
 * server answers CANCELLED unless it did not need the pages.
 *
 * Once slot->call is set, under the session's lock and with the connection checked, the call
 * belongs to the session: if the connection is lost, the recovery worker sends the call again.
 * state.c says which event may follow in which state; rxc_call_move() applies an event.
 *
 * x.pending counts what must be over before the caller gets its pages back: the reply, each
 * chain that was posted (the CALL, the LOCAL_INV, the message in io->crw) and the submitter's
 * own work in rxc_call_send().  The last rxc_call_put() ends the call: in the caller's context,
 * often softirq, if only unmapping is left to do; in a worker if an MR that a failed queue pair
 * has left must be deregistered, or a bounce buffer be copied.
 *
 * receive.c has what comes from the server.
 */
#include <linux/ktime.h>
#include <linux/mempool.h>
#include <linux/module.h>
#include "transport/client/client.h"
#include "transport/client/trace.h"

/**
 * rxc_call_move - apply an event to the call in a slot
 * @x:     the session, its lock held
 * @slot:  the slot
 * @event: the event
 *
 * An event of ours that can't come in the slot's state is a bug: it warns, and leaves the state
 * as it is.
 *
 * Context: any but hard interrupt.
 *
 * Return: true; false if the event is the server's and breaks the protocol: nothing has
 * changed.
 */
bool rxc_call_move(struct rdmafs_xprt *x, struct rxc_slot *slot, enum rxc_call_event event)
{
	int next = rxc_call_next(slot->state, event);

	lockdep_assert_held(&x->lock);
	trace_rdmafs_call_state(x->session, slot->index, slot->seq, slot->state, event, next);
	/* The server may send anything; the other events are our own. */
	if (next < 0)
		return WARN_ON_ONCE(event < RXC_CALL_EV_STCRW);
	slot->state = next;
	return true;
}

/* -------------------------------------------------------------- end of a call */

/* The last access to @x: rdmafs_xprt_close() takes the lock once more before it frees @x. */
static void rxc_flight_end(struct rdmafs_xprt *x)
{
	spin_lock_bh(&x->lock);
	if (!--x->in_flight && wq_has_sleeper(&x->wait))
		wake_up_all(&x->wait);
	spin_unlock_bh(&x->lock);
}

/**
 * rxc_call_finish - tell the caller that its call is over
 * @call: the call, in no slot, with @call->status set
 *
 * Context: any but hard interrupt; no lock held.  The caller may free @call.
 */
void rxc_call_finish(struct rdmafs_xprt_call *call)
{
	struct rdmafs_xprt *x = call->x.xprt;

	if (call->x.io)
		rxc_io_free(call->x.io);
	call->x.io = NULL;
	rxc_timed_del(x, call, call->status);
	rxp_add(&x->stats, rpc_us, div_u64(ktime_get_ns() - call->x.submitted_ns, NSEC_PER_USEC));
	call->done(call);
	rxc_flight_end(x);
}

/* The slot is freed first, because done() may make the caller submit again at once. */
static void rxc_call_end(struct rdmafs_xprt_call *call)
{
	struct rdmafs_xprt *x = call->x.xprt;
	struct rxc_slot *slot = call->x.slot;
	bool deferred = false;

	if (call->x.io) {
		rxc_io_unmap(call->x.io);
		rxc_io_copy_small(call->x.io);
	}
	rxc_trace(completed, call);
	spin_lock_bh(&x->lock);
	rxc_call_move(x, slot, RXC_CALL_EV_END);
	slot->call = NULL;
	call->x.slot = NULL;
	/* Free the slot before another WRITE is told of room, or this call is sent again. */
	rxc_slots_put(&x->slot_account, slot->index);
	if (call->status == -EAGAIN) {
		call->status = rxc_call_given_up(x, call);
		deferred = !call->status;
	}
	if (deferred)
		rxc_deferred_add(x, call);
	else if (call->dir == RDMAFS_XPRT_WRITE && call->x.io)
		rxc_deferred_admit_one(x);
	spin_unlock_bh(&x->lock);
	if (!deferred)
		rxc_call_finish(call);
}

static void rxc_io_work(struct work_struct *work)
{
	struct rxc_io *io = container_of(work, struct rxc_io, work);

	if (io->bounce && io->call->dir == RDMAFS_XPRT_READ && !io->call->status)
		rxc_io_copy_out(io);
	rxc_call_end(io->call);
}

/**
 * rxc_call_put - drop a reference; the last one ends the call
 * @call: the call; the caller of this function must not touch it afterwards
 *
 * Context: any but hard interrupt; the session's lock may be held only if this is not the last
 * reference.
 */
void rxc_call_put(struct rdmafs_xprt_call *call)
{
	struct rxc_io *io = call->x.io;

	if (!refcount_dec_and_test(&call->x.pending))
		return;
	if (io && ((io->mr && rxp_mr_known(io->mr)) ||
		   (io->bounce && call->dir == RDMAFS_XPRT_READ)))
		queue_work(rxp_wq, &io->work);
	else
		rxc_call_end(call);
}

/* -------------------------------------------------------------------- sending */

static void rxc_call_chain_done(struct rxp_chain *chain, bool ok)
{
	struct rxc_slot *slot = container_of(chain, struct rxc_slot, chain);

	rxc_call_put(slot->call);
}

static void rxc_inv_done(struct rxp_chain *chain, bool ok)
{
	struct rxc_io *io = container_of(chain, struct rxc_io, inv_chain);
	struct rdmafs_xprt *x = io->call->x.xprt;
	struct rxp_mr *mr = NULL;

	if (ok)
		rxc_trace(invalidated, io->call);
	spin_lock_bh(&x->lock);
	/*
	 * The server has given up on this READ, and its reply may take long.  Other members
	 * wait for its translations, so the MR goes now and not with the call.
	 */
	if (ok && io->call->x.slot->state == RXC_CALL_REVOKED)
		swap(mr, io->mr);
	spin_unlock_bh(&x->lock);
	if (mr)
		rxp_mr_put(io->pool, mr);
	rxc_call_put(io->call);
}

/**
 * rxc_io_invalidate - invalidate the key of a READ's MR by a LOCAL_INV
 * @io: of the READ; the server may write to its MR.  The chain takes a reference on the call, which
 *	ends only after the LOCAL_INV
 *
 * Context: softirq, without the session's lock.
 */
void rxc_io_invalidate(struct rxc_io *io)
{
	struct rdmafs_xprt_call *call = io->call;

	rxp_count(&call->x.xprt->stats, local_inv);
	refcount_inc(&call->x.pending);
	if (rxp_mr_invalidate(io->mr, &io->inv_chain, &io->inv, rxc_inv_done))
		rxc_call_put(call);
}

static void rxc_crw_done(struct rxp_chain *chain, bool ok)
{
	struct rxc_io *io = container_of(chain, struct rxc_io, crw);
	struct rdmafs_xprt *x = io->call->x.xprt;

	spin_lock_bh(&x->lock);
	rxc_call_move(x, io->call->x.slot, RXC_CALL_EV_FOLLOWED);
	spin_unlock_bh(&x->lock);
	rxc_call_put(io->call);
}

/* Append the RDMA WRITEs of a WRITE whose sink is known. */
static void rxc_add_writes(struct rdmafs_xprt *x, struct rxp_chain *chain, struct rxc_io *io,
			   const struct rxp_segment *sink)
{
	struct rxp_sg *sg = rxc_io_source(io);
	u32 i;

	rxp_aim_writes(sg, io->nr_wr, sink);
	for (i = 0; i < io->nr_wr; i++)
		rxp_chain_add(chain, &sg->wr[i].wr);
	rxp_add(&x->stats, rdma_writes, io->nr_wr);
}

/**
 * rxc_call_encode - write a CALL into its slot's buffer and build its chain
 * @x:      the session
 * @conn:   the connection that will carry it
 * @call:   the call
 * @slot:   the call's slot
 * @seq:    the sequence number that it is sent with
 * @mapped: data that does not fit the message is mapped; else it is mapped after the CALL
 * @grant:  WRITE: the granted sink that its data goes to, or NULL
 *
 * Context: process; with the session's lock held, or by the recovery worker.
 */
void rxc_call_encode(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rdmafs_xprt_call *call,
		     struct rxc_slot *slot, u32 seq, bool mapped,
		     const struct rxc_held_grant *grant)
{
	void *buf = rxp_ring_buf(&x->tx_ring, slot->index);
	u64 dma = rxp_ring_dma(&x->tx_ring, conn->tx_dma, slot->index);
	u32 lkey = conn->pool->pd->local_dma_lkey;
	u32 len = iov_iter_count(&call->iter);
	struct rxc_io *io = call->x.io;
	struct rxp_frame f = {
		.slot = slot->index,
		.seq = seq,
		.body = call->req,
		.body_len = call->req_len,
	};
	int nr_sge = 1;

	/* A call that is sent again has new time: forget what the heartbeat found of it. */
	if (io)
		io->overdue = RXC_CALL_FREE;
	if (call->dir == RDMAFS_XPRT_READ && len) {
		f.flags = RXP_F_READ;
		f.bulk.length = len;
		if (io && mapped) {
			f.flags |= RXP_F_RKEY;
			f.bulk = rxp_mr_segment(io->mr, len);
		}
	} else if (call->dir == RDMAFS_XPRT_WRITE && io) {
		f.flags = RXP_F_WRITE;
		f.bulk.length = len;
		if (grant) {
			f.flags |= RXP_F_RKEY;
			f.bulk.rkey = grant->sink.rkey;
		}
	} else if (call->dir == RDMAFS_XPRT_WRITE && len) {
		struct iov_iter iter = call->iter;

		f.data_len = copy_from_iter(buf + RXP_HEAD_MAX, len, &iter);
		slot->sge[1].addr = dma + RXP_HEAD_MAX;
		slot->sge[1].length = f.data_len;
		slot->sge[1].lkey = lkey;
		nr_sge = 2;
	}
	slot->sge[0].addr = dma;
	slot->sge[0].length = rxp_frame_write_call(buf, &f);
	slot->sge[0].lkey = lkey;
	ib_dma_sync_single_for_device(conn->rdev->ib, dma, RXP_SLOT_BUF, DMA_TO_DEVICE);

	rxp_fill_send(&slot->wr, slot->sge, nr_sge, grant ? grant->sink.rkey : 0);
	rxp_chain_init(&slot->chain, rxc_call_chain_done);
	if (grant)
		rxc_add_writes(x, &slot->chain, io, &grant->sink);
	if (io && io->mr && mapped) {
		rxp_count(&x->stats, reg_mr);
		rxp_chain_reg(&slot->chain, io->mr, &io->reg);
	}
	rxp_chain_add(&slot->chain, &slot->wr);
	rxp_chain_quiet(conn, &slot->chain, slot->sge[0].length + f.data_len);
}

/**
 * rxc_call_post - post an encoded CALL
 * @conn: the connection that it was encoded for
 * @call: the call; the post takes over one of its references, and drops it if @conn is dead
 * @slot: the call's slot
 * @plug: the post may wait until the task unplugs.  No later post must depend on it, so the
 *	CALL must be small or carry its data.
 *
 * A call with an MR is posted with the session's lock held, so that no reply finds its REG_MR
 * unposted.  Without the lock recovery may have taken the call, and the slot may have another
 * one by now.  But then @conn is dead, and nothing happens except that the reference is
 * dropped.
 *
 * Context: process; does not sleep.
 */
void rxc_call_post(struct rxp_conn *conn, struct rdmafs_xprt_call *call, struct rxc_slot *slot,
		   bool plug)
{
	lockdep_assert(!call->x.io || !call->x.io->mr || lockdep_is_held(&call->x.xprt->lock));
	if (plug ? rxp_post_plugged(conn, &slot->chain) : rxp_post(conn, &slot->chain))
		rxc_call_put(call);
}

static enum rxc_slot_kind rxc_call_kind(const struct rdmafs_xprt_call *call, bool granted)
{
	if (call->flags & RDMAFS_CALL_EVENT)
		return RXC_SLOT_EVENT;
	if (call->flags & RDMAFS_CALL_URGENT)
		return RXC_SLOT_URGENT;
	if (call->x.io && call->dir == RDMAFS_XPRT_WRITE && !granted)
		return RXC_SLOT_BULK;
	return RXC_SLOT_NORMAL;
}

/*
 * Build the message that follows a CALL in the slot's buffer: STCRW or DATA, about @seg, or
 * CANCEL.  A DATA invalidates the server's key.
 */
static void rxc_io_build_msg(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rxc_io *io,
			     u8 op, struct rxp_segment seg)
{
	struct rxc_slot *slot = io->call->x.slot;
	u64 dma = rxp_ring_dma(&x->tx_ring, conn->tx_dma, slot->index);
	struct rxp_frame f = {
		.type = RXP_CONTROL,
		.op = op,
		.slot = slot->index,
		.seq = slot->seq,
		.bulk = seg,
	};

	rxp_build_ctl(conn->pool, rxp_ring_buf(&x->tx_ring, slot->index), dma, &f, &io->crw_sge,
		      &io->crw_send, op == RXP_CONTROL_DATA ? seg.rkey : 0);
	ib_dma_sync_single_for_device(conn->rdev->ib, dma + RXP_MSG_MAX, RXP_CTL_MAX,
				      DMA_TO_DEVICE);
}

/* Post the message of rxc_io_build_msg().  The chain takes over one of the call's references. */
static void rxc_io_post(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rxc_io *io)
{
	rxp_chain_add(&io->crw, &io->crw_send);
	if (rxp_post(conn, &io->crw))
		rxc_call_put(io->call);
}

/**
 * rxc_crw_fire - send the data of a WRITE
 * @x:    the session
 * @conn: the connection that carries the call's slot
 * @io:   of the call, mapped, in state FOLLOWED; the chain takes over one of the call's references
 * @sink: the server's sink
 *
 * Context: any but hard interrupt.
 */
void rxc_crw_fire(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rxc_io *io,
		  const struct rxp_segment *sink)
{
	/* The address says nothing to the server, which knows its sink by the key. */
	struct rxp_segment data = { .rkey = sink->rkey, .length = io->len };

	rxc_trace(crw_fired, io->call);
	rxc_io_build_msg(x, conn, io, RXP_CONTROL_DATA, data);
	rxp_chain_init(&io->crw, rxc_crw_done);
	rxc_add_writes(x, &io->crw, io, sink);
	rxc_io_post(x, conn, io);
}

/* READ: register the pages and tell the server to fire its CRW. */
static void rxc_stcrw_send(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rxc_io *io)
{
	rxc_trace(stcrw_sent, io->call);
	io->since = jiffies;
	rxc_io_build_msg(x, conn, io, RXP_CONTROL_STCRW, rxp_mr_segment(io->mr, io->len));
	rxp_chain_init(&io->crw, rxc_crw_done);
	rxp_chain_reg(&io->crw, io->mr, &io->reg);
	rxp_count(&x->stats, reg_mr);
	rxc_io_post(x, conn, io);
}

/**
 * rxc_cancel_send - tell the server that there is no data, or no room, for a call
 * @x:    the session, its lock held
 * @conn: the connection that carries the call's slot
 * @io:   of the call, which is CANCELLED; @io->crw is not in use; the chain takes over one of
 *	the call's references
 *
 * Context: any but hard interrupt.
 */
void rxc_cancel_send(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rxc_io *io)
{
	lockdep_assert_held(&x->lock);
	rxc_trace(cancelled, io->call);
	io->since = jiffies;
	rxc_io_build_msg(x, conn, io, RXP_CONTROL_CANCEL, (struct rxp_segment) {});
	rxp_chain_init(&io->crw, rxc_crw_done);
	rxc_io_post(x, conn, io);
}

/*
 * Map a call's pages after its CALL was sent.  The submitter's reference keeps the call, and
 * its state, which rxc_call_being_mapped() tests, keeps recovery away from the mapping.
 */
static void rxc_call_map_late(struct rdmafs_xprt *x, struct rxp_pool *pool, struct rxp_conn *conn,
			      struct rdmafs_xprt_call *call, struct rxc_slot *slot)
{
	struct rxc_io *io = call->x.io;
	bool read = call->dir == RDMAFS_XPRT_READ;
	int err = rxc_io_map_late(io);
	struct rxp_mr *mr = NULL;

	rxc_trace(mapped, call);
	/*
	 * The lock is held over the post: a reply that comes now finds the MR in state
	 * REGISTERING, and its LOCAL_INV is queued behind the REG_MR.  The submitter's own
	 * reference keeps the call from ending here, with the lock held.
	 */
	spin_lock_bh(&x->lock);
	/* The recovery worker, which has taken the connections, waits for this call. */
	if (!rxc_conn_current(x, conn))
		rxc_call_move(x, slot, RXC_CALL_EV_LOSE);
	rxc_call_move(x, slot, err ? RXC_CALL_EV_UNMAPPABLE :
			       read ? RXC_CALL_EV_REGISTERED : RXC_CALL_EV_MAPPED);
	switch (slot->state) {
	case RXC_CALL_CANCELLED:
		io->map_err = err;
		/*
		 * The MR was never registered, so its translations are free before the CANCEL
		 * is answered.
		 */
		swap(mr, io->mr);
		refcount_inc(&call->x.pending);
		rxc_cancel_send(x, conn, io);
		break;
	case RXC_CALL_FOLLOWED:
		refcount_inc(&call->x.pending);
		if (read)
			rxc_stcrw_send(x, conn, io);
		else
			rxc_crw_fire(x, conn, io, &io->sink);
		break;
	case RXC_CALL_LOST:
		wake_up_all(&x->wait);
		break;
	case RXC_CALL_ANSWERED:	/* the server did not need the pages; the call's end unmaps them */
		io->since = jiffies;
		break;
	default:		/* WRITE, held until its STCRW comes */
		break;
	}
	spin_unlock_bh(&x->lock);
	/*
	 * The submitter has a reference on @pool; recovery may have unmapped the call by now
	 * and dropped io->pool.
	 */
	if (mr)
		rxp_mr_put(pool, mr);
}

/* The event of a call whose CALL is sent for the first time. */
static enum rxc_call_event rxc_call_begins(const struct rdmafs_xprt_call *call, bool overlap,
					   bool granted)
{
	if (call->x.io && overlap)
		return RXC_CALL_EV_SEND_UNMAPPED;
	if (call->x.io && call->dir == RDMAFS_XPRT_WRITE && !granted)
		return RXC_CALL_EV_HOLD;
	return RXC_CALL_EV_SEND;
}

/* Is there a grant that a call's data can go to?  Only a large WRITE's does. */
static bool rxc_call_has_grant(struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call)
{
	bool fits;

	if (call->dir != RDMAFS_XPRT_WRITE)
		return false;
	spin_lock_bh(&x->lock);
	fits = rxc_grant_fits(x, call->x.io->len);
	spin_unlock_bh(&x->lock);
	return fits;
}

/*
 * Bind a call to its slot, and write its CALL, which is to be posted next: from now on the call
 * belongs to the session.  @grant: the granted sink that its data goes to, or NULL.
 */
static void rxc_call_bind(struct rdmafs_xprt *x, struct rxp_conn *conn,
			  struct rdmafs_xprt_call *call, struct rxc_slot *slot, bool overlap,
			  const struct rxc_held_grant *grant)
{
	lockdep_assert_held(&x->lock);
	if (call->x.io)
		call->x.io->map_err = 0;
	rxc_call_encode(x, conn, call, slot, rxp_seq_next(slot->seq), !overlap, grant);
	slot->seq = rxp_seq_next(slot->seq);
	slot->sent = jiffies;
	slot->sent_ns = rxc_message_time(call, slot->seq);
	slot->call = call;
	call->x.slot = slot;
	rxc_timed_sent(x, call);
	rxc_call_move(x, slot, rxc_call_begins(call, overlap, grant));
	/* One reference each for the reply, the CALL's chain and the submitter. */
	refcount_set(&call->x.pending, 3);
	rxc_trace(sent, call);
}

/* The slot, or a negative errno: for -EAGAIN see rxc_call_send(). */
static int rxc_call_get_slot(struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call,
			     bool granted, bool nowait, struct rxc_slot_waiter *turn)
{
	enum rxc_slot_kind kind = rxc_call_kind(call, granted);

	if (turn)
		return rxc_slots_get_turn(&x->slot_account, kind, turn);
	return rxc_slots_get_since(&x->slot_account, kind, nowait, call->x.slot_dismissals);
}

/* Map a call's data, or reserve what it will be mapped with (@overlap), for the device of @pool. */
static int rxc_call_prepare(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call,
			    struct rxp_pool *pool, bool nowait, bool *grant, bool *overlap)
{
	struct rxc_io *io = call->x.io;

	*grant = false;
	*overlap = false;
	if (!io)
		return 0;
	/* With a granted sink the data goes with the CALL, so it is mapped before. */
	*grant = rxc_call_has_grant(x, call);
	*overlap = !*grant && rxc_io_overlaps(x, io) && !rxc_io_reserve(io, pool);
	return *overlap ? 0 : rxc_io_map(io, pool, nowait);
}

/*
 * Can a call be sent in the slot that it has, with what it has acquired?  0; -ESHUTDOWN: it has to
 * begin anew; -E2BIG.  The lock is held.
 */
static int rxc_call_check(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call,
			  const struct rxp_pool *pool, const struct rxc_slot *slot)
{
	if (!rxc_call_fits(x, call, pool, slot))
		return -ESHUTDOWN;
	/*
	 * The length was checked before the call waited; since then the mount may have
	 * connected to a server, or through a device, that allows less.
	 */
	return call->x.io && call->x.io->len > x->data_max ? -E2BIG : 0;
}

/*
 * Post a call, which may be sent with all that it has acquired, and map its data if that is to be
 * done now.  @grant: the grant that its data goes to, or NULL.  The session's lock is held, and is
 * dropped here.
 */
static void rxc_call_launch(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call,
			    struct rxp_pool *pool, struct rxc_slot *slot, bool overlap,
			    const struct rxc_held_grant *grant)
	__releases(&x->lock)
{
	struct rxp_conn *conn = x->conns[slot->index % x->nr_conns];
	struct rxc_io *io = call->x.io;

	lockdep_assert_held(&x->lock);
	rxp_conn_get(conn);
	rxc_call_bind(x, conn, call, slot, overlap, grant);
	/*
	 * A reply may come from here on, even one from a server that can't have seen the CALL.
	 * It must find the MR in state REGISTERING, so that its LOCAL_INV is queued behind the
	 * REG_MR: hence the post with the lock held.  A CALL without an MR (a small one, or a
	 * WRITE into a granted sink) does not need that, and may be plugged.
	 */
	if (io && !grant)
		rxc_call_post(conn, call, slot, false);
	spin_unlock_bh(&x->lock);

	if (!io || grant) {
		rdmafs_test_point("call_unposted", slot->index);
		rxc_call_post(conn, call, slot, true);
	}
	if (grant)
		rxp_count(&x->stats, write_granted);
	if (overlap && call->dir == RDMAFS_XPRT_READ)
		rxp_count(&x->stats, read_overlapped);
	if (overlap)
		rxc_call_map_late(x, pool, conn, call, slot);
	rxc_call_put(call);
	rxp_conn_put(conn);
}

/**
 * rxc_call_send - acquire what a call needs in order, bind it to the session, post it
 * @x:      the session
 * @call:   the call, counted in flight, in no slot
 * @nowait: -EAGAIN rather than wait for the connection, translations or a slot
 * @turn:   with @nowait: the caller's place in line for a slot, where it stands if it gets -EAGAIN
 *	    for want of one; or NULL
 *
 * Context: process; without @nowait sleeps, killably, as rdmafs_xprt_submit() does.
 *
 * Return: 0: the call may be over by now; or a negative errno of rdmafs_xprt_submit().
 */
int rxc_call_send(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call, bool nowait,
		  struct rxc_slot_waiter *turn)
{
	struct rxc_io *io = call->x.io;
	struct rxc_held_grant held;
	struct rxp_pool *pool;
	struct rxc_slot *slot;
	bool overlap, grant;
	int ret;

again:
	pool = rxc_call_pool(x, call, nowait);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	rdmafs_test_point("call_pool", call->dir);
	ret = rxc_call_prepare(x, call, pool, nowait, &grant, &overlap);
	if (ret)
		goto out_pool;
again_slot:
	ret = rxc_call_get_slot(x, call, grant, nowait, turn);
	if (ret < 0)
		goto out_unmap;
	slot = &x->slots[ret];
	rdmafs_test_point("call_slot", ret);
	spin_lock_bh(&x->lock);
	ret = rxc_call_check(x, call, pool, slot);
	if (ret) {
		spin_unlock_bh(&x->lock);
		rxc_slots_put(&x->slot_account, slot->index);
		goto out_unmap;
	}
	/*
	 * The grant may be gone: used by another WRITE, or recalled.  Then the CRW is held for an
	 * STCRW, which the server may take long to send, and the slot may be one of those that are
	 * kept for other calls.  So the slot goes to a call that waits for it, and the WRITE waits
	 * for one as a WRITE without a grant does.
	 */
	if (grant && !rxc_grant_take(x, io->len, slot, &held)) {
		spin_unlock_bh(&x->lock);
		rxc_slots_put(&x->slot_account, slot->index);
		grant = false;
		goto again_slot;
	}
	rxc_call_launch(x, call, pool, slot, overlap, grant ? &held : NULL);
	rxp_pool_put(pool);
	return 0;

out_unmap:
	if (io)
		rxc_io_unmap(io);
out_pool:
	rxp_pool_put(pool);
	/*
	 * -ESHUTDOWN on a session that is not aborted means that the device goes, or that the
	 * session has moved to another one or can't take the call now; -EAGAIN, that waiters were
	 * dismissed.  Neither ends the call: it begins anew.
	 */
	if ((ret == -ESHUTDOWN && READ_ONCE(x->state) != RXC_ABORTED) ||
	    (ret == -EAGAIN && !nowait))
		goto again;
	return ret;
}

static void rxc_count_data(struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call)
{
	if (call->dir == RDMAFS_XPRT_READ) {
		if (call->x.io)
			rxp_count(&x->stats, read_rdma);
		else
			rxp_count(&x->stats, read_inline);
	} else if (call->dir == RDMAFS_XPRT_WRITE) {
		if (call->x.io)
			rxp_count(&x->stats, write_rdma);
		else
			rxp_count(&x->stats, write_inline);
		rxp_add(&x->stats, bytes_written, iov_iter_count(&call->iter));
	}
}

/**
 * rdmafs_xprt_submit - send a call
 * @x:    the session
 * @call: filled in as struct rdmafs_xprt_call says
 *
 * Context: process; sleeps, killably, for the connection, for translations and for a slot,
 * unless RDMAFS_CALL_NOWAIT.  May also sleep for memory, with that flag as well.
 *
 * Return: 0: @call->done will be called, or was already; else a negative errno, and it will not
 * be called: -EINTR (killed), -EAGAIN (RDMAFS_CALL_NOWAIT), -ESHUTDOWN (aborted), -EIO
 * (rdmafs_xprt_fail_outstanding() was called while the call waited), -ETIMEDOUT (the deadline
 * passed while it waited, or had passed before), -EINVAL (the call is malformed), -E2BIG (the
 * data is more than the quota allows, or than rdmafs_xprt_data_max() is by now: ask for less),
 * -ENOMEM, -EFAULT.
 */
int rdmafs_xprt_submit(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call)
{
	size_t len = call->dir == RDMAFS_XPRT_NODATA ? 0 : iov_iter_count(&call->iter);
	int ret;

	if (!call->req_len || call->req_len > RDMAFS_XPRT_BODY_MAX ||
	    len > RDMAFS_XPRT_DATA_MAX || (len && user_backed_iter(&call->iter)))
		return -EINVAL;
	/*
	 * The limit may have been larger when the caller sized its call: the mount may have
	 * connected since to a server, or through a device, that allows less.
	 */
	if (len > READ_ONCE(x->data_max))
		return -E2BIG;
	if (call->dir == RDMAFS_XPRT_NODATA)
		iov_iter_kvec(&call->iter, ITER_SOURCE, NULL, 0, 0);

	call->x.xprt = x;
	call->x.slot = NULL;
	call->x.io = NULL;
	call->x.submitted_ns = ktime_get_ns();
	call->status = 0;
	call->reply_len = 0;
	call->data_len = 0;
	INIT_LIST_HEAD(&call->x.link);
	if (len > RDMAFS_XPRT_INLINE_MAX) {
		call->x.io = rxc_io_alloc(call);
		INIT_WORK(&call->x.io->work, rxc_io_work);
	}

	rxp_count(&x->stats, calls);
	rxc_count_data(x, call);
	spin_lock_bh(&x->lock);
	call->x.epoch = x->epoch;
	x->in_flight++;
	rxc_timed_add(x, call);
	spin_unlock_bh(&x->lock);
	if (call->x.io && call->dir == RDMAFS_XPRT_WRITE && rxc_deferred_queue(x, call))
		return 0;
	ret = rxc_call_send(x, call, call->flags & RDMAFS_CALL_NOWAIT, NULL);
	if (ret) {
		if (call->x.io)
			rxc_io_free(call->x.io);
		rxc_timed_del(x, call, ret);
		rxc_flight_end(x);
	}
	return ret;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_submit);
