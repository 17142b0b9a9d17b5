// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_hostile_bind: connections that come, go and say HELLO at moments that the
 * server does not choose, and which sessions and resources they get then.  The clients are in
 * bare verbs.
 *
 * Test points hold the server's workers where it matters: when a connection has been accepted;
 * when it has its place in its session but no WELCOME yet; when it is drained but has not left
 * its session; when a session has been made but is not open yet.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include "tests/points/points.h"
#include "transport/server/server.h"
#include "xprt_raw.h"

#define BIND_PORT	20996

/* More HELLOs at once than a workqueue runs work items by default. */
#define BIND_MANY	(IS_ENABLED(CONFIG_KASAN) ? 40 : 300)

/*
 * A WRITE of this size takes an MR of 257 translations where there are such; siw has 256 at
 * most.
 */
#define BIND_LARGE	SZ_1M

struct bind {
	struct rdmafs_xprt_server *server;
	struct raw **raw;
	u32 nr;
	int refusal;		/* what the service says to a new session, or 0 */
	atomic_t opened;	/* sessions that it has taken */
	atomic_t closed;	/* and closed */
};

static void bind_handle(struct rdmafs_xprt_req *req, void *ctx)
{
	rdmafs_xprt_req_reply(req, 8, 0, RDMAFS_REPLY_NOCACHE);
}

static int bind_session_open(struct rdmafs_xprt_session *s, void *ctx)
{
	struct bind *b = ctx;

	if (!b->refusal)
		atomic_inc(&b->opened);
	return b->refusal;
}

static void bind_session_close(struct rdmafs_xprt_session *s, void *ctx)
{
	struct bind *b = ctx;

	atomic_inc(&b->closed);
}

static const struct rdmafs_xprt_service bind_service = {
	.session_open	= bind_session_open,
	.session_close	= bind_session_close,
	.handle		= bind_handle,
};

/* Keep a connection: it is closed when the case is over, or by bind_leave(). */
static struct raw *bind_keep(struct kunit *test, struct raw *raw)
{
	struct bind *b = test->priv;

	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(raw), "connect: %ld", PTR_ERR(raw));
	KUNIT_ASSERT_LT(test, b->nr, BIND_MANY + 8);
	b->raw[b->nr++] = raw;
	return raw;
}

/* Open a connection with the private data @cm; it is accepted. */
static struct raw *bind_open_as(struct kunit *test, const struct rxp_wire_cm *cm)
{
	return bind_keep(test, raw_open_as(BIND_PORT, cm, NULL));
}

static void bind_leave(struct kunit *test, struct raw *raw)
{
	struct bind *b = test->priv;
	u32 i;

	for (i = 0; i < b->nr; i++)
		if (b->raw[i] == raw)
			b->raw[i] = NULL;
	raw_close(raw);
}

static struct raw *bind_open(struct kunit *test)
{
	struct rxp_wire_cm cm;

	raw_fill_cm(&cm);
	return bind_open_as(test, &cm);
}

/* Say HELLO to @of's session as its client, or as a new client if @of is NULL. */
static void bind_hello(struct kunit *test, struct raw *raw, const struct raw *of)
{
	struct rxp_wire_hello hello = {};

	if (of) {
		memcpy(raw->client, of->client, sizeof(raw->client));
		memcpy(hello.session, of->welcome.session, sizeof(hello.session));
		hello.boot = of->welcome.boot;
	} else {
		get_random_bytes(raw->client, sizeof(raw->client));
	}
	memcpy(hello.client, raw->client, sizeof(hello.client));
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_HELLO, 0, 0, &hello,
				      sizeof(hello), 0), 0);
}

static void bind_welcome(struct kunit *test, struct raw *raw, u32 status)
{
	raw->welcome = *(struct rxp_wire_welcome *)
		raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_WELCOME, 0, 0);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(raw->welcome.status), status);
}

static struct raw *bind_session(struct kunit *test)
{
	struct raw *raw = bind_open(test);

	bind_hello(test, raw, NULL);
	bind_welcome(test, raw, RXP_WELCOME_NEW);
	return raw;
}

/* The connection belongs to its session: a request on it must be answered. */
static void bind_works(struct kunit *test, struct raw *raw, u32 seq)
{
	const struct rxp_frame f = { .seq = seq, .body_len = 8 };

	KUNIT_ASSERT_EQ(test, raw_send_call(raw, &f), 0);
	raw_expect(test, raw, RXP_REPLY, 0, 0, seq);
}

