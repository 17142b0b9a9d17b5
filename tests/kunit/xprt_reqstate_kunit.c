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
	return state == RXS_REQ_ANSWERED || state == RXS_REQ_GONE;
}

/* Only a message on the request's connection moves it on. */
static bool state_passive(int state)
{
	return state == RXS_REQ_WAITING || state == RXS_REQ_HELD;
}

/*
 * The loss of a connection must end requests that only this connection could move on, and no
 * others.
 */
static void reqstate_unbind(struct kunit *test)
{
	int state, next;

	for (state = 0; state < RXS_NR_REQ_STATES; state++) {
		next = rxs_req_next(state, RXS_REQ_UNBIND);
		if (state_over(state))
			KUNIT_EXPECT_EQ(test, next, -EPROTO);
		else
			KUNIT_EXPECT_EQ(test, next, state_passive(state) ? RXS_REQ_GONE : state);
	}
}

/*
 * A CALL that comes again must change nothing; where the request depends on its first
 * connection it cannot come.
 */
static void reqstate_replay(struct kunit *test)
{
	int state, next;

	for (state = 0; state < RXS_NR_REQ_STATES; state++) {
		next = rxs_req_next(state, RXS_REQ_REPLAY);
		if (state_over(state) || state_passive(state) || state == RXS_REQ_INVALIDATING)
			KUNIT_EXPECT_EQ(test, next, -EPROTO);
		else
			KUNIT_EXPECT_EQ(test, next, state);
	}
}

/* A request that is over must stay so: it is answered, or dropped, once. */
static void reqstate_once(struct kunit *test)
{
	int event;

	for (event = 0; event < RXS_NR_REQ_EVENTS; event++) {
		KUNIT_EXPECT_EQ(test, rxs_req_next(RXS_REQ_ANSWERED, event), -EPROTO);
		KUNIT_EXPECT_EQ(test, rxs_req_next(RXS_REQ_GONE, event), -EPROTO);
	}
}

/* The service must get a request once, and only when its data has come. */
static void reqstate_serve(struct kunit *test)
{
	int state, event, next;

	for (state = 0; state < RXS_NR_REQ_STATES; state++) {
		next = rxs_req_next(state, RXS_REQ_SERVE);
		if (state == RXS_REQ_QUEUED || state == RXS_REQ_READY)
			KUNIT_EXPECT_EQ(test, next, RXS_REQ_SERVING);
		else
			KUNIT_EXPECT_EQ(test, next, -EPROTO);
		for (event = 0; event < RXS_NR_REQ_EVENTS; event++) {
			next = rxs_req_next(state, event);
			if (next == RXS_REQ_SERVING && state != RXS_REQ_SERVING)
				KUNIT_EXPECT_EQ(test, event, RXS_REQ_SERVE);
			/* While a key of the sink may be valid its pages must not be read. */
			if (state == RXS_REQ_WAITING || state == RXS_REQ_INVALIDATING)
				KUNIT_EXPECT_NE(test, next, RXS_REQ_SERVING);
		}
	}
}

/* No state may be reached a second time after another one. */
static void reqstate_one_way(struct kunit *test)
{
	int state, event, next;

	for (state = 0; state < RXS_NR_REQ_STATES; state++) {
		for (event = 0; event < RXS_NR_REQ_EVENTS; event++) {
			next = rxs_req_next(state, event);
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
	  { RXS_REQ_FETCH, RXS_REQ_SEND_STCRW, RXS_REQ_DATA, RXS_REQ_SERVE, RXS_REQ_ANSWER, -1 },
	  { RXS_REQ_FETCHING, RXS_REQ_WAITING, RXS_REQ_READY, RXS_REQ_SERVING, RXS_REQ_ANSWERED } },
	{ "whose key we take back",
	  { RXS_REQ_FETCH, RXS_REQ_SEND_STCRW, RXS_REQ_INVALIDATE, RXS_REQ_INVALIDATED,
	    RXS_REQ_SERVE, RXS_REQ_ANSWER, -1 },
	  { RXS_REQ_FETCHING, RXS_REQ_WAITING, RXS_REQ_INVALIDATING, RXS_REQ_READY,
	    RXS_REQ_SERVING, RXS_REQ_ANSWERED } },
	{ "which is cancelled",
	  { RXS_REQ_FETCH, RXS_REQ_SEND_STCRW, RXS_REQ_INVALIDATE, RXS_REQ_ANSWER, -1 },
	  { RXS_REQ_FETCHING, RXS_REQ_WAITING, RXS_REQ_INVALIDATING, RXS_REQ_ANSWERED } },
	{ "for which there is a sink only later",
	  { RXS_REQ_FETCH, RXS_REQ_CLAIM, RXS_REQ_SEND_STCRW, RXS_REQ_DATA, RXS_REQ_SERVE,
	    RXS_REQ_ANSWER, -1 },
	  { RXS_REQ_FETCHING, RXS_REQ_CLAIMING, RXS_REQ_WAITING, RXS_REQ_READY, RXS_REQ_SERVING,
	    RXS_REQ_ANSWERED } },
	{ "which stands in line once more, on another connection",
	  { RXS_REQ_FETCH, RXS_REQ_CLAIM, RXS_REQ_UNBIND, RXS_REQ_REPLAY, RXS_REQ_CLAIM,
	    RXS_REQ_SEND_STCRW, -1 },
	  { RXS_REQ_FETCHING, RXS_REQ_CLAIMING, RXS_REQ_CLAIMING, RXS_REQ_CLAIMING,
	    RXS_REQ_CLAIMING, RXS_REQ_WAITING } },
	{ "which is called off in line",
	  { RXS_REQ_FETCH, RXS_REQ_CLAIM, RXS_REQ_ANSWER, -1 },
	  { RXS_REQ_FETCHING, RXS_REQ_CLAIMING, RXS_REQ_ANSWERED } },
	{ "for which there is no sink",
	  { RXS_REQ_FETCH, RXS_REQ_ANSWER, -1 }, { RXS_REQ_FETCHING, RXS_REQ_ANSWERED } },
	{ "granted",
	  { RXS_REQ_DATA, RXS_REQ_SERVE, RXS_REQ_ANSWER, -1 },
	  { RXS_REQ_READY, RXS_REQ_SERVING, RXS_REQ_ANSWERED } },
	{ "a large read, overlapped",
	  { RXS_REQ_SERVE, RXS_REQ_HOLD, RXS_REQ_ANSWER, -1 },
	  { RXS_REQ_SERVING, RXS_REQ_HELD, RXS_REQ_ANSWERED } },
	{ "served where it arrived", { RXS_REQ_ANSWER, -1 }, { RXS_REQ_ANSWERED } },
};

/* The paths above must be possible from QUEUED on. */
static void reqstate_paths(struct kunit *test)
{
	int i, step, state;

	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		state = RXS_REQ_QUEUED;
		for (step = 0; paths[i].event[step] >= 0; step++) {
			state = rxs_req_next(state, paths[i].event[step]);
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
