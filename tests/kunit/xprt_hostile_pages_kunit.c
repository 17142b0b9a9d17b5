// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_hostile_pages: clients in bare verbs that want all pages for data that a
 * server has: in READs whose replies are held, in sinks and grants, and idle.
 *
 * A READ without a key is held until the client sends an STCRW, which these cases never send:
 * so it keeps its pages until it is cancelled.  The bounds that must hold are described at the
 * head of transport/server/budget.c; "beyond" is there the one request of each session that may
 * exceed them.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/module.h>
#include "transport/server/server.h"
#include "xprt_limits.h"

/*
 * Send a CALL of @bulk bytes.  A READ either gives no key, or has RXP_F_RKEY with a key that is
 * 0.
 */
static void pages_call(struct kunit *test, struct raw *raw, u16 slot, u32 seq, u16 flags, u32 bulk)
{
	const struct rxp_frame f = {
		.slot = slot, .seq = seq, .flags = flags, .body_len = 8, .bulk.length = bulk,
	};

	KUNIT_ASSERT_EQ(test, raw_send_call(raw, &f), 0);
}

static void pages_expect(struct kunit *test, struct raw *raw, u16 slot, u32 seq, u32 status)
{
	const struct rxp_wire_reply *reply = raw_expect(test, raw, RXP_REPLY, 0, slot, seq);

	KUNIT_EXPECT_EQ(test, le32_to_cpu(reply->status), status);
}

static void pages_wait_bytes(struct kunit *test, u64 bytes)
{
	struct limits *t = test->priv;
	struct rdmafs_xprt_session *s = list_first_entry(&t->server->sessions,
							 struct rdmafs_xprt_session, link);
	unsigned long end = jiffies + RAW_WAIT;

	while (atomic64_read(&s->data_bytes) != bytes && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, atomic64_read(&s->data_bytes), bytes);
}

/*
 * One session fills all pages that a session may have with READs that are held, each as large
 * as any device takes at once.  More READs and WRITEs must be answered RETRY_LATER, and a
 * request without data be served.  A READ that is cancelled makes room for as much, and no
 * more.  When the connection ends the session must owe nothing.
 */
static void pages_session_most(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct raw *raw;
	u16 i;

	KUNIT_EXPECT_EQ(test, l.data_mib, 64);
	l.data_mib = 8;
	limits_start(test, &l);
	raw = limits_open(test);
	KUNIT_ASSERT_EQ(test, limits_hello(test, raw), RXP_WELCOME_NEW);
	for (i = 0; i < 8; i++) {
		pages_call(test, raw, i, 1, RXP_F_READ, SZ_1M);
		pages_wait_bytes(test, (i + 1) * SZ_1M);
	}
	/*
	 * No more pages, neither for READs nor for WRITEs; but a request without data needs
	 * none.
	 */
	pages_call(test, raw, 8, 1, RXP_F_READ, SZ_64K);
	pages_expect(test, raw, 8, 1, RXP_STATUS_RETRY_LATER);
	pages_call(test, raw, 9, 1, RXP_F_WRITE, SZ_64K);
	pages_expect(test, raw, 9, 1, RXP_STATUS_RETRY_LATER);
	pages_call(test, raw, 10, 1, 0, 0);
	pages_expect(test, raw, 10, 1, RXP_STATUS_OK);
	/* One READ is cancelled: there is room for as many pages as it had. */
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_CANCEL, 0, 1, NULL, 0, 0), 0);
	pages_expect(test, raw, 0, 1, RXP_STATUS_CANCELLED);
	pages_wait_bytes(test, 7 * SZ_1M);
	pages_call(test, raw, 8, 2, RXP_F_READ, SZ_512K);
	pages_wait_bytes(test, 7 * SZ_1M + SZ_512K);
	pages_call(test, raw, 0, 2, RXP_F_READ, SZ_1M);
	pages_expect(test, raw, 0, 2, RXP_STATUS_RETRY_LATER);
	KUNIT_EXPECT_FALSE(test, raw->cut);
	/* The connection ends, and with it the READs that were held: the session owes nothing. */
	limits_leave(test, 0);
	pages_wait_bytes(test, 0);
}

/* All pages of the only session: those in use, and those that are idle in its pool. */
static u64 pages_all(struct limits *t)
{
	struct rdmafs_xprt_session *s = list_first_entry(&t->server->sessions,
							 struct rdmafs_xprt_session, link);
	struct rxp_pool *pool;
	struct rxp_buf *buf;
	u64 bytes = 0;
	int c;

	spin_lock_bh(&s->lock);
	pool = s->conns[0]->pool;
	spin_lock(&pool->lock);
	for (c = 0; c < RPOL_NR_CLASSES; c++)
		list_for_each_entry(buf, &pool->bufs[c], link)
			bytes += buf->size;
	spin_unlock(&pool->lock);
	spin_unlock_bh(&s->lock);
	return bytes + atomic64_read(&s->data_bytes);
}

