// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_requests: requests that the server cannot finish at once.
 *
 * A client in bare verbs loses its connection while the server is at some step of its request,
 * and sends the CALL again on the next connection.  A test point fixes the step.  The client
 * gets its answer, whichever comes first, the thread of the old request or the new CALL.  Other
 * cases make requests wait: for the client, for a thread of the server (shares), or for
 * translations (in line).  Needs an RDMA device, as the other suites with a peer do.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <net/net_namespace.h>
#include "tests/points/points.h"
#include "transport/points.h"
#include "transport/server/server.h"
#include "xprt_raw.h"

#define REQUESTS_PORT	20994
#define REQUESTS_LEN	65536
#define REQUESTS_SLOT	1

/*
 * This times the number of slots is longer than the server takes to look, and less than
 * RAW_WAIT.
 */
#define REQUESTS_STAND_MS	500

#define REQUESTS_LAG	4		/* requests of a slot whose replies are not sent */
#define REQUESTS_SHARE	8		/* threads that one session may have, on one or two CPUs */
#define REQUESTS_CLIENT	24		/* threads that all sessions of one client may have */
#define REQUESTS_DOMAIN	16		/* threads that all requests for one file system may have */
#define REQUESTS_PART	12		/* threads that those of one client may have there */

/**
 * struct requests - the server, and its clients
 * @release:  lets all requests go on that said REQUESTS_HELD
 * @few:      lets one request for each complete() go on that said REQUESTS_FEW
 * @held:     requests that have come to wait for one of these; written by the server's threads
 * @served:   requests that are served; written by the server's threads
 * @domain:   domain of the device that the server's sessions are on
 * @entries:  translations that a sink of 1 MiB takes there
 * @capacity: capacity of the domain before a case changed it, or 0
 * @server:   server under test
 * @first:    first connection, opened by the suite's init
 * @second:   replaces @first, or is beside it; NULL: not opened
 * @third:    the same
 * @fourth:   the same
 * @fifth:    the same
 * @looked:   looks of requests_told() at @first and @second, in turn
 *
 * The case's thread owns all of it, but for the counters.
 */
struct requests {
	struct completion release;
	struct completion few;
	atomic_t held;
	atomic_t served;
	struct rpol_domain *domain;
	u32 entries;
	u64 capacity;
	struct rdmafs_xprt_server *server;
	struct raw *first;
	struct raw *second;
	struct raw *third;
	struct raw *fourth;
	struct raw *fifth;
	u32 looked;
};

/* The first byte of a request's body: the completion that it waits for; 0: none. */
enum { REQUESTS_HELD = 1, REQUESTS_FEW };

/* Handle a request: a READ gets zeros for all that it has room for, other requests get no data. */
static void requests_handle(struct rdmafs_xprt_req *req, void *ctx)
{
	struct requests *r = ctx;
	struct iov_iter dest;
	u32 len = 0;

	if (req->body_len && *(const u8 *)req->body) {
		atomic_inc(&r->held);
		wait_for_completion(*(const u8 *)req->body == REQUESTS_FEW ? &r->few : &r->release);
	}
	memset(req->reply, 0, 8);
	if (req->read_max && !rdmafs_xprt_req_room(req, req->read_max, &dest))
		len = iov_iter_zero(req->read_max, &dest);
	rdmafs_xprt_req_reply(req, 8, len, RDMAFS_REPLY_NOCACHE);
	atomic_inc(&r->served);
}

static int requests_session_open(struct rdmafs_xprt_session *s, void *ctx)
{
	return 0;
}

static void requests_session_close(struct rdmafs_xprt_session *s, void *ctx)
{
}

/* The second byte of the body names the file system that the request may wait for; 0: none. */
static u64 requests_waits_for(struct rdmafs_xprt_req *req, void *ctx)
{
	return req->body_len > 1 ? ((const u8 *)req->body)[1] : 0;
}

static const struct rdmafs_xprt_service requests_service = {
	.session_open	= requests_session_open,
	.session_close	= requests_session_close,
	.handle		= requests_handle,
	.waits_for	= requests_waits_for,
};

/* Say HELLO to the session of @of, or as a new client if @of is NULL. */
static void requests_hello(struct kunit *test, struct raw *raw, const struct raw *of)
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
	if (raw_say(raw, RXP_CONTROL, RXP_CONTROL_HELLO, 0, 0, &hello, sizeof(hello), 0))
		KUNIT_FAIL(test, "HELLO can't be sent");
}

/* Connect and say HELLO; the WELCOME is still to be taken. */
static struct raw *requests_connect(struct kunit *test, const struct raw *of)
{
	struct raw *raw = raw_open(REQUESTS_PORT);

	KUNIT_ASSERT_FALSE(test, IS_ERR(raw));
	requests_hello(test, raw, of);
	return raw;
}

static void requests_welcome(struct kunit *test, struct raw *raw, u32 status)
{
	raw->welcome = *(struct rxp_wire_welcome *)
		raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_WELCOME, 0, 0);
	KUNIT_ASSERT_EQ(test, le32_to_cpu(raw->welcome.status), status);
}

/* Open one more session; for the server's shares it is one of the same client as the others. */
static void requests_more(struct kunit *test, struct raw **raw)
{
	*raw = requests_connect(test, NULL);
	requests_welcome(test, *raw, RXP_WELCOME_NEW);
}

static void requests_call_in(struct kunit *test, struct raw *raw, u16 slot, u32 seq, u16 flags,
			     u32 bulk)
{
	struct rxp_frame f = {
		.slot = slot, .seq = seq, .flags = flags, .body_len = 8, .bulk.length = bulk,
	};

	if (flags & RXP_F_RKEY) {
		f.bulk.rkey = 0x100;
		f.bulk.iova = PAGE_SIZE;
	}
	KUNIT_ASSERT_EQ(test, raw_send_call(raw, &f), 0);
}

static void requests_call_as(struct kunit *test, struct raw *raw, u32 seq, u16 flags, u32 bulk)
{
	requests_call_in(test, raw, REQUESTS_SLOT, seq, flags, bulk);
}

static void requests_call(struct kunit *test, struct raw *raw, u16 flags)
{
	requests_call_as(test, raw, 1, flags, REQUESTS_LEN);
}

/*
 * Wait until the server has looked at all that was sent before: it takes the messages of a
 * connection in order.
 */
static void requests_seen(struct kunit *test, struct raw *raw)
{
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_PING, 0, 0, NULL, 0, 0), 0);
	raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_PONG, 0, 0);
}

static void requests_held(struct kunit *test, const char *point)
{
	KUNIT_ASSERT_TRUE_MSG(test, rdmafs_point_wait(point, 1, 20), "nobody comes to %s", point);
}

/*
 * Finish a WRITE: the STCRW comes, DATA is sent (the data itself need not be written), the
 * reply comes.
 */
static void requests_written_in(struct kunit *test, struct raw *raw, u16 slot, u32 seq)
{
	struct rxp_wire_tag tag = *(struct rxp_wire_tag *)
		raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_STCRW, slot, seq);
	const struct rxp_wire_reply *reply;
	u32 rkey = le32_to_cpu(tag.rkey);

	tag.iova = 0;
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_DATA, slot, seq, &tag,
				      sizeof(tag), rkey), 0);
	reply = raw_expect(test, raw, RXP_REPLY, 0, slot, seq);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(reply->status), RXP_STATUS_OK);
}

