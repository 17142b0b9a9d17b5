// SPDX-License-Identifier: GPL-2.0
/*
 * Handle the messages that come from the server.
 *
 * A REPLY ends a call, an STCRW asks for the data of a WRITE, a REVOKED gives back the key of a
 * READ that was cancelled, a RECALL wants grants back, an EVENT is handed on to the mount, and the
 * first message is the WELCOME.
 *
 * The peer may send anything.  rxc_call_match() tests whether a message fits the call that it
 * names; one that does not ends the connection.
 */
#include <linux/slab.h>
#include "transport/client/client.h"
#include "transport/client/trace.h"

/*
 * Match a frame with the call that it names, and apply @event, which the frame stands for, to that
 * call.
 * NULL: there is no such call, and nothing has changed; @wrong is what the server has done.
 *
 * What a server says of a call comes in order, on the connection of the call's slot, and ends with
 * the reply.  So a frame that fits no call is never just late, unless the connection is lost, which
 * rxc_recv() looks at.  Which frames may cross ours on the way is in the table of states (state.c).
 */
static struct rdmafs_xprt_call *rxc_call_match(struct rdmafs_xprt *x, const struct rxp_frame *f,
					       const struct ib_wc *wc, enum rxc_call_event event,
					       const char **wrong)
{
	struct rxc_slot *slot = &x->slots[f->slot];
	struct rdmafs_xprt_call *call = slot->call;
	const struct rxc_io *io = call ? call->x.io : NULL;
	bool fits;

	lockdep_assert_held(&x->lock);
	switch (event) {
	case RXC_CALL_EV_STCRW:
		*wrong = "an STCRW for no write";
		fits = io && call->dir == RDMAFS_XPRT_WRITE && f->bulk.length == io->len &&
		       f->bulk.rkey && !rxp_segment_wraps(&f->bulk);
		break;
	case RXC_CALL_EV_REVOKED:
		*wrong = "a key of no call";
		/*
		 * io->mr is looked at in no other state: a call that is ANSWERED may end at this
		 * moment, and put its MR without the lock.
		 */
		fits = io && slot->state == RXC_CALL_CANCELLED && io->mr &&
		       rxp_mr_writable(io->mr) &&
		       (wc->wc_flags & IB_WC_WITH_INVALIDATE) &&
		       wc->ex.invalidate_rkey == io->mr->mr->rkey;
		break;
	default:	/* RXC_CALL_EV_REPLY, _CANCELLED: rxc_reply_arrived() checks the contents */
		*wrong = "a reply to no call";
		fits = true;
		break;
	}
	/* In a free slot no frame is an event that may come. */
	if (slot->seq != f->seq || !fits || !rxc_call_move(x, slot, event))
		return NULL;
	return call;
}

static int rxc_reply_data(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call,
			  const struct rxp_frame *f, bool keyed)
{
	struct iov_iter iter = call->iter;

	if (f->body_len > call->reply_max)
		return -EPROTO;
	if (call->dir != RDMAFS_XPRT_READ && (f->data_len || f->bulk.length))
		return -EPROTO;
	if (f->data_len > iov_iter_count(&iter) || f->bulk.length > iov_iter_count(&iter))
		return -EPROTO;
	/*
	 * The server can have written only where it had a key.  The key may be invalid again by
	 * now, so whether one was out when the reply came is all that can be checked.
	 */
	if (f->bulk.length && (!call->x.io || !keyed))
		return -EPROTO;

	if (call->x.io) {
		call->x.io->filled = f->bulk.length;
		if (f->data_len) {
			call->x.io->small = kmemdup(f->data, f->data_len, GFP_ATOMIC);
			/* Short of memory: the READ is sent again. */
			if (!call->x.io->small)
				return -EAGAIN;
		}
	} else if (f->data_len && copy_to_iter(f->data, f->data_len, &iter) != f->data_len) {
		return -EPROTO;
	}
	memcpy(call->reply, f->body, f->body_len);
	call->reply_len = f->body_len;
	call->data_len = f->data_len + f->bulk.length;
	rxp_add(&x->stats, bytes_read, call->data_len);
	return 0;
}

/*
 * See to it that the key of a READ is invalid before the call ends.  If the reply invalidated
 * it and the device makes that certain, nothing is left to do; else post a LOCAL_INV.  A reply
 * that invalidates any other key is an attack: -EPROTO.
 */
