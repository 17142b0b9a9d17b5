// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_hostile_live: a client in bare verbs that wants to write to pages of the
 * server that it has given back, or to keep more pages than it uses.
 *
 * It names the keys of memory whose registration has not been executed yet: it does not take
 * the messages that stand in front of the registration in the server's send queue.  A real
 * client would have to guess the keys; this one looks them up.  Then it lets the queue go on,
 * and writes as long as the device allows.  All pages that the server gives back meanwhile are
 * watched (tests/points/kept.c): no byte of them may be written after that.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/random.h>
#include <net/net_namespace.h>
#include "tests/points/points.h"
#include "transport/points.h"
#include "transport/server/server.h"
#include "xprt_stall.h"

#define LIVE_PORT	20994
#define LIVE_LEN	SZ_64K
#define LIVE_FILL	SZ_4K

/*
 * What the service does with a request: LIVE_ECHO answers it.  LIVE_HOLD waits for @release
 * first.  LIVE_SLEEP also waits for @rouse after the answer, so that the thread that has
 * answered sleeps.
 */
enum { LIVE_ECHO = 1, LIVE_HOLD, LIVE_SLEEP };

/*
 * Receives of a connection that is to stand: for the WELCOME, and for a WRITE's STCRW.  On
 * iWARP their number does not matter.
 */
#define LIVE_RECVS	2

/**
 * struct live - the server, and a client of one or two connections
 * @server:  server under test
 * @release: lets the requests go on that said LIVE_HOLD or LIVE_SLEEP
 * @rouse:   lets the thread go on that has answered LIVE_SLEEP
 * @held:    requests that have come to wait for @release; written by the server's threads
 * @replied: LIVE_SLEEP requests that are answered; written by the server's threads
 * @tamed:   device that is said not to repeat registrations, though it does; NULL: none
 * @raw:     the client's connections, or NULL
 * @stall:   state of the connection that stands
 * @spoiled: pages that had been written to after they were given back, before the case
 * @given:   pages that had been given back, before the case
 * @kept_before: the knob keep_pages before the case
 *
 * The case's thread owns all of it, but for the counters.
 */
struct live {
	struct rdmafs_xprt_server *server;
	struct completion release;
	struct completion rouse;
	atomic_t held;
	atomic_t replied;
	struct rxp_device *tamed;
	struct raw *raw[2];
	struct stall stall;
	u32 spoiled;
	u32 given;
	u32 kept_before;
};

static void live_handle(struct rdmafs_xprt_req *req, void *ctx)
{
	struct live *l = ctx;
	struct iov_iter dest;
	u32 what = 0, len = 0;

	memcpy(&what, req->body, min_t(u32, sizeof(what), req->body_len));
	if (what == LIVE_HOLD || what == LIVE_SLEEP) {
		atomic_inc(&l->held);
		wait_for_completion(&l->release);
	}
	if (req->read_max && !rdmafs_xprt_req_room(req, req->read_max, &dest))
		len = iov_iter_zero(req->read_max, &dest);
	rdmafs_xprt_req_reply(req, 8, len, RDMAFS_REPLY_NOCACHE);
	if (what == LIVE_SLEEP) {
		atomic_inc(&l->replied);
		wait_for_completion(&l->rouse);
	}
}

static int live_session_open(struct rdmafs_xprt_session *s, void *ctx)
{
	return 0;
}

static void live_session_close(struct rdmafs_xprt_session *s, void *ctx)
{
}

static const struct rdmafs_xprt_service live_service = {
	.session_open	= live_session_open,
	.session_close	= live_session_close,
	.handle		= live_handle,
};

/* ------------------------------------------------------------------- the client */

/* Open connection @i of @count: 0 of a new session, others of the session of connection 0. */
static struct raw *live_open(struct kunit *test, u32 i, u32 count, u32 recvs)
{
	struct rxp_wire_hello hello = {};
	struct live *l = test->priv;
	struct rxp_wire_cm cm;
	struct raw *raw;