static void requests_written(struct kunit *test, struct raw *raw)
{
	requests_written_in(test, raw, REQUESTS_SLOT, 1);
}

/* Finish a READ: it is cancelled, and the CANCEL is answered. */
static void requests_cancelled(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_reply *reply;

	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_CANCEL, REQUESTS_SLOT, 1, NULL,
				      0, 0), 0);
	reply = raw_expect(test, raw, RXP_REPLY, 0, REQUESTS_SLOT, 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(reply->status), RXP_STATUS_CANCELLED);
}

static void requests_finish(struct kunit *test, struct raw *raw, u16 flags)
{
	if (flags & RXP_F_WRITE)
		requests_written(test, raw);
	else
		requests_cancelled(test, raw);
}

/* The steps: @before, where the request is held first; @after, where it has just become passive. */
static const struct requests_param {
	const char *name;
	u16 flags;
	const char *before;
	const char *after;
} requests_params[] = {
	{ "write", RXP_F_WRITE, "req_ask", "req_asked" },
	{ "read", RXP_F_READ, "req_run", "req_held" },
};

static void requests_desc(const struct requests_param *p, char *desc)
{
	strscpy(desc, p->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(requests, requests_params, requests_desc);

static void requests_arm(struct kunit *test, const char *point)
{
	char command[48];

	snprintf(command, sizeof(command), "hold %s", point);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command(command), 0);
}

static void requests_release(struct kunit *test, const char *point)
{
	char command[48];

	snprintf(command, sizeof(command), "release %s", point);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command(command), 0);
}

/* Have a request of the first connection held at @p->before, and lose that connection. */
static void requests_lose(struct kunit *test, const struct requests_param *p)
{
	struct requests *r = test->priv;

	requests_arm(test, p->before);
	requests_call(test, r->first, p->flags);
	requests_held(test, p->before);
	rdma_disconnect(r->first->id);
}

/*
 * The connection is lost while the request is held at @before, and its end is held just before
 * it is unbound.  Then the request's thread leaves the request to that connection.  The end of
 * the connection must drop the request, so that the CALL on the next connection is answered.  A
 * request that stays with the dead connection would never be answered.
 */
static void requests_before_unbind(struct kunit *test)
{
	const struct requests_param *p = test->param_value;
	struct requests *r = test->priv;

	requests_arm(test, "conn_drained");
	requests_lose(test, p);
	requests_held(test, "conn_drained");
	requests_arm(test, p->after);
	requests_release(test, p->before);
	requests_held(test, p->after);
	requests_release(test, p->after);
	requests_release(test, "conn_drained");

	r->second = requests_connect(test, r->first);
	requests_welcome(test, r->second, RXP_WELCOME_BOUND);
	requests_call(test, r->second, p->flags);
	requests_finish(test, r->second, p->flags);
}

/*
 * As before, but the next connection is bound already when the thread of the old request goes
 * on, and the CALL comes again after that.  It must be answered on the next connection.
 */
static void requests_after_bind(struct kunit *test)
{
	const struct requests_param *p = test->param_value;
	struct requests *r = test->priv;

	requests_lose(test, p);
	r->second = requests_connect(test, r->first);
	requests_welcome(test, r->second, RXP_WELCOME_BOUND);
	requests_release(test, p->before);
	requests_call(test, r->second, p->flags);
	requests_finish(test, r->second, p->flags);
}

/* As before, but the CALL has also come again on the next connection when the thread goes on. */
static void requests_after_replay(struct kunit *test)
{
	const struct requests_param *p = test->param_value;
	struct requests *r = test->priv;

	requests_lose(test, p);
	r->second = requests_connect(test, r->first);
	requests_welcome(test, r->second, RXP_WELCOME_BOUND);
	requests_call(test, r->second, p->flags);
	requests_seen(test, r->second);
	requests_release(test, p->before);
	requests_finish(test, r->second, p->flags);
}

/*
 * The reply to a READ is held, as the client sends no STCRW, and nothing else of the session
 * moves.  After @held_ms the server must end the connection: a held reply takes memory, and a
 * client could keep it for ever.
 */
static void requests_held_long(struct kunit *test)
{
	struct rdmafs_xprt_limits limits = raw_limits();
	struct requests *r = test->priv;

	KUNIT_EXPECT_EQ(test, limits.held_ms, 10000);
	limits.held_ms = 100;
	rdmafs_xprt_set_limits(r->server, &limits);
	requests_call(test, r->first, RXP_F_READ);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(r->first));
	KUNIT_EXPECT_EQ(test, r->server->held_dropped, 1);
}

/* The same for a WRITE: the client never sends DATA for the sink that it was told of. */
static void requests_data_long(struct kunit *test)
{
	struct rdmafs_xprt_limits limits = raw_limits();
	struct requests *r = test->priv;

	limits.held_ms = 100;
	rdmafs_xprt_set_limits(r->server, &limits);
	requests_call(test, r->first, RXP_F_WRITE);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(r->first));
	KUNIT_EXPECT_EQ(test, r->server->held_dropped, 1);
}

/*
 * Sequence numbers begin just before they wrap.  The number after U32_MAX must be 1, and a CALL
 * with it is served, also as a replay.  0 is left out: a slot that had 0 last could not be told
 * from one that had no request.
 */
static void requests_wrap(struct kunit *test)
{
	struct requests *r = test->priv;
	int i;

	rdmafs_test_knobs.seq_before = U32_MAX - 1;
	requests_more(test, &r->second);
	requests_call_as(test, r->second, U32_MAX, 0, 0);
	raw_expect(test, r->second, RXP_REPLY, 0, REQUESTS_SLOT, U32_MAX);
	/* The second CALL is a replay; the answer to the first was not kept. */
	for (i = 0; i < 2; i++) {
		requests_call_as(test, r->second, 1, 0, 0);
		raw_expect(test, r->second, RXP_REPLY, 0, REQUESTS_SLOT, 1);
	}
	KUNIT_EXPECT_FALSE(test, r->second->cut);
}

/* Sequence number 0 after U32_MAX: the server must end the connection. */
static void requests_zero(struct kunit *test)
{
	struct requests *r = test->priv;

	rdmafs_test_knobs.seq_before = U32_MAX;
	requests_more(test, &r->second);
	requests_call_as(test, r->second, 0, 0, 0);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(r->second));
}

/* Wait until @nr requests have been served, or the connection is gone and they will not be. */
static bool requests_served(struct requests *r, const struct raw *raw, int nr)
{
	int rounds;

	for (rounds = 0; rounds < 1000 && atomic_read(&r->served) < nr && !READ_ONCE(raw->cut);
	     rounds++)
		msleep(20);
	return atomic_read(&r->served) >= nr;
}

/*
 * A client takes no replies, and sends one READ after the other in one slot as if the last one
 * were answered.  The server serves REQUESTS_LAG of them and then must end the connection:
 * otherwise the replies of one slot could fill its memory.
 */
