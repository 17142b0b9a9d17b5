/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The server's side of a session, shared by listen.c (connections), limits.c and budget.c (what
 * clients may have), bind.c (which binds connections to sessions), session.c, request.c, serve.c
 * and sink.c (what requests do), threads.c and turns.c (which thread serves them), reply.c,
 * pages.c, grant.c, pool.c and overdue.c (clients that take too long).
 *
 * References: a session is held by the server's list, by its connections and those that wait for
 * a place, and by each request.  It *closes* once: its connections are lost, and when these and
 * its requests are gone the service is told.
 *
 * Locks: their order is in Documentation/architecture.rst.
 */
#ifndef RDMAFS_TRANSPORT_SERVER_H
#define RDMAFS_TRANSPORT_SERVER_H

#include "transport/internal.h"
#include "transport/server/budget.h"
#include "transport/server/reqstate.h"
#include "transport/server/sessionstate.h"

#define RXS_RESOURCE_BITS	6

/*
 * A slot may have so many requests at a time that are not freed.  A client that sends the next
 * CALL has got the last reply; but the former request lives until its chain is completed, which
 * may be later, and later still if an acknowledgment is lost.
 */
#define RXS_SLOT_LAG_MAX	4

/* Messages taken by a completion handler before it lets others run. */
#define RXS_RECV_BURST		64

/**
 * struct rxs_pool - the pool of a session
 * @p:       what a mount's pool has as well
 * @lent:    WRITEs whose MR may be taken for other requests, &rxs_req.lent; the pool's lock
 * @claims:  number of WRITEs that wait for an MR (rxp_mr_claim())
 * @session: the session while it is bound; the pool's lock
 * @account: the account of the client, a reference; constant
 */
struct rxs_pool {
	struct rxp_pool p;
	struct list_head lent;
	atomic_t claims;
	struct rdmafs_xprt_session *session;
	struct rxs_account *account;
};

/* Every pool that the server sees is one of these. */
static inline struct rxs_pool *rxs_pool(struct rxp_pool *pool)
{
	return container_of(pool, struct rxs_pool, p);
}

/**
 * struct rxs_conn - a connection of the server
 * @conn:     what the client's has as well
 * @session:  its session, a reference; NULL before it is bound.  Its worker sets it, once, with the
 *	      session's lock held.  The receive handler, which runs only until the worker has killed
 *	      the connection, reads it without
 * @link:     in the server's list of connections; the server's lock
 * @serial:   its number; a later request has a larger one; constant
 * @account:  the account of the client, a reference; constant
 * @asked:    when the connection was requested, in jiffies; constant
 * @unbound:  it is counted in @account's @unbound; the server's lock
 * @welcomed: its WELCOME is posted, so that an EVENT may follow; its worker writes it
 * @cm_pending: accepted, but the CM waits for the client: not to be ended yet (listen.c); written
 *	      in the CM's handler, or with its lock held (rdma_lock_handler()), read without
 * @work:     its worker
 * @hello:    the HELLO, written by the receive handler before state HELLO
 * @next_of:  the session whose place 0 it waits for, a reference; set by its worker
 * @strays:   RETURNs of grants that were not there; receive handler only
 * @oldest:   rxp_send_stalled() at the last look; the session's lock, as @found_at
 * @found_at: since when @oldest has not been 0, in jiffies
 * @ring_charged: bytes charged to @account for receives; constant once they are made
 * @large_charged: part of @ring_charged that is for large ones; likewise
 */
struct rxs_conn {
	struct rxp_conn conn;
	struct rdmafs_xprt_session *session;
	struct list_head link;
	u64 serial;
	struct rxs_account *account;
	unsigned long asked;
	bool unbound;
	bool welcomed;
	bool cm_pending;
	struct work_struct work;
	struct rxp_wire_hello hello;
	struct rdmafs_xprt_session *next_of;
	u32 strays;
	u64 oldest;
	unsigned long found_at;
	u64 ring_charged;
	u64 large_charged;
};

/* Every connection that the server sees is one of these. */
#define rxs_conn(c)	container_of_const(c, struct rxs_conn, conn)

