// SPDX-License-Identifier: GPL-2.0
/*
 * Members: how one mount or session begins and ends as a member of a domain, and how
 * its bounds change.
 *
 * A member has a reference of its owner, and one for each claim that waits and each
 * callback that is due.  rpol_member_destroy() waits until all are dropped.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/slab.h>
#include "regpolicy/domain.h"
#include "regpolicy/quota.h"

/**
 * rpol_member_pin_locked - keep a member from being freed
 * @mem: the member; rpol_member_unpin() ends this
 *
 * Context: any but hard interrupt; the domain's lock held.
 */
void rpol_member_pin_locked(struct rpol_member *mem)
{
	lockdep_assert_held(&mem->dom->lock);
	refcount_inc(&mem->pins);
}

/**
 * rpol_member_unpin - end what rpol_member_pin_locked() began
 * @mem: the member; if the caller does not hold the domain's lock, it may be freed now
 *
 * Context: any but hard interrupt.
 */
void rpol_member_unpin(struct rpol_member *mem)
{
	if (refcount_dec_and_test(&mem->pins))
		complete(&mem->unpinned);
}

static struct rpol_member *member_alloc(const struct rpol_quota *quota)
{
	struct rpol_member *mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	int class;

	if (!mem)
		return NULL;
	mem->weight = quota->weight;
	mem->acct.min = quota->min;
	mem->acct.max = quota->max;
	mem->window = RPOL_NO_WINDOW;
	spin_lock_init(&mem->lock);
	for (class = 0; class < RPOL_NR_CLASSES; class++)
		INIT_LIST_HEAD(&mem->idle[class]);
	INIT_LIST_HEAD(&mem->lent);
	INIT_LIST_HEAD(&mem->recalled);
	INIT_LIST_HEAD(&mem->victims);
	INIT_LIST_HEAD(&mem->waiters);
	INIT_LIST_HEAD(&mem->donor);
	INIT_LIST_HEAD(&mem->ask);
	refcount_set(&mem->pins, 1);
	init_completion(&mem->unpinned);
	return mem;
}

/* Changes the minimum that is kept for a member; both locks are held. */
static void set_min_locked(struct rpol_member *mem, u64 min)
{
	struct rpol_domain *dom = mem->dom;
	u64 held = rpol_account_held(&mem->acct);

	lockdep_assert_held(&dom->lock);
	lockdep_assert_held(&mem->lock);
	dom->sum_min += min - mem->acct.min;
	mem->acct.min = min;
	atomic64_sub((s64)(rpol_account_held(&mem->acct) - held), &dom->common);
}

/* Applies a change of a limit, or of the set of members, at once; the domain's lock is held. */
static void limits_changed_locked(struct rpol_domain *dom)
{
	u64 now = rpol_now(dom);

	lockdep_assert_held(&dom->lock);
	rpol_order_refuse_locked(dom, now);
	if (dom->nr_waiters || atomic64_read(&dom->common) < 0) {
		WRITE_ONCE(dom->tight, true);
		rpol_balance_locked(dom, now);
	}
	rpol_order_serve_locked(dom, now);
}

/**
 * rpol_member_create - make a member for a mount or session that begins to use an RNIC
 * @dom: the RNIC's domain
 * @quota: the member's bounds
 * @ops: the owner's callback; NULL if the member never has idle MRs
 * @ctx: argument of @ops
 *
 * Context: process, may sleep; takes the domain's lock.
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
	mem = member_alloc(quota);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->dom = dom;
	mem->ops = ops;
	mem->ctx = ctx;

	rpol_domain_lock(dom);
	if (quota->min > dom->capacity - dom->sum_min) {
		rpol_domain_unlock(dom);
		kfree(mem);
		return ERR_PTR(-ENOSPC);
	}
	mem->charged_at = rpol_now(dom);
	mem->waited_at = rpol_waited_ns(dom, mem->charged_at);
	mem->waiting_at = mem->charged_at;
	mem->demand.since = mem->charged_at;
	dom->sum_min += quota->min;
	dom->nr_members++;
	mem->number = ++dom->nr_made;
	atomic64_sub(rpol_account_held(&mem->acct), &dom->common);
	list_add_tail(&mem->link, &dom->members);
	/* The minimum may put a claim out of reach, or others may have the entries now. */
	limits_changed_locked(dom);
	rpol_domain_unlock(dom);
	return mem;
}
EXPORT_SYMBOL_GPL(rpol_member_create);

