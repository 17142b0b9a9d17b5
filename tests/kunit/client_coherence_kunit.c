// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_client_coherence: the rules of fs/client/coherence.c.  They say whether a change
 * was the mount's own or a foreign one, what attributes in a reply may do, and when cached pages
 * may be used.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include "fs/client/coherence.h"

#define FIRST	1000ULL		/* the change cookie that each case begins with */

static struct rdmafs_coh *known(struct kunit *test)
{
	struct rdmafs_coh *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	rdmafs_coh_init(c);
	rdmafs_coh_first(c, FIRST, 0);
	return c;
}

/* An answer with the cookie @change that was asked for at @asked; it comes at a later tick. */
static struct rdmafs_verdict fresh(struct rdmafs_coh *c, u64 change, u64 asked)
{
	return rdmafs_coh_fresh(c, change, asked, max(c->clock, asked) + 1);
}

static struct rdmafs_verdict own_end(struct rdmafs_coh *c, u64 before, u64 after, u64 asked,
				     u64 now)
{
	struct rdmafs_edge told = { .before = before, .after = after };

	return rdmafs_coh_own_end(c, &told, asked, now);
}

/* An own change that begins and ends at once. */
static struct rdmafs_verdict own(struct rdmafs_coh *c, u64 before, u64 after, u64 now)
{
	rdmafs_coh_own_begin(c);
	return own_end(c, before, after, now - 1, now);
}

/* Every event in every state of the pages; an event that cannot happen must change nothing. */
static void pages_table(struct kunit *test)
{
	static const struct {
		enum rdmafs_pages old;
		enum rdmafs_pages_event event;
		enum rdmafs_pages now;
		bool can;
	} table[] = {
		{ RDMAFS_PAGES_VALID, RDMAFS_PAGES_CHANGED, RDMAFS_PAGES_STALE, true },
		{ RDMAFS_PAGES_VALID, RDMAFS_PAGES_DROP, RDMAFS_PAGES_VALID, false },
		{ RDMAFS_PAGES_VALID, RDMAFS_PAGES_DROPPED, RDMAFS_PAGES_VALID, false },
		{ RDMAFS_PAGES_VALID, RDMAFS_PAGES_KEPT, RDMAFS_PAGES_VALID, false },
		{ RDMAFS_PAGES_STALE, RDMAFS_PAGES_CHANGED, RDMAFS_PAGES_STALE, true },
		{ RDMAFS_PAGES_STALE, RDMAFS_PAGES_DROP, RDMAFS_PAGES_DROPPING, true },
		{ RDMAFS_PAGES_STALE, RDMAFS_PAGES_DROPPED, RDMAFS_PAGES_STALE, false },
		{ RDMAFS_PAGES_STALE, RDMAFS_PAGES_KEPT, RDMAFS_PAGES_STALE, false },
		{ RDMAFS_PAGES_DROPPING, RDMAFS_PAGES_CHANGED, RDMAFS_PAGES_DROPPING_AGAIN, true },
		{ RDMAFS_PAGES_DROPPING, RDMAFS_PAGES_DROP, RDMAFS_PAGES_DROPPING, false },
		{ RDMAFS_PAGES_DROPPING, RDMAFS_PAGES_DROPPED, RDMAFS_PAGES_VALID, true },
		{ RDMAFS_PAGES_DROPPING, RDMAFS_PAGES_KEPT, RDMAFS_PAGES_STALE, true },
		{ RDMAFS_PAGES_DROPPING_AGAIN, RDMAFS_PAGES_CHANGED,
		  RDMAFS_PAGES_DROPPING_AGAIN, true },
		{ RDMAFS_PAGES_DROPPING_AGAIN, RDMAFS_PAGES_DROP,
		  RDMAFS_PAGES_DROPPING_AGAIN, false },
		{ RDMAFS_PAGES_DROPPING_AGAIN, RDMAFS_PAGES_DROPPED, RDMAFS_PAGES_STALE, true },
		{ RDMAFS_PAGES_DROPPING_AGAIN, RDMAFS_PAGES_KEPT, RDMAFS_PAGES_STALE, true },
	};
	enum rdmafs_pages pages;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		pages = table[i].old;
		KUNIT_EXPECT_EQ_MSG(test, rdmafs_pages_next(&pages, table[i].event),
				    table[i].can, "row %zu", i);
		KUNIT_EXPECT_EQ_MSG(test, pages, table[i].now, "row %zu", i);
	}
}