/**
 * struct rxs_grant - a sink that the client may write to
 * @link:     in its session's list from when its registration is posted; session lock
 * @session:  its session; a reference only while @inv_chain is posted
 * @conn:     the connection whose queue pair registers it, and with which it ends; no reference,
 *	      followed only while the connection is bound to the session
 * @index:    index of @conn, for traces: @conn may be gone by then
 * @pool:     the pool of @buf and @mr; a reference
 * @buf:      its pages; owned
 * @mr:	      their key; owned
 * @charged:  bytes that its session is charged for it
 * @recalled: when it was recalled or returned, in jiffies, or 0; session lock
 * @told_ns:  when its RECALL was posted, or 0; session lock
 * @returned: the client has returned it: it is listed until its key is invalid, and must not be
 *	      used; session lock
 * @inv_chain: the LOCAL_INV after a RETURN; the receive handler that has set @returned posts it
 * @inv:      the work request of @inv_chain
 *
 * Nothing else changes once the grant is listed.
 */
struct rxs_grant {
	struct list_head link;
	struct rdmafs_xprt_session *session;
	struct rxp_conn *conn;
	u16 index;
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

/**
 * struct rxs_req - a request on the server, from its CALL until its chains are completed
 * @r:	      the service's view of it
 * @ref:      held by the slot and by each posted chain
 * @session:  its session; a reference
 * @link:     in its session's or part's list for the threads, rxs_threads.lock; or in a caller's
 *	      list of requests that are gone
 * @part:     its part (turns.c) while the threads own it, or NULL; rxs_threads.lock
 * @state:    see enum rxs_req_state; session lock, changed by rxs_req_move()
 * @slot:     its slot; constant
 * @counted:  it counts in its slot's @alive; set when it comes, then constant
 * @seq:      sequence number of its CALL; constant
 * @flags:    RXP_F_* of its CALL; constant
 * @arrived_ns: when the CALL came, or 0: not measured; constant
 * @conn:     the connection whose receive buffer @rx it reads; a reference
 * @rx:	      the receive, until the reply is built
 * @conn_serial: serial number of the connection that its last CALL came on.  Not a pointer: the
 *	      connection's memory may be another's by now; session lock, as the next four
 * @keyed:    the key and the address of @bulk are known; also read without the lock, as a hint
 * @cancelled: the client has sent a CANCEL: it takes its data, or the room for it, back
 * @since:    when it got into its state, in jiffies
 * @bulk:     the client's memory for the data of a READ, or the grant that a WRITE uses; its
 *	      length, which the CALL announced, is constant
 * @head_len: bytes of the reply's head in the slot's buffer, without a grant
 * @grant:    the grant that the reply brings, not listed yet; or NULL
 * @out_len:  bytes that go by RDMA WRITE
 * @pool:     the pool of @buf, @pages and @mr; a reference
 * @buf:      pages for its data; owned
 * @pages:    instead of @buf: the service's pages, a reference each, sent from where they are
 * @mr:	      the MR of its sink; owned, but while @lent is listed the policy may take it
 * @lent:     in its pool's list while others may have @mr; pool lock
 * @regained: @mr must not be lent any more; set for good under the pool lock: from then on @mr is
 *	      used without it
 * @claim:    its place in line for translations, while CLAIMING; the policy's
 * @in_line:  it has a place, and no worker has taken it yet; session lock
 * @claim_granted: it got translations; the policy's callback writes it, then queues @claim_work
 * @claim_work: takes it on once translations were granted or refused
 * @free_work: frees it if that may sleep
 * @charged:  bytes that its session is charged for its pages
 * @overdrawn: these are beyond the bounds: rxs_session_charge()
 * @put_off:  there were too few pages: it is answered RETRY_LATER
 * @reg:      REG_MR of its sink, or of the grant
 * @inv:      LOCAL_INV of a sink; REVOKED of a READ
 * @send:     SEND of the STCRW, then of the reply
 * @sge:      of @send
 * @revoked_sge: of REVOKED
 * @stcrw:    chain of the STCRW of a WRITE, or of REVOKED of a READ; of a READ this, @inv and
 *	      @revoked_sge are filled in by a CANCEL, under the session lock
 * @inv_chain: chain of the LOCAL_INV
 * @reply:    chain of the reply
 * @in:	      the data in the CALL's message
 * @out:      the room for data in the reply's message
 * @in_message: the reply's data is in the slot's buffer
 *
 * Where nothing else is said the field belongs to the party that has the request at work: by its
 * @state (reqstate.h), a completion handler, a thread, or @claim_work.  The party hands it on by a
 * change of @state, which is made under the session's lock, or by rxs_threads_add().  Chains, and
 * the work requests that they consist of, belong to send.c while they are posted.
 */
struct rxs_req {
	struct rdmafs_xprt_req r;
	struct kref ref;
	struct rdmafs_xprt_session *session;
	struct list_head link;
	struct rxs_part *part;
	enum rxs_req_state state;
	u16 slot;
	bool counted;
	u32 seq;
	u32 flags;
	u64 arrived_ns;

