// SPDX-License-Identifier: GPL-2.0
/* Definitions of the server's tracepoints. */
#define CREATE_TRACE_POINTS
#include "transport/server/trace.h"
