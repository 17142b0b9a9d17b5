// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_hostile: a client that speaks to the server in bare verbs and breaks the
 * protocol: tags that are forged, late or sent twice, messages out of place, keys that it has
 * given back.
 *
 * Each case sends one message that the protocol forbids, or just allows, in a connection of
 * its own.  After a forbidden one (bad_*) the server must end that connection.  After an allowed
 * one (good_*) the connection must go on.  A well-behaved client beside it, @good, must be
 * served in either case.  The same is done with connections that want to join a session, or
 * have joined it.  Needs an RDMA device with the address of the module parameter.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <net/net_namespace.h>
#include "transport/server/server.h"
#include "xprt_raw.h"

#define HOSTILE_PORT	20998
#define HOSTILE_LEN	65536

/* ------------------------------------------------------------------- service */

/* The body of a request, and of its reply: the service fills in the sum of the data's bytes. */
struct hostile_msg {
	u32 what;
	u32 sum;
};

/* HOSTILE_ROOM: answer with as much data as there is room for; HOSTILE_HOLD: wait for @release. */
enum { HOSTILE_ECHO = 1, HOSTILE_ROOM, HOSTILE_HOLD };

struct hostile {
	struct rdmafs_xprt_server *server;
	struct completion release;
	atomic_t held;
	atomic_t answered;
	struct raw *good;
	struct raw *bad;
	struct raw *joined;		/* a second connection of @bad's session */
};

static void hostile_handle(struct rdmafs_xprt_req *req, void *ctx)
{
	struct hostile_msg *out = req->reply;
	struct hostile *h = ctx;
	struct iov_iter dest;
	u32 len = 0;
	u8 byte;

	memcpy(out, req->body, min_t(u32, sizeof(*out), req->body_len));
	while (iov_iter_count(&req->data) && copy_from_iter(&byte, 1, &req->data) == 1)
		out->sum += byte;
	switch (out->what) {
	case HOSTILE_ROOM:
		if (!rdmafs_xprt_req_room(req, req->read_max, &dest))
			len = iov_iter_zero(req->read_max, &dest);
		break;
	case HOSTILE_HOLD:
		atomic_inc(&h->held);
		wait_for_completion(&h->release);
		break;
	}
	rdmafs_xprt_req_reply(req, sizeof(*out), len, RDMAFS_REPLY_NOCACHE);
	atomic_inc(&h->answered);
}

static int hostile_session_open(struct rdmafs_xprt_session *s, void *ctx)
{
	return 0;
}

static void hostile_session_close(struct rdmafs_xprt_session *s, void *ctx)
{
}

static const struct rdmafs_xprt_service hostile_service = {
	.session_open	= hostile_session_open,
	.session_close	= hostile_session_close,
	.handle		= hostile_handle,
};

/* ---------------------------------------------------------- a client in verbs */

/* Send a CONTROL; @tag may be NULL. */
static int raw_control(struct raw *raw, u8 op, u16 slot, u32 seq, const struct rxp_wire_tag *tag,
		       u32 inv_rkey)
{
	struct rxp_wire_hdr *hdr = (struct rxp_wire_hdr *)raw->send->buf;

	memset(hdr, 0, sizeof(*hdr));
	hdr->type = RXP_CONTROL;
	hdr->op = op;
	hdr->slot = cpu_to_le16(slot);
	hdr->seq = cpu_to_le32(seq);
	if (tag)
		memcpy(hdr + 1, tag, sizeof(*tag));
	return raw_send(raw, sizeof(*hdr) + (tag ? sizeof(*tag) : 0), inv_rkey);
}

static int raw_tag(struct raw *raw, u8 op, u16 slot, u32 seq, u32 len, u32 rkey, u64 iova)
{
	struct rxp_wire_tag tag = {
		.length = cpu_to_le32(len), .rkey = cpu_to_le32(rkey), .iova = cpu_to_le64(iova),
	};

	return raw_control(raw, op, slot, seq, &tag, 0);
}

/* Write a CALL with a struct hostile_msg to @buf.  Returns its length. */
static u32 hostile_put_call(void *buf, u16 slot, u32 seq, u32 what, u16 flags, u32 bulk, u32 rkey)
{
	const struct hostile_msg body = { .what = what };
	const struct rxp_frame f = {
		.slot = slot, .seq = seq, .flags = flags, .body = &body, .body_len = sizeof(body),
		.bulk.length = bulk, .bulk.rkey = rkey,
		.bulk.iova = flags == (RXP_F_READ | RXP_F_RKEY) ? PAGE_SIZE : 0,
	};

	return raw_put_call(buf, &f);
}

static int raw_call(struct raw *raw, u16 slot, u32 seq, u32 what, u16 flags, u32 bulk, u32 rkey)
{
	u32 len = hostile_put_call(raw->send->buf, slot, seq, what, flags, bulk, rkey);

	return raw_send(raw, len, flags == (RXP_F_WRITE | RXP_F_RKEY) ? rkey : 0);
}

static struct rxp_wire_reply *raw_reply(struct kunit *test, struct raw *raw, u16 slot, u32 seq)
{
	return raw_expect(test, raw, RXP_REPLY, 0, slot, seq);
}

/* The private data with which connection 0 of a session of @count asks to be accepted. */
static struct rxp_wire_cm raw_cm(u8 count)
{
	struct rxp_wire_cm cm;

	raw_fill_cm(&cm);
	cm.count = count;
	return cm;
}

/* The private data with which the second of two connections joins @first's session. */
static struct rxp_wire_cm raw_join_cm(const struct raw *first)
{
	struct rxp_wire_cm cm = raw_cm(2);

	cm.index = 1;
	cm.incarnation = first->welcome.incarnation;
	memcpy(cm.session, first->welcome.session, sizeof(cm.session));
	return cm;
}

/* Send a HELLO to the session of @of as its client, or as a new client if @of is NULL. */
static int raw_hello(struct raw *raw, const struct raw *of)
{
	struct rxp_wire_hdr *hdr = (struct rxp_wire_hdr *)raw->send->buf;
	struct rxp_wire_hello *hello = (struct rxp_wire_hello *)(hdr + 1);

	memset(hdr, 0, sizeof(*hdr) + sizeof(*hello));
	hdr->type = RXP_CONTROL;
	hdr->op = RXP_CONTROL_HELLO;
	if (of) {
		memcpy(raw->client, of->client, sizeof(raw->client));
		memcpy(hello->session, of->welcome.session, sizeof(hello->session));
		hello->boot = of->welcome.boot;
	} else {
		get_random_bytes(raw->client, sizeof(raw->client));
	}
	memcpy(hello->client, raw->client, sizeof(hello->client));
	return raw_send(raw, sizeof(*hdr) + sizeof(*hello), 0);
}

