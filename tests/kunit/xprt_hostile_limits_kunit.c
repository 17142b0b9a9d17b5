// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_hostile_limits: a client in bare verbs that wants all connections,
 * sessions and message buffers of a server, before the server knows which client it is.
 * Each case sets one limit.  The client goes up to it, must be refused beyond it, and must be
 * let in again when it has given something back.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include "transport/client/client.h"
#include "transport/server/server.h"
#include "xprt_limits.h"

/* Connections of one client. */
static void limits_client_connections(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	u32 i;

	KUNIT_EXPECT_EQ(test, l.client_connections, 64);
	l.client_connections = 4;
	limits_start(test, &l);
	for (i = 0; i < 4; i++)
		limits_open(test);
	limits_refused(test, RXP_REJECT_LIMIT);
	limits_leave(test, 3);
	limits_open(test);
	limits_refused(test, RXP_REJECT_LIMIT);
}

/* Connections without a session: a connection that is bound makes room for another. */
static void limits_unbound_connections(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct raw *first;

	KUNIT_EXPECT_EQ(test, l.unbound_connections, 256);
	l.unbound_connections = 3;
	limits_start(test, &l);
	first = limits_open(test);
	limits_open(test);
	limits_open(test);
	limits_refused(test, RXP_REJECT_RESOURCES);
	KUNIT_EXPECT_EQ(test, limits_hello(test, first), RXP_WELCOME_NEW);
	limits_open(test);
	limits_refused(test, RXP_REJECT_RESOURCES);
}

/*
 * A connection that does not say HELLO in time must be dropped.  A connection that is bound,
 * and was opened when the time was longer, must stay.
 */
static void limits_unbound_time(struct kunit *test)
{
	struct limits *t = test->priv;
	struct rdmafs_xprt_limits l = limits_default();
	struct raw *bound, *silent;

	limits_start(test, &l);
	bound = limits_open(test);
	KUNIT_EXPECT_EQ(test, limits_hello(test, bound), RXP_WELCOME_NEW);
	rdmafs_xprt_limits_default(&l);
	KUNIT_EXPECT_EQ(test, l.unbound_ms, 5000);
	rdmafs_xprt_set_limits(t->server, &l);
	silent = limits_open(test);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(silent));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(bound->cut));
	KUNIT_EXPECT_EQ(test, t->server->unbound_dropped, 1);
}

/* Sessions of one client: one that ends makes room for another. */
static void limits_client_sessions(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	struct raw *raw;

	KUNIT_EXPECT_EQ(test, l.client_sessions, 16);
	l.client_sessions = 2;
	limits_start(test, &l);
	KUNIT_EXPECT_EQ(test, limits_hello(test, limits_open(test)), RXP_WELCOME_NEW);
	raw = limits_open(test);
	KUNIT_EXPECT_EQ(test, limits_hello(test, raw), RXP_WELCOME_NEW);
	KUNIT_EXPECT_EQ(test, limits_hello(test, limits_open(test)), RXP_WELCOME_LIMIT);
	raw_say(raw, RXP_CONTROL, RXP_CONTROL_BYE, 0, 0, NULL, 0, 0);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(raw));
	for (unsigned long end = jiffies + RAW_WAIT;
	     READ_ONCE(t->server->nr_sessions) > 1 && time_before(jiffies, end);)
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, limits_hello(test, limits_open(test)), RXP_WELCOME_NEW);
}

/* Sessions of all clients. */
static void limits_sessions(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();

	l.sessions = 1;
	limits_start(test, &l);
	KUNIT_EXPECT_EQ(test, limits_hello(test, limits_open(test)), RXP_WELCOME_NEW);
	KUNIT_EXPECT_EQ(test, limits_hello(test, limits_open(test)), RXP_WELCOME_REFUSED);
}

