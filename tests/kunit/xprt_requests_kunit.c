// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_requests: a client in bare verbs loses its connection while
 * the server is at some step of its request, which a test point makes certain, and
 * sends the CALL again on the next connection.  It gets its answer, whichever of the
 * two was there first.  Needs an RDMA device, as the other suites with a peer do.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <net/net_namespace.h>
#include "tests/points/points.h"
#include "transport/points.h"
#include "transport/server.h"
#include "xprt_raw.h"

#define REQUESTS_PORT	20994
#define REQUESTS_LEN	65536
#define REQUESTS_SLOT	1

/* Times the slots: more than the server takes to look, and less than we wait. */
#define REQUESTS_STAND_MS	500

#define REQUESTS_LAG	4		/* requests of a slot whose replies have not gone */
#define REQUESTS_SHARE	8		/* of a server's threads, on one or two CPUs */
#define REQUESTS_CLIENT	24		/* the same for all sessions of one client */
#define REQUESTS_DOMAIN	16		/* and for all requests in one file system */
#define REQUESTS_PART	12		/* and for those of one client there */

struct requests {
	struct completion release;
	struct completion few;		/* releases some of those that are held */
	atomic_t held;
	atomic_t served;
	struct rpol_domain *domain;	/* of the device that the server's sessions are on */
	u32 entries;			/* that a sink of 1 MiB takes there */
	u64 capacity;			/* of that, if it was changed */
	struct rdmafs_xprt_server *server;
	struct raw *first;
	struct raw *second;		/* replaces the first, or is beside it */
	struct raw *third;
	struct raw *fourth;
	struct raw *fifth;
	u32 looked;			/* at the first two for what came, in turn */
};

/* What the first byte of a request says. */
enum { REQUESTS_HELD = 1, REQUESTS_FEW };

/* All that a READ has room for; nothing for others. */
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

/* The second byte names a file system. */
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

/* Say HELLO: to the session of @of, if there is one. */
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

/* Connected, and said HELLO. */
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

/* One session more, of the same client as the others. */
static void requests_more(struct kunit *test, struct raw **raw)
{
	*raw = requests_connect(test, NULL);
	requests_welcome(test, *raw, RXP_WELCOME_NEW);
}

static void requests_call_in(struct kunit *test, struct raw *raw, u16 slot, u32 seq, u16 flags,
			     u32 bulk)
{
	struct rxp_frame f = {
		.slot = slot, .seq = seq, .flags = flags, .body_len = 8, .bulk_len = bulk,
	};

	if (flags & RXP_F_RKEY) {
		f.rkey = 0x100;
		f.iova = PAGE_SIZE;
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

/* What was sent before has been looked at: messages of a connection are, in order. */
static void requests_seen(struct kunit *test, struct raw *raw)
{
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_PING, 0, 0, NULL, 0, 0), 0);
	raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_PONG, 0, 0);
}

static void requests_held(struct kunit *test, const char *point)
{
	KUNIT_ASSERT_TRUE_MSG(test, rdmafs_point_wait(point, 1, 20), "nobody comes to %s", point);
}

/* Rest of a WRITE: the STCRW comes, DATA goes (nothing need be written), the reply comes. */
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

/* Rest of a READ: it is taken back, which is answered. */
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

/* The steps: @before, where the request is held first, and where it has just got passive. */
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

/* A request of the first connection, held, and that connection lost. */
static void requests_lose(struct kunit *test, const struct requests_param *p)
{
	struct requests *r = test->priv;

	requests_arm(test, p->before);
	requests_call(test, r->first, p->flags);
	requests_held(test, p->before);
	rdma_disconnect(r->first->id);
}

/* Its thread leaves the request to the connection just before that is unbound. */
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

/* It comes to do so when the next one is bound already. */
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

/* And when the CALL has come again there. */
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

/* A reply that is held takes memory: it ends, and its connection, though nobody waits. */
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

/* So does a sink that nobody writes to. */
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

/* Numbers wrap, and leave 0 out, which could not be told from none when it came again. */
static void requests_wrap(struct kunit *test)
{
	struct requests *r = test->priv;
	int i;

	rdmafs_test_knobs.seq_before = U32_MAX - 1;
	requests_more(test, &r->second);
	requests_call_as(test, r->second, U32_MAX, 0, 0);
	raw_expect(test, r->second, RXP_REPLY, 0, REQUESTS_SLOT, U32_MAX);
	/* The second time as a replay, whose answer was not kept. */
	for (i = 0; i < 2; i++) {
		requests_call_as(test, r->second, 1, 0, 0);
		raw_expect(test, r->second, RXP_REPLY, 0, REQUESTS_SLOT, 1);
	}
	KUNIT_EXPECT_FALSE(test, r->second->cut);
}

