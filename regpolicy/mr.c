// SPDX-License-Identifier: GPL-2.0
/*
 * The life of an MR: bound, idle, bound again, gone.
 *
 * Binding one takes the member's lock and, for what is charged beyond its
 * minimum, one atomic operation on the domain.  Only who exceeds its window or
 * finds no room, and who gives back what somebody may wait for, goes to the
 * domain's lock.
 *
 * A waiter that is killed leaves the queue; if it was granted what it wants in
 * the same moment it keeps that, so nothing is ever granted to nobody.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/time64.h>
#include "regpolicy/domain.h"

/*
 * How often a sleeping waiter looks at the queue itself.  It never has to if
 * the domain's owner calls rpol_domain_tick() when it is asked to.
 */
#define WAIT_PERIOD	(HZ / 10)

/**
 * rpol_member_integrate_locked - bring the time integrals up to date
 * @mem: the member, its lock held; called before a change of what is charged,
 *	 what it is charged for, or what is waited for
 * @now: ns
 */
void rpol_member_integrate_locked(struct rpol_member *mem, u64 now)
{
	u64 idle = mem->idle_entries + mem->lent_entries, us, waited, waited_us = 0;

	lockdep_assert_held(&mem->lock);
	/* Clocks of two processors may be read in another order than locks are taken. */
	if (now > mem->charged_at) {
		us = div_u64(now - mem->charged_at, NSEC_PER_USEC);
		waited = rpol_waited_ns(mem->dom, now);
		if (waited > mem->waited_at)
			waited_us = min(us, div_u64(waited - mem->waited_at, NSEC_PER_USEC));
		mem->stats.charged_us += mem->acct.charged * us;
		mem->stats.bound_us += mem->bound * us;
		mem->stats.converting_us += mem->revoking * us;
		mem->stats.idle_us += idle * (us - waited_us);
		mem->stats.idle_waited_us += idle * waited_us;
		mem->charged_at += us * NSEC_PER_USEC;
		mem->waited_at += waited_us * NSEC_PER_USEC;
	}
	if (now > mem->waiting_at) {
		us = div_u64(now - mem->waiting_at, NSEC_PER_USEC);
		mem->stats.waiting_us += mem->waiting * us;
		mem->waiting_at += us * NSEC_PER_USEC;
	}
}

/*
 * Takes from the common part what a charge needs of it, which is nothing if
 * @need is not positive; but even then a debt must be left covered.
 */
static bool common_take(struct rpol_domain *dom, s64 need)
{
	s64 common = atomic64_read(&dom->common);

	do {
		if (need > common)
			return false;
		if (need <= 0)
			return true;
	} while (!atomic64_try_cmpxchg(&dom->common, &common, common - need));
	return true;
}

/**
 * rpol_member_bind_locked - bind an idle MR, or charge for a new one
 * @mem: the member, its lock held
 * @class: of the MR, or RPOL_NO_CLASS
 * @entries: of it
 * @closed: somebody waits: nothing may be taken of the common part
 * @now: ns
 * @mr: out, if admitted: the idle MR, or NULL for a new one
 *
 * The window is not looked at here.
 *
 * Return: RPOL_ADMITTED if @entries are bound, else what is in the way.
 */
enum rpol_verdict rpol_member_bind_locked(struct rpol_member *mem, unsigned int class,
					  u32 entries, bool closed, u64 now,
					  struct rpol_mr **mr)
{
	s64 need;

	lockdep_assert_held(&mem->lock);
	*mr = rpol_idle_beyond_max(mem) ? NULL : rpol_idle_take_locked(mem, class, now);
	if (!*mr) {
		if (!rpol_admit_own(&mem->acct, entries))
			return RPOL_WAIT_OWN;
		need = rpol_admit_need(&mem->acct, entries);
		if ((closed && need > 0) || !common_take(mem->dom, need))
			return RPOL_WAIT_COMMON;
		rpol_member_integrate_locked(mem, now);
		WRITE_ONCE(mem->acct.charged, mem->acct.charged + entries);
		if (mem->stats.charged_peak < mem->acct.charged)
			mem->stats.charged_peak = mem->acct.charged;
		mem->bound += entries;
	}
	mem->stats.grants++;
	return RPOL_ADMITTED;
}

