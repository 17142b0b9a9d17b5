// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_regpolicy_lent: MRs that are lent to a peer.  They count as idle, and are called
 * back when a claim waits.  Also the count of the time that entries are idle while claims wait.
 */
#include <kunit/test.h>
#include "regpolicy_stage.h"

#define LARGE		3	/* class of 257 entries */
#define L		257ULL
#define HUGE		5	/* of 1025: four MRs of class LARGE make room for one */
#define US		1000ULL

/* Makes a member that lent @nr MRs two seconds ago and has done nothing since. */
static struct stage_member *lender(struct stage *s, int nr)
{
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);

	stage_hoard(a, LARGE, nr);
	while (stage_oldest(a))
		stage_lend(a, stage_oldest(a));
	s->now += 2000 * MS;
	return a;
}

/*
 * Four MRs are lent, and a claim needs the room of all four.  All must be recalled when it
 * begins to wait, by one call of reclaim() and with no further calls from ticks.  The claim must
 * be granted when the peer has returned them.
 */
static void lent_recalled_at_once(struct kunit *test)
{
	struct stage *s = stage_open(test, 4 * L);
	struct stage_member *a = lender(s, 4);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_claim *c;

	KUNIT_EXPECT_EQ(test, stage_stats(a)->lent, 4 * L);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->in_use, 0);
	c = stage_claim(b, HUGE);
	KUNIT_EXPECT_EQ(test, stage_recalled(a), 4);
	/* One call of reclaim() for all four. */
	KUNIT_EXPECT_EQ(test, a->asked, 1);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->lent, 0);
	KUNIT_EXPECT_FALSE(test, c->ended);
	stage_pass(s, 200 * MS);
	KUNIT_EXPECT_EQ(test, a->asked, 1);
	stage_return(a);
	KUNIT_EXPECT_TRUE(test, c->ended);
	KUNIT_EXPECT_EQ(test, a->freed, 4);
	stage_check(s);
}

/*
 * Three of four MRs are lent, and two claims come.  The first claim gets the free one.  For the
 * second, only one MR must be recalled, and it must be the one that was lent first.
 */
static void lent_oldest_first(struct kunit *test)
{
	struct stage *s = stage_open(test, 4 * L);
	struct stage_member *a = lender(s, 3);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_mr *first;

	first = list_first_entry(&a->lent, struct stage_mr, link);
	stage_claim(b, LARGE);
	KUNIT_EXPECT_EQ(test, stage_recalled(a), 0);
	stage_claim(b, LARGE);
	KUNIT_EXPECT_EQ(test, stage_recalled(a), 1);
	KUNIT_EXPECT_TRUE(test, rpol_mr_recalled(&first->mr));
	stage_return(a);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->in_use, 2 * L);
	stage_check(s);
}

/* One MR is lent and one is idle: a claim must take the idle one, which needs no peer. */
static void lent_after_idle(struct kunit *test)
{
	struct stage *s = stage_open(test, 2 * L);
	struct stage_member *a = lender(s, 1);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);

	stage_idle(a, stage_get(a, LARGE));
	s->now += 2000 * MS;
	KUNIT_EXPECT_TRUE(test, stage_claim(b, LARGE)->ended);
	KUNIT_EXPECT_EQ(test, stage_recalled(a), 0);
	KUNIT_EXPECT_EQ(test, a->freed, 1);
}

/*
 * A member within its entitlement has lent an MR, and another member waits.  The MR must not be
 * recalled for 90 ms, and must be after 110 ms.
 */
static void lent_within_entitlement(struct kunit *test)
{
	struct stage *s = stage_open(test, 2 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_claim *c;

	stage_lend(a, stage_get(a, LARGE));
	stage_claim(b, LARGE);
	c = stage_claim(b, LARGE);
	stage_pass(s, 90 * MS);
	KUNIT_EXPECT_EQ(test, stage_recalled(a), 0);
	stage_pass(s, 20 * MS);
	KUNIT_EXPECT_EQ(test, stage_recalled(a), 1);
	stage_return(a);
	KUNIT_EXPECT_TRUE(test, c->ended);
}

/*
 * An MR is recalled, but the peer uses it first, so the owner regains it.  It must count as
 * in use and not as revoked, and the claim must wait on.  A tick must call another MR back.
 */
static void lent_and_used(struct kunit *test)
{
	struct stage *s = stage_open(test, 2 * L);
	struct stage_member *a = lender(s, 2);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct rpol_domain_stats st;
	struct stage_claim *c;
	struct stage_mr *mr;

	c = stage_claim(b, LARGE);
	mr = list_first_entry(&a->lent, struct stage_mr, link);
	KUNIT_ASSERT_TRUE(test, rpol_mr_recalled(&mr->mr));
	rpol_domain_get_stats(s->dom, &st);
	KUNIT_EXPECT_EQ(test, st.revoking, L);
	rpol_mr_regain(a->mem, &mr->mr);
	list_move_tail(&mr->link, &a->busy);
	KUNIT_EXPECT_FALSE(test, rpol_mr_recalled(&mr->mr));
	KUNIT_EXPECT_EQ(test, stage_stats(a)->in_use, L);
	rpol_domain_get_stats(s->dom, &st);
	KUNIT_EXPECT_EQ(test, st.revoking, 0);
	KUNIT_EXPECT_FALSE(test, c->ended);
	/* The tick calls the other lent MR back. */
	stage_pass(s, 100 * MS);
	KUNIT_EXPECT_EQ(test, stage_recalled(a), 1);
	stage_return(a);
	KUNIT_EXPECT_TRUE(test, c->ended);
	/* To regain an MR that is not lent changes nothing. */
	rpol_mr_regain(a->mem, &mr->mr);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->in_use, L);
	stage_check(s);
}

