// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_hostile_limits: a client in bare verbs that wants all there is,
 * before anybody knows who it is.  Each case sets one limit, goes up to it, is refused
 * beyond, and is let in again when it has given something back.
 *
 * Who says nothing for unbound_ms is not counted any more, and who holds what he does not use
 * for held_ms is cut off.  But where that is not the subject there is time enough.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include "transport/client.h"
#include "transport/server.h"
#include "xprt_raw.h"

#define LIMITS_PORT	20995
#define LIMITS_MAX	18

struct limits {
	struct rdmafs_xprt_server *server;
	struct raw *raw[LIMITS_MAX];
	u32 nr;
	u32 heartbeat_ms;		/* as connections say from now on */
	struct rdmafs_xprt *mount;
	bool holds;			/* requests are served one by one, as @serve says */
	struct completion serve;
	struct page *lends;		/* a READ is answered from there, when @serve says so */
	atomic_t lent;			/* so often it was */
	atomic_t copied;		/* and so often a copy was made */
};

/*
 * Of a large folio as much as a READ has room for, in two pieces, or a copy of it; but nothing of
 * that is sent.
 */
static bool limits_lend(struct limits *t, struct rdmafs_xprt_req *req)
{
	u32 half = req->read_max / 2, i;
	struct bio_vec bv[2];
	struct iov_iter dest;
	int err;

	for (i = 0; i < ARRAY_SIZE(bv); i++) {
		bvec_set_page(&bv[i], t->lends, half, i * half);
		get_page(t->lends);
	}
	err = rdmafs_xprt_req_pages(req, bv, ARRAY_SIZE(bv), req->read_max);
	if (err) {
		for (i = 0; i < ARRAY_SIZE(bv); i++)
			put_page(t->lends);
		if (err != -ENOMEM || rdmafs_xprt_req_room(req, req->read_max, &dest))
			return false;
	}
	atomic_inc(err ? &t->copied : &t->lent);
	wait_for_completion(&t->serve);
	rdmafs_xprt_req_reply(req, 8, 0, RDMAFS_REPLY_NOCACHE);
	return true;
}

/* All that a READ has room for; nothing for others. */
static void limits_handle(struct rdmafs_xprt_req *req, void *ctx)
{
	struct limits *t = ctx;
	struct iov_iter dest;
	u32 len = 0;

	if (READ_ONCE(t->holds))
		wait_for_completion(&t->serve);
	if (t->lends && req->read_max && limits_lend(t, req))
		return;
	if (req->read_max && !rdmafs_xprt_req_room(req, req->read_max, &dest))
		len = iov_iter_zero(req->read_max, &dest);
	rdmafs_xprt_req_reply(req, 8, len, RDMAFS_REPLY_NOCACHE);
}

static int limits_session_open(struct rdmafs_xprt_session *s, void *ctx)
{
	return 0;
}

static void limits_session_close(struct rdmafs_xprt_session *s, void *ctx)
{
}

static const struct rdmafs_xprt_service limits_service = {
	.session_open	= limits_session_open,
	.session_close	= limits_session_close,
	.handle		= limits_handle,
};

static void limits_start(struct kunit *test, const struct rdmafs_xprt_limits *l)
{
	struct limits *t = test->priv;

	t->server = rdmafs_xprt_listen(&init_net, LIMITS_PORT, &limits_service, t, l);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->server));
	/* It would end all that are silent for as long, whatever else does not. */
	raw_no_lease(t->server);
}

/* A connection of so many slots, or NULL and why not. */
static struct raw *limits_try(struct kunit *test, u16 slots, u16 *reason)
{
	struct limits *t = test->priv;
	struct rxp_wire_cm cm;
	struct raw *raw;

	KUNIT_ASSERT_LT(test, t->nr, LIMITS_MAX);
	raw_fill_cm(&cm);
	cm.slots = cpu_to_le16(slots);
	cm.heartbeat_ms = cpu_to_le32(t->heartbeat_ms);
	*reason = 0;
	raw = raw_open_as(LIMITS_PORT, &cm, reason);
	if (IS_ERR(raw))
		return NULL;
	t->raw[t->nr++] = raw;
	return raw;
}

static struct raw *limits_open(struct kunit *test)
{
	struct raw *raw;
	u16 reason;

	raw = limits_try(test, RAW_SLOTS, &reason);
	KUNIT_ASSERT_NOT_NULL_MSG(test, raw, "refused: %u", reason);
	return raw;
}

