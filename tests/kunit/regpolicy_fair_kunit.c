// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_regpolicy_fair: how many entries each member gets, and when, while claims wait.
 * Windows, entitlements, turns, and changes of limits under load.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include "regpolicy_stage.h"

#define LARGE		3	/* class of 257 entries */
#define L		257ULL
#define SMALL		0	/* of 8 */

/*
 * Member a has all MRs busy, and b claims half of them.  a's window must be cut as soon as b
 * waits, and each MR that falls idle must go to b until both have half.  Then nothing more is
 * taken from a.
 */
static void fair_window_is_cut_at_once(struct kunit *test)
{
	struct stage *s = stage_open(test, 8 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_claim *c[4];
	const struct rpol_member_stats *st;
	int i;

	stage_hoard(a, LARGE, 8);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->window, RPOL_NO_WINDOW);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->in_use, 8 * L);
	for (i = 0; i < 4; i++) {
		c[i] = stage_claim(b, LARGE);
		KUNIT_EXPECT_FALSE(test, c[i]->ended);
		s->now += MS;
	}
	st = stage_stats(a);
	KUNIT_EXPECT_EQ(test, st->entitlement, 4 * L);
	KUNIT_EXPECT_EQ(test, st->window, 4 * L);
	KUNIT_EXPECT_GE(test, st->cuts, 1);
	KUNIT_EXPECT_TRUE(test, rpol_pressed(a->mem));
	KUNIT_EXPECT_TRUE(test, rpol_pressed(b->mem));
	KUNIT_EXPECT_EQ(test, rpol_excess(a->mem), 4 * L);
	KUNIT_EXPECT_EQ(test, rpol_excess(b->mem), 0);
	/* Each MR that falls idle now is b's, although a would use it again. */
	for (i = 0; i < 4; i++) {
		stage_idle(a, stage_oldest(a));
		KUNIT_EXPECT_TRUE(test, c[i]->ended);
		KUNIT_EXPECT_EQ(test, stage_stats(a)->charged, (7 - i) * L);
		stage_check(s);
	}
	KUNIT_EXPECT_EQ(test, a->freed, 4);
	/* Both have their part: a is not pressed any more, and keeps what falls idle. */
	KUNIT_EXPECT_FALSE(test, rpol_pressed(a->mem));
	KUNIT_EXPECT_EQ(test, rpol_excess(a->mem), 0);
	stage_idle(a, stage_oldest(a));
	KUNIT_EXPECT_EQ(test, stage_stats(a)->idle, L);
}

/*
 * Member a has four idle MRs, two of which are victims because b waits for them.  a may bind the
 * other two only, even while the victims still exist.
 */
static void fair_idle_is_not_free_to_use(struct kunit *test)
{
	struct stage *s = stage_open(test, 4 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);

	stage_hoard(a, LARGE, 4);
	stage_hoard(b, LARGE, 4);
	stage_pass(s, 10 * MS);
	s->keep_victims = true;
	stage_idle_all(a);
	/* Two are victims: they will be b's, and cannot be bound until they are destroyed. */
	KUNIT_EXPECT_EQ(test, stage_stats(a)->idle, 2 * L);
	KUNIT_EXPECT_NOT_NULL(test, stage_get(a, LARGE));
	KUNIT_EXPECT_NOT_NULL(test, stage_get(a, LARGE));
	KUNIT_EXPECT_NULL(test, stage_get(a, LARGE));
	KUNIT_EXPECT_EQ(test, stage_stats(b)->in_use, 0);
	stage_reap(a);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->in_use, 2 * L);
}

/*
 * A member's window was cut to half because another one waited.  When no claim waits any more it
 * must grow again, by an eighth of the capacity at a time, up to no window at all.
 */
