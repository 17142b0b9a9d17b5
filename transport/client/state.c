// SPDX-License-Identifier: GPL-2.0
/*
 * The tables of states, and the timing of attempts to connect.
 *
 * An event that the table of sessions does not name leaves the state as it is: events may come
 * late, as when a session is aborted while it is being connected.  An event that the table of
 * calls does not name is impossible: either the server breaks the protocol, or the client has a
 * bug.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include "transport/client/state.h"

/**
 * rxp_state_next - look up where an event takes a mount's session
 * @state: its state
 * @event: the event
 *
 * Context: any; pure.
 *
 * Return: the next state, which may be the same.
 */
enum rxp_state rxp_state_next(enum rxp_state state, enum rxp_event event)
{
	/* No event leads to RXP_CONNECTING, so it stands for "the same". */
	static const u8 next[RXP_NR_STATES][RXP_NR_EVENTS] = {
		[RXP_CONNECTING] = {
			[RXP_EV_BOUND]	= RXP_UP,
		},
		[RXP_UP] = {
			[RXP_EV_LOST]	= RXP_DOWN,
			[RXP_EV_FAIL]	= RXP_FAILING,
			[RXP_EV_END]	= RXP_ENDED,
			[RXP_EV_ABORT]	= RXP_ABORTED,
		},
		[RXP_DOWN] = {
			[RXP_EV_BOUND]	= RXP_UP,
			[RXP_EV_FAIL]	= RXP_FAILING,
			[RXP_EV_END]	= RXP_ENDED,
			[RXP_EV_ABORT]	= RXP_ABORTED,
		},
		[RXP_FAILING] = {
			[RXP_EV_FAILED]	= RXP_DOWN,
			[RXP_EV_END]	= RXP_ENDED,
			[RXP_EV_ABORT]	= RXP_ABORTED,
		},
		[RXP_ENDED] = {
			[RXP_EV_ABORT]	= RXP_ABORTED,
		},
	};

	return next[state][event] ?: state;
}

/**
 * rxp_call_next - look up where an event takes a call
 * @state: its state
 * @event: the event
 *
 * Context: any; pure.
 *
 * Return: enum rxp_call_state, which may be the same; -EPROTO: the event can't come in @state.
 */
int rxp_call_next(enum rxp_call_state state, enum rxp_call_event event)
{
	/* Entries are the state plus one, so that 0 stands for "impossible". */
#define TO(state)	(RXP_CALL_##state + 1)
	static const u8 next[RXP_NR_CALL_STATES][RXP_NR_CALL_EVENTS] = {
		[RXP_CALL_FREE] = {
			[RXP_CALL_EV_SEND]	 = TO(SENT),
			[RXP_CALL_EV_HOLD]	 = TO(HELD),
			[RXP_CALL_EV_OPEN]	 = TO(MAPPING),
			[RXP_CALL_EV_LOSE]	 = TO(FREE),
		},
		[RXP_CALL_SENT] = {
			[RXP_CALL_EV_CANCEL]	 = TO(CANCELLED),
			[RXP_CALL_EV_LOSE]	 = TO(LOST),
			[RXP_CALL_EV_REPLY]	 = TO(ANSWERED),
		},
		[RXP_CALL_MAPPING] = {
			[RXP_CALL_EV_MAPPED]	 = TO(HELD),
			[RXP_CALL_EV_REGISTERED] = TO(FOLLOWED),
			[RXP_CALL_EV_UNMAPPABLE] = TO(CANCELLED),
			[RXP_CALL_EV_LOSE]	 = TO(LOST_MAPPING),
			[RXP_CALL_EV_STCRW]	 = TO(TAGGED),
			[RXP_CALL_EV_REPLY]	 = TO(ANSWERED_MAPPING),
		},
		[RXP_CALL_TAGGED] = {
			[RXP_CALL_EV_MAPPED]	 = TO(FOLLOWED),
			[RXP_CALL_EV_UNMAPPABLE] = TO(CANCELLED),
			[RXP_CALL_EV_LOSE]	 = TO(LOST_MAPPING),
			[RXP_CALL_EV_REPLY]	 = TO(ANSWERED_MAPPING),
		},
		[RXP_CALL_HELD] = {
			[RXP_CALL_EV_LOSE]	 = TO(LOST),
			[RXP_CALL_EV_STCRW]	 = TO(FOLLOWED),
			[RXP_CALL_EV_REPLY]	 = TO(ANSWERED),
		},
		[RXP_CALL_FOLLOWED] = {
			[RXP_CALL_EV_FOLLOWED]	 = TO(SENT),
			[RXP_CALL_EV_LOSE]	 = TO(LOST),
			[RXP_CALL_EV_REPLY]	 = TO(ANSWERED),
		},
		/* An STCRW or a reply may cross the CANCEL on the way. */
		[RXP_CALL_CANCELLED] = {
			[RXP_CALL_EV_FOLLOWED]	 = TO(CANCELLED),
			[RXP_CALL_EV_LOSE]	 = TO(LOST),
			[RXP_CALL_EV_STCRW]	 = TO(CANCELLED),
			[RXP_CALL_EV_DROP]	 = TO(DROPPED),
			[RXP_CALL_EV_CANCELLED]	 = TO(ANSWERED),
			[RXP_CALL_EV_REPLY]	 = TO(ANSWERED),
		},
		[RXP_CALL_DROPPED] = {
			[RXP_CALL_EV_FOLLOWED]	 = TO(DROPPED),
			[RXP_CALL_EV_LOSE]	 = TO(LOST),
			[RXP_CALL_EV_CANCELLED]	 = TO(ANSWERED),
			[RXP_CALL_EV_REPLY]	 = TO(ANSWERED),
		},
		[RXP_CALL_LOST] = {
			[RXP_CALL_EV_SEND]	 = TO(SENT),
			[RXP_CALL_EV_HOLD]	 = TO(HELD),
			[RXP_CALL_EV_VOID]	 = TO(CANCELLED),
			[RXP_CALL_EV_FOLLOWED]	 = TO(LOST),
			[RXP_CALL_EV_LOSE]	 = TO(LOST),
			[RXP_CALL_EV_FAIL]	 = TO(ANSWERED),
		},
		[RXP_CALL_LOST_MAPPING] = {
			[RXP_CALL_EV_MAPPED]	 = TO(LOST),
			[RXP_CALL_EV_REGISTERED] = TO(LOST),
			[RXP_CALL_EV_UNMAPPABLE] = TO(LOST),
			[RXP_CALL_EV_LOSE]	 = TO(LOST_MAPPING),
		},
		[RXP_CALL_ANSWERED] = {
			[RXP_CALL_EV_FOLLOWED]	 = TO(ANSWERED),
			[RXP_CALL_EV_LOSE]	 = TO(ANSWERED),
			[RXP_CALL_EV_END]	 = TO(FREE),
		},
		[RXP_CALL_ANSWERED_MAPPING] = {
			[RXP_CALL_EV_MAPPED]	 = TO(ANSWERED),
			[RXP_CALL_EV_REGISTERED] = TO(ANSWERED),
			[RXP_CALL_EV_UNMAPPABLE] = TO(ANSWERED),
			[RXP_CALL_EV_LOSE]	 = TO(ANSWERED_MAPPING),
		},
	};
#undef TO

	return next[state][event] ? next[state][event] - 1 : -EPROTO;
}