static void limits_refused(struct kunit *test, u16 why)
{
	u16 reason;

	KUNIT_EXPECT_NULL(test, limits_try(test, RAW_SLOTS, &reason));
	KUNIT_EXPECT_EQ(test, reason, why);
}

/* The last one goes: so many are left then, and of those that were refused none. */
static void limits_leave(struct kunit *test, u32 left)
{
	struct limits *t = test->priv;
	unsigned long end = jiffies + RAW_WAIT;

	raw_close(t->raw[--t->nr]);
	while (READ_ONCE(t->server->nr_conns) != left && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, t->server->nr_conns, left);
}

/* Message buffers take so many bytes: a connection's go when it is not counted any more. */
static void limits_wait_ring(struct kunit *test, u64 bytes)
{
	struct limits *t = test->priv;
	unsigned long end = jiffies + RAW_WAIT;

	while (READ_ONCE(t->server->budget->ring) != bytes && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, t->server->budget->ring, bytes);
}

static u32 limits_hello(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_hello hello = {};

	get_random_bytes(hello.client, sizeof(hello.client));
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_HELLO, 0, 0, &hello,
				      sizeof(hello), 0), 0);
	raw->welcome = *(struct rxp_wire_welcome *)
		raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_WELCOME, 0, 0);
	return le32_to_cpu(raw->welcome.status);
}

static struct rdmafs_xprt_limits limits_default(void)
{
	struct rdmafs_xprt_limits l = raw_limits();

	l.held_ms = RAW_PATIENT_MS;
	return l;
}

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

/* Who says nothing is dropped soon, who is bound is not: its time was over before. */
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

static void limits_sessions(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();

	l.sessions = 1;
	limits_start(test, &l);
	KUNIT_EXPECT_EQ(test, limits_hello(test, limits_open(test)), RXP_WELCOME_NEW);
	KUNIT_EXPECT_EQ(test, limits_hello(test, limits_open(test)), RXP_WELCOME_REFUSED);
}

/* From here on connections come from another client. */
static void limits_other(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, raw_route("fd09::1", "fd09::1"), 0);
}

/* Two hosts of an IPv6 network are two clients. */
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

/* Whom the last connection that was made counts for. */
static struct rdmafs_xprt_source limits_source(struct kunit *test)
{
	struct limits *t = test->priv;
	struct rdmafs_xprt_source source;

	spin_lock_bh(&t->server->lock);
	source = list_last_entry(&t->server->conns, struct rxp_conn, link)->taker->source;
	spin_unlock_bh(&t->server->lock);
	return source;
}

/* An honest client counts for its address, whatever says which that is. */
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

/* One who writes another address into each request has the parts of one client. */
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
	/* Another one has parts of his own. */
	raw_pretend(NULL);
	limits_other(test);
	limits_open(test);
}

/*
 * Who has taken all places of those that have not said HELLO loses his oldest to who has
 * less, until both have as many, and nobody else does.
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
	/* Counted before it was let in; that another one is cut off would be seen later. */
	KUNIT_EXPECT_EQ(test, t->server->unbound_dropped, 1);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(first[0]));
	KUNIT_EXPECT_EQ(test, limits_hello(test, limits_open(test)), RXP_WELCOME_NEW);
	KUNIT_EXPECT_EQ(test, t->server->unbound_dropped, 2);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(first[1]));
	/* One of these two counts no more, so there is a place. */
	limits_open(test);
	limits_refused(test, RXP_REJECT_RESOURCES);
	KUNIT_EXPECT_EQ(test, t->server->unbound_dropped, 2);
	KUNIT_EXPECT_EQ(test, READ_ONCE(t->server->nr_unbound), 4);
}

/* Nothing has been heard for so long of any. */
static void limits_hush(struct limits *t, u32 ms)
{
	struct rxp_conn *conn;

	spin_lock_bh(&t->server->lock);
	list_for_each_entry(conn, &t->server->conns, link)
		WRITE_ONCE(conn->last_rx, jiffies - msecs_to_jiffies(ms) - 1);
	spin_unlock_bh(&t->server->lock);
}

/* A client has as many connections as it may, those that are silent among them. */
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
	/* For one that is refused none is given up. */
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
 * After such a silence one goes for a new one, the client's oldest that may be taken for
 * silent by then, and no other one.
 */