/**
 * rpol_member_window_locked - a member's window now
 * @mem: the member, its lock held
 * @now: ns
 *
 * Cut while others wait, growing back afterwards.
 *
 * Return: entries, or RPOL_NO_WINDOW.
 */
u64 rpol_member_window_locked(struct rpol_member *mem, u64 now)
{
	struct rpol_domain *dom = mem->dom;
	u64 since, window;

	if (mem->window == RPOL_NO_WINDOW || READ_ONCE(dom->contended))
		return mem->window;
	since = READ_ONCE(dom->calm_since);
	window = rpol_window_grown(mem->window, READ_ONCE(dom->capacity),
				   now > since ? now - since : 0);
	if (window == RPOL_NO_WINDOW)
		mem->window = window;
	return window;
}

/*
 * Serves the queue.  A claim that only its own member's maximum held up, or
 * that stood behind such a one, may be in line again now, and the first for
 * long: then entitlements are as old as that, and nobody knows who has too much.
 */
static void serve_locked(struct rpol_domain *dom, u64 now)
{
	rpol_order_serve_locked(dom, now);
	if (dom->contended || !dom->wanted)
		return;
	rpol_balance_try_locked(dom, now);
	rpol_order_serve_locked(dom, now);
}

/* One attempt that overtakes nobody: 0, -EAGAIN if it has to queue, -ESHUTDOWN. */
static int mr_get_now(struct rpol_member *mem, unsigned int class, u32 entries,
		      struct rpol_mr **mr)
{
	struct rpol_domain *dom = mem->dom;
	u64 now = rpol_now(dom);
	int ret = -EAGAIN;

	spin_lock_bh(&mem->lock);
	rpol_peak_note(&mem->demand, now, mem->bound + mem->waiting,
		       mem->bound + mem->waiting + entries);
	if (mem->shutdown) {
		mem->stats.refused++;
		ret = -ESHUTDOWN;
	} else if (!mem->nr_waiters &&
		   mem->bound + entries <= rpol_member_window_locked(mem, now) &&
		   rpol_member_bind_locked(mem, class, entries, READ_ONCE(dom->tight), now,
					   mr) == RPOL_ADMITTED) {
		ret = 0;
	}
	spin_unlock_bh(&mem->lock);
	return ret;
}

static void account_refusal(struct rpol_member *mem)
{
	spin_lock_bh(&mem->lock);
	mem->stats.refused++;
	spin_unlock_bh(&mem->lock);
}

/*
 * Joins the queue, unless that is refused or of no use.  The first look at
 * the queue may serve the newcomer at once; then it does not count as having
 * waited, and nobody else notices.  With @since nobody queues who was meant
 * when others were sent away.
 *
 * Return: 0: granted; -EINPROGRESS: @w waits; -EAGAIN, -ESHUTDOWN, -E2BIG.
 */
static int claim_begin(struct rpol_waiter *w, unsigned int flags, const u32 *since)
{
	struct rpol_member *mem = w->mem;
	struct rpol_domain *dom = mem->dom;
	u64 now;
	int ret;

	rpol_domain_lock(dom);
	now = rpol_now(dom);
	if (mem->shutdown) {
		ret = -ESHUTDOWN;
	} else if (since && mem->dismissals != *since) {
		ret = -EAGAIN;
	} else if (!rpol_admit_ever(&mem->acct, dom->capacity, dom->sum_min, w->entries)) {
		ret = -E2BIG;
	} else {
		rpol_order_enqueue_locked(dom, w, now);
		rpol_order_serve_locked(dom, now);
		if (w->waits && (flags & RPOL_NOWAIT)) {
			/* Who only looks, and does not wait, cuts nobody's window. */
			rpol_order_dequeue_locked(dom, w, -EAGAIN, now);
			serve_locked(dom, now);
		} else if (w->waits) {
			rpol_balance_try_locked(dom, now);
			rpol_order_serve_locked(dom, now);
		}
		ret = w->waits ? -EINPROGRESS : w->ret;
		if (ret == -EINPROGRESS) {
			dom->stats.waits++;
			spin_lock(&mem->lock);
			mem->stats.waits++;
			spin_unlock(&mem->lock);
		} else {
			/* It is told by what this returns. */
			list_del(&w->link);
			rpol_member_unpin(mem);
		}
	}
	rpol_domain_unlock(dom);
	if (ret == -EAGAIN || ret == -ESHUTDOWN)
		account_refusal(mem);
	return ret;
}

