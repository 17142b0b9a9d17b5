/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations that the files of transport share.
 *
 * Objects, and the references that keep them alive:
 *
 *	rxp_device   one RNIC, from ib_client's add to its remove; holds the
 *		     policy's domain.  Removal waits until all pools are gone.
 *	rxp_pool     protection domain, member of the policy's domain, idle MRs
 *		     and idle data buffers.  A mount keeps its pool as long as it
 *		     stays on the same device.  A session on a server uses the
 *		     pool of its connection 0, which its other connections join
 *		     (Documentation/architecture.rst, "Lifetimes").  References:
 *		     the owner's, and one for each connection, request and grant
 *		     on it.
 *	rxp_conn     a queue pair and its receives.  The owner's worker drains and
 *		     destroys the queue pair (rxp_conn_kill()) and lets go of the
 *		     device (rxp_conn_destroy()).  The struct and its receive
 *		     buffers go with the last reference, since requests read
 *		     bodies where they arrived.
 *	rxp_chain    work requests posted with one doorbell, embedded in the object
 *		     they belong to.  done() is called exactly once: by the
 *		     completion of the last one; or after the drain; or, if the
 *		     chain is quiet (send.c), when it is posted.
 *
 * The order of locks is in Documentation/architecture.rst ("Lock order").
 */
#ifndef RDMAFS_TRANSPORT_INTERNAL_H
#define RDMAFS_TRANSPORT_INTERNAL_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include "transport/connstate.h"
#include "transport/frame.h"
#include "transport/points.h"
#include "transport/qp_plan.h"
#include "transport/sg.h"
#include "transport/xprt.h"

/* Bytes at the end of a slot's buffer for the CONTROL or NOTIFY of its RPC. */
#define RXP_CTL_MAX	64
#define RXP_SLOT_BUF	(RXP_MSG_MAX + RXP_CTL_MAX)

/* Scatter/gather entries of one RDMA WRITE: more would need more memory in each queue entry. */
#define RXP_WRITE_SGE	16

/* Bytes of plugged RDMA WRITEs at which rxp_post_plugged() rings the doorbell at once. */
#define RXP_PLUG_MAX	SZ_1M

/* Scatter/gather entries of the messages joined by one doorbell: rxp_conn.joined. */
#define RXP_JOINED	64

/*
 * Seconds after which an idle data buffer is freed, and a client returns a grant it does not use.
 */
#define RXP_IDLE_SECS	5

/*
 * How often a packet, or a SEND that found no receive, is sent again.  A larger value means "for
 * ever", on rxe at least, so a server refuses a client whose queue pair would use one.
 */
#define RXP_RETRY_COUNT	6

/*
 * Milliseconds without a message after which a session ends
 * (Documentation/protocol.rst, "Sessions").
 */
#define RXP_LEASE_MS	30000

/* ------------------------------------------------------------------ counters */

/* The names in /proc are in stats.c, in this order; Documentation/ABI describes them. */
enum rxp_stat {
	RXP_STAT_calls,
	RXP_STAT_replies,
	RXP_STAT_served_now,
	RXP_STAT_served_by_thread,
	RXP_STAT_msgs_sent,
	RXP_STAT_msgs_joined,
	RXP_STAT_msgs_received,
	RXP_STAT_send_completions,
	RXP_STAT_doorbells,
	RXP_STAT_read_inline,
	RXP_STAT_read_rdma,
	RXP_STAT_read_overlapped,
	RXP_STAT_read_in_place,
	RXP_STAT_write_inline,
	RXP_STAT_write_rdma,
	RXP_STAT_write_granted,
	RXP_STAT_bytes_read,
	RXP_STAT_bytes_written,
	RXP_STAT_rdma_writes,
	RXP_STAT_reg_mr,
	RXP_STAT_local_inv,
	RXP_STAT_remote_inv,
	RXP_STAT_mr_alloc,
	RXP_STAT_mr_free,
	RXP_STAT_bounced,
	RXP_STAT_grants_made,
	RXP_STAT_grants_returned,
	RXP_STAT_grants_recalled,
	RXP_STAT_grants_recalled_us,
	RXP_STAT_recalls,
	RXP_STAT_events,
	RXP_STAT_returns,
	RXP_STAT_retry_later,
	RXP_STAT_cancelled,
	RXP_STAT_replays,
	RXP_STAT_reconnects,
	RXP_STAT_session_resets,
	RXP_STAT_lost_done,
	RXP_STAT_lost_again,
	RXP_STAT_lost_unknown,
	RXP_STAT_timed_out,
	RXP_STAT_protocol_errors,
	RXP_STAT_rpc_us,
	RXP_STAT_poll_hits,
	RXP_STAT_poll_misses,
	RXP_NR_STATS
};

