// SPDX-License-Identifier: GPL-2.0
/*
 * The state of a mount's session says when a call may be sent, and when it must not wait any
 * longer.  It is changed and waited for here.
 *
 * A submitter waits for the connection, then for translations, then for a slot.  It may have to
 * stop in each of these places, and between any two: by umount -f, which ends the calls submitted
 * before (their epoch); by the abort file; and by a device that is removed, of which it must hold
 * nothing while it waits.
 *
 * The task that stops it first changes, under the session's lock, the state that is tested here,
 * and then wakes all waiters.  A submitter may test before the change and begin to wait after the
 * wakeup.  So the call remembers how often waiters had been dismissed when it tested, and the wait
 * ends at once if that has changed.
 */
#include <linux/sched/signal.h>
#include "transport/client/client.h"
#include "transport/client/trace.h"

/**
 * rxc_state_move - apply an event to a session
 * @x:     the session, its lock held
 * @event: the event
 *
 * Context: any but hard interrupt; does not wake x->wait.
 *
 * Return: whether that changed its state.
 */
bool rxc_state_move(struct rdmafs_xprt *x, enum rxc_session_event event)
{
	enum rxc_session_state old = x->state, new = rxc_state_next(old, event);

	lockdep_assert_held(&x->lock);
	trace_rdmafs_session_state(x->session, old, event, new);
	WRITE_ONCE(x->state, new);
	return new != old;
}

/**
 * rxc_call_given_up - tell whether a call has to end instead of being sent
 * @x:	  its session
 * @call: the call, not sent
 *
 * Context: any but hard interrupt; the session's lock held.
 * Return: 0: it does not; -ESHUTDOWN: the session is aborted; -EIO: all calls that were
 * outstanding have been given up since it was submitted.
 */
int rxc_call_given_up(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call)
{
	lockdep_assert_held(&x->lock);
	if (x->state == RXC_ABORTED)
		return -ESHUTDOWN;
	return call->x.epoch == x->epoch ? 0 : -EIO;
}

static bool rxc_call_may_go(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call)
{
	enum rxc_session_state state = READ_ONCE(x->state);

	return state == RXC_UP || state == RXC_ABORTED || call->x.epoch != READ_ONCE(x->epoch);
}

/**
 * rxc_call_pool - wait until a call can be sent
 * @x:	    its session
 * @call:   the call, in no slot; it remembers how often waiters have been dismissed, so that a
 *	    later wait for translations or for a slot ends if they are dismissed again
 * @nowait: return -EAGAIN instead of waiting
 *
 * Context: process; sleeps without @nowait, killable; takes the session's lock.
 * Return: a reference to the pool of the device that the call will be sent on; or an ERR_PTR:
 * -EAGAIN, -EINTR, or an error of rxc_call_given_up().
 */
struct rxp_pool *rxc_call_pool(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call, bool nowait)
{
	struct rxp_pool *pool = NULL;
	int ret;

	for (;;) {
		spin_lock_bh(&x->lock);
		ret = rxc_call_given_up(x, call);
		if (!ret && x->state == RXC_UP && x->pool) {
			pool = x->pool;
			rxp_pool_get(pool);
			call->x.dismissals = rpol_member_dismissals(pool->member);
			call->x.slot_dismissals = rxc_slots_dismissals(&x->slot_account);
		}
		spin_unlock_bh(&x->lock);
		if (pool)
			return pool;
		if (!ret && nowait)
			ret = -EAGAIN;
		if (!ret)
			ret = wait_event_killable(x->wait, rxc_call_may_go(x, call));
		if (ret)
			return ERR_PTR(ret == -ERESTARTSYS ? -EINTR : ret);
		/* UP without a pool: the worker is about to see that the device is removed. */
		cond_resched();
	}
}

/**
 * rxc_call_fits - check that a call can be sent with what it has acquired
 * @x:	  its session
 * @call: the call
 * @pool: the pool that it is mapped for
 * @slot: its slot
 *
 * The connection may be another than when the call began, if the pool is the same and the session
 * still has this slot.
 *
 * Context: any but hard interrupt; the session's lock held.
 * Return: true: it can be sent; false: it has to begin anew.
 */
bool rxc_call_fits(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call,
		   const struct rxp_pool *pool, const struct rxc_slot *slot)
{
	lockdep_assert_held(&x->lock);
	return x->state == RXC_UP && x->pool == pool && slot->index < x->slot_account.nr &&
	       !rxc_call_given_up(x, call);
}
