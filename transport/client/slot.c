// SPDX-License-Identifier: GPL-2.0
/*
 * Give slots to calls, by the rules that slot.h has.  A freed slot goes straight to the first
 * waiter that may have it, so no later caller can take it first: a slot that waiters may have is
 * never left free.
 */
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "transport/client/slot.h"
#include "transport/xprt.h"

/**
 * rxc_slots_bulk_max - tell how many slots large WRITEs may have at a time
 * @nr: slots of the session
 *
 * Context: any; pure.
 *
 * Return: number of slots.
 */
u32 rxc_slots_bulk_max(u32 nr)
{
	return nr - min(nr, max_t(u32, 8, nr / 4) + RXC_SLOTS_URGENT);
}

/**
 * rxc_slots_init - make an account of free slots, all of one connection
 * @s:  to fill in
 * @nr: slots, of which there never are more
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM; rxc_slots_destroy() undoes either.
 */
int rxc_slots_init(struct rxc_slots *s, u32 nr)
{
	u32 i;

	spin_lock_init(&s->lock);
	for (i = 0; i < RXC_SLOT_KINDS; i++)
		INIT_LIST_HEAD(&s->waiters[i]);
	s->map = bitmap_alloc(nr, GFP_KERNEL);
	s->bulk_map = bitmap_zalloc(nr, GFP_KERNEL);
	s->of = kcalloc(RDMAFS_XPRT_CONNS_MAX, BITS_TO_LONGS(nr) * sizeof(long), GFP_KERNEL);
	if (!s->map || !s->bulk_map || !s->of)
		return -ENOMEM;
	s->max = nr;
	bitmap_fill(s->map, nr);
	rxc_slots_spread(s, nr, 1);
	return 0;
}

/**
 * rxc_slots_destroy - free an account that is not in use any more
 * @s: the account
 *
 * Context: process.
 */
void rxc_slots_destroy(struct rxc_slots *s)
{
	bitmap_free(s->map);
	bitmap_free(s->bulk_map);
	kfree(s->of);
	s->map = NULL;
	s->bulk_map = NULL;
	s->of = NULL;
}

static unsigned long *rxc_slots_of(const struct rxc_slots *s, u32 conn)
{
	return s->of + conn * BITS_TO_LONGS(s->max);
}

/* May a caller of this kind have a slot, as far as those go that have one? */
static bool rxc_slots_allow(const struct rxc_slots *s, enum rxc_slot_kind kind)
{
	lockdep_assert_held(&s->lock);
	switch (kind) {
	case RXC_SLOT_EVENT:
		return s->free;
	case RXC_SLOT_URGENT:
		return s->free > RXC_SLOTS_EVENT;
	case RXC_SLOT_NORMAL:
		return s->free > RXC_SLOTS_URGENT;
	default:
		return s->free > RXC_SLOTS_URGENT && s->bulk < rxc_slots_bulk_max(s->nr);
	}
}

/* Take a free slot; there is at least one. */
static int rxc_slots_take(struct rxc_slots *s, enum rxc_slot_kind kind)
{
	u32 slot;

	lockdep_assert_held(&s->lock);
	do {
		slot = find_first_and_bit(s->map, rxc_slots_of(s, s->turn), s->nr);
		if (++s->turn == s->conns)
			s->turn = 0;
	} while (slot >= s->nr);
	__clear_bit(slot, s->map);
	s->free--;
	if (kind == RXC_SLOT_BULK) {
		__set_bit(slot, s->bulk_map);
		s->bulk++;
	}
	return slot;
}

/* The waiter that a slot goes to now; NULL if none may have one. */
static struct rxc_slot_waiter *rxc_slots_next(struct rxc_slots *s)
{
	struct rxc_slot_waiter *w, *next = NULL;
	enum rxc_slot_kind k;

	lockdep_assert_held(&s->lock);
	for (k = RXC_SLOT_EVENT; k < RXC_SLOT_KINDS; k++) {
		w = list_first_entry_or_null(&s->waiters[k], struct rxc_slot_waiter, link);
		if (!w || !rxc_slots_allow(s, k))
			continue;
		if (k <= RXC_SLOT_URGENT)
			return w;
		if (!next || w->arrival < next->arrival)
			next = w;
	}
	return next;
}

