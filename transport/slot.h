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
	u32 nr;
	u32 free;
	unsigned long *map;	/* the free ones */
	unsigned long *of;	/* of each connection: its slots, free or not */
	u32 conns;
	u32 turn;		/* the connection that gives the next one */
	int error;		/* everyone is sent away with it */
	struct list_head waiters[RXP_SLOT_KINDS];
	u64 waits;
};

u32 rxp_slots_kept(u32 nr, enum rxp_slot_kind kind);
u32 rxp_slots_carried(u32 nr, u32 index, u32 conns);

int rxp_slots_init(struct rxp_slots *s, u32 nr);
void rxp_slots_destroy(struct rxp_slots *s);
int rxp_slots_get(struct rxp_slots *s, enum rxp_slot_kind kind, bool nowait);
void rxp_slots_spread(struct rxp_slots *s, u32 conns);
void rxp_slots_put(struct rxp_slots *s, u16 slot);
void rxp_slots_kick(struct rxp_slots *s);
void rxp_slots_shutdown(struct rxp_slots *s, int error);

#endif