	struct rxp_conn *conn;
	struct rxp_rx *rx;

	u64 conn_serial;
	bool keyed;
	bool cancelled;
	unsigned long since;
	struct rxp_segment bulk;

	u32 head_len;
	struct rxs_grant *grant;
	u32 out_len;

	struct rxp_pool *pool;
	struct rxp_buf *buf;
	struct rxp_sg *pages;
	struct rxp_mr *mr;
	struct list_head lent;
	bool regained;
	struct rpol_waiter claim;
	bool in_line;
	bool claim_granted;
	struct work_struct claim_work;
	struct work_struct free_work;
	u32 charged;
	bool overdrawn;
	bool put_off;
	struct ib_reg_wr reg;
	struct ib_send_wr inv;
	struct ib_send_wr send;
	struct ib_sge sge[2];
	struct ib_sge revoked_sge;
	struct rxp_chain stcrw;
	struct rxp_chain inv_chain;
	struct rxp_chain reply;
	struct kvec in;
	struct kvec out;
	bool in_message;
};

/**
 * enum rxs_slot_state - what a slot can do with a replay of its last CALL
 * @RXS_SLOT_FREE:	execute it, as no reply is kept; left for EXECUTING by a CALL
 * @RXS_SLOT_EXECUTING: bind it to @req, which is at work; left when @req leaves the slot
 * @RXS_SLOT_CACHED:	answer it from the slot's buffer; left for EXECUTING by the next CALL
 */
enum rxs_slot_state {
	RXS_SLOT_FREE,
	RXS_SLOT_EXECUTING,
	RXS_SLOT_CACHED,
};

/* A session's slot; the session's lock guards all but @alive. */
struct rxs_slot {
	u32 seq;		/* of the last CALL taken */
	enum rxs_slot_state state;
	struct rxs_req *req;	/* while EXECUTING; a reference */
	u32 head_len;		/* of the reply in the slot's buffer */
	u32 data_len;
	atomic_t alive;		/* requests, this and former ones, that are not freed */
};

/**
 * struct rxs_client - the share of the threads that the sessions of one client have
 * @ref:     held by the sessions
 * @waiting: sessions that could have a thread if the client's others had fewer; rxs_threads.lock
 * @parts:   &struct rxs_part: its requests by what they may wait for (turns.c); rxs_threads.lock
 * @nr_parts: number of @parts; rxs_threads.lock
 * @serving: number of threads that have a request of the client; rxs_threads.lock
 */
struct rxs_client {
	struct kref ref;
	struct list_head waiting;
	struct list_head parts;
	u32 nr_parts;
	u32 serving;
};

/**
 * struct rxs_turns - a session's requests for the threads; rxs_threads.lock
 * @todo:    requests that no thread has taken
 * @link:    in the list of sessions whose turn comes, or in its client's @waiting; empty if @todo
 *	     is, or if the session has its share of the threads
 * @taken:   number of requests that threads have, or that are parked
 * @client:  the session's client; a reference
 */
struct rxs_turns {
	struct list_head todo;
	struct list_head link;
	u32 taken;
	struct rxs_client *client;
};

/**
 * struct rdmafs_xprt_session - a session of a client
 * @ref:      references: server.h's head
 * @server:   its server, freed only after all sessions; constant
 * @link:     in server->sessions; server->lock
 * @id:	      random, names it on the wire; constant
 * @client:   what the client calls itself; constant
 * @priv:     the service's pointer; the service sets it in session_open() and session_close()
 * @stats:    counters, per CPU
 * @member:   its name, its quota, and its directory in /proc, which is its workers' own; the
 *	      member's lock is taken before @lock
 * @turns:    its requests for the threads; rxs_threads.lock
 * @lock:     guards what does not name another lock; within server->lock
 * @conns:    its connections by index; @lock.  Connection 0 comes first, when none of the former
 *	      ones is left, and begins an incarnation.  The others are bound only while it is, and
 *	      have its pool.  All are lost when one of them is
 * @nr_conns: number of connections in this incarnation when all are bound; @lock
 * @nr_bound: number of connections that are bound; @lock
 * @incarnation: number of this incarnation, 1 is the first; @lock.  While its connection 0 is bound
 *	      it does not change, and that one's worker reads it without
 * @next:     a connection 0 that waits for its place, or NULL; @lock
 * @newest:   serial number of the last connection 0 that asked for it; server->lock
 * @slots:    @nr_slots slots; made by @make before the session is open
 * @nr_slots: number of slots, 0 until it is made; set once, with @lock held; requests, which come
 *	      later, read it without
 * @data_max: bytes of data of one RPC; constant
 * @tx_ring:  the slots' buffers; made by @make, as is the charge
 * @account:  its client's account; a reference; constant
 * @ring_charged: bytes of @tx_ring that @account is charged for
 * @requests: requests that have not left their slot; @lock
 * @grants:   &struct rxs_grant, the youngest first; @lock
 * @nr_grants: number of grants, and of those about to be listed; @lock; also read without, as a
 *	      hint
 * @grant_bytes: bytes of @data_bytes that are of grants; budget's lock, as the next five; /proc
 *	      reads it without
 * @grant_recalled: bytes of @grant_bytes that are of grants to come back
 * @overdraft: bytes of @data_bytes that are of its request beyond the bounds
 * @wanted:   bytes of the largest request that was put off, or 0
 * @wanted_since: when that was put off first, in jiffies
 * @wanted_last: when that was put off last, in jiffies
 * @rings:    an EVENT is to be sent once there is a connection with a buffer for it; @lock
 * @data_bytes: bytes of pages of its requests and grants; changed under the budget's lock
 * @last_seen: when a connection was bound or unbound last, in jiffies; @lock
 * @progress: when its data made progress last, in jiffies; rxs_session_progress()
 * @state:    see enum rxs_session_state; @lock
 * @opened:   the service knows it; its workers' own
 * @want_slots: what @nr_slots becomes; constant
 * @make:     makes it
 * @end:      closes it
 */
struct rdmafs_xprt_session {
	struct kref ref;
	struct rdmafs_xprt_server *server;
	struct list_head link;
	u8 id[16];
	u8 client[16];
	void *priv;
	struct rxp_stats stats;
	struct rxp_member member;

