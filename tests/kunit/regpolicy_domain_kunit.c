// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_regpolicy_domain: which reservations are granted and refused while none waits, and
 * a long random walk that is compared with a model which has only sums.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/limits.h>
#include <linux/prandom.h>
#include "regpolicy/regpolicy.h"
#include "reserve.h"

static const struct rpol_quota no_bounds = { .min = 0, .max = RPOL_NO_MAX, .weight = 100 };

static void domain_cleanup(void *dom)
{
	rpol_domain_destroy(dom);
}

/*
 * KUnit runs the actions in the reverse of their order, so members are released and destroyed
 * before their domain.
 */
static void member_cleanup(void *mem)
{
	struct rpol_member_stats st;

	rpol_member_get_stats(mem, &st);
	rpol_uncharge(mem, st.charged);
	rpol_member_destroy(mem);
}

static struct rpol_domain *domain(struct kunit *test, u64 capacity)
{
	struct rpol_domain *dom = rpol_domain_create(capacity, NULL, NULL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dom);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, domain_cleanup, dom), 0);
	return dom;
}

static struct rpol_member *member(struct kunit *test, struct rpol_domain *dom, u64 min, u64 max)
{
	struct rpol_quota q = { .min = min, .max = max, .weight = RPOL_WEIGHT_DEFAULT };
	struct rpol_member *mem = rpol_member_create(dom, &q, NULL, NULL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mem);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, member_cleanup, mem), 0);
	return mem;
}

static int try_reserve(struct rpol_member *mem, u32 entries)
{
	return reserve_entries(mem, entries, RPOL_NOWAIT);
}