static u32 bind_conns(struct bind *b)
{
	u32 nr;

	spin_lock_bh(&b->server->lock);
	nr = b->server->nr_conns;
	spin_unlock_bh(&b->server->lock);
	return nr;
}

/* Wait until the server has @nr connections; hundreds of them end one by one. */
static void bind_left(struct kunit *test, u32 nr)
{
	unsigned long end = jiffies + RAW_WAIT;
	struct bind *b = test->priv;
	u32 now, last = 0;

	while ((now = bind_conns(b)) != nr && time_before(jiffies, end)) {
		if (now != last)
			end = jiffies + RAW_WAIT;
		last = now;
		usleep_range(1000, 2000);
	}
	KUNIT_EXPECT_EQ(test, now, nr);
}

/* Wait until the server's only connection is in @state. */
static bool bind_reaches(struct kunit *test, enum rxp_conn_state state)
{
	unsigned long end = jiffies + RAW_WAIT;
	struct bind *b = test->priv;
	struct rxs_conn *conn;
	bool there;

	do {
		spin_lock_bh(&b->server->lock);
		conn = list_first_entry_or_null(&b->server->conns, struct rxs_conn, link);
		there = conn && list_is_singular(&b->server->conns) &&
			READ_ONCE(conn->conn.state) == state;
		spin_unlock_bh(&b->server->lock);
		if (there)
			return true;
		usleep_range(1000, 2000);
	} while (time_before(jiffies, end));
	return false;
}

static void bind_hold(struct kunit *test, const char *command)
{
	KUNIT_ASSERT_EQ(test, rdmafs_points_command(command), 0);
}

/*
 * The HELLO arrives while the accept's worker is held.  It must be kept, and answered when the
 * worker goes on.
 */
static void bind_while_accepted(struct kunit *test)
{
	struct raw *raw;

	bind_hold(test, "hold conn_accepted 1");
	raw = bind_open(test);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("conn_accepted", 1, 20));
	bind_hello(test, raw, NULL);
	KUNIT_EXPECT_TRUE(test, bind_reaches(test, RXP_CONN_HELLO));
	bind_hold(test, "release conn_accepted");
	bind_welcome(test, raw, RXP_WELCOME_NEW);
	bind_works(test, raw, 1);
}

/* One connection's accept is held.  Another connection must be accepted and bound meanwhile. */
static void bind_beside_accepted(struct kunit *test)
{
	struct raw *raw;

	bind_hold(test, "hold conn_accepted 1");
	raw = bind_open(test);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("conn_accepted", 1, 20));
	bind_works(test, bind_session(test), 1);
	KUNIT_EXPECT_TRUE(test, rdmafs_point_wait("conn_accepted", 1, 0));
	bind_hold(test, "release conn_accepted");
	bind_hello(test, raw, NULL);
	bind_welcome(test, raw, RXP_WELCOME_NEW);
}

static DECLARE_COMPLETION(bind_established);
static rdma_cm_event_handler bind_server_event;

static int bind_seen_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_ESTABLISHED)
		complete(&bind_established);
	return bind_server_event(id, event);
}

/*
 * The HELLO arrives before the message of the connection manager that says that the connection
 * stands.  A device reports that a message came so early (COMM_EST).  The server must pass the
 * report on, so that the connection manager takes the connection for established: it would
 * otherwise ask its peer again and again, and give up in the end.
 */
static void bind_overtaken(struct kunit *test)
{
	struct ib_event event = { .event = IB_EVENT_COMM_EST };
	struct bind *b = test->priv;
	struct rxp_wire_cm cm;
	struct rxp_conn *conn;
	struct raw *raw;

	raw_fill_cm(&cm);
	raw = bind_keep(test, raw_open_unheard(BIND_PORT, &cm, RAW_RECVS));
	if (raw_iwarp(raw))
		kunit_skip(test, "on iWARP nothing overtakes what says that it stands");
	spin_lock_bh(&b->server->lock);
	conn = &list_first_entry(&b->server->conns, struct rxs_conn, link)->conn;
	spin_unlock_bh(&b->server->lock);
	reinit_completion(&bind_established);
	rdma_lock_handler(conn->id);
	bind_server_event = conn->id->event_handler;
	conn->id->event_handler = bind_seen_event;
	rdma_unlock_handler(conn->id);
	bind_hello(test, raw, NULL);
	bind_welcome(test, raw, RXP_WELCOME_NEW);
	KUNIT_EXPECT_FALSE(test, completion_done(&bind_established));

	/* Software devices do not report it: call the handler as a device would. */
	event.device = conn->qp->device;
	event.element.qp = conn->qp;
	conn->qp->event_handler(&event, conn->qp->qp_context);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&bind_established, RAW_WAIT));
	bind_works(test, raw, 1);
}