	raw_fill_cm(&cm);
	cm.count = count;
	cm.index = i;
	if (i) {
		cm.incarnation = l->raw[0]->welcome.incarnation;
		memcpy(cm.session, l->raw[0]->welcome.session, sizeof(cm.session));
		memcpy(hello.session, cm.session, sizeof(hello.session));
		hello.boot = l->raw[0]->welcome.boot;
		memcpy(hello.client, l->raw[0]->client, sizeof(hello.client));
	} else {
		get_random_bytes(hello.client, sizeof(hello.client));
	}
	raw = raw_open_standing(LIVE_PORT, &cm, recvs);
	KUNIT_ASSERT_FALSE(test, IS_ERR(raw));
	l->raw[i] = raw;
	memcpy(raw->client, hello.client, sizeof(raw->client));
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_HELLO, 0, 0, &hello,
				      sizeof(hello), 0), 0);
	raw->welcome = *(struct rxp_wire_welcome *)
		raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_WELCOME, 0, 0);
	KUNIT_ASSERT_EQ(test, le32_to_cpu(raw->welcome.status),
			i ? RXP_WELCOME_BOUND : RXP_WELCOME_NEW);
	return raw;
}

static int live_call(struct raw *raw, u16 slot, u32 seq, u32 what, u16 flags, u32 bulk)
{
	const u32 body[] = { what, 0 };
	const struct rxp_frame f = {
		.slot = slot, .seq = seq, .flags = flags, .body = body, .body_len = sizeof(body),
		.bulk.length = bulk,
	};

	return raw_send_call(raw, &f);
}

static int live_tag(struct raw *raw, u8 op, u16 slot, u32 seq, u32 len, u32 rkey, u32 inv)
{
	struct rxp_wire_tag tag = { .length = cpu_to_le32(len), .rkey = cpu_to_le32(rkey) };

	return raw_say(raw, RXP_CONTROL, op, slot, seq, &tag, sizeof(tag), inv);
}

/* ------------------------------------- the server's state, which no message tells */

static struct rdmafs_xprt_session *live_session(struct live *l)
{
	struct rdmafs_xprt_session *s;

	spin_lock_bh(&l->server->lock);
	s = list_first_entry(&l->server->sessions, struct rdmafs_xprt_session, link);
	spin_unlock_bh(&l->server->lock);
	return s;
}

/* A key, where its memory is registered or will be, and the state of its MR. */
struct live_key {
	u32 rkey;
	u64 iova;
	enum rxp_mr_state state;
};

static void live_key_of(struct live_key *key, const struct rxp_mr *mr)
{
	key->rkey = mr->mr->rkey;
	key->iova = mr->mr->iova;
	key->state = READ_ONCE(mr->state);
}

static bool live_granted(struct rdmafs_xprt_session *s, struct live_key *key)
{
	struct rxs_grant *g;

	spin_lock_bh(&s->lock);
	g = list_first_entry_or_null(&s->grants, struct rxs_grant, link);
	if (g)
		live_key_of(key, g->mr);
	spin_unlock_bh(&s->lock);
	return g;
}

static bool live_asked(struct rdmafs_xprt_session *s, u16 slot, struct live_key *key)
{
	struct rxs_req *req;
	bool there;

	spin_lock_bh(&s->lock);
	req = s->slots[slot].req;
	there = req && req->state == RXS_REQ_WAITING;
	if (there)
		live_key_of(key, req->mr);
	spin_unlock_bh(&s->lock);
	return there;
}

static u64 live_returned(struct rdmafs_xprt_session *s)
{
	u64 nr = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		nr += per_cpu_ptr(s->stats.v, cpu)[RXP_STAT_grants_returned];
	return nr;
}

static u32 live_grants(struct rdmafs_xprt_session *s)
{
	u32 nr;

	spin_lock_bh(&s->lock);
	nr = s->nr_grants;
	spin_unlock_bh(&s->lock);
	return nr;
}