/**
 * struct rxp_stats - a set of counters
 * @v:     the counters, by enum rxp_stat
 * @pools: pools that count here and are not freed yet
 */
struct rxp_stats {
	u64 __percpu *v;
	atomic_t pools;
};

int rxp_stats_init(struct rxp_stats *st);
void rxp_stats_wait(struct rxp_stats *st);
void rxp_stats_destroy(struct rxp_stats *st);
void rxp_stats_show(struct seq_file *m, const struct rxp_stats *st);

static inline void rxp_stat_add(struct rxp_stats *st, enum rxp_stat i, u64 n)
{
	this_cpu_add(st->v[i], n);
}

#define rxp_count(st, name)	rxp_stat_add(st, RXP_STAT_##name, 1)
#define rxp_add(st, name, n)	rxp_stat_add(st, RXP_STAT_##name, n)

/* -------------------------------------------------------------------- device */

struct rxp_proc_dir;

/**
 * struct rxp_quirks - what a driver does that the verbs leave open, or forbid (device.c)
 * @keeps_pages:  an MR that is invalid keeps its translations
 * @repeats_reg:  the device may execute a REG_MR again until its chain is over
 * @short_writes: one long RDMA WRITE takes longer than short ones: rxp_build_writes()
 * @by_reference: pages of unsignaled work requests are sent from where they are, perhaps after a
 *		  later work request has completed
 * @rejects_reset: a connection that the server rejects is reported as reset
 * @connects_here: rdma_connect() waits for TCP, and uses the task's network namespace
 * @message_ns:   what one message more may cost both sides together, ns, until calls have shown it
 */
struct rxp_quirks {
	bool keeps_pages;
	bool repeats_reg;
	bool short_writes;
	bool by_reference;
	bool rejects_reset;
	bool connects_here;
	u32 message_ns;
};

/**
 * struct rxp_device - one RNIC
 * @ib:         the device of the RDMA core; constant, as @domain
 * @domain:     the policy's domain
 * @tick:       calls rpol_domain_tick()
 * @tick_lock:  guards @tick_due and the queueing of @tick; a leaf
 * @tick_due:   when @tick is due, in jiffies, while it is queued
 * @proc:       its directory, or NULL; this and the next two: proc.c's rxp_proc_devices_lock
 * @proc_name:  the name that @proc was last made under
 * @proc_link:  in proc.c's list of devices
 * @ref:        one until removal, one for each pool, and those of rxp_device_get()
 * @rcu:        for rxp_device_get(), which may look just now
 * @unused:     completed when the last reference is dropped
 * @removed:    removal has begun; set once, read without a lock
 * @lock:       guards @conns; ops->lost() is called under it
 * @conns:      connections on the device, &rxp_conn.dev_link
 * @max_entries: entries of one MR at most; this and the next five do not change
 * @max_mrs:    MRs that transport makes at most, idle ones included
 * @mr_least:   entries that each MR is charged at least
 * @quirks:     what its driver does that the verbs leave open, or forbid
 * @checks_inv: the device refuses to invalidate a key that is not registered
 * @tells_writes: each RDMA WRITE has a completion (iWARP: rxp_chain_ready())
 * @short_until: in jiffies: no new grants before; read and written without a lock
 */
struct rxp_device {
	struct ib_device *ib;
	struct rpol_domain *domain;
	struct delayed_work tick;
	spinlock_t tick_lock;
	unsigned long tick_due;
	struct rxp_proc_dir *proc;
	char proc_name[IB_DEVICE_NAME_MAX];
	struct list_head proc_link;
	struct kref ref;
	struct rcu_head rcu;
	struct completion unused;
	bool removed;
	spinlock_t lock;
	struct list_head conns;
	u32 max_entries;
	u32 max_mrs;
	u32 mr_least;
	struct rxp_quirks quirks;
	bool checks_inv;
	bool tells_writes;
	unsigned long short_until;
};

static inline u32 rxp_max_sge(struct ib_device *ib)
{
	return min_t(u32, ib->attrs.max_send_sge, RXP_WRITE_SGE);
}

int rxp_device_register(void);
void rxp_device_unregister(void);
struct rxp_device *rxp_device_get(struct ib_device *ib);
void rxp_device_put(struct rxp_device *rdev);

/* ---------------------------------------------------------------------- pool */

/**
 * enum rxp_mr_state - what is known of an MR's key (binding.c)
 * @RXP_MR_IDLE:         no queue pair knows the key; left when a REG_MR is handed over
 * @RXP_MR_REGISTERING:  the REG_MR is in a queue; left when its chain is over, or when the key is
 *			 invalidated
 * @RXP_MR_VALID:        the REG_MR was executed; left when either side invalidates the key
 * @RXP_MR_RETURNED:     the peer has invalidated the key, but the chain of the REG_MR is not
 *			 over; left when it is
 * @RXP_MR_INVALIDATING: a LOCAL_INV is in the queue behind the REG_MR; left when that is over
 * @RXP_MR_UNKNOWN:      the queue pair has failed; never left, the MR is deregistered
 * @RXP_MR_NR_STATES:    number of states
 */