/*
 * The server ends a connection of which it has not heard that it stands.  The client must be
 * told, even if it has no receives that could be flushed.
 */
static void bind_unheard_ended(struct kunit *test)
{
	struct rxp_wire_cm cm;
	struct raw *raw;

	raw_fill_cm(&cm);
	raw = bind_keep(test, raw_open_unheard(BIND_PORT, &cm, 0));
	if (raw_iwarp(raw))
		kunit_skip(test, "on iWARP it is heard of: see hostile_mute");
	KUNIT_EXPECT_FALSE(test, READ_ONCE(raw->cut));
	/* A message that is not a HELLO. */
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_PING, 0, 0, NULL, 0, 0), 0);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(raw));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(raw->send_ok));
	KUNIT_EXPECT_EQ(test, READ_ONCE(raw->status), -ECONNREFUSED);
	bind_left(test, 0);
}

/*
 * The client disconnects while the accept's worker is held.  The server must not forget that,
 * and end the connection when the worker goes on.
 */
static void bind_lost_while_accepted(struct kunit *test)
{
	struct raw *raw;

	bind_hold(test, "hold conn_accepted 1");
	raw = bind_open(test);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("conn_accepted", 1, 20));
	bind_leave(test, raw);
	KUNIT_EXPECT_TRUE(test, bind_reaches(test, RXP_CONN_LOST));
	bind_hold(test, "release conn_accepted");
	bind_left(test, 0);
}

/*
 * A HELLO comes on a connection that the client has given up, after the HELLO of its next one.
 * The server must end the late connection; the newer one keeps the session.
 */
static void bind_late(struct kunit *test)
{
	struct raw *first = bind_session(test), *late, *newer;

	late = bind_open(test);
	newer = bind_open(test);
	bind_hello(test, newer, first);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(first));
	bind_welcome(test, newer, RXP_WELCOME_BOUND);
	bind_works(test, newer, 1);
	bind_hello(test, late, first);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(late));
	KUNIT_EXPECT_EQ(test, atomic_read(&late->arrived), 0);
	bind_left(test, 1);
	bind_works(test, newer, 2);
}

/*
 * The same with a HELLO that names no session: it must not make one, and the newer connection
 * keeps its session.
 */
static void bind_late_new(struct kunit *test)
{
	struct raw *first = bind_session(test), *late, *newer, nobody = {};

	late = bind_open(test);
	newer = bind_open(test);
	bind_hello(test, newer, first);
	bind_welcome(test, newer, RXP_WELCOME_BOUND);
	memcpy(nobody.client, first->client, sizeof(nobody.client));
	nobody.welcome.boot = first->welcome.boot;
	bind_hello(test, late, &nobody);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(late));
	bind_left(test, 1);
	bind_works(test, newer, 1);
}

/*
 * Hundreds of connections say HELLO to one session, whose old connection takes long to end.  A
 * client with another session must be served meanwhile, and the newest of the hundreds must
 * get the place.  Otherwise one client could block the server's workqueue.
 */
static void bind_many(struct kunit *test)
{
	struct raw *first = bind_session(test), *raw = NULL, *other;
	struct bind *b = test->priv;
	u32 i;

	other = bind_open(test);
	for (i = 0; i < BIND_MANY; i++)
		raw = bind_open(test);
	bind_hold(test, "hold conn_drained 1");
	for (i = 0; i < BIND_MANY; i++)
		bind_hello(test, b->raw[b->nr - BIND_MANY + i], first);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("conn_drained", 1, 20));
	bind_hello(test, other, NULL);
	bind_welcome(test, other, RXP_WELCOME_NEW);
	bind_works(test, other, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&raw->arrived), 0);
	bind_hold(test, "release conn_drained");
	bind_welcome(test, raw, RXP_WELCOME_BOUND);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(raw->welcome.incarnation), 2);
	bind_works(test, raw, 1);
	/* All the other connections have ended. */
	bind_left(test, 2);
	bind_works(test, other, 2);
}

/*
 * A client leaves while its connection waits for its place: the connection must end, and leave
 * the session usable.
 */