/* Is the reply of @slot's request held?  Then the request has its pages. */
static bool pages_held(struct limits *t, u16 slot)
{
	struct rdmafs_xprt_session *s = list_first_entry(&t->server->sessions,
							 struct rdmafs_xprt_session, link);
	bool held;

	spin_lock_bh(&s->lock);
	held = s->slots[slot].req && s->slots[slot].req->state == RXS_REQ_HELD;
	spin_unlock_bh(&s->lock);
	return held;
}

static void pages_wait_held(struct kunit *test, u16 slot)
{
	unsigned long end = jiffies + RAW_WAIT;

	while (!pages_held(test->priv, slot) && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_ASSERT_TRUE(test, pages_held(test->priv, slot));
}

/* Cancel a READ that is held. */
static void pages_call_off(struct kunit *test, struct raw *raw, u16 slot, u32 seq)
{
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_CANCEL, slot, seq, NULL, 0, 0),
			0);
	pages_expect(test, raw, slot, seq, RXP_STATUS_CANCELLED);
}

/*
 * A session uses all 8 MiB that it may have in buffers of one size, and then of another.
 * Buffers that are idle are kept for seconds; they must count, and must be freed to make room.
 * Otherwise the session would have more than its bound, or be refused.
 */
static void pages_sizes(struct kunit *test, const struct rdmafs_xprt_limits *l)
{
	static const u32 sizes[] = { SZ_1M, SZ_512K, SZ_1M };
	u32 seq[RAW_SLOTS] = {}, round;
	struct limits *t = test->priv;
	struct raw *raw;
	u64 most = 0;
	u16 i, nr;

	limits_start(test, l);
	raw = limits_open(test);
	KUNIT_ASSERT_EQ(test, limits_hello(test, raw), RXP_WELCOME_NEW);
	for (round = 0; round < ARRAY_SIZE(sizes); round++) {
		nr = SZ_8M / sizes[round];
		for (i = 0; i < nr; i++) {
			pages_call(test, raw, i, ++seq[i], RXP_F_READ, sizes[round]);
			pages_wait_bytes(test, (i + 1) * sizes[round]);
			pages_wait_held(test, i);
			most = max(most, pages_all(t));
		}
		for (i = 0; i < nr; i++)
			pages_call_off(test, raw, i, seq[i]);
		pages_wait_bytes(test, 0);
		most = max(most, pages_all(t));
	}
	KUNIT_EXPECT_LE(test, most, SZ_8M);
}

static void pages_idle(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();

	l.data_mib = 8;
	pages_sizes(test, &l);
}

/* The same, but the client's part is the bound. */
static void pages_idle_client(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();

	l.data_total_mib = 16;
	pages_sizes(test, &l);
}

/*
 * The pages for data of all sessions, including those beyond the bounds; U64_MAX if the
 * clients' accounts do not add up to that.
 */
static u64 pages_total(struct limits *t)
{
	struct rxs_budget *b = t->server->budget;
	u64 total, sum = 0;
	struct rxs_account *k;

	spin_lock_bh(&b->lock);
	total = b->data;
	list_for_each_entry(k, &b->accounts, link)
		sum += k->data + k->overdraft;
	total += b->overdraft;
	spin_unlock_bh(&b->lock);
	return sum == total ? total : U64_MAX;
}

static void pages_wait_total(struct kunit *test, u64 bytes)
{
	struct limits *t = test->priv;
	unsigned long end = jiffies + RAW_WAIT;

	while (pages_total(t) != bytes && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_ASSERT_EQ(test, pages_total(t), bytes);
}

static struct raw *pages_session(struct kunit *test)
{
	struct raw *raw = limits_open(test);

	KUNIT_ASSERT_EQ(test, limits_hello(test, raw), RXP_WELCOME_NEW);
	return raw;
}

/* Send READs of 1 MiB in @nr slots from @slot on, which are held. */
static void pages_take(struct kunit *test, struct raw *raw, u16 slot, u32 nr)
{
	u64 total = pages_total(test->priv);
	u32 i;

	for (i = 0; i < nr; i++) {
		pages_call(test, raw, slot + i, 1, RXP_F_READ, SZ_1M);
		pages_wait_total(test, total + (i + 1) * SZ_1M);
	}
}

/* One more READ and one more WRITE must both be answered RETRY_LATER. */
static void pages_no_more(struct kunit *test, struct raw *raw, u16 slot, u32 seq)
{
	pages_call(test, raw, slot, seq, RXP_F_READ, SZ_1M);
	pages_expect(test, raw, slot, seq, RXP_STATUS_RETRY_LATER);
	pages_call(test, raw, slot, seq + 1, RXP_F_WRITE, SZ_1M);
	pages_expect(test, raw, slot, seq + 1, RXP_STATUS_RETRY_LATER);
}

/*
 * Two sessions of a client take pages until they are refused: together they must have the
 * client's part, however many sessions there are.  Then another client must have its part, and
 * there must be some for a third one.  A client that takes more than its part would starve the
 * others.
 */
static void pages_share(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct raw *one, *two, *other, *third;
	struct limits *t = test->priv;

	KUNIT_EXPECT_GE(test, l.data_total_mib, 4 * RDMAFS_XPRT_DATA_MAX / SZ_1M);
	l.data_total_mib = 16;
	limits_start(test, &l);
	one = pages_session(test);
	two = pages_session(test);
	/* An even part is counted as if there were one client more: half of 16 MiB. */
	pages_take(test, one, 0, 5);
	pages_take(test, two, 0, 3);
	/*
	 * Each session may have one request beyond that, which does not count for the client's
	 * part.
	 */
	pages_take(test, one, 5, 1);
	pages_take(test, two, 3, 1);
	pages_no_more(test, one, 6, 1);
	pages_no_more(test, two, 4, 1);
	KUNIT_EXPECT_GE(test, t->server->budget->refused_data, 4);

	/*
	 * An even part is a third now, but only while a quarter of all is left: so the other
	 * client has its share, a quarter.
	 */
	limits_other(test);
	other = pages_session(test);
	pages_take(test, other, 0, 4);
	pages_take(test, other, 4, 1);
	pages_no_more(test, other, 5, 1);

	/*
	 * An even part of the first client is a third now, and it has more: it gets nothing
	 * until it has less.
	 */
	pages_call_off(test, one, 0, 1);
	pages_wait_total(test, 14 * SZ_1M);
	pages_no_more(test, one, 0, 2);
	pages_call_off(test, one, 1, 1);
	pages_call_off(test, one, 2, 1);
	pages_call_off(test, two, 0, 1);
	pages_wait_total(test, 11 * SZ_1M);
	pages_call(test, one, 6, 3, RXP_F_READ, SZ_1M);
	pages_wait_total(test, 12 * SZ_1M);
	pages_no_more(test, two, 4, 3);

	/* There is some for a third client; and a connection that ends owes nothing. */
	KUNIT_ASSERT_EQ(test, raw_route("fd09::2", "fd09::1"), 0);
	third = pages_session(test);
	pages_take(test, third, 0, 1);
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, 3 * SZ_1M);
	limits_leave(test, 3);
	pages_wait_total(test, 12 * SZ_1M);
	limits_leave(test, 2);
	pages_wait_total(test, 7 * SZ_1M);
	limits_leave(test, 1);
	pages_wait_total(test, 4 * SZ_1M);
	limits_leave(test, 0);
	pages_wait_total(test, 0);
}

