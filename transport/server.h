/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The server's side: what server.c (connections), session.c, bind.c (one in the
 * other), request.c, serve.c (what requests do) and reply.c share.
 *
 * References: a session is held by the server's list, by its connections, those
 * that wait to be, and by each request.  It *closes* once: its connections are
 * lost, and when these and its requests are gone the service is told.
 */
#ifndef RDMAFS_TRANSPORT_SERVER_H
#define RDMAFS_TRANSPORT_SERVER_H

#include "transport/internal.h"
#include "transport/reqstate.h"

#define RXP_DOMAIN_BITS		6

/*
 * Requests of one slot, the one that has it apart, that are there for chains which are
 * not over.  Who sends the next CALL has the last reply, but the device may say so
 * later, and an acknowledgment may be lost.
 */
#define RXP_SLOT_LAG_MAX	4

/*
 * Milliseconds that a request was put off for want of pages before smaller ones of its session
 * give way (limits.c): six tries and more, as its client waits 80 between two at most (later.c),
 * so that most get theirs before.  And so long they give way at most: what they have takes a
 * disk's time, and then it has to come again.
 */
#define RXP_WANTED_MS		500

/*
 * After so many it is not expected again.  Its client waits 80, but sends one after the other what
 * was put off, and another that is before it may wait for translations.
 */
#define RXP_WANTED_AGAIN_MS	1000

/* Messages taken by a completion handler before it lets others run. */
#define RXP_RECV_BURST		64

/**
 * struct rxp_grant - a sink that the client may write to
 * @link:     in its session's list, from when its registration is posted; session lock
 * @session:  whose; held while it is invalidated
 * @conn:     whose queue pair registers it: it ends with that one, which is
 *	      followed while it is the session's
 * @pool:     of the others; a reference
 * @buf:      pages
 * @mr:	      their key
 * @charged:  bytes that its session is charged for it
 * @recalled: when it was found to be wanted back, or given back, in jiffies, or 0
 * @told_ns:  when its RECALL was posted, or 0
 * @returned: given back: listed until its key is invalid, and of no other use
 * @inv_chain: LOCAL_INV after a RETURN
 * @inv:      its work request
 */
struct rxp_grant {
	struct list_head link;
	struct rdmafs_xprt_session *session;
	struct rxp_conn *conn;
	struct rxp_pool *pool;
	struct rxp_buf *buf;
	struct rxp_mr *mr;
	u32 charged;
	unsigned long recalled;
	u64 told_ns;
	bool returned;
	struct rxp_chain inv_chain;
	struct ib_send_wr inv;
};

struct rxp_req {
	struct rdmafs_xprt_req r;
	struct kref ref;		/* the slot, and each posted chain */
	struct rdmafs_xprt_session *session;	/* a reference */
	/* its session's, or its part's, for the threads; or of those that are gone */
	struct list_head link;
	struct rxp_part *part;		/* while it is the threads'; or NULL */
	enum rxp_req_state state;	/* session lock; rxp_req_move() */
	u16 slot;
	bool counted;			/* in its slot's @alive */
	u32 seq;
	u32 flags;
	u32 bulk_len;
	u64 arrived_ns;

	struct rxp_conn *conn;		/* whose receive buffer @rx it reads; a reference */
	struct rxp_rx *rx;

	/* where the last CALL of it came from; session lock */
	u64 bound;			/* its serial number: its memory may be another's by now */
	bool keyed;			/* rkey and iova are known */
	bool cancelled;			/* the client takes its data, or its room, back */
	unsigned long since;		/* jiffies: it is in its state */
	u32 rkey;
	u64 iova;

	u32 head_len;			/* of the reply in the slot's buffer, without a grant */
	struct rxp_grant *grant;	/* one is behind it, not listed yet */
	u32 out_len;			/* bytes that go by RDMA WRITE */