static void bind_waiting_leaves(struct kunit *test)
{
	struct raw *first = bind_session(test), *raw, *after;

	bind_hold(test, "hold conn_drained 1");
	raw = bind_open(test);
	bind_hello(test, raw, first);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("conn_drained", 1, 20));
	bind_leave(test, raw);
	bind_left(test, 1);
	bind_hold(test, "release conn_drained");
	bind_left(test, 0);
	after = bind_open(test);
	bind_hello(test, after, first);
	bind_welcome(test, after, RXP_WELCOME_BOUND);
	bind_works(test, after, 1);
}

/* The state of the server's only session; -1: it has none, or several. */
static int bind_session_state(struct bind *b)
{
	struct rdmafs_xprt_session *s;
	int state = -1;

	spin_lock_bh(&b->server->lock);
	s = list_first_entry_or_null(&b->server->sessions, struct rdmafs_xprt_session, link);
	if (s && list_is_singular(&b->server->sessions)) {
		spin_lock(&s->lock);
		state = s->state;
		spin_unlock(&s->lock);
	}
	spin_unlock_bh(&b->server->lock);
	return state;
}

/* Wait until no session is left. */
static bool bind_sessions_end(struct bind *b)
{
	unsigned long end = jiffies + RAW_WAIT;
	u32 nr;

	do {
		spin_lock_bh(&b->server->lock);
		nr = b->server->nr_sessions;
		spin_unlock_bh(&b->server->lock);
		if (!nr)
			return true;
		usleep_range(1000, 2000);
	} while (time_before(jiffies, end));
	return false;
}

static const int bind_refusals[] = { 0, -ENOMEM };

static void bind_refusal_desc(const int *refusal, char *desc)
{
	strscpy(desc, *refusal ? "refused" : "opened", KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(bind_refusal, bind_refusals, bind_refusal_desc);

/*
 * A session is closed while a worker makes it, as its client says HELLO on another connection.  It
 * must stay until that worker is done, and must end then, whether the service has opened it or
 * has refused to.  The client must be told on both connections to come again, and must get
 * another session when it does.
 */
static void bind_closed_while_made(struct kunit *test)
{
	struct raw *first, *second, *third;
	struct bind *b = test->priv;

	b->refusal = *(const int *)test->param_value;
	bind_hold(test, "hold session_made 1");
	first = bind_open(test);
	bind_hello(test, first, NULL);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("session_made", 1, 20));
	KUNIT_EXPECT_EQ(test, bind_session_state(b), RXS_SESSION_MAKING);
	second = bind_open(test);
	bind_hello(test, second, first);
	bind_welcome(test, second, RXP_WELCOME_REFUSED);
	bind_welcome(test, first, RXP_WELCOME_REFUSED);
	bind_leave(test, second);
	KUNIT_EXPECT_EQ(test, bind_session_state(b), RXS_SESSION_ABANDONED);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->opened), !b->refusal);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->closed), 0);
	KUNIT_EXPECT_TRUE(test, rdmafs_point_wait("session_made", 1, 0));

	bind_hold(test, "release session_made");
	KUNIT_ASSERT_TRUE(test, bind_sessions_end(b));
	KUNIT_EXPECT_EQ(test, atomic_read(&b->closed), !b->refusal);
	b->refusal = 0;
	third = bind_open(test);
	bind_hello(test, third, first);
	bind_welcome(test, third, RXP_WELCOME_NEW);
	bind_works(test, third, 1);
}

/*
 * The address has gone to another port, as when a bond fails over.  The server must end the
 * connection, and the client can come back.
 */
static void bind_address_changes(struct kunit *test)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_ADDR_CHANGE };
	struct raw *raw = bind_session(test), *again;
	struct bind *b = test->priv;
	struct rxp_conn *conn;

	spin_lock_bh(&b->server->lock);
	conn = &list_first_entry(&b->server->conns, struct rxs_conn, link)->conn;
	spin_unlock_bh(&b->server->lock);
	/* No other event ends the connection meanwhile. */
	KUNIT_EXPECT_EQ(test, conn->id->event_handler(conn->id, &event), 0);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(raw));
	again = bind_open(test);
	bind_hello(test, again, raw);
	bind_welcome(test, again, RXP_WELCOME_BOUND);
	bind_works(test, again, 1);
}

/* Send the CALL of a large WRITE. */
static void bind_call(struct kunit *test, struct raw *raw, u16 slot, u32 seq)
{
	const struct rxp_frame f = {
		.slot = slot, .seq = seq, .flags = RXP_F_WRITE, .body_len = 8,
		.bulk.length = BIND_LARGE,
	};

	KUNIT_ASSERT_EQ(test, raw_send_call(raw, &f), 0);
}