static void rxc_slots_join(struct rxc_slots *s, struct rxc_slot_waiter *w)
{
	lockdep_assert_held(&s->lock);
	list_add_tail(&w->link, &s->waiters[w->kind]);
	w->arrival = ++s->waits;
}

/* A waiter gets @slot, or the error that this is. */
static void rxc_slot_waiter_finish(struct rxc_slot_waiter *w, int slot)
{
	list_del_init(&w->link);
	WRITE_ONCE(w->slot, slot);
	if (w->come)
		w->come(w);
	else
		complete(&w->done);
}

/* Hand free slots to waiters. */
static void rxc_slots_hand_out(struct rxc_slots *s)
{
	struct rxc_slot_waiter *w;

	lockdep_assert_held(&s->lock);
	while ((w = rxc_slots_next(s)))
		rxc_slot_waiter_finish(w, rxc_slots_take(s, w->kind));
}

/**
 * rxc_slots_spread - set how many slots there are, and over how many connections they go
 * @s:     the account
 * @nr:    slots, at most those that it was made with
 * @conns: connections, 1..RDMAFS_XPRT_CONNS_MAX
 *
 * Slots that are taken stay so.  Waiters get those that are free now.
 *
 * Context: any but hard interrupt.
 */
void rxc_slots_spread(struct rxc_slots *s, u32 nr, u32 conns)
{
	u32 i;

	spin_lock_bh(&s->lock);
	s->nr = nr;
	s->free = bitmap_weight(s->map, nr);
	s->bulk = bitmap_weight(s->bulk_map, nr);
	s->conns = conns;
	s->turn = 0;
	for (i = 0; i < conns; i++)
		bitmap_zero(rxc_slots_of(s, i), s->max);
	for (i = 0; i < nr; i++)
		__set_bit(i, rxc_slots_of(s, i % conns));
	rxc_slots_hand_out(s);
	spin_unlock_bh(&s->lock);
}

/**
 * rxc_slots_dismissals - read how often the waiters were dismissed
 * @s: the account
 *
 * Context: any.
 *
 * Return: a number for rxc_slots_get_since(), which may wrap.
 */
u32 rxc_slots_dismissals(const struct rxc_slots *s)
{
	return READ_ONCE(s->dismissals);
}

/**
 * rxc_slots_get_since - take a slot, but do not wait if waiters were dismissed since
 * @s:      the account
 * @kind:   of the caller
 * @nowait: fail rather than wait
 * @since:  rxc_slots_dismissals() from when the caller saw that it may wait
 *
 * Context: process; without @nowait sleeps, killably.
 *
 * Return: the slot; -EAGAIN: there is none (@nowait), or rxc_slots_dismiss_all() was called since;
 * -EINTR; or the error of rxc_slots_shutdown().
 */
int rxc_slots_get_since(struct rxc_slots *s, enum rxc_slot_kind kind, bool nowait, u32 since)
{
	struct rxc_slot_waiter w = { .kind = kind, .slot = -EINTR };
	int ret;

	spin_lock_bh(&s->lock);
	if (s->error) {
		ret = s->error;
	} else if (rxc_slots_allow(s, kind)) {
		/* Then none of the calls that wait may have it. */
		ret = rxc_slots_take(s, kind);
	} else if (nowait || s->dismissals != since) {
		ret = -EAGAIN;
	} else {
		init_completion(&w.done);
		rxc_slots_join(s, &w);
		spin_unlock_bh(&s->lock);
		ret = wait_for_completion_killable(&w.done);
		spin_lock_bh(&s->lock);
		/*
		 * If a slot was handed out at the time of the signal it is used; the call's owner
		 * sees the kill.
		 */
		list_del_init(&w.link);
		ret = w.slot;
	}
	spin_unlock_bh(&s->lock);
	return ret;
}

static void rxc_slots_put_locked(struct rxc_slots *s, u16 slot)
{
	bool bulk = __test_and_clear_bit(slot, s->bulk_map);

	lockdep_assert_held(&s->lock);
	__set_bit(slot, s->map);
	if (slot < s->nr) {
		s->free++;
		s->bulk -= bulk;
	}
	rxc_slots_hand_out(s);
}

