/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transport's contract with fs/client and fs/server.
 *
 * A request and a reply of at most RDMAFS_XPRT_BODY_MAX bytes each cross this interface, and
 * beside them at most one run of *data* in one direction, given as an iov_iter.  The transport
 * decides whether data travels inside the message, by RDMA WRITE into memory registered for
 * this one RPC, or into the other side's sink: no QP, MR or rkey is seen above this interface,
 * and no inode below it.
 *
 * A *session* is the conversation between one mount and one server.  It outlives its
 * connections, of which it may have several at a time.  They fall together: when one is lost
 * the client makes all of them again and sends every unanswered call again in its slot, and the
 * server answers from its reply cache what it has executed already
 * (Documentation/architecture.rst, "When the connection dies").
 *
 * Each side has a struct for it.  The client's is &struct rdmafs_xprt, as a mount has only one.
 * The server's is &struct rdmafs_xprt_session, of which a port (&struct rdmafs_xprt_server) has
 * many.  So names with session, req, server, limits or source are the server's.
 *
 * Ownership: from submit until @done is called the caller lends the transport the request, the
 * reply buffer and the pages behind the data iterator.  On the server a request and all that it
 * points to belong to the service from handle() until rdmafs_xprt_req_reply().
 */
#ifndef RDMAFS_XPRT_H
#define RDMAFS_XPRT_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <linux/uio.h>
#include <linux/uuid.h>
#include "regpolicy/regpolicy.h"

struct completion;
struct net;
struct seq_file;
struct rdmafs_xprt;
struct rdmafs_xprt_server;
struct rdmafs_xprt_session;

#define RDMAFS_PORT		20060	/* default port of the server */
#define RDMAFS_XPRT_BODY_MAX	960	/* bytes of a request or a reply */
#define RDMAFS_XPRT_INLINE_MAX	4096	/* bytes of data that travel inside a message */
#define RDMAFS_XPRT_DATA_MAX	(4U << 20)	/* bytes of data of one RPC */
#define RDMAFS_XPRT_CACHE_MAX	512	/* bytes of a reply that the reply cache keeps at least */
#define RDMAFS_XPRT_SLOTS_MIN	16
#define RDMAFS_XPRT_SLOTS_MAX	1024

/* Threads of a port.  With the fewest, four file systems that block still get one each. */
#define RDMAFS_XPRT_THREADS_MIN	8
#define RDMAFS_XPRT_THREADS_MAX	512
#define RDMAFS_XPRT_SLOTS_DEFAULT 64
#define RDMAFS_XPRT_CONNS_MAX	16	/* connections of one session */

/* ------------------------------------------------------------------ client */

/**
 * enum rdmafs_xprt_dir - which way a call's data goes
 * @RDMAFS_XPRT_NODATA: no data
 * @RDMAFS_XPRT_READ:	 from the server into the call's iterator
 * @RDMAFS_XPRT_WRITE:	 from the call's iterator to the server
 */
enum rdmafs_xprt_dir {
	RDMAFS_XPRT_NODATA,
	RDMAFS_XPRT_READ,
	RDMAFS_XPRT_WRITE,
};

/* struct rdmafs_xprt_call.flags */
#define RDMAFS_CALL_URGENT	0x1	/* frees resources of the server: may use the last slots */
#define RDMAFS_CALL_IDEMPOTENT	0x2	/* may be executed twice, if the server restarts */
/* fail with -EAGAIN rather than wait for a connection, translations or a slot */
#define RDMAFS_CALL_NOWAIT	0x4
/* the deadline ends its wait to be sent, in each case, and nothing after that */
#define RDMAFS_CALL_UNTIL_SENT	0x8
#define RDMAFS_CALL_EVENT	0x10	/* asks what an EVENT is about: has a slot of its own */

