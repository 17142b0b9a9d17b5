/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_REFCOUNT_H
#define SHIM_REFCOUNT_H

#include <linux/atomic.h>

typedef struct { int v; } refcount_t;

static inline void refcount_set(refcount_t *r, int n)
{
	r->v = n;
}

static inline void refcount_inc(refcount_t *r)
{
	r->v++;
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	return !--r->v;
}

#endif
