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
 * Entitlements are computed in 1/256 of an entry, for members whose part is
 * less than one entry, and which get it by taking turns.
 */
#define RPOL_FRAC_BITS		8

/* Bounds within which no product overflows: 2^32 entries, and 2^14 > RPOL_WEIGHT_MAX. */
#define RPOL_CLAIM_MAX		(1ULL << (32 + RPOL_FRAC_BITS))

/**
 * struct rpol_claim - what one member brings to the split, and takes from it
 * @link:   on the list given to rpol_entitle()
 * @floor:  its min, which it gets whatever it demands
 * @ceil:   what it demands, bounded by its max; if below @floor, @floor counts
 * @weight: 1..RPOL_WEIGHT_MAX
 * @share:  the result
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