/* Two hosts of an IPv6 network must be two clients. */
static void limits_network(struct kunit *test)
{
	static const char *const hosts[] = { "fd09::1", "fd09::2" };
	struct rdmafs_xprt_limits l = limits_default();
	u32 i;

	l.client_sessions = 1;
	limits_start(test, &l);
	for (i = 0; i < ARRAY_SIZE(hosts); i++) {
		KUNIT_ASSERT_EQ(test, raw_route(hosts[i], "fd09::1"), 0);
		KUNIT_EXPECT_EQ(test, limits_hello(test, limits_open(test)), RXP_WELCOME_NEW);
	}
	for (i = 0; i < ARRAY_SIZE(hosts); i++) {
		KUNIT_ASSERT_EQ(test, raw_route(hosts[i], "fd09::1"), 0);
		KUNIT_EXPECT_EQ(test, limits_hello(test, limits_open(test)), RXP_WELCOME_LIMIT);
	}
}

/* The source for which the last connection counts. */
static struct rdmafs_xprt_source limits_source(struct kunit *test)
{
	struct limits *t = test->priv;
	struct rdmafs_xprt_source source;

	spin_lock_bh(&t->server->lock);
	source = list_last_entry(&t->server->conns, struct rxs_conn, link)->account->source;
	spin_unlock_bh(&t->server->lock);
	return source;
}

/* An honest client must count for its own address, over IPv4 and over IPv6. */
static void limits_honest(struct kunit *test)
{
	static const u8 v6[] = { 0xfd, 0x09, [15] = 1 };
	struct rdmafs_xprt_limits l = limits_default();
	struct rdmafs_xprt_source want, have;
	struct sockaddr_in addr;

	limits_start(test, &l);
	limits_open(test);
	memset(&want, 0, sizeof(want));
	want.family = AF_INET;
	KUNIT_ASSERT_EQ(test, raw_address(LIMITS_PORT, &addr), 0);
	memcpy(want.addr, &addr.sin_addr, sizeof(addr.sin_addr));
	have = limits_source(test);
	KUNIT_EXPECT_MEMEQ(test, &have, &want, sizeof(want));

	limits_other(test);
	limits_open(test);
	memset(&want, 0, sizeof(want));
	want.family = AF_INET6;
	memcpy(want.addr, v6, sizeof(v6));
	have = limits_source(test);
	KUNIT_EXPECT_MEMEQ(test, &have, &want, sizeof(want));
}

/*
 * A client writes another address into each request.  All of its connections must count for one
 * client, or it could have as many as it likes.
 */
static void limits_pretended(struct kunit *test)
{
	static const char *const claims[] = { "10.9.0.76", "10.9.0.77", "10.9.0.78" };
	struct rdmafs_xprt_limits l = limits_default();
	struct raw *raw;
	u16 reason;
	u32 i;

	l.client_connections = ARRAY_SIZE(claims);
	limits_start(test, &l);
	raw = limits_open(test);
	if (raw_iwarp(raw))
		kunit_skip(test, "on iWARP TCP says where it comes from");
	for (i = 0; i < ARRAY_SIZE(claims) - 1; i++) {
		KUNIT_ASSERT_EQ(test, raw_pretend(claims[i]), 0);
		limits_open(test);
	}
	KUNIT_ASSERT_EQ(test, raw_pretend(claims[i]), 0);
	KUNIT_EXPECT_NULL(test, limits_try(test, RAW_SLOTS, &reason));
	KUNIT_EXPECT_EQ(test, reason, RXP_REJECT_LIMIT);
	/* Another client has a part of its own. */
	raw_pretend(NULL);
	limits_other(test);
	limits_open(test);
}

/*
 * A client has taken all places of unbound connections.  Its oldest must be dropped for a
 * client that has fewer, until both have as many, and no other connection.
 */
