/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The private structures of domains and members.
 *
 * There are two levels of locking.  A member's own lock guards its account, its
 * window and its idle MRs.  While no claim waits, this lock is all that a member
 * takes to bind an MR and to let it fall idle; the same is true while others
 * wait, as long as the member stays within its window.  Members then share one
 * atomic number only, the domain's @common (admit.h says why one is enough).
 * The domain's lock guards membership, the order of waiting, entitlements, and
 * every change of a limit.
 *
 * Both are taken with bottom halves off, because MRs fall idle in completion
 * handlers.  Their order is in Documentation/architecture.rst ("Lock order").
 *
 * No wakeup is lost between the two levels.  A claim that begins to wait sets
 * @tight before it looks at @common and, under their locks, at the members.  A
 * member that gives something back does so before it reads @tight.
 */
#ifndef RDMAFS_REGPOLICY_DOMAIN_H
#define RDMAFS_REGPOLICY_DOMAIN_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/prandom.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include "regpolicy/admit.h"
#include "regpolicy/entitle.h"
#include "regpolicy/regpolicy.h"
#include "regpolicy/window.h"

/**
 * enum rpol_verdict - the result of an attempt to bind entries
 * @RPOL_ADMITTED:	the entries are bound
 * @RPOL_WAIT_OWN:	the entries would exceed the member's own maximum
 * @RPOL_WAIT_COMMON:	the common part lacks the entries, or an earlier claim waits
 *			for them
 */
enum rpol_verdict {
	RPOL_ADMITTED,
	RPOL_WAIT_OWN,
	RPOL_WAIT_COMMON,
};

/**
 * enum rpol_line - where a claim stands, or is served; for traces
 * @RPOL_LINE_NONE: its member stands in no line, as its own maximum holds the claim up
 * @RPOL_LINE_OWED: rpol_domain.owed
 * @RPOL_LINE_REST: rpol_domain.rest
 * @RPOL_LINE_OWN:  served out of turn, from what its member has given back itself
 */
enum rpol_line {
	RPOL_LINE_NONE,
	RPOL_LINE_OWED,
	RPOL_LINE_REST,
	RPOL_LINE_OWN,
};

/**
 * enum rpol_window_why - why a member's window changes; for traces
 * @RPOL_WINDOW_SHARE: claims wait: it becomes the member's entitlement, its minimum at least
 * @RPOL_WINDOW_FIFO:  the discipline has no windows
 * @RPOL_WINDOW_CALM:  no claim has waited for so long that it has grown back
 */
enum rpol_window_why {
	RPOL_WINDOW_SHARE,
	RPOL_WINDOW_FIFO,
	RPOL_WINDOW_CALM,
};

/**
 * enum rpol_revoke_why - why idle and lent MRs are taken from a member; for traces
 * @RPOL_REVOKE_OWN:	a claim of the member itself lacks the entries
 * @RPOL_REVOKE_MAX:	the member is above its maximum
 * @RPOL_REVOKE_OTHERS: claims of other members lack the entries
 * @RPOL_REVOKE_EXCESS: no claim stands in line, though one that its member's maximum holds up may
 *			wait; but more is charged and kept for members than the capacity, as a
 *			limit was changed, or a member with a minimum has joined
 * @RPOL_REVOKE_LOW:	fewer entries are free than the low watermark
 * @RPOL_REVOKE_AGE:	the MR has been idle for too long
 * @RPOL_REVOKE_ALL:	the member's owner asks for it
 */
enum rpol_revoke_why {
	RPOL_REVOKE_OWN,
	RPOL_REVOKE_MAX,
	RPOL_REVOKE_OTHERS,
	RPOL_REVOKE_EXCESS,
	RPOL_REVOKE_LOW,
	RPOL_REVOKE_AGE,
	RPOL_REVOKE_ALL,
};

