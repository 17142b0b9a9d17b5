/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of transport share.
 *
 * Objects, and who keeps whom alive:
 *
 *	rxp_device   one RNIC, from ib_client's add to its remove; holds the
 *		     policy's domain.  Removal waits for all pools to go.
 *	rxp_pool     protection domain, member of the policy's domain, idle MRs
 *		     and idle data buffers.  A mount keeps one for as long as
 *		     it stays on the same device; a server's session gets that
 *		     of its connection 0, which the others join (design,
 *		     rule 5).  References: the owner, each connection on it.
 *	rxp_conn     a queue pair and its receives.  The queue pair goes in
 *		     rxp_conn_destroy(), by the owner's worker, after a drain;
 *		     the struct and its receive buffers go with the last
 *		     reference, since requests read bodies where they arrived.
 *	rxp_chain    work requests posted with one doorbell, embedded in what
 *		     they belong to.  done() is called exactly once: by the
 *		     completion of the last one, or after the drain, or, if
 *		     nobody has to know (send.c, "quiet"), when it is posted.
 *
 * Locks, outermost first:
 *
 *	rdmafs_xprt_server.lock or rdmafs_xprt.recover (the one recovery worker)
 *	rdmafs_xprt.lock or rdmafs_xprt_session.lock
 *	rxp_conn.sq_lock
 *	rxp_pool.lock
 *	rxp_threads.lock
 *
 * All of them are spinlocks that disable softirqs: completions come in softirq
 * on the client, in process context on the server.
 */
#ifndef RDMAFS_TRANSPORT_INTERNAL_H
#define RDMAFS_TRANSPORT_INTERNAL_H

#include <linux/completion.h>
#include <linux/kref.h>
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
#include "transport/xprt.h"

/* Bytes at the end of a slot's buffer for the CONTROL or NOTIFY of its RPC. */
#define RXP_CTL_MAX	64
#define RXP_SLOT_BUF	(RXP_MSG_MAX + RXP_CTL_MAX)

/* Scatter/gather entries of one RDMA WRITE: more need more memory in each queue entry. */
#define RXP_WRITE_SGE	16

/* Bytes of RDMA WRITEs for which a doorbell waits at most: rxp_post_plugged(). */
#define RXP_PLUG_MAX	SZ_1M

/* Scatter/gather entries of the messages of one doorbell that travel in others. */
#define RXP_JOINED	64

/* Seconds after which an idle MR or data buffer is given back. */
#define RXP_IDLE_SECS	5

/*
 * So often is a packet, or a SEND that found no receive, sent again.  More is "for
 * ever", on rxe at least, so a server takes no client whose queue pair would do so.
 */
#define RXP_RETRY_COUNT	6

/* Time after which a session without a message ends (design, section 6). */
#define RXP_LEASE_MS	30000

/* ------------------------------------------------------------------ counters */

/* Names in /proc stand in proc.c, in this order; Documentation/ABI describes them. */
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
	RXP_STAT_returns,
	RXP_STAT_retry_later,
	RXP_STAT_cancelled,
	RXP_STAT_replays,
	RXP_STAT_reconnects,
	RXP_STAT_session_resets,
	RXP_STAT_protocol_errors,
	RXP_STAT_rpc_us,
	RXP_STAT_poll_hits,
	RXP_STAT_poll_misses,
	RXP_NR_STATS
};

/**
 * struct rxp_stats - a set of counters
 * @v:	   the counters
 * @pools: pools that count here and are not gone yet
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

struct rxp_device {
	struct ib_device *ib;
	struct rpol_domain *domain;
	struct delayed_work tick;	/* the domain's */
	spinlock_t tick_lock;		/* a leaf */
	unsigned long tick_due;		/* jiffies, while it is queued */
	struct rxp_proc_dir *proc;	/* or NULL; this and the next two: proc.c's */
	char proc_name[IB_DEVICE_NAME_MAX];	/* that it was made under */
	struct list_head proc_link;
	struct kref ref;
	struct rcu_head rcu;
	struct completion unused;
	bool removed;
	spinlock_t lock;		/* conns */
	struct list_head conns;
	u32 max_entries;		/* of one MR */
	u32 max_mrs;			/* that we make at most, idle ones included */
	u32 mr_least;			/* entries that each is charged at least */
	bool keeps_pages;		/* an invalid MR names its pages still */
	bool checks_inv;		/* refuses to invalidate what is not registered */
	bool repeats_reg;		/* and may register it again until the chain is over */
	bool short_writes;		/* long RDMA WRITEs take longer: rxp_build_writes() */
	bool tells_writes;		/* each RDMA WRITE has a completion */
	unsigned long short_until;	/* jiffies: no new grants before */
};

