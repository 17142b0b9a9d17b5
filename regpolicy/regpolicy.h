/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The registration policy: who may hold how many of an RNIC's translations.
 *
 * A *domain* stands for one RNIC and has a capacity in *entries*, one entry
 * being the translation of one page.  A *member* is one consumer on it: a
 * client's mount or a server's session.  An MR of a class with N entries is
 * charged N, or more where MRs are few (rpol_capacity_for()), to its member
 * for as long as it exists, bound or idle (design,
 * section 5; Magoutis, section 2: the share of the TLB is what is rationed,
 * not what happens to be used of it).
 *
 * The life of an MR as it is seen from here:
 *
 *	rpol_mr_get()	charged (or an idle one taken again) and bound to an I/O
 *	rpol_mr_idle()	the I/O is over; the policy keeps it on its idle lists
 *	rpol_mr_lend()	or it stays bound, to no I/O now: the peer may use it unasked, or its
 *			owner later
 *	rpol_mr_regain() which it does, or its owner is to destroy it
 *	reclaim()	the policy wants some idle MRs destroyed: these are victims;
 *			or some of those that are lent called back
 *	rpol_mr_reap()	the owner fetches a victim, deregisters it, and says so by
 *	rpol_mr_freed()	charged no more
 *	rpol_release()	or it was destroyed while bound
 *
 * So nothing is bound without the policy's consent, not even an MR that its
 * owner has had all along.  Documentation/regpolicy.rst has the rules.
 *
 * This room knows counts, sizes and times.  It knows no verbs and no files,
 * and calls up only through &struct rpol_member_ops, &struct rpol_domain_ops
 * and &struct rpol_waiter.
 *
 * Locking: every function serialises itself.  Nothing here is called from
 * hard interrupt context.  Callbacks run with no lock of this room held, with
 * bottom halves off, one at a time in each domain, and must not sleep.  They
 * may call everything here that does not sleep.
 */
#ifndef RDMAFS_REGPOLICY_H
#define RDMAFS_REGPOLICY_H

#include <linux/list.h>
#include <linux/types.h>

struct rpol_domain;
struct rpol_member;
struct rpol_waiter;

/*
 * MR classes, in entries.  An unaligned transfer of N pages touches N + 1:
 * hence 33, 129 and 257 for 128 KiB, 512 KiB and 1 MiB, 513 and 1025 for 2 and
 * 4 MiB.  Eight serve what is just too large to be sent inline.
 */
#define RPOL_NR_CLASSES		6
#define RPOL_CLASS_USUAL	257
#define RPOL_CLASS_MAX		1025
/* In the place of a class: a new MR, whatever is idle. */
#define RPOL_NO_CLASS		RPOL_NR_CLASSES

/*
 * A domain smaller than this could not serve an RPC of the usual size, 1 MiB.
 * It may be too small for larger ones: they get -E2BIG and are split.
 */
#define RPOL_CAPACITY_MIN	RPOL_CLASS_USUAL

/* Quota value that means "no bound of its own". */
#define RPOL_NO_MAX		U64_MAX
/* Window value of a member that is not bounded by one. */
#define RPOL_NO_WINDOW		U64_MAX

#define RPOL_WEIGHT_DEFAULT	100
#define RPOL_WEIGHT_MAX		10000

/**
 * struct rpol_quota - what a member is given, by its administrator
 * @min:    entries kept for it, whatever others want
 * @max:    entries it never exceeds, RPOL_NO_MAX for no bound
 * @weight: its part of what is contended, 1..RPOL_WEIGHT_MAX
 */
struct rpol_quota {
	u64 min;
	u64 max;
	u32 weight;
};

/**
 * enum rpol_discipline - who is served first when entries are waited for
 * @RPOL_FAIR: who is below its entitlement, by weight and in turns
 * @RPOL_FIFO: who came first; no entitlements, no windows: to compare with
 */
