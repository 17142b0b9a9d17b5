// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that have no reply when their connection is lost: unmapped, sent again on
 * the next one, or ended.  All of this is the recovery worker's (client.c).  The
 * connection is drained, so nothing but the worker and rxp_call_put() of the
 * reply's reference touches the calls.
 */
#include <linux/wait.h>
#include "transport/client.h"

static struct rdmafs_xprt_call *rxp_unanswered(struct rdmafs_xprt *x, u32 i)
{
	struct rdmafs_xprt_call *call;

	spin_lock_bh(&x->lock);
	call = x->slots[i].replied ? NULL : x->slots[i].call;
	spin_unlock_bh(&x->lock);
	return call;
}

static bool rxp_io_settled(struct rdmafs_xprt *x, struct rxp_io *io)
{
	bool settled;

	spin_lock_bh(&x->lock);
	settled = !io->mapping;
	spin_unlock_bh(&x->lock);
	return settled;
}

/**
 * rxp_calls_unmap - take what unanswered calls have of a device that is dead to us
 * @x: the session; its connection is drained
 *
 * Process context.
 *
 * Return: how many calls wait for a reply.
 */
int rxp_calls_unmap(struct rdmafs_xprt *x)
{
	struct rdmafs_xprt_call *call;
	int n = 0;
	u32 i;

	for (i = 0; x->slots && i < x->slot_account.nr; i++) {
		call = rxp_unanswered(x, i);
		if (!call)
			continue;
		/* Its answer comes when it has been sent again, and not before. */
		spin_lock_bh(&x->lock);
		x->slots[i].conn = NULL;
		spin_unlock_bh(&x->lock);
		if (call->x.io) {
			/* Its submitter sees that the connection is gone, and wakes us. */
			wait_event(x->wait, rxp_io_settled(x, call->x.io));
			rxp_io_unmap(call->x.io);
		}
		n++;
	}
	return n;
}

static void rxp_call_fail(struct rdmafs_xprt *x, struct rxp_slot *slot, int err)
{
	struct rdmafs_xprt_call *call = slot->call;

	spin_lock_bh(&x->lock);
	slot->replied = true;
	spin_unlock_bh(&x->lock);
	call->status = err;
	rxp_call_put(call);
}

/**
 * rxp_calls_renumber - the server has made a new session: its slots begin anew
 * @x: the session; it has no connection that calls travel on
 *
 * Process context.  What may not be done twice fails with -EREMOTEIO; the other
 * unanswered calls are their slots' first.
 */
void rxp_calls_renumber(struct rdmafs_xprt *x)
{
	struct rdmafs_xprt_call *call;
	u32 i;

	for (i = 0; i < x->slot_account.nr; i++) {
		struct rxp_slot *slot = &x->slots[i];

		call = rxp_unanswered(x, i);
		slot->seq = 0;
		if (call && call->flags & RDMAFS_CALL_IDEMPOTENT)
			slot->seq = 1;
		else if (call)
			rxp_call_fail(x, slot, -EREMOTEIO);
	}
}

/**
 * rxp_calls_replay - send every unanswered call again on new connections
 * @x:	   the session; no submitter posts while it is not UP
 * @conns: its new connections, all bound
 * @nr:	   how many
 *
 * Process context, may wait for translations.
 *
 * Return: how many were sent.
 */
int rxp_calls_replay(struct rdmafs_xprt *x, struct rxp_conn **conns, u32 nr)
{
	struct rdmafs_xprt_call *call;
	struct rxp_conn *conn;
	struct rxp_slot *slot;
	int ret, n = 0;
	u32 i;

	for (i = 0; i < x->slot_account.nr; i++) {
		slot = &x->slots[i];
		conn = conns[i % nr];
		call = rxp_unanswered(x, i);
		if (!call)
			continue;
		if (call->x.io) {
			ret = rxp_io_map(call->x.io, conn->pool, false);
			if (ret) {
				/* Never sent with this number: the server waits for it. */
				rxp_conn_lost(conn);
				return n;
			}
		}
		slot->fired = false;
		slot->sent = jiffies;
		if (call->x.io) {
			call->x.io->tagged = false;
			call->x.io->cancelled = false;
		}
		rxp_call_encode(x, conn, call, slot, slot->seq, NULL);
		refcount_inc(&call->x.pending);
		rxp_count(&x->stats, replays);
		spin_lock_bh(&x->lock);
		slot->conn = conn;
		rxp_call_post(conn, call, slot);
		spin_unlock_bh(&x->lock);
		n++;
	}
	return n;
}

/**
 * rxp_calls_fail - end all calls that have no reply
 * @x:	 the session; it has no connection and gets none
 * @err: what they are told
 *
 * Process context.
 */
void rxp_calls_fail(struct rdmafs_xprt *x, int err)
{
	u32 i;

	for (i = 0; x->slots && i < x->slot_account.nr; i++)
		if (rxp_unanswered(x, i))
			rxp_call_fail(x, &x->slots[i], err);
	rxp_later_fail(x, err);
}
