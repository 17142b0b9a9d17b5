// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_qp: the sizes of send queues (qp_plan.c).  Which one is asked for first,
 * and which ones if the device has no room for that?
 */
#include <kunit/test.h>
#include "transport/qp_plan.h"

#define QP_ENTRIES	1025U
#define WR_MAX	32768U

static u32 qp_chain(u32 entries, u32 sges)
{
	return (entries + sges - 1) / sges + 2;
}

/* The first plan: all entries that the device takes, and work requests for all slots. */
static void qp_best(struct kunit *test)
{
	struct rxp_qp_plan plan = rxp_qp_plan(0, 64, QP_ENTRIES, 16, WR_MAX);

	KUNIT_EXPECT_EQ(test, plan.sges, 16);
	KUNIT_EXPECT_EQ(test, plan.sends, 256);
	plan = rxp_qp_plan(0, 1024, QP_ENTRIES, 16, WR_MAX);
	KUNIT_EXPECT_EQ(test, plan.sends, 4096);
	/* One work request is for the drain. */
	plan = rxp_qp_plan(0, 1024, QP_ENTRIES, 16, 1024);
	KUNIT_EXPECT_EQ(test, plan.sends, 1023);
	plan = rxp_qp_plan(0, 4, 8, 16, WR_MAX);
	KUNIT_EXPECT_EQ(test, plan.sends, 128);
}

/* On mlx5, 16 entries take eight blocks of 64 bytes, and a queue has 32,768 blocks. */
static void qp_mlx5(struct kunit *test)
{
	struct rxp_qp_plan plan = rxp_qp_plan(1, 1024, QP_ENTRIES, 16, WR_MAX);

	KUNIT_EXPECT_EQ(test, plan.sges, 8);
	KUNIT_EXPECT_EQ(test, plan.sends, 4096);
	KUNIT_EXPECT_FALSE(test, plan.last);
}

/*
 * Each plan must be smaller than the one before and hold the longest chain, and the plans must
 * end.
 */
static void qp_smaller(struct kunit *test)
{
	static const u32 sges[] = { 4, 5, 6, 8, 13, 16 };
	static const u32 wr_max[] = { 256, 300, 1024, 4096, WR_MAX };
	static const u32 carried[] = { 1, 16, 64, 1024 };
	struct rxp_qp_plan plan, next;
	u32 i, j, k, step, entries, chain;

	for (i = 0; i < ARRAY_SIZE(sges) * ARRAY_SIZE(wr_max) * ARRAY_SIZE(carried); i++) {
		j = i / ARRAY_SIZE(sges) % ARRAY_SIZE(wr_max);
		k = i / ARRAY_SIZE(sges) / ARRAY_SIZE(wr_max);
		/* The most that an MR of the device may hold. */
		entries = min(QP_ENTRIES, sges[i % ARRAY_SIZE(sges)] * (wr_max[j] / 4));
		plan = rxp_qp_plan(0, carried[k], entries, sges[i % ARRAY_SIZE(sges)], wr_max[j]);
		for (step = 1; !plan.last && step < 32; step++) {
			next = rxp_qp_plan(step, carried[k], entries,
					   sges[i % ARRAY_SIZE(sges)], wr_max[j]);
			KUNIT_ASSERT_GE(test, next.sges, RXP_SGE_MIN);
			KUNIT_ASSERT_LE(test, next.sges, plan.sges);
			chain = qp_chain(entries, next.sges);
			/* A quarter may be quiet chains, whose room comes back only with others. */
			KUNIT_ASSERT_GE(test, next.sends - next.sends / 4, chain);
			KUNIT_ASSERT_LT(test, next.sends, wr_max[j]);
			KUNIT_ASSERT_TRUE(test, next.sges < plan.sges || next.sends < plan.sends);
			plan = next;
		}
		KUNIT_ASSERT_TRUE(test, plan.last);
	}
}

static struct kunit_case qp_cases[] = {
	KUNIT_CASE(qp_best),
	KUNIT_CASE(qp_mlx5),
	KUNIT_CASE(qp_smaller),
	{}
};

static struct kunit_suite qp_suite = {
	.name = "rdmafs_xprt_qp",
	.test_cases = qp_cases,
};

kunit_test_suite(qp_suite);
