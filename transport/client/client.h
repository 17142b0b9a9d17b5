/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client's side of a session, shared by session.c (its life), connect.c (connecting),
 * recv_ring.c (memory for what comes), ready.c (when a call may be sent), call.c (calls), receive.c
 * (what the server sends), io.c (data of calls), deferred.c (calls that wait), revoke.c (calls
 * that take too long), expire.c (calls whose time is over), replay.c (recovery of calls),
 * held_grant.c (granted sinks) and poll.c.
 *
 * "The worker" is the recovery worker, rdmafs_xprt.recover; in its place mount(8) makes the
 * first connections and rdmafs_xprt_close() takes the last step.  "The lock" is
 * rdmafs_xprt.lock.
 */
#ifndef RDMAFS_TRANSPORT_CLIENT_H
#define RDMAFS_TRANSPORT_CLIENT_H

#include <linux/mempool.h>
#include "transport/client/cost.h"
#include "transport/client/slot.h"
#include "transport/client/state.h"
#include "transport/internal.h"

/**
 * struct rxc_slot - a client's slot: one call at a time
 * @index:   its number; constant
 * @seq:     sequence number of the last call that was sent in it; the lock, or the worker's
 *	while no connection is bound
 * @state:   state of @call; written by rxc_call_move() alone; the lock
 * @call:    the call, from the moment that recovery would have to send it again until it is
 *	over; a call that is in a slot has references (x.pending); the lock
 * @sent:    when the CALL was sent last, in jiffies; the lock
 * @sent_ns: the same in ns if the call is to show what a message costs, else 0
 * @chain:   the chain of the CALL, the call's until the chain is over
 * @wr:      the SEND of the CALL, likewise
 * @sge:     the message's head, and inline data; likewise
 */
struct rxc_slot {
	u16 index;
	u32 seq;
	enum rxc_call_state state;
	struct rdmafs_xprt_call *call;
	unsigned long sent;
	u64 sent_ns;
	struct rxp_chain chain;
	struct ib_send_wr wr;
	struct ib_sge sge[2];
};

/* Sizes of struct rxc_io, by the pages that there is room for (io.c). */
#define RXC_IO_KINDS	3

/**
 * struct rxc_io - data of a call that does not travel inside its messages
 * @call:      the call that it is part of; constant
 * @len:       bytes; constant
 * @pool:      the pool of the device that it is mapped or reserved for, a reference; else NULL
 * @segs:      number of entries that @sg has room for; constant
 * @nr_wr:     WRITE: how many RDMA WRITEs are prepared, see rxc_io_source()
 * @sg:        the caller's pages; its arrays stand behind this struct
 * @mr:        READ: the MR, registered with the CALL or the STCRW
 * @bounce:    buffer for data whose pages one MR, or one set of RDMA WRITEs, can't hold
 * @small:     READ: data that came inside the REPLY, kept until the pages are unmapped:
 *	unmapping could overwrite what was copied to them earlier.  The receive handler's, then the
 *	end's, as @filled
 * @filled:    bytes that the server wrote into @bounce or the pages
 * @reg:       READ: REG_MR, before the CALL or the STCRW in its chain
 * @inv:       READ: LOCAL_INV, used if the server did not invalidate the key
 * @inv_chain: the chain of @inv
 * @crw:       WRITE: the RDMA WRITEs that are held for the STCRW, and the DATA behind them;
 *	READ: the REG_MR and the STCRW; either: the CANCEL
 * @crw_send:  the SEND of that DATA, STCRW or CANCEL
 * @crw_sge:   its message, in the slot's buffer
 * @sink:      WRITE: the server's memory for it, of the STCRW; the lock
 * @since:     when the STCRW was posted or, later, when the time for the MR to come back began:
 *	a CANCEL was posted, or the reply came before one; in jiffies; the lock
 * @overdue:   the call's state if the last heartbeat found it overdue in that, else
 *	RXC_CALL_FREE; the lock
 * @map_err:   why a CANCEL was sent, else 0: mapping failed after the CALL was sent, or the
 *	translations are needed elsewhere; the lock.  It does not change once the call is answered
 * @direct:    map the pages before the CALL is sent; the receive handler sets it for the next time
 *	that the call is sent
 * @work:      ends the call in process context
 * @kind:      which of its mount's memory pools it came from; constant
 *
 * The mapping (@pool, @nr_wr, @sg, @mr, @bounce) belongs to the submitter before the call is in a
 * slot and in the states of rxc_call_being_mapped(); to the worker in state LOST; else to the call
 * until its last reference ends it.  A READ's @mr may go earlier, with the lock held: in the
 * states CANCELLED and REVOKED.  The chains, and the work requests and messages that they consist
 * of, belong to send.c while they are posted; each has a reference on the call.
 */
