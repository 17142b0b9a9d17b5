/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of the policy: what it decides, for whom and why.
 *
 * A member is named by the first bytes of its session's id, as in the traces of transport, and by
 * its number in the domain: a mount and the server's side of its session may both be members.
 * Sizes are in entries, times in ns.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdmafs

#if !defined(RDMAFS_REGPOLICY_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RDMAFS_REGPOLICY_TRACE_H

#include <linux/tracepoint.h>
#include "regpolicy/domain.h"

/* A program that reads the format of an event is told numbers instead of these names. */
TRACE_DEFINE_ENUM(RPOL_WINDOW_SHARE);
TRACE_DEFINE_ENUM(RPOL_WINDOW_FIFO);
TRACE_DEFINE_ENUM(RPOL_WINDOW_CALM);
TRACE_DEFINE_ENUM(RPOL_REVOKE_OWN);
TRACE_DEFINE_ENUM(RPOL_REVOKE_MAX);
TRACE_DEFINE_ENUM(RPOL_REVOKE_OTHERS);
TRACE_DEFINE_ENUM(RPOL_REVOKE_EXCESS);
TRACE_DEFINE_ENUM(RPOL_REVOKE_LOW);
TRACE_DEFINE_ENUM(RPOL_REVOKE_AGE);
TRACE_DEFINE_ENUM(RPOL_REVOKE_ALL);
TRACE_DEFINE_ENUM(RPOL_MR_BOUND);
TRACE_DEFINE_ENUM(RPOL_MR_IDLE);
TRACE_DEFINE_ENUM(RPOL_MR_RECALLED);
TRACE_DEFINE_ENUM(RPOL_MR_OVERDUE);
TRACE_DEFINE_ENUM(RPOL_MR_VICTIM);
TRACE_DEFINE_ENUM(RPOL_LINE_NONE);
TRACE_DEFINE_ENUM(RPOL_LINE_OWED);
TRACE_DEFINE_ENUM(RPOL_LINE_REST);
TRACE_DEFINE_ENUM(RPOL_LINE_OWN);

/* A member's entitlement is about to change to @share. */
TRACE_EVENT(rdmafs_policy_share,
	TP_PROTO(const struct rpol_member *mem, u64 share),
	TP_ARGS(mem, share),
	TP_STRUCT__entry(
		__field(u32, session)
		__field(u32, member)
		__field(u64, old)
		__field(u64, now)
		__field(u64, demand)
	),
	TP_fast_assign(
		__entry->session = READ_ONCE(mem->label);
		__entry->member = mem->number;
		__entry->old = mem->share;
		__entry->now = share;
		__entry->demand = mem->claim.ceil >> RPOL_FRAC_BITS;
	),
	TP_printk("session=%08x member=%u entitled=%llu was=%llu demand=%llu", __entry->session,
		  __entry->member, __entry->now, __entry->old, __entry->demand)
);

/*
 * A member's window is about to change from @was to @window; -1: it is not bounded.  If it has
 * grown since it was cut (RPOL_WINDOW_CALM), @was is what it was cut to.
 */
TRACE_EVENT(rdmafs_policy_window,
	TP_PROTO(const struct rpol_member *mem, u64 was, u64 window, enum rpol_window_why why),
	TP_ARGS(mem, was, window, why),
	TP_STRUCT__entry(
		__field(u32, session)
		__field(u32, member)
		__field(s64, old)
		__field(s64, now)
		__field(u64, bound)
		__field(u32, why)
	),
	TP_fast_assign(
		__entry->session = READ_ONCE(mem->label);
		__entry->member = mem->number;
		__entry->old = was;
		__entry->now = window;
		__entry->bound = mem->bound;
		__entry->why = why;
	),
	TP_printk("session=%08x member=%u window=%lld was=%lld in_use=%llu why=%s",
		  __entry->session, __entry->member, __entry->now, __entry->old, __entry->bound,
		  __print_symbolic(__entry->why,
				   { RPOL_WINDOW_SHARE, "entitlement" },
				   { RPOL_WINDOW_FIFO, "fifo" },
				   { RPOL_WINDOW_CALM, "calm" }))
);

/* An idle MR has become a victim, or a lent one is recalled. */
TRACE_EVENT(rdmafs_policy_revoke,
	TP_PROTO(const struct rpol_member *mem, const struct rpol_mr *mr,
		 enum rpol_revoke_why why),
	TP_ARGS(mem, mr, why),
	TP_STRUCT__entry(
		__field(u32, session)
		__field(u32, member)
		__field(u32, entries)
		__field(u32, state)
		__field(u64, revoking)
		__field(u32, why)
	),
	TP_fast_assign(
		__entry->session = READ_ONCE(mem->label);
		__entry->member = mem->number;
		__entry->entries = mr->entries;
		__entry->state = mr->state;
		__entry->revoking = mem->revoking;
		__entry->why = why;
	),
	TP_printk("session=%08x member=%u entries=%u of=%s revoking=%llu why=%s",
		  __entry->session, __entry->member, __entry->entries,
		  __print_symbolic(__entry->state,
				   { RPOL_MR_VICTIM, "idle" },
				   { RPOL_MR_RECALLED, "lent" }),
		  __entry->revoking,
		  __print_symbolic(__entry->why,
				   { RPOL_REVOKE_OWN, "own_claim" },
				   { RPOL_REVOKE_MAX, "maximum" },
				   { RPOL_REVOKE_OTHERS, "others_wait" },
				   { RPOL_REVOKE_EXCESS, "over_capacity" },
				   { RPOL_REVOKE_LOW, "low_watermark" },
				   { RPOL_REVOKE_AGE, "idle_for_long" },
				   { RPOL_REVOKE_ALL, "owner_ends" }))
);

