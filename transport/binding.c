// SPDX-License-Identifier: GPL-2.0
/*
 * The binding of an MR: what is known of its key.
 *
 *	idle          no queue pair knows it; may be mapped, registered, freed
 *	registering   its REG_MR stands in a queue, and may be executed or not
 *	bound         the device has said that it was
 *	returned      the peer has invalidated it, but the device has not said yet that
 *	              the chain with the REG_MR is over
 *	invalidating  a LOCAL_INV stands behind it
 *	unknown       its queue pair has failed: only deregistration will do
 *
 * A peer may guess a key before it is told of it: only the last byte changes from one
 * use to the next.  So nothing that a peer says is believed of a key that is not bound:
 * its LOCAL_INV then goes behind the REG_MR, on the connection whose queue that stands
 * in, whichever connection the peer speaks on.  An invalidation by the peer is believed
 * where devices refuse one of a key that is not registered, as InfiniBand and RoCE have
 * it; there the REG_MR has been executed, whatever is known of its chain.  iWARP devices
 * need not look (RFC 5040: an STag may be invalid already; siw does not): the peer may
 * have said it too early, so there it is always ours as well.
 *
 * Nobody gives up an MR between registering and bound or unknown, nor while it is
 * invalidating: rxp_mr_invalidate() has its done() called behind the registration's
 * in any case, also when the connection dies.
 */
#include "transport/internal.h"

#define NEVER	RXP_MR_NR_STATES

static const u8 rxp_mr_table[RXP_MR_NR_STATES][RXP_MR_NR_EVENTS] = {
	[RXP_MR_IDLE] = {
		[RXP_MR_POSTED]      = RXP_MR_REGISTERING,
		[RXP_MR_REGISTERED]  = NEVER,
		[RXP_MR_REMOTE_INV]  = NEVER,
		[RXP_MR_LOCAL_INV]   = NEVER,
		[RXP_MR_INVALIDATED] = NEVER,
		[RXP_MR_FAILED]      = NEVER,
	},
	[RXP_MR_REGISTERING] = {
		[RXP_MR_POSTED]      = NEVER,
		[RXP_MR_REGISTERED]  = RXP_MR_BOUND,
		[RXP_MR_REMOTE_INV]  = RXP_MR_RETURNED,
		[RXP_MR_LOCAL_INV]   = RXP_MR_INVALIDATING,
		[RXP_MR_INVALIDATED] = NEVER,
		[RXP_MR_FAILED]      = RXP_MR_UNKNOWN,
	},
	[RXP_MR_RETURNED] = {
		[RXP_MR_POSTED]      = NEVER,
		[RXP_MR_REGISTERED]  = RXP_MR_IDLE,
		[RXP_MR_REMOTE_INV]  = NEVER,
		[RXP_MR_LOCAL_INV]   = NEVER,
		[RXP_MR_INVALIDATED] = NEVER,
		[RXP_MR_FAILED]      = RXP_MR_UNKNOWN,
	},
	[RXP_MR_BOUND] = {
		[RXP_MR_POSTED]      = NEVER,
		[RXP_MR_REGISTERED]  = NEVER,
		[RXP_MR_REMOTE_INV]  = RXP_MR_IDLE,
		[RXP_MR_LOCAL_INV]   = RXP_MR_INVALIDATING,
		[RXP_MR_INVALIDATED] = NEVER,
		[RXP_MR_FAILED]      = NEVER,
	},
	[RXP_MR_INVALIDATING] = {
		[RXP_MR_POSTED]      = NEVER,
		[RXP_MR_REGISTERED]  = RXP_MR_INVALIDATING,
		[RXP_MR_REMOTE_INV]  = NEVER,
		[RXP_MR_LOCAL_INV]   = NEVER,
		[RXP_MR_INVALIDATED] = RXP_MR_IDLE,
		[RXP_MR_FAILED]      = RXP_MR_UNKNOWN,
	},
	[RXP_MR_UNKNOWN] = {
		[RXP_MR_POSTED]      = NEVER,
		[RXP_MR_REGISTERED]  = NEVER,
		[RXP_MR_REMOTE_INV]  = NEVER,
		[RXP_MR_LOCAL_INV]   = NEVER,
		/* Behind a registration that has failed nothing is executed. */
		[RXP_MR_INVALIDATED] = RXP_MR_UNKNOWN,
		[RXP_MR_FAILED]      = RXP_MR_UNKNOWN,
	},
};

/**
 * rxp_mr_next - the table
 * @state: of an MR
 * @event: that comes
 *
 * Return: its next state; RXP_MR_NR_STATES: this can't come.
 */
