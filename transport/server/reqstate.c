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

static const int rxs_req_table[RXS_NR_REQ_STATES][RXS_NR_REQ_EVENTS] = {
	[RXS_REQ_QUEUED] = {
		[RXS_REQ_FETCH]		= RXS_REQ_FETCHING,
		[RXS_REQ_CLAIM]		= NO,
		[RXS_REQ_SEND_STCRW]	= NO,
		[RXS_REQ_DATA]		= RXS_REQ_READY,
		[RXS_REQ_INVALIDATE]	= RXS_REQ_INVALIDATING,
		[RXS_REQ_INVALIDATED]	= NO,
		[RXS_REQ_SERVE]		= RXS_REQ_SERVING,
		[RXS_REQ_HOLD]		= NO,
		[RXS_REQ_ANSWER]	= RXS_REQ_ANSWERED,
		[RXS_REQ_REPLAY]	= RXS_REQ_QUEUED,
		[RXS_REQ_UNBIND]	= RXS_REQ_QUEUED,
		[RXS_REQ_FORGET]	= RXS_REQ_GONE,
	},
	[RXS_REQ_FETCHING] = {
		[RXS_REQ_FETCH]		= NO,
		[RXS_REQ_CLAIM]		= RXS_REQ_CLAIMING,
		[RXS_REQ_SEND_STCRW]	= RXS_REQ_WAITING,
		[RXS_REQ_DATA]		= NO,
		[RXS_REQ_INVALIDATE]	= NO,
		[RXS_REQ_INVALIDATED]	= NO,
		[RXS_REQ_SERVE]		= NO,
		[RXS_REQ_HOLD]		= NO,
		[RXS_REQ_ANSWER]	= RXS_REQ_ANSWERED,
		[RXS_REQ_REPLAY]	= RXS_REQ_FETCHING,
		[RXS_REQ_UNBIND]	= RXS_REQ_FETCHING,
		[RXS_REQ_FORGET]	= RXS_REQ_GONE,
	},
	[RXS_REQ_CLAIMING] = {
		[RXS_REQ_FETCH]		= NO,
		[RXS_REQ_CLAIM]		= RXS_REQ_CLAIMING,
		[RXS_REQ_SEND_STCRW]	= RXS_REQ_WAITING,
		[RXS_REQ_DATA]		= NO,
		[RXS_REQ_INVALIDATE]	= NO,
		[RXS_REQ_INVALIDATED]	= NO,
		[RXS_REQ_SERVE]		= NO,
		[RXS_REQ_HOLD]		= NO,
		[RXS_REQ_ANSWER]	= RXS_REQ_ANSWERED,
		[RXS_REQ_REPLAY]	= RXS_REQ_CLAIMING,
		[RXS_REQ_UNBIND]	= RXS_REQ_CLAIMING,
		[RXS_REQ_FORGET]	= RXS_REQ_GONE,
	},
	[RXS_REQ_WAITING] = {
		[RXS_REQ_FETCH]		= NO,
		[RXS_REQ_CLAIM]		= NO,
		[RXS_REQ_SEND_STCRW]	= NO,
		[RXS_REQ_DATA]		= RXS_REQ_READY,
		[RXS_REQ_INVALIDATE]	= RXS_REQ_INVALIDATING,
		[RXS_REQ_INVALIDATED]	= NO,
		[RXS_REQ_SERVE]		= NO,
		[RXS_REQ_HOLD]		= NO,
		[RXS_REQ_ANSWER]	= NO,
		[RXS_REQ_REPLAY]	= NO,
		[RXS_REQ_UNBIND]	= RXS_REQ_GONE,
		[RXS_REQ_FORGET]	= NO,
	},
	[RXS_REQ_INVALIDATING] = {
		[RXS_REQ_FETCH]		= NO,
		[RXS_REQ_CLAIM]		= NO,
		[RXS_REQ_SEND_STCRW]	= NO,
		[RXS_REQ_DATA]		= NO,
		[RXS_REQ_INVALIDATE]	= NO,
		[RXS_REQ_INVALIDATED]	= RXS_REQ_READY,
		[RXS_REQ_SERVE]		= NO,
		[RXS_REQ_HOLD]		= NO,
		[RXS_REQ_ANSWER]	= RXS_REQ_ANSWERED,
		[RXS_REQ_REPLAY]	= NO,
		[RXS_REQ_UNBIND]	= RXS_REQ_INVALIDATING,
		[RXS_REQ_FORGET]	= RXS_REQ_GONE,
	},
	[RXS_REQ_READY] = {
		[RXS_REQ_FETCH]		= NO,
		[RXS_REQ_CLAIM]		= NO,
		[RXS_REQ_SEND_STCRW]	= NO,
		[RXS_REQ_DATA]		= NO,
		[RXS_REQ_INVALIDATE]	= NO,
		[RXS_REQ_INVALIDATED]	= NO,
		[RXS_REQ_SERVE]		= RXS_REQ_SERVING,
		[RXS_REQ_HOLD]		= NO,
		[RXS_REQ_ANSWER]	= NO,
		[RXS_REQ_REPLAY]	= RXS_REQ_READY,
		[RXS_REQ_UNBIND]	= RXS_REQ_READY,
		[RXS_REQ_FORGET]	= NO,
	},
	[RXS_REQ_SERVING] = {
		[RXS_REQ_FETCH]		= NO,
		[RXS_REQ_CLAIM]		= NO,
		[RXS_REQ_SEND_STCRW]	= NO,
		[RXS_REQ_DATA]		= NO,
		[RXS_REQ_INVALIDATE]	= NO,
		[RXS_REQ_INVALIDATED]	= NO,
		[RXS_REQ_SERVE]		= NO,
		[RXS_REQ_HOLD]		= RXS_REQ_HELD,
		[RXS_REQ_ANSWER]	= RXS_REQ_ANSWERED,
		[RXS_REQ_REPLAY]	= RXS_REQ_SERVING,
		[RXS_REQ_UNBIND]	= RXS_REQ_SERVING,
		[RXS_REQ_FORGET]	= NO,
	},
	[RXS_REQ_HELD] = {
		[RXS_REQ_FETCH]		= NO,
		[RXS_REQ_CLAIM]		= NO,
		[RXS_REQ_SEND_STCRW]	= NO,
		[RXS_REQ_DATA]		= NO,
		[RXS_REQ_INVALIDATE]	= NO,
		[RXS_REQ_INVALIDATED]	= NO,
		[RXS_REQ_SERVE]		= NO,
		[RXS_REQ_HOLD]		= NO,
		[RXS_REQ_ANSWER]	= RXS_REQ_ANSWERED,
		[RXS_REQ_REPLAY]	= NO,
		[RXS_REQ_UNBIND]	= RXS_REQ_GONE,
		[RXS_REQ_FORGET]	= NO,
	},
	[RXS_REQ_ANSWERED] = {
		[RXS_REQ_FETCH]		= NO,
		[RXS_REQ_CLAIM]		= NO,
		[RXS_REQ_SEND_STCRW]	= NO,
		[RXS_REQ_DATA]		= NO,
		[RXS_REQ_INVALIDATE]	= NO,
		[RXS_REQ_INVALIDATED]	= NO,
		[RXS_REQ_SERVE]		= NO,
		[RXS_REQ_HOLD]		= NO,
		[RXS_REQ_ANSWER]	= NO,
		[RXS_REQ_REPLAY]	= NO,
		[RXS_REQ_UNBIND]	= NO,
		[RXS_REQ_FORGET]	= NO,
	},
	[RXS_REQ_GONE] = {
		[RXS_REQ_FETCH]		= NO,
		[RXS_REQ_CLAIM]		= NO,
		[RXS_REQ_SEND_STCRW]	= NO,
		[RXS_REQ_DATA]		= NO,
		[RXS_REQ_INVALIDATE]	= NO,
		[RXS_REQ_INVALIDATED]	= NO,
		[RXS_REQ_SERVE]		= NO,
		[RXS_REQ_HOLD]		= NO,
		[RXS_REQ_ANSWER]	= NO,
		[RXS_REQ_REPLAY]	= NO,
		[RXS_REQ_UNBIND]	= NO,
		[RXS_REQ_FORGET]	= NO,
	},
};

/**
 * rxs_req_next - look up the state that an event leads to
 * @state: the request's state
 * @event: the event
 *
 * Context: any.
 * Return: the new state; -EPROTO: the event can't happen in @state, which stays.
 */
int rxs_req_next(enum rxs_req_state state, enum rxs_req_event event)
{
	return rxs_req_table[state][event];
}
