/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_MATH64_H
#define SHIM_MATH64_H

#include <linux/kernel.h>

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (u64)((unsigned __int128)a * b >> shift);
}

#endif
