// SPDX-License-Identifier: GPL-2.0
/* This file makes the tracepoints of the client's half that trace.h declares. */
#define CREATE_TRACE_POINTS
#include "transport/client/trace.h"