static int rxc_reply_inv(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call,
			 const struct ib_wc *wc)
{
	struct rxc_io *io = call->x.io;
	bool keyed = io && io->mr && rxp_mr_writable(io->mr);

	if (wc->wc_flags & IB_WC_WITH_INVALIDATE) {
		if (!keyed || wc->ex.invalidate_rkey != io->mr->mr->rkey)
			return -EPROTO;
		rxp_count(&x->stats, remote_inv);
		/*
		 * The invalidation counts even while the MR is REGISTERING, because the caller
		 * gets its data only when the CALL's chain is over.  Not on rxe: until then it
		 * may execute the REG_MR once more, behind the invalidation.
		 */
		if (rxp_mr_remote_inv(io->mr, !io->mr->pool->rdev->quirks.repeats_reg)) {
			rxc_trace(invalidated, call);
			return 0;
		}
	}
	if (keyed)
		rxc_io_invalidate(io);
	return 0;
}

static int rxc_reply_status(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call,
			    const struct rxp_frame *f, bool keyed)
{
	struct rxc_io *io = call->x.io;

	switch (f->status) {
	case RXP_STATUS_OK:
		if (io && call->dir == RDMAFS_XPRT_READ)
			rxc_io_served(x, io, f->service_us);
		else if (!io)
			rxc_message_seen(x, call->x.slot, f->service_us);
		return rxc_reply_data(x, call, f, keyed);
	case RXP_STATUS_CANCELLED:
		if (io->map_err != -EINVAL)
			return io->map_err;
		/*
		 * The pages need a bounce buffer, which only a mapping before the CALL can use:
		 * send the call again that way.
		 */
		io->direct = true;
		return -EAGAIN;
	case RXP_STATUS_TOO_LARGE:
		return call->dir == RDMAFS_XPRT_WRITE && io ? -E2BIG : -EPROTO;
	default:
		rxp_count(&x->stats, retry_later);
		return -EAGAIN;
	}
}

static const char *rxc_reply_arrived(struct rdmafs_xprt *x, struct rxp_conn *conn,
				     const struct rxp_frame *f, const struct ib_wc *wc)
{
	enum rxc_call_event event = f->status == RXP_STATUS_CANCELLED ? RXC_CALL_EV_CANCELLED :
									RXC_CALL_EV_REPLY;
	struct rdmafs_xprt_call *call;
	enum rxc_call_state old;
	const char *wrong;
	struct rxc_io *io;
	bool keyed;
	int ret;

	spin_lock_bh(&x->lock);
	old = x->slots[f->slot].state;
	call = rxc_call_match(x, f, wc, event, &wrong);
	if (!call) {
		spin_unlock_bh(&x->lock);
		return wrong;
	}
	io = call->x.io;
	keyed = io && io->mr && rxp_mr_writable(io->mr);
	/*
	 * The time for the MR to come back (revoke.c) runs from the reply, unless a CANCEL has
	 * started it: the reply does not start it anew.
	 */
	if (io && old != RXC_CALL_CANCELLED && old != RXC_CALL_REVOKED)
		io->since = jiffies;
	spin_unlock_bh(&x->lock);

	rxp_count(&x->stats, replies);
	rxc_trace(replied, call);
	ret = rxc_reply_inv(x, call, wc);
	if (!ret && (f->flags & RXP_F_GRANT) &&
	    (call->dir != RDMAFS_XPRT_WRITE || !io || !rxc_grant_keep(x, conn, f)))
		ret = -EPROTO;
	if (!ret)
		ret = rxc_reply_status(x, call, f, keyed);
	call->status = ret;
	rxc_call_put(call);
	return ret == -EPROTO ? "a malformed reply" : NULL;
}

/* The server's sink is known: fire the CRW that was held for it. */
static const char *rxc_stcrw_arrived(struct rdmafs_xprt *x, struct rxp_conn *conn,
				     const struct rxp_frame *f, const struct ib_wc *wc)
{
	struct rdmafs_xprt_call *call;
	const char *wrong;
	struct rxc_io *io;
	bool fire;

	spin_lock_bh(&x->lock);
	call = rxc_call_match(x, f, wc, RXC_CALL_EV_STCRW, &wrong);
	if (!call) {
		spin_unlock_bh(&x->lock);
		return wrong;
	}
	io = call->x.io;
	/*
	 * In state TAGGED the submitter fires it when the pages are mapped; in CANCELLED
	 * nothing is sent any more.
	 */
	fire = call->x.slot->state == RXC_CALL_FOLLOWED;
	if (fire)
		refcount_inc(&call->x.pending);
	io->sink = f->bulk;
	rxc_trace(stcrw_received, call);
	spin_unlock_bh(&x->lock);
	if (fire)
		rxc_crw_fire(x, conn, io, &f->bulk);
	return NULL;
}

