// SPDX-License-Identifier: GPL-2.0
/*
 * The life of an MR: bound, idle, bound again, gone.
 *
 * To bind an MR takes the member's lock and, if the charge exceeds the member's
 * minimum, one atomic operation on the domain.  The domain's lock is taken only
 * by a claim that exceeds its member's window or finds no room, and by a member
 * that gives back entries for which a claim may wait.
 *
 * A task that is killed while it waits takes its claim out of the queue.  If the
 * claim has been granted by then, the task keeps the entries, so no grant is
 * ever lost.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/time64.h>
#include "regpolicy/domain.h"
#include "regpolicy/trace.h"

/*
 * How often a task that sleeps for a claim serves the queue itself.  This is only
 * needed if the domain's owner does not call rpol_domain_tick() when asked to.
 */
#define WAIT_PERIOD	(HZ / 10)

/**
 * rpol_member_integrate_locked - bring the time integrals up to date
 * @mem: the member
 * @now: time in ns
 *
 * To be called before a change of the entries that are charged, of their state, or
 * of the entries that are waited for.
 *
 * Context: any but hard interrupt; @mem's lock held.
 */
void rpol_member_integrate_locked(struct rpol_member *mem, u64 now)
{
	u64 idle = mem->idle_entries + mem->lent_entries, us, waited, waited_us = 0;

	lockdep_assert_held(&mem->lock);
	/* Two processors may take the lock in another order than they have read the clock. */
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
 * Takes the entries that a charge needs from the common part, if it has them.  If
 * @need is not positive the charge takes none.  But if @common is negative, which
 * is a debt, -@need must cover the debt.
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
 * @mem: the member
 * @class: class of the MR, or RPOL_NO_CLASS
 * @entries: entries of the MR
 * @closed: a claim waits, so nothing may be taken from the common part
 * @now: time in ns
 * @mr: out, if admitted: the idle MR, or NULL for a new one
 *
 * The member's window is for the caller to check.
 *
 * Context: any but hard interrupt; @mem's lock held.
 * Return: RPOL_ADMITTED if @entries are bound, else the reason why they are not.
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
 * rpol_member_window_locked - compute a member's window at a time
 * @mem: the member
 * @now: the time in ns
 *
 * The window stays as it was cut while the domain is contended, and grows back
 * afterwards.
 *
 * Context: any but hard interrupt; @mem's lock held.
 * Return: entries, or RPOL_NO_WINDOW.
 */
u64 rpol_member_window_locked(struct rpol_member *mem, u64 now)
{
	struct rpol_domain *dom = mem->dom;
	u64 since, window;

	lockdep_assert_held(&mem->lock);
	/*
	 * Pairs with tighten(): if the domain is calm, @since is when this calm began, or a
	 * later one.  With an earlier one a window that was just cut would open for good.
	 */
	if (mem->window == RPOL_NO_WINDOW || smp_load_acquire(&dom->contended))
		return mem->window;
	since = READ_ONCE(dom->calm_since);
	window = rpol_window_grown(mem->window, READ_ONCE(dom->capacity),
				   now > since ? now - since : 0);
	if (window == RPOL_NO_WINDOW) {
		trace_rdmafs_policy_window(mem, mem->window, window, RPOL_WINDOW_CALM);
		mem->window = window;
	}
	return window;
}

/*
 * Serves the queue.  A claim that its own member's maximum held up, or that stood
 * behind such a claim, may be in line again now.  If no claim was in line for long,
 * entitlements are out of date and do not tell which members have too much, so they
 * are computed anew.  The domain's lock is held.
 */
static void serve_locked(struct rpol_domain *dom, u64 now)
{
	lockdep_assert_held(&dom->lock);
	rpol_order_serve_locked(dom, now);
	if (dom->contended || !dom->wanted)
		return;
	rpol_balance_try_locked(dom, now);
	rpol_order_serve_locked(dom, now);
}

/*
 * Tries once to bind, without overtaking a claim that waits.  Takes the member's lock only.
 * Return: 0; -EAGAIN if the claim has to queue; -ESHUTDOWN.
 */
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
 * Puts a claim into the queue, unless that is refused or of no use.  The queue is
 * served at once.  If this serves the new claim, the claim does not count as one
 * that waited, and no window is cut for it.  If @since is given and claims were
 * dismissed since then, the new claim is dismissed, too.
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
			/* A claim that may not wait must not have other members' windows cut. */
			rpol_order_dequeue_locked(dom, w, -EAGAIN, now);
			serve_locked(dom, now);
		} else if (w->waits) {
			rpol_balance_try_locked(dom, now);
			rpol_order_serve_locked(dom, now);
		}
		ret = w->waits ? -EINPROGRESS : w->ret;
		if (ret == -EINPROGRESS) {
			trace_rdmafs_policy_wait(w);
			dom->stats.waits++;
			spin_lock(&mem->lock);
			mem->stats.waits++;
			spin_unlock(&mem->lock);
		} else {
			/* The caller gets the result as our return value, not by @done. */
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
 * @w: the claim; the caller leaves it in place until the claim has ended
 *
 * Claims of one member are served in order.  An I/O must claim all that it takes
 * by one claim: if two I/Os had two claims each, they could wait for each other.
 *
 * Context: any but hard interrupt; takes the locks of member and domain, and may
 * make callbacks of other claims and members.
 * Return: 0: bound, see @w->mr; w->done() is not called; -EINPROGRESS: either
 * w->done() will be called, or rpol_mr_cancel() returns true; -ESHUTDOWN;
 * -E2BIG: more than the member's maximum, or than the capacity less the others'
 * minima: ask for less; -EINVAL: no entries, or no such class.
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
 * rpol_mr_cancel - end a claim that waits
 * @w: the claim, for which rpol_mr_claim() returned -EINPROGRESS
 *
 * Context: any but hard interrupt; takes the locks of member and domain, and may
 * make callbacks of other claims and members.
 * Return: true: nothing was granted, and the caller owns @w again; false: the claim
 * ended before, and w->done() was called, runs, or is about to be called.
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
		/* Claims behind this one may fit where it did not. */
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

static void sleeper_done(struct rpol_waiter *w, int ret)
{
	complete(&container_of(w, struct sleeper, w)->wake);
}

/* Sleeps until the claim of @s has been granted or refused, or a fatal signal ends it. */
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
		       .done = sleeper_done },
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
 * @class: class of the MR, or RPOL_NO_CLASS
 * @entries: entries of an MR of this class
 * @flags: 0 or RPOL_NOWAIT
 * @mr: out, valid if 0 is returned: an idle MR, which is bound now; or NULL: the
 *	caller is to make an MR, which is charged already.  If it can't, it calls
 *	rpol_uncharge()
 *
 * Context: process, sleeps killably; with RPOL_NOWAIT any but hard interrupt.
 * Return: 0; -EAGAIN: the claim would have to wait, but has RPOL_NOWAIT; -EINTR: killed
 * while waiting; -ESHUTDOWN, -E2BIG, -EINVAL: as rpol_mr_claim(); or the error that
 * rpol_member_dismiss() ended the wait with.
 */
