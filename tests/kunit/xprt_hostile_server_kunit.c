// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_hostile_server: a server that speaks to the client in bare verbs and
 * breaks the protocol: replies to no call, of another length, with foreign keys, RDMA WRITEs
 * where it may no longer write, STCRWs, REVOKEDs and grants out of place.
 *
 * In each case one call is the victim, and three others are bystanders: a large READ, a call
 * without data and a large WRITE, all of them unanswered.  The server sends one message.  If the
 * protocol forbids it the client must end the connection and come back, and there all calls
 * are answered as they should be.  Each call must end once, and only the victim may fail.  No
 * byte may change but those of the answer to the call that they belong to.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include "xprt_fake.h"

/* How the connection ends. */
enum bad_end {
	BAD_LIVES,	/* it goes on */
	BAD_JUDGED,	/* the client finds that the protocol was broken */
	BAD_REFUSED,	/* the device refuses what the server asks */
	BAD_LEFT,	/* the server disconnects */
};

/* A key that was never given out. */
#define BAD_KEY		0x77777777

static struct fake_call *bystander(struct fake *f)
{
	return &f->call[1];		/* the large READ */
}

static struct rxp_wire_tag bad_tag(u32 len, u32 rkey, u64 iova)
{
	return (struct rxp_wire_tag) {
		.length = cpu_to_le32(len), .rkey = cpu_to_le32(rkey), .iova = cpu_to_le64(iova),
	};
}

/* ------------------------------------------------------------------- messages */

static void bad_empty(struct kunit *test, struct fake *f, struct fake_call *v)
{
	raw_send(f->raw, 0, 0);
}

static void bad_truncated(struct kunit *test, struct fake *f, struct fake_call *v)
{
	memset(f->raw->send->buf, 0, sizeof(struct rxp_wire_hdr));
	f->raw->send->buf[0] = RXP_NOTIFY;
	f->raw->send->buf[1] = RXP_NOTIFY_PONG;
	raw_send(f->raw, sizeof(struct rxp_wire_hdr) - 1, 0);
}

/* Send more than a receive holds. */
static void bad_oversized(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct ib_sge sge[8];
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = sge };

	wr.num_sge = min_t(int, raw_sge(f->raw), ARRAY_SIZE(sge));
	for (int i = 0; i < wr.num_sge; i++) {
		sge[i].addr = f->raw->send->dma;
		sge[i].length = RXP_MSG_MAX;
		sge[i].lkey = f->raw->pd->local_dma_lkey;
	}
	raw_post(f->raw, &wr);
}

static void bad_type(struct kunit *test, struct fake *f, struct fake_call *v)
{
	raw_say(f->raw, 99, 0, 0, 0, NULL, 0, 0);
}

static void bad_direction(struct kunit *test, struct fake *f, struct fake_call *v)
{
	raw_say(f->raw, RXP_CONTROL, RXP_CONTROL_PING, 0, 0, NULL, 0, 0);
}

static void bad_op(struct kunit *test, struct fake *f, struct fake_call *v)
{
	fake_notify(f, 99, 0, 0, NULL, 0);
}

static void bad_notify_length(struct kunit *test, struct fake *f, struct fake_call *v)
{
	raw_say(f->raw, RXP_NOTIFY, RXP_NOTIFY_PONG, 0, 0, &v->req, sizeof(v->req), 0);
}

static void bad_notify_slot(struct kunit *test, struct fake *f, struct fake_call *v)
{
	fake_notify(f, RXP_NOTIFY_PONG, v->slot, v->seq, NULL, 0);
}

static void bad_notify_invalidates(struct kunit *test, struct fake *f, struct fake_call *v)
{
	fake_notify(f, RXP_NOTIFY_PONG, 0, 0, NULL, bystander(f)->rkey);
}

static void bad_second_welcome(struct kunit *test, struct fake *f, struct fake_call *v)
{
	fake_welcome(f, RXP_WELCOME_NEW);
}

static void good_pong(struct kunit *test, struct fake *f, struct fake_call *v)
{
	fake_notify(f, RXP_NOTIFY_PONG, 0, 0, NULL, 0);
}

static void bad_event_slot(struct kunit *test, struct fake *f, struct fake_call *v)
{
	fake_notify(f, RXP_NOTIFY_EVENT, v->slot, v->seq, NULL, 0);
}

/* As many as there are receives for them; the client asks each time. */
static void good_events(struct kunit *test, struct fake *f, struct fake_call *v)
{
	unsigned long end = jiffies + RAW_WAIT;
	u32 i;

	for (i = 0; i < RXP_RECV_RESERVE; i++)
		KUNIT_ASSERT_EQ(test, fake_notify(f, RXP_NOTIFY_EVENT, 0, 0, NULL, 0), 0);
	while (atomic_read(&f->events) < RXP_RECV_RESERVE && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->events), RXP_RECV_RESERVE);
}

/* -------------------------------------------------------------------- replies */

#define BAD_REPLY(name, change...)						\
static void bad_##name(struct kunit *test, struct fake *f, struct fake_call *v)	\
{										\
	struct fake_reply r = fake_ok(v);					\
										\
	change;									\
	fake_reply(f, &r);							\
}

