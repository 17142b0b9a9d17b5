/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client's side of a session: what client.c (its life), connect.c
 * (connecting), call.c (calls) and replay.c (their recovery) share.
 */
#ifndef RDMAFS_TRANSPORT_CLIENT_H
#define RDMAFS_TRANSPORT_CLIENT_H

#include <linux/mempool.h>
#include "transport/client_state.h"
#include "transport/cost.h"
#include "transport/internal.h"
#include "transport/slot.h"

/**
 * struct rxp_slot - a client's slot: one call at a time
 * @index: its number
 * @seq:   of the last call
 * @state: where @call is; written by rxp_call_move() alone; rdmafs_xprt.lock
 * @call:  the call, from when a recovery would have to send it again until
 *	   it is over; rdmafs_xprt.lock
 * @sent:  when the CALL was, in jiffies
 * @sent_ns: the same in ns, if it shows what a message costs, else 0
 * @chain: the CALL
 * @wr:    its SEND
 * @sge:   head and inline data
 */
struct rxp_slot {
	u16 index;
	u32 seq;
	enum rxp_call_state state;
	struct rdmafs_xprt_call *call;
	unsigned long sent;
	u64 sent_ns;
	struct rxp_chain chain;
	struct ib_send_wr wr;
	struct ib_sge sge[2];
};

/* By the memory that they take (io.c). */
#define RXP_IO_KINDS	3

/**
 * struct rxp_io - data of a call that does not travel inside its messages
 * @call:   whose
 * @len:    bytes
 * @pool:   while it is mapped, for whose device; a reference
 * @segs:   entries of @sgt there is room for
 * @sgt:    the caller's pages
 * @mapped: DMA mapped entries, 0 while not mapped
 * @mr:	    READ: registered with the CALL, or the STCRW
 * @bounce: data whose pages one MR or one set of WRITEs can't hold goes through here
 * @small:  READ: data that came inside the REPLY after all, until the pages are
 *	    unmapped: what is copied there before, unmapping may undo
 * @filled: bytes that the server wrote into @bounce
 * @reg:    READ: REG_MR, before the CALL or the STCRW in its chain
 * @inv:    READ: LOCAL_INV, if the server did not invalidate
 * @inv_chain: for @inv
 * @crw:    WRITE: the RDMA WRITEs held for the STCRW and the DATA behind them;
 *	    READ: the STCRW; either: the CANCEL
 * @crw_send: the DATA, STCRW or CANCEL
 * @crw_sge: its message, in the slot's buffer
 * @sge:    WRITE: local side
 * @wr:	    WRITE: the RDMA WRITEs
 * @nr_wr:  how many
 * @tag_rkey: WRITE: of the STCRW; rdmafs_xprt.lock
 * @tag_iova: of it
 * @since:  when its STCRW went out, or its MR was to come back: a CANCEL went out, or a reply
 *	    came before one; in jiffies
 * @overdue: its state when that was found to be long ago, at the last beat; else FREE
 * @map_err: why a CANCEL is out, else 0: mapping failed after the CALL was sent, or
 *	    its translations are needed elsewhere; rdmafs_xprt.lock
 * @direct: map it before the CALL
 * @waited: mapping it had to wait for translations
 * @work:   what has to be done in process context before the call is over
 * @kind:   which of its mount's pools it came from
 */
struct rxp_io {
	struct rdmafs_xprt_call *call;
	u32 len;
	struct rxp_pool *pool;
	u32 segs;
	struct sg_table sgt;
	int mapped;
	struct rxp_mr *mr;
	struct rxp_buf *bounce;
	void *small;
	u32 filled;
	struct ib_reg_wr reg;
	struct ib_send_wr inv;
	struct rxp_chain inv_chain;
	struct rxp_chain crw;
	struct ib_send_wr crw_send;
	struct ib_sge crw_sge;
	struct ib_sge *sge;
	struct ib_rdma_wr *wr;
	u32 nr_wr;
	u32 tag_rkey;
	u64 tag_iova;
	unsigned long since;
	enum rxp_call_state overdue;
	int map_err;
	bool direct;
	bool waited;
	struct work_struct work;
	u8 kind;
};