/* Capacities that are too small, too large, or below the sum of all minima must be refused. */
static void domain_capacity_bounds(struct kunit *test)
{
	struct rpol_domain *dom;

	KUNIT_EXPECT_EQ(test, PTR_ERR(rpol_domain_create(0, NULL, NULL)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(rpol_domain_create(RPOL_CAPACITY_MIN - 1, NULL, NULL)),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(rpol_domain_create(U64_MAX, NULL, NULL)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(rpol_domain_create(S64_MAX, NULL, NULL)), -EINVAL);

	dom = domain(test, RPOL_CAPACITY_MIN);
	KUNIT_EXPECT_EQ(test, rpol_domain_set_capacity(dom, RPOL_CAPACITY_MIN - 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, rpol_domain_set_capacity(dom, U64_MAX), -EINVAL);
	KUNIT_EXPECT_EQ(test, rpol_domain_set_capacity(dom, 1000), 0);
	member(test, dom, 600, RPOL_NO_MAX);
	member(test, dom, 200, RPOL_NO_MAX);
	KUNIT_EXPECT_EQ(test, rpol_domain_set_capacity(dom, 799), -EINVAL);
	KUNIT_EXPECT_EQ(test, rpol_domain_set_capacity(dom, 800), 0);
}

/*
 * Quotas with a bad weight, with a minimum above the maximum, or with minima that exceed the
 * capacity must be refused, for a new member and for an existing one.
 */
static void domain_member_bounds(struct kunit *test)
{
	struct rpol_domain *dom = domain(test, 1000);
	struct rpol_quota q = no_bounds;
	struct rpol_domain_stats st;
	struct rpol_member *a;

	q.weight = 0;
	KUNIT_EXPECT_EQ(test, PTR_ERR(rpol_member_create(dom, &q, NULL, NULL)), -EINVAL);
	q.weight = RPOL_WEIGHT_MAX + 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR(rpol_member_create(dom, &q, NULL, NULL)), -EINVAL);
	q.weight = 1;
	q.min = 11;
	q.max = 10;
	KUNIT_EXPECT_EQ(test, PTR_ERR(rpol_member_create(dom, &q, NULL, NULL)), -EINVAL);
	q.max = RPOL_NO_MAX;
	q.min = 1001;
	KUNIT_EXPECT_EQ(test, PTR_ERR(rpol_member_create(dom, &q, NULL, NULL)), -ENOSPC);
	q.min = U64_MAX;
	KUNIT_EXPECT_EQ(test, PTR_ERR(rpol_member_create(dom, &q, NULL, NULL)), -ENOSPC);

	a = member(test, dom, 400, RPOL_NO_MAX);
	q.min = 601;
	KUNIT_EXPECT_EQ(test, PTR_ERR(rpol_member_create(dom, &q, NULL, NULL)), -ENOSPC);
	member(test, dom, 600, RPOL_NO_MAX);

	/* A quota that is refused must change nothing. */
	q.min = 401;
	KUNIT_EXPECT_EQ(test, rpol_member_set_quota(a, &q), -EINVAL);
	q.min = 20;
	q.max = 10;
	KUNIT_EXPECT_EQ(test, rpol_member_set_quota(a, &q), -EINVAL);
	rpol_member_get_quota(a, &q);
	KUNIT_EXPECT_EQ(test, q.min, 400);
	KUNIT_EXPECT_EQ(test, q.max, RPOL_NO_MAX);
	KUNIT_EXPECT_EQ(test, q.weight, RPOL_WEIGHT_DEFAULT);

	rpol_domain_get_stats(dom, &st);
	KUNIT_EXPECT_EQ(test, st.capacity, 1000);
	KUNIT_EXPECT_EQ(test, st.reserved_min, 1000);
	KUNIT_EXPECT_EQ(test, st.members, 2);
	KUNIT_EXPECT_EQ(test, st.charged, 0);
}

/* One member takes and releases all entries: the limits and all counters must be exact. */
static void domain_charge_and_release(struct kunit *test)
{
	struct rpol_domain *dom = domain(test, 1000);
	struct rpol_member *a = member(test, dom, 0, RPOL_NO_MAX);
	struct rpol_member_stats st;
	struct rpol_domain_stats dst;

	KUNIT_EXPECT_EQ(test, reserve_entries(a, 0, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, reserve_entries(a, 1001, 0), -E2BIG);
	KUNIT_EXPECT_EQ(test, reserve_entries(a, U32_MAX, RPOL_NOWAIT), -E2BIG);
	KUNIT_EXPECT_EQ(test, reserve_entries(a, 600, 0), 0);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 401), -EAGAIN);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 400), 0);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 1), -EAGAIN);
	KUNIT_EXPECT_FALSE(test, rpol_pressed(a));

	rpol_member_get_stats(a, &st);
	KUNIT_EXPECT_EQ(test, st.charged, 1000);
	KUNIT_EXPECT_EQ(test, st.in_use, 1000);
	KUNIT_EXPECT_EQ(test, st.grants, 2);
	KUNIT_EXPECT_EQ(test, st.refused, 2);
	KUNIT_EXPECT_EQ(test, st.waits, 0);
	rpol_domain_get_stats(dom, &dst);
	KUNIT_EXPECT_EQ(test, dst.charged, 1000);

	rpol_uncharge(a, 400);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 400), 0);
	rpol_uncharge(a, 1000);
	rpol_member_get_stats(a, &st);
	KUNIT_EXPECT_EQ(test, st.charged, 0);
	KUNIT_EXPECT_EQ(test, st.in_use, 0);
	KUNIT_EXPECT_EQ(test, st.charged_peak, 1000);
}

/*
 * One of two members has a minimum.  The other one must get only the common part, even while the
 * minimum is not used, and the first may take common entries beyond its minimum.
 */
static void domain_keeps_minima(struct kunit *test)
{
	struct rpol_domain *dom = domain(test, 1000);
	struct rpol_member *a = member(test, dom, 600, RPOL_NO_MAX);
	struct rpol_member *b = member(test, dom, 0, RPOL_NO_MAX);

	KUNIT_EXPECT_EQ(test, reserve_entries(b, 401, 0), -E2BIG);
	KUNIT_EXPECT_EQ(test, try_reserve(b, 400), 0);
	KUNIT_EXPECT_EQ(test, try_reserve(b, 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 600), 0);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 1), -EAGAIN);
	rpol_uncharge(b, 100);
	/* Beyond its minimum a member takes common entries, and a release gives them back. */
	KUNIT_EXPECT_EQ(test, try_reserve(a, 100), 0);
	KUNIT_EXPECT_EQ(test, try_reserve(b, 1), -EAGAIN);
	rpol_uncharge(a, 700);
	KUNIT_EXPECT_EQ(test, try_reserve(b, 101), -EAGAIN);
	KUNIT_EXPECT_EQ(test, try_reserve(b, 100), 0);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 601), -EAGAIN);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 600), 0);
}

