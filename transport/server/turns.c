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
 * *resource*.  A resource has no more threads than it leaves free: half of them if it is alone, a
 * quarter if another half is blocked in another resource, and so on.  The same holds for each
 * client's *part* of a resource and the three quarters of the threads that the client may have: a
 * client that uses file systems that do not answer keeps a thread for one that does.  (Of 32
 * threads a client may have 24: 12 in the first of such resources, then 6, 3 and 2, and one is
 * left.)
 *
 * A request whose turn comes when its part has no room is parked with the part.  It counts
 * against its session's quarter, but not against its client's threads.  When there is room
 * again it is the next of its session.  Parts with parked requests take turns.
 *
 * Everything here is guarded by rxs_threads.lock.
 */
#include <linux/hash.h>
#include <linux/slab.h>
#include "transport/server/server.h"

/*
 * Resources of a server, and parts of a client, that are kept though they have no request now:
 * one may come.
 */
#define RXS_RESOURCES_IDLE	64
#define RXS_PARTS_IDLE		8

/**
 * struct rxs_resource - what requests may wait for, such as a file system
 * @node:    in its hash bucket
 * @key:     the service's number for it
 * @serving: number of threads that have a request for it
 * @nr:      number of requests for it: waiting, parked or served
 *
 * All of it is guarded by rxs_threads.lock.
 */
struct rxs_resource {
	struct hlist_node node;
	u64 key;
	u32 serving;
	u32 nr;
};

/**
 * struct rxs_part - the requests of one client for one resource
 * @node:    in its client's list of parts
 * @client:  the client; no reference, as the sessions of the part's requests have one
 * @key:     the resource's
 * @resource: the resource, valid while the part has requests
 * @parked:  requests whose turn came when there was no room
 * @link:    in the list of parts with parked requests, the one that has waited longest first
 * @serving: number of threads that have a request of it
 * @nr:      number of requests: waiting, parked or served
 *
 * All of it is guarded by rxs_threads.lock.
 */
struct rxs_part {
	struct list_head node;
	struct rxs_client *client;
	u64 key;
	struct rxs_resource *resource;
	struct list_head parked;
	struct list_head link;
	u32 serving;
	u32 nr;
};

/* ------------------------------------------------------------------------ sessions */

/**
 * rxs_turns_init - begin with a session without requests, the only one of its client
 * @turns: its turns
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rxs_turns_init(struct rxs_turns *turns)
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
static void rxs_client_release(struct kref *ref)
{
	struct rxs_client *client = container_of(ref, struct rxs_client, ref);
	struct rxs_part *part, *next;

	list_for_each_entry_safe(part, next, &client->parts, node)
		kfree(part);
	kfree(client);
}

/**
 * rxs_turns_exit - undo rxs_turns_init()
 * @turns: of a session without requests
 *
 * Context: any but hard interrupt.
 */
void rxs_turns_exit(struct rxs_turns *turns)
{
	kref_put(&turns->client->ref, rxs_client_release);
}

/**
 * rxs_turns_join - make a session one of the same client as another
 * @turns: its turns, before it has requests
 * @other: the other session's
 *
 * Context: any but hard interrupt.
 */
void rxs_turns_join(struct rxs_turns *turns, const struct rxs_turns *other)
{
	rxs_turns_exit(turns);
	turns->client = other->client;
	kref_get(&turns->client->ref);
}

/*
 * Put a session in the line for turns if it is to be there: its requests have become more, or
 * its threads fewer.
 */
static void rxs_turns_update(struct rxs_threads *ts, struct rxs_turns *turns)
{
	struct rxs_client *client = turns->client;

	lockdep_assert_held(&ts->lock);
	if (list_empty(&turns->link) && !list_empty(&turns->todo) && turns->taken < ts->share)
		list_add_tail(&turns->link, client->serving < ts->client_share ? &ts->turns :
			      &client->waiting);
}

/*
 * The client has room for a thread more: the session of it that has waited longest gets in
 * line.
 */