static void requests_ahead(struct kunit *test)
{
	struct requests *r = test->priv;
	struct rxp_wire_cm cm;
	int served;

	/*
	 * One receive, for the WELCOME: no PONG can be sent, and nothing that is queued behind
	 * it.
	 */
	raw_fill_cm(&cm);
	r->second = raw_open_standing(REQUESTS_PORT, &cm, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(r->second));
	if (raw_iwarp(r->second))
		kunit_skip(test, "on iWARP no queue stands so");
	requests_hello(test, r->second, NULL);
	requests_welcome(test, r->second, RXP_WELCOME_NEW);
	KUNIT_ASSERT_EQ(test, raw_say(r->second, RXP_CONTROL, RXP_CONTROL_PING, 0, 0, NULL, 0, 0),
			0);
	for (served = 0; served < 2 * REQUESTS_LAG; served++) {
		requests_call_as(test, r->second, served + 1, RXP_F_READ | RXP_F_RKEY,
				 REQUESTS_LEN);
		if (!requests_served(r, r->second, served + 1))
			break;
	}
	KUNIT_EXPECT_EQ(test, served, REQUESTS_LAG);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(r->second));
}

/* Send requests in @nr slots, for file system @resource, or for none if that is 0. */
static void requests_begin(struct kunit *test, struct raw *raw, u16 slot, u16 nr, u8 how,
			   u8 resource)
{
	const u8 body[8] = { how, resource };
	struct rxp_frame f = {
		.slot = slot, .seq = 1, .body = body, .body_len = sizeof(body),
	};

	for (; nr; f.slot++, nr--)
		KUNIT_ASSERT_EQ(test, raw_send_call(raw, &f), 0);
}

/* The same, and wait until the server has seen them.  @how says what they wait for. */
static void requests_block(struct kunit *test, struct raw *raw, u16 slot, u16 nr, u8 how,
			   u8 resource)
{
	requests_begin(test, raw, slot, nr, how, resource);
	requests_seen(test, raw);
}

/* Send a request that does not block; it must be answered. */
static void requests_answered(struct kunit *test, struct raw *raw, u16 slot, u8 resource)
{
	requests_begin(test, raw, slot, 1, 0, resource);
	raw_expect(test, raw, RXP_REPLY, 0, slot, 1);
}

/* Send a blocking request in each of the session's slots. */
static void requests_fill(struct kunit *test, struct raw *raw, u8 resource)
{
	requests_block(test, raw, 0, RAW_SLOTS, REQUESTS_HELD, resource);
}

static void requests_count(const atomic_t *count, int nr)
{
	int rounds;

	for (rounds = 0; rounds < 500 && atomic_read(count) < nr; rounds++)
		msleep(20);
}

/*
 * Exactly @nr requests must block in threads; half a second is left for those that must not
 * get a thread.
 */
static void requests_expect_held(struct kunit *test, int nr)
{
	struct requests *r = test->priv;
	int rounds;

	requests_count(&r->held, nr);
	for (rounds = 0; rounds < 25 && atomic_read(&r->held) <= nr; rounds++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->held), nr);
}

/*
 * Release all requests: @nr must have been served in the end, also those that had to wait for
 * a thread.
 */
static void requests_expect_served(struct kunit *test, int nr)
{
	struct requests *r = test->priv;

	complete_all(&r->few);
	complete_all(&r->release);
	requests_count(&r->served, nr);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->served), nr);
}

/*
 * Two sessions have a blocking request in each of their slots.  They must get no more than
 * their share of the threads, so that a third session's request is served.
 */
static void requests_share(struct kunit *test)
{
	struct requests *r = test->priv;

	requests_more(test, &r->second);
	requests_fill(test, r->first, 0);
	requests_fill(test, r->second, 0);
	requests_expect_held(test, 2 * REQUESTS_SHARE);
	requests_more(test, &r->third);
	requests_call_as(test, r->third, 1, 0, 0);
	raw_expect(test, r->third, RXP_REPLY, 0, REQUESTS_SLOT, 1);
}

/*
 * Four sessions of one client have a blocking request in each slot.  Together they must get no
 * more than the client's share: a client could otherwise take all threads with many sessions.
 * When they are released all requests are served.
 */
static void requests_client_share(struct kunit *test)
{
	struct requests *r = test->priv;

	requests_more(test, &r->second);
	requests_more(test, &r->third);
	requests_more(test, &r->fourth);
	requests_fill(test, r->first, 0);
	requests_fill(test, r->second, 0);
	requests_fill(test, r->third, 0);
	requests_fill(test, r->fourth, 0);
	requests_expect_held(test, REQUESTS_CLIENT);
	requests_expect_served(test, 4 * RAW_SLOTS);
}

/* The session that was opened last. */
static struct rdmafs_xprt_session *requests_last(struct kunit *test)
{
	struct requests *r = test->priv;

	return list_last_entry(&r->server->sessions, struct rdmafs_xprt_session, link);
}

/*
 * The client sends no DATA for a sink, while other data of the session moves all the time.  The
 * server must end the connection all the same: each slot may have @held_ms once, not for ever.
 */
static void requests_data_trickles(struct kunit *test)
{
	struct rdmafs_xprt_limits limits = raw_limits();
	unsigned long end = jiffies + RAW_WAIT;
	struct requests *r = test->priv;
	struct rdmafs_xprt_session *s;

	limits.held_ms = 100;
	rdmafs_xprt_set_limits(r->server, &limits);
	s = requests_last(test);
	requests_call(test, r->first, RXP_F_WRITE);
	while (!READ_ONCE(r->first->cut) && time_before(jiffies, end)) {
		rxs_session_progress(s);
		usleep_range(1000, 2000);
	}
	KUNIT_EXPECT_TRUE(test, r->first->cut);
	KUNIT_EXPECT_EQ(test, r->server->held_dropped, 1);
}

/*
 * The server sees no completion of its sends to a client that goes on sending PINGs.  It must
 * end the connection after @held_ms: all that the client does not take is kept in memory.
 */
static void requests_stand(struct kunit *test)
{
	struct rdmafs_xprt_limits limits = raw_limits();
	unsigned long end = jiffies + RAW_WAIT;
	struct requests *r = test->priv;

	limits.held_ms = REQUESTS_STAND_MS;
	rdmafs_xprt_set_limits(r->server, &limits);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail wc_chain 1000000 16"), 0);
	while (!READ_ONCE(r->first->cut) && time_before(jiffies, end)) {
		raw_say(r->first, RXP_CONTROL, RXP_CONTROL_PING, 0, 0, NULL, 0, 0);
		msleep(20);
	}
	KUNIT_EXPECT_TRUE_MSG(test, r->first->cut, "what it does not take is kept for ever");
	KUNIT_EXPECT_EQ(test, r->server->held_dropped, 1);
}

static void requests_queue_stands(struct kunit *test)
{
	requests_stand(test);
}