/**
 * struct rpol_domain - one RNIC
 * @common:	entries that are neither charged nor kept for a member; negative
 *		after a limit was lowered, until the excess has been released;
 *		atomic, changed under @lock or a member's lock
 * @tight:	a member stands in a line, or @common is negative: entries are taken
 *		from @common in the order of the lines only; written under @lock, read
 *		without it
 * @contended:	a claim had to wait, so windows stay as they were cut; written
 *		under @lock, read without it
 * @calm_since:	when @contended last became false, in ns; written under @lock, read
 *		without it
 * @capacity:	entries that the RNIC has; written under @lock, read without it
 * @ops:	the owner's; set once; may be NULL
 * @ctx:	argument of @ops; set once
 * @ticking:	the owner is going to call rpol_domain_tick(); atomic
 * @revoking:	entries of victims and of recalled MRs that are not overdue, all of
 *		them still charged; atomic, changed under the member's lock
 * @waited:	clock of the time in which members stood in a line, see
 *		rpol_waited_ns(); atomic, written under @lock
 * @lock:	guards all fields below
 * @tun:	the tunables; @tun.discipline is also read without @lock
 * @sum_min:	sum of all members' minima; at most @capacity; also read without @lock
 * @nr_members:	length of @members
 * @nr_made:	members made so far; numbers them
 * @nr_waiters:	claims that wait
 * @wanted:	entries that the members in @owed and @rest wait for
 * @seq:	sequence number of the last claim that began to wait
 * @members:	all members, by rpol_member.link
 * @owed:	members that wait and whose first claim is within their entitlement, by
 *		rpol_member.order; the one with the largest deficit comes first
 * @rest:	all other members that stand in line, likewise
 * @donors:	members, by rpol_member.donor, that have idle or lent MRs which others
 *		may get
 * @ended:	claims, by rpol_waiter.link, that have ended and whose done() is still to
 *		be called
 * @asked:	members, by rpol_member.ask, whose reclaim() is still to be called
 * @telling:	a task or softirq makes callbacks; others leave theirs to it
 * @due:	the next tick is to compute entitlements
 * @wake_in:	if not 0: ops->wake() is still to be called, for a tick in @wake_in ns
 * @balanced_at: when entitlements were last computed, in ns
 * @vtime:	virtual time, in us with RPOL_VTIME_BITS of fraction; it runs slower than
 *		time by the part of the entitlements that is used (see balance.c)
 * @vtime_at:	when @vtime was brought up to date, in ns
 * @vtime_rate:	advance of @vtime for each us, with RPOL_VTIME_BITS of fraction
 * @random:	state of the random replacement, whose numbers are the same in each run
 * @capacity_at: when @stats.capacity_us was brought up to date, in ns
 * @stats:	the counters of struct rpol_domain_stats that are kept here
 */
struct rpol_domain {
	atomic64_t common;
	bool tight;
	bool contended;
	u64 calm_since;
	u64 capacity;
	const struct rpol_domain_ops *ops;
	void *ctx;
	atomic_t ticking;
	atomic64_t revoking;
	atomic64_t waited;

	spinlock_t lock ____cacheline_aligned_in_smp;
	struct rpol_tunables tun;
	u64 sum_min;
	u64 nr_members;
	u32 nr_made;
	u32 nr_waiters;
	u64 wanted;
	u64 seq;
	struct list_head members;
	struct rb_root_cached owed;
	struct rb_root_cached rest;
	struct list_head donors;
	struct list_head ended;
	struct list_head asked;
	bool telling;
	bool due;
	u64 wake_in;
	u64 balanced_at;
	u64 vtime;
	u64 vtime_at;
	u64 vtime_rate;
	struct rnd_state random;
	u64 capacity_at;
	struct rpol_domain_stats stats;
};

#define RPOL_VTIME_BITS		16

/*
 * Time from one tick to the next, in ns: while claims wait (so that the end of a
 * demand is noticed); while fewer entries are free than the low watermark; and
 * while MRs are idle or lent.
 */
#define RPOL_TICK_TIGHT		50000000ULL
#define RPOL_TICK_LOW		100000000ULL
#define RPOL_TICK_CALM		1000000000ULL

/**
 * struct rpol_deficit - how far a member is behind its entitlement, at a given time
 * @value:	the deficit, in entry-microseconds with RPOL_FRAC_BITS of fraction
 * @charged:	entries charged to the member at that time
 * @at:		that time, in us
 * @vtime:	rpol_domain.vtime at that time
 * @charged_us:	rpol_member.stats.charged_us at that time
 */
struct rpol_deficit {
	s64 value;
	u64 charged;
	u64 at;
	u64 vtime;
	u64 charged_us;
};