static inline u32 rxp_max_sge(struct ib_device *ib)
{
	return min_t(u32, ib->attrs.max_send_sge, RXP_WRITE_SGE);
}

int rxp_device_register(void);
void rxp_device_unregister(void);
struct rxp_device *rxp_device_get(struct ib_device *ib);
void rxp_device_put(struct rxp_device *rdev);
int rxp_device_set_capacity(struct rxp_device *rdev, u64 capacity);

/* ---------------------------------------------------------------------- pool */

/**
 * enum rxp_mr_state - what is known of an MR's key (binding.c)
 * @RXP_MR_IDLE:	 no queue pair knows it
 * @RXP_MR_REGISTERING:	 its REG_MR stands in a queue
 * @RXP_MR_BOUND:	 that was executed
 * @RXP_MR_RETURNED:	 the peer has invalidated it, but that chain is not over
 * @RXP_MR_INVALIDATING: a LOCAL_INV stands behind it
 * @RXP_MR_UNKNOWN:	 its queue pair has failed
 * @RXP_MR_NR_STATES:	 how many
 */
enum rxp_mr_state {
	RXP_MR_IDLE,
	RXP_MR_REGISTERING,
	RXP_MR_BOUND,
	RXP_MR_RETURNED,
	RXP_MR_INVALIDATING,
	RXP_MR_UNKNOWN,
	RXP_MR_NR_STATES
};

/**
 * enum rxp_mr_event - what becomes of an MR
 * @RXP_MR_POSTED:	a chain that registers it was handed over
 * @RXP_MR_REGISTERED:	and was executed
 * @RXP_MR_REMOTE_INV:	the peer has invalidated it, and is believed
 * @RXP_MR_LOCAL_INV:	a chain that invalidates it was handed over
 * @RXP_MR_INVALIDATED:	and was executed
 * @RXP_MR_FAILED:	either chain was not executed
 * @RXP_MR_NR_EVENTS:	how many
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
 * @mr:	     the region
 * @policy:  its class and what it is charged; on the policy's lists while idle
 * @pool:    whose it is
 * @state:   of its binding; the pool's lock
 * @conn:    where it was registered, with a reference, unless it is idle
 * @buf:     id of the buffer that it was mapped for, or 0
 * @nents:   entries of it
 * @room:    entries it can hold, which may be fewer than it is charged
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
 * @link:    among the idle ones of its class
 * @id:	     never another's, not 0
 * @idle:    when it became idle, in jiffies
 * @class:   MR class that covers it
 * @nents:   chunks
 * @mapped:  DMA mapped entries of @sgl: fewer than @nents if an IOMMU joins them
 * @size:    bytes
 * @sgl:     the chunks, DMA mapped
 * @bv:	     the same for iterators
 * @sge:     room for the local side of RDMA WRITEs
 * @wr:	     room for the RDMA WRITEs
 */
struct rxp_buf {
	struct list_head link;
	u64 id;
	unsigned long idle;
	u8 class;
	u32 nents;
	u32 mapped;
	u32 size;
	struct scatterlist *sgl;
	struct bio_vec *bv;
	struct ib_sge *sge;
	struct ib_rdma_wr *wr;
};

/**
 * struct rxp_pages - pages lent by the service, DMA mapped
 * @nr:	 entries of @sgl
 * @sgl: the pages, a reference each
 * @sge: room for the local side of RDMA WRITEs
 * @wr:	 room for the RDMA WRITEs
 */
struct rxp_pages {
	u32 nr;
	struct scatterlist *sgl;
	struct ib_sge *sge;
	struct ib_rdma_wr *wr;
};