static void limits_unbound_share(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	struct raw *first[4];
	u32 i;

	l.unbound_connections = ARRAY_SIZE(first);
	limits_start(test, &l);
	for (i = 0; i < ARRAY_SIZE(first); i++)
		first[i] = limits_open(test);
	limits_refused(test, RXP_REJECT_RESOURCES);
	KUNIT_EXPECT_EQ(test, t->server->unbound_dropped, 0);
	limits_other(test);
	limits_open(test);
	/*
	 * This is counted before the new connection is let in, so a connection that is dropped
	 * later would not be counted here.
	 */
	KUNIT_EXPECT_EQ(test, t->server->unbound_dropped, 1);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(first[0]));
	KUNIT_EXPECT_EQ(test, limits_hello(test, limits_open(test)), RXP_WELCOME_NEW);
	KUNIT_EXPECT_EQ(test, t->server->unbound_dropped, 2);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(first[1]));
	/* One of these two is bound and counts no more, so there is a place. */
	limits_open(test);
	limits_refused(test, RXP_REJECT_RESOURCES);
	KUNIT_EXPECT_EQ(test, t->server->unbound_dropped, 2);
	KUNIT_EXPECT_EQ(test, READ_ONCE(t->server->nr_unbound), 4);
}

/* Pretend that nothing has been received on any connection for @ms. */
static void limits_hush(struct limits *t, u32 ms)
{
	struct rxs_conn *conn;

	spin_lock_bh(&t->server->lock);
	list_for_each_entry(conn, &t->server->conns, link)
		WRITE_ONCE(conn->conn.last_rx, jiffies - msecs_to_jiffies(ms) - 1);
	spin_unlock_bh(&t->server->lock);
}

/*
 * A client has as many connections as it may, and they are silent.  A new one must replace the
 * oldest of them, but only if it is then accepted.
 */
static void limits_silent(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	struct raw *raw[3];
	u32 i;

	l.client_connections = ARRAY_SIZE(raw);
	l.unbound_ms = 20000;
	limits_start(test, &l);
	for (i = 0; i < ARRAY_SIZE(raw); i++) {
		raw[i] = limits_open(test);
		KUNIT_EXPECT_EQ(test, limits_hello(test, raw[i]), RXP_WELCOME_NEW);
	}
	limits_refused(test, RXP_REJECT_LIMIT);
	limits_hush(t, l.unbound_ms);
	/* No connection is dropped for one that is refused. */
	l.connections = ARRAY_SIZE(raw);
	rdmafs_xprt_set_limits(t->server, &l);
	limits_refused(test, RXP_REJECT_RESOURCES);
	KUNIT_EXPECT_EQ(test, t->server->silent_dropped, 0);
	l.connections = ARRAY_SIZE(raw) + 1;
	rdmafs_xprt_set_limits(t->server, &l);
	limits_open(test);
	KUNIT_EXPECT_EQ(test, t->server->silent_dropped, 1);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(raw[0]));
}

/*
 * After @ms of silence a new connection must replace @oldest, the client's oldest that counts
 * as silent by then, and no other one.
 */
static void limits_silent_goes(struct kunit *test, struct raw *oldest, u32 ms)
{
	struct limits *t = test->priv;
	u64 before = READ_ONCE(t->server->silent_dropped);
	u16 reason;

	limits_hush(t, ms);
	KUNIT_EXPECT_NOT_NULL(test, limits_try(test, RAW_SLOTS, &reason));
	/*
	 * This is counted before the new connection is let in, so a connection that is dropped
	 * later would not be counted here.
	 */
	KUNIT_EXPECT_EQ(test, t->server->silent_dropped, before + 1);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(oldest));
}

/*
 * Clients announce different heartbeats.  A connection with a slow heartbeat must not count as
 * silent so soon, but after a lease at the latest.
 */
static void limits_silent_said(struct kunit *test)
{
	static const u32 heartbeat_ms[] = { 20000, U32_MAX, 0, 1 };
	struct rdmafs_xprt_limits l = limits_default();
	struct raw *raw[ARRAY_SIZE(heartbeat_ms)];
	struct limits *t = test->priv;
	u32 i;

	l.client_connections = ARRAY_SIZE(raw);
	limits_start(test, &l);
	for (i = 0; i < ARRAY_SIZE(raw); i++) {
		t->heartbeat_ms = heartbeat_ms[i];
		raw[i] = limits_open(test);
		KUNIT_EXPECT_EQ(test, limits_hello(test, raw[i]), RXP_WELCOME_NEW);
	}
	/*
	 * All have said HELLO.  Those that come now are unbound, and some of them are dropped
	 * soon.
	 */
	l.unbound_ms = 5000;
	l.client_connections = 1;
	rdmafs_xprt_set_limits(t->server, &l);
	limits_silent_goes(test, raw[2], 6000);
	limits_silent_goes(test, raw[3], 6000);
	limits_silent_goes(test, raw[0], 20000);
	limits_silent_goes(test, raw[1], RXP_LEASE_MS);
}

