// SPDX-License-Identifier: GPL-2.0
/*
 * Calls: from submit to done.
 *
 * A submitter acquires in the order of design rule 8: translations (a READ
 * whose data does not fit a message), then a slot, then posts; send-queue
 * room is waited for by the chain, not by the thread.  Where mapping overlaps
 * with the server's work (io.c), the CALL goes first; the submitter's pages
 * then follow it: by an STCRW for the server's CRW (READ), or by its own CRW,
 * which fires when pages and the server's STCRW are both there (WRITE).  If
 * they can't be mapped after all, a CANCEL follows, and the server answers
 * CANCELLED, unless it has no need of them.  From the moment that
 * slot->call is set, under the lock and with the connection checked, the call
 * belongs to the session: if the connection dies, recovery sends it again.
 *
 * x.pending counts what must be over before the caller gets its pages back:
 * the reply, each chain that was posted (CALL, LOCAL_INV, the CRW), and the
 * submitter's own stay in this file.  The last one ends the call: in softirq
 * where nothing is left to do but to unmap, else from a worker (an MR that a
 * dead queue pair left bound is deregistered, a bounce buffer copied).
 *
 * The peer may send whatever it likes in a reply.  What is not the one answer
 * expected in that slot ends the connection.
 */
#include <linux/ktime.h>
#include <linux/mempool.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "transport/client.h"
#include "transport/trace.h"

/* A step in a call's life, for whoever traces; its slot is its own still. */
#define rxp_trace(step, of)							\
do {										\
	const struct rdmafs_xprt_call *c = (of);				\
										\
	trace_rdmafs_call_##step(c->x.xprt->session, c->x.slot->index,		\
				 c->x.slot->seq, iov_iter_count(&c->iter));	\
} while (0)

/* -------------------------------------------------------------- end of a call */

/* The last touch of @x: close takes the lock once more before it frees. */
static void rxp_flight_over(struct rdmafs_xprt *x)
{
	spin_lock_bh(&x->lock);
	if (!--x->in_flight && x->closing)
		wake_up(&x->wait);
	spin_unlock_bh(&x->lock);
}

/**
 * rxp_call_done - tell the caller
 * @call: its call, which is over, with @call->status
 *
 * Any context but hard interrupt.
 */
void rxp_call_done(struct rdmafs_xprt_call *call)
{
	struct rdmafs_xprt *x = call->x.xprt;

	if (call->x.io)
		rxp_io_free(call->x.io);
	call->x.io = NULL;
	rxp_add(&x->stats, rpc_us, div_u64(ktime_get_ns() - call->x.submitted_ns, NSEC_PER_USEC));
	call->done(call);
	rxp_flight_over(x);
}

/* The slot goes first: whoever is told of the end may submit again at once. */
static void rxp_call_end(struct rdmafs_xprt_call *call)
{
	struct rdmafs_xprt *x = call->x.xprt;
	struct rxp_slot *slot = call->x.slot;
	bool later = call->status == -EAGAIN;

	if (call->x.io) {
		rxp_io_unmap(call->x.io);
		rxp_io_copy_small(call->x.io);
	}
	rxp_trace(completed, call);
	spin_lock_bh(&x->lock);
	slot->call = NULL;
	call->x.slot = NULL;
	/* Free before somebody is told that there is room, or sends this call again. */
	rxp_slots_put(&x->slot_account, slot->index);
	if (later && x->state == RXP_ABORTED) {
		later = false;
		call->status = -ESHUTDOWN;
	}
	if (later)
		rxp_later_add(x, call);
	else if (call->dir == RDMAFS_XPRT_WRITE && call->x.io)
		rxp_later_room(x);
	spin_unlock_bh(&x->lock);
	if (!later)
		rxp_call_done(call);
}

static void rxp_io_work(struct work_struct *work)
{
	struct rxp_io *io = container_of(work, struct rxp_io, work);

	if (io->bounce && io->call->dir == RDMAFS_XPRT_READ && !io->call->status)
		rxp_io_copy_out(io);
	rxp_call_end(io->call);
}

/**
 * rxp_call_put - one thing less that has to be over before the caller is told
 * @call: its last reference may be this one: it is not to be touched afterwards
 *
 * Any context.
 */