struct rxp_pool {
	struct kref ref;
	struct rxp_device *rdev;
	struct ib_pd *pd;
	struct rpol_member *member;
	struct rxp_stats *stats;
	u32 max_sge;			/* may fall, see rxp_qp_create() */
	u32 vector;			/* for completions of connection 0; the others follow */
	spinlock_t lock;		/* the lists, and the states of MRs */
	struct list_head bufs[RPOL_NR_CLASSES];
	struct list_head lent;		/* of a server: WRITEs whose MR others may have */
	u64 idle_bytes;			/* of those in @bufs; lock */
	bool closed;			/* no buffer stays; lock */
	atomic_t claims;		/* of a server: WRITEs that stand in line */
	struct delayed_work decay;
	struct work_struct reap;	/* recalls grants, and destroys the policy's victims */
	struct work_struct free;
	struct rdmafs_xprt_session *session;	/* while it is bound, on a server; lock */
	struct rxp_taker *taker;	/* of a server: its client's account; a reference */
};

struct rxp_pool *rxp_pool_create(struct rxp_device *rdev, const struct rpol_quota *quota,
				 struct rxp_stats *stats);
void rxp_pool_get(struct rxp_pool *pool);
void rxp_pool_put(struct rxp_pool *pool);
void rxp_pool_close(struct rxp_pool *pool);
void rxp_pool_reclaim(void *pool);
void rxp_grants_recall(struct rxp_pool *pool);
void rxp_reqs_recall(struct rxp_pool *pool);

struct rxp_mr *rxp_mr_get(struct rxp_pool *pool, u32 entries);
bool rxp_mr_capped(struct rxp_pool *pool, u32 entries);
struct rxp_mr *rxp_mr_wait(struct rxp_pool *pool, u32 entries, u32 since);
void rxp_mr_put(struct rxp_pool *pool, struct rxp_mr *mr);
void rxp_mr_claim(struct rxp_pool *pool, u32 entries, struct rpol_waiter *w);
struct rxp_mr *rxp_mr_claimed(struct rxp_pool *pool, const struct rpol_waiter *w);
int rxp_mr_map(struct rxp_mr *mr, struct scatterlist *sgl, int nents, u32 len,
	       struct ib_reg_wr *wr);
int rxp_mr_map_buf(struct rxp_pool *pool, struct rxp_mr *mr, struct rxp_buf *buf, u32 len,
		   struct ib_reg_wr *wr);

enum rxp_mr_state rxp_mr_next(enum rxp_mr_state state, enum rxp_mr_event event);
void rxp_mr_trace(const struct rxp_mr *mr, enum rxp_mr_event event, enum rxp_mr_state to);
void rxp_mr_posted(struct rxp_mr *mr, struct rxp_conn *conn);
void rxp_mr_over(struct rxp_mr *mr, bool inv, bool ok);
bool rxp_mr_remote_inv(struct rxp_mr *mr, bool waits);
int rxp_mr_invalidate(struct rxp_mr *mr, struct rxp_chain *chain, struct ib_send_wr *wr,
		      void (*done)(struct rxp_chain *chain, bool ok));

/* Does a queue pair know the MR's key, or may one? */
static inline bool rxp_mr_known(const struct rxp_mr *mr)
{
	return READ_ONCE(mr->state) != RXP_MR_IDLE;
}

/* May the peer write to the MR now, or might it have just before? */
static inline bool rxp_mr_lent(const struct rxp_mr *mr)
{
	enum rxp_mr_state state = READ_ONCE(mr->state);

	return state == RXP_MR_REGISTERING || state == RXP_MR_BOUND || state == RXP_MR_UNKNOWN;
}

u32 rxp_buf_size(u32 len);
struct rxp_buf *rxp_buf_get_idle(struct rxp_pool *pool, u32 len);
struct rxp_buf *rxp_buf_get(struct rxp_pool *pool, u32 len);
void rxp_buf_trim(struct rxp_pool *pool, u64 keep);
void rxp_buf_put(struct rxp_pool *pool, struct rxp_buf *buf);
u32 rxp_buf_nents(const struct rxp_buf *buf, u32 len);
u32 rxp_buf_pages(const struct rxp_buf *buf, u32 len);
void rxp_buf_sync_for_cpu(struct rxp_pool *pool, struct rxp_buf *buf);
void rxp_buf_sync_for_device(struct rxp_pool *pool, struct rxp_buf *buf);

