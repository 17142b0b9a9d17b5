// SPDX-License-Identifier: GPL-2.0
/*
 * Which request gets the next of the server's threads.
 *
 * Sessions take turns, one request each.  A session has no more than a quarter of the threads,
 * so that requests of it that block leave threads to the others.  All sessions of one client
 * together leave a quarter of the threads to other clients.
 *
 * Requests block in a file system: one that is frozen, or whose disk does not answer, blocks
 * all requests for it.  So the service tells for each request what it may wait for, its
 * *domain*.  A domain has no more threads than it leaves free: half of them if it is alone, a
 * quarter if another half is blocked in another domain, and so on.  The same holds for each
 * client's *part* of a domain and the three quarters of the threads that the client may have: a
 * client that uses file systems that do not answer keeps a thread for one that does.  (Of 32
 * threads a client may have 24: 12 in the first of such domains, then 6, 3 and 2, and one is
 * left.)
 *
 * A request whose turn comes when its part has no room is parked with the part.  It counts
 * against its session's quarter, but not against its client's threads.  When there is room
 * again it is the next of its session.  Parts with parked requests take turns.
 *
 * Everything here is guarded by rxp_threads.lock.
 */
#include <linux/hash.h>
#include <linux/slab.h>
#include "transport/server/server.h"

/*
 * Domains of a server, and parts of a client, that are kept though they have no request now:
 * one may come.
 */
#define RXP_DOMAINS_IDLE	64
#define RXP_PARTS_IDLE		8

/**
 * struct rxp_domain - a resource that requests may wait for, such as a file system
 * @node:    in its hash bucket
 * @key:     the service's number for it
 * @serving: number of threads that have a request for it
 * @nr:      number of requests for it: waiting, parked or served
 *
 * All of it is guarded by rxp_threads.lock.
 */
struct rxp_domain {
	struct hlist_node node;
	u64 key;
	u32 serving;
	u32 nr;
};

/**
 * struct rxp_part - the requests of one client for one domain
 * @node:    in its client's list of parts
 * @client:  the client; no reference, as the sessions of the part's requests have one
 * @key:     the domain's
 * @domain:  the domain, valid while the part has requests
 * @parked:  requests whose turn came when there was no room
 * @link:    in the list of parts with parked requests, the one that has waited longest first
 * @serving: number of threads that have a request of it
 * @nr:      number of requests: waiting, parked or served
 *
 * All of it is guarded by rxp_threads.lock.
 */
struct rxp_part {
	struct list_head node;
	struct rxp_client *client;
	u64 key;
	struct rxp_domain *domain;
	struct list_head parked;
	struct list_head link;
	u32 serving;
	u32 nr;
};

/* ------------------------------------------------------------------------ sessions */

/**
 * rxp_turns_init - begin with a session without requests, the only one of its client
 * @turns: its turns
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rxp_turns_init(struct rxp_turns *turns)
{
	INIT_LIST_HEAD(&turns->todo);
	INIT_LIST_HEAD(&turns->link);
	turns->client = kzalloc(sizeof(*turns->client), GFP_KERNEL);
	if (!turns->client)
		return -ENOMEM;
	kref_init(&turns->client->ref);
	INIT_LIST_HEAD(&turns->client->waiting);
	INIT_LIST_HEAD(&turns->client->parts);
	return 0;
}

/*
 * The client's sessions are gone, and their requests with them: no party finds its parts any
 * more.
 */
static void rxp_client_release(struct kref *ref)
{
	struct rxp_client *client = container_of(ref, struct rxp_client, ref);
	struct rxp_part *part, *next;

	list_for_each_entry_safe(part, next, &client->parts, node)
		kfree(part);
	kfree(client);
}

/**
 * rxp_turns_exit - undo rxp_turns_init()
 * @turns: of a session without requests
 *
 * Context: any but hard interrupt.
 */
void rxp_turns_exit(struct rxp_turns *turns)
{
	kref_put(&turns->client->ref, rxp_client_release);
}

/**
 * rxp_turns_join - make a session one of the same client as another
 * @turns: its turns, before it has requests
 * @other: the other session's
 *
 * Context: any but hard interrupt.
 */
void rxp_turns_join(struct rxp_turns *turns, const struct rxp_turns *other)
{
	rxp_turns_exit(turns);
	turns->client = other->client;
	kref_get(&turns->client->ref);
}

/*
 * Put a session in the line for turns if it is to be there: its requests have become more, or
 * its threads fewer.
 */