static void requests_zero(struct kunit *test)
{
	struct requests *r = test->priv;

	rdmafs_test_knobs.seq_before = U32_MAX;
	requests_more(test, &r->second);
	requests_call_as(test, r->second, 0, 0, 0);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(r->second));
}

/* So many requests have been served; or the connection is gone, and they will not be. */
static bool requests_served(struct requests *r, const struct raw *raw, int nr)
{
	int rounds;

	for (rounds = 0; rounds < 1000 && atomic_read(&r->served) < nr && !READ_ONCE(raw->cut);
	     rounds++)
		msleep(20);
	return atomic_read(&r->served) >= nr;
}

/* READs on one slot, each as if the last were answered, by one that takes no reply. */
static void requests_ahead(struct kunit *test)
{
	struct requests *r = test->priv;
	struct rxp_wire_cm cm;
	int served;

	/* One receive, for the WELCOME: no PONG can be sent, and nothing behind it. */
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

/* Some slots with requests, in one file system, or in none if that is 0. */
static void requests_begin(struct kunit *test, struct raw *raw, u16 slot, u16 nr, u8 how,
			   u8 domain)
{
	const u8 body[8] = { how, domain };
	struct rxp_frame f = {
		.slot = slot, .seq = 1, .body = body, .body_len = sizeof(body),
	};

	for (; nr; f.slot++, nr--)
		KUNIT_ASSERT_EQ(test, raw_send_call(raw, &f), 0);
}

/* And they block. */
static void requests_block(struct kunit *test, struct raw *raw, u16 slot, u16 nr, u8 how,
			   u8 domain)
{
	requests_begin(test, raw, slot, nr, how, domain);
	requests_seen(test, raw);
}

/* One that does not, and has its answer. */
static void requests_answered(struct kunit *test, struct raw *raw, u16 slot, u8 domain)
{
	requests_begin(test, raw, slot, 1, 0, domain);
	raw_expect(test, raw, RXP_REPLY, 0, slot, 1);
}

/* All slots. */
static void requests_fill(struct kunit *test, struct raw *raw, u8 domain)
{
	requests_block(test, raw, 0, RAW_SLOTS, REQUESTS_HELD, domain);
}

static void requests_count(const atomic_t *count, int nr)
{
	int rounds;

	for (rounds = 0; rounds < 500 && atomic_read(count) < nr; rounds++)
		msleep(20);
}

/* So many block in threads; half a second is for those that must not get one. */
static void requests_expect_held(struct kunit *test, int nr)
{
	struct requests *r = test->priv;
	int rounds;

	requests_count(&r->held, nr);
	for (rounds = 0; rounds < 25 && atomic_read(&r->held) <= nr; rounds++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->held), nr);
}

/* None blocks any more, and so many have been served: also those that had to wait. */
static void requests_expect_served(struct kunit *test, int nr)
{
	struct requests *r = test->priv;

	complete_all(&r->few);
	complete_all(&r->release);
	requests_count(&r->served, nr);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->served), nr);
}

/* Sessions whose requests block leave threads to another. */
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

/* As many sessions as one likes are one client, which leaves threads to others. */
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

/* The session that was made last. */
static struct rdmafs_xprt_session *requests_last(struct kunit *test)
{
	struct requests *r = test->priv;

	return list_last_entry(&r->server->sessions, struct rdmafs_xprt_session, link);
}

/* And though other data moves all the time: each slot may have its time once. */
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
		rxp_session_progress(s);
		usleep_range(1000, 2000);
	}
	KUNIT_EXPECT_TRUE(test, r->first->cut);
	KUNIT_EXPECT_EQ(test, r->server->held_dropped, 1);
}

/*
 * The device is done with nothing that is sent to a client, as far as the server hears, and
 * the client is heard: its connection goes, as what it does not take is kept.
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
 * It is the second connection's queue that stands, and data of the session moves on the first
 * one: then each slot may have its time once.
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
		rxp_session_progress(s);
		msleep(20);
	}
	KUNIT_EXPECT_TRUE_MSG(test, r->third->cut, "what it does not take is kept for ever");
	KUNIT_EXPECT_EQ(test, r->server->held_dropped, 1);
	KUNIT_EXPECT_GE(test, jiffies_to_msecs(jiffies - begin), REQUESTS_STAND_MS * RAW_SLOTS);
}

/* What stands in the send queue of a session's only connection, or NULL. */
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

