/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Domains and members from the inside.
 *
 * Two levels of locking.  A member's own lock guards its account; it is all
 * that a reservation or a release takes while nobody waits.  What members
 * share then is the domain's @common, one atomic number (admit.h says why one
 * is enough).  The domain's lock guards membership, the queue of waiters, and
 * every change of a limit.
 *
 * Lock order: rpol_domain.lock, then rpol_member.lock.  Both are taken with
 * bottom halves off, because a release may come from a completion handler.
 */
#ifndef RDMAFS_REGPOLICY_DOMAIN_H
#define RDMAFS_REGPOLICY_DOMAIN_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include "regpolicy/admit.h"
#include "regpolicy/regpolicy.h"

/**
 * enum rpol_verdict - what became of an attempt to charge
 * @RPOL_ADMITTED:	the entries are charged
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
 * @nr_waiters:	length of @waiters
 * @closed:	a waiter needs more of @common than there is, so nobody may
 *		take of it out of turn
 * @lock:	guards all below, and every write to the two above
 * @capacity:	entries there are
 * @sum_min:	of all members; never above @capacity
 * @nr_members:	length of @members
 * @waits:	reservations that ever had to wait
 * @members:	rpol_member.link
 * @waiters:	rpol_waiter.link, in order of arrival
 */
struct rpol_domain {
	atomic64_t common;
	atomic_t nr_waiters;
	bool closed;

	spinlock_t lock ____cacheline_aligned_in_smp;
	u64 capacity;
	u64 sum_min;
	u64 nr_members;
	u64 waits;
	struct list_head members;
	struct list_head waiters;
};

/**
 * struct rpol_member - one mount or session
 * @dom:	its domain
 * @ops:	what it can be asked; may be NULL
 * @ctx:	its own
 * @pressed:	a waiter would be helped by what this member releases; written
 *		under the domain's lock
 * @in_use:	entries bound to an I/O
 * @lock:	guards the next group
 * @acct:	what is charged, and the bounds of it; the bounds are written
 *		under the domain's lock as well
 * @weight:	kept for its reader
 * @shutdown:	nothing is charged any more; written under both locks
 * @stats:	all but what is kept elsewhere
 * @link:	on rpol_domain.members; guarded, as all below, by the domain's
 *		lock
 * @nr_waiters:	its reservations among rpol_domain.waiters; read without the
 *		lock as well
 * @waiting:	the entries that they want
 * @verdict:	of its first waiter, when the queue was last looked through
 * @dying:	not to be called back any more
 * @pins:	callbacks and waiters that still look at it, and its owner
 * @unpinned:	when there is none left
 */
struct rpol_member {
	struct rpol_domain *dom;
	const struct rpol_member_ops *ops;
	void *ctx;
	bool pressed;

	atomic64_t in_use ____cacheline_aligned_in_smp;

	spinlock_t lock ____cacheline_aligned_in_smp;
	struct rpol_account acct;
	u32 weight;
	bool shutdown;
	struct rpol_member_stats stats;

	struct list_head link;
	u32 nr_waiters;
	u64 waiting;
	enum rpol_verdict verdict;
	bool dying;
	refcount_t pins;
	struct completion unpinned;
};

/**
 * struct rpol_waiter - one reservation that could not be granted at once
 * @link:	on rpol_domain.waiters until @ended
 * @mem:	whose it is
 * @entries:	wanted
 * @ended:	granted or refused, see @ret; guarded by the domain's lock
 * @ret:	0 if granted, else why not
 * @wake:	the waiting task sleeps on it
 */
struct rpol_waiter {
	struct list_head link;
	struct rpol_member *mem;
	u32 entries;
	bool ended;
	int ret;
	struct completion wake;
};

void rpol_domain_enqueue_locked(struct rpol_domain *dom, struct rpol_waiter *w);
void rpol_domain_dequeue_locked(struct rpol_domain *dom, struct rpol_waiter *w, int ret);
void rpol_domain_serve_locked(struct rpol_domain *dom);
void rpol_domain_reclaim(struct rpol_domain *dom, const struct rpol_waiter *w);

enum rpol_verdict rpol_member_charge_locked(struct rpol_member *mem, u32 entries, bool closed);
void rpol_member_pin_locked(struct rpol_member *mem);
void rpol_member_unpin(struct rpol_member *mem);

#endif
