// SPDX-License-Identifier: GPL-2.0
/* Definitions of the tracepoints. */
#include "transport/internal.h"

#define CREATE_TRACE_POINTS
#include "transport/trace.h"
