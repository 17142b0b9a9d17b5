// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_loop: the transport's client and server against each other, through real
 * verbs, within one kernel.  The service answers a request with bytes that are made from the
 * request, so that a byte that comes from a wrong place, or lands in one, is seen.
 *
 * The cases read and write data of all sizes, over one connection and over several, and lose
 * connections and the server while calls are under way.  Needs an RDMA device with the address
 * of the module parameter; every case is skipped without one.
 */
#include <kunit/test.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>
#include "transport/client/client.h"

#define LOOP_PORT	20999

static char *address = "10.9.0.1";
module_param(address, charp, 0444);
MODULE_PARM_DESC(address, "IPv4 address of an RDMA device of this machine");

/* The body of a request tells the service what to do; the reply is the same struct. */
struct loop_msg {
	u32 what;
	u32 seed;
	u32 len;
	u32 sum;
};

enum { LOOP_ECHO = 1, LOOP_READ, LOOP_WRITE, LOOP_HOLD };

struct loop {
	struct rdmafs_xprt_server *server;
	struct rdmafs_xprt *xprt;
	struct rdmafs_xprt_session *xs;		/* the last that was made, or NULL */
	atomic_t sessions;
	atomic_t resets;
	atomic_t events;
	atomic_t held;
	struct completion release;
};

static u8 loop_byte(u32 seed, u32 i)
{
	return (seed * 31 + i * 7 + (i >> 8)) & 0xff;
}

static u32 loop_sum(struct iov_iter *iter, u32 len)
{
	u8 *buf = kvmalloc(len, GFP_KERNEL);
	u32 sum = 0, i;

	if (!buf || copy_from_iter(buf, len, iter) != len) {
		kvfree(buf);
		return 0;
	}
	for (i = 0; i < len; i++)
		sum = sum * 31 + buf[i];
	kvfree(buf);
	return sum;
}

static void loop_fill(struct iov_iter *iter, u32 seed, u32 len)
{
	u8 *buf = kvmalloc(len, GFP_KERNEL);
	u32 i;

	if (!buf)
		return;
	for (i = 0; i < len; i++)
		buf[i] = loop_byte(seed, i);
	if (copy_to_iter(buf, len, iter) != len)
		pr_err("loop: short copy\n");
	kvfree(buf);
}

static int loop_session_open(struct rdmafs_xprt_session *s, void *ctx)
{
	struct loop *loop = ctx;

	atomic_inc(&loop->sessions);
	WRITE_ONCE(loop->xs, s);
	return 0;
}

static void loop_session_close(struct rdmafs_xprt_session *s, void *ctx)
{
	struct loop *loop = ctx;

	cmpxchg(&loop->xs, s, NULL);
	atomic_dec(&loop->sessions);
}

static void loop_handle(struct rdmafs_xprt_req *req, void *ctx)
{
	struct loop *loop = ctx;
	struct loop_msg *out = req->reply;
	struct iov_iter dest;
	u32 data_len = 0;

	memcpy(out, req->body, sizeof(*out));
	switch (out->what) {
	case LOOP_READ:
		if (!rdmafs_xprt_req_room(req, out->len, &dest)) {
			loop_fill(&dest, out->seed, out->len);
			data_len = out->len;
		}
		break;
	case LOOP_WRITE:
		out->len = req->data_len;
		out->sum = loop_sum(&req->data, req->data_len);
		break;
	case LOOP_HOLD:
		atomic_inc(&loop->held);
		wait_for_completion(&loop->release);
		break;
	}
	/*
	 * A request that comes again gets the same answer: a held one from the reply cache,
	 * the others as they are executed again.
	 */
	rdmafs_xprt_req_reply(req, sizeof(*out), data_len,
			      out->what == LOOP_HOLD ? 0 : RDMAFS_REPLY_NOCACHE);
}

static const struct rdmafs_xprt_service loop_service = {
	.session_open	= loop_session_open,
	.session_close	= loop_session_close,
	.handle		= loop_handle,
};

static void loop_reset(void *ctx)
{
	struct loop *loop = ctx;

	atomic_inc(&loop->resets);
}

static void loop_event(void *ctx)
{
	struct loop *loop = ctx;

	atomic_inc(&loop->events);
}

static const struct rdmafs_xprt_client_ops loop_client_ops = {
	.session_reset = loop_reset,
	.event = loop_event,
};

struct loop_call {
	struct rdmafs_xprt_call call;
	struct loop_msg req;
	struct loop_msg reply;
	struct completion done;
};

static void loop_done(struct rdmafs_xprt_call *call)
{
	complete(&container_of(call, struct loop_call, call)->done);
}