/**
 * rxc_slots_put - give a slot back; the first waiter that may have one gets it
 * @s:    the account
 * @slot: the slot
 *
 * Context: any but hard interrupt.
 */
void rxc_slots_put(struct rxc_slots *s, u16 slot)
{
	spin_lock_bh(&s->lock);
	rxc_slots_put_locked(s, slot);
	spin_unlock_bh(&s->lock);
}

/**
 * rxc_slots_turn_init - begin without a place in line
 * @turn: to fill in; it is of kind BULK
 * @come: called when the turn has come, or was dismissed: then rxc_slots_get_turn() has an answer.
 *	With the account's lock held, so it may only have a worker call that
 *
 * Context: any.
 */
void rxc_slots_turn_init(struct rxc_slot_waiter *turn, void (*come)(struct rxc_slot_waiter *turn))
{
	INIT_LIST_HEAD(&turn->link);
	turn->kind = RXC_SLOT_BULK;
	turn->slot = -EAGAIN;
	turn->come = come;
}

/**
 * rxc_slots_get_turn - take a slot, or stand in line for one without sleeping
 * @s:    the account
 * @kind: of the caller
 * @turn: its place in line.  One caller at a time
 *
 * A caller that is in line keeps its place if it asks again.
 *
 * Context: any but hard interrupt.
 *
 * Return: the slot; -EAGAIN: turn->come() will be called; or the error of rxc_slots_shutdown().
 */
int rxc_slots_get_turn(struct rxc_slots *s, enum rxc_slot_kind kind, struct rxc_slot_waiter *turn)
{
	int ret = -EAGAIN;

	spin_lock_bh(&s->lock);
	if (s->error) {
		ret = s->error;
	} else if (turn->slot >= 0) {
		ret = turn->slot;
		WRITE_ONCE(turn->slot, -EAGAIN);
	} else if (rxc_slots_allow(s, kind)) {
		ret = rxc_slots_take(s, kind);
	} else if (list_empty(&turn->link)) {
		rxc_slots_join(s, turn);
	}
	spin_unlock_bh(&s->lock);
	return ret;
}

/**
 * rxc_slots_end_turn - leave the line, and give back the slot that the turn has brought
 * @s:    the account
 * @turn: the place in line; it may have been left already
 *
 * Context: any but hard interrupt.
 */
void rxc_slots_end_turn(struct rxc_slots *s, struct rxc_slot_waiter *turn)
{
	int slot;

	spin_lock_bh(&s->lock);
	list_del_init(&turn->link);
	slot = turn->slot;
	WRITE_ONCE(turn->slot, -EAGAIN);
	if (slot >= 0)
		rxc_slots_put_locked(s, slot);
	spin_unlock_bh(&s->lock);
}

/* Dismiss all waiters with @error, negative.  The lock is held. */
static void rxc_slots_dismiss_locked(struct rxc_slots *s, int error)
{
	struct rxc_slot_waiter *w, *tmp;
	enum rxc_slot_kind k;

	lockdep_assert_held(&s->lock);
	for (k = RXC_SLOT_EVENT; k < RXC_SLOT_KINDS; k++)
		list_for_each_entry_safe(w, tmp, &s->waiters[k], link)
			rxc_slot_waiter_finish(w, error);
}

/**
 * rxc_slots_dismiss_all - have all waiters give up what they hold of a device
 * @s: the account
 *
 * The waiters get -EAGAIN; they come back when there is a device again.
 *
 * Context: any but hard interrupt.
 */
void rxc_slots_dismiss_all(struct rxc_slots *s)
{
	spin_lock_bh(&s->lock);
	WRITE_ONCE(s->dismissals, s->dismissals + 1);
	rxc_slots_dismiss_locked(s, -EAGAIN);
	spin_unlock_bh(&s->lock);
}

/**
 * rxc_slots_shutdown - send all callers away, now and later
 * @s:     the account
 * @error: what they get, negative
 *
 * Context: any but hard interrupt.
 */
void rxc_slots_shutdown(struct rxc_slots *s, int error)
{
	spin_lock_bh(&s->lock);
	s->error = error;
	rxc_slots_dismiss_locked(s, error);
	spin_unlock_bh(&s->lock);
}
