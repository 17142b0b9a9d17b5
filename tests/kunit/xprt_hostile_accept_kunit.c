// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_hostile_accept: a server in bare verbs that breaks the protocol when a
 * connection is made, or is silent, or never has room.
 *
 * If the first connect fails the caller must be told why.  Later the client must try again
 * until a server keeps to the protocol.  Meanwhile no call may end and none of its memory may
 * change: a call is answered only on the connection on which it was sent.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <rdma/ib_cm.h>
#include "tests/points/points.h"
#include "xprt_fake.h"

/* Given to a client that is to wait in vain; a slow machine may take longer to get so far. */
#define ACCEPT_SHORT_MS	1000
#define ACCEPT_TRIES	5

/* ------------------------------------------------------------------ the accept */

#define ACCEPT(name, change...)							\
static void accept_##name(struct rxp_wire_cm *cm)				\
{										\
	change;									\
}

ACCEPT(magic, cm->magic ^= cpu_to_le32(1))
ACCEPT(version, cm->version = cpu_to_le16(RXP_WIRE_VERSION + 1))
ACCEPT(recv_size, cm->recv_size = cpu_to_le32(RXP_MSG_MAX - 1))
ACCEPT(data_small, cm->data_max = cpu_to_le32(RDMAFS_XPRT_INLINE_MAX - 1))
ACCEPT(data_large, cm->data_max = cpu_to_le32(RDMAFS_XPRT_DATA_MAX + 1))
ACCEPT(features, cm->features = cpu_to_le32(1))
ACCEPT(reserve, cm->reserve = cpu_to_le16(RXP_RECV_RESERVE - 1))
ACCEPT(heartbeat, cm->heartbeat_ms = cpu_to_le32(1))
ACCEPT(index, cm->index = 1)
ACCEPT(count_none, cm->count = 0)
ACCEPT(count_more, cm->count = 2)
ACCEPT(count_many, cm->count = RDMAFS_XPRT_CONNS_MAX + 1)
ACCEPT(session, cm->session[15] = 1)
ACCEPT(incarnation, cm->incarnation = cpu_to_le32(1))
ACCEPT(slots_none, cm->slots = 0)
ACCEPT(slots_few, cm->slots = cpu_to_le16(RDMAFS_XPRT_SLOTS_MIN - 1))
ACCEPT(slots_more, cm->slots = cpu_to_le16(FAKE_WANT_SLOTS + 1))
ACCEPT(slots_many, cm->slots = cpu_to_le16(RDMAFS_XPRT_SLOTS_MAX + 1))
ACCEPT(nothing, memset(cm, 0, sizeof(*cm)))

static const struct accept_case {
	const char *name;
	void (*change)(struct rxp_wire_cm *cm);
	int error;
} accept_table[] = {
	{ "another magic", accept_magic, -EPROTO },
	{ "nothing", accept_nothing, -EPROTO },
	{ "another version", accept_version, -EPROTONOSUPPORT },
	{ "receives too small", accept_recv_size, -EINVAL },
	{ "too few receives", accept_reserve, -EINVAL },
	{ "too little data", accept_data_small, -EINVAL },
	{ "too much data", accept_data_large, -EINVAL },
	{ "an unknown feature", accept_features, -EINVAL },
	{ "a heartbeat", accept_heartbeat, -EPROTO },
	{ "another index", accept_index, -EINVAL },
	{ "no connections", accept_count_none, -EINVAL },
	{ "more connections than were asked", accept_count_more, -EPROTO },
	{ "more connections than there can be", accept_count_many, -EINVAL },
	{ "a session for connection 0", accept_session, -EINVAL },
	{ "an incarnation for connection 0", accept_incarnation, -EINVAL },
	{ "no slots", accept_slots_none, -EINVAL },
	{ "too few slots", accept_slots_few, -EINVAL },
	{ "more slots than were asked", accept_slots_more, -EPROTO },
	{ "more slots than there can be", accept_slots_many, -EINVAL },
};