/**
 * rpol_member_set_label - say by what traces are to name a member
 * @mem: the member
 * @label: a number that its owner knows it by; 0 until this is called
 *
 * Context: any.
 */
void rpol_member_set_label(struct rpol_member *mem, u32 label)
{
	WRITE_ONCE(mem->label, label);
}
EXPORT_SYMBOL_GPL(rpol_member_set_label);

/**
 * rpol_member_shutdown - grant nothing to a member any more
 * @mem: the member
 *
 * Its waiting claims, and all later ones, end with -ESHUTDOWN.  MRs go on to
 * fall idle, to be revoked and to be released as before.  But nothing is kept
 * for the member any more, so another member can have its minimum at once.
 *
 * Context: any but hard interrupt; takes the locks of domain and member, and makes
 * callbacks.
 */
void rpol_member_shutdown(struct rpol_member *mem)
{
	struct rpol_domain *dom = mem->dom;
	u64 now;

	rpol_domain_lock(dom);
	now = rpol_now(dom);
	spin_lock(&mem->lock);
	mem->shutdown = true;
	mem->stats.refused += mem->nr_waiters;
	set_min_locked(mem, 0);
	spin_unlock(&mem->lock);
	/* Entitlements are left to a tick: thousands of members may be shut down at a time. */
	rpol_order_refuse_locked(dom, now);
	rpol_order_serve_locked(dom, now);
	rpol_domain_unlock(dom);
}
EXPORT_SYMBOL_GPL(rpol_member_shutdown);

/**
 * rpol_member_dismiss - end all claims of a member that wait now
 * @mem: the member
 * @error: result of these claims, negative
 *
 * This also concerns a task that has decided to wait before this call, but begins to
 * wait later: see rpol_mr_get_since().
 *
 * Context: any but hard interrupt; takes the locks of domain and member, and makes
 * callbacks.
 */
void rpol_member_dismiss(struct rpol_member *mem, int error)
{
	struct rpol_domain *dom = mem->dom;
	struct rpol_waiter *w, *next;
	u64 now;

	rpol_domain_lock(dom);
	now = rpol_now(dom);
	spin_lock(&mem->lock);
	mem->stats.refused += mem->nr_waiters;
	WRITE_ONCE(mem->dismissals, mem->dismissals + 1);
	spin_unlock(&mem->lock);
	list_for_each_entry_safe(w, next, &mem->waiters, link)
		rpol_order_dequeue_locked(dom, w, error, now);
	rpol_order_serve_locked(dom, now);
	rpol_domain_unlock(dom);
}
EXPORT_SYMBOL_GPL(rpol_member_dismiss);

/**
 * rpol_member_dismissals - count the calls of rpol_member_dismiss()
 * @mem: the member
 *
 * Context: any; takes no lock.
 * Return: a number for rpol_mr_get_since(), which may wrap.
 */
u32 rpol_member_dismissals(const struct rpol_member *mem)
{
	return READ_ONCE(mem->dismissals);
}
EXPORT_SYMBOL_GPL(rpol_member_dismissals);

/**
 * rpol_member_destroy - free the member of a mount or session that has ended
 * @mem: the member.  All that it was charged has been released, idle MRs by way of
 *	 rpol_mr_flush().  No other call with it may begin any more
 *
 * Waits for callbacks that run or are due, and for claims whose result is on its way.
 *
 * Context: process, sleeps; takes the domain's lock.
 */
void rpol_member_destroy(struct rpol_member *mem)
{
	struct rpol_domain *dom = mem->dom;

	rpol_member_shutdown(mem);
	rpol_domain_lock(dom);
	rpol_member_unpin(mem);
	rpol_domain_unlock(dom);
	wait_for_completion(&mem->unpinned);

	rpol_domain_lock(dom);
	/* Should the owner have forgotten to release entries, the domain still gets them back. */
	WARN_ON_ONCE(mem->acct.charged);
	spin_lock(&mem->lock);
	rpol_member_integrate_locked(mem, rpol_now(dom));
	rpol_domain_add_us(&dom->stats, &mem->stats);
	atomic64_sub(mem->revoking, &dom->revoking);
	spin_unlock(&mem->lock);
	atomic64_add(rpol_account_held(&mem->acct), &dom->common);
	dom->sum_min -= mem->acct.min;
	dom->nr_members--;
	list_del(&mem->donor);
	list_del(&mem->link);
	limits_changed_locked(dom);
	rpol_domain_unlock(dom);
	kfree(mem);
}
EXPORT_SYMBOL_GPL(rpol_member_destroy);

