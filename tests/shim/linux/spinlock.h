/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_SPINLOCK_H
#define SHIM_SPINLOCK_H

#include <linux/atomic.h>

typedef struct { int v; } spinlock_t;

#define spin_lock_init(l)	((l)->v = 0)

/* With one thread a lock is never waited for.  One that is taken twice or not held is a bug. */
static inline void spin_lock(spinlock_t *l)
{
	WARN_ON_ONCE(__atomic_exchange_n(&l->v, 1, __ATOMIC_ACQUIRE));
}

static inline void spin_unlock(spinlock_t *l)
{
	WARN_ON_ONCE(!l->v);
	__atomic_store_n(&l->v, 0, __ATOMIC_RELEASE);
}

#define lockdep_assert_held(l)	WARN_ON_ONCE(!(l)->v)
#define spin_lock_bh(l)		spin_lock(l)
#define spin_unlock_bh(l)	spin_unlock(l)

#endif
