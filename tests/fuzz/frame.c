// SPDX-License-Identifier: GPL-2.0
/*
 * transport/frame.c on any message: what it lets through points into the message, keeps the
 * bounds that struct rxp_frame promises, and is the only way to write it down.
 *
 * Input: who sent it, slots of the session, most bytes of data (3 bytes), the message.
 */
#include "fuzz.h"
#include "transport/frame.h"
#include "transport/xprt.h"

/* Inside the part that has been checked. */
static void within(const u8 *msg, const struct rxp_frame *f, const void *what, size_t len)
{
	const u8 *p = what;

	FUZZ_ASSERT(p >= msg && p + len <= msg + f->end);
}

static void check_again(const u8 *msg, u32 at, const struct rxp_frame *f, u32 data_max)
{
	u8 head[RXP_HEAD_MAX];
	u32 len;

	FUZZ_ASSERT(f->rpc && f->body_len <= RDMAFS_XPRT_BODY_MAX &&
		    f->data_len <= RDMAFS_XPRT_INLINE_MAX && f->bulk_len <= data_max);
	within(msg, f, f->body, f->body_len);
	within(msg, f, f->data, f->data_len);
	memset(head, 0xa5, sizeof(head));
	if (f->type == RXP_CALL) {
		FUZZ_ASSERT(f->body_len && !(f->flags & ~RXP_F_ALL));
		FUZZ_ASSERT(f->iova <= U64_MAX - f->bulk_len);
		len = rxp_frame_put_call(head, f);
	} else {
		memcpy(head + RXP_BODY_OFFSET, f->body, f->body_len);
		len = rxp_frame_put_reply(head, f);
		if (f->flags & RXP_F_GRANT) {
			struct rxp_wire_tag tag = {
				.rkey = cpu_to_le32(f->grant_rkey),
				.length = cpu_to_le32(f->grant_len),
				.iova = cpu_to_le64(f->grant_iova),
			};

			FUZZ_ASSERT(f->grant_iova <= U64_MAX - f->grant_len);
			rxp_frame_put_grant(head, len, &tag);
			len += sizeof(tag);
		}
	}
	FUZZ_ASSERT(f->end == at + len + f->data_len);
	FUZZ_ASSERT(!memcmp(head, msg + at, len));
	FUZZ_ASSERT((const u8 *)f->data == msg + at + len);
}

static void check_control(const u8 *msg, u32 len, const struct rxp_frame *f)
{
	u8 head[sizeof(struct rxp_wire_hdr)];
	u32 i, keys = 0;

	/* It is the whole message. */
	FUZZ_ASSERT(f->alone && f->end == len);
	rxp_frame_put_hdr(head, f->type, f->op, f->slot, f->seq);
	FUZZ_ASSERT(!memcmp(head, msg, sizeof(head)));
	FUZZ_ASSERT(f->nr_keys <= RXP_WIRE_KEYS);
	for (i = 0; i < f->nr_keys; i++)
		keys ^= rxp_frame_key(f, i);
	FUZZ_ASSERT(f->nr_keys || !keys);
}

static void check_message(const u8 *msg, u32 len, bool from_client, u32 slots, u32 data_max)
{
	struct rxp_frame f;
	u32 at = 0, nr = 0;

	do {
		if (rxp_frame_check(msg, len, at, from_client, slots, data_max, &f))
			return;
		FUZZ_ASSERT(f.end > at && f.end <= len && f.slot < slots);
		if (f.type == RXP_CALL || f.type == RXP_REPLY) {
			FUZZ_ASSERT(from_client == (f.type == RXP_CALL));
			check_again(msg, at, &f, data_max);
		} else {
			check_control(msg, len, &f);
		}
		FUZZ_ASSERT(f.alone == (!nr++ && f.end == len));
		at = f.end;
	} while (at < len);
}

static void check_cm(const u8 *data, u32 len, u32 limit)
{
	struct rxp_wire_cm cm;
	u32 slots;

	if (rxp_frame_check_cm(data, len, limit, &cm))
		return;
	slots = le16_to_cpu(cm.slots);
	FUZZ_ASSERT(slots >= RDMAFS_XPRT_SLOTS_MIN && slots <= RDMAFS_XPRT_SLOTS_MAX);
	FUZZ_ASSERT(cm.index < cm.count && cm.count <= RDMAFS_XPRT_CONNS_MAX);
	FUZZ_ASSERT(le32_to_cpu(cm.recv_size) >= RXP_MSG_MAX);
	FUZZ_ASSERT(le32_to_cpu(cm.data_max) <= limit);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz f = { .p = data, .left = size };
	u8 how = fuzz_u8(&f);
	/* 1..1024 slots, and most bytes of data as peers agree on them: 4 KiB..4 MiB. */
	u32 slots = 1 << (how >> 1 & 7) << (how >> 4 & 3);
	u32 data_max = RDMAFS_XPRT_INLINE_MAX << fuzz_u8(&f) % 11;
	size_t len;
	u8 *msg;

	msg = fuzz_bytes(&f, f.left, &len);
	if (how & 0x80)
		check_cm(msg, len, data_max);
	else
		check_message(msg, len, how & 1, slots, data_max);
	free(msg);
	return 0;
}