enum rxp_mr_state {
	RXP_MR_IDLE,
	RXP_MR_REGISTERING,
	RXP_MR_VALID,
	RXP_MR_RETURNED,
	RXP_MR_INVALIDATING,
	RXP_MR_UNKNOWN,
	RXP_MR_NR_STATES
};

/**
 * enum rxp_mr_event - what happens to an MR
 * @RXP_MR_POSTED:      a chain that registers it was handed over
 * @RXP_MR_REGISTERED:  that chain was executed
 * @RXP_MR_REMOTE_INV:  the peer has invalidated it, and can be believed
 * @RXP_MR_LOCAL_INV:   a chain that invalidates it is handed over
 * @RXP_MR_INVALIDATED: that chain was executed
 * @RXP_MR_FAILED:      either chain was not executed
 * @RXP_MR_NR_EVENTS:   number of events
 */
enum rxp_mr_event {
	RXP_MR_POSTED,
	RXP_MR_REGISTERED,
	RXP_MR_REMOTE_INV,
	RXP_MR_LOCAL_INV,
	RXP_MR_INVALIDATED,
	RXP_MR_FAILED,
	RXP_MR_NR_EVENTS
};

struct rxp_conn;
struct rxp_chain;

/**
 * struct rxp_mr - a memory region
 * @mr:     the region
 * @policy: its class and charge; on the policy's lists while idle
 * @pool:   the pool that it belongs to
 * @state:  of its binding; pool lock
 * @conn:   the connection that registers it, a reference; NULL while idle; pool lock
 * @buf:    id of the buffer that it was mapped for, or 0
 * @nents:  entries of that buffer that are mapped
 * @room:   entries that it can hold, which may be fewer than it is charged
 */
struct rxp_mr {
	struct ib_mr *mr;
	struct rpol_mr policy;
	struct rxp_pool *pool;
	enum rxp_mr_state state;
	struct rxp_conn *conn;
	u64 buf;
	u32 nents;
	u32 room;
};

/**
 * struct rxp_buf - pages for data, DMA mapped for as long as they are in a pool
 * @link:   among the idle ones of its class; pool lock
 * @id:     unique, never 0
 * @idle:   when it became idle, in jiffies
 * @class:  the MR class that covers it
 * @size:   bytes
 * @sg:     the chunks, DMA mapped in both directions; its arrays have memory of their own
 * @bv:     the chunks, for iterators
 *
 * All but @link and @idle is constant.  @idle, and what @sg and @bv point to, is the user's while
 * the buffer is not idle, and guarded by the pool's lock while it is.
 */
struct rxp_buf {
	struct list_head link;
	u64 id;
	unsigned long idle;
	u8 class;
	u32 size;
	struct rxp_sg sg;
	struct bio_vec *bv;
};

struct rxp_pool;

/**
 * struct rxp_pool_ops - what a pool asks of its owner; all but @free may be NULL
 * @recall: the policy wants MRs back that are lent to the peer.  Context: process, the pool's
 *	    worker; its session and connections may be gone.
 * @idle:   @bytes of buffers have become idle.  Returns whether they may be kept; if not they are
 *	    freed soon.  Context: any but hard interrupt, the pool's lock held.
 * @unidle: @bytes of idle buffers are used again, or freed.  Context: as @idle.
 * @free:   the last reference is gone: free the memory that the pool is in.  Context: process, a
 *	    worker; the pool's owner may be gone.
 */
struct rxp_pool_ops {
	void (*recall)(struct rxp_pool *pool);
	bool (*idle)(struct rxp_pool *pool, u32 bytes);
	void (*unidle)(struct rxp_pool *pool, u32 bytes);
	void (*free)(struct rxp_pool *pool);
};

/**
 * struct rxp_pool - the memory and the translations of a mount or a session
 * @ref:        the owner's, and one for each connection, request and grant on it
 * @ops:        the owner's callbacks; constant, as all down to @stats
 * @rdev:       the device, a reference
 * @pd:         the protection domain
 * @member:     the member of @rdev's domain
 * @stats:      where registrations are counted; outlives the pool
 * @max_sge:    entries of an RDMA WRITE; rxp_qp_create() may lower it, read without a lock
 * @vector:     completion vector of connection 0, set when that is set up; the other connections,
 *		which are set up after it, use those that follow
 * @lock:       guards the lists, and the states of MRs
 * @bufs:       idle buffers by class, the latest first; lock
 * @idle_bytes: bytes of the buffers in @bufs; lock
 * @closed:     buffers are not kept any more; lock
 * @decay:      frees buffers that have been idle for RXP_IDLE_SECS
 * @reap:       calls ops->recall(), and destroys MRs that the policy gives up
 * @free:       frees the pool after the last reference
 */
