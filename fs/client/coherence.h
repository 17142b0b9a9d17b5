/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What attributes off the wire say about what is cached: pages, names, the
 * size.  Rules only: no locks, no memory, no clock of its own.  The caller
 * serialises and acts.
 *
 * A cookie stands for a state of the object; cookies only grow (a server that
 * crashed may be an exception).  Attributes are *asked* for at a tick of the
 * mount's clock, which advances whenever a change of ours has ended, and when an
 * answer tells of what others did: answers to what was asked before may be older.
 */
#ifndef RDMAFS_COHERENCE_H
#define RDMAFS_COHERENCE_H

#include <linux/types.h>

/*
 * n changes sent together and answered in any order are in n/2 pieces at most: this is
 * enough for the usual 64 slots.  In a stream of changes there are as many pieces as are
 * under way, at most; for so many as this any order will do.  With more, and answers that
 * come in no order at all, there is no room sooner or later.  (Those that overtake up to
 * 64 others leave 21 pieces.)  Then ours counts as someone else's: cached pages are written
 * back and dropped and names asked for again, no data is lost.
 */
#define RDMAFS_NR_EDGES		32

/**
 * struct rdmafs_edge - one or more changes of ours: the cookies around them
 * @before: as told by the server
 * @after:  likewise
 */
struct rdmafs_edge {
	u64 before;
	u64 after;
};

/**
 * enum rdmafs_pages - cached pages of a file
 * @RDMAFS_PAGES_VALID:	as good as the attributes
 * @RDMAFS_PAGES_STALE:	someone else changed the file; nobody has dropped them yet
 * @RDMAFS_PAGES_DROPPING: a task writes back what is dirty and drops them; all
 *			others that want to use pages wait for it
 * @RDMAFS_PAGES_DROPPING_AGAIN: and meanwhile the file was changed once more
 */
enum rdmafs_pages {
	RDMAFS_PAGES_VALID,
	RDMAFS_PAGES_STALE,
	RDMAFS_PAGES_DROPPING,
	RDMAFS_PAGES_DROPPING_AGAIN,
};

/**
 * enum rdmafs_pages_event - what happens to them
 * @RDMAFS_PAGES_CHANGED: someone else changed the file, or may have
 * @RDMAFS_PAGES_DROP:	a task begins to drop them; only from STALE
 * @RDMAFS_PAGES_DROPPED: it is done
 * @RDMAFS_PAGES_KEPT:	it could not drop all
 */
enum rdmafs_pages_event {
	RDMAFS_PAGES_CHANGED,
	RDMAFS_PAGES_DROP,
	RDMAFS_PAGES_DROPPED,
	RDMAFS_PAGES_KEPT,
};

/**
 * enum rdmafs_size - what attributes may do to a file's size
 * @RDMAFS_SIZE_KEEP: nothing: they may be older than a truncate of ours
 * @RDMAFS_SIZE_GROW: raise it: they may be older than a write of ours
 * @RDMAFS_SIZE_SET:  raise or lower it
 */
enum rdmafs_size {
	RDMAFS_SIZE_KEEP,
	RDMAFS_SIZE_GROW,
	RDMAFS_SIZE_SET,
};

/**
 * struct rdmafs_coh - what is known of an object
 * @change:	every change up to this cookie is ours or was taken note of
 * @seen:	cookie of the attributes that were taken over last
 * @clock:	tick at which a change of ours ended, or something was learned of others,
 *		last: what was asked for before may be older than what is known
 * @size_clock: tick at which a change of ours to the size ended last
 * @own:	changes of ours in flight
 * @resizing:	of these, how many set the size
 * @edges:	changes of ours that do not connect to @change (yet); apart from
 *		each other
 * @nr_edges:	how many
 * @verifier:	names looked up under another one are asked for again; never 0
 * @pages:	cached pages
 * @hidden:	a change of ours may have hidden one of someone else
 * @unproven:	attributes crossed a change of ours and might have told of one
 *		of someone else, or of more than could be taken over
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
 * struct rdmafs_verdict - what is to be done with attributes that came
 * @use:     take them over, but for the size
 * @believe: they are what the server has: no need to ask again for a while
 * @changed: someone else has changed the object
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
