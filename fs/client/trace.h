/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of the client: its own states.  The tracepoints of RPCs are transport's.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdmafs_client

#if !defined(RDMAFS_CLIENT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RDMAFS_CLIENT_TRACE_H

#include <linux/fs.h>
#include <linux/tracepoint.h>
#include "coherence.h"

#define rdmafs_pages_names						\
	{ RDMAFS_PAGES_VALID,		"valid" },			\
	{ RDMAFS_PAGES_STALE,		"stale" },			\
	{ RDMAFS_PAGES_DROPPING,	"dropping" },			\
	{ RDMAFS_PAGES_DROPPING_AGAIN,	"dropping, again stale" }

/* The state of a file's cached pages changes. */
TRACE_EVENT(rdmafs_pages,
	TP_PROTO(const struct inode *inode, enum rdmafs_pages old, enum rdmafs_pages now),
	TP_ARGS(inode, old, now),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, ino)
		__field(unsigned int, old)
		__field(unsigned int, now)
	),
	TP_fast_assign(
		__entry->dev = inode->i_sb->s_dev;
		__entry->ino = inode->i_ino;
		__entry->old = old;
		__entry->now = now;
	),
	TP_printk("dev=%u:%u ino=%llu %s -> %s", MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->ino, __print_symbolic(__entry->old, rdmafs_pages_names),
		  __print_symbolic(__entry->now, rdmafs_pages_names))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH fs/client
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