/**
 * rpol_mr_claim - bind an MR, now or later
 * @w: whose, what, and how to tell; stays where it is until it was told
 *
 * Claims of one member are served in order.  All that an I/O takes is to be
 * claimed at once: two claims of two I/Os could wait for each other.
 *
 * Context: any but hard interrupt.
 * Return: 0: bound, see @w->mr, and w->granted() is not called; -EINPROGRESS:
 * w->granted() will be called, or rpol_mr_cancel() returns true; -ESHUTDOWN;
 * -E2BIG: larger than the member's maximum, or than the capacity without the
 * others' minima: ask for less; -EINVAL: no entries, or no such class.
 */
int rpol_mr_claim(struct rpol_waiter *w)
{
	int ret;

	if (!w->entries || w->class > RPOL_NO_CLASS)
		return -EINVAL;
	ret = mr_get_now(w->mem, w->class, w->entries, &w->mr);
	if (ret == -EAGAIN)
		ret = claim_begin(w, 0, NULL);
	return ret;
}
EXPORT_SYMBOL_GPL(rpol_mr_claim);

/**
 * rpol_mr_cancel - do not wait any longer
 * @w: for which rpol_mr_claim() returned -EINPROGRESS
 *
 * Context: any but hard interrupt.
 * Return: true: @w is its owner's again, nothing was granted; false: it ended
 * before, and w->granted() was called, runs, or is about to be called.
 */
bool rpol_mr_cancel(struct rpol_waiter *w)
{
	struct rpol_member *mem = w->mem;
	struct rpol_domain *dom = mem->dom;
	bool waits;
	u64 now;

	rpol_domain_lock(dom);
	now = rpol_now(dom);
	waits = w->waits;
	if (waits) {
		rpol_order_dequeue_locked(dom, w, -ECANCELED, now);
		list_del(&w->link);
		/* Those behind may fit where this one did not. */
		serve_locked(dom, now);
		spin_lock(&mem->lock);
		mem->stats.refused++;
		spin_unlock(&mem->lock);
		rpol_member_unpin(mem);
	}
	rpol_domain_unlock(dom);
	return waits;
}
EXPORT_SYMBOL_GPL(rpol_mr_cancel);

struct sleeper {
	struct rpol_waiter w;
	struct completion wake;
};

static void sleeper_granted(struct rpol_waiter *w, int ret)
{
	complete(&container_of(w, struct sleeper, w)->wake);
}

/* Sleeps until @s has ended, by itself or by a fatal signal. */
static int sleeper_wait(struct sleeper *s)
{
	struct rpol_domain *dom = s->w.mem->dom;
	long left;
	u64 now;

	for (;;) {
		left = wait_for_completion_killable_timeout(&s->wake, WAIT_PERIOD);
		if (left > 0)
			return s->w.ret;
		if (left < 0) {
			if (rpol_mr_cancel(&s->w))
				return -EINTR;
			wait_for_completion(&s->wake);
			return s->w.ret;
		}
		rpol_domain_lock(dom);
		now = rpol_now(dom);
		rpol_balance_try_locked(dom, now);
		rpol_order_serve_locked(dom, now);
		rpol_domain_unlock(dom);
	}
}

static int mr_get(struct rpol_member *mem, unsigned int class, u32 entries, unsigned int flags,
		  const u32 *since, struct rpol_mr **mr)
{
	struct sleeper s = {
		.w = { .mem = mem, .class = class, .entries = entries,
		       .granted = sleeper_granted },
	};
	int ret;

	might_sleep_if(!(flags & RPOL_NOWAIT));
	if (!entries || class > RPOL_NO_CLASS)
		return -EINVAL;
	ret = mr_get_now(mem, class, entries, mr);
	if (ret != -EAGAIN)
		return ret;
	init_completion(&s.wake);
	ret = claim_begin(&s.w, flags, since);
	if (ret == -EINPROGRESS)
		ret = sleeper_wait(&s);
	*mr = s.w.mr;
	return ret;
}