#define live_wait(test, what)							\
do {										\
	unsigned long end = jiffies + RAW_WAIT;					\
	bool there = false;							\
										\
	while (!there && time_before(jiffies, end)) {				\
		usleep_range(1000, 2000);					\
		there = (what);							\
	}									\
	KUNIT_ASSERT_TRUE(test, there);						\
} while (0)

/*
 * Are the answers to the calls in these slots, up to the last slot, in the connection's send
 * queue?
 */
static bool live_answered(struct rdmafs_xprt_session *s, u16 slot, u16 step)
{
	const struct rxs_req *req;
	bool answered = true;

	spin_lock_bh(&s->lock);
	for (; slot < RAW_SLOTS; slot += step) {
		req = s->slots[slot].req;
		answered &= s->slots[slot].seq == 1 && (!req || req->state == RXS_REQ_ANSWERED);
	}
	spin_unlock_bh(&s->lock);
	return answered;
}

/*
 * From now on no message reaches @raw: neither the answers to these calls, nor those that the
 * server queues behind them.  The calls are in the upper half of the slots.
 */
static void live_stall(struct kunit *test, struct raw *raw, u32 recvs, u16 first, u16 step)
{
	struct live *l = test->priv;
	u32 bytes = 0;
	u16 slot;

	KUNIT_ASSERT_EQ(test, stall_begin(&l->stall, raw, recvs), 0);
	for (slot = RAW_SLOTS / 2 + first; slot < RAW_SLOTS; slot += step, bytes += LIVE_FILL)
		KUNIT_ASSERT_EQ(test, live_call(raw, slot, 1, LIVE_ECHO, RXP_F_READ, LIVE_FILL), 0);
	KUNIT_ASSERT_GE(test, bytes, STALL_BYTES);
	/*
	 * Without this, the next messages could overtake answers that are to stand in front of
	 * them.
	 */
	live_wait(test, live_answered(live_session(l), RAW_SLOTS / 2 + first, step));
}

/* Pretend that the session has @nr more grants, or fewer. */
static void live_grants_add(struct rdmafs_xprt_session *s, int nr)
{
	spin_lock_bh(&s->lock);
	s->nr_grants += nr;
	spin_unlock_bh(&s->lock);
}

/*
 * Write to the memory as soon as the server has announced it, which it does behind the
 * registration, until the device ends the connection, as it must.
 */
static void live_write(struct kunit *test, struct raw *raw, const struct live_key *key, u8 type)
{
	unsigned long end = jiffies + RAW_WAIT;
	struct rxp_wire_hdr *hdr;

	do
		hdr = raw_next(raw);
	while (hdr && (hdr->type != type || le16_to_cpu(hdr->slot) != 1));
	while (!READ_ONCE(raw->cut) && time_before(jiffies, end)) {
		memset(raw->send->buf, 'W', 64);
		if (raw_write(raw, key->iova, key->rkey, 64))
			break;
	}
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(raw));
}

/* ------------------------------------------------------------------------ cases */

/*
 * A grant is on its way in a send queue that stands.  The client returns it on the other
 * connection, and writes to it when it comes.  The server must not give the pages back before
 * the registration has been executed and invalidated.
 */