int rpol_mr_get(struct rpol_member *mem, unsigned int class, u32 entries, unsigned int flags,
		struct rpol_mr **mr)
{
	return mr_get(mem, class, entries, flags, NULL, mr);
}
EXPORT_SYMBOL_GPL(rpol_mr_get);

/**
 * rpol_mr_get_since - bind an MR as rpol_mr_get(), unless claims were dismissed meanwhile
 * @mem: the member
 * @class: class of the MR, or RPOL_NO_CLASS
 * @entries: entries of an MR of this class
 * @since: value of rpol_member_dismissals() when the caller saw that it may wait
 * @mr: as for rpol_mr_get()
 *
 * Context: process; sleeps killably.
 * Return: as rpol_mr_get(); -EAGAIN: the claim would have to wait, but
 * rpol_member_dismiss() has been called since then.
 */
int rpol_mr_get_since(struct rpol_member *mem, unsigned int class, u32 entries, u32 since,
		      struct rpol_mr **mr)
{
	return mr_get(mem, class, entries, 0, &since, mr);
}
EXPORT_SYMBOL_GPL(rpol_mr_get_since);

/*
 * Whether the idle MRs of @mem are wanted: claims of @mem wait, @mem is above its maximum, or
 * others wait and @mem has more than it is to keep.  @mem's lock is held.
 */
static bool asked_for(const struct rpol_member *mem)
{
	lockdep_assert_held(&mem->lock);
	return mem->nr_waiters || rpol_idle_beyond_max(mem) ||
	       (READ_ONCE(mem->dom->tight) && mem->acct.charged > rpol_member_keeps(mem));
}