static void limits_silent_goes(struct kunit *test, struct raw *oldest, u32 ms)
{
	struct limits *t = test->priv;
	u64 before = READ_ONCE(t->server->silent_dropped);
	u16 reason;

	limits_hush(t, ms);
	KUNIT_EXPECT_NOT_NULL(test, limits_try(test, RAW_SLOTS, &reason));
	/* Counted before the new one was let in; what is cut off would be seen later. */
	KUNIT_EXPECT_EQ(test, t->server->silent_dropped, before + 1);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(oldest));
}

/* Whose beats are slow is not taken for silent so soon, up to a lease. */
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
	/* All have said HELLO; those that come now are unbound, and some are dropped soon. */
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

/* A mount says what its own is. */
static void limits_silent_mount(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	u32 said;

	limits_start(test, &l);
	limits_mount(test);
	spin_lock_bh(&t->server->lock);
	said = le32_to_cpu(list_last_entry(&t->server->conns, struct rxp_conn,
					   link)->cm.heartbeat_ms);
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

/* What the mount had received at its last beat. */
static u64 limits_seen(struct limits *t)
{
	u64 seen;

	spin_lock_bh(&t->mount->lock);
	seen = t->mount->nr_conns ? t->mount->conns[0]->seen : 0;
	spin_unlock_bh(&t->mount->lock);
	return seen;
}

/* One call of the mount is answered, and it has a beat. */
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

/* Has nothing been heard of the first connection since limits_hush()? */
static bool limits_hushed(struct limits *t, u32 ms)
{
	struct rxp_conn *conn;
	bool hushed;

	spin_lock_bh(&t->server->lock);
	conn = list_first_entry_or_null(&t->server->conns, struct rxp_conn, link);
	hushed = conn && time_after(jiffies, (unsigned long)READ_ONCE(conn->last_rx) +
					     msecs_to_jiffies(ms));
	spin_unlock_bh(&t->server->lock);
	return hushed;
}

/* A mount that is answered and asks for nothing else says that it lives. */
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
	/* More than the beats take. */
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
	/* The beat that has seen the calls go out. */
	limits_beat(test);
	limits_hush(t, l.unbound_ms);
	for (i = 0; i < nr - 2 && limits_hushed(t, l.unbound_ms); i++)
		limits_beat(test);
	limits_refused(test, RXP_REJECT_LIMIT);
	KUNIT_EXPECT_EQ(test, t->server->silent_dropped, 0);
	complete_all(&t->serve);
	/* If it was cut off it has no place any more. */
	rdmafs_xprt_abort(t->mount);
	for (i = 0; i < nr; i++)
		wait_for_completion(&c[i].done);
}

/* What the last connection that was made has. */
static void limits_last(struct kunit *test, u32 *slots, u32 *recv_size)
{
	struct limits *t = test->priv;
	struct rxp_conn *conn;

	spin_lock_bh(&t->server->lock);
	conn = list_last_entry(&t->server->conns, struct rxp_conn, link);
	*slots = conn->slots;
	*recv_size = conn->recv_size;
	spin_unlock_bh(&t->server->lock);
}

/* Any wish is granted up to what the administrator allows. */
static void limits_slots(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
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
}

/* As many as their buffers fit, whatever else is allowed. */
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
	/* Nor is there room for a session's. */
	KUNIT_EXPECT_EQ(test, limits_hello(test, ((struct limits *)test->priv)->raw[0]),
			RXP_WELCOME_REFUSED);
	limits_leave(test, fit - 1);
	limits_wait_ring(test, (fit - 1) * RAW_RECVS * RXP_MSG_MAX);
	limits_open(test);
	limits_refused(test, RXP_REJECT_RESOURCES);
}

/* One client takes its share of what others leave, and another its own of the rest. */
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

/* Those that come at once have no more of the large ones than if they came in turn. */
static void limits_large_burst(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	struct limits_burst b[8];
	struct rxp_conn *conn;
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
		large += conn->recv_charged;
	spin_unlock_bh(&t->server->lock);
	KUNIT_EXPECT_GT(test, large, 0);
	KUNIT_EXPECT_LE(test, large, SZ_1M);
}

/* Who comes first does not have all of the large ones, and a client a quarter at most. */
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
	/* What is gone takes none. */
	limits_open(test);
	limits_last(test, &slots, &size);
	KUNIT_EXPECT_EQ(test, size, rounddown(SZ_1M / RAW_RECVS, 1024));
}

/* A client does not say for how long the server sends it again what it does not take. */
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
	conn = list_first_entry(&t->server->conns, struct rxp_conn, link);
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

/* The parameter service_type of rdmafs_xprt. */
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

