// SPDX-License-Identifier: GPL-2.0
/*
 * A server in bare verbs, and a client's calls.  The case's thread is the server: it takes the
 * messages that have come, and sends what the case wants.  Only connecting, which waits for the
 * server, has a thread of its own.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/wait_bit.h>
#include <net/net_namespace.h>
#include "xprt_fake.h"

#define FAKE_PORT	20997

/*
 * How long the client waits for each step of the case's thread, when it connects first, and
 * when it connects again.  The second is shorter than RAW_WAIT, for which a case waits for a
 * client that tries in vain.
 */
#define FAKE_CONNECT_MS	60000
#define FAKE_STEP_MS	8000

#define FAKE_BOOT	0x1234567890abcdefULL

static const u8 fake_session[16] = "rdmafs fake srv";

static void fake_session_reset(void *ctx)
{
	struct fake *f = ctx;

	atomic_inc(&f->resets);
	f->noio = current->flags & PF_MEMALLOC_NOIO;
}

static void fake_event(void *ctx)
{
	struct fake *f = ctx;

	atomic_inc(&f->events);
}

static const struct rdmafs_xprt_client_ops fake_client_ops = {
	.session_reset = fake_session_reset,
	.event = fake_event,
};

/* ------------------------------------------------------------------- connecting */

static int fake_listen_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct fake *f = id->context;
	struct raw *raw;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	raw = raw_alloc();
	if (!raw)
		return -ENOMEM;
	raw->id = id;
	id->context = raw;
	id->event_handler = raw_event;
	spin_lock(&f->lock);
	list_add_tail(&raw->link, &f->pending);
	spin_unlock(&f->lock);
	wake_up_all(&f->wait);
	return 0;
}

static bool fake_pending(struct fake *f)
{
	bool pending;

	spin_lock(&f->lock);
	pending = !list_empty(&f->pending);
	spin_unlock(&f->lock);
	return pending;
}

/**
 * fake_take_request - take a connection request, or wait for one
 * @f: the server
 *
 * Context: process, may sleep, for up to RAW_WAIT.
 *
 * Return: the request, which the caller owns, or NULL if none came.
 */
struct raw *fake_take_request(struct fake *f)
{
	struct raw *raw;

	wait_event_timeout(f->wait, fake_pending(f), RAW_WAIT);
	spin_lock(&f->lock);
	raw = list_first_entry_or_null(&f->pending, struct raw, link);
	if (raw)
		list_del_init(&raw->link);
	spin_unlock(&f->lock);
	return raw;
}

/**
 * fake_accept - accept the next connection request that the client has not given up
 * @f:  the server; f->raw becomes the connection
 * @cm: private data
 *
 * Context: process, may sleep.
 *
 * Return: true if there is a connection.
 */
bool fake_accept(struct fake *f, const struct rxp_wire_cm *cm)
{
	struct raw *raw;

	while ((raw = fake_take_request(f))) {
		raw->rnr_retries = f->rnr_retries;
		if (!raw_accept(raw, cm, sizeof(*cm))) {
			f->raw = raw;
			return true;
		}
		raw_close(raw);
	}
	return false;
}

/**
 * fake_take_hello - take the HELLO, which must be the next message
 * @test: the case
 * @f:    the server; f->hello becomes the HELLO
 *
 * Context: process, may sleep.
 */
void fake_take_hello(struct kunit *test, struct fake *f)
{
	struct raw_msg *m = raw_next_msg(f->raw);
	struct rxp_wire_hdr *hdr;

	KUNIT_ASSERT_NOT_NULL_MSG(test, m, "no HELLO");
	hdr = (struct rxp_wire_hdr *)m->buf;
	KUNIT_EXPECT_EQ(test, hdr->type, RXP_CONTROL);
	KUNIT_EXPECT_EQ(test, hdr->op, RXP_CONTROL_HELLO);
	KUNIT_EXPECT_EQ(test, m->len, sizeof(*hdr) + sizeof(f->hello));
	memcpy(&f->hello, hdr + 1, sizeof(f->hello));
	KUNIT_EXPECT_EQ(test, raw_repost(f->raw, m), 0);
}

/**
 * fake_put_welcome - fill in a WELCOME to the server's only session
 * @f:      the server
 * @w:      out: the WELCOME
 * @status: RXP_WELCOME_*
 *
 * Context: any.
 */
void fake_put_welcome(struct fake *f, struct rxp_wire_welcome *w, u32 status)
{
	memset(w, 0, sizeof(*w));
	memcpy(w->session, fake_session, sizeof(w->session));
	w->boot = cpu_to_le64(FAKE_BOOT);
	w->lease_ms = cpu_to_le32(RXP_LEASE_MS);
	w->status = cpu_to_le32(status);
	w->incarnation = cpu_to_le32(1);
}