static void fair_window_regrows_in_steps(struct kunit *test)
{
	struct stage *s = stage_open(test, 80 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	u64 before, window, steps = 0;

	stage_hoard(a, LARGE, 80);
	stage_hoard(b, LARGE, 40);
	s->now += MS;
	stage_pass(s, 50 * MS);
	before = stage_stats(a)->window;
	KUNIT_EXPECT_EQ(test, before, 40 * L);
	stage_idle_all(a);
	/* No claim waits any more. */
	KUNIT_EXPECT_EQ(test, stage_stats(b)->in_use, 40 * L);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->window, 40 * L);
	stage_idle_all(b);
	stage_leave(s, b);
	for (;;) {
		stage_pass(s, 10 * MS);
		window = stage_stats(a)->window;
		KUNIT_ASSERT_GE(test, window, before);
		if (window == RPOL_NO_WINDOW)
			break;
		if (window > before)
			KUNIT_EXPECT_EQ(test, window - before, 10 * L);
		before = window;
		KUNIT_ASSERT_LT(test, ++steps, 200);
	}
	KUNIT_EXPECT_GE(test, steps, 20);
	/* Without a window a gets all that it asks for. */
	stage_hoard(a, LARGE, 80);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->in_use, 80 * L);
}

/*
 * A light member uses one MR, with short pauses, while another one waits for all there is.  It
 * must keep its MR in the pauses.  When it stops for good, the other one must get the MR soon.
 */
static void fair_light_member_keeps_its_mr(struct kunit *test)
{
	struct stage *s = stage_open(test, 10 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *light = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_mr *mr;
	int i;

	mr = stage_get(light, LARGE);
	KUNIT_ASSERT_NOT_NULL(test, mr);
	stage_idle(light, mr);
	stage_hoard(a, LARGE, 30);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->in_use, 9 * L);
	for (i = 0; i < 50; i++) {
		stage_pass(s, 20 * MS);
		mr = stage_get(light, LARGE);
		KUNIT_ASSERT_NOT_NULL(test, mr);
		stage_pass(s, 2 * MS);
		stage_idle(light, mr);
		stage_check(s);
	}
	KUNIT_EXPECT_EQ(test, light->freed, 0);
	/* The light member stops: within 1.1 s the other one has all. */
	stage_pass(s, 1100 * MS);
	KUNIT_EXPECT_EQ(test, stage_stats(light)->charged, 0);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->in_use, 10 * L);
	KUNIT_EXPECT_EQ(test, light->freed, 1);
}

/*
 * A heavy member claims all entries, for seconds, and a light one has a minimum that it does not
 * use.  The minimum must stay free, so that the light member gets it at once, and no more.
 */
static void fair_minimum_is_kept(struct kunit *test)
{
	struct stage *s = stage_open(test, 10 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 10000);
	struct stage_member *b = stage_member(s, 3 * L, RPOL_NO_MAX, 1);
	int i;

	stage_hoard(a, LARGE, 30);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->in_use, 7 * L);
	stage_pass(s, 3000 * MS);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->in_use, 7 * L);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_NOT_NULL(test, stage_get(b, LARGE));
	KUNIT_EXPECT_NULL(test, stage_get(b, LARGE));
}

/* Runs for @ns, and measures the entry-microseconds charged to each member, and their sum. */
static void run_measured(struct stage *s, u64 ns, u64 *charged, u64 *total)
{
	u64 before[STAGE_MEMBERS];
	int i;

	for (i = 0; i < s->nr; i++)
		before[i] = stage_stats(&s->m[i])->charged_us;
	stage_run(s, ns);
	*total = 0;
	for (i = 0; i < s->nr; i++) {
		charged[i] = stage_stats(&s->m[i])->charged_us - before[i];
		*total += charged[i];
	}
}

static void load(struct stage_member *m, u32 depth, u32 class, u64 service)
{
	m->depth = depth;
	m->class = class;
	m->service = service;
}

/* Jain's index of fairness, in thousandths: 1000 if all are equal. */
static u64 jain(const u64 *x, int n)
{
	u64 sum = 0, squares = 0, v;
	int i;

	for (i = 0; i < n; i++) {
		v = div_u64(x[i], 1000);
		sum += v;
		squares += v * v;
	}
	return squares ? div64_u64(1000 * sum, n * div64_u64(squares, sum)) : 0;
}

/*
 * Eight members want all of twenty MRs.  Each is entitled to two and a half, so they must take
 * turns at the halves; over three seconds all must have had the same, with nothing left unused.
 */