/**
 * struct rxp_cost - what READs of one MR class have taken lately
 * @map_ns:	pinning, mapping and registering here
 * @service_ns: the server, from CALL to REPLY
 */
struct rxp_cost {
	u32 map_ns;
	u32 service_ns;
};

/**
 * struct rxp_later - calls that can't go on yet (later.c); the session's lock
 * @writes:	those that the server had no room for, oldest first
 * @write_work: sends them again
 * @sending:	and does so now
 * @room:	so many of them may go, as others came back served
 * @probe:	and so many in addition at @probe_at
 * @probe_at:	jiffies
 * @probe_ms:	from one @probe_at to the next, milliseconds
 * @refused:	since the last @probe_at one was refused
 * @served:	and one was served
 * @reads:	those that have to stand in line for translations, oldest first
 * @read_work:	stands there
 * @read_ms:	delay of those that the server refused
 * @read_refused: the last time, in jiffies
 */
struct rxp_later {
	struct list_head writes;
	struct delayed_work write_work;
	bool sending;
	u32 room;
	u32 probe;
	unsigned long probe_at;
	unsigned int probe_ms;
	bool refused;
	bool served;
	struct list_head reads;
	struct delayed_work read_work;
	unsigned int read_ms;
	unsigned long read_refused;
};

/**
 * struct rxp_held_grant - a sink of the server's that one WRITE may go to unasked
 * @len:      bytes
 * @rkey:     key
 * @iova:     address
 * @recalled: the server wants it back
 * @since:    when it came, in jiffies
 */
struct rxp_held_grant {
	u32 len;
	u32 rkey;
	u64 iova;
	bool recalled;
	unsigned long since;
};

struct rdmafs_xprt {
	struct net *net;
	struct sockaddr_storage addr;
	const struct rdmafs_xprt_client_ops *ops;
	void *ctx;
	u32 want_slots;
	u32 want_conns;
	struct mutex quota_change;	/* outside lock: a new quota or a new pool */
	struct rpol_quota quota;	/* written under both */
	struct rxp_stats stats;
	struct rxp_proc proc;
	mempool_t *io_pools[RXP_IO_KINDS];	/* memory for large calls when there is none */
	void (*show_mount)(struct seq_file *m, void *ctx);

	spinlock_t lock;
	enum rxp_state state;		/* written by rxp_state_move() alone */
	u32 epoch;			/* calls of an earlier one are given up; lock */
	/*
	 * All that the session has, or none: they are made together, before it
	 * is UP, and fall together.  A slot's messages travel on that of its
	 * number modulo @nr_conns.
	 */
	struct rxp_conn *conns[RDMAFS_XPRT_CONNS_MAX];
	u32 nr_conns;
	struct rxp_pool *pool;		/* stays over reconnects on one device */
	wait_queue_head_t wait;		/* state, epoch, in_flight */

	struct rxp_slots slot_account;
	struct rxp_slot *slots;
	struct rxp_ring tx_ring;
	/* Receives of connections that are gone, by index, for the next ones. */
	struct rxp_ring rx_rings[RDMAFS_XPRT_CONNS_MAX];
	u32 data_max;

	u8 session[16];			/* all zero: the server is to make a new one */
	u8 client[16];
	u64 boot;

	struct delayed_work recover;
	u32 unsent;			/* calls that could not be sent again yet; the worker's */
	unsigned int attempts;		/* to connect, since a connection was last good */
	unsigned long bound_at;		/* jiffies */
	struct delayed_work heartbeat;
	unsigned long beat_at;		/* the last one, in jiffies; its own */

	struct rxp_later later;

	u32 poll_us;
	int poll_score;			/* without a lock, as the next */
	u32 poll_rested;

	enum rdmafs_xprt_reg reg;
	struct rxp_cost cost[RPOL_NR_CLASSES];	/* averages, written without a lock */
	u32 message_ns;			/* 0: not known; likewise */

	struct rxp_held_grant grants[RXP_WIRE_GRANTS];	/* oldest first; lock */
	u32 nr_grants;

	u32 in_flight;			/* calls from submit to done; lock */
};

/* Is a connection, which may have been lost since, still one of the session's? */
static inline bool rxp_conn_current(const struct rdmafs_xprt *x, const struct rxp_conn *conn)
{
	lockdep_assert_held(&x->lock);
	return conn->index < x->nr_conns && x->conns[conn->index] == conn;
}