/* Expect the WELCOME with @status. */
static void raw_welcome(struct kunit *test, struct raw *raw, u32 status)
{
	raw->welcome = *(struct rxp_wire_welcome *)
		raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_WELCOME, 0, 0);
	KUNIT_ASSERT_EQ(test, le32_to_cpu(raw->welcome.status), status);
}

/* Open connection 0 of a new session of @count connections. */
static struct raw *raw_session_of(struct kunit *test, u8 count)
{
	struct rxp_wire_cm cm = raw_cm(count);
	struct raw *raw = raw_open_as(HOSTILE_PORT, &cm, NULL);
	struct hostile *h = test->priv;

	KUNIT_ASSERT_FALSE(test, IS_ERR(raw));
	h->bad = raw;
	KUNIT_ASSERT_EQ(test, raw_hello(raw, NULL), 0);
	raw_welcome(test, raw, RXP_WELCOME_NEW);
	return raw;
}

/* Open the second connection of a session of two, with @recvs receives. */
static struct raw *raw_join_with(struct kunit *test, struct raw *first, u32 recvs)
{
	struct rxp_wire_cm cm = raw_join_cm(first);
	struct raw *raw = raw_open_standing(HOSTILE_PORT, &cm, recvs);
	struct hostile *h = test->priv;

	KUNIT_ASSERT_FALSE(test, IS_ERR(raw));
	h->joined = raw;
	KUNIT_ASSERT_EQ(test, raw_hello(raw, first), 0);
	raw_welcome(test, raw, RXP_WELCOME_BOUND);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(raw->welcome.incarnation),
			le32_to_cpu(first->welcome.incarnation));
	KUNIT_EXPECT_MEMEQ(test, raw->welcome.session, first->welcome.session, 16);
	return raw;
}

static struct raw *raw_join(struct kunit *test, struct raw *first)
{
	return raw_join_with(test, first, RAW_RECVS);
}

/* Have a request executing in slot 1. */
static void hostile_hold(struct kunit *test, struct raw *raw, u16 flags, u32 bulk, u32 rkey)
{
	struct hostile *h = test->priv;
	int before = atomic_read(&h->held);
	unsigned long end = jiffies + RAW_WAIT;

	KUNIT_ASSERT_EQ(test, raw_call(raw, 1, 1, HOSTILE_HOLD, flags, bulk, rkey), 0);
	while (atomic_read(&h->held) == before && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_ASSERT_GT(test, atomic_read(&h->held), before);
}

/* Begin a large WRITE in slot 2, up to the server's STCRW.  Returns the sink's tag. */
static struct rxp_wire_tag hostile_sink(struct kunit *test, struct raw *raw)
{
	KUNIT_ASSERT_EQ(test, raw_call(raw, 2, 1, HOSTILE_ECHO, RXP_F_WRITE, HOSTILE_LEN, 0), 0);
	return *(struct rxp_wire_tag *)raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_STCRW, 2, 1);
}

/* Has the server seen that the key of slot 2's sink is valid? */
static bool hostile_valid(struct kunit *test, const struct raw *raw)
{
	struct hostile *h = test->priv;
	struct rdmafs_xprt_session *s;
	bool valid = false;

	spin_lock_bh(&h->server->lock);
	list_for_each_entry(s, &h->server->sessions, link) {
		if (memcmp(s->id, raw->welcome.session, sizeof(s->id)))
			continue;
		spin_lock(&s->lock);
		if (s->slots[2].req && s->slots[2].req->mr)
			valid = READ_ONCE(s->slots[2].req->mr->state) == RXP_MR_VALID;
		spin_unlock(&s->lock);
	}
	spin_unlock_bh(&h->server->lock);
	return valid;
}

