/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client's tracepoints tell the states of a mount's session and of its calls, and the steps
 * of a call's life and of a grant's.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdmafs

#if !defined(RDMAFS_TRANSPORT_CLIENT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RDMAFS_TRANSPORT_CLIENT_TRACE_H

#include <linux/tracepoint.h>
#include "transport/client/state.h"
#include "transport/trace_rpc.h"

/* A program that reads the format of an event is told numbers instead of these names. */
TRACE_DEFINE_ENUM(RXC_CONNECTING);
TRACE_DEFINE_ENUM(RXC_UP);
TRACE_DEFINE_ENUM(RXC_DOWN);
TRACE_DEFINE_ENUM(RXC_FAILING);
TRACE_DEFINE_ENUM(RXC_ENDED);
TRACE_DEFINE_ENUM(RXC_ABORTED);
TRACE_DEFINE_ENUM(RXC_EV_BOUND);
TRACE_DEFINE_ENUM(RXC_EV_LOST);
TRACE_DEFINE_ENUM(RXC_EV_FAIL);
TRACE_DEFINE_ENUM(RXC_EV_FAILED);
TRACE_DEFINE_ENUM(RXC_EV_END);
TRACE_DEFINE_ENUM(RXC_EV_ABORT);
TRACE_DEFINE_ENUM(RXC_CALL_FREE);
TRACE_DEFINE_ENUM(RXC_CALL_SENT);
TRACE_DEFINE_ENUM(RXC_CALL_MAPPING);
TRACE_DEFINE_ENUM(RXC_CALL_TAGGED);
TRACE_DEFINE_ENUM(RXC_CALL_HELD);
TRACE_DEFINE_ENUM(RXC_CALL_FOLLOWED);
TRACE_DEFINE_ENUM(RXC_CALL_CANCELLED);
TRACE_DEFINE_ENUM(RXC_CALL_REVOKED);
TRACE_DEFINE_ENUM(RXC_CALL_LOST);
TRACE_DEFINE_ENUM(RXC_CALL_LOST_MAPPING);
TRACE_DEFINE_ENUM(RXC_CALL_ANSWERED);
TRACE_DEFINE_ENUM(RXC_CALL_ANSWERED_MAPPING);
TRACE_DEFINE_ENUM(RXC_CALL_EV_SEND);
TRACE_DEFINE_ENUM(RXC_CALL_EV_HOLD);
TRACE_DEFINE_ENUM(RXC_CALL_EV_SEND_UNMAPPED);
TRACE_DEFINE_ENUM(RXC_CALL_EV_VOID);
TRACE_DEFINE_ENUM(RXC_CALL_EV_MAPPED);
TRACE_DEFINE_ENUM(RXC_CALL_EV_REGISTERED);
TRACE_DEFINE_ENUM(RXC_CALL_EV_UNMAPPABLE);
TRACE_DEFINE_ENUM(RXC_CALL_EV_FOLLOWED);
TRACE_DEFINE_ENUM(RXC_CALL_EV_CANCEL);
TRACE_DEFINE_ENUM(RXC_CALL_EV_LOSE);
TRACE_DEFINE_ENUM(RXC_CALL_EV_FAIL);
TRACE_DEFINE_ENUM(RXC_CALL_EV_END);
TRACE_DEFINE_ENUM(RXC_CALL_EV_STCRW);
TRACE_DEFINE_ENUM(RXC_CALL_EV_REVOKED);
TRACE_DEFINE_ENUM(RXC_CALL_EV_CANCELLED);
TRACE_DEFINE_ENUM(RXC_CALL_EV_REPLY);

#define rdmafs_show_state(state)			\
	__print_symbolic(state,				\
		{ RXC_CONNECTING,	"connecting" },	\
		{ RXC_UP,		"up" },		\
		{ RXC_DOWN,		"down" },	\
		{ RXC_FAILING,		"failing" },	\
		{ RXC_ENDED,		"ended" },	\
		{ RXC_ABORTED,		"aborted" })

#define rdmafs_show_event(event)			\
	__print_symbolic(event,				\
		{ RXC_EV_BOUND,		"bound" },	\
		{ RXC_EV_LOST,		"lost" },	\
		{ RXC_EV_FAIL,		"fail" },	\
		{ RXC_EV_FAILED,	"failed" },	\
		{ RXC_EV_END,		"end" },	\
		{ RXC_EV_ABORT,		"abort" })

/* The state of a mount's session.  The session's id is all zero before the first WELCOME. */
TRACE_EVENT(rdmafs_session_state,
	TP_PROTO(const u8 *id, u32 from, u32 event, u32 to),
	TP_ARGS(id, from, event, to),
	TP_STRUCT__entry(
		__field(u32, session)
		__field(u32, from)
		__field(u32, event)
		__field(u32, to)
	),
	TP_fast_assign(
		__entry->session = get_unaligned_be32(id);
		__entry->from = from;
		__entry->event = event;
		__entry->to = to;
	),
	TP_printk("session=%08x %s %s -> %s", __entry->session,
		  rdmafs_show_state(__entry->from), rdmafs_show_event(__entry->event),
		  rdmafs_show_state(__entry->to))
);