static void fair_eight_on_twenty(struct kunit *test)
{
	u64 charged[STAGE_MEMBERS], total;
	struct stage *s = stage_open(test, 20 * L);
	int i;

	for (i = 0; i < 8; i++)
		load(stage_member(s, 0, RPOL_NO_MAX, 100), 4, LARGE, 5 * MS);
	stage_run(s, 300 * MS);
	run_measured(s, 3000 * MS, charged, &total);
	KUNIT_EXPECT_GE(test, jain(charged, 8), 990);
	KUNIT_EXPECT_GE(test, total, 20 * L * 3000000 * 95 / 100);
	KUNIT_EXPECT_LE(test, total, 20 * L * 3000000);
}

/* Two members of weights 3:1 want all there is: over three seconds they must get it in 3:1. */
static void fair_by_weight(struct kunit *test)
{
	u64 charged[STAGE_MEMBERS], total;
	struct stage *s = stage_open(test, 20 * L);
	u64 ratio;

	load(stage_member(s, 0, RPOL_NO_MAX, 300), 40, LARGE, 5 * MS);
	load(stage_member(s, 0, RPOL_NO_MAX, 100), 40, LARGE, 5 * MS);
	stage_run(s, 300 * MS);
	run_measured(s, 3000 * MS, charged, &total);
	ratio = div64_u64(charged[0] * 100, charged[1]);
	KUNIT_EXPECT_GE(test, ratio, 285);
	KUNIT_EXPECT_LE(test, ratio, 315);
}

/*
 * Five members want all of two MRs, so each is entitled to less than one MR.  They must take
 * turns, so that over six seconds each has had its part by weight, however long its I/Os are.
 */
static void fair_turns_below_one_mr(struct kunit *test)
{
	static const u32 weights[] = { 100, 100, 100, 100, 200 };
	u64 charged[STAGE_MEMBERS], total;
	struct stage *s = stage_open(test, 2 * L + 200);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(weights); i++)
		load(stage_member(s, 0, RPOL_NO_MAX, weights[i]), 2, LARGE, (1 + i) * MS);
	stage_run(s, 500 * MS);
	run_measured(s, 6000 * MS, charged, &total);
	for (i = 0; i < ARRAY_SIZE(weights); i++) {
		KUNIT_EXPECT_GE(test, charged[i], total * weights[i] / 600 * 90 / 100);
		KUNIT_EXPECT_LE(test, charged[i], total * weights[i] / 600 * 110 / 100);
	}
	KUNIT_EXPECT_GE(test, total, 2 * L * 6000000 * 95 / 100);
}

/*
 * There is one MR.  One member has one I/O at a time, another one has eight.  Every second turn
 * must be the first member's, although it waits with fewer claims.
 */
static void fair_one_beside_many(struct kunit *test)
{
	struct stage *s = stage_open(test, L);
	struct stage_member *many = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *one = stage_member(s, 0, RPOL_NO_MAX, 100);
	u64 before[2];

	load(many, 8, LARGE, MS);
	stage_run(s, 100 * MS);
	load(one, 1, LARGE, MS);
	/* The other member may be up to 10 ms ahead at first. */
	stage_run(s, 100 * MS);
	before[0] = many->done;
	before[1] = one->done;
	stage_run(s, 1000 * MS);
	KUNIT_EXPECT_GE(test, one->done - before[1], (many->done - before[0]) * 9 / 10);
	KUNIT_EXPECT_GE(test, one->done - before[1] + many->done - before[0], 900);
}

/*
 * There is one MR.  A member makes one I/O now and then, and another one always has eight.  The
 * first member must wait for no more than the I/O that is under way when its claim comes.
 */
static void fair_one_comes_and_goes(struct kunit *test)
{
	struct stage *s = stage_open(test, L);
	struct stage_member *many = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *one = stage_member(s, 0, RPOL_NO_MAX, 100);
	u64 done, others;
	int i, steps;

	load(many, 8, LARGE, MS);
	load(one, 0, LARGE, MS);
	stage_run(s, 100 * MS);
	for (i = 0; i < 200; i++) {
		done = one->done;
		others = many->done;
		stage_claim(one, LARGE);
		for (steps = 0; one->done == done && steps < 100; steps++)
			stage_run(s, MS / 2);
		KUNIT_ASSERT_EQ(test, one->done, done + 1);
		/* The other member may be up to 10 ms ahead the first time. */
		KUNIT_ASSERT_LE(test, many->done - others, i ? 2 : 12);
		stage_run(s, 2 * MS);
		rpol_domain_tick(s->dom);
	}
}

