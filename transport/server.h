/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The server's side: what server.c (connections), session.c, serve.c
 * (requests) and reply.c share.
 *
 * References: a session is held by the server's list, by its connections and
 * by each request.  It *closes* once: taken off the list, its connections
 * killed, its requests awaited, then the service is told.
 */
#ifndef RDMAFS_TRANSPORT_SERVER_H
#define RDMAFS_TRANSPORT_SERVER_H

#include "transport/internal.h"

/* Requests served at once by one server: each blocks its thread in the file system. */
#define RXP_THREADS_MIN		8
#define RXP_THREADS_MAX		64

/* Messages taken by a completion handler before it lets others run. */
#define RXP_RECV_BURST		64

/**
 * enum rxp_req_state - where a request is
 * @RXP_REQ_QUEUED:  with the threads, its sink not asked for yet
 * @RXP_REQ_WAITING: its STCRW is out, the client's data has not come
 * @RXP_REQ_HELD:    served, its RDMA WRITEs and reply wait for the client's STCRW
 * @RXP_REQ_SERVED:  its data, if any, is there: it runs to its reply
 * @RXP_REQ_GONE:    its connection died while it waited: never to be served
 */
enum rxp_req_state {
	RXP_REQ_QUEUED,
	RXP_REQ_WAITING,
	RXP_REQ_HELD,
	RXP_REQ_SERVED,
	RXP_REQ_GONE,
};

/**
 * struct rxp_grant - a sink that the client may write to
 * @link:     in its session's list; session lock
 * @session:  whose; held while it is invalidated
 * @conn:     whose queue pair registered it: it ends with that one, which is
 *	      followed while it is the session's
 * @pool:     of the others; a reference
 * @buf:      pages
 * @mr:	      their key, bound
 * @recalled: when it was called back, in jiffies, or 0
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
	unsigned long recalled;
	struct rxp_chain inv_chain;
	struct ib_send_wr inv;
};

struct rxp_req {
	struct rdmafs_xprt_req r;
	struct kref ref;		/* the slot, and each posted chain */
	struct rdmafs_xprt_session *session;	/* a reference */
	struct list_head link;		/* the threads' queue */
	enum rxp_req_state state;	/* session lock */
	u16 slot;
	u32 seq;
	u32 flags;
	u32 bulk_len;
	u64 arrived_ns;

	struct rxp_conn *conn;		/* whose receive buffer @rx it reads; a reference */
	struct rxp_rx *rx;

	/* where the last CALL of it came from; session lock */
	struct rxp_conn *bound;		/* compared, never followed */
	bool keyed;			/* rkey and iova are known */
	bool cancelled;			/* the client takes its data, or its room, back */
	unsigned long waits_since;	/* jiffies: WAITING or HELD */
	u32 rkey;
	u64 iova;

	u32 head_len;			/* of the reply in the slot's buffer, without a grant */
	bool granted;			/* one is behind it, for @conn */
	u32 out_len;			/* bytes that go by RDMA WRITE */

	struct rxp_pool *pool;		/* of @buf, @pages and @mr; a reference */
	struct rxp_buf *buf;
	struct rxp_pages *pages;	/* instead of @buf: what is sent from where it is */
	struct rxp_mr *mr;
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
	struct rxp_sslot *slots;
	u32 nr_slots;
	u32 data_max;
	struct rxp_ring tx_ring;
	u32 requests;			/* not yet replied or gone */
	struct list_head grants;
	u32 nr_grants;
	wait_queue_head_t idle;
	unsigned long last_seen;
	unsigned long closing;		/* bit 0 */
	struct work_struct close;
};

/* The connection that a slot's messages travel on, or NULL. */
static inline struct rxp_conn *rxp_slot_conn(const struct rdmafs_xprt_session *s, u16 slot)
{
	lockdep_assert_held(&s->lock);
	return s->conns[slot % s->nr_conns];
}

/**
 * struct rxp_threads - the server's threads
 * @lock:    inner to all others; the next four
 * @todo:    requests that no thread has taken
 * @idle:    threads asleep, the last to fall asleep first
 * @roused:  the one that has been woken and has not looked yet, or NULL
 * @running: threads that serve a request and do not block in it
 * @thread:  all of them
 * @nr:      how many
 */