/* Do a large WRITE in slot 2 to its end.  Returns the grant that comes with the reply. */
static struct rxp_wire_tag hostile_grant(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_tag tag = hostile_sink(test, raw);
	u32 rkey = le32_to_cpu(tag.rkey);
	unsigned long end = jiffies + RAW_WAIT;
	struct rxp_wire_reply *reply;

	tag.iova = 0;
	/*
	 * If the sink comes back before the server has seen its registration complete, no
	 * grant is made of it.
	 */
	while (!hostile_valid(test, raw) && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_ASSERT_TRUE(test, hostile_valid(test, raw));
	KUNIT_ASSERT_EQ(test, raw_control(raw, RXP_CONTROL_DATA, 2, 1, &tag, rkey), 0);
	reply = raw_reply(test, raw, 2, 1);
	KUNIT_ASSERT_EQ(test, le16_to_cpu(((struct rxp_wire_hdr *)reply - 1)->flags), RXP_F_GRANT);
	/* Nothing was written to the sink: it must hold zeros, not data of another request. */
	KUNIT_EXPECT_EQ(test, ((struct hostile_msg *)(reply + 1))->sum, 0);
	return *(struct rxp_wire_tag *)((struct hostile_msg *)(reply + 1) + 1);
}

static void bad_truncated(struct kunit *test, struct raw *raw)
{
	memset(raw->send->buf, 0, 8);
	raw_send(raw, 8, 0);
}

static void bad_type(struct kunit *test, struct raw *raw)
{
	memset(raw->send->buf, 0, 64);
	raw->send->buf[0] = RXP_REPLY;
	raw_send(raw, sizeof(struct rxp_wire_hdr) + sizeof(struct rxp_wire_reply), 0);
}

static void bad_op(struct kunit *test, struct raw *raw)
{
	raw_control(raw, 99, 0, 0, NULL, 0);
}

static void bad_length(struct kunit *test, struct raw *raw)
{
	const struct rxp_frame f = { .seq = 1, .body_len = 9 };

	raw_send(raw, raw_put_call(raw->send->buf, &f) - 1, 0);
}

static void bad_slot(struct kunit *test, struct raw *raw)
{
	raw_call(raw, RAW_SLOTS, 1, HOSTILE_ECHO, 0, 0, 0);
}

static void bad_seq_ahead(struct kunit *test, struct raw *raw)
{
	raw_call(raw, 0, 2, HOSTILE_ECHO, 0, 0, 0);
}

static void bad_seq_behind(struct kunit *test, struct raw *raw)
{
	u32 i;

	for (i = 1; i <= 3; i++) {
		raw_call(raw, 0, i, HOSTILE_ECHO, 0, 0, 0);
		raw_reply(test, raw, 0, i);
	}
	raw_call(raw, 0, 1, HOSTILE_ECHO, 0, 0, 0);
}

static void bad_slot_busy(struct kunit *test, struct raw *raw)
{
	hostile_hold(test, raw, 0, 0, 0);
	raw_call(raw, 1, 2, HOSTILE_ECHO, 0, 0, 0);
}

static void bad_call_twice(struct kunit *test, struct raw *raw)
{
	hostile_hold(test, raw, 0, 0, 0);
	raw_call(raw, 1, 1, HOSTILE_HOLD, 0, 0, 0);
}

static void bad_hello_twice(struct kunit *test, struct raw *raw)
{
	raw_hello(raw, NULL);
}

static void bad_inv_ping(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_tag grant = hostile_grant(test, raw);

	raw_control(raw, RXP_CONTROL_PING, 0, 0, NULL, le32_to_cpu(grant.rkey));
}

static void bad_stcrw_idle(struct kunit *test, struct raw *raw)
{
	raw_tag(raw, RXP_CONTROL_STCRW, 0, 0, HOSTILE_LEN, 1, PAGE_SIZE);
}

static void bad_stcrw_future(struct kunit *test, struct raw *raw)
{
	hostile_hold(test, raw, RXP_F_READ, HOSTILE_LEN, 0);
	raw_tag(raw, RXP_CONTROL_STCRW, 1, 2, HOSTILE_LEN, 1, PAGE_SIZE);
}

static void bad_stcrw_past(struct kunit *test, struct raw *raw)
{
	raw_call(raw, 0, 1, HOSTILE_ECHO, RXP_F_READ, HOSTILE_LEN, 0);
	raw_reply(test, raw, 0, 1);
	raw_call(raw, 0, 2, HOSTILE_ECHO, 0, 0, 0);
	raw_reply(test, raw, 0, 2);
	raw_tag(raw, RXP_CONTROL_STCRW, 0, 1, HOSTILE_LEN, 1, PAGE_SIZE);
}

static void bad_stcrw_twice(struct kunit *test, struct raw *raw)
{
	hostile_hold(test, raw, RXP_F_READ, HOSTILE_LEN, 0);
	raw_tag(raw, RXP_CONTROL_STCRW, 1, 1, HOSTILE_LEN, 1, PAGE_SIZE);
	raw_tag(raw, RXP_CONTROL_STCRW, 1, 1, HOSTILE_LEN, 1, PAGE_SIZE);
}

static void bad_stcrw_length(struct kunit *test, struct raw *raw)
{
	hostile_hold(test, raw, RXP_F_READ, HOSTILE_LEN, 0);
	raw_tag(raw, RXP_CONTROL_STCRW, 1, 1, HOSTILE_LEN + 1, 1, PAGE_SIZE);
}

static void bad_stcrw_wraps(struct kunit *test, struct raw *raw)
{
	hostile_hold(test, raw, RXP_F_READ, HOSTILE_LEN, 0);
	raw_tag(raw, RXP_CONTROL_STCRW, 1, 1, HOSTILE_LEN, 1, U64_MAX - HOSTILE_LEN + 1);
}

static void bad_stcrw_keyed(struct kunit *test, struct raw *raw)
{
	hostile_hold(test, raw, RXP_F_READ | RXP_F_RKEY, HOSTILE_LEN, 1);
	raw_tag(raw, RXP_CONTROL_STCRW, 1, 1, HOSTILE_LEN, 1, PAGE_SIZE);
}

static void bad_stcrw_no_room(struct kunit *test, struct raw *raw)
{
	hostile_hold(test, raw, 0, 0, 0);
	raw_tag(raw, RXP_CONTROL_STCRW, 1, 1, 0, 1, PAGE_SIZE);
}

static void bad_stcrw_cancelled(struct kunit *test, struct raw *raw)
{
	hostile_hold(test, raw, RXP_F_READ, HOSTILE_LEN, 0);
	raw_control(raw, RXP_CONTROL_CANCEL, 1, 1, NULL, 0);
	raw_tag(raw, RXP_CONTROL_STCRW, 1, 1, HOSTILE_LEN, 1, PAGE_SIZE);
}

static void bad_cancel_keyed(struct kunit *test, struct raw *raw)
{
	hostile_hold(test, raw, RXP_F_READ, HOSTILE_LEN, 0);
	raw_tag(raw, RXP_CONTROL_STCRW, 1, 1, HOSTILE_LEN, 1, PAGE_SIZE);
	raw_control(raw, RXP_CONTROL_CANCEL, 1, 1, NULL, 0);
}

static void bad_cancel_twice(struct kunit *test, struct raw *raw)
{
	hostile_hold(test, raw, RXP_F_READ, HOSTILE_LEN, 0);
	raw_control(raw, RXP_CONTROL_CANCEL, 1, 1, NULL, 0);
	raw_control(raw, RXP_CONTROL_CANCEL, 1, 1, NULL, 0);
}

/* There is no memory with that key: our device refuses the RDMA WRITE, and the connection ends. */
static void bad_stcrw_forged(struct kunit *test, struct raw *raw)
{
	raw_call(raw, 0, 1, HOSTILE_ROOM, RXP_F_READ, HOSTILE_LEN, 0);
	raw_tag(raw, RXP_CONTROL_STCRW, 0, 1, HOSTILE_LEN, 0x77777777, PAGE_SIZE);
}

static void bad_data_idle(struct kunit *test, struct raw *raw)
{
	raw_tag(raw, RXP_CONTROL_DATA, 0, 0, HOSTILE_LEN, 1, 0);
}

static void bad_data_read(struct kunit *test, struct raw *raw)
{
	hostile_hold(test, raw, RXP_F_READ, HOSTILE_LEN, 0);
	raw_tag(raw, RXP_CONTROL_DATA, 1, 1, HOSTILE_LEN, 1, 0);
}

static void bad_data_key(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_tag tag = hostile_sink(test, raw);

	raw_tag(raw, RXP_CONTROL_DATA, 2, 1, HOSTILE_LEN, le32_to_cpu(tag.rkey) ^ 1, 0);
}

static void bad_data_length(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_tag tag = hostile_sink(test, raw);

	raw_tag(raw, RXP_CONTROL_DATA, 2, 1, HOSTILE_LEN - 1, le32_to_cpu(tag.rkey), 0);
}

static void bad_data_other_inv(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_tag grant = hostile_grant(test, raw), tag;

	/* This is slot 3's WRITE; its DATA invalidates the grant, not the sink. */
	raw_call(raw, 3, 1, HOSTILE_ECHO, RXP_F_WRITE, HOSTILE_LEN, 0);
	tag = *(struct rxp_wire_tag *)raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_STCRW, 3, 1);
	tag.iova = 0;
	raw_control(raw, RXP_CONTROL_DATA, 3, 1, &tag, le32_to_cpu(grant.rkey));
}

