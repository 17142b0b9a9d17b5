/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of the kernel that regpolicy/ and the pure files of other directories need, for a user
 * program of one thread.  Locks never wait, no function sleeps, and the program provides the time.
 */
#ifndef SHIM_KERNEL_H
#define SHIM_KERNEL_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define U16_MAX			UINT16_MAX
#define U32_MAX			UINT32_MAX
#define U64_MAX			UINT64_MAX
#define S64_MAX			INT64_MAX
#define HZ			1000
#define NSEC_PER_USEC		1000L
#define NSEC_PER_MSEC		1000000L
#define NSEC_PER_SEC		1000000000L

#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, v)	((x) = (v))
#define container_of(p, type, member) \
	((type *)((char *)(p) - offsetof(type, member)))

#define min_t(type, a, b)	((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define max_t(type, a, b)	((type)(a) > (type)(b) ? (type)(a) : (type)(b))
#define min(a, b)		min_t(__auto_type_of(a, b), a, b)
#define max(a, b)		max_t(__auto_type_of(a, b), a, b)
#define __auto_type_of(a, b)	__typeof__((a) + (b))
#define min3(a, b, c)		min(min(a, b), c)
#define clamp(v, lo, hi)	min(max(v, lo), hi)
#define clamp_t(type, v, lo, hi) min_t(type, max_t(type, v, lo), hi)

#define check_mul_overflow(a, b, d)	__builtin_mul_overflow(a, b, d)
#define check_add_overflow(a, b, d)	__builtin_add_overflow(a, b, d)

#define EXPORT_SYMBOL_GPL(sym)	extern int shim_no_export
#define MODULE_LICENSE(s)	extern int shim_no_license
#define might_sleep_if(c)	((void)(c))
#define __acquires(l)
#define __releases(l)
#define ____cacheline_aligned_in_smp	__attribute__((aligned(64)))
#define WARN_ON_ONCE(c)		shim_warn(c, #c, __FILE__, __LINE__)

bool shim_warn(bool bad, const char *what, const char *file, int line);

static inline int fls64(u64 v)
{
	return v ? 64 - __builtin_clzll(v) : 0;
}

#endif
