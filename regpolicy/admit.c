// SPDX-License-Identifier: GPL-2.0
/*
 * The admission rule of admit.h, as arithmetic.
 */
#include <linux/minmax.h>
#include <linux/types.h>
#include "regpolicy/admit.h"

/**
 * rpol_account_held - what a member keeps from the others
 * @acct: the member's account
 *
 * Return: what it is charged, or its minimum where that is more.
 */
u64 rpol_account_held(const struct rpol_account *acct)
{
	return max(acct->charged, acct->min);
}

/**
 * rpol_admit_need - what a charge asks of the common part
 * @acct: the member's account
 * @entries: to be charged
 *
 * Return: the least value of common at which @entries may be charged.  If
 * positive it is also what the charge takes from common; otherwise the charge
 * takes nothing.
 */
s64 rpol_admit_need(const struct rpol_account *acct, u32 entries)
{
	return (s64)entries - (s64)(rpol_account_held(acct) - acct->charged);
}

/**
 * rpol_admit_own - whether the member's own maximum allows a charge
 * @acct: the member's account; may be above its maximum, which can be lowered
 * @entries: to be charged
 *
 * Return: true if so.
 */
bool rpol_admit_own(const struct rpol_account *acct, u32 entries)
{
	return acct->charged <= acct->max && entries <= acct->max - acct->charged;
}

/**
 * rpol_admit_ever - whether a charge could fit at all
 * @acct: the member's account
 * @capacity: of the domain
 * @sum_min: all members' minima, at most @capacity
 * @entries: to be charged
 *
 * Return: false if waiting is of no use, with these quotas and this capacity.
 */
bool rpol_admit_ever(const struct rpol_account *acct, u64 capacity, u64 sum_min, u32 entries)
{
	return entries <= acct->max && entries <= capacity - (sum_min - acct->min);
}
