/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_ATOMIC_H
#define SHIM_ATOMIC_H

#include <linux/kernel.h>

/*
 * One thread would need no atomic operations.  They are kept because they take time in the kernel,
 * so that measured times mean something.
 */
typedef struct { int v; } atomic_t;
typedef struct { s64 v; } atomic64_t;

#define atomic_read(a)		__atomic_load_n(&(a)->v, __ATOMIC_RELAXED)
#define atomic_set(a, x)	__atomic_store_n(&(a)->v, x, __ATOMIC_RELAXED)
#define atomic64_read(a)	__atomic_load_n(&(a)->v, __ATOMIC_RELAXED)
#define atomic64_set(a, x)	__atomic_store_n(&(a)->v, x, __ATOMIC_RELAXED)
#define atomic64_add(x, a)	((void)__atomic_add_fetch(&(a)->v, x, __ATOMIC_SEQ_CST))
#define atomic64_sub(x, a)	((void)__atomic_sub_fetch(&(a)->v, x, __ATOMIC_SEQ_CST))
#define atomic64_try_cmpxchg(a, old, new) \
	__atomic_compare_exchange_n(&(a)->v, old, new, false, __ATOMIC_SEQ_CST, \
				    __ATOMIC_SEQ_CST)
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb()		__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_mb__before_atomic()	smp_mb()
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)

#endif
