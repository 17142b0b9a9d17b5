/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: the steps of an RPC's life, on either side.
 *
 * Each names its RPC by session, slot and sequence number.  These are the same on both sides, so
 * utils/rdmafs-trace can lay the traces of client and server over each other.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdmafs

#if !defined(RDMAFS_TRANSPORT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RDMAFS_TRANSPORT_TRACE_H

#include <linux/tracepoint.h>
#include <linux/unaligned.h>
#include "transport/client/state.h"
#include "transport/connstate.h"
#include "transport/server/reqstate.h"

#define rdmafs_show_state(state)			\
	__print_symbolic(state,				\
		{ RXP_CONNECTING,	"connecting" },	\
		{ RXP_UP,		"up" },		\
		{ RXP_DOWN,		"down" },	\
		{ RXP_FAILING,		"failing" },	\
		{ RXP_ENDED,		"ended" },	\
		{ RXP_ABORTED,		"aborted" })

#define rdmafs_show_event(event)			\
	__print_symbolic(event,				\
		{ RXP_EV_BOUND,		"bound" },	\
		{ RXP_EV_LOST,		"lost" },	\
		{ RXP_EV_FAIL,		"fail" },	\
		{ RXP_EV_FAILED,	"failed" },	\
		{ RXP_EV_END,		"end" },	\
		{ RXP_EV_ABORT,		"abort" })

/*
 * @id:  id of the session; its first bytes are traced
 * @len: bytes of data, 0 if the RPC has none
 */
DECLARE_EVENT_CLASS(rdmafs_rpc,
	TP_PROTO(const u8 *id, u16 slot, u32 seq, u32 len),
	TP_ARGS(id, slot, seq, len),
	TP_STRUCT__entry(
		__field(u32, session)
		__field(u32, seq)
		__field(u32, len)
		__field(u16, slot)
	),
	TP_fast_assign(
		__entry->session = get_unaligned_be32(id);
		__entry->seq = seq;
		__entry->len = len;
		__entry->slot = slot;
	),
	TP_printk("session=%08x slot=%u seq=%u len=%u",
		  __entry->session, __entry->slot, __entry->seq, __entry->len)
);

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
		{ RXP_CALL_FREE,		"free" },		\
		{ RXP_CALL_SENT,		"sent" },		\
		{ RXP_CALL_MAPPING,		"mapping" },		\
		{ RXP_CALL_TAGGED,		"tagged" },		\
		{ RXP_CALL_HELD,		"held" },		\
		{ RXP_CALL_FOLLOWED,		"followed" },		\
		{ RXP_CALL_CANCELLED,		"cancelled" },		\
		{ RXP_CALL_DROPPED,		"dropped" },		\
		{ RXP_CALL_LOST,		"lost" },		\
		{ RXP_CALL_LOST_MAPPING,	"lost-mapping" },	\
		{ RXP_CALL_ANSWERED,		"answered" },		\
		{ RXP_CALL_ANSWERED_MAPPING,	"answered-mapping" },	\
		{ -EPROTO,			"never" })

/* The state of the call in a client's slot. */
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
		__entry->to = to;
		__entry->slot = slot;
	),
	TP_printk("session=%08x slot=%u seq=%u %s %s -> %s", __entry->session, __entry->slot,
		  __entry->seq, rdmafs_show_call(__entry->from),
		  __print_symbolic(__entry->event,
				   { RXP_CALL_EV_SEND, "send" },
				   { RXP_CALL_EV_HOLD, "hold" },
				   { RXP_CALL_EV_OPEN, "open" },
				   { RXP_CALL_EV_VOID, "void" },
				   { RXP_CALL_EV_MAPPED, "mapped" },
				   { RXP_CALL_EV_REGISTERED, "registered" },
				   { RXP_CALL_EV_UNMAPPABLE, "unmappable" },
				   { RXP_CALL_EV_FOLLOWED, "followed" },
				   { RXP_CALL_EV_CANCEL, "cancel" },
				   { RXP_CALL_EV_LOSE, "lose" },
				   { RXP_CALL_EV_FAIL, "fail" },
				   { RXP_CALL_EV_END, "end" },
				   { RXP_CALL_EV_STCRW, "stcrw" },
				   { RXP_CALL_EV_DROP, "drop" },
				   { RXP_CALL_EV_CANCELLED, "cancelled" },
				   { RXP_CALL_EV_REPLY, "reply" }),
		  rdmafs_show_call(__entry->to))
);

