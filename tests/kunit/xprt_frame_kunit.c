// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_frame: messages (transport/frame.c).  Golden bytes must be built and
 * parsed, and messages that a hostile peer may send instead must be refused.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "transport/frame.h"
#include "transport/xprt.h"

#define SLOTS	16
#define DATA_MAX	(1024 * 1024)

/* A CALL in slot 3, sequence number 7, body "abc", room for 65536 bytes. */
static const u8 golden_call[] = {
	0x01, 0x00, 0x03, 0x00, 0x07, 0x00, 0x00, 0x00,
	0x03, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x01, 0x00, 0x44, 0x33, 0x22, 0x11,
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
	'a', 'b', 'c',
};

/* The REPLY to it: body "de", 65536 bytes were written, 5 microseconds. */
static const u8 golden_reply[] = {
	0x02, 0x00, 0x03, 0x00, 0x07, 0x00, 0x00, 0x00,
	0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00,
	0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	'd', 'e',
};

/* Private data of connection 1 of 4: 16 slots, 1 MiB, incarnation 5. */
static const u8 golden_join[] = {
	0x52, 0x44, 0x46, 0x53, 0x0a, 0x80, 0x01, 0x04,
	0x00, 0x14, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x08, 0x00,
	0x05, 0x00, 0x00, 0x00, 0x88, 0x13, 0x00, 0x00,
	0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
	0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf,
};

