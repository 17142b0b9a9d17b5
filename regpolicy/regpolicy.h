/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The registration policy: who may hold how many of an RNIC's translations.
 *
 * A *domain* stands for one RNIC and has a capacity in *entries*, one entry
 * being the translation of one page.  A *member* is one consumer on it: a
 * client's mount or a server's session.  An MR of a class with N entries is
 * charged N to its member for as long as it exists, bound or idle (design,
 * section 5; Magoutis, section 2: the share of the TLB is what is rationed,
 * not what happens to be used of it).
 *
 * This room knows counts, sizes and times.  It knows no verbs and no files,
 * and calls up only through &struct rpol_member_ops.
 *
 * Locking: every function serialises itself.  Nothing here is called from
 * hard interrupt context.  Callbacks run with no lock of this room held.
 */
#ifndef RDMAFS_REGPOLICY_H
#define RDMAFS_REGPOLICY_H

#include <linux/types.h>

struct rpol_domain;
struct rpol_member;

/*
 * MR classes, in entries.  An unaligned transfer of N pages touches N + 1:
 * hence 33, 129 and 257 for 128 KiB, 512 KiB and 1 MiB, 513 and 1025 for 2 and
 * 4 MiB.  Eight serve what is just too large to be sent inline.
 */
#define RPOL_NR_CLASSES		6
#define RPOL_CLASS_MAX		1025

/* A domain smaller than this could not serve an RPC of the usual size, 1 MiB. */
#define RPOL_CAPACITY_MIN	257

/* Quota value that means "no bound of its own". */
#define RPOL_NO_MAX		U64_MAX

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
 * struct rpol_member_ops - what the policy asks of a member
 * @reclaim: entries are waited for: free idle MRs and rpol_release() them,
 *	     until @entries are released (the last MR may make it more) or
 *	     none is idle.  Called from process context, may be called
 *	     concurrently; the freeing itself may be left to a worker.  @ctx
 *	     is rpol_member_create()'s.  Never called after
 *	     rpol_member_destroy() has returned.
 */
struct rpol_member_ops {
	void (*reclaim)(void *ctx, u64 entries);
};

/**
 * struct rpol_member_stats - a member's account, all monotonic but the first four
 * @charged:	entries charged now
 * @in_use:	entries of MRs bound to an I/O now (see rpol_account_use())
 * @waiting:	entries asked for by waiting reservations now
 * @waiters:	reservations waiting now
 * @grants:	reservations granted
 * @waits:	reservations that had to wait
 * @refused:	reservations refused: nowait, killed or shut down
 * @reclaims:	times the policy asked for idle MRs
 * @wait_ns:	time all granted waits took together
 * @charged_peak: the largest @charged seen
 */
struct rpol_member_stats {
	u64 charged;
	u64 in_use;
	u64 waiting;
	u64 waiters;
	u64 grants;
	u64 waits;
	u64 refused;
	u64 reclaims;
	u64 wait_ns;
	u64 charged_peak;
};

/**
 * struct rpol_domain_stats - a domain's account
 * @capacity:	entries there are
 * @charged:	entries charged to all members
 * @reserved_min: sum of the members' minima
 * @members:	members there are
 * @waiters:	reservations waiting now, of all members
 * @waits:	reservations that ever had to wait
 */
struct rpol_domain_stats {
	u64 capacity;
	u64 charged;
	u64 reserved_min;
	u64 members;
	u64 waiters;
	u64 waits;
};

#define RPOL_NOWAIT	0x1	/* rpol_reserve(): -EAGAIN rather than wait */
#define RPOL_RECLAIM	0x2	/* with RPOL_NOWAIT: have idle MRs given back first */

int rpol_class_for(u32 entries, u32 device_max);
u32 rpol_class_entries(unsigned int class, u32 device_max);

struct rpol_domain *rpol_domain_create(u64 capacity);
void rpol_domain_destroy(struct rpol_domain *dom);
int rpol_domain_set_capacity(struct rpol_domain *dom, u64 capacity);
void rpol_domain_get_stats(struct rpol_domain *dom, struct rpol_domain_stats *st);

struct rpol_member *rpol_member_create(struct rpol_domain *dom,
				       const struct rpol_quota *quota,
				       const struct rpol_member_ops *ops, void *ctx);
void rpol_member_shutdown(struct rpol_member *mem);
void rpol_member_destroy(struct rpol_member *mem);
int rpol_member_set_quota(struct rpol_member *mem, const struct rpol_quota *quota);
void rpol_member_get_quota(struct rpol_member *mem, struct rpol_quota *quota);
void rpol_member_get_stats(struct rpol_member *mem, struct rpol_member_stats *st);

int rpol_reserve(struct rpol_member *mem, u32 entries, unsigned int flags);
void rpol_release(struct rpol_member *mem, u32 entries);
void rpol_account_use(struct rpol_member *mem, s64 entries);
bool rpol_pressed(struct rpol_member *mem);

int rpol_quota_parse(const char *text, struct rpol_quota *quota);

#endif
