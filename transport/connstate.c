// SPDX-License-Identifier: GPL-2.0
/*
 * The table of a connection's states and events.  A connection goes only forward, from NEW to
 * DEAD, and a lost one never becomes usable again.  So a loss is never forgotten, even if another
 * task moves the connection at the same moment: that task gets -ENOTCONN.
 */
#include <linux/errno.h>
#include "transport/connstate.h"

/* The event can't happen in this state: the peer broke the protocol, or our code has a bug. */
#define NO	(-EPROTO)
/* Too late: the connection is lost. */
#define GONE	(-ENOTCONN)

static const int rxp_conn_table[RXP_NR_CONN_STATES][RXP_NR_CONN_EVENTS] = {
	[RXP_CONN_NEW] = {
		[RXP_CONN_MADE]		= RXP_CONN_OPEN,
		[RXP_CONN_GREET]	= NO,
		[RXP_CONN_REFUSE]	= NO,
		[RXP_CONN_BIND]		= NO,
		[RXP_CONN_LOSE]		= RXP_CONN_LOST,
		[RXP_CONN_KILL]		= RXP_CONN_DEAD,
	},
	[RXP_CONN_OPEN] = {
		[RXP_CONN_MADE]		= NO,
		[RXP_CONN_GREET]	= RXP_CONN_HELLO,
		[RXP_CONN_REFUSE]	= NO,
		[RXP_CONN_BIND]		= NO,
		[RXP_CONN_LOSE]		= RXP_CONN_LOST,
		[RXP_CONN_KILL]		= RXP_CONN_DEAD,
	},
	[RXP_CONN_HELLO] = {
		[RXP_CONN_MADE]		= NO,
		[RXP_CONN_GREET]	= NO,
		[RXP_CONN_REFUSE]	= RXP_CONN_REFUSED,
		[RXP_CONN_BIND]		= RXP_CONN_BOUND,
		[RXP_CONN_LOSE]		= RXP_CONN_LOST,
		[RXP_CONN_KILL]		= RXP_CONN_DEAD,
	},
	[RXP_CONN_REFUSED] = {
		[RXP_CONN_MADE]		= NO,
		[RXP_CONN_GREET]	= NO,
		[RXP_CONN_REFUSE]	= NO,
		[RXP_CONN_BIND]		= NO,
		[RXP_CONN_LOSE]		= RXP_CONN_LOST,
		[RXP_CONN_KILL]		= RXP_CONN_DEAD,
	},
	[RXP_CONN_BOUND] = {
		[RXP_CONN_MADE]		= NO,
		[RXP_CONN_GREET]	= NO,
		[RXP_CONN_REFUSE]	= NO,
		[RXP_CONN_BIND]		= NO,
		[RXP_CONN_LOSE]		= RXP_CONN_LOST,
		[RXP_CONN_KILL]		= RXP_CONN_DEAD,
	},
	[RXP_CONN_LOST] = {
		[RXP_CONN_MADE]		= GONE,
		[RXP_CONN_GREET]	= GONE,
		[RXP_CONN_REFUSE]	= GONE,
		[RXP_CONN_BIND]		= GONE,
		[RXP_CONN_LOSE]		= RXP_CONN_LOST,
		[RXP_CONN_KILL]		= RXP_CONN_DEAD,
	},
	[RXP_CONN_DEAD] = {
		[RXP_CONN_MADE]		= GONE,
		[RXP_CONN_GREET]	= GONE,
		[RXP_CONN_REFUSE]	= GONE,
		[RXP_CONN_BIND]		= GONE,
		[RXP_CONN_LOSE]		= RXP_CONN_DEAD,
		[RXP_CONN_KILL]		= RXP_CONN_DEAD,
	},
};

/**
 * rxp_conn_next - look up a connection's next state
 * @state: the state
 * @event: the event
 *
 * Context: any; the caller guards the state (rxp_conn.state_lock).
 *
 * Return: the next state; -EPROTO: the event can't happen in @state, which stays; -ENOTCONN: the
 * connection is lost.
 */
int rxp_conn_next(enum rxp_conn_state state, enum rxp_conn_event event)
{
	return rxp_conn_table[state][event];
}