	struct rxp_pool *pool;		/* of @buf, @pages and @mr; a reference */
	struct rxp_buf *buf;
	struct rxp_pages *pages;	/* instead of @buf: what is sent from where it is */
	struct rxp_mr *mr;
	struct list_head lent;		/* in its pool's, while others may have @mr; pool lock */
	bool regained;			/* @mr is not to be lent any more; pool lock */
	struct rpol_waiter claim;	/* to @mr: CLAIMING */
	bool in_line;			/* and no worker has it yet; session lock */
	bool claim_granted;
	struct work_struct claim_work;
	struct work_struct free_work;	/* when its MR has to be deregistered */
	u32 charged;			/* bytes that its session is charged for them */
	bool beyond;			/* those are beyond the bounds: rxp_session_charge() */
	bool put_off;			/* there were too few: the client is to come back */
	struct ib_reg_wr reg;
	struct ib_send_wr inv;		/* LOCAL_INV of a sink; DROPPED of a READ */
	struct ib_send_wr send;
	struct ib_sge sge[2];
	struct ib_sge drop_sge;
	struct rxp_chain stcrw;		/* STCRW of a WRITE; DROPPED of a READ */
	struct rxp_chain inv_chain;
	struct rxp_chain reply;
	struct kvec in;
	struct kvec out;
	bool in_message;		/* the reply's data stands in the slot's buffer */
};

/* struct rxp_sslot.state */
enum rxp_sslot_state {
	RXP_SLOT_FREE,		/* nothing to answer a replay from: execute it */
	RXP_SLOT_EXECUTING,	/* @req has it */
	RXP_SLOT_CACHED,	/* the reply stands in the slot's buffer */
};

struct rxp_sslot {
	u32 seq;		/* of the last CALL taken */
	enum rxp_sslot_state state;
	struct rxp_req *req;
	u32 head_len;
	u32 data_len;
	atomic_t alive;		/* requests, this and former ones, that are not freed */
};

/**
 * enum rxp_session_state - where a session is
 * @RXP_SESSION_MAKING:	 a worker makes it; the first connection waits
 * @RXP_SESSION_OPEN:	 it takes connections, and with them requests
 * @RXP_SESSION_CLOSING: no more of either; those that are there end
 * @RXP_SESSION_ENDING:	 none is left: a worker closes it
 */
enum rxp_session_state {
	RXP_SESSION_MAKING,
	RXP_SESSION_OPEN,
	RXP_SESSION_CLOSING,
	RXP_SESSION_ENDING,
};

/**
 * struct rxp_client - what the sessions of one client have of the threads
 * @ref:     the sessions'
 * @waiting: those that could have a thread, but for the others; rxp_threads.lock
 * @parts:   its requests by what they may wait for (turns.c); rxp_threads.lock
 * @nr_parts: how many of them; rxp_threads.lock
 * @serving: threads that have a request of any; rxp_threads.lock
 */
struct rxp_client {
	struct kref ref;
	struct list_head waiting;
	struct list_head parts;
	u32 nr_parts;
	u32 serving;
};

/**
 * struct rxp_turns - a session's requests for the threads; rxp_threads.lock
 * @todo:    those that no thread has taken
 * @link:    among the sessions whose turn comes, or those that its client makes wait;
 *	     empty if it has none to do, or its share of the threads
 * @taken:   those that threads have, or that are parked
 * @client:  whose session it is; a reference
 */
struct rxp_turns {
	struct list_head todo;
	struct list_head link;
	u32 taken;
	struct rxp_client *client;
};

struct rdmafs_xprt_session {
	struct kref ref;
	struct rdmafs_xprt_server *server;
	struct list_head link;		/* server->sessions */
	u8 id[16];
	u8 client[16];
	char name[64];
	void *priv;
	struct rxp_stats stats;
	struct rxp_proc proc;

	struct rxp_turns turns;