/* Take the server's STCRW, and send DATA. */
static void bind_data(struct kunit *test, struct raw *raw, u16 slot, u32 seq)
{
	struct rxp_wire_tag tag;

	tag = *(struct rxp_wire_tag *)
		raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_STCRW, slot, seq);
	tag.iova = 0;
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_DATA, slot, seq, &tag,
				      sizeof(tag), le32_to_cpu(tag.rkey)), 0);
}

/* Do a large WRITE.  Returns whether its reply brings a grant. */
static bool bind_write(struct kunit *test, struct raw *raw, u16 slot, u32 seq)
{
	struct rxp_wire_hdr *hdr;

	bind_call(test, raw, slot, seq);
	bind_data(test, raw, slot, seq);
	hdr = (struct rxp_wire_hdr *)raw_expect(test, raw, RXP_REPLY, 0, slot, seq) - 1;
	return le16_to_cpu(hdr->flags) & RXP_F_GRANT;
}

/*
 * A connection is accepted to join a session, and leaves before it is bound.  It must take
 * nothing of the session with it: the MRs and buffers belong to the session's connections.
 */
static void bind_joiner_leaves(struct kunit *test)
{
	struct raw *raw, *joiner;
	struct rxp_wire_cm cm;

	raw_fill_cm(&cm);
	cm.count = 2;
	raw = bind_open_as(test, &cm);
	bind_hello(test, raw, NULL);
	bind_welcome(test, raw, RXP_WELCOME_NEW);
	cm.index = 1;
	cm.incarnation = raw->welcome.incarnation;
	memcpy(cm.session, raw->welcome.session, sizeof(cm.session));
	joiner = bind_open_as(test, &cm);
	bind_left(test, 2);
	bind_leave(test, joiner);
	bind_left(test, 1);
	/* The server asks for its data, and does not answer RETRY_LATER. */
	bind_write(test, raw, 0, 1);
	bind_works(test, raw, 2);
}

/*
 * Do WRITEs until one brings a grant: for a moment after any request found no translations, in
 * any case, there is none.
 */
static void bind_granted(struct kunit *test, struct raw *raw, u16 slot)
{
	unsigned long end = jiffies + RAW_WAIT;
	u32 seq = 1;

	while (!bind_write(test, raw, slot, seq++)) {
		KUNIT_ASSERT_TRUE(test, time_before(jiffies, end));
		/* Each WRITE takes two receives. */
		KUNIT_ASSERT_EQ(test, raw_repost(raw, &raw->recv[(raw->taken - 2) % RAW_RECVS]), 0);
		KUNIT_ASSERT_EQ(test, raw_repost(raw, &raw->recv[(raw->taken - 1) % RAW_RECVS]), 0);
		msleep(200);
	}
}

/*
 * A client does not wait for its WELCOME, and gets grants as soon as its connection has its
 * place.  They must be recalled like any others.
 */
static void bind_recall_before_welcome(struct kunit *test)
{
	struct rpol_quota quota = { .max = RPOL_CLASS_USUAL, .weight = RPOL_WEIGHT_DEFAULT };
	struct bind *b = test->priv;
	const struct rxp_wire_keys *keys;
	struct rxp_conn *conn;
	struct raw *raw;

	raw = bind_open(test);
	bind_hold(test, "hold conn_placed 1");
	bind_hello(test, raw, NULL);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("conn_placed", 1, 20));
	bind_granted(test, raw, 1);
	bind_granted(test, raw, 2);
	spin_lock_bh(&b->server->lock);
	conn = &list_first_entry(&b->server->conns, struct rxs_conn, link)->conn;
	spin_unlock_bh(&b->server->lock);
	/*
	 * The connection is held, and so it stays.  One of the two grants is more than it may
	 * have now.
	 */
	KUNIT_ASSERT_EQ(test, rpol_member_set_quota(conn->pool->member, &quota), 0);
	keys = raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_RECALL, 0, 0);
	KUNIT_EXPECT_EQ(test, le16_to_cpu(keys->nr), 1);
	bind_hold(test, "release conn_placed");
	bind_welcome(test, raw, RXP_WELCOME_NEW);
	bind_works(test, raw, 1);
}

/* The session of the last client that came; valid as long as that client stays. */
static struct rdmafs_xprt_session *bind_last(struct kunit *test)
{
	struct bind *b = test->priv;
	struct rdmafs_xprt_session *s;

