// SPDX-License-Identifier: GPL-2.0
/*
 * The tracepoints' definitions.
 */
#include "transport/internal.h"

#define CREATE_TRACE_POINTS
#include "transport/trace.h"

/**
 * rxp_mr_trace - an MR's state changes
 * @mr:	   the MR, in its old state
 * @event: what came
 * @to:	   its new state
 *
 * Here, since the suites that bring their own copy of binding.c have no tracepoints.
 */
void rxp_mr_trace(const struct rxp_mr *mr, enum rxp_mr_event event, enum rxp_mr_state to)
{
	trace_rdmafs_mr(mr->mr->rkey, mr->state, event, to);
}