/* A mount's packets are of the type of service that the administrator has chosen. */
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

/* A CALL of so many bytes.  Where a READ's go it does not say, or that they go to no key at all. */
static void limits_call(struct kunit *test, struct raw *raw, u16 slot, u32 seq, u16 flags, u32 bulk)
{
	struct rxp_wire_hdr *hdr = (struct rxp_wire_hdr *)raw->send->buf;
	struct rxp_wire_call *call = (struct rxp_wire_call *)(hdr + 1);

	memset(hdr, 0, sizeof(*hdr) + sizeof(*call) + 8);
	hdr->type = RXP_CALL;
	hdr->slot = cpu_to_le16(slot);
	hdr->seq = cpu_to_le32(seq);
	hdr->body_len = cpu_to_le16(8);
	hdr->flags = cpu_to_le16(flags);
	call->bulk_len = cpu_to_le32(bulk);
	KUNIT_ASSERT_EQ(test, raw_send(raw, sizeof(*hdr) + sizeof(*call) + 8, 0), 0);
}

static void limits_expect(struct kunit *test, struct raw *raw, u16 slot, u32 seq, u32 status)
{
	const struct rxp_wire_reply *reply = raw_expect(test, raw, RXP_REPLY, 0, slot, seq);

	KUNIT_EXPECT_EQ(test, le32_to_cpu(reply->status), status);
}

static void limits_wait_bytes(struct kunit *test, u64 bytes)
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
 * What a session holds of pages for data, in READs that wait to be told where it goes: as
 * much in each as any device takes at once.
 */
static void limits_data(struct kunit *test)
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
		limits_call(test, raw, i, 1, RXP_F_READ, SZ_1M);
		limits_wait_bytes(test, (i + 1) * SZ_1M);
	}
	/* No more, neither to be read nor for what is written, but what needs none. */
	limits_call(test, raw, 8, 1, RXP_F_READ, SZ_64K);
	limits_expect(test, raw, 8, 1, RXP_STATUS_RETRY_LATER);
	limits_call(test, raw, 9, 1, RXP_F_WRITE, SZ_64K);
	limits_expect(test, raw, 9, 1, RXP_STATUS_RETRY_LATER);
	limits_call(test, raw, 10, 1, 0, 0);
	limits_expect(test, raw, 10, 1, RXP_STATUS_OK);
	/* One is given back: there is room for its pages, and for no more. */
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_CANCEL, 0, 1, NULL, 0, 0), 0);
	limits_expect(test, raw, 0, 1, RXP_STATUS_CANCELLED);
	limits_wait_bytes(test, 7 * SZ_1M);
	limits_call(test, raw, 8, 2, RXP_F_READ, SZ_512K);
	limits_wait_bytes(test, 7 * SZ_1M + SZ_512K);
	limits_call(test, raw, 0, 2, RXP_F_READ, SZ_1M);
	limits_expect(test, raw, 0, 2, RXP_STATUS_RETRY_LATER);
	KUNIT_EXPECT_FALSE(test, raw->cut);
	/* The connection goes, and with it what was held: the session owes nothing. */
	limits_leave(test, 0);
	limits_wait_bytes(test, 0);
}

/* All pages that a session has: those in use, and those that are idle in its pool. */
static u64 limits_pages(struct limits *t)
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

/* Its reply is held, and so it has its pages. */
static void limits_wait_held(struct kunit *test, u16 slot)
{
	struct limits *t = test->priv;
	struct rdmafs_xprt_session *s = list_first_entry(&t->server->sessions,
							 struct rdmafs_xprt_session, link);
	unsigned long end = jiffies + RAW_WAIT;
	bool held = false;

	while (!held && time_before(jiffies, end)) {
		usleep_range(1000, 2000);
		spin_lock_bh(&s->lock);
		held = s->slots[slot].req && s->slots[slot].req->state == RXP_REQ_HELD;
		spin_unlock_bh(&s->lock);
	}
	KUNIT_ASSERT_TRUE(test, held);
}

/* A READ that waits to be told where its data goes is called off. */
static void limits_call_off(struct kunit *test, struct raw *raw, u16 slot, u32 seq)
{
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_CANCEL, slot, seq, NULL, 0, 0),
			0);
	limits_expect(test, raw, slot, seq, RXP_STATUS_CANCELLED);
}

/*
 * All 8 MiB that a session may have in buffers of one size, and then of another: those that
 * are idle, kept for seconds, count, and make room.
 */
