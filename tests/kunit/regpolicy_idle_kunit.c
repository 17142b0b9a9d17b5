// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_regpolicy_idle: which idle MRs become victims, when, and of which member.
 */
#include <kunit/test.h>
#include "regpolicy_stage.h"

#define LARGE		3	/* class of 257 entries */
#define L		257ULL
#define MIDDLE		2	/* of 129 */
#define SMALL		0	/* of 8 */

/* Makes three idle MRs: number 1 has been idle for longest, number 2 was used least often. */
static void three_idle(struct stage_member *m)
{
	struct stage_mr *mr[3];
	int i, n;

	for (i = 0; i < 3; i++)
		mr[i] = stage_get(m, LARGE);
	for (n = 0; n < 6; n++) {
		/* Numbers 3 and 1 are bound again three times each, number 2 never. */
		stage_idle(m, mr[n % 2 ? 0 : 2]);
		KUNIT_ASSERT_PTR_EQ(m->stage->test, stage_get(m, LARGE), mr[n % 2 ? 0 : 2]);
	}
	for (i = 0; i < 3; i++) {
		m->stage->now += MS;
		stage_idle(m, mr[i]);
	}
}

/* Another member takes one of three idle MRs; returns the number of the MR that is taken. */
static u64 first_victim(struct kunit *test, u32 replacement)
{
	struct stage *s = stage_open(test, 3 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);

	stage_tune(s, RPOL_FAIR, replacement);
	three_idle(a);
	/* b's claim needs one MR, and a has more than it is entitled to. */
	KUNIT_EXPECT_TRUE(test, stage_claim(b, LARGE)->ended);
	KUNIT_EXPECT_EQ(test, a->freed, 1);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->idle, 2 * L);
	return a->last_victim;
}

/* With LRU the MR that has been idle for longest must be taken ... */
static void idle_lru(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, first_victim(test, RPOL_LRU), 1);
}

/* ... and with LFU the one that was used least often. */
static void idle_lfu(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, first_victim(test, RPOL_LFU), 2);
}

/* In 300 trials each of three idle MRs must be taken in about a third. */
static void idle_random(struct kunit *test)
{
	struct stage *s = stage_open(test, 300 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_mr *mr[3];
	u32 taken[3] = { };
	u64 names;
	int i, n;

	stage_tune(s, RPOL_FAIR, RPOL_RANDOM);
	for (n = 0; n < 300; n++) {
		struct stage_member *b;

		KUNIT_ASSERT_EQ(test, rpol_domain_set_capacity(s->dom, 3 * L), 0);
		names = s->names;
		for (i = 0; i < 3; i++)
			mr[i] = stage_get(a, LARGE);
		for (i = 0; i < 3; i++)
			stage_idle(a, mr[i]);
		b = stage_member(s, 0, RPOL_NO_MAX, 100);
		stage_claim(b, LARGE);
		KUNIT_ASSERT_GT(test, a->last_victim, names);
		taken[a->last_victim - names - 1]++;
		stage_leave(s, b);
		rpol_mr_flush(a->mem);
	}
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_GT(test, taken[i], 60);
		KUNIT_EXPECT_LT(test, taken[i], 140);
	}
}

/*
 * Two members have idle MRs, made idle in turns, and a third one needs them all.  Each time the
 * MR that has been idle for longest must be taken, of whichever member it is.
 */