static int loop_submit(struct loop *loop, struct loop_call *c, u32 what, u32 seed, u32 len)
{
	c->req = (struct loop_msg){ .what = what, .seed = seed, .len = len };
	c->call.req = &c->req;
	c->call.req_len = sizeof(c->req);
	c->call.reply = &c->reply;
	c->call.reply_max = sizeof(c->reply);
	c->call.flags = RDMAFS_CALL_IDEMPOTENT;
	c->call.done = loop_done;
	init_completion(&c->done);
	return rdmafs_xprt_submit(loop->xprt, &c->call);
}

static int loop_wait(struct loop_call *c)
{
	if (!wait_for_completion_timeout(&c->done, 60 * HZ))
		return -ETIMEDOUT;
	return c->call.status;
}

static int loop_connect(struct loop *loop, u32 conns)
{
	struct rdmafs_xprt_params params = {
		.net = &init_net,
		.slots = 16,
		.conns = conns,
		.connect_ms = 60000,	/* a guest may stand still for some seconds */
		.quota = { .max = RPOL_NO_MAX, .weight = RPOL_WEIGHT_DEFAULT },
	};
	struct sockaddr_in *sin = (struct sockaddr_in *)&params.addr;

	sin->sin_family = AF_INET;
	sin->sin_port = htons(LOOP_PORT);
	in4_pton(address, -1, (u8 *)&sin->sin_addr, -1, NULL);
	loop->xprt = rdmafs_xprt_connect(&params, &loop_client_ops, loop);
	return PTR_ERR_OR_ZERO(loop->xprt);
}

static int loop_init(struct kunit *test)
{
	struct loop *loop = kunit_kzalloc(test, sizeof(*loop), GFP_KERNEL);
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, loop);
	init_completion(&loop->release);
	loop->server = rdmafs_xprt_listen(&init_net, LOOP_PORT, &loop_service, loop, NULL);
	if (IS_ERR(loop->server)) {
		loop->server = NULL;
		kunit_skip(test, "can't listen");
	}
	ret = loop_connect(loop, 1);
	if (ret) {
		rdmafs_xprt_unlisten(loop->server);
		loop->server = NULL;
		if (ret == -ENODEV || ret == -EHOSTUNREACH || ret == -ENETUNREACH)
			kunit_skip(test, "no RDMA device at %s", address);
		KUNIT_FAIL(test, "connect: %d", ret);
		return ret;
	}
	test->priv = loop;
	return 0;
}

static void loop_exit(struct kunit *test)
{
	struct loop *loop = test->priv;

	if (!loop)
		return;
	complete_all(&loop->release);
	if (loop->xprt)
		rdmafs_xprt_close(loop->xprt);
	if (loop->server)
		rdmafs_xprt_unlisten(loop->server);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop->sessions), 0);
}

static struct loop_call *loop_new(struct kunit *test)
{
	struct loop_call *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	return c;
}

static void loop_echo(struct kunit *test)
{
	struct loop *loop = test->priv;
	struct loop_call *c = loop_new(test);
	int i;

	for (i = 0; i < 1000; i++) {
		KUNIT_ASSERT_EQ(test, loop_submit(loop, c, LOOP_ECHO, i, 0), 0);
		KUNIT_ASSERT_EQ(test, loop_wait(c), 0);
		KUNIT_ASSERT_EQ(test, c->call.reply_len, sizeof(c->reply));
		KUNIT_ASSERT_EQ(test, c->reply.seed, i);
	}
}

/* Lengths around each boundary: inline, page, class of MRs, and the largest. */
static const u32 loop_lens[] = {
	1, 511, 4095, 4096, 4097, 8192, 28672, 32768, 32769, 65536 + 1, 131072, 131073,
	524288, 524289, 1048576 - 4096, 1048576,
};

static void loop_read_at(struct kunit *test, u32 len, u32 offset)
{
	struct loop *loop = test->priv;
	struct loop_call *c = loop_new(test);
	u8 *buf = vzalloc(len + offset + PAGE_SIZE);
	struct kvec kvec = { .iov_base = buf + offset, .iov_len = len };
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	memset(buf, 0xee, len + offset + PAGE_SIZE);
	c->call.dir = RDMAFS_XPRT_READ;
	iov_iter_kvec(&c->call.iter, ITER_DEST, &kvec, 1, len);
	KUNIT_EXPECT_EQ(test, loop_submit(loop, c, LOOP_READ, len, len), 0);
	KUNIT_EXPECT_EQ(test, loop_wait(c), 0);
	KUNIT_EXPECT_EQ(test, c->call.data_len, len);
	for (i = 0; i < len; i++)
		if (buf[offset + i] != loop_byte(len, i))
			break;
	KUNIT_EXPECT_EQ_MSG(test, i, len, "first wrong byte of %u at offset %u", len, offset);
	for (i = 0; i < offset; i++)
		KUNIT_EXPECT_EQ(test, buf[i], 0xee);
	KUNIT_EXPECT_EQ(test, buf[offset + len], 0xee);
	vfree(buf);
}