struct rxp_pool {
	struct kref ref;
	const struct rxp_pool_ops *ops;
	struct rxp_device *rdev;
	struct ib_pd *pd;
	struct rpol_member *member;
	struct rxp_stats *stats;
	u32 max_sge;
	u32 vector;
	spinlock_t lock;
	struct list_head bufs[RPOL_NR_CLASSES];
	u64 idle_bytes;
	bool closed;
	struct delayed_work decay;
	struct work_struct reap;
	struct work_struct free;
};

/* What a pool has before rxp_member_give_quota(): no minimum and no maximum. */
extern const struct rpol_quota rxp_quota_default;

int rxp_pool_init(struct rxp_pool *pool, const struct rxp_pool_ops *ops, struct rxp_device *rdev,
		  struct rxp_stats *stats);
void rxp_pool_get(struct rxp_pool *pool);
void rxp_pool_put(struct rxp_pool *pool);
void rxp_pool_close(struct rxp_pool *pool);
void rxp_pool_reclaim(void *pool);

void rxp_mr_destroy(struct rxp_pool *pool, struct rxp_mr *mr);
struct rxp_mr *rxp_mr_get(struct rxp_pool *pool, u32 entries);
bool rxp_mr_capped(struct rxp_pool *pool, u32 entries);
struct rxp_mr *rxp_mr_wait(struct rxp_pool *pool, u32 entries, u32 since);
void rxp_mr_put(struct rxp_pool *pool, struct rxp_mr *mr);
void rxp_mr_claim(struct rxp_pool *pool, u32 entries, struct rpol_waiter *w);
struct rxp_mr *rxp_mr_get_claimed(struct rxp_pool *pool, const struct rpol_waiter *w);
int rxp_mr_map(struct rxp_mr *mr, struct scatterlist *sgl, int nents, u32 len,
	       struct ib_reg_wr *wr);
int rxp_mr_map_buf(struct rxp_pool *pool, struct rxp_mr *mr, struct rxp_buf *buf, u32 len,
		   struct ib_reg_wr *wr);

enum rxp_mr_state rxp_mr_next(enum rxp_mr_state state, enum rxp_mr_event event);
void rxp_mr_posted(struct rxp_mr *mr, struct rxp_conn *conn);
void rxp_mr_chain_done(struct rxp_mr *mr, bool inv, bool ok);
bool rxp_mr_remote_inv(struct rxp_mr *mr, bool waits);
int rxp_mr_invalidate(struct rxp_mr *mr, struct rxp_chain *chain, struct ib_send_wr *wr,
		      void (*done)(struct rxp_chain *chain, bool ok));

/* What the peer may write to, if the MR is registered: its first @len bytes. */
static inline struct rxp_segment rxp_mr_segment(const struct rxp_mr *mr, u32 len)
{
	return (struct rxp_segment) {
		.rkey = mr->mr->rkey,
		.length = len,
		.iova = mr->mr->iova,
	};
}

/* Does a queue pair know the MR's key, or might it? */
static inline bool rxp_mr_known(const struct rxp_mr *mr)
{
	return READ_ONCE(mr->state) != RXP_MR_IDLE;
}

/* May the peer write to the MR now, or may it have done so a moment ago? */
static inline bool rxp_mr_writable(const struct rxp_mr *mr)
{
	enum rxp_mr_state state = READ_ONCE(mr->state);

	return state == RXP_MR_REGISTERING || state == RXP_MR_VALID || state == RXP_MR_UNKNOWN;
}

void rxp_buf_decay(struct work_struct *work);
u32 rxp_buf_size(u32 len);
struct rxp_buf *rxp_buf_get_idle(struct rxp_pool *pool, u32 len);
struct rxp_buf *rxp_buf_get(struct rxp_pool *pool, u32 len);
void rxp_buf_trim(struct rxp_pool *pool, u64 keep);
void rxp_buf_put(struct rxp_pool *pool, struct rxp_buf *buf);
u32 rxp_buf_nents(const struct rxp_buf *buf, u32 len);
u32 rxp_buf_pages(const struct rxp_buf *buf, u32 len);
void rxp_buf_sync_for_cpu(struct rxp_pool *pool, struct rxp_buf *buf);
void rxp_buf_sync_for_device(struct rxp_pool *pool, struct rxp_buf *buf);

/* ---------------------------------------------------------------- connection */

