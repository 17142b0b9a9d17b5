/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_SLAB_H
#define SHIM_SLAB_H

#include <string.h>
#include <linux/kernel.h>

#define GFP_KERNEL	0
#define __GFP_NOFAIL	0

/*
 * Memory of exactly that size, so that AddressSanitizer finds an access to the first byte behind
 * it.  If the size is a multiple of a cacheline, a struct of it may need this alignment.
 */
static inline void *kzalloc(size_t size, int gfp)
{
	void *p = size % 64 ? malloc(size) : aligned_alloc(64, size);

	(void)gfp;
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