static void rxs_client_next(struct rxs_threads *ts, struct rxs_client *client)
{
	lockdep_assert_held(&ts->lock);
	if (!list_empty(&client->waiting) && client->serving < ts->client_share)
		list_move_tail(client->waiting.next, &ts->turns);
}

/* ----------------------------------------------------------------------- resources */

static struct hlist_head *rxs_resource_bucket(struct rxs_threads *ts, u64 key)
{
	return &ts->resources[hash_64(key, RXS_RESOURCE_BITS)];
}

static struct rxs_resource *rxs_resource_find(struct rxs_threads *ts, u64 key)
{
	struct rxs_resource *r;

	lockdep_assert_held(&ts->lock);
	hlist_for_each_entry(r, rxs_resource_bucket(ts, key), node)
		if (r->key == key)
			return r;
	return NULL;
}

static void rxs_resource_free(struct rxs_threads *ts, struct rxs_resource *r)
{
	hlist_del(&r->node);
	ts->nr_resources--;
	kfree(r);
}

static struct rxs_resource *rxs_resource_get(struct rxs_threads *ts, u64 key)
{
	struct rxs_resource *r = rxs_resource_find(ts, key);

	if (r)
		return r;
	r = kzalloc(sizeof(*r), GFP_ATOMIC | __GFP_NOWARN);
	if (!r)
		return NULL;
	r->key = key;
	hlist_add_head(&r->node, rxs_resource_bucket(ts, key));
	ts->nr_resources++;
	return r;
}

/* --------------------------------------------------------------------------- parts */

static struct rxs_part *rxs_part_get(struct rxs_client *client, u64 key)
{
	struct rxs_part *part;

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
static void rxs_part_join(struct rxs_threads *ts, struct rxs_req *req, u64 key)
{
	struct rxs_resource *r = NULL;
	struct rxs_part *part = NULL;

	lockdep_assert_held(&ts->lock);
	if (key)
		r = rxs_resource_get(ts, key);
	if (r)
		part = rxs_part_get(req->session->turns.client, key);
	req->part = part;
	if (!part)
		return;
	part->resource = r;
	part->nr++;
	r->nr++;
}

/* A request of @part has been served. */
static void rxs_part_leave(struct rxs_threads *ts, struct rxs_part *part)
{
	struct rxs_client *client = part->client;
	struct rxs_resource *r = part->resource;

	lockdep_assert_held(&ts->lock);
	r->serving--;
	part->serving--;
	if (!--r->nr && ts->nr_resources > RXS_RESOURCES_IDLE)
		rxs_resource_free(ts, r);
	if (!--part->nr && client->nr_parts > RXS_PARTS_IDLE) {
		list_del(&part->node);
		client->nr_parts--;
		kfree(part);
	}
}

/* May @part have one thread more? */
static bool rxs_part_has_room(const struct rxs_threads *ts, const struct rxs_part *part)
{
	lockdep_assert_held(&ts->lock);
	return !part || (part->resource->serving < ts->nr - ts->serving &&
			 part->serving < ts->client_share - part->client->serving);
}

/*
 * Park a request.  It counts against its session's threads, but the session may have another
 * request's turn.
 */
static void rxs_part_park(struct rxs_threads *ts, struct rxs_req *req)
{
	struct rxs_part *part = req->part;

	lockdep_assert_held(&ts->lock);
	list_add_tail(&req->link, &part->parked);
	if (list_empty(&part->link))
		list_add_tail(&part->link, &ts->parked);
	req->session->turns.taken++;
}

/*
 * Make one parked request the next of its session, if there is room for it.  This is called for
 * each thread that is done with a request, and again when a request has been given to a thread:
 * the thread that one resource has given up may go to another, and may leave room in the first
 * all the same.
 */
static void rxs_parts_unpark(struct rxs_threads *ts)
{
	struct rxs_part *part;
	struct rxs_req *req;

	lockdep_assert_held(&ts->lock);
	list_for_each_entry(part, &ts->parked, link) {
		if (!rxs_part_has_room(ts, part))
			continue;
		req = list_first_entry(&part->parked, struct rxs_req, link);
		list_move(&req->link, &req->session->turns.todo);
		if (list_empty(&part->parked))
			list_del_init(&part->link);
		else
			list_move_tail(&part->link, &ts->parked);
		req->session->turns.taken--;
		rxs_turns_update(ts, &req->session->turns);
		return;
	}
}

/* ------------------------------------------------------------------------ requests */

/**
 * rxs_turns_add - queue a request for a thread
 * @ts:  the threads, locked
 * @req: the request
 * @key: the resource that it may wait for, as the service numbers them; 0: none
 *
 * Context: any but hard interrupt, rxs_threads.lock held.
 */
void rxs_turns_add(struct rxs_threads *ts, struct rxs_req *req, u64 key)
{
	lockdep_assert_held(&ts->lock);
	rxs_part_join(ts, req, key);
	list_add_tail(&req->link, &req->session->turns.todo);
	rxs_turns_update(ts, &req->session->turns);
}

/* Find the session whose turn it is, or NULL. */
static struct rxs_turns *rxs_turns_first(struct rxs_threads *ts)
{
	struct rxs_turns *turns;