/**
 * rxp_call_unanswered - test whether a call waits for its reply
 * @state: the call's
 *
 * Context: any; pure.
 *
 * Return: true if it does.
 */
bool rxp_call_unanswered(enum rxp_call_state state)
{
	return state > RXP_CALL_FREE && state < RXP_CALL_ANSWERED;
}

/**
 * rxp_call_being_mapped - test whether the submitter is mapping a call's pages
 * @state: the call's
 *
 * Context: any; pure.
 *
 * Return: true if it is: only the submitter may touch the mapping.
 */
bool rxp_call_being_mapped(enum rxp_call_state state)
{
	switch (state) {
	case RXP_CALL_MAPPING:
	case RXP_CALL_TAGGED:
	case RXP_CALL_LOST_MAPPING:
	case RXP_CALL_ANSWERED_MAPPING:
		return true;
	default:
		return false;
	}
}

/* Time for one step of an attempt to connect, in milliseconds, at first and at most. */
#define RXP_STEP_MIN	1000U
#define RXP_STEP_MAX	4000U
/* Attempts with the shortest step: most outages are over by then. */
#define RXP_STEP_SHORT	4U
/* Time from one attempt to the next, likewise. */
#define RXP_DELAY_MIN	20U
#define RXP_DELAY_MAX	2000U

/**
 * rxp_retry_step - choose how long each step of the next attempt to connect may take
 * @attempts: number of attempts that have failed
 *
 * The CM's own retry takes 4.3 s, so that steps are shorter at first.  But a server that
 * accepts a thousand clients at once is slow, and a client that gives up too soon only makes it
 * slower: so steps grow.
 *
 * Context: any; pure.
 *
 * Return: milliseconds.
 */
unsigned int rxp_retry_step(unsigned int attempts)
{
	return min(RXP_STEP_MIN << min(attempts / RXP_STEP_SHORT, 2U), RXP_STEP_MAX);
}

/**
 * rxp_retry_delay - choose how long to wait before the next attempt to connect
 * @attempts: number of attempts that have failed
 * @random:   any number
 *
 * The delay doubles each time up to a bound, and up to half of it is taken off by chance, so
 * that the clients of a server that comes back do not all connect at once.
 *
 * Context: any; pure.
 *
 * Return: milliseconds.
 */
unsigned int rxp_retry_delay(unsigned int attempts, u32 random)
{
	unsigned int delay = min(RXP_DELAY_MIN << min(attempts, 7U), RXP_DELAY_MAX);

	return delay - random % (delay / 2);
}