static void limits_mount(struct kunit *test)
{
	static const struct rdmafs_xprt_client_ops ops = {};
	struct rdmafs_xprt_params params = {
		.net = &init_net,
		.slots = RAW_SLOTS,
		.conns = 1,
		.connect_ms = 60000,
		.quota = { .max = RPOL_NO_MAX, .weight = RPOL_WEIGHT_DEFAULT },
	};
	struct limits *t = test->priv;

	raw_address(LIMITS_PORT, (struct sockaddr_in *)&params.addr);
	t->mount = rdmafs_xprt_connect(&params, &ops, t);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->mount));
}

/* A mount must announce its own heartbeat. */
static void limits_silent_mount(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	u32 said;

	limits_start(test, &l);
	limits_mount(test);
	spin_lock_bh(&t->server->lock);
	said = le32_to_cpu(list_last_entry(&t->server->conns, struct rxs_conn,
					   link)->conn.cm.heartbeat_ms);
	spin_unlock_bh(&t->server->lock);
	KUNIT_EXPECT_EQ(test, said, 5000);
}

struct limits_asked {
	struct rdmafs_xprt_call call;
	u8 req[8];
	u8 reply[8];
	struct completion done;
};

static void limits_answered(struct rdmafs_xprt_call *call)
{
	complete(&container_of(call, struct limits_asked, call)->done);
}

/* The number of messages that the mount had received at its last heartbeat. */
static u64 limits_seen(struct limits *t)
{
	u64 seen;

	spin_lock_bh(&t->mount->lock);
	seen = t->mount->nr_conns ? rxc_conn(t->mount->conns[0])->seen : 0;
	spin_unlock_bh(&t->mount->lock);
	return seen;
}