	lockdep_assert_held(&ts->lock);
	for (;;) {
		turns = list_first_entry_or_null(&ts->turns, struct rxs_turns, link);
		if (!turns || turns->client->serving < ts->client_share)
			return turns;
		/* Other sessions of the client have used up its share meanwhile. */
		list_move_tail(&turns->link, &turns->client->waiting);
	}
}

/**
 * rxs_turns_take - take the next request for a thread
 * @ts: the threads, locked
 *
 * Context: any but hard interrupt, rxs_threads.lock held.
 *
 * Return: a request of the session whose turn it is, or NULL; the thread calls
 * rxs_turns_served() when it is done with the request.
 */
struct rxs_req *rxs_turns_take(struct rxs_threads *ts)
{
	struct rxs_turns *turns;
	struct rxs_req *req;

	lockdep_assert_held(&ts->lock);
	rxs_parts_unpark(ts);
	while ((turns = rxs_turns_first(ts))) {
		req = list_first_entry(&turns->todo, struct rxs_req, link);
		list_del(&req->link);
		list_del_init(&turns->link);
		if (rxs_part_has_room(ts, req->part)) {
			turns->taken++;
			turns->client->serving++;
			ts->serving++;
			if (req->part) {
				req->part->serving++;
				req->part->resource->serving++;
			}
			rxs_turns_update(ts, turns);
			rxs_parts_unpark(ts);
			return req;
		}
		rxs_part_park(ts, req);
		rxs_turns_update(ts, turns);
		/* A parked request leaves its client's place to another session. */
		rxs_client_next(ts, turns->client);
	}
	return NULL;
}

/**
 * rxs_turns_served - account that a thread is done with a request
 * @ts:    the threads, locked
 * @turns: those of the request's session; it, or another of its client, may have another turn
 * @part:  the request's, or NULL
 *
 * Context: any but hard interrupt, rxs_threads.lock held.
 */
void rxs_turns_served(struct rxs_threads *ts, struct rxs_turns *turns, struct rxs_part *part)
{
	struct rxs_client *client = turns->client;

	lockdep_assert_held(&ts->lock);
	ts->serving--;
	turns->taken--;
	client->serving--;
	if (part)
		rxs_part_leave(ts, part);
	rxs_client_next(ts, client);
	rxs_turns_update(ts, turns);
}

/**
 * rxs_resources_free - free all resources: no request will come any more
 * @ts: the threads, stopped
 *
 * Context: process.
 */
void rxs_resources_free(struct rxs_threads *ts)
{
	struct hlist_node *next;
	struct rxs_resource *r;
	int i;

	for (i = 0; i < ARRAY_SIZE(ts->resources); i++)
		hlist_for_each_entry_safe(r, next, &ts->resources[i], node)
			rxs_resource_free(ts, r);
}