enum rpol_discipline {
	RPOL_FAIR,
	RPOL_FIFO,
};

#define RPOL_NR_DISCIPLINES	(RPOL_FIFO + 1)

/**
 * enum rpol_replacement - which idle MR is taken first
 * @RPOL_LRU:	 the one idle for the longest time
 * @RPOL_LFU:	 the one used least often, of those idle for long
 * @RPOL_RANDOM: any, of those idle for long
 */
enum rpol_replacement {
	RPOL_LRU,
	RPOL_LFU,
	RPOL_RANDOM,
};

#define RPOL_NR_REPLACEMENTS	(RPOL_RANDOM + 1)

/**
 * struct rpol_tunables - what an administrator sets of a domain
 * @discipline:	 enum rpol_discipline
 * @replacement: enum rpol_replacement
 * @low:	 with fewer entries free, idle MRs are taken ahead of need ...
 * @high:	 ... until so many are free; not below @low
 * @idle_ms:	 an MR idle for so long is taken, down to its member's min
 */
struct rpol_tunables {
	u32 discipline;
	u32 replacement;
	u64 low;
	u64 high;
	u32 idle_ms;
};

/**
 * enum rpol_mr_state - what an MR is to the policy
 * @RPOL_MR_BOUND:    its owner's: of an I/O, or on its way to or from one
 * @RPOL_MR_IDLE:     on its member's idle lists
 * @RPOL_MR_LENT:     idle, but for the peer to use unasked
 * @RPOL_MR_RECALLED: lent, and wanted back: its owner is to see to that
 * @RPOL_MR_OVERDUE:  the same for so long that nobody relies on it any more
 * @RPOL_MR_VICTIM:   idle, and to be destroyed by its owner
 */
enum rpol_mr_state {
	RPOL_MR_BOUND,
	RPOL_MR_IDLE,
	RPOL_MR_LENT,
	RPOL_MR_RECALLED,
	RPOL_MR_OVERDUE,
	RPOL_MR_VICTIM,
};

#define RPOL_NR_MR_STATES	(RPOL_MR_VICTIM + 1)

/**
 * struct rpol_mr - an MR as it is seen from here, part of its owner's
 * @link:    on a list of its member's; the policy's
 * @state:   where it is; the policy's, BOUND to begin with
 * @idle_at: when it fell idle, or was lent, in the domain's ns; the policy's
 * @recalled_at: when it was called back; the same
 * @uses:    times it was bound; the policy's
 * @class:   0..RPOL_NR_CLASSES - 1, the owner's
 * @entries: what it is charged, the owner's
 */
struct rpol_mr {
	struct list_head link;
	enum rpol_mr_state state;
	u64 idle_at;
	u64 recalled_at;
	u32 uses;
	u32 class;
	u32 entries;
};

/**
 * struct rpol_member_ops - what the policy asks of a member
 * @reclaim: there are victims: have a worker fetch them by rpol_mr_reap(),
 *	     destroy them and call rpol_mr_freed() for each; or some that are
 *	     lent are wanted back, all at once: see rpol_mr_recalled().  Not called
 *	     after rpol_member_destroy() has returned
 */
struct rpol_member_ops {
	void (*reclaim)(void *ctx);
};

/**
 * struct rpol_domain_ops - what the policy asks of a domain's owner
 * @now:  the time in ns, never running backwards; NULL for the kernel's
 *	  monotonic clock
 * @wake: call rpol_domain_tick() from a worker @delay_ns from now, or when it
 *	  is to be called anyway if that is earlier.  NULL if nobody will: then
 *	  idle MRs stay until they are waited for.  May be called from any
 *	  context, by several at once
 */
struct rpol_domain_ops {
	u64 (*now)(void *ctx);
	void (*wake)(void *ctx, u64 delay_ns);
};