/**
 * rpol_member_set_quota - change a member's bounds
 * @mem: the member; if it is shut down its minimum stays 0
 * @quota: the new bounds.  MRs beyond the new maximum become victims when they fall
 *	   idle, idle MRs at once.  Claims that are out of reach now end with -E2BIG
 *
 * Context: any but hard interrupt; takes the locks of domain and member, and makes
 * callbacks.
 * Return: 0; -EINVAL, with nothing changed, for a quota that contradicts itself, or
 * for a minimum that exceeds the capacity together with the others'.
 */
int rpol_member_set_quota(struct rpol_member *mem, const struct rpol_quota *quota)
{
	struct rpol_domain *dom = mem->dom;
	u64 min;

	if (!rpol_quota_valid(quota))
		return -EINVAL;

	rpol_domain_lock(dom);
	min = mem->shutdown ? 0 : quota->min;
	if (min > dom->capacity - (dom->sum_min - mem->acct.min)) {
		rpol_domain_unlock(dom);
		return -EINVAL;
	}
	spin_lock(&mem->lock);
	set_min_locked(mem, min);
	mem->acct.max = quota->max;
	mem->weight = quota->weight;
	spin_unlock(&mem->lock);
	rpol_idle_trim_locked(dom, mem);
	limits_changed_locked(dom);
	rpol_domain_unlock(dom);
	return 0;
}
EXPORT_SYMBOL_GPL(rpol_member_set_quota);

/**
 * rpol_member_get_quota - read a member's bounds
 * @mem: the member
 * @quota: filled in; the minimum is 0 if the member is shut down
 *
 * Context: any but hard interrupt; takes the member's lock.
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
 * rpol_member_room - find the largest MR that is worth asking for just now
 * @mem:	the member
 * @device_max: entries that one MR of the device can hold
 * @least:	entries that each MR of the device is charged at least
 *
 * The size is bounded by the member's maximum, by the entries that others' minima
 * leave and, while claims wait, by the member's entitlement.  A claim for more than the
 * entitlement would wait for its turn, while smaller MRs could be had all the time.
 *
 * Context: any; takes no lock, so the result may be out of date at once.
 * Return: entries of an MR of some class; of the smallest class if none fits.
 */
u32 rpol_member_room(struct rpol_member *mem, u32 device_max, u32 least)
{
	struct rpol_domain *dom = mem->dom;
	u64 min = READ_ONCE(mem->acct.min), sum_min = READ_ONCE(dom->sum_min);
	u64 most = READ_ONCE(dom->capacity);
	u32 room = rpol_class_entries(0, device_max);
	unsigned int class;

	most -= min(most, sum_min - min(sum_min, min));
	most = min(most, READ_ONCE(mem->acct.max));
	/* A member that gets all that it demands is not bounded: it may demand more. */
	if (READ_ONCE(dom->contended) && READ_ONCE(mem->curbed))
		most = min(most, max(READ_ONCE(mem->share), min));
	for (class = 1; class < RPOL_NR_CLASSES; class++)
		if (rpol_class_charge(class, device_max, least) <= most)
			room = rpol_class_entries(class, device_max);
	return room;
}
EXPORT_SYMBOL_GPL(rpol_member_room);

/**
 * rpol_member_get_stats - read a member's account
 * @mem: the member
 * @st: filled in
 *
 * Context: any but hard interrupt; takes the locks of domain and member.
 */
void rpol_member_get_stats(struct rpol_member *mem, struct rpol_member_stats *st)
{
	struct rpol_domain *dom = mem->dom;
	u64 now;

	rpol_domain_lock(dom);
	now = rpol_now(dom);
	rpol_deficit_update_locked(dom, mem, now);
	spin_lock(&mem->lock);
	*st = mem->stats;
	st->charged = mem->acct.charged;
	st->in_use = mem->bound;
	st->idle = mem->idle_entries;
	st->lent = mem->lent_entries;
	st->waiting = mem->waiting;
	st->waiters = mem->nr_waiters;
	st->demand = rpol_peak_read(&mem->demand, now, mem->bound + mem->waiting);
	st->entitlement = mem->share;
	st->window = rpol_member_window_locked(mem, now);
	spin_unlock(&mem->lock);
	st->deficit_us = mem->deficit.value >> RPOL_FRAC_BITS;
	rpol_domain_unlock(dom);
}
EXPORT_SYMBOL_GPL(rpol_member_get_stats);