static void accept_desc(const struct accept_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(accept, accept_table, accept_desc);

/* The caller's connect must fail with @error. */
static void accept_failed(struct kunit *test, struct fake *f, int error)
{
	flush_work(&f->connect);
	KUNIT_EXPECT_EQ(test, f->error, error);
	KUNIT_EXPECT_NULL(test, f->xprt);
}

/* The accept's private data is wrong: the connect must fail, and nothing be sent. */
static void hostile_accept(struct kunit *test)
{
	const struct accept_case *c = test->param_value;
	struct fake *f = test->priv;
	struct rxp_wire_cm cm;

	raw_fill_cm(&cm);
	c->change(&cm);
	schedule_work(&f->connect);
	KUNIT_ASSERT_TRUE(test, fake_accept(f, &cm));
	accept_failed(test, f, c->error);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(f->raw));
	KUNIT_EXPECT_EQ(test, atomic_read(&f->raw->arrived), 0);
}

/*
 * The accept tells the client to send again for ever what the server does not take: the client
 * must refuse, as its send queue could stand for ever.
 */
static void hostile_accept_endless(struct kunit *test)
{
	struct fake *f = test->priv;
	struct rxp_wire_cm cm;

	f->rnr_retries = 7;
	raw_fill_cm(&cm);
	schedule_work(&f->connect);
	KUNIT_ASSERT_TRUE(test, fake_accept(f, &cm));
	if (raw_iwarp(f->raw))
		kunit_skip(test, "iWARP has no such count");
	accept_failed(test, f, -EPROTO);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(f->raw));
}

static const struct reject_case {
	const char *name;
	u32 magic;
	u16 reason;
	int error;
} reject_table[] = {
	{ "version", RXP_WIRE_MAGIC, RXP_REJECT_VERSION, -EPROTONOSUPPORT },
	{ "parameters", RXP_WIRE_MAGIC, RXP_REJECT_PARAMS, -EPROTO },
	{ "resources", RXP_WIRE_MAGIC, RXP_REJECT_RESOURCES, -EBUSY },
	{ "stopping", RXP_WIRE_MAGIC, RXP_REJECT_STOPPING, -ECONNREFUSED },
	{ "an unknown reason", RXP_WIRE_MAGIC, 99, -EPROTO },
	{ "another magic", RXP_WIRE_MAGIC ^ 1, RXP_REJECT_RESOURCES, -EPROTO },
};

