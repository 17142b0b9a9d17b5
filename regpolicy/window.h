/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Windows and what they are made from: demands that are forgotten, windows
 * that grow back.
 *
 * Pure: no locks, no clock; times are ns, handed in.
 */
#ifndef RDMAFS_REGPOLICY_WINDOW_H
#define RDMAFS_REGPOLICY_WINDOW_H

#include <linux/types.h>

/*
 * A demand is remembered for one to two of these.  Long beside the time
 * between two I/Os of a program that reads one block after the other, short
 * beside the two seconds in which another gets what it no longer uses.
 */
#define RPOL_DEMAND_NS		500000000ULL

/* A window grows by an eighth of the capacity this often: all of it in 0.8 s. */
#define RPOL_REGROW_NS		100000000ULL
#define RPOL_REGROW_PARTS	8

/**
 * struct rpol_peak - the largest value of late
 * @since: when the present half-window began
 * @cur:   largest value in it
 * @prev:  largest value in the one before
 */
struct rpol_peak {
	u64 since;
	u64 cur;
	u64 prev;
};

void rpol_peak_note(struct rpol_peak *p, u64 now, u64 before, u64 value);
u64 rpol_peak_read(struct rpol_peak *p, u64 now, u64 value);
u64 rpol_window_grown(u64 window, u64 capacity, u64 elapsed);

#endif