/**
 * fake_welcome - send a WELCOME
 * @f:      the server
 * @status: RXP_WELCOME_*
 *
 * Context: process, may sleep.
 *
 * Return: as raw_post().
 */
int fake_welcome(struct fake *f, u32 status)
{
	struct rxp_wire_welcome w;

	fake_put_welcome(f, &w, status);
	return raw_say(f->raw, RXP_NOTIFY, RXP_NOTIFY_WELCOME, 0, 0, &w, sizeof(w), 0);
}

static void fake_connect(struct work_struct *work)
{
	struct fake *f = container_of(work, struct fake, connect);
	struct rdmafs_xprt_params params = {
		.net = &init_net,
		.slots = FAKE_WANT_SLOTS,
		.conns = 1,
		.connect_ms = f->connect_ms,
		.quota = { .max = RPOL_NO_MAX, .weight = RPOL_WEIGHT_DEFAULT },
		.reg = RDMAFS_REG_DIRECT,
	};
	struct rdmafs_xprt *x;

	raw_address(FAKE_PORT, (struct sockaddr_in *)&params.addr);
	x = rdmafs_xprt_connect(&params, &fake_client_ops, f);
	f->error = PTR_ERR_OR_ZERO(x);
	f->xprt = IS_ERR(x) ? NULL : x;
}

/**
 * fake_start - let the client connect for the first time, as it should be
 * @test: the case
 * @f:    the server
 *
 * Context: process, may sleep.
 */
void fake_start(struct kunit *test, struct fake *f)
{
	struct rxp_wire_cm cm;

	raw_fill_cm(&cm);
	schedule_work(&f->connect);
	KUNIT_ASSERT_TRUE_MSG(test, fake_accept(f, &cm), "no connection");
	fake_take_hello(test, f);
	KUNIT_ASSERT_EQ(test, fake_welcome(f, RXP_WELCOME_NEW), 0);
	flush_work(&f->connect);
	KUNIT_ASSERT_EQ(test, f->error, 0);
}

/**
 * fake_again - let the client connect again; it must ask for its session
 * @test:   the case
 * @f:      the server
 * @status: RXP_WELCOME_* to answer
 *
 * Context: process, may sleep.
 */
void fake_again(struct kunit *test, struct fake *f, u32 status)
{
	struct rxp_wire_cm cm;

	raw_fill_cm(&cm);
	KUNIT_ASSERT_TRUE_MSG(test, fake_accept(f, &cm), "no connection");
	fake_take_hello(test, f);
	KUNIT_EXPECT_MEMEQ(test, f->hello.session, fake_session, sizeof(fake_session));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(f->hello.boot), FAKE_BOOT);
	KUNIT_ASSERT_EQ(test, fake_welcome(f, status), 0);
}

/**
 * fake_drop - end the connection, with its sinks and the CALLs that were seen on it
 * @f: the server
 *
 * Context: process, may sleep.
 */
void fake_drop(struct fake *f)
{
	u32 i;

	if (!f->raw)
		return;
	if (f->raw->id->qp) {
		rdma_disconnect(f->raw->id);
		ib_drain_qp(f->raw->id->qp);
	}
	for (i = 0; i < f->nr_sinks; i++)
		ib_dereg_mr(f->sink[i]);
	f->nr_sinks = 0;
	if (f->mapped)
		ib_dma_unmap_sg(f->raw->id->device, &f->sg, 1, DMA_FROM_DEVICE);
	f->mapped = 0;
	raw_close(f->raw);
	f->raw = NULL;
	for (i = 0; i < FAKE_CALLS; i++)
		f->call[i].seen = false;
}

/**
 * fake_new - make a server that listens; skip the case if there is no device
 * @test: the case; test->priv becomes the server
 *
 * Context: process, may sleep.
 *
 * Return: the server.
 */
struct fake *fake_new(struct kunit *test)
{
	struct fake *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	struct sockaddr_in addr;
	u32 i;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, f);
	spin_lock_init(&f->lock);
	INIT_LIST_HEAD(&f->pending);
	init_waitqueue_head(&f->wait);
	INIT_WORK(&f->connect, fake_connect);
	f->connect_ms = FAKE_CONNECT_MS;
	f->listen = rdma_create_id(&init_net, fake_listen_event, f, RDMA_PS_TCP, IB_QPT_RC);
	KUNIT_ASSERT_FALSE(test, IS_ERR(f->listen));
	KUNIT_ASSERT_EQ(test, raw_address(FAKE_PORT, &addr), 0);
	ret = rdma_bind_addr(f->listen, (struct sockaddr *)&addr);
	if (!ret)
		ret = rdma_listen(f->listen, 8);
	if (ret || !f->listen->device) {
		rdma_destroy_id(f->listen);
		kunit_skip(test, "no RDMA device at %s", raw_address_name());
	}
	test->priv = f;
	WRITE_ONCE(rdmafs_test_knobs.step_ms, FAKE_STEP_MS);
	f->pages = alloc_pages(GFP_KERNEL, get_order(FAKE_LEN));
	KUNIT_ASSERT_NOT_NULL(test, f->pages);
	sg_init_table(&f->sg, 1);
	sg_set_page(&f->sg, f->pages, FAKE_LEN, 0);
	for (i = 0; i < FAKE_CALLS; i++) {
		f->call[i].buf = vzalloc(FAKE_ROOM + 2 * FAKE_GUARD);
		KUNIT_ASSERT_NOT_NULL(test, f->call[i].buf);
	}
	return f;
}

