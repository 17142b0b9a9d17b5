/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The admission rule: whether a member may be charged some entries now.
 *
 * Every member's minimum is set aside for it, used or not, so a domain's
 * entries fall into two parts:
 *
 *	held by or kept for member m	 max(charged(m), min(m))
 *	common				 capacity - sum of these over all m
 *
 * The common part is a single number, and it is all that members share.  A
 * charge within a member's own minimum leaves it as it is; one beyond takes
 * the excess from it, and a release gives that back.  So a reservation needs
 * the member's own state and one subtraction, and the capacity holds however
 * many run at once.
 *
 * Common is negative after the capacity was lowered below what is charged, or
 * a minimum raised above what is free.  Then even a charge within the
 * member's minimum has to leave the debt covered, or the RNIC would be asked
 * for more than its capacity.
 *
 * Pure: no locks, no clock.
 */
#ifndef RDMAFS_REGPOLICY_ADMIT_H
#define RDMAFS_REGPOLICY_ADMIT_H

#include <linux/bits.h>
#include <linux/types.h>

/*
 * 16 TiB under registration at once.  Sums stay far from wrapping, and so do
 * the products of entitle.c.
 */
#define RPOL_CAPACITY_MAX	BIT_ULL(32)

/**
 * struct rpol_account - what the rule looks at of a member
 * @charged: entries charged
 * @min:     kept for it
 * @max:     bound of its own
 */
struct rpol_account {
	u64 charged;
	u64 min;
	u64 max;
};

u64 rpol_account_held(const struct rpol_account *acct);
s64 rpol_admit_need(const struct rpol_account *acct, u32 entries);
bool rpol_admit_own(const struct rpol_account *acct, u32 entries);
bool rpol_admit_ever(const struct rpol_account *acct, u64 capacity, u64 sum_min, u32 entries);

#endif