/* A session of two connections, @r->second and @r->third. */
static void requests_two(struct kunit *test)
{
	struct requests *r = test->priv;
	struct rxp_wire_cm cm;

	raw_fill_cm(&cm);
	cm.count = 2;
	r->second = raw_open_as(REQUESTS_PORT, &cm, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(r->second));
	requests_hello(test, r->second, NULL);
	requests_welcome(test, r->second, RXP_WELCOME_NEW);
	cm.index = 1;
	cm.incarnation = r->second->welcome.incarnation;
	memcpy(cm.session, r->second->welcome.session, sizeof(cm.session));
	r->third = raw_open_as(REQUESTS_PORT, &cm, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(r->third));
	requests_hello(test, r->third, r->second);
	requests_welcome(test, r->third, RXP_WELCOME_BOUND);
}

/*
 * The send queue of the session's second connection stands, and data of the session moves on
 * the first one.  The server must end the connection, but not before each slot may have had
 * @held_ms once.
 */
static void requests_queue_trickles(struct kunit *test)
{
	struct rdmafs_xprt_limits limits = raw_limits();
	unsigned long begin = jiffies, end = begin + RAW_WAIT;
	struct requests *r = test->priv;
	struct rdmafs_xprt_session *s;

	limits.held_ms = REQUESTS_STAND_MS;
	rdmafs_xprt_set_limits(r->server, &limits);
	requests_two(test);
	s = requests_last(test);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail wc_chain 1 16"), 0);
	requests_seen(test, r->third);
	while (!READ_ONCE(r->third->cut) && time_before(jiffies, end)) {
		rxs_session_progress(s);
		msleep(20);
	}
	KUNIT_EXPECT_TRUE_MSG(test, r->third->cut, "what it does not take is kept for ever");
	KUNIT_EXPECT_EQ(test, r->server->held_dropped, 1);
	KUNIT_EXPECT_GE(test, jiffies_to_msecs(jiffies - begin), REQUESTS_STAND_MS * RAW_SLOTS);
}

/* The oldest chain in the send queue of a session's only connection, or NULL. */
static struct rxp_chain *requests_posted(struct rdmafs_xprt_session *s, struct rxp_conn **conn)
{
	struct rxp_chain *chain = NULL;

	spin_lock_bh(&s->lock);
	*conn = s->conns[0];
	if (*conn) {
		spin_lock(&(*conn)->sq_lock);
		chain = list_first_entry_or_null(&(*conn)->posted, struct rxp_chain, link);
		spin_unlock(&(*conn)->sq_lock);
	}
	spin_unlock_bh(&s->lock);
	return chain;
}

/* Has the server found that a chain stands in the session's send queue? */
static bool requests_found(struct rdmafs_xprt_session *s)
{
	bool found;

	spin_lock_bh(&s->lock);
	found = s->conns[0] && rxs_conn(s->conns[0])->oldest;
	spin_unlock_bh(&s->lock);
	return found;
}

/*
 * The server's machine stood still: when the server looks first, the oldest chain was posted
 * long ago, and its completion has not been handled yet.  That is not the client's fault: the
 * server must not end the connection at the first look, nor after the completion was handled.
 */
static void requests_queue_late(struct kunit *test)
{
	struct rdmafs_xprt_session *s = requests_last(test);
	struct ib_wc wc = { .status = IB_WC_SUCCESS };
	unsigned long ago = jiffies - HZ * 1000, end;
	struct requests *r = test->priv;
	struct rxp_chain *chain;
	struct rxp_conn *conn;

	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail wc_chain 1000000 16"), 0);
	requests_seen(test, r->first);
	chain = requests_posted(s, &conn);
	KUNIT_ASSERT_NOT_NULL(test, chain);
	chain->since = ago;
	WRITE_ONCE(conn->moved, ago);
	WRITE_ONCE(s->progress, ago);
	for (end = jiffies + RAW_WAIT; time_before(jiffies, end); msleep(1))
		if (READ_ONCE(r->first->cut) || requests_found(s))
			break;
	KUNIT_ASSERT_FALSE_MSG(test, READ_ONCE(r->first->cut), "at the first look");
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release wc_chain"), 0);
	wc.wr_cqe = &chain->cqe;
	chain->cqe.done(NULL, &wc);
	for (end = jiffies + RAW_WAIT; time_before(jiffies, end); msleep(20))
		if (READ_ONCE(r->first->cut) || !requests_found(s))
			break;
	KUNIT_EXPECT_FALSE(test, READ_ONCE(r->first->cut));
	requests_seen(test, r->first);
	KUNIT_EXPECT_EQ(test, r->server->held_dropped, 0);
}

static void requests_never(struct kref *ref)
{
}

/* Make the last session, which has had no request yet, one of another client for the shares. */
static struct rdmafs_xprt_session *requests_set_apart(struct kunit *test)
{
	struct rdmafs_xprt_session *s = requests_last(test);
	struct rxs_client *client = kzalloc(sizeof(*client), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, client);
	kref_init(&client->ref);
	INIT_LIST_HEAD(&client->waiting);
	INIT_LIST_HEAD(&client->parts);
	kref_put(&s->turns.client->ref, requests_never);
	s->turns.client = client;
	return s;
}

/*
 * Requests for one file system block, first of one client, then of a second one.  The client
 * must get REQUESTS_PART threads and both together REQUESTS_DOMAIN: a file system gets no more
 * threads than it leaves free.
 */
static void requests_domain_share(struct kunit *test)
{
	struct requests *r = test->priv;

	requests_more(test, &r->second);
	requests_more(test, &r->third);
	requests_set_apart(test);
	requests_more(test, &r->fourth);
	requests_set_apart(test);
	requests_fill(test, r->first, 1);
	requests_fill(test, r->second, 1);
	requests_expect_held(test, REQUESTS_PART);
	requests_fill(test, r->third, 1);
	requests_expect_held(test, REQUESTS_DOMAIN);
	/*
	 * A third client's requests for another file system are served, also while those block
	 * too.
	 */
	requests_fill(test, r->fourth, 2);
	requests_expect_held(test, REQUESTS_DOMAIN + REQUESTS_SHARE);
	requests_expect_served(test, 4 * RAW_SLOTS);
}

/*
 * A client's requests for one file system block, and then those for a second one.  Each file
 * system gets no more of the client's threads than it leaves free (12, then 6), so that a
 * request for a third one is served.
 */
static void requests_client_third(struct kunit *test)
{
	struct requests *r = test->priv;

	requests_more(test, &r->second);
	requests_more(test, &r->third);
	requests_more(test, &r->fourth);
	requests_more(test, &r->fifth);
	requests_fill(test, r->first, 1);
	requests_fill(test, r->second, 1);
	requests_expect_held(test, REQUESTS_PART);
	requests_fill(test, r->third, 2);
	requests_fill(test, r->fourth, 2);
	requests_expect_held(test, REQUESTS_PART + REQUESTS_PART / 2);
	requests_answered(test, r->fifth, 0, 3);
	requests_expect_served(test, 4 * RAW_SLOTS + 1);
}

/* Wait until @nr requests of a session have been given to threads or parked. */
static void requests_taken(struct kunit *test, struct rdmafs_xprt_session *s, u32 nr)
{
	int rounds;

	for (rounds = 0; rounds < 500 && READ_ONCE(s->turns.taken) != nr; rounds++)
		msleep(20);
	KUNIT_ASSERT_EQ(test, READ_ONCE(s->turns.taken), nr);
}

