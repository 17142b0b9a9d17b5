// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_sessionstate: the states of a session on the server (sessionstate.c), each
 * event in each state.  The cases state rules that the table must obey; they do not repeat the
 * table.
 */
#include <kunit/test.h>
#include "transport/server/sessionstate.h"

/* A worker makes the session. */
static bool state_made_now(int state)
{
	return state == RXS_SESSION_MAKING || state == RXS_SESSION_ABANDONED;
}

/* A session must go forward only: one that is closed must never be opened again. */
static void sessionstate_one_way(struct kunit *test)
{
	int state, event, next;

	for (state = 0; state < RXS_NR_SESSION_STATES; state++) {
		for (event = 0; event < RXS_NR_SESSION_EVENTS; event++) {
			next = rxs_session_next(state, event);
			if (next < 0)
				KUNIT_EXPECT_EQ(test, next, -EPROTO);
			else
				KUNIT_EXPECT_GE(test, next, state);
		}
	}
}

/* The worker that makes a session must be done with it once, and before the session ends. */
static void sessionstate_made_once(struct kunit *test)
{
	static const int done[] = { RXS_SESSION_MADE, RXS_SESSION_FAIL };
	int state, i, next;

	for (state = 0; state < RXS_NR_SESSION_STATES; state++) {
		if (state_made_now(state))
			KUNIT_EXPECT_LT(test, rxs_session_next(state, RXS_SESSION_EMPTY), 0);
		for (i = 0; i < ARRAY_SIZE(done); i++) {
			next = rxs_session_next(state, done[i]);
			if (state_made_now(state))
				KUNIT_EXPECT_FALSE(test, next < 0 || state_made_now(next));
			else
				KUNIT_EXPECT_EQ(test, next, -EPROTO);
		}
	}
}

/*
 * While a worker makes a session nothing else ends that: a session that is closed meanwhile must
 * not end before its worker is done.  Where no worker makes it, none may be waited for.
 */
static void sessionstate_worker(struct kunit *test)
{
	int state, event, next;

	for (state = 0; state < RXS_NR_SESSION_STATES; state++) {
		for (event = 0; event < RXS_NR_SESSION_EVENTS; event++) {
			next = rxs_session_next(state, event);
			if (next < 0 || event == RXS_SESSION_MADE || event == RXS_SESSION_FAIL)
				continue;
			KUNIT_EXPECT_EQ_MSG(test, state_made_now(next), state_made_now(state),
					    "state %d, event %d", state, event);
		}
	}
}

/* A session opens if its worker has made it, and only then, and only if it is not closed. */
static void sessionstate_open(struct kunit *test)
{
	int state, event, next;

	for (state = 0; state < RXS_NR_SESSION_STATES; state++) {
		for (event = 0; event < RXS_NR_SESSION_EVENTS; event++) {
			next = rxs_session_next(state, event);
			KUNIT_EXPECT_EQ_MSG(test, next == RXS_SESSION_OPEN,
					    state == RXS_SESSION_MAKING &&
					    event == RXS_SESSION_MADE,
					    "state %d, event %d", state, event);
		}
	}
}

/* A session may be closed in any state, and then takes no connections and requests. */
static void sessionstate_close(struct kunit *test)
{
	int state;

	for (state = 0; state < RXS_NR_SESSION_STATES; state++)
		KUNIT_EXPECT_GE(test, rxs_session_next(state, RXS_SESSION_CLOSE),
				RXS_SESSION_ABANDONED);
}

/* Only a session that is closing may end. */
static void sessionstate_end(struct kunit *test)
{
	int state, event, next;

	for (state = 0; state < RXS_NR_SESSION_STATES; state++) {
		for (event = 0; event < RXS_NR_SESSION_EVENTS; event++) {
			next = rxs_session_next(state, event);
			if (next == RXS_SESSION_ENDING && state != RXS_SESSION_ENDING)
				KUNIT_EXPECT_TRUE(test, state == RXS_SESSION_CLOSING &&
						  event == RXS_SESSION_EMPTY);
		}
	}
}

static struct kunit_case sessionstate_cases[] = {
	KUNIT_CASE(sessionstate_one_way),
	KUNIT_CASE(sessionstate_made_once),
	KUNIT_CASE(sessionstate_worker),
	KUNIT_CASE(sessionstate_open),
	KUNIT_CASE(sessionstate_close),
	KUNIT_CASE(sessionstate_end),
	{}
};

static struct kunit_suite sessionstate_suite = {
	.name = "rdmafs_xprt_sessionstate",
	.test_cases = sessionstate_cases,
};

kunit_test_suite(sessionstate_suite);
