// SPDX-License-Identifier: GPL-2.0
/*
 * Entitlements by water filling.
 *
 * There is one level, in entries per unit of weight, to which all members are
 * filled.  A member that demands less than the level gives stays at its demand,
 * and a member with a larger minimum stays at its minimum.  The sum of all shares
 * is a function of the level that grows in straight pieces, so Newton's method
 * finds the level at which the sum meets the capacity: a step goes to the level at
 * which the present piece would meet it.  Every third step is a bisection.  This
 * bounds the number of passes by three times the bits of a level (153), whatever the
 * claims; in practice there are about ten.
 */
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include "regpolicy/entitle.h"

/*
 * Bits of fraction of the level.  With these the share of a weight of 10,000 is still
 * exact to about ten units.  A product of RPOL_CLAIM_MAX and a weight of 2^14 fits into
 * the other bits.
 */
#define LEVEL_BITS	10

static u64 claim_share(const struct rpol_claim *c, u64 level)
{
	return clamp((level * c->weight) >> LEVEL_BITS, c->floor, c->ceil);
}

/* The sum of all shares at @level; @slope gets how fast it grows with the level there. */
static u64 fill(const struct list_head *claims, u64 level, u64 *slope)
{
	const struct rpol_claim *c;
	u64 sum = 0, share;

	*slope = 0;
	list_for_each_entry(c, claims, link) {
		share = (level * c->weight) >> LEVEL_BITS;
		if (share >= c->floor && share < c->ceil)
			*slope += c->weight;
		sum += clamp(share, c->floor, c->ceil);
	}
	return sum;
}

/* The highest level below @high at which the sum of all shares is at most @capacity. */
static u64 find_level(const struct list_head *claims, u64 capacity, u64 high)
{
	u64 low = 0, level = 0, slope, sum, step;
	unsigned int pass = 0;

	while (high - low > 1) {
		sum = fill(claims, level, &slope);
		if (sum <= capacity) {
			low = level;
			step = slope ? div64_u64((capacity - sum) << LEVEL_BITS, slope) : high;
			level += clamp_t(u64, step, 1, high - low - 1);
		} else {
			high = level;
			step = slope ? div64_u64((sum - capacity) << LEVEL_BITS, slope) : high;
			level -= clamp_t(u64, step, 1, high - low - 1);
		}
		if (++pass % 3 == 0)
			level = low + (high - low) / 2;
	}
	return low;
}

/**
 * rpol_entitle - split a capacity over the demands of members
 * @claims:   list of struct rpol_claim, no amount above RPOL_CLAIM_MAX; gets the shares
 * @capacity: at most RPOL_CLAIM_MAX, at least the sum of the floors
 *
 * If all demands fit, each member gets its demand.  Else each gets its weight times
 * the level, but at least its floor and at most its demand.  The rest that rounding
 * leaves is given out in the list's order, to the last unit.
 *
 * A pass takes O(n); for the number of passes see above.
 *
 * Context: any; the caller keeps the list and its claims from changing.
 */
void rpol_entitle(struct list_head *claims, u64 capacity)
{
	struct rpol_claim *c;
	u64 sum = 0, above = 0, level, more, all;

	list_for_each_entry(c, claims, link) {
		c->ceil = clamp(c->ceil, c->floor, max(capacity, c->floor));
		sum += c->ceil;
		above = max(above, div_u64(c->ceil << LEVEL_BITS, c->weight) + 2);
	}
	/* At this level all members have what they demand. */
	level = above;
	if (sum > capacity)
		level = find_level(claims, capacity, above);

	all = 0;
	list_for_each_entry(c, claims, link) {
		c->share = claim_share(c, level);
		all += c->share;
	}
	if (sum <= capacity)
		return;
	/* A level higher by one would take more than is left: raise shares in turn while any is. */
	list_for_each_entry(c, claims, link) {
		if (all >= capacity)
			break;
		more = min(claim_share(c, level + 1) - c->share, capacity - all);
		c->share += more;
		all += more;
	}
}