/* Let one call of the mount be answered, and wait for its next heartbeat. */
static void limits_beat(struct kunit *test)
{
	struct limits *t = test->priv;
	unsigned long end = jiffies + RAW_WAIT;
	u64 seen = limits_seen(t);

	complete(&t->serve);
	while (limits_seen(t) == seen && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_NE(test, limits_seen(t), seen);
}

/* Has nothing been received on the first connection since limits_hush()? */
static bool limits_hushed(struct limits *t, u32 ms)
{
	struct rxs_conn *conn;
	bool hushed;

	spin_lock_bh(&t->server->lock);
	conn = list_first_entry_or_null(&t->server->conns, struct rxs_conn, link);
	hushed = conn && time_after(jiffies, (unsigned long)READ_ONCE(conn->conn.last_rx) +
					     msecs_to_jiffies(ms));
	spin_unlock_bh(&t->server->lock);
	return hushed;
}

/*
 * A mount gets answers and sends no more calls.  It must still tell the server that it lives,
 * with PINGs, so that it is not dropped as silent.
 */
static void limits_silent_answered(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	struct limits_asked *c;
	u32 i, nr = 8;
	int ret;

	c = kunit_kcalloc(test, nr, sizeof(*c), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);
	l.client_connections = 1;
	/* More than the heartbeats take. */
	l.unbound_ms = 20000;
	t->holds = true;
	limits_start(test, &l);
	limits_mount(test);
	for (i = 0; i < nr; i++) {
		c[i].call.req = c[i].req;
		c[i].call.req_len = sizeof(c[i].req);
		c[i].call.reply = c[i].reply;
		c[i].call.reply_max = sizeof(c[i].reply);
		c[i].call.flags = RDMAFS_CALL_IDEMPOTENT;
		c[i].call.done = limits_answered;
		init_completion(&c[i].done);
		ret = rdmafs_xprt_submit(t->mount, &c[i].call);
		KUNIT_EXPECT_EQ(test, ret, 0);
		if (ret)
			complete(&c[i].done);
	}
	/* This heartbeat has seen that calls were sent. */
	limits_beat(test);
	limits_hush(t, l.unbound_ms);
	for (i = 0; i < nr - 2 && limits_hushed(t, l.unbound_ms); i++)
		limits_beat(test);
	limits_refused(test, RXP_REJECT_LIMIT);
	KUNIT_EXPECT_EQ(test, t->server->silent_dropped, 0);
	complete_all(&t->serve);
	/* If the mount was cut off it finds no place any more. */
	rdmafs_xprt_abort(t->mount);
	for (i = 0; i < nr; i++)
		wait_for_completion(&c[i].done);
}

/* Slots and size of receives of the connection that was made last. */
static void limits_last(struct kunit *test, u32 *slots, u32 *recv_size)
{
	struct limits *t = test->priv;
	struct rxp_conn *conn;

	spin_lock_bh(&t->server->lock);
	conn = &list_last_entry(&t->server->conns, struct rxs_conn, link)->conn;
	*slots = conn->slots;
	*recv_size = conn->recv_size;
	spin_unlock_bh(&t->server->lock);
}

/*
 * A client gets as many slots as it asks for, up to the administrator's limit, which stays as it
 * was when the server began: a session whose client came back to another limit would be lost.
 */
static void limits_slots(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	u32 slots, size;
	u16 reason;

	KUNIT_EXPECT_EQ(test, l.slots, 128);
	limits_start(test, &l);
	KUNIT_ASSERT_NOT_NULL(test, limits_try(test, RDMAFS_XPRT_SLOTS_MAX, &reason));
	limits_last(test, &slots, &size);
	KUNIT_EXPECT_EQ(test, slots, 128);
	KUNIT_ASSERT_NOT_NULL(test, limits_try(test, 20, &reason));
	limits_last(test, &slots, &size);
	KUNIT_EXPECT_EQ(test, slots, 20);
	l.slots = 16;
	rdmafs_xprt_set_limits(t->server, &l);
	KUNIT_ASSERT_NOT_NULL(test, limits_try(test, RDMAFS_XPRT_SLOTS_MAX, &reason));
	limits_last(test, &slots, &size);
	KUNIT_EXPECT_EQ(test, slots, 128);
}

/*
 * Wait until message buffers take @bytes: a connection's are freed after it is no longer
 * counted.
 */
static void limits_wait_ring(struct kunit *test, u64 bytes)
{
	struct limits *t = test->priv;
	unsigned long end = jiffies + RAW_WAIT;

	while (READ_ONCE(t->server->budget->ring) != bytes && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, t->server->budget->ring, bytes);
}

/*
 * As many connections as the message buffers allow must be accepted, whatever the other limits
 * are.
 */
static void limits_rings(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	u32 fit = SZ_1M / (RAW_RECVS * RXP_MSG_MAX), i;

	l.ring_mib = 1;
	l.large_mib = 0;
	l.client_share = 100;
	limits_start(test, &l);
	for (i = 0; i < fit; i++)
		limits_open(test);
	limits_refused(test, RXP_REJECT_RESOURCES);
	/* Nor is there room for a session's buffers. */
	KUNIT_EXPECT_EQ(test, limits_hello(test, ((struct limits *)test->priv)->raw[0]),
			RXP_WELCOME_REFUSED);
	limits_leave(test, fit - 1);
	limits_wait_ring(test, (fit - 1) * RAW_RECVS * RXP_MSG_MAX);
	limits_open(test);
	limits_refused(test, RXP_REJECT_RESOURCES);
}

/*
 * A client must get its share of the message buffers that others leave, and another client its
 * share of the rest.
 */
static void limits_ring_share(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	u32 fit = SZ_4M / (RAW_RECVS * RXP_MSG_MAX), i, own;

	l.ring_mib = 4;
	l.large_mib = 0;
	KUNIT_EXPECT_EQ(test, l.client_share, 25);
	limits_start(test, &l);
	own = fit / 4;
	KUNIT_ASSERT_LT(test, own + 2, LIMITS_MAX);
	for (i = 0; i < own; i++)
		limits_open(test);
	limits_refused(test, RXP_REJECT_RESOURCES);
	limits_other(test);
	own = (SZ_4M - own * RAW_RECVS * RXP_MSG_MAX) / 4 / (RAW_RECVS * RXP_MSG_MAX);
	KUNIT_EXPECT_GE(test, own, 1);
	for (i = 0; i < own; i++)
		limits_open(test);
	limits_refused(test, RXP_REJECT_RESOURCES);
}

struct limits_burst {
	struct work_struct work;
	struct raw *raw;
};

static void limits_burst_work(struct work_struct *work)
{
	struct limits_burst *b = container_of(work, struct limits_burst, work);

	b->raw = raw_open(LIMITS_PORT);
}

static void limits_need_large(struct kunit *test)
{
	bool iwarp = raw_iwarp(limits_open(test));

	limits_leave(test, 0);
	limits_wait_ring(test, 0);
	if (iwarp)
		kunit_skip(test, "on iWARP all receives are small");
}

/*
 * Connections that come at the same time must not get more large receives than if they came
 * one by one.
 */
static void limits_large_burst(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	struct limits_burst b[8];
	struct rxs_conn *conn;
	u64 large = 0;
	u32 i;

	l.large_mib = 4;
	limits_start(test, &l);
	limits_need_large(test);
	for (i = 0; i < ARRAY_SIZE(b); i++) {
		INIT_WORK_ONSTACK(&b[i].work, limits_burst_work);
		queue_work(system_unbound_wq, &b[i].work);
	}
	for (i = 0; i < ARRAY_SIZE(b); i++) {
		flush_work(&b[i].work);
		destroy_work_on_stack(&b[i].work);
		KUNIT_EXPECT_FALSE(test, IS_ERR(b[i].raw));
		if (!IS_ERR(b[i].raw))
			t->raw[t->nr++] = b[i].raw;
	}
	spin_lock_bh(&t->server->lock);
	list_for_each_entry(conn, &t->server->conns, link)
		large += conn->large_charged;
	spin_unlock_bh(&t->server->lock);
	KUNIT_EXPECT_GT(test, large, 0);
	KUNIT_EXPECT_LE(test, large, SZ_1M);
}

/*
 * The first connection must not get all memory for large receives: a client may have a quarter
 * at most.
 */
static void limits_large(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	u32 slots, size;

	l.large_mib = 4;
	limits_start(test, &l);
	limits_need_large(test);
	limits_open(test);
	limits_last(test, &slots, &size);
	KUNIT_EXPECT_EQ(test, size, rounddown(SZ_1M / RAW_RECVS, 1024));
	limits_open(test);
	limits_last(test, &slots, &size);
	KUNIT_EXPECT_EQ(test, size, RXP_MSG_MAX);
	limits_leave(test, 1);
	limits_leave(test, 0);
	limits_wait_ring(test, 0);
	/* A connection that has ended takes none. */
	limits_open(test);
	limits_last(test, &slots, &size);
	KUNIT_EXPECT_EQ(test, size, rounddown(SZ_1M / RAW_RECVS, 1024));
}

/*
 * A client must not decide for how long the server sends again what the client does not take:
 * requests with endless retries must be rejected.
 */
static void limits_retries(struct kunit *test)
{
	static const struct {
		u8 retries;
		u8 rnr_retries;
	} bad[] = { { 7, 6 }, { 6, 7 } };
	struct limits *t = test->priv;
	struct ib_qp_init_attr init;
	struct rdmafs_xprt_limits l;
	struct ib_qp_attr attr = {};
	struct rxp_wire_cm cm;
	struct rxp_conn *conn;
	struct raw *raw;
	u16 reason;
	u32 i;

	l = limits_default();
	limits_start(test, &l);
	raw = limits_open(test);
	if (raw_iwarp(raw))
		kunit_skip(test, "iWARP has none of this");
	conn = &list_first_entry(&t->server->conns, struct rxs_conn, link)->conn;
	KUNIT_ASSERT_EQ(test, ib_query_qp(conn->qp, &attr, IB_QP_TIMEOUT | IB_QP_RNR_RETRY |
					  IB_QP_RETRY_CNT | IB_QP_MIN_RNR_TIMER, &init), 0);
	KUNIT_EXPECT_EQ(test, attr.timeout, 17);
	KUNIT_EXPECT_EQ(test, attr.min_rnr_timer, IB_RNR_TIMER_010_24);
	KUNIT_EXPECT_EQ(test, attr.retry_cnt, 6);
	KUNIT_EXPECT_EQ(test, attr.rnr_retry, 6);
	raw_fill_cm(&cm);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		reason = 0;
		raw = raw_open_retries(LIMITS_PORT, &cm, bad[i].retries, bad[i].rnr_retries,
				       &reason);
		KUNIT_EXPECT_TRUE(test, IS_ERR(raw));
		KUNIT_EXPECT_EQ(test, reason, RXP_REJECT_PARAMS);
		if (!IS_ERR(raw))
			raw_close(raw);
	}
}

