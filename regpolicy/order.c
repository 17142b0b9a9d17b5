// SPDX-License-Identifier: GPL-2.0
/*
 * REGISTER-WAIT: the order in which claims are served.
 *
 * Each member has a queue of claims, which are served in order of arrival.
 * Members whose queue is not empty stand in one of two lines:
 *
 *	owed	the first claim leaves its member within its entitlement
 *	rest	it does not: this line gets the entries that entitlements leave
 *		because they are not whole numbers of MRs, and the entries that
 *		other members do not use
 *
 * In each line the member with the largest deficit (balance.c) comes first.  This
 * is a deficit round robin by weight whose quantum is time.  Members whose
 * entitlement is less than one MR are always in the second line and take turns
 * in it.  Of the members that have waited there for a second without an MR in use,
 * the one that came first becomes entitled to its MR (balance.c).  No member
 * starves in the first line, since all that can be granted there fits into the
 * capacity together.
 *
 * If the first member in line lacks entries of the common part, nothing is taken
 * from the common part for the members behind it: so a small claim never starves a
 * large one.  A claim that exceeds its own member's maximum leaves the line until
 * the member gives something back, and holds up no other member.
 *
 * A member may use again, out of turn, what it has given back itself, if this takes
 * nothing from the common part.  In the second line it may do so only until it is
 * a quantum ahead of the member that stands first.  Otherwise each turn would cost
 * a deregistration and a registration.
 *
 * With the discipline "fifo" there is only the second line, in order of
 * arrival.
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/rbtree.h>
#include <linux/time64.h>
#include "regpolicy/domain.h"
#include "regpolicy/trace.h"

/*
 * For so long a member may go on to use an MR ahead of its turn: much longer than it takes
 * to make an MR, and shorter than a person notices.
 */
#define QUANTUM_US		10000

static struct rpol_waiter *first_claim(const struct rpol_member *mem)
{
	return list_first_entry(&mem->waiters, struct rpol_waiter, link);
}

static bool is_fair(const struct rpol_domain *dom)
{
	return dom->tun.discipline == RPOL_FAIR;
}

/* Whether granting @entries more leaves @mem within its entitlement. */
static bool within_share(struct rpol_member *mem, u32 entries)
{
	bool within;

	spin_lock(&mem->lock);
	within = mem->bound + entries <= rpol_member_keeps(mem);
	spin_unlock(&mem->lock);
	return within;
}

static bool is_owed(struct rpol_domain *dom, struct rpol_member *mem)
{
	return is_fair(dom) && within_share(mem, first_claim(mem)->entries);
}

/* Whether more is charged than the RNIC has; victims and recalled MRs do not count. */
static bool in_debt(struct rpol_domain *dom)
{
	return rpol_free_soon(dom) < 0;
}

/* Compares the deficits that the members had when they were put in line; ticks renew them. */
static bool comes_before(struct rb_node *a, const struct rb_node *b)
{
	const struct rpol_member *ma = rb_entry(a, struct rpol_member, order);
	const struct rpol_member *mb = rb_entry(b, struct rpol_member, order);

	if (ma->rank != mb->rank)
		return ma->rank > mb->rank;
	return first_claim(ma)->seq < first_claim(mb)->seq;
}

static struct rpol_member *first_in(struct rb_root_cached *line)
{
	struct rb_node *first = rb_first_cached(line);

	return first ? rb_entry(first, struct rpol_member, order) : NULL;
}

/* Takes a member out of its line; its claims, if any, go on waiting. */
static void line_leave(struct rpol_domain *dom, struct rpol_member *mem)
{
	if (!mem->line)
		return;
	rb_erase_cached(&mem->order, mem->line);
	mem->line = NULL;
	dom->wanted -= mem->placed;
}

/**
 * rpol_order_line_up_locked - put a member into its place in a line
 * @dom: the domain
 * @mem: the member.  Its deficit is up to date.  If its first claim has changed it was
 *	 taken out of its line before that.  If no claim of it waits it stays out
 *
 * Context: any but hard interrupt; @dom's lock held; takes @mem's.
 */
void rpol_order_line_up_locked(struct rpol_domain *dom, struct rpol_member *mem)
{
	lockdep_assert_held(&dom->lock);
	line_leave(dom, mem);
	if (list_empty(&mem->waiters))
		return;
	mem->rank = is_fair(dom) ? mem->deficit.value : 0;
	mem->line = is_owed(dom, mem) ? &dom->owed : &dom->rest;
	mem->placed = mem->waiting;
	dom->wanted += mem->placed;
	rb_add_cached(&mem->order, mem->line, comes_before);
}

/* Starts or stops the clock of rpol_waited_ns(). */
static void waited_run(struct rpol_domain *dom, bool run, u64 now)
{
	s64 word = atomic64_read(&dom->waited), sum = word >> 1;

	lockdep_assert_held(&dom->lock);
	if ((word & 1) == run)
		return;
	sum = run ? sum - (s64)now : sum + (s64)now;
	atomic64_set(&dom->waited, sum * 2 + run);
}

