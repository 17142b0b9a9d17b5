// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_regpolicy_entitle: the arithmetic of entitlements, demands and windows.  The
 * entitlements are compared with those of a simple algorithm that gives out one unit at a time.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include "regpolicy/entitle.h"
#include "regpolicy/regpolicy.h"
#include "regpolicy/window.h"

#define RANDOM_ROUNDS	400
#define RANDOM_CLAIMS	12
#define MANY		10000

static struct rpol_claim *claims(struct kunit *test, struct list_head *list, u32 n)
{
	struct rpol_claim *c = kunit_kcalloc(test, n, sizeof(*c), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, c);
	INIT_LIST_HEAD(list);
	for (i = 0; i < n; i++) {
		c[i].weight = 1;
		list_add_tail(&c[i].link, list);
	}
	return c;
}

/* The simple algorithm: each unit goes to the claim that has least in relation to its weight. */
static void fill_slowly(struct rpol_claim *c, u32 n, u64 capacity)
{
	struct rpol_claim *least;
	u32 i;

	for (i = 0; i < n; i++) {
		c[i].share = c[i].floor;
		capacity -= c[i].floor;
	}
	while (capacity--) {
		least = NULL;
		for (i = 0; i < n; i++) {
			if (c[i].share >= c[i].ceil)
				continue;
			if (!least || (c[i].share + 1) * least->weight <
				      (least->share + 1) * c[i].weight)
				least = &c[i];
		}
		if (!least)
			return;
		least->share++;
	}
}

/* Some splits that were computed by hand. */
static void entitle_known(struct kunit *test)
{
	struct list_head list;
	struct rpol_claim *c = claims(test, &list, 4);

	/* All fits: each claim gets its demand, or its floor if that is larger. */
	c[0].ceil = 10;
	c[1].ceil = 20;
	c[2].floor = 5;
	rpol_entitle(&list, 100);
	KUNIT_EXPECT_EQ(test, c[0].share, 10);
	KUNIT_EXPECT_EQ(test, c[1].share, 20);
	KUNIT_EXPECT_EQ(test, c[2].share, 5);
	KUNIT_EXPECT_EQ(test, c[3].share, 0);

	/* A small demand is met in full; the rest is split between the others by weight. */
	c[0].ceil = 10;
	c[1].ceil = 1000;
	c[1].weight = 300;
	c[2].floor = 0;
	c[2].ceil = 1000;
	c[2].weight = 100;
	c[0].weight = 100;
	rpol_entitle(&list, 410);
	KUNIT_EXPECT_EQ(test, c[0].share, 10);
	KUNIT_EXPECT_EQ(test, c[1].share, 300);
	KUNIT_EXPECT_EQ(test, c[2].share, 100);

	/* A floor above the claim's part is met first, and only the rest is split. */
	c[0].ceil = 1000;
	c[1].weight = 100;
	c[2].floor = 200;
	rpol_entitle(&list, 300);
	KUNIT_EXPECT_EQ(test, c[0].share, 50);
	KUNIT_EXPECT_EQ(test, c[1].share, 50);
	KUNIT_EXPECT_EQ(test, c[2].share, 200);
}

