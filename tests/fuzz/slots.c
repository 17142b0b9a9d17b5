// SPDX-License-Identifier: GPL-2.0
/*
 * transport/slot.c under any sequence of calls.  No slot is given to two, none gets lost, and
 * nobody waits while there is a slot that he may have.
 *
 * Input: slots, connections, then a byte or two a step.  While a caller waits the steps go on
 * inside his wait, until he has what he waits for or, by a step, is killed.
 */
#include <linux/errno.h>
#include <linux/bitmap.h>
#include "fuzz.h"
#include "transport/slot.h"
#include "transport/xprt.h"

#define DEPTH	24	/* callers that wait, at most */

static struct account {
	struct fuzz f;
	struct rxp_slots s;
	unsigned long taken[BITS_TO_LONGS(RDMAFS_XPRT_SLOTS_MAX)];
	u32 depth;
} a;

/* Who waits in line, by the account's own lists. */
static u32 waiters(enum rxp_slot_kind kind)
{
	struct list_head *p;
	u32 n = 0;

	for (p = a.s.waiters[kind].next; p != &a.s.waiters[kind]; p = p->next)
		n++;
	return n;
}

/* What holds between any two calls. */
static void check(void)
{
	u32 granted, line = 0;
	enum rxp_slot_kind k;

	FUZZ_ASSERT(find_first_and_bit(a.s.map, a.taken, a.s.max) == a.s.max);
	FUZZ_ASSERT(a.s.free == bitmap_weight(a.s.map, a.s.nr));
	/* The rest has been granted to callers who have not woken up. */
	granted = a.s.max - bitmap_weight(a.s.map, a.s.max) - bitmap_weight(a.taken, a.s.max);
	for (k = RXP_SLOT_URGENT; k < RXP_SLOT_KINDS; k++) {
		line += waiters(k);
		FUZZ_ASSERT(!waiters(k) || a.s.free <= rxp_slots_kept(a.s.nr, k));
	}
	FUZZ_ASSERT(granted + line <= a.depth);
	FUZZ_ASSERT(!a.s.error || !line);
}

static void take(enum rxp_slot_kind kind, bool nowait, bool stale)
{
	u32 since = rxp_slots_kicks(&a.s) - stale;
	u32 free = a.s.free;
	int slot;

	if (a.depth == DEPTH)
		nowait = true;
	slot = rxp_slots_get_since(&a.s, kind, nowait, since);
	if (slot < 0) {
		FUZZ_ASSERT(slot == -EAGAIN || slot == -EINTR || slot == a.s.error);
		return;
	}
	FUZZ_ASSERT((u32)slot < a.s.max && !test_bit(slot, a.taken));
	if (nowait)
		FUZZ_ASSERT(free > rxp_slots_kept(a.s.nr, kind) && (u32)slot < a.s.nr);
	__set_bit(slot, a.taken);
}

/* The next one that is taken, from a number on. */
static void put(u32 from)
{
	u32 i;

	for (i = 0; i < a.s.max; i++) {
		u32 slot = (from + i) % a.s.max;

		if (test_bit(slot, a.taken)) {
			__clear_bit(slot, a.taken);
			rxp_slots_put(&a.s, slot);
			return;
		}
	}
}

/* False: whoever waits on top of all is killed. */
static bool step(void)
{
	u8 what = fuzz_u8(&a.f);

	switch (what & 7) {
	case 0:
	case 1:
	case 2:
		take(what >> 3 & 3 ? (what >> 3 & 3) - 1 : RXP_SLOT_NORMAL, what & 0x20,
		     (what & 0xc0) == 0xc0);
		break;
	case 3:
	case 4:
		put(fuzz_u8(&a.f));
		break;
	case 5:
		if (what & 8)
			rxp_slots_spread(&a.s, fuzz_u8(&a.f) % a.s.max + 1,
					 fuzz_u8(&a.f) % RDMAFS_XPRT_CONNS_MAX + 1);
		else
			rxp_slots_kick(&a.s);
		break;
	case 6:
		return false;
	default:
		if (what == 0xff)
			rxp_slots_shutdown(&a.s, -ENOTCONN);
	}
	check();
	return true;
}

int shim_wait_killable(struct completion *c)
{
	bool killed;
	u8 more;

	a.depth++;
	while (!c->done && a.f.left && step())
		;
	/* Killed, and others go on before the lock is taken: a grant may come just then. */
	killed = !c->done;
	for (more = killed ? fuzz_u8(&a.f) & 3 : 0; more; more--)
		step();
	a.depth--;
	return killed ? -EINTR : 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u32 i;

	memset(&a, 0, sizeof(a));
	a.f = (struct fuzz){ .p = data, .left = size };
	FUZZ_ASSERT(!rxp_slots_init(&a.s, fuzz_u8(&a.f) + 1));
	rxp_slots_spread(&a.s, a.s.max, fuzz_u8(&a.f) % RDMAFS_XPRT_CONNS_MAX + 1);
	while (a.f.left)
		step();
	for (i = 0; i < a.s.max; i++)
		put(i);
	check();
	FUZZ_ASSERT(bitmap_weight(a.s.map, a.s.max) == a.s.max);
	rxp_slots_destroy(&a.s);
	return 0;
}