	spin_lock_bh(&b->server->lock);
	s = list_last_entry(&b->server->sessions, struct rdmafs_xprt_session, link);
	spin_unlock_bh(&b->server->lock);
	return s;
}

static u32 bind_busy(struct rdmafs_xprt_session *s)
{
	u32 i, nr = 0;

	spin_lock_bh(&s->lock);
	for (i = 0; s->conns[0] && i < RXP_RECV_RESERVE; i++)
		nr += test_bit(0, &s->conns[0]->ctl[i].busy);
	spin_unlock_bh(&s->lock);
	return nr;
}

static bool bind_rings(struct rdmafs_xprt_session *s)
{
	bool rings;

	spin_lock_bh(&s->lock);
	rings = s->rings;
	spin_unlock_bh(&s->lock);
	return rings;
}

/*
 * A client posts no receives, and the service rings until no buffer is free.  When the client
 * posts receives, one more EVENT must come, for all that found no buffer, and no other.
 */
static void bind_event_later(struct kunit *test)
{
	unsigned long end = jiffies + RAW_WAIT;
	struct rdmafs_xprt_session *s;
	struct rxp_wire_cm cm;
	struct raw *raw;
	u32 i;

	raw_fill_cm(&cm);
	/* The one is for the WELCOME. */
	raw = bind_keep(test, raw_open_standing(BIND_PORT, &cm, 1));
	if (raw_iwarp(raw))
		kunit_skip(test, "on iWARP no queue stands so");
	bind_hello(test, raw, NULL);
	bind_welcome(test, raw, RXP_WELCOME_NEW);
	s = bind_last(test);
	while (bind_busy(s) && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_ASSERT_EQ(test, bind_busy(s), 0);
	for (i = 0; i < RXP_RECV_RESERVE; i++) {
		rdmafs_xprt_session_ring(s);
		KUNIT_EXPECT_FALSE(test, bind_rings(s));
	}
	for (i = 0; i < 3; i++) {
		rdmafs_xprt_session_ring(s);
		KUNIT_EXPECT_TRUE(test, bind_rings(s));
	}
	for (i = 1; i < RAW_RECVS; i++)
		KUNIT_ASSERT_EQ(test, raw_repost(raw, &raw->recv[i]), 0);
	for (i = 0; i <= RXP_RECV_RESERVE; i++)
		raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_EVENT, 0, 0);
	KUNIT_EXPECT_FALSE(test, bind_rings(s));
	bind_works(test, raw, 1);
}

/*
 * The service rings while the WELCOME is not sent yet.  The EVENT must come, behind the WELCOME.
 */
static void bind_event_before_welcome(struct kunit *test)
{
	struct rdmafs_xprt_session *s;
	struct raw *raw;
	u32 i;

	raw = bind_open(test);
	bind_hold(test, "hold conn_placed 1");
	bind_hello(test, raw, NULL);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("conn_placed", 1, 20));
	s = bind_last(test);
	for (i = 0; i < 3; i++) {
		rdmafs_xprt_session_ring(s);
		KUNIT_EXPECT_TRUE(test, bind_rings(s));
	}
	bind_hold(test, "release conn_placed");
	bind_welcome(test, raw, RXP_WELCOME_NEW);
	raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_EVENT, 0, 0);
	KUNIT_EXPECT_FALSE(test, bind_rings(s));
	bind_works(test, raw, 1);
	rdmafs_xprt_session_ring(s);
	raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_EVENT, 0, 0);
	bind_works(test, raw, 2);
}

/*
 * The service rings while the session has no connection.  One EVENT must come when the client has
 * connected again, behind the WELCOME.
 */
static void bind_event_unconnected(struct kunit *test)
{
	struct raw *first = bind_session(test), *again;
	struct rdmafs_xprt_session *s = bind_last(test);
	u32 i;

	KUNIT_ASSERT_EQ(test, rdma_disconnect(first->id), 0);
	bind_left(test, 0);
	for (i = 0; i < 3; i++) {
		rdmafs_xprt_session_ring(s);
		KUNIT_EXPECT_TRUE(test, bind_rings(s));
	}
	again = bind_open(test);
	bind_hello(test, again, first);
	bind_welcome(test, again, RXP_WELCOME_BOUND);
	raw_expect(test, again, RXP_NOTIFY, RXP_NOTIFY_EVENT, 0, 0);
	KUNIT_EXPECT_FALSE(test, bind_rings(s));
	bind_works(test, again, 1);
	rdmafs_xprt_session_ring(s);
	raw_expect(test, again, RXP_NOTIFY, RXP_NOTIFY_EVENT, 0, 0);
	bind_works(test, again, 2);
}