/* Set the parameter service_type of rdmafs_xprt. */
static int limits_tune(const char *type)
{
	struct file *file = filp_open("/sys/module/rdmafs_xprt/parameters/service_type", O_WRONLY,
				      0);
	loff_t pos = 0;
	ssize_t done;

	if (IS_ERR(file))
		return PTR_ERR(file);
	done = kernel_write(file, type, strlen(type), &pos);
	filp_close(file, NULL);
	return done < 0 ? done : 0;
}

/* The packets of a mount must have the type of service that the administrator has chosen. */
static void limits_service_type(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr = {};
	struct ib_qp *qp;

	limits_start(test, &l);
	KUNIT_ASSERT_EQ(test, limits_tune("72"), 0);
	limits_mount(test);
	qp = t->mount->conns[0]->qp;
	if (rdma_protocol_iwarp(qp->device, t->mount->conns[0]->id->port_num))
		kunit_skip(test, "iWARP's queue pairs do not tell");
	KUNIT_ASSERT_EQ(test, ib_query_qp(qp, &attr, IB_QP_AV, &init), 0);
	KUNIT_EXPECT_EQ(test, rdma_ah_read_grh(&attr.ah_attr)->traffic_class, 72);
}

static void limits_suite_exit(struct kunit *test)
{
	limits_tune("-1");
	limits_exit(test);
}