struct rxc_io {
	struct rdmafs_xprt_call *call;
	u32 len;
	struct rxp_pool *pool;
	u32 segs;
	u32 nr_wr;
	struct rxp_sg sg;
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
	struct rxp_segment sink;
	unsigned long since;
	enum rxc_call_state overdue;
	int map_err;
	bool direct;
	struct work_struct work;
	u8 kind;
};

/* What the RDMA WRITEs of a WRITE read: a copy of the caller's data, or the caller's pages. */
static inline struct rxp_sg *rxc_io_source(struct rxc_io *io)
{
	return io->bounce ? &io->bounce->sg : &io->sg;
}

/**
 * struct rxc_cost - what READs of one MR class have taken lately
 * @map_ns:     mapping the caller's pages and preparing the registration, without the time of
 *	getting an MR; not of READs into a bounce buffer
 * @service_ns: the server's time from CALL to REPLY
 */
struct rxc_cost {
	u32 map_ns;
	u32 service_ns;
};

/**
 * struct rxc_deferred - calls that can't be sent yet (deferred.c)
 * @writes:       WRITEs that the server had no room for, oldest first
 * @write_work:   sends them again
 * @sending:      @write_work is sending now
 * @slot_turn:    their place in line for a slot; guarded by the account's lock, and read without it
 * @room:         number of WRITEs that may be sent, as others came back served
 * @probe:        number of WRITEs that may be sent in addition at @probe_at
 * @probe_at:     jiffies
 * @probe_ms:     time from one @probe_at to the next, milliseconds
 * @refused:      a WRITE was refused since the last @probe_at
 * @served:       a WRITE was served since then
 * @reads:        READs that have to stand in line for translations, oldest first
 * @turn:         READs that @read_work has still to stand in line for in its present run
 * @read_work:    stands in line for them, one after the other
 * @read_ms:      delay of READs that the server refused, milliseconds
 * @read_refused: when the server last refused a READ, in jiffies
 *
 * All else is guarded by the session's lock.
 */
struct rxc_deferred {
	struct list_head writes;
	struct delayed_work write_work;
	bool sending;
	struct rxc_slot_waiter slot_turn;
	u32 room;
	u32 probe;
	unsigned long probe_at;
	unsigned int probe_ms;
	bool refused;
	bool served;
	struct list_head reads;
	struct list_head turn;
	struct delayed_work read_work;
	unsigned int read_ms;
	unsigned long read_refused;
};

/**
 * struct rxc_held_grant - a sink of the server's that one WRITE may go to unasked
 * @sink:     the sink
 * @conn:     index of the connection that the reply came on; for traces
 * @recalled: the server wants it back
 * @since:    when the reply brought it, in jiffies
 */
struct rxc_held_grant {
	struct rxp_segment sink;
	u16 conn;
	bool recalled;
	unsigned long since;
};

