// SPDX-License-Identifier: GPL-2.0
/* This file makes the tracepoints that trace.h declares. */
#define CREATE_TRACE_POINTS
#include "trace.h"