/**
 * struct rxp_chain - work requests that are posted with one doorbell
 * @cqe:    of its completion
 * @conn:   the connection that it was handed to
 * @mr:     the MR that it registers or invalidates, or NULL
 * @inv:    it invalidates @mr
 * @link:   in @conn's @pending or @posted, or a task's plug; sq_lock
 * @first:  the first work request
 * @last:   the last work request
 * @nr:     how many there are
 * @frees:  send-queue entries that its completion gives back
 * @serial: its number among the connection's chains
 * @since:  when it was handed over, in jiffies
 * @quiet:  no caller waits for its completion (rxp_chain_quiet())
 * @done:   called when the chain is over.  @ok: the last work request was executed, or, if the
 *	    chain is quiet, was posted.  The chain may be reused or freed in it.  Context: softirq
 *	    or process context; if the chain was posted plugged, that of a task about to sleep
 *	    (rxp_unplug()).
 *
 * All of it belongs to send.c from when it is handed over until done() is called, else to its
 * owner.
 */
struct rxp_chain {
	struct ib_cqe cqe;
	struct rxp_conn *conn;
	struct rxp_mr *mr;
	bool inv;
	struct list_head link;
	struct ib_send_wr *first;
	struct ib_send_wr *last;
	u32 nr;
	u32 frees;
	u64 serial;
	unsigned long since;
	bool quiet;
	void (*done)(struct rxp_chain *chain, bool ok);
};

/**
 * struct rxp_ring - message buffers of one owner, of equal size
 * @nr:      buffers
 * @size:    bytes of each
 * @per:     buffers in a chunk
 * @order:   page order of a chunk
 * @chunk:   the chunks, one run of pages each
 * @charged: on a client: bytes of large receives that count (client/recv_ring.c)
 */
struct rxp_ring {
	u32 nr;
	u32 size;
	u32 per;
	u32 order;
	void **chunk;
	u64 charged;
};

int rxp_ring_init(struct rxp_ring *ring, u32 nr, u32 size, enum dma_data_direction dir, bool must);
void rxp_ring_destroy(struct rxp_ring *ring);
void *rxp_ring_buf(const struct rxp_ring *ring, u32 i);
dma_addr_t *rxp_ring_map(const struct rxp_ring *ring, struct ib_device *ib,
			 enum dma_data_direction dir);
void rxp_ring_unmap(const struct rxp_ring *ring, struct ib_device *ib, dma_addr_t *dma,
		    enum dma_data_direction dir);
u64 rxp_ring_dma(const struct rxp_ring *ring, const dma_addr_t *dma, u32 i);

struct rxp_rx {
	struct ib_cqe cqe;
	struct rxp_conn *conn;
	u32 index;
	atomic_t users;		/* frames of its message that are in use, and the handler's own */
};

/**
 * struct rxp_conn_ops - what a connection tells its owner, and asks of it
 * @recv: a message of @len bytes is in rxp_conn_buf(@rx).  The owner gives the buffer back by
 *	  rxp_rx_put(), now or later.  Context: softirq on the client, process context on the
 *	  server.
 * @lost: the connection is of no more use.  Called once, in any context, under the connection's
 *	  state_lock.  The owner kills and destroys it from a worker, and holds a reference until
 *	  then.
 * @room: rxp_ctl_send() has returned -EBUSY, and a buffer is free now.  Context: as @recv.
 * @receives: make rx_ring for nr_rx receives of @size bytes at most, and of RXP_MSG_MAX at least,
 *	  and set recv_size.  Context: process, from rxp_conn_setup(), may sleep.  0 or a negative
 *	  errno.
 * @free: the last reference is gone: free rx_ring, and the memory that the connection is in.  Its
 *	  owner may be gone, too, with the counters.  Context: process, may sleep.
 */
struct rxp_conn_ops {
	void (*recv)(struct rxp_conn *conn, struct rxp_rx *rx, struct ib_wc *wc, u32 len);
	void (*lost)(struct rxp_conn *conn);
	void (*room)(struct rxp_conn *conn);
	int (*receives)(struct rxp_conn *conn, u32 size);
	void (*free)(struct rxp_conn *conn);
};