/**
 * struct rpol_waiter - a claim that can be waited for, see rpol_mr_claim()
 * @mem:     whose; the caller's, as the next three
 * @entries: wanted
 * @class:   of the MR wanted, or RPOL_NO_CLASS
 * @granted: tells how it ended: 0, -ESHUTDOWN or -E2BIG.  @w is its owner's
 *	     again.  Callback rules as above
 * @mr:	     with 0: the idle MR taken, or NULL: one is to be made
 * @link:    this and all below is the policy's
 * @since:   when it began
 * @seq:     its place in the order of arrival
 * @ret:     how it ended
 * @waits:   it is in its member's queue
 */
struct rpol_waiter {
	struct rpol_member *mem;
	u32 entries;
	unsigned int class;
	void (*granted)(struct rpol_waiter *w, int ret);
	struct rpol_mr *mr;

	struct list_head link;
	u64 since;
	u64 seq;
	int ret;
	bool waits;
};

/* Waits by length: bucket N has those below 2^N us, the last also all longer ones. */
#define RPOL_WAIT_BUCKETS	25

/**
 * struct rpol_member_stats - a member's account
 * @charged:	entries charged now
 * @in_use:	of these, bound to an I/O now
 * @idle:	of these, idle now and not yet victims
 * @lent:	of these, lent now and not called back
 * @waiting:	entries asked for by waiting claims now
 * @waiters:	claims waiting now
 * @demand:	the most it had in use and waited for, of late
 * @entitlement: its share when last computed, which is while somebody waits
 * @window:	bound on what it may have in use without asking in turn, or
 *		RPOL_NO_WINDOW
 * @deficit_us:	entry-microseconds that it is behind (or, negative, ahead of)
 *		what it is entitled to
 * @grants:	claims granted; this and all below only grows
 * @waits:	claims that had to wait
 * @refused:	claims refused: nowait, killed, cancelled or shut down
 * @reclaims:	times it was asked for idle MRs
 * @revoked:	idle MRs that became victims, and lent ones that were called back
 * @cuts:	times its window was cut below what it had in use
 * @charged_us: entry-microseconds charged, which are the sum of the next four:
 * @bound_us:	bound, to I/Os mostly
 * @converting_us: on their way from this member to others: victims, and what was
 *		lent and is called back
 * @idle_us:	idle or lent, while nobody in the domain stood in line
 * @idle_waited_us: idle or lent, while somebody did
 * @waiting_us: entry-microseconds waited for
 * @wait_ns:	time all granted waits took together
 * @wait_max_ns: the longest of them
 * @wait_hist:	their number by length
 * @charged_peak: the largest @charged seen
 */
struct rpol_member_stats {
	u64 charged;
	u64 in_use;
	u64 idle;
	u64 lent;
	u64 waiting;
	u64 waiters;
	u64 demand;
	u64 entitlement;
	u64 window;
	s64 deficit_us;
	u64 grants;
	u64 waits;
	u64 refused;
	u64 reclaims;
	u64 revoked;
	u64 cuts;
	u64 charged_us;
	u64 bound_us;
	u64 converting_us;
	u64 idle_us;
	u64 idle_waited_us;
	u64 waiting_us;
	u64 wait_ns;
	u64 wait_max_ns;
	u64 wait_hist[RPOL_WAIT_BUCKETS];
	u64 charged_peak;
};

/**
 * struct rpol_domain_stats - a domain's account
 * @capacity:	entries there are
 * @charged:	entries charged to all members
 * @reserved_min: sum of the members' minima
 * @revoking:	entries of victims on their way back
 * @members:	members there are
 * @waiters:	claims waiting now, of all members
 * @waits:	claims that ever had to wait; this and all below only grows
 * @rebalances:	times entitlements were computed
 * @capacity_us: entry-microseconds there were
 * @charged_us: entry-microseconds charged, to members that are gone as well
 * @bound_us:	of these, see &struct rpol_member_stats, as the next three
 * @converting_us: likewise
 * @idle_us:	likewise
 * @idle_waited_us: likewise: what the policy wasted
 */
