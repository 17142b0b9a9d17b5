// SPDX-License-Identifier: GPL-2.0
/*
 * Take translations back that are bound to a READ, are needed elsewhere, and do not come back.
 *
 * A member that is entitled to translations waits at most until the READs that hold them are
 * answered.  A server whose disk hangs would make that for ever.  So a READ that has waited for
 * the grace period T while others want its translations gets a CANCEL.  A server that lives drops
 * the RDMA WRITE, held or yet to come, and says so in a REVOKED that invalidates the key.  When it
 * is done with the call it answers CANCELLED, and the client sends the call again in its turn.  A
 * server that does not live misses its heartbeats as well: the connections end, and the keys with
 * them (session.c).
 *
 * They also end if a server that answers PINGs does not answer a CANCEL within T, or does not
 * take the messages that the end of a key waits for in the send queue.  From the CANCEL to the
 * end of the key there is T once, whatever the server says meanwhile.
 */
#include "transport/client/client.h"

/*
 * The MR of a READ that the server could be asked to let go of, or was asked already; NULL if
 * there is none.  The session's lock is held.
 */
static const struct rxp_mr *rxc_slot_revocable(const struct rdmafs_xprt *x,
					       const struct rxc_slot *slot)
{
	const struct rdmafs_xprt_call *call = slot->call;
	const struct rxc_io *io = call ? call->x.io : NULL;

	lockdep_assert_held(&x->lock);
	if (!io || call->dir != RDMAFS_XPRT_READ || !rxc_call_unanswered(slot->state) ||
	    rxc_call_being_mapped(slot->state) || !io->mr || !rxp_mr_known(io->mr))
		return NULL;
	return io->mr;
}

/* Entries of the MRs that were asked for already, and that come back without more. */
static u64 rxc_entries_awaited(struct rdmafs_xprt *x)
{
	const struct rxp_mr *mr;
	u64 entries = 0;
	u32 i;

	lockdep_assert_held(&x->lock);
	for (i = 0; i < x->slot_account.max; i++) {
		mr = rxc_slot_revocable(x, &x->slots[i]);
		/* A READ in state REVOKED that still has its MR waits for our LOCAL_INV. */
		if (mr && (x->slots[i].state == RXC_CALL_CANCELLED ||
			   x->slots[i].state == RXC_CALL_REVOKED))
			entries += mr->policy.entries;
	}
	return entries;
}

/*
 * Is a READ so late that its server is to lose its connection?  A CANCEL that was posted before
 * @before must have been answered.  While others want translations (@wanted), a message that
 * the MR's return waits for must have left the send queue in the same time: the STCRW, the CALL
 * of a READ that is answered, or our LOCAL_INV.
 *
 * This may hit an honest server on a slow link: an STCRW behind many WRITEs costs all
 * connections, and the calls under way are sent again.  But calls that are answered end with
 * the connection, and have their data: so there is progress, though it is slow.
 */
static bool rxc_slot_overdue(const struct rxc_slot *slot, bool wanted, unsigned long before)
{
	const struct rdmafs_xprt_call *call = slot->call;
	const struct rxc_io *io = call ? call->x.io : NULL;

	if (!io || call->dir != RDMAFS_XPRT_READ || !READ_ONCE(io->mr) ||
	    !time_before(io->since, before))
		return false;
	switch (slot->state) {
	case RXC_CALL_CANCELLED:
		return rxp_mr_writable(io->mr);
	case RXC_CALL_FOLLOWED:
	case RXC_CALL_REVOKED:
		return wanted;
	case RXC_CALL_ANSWERED:
		/*
		 * Without a reference nothing is under way, and the MR may be put at this
		 * moment.
		 */
		return wanted && refcount_read(&call->x.pending);
	default:
		return false;
	}
}

/*
 * Note at a heartbeat whether a call is overdue; returns whether it was so at the last one, too, in
 * the same state.  At the first alone its messages may have come and not been handled yet: this
 * machine may have stood still.
 */
static bool rxc_slot_note_overdue(struct rxc_slot *slot, bool wanted, unsigned long before)
{
	struct rxc_io *io = slot->call ? slot->call->x.io : NULL;
	enum rxc_call_state last;

	if (!io)
		return false;
	last = io->overdue;
	io->overdue = rxc_slot_overdue(slot, wanted, before) ? slot->state : RXC_CALL_FREE;
	return io->overdue && io->overdue == last;
}

/**
 * rxc_calls_revoke - cancel the READs that hold translations for too long while others wait
 * @x: the session
 *
 * No more READs are cancelled than cover what others are entitled to: each is sent again and
 * read again, and a slow server would never come to an end with any.
 *
 * A connection whose server is overdue in answering a CANCEL, or in taking messages, is ended.
 *
 * Context: process, from the heartbeat; takes the session's lock.
 */
void rxc_calls_revoke(struct rdmafs_xprt *x)
{
	unsigned long before = jiffies - rxp_grace();
	u64 excess = 0, revoked = 0;
	u32 i;

	spin_lock_bh(&x->lock);
	if (x->state == RXC_UP && x->pool)
		excess = rpol_excess(x->pool->member);
	if (excess)
		revoked = rxc_entries_awaited(x);
	for (i = 0; x->state == RXC_UP && i < x->slot_account.max; i++) {
		if (!rxc_slot_note_overdue(&x->slots[i], excess, before))
			continue;
		pr_warn_ratelimited("rdmafs: %pISpc does not answer a CANCEL, or take what is sent: disconnecting\n",
				    &x->addr);
		rxp_conn_lost(x->conns[i % x->nr_conns]);
		break;
	}
	for (i = 0; revoked < excess && i < x->slot_account.max; i++) {
		struct rxc_slot *slot = &x->slots[i];
		const struct rxp_mr *mr = rxc_slot_revocable(x, slot);
		struct rxc_io *io;

		if (!mr || !time_before(slot->sent, before))
			continue;
		io = slot->call->x.io;
		/* It is cancelled already, or its STCRW is still in the send queue. */
		if (slot->state != RXC_CALL_SENT)
			continue;
		rxc_call_move(x, slot, RXC_CALL_EV_CANCEL);
		io->map_err = -EAGAIN;
		refcount_inc(&slot->call->x.pending);
		revoked += mr->policy.entries;
		rxp_count(&x->stats, cancelled);
		rxc_cancel_send(x, x->conns[i % x->nr_conns], io);
	}
	spin_unlock_bh(&x->lock);
}