/*
 * A revocation ends, or is not counted on any more (overdue).  @asked is when the MR was called
 * back; of a victim that is not known, 0.
 */
TRACE_EVENT(rdmafs_policy_revoked,
	TP_PROTO(const struct rpol_member *mem, u32 entries, enum rpol_mr_state to, u64 asked,
		 u64 now),
	TP_ARGS(mem, entries, to, asked, now),
	TP_STRUCT__entry(
		__field(u32, session)
		__field(u32, member)
		__field(u32, entries)
		__field(u32, to)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->session = READ_ONCE(mem->label);
		__entry->member = mem->number;
		__entry->entries = entries;
		__entry->to = to;
		__entry->ns = asked && now > asked ? now - asked : 0;
	),
	TP_printk("session=%08x member=%u entries=%u end=%s ns=%llu", __entry->session,
		  __entry->member, __entry->entries,
		  __print_symbolic(__entry->to,
				   { RPOL_MR_BOUND, "regained" },
				   { RPOL_MR_IDLE, "returned" },
				   { RPOL_MR_OVERDUE, "overdue" },
				   { RPOL_MR_VICTIM, "destroyed" }),
		  __entry->ns)
);

#define rpol_show_line(line)				\
	__print_symbolic(line,				\
		{ RPOL_LINE_NONE, "own_maximum" },	\
		{ RPOL_LINE_OWED, "owed" },		\
		{ RPOL_LINE_REST, "rest" },		\
		{ RPOL_LINE_OWN, "out_of_turn" })

/* A claim begins to wait, in the line of its member. */
TRACE_EVENT(rdmafs_policy_wait,
	TP_PROTO(const struct rpol_waiter *w),
	TP_ARGS(w),
	TP_STRUCT__entry(
		__field(u32, session)
		__field(u32, member)
		__field(u32, entries)
		__field(u32, line)
		__field(u64, in_use)
		__field(u64, share)
		__field(u32, waiters)
	),
	TP_fast_assign(
		__entry->session = READ_ONCE(w->mem->label);
		__entry->member = w->mem->number;
		__entry->entries = w->entries;
		__entry->line = rpol_member_line(w->mem);
		__entry->in_use = READ_ONCE(w->mem->bound);
		__entry->share = w->mem->share;
		__entry->waiters = w->mem->dom->nr_waiters;
	),
	TP_printk("session=%08x member=%u entries=%u line=%s in_use=%llu entitled=%llu waiters=%u",
		  __entry->session, __entry->member, __entry->entries,
		  rpol_show_line(__entry->line), __entry->in_use, __entry->share,
		  __entry->waiters)
);

/* A wait has ended with @w->ret: 0, or the errno with which the claim is refused. */
TRACE_EVENT(rdmafs_policy_waited,
	TP_PROTO(const struct rpol_waiter *w, u64 now),
	TP_ARGS(w, now),
	TP_STRUCT__entry(
		__field(u32, session)
		__field(u32, member)
		__field(u32, entries)
		__field(int, ret)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->session = READ_ONCE(w->mem->label);
		__entry->member = w->mem->number;
		__entry->entries = w->entries;
		__entry->ret = w->ret;
		__entry->ns = now - w->since;
	),
	TP_printk("session=%08x member=%u entries=%u ns=%llu result=%d", __entry->session,
		  __entry->member, __entry->entries, __entry->ns, __entry->ret)
);

/* A claim gets its turn, in @line.  The deficit is in entry-microseconds. */
TRACE_EVENT(rdmafs_policy_turn,
	TP_PROTO(const struct rpol_waiter *w, enum rpol_line line),
	TP_ARGS(w, line),
	TP_STRUCT__entry(
		__field(u32, session)
		__field(u32, member)
		__field(u32, entries)
		__field(u32, line)
		__field(s64, deficit)
	),
	TP_fast_assign(
		__entry->session = READ_ONCE(w->mem->label);
		__entry->member = w->mem->number;
		__entry->entries = w->entries;
		__entry->line = line;
		__entry->deficit = w->mem->deficit.value >> RPOL_FRAC_BITS;
	),
	TP_printk("session=%08x member=%u entries=%u line=%s deficit=%lld", __entry->session,
		  __entry->member, __entry->entries, rpol_show_line(__entry->line),
		  __entry->deficit)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH regpolicy
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
