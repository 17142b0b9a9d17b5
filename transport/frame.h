/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Check and take apart received messages, and write the headers of messages to send.  Pure
 * functions from bytes to values, so that KUnit runs the same source.
 */
#ifndef RDMAFS_TRANSPORT_FRAME_H
#define RDMAFS_TRANSPORT_FRAME_H

#include <asm/byteorder.h>
#include <linux/types.h>
#include "transport/wire.h"

/* Bytes of a frame's head at most: everything but inline data. */
#define RXP_HEAD_MAX	1024
/* The longest message of one frame, and so the smallest receive buffer. */
#define RXP_MSG_MAX	(RXP_HEAD_MAX + 4096)
/* The largest receive buffer: a longer message breaks the protocol. */
#define RXP_RECV_MAX	32768
/*
 * Receives beyond two for each slot of a connection: for HELLO, PING, BYE and RETURN, and the
 * server's WELCOME, PONG, RECALL and EVENT.
 */
#define RXP_RECV_RESERVE 8

/**
 * struct rxp_segment - memory of one side that the other may RDMA WRITE to (RFC 8166's word)
 * @rkey:   its key
 * @length: bytes
 * @iova:   address of the first byte
 */
struct rxp_segment {
	u32 rkey;
	u32 length;
	u64 iova;
};

/* Does the segment reach the end of the address space?  None of ours does. */
static inline bool rxp_segment_wraps(const struct rxp_segment *seg)
{
	return seg->iova + seg->length < seg->iova;
}

static inline struct rxp_segment rxp_segment_decode(const struct rxp_wire_tag *tag)
{
	return (struct rxp_segment) {
		.rkey = le32_to_cpu(tag->rkey),
		.length = le32_to_cpu(tag->length),
		.iova = le64_to_cpu(tag->iova),
	};
}

static inline void rxp_segment_encode(struct rxp_wire_tag *tag, const struct rxp_segment *seg)
{
	tag->length = cpu_to_le32(seg->length);
	tag->rkey = cpu_to_le32(seg->rkey);
	tag->iova = cpu_to_le64(seg->iova);
}

/**
 * struct rxp_frame - a frame of a message, checked
 * @type:       enum rxp_wire_type
 * @op:         op of a CONTROL or NOTIFY
 * @rpc:        it names an RPC, by @slot and @seq
 * @alone:      it is the only frame of its message
 * @end:        offset of the next frame, or the message's length
 * @slot:       below the number of slots; 0 if it names no RPC
 * @seq:        as received
 * @flags:      RXP_F_*, consistent with the lengths
 * @body:       @body_len bytes; in a CONTROL or NOTIFY its struct
 * @data:       inline data
 * @body_len:   CALL: 1..RDMAFS_XPRT_BODY_MAX; REPLY: may be 0
 * @data_len:   0..RDMAFS_XPRT_INLINE_MAX
 * @bulk:       CALL: bulk_len, rkey and iova of struct rxp_wire_call; REPLY: bulk_len of struct
 *		rxp_wire_reply, without a key; STCRW, DATA: struct rxp_wire_tag
 * @status:     REPLY: RXP_STATUS_*
 * @service_us: REPLY: see struct rxp_wire_reply
 * @grant:      REPLY with RXP_F_GRANT: the sink
 * @nr_keys:    RECALL, RETURN: keys in the struct rxp_wire_keys at @body
 *
 * It is on the stack of the function that takes the message apart, or builds it.  @body and @data
 * point to memory of others: of a message that was received, to the receive buffer.
 */
struct rxp_frame {
	u8 type;
	u8 op;
	bool rpc;
	bool alone;
	u32 end;
	u16 slot;
	u32 seq;
	u16 flags;
	const void *body;
	const void *data;
	u16 body_len;
	u32 data_len;
	struct rxp_segment bulk;
	u32 status;
	u32 service_us;
	struct rxp_segment grant;
	u32 nr_keys;
};

/* Key number @i, below @f->nr_keys, of a RECALL or RETURN. */
static inline u32 rxp_frame_key(const struct rxp_frame *f, u32 i)
{
	const struct rxp_wire_keys *keys = f->body;

	return le32_to_cpu(keys->rkey[i]);
}

int rxp_frame_check(const void *msg, u32 len, u32 at, bool from_client, u32 slots,
		    u32 data_max, struct rxp_frame *f);
int rxp_frame_check_cm(const void *data, u32 len, u32 data_limit, struct rxp_wire_cm *out);

u32 rxp_frame_write_call(void *head, const struct rxp_frame *f);
u32 rxp_frame_write_reply(void *head, const struct rxp_frame *f);
void rxp_frame_write_grant(void *head, u32 len, const struct rxp_segment *grant);
void rxp_frame_clear_grant(void *head);
void rxp_frame_write_hdr(void *head, u8 type, u8 op, u16 slot, u32 seq);
u32 rxp_frame_write_ctl(void *msg, const struct rxp_frame *f);

/* The sequence number after @seq in a slot: it wraps, and skips 0, which means none. */
static inline u32 rxp_seq_next(u32 seq)
{
	return seq + 1 ?: 1;
}

/**
 * rxp_slots_carried - tell how many slots travel on one of a session's connections
 * @nr:    slots of the session
 * @index: of the connection, below @conns
 * @conns: connections of the session
 *
 * Context: any.
 *
 * Return: number of slots: those whose number modulo @conns is @index.
 */
static inline u32 rxp_slots_carried(u32 nr, u32 index, u32 conns)
{
	return (nr - index + conns - 1) / conns;
}

/**
 * rxp_frame_astray - test whether a frame came on another connection than its slot's
 * @f:     the frame, checked
 * @index: index of the connection that it came on
 * @count: connections of the session
 *
 * Context: any.
 *
 * Return: true if so: the peer broke the protocol.
 */
static inline bool rxp_frame_astray(const struct rxp_frame *f, u32 index, u32 count)
{
	return count > 1 && f->rpc && f->slot % count != index;
}

/* Offset of a body in a CALL's or REPLY's head. */
#define RXP_BODY_OFFSET	(sizeof(struct rxp_wire_hdr) + sizeof(struct rxp_wire_call))

#endif
