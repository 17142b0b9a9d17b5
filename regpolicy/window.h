/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arithmetic of windows: the peak of a demand, which is forgotten after a while,
 * and the growth of a window that was cut.
 *
 * Pure: no locks, no clock; the caller passes times in ns.
 */
#ifndef RDMAFS_REGPOLICY_WINDOW_H
#define RDMAFS_REGPOLICY_WINDOW_H

#include <linux/types.h>

/*
 * A half-window: a demand is remembered for one to two of these.  This is much longer than
 * the time between two I/Os of a program that reads one block after the other, and
 * shorter than the two seconds within which another member gets what that program no
 * longer uses.
 */
#define RPOL_DEMAND_NS		500000000ULL

/* Each 0.1 s a window grows by an eighth of the capacity, so by all of it in 0.8 s. */
#define RPOL_REGROW_NS		100000000ULL
#define RPOL_REGROW_PARTS	8

/**
 * struct rpol_peak - the largest value in the last one to two half-windows
 * @since: when the present half-window began, in ns
 * @cur:   largest value in the present half-window
 * @prev:  largest value in the half-window before
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
