// SPDX-License-Identifier: GPL-2.0
/*
 * These tables say which event takes a session, or a call, from which state to which; the last
 * functions say when to try to connect again, and for how long.
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
 * rxc_state_next - look up where an event takes a mount's session
 * @state: its state
 * @event: the event
 *
 * Context: any; pure.
 *
 * Return: the next state, which may be the same.
 */
enum rxc_session_state rxc_state_next(enum rxc_session_state state, enum rxc_session_event event)
{
	/* No event leads to RXC_CONNECTING, so it stands for "the same". */
	static const u8 next[RXC_NR_STATES][RXC_NR_EVENTS] = {
		[RXC_CONNECTING] = {
			[RXC_EV_BOUND]	= RXC_UP,
		},
		[RXC_UP] = {
			[RXC_EV_LOST]	= RXC_DOWN,
			[RXC_EV_FAIL]	= RXC_FAILING,
			[RXC_EV_END]	= RXC_ENDED,
			[RXC_EV_ABORT]	= RXC_ABORTED,
		},
		[RXC_DOWN] = {
			[RXC_EV_BOUND]	= RXC_UP,
			[RXC_EV_FAIL]	= RXC_FAILING,
			[RXC_EV_END]	= RXC_ENDED,
			[RXC_EV_ABORT]	= RXC_ABORTED,
		},
		[RXC_FAILING] = {
			[RXC_EV_FAILED]	= RXC_DOWN,
			[RXC_EV_END]	= RXC_ENDED,
			[RXC_EV_ABORT]	= RXC_ABORTED,
		},
		[RXC_ENDED] = {
			[RXC_EV_ABORT]	= RXC_ABORTED,
		},
	};

	return next[state][event] ?: state;
}

/* Where events take calls.  Entries are the state plus one, so that 0 stands for "impossible". */
#define TO(state)	(RXC_CALL_##state + 1)
static const u8 rxc_call_table[RXC_NR_CALL_STATES][RXC_NR_CALL_EVENTS] = {
	[RXC_CALL_FREE] = {
		[RXC_CALL_EV_SEND]	    = TO(SENT),
		[RXC_CALL_EV_HOLD]	    = TO(HELD),
		[RXC_CALL_EV_SEND_UNMAPPED] = TO(MAPPING),
		[RXC_CALL_EV_LOSE]	    = TO(FREE),
	},
	[RXC_CALL_SENT] = {
		[RXC_CALL_EV_CANCEL]	 = TO(CANCELLED),
		[RXC_CALL_EV_LOSE]	 = TO(LOST),
		[RXC_CALL_EV_REPLY]	 = TO(ANSWERED),
	},
	[RXC_CALL_MAPPING] = {
		[RXC_CALL_EV_MAPPED]	 = TO(HELD),
		[RXC_CALL_EV_REGISTERED] = TO(FOLLOWED),
		[RXC_CALL_EV_UNMAPPABLE] = TO(CANCELLED),
		[RXC_CALL_EV_LOSE]	 = TO(LOST_MAPPING),
		[RXC_CALL_EV_STCRW]	 = TO(TAGGED),
		[RXC_CALL_EV_REPLY]	 = TO(ANSWERED_MAPPING),
	},
	[RXC_CALL_TAGGED] = {
		[RXC_CALL_EV_MAPPED]	 = TO(FOLLOWED),
		[RXC_CALL_EV_UNMAPPABLE] = TO(CANCELLED),
		[RXC_CALL_EV_LOSE]	 = TO(LOST_MAPPING),
		[RXC_CALL_EV_REPLY]	 = TO(ANSWERED_MAPPING),
	},
	[RXC_CALL_HELD] = {
		[RXC_CALL_EV_LOSE]	 = TO(LOST),
		[RXC_CALL_EV_STCRW]	 = TO(FOLLOWED),
		[RXC_CALL_EV_REPLY]	 = TO(ANSWERED),
	},
	[RXC_CALL_FOLLOWED] = {
		[RXC_CALL_EV_FOLLOWED]	 = TO(SENT),
		[RXC_CALL_EV_LOSE]	 = TO(LOST),
		[RXC_CALL_EV_REPLY]	 = TO(ANSWERED),
	},
	/* An STCRW or a reply may cross the CANCEL on the way. */
	[RXC_CALL_CANCELLED] = {
		[RXC_CALL_EV_FOLLOWED]	 = TO(CANCELLED),
		[RXC_CALL_EV_LOSE]	 = TO(LOST),
		[RXC_CALL_EV_STCRW]	 = TO(CANCELLED),
		[RXC_CALL_EV_REVOKED]	 = TO(REVOKED),
		[RXC_CALL_EV_CANCELLED]	 = TO(ANSWERED),
		[RXC_CALL_EV_REPLY]	 = TO(ANSWERED),
	},
	[RXC_CALL_REVOKED] = {
		[RXC_CALL_EV_FOLLOWED]	 = TO(REVOKED),
		[RXC_CALL_EV_LOSE]	 = TO(LOST),
		[RXC_CALL_EV_CANCELLED]	 = TO(ANSWERED),
		[RXC_CALL_EV_REPLY]	 = TO(ANSWERED),
	},
	[RXC_CALL_LOST] = {
		[RXC_CALL_EV_SEND]	 = TO(SENT),
		[RXC_CALL_EV_HOLD]	 = TO(HELD),
		[RXC_CALL_EV_VOID]	 = TO(CANCELLED),
		[RXC_CALL_EV_FOLLOWED]	 = TO(LOST),
		[RXC_CALL_EV_LOSE]	 = TO(LOST),
		[RXC_CALL_EV_FAIL]	 = TO(ANSWERED),
	},
	[RXC_CALL_LOST_MAPPING] = {
		[RXC_CALL_EV_MAPPED]	 = TO(LOST),
		[RXC_CALL_EV_REGISTERED] = TO(LOST),
		[RXC_CALL_EV_UNMAPPABLE] = TO(LOST),
		[RXC_CALL_EV_LOSE]	 = TO(LOST_MAPPING),
	},
	[RXC_CALL_ANSWERED] = {
		[RXC_CALL_EV_FOLLOWED]	 = TO(ANSWERED),
		[RXC_CALL_EV_LOSE]	 = TO(ANSWERED),
		[RXC_CALL_EV_END]	 = TO(FREE),
	},
	[RXC_CALL_ANSWERED_MAPPING] = {
		[RXC_CALL_EV_MAPPED]	 = TO(ANSWERED),
		[RXC_CALL_EV_REGISTERED] = TO(ANSWERED),
		[RXC_CALL_EV_UNMAPPABLE] = TO(ANSWERED),
		[RXC_CALL_EV_LOSE]	 = TO(ANSWERED_MAPPING),
	},
};

