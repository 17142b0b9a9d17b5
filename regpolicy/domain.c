// SPDX-License-Identifier: GPL-2.0
/*
 * Domains: one RNIC's entries, the members that are charged for them, and the claims
 * that wait for them.
 *
 * The domain's limits and tunables change here.  Callbacks are made here, when the
 * domain's lock is dropped.  rpol_domain_tick() does what is due by the clock.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>
#include "regpolicy/domain.h"

/*
 * A peer of NFS/RDMA takes this long to reconnect.  So an MR that is idle for less may be in a
 * pause of its use, and not at the end of it.
 */
#define IDLE_MS_DEFAULT		5000
/* An hour. */
#define IDLE_MS_MAX		3600000

/**
 * rpol_domain_wake - have the domain's owner call rpol_domain_tick()
 * @dom: the domain
 * @delay_ns: time from now, in ns
 *
 * Context: any but hard interrupt; no lock of this directory held.
 */
void rpol_domain_wake(struct rpol_domain *dom, u64 delay_ns)
{
	if (!dom->ops || !dom->ops->wake)
		return;
	atomic_set(&dom->ticking, 1);
	dom->ops->wake(dom->ctx, delay_ns);
}

/**
 * rpol_domain_lock - take a domain's lock
 * @dom: the domain
 *
 * Context: any but hard interrupt; returns with bottom halves off.
 */
void rpol_domain_lock(struct rpol_domain *dom)
	__acquires(&dom->lock)
{
	spin_lock_bh(&dom->lock);
}

/*
 * Makes one callback that is due, without the domain's lock, which is held before and after.
 * Return: false if none is due.
 */
static bool tell_one_locked(struct rpol_domain *dom)
{
	struct rpol_member *mem;
	struct rpol_waiter *w;
	u64 delay;

	lockdep_assert_held(&dom->lock);
	w = list_first_entry_or_null(&dom->ended, struct rpol_waiter, link);
	if (w) {
		list_del_init(&w->link);
		mem = w->mem;
		spin_unlock(&dom->lock);
		w->done(w, w->ret);
		spin_lock(&dom->lock);
		rpol_member_unpin(mem);
		return true;
	}
	mem = list_first_entry_or_null(&dom->asked, struct rpol_member, ask);
	if (mem) {
		/* Off the list first, so that victims made during the call cause another call. */
		list_del_init(&mem->ask);
		spin_unlock(&dom->lock);
		mem->ops->reclaim(mem->ctx);
		spin_lock(&dom->lock);
		rpol_member_unpin(mem);
		return true;
	}
	if (dom->wake_in || (dom->tight && !atomic_read(&dom->ticking) && dom->ops &&
			     dom->ops->wake)) {
		delay = dom->wake_in ?: RPOL_TICK_TIGHT;
		dom->wake_in = 0;
		spin_unlock(&dom->lock);
		rpol_domain_wake(dom, delay);
		spin_lock(&dom->lock);
		return true;
	}
	return false;
}

/**
 * rpol_domain_unlock - make the callbacks that are due, and drop a domain's lock
 * @dom: the domain
 *
 * One caller at a time makes callbacks.  A second one, on another processor or in a
 * callback itself, leaves its callbacks to the first, so callbacks do not nest.
 * Bottom halves stay off until all are made, so that the first can't be kept from it
 * for long.
 *
 * Context: any but hard interrupt; @dom's lock held, taken by rpol_domain_lock().
 */
void rpol_domain_unlock(struct rpol_domain *dom)
	__releases(&dom->lock)
{
	lockdep_assert_held(&dom->lock);
	if (!dom->telling) {
		dom->telling = true;
		while (tell_one_locked(dom))
			;
		dom->telling = false;
	}
	spin_unlock_bh(&dom->lock);
}

static bool capacity_is_sound(u64 capacity)
{
	return capacity >= RPOL_CAPACITY_MIN && capacity <= RPOL_CAPACITY_MAX;
}

static void capacity_integrate_locked(struct rpol_domain *dom, u64 now)
{
	u64 us;

	lockdep_assert_held(&dom->lock);
	if (now <= dom->capacity_at)
		return;
	us = div_u64(now - dom->capacity_at, NSEC_PER_USEC);
	dom->stats.capacity_us += us * dom->capacity;
	dom->capacity_at += us * NSEC_PER_USEC;
}

