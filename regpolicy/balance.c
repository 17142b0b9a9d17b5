// SPDX-License-Identifier: GPL-2.0
/*
 * Entitlements while claims wait, and how far members are behind them.
 *
 * Entitlements are computed when the first claim begins to wait, by each tick
 * while claims wait, and in between when a claim begins to wait.  But while
 * windows are cut, or with many members, they are not computed before a
 * microsecond for each member has gone by since the last time; a claim that
 * comes earlier has the next tick come at that time.  One computation takes a
 * fraction of a microsecond for each member, so this bounds the cost to a part
 * of one processor that does not grow with the number of members.
 *
 * A member's *deficit* is what it was entitled to and did not have, as entries
 * times time.  It changes by (entitlement - charged) * dt while a claim of the
 * member waits; while none waits it can only fall.  Entitlements are not whole
 * numbers of MRs, so members never use all that they are entitled to.  If
 * entitlements were earned in real time, all members would fall behind, the
 * heaviest most.  So they are earned in the domain's virtual time.  Its rate is
 * the part of all entitlements that is charged, which keeps the sum of the
 * deficits constant.
 *
 * That is fair, but a turn may take long to come: a member of weight 1 beside one
 * of weight 10,000 is entitled to an MR for some milliseconds in a minute, and may
 * never find one free.  So the oldest of the claims that have waited for a second,
 * and whose members have no MR in use, is counted like a minimum: the windows of
 * other members shrink for it, until it is granted.
 *
 * A deficit is bounded by one second of the entitlement or of one maximal MR,
 * whichever is more.  It begins anew when a member has demanded nothing of late,
 * or when no claim has stood in line for long.
 */
#include <linux/bits.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include "regpolicy/domain.h"
#include "regpolicy/trace.h"

/* The time whose entitlement bounds a deficit; what exceeds it is forgotten. */
#define DEFICIT_US		1000000

/* A claim hardly waits longer, however small its member's entitlement. */
#define PATIENCE_NS		1000000000ULL

/* With so many members or fewer, entitlements are computed at once for the first claim. */
#define FEW_MEMBERS		64
#define INTERVAL_NS		1000ULL		/* for each member */
#define INTERVAL_MIN_NS		20000ULL

static u64 vtime_at(const struct rpol_domain *dom, u64 now)
{
	u64 us = now > dom->vtime_at ? div_u64(now - dom->vtime_at, NSEC_PER_USEC) : 0;

	return dom->vtime + us * dom->vtime_rate;
}

static void vtime_set_rate(struct rpol_domain *dom, u64 now, u64 used, u64 entitled)
{
	const u64 one = 1ULL << RPOL_VTIME_BITS;

	dom->vtime = vtime_at(dom, now);
	dom->vtime_at = now;
	dom->vtime_rate = entitled ? min(one, div64_u64(used << RPOL_VTIME_BITS, entitled)) : one;
}

static s64 deficit_bound(const struct rpol_member *mem, s64 value)
{
	s64 most = (s64)max(mem->claim.share, (u64)RPOL_CLASS_MAX << RPOL_FRAC_BITS) * DEFICIT_US;

	return clamp(value, -most, most);
}

/*
 * The deficit that @mem has earned since its deficit was brought up to date.  The time is
 * capped to twice what bounds a deficit, so that nothing overflows after a long calm.
 */
static s64 earned(const struct rpol_domain *dom, const struct rpol_member *mem, u64 now)
{
	u64 vtime = min(vtime_at(dom, now) - mem->deficit.vtime,
			2ULL * DEFICIT_US << RPOL_VTIME_BITS);

	return mul_u64_u64_shr(mem->claim.share, vtime, RPOL_VTIME_BITS);
}

/* The deficit that @us charged entry-microseconds cost, capped for the same reason. */
static s64 spending(u64 us)
{
	return min(us, BIT_ULL(52)) << RPOL_FRAC_BITS;
}

/**
 * rpol_deficit_read_locked - estimate a member's deficit
 * @dom: its domain
 * @mem: the member
 * @now: time in ns
 *
 * Assumes that the entries charged to the member have not changed since its deficit
 * was brought up to date.
 *
 * Context: any but hard interrupt; @dom's lock held.
 * Return: entry-microseconds, with RPOL_FRAC_BITS of fraction.
 */
