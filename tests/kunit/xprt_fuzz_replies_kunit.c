// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_fuzz_replies: a server in bare verbs sends messages to a live client at
 * random.
 *
 * It serves calls of all kinds as a server may: with data inside and outside of replies, with
 * sinks, with grants that it recalls, with RETRY_LATER, or by leaving so that the call is sent
 * again.  But one message in a few is spoilt (a bit, a field, its length, the key that it
 * invalidates), or comes at a wrong moment.  The client may end the connection for that, and
 * comes back.
 *
 * Each call must end once.  No byte around its data may change, nor a byte of data that it
 * writes.  A call that began and ended where nothing had been spoilt must have the right
 * answer, and a server that breaks nothing must not be found to have done so.  In the end
 * nothing may be held for any call.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include "xprt_fake.h"
#include "xprt_lots.h"

static uint fuzz_replies = 5000;
module_param(fuzz_replies, uint, 0644);
MODULE_PARM_DESC(fuzz_replies, "messages that rdmafs_xprt_fuzz_replies says");

/* The users of a sink that are no call: a grant, or none. */
#define SINK_GRANT	(-1)
#define SINK_FREE	(-2)

/* A submit in a thread of its own: it may wait for a connection, and so for the case's thread. */
struct submission {
	struct work_struct work;
	struct fake *f;
	struct fake_call *call;
	int ret;
};

/**
 * struct replies - the random server
 * @f:       server, client and calls
 * @submission: submit of each call
 * @lots:    source of random numbers, and of what is spoilt
 * @sink:    user of each of f->sink: number of a call, SINK_GRANT or SINK_FREE
 * @sunk:    calls whose STCRW was sent
 * @doubtful: calls that may have any result: a message was spoilt while they were there
 * @dirty:   a message was spoilt on this connection
 * @said:    messages sent
 * @cuts:    connections that ended
 * @left:    connections that the server ended
 * @ended:   calls that ended
 * @failed:  calls of these that did not succeed
 * @test:    the case
 */
struct replies {
	struct fake *f;
	struct submission submission[FAKE_CALLS];
	struct lots lots;
	int sink[FAKE_SINKS];
	bool sunk[FAKE_CALLS];
	bool doubtful[FAKE_CALLS];
	bool dirty;
	u32 said;
	u32 cuts;
	u32 left;
	u32 ended;
	u32 failed;
	struct kunit *test;
};

/* Send the message in the connection's buffer, which may be spoilt. */
static void replies_say(struct replies *z, u32 len, u32 inv)
{
	struct raw *raw = z->f->raw;
	u32 i;

	z->said++;
	if (lot_spoil(&z->lots, raw->send->buf, &len, &inv)) {
		z->dirty = true;
		for (i = 0; i < FAKE_CALLS; i++)
			z->doubtful[i] = true;
	}
	raw_send(raw, len, inv);
}

static void replies_notify(struct replies *z, u8 op, u16 slot, u32 seq, const void *body, u32 len)
{
	struct rxp_wire_hdr *hdr = (struct rxp_wire_hdr *)z->f->raw->send->buf;

	memset(hdr, 0, sizeof(*hdr));
	hdr->type = RXP_NOTIFY;
	hdr->op = op;
	hdr->slot = cpu_to_le16(slot);
	hdr->seq = cpu_to_le32(seq);
	if (len)
		memcpy(hdr + 1, body, len);
	replies_say(z, sizeof(*hdr) + len, 0);
}

/* ------------------------------------------------------------------------ sinks */

static int replies_sink_of(const struct replies *z, int whose)
{
	int i;

	for (i = 0; i < FAKE_SINKS; i++)
		if (z->sink[i] == whose)
			return i;
	return -1;
}

static void replies_sinks_free(struct replies *z, int whose)
{
	int i;

	for (i = 0; i < FAKE_SINKS; i++)
		if (z->sink[i] == whose)
			z->sink[i] = SINK_FREE;
}