enum giving { BY_RELEASE, BY_IDLE, BY_FREED, NR_GIVINGS };

/* @m gives back its only MR; it has read the clock a millisecond before it takes the lock. */
static void give_late(struct stage_member *m, enum giving by)
{
	struct stage_mr *mr = stage_oldest(m);
	struct stage *s = m->stage;

	switch (by) {
	case BY_RELEASE:
		list_del(&mr->link);
		m->held -= mr->mr.entries;
		s->stale = s->now - MS;
		rpol_uncharge(m->mem, mr->mr.entries);
		kfree(mr);
		break;
	case BY_IDLE:
		s->stale = s->now - MS;
		stage_idle(m, mr);
		break;
	default:
		s->keep_victims = true;
		stage_idle(m, mr);
		s->stale = s->now - MS;
		stage_reap(m);
	}
}

/*
 * One MR for two members, and the turn is b's.  Another processor brings a's deficit up to
 * date after a has read the clock and before a takes the domain's lock.  Seen from the time
 * that a has read, this deficit is of the future; a must not come first because of that.
 */
static void fair_clock_read_before_the_lock(struct kunit *test)
{
	enum giving by;

	for (by = 0; by < NR_GIVINGS; by++) {
		struct stage *s = stage_open(test, L);
		struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
		struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
		struct stage_claim *again, *other;
		s64 deficit;

		stage_hoard(a, LARGE, 1);
		again = stage_claim(a, LARGE);
		other = stage_claim(b, LARGE);
		/* Long enough for a to be more than its quantum ahead. */
		stage_pass(s, 60 * MS);
		s->now += 2 * MS;
		deficit = stage_stats(a)->deficit_us;
		KUNIT_ASSERT_LT(test, deficit, 0);
		give_late(a, by);
		KUNIT_EXPECT_EQ(test, s->stale, 0);
		KUNIT_EXPECT_EQ(test, stage_stats(a)->deficit_us, deficit);
		KUNIT_EXPECT_TRUE(test, other->ended);
		KUNIT_EXPECT_FALSE(test, again->ended);
	}
}

/*
 * A member of the smallest weight wants large MRs, beside one of the largest weight that alone
 * fills the domain with small ones.  The first must still be served, within 1.2 s.
 */
static void fair_nobody_starves(struct kunit *test)
{
	struct stage *s = stage_open(test, 4 * L - 1);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, RPOL_WEIGHT_MAX);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 1);

	load(a, 40, SMALL, 2 * MS);
	load(b, 0, LARGE, 2 * MS);
	stage_run(s, 100 * MS);
	a->depth = 200;
	b->depth = 1;
	stage_run(s, 4500 * MS);
	KUNIT_EXPECT_GE(test, b->done, 3);
	KUNIT_EXPECT_LE(test, stage_stats(b)->wait_max_ns, 1200 * MS);
	KUNIT_EXPECT_GE(test, a->done, 1000);
}

/*
 * A large claim stands first in line, and a small one that would fit comes after it.  The small
 * one must not be granted first: it could keep the free entries from ever being enough.
 */
static void fair_large_is_not_overtaken(struct kunit *test)
{
	struct stage *s = stage_open(test, 3 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *c = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_claim *large, *small;

	stage_hoard(a, SMALL, 95);
	large = stage_claim(b, LARGE);
	s->now += MS;
	KUNIT_EXPECT_TRUE(test, list_empty(&a->claims));
	KUNIT_EXPECT_FALSE(test, large->ended);
	/* 3 * 257 - 95 * 8 = 11 entries are free. */
	small = stage_claim(c, SMALL);
	KUNIT_EXPECT_FALSE(test, small->ended);
	while (!large->ended && stage_oldest(a)) {
		KUNIT_EXPECT_FALSE(test, small->ended);
		stage_idle(a, stage_oldest(a));
	}
	KUNIT_EXPECT_TRUE(test, large->ended);
	stage_check(s);
}

/*
 * Member a waits because it is at its own maximum.  b must get all other entries without waiting
 * and without a window.  a must be served when it gives back an MR itself.
 */
static void fair_own_maximum_holds_up_nobody(struct kunit *test)
{
	struct stage *s = stage_open(test, 10 * L);
	struct stage_member *a = stage_member(s, 0, 2 * L, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_claim *c;

	stage_hoard(a, LARGE, 2);
	c = stage_claim(a, LARGE);
	KUNIT_EXPECT_FALSE(test, c->ended);
	KUNIT_EXPECT_TRUE(test, rpol_pressed(a->mem));
	KUNIT_EXPECT_EQ(test, rpol_excess(a->mem), 0);
	stage_hoard(b, LARGE, 8);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->in_use, 8 * L);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->waits, 0);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->window, RPOL_NO_WINDOW);
	KUNIT_EXPECT_FALSE(test, rpol_pressed(b->mem));
	stage_idle(a, stage_oldest(a));
	KUNIT_EXPECT_TRUE(test, c->ended);
	KUNIT_EXPECT_EQ(test, a->freed, 0);
}