/**
 * struct rpol_member - one mount or session
 * @dom:	its domain; set once, like @ops and @ctx
 * @ops:	the owner's callback; may be NULL
 * @ctx:	argument of @ops
 * @number:	its number in the domain, for traces; set once
 * @label:	by what traces name it, see rpol_member_set_label(); atomic
 * @lock:	guards the fields from @acct to @stats
 * @acct:	entries charged, and their bounds; the bounds are written under the
 *		domain's lock as well
 * @bound:	entries in use; entries charged are the sum of @bound, @idle_entries,
 *		@lent_entries and @revoking
 * @window:	bound of @bound for a claim that is served out of turn, in entries, or
 *		RPOL_NO_WINDOW
 * @share:	its entitlement, in entries; written under both locks
 * @curbed:	@share is less than the member demanded; written under both locks
 * @demand:	peak of the sum of @bound and @waiting
 * @idle:	idle MRs by class, by rpol_mr.link; the one that fell idle last in front
 * @idle_entries: entries of all MRs in @idle
 * @lent:	MRs lent and not recalled, by rpol_mr.link; the youngest in front
 * @lent_entries: entries of all MRs in @lent
 * @recalled:	MRs recalled and not overdue, by rpol_mr.link; the first recalled in front
 * @victims:	victims that the owner has not fetched yet, by rpol_mr.link
 * @revoking:	entries, still charged, of victims, fetched or not, and of recalled MRs,
 *		overdue or not
 * @weight:	its part of what is contended, relative to the other members'
 * @shutdown:	nothing is granted any more; written under both locks
 * @dismissals:	number of calls of rpol_member_dismiss(); written under both locks
 * @nr_waiters:	length of @waiters; written under both locks
 * @waiting:	entries that the claims in @waiters want; written under both locks
 * @charged_at:	when @stats.charged_us was brought up to date, in ns
 * @waited_at:	value of rpol_waited_ns() at @charged_at
 * @waiting_at:	when @stats.waiting_us was brought up to date, in ns
 * @stats:	the counters of struct rpol_member_stats
 * @link:	on rpol_domain.members; this and all fields below are guarded by the
 *		domain's lock
 * @waiters:	claims that wait, by rpol_waiter.link, in order of arrival
 * @order:	node in @line
 * @line:	rpol_domain.owed or rest; NULL while the member stands in neither
 * @rank:	its deficit when it was put into @line
 * @placed:	its part of rpol_domain.wanted
 * @donor:	on rpol_domain.donors
 * @keep:	entries that it keeps while it is on rpol_domain.donors
 * @ask:	on rpol_domain.asked
 * @deficit:	how far it is behind its entitlement
 * @claim:	its part in the computation of entitlements
 * @pins:	claims and callbacks that still use it, and one for its owner; atomic, raised
 *		under the domain's lock
 * @unpinned:	completed when @pins is 0
 */
struct rpol_member {
	struct rpol_domain *dom;
	const struct rpol_member_ops *ops;
	void *ctx;
	u32 number;
	u32 label;

	spinlock_t lock ____cacheline_aligned_in_smp;
	struct rpol_account acct;
	u64 bound;
	u64 window;
	u64 share;
	bool curbed;
	struct rpol_peak demand;
	struct list_head idle[RPOL_NR_CLASSES];
	u64 idle_entries;
	struct list_head lent;
	u64 lent_entries;
	struct list_head recalled;
	struct list_head victims;
	u64 revoking;
	u32 weight;
	bool shutdown;
	u32 dismissals;
	u32 nr_waiters;
	u64 waiting;
	u64 charged_at;
	u64 waited_at;
	u64 waiting_at;
	struct rpol_member_stats stats;

	struct list_head link;
	struct list_head waiters;
	struct rb_node order;
	struct rb_root_cached *line;
	s64 rank;
	u64 placed;
	struct list_head donor;
	u64 keep;
	struct list_head ask;
	struct rpol_deficit deficit;
	struct rpol_claim claim;
	refcount_t pins;
	struct completion unpinned;
};

/* Adds a member's time integrals to those of its domain. */
static inline void rpol_domain_add_us(struct rpol_domain_stats *sum,
				      const struct rpol_member_stats *st)
{
	sum->charged_us += st->charged_us;
	sum->bound_us += st->bound_us;
	sum->converting_us += st->converting_us;
	sum->idle_us += st->idle_us;
	sum->idle_waited_us += st->idle_waited_us;
}

/*
 * The time in ns.  Stamps that the domain's lock guards, also those of deficits, are compared
 * with a time that was read under this lock, so that it is not before any of them.  A time
 * that was read earlier may be: another processor may have read the clock later and taken the
 * lock first.  What runs under a member's lock alone allows for such a time.
 */
static inline u64 rpol_now(const struct rpol_domain *dom)
{
	return dom->ops && dom->ops->now ? dom->ops->now(dom->ctx) : ktime_get_ns();
}

/*
 * The time for which members have stood in a line, since the domain was made, in ns.
 * A member reads this clock to split its idle time into time with and without waiters,
 * so all members need not be visited when a wait begins or ends.  The clock is one word.
 * Its last bit says whether the clock runs.  The other bits are the total if the clock
 * stands, and else the number that makes the total when @now is added.
 *
 * @now may be before the time when the clock was started.  The result is then less than the
 * total, but never below zero, which would look like a very large one.
 */
static inline u64 rpol_waited_ns(const struct rpol_domain *dom, u64 now)
{
	s64 word = atomic64_read(&dom->waited), sum = word >> 1;

	if (word & 1)
		sum += now;
	return sum > 0 ? sum : 0;
}

