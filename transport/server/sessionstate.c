// SPDX-License-Identifier: GPL-2.0
/*
 * The states of a session on the server, and which event leads from one to the next.
 *
 * A session goes only forward.  The worker that makes it may be at work for as long as the service
 * takes to open it.  If the session is closed meanwhile, it must not end before that worker is
 * done: so it is ABANDONED until then.
 */
#include <linux/errno.h>
#include "transport/server/sessionstate.h"

/* The event can't happen in this state: this server has a bug. */
#define NO	(-EPROTO)

static const int rxs_session_table[RXS_NR_SESSION_STATES][RXS_NR_SESSION_EVENTS] = {
	[RXS_SESSION_MAKING] = {
		[RXS_SESSION_MADE]	= RXS_SESSION_OPEN,
		[RXS_SESSION_FAIL]	= RXS_SESSION_CLOSING,
		[RXS_SESSION_CLOSE]	= RXS_SESSION_ABANDONED,
		[RXS_SESSION_EMPTY]	= NO,
	},
	[RXS_SESSION_OPEN] = {
		[RXS_SESSION_MADE]	= NO,
		[RXS_SESSION_FAIL]	= NO,
		[RXS_SESSION_CLOSE]	= RXS_SESSION_CLOSING,
		[RXS_SESSION_EMPTY]	= NO,
	},
	[RXS_SESSION_ABANDONED] = {
		[RXS_SESSION_MADE]	= RXS_SESSION_CLOSING,
		[RXS_SESSION_FAIL]	= RXS_SESSION_CLOSING,
		[RXS_SESSION_CLOSE]	= RXS_SESSION_ABANDONED,
		[RXS_SESSION_EMPTY]	= NO,
	},
	[RXS_SESSION_CLOSING] = {
		[RXS_SESSION_MADE]	= NO,
		[RXS_SESSION_FAIL]	= NO,
		[RXS_SESSION_CLOSE]	= RXS_SESSION_CLOSING,
		[RXS_SESSION_EMPTY]	= RXS_SESSION_ENDING,
	},
	[RXS_SESSION_ENDING] = {
		[RXS_SESSION_MADE]	= NO,
		[RXS_SESSION_FAIL]	= NO,
		[RXS_SESSION_CLOSE]	= RXS_SESSION_ENDING,
		[RXS_SESSION_EMPTY]	= NO,
	},
};

/**
 * rxs_session_next - look up the state that an event leads to
 * @state: the session's state
 * @event: the event
 *
 * Context: any.
 * Return: the new state; -EPROTO: the event can't happen in @state, which stays.
 */
int rxs_session_next(enum rxs_session_state state, enum rxs_session_event event)
{
	return rxs_session_table[state][event];
}