struct rxp_pages *rxp_pages_lend(struct rxp_pool *pool, const struct bio_vec *bv, u32 nr);
void rxp_pages_release(struct rxp_pool *pool, struct rxp_pages *p);

/* ---------------------------------------------------------------- connection */

/**
 * struct rxp_budget - bytes for the message buffers of a server, and for pages of data
 * @ref:       the server's, and each taker's, which may be freed later
 * @lock:      a leaf
 * @ring:      taken
 * @ring_max:  so many may be
 * @large:     of those, by large receives
 * @large_max: so many may be
 * @share:     percent of what others leave that one client may take, of either
 * @refused:   connections and sessions that found too few
 * @data:      of pages behind large READs and WRITEs
 * @data_max:  so many may be
 * @beyond:    of those of requests that had no room, one of each session at most, besides;
 *	       no more than @data_max, too
 * @idle:      of pages for data that are kept for the next ones, besides
 * @refused_data: times that a client found too few of these
 * @takers:    &struct rxp_taker, clients that have some
 * @nr_takers: how many
 */
struct rxp_budget {
	struct kref ref;
	spinlock_t lock;	/* the rest */
	u64 ring;
	u64 ring_max;
	u64 large;
	u64 large_max;
	u32 share;
	u64 refused;
	u64 data;
	u64 data_max;
	u64 beyond;
	u64 idle;
	u64 refused_data;
	struct list_head takers;
	u32 nr_takers;
};

/**
 * struct rxp_taker - what a client has of a budget
 * @budget:  the budget; a reference
 * @link:    in its list
 * @source:  which client
 * @refs:    of connections and sessions; these and the next seven: the budget's lock
 * @ring:    bytes of message buffers
 * @large:   of those, of large receives
 * @data:    bytes of pages for data, of all its sessions
 * @granted: of those, of grants
 * @recalled: of these, of grants that are to come back
 * @idle:    bytes of pages that its sessions' pools keep, besides
 * @beyond:  bytes of pages of its sessions' requests beyond the bounds, besides
 * @unbound: its connections that are no session's; the server's lock
 */
struct rxp_taker {
	struct rxp_budget *budget;
	struct list_head link;
	struct rdmafs_xprt_source source;
	u32 refs;
	u64 ring;
	u64 large;
	u64 data;
	u64 granted;
	u64 recalled;
	u64 idle;
	u64 beyond;
	u32 unbound;
};

struct rxp_budget *rxp_budget_create(const struct rdmafs_xprt_limits *limits);
void rxp_budget_set(struct rxp_budget *b, const struct rdmafs_xprt_limits *limits);
void rxp_budget_put(struct rxp_budget *b);
struct rxp_taker *rxp_taker_get(struct rxp_budget *b, const struct rdmafs_xprt_source *source);
struct rxp_taker *rxp_taker_hold(struct rxp_taker *t);
void rxp_taker_put(struct rxp_taker *t);
bool rxp_taker_charge(struct rxp_taker *t, u64 bytes);
void rxp_taker_uncharge(struct rxp_taker *t, u64 bytes, u64 large);
u32 rxp_taker_large(struct rxp_taker *t, u32 nr, u32 size);
bool rxp_taker_idle(struct rxp_taker *t, u32 bytes);
void rxp_taker_unidle(struct rxp_taker *t, u32 bytes);

struct rxp_chain {
	struct ib_cqe cqe;
	struct rxp_conn *conn;
	struct rxp_mr *mr;	/* that it registers, or invalidates, or NULL */
	bool inv;		/* the latter */
	struct list_head link;
	struct ib_send_wr *first;
	struct ib_send_wr *last;
	u32 nr;
	u32 frees;		/* send-queue entries that its completion gives back */
	u64 serial;		/* of the connection's chains */
	unsigned long since;	/* jiffies: it was handed over */
	bool quiet;
	/*
	 * @ok: the last work request was executed, or will be.  Softirq or
	 * process context, that of a task about to sleep (rxp_unplug()) if it was
	 * posted plugged; the chain may be reused or freed in it.
	 */
	void (*done)(struct rxp_chain *chain, bool ok);
};