/**
 * struct rdmafs_xprt - the session of a mount
 * @net:          network namespace in which it connects, a reference; constant
 * @addr:         the server's address and port; constant
 * @ops:          the mount's callbacks, or NULL; constant
 * @ctx:          argument of @ops and @show_mount; constant
 * @want_slots:   slots to ask for on the first connect; constant
 * @want_conns:   connections to ask for; constant
 * @member:       the mount's quota, and its directory in /proc; its lock is outside the lock
 * @stats:        counters, per CPU
 * @io_pools:     memory for large calls when the system is short of it, by kind; constant
 * @show_mount:   describes the mount in /proc; set before the directory is there
 * @lock:         the lock of this struct, of its slots and of its calls' states; disables
 *	softirqs
 * @state:        written by rxc_state_move() alone, with the lock held; read without by
 *	READ_ONCE()
 * @epoch:        a call that was submitted in an earlier epoch is given up; the lock
 * @conns:        all connections of the session: they are made together before the state is UP,
 *	and are taken from the session together.  The messages of a slot travel on the
 *	connection of the slot's number modulo @nr_conns.  A reference each; the lock
 * @nr_conns:     number of @conns, 0 while there are none; the lock
 * @pool:         protection domain and share of translations; stays over reconnects through the
 *	same device.  A reference; written with the lock held, by the worker alone, and a new one
 *	with the member's lock held, too
 * @wait:         wakes for @state, @epoch, @in_flight, for a deadline that has passed, and for a
 *	call that leaves LOST_MAPPING
 * @slot_account: which slots are free; has a lock of its own
 * @slots:        slot_account.max slots, NULL until the first connection is accepted; set once, by
 *	the task that connects, before the session is UP; then read without a lock
 * @tx_ring:      message buffers, made with @slots; each is with its slot's owner
 * @rx_rings:     receive buffers of connections that are gone, by connection index, for the
 *	next ones; the worker's
 * @data_max:     most bytes of data in one call; written by the worker, read without a lock
 * @session:      id of the session, all zero if the server is to make a new one; written by the
 *	worker while the session is not UP; the worker reads it without a lock, tracepoints read it
 *	from any task
 * @client:       random id of the mount; constant
 * @boot:         boot id of the server that made the session; the worker's
 * @recover:      the worker (session.c), on rxc_recover_wq
 * @unsent:       number of calls for which there was no memory when they were to be sent again;
 *	the worker's
 * @attempts:     to connect since a connection was last good; the worker's
 * @bound_at:     when the connections were bound, in jiffies; the worker's
 * @heartbeat:    looks whether the connections live, on rxp_wq
 * @beat_at:      when @heartbeat last ran, in jiffies; its own
 * @deferred:     calls that can't be sent yet; the lock
 * @timed:        calls with a deadline, from submit until they are over, the earliest deadline
 *	first; the lock
 * @expire:       ends the calls whose deadline has passed (expire.c), on rxp_wq
 * @expire_at:    when @expire is due, in jiffies, if @expire_armed; the lock
 * @expire_armed: @expire is queued, and has not looked at @timed since; the lock
 * @timeless:     deadlines do not count; written with the lock held
 * @poll_us:      how long rdmafs_xprt_poll() spins, microseconds, 0: never; no lock
 * @poll_score:   whether spinning has paid (poll.c); no lock, an update may be lost
 * @poll_rested:  waits without a spin; likewise
 * @reg:          when large READs register; no lock
 * @cost:         averages by MR class; no lock, an update may be lost
 * @message_ns:   what a message costs, ns, 0: not known (cost.c); likewise
 * @message_guess: what it is taken to cost then, ns; written by the worker, read without a lock
 * @grants:       sinks that the server has granted, oldest first; the lock
 * @nr_grants:    number of @grants; the lock
 * @in_flight:    calls from submit until after done(); the lock
 */
struct rdmafs_xprt {
	struct net *net;
	struct sockaddr_storage addr;
	const struct rdmafs_xprt_client_ops *ops;
	void *ctx;
	u32 want_slots;
	u32 want_conns;
	struct rxp_member member;
	struct rxp_stats stats;
	mempool_t *io_pools[RXC_IO_KINDS];
	void (*show_mount)(struct seq_file *m, void *ctx);

	spinlock_t lock;		/* this struct, its slots, the states of calls */
	enum rxc_session_state state;
	u32 epoch;
	struct rxp_conn *conns[RDMAFS_XPRT_CONNS_MAX];
	u32 nr_conns;
	struct rxp_pool *pool;
	wait_queue_head_t wait;

	struct rxc_slots slot_account;
	struct rxc_slot *slots;
	struct rxp_ring tx_ring;
	struct rxp_ring rx_rings[RDMAFS_XPRT_CONNS_MAX];
	u32 data_max;

	u8 session[16];
	u8 client[16];
	u64 boot;

	struct delayed_work recover;
	u32 unsent;
	unsigned int attempts;
	unsigned long bound_at;
	struct delayed_work heartbeat;
	unsigned long beat_at;

