// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_client_outcome: the rules of fs/client/outcome.c.  They say whether a call whose
 * answer was lost has been executed.
 *
 * A model of a directory with two names, and of two objects, goes through all short histories of
 * what others do, with the call at each place of them or nowhere.  Whatever the rules conclude in
 * the end has to be true.
 */
#include <kunit/test.h>
#include "fs/client/outcome.h"

/* Objects; NONE is what a name stands for that is not there. */
enum { NONE, X, Y, NR_OBJS };
/* Names in the directory. */
enum { A, B, NR_NAMES };

#define STEPS	3	/* of others, in a history */

/* Cookies only grow: each change counts. */
struct world {
	unsigned int name[NR_NAMES];
	unsigned int obj[NR_OBJS];
	unsigned int dir;
};

static bool w_unlink(struct world *w, unsigned int name)
{
	if (!w->name[name])
		return false;
	w->obj[w->name[name]]++;
	w->dir++;
	w->name[name] = NONE;
	return true;
}

static bool w_link(struct world *w, unsigned int obj, unsigned int name)
{
	if (w->name[name])
		return false;
	w->obj[obj]++;
	w->dir++;
	w->name[name] = obj;
	return true;
}

/* Two names of one object: nothing happens, and that is no error. */
static bool w_rename(struct world *w, unsigned int from, unsigned int to)
{
	if (!w->name[from] || w->name[from] == w->name[to])
		return false;
	w->obj[w->name[from]]++;
	w->obj[w->name[to]]++;
	w->dir++;
	w->name[to] = w->name[from];
	w->name[from] = NONE;
	return true;
}

static bool w_exchange(struct world *w)
{
	if (!w->name[A] || !w->name[B] || w->name[A] == w->name[B])
		return false;
	w->obj[w->name[A]]++;
	w->obj[w->name[B]]++;
	w->dir++;
	swap(w->name[A], w->name[B]);
	return true;
}

#define NR_ACTIONS	11

/* What another client may do. */
static void other_does(struct world *w, unsigned int action)
{
	switch (action) {
	case 0:
	case 1:
		w_unlink(w, action);
		break;
	case 2:
	case 3:
		w_link(w, X, action - 2);
		break;
	case 4:
	case 5:
		w_link(w, Y, action - 4);
		break;
	case 6:
		w_rename(w, A, B);
		break;
	case 7:
		w_rename(w, B, A);
		break;
	case 8:
		w_exchange(w);
		break;
	case 9:
		w->obj[X]++;
		break;
	case 10:
		w->dir++;
		break;
	}
}

/* Calls, which mean X: by the name A, or, to link it, by its handle. */
enum call { UNLINK, LINK, RENAME, EXCHANGE, MAKE, NR_CALLS };

static const char * const call_names[] = { "unlink", "link", "rename", "exchange", "make" };

/* Whether it has changed anything. */
static bool call_runs(struct world *w, enum call call)
{
	switch (call) {
	case UNLINK:
		return w_unlink(w, A);
	case LINK:
		return w_link(w, X, A);
	case RENAME:
		return w_rename(w, A, B);
	case EXCHANGE:
		return w_exchange(w);
	default:
		return w_link(w, Y, A);
	}
}

static enum rdmafs_stands stands(const struct world *w, unsigned int name)
{
	if (!w->name[name])
		return RDMAFS_STANDS_NONE;
	return w->name[name] == X ? RDMAFS_STANDS_MEANT : RDMAFS_STANDS_OTHER;
}

/* What the rules make of the world as it is now, if it was @known before. */
static enum rdmafs_outcome judge(const struct world *w, const struct world *known, enum call call)
{
	struct rdmafs_shown s = { .same_dir = w->dir == known->dir };
	/* An object's cookie is seen where a name leads to it; LINK asks for it otherwise. */
	bool same = w->obj[X] == known->obj[X];

	switch (call) {
	case UNLINK:
		s.name = stands(w, A);
		s.same_obj = s.name == RDMAFS_STANDS_MEANT && same;
		return rdmafs_outcome_remove(&s);
	case LINK:
		s.name = stands(w, A);
		s.same_obj = same;
		return rdmafs_outcome_link(&s);
	case RENAME:
	case EXCHANGE:
		s.name = stands(w, B);
		s.old = stands(w, A);
		s.same_obj = (w->name[A] == X || w->name[B] == X) && same;
		s.swapped = w->name[A] && w->name[A] == known->name[B];
		return rdmafs_outcome_rename(&s, call == EXCHANGE);
	default:
		return rdmafs_outcome_make(&s, false);
	}
}

/* Is what the caller has asked for there? */
static bool effect_there(const struct world *w, const struct world *known, enum call call)
{
	switch (call) {
	case UNLINK:
		return w->name[A] != X;
	case LINK:
		return w->name[A] == X;
	case RENAME:
		return w->name[B] == X && w->name[A] != X;
	case EXCHANGE:
		return w->name[B] == X && w->name[A] != X && w->name[A] == known->name[B];
	default:
		return false;
	}
}

struct tally {
	unsigned int wrong;
	unsigned int again;
	unsigned int done;
	unsigned int unknown;
};