void rxp_call_put(struct rdmafs_xprt_call *call)
{
	struct rxp_io *io = call->x.io;

	if (!refcount_dec_and_test(&call->x.pending))
		return;
	if (io && ((io->mr && io->mr->bound) ||
		   (io->bounce && call->dir == RDMAFS_XPRT_READ)))
		queue_work(rxp_wq, &io->work);
	else
		rxp_call_end(call);
}

/* -------------------------------------------------------------------- sending */

static void rxp_call_sent(struct rxp_chain *chain, bool ok)
{
	struct rxp_slot *slot = container_of(chain, struct rxp_slot, chain);

	rxp_call_put(slot->call);
}

static void rxp_inv_done(struct rxp_chain *chain, bool ok)
{
	struct rxp_io *io = container_of(chain, struct rxp_io, inv_chain);

	if (ok) {
		io->mr->bound = false;
		rxp_trace(invalidated, io->call);
	}
	rxp_call_put(io->call);
}

static void rxp_crw_done(struct rxp_chain *chain, bool ok)
{
	struct rxp_io *io = container_of(chain, struct rxp_io, crw);

	WRITE_ONCE(io->crw_busy, false);
	rxp_call_put(io->call);
}

/* The RDMA WRITEs of a WRITE whose sink is known. */
static void rxp_add_writes(struct rdmafs_xprt *x, struct rxp_chain *chain, struct rxp_io *io,
			   u64 iova, u32 rkey)
{
	struct ib_rdma_wr *wr = io->bounce ? io->bounce->wr : io->wr;
	u32 i;

	rxp_aim_writes(wr, io->nr_wr, iova, rkey);
	for (i = 0; i < io->nr_wr; i++)
		rxp_chain_add(chain, &wr[i].wr);
	rxp_add(&x->stats, rdma_writes, io->nr_wr);
}

/**
 * rxp_call_encode - write a CALL into its slot's buffer, and chain what goes with it
 * @x:	   the session
 * @conn:  where it will be posted
 * @call:  its data, if there is any, is mapped or follows later
 * @slot:  the call's
 * @seq:   what it will be sent with
 * @grant: where its data goes, or NULL
 *
 * Any context.
 */
void rxp_call_encode(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rdmafs_xprt_call *call,
		     struct rxp_slot *slot, u32 seq, const struct rxp_held_grant *grant)
{
	void *buf = rxp_ring_buf(&x->tx_ring, slot->index);
	u64 dma = rxp_ring_dma(&x->tx_ring, conn->tx_dma, slot->index);
	u32 lkey = conn->pool->pd->local_dma_lkey;
	u32 len = iov_iter_count(&call->iter);
	struct rxp_io *io = call->x.io;
	bool mapped = io && !io->mapping;
	struct rxp_frame f = {
		.slot = slot->index,
		.seq = seq,
		.body = call->req,
		.body_len = call->req_len,
	};
	int nr_sge = 1;

