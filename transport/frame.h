/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Taking messages apart and putting their headers together.  Pure: bytes in,
 * values out, so that KUnit runs the very same source.
 */
#ifndef RDMAFS_TRANSPORT_FRAME_H
#define RDMAFS_TRANSPORT_FRAME_H

#include <asm/byteorder.h>
#include <linux/types.h>
#include "transport/wire.h"

/* Head of a frame: everything but inline data. */
#define RXP_HEAD_MAX	1024
/* The longest message of one frame, and so the smallest receive buffer. */
#define RXP_MSG_MAX	(RXP_HEAD_MAX + 4096)
/* The largest receive buffer: what is longer is no message of ours. */
#define RXP_RECV_MAX	32768
/* Receives beyond two for each slot of a connection: HELLO, PING, BYE and their answers. */
#define RXP_RECV_RESERVE 8

/**
 * struct rxp_frame - one RPC's part of a message, or all of it, checked
 * @type:     enum rxp_wire_type
 * @op:	      of a CONTROL or NOTIFY
 * @rpc:      it names an RPC, by @slot and @seq
 * @alone:    there is nothing else in the message
 * @end:      where the next one begins, or the message's length
 * @slot:     below the number of slots, where the message has one
 * @seq:      as it came
 * @flags:    RXP_F_*, consistent with the lengths
 * @body:     body_len bytes; of a CONTROL or NOTIFY its struct
 * @data:     inline data
 * @body_len: 1..RDMAFS_XPRT_BODY_MAX of a CALL, may be 0 in a REPLY
 * @data_len: 0..RDMAFS_XPRT_INLINE_MAX
 * @bulk_len: see struct rxp_wire_call and rxp_wire_reply
 * @rkey:     CALL: of the client's room
 * @iova:     CALL: of the client's room
 * @status:   REPLY: RXP_STATUS_*
 * @service_us: REPLY
 * @grant_len: REPLY with RXP_F_GRANT: bytes of the sink
 * @grant_rkey: its key
 * @grant_iova: its address
 * @nr_keys:  RECALL, RETURN: keys in the struct rxp_wire_keys at @body
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
	u32 bulk_len;
	u32 rkey;
	u64 iova;
	u32 status;
	u32 service_us;
	u32 grant_len;
	u32 grant_rkey;
	u64 grant_iova;
	u32 nr_keys;
};

/* One of those in a RECALL or RETURN, by index. */
static inline u32 rxp_frame_key(const struct rxp_frame *f, u32 i)
{
	const struct rxp_wire_keys *keys = f->body;

	return le32_to_cpu(keys->rkey[i]);
}

int rxp_frame_check(const void *msg, u32 len, u32 at, bool from_client, u32 slots,
		    u32 data_max, struct rxp_frame *f);
int rxp_frame_check_cm(const void *data, u32 len, u32 data_limit, struct rxp_wire_cm *out);

u32 rxp_frame_put_call(void *head, const struct rxp_frame *f);
u32 rxp_frame_put_reply(void *head, const struct rxp_frame *f);
void rxp_frame_put_grant(void *head, u32 len, const struct rxp_wire_tag *tag);
void rxp_frame_drop_grant(void *head);
void rxp_frame_put_hdr(void *head, u8 type, u8 op, u16 slot, u32 seq);

/* The number after @seq in a slot: they wrap, but 0 is none. */
static inline u32 rxp_seq_next(u32 seq)
{
	return seq + 1 ?: 1;
}

/**
 * rxp_frame_astray - did a message take another connection than its slot's?
 * @f:	   the message, checked
 * @index: of the connection it came on
 * @count: connections of its session
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