/*
 * Member a waits at its own maximum only, while b takes the rest and has an idle MR.  When a
 * gives entries back, it is b that is in its way.  The policy must find out at once that b has
 * more than its entitlement, and take b's idle MR for a.
 */
static void fair_own_maximum_lifted(struct kunit *test)
{
	struct stage *s = stage_open(test, 3 * L + 8);
	struct stage_member *a = stage_member(s, 0, L, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_claim *c;

	stage_hoard(a, SMALL, 1);
	c = stage_claim(a, LARGE);
	KUNIT_EXPECT_FALSE(test, c->ended);
	stage_hoard(b, LARGE, 3);
	stage_idle(b, stage_oldest(b));
	KUNIT_EXPECT_EQ(test, stage_stats(b)->idle, L);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->waits, 0);
	stage_idle(a, stage_oldest(a));
	KUNIT_EXPECT_TRUE(test, c->ended);
	KUNIT_EXPECT_EQ(test, b->freed, 1);
	stage_check(s);
}

/*
 * The capacity is lowered below the largest class while a claim of this class waits.  The claim,
 * and all later ones of the class, must be refused and not wait for ever; smaller ones go on.
 */
static void fair_capacity_below_largest(struct kunit *test)
{
	struct stage *s = stage_open(test, 2 * RPOL_CLASS_MAX);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_claim *c;

	KUNIT_EXPECT_EQ(test, rpol_member_room(a->mem, U32_MAX, 0), RPOL_CLASS_MAX);
	stage_hoard(a, RPOL_NR_CLASSES - 1, 2);
	c = stage_claim(b, RPOL_NR_CLASSES - 1);
	KUNIT_EXPECT_FALSE(test, c->ended);
	KUNIT_ASSERT_EQ(test, rpol_domain_set_capacity(s->dom, RPOL_CAPACITY_MIN), 0);
	KUNIT_EXPECT_TRUE(test, c->ended);
	KUNIT_EXPECT_EQ(test, c->ret, -E2BIG);
	c = stage_claim(b, LARGE);
	KUNIT_EXPECT_FALSE(test, c->ended);
	stage_idle_all(a);
	KUNIT_EXPECT_TRUE(test, c->ended);
	KUNIT_EXPECT_EQ(test, c->ret, 0);
	s->capacity = RPOL_CAPACITY_MIN;
	stage_check(s);
	KUNIT_EXPECT_EQ(test, rpol_member_room(b->mem, U32_MAX, 0), RPOL_CAPACITY_MIN);
	KUNIT_EXPECT_EQ(test, stage_claim(b, RPOL_NR_CLASSES - 1)->ret, -E2BIG);
	stage_idle_all(b);
	KUNIT_EXPECT_EQ(test, stage_claim(a, RPOL_NR_CLASSES - 1)->ret, -E2BIG);
}

/*
 * Bad claims are refused.  Then two claims wait, and the first is cancelled.  Its callback must not
 * be called, and the second claim must be granted.  A cancel after the grant must have no effect.
 */