/**
 * rpol_mr_get - bind an MR, waiting for it if need be
 * @mem: the member
 * @class: of the MR, or RPOL_NO_CLASS
 * @entries: of an MR of this class
 * @flags: 0 or RPOL_NOWAIT
 * @mr: out, with 0: an idle MR, bound now; or NULL: one is to be made, and
 *	is charged already.  If it can't be made: rpol_release()
 *
 * Context: process; sleeps, killably, unless RPOL_NOWAIT is given; with that,
 * any but hard interrupt.
 * Return: 0; -EAGAIN: would have to wait; -EINTR: killed while waiting;
 * -ESHUTDOWN, -E2BIG, -EINVAL: as rpol_mr_claim().
 */
int rpol_mr_get(struct rpol_member *mem, unsigned int class, u32 entries, unsigned int flags,
		struct rpol_mr **mr)
{
	return mr_get(mem, class, entries, flags, NULL, mr);
}
EXPORT_SYMBOL_GPL(rpol_mr_get);

/**
 * rpol_mr_get_since - the same, unless those who wait were sent away meanwhile
 * @mem: the member
 * @class: of the MR, or RPOL_NO_CLASS
 * @entries: of an MR of this class
 * @since: rpol_member_dismissals() when the caller saw that it may wait
 * @mr: as for rpol_mr_get()
 *
 * Context: process; sleeps, killably.
 * Return: as rpol_mr_get(); -EAGAIN: rpol_member_dismiss() was called since then.
 */
int rpol_mr_get_since(struct rpol_member *mem, unsigned int class, u32 entries, u32 since,
		      struct rpol_mr **mr)
{
	return mr_get(mem, class, entries, 0, &since, mr);
}
EXPORT_SYMBOL_GPL(rpol_mr_get_since);

/**
 * rpol_reserve - charge a member for an MR that it will not leave idle
 * @mem: the member
 * @entries: at least 1
 * @flags: as for rpol_mr_get()
 *
 * Context and return: as for rpol_mr_get().  Ended by rpol_release().
 */
int rpol_reserve(struct rpol_member *mem, u32 entries, unsigned int flags)
{
	struct rpol_mr *mr;

	return rpol_mr_get(mem, RPOL_NO_CLASS, entries, flags, &mr);
}
EXPORT_SYMBOL_GPL(rpol_reserve);

/* Whether somebody may wait for what @mem has idle now. */
static bool asked_for(const struct rpol_member *mem)
{
	lockdep_assert_held(&mem->lock);
	return mem->nr_waiters || rpol_idle_beyond_max(mem) ||
	       (READ_ONCE(mem->dom->tight) && mem->acct.charged > rpol_member_keeps(mem));
}

/* Something of @mem's has fallen idle that somebody may wait for. */
static void offer(struct rpol_member *mem, u64 now)
{
	struct rpol_domain *dom = mem->dom;

	rpol_domain_lock(dom);
	rpol_idle_trim_locked(dom, mem);
	rpol_over_update_locked(dom, mem, now);
	rpol_order_own_locked(dom, mem, now);
	serve_locked(dom, now);
	rpol_domain_unlock(dom);
}

/* The end of what leaves an MR of @mem's idle: whoever may have it is looked for. */
static void unlock_and_offer(struct rpol_member *mem, bool wanted, u64 now)
	__releases(&mem->lock)
{
	struct rpol_domain *dom = mem->dom;
	bool wake;

	wanted |= asked_for(mem);
	/* Under the lock: a last tick clears it before it looks for idle MRs. */
	wake = !atomic_read(&dom->ticking);
	spin_unlock_bh(&mem->lock);
	if (wanted)
		offer(mem, now);
	if (wake)
		rpol_domain_wake(dom, RPOL_TICK_CALM);
}

/**
 * rpol_mr_idle - an MR's I/O is over, and it is not bound any more
 * @mem: the member
 * @mr: the MR, the policy's from now on; bound, or lent and returned
 *
 * Context: any but hard interrupt.
 */
void rpol_mr_idle(struct rpol_member *mem, struct rpol_mr *mr)
{
	u64 now = rpol_now(mem->dom);
	bool wanted;

	spin_lock_bh(&mem->lock);
	rpol_peak_note(&mem->demand, now, mem->bound + mem->waiting, mem->bound + mem->waiting);
	/* What was called back is wanted, also of a member within its entitlement. */
	wanted = rpol_mr_recalled(mr);
	rpol_idle_put_locked(mem, mr, now);
	unlock_and_offer(mem, wanted, now);
}
EXPORT_SYMBOL_GPL(rpol_mr_idle);