/**
 * struct rdmafs_xprt_call - one RPC, embedded in the caller's own object
 * @req:	request body, stable until @done
 * @req_len:	its length, 1..RDMAFS_XPRT_BODY_MAX
 * @reply_max:	room at @reply, up to RDMAFS_XPRT_BODY_MAX
 * @reply:	where the reply's body is put
 * @dir:	which way data goes
 * @flags:	RDMAFS_CALL_*
 * @iter:	the data: ITER_BVEC, ITER_KVEC, ITER_FOLIOQ or ITER_XARRAY,
 *		count 0..RDMAFS_XPRT_DATA_MAX; never user-backed.  For
 *		RDMAFS_XPRT_READ it is an ITER_DEST, else an ITER_SOURCE.
 *		Not advanced by transport.
 * @deadline:	when the call is given up if it has no answer by then, in jiffies; 0: never.
 *		See rdmafs_xprt_set_deadlines().  With RDMAFS_CALL_UNTIL_SENT transport sets it to
 *		0 when the call is sent
 * @done:	called exactly once after a successful submit, in process or
 *		softirq context: must not sleep; may free the call
 * @status:	out: 0 if a reply is there, else a negative errno: -EIO (given
 *		up), -ETIMEDOUT (given up at its @deadline; whether it was
 *		executed is unknown), -ESHUTDOWN (aborted), -EPROTO (the peer broke the
 *		protocol), -EREMOTEIO (the server restarted and the call is
 *		not idempotent: whether it was executed is unknown)
 * @reply_len:	out: bytes at @reply; a longer reply is -EPROTO
 * @data_len:	out: bytes of data that the server sent, at most iter.count
 *
 * From submit to @done the struct is transport's, which writes @status, @reply_len and @data_len,
 * and changes @deadline under the session's lock; else it is its caller's.
 */
struct rdmafs_xprt_call {
	const void *req;
	u16 req_len;
	u16 reply_max;
	void *reply;
	enum rdmafs_xprt_dir dir;
	unsigned int flags;
	struct iov_iter iter;
	unsigned long deadline;
	void (*done)(struct rdmafs_xprt_call *call);
	int status;
	u16 reply_len;
	u32 data_len;
	/* private: transport's, from submit to done; what says nothing else is set by submit */
	struct {
		struct list_head link;	/* of calls that wait (deferred.c); the session's lock */
		struct list_head timed;	/* of calls with a deadline (ready.c); likewise */
		bool late;		/* dismissed for its deadline (expire.c); likewise */
		struct rdmafs_xprt *xprt;
		struct rxc_slot *slot;	/* while it has one; changed under the session's lock */
		struct rxc_io *io;	/* NULL if there is none, and when the call is over */
		u32 epoch;
		u32 dismissals;		/* the task's that sends the call */
		u32 slot_dismissals;	/* likewise */
		u64 submitted_ns;
		refcount_t pending;	/* while it is in a slot */
	} x;
};

/**
 * enum rdmafs_xprt_reg - when a large READ's memory is registered
 * @RDMAFS_REG_AUTO: whichever of the two has been faster for its size
 * @RDMAFS_REG_DIRECT: before the request is sent
 * @RDMAFS_REG_OVERLAPPED: while the server is at work
 */
enum rdmafs_xprt_reg {
	RDMAFS_REG_AUTO,
	RDMAFS_REG_DIRECT,
	RDMAFS_REG_OVERLAPPED,
};

/**
 * enum rdmafs_xprt_lost - what its maker has found out of a call that ended with -EREMOTEIO
 * @RDMAFS_XPRT_LOST_DONE: it was executed
 * @RDMAFS_XPRT_LOST_AGAIN: it was not, and is made again
 * @RDMAFS_XPRT_LOST_UNKNOWN: neither can be proved
 */
enum rdmafs_xprt_lost {
	RDMAFS_XPRT_LOST_DONE,
	RDMAFS_XPRT_LOST_AGAIN,
	RDMAFS_XPRT_LOST_UNKNOWN,
};

/**
 * struct rdmafs_xprt_params - how to reach a server
 * @net:        network namespace in which to resolve and connect
 * @addr:       the server's address and port, IPv4 or IPv6
 * @slots:      RPCs outstanding at once, RDMAFS_XPRT_SLOTS_MIN.._MAX; the server may grant
 *	fewer
 * @conns:      connections to spread them over, 1..RDMAFS_XPRT_CONNS_MAX; the server may allow
 *	fewer
 * @connect_ms: milliseconds for which the first connect is tried again, and which each step of
 *	it may take; resolving the address and the route may take twice that each
 * @quota:      share of the RNIC's translations, which does not contradict itself
 * @reg:        when large READs register
 * @poll_us:    microseconds for which rdmafs_xprt_poll() spins, 0 for never
 */
struct rdmafs_xprt_params {
	struct net *net;
	struct sockaddr_storage addr;
	u32 slots;
	u32 conns;
	u32 connect_ms;
	struct rpol_quota quota;
	enum rdmafs_xprt_reg reg;
	u32 poll_us;
};

