/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: the steps of an RPC's life, on either side.
 *
 * Each names its RPC by session, slot and sequence number, the same on both
 * sides, so that the traces of client and server can be laid over each other
 * (utils/rdmafs-trace does that).
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdmafs

#if !defined(RDMAFS_TRANSPORT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RDMAFS_TRANSPORT_TRACE_H

#include <linux/tracepoint.h>
#include <linux/unaligned.h>

/*
 * @id:  of the session, its first bytes
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

#define RDMAFS_RPC_EVENT(name)						\
	DEFINE_EVENT(rdmafs_rpc, name,					\
		     TP_PROTO(const u8 *id, u16 slot, u32 seq, u32 len),	\
		     TP_ARGS(id, slot, seq, len))

/* The client's, in the order in which they can come. */
RDMAFS_RPC_EVENT(rdmafs_call_sent);		/* the CALL is about to be posted */
RDMAFS_RPC_EVENT(rdmafs_call_mapped);		/* pages mapped after that (FRRWP) */
RDMAFS_RPC_EVENT(rdmafs_call_stcrw_sent);	/* READ: registered, the server's CRW may fire */
RDMAFS_RPC_EVENT(rdmafs_call_cancelled);	/* a CANCEL was posted */
RDMAFS_RPC_EVENT(rdmafs_call_stcrw_received);	/* WRITE: the server's sink is there */
RDMAFS_RPC_EVENT(rdmafs_call_crw_fired);	/* WRITE: RDMA WRITEs and DATA were posted */
RDMAFS_RPC_EVENT(rdmafs_call_replied);		/* the REPLY came */
RDMAFS_RPC_EVENT(rdmafs_call_invalidated);	/* our key is known to be invalid */
RDMAFS_RPC_EVENT(rdmafs_call_completed);	/* the caller is told */

/* The server's. */
RDMAFS_RPC_EVENT(rdmafs_req_arrived);		/* a CALL */
RDMAFS_RPC_EVENT(rdmafs_req_stcrw_sent);	/* WRITE: the sink is about to be named */
RDMAFS_RPC_EVENT(rdmafs_req_data);		/* WRITE: the data is there, the key invalid */
RDMAFS_RPC_EVENT(rdmafs_req_served);		/* the file system has answered */
RDMAFS_RPC_EVENT(rdmafs_req_crw_held);		/* READ: the reply waits for an STCRW */
RDMAFS_RPC_EVENT(rdmafs_req_stcrw_received);	/* READ: there it is */
RDMAFS_RPC_EVENT(rdmafs_req_replied);		/* about to be posted, with RDMA WRITEs if any */
RDMAFS_RPC_EVENT(rdmafs_req_completed);		/* and need not be waited for any more */

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH transport
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
