// SPDX-License-Identifier: GPL-2.0
/*
 * When a call may go, and when it is not to wait any longer.
 *
 * A submitter waits for the connection, then for translations, then for a slot.  It may
 * be told to stop in each of these places, and between any two: by umount -f, which
 * ends what was submitted before (its epoch), by the abort file, and by a device that
 * goes, of which it must hold nothing while it waits.  Who does that first changes what
 * is looked at here, under the session's lock, and then sends away those who wait.  Who
 * has looked before, and begins to wait after, is told by what the call remembers: how
 * often waiters had been sent away when it looked.
 */
#include <linux/sched/signal.h>
#include "transport/client.h"

/**
 * rxp_call_given_up - is a call to end instead of being sent?
 * @x:	  its session, its lock held
 * @call: the call, not on its way
 *
 * Return: 0; -ESHUTDOWN: the session is aborted; -EIO: the call was outstanding when
 * all such were given up.
 */
int rxp_call_given_up(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call)
{
	lockdep_assert_held(&x->lock);
	if (x->state == RXP_ABORTED)
		return -ESHUTDOWN;
	return call->x.epoch == x->epoch ? 0 : -EIO;
}

static bool rxp_call_may_go(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call)
{
	enum rxp_state state = READ_ONCE(x->state);

	return state == RXP_UP || state == RXP_ABORTED || call->x.epoch != READ_ONCE(x->epoch);
}

/**
 * rxp_call_pool - wait until a call can travel
 * @x:	    its session
 * @call:   the call, in no slot; it takes note of who was sent away up to now, so that
 *	    it waits for nothing any more that it is to be sent away from
 * @nowait: -EAGAIN rather than that
 *
 * Process context; without @nowait sleeps, killably.
 *
 * Return: a reference on the pool of whose device it will travel; or an ERR_PTR:
 * -EAGAIN, -EINTR, or what rxp_call_given_up() says.
 */
struct rxp_pool *rxp_call_pool(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call, bool nowait)
{
	struct rxp_pool *pool = NULL;
	int ret;

	for (;;) {
		spin_lock_bh(&x->lock);
		ret = rxp_call_given_up(x, call);
		if (!ret && x->state == RXP_UP && x->pool) {
			pool = x->pool;
			rxp_pool_get(pool);
			call->x.dismissals = rpol_member_dismissals(pool->member);
			call->x.kicks = rxp_slots_kicks(&x->slot_account);
		}
		spin_unlock_bh(&x->lock);
		if (pool)
			return pool;
		if (!ret && nowait)
			ret = -EAGAIN;
		if (!ret)
			ret = wait_event_killable(x->wait, rxp_call_may_go(x, call));
		if (ret)
			return ERR_PTR(ret == -ERESTARTSYS ? -EINTR : ret);
		/* UP without a pool: the worker is about to see that the device goes. */
		cond_resched();
	}
}

/**
 * rxp_call_fits - has nothing changed while a call acquired what it needs?
 * @x:	  its session, its lock held
 * @call: the call
 * @pool: what it is mapped for
 * @slot: its slot
 *
 * Another connection than when it began will do, on the same device and with this slot.
 *
 * Return: true: it can be sent; false: it begins anew.
 */
bool rxp_call_fits(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call,
		   const struct rxp_pool *pool, const struct rxp_slot *slot)
{
	lockdep_assert_held(&x->lock);
	return x->state == RXP_UP && x->pool == pool && slot->index < x->slot_account.nr &&
	       !rxp_call_given_up(x, call);
}