/* The server has found that its queue stands. */
static bool requests_found(struct rdmafs_xprt_session *s)
{
	bool found;

	spin_lock_bh(&s->lock);
	found = s->conns[0] && s->conns[0]->oldest;
	spin_unlock_bh(&s->lock);
	return found;
}

/*
 * The server's machine stood still: when it looks first, all is long ago, and what the device
 * is done with has not been looked at yet.  That is no fault of the client's.
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

/* The same, which has had no request yet, as if it came from elsewhere. */
static struct rdmafs_xprt_session *requests_set_apart(struct kunit *test)
{
	struct rdmafs_xprt_session *s = requests_last(test);
	struct rxp_client *client = kzalloc(sizeof(*client), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, client);
	kref_init(&client->ref);
	INIT_LIST_HEAD(&client->waiting);
	INIT_LIST_HEAD(&client->parts);
	kref_put(&s->turns.client->ref, requests_never);
	s->turns.client = client;
	return s;
}

/* A file system has no more threads than it leaves free, and the next one likewise. */
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
	/* What another session wants of another one is served, also while that blocks. */
	requests_fill(test, r->fourth, 2);
	requests_expect_held(test, REQUESTS_DOMAIN + REQUESTS_SHARE);
	requests_expect_served(test, 4 * RAW_SLOTS);
}

/*
 * A client has no more threads for one file system than that leaves free of what it may have:
 * whatever it blocks in two, and wants besides, what it asks of a third is served.
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

/* So many of a session's requests have been given to threads, or are parked. */
static void requests_taken(struct kunit *test, struct rdmafs_xprt_session *s, u32 nr)
{
	int rounds;

	for (rounds = 0; rounds < 500 && READ_ONCE(s->turns.taken) != nr; rounds++)
		msleep(20);
	KUNIT_ASSERT_EQ(test, READ_ONCE(s->turns.taken), nr);
}

/*
 * A file system has a thread more, and the first of those that are parked there is of a
 * client that has as many as it may: the next one gets it, which is another's.
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
	/* Now four threads are free, and no more are for that file system. */
	requests_block(test, r->fourth, 0, 1, REQUESTS_HELD, 1);
	requests_taken(test, one, 1);
	requests_block(test, r->fifth, 5, 1, REQUESTS_FEW, 1);
	requests_taken(test, other, 6);
	requests_block(test, r->third, REQUESTS_SHARE - 1, 1, REQUESTS_HELD, 0);
	requests_expect_held(test, REQUESTS_CLIENT + 5);
	/* After two of five there is room for one. */
	complete(&r->few);
	complete(&r->few);
	requests_expect_held(test, REQUESTS_CLIENT + 6);
	requests_expect_served(test, 2 * RAW_SLOTS + 15);
}

/* ------------------------------------------------------------------------ in line */

/* Room for one WRITE of 1 MiB, which the first has, and which it is asked for. */
static struct rxp_wire_tag requests_one_sink(struct kunit *test)
{
	struct rdmafs_xprt_limits limits = raw_limits();
	struct requests *r = test->priv;
	struct rpol_domain_stats st;

	/* It keeps it while others wait, and says nothing, for as long as this machine takes. */
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

/* The data of a WRITE, which nothing need be of. */
static void requests_data(struct kunit *test, struct raw *raw, u16 slot, u32 seq,
			  struct rxp_wire_tag tag)
{
	u32 rkey = le32_to_cpu(tag.rkey);

	tag.iova = 0;
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_DATA, slot, seq, &tag,
				      sizeof(tag), rkey), 0);
}

/* So many WRITEs stand in line, of all sessions together. */
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
 * What one session gives back is bound to what another stands in line for: that one need
 * not come again, and nothing lies idle until it has.
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
	/* All there is stays bound to it for as long as its client likes. */
	rpol_domain_get_stats(r->domain, &after);
	KUNIT_EXPECT_EQ(test, after.charged, r->entries);
	/* But for two steps of one function, between which the machine may do something else. */
	KUNIT_EXPECT_LT(test, after.idle_us - before.idle_us, USEC_PER_SEC);
	requests_data(test, r->second, 0, 1, tag);
	raw_expect(test, r->second, RXP_REPLY, 0, 0, 1);
	requests_in_line(test, 0);
}

/* Who of the first two has been sent something, or NULL. */
static struct raw *requests_told(struct requests *r)
{
	struct raw *raws[] = { r->first, r->second };
	struct raw *raw;
	int rounds, i;