/* Splits a random capacity over random claims by both algorithms, and compares the results. */
static void entitle_one(struct kunit *test, struct rnd_state *rnd)
{
	u32 n = 1 + prandom_u32_state(rnd) % RANDOM_CLAIMS, i;
	u64 capacity = prandom_u32_state(rnd) % 3000, left = capacity, want = 0, sum = 0;
	struct rpol_claim slow[RANDOM_CLAIMS];
	struct list_head list;
	struct rpol_claim *c = claims(test, &list, n);

	for (i = 0; i < n; i++) {
		c[i].weight = prandom_u32_state(rnd) % 3 ? 1 + prandom_u32_state(rnd) % 300 : 100;
		c[i].ceil = prandom_u32_state(rnd) % 1000;
		if (prandom_u32_state(rnd) % 3 == 0 && left) {
			c[i].floor = prandom_u32_state(rnd) % left % 500;
			left -= c[i].floor;
		}
		slow[i] = c[i];
		want += max(c[i].floor, c[i].ceil);
	}
	fill_slowly(slow, n, capacity);
	rpol_entitle(&list, capacity);
	for (i = 0; i < n; i++) {
		sum += c[i].share;
		KUNIT_ASSERT_GE(test, c[i].share, slow[i].floor);
		KUNIT_ASSERT_LE(test, c[i].share, max(slow[i].floor, slow[i].ceil));
		/* The last units may go elsewhere: one for each claim, and one by rounding. */
		KUNIT_ASSERT_LE_MSG(test, abs_diff(c[i].share, slow[i].share), 2,
				    "claim %u of %u, capacity %llu", i, n, capacity);
	}
	KUNIT_ASSERT_EQ(test, sum, min(want, capacity));
	kunit_kfree(test, c);
}

static void entitle_like_one_at_a_time(struct kunit *test)
{
	struct rnd_state rnd;
	u32 i;

	prandom_seed_state(&rnd, 2005);
	for (i = 0; i < RANDOM_ROUNDS; i++)
		entitle_one(test, &rnd);
}

/* The largest numbers that are possible: no sum may overflow, and no unit be lost. */
static void entitle_extremes(struct kunit *test)
{
	const u64 capacity = (16ULL << 20) << RPOL_FRAC_BITS;
	struct list_head list;
	struct rpol_claim *c = claims(test, &list, MANY);
	u64 weights = 0, sum = 0, part;
	u32 i;

	for (i = 0; i < MANY; i++) {
		c[i].ceil = i % 2 ? RPOL_CLAIM_MAX : capacity;
		c[i].weight = 1 + i % RPOL_WEIGHT_MAX;
		weights += c[i].weight;
	}
	rpol_entitle(&list, capacity);
	for (i = 0; i < MANY; i++) {
		part = div64_u64(capacity * c[i].weight, weights);
		/* The level is rounded: allow a small part of the weight, and one unit. */
		KUNIT_ASSERT_LE(test, abs_diff(c[i].share, part),
				c[i].weight / 1024 + 1 + c[i].weight / 64);
		sum += c[i].share;
	}
	KUNIT_EXPECT_EQ(test, sum, capacity);

	for (i = 0; i < MANY; i++)
		c[i].ceil = i ? 1 : RPOL_CLAIM_MAX;
	c[0].weight = 1;
	rpol_entitle(&list, RPOL_CLAIM_MAX);
	KUNIT_EXPECT_EQ(test, c[0].share, RPOL_CLAIM_MAX - (MANY - 1));
}

/*
 * A member uses one MR again and again, with pauses.  Its demand must be remembered in the pauses,
 * and be forgotten when it has stopped for good.
 */
static void entitle_demand_decays(struct kunit *test)
{
	struct rpol_peak p = { .since = 1000 };
	u64 now = 1000;
	u32 i;

	for (i = 0; i < 100; i++) {
		rpol_peak_note(&p, now, 0, 257);
		now += RPOL_DEMAND_NS / 50;
		rpol_peak_note(&p, now, 257, 0);
		now += RPOL_DEMAND_NS / 50;
		KUNIT_ASSERT_EQ(test, rpol_peak_read(&p, now, 0), 257);
	}
	now += RPOL_DEMAND_NS - RPOL_DEMAND_NS / 10;
	KUNIT_EXPECT_EQ(test, rpol_peak_read(&p, now, 0), 257);
	now += 2 * RPOL_DEMAND_NS;
	KUNIT_EXPECT_EQ(test, rpol_peak_read(&p, now, 0), 0);
}

