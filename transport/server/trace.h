/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of the server: the states of its sessions and of their requests, and the steps of a
 * request's life and of a grant's.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdmafs

#if !defined(RDMAFS_TRANSPORT_SERVER_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RDMAFS_TRANSPORT_SERVER_TRACE_H

#include <linux/tracepoint.h>
#include "transport/server/reqstate.h"
#include "transport/server/sessionstate.h"
#include "transport/trace_rpc.h"

/* A program that reads the format of an event is told numbers instead of these names. */
TRACE_DEFINE_ENUM(RXS_SESSION_MAKING);
TRACE_DEFINE_ENUM(RXS_SESSION_OPEN);
TRACE_DEFINE_ENUM(RXS_SESSION_ABANDONED);
TRACE_DEFINE_ENUM(RXS_SESSION_CLOSING);
TRACE_DEFINE_ENUM(RXS_SESSION_ENDING);
TRACE_DEFINE_ENUM(RXS_SESSION_MADE);
TRACE_DEFINE_ENUM(RXS_SESSION_FAIL);
TRACE_DEFINE_ENUM(RXS_SESSION_CLOSE);
TRACE_DEFINE_ENUM(RXS_SESSION_EMPTY);
TRACE_DEFINE_ENUM(RXS_REQ_QUEUED);
TRACE_DEFINE_ENUM(RXS_REQ_FETCHING);
TRACE_DEFINE_ENUM(RXS_REQ_CLAIMING);
TRACE_DEFINE_ENUM(RXS_REQ_WAITING);
TRACE_DEFINE_ENUM(RXS_REQ_INVALIDATING);
TRACE_DEFINE_ENUM(RXS_REQ_READY);
TRACE_DEFINE_ENUM(RXS_REQ_SERVING);
TRACE_DEFINE_ENUM(RXS_REQ_HELD);
TRACE_DEFINE_ENUM(RXS_REQ_ANSWERED);
TRACE_DEFINE_ENUM(RXS_REQ_GONE);
TRACE_DEFINE_ENUM(RXS_REQ_FETCH);
TRACE_DEFINE_ENUM(RXS_REQ_CLAIM);
TRACE_DEFINE_ENUM(RXS_REQ_SEND_STCRW);
TRACE_DEFINE_ENUM(RXS_REQ_DATA);
TRACE_DEFINE_ENUM(RXS_REQ_INVALIDATE);
TRACE_DEFINE_ENUM(RXS_REQ_INVALIDATED);
TRACE_DEFINE_ENUM(RXS_REQ_SERVE);
TRACE_DEFINE_ENUM(RXS_REQ_HOLD);
TRACE_DEFINE_ENUM(RXS_REQ_ANSWER);
TRACE_DEFINE_ENUM(RXS_REQ_REPLAY);
TRACE_DEFINE_ENUM(RXS_REQ_UNBIND);
TRACE_DEFINE_ENUM(RXS_REQ_FORGET);

#define RDMAFS_SERVER_SESSION_STATES			\
	{ RXS_SESSION_MAKING, "making" },		\
	{ RXS_SESSION_OPEN, "open" },			\
	{ RXS_SESSION_ABANDONED, "abandoned" },		\
	{ RXS_SESSION_CLOSING, "closing" },		\
	{ RXS_SESSION_ENDING, "ending" },		\
	{ EPROTO, "never" }

/* The state of a session on a server; @to is -EPROTO if the event can't happen. */
TRACE_EVENT(rdmafs_server_session_state,
	TP_PROTO(const u8 *id, int from, int event, int to),
	TP_ARGS(id, from, event, to),
	TP_STRUCT__entry(
		__field(u32, session)
		__field(int, from)
		__field(int, event)
		__field(int, to)
	),
	TP_fast_assign(
		__entry->session = get_unaligned_be32(id);
		__entry->from = from;
		__entry->event = event;
		/* A positive errno: programs that read the format can't match a negative one. */
		__entry->to = abs(to);
	),
	TP_printk("session=%08x from=%s event=%s to=%s", __entry->session,
		  __print_symbolic(__entry->from, RDMAFS_SERVER_SESSION_STATES),
		  __print_symbolic(__entry->event,
				   { RXS_SESSION_MADE, "made" },
				   { RXS_SESSION_FAIL, "fail" },
				   { RXS_SESSION_CLOSE, "close" },
				   { RXS_SESSION_EMPTY, "empty" }),
		  __print_symbolic(__entry->to, RDMAFS_SERVER_SESSION_STATES))
);