/**
 * struct rxp_ring - message buffers of one owner, of equal size
 * @nr:	   buffers
 * @size:  bytes of each
 * @per:   buffers in a chunk
 * @order: of a chunk
 * @chunk: the chunks, one run of pages each
 * @charged: bytes of them in rxp_recv_charged: large receives
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
	atomic_t users;		/* frames of the message in it that are in use */
};

/**
 * struct rxp_conn_ops - what a connection tells its owner
 * @recv: a message of @len bytes is in rxp_conn_buf(@rx); the owner gives the
 *	  buffer back by rxp_rx_put(), now or later.  Softirq on the client,
 *	  process context on the server.
 * @lost: the connection is of no more use.  Called once, any context.  The
 *	  owner kills, drains and destroys it from a worker, and holds a reference
 *	  for that.
 * @room: rxp_ctl_send() returned -EBUSY, and need not any more.  As @recv.
 */
struct rxp_conn_ops {
	void (*recv)(struct rxp_conn *conn, struct rxp_rx *rx, struct ib_wc *wc, u32 len);
	void (*lost)(struct rxp_conn *conn);
	void (*room)(struct rxp_conn *conn);
};

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

	/* The owner's slot buffers, mapped for this connection's device. */
	const struct rxp_ring *tx_ring;
	dma_addr_t *tx_dma;

	spinlock_t sq_lock;
	u32 sq_free;
	u32 sq_quiet;			/* posted unsignaled since the last signaled one */
	u32 sq_quiet_max;
	u32 send_sge;			/* of one SEND */
	struct ib_sge joined[RXP_JOINED];	/* of messages being posted as one */
	u32 plugged;			/* tasks that have plugged something: not killed before */
	u64 chains;			/* so many were handed over */
	unsigned long moved;		/* jiffies: the device was done with something of it */
	unsigned long data_moved;	/* likewise with data, or a message behind some */
	bool by_reference;		/* the device sends unsignaled pages from where they are */
	bool over;			/* dead, and every chain was given back */
	struct list_head pending;	/* no send-queue room yet */
	struct list_head posted;	/* no completion yet, or there will be none */
	struct ib_cqe err_cqe;
	struct ib_cqe quiet_cqe;	/* of a quiet chain that frees the room of others */

	spinlock_t state_lock;		/* a leaf; for DEAD inside sq_lock, too */
	enum rxp_conn_state state;
	bool broke;			/* the peer broke the protocol on it */
	u32 strays;			/* RETURNs of what was not there; its handler's own */
	u32 index;			/* among the @count connections of its session */
	u32 count;
	u32 slots;			/* of the session */
	u32 nr_rx;
	u32 recv_size;			/* bytes of each of our receives */
	u64 recv_charged;		/* to @taker, of large ones */
	u64 ring_charged;		/* to @taker */
	u32 join_max;			/* of a message in which others travel; 0: none do yet */
	u32 data_max;
	u64 last_rx;			/* jiffies */
	u64 received;			/* messages; by the completion queue's handler alone */
	u64 sent;			/* messages, without those inside others; sq_lock */
	u64 seen;			/* the client's: of @received, at the last beat */
	u64 said;			/* likewise of @sent */
	u64 pinged;			/* @chains with the first PING since it was heard, or 0 */
	u32 silent;			/* beats without any */
	u32 missed;			/* of these the last, in which it could have been heard */
	u64 oldest;			/* likewise rxp_send_oldest(); the server's: what stood */
	unsigned long found_at;		/* since when the server has found any, in jiffies */
	u32 same;			/* beats that it was the same */
	u32 stood;			/* of these the last, in which nothing moved */

	/* connection set-up */
	struct completion cm_done;
	int cm_status;
	u32 limit;			/* connections that the server allows, if it refused */
	struct rxp_wire_cm cm;
	struct completion welcomed;
	struct rxp_wire_welcome welcome;
	bool welcome_seen;		/* the receive handler's own */

	/* the server's */
	struct rdmafs_xprt_session *session;
	struct list_head link;
	u64 serial;			/* a later one was asked for later */
	struct rxp_taker *taker;	/* its client's account; a reference; NULL on a client */
	unsigned long asked;		/* when it was asked for, in jiffies */
	bool unbound;			/* counted as such; the server's lock */
	bool unheard;			/* accepted, but not to be ended yet (server.c) */
	struct work_struct work;
	struct rxp_wire_hello hello;
	struct rdmafs_xprt_session *asks;	/* for its place 0; a reference */
	/* for messages of no slot: WELCOME, PONG and RECALL; HELLO, PING, BYE and RETURN */
	struct rxp_ctl *ctl;
	unsigned long ctl_short;	/* bit 0: somebody found none free */
};

