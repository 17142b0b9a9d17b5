// SPDX-License-Identifier: GPL-2.0
/*
 * The arithmetic of the admission rule that admit.h explains.
 */
#include <linux/minmax.h>
#include <linux/types.h>
#include "regpolicy/admit.h"

/**
 * rpol_account_held - compute the entries that others can't have because of a member
 * @acct: the member's account
 *
 * Context: any; the caller keeps @acct from changing.
 * Return: the entries charged to it, or its minimum if that is more.
 */
u64 rpol_account_held(const struct rpol_account *acct)
{
	return max(acct->charged, acct->min);
}

/**
 * rpol_admit_need - compute what a charge needs from the common part
 * @acct: the member's account
 * @entries: entries to be charged
 *
 * Context: any; the caller keeps @acct from changing.
 * Return: the least value of common at which @entries may be charged.  If it is
 * positive, the charge takes as many entries from common, else none.
 */
s64 rpol_admit_need(const struct rpol_account *acct, u32 entries)
{
	return (s64)entries - (s64)(rpol_account_held(acct) - acct->charged);
}

/**
 * rpol_admit_own - test whether the member's own maximum allows a charge
 * @acct: the member's account; may be above its maximum if that was lowered
 * @entries: entries to be charged
 *
 * Context: any; the caller keeps @acct from changing.
 * Return: true if so.
 */
bool rpol_admit_own(const struct rpol_account *acct, u32 entries)
{
	return acct->charged <= acct->max && entries <= acct->max - acct->charged;
}

/**
 * rpol_admit_ever - test whether a charge could ever be admitted
 * @acct: the member's account
 * @capacity: capacity of the domain
 * @sum_min: sum of all members' minima, at most @capacity
 * @entries: entries to be charged
 *
 * Context: any; the caller keeps @acct from changing.
 * Return: false if with these quotas and this capacity it is of no use to wait.
 */
bool rpol_admit_ever(const struct rpol_account *acct, u64 capacity, u64 sum_min, u32 entries)
{
	return entries <= acct->max && entries <= capacity - (sum_min - acct->min);
}
