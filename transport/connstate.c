// SPDX-License-Identifier: GPL-2.0
/*
 * What follows what in a connection's life.  It goes one way: from NEW down to
 * DEAD, and what is lost never comes back.  So a loss is never forgotten,
 * whatever its maker or its session does with the connection at that moment:
 * they are told that it is too late.
 */
#include <linux/errno.h>
#include "transport/connstate.h"

/* Not while it is in that state: the peer broke the protocol, or we have. */
#define NO	(-EPROTO)
/* Too late: it is lost. */
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
 * rxp_conn_next - what an event makes of a connection
 * @state: what it is
 * @event: what happens
 *
 * Any context.
 *
 * Return: its new state; -EPROTO: that can't happen in this state, which stays;
 * -ENOTCONN: too late, it is lost.
 */
int rxp_conn_next(enum rxp_conn_state state, enum rxp_conn_event event)
{
	return rxp_conn_table[state][event];
}