/*
 * Entries that are free, or will be when the victims and the recalled MRs are gone; negative
 * if more is charged than the RNIC has even then.
 *
 * The domain's lock is held, so no MR becomes a victim meanwhile.  But victims are freed
 * under their member's lock alone.  Their entries are added to @common before they are taken
 * from @revoking, and the two are read in the other order here.  So they may be counted
 * twice, but are never missed; if they were missed, idle MRs would be taken in vain.  If they
 * are counted twice too little is taken, until uncharge() serves the queue.  At worst a member
 * binds an idle MR of its own once more before it pays a debt.
 */
static inline s64 rpol_free_soon(const struct rpol_domain *dom)
{
	s64 revoking;

	lockdep_assert_held(&dom->lock);
	revoking = atomic64_read(&dom->revoking);
	/* Pairs with the barrier in uncharge(). */
	smp_rmb();
	return revoking + atomic64_read(&dom->common);
}

/*
 * Entries that a member keeps while others wait, except for MRs that have been idle for
 * long (idle.c).  The member's lock is held.
 */
static inline u64 rpol_member_keeps(const struct rpol_member *mem)
{
	lockdep_assert_held(&mem->lock);
	if (READ_ONCE(mem->dom->tun.discipline) == RPOL_FIFO)
		return mem->acct.min;
	return mem->share > mem->acct.min ? mem->share : mem->acct.min;
}

/* The line that a member stands in.  The domain's lock is held. */
static inline enum rpol_line rpol_member_line(const struct rpol_member *mem)
{
	lockdep_assert_held(&mem->dom->lock);
	if (!mem->line)
		return RPOL_LINE_NONE;
	return mem->line == &mem->dom->owed ? RPOL_LINE_OWED : RPOL_LINE_REST;
}

/* domain.c */
void rpol_domain_lock(struct rpol_domain *dom);
void rpol_domain_unlock(struct rpol_domain *dom);
void rpol_domain_wake(struct rpol_domain *dom, u64 delay_ns);

/* member.c */
void rpol_member_pin_locked(struct rpol_member *mem);
void rpol_member_unpin(struct rpol_member *mem);

/* mr.c */
u64 rpol_member_window_locked(struct rpol_member *mem, u64 now);
void rpol_member_integrate_locked(struct rpol_member *mem, u64 now);
enum rpol_verdict rpol_member_bind_locked(struct rpol_member *mem, unsigned int class,
					  u32 entries, bool closed, u64 now,
					  struct rpol_mr **mr);

/* order.c */
void rpol_order_enqueue_locked(struct rpol_domain *dom, struct rpol_waiter *w, u64 now);
void rpol_order_dequeue_locked(struct rpol_domain *dom, struct rpol_waiter *w, int ret, u64 now);
void rpol_order_line_up_locked(struct rpol_domain *dom, struct rpol_member *mem);
void rpol_order_own_locked(struct rpol_domain *dom, struct rpol_member *mem, u64 now);
void rpol_order_serve_locked(struct rpol_domain *dom, u64 now);
void rpol_order_refuse_locked(struct rpol_domain *dom, u64 now);

/* balance.c */
void rpol_balance_locked(struct rpol_domain *dom, u64 now);
void rpol_balance_try_locked(struct rpol_domain *dom, u64 now);
void rpol_deficit_update_locked(struct rpol_domain *dom, struct rpol_member *mem, u64 now);
s64 rpol_deficit_read_locked(const struct rpol_domain *dom, const struct rpol_member *mem,
			     u64 now);

/* idle.c */
void rpol_mr_move_locked(struct rpol_member *mem, struct rpol_mr *mr, enum rpol_mr_state to,
			 u64 now);
struct rpol_mr *rpol_idle_take_locked(struct rpol_member *mem, unsigned int class, u64 now);
void rpol_idle_put_locked(struct rpol_member *mem, struct rpol_mr *mr, u64 now);
u64 rpol_idle_revoke_locked(struct rpol_domain *dom, struct rpol_member *mem, u64 entries,
			    u64 keep, u64 before, enum rpol_revoke_why why);
bool rpol_idle_beyond_max(const struct rpol_member *mem);
void rpol_idle_trim_locked(struct rpol_domain *dom, struct rpol_member *mem);
void rpol_idle_expire_locked(struct rpol_domain *dom, struct rpol_member *mem, u64 now);
void rpol_idle_overdue_locked(struct rpol_domain *dom, struct rpol_member *mem, u64 now);
void rpol_donor_update_locked(struct rpol_domain *dom, struct rpol_member *mem, u64 now);
void rpol_donors_revoke_locked(struct rpol_domain *dom, u64 entries, u64 now);
void rpol_watermark_locked(struct rpol_domain *dom, u64 now);

#endif