static void fair_cancel(struct kunit *test)
{
	struct stage *s = stage_open(test, 2 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_claim *first, *second;
	struct rpol_waiter nothing = { .mem = a->mem };
	u64 refused;

	KUNIT_EXPECT_EQ(test, rpol_mr_claim(&nothing), -EINVAL);
	nothing.entries = 8;
	nothing.class = RPOL_NO_CLASS + 1;
	KUNIT_EXPECT_EQ(test, rpol_mr_claim(&nothing), -EINVAL);
	stage_hoard(a, LARGE, 2);
	first = stage_claim(b, LARGE);
	second = stage_claim(b, SMALL);
	refused = stage_stats(b)->refused;
	KUNIT_EXPECT_TRUE(test, rpol_mr_cancel(&first->w));
	KUNIT_EXPECT_FALSE(test, first->ended);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->refused, refused + 1);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->waiting, 8);
	list_del_init(&first->link);
	stage_idle(a, stage_oldest(a));
	KUNIT_EXPECT_TRUE(test, second->ended);
	/* Too late: the claim was granted, and the MR stays bound. */
	KUNIT_EXPECT_FALSE(test, rpol_mr_cancel(&second->w));
	KUNIT_EXPECT_EQ(test, stage_stats(b)->in_use, 8);
}

/*
 * A claim that does not fit waits in front of one that does.  When the first is cancelled, the
 * second must be granted at once, although nothing is given back.
 */
static void fair_cancel_serves_those_behind(struct kunit *test)
{
	struct stage *s = stage_open(test, 2 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_claim *first, *second;

	stage_hoard(a, LARGE, 1);
	stage_hoard(a, SMALL, 1);
	first = stage_claim(b, LARGE);
	second = stage_claim(b, SMALL);
	KUNIT_EXPECT_FALSE(test, second->ended);
	KUNIT_EXPECT_TRUE(test, rpol_mr_cancel(&first->w));
	list_del_init(&first->link);
	KUNIT_EXPECT_TRUE(test, second->ended);
	KUNIT_EXPECT_EQ(test, second->ret, 0);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->in_use, 8);
}

/*
 * A member is shut down while three of its claims wait.  They must end with -ESHUTDOWN, and so
 * must later ones; its MRs still come back and are destroyed.
 */
static void fair_shut_down_with_claims(struct kunit *test)
{
	struct stage *s = stage_open(test, 2 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_claim *c[3];
	size_t i;

	stage_hoard(a, LARGE, 2);
	for (i = 0; i < ARRAY_SIZE(c); i++)
		c[i] = stage_claim(b, LARGE);
	rpol_member_shutdown(b->mem);
	for (i = 0; i < ARRAY_SIZE(c); i++) {
		KUNIT_EXPECT_TRUE(test, c[i]->ended);
		KUNIT_EXPECT_EQ(test, c[i]->ret, -ESHUTDOWN);
	}
	KUNIT_EXPECT_EQ(test, stage_claim(b, LARGE)->ret, -ESHUTDOWN);
	/* Idle MRs of a member that is shut down expire as others do. */
	rpol_member_shutdown(a->mem);
	stage_idle_all(a);
	stage_pass(s, 6000 * MS);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->charged, 0);
}

/*
 * A member with a minimum is made while another one holds all entries and waits for more.  Entries
 * that the other one gives back must fill the minimum first, and not be granted to its claims.
 */
static void fair_create_under_contention(struct kunit *test)
{
	struct stage *s = stage_open(test, 10 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b;
	struct rpol_quota q = { .min = 11 * L, .max = RPOL_NO_MAX, .weight = 100 };
	int i;

	stage_hoard(a, LARGE, 30);
	KUNIT_EXPECT_EQ(test, PTR_ERR(rpol_member_create(s->dom, &q, NULL, NULL)), -ENOSPC);
	b = stage_member(s, 4 * L, RPOL_NO_MAX, 1);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->window, 6 * L);
	KUNIT_EXPECT_NULL(test, stage_get(b, LARGE));
	for (i = 0; i < 4; i++)
		stage_idle(a, stage_oldest(a));
	/* The entries are kept for b, and not granted to a, which waits. */
	KUNIT_EXPECT_EQ(test, stage_stats(a)->charged, 6 * L);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_NOT_NULL(test, stage_get(b, LARGE));
	stage_check(s);
	stage_leave(s, b);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->in_use, 10 * L);
}

/*
 * Two members want all there is, and the weight, minimum and maximum of one are changed.  The
 * windows of both must follow at once; a minimum above the capacity is refused.
 */