BAD_REPLY(free_slot, r.slot = RAW_SLOTS - 1, r.seq = 1)
BAD_REPLY(no_slot, r.slot = RAW_SLOTS)
BAD_REPLY(seq_older, r.seq--)
BAD_REPLY(seq_newer, r.seq++)
BAD_REPLY(reply_op, r.op = 1)
BAD_REPLY(reply_short, r.extra = -1)
BAD_REPLY(reply_long, r.extra = 1)
BAD_REPLY(reply_flags, r.flags = 0x8)
BAD_REPLY(reply_pad, r.pad = 1)
BAD_REPLY(reply_status, r.status = 99)
BAD_REPLY(body_none, r.body_len = 0)
BAD_REPLY(body_huge, r.body_len = RDMAFS_XPRT_BODY_MAX + 1)
BAD_REPLY(body_long, r.body_len++)
BAD_REPLY(data_huge, r.data_len = RDMAFS_XPRT_INLINE_MAX + 1, r.extra = -1)
BAD_REPLY(data_unasked, r.data_len = 8)
BAD_REPLY(data_long, r.data_len = v->len + 1)
BAD_REPLY(data_twice, r.data_len = 8, r.bulk_len = 8)
BAD_REPLY(bulk_unasked, r.bulk_len = 8)
BAD_REPLY(bulk_inline, r.bulk_len = v->len)
BAD_REPLY(bulk_long, r.bulk_len = v->len + 1)
BAD_REPLY(bulk_huge, r.bulk_len = RDMAFS_XPRT_DATA_MAX + 1)
BAD_REPLY(bulk_no_key, r.bulk_len = v->len)
BAD_REPLY(later_body, r.status = RXP_STATUS_RETRY_LATER)
BAD_REPLY(cancelled_unasked, r.status = RXP_STATUS_CANCELLED, r.body_len = 0)
BAD_REPLY(cancelled_body, r.status = RXP_STATUS_CANCELLED)

static void bad_twice(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r = fake_ok(v);

	fake_serve(test, f, v);
	fake_await(test, v);
	r.inv = 0;
	fake_reply(f, &r);
}

/* Reply twice; the second one comes when the slot and seq + 1 belong to a new call. */
static void bad_twice_reused(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r = fake_ok(v);

	fake_serve(test, f, v);
	fake_await(test, v);
	fake_submit(test, f, v->req.id, v->kind);
	fake_take_call(test, f, v);
	KUNIT_ASSERT_EQ(test, v->slot, r.slot);
	KUNIT_EXPECT_EQ(test, v->seq, r.seq + 1);
	r.inv = 0;
	fake_reply(f, &r);
}

/* The second CANCELLED is for a call that was sent again and has not been cancelled since. */
static void bad_cancelled_twice(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r = fake_ok(v);

	r.status = RXP_STATUS_CANCELLED;
	r.body_len = 0;
	fake_reply(f, &r);
	v->seen = false;
	fake_take_call(test, f, v);
	fake_reply(f, &r);
}

static void good_short(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r = fake_ok(v);

	r.data_len = FAKE_SMALL;
	fake_reply(f, &r);
	fake_await(test, v);
	KUNIT_EXPECT_EQ(test, v->call.data_len, FAKE_SMALL);
}

/* An error, or an answer from the reply cache: the reply has no data. */
static void good_no_data(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r = fake_ok(v);

	fake_reply(f, &r);
	fake_await(test, v);
	KUNIT_EXPECT_EQ(test, v->call.data_len, 0);
}

static void good_later(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r = fake_ok(v);
	u32 rkey = v->rkey, i;

	for (i = 0; i < 5; i++) {
		r.status = RXP_STATUS_RETRY_LATER;
		r.body_len = 0;
		/* The reply invalidates the key, and the next one does not. */
		if (i & 1)
			r.inv = 0;
		fake_reply(f, &r);
		v->seen = false;
		fake_take_call(test, f, v);
		if (v->keyed)
			KUNIT_EXPECT_NE(test, v->rkey, rkey);
		rkey = v->rkey;
		r = fake_ok(v);
	}
}

/* ----------------------------------------------------------- several in a message */

/* The bystander without data; its CALL has come. */
static struct fake_call *bystander_echo(struct kunit *test, struct fake *f)
{
	fake_take_call(test, f, &f->call[2]);
	return &f->call[2];
}

static u32 bad_put_two(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r = fake_ok(v), other = fake_ok(bystander_echo(test, f));
	u8 *buf = f->raw->send->buf;
	u32 len;

	if (v->kind == FAKE_READ_SMALL)
		r.data_len = v->len;
	len = fake_put_reply(buf, &r);
	return len + fake_put_reply(buf + len, &other);
}

static void good_together(struct kunit *test, struct fake *f, struct fake_call *v)
{
	raw_send(f->raw, bad_put_two(test, f, v), 0);
	fake_await(test, v);
	fake_await(test, &f->call[2]);
	KUNIT_EXPECT_EQ(test, v->call.data_len, v->len);
}

static void bad_together_short(struct kunit *test, struct fake *f, struct fake_call *v)
{
	raw_send(f->raw, bad_put_two(test, f, v) - 1, 0);
}

/*
 * Each of the two replies would be allowed alone; the key that is invalidated is the first
 * one's.
 */
static void bad_together_inv(struct kunit *test, struct fake *f, struct fake_call *v)
{
	raw_send(f->raw, bad_put_two(test, f, v), v->rkey);
}

