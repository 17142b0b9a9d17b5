// SPDX-License-Identifier: GPL-2.0
/*
 * In how many file systems below an export a client has files open.
 *
 * When clients cross into more file systems than there may be exports for, idle exports end to make
 * room (crossed.c).  An export does not end in which a client has a file open or may come back for
 * one, nor does any above it.  So there is a bound on the file systems in which one client may have
 * files open; others always find room.
 *
 * A stay is a client, by its address, in one export.  Each claim of an open has it, and each stay
 * of the same client in an export that was crossed into from there; the last of them ends it.  That
 * in the export above all of them counts those below it.
 *
 * A stay outlives its export if the client may come back there: the note of an open that was cut
 * off has it (cut.c), and so has the claim by which the next life of the export keeps the file for
 * that note.  So it is found by the export's id, which is the same in each life.  An open that is
 * made again joins it, and so is not refused.
 *
 * A guess, the claim for a file that a client has removed and that others may have open
 * (leaving.c), keeps its export in use as well, until their time is over.  Guesses have stays of
 * their own, and a bound of their own: what a client removes takes no room from what it may open,
 * nor the other way round.
 */
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include "staying.h"

/*
 * More than RDMAFSD_CROSSED_CLIENT, if a client has proven that it had the file open: what it has
 * not written yet would be lost.  It may have opened files elsewhere since; and it may show the
 * proof of a file that it has closed, any number of times.
 */
#define RDMAFSD_STAYS_AGAIN	224

/* In so many may a client have made guesses.  With all that it may have open it has not all. */
#define RDMAFSD_STAYS_GUESS	24
static_assert(RDMAFSD_STAYS_AGAIN + RDMAFSD_STAYS_GUESS < RDMAFSD_CROSSED_MAX);

#define RDMAFSD_STAYS_BITS	12

/**
 * struct rdmafsd_stay - what a client has open in an export, or its guesses, and in those below it
 * @node:   in the table of all
 * @export: id of the export
 * @guess:  it is one of guesses
 * @source: the client
 * @above:  its stay in the export from which that was crossed into; NULL: that is none
 * @nr:     claims and notes of opens, and stays that have this one @above
 * @below:  of a stay with no @above: how many of the client there are below it
 */
struct rdmafsd_stay {
	struct hlist_node node;
	u32 export;
	bool guess;
	struct rdmafs_xprt_source source;
	struct rdmafsd_stay *above;
	unsigned int nr;
	unsigned int below;
};

static DEFINE_SPINLOCK(rdmafsd_stays_lock);	/* a leaf: the table, and all that is in it */
static DEFINE_HASHTABLE(rdmafsd_stays, RDMAFSD_STAYS_BITS);

static u32 rdmafsd_stay_key(const struct rdmafsd_export *exp,
			    const struct rdmafs_xprt_source *source)
{
	return jhash(source, sizeof(*source), exp->p.id);
}

static struct rdmafsd_stay *rdmafsd_stay_find(const struct rdmafsd_export *exp,
					      const struct rdmafs_xprt_source *source, bool guess)
{
	struct rdmafsd_stay *s;

	lockdep_assert_held(&rdmafsd_stays_lock);
	hash_for_each_possible(rdmafsd_stays, s, node, rdmafsd_stay_key(exp, source))
		if (s->export == exp->p.id && s->guess == guess &&
		    !memcmp(&s->source, source, sizeof(*source)))
			return s;
	return NULL;
}

static struct rdmafsd_stay *rdmafsd_stay_top(struct rdmafsd_stay *s)
{
	while (s->above)
		s = s->above;
	return s;
}

static const unsigned int rdmafsd_stays_most[] = {
	[RDMAFSD_STAY_OPEN] = RDMAFSD_CROSSED_CLIENT,
	[RDMAFSD_STAY_AGAIN] = RDMAFSD_STAYS_AGAIN,
	[RDMAFSD_STAY_GUESS] = RDMAFSD_STAYS_GUESS,
};

/*
 * How many stays a client lacks of those that one in an export needs, with its own; -ENFILE: it may
 * not have as many as these below the export above all.
 */
static int rdmafsd_stays_lacking(const struct rdmafsd_export *exp,
				 const struct rdmafs_xprt_source *source,
				 enum rdmafsd_stay_kind kind)
{
	unsigned int most = rdmafsd_stays_most[kind];
	const struct rdmafsd_export *at;
	struct rdmafsd_stay *s = NULL;
	unsigned int lacking = 0, below = 0;