/* One history: @at is how many steps of others come before the call; more than there are: none. */
static void history(struct kunit *test, const struct world *known, enum call call,
		    const unsigned int *action, unsigned int nr, unsigned int at, struct tally *t)
{
	struct world w = *known;
	bool ran = false;
	unsigned int i;
	bool good = true;

	for (i = 0; i <= nr; i++) {
		if (i == at)
			ran = call_runs(&w, call);
		if (i < nr)
			other_does(&w, action[i]);
	}
	switch (judge(&w, known, call)) {
	case RDMAFS_OUTCOME_AGAIN:
		t->again++;
		good = !ran;
		break;
	case RDMAFS_OUTCOME_DONE:
		t->done++;
		good = effect_there(&w, known, call);
		break;
	case RDMAFS_OUTCOME_UNKNOWN:
		t->unknown++;
		/* Where nobody came between, and the client was right, it has to be known. */
		good = nr || (ran && (call == MAKE || known->name[A] != X));
		break;
	}
	t->wrong += !good;
	KUNIT_EXPECT_TRUE_MSG(test, good, "%s, names %u, %u: others %u, %u, %u (%u), call after %u",
			      call_names[call], known->name[A], known->name[B], action[0],
			      action[1], action[2], nr, at);
}

/* All histories from one beginning. */
static void histories(struct kunit *test, const struct world *known, enum call call,
		      struct tally *t)
{
	unsigned int action[STEPS] = {}, nr, at, i, n, code, all;

	for (nr = 0, all = 1; nr <= STEPS; nr++, all *= NR_ACTIONS) {
		for (code = 0; code < all; code++) {
			for (i = 0, n = code; i < nr; i++, n /= NR_ACTIONS)
				action[i] = n % NR_ACTIONS;
			for (at = 0; at <= nr + 1; at++) {
				history(test, known, call, action, nr, at, t);
				/* One that is wrong shows enough. */
				if (t->wrong)
					return;
			}
		}
	}
}

/* A call is found to be executed, or not to be, only if it is true, whatever others do. */
static void all_histories(struct kunit *test)
{
	struct world known = {};
	struct tally t;
	enum call call;

	for (call = 0; call < NR_CALLS; call++) {
		t = (struct tally){};
		/* Also where the client is wrong about what the names stand for. */
		for (known.name[A] = NONE; known.name[A] < NR_OBJS; known.name[A]++)
			for (known.name[B] = NONE; known.name[B] < NR_OBJS; known.name[B]++)
				histories(test, &known, call, &t);
		KUNIT_EXPECT_GT_MSG(test, t.again, 0, "%s", call_names[call]);
		KUNIT_EXPECT_GT_MSG(test, t.unknown, 0, "%s", call_names[call]);
		if (call != MAKE)
			KUNIT_EXPECT_GT_MSG(test, t.done, 0, "%s", call_names[call]);
	}
}

/* A name that was removed and given again to the same file is not removed once more. */
static void removed_and_linked(struct kunit *test)
{
	struct rdmafs_shown s = { .name = RDMAFS_STANDS_MEANT };

	KUNIT_EXPECT_EQ(test, rdmafs_outcome_remove(&s), RDMAFS_OUTCOME_UNKNOWN);
	s.same_obj = true;
	KUNIT_EXPECT_EQ(test, rdmafs_outcome_remove(&s), RDMAFS_OUTCOME_AGAIN);
	s.name = RDMAFS_STANDS_OTHER;
	s.same_obj = false;
	KUNIT_EXPECT_EQ(test, rdmafs_outcome_remove(&s), RDMAFS_OUTCOME_DONE);
}

/* A name that was given and removed again is not given once more; nor is one moved back. */
static void undone_by_others(struct kunit *test)
{
	struct rdmafs_shown s = { .name = RDMAFS_STANDS_NONE, .old = RDMAFS_STANDS_MEANT };

	KUNIT_EXPECT_EQ(test, rdmafs_outcome_link(&s), RDMAFS_OUTCOME_UNKNOWN);
	KUNIT_EXPECT_EQ(test, rdmafs_outcome_rename(&s, false), RDMAFS_OUTCOME_UNKNOWN);
	s.same_obj = true;
	KUNIT_EXPECT_EQ(test, rdmafs_outcome_link(&s), RDMAFS_OUTCOME_AGAIN);
	KUNIT_EXPECT_EQ(test, rdmafs_outcome_rename(&s, false), RDMAFS_OUTCOME_AGAIN);
}

/* Nothing is taken for made because it is there. */
static void made_by_others(struct kunit *test)
{
	struct rdmafs_shown s = { .name = RDMAFS_STANDS_OTHER };

	KUNIT_EXPECT_EQ(test, rdmafs_outcome_make(&s, false), RDMAFS_OUTCOME_UNKNOWN);
	KUNIT_EXPECT_EQ(test, rdmafs_outcome_make(&s, true), RDMAFS_OUTCOME_DONE);
	s.same_dir = true;
	KUNIT_EXPECT_EQ(test, rdmafs_outcome_make(&s, false), RDMAFS_OUTCOME_AGAIN);
}

/* A file that others have changed is not changed once more, unless it is as it is to be. */
static void changes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rdmafs_outcome_change(true, false), RDMAFS_OUTCOME_AGAIN);
	KUNIT_EXPECT_EQ(test, rdmafs_outcome_change(true, true), RDMAFS_OUTCOME_AGAIN);
	KUNIT_EXPECT_EQ(test, rdmafs_outcome_change(false, true), RDMAFS_OUTCOME_DONE);
	KUNIT_EXPECT_EQ(test, rdmafs_outcome_change(false, false), RDMAFS_OUTCOME_UNKNOWN);
}

static struct kunit_case outcome_cases[] = {
	KUNIT_CASE(all_histories),
	KUNIT_CASE(removed_and_linked),
	KUNIT_CASE(undone_by_others),
	KUNIT_CASE(made_by_others),
	KUNIT_CASE(changes),
	{}
};

static struct kunit_suite outcome_suite = {
	.name = "rdmafs_client_outcome",
	.test_cases = outcome_cases,
};

kunit_test_suite(outcome_suite);