/* Register a sink for @whose.  Returns false if none is free or the connection is lost. */
static bool replies_sink(struct replies *z, int whose, struct rxp_wire_tag *tag)
{
	int i = replies_sink_of(z, SINK_FREE);

	if (i < 0)
		return false;
	/* Sinks that were never registered come last. */
	i = min_t(int, i, z->f->nr_sinks);
	if (fake_sink_at(z->f, i, tag))
		return false;
	z->sink[i] = whose;
	return true;
}

static int replies_sink_by_key(const struct replies *z, u32 rkey)
{
	u32 i;

	for (i = 0; i < z->f->nr_sinks; i++)
		if (z->f->sink[i]->rkey == rkey)
			return i;
	return -1;
}

/* -------------------------------------------------------------- what has come */

static bool replies_there(const struct raw *raw)
{
	return atomic_read(&raw->arrived) > raw->taken;
}

static void replies_take_call(struct replies *z, const struct rxp_wire_hdr *hdr)
{
	const struct rxp_wire_call *call = (const struct rxp_wire_call *)(hdr + 1);
	const struct fake_msg *body = (const struct fake_msg *)(call + 1);
	struct fake_call *c;
	int sink;

	KUNIT_ASSERT_LT(z->test, body->id, FAKE_CALLS);
	c = &z->f->call[body->id];
	KUNIT_EXPECT_TRUE(z->test, !c->seen || z->dirty);
	replies_sinks_free(z, body->id);
	z->sunk[body->id] = false;
	fake_note_call(c, hdr);
	if (c->flags != (RXP_F_WRITE | RXP_F_RKEY))
		return;
	sink = replies_sink_by_key(z, c->rkey);
	KUNIT_EXPECT_TRUE(z->test, z->dirty || (sink >= 0 && z->sink[sink] == SINK_GRANT));
	if (sink >= 0)
		z->sink[sink] = body->id;
}

static void replies_take_control(struct replies *z, const struct rxp_wire_hdr *hdr)
{
	const struct rxp_wire_tag *tag = (const struct rxp_wire_tag *)(hdr + 1);
	const struct rxp_wire_keys *keys = (const struct rxp_wire_keys *)(hdr + 1);
	struct fake_call *c = z->f->call;
	int i;

	if (hdr->op == RXP_CONTROL_PING) {
		replies_notify(z, RXP_NOTIFY_PONG, 0, 0, NULL, 0);
		return;
	}
	if (hdr->op == RXP_CONTROL_RETURN) {
		for (int k = 0; k < le16_to_cpu(keys->nr); k++) {
			i = replies_sink_by_key(z, le32_to_cpu(keys->rkey[k]));
			if (i >= 0 && z->sink[i] == SINK_GRANT)
				z->sink[i] = SINK_FREE;
		}
		return;
	}
	/* A CONTROL that was on its way when its call was answered belongs to no call now. */
	for (; c < z->f->call + FAKE_CALLS; c++)
		if (c->seen && c->slot == le16_to_cpu(hdr->slot) &&
		    c->seq == le32_to_cpu(hdr->seq))
			break;
	if (c == z->f->call + FAKE_CALLS)
		return;
	switch (hdr->op) {
	case RXP_CONTROL_STCRW:
		c->keyed = true;
		c->rkey = le32_to_cpu(tag->rkey);
		c->iova = le64_to_cpu(tag->iova);
		break;
	case RXP_CONTROL_DATA:
		c->fired = true;
		break;
	case RXP_CONTROL_CANCEL:
		c->cancelled = true;
		break;
	default:
		KUNIT_FAIL(z->test, "unexpected CONTROL %u", hdr->op);
	}
}

/* Take all messages that are there.  Returns whether there was one. */
static bool replies_take(struct replies *z)
{
	struct raw *raw = z->f->raw;
	struct rxp_wire_hdr *hdr;
	bool any = false;
	struct raw_msg *m;

	while (replies_there(raw) && !READ_ONCE(raw->cut)) {
		m = raw_next_msg(raw);
		if (!m)
			break;
		hdr = (struct rxp_wire_hdr *)m->buf;
		if (hdr->type == RXP_CALL)
			replies_take_call(z, hdr);
		else
			replies_take_control(z, hdr);
		raw_repost(raw, m);
		any = true;
	}
	return any;
}