/**
 * struct rxp_conn - a connection: queue pair, completion queue, receives
 * @ref:        the owner's, and one for each user of a receive buffer or of a registered MR
 * @rdev:       the device, as long as @pool is held; NULL before rxp_conn_setup() and after
 *		rxp_conn_destroy(), which are the owner's worker's
 * @pool:       the pool, a reference; as @rdev
 * @id:         connection identifier, destroyed by rxp_conn_destroy()
 * @qp:         queue pair; the owner's worker makes and destroys it; posting: @sq_lock, and not
 *		dead
 * @cq:         completion queue of sends and receives; made and destroyed with @qp
 * @ops:        the owner's callbacks; constant
 * @owner:      the mount (struct rdmafs_xprt) or the server; constant
 * @dev_link:   in @rdev's @conns; the device's lock
 * @stats:      where it counts: the mount's, or the server's until a session has the connection.
 *		The owner's worker changes it; read without a lock
 * @rx_ring:    the receive buffers, freed with the struct; set up by rxp_conn_setup(), as @rx and
 *		@rx_dma
 * @rx:         one for each receive buffer
 * @rx_dma:     DMA addresses of @rx_ring
 * @tx_ring:    the owner's slot buffers, while mapped for this connection; the owner's worker maps
 *		and unmaps them while no slot's message can be sent on it
 * @tx_dma:     their DMA addresses; likewise
 * @sq_lock:    guards posting on @qp, and the fields from @sq_free to @posted
 * @sq_free:    work requests that the send queue has room for
 * @sq_quiet:   quiet chains posted unsignaled since the last signaled work request
 * @sq_quiet_max: quiet chains after which one is signaled; set with @qp, as @send_sge
 * @send_sge:   scatter/gather entries of one SEND at most
 * @joined:     entries of messages while they are posted as one
 * @plugged:    tasks that hold plugged chains; rxp_conn_kill() waits for them, reading it without
 *		the lock
 * @chains:     number of chains handed over; the client's heartbeat reads it without the lock
 * @moved:      when any chain, or an RDMA WRITE on iWARP, last completed, in jiffies; also read
 *		and written without the lock, as is @data_moved
 * @data_moved: the same for RDMA WRITEs, and for chains that begin with one
 * @by_reference: constant: that of @rdev's quirks, which is also asked for when @rdev is gone
 * @over:       the connection is dead and every chain was given back
 * @pending:    chains that wait for send-queue room
 * @posted:     chains that have had no completion, or will have none
 * @err_cqe:    of work requests other than a signaled chain's last; constant, as @quiet_cqe
 * @quiet_cqe:  of a quiet chain that is signaled to free the room of quiet ones
 * @state_lock: guards @state; a leaf but for ops->lost().  DEAD is set with @sq_lock held, too
 * @state:      enum rxp_conn_state, see connstate.c
 * @broke:      the peer broke the protocol on it; set once; no lock
 * @index:      among the @count connections of its session; constant, as @count
 * @count:      connections of its session
 * @slots:      slots of its session; the owner's worker sets it, and for a client once more when
 *		the server has granted them; read without a lock
 * @nr_rx:      receives; set by rxp_conn_setup(), as @recv_size
 * @recv_size:  bytes of each of our receives
 * @join_max:   bytes of a joined message at most; 0: messages must not be joined yet.  Set once,
 *		before anything but the HELLO is sent
 * @data_max:   most bytes of data of one RPC; the owner's worker sets it, at the latest when the
 *		connection is bound; read without a lock
 * @last_rx:    when a message last came, in jiffies; as @received
 * @received:   messages received; written by the receive handler only, read without a lock
 * @sent:       messages handed to the device, without those joined to others; @sq_lock, but the
 *		client's heartbeat reads it without
 * @cm:         private data of the peer: the request on a server, where it is constant; the accept
 *		on a client, which the CM's handler writes before rxc_conn.cm_done
 * @ctl:        buffers for messages that belong to no slot: WELCOME, PONG and RECALL of a server;
 *		HELLO, PING, BYE and RETURN of a client.  A buffer is its sender's while it is @busy
 * @ctl_short:  bit 0: a sender found none of @ctl free, and ops->room() is due; atomic
 */
struct rxp_conn {
	struct kref ref;
	struct rxp_device *rdev;
	struct rxp_pool *pool;
	struct rdma_cm_id *id;
	struct ib_qp *qp;
	struct ib_cq *cq;
	const struct rxp_conn_ops *ops;
	void *owner;
	struct list_head dev_link;
	struct rxp_stats *stats;

	struct rxp_ring rx_ring;
	struct rxp_rx *rx;
	dma_addr_t *rx_dma;

	const struct rxp_ring *tx_ring;
	dma_addr_t *tx_dma;

	spinlock_t sq_lock;
	u32 sq_free;
	u32 sq_quiet;
	u32 sq_quiet_max;
	u32 send_sge;
	struct ib_sge joined[RXP_JOINED];
	u32 plugged;
	u64 chains;
	unsigned long moved;
	unsigned long data_moved;
	bool by_reference;
	bool over;
	struct list_head pending;
	struct list_head posted;
	struct ib_cqe err_cqe;
	struct ib_cqe quiet_cqe;

