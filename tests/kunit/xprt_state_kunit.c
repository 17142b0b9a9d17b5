// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_state: the states of a mount's session and of its calls (client/state.c).
 * Each event must lead from each state to the right one.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include "transport/client/state.h"

/* The next state for the events bound, lost, fail, failed, end and abort, in this order. */
static const u8 state_want[RXC_NR_STATES][RXC_NR_EVENTS] = {
	[RXC_CONNECTING] = { RXC_UP, RXC_CONNECTING, RXC_CONNECTING, RXC_CONNECTING,
			     RXC_CONNECTING, RXC_CONNECTING },
	[RXC_UP] = { RXC_UP, RXC_DOWN, RXC_FAILING, RXC_UP, RXC_ENDED, RXC_ABORTED },
	[RXC_DOWN] = { RXC_UP, RXC_DOWN, RXC_FAILING, RXC_DOWN, RXC_ENDED, RXC_ABORTED },
	[RXC_FAILING] = { RXC_FAILING, RXC_FAILING, RXC_FAILING, RXC_DOWN, RXC_ENDED,
			  RXC_ABORTED },
	[RXC_ENDED] = { RXC_ENDED, RXC_ENDED, RXC_ENDED, RXC_ENDED, RXC_ENDED, RXC_ABORTED },
	[RXC_ABORTED] = { RXC_ABORTED, RXC_ABORTED, RXC_ABORTED, RXC_ABORTED, RXC_ABORTED,
			  RXC_ABORTED },
};

static void state_session(struct kunit *test)
{
	u32 state, event;

	for (state = 0; state < RXC_NR_STATES; state++)
		for (event = 0; event < RXC_NR_EVENTS; event++)
			KUNIT_EXPECT_EQ_MSG(test, rxc_state_next(state, event),
					    state_want[state][event], "state %u, event %u",
					    state, event);
}

/* The events that are allowed in each state, and where they lead; all others are refused. */
static const struct state_call_step {
	enum rxc_call_state from;
	enum rxc_call_event event;
	enum rxc_call_state to;
} state_call_want[] = {
#define STEP(from, event, to) { RXC_CALL_##from, RXC_CALL_EV_##event, RXC_CALL_##to }
	STEP(FREE, SEND, SENT),
	STEP(FREE, HOLD, HELD),
	STEP(FREE, SEND_UNMAPPED, MAPPING),
	STEP(FREE, LOSE, FREE),
	STEP(SENT, CANCEL, CANCELLED),
	STEP(SENT, LOSE, LOST),
	STEP(SENT, REPLY, ANSWERED),
	STEP(MAPPING, MAPPED, HELD),
	STEP(MAPPING, REGISTERED, FOLLOWED),
	STEP(MAPPING, UNMAPPABLE, CANCELLED),
	STEP(MAPPING, LOSE, LOST_MAPPING),
	STEP(MAPPING, STCRW, TAGGED),
	STEP(MAPPING, REPLY, ANSWERED_MAPPING),
	STEP(TAGGED, MAPPED, FOLLOWED),
	STEP(TAGGED, UNMAPPABLE, CANCELLED),
	STEP(TAGGED, LOSE, LOST_MAPPING),
	STEP(TAGGED, REPLY, ANSWERED_MAPPING),
	STEP(HELD, LOSE, LOST),
	STEP(HELD, STCRW, FOLLOWED),
	STEP(HELD, REPLY, ANSWERED),
	STEP(FOLLOWED, FOLLOWED, SENT),
	STEP(FOLLOWED, LOSE, LOST),
	STEP(FOLLOWED, REPLY, ANSWERED),
	STEP(CANCELLED, FOLLOWED, CANCELLED),
	STEP(CANCELLED, LOSE, LOST),
	STEP(CANCELLED, STCRW, CANCELLED),
	STEP(CANCELLED, REVOKED, REVOKED),
	STEP(CANCELLED, CANCELLED, ANSWERED),
	STEP(CANCELLED, REPLY, ANSWERED),
	STEP(REVOKED, FOLLOWED, REVOKED),
	STEP(REVOKED, LOSE, LOST),
	STEP(REVOKED, CANCELLED, ANSWERED),
	STEP(REVOKED, REPLY, ANSWERED),
	STEP(LOST, SEND, SENT),
	STEP(LOST, HOLD, HELD),
	STEP(LOST, VOID, CANCELLED),
	STEP(LOST, FOLLOWED, LOST),
	STEP(LOST, LOSE, LOST),
	STEP(LOST, FAIL, ANSWERED),
	STEP(LOST_MAPPING, MAPPED, LOST),
	STEP(LOST_MAPPING, REGISTERED, LOST),
	STEP(LOST_MAPPING, UNMAPPABLE, LOST),
	STEP(LOST_MAPPING, LOSE, LOST_MAPPING),
	STEP(ANSWERED, FOLLOWED, ANSWERED),
	STEP(ANSWERED, LOSE, ANSWERED),
	STEP(ANSWERED, END, FREE),
	STEP(ANSWERED_MAPPING, MAPPED, ANSWERED),
	STEP(ANSWERED_MAPPING, REGISTERED, ANSWERED),
	STEP(ANSWERED_MAPPING, UNMAPPABLE, ANSWERED),
	STEP(ANSWERED_MAPPING, LOSE, ANSWERED_MAPPING),
#undef STEP
};

