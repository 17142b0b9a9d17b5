// SPDX-License-Identifier: GPL-2.0
/*
 * Idle MRs: kept by class, bound again by their member, or made victims.
 *
 * A member binds the MR of a class that fell idle last.  So the MRs at the end of
 * an idle list are both the oldest and the least used, and a replacement policy
 * that looks at the last few of each class sees the best victims.  To look at all
 * MRs would take longer than to make an MR.
 *
 * A lent MR counts as idle as well.  It is taken by the same rules, but only when
 * no idle MR of its member may be taken: it has to be recalled, and comes only
 * when its owner, or the peer that may use it, gives it back.
 */
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/prandom.h>
#include <linux/time64.h>
#include "regpolicy/domain.h"
#include "regpolicy/trace.h"

/* How many MRs of each class a replacement policy chooses from. */
#define CANDIDATES_OF_CLASS	8
/*
 * For so long, while others wait, a member within its entitlement keeps an idle MR.
 * This is much longer than the pauses of a program that does one I/O after the other,
 * and short enough that the MRs that a burst has used do not lie idle.
 */
#define HOLD_NS			100000000ULL

/*
 * For so long the policy counts on a recalled MR to come back: much longer than a round
 * trip.  After that it takes other MRs instead, so a peer that does not answer does not
 * make claims wait.
 */
#define RECALL_NS		100000000ULL

/* How many of the members that have too much a replacement policy chooses from. */
#define CANDIDATES_OF_MEMBERS	32

/* The counter for the entries of a member's MRs of a state. */
static u64 *entries_in(struct rpol_member *mem, enum rpol_mr_state state)
{
	switch (state) {
	case RPOL_MR_BOUND:
		return &mem->bound;
	case RPOL_MR_IDLE:
		return &mem->idle_entries;
	case RPOL_MR_LENT:
		return &mem->lent_entries;
	default:
		return &mem->revoking;
	}
}

static bool is_leaving(enum rpol_mr_state state)
{
	return state == RPOL_MR_RECALLED || state == RPOL_MR_VICTIM;
}

/**
 * rpol_mr_move_locked - change the state of an MR
 * @mem: the MR's member
 * @mr: the MR; the caller moves it to the list of its new state, or to none
 * @to: the new state
 * @now: time in ns
 *
 * Context: any but hard interrupt; @mem's lock held.
 */
void rpol_mr_move_locked(struct rpol_member *mem, struct rpol_mr *mr, enum rpol_mr_state to,
			 u64 now)
{
	static const bool leads_to[RPOL_NR_MR_STATES][RPOL_NR_MR_STATES] = {
		[RPOL_MR_BOUND]    = { [RPOL_MR_IDLE] = true, [RPOL_MR_LENT] = true },
		[RPOL_MR_IDLE]     = { [RPOL_MR_BOUND] = true, [RPOL_MR_VICTIM] = true },
		[RPOL_MR_LENT]     = { [RPOL_MR_BOUND] = true, [RPOL_MR_IDLE] = true,
				       [RPOL_MR_RECALLED] = true },
		[RPOL_MR_RECALLED] = { [RPOL_MR_BOUND] = true, [RPOL_MR_IDLE] = true,
				       [RPOL_MR_OVERDUE] = true },
		[RPOL_MR_OVERDUE]  = { [RPOL_MR_BOUND] = true, [RPOL_MR_IDLE] = true },
	};
	u64 *from = entries_in(mem, mr->state);

	lockdep_assert_held(&mem->lock);
	WARN_ON_ONCE(!leads_to[mr->state][to]);
	if (trace_rdmafs_policy_revoked_enabled() && rpol_mr_recalled(mr))
		trace_rdmafs_policy_revoked(mem, mr->entries, to, mr->recalled_at, now);
	rpol_member_integrate_locked(mem, now);
	/* Even if a counter is wrong, it must not wrap. */
	*from -= min_t(u64, mr->entries, *from);
	*entries_in(mem, to) += mr->entries;
	if (is_leaving(to))
		atomic64_add(mr->entries, &mem->dom->revoking);
	else if (is_leaving(mr->state))
		atomic64_sub(mr->entries, &mem->dom->revoking);
	WRITE_ONCE(mr->state, to);
}