/* The demand is read an hour after the last event; it must be right even then. */
static void entitle_demand_looked_at_late(struct kunit *test)
{
	struct rpol_peak p = { };

	/* An MR in use for an hour, without any event, is still a demand. */
	rpol_peak_note(&p, 0, 0, 33);
	KUNIT_EXPECT_EQ(test, rpol_peak_read(&p, 3600ULL * NSEC_PER_SEC, 33), 33);
	/* After an idle hour there is none, even if no event came meanwhile. */
	rpol_peak_note(&p, 3600ULL * NSEC_PER_SEC, 33, 0);
	KUNIT_EXPECT_EQ(test, rpol_peak_read(&p, 7200ULL * NSEC_PER_SEC, 0), 0);
}

/* A time that was read before the half-window began neither ends it nor forgets a demand. */
static void entitle_demand_noted_late(struct kunit *test)
{
	struct rpol_peak p = { .since = 1000 };

	rpol_peak_note(&p, 1000, 0, 257);
	rpol_peak_note(&p, 1000, 257, 0);
	rpol_peak_note(&p, 999, 0, 8);
	KUNIT_EXPECT_EQ(test, p.since, 1000);
	KUNIT_EXPECT_EQ(test, rpol_peak_read(&p, 0, 8), 257);
	/* A new peak counts even with a time that was read too early. */
	rpol_peak_note(&p, 999, 8, 300);
	KUNIT_EXPECT_EQ(test, rpol_peak_read(&p, 1000, 0), 300);
}

/* A window must grow by one step after each interval, up to no window at all. */
static void entitle_window_grows(struct kunit *test)
{
	u64 t, w, last = 0;

	KUNIT_EXPECT_EQ(test, rpol_window_grown(500, 80000, 0), 500);
	KUNIT_EXPECT_EQ(test, rpol_window_grown(500, 80000, RPOL_REGROW_NS - 1), 500);
	KUNIT_EXPECT_EQ(test, rpol_window_grown(500, 80000, RPOL_REGROW_NS), 10500);
	/* A step is at least the MR of an RPC of the usual size. */
	KUNIT_EXPECT_EQ(test, rpol_window_grown(500, 1000, RPOL_REGROW_NS),
			500 + RPOL_CLASS_USUAL);
	for (t = 0; t <= RPOL_REGROW_NS * RPOL_REGROW_PARTS; t += RPOL_REGROW_NS / 3) {
		w = rpol_window_grown(0, 80000, t);
		KUNIT_EXPECT_GE(test, w, last);
		last = w;
	}
	KUNIT_EXPECT_EQ(test, rpol_window_grown(0, 80000, RPOL_REGROW_NS * RPOL_REGROW_PARTS),
			RPOL_NO_WINDOW);
	/* With a capacity that is no multiple of the parts, no further step must be needed. */
	KUNIT_EXPECT_EQ(test, rpol_window_grown(0, 80001, RPOL_REGROW_NS * RPOL_REGROW_PARTS),
			RPOL_NO_WINDOW);
	KUNIT_EXPECT_EQ(test, rpol_window_grown(0, RPOL_CAPACITY_MIN, U64_MAX), RPOL_NO_WINDOW);
	KUNIT_EXPECT_EQ(test, rpol_window_grown(0, RPOL_CLASS_MAX, U64_MAX), RPOL_NO_WINDOW);
	KUNIT_EXPECT_EQ(test, rpol_window_grown(0, 1ULL << 32, U64_MAX), RPOL_NO_WINDOW);
}

static struct kunit_case entitle_cases[] = {
	KUNIT_CASE(entitle_known),
	KUNIT_CASE(entitle_like_one_at_a_time),
	KUNIT_CASE(entitle_extremes),
	KUNIT_CASE(entitle_demand_decays),
	KUNIT_CASE(entitle_demand_looked_at_late),
	KUNIT_CASE(entitle_demand_noted_late),
	KUNIT_CASE(entitle_window_grows),
	{}
};

static struct kunit_suite entitle_suite = {
	.name = "rdmafs_regpolicy_entitle",
	.test_cases = entitle_cases,
};

kunit_test_suite(entitle_suite);