/**
 * fake_free - end the client and the server
 * @f: the server
 *
 * Context: process, may sleep.
 */
void fake_free(struct fake *f)
{
	struct raw *raw, *tmp;
	u32 i;

	/*
	 * No server listens any more, and requests that are pending are rejected when they are
	 * closed: a client that still connects gives up.
	 */
	rdma_destroy_id(f->listen);
	list_for_each_entry_safe(raw, tmp, &f->pending, link)
		raw_close(raw);
	flush_work(&f->connect);
	if (f->xprt) {
		rdmafs_xprt_abort(f->xprt);
		rdmafs_xprt_close(f->xprt);
	}
	fake_drop(f);
	WRITE_ONCE(rdmafs_test_knobs.step_ms, 0);
	for (i = 0; i < FAKE_CALLS; i++)
		vfree(f->call[i].buf);
	if (f->pages)
		__free_pages(f->pages, get_order(FAKE_LEN));
}

/* ------------------------------------------------------------------ the client */

static u8 fake_byte(u32 id, u32 i)
{
	return (id * 31 + i * 7 + (i >> 8)) & 0x7f;
}

static void fake_done(struct rdmafs_xprt_call *call)
{
	struct fake_call *c = container_of(call, struct fake_call, call);

	/*
	 * A thread that sees this may submit the call again at once: from then on only the
	 * address may be used.  wake_up_var() needs a full barrier before it, which
	 * atomic_inc() is not.
	 */
	atomic_inc_return(&c->ended);
	wake_up_var(&c->ended);
}

static enum rdmafs_xprt_dir fake_dir(enum fake_kind kind)
{
	switch (kind) {
	case FAKE_READ_SMALL:
	case FAKE_READ:
	case FAKE_READ_LATE:
	case FAKE_READ_GAPS:
		return RDMAFS_XPRT_READ;
	case FAKE_WRITE_SMALL:
	case FAKE_WRITE:
	case FAKE_WRITE_GRANTED:
		return RDMAFS_XPRT_WRITE;
	default:
		return RDMAFS_XPRT_NODATA;
	}
}

/* Describe a call's data, and poison the memory around it, and a READ's data too. */
static void fake_prepare(struct fake_call *c)
{
	u8 *data = c->buf + FAKE_GUARD;
	u32 i, n = 1;

	memset(c->buf, FAKE_POISON, FAKE_ROOM + 2 * FAKE_GUARD);
	c->len = 0;
	if (c->kind == FAKE_READ_SMALL || c->kind == FAKE_WRITE_SMALL)
		c->len = FAKE_SMALL;
	else if (c->kind > FAKE_ECHO)
		c->len = FAKE_LEN;
	c->kvec[0].iov_base = data;
	c->kvec[0].iov_len = c->len;
	if (c->kind == FAKE_READ_GAPS) {
		c->len = FAKE_PIECES * FAKE_SMALL;
		for (n = 0; n < FAKE_PIECES; n++) {
			c->kvec[n].iov_base = data + n * FAKE_STRIDE;
			c->kvec[n].iov_len = FAKE_SMALL;
		}
	}
	c->call.dir = fake_dir(c->kind);
	if (c->call.dir == RDMAFS_XPRT_WRITE)
		for (i = 0; i < c->len; i++)
			data[i] = fake_byte(c->req.id, i);
	iov_iter_kvec(&c->call.iter, c->call.dir == RDMAFS_XPRT_READ ? ITER_DEST : ITER_SOURCE,
		      c->kvec, n, c->len);
}

/**
 * fake_describe - make a call ready to be submitted
 * @f:    the server, with a client
 * @id:   number of the call
 * @kind: kind of call
 *
 * Context: process.
 *
 * Return: the call.
 */
struct fake_call *fake_describe(struct fake *f, u32 id, enum fake_kind kind)
{
	struct fake_call *c = &f->call[id];