	spinlock_t lock;
	struct mutex quota_change;	/* outside lock: a new quota or a new pool */
	struct rpol_quota quota;	/* the administrator's, for whatever pool it has */
	/*
	 * By index.  Connection 0 comes first, when none is left of those before,
	 * and begins an incarnation; the others are bound only while it is, and
	 * all go with any one.  They have its pool.
	 */
	struct rxp_conn *conns[RDMAFS_XPRT_CONNS_MAX];
	u32 nr_conns;			/* of this incarnation, when all are bound */
	u32 nr_bound;
	u32 incarnation;
	struct rxp_conn *next;		/* connection 0 that waits for its place */
	u64 newest;			/* serial of the last that asked; server->lock */
	struct rxp_sslot *slots;
	u32 nr_slots;
	u32 data_max;
	struct rxp_ring tx_ring;
	struct rxp_taker *taker;	/* its client's account; a reference */
	u64 ring_charged;		/* to it */
	u32 requests;			/* not yet replied or gone */
	struct list_head grants;
	u32 nr_grants;
	u64 grant_bytes;		/* of @data_bytes; budget's lock, and the next five */
	u64 grant_recalled;		/* of these, of grants that are to come back */
	u64 beyond;			/* of @data_bytes, of its request beyond the bounds */
	u64 wanted;			/* bytes of the largest that was put off, or 0 */
	unsigned long wanted_since;	/* when it was first, in jiffies, and last */
	unsigned long wanted_last;
	atomic64_t data_bytes;		/* of pages of its requests and grants; budget's lock */
	unsigned long last_seen;
	unsigned long progress;		/* of its data, the last time, in jiffies */
	enum rxp_session_state state;	/* lock */
	bool making;			/* its worker has not made it yet; lock */
	bool opened;			/* the service knows it: its worker's own */
	u32 want_slots;			/* @nr_slots once it is made */
	struct work_struct make;
	struct work_struct end;
};

/* Does it take nothing new any more? */
static inline bool rxp_session_closes(const struct rdmafs_xprt_session *s)
{
	lockdep_assert_held(&s->lock);
	return s->state >= RXP_SESSION_CLOSING;
}

/* The connection that a slot's messages travel on, or NULL. */
static inline struct rxp_conn *rxp_slot_conn(const struct rdmafs_xprt_session *s, u16 slot)
{
	lockdep_assert_held(&s->lock);
	return s->conns[slot % s->nr_conns];
}

/* Is the connection still there that the last CALL of a request came from? */
static inline bool rxp_req_connected(const struct rxp_req *req)
{
	const struct rxp_conn *conn = rxp_slot_conn(req->session, req->slot);

	return conn && conn->serial == req->bound;
}

/**
 * struct rxp_threads - the server's threads
 * @lock:    inner to all others; the next four, and the last four
 * @turns:   sessions with requests that a thread may take, the next one first
 * @idle:    threads asleep, the last to fall asleep first
 * @roused:  the one that has been woken and has not looked yet, or NULL
 * @running: threads that serve a request and do not block in it
 * @thread:  all of them
 * @nr:      how many
 * @share:   how many of them one session may have at a time
 * @client_share: and all sessions of one client
 * @serving: how many have a request
 * @domains: what requests wait for, or may (turns.c)
 * @nr_domains: how many
 * @parked:  clients' parts of them that have more requests than they may have threads
 */
struct rxp_threads {
	spinlock_t lock;
	struct list_head turns;
	struct list_head idle;
	struct rxp_thread *roused;
	int running;
	struct rxp_thread *thread[RDMAFS_XPRT_THREADS_MAX];
	u32 nr;
	u32 share;
	u32 client_share;
	u32 serving;
	struct hlist_head domains[1 << RXP_DOMAIN_BITS];
	u32 nr_domains;
	struct list_head parked;
};

struct rdmafs_xprt_server {
	struct net *net;
	u16 port;
	const struct rdmafs_xprt_service *service;
	void *ctx;
	u64 boot;
	struct rdmafs_xprt_limits limits;	/* lock */
	struct rxp_stats stats;		/* of connections without a session */
	struct rdma_cm_id *id[2];	/* IPv4, IPv6 */

	spinlock_t lock;
	struct list_head sessions;
	struct list_head conns;
	u32 nr_conns;
	u64 serial;			/* of the last connection that was asked for */
	u32 nr_unbound;			/* of those, no session's yet */
	u64 refused_conns;
	u64 refused_sessions;
	u64 unbound_dropped;
	u64 silent_dropped;
	u64 held_dropped;
	u32 nr_sessions;		/* until freed */
	bool stopping;
	wait_queue_head_t empty;	/* no connection, no session */
	struct rxp_budget *budget;
	struct rxp_proc_dir *proc;
	struct delayed_work lease;
	struct delayed_work unbound;	/* drops those that don't become a session's */
	struct delayed_work recall;