/* An MR of @mem has fallen idle, and a claim may wait for it: serves the queue. */
static void offer(struct rpol_member *mem)
{
	struct rpol_domain *dom = mem->dom;
	u64 now;

	rpol_domain_lock(dom);
	now = rpol_now(dom);
	rpol_idle_trim_locked(dom, mem);
	rpol_donor_update_locked(dom, mem, now);
	rpol_order_own_locked(dom, mem, now);
	serve_locked(dom, now);
	rpol_domain_unlock(dom);
}

/*
 * Ends a function that has left an MR of @mem idle or lent: drops @mem's lock, offers the MR
 * to claims that may wait for it (or if @wanted says so), and sees to it that a tick comes.
 */
static void unlock_and_offer(struct rpol_member *mem, bool wanted)
	__releases(&mem->lock)
{
	struct rpol_domain *dom = mem->dom;
	bool wake;

	wanted |= asked_for(mem);
	/*
	 * Read under the lock: a tick clears it before it takes the lock and looks for idle
	 * MRs, so either the tick finds our MR or we see that no tick will come.
	 */
	wake = !atomic_read(&dom->ticking);
	spin_unlock_bh(&mem->lock);
	if (wanted)
		offer(mem);
	if (wake)
		rpol_domain_wake(dom, RPOL_TICK_CALM);
}

/**
 * rpol_mr_idle - give an MR to the policy when its I/O is over
 * @mem: the member
 * @mr: the MR, bound, or lent and returned; the policy owns it from now on
 *
 * Context: any but hard interrupt; takes the member's lock, and may take the domain's
 * and make callbacks.
 */
void rpol_mr_idle(struct rpol_member *mem, struct rpol_mr *mr)
{
	u64 now = rpol_now(mem->dom);
	bool wanted;

	spin_lock_bh(&mem->lock);
	rpol_peak_note(&mem->demand, now, mem->bound + mem->waiting, mem->bound + mem->waiting);
	/* A recalled MR is wanted even if its member is within its entitlement. */
	wanted = rpol_mr_recalled(mr);
	rpol_idle_put_locked(mem, mr, now);
	unlock_and_offer(mem, wanted);
}
EXPORT_SYMBOL_GPL(rpol_mr_idle);

/**
 * rpol_mr_lend - declare that an MR has no I/O now, though its owner does not give it up
 * @mem: the member
 * @mr: the MR, bound; the owner keeps it and must be able to find it
 *
 * For an MR that the peer may use unasked, or that waits for its I/O.  It counts as idle.
 * When claims wait, the policy recalls lent MRs by the rules by which idle MRs become
 * victims: rpol_mr_recalled() is true then, and ops->reclaim() is called.  rpol_mr_regain()
 * or rpol_mr_idle() ends the loan.
 *
 * Context: any but hard interrupt; takes the member's lock, and may take the domain's.
 * Callbacks may run before this returns.
 */
void rpol_mr_lend(struct rpol_member *mem, struct rpol_mr *mr)
{
	u64 now = rpol_now(mem->dom);

	spin_lock_bh(&mem->lock);
	rpol_peak_note(&mem->demand, now, mem->bound + mem->waiting, mem->bound + mem->waiting);
	mr->idle_at = now;
	rpol_mr_move_locked(mem, mr, RPOL_MR_LENT, now);
	list_add(&mr->link, &mem->lent);
	unlock_and_offer(mem, false);
}
EXPORT_SYMBOL_GPL(rpol_mr_lend);

