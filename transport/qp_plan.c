// SPDX-License-Identifier: GPL-2.0
/*
 * Send queues, from what would be best to what will just do.  Pure: qp.c asks.
 */
#include <linux/math.h>
#include <linux/minmax.h>
#include "transport/qp_plan.h"

/* Work requests of a chain beside its RDMA WRITEs, at most: REG_MR and SEND. */
#define RXP_CHAIN_EXTRA	2U

/* Work requests of a queue, at best and just so: in a shorter one all wait for each other. */
#define RXP_SENDS_GOOD	128U
#define RXP_SENDS_LEAST	64U

static u32 rxp_qp_chain(u32 entries, u32 sges)
{
	return DIV_ROUND_UP(entries, sges) + RXP_CHAIN_EXTRA;
}

/*
 * Work requests of a queue that a longest chain always finds room in, in the end: up to
 * a quarter may be quiet chains, whose room comes back only with that of others.
 */
static u32 rxp_qp_least(u32 chain)
{
	return max(DIV_ROUND_UP(4 * chain, 3) + 1, RXP_SENDS_LEAST);
}

/**
 * rxp_qp_plan - the send queue to ask for
 * @step:    of those before it the device had no room
 * @carried: slots that travel on the connection
 * @entries: pieces of data in one RPC, at most
 * @sges:    entries of a work request, at most, RXP_SGE_MIN or more
 * @wr_max:  work requests of a queue, at most, one being for the drain
 *
 * At best there is room for every slot's usual chain, and twice for the longest; others
 * wait for their turn.  Each step has half as many entries, down to what every device
 * has, as long as a longest chain fits beside quiet ones; then half as many work
 * requests, down to that.
 *
 * Return: it.
 */
struct rxp_qp_plan rxp_qp_plan(u32 step, u32 carried, u32 entries, u32 sges, u32 wr_max)
{
	struct rxp_qp_plan plan = { .sges = sges };
	u32 chain = rxp_qp_chain(entries, sges), least, fewer;
	bool fewest;

	for (;;) {
		fewer = max(plan.sges / 2, RXP_SGE_MIN);
		fewest = fewer >= plan.sges ||
			 rxp_qp_least(rxp_qp_chain(entries, fewer)) >= wr_max;
		if (fewest || !step)
			break;
		plan.sges = fewer;
		chain = rxp_qp_chain(entries, fewer);
		step--;
	}
	least = rxp_qp_least(chain);
	plan.sends = min(max3(4 * carried, RXP_SENDS_GOOD, 2 * chain), wr_max - 1);
	for (; step && plan.sends > least; step--)
		plan.sends = max(plan.sends / 2, least);
	plan.last = fewest && plan.sends <= least;
	return plan;
}