static struct kunit_case limits_cases[] = {
	KUNIT_CASE(limits_client_connections),
	KUNIT_CASE(limits_honest),
	KUNIT_CASE(limits_pretended),
	KUNIT_CASE(limits_unbound_connections),
	KUNIT_CASE(limits_unbound_share),
	KUNIT_CASE(limits_silent),
	KUNIT_CASE(limits_silent_said),
	KUNIT_CASE(limits_silent_mount),
	KUNIT_CASE_SLOW(limits_silent_answered),
	KUNIT_CASE_SLOW(limits_unbound_time),
	KUNIT_CASE(limits_client_sessions),
	KUNIT_CASE(limits_sessions),
	KUNIT_CASE(limits_network),
	KUNIT_CASE(limits_slots),
	KUNIT_CASE(limits_rings),
	KUNIT_CASE(limits_ring_share),
	KUNIT_CASE(limits_large),
	KUNIT_CASE(limits_large_burst),
	KUNIT_CASE(limits_retries),
	KUNIT_CASE(limits_service_type),
	{}
};

static struct kunit_suite limits_suite = {
	.name = "rdmafs_xprt_hostile_limits",
	.init = limits_init,
	.exit = limits_suite_exit,
	.test_cases = limits_cases,
};

kunit_test_suite(limits_suite);