static void fair_quota_under_load(struct kunit *test)
{
	struct stage *s = stage_open(test, 12 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct rpol_quota q = { .min = 0, .max = RPOL_NO_MAX, .weight = 200 };

	stage_hoard(a, LARGE, 20);
	stage_hoard(b, LARGE, 20);
	s->now += MS;
	stage_pass(s, 20 * MS);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->window, 6 * L);
	KUNIT_EXPECT_EQ(test, rpol_member_set_quota(b->mem, &q), 0);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->window, 4 * L);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->window, 8 * L);
	q.min = 13 * L;
	KUNIT_EXPECT_EQ(test, rpol_member_set_quota(b->mem, &q), -EINVAL);
	q.min = 10 * L;
	KUNIT_EXPECT_EQ(test, rpol_member_set_quota(b->mem, &q), 0);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->window, 2 * L);
	q.min = 0;
	q.max = 3 * L;
	KUNIT_EXPECT_EQ(test, rpol_member_set_quota(b->mem, &q), 0);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->window, 3 * L);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->window, 9 * L);
	stage_idle_all(a);
	stage_check(s);
}

/*
 * A member's maximum is lowered below what it is charged, in a domain with enough entries and in
 * one without.  It must be kept as soon as the I/Os of that time have ended, and I/O must go on.
 */
static void fair_max_lowered(struct kunit *test)
{
	static const u64 capacity[] = { 40 * L, 6 * L };
	struct rpol_quota q = { .min = 0, .max = RPOL_NO_MAX, .weight = 100 };
	u64 done;
	int i;

	for (i = 0; i < ARRAY_SIZE(capacity); i++) {
		struct stage *s = stage_open(test, capacity[i]);
		struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);

		load(a, 8, LARGE, 2 * MS);
		stage_run(s, 20 * MS);
		KUNIT_EXPECT_GE(test, stage_stats(a)->charged, 6 * L);
		q.max = 3 * L;
		KUNIT_EXPECT_EQ(test, rpol_member_set_quota(a->mem, &q), 0);
		stage_run(s, 4 * MS);
		KUNIT_EXPECT_LE(test, stage_stats(a)->charged, 3 * L);
		done = a->done;
		stage_run(s, 20 * MS);
		KUNIT_EXPECT_GE(test, a->done, done + 15);
		KUNIT_EXPECT_LE(test, stage_stats(a)->charged, 3 * L);
		/* With no I/O under way the maximum is kept at once. */
		a->depth = 0;
		stage_run(s, 4 * MS);
		q.max = L;
		KUNIT_EXPECT_EQ(test, rpol_member_set_quota(a->mem, &q), 0);
		stage_run(s, MS);
		KUNIT_EXPECT_LE(test, stage_stats(a)->charged, L);
	}
}

/*
 * The capacity is cut to a third while two members use and want all of it.  Nothing may be
 * granted until the MRs in use have fallen to the new capacity, and then it is split evenly.
 */
static void fair_capacity_under_load(struct kunit *test)
{
	struct stage *s = stage_open(test, 12 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);

	stage_hoard(a, LARGE, 40);
	stage_hoard(b, LARGE, 20);
	stage_pass(s, 10 * MS);
	stage_idle_all(a);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->in_use + stage_stats(b)->in_use, 12 * L);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->in_use, 6 * L);
	KUNIT_EXPECT_EQ(test, rpol_domain_set_capacity(s->dom, 4 * L), 0);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->window, 2 * L);
	/* No MR is taken from an I/O, and nothing is granted until the total fits. */
	stage_idle(a, stage_oldest(a));
	KUNIT_EXPECT_EQ(test, stage_stats(a)->charged, 5 * L);
	while (stage_stats(a)->charged + stage_stats(b)->charged > 4 * L) {
		stage_idle(a, stage_oldest(a));
		stage_idle(b, stage_oldest(b));
	}
	s->capacity = 4 * L;
	stage_check(s);
	s->capacity = 8 * L;
	KUNIT_EXPECT_EQ(test, rpol_domain_set_capacity(s->dom, 8 * L), 0);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->in_use, 4 * L);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->in_use, 4 * L);
}

/*
 * For comparison, the discipline FIFO: the member with nine times the I/Os must get most of the
 * entries.  After a change to FAIR both must get the same within 100 ms.
 */