/*
 * Four threads are free, and a file system has all that it may have.  A request of a client
 * that has as many threads as it may is parked there first, and then one of another client.
 * When requests of the file system end there is room for one more: the other client's request
 * must get it.  If only the first of the parked requests were looked at, the room would stay
 * unused.
 */
static void requests_domain_client(struct kunit *test)
{
	struct requests *r = test->priv;
	struct rdmafs_xprt_session *one, *other;

	requests_more(test, &r->second);
	requests_more(test, &r->third);
	requests_more(test, &r->fourth);
	one = requests_last(test);
	requests_more(test, &r->fifth);
	other = requests_set_apart(test);

	requests_fill(test, r->first, 0);
	requests_fill(test, r->second, 0);
	requests_block(test, r->third, 0, REQUESTS_SHARE - 1, REQUESTS_HELD, 0);
	requests_expect_held(test, REQUESTS_CLIENT - 1);
	requests_block(test, r->fifth, 0, 5, REQUESTS_FEW, 1);
	requests_expect_held(test, REQUESTS_CLIENT + 4);
	/* Now four threads are free, and that file system may have no more. */
	requests_block(test, r->fourth, 0, 1, REQUESTS_HELD, 1);
	requests_taken(test, one, 1);
	requests_block(test, r->fifth, 5, 1, REQUESTS_FEW, 1);
	requests_taken(test, other, 6);
	requests_block(test, r->third, REQUESTS_SHARE - 1, 1, REQUESTS_HELD, 0);
	requests_expect_held(test, REQUESTS_CLIENT + 5);
	/* Two of its five requests end, and there is room for one more. */
	complete(&r->few);
	complete(&r->few);
	requests_expect_held(test, REQUESTS_CLIENT + 6);
	requests_expect_served(test, 2 * RAW_SLOTS + 15);
}

/* ------------------------------------------------------------------------ in line */

/*
 * Leave room for the translations of one WRITE of 1 MiB, and let a WRITE of the first session
 * have it.  The server has asked the client for its data: returns the sink's tag.
 */
static struct rxp_wire_tag requests_one_sink(struct kunit *test)
{
	struct rdmafs_xprt_limits limits = raw_limits();
	struct requests *r = test->priv;
	struct rpol_domain_stats st;

	/*
	 * The first session keeps the sink while others wait, and may be silent: no limit ends
	 * it, however slow the machine is.
	 */
	rdmafs_test_knobs.grace_ms = RAW_PATIENT_MS;
	limits.held_ms = RAW_PATIENT_MS;
	rdmafs_xprt_set_limits(r->server, &limits);
	raw_no_lease(r->server);
	rpol_domain_get_stats(r->domain, &st);
	r->capacity = st.capacity;
	KUNIT_ASSERT_EQ(test, rpol_domain_set_capacity(r->domain, RPOL_CAPACITY_MIN), 0);
	requests_call_in(test, r->first, 0, 1, RXP_F_WRITE, SZ_1M);
	return *(struct rxp_wire_tag *)
		raw_expect(test, r->first, RXP_NOTIFY, RXP_NOTIFY_STCRW, 0, 1);
}

/* Send a WRITE's DATA; the data itself need not be written. */
static void requests_data(struct kunit *test, struct raw *raw, u16 slot, u32 seq,
			  struct rxp_wire_tag tag)
{
	u32 rkey = le32_to_cpu(tag.rkey);

	tag.iova = 0;
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_DATA, slot, seq, &tag,
				      sizeof(tag), rkey), 0);
}

/* Wait until exactly @nr WRITEs of all sessions stand in line for translations. */
static void requests_in_line(struct kunit *test, u32 nr)
{
	struct requests *r = test->priv;
	struct rpol_domain_stats st;
	int rounds;

	for (rounds = 0; rounds < 500; rounds++) {
		rpol_domain_get_stats(r->domain, &st);
		if (st.waiters == nr)
			break;
		msleep(20);
	}
	KUNIT_ASSERT_EQ(test, st.waiters, nr);
}

/*
 * A WRITE of the second session stands in line while the first session has all translations.
 * When the first one's WRITE ends, its translations must be bound to the second one's WRITE at
 * once.  The client need not send the CALL again, and no translation lies idle until it does.
 */
static void requests_line(struct kunit *test)
{
	struct requests *r = test->priv;
	struct rpol_domain_stats before, after;
	struct rxp_wire_tag tag;

	tag = requests_one_sink(test);
	r->second = requests_connect(test, NULL);
	requests_welcome(test, r->second, RXP_WELCOME_NEW);
	requests_call_in(test, r->second, 0, 1, RXP_F_WRITE, SZ_1M);
	requests_in_line(test, 1);
	rpol_domain_get_stats(r->domain, &before);
	requests_data(test, r->first, 0, 1, tag);
	raw_expect(test, r->first, RXP_REPLY, 0, 0, 1);
	tag = *(struct rxp_wire_tag *)
		raw_expect(test, r->second, RXP_NOTIFY, RXP_NOTIFY_STCRW, 0, 1);
	/* All translations stay bound to it until its client sends DATA. */
	rpol_domain_get_stats(r->domain, &after);
	KUNIT_EXPECT_EQ(test, after.charged, r->entries);
	/*
	 * They are idle only between two steps of one function; the machine may do something
	 * else there.
	 */
	KUNIT_EXPECT_LT(test, after.idle_us - before.idle_us, USEC_PER_SEC);
	requests_data(test, r->second, 0, 1, tag);
	raw_expect(test, r->second, RXP_REPLY, 0, 0, 1);
	requests_in_line(test, 0);
}

/* Which of the first two connections has been sent something?  NULL: neither. */
static struct raw *requests_told(struct requests *r)
{
	struct raw *raws[] = { r->first, r->second };
	struct raw *raw;
	int rounds, i;

	for (rounds = 0; rounds < 1000; rounds++) {
		for (i = 0; i < ARRAY_SIZE(raws); i++) {
			/*
			 * They take turns, so that messages to one do not keep the other from
			 * being looked at.
			 */
			raw = raws[r->looked++ % ARRAY_SIZE(raws)];
			if (atomic_read(&raw->arrived) > raw->taken)
				return raw;
		}
		msleep(20);
	}
	return NULL;
}

/* More messages come than there are receives: post those again that have been taken. */
static void requests_repost(struct kunit *test, struct raw *raw)
{
	u32 i;

	KUNIT_ASSERT_LE(test, raw->taken, RAW_RECVS);
	for (i = 0; i < raw->taken; i++)
		KUNIT_ASSERT_EQ(test, raw_repost(raw, &raw->recv[i]), 0);
}

/*
 * Take one message to one of the first two connections.  An STCRW is answered with DATA.  A
 * REPLY, which may say RETRY_LATER, is followed by the next WRITE of the slot.  Returns the
 * slot if it is an STCRW to @whose, or -1.
 */