	struct rxc_deferred deferred;

	struct list_head timed;
	struct delayed_work expire;
	unsigned long expire_at;
	bool expire_armed;
	bool timeless;

	u32 poll_us;
	int poll_score;
	u32 poll_rested;

	enum rdmafs_xprt_reg reg;
	struct rxc_cost cost[RPOL_NR_CLASSES];
	u32 message_ns;
	u32 message_guess;

	struct rxc_held_grant grants[RXP_WIRE_GRANTS];
	u32 nr_grants;

	u32 in_flight;
};

/**
 * struct rxc_conn - a connection of a mount
 * @conn:       what the server's has as well
 * @seen:       rxp_conn.received at the last heartbeat; the mount's lock, as for all down to
 *		@stalled_beats
 * @said:       rxp_conn.sent at the last heartbeat
 * @pinged:     rxp_conn.chains with the first PING since the server was heard; 0: none
 * @silent:     heartbeats without a message from the server
 * @missed:     the latest of @silent, in which a message could have come
 * @oldest:     rxp_send_oldest() at the last heartbeat
 * @same:       heartbeats with the same @oldest
 * @stalled_beats: the latest of @same, in which nothing moved
 * @cm_done:    a step of the connection manager has ended
 * @cm_status:  how it has ended; written before @cm_done is completed, read after that
 * @limit:      connections that the server allows, if it refused for that; as @cm_status
 * @welcomed:   @welcome has come, or the connection is lost
 * @welcome:    the WELCOME, written by the receive handler before @welcomed
 * @welcome_seen: receive handler only
 */
struct rxc_conn {
	struct rxp_conn conn;
	u64 seen;
	u64 said;
	u64 pinged;
	u32 silent;
	u32 missed;
	u64 oldest;
	u32 same;
	u32 stalled_beats;

	struct completion cm_done;
	int cm_status;
	u32 limit;
	struct completion welcomed;
	struct rxp_wire_welcome welcome;
	bool welcome_seen;
};

/* Every connection that the client sees is one of these. */
#define rxc_conn(c)	container_of_const(c, struct rxc_conn, conn)

/* Is @conn, which may have been lost meanwhile, still one of the session's?  The lock is held. */
static inline bool rxc_conn_current(const struct rdmafs_xprt *x, const struct rxp_conn *conn)
{
	lockdep_assert_held(&x->lock);
	return conn->index < x->nr_conns && x->conns[conn->index] == conn;
}

/* Has the server told us which session this is? */
static inline bool rxc_session_known(const struct rdmafs_xprt *x)
{
	return memchr_inv(x->session, 0, sizeof(x->session));
}

/* Trace a step of a call that has its slot still. */
#define rxc_trace(step, of)							\
do {										\
	const struct rdmafs_xprt_call *c = (of);				\
										\
	trace_rdmafs_call_##step(c->x.xprt->session, c->x.slot->index,		\
				 c->x.slot->seq, iov_iter_count(&c->iter));	\
} while (0)

extern struct workqueue_struct *rxc_recover_wq;
extern struct workqueue_struct *rxc_turn_wq;
extern unsigned int rxc_heartbeat_ms;

bool rxc_grant_keep(struct rdmafs_xprt *x, const struct rxp_conn *conn, const struct rxp_frame *f);
bool rxc_grant_fits(struct rdmafs_xprt *x, u32 len);
bool rxc_grant_take(struct rdmafs_xprt *x, u32 len, const struct rxc_slot *slot,
		    struct rxc_held_grant *out);
void rxc_grants_drop(struct rdmafs_xprt *x);
void rxc_grants_return_due(struct rdmafs_xprt *x);
void rxc_recall_arrived(struct rdmafs_xprt *x, const struct rxp_frame *f);

