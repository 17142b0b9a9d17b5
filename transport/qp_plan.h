/* SPDX-License-Identifier: GPL-2.0 */
/* The size of a send queue, and what to ask for if the device refuses it.  Pure computation. */
#ifndef RDMAFS_TRANSPORT_QP_PLAN_H
#define RDMAFS_TRANSPORT_QP_PLAN_H

#include <linux/types.h>

/* Entries of a work request that every device has.  Buffers have room for WRITEs of this size. */
#define RXP_SGE_MIN	4U

/**
 * struct rxp_qp_plan - a send queue to ask for
 * @sends: work requests
 * @sges:  entries of each
 * @last:  no smaller queue would do
 */
struct rxp_qp_plan {
	u32 sends;
	u32 sges;
	bool last;
};

struct rxp_qp_plan rxp_qp_plan(u32 step, u32 carried, u32 entries, u32 sges, u32 wr_max);

#endif