/*
 * Do WRITEs of 1 MiB until one brings a grant: the server must have seen its sink registered.
 * Returns the grant's key.
 */
static u32 pages_grant(struct kunit *test, struct raw *raw, u16 slot)
{
	unsigned long end = jiffies + RAW_WAIT;
	const struct rxp_wire_reply *reply;
	struct rxp_wire_tag tag;
	u32 seq = 0;
	u16 flags;

	do {
		KUNIT_ASSERT_TRUE(test, time_before(jiffies, end));
		pages_call(test, raw, slot, ++seq, RXP_F_WRITE, SZ_1M);
		tag = *(struct rxp_wire_tag *)
			raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_STCRW, slot, seq);
		tag.iova = 0;
		KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_DATA, slot, seq, &tag,
					      sizeof(tag), le32_to_cpu(tag.rkey)), 0);
		reply = raw_expect(test, raw, RXP_REPLY, 0, slot, seq);
		flags = le16_to_cpu(((struct rxp_wire_hdr *)reply - 1)->flags);
		tag = *(struct rxp_wire_tag *)((u8 *)(reply + 1) + 8);
		KUNIT_ASSERT_EQ(test, raw_repost(raw, &raw->recv[(raw->taken - 2) % RAW_RECVS]), 0);
		KUNIT_ASSERT_EQ(test, raw_repost(raw, &raw->recv[(raw->taken - 1) % RAW_RECVS]), 0);
	} while (!(flags & RXP_F_GRANT));
	return le32_to_cpu(tag.rkey);
}

/* A RECALL must come that names the @nr oldest grants. */
static void pages_recalled(struct kunit *test, struct raw *raw, const u32 *rkeys, u32 nr)
{
	const struct rxp_wire_keys *keys = raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_RECALL,
						      0, 0);
	u32 i, k, found = 0;

	KUNIT_ASSERT_EQ(test, le16_to_cpu(keys->nr), nr);
	for (i = 0; i < nr; i++)
		for (k = 0; k < nr; k++)
			found += le32_to_cpu(keys->rkey[k]) == rkeys[i];
	KUNIT_EXPECT_EQ(test, found, nr);
}

/*
 * Two clients have grants, and the bound is lowered.  The server must recall the oldest grants
 * of each beyond half of its part.  A client that returns them goes on; a client that does not
 * must lose its connection.
 */
static void pages_recall(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	u32 keys[4], others[4], i;
	struct raw *one, *other;

	l.data_total_mib = 64;
	limits_start(test, &l);
	one = pages_session(test);
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		keys[i] = pages_grant(test, one, i);
	limits_other(test);
	other = pages_session(test);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		others[i] = pages_grant(test, other, i);
	KUNIT_EXPECT_EQ(test, pages_total(t), SZ_8M);

	/* Half of a third of 16 MiB: two of the four grants are too many. */
	l.data_total_mib = 16;
	rdmafs_xprt_set_limits(t->server, &l);
	pages_recalled(test, one, keys, 2);
	pages_recalled(test, other, others, 2);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, raw_return(one, keys[i]), 0);
	pages_wait_total(test, 6 * SZ_1M);
	pages_call(test, one, 5, 1, RXP_F_READ, SZ_1M);
	pages_wait_total(test, 7 * SZ_1M);
	pages_call_off(test, one, 5, 1);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(other));
	pages_wait_total(test, SZ_2M);
	KUNIT_EXPECT_FALSE(test, one->cut);
	limits_leave(test, 1);
	limits_leave(test, 0);
	pages_wait_total(test, 0);
}

