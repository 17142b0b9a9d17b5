// SPDX-License-Identifier: GPL-2.0
/*
 * Clients that have, or had, locks in the exports of a file system: what is known of them, their
 * records on stable storage (record.c), and which files they have locked last.  grace.c says what
 * that means.
 */
#define pr_fmt(fmt) "rdmafsd: " fmt

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "server.h"
#include "holder.h"

/* ----------------------------------------------------------------- holders */

static struct hlist_head *rdmafsd_holder_chain(struct rdmafsd_grace *g, const u8 *id)
{
	return &g->chains[id[0] % RDMAFSD_HOLDER_CHAINS];
}

/**
 * rdmafsd_holder_find - find what a client is in an export
 * @g:	    of the export's file system
 * @id:	    the client
 * @export: the export's id
 *
 * Context: @sem is held.
 * Return: the holder, or NULL.
 */
struct rdmafsd_holder *rdmafsd_holder_find(struct rdmafsd_grace *g, const u8 *id, u32 export)
{
	struct rdmafsd_holder *h;

	lockdep_assert_held(&g->sem);
	hlist_for_each_entry(h, rdmafsd_holder_chain(g, id), chain)
		if (h->export == export && !memcmp(h->id, id, sizeof(h->id)))
			return h;
	return NULL;
}

/**
 * rdmafsd_holder_set - give a holder a session and a record; they change only here
 * @g:	    its file system's
 * @h:	    the holder
 * @ses:    its session, or NULL
 * @record: number of its record, or 0
 *
 * Context: process; @sem is held for writing.
 */
void rdmafsd_holder_set(struct rdmafsd_grace *g, struct rdmafsd_holder *h,
			struct rdmafsd_session *ses, u32 record)
{
	struct rdmafsd_session *old = h->ses;

	lockdep_assert_held_write(&g->sem);
	g->nr_left -= rdmafsd_holder_left(h);
	if (ses) {
		refcount_inc(&ses->refs);
		h->source = ses->client->source;
	}
	h->ses = ses;
	h->record = record;
	g->nr_left += rdmafsd_holder_left(h);
	if (old)
		rdmafsd_session_put(old);
}

/**
 * rdmafsd_holder_await - wait for a holder, or wait no longer
 * @g:	   its file system's
 * @h:	   the holder
 * @await: wait
 *
 * Context: @sem is held for writing.
 */
void rdmafsd_holder_await(struct rdmafsd_grace *g, struct rdmafsd_holder *h, bool await)
{
	lockdep_assert_held_write(&g->sem);
	WRITE_ONCE(g->nr_awaited, g->nr_awaited + await - h->awaited);
	h->awaited = await;
}

/**
 * rdmafsd_holder_free - forget a holder
 * @g: its file system's
 * @h: the holder
 *
 * Context: process; @sem is held for writing.
 */
void rdmafsd_holder_free(struct rdmafsd_grace *g, struct rdmafsd_holder *h)
{
	lockdep_assert_held_write(&g->sem);
	rdmafsd_holder_await(g, h, false);
	rdmafsd_holder_set(g, h, NULL, 0);
	list_del(&h->link);
	hlist_del(&h->chain);
	g->nr--;
	kfree(h);
}

static bool rdmafsd_holder_from(const struct rdmafsd_holder *h,
				const struct rdmafs_xprt_source *source)
{
	return !source || !memcmp(&h->source, source, sizeof(*source));
}

/* How many holders an address has.  They are not many, and a new one is rare. */
static unsigned int rdmafsd_holders_from(struct rdmafsd_grace *g,
					 const struct rdmafs_xprt_source *source)
{
	struct rdmafsd_holder *h;
	unsigned int nr = 0;

	list_for_each_entry(h, &g->all, link)
		nr += rdmafsd_holder_from(h, source);
	return nr;
}

/*
 * Have a holder make room for another one: one of that address, or any if @source is NULL, that has
 * no record and is not awaited.  False: there is no such holder.
 */
static bool rdmafsd_holder_evict(struct rdmafsd_grace *g, const struct rdmafs_xprt_source *source)
{
	struct rdmafsd_holder *h;

	list_for_each_entry(h, &g->all, link) {
		if (!h->record && !h->awaited && rdmafsd_holder_from(h, source)) {
			rdmafsd_holder_free(g, h);
			return true;
		}
	}
	return false;
}

