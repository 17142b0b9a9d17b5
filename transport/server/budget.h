/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The bytes of message buffers and of data pages that clients of a server may take (budget.c).
 */
#ifndef RDMAFS_TRANSPORT_SERVER_BUDGET_H
#define RDMAFS_TRANSPORT_SERVER_BUDGET_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include "transport/xprt.h"

struct rdmafs_xprt_session;
struct rxp_conn;

/*
 * Milliseconds that a request has been put off for want of pages before smaller ones of its session
 * give way (budget.c).  Its client waits 80 at most between two tries (the client's deferred.c), so
 * the request is tried six times and more, and most requests get their pages before.  The smaller
 * ones give way for as long at most: in that time a disk serves those that have pages, and the
 * request is tried again.
 */
#define RXS_WANTED_MS		500

/*
 * Milliseconds after which a request that was put off is not expected again: three times as long as
 * its client waits between two tries.  This is less than RXS_WANTED_MS, so that no request gives
 * way to one that was put off once and has got its pages in another way, or has been given up.
 */
#define RXS_WANTED_AGAIN_MS	250

/**
 * struct rxs_budget - bytes for a server's message buffers, and for pages of data
 * @ref:       the server's, and one for each account, which may be freed later
 * @lock:      guards the other fields; a leaf
 * @ring:      bytes of message buffers that are charged
 * @ring_max:  upper bound of @ring
 * @large:     part of @ring that is in large receives
 * @large_max: upper bound of @large
 * @share:     percent of what other clients leave that one client may take, of either kind
 * @refused:   connections and sessions that found too few bytes for message buffers
 * @data:      bytes of pages behind large READs and WRITEs, within the bounds
 * @data_max:  upper bound of @data, and of @overdraft
 * @overdraft: bytes of requests that found no room within the bounds, one request for each
 *	       session at most; not part of @data
 * @idle:      bytes of idle pages kept for later requests; not part of @data
 * @refused_data: times that a client found too few pages
 * @accounts:  &struct rxs_account, the accounts of clients
 * @nr_accounts: how many there are
 */
struct rxs_budget {
	struct kref ref;
	spinlock_t lock;
	u64 ring;
	u64 ring_max;
	u64 large;
	u64 large_max;
	u32 share;
	u64 refused;
	u64 data;
	u64 data_max;
	u64 overdraft;
	u64 idle;
	u64 refused_data;
	struct list_head accounts;
	u32 nr_accounts;
};

/**
 * struct rxs_account - the account of a client of a server: its part of the budget
 * @budget:   the budget; a reference
 * @link:     in the budget's list
 * @source:   the client
 * @refs:     of connections, sessions and pools; budget lock, as for all but @source and @unbound
 * @ring:     bytes of message buffers
 * @large:    part of @ring that is in large receives
 * @data:     bytes of pages for data, of all its sessions, within the bounds
 * @granted:  part of @data that is in grants
 * @recalled: part of @granted whose grants are being recalled
 * @idle:     bytes of idle pages that its sessions' pools keep; not part of @data
 * @overdraft: bytes of its sessions' requests beyond the bounds; not part of @data
 * @unbound:  its connections that belong to no session yet; the server's lock
 */
struct rxs_account {
	struct rxs_budget *budget;
	struct list_head link;
	struct rdmafs_xprt_source source;
	u32 refs;
	u64 ring;
	u64 large;
	u64 data;
	u64 granted;
	u64 recalled;
	u64 idle;
	u64 overdraft;
	u32 unbound;
};

struct rxs_budget *rxs_budget_create(const struct rdmafs_xprt_limits *limits);
void rxs_budget_set(struct rxs_budget *b, const struct rdmafs_xprt_limits *limits);
void rxs_budget_put(struct rxs_budget *b);
struct rxs_account *rxs_account_find_or_new(struct rxs_budget *b,
					    const struct rdmafs_xprt_source *source);
struct rxs_account *rxs_account_get(struct rxs_account *t);
void rxs_account_put(struct rxs_account *t);
bool rxs_account_charge(struct rxs_account *t, u64 bytes);
void rxs_account_uncharge(struct rxs_account *t, u64 bytes, u64 large);
bool rxs_account_idle(struct rxs_account *t, u32 bytes);
void rxs_account_unidle(struct rxs_account *t, u32 bytes);
int rxs_receives(struct rxp_conn *conn, u32 size);

bool rxs_session_charge(struct rdmafs_xprt_session *s, u32 bytes, u32 has, bool within,
			bool *overdrawn);
void rxs_session_uncharge(struct rdmafs_xprt_session *s, u32 bytes, bool overdrawn);
void rxs_session_count_recall(struct rdmafs_xprt_session *s, u32 bytes);
u64 rxs_session_excess(struct rdmafs_xprt_session *s);
bool rxs_session_spares(struct rdmafs_xprt_session *s, u32 more);
bool rxs_session_count_grant(struct rdmafs_xprt_session *s, u32 bytes);
void rxs_session_uncount_grant(struct rdmafs_xprt_session *s, u32 bytes, bool recalled);
u64 rxs_session_left(struct rdmafs_xprt_session *s);

#endif