struct rpol_domain_stats {
	u64 capacity;
	u64 charged;
	u64 reserved_min;
	u64 revoking;
	u64 members;
	u64 waiters;
	u64 waits;
	u64 rebalances;
	u64 capacity_us;
	u64 charged_us;
	u64 bound_us;
	u64 converting_us;
	u64 idle_us;
	u64 idle_waited_us;
};

#define RPOL_NOWAIT	0x1	/* -EAGAIN rather than wait */

int rpol_class_for(u32 entries, u32 device_max);
u32 rpol_class_entries(unsigned int class, u32 device_max);
u32 rpol_class_charge(unsigned int class, u32 device_max, u32 least);
u64 rpol_capacity_for(u64 mrs, u32 device_max, u64 most, u32 *least);

struct rpol_domain *rpol_domain_create(u64 capacity, const struct rpol_domain_ops *ops,
				       void *ctx);
void rpol_domain_destroy(struct rpol_domain *dom);
int rpol_domain_set_capacity(struct rpol_domain *dom, u64 capacity);
int rpol_domain_set_tunables(struct rpol_domain *dom, const struct rpol_tunables *tun);
void rpol_domain_get_tunables(struct rpol_domain *dom, struct rpol_tunables *tun);
void rpol_domain_get_stats(struct rpol_domain *dom, struct rpol_domain_stats *st);
u64 rpol_domain_tick(struct rpol_domain *dom);

struct rpol_member *rpol_member_create(struct rpol_domain *dom,
				       const struct rpol_quota *quota,
				       const struct rpol_member_ops *ops, void *ctx);
void rpol_member_shutdown(struct rpol_member *mem);
void rpol_member_dismiss(struct rpol_member *mem, int error);
u32 rpol_member_dismissals(const struct rpol_member *mem);
void rpol_member_destroy(struct rpol_member *mem);
int rpol_member_set_quota(struct rpol_member *mem, const struct rpol_quota *quota);
void rpol_member_get_quota(struct rpol_member *mem, struct rpol_quota *quota);
void rpol_member_get_stats(struct rpol_member *mem, struct rpol_member_stats *st);
u32 rpol_member_room(struct rpol_member *mem, u32 device_max, u32 least);

int rpol_mr_get(struct rpol_member *mem, unsigned int class, u32 entries, unsigned int flags,
		struct rpol_mr **mr);
int rpol_mr_get_since(struct rpol_member *mem, unsigned int class, u32 entries, u32 since,
		      struct rpol_mr **mr);
int rpol_mr_claim(struct rpol_waiter *w);
bool rpol_mr_cancel(struct rpol_waiter *w);
void rpol_mr_idle(struct rpol_member *mem, struct rpol_mr *mr);
void rpol_mr_lend(struct rpol_member *mem, struct rpol_mr *mr);
void rpol_mr_regain(struct rpol_member *mem, struct rpol_mr *mr);
bool rpol_mr_recalled(const struct rpol_mr *mr);
struct rpol_mr *rpol_mr_reap(struct rpol_member *mem);
void rpol_mr_freed(struct rpol_member *mem, u32 entries);
void rpol_mr_flush(struct rpol_member *mem);

int rpol_reserve(struct rpol_member *mem, u32 entries, unsigned int flags);
void rpol_release(struct rpol_member *mem, u32 entries);
bool rpol_pressed(struct rpol_member *mem);
bool rpol_capped(struct rpol_member *mem, u32 entries);
u64 rpol_excess(struct rpol_member *mem);

int rpol_quota_parse(const char *text, struct rpol_quota *quota);
int rpol_tunables_parse(const char *text, struct rpol_tunables *tun);
const char *rpol_discipline_name(u32 discipline);
const char *rpol_replacement_name(u32 replacement);

#endif
