/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random numbers for a peer that sends anything: which step it does, with which number, and
 * which message is spoilt in which way.  The same seed gives the same numbers.
 */
#ifndef RDMAFS_KUNIT_XPRT_LOTS_H
#define RDMAFS_KUNIT_XPRT_LOTS_H

#include <linux/prandom.h>
#include <linux/types.h>

/**
 * struct lots - a source of random numbers
 * @rnd:   its state
 * @once:  one message of so many is spoilt; 0: none
 * @spoilt: number of messages that were spoilt
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