/*
 * Answers tell of no change, and then of foreign ones: the pages must become stale, and names be
 * asked for again, only by the latter.
 */
static void someone_else(struct kunit *test)
{
	struct rdmafs_coh *c = known(test);
	unsigned long verifier = c->verifier;
	struct rdmafs_verdict v;

	v = fresh(c, FIRST, 0);
	KUNIT_EXPECT_TRUE(test, v.use && v.believe && !v.changed);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_SET);
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_VALID);
	KUNIT_EXPECT_EQ(test, c->verifier, verifier);

	v = fresh(c, FIRST + 1, 0);
	KUNIT_EXPECT_TRUE(test, v.use && v.believe && v.changed);
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_STALE);
	KUNIT_EXPECT_NE(test, c->verifier, verifier);
	/* After a crash a server may have an older state; an answer to a new question tells. */
	v = fresh(c, FIRST - 1, 1);
	KUNIT_EXPECT_TRUE(test, v.use && v.believe && v.changed);
}

/*
 * Questions are asked at once, with no own change in flight, and older answers come after newer
 * ones.  An older one must not be taken over.  A newer one that was asked for before the last
 * change was known must be taken over, but not be believed to be the server's present state.
 */
static void late_answers(struct kunit *test)
{
	struct rdmafs_coh *c = known(test);
	struct rdmafs_verdict v;

	v = fresh(c, FIRST + 1, 0);
	KUNIT_EXPECT_TRUE(test, v.use && v.changed);
	v = fresh(c, FIRST, 0);
	KUNIT_EXPECT_FALSE(test, v.use || v.believe || v.changed);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_KEEP);
	KUNIT_EXPECT_EQ(test, c->change, FIRST + 1);
	/* This answer is no older than what is known. */
	v = fresh(c, FIRST + 1, 0);
	KUNIT_EXPECT_TRUE(test, v.use && v.believe && !v.changed);
	v = fresh(c, FIRST + 2, 0);
	KUNIT_EXPECT_TRUE(test, v.use && !v.believe && v.changed);
	KUNIT_EXPECT_FALSE(test, rdmafs_coh_opened(c));
	/* This one was asked for when all of the above was known. */
	v = fresh(c, FIRST, 2);
	KUNIT_EXPECT_TRUE(test, v.use && v.believe && v.changed);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_SET);
	KUNIT_EXPECT_TRUE(test, rdmafs_coh_opened(c));
}

/*
 * An answer that crossed an own change leaves a doubt.  An answer that may be older must not clear
 * it; one to a new question must.
 */
static void doubt_stays(struct kunit *test)
{
	struct rdmafs_coh *c = known(test);
	struct rdmafs_verdict v;

	own(c, FIRST, FIRST + 1, 1);
	fresh(c, FIRST + 2, 0);
	KUNIT_EXPECT_FALSE(test, rdmafs_coh_opened(c));
	v = fresh(c, FIRST + 1, 1);
	KUNIT_EXPECT_FALSE(test, v.use || v.believe);
	KUNIT_EXPECT_FALSE(test, rdmafs_coh_opened(c));
	v = fresh(c, FIRST + 2, 2);
	KUNIT_EXPECT_TRUE(test, v.believe && !v.changed);
	KUNIT_EXPECT_TRUE(test, rdmafs_coh_opened(c));

	/* The answer to an own change may be older as well. */
	rdmafs_coh_own_begin(c);
	v = fresh(c, FIRST + 4, 2);
	KUNIT_EXPECT_TRUE(test, v.use);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_GROW);
	v = own_end(c, FIRST + 2, FIRST + 3, 2, 4);
	KUNIT_EXPECT_FALSE(test, v.use || v.believe || v.changed);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_KEEP);
}

