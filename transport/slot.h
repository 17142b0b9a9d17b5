/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The account of a session's slots: who may take one, and in which order.
 *
 * Three kinds of callers, so that no kind can starve what frees resources:
 * large writes may wait for the server's translations and leave the last
 * quarter (at least eight) and two more alone; everything else leaves two;
 * urgent calls (COMMIT, CLOSE and the like) may take the last one.  Within a
 * kind it is first come, first served.
 *
 * A slot's messages all travel on one of the session's connections: that of the
 * slot's number modulo the connections.  So calls are spread over connections
 * by whose slot they get: each connection has its turn, and gives its lowest
 * free one, whose buffer has been used last, most likely.
 *
 * A server may grant fewer slots than it did before.  Those above are retired: who has
 * one gives it back as ever, and nobody gets it until there are more again.
 */
#ifndef RDMAFS_TRANSPORT_SLOT_H
#define RDMAFS_TRANSPORT_SLOT_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

enum rxp_slot_kind {
	RXP_SLOT_URGENT,
	RXP_SLOT_NORMAL,
	RXP_SLOT_BULK,
	RXP_SLOT_KINDS
};

struct rxp_slots {
	spinlock_t lock;
	u32 max;		/* that there is room for */
	u32 nr;			/* of them, that the session has */
	u32 free;		/* of these */
	unsigned long *map;	/* the free ones, retired ones among them */
	unsigned long *of;	/* of each connection: its slots, free or not */
	u32 conns;
	u32 turn;		/* the connection that gives the next one */
	int error;		/* everyone is sent away with it */
	u32 kicks;		/* how often who waited was sent away, to come back */
	struct list_head waiters[RXP_SLOT_KINDS];
	u64 waits;
};

u32 rxp_slots_kept(u32 nr, enum rxp_slot_kind kind);
u32 rxp_slots_carried(u32 nr, u32 index, u32 conns);

int rxp_slots_init(struct rxp_slots *s, u32 nr);
void rxp_slots_destroy(struct rxp_slots *s);
u32 rxp_slots_kicks(const struct rxp_slots *s);
int rxp_slots_get(struct rxp_slots *s, enum rxp_slot_kind kind, bool nowait);
int rxp_slots_get_since(struct rxp_slots *s, enum rxp_slot_kind kind, bool nowait, u32 since);
void rxp_slots_spread(struct rxp_slots *s, u32 nr, u32 conns);
void rxp_slots_put(struct rxp_slots *s, u16 slot);
void rxp_slots_kick(struct rxp_slots *s);
void rxp_slots_shutdown(struct rxp_slots *s, int error);

#endif