static void idle_lru_across_members(struct kunit *test)
{
	struct stage *s = stage_open(test, 4 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *c = stage_member(s, 0, RPOL_NO_MAX, 10000);
	struct stage_mr *mr[4];
	int i;

	for (i = 0; i < 4; i++)
		mr[i] = stage_get(i % 2 ? a : b, LARGE);
	for (i = 0; i < 4; i++) {
		s->now += MS;
		stage_idle(i % 2 ? a : b, mr[i]);
	}
	for (i = 0; i < 4; i++) {
		stage_claim(c, LARGE);
		s->now += MS;
		KUNIT_EXPECT_EQ(test, a->freed, (i + 1) / 2);
		KUNIT_EXPECT_EQ(test, b->freed, (i + 2) / 2);
	}
	KUNIT_EXPECT_EQ(test, stage_stats(c)->in_use, 4 * L);
}

/*
 * A claim needs 129 entries, and another member has only idle MRs.  Only so many MRs as are
 * lacking must become victims, and no more of them by later ticks, until these are destroyed.
 */
static void idle_no_more_than_lacking(struct kunit *test)
{
	struct stage *s = stage_open(test, 1000);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct rpol_domain_stats st;
	struct stage_claim *c;

	stage_hoard(a, SMALL, 125);
	stage_idle_all(a);
	s->keep_victims = true;
	c = stage_claim(b, MIDDLE);
	rpol_domain_get_stats(s->dom, &st);
	KUNIT_EXPECT_EQ(test, st.revoking, 17 * 8);
	KUNIT_EXPECT_EQ(test, a->asked, 1);
	stage_pass(s, 30 * MS);
	rpol_domain_get_stats(s->dom, &st);
	KUNIT_EXPECT_EQ(test, st.revoking, 17 * 8);
	KUNIT_EXPECT_FALSE(test, c->ended);
	stage_reap(a);
	KUNIT_EXPECT_TRUE(test, c->ended);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->charged, 1000 - 17 * 8);
	rpol_domain_get_stats(s->dom, &st);
	KUNIT_EXPECT_EQ(test, st.revoking, 0);
}

/*
 * A member has idle MRs within its entitlement, and another one waits.  It must keep them for
 * nearly 100 ms and then lose them; after that it is still entitled to them, and must get one
 * as soon as an I/O of the other member ends.
 */
static void idle_is_not_held_for_long(struct kunit *test)
{
	struct stage *s = stage_open(test, 4 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_claim *c;

	stage_hoard(a, LARGE, 2);
	stage_idle_all(a);
	stage_hoard(b, LARGE, 10);
	stage_pass(s, 90 * MS);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->entitlement, 2 * L);
	KUNIT_EXPECT_EQ(test, a->freed, 0);
	stage_pass(s, 30 * MS);
	KUNIT_EXPECT_EQ(test, a->freed, 2);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->in_use, 4 * L);
	/* It is still entitled to them, so it waits for one I/O only. */
	c = stage_claim(a, LARGE);
	KUNIT_EXPECT_FALSE(test, c->ended);
	stage_idle(b, stage_oldest(b));
	KUNIT_EXPECT_TRUE(test, c->ended);
}

/*
 * A member at its own maximum has only idle MRs of small classes, and claims a large one.  Its
 * own small MRs must make room, and none of another member.  The same where the domain is full.
 */
static void idle_classes_are_converted(struct kunit *test)
{
	struct stage *s = stage_open(test, 2 * L);
	struct stage_member *a = stage_member(s, 0, L, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);

	stage_hoard(a, SMALL, 32);
	stage_idle_all(a);
	stage_hoard(b, MIDDLE, 1);
	stage_idle_all(b);
	KUNIT_EXPECT_TRUE(test, stage_claim(a, LARGE)->ended);
	KUNIT_EXPECT_EQ(test, a->freed, 32);
	KUNIT_EXPECT_EQ(test, b->freed, 0);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->charged, L);

	/* Here the domain is full, and b has no maximum. */
	stage_hoard(b, SMALL, 16);
	stage_idle_all(b);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->charged, 257);
	KUNIT_EXPECT_TRUE(test, stage_claim(b, LARGE)->ended);
	KUNIT_EXPECT_EQ(test, b->freed, 17);
	KUNIT_EXPECT_EQ(test, a->freed, 32);
}

/*
 * All MRs are idle at one member.  A claim of another member that does not wait must not have
 * any of them revoked, and one that waits must.
 */
static void idle_nowait(struct kunit *test)
{
	struct stage *s = stage_open(test, 2 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct rpol_mr *mr;

	stage_hoard(a, LARGE, 2);
	stage_idle_all(a);
	KUNIT_EXPECT_EQ(test, rpol_mr_get(b->mem, LARGE, L, RPOL_NOWAIT, &mr), -EAGAIN);
	KUNIT_EXPECT_EQ(test, a->asked, 0);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->waiters, 0);
	KUNIT_EXPECT_TRUE(test, stage_claim(b, LARGE)->ended);
	KUNIT_EXPECT_EQ(test, a->freed, 1);
}

