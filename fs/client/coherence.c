// SPDX-License-Identifier: GPL-2.0
/*
 * The rules by which attributes are believed or not; coherence.h has the terms.  Pure.
 *
 * Three kinds of attributes arrive:
 *	fresh	with the reply to GETATTR, LOOKUP, OPEN, READDIR, COMMIT: what the
 *		server has now.  A cookie that is not known means that there was a
 *		foreign change: cached pages, names and ACLs are not to be trusted.
 *	own	with the reply to an own change.  Their cookie differs from the last
 *		one because of that change; the reply also has the cookie of before
 *		the change, which tells whether it differs for no other reason.
 *	weak	fresh ones that crossed an own change on the way, or another answer
 *		that told of a foreign one: they may be from before or after it.
 *		They do not shrink a file, unless their cookie is the known one; they
 *		are no reason not to ask again; and they prove nothing.  Attributes
 *		that are older than those taken over last are not used at all.
 *
 * Own changes run in parallel and are answered in any order.  The cookies (before,
 * after) of one with before <= @change raise @change to after.  Changes that do not
 * connect wait as edges for the answer that closes the gap; edges that touch become
 * one.  If a gap is left when no own change is in flight, there was a foreign change
 * in it.
 *
 * While an own change of the size is under way, no attributes change the size.  Nor
 * do attributes, ever, that were asked for before that change has ended: else the old
 * size of the file would undo a truncate.
 *
 * If the server says that a file is longer than is known here, a foreign write has made it
 * longer, as own writes raise the size here first.  Cached pages hold zeros behind the end
 * that was known, so they are dropped.  And the size stays while the page of that end is
 * dirty: all of that page, up to the size, is written back, and the zeros with it.
 *
 * An open must show what other clients have written before they closed the file.  Weak
 * attributes can't tell (@unproven): the opener waits until no own change is in flight, and
 * asks again.  A change of which the server does not tell (@hidden) is not found by asking,
 * so pages are dropped.
 */
#include "coherence.h"

/**
 * rdmafs_pages_next - move the state of cached pages on by an event
 * @pages: their state
 * @event: what has happened
 *
 * Context: any; rdmafs_inode.lock held.
 * Return: false if @event can't happen in that state, which is left as it is.
 */
bool rdmafs_pages_next(enum rdmafs_pages *pages, enum rdmafs_pages_event event)
{
	switch (event) {
	case RDMAFS_PAGES_CHANGED:
		if (*pages == RDMAFS_PAGES_VALID)
			*pages = RDMAFS_PAGES_STALE;
		else if (*pages == RDMAFS_PAGES_DROPPING)
			*pages = RDMAFS_PAGES_DROPPING_AGAIN;
		return true;
	case RDMAFS_PAGES_DROP:
		if (*pages != RDMAFS_PAGES_STALE)
			return false;
		*pages = RDMAFS_PAGES_DROPPING;
		return true;
	case RDMAFS_PAGES_DROPPED:
		if (*pages != RDMAFS_PAGES_DROPPING && *pages != RDMAFS_PAGES_DROPPING_AGAIN)
			return false;
		/* A change that came meanwhile counts: pages may have been read in before it. */
		*pages = *pages == RDMAFS_PAGES_DROPPING ? RDMAFS_PAGES_VALID :
							   RDMAFS_PAGES_STALE;
		return true;
	case RDMAFS_PAGES_KEPT:
		if (*pages != RDMAFS_PAGES_DROPPING && *pages != RDMAFS_PAGES_DROPPING_AGAIN)
			return false;
		*pages = RDMAFS_PAGES_STALE;
		return true;
	}
	return false;
}

/**
 * rdmafs_coh_init - begin with an object of which nothing is known
 * @c: zeroed
 *
 * Context: any; the object is not known to anything else yet.
 */
void rdmafs_coh_init(struct rdmafs_coh *c)
{
	/* A dentry whose name was never confirmed has 0. */
	c->verifier = 1;
	c->pages = RDMAFS_PAGES_VALID;
}

/**
 * rdmafs_coh_first - take the first attributes of an object
 * @c:	    what is known: nothing
 * @change: their cookie
 * @now:    the mount's clock, which has been advanced
 *
 * Context: any; rdmafs_inode.lock held.
 */
void rdmafs_coh_first(struct rdmafs_coh *c, u64 change, u64 now)
{
	c->change = change;
	c->seen = change;
	c->clock = now;
}

