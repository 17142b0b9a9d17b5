/* SPDX-License-Identifier: GPL-2.0 */
/* A peer that does not take messages, so that the other end's send queue stands. */
#ifndef RDMAFS_KUNIT_XPRT_STALL_H
#define RDMAFS_KUNIT_XPRT_STALL_H

#include "xprt_raw.h"

/* So many bytes fill all queues between the other end's send queue and this end. */
#define STALL_BYTES	SZ_16K

/**
 * struct stall - a connection that stands, or is to stand
 * @raw:   the end that takes no messages; NULL: stall_end() was called
 * @sk:    iWARP: its socket, with a reference; else NULL
 * @ready: iWARP: its callback for data before stall_begin()
 * @next:  the first receive that is not posted yet
 */
struct stall {
	struct raw *raw;
	struct sock *sk;
	void (*ready)(struct sock *sk);
	u32 next;
};

int stall_begin(struct stall *st, struct raw *raw, u32 recvs);
int stall_end(struct stall *st);

#endif
