// SPDX-License-Identifier: GPL-2.0
/*
 * Limits: what clients of a server may have, and which connections and sessions are let in.
 *
 * Clients are not authenticated when they connect, so a client is an address (source.c).
 * Connections and sessions are counted when they are asked for: those of one client, and
 * those of all.  A connection has a few seconds to be bound to a session.  If too many
 * connections are unbound, the client that has most of them loses its oldest to a connection
 * of a client that has fewer.  If a client at its limit connects again, the server closes the
 * client's oldest connection that is silent: the client has most likely lost it.  A connection
 * that is lost no longer counts for its client, as it is about to end; but a connection that
 * its client keeps from ending (pending, listen.c) counts until it is gone.
 *
 * Their message buffers and data pages are bounded as well: budget.c.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include "transport/server/server.h"

/* The part of all memory that message buffers may take, and large receives: one in so many. */
#define RXS_RING_PART	16
#define RXS_LARGE_PART	64

/*
 * Data pages may take 1/PART of all memory, and on a small machine up to 1/SMALL, so that one
 * mount gets all that a session may have.
 */
#define RXS_DATA_PART	8
#define RXS_DATA_SMALL	4

/* MiB of data pages of a session.  All sessions get at least twice that if memory permits. */
#define RXS_DATA_MIB	64U

/*
 * A client announces when it connects for how long it is never silent while it lives: five beats
 * of its heartbeat, and within two beats it sends something, at least a PING.  This is assumed
 * for a client that announces nothing, or less.
 */
#define RXS_SILENT_MS		5000U

/* Threads for each CPU, as they wait for disks most of the time; and the bounds of all of them. */
#define RXS_CPU_THREADS		16
#define RXS_THREADS_FEW		32
#define RXS_THREADS_MANY	128

/**
 * rdmafs_xprt_limits_default - compute the limits that hold unless they are set
 * @limits: out: the limits
 *
 * Context: any.
 */
void rdmafs_xprt_limits_default(struct rdmafs_xprt_limits *limits)
{
	u32 mib = max_t(u64, ((u64)totalram_pages() << PAGE_SHIFT) >> 20, RXS_LARGE_PART);

	*limits = (struct rdmafs_xprt_limits) {
		.connections = 4096,
		.client_connections = 64,
		.unbound_connections = 256,
		.unbound_ms = 5000,
		.sessions = 4096,
		.client_sessions = 16,
		.slots = 128,
		.client_share = 25,
		.ring_mib = mib / RXS_RING_PART,
		.large_mib = mib / RXS_LARGE_PART,
		.data_mib = RXS_DATA_MIB,
		.data_total_mib = max(mib / RXS_DATA_PART,
				      min(mib / RXS_DATA_SMALL, 2 * RXS_DATA_MIB)),
		.held_ms = 10000,
		.threads = clamp_t(u32, RXS_CPU_THREADS * num_online_cpus(), RXS_THREADS_FEW,
				   RXS_THREADS_MANY),
	};
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_limits_default);

/**
 * rdmafs_xprt_set_limits - change the limits of a running server
 * @server: the server
 * @limits: the new limits, except for @slots and @threads, which stay as they are: a client that
 *	    reconnects wants as many slots as it had
 *
 * The limits apply to what is asked for from now on.  Clients keep what they have, except for
 * grants of too many pages, which are recalled.
 *
 * Context: process; takes the server's lock, and then the budget's, not both at once.
 */
void rdmafs_xprt_set_limits(struct rdmafs_xprt_server *server,
			    const struct rdmafs_xprt_limits *limits)
{
	struct rdmafs_xprt_limits new = *limits;

	spin_lock_bh(&server->lock);
	/*
	 * rxs_conn_accept() reads @slots without the lock, so there must be no moment in which it
	 * finds another number: a client that gets fewer slots than its session has, or at its
	 * next reconnect fewer than it got now, loses the session.
	 */
	new.slots = server->limits.slots;
	new.threads = server->limits.threads;
	server->limits = new;
	spin_unlock_bh(&server->lock);
	rxs_budget_set(server->budget, limits);
	mod_delayed_work(rxp_wq, &server->recall, 0);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_set_limits);