static void limits_sizes(struct kunit *test, const struct rdmafs_xprt_limits *l)
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
			limits_call(test, raw, i, ++seq[i], RXP_F_READ, sizes[round]);
			limits_wait_bytes(test, (i + 1) * sizes[round]);
			limits_wait_held(test, i);
			most = max(most, limits_pages(t));
		}
		for (i = 0; i < nr; i++)
			limits_call_off(test, raw, i, seq[i]);
		limits_wait_bytes(test, 0);
		most = max(most, limits_pages(t));
	}
	KUNIT_EXPECT_LE(test, most, SZ_8M);
}

static void limits_idle(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();

	l.data_mib = 8;
	limits_sizes(test, &l);
}

/* The same where it is its client's part that ends there. */
static void limits_idle_client(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();

	l.data_total_mib = 16;
	limits_sizes(test, &l);
}

/*
 * What all sessions have of pages for data, what is beyond the bounds among it; and whether the
 * clients' accounts add up to the rest.
 */
static u64 limits_total(struct limits *t)
{
	struct rxp_budget *b = t->server->budget;
	u64 total, sum = 0;
	struct rxp_taker *k;

	spin_lock_bh(&b->lock);
	total = b->data;
	list_for_each_entry(k, &b->takers, link)
		sum += k->data;
	total += b->beyond;
	sum += b->beyond;
	spin_unlock_bh(&b->lock);
	return sum == total ? total : U64_MAX;
}

