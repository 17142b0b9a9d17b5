// SPDX-License-Identifier: GPL-2.0
/*
 * Which event leads where.
 *
 * What a session's table does not name changes nothing: an event may come late, as
 * when a session is aborted while it is being connected.  What a call's table does not
 * name can't be: the server breaks the protocol.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include "transport/client_state.h"

/**
 * rxp_state_next - where an event takes a mount's session
 * @state: where it is
 * @event: what happens
 *
 * Return: the next state, which may be the same.
 */
enum rxp_state rxp_state_next(enum rxp_state state, enum rxp_event event)
{
	/* RXP_CONNECTING, which nothing leads to, stands for "the same". */
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
 * rxp_call_next - where an event takes a call
 * @state: where it is
 * @event: what happens
 *
 * Return: enum rxp_call_state, which may be the same; -EPROTO: that can't be.
 */
int rxp_call_next(enum rxp_call_state state, enum rxp_call_event event)
{
	/* One more than the state, so that 0 is none. */
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
		/* An STCRW, or a reply, may have crossed the CANCEL. */
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
 * rxp_call_unanswered - does a call wait for its reply?
 * @state: the call's
 *
 * Return: true if so.
 */
bool rxp_call_unanswered(enum rxp_call_state state)
{
	return state > RXP_CALL_FREE && state < RXP_CALL_ANSWERED;
}

/**
 * rxp_call_being_mapped - does its submitter map a call's pages?
 * @state: the call's
 *
 * Return: true: nobody else may touch the mapping.
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

/* A step of an attempt to connect, milliseconds, at first and at most. */
#define RXP_STEP_MIN	1000U
#define RXP_STEP_MAX	4000U
/* Attempts that are all short: the usual outage is over by then. */
#define RXP_STEP_SHORT	4U
/* From one attempt to the next, likewise. */
#define RXP_DELAY_MIN	20U
#define RXP_DELAY_MAX	2000U

/**
 * rxp_retry_step - how long each step of the next attempt to connect may take
 * @attempts: so many were in vain
 *
 * The CM's own retry takes 4.3 s: attempts of our own are shorter.  But a server that
 * accepts a thousand clients at once is slow, and who gives up too soon only makes it
 * slower.
 *
 * Return: milliseconds.
 */
unsigned int rxp_retry_step(unsigned int attempts)
{
	return min(RXP_STEP_MIN << min(attempts / RXP_STEP_SHORT, 2U), RXP_STEP_MAX);
}

/**
 * rxp_retry_delay - how long to wait before the next attempt to connect
 * @attempts: so many were in vain
 * @random:   any number
 *
 * Doubled each time up to a bound, of which half is by chance: so a server that comes
 * back is not met by all its clients at once.
 *
 * Return: milliseconds.
 */
unsigned int rxp_retry_delay(unsigned int attempts, u32 random)
{
	unsigned int delay = min(RXP_DELAY_MIN << min(attempts, 7U), RXP_DELAY_MAX);

	return delay - random % (delay / 2);
}