/**
 * struct rdmafs_xprt_client_ops - what the transport tells a mount
 * @session_reset: the server no longer knows the session (it restarted, or the lease ran out
 *	while the link was down) and a new one was made: credentials, stateids and the write
 *	verifier are void.  Called in process context, before any call travels in the new
 *	session; must not submit calls itself.  May be NULL.
 * @event: the server's service has something to tell and waits to be asked by a call; or it may
 *	have said so on a connection that was lost.  Any context, must not sleep; may be called
 *	when there is nothing, and after rdmafs_xprt_connect() has begun.  May be NULL.
 */
struct rdmafs_xprt_client_ops {
	void (*session_reset)(void *ctx);
	void (*event)(void *ctx);
};

struct rdmafs_xprt *rdmafs_xprt_connect(const struct rdmafs_xprt_params *params,
					const struct rdmafs_xprt_client_ops *ops, void *ctx);
void rdmafs_xprt_fail_outstanding(struct rdmafs_xprt *xprt);
void rdmafs_xprt_abort(struct rdmafs_xprt *xprt);
void rdmafs_xprt_close(struct rdmafs_xprt *xprt);
int rdmafs_xprt_submit(struct rdmafs_xprt *xprt, struct rdmafs_xprt_call *call);
void rdmafs_xprt_count_lost(struct rdmafs_xprt *x, enum rdmafs_xprt_lost lost);
void rdmafs_xprt_set_poll(struct rdmafs_xprt *x, u32 us);
void rdmafs_xprt_set_deadlines(struct rdmafs_xprt *x, bool count);
bool rdmafs_xprt_poll(struct rdmafs_xprt *x, struct completion *done);
void rdmafs_xprt_set_reg(struct rdmafs_xprt *x, enum rdmafs_xprt_reg reg);
int rdmafs_xprt_set_quota(struct rdmafs_xprt *xprt, const struct rpol_quota *quota);
void rdmafs_xprt_get_quota(struct rdmafs_xprt *xprt, struct rpol_quota *quota);
u32 rdmafs_xprt_read_max(struct rdmafs_xprt *xprt);
u32 rdmafs_xprt_data_max(struct rdmafs_xprt *xprt);
bool rdmafs_xprt_connected(struct rdmafs_xprt *xprt);
bool rdmafs_xprt_aborted(struct rdmafs_xprt *xprt);

/*
 * Make the directory @name under /proc/fs/rdmafs for this mount, with the files mount (one
 * line, written by @show), quota, window, stats and abort.  rdmafs_xprt_close() removes it.
 */
int rdmafs_xprt_make_dir(struct rdmafs_xprt *xprt, const char *name,
			 void (*show)(struct seq_file *m, void *ctx));

/* ------------------------------------------------------------------ server */

/**
 * struct rdmafs_xprt_req - a request that arrived
 * @session:  the session that it came in
 * @body:     request body, checked for length and nothing else
 * @body_len: its length, 1..RDMAFS_XPRT_BODY_MAX
 * @data:     data that came with it (ITER_SOURCE), complete and no longer writable by the peer
 * @data_len: its length, 0 if none came
 * @read_max: bytes of data that the client has room for, 0 if none
 * @reply:    where the service writes the reply's body, RDMAFS_XPRT_BODY_MAX bytes, zeroed
 * @priv:     the service's own, NULL at first
 */
struct rdmafs_xprt_req {
	struct rdmafs_xprt_session *session;
	const void *body;
	u16 body_len;
	struct iov_iter data;
	u32 data_len;
	u32 read_max;
	void *reply;
	void *priv;
};

/* rdmafs_xprt_req_reply() flags */
#define RDMAFS_REPLY_NOCACHE	0x1	/* may be executed again: no need to cache */

/**
 * struct rdmafs_xprt_service - the callbacks that serve the requests of a port
 * @session_open:  a client made a session; returns 0, or a negative errno to refuse it.
 *	Process context; must not wait for anything that @handle waits for.  The service may set
 *	a pointer of its own by rdmafs_xprt_session_set_priv().
 * @waits_for:     returns a number for the resource that @handle may wait for, such as the file
 *	system that a request is about; 0 for none.  Requests for one resource leave threads to
 *	requests for others (server/turns.c).  Process context, must not sleep.  May be NULL.
 * @session_close: the session ended: by the client, by its lease, or because the server stops.
 *	Process context; no request of it is in handle() and none follows.
 * @handle:        serve @req: process context on a worker, may sleep.  Ends with exactly one
 *	rdmafs_xprt_req_reply().
 * @handle_now:    serve @req where it arrived, for requests whose data travels inside the
 *	messages: process context, but must not sleep.  Returns false if it has not answered:
 *	@handle gets the request next, and begins anew; only @priv may have been set.  May be
 *	NULL.
 * @show_limits:   write the service's own limits, and how much of them is in use, as lines "key
 *	value" to the file limits of the port.  May be NULL.
 */