/* The state of a request on a server; @to is -EPROTO if the event can't happen. */
TRACE_EVENT(rdmafs_req_state,
	TP_PROTO(const u8 *id, u16 slot, u32 seq, int from, int event, int to),
	TP_ARGS(id, slot, seq, from, event, to),
	TP_STRUCT__entry(
		__field(u32, session)
		__field(u32, seq)
		__field(u16, slot)
		__field(int, from)
		__field(int, event)
		__field(int, to)
	),
	TP_fast_assign(
		__entry->session = get_unaligned_be32(id);
		__entry->seq = seq;
		__entry->slot = slot;
		__entry->from = from;
		__entry->event = event;
		/* A positive errno: programs that read the format can't match a negative one. */
		__entry->to = abs(to);
	),
	TP_printk("session=%08x slot=%u seq=%u from=%s event=%s to=%s",
		  __entry->session, __entry->slot, __entry->seq,
		  __print_symbolic(__entry->from,
				   { RXS_REQ_QUEUED, "queued" },
				   { RXS_REQ_FETCHING, "fetching" },
				   { RXS_REQ_CLAIMING, "claiming" },
				   { RXS_REQ_WAITING, "waiting" },
				   { RXS_REQ_INVALIDATING, "invalidating" },
				   { RXS_REQ_READY, "ready" },
				   { RXS_REQ_SERVING, "serving" },
				   { RXS_REQ_HELD, "held" },
				   { RXS_REQ_ANSWERED, "answered" },
				   { RXS_REQ_GONE, "gone" }),
		  __print_symbolic(__entry->event,
				   { RXS_REQ_FETCH, "fetch" },
				   { RXS_REQ_CLAIM, "claim" },
				   { RXS_REQ_SEND_STCRW, "send_stcrw" },
				   { RXS_REQ_DATA, "data" },
				   { RXS_REQ_INVALIDATE, "invalidate" },
				   { RXS_REQ_INVALIDATED, "invalidated" },
				   { RXS_REQ_SERVE, "serve" },
				   { RXS_REQ_HOLD, "hold" },
				   { RXS_REQ_ANSWER, "answer" },
				   { RXS_REQ_REPLAY, "replay" },
				   { RXS_REQ_UNBIND, "unbind" },
				   { RXS_REQ_FORGET, "forget" }),
		  __print_symbolic(__entry->to,
				   { RXS_REQ_QUEUED, "queued" },
				   { RXS_REQ_FETCHING, "fetching" },
				   { RXS_REQ_CLAIMING, "claiming" },
				   { RXS_REQ_WAITING, "waiting" },
				   { RXS_REQ_INVALIDATING, "invalidating" },
				   { RXS_REQ_READY, "ready" },
				   { RXS_REQ_SERVING, "serving" },
				   { RXS_REQ_HELD, "held" },
				   { RXS_REQ_ANSWERED, "answered" },
				   { RXS_REQ_GONE, "gone" },
				   { EPROTO, "never" }))
);

RDMAFS_RPC_CLASS(rdmafs_req_step);

#define RDMAFS_REQ_STEP(name)	RDMAFS_RPC_EVENT(rdmafs_req_step, name)

/* The steps, in the order in which they can come. */
RDMAFS_REQ_STEP(rdmafs_req_arrived);		/* a CALL came */
RDMAFS_REQ_STEP(rdmafs_req_stcrw_sent);	/* WRITE: the sink is about to be named */
RDMAFS_REQ_STEP(rdmafs_req_data);		/* WRITE: the data is there, its key invalid */
RDMAFS_REQ_STEP(rdmafs_req_served);		/* the file system has answered */
RDMAFS_REQ_STEP(rdmafs_req_crw_held);		/* READ: the reply waits for an STCRW */
RDMAFS_REQ_STEP(rdmafs_req_stcrw_received);	/* READ: the STCRW came */
RDMAFS_REQ_STEP(rdmafs_req_replied);		/* the REPLY is about to be posted */
RDMAFS_REQ_STEP(rdmafs_req_completed);		/* the REPLY's chain is over */

RDMAFS_GRANT_CLASS(rdmafs_grant_step);

#define RDMAFS_GRANT_STEP(name)	RDMAFS_GRANT_EVENT(rdmafs_grant_step, name)

/* The steps of a grant on the server that made it. */
RDMAFS_GRANT_STEP(rdmafs_grant_made);		/* a WRITE's reply is going to bring it */
RDMAFS_GRANT_STEP(rdmafs_grant_used);		/* a WRITE came into it */
RDMAFS_GRANT_STEP(rdmafs_grant_wanted);	/* it is to come back: policy or memory wants it */
RDMAFS_GRANT_STEP(rdmafs_grant_recalled);	/* a RECALL with its key is about to be sent */
RDMAFS_GRANT_STEP(rdmafs_grant_returned);	/* a RETURN with its key came */
RDMAFS_GRANT_STEP(rdmafs_grant_ended);		/* returned, and its LOCAL_INV is over */
RDMAFS_GRANT_STEP(rdmafs_grant_dropped);	/* its connection is gone */

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH transport/server
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
