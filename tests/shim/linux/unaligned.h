/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_UNALIGNED_H
#define SHIM_UNALIGNED_H

#include <string.h>
#include <linux/types.h>

static inline u16 get_unaligned_le16(const void *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return le16_to_cpu(v);
}

static inline void put_unaligned_le16(u16 v, void *p)
{
	v = cpu_to_le16(v);
	memcpy(p, &v, sizeof(v));
}

#endif
