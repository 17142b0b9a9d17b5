// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_reqstate: the states of a request on the server (reqstate.c), each event
 * in each state.  The cases state rules that the table must obey; they do not repeat the table.
 */
#include <kunit/test.h>
#include "transport/server/reqstate.h"

/* The request has left its slot. */
static bool state_over(int state)
{
	return state == RXP_REQ_ANSWERED || state == RXP_REQ_GONE;
}

/* Only a message on the request's connection moves it on. */
static bool state_passive(int state)
{
	return state == RXP_REQ_WAITING || state == RXP_REQ_HELD;
}

/*
 * The loss of a connection must end requests that only this connection could move on, and no
 * others.
 */
static void reqstate_unbind(struct kunit *test)
{
	int state, next;

	for (state = 0; state < RXP_NR_REQ_STATES; state++) {
		next = rxp_req_next(state, RXP_REQ_UNBIND);
		if (state_over(state))
			KUNIT_EXPECT_EQ(test, next, -EPROTO);
		else
			KUNIT_EXPECT_EQ(test, next, state_passive(state) ? RXP_REQ_GONE : state);
	}
}

/*
 * A CALL that comes again must change nothing; where the request depends on its first
 * connection it cannot come.
 */
static void reqstate_replay(struct kunit *test)
{
	int state, next;

	for (state = 0; state < RXP_NR_REQ_STATES; state++) {
		next = rxp_req_next(state, RXP_REQ_REPLAY);
		if (state_over(state) || state_passive(state) || state == RXP_REQ_INVALIDATING)
			KUNIT_EXPECT_EQ(test, next, -EPROTO);
		else
			KUNIT_EXPECT_EQ(test, next, state);
	}
}

/* A request that is over must stay so: it is answered, or dropped, once. */
static void reqstate_once(struct kunit *test)
{
	int event;

	for (event = 0; event < RXP_NR_REQ_EVENTS; event++) {
		KUNIT_EXPECT_EQ(test, rxp_req_next(RXP_REQ_ANSWERED, event), -EPROTO);
		KUNIT_EXPECT_EQ(test, rxp_req_next(RXP_REQ_GONE, event), -EPROTO);
	}
}

/* The service must get a request once, and only when its data has come. */
static void reqstate_serve(struct kunit *test)
{
	int state, event, next;

	for (state = 0; state < RXP_NR_REQ_STATES; state++) {
		next = rxp_req_next(state, RXP_REQ_SERVE);
		if (state == RXP_REQ_QUEUED || state == RXP_REQ_READY)
			KUNIT_EXPECT_EQ(test, next, RXP_REQ_SERVING);
		else
			KUNIT_EXPECT_EQ(test, next, -EPROTO);
		for (event = 0; event < RXP_NR_REQ_EVENTS; event++) {
			next = rxp_req_next(state, event);
			if (next == RXP_REQ_SERVING && state != RXP_REQ_SERVING)
				KUNIT_EXPECT_EQ(test, event, RXP_REQ_SERVE);
			/* While a key of the sink may be valid its pages must not be read. */
			if (state == RXP_REQ_WAITING || state == RXP_REQ_INVALIDATING)
				KUNIT_EXPECT_NE(test, next, RXP_REQ_SERVING);
		}
	}
}

/* No state may be reached a second time after another one. */
static void reqstate_one_way(struct kunit *test)
{
	int state, event, next;

	for (state = 0; state < RXP_NR_REQ_STATES; state++) {
		for (event = 0; event < RXP_NR_REQ_EVENTS; event++) {
			next = rxp_req_next(state, event);
			if (next >= 0)
				KUNIT_EXPECT_GE(test, next, state);
			else
				KUNIT_EXPECT_EQ(test, next, -EPROTO);
		}
	}
}