static int requests_turn(struct kunit *test, const struct raw *whose)
{
	struct raw *raw = requests_told(test->priv);
	struct rxp_wire_hdr hdr;
	struct raw_msg *m;

	KUNIT_ASSERT_NOT_NULL_MSG(test, raw, "nobody has a turn");
	m = raw_next_msg(raw);
	KUNIT_ASSERT_NOT_NULL(test, m);
	hdr = *(struct rxp_wire_hdr *)m->buf;
	if (hdr.type == RXP_REPLY) {
		requests_call_in(test, raw, le16_to_cpu(hdr.slot), le32_to_cpu(hdr.seq) + 1,
				 RXP_F_WRITE, SZ_1M);
	} else {
		KUNIT_ASSERT_EQ(test, hdr.type, RXP_NOTIFY);
		KUNIT_ASSERT_EQ(test, hdr.op, RXP_NOTIFY_STCRW);
		requests_data(test, raw, le16_to_cpu(hdr.slot), le32_to_cpu(hdr.seq),
			      *(struct rxp_wire_tag *)(m->buf + sizeof(hdr)));
	}
	KUNIT_ASSERT_EQ(test, raw_repost(raw, m), 0);
	return raw == whose && hdr.type == RXP_NOTIFY ? le16_to_cpu(hdr.slot) : -1;
}

/*
 * Half of a session's slots have WRITEs that stand in line.  A WRITE in one more slot must be
 * answered RETRY_LATER, and a small request there must be served: a session must not stand in
 * line with all its slots.
 */
static void requests_line_full(struct kunit *test)
{
	struct requests *r = test->priv;
	const struct rxp_wire_reply *reply;
	struct rxp_wire_tag tag;
	u32 messages;
	int slot = -1;
	u16 i;

	tag = requests_one_sink(test);
	r->second = requests_connect(test, NULL);
	requests_welcome(test, r->second, RXP_WELCOME_NEW);
	for (i = 0; i < RAW_SLOTS / 2; i++) {
		requests_call_in(test, r->second, i, 1, RXP_F_WRITE, SZ_1M);
		requests_in_line(test, i + 1);
	}
	requests_call_in(test, r->second, i, 1, RXP_F_WRITE, SZ_1M);
	reply = raw_expect(test, r->second, RXP_REPLY, 0, i, 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(reply->status), RXP_STATUS_RETRY_LATER);
	requests_call_in(test, r->second, i, 2, 0, 0);
	raw_expect(test, r->second, RXP_REPLY, 0, i, 2);
	requests_data(test, r->first, 0, 1, tag);
	raw_expect(test, r->first, RXP_REPLY, 0, 0, 1);
	/*
	 * The WRITE that was refused must have its turn, too, however often those of the other
	 * slots come again.
	 */
	requests_repost(test, r->second);
	requests_call_in(test, r->second, i, 3, RXP_F_WRITE, SZ_1M);
	for (messages = 0; messages < 4000 && slot != i; messages++)
		slot = requests_turn(test, r->second);
	KUNIT_EXPECT_EQ_MSG(test, slot, i, "in %u messages", messages);
}

/*
 * One session always has as many WRITEs in line as it may.  Another one has a single WRITE at a
 * time, and goes to the end of the line with each: it must get its turns, or it starves.
 */
static void requests_line_turns(struct kunit *test)
{
	struct requests *r = test->priv;
	struct rxp_wire_tag tag;
	u32 messages, turns = 0;
	u16 i;

	tag = requests_one_sink(test);
	for (i = 1; i <= RAW_SLOTS / 2; i++) {
		requests_call_in(test, r->first, i, 1, RXP_F_WRITE, SZ_1M);
		requests_in_line(test, i);
	}
	r->second = requests_connect(test, NULL);
	requests_welcome(test, r->second, RXP_WELCOME_NEW);
	requests_call_in(test, r->second, 0, 1, RXP_F_WRITE, SZ_1M);
	requests_in_line(test, i);
	/* The server may ask for the data of the next WRITE before it answers this one. */
	requests_data(test, r->first, 0, 1, tag);
	requests_repost(test, r->first);
	requests_repost(test, r->second);
	for (messages = 0; messages < 4000 && turns < 8; messages++)
		turns += requests_turn(test, r->second) >= 0;
	KUNIT_EXPECT_EQ_MSG(test, turns, 8, "in %u messages", messages);
}

/*
 * A WRITE's connection is lost while it stands in line.  It must lose its place in line, too;
 * the CALL that comes again on the next connection stands in line again, and is served in its
 * turn.
 */
static void requests_line_lost(struct kunit *test)
{
	struct requests *r = test->priv;
	struct rxp_wire_tag tag;

	tag = requests_one_sink(test);
	r->second = requests_connect(test, NULL);
	requests_welcome(test, r->second, RXP_WELCOME_NEW);
	requests_call_in(test, r->second, 0, 1, RXP_F_WRITE, SZ_1M);
	requests_in_line(test, 1);
	rdma_disconnect(r->second->id);
	r->third = requests_connect(test, r->second);
	requests_welcome(test, r->third, RXP_WELCOME_BOUND);
	requests_in_line(test, 0);
	requests_call_in(test, r->third, 0, 1, RXP_F_WRITE, SZ_1M);
	requests_in_line(test, 1);
	requests_data(test, r->first, 0, 1, tag);
	raw_expect(test, r->first, RXP_REPLY, 0, 0, 1);
	requests_written_in(test, r->third, 0, 1);
}

/*
 * A WRITE stands in line, and from then on no pages can be charged.  When its turn comes it
 * must still have its pages, and be served.  If it had to get pages then, it would lose its
 * translations for want of pages, again and again.
 */
static void requests_line_pages(struct kunit *test)
{
	struct requests *r = test->priv;
	struct rxp_wire_tag tag;

	tag = requests_one_sink(test);
	requests_more(test, &r->second);
	requests_call_in(test, r->second, 0, 1, RXP_F_WRITE, SZ_1M);
	requests_in_line(test, 1);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail req_charge 1000000"), 0);
	requests_data(test, r->first, 0, 1, tag);
	raw_expect(test, r->first, RXP_REPLY, 0, 0, 1);
	requests_written_in(test, r->second, 0, 1);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release req_charge"), 0);
}

/*
 * WRITEs that stand in line keep pages.  With half of a session's pages kept so, the next WRITE
 * must be answered RETRY_LATER; but one WRITE may stand in line in any case, even if it has
 * more than half.
 */
static void requests_line_half(struct kunit *test)
{
	struct rdmafs_xprt_limits limits = raw_limits();
	struct requests *r = test->priv;
	const struct rxp_wire_reply *reply;
	struct rxp_wire_tag tag;

	tag = requests_one_sink(test);
	limits.held_ms = RAW_PATIENT_MS;
	limits.data_mib = 3;
	rdmafs_xprt_set_limits(r->server, &limits);
	requests_more(test, &r->second);
	requests_call_in(test, r->second, 0, 1, RXP_F_WRITE, SZ_1M);
	requests_in_line(test, 1);
	requests_call_in(test, r->second, 1, 1, RXP_F_WRITE, SZ_1M);
	reply = raw_expect(test, r->second, RXP_REPLY, 0, 1, 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(reply->status), RXP_STATUS_RETRY_LATER);
	requests_in_line(test, 1);
	requests_data(test, r->first, 0, 1, tag);
	raw_expect(test, r->first, RXP_REPLY, 0, 0, 1);
	requests_written_in(test, r->second, 0, 1);
}