static void rxp_turns_update(struct rxp_threads *ts, struct rxp_turns *turns)
{
	struct rxp_client *client = turns->client;

	lockdep_assert_held(&ts->lock);
	if (list_empty(&turns->link) && !list_empty(&turns->todo) && turns->taken < ts->share)
		list_add_tail(&turns->link, client->serving < ts->client_share ? &ts->turns :
			      &client->waiting);
}

/*
 * The client has room for a thread more: the session of it that has waited longest gets in
 * line.
 */
static void rxp_client_next(struct rxp_threads *ts, struct rxp_client *client)
{
	lockdep_assert_held(&ts->lock);
	if (!list_empty(&client->waiting) && client->serving < ts->client_share)
		list_move_tail(client->waiting.next, &ts->turns);
}

/* ------------------------------------------------------------------------- domains */

static struct hlist_head *rxp_domain_bucket(struct rxp_threads *ts, u64 key)
{
	return &ts->domains[hash_64(key, RXP_DOMAIN_BITS)];
}

static struct rxp_domain *rxp_domain_find(struct rxp_threads *ts, u64 key)
{
	struct rxp_domain *d;

	lockdep_assert_held(&ts->lock);
	hlist_for_each_entry(d, rxp_domain_bucket(ts, key), node)
		if (d->key == key)
			return d;
	return NULL;
}

static void rxp_domain_free(struct rxp_threads *ts, struct rxp_domain *d)
{
	hlist_del(&d->node);
	ts->nr_domains--;
	kfree(d);
}

static struct rxp_domain *rxp_domain_get(struct rxp_threads *ts, u64 key)
{
	struct rxp_domain *d = rxp_domain_find(ts, key);

	if (d)
		return d;
	d = kzalloc(sizeof(*d), GFP_ATOMIC | __GFP_NOWARN);
	if (!d)
		return NULL;
	d->key = key;
	hlist_add_head(&d->node, rxp_domain_bucket(ts, key));
	ts->nr_domains++;
	return d;
}

/* --------------------------------------------------------------------------- parts */

static struct rxp_part *rxp_part_get(struct rxp_client *client, u64 key)
{
	struct rxp_part *part;

	list_for_each_entry(part, &client->parts, node)
		if (part->key == key)
			return part;
	part = kzalloc(sizeof(*part), GFP_ATOMIC | __GFP_NOWARN);
	if (!part)
		return NULL;
	part->client = client;
	part->key = key;
	INIT_LIST_HEAD(&part->parked);
	INIT_LIST_HEAD(&part->link);
	list_add(&part->node, &client->parts);
	client->nr_parts++;
	return part;
}

/*
 * Find the part of a request.  If there is no memory for one the request has none: then only
 * its session's and its client's bounds hold for it.
 */
static void rxp_part_join(struct rxp_threads *ts, struct rxp_req *req, u64 key)
{
	struct rxp_domain *d = NULL;
	struct rxp_part *part = NULL;

	lockdep_assert_held(&ts->lock);
	if (key)
		d = rxp_domain_get(ts, key);
	if (d)
		part = rxp_part_get(req->session->turns.client, key);
	req->part = part;
	if (!part)
		return;
	part->domain = d;
	part->nr++;
	d->nr++;
}

/* A request of @part has been served. */
static void rxp_part_leave(struct rxp_threads *ts, struct rxp_part *part)
{
	struct rxp_client *client = part->client;
	struct rxp_domain *d = part->domain;

	lockdep_assert_held(&ts->lock);
	d->serving--;
	part->serving--;
	if (!--d->nr && ts->nr_domains > RXP_DOMAINS_IDLE)
		rxp_domain_free(ts, d);
	if (!--part->nr && client->nr_parts > RXP_PARTS_IDLE) {
		list_del(&part->node);
		client->nr_parts--;
		kfree(part);
	}
}

/* May @part have one thread more? */
static bool rxp_part_has_room(const struct rxp_threads *ts, const struct rxp_part *part)
{
	lockdep_assert_held(&ts->lock);
	return !part || (part->domain->serving < ts->nr - ts->serving &&
			 part->serving < ts->client_share - part->client->serving);
}

/*
 * Park a request.  It counts against its session's threads, but the session may have another
 * request's turn.
 */
static void rxp_part_park(struct rxp_threads *ts, struct rxp_req *req)
{
	struct rxp_part *part = req->part;

	lockdep_assert_held(&ts->lock);
	list_add_tail(&req->link, &part->parked);
	if (list_empty(&part->link))
		list_add_tail(&part->link, &ts->parked);
	req->session->turns.taken++;
}