	struct rxs_turns turns;

	spinlock_t lock;
	struct rxp_conn *conns[RDMAFS_XPRT_CONNS_MAX];
	u32 nr_conns;
	u32 nr_bound;
	u32 incarnation;
	struct rxp_conn *next;
	u64 newest;
	struct rxs_slot *slots;
	u32 nr_slots;
	u32 data_max;
	struct rxp_ring tx_ring;
	struct rxs_account *account;
	u64 ring_charged;
	u32 requests;
	struct list_head grants;
	u32 nr_grants;
	u64 grant_bytes;
	u64 grant_recalled;
	u64 overdraft;
	u64 wanted;
	unsigned long wanted_since;
	unsigned long wanted_last;
	bool rings;
	atomic64_t data_bytes;
	unsigned long last_seen;
	unsigned long progress;
	enum rxs_session_state state;
	bool opened;
	u32 want_slots;
	struct work_struct make;
	struct work_struct end;
};

/* Does the session take no new connections and requests any more? */
static inline bool rxs_session_closes(const struct rdmafs_xprt_session *s)
{
	lockdep_assert_held(&s->lock);
	return s->state >= RXS_SESSION_ABANDONED;
}

/* The connection that a slot's messages travel on, or NULL. */
static inline struct rxp_conn *rxs_slot_conn(const struct rdmafs_xprt_session *s, u16 slot)
{
	lockdep_assert_held(&s->lock);
	return s->conns[slot % s->nr_conns];
}

/* Is the connection still bound that the last CALL of a request came on? */
static inline bool rxs_req_connected(const struct rxs_req *req)
{
	const struct rxp_conn *conn = rxs_slot_conn(req->session, req->slot);

	return conn && rxs_conn(conn)->serial == req->conn_serial;
}

/**
 * struct rxs_threads - the server's threads
 * @lock:    a leaf; guards the next four fields, and the last four
 * @turns:   sessions with requests that a thread may take, the next one first
 * @idle:    threads that sleep, the last to fall asleep first
 * @waking:  the thread that has been woken and has not looked for a request yet, or NULL
 * @running: number of threads that serve a request and do not block in it
 * @run:     what a thread does with a request; constant
 * @thread:  all threads; constant while the server runs
 * @nr:      number of threads; constant
 * @share:   number of threads that one session may have at a time; constant
 * @client_share: number that all sessions of one client may have together; constant
 * @serving: number of threads that have a request
 * @resources: &struct rxs_resource: what requests wait for, or may (turns.c)
 * @nr_resources: number of @resources
 * @parked:  clients' parts of resources that have more requests than they may have threads
 */
struct rxs_threads {
	spinlock_t lock;
	struct list_head turns;
	struct list_head idle;
	struct rxs_thread *waking;
	int running;
	void (*run)(struct rxs_req *req);
	struct rxs_thread *thread[RDMAFS_XPRT_THREADS_MAX];
	u32 nr;
	u32 share;
	u32 client_share;
	u32 serving;
	struct hlist_head resources[1 << RXS_RESOURCE_BITS];
	u32 nr_resources;
	struct list_head parked;
};

/**
 * struct rdmafs_xprt_server - a port that is served
 * @net:      its network namespace; a reference
 * @port:     its number; constant
 * @service:  what serves the requests; constant
 * @ctx:      the service's; constant
 * @boot:     random, not 0: tells clients whether the server is the one that they knew; constant
 * @limits:   what clients are allowed; @lock, but @limits.slots, which never changes, and
 *	      @limits.data_mib are also read without
 * @stats:    counters of connections without a session, per CPU
 * @id:	      identifiers that listen: IPv4, IPv6; only rdmafs_xprt_listen() and
 *	      rdmafs_xprt_unlisten() use them, as @proc
 * @lock:     guards the fields down to @stopping; outside the sessions' locks
 * @sessions: sessions until they are closed
 * @conns:    connections until they are ended, the oldest first
 * @nr_conns: number of @conns
 * @serial:   serial number of the last connection that was admitted
 * @nr_unbound: number of @conns that are not bound to a session yet
 * @refused_conns: connections that found no room
 * @refused_sessions: sessions that found no room
 * @unbound_dropped: connections that were closed because they were not bound in time, or to make
 *	      room
 * @silent_dropped: silent connections that were closed to make room for their client's next
 * @held_dropped: connections that were closed because their client kept memory for too long
 * @nr_sessions: number of sessions until they are freed
 * @stopping: no new connections or sessions; also read without @lock
 * @empty:    woken when a connection or session goes
 * @budget:   bytes of message buffers and data pages (budget.c); a reference; constant
 * @proc:     its directory in /proc, or NULL
 * @lease:    looks for connections and sessions whose lease is over
 * @unbound:  closes connections that are not bound in time
 * @recall:   looks after grants and requests that are overdue
 * @threads:  the threads that serve requests
 */
struct rdmafs_xprt_server {
	struct net *net;
	u16 port;
	const struct rdmafs_xprt_service *service;
	void *ctx;
	u64 boot;
	struct rdmafs_xprt_limits limits;
	struct rxp_stats stats;
	struct rdma_cm_id *id[2];