static void bad_together_same(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r = fake_ok(v);
	u8 *buf = f->raw->send->buf;
	u32 len = fake_put_reply(buf, &r);

	raw_send(f->raw, len + fake_put_reply(buf + len, &r), 0);
}

static void bad_together_notify(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct rxp_wire_hdr pong = { .type = RXP_NOTIFY, .op = RXP_NOTIFY_PONG };
	struct fake_reply r = fake_ok(v);
	u8 *buf = f->raw->send->buf;
	u32 len = fake_put_reply(buf, &r);

	memcpy(buf + len, &pong, sizeof(pong));
	raw_send(f->raw, len + sizeof(pong), 0);
}

/* ----------------------------------------------------------- keys and addresses */

static void bad_inv_garbage(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r = fake_ok(v);

	r.inv = BAD_KEY;
	fake_reply(f, &r);
}

static void bad_inv_other(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r = fake_ok(v);

	r.inv = bystander(f)->rkey;
	fake_reply(f, &r);
}

/*
 * Write the victim's data, reply, and write there once more when the call has ended.  The
 * device must refuse it: the memory is the caller's again.
 */
static void bad_write_after(struct kunit *test, struct fake *f, struct fake_call *v, bool inv)
{
	struct fake_reply r = fake_ok(v);

	fake_write(test, f, v);
	r.bulk_len = v->len;
	if (!inv)
		r.inv = 0;
	fake_reply(f, &r);
	fake_await(test, v);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_remote_inv), inv);
	/* On rxe this also happens if the reply comes before the completion of the CALL. */
	KUNIT_EXPECT_GE(test, fake_stat(f, RXP_STAT_local_inv), !inv);
	KUNIT_EXPECT_LE(test, fake_stat(f, RXP_STAT_local_inv), 1);
	memset(f->raw->send->buf, ~FAKE_POISON, 64);
	raw_write(f->raw, v->iova, v->rkey, 64);
	/* On iWARP a WRITE counts as sent, whatever becomes of it. */
	KUNIT_EXPECT_TRUE(test, !f->raw->send_ok || raw_iwarp(f->raw));
}

static void bad_write_invalid(struct kunit *test, struct fake *f, struct fake_call *v)
{
	bad_write_after(test, f, v, true);
}

/* If the reply does not invalidate the key the client must do so, before the caller is told. */
static void bad_write_not_invalid(struct kunit *test, struct fake *f, struct fake_call *v)
{
	bad_write_after(test, f, v, false);
}

static void bad_write_at(struct fake *f, u64 iova, u32 rkey)
{
	memset(f->raw->send->buf, ~FAKE_POISON, 64);
	raw_write(f->raw, iova, rkey, 64);
}

static void bad_write_before(struct kunit *test, struct fake *f, struct fake_call *v)
{
	bad_write_at(f, v->iova - 8, v->rkey);
}

static void bad_write_behind(struct kunit *test, struct fake *f, struct fake_call *v)
{
	bad_write_at(f, v->iova + v->len - 56, v->rkey);
}

static void bad_write_key(struct kunit *test, struct fake *f, struct fake_call *v)
{
	bad_write_at(f, v->iova, v->rkey ^ 1);
}

/*
 * An RDMA WRITE with immediate data takes a receive of the client's, and writes nothing there.
 * The old message in it, a PONG, must not be handled again.
 */
static void bad_write_imm(struct kunit *test, struct fake *f, struct fake_call *v)
{
	for (int i = 0; i < 2 * FAKE_WANT_SLOTS + RXP_RECV_RESERVE; i++)
		KUNIT_ASSERT_EQ(test, fake_notify(f, RXP_NOTIFY_PONG, 0, 0, NULL, 0), 0);
	v->hit = true;
	KUNIT_EXPECT_EQ(test, raw_write_imm(f->raw, v->iova, v->rkey,
					    sizeof(struct rxp_wire_hdr)), 0);
}

static void bad_send_imm(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct rxp_wire_hdr pong = { .type = RXP_NOTIFY, .op = RXP_NOTIFY_PONG };

	memcpy(f->raw->send->buf, &pong, sizeof(pong));
	raw_send_imm(f->raw, sizeof(pong));
}

/* ---------------------------------------------------------------------- STCRWs */

#define BAD_STCRW(name, change...)						\
static void bad_##name(struct kunit *test, struct fake *f, struct fake_call *v)	\
{										\
	struct rxp_wire_tag tag = bad_tag(FAKE_LEN, BAD_KEY, PAGE_SIZE);	\
	u32 seq = v->seq;							\
	u16 slot = v->slot;							\
										\
	change;									\
	fake_notify(f, RXP_NOTIFY_STCRW, slot, seq, &tag, 0);			\
}

BAD_STCRW(stcrw)
BAD_STCRW(stcrw_free, slot = RAW_SLOTS - 1, seq = 1)
BAD_STCRW(stcrw_no_slot, slot = RAW_SLOTS)
BAD_STCRW(stcrw_seq, seq++)
BAD_STCRW(stcrw_short, tag.length = cpu_to_le32(FAKE_LEN - 1))
BAD_STCRW(stcrw_long, tag.length = cpu_to_le32(FAKE_LEN + 1))
BAD_STCRW(stcrw_wraps, tag.iova = cpu_to_le64(U64_MAX - FAKE_LEN + 1))
BAD_STCRW(stcrw_zero, tag.rkey = 0)