/* Have all names in this directory asked for again. */
static void rdmafs_coh_names(struct rdmafs_coh *c)
{
	if (!++c->verifier)
		c->verifier = 1;
}

/* There was a foreign change. */
static void rdmafs_coh_foreign(struct rdmafs_coh *c)
{
	rdmafs_pages_next(&c->pages, RDMAFS_PAGES_CHANGED);
	rdmafs_coh_names(c);
}

/* The largest cookie that an own change has left. */
static u64 rdmafs_coh_newest(const struct rdmafs_coh *c)
{
	u64 newest = c->change;
	unsigned int i;

	for (i = 0; i < c->nr_edges; i++)
		if (c->edges[i].after > newest)
			newest = c->edges[i].after;
	return newest;
}

/* There are gaps between own changes: a foreign change is in them. */
static void rdmafs_coh_give_up(struct rdmafs_coh *c)
{
	c->change = rdmafs_coh_newest(c);
	c->nr_edges = 0;
	rdmafs_coh_foreign(c);
}

/* Merge one of the edges that @edge touches into it; false if it touches none. */
static bool rdmafs_coh_absorb(struct rdmafs_coh *c, struct rdmafs_edge *edge)
{
	unsigned int i;

	for (i = 0; i < c->nr_edges; i++) {
		struct rdmafs_edge *other = &c->edges[i];

		if (other->before > edge->after || other->after < edge->before)
			continue;
		if (other->before < edge->before)
			edge->before = other->before;
		if (other->after > edge->after)
			edge->after = other->after;
		*other = c->edges[--c->nr_edges];
		return true;
	}
	return false;
}

/* Note own changes; false if there is no room for them, so that they count as foreign. */
static bool rdmafs_coh_account(struct rdmafs_coh *c, struct rdmafs_edge edge)
{
	while (rdmafs_coh_absorb(c, &edge))
		;
	if (edge.before <= c->change) {
		if (edge.after > c->change)
			c->change = edge.after;
		return true;
	}
	if (c->nr_edges < RDMAFS_NR_EDGES) {
		c->edges[c->nr_edges++] = edge;
		return true;
	}
	rdmafs_coh_give_up(c);
	if (edge.after > c->change)
		c->change = edge.after;
	return false;
}

/**
 * rdmafs_coh_size - tell how attributes may change the size
 * @c:	   what is known
 * @asked: tick at which they were asked for
 *
 * Context: any; rdmafs_inode.lock held.
 * Return: what they may do.
 */
enum rdmafs_size rdmafs_coh_size(const struct rdmafs_coh *c, u64 asked)
{
	if (c->resizing || asked < c->size_clock)
		return RDMAFS_SIZE_KEEP;
	return c->own ? RDMAFS_SIZE_GROW : RDMAFS_SIZE_SET;
}

/**
 * rdmafs_coh_grow - tell whether a size that the server says may be taken over
 * @c:	   what is known
 * @dirty: the page of the end that is known here is dirty, or about to be
 *
 * The size is larger than the one here, and the attributes that say so may raise it.
 *
 * Context: any; rdmafs_inode.lock held.
 * Return: true: raise it, pages are stale now; false: ask the server again later.
 */
bool rdmafs_coh_grow(struct rdmafs_coh *c, bool dirty)
{
	if (dirty) {
		c->unproven = true;
		return false;
	}
	rdmafs_pages_next(&c->pages, RDMAFS_PAGES_CHANGED);
	return true;
}

/**
 * rdmafs_coh_fresh - judge attributes that the server was asked for
 * @c:	    what is known
 * @change: their cookie
 * @asked:  tick at which they were asked for
 * @now:    the mount's clock, which has been advanced
 *
 * Context: any; rdmafs_inode.lock held.
 * Return: what to do with them.
 */
struct rdmafs_verdict rdmafs_coh_fresh(struct rdmafs_coh *c, u64 change, u64 asked, u64 now)
{
	struct rdmafs_verdict v = { .size = rdmafs_coh_size(c, asked) };
	bool weak = c->own || c->clock > asked;