/* Count a connection as unbound no more. */
static void rxs_unbound_uncount_locked(struct rdmafs_xprt_server *server, struct rxs_conn *conn)
{
	lockdep_assert_held(&server->lock);
	if (!conn->unbound)
		return;
	conn->unbound = false;
	conn->account->unbound--;
	server->nr_unbound--;
}

/**
 * rxs_unbound_uncount - count a connection as unbound no more, as it is bound now or has ended
 * @server: the server
 * @conn:   the connection
 *
 * Context: any but hard interrupt; takes the server's lock.
 */
void rxs_unbound_uncount(struct rdmafs_xprt_server *server, struct rxp_conn *conn)
{
	spin_lock_bh(&server->lock);
	rxs_unbound_uncount_locked(server, rxs_conn(conn));
	spin_unlock_bh(&server->lock);
}

/*
 * Has the connection been silent for longer than a living client would be?  After a break of the
 * network a client reconnects before the server learns that the former connection is gone.  The
 * time is a lease at most, after which the connection would be closed in any case.
 */
static bool rxs_conn_silent(const struct rdmafs_xprt_server *server, const struct rxp_conn *conn)
{
	u32 said = clamp_t(u32, le32_to_cpu(conn->cm.heartbeat_ms), RXS_SILENT_MS, RXP_LEASE_MS);
	u32 ms = max(server->limits.unbound_ms, said);

	return time_after_eq(jiffies, (unsigned long)READ_ONCE(conn->last_rx) +
				      msecs_to_jiffies(ms));
}

/*
 * May a client have one connection more?  If a former connection has to be closed for it, @silent
 * gets that one: the client's oldest that is silent.  @server->conns is in order of age.
 */
static bool rxs_admit_client(struct rdmafs_xprt_server *server, const struct rxs_conn *new,
			     struct rxs_conn **silent)
{
	struct rxs_conn *conn;
	u32 nr = 0;

	*silent = NULL;

	lockdep_assert_held(&server->lock);
	list_for_each_entry(conn, &server->conns, link) {
		bool stays = READ_ONCE(conn->cm_pending);

		if (conn->account != new->account || (rxp_conn_is_lost(&conn->conn) && !stays))
			continue;
		nr++;
		if (!*silent && !stays && rxs_conn_silent(server, &conn->conn))
			*silent = conn;
	}
	if (nr >= server->limits.client_connections)
		return *silent;
	*silent = NULL;
	return true;
}

/*
 * May one more connection be unbound?  If there are too many, the client that has most of them
 * loses its oldest, unless the new connection's client has as many itself.
 */
static bool rxs_admit_unbound(struct rdmafs_xprt_server *server, const struct rxs_conn *new)
{
	u32 most = new->account->unbound;
	struct rxs_conn *conn, *victim = NULL;

	lockdep_assert_held(&server->lock);
	if (server->nr_unbound < server->limits.unbound_connections)
		return true;
	list_for_each_entry(conn, &server->conns, link) {
		if (conn->unbound && conn->account->unbound > most) {
			most = conn->account->unbound;
			victim = conn;
		}
	}
	if (!victim)
		return false;
	server->unbound_dropped++;
	rxs_unbound_uncount_locked(server, victim);
	rxp_conn_lost(&victim->conn);
	return true;
}

/**
 * rxs_admit_conn - decide whether a connection may be made
 * @server: the server
 * @conn:   the connection, conn->account set
 * @limit:  out: the client's limit of connections, with RXP_REJECT_LIMIT only
 *
 * Connections that have to make room for it are lost when this returns 0.
 *
 * Context: any but hard interrupt; @server->lock held.
 * Return: 0, or RXP_REJECT_STOPPING, _LIMIT (the client has as many as it may), or _RESOURCES.
 */