int rxc_io_pools_init(struct rdmafs_xprt *x);
void rxc_io_pools_destroy(struct rdmafs_xprt *x);
struct rxc_io *rxc_io_alloc(struct rdmafs_xprt_call *call);
void rxc_io_free(struct rxc_io *io);
bool rxc_io_overlaps(struct rdmafs_xprt *x, const struct rxc_io *io);
int rxc_io_reserve(struct rxc_io *io, struct rxp_pool *pool);
int rxc_io_map_late(struct rxc_io *io);
int rxc_io_map(struct rxc_io *io, struct rxp_pool *pool, bool nowait);
void rxc_io_unmap(struct rxc_io *io);
void rxc_io_copy_out(struct rxc_io *io);
void rxc_io_copy_small(struct rxc_io *io);
void rxc_io_show_costs(struct seq_file *m, struct rdmafs_xprt *x);
void rxc_io_served(struct rdmafs_xprt *x, const struct rxc_io *io, u32 us);
u64 rxc_message_time(const struct rdmafs_xprt_call *call, u32 seq);
void rxc_message_seen(struct rdmafs_xprt *x, const struct rxc_slot *slot, u32 us);

bool rxc_state_move(struct rdmafs_xprt *x, enum rxc_session_event event);
struct rxp_pool *rxc_session_pool(struct rdmafs_xprt *x);
bool rxc_call_timed(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call);
bool rxc_call_expired(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call);
int rxc_call_given_up(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call);
void rxc_expire_arm(struct rdmafs_xprt *x, unsigned long at);
void rxc_timed_add(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call);
void rxc_timed_sent(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call);
void rxc_timed_del(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call, int status);
struct rxp_pool *rxc_call_pool(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call, bool nowait);
bool rxc_call_fits(const struct rdmafs_xprt *x, const struct rdmafs_xprt_call *call,
		   const struct rxp_pool *pool, const struct rxc_slot *slot);

int rxc_receives(struct rxp_conn *conn, u32 size);
void rxc_receives_free(struct rxp_ring *ring);
void rxc_conn_end(struct rdmafs_xprt *x, struct rxp_conn *conn);
void rxc_pool_retire(struct rdmafs_xprt *x, struct rxp_pool *pool);
int rxc_connect_once(struct rdmafs_xprt *x, unsigned int step_ms);
void rxc_recv(struct rxp_conn *conn, struct rxp_rx *rx, struct ib_wc *wc, u32 len);
bool rxc_call_move(struct rdmafs_xprt *x, struct rxc_slot *slot, enum rxc_call_event event);
void rxc_crw_fire(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rxc_io *io,
		  const struct rxp_segment *sink);
void rxc_cancel_send(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rxc_io *io);
void rxc_calls_revoke(struct rdmafs_xprt *x);
int rxc_call_send(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call, bool nowait,
		  struct rxc_slot_waiter *turn);
void rxc_call_finish(struct rdmafs_xprt_call *call);
void rxc_call_put(struct rdmafs_xprt_call *call);
void rxc_io_invalidate(struct rxc_io *io);
void rxc_call_encode(struct rdmafs_xprt *x, struct rxp_conn *conn, struct rdmafs_xprt_call *call,
		     struct rxc_slot *slot, u32 seq, bool mapped,
		     const struct rxc_held_grant *grant);
void rxc_call_post(struct rxp_conn *conn, struct rdmafs_xprt_call *call, struct rxc_slot *slot,
		   bool plug);

void rxc_calls_unmap_lost(struct rdmafs_xprt *x);
void rxc_calls_renumber(struct rdmafs_xprt *x, u32 data_max);
u32 rxc_calls_replay(struct rdmafs_xprt *x, struct rxp_conn **conns, u32 nr);
bool rxc_calls_in_slots(struct rdmafs_xprt *x);
bool rxc_calls_given_up(const struct rdmafs_xprt *x);
int rxc_calls_fail(struct rdmafs_xprt *x);

void rxc_deferred_init(struct rdmafs_xprt *x);
void rxc_deferred_exit(struct rdmafs_xprt *x);
void rxc_deferred_add(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call);
bool rxc_deferred_queue(struct rdmafs_xprt *x, struct rdmafs_xprt_call *call);
void rxc_deferred_admit_one(struct rdmafs_xprt *x);
void rxc_deferred_fail(struct rdmafs_xprt *x);

void rxc_waiters_dismiss(struct rdmafs_xprt *x);
void rxc_expire_init(struct rdmafs_xprt *x);
void rxc_expire_exit(struct rdmafs_xprt *x);

#endif
