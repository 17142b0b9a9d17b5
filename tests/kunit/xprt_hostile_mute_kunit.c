// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_hostile_mute: clients that are accepted and then send nothing.
 *
 * On iWARP they need not even let the connection manager know that they have got the answer.
 * They ask for peer-to-peer mode (RFC 6581), in which the server's end waits for the first
 * message, and cannot be ended before that has come.  siw never asks for it, so here the
 * client is a TCP socket that speaks MPA.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/random.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include "transport/server/server.h"
#include "xprt_raw.h"

#define MUTE_PORT	20992
/* One more than there were threads for the ends of all servers' connections. */
#define MUTE_MAX	17
#define MUTE_MS		250
/* Connections that a client opens, and that it may have. */
#define MUTE_FEW	3

/* MPA's request; RFC 6581 puts ird and ord in front of the private data. */
struct mute_request {
	u8 key[16];
	__be16 bits;
	__be16 pd_len;
	__be16 ird;
	__be16 ord;
	struct rxp_wire_cm cm;
} __packed;

#define MUTE_KEY	"MPA ID Req Frame"
#define MUTE_ENHANCED	(0x1000 | 2)		/* revision 2 */
#define MUTE_PEER	0x8000			/* in ird: peer to peer; in ord: by an RDMA WRITE */

/* An RDMA WRITE of no bytes; there is room for a CRC, though none was negotiated. */
struct mute_write {
	__be16 len;
	__be16 ctrl;
	__be32 stag;
	__be64 to;
	__be32 crc;
} __packed;

#define MUTE_CTRL	0xc140			/* tagged, last, DDP version 1, RDMAP version 1 */

struct mute {
	struct rdmafs_xprt_server *server;
	struct socket *sock[MUTE_MAX];
	struct raw *raw[MUTE_MAX];
	u32 nr_sock;
	u32 nr_raw;
};

static void mute_handle(struct rdmafs_xprt_req *req, void *ctx)
{
	rdmafs_xprt_req_reply(req, 8, 0, RDMAFS_REPLY_NOCACHE);
}

static int mute_session_open(struct rdmafs_xprt_session *s, void *ctx)
{
	return 0;
}

static void mute_session_close(struct rdmafs_xprt_session *s, void *ctx)
{
}

static const struct rdmafs_xprt_service mute_service = {
	.session_open	= mute_session_open,
	.session_close	= mute_session_close,
	.handle		= mute_handle,
};

static void mute_start(struct kunit *test, struct rdmafs_xprt_limits *l)
{
	struct mute *t = test->priv;

	t->server = rdmafs_xprt_listen(&init_net, MUTE_PORT, &mute_service, t, l);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->server));
}

static struct raw *mute_open(struct kunit *test, u16 *reason)
{
	struct mute *t = test->priv;
	struct rxp_wire_cm cm;
	struct raw *raw;

	KUNIT_ASSERT_LT(test, t->nr_raw, MUTE_MAX);
	raw_fill_cm(&cm);
	*reason = 0;
	raw = raw_open_as(MUTE_PORT, &cm, reason);
	if (IS_ERR(raw))
		return NULL;
	t->raw[t->nr_raw++] = raw;
	return raw;
}

/* An honest client must be served. */
static void mute_honest(struct kunit *test)
{
	struct rxp_wire_hello hello = {};
	struct rxp_wire_welcome *welcome;
	struct raw *raw;
	u16 reason;

	raw = mute_open(test, &reason);
	KUNIT_ASSERT_NOT_NULL_MSG(test, raw, "refused: %u", reason);
	get_random_bytes(hello.client, sizeof(hello.client));
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_HELLO, 0, 0, &hello,
				      sizeof(hello), 0), 0);
	welcome = raw_expect(test, raw, RXP_NOTIFY, RXP_NOTIFY_WELCOME, 0, 0);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(welcome->status), RXP_WELCOME_NEW);
}

