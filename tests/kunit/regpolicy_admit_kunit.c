// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_regpolicy_admit: the arithmetic of the admission rule, compared with the sentence
 * that it implements: a member may have the part of the capacity that is left after all charges,
 * and after the entries that the other members lack to their minima.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include "regpolicy/admit.h"
#include "regpolicy/regpolicy.h"

/* A member holds the larger of its charge and its minimum. */
static void admit_held(struct kunit *test)
{
	struct rpol_account acct = { .charged = 5, .min = 8, .max = RPOL_NO_MAX };

	KUNIT_EXPECT_EQ(test, rpol_account_held(&acct), 8);
	acct.charged = 8;
	KUNIT_EXPECT_EQ(test, rpol_account_held(&acct), 8);
	acct.charged = 9;
	KUNIT_EXPECT_EQ(test, rpol_account_held(&acct), 9);
	acct.min = 0;
	KUNIT_EXPECT_EQ(test, rpol_account_held(&acct), 9);
}

/* A charge must not exceed the member's own maximum, nor must the sum overflow. */
static void admit_own(struct kunit *test)
{
	struct rpol_account acct = { .charged = 90, .max = 100 };

	KUNIT_EXPECT_TRUE(test, rpol_admit_own(&acct, 10));
	KUNIT_EXPECT_FALSE(test, rpol_admit_own(&acct, 11));
	KUNIT_EXPECT_FALSE(test, rpol_admit_own(&acct, U32_MAX));
	acct.charged = 101;
	KUNIT_EXPECT_FALSE(test, rpol_admit_own(&acct, 1));
	acct.max = RPOL_NO_MAX;
	KUNIT_EXPECT_TRUE(test, rpol_admit_own(&acct, U32_MAX));
}

/* Could a request ever be admitted, under the maximum, the capacity and the others' minima? */
static void admit_ever(struct kunit *test)
{
	struct rpol_account acct = { .charged = 1000, .min = 100, .max = 500 };

	/* Entries that are charged now may be released, so they do not count. */
	KUNIT_EXPECT_TRUE(test, rpol_admit_ever(&acct, 1000, 100, 500));
	KUNIT_EXPECT_FALSE(test, rpol_admit_ever(&acct, 1000, 100, 501));
	/* 600 are kept for others. */
	KUNIT_EXPECT_TRUE(test, rpol_admit_ever(&acct, 1000, 700, 400));
	KUNIT_EXPECT_FALSE(test, rpol_admit_ever(&acct, 1000, 700, 401));
	acct.min = 0;
	KUNIT_EXPECT_FALSE(test, rpol_admit_ever(&acct, 1000, 1000, 1));
	acct.max = RPOL_NO_MAX;
	KUNIT_EXPECT_TRUE(test, rpol_admit_ever(&acct, RPOL_CAPACITY_MAX, 0, U32_MAX));
}

/* Compares the rule with the sentence, for members a and b in a domain of 6 entries. */
static void admit_need_of(struct kunit *test, const struct rpol_account *a,
			  const struct rpol_account *b)
{
	const s64 capacity = 6;
	s64 common = capacity - (s64)rpol_account_held(a) - (s64)rpol_account_held(b);
	s64 free = capacity - (s64)(a->charged + b->charged);
	u32 n;

	if (b->min > b->charged)
		free -= b->min - b->charged;
	for (n = 1; n <= 9; n++)
		KUNIT_ASSERT_EQ_MSG(test, rpol_admit_need(a, n) <= common, (s64)n <= free,
				    "a %llu/%llu b %llu/%llu n %u", a->charged, a->min,
				    b->charged, b->min, n);
}

/*
 * Two members in all combinations of charge (0..8) and minimum (0..6) with minima that fit, also
 * where more is charged than there is: the rule and the sentence must give the same verdict.
 */
static void admit_need(struct kunit *test)
{
	struct rpol_account a = { .max = RPOL_NO_MAX }, b = { .max = RPOL_NO_MAX };
	int i;

	for (i = 0; i < 9 * 9 * 7 * 7; i++) {
		a.charged = i % 9;
		b.charged = i / 9 % 9;
		a.min = i / 81 % 7;
		b.min = i / 567;
		if (a.min + b.min <= 6)
			admit_need_of(test, &a, &b);
	}
}

/* The entries that a charge needs from the common part must be those that its member holds more. */
static void admit_need_is_what_is_taken(struct kunit *test)
{
	struct rpol_account before, after;
	s64 need;
	u32 n;

	for (before.charged = 0; before.charged < 40; before.charged++) {
		for (before.min = 0; before.min < 40; before.min++) {
			for (n = 1; n < 40; n++) {
				after = before;
				after.charged += n;
				need = rpol_admit_need(&before, n);
				KUNIT_ASSERT_EQ(test, max(need, 0LL),
						(s64)(rpol_account_held(&after) -
						      rpol_account_held(&before)));
			}
		}
	}
}

/* The largest values that are allowed: the arithmetic must not overflow. */
static void admit_extremes(struct kunit *test)
{
	struct rpol_account acct = { .charged = 0, .min = RPOL_CAPACITY_MAX, .max = RPOL_NO_MAX };

	KUNIT_EXPECT_EQ(test, rpol_admit_need(&acct, 1), 1 - (s64)RPOL_CAPACITY_MAX);
	acct.charged = RPOL_CAPACITY_MAX;
	KUNIT_EXPECT_EQ(test, rpol_admit_need(&acct, U32_MAX), (s64)U32_MAX);
	acct.min = 0;
	KUNIT_EXPECT_EQ(test, rpol_admit_need(&acct, U32_MAX), (s64)U32_MAX);
}

static struct kunit_case admit_cases[] = {
	KUNIT_CASE(admit_held),
	KUNIT_CASE(admit_own),
	KUNIT_CASE(admit_ever),
	KUNIT_CASE(admit_need),
	KUNIT_CASE(admit_need_is_what_is_taken),
	KUNIT_CASE(admit_extremes),
	{}
};

static struct kunit_suite admit_suite = {
	.name = "rdmafs_regpolicy_admit",
	.test_cases = admit_cases,
};

kunit_test_suite(admit_suite);