static const struct {
	const char *name;
	int event[8];
	int state[8];
} paths[] = {
	{ "a large write, not granted",
	  { RXP_REQ_FETCH, RXP_REQ_ASK, RXP_REQ_DATA, RXP_REQ_SERVE, RXP_REQ_ANSWER, -1 },
	  { RXP_REQ_FETCHING, RXP_REQ_WAITING, RXP_REQ_READY, RXP_REQ_SERVING, RXP_REQ_ANSWERED } },
	{ "whose key we take back",
	  { RXP_REQ_FETCH, RXP_REQ_ASK, RXP_REQ_INVALIDATE, RXP_REQ_INVALIDATED, RXP_REQ_SERVE,
	    RXP_REQ_ANSWER, -1 },
	  { RXP_REQ_FETCHING, RXP_REQ_WAITING, RXP_REQ_INVALIDATING, RXP_REQ_READY,
	    RXP_REQ_SERVING, RXP_REQ_ANSWERED } },
	{ "which is cancelled",
	  { RXP_REQ_FETCH, RXP_REQ_ASK, RXP_REQ_INVALIDATE, RXP_REQ_ANSWER, -1 },
	  { RXP_REQ_FETCHING, RXP_REQ_WAITING, RXP_REQ_INVALIDATING, RXP_REQ_ANSWERED } },
	{ "for which there is a sink only later",
	  { RXP_REQ_FETCH, RXP_REQ_CLAIM, RXP_REQ_ASK, RXP_REQ_DATA, RXP_REQ_SERVE, RXP_REQ_ANSWER,
	    -1 },
	  { RXP_REQ_FETCHING, RXP_REQ_CLAIMING, RXP_REQ_WAITING, RXP_REQ_READY, RXP_REQ_SERVING,
	    RXP_REQ_ANSWERED } },
	{ "which stands in line once more, on another connection",
	  { RXP_REQ_FETCH, RXP_REQ_CLAIM, RXP_REQ_UNBIND, RXP_REQ_REPLAY, RXP_REQ_CLAIM,
	    RXP_REQ_ASK, -1 },
	  { RXP_REQ_FETCHING, RXP_REQ_CLAIMING, RXP_REQ_CLAIMING, RXP_REQ_CLAIMING,
	    RXP_REQ_CLAIMING, RXP_REQ_WAITING } },
	{ "which is called off in line",
	  { RXP_REQ_FETCH, RXP_REQ_CLAIM, RXP_REQ_ANSWER, -1 },
	  { RXP_REQ_FETCHING, RXP_REQ_CLAIMING, RXP_REQ_ANSWERED } },
	{ "for which there is no sink",
	  { RXP_REQ_FETCH, RXP_REQ_ANSWER, -1 }, { RXP_REQ_FETCHING, RXP_REQ_ANSWERED } },
	{ "granted",
	  { RXP_REQ_DATA, RXP_REQ_SERVE, RXP_REQ_ANSWER, -1 },
	  { RXP_REQ_READY, RXP_REQ_SERVING, RXP_REQ_ANSWERED } },
	{ "a large read, overlapped",
	  { RXP_REQ_SERVE, RXP_REQ_HOLD, RXP_REQ_ANSWER, -1 },
	  { RXP_REQ_SERVING, RXP_REQ_HELD, RXP_REQ_ANSWERED } },
	{ "served where it arrived", { RXP_REQ_ANSWER, -1 }, { RXP_REQ_ANSWERED } },
};

/* The paths above must be possible from QUEUED on. */
static void reqstate_paths(struct kunit *test)
{
	int i, step, state;

	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		state = RXP_REQ_QUEUED;
		for (step = 0; paths[i].event[step] >= 0; step++) {
			state = rxp_req_next(state, paths[i].event[step]);
			KUNIT_ASSERT_EQ_MSG(test, state, paths[i].state[step], "%s, step %d",
					    paths[i].name, step);
		}
	}
}

static struct kunit_case reqstate_cases[] = {
	KUNIT_CASE(reqstate_unbind),
	KUNIT_CASE(reqstate_replay),
	KUNIT_CASE(reqstate_once),
	KUNIT_CASE(reqstate_serve),
	KUNIT_CASE(reqstate_one_way),
	KUNIT_CASE(reqstate_paths),
	{}
};

static struct kunit_suite reqstate_suite = {
	.name = "rdmafs_xprt_reqstate",
	.test_cases = reqstate_cases,
};

kunit_test_suite(reqstate_suite);