/**
 * rpol_domain_create - make a domain for an RNIC
 * @capacity: entries of the RNIC, RPOL_CAPACITY_MIN..RPOL_CAPACITY_MAX
 * @ops: the owner's callbacks, or NULL
 * @ctx: argument of @ops
 *
 * The memory is little, and is waited for.
 *
 * Context: process, may sleep.
 * Return: the domain; ERR_PTR(-EINVAL) for a capacity that no usual RPC fits into or
 * that no RNIC has.
 */
struct rpol_domain *rpol_domain_create(u64 capacity, const struct rpol_domain_ops *ops,
				       void *ctx)
{
	struct rpol_domain *dom;

	if (!capacity_is_sound(capacity))
		return ERR_PTR(-EINVAL);
	dom = kzalloc(sizeof(*dom), GFP_KERNEL | __GFP_NOFAIL);
	spin_lock_init(&dom->lock);
	INIT_LIST_HEAD(&dom->members);
	dom->owed = RB_ROOT_CACHED;
	dom->rest = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&dom->donors);
	INIT_LIST_HEAD(&dom->ended);
	INIT_LIST_HEAD(&dom->asked);
	dom->ops = ops;
	dom->ctx = ctx;
	dom->capacity = capacity;
	atomic64_set(&dom->common, capacity);
	dom->tun.low = capacity / 64;
	dom->tun.high = capacity / 32;
	dom->tun.idle_ms = IDLE_MS_DEFAULT;
	dom->vtime_at = rpol_now(dom);
	dom->vtime_rate = 1ULL << RPOL_VTIME_BITS;
	dom->capacity_at = dom->vtime_at;
	prandom_seed_state(&dom->random, 1);
	return dom;
}
EXPORT_SYMBOL_GPL(rpol_domain_create);

/**
 * rpol_domain_destroy - free the domain of an RNIC that is gone
 * @dom: the domain; it has no members any more, and rpol_domain_tick() neither runs nor
 *	 will be called
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
 * rpol_domain_set_capacity - change a domain's capacity
 * @dom: the domain
 * @capacity: entries
 *
 * If more entries are charged than the new capacity, idle MRs are taken from members
 * that have more than they are to keep.  Until the excess is released, new MRs are
 * charged only within an unused minimum that covers the excess (see admit.h); idle
 * MRs may be bound again within an entitlement or a window.
 *
 * Context: any but hard interrupt; takes the locks of domain and members, and makes
 * callbacks.
 * Return: 0; -EINVAL if @capacity is below the sum of the minima, below
 * RPOL_CAPACITY_MIN, or above RPOL_CAPACITY_MAX.
 */
int rpol_domain_set_capacity(struct rpol_domain *dom, u64 capacity)
{
	u64 now;

	if (!capacity_is_sound(capacity))
		return -EINVAL;

	rpol_domain_lock(dom);
	if (capacity < dom->sum_min) {
		rpol_domain_unlock(dom);
		return -EINVAL;
	}
	now = rpol_now(dom);
	capacity_integrate_locked(dom, now);
	atomic64_add((s64)capacity - (s64)dom->capacity, &dom->common);
	WRITE_ONCE(dom->capacity, capacity);
	/* A watermark must not exceed the capacity. */
	dom->tun.low = min(dom->tun.low, capacity);
	dom->tun.high = min(dom->tun.high, capacity);
	rpol_order_refuse_locked(dom, now);
	if (dom->nr_waiters || atomic64_read(&dom->common) < 0) {
		WRITE_ONCE(dom->tight, true);
		rpol_balance_locked(dom, now);
	}
	rpol_order_serve_locked(dom, now);
	rpol_domain_unlock(dom);
	return 0;
}
EXPORT_SYMBOL_GPL(rpol_domain_set_capacity);

/**
 * rpol_domain_set_tunables - change a domain's tunables
 * @dom: the domain
 * @tun: the new tunables
 *
 * Context: any but hard interrupt; takes the locks of domain and members, and makes
 * callbacks.
 * Return: 0; -EINVAL, with nothing changed, for a discipline or replacement that does not
 * exist, a low watermark above the high one, a high one above the capacity, or an idle
 * time of more than an hour.
 */
int rpol_domain_set_tunables(struct rpol_domain *dom, const struct rpol_tunables *tun)
{
	int ret = -EINVAL;
	u64 now;

	rpol_domain_lock(dom);
	now = rpol_now(dom);
	if (tun->discipline < RPOL_NR_DISCIPLINES && tun->replacement < RPOL_NR_REPLACEMENTS &&
	    tun->low <= tun->high && tun->high <= dom->capacity && tun->idle_ms <= IDLE_MS_MAX) {
		dom->tun = *tun;
		/* Replaces the windows of the old discipline by windows of the new one. */
		rpol_balance_locked(dom, now);
		rpol_order_serve_locked(dom, now);
		ret = 0;
	}
	rpol_domain_unlock(dom);
	return ret;
}
EXPORT_SYMBOL_GPL(rpol_domain_set_tunables);

