// SPDX-License-Identifier: GPL-2.0
/*
 * The state of a mount's session says when a call may be sent, and when it must not wait any
 * longer.  It is changed and waited for here.
 *
 * A submitter waits for the connection, then for translations, then for a slot.  It may have to
 * stop in each of these places, and between any two: by umount -f, which ends the calls submitted
 * before (their epoch); by the abort file; at its own deadline; and by a device that is removed, of
 * which it must hold nothing while it waits.
 *
 * The task that stops it first changes, under the session's lock, the state that is tested here,
 * and then wakes all waiters.  A submitter may test before the change and begin to wait after the
 * wakeup.  So the call remembers how often waiters had been dismissed when it tested, and the wait
 * ends at once if that has changed.  A deadline passes without any task changing anything: the work
 * that then dismisses the waiters (expire.c) takes the lock first, so a test before that is of the
 * time before the dismissal, too.  It does so once for each call.
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
 * rxc_session_pool - take a reference to the pool that a session has now
 * @x: the session
 *
 * Context: any but hard interrupt; takes the session's lock.
 *
 * Return: the pool, for rxp_pool_put(); NULL if there is none.
 */
struct rxp_pool *rxc_session_pool(struct rdmafs_xprt *x)
{
	struct rxp_pool *pool;

	spin_lock_bh(&x->lock);
	pool = x->pool;
	if (pool)
		rxp_pool_get(pool);
	spin_unlock_bh(&x->lock);
	return pool;
}

/**
 * rxc_call_timed - tell whether the deadline of a call counts
 * @x:	  its session
 * @call: the call
 *
 * Context: any.
 * Return: true if it does, should the call have one.
 */
bool rxc_call_timed(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call)
{
	return !READ_ONCE(x->timeless) || (call->flags & RDMAFS_CALL_UNTIL_SENT);
}

/**
 * rxc_call_expired - tell whether a call's deadline has passed
 * @x:	  its session
 * @call: the call
 *
 * Context: any.
 * Return: true if it has one, which counts and has passed.
 */
bool rxc_call_expired(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call)
{
	return call->deadline && time_after_eq(jiffies, call->deadline) && rxc_call_timed(x, call);
}

/**
 * rxc_expire_arm - have the session look for calls whose deadline has passed
 * @x:  the session, its lock held
 * @at: no later than at that time, in jiffies
 *
 * Context: any but hard interrupt.
 */
void rxc_expire_arm(struct rdmafs_xprt *x, unsigned long at)
{
	unsigned long now = jiffies;

	lockdep_assert_held(&x->lock);
	if (x->expire_armed && !time_before(at, x->expire_at))
		return;
	x->expire_armed = true;
	x->expire_at = at;
	mod_delayed_work(rxp_wq, &x->expire, time_after(at, now) ? at - now : 0);
}

/**
 * rxc_timed_add - begin to watch a call's deadline, if it has one
 * @x:    the session, its lock held
 * @call: the call, which counts in flight
 *
 * Calls of one mount have about the same time, so that a new one mostly comes last.
 *
 * Context: any but hard interrupt.
 */
void rxc_timed_add(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call)
{
	struct rdmafs_xprt_call *c;

	lockdep_assert_held(&x->lock);
	call->x.late = false;
	if (!call->deadline)
		return;
	list_for_each_entry_reverse(c, &x->timed, x.timed)
		if (!time_after(c->deadline, call->deadline))
			break;
	list_add(&call->x.timed, &c->x.timed);
	rxc_expire_arm(x, call->deadline);
}

/**
 * rxc_timed_sent - end what rxc_timed_add() began, if the deadline is for the wait only
 * @x:    the session, its lock held
 * @call: the call, about to be sent for the first time
 *
 * Context: any but hard interrupt.
 */
void rxc_timed_sent(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call)
{
	lockdep_assert_held(&x->lock);
	if (!call->deadline || !(call->flags & RDMAFS_CALL_UNTIL_SENT))
		return;
	list_del(&call->x.timed);
	call->deadline = 0;
}

/**
 * rxc_timed_del - end what rxc_timed_add() began
 * @x:      the session
 * @call:   the call, about to end
 * @status: with which it ends; -ETIMEDOUT is counted
 *
 * Context: any but hard interrupt; takes the session's lock if the call has a deadline.
 */
void rxc_timed_del(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call, int status)
{
	if (!call->deadline)
		return;
	if (status == -ETIMEDOUT)
		rxp_count(&x->stats, timed_out);
	spin_lock_bh(&x->lock);
	list_del(&call->x.timed);
	spin_unlock_bh(&x->lock);
}

/**
 * rxc_call_given_up - tell whether a call has to end instead of being sent
 * @x:	  its session
 * @call: the call, not sent
 *
 * Context: any but hard interrupt; the session's lock held.
 * Return: 0: it does not; -ESHUTDOWN: the session is aborted; -EIO: all calls that were
 * outstanding have been given up since it was submitted; -ETIMEDOUT: its deadline has passed.
 */
int rxc_call_given_up(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call)
{
	lockdep_assert_held(&x->lock);
	if (x->state == RXC_ABORTED)
		return -ESHUTDOWN;
	if (call->x.epoch != x->epoch)
		return -EIO;
	return rxc_call_expired(x, call) ? -ETIMEDOUT : 0;
}

static bool rxc_call_may_go(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call)
{
	enum rxc_session_state state = READ_ONCE(x->state);

	return state == RXC_UP || state == RXC_ABORTED || call->x.epoch != READ_ONCE(x->epoch) ||
	       rxc_call_expired(x, call);
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