static void reject_desc(const struct reject_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(reject, reject_table, reject_desc);

/* The server rejects the connection: the caller must get the errno of the reason. */
static void hostile_reject(struct kunit *test)
{
	const struct reject_case *c = test->param_value;
	struct rxp_wire_reject rej = {
		.magic = cpu_to_le32(c->magic), .reason = cpu_to_le16(c->reason),
	};
	struct fake *f = test->priv;

	schedule_work(&f->connect);
	f->raw = fake_take_request(f);
	KUNIT_ASSERT_NOT_NULL(test, f->raw);
	KUNIT_EXPECT_EQ(test, rdma_reject(f->raw->id, &rej, sizeof(rej),
					  IB_CM_REJ_CONSUMER_DEFINED), 0);
	/* On iWARP a port without a listener refuses a connection in the same way. */
	if (raw_iwarp(f->raw) && c->magic != RXP_WIRE_MAGIC)
		accept_failed(test, f, -ECONNRESET);
	else
		accept_failed(test, f, c->error);
}

/*
 * A connection request is not answered: the connect must fail with -ETIMEDOUT when its time is
 * up.
 */
static void hostile_no_accept(struct kunit *test)
{
	struct fake *f = test->priv;
	int i;

	f->connect_ms = ACCEPT_SHORT_MS;
	for (i = 0; i < ACCEPT_TRIES && !f->raw; i++) {
		schedule_work(&f->connect);
		/* The client has sent its request, or was too slow even for that. */
		flush_work(&f->connect);
		f->raw = fake_take_request(f);
	}
	KUNIT_ASSERT_NOT_NULL(test, f->raw);
	accept_failed(test, f, -ETIMEDOUT);
}

/* ----------------------------------------------------------------- the WELCOME */

static void welcome_bound(struct fake *f)
{
	fake_welcome(f, RXP_WELCOME_BOUND);
}

static void welcome_refused(struct fake *f)
{
	fake_welcome(f, RXP_WELCOME_REFUSED);
}

static void welcome_unknown(struct fake *f)
{
	fake_welcome(f, 99);
}

static void welcome_foreign(struct fake *f)
{
	struct rxp_wire_welcome w;

	fake_put_welcome(f, &w, RXP_WELCOME_BOUND);
	w.session[0] ^= 1;
	raw_say(f->raw, RXP_NOTIFY, RXP_NOTIFY_WELCOME, 0, 0, &w, sizeof(w), 0);
}

static void welcome_short(struct fake *f)
{
	struct rxp_wire_welcome w;

	fake_put_welcome(f, &w, RXP_WELCOME_NEW);
	raw_say(f->raw, RXP_NOTIFY, RXP_NOTIFY_WELCOME, 0, 0, &w, sizeof(w) - 1, 0);
}

static void welcome_slot(struct fake *f)
{
	struct rxp_wire_welcome w;

	fake_put_welcome(f, &w, RXP_WELCOME_NEW);
	raw_say(f->raw, RXP_NOTIFY, RXP_NOTIFY_WELCOME, 1, 0, &w, sizeof(w), 0);
}

static void welcome_pong(struct fake *f)
{
	fake_notify(f, RXP_NOTIFY_PONG, 0, 0, NULL, 0);
}

static void welcome_reply(struct fake *f)
{
	struct fake_reply r = {
		.type = RXP_REPLY, .seq = 1, .body_len = sizeof(struct fake_msg),
	};

	fake_reply(f, &r);
}

static void welcome_never(struct fake *f)
{
}

static void welcome_leave(struct fake *f)
{
	rdma_disconnect(f->raw->id);
}

static const struct welcome_case {
	const char *name;
	void (*say)(struct fake *f);
	int error;
} welcome_table[] = {
	{ "goes on with no session", welcome_bound, -EPROTO },
	{ "of an unknown status", welcome_unknown, -EPROTO },
	{ "refused", welcome_refused, -EBUSY },
	{ "cut short", welcome_short, -ENOTCONN },
	{ "with a slot", welcome_slot, -ENOTCONN },
	{ "a PONG instead", welcome_pong, -ENOTCONN },
	{ "a REPLY instead", welcome_reply, -ENOTCONN },
	{ "never", welcome_never, -ETIMEDOUT },
	/* The client tries again until its time is up. */
	{ "gone", welcome_leave, -ETIMEDOUT },
};

static void welcome_desc(const struct welcome_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(welcome, welcome_table, welcome_desc);

/* Accept the client and take its HELLO.  If it has given up before that, it begins again. */
static void welcome_awaited(struct kunit *test, struct fake *f)
{
	int i, tries = f->connect_ms == ACCEPT_SHORT_MS ? ACCEPT_TRIES : 1;
	struct rxp_wire_cm cm;

	raw_fill_cm(&cm);
	for (i = 0; i < tries; i++) {
		schedule_work(&f->connect);
		if (fake_accept(f, &cm) && raw_arrives(f->raw))
			break;
		flush_work(&f->connect);
		fake_drop(f);
	}
	KUNIT_ASSERT_NOT_NULL_MSG(test, f->raw, "no connection");
	fake_take_hello(test, f);
}

/*
 * The answer to the HELLO is wrong or does not come: the connect must fail, and the connection
 * end.
 */
static void hostile_welcome(struct kunit *test)
{
	const struct welcome_case *c = test->param_value;
	struct fake *f = test->priv;

	if (c->error == -ETIMEDOUT)
		f->connect_ms = ACCEPT_SHORT_MS;
	welcome_awaited(test, f);
	c->say(f);
	accept_failed(test, f, c->error);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(f->raw));
}

/* -------------------------------------------------------------- connecting again */

/* Offset in the send buffer of the message that is sent together with a WELCOME. */
#define AGAIN_MORE	1024

/*
 * Send a WELCOME and the @len bytes at AGAIN_MORE with one doorbell.  The client sends its
 * calls again when it has handled the WELCOME; a test point holds it there until it has got
 * the second message.
 */
static void again_welcome_and(struct kunit *test, struct fake *f, u32 len)
{
	struct rxp_wire_hdr *hdr = (struct rxp_wire_hdr *)f->raw->send->buf;
	u32 lkey = f->raw->pd->local_dma_lkey;
	unsigned long end = jiffies + RAW_WAIT;
	struct ib_sge sge[2] = {
		{ .addr = f->raw->send->dma, .lkey = lkey,
		  .length = sizeof(*hdr) + sizeof(struct rxp_wire_welcome) },
		{ .addr = f->raw->send->dma + AGAIN_MORE, .length = len, .lkey = lkey },
	};
	struct ib_send_wr wr[2] = {
		{ .opcode = IB_WR_SEND, .sg_list = &sge[0], .num_sge = 1, .next = &wr[1] },
		{ .opcode = IB_WR_SEND, .sg_list = &sge[1], .num_sge = 1 },
	};

	memset(hdr, 0, sizeof(*hdr));
	hdr->type = RXP_NOTIFY;
	hdr->op = RXP_NOTIFY_WELCOME;
	fake_put_welcome(f, (struct rxp_wire_welcome *)(hdr + 1), RXP_WELCOME_BOUND);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold client_welcomed"), 0);
	KUNIT_EXPECT_EQ(test, raw_post(f->raw, wr), 0);
	KUNIT_EXPECT_TRUE(test, rdmafs_point_wait("client_welcomed", 1, 20));
	while (!fake_stat(f, RXP_STAT_protocol_errors) && time_before(jiffies, end))
		usleep_range(100, 200);
	KUNIT_EXPECT_EQ(test, rdmafs_points_command("release client_welcomed"), 0);
}

static void again_accept(struct kunit *test, struct fake *f)
{
	struct rxp_wire_cm cm;

	raw_fill_cm(&cm);
	KUNIT_ASSERT_TRUE(test, fake_accept(f, &cm));
}

static void again_other_slots(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct rxp_wire_cm cm;

	raw_fill_cm(&cm);
	cm.slots = cpu_to_le16(RAW_SLOTS + 8);
	KUNIT_ASSERT_TRUE(test, fake_accept(f, &cm));
}

static void again_less_data(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct rxp_wire_cm cm;

	raw_fill_cm(&cm);
	cm.data_max = cpu_to_le32(RDMAFS_XPRT_INLINE_MAX);
	KUNIT_ASSERT_TRUE(test, fake_accept(f, &cm));
}

static void again_foreign(struct kunit *test, struct fake *f, struct fake_call *v)
{
	again_accept(test, f);
	fake_take_hello(test, f);
	welcome_foreign(f);
}

static void again_refused(struct kunit *test, struct fake *f, struct fake_call *v)
{
	again_accept(test, f);
	fake_take_hello(test, f);
	welcome_refused(f);
}

static void again_short(struct kunit *test, struct fake *f, struct fake_call *v)
{
	again_accept(test, f);
	fake_take_hello(test, f);
	welcome_short(f);
}

static void again_left(struct kunit *test, struct fake *f, struct fake_call *v)
{
	again_accept(test, f);
	fake_take_hello(test, f);
	welcome_leave(f);
}

static void again_left_welcome(struct kunit *test, struct fake *f, struct fake_call *v)
{
	again_accept(test, f);
	fake_take_hello(test, f);
	fake_welcome(f, RXP_WELCOME_BOUND);
	welcome_leave(f);
}

/* It comes before the HELLO, or at least before the WELCOME, for a slot that was never granted. */
static void again_reply_no_slot(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r = fake_ok(v);

	again_accept(test, f);
	r.slot = FAKE_WANT_SLOTS - 1;
	fake_reply(f, &r);
}

static void again_reply(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r = fake_ok(v);

	again_accept(test, f);
	fake_take_hello(test, f);
	fake_reply(f, &r);
}

static void again_stcrw_first(struct kunit *test, struct fake *f, struct fake_call *v)
{
	again_accept(test, f);
	fake_stcrw(test, f, v);
}

static void again_stcrw(struct kunit *test, struct fake *f, struct fake_call *v)
{
	again_accept(test, f);
	fake_take_hello(test, f);
	fake_stcrw(test, f, v);
}

/* A reply comes with the WELCOME, before the call can have been sent again. */
static void again_reply_welcome(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r = fake_ok(v);
	u32 len;

	again_accept(test, f);
	fake_take_hello(test, f);
	len = fake_put_reply(f->raw->send->buf + AGAIN_MORE, &r);
	again_welcome_and(test, f, len);
}

static void again_stcrw_welcome(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct {
		struct rxp_wire_hdr hdr;
		struct rxp_wire_tag tag;
	} *m;

	again_accept(test, f);
	fake_take_hello(test, f);
	m = (void *)(f->raw->send->buf + AGAIN_MORE);
	memset(m, 0, sizeof(*m));
	m->hdr.type = RXP_NOTIFY;
	m->hdr.op = RXP_NOTIFY_STCRW;
	m->hdr.slot = cpu_to_le16(v->slot);
	m->hdr.seq = cpu_to_le32(v->seq);
	m->tag = fake_sink(test, f);
	again_welcome_and(test, f, sizeof(*m));
}

/* The call's CANCEL belonged to the connection that was lost. */
static void again_cancelled(struct kunit *test, struct fake *f, struct fake_call *v)
{
	struct fake_reply r;

	fake_again(test, f, RXP_WELCOME_BOUND);
	fake_take_call(test, f, v);
	KUNIT_EXPECT_TRUE(test, v->keyed);
	r = fake_ok(v);
	r.status = RXP_STATUS_CANCELLED;
	r.body_len = 0;
	fake_reply(f, &r);
}

static const struct again_case {
	const char *name;
	void (*run)(struct kunit *test, struct fake *f, struct fake_call *v);
	enum fake_kind kind;
	bool judged;
} again_table[] = {
	{ "another number of slots", again_other_slots, FAKE_ECHO, false },
	{ "less data", again_less_data, FAKE_READ, false },
	{ "a foreign session", again_foreign, FAKE_READ, false },
	{ "no session", again_refused, FAKE_READ, false },
	{ "half a WELCOME", again_short, FAKE_READ, true },
	{ "leaves before the WELCOME", again_left, FAKE_READ, false },
	{ "leaves after the WELCOME", again_left_welcome, FAKE_READ, false },
	{ "a REPLY before all, in no slot", again_reply_no_slot, FAKE_ECHO, true },
	{ "a REPLY before the WELCOME", again_reply, FAKE_ECHO, true },
	{ "the same, to a READ", again_reply, FAKE_READ_SMALL, true },
	{ "a REPLY before the CALL", again_reply_welcome, FAKE_ECHO, true },
	{ "the same, to a READ before its CALL", again_reply_welcome, FAKE_READ, true },
	{ "STCRW before all", again_stcrw_first, FAKE_WRITE, true },
	{ "STCRW before the WELCOME", again_stcrw, FAKE_WRITE, true },
	{ "STCRW before the CALL", again_stcrw_welcome, FAKE_WRITE, true },
	{ "CANCELLED for an old CANCEL", again_cancelled, FAKE_READ_GAPS, true },
};

static void again_desc(const struct again_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(again, again_table, again_desc);

/*
 * The client has calls and loses its connection.  On the next one the server breaks the
 * protocol.  The client must end the second connection, too, without touching a call, and have
 * all calls served on the third.
 */
static void hostile_again(struct kunit *test)
{
	const struct again_case *c = test->param_value;
	struct fake *f = test->priv;
	struct fake_call *v;
	u32 i;

	fake_start(test, f);
	v = fake_submit_all(test, f, c->kind);
	fake_drop(f);
	c->run(test, f, v);
	KUNIT_ASSERT_TRUE_MSG(test, raw_wait_cut(f->raw), "still connected");
	fake_drop(f);
	for (i = 0; i < FAKE_CALLS; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&f->call[i].ended), 0);
	fake_untouched(test, f);
	fake_again(test, f, RXP_WELCOME_BOUND);
	fake_serve_all(test, f);
	fake_ended(test, f, 0, 0);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_protocol_errors), c->judged);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->resets), 0);
}