/* Take MPA's reply; the server's parameters in it do not matter. */
static int mute_hear(struct socket *sock)
{
	struct mute_request reply;
	struct kvec kv = { .iov_base = &reply, .iov_len = sizeof(reply) };
	struct msghdr msg = { .msg_flags = MSG_WAITALL };
	int ret = kernel_recvmsg(sock, &msg, &kv, 1, sizeof(reply), MSG_WAITALL);

	if (ret != sizeof(reply))
		return ret < 0 ? ret : -ECONNRESET;
	return be16_to_cpu(reply.bits) & 0x2000 ? -ECONNREFUSED : 0;
}

/* Connect a client that has been accepted, and will not say so. */
static int mute_connect(struct mute *t)
{
	struct mute_request req = {
		.bits = cpu_to_be16(MUTE_ENHANCED),
		.pd_len = cpu_to_be16(sizeof(req) - offsetof(struct mute_request, ird)),
		.ird = cpu_to_be16(MUTE_PEER),
		.ord = cpu_to_be16(MUTE_PEER),
	};
	struct kvec kv = { .iov_base = &req, .iov_len = sizeof(req) };
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
	struct sockaddr_in addr;
	struct socket *sock;
	int ret;

	memcpy(req.key, MUTE_KEY, sizeof(req.key));
	raw_fill_cm(&req.cm);
	ret = raw_address(MUTE_PORT, &addr);
	if (!ret)
		ret = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (ret)
		return ret;
	t->sock[t->nr_sock++] = sock;
	sock->sk->sk_rcvtimeo = RAW_WAIT;
	ret = kernel_connect(sock, (struct sockaddr *)&addr, sizeof(addr), 0);
	if (!ret)
		ret = kernel_sendmsg(sock, &msg, &kv, 1, sizeof(req));
	if (ret != sizeof(req))
		return ret < 0 ? ret : -EIO;
	return mute_hear(sock);
}

static void mute_connects(struct kunit *test, u32 nr)
{
	struct mute *t = test->priv;
	u32 i;

	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_EQ(test, mute_connect(t), 0);
}

