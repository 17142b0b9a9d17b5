// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: transport/client/slot.c under any sequence of calls.  No slot may be given to two
 * callers, none may get lost, no caller may wait while there is a slot that it may have, and none
 * may be overtaken by one that came later.
 *
 * Input: the number of slots and of connections, then a byte or two for each step.
 *
 * All callers run in one thread.  When a caller waits, the following steps are executed inside
 * its wait (shim_wait_killable()), until it has a slot or a step kills it.  So callers that wait
 * are nested, and only the one that came last can go on.  One more has a place in line without
 * sleeping.
 */
#include <linux/errno.h>
#include <linux/bitmap.h>
#include "fuzz.h"
#include "transport/client/slot.h"
#include "transport/xprt.h"

#define DEPTH	24	/* largest number of callers that wait at the same time */

/* A copy of one of the lines of callers that struct rxc_slots has. */
struct line {
	struct list_head *who[DEPTH + 1];	/* their list entries, in order */
	u32 nr;
};

static struct account {
	struct fuzz f;
	struct rxc_slots s;
	unsigned long taken[BITS_TO_LONGS(RDMAFS_XPRT_SLOTS_MAX)];	/* slots with callers */
	unsigned long bulk[BITS_TO_LONGS(RDMAFS_XPRT_SLOTS_MAX)];	/* those of large WRITEs */
	const struct completion *waiting[DEPTH];	/* of callers in their waits */
	struct list_head *entry[DEPTH];	/* the list entries of these, by their arrival */
	u32 depth;	/* length of @waiting; the last entry is the innermost caller */
	struct rxc_slot_waiter turn;	/* the place in line of a caller that does not sleep */
	u32 turn_at;	/* how many of those in their waits came before it */
	u64 slept;	/* number of callers that ever began to wait */
	bool killed;	/* the last caller that left its wait was killed */
	enum rxc_slot_kind kind;	/* kind of slot that the last caller asked for */
	struct line before;		/* the line of this kind as that caller found it */
} a;

static void line_get(enum rxc_slot_kind kind, struct line *line)
{
	struct list_head *p;

	line->nr = 0;
	for (p = a.s.waiters[kind].next; p != &a.s.waiters[kind]; p = p->next) {
		FUZZ_ASSERT(line->nr < DEPTH + 1);
		line->who[line->nr++] = p;
	}
}

static u32 waiters(enum rxc_slot_kind kind)
{
	struct line line;

	line_get(kind, &line);
	return line.nr;
}

/* May a caller have a slot, if @free of @nr are free, and @bulk are with large WRITEs? */
static bool may_have(enum rxc_slot_kind kind, u32 free, u32 bulk, u32 nr)
{
	if (kind == RXC_SLOT_EVENT)
		return free;
	if (kind == RXC_SLOT_URGENT)
		return free > RXC_SLOTS_EVENT;
	return free > RXC_SLOTS_URGENT &&
	       (kind != RXC_SLOT_BULK || bulk < rxc_slots_bulk_max(nr));
}

/* Checks what holds between any two calls. */
static void check(void)
{
	u32 granted, line = 0, asleep = 0, i;
	enum rxc_slot_kind k;

	FUZZ_ASSERT(find_first_and_bit(a.s.map, a.taken, a.s.max) == a.s.max);
	FUZZ_ASSERT(a.s.free == bitmap_weight(a.s.map, a.s.nr));
	FUZZ_ASSERT(a.s.bulk == bitmap_weight(a.s.bulk_map, a.s.nr));
	for (i = 0; i < a.s.max; i++) {
		if (test_bit(i, a.taken))
			FUZZ_ASSERT(test_bit(i, a.bulk) == test_bit(i, a.s.bulk_map));
		else if (test_bit(i, a.s.map))
			FUZZ_ASSERT(!test_bit(i, a.s.bulk_map));
	}
	/* All other slots have been granted to callers that are still in their waits. */
	granted = a.s.max - bitmap_weight(a.s.map, a.s.max) - bitmap_weight(a.taken, a.s.max);
	FUZZ_ASSERT(a.turn.slot < 0 || list_empty(&a.turn.link));
	if (a.turn.slot >= 0) {
		FUZZ_ASSERT(!test_bit(a.turn.slot, a.taken) && test_bit(a.turn.slot, a.s.bulk_map));
		granted--;
	}
	for (k = RXC_SLOT_EVENT; k < RXC_SLOT_KINDS; k++) {
		line += waiters(k);
		FUZZ_ASSERT(!waiters(k) || !may_have(k, a.s.free, a.s.bulk, a.s.nr));
	}
	line -= !list_empty(&a.turn.link);
	FUZZ_ASSERT(granted + line <= a.depth);
	/* A caller that is no longer in line must have been woken. */
	for (i = 0; i < a.depth; i++)
		asleep += !a.waiting[i]->done;
	FUZZ_ASSERT(asleep == line && a.s.waits == a.slept);
	FUZZ_ASSERT(!a.s.error || (!line && list_empty(&a.turn.link)));
}