enum rxp_mr_state rxp_mr_next(enum rxp_mr_state state, enum rxp_mr_event event)
{
	return rxp_mr_table[state][event];
}

/* The one place where an MR's state changes. */
static void rxp_mr_move(struct rxp_mr *mr, enum rxp_mr_event event)
{
	enum rxp_mr_state from = mr->state, to = rxp_mr_next(from, event);

	lockdep_assert_held(&mr->pool->lock);
	rxp_mr_trace(mr, event, to);
	if (WARN_ON_ONCE(to == NEVER))
		to = RXP_MR_UNKNOWN;
	WRITE_ONCE(mr->state, to);
}

/**
 * rxp_mr_posted - a chain that registers an MR is the connection's
 * @mr:	  idle
 * @conn: about to post the chain, its sq_lock held; a reference is taken
 */
void rxp_mr_posted(struct rxp_mr *mr, struct rxp_conn *conn)
{
	lockdep_assert_held(&conn->sq_lock);
	rxp_conn_get(conn);
	spin_lock(&mr->pool->lock);
	mr->conn = conn;
	rxp_mr_move(mr, RXP_MR_POSTED);
	spin_unlock(&mr->pool->lock);
}

/**
 * rxp_mr_over - a chain that registers or invalidates an MR is over
 * @mr:	 the MR
 * @inv: it invalidates
 * @ok:	 it was executed
 *
 * Any context but hard interrupt, before the chain's own done().
 */
void rxp_mr_over(struct rxp_mr *mr, bool inv, bool ok)
{
	struct rxp_conn *conn = NULL;

	spin_lock_bh(&mr->pool->lock);
	if (!ok)
		rxp_mr_move(mr, RXP_MR_FAILED);
	else
		rxp_mr_move(mr, inv ? RXP_MR_INVALIDATED : RXP_MR_REGISTERED);
	if (mr->state == RXP_MR_IDLE)
		swap(conn, mr->conn);
	spin_unlock_bh(&mr->pool->lock);
	if (conn)
		rxp_conn_put(conn);
}

/**
 * rxp_mr_remote_inv - the peer has sent an invalidation of an MR's key
 * @mr:	   not idle, its key compared
 * @waits: the caller gives it back only when the chain that registers it is over
 *
 * Any context but hard interrupt.
 *
 * Return: true: it is idle now, or, if the caller @waits, then; false: it may be
 * valid, or become so: to be invalidated.
 */
bool rxp_mr_remote_inv(struct rxp_mr *mr, bool waits)
{
	struct rxp_conn *conn = NULL;
	bool believed;

	spin_lock_bh(&mr->pool->lock);
	believed = mr->pool->rdev->checks_inv &&
		   (mr->state == RXP_MR_BOUND || (waits && mr->state == RXP_MR_REGISTERING));
	if (believed)
		rxp_mr_move(mr, RXP_MR_REMOTE_INV);
	if (mr->state == RXP_MR_IDLE)
		swap(conn, mr->conn);
	spin_unlock_bh(&mr->pool->lock);
	if (conn)
		rxp_conn_put(conn);
	return believed;
}

/**
 * rxp_mr_invalidate - take an MR's key back
 * @mr:	   not idle, and nobody else does the same
 * @chain: for the LOCAL_INV
 * @wr:	   for it, too
 * @done:  called when it is over: then the MR is idle if @ok, and unknown if not
 *
 * On the connection that registers it, behind that.  Any context but hard interrupt.
 *
 * Return: 0; -ENOTCONN: that connection is over, or broken: done() will not be called,
 * and the MR is for rxp_mr_put().
 */
int rxp_mr_invalidate(struct rxp_mr *mr, struct rxp_chain *chain, struct ib_send_wr *wr,
		      void (*done)(struct rxp_chain *chain, bool ok))
{
	struct rxp_conn *conn = NULL;
	int ret = -ENOTCONN;

	spin_lock_bh(&mr->pool->lock);
	if (mr->state == RXP_MR_REGISTERING || mr->state == RXP_MR_BOUND) {
		rxp_mr_move(mr, RXP_MR_LOCAL_INV);
		conn = mr->conn;
	}
	spin_unlock_bh(&mr->pool->lock);
	if (!conn)
		return ret;
	rxp_fill_inv(wr, mr->mr->rkey);
	rxp_chain_init(chain, done);
	rxp_chain_add(chain, wr);
	chain->mr = mr;
	chain->inv = true;
	/* The connection is there until the MR is idle or put. */
	ret = rxp_post_behind(conn, chain);
	if (ret)
		rxp_mr_over(mr, true, false);
	return ret;
}