static void loop_read(struct kunit *test)
{
	struct loop *loop = test->priv;
	int i;

	for (i = 0; i < ARRAY_SIZE(loop_lens); i++) {
		if (loop_lens[i] > rdmafs_xprt_data_max(loop->xprt))
			continue;
		loop_read_at(test, loop_lens[i], 0);
		loop_read_at(test, loop_lens[i], 123);
	}
}

/* The data is in pieces that no single MR can hold: the client must read into a buffer and copy. */
static void loop_read_gaps(struct kunit *test)
{
	struct loop *loop = test->priv;
	struct loop_call *c = loop_new(test);
	enum { N = 64, PART = 1000 };
	struct kvec *kvec = kunit_kcalloc(test, N, sizeof(*kvec), GFP_KERNEL);
	u8 *buf = vzalloc(N * 3000);
	int i, k;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (i = 0; i < N; i++) {
		kvec[i].iov_base = buf + i * 3000 + (i % 7);
		kvec[i].iov_len = PART;
	}
	c->call.dir = RDMAFS_XPRT_READ;
	iov_iter_kvec(&c->call.iter, ITER_DEST, kvec, N, N * PART);
	KUNIT_EXPECT_EQ(test, loop_submit(loop, c, LOOP_READ, 5, N * PART), 0);
	KUNIT_EXPECT_EQ(test, loop_wait(c), 0);
	for (i = 0; i < N; i++)
		for (k = 0; k < PART; k++)
			KUNIT_ASSERT_EQ(test, ((u8 *)kvec[i].iov_base)[k],
					loop_byte(5, i * PART + k));
	vfree(buf);
}

/*
 * The same, but memory is registered after the CALL: a READ with gaps must be cancelled then
 * and sent again.
 */
static void loop_read_overlapped(struct kunit *test)
{
	struct loop *loop = test->priv;

	rdmafs_xprt_set_reg(loop->xprt, RDMAFS_REG_OVERLAPPED);
	loop_read(test);
	loop_read_gaps(test);
	loop_read(test);
}

/* An answer without data comes while the READ's memory is being registered, or before. */
static void loop_read_nothing(struct kunit *test)
{
	struct loop *loop = test->priv;
	struct loop_call *c = loop_new(test);
	u8 *buf = vzalloc(1048576);
	struct kvec kvec = { .iov_base = buf, .iov_len = 1048576 };
	int i, reg;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (reg = RDMAFS_REG_DIRECT; reg <= RDMAFS_REG_OVERLAPPED; reg++) {
		rdmafs_xprt_set_reg(loop->xprt, reg);
		for (i = 0; i < 50; i++) {
			c->call.dir = RDMAFS_XPRT_READ;
			iov_iter_kvec(&c->call.iter, ITER_DEST, &kvec, 1,
				      min(1048576U, rdmafs_xprt_data_max(loop->xprt)));
			KUNIT_ASSERT_EQ(test, loop_submit(loop, c, LOOP_ECHO, i, 0), 0);
			KUNIT_ASSERT_EQ(test, loop_wait(c), 0);
			KUNIT_EXPECT_EQ(test, c->call.data_len, 0);
		}
	}
	vfree(buf);
}

static void loop_write(struct kunit *test)
{
	struct loop *loop = test->priv;
	struct loop_call *c = loop_new(test);
	u8 *buf = vmalloc(1048576 + PAGE_SIZE);
	struct kvec kvec;
	u32 len, sum;
	int i, k;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	/* Several rounds, so that sinks are granted, and used for WRITEs of other lengths. */
	for (i = 0; i < 3 * ARRAY_SIZE(loop_lens); i++) {
		len = loop_lens[i % ARRAY_SIZE(loop_lens)];
		if (len > rdmafs_xprt_data_max(loop->xprt))
			continue;
		kvec.iov_base = buf + i;
		kvec.iov_len = len;
		for (k = 0, sum = 0; k < len; k++) {
			((u8 *)kvec.iov_base)[k] = loop_byte(i, k);
			sum = sum * 31 + loop_byte(i, k);
		}
		c->call.dir = RDMAFS_XPRT_WRITE;
		iov_iter_kvec(&c->call.iter, ITER_SOURCE, &kvec, 1, len);
		KUNIT_EXPECT_EQ(test, loop_submit(loop, c, LOOP_WRITE, i, len), 0);
		KUNIT_EXPECT_EQ(test, loop_wait(c), 0);
		KUNIT_EXPECT_EQ(test, c->reply.len, len);
		KUNIT_EXPECT_EQ_MSG(test, c->reply.sum, sum, "%u bytes", len);
	}
	vfree(buf);
}