/* ---------------------------------------------------------------------- serving */

/* Send a REPLY.  For the server the call is over then. */
static bool replies_reply(struct replies *z, struct fake_call *c, const struct fake_reply *r)
{
	c->seen = false;
	replies_sinks_free(z, c->req.id);
	replies_say(z, fake_put_reply(z->f->raw->send->buf, r), r->inv);
	return true;
}

static bool replies_serve_write(struct replies *z, struct fake_call *c)
{
	struct fake_reply r = fake_ok(c);
	u32 id = c->req.id;
	struct rxp_wire_tag tag;

	/* The server may want no data, but not once it has sent the STCRW. */
	if (!(c->flags & RXP_F_RKEY) && !z->sunk[id] && !lot_once_in(&z->lots, 16) &&
	    replies_sink(z, id, &tag)) {
		z->sunk[id] = true;
		replies_notify(z, RXP_NOTIFY_STCRW, c->slot, c->seq, &tag, sizeof(tag));
		return true;
	}
	if (z->sunk[id] && !c->fired)
		return false;
	if (lot_once_in(&z->lots, 2) && replies_sink(z, SINK_GRANT, &r.grant))
		r.flags = RXP_F_GRANT;
	return replies_reply(z, c, &r);
}

static bool replies_serve_read(struct replies *z, struct fake_call *c)
{
	struct fake_reply r = fake_ok(c);
	bool late = c->kind == FAKE_READ_LATE || c->kind == FAKE_READ_GAPS;

	if (c->cancelled) {
		r.status = RXP_STATUS_CANCELLED;
		r.body_len = 0;
		return replies_reply(z, c, &r);
	}
	if (late && !c->keyed && !lot_once_in(&z->lots, 64))
		return false;
	r.data_len = FAKE_SMALL;
	if (c->keyed && !lot_once_in(&z->lots, 16)) {
		c->hit = true;
		r.data_len = 0;
		r.bulk_len = c->len;
		if (fake_write_part(z->f, c, c->len))
			return false;
	}
	/* The server leaves when the READ's data is written and the reply is not sent. */
	if (lot_once_in(&z->lots, 256)) {
		z->left++;
		rdma_disconnect(z->f->raw->id);
		return true;
	}
	return replies_reply(z, c, &r);
}

/* Go on with a call, if possible.  Returns whether a message was sent. */
static bool replies_serve(struct replies *z, struct fake_call *c)
{
	struct fake_reply r = fake_ok(c);

	if (!z->sunk[c->req.id] && !c->cancelled && lot_once_in(&z->lots, 128)) {
		r.status = RXP_STATUS_RETRY_LATER;
		r.body_len = 0;
		return replies_reply(z, c, &r);
	}
	if (c->kind == FAKE_WRITE)
		return replies_serve_write(z, c);
	if (c->call.dir == RDMAFS_XPRT_READ)
		return replies_serve_read(z, c);
	return replies_reply(z, c, &r);
}

/* Send a message that the client does not expect. */
static void replies_stray(struct replies *z)
{
	struct {
		struct rxp_wire_keys keys;
		__le32 rkey[3];		/* as long as a tag, all of them */
	} recall = { .keys.nr = cpu_to_le16(1), .rkey[0] = cpu_to_le32(lot_number(&z->lots)) };
	int sink = replies_sink_of(z, SINK_GRANT);

	switch (lot(&z->lots, 8)) {
	case 0 ... 3:
		if (sink >= 0)
			recall.rkey[0] = cpu_to_le32(z->f->sink[sink]->rkey);
		replies_notify(z, RXP_NOTIFY_RECALL, 0, 0, &recall,
			       sizeof(recall.keys) + sizeof(recall.rkey[0]));
		break;
	case 4:
		replies_notify(z, RXP_NOTIFY_PONG, 0, 0, NULL, 0);
		break;
	case 5:
		replies_notify(z, RXP_NOTIFY_EVENT, 0, 0, NULL, 0);
		break;
	case 6:
		if (!lot_once_in(&z->lots, 4))
			break;
		z->left++;
		rdma_disconnect(z->f->raw->id);
		break;
	default:
		/* A message in no place, if messages are spoilt at all. */
		if (!z->lots.once)
			break;
		memset(z->doubtful, true, sizeof(z->doubtful));
		z->dirty = true;
		BUILD_BUG_ON(sizeof(recall) < sizeof(struct rxp_wire_tag));
		replies_notify(z, 1 + lot(&z->lots, 6), lot(&z->lots, RAW_SLOTS), 1, &recall,
			       lot_once_in(&z->lots, 2) ? 0 : sizeof(struct rxp_wire_tag));
	}
}