	for (rounds = 0; rounds < 1000; rounds++) {
		for (i = 0; i < ARRAY_SIZE(raws); i++) {
			/* Each in turn: neither is kept from speaking by what the other is told. */
			raw = raws[r->looked++ % ARRAY_SIZE(raws)];
			if (atomic_read(&raw->arrived) > raw->taken)
				return raw;
		}
		msleep(20);
	}
	return NULL;
}

/* More messages come than there are receives: those taken so far are posted again. */
static void requests_repost(struct kunit *test, struct raw *raw)
{
	u32 i;

	KUNIT_ASSERT_LE(test, raw->taken, RAW_RECVS);
	for (i = 0; i < raw->taken; i++)
		KUNIT_ASSERT_EQ(test, raw_repost(raw, &raw->recv[i]), 0);
}

/*
 * One of the first two is asked for data, or answered, which may say that it is to come
 * back; and goes on.  The slot of @whose that has its turn, or -1.
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

/* Half of a session's slots stand in line; the others are served, or told to come back. */
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
	/* The one that was sent away has its turn, too, however many of the others come again. */
	requests_repost(test, r->second);
	requests_call_in(test, r->second, i, 3, RXP_F_WRITE, SZ_1M);
	for (messages = 0; messages < 4000 && slot != i; messages++)
		slot = requests_turn(test, r->second);
	KUNIT_EXPECT_EQ_MSG(test, slot, i, "in %u messages", messages);
}

/*
 * One always has all in line that it may; another one has one WRITE after the other, and
 * goes to the end of the line with each: it gets its turns.
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
	/* The next one may be asked for its data before this one is answered. */
	requests_data(test, r->first, 0, 1, tag);
	requests_repost(test, r->first);
	requests_repost(test, r->second);
	for (messages = 0; messages < 4000 && turns < 8; messages++)
		turns += requests_turn(test, r->second) >= 0;
	KUNIT_EXPECT_EQ_MSG(test, turns, 8, "in %u messages", messages);
}

/* Its connection goes while it stands in line: so does its place, and it comes again. */
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
 * When its turn comes it has pages still, whatever others have taken meanwhile: it does not lose
 * its translations for want of those.
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

/* With half of a session's pages some stand in line, but one does in any case. */
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

/* A client takes the first WRITE of slot 0 back. */
static void requests_take_back(struct kunit *test, struct raw *raw)
{
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_CANCEL, 0, 1, NULL, 0, 0), 0);
}

static void requests_taken_back(struct kunit *test, struct raw *raw)
{
	const struct rxp_wire_reply *reply = raw_expect(test, raw, RXP_REPLY, 0, 0, 1);

	KUNIT_EXPECT_EQ(test, le32_to_cpu(reply->status), RXP_STATUS_CANCELLED);
}

/* What the first gives back is had by the second's next WRITE in slot 0: nothing is lost. */
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
 * The first WRITEs of slots 1 to @nr, in line, have their turns.  Once the data of one
 * is there its MR is the next one's, which may be asked for its own before the one is answered.
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
 * Its client takes it back there: it is told so at once, though nobody gives anything
 * back, and has its place again.
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

/* It does so just before: the WRITE does not even begin to wait. */
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

/* Or just when its turn has come: then it is answered by whom that has woken, and once. */
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
	/* It has been looked at, and what was granted is its still. */
	requests_seen(test, r->second);
	rpol_domain_get_stats(r->domain, &st);
	KUNIT_EXPECT_EQ(test, st.charged, r->entries);
	requests_release(test, "req_turn");
	requests_taken_back(test, r->second);
	requests_seen(test, r->second);
	/* And it comes back: there is room for one. */
	requests_call_in(test, r->first, 0, 2, RXP_F_WRITE, SZ_1M);
	requests_written_in(test, r->first, 0, 2);
	requests_in_line(test, 0);
}

/*
 * It is taken back when it has a sink, and its connection is lost when its thread has seen that;
 * then the CALL comes again on the next one, which has taken back nothing, and is to be asked.
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
	/* A request of its own, which does not wait for the thread that is held. */
	requests_written_in(test, r->second, 0, 1);
	requests_release(test, "req_asked");
}

/* ------------------------------------------------------------------------ places */

/*
 * A client that has all of its threads gets one back, and the session that has waited longest
 * can't use it, as its file system has no room: then it is the next session's.
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
 * A thread is through with a request of one file system, and takes one that was parked in
 * another, which blocks: there is room for one more in the first, and nobody else to ask.
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
	/* One is left, and what has one already does not get it. */
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
	/* Now: the connection may be lost by the time that it is asked for. */
	s = list_first_entry(&r->server->sessions, struct rdmafs_xprt_session, link);
	r->domain = s->conns[0]->pool->rdev->domain;
	/* siw's MRs have no more than 256. */
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
