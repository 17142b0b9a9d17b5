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
 * in the export above all of them counts those below it.  Claims do not outlive their export, and
 * so no stay does.
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

#define RDMAFSD_STAYS_BITS	8

/**
 * struct rdmafsd_stay - what a client has open in an export, and in those below it
 * @node:   in the table of all
 * @serial: of the export
 * @source: the client
 * @above:  its stay in the export from which that was crossed into; NULL: that is none
 * @nr:     claims of opens, and stays that have this one @above
 * @below:  of a stay with no @above: how many of the client there are below it
 */
struct rdmafsd_stay {
	struct hlist_node node;
	u64 serial;
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
	return jhash(source, sizeof(*source), lower_32_bits(exp->serial));
}

static struct rdmafsd_stay *rdmafsd_stay_find(const struct rdmafsd_export *exp,
					      const struct rdmafs_xprt_source *source)
{
	struct rdmafsd_stay *s;

	lockdep_assert_held(&rdmafsd_stays_lock);
	hash_for_each_possible(rdmafsd_stays, s, node, rdmafsd_stay_key(exp, source))
		if (s->serial == exp->serial && !memcmp(&s->source, source, sizeof(*source)))
			return s;
	return NULL;
}

static struct rdmafsd_stay *rdmafsd_stay_top(struct rdmafsd_stay *s)
{
	while (s->above)
		s = s->above;
	return s;
}

/*
 * How many stays a client lacks of those that one in an export needs, with its own; -ENFILE: it may
 * not have as many as these below the export above all.
 */
static int rdmafsd_stays_lacking(const struct rdmafsd_export *exp,
				 const struct rdmafs_xprt_source *source, unsigned int most)
{
	const struct rdmafsd_export *at;
	struct rdmafsd_stay *s = NULL;
	unsigned int lacking = 0, below = 0;

	for (at = exp; at; at = at->parent) {
		s = rdmafsd_stay_find(at, source);
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
					      const struct rdmafs_xprt_source *source,
					      struct hlist_head *spare)
{
	struct rdmafsd_stay *first = NULL, **link = &first, *s;
	unsigned int below = 0;
	bool old = false;

	for (; exp && !old; exp = exp->parent) {
		s = rdmafsd_stay_find(exp, source);
		old = s;
		if (!old) {
			s = hlist_entry(spare->first, struct rdmafsd_stay, node);
			hlist_del_init(&s->node);
			s->serial = exp->serial;
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
 * rdmafsd_stay_get - count that a client is about to have a file open in an export
 * @exp:    the export, in flight
 * @source: the client
 * @again:  it has proven that it had the file open before
 * @stay:   gets what is to be given to rdmafsd_stay_put(): NULL if the export is one that an
 *	    administrator has configured, or on an error
 *
 * Context: process, may sleep.
 * Return: 0; -ENFILE: the client has files open in too many file systems below that export; or
 * -ENOMEM.
 */
int rdmafsd_stay_get(const struct rdmafsd_export *exp, const struct rdmafs_xprt_source *source,
		     bool again, struct rdmafsd_stay **stay)
{
	unsigned int most = again ? RDMAFSD_STAYS_AGAIN : RDMAFSD_CROSSED_CLIENT;
	int lacking, spares = 0;
	struct rdmafsd_stay *s;
	struct hlist_node *next;
	HLIST_HEAD(spare);

	*stay = NULL;
	if (!exp->parent)
		return 0;
	for (;;) {
		spin_lock(&rdmafsd_stays_lock);
		lacking = rdmafsd_stays_lacking(exp, source, most);
		if (lacking >= 0 && lacking <= spares)
			*stay = rdmafsd_stay_join(exp, source, &spare);
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
 * rdmafsd_stay_put - undo rdmafsd_stay_get()
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