/* There are more READs and WRITEs at once than slots: all must end, with their data. */
static void loop_many(struct kunit *test)
{
	struct loop *loop = test->priv;
	enum { N = 200, LEN = 100000 };
	struct loop_call *c = kvcalloc(N, sizeof(*c), GFP_KERNEL);
	struct kvec kvec[4];
	u8 *buf[4];
	int i, round;

	KUNIT_ASSERT_NOT_NULL(test, c);
	for (i = 0; i < 4; i++) {
		buf[i] = vzalloc(LEN);
		KUNIT_ASSERT_NOT_NULL(test, buf[i]);
		kvec[i].iov_base = buf[i];
		kvec[i].iov_len = LEN;
	}
	for (round = 0; round < 3; round++) {
		for (i = 0; i < N; i++) {
			bool w = i & 1;

			c[i].call.dir = w ? RDMAFS_XPRT_WRITE : RDMAFS_XPRT_READ;
			iov_iter_kvec(&c[i].call.iter, w ? ITER_SOURCE : ITER_DEST,
				      &kvec[i % 4], 1, LEN);
			KUNIT_EXPECT_EQ(test, loop_submit(loop, &c[i], w ? LOOP_WRITE : LOOP_READ,
							  9, LEN), 0);
		}
		for (i = 0; i < N; i++) {
			KUNIT_EXPECT_EQ(test, loop_wait(&c[i]), 0);
			if (i & 1)
				KUNIT_EXPECT_EQ(test, c[i].reply.len, LEN);
			else
				KUNIT_EXPECT_EQ(test, c[i].call.data_len, LEN);
		}
	}
	for (i = 0; i < 4; i++)
		vfree(buf[i]);
	kvfree(c);
}

static u64 loop_count(struct loop *loop, enum rxp_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(loop->xprt->stats.v, cpu)[stat];
	return sum;
}

static void loop_check(struct kunit *test, const struct loop_call *c, u8 *buf, u32 len)
{
	u32 i, sum = 0;

	switch (c->req.what) {
	case LOOP_READ:
		KUNIT_ASSERT_EQ(test, c->call.data_len, len);
		for (i = 0; i < len; i++)
			KUNIT_ASSERT_EQ(test, buf[i], loop_byte(c->req.seed, i));
		break;
	case LOOP_WRITE:
		for (i = 0; i < len; i++)
			sum = sum * 31 + buf[i];
		KUNIT_EXPECT_EQ(test, c->reply.len, len);
		KUNIT_EXPECT_EQ(test, c->reply.sum, sum);
		break;
	default:
		KUNIT_EXPECT_EQ(test, c->reply.seed, c->req.seed);
	}
}

/*
 * A task submits small calls under a plug.  They must be sent together, as far as they fit in a
 * message, and with their data; each must get its own answer.
 */
static void loop_together(struct kunit *test)
{
	struct loop *loop = test->priv;
	static const u32 what[] = { LOOP_ECHO, LOOP_READ, LOOP_WRITE };
	static const u32 lens[] = { 200, 1, 777, RDMAFS_XPRT_INLINE_MAX };
	enum { N = 12 };
	struct loop_call *c = kunit_kcalloc(test, N, sizeof(*c), GFP_KERNEL);
	u8 *buf = kunit_kzalloc(test, N * RDMAFS_XPRT_INLINE_MAX, GFP_KERNEL);
	struct kvec kvec[N];
	struct blk_plug plug;
	u64 sent, joined;
	u32 i, j, round;

	KUNIT_ASSERT_NOT_NULL(test, c);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (round = 0; round < 40; round++) {
		u32 len = lens[round % ARRAY_SIZE(lens)];

		blk_start_plug(&plug);
		for (i = 0; i < N; i++) {
			u32 op = what[i % 3];

			kvec[i].iov_base = buf + i * RDMAFS_XPRT_INLINE_MAX;
			kvec[i].iov_len = len;
			for (j = 0; op == LOOP_WRITE && j < len; j++)
				((u8 *)kvec[i].iov_base)[j] = loop_byte(round + i, j);
			c[i].call.dir = op == LOOP_READ ? RDMAFS_XPRT_READ :
					op == LOOP_WRITE ? RDMAFS_XPRT_WRITE : RDMAFS_XPRT_NODATA;
			if (op != LOOP_ECHO)
				iov_iter_kvec(&c[i].call.iter,
					      op == LOOP_WRITE ? ITER_SOURCE : ITER_DEST,
					      &kvec[i], 1, len);
			KUNIT_EXPECT_EQ(test, loop_submit(loop, &c[i], op, round * N + i, len), 0);
		}
		blk_finish_plug(&plug);
		for (i = 0; i < N; i++) {
			KUNIT_EXPECT_EQ(test, loop_wait(&c[i]), 0);
			loop_check(test, &c[i], kvec[i].iov_base, len);
		}
	}
	sent = loop_count(loop, RXP_STAT_msgs_sent);
	joined = loop_count(loop, RXP_STAT_msgs_joined);
	/* HELLO and PINGs are no calls. */
	KUNIT_EXPECT_GT(test, sent + joined, N * 40);
	KUNIT_EXPECT_LT(test, sent + joined, N * 40 + 20);
	KUNIT_EXPECT_GT(test, joined, N * 40 / 2);
}

