/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_STRING_H
#define SHIM_STRING_H

#include <string.h>

/* The first byte that is not @c, or NULL. */
static inline void *memchr_inv(const void *start, int c, size_t bytes)
{
	const unsigned char *p = start;

	for (; bytes; p++, bytes--)
		if (*p != (unsigned char)c)
			return (void *)p;
	return NULL;
}

#endif
