/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Domains and members from the inside.
 *
 * Two levels of locking.  A member's own lock guards its account, its window
 * and its idle MRs; it is all that binding an MR and letting it fall idle take
 * while nobody waits, and also while others wait as long as the member stays
 * within its window.  What members share then is the domain's @common, one
 * atomic number (admit.h says why one is enough).  The domain's lock guards
 * membership, the order of waiting, entitlements, and every change of a limit.
 *
 * Lock order: rpol_domain.lock, then rpol_member.lock.  Both are taken with
 * bottom halves off, because MRs fall idle in completion handlers.
 *
 * Nothing is missed between the two levels: who begins to wait sets @tight
 * before it looks at @common and, under their locks, at members; who gives
 * something back does so before it reads @tight.
 */
#ifndef RDMAFS_REGPOLICY_DOMAIN_H
#define RDMAFS_REGPOLICY_DOMAIN_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include "regpolicy/admit.h"
#include "regpolicy/entitle.h"
#include "regpolicy/regpolicy.h"
#include "regpolicy/window.h"

/**
 * enum rpol_verdict - what became of an attempt to bind
 * @RPOL_ADMITTED:	the entries are bound
 * @RPOL_WAIT_OWN:	they would exceed the member's maximum
 * @RPOL_WAIT_COMMON:	they would take of the common part what is not there,
 *			or what somebody before them waits for
 */
enum rpol_verdict {
	RPOL_ADMITTED,
	RPOL_WAIT_OWN,
	RPOL_WAIT_COMMON,
};

/**
 * struct rpol_domain - one RNIC
 * @common:	entries that are neither charged nor kept for anybody; negative
 *		while a limit was lowered and its excess drains
 * @tight:	somebody stands in a line, or @common is negative: nobody takes
 *		of @common but in order; written under @lock
 * @contended:	somebody had to wait, so windows are as they were cut; written
 *		under @lock
 * @calm_since:	when @contended last became false, ns; as the next three,
 *		written under @lock
 * @capacity:	entries there are
 * @ops:	its owner's; may be NULL
 * @ctx:	handed to @ops
 * @ticking:	rpol_domain_tick() is going to be called
 * @revoking:	entries of victims and of what was called back of late, still charged
 * @waited:	clock of the time in which somebody stood in a line, see
 *		rpol_waited_ns(); written under @lock
 * @lock:	guards all below
 * @tun:	the tunables; @tun.discipline is read without the lock as well
 * @sum_min:	of all members; never above @capacity
 * @nr_members:	length of @members
 * @nr_waiters:	claims waiting
 * @wanted:	the entries that members in @owed and @rest wait for
 * @seq:	of the last claim that waited
 * @members:	rpol_member.link
 * @owed:	rpol_member.order of those whose first claim is within their
 *		entitlement; the most behind first
 * @rest:	rpol_member.order of other members that wait, likewise
 * @over:	rpol_member.over: have idle MRs, and more than they are to keep
 * @granted:	rpol_waiter.link of claims that ended, to be told
 * @asked:	rpol_member.ask of members that have victims, to be told
 * @telling:	somebody calls back; what is to be told is left to him
 * @due:	entitlements are to be computed, by the next tick
 * @wake_in:	if not 0: the next tick is to be in so many ns, which has to be
 *		told
 * @balanced_at: when they were, ns
 * @vtime:	time in us, slowed by how far entitlements were used up (see
 *		balance.c), with RPOL_VTIME_BITS of fraction
 * @vtime_at:	when it was brought up to date, ns
 * @vtime_rate:	of it, to that of time
 * @random:	state of the random replacement
 * @capacity_at: when @stats.capacity_us was brought up to date, ns
 * @stats:	what is counted here
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
	u32 nr_waiters;
	u64 wanted;
	u64 seq;
	struct list_head members;
	struct rb_root_cached owed;
	struct rb_root_cached rest;
	struct list_head over;
	struct list_head granted;
	struct list_head asked;
	bool telling;
	bool due;
	u64 wake_in;
	u64 balanced_at;
	u64 vtime;
	u64 vtime_at;
	u64 vtime_rate;
	u64 random;
	u64 capacity_at;
	struct rpol_domain_stats stats;
};

#define RPOL_VTIME_BITS		16

/*
 * Ticks while somebody waits, so that demands that end are noticed; while
 * fewer entries are free than shall be; and while MRs are idle.
 */
#define RPOL_TICK_TIGHT		50000000ULL
#define RPOL_TICK_LOW		100000000ULL
#define RPOL_TICK_CALM		1000000000ULL