s64 rpol_deficit_read_locked(const struct rpol_domain *dom, const struct rpol_member *mem,
			     u64 now)
{
	u64 now_us = div_u64(now, NSEC_PER_USEC);
	s64 gain, spent = 0;

	lockdep_assert_held(&dom->lock);
	gain = earned(dom, mem, now);
	if (now_us > mem->deficit.at)
		spent = spending(mem->deficit.charged * (now_us - mem->deficit.at));
	if (list_empty(&mem->waiters))
		gain = min(gain, spent);
	return deficit_bound(mem, mem->deficit.value + gain - spent);
}

/**
 * rpol_deficit_update_locked - bring a member's deficit up to date
 * @dom: its domain
 * @mem: the member
 * @now: time in ns
 *
 * To be called before the member begins or ceases to wait.
 *
 * Context: any but hard interrupt; @dom's lock held; takes @mem's.
 */
void rpol_deficit_update_locked(struct rpol_domain *dom, struct rpol_member *mem, u64 now)
{
	struct rpol_deficit *d = &mem->deficit;
	u64 charged_us, charged;
	s64 gain, spent;

	lockdep_assert_held(&dom->lock);
	spin_lock(&mem->lock);
	rpol_member_integrate_locked(mem, now);
	charged_us = mem->stats.charged_us;
	charged = mem->acct.charged;
	spin_unlock(&mem->lock);

	gain = earned(dom, mem, now);
	spent = spending(charged_us - d->charged_us);
	if (list_empty(&mem->waiters))
		gain = min(gain, spent);
	d->value = deficit_bound(mem, d->value + gain - spent);
	d->charged = charged;
	d->charged_us = charged_us;
	d->vtime = vtime_at(dom, now);
	d->at = div_u64(now, NSEC_PER_USEC);
}

/*
 * The member without an MR in use whose first claim has waited longest in the second line, if
 * that is longer than PATIENCE_NS; or NULL.
 */
static struct rpol_member *find_overdue(struct rpol_domain *dom, u64 now)
{
	struct rpol_member *mem, *oldest = NULL;
	const struct rpol_waiter *w;
	u64 seq = U64_MAX;

	list_for_each_entry(mem, &dom->members, link) {
		/* A member in the first line needs no help. */
		if (mem->line != &dom->rest)
			continue;
		w = list_first_entry(&mem->waiters, struct rpol_waiter, link);
		if (READ_ONCE(mem->bound) || now < w->since + PATIENCE_NS || w->seq >= seq)
			continue;
		oldest = mem;
		seq = w->seq;
	}
	return oldest;
}

/* A minimum that lets the first claim of @mem be granted, if the other minima leave room. */
static u64 overdue_floor(const struct rpol_member *mem)
{
	const struct rpol_waiter *w;
	u64 floor = mem->acct.min, want;

	w = list_first_entry(&mem->waiters, struct rpol_waiter, link);
	want = w->entries;
	if (want > floor && want - floor <= mem->dom->capacity - mem->dom->sum_min)
		floor = want;
	return floor;
}

/* Prepares a member's part in the split, and adds the entries charged to it to @used. */
static void claim_fill(struct rpol_member *mem, u64 now, bool anew, bool overdue, u64 *used)
{
	struct rpol_claim *c = &mem->claim;
	u64 demand;

	spin_lock(&mem->lock);
	demand = rpol_peak_read(&mem->demand, now, mem->bound + mem->waiting);
	c->floor = (overdue ? overdue_floor(mem) : mem->acct.min) << RPOL_FRAC_BITS;
	c->ceil = min3(demand, mem->acct.max, mem->dom->capacity) << RPOL_FRAC_BITS;
	c->weight = mem->weight;
	*used += mem->acct.charged;
	spin_unlock(&mem->lock);
	if (anew || !demand)
		mem->deficit.value = 0;
}

/*
 * Traces that a member's window is about to change to @window; @calm: until now no claim had
 * waited, so that it may have grown since it was cut.  Both locks are held.
 */
static void window_trace(const struct rpol_domain *dom, const struct rpol_member *mem,
			 u64 window, u64 now, bool calm)
{
	enum rpol_window_why why = RPOL_WINDOW_SHARE;
	u64 was = mem->window;

	lockdep_assert_held(&dom->lock);
	lockdep_assert_held(&mem->lock);
	if (calm && was != RPOL_NO_WINDOW)
		was = rpol_window_grown(was, dom->capacity,
					now > dom->calm_since ? now - dom->calm_since : 0);
	/* The steps in which it has grown were not traced. */
	if (window == was && window == mem->window)
		return;
	if (window == RPOL_NO_WINDOW && window == was) {
		/* As rpol_member_window_locked() does, had it looked at the window before. */
		why = RPOL_WINDOW_CALM;
		was = mem->window;
	} else if (window == RPOL_NO_WINDOW) {
		why = RPOL_WINDOW_FIFO;
	}
	trace_rdmafs_policy_window(mem, was, window, why);
}