#define RDMAFS_RPC_EVENT(name)						\
	DEFINE_EVENT(rdmafs_rpc, name,					\
		     TP_PROTO(const u8 *id, u16 slot, u32 seq, u32 len),	\
		     TP_ARGS(id, slot, seq, len))

/* Steps on the client, in the order in which they can come. */
RDMAFS_RPC_EVENT(rdmafs_call_sent);		/* the CALL is about to be posted */
RDMAFS_RPC_EVENT(rdmafs_call_mapped);		/* the pages were mapped, after the CALL (FRRWP) */
RDMAFS_RPC_EVENT(rdmafs_call_stcrw_sent);	/* READ: the STCRW is about to be posted */
RDMAFS_RPC_EVENT(rdmafs_call_cancelled);	/* a CANCEL is about to be posted */
RDMAFS_RPC_EVENT(rdmafs_call_stcrw_received);	/* WRITE: the STCRW came */
RDMAFS_RPC_EVENT(rdmafs_call_crw_fired);	/* WRITE: its CRW is about to be posted */
RDMAFS_RPC_EVENT(rdmafs_call_replied);		/* the REPLY came */
RDMAFS_RPC_EVENT(rdmafs_call_invalidated);	/* our key is known to be invalid */
RDMAFS_RPC_EVENT(rdmafs_call_completed);	/* the caller is about to be told */

/* Steps on the server. */
RDMAFS_RPC_EVENT(rdmafs_req_arrived);		/* a CALL came */
RDMAFS_RPC_EVENT(rdmafs_req_stcrw_sent);	/* WRITE: the sink is about to be named */
RDMAFS_RPC_EVENT(rdmafs_req_data);		/* WRITE: the data is there, its key invalid */
RDMAFS_RPC_EVENT(rdmafs_req_served);		/* the file system has answered */
RDMAFS_RPC_EVENT(rdmafs_req_crw_held);		/* READ: the reply waits for an STCRW */
RDMAFS_RPC_EVENT(rdmafs_req_stcrw_received);	/* READ: the STCRW came */
RDMAFS_RPC_EVENT(rdmafs_req_replied);		/* the REPLY is about to be posted */
RDMAFS_RPC_EVENT(rdmafs_req_completed);		/* the REPLY's chain is over */