/* Has the server told us which session this is? */
static inline bool rxp_session_known(const struct rdmafs_xprt *x)
{
	return memchr_inv(x->session, 0, sizeof(x->session));
}

bool rxp_granted(struct rdmafs_xprt *x, const struct rxp_frame *f);
bool rxp_grant_take(struct rdmafs_xprt *x, u32 len, struct rxp_held_grant *out);
void rxp_grants_forget(struct rdmafs_xprt *x);
void rxp_grants_give_back(struct rdmafs_xprt *x);
void rxp_grants_recalled(struct rdmafs_xprt *x, const struct rxp_frame *f);

int rxp_io_pools_init(struct rdmafs_xprt *x);
void rxp_io_pools_destroy(struct rdmafs_xprt *x);
struct rxp_io *rxp_io_alloc(struct rdmafs_xprt_call *call);
void rxp_io_free(struct rxp_io *io);
bool rxp_io_overlaps(struct rdmafs_xprt *x, const struct rxp_io *io);
int rxp_io_reserve(struct rxp_io *io, struct rxp_pool *pool);
int rxp_io_map_late(struct rxp_io *io);
int rxp_io_map(struct rxp_io *io, struct rxp_pool *pool, bool nowait);
void rxp_io_unmap(struct rxp_io *io);
void rxp_io_copy_out(struct rxp_io *io);
void rxp_io_copy_small(struct rxp_io *io);
void rxp_io_show_costs(struct seq_file *m, struct rdmafs_xprt *x);
void rxp_io_served(struct rdmafs_xprt *x, const struct rxp_io *io, u32 us);
u64 rxp_message_time(const struct rdmafs_xprt_call *call, u32 seq);
void rxp_message_seen(struct rdmafs_xprt *x, const struct rxp_slot *slot, u32 us);

bool rxp_state_move(struct rdmafs_xprt *x, enum rxp_event event);
int rxp_call_given_up(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call);
struct rxp_pool *rxp_call_pool(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call, bool nowait);
bool rxp_call_fits(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call,
		   const struct rxp_pool *pool, const struct rxp_slot *slot);

void rxp_client_conn_free(struct rdmafs_xprt *x, struct rxp_conn *conn);
int rxp_connect_once(struct rdmafs_xprt *x, unsigned int step_ms);
void rxp_client_recv(struct rxp_conn *conn, struct rxp_rx *rx, struct ib_wc *wc, u32 len);
bool rxp_call_move(struct rdmafs_xprt *x, struct rxp_slot *slot, enum rxp_call_event event);
void rxp_cancel_send(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rxp_io *io);
void rxp_calls_revoke(struct rdmafs_xprt *x);
const char *rxp_call_dropped(struct rdmafs_xprt *x, const struct rxp_conn *conn,
			     const struct rxp_frame *f, const struct ib_wc *wc);
int rxp_call_send(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call, bool nowait);
void rxp_call_done(struct rdmafs_xprt_call *call);
void rxp_call_put(struct rdmafs_xprt_call *call);
void rxp_io_invalidate(struct rxp_io *io);
void rxp_call_encode(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rdmafs_xprt_call *call,
		     struct rxp_slot *slot, u32 seq, bool mapped,
		     const struct rxp_held_grant *grant);
void rxp_call_post(struct rxp_conn *conn, struct rdmafs_xprt_call *call, struct rxp_slot *slot,
		   bool plug);

void rxp_calls_lose(struct rdmafs_xprt *x);
void rxp_calls_renumber(struct rdmafs_xprt *x, u32 data_max);
u32 rxp_calls_replay(struct rdmafs_xprt *x, struct rxp_conn **conns, u32 nr);
bool rxp_calls_bound(struct rdmafs_xprt *x);
int rxp_calls_fail(struct rdmafs_xprt *x, int err);

void rxp_later_init(struct rdmafs_xprt *x);
void rxp_later_stop(struct rdmafs_xprt *x);
void rxp_later_add(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call);
bool rxp_later_behind(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call);
void rxp_later_room(struct rdmafs_xprt *x);
void rxp_later_fail(struct rdmafs_xprt *x);

#endif