/* A member takes entries up to its maximum, which is then lowered: it must not get more. */
static void domain_honours_maxima(struct kunit *test)
{
	struct rpol_domain *dom = domain(test, 1000);
	struct rpol_member *a = member(test, dom, 50, 300);
	struct rpol_quota q = { .min = 50, .max = 200, .weight = 1 };

	KUNIT_EXPECT_EQ(test, reserve_entries(a, 301, 0), -E2BIG);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 257), 0);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 44), -EAGAIN);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 43), 0);
	/* The maximum is below the charge now: nothing is granted until enough is released. */
	KUNIT_EXPECT_EQ(test, rpol_member_set_quota(a, &q), 0);
	KUNIT_EXPECT_EQ(test, reserve_entries(a, 201, 0), -E2BIG);
	rpol_uncharge(a, 43);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 1), -EAGAIN);
	rpol_uncharge(a, 257);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 200), 0);
}

/*
 * The capacity is cut below what is charged and kept.  No member may get entries before the charge
 * has fallen enough; a member with a minimum gets only what the RNIC then has.
 */
static void domain_drains_after_capacity_cut(struct kunit *test)
{
	struct rpol_domain *dom = domain(test, 1000);
	struct rpol_member *a = member(test, dom, 0, RPOL_NO_MAX);
	struct rpol_member *b = member(test, dom, 200, RPOL_NO_MAX);

	KUNIT_EXPECT_EQ(test, try_reserve(a, 800), 0);
	KUNIT_EXPECT_EQ(test, rpol_domain_set_capacity(dom, 500), 0);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 1), -EAGAIN);
	/* b does not even get its minimum, because the RNIC does not have the entries. */
	KUNIT_EXPECT_EQ(test, try_reserve(b, 1), -EAGAIN);
	rpol_uncharge(a, 400);
	KUNIT_EXPECT_EQ(test, try_reserve(b, 101), -EAGAIN);
	KUNIT_EXPECT_EQ(test, try_reserve(b, 100), 0);
	KUNIT_EXPECT_EQ(test, try_reserve(b, 1), -EAGAIN);
	rpol_uncharge(a, 100);
	KUNIT_EXPECT_EQ(test, try_reserve(b, 100), 0);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, rpol_domain_set_capacity(dom, 600), 0);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 100), 0);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 1), -EAGAIN);
}

/* A member with a minimum is destroyed: its minimum must become common again. */
static void domain_returns_what_a_member_kept(struct kunit *test)
{
	struct rpol_domain *dom = domain(test, 1000);
	struct rpol_member *a = member(test, dom, 0, RPOL_NO_MAX);
	struct rpol_quota q = { .min = 900, .max = RPOL_NO_MAX, .weight = 1 };
	struct rpol_member *b;

	b = rpol_member_create(dom, &q, NULL, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, b);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 101), -E2BIG);
	rpol_member_destroy(b);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 1000), 0);

	/* A minimum may be given while others hold its entries; it fills as they release. */
	b = rpol_member_create(dom, &q, NULL, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, b);
	KUNIT_EXPECT_EQ(test, try_reserve(b, 1), -EAGAIN);
	rpol_uncharge(a, 300);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, try_reserve(b, 300), 0);
	KUNIT_EXPECT_EQ(test, try_reserve(b, 1), -EAGAIN);
	rpol_uncharge(b, 300);
	rpol_member_destroy(b);
}