static void loop_many_overlapped(struct kunit *test)
{
	struct loop *loop = test->priv;

	rdmafs_xprt_set_reg(loop->xprt, RDMAFS_REG_OVERLAPPED);
	loop_many(test);
}

static void loop_abort(struct kunit *test)
{
	struct loop *loop = test->priv;
	struct loop_call *c = loop_new(test);

	KUNIT_ASSERT_EQ(test, loop_submit(loop, c, LOOP_HOLD, 0, 0), 0);
	rdmafs_xprt_abort(loop->xprt);
	KUNIT_EXPECT_EQ(test, loop_wait(c), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, loop_submit(loop, c, LOOP_ECHO, 0, 0), -ESHUTDOWN);
	complete_all(&loop->release);
}

/*
 * The server stops and starts again while calls are submitted: they must be answered in a new
 * session.
 */
static void loop_restart(struct kunit *test)
{
	struct loop *loop = test->priv;
	struct loop_call *c = kunit_kcalloc(test, 8, sizeof(*c), GFP_KERNEL);
	u8 *buf = vzalloc(8 * 65536);
	struct kvec kvec[8];
	int i, k;

	KUNIT_ASSERT_NOT_NULL(test, c);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	complete_all(&loop->release);
	rdmafs_xprt_unlisten(loop->server);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop->sessions), 0);
	loop->server = rdmafs_xprt_listen(&init_net, LOOP_PORT, &loop_service, loop, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(loop->server));
	for (i = 0; i < 8; i++) {
		kvec[i].iov_base = buf + i * 65536;
		kvec[i].iov_len = 65536;
		c[i].call.dir = RDMAFS_XPRT_READ;
		iov_iter_kvec(&c[i].call.iter, ITER_DEST, &kvec[i], 1, 65536);
		KUNIT_EXPECT_EQ(test, loop_submit(loop, &c[i], LOOP_READ, i, 65536), 0);
	}
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, loop_wait(&c[i]), 0);
		for (k = 0; k < 65536; k++)
			KUNIT_ASSERT_EQ(test, buf[i * 65536 + k], loop_byte(i, k));
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&loop->resets), 1);
	vfree(buf);
}

static void loop_restart_overlapped(struct kunit *test)
{
	struct loop *loop = test->priv;

	rdmafs_xprt_set_reg(loop->xprt, RDMAFS_REG_OVERLAPPED);
	loop_restart(test);
}

/* Close the session, and open one with @conns connections. */
static void loop_reconnect(struct kunit *test, u32 conns)
{
	struct loop *loop = test->priv;
	int ret;

	rdmafs_xprt_close(loop->xprt);
	ret = loop_connect(loop, conns);
	if (ret)
		loop->xprt = NULL;
	KUNIT_ASSERT_EQ(test, ret, 0);
	KUNIT_ASSERT_EQ(test, loop->xprt->nr_conns, conns);
}

/*
 * A machine that stands still for some seconds loses a connection by that alone.  It does not
 * do so each time: a loss in each of so many tries is a fault of the transport.
 */
#define LOOP_TRIES	3

/* What each connection has received; a connection may be lost at any time. */
static void loop_received(struct loop *loop, u64 *received)
{
	u32 i;

	spin_lock_bh(&loop->xprt->lock);
	for (i = 0; i < loop->xprt->nr_conns; i++)
		received[i] = READ_ONCE(loop->xprt->conns[i]->received);
	spin_unlock_bh(&loop->xprt->lock);
}

/*
 * Run all kinds of calls over several connections, each of which must get its part.  Returns
 * true if no connection was lost.
 */