/*
 * A buffer for messages that belong to no slot.
 *
 * There are RXP_RECV_RESERVE of them.  Of most kinds one that finds none free is not
 * needed: the same is on its way already.  For RECALL and RETURN ops->room() says when
 * one is free again, and all that a session can have granted fits into them together.
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

struct rxp_conn *rxp_conn_alloc(const struct rxp_conn_ops *ops, void *owner,
				struct rxp_stats *stats, u32 index, u32 count);
void rxp_recv_release(struct rxp_ring *ring);
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

/* Of no more use, or never to be; once true it stays so. */
static inline bool rxp_conn_is_lost(const struct rxp_conn *conn)
{
	return READ_ONCE(conn->state) >= RXP_CONN_LOST;
}

/* May anything still be posted? */
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

void rxp_send_init(struct rxp_conn *conn);
void rxp_send_limit(struct rxp_conn *conn);
u64 rxp_send_oldest(struct rxp_conn *conn);
u64 rxp_send_stands(struct rxp_conn *conn, unsigned long before, unsigned long ever);
void rxp_send_end(struct rxp_conn *conn);
void rxp_chain_init(struct rxp_chain *chain,
		    void (*done)(struct rxp_chain *chain, bool ok));
void rxp_chain_add(struct rxp_chain *chain, struct ib_send_wr *wr);
void rxp_chain_reg(struct rxp_chain *chain, struct rxp_mr *mr, struct ib_reg_wr *wr);
void rxp_chain_quiet(const struct rxp_conn *conn, struct rxp_chain *chain, u32 bytes);
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
u32 rxp_build_writes(const struct rxp_pool *pool, struct scatterlist *sgl, u32 len,
		     struct ib_sge *sge, struct ib_rdma_wr *wr);
void rxp_aim_writes(struct ib_rdma_wr *wr, u32 nr, u64 iova, u32 rkey);

extern struct workqueue_struct *rxp_wq;
extern struct workqueue_struct *rxp_conn_wq;
extern struct workqueue_struct *rxp_session_wq;
extern struct workqueue_struct *rxp_recover_wq;
extern struct workqueue_struct *rxp_turn_wq;
extern unsigned int rxp_heartbeat_ms;
extern unsigned int rxp_grace_ms;
extern unsigned int rxp_grants_max;
extern unsigned int rxp_conns_max;
extern unsigned int rxp_recv_size;
extern int rxp_service_type;

/* ---------------------------------------------------------------------- proc */

struct rxp_proc {
	struct rxp_proc_dir *dir;
	struct net *net;
	void *owner;
	struct rxp_stats *stats;
	/* a reference on the pool, or NULL */
	struct rxp_pool *(*pool)(void *owner);
	int (*set_quota)(void *owner, const struct rpol_quota *quota);
	void (*get_quota)(void *owner, struct rpol_quota *quota);
	void (*show_mount)(struct seq_file *m, void *owner);
	void (*show_window)(struct seq_file *m, void *owner);
	void (*abort)(void *owner);
};

int rxp_proc_init(void);
void rxp_proc_exit(void);
int rxp_proc_add(struct rxp_proc *p, const char *name);
void rxp_proc_remove(struct rxp_proc_dir *dir);
void rxp_proc_name_device(struct rxp_device *rdev);
void rxp_proc_remove_device(struct rxp_device *rdev);
struct rxp_proc_dir *rxp_proc_add_port(u16 port, void *server);

/* ---------------------------------------------------------------- client, server */

int rxp_client_init(void);
void rxp_client_exit(void);
int rxp_server_init(void);
void rxp_server_exit(void);

#endif