static void bad_data_twice(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_tag tag = hostile_sink(test, raw);
	u32 rkey = le32_to_cpu(tag.rkey);

	raw_tag(raw, RXP_CONTROL_DATA, 2, 1, HOSTILE_LEN, rkey, 0);
	raw_tag(raw, RXP_CONTROL_DATA, 2, 1, HOSTILE_LEN, rkey, 0);
}

/*
 * Name a key as a grant without invalidating it: the device itself would refuse to invalidate
 * it.
 */
static void hostile_name_grant(struct kunit *test, struct raw *raw, u32 rkey)
{
	struct rxp_wire_hdr *hdr = (struct rxp_wire_hdr *)raw->send->buf;

	raw_call(raw, 3, 1, HOSTILE_ECHO, 0, 0, 0);
	raw_reply(test, raw, 3, 1);
	hdr->seq = cpu_to_le32(2);
	hdr->flags = cpu_to_le16(RXP_F_WRITE | RXP_F_RKEY);
	((struct rxp_wire_call *)(hdr + 1))->bulk_len = cpu_to_le32(HOSTILE_LEN);
	((struct rxp_wire_call *)(hdr + 1))->rkey = cpu_to_le32(rkey);
	raw_send(raw, sizeof(*hdr) + sizeof(struct rxp_wire_call) + sizeof(struct hostile_msg), 0);
}

static void bad_grant_forged(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_tag grant = hostile_grant(test, raw);

	hostile_name_grant(test, raw, le32_to_cpu(grant.rkey) ^ 1);
}

static void bad_grant_others(struct kunit *test, struct raw *raw)
{
	struct hostile *h = test->priv;
	struct rxp_wire_tag grant = hostile_grant(test, h->good);

	hostile_name_grant(test, raw, le32_to_cpu(grant.rkey));
}

static void bad_grant_too_long(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_tag grant = hostile_grant(test, raw);

	raw_call(raw, 3, 1, HOSTILE_ECHO, RXP_F_WRITE | RXP_F_RKEY,
		 le32_to_cpu(grant.length) + 1, le32_to_cpu(grant.rkey));
}

static void bad_grant_twice(struct kunit *test, struct raw *raw)
{
	u32 rkey = le32_to_cpu(hostile_grant(test, raw).rkey);

	raw_call(raw, 3, 1, HOSTILE_ECHO, RXP_F_WRITE | RXP_F_RKEY, HOSTILE_LEN, rkey);
	raw_reply(test, raw, 3, 1);
	raw_call(raw, 4, 1, HOSTILE_ECHO, RXP_F_WRITE | RXP_F_RKEY, HOSTILE_LEN, rkey);
}

/*
 * The client returns a grant, and goes on writing to its memory.  The device must refuse that
 * once the RETURN has been handled; a key that stays valid would let it write to another
 * request's data.
 */
static void bad_grant_returned(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_tag grant = hostile_grant(test, raw);
	unsigned long end = jiffies + RAW_WAIT;
	u32 rkey = le32_to_cpu(grant.rkey);

	KUNIT_EXPECT_EQ(test, raw_write(raw, le64_to_cpu(grant.iova), rkey, 64), 0);
	KUNIT_EXPECT_TRUE(test, raw->send_ok);
	raw_return(raw, rkey);
	/* The reply to a later message shows that the server has looked at the RETURN. */
	raw_call(raw, 3, 1, HOSTILE_ECHO, 0, 0, 0);
	raw_reply(test, raw, 3, 1);
	while (!READ_ONCE(raw->cut) && time_before(jiffies, end) &&
	       !raw_write(raw, le64_to_cpu(grant.iova), rkey, 64) && raw->send_ok)
		usleep_range(1000, 2000);
	KUNIT_EXPECT_TRUE(test, !raw->send_ok || (raw_iwarp(raw) && raw->cut));
}

static void good_stcrw_late(struct kunit *test, struct raw *raw)
{
	raw_call(raw, 0, 1, HOSTILE_ECHO, RXP_F_READ, HOSTILE_LEN, 0);
	raw_reply(test, raw, 0, 1);
	raw_tag(raw, RXP_CONTROL_STCRW, 0, 1, HOSTILE_LEN, 1, PAGE_SIZE);
}

static void good_cancel_late(struct kunit *test, struct raw *raw)
{
	raw_call(raw, 0, 1, HOSTILE_ECHO, RXP_F_READ, HOSTILE_LEN, 0);
	raw_reply(test, raw, 0, 1);
	raw_control(raw, RXP_CONTROL_CANCEL, 0, 1, NULL, 0);
}

static void good_cancel_held(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_reply *reply;

	raw_call(raw, 0, 1, HOSTILE_ROOM, RXP_F_READ, HOSTILE_LEN, 0);
	raw_control(raw, RXP_CONTROL_CANCEL, 0, 1, NULL, 0);
	reply = raw_reply(test, raw, 0, 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(reply->status), RXP_STATUS_CANCELLED);
}

static void good_cancel_write(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_reply *reply;

	hostile_sink(test, raw);
	raw_control(raw, RXP_CONTROL_CANCEL, 2, 1, NULL, 0);
	reply = raw_reply(test, raw, 2, 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(reply->status), RXP_STATUS_CANCELLED);
}

static void good_return_unknown(struct kunit *test, struct raw *raw)
{
	raw_return(raw, 0x12345678);
}

static void good_replay(struct kunit *test, struct raw *raw)
{
	raw_call(raw, 0, 1, HOSTILE_ECHO, 0, 0, 0);
	raw_reply(test, raw, 0, 1);
	raw_call(raw, 0, 1, HOSTILE_ECHO, 0, 0, 0);
	raw_reply(test, raw, 0, 1);
}

/* Two CALLs in one message: the second is for the slot in which the first one is executing. */
static void bad_together_busy(struct kunit *test, struct raw *raw)
{
	u8 *buf = raw->send->buf;
	u32 len = hostile_put_call(buf, 1, 1, HOSTILE_HOLD, 0, 0, 0);

	len += hostile_put_call(buf + len, 1, 2, HOSTILE_ECHO, 0, 0, 0);
	raw_send(raw, len, 0);
}

static void bad_together_short(struct kunit *test, struct raw *raw)
{
	u8 *buf = raw->send->buf;
	u32 len = hostile_put_call(buf, 1, 1, HOSTILE_ECHO, 0, 0, 0);

	len += hostile_put_call(buf + len, 2, 1, HOSTILE_ECHO, 0, 0, 0);
	raw_send(raw, len - 1, 0);
}