/*
 * The slot that is to be given next: connections take turns, and each gives its lowest free slot.
 * Returns a.s.max if none is free.
 */
static u32 next_slot(void)
{
	u32 i, slot;

	for (i = 0; i < a.s.conns; i++)
		for (slot = (a.s.turn + i) % a.s.conns; slot < a.s.nr; slot += a.s.conns)
			if (test_bit(slot, a.s.map))
				return slot;
	return a.s.max;
}

/* A caller asks for a slot; @stale: with a count of dismissals from before the last one. */
static void take(enum rxc_slot_kind kind, bool nowait, bool stale)
{
	u32 dismissals = rxc_slots_dismissals(&a.s), free = a.s.free, waits = a.s.waits;
	bool full = !may_have(kind, free, a.s.bulk, a.s.nr);
	u32 next = full ? a.s.max : next_slot();
	int slot, error = a.s.error;

	if (a.depth == DEPTH)
		nowait = true;
	a.kind = kind;
	line_get(kind, &a.before);
	slot = rxc_slots_get_since(&a.s, kind, nowait, dismissals - stale);
	if (error) {
		FUZZ_ASSERT(slot == error && a.s.waits == waits);
	} else if (!full) {
		FUZZ_ASSERT(slot == next && a.s.free == free - 1 && a.s.waits == waits);
	} else if (nowait || stale) {
		FUZZ_ASSERT(slot == -EAGAIN && a.s.free == free && a.s.waits == waits);
	} else {
		FUZZ_ASSERT(a.s.waits != waits);
		if (slot == -EAGAIN)
			FUZZ_ASSERT(rxc_slots_dismissals(&a.s) != dismissals);
		else if (slot < 0)
			FUZZ_ASSERT(slot == -EINTR ? a.killed : slot == -ENOTCONN && a.s.error);
	}
	if (slot < 0)
		return;
	FUZZ_ASSERT((u32)slot < a.s.max && !test_bit(slot, a.taken));
	__set_bit(slot, a.taken);
	if (kind == RXC_SLOT_BULK)
		__set_bit(slot, a.bulk);
}

/* A number that is higher the later the caller came that has this entry. */
static u32 arrival(const struct list_head *entry)
{
	u32 i;

	if (entry == &a.turn.link)
		return 2 * a.turn_at;
	for (i = 0; i < a.depth && a.entry[i] != entry; i++)
		;
	FUZZ_ASSERT(i < a.depth);
	return 2 * i + 1;
}

/* The kind of the caller that is to be served next; @at: how many of each kind have been served. */
static enum rxc_slot_kind next_kind(const struct line *before, const u32 *at, u32 free, u32 bulk,
				    u32 nr)
{
	enum rxc_slot_kind k, next = RXC_SLOT_KINDS;

	for (k = RXC_SLOT_EVENT; k < RXC_SLOT_KINDS; k++) {
		if (at[k] == before[k].nr || !may_have(k, free, bulk, nr))
			continue;
		if (k <= RXC_SLOT_URGENT)
			return k;
		if (next == RXC_SLOT_KINDS ||
		    arrival(before[k].who[at[k]]) < arrival(before[next].who[at[next]]))
			next = k;
	}
	return next;
}