/**
 * rpol_idle_take_locked - bind an idle MR again
 * @mem: the member
 * @class: class of the MR, or RPOL_NO_CLASS
 * @now: time in ns
 *
 * Context: any but hard interrupt; @mem's lock held.
 * Return: the MR of @class that fell idle last, or NULL.
 */
struct rpol_mr *rpol_idle_take_locked(struct rpol_member *mem, unsigned int class, u64 now)
{
	struct rpol_mr *mr;

	lockdep_assert_held(&mem->lock);
	if (class >= RPOL_NR_CLASSES)
		return NULL;
	mr = list_first_entry_or_null(&mem->idle[class], struct rpol_mr, link);
	if (!mr)
		return NULL;
	list_del_init(&mr->link);
	rpol_mr_move_locked(mem, mr, RPOL_MR_BOUND, now);
	mr->uses++;
	return mr;
}

/**
 * rpol_idle_put_locked - put an MR on an idle list
 * @mem: the member
 * @mr: the MR, bound, or lent and not used; a lent MR has been idle since it was lent
 * @now: time in ns
 *
 * Context: any but hard interrupt; @mem's lock held.
 */
void rpol_idle_put_locked(struct rpol_member *mem, struct rpol_mr *mr, u64 now)
{
	struct list_head *idle = &mem->idle[min_t(u32, mr->class, RPOL_NR_CLASSES - 1)];
	struct list_head *at;

	lockdep_assert_held(&mem->lock);
	if (mr->state == RPOL_MR_BOUND) {
		mr->idle_at = now;
		list_add(&mr->link, idle);
	} else {
		/* Keeps the list in order of age; the MR mostly belongs near the old end. */
		for (at = idle->prev; at != idle; at = at->prev)
			if (list_entry(at, struct rpol_mr, link)->idle_at > mr->idle_at)
				break;
		list_del(&mr->link);
		list_add(&mr->link, at);
	}
	rpol_mr_move_locked(mem, mr, RPOL_MR_IDLE, now);
}

/* Whether @a is a better victim than @b, for the policies LRU and LFU. */
static bool better_victim(const struct rpol_domain *dom, const struct rpol_mr *a,
			  const struct rpol_mr *b)
{
	if (dom->tun.replacement == RPOL_LFU && a->uses != b->uses)
		return a->uses < b->uses;
	return a->idle_at < b->idle_at;
}

/* The idle MR of a member that the replacement policy chooses, or NULL; both locks are held. */
static struct rpol_mr *idle_victim_locked(struct rpol_domain *dom, struct rpol_member *mem)
{
	struct rpol_mr *mr, *best = NULL;
	unsigned int class, n;
	u32 seen = 0;

	lockdep_assert_held(&dom->lock);
	lockdep_assert_held(&mem->lock);
	for (class = 0; class < RPOL_NR_CLASSES; class++) {
		n = 0;
		list_for_each_entry_reverse(mr, &mem->idle[class], link) {
			if (n++ == CANDIDATES_OF_CLASS)
				break;
			seen++;
			if (dom->tun.replacement == RPOL_RANDOM) {
				/* The N-th MR is chosen with 1/N: all have the same chance. */
				if (!(prandom_u32_state(&dom->random) % seen))
					best = mr;
			} else if (!best || better_victim(dom, mr, best)) {
				best = mr;
			}
		}
	}
	return best;
}

/* Takes an idle MR, or recalls one that is lent; both locks are held: see rpol_free_soon(). */
static void make_victim_locked(struct rpol_domain *dom, struct rpol_member *mem,
			       struct rpol_mr *mr, enum rpol_revoke_why why)
{
	lockdep_assert_held(&dom->lock);
	lockdep_assert_held(&mem->lock);
	if (mr->state == RPOL_MR_LENT) {
		/* The owner has this MR, and its worker finds it by its state. */
		mr->recalled_at = rpol_now(dom);
		list_move_tail(&mr->link, &mem->recalled);
		rpol_mr_move_locked(mem, mr, RPOL_MR_RECALLED, mr->recalled_at);
	} else {
		list_move_tail(&mr->link, &mem->victims);
		rpol_mr_move_locked(mem, mr, RPOL_MR_VICTIM, rpol_now(dom));
	}
	mem->stats.revoked++;
	trace_rdmafs_policy_revoke(mem, mr, why);
}