	spinlock_t state_lock;
	enum rxp_conn_state state;
	bool broke;
	u32 index;
	u32 count;
	u32 slots;
	u32 nr_rx;
	u32 recv_size;
	u32 join_max;
	u32 data_max;
	u64 last_rx;
	u64 received;
	u64 sent;

	struct rxp_wire_cm cm;
	struct rxp_ctl *ctl;
	unsigned long ctl_short;
};

/*
 * A buffer for a message that belongs to no slot.
 *
 * There are RXP_RECV_RESERVE of them.  Most kinds of message need no buffer if none is free: the
 * same message is on its way already.  For RECALL, RETURN and EVENT, ops->room() tells the owner
 * when one is free again.  All grants that a session can have fit into all of these buffers
 * together.
 */
#define RXP_CTL_MSG	(sizeof(struct rxp_wire_hdr) + sizeof(struct rxp_wire_keys) +	\
			 RXP_WIRE_KEYS * sizeof(__le32))
static_assert(RXP_RECV_RESERVE * RXP_WIRE_KEYS >= RXP_WIRE_GRANTS);

struct rxp_ctl {
	struct rxp_chain chain;
	struct ib_rdma_wr wr;
	struct ib_sge sge;
	struct rxp_conn *conn;
	unsigned long busy;
	u64 dma;
	u8 msg[RXP_CTL_MSG] __aligned(8);
};

void rxp_conn_init(struct rxp_conn *conn, const struct rxp_conn_ops *ops, void *owner,
		   struct rxp_stats *stats, u32 index, u32 count);
int rxp_qp_create(struct rxp_conn *conn, u32 carried, enum ib_poll_context poll);
int rxp_conn_setup(struct rxp_conn *conn, struct rxp_pool *pool, u32 slots,
		   enum ib_poll_context poll);
int rxp_conn_map_tx(struct rxp_conn *conn, const struct rxp_ring *ring);
void rxp_conn_unmap_tx(struct rxp_conn *conn);
void rxp_conn_get(struct rxp_conn *conn);
void rxp_conn_put(struct rxp_conn *conn);
int rxp_conn_move(struct rxp_conn *conn, enum rxp_conn_event event);
void rxp_conn_tune(struct rxp_conn *conn);
void rxp_conn_lost(struct rxp_conn *conn);
void rxp_conn_kill(struct rxp_conn *conn);
void rxp_conn_destroy(struct rxp_conn *conn);
void rxp_conn_protocol_error(struct rxp_conn *conn, const char *what);

/* The connection is, or ends up, of no use; once true this stays true. */
static inline bool rxp_conn_is_lost(const struct rxp_conn *conn)
{
	return READ_ONCE(conn->state) >= RXP_CONN_LOST;
}

/* Is posting barred?  @conn->sq_lock held. */
static inline bool rxp_conn_is_dead(const struct rxp_conn *conn)
{
	lockdep_assert_held(&conn->sq_lock);
	return conn->state == RXP_CONN_DEAD;
}

static inline void *rxp_conn_buf(struct rxp_rx *rx)
{
	return rxp_ring_buf(&rx->conn->rx_ring, rx->index);
}

static inline void rxp_rx_get(struct rxp_rx *rx)
{
	atomic_inc(&rx->users);
}

void rxp_rx_put(struct rxp_rx *rx);

/**
 * enum rxp_posted - what has become of a chain
 * @RXP_POSTED:      it is posted, or waits for room: done() will be called
 * @RXP_POSTED_OVER: it is quiet, and posted: send.c calls done() once the lock is dropped
 * @RXP_POSTED_LOST: the connection is lost, and rxp_conn_lost() has to be called; done() will be
 */
enum rxp_posted {
	RXP_POSTED,
	RXP_POSTED_OVER,
	RXP_POSTED_LOST,
};

void rxp_send_init(struct rxp_conn *conn);
void rxp_send_limit(struct rxp_conn *conn);
u64 rxp_send_oldest(struct rxp_conn *conn);
u64 rxp_send_stalled(struct rxp_conn *conn, unsigned long before, unsigned long ever);
void rxp_send_end(struct rxp_conn *conn);
void rxp_chain_init(struct rxp_chain *chain,
		    void (*done)(struct rxp_chain *chain, bool ok));