static void limits_wait_total(struct kunit *test, u64 bytes)
{
	struct limits *t = test->priv;
	unsigned long end = jiffies + RAW_WAIT;

	while (limits_total(t) != bytes && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_ASSERT_EQ(test, limits_total(t), bytes);
}

static struct raw *limits_session(struct kunit *test)
{
	struct raw *raw = limits_open(test);

	KUNIT_ASSERT_EQ(test, limits_hello(test, raw), RXP_WELCOME_NEW);
	return raw;
}

/* READs of 1 MiB in slots of their own from @slot on, which wait to be told where to. */
static void limits_take(struct kunit *test, struct raw *raw, u16 slot, u32 nr)
{
	u64 total = limits_total(test->priv);
	u32 i;

	for (i = 0; i < nr; i++) {
		limits_call(test, raw, slot + i, 1, RXP_F_READ, SZ_1M);
		limits_wait_total(test, total + (i + 1) * SZ_1M);
	}
}

/* Whoever asks for more is told to come back, whether for a READ or for a WRITE. */
static void limits_no_more(struct kunit *test, struct raw *raw, u16 slot, u32 seq)
{
	limits_call(test, raw, slot, seq, RXP_F_READ, SZ_1M);
	limits_expect(test, raw, slot, seq, RXP_STATUS_RETRY_LATER);
	limits_call(test, raw, slot, seq + 1, RXP_F_WRITE, SZ_1M);
	limits_expect(test, raw, slot, seq + 1, RXP_STATUS_RETRY_LATER);
}

/*
 * The sessions of a client have its part of the pages for data together, however many they
 * are; another client has his, and there is some for a third.
 */
static void limits_data_share(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct raw *one, *two, *other, *third;
	struct limits *t = test->priv;

	KUNIT_EXPECT_GE(test, l.data_total_mib, 4 * RDMAFS_XPRT_DATA_MAX / SZ_1M);
	l.data_total_mib = 16;
	limits_start(test, &l);
	one = limits_session(test);
	two = limits_session(test);
	/* One and whoever comes next: half of it each. */
	limits_take(test, one, 0, 5);
	limits_take(test, two, 0, 3);
	/* Each session has one request beyond that, which counts for nobody's part. */
	limits_take(test, one, 5, 1);
	limits_take(test, two, 3, 1);
	limits_no_more(test, one, 6, 1);
	limits_no_more(test, two, 4, 1);
	KUNIT_EXPECT_GE(test, t->server->budget->refused_data, 4);

	/* Three parts, but the last quarter of all is for shares: he has another quarter. */
	limits_other(test);
	other = limits_session(test);
	limits_take(test, other, 0, 4);
	limits_take(test, other, 4, 1);
	limits_no_more(test, other, 5, 1);

	/* A third of it is the first one's now, which has more. */
	limits_call_off(test, one, 0, 1);
	limits_wait_total(test, 14 * SZ_1M);
	limits_no_more(test, one, 0, 2);
	limits_call_off(test, one, 1, 1);
	limits_call_off(test, one, 2, 1);
	limits_call_off(test, two, 0, 1);
	limits_wait_total(test, 11 * SZ_1M);
	limits_call(test, one, 6, 3, RXP_F_READ, SZ_1M);
	limits_wait_total(test, 12 * SZ_1M);
	limits_no_more(test, two, 4, 3);

	/* There is some for the next one, and who leaves owes nothing. */
	KUNIT_ASSERT_EQ(test, raw_route("fd09::2", "fd09::1"), 0);
	third = limits_session(test);
	limits_take(test, third, 0, 1);
	KUNIT_EXPECT_EQ(test, t->server->budget->beyond, 3 * SZ_1M);
	limits_leave(test, 3);
	limits_wait_total(test, 12 * SZ_1M);
	limits_leave(test, 2);
	limits_wait_total(test, 7 * SZ_1M);
	limits_leave(test, 1);
	limits_wait_total(test, 4 * SZ_1M);
	limits_leave(test, 0);
	limits_wait_total(test, 0);
}

/* A WRITE of 1 MiB, which brings a grant once its sink was seen to be registered: its key. */
static u32 limits_grant(struct kunit *test, struct raw *raw, u16 slot)
{
	unsigned long end = jiffies + RAW_WAIT;
	const struct rxp_wire_reply *reply;
	struct rxp_wire_tag tag;
	u32 seq = 0;
	u16 flags;

	do {
		KUNIT_ASSERT_TRUE(test, time_before(jiffies, end));
		limits_call(test, raw, slot, ++seq, RXP_F_WRITE, SZ_1M);
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

/* So many of the oldest grants are called back. */
static void limits_recalled(struct kunit *test, struct raw *raw, const u32 *rkeys, u32 nr)
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
 * There is to be less: what clients have granted of it beyond their halves is called back, the
 * oldest first.  Who returns it goes on, who does not loses his connection.
 */
static void limits_data_recall(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	u32 keys[4], others[4], i;
	struct raw *one, *other;

	l.data_total_mib = 64;
	limits_start(test, &l);
	one = limits_session(test);
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		keys[i] = limits_grant(test, one, i);
	limits_other(test);
	other = limits_session(test);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		others[i] = limits_grant(test, other, i);
	KUNIT_EXPECT_EQ(test, limits_total(t), SZ_8M);

	/* A third of 16 MiB, and half of that: two are too many. */
	l.data_total_mib = 16;
	rdmafs_xprt_set_limits(t->server, &l);
	limits_recalled(test, one, keys, 2);
	limits_recalled(test, other, others, 2);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, raw_return(one, keys[i]), 0);
	limits_wait_total(test, 6 * SZ_1M);
	limits_call(test, one, 5, 1, RXP_F_READ, SZ_1M);
	limits_wait_total(test, 7 * SZ_1M);
	limits_call_off(test, one, 5, 1);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(other));
	limits_wait_total(test, SZ_2M);
	KUNIT_EXPECT_FALSE(test, one->cut);
	limits_leave(test, 1);
	limits_leave(test, 0);
	limits_wait_total(test, 0);
}

/*
 * Whoever has taken all there is, a session of the same client or another client's, each
 * session has one request at a time, and no more: what hangs is felt by its own users only.
 */
static void limits_data_one(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct raw *one, *two, *other;
	u32 seq;

	l.data_total_mib = 16;
	l.client_share = 100;
	limits_start(test, &l);
	one = limits_session(test);
	two = limits_session(test);
	limits_take(test, one, 0, RAW_SLOTS);
	limits_take(test, two, 0, 1);
	limits_no_more(test, two, 1, 1);
	limits_other(test);
	other = limits_session(test);
	limits_take(test, other, 0, 1);
	limits_no_more(test, other, 1, 1);
	/* They go on. */
	for (seq = 1; seq < 4; seq++) {
		limits_call_off(test, two, 0, seq);
		limits_wait_total(test, 17 * SZ_1M);
		limits_call(test, two, 0, seq + 1, RXP_F_READ, SZ_1M);
		limits_wait_total(test, 18 * SZ_1M);
		limits_call_off(test, other, 0, seq);
		limits_wait_total(test, 17 * SZ_1M);
		limits_call(test, other, 0, seq + 1, RXP_F_READ, SZ_1M);
		limits_wait_total(test, 18 * SZ_1M);
	}
	/* They do not do so at the cost of the first. */
	limits_call_off(test, one, 0, 1);
	limits_wait_total(test, 17 * SZ_1M);
	limits_call(test, one, 0, 2, RXP_F_READ, SZ_1M);
	limits_wait_total(test, 18 * SZ_1M);
	limits_leave(test, 2);
	limits_wait_total(test, 17 * SZ_1M);
	limits_leave(test, 1);
	limits_wait_total(test, SZ_16M);
	limits_leave(test, 0);
	limits_wait_total(test, 0);
}

/*
 * What sessions have beyond the bounds is no more than what they have within, however many
 * they are.  Whoever finds none left has his turn when another one's request is done.
 */
static void limits_data_beyond(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct raw *one, *raw[16], *last;
	struct limits *t = test->priv;
	u32 i;

	l.data_total_mib = 16;
	l.client_share = 100;
	l.client_sessions = LIMITS_MAX;
	limits_start(test, &l);
	one = limits_session(test);
	limits_take(test, one, 0, RAW_SLOTS);
	for (i = 0; i < ARRAY_SIZE(raw); i++) {
		raw[i] = limits_session(test);
		limits_take(test, raw[i], 0, 1);
	}
	KUNIT_EXPECT_EQ(test, t->server->budget->beyond, SZ_16M);
	last = limits_session(test);
	limits_no_more(test, last, 0, 1);
	limits_call_off(test, raw[0], 0, 1);
	limits_wait_total(test, 31 * SZ_1M);
	limits_call(test, last, 0, 3, RXP_F_READ, SZ_1M);
	limits_wait_total(test, 32 * SZ_1M);
	/* What is beyond does not count within. */
	limits_no_more(test, raw[1], 1, 1);
	limits_call_off(test, one, 0, 1);
	limits_wait_total(test, 31 * SZ_1M);
	limits_call(test, raw[1], 1, 3, RXP_F_READ, SZ_1M);
	limits_wait_total(test, 32 * SZ_1M);
	KUNIT_EXPECT_EQ(test, t->server->budget->beyond, SZ_16M);
}

/* A share that is more than an even part is a client's, too; and one request beyond it. */
static void limits_data_share_large(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	struct raw *one, *other;

	l.data_total_mib = 16;
	l.client_share = 60;
	limits_start(test, &l);
	one = limits_session(test);
	limits_take(test, one, 0, 10);
	limits_no_more(test, one, 10, 1);
	limits_other(test);
	other = limits_session(test);
	limits_take(test, other, 0, 5);
	limits_no_more(test, other, 5, 1);
	KUNIT_EXPECT_EQ(test, t->server->budget->beyond, SZ_2M);
}

/* A session of the client that comes from here takes so much of pages, and lets go of it. */
static void limits_used(struct kunit *test, u32 nr)
{
	struct raw *raw = limits_session(test);
	u32 i;

	limits_take(test, raw, 0, nr);
	for (i = 0; i < nr; i++)
		limits_call_off(test, raw, i, 1);
	limits_wait_total(test, 0);
}

/*
 * What all pools keep, once that is gone which was not to be kept.  @since some of it has
 * been idle: after too long nothing is known.
 */
static void limits_kept(struct kunit *test, u64 bytes, unsigned long since)
{
	struct limits *t = test->priv;
	struct rxp_conn *conn;
	u64 idle;
	u32 i;

	for (i = 0; i < t->nr; i++) {
		spin_lock_bh(&t->server->lock);
		conn = list_first_entry(&t->server->conns, struct rxp_conn, link);
		list_move_tail(&conn->link, &t->server->conns);
		spin_unlock_bh(&t->server->lock);
		flush_delayed_work(&conn->pool->decay);
	}
	idle = READ_ONCE(t->server->budget->idle);
	if (time_before(jiffies, since + RXP_IDLE_SECS * HZ))
		KUNIT_EXPECT_EQ(test, idle, bytes);
}

/* A client's sessions keep no more together, once they have used them in turn, than it may have. */
static void limits_idle_share(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	unsigned long since = jiffies;
	u32 round;

	l.data_total_mib = 16;
	limits_start(test, &l);
	for (round = 0; round < 3; round++) {
		limits_used(test, 8);
		limits_kept(test, SZ_8M, since);
	}
}

/* Nor all clients together than there may be, though each may have as much. */
static void limits_idle_total(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	unsigned long since = jiffies;

	l.data_total_mib = 16;
	l.client_share = 100;
	limits_start(test, &l);
	limits_used(test, RAW_SLOTS);
	limits_kept(test, SZ_16M, since);
	limits_other(test);
	limits_used(test, 8);
	limits_kept(test, SZ_16M, since);
}

/* A request is charged first, and counts afterwards. */
static void limits_wait_count(struct kunit *test, const atomic_t *count, int value)
{
	unsigned long end = jiffies + RAW_WAIT;

	while (atomic_read(count) < value && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, atomic_read(count), value);
}

/*
 * A little of a large folio, which cannot be freed until that is sent, is as much as the
 * folio, and once, however many pieces of it are read.  What that leaves no room for is read
 * elsewhere, while there is room for itself; and so it is when folios have half of the room.
 */
static void limits_folios(struct kunit *test)
{
	struct rdmafs_xprt_limits l = limits_default();
	struct limits *t = test->priv;
	struct raw *raw;
	u16 i;

	l.data_mib = 8;
	limits_start(test, &l);
	raw = limits_session(test);
	t->lends = alloc_pages(GFP_KERNEL | __GFP_COMP, get_order(SZ_2M));
	KUNIT_ASSERT_NOT_NULL(test, t->lends);
	for (i = 0; i < 2; i++) {
		limits_call(test, raw, i, 1, RXP_F_READ | RXP_F_RKEY, SZ_64K);
		limits_wait_bytes(test, (i + 1) * SZ_2M);
	}
	/* The other half of the room is for what needs it. */
	limits_call(test, raw, 2, 1, RXP_F_READ | RXP_F_RKEY, SZ_64K);
	limits_wait_bytes(test, SZ_4M + SZ_128K);
	limits_take(test, raw, 3, 2);
	limits_call(test, raw, 5, 1, RXP_F_READ | RXP_F_RKEY, SZ_1M);
	limits_wait_bytes(test, 7 * SZ_1M + SZ_128K);
	limits_wait_count(test, &t->lent, 2);
	limits_wait_count(test, &t->copied, 2);
	limits_call(test, raw, 6, 1, RXP_F_READ | RXP_F_RKEY, SZ_1M);
	limits_expect(test, raw, 6, 1, RXP_STATUS_RETRY_LATER);
	/* What was lent goes, and owes as much. */
	complete_all(&t->serve);
	limits_wait_bytes(test, SZ_2M);
	limits_leave(test, 0);
	limits_wait_total(test, 0);
	KUNIT_EXPECT_EQ(test, page_count(t->lends), 1);
}

static int limits_init(struct kunit *test)
{
	struct limits *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct sockaddr_in addr;
	struct raw *raw;

	KUNIT_ASSERT_NOT_NULL(test, t);
	init_completion(&t->serve);
	/* Nobody listens: what is refused tells whether there is a device. */
	raw = raw_address(LIMITS_PORT, &addr) ? ERR_PTR(-ENODEV) : raw_open(LIMITS_PORT);
	if (PTR_ERR(raw) == -ENODEV || PTR_ERR(raw) == -EHOSTUNREACH ||
	    PTR_ERR(raw) == -ENETUNREACH)
		kunit_skip(test, "no RDMA device at %s", raw_address_name());
	test->priv = t;
	return 0;
}

static void limits_exit(struct kunit *test)
{
	struct limits *t = test->priv;

	raw_route(NULL, NULL);
	raw_pretend(NULL);
	if (!t)
		return;
	complete_all(&t->serve);
	limits_tune("-1");
	if (!IS_ERR_OR_NULL(t->mount))
		rdmafs_xprt_close(t->mount);
	while (t->nr)
		raw_close(t->raw[--t->nr]);
	if (!IS_ERR_OR_NULL(t->server))
		rdmafs_xprt_unlisten(t->server);
	if (t->lends)
		put_page(t->lends);
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
	KUNIT_CASE(limits_data),
	KUNIT_CASE(limits_idle),
	KUNIT_CASE(limits_idle_client),
	KUNIT_CASE(limits_data_share),
	KUNIT_CASE(limits_data_share_large),
	KUNIT_CASE(limits_data_one),
	KUNIT_CASE(limits_data_beyond),
	KUNIT_CASE_SLOW(limits_data_recall),
	KUNIT_CASE(limits_folios),
	KUNIT_CASE(limits_idle_share),
	KUNIT_CASE(limits_idle_total),
	{}
};

static struct kunit_suite limits_suite = {
	.name = "rdmafs_xprt_hostile_limits",
	.init = limits_init,
	.exit = limits_exit,
	.test_cases = limits_cases,
};

kunit_test_suite(limits_suite);