/* A member is shut down, twice: it must get nothing more, and can release what it has. */
static void domain_shut_down_member(struct kunit *test)
{
	struct rpol_domain *dom = domain(test, 1000);
	struct rpol_member *a = member(test, dom, 0, RPOL_NO_MAX);
	struct rpol_member_stats st;

	KUNIT_EXPECT_EQ(test, try_reserve(a, 100), 0);
	rpol_member_shutdown(a);
	KUNIT_EXPECT_EQ(test, try_reserve(a, 1), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, reserve_entries(a, 1, 0), -ESHUTDOWN);
	rpol_member_shutdown(a);
	rpol_uncharge(a, 100);
	rpol_member_get_stats(a, &st);
	KUNIT_EXPECT_EQ(test, st.charged, 0);
	KUNIT_EXPECT_EQ(test, st.refused, 2);
}

/*
 * A member with a minimum is shut down while entries are charged to it.  The rest of its minimum
 * must be free for others, and a new quota for the member must not keep entries again.
 */
static void domain_shut_down_keeps_nothing(struct kunit *test)
{
	struct rpol_domain *dom = domain(test, 1000);
	struct rpol_member *a = member(test, dom, 600, RPOL_NO_MAX);
	struct rpol_member *b = member(test, dom, 0, RPOL_NO_MAX);
	struct rpol_quota q = { .min = 600, .max = 700, .weight = 7 };
	struct rpol_domain_stats st;

	KUNIT_EXPECT_EQ(test, try_reserve(a, 100), 0);
	KUNIT_EXPECT_EQ(test, rpol_member_set_quota(b, &q), -EINVAL);
	rpol_member_shutdown(a);
	rpol_domain_get_stats(dom, &st);
	KUNIT_EXPECT_EQ(test, st.reserved_min, 0);
	KUNIT_EXPECT_EQ(test, try_reserve(b, 901), -EAGAIN);
	KUNIT_EXPECT_EQ(test, try_reserve(b, 900), 0);
	rpol_uncharge(b, 900);

	KUNIT_EXPECT_EQ(test, rpol_member_set_quota(b, &q), 0);
	KUNIT_EXPECT_EQ(test, rpol_member_set_quota(a, &q), 0);
	rpol_domain_get_stats(dom, &st);
	KUNIT_EXPECT_EQ(test, st.reserved_min, 600);
	rpol_uncharge(a, 100);
	q.max = RPOL_NO_MAX;
	KUNIT_EXPECT_EQ(test, rpol_member_set_quota(b, &q), 0);
	KUNIT_EXPECT_EQ(test, try_reserve(b, 1000), 0);
}

/* The random walk's model has a capacity and, for each member, its min, its max and its charge. */
#define WALK_MEMBERS	5
#define WALK_STEPS	30000

struct walk {
	struct rnd_state rnd;
	u64 capacity;
	struct rpol_quota quota[WALK_MEMBERS];
	u64 charged[WALK_MEMBERS];
	struct rpol_domain *dom;
	struct rpol_member *mem[WALK_MEMBERS];
};

static u32 walk_random(struct walk *w, u32 below)
{
	return prandom_u32_state(&w->rnd) % below;
}

/* The sum of all minima but that of member @without. */
static u64 walk_sum_min(const struct walk *w, int without)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < WALK_MEMBERS; i++)
		if (i != without)
			sum += w->quota[i].min;
	return sum;
}

/* The result that try_reserve() must give for @n entries of member @m. */
static int walk_verdict(const struct walk *w, int m, u32 n)
{
	s64 free = w->capacity;
	int i;

	if (n > w->quota[m].max || n > w->capacity - walk_sum_min(w, m))
		return -E2BIG;
	for (i = 0; i < WALK_MEMBERS; i++) {
		free -= w->charged[i];
		if (i != m && w->quota[i].min > w->charged[i])
			free -= w->quota[i].min - w->charged[i];
	}
	if ((s64)n > free || w->charged[m] + n > w->quota[m].max)
		return -EAGAIN;
	return 0;
}

static void walk_reserve(struct kunit *test, struct walk *w, int m)
{
	u32 n = walk_random(w, 300) + 1;
	int want = walk_verdict(w, m, n);

	KUNIT_ASSERT_EQ(test, try_reserve(w->mem[m], n), want);
	if (!want)
		w->charged[m] += n;
}