/*
 * A member has only lent MRs, and another one wants all there is.  Lent MRs are no demand, so
 * the lender must be entitled to nothing, and all its MRs be recalled.
 */
static void lent_is_no_demand(struct kunit *test)
{
	struct stage *s = stage_open(test, 8 * L);
	struct stage_member *a = lender(s, 4);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);

	KUNIT_EXPECT_EQ(test, stage_stats(a)->demand, 0);
	stage_hoard(b, LARGE, 8);
	KUNIT_EXPECT_EQ(test, stage_recalled(a), 4);
	stage_pass(s, 60 * MS);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->entitlement, 0);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->entitlement, 8 * L);
	stage_return(a);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->in_use, 8 * L);
}

/* Two members have lent MRs, and one of them claims: its own MR must be recalled. */
static void lent_own_first(struct kunit *test)
{
	struct stage *s = stage_open(test, 4 * L);
	struct stage_member *a = lender(s, 2);
	struct stage_member *b = lender(s, 2);

	stage_claim(b, LARGE);
	KUNIT_EXPECT_EQ(test, stage_recalled(a), 0);
	KUNIT_EXPECT_EQ(test, stage_recalled(b), 1);
	stage_return(b);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->in_use, L);
}

/*
 * At any time a charged entry counts as bound, converting, idle while no claim waits, or idle
 * while a claim waits.  The integrals of all four must be exact through each change of state.
 */
