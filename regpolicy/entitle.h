/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Entitlements: the weighted max-min fair split of a capacity over demands.
 *
 * Pure: no locks, no clock, no allocation.
 */
#ifndef RDMAFS_REGPOLICY_ENTITLE_H
#define RDMAFS_REGPOLICY_ENTITLE_H

#include <linux/list.h>
#include <linux/types.h>

/*
 * Entitlements are computed in units of 1/256 of an entry, because the part of a
 * member may be less than one entry: such members take turns.
 */
#define RPOL_FRAC_BITS		8

/*
 * The largest amount of a claim, 2^32 entries: no product of it with a weight overflows, as
 * RPOL_WEIGHT_MAX < 2^14.
 */
#define RPOL_CLAIM_MAX		(1ULL << (32 + RPOL_FRAC_BITS))

/**
 * struct rpol_claim - one member in the split: what it asks for, and what it gets
 * @link:   on the list given to rpol_entitle()
 * @floor:  the member's min, which it gets whatever it demands
 * @ceil:   the member's demand, bounded by its max; if it is below @floor, @floor counts
 * @weight: 1..RPOL_WEIGHT_MAX
 * @share:  the result
 *
 * Amounts are in units of 1/256 of an entry.
 */
struct rpol_claim {
	struct list_head link;
	u64 floor;
	u64 ceil;
	u32 weight;
	u64 share;
};

void rpol_entitle(struct list_head *claims, u64 capacity);

#endif