static void live_return_guessed(struct kunit *test)
{
	struct raw *first = live_open(test, 0, 2, RAW_RECVS);
	struct raw *second = live_open(test, 1, 2, LIVE_RECVS);
	struct live *l = test->priv;
	struct rdmafs_xprt_session *s = live_session(l);
	struct rxp_wire_tag tag;
	struct live_key key = {};
	u32 rkey, i;

	KUNIT_ASSERT_EQ(test, live_call(second, 1, 1, LIVE_HOLD, RXP_F_WRITE, LIVE_LEN), 0);
	tag = *(struct rxp_wire_tag *)raw_expect(test, second, RXP_NOTIFY, RXP_NOTIFY_STCRW, 1, 1);
	rkey = le32_to_cpu(tag.rkey);
	KUNIT_ASSERT_EQ(test, live_tag(second, RXP_CONTROL_DATA, 1, 1, LIVE_LEN, rkey, rkey), 0);
	live_wait(test, atomic_read(&l->held) == 1);
	live_stall(test, second, LIVE_RECVS, 1, 2);
	complete_all(&l->release);
	live_wait(test, live_granted(s, &key));
	KUNIT_ASSERT_EQ(test, key.state, RXP_MR_REGISTERING);

	for (i = 1; i <= 8; i++)
		raw_return(first, key.rkey ^ i);
	raw_return(first, key.rkey);
	/*
	 * The PONG shows that the server has handled the RETURNs: it takes the messages of a
	 * connection in order.
	 */
	raw_say(first, RXP_CONTROL, RXP_CONTROL_PING, 0, 0, NULL, 0, 0);
	raw_expect(test, first, RXP_NOTIFY, RXP_NOTIFY_PONG, 0, 0);
	KUNIT_EXPECT_EQ(test, live_returned(s), 1);
	/* The grant counts until it is invalid, and it is not even valid yet. */
	KUNIT_EXPECT_EQ(test, live_grants(s), 1);

	KUNIT_ASSERT_EQ(test, stall_end(&l->stall), 0);
	live_write(test, second, &key, RXP_REPLY);
	live_wait(test, live_grants(s) == 0);
}

/*
 * A WRITE's sink is on its way in a send queue that stands.  The client sends DATA for it
 * already, in a message that invalidates its key.  As the client may not have more grants the
 * server gives the sink back when the request has been served: only after the registration has
 * been executed and invalidated.
 */
static void live_data_guessed(struct kunit *test)
{
	struct raw *raw = live_open(test, 0, 1, 1);
	struct live *l = test->priv;
	struct rdmafs_xprt_session *s = live_session(l);
	struct live_key key = {};

	live_grants_add(s, RXP_WIRE_GRANTS);
	live_stall(test, raw, 1, 0, 1);
	KUNIT_ASSERT_EQ(test, live_call(raw, 1, 1, LIVE_ECHO, RXP_F_WRITE, LIVE_LEN), 0);
	live_wait(test, live_asked(s, 1, &key));
	KUNIT_ASSERT_EQ(test, key.state, RXP_MR_REGISTERING);
	/*
	 * A device that checks refuses the invalidation, unless it has executed the
	 * registration, which it may execute once more then.
	 */
	live_tag(raw, RXP_CONTROL_DATA, 1, 1, LIVE_LEN, key.rkey, key.rkey);
	stall_end(&l->stall);
	live_write(test, raw, &key, RXP_NOTIFY);
	live_wait(test, !live_asked(s, 1, &key));
	live_grants_add(s, -RXP_WIRE_GRANTS);
}

/* The state of the MR of the sink of the request in slot 1. */
static enum rxp_mr_state live_sink(struct rdmafs_xprt_session *s)
{
	enum rxp_mr_state state = RXP_MR_NR_STATES;

	spin_lock_bh(&s->lock);
	if (s->slots[1].req && s->slots[1].req->mr)
		state = READ_ONCE(s->slots[1].req->mr->state);
	spin_unlock_bh(&s->lock);
	return state;
}

/*
 * A WRITE's DATA has come, which invalidates its key, before the device has reported that the
 * STCRW was sent.  Then it reports that it was not, as the queue pair has failed.  The key's
 * state is unknown now, and the MR must be deregistered, which sleeps, when the request is
 * over.  That is when its reply is posted, from the plug of a thread that is about to sleep:
 * the MR must not be deregistered there.
 */
