// SPDX-License-Identifier: GPL-2.0
/*
 * A domain: one RNIC's entries, who is charged for them, who waits for them.
 *
 * Waiting reservations stand in one queue, in order of arrival.  Whenever
 * something is released or a limit changes, the queue is looked through from
 * its head and everybody is served who can be without taking what somebody
 * before him waits for:
 *
 *   - of the common part nothing is taken past the first waiter that lacks it,
 *     so a small request never starves a large one;
 *   - a waiter at its own member's maximum holds up that member only;
 *   - what is kept for a member is its to take, whoever waits for the common
 *     part;
 *   - a member's reservations are never served out of their order.
 *
 * A waiter asks the members to give back idle MRs, and asks again from time
 * to time: an MR that was in use when it was asked may be idle now.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "regpolicy/domain.h"

/* Puts @w last.  The caller serves the queue afterwards. */
void rpol_domain_enqueue_locked(struct rpol_domain *dom, struct rpol_waiter *w)
{
	lockdep_assert_held(&dom->lock);
	list_add_tail(&w->link, &dom->waiters);
	WRITE_ONCE(w->mem->nr_waiters, w->mem->nr_waiters + 1);
	w->mem->waiting += w->entries;
	atomic_inc(&dom->nr_waiters);
	/*
	 * Pairs with the barrier in rpol_release(): either the release sees
	 * this waiter, or the waiter's own look at the queue sees the release.
	 */
	smp_mb__after_atomic();
}

/* Ends @w with @ret and wakes its task.  The caller serves the queue afterwards. */
void rpol_domain_dequeue_locked(struct rpol_domain *dom, struct rpol_waiter *w, int ret)
{
	lockdep_assert_held(&dom->lock);
	list_del(&w->link);
	WRITE_ONCE(w->mem->nr_waiters, w->mem->nr_waiters - 1);
	w->mem->waiting -= w->entries;
	atomic_dec(&dom->nr_waiters);
	w->ret = ret;
	w->ended = true;
	complete(&w->wake);
}

/* Whether @w could be served if everything were released. */
static bool waiter_possible_locked(struct rpol_domain *dom, struct rpol_waiter *w)
{
	bool ever;

	spin_lock(&w->mem->lock);
	ever = rpol_admit_ever(&w->mem->acct, dom->capacity, dom->sum_min, w->entries);
	spin_unlock(&w->mem->lock);
	return ever;
}

/* Tries to serve @w; what keeps it waiting is left in its member's verdict. */
static void waiter_serve_locked(struct rpol_domain *dom, struct rpol_waiter *w, bool closed)
{
	struct rpol_member *mem = w->mem;

	spin_lock(&mem->lock);
	mem->verdict = rpol_member_charge_locked(mem, w->entries, closed);
	spin_unlock(&mem->lock);
	if (mem->verdict == RPOL_ADMITTED)
		rpol_domain_dequeue_locked(dom, w, 0);
}

/* Whose releases would help a waiter: kept entries come free for nobody else. */
static void members_press_locked(struct rpol_domain *dom)
{
	struct rpol_member *mem;
	bool pressed;

	list_for_each_entry(mem, &dom->members, link) {
		pressed = mem->verdict != RPOL_ADMITTED;
		if (dom->closed && READ_ONCE(mem->acct.charged) > mem->acct.min)
			pressed = true;
		if (pressed != mem->pressed)
			WRITE_ONCE(mem->pressed, pressed);
	}
}

/**
 * rpol_domain_serve_locked - look through the queue
 * @dom: the domain, its lock held
 *
 * Ends every waiter that can be served now or can never be.
 */
void rpol_domain_serve_locked(struct rpol_domain *dom)
{
	struct rpol_waiter *w, *next;
	struct rpol_member *mem;
	bool closed = false;

	lockdep_assert_held(&dom->lock);
	list_for_each_entry(mem, &dom->members, link)
		mem->verdict = RPOL_ADMITTED;
	list_for_each_entry_safe(w, next, &dom->waiters, link) {
		/* Also of one that stands behind another: it would wait in vain. */
		if (!waiter_possible_locked(dom, w)) {
			rpol_domain_dequeue_locked(dom, w, -E2BIG);
			continue;
		}
		if (w->mem->verdict != RPOL_ADMITTED)
			continue;
		waiter_serve_locked(dom, w, closed);
		if (w->mem->verdict == RPOL_WAIT_COMMON)
			closed = true;
	}
	WRITE_ONCE(dom->closed, closed);
	members_press_locked(dom);
}

/* Whether @mem may have idle MRs that would bring @w, or a lowered capacity, closer. */
static bool member_can_help_locked(const struct rpol_member *mem, const struct rpol_waiter *w)
{
	u64 charged = READ_ONCE(mem->acct.charged);
	s64 in_use = atomic64_read(&mem->in_use);

	if (!mem->ops || !mem->ops->reclaim || mem->dying)
		return false;
	if (in_use > 0 && charged <= in_use)
		return false;
	if (w && w->mem == mem)
		return charged > 0;
	if (w && w->mem->verdict == RPOL_WAIT_OWN)
		return false;
	return charged > mem->acct.min;
}