static void bad_stcrw_twice(struct kunit *test, struct fake *f, struct fake_call *v)
{
	fake_stcrw(test, f, v);
	while (!v->fired)
		fake_take(test, f);
	fake_stcrw(test, f, v);
}

static void bad_stcrw_late(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct rxp_wire_tag tag = fake_sink(test, f);
	u32 seq = v->seq;
	u16 slot = v->slot;

	good_no_data(test, f, v);
	fake_notify(f, RXP_NOTIFY_STCRW, slot, seq, &tag, 0);
}

static void bad_stcrw_granted(struct kunit *test, struct fake *f, struct fake_call *v)
{
	KUNIT_EXPECT_EQ(test, v->flags, RXP_F_WRITE | RXP_F_RKEY);
	fake_stcrw(test, f, v);
}

static void bad_stcrw_invalidates(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct rxp_wire_tag tag = fake_sink(test, f);

	fake_notify(f, RXP_NOTIFY_STCRW, v->slot, v->seq, &tag, bystander(f)->rkey);
}

/* -------------------------------------------------------------------- REVOKEDs */

/*
 * A READ's key is given back, though the client has not asked for it with a CANCEL.  A CANCEL for
 * a READ that has a key needs another mount: see recover_revoked_other().
 */
#define BAD_REVOKED(name, change...)						\
static void bad_revoked_##name(struct kunit *test, struct fake *f, struct fake_call *v)	\
{										\
	u32 inv = v->keyed ? v->rkey : bystander(f)->rkey;			\
	struct rxp_wire_tag *tag = NULL;					\
	u32 seq = v->seq;							\
	u16 slot = v->slot;							\
										\
	change;									\
	fake_notify(f, RXP_NOTIFY_REVOKED, slot, seq, tag, inv);		\
}

BAD_REVOKED(unasked)
BAD_REVOKED(free, slot = RAW_SLOTS - 1, seq = 1)
BAD_REVOKED(no_slot, slot = RAW_SLOTS)
BAD_REVOKED(older, seq--)
BAD_REVOKED(other_key, inv = bystander(f)->rkey)
BAD_REVOKED(no_key, inv = 0)
BAD_REVOKED(tagged, tag = &(struct rxp_wire_tag) { .length = cpu_to_le32(FAKE_LEN) })

/* The READ is answered; the key that the REVOKED gives back is a bystander's. */
static void bad_revoked_late(struct kunit *test, struct fake *f, struct fake_call *v)
{
	u32 seq = v->seq;
	u16 slot = v->slot;

	good_no_data(test, f, v);
	fake_notify(f, RXP_NOTIFY_REVOKED, slot, seq, NULL, bystander(f)->rkey);
}

/* ---------------------------------------------------------------------- grants */

#define BAD_GRANT(name, change...)						\
static void bad_grant_##name(struct kunit *test, struct fake *f, struct fake_call *v)	\
{										\
	struct fake_reply r = fake_ok(v);					\
										\
	r.flags = RXP_F_GRANT;							\
	r.grant = bad_tag(FAKE_LEN, BAD_KEY, PAGE_SIZE);			\
	change;									\
	fake_reply(f, &r);							\
}

BAD_GRANT(to_other)
BAD_GRANT(empty, r.grant.length = 0)
BAD_GRANT(long, r.grant.length = cpu_to_le32(RDMAFS_XPRT_DATA_MAX + 1))
BAD_GRANT(zero, r.grant.rkey = 0)
BAD_GRANT(wraps, r.grant.iova = cpu_to_le64(U64_MAX - FAKE_LEN + 1))
BAD_GRANT(later, r.status = RXP_STATUS_RETRY_LATER, r.body_len = 0)
BAD_GRANT(truncated, r.extra = -1)

/* Answer the victim with a grant that no WRITE fits in, and submit it again. */
static void bad_grant_once(struct kunit *test, struct fake *f, struct fake_call *v, u32 rkey)
{
	struct fake_reply r = fake_ok(v);

	r.flags = RXP_F_GRANT;
	r.grant = bad_tag(1, rkey, PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, fake_reply(f, &r), 0);
	fake_await(test, v);
	KUNIT_ASSERT_EQ(test, v->call.status, 0);
	fake_submit(test, f, v->req.id, FAKE_WRITE);
	fake_take_call(test, f, v);
	KUNIT_ASSERT_EQ(test, v->flags, RXP_F_WRITE);
}

static void bad_grant_twice(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r;

	bad_grant_once(test, f, v, BAD_KEY);
	r = fake_ok(v);
	r.flags = RXP_F_GRANT;
	r.grant = bad_tag(1, BAD_KEY, PAGE_SIZE);
	fake_reply(f, &r);
}

static void bad_grant_many(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r;
	u32 i;

	for (i = 0; i < RXP_WIRE_GRANTS; i++)
		bad_grant_once(test, f, v, BAD_KEY + i);
	r = fake_ok(v);
	r.flags = RXP_F_GRANT;
	r.grant = bad_tag(1, BAD_KEY + i, PAGE_SIZE);
	fake_reply(f, &r);
}