/**
 * rpol_mr_regain - bind an MR again that was lent
 * @mem: the member
 * @mr: the MR, recalled or not, which an I/O uses now or which is to be destroyed;
 *	nothing is done if it is not lent
 *
 * Context: any but hard interrupt; takes the member's lock.
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
 * rpol_mr_recalled - test whether an MR that was lent is wanted back
 * @mr: the MR; the caller's own locking keeps it lent meanwhile
 *
 * Context: any; takes no lock.
 * Return: true from when the MR was recalled until it is regained or idle.
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
 * Context: any but hard interrupt; takes the member's lock.
 * Return: a victim, which the caller owns now, destroys, and then reports by
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

/* Ends the charge of an MR that was bound or, if not @bound, of a victim. */
static void uncharge(struct rpol_member *mem, u32 entries, bool bound)
{
	struct rpol_domain *dom = mem->dom;
	u64 now = rpol_now(dom), held;
	bool own;

	spin_lock_bh(&mem->lock);
	/* Even if a counter is wrong, it must not wrap. */
	if (WARN_ON_ONCE(entries > mem->acct.charged))
		entries = mem->acct.charged;
	rpol_member_integrate_locked(mem, now);
	held = rpol_account_held(&mem->acct);
	WRITE_ONCE(mem->acct.charged, mem->acct.charged - entries);
	held -= rpol_account_held(&mem->acct);
	if (held)
		atomic64_add(held, &dom->common);
	if (bound) {
		rpol_peak_note(&mem->demand, now, mem->bound + mem->waiting,
			       mem->bound + mem->waiting);
		mem->bound -= min_t(u64, entries, mem->bound);
	} else {
		entries = min_t(u64, entries, mem->revoking);
		mem->revoking -= entries;
		/*
		 * @common was raised before.  Pairs with the barrier in rpol_free_soon(), which
		 * must not miss the entries.
		 */
		smp_mb__before_atomic();
		atomic64_sub(entries, &dom->revoking);
		trace_rdmafs_policy_revoked(mem, entries, RPOL_MR_VICTIM, 0, now);
	}
	own = mem->nr_waiters;
	spin_unlock_bh(&mem->lock);

	/* Pairs with the barrier in rpol_order_enqueue_locked(). */
	smp_mb();
	if (own || READ_ONCE(dom->tight)) {
		rpol_domain_lock(dom);
		now = rpol_now(dom);
		rpol_order_own_locked(dom, mem, now);
		serve_locked(dom, now);
		rpol_domain_unlock(dom);
	}
}

/**
 * rpol_uncharge - end the charge of a bound MR that is gone or was never made
 * @mem: the member
 * @entries: entries that the MR was charged
 *
 * Context: any but hard interrupt; takes the member's lock, and may take the domain's
 * and make callbacks.
 */
void rpol_uncharge(struct rpol_member *mem, u32 entries)
{
	uncharge(mem, entries, true);
}
EXPORT_SYMBOL_GPL(rpol_uncharge);

/**
 * rpol_mr_freed - end the charge of a victim that is gone
 * @mem: the member
 * @entries: entries that the victim was charged
 *
 * Context: any but hard interrupt; takes the member's lock, and may take the domain's
 * and make callbacks.
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
 * Lent MRs are recalled.
 *
 * Context: any but hard interrupt; takes the locks of domain and member, and may make
 * callbacks.
 */
void rpol_mr_flush(struct rpol_member *mem)
{
	rpol_domain_lock(mem->dom);
	rpol_idle_revoke_locked(mem->dom, mem, U64_MAX, 0, U64_MAX, RPOL_REVOKE_ALL);
	rpol_domain_unlock(mem->dom);
}
EXPORT_SYMBOL_GPL(rpol_mr_flush);

/**
 * rpol_pressed - test whether a member should release what it can
 * @mem: the member
 *
 * A claim waits for entries that the member could give back, or the member is above its
 * maximum.  An owner that keeps MRs without an I/O, such as grants, should then make no new
 * ones.
 *
 * Context: any but hard interrupt; takes the member's lock.
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
 * rpol_capped - test whether only its member's own maximum would make a claim wait
 * @mem: the member
 * @entries: entries of the claim
 *
 * This is also so if an earlier claim of the member waits because of the maximum, as claims
 * of a member are served in order.  In both cases other members have nothing that the claim
 * lacks.
 *
 * Context: any but hard interrupt; takes the locks of domain and member.
 * Return: true if so; the answer may be out of date at once.
 */
bool rpol_capped(struct rpol_member *mem, u32 entries)
{
	struct rpol_domain *dom = mem->dom;
	bool capped;

	rpol_domain_lock(dom);
	spin_lock(&mem->lock);
	/* A member that waits for entries which others have stands in a line. */
	capped = mem->nr_waiters ? !mem->line : !rpol_admit_own(&mem->acct, entries);
	spin_unlock(&mem->lock);
	rpol_domain_unlock(dom);
	return capped;
}
EXPORT_SYMBOL_GPL(rpol_capped);

/**
 * rpol_excess - count entries of a member to which waiting members are entitled
 * @mem: the member
 *
 * Entries that only the member itself lacks do not count: for these it must not break
 * off an I/O of its own.
 *
 * Context: any but hard interrupt; takes the member's lock.
 * Return: entries, without victims and recalled MRs; 0 if no other member waits for any.
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
