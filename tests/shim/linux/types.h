/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_TYPES_H
#define SHIM_TYPES_H

#include <asm/byteorder.h>
#include <linux/kernel.h>

typedef uint8_t __u8;
typedef uint16_t __le16;
typedef uint32_t __le32;
typedef uint64_t __le64;

#ifndef __packed
#define __packed	__attribute__((packed))
#endif

#endif
