// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_cost: the estimated cost of a message, from the time that small calls take
 * (cost.c).
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include "transport/client/cost.h"

/* The first call gives the estimate: half of its time, without the server's part. */
static void cost_first(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rxc_message_cost(0, 40000, 0), 20000);
	KUNIT_EXPECT_EQ(test, rxc_message_cost(0, 140000, 100), 20000);
}

/* Whatever times a server reports, the estimate must be more than 0 and within bounds. */
static void cost_bounds(struct kunit *test)
{
	static const u64 call_ns[] = { 0, 1, 999, 40000, U32_MAX, U64_MAX };
	static const u32 old[] = { 0, 1, 500, 20000, U32_MAX };
	static const u32 service_us[] = { 0, 1, 40, U32_MAX };
	u32 i, j, k, cost;

	for (i = 0; i < ARRAY_SIZE(call_ns); i++) {
		for (j = 0; j < ARRAY_SIZE(service_us); j++) {
			cost = rxc_message_cost(0, call_ns[i], service_us[j]);
			KUNIT_EXPECT_GE(test, cost, 500);
			KUNIT_EXPECT_LE(test, cost, 10000000);
			for (k = 0; k < ARRAY_SIZE(old); k++)
				KUNIT_EXPECT_GT(test, rxc_message_cost(old[k], call_ns[i],
								       service_us[j]), 0);
		}
	}
}

/* Nine of ten calls meet other traffic: the estimate must come from the tenth. */
static void cost_minimum(struct kunit *test)
{
	u32 cost = 0, i;

	for (i = 0; i < 200; i++)
		cost = rxc_message_cost(cost, i % 10 == 9 ? 6000 : 60000 + 7000 * (i % 5), 0);
	KUNIT_EXPECT_GE(test, cost, 3000);
	KUNIT_EXPECT_LE(test, cost, 4000);
}

/*
 * The estimate must follow a path that has become longer, slowly, and one that is shorter at
 * once.
 */
static void cost_follows(struct kunit *test)
{
	u32 cost = 3000, i;

	for (i = 0; i < 300; i++)
		cost = rxc_message_cost(cost, 120000, 20);
	KUNIT_EXPECT_EQ(test, cost, 50000);
	for (i = 0; i < 8; i++)
		cost = rxc_message_cost(cost, 10000, 0);
	KUNIT_EXPECT_LE(test, cost, 5400);
	KUNIT_EXPECT_GE(test, cost, 5000);
}

static struct kunit_case cost_cases[] = {
	KUNIT_CASE(cost_first),
	KUNIT_CASE(cost_bounds),
	KUNIT_CASE(cost_minimum),
	KUNIT_CASE(cost_follows),
	{}
};

static struct kunit_suite cost_suite = {
	.name = "rdmafs_xprt_cost",
	.test_cases = cost_cases,
};

kunit_test_suite(cost_suite);
