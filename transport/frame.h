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
 * server's WELCOME, PONG and RECALL.
 */
#define RXP_RECV_RESERVE 8

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
 * @bulk_len:   see struct rxp_wire_call, rxp_wire_reply and rxp_wire_tag
 * @rkey:       CALL: as in struct rxp_wire_call; STCRW, DATA: as in struct rxp_wire_tag
 * @iova:       as @rkey
 * @status:     REPLY: RXP_STATUS_*
 * @service_us: REPLY: see struct rxp_wire_reply
 * @grant_len:  REPLY with RXP_F_GRANT: bytes of the sink
 * @grant_rkey: REPLY with RXP_F_GRANT: key of the sink
 * @grant_iova: REPLY with RXP_F_GRANT: address of the sink
 * @nr_keys:    RECALL, RETURN: keys in the struct rxp_wire_keys at @body
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

/* Key number @i, below @f->nr_keys, of a RECALL or RETURN. */
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
 * Context: Any.
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
 * Context: Any.
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