/* An STCRW for slot 3, sequence number 7: 8192 bytes. */
static const u8 golden_stcrw[] = {
	0x04, 0x02, 0x03, 0x00, 0x07, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x20, 0x00, 0x00, 0x44, 0x33, 0x22, 0x11,
	0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

/* A RECALL of two grants. */
static const u8 golden_recall[] = {
	0x04, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x02, 0x00, 0x00, 0x00, 0x44, 0x33, 0x22, 0x11,
	0x88, 0x77, 0x66, 0x55,
};

/* The number of frames in a message, or -EBADMSG. */
static int check_all(const void *msg, u32 len, bool from_client)
{
	struct rxp_frame f;
	u32 at = 0;
	int n = 0;

	do {
		if (rxp_frame_check(msg, len, at, from_client, SLOTS, DATA_MAX, &f))
			return -EBADMSG;
		if (f.end <= at || f.end > len)
			return -ERANGE;
		at = f.end;
		n++;
	} while (at < len);
	return n;
}

static void frame_call_golden(struct kunit *test)
{
	struct rxp_frame in = {
		.slot = 3, .seq = 7, .flags = RXP_F_READ | RXP_F_RKEY, .body = "abc",
		.body_len = 3, .bulk = {
			.rkey = 0x11223344, .length = 65536, .iova = 0x1122334455667788,
		},
	};
	u8 *head = kunit_kzalloc(test, RXP_HEAD_MAX, GFP_KERNEL);
	struct rxp_frame out;

	KUNIT_ASSERT_NOT_NULL(test, head);
	KUNIT_ASSERT_EQ(test, rxp_frame_write_call(head, &in), sizeof(golden_call));
	KUNIT_EXPECT_MEMEQ(test, head, golden_call, sizeof(golden_call));
	KUNIT_ASSERT_EQ(test, rxp_frame_check(golden_call, sizeof(golden_call), 0, true, SLOTS,
					      DATA_MAX, &out), 0);
	KUNIT_EXPECT_EQ(test, out.type, RXP_CALL);
	KUNIT_EXPECT_EQ(test, out.slot, 3);
	KUNIT_EXPECT_EQ(test, out.seq, 7);
	KUNIT_EXPECT_EQ(test, out.flags, in.flags);
	KUNIT_EXPECT_EQ(test, out.bulk.length, 65536);
	KUNIT_EXPECT_EQ(test, out.bulk.rkey, 0x11223344);
	KUNIT_EXPECT_EQ(test, out.bulk.iova, 0x1122334455667788);
	KUNIT_EXPECT_EQ(test, out.body_len, 3);
	KUNIT_EXPECT_MEMEQ(test, out.body, "abc", 3);
}

static void frame_reply_golden(struct kunit *test)
{
	struct rxp_frame in = {
		.slot = 3, .seq = 7, .body_len = 2, .bulk.length = 65536, .service_us = 5,
	};
	u8 *head = kunit_kzalloc(test, RXP_HEAD_MAX, GFP_KERNEL);
	struct rxp_frame out;

	KUNIT_ASSERT_NOT_NULL(test, head);
	memcpy(head + RXP_BODY_OFFSET, "de", 2);
	KUNIT_ASSERT_EQ(test, rxp_frame_write_reply(head, &in), sizeof(golden_reply));
	KUNIT_EXPECT_MEMEQ(test, head, golden_reply, sizeof(golden_reply));
	KUNIT_ASSERT_EQ(test, rxp_frame_check(golden_reply, sizeof(golden_reply), 0, false, SLOTS,
					      DATA_MAX, &out), 0);
	KUNIT_EXPECT_EQ(test, out.bulk.length, 65536);
	KUNIT_EXPECT_EQ(test, out.service_us, 5);
	KUNIT_EXPECT_MEMEQ(test, out.body, "de", 2);
}

static void frame_stcrw_golden(struct kunit *test)
{
	u8 msg[sizeof(golden_stcrw)] = {};
	struct rxp_frame out, in = {};

	KUNIT_ASSERT_EQ(test, rxp_frame_check(golden_stcrw, sizeof(golden_stcrw), 0, false, SLOTS,
					      DATA_MAX, &out), 0);
	KUNIT_EXPECT_EQ(test, out.op, RXP_NOTIFY_STCRW);
	KUNIT_EXPECT_EQ(test, out.slot, 3);
	KUNIT_EXPECT_EQ(test, out.bulk.length, 8192);
	KUNIT_EXPECT_EQ(test, out.bulk.rkey, 0x11223344);
	KUNIT_EXPECT_EQ(test, out.bulk.iova, 0x1000);

	in.type = RXP_NOTIFY;
	in.op = RXP_NOTIFY_STCRW;
	in.slot = 3;
	in.seq = out.seq;
	in.bulk = out.bulk;
	KUNIT_ASSERT_EQ(test, rxp_frame_write_ctl(msg, &in), sizeof(golden_stcrw));
	KUNIT_EXPECT_MEMEQ(test, msg, golden_stcrw, sizeof(golden_stcrw));

	/* A REVOKED or CANCEL names no memory, so it is only a header. */
	in.op = RXP_NOTIFY_REVOKED;
	in.bulk = (struct rxp_segment) {};
	memset(msg, 0xff, sizeof(msg));
	KUNIT_ASSERT_EQ(test, rxp_frame_write_ctl(msg, &in), sizeof(struct rxp_wire_hdr));
	KUNIT_EXPECT_EQ(test, msg[sizeof(struct rxp_wire_hdr)], 0xff);
	KUNIT_ASSERT_EQ(test, rxp_frame_check(msg, sizeof(struct rxp_wire_hdr), 0, false, SLOTS,
					      DATA_MAX, &out), 0);
	KUNIT_EXPECT_EQ(test, out.op, RXP_NOTIFY_REVOKED);
	KUNIT_EXPECT_EQ(test, out.slot, 3);
	KUNIT_EXPECT_EQ(test, out.seq, in.seq);
}

/*
 * A client's STCRW or CANCEL after a CALL whose memory was not registered.  A server must not
 * send it.
 */
static void frame_overlapped(struct kunit *test)
{
	u8 msg[sizeof(golden_stcrw)];
	struct rxp_frame out;

	memcpy(msg, golden_stcrw, sizeof(msg));
	msg[0] = RXP_CONTROL;
	msg[1] = RXP_CONTROL_STCRW;
	KUNIT_ASSERT_EQ(test, rxp_frame_check(msg, sizeof(msg), 0, true, SLOTS, DATA_MAX, &out), 0);
	KUNIT_EXPECT_EQ(test, out.bulk.length, 8192);
	KUNIT_EXPECT_EQ(test, out.bulk.rkey, 0x11223344);
	KUNIT_EXPECT_EQ(test, rxp_frame_check(msg, sizeof(msg), 0, false, SLOTS, DATA_MAX, &out),
			-EBADMSG);
	msg[1] = RXP_CONTROL_CANCEL;
	KUNIT_EXPECT_EQ(test, rxp_frame_check(msg, sizeof(msg), 0, true, SLOTS, DATA_MAX, &out),
			-EBADMSG);
	KUNIT_ASSERT_EQ(test, rxp_frame_check(msg, sizeof(struct rxp_wire_hdr), 0, true, SLOTS,
					      DATA_MAX, &out), 0);
	KUNIT_EXPECT_EQ(test, out.slot, 3);
	KUNIT_EXPECT_EQ(test, out.bulk.rkey, 0);
}

/*
 * A reply that brings a grant must be parsed; one that is cut short, of no length, too long or
 * that wraps must be refused.  The reply must be right without the grant, too.
 */
static void frame_grant(struct kunit *test)
{
	struct rxp_segment sink = { .rkey = 0x55667788, .length = 131072, .iova = 0x7000 };
	struct rxp_frame in = { .slot = 3, .seq = 7, .body_len = 2 }, out;
	u8 *head = kunit_kzalloc(test, RXP_HEAD_MAX, GFP_KERNEL);
	struct rxp_wire_tag *at;
	u32 len;

	KUNIT_ASSERT_NOT_NULL(test, head);
	len = rxp_frame_write_reply(head, &in);
	rxp_frame_write_grant(head, len, &sink);
	KUNIT_ASSERT_EQ(test, rxp_frame_check(head, len + sizeof(*at), 0, false, SLOTS, DATA_MAX,
					      &out), 0);
	KUNIT_EXPECT_EQ(test, out.body_len, 2);
	KUNIT_EXPECT_EQ(test, out.grant.length, 131072);
	KUNIT_EXPECT_EQ(test, out.grant.rkey, 0x55667788);
	KUNIT_EXPECT_EQ(test, out.grant.iova, 0x7000);
	KUNIT_EXPECT_EQ(test, rxp_frame_check(head, len, 0, false, SLOTS, DATA_MAX, &out),
			-EBADMSG);

	at = (void *)head + len;
	at->length = 0;
	KUNIT_EXPECT_EQ(test, rxp_frame_check(head, len + sizeof(*at), 0, false, SLOTS, DATA_MAX,
					      &out), -EBADMSG);
	at->length = cpu_to_le32(RDMAFS_XPRT_DATA_MAX + 1);
	KUNIT_EXPECT_EQ(test, rxp_frame_check(head, len + sizeof(*at), 0, false, SLOTS, DATA_MAX,
					      &out), -EBADMSG);
	at->length = cpu_to_le32(sink.length);
	at->iova = cpu_to_le64(U64_MAX - 1);
	KUNIT_EXPECT_EQ(test, rxp_frame_check(head, len + sizeof(*at), 0, false, SLOTS, DATA_MAX,
					      &out), -EBADMSG);
	rxp_frame_clear_grant(head);
	KUNIT_EXPECT_EQ(test, check_all(head, len + sizeof(*at), false), -EBADMSG);
	KUNIT_EXPECT_EQ(test, rxp_frame_check(head, len, 0, false, SLOTS, DATA_MAX, &out), 0);
}

/* An EVENT is a header of the server's, and belongs to no slot. */
static void frame_event(struct kunit *test)
{
	static const u8 golden_event[] = {
		0x04, 0x06, 0x00, 0x00,	/* type, op, slot */
		0x00, 0x00, 0x00, 0x00,	/* seq */
		0x00, 0x00, 0x00, 0x00,	/* flags, body_len */
		0x00, 0x00, 0x00, 0x00,	/* data_len */
	};
	u8 msg[sizeof(golden_event) + 4] = {};
	struct rxp_frame out;

	rxp_frame_write_hdr(msg, RXP_NOTIFY, RXP_NOTIFY_EVENT, 0, 0);
	KUNIT_EXPECT_MEMEQ(test, msg, golden_event, sizeof(golden_event));
	KUNIT_ASSERT_EQ(test, rxp_frame_check(golden_event, sizeof(golden_event), 0, false, SLOTS,
					      DATA_MAX, &out), 0);
	KUNIT_EXPECT_EQ(test, out.op, RXP_NOTIFY_EVENT);
	KUNIT_EXPECT_FALSE(test, out.rpc);
	KUNIT_EXPECT_EQ(test, check_all(msg, sizeof(golden_event), true), -EBADMSG);
	KUNIT_EXPECT_EQ(test, check_all(msg, sizeof(msg), false), -EBADMSG);
	KUNIT_EXPECT_EQ(test, check_all(msg, sizeof(golden_event) - 1, false), -EBADMSG);
	rxp_frame_write_hdr(msg, RXP_NOTIFY, RXP_NOTIFY_EVENT, 1, 0);
	KUNIT_EXPECT_EQ(test, check_all(msg, sizeof(golden_event), false), -EBADMSG);
	rxp_frame_write_hdr(msg, RXP_NOTIFY, RXP_NOTIFY_EVENT, 0, 1);
	KUNIT_EXPECT_EQ(test, check_all(msg, sizeof(golden_event), false), -EBADMSG);
	rxp_frame_write_hdr(msg, RXP_NOTIFY, RXP_NOTIFY_EVENT + 1, 0, 0);
	KUNIT_EXPECT_EQ(test, check_all(msg, sizeof(golden_event), false), -EBADMSG);
}

/* A RECALL and a RETURN must have as many keys as they say, 1 to 32. */
static void frame_keys(struct kunit *test)
{
	const u32 head = sizeof(struct rxp_wire_hdr) + sizeof(struct rxp_wire_keys);
	u8 *msg = kunit_kzalloc(test, RXP_RECV_MAX, GFP_KERNEL);
	struct rxp_wire_keys *keys;
	struct rxp_frame out;
	u32 nr;

	KUNIT_ASSERT_NOT_NULL(test, msg);
	KUNIT_ASSERT_EQ(test, rxp_frame_check(golden_recall, sizeof(golden_recall), 0, false,
					      SLOTS, DATA_MAX, &out), 0);
	KUNIT_EXPECT_EQ(test, out.op, RXP_NOTIFY_RECALL);
	KUNIT_EXPECT_FALSE(test, out.rpc);
	KUNIT_ASSERT_EQ(test, out.nr_keys, 2);
	KUNIT_EXPECT_EQ(test, rxp_frame_key(&out, 0), 0x11223344);
	KUNIT_EXPECT_EQ(test, rxp_frame_key(&out, 1), 0x55667788);
	KUNIT_EXPECT_EQ(test, check_all(golden_recall, sizeof(golden_recall), true), -EBADMSG);

	memcpy(msg, golden_recall, sizeof(golden_recall));
	msg[0] = RXP_CONTROL;
	msg[1] = RXP_CONTROL_RETURN;
	keys = (struct rxp_wire_keys *)(msg + sizeof(struct rxp_wire_hdr));
	for (nr = 0; nr <= RXP_WIRE_KEYS + 1; nr++) {
		int want = nr && nr <= RXP_WIRE_KEYS ? 1 : -EBADMSG;
		u32 len = head + nr * sizeof(__le32);

		keys->nr = cpu_to_le16(nr);
		KUNIT_EXPECT_EQ(test, check_all(msg, len, true), want);
		KUNIT_EXPECT_EQ(test, check_all(msg, len - 1, true), -EBADMSG);
		KUNIT_EXPECT_EQ(test, check_all(msg, len + sizeof(__le32), true), -EBADMSG);
	}
	keys->nr = cpu_to_le16(1);
	keys->pad = cpu_to_le16(1);
	KUNIT_EXPECT_EQ(test, check_all(msg, head + sizeof(__le32), true), -EBADMSG);
	keys->pad = 0;
	rxp_frame_write_hdr(msg, RXP_CONTROL, RXP_CONTROL_RETURN, 1, 0);
	KUNIT_EXPECT_EQ(test, check_all(msg, head + sizeof(__le32), true), -EBADMSG);
}

/* Of each golden message only the right length is accepted, and only from the right side. */
static void frame_lengths(struct kunit *test)
{
	static const struct {
		const u8 *msg;
		u32 len;
		bool from_client;
	} golden[] = {
		{ golden_call, sizeof(golden_call), true },
		{ golden_reply, sizeof(golden_reply), false },
		{ golden_stcrw, sizeof(golden_stcrw), false },
		{ golden_recall, sizeof(golden_recall), false },
	};
	u8 *buf = kunit_kzalloc(test, RXP_RECV_MAX + 1, GFP_KERNEL);
	struct rxp_frame f;
	u32 i, len;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		memset(buf, 0, RXP_RECV_MAX + 1);
		memcpy(buf, golden[i].msg, golden[i].len);
		for (len = 0; len <= RXP_RECV_MAX + 1; len++) {
			int ret = check_all(buf, len, golden[i].from_client);

			KUNIT_ASSERT_EQ_MSG(test, ret, len == golden[i].len ? 1 : -EBADMSG,
					    "message %u, length %u", i, len);
		}
		KUNIT_EXPECT_EQ(test, rxp_frame_check(buf, golden[i].len, 0,
						      !golden[i].from_client, SLOTS, DATA_MAX, &f),
				-EBADMSG);
	}
}