/* Do one step.  Returns whether there was something to send. */
static bool replies_step(struct replies *z)
{
	u32 i, first = lot(&z->lots, FAKE_CALLS);
	struct fake_call *c;

	if (lot_once_in(&z->lots, 64))
		replies_stray(z);
	for (i = 0; i < FAKE_CALLS; i++) {
		c = &z->f->call[(first + i) % FAKE_CALLS];
		if (c->seen && replies_serve(z, c))
			return true;
	}
	return false;
}

/* -------------------------------------------------------------------- the client */

static void replies_submit(struct work_struct *work)
{
	struct submission *s = container_of(work, struct submission, work);

	s->ret = rdmafs_xprt_submit(s->f->xprt, &s->call->call);
}

/* A call has ended: check it, more or less strictly. */
static void replies_judge(struct replies *z, struct fake_call *c)
{
	flush_work(&z->submission[c->req.id].work);
	KUNIT_ASSERT_EQ(z->test, z->submission[c->req.id].ret, 0);
	z->ended++;
	z->failed += !!c->call.status;
	c->seen = false;
	KUNIT_EXPECT_EQ(z->test, atomic_read(&c->ended), 1);
	if (z->doubtful[c->req.id]) {
		fake_guarded(z->test, c);
		return;
	}
	KUNIT_EXPECT_EQ(z->test, c->call.status, 0);
	if (c->call.data_len == c->len)
		c->hit = false;
	fake_check(z->test, c);
}

/* Submit another call for each that has ended. */
static void replies_refill(struct replies *z)
{
	static const enum fake_kind kinds[] = {
		FAKE_ECHO, FAKE_READ_SMALL, FAKE_READ, FAKE_READ_LATE, FAKE_READ_GAPS,
		FAKE_WRITE_SMALL, FAKE_WRITE, FAKE_WRITE,
	};
	struct fake_call *c;
	u32 i;

	for (i = 0; i < FAKE_CALLS; i++) {
		c = &z->f->call[i];
		if (c->kind != FAKE_NONE) {
			if (!fake_has_ended(c))
				continue;
			replies_judge(z, c);
		}
		z->sunk[i] = false;
		z->doubtful[i] = z->dirty;
		z->submission[i].call =
			fake_describe(z->f, i, kinds[lot(&z->lots, ARRAY_SIZE(kinds))]);
		queue_work(system_unbound_wq, &z->submission[i].work);
	}
}

/* The connection is lost, or ends now: the client comes back. */
static void replies_again(struct replies *z)
{
	int i;

	z->cuts++;
	fake_drop(z->f);
	for (i = 0; i < FAKE_SINKS; i++)
		z->sink[i] = SINK_FREE;
	z->dirty = false;
	memset(z->sunk, 0, sizeof(z->sunk));
	fake_again(z->test, z->f, RXP_WELCOME_BOUND);
	WRITE_ONCE(z->f->raw->follows, true);
	/* A client waits longer each time that its connection is lost soon: let it forget that. */
	spin_lock_bh(&z->f->xprt->lock);
	z->f->xprt->attempts = 0;
	spin_unlock_bh(&z->f->xprt->lock);
}