void rxp_chain_add(struct rxp_chain *chain, struct ib_send_wr *wr);
void rxp_chain_reg(struct rxp_chain *chain, struct rxp_mr *mr, struct ib_reg_wr *wr);
void rxp_chain_quiet(const struct rxp_conn *conn, struct rxp_chain *chain, u32 bytes);
enum rxp_posted rxp_post_or_queue(struct rxp_conn *conn, struct rxp_chain *chain);
int rxp_post(struct rxp_conn *conn, struct rxp_chain *chain);
int rxp_post_behind(struct rxp_conn *conn, struct rxp_chain *chain);
int rxp_post_plugged(struct rxp_conn *conn, struct rxp_chain *chain);
int rxp_ctl_init(struct rxp_conn *conn);
void rxp_ctl_unmap(struct rxp_conn *conn);
void rxp_ctl_flush(struct rxp_conn *conn, unsigned long timeout);
int rxp_ctl_send(struct rxp_conn *conn, u8 type, u8 op, const void *body, u32 len);
int rxp_ctl_send_keys(struct rxp_conn *conn, u8 type, u8 op, const u32 *rkeys, u32 nr);
void rxp_ctl_rtr(struct rxp_conn *conn);

void rxp_fill_send(struct ib_send_wr *wr, struct ib_sge *sge, int nr_sge, u32 inv_rkey);
void rxp_fill_inv(struct ib_send_wr *wr, u32 rkey);
void rxp_build_ctl(const struct rxp_pool *pool, void *buf, u64 dma, const struct rxp_frame *f,
		   struct ib_sge *sge, struct ib_send_wr *wr, u32 inv_rkey);

extern struct workqueue_struct *rxp_wq;
extern unsigned int rxp_grace_ms;
extern unsigned int rxp_recv_size;
extern int rxp_service_type;

/* The grace period T (Magoutis, section 3), in jiffies. */
static inline unsigned long rxp_grace(void)
{
	return msecs_to_jiffies(rdmafs_test_knob(grace_ms) ?: READ_ONCE(rxp_grace_ms));
}

/* ---------------------------------------------------------------------- proc */

/**
 * struct rxp_proc_kind - one kind of file in a directory of /proc/fs/rdmafs
 * @name:    the file's name
 * @show:    writes its text; called while the owner is kept by the directory's lock, as is @write
 * @write:   takes a text that was written, without its newline; 0 or a negative errno.  NULL: the
 *	     file is read-only
 * @at_once: @write does not wait for other writes
 */
struct rxp_proc_kind {
	const char *name;
	void (*show)(struct seq_file *m, void *owner);
	int (*write)(void *owner, char *text);
	bool at_once;
};

int rxp_proc_init(void);
void rxp_proc_exit(void);
void rxp_proc_remove(struct rxp_proc_dir *dir);
void rxp_proc_name_device(struct rxp_device *rdev, const struct rxp_proc_kind *kinds, int nr);
void rxp_proc_remove_device(struct rxp_device *rdev);
struct rxp_proc_dir *rxp_proc_make(const char *name, const struct net *net,
				   const struct rxp_proc_kind *kinds, int nr, void *owner);

/* -------------------------------------------------------------------- member */

struct rxp_member;

/**
 * struct rxp_member_ops - what a mount and a session on a server do each in its own way
 * @pool:        returns a reference on the pool that the member has now, or NULL.  Context:
 *		 process; the member's lock may be held
 * @set_quota:   changes the quota as /proc asks for it; see rxp_member_set_quota()
 * @show_mount:  writes the line of the file mount
 * @show_window: writes the first lines of the file window
 * @abort:       begins to end the mount or the session
 */
struct rxp_member_ops {
	struct rxp_pool *(*pool)(struct rxp_member *member);
	int (*set_quota)(struct rxp_member *member, const struct rpol_quota *quota);
	void (*show_mount)(struct seq_file *m, struct rxp_member *member);
	void (*show_window)(struct seq_file *m, struct rxp_member *member);
	void (*abort)(struct rxp_member *member);
};

/**
 * struct rxp_member - what shares RNICs with others: a mount, or a session on a server
 * @ops:   what differs between the two; constant
 * @name:  the peer's address and port, for people; constant
 * @stats: its counters; constant
 * @dir:   its directory in /proc, or NULL; its owner's
 * @lock:  guards @quota, and serialises a change of it and a change of the pool.  Its holder
 *	   takes spinlocks, and waits for no device and no peer
 * @quota: the quota, for any pool that the member gets; @lock
 */
struct rxp_member {
	const struct rxp_member_ops *ops;
	char name[64];
	struct rxp_stats *stats;
	struct rxp_proc_dir *dir;
	struct mutex lock;
	struct rpol_quota quota;
};

void rxp_member_init(struct rxp_member *member, const struct rxp_member_ops *ops,
		     const struct sockaddr_storage *peer, struct rxp_stats *stats,
		     const struct rpol_quota *quota);
int rxp_member_set_quota(struct rxp_member *member, const struct rpol_quota *quota, bool keep);
void rxp_member_get_quota(struct rxp_member *member, struct rpol_quota *quota);
int rxp_member_give_quota(struct rxp_member *member, struct rxp_pool *pool, bool must);
int rxp_member_make_dir(struct rxp_member *member, const struct net *net, const char *name);

#endif