/* Fields that a message does not use must be 0. */
static void frame_unused(struct kunit *test)
{
	struct {
		struct rxp_wire_hdr hdr;
		union {
			struct rxp_wire_tag tag;
			struct rxp_wire_welcome welcome;
		};
	} __packed msg = {};
	const u32 data = sizeof(msg.hdr) + sizeof(msg.tag);
	const u32 welcome = sizeof(msg.hdr) + sizeof(msg.welcome);

	rxp_frame_write_hdr(&msg, RXP_CONTROL, RXP_CONTROL_DATA, 3, 7);
	msg.tag.length = cpu_to_le32(8192);
	msg.tag.rkey = cpu_to_le32(1);
	KUNIT_EXPECT_EQ(test, check_all(&msg, data, true), 1);
	msg.tag.iova = cpu_to_le64(1ULL << 63);
	KUNIT_EXPECT_EQ(test, check_all(&msg, data, true), -EBADMSG);

	memset(&msg, 0xff, sizeof(msg));
	rxp_frame_write_hdr(&msg, RXP_NOTIFY, RXP_NOTIFY_WELCOME, 0, 0);
	msg.welcome.pad = 0;
	KUNIT_EXPECT_EQ(test, check_all(&msg, welcome, false), 1);
	msg.welcome.pad = cpu_to_le32(1);
	KUNIT_EXPECT_EQ(test, check_all(&msg, welcome, false), -EBADMSG);
}

