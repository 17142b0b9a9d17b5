// SPDX-License-Identifier: GPL-2.0
/*
 * Estimate the time of one message, from the duration of small calls.  Pure computation.
 *
 * A call whose data is in its messages takes the time of two messages and the server's time,
 * which the REPLY tells.  Many things can make a call longer: other calls, other programs, other
 * clients of the server.  So short calls count most: a sample below the estimate lowers it by
 * half of the difference.  A sample above raises it only a little, just enough to follow a path
 * that has become slower.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include "transport/client/cost.h"

/* No device is faster than the minimum; a link slower than the maximum gains nothing anyway. */
#define RXC_MESSAGE_MIN	(NSEC_PER_USEC / 2)
#define RXC_MESSAGE_MAX	(10 * NSEC_PER_MSEC)

/* A sample raises the estimate by at most one part in this many. */
#define RXC_MESSAGE_RISE	64

/**
 * rxc_message_cost - update the estimate with one more call
 * @old:        the estimate so far, ns; 0: none
 * @call_ns:    time from CALL to REPLY on the client
 * @service_us: time from CALL to REPLY on the server, as the REPLY tells
 *
 * Context: any.
 *
 * Return: the new estimate, ns, not 0.
 */
u32 rxc_message_cost(u32 old, u64 call_ns, u32 service_us)
{
	u64 service_ns = (u64)service_us * NSEC_PER_USEC;
	u64 sample = call_ns > service_ns ? (call_ns - service_ns) / 2 : 0;

	sample = clamp_t(u64, sample, RXC_MESSAGE_MIN, RXC_MESSAGE_MAX);
	if (!old)
		return sample;
	if (sample < old)
		return old - (old - sample) / 2;
	return old + min_t(u64, sample - old, old / RXC_MESSAGE_RISE);
}