	struct rxp_threads threads;
};

/*
 * Data has come or gone, or a client has been told where to: what stands behind that in a send
 * queue, of either side, had to wait for it.  Any context.
 */
static inline void rxp_session_progress(struct rdmafs_xprt_session *s)
{
	WRITE_ONCE(s->progress, jiffies);
}

/* A step in a request's life, for whoever traces. */
#define rxp_trace(step, of, len)						\
do {										\
	const struct rxp_req *r = (of);						\
										\
	trace_rdmafs_req_##step(r->session->id, r->slot, r->seq, len);		\
} while (0)

/**
 * struct rxp_way - where a reply can go just now
 * @conn: the connection; a reference
 * @pool: its pool; a reference
 * @dma:  the slot's buffer, mapped for it
 *
 * Filled in under the session's lock, since the connection gives these up when it is
 * unbound; the references keep them.
 */
struct rxp_way {
	struct rxp_conn *conn;
	struct rxp_pool *pool;
	u64 dma;
};

/**
 * struct rxp_answer - a reply on its way out of the session's lock
 * @way:      where it goes
 * @send:     whether there is a way
 * @grant:    a grant goes with it
 * @keyed:    whether it invalidates @rkey
 * @rkey:     the client's key
 * @iova:     and address, for data that goes by RDMA WRITE
 * @data_len: bytes of data in the message
 */
struct rxp_answer {
	struct rxp_way way;
	bool send;
	bool grant;
	bool keyed;
	u32 rkey;
	u64 iova;
	u32 data_len;
};

/*
 * The device is to see what was written to the slot's buffer.  Under the lock of the
 * session, which the connection is bound to: its mapping goes only after that.
 */
static inline void rxp_way_sync(const struct rdmafs_xprt_session *s, const struct rxp_way *way,
				u32 at, u32 len)
{
	lockdep_assert_held(&s->lock);
	ib_dma_sync_single_for_device(way->pool->rdev->ib, way->dma + at, len, DMA_TO_DEVICE);
}

bool rxp_way_get(struct rdmafs_xprt_session *s, u64 bound, u16 slot,
		 struct rxp_way *way);
void rxp_way_put(struct rxp_way *way);
void rxp_reply_post(struct rxp_req *req, struct rxp_way *way, u32 head_len, u32 data_len,
		    struct ib_rdma_wr *wr, u32 nr_wr, u32 inv_rkey, struct rxp_grant *grant);
void rxp_answer_take(struct rxp_req *req, u32 data_len, bool cache, struct rxp_answer *a);
void rxp_answer_post(struct rxp_req *req, struct rxp_answer *a);
void rxp_answer_cancelled(struct rxp_req *req, struct rxp_answer *a);
void rxp_req_finish(struct rxp_req *req, u32 status, u16 reply_len, u32 data_len, bool cache);

void rxp_req_lend_mr(struct rxp_req *req);
void rxp_req_regain_mr(struct rxp_req *req);
struct rxp_grant *rxp_grant_offer(struct rxp_req *req, struct rxp_conn *conn,
				  struct rxp_wire_tag *tag);
int rxp_grant_post(struct rxp_grant *g, struct rxp_chain *chain);
void rxp_grant_cancel(struct rxp_grant *g);
bool rxp_grant_use(struct rxp_req *req, struct rxp_conn *conn);
const char *rxp_grants_returned(struct rxp_conn *conn, const struct rxp_frame *f);
void rxp_pool_bind(struct rxp_pool *pool, struct rdmafs_xprt_session *s);
void rxp_grants_drop(struct rdmafs_xprt_session *s, struct rxp_conn *conn);

struct rxp_req *rxp_req_new(struct rxp_conn *conn, struct rxp_rx *rx, const struct rxp_frame *f);
void rxp_req_put(struct rxp_req *req);
bool rxp_req_charge(struct rxp_req *req, u32 bytes, bool within);
void rxp_req_uncharge(struct rxp_req *req);
bool rxp_req_buf_get(struct rxp_req *req, u32 len);
void rxp_req_trim(struct rxp_req *req);
int rxp_req_move(struct rxp_req *req, enum rxp_req_event event);
void rxp_req_gone(struct rxp_req *req, enum rxp_req_event event);
void rxp_slot_leave(struct rdmafs_xprt_session *s, struct rxp_sslot *slot,
		    enum rxp_sslot_state state);
