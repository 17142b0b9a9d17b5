// SPDX-License-Identifier: GPL-2.0
/*
 * The arithmetic of window.h.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include "regpolicy/regpolicy.h"
#include "regpolicy/window.h"

/**
 * rpol_peak_note - record a change of a value
 * @p: the value's peak
 * @now: time in ns; if it is before the present half-window, it counts as the time when
 *	 this began: two processors may take a lock in another order than they have read
 *	 the clock
 * @before: the value until now
 * @value: the value from now on
 *
 * Context: any; the caller keeps @p from changing.
 */
void rpol_peak_note(struct rpol_peak *p, u64 now, u64 before, u64 value)
{
	u64 age = now > p->since ? now - p->since : 0;

	if (age >= 2 * RPOL_DEMAND_NS) {
		/* No change in the whole of a half-window: the value was @before all the time. */
		p->prev = before;
		p->cur = before;
		p->since = now;
	} else if (age >= RPOL_DEMAND_NS) {
		p->prev = p->cur;
		p->cur = before;
		p->since += RPOL_DEMAND_NS;
	}
	if (value > p->cur)
		p->cur = value;
}

/**
 * rpol_peak_read - find the largest value in the last one to two half-windows
 * @p: the peak, which is brought up to date
 * @now: time in ns, as for rpol_peak_note()
 * @value: the value now
 *
 * Context: any; the caller keeps @p from changing.
 * Return: the largest value.
 */
u64 rpol_peak_read(struct rpol_peak *p, u64 now, u64 value)
{
	rpol_peak_note(p, now, value, value);
	return max(p->cur, p->prev);
}

/**
 * rpol_window_grown - compute how far a window has grown back since claims last waited
 * @window: the window as it was cut, in entries
 * @capacity: capacity of the domain
 * @elapsed: time since claims last waited, in ns
 *
 * Context: any.
 * Return: entries, or RPOL_NO_WINDOW if the window would be the capacity or more.
 */
u64 rpol_window_grown(u64 window, u64 capacity, u64 elapsed)
{
	u64 part = (capacity + RPOL_REGROW_PARTS - 1) / RPOL_REGROW_PARTS;
	/*
	 * In a small domain a step is the MR of a usual RPC.  The largest MR could be the
	 * whole capacity, and a claim for which a step is too small is served by the line.
	 */
	u64 step = max_t(u64, RPOL_CLASS_USUAL, part);
	u64 steps = div_u64(elapsed, RPOL_REGROW_NS);

	/* So many steps open any window; more of them could overflow. */
	window += step * min_t(u64, steps, RPOL_REGROW_PARTS);
	return window < capacity ? window : RPOL_NO_WINDOW;
}