static void good_recall_unknown(struct kunit *test, struct fake *f, struct fake_call *v)
{
	fake_recall(f, BAD_KEY, 1);
	fake_serve(test, f, v);
	fake_await(test, v);
	KUNIT_EXPECT_EQ(test, f->nr_returned, 0);
}

static void good_recall(struct kunit *test, struct fake *f, struct fake_call *v)
{
	bad_grant_once(test, f, v, BAD_KEY);
	fake_recall(f, BAD_KEY, 1);
	while (!f->nr_returned)
		fake_take(test, f);
	KUNIT_EXPECT_EQ(test, f->returned, BAD_KEY);
}

/*
 * A RECALL names as many grants as a message can.  They must come back in one RETURN, and only
 * those that were recalled.
 */
static void good_recall_all(struct kunit *test, struct fake *f, struct fake_call *v)
{
	u32 i;

	for (i = 0; i <= RXP_WIRE_KEYS; i++)
		bad_grant_once(test, f, v, BAD_KEY + i);
	fake_recall(f, BAD_KEY + 1, RXP_WIRE_KEYS);
	while (!f->nr_returned)
		fake_take(test, f);
	KUNIT_EXPECT_EQ(test, f->nr_returned, RXP_WIRE_KEYS);
	KUNIT_EXPECT_EQ(test, f->returned, BAD_KEY + 1);
	fake_recall(f, BAD_KEY, 1);
	while (f->returns < 2)
		fake_take(test, f);
	KUNIT_EXPECT_EQ(test, f->returned, BAD_KEY);
	KUNIT_EXPECT_EQ(test, f->nr_returned, RXP_WIRE_KEYS + 1);
}

/*
 * There are more RECALLs than messages for the answers.  Each grant must come back, also those
 * whose RETURN has to wait for a message.
 */
static void good_recall_each(struct kunit *test, struct fake *f, struct fake_call *v)
{
	const u32 nr = 4 * RXP_RECV_RESERVE;
	u32 i;

	for (i = 0; i < nr; i++)
		bad_grant_once(test, f, v, BAD_KEY + i);
	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_EQ(test, fake_recall(f, BAD_KEY + i, 1), 0);
	while (f->nr_returned < nr)
		fake_take(test, f);
	KUNIT_EXPECT_LE(test, f->returns, nr);
}

/* A grant is recalled when a WRITE uses it: it is used, and must not be returned as well. */
static void good_recall_used(struct kunit *test, struct fake *f, struct fake_call *v)
{
	KUNIT_EXPECT_EQ(test, v->flags, RXP_F_WRITE | RXP_F_RKEY);
	fake_recall(f, v->rkey, 1);
	fake_serve(test, f, v);
	fake_await(test, v);
	/*
	 * A RETURN would come before the DATA that follows the STCRW that was sent after the
	 * RECALL.
	 */
	fake_serve(test, f, &f->call[3]);
	KUNIT_EXPECT_EQ(test, f->nr_returned, 0);
	fake_await(test, &f->call[3]);
}

/* --------------------------------------------------------------------- leaving */

static void bad_leave(struct kunit *test, struct fake *f, struct fake_call *v)
{
	rdma_disconnect(f->raw->id);
}

static void bad_leave_half_written(struct kunit *test, struct fake *f, struct fake_call *v)
{
	v->hit = true;
	raw_write(f->raw, v->iova, v->rkey, 4096);
	rdma_disconnect(f->raw->id);
}

static void bad_leave_fired(struct kunit *test, struct fake *f, struct fake_call *v)
{
	fake_stcrw(test, f, v);
	rdma_disconnect(f->raw->id);
}

static void bad_leave_fetched(struct kunit *test, struct fake *f, struct fake_call *v)
{
	fake_stcrw(test, f, v);
	while (!v->fired)
		fake_take(test, f);
	rdma_disconnect(f->raw->id);
}

/* The server leaves while the client's LOCAL_INV is on its way. */
static void bad_leave_replied(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r = fake_ok(v);

	fake_write(test, f, v);
	r.bulk_len = v->len;
	r.inv = 0;
	fake_reply(f, &r);
	rdma_disconnect(f->raw->id);
	fake_await(test, v);
}

static void bad_leave_later(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r = fake_ok(v);

	r.status = RXP_STATUS_RETRY_LATER;
	r.body_len = 0;
	fake_reply(f, &r);
	rdma_disconnect(f->raw->id);
}

/* ----------------------------------------------------------------------- table */