/* Grants may take half of the pages that a session may have, and no more. */
static void bind_grants_half(struct kunit *test)
{
	struct rdmafs_xprt_limits limits = raw_limits();
	struct bind *b = test->priv;
	struct rdmafs_xprt_session *s;
	struct raw *raw;
	u16 slot;

	limits.data_mib = 8 * BIND_LARGE / SZ_1M;
	rdmafs_xprt_set_limits(b->server, &limits);
	raw = bind_session(test);
	for (slot = 0; slot < 4; slot++)
		bind_granted(test, raw, slot);
	/* More WRITEs are served, without a grant. */
	for (; slot < 8; slot++)
		KUNIT_EXPECT_FALSE(test, bind_write(test, raw, slot, 1));
	s = list_first_entry(&b->server->sessions, struct rdmafs_xprt_session, link);
	spin_lock_bh(&s->lock);
	KUNIT_EXPECT_EQ(test, s->nr_grants, 4);
	KUNIT_EXPECT_EQ(test, s->grant_bytes, 4 * BIND_LARGE);
	spin_unlock_bh(&s->lock);
}

/* Change a session's quota as a write to /proc does. */
static int bind_set_quota(struct rdmafs_xprt_session *s, const struct rpol_quota *q)
{
	return s->member.ops->set_quota(&s->member, q);
}

/* A connected session's quota must be @q, in its pool and in /proc. */
static void bind_expect_quota(struct kunit *test, struct rdmafs_xprt_session *s,
			      const struct rpol_quota *q)
{
	struct rpol_quota shown, held;

	mutex_lock(&s->member.lock);
	shown = s->member.quota;
	mutex_unlock(&s->member.lock);
	rpol_member_get_quota(s->conns[0]->pool->member, &held);
	KUNIT_EXPECT_EQ(test, shown.min, q->min);
	KUNIT_EXPECT_EQ(test, shown.max, q->max);
	KUNIT_EXPECT_EQ(test, shown.weight, q->weight);
	KUNIT_EXPECT_EQ(test, held.min, q->min);
	KUNIT_EXPECT_EQ(test, held.max, q->max);
	KUNIT_EXPECT_EQ(test, held.weight, q->weight);
}

/*
 * A session whose quota is more than half of the device has lost its connection.  One of its
 * requests is still in the service, and uses the old connection's pool.
 */
static struct raw *bind_quota_lost(struct kunit *test, struct rpol_quota *q)
{
	struct raw *raw = bind_session(test);
	struct rdmafs_xprt_session *s = bind_last(test);
	struct rpol_domain_stats st;

	rpol_domain_get_stats(s->conns[0]->pool->rdev->domain, &st);
	q->min = st.capacity / 2 + 1;
	q->max = st.capacity - 1;
	q->weight = 7;
	KUNIT_ASSERT_EQ(test, bind_set_quota(s, q), 0);
	bind_expect_quota(test, s, q);
	bind_hold(test, "hold req_run");
	bind_call(test, raw, 0, 1);
	bind_data(test, raw, 0, 1);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("req_run", 1, 20));
	rdma_disconnect(raw->id);
	bind_left(test, 0);
	return raw;
}

static void bind_quota_found(struct kunit *test, struct raw *raw)
{
	struct raw *again = bind_open(test);

	bind_hello(test, again, raw);
	bind_welcome(test, again, RXP_WELCOME_BOUND);
}

/* A session's quota must go with it to the next connection, though the old pool still exists. */
static void bind_quota_stays(struct kunit *test)
{
	struct rdmafs_xprt_session *s;
	struct rpol_domain_stats st;
	struct rpol_quota q;

	bind_quota_found(test, bind_quota_lost(test, &q));
	s = bind_last(test);
	bind_expect_quota(test, s, &q);
	rpol_domain_get_stats(s->conns[0]->pool->rdev->domain, &st);
	KUNIT_EXPECT_EQ(test, st.reserved_min, q.min);
}

/*
 * The minimum that the session had was promised to another one before it comes back.  It must
 * come back without the minimum; the rest of its quota stays.
 */
