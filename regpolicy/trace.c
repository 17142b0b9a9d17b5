// SPDX-License-Identifier: GPL-2.0
/* Definitions of the policy's tracepoints. */
#define CREATE_TRACE_POINTS
#include "regpolicy/trace.h"