	for (at = exp; at; at = at->parent) {
		s = rdmafsd_stay_find(at, source, kind == RDMAFSD_STAY_GUESS);
		if (s)
			break;
		lacking++;
		below += !!at->parent;
	}
	if (s && below)
		below += rdmafsd_stay_top(s)->below;
	return below > most ? -ENFILE : lacking;
}

/* Count one more in an export; @spare has as many as are lacking. */
static struct rdmafsd_stay *rdmafsd_stay_join(const struct rdmafsd_export *exp,
					      const struct rdmafs_xprt_source *source, bool guess,
					      struct hlist_head *spare)
{
	struct rdmafsd_stay *first = NULL, **link = &first, *s;
	unsigned int below = 0;
	bool old = false;

	for (; exp && !old; exp = exp->parent) {
		s = rdmafsd_stay_find(exp, source, guess);
		old = s;
		if (!old) {
			s = hlist_entry(spare->first, struct rdmafsd_stay, node);
			hlist_del_init(&s->node);
			s->export = exp->p.id;
			s->guess = guess;
			s->source = *source;
			hash_add(rdmafsd_stays, &s->node, rdmafsd_stay_key(exp, source));
			below += !!exp->parent;
		}
		s->nr++;
		*link = s;
		link = &s->above;
	}
	rdmafsd_stay_top(first)->below += below;
	return first;
}

/**
 * rdmafsd_stay_get - count that a client is about to have a claim in an export
 * @exp:    the export, in flight
 * @source: the client
 * @kind:   what the claim is
 * @stay:   gets what is to be given to rdmafsd_stay_put(): NULL if the export is one that an
 *	    administrator has configured, or on an error
 *
 * Context: process, may sleep.
 * Return: 0; -ENFILE: the client has such claims in too many file systems below that export; or
 * -ENOMEM.
 */
int rdmafsd_stay_get(const struct rdmafsd_export *exp, const struct rdmafs_xprt_source *source,
		     enum rdmafsd_stay_kind kind, struct rdmafsd_stay **stay)
{
	int lacking, spares = 0;
	struct rdmafsd_stay *s;
	struct hlist_node *next;
	HLIST_HEAD(spare);

	*stay = NULL;
	if (!exp->parent)
		return 0;
	for (;;) {
		spin_lock(&rdmafsd_stays_lock);
		lacking = rdmafsd_stays_lacking(exp, source, kind);
		if (lacking >= 0 && lacking <= spares)
			*stay = rdmafsd_stay_join(exp, source, kind == RDMAFSD_STAY_GUESS, &spare);
		spin_unlock(&rdmafsd_stays_lock);
		if (lacking < 0 || *stay)
			break;
		s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
		if (!s) {
			lacking = -ENOMEM;
			break;
		}
		hlist_add_head(&s->node, &spare);
		spares++;
	}
	hlist_for_each_entry_safe(s, next, &spare, node)
		kfree(s);
	return min(lacking, 0);
}

/**
 * rdmafsd_stay_share - count one more claim or note of a client where it has some
 * @stay: what they have, which the caller keeps; or NULL
 *
 * Context: process, does not sleep.
 * Return: @stay, to be given to rdmafsd_stay_put() once more.
 */
struct rdmafsd_stay *rdmafsd_stay_share(struct rdmafsd_stay *stay)
{
	if (!stay)
		return NULL;
	spin_lock(&rdmafsd_stays_lock);
	stay->nr++;
	spin_unlock(&rdmafsd_stays_lock);
	return stay;
}

/**
 * rdmafsd_stay_put - undo rdmafsd_stay_get() or rdmafsd_stay_share()
 * @stay: what that has returned, or NULL
 *
 * Context: process, does not sleep.
 */
void rdmafsd_stay_put(struct rdmafsd_stay *stay)
{
	struct rdmafsd_stay *top, *above;

	if (!stay)
		return;
	spin_lock(&rdmafsd_stays_lock);
	top = rdmafsd_stay_top(stay);
	for (; stay && !--stay->nr; stay = above) {
		above = stay->above;
		if (above)
			top->below--;
		hash_del(&stay->node);
		kfree(stay);
	}
	spin_unlock(&rdmafsd_stays_lock);
}