/* The MR that has been lent for longest, or NULL; @mem's lock is held. */
static struct rpol_mr *lent_oldest(const struct rpol_member *mem)
{
	lockdep_assert_held(&mem->lock);
	return list_empty(&mem->lent) ? NULL :
					list_last_entry(&mem->lent, struct rpol_mr, link);
}

/*
 * Whether @mr may be taken from a member that keeps @keep entries, or only its minimum
 * if the MR fell idle or was lent before @before.
 */
static bool may_take(const struct rpol_member *mem, const struct rpol_mr *mr, u64 keep,
		     u64 before)
{
	if (!mr)
		return false;
	return mem->acct.charged > keep + mem->revoking ||
	       (mr->idle_at < before && mem->acct.charged > mem->acct.min + mem->revoking);
}

/* Has reclaim() called for a member when the domain's lock is dropped; both locks are held. */
static void ask_locked(struct rpol_domain *dom, struct rpol_member *mem)
{
	lockdep_assert_held(&dom->lock);
	lockdep_assert_held(&mem->lock);
	if (!mem->ops || !mem->ops->reclaim || !list_empty(&mem->ask))
		return;
	mem->stats.reclaims++;
	list_add_tail(&mem->ask, &dom->asked);
	rpol_member_pin_locked(mem);
}

/**
 * rpol_idle_revoke_locked - make victims of a member's idle MRs, and recall lent ones
 * @dom: its domain
 * @mem: the member
 * @entries: number of entries to take, at least, if the member has so many to give
 * @keep: entries charged to the member that are left to it ...
 * @before: ... except MRs that fell idle, or were lent, before this time in ns: for these
 *	    only the member's min is left to it
 * @why: why they are taken, for traces
 *
 * Context: any but hard interrupt; @dom's lock held, and reclaim() is called when it is
 * dropped; takes @mem's lock.
 * Return: entries of these MRs.
 */
u64 rpol_idle_revoke_locked(struct rpol_domain *dom, struct rpol_member *mem, u64 entries,
			    u64 keep, u64 before, enum rpol_revoke_why why)
{
	struct rpol_mr *mr;
	u64 got = 0;

	lockdep_assert_held(&dom->lock);
	spin_lock(&mem->lock);
	while (got < entries) {
		mr = idle_victim_locked(dom, mem);
		if (!may_take(mem, mr, keep, before))
			mr = lent_oldest(mem);
		if (!may_take(mem, mr, keep, before))
			break;
		got += mr->entries;
		make_victim_locked(dom, mem, mr, why);
	}
	if (got)
		ask_locked(dom, mem);
	spin_unlock(&mem->lock);
	return got;
}

/**
 * rpol_idle_beyond_max - test whether a member is charged more than its maximum
 * @mem: the member
 *
 * This happens after the maximum was lowered.  The member must not bind its idle MRs
 * again then.
 *
 * Context: any but hard interrupt; @mem's lock held.
 * Return: true if so; victims and recalled MRs do not count.
 */
bool rpol_idle_beyond_max(const struct rpol_member *mem)
{
	lockdep_assert_held(&mem->lock);
	return mem->acct.charged > mem->revoking &&
	       mem->acct.charged - mem->revoking > mem->acct.max;
}

/**
 * rpol_idle_trim_locked - take idle and lent MRs beyond a member's maximum
 * @dom: its domain
 * @mem: the member
 *
 * Context: any but hard interrupt; @dom's lock held; takes @mem's.
 */