/* The client cancels the first WRITE of slot 0. */
static void requests_take_back(struct kunit *test, struct raw *raw)
{
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_CANCEL, 0, 1, NULL, 0, 0), 0);
}

/* The CANCEL must be answered. */
static void requests_taken_back(struct kunit *test, struct raw *raw)
{
	const struct rxp_wire_reply *reply = raw_expect(test, raw, RXP_REPLY, 0, 0, 1);

	KUNIT_EXPECT_EQ(test, le32_to_cpu(reply->status), RXP_STATUS_CANCELLED);
}

/*
 * The second session's next WRITE in slot 0 must get the translations that the first session
 * gives back: a WRITE that was cancelled has not taken any with it.
 */
static void requests_line_next(struct kunit *test, struct rxp_wire_tag tag)
{
	struct requests *r = test->priv;

	requests_call_in(test, r->second, 0, 2, RXP_F_WRITE, SZ_1M);
	requests_in_line(test, 1);
	requests_data(test, r->first, 0, 1, tag);
	raw_expect(test, r->first, RXP_REPLY, 0, 0, 1);
	requests_written_in(test, r->second, 0, 2);
	requests_in_line(test, 0);
}

/*
 * The first WRITEs of slots 1 to @nr stand in line, and have their turns in order.  When a
 * WRITE's data is there its MR goes to the next WRITE, which the server may ask for data
 * before it answers the first.
 */
static void requests_all_written(struct kunit *test, struct raw *raw, u16 nr)
{
	u16 asked = 0, answered = 0;
	struct rxp_wire_hdr hdr;
	struct raw_msg *m;

	while (answered < nr) {
		m = raw_next_msg(raw);
		KUNIT_ASSERT_NOT_NULL(test, m);
		hdr = *(struct rxp_wire_hdr *)m->buf;
		if (hdr.type == RXP_REPLY) {
			answered++;
			continue;
		}
		KUNIT_ASSERT_EQ(test, hdr.type, RXP_NOTIFY);
		KUNIT_ASSERT_EQ(test, hdr.op, RXP_NOTIFY_STCRW);
		asked++;
		KUNIT_ASSERT_EQ(test, le16_to_cpu(hdr.slot), asked);
		requests_data(test, raw, asked, 1, *(struct rxp_wire_tag *)(m->buf + sizeof(hdr)));
	}
}

/*
 * A client cancels a WRITE that stands in line, one of half its slots.  The CANCEL must be
 * answered at once, though no translations are given back; and the place in line must be free
 * for a WRITE of another slot.
 */
static void requests_line_cancelled(struct kunit *test)
{
	struct requests *r = test->priv;
	struct rxp_wire_tag tag;
	u16 i;

	tag = requests_one_sink(test);
	r->second = requests_connect(test, NULL);
	requests_welcome(test, r->second, RXP_WELCOME_NEW);
	for (i = 0; i < RAW_SLOTS / 2; i++) {
		requests_call_in(test, r->second, i, 1, RXP_F_WRITE, SZ_1M);
		requests_in_line(test, i + 1);
	}
	requests_take_back(test, r->second);
	requests_taken_back(test, r->second);
	requests_in_line(test, i - 1);
	requests_call_in(test, r->second, i, 1, RXP_F_WRITE, SZ_1M);
	requests_in_line(test, i);
	requests_data(test, r->first, 0, 1, tag);
	raw_expect(test, r->first, RXP_REPLY, 0, 0, 1);
	requests_all_written(test, r->second, RAW_SLOTS / 2);
	requests_in_line(test, 0);
}

/*
 * The CANCEL comes just before the WRITE would go in line.  It must not begin to wait, and
 * translations must not be lost with it.
 */
static void requests_line_unwanted(struct kunit *test)
{
	struct requests *r = test->priv;
	struct rxp_wire_tag tag;

	tag = requests_one_sink(test);
	r->second = requests_connect(test, NULL);
	requests_welcome(test, r->second, RXP_WELCOME_NEW);
	requests_arm(test, "req_claim");
	requests_call_in(test, r->second, 0, 1, RXP_F_WRITE, SZ_1M);
	requests_held(test, "req_claim");
	requests_take_back(test, r->second);
	requests_seen(test, r->second);
	requests_release(test, "req_claim");
	requests_taken_back(test, r->second);
	requests_line_next(test, tag);
}

/*
 * The CANCEL comes when the WRITE has got its translations and its worker has not run yet.  The
 * worker, not the CANCEL, must answer the WRITE, and only once; and it must give the
 * translations back.
 */
static void requests_line_crossed(struct kunit *test)
{
	struct requests *r = test->priv;
	struct rpol_domain_stats st;
	struct rxp_wire_tag tag;

	tag = requests_one_sink(test);
	r->second = requests_connect(test, NULL);
	requests_welcome(test, r->second, RXP_WELCOME_NEW);
	requests_call_in(test, r->second, 0, 1, RXP_F_WRITE, SZ_1M);
	requests_in_line(test, 1);
	requests_arm(test, "req_turn");
	requests_data(test, r->first, 0, 1, tag);
	raw_expect(test, r->first, RXP_REPLY, 0, 0, 1);
	requests_held(test, "req_turn");
	requests_take_back(test, r->second);
	/* The server has looked at the CANCEL, and the translations still belong to the WRITE. */
	requests_seen(test, r->second);
	rpol_domain_get_stats(r->domain, &st);
	KUNIT_EXPECT_EQ(test, st.charged, r->entries);
	requests_release(test, "req_turn");
	requests_taken_back(test, r->second);
	requests_seen(test, r->second);
	/* The translations have come back: there is room for one WRITE. */
	requests_call_in(test, r->first, 0, 2, RXP_F_WRITE, SZ_1M);
	requests_written_in(test, r->first, 0, 2);
	requests_in_line(test, 0);
}

/*
 * A WRITE that has a sink is cancelled, and its connection is lost when its thread has
 * answered the CANCEL.  Then the CALL comes again on the next connection, where it was not
 * cancelled: the server must ask for its data.  A CANCEL that outlived its connection would be
 * found here.
 */
static void requests_wanted_again(struct kunit *test)
{
	struct requests *r = test->priv;

	requests_arm(test, "req_ask");
	requests_call_in(test, r->first, 0, 1, RXP_F_WRITE, REQUESTS_LEN);
	requests_held(test, "req_ask");
	requests_take_back(test, r->first);
	requests_seen(test, r->first);
	requests_arm(test, "req_asked");
	requests_release(test, "req_ask");
	requests_held(test, "req_asked");
	requests_taken_back(test, r->first);
	rdma_disconnect(r->first->id);
	r->second = requests_connect(test, r->first);
	requests_welcome(test, r->second, RXP_WELCOME_BOUND);
	requests_call_in(test, r->second, 0, 1, RXP_F_WRITE, REQUESTS_LEN);
	/* This is a request of its own, which does not wait for the thread that is held. */
	requests_written_in(test, r->second, 0, 1);
	requests_release(test, "req_asked");
}

/* ------------------------------------------------------------------------ places */

