/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tracepoints of the client file system tell what it decides about what it has cached.  The
 * tracepoints of RPCs are transport's.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdmafs_client

#if !defined(RDMAFS_CLIENT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RDMAFS_CLIENT_TRACE_H

#include <linux/fs.h>
#include <linux/tracepoint.h>
#include "coherence.h"
#include "outcome.h"
#include "fs/proto/rdmafs_proto.h"

/* Not of the whole entry: a program that reads the format can't parse "(REC)->dev". */
#define rdmafs_show_dev(dev)	MAJOR(dev), MINOR(dev)

/* TRACE_DEFINE_ENUM: a program that reads the format is told numbers instead of names. */
TRACE_DEFINE_ENUM(RDMAFS_PAGES_VALID);
TRACE_DEFINE_ENUM(RDMAFS_PAGES_STALE);
TRACE_DEFINE_ENUM(RDMAFS_PAGES_DROPPING);
TRACE_DEFINE_ENUM(RDMAFS_PAGES_DROPPING_AGAIN);
TRACE_DEFINE_ENUM(RDMAFS_SIZE_KEEP);
TRACE_DEFINE_ENUM(RDMAFS_SIZE_GROW);
TRACE_DEFINE_ENUM(RDMAFS_SIZE_SET);

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
	TP_printk("dev=%u:%u ino=%llu %s -> %s", rdmafs_show_dev(__entry->dev),
		  __entry->ino, __print_symbolic(__entry->old, rdmafs_pages_names),
		  __print_symbolic(__entry->now, rdmafs_pages_names))
);

/*
 * The client's decisions about a file's pages or size, or about any object's attributes: a name
 * in enum rdmafs_cache, and what the trace says.
 */
#define rdmafs_cache_list(MORE, LAST)							\
	MORE(EXPIRED,	"attributes have expired: the server is asked")			\
	MORE(ASK,	"attributes are not enough: the server is asked")		\
	MORE(KEEP,	"pages are valid: those that are cached may be used")		\
	MORE(DROP,	"pages are stale: this task drops them")			\
	MORE(WAIT,	"pages are being dropped by another task: this one waits")	\
	MORE(BUSY,	"pages are stale, and stay: a mapping uses them")		\
	MORE(UNKNOWN,	"a change has had an unknown effect: pages and size are in doubt") \
	MORE(GROW,	"the server has more: size raised, pages stale")		\
	MORE(NO_GROW,	"the server has more: not believed, the last page is dirty")	\
	MORE(CACHED,	"write: into the page cache")					\
	MORE(SYNC,	"write: into the page cache, and through it (O_SYNC, O_DSYNC)")	\
	MORE(DIRECT,	"write: past the page cache (O_DIRECT)")			\
	MORE(APPEND,	"write: past the page cache (O_APPEND), to where the server says") \
	MORE(COPY,	"copy: the server does it, past the page cache")		\
	MORE(APART,	"write: the page has another dirty part, which is written back first") \
	MORE(NO_DIRECT,	"direct read: of kernel memory, so through the page cache")	\
	MORE(CLEAR,	"direct write: pages of its range are to be dropped before it")	\
	MORE(FLUSH,	"direct read: dirty pages from its start on are written back before it") \
	MORE(TAIL_KEEP,	"a hole behind the end: the last page may stay")		\
	MORE(TAIL_DROP,	"a hole behind the end: the last page was dropped")		\
	MORE(TAIL_ZERO,	"a hole behind the end: the last page is in use, and was cleared") \
	MORE(APPENDED,	"append: the server has put it here")				\
	MORE(EXTEND,	"the file is longer: the size here has been raised")		\
	LAST(NO_EXTEND,	"the file is longer: a page could not be dropped, size in doubt")

/* This header is read several times, and the enum may be there only once. */
#ifndef RDMAFS_CLIENT_TRACE_ENUM
#define RDMAFS_CLIENT_TRACE_ENUM
#define RDMAFS_CACHE_ENUM(name, text)	RDMAFS_CACHE_##name,

enum rdmafs_cache {
	rdmafs_cache_list(RDMAFS_CACHE_ENUM, RDMAFS_CACHE_ENUM)
};
#endif

#define rdmafs_cache_define(name, text)	TRACE_DEFINE_ENUM(RDMAFS_CACHE_##name);
rdmafs_cache_list(rdmafs_cache_define, rdmafs_cache_define)

#define rdmafs_cache_name(name, text)	{ RDMAFS_CACHE_##name, text },
#define rdmafs_cache_last(name, text)	{ RDMAFS_CACHE_##name, text }