/*
 * One session has taken all pages.  Each other session, of the same client or of another one,
 * must still get one request at a time, and no more.  So requests that hang are felt by their
 * own session only.
 */
static void pages_one(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct raw *one, *two, *other;
	u32 seq;

	l.data_total_mib = 16;
	l.client_share = 100;
	limits_start(test, &l);
	one = pages_session(test);
	two = pages_session(test);
	pages_take(test, one, 0, RAW_SLOTS);
	pages_take(test, two, 0, 1);
	pages_no_more(test, two, 1, 1);
	limits_other(test);
	other = pages_session(test);
	pages_take(test, other, 0, 1);
	pages_no_more(test, other, 1, 1);
	/* These go on, one request after the other. */
	for (seq = 1; seq < 4; seq++) {
		pages_call_off(test, two, 0, seq);
		pages_wait_total(test, 17 * SZ_1M);
		pages_call(test, two, 0, seq + 1, RXP_F_READ, SZ_1M);
		pages_wait_total(test, 18 * SZ_1M);
		pages_call_off(test, other, 0, seq);
		pages_wait_total(test, 17 * SZ_1M);
		pages_call(test, other, 0, seq + 1, RXP_F_READ, SZ_1M);
		pages_wait_total(test, 18 * SZ_1M);
	}
	/* They do not go on at the cost of the first session. */
	pages_call_off(test, one, 0, 1);
	pages_wait_total(test, 17 * SZ_1M);
	pages_call(test, one, 0, 2, RXP_F_READ, SZ_1M);
	pages_wait_total(test, 18 * SZ_1M);
	limits_leave(test, 2);
	pages_wait_total(test, 17 * SZ_1M);
	limits_leave(test, 1);
	pages_wait_total(test, SZ_16M);
	limits_leave(test, 0);
	pages_wait_total(test, 0);
}

/* A client's share is more than its even part: it must get the share, and one request beyond. */
static void pages_share_large(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	struct raw *one, *other;

	l.data_total_mib = 16;
	l.client_share = 60;
	limits_start(test, &l);
	one = pages_session(test);
	pages_take(test, one, 0, 10);
	pages_no_more(test, one, 10, 1);
	limits_other(test);
	other = pages_session(test);
	pages_take(test, other, 0, 5);
	pages_no_more(test, other, 5, 1);
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, SZ_2M);
}

/*
 * Each session of a client has a request beyond the bounds, which hangs.  Of the pages beyond,
 * too, a client must get only its part, however many sessions it has, so that others have
 * theirs.
 */
static void pages_beyond_share(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct raw *raw[9], *other;
	struct limits *t = test->priv;
	u32 i;

	l.data_total_mib = 16;
	limits_start(test, &l);
	raw[0] = pages_session(test);
	pages_take(test, raw[0], 0, 8);
	/* An even part of the pages beyond, counted as if there were one client more: half. */
	for (i = 0; i < 8; i++) {
		if (i)
			raw[i] = pages_session(test);
		pages_take(test, raw[i], 8, 1);
	}
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, SZ_8M);
	raw[8] = pages_session(test);
	pages_no_more(test, raw[8], 8, 1);

	/*
	 * Another client has a part of both kinds, and so has a third; neither is answered
	 * RETRY_LATER.
	 */
	limits_other(test);
	other = pages_session(test);
	pages_take(test, other, 0, 5);
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, 9 * SZ_1M);
	KUNIT_ASSERT_EQ(test, raw_route("fd09::2", "fd09::1"), 0);
	pages_take(test, pages_session(test), 0, 1);
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, 9 * SZ_1M);
	pages_take(test, pages_session(test), 0, 1);
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, 10 * SZ_1M);

	/* A part is a quarter of all now: the first client has more while its requests last. */
	for (i = 7; i > 3; i--)
		pages_call_off(test, raw[i], 8, 1);
	pages_wait_total(test, 19 * SZ_1M);
	pages_no_more(test, raw[8], 8, 3);
	pages_call_off(test, raw[3], 8, 1);
	pages_wait_total(test, 18 * SZ_1M);
	pages_call(test, raw[8], 8, 5, RXP_F_READ, SZ_1M);
	pages_wait_total(test, 19 * SZ_1M);
}

/*
 * Sessions that hold other pages take pages beyond the bounds.  The last of these must be kept
 * for sessions that hold nothing: so each of those gets a request, however large, even if a
 * small server has only one client.
 */
