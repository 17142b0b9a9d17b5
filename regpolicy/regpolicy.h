/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The registration policy: how many of an RNIC's translations each consumer
 * may hold.
 *
 * A *domain* stands for one RNIC and has a capacity in *entries*, one entry
 * being the translation of one page.  A *member* is one consumer on it: a
 * client's mount or a server's session.  An MR of a class with N entries is
 * charged N to its member, or more where MRs are few (rpol_capacity_for()).
 * The charge lasts for as long as the MR exists, bound or idle: the policy
 * rations the share of the RNIC's TLB, not the part of the share that is used
 * (Documentation/regpolicy.rst, "Words"; Magoutis, section 2).
 *
 * The life of an MR, as the policy sees it:
 *
 *	rpol_mr_get()	 binds an MR to an I/O: a new one, which is charged now, or
 *			 an idle one
 *	rpol_mr_idle()	 ends the I/O: the policy keeps the MR on an idle list
 *	rpol_mr_lend()	 leaves the MR with its owner, but without an I/O: the peer may
 *			 use it unasked, or the owner may need it later
 *	rpol_mr_regain() binds a lent MR again: the peer has used it, or the owner
 *			 needs it or is to destroy it
 *	reclaim()	 is the policy's request to destroy some idle MRs, which are
 *			 victims now, or to recall some lent MRs
 *	rpol_mr_reap()	 gives the owner a victim to deregister
 *	rpol_mr_freed()	 says that this was done, and ends the charge
 *	rpol_uncharge()	 ends the charge of an MR that was destroyed while bound
 *
 * So no MR is bound without the policy's consent, not even one that its owner
 * has had all along.  Documentation/regpolicy.rst has the rules.
 *
 * This directory knows counts, sizes and times.  It knows no verbs and no
 * files, and calls its users only through &struct rpol_member_ops, &struct
 * rpol_domain_ops and &struct rpol_waiter.
 *
 * Locking: every function takes the locks that it needs.  No function that takes
 * a lock may be called from hard interrupt context.
 * Callbacks run with no lock of this directory held and with bottom halves
 * off, one at a time in each domain (see &struct rpol_domain_ops for the
 * exceptions), and must not sleep.  A callback may call every function here
 * that does not sleep.
 */
#ifndef RDMAFS_REGPOLICY_H
#define RDMAFS_REGPOLICY_H

#include <linux/list.h>
#include <linux/types.h>

struct rpol_domain;
struct rpol_member;
struct rpol_waiter;

/*
 * MR classes, in entries.  An unaligned transfer of N pages touches N + 1 pages:
 * hence 33, 129 and 257 for 128 KiB, 512 KiB and 1 MiB, 513 and 1025 for 2 and
 * 4 MiB.  The class of 8 entries is for transfers just too large to be sent
 * inline.
 */
#define RPOL_NR_CLASSES		6
#define RPOL_CLASS_USUAL	257
#define RPOL_CLASS_MAX		1025
/*
 * Given instead of a class: make a new MR, whatever MRs are idle.  Only tests do so, which take a
 * member's entries without an MR.
 */
#define RPOL_NO_CLASS		RPOL_NR_CLASSES

/*
 * A smaller domain could not serve an RPC of the usual size, 1 MiB.  A domain of
 * this size may be too small for larger RPCs: they get -E2BIG and are split.
 */
#define RPOL_CAPACITY_MIN	RPOL_CLASS_USUAL

/* The maximum in the quota of a member that has no bound of its own. */
#define RPOL_NO_MAX		U64_MAX
/* The window of a member that is not bounded by one. */
#define RPOL_NO_WINDOW		U64_MAX

#define RPOL_WEIGHT_DEFAULT	100
#define RPOL_WEIGHT_MAX		10000

/**
 * struct rpol_quota - what the administrator gives a member
 * @min:    entries kept for the member, whatever others want
 * @max:    entries that the member never exceeds, RPOL_NO_MAX for no bound
 * @weight: the member's part of what is contended, 1..RPOL_WEIGHT_MAX
 */
struct rpol_quota {
	u64 min;
	u64 max;
	u32 weight;
};

/**
 * enum rpol_discipline - which claim is served first when claims wait
 * @RPOL_FAIR: claims of members below their entitlement, by weight and in turns
 * @RPOL_FIFO: the oldest claim; there are neither entitlements nor windows; for
 *	       comparison
 */
