/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_KTIME_H
#define SHIM_KTIME_H

#include <time.h>
#include <linux/kernel.h>

static inline u64 ktime_get_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

#endif