static const struct bad_case {
	const char *name;
	void (*run)(struct kunit *test, struct fake *f, struct fake_call *v);
	enum fake_kind kind;
	enum bad_end end;
	int status;
	bool immediate;			/* needs immediate data, which iWARP does not have */
} bad_table[] = {
	{ "an empty message", bad_empty, FAKE_ECHO, BAD_JUDGED },
	{ "a truncated header", bad_truncated, FAKE_ECHO, BAD_JUDGED },
	{ "more than a receive holds", bad_oversized, FAKE_ECHO, BAD_REFUSED },
	{ "an unknown type", bad_type, FAKE_ECHO, BAD_JUDGED },
	{ "a message of the client's", bad_direction, FAKE_ECHO, BAD_JUDGED },
	{ "an unknown NOTIFY", bad_op, FAKE_ECHO, BAD_JUDGED },
	{ "a NOTIFY of another length", bad_notify_length, FAKE_ECHO, BAD_JUDGED },
	{ "a PONG with a slot", bad_notify_slot, FAKE_ECHO, BAD_JUDGED },
	{ "a PONG that invalidates", bad_notify_invalidates, FAKE_ECHO, BAD_JUDGED },
	{ "a second WELCOME", bad_second_welcome, FAKE_ECHO, BAD_JUDGED },
	{ "a PONG unasked", good_pong, FAKE_ECHO, BAD_LIVES },
	{ "an EVENT with a slot", bad_event_slot, FAKE_ECHO, BAD_JUDGED },
	{ "EVENTs without an event", good_events, FAKE_ECHO, BAD_LIVES },

	{ "a REPLY in a free slot", bad_free_slot, FAKE_ECHO, BAD_JUDGED },
	{ "a REPLY in a slot that there is not", bad_no_slot, FAKE_ECHO, BAD_JUDGED },
	{ "a REPLY to an older call", bad_seq_older, FAKE_READ, BAD_JUDGED },
	{ "a REPLY to a call to come", bad_seq_newer, FAKE_READ, BAD_JUDGED },
	{ "a REPLY twice", bad_twice, FAKE_ECHO, BAD_JUDGED },
	{ "a REPLY twice, the slot taken again", bad_twice_reused, FAKE_READ, BAD_JUDGED },
	{ "a REPLY with an op", bad_reply_op, FAKE_ECHO, BAD_JUDGED },
	{ "a REPLY too short", bad_reply_short, FAKE_ECHO, BAD_JUDGED },
	{ "a REPLY too long", bad_reply_long, FAKE_ECHO, BAD_JUDGED },
	{ "a REPLY with an unknown flag", bad_reply_flags, FAKE_ECHO, BAD_JUDGED },
	{ "a REPLY with something in the padding", bad_reply_pad, FAKE_ECHO, BAD_JUDGED },
	{ "a REPLY of unknown status", bad_reply_status, FAKE_ECHO, BAD_JUDGED },
	{ "a REPLY without a body", bad_body_none, FAKE_ECHO, BAD_JUDGED },
	{ "a body of more than there can be", bad_body_huge, FAKE_ECHO, BAD_JUDGED },
	{ "a body of more than was asked", bad_body_long, FAKE_ECHO, BAD_JUDGED, -EPROTO },
	{ "data of more than there can be", bad_data_huge, FAKE_READ, BAD_JUDGED },
	{ "data for a call without", bad_data_unasked, FAKE_ECHO, BAD_JUDGED, -EPROTO },
	{ "data for a WRITE", bad_data_unasked, FAKE_WRITE, BAD_JUDGED, -EPROTO },
	{ "data of more than was asked", bad_data_long, FAKE_READ_SMALL, BAD_JUDGED, -EPROTO },
	{ "data inside and outside", bad_data_twice, FAKE_READ, BAD_JUDGED },
	{ "written data for a call without", bad_bulk_unasked, FAKE_ECHO, BAD_JUDGED, -EPROTO },
	{ "written data for a WRITE", bad_bulk_unasked, FAKE_WRITE, BAD_JUDGED, -EPROTO },
	{ "written data for a small READ", bad_bulk_inline, FAKE_READ_SMALL, BAD_JUDGED, -EPROTO },
	{ "written data longer than asked", bad_bulk_long, FAKE_READ, BAD_JUDGED, -EPROTO },
	{ "the same, registered late", bad_bulk_long, FAKE_READ_LATE, BAD_JUDGED, -EPROTO },
	{ "written data longer than can be", bad_bulk_huge, FAKE_READ, BAD_JUDGED },
	{ "written data without a key", bad_bulk_no_key, FAKE_READ_GAPS, BAD_JUDGED, -EPROTO },
	{ "RETRY_LATER with a body", bad_later_body, FAKE_READ, BAD_JUDGED },
	{ "CANCELLED unasked", bad_cancelled_unasked, FAKE_ECHO, BAD_JUDGED },
	{ "CANCELLED unasked, to a READ", bad_cancelled_unasked, FAKE_READ, BAD_JUDGED },
	{ "CANCELLED unasked, to an STCRW", bad_cancelled_unasked, FAKE_READ_LATE, BAD_JUDGED },
	{ "CANCELLED unasked, to a WRITE", bad_cancelled_unasked, FAKE_WRITE, BAD_JUDGED },
	{ "CANCELLED with a body", bad_cancelled_body, FAKE_READ_GAPS, BAD_JUDGED },
	{ "CANCELLED twice", bad_cancelled_twice, FAKE_READ_GAPS, BAD_JUDGED },
	{ "a READ answered inside the message", good_short, FAKE_READ, BAD_LIVES },
	{ "the same, registered late", good_short, FAKE_READ_LATE, BAD_LIVES },
	{ "the same, cancelled", good_short, FAKE_READ_GAPS, BAD_LIVES },
	{ "a READ of nothing", good_no_data, FAKE_READ, BAD_LIVES },
	{ "a WRITE whose data nobody wants", good_no_data, FAKE_WRITE, BAD_LIVES },
	{ "RETRY_LATER to a call without data", good_later, FAKE_ECHO, BAD_LIVES },
	{ "RETRY_LATER to a READ", good_later, FAKE_READ, BAD_LIVES },
	{ "RETRY_LATER to a WRITE", good_later, FAKE_WRITE, BAD_LIVES },

	{ "replies together", good_together, FAKE_READ_SMALL, BAD_LIVES },
	{ "replies together, cut short", bad_together_short, FAKE_READ_SMALL, BAD_JUDGED },
	{ "replies together that invalidate", bad_together_inv, FAKE_READ, BAD_JUDGED },
	{ "replies together to one call", bad_together_same, FAKE_ECHO, BAD_JUDGED },
	{ "a NOTIFY behind a REPLY", bad_together_notify, FAKE_ECHO, BAD_JUDGED },

	{ "a garbage key invalidated", bad_inv_garbage, FAKE_READ, BAD_REFUSED },
	{ "a key invalidated for a call without", bad_inv_other, FAKE_ECHO, BAD_JUDGED, -EPROTO },
	{ "another call's key invalidated", bad_inv_other, FAKE_READ, BAD_JUDGED, -EPROTO },
	{ "the same, to a WRITE", bad_inv_other, FAKE_WRITE, BAD_JUDGED, -EPROTO },
	{ "WRITE after a REPLY that invalidated", bad_write_invalid, FAKE_READ, BAD_REFUSED },
	{ "WRITE after a REPLY that did not", bad_write_not_invalid, FAKE_READ, BAD_REFUSED },
	{ "the same, registered late", bad_write_not_invalid, FAKE_READ_LATE, BAD_REFUSED },
	{ "WRITE before the room", bad_write_before, FAKE_READ, BAD_REFUSED },
	{ "WRITE behind the room", bad_write_behind, FAKE_READ, BAD_REFUSED },
	{ "WRITE with another key", bad_write_key, FAKE_READ, BAD_REFUSED },
	{ "WRITE with immediate data", bad_write_imm, FAKE_READ, BAD_JUDGED, .immediate = true },
	{ "SEND with immediate data", bad_send_imm, FAKE_ECHO, BAD_JUDGED, .immediate = true },

	{ "STCRW for a call without data", bad_stcrw, FAKE_ECHO, BAD_JUDGED },
	{ "STCRW for a READ", bad_stcrw, FAKE_READ, BAD_JUDGED },
	{ "STCRW for a small WRITE", bad_stcrw, FAKE_WRITE_SMALL, BAD_JUDGED },
	{ "STCRW for a free slot", bad_stcrw_free, FAKE_WRITE, BAD_JUDGED },
	{ "STCRW for a slot that there is not", bad_stcrw_no_slot, FAKE_WRITE, BAD_JUDGED },
	{ "STCRW for a call to come", bad_stcrw_seq, FAKE_WRITE, BAD_JUDGED },
	{ "STCRW of a shorter length", bad_stcrw_short, FAKE_WRITE, BAD_JUDGED },
	{ "STCRW of a longer length", bad_stcrw_long, FAKE_WRITE, BAD_JUDGED },
	{ "STCRW that wraps", bad_stcrw_wraps, FAKE_WRITE, BAD_JUDGED },
	{ "STCRW without a key", bad_stcrw_zero, FAKE_WRITE, BAD_JUDGED },
	{ "STCRW with a forged key", bad_stcrw, FAKE_WRITE, BAD_REFUSED },
	{ "STCRW twice", bad_stcrw_twice, FAKE_WRITE, BAD_JUDGED },
	{ "STCRW after the REPLY", bad_stcrw_late, FAKE_WRITE, BAD_JUDGED },
	{ "STCRW for a granted WRITE", bad_stcrw_granted, FAKE_WRITE_GRANTED, BAD_JUDGED },
	{ "STCRW that invalidates", bad_stcrw_invalidates, FAKE_WRITE, BAD_JUDGED },

	{ "REVOKED for a call without data", bad_revoked_unasked, FAKE_ECHO, BAD_JUDGED },
	{ "REVOKED for a WRITE", bad_revoked_unasked, FAKE_WRITE, BAD_JUDGED },
	{ "REVOKED for a READ not cancelled", bad_revoked_unasked, FAKE_READ, BAD_JUDGED },
	{ "the same, registered late", bad_revoked_unasked, FAKE_READ_LATE, BAD_JUDGED },
	{ "REVOKED for a READ that has no key", bad_revoked_unasked, FAKE_READ_GAPS, BAD_JUDGED },
	{ "REVOKED for a free slot", bad_revoked_free, FAKE_READ, BAD_JUDGED },
	{ "REVOKED for a slot that there is not", bad_revoked_no_slot, FAKE_READ, BAD_JUDGED },
	{ "REVOKED for an older call", bad_revoked_older, FAKE_READ, BAD_JUDGED },
	{ "REVOKED with another READ's key", bad_revoked_other_key, FAKE_READ, BAD_JUDGED },
	{ "REVOKED that gives no key back", bad_revoked_no_key, FAKE_READ, BAD_JUDGED },
	{ "REVOKED of another length", bad_revoked_tagged, FAKE_READ, BAD_JUDGED },
	{ "REVOKED after the REPLY", bad_revoked_late, FAKE_READ, BAD_JUDGED },

	{ "a grant to a READ", bad_grant_to_other, FAKE_READ, BAD_JUDGED, -EPROTO },
	{ "a grant to a small WRITE", bad_grant_to_other, FAKE_WRITE_SMALL, BAD_JUDGED, -EPROTO },
	{ "a grant to a call without data", bad_grant_to_other, FAKE_ECHO, BAD_JUDGED, -EPROTO },
	{ "a grant of nothing", bad_grant_empty, FAKE_WRITE, BAD_JUDGED },
	{ "a grant of more than an RPC", bad_grant_long, FAKE_WRITE, BAD_JUDGED },
	{ "a grant without a key", bad_grant_zero, FAKE_WRITE, BAD_JUDGED },
	{ "a grant that wraps", bad_grant_wraps, FAKE_WRITE, BAD_JUDGED },
	{ "a grant with RETRY_LATER", bad_grant_later, FAKE_WRITE, BAD_JUDGED },
	{ "a grant cut short", bad_grant_truncated, FAKE_WRITE, BAD_JUDGED },
	{ "a grant that is held already", bad_grant_twice, FAKE_WRITE, BAD_JUDGED, -EPROTO },
	{ "one grant too many", bad_grant_many, FAKE_WRITE, BAD_JUDGED, -EPROTO },
	{ "RECALL of what is not there", good_recall_unknown, FAKE_WRITE, BAD_LIVES },
	{ "RECALL of a grant", good_recall, FAKE_WRITE, BAD_LIVES },
	{ "RECALL of as many as it names", good_recall_all, FAKE_WRITE, BAD_LIVES },
	{ "RECALLs of one each", good_recall_each, FAKE_WRITE, BAD_LIVES },
	{ "RECALL of a grant in use", good_recall_used, FAKE_WRITE_GRANTED, BAD_LIVES },

	{ "leaves a call", bad_leave, FAKE_ECHO, BAD_LEFT },
	{ "leaves a small READ", bad_leave, FAKE_READ_SMALL, BAD_LEFT },
	{ "leaves a READ", bad_leave, FAKE_READ, BAD_LEFT },
	{ "leaves a READ registered late", bad_leave, FAKE_READ_LATE, BAD_LEFT },
	{ "leaves a READ half written", bad_leave_half_written, FAKE_READ, BAD_LEFT },
	{ "leaves a READ cancelled", bad_leave, FAKE_READ_GAPS, BAD_LEFT },
	{ "leaves a READ to be invalidated", bad_leave_replied, FAKE_READ, BAD_LEFT },
	{ "leaves a READ to be made again", bad_leave_later, FAKE_READ, BAD_LEFT },
	{ "leaves a small WRITE", bad_leave, FAKE_WRITE_SMALL, BAD_LEFT },
	{ "leaves a WRITE", bad_leave, FAKE_WRITE, BAD_LEFT },
	{ "leaves a WRITE after its STCRW", bad_leave_fired, FAKE_WRITE, BAD_LEFT },
	{ "leaves a WRITE after its DATA", bad_leave_fetched, FAKE_WRITE, BAD_LEFT },
	{ "leaves a WRITE to be made again", bad_leave_later, FAKE_WRITE, BAD_LEFT },
	{ "leaves a granted WRITE", bad_leave, FAKE_WRITE_GRANTED, BAD_LEFT },
};