/* Is there room for one more, of that address if @source is not NULL? */
static bool rdmafsd_holder_fits(struct rdmafsd_grace *g, const struct rdmafs_xprt_source *source)
{
	if (source && rdmafsd_holders_from(g, source) >= RDMAFSD_HOLDERS_CLIENT)
		return rdmafsd_holder_evict(g, source);
	return g->nr < RDMAFSD_HOLDERS_MAX || rdmafsd_holder_evict(g, NULL);
}

/**
 * rdmafsd_holder_new - begin to know a client in an export
 * @g:	    of the export's file system
 * @id:	    the client, of which there is no holder
 * @export: the export's id
 * @source: the address that it counts for; NULL: it is not known
 *
 * Context: process, may sleep for memory; @sem is held for writing.
 * Return: the holder, without session and record; or an ERR_PTR: -ENOMEM; -ENOLCK: there are too
 * many, or too many of that address.
 */
struct rdmafsd_holder *rdmafsd_holder_new(struct rdmafsd_grace *g, const u8 *id, u32 export,
					  const struct rdmafs_xprt_source *source)
{
	struct rdmafsd_holder *h;

	lockdep_assert_held_write(&g->sem);
	if (!rdmafsd_holder_fits(g, source)) {
		pr_warn_ratelimited("export %u: more than %u clients have locks in its file system, or %u of one address\n",
				    export, RDMAFSD_HOLDERS_MAX, RDMAFSD_HOLDERS_CLIENT);
		return ERR_PTR(-ENOLCK);
	}
	h = kzalloc(sizeof(*h), GFP_KERNEL_ACCOUNT);
	if (!h)
		return ERR_PTR(-ENOMEM);
	memcpy(h->id, id, sizeof(h->id));
	h->export = export;
	if (source)
		h->source = *source;
	h->who = ++g->last;
	list_add_tail(&h->link, &g->all);
	hlist_add_head(&h->chain, rdmafsd_holder_chain(g, id));
	g->nr++;
	return h;
}

/**
 * rdmafsd_holder_record - make up a record of a holder
 * @h:	the holder
 * @nr: number of the record
 *
 * Context: any.
 * Return: the record, as it is written.
 */
struct rdmafsd_record rdmafsd_holder_record(const struct rdmafsd_holder *h, u32 nr)
{
	struct rdmafsd_record r = { .nr = nr, .export = h->export };

	memcpy(r.client, h->id, sizeof(r.client));
	return r;
}

/**
 * rdmafsd_taken_seq - tell how many locks were granted that are remembered
 * @g: the file system's
 *
 * Context: any but interrupt.
 * Return: their number, by which rdmafsd_taken_since() knows a time.
 */
u64 rdmafsd_taken_seq(struct rdmafsd_grace *g)
{
	u64 seq;

	spin_lock(&g->taken_lock);
	seq = g->seq;
	spin_unlock(&g->taken_lock);
	return seq;
}

/**
 * rdmafsd_holder_done - note that others may get from now on what a holder does not hold
 * @g: its file system's
 * @h: the holder, which has asked for all by its record
 *
 * Context: @sem is held for writing.
 */
void rdmafsd_holder_done(struct rdmafsd_grace *g, struct rdmafsd_holder *h)
{
	lockdep_assert_held_write(&g->sem);
	h->done = true;
	h->done_seq = rdmafsd_taken_seq(g);
}

/* A holder's record is gone from the disk. */
static void rdmafsd_holder_retired(struct rdmafsd_grace *g, struct rdmafsd_holder *h, u32 record)
{
	h->was = h->record;
	h->was_seq = rdmafsd_taken_seq(g);
	rdmafsd_holder_set(g, h, h->ses, record);
}

/**
 * rdmafsd_holder_retire - remove the record of a holder
 * @exp: the export in which the caller is at work
 * @h:	 the holder, which has one
 *
 * Context: process, may sleep; @sem is held for writing.
 * Return: 0, or a negative errno: it has it still, as far as is known.
 */
int rdmafsd_holder_retire(struct rdmafsd_export *exp, struct rdmafsd_holder *h)
{
	struct rdmafsd_record r = rdmafsd_holder_record(h, h->record);
	int err;

	lockdep_assert_held_write(&exp->grace->sem);
	err = rdmafsd_record_remove(exp, &r) ?: rdmafsd_records_commit(exp);
	if (!err)
		rdmafsd_holder_retired(exp->grace, h, 0);
	return err;
}

/**
 * rdmafsd_holders_retire - remove the records of all that are left, but of one
 * @exp: the export in which the caller is at work
 * @own: keeps its record; may be NULL
 *
 * Context: process, may sleep; @sem is held for writing.
 * Return: 0; -EAGAIN: the file system is frozen; or another negative errno: not all are gone.
 */