/**
 * struct rpol_deficit - how far a member is behind, at some time
 * @value:	in entry-microseconds, with RPOL_FRAC_BITS of fraction
 * @charged:	what was charged then
 * @at:		when that was, us
 * @vtime:	the domain's
 * @charged_us:	the member's
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
 * @dom:	its domain
 * @ops:	what it can be asked; may be NULL
 * @ctx:	its own
 * @lock:	guards the next group
 * @acct:	what is charged, and the bounds of it; the bounds are written
 *		under the domain's lock as well
 * @bound:	entries in use; what is charged is these, @idle_entries, @lent_entries
 *		and @revoking together
 * @window:	bound of @bound for who does not ask in turn; RPOL_NO_WINDOW
 * @share:	its entitlement, in entries; written under both locks
 * @curbed:	that is less than it demanded; the same
 * @demand:	of @bound and @waiting together
 * @idle:	rpol_mr.link by class, the one that fell idle last in front
 * @idle_entries: of all MRs in @idle
 * @lent:	rpol_mr.link of those lent and not called back, the youngest in front
 * @lent_entries: of all MRs in @lent
 * @recalled:	rpol_mr.link of those called back, and not overdue, the first in front
 * @victims:	rpol_mr.link
 * @revoking:	entries of victims, fetched or not, that are still charged, and of
 *		what is called back, overdue or not
 * @weight:	its part, relative to the others'
 * @shutdown:	nothing is granted any more; written under both locks
 * @dismissals:	how often who waited was sent away; written under both locks
 * @nr_waiters:	length of @waiters; written under both locks
 * @waiting:	entries that they want; written under both locks
 * @charged_at:	when @stats.charged_us was brought up to date, ns
 * @waited_at:	rpol_waited_ns() of then
 * @waiting_at:	when @stats.waiting_us was
 * @stats:	what is counted
 * @link:	on rpol_domain.members; guarded, as all below, by the domain's
 *		lock
 * @waiters:	rpol_waiter.link, in order of arrival
 * @order:	in @line
 * @line:	rpol_domain.owed or rest; NULL while it does not stand in one
 * @rank:	its deficit when it was put there
 * @placed:	what it counts for in rpol_domain.wanted
 * @over:	on rpol_domain.over
 * @keep:	what it is to keep then
 * @ask:	on rpol_domain.asked
 * @deficit:	what it is owed
 * @claim:	in the computation of entitlements
 * @pins:	claims and callbacks that still look at it, and its owner
 * @unpinned:	when there is none left
 */
struct rpol_member {
	struct rpol_domain *dom;
	const struct rpol_member_ops *ops;
	void *ctx;

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
	struct list_head over;
	u64 keep;
	struct list_head ask;
	struct rpol_deficit deficit;
	struct rpol_claim claim;
	refcount_t pins;
	struct completion unpinned;
};

/* What is charged over time is summed up by domain. */
static inline void rpol_domain_add_us(struct rpol_domain_stats *sum,
				      const struct rpol_member_stats *st)
{
	sum->charged_us += st->charged_us;
	sum->bound_us += st->bound_us;
	sum->converting_us += st->converting_us;
	sum->idle_us += st->idle_us;
	sum->idle_waited_us += st->idle_waited_us;
}

static inline u64 rpol_now(const struct rpol_domain *dom)
{
	return dom->ops && dom->ops->now ? dom->ops->now(dom->ctx) : ktime_get_ns();
}

/*
 * For how long somebody has stood in a line, since the beginning, in ns.  Members
 * take it for what it was idle meanwhile, so that nobody has to visit them all when a
 * wait begins or ends.  One word tells the time: its last bit says whether the clock
 * runs, the others what is to be added to now, or the sum.
 */
static inline u64 rpol_waited_ns(const struct rpol_domain *dom, u64 now)
{
	s64 word = atomic64_read(&dom->waited);

	return (word >> 1) + (word & 1 ? now : 0);
}

/* What a member keeps of its idle MRs while others wait; its lock is held. */
static inline u64 rpol_member_keeps(const struct rpol_member *mem)
{
	if (READ_ONCE(mem->dom->tun.discipline) == RPOL_FIFO)
		return mem->acct.min;
	return mem->share > mem->acct.min ? mem->share : mem->acct.min;
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
			    u64 keep, u64 before);
bool rpol_idle_beyond_max(const struct rpol_member *mem);
void rpol_idle_trim_locked(struct rpol_domain *dom, struct rpol_member *mem);
void rpol_idle_expire_locked(struct rpol_domain *dom, struct rpol_member *mem, u64 now);
void rpol_idle_overdue_locked(struct rpol_domain *dom, struct rpol_member *mem, u64 now);
void rpol_over_update_locked(struct rpol_domain *dom, struct rpol_member *mem, u64 now);
void rpol_over_revoke_locked(struct rpol_domain *dom, u64 entries, u64 now);
void rpol_watermark_locked(struct rpol_domain *dom, u64 now);

#endif