#define rdmafs_show_call(state)						\
	__print_symbolic(state,						\
		{ RXC_CALL_FREE,		"free" },		\
		{ RXC_CALL_SENT,		"sent" },		\
		{ RXC_CALL_MAPPING,		"mapping" },		\
		{ RXC_CALL_TAGGED,		"tagged" },		\
		{ RXC_CALL_HELD,		"held" },		\
		{ RXC_CALL_FOLLOWED,		"followed" },		\
		{ RXC_CALL_CANCELLED,		"cancelled" },		\
		{ RXC_CALL_REVOKED,		"revoked" },		\
		{ RXC_CALL_LOST,		"lost" },		\
		{ RXC_CALL_LOST_MAPPING,	"lost-mapping" },	\
		{ RXC_CALL_ANSWERED,		"answered" },		\
		{ RXC_CALL_ANSWERED_MAPPING,	"answered-mapping" },	\
		{ EPROTO,			"never" })

/* The state of the call in a client's slot; @to is -EPROTO if the event has no place there. */
TRACE_EVENT(rdmafs_call_state,
	TP_PROTO(const u8 *id, u16 slot, u32 seq, int from, int event, int to),
	TP_ARGS(id, slot, seq, from, event, to),
	TP_STRUCT__entry(
		__field(u32, session)
		__field(u32, seq)
		__field(int, from)
		__field(int, event)
		__field(int, to)
		__field(u16, slot)
	),
	TP_fast_assign(
		__entry->session = get_unaligned_be32(id);
		__entry->seq = seq;
		__entry->from = from;
		__entry->event = event;
		/* A positive errno: programs that read the format can't match a negative one. */
		__entry->to = abs(to);
		__entry->slot = slot;
	),
	TP_printk("session=%08x slot=%u seq=%u %s %s -> %s", __entry->session, __entry->slot,
		  __entry->seq, rdmafs_show_call(__entry->from),
		  __print_symbolic(__entry->event,
				   { RXC_CALL_EV_SEND, "send" },
				   { RXC_CALL_EV_HOLD, "hold" },
				   { RXC_CALL_EV_SEND_UNMAPPED, "send_unmapped" },
				   { RXC_CALL_EV_VOID, "void" },
				   { RXC_CALL_EV_MAPPED, "mapped" },
				   { RXC_CALL_EV_REGISTERED, "registered" },
				   { RXC_CALL_EV_UNMAPPABLE, "unmappable" },
				   { RXC_CALL_EV_FOLLOWED, "followed" },
				   { RXC_CALL_EV_CANCEL, "cancel" },
				   { RXC_CALL_EV_LOSE, "lose" },
				   { RXC_CALL_EV_FAIL, "fail" },
				   { RXC_CALL_EV_END, "end" },
				   { RXC_CALL_EV_STCRW, "stcrw" },
				   { RXC_CALL_EV_REVOKED, "revoked" },
				   { RXC_CALL_EV_CANCELLED, "cancelled" },
				   { RXC_CALL_EV_REPLY, "reply" }),
		  rdmafs_show_call(__entry->to))
);

RDMAFS_RPC_CLASS(rdmafs_call_step);

#define RDMAFS_CALL_STEP(name)	RDMAFS_RPC_EVENT(rdmafs_call_step, name)

/* The steps, in the order in which they can come. */
RDMAFS_CALL_STEP(rdmafs_call_sent);		/* the CALL is about to be posted */
RDMAFS_CALL_STEP(rdmafs_call_mapped);		/* the pages were mapped, after the CALL (FRRWP) */
RDMAFS_CALL_STEP(rdmafs_call_stcrw_sent);	/* READ: the STCRW is about to be posted */
RDMAFS_CALL_STEP(rdmafs_call_cancelled);	/* a CANCEL is about to be posted */
RDMAFS_CALL_STEP(rdmafs_call_stcrw_received);	/* WRITE: the STCRW came */
RDMAFS_CALL_STEP(rdmafs_call_crw_fired);	/* WRITE: its CRW is about to be posted */
RDMAFS_CALL_STEP(rdmafs_call_replied);		/* the REPLY came */
RDMAFS_CALL_STEP(rdmafs_call_invalidated);	/* our key is known to be invalid */
RDMAFS_CALL_STEP(rdmafs_call_completed);	/* the caller is about to be told */

RDMAFS_GRANT_CLASS(rdmafs_held_grant_step);

#define RDMAFS_HELD_GRANT_STEP(name)	RDMAFS_GRANT_EVENT(rdmafs_held_grant_step, name)

/* The steps of a grant on the client that holds it. */
RDMAFS_HELD_GRANT_STEP(rdmafs_held_grant_given);	/* a WRITE's reply brought it */
RDMAFS_HELD_GRANT_STEP(rdmafs_held_grant_used);		/* a WRITE is about to go into it */
RDMAFS_HELD_GRANT_STEP(rdmafs_held_grant_recalled);	/* a RECALL with its key came */
RDMAFS_HELD_GRANT_STEP(rdmafs_held_grant_returned);	/* a RETURN is about to be sent */
RDMAFS_HELD_GRANT_STEP(rdmafs_held_grant_dropped);	/* the connections are gone */

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH transport/client
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
