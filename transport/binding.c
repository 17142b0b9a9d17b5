// SPDX-License-Identifier: GPL-2.0
/*
 * The binding of an MR: the state of its key.
 *
 *	idle          no queue pair knows the key; the MR may be mapped, registered, freed
 *	registering   its REG_MR is in a queue, and may have been executed or not
 *	valid         the device has reported that the REG_MR was executed
 *	returned      the peer has invalidated the key, but the device has not reported yet
 *	              that the chain with the REG_MR is over
 *	invalidating  a LOCAL_INV is in the queue behind the REG_MR
 *	unknown       its queue pair has failed: the MR can only be deregistered
 *
 * In the normal case an MR goes from idle to registering to valid, and back to idle when the peer
 * invalidates its key, or by way of invalidating when we do.
 *
 * A peer may guess a key before it is told of it: only the last byte changes from one use to the
 * next.  So a message about a key that is not valid proves nothing.  Then our LOCAL_INV is posted
 * behind the REG_MR, on the connection that the REG_MR is on, whichever connection the message
 * came on.
 *
 * An invalidation by the peer can be believed if the device refuses to invalidate a key that is
 * not registered, as InfiniBand and RoCE require: then the REG_MR has been executed, even if its
 * chain is not over.  An iWARP device need not check this (RFC 5040: an STag may be invalid
 * already; siw does not check), so the peer may have sent its invalidation too early.  There we
 * always invalidate the key as well.
 *
 * The owner of an MR must not give it up between registering and valid or unknown, nor while it
 * is invalidating.  For that, rxp_mr_invalidate() has its done() called after that of the
 * registration, even if the connection dies.
 *
 * rxp_pool.lock guards the state.
 */
#include "transport/internal.h"
#include "transport/trace.h"

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
		[RXP_MR_REGISTERED]  = RXP_MR_VALID,
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
	[RXP_MR_VALID] = {
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
		/* After a registration that has failed, no later work request is executed. */
		[RXP_MR_INVALIDATED] = RXP_MR_UNKNOWN,
		[RXP_MR_FAILED]      = RXP_MR_UNKNOWN,
	},
};

/**
 * rxp_mr_next - look up an MR's next state
 * @state: the state
 * @event: the event
 *
 * Context: any.
 *
 * Return: the next state; RXP_MR_NR_STATES: the event can't happen in @state.
 */
enum rxp_mr_state rxp_mr_next(enum rxp_mr_state state, enum rxp_mr_event event)
{
	return rxp_mr_table[state][event];
}

/* Change an MR's state; no other function does.  @mr->pool->lock held. */
static void rxp_mr_move(struct rxp_mr *mr, enum rxp_mr_event event)
{
	enum rxp_mr_state from = mr->state, to = rxp_mr_next(from, event);

	lockdep_assert_held(&mr->pool->lock);
	trace_rdmafs_mr(mr->mr->rkey, from, event, to);
	if (WARN_ON_ONCE(to == NEVER))
		to = RXP_MR_UNKNOWN;
	WRITE_ONCE(mr->state, to);
}

/**
 * rxp_mr_posted - note that a chain that registers an MR is handed to a connection
 * @mr:   idle
 * @conn: about to post the chain; a reference is taken until @mr is idle or destroyed
 *
 * Context: any but hard interrupt; @conn->sq_lock held.  Takes the pool's lock.
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
 * rxp_mr_chain_done - note that a chain that registers or invalidates an MR is over
 * @mr:  the MR
 * @inv: the chain invalidates it
 * @ok:  the chain was executed
 *
 * Context: any but hard interrupt, before the chain's own done().  Takes the pool's lock.
 */
void rxp_mr_chain_done(struct rxp_mr *mr, bool inv, bool ok)
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
 * rxp_mr_remote_inv - note that the peer has invalidated an MR's key
 * @mr:    not idle; the caller has compared the key
 * @waits: the caller gives the MR back only after the chain that registers it is over
 *
 * Context: any but hard interrupt; takes the pool's lock.
 *
 * Return: true: the MR is idle, now or, if the caller @waits, when that chain is over.  false:
 * the key may be valid, or become valid; the caller has to invalidate it.
 */
bool rxp_mr_remote_inv(struct rxp_mr *mr, bool waits)
{
	struct rxp_conn *conn = NULL;
	bool believed;

	spin_lock_bh(&mr->pool->lock);
	believed = mr->pool->rdev->checks_inv &&
		   (mr->state == RXP_MR_VALID || (waits && mr->state == RXP_MR_REGISTERING));
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
 * rxp_mr_invalidate - invalidate an MR's key with a LOCAL_INV
 * @mr:    not idle; no other caller does the same
 * @chain: for the LOCAL_INV
 * @wr:    its work request
 * @done:  called when @chain is over: then the MR is idle if @ok, and unknown if not
 *
 * The LOCAL_INV is posted behind the registration, on the connection that registers @mr.
 *
 * Context: any but hard interrupt; takes the pool's lock and the connection's sq_lock.
 *
 * Return: 0; -ENOTCONN: that connection is over, or its registration has failed.  Then done()
 * will not be called, and the caller gives the MR to rxp_mr_put().
 */
int rxp_mr_invalidate(struct rxp_mr *mr, struct rxp_chain *chain, struct ib_send_wr *wr,
		      void (*done)(struct rxp_chain *chain, bool ok))
{
	struct rxp_conn *conn = NULL;
	int ret = -ENOTCONN;

	spin_lock_bh(&mr->pool->lock);
	if (mr->state == RXP_MR_REGISTERING || mr->state == RXP_MR_VALID) {
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
	/* @mr->conn's reference is kept until the MR is idle or destroyed. */
	ret = rxp_post_behind(conn, chain);
	if (ret)
		rxp_mr_chain_done(mr, true, false);
	return ret;
}