enum rpol_discipline {
	RPOL_FAIR,
	RPOL_FIFO,
};

#define RPOL_NR_DISCIPLINES	(RPOL_FIFO + 1)

/**
 * enum rpol_replacement - which idle MR becomes a victim first
 * @RPOL_LRU:	 the MR that has been idle for the longest time
 * @RPOL_LFU:	 the MR used least often, among the MRs idle for longest
 * @RPOL_RANDOM: any of the MRs idle for longest
 */
enum rpol_replacement {
	RPOL_LRU,
	RPOL_LFU,
	RPOL_RANDOM,
};

#define RPOL_NR_REPLACEMENTS	(RPOL_RANDOM + 1)

/**
 * struct rpol_tunables - what the administrator sets for a domain
 * @discipline:	 enum rpol_discipline
 * @replacement: enum rpol_replacement
 * @low:	 in entries: when fewer are free, idle MRs become victims ahead of need ...
 * @high:	 ... until so many entries are free; at least @low
 * @idle_ms:	 an MR that has been idle for so long becomes a victim, unless its
 *		 member would fall below its min
 */
struct rpol_tunables {
	u32 discipline;
	u32 replacement;
	u64 low;
	u64 high;
	u32 idle_ms;
};

/**
 * enum rpol_mr_state - state of an MR in the policy
 * @RPOL_MR_BOUND:    the owner has it, for an I/O; the owner ends this by rpol_mr_idle(),
 *		      rpol_mr_lend() or rpol_uncharge()
 * @RPOL_MR_IDLE:     on an idle list of its member; ends when the member binds it again, or
 *		      when the policy makes it a victim
 * @RPOL_MR_LENT:     the owner has it, but without an I/O, so that it counts as idle; the
 *		      owner ends this by rpol_mr_regain() or rpol_mr_idle(), the policy by
 *		      recalling it
 * @RPOL_MR_RECALLED: lent, and the owner is to get it back; the owner ends this by the same
 *		      calls, a tick when 100 ms have passed
 * @RPOL_MR_OVERDUE:  recalled for so long that the policy does not count on it any more;
 *		      the owner ends this by the same calls
 * @RPOL_MR_VICTIM:   the owner is to fetch it by rpol_mr_reap() and destroy it
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
 * struct rpol_mr - the policy's part of an MR, embedded in its owner's structure
 * @link:    on a list of its member; the policy's
 * @state:   the policy's; the owner makes the MR with RPOL_MR_BOUND, which is 0
 * @idle_at: when it fell idle or was lent, in ns of the domain's clock; the policy's
 * @recalled_at: when it was recalled, likewise
 * @uses:    number of times it was bound again; the policy's
 * @class:   0..RPOL_NR_CLASSES - 1; set by the owner
 * @entries: entries that it is charged; set by the owner
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
 * struct rpol_member_ops - callbacks to the owner of a member
 * @reclaim: there are victims, or lent MRs to be recalled, or both.  The owner has a
 *	     worker fetch each victim by rpol_mr_reap(), destroy it and call
 *	     rpol_mr_freed().  The worker also sees to it that all lent MRs come
 *	     back for which rpol_mr_recalled() is true.  Not called after
 *	     rpol_member_destroy() has returned
 */
struct rpol_member_ops {
	void (*reclaim)(void *ctx);
};

/**
 * struct rpol_domain_ops - callbacks to the owner of a domain
 * @now:  return the time in ns, which never runs backwards; NULL for the kernel's
 *	  monotonic clock.  Called with locks of the policy held
 * @wake: have a worker call rpol_domain_tick() in @delay_ns, or earlier if that was
 *	  asked for before.  If NULL, there are no ticks, and idle MRs stay until a
 *	  claim waits for them.  Called in any context but hard interrupt, with no lock of
 *	  the policy held, and perhaps on several processors at once
 */
struct rpol_domain_ops {
	u64 (*now)(void *ctx);
	void (*wake)(void *ctx, u64 delay_ns);
};

/**
 * struct rpol_waiter - a claim that may wait, see rpol_mr_claim()
 * @mem:     the member that claims; set by the caller, like the next three
 * @entries: number of entries wanted
 * @class:   class of the MR wanted, or RPOL_NO_CLASS
 * @done:    called when the wait has ended, with the result: 0, -ESHUTDOWN, -E2BIG, or the
 *	     error that rpol_member_dismiss() was given.  The caller owns the claim again.
 *	     Callback rules as above
 * @mr:	     valid if the result is 0: the idle MR that was bound, or NULL if the caller
 *	     is to make one
 * @link:    this and all fields below are the policy's
 * @since:   when the claim began to wait
 * @seq:     place of the claim in the order of arrival
 * @ret:     the result
 * @waits:   the claim is in its member's queue
 */