	c->kind = kind;
	c->req.id = id;
	c->hit = false;
	c->seen = false;
	fake_prepare(c);
	c->call.req = &c->req;
	c->call.req_len = sizeof(c->req);
	c->call.reply = &c->reply;
	c->call.reply_max = sizeof(c->reply);
	c->call.flags = RDMAFS_CALL_IDEMPOTENT;
	c->call.done = fake_done;
	memset(&c->reply, FAKE_POISON, sizeof(c->reply));
	atomic_set(&c->ended, 0);
	rdmafs_xprt_set_reg(f->xprt, kind == FAKE_READ_LATE || kind == FAKE_READ_GAPS ?
			    RDMAFS_REG_OVERLAPPED : RDMAFS_REG_DIRECT);
	return c;
}

/**
 * fake_submit - submit a call; the server sees it when it takes the CALL
 * @test: the case
 * @f:    the server, with a client
 * @id:   number of the call
 * @kind: kind of call
 *
 * Context: process, may sleep.
 */
void fake_submit(struct kunit *test, struct fake *f, u32 id, enum fake_kind kind)
{
	struct fake_call *c = fake_describe(f, id, kind);

	KUNIT_ASSERT_EQ(test, rdmafs_xprt_submit(f->xprt, &c->call), 0);
}

/**
 * fake_submit_all - submit the victim and three calls beside it
 * @test: the case
 * @f:    the server, with a client
 * @kind: kind of the victim
 *
 * The server has seen all of them, and answered none.
 *
 * Context: process, may sleep.
 *
 * Return: the victim.
 */
struct fake_call *fake_submit_all(struct kunit *test, struct fake *f, enum fake_kind kind)
{
	static const enum fake_kind beside[FAKE_CALLS] = {
		[1] = FAKE_READ, [2] = FAKE_ECHO, [3] = FAKE_WRITE,
	};
	u32 i;

	for (i = 1; i < FAKE_CALLS; i++) {
		fake_submit(test, f, i, beside[i]);
		fake_take_call(test, f, &f->call[i]);
	}
	if (kind == FAKE_WRITE_GRANTED) {
		fake_submit(test, f, 0, FAKE_WRITE);
		f->grant = true;
		fake_serve(test, f, &f->call[0]);
		fake_await(test, &f->call[0]);
	}
	fake_submit(test, f, 0, kind);
	fake_take_call(test, f, &f->call[0]);
	return &f->call[0];
}

/**
 * fake_await - wait until a call has ended
 * @test: the case, which is aborted if the call does not end
 * @c:    the call
 *
 * Context: process, may sleep, for up to RAW_WAIT.
 */
void fake_await(struct kunit *test, struct fake_call *c)
{
	long left = wait_var_event_timeout(&c->ended, fake_has_ended(c), RAW_WAIT);

	KUNIT_ASSERT_NE_MSG(test, left, 0, "call %u has not ended", c->req.id);
}

/* The offset in the call's data of byte @b of its buffer, or -1. */
static int fake_place(const struct fake_call *c, u32 b)
{
	u32 i = b - FAKE_GUARD;

	if (b < FAKE_GUARD)
		return -1;
	if (c->kind != FAKE_READ_GAPS)
		return i < c->len ? i : -1;
	if (i >= FAKE_ROOM || i % FAKE_STRIDE >= FAKE_SMALL)
		return -1;
	return i / FAKE_STRIDE * FAKE_SMALL + i % FAKE_STRIDE;
}

static void fake_check_bytes(struct kunit *test, const struct fake_call *c, u32 have, bool open)
{
	u32 b;

	for (b = 0; b < FAKE_ROOM + 2 * FAKE_GUARD; b++) {
		int i = fake_place(c, b);
		u8 want = FAKE_POISON;

		if (i >= 0 && open)
			continue;
		if (i >= 0 && i < have)
			want = fake_byte(c->req.id, i);
		if (c->buf[b] != want)
			break;
	}
	KUNIT_EXPECT_EQ_MSG(test, b, FAKE_ROOM + 2 * FAKE_GUARD, "call %u: byte %u is %#x",
			    c->req.id, b, c->buf[b]);
}

/**
 * fake_guarded - check that memory around a call's data, and a WRITE's data, is unchanged
 * @test: the case
 * @c:    the call
 *
 * Context: process.
 */
void fake_guarded(struct kunit *test, const struct fake_call *c)
{
	fake_check_bytes(test, c, c->len, c->call.dir == RDMAFS_XPRT_READ);
}

/**
 * fake_check - check a call that has ended once
 * @test: the case
 * @c:    the call
 *
 * Its memory must be as its result says, and nothing around that may have changed.
 *
 * Context: process.
 */
void fake_check(struct kunit *test, const struct fake_call *c)
{
	KUNIT_EXPECT_EQ(test, atomic_read(&c->ended), 1);
	if (c->call.dir != RDMAFS_XPRT_READ)
		fake_check_bytes(test, c, c->len, false);
	else
		fake_check_bytes(test, c, c->call.data_len, c->hit);
	if (!c->call.status) {
		KUNIT_EXPECT_EQ(test, c->call.reply_len, sizeof(c->reply));
		KUNIT_EXPECT_EQ(test, c->reply.id, c->req.id);
	}
}

