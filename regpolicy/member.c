// SPDX-License-Identifier: GPL-2.0
/*
 * A member: one mount or session and its account with the domain.
 *
 * Reserving and releasing take the member's lock and, for what exceeds its
 * minimum, one atomic operation on the domain.  Only a reservation that does
 * not fit, or a release while somebody waits, goes to the domain's lock.
 *
 * A waiter that is killed leaves the queue; if it was granted what it wants in
 * the same moment it keeps that, so nothing is ever granted to nobody.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include "regpolicy/domain.h"
#include "regpolicy/quota.h"

/*
 * How often a waiter asks again for idle MRs.  Long beside any RPC, after
 * which an MR is given back without being asked for; short beside a person's
 * patience, for the ones that fell idle unnoticed.
 */
#define RECLAIM_PERIOD	(HZ / 10)

/* Keeps @mem in its domain until unpinned; the domain's lock is held. */
void rpol_member_pin_locked(struct rpol_member *mem)
{
	lockdep_assert_held(&mem->dom->lock);
	refcount_inc(&mem->pins);
}

/* The member may be gone afterwards, unless the caller holds the domain's lock. */
void rpol_member_unpin(struct rpol_member *mem)
{
	if (refcount_dec_and_test(&mem->pins))
		complete(&mem->unpinned);
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
 * rpol_member_charge_locked - charge a member, if the rule allows it now
 * @mem: the member, its lock held
 * @entries: to be charged
 * @closed: somebody waits for the common part: nothing may be taken of it
 *
 * Return: RPOL_ADMITTED if @entries are charged, else what is in the way.
 */
enum rpol_verdict rpol_member_charge_locked(struct rpol_member *mem, u32 entries, bool closed)
{
	s64 need;

	lockdep_assert_held(&mem->lock);
	if (!rpol_admit_own(&mem->acct, entries))
		return RPOL_WAIT_OWN;
	need = rpol_admit_need(&mem->acct, entries);
	if ((closed && need > 0) || !common_take(mem->dom, need))
		return RPOL_WAIT_COMMON;

	WRITE_ONCE(mem->acct.charged, mem->acct.charged + entries);
	mem->stats.grants++;
	if (mem->stats.charged_peak < mem->acct.charged)
		mem->stats.charged_peak = mem->acct.charged;
	return RPOL_ADMITTED;
}

/* One attempt that overtakes nobody: 0, -EAGAIN if it has to wait, -ESHUTDOWN. */
static int reserve_now(struct rpol_member *mem, u32 entries)
{
	int ret = -EAGAIN;

	spin_lock_bh(&mem->lock);
	if (mem->shutdown) {
		mem->stats.refused++;
		ret = -ESHUTDOWN;
	} else if (!READ_ONCE(mem->nr_waiters) &&
		   rpol_member_charge_locked(mem, entries, READ_ONCE(mem->dom->closed)) ==
		   RPOL_ADMITTED) {
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
 * the queue may serve the newcomer at once; then nothing remains to be waited
 * for, and it does not count as having waited.
 */
static int wait_begin(struct rpol_waiter *w, unsigned int flags)
{
	struct rpol_member *mem = w->mem;
	struct rpol_domain *dom = mem->dom;
	int ret = 0;

	init_completion(&w->wake);
	spin_lock_bh(&dom->lock);
	if (mem->shutdown) {
		ret = -ESHUTDOWN;
	} else if (!rpol_admit_ever(&mem->acct, dom->capacity, dom->sum_min, w->entries)) {
		ret = -E2BIG;
	} else if (flags & RPOL_NOWAIT) {
		ret = -EAGAIN;
	} else {
		rpol_member_pin_locked(mem);
		rpol_domain_enqueue_locked(dom, w);
		rpol_domain_serve_locked(dom);
		if (!w->ended) {
			dom->waits++;
			spin_lock(&mem->lock);
			mem->stats.waits++;
			spin_unlock(&mem->lock);
		}
	}
	spin_unlock_bh(&dom->lock);
	return ret;
}

/* Sleeps until @w has ended, by itself or by a fatal signal. */
static void wait_sleep(struct rpol_waiter *w)
{
	struct rpol_domain *dom = w->mem->dom;
	u64 began = ktime_get_ns();
	long left;

	do {
		rpol_domain_reclaim(dom, w);
		left = wait_for_completion_killable_timeout(&w->wake, RECLAIM_PERIOD);
	} while (!left);

	spin_lock_bh(&dom->lock);
	if (!w->ended) {
		rpol_domain_dequeue_locked(dom, w, -EINTR);
		/* Those behind may fit where this one did not. */
		rpol_domain_serve_locked(dom);
	} else if (!w->ret) {
		spin_lock(&w->mem->lock);
		w->mem->stats.wait_ns += ktime_get_ns() - began;
		spin_unlock(&w->mem->lock);
	}
	spin_unlock_bh(&dom->lock);
}

static int reserve_wait(struct rpol_member *mem, u32 entries, unsigned int flags)
{
	struct rpol_waiter w = { .mem = mem, .entries = entries };
	struct rpol_domain *dom = mem->dom;
	int ret;

	ret = wait_begin(&w, flags);
	if (ret) {
		if (ret != -E2BIG)
			account_refusal(mem);
		return ret;
	}
	if (!completion_done(&w.wake))
		wait_sleep(&w);

	/*
	 * Whoever ended this waiter did so under the lock and has left it after
	 * this; and a member that is being destroyed lives until it is dropped.
	 */
	spin_lock_bh(&dom->lock);
	ret = w.ret;
	if (ret && ret != -E2BIG)
		account_refusal(mem);
	rpol_member_unpin(mem);
	spin_unlock_bh(&dom->lock);
	return ret;
}

/**
 * rpol_reserve - charge a member for MRs that are to be made
 * @mem: the member
 * @entries: of all of them together, at least 1
 * @flags: RPOL_NOWAIT, or that and RPOL_RECLAIM
 *
 * Served in order of arrival.  All that an I/O takes is to be reserved by one
 * call: two calls of two I/Os could wait for each other.
 *
 * Context: process; may sleep, killably, unless RPOL_NOWAIT is given.  With
 * RPOL_RECLAIM members' callbacks are called.
 * Return: 0: charged, until rpol_release(); -EAGAIN: would have to wait;
 * -EINTR: killed while waiting; -ESHUTDOWN: rpol_member_shutdown() was called;
 * -E2BIG: larger than the member's maximum, or than the capacity without the
 * others' minima: ask for less; -EINVAL: no entries.
 */
int rpol_reserve(struct rpol_member *mem, u32 entries, unsigned int flags)
{
	int ret;

	might_sleep_if(!(flags & RPOL_NOWAIT));
	if (!entries)
		return -EINVAL;
	ret = reserve_now(mem, entries);
	if (ret == -EAGAIN && (flags & RPOL_RECLAIM)) {
		struct rpol_waiter w = { .mem = mem, .entries = entries };

		rpol_domain_reclaim(mem->dom, &w);
		ret = reserve_now(mem, entries);
	}
	if (ret == -EAGAIN)
		ret = reserve_wait(mem, entries, flags);
	return ret;
}
EXPORT_SYMBOL_GPL(rpol_reserve);

/**
 * rpol_release - MRs are gone, stop charging for them
 * @mem: the member
 * @entries: what was reserved for them
 *
 * Context: any but hard interrupt.
 */
void rpol_release(struct rpol_member *mem, u32 entries)
{
	struct rpol_domain *dom = mem->dom;
	u64 held;

	spin_lock_bh(&mem->lock);
	/* A count that is wrong must not become one that is huge. */
	if (WARN_ON_ONCE(entries > mem->acct.charged))
		entries = mem->acct.charged;
	held = rpol_account_held(&mem->acct);
	WRITE_ONCE(mem->acct.charged, mem->acct.charged - entries);
	held -= rpol_account_held(&mem->acct);
	if (held)
		atomic64_add(held, &dom->common);
	spin_unlock_bh(&mem->lock);

	/* Pairs with the barrier in rpol_domain_enqueue_locked(). */
	smp_mb();
	if (atomic_read(&dom->nr_waiters)) {
		spin_lock_bh(&dom->lock);
		rpol_domain_serve_locked(dom);
		spin_unlock_bh(&dom->lock);
	}
}
EXPORT_SYMBOL_GPL(rpol_release);

/**
 * rpol_account_use - MRs begin or cease to be bound to an I/O
 * @mem: the member
 * @entries: theirs; negative when they cease to be
 *
 * Call it with a negative number after the MRs can be found by the reclaim
 * callback, and look at rpol_pressed() afterwards: then no waiter can miss
 * them.
 *
 * Context: any.
 */
void rpol_account_use(struct rpol_member *mem, s64 entries)
{
	atomic64_add(entries, &mem->in_use);
	if (entries < 0)
		smp_mb__after_atomic();	/* pairs with the barrier in rpol_domain_reclaim() */
}
EXPORT_SYMBOL_GPL(rpol_account_use);

/**
 * rpol_pressed - whether somebody waits for what this member could release
 * @mem: the member
 *
 * Asked by a member whenever one of its MRs falls idle; if true, the MR is
 * better freed than kept.
 *
 * Context: any; one read.
 * Return: true if so.
 */
bool rpol_pressed(struct rpol_member *mem)
{
	return READ_ONCE(mem->pressed);
}
EXPORT_SYMBOL_GPL(rpol_pressed);

/**
 * rpol_member_create - a mount or a session begins to use an RNIC
 * @dom: the RNIC's domain
 * @quota: its bounds
 * @ops: what it can be asked; NULL if it never has idle MRs
 * @ctx: handed to @ops
 *
 * Context: process.
 * Return: the member; ERR_PTR(-EINVAL) for a quota that contradicts itself,
 * ERR_PTR(-ENOSPC) if its minimum and the others' exceed the capacity,
 * ERR_PTR(-ENOMEM).
 */
struct rpol_member *rpol_member_create(struct rpol_domain *dom,
				       const struct rpol_quota *quota,
				       const struct rpol_member_ops *ops, void *ctx)
{
	struct rpol_member *mem;

	if (!rpol_quota_valid(quota))
		return ERR_PTR(-EINVAL);
	mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->dom = dom;
	mem->ops = ops;
	mem->ctx = ctx;
	mem->weight = quota->weight;
	mem->acct.min = quota->min;
	mem->acct.max = quota->max;
	spin_lock_init(&mem->lock);
	refcount_set(&mem->pins, 1);
	init_completion(&mem->unpinned);

	spin_lock_bh(&dom->lock);
	if (quota->min > dom->capacity - dom->sum_min) {
		spin_unlock_bh(&dom->lock);
		kfree(mem);
		return ERR_PTR(-ENOSPC);
	}
	dom->sum_min += quota->min;
	dom->nr_members++;
	atomic64_sub(rpol_account_held(&mem->acct), &dom->common);
	list_add_tail(&mem->link, &dom->members);
	/* A minimum may have put a waiter's request out of reach. */
	rpol_domain_serve_locked(dom);
	spin_unlock_bh(&dom->lock);
	return mem;
}
EXPORT_SYMBOL_GPL(rpol_member_create);

/**
 * rpol_member_shutdown - charge this member for nothing any more
 * @mem: the member
 *
 * Its waiting reservations, and all later ones, end with -ESHUTDOWN.
 * Releasing goes on as before.
 *
 * Context: any but hard interrupt.
 */
void rpol_member_shutdown(struct rpol_member *mem)
{
	struct rpol_domain *dom = mem->dom;
	struct rpol_waiter *w, *next;

	spin_lock_bh(&dom->lock);
	spin_lock(&mem->lock);
	mem->shutdown = true;
	spin_unlock(&mem->lock);
	list_for_each_entry_safe(w, next, &dom->waiters, link)
		if (w->mem == mem)
			rpol_domain_dequeue_locked(dom, w, -ESHUTDOWN);
	rpol_domain_serve_locked(dom);
	spin_unlock_bh(&dom->lock);
}
EXPORT_SYMBOL_GPL(rpol_member_shutdown);

/**
 * rpol_member_destroy - a mount or a session has ended
 * @mem: the member, which has released all that it was charged; no call with
 *	 it may begin any more
 *
 * Waits for callbacks and reservations that are still on their way out.
 *
 * Context: process.
 */
void rpol_member_destroy(struct rpol_member *mem)
{
	struct rpol_domain *dom = mem->dom;

	rpol_member_shutdown(mem);
	spin_lock_bh(&dom->lock);
	mem->dying = true;
	rpol_member_unpin(mem);
	spin_unlock_bh(&dom->lock);
	wait_for_completion(&mem->unpinned);

	spin_lock_bh(&dom->lock);
	/* The RNIC's entries are not lost even if their owner forgot them. */
	WARN_ON_ONCE(mem->acct.charged);
	atomic64_add(rpol_account_held(&mem->acct), &dom->common);
	dom->sum_min -= mem->acct.min;
	dom->nr_members--;
	list_del(&mem->link);
	rpol_domain_serve_locked(dom);
	spin_unlock_bh(&dom->lock);
	kfree(mem);
}
EXPORT_SYMBOL_GPL(rpol_member_destroy);

/**
 * rpol_member_set_quota - change a member's bounds
 * @mem: the member
 * @quota: the new ones.  What is charged above them stays until released;
 *	   reservations that they put out of reach end with -E2BIG
 *
 * Context: any but hard interrupt.
 * Return: 0; -EINVAL, nothing changed, for a quota that contradicts itself or
 * a minimum that with the others' exceeds the capacity.
 */
int rpol_member_set_quota(struct rpol_member *mem, const struct rpol_quota *quota)
{
	struct rpol_domain *dom = mem->dom;
	u64 held;

	if (!rpol_quota_valid(quota))
		return -EINVAL;

	spin_lock_bh(&dom->lock);
	if (quota->min > dom->capacity - (dom->sum_min - mem->acct.min)) {
		spin_unlock_bh(&dom->lock);
		return -EINVAL;
	}
	spin_lock(&mem->lock);
	held = rpol_account_held(&mem->acct);
	dom->sum_min += quota->min - mem->acct.min;
	mem->acct.min = quota->min;
	mem->acct.max = quota->max;
	mem->weight = quota->weight;
	atomic64_sub((s64)(rpol_account_held(&mem->acct) - held), &dom->common);
	spin_unlock(&mem->lock);
	rpol_domain_serve_locked(dom);
	spin_unlock_bh(&dom->lock);
	return 0;
}
EXPORT_SYMBOL_GPL(rpol_member_set_quota);

/**
 * rpol_member_get_quota - read a member's bounds
 * @mem: the member
 * @quota: filled in
 */
void rpol_member_get_quota(struct rpol_member *mem, struct rpol_quota *quota)
{
	spin_lock_bh(&mem->lock);
	quota->min = mem->acct.min;
	quota->max = mem->acct.max;
	quota->weight = mem->weight;
	spin_unlock_bh(&mem->lock);
}
EXPORT_SYMBOL_GPL(rpol_member_get_quota);

/**
 * rpol_member_get_stats - read a member's account
 * @mem: the member
 * @st: filled in
 */
void rpol_member_get_stats(struct rpol_member *mem, struct rpol_member_stats *st)
{
	s64 in_use;

	spin_lock_bh(&mem->dom->lock);
	spin_lock(&mem->lock);
	*st = mem->stats;
	st->charged = mem->acct.charged;
	spin_unlock(&mem->lock);
	st->waiting = mem->waiting;
	st->waiters = mem->nr_waiters;
	spin_unlock_bh(&mem->dom->lock);

	/* It is counted apart, so it may run ahead of a release for a moment. */
	in_use = atomic64_read(&mem->in_use);
	st->in_use = in_use > 0 ? in_use : 0;
}
EXPORT_SYMBOL_GPL(rpol_member_get_stats);