/**
 * rpol_mr_lend - an MR stays bound, but to no I/O: the peer may use it unasked
 * @mem: the member
 * @mr: the MR, bound; its owner's still, which can say where it is
 *
 * It counts as idle.  When somebody waits it is called back as idle ones are taken:
 * rpol_mr_recalled() is true then, and ops->reclaim() called.  It ends by
 * rpol_mr_regain() or rpol_mr_idle().
 *
 * Context: any but hard interrupt; callbacks may run before this returns.
 */
void rpol_mr_lend(struct rpol_member *mem, struct rpol_mr *mr)
{
	u64 now = rpol_now(mem->dom);

	spin_lock_bh(&mem->lock);
	rpol_peak_note(&mem->demand, now, mem->bound + mem->waiting, mem->bound + mem->waiting);
	mr->idle_at = now;
	rpol_mr_move_locked(mem, mr, RPOL_MR_LENT, now);
	list_add(&mr->link, &mem->lent);
	unlock_and_offer(mem, false, now);
}
EXPORT_SYMBOL_GPL(rpol_mr_lend);

/**
 * rpol_mr_regain - an MR that was lent is its owner's again
 * @mem: the member
 * @mr: the MR, for an I/O of the peer's, called back or not, or to be destroyed;
 *	one that is not lent stays what it is
 *
 * Context: any but hard interrupt.
 */
void rpol_mr_regain(struct rpol_member *mem, struct rpol_mr *mr)
{
	u64 now = rpol_now(mem->dom);

	spin_lock_bh(&mem->lock);
	if (mr->state == RPOL_MR_LENT || rpol_mr_recalled(mr)) {
		rpol_peak_note(&mem->demand, now, mem->bound + mem->waiting,
			       mem->bound + mem->waiting + mr->entries);
		list_del_init(&mr->link);
		rpol_mr_move_locked(mem, mr, RPOL_MR_BOUND, now);
		mr->uses++;
	}
	spin_unlock_bh(&mem->lock);
}
EXPORT_SYMBOL_GPL(rpol_mr_regain);

/**
 * rpol_mr_recalled - is an MR that was lent wanted back?
 * @mr: the MR, lent by the caller, who sees to it that it stays so
 *
 * Return: true from when it was called back until it is regained or idle.
 */
bool rpol_mr_recalled(const struct rpol_mr *mr)
{
	enum rpol_mr_state state = READ_ONCE(mr->state);

	return state == RPOL_MR_RECALLED || state == RPOL_MR_OVERDUE;
}
EXPORT_SYMBOL_GPL(rpol_mr_recalled);

/**
 * rpol_mr_reap - fetch an MR that is to be destroyed
 * @mem: the member
 *
 * Context: any but hard interrupt.
 * Return: a victim, its owner's again, to be destroyed and then reported by
 * rpol_mr_freed(); NULL if there is none.
 */
struct rpol_mr *rpol_mr_reap(struct rpol_member *mem)
{
	struct rpol_mr *mr;

	spin_lock_bh(&mem->lock);
	mr = list_first_entry_or_null(&mem->victims, struct rpol_mr, link);
	if (mr)
		list_del(&mr->link);
	spin_unlock_bh(&mem->lock);
	return mr;
}
EXPORT_SYMBOL_GPL(rpol_mr_reap);