struct rxp_threads {
	spinlock_t lock;
	struct list_head todo;
	struct list_head idle;
	struct rxp_thread *roused;
	int running;
	struct rxp_thread *thread[RXP_THREADS_MAX];
	u32 nr;
};

struct rdmafs_xprt_server {
	struct net *net;
	u16 port;
	const struct rdmafs_xprt_service *service;
	void *ctx;
	u64 boot;
	struct rxp_stats stats;		/* of connections without a session */
	struct rdma_cm_id *id[2];	/* IPv4, IPv6 */

	spinlock_t lock;
	struct list_head sessions;
	struct list_head conns;
	u32 nr_conns;
	u32 nr_sessions;		/* until freed */
	bool stopping;
	wait_queue_head_t empty;	/* no connection, no session */
	struct delayed_work lease;
	struct delayed_work recall;

	struct rxp_threads threads;
};

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
 * @keyed:    whether it invalidates @rkey
 * @rkey:     the client's key
 * @iova:     and address, for data that goes by RDMA WRITE
 * @data_len: bytes of data in the message
 */
struct rxp_answer {
	struct rxp_way way;
	bool send;
	bool keyed;
	u32 rkey;
	u64 iova;
	u32 data_len;
};

bool rxp_way_get(struct rdmafs_xprt_session *s, struct rxp_conn *bound, u16 slot,
		 struct rxp_way *way);
void rxp_way_put(struct rxp_way *way);
void rxp_reply_post(struct rxp_req *req, struct rxp_way *way, u32 head_len, u32 data_len,
		    struct ib_rdma_wr *wr, u32 nr_wr, u32 inv_rkey, bool grant);
void rxp_answer_take(struct rxp_req *req, u32 data_len, bool cache, struct rxp_answer *a);
void rxp_answer_post(struct rxp_req *req, struct rxp_answer *a);
void rxp_req_write_cancelled(struct rxp_req *req);
void rxp_req_finish(struct rxp_req *req, u32 status, u16 reply_len, u32 data_len, bool cache);

bool rxp_grant_offer(struct rxp_req *req, struct rxp_conn *conn, struct rxp_wire_tag *tag);
bool rxp_grant_use(struct rxp_req *req, struct rxp_conn *conn);
void rxp_grant_return(struct rxp_conn *conn, u32 rkey);
void rxp_grants_drop(struct rdmafs_xprt_session *s, struct rxp_conn *conn);
void rxp_req_put(struct rxp_req *req);
void rxp_slot_leave(struct rdmafs_xprt_session *s, struct rxp_sslot *slot,
		    enum rxp_sslot_state state);
void *rxp_req_buf(struct rxp_req *req);
void rxp_req_drop(struct rxp_req *req, struct rxp_conn *conn);
bool rxp_session_overdue(struct rdmafs_xprt_session *s, bool *more);
bool rxp_grants_tick(struct rdmafs_xprt_server *server);
void rxp_grants_shortage(struct rdmafs_xprt_server *server, struct rxp_pool *pool);

int rxp_threads_start(struct rxp_threads *ts);
void rxp_threads_stop(struct rxp_threads *ts);
void rxp_threads_add(struct rxp_threads *ts, struct rxp_req *req);
void rxp_req_run(struct rxp_req *req);
void rxp_server_recv(struct rxp_conn *conn, struct rxp_rx *rx, struct ib_wc *wc, u32 len);
void rxp_session_drop_waiting(struct rdmafs_xprt_session *session, struct rxp_conn *conn);
struct rxp_pool *rxp_join_pool(struct rdmafs_xprt_server *server, struct rxp_conn *conn);
int rxp_conn_bind(struct rdmafs_xprt_server *server, struct rxp_conn *conn);
void rxp_session_get(struct rdmafs_xprt_session *session);
void rxp_session_put(struct rdmafs_xprt_session *session);
void rxp_session_lose(struct rdmafs_xprt_session *session);
void rxp_session_close(struct rdmafs_xprt_session *session);

#endif