static void pages_beyond_alone(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	struct raw *busy[8], *alone[5];
	u32 i;

	l.data_total_mib = 16;
	limits_start(test, &l);
	for (i = 0; i < ARRAY_SIZE(busy); i++) {
		busy[i] = pages_session(test);
		pages_take(test, busy[i], 0, 1);
	}
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, 0);
	for (i = 0; i < 4; i++)
		pages_take(test, busy[i], 1, 1);
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, SZ_4M);
	pages_no_more(test, busy[4], 1, 1);
	for (i = 0; i < 4; i++) {
		alone[i] = pages_session(test);
		pages_take(test, alone[i], 0, 1);
	}
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, SZ_8M);
	alone[4] = pages_session(test);
	pages_no_more(test, alone[4], 0, 1);

	/*
	 * Pages that the busy sessions give back are not for them again, but for a session
	 * that holds nothing.
	 */
	pages_call_off(test, busy[0], 1, 1);
	pages_wait_total(test, 15 * SZ_1M);
	pages_no_more(test, busy[4], 1, 3);
	pages_call(test, alone[4], 0, 3, RXP_F_READ, SZ_1M);
	pages_wait_total(test, SZ_16M);
	/* A busy session holds nothing once its other request has ended. */
	pages_call_off(test, alone[4], 0, 3);
	pages_wait_total(test, 15 * SZ_1M);
	pages_call_off(test, busy[5], 0, 1);
	pages_wait_total(test, 14 * SZ_1M);
	pages_call(test, busy[4], 1, 5, RXP_F_READ, SZ_1M);
	pages_wait_total(test, 15 * SZ_1M);
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, 7 * SZ_1M);
	pages_call(test, busy[5], 0, 2, RXP_F_READ, SZ_1M);
	pages_wait_total(test, SZ_16M);
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, SZ_8M);
}

/*
 * There are so many clients that no client's part is as large as a request.  Each client must
 * get one request all the same, but not one for each of its sessions.
 */
static void pages_beyond_large(struct kunit *test)
{
	static const char *const hosts[] = { NULL, "fd09::1", "fd09::2" };
	struct rdmafs_xprt_limits l = limits_default();
	struct raw *raw[ARRAY_SIZE(hosts)], *second;
	struct limits *t = test->priv;
	u32 i;

	l.data_total_mib = 3;
	l.client_share = 1;
	limits_start(test, &l);
	for (i = 0; i < ARRAY_SIZE(hosts); i++) {
		if (hosts[i])
			KUNIT_ASSERT_EQ(test, raw_route(hosts[i], "fd09::1"), 0);
		raw[i] = pages_session(test);
	}
	second = pages_session(test);
	for (i = ARRAY_SIZE(hosts); i--;) {
		pages_take(test, raw[i], 0, 1);
		pages_no_more(test, raw[i], 1, 1);
		pages_no_more(test, second, 0, 5 - 2 * i);
	}
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, 3 * SZ_1M);
}

/*
 * A request reserves pages within the bounds, and then needs more than there are.  All of its
 * pages must be charged beyond the bounds then, and none of them within.
 */
static void pages_beyond_moved(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	struct raw *one;

	l.data_total_mib = 16;
	limits_start(test, &l);
	one = pages_session(test);
	pages_take(test, one, 0, 7);
	t->reserves = SZ_512K;
	pages_take(test, one, 7, 1);
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, 0);
	pages_call_off(test, one, 7, 1);
	pages_wait_total(test, 7 * SZ_1M);
	pages_call(test, one, 8, 1, RXP_F_READ, SZ_512K);
	pages_wait_total(test, 7 * SZ_1M + SZ_512K);
	/* There is room for the reserved pages, and not for the rest. */
	pages_call(test, one, 7, 2, RXP_F_READ, SZ_1M);
	pages_wait_total(test, SZ_8M + SZ_512K);
	pages_wait_held(test, 7);
	KUNIT_EXPECT_EQ(test, t->server->budget->data, 7 * SZ_1M + SZ_512K);
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, SZ_1M);
	/*
	 * The session has its one request beyond: the next one gets nothing, and keeps nothing
	 * of what it reserved.
	 */
	pages_no_more(test, one, 9, 1);
	pages_wait_total(test, SZ_8M + SZ_512K);
	pages_call_off(test, one, 7, 2);
	pages_wait_total(test, 7 * SZ_1M + SZ_512K);
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, 0);
	limits_leave(test, 0);
	pages_wait_total(test, 0);
}

/* More rounds than there can be in which the machine stands still so long that a round is lost. */
#define PAGES_ROUNDS	32

/* The slot of the large READ, and the first of the two slots that the small READs use in turn. */
#define PAGES_LARGE	10
#define PAGES_SMALL	8

/**
 * struct pages_stream - small READs, one after the other, and a large one, of the first session
 * @raw:  its connection; each receive is posted again when its message was taken
 * @seq:  of the last CALL of each slot
 * @slot: slot of the small READ that has pages
 */
struct pages_stream {
	struct raw *raw;
	u32 seq[RAW_SLOTS];
	u16 slot;
};

static void pages_stream_start(struct kunit *test, struct pages_stream *st)
{
	*st = (struct pages_stream) { .raw = pages_session(test), .slot = PAGES_SMALL };
	/* Post the WELCOME's receive again: receives are used in order. */
	KUNIT_ASSERT_EQ(test, raw_repost(st->raw, &st->raw->recv[0]), 0);
}