/**
 * rpol_domain_reclaim - ask members to give back idle MRs
 * @dom: the domain
 * @w: on whose behalf; NULL to cover what @dom lacks since its capacity was
 *     lowered
 *
 * Context: process, no lock held; members' callbacks are called.
 */
void rpol_domain_reclaim(struct rpol_domain *dom, const struct rpol_waiter *w)
{
	struct rpol_member *mem;
	s64 lack;

	spin_lock_bh(&dom->lock);
	rpol_domain_serve_locked(dom);
	/*
	 * Pairs with the barrier in rpol_account_use(): whoever makes an MR
	 * idle after this sees that it is pressed, and whoever did before is
	 * seen by member_can_help_locked().
	 */
	smp_mb();
	list_for_each_entry(mem, &dom->members, link) {
		lack = w ? w->entries : -atomic64_read(&dom->common);
		if (lack <= 0 || (w && w->ended))
			break;
		if (!member_can_help_locked(mem, w))
			continue;
		rpol_member_pin_locked(mem);
		spin_lock(&mem->lock);
		mem->stats.reclaims++;
		spin_unlock(&mem->lock);
		spin_unlock_bh(&dom->lock);

		mem->ops->reclaim(mem->ctx, lack);

		/* A pinned member stays in the list, so the walk can go on from it. */
		spin_lock_bh(&dom->lock);
		rpol_member_unpin(mem);
	}
	spin_unlock_bh(&dom->lock);
}

static bool capacity_is_sound(u64 capacity)
{
	return capacity >= RPOL_CAPACITY_MIN && capacity <= RPOL_CAPACITY_MAX;
}

/**
 * rpol_domain_create - make a domain for an RNIC
 * @capacity: entries there are, at least RPOL_CAPACITY_MIN
 *
 * Context: process.
 * Return: the domain; ERR_PTR(-EINVAL) for a capacity that no RPC fits into or
 * that no RNIC has, ERR_PTR(-ENOMEM).
 */
struct rpol_domain *rpol_domain_create(u64 capacity)
{
	struct rpol_domain *dom;

	if (!capacity_is_sound(capacity))
		return ERR_PTR(-EINVAL);
	dom = kzalloc(sizeof(*dom), GFP_KERNEL);
	if (!dom)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&dom->lock);
	INIT_LIST_HEAD(&dom->members);
	INIT_LIST_HEAD(&dom->waiters);
	dom->capacity = capacity;
	atomic64_set(&dom->common, capacity);
	return dom;
}
EXPORT_SYMBOL_GPL(rpol_domain_create);

/**
 * rpol_domain_destroy - the RNIC is gone
 * @dom: the domain, which has no members any more
 *
 * Context: process.
 */
void rpol_domain_destroy(struct rpol_domain *dom)
{
	if (WARN_ON_ONCE(!list_empty(&dom->members)))
		return;
	kfree(dom);
}
EXPORT_SYMBOL_GPL(rpol_domain_destroy);

/**
 * rpol_domain_set_capacity - say how many entries there are
 * @dom: the domain
 * @capacity: entries.  If less than is charged, idle MRs are asked back and
 *	      nothing is granted until the excess is released
 *
 * Context: process; members' callbacks are called.
 * Return: 0; -EINVAL if @capacity is below the sum of the minima or below
 * RPOL_CAPACITY_MIN, or absurdly large.
 */
int rpol_domain_set_capacity(struct rpol_domain *dom, u64 capacity)
{
	if (!capacity_is_sound(capacity))
		return -EINVAL;

	spin_lock_bh(&dom->lock);
	if (capacity < dom->sum_min) {
		spin_unlock_bh(&dom->lock);
		return -EINVAL;
	}
	atomic64_add((s64)capacity - (s64)dom->capacity, &dom->common);
	dom->capacity = capacity;
	rpol_domain_serve_locked(dom);
	spin_unlock_bh(&dom->lock);

	rpol_domain_reclaim(dom, NULL);
	return 0;
}
EXPORT_SYMBOL_GPL(rpol_domain_set_capacity);

/**
 * rpol_domain_get_stats - read a domain's account
 * @dom: the domain
 * @st: filled in; consistent within itself unless entries come and go
 *	meanwhile
 */
void rpol_domain_get_stats(struct rpol_domain *dom, struct rpol_domain_stats *st)
{
	struct rpol_member *mem;

	memset(st, 0, sizeof(*st));
	spin_lock_bh(&dom->lock);
	st->capacity = dom->capacity;
	st->reserved_min = dom->sum_min;
	st->members = dom->nr_members;
	st->waiters = atomic_read(&dom->nr_waiters);
	st->waits = dom->waits;
	list_for_each_entry(mem, &dom->members, link)
		st->charged += READ_ONCE(mem->acct.charged);
	spin_unlock_bh(&dom->lock);
}
EXPORT_SYMBOL_GPL(rpol_domain_get_stats);