static int state_call_wanted(u32 from, u32 event)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(state_call_want); i++)
		if (state_call_want[i].from == from && state_call_want[i].event == event)
			return state_call_want[i].to;
	return -EPROTO;
}

static void state_call(struct kunit *test)
{
	u32 from, event;

	for (from = 0; from < RXC_NR_CALL_STATES; from++)
		for (event = 0; event < RXC_NR_CALL_EVENTS; event++)
			KUNIT_EXPECT_EQ_MSG(test, rxc_call_next(from, event),
					    state_call_wanted(from, event), "state %u, event %u",
					    from, event);
}

static bool state_maps(u32 event)
{
	return event >= RXC_CALL_EV_MAPPED && event <= RXC_CALL_EV_UNMAPPABLE;
}

static bool state_sent(u32 state)
{
	return rxc_call_unanswered(state) && state != RXC_CALL_LOST &&
	       state != RXC_CALL_LOST_MAPPING;
}

/* Rules that must hold for the table; see the description of each state. */
static void state_call_rules(struct kunit *test)
{
	u32 from, event;
	int to;

	for (from = 0; from < RXC_NR_CALL_STATES; from++) {
		/*
		 * A connection may be lost at any time; then no call may wait for a message on
		 * it any more.
		 */
		to = rxc_call_next(from, RXC_CALL_EV_LOSE);
		KUNIT_ASSERT_GE(test, to, 0);
		if (rxc_call_unanswered(from))
			KUNIT_EXPECT_TRUE(test, to == RXC_CALL_LOST || to == RXC_CALL_LOST_MAPPING);
		KUNIT_EXPECT_EQ(test, rxc_call_being_mapped(to), rxc_call_being_mapped(from));
		for (event = 0; event < RXC_NR_CALL_EVENTS; event++) {
			to = rxc_call_next(from, event);
			if (to < 0)
				continue;
			/* A call must be answered once; then its slot is free. */
			if (!rxc_call_unanswered(from) && from != RXC_CALL_FREE)
				KUNIT_EXPECT_FALSE(test, rxc_call_unanswered(to));
			/* Only the call's submitter may end the mapping. */
			if (rxc_call_being_mapped(from) && !rxc_call_being_mapped(to))
				KUNIT_EXPECT_TRUE(test, state_maps(event));
			/* The server may send nothing about a slot that has no CALL. */
			if (event >= RXC_CALL_EV_STCRW)
				KUNIT_EXPECT_TRUE(test, state_sent(from));
		}
	}
}

/*
 * The delays must grow up to a bound, and be spread so that clients do not come at the same
 * time.
 */
static void state_retry(struct kunit *test)
{
	u32 attempts, random, delay, least, most;

	for (attempts = 0; attempts < 100; attempts++) {
		least = U32_MAX;
		most = 0;
		for (random = 0; random < 4000; random++) {
			delay = rxc_retry_delay(attempts, random);
			least = min(least, delay);
			most = max(most, delay);
		}
		KUNIT_EXPECT_EQ(test, most, min(20U << min(attempts, 10U), 2000U));
		KUNIT_EXPECT_EQ(test, least, most / 2 + 1);
		KUNIT_EXPECT_LE(test, rxc_retry_delay(attempts, U32_MAX), most);
	}
	KUNIT_EXPECT_EQ(test, rxc_retry_step(0), 1000);
	KUNIT_EXPECT_EQ(test, rxc_retry_step(3), 1000);
	KUNIT_EXPECT_EQ(test, rxc_retry_step(4), 2000);
	KUNIT_EXPECT_EQ(test, rxc_retry_step(8), 4000);
	KUNIT_EXPECT_EQ(test, rxc_retry_step(U32_MAX), 4000);
}

static struct kunit_case state_cases[] = {
	KUNIT_CASE(state_retry),
	KUNIT_CASE(state_session),
	KUNIT_CASE(state_call),
	KUNIT_CASE(state_call_rules),
	{}
};

static struct kunit_suite state_suite = {
	.name = "rdmafs_xprt_state",
	.test_cases = state_cases,
};

kunit_test_suite(state_suite);
