// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of a mount, a session, or a server, for each CPU.
 */
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/wait_bit.h>
#include "transport/internal.h"

static const char * const rxp_stat_names[RXP_NR_STATS] = {
	[RXP_STAT_calls] = "calls",
	[RXP_STAT_replies] = "replies",
	[RXP_STAT_served_now] = "served_now",
	[RXP_STAT_served_by_thread] = "served_by_thread",
	[RXP_STAT_msgs_sent] = "msgs_sent",
	[RXP_STAT_msgs_joined] = "msgs_joined",
	[RXP_STAT_msgs_received] = "msgs_received",
	[RXP_STAT_send_completions] = "send_completions",
	[RXP_STAT_doorbells] = "doorbells",
	[RXP_STAT_read_inline] = "read_inline",
	[RXP_STAT_read_rdma] = "read_rdma",
	[RXP_STAT_read_overlapped] = "read_overlapped",
	[RXP_STAT_read_in_place] = "read_in_place",
	[RXP_STAT_write_inline] = "write_inline",
	[RXP_STAT_write_rdma] = "write_rdma",
	[RXP_STAT_write_granted] = "write_granted",
	[RXP_STAT_bytes_read] = "bytes_read",
	[RXP_STAT_bytes_written] = "bytes_written",
	[RXP_STAT_rdma_writes] = "rdma_writes",
	[RXP_STAT_reg_mr] = "reg_mr",
	[RXP_STAT_local_inv] = "local_inv",
	[RXP_STAT_remote_inv] = "remote_inv",
	[RXP_STAT_mr_alloc] = "mr_alloc",
	[RXP_STAT_mr_free] = "mr_free",
	[RXP_STAT_bounced] = "bounced",
	[RXP_STAT_grants_made] = "sinks_granted",
	[RXP_STAT_grants_returned] = "sinks_returned",
	[RXP_STAT_grants_recalled] = "sinks_recalled",
	[RXP_STAT_grants_recalled_us] = "sinks_recalled_us",
	[RXP_STAT_recalls] = "recalls",
	[RXP_STAT_events] = "events",
	[RXP_STAT_returns] = "returns",
	[RXP_STAT_retry_later] = "retry_later",
	[RXP_STAT_cancelled] = "cancelled",
	[RXP_STAT_replays] = "replays",
	[RXP_STAT_reconnects] = "reconnects",
	[RXP_STAT_session_resets] = "session_resets",
	[RXP_STAT_lost_done] = "lost_done",
	[RXP_STAT_lost_again] = "lost_again",
	[RXP_STAT_lost_unknown] = "lost_unknown",
	[RXP_STAT_timed_out] = "timed_out",
	[RXP_STAT_protocol_errors] = "protocol_errors",
	[RXP_STAT_rpc_us] = "rpc_us",
	[RXP_STAT_poll_hits] = "poll_hits",
	[RXP_STAT_poll_misses] = "poll_misses",
};

/**
 * rxp_stats_init - make a set of counters
 * @st: the set to fill in
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rxp_stats_init(struct rxp_stats *st)
{
	atomic_set(&st->pools, 0);
	st->v = __alloc_percpu(RXP_NR_STATS * sizeof(u64), sizeof(u64));
	return st->v ? 0 : -ENOMEM;
}

/**
 * rxp_stats_wait - wait until no pool counts in a set any more
 * @st: the set; no new pool will use it, and the caller holds no reference on one that does
 *
 * It does not flush the workqueue: other work there may wait for a server, or for translations,
 * and take as long as they do.
 *
 * Context: process, sleeps.
 */
void rxp_stats_wait(struct rxp_stats *st)
{
	wait_var_event(&st->pools, !atomic_read_acquire(&st->pools));
}

/**
 * rxp_stats_destroy - free a set of counters
 * @st: the set; rxp_stats_wait() has returned if pools have used it
 *
 * Context: process.
 */
void rxp_stats_destroy(struct rxp_stats *st)
{
	free_percpu(st->v);
	st->v = NULL;
}

/**
 * rxp_stats_show - write counters as "name value" lines
 * @m:  the file
 * @st: the set
 *
 * Context: process; takes no lock.
 */
void rxp_stats_show(struct seq_file *m, const struct rxp_stats *st)
{
	int i, cpu;

	for (i = 0; i < RXP_NR_STATS; i++) {
		u64 sum = 0;

		for_each_possible_cpu(cpu)
			sum += per_cpu_ptr(st->v, cpu)[i];
		seq_printf(m, "%s %llu\n", rxp_stat_names[i], sum);
	}
}
