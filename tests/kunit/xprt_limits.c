// SPDX-License-Identifier: GPL-2.0
/*
 * A server whose limits a suite sets, and a client in bare verbs that goes up to them.  All
 * functions are called by the case's thread.
 */
#include <linux/delay.h>
#include <linux/random.h>
#include <net/net_namespace.h>
#include "transport/server/server.h"
#include "xprt_limits.h"

/*
 * Answer a READ from the large folio: with two pieces of it, or with a copy if there is no
 * room for the folio.  The reply says that it has no data.
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

/* Handle a request: a READ gets zeros for all that it has room for, other requests get no data. */
static void limits_handle(struct rdmafs_xprt_req *req, void *ctx)
{
	struct limits *t = ctx;
	struct iov_iter dest;
	u32 len = 0;

	if (READ_ONCE(t->holds))
		wait_for_completion(&t->serve);
	if (t->lends && req->read_max && limits_lend(t, req))
		return;
	if (req->read_max > t->reserves && t->reserves)
		rdmafs_xprt_req_reserve(req, t->reserves);
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

/**
 * limits_start - start the server
 * @test: the case
 * @l:    limits of the server
 *
 * Context: process, may sleep.
 */
void limits_start(struct kunit *test, const struct rdmafs_xprt_limits *l)
{
	struct limits *t = test->priv;

	t->server = rdmafs_xprt_listen(&init_net, LIMITS_PORT, &limits_service, t, l);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->server));
	/*
	 * The lease's worker would end all connections that are silent for that long, whatever
	 * the case tests.
	 */
	raw_no_lease(t->server);
}

/**
 * limits_try - open a connection
 * @test:   the case
 * @slots:  slots to ask for
 * @reason: out: RXP_REJECT_*, or 0
 *
 * Context: process, may sleep.
 *
 * Return: the connection, or NULL if it was refused.
 */
struct raw *limits_try(struct kunit *test, u16 slots, u16 *reason)
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

/**
 * limits_open - open a connection, which must be accepted
 * @test: the case
 *
 * Context: process, may sleep.
 *
 * Return: the connection.
 */
struct raw *limits_open(struct kunit *test)
{
	struct raw *raw;
	u16 reason;

	raw = limits_try(test, RAW_SLOTS, &reason);
	KUNIT_ASSERT_NOT_NULL_MSG(test, raw, "refused: %u", reason);
	return raw;
}

/**
 * limits_refused - try to open a connection, which must be refused
 * @test: the case
 * @why:  expected reason, RXP_REJECT_*
 *
 * Context: process, may sleep.
 */
void limits_refused(struct kunit *test, u16 why)
{
	u16 reason;

	KUNIT_EXPECT_NULL(test, limits_try(test, RAW_SLOTS, &reason));
	KUNIT_EXPECT_EQ(test, reason, why);
}

/**
 * limits_leave - close the last connection, and wait until the server has ended it
 * @test: the case
 * @left: connections that the server must have then, with those that were refused gone
 *
 * Context: process, may sleep.
 */
void limits_leave(struct kunit *test, u32 left)
{
	struct limits *t = test->priv;
	unsigned long end = jiffies + RAW_WAIT;

	raw_close(t->raw[--t->nr]);
	while (READ_ONCE(t->server->nr_conns) != left && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, t->server->nr_conns, left);
}

/**
 * limits_hello - say HELLO as a new client, and take the WELCOME
 * @test: the case
 * @raw:  the connection
 *
 * Context: process, may sleep.
 *
 * Return: status of the WELCOME.
 */
u32 limits_hello(struct kunit *test, struct raw *raw)
{
	struct rxp_wire_hello hello = {};

	get_random_bytes(hello.client, sizeof(hello.client));
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_HELLO, 0, 0, &hello,
				      sizeof(hello), 0), 0);
	raw->welcome = *(struct rxp_wire_welcome *)
		raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_WELCOME, 0, 0);
	return le32_to_cpu(raw->welcome.status);
}

/**
 * limits_default - get default limits, with long times for a slow case
 *
 * Context: any.
 *
 * Return: the limits.
 */
struct rdmafs_xprt_limits limits_default(void)
{
	struct rdmafs_xprt_limits l = raw_limits();

	l.held_ms = RAW_PATIENT_MS;
	return l;
}

/**
 * limits_other - let connections come from another client from now on
 * @test: the case
 *
 * Context: process.
 */
void limits_other(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, raw_route("fd09::1", "fd09::1"), 0);
}

/**
 * limits_init - begin a case; skip it if there is no RDMA device
 * @test: the case
 *
 * Context: process, may sleep.
 *
 * Return: 0.
 */
int limits_init(struct kunit *test)
{
	struct limits *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct sockaddr_in addr;
	struct raw *raw;

	KUNIT_ASSERT_NOT_NULL(test, t);
	init_completion(&t->serve);
	/* No server listens yet: the error tells whether there is a device. */
	raw = raw_address(LIMITS_PORT, &addr) ? ERR_PTR(-ENODEV) : raw_open(LIMITS_PORT);
	if (PTR_ERR(raw) == -ENODEV || PTR_ERR(raw) == -EHOSTUNREACH ||
	    PTR_ERR(raw) == -ENETUNREACH)
		kunit_skip(test, "no RDMA device at %s", raw_address_name());
	test->priv = t;
	return 0;
}

/**
 * limits_exit - end a case: close all connections and the server
 * @test: the case
 *
 * Context: process, may sleep.
 */
void limits_exit(struct kunit *test)
{
	struct limits *t = test->priv;

	raw_route(NULL, NULL);
	raw_pretend(NULL);
	if (!t)
		return;
	complete_all(&t->serve);
	if (!IS_ERR_OR_NULL(t->mount))
		rdmafs_xprt_close(t->mount);
	while (t->nr)
		raw_close(t->raw[--t->nr]);
	if (!IS_ERR_OR_NULL(t->server))
		rdmafs_xprt_unlisten(t->server);
	if (t->lends)
		put_page(t->lends);
}