u16 rxs_admit_conn(struct rdmafs_xprt_server *server, struct rxs_conn *conn, u32 *limit)
{
	const struct rdmafs_xprt_limits *l = &server->limits;
	struct rxs_conn *silent;

	lockdep_assert_held(&server->lock);
	if (server->stopping)
		return RXP_REJECT_STOPPING;
	if (!rxs_admit_client(server, conn, &silent)) {
		*limit = l->client_connections;
		server->refused_conns++;
		return RXP_REJECT_LIMIT;
	}
	if (server->nr_conns >= l->connections || !rxs_admit_unbound(server, conn)) {
		server->refused_conns++;
		return RXP_REJECT_RESOURCES;
	}
	if (silent) {
		server->silent_dropped++;
		rxp_conn_lost(&silent->conn);
	}
	return 0;
}

/**
 * rxs_admit_session - decide whether a session may be made
 * @server:  the server
 * @session: the session, its account set
 *
 * Context: any but hard interrupt; @server->lock held.
 * Return: 0; -EBUSY: the server has as many as it may; -EUSERS: the client has.
 */
int rxs_admit_session(struct rdmafs_xprt_server *server,
		      const struct rdmafs_xprt_session *session)
{
	struct rdmafs_xprt_session *s;
	u32 nr = 0;

	lockdep_assert_held(&server->lock);
	list_for_each_entry(s, &server->sessions, link)
		nr += s->account == session->account;
	if (nr < server->limits.client_sessions && server->nr_sessions < server->limits.sessions)
		return 0;
	server->refused_sessions++;
	return nr < server->limits.client_sessions ? -EBUSY : -EUSERS;
}

/**
 * rxs_limits_show - print what is in use and how much may be
 * @m:	   the file
 * @owner: the server
 *
 * Context: process; takes the server's lock, and then the budget's, not both at once.
 */
void rxs_limits_show(struct seq_file *m, void *owner)
{
	struct rdmafs_xprt_server *server = owner;
	struct rxs_budget *b = server->budget;
	struct rdmafs_xprt_limits l;

	spin_lock_bh(&server->lock);
	l = server->limits;
	seq_printf(m, "connections %u\nmax_connections %u\n", server->nr_conns, l.connections);
	seq_printf(m, "unbound_connections %u\nmax_unbound_connections %u\n", server->nr_unbound,
		   l.unbound_connections);
	seq_printf(m, "max_client_connections %u\nmax_unbound_ms %u\n", l.client_connections,
		   l.unbound_ms);
	seq_printf(m, "sessions %u\nmax_sessions %u\nmax_client_sessions %u\n",
		   server->nr_sessions, l.sessions, l.client_sessions);
	seq_printf(m, "max_slots %u\nmax_data_bytes %llu\n", l.slots, (u64)l.data_mib << 20);
	seq_printf(m, "max_threads %u\nmax_held_ms %u\nheld_dropped %llu\n", l.threads, l.held_ms,
		   server->held_dropped);
	seq_printf(m, "refused_connections %llu\nrefused_sessions %llu\nunbound_dropped %llu\n",
		   server->refused_conns, server->refused_sessions, server->unbound_dropped);
	seq_printf(m, "silent_dropped %llu\nmax_client_share %u\n", server->silent_dropped,
		   l.client_share);
	spin_unlock_bh(&server->lock);
	spin_lock_bh(&b->lock);
	seq_printf(m, "ring_bytes %llu\nmax_ring_bytes %llu\nrefused_rings %llu\n", b->ring,
		   b->ring_max, b->refused);
	seq_printf(m, "large_bytes %llu\nmax_large_bytes %llu\n", b->large, b->large_max);
	seq_printf(m, "data_total_bytes %llu\nmax_data_total_bytes %llu\nrefused_data %llu\n",
		   b->data + b->overdraft, b->data_max, b->refused_data);
	seq_printf(m, "beyond_data_bytes %llu\nidle_data_bytes %llu\n", b->overdraft, b->idle);
	spin_unlock_bh(&b->lock);
	if (server->service->show_limits)
		server->service->show_limits(m, server->ctx);
}
