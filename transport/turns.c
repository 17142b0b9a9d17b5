// SPDX-License-Identifier: GPL-2.0
/*
 * Whose request gets the next of the server's threads.
 *
 * Sessions take turns, one request each, and none has more than a quarter of the
 * threads: what its requests block on leaves threads to the others.  All sessions of one
 * client together leave a quarter to other clients.
 *
 * What blocks is a file system: one that is frozen, or whose disk does not answer, blocks
 * all who use it.  So the service tells of each request what it may wait for, its
 * *domain*, and none of these has more threads than it leaves free: half of them if it is
 * alone, a quarter if another half is blocked elsewhere, and so on.  The same holds again
 * for each client's *part* of a domain, and the three quarters that the client may have: who
 * uses file systems that do not answer keeps a place for one that does.  (Of 32 threads a
 * client may have 24: 12 in the first of those, then 6, 3 and 2, and one is left.)
 *
 * A request whose turn comes when there is no room for it is parked with its part, in its
 * session's place among those that have threads, but not in its client's; when there is
 * room again it is the next of its session.  Parts with parked requests take turns.
 */
#include <linux/hash.h>
#include <linux/slab.h>
#include "transport/server.h"

/* Domains, and parts of a client, that are kept though they have no request: it may come. */
#define RXP_DOMAINS_IDLE	64
#define RXP_PARTS_IDLE		8

/**
 * struct rxp_domain - what requests may wait for; all under rxp_threads.lock
 * @node:    in its bucket
 * @key:     the service's name for it
 * @serving: threads that have a request for it
 * @nr:	     requests for it: waiting, parked or served
 */
struct rxp_domain {
	struct hlist_node node;
	u64 key;
	u32 serving;
	u32 nr;
};

/**
 * struct rxp_part - one client's requests for one domain; all under rxp_threads.lock
 * @node:    among its client's
 * @client:  whose; not referenced, the sessions of its requests are
 * @key:     the domain's
 * @domain:  while it has requests
 * @parked:  those whose turn came when there was no room
 * @link:    among the parts with parked ones, the one that has waited longest first
 * @serving: threads that have one
 * @nr:	     how many: waiting, parked or served
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
 * rxp_turns_init - a session without requests, of a client without others
 * @turns: its turns
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

/* Its sessions have no requests, and so nobody finds its parts any more. */
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
 */
void rxp_turns_exit(struct rxp_turns *turns)
{
	kref_put(&turns->client->ref, rxp_client_release);
}

/**
 * rxp_turns_join - a session is of the same client as another
 * @turns: its turns, before it has requests
 * @other: the other's
 *
 * Any context but hard interrupt.
 */
void rxp_turns_join(struct rxp_turns *turns, const struct rxp_turns *other)
{
	rxp_turns_exit(turns);
	turns->client = other->client;
	kref_get(&turns->client->ref);
}

/* A session's requests have become more, or its threads fewer: does its turn come? */
static void rxp_turns_update(struct rxp_threads *ts, struct rxp_turns *turns)
{
	struct rxp_client *client = turns->client;

	lockdep_assert_held(&ts->lock);
	if (list_empty(&turns->link) && !list_empty(&turns->todo) && turns->taken < ts->share)
		list_add_tail(&turns->link, client->serving < ts->client_share ? &ts->turns :
			      &client->waiting);
}

/* One place, one session of the client; the one that has waited longest. */
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
 * The part that a request is of.  One that there is no memory for is of none: it has only
 * its session's bounds, and its client's.
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

/* A request of it has been served. */
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

/* May it have one thread more? */
static bool rxp_part_has_room(const struct rxp_threads *ts, const struct rxp_part *part)
{
	lockdep_assert_held(&ts->lock);
	return !part || (part->domain->serving < ts->nr - ts->serving &&
			 part->serving < ts->client_share - part->client->serving);
}

/* The request keeps its session's place; its session may have another one's turn. */
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
 * One of those that are parked is its session's next, if there is room for it.  This is
 * asked for each thread that is through with a request, and again when one has been given
 * away: what one domain gave up may be another's, and leave room in the first all the same.
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
 * rxp_turns_add - a request is to have a thread
 * @ts:	 the threads, locked
 * @req: the request
 * @key: what it may wait for, in the service's words; 0: nothing
 */
void rxp_turns_add(struct rxp_threads *ts, struct rxp_req *req, u64 key)
{
	lockdep_assert_held(&ts->lock);
	rxp_part_join(ts, req, key);
	list_add_tail(&req->link, &req->session->turns.todo);
	rxp_turns_update(ts, &req->session->turns);
}

/* The session whose turn it is, or NULL. */
static struct rxp_turns *rxp_turns_first(struct rxp_threads *ts)
{
	struct rxp_turns *turns;

	lockdep_assert_held(&ts->lock);
	for (;;) {
		turns = list_first_entry_or_null(&ts->turns, struct rxp_turns, link);
		if (!turns || turns->client->serving < ts->client_share)
			return turns;
		/* Others of the client were faster. */
		list_move_tail(&turns->link, &turns->client->waiting);
	}
}

/**
 * rxp_turns_take - the next request for a thread
 * @ts: the threads, locked
 *
 * Return: the request of the session whose turn it is, or NULL; rxp_turns_served() ends
 * what begins with it.
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
		/* It has left its client a place. */
		rxp_client_next(ts, turns->client);
	}
	return NULL;
}

/**
 * rxp_turns_served - a thread is through with a request
 * @ts:	   the threads, locked
 * @turns: those of its session, which may have another one, or its client
 * @part:  what it was of, or NULL
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
 * rxp_domains_free - no request will come any more
 * @ts: the threads
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
