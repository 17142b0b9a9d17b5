// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of what may be believed; see the header.  Pure.
 *
 * Three kinds of attributes arrive:
 *	fresh	of GETATTR, LOOKUP, OPEN, READDIR: what the server has now.  A
 *		cookie that we do not know means that someone else changed the
 *		object: cached pages, names and ACLs are not to be trusted.
 *	own	with the reply to a change of ours.  Their cookie differs from
 *		the last one because of us; the one of before in the reply tells
 *		whether because of us alone.
 *	weak	fresh ones that crossed a change of ours on the way, or an answer
 *		that told of somebody else's: old or new, one can't tell.  They
 *		never shrink a file, are no reason not to ask again, and prove
 *		nothing; what is older than something known is not even looked at.
 *
 * Own changes run in parallel and are answered in any order.  One (before,
 * after) with before <= change extends what is accounted for to after.  Those
 * that do not connect wait as edges for the answer that closes the gap; edges
 * that touch become one.  If a gap is still there when nothing of ours is in
 * flight, someone else's change is in it.
 *
 * The size is ours alone while a change of ours to it is under way, and what
 * was asked for before that has ended says nothing about it, ever: a truncate
 * must not be undone by what the file was before.
 *
 * A file that is longer than we know is so by what others have written: our own writes
 * raise the size first.  What cached pages hold behind the end that we knew is zeros, so
 * they are dropped; and the size stays while the page of that end is dirty, for all of it
 * up to the size is written back.
 *
 * Who opens a file must get what others have closed.  Weak attributes can't
 * tell (@unproven): the opener has to wait until nothing of ours is in flight
 * and ask again.  What the server does not tell of (@hidden) no question
 * brings to light, so pages are dropped.
 */
#include "coherence.h"

/**
 * rdmafs_pages_next - an event in the life of cached pages
 * @pages: their state
 * @event: what happened
 *
 * Return: false if it can't happen in that state, which then stays.
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
		/* What was found out meanwhile counts: pages may have been read before it. */
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
 * rdmafs_coh_init - nothing is known yet
 * @c: zeroed
 */
void rdmafs_coh_init(struct rdmafs_coh *c)
{
	/* A name that was never confirmed has 0. */
	c->verifier = 1;
	c->pages = RDMAFS_PAGES_VALID;
}

/**
 * rdmafs_coh_first - the first attributes of an object
 * @c:	    what is known: nothing
 * @change: their cookie
 * @now:    the mount's clock, which has been advanced
 */
void rdmafs_coh_first(struct rdmafs_coh *c, u64 change, u64 now)
{
	c->change = change;
	c->seen = change;
	c->clock = now;
}

static void rdmafs_coh_names(struct rdmafs_coh *c)
{
	if (!++c->verifier)
		c->verifier = 1;
}

/* Someone else changed the object. */
static void rdmafs_coh_foreign(struct rdmafs_coh *c)
{
	rdmafs_pages_next(&c->pages, RDMAFS_PAGES_CHANGED);
	rdmafs_coh_names(c);
}

/* The largest cookie that a change of ours has left. */
static u64 rdmafs_coh_newest(const struct rdmafs_coh *c)
{
	u64 newest = c->change;
	unsigned int i;

	for (i = 0; i < c->nr_edges; i++)
		if (c->edges[i].after > newest)
			newest = c->edges[i].after;
	return newest;
}

/* What does not connect is someone else's. */
static void rdmafs_coh_give_up(struct rdmafs_coh *c)
{
	c->change = rdmafs_coh_newest(c);
	c->nr_edges = 0;
	rdmafs_coh_foreign(c);
}

/* The part of what is known that @edge touches is taken into it. */
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

/* Changes of ours; returns false if someone else's was found with them. */
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
 * rdmafs_coh_size - may attributes change the size?
 * @c:	   what is known
 * @asked: when they were asked for
 *
 * Return: how far.
 */
enum rdmafs_size rdmafs_coh_size(const struct rdmafs_coh *c, u64 asked)
{
	if (c->resizing || asked < c->size_clock)
		return RDMAFS_SIZE_KEEP;
	return c->own ? RDMAFS_SIZE_GROW : RDMAFS_SIZE_SET;
}

/**
 * rdmafs_coh_grow - attributes that may raise the size say that it is larger
 * @c:	   what is known
 * @dirty: the page of the end that we know is dirty, or about to be
 *
 * Return: whether it may be raised now; if not, the server is to be asked again.
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
 * rdmafs_coh_fresh - attributes came that the server was asked for
 * @c:	    what is known
 * @change: their cookie
 * @asked:  when they were asked for
 * @now:    the mount's clock, which has been advanced
 *
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
		/* The very state that our last change has left is not in doubt. */
		if (v.size == RDMAFS_SIZE_SET && change != c->change)
			v.size = RDMAFS_SIZE_GROW;
		if (!v.use)
			v.size = RDMAFS_SIZE_KEEP;
		/* Up to @change something happened that was not taken note of. */
		if (change > c->change) {
			c->unproven = true;
			/*
			 * Only for what is news: answers that all tell the same would else
			 * put each other in doubt, for as long as somebody asks.
			 */
			if (change > c->seen)
				c->clock = now;
			/* All of ours is accounted for: it was somebody else. */
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
 * rdmafs_coh_own_begin - a change of ours is about to be sent
 * @c: what is known
 */
void rdmafs_coh_own_begin(struct rdmafs_coh *c)
{
	c->own++;
}

/**
 * rdmafs_coh_own_end - a change of ours has ended
 * @c:	   what is known
 * @told:  the cookies around it, @before 0 if the server can't tell; NULL if
 *	   nobody knows whether it was executed: the next fresh cookie tells
 * @asked: when it was sent
 * @now:   the mount's clock, which it has advanced
 *
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
		/* Replies come in any order. */
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
 * rdmafs_coh_resize_begin - we are about to change the size
 * @c: what is known
 *
 * Until rdmafs_coh_resize_end() no attributes do.
 */
void rdmafs_coh_resize_begin(struct rdmafs_coh *c)
{
	c->resizing++;
}

/**
 * rdmafs_coh_resize_end - that is done, and our own size is set
 * @c:	 what is known
 * @now: the mount's clock, which it has advanced
 */
void rdmafs_coh_resize_end(struct rdmafs_coh *c, u64 now)
{
	c->resizing--;
	c->size_clock = now;
}

/**
 * rdmafs_coh_unknown - a change of ours is over, and nobody knows what it did
 * @c:	 what is known
 * @now: the mount's clock, which it has advanced
 *
 * Attributes that were asked for before may be from before it, and whoever looks at them
 * would not know.
 */
void rdmafs_coh_unknown(struct rdmafs_coh *c, u64 now)
{
	c->clock = now;
	c->size_clock = now;
	rdmafs_pages_next(&c->pages, RDMAFS_PAGES_CHANGED);
}

/**
 * rdmafs_coh_opened - the file was opened; does what we know suffice?
 * @c: what is known, attributes of the open taken in
 *
 * Return: false if nobody can tell whether pages are as someone else has left
 * them: see to it that no change of ours is in flight, and ask the server.
 */
bool rdmafs_coh_opened(struct rdmafs_coh *c)
{
	if (c->hidden) {
		c->hidden = false;
		rdmafs_pages_next(&c->pages, RDMAFS_PAGES_CHANGED);
	}
	return !c->unproven;
}
