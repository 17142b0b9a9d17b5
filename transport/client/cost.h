/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The estimate of what one message costs, which cost.c makes and io.c uses.  Pure.
 */
#ifndef RDMAFS_TRANSPORT_COST_H
#define RDMAFS_TRANSPORT_COST_H

#include <linux/types.h>

u32 rxc_message_cost(u32 old, u64 call_ns, u32 service_us);

#endif