static void bind_quota_taken(struct kunit *test)
{
	struct rdmafs_xprt_session *s, *other;
	struct rpol_quota q, taken;
	struct raw *raw;

	raw = bind_quota_lost(test, &q);
	s = bind_last(test);
	bind_session(test);
	other = bind_last(test);
	taken = q;
	KUNIT_ASSERT_EQ(test, bind_set_quota(other, &taken), 0);
	bind_quota_found(test, raw);
	q.min = 0;
	bind_expect_quota(test, s, &q);
	bind_expect_quota(test, other, &taken);
}

/*
 * A session is at its own maximum and waits for translations.  Other sessions must still get
 * grants, as the device is not short of any.
 */
static void bind_own_maximum(struct kunit *test)
{
	struct rpol_quota quota = { .max = RPOL_CLASS_USUAL, .weight = RPOL_WEIGHT_DEFAULT };
	struct raw *full = bind_session(test), *other;
	struct rdmafs_xprt_session *s = bind_last(test);

	KUNIT_ASSERT_EQ(test, bind_set_quota(s, &quota), 0);
	other = bind_session(test);
	bind_granted(test, other, 0);
	bind_call(test, full, 0, 1);
	raw_expect(test, full, RXP_NOTIFY, RXP_NOTIFY_STCRW, 0, 1);
	bind_hold(test, "hold req_claim");
	bind_call(test, full, 1, 1);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("req_claim", 1, 20));
	bind_hold(test, "release req_claim");
	KUNIT_EXPECT_TRUE(test, bind_write(test, other, 1, 1));
}

static int bind_init(struct kunit *test)
{
	struct bind *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	struct rdmafs_xprt_limits limits = raw_limits();
	struct raw *raw;

	KUNIT_ASSERT_NOT_NULL(test, b);
	b->raw = kunit_kcalloc(test, BIND_MANY + 8, sizeof(*b->raw), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, b->raw);
	limits.client_connections = BIND_MANY + 8;
	limits.unbound_connections = BIND_MANY + 8;
	limits.client_share = 100;
	b->server = rdmafs_xprt_listen(&init_net, BIND_PORT, &bind_service, b, &limits);
	if (IS_ERR(b->server))
		kunit_skip(test, "can't listen");
	raw = raw_open(BIND_PORT);
	if (IS_ERR(raw)) {
		rdmafs_xprt_unlisten(b->server);
		kunit_skip(test, "no RDMA device at %s", raw_address_name());
	}
	test->priv = b;
	/* Connecting hundreds of times may take longer than a lease. */
	raw_no_lease(b->server);
	raw_close(raw);
	bind_left(test, 0);
	return 0;
}

static void bind_exit(struct kunit *test)
{
	struct bind *b = test->priv;
	u32 i;

	if (!b)
		return;
	rdmafs_points_command("release conn_accepted");
	rdmafs_points_command("release conn_placed");
	rdmafs_points_command("release conn_drained");
	rdmafs_points_command("release req_claim");
	rdmafs_points_command("release req_run");
	rdmafs_points_command("release session_made");
	for (i = 0; i < b->nr; i++)
		if (b->raw[i])
			raw_close(b->raw[i]);
	rdmafs_xprt_unlisten(b->server);
}

static struct kunit_case bind_cases[] = {
	KUNIT_CASE(bind_while_accepted),
	KUNIT_CASE(bind_unheard_ended),
	KUNIT_CASE(bind_lost_while_accepted),
	KUNIT_CASE(bind_beside_accepted),
	KUNIT_CASE(bind_overtaken),
	KUNIT_CASE(bind_late),
	KUNIT_CASE(bind_late_new),
	KUNIT_CASE(bind_many),
	KUNIT_CASE(bind_waiting_leaves),
	KUNIT_CASE_PARAM(bind_closed_while_made, bind_refusal_gen_params),
	KUNIT_CASE(bind_address_changes),
	KUNIT_CASE(bind_joiner_leaves),
	KUNIT_CASE(bind_recall_before_welcome),
	KUNIT_CASE(bind_event_later),
	KUNIT_CASE(bind_event_before_welcome),
	KUNIT_CASE(bind_event_unconnected),
	KUNIT_CASE(bind_grants_half),
	KUNIT_CASE(bind_quota_stays),
	KUNIT_CASE(bind_quota_taken),
	KUNIT_CASE(bind_own_maximum),
	{}
};

static struct kunit_suite bind_suite = {
	.name = "rdmafs_xprt_hostile_bind",
	.init = bind_init,
	.exit = bind_exit,
	.test_cases = bind_cases,
};

kunit_test_suite(bind_suite);