int rdmafsd_holders_retire(struct rdmafsd_export *exp, const struct rdmafsd_holder *own)
{
	struct rdmafsd_grace *g = exp->grace;
	struct rdmafsd_holder *h;
	struct rdmafsd_record r;
	int err = 0;

	lockdep_assert_held_write(&g->sem);
	if (g->nr_left == (own && rdmafsd_holder_left(own)))
		return 0;
	list_for_each_entry(h, &g->all, link) {
		if (h == own || !rdmafsd_holder_left(h))
			continue;
		r = rdmafsd_holder_record(h, h->record);
		err = rdmafsd_record_remove(exp, &r);
		if (err)
			break;
	}
	if (!err)
		err = rdmafsd_records_commit(exp);
	if (err && err != -EAGAIN)
		pr_warn_ratelimited("%s: can't remove the record of a client's locks (%d)\n",
				    exp->p.name, err);
	if (err)
		return err;
	list_for_each_entry(h, &g->all, link)
		if (h != own && rdmafsd_holder_left(h))
			rdmafsd_holder_retired(g, h, 0);
	return 0;
}

/**
 * rdmafsd_holder_renew - give a holder another record instead of the one that it may have
 * @exp: the export in which the caller is at work
 * @h:	 the holder
 *
 * Context: process, may sleep; @sem is held for writing.
 * Return: 0, or a negative errno: it has the former.
 */
int rdmafsd_holder_renew(struct rdmafsd_export *exp, struct rdmafsd_holder *h)
{
	struct rdmafsd_grace *g = exp->grace;
	struct rdmafsd_record r, old;
	u32 nr;
	int err;

	lockdep_assert_held_write(&g->sem);
	do {
		nr = get_random_u32();
	} while (!nr || nr == h->record || nr == h->was);
	r = rdmafsd_holder_record(h, nr);
	err = rdmafsd_record_make(exp, &r);
	if (!err && h->record) {
		old = rdmafsd_holder_record(h, h->record);
		err = rdmafsd_record_remove(exp, &old);
		if (!err)
			err = rdmafsd_records_commit(exp);
	}
	if (err) {
		/* If this fails, too, it is a record of locks that no client will ask for. */
		rdmafsd_record_remove(exp, &r);
		return err;
	}
	if (h->record)
		rdmafsd_holder_retired(g, h, nr);
	else
		rdmafsd_holder_set(g, h, h->ses, nr);
	rdmafsd_holder_done(g, h);
	h->told = false;
	return 0;
}

/* ------------------------------------------------------------------- taken */

/*
 * Not by the address of the inode, which may leave memory and come back elsewhere.  The key keeps
 * clients from choosing files that share a mark.
 */
static struct rdmafsd_taken *rdmafsd_taken_of(struct rdmafsd_grace *g, const struct inode *inode)
{
	u64 hash = siphash_2u64(inode->i_ino, inode->i_generation, &g->taken_key);

	return &g->taken[hash >> (64 - RDMAFSD_TAKEN_BITS)];
}

/**
 * rdmafsd_taken_by - note that a client was granted a lock that it did not have before
 * @g:	   the file system's
 * @inode: the file
 * @who:   rdmafsd_holder.who, or 0: the client is not recorded
 *
 * Context: any but interrupt.
 */
void rdmafsd_taken_by(struct rdmafsd_grace *g, const struct inode *inode, u64 who)
{
	struct rdmafsd_taken *t = rdmafsd_taken_of(g, inode);

	spin_lock(&g->taken_lock);
	if (t->who != who)
		t->other = t->seq;
	t->who = who;
	t->seq = ++g->seq;
	spin_unlock(&g->taken_lock);
}

/**
 * rdmafsd_taken_since - tell whether another client may have got a lock of a file
 * @g:	   the file system's
 * @inode: the file
 * @who:   not this holder
 * @since: what rdmafsd_taken_seq() was then
 *
 * Context: any but interrupt.
 * Return: true if so.
 */
bool rdmafsd_taken_since(struct rdmafsd_grace *g, const struct inode *inode, u64 who, u64 since)
{
	struct rdmafsd_taken *t = rdmafsd_taken_of(g, inode);
	bool taken;

	spin_lock(&g->taken_lock);
	taken = (t->who == who ? t->other : t->seq) > since;
	spin_unlock(&g->taken_lock);
	return taken;
}
