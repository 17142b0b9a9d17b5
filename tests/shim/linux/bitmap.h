/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_BITMAP_H
#define SHIM_BITMAP_H

#include <string.h>
#include <linux/math.h>
#include <linux/slab.h>

#define BITS_PER_LONG		64
#define BITS_TO_LONGS(n)	DIV_ROUND_UP(n, BITS_PER_LONG)

static inline void __set_bit(u32 n, unsigned long *map)
{
	map[n / BITS_PER_LONG] |= 1UL << n % BITS_PER_LONG;
}

static inline void __clear_bit(u32 n, unsigned long *map)
{
	map[n / BITS_PER_LONG] &= ~(1UL << n % BITS_PER_LONG);
}

static inline bool test_bit(u32 n, const unsigned long *map)
{
	return map[n / BITS_PER_LONG] >> n % BITS_PER_LONG & 1;
}

static inline bool __test_and_clear_bit(u32 n, unsigned long *map)
{
	bool set = test_bit(n, map);

	__clear_bit(n, map);
	return set;
}

static inline unsigned long *bitmap_zalloc(u32 nr, int gfp)
{
	(void)gfp;
	return calloc(BITS_TO_LONGS(nr), sizeof(long));
}

static inline unsigned long *bitmap_alloc(u32 nr, int gfp)
{
	(void)gfp;
	return malloc(BITS_TO_LONGS(nr) * sizeof(long));
}

static inline void bitmap_free(unsigned long *map)
{
	free(map);
}

static inline void bitmap_zero(unsigned long *map, u32 nr)
{
	memset(map, 0, BITS_TO_LONGS(nr) * sizeof(long));
}

/* A mask of the bits of word @w that belong to a map of @nr bits. */
static inline unsigned long shim_bits(u32 w, u32 nr)
{
	u32 left = nr - w * BITS_PER_LONG;

	return left < BITS_PER_LONG ? (1UL << left) - 1 : ~0UL;
}

static inline void bitmap_fill(unsigned long *map, u32 nr)
{
	memset(map, 0xff, BITS_TO_LONGS(nr) * sizeof(long));
}

static inline u32 bitmap_weight(const unsigned long *map, u32 nr)
{
	u32 w, n = 0;

	for (w = 0; w < BITS_TO_LONGS(nr); w++)
		n += __builtin_popcountl(map[w] & shim_bits(w, nr));
	return n;
}

static inline u32 find_first_and_bit(const unsigned long *a, const unsigned long *b, u32 nr)
{
	unsigned long both;
	u32 w;

	for (w = 0; w < BITS_TO_LONGS(nr); w++) {
		both = a[w] & b[w] & shim_bits(w, nr);
		if (both)
			return w * BITS_PER_LONG + __builtin_ctzl(both);
	}
	return nr;
}

#endif