/**
 * rpol_domain_get_tunables - read a domain's tunables
 * @dom: the domain
 * @tun: filled in
 *
 * Context: any but hard interrupt; takes the domain's lock.
 */
void rpol_domain_get_tunables(struct rpol_domain *dom, struct rpol_tunables *tun)
{
	rpol_domain_lock(dom);
	*tun = dom->tun;
	rpol_domain_unlock(dom);
}
EXPORT_SYMBOL_GPL(rpol_domain_get_tunables);

/**
 * rpol_domain_get_stats - read a domain's account
 * @dom: the domain
 * @st: filled in; its numbers fit together unless entries are charged or released
 *	meanwhile
 *
 * Context: any but hard interrupt; takes the locks of domain and members.
 */
void rpol_domain_get_stats(struct rpol_domain *dom, struct rpol_domain_stats *st)
{
	struct rpol_member *mem;
	u64 now;

	rpol_domain_lock(dom);
	now = rpol_now(dom);
	capacity_integrate_locked(dom, now);
	*st = dom->stats;
	st->capacity = dom->capacity;
	st->reserved_min = dom->sum_min;
	st->members = dom->nr_members;
	st->waiters = dom->nr_waiters;
	list_for_each_entry(mem, &dom->members, link) {
		spin_lock(&mem->lock);
		rpol_member_integrate_locked(mem, now);
		st->charged += mem->acct.charged;
		st->revoking += mem->revoking;
		rpol_domain_add_us(st, &mem->stats);
		spin_unlock(&mem->lock);
	}
	rpol_domain_unlock(dom);
}
EXPORT_SYMBOL_GPL(rpol_domain_get_stats);

/* Whether a member has idle or lent MRs, which a later tick may take or recall. */
static bool anything_idle_locked(struct rpol_domain *dom)
{
	struct rpol_member *mem;
	bool idle;

	lockdep_assert_held(&dom->lock);
	list_for_each_entry(mem, &dom->members, link) {
		spin_lock(&mem->lock);
		idle = mem->idle_entries || mem->lent_entries;
		spin_unlock(&mem->lock);
		if (idle)
			return true;
	}
	return false;
}

static u64 tick_delay_locked(struct rpol_domain *dom)
{
	lockdep_assert_held(&dom->lock);
	if (dom->tight)
		return RPOL_TICK_TIGHT;
	if (!anything_idle_locked(dom))
		return 0;
	if (atomic64_read(&dom->common) < (s64)dom->tun.low)
		return RPOL_TICK_LOW;
	return RPOL_TICK_CALM;
}

/**
 * rpol_domain_tick - do what is due by the clock
 * @dom: the domain
 *
 * Computes entitlements while claims wait, takes MRs that have been idle for too
 * long, and keeps as many entries free as the watermarks say.
 *
 * Context: any but hard interrupt; takes the locks of domain and members, and makes
 * callbacks.  Meant for a worker; must not be called by two at a time.
 * Return: time in ns after which it is to be called again; 0: not before ops->wake().
 */
u64 rpol_domain_tick(struct rpol_domain *dom)
{
	struct rpol_member *mem;
	u64 now, delay;

	rpol_domain_lock(dom);
	/*
	 * Cleared before we look for idle MRs.  If an MR falls idle after we have looked
	 * at its member, under the member's lock, the clear is seen there, and a tick is
	 * asked for.
	 */
	atomic_set(&dom->ticking, 0);
	now = rpol_now(dom);
	capacity_integrate_locked(dom, now);
	if (dom->tight)
		rpol_balance_locked(dom, now);
	list_for_each_entry(mem, &dom->members, link) {
		rpol_idle_overdue_locked(dom, mem, now);
		rpol_idle_expire_locked(dom, mem, now);
	}
	rpol_watermark_locked(dom, now);
	rpol_order_serve_locked(dom, now);
	delay = tick_delay_locked(dom);
	if (delay)
		atomic_set(&dom->ticking, 1);
	rpol_domain_unlock(dom);
	return delay;
}
EXPORT_SYMBOL_GPL(rpol_domain_tick);