/**
 * fake_untouched - check that no READ without an answer was written to, nor memory around it
 * @test: the case
 * @f:    the server
 *
 * Context: process.
 */
void fake_untouched(struct kunit *test, struct fake *f)
{
	u32 i;

	for (i = 0; i < FAKE_CALLS; i++)
		if (f->call[i].call.dir == RDMAFS_XPRT_READ && !atomic_read(&f->call[i].ended))
			fake_check_bytes(test, &f->call[i], 0, f->call[i].hit);
}

/**
 * fake_stat - get a counter of the client's
 * @f:    the server, with a client
 * @stat: the counter
 *
 * Context: any.
 *
 * Return: its sum over all CPUs.
 */
u64 fake_stat(struct fake *f, enum rxp_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(f->xprt->stats.v, cpu)[stat];
	return sum;
}

/*
 * Translations bound to an I/O.  A session that was aborted has given up its pool, or is about
 * to.
 */
static u64 fake_in_use(struct rdmafs_xprt *x)
{
	struct rpol_member_stats st = {};

	/* A pool that is gone has none: the policy warns of a member that has. */
	spin_lock_bh(&x->lock);
	if (x->pool)
		rpol_member_get_stats(x->pool->member, &st);
	else
		st.in_use = atomic_read(&x->stats.pools);
	spin_unlock_bh(&x->lock);
	return st.in_use;
}

/**
 * fake_idle - wait until nothing is held for calls; all of them have ended
 * @test: the case
 * @f:    the server, with a client
 *
 * Context: process, may sleep, for up to RAW_WAIT.
 */
void fake_idle(struct kunit *test, struct fake *f)
{
	unsigned long end = jiffies + RAW_WAIT;
	struct rdmafs_xprt *x = f->xprt;
	u64 in_use;

	do {
		usleep_range(1000, 2000);
		in_use = fake_in_use(x);
		/* A work gives back a slot that a WRITE stood in line for, and did not need. */
		in_use += READ_ONCE(x->slot_account.nr) - READ_ONCE(x->slot_account.free);
	} while ((READ_ONCE(x->in_flight) || in_use) && time_before(jiffies, end));
	KUNIT_EXPECT_EQ(test, x->in_flight, 0);
	KUNIT_EXPECT_EQ(test, in_use, 0);
	KUNIT_EXPECT_EQ(test, x->slot_account.free, x->slot_account.nr);
	KUNIT_EXPECT_TRUE(test, list_empty(&x->deferred.writes));
	KUNIT_EXPECT_TRUE(test, list_empty(&x->deferred.reads));
	KUNIT_EXPECT_TRUE(test, list_empty(&x->deferred.turn));
}

/**
 * fake_ended - wait until all calls have ended, and check them
 * @test:   the case
 * @f:      the server, with a client
 * @status: expected result of the victim
 * @others: expected result of the other calls
 *
 * Context: process, may sleep.
 */
void fake_ended(struct kunit *test, struct fake *f, int status, int others)
{
	u32 i;

	for (i = 0; i < FAKE_CALLS; i++) {
		fake_await(test, &f->call[i]);
		KUNIT_EXPECT_EQ(test, f->call[i].call.status, i ? others : status);
		fake_check(test, &f->call[i]);
	}
	fake_idle(test, f);
}

/* ------------------------------------------------------------------ the server */

/**
 * fake_recall - send a RECALL
 * @f:    the server
 * @rkey: first key
 * @nr:   number of keys, which follow each other; up to RXP_WIRE_KEYS
 *
 * Context: process, may sleep.
 *
 * Return: as raw_post().
 */
int fake_recall(struct fake *f, u32 rkey, u32 nr)
{
	__le32 body[1 + RXP_WIRE_KEYS] = {};
	struct rxp_wire_keys *keys = (struct rxp_wire_keys *)body;
	u32 i;

	keys->nr = cpu_to_le16(nr);
	for (i = 0; i < nr; i++)
		keys->rkey[i] = cpu_to_le32(rkey + i);
	return raw_say(f->raw, RXP_NOTIFY, RXP_NOTIFY_RECALL, 0, 0, keys,
		       struct_size(keys, rkey, nr), 0);
}

/**
 * fake_notify - send a NOTIFY
 * @f:    the server
 * @op:   op
 * @slot: slot
 * @seq:  sequence number
 * @tag:  structure behind the header, or NULL
 * @inv:  key that the SEND invalidates, or 0
 *
 * Context: process, may sleep.
 *
 * Return: as raw_post().
 */
