// SPDX-License-Identifier: GPL-2.0
/*
 * Give slots to calls, by the rules that slot.h has.  A freed slot goes straight to the first
 * waiter that may have it, so no later caller can take it first.
 */
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "transport/client/slot.h"
#include "transport/xprt.h"

struct rxc_slot_waiter {
	struct list_head link;
	struct completion done;
	int slot;
};

/**
 * rxc_slots_kept - tell how many free slots a kind of caller must leave alone
 * @nr:   slots of the session
 * @kind: of the caller
 *
 * Context: any; pure.
 *
 * Return: number of slots.
 */
u32 rxc_slots_kept(u32 nr, enum rxc_slot_kind kind)
{
	switch (kind) {
	case RXC_SLOT_URGENT:
		return 0;
	case RXC_SLOT_NORMAL:
		return 2;
	default:
		return max_t(u32, 8, nr / 4) + 2;
	}
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
	s->of = kcalloc(RDMAFS_XPRT_CONNS_MAX, BITS_TO_LONGS(nr) * sizeof(long), GFP_KERNEL);
	if (!s->map || !s->of)
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
	kfree(s->of);
	s->map = NULL;
	s->of = NULL;
}

static unsigned long *rxc_slots_of(const struct rxc_slots *s, u32 conn)
{
	return s->of + conn * BITS_TO_LONGS(s->max);
}

/* Take a free slot; there is at least one. */
static int rxc_slots_take(struct rxc_slots *s)
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
	return slot;
}

/* Hand free slots to waiters, the more urgent kinds first. */
static void rxc_slots_hand_out(struct rxc_slots *s)
{
	enum rxc_slot_kind k;

	lockdep_assert_held(&s->lock);
	for (k = RXC_SLOT_URGENT; k < RXC_SLOT_KINDS; k++) {
		while (s->free > rxc_slots_kept(s->nr, k) && !list_empty(&s->waiters[k])) {
			struct rxc_slot_waiter *w;

			w = list_first_entry(&s->waiters[k], struct rxc_slot_waiter, link);
			list_del_init(&w->link);
			w->slot = rxc_slots_take(s);
			complete(&w->done);
		}
	}
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
	struct rxc_slot_waiter w = { .slot = -EINTR };
	int ret;

	spin_lock_bh(&s->lock);
	if (s->error) {
		ret = s->error;
	} else if (s->free > rxc_slots_kept(s->nr, kind) && list_empty(&s->waiters[kind])) {
		ret = rxc_slots_take(s);
	} else if (nowait || s->dismissals != since) {
		ret = -EAGAIN;
	} else {
		init_completion(&w.done);
		list_add_tail(&w.link, &s->waiters[kind]);
		s->waits++;
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
	__set_bit(slot, s->map);
	if (slot < s->nr)
		s->free++;
	rxc_slots_hand_out(s);
	spin_unlock_bh(&s->lock);
}

/* Dismiss all waiters with @error, negative.  The lock is held. */
static void rxc_slots_dismiss_locked(struct rxc_slots *s, int error)
{
	enum rxc_slot_kind k;

	lockdep_assert_held(&s->lock);
	for (k = RXC_SLOT_URGENT; k < RXC_SLOT_KINDS; k++) {
		while (!list_empty(&s->waiters[k])) {
			struct rxc_slot_waiter *w;

			w = list_first_entry(&s->waiters[k], struct rxc_slot_waiter, link);
			list_del_init(&w->link);
			w->slot = error;
			complete(&w->done);
		}
	}
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