/* @len is 0 where the decision is about the whole file, or about the page at @pos. */
TRACE_EVENT(rdmafs_cache,
	TP_PROTO(const struct inode *inode, enum rdmafs_cache did, loff_t pos, u64 len),
	TP_ARGS(inode, did, pos, len),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, ino)
		__field(s64, pos)
		__field(u64, len)
		__field(s64, size)
		__field(unsigned int, did)
	),
	TP_fast_assign(
		__entry->dev = inode->i_sb->s_dev;
		__entry->ino = inode->i_ino;
		__entry->pos = pos;
		__entry->len = len;
		/* Not i_size_read(): a softirq must not wait for a task that writes the size. */
		__entry->size = READ_ONCE(inode->i_size);
		__entry->did = did;
	),
	TP_printk("dev=%u:%u ino=%llu pos=%lld len=%llu size=%lld: %s",
		  rdmafs_show_dev(__entry->dev), __entry->ino, __entry->pos, __entry->len,
		  __entry->size,
		  __print_symbolic(__entry->did,
				   rdmafs_cache_list(rdmafs_cache_name, rdmafs_cache_last)))
);

/*
 * A verdict on attributes (coherence.c): of the reply to a change of ours, if @own; @attr is NULL
 * if no sound ones came with it.
 *
 * A new size that they allow is not always set.  Data that the server does not have yet is not
 * cut off, and a page of the end that is dirty keeps the size from being raised (NO_GROW).
 * Attributes of the reply to a write may be stashed first, and are given up if newer ones come.
 */
TRACE_EVENT(rdmafs_attrs,
	TP_PROTO(const struct inode *inode, bool own, const struct rfp_attr *attr,
		 const struct rdmafs_verdict *v),
	TP_ARGS(inode, own, attr, v),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, ino)
		__field(u64, change)
		__field(bool, own)
		__field(bool, use)
		__field(bool, believe)
		__field(bool, ask)
		__field(bool, changed)
		__field(unsigned int, size)
	),
	TP_fast_assign(
		__entry->dev = inode->i_sb->s_dev;
		__entry->ino = inode->i_ino;
		__entry->change = attr ? le64_to_cpu(attr->change) : 0;
		__entry->own = own;
		__entry->use = v->use;
		__entry->believe = v->believe;
		/*
		 * Attributes that come late with the reply to an own change are older than what
		 * is known.  They may tell of a foreign change all the same.
		 */
		__entry->ask = !v->believe && !(own && attr);
		__entry->changed = v->changed;
		__entry->size = v->size;
	),
	/* A program that reads the format misreads a ?: in a ?: that has no parentheses. */
	TP_printk("dev=%u:%u ino=%llu cookie=%llu %s: %s, %s, size %s%s",
		  rdmafs_show_dev(__entry->dev), __entry->ino, __entry->change,
		  __entry->own ? "own" : "asked for",
		  __entry->use ? "to be used" : "not used",
		  __entry->believe ? "believed" :
		  (__entry->ask ? "to be asked for again" : "older than what is known"),
		  __print_symbolic(__entry->size,
				   { RDMAFS_SIZE_KEEP, "stays" },
				   { RDMAFS_SIZE_GROW, "may be raised" },
				   { RDMAFS_SIZE_SET, "may be raised or lowered" }),
		  __entry->changed ? ", there was a foreign change" : "")
);

TRACE_DEFINE_ENUM(RDMAFS_OUTCOME_DONE);
TRACE_DEFINE_ENUM(RDMAFS_OUTCOME_AGAIN);
TRACE_DEFINE_ENUM(RDMAFS_OUTCOME_UNKNOWN);
TRACE_DEFINE_ENUM(RDMAFS_STANDS_NONE);
TRACE_DEFINE_ENUM(RDMAFS_STANDS_MEANT);
TRACE_DEFINE_ENUM(RDMAFS_STANDS_OTHER);

/* What a call whose answer was lost is taken for (outcome.c).  @nr is enum rfp_op. */
TRACE_EVENT(rdmafs_unanswered,
	TP_PROTO(const struct inode *inode, unsigned int nr, enum rdmafs_outcome outcome,
		 const struct rdmafs_shown *shown),
	TP_ARGS(inode, nr, outcome, shown),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, ino)
		__field(unsigned int, nr)
		__field(unsigned int, outcome)
		__field(unsigned int, name)
		__field(bool, same_dir)
		__field(bool, same_obj)
	),
	TP_fast_assign(
		__entry->dev = inode->i_sb->s_dev;
		__entry->ino = inode->i_ino;
		__entry->nr = nr;
		__entry->outcome = outcome;
		__entry->name = shown->name;
		__entry->same_dir = shown->same_dir;
		__entry->same_obj = shown->same_obj;
	),
	TP_printk("dev=%u:%u ino=%llu op=%u: %s; the name stands for %s, directory %s, object %s",
		  rdmafs_show_dev(__entry->dev), __entry->ino, __entry->nr,
		  __print_symbolic(__entry->outcome,
				   { RDMAFS_OUTCOME_DONE, "it was executed" },
				   { RDMAFS_OUTCOME_AGAIN, "it was not: once more" },
				   { RDMAFS_OUTCOME_UNKNOWN, "that is not known" }),
		  __print_symbolic(__entry->name,
				   { RDMAFS_STANDS_NONE, "nothing" },
				   { RDMAFS_STANDS_MEANT, "what was meant" },
				   { RDMAFS_STANDS_OTHER, "another object" }),
		  __entry->same_dir ? "as before" : "changed",
		  __entry->same_obj ? "as before" : "changed")
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH fs/client
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