#undef TO

/**
 * rxc_call_next - look up where an event takes a call
 * @state: its state
 * @event: the event
 *
 * Context: any; pure.
 *
 * Return: enum rxc_call_state, which may be the same; -EPROTO: the event can't come in @state.
 */
int rxc_call_next(enum rxc_call_state state, enum rxc_call_event event)
{
	u8 next = rxc_call_table[state][event];

	return next ? next - 1 : -EPROTO;
}

/**
 * rxc_call_unanswered - test whether a call waits for its reply
 * @state: the call's
 *
 * Context: any; pure.
 *
 * Return: true if it does.
 */
bool rxc_call_unanswered(enum rxc_call_state state)
{
	return state > RXC_CALL_FREE && state < RXC_CALL_ANSWERED;
}

/**
 * rxc_call_being_mapped - test whether the submitter is mapping a call's pages
 * @state: the call's
 *
 * Context: any; pure.
 *
 * Return: true if it is: only the submitter may touch the mapping.
 */
bool rxc_call_being_mapped(enum rxc_call_state state)
{
	switch (state) {
	case RXC_CALL_MAPPING:
	case RXC_CALL_TAGGED:
	case RXC_CALL_LOST_MAPPING:
	case RXC_CALL_ANSWERED_MAPPING:
		return true;
	default:
		return false;
	}
}

/* Time for one step of an attempt to connect, in milliseconds, at first and at most. */
#define RXC_STEP_MIN	1000U
#define RXC_STEP_MAX	4000U
/* Attempts with the shortest step: most outages are over by then. */
#define RXC_STEP_SHORT	4U
/* Time from one attempt to the next, likewise. */
#define RXC_DELAY_MIN	20U
#define RXC_DELAY_MAX	2000U

/**
 * rxc_retry_step - choose how long each step of the next attempt to connect may take
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
unsigned int rxc_retry_step(unsigned int attempts)
{
	return min(RXC_STEP_MIN << min(attempts / RXC_STEP_SHORT, 2U), RXC_STEP_MAX);
}

/**
 * rxc_retry_delay - choose how long to wait before the next attempt to connect
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
unsigned int rxc_retry_delay(unsigned int attempts, u32 random)
{
	unsigned int delay = min(RXC_DELAY_MIN << min(attempts, 7U), RXC_DELAY_MAX);

	return delay - random % (delay / 2);
}