/* Post the receive again of the message that was taken last. */
static void pages_stream_taken(struct kunit *test, struct pages_stream *st)
{
	struct raw *raw = st->raw;

	KUNIT_ASSERT_EQ(test, raw_repost(raw, &raw->recv[(raw->taken - 1) % RAW_RECVS]), 0);
}

/* Send a READ.  Returns true if it gets pages and is held, false if it is answered RETRY_LATER. */
static bool pages_stream_read(struct kunit *test, struct pages_stream *st, u16 slot, u32 bytes)
{
	unsigned long end = jiffies + RAW_WAIT;
	struct raw *raw = st->raw;
	bool held;

	pages_call(test, raw, slot, ++st->seq[slot], RXP_F_READ, bytes);
	while (!(held = pages_held(test->priv, slot)) &&
	       atomic_read(&raw->arrived) == raw->taken && time_before(jiffies, end))
		usleep_range(1000, 2000);
	if (held)
		return true;
	pages_expect(test, raw, slot, st->seq[slot], RXP_STATUS_RETRY_LATER);
	pages_stream_taken(test, st);
	return false;
}

static void pages_stream_end(struct kunit *test, struct pages_stream *st, u16 slot, u64 left)
{
	pages_call_off(test, st->raw, slot, st->seq[slot]);
	pages_stream_taken(test, st);
	pages_wait_total(test, left);
}

/*
 * A small READ ends and the next one comes before the large READ does.  Returns true if it gets
 * pages.
 */
static bool pages_stream_next(struct kunit *test, struct pages_stream *st)
{
	pages_stream_end(test, st, st->slot, SZ_8M);
	st->slot ^= 1;
	return pages_stream_read(test, st, st->slot, SZ_32K);
}

static struct rdmafs_xprt_session *pages_first(struct kunit *test)
{
	struct limits *t = test->priv;

	return list_first_entry(&t->server->sessions, struct rdmafs_xprt_session, link);
}

/*
 * Pretend that the first session's request was put off first @since_ms ago, and last @last_ms
 * ago.
 */
static void pages_wanted(struct kunit *test, u32 since_ms, u32 last_ms)
{
	struct rdmafs_xprt_session *s = pages_first(test);
	struct limits *t = test->priv;

	spin_lock_bh(&t->server->budget->lock);
	s->wanted_since = jiffies - msecs_to_jiffies(since_ms);
	s->wanted_last = jiffies - msecs_to_jiffies(last_ms);
	spin_unlock_bh(&t->server->budget->lock);
}

/*
 * As if the first session began in a minute to want what it wants.  However slow the machine
 * is, that is not forgotten, and no request gives way to it.  Return: when it begins, in jiffies.
 */
static unsigned long pages_not_yet(struct kunit *test)
{
	struct rdmafs_xprt_session *s = pages_first(test);
	struct limits *t = test->priv;
	unsigned long since;

	spin_lock_bh(&t->server->budget->lock);
	since = jiffies + 60 * HZ;
	s->wanted_since = since;
	s->wanted_last = since;
	spin_unlock_bh(&t->server->budget->lock);
	return since;
}

/*
 * When a large READ is put off again, the time of the first refusal must be kept, until it has
 * waited for long enough; a smaller READ that is put off must not replace it.
 */
static void pages_remembered(struct kunit *test, struct pages_stream *st)
{
	struct rdmafs_xprt_session *s = pages_first(test);
	unsigned long since, last;

	since = pages_not_yet(test);
	last = s->wanted_last;
	KUNIT_ASSERT_FALSE(test, pages_stream_read(test, st, PAGES_LARGE, SZ_1M));
	KUNIT_EXPECT_EQ(test, s->wanted_since, since);
	KUNIT_EXPECT_NE(test, s->wanted_last, last);
	since = pages_not_yet(test);
	KUNIT_ASSERT_FALSE(test, pages_stream_read(test, st, PAGES_LARGE + 1, SZ_512K));
	KUNIT_EXPECT_EQ(test, s->wanted, SZ_1M);
	KUNIT_EXPECT_EQ(test, s->wanted_since, since);

	pages_wanted(test, 2 * RXS_WANTED_MS, RXS_WANTED_MS / 4);
	since = s->wanted_since;
	KUNIT_ASSERT_FALSE(test, pages_stream_read(test, st, PAGES_LARGE, SZ_1M));
	KUNIT_EXPECT_TRUE(test, time_after(s->wanted_since, since));
}

/*
 * There is room for one more request of a session, and a stream of small READs has that room
 * whenever a large one comes.  The small ones must give way once the large one has been put off
 * for long, or it would never be served.  They must not give way for one that does not come any
 * more, nor for ever.
 */