/* Publishes a member's entitlement, and cuts its window to it; @calm as for window_trace(). */
static void share_publish(struct rpol_domain *dom, struct rpol_member *mem, u64 now, bool calm)
{
	u64 window = RPOL_NO_WINDOW, share;

	/*
	 * Rounded to the nearest: a share that should be whole, such as two thirds of the
	 * capacity, may have come out a fraction lower and must not lose an entry for that.
	 */
	share = (mem->claim.share + (1 << (RPOL_FRAC_BITS - 1))) >> RPOL_FRAC_BITS;
	spin_lock(&mem->lock);
	if (trace_rdmafs_policy_share_enabled() && share != mem->share)
		trace_rdmafs_policy_share(mem, share);
	WRITE_ONCE(mem->share, share);
	WRITE_ONCE(mem->curbed, mem->claim.share < mem->claim.ceil);
	if (dom->tun.discipline == RPOL_FAIR)
		window = rpol_member_keeps(mem);
	if (window < mem->window && window < mem->bound)
		mem->stats.cuts++;
	if (trace_rdmafs_policy_window_enabled())
		window_trace(dom, mem, window, now, calm);
	mem->window = window;
	spin_unlock(&mem->lock);
	rpol_donor_update_locked(dom, mem, now);
}

/**
 * rpol_balance_locked - compute entitlements
 * @dom: the domain
 * @now: time in ns
 *
 * Cuts the windows of all members to their entitlements, notes which members have
 * idle or lent MRs that others may get, and puts the members that wait in order.  The
 * caller serves the queue afterwards; if the domain is not tight, as may be when
 * tunables change, this lets the windows grow back.
 *
 * Context: any but hard interrupt; @dom's lock held; takes the members'.
 */
void rpol_balance_locked(struct rpol_domain *dom, u64 now)
{
	bool calm = !dom->contended;
	bool anew = calm && now - dom->calm_since >= RPOL_DEMAND_NS;
	u64 used = 0, entitled = 0;
	struct rpol_member *mem, *overdue;
	LIST_HEAD(claims);

	lockdep_assert_held(&dom->lock);
	overdue = find_overdue(dom, now);
	list_for_each_entry(mem, &dom->members, link) {
		rpol_deficit_update_locked(dom, mem, now);
		claim_fill(mem, now, anew, mem == overdue, &used);
		list_add_tail(&mem->claim.link, &claims);
	}
	rpol_entitle(&claims, dom->capacity << RPOL_FRAC_BITS);
	/* The next tick may be far off: ticks have to come more often while claims wait. */
	if (!dom->contended)
		dom->wake_in = RPOL_TICK_TIGHT;
	/*
	 * Before the first window is cut: a task that finds a cut window under its member's lock
	 * also finds the domain contended, and does not take the window to have grown since the
	 * last calm began.
	 */
	WRITE_ONCE(dom->contended, true);
	list_for_each_entry(mem, &dom->members, link) {
		entitled += mem->claim.share;
		share_publish(dom, mem, now, calm);
	}
	vtime_set_rate(dom, now, used << RPOL_FRAC_BITS, entitled);
	dom->balanced_at = now;
	dom->due = false;
	dom->stats.rebalances++;
	/* Members may change lines, as entitlements are new; some have left their line. */
	list_for_each_entry(mem, &dom->members, link)
		rpol_order_line_up_locked(dom, mem);
}

/**
 * rpol_balance_try_locked - compute entitlements, unless that was done just now
 * @dom: the domain
 * @now: time in ns
 *
 * If it was, the next tick computes them and is asked to come earlier.
 *
 * Context: any but hard interrupt; @dom's lock held; takes the members'.
 */
void rpol_balance_try_locked(struct rpol_domain *dom, u64 now)
{
	u64 interval = max(dom->nr_members * INTERVAL_NS, INTERVAL_MIN_NS);

	lockdep_assert_held(&dom->lock);
	if (!dom->tight)
		return;
	if (!dom->contended && dom->nr_members <= FEW_MEMBERS)
		interval = 0;
	if (now - dom->balanced_at >= interval) {
		rpol_balance_locked(dom, now);
	} else if (!dom->due) {
		dom->due = true;
		dom->wake_in = dom->balanced_at + interval - now;
	}
}
