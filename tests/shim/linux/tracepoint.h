/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints without a kernel: trace_NAME() is an empty function, and NAME is never enabled. */
#ifndef SHIM_TRACEPOINT_H
#define SHIM_TRACEPOINT_H

#include <linux/kernel.h>

#define TRACE_DEFINE_ENUM(name)
#define TP_PROTO(args...)	args
#define TRACE_EVENT(name, proto, args, fields, assign, print)		\
	static inline void trace_##name(proto) { }			\
	static inline bool trace_##name##_enabled(void) { return false; }

#endif