void rpol_idle_trim_locked(struct rpol_domain *dom, struct rpol_member *mem)
{
	bool beyond;

	lockdep_assert_held(&dom->lock);
	spin_lock(&mem->lock);
	beyond = rpol_idle_beyond_max(mem);
	spin_unlock(&mem->lock);
	if (beyond)
		rpol_idle_revoke_locked(dom, mem, U64_MAX, mem->acct.max, 0, RPOL_REVOKE_MAX);
}

/**
 * rpol_idle_expire_locked - make victims of MRs that have been idle for too long
 * @dom: the domain
 * @mem: the member, which keeps its minimum
 * @now: time in ns
 *
 * Lent MRs stay.
 *
 * Context: any but hard interrupt; @dom's lock held; takes @mem's.
 */
void rpol_idle_expire_locked(struct rpol_domain *dom, struct rpol_member *mem, u64 now)
{
	u64 age = (u64)dom->tun.idle_ms * NSEC_PER_MSEC;
	struct rpol_mr *mr, *next;
	bool any = false;
	int class;

	lockdep_assert_held(&dom->lock);
	spin_lock(&mem->lock);
	for (class = RPOL_NR_CLASSES - 1; class >= 0; class--) {
		list_for_each_entry_safe_reverse(mr, next, &mem->idle[class], link) {
			if (now < mr->idle_at + age ||
			    mem->acct.charged < mem->acct.min + mem->revoking + mr->entries)
				break;
			make_victim_locked(dom, mem, mr, RPOL_REVOKE_AGE);
			any = true;
		}
	}
	if (any)
		ask_locked(dom, mem);
	spin_unlock(&mem->lock);
}

/**
 * rpol_idle_overdue_locked - stop counting on recalled MRs that have not come back
 * @dom: the domain
 * @mem: the member
 * @now: time in ns
 *
 * The caller serves the queue afterwards.
 *
 * Context: any but hard interrupt; @dom's lock held; takes @mem's.
 */
void rpol_idle_overdue_locked(struct rpol_domain *dom, struct rpol_member *mem, u64 now)
{
	struct rpol_mr *mr, *next;

	lockdep_assert_held(&dom->lock);
	spin_lock(&mem->lock);
	list_for_each_entry_safe(mr, next, &mem->recalled, link) {
		if (now < mr->recalled_at + RECALL_NS)
			break;
		list_del_init(&mr->link);
		rpol_mr_move_locked(mem, mr, RPOL_MR_OVERDUE, now);
	}
	spin_unlock(&mem->lock);
}

/* Since when the member's oldest idle or lent MR is idle, in ns; there is one. */
static u64 idle_since(const struct rpol_member *mem)
{
	const struct rpol_mr *lent = lent_oldest(mem);
	u64 since = lent ? lent->idle_at : U64_MAX;
	int class;

	for (class = 0; class < RPOL_NR_CLASSES; class++)
		if (!list_empty(&mem->idle[class]))
			since = min(since, list_last_entry(&mem->idle[class], struct rpol_mr,
							   link)->idle_at);
	return since;
}

/*
 * Puts a member on the list of the members that others may take MRs from, or takes it off;
 * see may_take().  Both locks are held.
 */
static void donor_set(struct rpol_domain *dom, struct rpol_member *mem, u64 keep, u64 before)
{
	bool over = false;

	lockdep_assert_held(&dom->lock);
	lockdep_assert_held(&mem->lock);
	if (mem->idle_entries || mem->lent_entries)
		over = mem->acct.charged > keep + mem->revoking ||
		       (mem->acct.charged > mem->acct.min + mem->revoking &&
			idle_since(mem) < before);

	mem->keep = keep;
	if (over && list_empty(&mem->donor))
		list_add_tail(&mem->donor, &dom->donors);
	else if (!over)
		list_del_init(&mem->donor);
}

/**
 * rpol_donor_update_locked - note whether a member has idle or lent MRs that others may get
 * @dom: the domain
 * @mem: the member, whose account or entitlement has changed
 * @now: time in ns
 *
 * Context: any but hard interrupt; @dom's lock held; takes @mem's.
 */
