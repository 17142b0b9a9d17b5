// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_connstate: the states of a connection (connstate.c), each event in each
 * state.  The cases state rules that the table must obey; they do not repeat the table.
 */
#include <kunit/test.h>
#include "transport/connstate.h"

/* The event that leads on from each state, or -1. */
static const int expected[RXP_NR_CONN_STATES] = {
	[RXP_CONN_NEW] = RXP_CONN_MADE,
	[RXP_CONN_OPEN] = RXP_CONN_GREET,
	[RXP_CONN_HELLO] = RXP_CONN_BIND,
	[RXP_CONN_REFUSED] = -1,
	[RXP_CONN_BOUND] = -1,
	[RXP_CONN_LOST] = -1,
	[RXP_CONN_DEAD] = -1,
};

static bool event_ends(int event)
{
	return event == RXP_CONN_LOSE || event == RXP_CONN_KILL;
}

/* A loss and the end may come at any time, and must never be forgotten. */
static void connstate_ends(struct kunit *test)
{
	int state;

	for (state = 0; state < RXP_NR_CONN_STATES; state++) {
		int lost = rxp_conn_next(state, RXP_CONN_LOSE);

		KUNIT_EXPECT_EQ(test, lost, state == RXP_CONN_DEAD ? RXP_CONN_DEAD : RXP_CONN_LOST);
		KUNIT_EXPECT_EQ(test, rxp_conn_next(state, RXP_CONN_KILL), RXP_CONN_DEAD);
		KUNIT_EXPECT_EQ(test, rxp_conn_next(lost, RXP_CONN_KILL), RXP_CONN_DEAD);
	}
}

/* A party that makes or binds a lost connection must be told so. */
static void connstate_too_late(struct kunit *test)
{
	int event;

	for (event = 0; event < RXP_NR_CONN_EVENTS; event++) {
		if (event_ends(event))
			continue;
		KUNIT_EXPECT_EQ(test, rxp_conn_next(RXP_CONN_LOST, event), -ENOTCONN);
		KUNIT_EXPECT_EQ(test, rxp_conn_next(RXP_CONN_DEAD, event), -ENOTCONN);
	}
}

/* From each state of a living connection one event leads on; a HELLO may also be refused. */
static void connstate_living(struct kunit *test)
{
	int state, event, next;

	for (state = 0; state < RXP_CONN_LOST; state++) {
		for (event = 0; event < RXP_NR_CONN_EVENTS; event++) {
			if (event_ends(event))
				continue;
			next = rxp_conn_next(state, event);
			if (event == expected[state])
				KUNIT_EXPECT_GT(test, next, state);
			else if (state == RXP_CONN_HELLO && event == RXP_CONN_REFUSE)
				KUNIT_EXPECT_EQ(test, next, RXP_CONN_REFUSED);
			else
				KUNIT_EXPECT_EQ(test, next, -EPROTO);
		}
	}
}

/* No state may be reached a second time after another one, by any events. */
static void connstate_one_way(struct kunit *test)
{
	int state, event, next;

	for (state = 0; state < RXP_NR_CONN_STATES; state++) {
		for (event = 0; event < RXP_NR_CONN_EVENTS; event++) {
			next = rxp_conn_next(state, event);
			if (next >= 0)
				KUNIT_EXPECT_GE(test, next, state);
		}
	}
	state = RXP_CONN_NEW;
	state = rxp_conn_next(state, RXP_CONN_MADE);
	KUNIT_EXPECT_EQ(test, state, RXP_CONN_OPEN);
	state = rxp_conn_next(state, RXP_CONN_GREET);
	KUNIT_EXPECT_EQ(test, state, RXP_CONN_HELLO);
	KUNIT_EXPECT_EQ(test, rxp_conn_next(state, RXP_CONN_BIND), RXP_CONN_BOUND);
}

static struct kunit_case connstate_cases[] = {
	KUNIT_CASE(connstate_ends),
	KUNIT_CASE(connstate_too_late),
	KUNIT_CASE(connstate_living),
	KUNIT_CASE(connstate_one_way),
	{}
};

static struct kunit_suite connstate_suite = {
	.name = "rdmafs_xprt_connstate",
	.test_cases = connstate_cases,
};

kunit_test_suite(connstate_suite);