/*
 * Questions overlap all the time, so that no answer was asked for after the last one came, and
 * nothing changes any more.  The answers must be believed at last, or the client would never
 * stop asking.
 */
static void doubt_ends(struct kunit *test)
{
	struct rdmafs_coh *c = known(test);
	u64 asked, now = 1, before = 0;
	struct rdmafs_verdict v;
	int i;

	rdmafs_coh_fresh(c, FIRST + 1, 0, now);
	c->pages = RDMAFS_PAGES_VALID;
	v = rdmafs_coh_fresh(c, FIRST + 2, 0, ++now);
	KUNIT_EXPECT_FALSE(test, v.believe);
	KUNIT_EXPECT_TRUE(test, v.changed);
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_STALE);
	/* Each answer was asked for before the answer in front of it came. */
	for (i = 0; i < 20; i++) {
		asked = before;
		before = now;
		v = rdmafs_coh_fresh(c, FIRST + 2, asked, ++now);
		KUNIT_EXPECT_TRUE(test, v.use && v.believe && !v.changed);
	}
	KUNIT_EXPECT_TRUE(test, rdmafs_coh_opened(c));
}

/*
 * Answers come before, during and after an own truncate.  One that was asked for before the
 * truncate ended must not change the size, however late it comes.
 */
static void truncate_stands(struct kunit *test)
{
	struct rdmafs_coh *c = known(test);
	struct rdmafs_verdict v;

	rdmafs_coh_resize_begin(c);
	rdmafs_coh_own_begin(c);
	/* Answers during the truncate: the server may have sent them before or after it. */
	v = fresh(c, FIRST, 0);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_KEEP);
	v = fresh(c, FIRST + 1, 0);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_KEEP);
	/* The truncate's own answer does not set the size either; the truncating task does. */
	v = own_end(c, FIRST, FIRST + 1, 0, 1);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_KEEP);
	/* An answer that comes before the task has set the size. */
	v = fresh(c, FIRST + 1, 1);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_KEEP);
	KUNIT_EXPECT_FALSE(test, v.believe);
	rdmafs_coh_resize_end(c, 2);

	/* Late answers to questions from before the end. */
	v = fresh(c, FIRST, 0);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_KEEP);
	KUNIT_EXPECT_FALSE(test, v.use);
	v = fresh(c, FIRST + 5, 0);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_KEEP);
	v = fresh(c, FIRST + 1, 1);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_KEEP);
	KUNIT_EXPECT_EQ(test, rdmafs_coh_size(c, 1), RDMAFS_SIZE_KEEP);
	/* The answer to a question from after the end sets the size. */
	v = fresh(c, FIRST + 5, 3);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_SET);
	KUNIT_EXPECT_TRUE(test, v.use && v.believe && !v.changed);
}

/*
 * Answers that crossed an own change may be older than it.  They may raise the size and never
 * lower it, and tell of a foreign change only if their cookie is beyond the own one.
 */
static void weak_never_shrink(struct kunit *test)
{
	struct rdmafs_coh *c = known(test);
	struct rdmafs_verdict v;

	rdmafs_coh_own_begin(c);
	v = fresh(c, FIRST + 3, 0);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_GROW);
	KUNIT_EXPECT_TRUE(test, v.use && !v.believe && !v.changed);
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_VALID);
	own_end(c, FIRST, FIRST + 4, 0, 1);
	/* This answer crossed the change, and is older than what is known. */
	v = fresh(c, FIRST + 3, 0);
	KUNIT_EXPECT_FALSE(test, v.use || v.believe || v.changed);
	/* This one crossed it, but tells of the state that the own change has left. */
	v = fresh(c, FIRST + 4, 0);
	KUNIT_EXPECT_TRUE(test, v.use && v.believe && !v.changed);
	/* This one crossed it and has an unknown cookie: there was a foreign change. */
	v = fresh(c, FIRST + 5, 0);
	KUNIT_EXPECT_TRUE(test, v.use && !v.believe && v.changed);
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_STALE);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_GROW);
}