static void pages_beyond_stream(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct pages_stream st;
	u32 round;

	l.data_total_mib = 16;
	limits_start(test, &l);
	pages_stream_start(test, &st);
	pages_take(test, st.raw, 0, 8);
	KUNIT_ASSERT_TRUE(test, pages_stream_read(test, &st, st.slot, SZ_32K));
	for (round = 0; round < 3; round++) {
		KUNIT_ASSERT_FALSE(test, pages_stream_read(test, &st, PAGES_LARGE, SZ_1M));
		pages_wanted(test, 0, 0);
		KUNIT_ASSERT_TRUE(test, pages_stream_next(test, &st));
	}
	pages_remembered(test, &st);
	/*
	 * It has been put off for long: the next small READ gives way, unless that comes too
	 * late because the machine is slow.
	 */
	for (round = 0; round < PAGES_ROUNDS; round++) {
		KUNIT_ASSERT_FALSE(test, pages_stream_read(test, &st, PAGES_LARGE, SZ_1M));
		pages_wanted(test, RXS_WANTED_MS, 0);
		if (!pages_stream_next(test, &st))
			break;
	}
	KUNIT_ASSERT_LT(test, round, PAGES_ROUNDS);
	KUNIT_ASSERT_TRUE(test, pages_stream_read(test, &st, PAGES_LARGE, SZ_1M));
	/* The large READ has had its pages: the small ones go on, for as long as before. */
	pages_stream_end(test, &st, PAGES_LARGE, SZ_8M);
	KUNIT_ASSERT_TRUE(test, pages_stream_read(test, &st, st.slot, SZ_32K));
	pages_wanted(test, RXS_WANTED_MS, 0);
	KUNIT_ASSERT_TRUE(test, pages_stream_next(test, &st));

	/* The large READ is repeated no more: the small ones do not give way. */
	KUNIT_ASSERT_FALSE(test, pages_stream_read(test, &st, PAGES_LARGE, SZ_1M));
	pages_wanted(test, RXS_WANTED_MS, RXS_WANTED_AGAIN_MS);
	KUNIT_ASSERT_TRUE(test, pages_stream_next(test, &st));
	/*
	 * The large READ comes again and again, but the small ones have given way for long
	 * enough.
	 */
	KUNIT_ASSERT_FALSE(test, pages_stream_read(test, &st, PAGES_LARGE, SZ_1M));
	pages_wanted(test, 2 * RXS_WANTED_MS, 0);
	KUNIT_ASSERT_TRUE(test, pages_stream_next(test, &st));
}

/*
 * Sessions that hang have all but a little of their client's part.  A session that holds
 * nothing else has no room for its large READ.  Its small READs must not give way for it, as
 * that would be in vain.
 */
static void pages_beyond_vain(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	struct pages_stream st;
	struct raw *other;

	/* Half of it is the client's, within the bounds and beyond. */
	l.data_total_mib = 1;
	limits_start(test, &l);
	pages_stream_start(test, &st);
	other = pages_session(test);
	pages_call(test, other, 0, 1, RXP_F_READ, SZ_512K);
	pages_wait_total(test, SZ_512K);
	pages_call(test, pages_session(test), 0, 1, RXP_F_READ, SZ_32K);
	pages_wait_total(test, SZ_512K + SZ_32K);
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, SZ_32K);
	KUNIT_EXPECT_FALSE(test, pages_stream_read(test, &st, PAGES_LARGE, SZ_1M));
	pages_wanted(test, RXS_WANTED_MS, 0);
	KUNIT_EXPECT_TRUE(test, pages_stream_read(test, &st, PAGES_SMALL, SZ_32K));
}

/*
 * The bound is lowered below what is in use.  Each session must get one request beyond it at
 * once, and more only when the clients use less than the new bound.
 */
static void pages_lowered(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	struct raw *one, *other;
	u32 i;

	l.data_total_mib = 64;
	limits_start(test, &l);
	one = pages_session(test);
	pages_take(test, one, 0, 12);
	limits_other(test);
	other = pages_session(test);
	pages_take(test, other, 0, 8);
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, 0);
	l.data_total_mib = 16;
	rdmafs_xprt_set_limits(t->server, &l);
	/* Each session may have one request beyond. */
	pages_take(test, one, 12, 1);
	pages_no_more(test, one, 13, 1);
	pages_take(test, other, 8, 1);
	pages_no_more(test, other, 9, 1);
	KUNIT_EXPECT_EQ(test, t->server->budget->overdraft, SZ_2M);
	for (i = 0; i < 8; i++)
		pages_call_off(test, one, i, 1);
	pages_wait_total(test, 14 * SZ_1M);
	/*
	 * Twelve are in use, four of them by the first client: it gets no more until its part
	 * has grown.
	 */
	pages_no_more(test, one, 13, 3);
	for (i = 0; i < 6; i++)
		pages_call_off(test, other, i, 1);
	pages_wait_total(test, SZ_8M);
	pages_call(test, one, 13, 5, RXP_F_READ, SZ_1M);
	pages_wait_total(test, 9 * SZ_1M);
	KUNIT_EXPECT_EQ(test, t->server->budget->data, 7 * SZ_1M);
	limits_leave(test, 1);
	limits_leave(test, 0);
	pages_wait_total(test, 0);
}

/* Have a session of the client take @nr MiB of pages, and give them back. */
static void pages_used(struct kunit *test, u32 nr)
{
	struct raw *raw = pages_session(test);
	u32 i;

	pages_take(test, raw, 0, nr);
	for (i = 0; i < nr; i++)
		pages_call_off(test, raw, i, 1);
	pages_wait_total(test, 0);
}

