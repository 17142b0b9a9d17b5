// SPDX-License-Identifier: GPL-2.0
/*
 * The states of a request on the server, and which event leads from one to the next.
 *
 * In most states one party works with the request: a thread, the policy while the request waits
 * for translations, or the completion of its LOCAL_INV.  Only that party moves the request on; a
 * CANCEL first takes it back from the policy.  The CALL may come again meanwhile, on another
 * connection: then the request is bound to that one.
 *
 * In WAITING and HELD no party works with it.  A message of the client moves it on, on the
 * connection that the request is bound to.  So the request ends when that connection is unbound,
 * before another can be bound and the CALL be sent again.
 */
#include <linux/errno.h>
#include "transport/server/reqstate.h"

/* The event can't happen in this state: the client, or this server, broke the protocol. */
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
 * rxp_req_next - look up the state that an event leads to
 * @state: the request's state
 * @event: the event
 *
 * Context: any.
 * Return: the new state; -EPROTO: the event can't happen in @state, which stays.
 */
int rxp_req_next(enum rxp_req_state state, enum rxp_req_event event)
{
	return rxp_req_table[state][event];
}