static void mute_awaits(struct kunit *test, const u64 *count, u64 value)
{
	unsigned long end = jiffies + RAW_WAIT;

	while (READ_ONCE(*count) != value && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_ASSERT_EQ(test, READ_ONCE(*count), value);
}

static bool mute_conns(struct mute *t, u32 nr)
{
	unsigned long end = jiffies + RAW_WAIT;

	while (READ_ONCE(t->server->nr_conns) != nr && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return READ_ONCE(t->server->nr_conns) == nr;
}

/*
 * Let the silent clients send their first message, and end.  A message that comes in the moment
 * in which the server's end is set up is not looked at (siw_accept() in 6.12): so it is sent
 * repeatedly.  A client that ends before it was heard crashes the machine (cm_close_handler()
 * there): so its socket stays open if it cannot be heard.
 */
static bool mute_speak(struct mute *t)
{
	struct mute_write write = {
		.len = cpu_to_be16(offsetof(struct mute_write, crc) - sizeof(write.len)),
		.ctrl = cpu_to_be16(MUTE_CTRL),
		.stag = cpu_to_be32(1),
	};
	unsigned long end = jiffies + RAW_WAIT;
	u32 others = t->nr_raw, i;

	while (READ_ONCE(t->server->nr_conns) > others && time_before(jiffies, end)) {
		for (i = 0; i < t->nr_sock; i++) {
			struct kvec kv = { .iov_base = &write, .iov_len = sizeof(write) };
			struct msghdr msg = { .msg_flags = MSG_NOSIGNAL | MSG_DONTWAIT };

			kernel_sendmsg(t->sock[i], &msg, &kv, 1, sizeof(write));
		}
		usleep_range(10000, 20000);
	}
	if (READ_ONCE(t->server->nr_conns) > others)
		return false;
	while (t->nr_sock)
		sock_release(t->sock[--t->nr_sock]);
	return true;
}

static bool mute_iwarp(struct kunit *test)
{
	u16 reason;
	struct raw *raw = mute_open(test, &reason);

	KUNIT_ASSERT_NOT_NULL(test, raw);
	return raw_iwarp(raw);
}

/*
 * Let the time of all connections that are silent now be over: @dropped connections must have
 * been dropped in all then.  Connections that come later have as much time as the slowest
 * machine needs.
 */
static void mute_time_over(struct kunit *test, struct rdmafs_xprt_limits *l, u64 dropped)
{
	struct mute *t = test->priv;

	l->unbound_ms = MUTE_MS;
	rdmafs_xprt_set_limits(t->server, l);
	mute_awaits(test, &t->server->unbound_dropped, dropped);
	l->unbound_ms = RAW_PATIENT_MS;
	rdmafs_xprt_set_limits(t->server, l);
}

/*
 * Clients that have confirmed their connections, and are silent, must be gone when their time
 * is over.
 */
static void mute_established(struct kunit *test)
{
	struct rdmafs_xprt_limits l = raw_limits();
	struct mute *t = test->priv;
	u32 i, n;
	u16 reason;

	l.client_connections = MUTE_FEW;
	mute_start(test, &l);
	for (n = 1; n <= 2; n++) {
		for (i = 0; i < MUTE_FEW; i++) {
			struct raw *raw = mute_open(test, &reason);

			KUNIT_ASSERT_NOT_NULL_MSG(test, raw, "refused: %u", reason);
		}
		mute_time_over(test, &l, n * MUTE_FEW);
		KUNIT_EXPECT_TRUE(test, mute_conns(t, 0));
	}
	mute_honest(test);
}

/*
 * There are more clients that cannot be ended than the workqueue has threads.  Other
 * connections must still be accepted and ended.
 */
static void mute_many(struct kunit *test)
{
	struct rdmafs_xprt_limits l = raw_limits();
	struct mute *t = test->priv;

	mute_start(test, &l);
	if (!mute_iwarp(test))
		kunit_skip(test, "for iWARP alone");
	mute_connects(test, MUTE_MAX);
	mute_time_over(test, &l, MUTE_MAX + 1);
	KUNIT_EXPECT_TRUE(test, mute_conns(t, MUTE_MAX));
	mute_honest(test);
	raw_close(t->raw[--t->nr_raw]);
	mute_honest(test);
}

/*
 * Connections that cannot be ended must count for their client until they are gone, but must
 * keep no other client away.
 */
static void mute_counted(struct kunit *test)
{
	struct rdmafs_xprt_limits l = raw_limits();
	struct mute *t = test->priv;
	u16 reason;

	l.client_connections = MUTE_FEW;
	mute_start(test, &l);
	if (!mute_iwarp(test))
		kunit_skip(test, "for iWARP alone");
	mute_time_over(test, &l, 1);
	KUNIT_EXPECT_TRUE(test, mute_conns(t, 0));
	raw_close(t->raw[--t->nr_raw]);
	mute_connects(test, MUTE_FEW);
	mute_time_over(test, &l, MUTE_FEW + 1);
	KUNIT_EXPECT_NULL(test, mute_open(test, &reason));
	KUNIT_EXPECT_EQ(test, reason, RXP_REJECT_LIMIT);
	KUNIT_EXPECT_EQ(test, t->server->nr_conns, MUTE_FEW);

	l.unbound_connections = MUTE_FEW;
	rdmafs_xprt_set_limits(t->server, &l);
	KUNIT_ASSERT_EQ(test, raw_route("fd09::1", "fd09::1"), 0);
	mute_honest(test);
	raw_route(NULL, NULL);
	KUNIT_EXPECT_TRUE(test, mute_speak(t));
	mute_honest(test);
}

static int mute_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct mute), GFP_KERNEL);
	return test->priv ? 0 : -ENOMEM;
}

static void mute_exit(struct kunit *test)
{
	struct mute *t = test->priv;

	raw_route(NULL, NULL);
	if (IS_ERR_OR_NULL(t->server))
		return;
	while (t->nr_raw)
		raw_close(t->raw[--t->nr_raw]);
	KUNIT_EXPECT_TRUE(test, mute_speak(t));
	rdmafs_xprt_unlisten(t->server);
}

static struct kunit_case mute_cases[] = {
	KUNIT_CASE(mute_established),
	KUNIT_CASE(mute_many),
	KUNIT_CASE(mute_counted),
	{}
};

static struct kunit_suite mute_suite = {
	.name = "rdmafs_xprt_hostile_mute",
	.init = mute_init,
	.exit = mute_exit,
	.test_cases = mute_cases,
};

kunit_test_suite(mute_suite);