int fake_notify(struct fake *f, u8 op, u16 slot, u32 seq, const struct rxp_wire_tag *tag, u32 inv)
{
	return raw_say(f->raw, RXP_NOTIFY, op, slot, seq, tag, tag ? sizeof(*tag) : 0, inv);
}

/* Find the unanswered call to which a CONTROL belongs. */
static struct fake_call *fake_named(struct kunit *test, struct fake *f,
				    const struct rxp_wire_hdr *hdr)
{
	u32 i;

	for (i = 0; i < FAKE_CALLS; i++)
		if (f->call[i].seen && f->call[i].slot == le16_to_cpu(hdr->slot) &&
		    f->call[i].seq == le32_to_cpu(hdr->seq))
			return &f->call[i];
	KUNIT_FAIL_AND_ABORT(test, "a CONTROL %u for no call", hdr->op);
	return NULL;
}

static void fake_take_control(struct kunit *test, struct fake *f, const struct rxp_wire_hdr *hdr)
{
	const struct rxp_wire_tag *tag = (const struct rxp_wire_tag *)(hdr + 1);
	const struct rxp_wire_keys *keys;
	struct fake_call *c;

	switch (hdr->op) {
	case RXP_CONTROL_STCRW:
		c = fake_named(test, f, hdr);
		KUNIT_EXPECT_FALSE(test, c->keyed);
		KUNIT_EXPECT_EQ(test, le32_to_cpu(tag->length), c->len);
		c->keyed = true;
		c->rkey = le32_to_cpu(tag->rkey);
		c->iova = le64_to_cpu(tag->iova);
		break;
	case RXP_CONTROL_DATA:
		c = fake_named(test, f, hdr);
		KUNIT_EXPECT_FALSE(test, c->fired);
		c->fired = true;
		break;
	case RXP_CONTROL_CANCEL:
		c = fake_named(test, f, hdr);
		KUNIT_EXPECT_FALSE(test, c->cancelled);
		c->cancelled = true;
		break;
	case RXP_CONTROL_RETURN:
		keys = (const struct rxp_wire_keys *)(hdr + 1);
		f->returned = le32_to_cpu(keys->rkey[0]);
		f->nr_returned += le16_to_cpu(keys->nr);
		f->returns++;
		break;
	case RXP_CONTROL_PING:
		f->pings++;
		if (!f->mute)
			fake_notify(f, RXP_NOTIFY_PONG, 0, 0, NULL, 0);
		break;
	default:
		KUNIT_FAIL(test, "unexpected CONTROL %u", hdr->op);
	}
}

/**
 * fake_note_call - take note of a CALL
 * @c:   its call
 * @hdr: the CALL
 *
 * Context: the case's thread.
 */
void fake_note_call(struct fake_call *c, const struct rxp_wire_hdr *hdr)
{
	const struct rxp_wire_call *call = (const struct rxp_wire_call *)(hdr + 1);

	c->seen = true;
	c->fired = false;
	c->cancelled = false;
	c->slot = le16_to_cpu(hdr->slot);
	c->seq = le32_to_cpu(hdr->seq);
	c->flags = le16_to_cpu(hdr->flags);
	c->rkey = le32_to_cpu(call->rkey);
	c->iova = le64_to_cpu(call->iova);
	c->keyed = c->flags == (RXP_F_READ | RXP_F_RKEY);
}

/**
 * fake_take - take one message, or wait for it
 * @test: the case, which is aborted if none comes
 * @f:    the server
 *
 * Context: process, may sleep.
 */
void fake_take(struct kunit *test, struct fake *f)
{
	struct raw_msg *m = raw_next_msg(f->raw);
	struct rxp_wire_call *call;
	struct rxp_wire_hdr *hdr;
	struct fake_msg *body;
	struct fake_call *c;

	KUNIT_ASSERT_NOT_NULL_MSG(test, m, "no message, cut: %d", f->raw->cut);
	hdr = (struct rxp_wire_hdr *)m->buf;
	if (hdr->type == RXP_CONTROL) {
		fake_take_control(test, f, hdr);
	} else {
		KUNIT_ASSERT_EQ(test, hdr->type, RXP_CALL);
		call = (struct rxp_wire_call *)(hdr + 1);
		body = (struct fake_msg *)(call + 1);
		KUNIT_ASSERT_LT(test, body->id, FAKE_CALLS);
		c = &f->call[body->id];
		KUNIT_EXPECT_FALSE(test, c->seen);
		fake_note_call(c, hdr);
		if (c->kind == FAKE_WRITE_SMALL)
			KUNIT_EXPECT_MEMEQ(test, body + 1, c->buf + FAKE_GUARD, c->len);
	}
	KUNIT_EXPECT_EQ(test, raw_repost(f->raw, m), 0);
}

/**
 * fake_take_call - take messages until a call's CALL is there
 * @test: the case
 * @f:    the server
 * @c:    the call; of a READ that is not registered before its CALL also the STCRW or CANCEL is
 *    taken
 *
 * Context: process, may sleep.
 */
