/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a tracepoint of a step in an RPC's life says, on either side.
 *
 * It names its RPC by session, slot and sequence number.  These are the same on both sides, so
 * utils/rdmafs-trace can lay the traces of client and server over each other.  A class of events
 * belongs to one trace header, so each side has its own of the same form.
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

#endif
