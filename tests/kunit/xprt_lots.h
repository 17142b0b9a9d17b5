/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a peer that says anything draws: which step, which number, and which message is spoilt
 * how.  The same seed draws the same.
 */
#ifndef RDMAFS_KUNIT_XPRT_LOTS_H
#define RDMAFS_KUNIT_XPRT_LOTS_H

#include <linux/prandom.h>
#include <linux/types.h>

/**
 * struct lots - somebody's
 * @rnd:   state
 * @once:  one message of so many is spoilt; 0: none
 * @spoilt: messages
 */
struct lots {
	struct rnd_state rnd;
	u32 once;
	u32 spoilt;
};

extern uint fuzz_seed;
extern uint fuzz_spoil;

void lots_begin(struct lots *l);
u32 lot(struct lots *l, u32 n);
bool lot_once_in(struct lots *l, u32 n);
u32 lot_number(struct lots *l);
bool lot_spoil(struct lots *l, u8 *buf, u32 *len, u32 *inv);

#endif
