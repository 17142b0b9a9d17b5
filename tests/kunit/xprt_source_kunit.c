// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_source: which connections are counted as one client
 * (transport/server/source.c).
 */
#include <kunit/test.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/inet.h>
#include <linux/socket.h>
#include "transport/server/source.h"

static struct sockaddr_storage source_said(struct kunit *test, const char *text)
{
	struct sockaddr_storage said = {};
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&said;
	struct sockaddr_in *sin = (struct sockaddr_in *)&said;

	if (in4_pton(text, -1, (u8 *)&sin->sin_addr, -1, NULL)) {
		said.ss_family = AF_INET;
	} else {
		KUNIT_ASSERT_EQ(test, in6_pton(text, -1, (u8 *)&sin6->sin6_addr, -1, NULL), 1);
		said.ss_family = AF_INET6;
	}
	/* The port must not matter. */
	sin->sin_port = htons(1234);
	return said;
}

/**
 * struct source_case - two clients
 * @desc: description
 * @said: addresses that the clients claim
 * @gid:  GIDs of their ports; "" on iWARP
 * @roce: the GIDs are IP addresses
 * @same: the two must count as one client
 * @family: family that the first must count with
 */
struct source_case {
	const char *desc;
	const char *said[2];
	const char *gid[2];
	bool roce;
	bool same;
	u16 family;
};

static const struct source_case source_cases_params[] = {
	{ "iWARP, one address", { "10.9.0.1", "10.9.0.1" }, { "", "" }, false, true, AF_INET },
	{ "iWARP, two addresses", { "10.9.0.1", "10.9.0.2" }, { "", "" }, false, false, AF_INET },
	{ "iWARP, two of a network", { "fd09::1", "fd09::2" }, { "", "" }, false, false, AF_INET6 },
	{ "iWARP, two networks", { "fd09::1", "fd09:0:0:1::1" }, { "", "" }, false, false,
	  AF_INET6 },
	{ "iWARP, IPv4 and IPv6", { "10.9.0.1", "a09:1::" }, { "", "" }, false, false, AF_INET },
	{ "RoCE, one address", { "10.9.0.1", "10.9.0.1" },
	  { "::ffff:10.9.0.1", "::ffff:10.9.0.1" }, true, true, AF_INET },
	{ "RoCE, one that says it is another", { "10.9.0.1", "10.9.0.2" },
	  { "::ffff:10.9.0.1", "::ffff:10.9.0.1" }, true, true, AF_INET },
	{ "RoCE, one that says it is of the other family", { "10.9.0.1", "fd09::1" },
	  { "::ffff:10.9.0.1", "::ffff:10.9.0.1" }, true, true, AF_INET },
	{ "RoCE, two that say they are one", { "10.9.0.1", "10.9.0.1" },
	  { "::ffff:10.9.0.1", "::ffff:10.9.0.2" }, true, false, AF_INET },
	{ "RoCE, two of a network", { "fd09::1", "fd09::2" }, { "fd09::1", "fd09::2" }, true, false,
	  AF_INET6 },
	{ "RoCE, two networks", { "fd09::1", "fd09::1" }, { "fd09::1", "fd09:0:0:1::1" }, true,
	  false, AF_INET6 },
	{ "InfiniBand, a port with two addresses", { "10.9.0.1", "fd09::1" },
	  { "fe80::2:c903:1", "fe80::2:c903:1" }, false, true, AF_IB },
	{ "InfiniBand, two ports of a subnet", { "10.9.0.1", "10.9.0.1" },
	  { "fe80::2:c903:1", "fe80::2:c903:2" }, false, false, AF_IB },
	/* This is no IPv4 address, though it looks like one. */
	{ "InfiniBand, no subnet", { "10.9.0.1", "10.9.0.1" },
	  { "::ffff:10.9.0.1", "::ffff:10.9.0.2" }, false, false, AF_IB },
};

static void source_desc(const struct source_case *c, char *desc)
{
	strscpy(desc, c->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(source_pair, source_cases_params, source_desc);

static void source_two(struct kunit *test)
{
	const struct source_case *c = test->param_value;
	struct rdmafs_xprt_source source[2];
	struct sockaddr_storage said;
	u8 gid[16];
	u32 i;

	for (i = 0; i < 2; i++) {
		said = source_said(test, c->said[i]);
		if (*c->gid[i])
			KUNIT_ASSERT_EQ(test, in6_pton(c->gid[i], -1, gid, -1, NULL), 1);
		/* The result must not depend on the memory's old contents. */
		memset(&source[i], 0xee, sizeof(source[i]));
		rxs_source(&said, *c->gid[i] ? gid : NULL, c->roce, &source[i]);
	}
	KUNIT_EXPECT_EQ(test, source[0].family, c->family);
	KUNIT_EXPECT_EQ(test, !memcmp(&source[0], &source[1], sizeof(source[0])), c->same);
}

/* An honest client must count for the same address on RoCE and on iWARP. */
static void source_honest(struct kunit *test)
{
	static const char *const addresses[][2] = {
		{ "10.9.0.1", "::ffff:10.9.0.1" },
		{ "fd09::1", "fd09::1" },
		{ "2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6" },
	};
	struct rdmafs_xprt_source tcp, roce;
	struct sockaddr_storage said;
	u8 gid[16];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(addresses); i++) {
		said = source_said(test, addresses[i][0]);
		KUNIT_ASSERT_EQ(test, in6_pton(addresses[i][1], -1, gid, -1, NULL), 1);
		rxs_source(&said, NULL, false, &tcp);
		rxs_source(&said, gid, true, &roce);
		KUNIT_EXPECT_MEMEQ(test, &tcp, &roce, sizeof(tcp));
	}
}

static struct kunit_case source_cases[] = {
	KUNIT_CASE_PARAM(source_two, source_pair_gen_params),
	KUNIT_CASE(source_honest),
	{}
};

static struct kunit_suite source_suite = {
	.name = "rdmafs_xprt_source",
	.test_cases = source_cases,
};

kunit_test_suite(source_suite);
