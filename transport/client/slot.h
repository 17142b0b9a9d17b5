/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The account of a session's slots: which caller may take one, and in which order.
 *
 * There are four kinds of callers, so that callers that may block never starve those that free
 * resources.  Large WRITEs may wait for the server's translations: they never have more than all
 * slots but a quarter (at least eight) and three.  Neither they nor other calls take the last three
 * slots, but for urgent ones (COMMIT, CLOSE and the like).  These may block, too, a COMMIT on its
 * disk, say: so they leave the last slot to the call that an EVENT asks for.  So what large WRITEs
 * may have depends on what they have themselves, and not on how busy the others are.
 *
 * A caller that waits because of an EVENT is served first, then urgent callers, all others in the
 * order in which they came; but large WRITEs that have all they may have let the others pass.  A
 * caller that must not sleep can stand in line, too (rxc_slots_get_turn()).
 *
 * All messages of a slot travel on one of the session's connections: that of the slot's number
 * modulo the number of connections.  So calls are spread over the connections by the slot that
 * they get: the connections take turns, and each gives its lowest free slot, whose buffer is
 * most likely the one used last.
 *
 * A server may allow fewer slots than before.  The slots above are then retired: a call that
 * has one gives it back as ever, and no call gets it until the server allows more again.
 */
#ifndef RDMAFS_TRANSPORT_SLOT_H
#define RDMAFS_TRANSPORT_SLOT_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/* The slot that only a caller may take who was asked for it by an EVENT. */
#define RXC_SLOTS_EVENT		1U

/* Slots that only he and urgent callers may take. */
#define RXC_SLOTS_URGENT	(2U + RXC_SLOTS_EVENT)

/**
 * enum rxc_slot_kind - kinds of callers, the most urgent first
 * @RXC_SLOT_EVENT:  asks what the server has to tell; may take the last slot
 * @RXC_SLOT_URGENT: frees resources of the server; leaves RXC_SLOTS_EVENT slots
 * @RXC_SLOT_NORMAL: leaves RXC_SLOTS_URGENT slots
 * @RXC_SLOT_BULK:   may wait for the server's translations; as NORMAL, but of all that are BULK no
 *		     more than rxc_slots_bulk_max() have a slot
 * @RXC_SLOT_KINDS:  number of kinds
 */
enum rxc_slot_kind {
	RXC_SLOT_EVENT,
	RXC_SLOT_URGENT,
	RXC_SLOT_NORMAL,
	RXC_SLOT_BULK,
	RXC_SLOT_KINDS
};

/**
 * struct rxc_slot_waiter - a caller that waits for a slot
 * @link:    in the line of its kind, or empty
 * @kind:    its kind
 * @arrival: the number of waiters until it came, itself among them
 * @done:    it has left the line; unless there is @come
 * @come:    tells a caller that does not sleep that it has left the line; the account's lock is
 *	     held
 * @slot:    what it has then: a slot, or a negative errno
 *
 * The account's lock guards what is not constant.  On the stack of the task that sleeps, or, with
 * @come, in a struct that outlives the place in line.
 */
struct rxc_slot_waiter {
	struct list_head link;
	enum rxc_slot_kind kind;
	u64 arrival;
	struct completion done;
	void (*come)(struct rxc_slot_waiter *w);
	int slot;
};

/**
 * struct rxc_slots - which slots of a session are free
 * @lock:    guards what is not constant; inner to rdmafs_xprt.lock
 * @max:     number of slots that there is room for; constant
 * @nr:      number of these that the session has; those above are retired.  rxc_slots_spread() sets
 *	     it while the session is not UP, so it is also read without the lock
 * @free:    number of these that are free
 * @bulk:    number of these that BULK callers have
 * @map:     a bit for each slot that is free, retired ones among them
 * @bulk_map: a bit for each slot that a BULK caller has, likewise
 * @of:      for each connection a bitmap of its slots, free or not
 * @conns:   number of connections
 * @turn:    the connection that gives the next slot
 * @error:   if not 0, all callers are dismissed with it
 * @dismissals: how often the waiters were dismissed, to come back; also read without the lock
 * @waiters: by kind, the first to come first
 * @waits:   how often a caller had to wait
 */
struct rxc_slots {
	spinlock_t lock;	/* all of this */
	u32 max;
	u32 nr;
	u32 free;
	u32 bulk;
	unsigned long *map;
	unsigned long *bulk_map;
	unsigned long *of;
	u32 conns;
	u32 turn;
	int error;
	u32 dismissals;
	struct list_head waiters[RXC_SLOT_KINDS];
	u64 waits;
};

u32 rxc_slots_bulk_max(u32 nr);

int rxc_slots_init(struct rxc_slots *s, u32 nr);
void rxc_slots_destroy(struct rxc_slots *s);
u32 rxc_slots_dismissals(const struct rxc_slots *s);
int rxc_slots_get_since(struct rxc_slots *s, enum rxc_slot_kind kind, bool nowait, u32 since);
void rxc_slots_spread(struct rxc_slots *s, u32 nr, u32 conns);
void rxc_slots_put(struct rxc_slots *s, u16 slot);
void rxc_slots_turn_init(struct rxc_slot_waiter *turn, void (*come)(struct rxc_slot_waiter *turn));
int rxc_slots_get_turn(struct rxc_slots *s, enum rxc_slot_kind kind, struct rxc_slot_waiter *turn);
void rxc_slots_end_turn(struct rxc_slots *s, struct rxc_slot_waiter *turn);
void rxc_slots_dismiss_all(struct rxc_slots *s);
void rxc_slots_shutdown(struct rxc_slots *s, int error);

#endif