/* A REVOKED: the server will not write any more to the memory of a READ that was cancelled. */
static const char *rxc_revoked_arrived(struct rdmafs_xprt *x, const struct rxp_frame *f,
				       const struct ib_wc *wc)
{
	struct rdmafs_xprt_call *call;
	const char *wrong;
	struct rxc_io *io;
	struct rxp_mr *mr;

	spin_lock_bh(&x->lock);
	call = rxc_call_match(x, f, wc, RXC_CALL_EV_REVOKED, &wrong);
	if (!call) {
		spin_unlock_bh(&x->lock);
		return wrong;
	}
	io = call->x.io;
	mr = io->mr;
	if (rxp_mr_remote_inv(mr, false))
		io->mr = NULL;
	else
		mr = NULL;
	spin_unlock_bh(&x->lock);
	rxp_count(&x->stats, remote_inv);
	/*
	 * io->pool stays with the call until its reply, which this handler sees only after this
	 * message.
	 */
	if (mr)
		rxp_mr_put(io->pool, mr);
	else
		rxc_io_invalidate(io);
	return NULL;
}

/*
 * WELCOME must be the first message, and must not come before HELLO was sent: what may follow
 * depends on the session that the connection is bound to.
 */
static const char *rxc_welcome_arrived(struct rxp_conn *conn, const struct rxp_frame *f)
{
	struct rxc_conn *cc = rxc_conn(conn);

	if (READ_ONCE(conn->state) < RXP_CONN_HELLO)
		return "a message before the HELLO";
	if (f->type != RXP_NOTIFY || f->op != RXP_NOTIFY_WELCOME)
		return "a message before the WELCOME";
	memcpy(&cc->welcome, f->body, sizeof(cc->welcome));
	/* The connection was lost meanwhile: its messages are not looked at any more. */
	if (rxp_conn_move(conn, RXP_CONN_BIND))
		return NULL;
	cc->welcome_seen = true;
	complete_all(&cc->welcomed);
	return NULL;
}

static const char *rxc_frame_arrived(struct rxp_conn *conn, const struct rxp_frame *f,
				     const struct ib_wc *wc)
{
	struct rdmafs_xprt *x = conn->owner;

	if (rxp_frame_astray(f, conn->index, conn->count))
		return "a message on another connection than its slot's";
	if ((wc->wc_flags & IB_WC_WITH_INVALIDATE) &&
	    !(f->type == RXP_REPLY && f->alone) && f->op != RXP_NOTIFY_REVOKED)
		return "an invalidation out of place";
	if (!rxc_conn(conn)->welcome_seen)
		return rxc_welcome_arrived(conn, f);
	if (f->type == RXP_REPLY)
		return rxc_reply_arrived(x, conn, f, wc);
	switch (f->op) {
	case RXP_NOTIFY_STCRW:
		return rxc_stcrw_arrived(x, conn, f, wc);
	case RXP_NOTIFY_REVOKED:
		return rxc_revoked_arrived(x, f, wc);
	case RXP_NOTIFY_RECALL:
		rxc_recall_arrived(x, f);
		return NULL;
	case RXP_NOTIFY_EVENT:
		rxp_count(&x->stats, events);
		if (x->ops && x->ops->event)
			x->ops->event(x->ctx);
		return NULL;
	case RXP_NOTIFY_WELCOME:
		return "a second WELCOME";
	default:		/* RXP_NOTIFY_PONG: rxp_frame_check() knows no other */
		return NULL;
	}
}

/**
 * rxc_recv - handle a message from the server
 * @conn: the connection that it came on
 * @rx:   its buffer, given back here unless the connection is ended
 * @wc:   its completion
 * @len:  its length, bytes
 *
 * Context: softirq.
 */
void rxc_recv(struct rxp_conn *conn, struct rxp_rx *rx, struct ib_wc *wc, u32 len)
{
	const char *wrong = NULL;
	struct rxp_frame f;
	u32 at = 0;

	do {
		if (rxp_frame_check(rxp_conn_buf(rx), len, at, false, conn->slots, conn->data_max,
				    &f))
			wrong = "a malformed message";
		else
			wrong = rxc_frame_arrived(conn, &f, wc);
		at = f.end;
	} while (!wrong && at < len);
	/*
	 * A late message need not fit any more: once the connection is lost, recovery may have
	 * moved the calls on.
	 */
	if (wrong && !rxp_conn_is_lost(conn))
		rxp_conn_protocol_error(conn, wrong);
	else
		rxp_rx_put(rx);
}