static void lent_integrals(struct kunit *test)
{
	struct stage *s = stage_open(test, 4 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	const struct rpol_member_stats *st;
	struct rpol_domain_stats dom;
	struct stage_claim *c;

	s->keep_victims = true;
	stage_hoard(a, LARGE, 2);
	s->now += 700 * US;		/* both bound */
	stage_idle(a, stage_oldest(a));
	stage_lend(a, stage_oldest(a));
	s->now += 300 * US;		/* idle, and no claim waits */
	stage_hoard(b, LARGE, 2);
	s->now += 500 * US;		/* still none waits: there were entries for both claims */
	c = stage_claim(b, LARGE);
	KUNIT_ASSERT_FALSE(test, c->ended);
	s->now += 400 * US;		/* idle while b waits, within a's entitlement */
	st = stage_stats(a);
	KUNIT_EXPECT_EQ(test, st->bound_us, 2 * L * 700);
	KUNIT_EXPECT_EQ(test, st->idle_us, 2 * L * 800);
	KUNIT_EXPECT_EQ(test, st->idle_waited_us, 2 * L * 400);
	KUNIT_EXPECT_EQ(test, st->converting_us, 0);
	s->now += 100 * MS;
	rpol_domain_tick(s->dom);	/* idle for too long: the idle MR becomes a victim */
	s->now += 600 * US;
	st = stage_stats(a);
	KUNIT_EXPECT_EQ(test, st->idle_waited_us, 2 * L * 100400 + L * 600);
	KUNIT_EXPECT_EQ(test, st->converting_us, L * 600);
	stage_reap(a);
	KUNIT_ASSERT_TRUE(test, c->ended);
	s->now += 900 * US;		/* no claim waits any more */
	st = stage_stats(a);
	KUNIT_EXPECT_EQ(test, st->idle_us, 2 * L * 800 + L * 900);
	KUNIT_EXPECT_EQ(test, st->idle_waited_us, 2 * L * 100400 + L * 600);
	c = stage_claim(b, LARGE);
	KUNIT_EXPECT_EQ(test, stage_recalled(a), 1);
	s->now += 200 * US;		/* the lent MR converts once it is recalled */
	st = stage_stats(a);
	KUNIT_EXPECT_EQ(test, st->converting_us, L * 800);
	KUNIT_EXPECT_EQ(test, st->idle_waited_us, 2 * L * 100400 + L * 600);
	stage_check(s);
	stage_return(a);
	stage_reap(a);
	KUNIT_EXPECT_TRUE(test, c->ended);
	rpol_domain_get_stats(s->dom, &dom);
	KUNIT_EXPECT_EQ(test, dom.idle_waited_us, 2 * L * 100400 + L * 600);
	KUNIT_EXPECT_EQ(test, dom.charged_us, dom.bound_us + dom.converting_us + dom.idle_us +
					      dom.idle_waited_us);
	stage_leave(s, b);
	rpol_domain_get_stats(s->dom, &dom);
	KUNIT_EXPECT_EQ(test, dom.charged_us, dom.bound_us + dom.converting_us + dom.idle_us +
					      dom.idle_waited_us);
}

/*
 * A lent MR is recalled for a waiting claim, and the peer does not answer.  After 100 ms the
 * policy must not count on it any more and take an idle MR of another member.  The lent MR is
 * still recalled, and must be accounted for when it comes.
 */
static void lent_not_returned(struct kunit *test)
{
	struct stage *s = stage_open(test, 2 * L);
	struct stage_member *a = lender(s, 1);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *c = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct rpol_domain_stats st;
	struct stage_claim *claim;

	stage_get(b, LARGE);
	claim = stage_claim(c, LARGE);
	KUNIT_EXPECT_EQ(test, stage_recalled(a), 1);
	stage_idle_all(b);
	stage_pass(s, 90 * MS);
	KUNIT_EXPECT_FALSE(test, claim->ended);
	/* The MR is overdue: the policy does not count on it, but it stays recalled. */
	stage_pass(s, 50 * MS);
	KUNIT_EXPECT_TRUE(test, claim->ended);
	KUNIT_EXPECT_EQ(test, b->freed, 1);
	KUNIT_EXPECT_EQ(test, stage_recalled(a), 1);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->lent, 0);
	rpol_domain_get_stats(s->dom, &st);
	KUNIT_EXPECT_EQ(test, st.revoking, L);
	stage_check(s);
	stage_return(a);
	rpol_domain_get_stats(s->dom, &st);
	KUNIT_EXPECT_EQ(test, st.revoking, 0);
	stage_check(s);
}

/*
 * One MR falls idle; two seconds later a second one is lent, and it returns unused.  It must be
 * sorted in by the time at which it was lent: each of the two expires at its own time.
 */
static void lent_returned_in_order(struct kunit *test)
{
	struct stage *s = stage_open(test, 16 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_mr *lent;

	stage_hoard(a, LARGE, 2);
	stage_idle(a, stage_oldest(a));
	s->now += 2000 * MS;
	lent = stage_oldest(a);
	stage_lend(a, lent);
	s->now += 1000 * MS;
	stage_idle(a, lent);
	s->now += 2100 * MS;
	rpol_domain_tick(s->dom);
	KUNIT_EXPECT_EQ(test, a->freed, 1);
	s->now += 2000 * MS;
	rpol_domain_tick(s->dom);
	KUNIT_EXPECT_EQ(test, a->freed, 2);
}

/* An MR is lent, and may have to be recalled later: the policy must ask for ticks. */
static void lent_is_looked_after(struct kunit *test)
{
	struct stage *s = stage_open(test, 16 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	u64 wakes;

	stage_get(a, LARGE);
	KUNIT_EXPECT_EQ(test, rpol_domain_tick(s->dom), 0);
	wakes = s->wakes;
	stage_lend(a, stage_oldest(a));
	KUNIT_EXPECT_EQ(test, s->wakes, wakes + 1);
	KUNIT_EXPECT_GT(test, rpol_domain_tick(s->dom), 0);
}

static struct kunit_case lent_cases[] = {
	KUNIT_CASE(lent_recalled_at_once),
	KUNIT_CASE(lent_oldest_first),
	KUNIT_CASE(lent_after_idle),
	KUNIT_CASE(lent_within_entitlement),
	KUNIT_CASE(lent_and_used),
	KUNIT_CASE(lent_is_no_demand),
	KUNIT_CASE(lent_own_first),
	KUNIT_CASE(lent_integrals),
	KUNIT_CASE(lent_not_returned),
	KUNIT_CASE(lent_returned_in_order),
	KUNIT_CASE(lent_is_looked_after),
	{}
};

static struct kunit_suite lent_suite = {
	.name = "rdmafs_regpolicy_lent",
	.test_cases = lent_cases,
};

kunit_test_suite(lent_suite);