/*
 * All pools together must keep @bytes of idle pages, once the pages are freed that are not to
 * be kept.  The first of them became idle after @since: when RXP_IDLE_SECS are over pages have
 * been freed for their age, and the sum says nothing.
 */
static void pages_kept(struct kunit *test, u64 bytes, unsigned long since)
{
	struct limits *t = test->priv;
	struct rxs_conn *conn;
	u64 idle;
	u32 i;

	for (i = 0; i < t->nr; i++) {
		spin_lock_bh(&t->server->lock);
		conn = list_first_entry(&t->server->conns, struct rxs_conn, link);
		list_move_tail(&conn->link, &t->server->conns);
		spin_unlock_bh(&t->server->lock);
		flush_delayed_work(&conn->conn.pool->decay);
	}
	idle = READ_ONCE(t->server->budget->idle);
	if (time_before(jiffies, since + RXP_IDLE_SECS * HZ))
		KUNIT_EXPECT_EQ(test, idle, bytes);
}

/*
 * A client's sessions use pages in turn.  Together they must not keep more idle pages than the
 * client may have.
 */
static void pages_idle_share(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	unsigned long since = jiffies;
	u32 round;

	l.data_total_mib = 16;
	limits_start(test, &l);
	for (round = 0; round < 3; round++) {
		pages_used(test, 8);
		pages_kept(test, SZ_8M, since);
	}
}

/*
 * All clients together must not keep more idle pages than there may be, though each may have
 * as many.
 */
static void pages_idle_total(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	unsigned long since = jiffies;

	l.data_total_mib = 16;
	l.client_share = 100;
	limits_start(test, &l);
	pages_used(test, RAW_SLOTS);
	pages_kept(test, SZ_16M, since);
	limits_other(test);
	pages_used(test, 8);
	pages_kept(test, SZ_16M, since);
}

/* Wait for a counter: a request is charged first, and counted afterwards. */
static void pages_wait_count(struct kunit *test, const atomic_t *count, int value)
{
	unsigned long end = jiffies + RAW_WAIT;

	while (atomic_read(count) < value && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, atomic_read(count), value);
}

/*
 * READs are answered with a few pages of a large folio, which cannot be freed until they are
 * sent.  Each must be charged for the whole folio, but only once, however many pieces of it are
 * sent.  A READ for which a folio leaves no room must get a copy, as long as there is room for
 * that; and also when folios have half of the session's room.
 */
static void pages_folios(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	struct raw *raw;
	u16 i;

	l.data_mib = 8;
	limits_start(test, &l);
	raw = pages_session(test);
	t->lends = alloc_pages(GFP_KERNEL | __GFP_COMP, get_order(SZ_2M));
	KUNIT_ASSERT_NOT_NULL(test, t->lends);
	for (i = 0; i < 2; i++) {
		pages_call(test, raw, i, 1, RXP_F_READ | RXP_F_RKEY, SZ_64K);
		pages_wait_bytes(test, (i + 1) * SZ_2M);
	}
	/* The other half of the room is not for folios: this READ is copied. */
	pages_call(test, raw, 2, 1, RXP_F_READ | RXP_F_RKEY, SZ_64K);
	pages_wait_bytes(test, SZ_4M + SZ_128K);
	pages_take(test, raw, 3, 2);
	pages_call(test, raw, 5, 1, RXP_F_READ | RXP_F_RKEY, SZ_1M);
	pages_wait_bytes(test, 7 * SZ_1M + SZ_128K);
	pages_wait_count(test, &t->lent, 2);
	pages_wait_count(test, &t->copied, 2);
	pages_call(test, raw, 6, 1, RXP_F_READ | RXP_F_RKEY, SZ_1M);
	pages_expect(test, raw, 6, 1, RXP_STATUS_RETRY_LATER);
	/* The lent folios are given back, and owe nothing more. */
	complete_all(&t->serve);
	pages_wait_bytes(test, SZ_2M);
	limits_leave(test, 0);
	pages_wait_total(test, 0);
	KUNIT_EXPECT_EQ(test, page_count(t->lends), 1);
}

static struct kunit_case pages_cases[] = {
	KUNIT_CASE(pages_session_most),
	KUNIT_CASE(pages_idle),
	KUNIT_CASE(pages_idle_client),
	KUNIT_CASE(pages_share),
	KUNIT_CASE(pages_share_large),
	KUNIT_CASE(pages_one),
	KUNIT_CASE(pages_beyond_share),
	KUNIT_CASE(pages_beyond_alone),
	KUNIT_CASE(pages_beyond_large),
	KUNIT_CASE(pages_beyond_moved),
	KUNIT_CASE(pages_beyond_stream),
	KUNIT_CASE(pages_beyond_vain),
	KUNIT_CASE(pages_lowered),
	KUNIT_CASE_SLOW(pages_recall),
	KUNIT_CASE(pages_folios),
	KUNIT_CASE(pages_idle_share),
	KUNIT_CASE(pages_idle_total),
	{}
};

static struct kunit_suite pages_suite = {
	.name = "rdmafs_xprt_hostile_pages",
	.init = limits_init,
	.exit = limits_exit,
	.test_cases = pages_cases,
};

kunit_test_suite(pages_suite);
