// SPDX-License-Identifier: GPL-2.0
/*
 * Plan send queues, from the best one to the smallest that will do.  Pure computation: qp.c asks
 * the device.
 */
#include <linux/math.h>
#include <linux/minmax.h>
#include "transport/qp_plan.h"

/* Work requests of a chain besides its RDMA WRITEs, at most: REG_MR and SEND. */
#define RXP_CHAIN_EXTRA	2U

/* Work requests of a queue: desired, and least; in a shorter one all chains wait for each other. */
#define RXP_SENDS_GOOD	128U
#define RXP_SENDS_LEAST	64U

static u32 rxp_qp_chain(u32 entries, u32 sges)
{
	return DIV_ROUND_UP(entries, sges) + RXP_CHAIN_EXTRA;
}

/*
 * Work requests of a queue in which the longest chain always finds room in the end: up to a
 * quarter of the queue may be quiet chains, whose room comes back only with that of other chains.
 */
static u32 rxp_qp_least(u32 chain)
{
	return max(DIV_ROUND_UP(4 * chain, 3) + 1, RXP_SENDS_LEAST);
}

/**
 * rxp_qp_plan - plan the send queue to ask for
 * @step:    how many queues the device has refused so far
 * @carried: slots that travel on the connection
 * @entries: pieces of data in one RPC, at most
 * @sges:    entries of a work request, at most; not below RXP_SGE_MIN
 * @wr_max:  work requests of a queue, at most; one of them is for the drain
 *
 * The best queue has room for the usual chain of each slot, and for two of the longest; more
 * chains have to wait.  Each step halves the entries of a work request, down to RXP_SGE_MIN, as
 * long as the longest chain fits beside quiet ones.  Further steps halve the number of work
 * requests, as long as that holds.
 *
 * Context: any.
 *
 * Return: the plan.
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