void *rxp_req_buf(struct rxp_req *req);
void rxp_session_unbind(struct rdmafs_xprt_session *s, struct rxp_conn *conn);

void rxp_req_drop(struct rxp_req *req, struct rxp_conn *conn);
bool rxp_session_overdue(struct rdmafs_xprt_session *s, bool *more);
bool rxp_grants_tick(struct rdmafs_xprt_server *server);
void rxp_grants_found_none(struct rdmafs_xprt_server *server, struct rxp_pool *pool, u32 pages,
			   int error);

int rxp_turns_init(struct rxp_turns *turns);
void rxp_turns_exit(struct rxp_turns *turns);
void rxp_turns_join(struct rxp_turns *turns, const struct rxp_turns *other);
int rxp_threads_start(struct rxp_threads *ts, u32 nr);
void rxp_threads_stop(struct rxp_threads *ts);
void rxp_threads_add(struct rxp_threads *ts, struct rxp_req *req);
void rxp_turns_add(struct rxp_threads *ts, struct rxp_req *req, u64 key);
struct rxp_req *rxp_turns_take(struct rxp_threads *ts);
void rxp_turns_served(struct rxp_threads *ts, struct rxp_turns *turns, struct rxp_part *part);
void rxp_domains_free(struct rxp_threads *ts);
void rxp_req_run(struct rxp_req *req);
void rxp_req_claim_init(struct rxp_req *req);
void rxp_server_recv(struct rxp_conn *conn, struct rxp_rx *rx, struct ib_wc *wc, u32 len);
struct rxp_pool *rxp_join_pool(struct rdmafs_xprt_server *server, struct rxp_conn *conn);
int rxp_conn_bind(struct rdmafs_xprt_server *server, struct rxp_conn *conn);
void rxp_conn_unask(struct rxp_conn *conn);
void rxp_conn_settle(struct rdmafs_xprt_server *server, struct rxp_conn *conn);
void rxp_conn_settled(struct rdmafs_xprt_server *server, struct rxp_conn *conn);
u16 rxp_admit_conn(struct rdmafs_xprt_server *server, struct rxp_conn *conn, u32 *limit);
int rxp_admit_session(struct rdmafs_xprt_server *server,
		      const struct rdmafs_xprt_session *session);
bool rxp_session_charge(struct rdmafs_xprt_session *s, u32 bytes, u32 has, bool within,
			bool *beyond);
void rxp_session_uncharge(struct rdmafs_xprt_session *s, u32 bytes, bool beyond);
void rxp_session_called_back(struct rdmafs_xprt_session *s, u32 bytes);
u64 rxp_session_excess(struct rdmafs_xprt_session *s);
bool rxp_session_spares(struct rdmafs_xprt_session *s, u32 more);
bool rxp_session_grant(struct rdmafs_xprt_session *s, u32 bytes);
void rxp_session_ungrant(struct rdmafs_xprt_session *s, u32 bytes, bool recalled);
u64 rxp_session_left(struct rdmafs_xprt_session *s);
void rxp_limits_show(struct seq_file *m, void *owner);
void rxp_server_conn_wake(struct rxp_conn *conn);
void rxp_session_get(struct rdmafs_xprt_session *session);
void rxp_session_put(struct rdmafs_xprt_session *session);
void rxp_session_lose(struct rdmafs_xprt_session *session);
void rxp_session_close(struct rdmafs_xprt_session *session);
void rxp_session_close_locked(struct rdmafs_xprt_session *session);
void rxp_session_settle(struct rdmafs_xprt_session *session);
struct rdmafs_xprt_session *rxp_session_alloc(struct rdmafs_xprt_server *server,
					      struct rxp_conn *conn);
void rxp_session_free(struct rdmafs_xprt_session *session);
void rxp_session_start(struct rdmafs_xprt_session *session);

#endif