struct rdmafs_xprt_service {
	int (*session_open)(struct rdmafs_xprt_session *session, void *ctx);
	u64 (*waits_for)(struct rdmafs_xprt_req *req, void *ctx);
	void (*session_close)(struct rdmafs_xprt_session *session, void *ctx);
	void (*handle)(struct rdmafs_xprt_req *req, void *ctx);
	bool (*handle_now)(struct rdmafs_xprt_req *req, void *ctx);
	void (*show_limits)(struct seq_file *m, void *ctx);
};

/**
 * struct rdmafs_xprt_limits - what the administrator allows the clients of a port
 * @connections: connections of all clients
 * @client_connections: connections of one client, which is a &struct rdmafs_xprt_source
 * @unbound_connections: connections of all clients that are not bound to a session yet
 * @unbound_ms: how long a connection may stay unbound, milliseconds
 * @sessions: sessions of all clients
 * @client_sessions: sessions of one client
 * @slots: slots of a session; takes effect when the port is enabled next
 * @client_share: percent that one client may take of the message buffers, and of the pages for
 *	data, that the other clients leave
 * @ring_mib: MiB of message buffers
 * @large_mib: MiB of these for receives that are larger than need be
 * @data_mib: MiB of pages behind the large READs and WRITEs of one session
 * @data_total_mib: MiB of the same of all sessions.  As much again may be taken by one request
 *	of each session, and as much once more, for some seconds, by pages that are idle
 * @held_ms: how long a request may hold memory while it waits for the client, and no data
 *	moves; milliseconds.  It waits for the client to name memory for the data of a reply, to
 *	write data to a sink, or to take a message
 * @threads: threads that serve requests; a request that blocks in the file system blocks one.
 *	Takes effect when the port is enabled next
 *
 * Each is an attribute of the port in configfs: fs/server/configfs_port.c has the least and the
 * most that may be written, transport/server/limits.c the default.
 *
 * The struct is a value, which its holder guards; a server's is under rdmafs_xprt_server.lock.
 */
struct rdmafs_xprt_limits {
	u32 connections;
	u32 client_connections;
	u32 unbound_connections;
	u32 unbound_ms;
	u32 sessions;
	u32 client_sessions;
	u32 slots;
	u32 client_share;
	u32 ring_mib;
	u32 large_mib;
	u32 data_mib;
	u32 data_total_mib;
	u32 held_ms;
	u32 threads;
};

void rdmafs_xprt_limits_default(struct rdmafs_xprt_limits *limits);
struct rdmafs_xprt_server *rdmafs_xprt_listen(struct net *net, u16 port,
					      const struct rdmafs_xprt_service *service,
					      void *ctx, const struct rdmafs_xprt_limits *limits);
void rdmafs_xprt_set_limits(struct rdmafs_xprt_server *server,
			    const struct rdmafs_xprt_limits *limits);
void rdmafs_xprt_unlisten(struct rdmafs_xprt_server *server);

/* Bytes of the random id that a client gives itself. */
#define RDMAFS_XPRT_CLIENT_ID	16

/**
 * struct rdmafs_xprt_source - the address that a client comes from; compared as bytes
 * @family: of its address
 * @addr:   IPv4 and IPv6: the address; AF_IB: the 64 bits of its port
 */
struct rdmafs_xprt_source {
	u16 family;
	u8 addr[16];
};

void rdmafs_xprt_session_set_priv(struct rdmafs_xprt_session *session, void *priv);
void *rdmafs_xprt_session_priv(struct rdmafs_xprt_session *session);
void rdmafs_xprt_session_ring(struct rdmafs_xprt_session *session);
bool rdmafs_xprt_session_closes(struct rdmafs_xprt_session *session);
void rdmafs_xprt_session_client(const struct rdmafs_xprt_session *session, u8 *client);
void rdmafs_xprt_session_source(const struct rdmafs_xprt_session *session,
				struct rdmafs_xprt_source *source);

int rdmafs_xprt_req_reserve(struct rdmafs_xprt_req *req, u32 len);
int rdmafs_xprt_req_room(struct rdmafs_xprt_req *req, u32 len, struct iov_iter *dest);
int rdmafs_xprt_req_pages(struct rdmafs_xprt_req *req, const struct bio_vec *bv, u32 nr,
			  u32 len);
void rdmafs_xprt_req_reply(struct rdmafs_xprt_req *req, u16 reply_len, u32 data_len,
			   unsigned int flags);

#endif