static bool loop_nconnect_once(struct kunit *test, u32 conns)
{
	u64 before[RDMAFS_XPRT_CONNS_MAX] = {}, after[RDMAFS_XPRT_CONNS_MAX] = {};
	struct loop *loop = test->priv;
	u32 k;

	loop_reconnect(test, conns);
	loop_received(loop, before);
	loop_echo(test);
	loop_received(loop, after);
	/* A connection that was made again counts from 0. */
	for (k = 0; k < conns && !loop_count(loop, RXP_STAT_reconnects); k++)
		KUNIT_EXPECT_GE_MSG(test, after[k] - before[k], 1000 / conns,
				    "connection %u of %u", k, conns);
	loop_read(test);
	loop_read_gaps(test);
	loop_write(test);
	loop_many(test);
	rdmafs_xprt_set_reg(loop->xprt, RDMAFS_REG_OVERLAPPED);
	loop_read(test);
	loop_many(test);
	KUNIT_EXPECT_EQ(test, loop_count(loop, RXP_STAT_protocol_errors), 0);
	return !loop_count(loop, RXP_STAT_reconnects);
}

static void loop_nconnect(struct kunit *test)
{
	static const u32 counts[] = { 2, RDMAFS_XPRT_CONNS_MAX };
	int i, tries;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		for (tries = 0; tries < LOOP_TRIES && !loop_nconnect_once(test, counts[i]); tries++)
			;
		KUNIT_EXPECT_LT_MSG(test, tries, LOOP_TRIES, "%u lose one each time", counts[i]);
	}
}

/*
 * A sink is granted in a reply on one connection.  The next WRITE, on another connection, must
 * be able to use it.
 */
static void loop_nconnect_granted(struct kunit *test)
{
	struct loop *loop = test->priv;
	struct loop_call *c = loop_new(test);
	u8 *buf = vzalloc(65536);
	struct kvec kvec = { .iov_base = buf, .iov_len = 65536 };
	u64 granted;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	/* A slow machine could otherwise return a grant before it is used. */
	rdmafs_test_knobs.grant_idle_s = 600;
	loop_reconnect(test, 3);
	for (i = 0; i < 20; i++) {
		memset(buf, i, 65536);
		c->call.dir = RDMAFS_XPRT_WRITE;
		iov_iter_kvec(&c->call.iter, ITER_SOURCE, &kvec, 1, 65536);
		KUNIT_EXPECT_EQ(test, loop_submit(loop, c, LOOP_WRITE, i, 65536), 0);
		KUNIT_EXPECT_EQ(test, loop_wait(c), 0);
		KUNIT_EXPECT_EQ(test, c->reply.len, 65536);
	}
	/*
	 * Calls that come one at a time use the connections in turn, so none uses that of its
	 * grant.
	 */
	granted = loop_count(loop, RXP_STAT_write_granted);
	KUNIT_EXPECT_EQ(test, granted, 19);
	rdmafs_test_knobs.grant_idle_s = 0;
	vfree(buf);
}

static bool loop_up(struct loop *loop, u32 conns)
{
	bool up;

	spin_lock_bh(&loop->xprt->lock);
	up = loop->xprt->state == RXC_UP && loop->xprt->nr_conns == conns;
	spin_unlock_bh(&loop->xprt->lock);
	return up;
}

/* Wait until all connections are up and there were @reconnects; false: not within a minute. */
static bool loop_comes_up(struct loop *loop, u32 conns, u64 reconnects)
{
	unsigned long end = jiffies + 60 * HZ;

	while ((loop_count(loop, RXP_STAT_reconnects) < reconnects || !loop_up(loop, conns)) &&
	       time_before(jiffies, end))
		usleep_range(1000, 2000);
	return loop_up(loop, conns);
}

enum { LOSE_CONNS = 4, LOSE_HELD = 4, LOSE_MOVED = 8, LOSE_LEN = 65536 };

/**
 * struct loop_lose - calls that are under way when a connection is lost
 * @held:   calls that the service holds
 * @moved:  calls that move data
 * @buf:    LOSE_LEN bytes of each of these
 * @kvec:   the same
 * @rounds: times that the calls were submitted
 */
struct loop_lose {
	struct loop_call held[LOSE_HELD];
	struct loop_call moved[LOSE_MOVED];
	u8 *buf;
	struct kvec kvec[LOSE_MOVED];
	int rounds;
};

