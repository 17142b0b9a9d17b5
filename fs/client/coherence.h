/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rules: what follows from attributes off the wire for cached pages, names and
 * the size.  They have no locks, no memory, no clock of their own.  The
 * caller holds rdmafs_inode.lock, and acts on what they say.
 *
 * A change of the object is an *own* one if this mount has asked for it, else a
 * *foreign* one, whether another client has made it or a program at the server.
 *
 * A cookie stands for a state of the object; cookies only grow (a server that
 * crashed may be an exception).  Attributes are *asked* for at a tick of the
 * mount's clock.  The clock advances when an own change has ended, and with every
 * answer; an answer that was asked for before such a tick may be older than what
 * has been known since that tick.
 */
#ifndef RDMAFS_COHERENCE_H
#define RDMAFS_COHERENCE_H

#include <linux/types.h>

/*
 * How many pieces of own changes may wait for the answers that connect them.
 *
 * If n changes are sent together and answered in any order, there are at most n/2 pieces, so
 * this is enough for the usual 64 slots.  In a stream of changes there are at most as many
 * pieces as changes in flight, so up to this many may be in flight and be answered in any
 * order.  With more in flight, and answers in random order, there is no room sooner or later.
 * (If no answer overtakes more than 64 others, there are 21 pieces.)  Then own changes count as
 * foreign: cached pages are written back and dropped, and names are asked for again; no data is
 * lost.
 */
#define RDMAFS_NR_EDGES		32

/**
 * struct rdmafs_edge - one or more own changes: the cookies around them
 * @before: cookie before the first, as the server says
 * @after:  cookie after the last, likewise
 */
struct rdmafs_edge {
	u64 before;
	u64 after;
};

/**
 * enum rdmafs_pages - state of the cached pages of a file
 * @RDMAFS_PAGES_VALID:	the pages are as good as the attributes, until RDMAFS_PAGES_CHANGED
 * @RDMAFS_PAGES_STALE:	there was, or may have been, a foreign change, and no task drops the
 *			pages yet; the first task that wants to use them does (RDMAFS_PAGES_DROP)
 * @RDMAFS_PAGES_DROPPING: that task writes back what is dirty and drops the pages; other tasks
 *			that want to use pages wait for it.  The task ends this: pages are
 *			valid after RDMAFS_PAGES_DROPPED, stale after RDMAFS_PAGES_KEPT
 * @RDMAFS_PAGES_DROPPING_AGAIN: the same, but RDMAFS_PAGES_CHANGED has come since the task
 *			began; the task ends this, too, and pages are stale then
 */
enum rdmafs_pages {
	RDMAFS_PAGES_VALID,
	RDMAFS_PAGES_STALE,
	RDMAFS_PAGES_DROPPING,
	RDMAFS_PAGES_DROPPING_AGAIN,
};

/**
 * enum rdmafs_pages_event - what happens to cached pages
 * @RDMAFS_PAGES_CHANGED: there was, or may have been, a foreign change of the file
 * @RDMAFS_PAGES_DROP:	a task begins to drop the pages; only from STALE
 * @RDMAFS_PAGES_DROPPED: the task has dropped all of them
 * @RDMAFS_PAGES_KEPT:	the task could not drop all of them
 */
enum rdmafs_pages_event {
	RDMAFS_PAGES_CHANGED,
	RDMAFS_PAGES_DROP,
	RDMAFS_PAGES_DROPPED,
	RDMAFS_PAGES_KEPT,
};

/**
 * enum rdmafs_size - what attributes may do to a file's size
 * @RDMAFS_SIZE_KEEP: nothing: they may be older than an own truncate
 * @RDMAFS_SIZE_GROW: raise it: they may be older than an own write
 * @RDMAFS_SIZE_SET:  raise or lower it
 */
enum rdmafs_size {
	RDMAFS_SIZE_KEEP,
	RDMAFS_SIZE_GROW,
	RDMAFS_SIZE_SET,
};

/**
 * struct rdmafs_coh - what is known of an object
 * @change:	every change up to this cookie is an own one, or a foreign one that was found
 * @seen:	cookie of the attributes that were taken over last
 * @clock:	last tick at which an own change ended, or at which an answer told of a foreign
 *		one or left that in doubt: answers that were asked for before may be older
 *		than what is known
 * @size_clock: last tick at which an own change of the size ended
 * @own:	own changes in flight
 * @resizing:	own changes of the size that are under way
 * @edges:	own changes that do not connect to @change (yet), nor to each other
 * @nr_edges:	number of elements of @edges in use
 * @verifier:	a name that was looked up under another value is asked for again; never 0
 * @pages:	state of the cached pages
 * @hidden:	an own change may have hidden a foreign one
 * @unproven:	attributes that crossed an own change might have told of a foreign one, or told
 *		of a size that could not be taken over
 *
 * All of it is under rdmafs_inode.lock, but @pages and @verifier are also read without it.
 */
struct rdmafs_coh {
	u64 change;
	u64 seen;
	u64 clock;
	u64 size_clock;
	unsigned int own;
	unsigned int resizing;
	struct rdmafs_edge edges[RDMAFS_NR_EDGES];
	unsigned int nr_edges;
	unsigned long verifier;
	enum rdmafs_pages pages;
	bool hidden;
	bool unproven;
};

/**
 * struct rdmafs_verdict - what the caller is to do with attributes that came
 * @use:     take them over, but for the size
 * @believe: they are what the server has: do not ask again for a while
 * @changed: there was a foreign change of the object: do not trust cached ACLs either
 * @size:    what they may do to the size
 */
struct rdmafs_verdict {
	bool use;
	bool believe;
	bool changed;
	enum rdmafs_size size;
};

void rdmafs_coh_init(struct rdmafs_coh *c);
void rdmafs_coh_first(struct rdmafs_coh *c, u64 change, u64 now);
struct rdmafs_verdict rdmafs_coh_fresh(struct rdmafs_coh *c, u64 change, u64 asked, u64 now);
bool rdmafs_coh_grow(struct rdmafs_coh *c, bool dirty);
enum rdmafs_size rdmafs_coh_size(const struct rdmafs_coh *c, u64 asked);
void rdmafs_coh_own_begin(struct rdmafs_coh *c);
struct rdmafs_verdict rdmafs_coh_own_end(struct rdmafs_coh *c, const struct rdmafs_edge *told,
					 u64 asked, u64 now);
void rdmafs_coh_resize_begin(struct rdmafs_coh *c);
void rdmafs_coh_resize_end(struct rdmafs_coh *c, u64 now);
void rdmafs_coh_unknown(struct rdmafs_coh *c, u64 now);
bool rdmafs_coh_opened(struct rdmafs_coh *c);
bool rdmafs_pages_next(enum rdmafs_pages *pages, enum rdmafs_pages_event event);

#endif