/**
 * rpol_order_enqueue_locked - put a claim into its member's queue
 * @dom: the domain
 * @w: the claim; it pins its member until its result has been delivered
 * @now: time in ns
 *
 * The caller serves the queue afterwards.
 *
 * Context: any but hard interrupt; @dom's lock held; takes the member's.
 */
void rpol_order_enqueue_locked(struct rpol_domain *dom, struct rpol_waiter *w, u64 now)
{
	struct rpol_member *mem = w->mem;

	lockdep_assert_held(&dom->lock);
	/* Before the claim is in the queue: a member that does not wait earns no deficit. */
	rpol_deficit_update_locked(dom, mem, now);
	w->since = now;
	w->seq = ++dom->seq;
	w->ret = 0;
	w->mr = NULL;
	w->waits = true;
	list_add_tail(&w->link, &mem->waiters);
	rpol_member_pin_locked(mem);
	dom->nr_waiters++;
	WRITE_ONCE(dom->tight, true);
	waited_run(dom, true, now);

	spin_lock(&mem->lock);
	rpol_member_integrate_locked(mem, now);
	rpol_peak_note(&mem->demand, now, mem->bound + mem->waiting,
		       mem->bound + mem->waiting + w->entries);
	mem->nr_waiters++;
	mem->waiting += w->entries;
	spin_unlock(&mem->lock);
	/*
	 * Pairs with the barrier in uncharge(): either uncharge() sees @tight, or
	 * we see the entries that it has released when we serve the queue.
	 */
	smp_mb();
	rpol_order_line_up_locked(dom, mem);
}

static void account_wait(struct rpol_member *mem, u64 ns)
{
	u64 us = div_u64(ns, NSEC_PER_USEC);

	mem->stats.wait_ns += ns;
	mem->stats.wait_max_ns = max(mem->stats.wait_max_ns, ns);
	mem->stats.wait_hist[min(fls64(us), RPOL_WAIT_BUCKETS - 1)]++;
}

/**
 * rpol_order_dequeue_locked - end a claim
 * @dom: the domain
 * @w: the claim, which waits; it is on rpol_domain.ended afterwards
 * @ret: the result
 * @now: time in ns
 *
 * The caller serves the queue afterwards.
 *
 * Context: any but hard interrupt; @dom's lock held; takes the member's.
 */
void rpol_order_dequeue_locked(struct rpol_domain *dom, struct rpol_waiter *w, int ret, u64 now)
{
	struct rpol_member *mem = w->mem;

	lockdep_assert_held(&dom->lock);
	rpol_deficit_update_locked(dom, mem, now);
	/* The place of a member in its line depends on its first claim, which may change now. */
	line_leave(dom, mem);
	list_move_tail(&w->link, &dom->ended);
	w->waits = false;
	w->ret = ret;
	dom->nr_waiters--;

	spin_lock(&mem->lock);
	rpol_member_integrate_locked(mem, now);
	mem->nr_waiters--;
	mem->waiting -= w->entries;
	/* A claim that was served at once has not waited. */
	if (!ret && now > w->since)
		account_wait(mem, now - w->since);
	spin_unlock(&mem->lock);
	if (trace_rdmafs_policy_waited_enabled() && now > w->since)
		trace_rdmafs_policy_waited(w, now);
	rpol_order_line_up_locked(dom, mem);
}

/*
 * Tries to serve a member's first claim.  If entries are missing, idle and lent MRs of the
 * member itself are taken.
 */
static enum rpol_verdict serve_first(struct rpol_domain *dom, struct rpol_member *mem, bool closed,
				     u64 now)
{
	struct rpol_waiter *w = first_claim(mem);
	enum rpol_verdict verdict;
	s64 lack = 0;

	/* Not even an idle MR of its own may be bound: it has to go to pay the debt. */
	if (in_debt(dom) && !within_share(mem, w->entries))
		return RPOL_WAIT_COMMON;
	spin_lock(&mem->lock);
	verdict = rpol_member_bind_locked(mem, w->class, w->entries, closed, now, &w->mr);
	if (verdict == RPOL_WAIT_OWN)
		lack = (s64)(mem->acct.charged + w->entries) - (s64)(mem->acct.max + mem->revoking);
	else if (verdict == RPOL_WAIT_COMMON && !closed)
		lack = rpol_admit_need(&mem->acct, w->entries) - rpol_free_soon(dom);
	spin_unlock(&mem->lock);

	if (verdict == RPOL_ADMITTED) {
		trace_rdmafs_policy_turn(w, closed ? RPOL_LINE_OWN : rpol_member_line(mem));
		rpol_order_dequeue_locked(dom, w, 0, now);
	} else if (lack > 0) {
		rpol_idle_revoke_locked(dom, mem, lack, 0, 0, RPOL_REVOKE_OWN);
	}
	rpol_donor_update_locked(dom, mem, now);
	return verdict;
}

