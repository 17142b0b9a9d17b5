// SPDX-License-Identifier: GPL-2.0
/*
 * Water filling.
 *
 * There is one level, entries per unit of weight, that all are filled to; who
 * demands less than the level gives stays at its demand, and who has a larger
 * minimum at that.  What all get together grows with the level, in straight
 * pieces, so the level at which it meets the capacity is found by Newton's
 * method: a step goes where the piece that one stands on would meet it.  Every
 * third step is a bisection, which bounds the passes by three times the bits of
 * a level (153), whatever the claims; in practice they are about ten.
 */
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include "regpolicy/entitle.h"

/*
 * Fraction of the level: what a weight of 10,000 gets is still exact to about
 * ten units.  RPOL_CLAIM_MAX and a weight of 2^14 fit on top of it.
 */
#define LEVEL_BITS	10

static u64 claim_share(const struct rpol_claim *c, u64 level)
{
	return clamp((level * c->weight) >> LEVEL_BITS, c->floor, c->ceil);
}

/* What all get at @level, and in @slope how fast that grows with it there. */
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

/* The highest level, below @high, at which all together get no more than @capacity. */
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
 * rpol_entitle - split a capacity
 * @claims:   struct rpol_claim, no amount above RPOL_CLAIM_MAX
 * @capacity: at most RPOL_CLAIM_MAX, at least the sum of the floors
 *
 * If all demands fit, each gets its own.  Else each gets its weight times the
 * level, but not less than its floor nor more than its demand; of what
 * rounding leaves, up to the last entry is given out in the list's order.
 *
 * O(n) for each pass, see above.
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
	/* At this level everybody has what it demands. */
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
	/* One more step of the level is more than is left: give of it while it lasts. */
	list_for_each_entry(c, claims, link) {
		if (all >= capacity)
			break;
		more = min(claim_share(c, level + 1) - c->share, capacity - all);
		c->share += more;
		all += more;
	}
}