static void fair_fifo_beside(struct kunit *test)
{
	u64 charged[STAGE_MEMBERS], total;
	struct stage *s = stage_open(test, 10 * L);

	stage_tune(s, RPOL_FIFO, RPOL_LRU);
	load(stage_member(s, 0, RPOL_NO_MAX, 100), 90, LARGE, 5 * MS);
	load(stage_member(s, 0, RPOL_NO_MAX, 100), 10, LARGE, 5 * MS);
	stage_run(s, 300 * MS);
	run_measured(s, 2000 * MS, charged, &total);
	KUNIT_EXPECT_GE(test, charged[0], 5 * charged[1]);
	KUNIT_EXPECT_EQ(test, stage_stats(&s->m[0])->window, RPOL_NO_WINDOW);
	/* The discipline is changed while all I/O goes on. */
	stage_tune(s, RPOL_FAIR, RPOL_LRU);
	stage_run(s, 100 * MS);
	run_measured(s, 2000 * MS, charged, &total);
	KUNIT_EXPECT_GE(test, jain(charged, 2), 990);
}

/* Claims, idle MRs, ticks and changes of the replacement at random; stage_check() is the test. */
static void fair_random_walk(struct kunit *test)
{
	struct stage *s = stage_open(test, 15 * L);
	struct stage_member *m;
	struct rnd_state rnd;
	u32 step, i;

	prandom_seed_state(&rnd, 1977);
	s->running = true;
	for (i = 0; i < 6; i++)
		stage_member(s, i == 2 ? 300 : 0, i == 4 ? 4 * L : RPOL_NO_MAX, 50 << i);
	for (step = 0; step < 20000; step++) {
		m = &s->m[prandom_u32_state(&rnd) % s->nr];
		s->now += prandom_u32_state(&rnd) % (2 * MS);
		switch (prandom_u32_state(&rnd) % 16) {
		case 0 ... 5:
			if (list_count_nodes(&m->claims) < 8)
				stage_claim(m, prandom_u32_state(&rnd) % RPOL_NR_CLASSES);
			break;
		case 6:
			stage_get(m, prandom_u32_state(&rnd) % RPOL_NR_CLASSES);
			break;
		case 7:
			stage_idle_all(m);
			break;
		case 8:
			stage_pass(s, 20 * MS);
			break;
		case 9:
			if (prandom_u32_state(&rnd) % 8 == 0)
				stage_tune(s, RPOL_FAIR, prandom_u32_state(&rnd) %
					   RPOL_NR_REPLACEMENTS);
			break;
		default:
			if (stage_oldest(m))
				stage_idle(m, stage_oldest(m));
		}
		stage_check(s);
	}
}

static struct kunit_case fair_cases[] = {
	KUNIT_CASE(fair_window_is_cut_at_once),
	KUNIT_CASE(fair_idle_is_not_free_to_use),
	KUNIT_CASE(fair_window_regrows_in_steps),
	KUNIT_CASE(fair_light_member_keeps_its_mr),
	KUNIT_CASE(fair_minimum_is_kept),
	KUNIT_CASE(fair_eight_on_twenty),
	KUNIT_CASE(fair_by_weight),
	KUNIT_CASE(fair_turns_below_one_mr),
	KUNIT_CASE(fair_one_beside_many),
	KUNIT_CASE(fair_one_comes_and_goes),
	KUNIT_CASE(fair_clock_read_before_the_lock),
	KUNIT_CASE(fair_nobody_starves),
	KUNIT_CASE(fair_large_is_not_overtaken),
	KUNIT_CASE(fair_own_maximum_holds_up_nobody),
	KUNIT_CASE(fair_own_maximum_lifted),
	KUNIT_CASE(fair_capacity_below_largest),
	KUNIT_CASE(fair_cancel),
	KUNIT_CASE(fair_cancel_serves_those_behind),
	KUNIT_CASE(fair_shut_down_with_claims),
	KUNIT_CASE(fair_create_under_contention),
	KUNIT_CASE(fair_quota_under_load),
	KUNIT_CASE(fair_max_lowered),
	KUNIT_CASE(fair_capacity_under_load),
	KUNIT_CASE(fair_fifo_beside),
	KUNIT_CASE(fair_random_walk),
	{}
};

static struct kunit_suite fair_suite = {
	.name = "rdmafs_regpolicy_fair",
	.test_cases = fair_cases,
};

kunit_test_suite(fair_suite);