static void bad_desc(const struct bad_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(bad, bad_table, bad_desc);

/* ----------------------------------------------------------------------- cases */

/* Run one entry of the table, and count what the client made of it. */
static void hostile_server_says(struct kunit *test)
{
	const struct bad_case *c = test->param_value;
	struct fake *f = test->priv;
	struct fake_call *v;
	unsigned long end;
	u64 asks;

	fake_start(test, f);
	if (c->immediate && raw_iwarp(f->raw))
		kunit_skip(test, "iWARP has no immediate data");
	v = fake_submit_all(test, f, c->kind);
	c->run(test, f, v);
	if (c->end != BAD_LIVES) {
		KUNIT_ASSERT_TRUE_MSG(test, raw_wait_cut(f->raw), "still connected");
		fake_drop(f);
		fake_untouched(test, f);
		if (c->status)
			fake_await(test, v);
		fake_again(test, f, RXP_WELCOME_BOUND);
	}
	fake_serve_all(test, f);
	fake_ended(test, f, c->status, 0);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(f->raw->cut));
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_protocol_errors), c->end == BAD_JUDGED);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_reconnects), c->end != BAD_LIVES);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->resets), 0);
	/* A client that has connected again asks without an EVENT, too, perhaps after its calls. */
	asks = fake_stat(f, RXP_STAT_events) + (c->end != BAD_LIVES);
	end = jiffies + RAW_WAIT;
	while (atomic_read(&f->events) < asks && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->events), asks);
}

static int hostile_server_init(struct kunit *test)
{
	fake_new(test);
	return 0;
}

static void hostile_server_exit(struct kunit *test)
{
	if (test->priv)
		fake_free(test->priv);
}

static struct kunit_case hostile_server_cases[] = {
	KUNIT_CASE_PARAM(hostile_server_says, bad_gen_params),
	{}
};

static struct kunit_suite hostile_server_suite = {
	.name = "rdmafs_xprt_hostile_server",
	.init = hostile_server_init,
	.exit = hostile_server_exit,
	.test_cases = hostile_server_cases,
};

kunit_test_suite(hostile_server_suite);