/*
 * The client gets a new session.  Calls that may be executed twice must be sent again, with the
 * first sequence number of their slots; the one that may not must end with -EREMOTEIO.
 */
static void hostile_new_session(struct kunit *test)
{
	struct fake *f = test->priv;
	struct fake_call *v;
	u32 i;

	fake_start(test, f);
	v = fake_submit_all(test, f, FAKE_WRITE_GRANTED);
	KUNIT_EXPECT_EQ(test, v->seq, 2);
	v->call.flags &= ~RDMAFS_CALL_IDEMPOTENT;
	fake_drop(f);
	fake_again(test, f, RXP_WELCOME_NEW);
	for (i = 1; i < FAKE_CALLS; i++) {
		fake_take_call(test, f, &f->call[i]);
		KUNIT_EXPECT_EQ(test, f->call[i].seq, 1);
	}
	fake_serve_all(test, f);
	fake_ended(test, f, -EREMOTEIO, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->resets), 1);
}

/* ------------------------------------------------------------- silence and abort */

/*
 * The server answers nothing, not even PINGs.  The client must end the connection and have its
 * calls answered on another one.
 */
static void hostile_silent(struct kunit *test)
{
	struct fake *f = test->priv;

	fake_start(test, f);
	fake_submit_all(test, f, FAKE_READ_LATE);
	f->mute = true;
	while (f->pings < 5)
		fake_take(test, f);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(f->raw));
	f->mute = false;
	fake_drop(f);
	fake_untouched(test, f);
	fake_again(test, f, RXP_WELCOME_BOUND);
	fake_serve_all(test, f);
	fake_ended(test, f, 0, 0);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_protocol_errors), 0);
}

