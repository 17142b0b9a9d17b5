// SPDX-License-Identifier: GPL-2.0
/* Definitions of the client's tracepoints. */
#define CREATE_TRACE_POINTS
#include "transport/client/trace.h"