/* The state of a connection, on either side; @to is an errno if the event was refused. */
TRACE_EVENT(rdmafs_conn_state,
	TP_PROTO(const void *conn, u32 index, int from, int event, int to),
	TP_ARGS(conn, index, from, event, to),
	TP_STRUCT__entry(
		__field(const void *, conn)
		__field(u32, index)
		__field(int, from)
		__field(int, event)
		__field(int, to)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->index = index;
		__entry->from = from;
		__entry->event = event;
		__entry->to = to;
	),
	TP_printk("conn=%p index=%u from=%s event=%s to=%s", __entry->conn, __entry->index,
		  __print_symbolic(__entry->from,
				   { RXP_CONN_NEW, "new" },
				   { RXP_CONN_OPEN, "open" },
				   { RXP_CONN_HELLO, "hello" },
				   { RXP_CONN_REFUSED, "refused" },
				   { RXP_CONN_BOUND, "bound" },
				   { RXP_CONN_LOST, "lost" },
				   { RXP_CONN_DEAD, "dead" }),
		  __print_symbolic(__entry->event,
				   { RXP_CONN_MADE, "made" },
				   { RXP_CONN_GREET, "greet" },
				   { RXP_CONN_REFUSE, "refuse" },
				   { RXP_CONN_BIND, "bind" },
				   { RXP_CONN_LOSE, "lose" },
				   { RXP_CONN_KILL, "kill" }),
		  __print_symbolic(__entry->to,
				   { RXP_CONN_OPEN, "open" },
				   { RXP_CONN_HELLO, "hello" },
				   { RXP_CONN_REFUSED, "refused" },
				   { RXP_CONN_BOUND, "bound" },
				   { RXP_CONN_LOST, "lost" },
				   { RXP_CONN_DEAD, "dead" },
				   { -EPROTO, "never" },
				   { -ENOTCONN, "too late" }))
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
		__entry->to = to;
	),
	TP_printk("session=%08x slot=%u seq=%u from=%s event=%s to=%s",
		  __entry->session, __entry->slot, __entry->seq,
		  __print_symbolic(__entry->from,
				   { RXP_REQ_QUEUED, "queued" },
				   { RXP_REQ_FETCHING, "fetching" },
				   { RXP_REQ_CLAIMING, "claiming" },
				   { RXP_REQ_WAITING, "waiting" },
				   { RXP_REQ_INVALIDATING, "invalidating" },
				   { RXP_REQ_READY, "ready" },
				   { RXP_REQ_SERVING, "serving" },
				   { RXP_REQ_HELD, "held" },
				   { RXP_REQ_ANSWERED, "answered" },
				   { RXP_REQ_GONE, "gone" }),
		  __print_symbolic(__entry->event,
				   { RXP_REQ_FETCH, "fetch" },
				   { RXP_REQ_CLAIM, "claim" },
				   { RXP_REQ_ASK, "ask" },
				   { RXP_REQ_DATA, "data" },
				   { RXP_REQ_INVALIDATE, "invalidate" },
				   { RXP_REQ_INVALIDATED, "invalidated" },
				   { RXP_REQ_SERVE, "serve" },
				   { RXP_REQ_HOLD, "hold" },
				   { RXP_REQ_ANSWER, "answer" },
				   { RXP_REQ_REPLAY, "replay" },
				   { RXP_REQ_UNBIND, "unbind" },
				   { RXP_REQ_DROP, "drop" }),
		  __print_symbolic(__entry->to,
				   { RXP_REQ_QUEUED, "queued" },
				   { RXP_REQ_FETCHING, "fetching" },
				   { RXP_REQ_CLAIMING, "claiming" },
				   { RXP_REQ_WAITING, "waiting" },
				   { RXP_REQ_INVALIDATING, "invalidating" },
				   { RXP_REQ_READY, "ready" },
				   { RXP_REQ_SERVING, "serving" },
				   { RXP_REQ_HELD, "held" },
				   { RXP_REQ_ANSWERED, "answered" },
				   { RXP_REQ_GONE, "gone" },
				   { -EPROTO, "never" }))
);

#define RDMAFS_MR_STATES						\
	{ RXP_MR_IDLE, "idle" }, { RXP_MR_REGISTERING, "registering" },	\
	{ RXP_MR_BOUND, "bound" }, { RXP_MR_RETURNED, "returned" },	\
	{ RXP_MR_INVALIDATING, "invalidating" },	\
	{ RXP_MR_UNKNOWN, "unknown" }

#define RDMAFS_MR_EVENTS						\
	{ RXP_MR_POSTED, "posted" }, { RXP_MR_REGISTERED, "registered" },	\
	{ RXP_MR_REMOTE_INV, "remote_inv" }, { RXP_MR_LOCAL_INV, "local_inv" },	\
	{ RXP_MR_INVALIDATED, "invalidated" }, { RXP_MR_FAILED, "failed" }

/* The binding of an MR, in the words of binding.c; the key is its rkey without the last byte. */
TRACE_EVENT(rdmafs_mr,
	TP_PROTO(u32 rkey, u32 from, u32 event, u32 to),
	TP_ARGS(rkey, from, event, to),
	TP_STRUCT__entry(
		__field(u32, key)
		__field(u8, from)
		__field(u8, event)
		__field(u8, to)
	),
	TP_fast_assign(
		__entry->key = rkey >> 8;
		__entry->from = from;
		__entry->event = event;
		__entry->to = to;
	),
	TP_printk("mr=%06x %s: %s -> %s", __entry->key,
		  __print_symbolic(__entry->event, RDMAFS_MR_EVENTS),
		  __print_symbolic(__entry->from, RDMAFS_MR_STATES),
		  __print_symbolic(__entry->to, RDMAFS_MR_STATES))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH transport
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