static void loop_lose_submit(struct kunit *test, struct loop_lose *t)
{
	unsigned long end = jiffies + 20 * HZ;
	struct loop *loop = test->priv;
	int i, held = ++t->rounds * LOSE_HELD;

	reinit_completion(&loop->release);
	for (i = 0; i < LOSE_HELD; i++)
		KUNIT_EXPECT_EQ(test, loop_submit(loop, &t->held[i], LOOP_HOLD, i, 0), 0);
	while (atomic_read(&loop->held) < held && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop->held), held);
	memset(t->buf, 0, LOSE_MOVED * LOSE_LEN);
	for (i = 0; i < LOSE_MOVED; i++) {
		struct loop_call *m = &t->moved[i];
		bool w = i & 1;

		t->kvec[i].iov_base = t->buf + i * LOSE_LEN;
		t->kvec[i].iov_len = LOSE_LEN;
		m->call.dir = w ? RDMAFS_XPRT_WRITE : RDMAFS_XPRT_READ;
		iov_iter_kvec(&m->call.iter, w ? ITER_SOURCE : ITER_DEST, &t->kvec[i], 1, LOSE_LEN);
		KUNIT_EXPECT_EQ(test, loop_submit(loop, m, w ? LOOP_WRITE : LOOP_READ, i, LOSE_LEN),
				0);
	}
}

/*
 * Lose a connection while calls are under way.  All must be answered.  Returns true if the
 * client had to connect again only once.
 */
static bool loop_lose(struct kunit *test, struct loop_lose *t, int lost)
{
	struct loop *loop = test->priv;
	u64 before, times;
	int i, k;

	KUNIT_ASSERT_TRUE(test, loop_comes_up(loop, LOSE_CONNS, 0));
	before = loop_count(loop, RXP_STAT_reconnects);
	loop_lose_submit(test, t);
	KUNIT_EXPECT_EQ(test, rdma_disconnect(loop->xprt->conns[lost]->id), 0);
	for (i = 0; i < LOSE_MOVED; i++)
		KUNIT_EXPECT_EQ(test, loop_wait(&t->moved[i]), 0);
	KUNIT_EXPECT_TRUE(test, loop_comes_up(loop, LOSE_CONNS, before + 1));
	/* These requests are still held: their answers come on the new connections. */
	complete_all(&loop->release);
	for (i = 0; i < LOSE_HELD; i++)
		KUNIT_EXPECT_EQ(test, loop_wait(&t->held[i]), 0);
	for (i = 0; i < LOSE_MOVED; i += 2)
		for (k = 0; k < LOSE_LEN; k++)
			KUNIT_ASSERT_EQ(test, t->buf[i * LOSE_LEN + k], loop_byte(i, k));
	times = loop_count(loop, RXP_STAT_reconnects) - before;
	/*
	 * If a connection is lost soon after it was made the client waits longer each time:
	 * let it become old.
	 */
	msleep(2500);
	return times == 1;
}

/*
 * Each connection of a session is lost once.  All connections must come back each time, and no
 * call may be lost or executed twice.
 */
static void loop_lose_one(struct kunit *test)
{
	struct loop *loop = test->priv;
	struct loop_lose *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int lost, tries;

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->buf = vzalloc(LOSE_MOVED * LOSE_LEN);
	KUNIT_ASSERT_NOT_NULL(test, t->buf);
	loop_reconnect(test, LOSE_CONNS);
	for (lost = 0; lost < LOSE_CONNS; lost++) {
		for (tries = 0; tries < LOOP_TRIES && !loop_lose(test, t, lost); tries++)
			;
		KUNIT_EXPECT_LT_MSG(test, tries, LOOP_TRIES, "%d: not all come back at once", lost);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&loop->resets), 0);
	KUNIT_EXPECT_EQ(test, loop_count(loop, RXP_STAT_protocol_errors), 0);
	/*
	 * The server has handled all its requests when it is gone: each held one was executed
	 * once.
	 */
	rdmafs_xprt_close(loop->xprt);
	loop->xprt = NULL;
	rdmafs_xprt_unlisten(loop->server);
	loop->server = NULL;
	KUNIT_EXPECT_EQ(test, atomic_read(&loop->held), t->rounds * LOSE_HELD);
	vfree(t->buf);
}

/*
 * Sequence numbers wrap while a call is under way: 1 follows 2^32 - 1.  The call has number 1,
 * and its connection is lost.  The server must know it again when it comes again, and not
 * execute it twice.
 */
