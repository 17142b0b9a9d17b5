/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A server whose limits a suite sets, and a client in bare verbs that goes up to them.
 *
 * A connection that does not say HELLO within unbound_ms is dropped, and a client that holds
 * memory without using it for held_ms is cut off. Where a case does not test that, both times
 * are long.
 */
#ifndef RDMAFS_KUNIT_XPRT_LIMITS_H
#define RDMAFS_KUNIT_XPRT_LIMITS_H

#include "xprt_raw.h"

#define LIMITS_PORT	20995
#define LIMITS_MAX	16

/**
 * struct limits - the server, and connections to it
 * @server: the server
 * @raw:    the connections
 * @nr:     how many
 * @heartbeat_ms: as connections say from now on
 * @mount:  one that keeps to the protocol, or NULL
 * @holds:  requests are served one by one, as @serve says
 * @serve:  one more is
 * @reserves: so much of a READ's room is reserved before it gets all of it
 * @lends:  a READ is answered from there, when @serve says so
 * @lent:   so often it was
 * @copied: and so often a copy was made
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