static void live_sink_lost(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct raw *raw = live_open(test, 0, 1, 1);
	struct live *l = test->priv;
	struct rdmafs_xprt_session *s = live_session(l);
	struct rxp_conn *conn = s->conns[0];
	struct live_key key = {};

	if (raw_iwarp(raw))
		kunit_skip(test, "on iWARP no such key is believed to be invalid");
	/* Devices that do not repeat registrations are hardware: pretend that this one is. */
	if (conn->rdev->quirks.repeats_reg) {
		l->tamed = conn->rdev;
		l->tamed->quirks.repeats_reg = false;
	}
	live_grants_add(s, RXP_WIRE_GRANTS);
	KUNIT_ASSERT_EQ(test, live_call(raw, 1, 1, LIVE_SLEEP, RXP_F_WRITE, LIVE_LEN), 0);
	live_wait(test, live_asked(s, 1, &key));
	KUNIT_ASSERT_EQ(test, key.state, RXP_MR_REGISTERING);
	KUNIT_ASSERT_EQ(test, live_tag(raw, RXP_CONTROL_DATA, 1, 1, LIVE_LEN, key.rkey, key.rkey),
			0);
	live_wait(test, atomic_read(&l->held) == 1);
	KUNIT_ASSERT_EQ(test, live_sink(s), RXP_MR_RETURNED);

	/* No connection of the case before is left, which would be held as well. */
	live_wait(test, READ_ONCE(l->server->nr_conns) == 1);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold conn_ends 1"), 0);
	KUNIT_ASSERT_EQ(test, ib_modify_qp(conn->qp, &attr, IB_QP_STATE), 0);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("conn_ends", 1, 20));
	live_wait(test, live_sink(s) == RXP_MR_UNKNOWN);
	/*
	 * The connection is still bound, so the reply is put in the thread's plug until it
	 * sleeps.  Posting the reply is the last step of the request.
	 */
	complete_all(&l->release);
	live_wait(test, atomic_read(&l->replied) == 1);
	live_wait(test, !READ_ONCE(conn->plugged));
	live_grants_add(s, -RXP_WIRE_GRANTS);
	complete_all(&l->rouse);
	KUNIT_EXPECT_EQ(test, rdmafs_points_command("reset"), 0);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(raw));
}

/*
 * The client lets replies to READs in all slots wait for an STCRW, and sends PINGs.  The server
 * must end the connection: the replies take memory.
 */
static void live_room_withheld(struct kunit *test)
{
	struct raw *raw = live_open(test, 0, 1, RAW_RECVS);
	unsigned long end = jiffies + 3 * RAW_WAIT;
	struct raw_msg *m = &raw->recv[0];
	u16 slot;

	KUNIT_ASSERT_EQ(test, raw_repost(raw, m), 0);
	for (slot = 0; slot < RAW_SLOTS; slot++)
		KUNIT_ASSERT_EQ(test, live_call(raw, slot, 1, LIVE_ECHO, RXP_F_READ, LIVE_LEN), 0);
	while (!READ_ONCE(raw->cut) && time_before(jiffies, end)) {
		raw_say(raw, RXP_CONTROL, RXP_CONTROL_PING, 0, 0, NULL, 0, 0);
		while (atomic_read(&raw->arrived) > raw->taken) {
			m = raw_next_msg(raw);
			raw_repost(raw, m);
		}
		msleep(100);
	}
	KUNIT_EXPECT_TRUE_MSG(test, raw->cut, "it has all that it wants");
}

/*
 * A client closes its TCP window, and sends PINGs.  TCP waits for the window as long as its
 * peer lives, and data that cannot be sent also keeps the end of the stream from the client.
 * The server must end the connection after @held_ms all the same.
 */