static void bad_together_control(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_hdr ping = { .type = RXP_CONTROL, .op = RXP_CONTROL_PING };
	u8 *buf = raw->send->buf;
	u32 len = hostile_put_call(buf, 1, 1, HOSTILE_ECHO, 0, 0, 0);

	memcpy(buf + len, &ping, sizeof(ping));
	raw_send(raw, len + sizeof(ping), 0);
}

static void bad_control_together(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_hdr ping = { .type = RXP_CONTROL, .op = RXP_CONTROL_PING };
	u8 *buf = raw->send->buf;
	u32 len = hostile_put_call(buf + sizeof(ping), 1, 1, HOSTILE_ECHO, 0, 0, 0);

	memcpy(buf, &ping, sizeof(ping));
	raw_send(raw, sizeof(ping) + len, 0);
}

/* Each of the two CALLs would be allowed alone; the key that is invalidated is the first one's. */
static void bad_together_inv(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_tag grant = hostile_grant(test, raw);
	u32 rkey = le32_to_cpu(grant.rkey), len;
	u8 *buf = raw->send->buf;

	len = hostile_put_call(buf, 3, 1, HOSTILE_ECHO, RXP_F_WRITE | RXP_F_RKEY, HOSTILE_LEN,
			       rkey);
	len += hostile_put_call(buf + len, 4, 1, HOSTILE_ECHO, 0, 0, 0);
	raw_send(raw, len, rkey);
}

/* Take replies for the slots in @want, a bit each, in any order and in any number of messages. */
static void raw_replies(struct kunit *test, struct raw *raw, unsigned long want, u32 seq)
{
	struct rxp_frame f;
	struct raw_msg *m;
	u32 at;

	while (want) {
		m = raw_next_msg(raw);
		KUNIT_ASSERT_NOT_NULL_MSG(test, m, "no message, cut: %d", raw->cut);
		for (at = 0; at < m->len; at = f.end) {
			const struct rxp_wire_hdr *hdr = (void *)m->buf + at;
			const struct rxp_wire_reply *r = (void *)(hdr + 1);

			f.end = at + sizeof(*hdr) + sizeof(*r) + le16_to_cpu(hdr->body_len) +
				le32_to_cpu(hdr->data_len);
			KUNIT_ASSERT_LE(test, f.end, m->len);
			KUNIT_EXPECT_EQ(test, hdr->type, RXP_REPLY);
			KUNIT_EXPECT_EQ(test, le32_to_cpu(hdr->seq), seq);
			KUNIT_EXPECT_EQ(test, le32_to_cpu(r->status), RXP_STATUS_OK);
			KUNIT_EXPECT_TRUE(test, __test_and_clear_bit(le16_to_cpu(hdr->slot),
								     &want));
		}
		KUNIT_ASSERT_EQ(test, raw_repost(raw, m), 0);
	}
}

/*
 * Many CALLs are in one message, and that again and again.  All must be served, and the server
 * must post its receives again: it would run out of them if one were lost per message.
 */
static void good_together(struct kunit *test, struct raw *raw)
{
	u8 *buf = raw->send->buf;
	u32 len, seq, i;

	/* Post the WELCOME's receive again: receives are used in order. */
	KUNIT_ASSERT_EQ(test, raw_repost(raw, &raw->recv[0]), 0);
	for (seq = 1; seq <= 3 * RAW_RECVS; seq++) {
		for (i = 8, len = 0; i < RAW_SLOTS; i++)
			len += hostile_put_call(buf + len, i, seq, HOSTILE_ECHO, 0, 0, 0);
		KUNIT_ASSERT_EQ(test, raw_send(raw, len, 0), 0);
		raw_replies(test, raw, GENMASK(RAW_SLOTS - 1, 8), seq);
	}
}

/* Fill each of the server's receives with a PING that it has answered. */
static void hostile_pings(struct kunit *test, struct raw *raw)
{
	u32 i;

	/* Post the receives again that were taken and not posted: receives are used in order. */
	for (i = 0; i < raw->taken; i++)
		KUNIT_ASSERT_EQ(test, raw_repost(raw, &raw->recv[i]), 0);
	for (i = 0; i < RAW_RECVS; i++) {
		struct raw_msg *m;

		KUNIT_ASSERT_EQ(test, raw_control(raw, RXP_CONTROL_PING, 0, 0, NULL, 0), 0);
		m = raw_next_msg(raw);
		KUNIT_ASSERT_NOT_NULL_MSG(test, m, "no message, cut: %d", raw->cut);
		KUNIT_EXPECT_EQ(test, m->buf[1], RXP_NOTIFY_PONG);
		KUNIT_ASSERT_EQ(test, raw_repost(raw, m), 0);
	}
}

/*
 * An RDMA WRITE with immediate data takes a receive of the server's, and writes nothing there.
 * The old message in it must not be handled again.
 */
static void bad_write_imm(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_tag sink = hostile_sink(test, raw);
	int arrived;

	hostile_pings(test, raw);
	arrived = atomic_read(&raw->arrived);
	KUNIT_EXPECT_EQ(test, raw_write_imm(raw, le64_to_cpu(sink.iova), le32_to_cpu(sink.rkey),
					    sizeof(struct rxp_wire_hdr)), 0);
	raw_wait_cut(raw);
	KUNIT_EXPECT_EQ(test, atomic_read(&raw->arrived), arrived);
}

static void bad_send_imm(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_hdr ping = { .type = RXP_CONTROL, .op = RXP_CONTROL_PING };

	memcpy(raw->send->buf, &ping, sizeof(ping));
	raw_send_imm(raw, sizeof(ping));
}

