/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of both sides: connections and MRs.  client/trace.h and server/trace.h have those
 * of sessions, calls and requests.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdmafs

#if !defined(RDMAFS_TRANSPORT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RDMAFS_TRANSPORT_TRACE_H

#include <linux/tracepoint.h>
#include "transport/connstate.h"

/* A program that reads the format of an event is told numbers instead of these names. */
TRACE_DEFINE_ENUM(RXP_CONN_NEW);
TRACE_DEFINE_ENUM(RXP_CONN_OPEN);
TRACE_DEFINE_ENUM(RXP_CONN_HELLO);
TRACE_DEFINE_ENUM(RXP_CONN_REFUSED);
TRACE_DEFINE_ENUM(RXP_CONN_BOUND);
TRACE_DEFINE_ENUM(RXP_CONN_LOST);
TRACE_DEFINE_ENUM(RXP_CONN_DEAD);
TRACE_DEFINE_ENUM(RXP_CONN_MADE);
TRACE_DEFINE_ENUM(RXP_CONN_GREET);
TRACE_DEFINE_ENUM(RXP_CONN_REFUSE);
TRACE_DEFINE_ENUM(RXP_CONN_BIND);
TRACE_DEFINE_ENUM(RXP_CONN_LOSE);
TRACE_DEFINE_ENUM(RXP_CONN_KILL);
TRACE_DEFINE_ENUM(RXP_MR_IDLE);
TRACE_DEFINE_ENUM(RXP_MR_REGISTERING);
TRACE_DEFINE_ENUM(RXP_MR_VALID);
TRACE_DEFINE_ENUM(RXP_MR_RETURNED);
TRACE_DEFINE_ENUM(RXP_MR_INVALIDATING);
TRACE_DEFINE_ENUM(RXP_MR_UNKNOWN);
TRACE_DEFINE_ENUM(RXP_MR_POSTED);
TRACE_DEFINE_ENUM(RXP_MR_REGISTERED);
TRACE_DEFINE_ENUM(RXP_MR_REMOTE_INV);
TRACE_DEFINE_ENUM(RXP_MR_LOCAL_INV);
TRACE_DEFINE_ENUM(RXP_MR_INVALIDATED);
TRACE_DEFINE_ENUM(RXP_MR_FAILED);

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
		/* A positive errno: programs that read the format can't match a negative one. */
		__entry->to = abs(to);
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
				   { EPROTO, "never" },
				   { ENOTCONN, "too late" }))
);

#define RDMAFS_MR_STATES						\
	{ RXP_MR_IDLE, "idle" }, { RXP_MR_REGISTERING, "registering" },	\
	{ RXP_MR_VALID, "valid" }, { RXP_MR_RETURNED, "returned" },	\
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