static void walk_release(struct walk *w, int m)
{
	u32 n = walk_random(w, w->charged[m] + 1);

	rpol_uncharge(w->mem[m], n);
	w->charged[m] -= n;
}

static void walk_set_quota(struct kunit *test, struct walk *w, int m)
{
	struct rpol_quota q = { .min = walk_random(w, 500), .weight = 1 };
	int want = 0;

	q.max = walk_random(w, 4) ? q.min + walk_random(w, 500) : RPOL_NO_MAX;
	if (q.min + walk_sum_min(w, m) > w->capacity)
		want = -EINVAL;
	KUNIT_ASSERT_EQ(test, rpol_member_set_quota(w->mem[m], &q), want);
	if (!want)
		w->quota[m] = q;
}

static void walk_set_capacity(struct kunit *test, struct walk *w)
{
	u64 capacity = 200 + walk_random(w, 2000);
	int want = 0;

	if (capacity < RPOL_CAPACITY_MIN || capacity < walk_sum_min(w, -1))
		want = -EINVAL;
	KUNIT_ASSERT_EQ(test, rpol_domain_set_capacity(w->dom, capacity), want);
	if (!want)
		w->capacity = capacity;
}

static void walk_compare(struct kunit *test, struct walk *w)
{
	struct rpol_member_stats st;
	struct rpol_domain_stats dst;
	u64 sum = 0;
	int i;

	for (i = 0; i < WALK_MEMBERS; i++) {
		rpol_member_get_stats(w->mem[i], &st);
		KUNIT_ASSERT_EQ(test, st.charged, w->charged[i]);
		sum += w->charged[i];
	}
	rpol_domain_get_stats(w->dom, &dst);
	KUNIT_ASSERT_EQ(test, dst.charged, sum);
	KUNIT_ASSERT_EQ(test, dst.capacity, w->capacity);
	KUNIT_ASSERT_EQ(test, dst.reserved_min, walk_sum_min(w, -1));
	KUNIT_ASSERT_EQ(test, dst.waiters, 0);
}

/*
 * Reservations, releases, and changes of quotas and of the capacity, at random.  Each result must
 * be the model's, and so must all sums.
 */
static void domain_random_walk(struct kunit *test)
{
	struct walk *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	u32 step;
	int m;

	KUNIT_ASSERT_NOT_NULL(test, w);
	prandom_seed_state(&w->rnd, 8166);
	w->capacity = 1000;
	w->dom = domain(test, w->capacity);
	for (m = 0; m < WALK_MEMBERS; m++) {
		w->quota[m] = no_bounds;
		w->mem[m] = member(test, w->dom, 0, RPOL_NO_MAX);
	}
	for (step = 0; step < WALK_STEPS; step++) {
		m = walk_random(w, WALK_MEMBERS);
		switch (walk_random(w, 40)) {
		case 0:
			walk_set_quota(test, w, m);
			break;
		case 1:
			walk_set_capacity(test, w);
			break;
		case 2 ... 16:
			walk_release(w, m);
			break;
		default:
			walk_reserve(test, w, m);
		}
		if (step % 64 == 0)
			walk_compare(test, w);
	}
	walk_compare(test, w);
}

static struct kunit_case domain_cases[] = {
	KUNIT_CASE(domain_capacity_bounds),
	KUNIT_CASE(domain_member_bounds),
	KUNIT_CASE(domain_charge_and_release),
	KUNIT_CASE(domain_keeps_minima),
	KUNIT_CASE(domain_honours_maxima),
	KUNIT_CASE(domain_drains_after_capacity_cut),
	KUNIT_CASE(domain_returns_what_a_member_kept),
	KUNIT_CASE(domain_shut_down_member),
	KUNIT_CASE(domain_shut_down_keeps_nothing),
	KUNIT_CASE(domain_random_walk),
	{}
};

static struct kunit_suite domain_suite = {
	.name = "rdmafs_regpolicy_domain",
	.test_cases = domain_cases,
};

kunit_test_suite(domain_suite);