/*
 * 64 own changes are in flight, and answered in the order that leaves most gaps, and in random
 * ones.  All must be found to be own changes, so that pages stay valid.
 */
static void own_in_any_order(struct kunit *test)
{
	unsigned int order[64], i, j, round;
	struct rnd_state rnd;
	struct rdmafs_coh *c;

	prandom_seed_state(&rnd, 6);
	for (round = 0; round < 1000; round++) {
		for (i = 0; i < ARRAY_SIZE(order); i++)
			order[i] = round ? i : i < 32 ? 2 * i + 1 : 2 * (i - 32);
		for (i = ARRAY_SIZE(order) - 1; round && i; i--) {
			j = prandom_u32_state(&rnd) % (i + 1);
			swap(order[i], order[j]);
		}
		c = known(test);
		for (i = 0; i < ARRAY_SIZE(order); i++)
			rdmafs_coh_own_begin(c);
		for (i = 0; i < ARRAY_SIZE(order); i++)
			own_end(c, FIRST + order[i], FIRST + order[i] + 1, 0, i + 1);
		KUNIT_ASSERT_EQ_MSG(test, c->pages, RDMAFS_PAGES_VALID, "round %u", round);
		KUNIT_ASSERT_EQ(test, c->change, FIRST + ARRAY_SIZE(order));
		KUNIT_ASSERT_EQ(test, c->nr_edges, 0);
		kunit_kfree(test, c);
	}
}

/* The same with a foreign change at each place among them: it must be found. */
static void foreign_among_own(struct kunit *test)
{
	unsigned int i, j, gap, order[16];
	struct rnd_state rnd;
	struct rdmafs_coh *c;

	prandom_seed_state(&rnd, 7);
	for (gap = 0; gap < ARRAY_SIZE(order); gap++) {
		for (i = 0; i < ARRAY_SIZE(order); i++)
			order[i] = i;
		for (i = ARRAY_SIZE(order) - 1; i; i--) {
			j = prandom_u32_state(&rnd) % (i + 1);
			swap(order[i], order[j]);
		}
		c = known(test);
		for (i = 0; i < ARRAY_SIZE(order); i++)
			rdmafs_coh_own_begin(c);
		for (i = 0; i < ARRAY_SIZE(order); i++) {
			u64 before = FIRST + order[i] + (order[i] >= gap);

			own_end(c, before, before + 1, 0, i + 1);
		}
		KUNIT_EXPECT_EQ_MSG(test, c->pages, RDMAFS_PAGES_STALE, "gap %u", gap);
		KUNIT_EXPECT_EQ(test, c->change, FIRST + ARRAY_SIZE(order) + 1);
		kunit_kfree(test, c);
	}
}

/*
 * Own changes leave more pieces than there is room for.  The one that does not fit must count as
 * a foreign change, which is safe, and the record begin anew from there.
 */
static void too_many_pieces(struct kunit *test)
{
	struct rdmafs_coh *c = known(test);
	struct rdmafs_verdict v = {};
	unsigned int i;

	for (i = 0; i <= RDMAFS_NR_EDGES + 1; i++)
		rdmafs_coh_own_begin(c);
	for (i = 1; i <= RDMAFS_NR_EDGES; i++) {
		v = own_end(c, FIRST + 2 * i, FIRST + 2 * i + 1, 0, i);
		KUNIT_EXPECT_FALSE(test, v.changed);
	}
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_VALID);
	v = own_end(c, FIRST + 2 * i, FIRST + 2 * i + 1, 0, i);
	KUNIT_EXPECT_TRUE(test, v.changed && v.use);
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_STALE);
	KUNIT_EXPECT_EQ(test, c->nr_edges, 0);
	KUNIT_EXPECT_EQ(test, c->change, FIRST + 2 * i + 1);
}

/*
 * A stream of own changes, 32 to 128 of which are always in flight; they are answered in random
 * order.  If there are more pieces than room, some may count as foreign changes, but only a few;
 * and in the end all must be accounted for.
 */