static const struct hostile_case {
	const char *name;
	void (*run)(struct kunit *test, struct raw *raw);
	bool lives;
	bool immediate;			/* needs immediate data, which iWARP does not have */
} hostile_table[] = {
	{ "a truncated header", bad_truncated },
	{ "a message of the server's", bad_type },
	{ "an unknown CONTROL", bad_op },
	{ "lengths that do not add up", bad_length },
	{ "a slot that there is not", bad_slot },
	{ "a sequence number ahead", bad_seq_ahead },
	{ "a sequence number behind", bad_seq_behind },
	{ "a CALL in a slot that executes", bad_slot_busy },
	{ "a CALL twice", bad_call_twice },
	{ "a second HELLO", bad_hello_twice },
	{ "a PING that invalidates", bad_inv_ping },
	{ "STCRW for no RPC", bad_stcrw_idle },
	{ "STCRW for an RPC to come", bad_stcrw_future },
	{ "STCRW for an RPC long over", bad_stcrw_past },
	{ "STCRW twice", bad_stcrw_twice },
	{ "STCRW of another length", bad_stcrw_length },
	{ "STCRW that wraps", bad_stcrw_wraps },
	{ "STCRW after a key in the CALL", bad_stcrw_keyed },
	{ "STCRW for an RPC without room", bad_stcrw_no_room },
	{ "STCRW after CANCEL", bad_stcrw_cancelled },
	{ "STCRW with a forged key", bad_stcrw_forged },
	{ "CANCEL after STCRW", bad_cancel_keyed },
	{ "CANCEL twice", bad_cancel_twice },
	{ "DATA for no RPC", bad_data_idle },
	{ "DATA for a READ", bad_data_read },
	{ "DATA of another key", bad_data_key },
	{ "DATA of another length", bad_data_length },
	{ "DATA that invalidates another key", bad_data_other_inv },
	{ "DATA twice", bad_data_twice },
	{ "a forged grant", bad_grant_forged },
	{ "a grant of another client's", bad_grant_others },
	{ "more than was granted", bad_grant_too_long },
	{ "a grant used twice", bad_grant_twice },
	{ "a grant that was returned", bad_grant_returned },
	{ "STCRW that crossed the reply", good_stcrw_late, true },
	{ "CANCEL that crossed the reply", good_cancel_late, true },
	{ "CANCEL of a READ", good_cancel_held, true },
	{ "CANCEL of a WRITE", good_cancel_write, true },
	{ "RETURN of what is not there", good_return_unknown, true },
	{ "a CALL sent again", good_replay, true },
	{ "CALLs together, one slot", bad_together_busy },
	{ "CALLs together, cut short", bad_together_short },
	{ "a CONTROL behind a CALL", bad_together_control },
	{ "a CALL behind a CONTROL", bad_control_together },
	{ "CALLs together that invalidate", bad_together_inv },
	{ "CALLs together", good_together, true },
	{ "an RDMA WRITE with immediate data", bad_write_imm, .immediate = true },
	{ "a SEND with immediate data", bad_send_imm, .immediate = true },
};

static void hostile_desc(const struct hostile_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(hostile, hostile_table, hostile_desc);

/* The well-behaved client: its slot 5 must go on as if nothing had happened. */
static void hostile_good(struct kunit *test, u32 seq)
{
	struct hostile *h = test->priv;

	KUNIT_ASSERT_EQ(test, raw_call(h->good, 5, seq, HOSTILE_ECHO, 0, 0, 0), 0);
	raw_reply(test, h->good, 5, seq);
}

/*
 * Run one entry of the table: the connection ends, or lives, and @good is served before and
 * after.
 */
static void hostile_says(struct kunit *test)
{
	const struct hostile_case *c = test->param_value;
	struct hostile *h = test->priv;
	struct raw *raw;

	if (c->immediate && raw_iwarp(h->good))
		kunit_skip(test, "iWARP has no immediate data");
	hostile_good(test, 1);
	raw = raw_session_of(test, 1);
	c->run(test, raw);
	if (c->lives) {
		KUNIT_EXPECT_EQ(test, raw_call(raw, 7, 1, HOSTILE_ECHO, 0, 0, 0), 0);
		raw_reply(test, raw, 7, 1);
		KUNIT_EXPECT_FALSE(test, READ_ONCE(raw->cut));
	} else {
		KUNIT_EXPECT_TRUE_MSG(test, raw_wait_cut(raw), "still connected");
	}
	complete_all(&h->release);
	hostile_good(test, 2);
	raw_close(raw);
	h->bad = NULL;
	hostile_good(test, 3);
}

/* A CALL comes before the HELLO: the server must end the connection. */
static void hostile_no_hello(struct kunit *test)
{
	struct raw *raw = raw_open(HOSTILE_PORT);

	KUNIT_ASSERT_FALSE(test, IS_ERR(raw));
	raw_call(raw, 0, 1, HOSTILE_ECHO, 0, 0, 0);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(raw));
	raw_close(raw);
	hostile_good(test, 1);
}

/* Write CALLs of two slots that fill a receive. */
static u32 hostile_put_full(struct raw *raw, u16 slot)
{
	u8 *buf = raw->send->buf;
	u32 len, rest;

	memset(buf, 0, RXP_MSG_MAX);
	len = hostile_put_call(buf, slot, 1, HOSTILE_ECHO, 0, 0, 0);
	((struct rxp_wire_hdr *)buf)->data_len = cpu_to_le32(RDMAFS_XPRT_INLINE_MAX);
	buf += len + RDMAFS_XPRT_INLINE_MAX;
	len = hostile_put_call(buf, slot + 1, 1, HOSTILE_ECHO, 0, 0, 0);
	rest = raw->send->buf + RXP_MSG_MAX - (buf + len);
	((struct rxp_wire_hdr *)buf)->data_len = cpu_to_le32(rest);
	return RXP_MSG_MAX;
}

/*
 * An RDMA WRITE with immediate data that is longer than a receive.  The server must find no
 * message, neither in the receive that the WRITE takes nor in the one that follows in memory.
 */
static void hostile_write_imm_long(struct kunit *test)
{
	struct hostile *h = test->priv;
	struct rdmafs_xprt_limits limits = h->server->limits;
	struct rxp_wire_tag sink;
	struct raw *raw;
	int arrived;
	u32 i;

	if (raw_iwarp(h->good))
		kunit_skip(test, "iWARP has no immediate data");
	/* From now on receives are no larger than they must be. */
	limits.large_mib = 0;
	rdmafs_xprt_set_limits(h->server, &limits);
	raw = raw_session_of(test, 1);
	sink = hostile_sink(test, raw);
	for (i = 0; i < raw->taken; i++)
		KUNIT_ASSERT_EQ(test, raw_repost(raw, &raw->recv[i]), 0);
	for (i = 0; i < RAW_RECVS; i++) {
		u16 slot = i & 1 ? 6 : 4;

		KUNIT_ASSERT_EQ(test, raw_send(raw, hostile_put_full(raw, slot), 0), 0);
		raw_replies(test, raw, BIT(slot) | BIT(slot + 1), 1);
	}
	arrived = atomic_read(&raw->arrived);
	KUNIT_EXPECT_EQ(test, raw_write_imm(raw, le64_to_cpu(sink.iova), le32_to_cpu(sink.rkey),
					    2 * RXP_MSG_MAX), 0);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(raw));
	KUNIT_EXPECT_EQ(test, atomic_read(&raw->arrived), arrived);
	raw_close(raw);
	h->bad = NULL;
	hostile_good(test, 1);
}

/* ------------------------------------------------------- joining a session */

static void join_as_zero(struct rxp_wire_cm *cm)
{
	cm->index = 0;
}

static void join_index(struct rxp_wire_cm *cm)
{
	cm->index = 2;
}

