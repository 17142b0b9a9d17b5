/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_SLAB_H
#define SHIM_SLAB_H

#include <string.h>
#include <linux/kernel.h>

#define GFP_KERNEL	0

/* aligned_alloc() wants a multiple of what it aligns to. */
static inline void *kzalloc(size_t size, int gfp)
{
	void *p;

	(void)gfp;
	size = (size + 63) & ~(size_t)63;
	p = aligned_alloc(64, size);
	return p ? memset(p, 0, size) : NULL;
}

static inline void *kcalloc(size_t n, size_t size, int gfp)
{
	return kzalloc(n * size, gfp);
}

static inline void kfree(void *p)
{
	free(p);
}

#endif
