// SPDX-License-Identifier: GPL-2.0
/*
 * The tracepoints' definitions.
 */
#include <linux/types.h>

#define CREATE_TRACE_POINTS
#include "transport/trace.h"