void fake_take_call(struct kunit *test, struct fake *f, struct fake_call *c)
{
	bool late = c->kind == FAKE_READ_LATE || c->kind == FAKE_READ_GAPS;

	while (!c->seen || (late && !c->keyed && !c->cancelled))
		fake_take(test, f);
}

/**
 * fake_sink_at - register a sink on the connection
 * @f:   the server
 * @i:   number of the sink; an older one with that number is deregistered
 * @tag: out: its length, key and address
 *
 * Context: process, may sleep.
 *
 * Return: 0 or a negative errno.
 */
int fake_sink_at(struct fake *f, u32 i, struct rxp_wire_tag *tag)
{
	struct ib_reg_wr wr = { .wr.opcode = IB_WR_REG_MR };
	struct ib_mr *mr = ib_alloc_mr(f->raw->pd, IB_MR_TYPE_MEM_REG, FAKE_LEN / PAGE_SIZE);
	int ret;

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	if (i < f->nr_sinks)
		ib_dereg_mr(f->sink[i]);
	else
		f->nr_sinks++;
	f->sink[i] = mr;
	memset(page_address(f->pages), FAKE_POISON, FAKE_LEN);
	if (!f->mapped)
		f->mapped = ib_dma_map_sg(f->raw->id->device, &f->sg, 1, DMA_FROM_DEVICE);
	if (f->mapped != 1 || ib_map_mr_sg(mr, &f->sg, 1, NULL, PAGE_SIZE) != 1)
		return -ENOMEM;
	ib_update_fast_reg_key(mr, (mr->rkey & 0xff) + 1);
	wr.mr = mr;
	wr.key = mr->rkey;
	wr.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
	ret = raw_post(f->raw, &wr.wr);
	if (ret || !f->raw->send_ok)
		return ret ?: -ENOTCONN;
	tag->length = cpu_to_le32(FAKE_LEN);
	tag->rkey = cpu_to_le32(mr->rkey);
	tag->iova = cpu_to_le64(mr->iova);
	return 0;
}

/**
 * fake_sink - register one more sink
 * @test: the case
 * @f:    the server
 *
 * Context: process, may sleep.
 *
 * Return: its length, key and address.
 */
struct rxp_wire_tag fake_sink(struct kunit *test, struct fake *f)
{
	struct rxp_wire_tag tag = {};

	KUNIT_ASSERT_LT(test, f->nr_sinks, FAKE_SINKS);
	KUNIT_ASSERT_EQ(test, fake_sink_at(f, f->nr_sinks, &tag), 0);
	return tag;
}

/**
 * fake_stcrw - register a sink for a large WRITE, and send its STCRW
 * @test: the case
 * @f:    the server
 * @c:    the WRITE
 *
 * Context: process, may sleep.
 *
 * Return: as raw_post().
 */
int fake_stcrw(struct kunit *test, struct fake *f, const struct fake_call *c)
{
	struct rxp_wire_tag tag = fake_sink(test, f);

	return fake_notify(f, RXP_NOTIFY_STCRW, c->slot, c->seq, &tag, 0);
}

/**
 * fake_ok - make the reply of a well-behaved server, after the data was transferred
 * @c: the call
 *
 * Context: any.
 *
 * Return: the reply.
 */
struct fake_reply fake_ok(const struct fake_call *c)
{
	return (struct fake_reply) {
		.type = RXP_REPLY,
		.slot = c->slot,
		.seq = c->seq,
		.body_len = sizeof(struct fake_msg),
		.id = c->req.id,
		.inv = c->keyed ? c->rkey : 0,
	};
}

/**
 * fake_put_reply - write a REPLY to a buffer
 * @buf: buffer
 * @r:   the reply
 *
 * Context: any.
 *
 * Return: number of bytes to send.
 */
u32 fake_put_reply(void *buf, const struct fake_reply *r)
{
	struct rxp_wire_hdr *hdr = buf;
	struct rxp_wire_reply *rep = (struct rxp_wire_reply *)(hdr + 1);
	u8 *p = (u8 *)(rep + 1);
	struct fake_msg body = { .id = r->id };
	u32 i;

	memset(hdr, 0, sizeof(*hdr) + sizeof(*rep) + r->body_len);
	hdr->type = r->type;
	hdr->op = r->op;
	hdr->slot = cpu_to_le16(r->slot);
	hdr->seq = cpu_to_le32(r->seq);
	hdr->body_len = cpu_to_le16(r->body_len);
	hdr->flags = cpu_to_le16(r->flags);
	hdr->data_len = cpu_to_le32(r->data_len);
	rep->status = cpu_to_le32(r->status);
	rep->bulk_len = cpu_to_le32(r->bulk_len);
	rep->pad = cpu_to_le32(r->pad);
	memcpy(p, &body, min_t(u32, sizeof(body), r->body_len));
	p += r->body_len;
	if (r->flags & RXP_F_GRANT) {
		memcpy(p, &r->grant, sizeof(r->grant));
		p += sizeof(r->grant);
	}
	for (i = 0; i < r->data_len; i++)
		*p++ = fake_byte(r->id, i);
	return p - (u8 *)buf + r->extra;
}