/*
 * Several RPCs in a message: they follow each other without gaps, are complete, and all are
 * CALLs, or all replies.
 */
static void frame_together(struct kunit *test)
{
	u8 *msg = kunit_kzalloc(test, RXP_MSG_MAX, GFP_KERNEL);
	const u32 call = sizeof(golden_call), stcrw = sizeof(golden_stcrw);
	struct rxp_frame f;
	u32 len;

	KUNIT_ASSERT_NOT_NULL(test, msg);
	memcpy(msg, golden_call, call);
	memcpy(msg + call, golden_call, call);
	msg[call + 2] = 5;
	KUNIT_EXPECT_EQ(test, check_all(msg, 2 * call, true), 2);
	KUNIT_ASSERT_EQ(test, rxp_frame_check(msg, 2 * call, 0, true, SLOTS, DATA_MAX, &f), 0);
	KUNIT_EXPECT_EQ(test, f.slot, 3);
	KUNIT_EXPECT_EQ(test, f.end, call);
	KUNIT_EXPECT_FALSE(test, f.alone);
	KUNIT_ASSERT_EQ(test, rxp_frame_check(msg, 2 * call, call, true, SLOTS, DATA_MAX, &f), 0);
	KUNIT_EXPECT_EQ(test, f.slot, 5);
	KUNIT_EXPECT_EQ(test, f.end, 2 * call);
	KUNIT_EXPECT_FALSE(test, f.alone);
	KUNIT_EXPECT_PTR_EQ(test, f.body, (void *)msg + call + RXP_BODY_OFFSET);
	KUNIT_ASSERT_EQ(test, rxp_frame_check(msg, call, 0, true, SLOTS, DATA_MAX, &f), 0);
	KUNIT_EXPECT_TRUE(test, f.alone);

	for (len = call + 1; len < 2 * call; len++)
		KUNIT_ASSERT_EQ_MSG(test, check_all(msg, len, true), -EBADMSG, "length %u", len);

	/* A CONTROL must be alone: neither behind a CALL nor before one. */
	memcpy(msg + call, golden_stcrw, stcrw);
	msg[call] = RXP_CONTROL;
	msg[call + 1] = RXP_CONTROL_STCRW;
	KUNIT_EXPECT_EQ(test, check_all(msg, call + stcrw, true), -EBADMSG);
	memcpy(msg, msg + call, stcrw);
	KUNIT_EXPECT_EQ(test, check_all(msg, stcrw, true), 1);
	memcpy(msg + stcrw, golden_call, call);
	KUNIT_EXPECT_EQ(test, check_all(msg, stcrw + call, true), -EBADMSG);

	memcpy(msg, golden_reply, sizeof(golden_reply));
	memcpy(msg + sizeof(golden_reply), golden_reply, sizeof(golden_reply));
	KUNIT_EXPECT_EQ(test, check_all(msg, 2 * sizeof(golden_reply), false), 2);
	KUNIT_EXPECT_EQ(test, check_all(msg, 2 * sizeof(golden_reply), true), -EBADMSG);
}