static void own_in_a_stream(struct kunit *test)
{
	unsigned int flight, sent, done, i, foreign, window[128];
	struct rdmafs_verdict v;
	struct rnd_state rnd;
	struct rdmafs_coh *c;

	prandom_seed_state(&rnd, 8);
	for (flight = 32; flight <= ARRAY_SIZE(window); flight *= 2) {
		c = known(test);
		foreign = 0;
		sent = 0;
		for (done = 0; done < 4096; done++) {
			for (; sent < 4096 && sent < done + flight; sent++) {
				rdmafs_coh_own_begin(c);
				window[sent - done] = sent;
			}
			i = prandom_u32_state(&rnd) % (sent - done);
			v = own_end(c, FIRST + window[i], FIRST + window[i] + 1, 0, done + 1);
			foreign += v.changed;
			window[i] = window[sent - done - 1];
		}
		kunit_info(test, "%u under way: %u times in %u\n", flight, foreign, done);
		KUNIT_EXPECT_LE(test, foreign, flight <= RDMAFS_NR_EDGES ? 0 : done / flight);
		KUNIT_EXPECT_EQ(test, c->pages, foreign ? RDMAFS_PAGES_STALE : RDMAFS_PAGES_VALID);
		KUNIT_EXPECT_EQ(test, c->change, FIRST + done);
		KUNIT_EXPECT_EQ(test, c->nr_edges, 0);
		kunit_kfree(test, c);
	}
}

/*
 * An own change ends without telling its cookies.  The next answer with a new cookie must count as
 * a foreign change.
 */
static void nobody_knows(struct kunit *test)
{
	struct rdmafs_coh *c = known(test);
	struct rdmafs_verdict v;

	rdmafs_coh_own_begin(c);
	v = rdmafs_coh_own_end(c, NULL, 0, 1);
	KUNIT_EXPECT_FALSE(test, v.use || v.changed);
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_VALID);
	v = fresh(c, FIRST + 1, 1);
	KUNIT_EXPECT_TRUE(test, v.changed);
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_STALE);
}

/*
 * An open may use cached pages only if it would see all that other clients have closed before.
 * Otherwise it must be told to ask the server once more.
 */
static void opening(struct kunit *test)
{
	struct rdmafs_coh *c = known(test);

	KUNIT_EXPECT_TRUE(test, rdmafs_coh_opened(c));
	/* The open's answer crosses an own change, with a cookie that is known: that suffices. */
	rdmafs_coh_own_begin(c);
	fresh(c, FIRST, 0);
	KUNIT_EXPECT_TRUE(test, rdmafs_coh_opened(c));
	/* A cookie beyond it does not, neither now nor after the own change has ended ... */
	fresh(c, FIRST + 2, 0);
	KUNIT_EXPECT_FALSE(test, rdmafs_coh_opened(c));
	own_end(c, FIRST, FIRST + 1, 0, 1);
	KUNIT_EXPECT_FALSE(test, rdmafs_coh_opened(c));
	/* ... but the answer to a new question does. */
	fresh(c, FIRST + 2, 1);
	KUNIT_EXPECT_TRUE(test, rdmafs_coh_opened(c));
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_STALE);

	/* The server may hide a foreign change in an own one: then the open drops the pages. */
	c = known(test);
	own(c, 0, FIRST + 3, 1);
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_VALID);
	fresh(c, FIRST + 3, 1);
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_VALID);
	KUNIT_EXPECT_TRUE(test, rdmafs_coh_opened(c));
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_STALE);
}

/*
 * The task of a truncate is killed, and the server executes it later.  Answers that were asked for
 * before the truncate is known to be over must say nothing about the size.
 */