	if (call->dir == RDMAFS_XPRT_READ && len) {
		f.flags = RXP_F_READ;
		f.bulk_len = len;
		if (mapped) {
			f.flags |= RXP_F_RKEY;
			f.rkey = io->mr->mr->rkey;
			f.iova = io->mr->mr->iova;
		}
	} else if (call->dir == RDMAFS_XPRT_WRITE && io) {
		f.flags = RXP_F_WRITE;
		f.bulk_len = len;
		if (grant) {
			f.flags |= RXP_F_RKEY;
			f.rkey = grant->rkey;
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
	slot->sge[0].length = rxp_frame_put_call(buf, &f);
	slot->sge[0].lkey = lkey;
	ib_dma_sync_single_for_device(conn->rdev->ib, dma, RXP_SLOT_BUF, DMA_TO_DEVICE);

	rxp_fill_send(&slot->wr, slot->sge, nr_sge, grant ? grant->rkey : 0);
	rxp_chain_init(&slot->chain, rxp_call_sent);
	if (grant)
		rxp_add_writes(x, &slot->chain, io, grant->iova, grant->rkey);
	if (mapped && io->mr) {
		/* From here on nobody knows, until it is seen to be invalid. */
		io->mr->bound = true;
		rxp_count(&x->stats, reg_mr);
		rxp_chain_add(&slot->chain, &io->reg.wr);
	}
	rxp_chain_add(&slot->chain, &slot->wr);
	rxp_chain_quiet(conn, &slot->chain, slot->sge[0].length + f.data_len);
}

/**
 * rxp_call_post - post an encoded CALL
 * @conn: where it was encoded for
 * @call: one of its references is this post's; it is dropped if there is no post
 * @slot: the call's
 *
 * Process context; where the call has an MR, under its session's lock, so that no
 * reply finds it unposted.  Without the lock, recovery may have taken the call, and its
 * slot another one: then @conn is dead, and nothing is changed but the reference.
 */
void rxp_call_post(struct rxp_conn *conn, struct rdmafs_xprt_call *call, struct rxp_slot *slot)
{
	int ret;

	/* Nothing follows a small CALL, or one with its data, that would have to come later. */
	if (!call->x.io || (call->dir == RDMAFS_XPRT_WRITE && slot->fired))
		ret = rxp_post_plugged(conn, &slot->chain);
	else
		ret = rxp_post(conn, &slot->chain);
	if (ret)
		rxp_call_put(call);
}

/* Wait until calls can travel; a reference on the pool of whose device they will. */
static struct rxp_pool *rxp_pool_up(struct rdmafs_xprt *x, bool nowait)
{
	struct rxp_pool *pool = NULL;
	int ret = 0;

	for (;;) {
		spin_lock_bh(&x->lock);
		if (x->state == RXP_ABORTED) {
			ret = -ESHUTDOWN;
		} else if (x->state == RXP_UP && x->pool) {
			pool = x->pool;
			rxp_pool_get(pool);
		}
		spin_unlock_bh(&x->lock);
		if (pool)
			return pool;
		if (!ret && nowait)
			ret = -EAGAIN;
		if (!ret)
			ret = wait_event_killable(x->wait, READ_ONCE(x->state) != RXP_DOWN);
		if (ret)
			return ERR_PTR(ret == -ERESTARTSYS ? -EINTR : ret);
		/* UP without a pool: the worker is about to see that the device goes. */
		cond_resched();
	}
}

static enum rxp_slot_kind rxp_call_kind(const struct rdmafs_xprt_call *call, bool granted)
{
	if (call->flags & RDMAFS_CALL_URGENT)
		return RXP_SLOT_URGENT;
	if (call->x.io && call->dir == RDMAFS_XPRT_WRITE && !granted)
		return RXP_SLOT_BULK;
	return RXP_SLOT_NORMAL;
}

/* Prepare the message behind a CALL: DATA, STCRW or CANCEL, in the slot's buffer. */
static void rxp_io_say(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rxp_io *io, u8 op,
		       u32 rkey, u64 iova)
{
	struct rxp_slot *slot = io->call->x.slot;
	void *msg = rxp_ring_buf(&x->tx_ring, slot->index) + RXP_MSG_MAX;
	u64 dma = rxp_ring_dma(&x->tx_ring, conn->tx_dma, slot->index) + RXP_MSG_MAX;
	struct rxp_wire_tag *tag = msg + sizeof(struct rxp_wire_hdr);
	u32 len = sizeof(struct rxp_wire_hdr);

	rxp_frame_put_hdr(msg, RXP_CONTROL, op, slot->index, slot->seq);
	if (op != RXP_CONTROL_CANCEL) {
		tag->length = cpu_to_le32(io->len);
		tag->rkey = cpu_to_le32(rkey);
		tag->iova = cpu_to_le64(iova);
		len += sizeof(*tag);
	}
	ib_dma_sync_single_for_device(conn->rdev->ib, dma, RXP_CTL_MAX, DMA_TO_DEVICE);
	io->crw_sge.addr = dma;
	io->crw_sge.length = len;
	io->crw_sge.lkey = conn->pool->pd->local_dma_lkey;
	rxp_fill_send(&io->crw_send, &io->crw_sge, 1, op == RXP_CONTROL_DATA ? rkey : 0);
}

/* Post what rxp_io_say() has prepared; the call's reference is the chain's. */
static void rxp_io_post(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rxp_io *io)
{
	rxp_chain_add(&io->crw, &io->crw_send);
	io->crw_busy = true;
	if (rxp_post(conn, &io->crw))
		rxp_crw_done(&io->crw, false);
}

/* WRITE: pages and sink are both there. */
static void rxp_crw_fire(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rxp_io *io,
			 u64 iova, u32 rkey)
{
	rxp_trace(crw_fired, io->call);
	rxp_io_say(x, conn, io, RXP_CONTROL_DATA, rkey, 0);
	rxp_chain_init(&io->crw, rxp_crw_done);
	rxp_add_writes(x, &io->crw, io, iova, rkey);
	rxp_io_post(x, conn, io);
}

/* READ: the pages are there: the server's CRW may fire. */
static void rxp_stcrw_send(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rxp_io *io)
{
	rxp_trace(stcrw_sent, io->call);
	rxp_io_say(x, conn, io, RXP_CONTROL_STCRW, io->mr->mr->rkey, io->mr->mr->iova);
	rxp_chain_init(&io->crw, rxp_crw_done);
	rxp_chain_add(&io->crw, &io->reg.wr);
	rxp_count(&x->stats, reg_mr);
	rxp_io_post(x, conn, io);
}

/**
 * rxp_cancel_send - tell the server that a call's data, or room, is not to be had
 * @x:	  the session, its lock held
 * @conn: its connection
 * @io:	  of the call: its chain is not busy; one of the call's references goes
 */
void rxp_cancel_send(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rxp_io *io)
{
	rxp_trace(cancelled, io->call);
	rxp_io_say(x, conn, io, RXP_CONTROL_CANCEL, 0, 0);
	rxp_chain_init(&io->crw, rxp_crw_done);
	rxp_io_post(x, conn, io);
}

/*
 * The CALL is out; map what it is about.  The submitter's reference keeps the
 * call, io->mapping keeps recovery from the mapping.
 */
static void rxp_call_map_late(struct rdmafs_xprt *x, struct rxp_conn *conn,
			      struct rdmafs_xprt_call *call, struct rxp_slot *slot)
{
	struct rxp_io *io = call->x.io;
	bool read = call->dir == RDMAFS_XPRT_READ, follow;
	int err = rxp_io_map_late(io);

	rxp_trace(mapped, call);
	spin_lock_bh(&x->lock);
	io->mapping = false;
	/* Answered without need of it; or to be sent again by recovery. */
	follow = rxp_conn_current(x, conn) && !slot->replied;
	if (follow && err) {
		io->cancelled = true;
		io->map_err = err;
	} else if (follow && read) {
		/* From here on nobody knows, until it is seen to be invalid. */
		io->mr->bound = true;
	} else if (follow) {
		follow = io->tagged;
	}
	if (follow)
		refcount_inc(&call->x.pending);
	if (!rxp_conn_current(x, conn))
		wake_up_all(&x->wait);
	/*
	 * Posted under the lock: a reply that comes now finds the MR bound, and
	 * its LOCAL_INV must not get ahead of the REG_MR.  The submitter's
	 * reference is left, so that nothing ends the call here.
	 */
	if (follow && err)
		rxp_cancel_send(x, conn, io);
	else if (follow && read)
		rxp_stcrw_send(x, conn, io);
	else if (follow)
		rxp_crw_fire(x, conn, io, io->tag_iova, io->tag_rkey);
	spin_unlock_bh(&x->lock);
}

/**
 * rxp_call_send - acquire in order, make the call the session's, post it
 * @x:	  the session
 * @call: the call, in flight, in no slot
 * @nowait: -EAGAIN rather than wait for the connection, translations or a slot
 *
 * Process context; sleeps as rdmafs_xprt_submit() does.
 *
 * Return: 0: the call may be over by now; or what rdmafs_xprt_submit() says of it.
 */
int rxp_call_send(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call, bool nowait)
{
	struct rxp_io *io = call->x.io;
	bool overlap = false, grant = false;
	struct rxp_held_grant held;
	struct rxp_conn *conn;
	struct rxp_pool *pool;
	struct rxp_slot *slot;
	int ret;

again:
	pool = rxp_pool_up(x, nowait);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	if (io) {
		/* With a sink at hand the data goes with the CALL. */
		grant = call->dir == RDMAFS_XPRT_WRITE && READ_ONCE(x->nr_grants);
		overlap = !grant && rxp_io_overlaps(x, io) && !rxp_io_reserve(io, pool);
		ret = overlap ? 0 : rxp_io_map(io, pool, nowait);
		if (ret)
			goto out_pool;
	}
	ret = rxp_slots_get(&x->slot_account, rxp_call_kind(call, grant), nowait);
	if (ret < 0) {
		if (io)
			rxp_io_unmap(io);
		goto out_pool;
	}
	slot = &x->slots[ret];

	spin_lock_bh(&x->lock);
	/* Another connection than when we began does, if it is on the same device. */
	if (x->state != RXP_UP || x->pool != pool) {
		spin_unlock_bh(&x->lock);
		rxp_slots_put(&x->slot_account, slot->index);
		if (io)
			rxp_io_unmap(io);
		rxp_pool_put(pool);
		goto again;
	}
	conn = x->conns[slot->index % x->nr_conns];
	rxp_conn_get(conn);
	if (io) {
		io->mapping = overlap;
		io->tagged = false;
		io->cancelled = false;
	}
	/* Gone, or all too small: then its CRW waits for an STCRW. */
	grant = grant && rxp_grant_take(x, io->len, &held);
	rxp_call_encode(x, conn, call, slot, slot->seq + 1, grant ? &held : NULL);
	slot->seq++;
	slot->replied = false;
	slot->fired = grant;
	slot->sent = jiffies;
	slot->conn = conn;
	slot->call = call;
	call->x.slot = slot;
	/* The reply, this post, and we. */
	refcount_set(&call->x.pending, 3);
	rxp_trace(sent, call);
	/*
	 * A reply that comes from here on finds the MR bound, though the server
	 * can't have seen the CALL: its LOCAL_INV must not get ahead of the
	 * REG_MR.  A CALL without an MR does not care, and may be plugged: a small
	 * one, and a WRITE into a granted sink.
	 */
	if (io && !grant)
		rxp_call_post(conn, call, slot);
	spin_unlock_bh(&x->lock);

	if (!io || grant)
		rxp_call_post(conn, call, slot);
	if (grant)
		rxp_count(&x->stats, write_granted);
	if (overlap && call->dir == RDMAFS_XPRT_READ)
		rxp_count(&x->stats, read_overlapped);
	if (overlap)
		rxp_call_map_late(x, conn, call, slot);
	rxp_call_put(call);
	rxp_pool_put(pool);
	rxp_conn_put(conn);
	return 0;

out_pool:
	rxp_pool_put(pool);
	/* Not the call's end but the device's: whoever waited on it begins anew. */
	if ((ret == -ESHUTDOWN && READ_ONCE(x->state) != RXP_ABORTED) ||
	    (ret == -EAGAIN && !nowait))
		goto again;
	return ret;
}

static void rxp_count_data(struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call)
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
 * @x:	  the session
 * @call: filled in as struct rdmafs_xprt_call says
 *
 * Process context; sleeps, killably, for the connection, for translations
 * and for a slot, unless RDMAFS_CALL_NOWAIT.
 *
 * Return: 0: @call->done will be called, or was already; else a negative errno
 * and it will not be called: -EINTR (killed), -EAGAIN, -ESHUTDOWN (aborted),
 * -EINVAL (the call is malformed), -E2BIG (more than the quota allows),
 * -ENOMEM, -EFAULT.
 */
int rdmafs_xprt_submit(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call)
{
	size_t len = call->dir == RDMAFS_XPRT_NODATA ? 0 : iov_iter_count(&call->iter);
	int ret;

	if (!call->req_len || call->req_len > RDMAFS_XPRT_BODY_MAX || len > x->data_max ||
	    (len && user_backed_iter(&call->iter)))
		return -EINVAL;
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
		call->x.io = rxp_io_alloc(call);
		INIT_WORK(&call->x.io->work, rxp_io_work);
	}

	rxp_count(&x->stats, calls);
	rxp_count_data(x, call);
	spin_lock_bh(&x->lock);
	x->in_flight++;
	spin_unlock_bh(&x->lock);
	if (call->x.io && call->dir == RDMAFS_XPRT_WRITE && rxp_later_behind(x, call))
		return 0;
	ret = rxp_call_send(x, call, call->flags & RDMAFS_CALL_NOWAIT);
	if (ret) {
		if (call->x.io)
			rxp_io_free(call->x.io);
		rxp_flight_over(x);
	}
	return ret;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_submit);

/* ------------------------------------------------------------------ receiving */

static int rxp_reply_data(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call,
			  const struct rxp_frame *f, bool keyed)
{
	struct iov_iter iter = call->iter;

	if (f->body_len > call->reply_max)
		return -EPROTO;
	if (call->dir != RDMAFS_XPRT_READ && (f->data_len || f->bulk_len))
		return -EPROTO;
	if (f->data_len > iov_iter_count(&iter) || f->bulk_len > iov_iter_count(&iter))
		return -EPROTO;
	/* Nobody writes without a key; that one was out is all that can be said now. */
	if (f->bulk_len && (!call->x.io || !keyed))
		return -EPROTO;

	if (call->x.io) {
		call->x.io->filled = f->bulk_len;
		if (f->data_len) {
			call->x.io->small = kmemdup(f->data, f->data_len, GFP_ATOMIC);
			/* It may be asked for again. */
			if (!call->x.io->small)
				return -EAGAIN;
		}
	} else if (f->data_len && copy_to_iter(f->data, f->data_len, &iter) != f->data_len) {
		return -EPROTO;
	}
	memcpy(call->reply, f->body, f->body_len);
	call->reply_len = f->body_len;
	call->data_len = f->data_len + f->bulk_len;
	rxp_add(&x->stats, bytes_read, call->data_len);
	return 0;
}

/*
 * Is our key invalid now?  True if the peer did it as it should; a LOCAL_INV
 * is posted if it did nothing; anything else is an attack.
 */
static int rxp_reply_inv(struct rdmafs_xprt *x, struct rxp_conn *conn,
			 struct rdmafs_xprt_call *call, const struct ib_wc *wc)
{
	struct rxp_io *io = call->x.io;
	bool bound = io && io->mr && io->mr->bound;