/*
 * Make one parked request the next of its session, if there is room for it.  This is called for
 * each thread that is done with a request, and again when a request has been given to a thread:
 * the thread that one domain has given up may go to another, and may leave room in the first
 * all the same.
 */
static void rxp_parts_unpark(struct rxp_threads *ts)
{
	struct rxp_part *part;
	struct rxp_req *req;

	lockdep_assert_held(&ts->lock);
	list_for_each_entry(part, &ts->parked, link) {
		if (!rxp_part_has_room(ts, part))
			continue;
		req = list_first_entry(&part->parked, struct rxp_req, link);
		list_move(&req->link, &req->session->turns.todo);
		if (list_empty(&part->parked))
			list_del_init(&part->link);
		else
			list_move_tail(&part->link, &ts->parked);
		req->session->turns.taken--;
		rxp_turns_update(ts, &req->session->turns);
		return;
	}
}

/* ------------------------------------------------------------------------ requests */

/**
 * rxp_turns_add - queue a request for a thread
 * @ts:  the threads, locked
 * @req: the request
 * @key: the resource that it may wait for, as the service numbers them; 0: none
 *
 * Context: any but hard interrupt, rxp_threads.lock held.
 */
void rxp_turns_add(struct rxp_threads *ts, struct rxp_req *req, u64 key)
{
	lockdep_assert_held(&ts->lock);
	rxp_part_join(ts, req, key);
	list_add_tail(&req->link, &req->session->turns.todo);
	rxp_turns_update(ts, &req->session->turns);
}

/* Find the session whose turn it is, or NULL. */
static struct rxp_turns *rxp_turns_first(struct rxp_threads *ts)
{
	struct rxp_turns *turns;

	lockdep_assert_held(&ts->lock);
	for (;;) {
		turns = list_first_entry_or_null(&ts->turns, struct rxp_turns, link);
		if (!turns || turns->client->serving < ts->client_share)
			return turns;
		/* Other sessions of the client have used up its share meanwhile. */
		list_move_tail(&turns->link, &turns->client->waiting);
	}
}

/**
 * rxp_turns_take - take the next request for a thread
 * @ts: the threads, locked
 *
 * Context: any but hard interrupt, rxp_threads.lock held.
 *
 * Return: a request of the session whose turn it is, or NULL; the thread calls
 * rxp_turns_served() when it is done with the request.
 */
struct rxp_req *rxp_turns_take(struct rxp_threads *ts)
{
	struct rxp_turns *turns;
	struct rxp_req *req;

	lockdep_assert_held(&ts->lock);
	rxp_parts_unpark(ts);
	while ((turns = rxp_turns_first(ts))) {
		req = list_first_entry(&turns->todo, struct rxp_req, link);
		list_del(&req->link);
		list_del_init(&turns->link);
		if (rxp_part_has_room(ts, req->part)) {
			turns->taken++;
			turns->client->serving++;
			ts->serving++;
			if (req->part) {
				req->part->serving++;
				req->part->domain->serving++;
			}
			rxp_turns_update(ts, turns);
			rxp_parts_unpark(ts);
			return req;
		}
		rxp_part_park(ts, req);
		rxp_turns_update(ts, turns);
		/* A parked request leaves its client's place to another session. */
		rxp_client_next(ts, turns->client);
	}
	return NULL;
}

/**
 * rxp_turns_served - account that a thread is done with a request
 * @ts:    the threads, locked
 * @turns: those of the request's session; it, or another of its client, may have another turn
 * @part:  the request's, or NULL
 *
 * Context: any but hard interrupt, rxp_threads.lock held.
 */
void rxp_turns_served(struct rxp_threads *ts, struct rxp_turns *turns, struct rxp_part *part)
{
	struct rxp_client *client = turns->client;

	lockdep_assert_held(&ts->lock);
	ts->serving--;
	turns->taken--;
	client->serving--;
	if (part)
		rxp_part_leave(ts, part);
	rxp_client_next(ts, client);
	rxp_turns_update(ts, turns);
}

/**
 * rxp_domains_free - free all domains: no request will come any more
 * @ts: the threads, stopped
 *
 * Context: process.
 */
void rxp_domains_free(struct rxp_threads *ts)
{
	struct hlist_node *next;
	struct rxp_domain *d;
	int i;

	for (i = 0; i < ARRAY_SIZE(ts->domains); i++)
		hlist_for_each_entry_safe(d, next, &ts->domains[i], node)
			rxp_domain_free(ts, d);
}