static void join_none(struct rxp_wire_cm *cm)
{
	cm->count = 0;
}

static void join_seventeen(struct rxp_wire_cm *cm)
{
	cm->count = 17;
}

static void join_no_incarnation(struct rxp_wire_cm *cm)
{
	cm->incarnation = 0;
}

static void join_no_session(struct rxp_wire_cm *cm)
{
	memset(cm->session, 0, sizeof(cm->session));
}

static void join_count(struct rxp_wire_cm *cm)
{
	cm->count = 3;
}

static void join_unknown(struct rxp_wire_cm *cm)
{
	cm->session[7] ^= 1;
}

static void join_early(struct rxp_wire_cm *cm)
{
	le32_add_cpu(&cm->incarnation, 1);
}

static void join_slots(struct rxp_wire_cm *cm)
{
	cm->slots = cpu_to_le16(2 * RAW_SLOTS);
}

static void join_data(struct rxp_wire_cm *cm)
{
	cm->data_max = cpu_to_le32(RDMAFS_XPRT_INLINE_MAX);
}

static const struct hostile_join {
	const char *name;
	void (*make)(struct rxp_wire_cm *cm);
	u16 reason;
} hostile_joins[] = {
	{ "connection 0 that names a session", join_as_zero, RXP_REJECT_PARAMS },
	{ "connection 2 of two", join_index, RXP_REJECT_PARAMS },
	{ "one of none", join_none, RXP_REJECT_PARAMS },
	{ "one of seventeen", join_seventeen, RXP_REJECT_PARAMS },
	{ "without an incarnation", join_no_incarnation, RXP_REJECT_PARAMS },
	{ "without a session", join_no_session, RXP_REJECT_PARAMS },
	{ "one of three in a session of two", join_count, RXP_REJECT_JOIN },
	{ "a session that there is not", join_unknown, RXP_REJECT_JOIN },
	{ "an incarnation to come", join_early, RXP_REJECT_JOIN },
	{ "another number of slots", join_slots, RXP_REJECT_JOIN },
	{ "less data than the session's", join_data, RXP_REJECT_JOIN },
};

static void hostile_join_desc(const struct hostile_join *j, char *desc)
{
	strscpy(desc, j->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(hostile_join, hostile_joins, hostile_join_desc);

/* Both connections of a session must serve their slots: 0 the even ones, 1 the odd ones. */
static void hostile_both(struct kunit *test, struct raw *first, struct raw *second, u32 seq)
{
	KUNIT_ASSERT_EQ(test, raw_call(first, 6, seq, HOSTILE_ECHO, 0, 0, 0), 0);
	raw_reply(test, first, 6, seq);
	KUNIT_ASSERT_EQ(test, raw_call(second, 7, seq, HOSTILE_ECHO, 0, 0, 0), 0);
	raw_reply(test, second, 7, seq);
}

/*
 * A connection that may not join must be rejected with the right reason.  After that, a
 * connection that may join must be accepted, and a second one with the same index be rejected.
 */
static void hostile_joining(struct kunit *test)
{
	const struct hostile_join *j = test->param_value;
	struct raw *first = raw_session_of(test, 2), *second;
	struct rxp_wire_cm cm = raw_join_cm(first);
	u16 reason;

	j->make(&cm);
	second = raw_open_as(HOSTILE_PORT, &cm, &reason);
	KUNIT_EXPECT_TRUE(test, IS_ERR(second));
	KUNIT_EXPECT_EQ(test, reason, j->reason);
	second = raw_join(test, first);
	hostile_both(test, first, second, 1);
	cm = raw_join_cm(first);
	KUNIT_EXPECT_TRUE(test, IS_ERR(raw_open_as(HOSTILE_PORT, &cm, &reason)));
	KUNIT_EXPECT_EQ(test, reason, RXP_REJECT_JOIN);
	hostile_both(test, first, second, 2);
	hostile_good(test, 1);
}

/*
 * A connection is accepted as one that joins, and then says HELLO as another client's.  The
 * server must end it without an answer, and accept a proper one after it.
 */
static void hostile_join_hello(struct kunit *test)
{
	struct raw *first = raw_session_of(test, 2), *second;
	struct rxp_wire_cm cm = raw_join_cm(first);
	struct hostile *h = test->priv;

	second = raw_open_as(HOSTILE_PORT, &cm, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(second));
	h->joined = second;
	KUNIT_EXPECT_EQ(test, raw_hello(second, h->good), 0);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(second));
	KUNIT_EXPECT_EQ(test, atomic_read(&second->arrived), 0);
	h->joined = NULL;
	raw_close(second);
	second = raw_join(test, first);
	hostile_both(test, first, second, 1);
	hostile_good(test, 1);
}

/*
 * A connection is accepted to join; then connection 0 comes anew, which begins a new
 * incarnation; then the first one says HELLO.  The server must end it: it belongs to the old
 * incarnation.  A late one that were bound would be in a session that knows nothing of it.
 */
static void hostile_join_late(struct kunit *test)
{
	struct raw *old = raw_session_of(test, 2), *late, *first, *second;
	struct rxp_wire_cm join = raw_join_cm(old), cm = raw_cm(2);
	struct hostile *h = test->priv;
	u16 reason;

	late = raw_open_as(HOSTILE_PORT, &join, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(late));
	h->joined = late;
	first = raw_open_as(HOSTILE_PORT, &cm, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(first));
	KUNIT_EXPECT_EQ(test, raw_hello(first, old), 0);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(old));
	raw_welcome(test, first, RXP_WELCOME_BOUND);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(first->welcome.incarnation),
			le32_to_cpu(old->welcome.incarnation) + 1);
	KUNIT_EXPECT_EQ(test, raw_hello(late, old), 0);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(late));
	KUNIT_EXPECT_EQ(test, atomic_read(&late->arrived), 0);
	h->joined = NULL;
	raw_close(late);
	h->bad = first;
	raw_close(old);
	KUNIT_EXPECT_TRUE(test, IS_ERR(raw_open_as(HOSTILE_PORT, &join, &reason)));
	KUNIT_EXPECT_EQ(test, reason, RXP_REJECT_JOIN);
	second = raw_join(test, first);
	hostile_both(test, first, second, 1);
	hostile_good(test, 1);
}

/*
 * A CANCEL for a slot of connection 0 comes on connection 1.  The server must end both
 * connections.
 */
static void hostile_astray(struct kunit *test)
{
	struct raw *first = raw_session_of(test, 2), *second = raw_join(test, first);

	KUNIT_EXPECT_EQ(test, raw_call(first, 2, 1, HOSTILE_ROOM, RXP_F_READ, HOSTILE_LEN, 0), 0);
	raw_control(second, RXP_CONTROL_CANCEL, 2, 1, NULL, 0);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(second));
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(first));
	hostile_good(test, 1);
}