	if (wc->wc_flags & IB_WC_WITH_INVALIDATE) {
		if (!bound || wc->ex.invalidate_rkey != io->mr->mr->rkey)
			return -EPROTO;
		io->mr->bound = false;
		rxp_count(&x->stats, remote_inv);
		rxp_trace(invalidated, call);
		return 0;
	}
	if (!bound)
		return 0;
	rxp_fill_inv(&io->inv, io->mr->mr->rkey);
	rxp_chain_init(&io->inv_chain, rxp_inv_done);
	rxp_chain_add(&io->inv_chain, &io->inv);
	rxp_count(&x->stats, local_inv);
	refcount_inc(&call->x.pending);
	if (rxp_post(conn, &io->inv_chain))
		rxp_call_put(call);
	return 0;
}

static int rxp_reply_status(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call,
			    const struct rxp_frame *f, bool keyed)
{
	struct rxp_io *io = call->x.io;

	switch (f->status) {
	case RXP_STATUS_OK:
		if (io && call->dir == RDMAFS_XPRT_READ)
			rxp_io_served(x, io, f->service_us);
		return rxp_reply_data(x, call, f, keyed);
	case RXP_STATUS_CANCELLED:
		if (io->map_err != -EINVAL)
			return io->map_err;
		/* A bounce buffer's work is done before a CALL. */
		io->direct = true;
		return -EAGAIN;
	case RXP_STATUS_TOO_LARGE:
		return call->dir == RDMAFS_XPRT_WRITE && io ? -E2BIG : -EPROTO;
	default:
		rxp_count(&x->stats, retry_later);
		return -EAGAIN;
	}
}

static const char *rxp_reply(struct rdmafs_xprt *x, struct rxp_conn *conn,
			     const struct rxp_frame *f, const struct ib_wc *wc)
{
	struct rxp_slot *slot = &x->slots[f->slot];
	struct rdmafs_xprt_call *call;
	struct rxp_io *io;
	bool keyed;
	int ret;

	spin_lock_bh(&x->lock);
	call = slot->call;
	io = call ? call->x.io : NULL;
	if (!call || slot->conn != conn || slot->seq != f->seq || slot->replied ||
	    (f->status == RXP_STATUS_CANCELLED && !(io && io->cancelled))) {
		spin_unlock_bh(&x->lock);
		return "a reply to no call";
	}
	slot->replied = true;
	keyed = io && io->mr && io->mr->bound;
	spin_unlock_bh(&x->lock);

	rxp_count(&x->stats, replies);
	rxp_trace(replied, call);
	ret = rxp_reply_inv(x, conn, call, wc);
	if (!ret && (f->flags & RXP_F_GRANT) &&
	    (call->dir != RDMAFS_XPRT_WRITE || !io || !rxp_granted(x, f)))
		ret = -EPROTO;
	if (!ret)
		ret = rxp_reply_status(x, call, f, keyed);
	call->status = ret;
	rxp_call_put(call);
	return ret == -EPROTO ? "a malformed reply" : NULL;
}

/* The server's sink is there: the conditional RDMA WRITE held for it fires. */
static const char *rxp_stcrw_arrived(struct rdmafs_xprt *x, struct rxp_conn *conn,
				     const struct rxp_frame *f)
{
	struct rxp_slot *slot = &x->slots[f->slot];
	struct rxp_io *io;
	bool fire;

	spin_lock_bh(&x->lock);
	io = slot->call ? slot->call->x.io : NULL;
	if (!io || slot->conn != conn || slot->seq != f->seq || slot->replied || slot->fired ||
	    slot->call->dir != RDMAFS_XPRT_WRITE || f->bulk_len != io->len || !f->rkey ||
	    f->iova > U64_MAX - f->bulk_len) {
		spin_unlock_bh(&x->lock);
		return "an STCRW for no write";
	}
	slot->fired = true;
	fire = !io->mapping && !io->cancelled;
	if (fire)
		refcount_inc(&slot->call->x.pending);
	/* Else the submitter fires it, or has cancelled. */
	io->tagged = true;
	io->tag_rkey = f->rkey;
	io->tag_iova = f->iova;
	rxp_trace(stcrw_received, io->call);
	spin_unlock_bh(&x->lock);
	if (fire)
		rxp_crw_fire(x, conn, io, f->iova, f->rkey);
	return NULL;
}

/*
 * Until the WELCOME is here nothing else may come, and that not before the
 * HELLO is out: what a connection may say depends on the session it is bound to.
 */
static const char *rxp_welcome(struct rxp_conn *conn, const struct rxp_frame *f)
{
	/* Pairs with rxp_client_hello(). */
	if (!smp_load_acquire(&conn->hello_sent))
		return "a message before the HELLO";
	if (f->type != RXP_NOTIFY || f->op != RXP_NOTIFY_WELCOME)
		return "a message before the WELCOME";
	memcpy(&conn->welcome, f->body, sizeof(conn->welcome));
	conn->welcome_seen = true;
	complete_all(&conn->welcomed);
	return NULL;
}

static const char *rxp_frame_arrived(struct rxp_conn *conn, const struct rxp_frame *f,
				     const struct ib_wc *wc)
{
	struct rdmafs_xprt *x = conn->owner;

	if (rxp_frame_astray(f, conn->index, conn->count))
		return "a message on another connection than its slot's";
	if ((wc->wc_flags & IB_WC_WITH_INVALIDATE) &&
	    !(f->type == RXP_REPLY && f->alone) && f->op != RXP_NOTIFY_DROPPED)
		return "an invalidation out of place";
	if (!conn->welcome_seen)
		return rxp_welcome(conn, f);
	if (f->type == RXP_REPLY)
		return rxp_reply(x, conn, f, wc);
	switch (f->op) {
	case RXP_NOTIFY_STCRW:
		return rxp_stcrw_arrived(x, conn, f);
	case RXP_NOTIFY_DROPPED:
		return rxp_call_dropped(x, conn, f, wc);
	case RXP_NOTIFY_RECALL:
		rxp_grant_recalled(x, f->rkey);
		return NULL;
	case RXP_NOTIFY_WELCOME:
		return "a second WELCOME";
	default:		/* RXP_NOTIFY_PONG: rxp_frame_check() knows no other */
		return NULL;
	}
}

/**
 * rxp_client_recv - a message from the server
 * @conn: where
 * @rx:	  in which buffer
 * @wc:	  its completion
 * @len:  its length
 *
 * Softirq.
 */
void rxp_client_recv(struct rxp_conn *conn, struct rxp_rx *rx, struct ib_wc *wc, u32 len)
{
	const char *wrong = NULL;
	struct rxp_frame f;
	u32 at = 0;

	do {
		if (rxp_frame_check(rxp_conn_buf(rx), len, at, false, conn->slots, conn->data_max,
				    &f))
			wrong = "a malformed message";
		else
			wrong = rxp_frame_arrived(conn, &f, wc);
		at = f.end;
	} while (!wrong && at < len);
	if (wrong)
		rxp_conn_protocol_error(conn, wrong);
	else
		rxp_rx_put(rx);
}
