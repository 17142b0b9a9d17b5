// SPDX-License-Identifier: GPL-2.0
/*
 * Calls whose deadline has passed: those of soft mounts that the server has not answered.
 *
 * Such a call is given up wherever it is: while it waits for the connection, for translations or
 * for a slot (ready.c), while it waits to be sent again (deferred.c), and in its slot.  What is in
 * a slot the server may still execute, and the device may still use its pages.  So it ends as all
 * calls do after umount -f: the recovery worker (session.c) ends the connections, drains them, and
 * then ends the call and, with it, the session.  Calls that have time left are sent again in the
 * next session; those that must not be executed twice fail, as whenever a session is lost.
 *
 * The worker may be at work on an attempt to connect, which it does not interrupt.  So as long as
 * there is a call whose time is over, it is looked for again and again.  But waiters are dismissed
 * only once for each call that is not in a slot: the others lose their places in line by that, and
 * would never get what they wait for.
 *
 * A soft mount may become a hard one, on which no call may suffer from the end of a session.  Then
 * the deadlines of the calls that it has do not count any more, but those that end with the wait to
 * be sent (RDMAFS_CALL_UNTIL_SENT), and with that no session.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include "transport/client/client.h"

/* Jiffies until a call whose time is over is looked for again. */
#define RXC_EXPIRE_AGAIN	max(HZ / 10, 1)

/*
 * Is the end of the connections needed for the end of a call in a slot, whose deadline has passed?
 * A call that is answered ends soon by itself if the device is done with it.  If the server sees to
 * it that the device is not, this call has waited for that for a second.  The lock is held.
 */
static bool rxc_call_stuck(const struct rdmafs_xprt_call *call)
{
	lockdep_assert_held(&call->x.xprt->lock);
	switch (call->x.slot->state) {
	case RXC_CALL_ANSWERED:
	case RXC_CALL_ANSWERED_MAPPING:
		return time_after_eq(jiffies, call->deadline + HZ);
	default:
		return true;
	}
}

static void rxc_expire(struct work_struct *work)
{
	struct rdmafs_xprt *x = container_of(work, struct rdmafs_xprt, expire.work);
	bool waits = false, stuck = false, recover = false;
	struct rdmafs_xprt_call *call;

	spin_lock_bh(&x->lock);
	x->expire_armed = false;
	list_for_each_entry(call, &x->timed, x.timed) {
		if (!rxc_call_timed(x, call))
			continue;
		if (!rxc_call_expired(x, call)) {
			rxc_expire_arm(x, call->deadline);
			break;
		}
		if (call->x.slot) {
			stuck |= rxc_call_stuck(call);
		} else if (!call->x.late) {
			call->x.late = true;
			waits = true;
		}
		rxc_expire_arm(x, jiffies + RXC_EXPIRE_AGAIN);
	}
	if (stuck)
		recover = rxc_state_move(x, RXC_EV_FAIL);
	spin_unlock_bh(&x->lock);
	if (waits)
		rxc_waiters_dismiss(x);
	if (recover) {
		pr_info_ratelimited("rdmafs: %pISpc: server not responding, giving up\n", &x->addr);
		mod_delayed_work(rxc_recover_wq, &x->recover, 0);
	}
}

/**
 * rxc_waiters_dismiss - have all calls that are not sent look again whether they are to go on
 * @x: the session
 *
 * Those that are given up end (rxc_call_given_up()); the others go on waiting.
 *
 * Context: process; takes the session's lock.
 */
void rxc_waiters_dismiss(struct rdmafs_xprt *x)
{
	struct rxp_pool *pool = rxc_session_pool(x);

	wake_up_all(&x->wait);
	rxc_slots_dismiss_all(&x->slot_account);
	if (pool) {
		rpol_member_dismiss(pool->member, -EAGAIN);
		rxp_pool_put(pool);
	}
	rxc_deferred_fail(x);
}

/**
 * rdmafs_xprt_set_deadlines - say whether the deadlines of calls count
 * @x:     the session, on which they do at first
 * @count: they do, also those that have passed while they did not
 *
 * Context: any but hard interrupt; takes the session's lock.
 */
void rdmafs_xprt_set_deadlines(struct rdmafs_xprt *x, bool count)
{
	struct rdmafs_xprt_call *call;

	spin_lock_bh(&x->lock);
	WRITE_ONCE(x->timeless, !count);
	/* A call that was dismissed just before deadlines did not count any more waits again. */
	list_for_each_entry(call, &x->timed, x.timed)
		call->x.late = false;
	if (count && !list_empty(&x->timed))
		rxc_expire_arm(x, jiffies);
	spin_unlock_bh(&x->lock);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_set_deadlines);

/**
 * rxc_expire_init - begin without calls that have a deadline
 * @x: a new session
 *
 * Context: process.
 */
void rxc_expire_init(struct rdmafs_xprt *x)
{
	INIT_LIST_HEAD(&x->timed);
	INIT_DELAYED_WORK(&x->expire, rxc_expire);
}

/**
 * rxc_expire_exit - stop looking for deadlines
 * @x: a session without calls, to be freed
 *
 * Context: process, sleeps.
 */
void rxc_expire_exit(struct rdmafs_xprt *x)
{
	cancel_delayed_work_sync(&x->expire);
}