struct rpol_waiter {
	struct rpol_member *mem;
	u32 entries;
	unsigned int class;
	void (*done)(struct rpol_waiter *w, int ret);
	struct rpol_mr *mr;

	struct list_head link;
	u64 since;
	u64 seq;
	int ret;
	bool waits;
};

/*
 * Waits are counted by length: bucket N has the waits shorter than 2^N us that are in no
 * bucket before.  The last bucket also has all longer waits.
 */
#define RPOL_WAIT_BUCKETS	25

/**
 * struct rpol_member_stats - a member's account
 * @charged:	entries charged now
 * @in_use:	entries of these that are bound to an I/O now
 * @idle:	entries of these that are idle now and not yet victims
 * @lent:	entries of these that are lent now and not recalled
 * @waiting:	entries that waiting claims ask for now
 * @waiters:	claims that wait now
 * @demand:	the most entries that it had in use and waited for, in the last half to one
 *		second
 * @entitlement: its share in entries when last computed, which happens while claims wait
 * @window:	bound of the entries that it may have in use without asking in turn, or
 *		RPOL_NO_WINDOW
 * @deficit_us:	entry-microseconds by which it is behind its entitlement; negative if it is
 *		ahead
 * @grants:	claims granted; this and all fields below only grow
 * @waits:	claims that had to wait
 * @refused:	claims that ended because they were not to wait, the task was killed, they
 *		were cancelled or dismissed, or the member was shut down
 * @reclaims:	number of times that reclaim() was due
 * @revoked:	idle MRs that became victims, and lent MRs that were recalled
 * @cuts:	number of times that its window was cut below what it had in use, except back
 *		to where it was cut before, or to more, after it had grown
 * @charged_us: entry-microseconds charged: the sum of the next four
 * @bound_us:	entry-microseconds bound, mostly to I/Os
 * @converting_us: entry-microseconds on the way from this member to others: of victims, and
 *		of lent MRs that were recalled
 * @idle_us:	entry-microseconds idle or lent while no member of the domain stood in line
 * @idle_waited_us: entry-microseconds idle or lent while a member stood in line
 * @waiting_us: entry-microseconds that claims waited for
 * @wait_ns:	total time of all waits that ended with a grant
 * @wait_max_ns: the longest of these waits
 * @wait_hist:	the number of these waits by length
 * @charged_peak: the largest @charged seen
 *
 * rpol_member_get_stats() fills it in for its caller.  The policy's own is rpol_member.stats, under
 * the member's lock.
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
 * @capacity:	entries that the RNIC has
 * @charged:	entries charged to all members
 * @reserved_min: sum of the members' minima
 * @revoking:	entries of victims and of lent MRs that were recalled, still charged
 * @members:	number of members
 * @waiters:	claims of all members that wait now
 * @waits:	claims that had to wait, ever; this and all fields below only grow
 * @rebalances:	number of times that entitlements were computed
 * @capacity_us: entry-microseconds of the capacity
 * @charged_us: entry-microseconds charged to all members, past members included; the sum
 *		of the next four, which are as in &struct rpol_member_stats
 * @bound_us:	entry-microseconds bound
 * @converting_us: entry-microseconds in conversion
 * @idle_us:	entry-microseconds idle while no member stood in line
 * @idle_waited_us: entry-microseconds idle while a member stood in line: the waste of the
 *		policy
 *
 * rpol_domain_get_stats() fills it in for its caller.  The policy's own is rpol_domain.stats, under
 * the domain's lock.
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
void rpol_member_set_label(struct rpol_member *mem, u32 label);
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

void rpol_uncharge(struct rpol_member *mem, u32 entries);
bool rpol_pressed(struct rpol_member *mem);
bool rpol_capped(struct rpol_member *mem, u32 entries);
u64 rpol_excess(struct rpol_member *mem);

int rpol_quota_parse(const char *text, struct rpol_quota *quota);
int rpol_tunables_parse(const char *text, struct rpol_tunables *tun);
const char *rpol_discipline_name(u32 discipline);
const char *rpol_replacement_name(u32 replacement);

#endif