/* The server answers PINGs and sends nothing else.  The client must keep the connection. */
static void hostile_idle(struct kunit *test)
{
	struct fake *f = test->priv;

	fake_start(test, f);
	/* One PING more than a client sends that gets no answers. */
	while (f->pings < 6)
		fake_take(test, f);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(f->raw->cut));
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_reconnects), 0);
}

static const struct abort_case {
	const char *name;
	enum fake_kind kind;
} abort_table[] = {
	{ "a small READ", FAKE_READ_SMALL },
	{ "a READ", FAKE_READ },
	{ "a READ registered late", FAKE_READ_LATE },
	{ "a READ cancelled", FAKE_READ_GAPS },
	{ "a small WRITE", FAKE_WRITE_SMALL },
	{ "a WRITE", FAKE_WRITE },
	{ "a granted WRITE", FAKE_WRITE_GRANTED },
};

static void abort_desc(const struct abort_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(abort, abort_table, abort_desc);

/* The server does not answer, and the mount is aborted.  All calls must end at once. */
static void hostile_abort(struct kunit *test)
{
	const struct abort_case *c = test->param_value;
	struct fake *f = test->priv;
	struct fake_call *v;

	fake_start(test, f);
	v = fake_submit_all(test, f, c->kind);
	rdmafs_xprt_abort(f->xprt);
	fake_ended(test, f, -ESHUTDOWN, -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, rdmafs_xprt_submit(f->xprt, &v->call), -ESHUTDOWN);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(f->raw));
}

