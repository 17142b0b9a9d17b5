// SPDX-License-Identifier: GPL-2.0
/* Random numbers, and messages that are spoilt at random. */
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/string.h>
#include "transport/frame.h"
#include "transport/xprt.h"
#include "xprt_lots.h"
#include "xprt_raw.h"

uint fuzz_seed = 1;
module_param(fuzz_seed, uint, 0644);
MODULE_PARM_DESC(fuzz_seed, "what the suites rdmafs_xprt_fuzz draw their lots from");

uint fuzz_spoil = 16;
module_param(fuzz_spoil, uint, 0644);
MODULE_PARM_DESC(fuzz_spoil, "one message of so many of rdmafs_xprt_fuzz is spoilt; 0: none");

/**
 * lots_begin - begin with the module's parameters
 * @l: out: the state
 *
 * Context: any.
 */
void lots_begin(struct lots *l)
{
	prandom_seed_state(&l->rnd, fuzz_seed);
	l->once = fuzz_spoil;
}

/**
 * lot - draw a number
 * @l: the state
 * @n: bound, not 0
 *
 * Context: any; the caller serialises the uses of @l.
 *
 * Return: a number less than @n.
 */
u32 lot(struct lots *l, u32 n)
{
	return prandom_u32_state(&l->rnd) % n;
}

/**
 * lot_once_in - draw a yes, once in @n times on average
 * @l: the state
 * @n: not 0
 *
 * Context: as for lot().
 *
 * Return: true once in @n times.
 */
bool lot_once_in(struct lots *l, u32 n)
{
	return !lot(l, n);
}

/**
 * lot_number - draw a number that is at a bound of something, or any
 * @l: the state
 *
 * Context: as for lot().
 *
 * Return: the number.
 */
u32 lot_number(struct lots *l)
{
	static const u32 numbers[] = {
		0, 1, 2, RAW_SLOTS - 1, RAW_SLOTS, RXP_WIRE_KEYS, RXP_WIRE_KEYS + 1, 0xff,
		RXP_MSG_MAX, 0x4000, 0x4001, 0xffff, 0x10000, RDMAFS_XPRT_DATA_MAX,
		RDMAFS_XPRT_DATA_MAX + 1, 0x7fffffff, 0x80000000, 0xffffffff,
	};

	return lot_once_in(l, 3) ? prandom_u32_state(&l->rnd) :
				   numbers[lot(l, ARRAY_SIZE(numbers))];
}

/**
 * lot_spoil - spoil a message, once in l->once times
 * @l:   the state
 * @buf: the message, in a buffer of RXP_MSG_MAX bytes
 * @len: its length, which may change
 * @inv: key that it invalidates, which may change
 *
 * Context: as for lot().
 *
 * Return: true if it was spoilt.
 */
bool lot_spoil(struct lots *l, u8 *buf, u32 *len, u32 *inv)
{
	u32 head = min_t(u32, *len, 64), at, n;

	if (!l->once || !*len || !lot_once_in(l, l->once))
		return false;
	l->spoilt++;
	n = lot_number(l);
	switch (lot(l, 6)) {
	case 0:
		buf[lot(l, head)] ^= 1 << lot(l, 8);
		break;
	case 1:
		at = lot(l, head) & ~1;
		memcpy(buf + at, &n, at + 4 <= head && lot_once_in(l, 2) ? 4 : 2);
		break;
	case 2:
		*len = lot(l, *len);
		break;
	case 3:
		n = lot(l, lot_once_in(l, 4) ? RXP_MSG_MAX : 64);
		*len = min_t(u32, *len + n, RXP_MSG_MAX);
		break;
	case 4:
		*inv = lot_once_in(l, 2) ? n : *inv ^ (1 << lot(l, 32));
		break;
	default:
		prandom_bytes_state(&l->rnd, buf, head);
	}
	return true;
}
