// SPDX-License-Identifier: GPL-2.0
/*
 * Selective polling: a caller that waits for one answer spins for a short time before it
 * sleeps.  That saves it a context switch if the answer takes less time, and if another CPU
 * handles the completion.
 *
 * Polling stops by itself where it does not pay: hits and misses move a score, and a mount
 * whose score is low polls only now and then, to see whether that has changed.  A task does not
 * spin while others are to run in its place.
 */
#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched.h>
#include "transport/client/client.h"
#include "transport/points.h"

/* Four hits make up for one miss, since a spin in vain takes longer than a good one. */
#define RXC_POLL_MAX	64
#define RXC_POLL_OFF	16
#define RXC_POLL_MISS	4
/* While the score is low, one wait in so many polls. */
#define RXC_POLL_REST	256

/*
 * Choose whether a wait polls, and count those that rest.  No lock: if tasks do this at once an
 * update may be lost, but the score is a guess anyway.
 */
static bool rxc_poll_choose(struct rdmafs_xprt *x)
{
	u32 rested;

	if (READ_ONCE(x->poll_score) >= RXC_POLL_OFF)
		return true;
	rested = READ_ONCE(x->poll_rested) + 1;
	WRITE_ONCE(x->poll_rested, rested);
	return rested % RXC_POLL_REST == 0;
}

static void rxc_poll_learn(struct rdmafs_xprt *x, bool hit)
{
	int score = READ_ONCE(x->poll_score);

	score += hit ? 1 : -RXC_POLL_MISS;
	WRITE_ONCE(x->poll_score, clamp(score, 0, RXC_POLL_MAX));
	if (hit)
		rxp_count(&x->stats, poll_hits);
	else
		rxp_count(&x->stats, poll_misses);
}

/**
 * rdmafs_xprt_poll - spin for a short time for an answer, before the caller sleeps for it
 * @x:    the session
 * @done: completed by the call's done()
 *
 * Does nothing unless the mount polls (poll_us) and polling has paid lately.
 *
 * Context: process; does not sleep.
 *
 * Return: whether @done is complete.
 */
bool rdmafs_xprt_poll(struct rdmafs_xprt *x, struct completion *done)
{
	u32 us = READ_ONCE(x->poll_us);
	bool hit = false;
	u64 end;

	/* A plugged call has not been posted: the task has to unplug or sleep first. */
	if (likely(!us) || current->plug || !rxc_poll_choose(x))
		return false;
	rdmafs_test_point("poll_look", 0);
	end = ktime_get_ns() + us * NSEC_PER_USEC;
	do {
		hit = completion_done(done);
		if (hit)
			break;
		cpu_relax();
	} while (!need_resched() && ktime_get_ns() < end);
	rxc_poll_learn(x, hit);
	return hit;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_poll);

/**
 * rdmafs_xprt_set_poll - change for how long a mount's callers poll
 * @x:  the session
 * @us: microseconds, 0 for never
 *
 * Context: any.
 */
void rdmafs_xprt_set_poll(struct rdmafs_xprt *x, u32 us)
{
	if (us == READ_ONCE(x->poll_us))
		return;
	WRITE_ONCE(x->poll_score, RXC_POLL_MAX / 2);
	WRITE_ONCE(x->poll_us, us);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_set_poll);