struct frame_bad {
	const char *desc;
	u32 at;
	u8 value;
};

/* The golden CALL with one byte changed must be refused. */
static const struct frame_bad frame_bad_calls[] = {
	{ "type 0", 0, 0 },
	{ "unknown type", 0, 9 },
	{ "op in a CALL", 1, 1 },
	{ "slot out of range", 2, SLOTS },
	{ "slot far out of range", 3, 0xff },
	{ "no body", 8, 0 },
	{ "body beyond the message", 8, 4 },
	{ "body beyond all messages", 9, 0xff },
	{ "unknown flag", 10, 0x0d },
	{ "key without room", 10, 0x04 },
	{ "room and data to come", 10, 0x07 },
	{ "address of a granted sink", 10, 0x06 },
	{ "data beyond the message", 12, 1 },
	{ "data that wraps", 15, 0xff },
	{ "more room than any RPC has", 19, 0xff },
	{ "room that wraps", 31, 0xff },
};

static void frame_bad_desc(const struct frame_bad *bad, char *desc)
{
	strscpy(desc, bad->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(frame_bad_call, frame_bad_calls, frame_bad_desc);

static void frame_call_bad(struct kunit *test)
{
	const struct frame_bad *bad = test->param_value;
	u8 msg[sizeof(golden_call)];
	struct rxp_frame f;

	memcpy(msg, golden_call, sizeof(msg));
	msg[bad->at] = bad->value;
	if (!strcmp(bad->desc, "room that wraps"))
		memset(msg + 24, 0xff, 8);
	KUNIT_EXPECT_EQ(test, rxp_frame_check(msg, sizeof(msg), 0, true, SLOTS, DATA_MAX, &f),
			-EBADMSG);
}

static void frame_cm(struct kunit *test)
{
	struct rxp_wire_cm cm = {
		.magic = cpu_to_le32(RXP_WIRE_MAGIC),
		.version = cpu_to_le16(RXP_WIRE_VERSION),
		.count = 1,
		.recv_size = cpu_to_le32(RXP_MSG_MAX),
		.data_max = cpu_to_le32(DATA_MAX),
		.slots = cpu_to_le16(SLOTS),
		.reserve = cpu_to_le16(RXP_RECV_RESERVE),
	}, bad, out;
	u8 padded[64] = {};

	memcpy(padded, &cm, sizeof(cm));
	KUNIT_EXPECT_EQ(test, rxp_frame_check_cm(padded, sizeof(padded), DATA_MAX, &out), 0);
	KUNIT_EXPECT_EQ(test, rxp_frame_check_cm(&cm, sizeof(cm) - 1, DATA_MAX, &out), -EPROTO);
	KUNIT_EXPECT_EQ(test, rxp_frame_check_cm(NULL, 0, DATA_MAX, &out), -EPROTO);
	bad = cm;
	bad.magic = 0;
	KUNIT_EXPECT_EQ(test, rxp_frame_check_cm(&bad, sizeof(bad), DATA_MAX, &out), -EPROTO);
	bad = cm;
	bad.version = cpu_to_le16(RXP_WIRE_VERSION + 1);
	KUNIT_EXPECT_EQ(test, rxp_frame_check_cm(&bad, sizeof(bad), DATA_MAX, &out),
			-EPROTONOSUPPORT);
	bad = cm;
	bad.slots = cpu_to_le16(RDMAFS_XPRT_SLOTS_MAX + 1);
	KUNIT_EXPECT_EQ(test, rxp_frame_check_cm(&bad, sizeof(bad), DATA_MAX, &out), -EINVAL);
	bad = cm;
	bad.recv_size = cpu_to_le32(RXP_MSG_MAX - 1);
	KUNIT_EXPECT_EQ(test, rxp_frame_check_cm(&bad, sizeof(bad), DATA_MAX, &out), -EINVAL);
	bad = cm;
	bad.data_max = cpu_to_le32(DATA_MAX + 1);
	KUNIT_EXPECT_EQ(test, rxp_frame_check_cm(&bad, sizeof(bad), DATA_MAX, &out), -EINVAL);
	bad = cm;
	bad.features = cpu_to_le32(1);
	KUNIT_EXPECT_EQ(test, rxp_frame_check_cm(&bad, sizeof(bad), DATA_MAX, &out), -EINVAL);
}

static void frame_join_golden(struct kunit *test)
{
	struct rxp_wire_cm cm = {
		.magic = cpu_to_le32(RXP_WIRE_MAGIC),
		.version = cpu_to_le16(RXP_WIRE_VERSION),
		.index = 1,
		.count = 4,
		.recv_size = cpu_to_le32(RXP_MSG_MAX),
		.data_max = cpu_to_le32(DATA_MAX),
		.slots = cpu_to_le16(SLOTS),
		.reserve = cpu_to_le16(RXP_RECV_RESERVE),
		.incarnation = cpu_to_le32(5),
		.heartbeat_ms = cpu_to_le32(5000),
	}, out;
	int i;

	for (i = 0; i < sizeof(cm.session); i++)
		cm.session[i] = 0xa0 + i;
	KUNIT_ASSERT_EQ(test, sizeof(cm), sizeof(golden_join));
	KUNIT_EXPECT_MEMEQ(test, (const u8 *)&cm, golden_join, sizeof(golden_join));
	KUNIT_ASSERT_EQ(test, rxp_frame_check_cm(golden_join, sizeof(golden_join), DATA_MAX, &out),
			0);
	KUNIT_EXPECT_MEMEQ(test, (const u8 *)&out, golden_join, sizeof(golden_join));
}

/* The golden private data with one byte changed must be refused. */
static const struct frame_bad frame_bad_joins[] = {
	{ "connection 0 that joins", 6, 0 },
	{ "connection 4 of 4", 6, 4 },
	{ "connection 255", 6, 255 },
	{ "of none", 7, 0 },
	{ "the only one", 7, 1 },
	{ "of 17", 7, 17 },
	{ "of 255", 7, 255 },
	{ "feature", 16, 1 },
	{ "no incarnation", 24, 0 },
};

KUNIT_ARRAY_PARAM(frame_bad_join, frame_bad_joins, frame_bad_desc);

static void frame_join_bad(struct kunit *test)
{
	const struct frame_bad *bad = test->param_value;
	u8 msg[sizeof(golden_join)];
	struct rxp_wire_cm out;

	memcpy(msg, golden_join, sizeof(msg));
	msg[bad->at] = bad->value;
	KUNIT_EXPECT_EQ(test, rxp_frame_check_cm(msg, sizeof(msg), DATA_MAX, &out), -EINVAL);
}

/* Connection 0 must name neither a session nor an incarnation, and any other connection both. */
static void frame_join_names(struct kunit *test)
{
	u8 msg[sizeof(golden_join)];
	struct rxp_wire_cm out;

	memcpy(msg, golden_join, sizeof(msg));
	memset(msg + 32, 0, 16);
	KUNIT_EXPECT_EQ(test, rxp_frame_check_cm(msg, sizeof(msg), DATA_MAX, &out), -EINVAL);
	msg[6] = 0;
	KUNIT_EXPECT_EQ(test, rxp_frame_check_cm(msg, sizeof(msg), DATA_MAX, &out), -EINVAL);
	msg[24] = 0;
	KUNIT_EXPECT_EQ(test, rxp_frame_check_cm(msg, sizeof(msg), DATA_MAX, &out), 0);
	msg[7] = RDMAFS_XPRT_CONNS_MAX;
	KUNIT_EXPECT_EQ(test, rxp_frame_check_cm(msg, sizeof(msg), DATA_MAX, &out), 0);
	msg[47] = 1;
	KUNIT_EXPECT_EQ(test, rxp_frame_check_cm(msg, sizeof(msg), DATA_MAX, &out), -EINVAL);
}

/*
 * A message that names an RPC belongs on one connection; a message that names none may come on
 * any.
 */
static void frame_astray(struct kunit *test)
{
	struct rxp_wire_hdr ping = { .type = RXP_CONTROL, .op = RXP_CONTROL_PING };
	struct rxp_frame f;
	u32 i;

	KUNIT_ASSERT_EQ(test, rxp_frame_check(golden_call, sizeof(golden_call), 0, true, SLOTS,
					      DATA_MAX, &f), 0);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, rxp_frame_astray(&f, i, 4), i != 3);
	KUNIT_EXPECT_FALSE(test, rxp_frame_astray(&f, 0, 1));
	KUNIT_EXPECT_FALSE(test, rxp_frame_astray(&f, 0, 3));
	KUNIT_ASSERT_EQ(test, rxp_frame_check(golden_reply, sizeof(golden_reply), 0, false, SLOTS,
					      DATA_MAX, &f), 0);
	KUNIT_EXPECT_TRUE(test, rxp_frame_astray(&f, 0, 2));
	KUNIT_ASSERT_EQ(test, rxp_frame_check(golden_stcrw, sizeof(golden_stcrw), 0, false, SLOTS,
					      DATA_MAX, &f), 0);
	KUNIT_EXPECT_TRUE(test, rxp_frame_astray(&f, 0, 2));
	KUNIT_EXPECT_FALSE(test, rxp_frame_astray(&f, 1, 2));
	KUNIT_ASSERT_EQ(test, rxp_frame_check(&ping, sizeof(ping), 0, true, SLOTS, DATA_MAX, &f),
			0);
	KUNIT_EXPECT_FALSE(test, rxp_frame_astray(&f, 1, 2));
}

static struct kunit_case frame_cases[] = {
	KUNIT_CASE(frame_call_golden),
	KUNIT_CASE(frame_reply_golden),
	KUNIT_CASE(frame_stcrw_golden),
	KUNIT_CASE(frame_overlapped),
	KUNIT_CASE(frame_grant),
	KUNIT_CASE(frame_event),
	KUNIT_CASE(frame_keys),
	KUNIT_CASE(frame_lengths),
	KUNIT_CASE(frame_unused),
	KUNIT_CASE(frame_together),
	KUNIT_CASE_PARAM(frame_call_bad, frame_bad_call_gen_params),
	KUNIT_CASE(frame_cm),
	KUNIT_CASE(frame_join_golden),
	KUNIT_CASE_PARAM(frame_join_bad, frame_bad_join_gen_params),
	KUNIT_CASE(frame_join_names),
	KUNIT_CASE(frame_astray),
	{}
};

static struct kunit_suite frame_suite = {
	.name = "rdmafs_xprt_frame",
	.test_cases = frame_cases,
};

kunit_test_suite(frame_suite);

MODULE_DESCRIPTION("KUnit: rdmafs transport, pure parts");
MODULE_LICENSE("GPL");