/**
 * fake_reply - send a REPLY
 * @f: the server
 * @r: the reply
 *
 * Context: process, may sleep.
 *
 * Return: as raw_post().
 */
int fake_reply(struct fake *f, const struct fake_reply *r)
{
	return raw_send(f->raw, fake_put_reply(f->raw->send->buf, r), r->inv);
}

/**
 * fake_write_part - RDMA WRITE the first bytes of a large READ's data
 * @f:   the server
 * @c:   the READ; the server has its key
 * @len: number of bytes
 *
 * Context: process, may sleep.
 *
 * Return: as raw_post().
 */
int fake_write_part(struct fake *f, const struct fake_call *c, u32 len)
{
	u32 at, i, part;
	int ret = 0;

	for (at = 0; !ret && at < len; at += part) {
		part = min_t(u32, len - at, 4096);
		for (i = 0; i < part; i++)
			f->raw->send->buf[i] = fake_byte(c->req.id, at + i);
		ret = raw_write(f->raw, c->iova + at, c->rkey, part);
	}
	return ret;
}

/**
 * fake_write - RDMA WRITE all of a large READ's data
 * @test: the case
 * @f:    the server
 * @c:    the READ; the server has its key
 *
 * Context: process, may sleep.
 */
void fake_write(struct kunit *test, struct fake *f, struct fake_call *c)
{
	KUNIT_ASSERT_EQ(test, fake_write_part(f, c, c->len), 0);
}

static void fake_serve_write(struct kunit *test, struct fake *f, struct fake_call *c)
{
	struct fake_reply r = fake_ok(c);

	if (!(c->flags & RXP_F_RKEY)) {
		KUNIT_ASSERT_EQ(test, fake_stcrw(test, f, c), 0);
		while (!c->fired)
			fake_take(test, f);
	}
	KUNIT_EXPECT_MEMEQ(test, page_address(f->pages), c->buf + FAKE_GUARD, c->len);
	if (f->grant) {
		f->grant = false;
		r.flags = RXP_F_GRANT;
		r.grant = fake_sink(test, f);
	}
	KUNIT_ASSERT_EQ(test, fake_reply(f, &r), 0);
}

/**
 * fake_serve - serve a call as a server should, also if its CALL is still to come
 * @test: the case
 * @f:    the server
 * @c:    the call
 *
 * Context: process, may sleep.
 */
void fake_serve(struct kunit *test, struct fake *f, struct fake_call *c)
{
	struct fake_reply r;

	fake_take_call(test, f, c);
	if (c->call.dir == RDMAFS_XPRT_WRITE && c->len > RDMAFS_XPRT_INLINE_MAX) {
		fake_serve_write(test, f, c);
		c->seen = false;
		return;
	}
	if (c->keyed)
		fake_write(test, f, c);
	r = fake_ok(c);
	if (c->keyed)
		r.bulk_len = c->len;
	else if (c->cancelled)
		r.status = RXP_STATUS_CANCELLED;
	else if (c->call.dir == RDMAFS_XPRT_READ)
		r.data_len = c->len;
	if (c->cancelled)
		r.body_len = 0;
	KUNIT_ASSERT_EQ(test, fake_reply(f, &r), 0);
	c->seen = false;
	/* The call is sent again, and its memory is registered before the CALL then. */
	if (c->cancelled)
		fake_serve(test, f, c);
}

/**
 * fake_serve_cancelled - answer a call that the client has cancelled
 * @test: the case
 * @f:    the server
 * @c:    the call
 *
 * Context: process, may sleep.
 */
void fake_serve_cancelled(struct kunit *test, struct fake *f, struct fake_call *c)
{
	struct fake_reply r = fake_ok(c);

	r.status = RXP_STATUS_CANCELLED;
	r.body_len = 0;
	KUNIT_ASSERT_EQ(test, fake_reply(f, &r), 0);
	c->seen = false;
}

/**
 * fake_serve_all - serve all calls that have not ended
 * @test: the case
 * @f:    the server
 *
 * Context: process, may sleep.
 */
void fake_serve_all(struct kunit *test, struct fake *f)
{
	u32 i;

	for (i = 0; i < FAKE_CALLS; i++) {
		if (f->call[i].kind == FAKE_NONE || fake_has_ended(&f->call[i]))
			continue;
		fake_serve(test, f, &f->call[i]);
		fake_await(test, &f->call[i]);
	}
}