/* Whether a member may bind again what it has given back, ahead of the second line. */
static bool may_stay(struct rpol_domain *dom, struct rpol_member *mem, u64 now)
{
	struct rpol_waiter *w = first_claim(mem);
	struct rpol_member *head;
	s64 ahead;

	if (is_fair(dom) && within_share(mem, w->entries))
		return true;
	if (in_debt(dom))
		return false;
	if (first_in(&dom->owed))
		return false;
	head = first_in(&dom->rest);
	if (!head || head == mem)
		return true;
	if (!is_fair(dom))
		return false;
	ahead = rpol_deficit_read_locked(dom, head, now) -
		rpol_deficit_read_locked(dom, mem, now);
	return ahead <= ((s64)w->entries * QUANTUM_US) << RPOL_FRAC_BITS;
}

/**
 * rpol_order_own_locked - serve a member's own claims from what it gave back
 * @dom: the domain
 * @mem: the member
 * @now: time in ns
 *
 * Grants only what takes nothing from the common part: idle MRs of the member, and
 * entries that are kept for it.
 *
 * Context: any but hard interrupt; @dom's lock held; takes the members'.
 */
void rpol_order_own_locked(struct rpol_domain *dom, struct rpol_member *mem, u64 now)
{
	lockdep_assert_held(&dom->lock);
	if (list_empty(&mem->waiters))
		return;
	rpol_deficit_update_locked(dom, mem, now);
	/* It may have left its line because of its own maximum. */
	rpol_order_line_up_locked(dom, mem);
	while (!list_empty(&mem->waiters) && may_stay(dom, mem, now) &&
	       serve_first(dom, mem, true, now) == RPOL_ADMITTED)
		;
}

/*
 * Notes whether a member stands in a line, or more is charged than the RNIC has.
 * A claim that waits because of its own member's maximum does not count: others need
 * not be slower for it.
 */
static void tighten(struct rpol_domain *dom, u64 now)
{
	bool tight = dom->wanted || atomic64_read(&dom->common) < 0;

	WRITE_ONCE(dom->tight, tight);
	waited_run(dom, dom->wanted, now);
	if (tight || !dom->contended)
		return;
	WRITE_ONCE(dom->calm_since, now);
	/*
	 * Pairs with rpol_member_window_locked(): a task that sees that the domain is calm again
	 * also sees since when.
	 */
	smp_store_release(&dom->contended, false);
}

/**
 * rpol_order_serve_locked - serve all claims that can be served
 * @dom: the domain
 * @now: time in ns
 *
 * Each step grants a claim, takes a member out of its line, or is the last.  For
 * the entries that are lacking then, idle and lent MRs are taken from members that
 * have more than they are to keep.
 *
 * Context: any but hard interrupt; @dom's lock held; takes the members'.
 */
void rpol_order_serve_locked(struct rpol_domain *dom, u64 now)
{
	enum rpol_verdict verdict;
	struct rpol_member *mem;
	s64 lack;

	lockdep_assert_held(&dom->lock);
	while ((mem = first_in(&dom->owed) ?: first_in(&dom->rest))) {
		verdict = serve_first(dom, mem, false, now);
		if (verdict == RPOL_WAIT_COMMON)
			break;
		if (verdict == RPOL_WAIT_OWN)
			line_leave(dom, mem);
	}
	lack = (s64)dom->wanted - rpol_free_soon(dom);
	if (lack > 0)
		rpol_donors_revoke_locked(dom, lack, now);
	tighten(dom, now);
}

/**
 * rpol_order_refuse_locked - end all claims that can never be served
 * @dom: the domain, after a change of a limit, or a shutdown of a member
 * @now: time in ns
 *
 * The caller serves the queue afterwards.
 *
 * Context: any but hard interrupt; @dom's lock held; takes the members'.
 */
void rpol_order_refuse_locked(struct rpol_domain *dom, u64 now)
{
	struct rpol_waiter *w, *next;
	struct rpol_member *mem;
	bool ever;

	lockdep_assert_held(&dom->lock);
	list_for_each_entry(mem, &dom->members, link) {
		list_for_each_entry_safe(w, next, &mem->waiters, link) {
			spin_lock(&mem->lock);
			ever = rpol_admit_ever(&mem->acct, dom->capacity, dom->sum_min,
					       w->entries);
			spin_unlock(&mem->lock);
			if (mem->shutdown)
				rpol_order_dequeue_locked(dom, w, -ESHUTDOWN, now);
			else if (!ever)
				rpol_order_dequeue_locked(dom, w, -E2BIG, now);
		}
	}
}