/* Ends a charge; of what was bound, or of a victim. */
static void uncharge(struct rpol_member *mem, u32 entries, bool bound)
{
	struct rpol_domain *dom = mem->dom;
	u64 now = rpol_now(dom), held;
	bool own;

	spin_lock_bh(&mem->lock);
	/* A count that is wrong must not become one that is huge. */
	if (WARN_ON_ONCE(entries > mem->acct.charged))
		entries = mem->acct.charged;
	rpol_member_integrate_locked(mem, now);
	held = rpol_account_held(&mem->acct);
	WRITE_ONCE(mem->acct.charged, mem->acct.charged - entries);
	held -= rpol_account_held(&mem->acct);
	if (bound) {
		rpol_peak_note(&mem->demand, now, mem->bound + mem->waiting,
			       mem->bound + mem->waiting);
		mem->bound -= min_t(u64, entries, mem->bound);
	} else {
		entries = min_t(u64, entries, mem->revoking);
		mem->revoking -= entries;
		atomic64_sub(entries, &dom->revoking);
	}
	if (held)
		atomic64_add(held, &dom->common);
	own = mem->nr_waiters;
	spin_unlock_bh(&mem->lock);

	/* Pairs with the barrier in rpol_order_enqueue_locked(). */
	smp_mb();
	if (own || READ_ONCE(dom->tight)) {
		rpol_domain_lock(dom);
		rpol_order_own_locked(dom, mem, now);
		serve_locked(dom, now);
		rpol_domain_unlock(dom);
	}
}

/**
 * rpol_release - a bound MR is gone, or was never made
 * @mem: the member
 * @entries: what it was charged
 *
 * Context: any but hard interrupt.
 */
void rpol_release(struct rpol_member *mem, u32 entries)
{
	uncharge(mem, entries, true);
}
EXPORT_SYMBOL_GPL(rpol_release);

/**
 * rpol_mr_freed - a victim is gone
 * @mem: the member
 * @entries: what it was charged
 *
 * Context: any but hard interrupt.
 */
void rpol_mr_freed(struct rpol_member *mem, u32 entries)
{
	uncharge(mem, entries, false);
}
EXPORT_SYMBOL_GPL(rpol_mr_freed);

/**
 * rpol_mr_flush - make victims of all idle MRs of a member
 * @mem: the member; its reclaim callback is called if there are any
 *
 * Context: any but hard interrupt.
 */
void rpol_mr_flush(struct rpol_member *mem)
{
	rpol_domain_lock(mem->dom);
	rpol_idle_revoke_locked(mem->dom, mem, U64_MAX, 0, U64_MAX);
	rpol_domain_unlock(mem->dom);
}
EXPORT_SYMBOL_GPL(rpol_mr_flush);

/**
 * rpol_pressed - whether this member had better release what it can
 * @mem: the member
 *
 * Somebody waits for it, or it is more than its maximum.  For members that hold
 * MRs bound without an I/O, as grants are: if true, they are better recalled.
 *
 * Context: any but hard interrupt.
 * Return: true if so.
 */
bool rpol_pressed(struct rpol_member *mem)
{
	bool pressed;

	spin_lock_bh(&mem->lock);
	pressed = asked_for(mem);
	spin_unlock_bh(&mem->lock);
	return pressed;
}
EXPORT_SYMBOL_GPL(rpol_pressed);

/**
 * rpol_capped - whether it is a member's own maximum that a claim would wait for
 * @mem: the member
 * @entries: of the claim
 *
 * Or an earlier claim of the member that waits for that: they are served in order.
 * Either way others have nothing that it lacks.
 *
 * Context: any but hard interrupt.
 * Return: true if so, just now.
 */
bool rpol_capped(struct rpol_member *mem, u32 entries)
{
	struct rpol_domain *dom = mem->dom;
	bool capped;

	rpol_domain_lock(dom);
	spin_lock(&mem->lock);
	/* Who waits for what others have stands in a line. */
	capped = mem->nr_waiters ? !mem->line : !rpol_admit_own(&mem->acct, entries);
	spin_unlock(&mem->lock);
	rpol_domain_unlock(dom);
	return capped;
}
EXPORT_SYMBOL_GPL(rpol_capped);

/**
 * rpol_excess - what a member has that others are entitled to, and wait for
 * @mem: the member
 *
 * Not what it lacks itself: that is no reason to break off an I/O of its own.
 *
 * Context: any but hard interrupt.
 * Return: entries, victims not counted; 0 if nobody waits for any of its.
 */
u64 rpol_excess(struct rpol_member *mem)
{
	u64 keeps, excess = 0;

	spin_lock_bh(&mem->lock);
	keeps = rpol_member_keeps(mem) + mem->revoking;
	if (READ_ONCE(mem->dom->tight) && mem->acct.charged > keeps)
		excess = mem->acct.charged - keeps;
	spin_unlock_bh(&mem->lock);
	return excess;
}
EXPORT_SYMBOL_GPL(rpol_excess);