/*
 * Checks the grants after slots became free: of @nr slots @free could be given, @bulk were with
 * large WRITEs, and the lines were as in @before.  Who is asked by an EVENT is served first, then
 * urgent callers, the others in the order of their arrival as far as they may have a slot.
 */
static void check_grants(const struct line *before, u32 free, u32 bulk, u32 nr)
{
	u32 at[RXC_SLOT_KINDS] = {};
	enum rxc_slot_kind k;
	struct line now;

	while ((k = next_kind(before, at, free, bulk, nr)) != RXC_SLOT_KINDS) {
		at[k]++;
		free--;
		bulk += k == RXC_SLOT_BULK;
	}
	for (k = RXC_SLOT_EVENT; k < RXC_SLOT_KINDS; k++) {
		line_get(k, &now);
		FUZZ_ASSERT(now.nr == before[k].nr - at[k]);
		FUZZ_ASSERT(!memcmp(now.who, before[k].who + at[k], now.nr * sizeof(now.who[0])));
	}
	FUZZ_ASSERT(a.s.free == free && a.s.bulk == bulk);
}

static void lines_get(struct line *lines)
{
	enum rxc_slot_kind k;

	for (k = RXC_SLOT_EVENT; k < RXC_SLOT_KINDS; k++)
		line_get(k, &lines[k]);
}

static void spread(u32 nr, u32 conns)
{
	struct line before[RXC_SLOT_KINDS];
	u32 free = bitmap_weight(a.s.map, nr), bulk = bitmap_weight(a.s.bulk_map, nr);

	lines_get(before);
	rxc_slots_spread(&a.s, nr, conns);
	FUZZ_ASSERT(a.s.nr == nr && a.s.conns == conns);
	check_grants(before, free, bulk, nr);
}

/* A caller gives a slot back: the first one that is taken, counted from @from on. */
static void put(u32 from)
{
	struct line before[RXC_SLOT_KINDS];
	u32 i, free = a.s.free, bulk = a.s.bulk;

	for (i = 0; i < a.s.max; i++) {
		u32 slot = (from + i) % a.s.max;
		bool counts = slot < a.s.nr;

		if (test_bit(slot, a.taken)) {
			lines_get(before);
			__clear_bit(slot, a.taken);
			bulk -= __test_and_clear_bit(slot, a.bulk) && counts;
			rxc_slots_put(&a.s, slot);
			check_grants(before, free + counts, bulk, a.s.nr);
			return;
		}
	}
}

static void turn_come(struct rxc_slot_waiter *turn)
{
	FUZZ_ASSERT(turn == &a.turn && list_empty(&turn->link));
}

/* The caller that does not sleep asks for a slot. */
static void turn_take(enum rxc_slot_kind kind)
{
	bool may = may_have(kind, a.s.free, a.s.bulk, a.s.nr), in = !list_empty(&a.turn.link);
	u32 next = may ? next_slot() : a.s.max, free = a.s.free;
	int slot, held = a.turn.slot, error = a.s.error;

	slot = rxc_slots_get_turn(&a.s, kind, &a.turn);
	if (error) {
		FUZZ_ASSERT(slot == error && a.turn.slot == held);
		return;
	}
	FUZZ_ASSERT(a.turn.slot == -EAGAIN);
	if (held >= 0) {
		FUZZ_ASSERT(slot == held && a.s.free == free);
	} else if (may) {
		FUZZ_ASSERT(slot == next && a.s.free == free - 1);
		FUZZ_ASSERT(in == !list_empty(&a.turn.link));
	} else {
		FUZZ_ASSERT(slot == -EAGAIN && a.s.free == free && !list_empty(&a.turn.link));
		if (in)
			return;
		/* It stands at the end. */
		FUZZ_ASSERT(a.turn.link.next == &a.s.waiters[RXC_SLOT_BULK]);
		a.turn_at = a.depth;
		a.slept++;
		return;
	}
	FUZZ_ASSERT((u32)slot < a.s.max && !test_bit(slot, a.taken));
	__set_bit(slot, a.taken);
	if (held >= 0 || kind == RXC_SLOT_BULK)
		__set_bit(slot, a.bulk);
}