/*
 * Nothing is left to send until the client sends a message, or a call of it ends.  One of these
 * must come, except where a message was spoilt: then the client may wait for one that it did
 * not get, and the server leaves.
 */
static void replies_wait(struct replies *z)
{
	unsigned long end = jiffies + (z->dirty ? HZ / 10 : RAW_WAIT);
	struct raw *raw = z->f->raw;
	u32 i;

	while (time_before(jiffies, end)) {
		if (wait_event_timeout(raw->wait, READ_ONCE(raw->cut) || replies_there(raw), 1))
			return;
		for (i = 0; i < FAKE_CALLS; i++)
			if (fake_has_ended(&z->f->call[i]))
				return;
	}
	KUNIT_ASSERT_TRUE_MSG(z->test, z->dirty, "nothing was spoilt, and the client waits");
	z->left++;
	rdma_disconnect(raw->id);
	KUNIT_ASSERT_TRUE(z->test, raw_wait_cut(raw));
}

/* Go on until @until messages were sent. */
static void replies_run(struct replies *z, u32 until)
{
	while (z->said < until) {
		if (READ_ONCE(z->f->raw->cut))
			replies_again(z);
		replies_refill(z);
		if (!replies_take(z) && !replies_step(z))
			replies_wait(z);
		cond_resched();
	}
}

static void replies_end(void *data)
{
	struct replies *z = data;
	u32 i;

	for (i = 0; i < FAKE_CALLS; i++)
		flush_work(&z->submission[i].work);
}

/* Serve an eighth of the messages without spoiling any, then the others, and end all calls. */
static void fuzz_client(struct kunit *test)
{
	struct replies *z = kunit_kzalloc(test, sizeof(*z), GFP_KERNEL);
	struct fake *f = test->priv;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, z);
	z->test = test;
	z->f = f;
	for (i = 0; i < FAKE_CALLS; i++) {
		INIT_WORK(&z->submission[i].work, replies_submit);
		z->submission[i].f = f;
	}
	for (i = 0; i < FAKE_SINKS; i++)
		z->sink[i] = SINK_FREE;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, replies_end, z), 0);
	lots_begin(&z->lots);
	fake_start(test, f);
	WRITE_ONCE(f->raw->follows, true);

	z->lots.once = 0;
	replies_run(z, fuzz_replies / 8);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_protocol_errors), 0);
	KUNIT_EXPECT_EQ(test, z->failed, 0);
	KUNIT_EXPECT_LE(test, z->cuts, z->left);
	z->lots.once = fuzz_spoil;
	replies_run(z, fuzz_replies);

	replies_again(z);
	fake_serve_all(test, f);
	for (i = 0; i < FAKE_CALLS; i++)
		replies_judge(z, &f->call[i]);
	fake_idle(test, f);
	kunit_info(test, "seed %u: %u messages, %u spoilt, %llu found, %u connections gone, %u of them left, %u calls, %u failed\n",
		   fuzz_seed, z->said, z->lots.spoilt, fake_stat(f, RXP_STAT_protocol_errors),
		   z->cuts, z->left, z->ended, z->failed);
	KUNIT_EXPECT_GT(test, z->ended, fuzz_replies / 8);
	KUNIT_EXPECT_TRUE(test, !fuzz_spoil || fake_stat(f, RXP_STAT_protocol_errors));
	KUNIT_EXPECT_LE(test, z->failed, z->lots.spoilt);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->resets), 0);
}

static int fuzz_replies_init(struct kunit *test)
{
	fake_new(test);
	return 0;
}

static void fuzz_replies_exit(struct kunit *test)
{
	if (test->priv)
		fake_free(test->priv);
}

static struct kunit_case fuzz_replies_cases[] = {
	KUNIT_CASE_SLOW(fuzz_client),
	{}
};

static struct kunit_suite fuzz_replies_suite = {
	.name = "rdmafs_xprt_fuzz_replies",
	.init = fuzz_replies_init,
	.exit = fuzz_replies_exit,
	.test_cases = fuzz_replies_cases,
};

kunit_test_suite(fuzz_replies_suite);