static void loop_seq_wraps(struct kunit *test)
{
	unsigned long end = jiffies + 60 * HZ;
	struct loop *loop = test->priv;
	struct loop_call *c = loop_new(test);
	u32 seq;

	rdmafs_test_knobs.seq_before = U32_MAX - 1;
	loop_reconnect(test, 1);
	rdmafs_test_knobs.seq_before = 0;
	for (seq = 1; seq <= 2; seq++) {
		KUNIT_ASSERT_EQ(test, loop_submit(loop, c, LOOP_ECHO, seq, 0), 0);
		KUNIT_ASSERT_EQ(test, loop_wait(c), 0);
		KUNIT_EXPECT_EQ(test, loop->xprt->slots[0].seq, seq == 1 ? U32_MAX : 2);
		if (seq == 2)
			break;
		KUNIT_ASSERT_EQ(test, loop_submit(loop, c, LOOP_HOLD, seq, 0), 0);
		while (!atomic_read(&loop->held) && time_before(jiffies, end))
			usleep_range(1000, 2000);
		KUNIT_EXPECT_EQ(test, loop->xprt->slots[0].seq, 1);
		KUNIT_EXPECT_EQ(test, rdma_disconnect(loop->xprt->conns[0]->id), 0);
		while (loop_count(loop, RXP_STAT_reconnects) < 1 && time_before(jiffies, end))
			usleep_range(1000, 2000);
		complete_all(&loop->release);
		KUNIT_ASSERT_EQ(test, loop_wait(c), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&loop->held), 1);
	}
	/* A slow machine may lose the connection once more by itself. */
	KUNIT_EXPECT_GE(test, loop_count(loop, RXP_STAT_reconnects), 1);
	KUNIT_EXPECT_EQ(test, loop_count(loop, RXP_STAT_protocol_errors), 0);
}

/* The server stops and starts again: all connections of a new session must come up. */
static void loop_nconnect_restart(struct kunit *test)
{
	struct loop *loop = test->priv;

	loop_reconnect(test, 4);
	loop_restart(test);
	KUNIT_EXPECT_TRUE(test, loop_comes_up(loop, 4, 0));
}

/* Wait until the client was told @times to ask, for EVENTs and reconnects, and no other reason. */
static bool loop_told(struct loop *loop, u32 times)
{
	unsigned long end = jiffies + 60 * HZ;
	u64 why;

	do {
		why = loop_count(loop, RXP_STAT_events) + loop_count(loop, RXP_STAT_reconnects);
		if (why >= times && atomic_read(&loop->events) == why)
			return true;
		usleep_range(1000, 2000);
	} while (time_before(jiffies, end));
	return false;
}

/*
 * The service has something to tell.  The client must be told once, by one of its connections; and
 * once when it has connected again, as the EVENT may have been lost.
 */
static void loop_rings(struct kunit *test)
{
	struct loop *loop = test->priv;
	struct rdmafs_xprt_session *xs;
	u32 i;

	atomic_set(&loop->events, 0);
	loop_reconnect(test, 4);
	KUNIT_EXPECT_TRUE(test, loop_told(loop, 0));
	for (i = 1; i <= 3; i++) {
		xs = READ_ONCE(loop->xs);
		KUNIT_ASSERT_NOT_NULL(test, xs);
		rdmafs_xprt_session_ring(xs);
		KUNIT_EXPECT_TRUE_MSG(test, loop_told(loop, i), "EVENT %u: told %d times", i,
				      atomic_read(&loop->events));
	}
	KUNIT_EXPECT_EQ(test, rdma_disconnect(loop->xprt->conns[1]->id), 0);
	KUNIT_EXPECT_TRUE(test, loop_comes_up(loop, 4, 1));
	KUNIT_EXPECT_TRUE_MSG(test, loop_told(loop, 4), "connected again: told %d times",
			      atomic_read(&loop->events));
	/* A slow machine may lose a connection by itself, and an EVENT with it. */
	if (loop_count(loop, RXP_STAT_reconnects) == 1)
		KUNIT_EXPECT_EQ(test, loop_count(loop, RXP_STAT_events), 3);
	KUNIT_EXPECT_EQ(test, loop_count(loop, RXP_STAT_protocol_errors), 0);
}

static struct kunit_case loop_cases[] = {
	KUNIT_CASE(loop_echo),
	KUNIT_CASE(loop_read),
	KUNIT_CASE(loop_read_gaps),
	KUNIT_CASE(loop_read_overlapped),
	KUNIT_CASE(loop_read_nothing),
	KUNIT_CASE(loop_write),
	KUNIT_CASE(loop_many),
	KUNIT_CASE(loop_many_overlapped),
	KUNIT_CASE(loop_together),
	KUNIT_CASE_SLOW(loop_nconnect),
	KUNIT_CASE(loop_nconnect_granted),
	KUNIT_CASE(loop_abort),
	KUNIT_CASE_SLOW(loop_restart),
	KUNIT_CASE_SLOW(loop_restart_overlapped),
	KUNIT_CASE(loop_seq_wraps),
	KUNIT_CASE(loop_rings),
	KUNIT_CASE_SLOW(loop_lose_one),
	KUNIT_CASE_SLOW(loop_nconnect_restart),
	{}
};

static struct kunit_suite loop_suite = {
	.name = "rdmafs_xprt_loop",
	.init = loop_init,
	.exit = loop_exit,
	.test_cases = loop_cases,
};

kunit_test_suite(loop_suite);

MODULE_DESCRIPTION("KUnit: rdmafs transport through real verbs");
MODULE_LICENSE("GPL");
