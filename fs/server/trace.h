/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tracepoints of the server's file systems tell which opens clients may come back for, where
 * the names of open files are, and which clients' locks are recorded and waited for.  The
 * tracepoints of requests are transport's.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdmafs_server

#if !defined(RDMAFSD_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RDMAFSD_TRACE_H

#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/tracepoint.h>
#include <linux/unaligned.h>
#include "opened.h"
#include "record.h"

/* Not of the whole entry: a program that reads the format can't parse "(REC)->dev". */
#define rdmafsd_show_fs(dev)	MAJOR(dev), MINOR(dev)

/* TRACE_DEFINE_ENUM: a program that reads the format is told numbers instead of names. */
TRACE_DEFINE_ENUM(RDMAFSD_CLAIM_NEW);
TRACE_DEFINE_ENUM(RDMAFSD_CLAIM_OPEN);
TRACE_DEFINE_ENUM(RDMAFSD_CLAIM_AGAIN);
TRACE_DEFINE_ENUM(RDMAFSD_CLAIM_LEFT);
TRACE_DEFINE_ENUM(RDMAFSD_NAMED);
TRACE_DEFINE_ENUM(RDMAFSD_ORPHAN);
TRACE_DEFINE_ENUM(RDMAFSD_TMPFILE);
TRACE_DEFINE_ENUM(RDMAFSD_GONE);

#define rdmafsd_claim_states			\
	{ RDMAFSD_CLAIM_NEW,	"new" },	\
	{ RDMAFSD_CLAIM_OPEN,	"open" },	\
	{ RDMAFSD_CLAIM_AGAIN,	"again" },	\
	{ RDMAFSD_CLAIM_LEFT,	"left" }

#define rdmafsd_opened_names			\
	{ RDMAFSD_NAMED,	"named" },	\
	{ RDMAFSD_ORPHAN,	"orphan" },	\
	{ RDMAFSD_TMPFILE,	"tmpfile" },	\
	{ RDMAFSD_GONE,		"gone" }

/* The state of a claim changes: it has a file before and after. */
TRACE_EVENT(rdmafs_claim,
	TP_PROTO(const struct rdmafsd_export *exp, const struct rdmafsd_claim *claim,
		 enum rdmafsd_claim_state to),
	TP_ARGS(exp, claim, to),
	TP_STRUCT__entry(
		__field(u32, export)
		__field(u64, ino)
		__field(u64, claim)
		__field(unsigned int, from)
		__field(unsigned int, to)
	),
	TP_fast_assign(
		__entry->export = exp->p.id;
		__entry->ino = claim->of->inode->i_ino;
		__entry->claim = claim->id;
		__entry->from = claim->state;
		__entry->to = to;
	),
	TP_printk("export=%u ino=%llu claim=%016llx %s -> %s", __entry->export, __entry->ino,
		  __entry->claim, __print_symbolic(__entry->from, rdmafsd_claim_states),
		  __print_symbolic(__entry->to, rdmafsd_claim_states))
);

/* The name of an open file is somewhere else; each file begins as a named one, without an event. */
TRACE_EVENT(rdmafs_opened_name,
	TP_PROTO(const struct rdmafsd_export *exp, const struct rdmafsd_opened *of,
		 enum rdmafsd_opened_name to),
	TP_ARGS(exp, of, to),
	TP_STRUCT__entry(
		__field(u32, export)
		__field(u64, ino)
		__field(unsigned int, from)
		__field(unsigned int, to)
	),
	TP_fast_assign(
		__entry->export = exp->p.id;
		__entry->ino = of->inode->i_ino;
		__entry->from = of->name;
		__entry->to = to;
	),
	TP_printk("export=%u ino=%llu %s -> %s", __entry->export, __entry->ino,
		  __print_symbolic(__entry->from, rdmafsd_opened_names),
		  __print_symbolic(__entry->to, rdmafsd_opened_names))
);

/*
 * The grace period of a file system @begins, or waits for more clients; or it ends, also with the
 * last export there.
 */
TRACE_EVENT(rdmafs_grace,
	TP_PROTO(const struct super_block *sb, bool begins, unsigned int awaited),
	TP_ARGS(sb, begins, awaited),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(unsigned int, awaited)
		__field(bool, begins)
	),
	TP_fast_assign(
		__entry->dev = sb->s_dev;
		__entry->awaited = awaited;
		__entry->begins = begins;
	),
	TP_printk("fs=%u:%u awaited=%u %s", rdmafsd_show_fs(__entry->dev), __entry->awaited,
		  __entry->begins ? "begins" : "ends")
);

/* A record that a client has locks was written (@made), or was removed; or @err says why not. */
TRACE_EVENT(rdmafs_record,
	TP_PROTO(const struct rdmafsd_export *exp, const struct rdmafsd_record *r, bool made,
		 int err),
	TP_ARGS(exp, r, made, err),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u32, export)
		__field(u32, client)
		__field(u32, nr)
		__field(bool, made)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->dev = exp->path.mnt->mnt_sb->s_dev;
		__entry->export = r->export;
		__entry->client = get_unaligned_be32(r->client);
		__entry->nr = r->nr;
		__entry->made = made;
		__entry->err = err;
	),
	TP_printk("fs=%u:%u export=%u client=%08x record=%08x %s result=%d",
		  rdmafsd_show_fs(__entry->dev), __entry->export, __entry->client, __entry->nr,
		  __entry->made ? "write" : "remove", __entry->err)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH fs/server
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