void rpol_donor_update_locked(struct rpol_domain *dom, struct rpol_member *mem, u64 now)
{
	lockdep_assert_held(&dom->lock);
	spin_lock(&mem->lock);
	donor_set(dom, mem, rpol_member_keeps(mem), now - HOLD_NS);
	spin_unlock(&mem->lock);
}

/* The member on the list whose MR the replacement policy would choose, or NULL. */
static struct rpol_member *donor_choose(struct rpol_domain *dom)
{
	struct rpol_member *mem, *best = NULL;
	struct rpol_mr *mr, best_mr;
	u32 n = 0;

	list_for_each_entry(mem, &dom->donors, donor) {
		if (n++ == CANDIDATES_OF_MEMBERS)
			break;
		if (dom->tun.replacement == RPOL_RANDOM) {
			if (!(prandom_u32_state(&dom->random) % n))
				best = mem;
			continue;
		}
		/* Kept by value: when the lock is dropped the member may bind the MR again. */
		spin_lock(&mem->lock);
		mr = idle_victim_locked(dom, mem);
		if (mr && (!best || better_victim(dom, mr, &best_mr))) {
			best_mr = *mr;
			best = mem;
		}
		spin_unlock(&mem->lock);
	}
	return best;
}

/*
 * Takes MRs of the members on the list until they have @entries.  Each step takes an MR, or a
 * member off the list, so this ends.
 */
static void donors_revoke(struct rpol_domain *dom, u64 entries, u64 before,
			  enum rpol_revoke_why why)
{
	struct rpol_member *mem;
	u64 got;

	lockdep_assert_held(&dom->lock);
	while (entries && !list_empty(&dom->donors)) {
		mem = donor_choose(dom);
		if (!mem)
			mem = list_first_entry(&dom->donors, struct rpol_member, donor);
		got = rpol_idle_revoke_locked(dom, mem, 1, mem->keep, before, why);
		entries -= min(entries, got);
		spin_lock(&mem->lock);
		donor_set(dom, mem, mem->keep, before);
		spin_unlock(&mem->lock);
		if (!got)
			list_del_init(&mem->donor);
	}
}

/**
 * rpol_donors_revoke_locked - take idle and lent MRs for claims that wait, or to pay a debt
 * @dom: the domain
 * @entries: number of entries to take, at least, if there are so many
 * @now: time in ns
 *
 * Takes MRs of members that are charged more than they are to keep, and MRs that have
 * been idle for long.
 *
 * Context: any but hard interrupt; @dom's lock held; takes the members'.
 */
void rpol_donors_revoke_locked(struct rpol_domain *dom, u64 entries, u64 now)
{
	lockdep_assert_held(&dom->lock);
	donors_revoke(dom, entries, now - HOLD_NS,
		      dom->wanted ? RPOL_REVOKE_OTHERS : RPOL_REVOKE_EXCESS);
}

/**
 * rpol_watermark_locked - take idle MRs ahead of need
 * @dom: the domain
 * @now: time in ns
 *
 * Members keep what they have demanded of late, and their minimum.  Nothing is done while
 * the domain is tight: MRs are then taken for the claims that wait.
 *
 * Context: any but hard interrupt; @dom's lock held; takes the members'.
 */
void rpol_watermark_locked(struct rpol_domain *dom, u64 now)
{
	s64 left = rpol_free_soon(dom);
	struct rpol_member *mem;
	u64 keep;

	lockdep_assert_held(&dom->lock);
	if (dom->tight || left >= (s64)dom->tun.low)
		return;
	list_for_each_entry(mem, &dom->members, link) {
		spin_lock(&mem->lock);
		keep = rpol_peak_read(&mem->demand, now, mem->bound + mem->waiting);
		donor_set(dom, mem, max(keep, mem->acct.min), 0);
		spin_unlock(&mem->lock);
	}
	donors_revoke(dom, (s64)dom->tun.high - left, 0, RPOL_REVOKE_LOW);
	/* The list is for claims that wait, and then members keep their entitlements instead. */
	list_for_each_entry(mem, &dom->members, link)
		list_del_init(&mem->donor);
}
