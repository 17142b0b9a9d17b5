// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_honest: a client that keeps to the protocol, but mounts and unmounts
 * without a pause.
 *
 * Connecting costs processor time on both sides.  The cost of hostile peers, which connect all
 * the time, is compared with that of this suite: all else that they do must cost less.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/in.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include "transport/client/client.h"
#include "transport/server/server.h"
#include "xprt_raw.h"

#define HONEST_PORT	20994
#define HONEST_TIMES	40

struct honest {
	struct rdmafs_xprt_server *server;
	atomic_t sessions;	/* opened */
	atomic_t left;		/* opened and not closed */
};

struct honest_call {
	struct rdmafs_xprt_call call;
	struct completion done;
};

static int honest_session_open(struct rdmafs_xprt_session *s, void *ctx)
{
	struct honest *h = ctx;

	atomic_inc(&h->sessions);
	atomic_inc(&h->left);
	return 0;
}

static void honest_session_close(struct rdmafs_xprt_session *s, void *ctx)
{
	struct honest *h = ctx;

	atomic_dec(&h->left);
}

static void honest_handle(struct rdmafs_xprt_req *req, void *ctx)
{
	memcpy(req->reply, req->body, sizeof(u64));
	rdmafs_xprt_req_reply(req, sizeof(u64), 0, RDMAFS_REPLY_NOCACHE);
}

static const struct rdmafs_xprt_service honest_service = {
	.session_open	= honest_session_open,
	.session_close	= honest_session_close,
	.handle		= honest_handle,
};

static const struct rdmafs_xprt_client_ops honest_ops = {};

static struct rdmafs_xprt *honest_connect(void)
{
	struct rdmafs_xprt_params params = {
		.net = &init_net,
		.slots = RAW_SLOTS,
		.conns = 1,
		.connect_ms = 60000,	/* a guest may stand still for some seconds */
		.quota = { .max = RPOL_NO_MAX, .weight = RPOL_WEIGHT_DEFAULT },
	};

	raw_address(HONEST_PORT, (struct sockaddr_in *)&params.addr);
	return rdmafs_xprt_connect(&params, &honest_ops, NULL);
}

static void honest_done(struct rdmafs_xprt_call *call)
{
	complete(&container_of(call, struct honest_call, call)->done);
}

/* Make a call; the answer must repeat its body. */
static bool honest_asks(struct rdmafs_xprt *x, u64 what)
{
	u64 reply = 0;
	struct honest_call c = {
		.call = {
			.req = &what, .req_len = sizeof(what),
			.reply = &reply, .reply_max = sizeof(reply),
			.flags = RDMAFS_CALL_IDEMPOTENT, .done = honest_done,
		},
		.done = COMPLETION_INITIALIZER_ONSTACK(c.done),
	};

	if (rdmafs_xprt_submit(x, &c.call))
		return false;
	wait_for_completion(&c.done);
	return !c.call.status && reply == what;
}

/*
 * A client connects, makes a call and closes, again and again.  It must be accepted and
 * answered each time, and leave no session behind.
 */
static void honest_comes_and_goes(struct kunit *test)
{
	struct honest *h = test->priv;
	struct rdmafs_xprt *x;
	u32 i;

	for (i = 1; i <= HONEST_TIMES; i++) {
		x = honest_connect();
		KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(x), "mount %u: %ld", i, PTR_ERR(x));
		KUNIT_EXPECT_TRUE(test, honest_asks(x, i));
		rdmafs_xprt_close(x);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&h->sessions), HONEST_TIMES);
}

static int honest_init(struct kunit *test)
{
	struct rdmafs_xprt_limits limits = raw_limits();
	struct honest *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);
	struct raw *raw;

	KUNIT_ASSERT_NOT_NULL(test, h);
	/* A session may exist for a moment after its client has closed it. */
	limits.client_sessions = HONEST_TIMES;
	limits.client_share = 100;
	h->server = rdmafs_xprt_listen(&init_net, HONEST_PORT, &honest_service, h, &limits);
	if (IS_ERR(h->server))
		kunit_skip(test, "can't listen");
	raw = raw_open(HONEST_PORT);
	if (IS_ERR(raw)) {
		rdmafs_xprt_unlisten(h->server);
		kunit_skip(test, "no RDMA device at %s", raw_address_name());
	}
	raw_close(raw);
	test->priv = h;
	return 0;
}

static void honest_exit(struct kunit *test)
{
	struct honest *h = test->priv;

	if (!h)
		return;
	rdmafs_xprt_unlisten(h->server);
	KUNIT_EXPECT_EQ(test, atomic_read(&h->left), 0);
}

static struct kunit_case honest_cases[] = {
	KUNIT_CASE(honest_comes_and_goes),
	{}
};

static struct kunit_suite honest_suite = {
	.name = "rdmafs_xprt_honest",
	.init = honest_init,
	.exit = honest_exit,
	.test_cases = honest_cases,
};

kunit_test_suite(honest_suite);
