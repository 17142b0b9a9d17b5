// SPDX-License-Identifier: GPL-2.0
/* Definitions of the tracepoints. */
#include "transport/internal.h"

#define CREATE_TRACE_POINTS
#include "transport/trace.h"

/**
 * rxp_mr_trace - trace the change of an MR's state
 * @mr:    the MR, in its old state
 * @event: the event
 * @to:    its new state
 *
 * This is not in binding.c, as the KUnit suites that build their own copy of binding.c have no
 * tracepoints.
 *
 * Context: Any; the lock of @mr's pool held.
 */
void rxp_mr_trace(const struct rxp_mr *mr, enum rxp_mr_event event, enum rxp_mr_state to)
{
	trace_rdmafs_mr(mr->mr->rkey, mr->state, event, to);
}
