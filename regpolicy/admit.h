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
 * charge within a member's own minimum leaves the common part as it is.  A charge
 * beyond the minimum takes the excess from it, and a release gives the excess back.
 * So a reservation needs the member's own state and one subtraction, and the
 * capacity is never exceeded, however many reservations run at once.
 *
 * Common is negative after the capacity was lowered below what is charged and kept, or
 * a minimum was raised above what is free: this is a debt.  Then even a charge within
 * the member's minimum is admitted only if the rest of that minimum covers the debt.
 * Otherwise more would be charged than the RNIC has.
 *
 * Pure: no locks, no clock.
 */
#ifndef RDMAFS_REGPOLICY_ADMIT_H
#define RDMAFS_REGPOLICY_ADMIT_H

#include <linux/bits.h>
#include <linux/types.h>

/*
 * The largest capacity: 16 TiB under registration at once.  With it neither sums nor
 * the products of entitle.c can wrap.
 */
#define RPOL_CAPACITY_MAX	BIT_ULL(32)

/**
 * struct rpol_account - the part of a member that the admission rule needs
 * @charged: entries charged to the member
 * @min:     entries kept for the member
 * @max:     entries that the member never exceeds
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
