// SPDX-License-Identifier: GPL-2.0
/*
 * What follows what in a request's life on the server.
 *
 * Whoever is at work with a request, a thread, the policy in whose line it stands, or the
 * completion of its LOCAL_INV, is the only one to move it on; from the policy a CANCEL takes
 * it first.  Where nobody is (WAITING, HELD) it is for a message of the client to do so, on
 * the connection that it is bound to; and so it ends when that connection is unbound, before
 * another can be bound and its CALL sent again.  Where somebody is, the CALL may come again
 * meanwhile: the request is the new connection's then.
 */
#include <linux/errno.h>
#include "transport/reqstate.h"

/* Not while it is in that state: the client broke the protocol, or we have. */
#define NO	(-EPROTO)

static const int rxp_req_table[RXP_NR_REQ_STATES][RXP_NR_REQ_EVENTS] = {
	[RXP_REQ_QUEUED] = {
		[RXP_REQ_FETCH]		= RXP_REQ_FETCHING,
		[RXP_REQ_CLAIM]		= NO,
		[RXP_REQ_ASK]		= NO,
		[RXP_REQ_DATA]		= RXP_REQ_READY,
		[RXP_REQ_INVALIDATE]	= RXP_REQ_INVALIDATING,
		[RXP_REQ_INVALIDATED]	= NO,
		[RXP_REQ_SERVE]		= RXP_REQ_SERVING,
		[RXP_REQ_HOLD]		= NO,
		[RXP_REQ_ANSWER]	= RXP_REQ_ANSWERED,
		[RXP_REQ_REPLAY]	= RXP_REQ_QUEUED,
		[RXP_REQ_UNBIND]	= RXP_REQ_QUEUED,
		[RXP_REQ_DROP]		= RXP_REQ_GONE,
	},
	[RXP_REQ_FETCHING] = {
		[RXP_REQ_FETCH]		= NO,
		[RXP_REQ_CLAIM]		= RXP_REQ_CLAIMING,
		[RXP_REQ_ASK]		= RXP_REQ_WAITING,
		[RXP_REQ_DATA]		= NO,
		[RXP_REQ_INVALIDATE]	= NO,
		[RXP_REQ_INVALIDATED]	= NO,
		[RXP_REQ_SERVE]		= NO,
		[RXP_REQ_HOLD]		= NO,
		[RXP_REQ_ANSWER]	= RXP_REQ_ANSWERED,
		[RXP_REQ_REPLAY]	= RXP_REQ_FETCHING,
		[RXP_REQ_UNBIND]	= RXP_REQ_FETCHING,
		[RXP_REQ_DROP]		= RXP_REQ_GONE,
	},
	[RXP_REQ_CLAIMING] = {
		[RXP_REQ_FETCH]		= NO,
		[RXP_REQ_CLAIM]		= RXP_REQ_CLAIMING,
		[RXP_REQ_ASK]		= RXP_REQ_WAITING,
		[RXP_REQ_DATA]		= NO,
		[RXP_REQ_INVALIDATE]	= NO,
		[RXP_REQ_INVALIDATED]	= NO,
		[RXP_REQ_SERVE]		= NO,
		[RXP_REQ_HOLD]		= NO,
		[RXP_REQ_ANSWER]	= RXP_REQ_ANSWERED,
		[RXP_REQ_REPLAY]	= RXP_REQ_CLAIMING,
		[RXP_REQ_UNBIND]	= RXP_REQ_CLAIMING,
		[RXP_REQ_DROP]		= RXP_REQ_GONE,
	},
	[RXP_REQ_WAITING] = {
		[RXP_REQ_FETCH]		= NO,
		[RXP_REQ_CLAIM]		= NO,
		[RXP_REQ_ASK]		= NO,
		[RXP_REQ_DATA]		= RXP_REQ_READY,
		[RXP_REQ_INVALIDATE]	= RXP_REQ_INVALIDATING,
		[RXP_REQ_INVALIDATED]	= NO,
		[RXP_REQ_SERVE]		= NO,
		[RXP_REQ_HOLD]		= NO,
		[RXP_REQ_ANSWER]	= NO,
		[RXP_REQ_REPLAY]	= NO,
		[RXP_REQ_UNBIND]	= RXP_REQ_GONE,
		[RXP_REQ_DROP]		= NO,
	},
	[RXP_REQ_INVALIDATING] = {
		[RXP_REQ_FETCH]		= NO,
		[RXP_REQ_CLAIM]		= NO,
		[RXP_REQ_ASK]		= NO,
		[RXP_REQ_DATA]		= NO,
		[RXP_REQ_INVALIDATE]	= NO,
		[RXP_REQ_INVALIDATED]	= RXP_REQ_READY,
		[RXP_REQ_SERVE]		= NO,
		[RXP_REQ_HOLD]		= NO,
		[RXP_REQ_ANSWER]	= RXP_REQ_ANSWERED,
		[RXP_REQ_REPLAY]	= NO,
		[RXP_REQ_UNBIND]	= RXP_REQ_INVALIDATING,
		[RXP_REQ_DROP]		= RXP_REQ_GONE,
	},
	[RXP_REQ_READY] = {
		[RXP_REQ_FETCH]		= NO,
		[RXP_REQ_CLAIM]		= NO,
		[RXP_REQ_ASK]		= NO,
		[RXP_REQ_DATA]		= NO,
		[RXP_REQ_INVALIDATE]	= NO,
		[RXP_REQ_INVALIDATED]	= NO,
		[RXP_REQ_SERVE]		= RXP_REQ_SERVING,
		[RXP_REQ_HOLD]		= NO,
		[RXP_REQ_ANSWER]	= NO,
		[RXP_REQ_REPLAY]	= RXP_REQ_READY,
		[RXP_REQ_UNBIND]	= RXP_REQ_READY,
		[RXP_REQ_DROP]		= NO,
	},
	[RXP_REQ_SERVING] = {
		[RXP_REQ_FETCH]		= NO,
		[RXP_REQ_CLAIM]		= NO,
		[RXP_REQ_ASK]		= NO,
		[RXP_REQ_DATA]		= NO,
		[RXP_REQ_INVALIDATE]	= NO,
		[RXP_REQ_INVALIDATED]	= NO,
		[RXP_REQ_SERVE]		= NO,
		[RXP_REQ_HOLD]		= RXP_REQ_HELD,
		[RXP_REQ_ANSWER]	= RXP_REQ_ANSWERED,
		[RXP_REQ_REPLAY]	= RXP_REQ_SERVING,
		[RXP_REQ_UNBIND]	= RXP_REQ_SERVING,
		[RXP_REQ_DROP]		= NO,
	},
	[RXP_REQ_HELD] = {
		[RXP_REQ_FETCH]		= NO,
		[RXP_REQ_CLAIM]		= NO,
		[RXP_REQ_ASK]		= NO,
		[RXP_REQ_DATA]		= NO,
		[RXP_REQ_INVALIDATE]	= NO,
		[RXP_REQ_INVALIDATED]	= NO,
		[RXP_REQ_SERVE]		= NO,
		[RXP_REQ_HOLD]		= NO,
		[RXP_REQ_ANSWER]	= RXP_REQ_ANSWERED,
		[RXP_REQ_REPLAY]	= NO,
		[RXP_REQ_UNBIND]	= RXP_REQ_GONE,
		[RXP_REQ_DROP]		= NO,
	},
	[RXP_REQ_ANSWERED] = {
		[RXP_REQ_FETCH]		= NO,
		[RXP_REQ_CLAIM]		= NO,
		[RXP_REQ_ASK]		= NO,
		[RXP_REQ_DATA]		= NO,
		[RXP_REQ_INVALIDATE]	= NO,
		[RXP_REQ_INVALIDATED]	= NO,
		[RXP_REQ_SERVE]		= NO,
		[RXP_REQ_HOLD]		= NO,
		[RXP_REQ_ANSWER]	= NO,
		[RXP_REQ_REPLAY]	= NO,
		[RXP_REQ_UNBIND]	= NO,
		[RXP_REQ_DROP]		= NO,
	},
	[RXP_REQ_GONE] = {
		[RXP_REQ_FETCH]		= NO,
		[RXP_REQ_CLAIM]		= NO,
		[RXP_REQ_ASK]		= NO,
		[RXP_REQ_DATA]		= NO,
		[RXP_REQ_INVALIDATE]	= NO,
		[RXP_REQ_INVALIDATED]	= NO,
		[RXP_REQ_SERVE]		= NO,
		[RXP_REQ_HOLD]		= NO,
		[RXP_REQ_ANSWER]	= NO,
		[RXP_REQ_REPLAY]	= NO,
		[RXP_REQ_UNBIND]	= NO,
		[RXP_REQ_DROP]		= NO,
	},
};

/**
 * rxp_req_next - what an event makes of a request
 * @state: what it is
 * @event: what happens
 *
 * Any context.
 *
 * Return: its new state; -EPROTO: that can't happen in this state, which stays.
 */
int rxp_req_next(enum rxp_req_state state, enum rxp_req_event event)
{
	return rxp_req_table[state][event];
}
