/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A server whose limits a suite sets, and a client in bare verbs that goes up to them.
 *
 * A connection that does not say HELLO within unbound_ms is dropped, and a client that holds
 * memory without using it for held_ms is cut off.  Where a case does not test that, both times
 * are long.
 */
#ifndef RDMAFS_KUNIT_XPRT_LIMITS_H
#define RDMAFS_KUNIT_XPRT_LIMITS_H

#include "xprt_raw.h"

#define LIMITS_PORT	20995
#define LIMITS_MAX	16

/**
 * struct limits - the server, and connections to it
 * @server: server under test
 * @raw:    connections, in the order in which they were opened
 * @nr:     number of connections
 * @heartbeat_ms: heartbeat that the next connections announce, in milliseconds
 * @mount:  a real client, or NULL
 * @holds:  each request waits for @serve
 * @serve:  lets one more request go on
 * @reserves: bytes of a READ's room that are reserved before all of it is asked for; 0: none
 * @lends:  large folio from which READs are answered when @serve allows, or NULL
 * @lent:   READs that were answered with its pages
 * @copied: READs that were answered with a copy
 */
struct limits {
	struct rdmafs_xprt_server *server;
	struct raw *raw[LIMITS_MAX];
	u32 nr;
	u32 heartbeat_ms;
	struct rdmafs_xprt *mount;
	bool holds;
	struct completion serve;
	u32 reserves;
	struct page *lends;
	atomic_t lent;
	atomic_t copied;
};

int limits_init(struct kunit *test);
void limits_exit(struct kunit *test);
struct rdmafs_xprt_limits limits_default(void);
void limits_start(struct kunit *test, const struct rdmafs_xprt_limits *l);
void limits_other(struct kunit *test);

struct raw *limits_try(struct kunit *test, u16 slots, u16 *reason);
struct raw *limits_open(struct kunit *test);
void limits_refused(struct kunit *test, u16 why);
void limits_leave(struct kunit *test, u32 left);
u32 limits_hello(struct kunit *test, struct raw *raw);

#endif