static void left_alone(struct kunit *test)
{
	struct rdmafs_coh *c = known(test);
	struct rdmafs_verdict v;

	rdmafs_coh_resize_begin(c);
	rdmafs_coh_own_begin(c);
	rdmafs_coh_own_end(c, NULL, 0, 1);
	rdmafs_coh_resize_end(c, 2);
	v = fresh(c, FIRST, 2);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_SET);
	rdmafs_coh_unknown(c, 3);
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_STALE);
	v = fresh(c, FIRST, 2);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_KEEP);
	KUNIT_EXPECT_FALSE(test, v.believe);
	v = fresh(c, FIRST + 1, 3);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_SET);
	KUNIT_EXPECT_TRUE(test, v.believe);
	KUNIT_EXPECT_TRUE(test, v.changed);
}

/* An answer tells of a size larger than the known one: pages must become stale if it is raised. */
static void growing(struct kunit *test)
{
	struct rdmafs_coh *c = known(test);
	struct rdmafs_verdict v;

	/* An own change is in flight, so the larger size may be due to it or to a foreign one. */
	rdmafs_coh_own_begin(c);
	v = fresh(c, FIRST + 1, 0);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_GROW);
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_VALID);
	KUNIT_EXPECT_TRUE(test, rdmafs_coh_grow(c, false));
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_STALE);

	/* The answer to an own change, with a foreign change hidden in it. */
	c = known(test);
	v = own(c, 0, FIRST + 2, 1);
	KUNIT_EXPECT_EQ(test, v.size, RDMAFS_SIZE_SET);
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_VALID);
	KUNIT_EXPECT_TRUE(test, rdmafs_coh_grow(c, false));
	KUNIT_EXPECT_EQ(test, c->pages, RDMAFS_PAGES_STALE);

	/* The last page is dirty and must be written first; an open has to wait, and ask again. */
	c = known(test);
	fresh(c, FIRST + 1, 0);
	KUNIT_EXPECT_FALSE(test, rdmafs_coh_grow(c, true));
	KUNIT_EXPECT_FALSE(test, rdmafs_coh_opened(c));
	fresh(c, FIRST + 1, 0);
	KUNIT_EXPECT_FALSE(test, rdmafs_coh_opened(c));
	fresh(c, FIRST + 1, 1);
	KUNIT_EXPECT_TRUE(test, rdmafs_coh_grow(c, false));
	KUNIT_EXPECT_TRUE(test, rdmafs_coh_opened(c));
}

/*
 * The verifier of names must change by a foreign change, and by one that an own change may have
 * hidden, but not by an own change; and it must never be 0.
 */
static void names(struct kunit *test)
{
	struct rdmafs_coh *c = known(test);
	unsigned long verifier;

	KUNIT_EXPECT_NE(test, c->verifier, 0);
	c->verifier = ~0UL;
	fresh(c, FIRST + 1, 0);
	KUNIT_EXPECT_NE(test, c->verifier, 0);
	KUNIT_EXPECT_NE(test, c->verifier, ~0UL);
	verifier = c->verifier;
	own(c, FIRST + 1, FIRST + 2, 1);
	KUNIT_EXPECT_EQ(test, c->verifier, verifier);
	own(c, 0, FIRST + 3, 2);
	KUNIT_EXPECT_NE(test, c->verifier, verifier);
}

static struct kunit_case coherence_cases[] = {
	KUNIT_CASE(pages_table),
	KUNIT_CASE(someone_else),
	KUNIT_CASE(late_answers),
	KUNIT_CASE(doubt_stays),
	KUNIT_CASE(doubt_ends),
	KUNIT_CASE(truncate_stands),
	KUNIT_CASE(weak_never_shrink),
	KUNIT_CASE(own_in_any_order),
	KUNIT_CASE(foreign_among_own),
	KUNIT_CASE(too_many_pieces),
	KUNIT_CASE(own_in_a_stream),
	KUNIT_CASE(nobody_knows),
	KUNIT_CASE(opening),
	KUNIT_CASE(left_alone),
	KUNIT_CASE(growing),
	KUNIT_CASE(names),
	{}
};

static struct kunit_suite coherence_suite = {
	.name = "rdmafs_client_coherence",
	.test_cases = coherence_cases,
};

kunit_test_suite(coherence_suite);

MODULE_DESCRIPTION("KUnit tests of the rdmafs client's rules");
MODULE_LICENSE("GPL");
