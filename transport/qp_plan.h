/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How large a send queue is to be, and what to ask for when that can't be had.  Pure.
 */
#ifndef RDMAFS_TRANSPORT_QP_PLAN_H
#define RDMAFS_TRANSPORT_QP_PLAN_H

#include <linux/types.h>

/* Entries of a work request that every device has; room for WRITEs is for these. */
#define RXP_SGE_MIN	4U

/**
 * struct rxp_qp_plan - a send queue to ask for
 * @sends: work requests
 * @sges:  entries of each
 * @last:  there is nothing smaller that would do
 */
struct rxp_qp_plan {
	u32 sends;
	u32 sges;
	bool last;
};

struct rxp_qp_plan rxp_qp_plan(u32 step, u32 carried, u32 entries, u32 sges, u32 wr_max);

#endif
