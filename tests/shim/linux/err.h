/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_ERR_H
#define SHIM_ERR_H

#include <errno.h>
#include <linux/kernel.h>

static inline void *ERR_PTR(long error)
{
	return (void *)error;
}

static inline bool IS_ERR(const void *p)
{
	return (unsigned long)p >= (unsigned long)-4095;
}

#endif
