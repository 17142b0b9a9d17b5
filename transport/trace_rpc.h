/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a tracepoint of a step in the life of an RPC or of a grant says, on either side.
 *
 * A step of an RPC names it by session, slot and sequence number.  These are the same on both
 * sides, so utils/rdmafs-trace can lay the traces of client and server over each other.  A class
 * of events belongs to one trace header, so each side has its own of the same form.
 */
#ifndef RDMAFS_TRANSPORT_TRACE_RPC_H
#define RDMAFS_TRANSPORT_TRACE_RPC_H

#include <linux/tracepoint.h>
#include <linux/unaligned.h>

/*
 * @id:  id of the session; its first bytes are traced
 * @len: bytes of data, 0 if the RPC has none
 */
#define RDMAFS_RPC_CLASS(name)						\
DECLARE_EVENT_CLASS(name,						\
	TP_PROTO(const u8 *id, u16 slot, u32 seq, u32 len),		\
	TP_ARGS(id, slot, seq, len),					\
	TP_STRUCT__entry(						\
		__field(u32, session)					\
		__field(u32, seq)					\
		__field(u32, len)					\
		__field(u16, slot)					\
	),								\
	TP_fast_assign(							\
		__entry->session = get_unaligned_be32(id);		\
		__entry->seq = seq;					\
		__entry->len = len;					\
		__entry->slot = slot;					\
	),								\
	TP_printk("session=%08x slot=%u seq=%u len=%u",			\
		  __entry->session, __entry->slot, __entry->seq, __entry->len)	\
)

#define RDMAFS_RPC_EVENT(class, name)					\
	DEFINE_EVENT(class, name,					\
		     TP_PROTO(const u8 *id, u16 slot, u32 seq, u32 len),	\
		     TP_ARGS(id, slot, seq, len))

/*
 * What a tracepoint of a step in a grant's life says, on either side.  Session and key name the
 * grant on both.
 *
 * @conn: index of the connection that registered the key, and whose reply brought the grant
 * @key:  the sink's key
 * @len:  bytes that the sink takes
 * @slot: slot and sequence number of the WRITE whose reply brings the grant, or that uses it;
 *	  @seq is 0 if the step is of no WRITE
 */
#define RDMAFS_GRANT_CLASS(name)					\
DECLARE_EVENT_CLASS(name,						\
	TP_PROTO(const u8 *id, u16 conn, u32 key, u32 len, u16 slot, u32 seq),	\
	TP_ARGS(id, conn, key, len, slot, seq),				\
	TP_STRUCT__entry(						\
		__field(u32, session)					\
		__field(u32, seq)					\
		__field(u32, key)					\
		__field(u32, len)					\
		__field(u16, slot)					\
		__field(u16, conn)					\
	),								\
	TP_fast_assign(							\
		__entry->session = get_unaligned_be32(id);		\
		__entry->seq = seq;					\
		__entry->key = key;					\
		__entry->len = len;					\
		__entry->slot = slot;					\
		__entry->conn = conn;					\
	),								\
	TP_printk("session=%08x key=%08x len=%u conn=%u slot=%u seq=%u",	\
		  __entry->session, __entry->key, __entry->len, __entry->conn,	\
		  __entry->slot, __entry->seq)				\
)

#define RDMAFS_GRANT_EVENT(class, name)					\
	DEFINE_EVENT(class, name,					\
		     TP_PROTO(const u8 *id, u16 conn, u32 key, u32 len, u16 slot, u32 seq),	\
		     TP_ARGS(id, conn, key, len, slot, seq))

#endif