/* The same while no connection is accepted. */
static void hostile_abort_down(struct kunit *test)
{
	struct fake *f = test->priv;
	struct raw *raw;

	fake_start(test, f);
	fake_submit_all(test, f, FAKE_READ);
	fake_drop(f);
	raw = fake_take_request(f);
	KUNIT_ASSERT_NOT_NULL(test, raw);
	rdmafs_xprt_abort(f->xprt);
	fake_ended(test, f, -ESHUTDOWN, -ESHUTDOWN);
	raw_close(raw);
}

/* ------------------------------------------------------------- RETRY_LATER for ever */

static void later_say(struct kunit *test, struct fake *f, struct fake_call *c)
{
	struct fake_reply r = fake_ok(c);

	r.status = RXP_STATUS_RETRY_LATER;
	r.body_len = 0;
	KUNIT_ASSERT_EQ(test, fake_reply(f, &r), 0);
	c->seen = false;
}

/*
 * The server answers each call RETRY_LATER, again and again.  The client must wait longer and
 * longer, however many calls there are; an abort must end them.
 */
static void hostile_later(struct kunit *test)
{
	struct fake *f = test->priv;
	u32 i, elapsed, said = 0;
	unsigned long begin;

	fake_start(test, f);
	fake_submit_all(test, f, FAKE_WRITE);
	begin = jiffies;
	do {
		for (i = 0; i < FAKE_CALLS; i++) {
			if (!f->call[i].seen)
				continue;
			later_say(test, f, &f->call[i]);
			said++;
		}
		fake_take(test, f);
		elapsed = jiffies_to_msecs(jiffies - begin);
	} while (elapsed < 2000 ||
		 (said < FAKE_CALLS * 8 && time_before(jiffies, begin + RAW_WAIT)));
	KUNIT_EXPECT_GE(test, said, FAKE_CALLS * 8);
	/* Each call comes once in 80 ms when the wait has become that long. */
	KUNIT_EXPECT_LE_MSG(test, said, FAKE_CALLS * (8 + elapsed / 50), "in %u ms", elapsed);
	for (i = 0; i < FAKE_CALLS; i++)
		if (f->call[i].seen)
			later_say(test, f, &f->call[i]);
	rdmafs_xprt_abort(f->xprt);
	fake_ended(test, f, -ESHUTDOWN, -ESHUTDOWN);
}

