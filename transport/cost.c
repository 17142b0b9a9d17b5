// SPDX-License-Identifier: GPL-2.0
/*
 * What a message costs, from how long small calls take.  Pure.
 *
 * A call whose data is in its messages takes two of these and what the server does, of
 * which it says how long that was.  Much besides may take time: other calls, other
 * programs, the server's other clients.  So the shortest count: a sample below the
 * estimate pulls it down by half of the difference, one above raises it by little, and
 * all of that only makes up for a way that has become longer.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include "transport/cost.h"

/* No device takes less, and with a link that takes more nothing is gained anyway. */
#define RXP_MESSAGE_MIN	(NSEC_PER_USEC / 2)
#define RXP_MESSAGE_MAX	(10 * NSEC_PER_MSEC)

/* An estimate rises by one in so many at most with a sample. */
#define RXP_MESSAGE_RISE	64

/**
 * rxp_message_cost - take one more call into account
 * @old:	what was known of a message, ns; 0: nothing
 * @call_ns:	from CALL to REPLY, as the client sees it
 * @service_us: the same as the server says
 *
 * Return: what is known now, ns, not 0.
 */
u32 rxp_message_cost(u32 old, u64 call_ns, u32 service_us)
{
	u64 service_ns = (u64)service_us * NSEC_PER_USEC;
	u64 sample = call_ns > service_ns ? (call_ns - service_ns) / 2 : 0;

	sample = clamp_t(u64, sample, RXP_MESSAGE_MIN, RXP_MESSAGE_MAX);
	if (!old)
		return sample;
	if (sample < old)
		return old - (old - sample) / 2;
	return old + min_t(u64, sample - old, old / RXP_MESSAGE_RISE);
}