/* It does not want one any more. */
static void turn_end(void)
{
	struct line before[RXC_SLOT_KINDS];
	u32 free = a.s.free, bulk = a.s.bulk;
	int held = a.turn.slot;
	bool counts = held >= 0 && held < a.s.nr;

	lines_get(before);
	rxc_slots_end_turn(&a.s, &a.turn);
	FUZZ_ASSERT(a.turn.slot < 0 && list_empty(&a.turn.link));
	if (held >= 0)
		check_grants(before, free + counts, bulk - counts, a.s.nr);
	else
		FUZZ_ASSERT(a.s.free == free && a.s.bulk == bulk);
}

static void dismiss_all(void)
{
	u32 dismissals = rxc_slots_dismissals(&a.s), free = a.s.free;
	enum rxc_slot_kind k;

	rxc_slots_dismiss_all(&a.s);
	FUZZ_ASSERT(rxc_slots_dismissals(&a.s) == dismissals + 1 && a.s.free == free);
	for (k = RXC_SLOT_EVENT; k < RXC_SLOT_KINDS; k++)
		FUZZ_ASSERT(!waiters(k));
}

static const enum rxc_slot_kind kinds[] = {
	RXC_SLOT_NORMAL, RXC_SLOT_URGENT, RXC_SLOT_EVENT, RXC_SLOT_BULK
};

/* One step of the input.  False: the innermost caller that waits is killed. */
static bool step(void)
{
	u8 what = fuzz_u8(&a.f);

	switch (what & 7) {
	case 0:
	case 1:
	case 2:
		take(kinds[what >> 3 & 3], what & 0x20, (what & 0xc0) == 0xc0);
		break;
	case 3:
	case 4:
		put(fuzz_u8(&a.f));
		break;
	case 5:
		if (what & 8)
			spread(fuzz_u8(&a.f) % a.s.max + 1,
			       fuzz_u8(&a.f) % RDMAFS_XPRT_CONNS_MAX + 1);
		else
			dismiss_all();
		break;
	case 6:
		return false;
	default:
		if (what == 0xff)
			rxc_slots_shutdown(&a.s, -ENOTCONN);
		else if (what & 8)
			turn_take(what & 0x10 ? RXC_SLOT_NORMAL : RXC_SLOT_BULK);
		else
			turn_end();
	}
	check();
	return true;
}

/*
 * The shim's wait_for_completion_killable(): a caller of rxc_slots_get_since() waits.  The steps
 * of the input go on inside.
 */
int shim_wait_killable(struct completion *c)
{
	struct line now;
	bool killed;
	u8 more;

	/* The caller must stand at the end of its line, and the line be unchanged otherwise. */
	line_get(a.kind, &now);
	FUZZ_ASSERT(now.nr == a.before.nr + 1);
	FUZZ_ASSERT(!memcmp(now.who, a.before.who, a.before.nr * sizeof(now.who[0])));
	a.entry[a.depth] = now.who[now.nr - 1];
	a.waiting[a.depth++] = c;
	a.slept++;
	while (!c->done && a.f.left && step())
		;
	/*
	 * If the caller was killed, let other steps come before it takes the lock: one of them
	 * may grant it a slot.
	 */
	killed = !c->done;
	for (more = killed ? fuzz_u8(&a.f) & 3 : 0; more; more--)
		step();
	a.depth--;
	if (a.turn_at > a.depth)
		a.turn_at = a.depth;
	a.killed = killed;
	return killed ? -ERESTARTSYS : 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u32 i;

	memset(&a, 0, sizeof(a));
	a.f = (struct fuzz){ .p = data, .left = size };
	FUZZ_ASSERT(!rxc_slots_init(&a.s, fuzz_u8(&a.f) + 1));
	rxc_slots_turn_init(&a.turn, turn_come);
	spread(a.s.max, fuzz_u8(&a.f) % RDMAFS_XPRT_CONNS_MAX + 1);
	while (a.f.left)
		step();
	turn_end();
	for (i = 0; i < a.s.max; i++)
		put(i);
	check();
	FUZZ_ASSERT(bitmap_weight(a.s.map, a.s.max) == a.s.max);
	rxc_slots_destroy(&a.s);
	fuzz_verdict(0);
	return 0;
}