/* When one connection of a session is lost, whichever it is, the server must end the other. */
static void hostile_fall(struct kunit *test)
{
	struct raw *first = raw_session_of(test, 2), *second = raw_join(test, first);
	struct hostile *h = test->priv;

	hostile_both(test, first, second, 1);
	h->joined = NULL;
	raw_close(second);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(first));
	raw_close(first);
	first = raw_session_of(test, 2);
	second = raw_join(test, first);
	h->bad = NULL;
	raw_close(first);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(second));
	hostile_good(test, 1);
}

/* A grant is the session's: any of its connections may use it, but only once. */
static void hostile_grant_shared(struct kunit *test)
{
	struct raw *first = raw_session_of(test, 2), *second = raw_join(test, first);
	struct rxp_wire_tag grant = hostile_grant(test, first);
	u32 rkey = le32_to_cpu(grant.rkey);
	struct rxp_wire_reply *reply;

	memset(second->send->buf, 1, 64);
	KUNIT_EXPECT_EQ(test, raw_write(second, le64_to_cpu(grant.iova), rkey, 64), 0);
	KUNIT_EXPECT_TRUE(test, second->send_ok);
	raw_call(second, 3, 1, HOSTILE_ECHO, RXP_F_WRITE | RXP_F_RKEY, HOSTILE_LEN, rkey);
	reply = raw_reply(test, second, 3, 1);
	KUNIT_EXPECT_EQ(test, ((struct hostile_msg *)(reply + 1))->sum, 64);
	raw_call(first, 4, 1, HOSTILE_ECHO, RXP_F_WRITE | RXP_F_RKEY, HOSTILE_LEN, rkey);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(first));
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(second));
	hostile_good(test, 1);
}

/*
 * A grant's registration stands in a send queue that does not move, as the client takes no
 * more messages there.  The client has not heard of the grant.  It returns the grant all the
 * same, on the other connection, by trying all keys that there can be.  The server must end
 * the connections when too many of these keys are no grants.
 */
static void hostile_return_guessed(struct kunit *test)
{
	struct hostile *h = test->priv;
	unsigned long end = jiffies + RAW_WAIT;
	struct raw *first, *second;
	struct rxp_wire_tag tag;
	u32 rkey, key;
	int before;

	if (raw_iwarp(h->good))
		kunit_skip(test, "on iWARP no queue stands so: see hostile_live");
	first = raw_session_of(test, 2);
	second = raw_join_with(test, first, 2);
	KUNIT_ASSERT_EQ(test, raw_call(second, 1, 1, HOSTILE_ECHO, RXP_F_WRITE, HOSTILE_LEN, 0), 0);
	tag = *(struct rxp_wire_tag *)raw_expect(test, second, RXP_NOTIFY, RXP_NOTIFY_STCRW, 1, 1);
	rkey = le32_to_cpu(tag.rkey);
	before = atomic_read(&h->answered);
	/* There is no receive for this request's reply. */
	KUNIT_ASSERT_EQ(test, raw_call(second, 3, 1, HOSTILE_ECHO, 0, 0, 0), 0);
	while (atomic_read(&h->answered) == before && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_ASSERT_EQ(test, atomic_read(&h->answered), before + 1);
	tag.iova = 0;
	end = jiffies + RAW_WAIT;
	KUNIT_ASSERT_EQ(test, raw_control(second, RXP_CONTROL_DATA, 1, 1, &tag, rkey), 0);
	while (atomic_read(&h->answered) == before + 1 && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_ASSERT_EQ(test, atomic_read(&h->answered), before + 2);
	for (key = 0; key <= 0xff && !READ_ONCE(first->cut); key++)
		raw_return(first, (rkey & ~0xff) | key);
	/*
	 * The connection ends because of the RETURNs, not because the other one's queue
	 * stands: its time is not up yet.
	 */
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(first));
	KUNIT_EXPECT_LT(test, key, 0x100);
	hostile_good(test, 1);
}

static int hostile_init(struct kunit *test)
{
	struct hostile *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);
	struct rdmafs_xprt_limits limits = raw_limits();
	struct raw *raw;

	KUNIT_ASSERT_NOT_NULL(test, h);
	init_completion(&h->release);
	h->server = rdmafs_xprt_listen(&init_net, HOSTILE_PORT, &hostile_service, h, &limits);
	if (IS_ERR(h->server))
		kunit_skip(test, "can't listen");
	raw = raw_open(HOSTILE_PORT);
	if (IS_ERR(raw)) {
		rdmafs_xprt_unlisten(h->server);
		if (PTR_ERR(raw) == -ENODEV || PTR_ERR(raw) == -EHOSTUNREACH ||
		    PTR_ERR(raw) == -ENETUNREACH)
			kunit_skip(test, "no RDMA device at %s", raw_address_name());
		KUNIT_FAIL(test, "connect: %ld", PTR_ERR(raw));
		return PTR_ERR(raw);
	}
	h->good = raw;
	test->priv = h;
	KUNIT_EXPECT_EQ(test, raw_hello(raw, NULL), 0);
	raw_welcome(test, raw, RXP_WELCOME_NEW);
	return 0;
}

static void hostile_exit(struct kunit *test)
{
	struct hostile *h = test->priv;

	if (!h)
		return;
	complete_all(&h->release);
	if (h->joined)
		raw_close(h->joined);
	if (h->bad)
		raw_close(h->bad);
	raw_close(h->good);
	rdmafs_xprt_unlisten(h->server);
}

static struct kunit_case hostile_cases[] = {
	KUNIT_CASE_PARAM(hostile_says, hostile_gen_params),
	KUNIT_CASE(hostile_no_hello),
	KUNIT_CASE(hostile_write_imm_long),
	KUNIT_CASE_PARAM(hostile_joining, hostile_join_gen_params),
	KUNIT_CASE(hostile_join_hello),
	KUNIT_CASE(hostile_join_late),
	KUNIT_CASE(hostile_astray),
	KUNIT_CASE(hostile_fall),
	KUNIT_CASE(hostile_grant_shared),
	KUNIT_CASE(hostile_return_guessed),
	{}
};

static struct kunit_suite hostile_suite = {
	.name = "rdmafs_xprt_hostile",
	.init = hostile_init,
	.exit = hostile_exit,
	.test_cases = hostile_cases,
};

kunit_test_suite(hostile_suite);

MODULE_DESCRIPTION("KUnit: what a hostile client of rdmafs may say");
MODULE_LICENSE("GPL");
