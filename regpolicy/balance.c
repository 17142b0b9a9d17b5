// SPDX-License-Identifier: GPL-2.0
/*
 * Entitlements while somebody waits, and who is behind them.
 *
 * Entitlements are computed when the first claim begins to wait, by each tick
 * while somebody waits, and in between when a claim begins to wait; but while
 * windows are cut, or with many members, not before a microsecond for each
 * member has gone by since the last time.  That bounds the cost, which is a
 * fraction of a microsecond for each member, to a part of one processor that
 * does not grow with their number; who comes earlier has the next tick called
 * then.
 *
 * A member's *deficit* is what it was entitled to and did not have, as
 * entries times time: it grows with (entitlement - charged) * dt while a claim
 * of it waits, and falls likewise.  Entitlements are not whole numbers of MRs,
 * so not all that all are entitled to is ever used; taken as it is, everybody
 * would fall behind, the heaviest most.  So the domain's virtual time, in which
 * entitlements earn, runs slower than time by the part of all entitlements that
 * is charged, and the sum of the deficits stays where it is.
 *
 * That is fair, but may be long: a weight of 1 beside one of 10,000 is entitled
 * to an MR for some milliseconds in a minute, and may never find one free.  So
 * of the claims that waited for a second in vain, the oldest is counted like a
 * minimum: others' windows shrink for it, until it is granted.
 *
 * A deficit is bounded by what a second of the entitlement, or of one maximal
 * MR, amounts to; it begins anew when a member has demanded nothing of late.
 */
#include <linux/bits.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include "regpolicy/domain.h"

/* The bound of a deficit, and what is forgotten. */
#define DEFICIT_US		1000000

/* However small its entitlement, a claim waits hardly longer. */
#define PATIENCE_NS		1000000000ULL

/* Below so many members the first claim that waits never has to wait for a tick. */
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
 * What was earned since @mem's deficit was brought up to date, and what @us
 * entry-microseconds amount to; both no more than is bounded anyway, so that
 * a long calm overflows nothing.
 */
static s64 earned(const struct rpol_domain *dom, const struct rpol_member *mem, u64 now)
{
	u64 vtime = min(vtime_at(dom, now) - mem->deficit.vtime,
			2ULL * DEFICIT_US << RPOL_VTIME_BITS);

	return mul_u64_u64_shr(mem->claim.share, vtime, RPOL_VTIME_BITS);
}

static s64 spending(u64 us)
{
	return min(us, BIT_ULL(52)) << RPOL_FRAC_BITS;
}

/**
 * rpol_deficit_read_locked - how far a member is behind
 * @dom: its domain, whose lock is held
 * @mem: the member
 * @now: ns
 *
 * Takes it that what the member is charged has not changed since its deficit
 * was brought up to date.
 *
 * Return: entry-microseconds, with RPOL_FRAC_BITS of fraction.
 */
s64 rpol_deficit_read_locked(const struct rpol_domain *dom, const struct rpol_member *mem,
			     u64 now)
{
	u64 now_us = div_u64(now, NSEC_PER_USEC);
	s64 gain, spent = 0;

	gain = earned(dom, mem, now);
	if (now_us > mem->deficit.at)
		spent = spending(mem->deficit.charged * (now_us - mem->deficit.at));
	if (list_empty(&mem->waiters))
		gain = min(gain, spent);
	return deficit_bound(mem, mem->deficit.value + gain - spent);
}

/**
 * rpol_deficit_update_locked - bring a member's deficit up to date
 * @dom: its domain, whose lock is held
 * @mem: the member; called before it begins or ceases to wait
 * @now: ns
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

/* The member without any MR in use that has waited longest, if that is too long. */
static struct rpol_member *find_overdue(struct rpol_domain *dom, u64 now)
{
	struct rpol_member *mem, *oldest = NULL;
	const struct rpol_waiter *w;
	u64 seq = U64_MAX;

	list_for_each_entry(mem, &dom->members, link) {
		/* Who stands in the first line needs no help. */
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

/* What its first claim takes, if there is so much beyond all minima. */
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

/* What a member brings to the split; adds what it is charged to @used. */
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

/* Publishes an entitlement, and cuts the window to it. */
static void share_publish(struct rpol_domain *dom, struct rpol_member *mem, u64 now)
{
	u64 window = RPOL_NO_WINDOW;

	spin_lock(&mem->lock);
	/* To the nearest: of two thirds and one, neither may lose an entry to rounding. */
	WRITE_ONCE(mem->share,
		   (mem->claim.share + (1 << (RPOL_FRAC_BITS - 1))) >> RPOL_FRAC_BITS);
	WRITE_ONCE(mem->curbed, mem->claim.share < mem->claim.ceil);
	if (dom->tun.discipline == RPOL_FAIR)
		window = rpol_member_keeps(mem);
	if (window < mem->window && window < mem->bound)
		mem->stats.cuts++;
	mem->window = window;
	spin_unlock(&mem->lock);
	rpol_over_update_locked(dom, mem, now);
}

/**
 * rpol_balance_locked - compute entitlements
 * @dom: the domain, its lock held; it is tight
 * @now: ns
 *
 * Cuts the windows of all members to their entitlements, notes who has more
 * idle MRs than it is to keep, and puts who waits in order.  The caller serves
 * the queue afterwards.
 */
void rpol_balance_locked(struct rpol_domain *dom, u64 now)
{
	bool anew = !dom->contended && now - dom->calm_since >= RPOL_DEMAND_NS;
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
	list_for_each_entry(mem, &dom->members, link) {
		entitled += mem->claim.share;
		share_publish(dom, mem, now);
	}
	vtime_set_rate(dom, now, used << RPOL_FRAC_BITS, entitled);
	/* A tick may be far off: while somebody waits they come more often. */
	if (!dom->contended)
		dom->wake_in = RPOL_TICK_TIGHT;
	WRITE_ONCE(dom->contended, true);
	dom->balanced_at = now;
	dom->due = false;
	dom->stats.rebalances++;
	/* Their entitlements are new, and some have left the line. */
	list_for_each_entry(mem, &dom->members, link)
		rpol_order_line_up_locked(dom, mem);
}

/**
 * rpol_balance_try_locked - compute entitlements, unless that was done just now
 * @dom: the domain, its lock held
 * @now: ns
 *
 * If it was, the next tick does it, and is asked for.
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