/*
 * A member has more idle MRs than its minimum, and no claim waits.  After five seconds those
 * beyond the minimum must go, and those within it stay for good.
 */
static void idle_minimum_decays_not(struct kunit *test)
{
	struct stage *s = stage_open(test, 100 * L);
	struct stage_member *a = stage_member(s, 3 * L, RPOL_NO_MAX, 100);

	stage_hoard(a, LARGE, 10);
	stage_idle_all(a);
	KUNIT_EXPECT_GT(test, s->wakes, 0);
	stage_pass(s, 4900 * MS);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->charged, 10 * L);
	stage_pass(s, 200 * MS);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->charged, 3 * L);
	stage_pass(s, 20000 * MS);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->charged, 3 * L);
}

/*
 * The policy must ask for ticks when MRs fall idle or a claim begins to wait, and stop asking
 * when neither is so.  A tick that is far off must be moved forward when a claim begins to wait.
 */
static void idle_ticks_end(struct kunit *test)
{
	struct stage *s = stage_open(test, 100 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);

	KUNIT_EXPECT_EQ(test, rpol_domain_tick(s->dom), 0);
	stage_hoard(a, LARGE, 100);
	KUNIT_EXPECT_EQ(test, rpol_domain_tick(s->dom), 0);
	KUNIT_EXPECT_EQ(test, s->wakes, 0);
	stage_claim(b, LARGE);
	KUNIT_EXPECT_EQ(test, s->wakes, 1);
	KUNIT_EXPECT_GT(test, rpol_domain_tick(s->dom), 0);
	stage_idle_all(a);
	KUNIT_EXPECT_EQ(test, s->wakes, 1);
	KUNIT_EXPECT_GT(test, rpol_domain_tick(s->dom), 0);
	s->now += 6000 * MS;
	KUNIT_EXPECT_EQ(test, rpol_domain_tick(s->dom), 0);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->charged, 0);
	/* The next tick is far off, and is moved forward when a claim begins to wait. */
	stage_hoard(a, LARGE, 99);
	stage_idle(b, stage_oldest(b));
	KUNIT_EXPECT_EQ(test, s->wakes, 2);
	KUNIT_EXPECT_GT(test, s->next_tick, 500 * MS);
	stage_hoard(b, LARGE, 2);
	KUNIT_EXPECT_EQ(test, s->wakes, 3);
	KUNIT_EXPECT_LT(test, s->next_tick, 100 * MS);
	stage_idle_all(a);
	stage_idle_all(b);
	s->now += 6000 * MS;
	KUNIT_EXPECT_EQ(test, rpol_domain_tick(s->dom), 0);
	/* After the ticks have ended, an idle MR must start them again. */
	stage_hoard(b, LARGE, 1);
	stage_idle_all(b);
	KUNIT_EXPECT_EQ(test, s->wakes, 4);
}

/*
 * Fewer entries are free than the low watermark, and most MRs are idle.  Once their member does
 * not need them any more, as many must be destroyed as reach the high watermark.  Bad watermarks
 * are refused and change nothing.
 */
static void idle_watermarks(struct kunit *test)
{
	struct stage *s = stage_open(test, 100 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct rpol_tunables tun;

	rpol_domain_get_tunables(s->dom, &tun);
	tun.low = 5 * L;
	tun.high = 10 * L;
	KUNIT_EXPECT_EQ(test, rpol_domain_set_tunables(s->dom, &tun), 0);
	stage_hoard(a, LARGE, 97);
	stage_idle_all(a);
	stage_hoard(b, LARGE, 1);
	/* MRs that their member needed of late are not taken ahead of need ... */
	stage_pass(s, 100 * MS);
	KUNIT_EXPECT_EQ(test, a->freed, 0);
	/* ... but once they are not needed, as many go as reach the high watermark. */
	stage_pass(s, 1100 * MS);
	KUNIT_EXPECT_EQ(test, a->freed, 8);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->charged + stage_stats(b)->charged, 90 * L);
	/* Claims may use the entries that the watermarks keep free. */
	stage_hoard(b, LARGE, 11);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->in_use, 12 * L);

	tun.high = 4 * L;
	KUNIT_EXPECT_EQ(test, rpol_domain_set_tunables(s->dom, &tun), -EINVAL);
	tun.high = 101 * L;
	KUNIT_EXPECT_EQ(test, rpol_domain_set_tunables(s->dom, &tun), -EINVAL);
	tun.high = 10 * L;
	tun.replacement = RPOL_NR_REPLACEMENTS;
	KUNIT_EXPECT_EQ(test, rpol_domain_set_tunables(s->dom, &tun), -EINVAL);
	rpol_domain_get_tunables(s->dom, &tun);
	KUNIT_EXPECT_EQ(test, tun.high, 10 * L);
	KUNIT_EXPECT_EQ(test, tun.replacement, RPOL_LRU);
}