/*
 * A client has all of its threads, and one of them ends.  The session that has waited longest
 * cannot use it, as its file system has no room: its request is parked.  Then the thread must
 * go to the client's next session.  It would stay unused if only one session were asked.
 */
static void requests_place_unused(struct kunit *test)
{
	struct requests *r = test->priv;

	requests_more(test, &r->second);
	requests_more(test, &r->third);
	requests_more(test, &r->fourth);
	requests_more(test, &r->fifth);
	requests_block(test, r->first, 0, 8, REQUESTS_HELD, 1);
	requests_block(test, r->second, 0, 4, REQUESTS_HELD, 1);
	requests_expect_held(test, REQUESTS_PART);
	requests_block(test, r->second, 4, 4, REQUESTS_FEW, 0);
	requests_block(test, r->third, 0, 8, REQUESTS_FEW, 0);
	requests_expect_held(test, REQUESTS_CLIENT);
	requests_block(test, r->fourth, 0, 1, REQUESTS_HELD, 1);
	requests_begin(test, r->fifth, 0, 1, 0, 2);
	requests_seen(test, r->fifth);
	complete(&r->few);
	raw_expect(test, r->fifth, RXP_REPLY, 0, 0, 1);
	requests_expect_served(test, REQUESTS_CLIENT + 2);
}

/*
 * A client has one thread left, and two requests for different file systems (4 and 5) are
 * parked as each has one thread already.  The request for file system 5 ends, and its thread
 * takes the request that was parked for 4, which blocks.  That leaves room for one more for 5,
 * and no other event will come: the request that is parked for 5 must be taken now.
 */
static void requests_room_left(struct kunit *test)
{
	struct requests *r = test->priv;
	struct rdmafs_xprt_session *one, *other;

	requests_more(test, &r->second);
	requests_more(test, &r->third);
	requests_more(test, &r->fourth);
	one = requests_last(test);
	requests_more(test, &r->fifth);
	other = requests_last(test);
	requests_block(test, r->first, 0, 8, REQUESTS_HELD, 1);
	requests_block(test, r->second, 0, 4, REQUESTS_HELD, 1);
	requests_expect_held(test, 12);
	requests_block(test, r->second, 4, 4, REQUESTS_HELD, 2);
	requests_block(test, r->third, 0, 2, REQUESTS_HELD, 2);
	requests_expect_held(test, 12 + 6);
	requests_block(test, r->third, 2, 3, REQUESTS_HELD, 3);
	requests_expect_held(test, 12 + 6 + 3);
	requests_block(test, r->third, 5, 1, REQUESTS_HELD, 4);
	requests_block(test, r->third, 6, 1, REQUESTS_FEW, 5);
	requests_expect_held(test, REQUESTS_CLIENT - 1);
	/* One thread is left, and a file system that has one already does not get it. */
	requests_block(test, r->fourth, 0, 1, REQUESTS_HELD, 4);
	requests_taken(test, one, 1);
	requests_begin(test, r->fifth, 0, 1, 0, 5);
	requests_seen(test, r->fifth);
	requests_taken(test, other, 1);
	complete(&r->few);
	raw_expect(test, r->fifth, RXP_REPLY, 0, 0, 1);
	requests_expect_served(test, REQUESTS_CLIENT + 1);
}

static int requests_init(struct kunit *test)
{
	struct requests *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct rdmafs_xprt_limits limits = raw_limits();
	struct rdmafs_xprt_session *s;
	struct raw *raw;

	KUNIT_ASSERT_NOT_NULL(test, r);
	init_completion(&r->release);
	init_completion(&r->few);
	r->server = rdmafs_xprt_listen(&init_net, REQUESTS_PORT, &requests_service, r, &limits);
	if (IS_ERR(r->server))
		kunit_skip(test, "can't listen");
	raw = raw_open(REQUESTS_PORT);
	if (IS_ERR(raw)) {
		rdmafs_xprt_unlisten(r->server);
		kunit_skip(test, "no RDMA device at %s", raw_address_name());
	}
	raw_close(raw);
	test->priv = r;
	r->first = requests_connect(test, NULL);
	requests_welcome(test, r->first, RXP_WELCOME_NEW);
	/* Keep the domain now: the connection may be lost by the time that a case needs it. */
	s = list_first_entry(&r->server->sessions, struct rdmafs_xprt_session, link);
	r->domain = s->conns[0]->pool->rdev->domain;
	/* An MR of siw has no more than 256 translations. */
	r->entries = min_t(u32, RPOL_CAPACITY_MIN, s->conns[0]->pool->rdev->max_entries);
	return 0;
}

static void requests_exit(struct kunit *test)
{
	struct requests *r = test->priv;

	rdmafs_points_command("reset");
	rdmafs_test_knobs.grace_ms = 0;
	rdmafs_test_knobs.seq_before = 0;
	if (!r)
		return;
	complete_all(&r->release);
	complete_all(&r->few);
	if (r->capacity)
		rpol_domain_set_capacity(r->domain, r->capacity);
	if (r->fifth)
		raw_close(r->fifth);
	if (r->fourth)
		raw_close(r->fourth);
	if (r->third)
		raw_close(r->third);
	if (r->second)
		raw_close(r->second);
	if (r->first)
		raw_close(r->first);
	rdmafs_xprt_unlisten(r->server);
}

static struct kunit_case requests_cases[] = {
	KUNIT_CASE_PARAM(requests_before_unbind, requests_gen_params),
	KUNIT_CASE_PARAM(requests_after_bind, requests_gen_params),
	KUNIT_CASE_PARAM(requests_after_replay, requests_gen_params),
	KUNIT_CASE(requests_held_long),
	KUNIT_CASE(requests_data_long),
	KUNIT_CASE(requests_data_trickles),
	KUNIT_CASE_SLOW(requests_queue_stands),
	KUNIT_CASE_SLOW(requests_queue_trickles),
	KUNIT_CASE_SLOW(requests_queue_late),
	KUNIT_CASE(requests_ahead),
	KUNIT_CASE(requests_share),
	KUNIT_CASE(requests_client_share),
	KUNIT_CASE(requests_domain_share),
	KUNIT_CASE(requests_client_third),
	KUNIT_CASE(requests_domain_client),
	KUNIT_CASE(requests_line),
	KUNIT_CASE(requests_line_full),
	KUNIT_CASE(requests_line_turns),
	KUNIT_CASE(requests_line_pages),
	KUNIT_CASE(requests_line_half),
	KUNIT_CASE(requests_line_lost),
	KUNIT_CASE(requests_line_cancelled),
	KUNIT_CASE(requests_line_unwanted),
	KUNIT_CASE(requests_line_crossed),
	KUNIT_CASE(requests_wanted_again),
	KUNIT_CASE(requests_place_unused),
	KUNIT_CASE(requests_room_left),
	KUNIT_CASE(requests_wrap),
	KUNIT_CASE(requests_zero),
	{}
};

static struct kunit_suite requests_suite = {
	.name = "rdmafs_xprt_requests",
	.init = requests_init,
	.exit = requests_exit,
	.test_cases = requests_cases,
};

kunit_test_suite(requests_suite);
