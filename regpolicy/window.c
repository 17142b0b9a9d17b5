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
 * rpol_peak_note - a value has changed
 * @p: its peak
 * @now: ns, not before any @now of @p
 * @before: what it was until now
 * @value: what it is
 */
void rpol_peak_note(struct rpol_peak *p, u64 now, u64 before, u64 value)
{
	u64 age = now - p->since;

	if (age >= 2 * RPOL_DEMAND_NS) {
		/* Nothing was noted in the whole of a half-window: it stayed @before. */
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
 * rpol_peak_read - the largest value in the last one to two half-windows
 * @p: the peak
 * @now: ns, not before any @now of @p
 * @value: what the value is
 *
 * Return: the peak.
 */
u64 rpol_peak_read(struct rpol_peak *p, u64 now, u64 value)
{
	rpol_peak_note(p, now, value, value);
	return max(p->cur, p->prev);
}

/**
 * rpol_window_grown - what has become of a window since nobody waits any more
 * @window: as it was cut
 * @capacity: of the domain
 * @elapsed: ns since then
 *
 * Return: entries, or RPOL_NO_WINDOW once it would be all there are.
 */
u64 rpol_window_grown(u64 window, u64 capacity, u64 elapsed)
{
	u64 part = (capacity + RPOL_REGROW_PARTS - 1) / RPOL_REGROW_PARTS;
	/*
	 * In a small domain, the MR of a usual RPC: that of the largest could be
	 * all there is, and who lacks a part of one is served by the line.
	 */
	u64 step = max_t(u64, RPOL_CLASS_USUAL, part);
	u64 steps = div_u64(elapsed, RPOL_REGROW_NS);

	/* More steps than parts are never needed, and never overflow. */
	window += step * min_t(u64, steps, RPOL_REGROW_PARTS);
	return window < capacity ? window : RPOL_NO_WINDOW;
}