/* The capacity is cut below what idle MRs are charged: the excess must be destroyed at once. */
static void idle_capacity_cut(struct kunit *test)
{
	struct stage *s = stage_open(test, 1000);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);

	stage_hoard(a, SMALL, 120);
	stage_idle_all(a);
	KUNIT_EXPECT_EQ(test, rpol_domain_set_capacity(s->dom, 600), 0);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->charged, 600);
	KUNIT_EXPECT_EQ(test, a->asked, 1);
}

/*
 * A member has idle MRs and a victim that another member waits for, and it leaves.  All its MRs
 * must go with it: the wait must be granted, and no entry may stay charged or counted as revoked.
 */
static void idle_leaves_with_member(struct kunit *test)
{
	struct stage *s = stage_open(test, 4 * L);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct rpol_domain_stats st;
	struct stage_claim *c;

	stage_hoard(a, LARGE, 4);
	stage_idle_all(a);
	s->keep_victims = true;
	c = stage_claim(b, LARGE);
	KUNIT_EXPECT_FALSE(test, c->ended);
	stage_leave(s, a);
	KUNIT_EXPECT_TRUE(test, c->ended);
	rpol_domain_get_stats(s->dom, &st);
	KUNIT_EXPECT_EQ(test, st.revoking, 0);
	KUNIT_EXPECT_EQ(test, st.charged, L);
}

/*
 * The time integrals of charge and of waiting, and the histogram of waits, must be exact, and
 * those of a member that leaves stay in the domain's sums.
 */
static void idle_integrals(struct kunit *test)
{
	struct stage *s = stage_open(test, 4 * L);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct rpol_domain_stats st;

	stage_hoard(a, LARGE, 4);
	s->now += 3 * MS;
	stage_claim(b, LARGE);
	s->now += 5 * MS;
	KUNIT_EXPECT_EQ(test, stage_stats(a)->charged_us, 4 * L * 8000);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->waiting_us, L * 5000);
	stage_idle(a, stage_oldest(a));
	s->now += MS;
	KUNIT_EXPECT_EQ(test, stage_stats(b)->charged_us, L * 1000);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->waiting_us, L * 5000);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->wait_ns, 5 * MS);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->wait_max_ns, 5 * MS);
	/* 5000 us are less than 2^13. */
	KUNIT_EXPECT_EQ(test, stage_stats(b)->wait_hist[13], 1);
	stage_leave(s, a);
	rpol_domain_get_stats(s->dom, &st);
	KUNIT_EXPECT_EQ(test, st.capacity_us, 4 * L * 9000);
	KUNIT_EXPECT_EQ(test, st.charged_us, st.capacity_us);
}

static struct kunit_case idle_cases[] = {
	KUNIT_CASE(idle_lru),
	KUNIT_CASE(idle_lfu),
	KUNIT_CASE(idle_random),
	KUNIT_CASE(idle_lru_across_members),
	KUNIT_CASE(idle_no_more_than_lacking),
	KUNIT_CASE(idle_is_not_held_for_long),
	KUNIT_CASE(idle_classes_are_converted),
	KUNIT_CASE(idle_nowait),
	KUNIT_CASE(idle_minimum_decays_not),
	KUNIT_CASE(idle_ticks_end),
	KUNIT_CASE(idle_watermarks),
	KUNIT_CASE(idle_capacity_cut),
	KUNIT_CASE(idle_leaves_with_member),
	KUNIT_CASE(idle_integrals),
	{}
};

static struct kunit_suite idle_suite = {
	.name = "rdmafs_regpolicy_idle",
	.test_cases = idle_cases,
};

kunit_test_suite(idle_suite);