/* A WRITE has been refused and waits to be sent again.  A later WRITE must not overtake it. */
static void hostile_later_in_order(struct kunit *test)
{
	struct fake *f = test->priv;
	struct list_head *writes;
	unsigned long end;
	u32 i;

	fake_start(test, f);
	writes = &f->xprt->deferred.writes;
	fake_submit(test, f, 0, FAKE_WRITE);
	fake_take_call(test, f, &f->call[0]);
	end = jiffies + RAW_WAIT;
	/*
	 * The WRITE waits there for only 10 ms: if the loop does not see it then, it comes
	 * again and is refused again.
	 */
	while (list_empty_careful(writes) && time_before(jiffies, end)) {
		if (f->call[0].seen)
			later_say(test, f, &f->call[0]);
		else if (atomic_read(&f->raw->arrived) > f->raw->taken)
			fake_take(test, f);
		else
			usleep_range(100, 200);
	}
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, end));
	fake_submit(test, f, 1, FAKE_WRITE);
	while (!f->call[0].seen && !f->call[1].seen)
		fake_take(test, f);
	KUNIT_EXPECT_TRUE(test, f->call[0].seen);
	KUNIT_EXPECT_FALSE(test, f->call[1].seen);
	for (i = 0; i < 2; i++) {
		fake_take_call(test, f, &f->call[i]);
		fake_serve(test, f, &f->call[i]);
		fake_await(test, &f->call[i]);
		KUNIT_EXPECT_EQ(test, f->call[i].call.status, 0);
	}
	fake_idle(test, f);
}

/* ----------------------------------------------------------------------- suite */

static int hostile_accept_init(struct kunit *test)
{
	fake_new(test);
	return 0;
}

static void hostile_accept_exit(struct kunit *test)
{
	rdmafs_points_command("reset");
	if (test->priv)
		fake_free(test->priv);
}

static struct kunit_case hostile_accept_cases[] = {
	KUNIT_CASE_PARAM(hostile_accept, accept_gen_params),
	KUNIT_CASE(hostile_accept_endless),
	KUNIT_CASE_PARAM(hostile_reject, reject_gen_params),
	KUNIT_CASE(hostile_no_accept),
	KUNIT_CASE_PARAM(hostile_welcome, welcome_gen_params),
	KUNIT_CASE_PARAM(hostile_again, again_gen_params),
	KUNIT_CASE(hostile_new_session),
	KUNIT_CASE_SLOW(hostile_silent),
	KUNIT_CASE_SLOW(hostile_idle),
	KUNIT_CASE_PARAM(hostile_abort, abort_gen_params),
	KUNIT_CASE(hostile_abort_down),
	KUNIT_CASE_SLOW(hostile_later),
	KUNIT_CASE(hostile_later_in_order),
	{}
};

static struct kunit_suite hostile_accept_suite = {
	.name = "rdmafs_xprt_hostile_accept",
	.init = hostile_accept_init,
	.exit = hostile_accept_exit,
	.test_cases = hostile_accept_cases,
};

kunit_test_suite(hostile_accept_suite);