static void live_window_shut(struct kunit *test)
{
	struct raw *raw = live_open(test, 0, 1, RAW_RECVS);
	struct rdmafs_xprt_limits limits = raw_limits();
	unsigned long end = jiffies + RAW_WAIT;
	struct live *l = test->priv;
	struct rxp_wire_tag tag;
	u32 rkey;

	if (!raw_iwarp(raw))
		kunit_skip(test, "for iWARP alone");
	live_wait(test, READ_ONCE(l->server->nr_conns) == 1);
	/* The client has a grant, whose pages are given back when its connection ends. */
	KUNIT_ASSERT_EQ(test, live_call(raw, 1, 1, LIVE_ECHO, RXP_F_WRITE, LIVE_LEN), 0);
	tag = *(struct rxp_wire_tag *)raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_STCRW, 1, 1);
	rkey = le32_to_cpu(tag.rkey);
	KUNIT_ASSERT_EQ(test, live_tag(raw, RXP_CONTROL_DATA, 1, 1, LIVE_LEN, rkey, rkey), 0);
	raw_expect(test, raw, RXP_REPLY, 0, 1, 1);
	live_stall(test, raw, RAW_RECVS, 0, 1);
	limits.held_ms = 100;
	rdmafs_xprt_set_limits(l->server, &limits);
	while (READ_ONCE(l->server->nr_conns) && time_before(jiffies, end)) {
		raw_say(raw, RXP_CONTROL, RXP_CONTROL_PING, 0, 0, NULL, 0, 0);
		msleep(20);
	}
	KUNIT_EXPECT_EQ_MSG(test, l->server->nr_conns, 0, "what it does not take is kept");
	KUNIT_EXPECT_EQ(test, l->server->held_dropped, 1);
}

static int live_init(struct kunit *test)
{
	struct live *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	struct rdmafs_xprt_limits limits = raw_limits();
	struct raw *raw;

	KUNIT_ASSERT_NOT_NULL(test, l);
	init_completion(&l->release);
	init_completion(&l->rouse);
	l->kept_before = rdmafs_test_knobs.keep_pages;
	l->spoiled = rdmafs_points_spoiled(&l->given);
	l->server = rdmafs_xprt_listen(&init_net, LIVE_PORT, &live_service, l, &limits);
	if (IS_ERR(l->server))
		kunit_skip(test, "can't listen");
	raw = raw_open(LIVE_PORT);
	if (IS_ERR(raw)) {
		rdmafs_xprt_unlisten(l->server);
		kunit_skip(test, "no RDMA device at %s", raw_address_name());
	}
	raw_close(raw);
	test->priv = l;
	WRITE_ONCE(rdmafs_test_knobs.keep_pages, 1);
	return 0;
}

static void live_exit(struct kunit *test)
{
	struct live *l = test->priv;
	u32 given, i;

	if (!l)
		return;
	complete_all(&l->release);
	complete_all(&l->rouse);
	rdmafs_points_command("reset");
	stall_end(&l->stall);
	for (i = 0; i < ARRAY_SIZE(l->raw); i++)
		if (l->raw[i])
			raw_close(l->raw[i]);
	if (l->tamed)
		l->tamed->quirks.repeats_reg = true;
	rdmafs_xprt_unlisten(l->server);
	KUNIT_EXPECT_EQ_MSG(test, rdmafs_points_spoiled(&given), l->spoiled,
			    "pages were written after they had been given back");
	if (test->status != KUNIT_SKIPPED)
		KUNIT_EXPECT_GT(test, given, l->given);
	WRITE_ONCE(rdmafs_test_knobs.keep_pages, l->kept_before);
}

static struct kunit_case live_cases[] = {
	KUNIT_CASE(live_return_guessed),
	KUNIT_CASE(live_data_guessed),
	KUNIT_CASE(live_sink_lost),
	KUNIT_CASE_SLOW(live_room_withheld),
	KUNIT_CASE_SLOW(live_window_shut),
	{}
};

static struct kunit_suite live_suite = {
	.name = "rdmafs_xprt_hostile_live",
	.init = live_init,
	.exit = live_exit,
	.test_cases = live_cases,
};

kunit_test_suite(live_suite);
