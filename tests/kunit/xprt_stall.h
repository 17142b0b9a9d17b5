/* SPDX-License-Identifier: GPL-2.0 */
/* A peer that does not take what it is sent, so that the other's send queue stands. */
#ifndef RDMAFS_KUNIT_XPRT_STALL_H
#define RDMAFS_KUNIT_XPRT_STALL_H

#include "xprt_raw.h"

/* So many bytes fill what there is of queues before the other's own. */
#define STALL_BYTES	SZ_16K

/**
 * struct stall - of one connection
 * @raw:   the end that takes nothing
 * @sk:	   iWARP: its socket; a reference
 * @ready: what is told there of data; NULL: it does stand no more
 * @next:  RoCE: the first receive that is not posted yet
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