	if (!weak) {
		v.use = true;
		v.changed = change != c->change;
		if (v.changed) {
			rdmafs_coh_foreign(c);
			c->change = change;
			c->clock = now;
		}
		c->unproven = false;
	} else {
		v.use = change >= c->seen;
		/* The state that is known already is not in doubt, so it may lower the size. */
		if (v.size == RDMAFS_SIZE_SET && change != c->change)
			v.size = RDMAFS_SIZE_GROW;
		if (!v.use)
			v.size = RDMAFS_SIZE_KEEP;
		/* There was a change that is not accounted for, an own one or not. */
		if (change > c->change) {
			c->unproven = true;
			/*
			 * Only news puts older questions in doubt.  Answers that all tell the
			 * same would else do so to each other for as long as any task asks.
			 */
			if (change > c->seen)
				c->clock = now;
			/* All own changes are accounted for: it was a foreign one. */
			if (!c->own) {
				rdmafs_coh_foreign(c);
				c->change = change;
				v.changed = true;
			}
		}
	}
	v.believe = v.size == RDMAFS_SIZE_SET;
	if (v.use)
		c->seen = change;
	return v;
}

/**
 * rdmafs_coh_own_begin - count an own change that is about to be sent
 * @c: what is known
 *
 * Context: any; rdmafs_inode.lock held.
 */
void rdmafs_coh_own_begin(struct rdmafs_coh *c)
{
	c->own++;
}

/**
 * rdmafs_coh_own_end - account for an own change that has ended
 * @c:	   what is known
 * @told:  the cookies around it, @before 0 if the server can't tell; NULL if it
 *	   is not known whether the change was executed: the next fresh cookie tells
 * @asked: tick at which it was sent
 * @now:   the mount's clock, which has been advanced for it
 *
 * Context: any; rdmafs_inode.lock held.
 * Return: what to do with the attributes that came with its reply.
 */
struct rdmafs_verdict rdmafs_coh_own_end(struct rdmafs_coh *c, const struct rdmafs_edge *told,
					 u64 asked, u64 now)
{
	struct rdmafs_verdict v = { .size = RDMAFS_SIZE_KEEP };
	struct rdmafs_edge edge;

	c->own--;
	c->clock = now;
	if (told) {
		edge = *told;
		if (!edge.before || edge.before > edge.after) {
			c->hidden = true;
			rdmafs_coh_names(c);
			edge.before = c->change < edge.after ? c->change : edge.after;
		}
		v.changed = !rdmafs_coh_account(c, edge);
		/* A reply that came behind that to a later change is older than what is known. */
		v.use = told->after >= c->seen;
		v.believe = v.use;
		if (v.use) {
			v.size = rdmafs_coh_size(c, asked);
			c->seen = told->after;
		}
	}
	if (!c->own && c->nr_edges) {
		rdmafs_coh_give_up(c);
		v.changed = true;
	}
	return v;
}

/**
 * rdmafs_coh_resize_begin - keep attributes from changing the size
 * @c: what is known
 *
 * An own change of the size is about to be sent.  Until rdmafs_coh_resize_end() no
 * attributes change the size.
 *
 * Context: any; rdmafs_inode.lock held.
 */
void rdmafs_coh_resize_begin(struct rdmafs_coh *c)
{
	c->resizing++;
}

/**
 * rdmafs_coh_resize_end - undo rdmafs_coh_resize_begin(), with the new size in place
 * @c:	 what is known
 * @now: the mount's clock, which has been advanced for the change
 *
 * Context: any; rdmafs_inode.lock held.
 */
void rdmafs_coh_resize_end(struct rdmafs_coh *c, u64 now)
{
	c->resizing--;
	c->size_clock = now;
}

/**
 * rdmafs_coh_unknown - note that an own change is over whose effect is not known
 * @c:	 what is known
 * @now: the mount's clock, which has been advanced for the change
 *
 * Attributes that were asked for before @now may be from before the change, and nothing in them
 * shows that; so they are weak, and say nothing about the size.
 *
 * Context: any; rdmafs_inode.lock held.
 */
void rdmafs_coh_unknown(struct rdmafs_coh *c, u64 now)
{
	c->clock = now;
	c->size_clock = now;
	rdmafs_pages_next(&c->pages, RDMAFS_PAGES_CHANGED);
}

/**
 * rdmafs_coh_opened - tell whether enough is known for an open to use cached pages
 * @c: what is known; the attributes of the open have been taken over
 *
 * Context: any; rdmafs_inode.lock held.
 * Return: false if there may have been a foreign change that was not found: the opener
 * is to wait until no own change is in flight, and to ask the server.
 */
bool rdmafs_coh_opened(struct rdmafs_coh *c)
{
	if (c->hidden) {
		c->hidden = false;
		rdmafs_pages_next(&c->pages, RDMAFS_PAGES_CHANGED);
	}
	return !c->unproven;
}