	spinlock_t lock;
	struct list_head sessions;
	struct list_head conns;
	u32 nr_conns;
	u64 serial;
	u32 nr_unbound;
	u64 refused_conns;
	u64 refused_sessions;
	u64 unbound_dropped;
	u64 silent_dropped;
	u64 held_dropped;
	u32 nr_sessions;
	bool stopping;
	wait_queue_head_t empty;
	struct rxs_budget *budget;
	struct rxp_proc_dir *proc;
	struct delayed_work lease;
	struct delayed_work unbound;
	struct delayed_work recall;

	struct rxs_threads threads;
};

/*
 * Note that data of a session has come or gone, or that its client was told where to send it.
 * Anything behind that in a send queue, of either side, had to wait for it.  Any context.
 */
static inline void rxs_session_progress(struct rdmafs_xprt_session *s)
{
	WRITE_ONCE(s->progress, jiffies);
}

/* Trace a step in a request's life. */
#define rxs_trace(step, of, len)						\
do {										\
	const struct rxs_req *r = (of);						\
										\
	trace_rdmafs_req_##step(r->session->id, r->slot, r->seq, len);		\
} while (0)

/**
 * struct rxs_route - the connection that a reply can go on now
 * @conn: the connection; a reference
 * @pool: its pool; a reference
 * @dma:  the slot's buffer, mapped for its device
 *
 * Filled in under the session's lock, as the connection gives these up after it is unbound; the
 * references keep them.
 */
struct rxs_route {
	struct rxp_conn *conn;
	struct rxp_pool *pool;
	u64 dma;
};

/**
 * struct rxs_answer - a reply between rxs_answer_take(), under the session's lock, and its post
 * @route:    the connection that it goes on
 * @send:     whether there is one
 * @grant:    whether a grant goes with it
 * @keyed:    whether it invalidates the key of @bulk
 * @bulk:     the client's memory for data that goes by RDMA WRITE
 * @data_len: bytes of data in the message
 */
struct rxs_answer {
	struct rxs_route route;
	bool send;
	bool grant;
	bool keyed;
	struct rxp_segment bulk;
	u32 data_len;
};

/*
 * Make the device see what was written to the slot's buffer.  The session's lock is held and the
 * connection is bound: the buffer is unmapped only after it is unbound.
 */
static inline void rxs_route_sync(const struct rdmafs_xprt_session *s,
				  const struct rxs_route *route, u32 at, u32 len)
{
	lockdep_assert_held(&s->lock);
	ib_dma_sync_single_for_device(route->pool->rdev->ib, route->dma + at, len, DMA_TO_DEVICE);
}

extern struct workqueue_struct *rxs_conn_wq;
extern struct workqueue_struct *rxs_session_wq;
extern unsigned int rxs_grants_max;
extern unsigned int rxs_conns_max;

int rxs_init(void);
void rxs_exit(void);

bool rxs_route_get(struct rdmafs_xprt_session *s, u64 conn_serial, u16 slot,
		   struct rxs_route *route);
void rxs_route_put(struct rxs_route *route);
void rxs_reply_post(struct rxs_req *req, struct rxs_route *route, u32 head_len, u32 data_len,
		    struct rxp_sg *sg, u32 nr_wr, u32 inv_rkey, struct rxs_grant *grant);
void rxs_answer_take(struct rxs_req *req, u32 data_len, bool cache, struct rxs_answer *a);
void rxs_answer_post(struct rxs_req *req, struct rxs_answer *a);
void rxs_answer_take_cancelled(struct rxs_req *req, struct rxs_answer *a);
void rxs_req_answer(struct rxs_req *req, u32 status, u16 reply_len, u32 data_len, bool cache);

struct rxp_sg *rxs_pages_new(struct rxp_pool *pool, const struct bio_vec *bv, u32 nr);
void rxs_pages_free(struct rxp_pool *pool, struct rxp_sg *pages);

struct rxp_pool *rxs_pool_create(struct rxp_device *rdev, struct rxs_account *account,
				 struct rxp_stats *stats);
void rxs_pool_bind(struct rxp_pool *pool, struct rdmafs_xprt_session *s);

void rxs_grants_recall(struct rxp_pool *pool);
void rxs_reqs_give_mrs(struct rxp_pool *pool);
void rxs_req_lend_mr(struct rxs_req *req);
void rxs_req_regain_mr(struct rxs_req *req);
struct rxs_grant *rxs_grant_offer(struct rxs_req *req, struct rxp_conn *conn,
				  struct rxp_segment *sink);
int rxs_grant_post(struct rxs_grant *g, struct rxp_chain *chain);
void rxs_grant_drop(struct rxs_grant *g);
bool rxs_grant_use(struct rxs_req *req, struct rxp_conn *conn);
const char *rxs_return_arrived(struct rxp_conn *conn, const struct rxp_frame *f);
void rxs_grants_drop(struct rdmafs_xprt_session *s, struct rxp_conn *conn);
void rxs_grants_want_back(struct rdmafs_xprt_session *s);
bool rxs_grants_overdue(struct rdmafs_xprt_session *s, bool *more);
void rxs_grants_pause(struct rdmafs_xprt_server *server, struct rxp_pool *pool, u32 pages,
		      int error);

struct rxs_req *rxs_req_new(struct rxp_conn *conn, struct rxp_rx *rx, const struct rxp_frame *f);
void rxs_req_put(struct rxs_req *req);
bool rxs_req_charge(struct rxs_req *req, u32 bytes, bool within);
void rxs_req_uncharge(struct rxs_req *req);
bool rxs_req_buf_get(struct rxs_req *req, u32 len);
void rxs_req_trim(struct rxs_req *req);
int rxs_req_move(struct rxs_req *req, enum rxs_req_event event);
void rxs_req_forget(struct rxs_req *req, enum rxs_req_event event);
void rxs_slot_leave(struct rdmafs_xprt_session *s, struct rxs_slot *slot,
		    enum rxs_slot_state state);
void *rxs_req_buf(struct rxs_req *req);
void rxs_session_unbind(struct rdmafs_xprt_session *s, struct rxp_conn *conn);

bool rxs_sessions_tick(struct rdmafs_xprt_server *server);

int rxs_turns_init(struct rxs_turns *turns);
void rxs_turns_exit(struct rxs_turns *turns);
void rxs_turns_join(struct rxs_turns *turns, const struct rxs_turns *other);
int rxs_threads_start(struct rxs_threads *ts, u32 nr, void (*run)(struct rxs_req *req));
void rxs_threads_stop(struct rxs_threads *ts);
void rxs_threads_add(struct rxs_threads *ts, struct rxs_req *req);
void rxs_turns_add(struct rxs_threads *ts, struct rxs_req *req, u64 key);
struct rxs_req *rxs_turns_take(struct rxs_threads *ts);
void rxs_turns_served(struct rxs_threads *ts, struct rxs_turns *turns, struct rxs_part *part);
void rxs_resources_free(struct rxs_threads *ts);
void rxs_req_run(struct rxs_req *req);
void rxs_req_claim_init(struct rxs_req *req);
bool rxs_req_unclaim(struct rxs_req *req);
void rxs_req_post_cancelled(struct rxs_req *req, struct rxs_answer *a);
void rxs_req_fetch(struct rxs_req *req);
void rxs_sink_inv(struct rxs_req *req);
bool rxs_sink_inv_arrived(struct rxs_req *req, const struct ib_wc *wc, bool own);
void rxs_req_data_in_grant(struct rxs_req *req, bool invalid);
const char *rxs_data_arrived(struct rxp_conn *conn, const struct rxp_frame *f,
			     const struct ib_wc *wc);
void rxs_recv(struct rxp_conn *conn, struct rxp_rx *rx, struct ib_wc *wc, u32 len);
struct rxp_pool *rxs_join_pool(struct rdmafs_xprt_server *server, struct rxp_conn *conn);
int rxs_conn_bind(struct rdmafs_xprt_server *server, struct rxp_conn *conn);
void rxs_conn_unset_next(struct rxp_conn *conn);
void rxs_unbound_uncount(struct rdmafs_xprt_server *server, struct rxp_conn *conn);
u16 rxs_admit_conn(struct rdmafs_xprt_server *server, struct rxs_conn *conn, u32 *limit);
int rxs_admit_session(struct rdmafs_xprt_server *server,
		      const struct rdmafs_xprt_session *session);
void rxs_limits_show(struct seq_file *m, void *owner);
void rxs_conn_wake(struct rxp_conn *conn);
void rxs_session_get(struct rdmafs_xprt_session *session);
void rxs_session_event_again(struct rdmafs_xprt_session *s);
void rxs_session_put(struct rdmafs_xprt_session *session);
void rxs_session_lose_conns(struct rdmafs_xprt_session *session);
void rxs_session_close(struct rdmafs_xprt_session *session);
void rxs_session_close_locked(struct rdmafs_xprt_session *session);
void rxs_session_end_if_empty(struct rdmafs_xprt_session *session);
struct rdmafs_xprt_session *rxs_session_alloc(struct rdmafs_xprt_server *server,
					      struct rxp_conn *conn);
void rxs_session_free(struct rdmafs_xprt_session *session);
void rxs_session_enlist(struct rdmafs_xprt_session *session);

#endif
