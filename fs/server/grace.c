// SPDX-License-Identifier: GPL-2.0
/*
 * Who may take locks again that were lost with a session, or with the server.
 *
 * A *holder* is a client, by the id that its mount gives itself, that has locks in an export.
 * Before its first lock is granted it gets a record on the export's storage (record.c).  The client
 * is told the record's number with each lock, and shows it when it asks for the lock again
 * (RFP_LOCK_RECLAIM).  What the record says is always this: since the client got the locks that it
 * knows by this number, no other client has got one.  So
 *
 * - a session that ends leaves the record as it is (the holder is *left*), but before the next lock
 *   is granted to another client the records of all that are left are removed;
 * - the client's next session gets a new record, in whose name it does not hold what it has not
 *   asked for again yet.
 *
 * When an export starts the clients of the records that are found may come back.  In this *grace
 * period* only they are given locks, and only those that they had.  It ends when each of them has
 * said that it has asked for all (RFP_RECLAIM_DONE), or after a time that the administrator sets.
 * Whoever has not said so by then is left.
 *
 * Without a restart a client may also ask by the number of a record that was removed, the last one
 * that it had.  Then this is looked at: whether another client was granted any lock of that file
 * since (@taken).  There are fewer of these marks than files, so a client may lose a lock that
 * nobody else had; it never gets one that somebody else has had.
 *
 * What processes of this machine lock is not looked at: they are not kept waiting, and what they
 * have had in between is not known.  There are no records on an export that is read-only, and where
 * the directory of orphans can't be root's own (vfat): there clients get what is free.
 *
 * Locks: @sem guards all of struct rdmafsd_grace and its holders but @taken.  It is held for
 * reading while a lock is asked for, and for writing where holders change, also while records are
 * written.  It is taken inside of rdmafsd_lock.mutex, and outside of all that is needed to write a
 * record.
 */
#define pr_fmt(fmt) "rdmafsd: " fmt

#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include "server.h"
#include "filelock.h"
#include "grace.h"
#include "record.h"

/* Holders of an export; with these many there is no lock for another client. */
#define RDMAFSD_HOLDERS_MAX	4096

#define RDMAFSD_HOLDER_CHAINS	128
#define RDMAFSD_TAKEN_BITS	8	/* log2 of the number of marks */

/**
 * struct rdmafsd_holder - a client that has, or had, locks in an export
 * @link:    in rdmafsd_grace.all
 * @chain:   in a chain by @id
 * @id:      names the client; constant
 * @who:     tells it from all other holders of the export, of former ones too; not 0; constant
 * @ses:     its session, a reference to the memory; NULL: it has none, or has asked for none of its
 *	     locks there
 * @record:  number of its record; 0: it has none
 * @was:     number of the record that it had before; 0: none
 * @was_seq: rdmafsd_grace.seq when that was removed
 * @awaited: the grace period does not end before it has said that it has asked for all
 * @done:    by @record it holds in its session all that it ever will: it has said that it has asked
 *	     for all, or it has got the record in that session
 * @done_seq: rdmafsd_grace.seq since then
 */
struct rdmafsd_holder {
	struct list_head link;
	struct hlist_node chain;
	u8 id[RDMAFS_XPRT_CLIENT_ID];
	u64 who;
	struct rdmafsd_session *ses;
	u32 record;
	u32 was;
	u64 was_seq;
	bool awaited;
	bool done;
	u64 done_seq;
};

/**
 * struct rdmafsd_taken - who was granted locks of the files of one hash
 * @seq:   rdmafsd_grace.seq of the last of them
 * @who:   the holder that got it; 0: there was none
 * @other: @seq of the last one that another than @who got
 */
struct rdmafsd_taken {
	u64 seq;
	u64 who;
	u64 other;
};

/**
 * struct rdmafsd_grace - the holders of an export
 * @exp:	the export; constant
 * @sem:	see above
 * @all:	&struct rdmafsd_holder, those that are there longest first
 * @chains:	the same by their ids
 * @nr:		how many
 * @nr_left:	those that have a record and no session
 * @nr_awaited:	those that are awaited; also read without the lock
 * @last:	the last rdmafsd_holder.who
 * @none:	nothing is or can be recorded, and no record is there; once set it stays
 * @on:		this is the grace period; also read without the lock
 * @until:	when that ends at last, in 64-bit jiffies; likewise
 * @end:	ends it then
 * @taken_lock:	guards the next two; a leaf
 * @seq:	counts the locks that were granted
 * @taken:	by a hash of the file's number and generation
 * @taken_key:	secret of that hash; constant
 */
struct rdmafsd_grace {
	struct rdmafsd_export *exp;
	struct rw_semaphore sem;	/* see above */
	struct list_head all;
	struct hlist_head chains[RDMAFSD_HOLDER_CHAINS];
	unsigned int nr;
	unsigned int nr_left;
	unsigned int nr_awaited;
	u64 last;
	bool none;
	bool on;
	u64 until;
	struct delayed_work end;
	spinlock_t taken_lock;		/* @seq, @taken */
	u64 seq;
	struct rdmafsd_taken taken[1 << RDMAFSD_TAKEN_BITS];
	siphash_key_t taken_key;
};

/* ----------------------------------------------------------------- holders */

static struct hlist_head *rdmafsd_holder_chain(struct rdmafsd_grace *g, const u8 *id)
{
	return &g->chains[id[0] % RDMAFSD_HOLDER_CHAINS];
}

static struct rdmafsd_holder *rdmafsd_holder_find(struct rdmafsd_grace *g, const u8 *id)
{
	struct rdmafsd_holder *h;

	lockdep_assert_held(&g->sem);
	hlist_for_each_entry(h, rdmafsd_holder_chain(g, id), chain)
		if (!memcmp(h->id, id, sizeof(h->id)))
			return h;
	return NULL;
}

static bool rdmafsd_holder_left(const struct rdmafsd_holder *h)
{
	return h->record && !h->ses;
}

/* The only place where a holder's session and record change. */
static void rdmafsd_holder_set(struct rdmafsd_grace *g, struct rdmafsd_holder *h,
			       struct rdmafsd_session *ses, u32 record)
{
	struct rdmafsd_session *old = h->ses;

	g->nr_left -= rdmafsd_holder_left(h);
	if (ses)
		refcount_inc(&ses->refs);
	h->ses = ses;
	h->record = record;
	g->nr_left += rdmafsd_holder_left(h);
	if (old)
		rdmafsd_session_put(old);
}

static void rdmafsd_holder_await(struct rdmafsd_grace *g, struct rdmafsd_holder *h, bool await)
{
	WRITE_ONCE(g->nr_awaited, g->nr_awaited + await - h->awaited);
	h->awaited = await;
}

static void rdmafsd_holder_free(struct rdmafsd_grace *g, struct rdmafsd_holder *h)
{
	rdmafsd_holder_await(g, h, false);
	rdmafsd_holder_set(g, h, NULL, 0);
	list_del(&h->link);
	hlist_del(&h->chain);
	g->nr--;
	kfree(h);
}

/* One that has no record makes room for another.  False: there is none. */
static bool rdmafsd_holder_evict(struct rdmafsd_grace *g)
{
	struct rdmafsd_holder *h;

	list_for_each_entry(h, &g->all, link) {
		if (!h->record && !h->awaited) {
			rdmafsd_holder_free(g, h);
			return true;
		}
	}
	return false;
}

static struct rdmafsd_holder *rdmafsd_holder_new(struct rdmafsd_grace *g, const u8 *id)
{
	struct rdmafsd_holder *h;

	if (g->nr >= RDMAFSD_HOLDERS_MAX && !rdmafsd_holder_evict(g)) {
		pr_warn_ratelimited("%s: more than %u clients have locks\n", g->exp->p.name,
				    RDMAFSD_HOLDERS_MAX);
		return ERR_PTR(-ENOLCK);
	}
	h = kzalloc(sizeof(*h), GFP_KERNEL_ACCOUNT);
	if (!h)
		return ERR_PTR(-ENOMEM);
	memcpy(h->id, id, sizeof(h->id));
	h->who = ++g->last;
	list_add_tail(&h->link, &g->all);
	hlist_add_head(&h->chain, rdmafsd_holder_chain(g, id));
	g->nr++;
	return h;
}

static struct rdmafsd_record rdmafsd_holder_record(const struct rdmafsd_holder *h, u32 nr)
{
	struct rdmafsd_record r = { .nr = nr };

	memcpy(r.client, h->id, sizeof(r.client));
	return r;
}

static u64 rdmafsd_grace_seq(struct rdmafsd_grace *g)
{
	u64 seq;

	spin_lock(&g->taken_lock);
	seq = g->seq;
	spin_unlock(&g->taken_lock);
	return seq;
}

/* From now on others may get what a holder has by its record and does not hold. */
static void rdmafsd_holder_done(struct rdmafsd_grace *g, struct rdmafsd_holder *h)
{
	h->done = true;
	h->done_seq = rdmafsd_grace_seq(g);
}

/* A holder's record is gone from the disk. */
static void rdmafsd_holder_retired(struct rdmafsd_grace *g, struct rdmafsd_holder *h, u32 record)
{
	h->was = h->record;
	h->was_seq = rdmafsd_grace_seq(g);
	rdmafsd_holder_set(g, h, h->ses, record);
}

/*
 * What can't be recorded is not granted; a file system that is frozen thaws.  Who asks @again has a
 * record that is valid: it is to ask later, as to be refused would lose the lock.
 */
static int rdmafsd_grace_errno(int err, bool again)
{
	if (!err || err == -EAGAIN || err == -ENOMEM)
		return err;
	return again ? -EAGAIN : -ENOLCK;
}

/* Remove the records of all that are left, but that of @except.  Not 0: not all are gone. */
static int rdmafsd_holders_retire(struct rdmafsd_grace *g, const u8 *except)
{
	struct rdmafsd_holder *own = rdmafsd_holder_find(g, except), *h;
	struct rdmafsd_record r;
	int err = 0;

	if (g->nr_left == (own && rdmafsd_holder_left(own)))
		return 0;
	list_for_each_entry(h, &g->all, link) {
		if (h == own || !rdmafsd_holder_left(h))
			continue;
		r = rdmafsd_holder_record(h, h->record);
		err = rdmafsd_record_remove(g->exp, &r);
		if (err)
			break;
	}
	if (!err)
		err = rdmafsd_records_commit(g->exp);
	if (err && err != -EAGAIN)
		pr_warn_ratelimited("%s: can't remove the record of a client's locks (%d)\n",
				    g->exp->p.name, err);
	if (err)
		return rdmafsd_grace_errno(err, false);
	list_for_each_entry(h, &g->all, link)
		if (h != own && rdmafsd_holder_left(h))
			rdmafsd_holder_retired(g, h, 0);
	return 0;
}

/* Give a holder another record instead of the one that it may have.  Not 0: it has the former. */
static int rdmafsd_holder_renew(struct rdmafsd_grace *g, struct rdmafsd_holder *h)
{
	struct rdmafsd_record r, old;
	u32 nr;
	int err;

	do {
		nr = get_random_u32();
	} while (!nr || nr == h->record || nr == h->was);
	r = rdmafsd_holder_record(h, nr);
	err = rdmafsd_record_make(g->exp, &r);
	if (!err && h->record) {
		old = rdmafsd_holder_record(h, h->record);
		err = rdmafsd_record_remove(g->exp, &old);
		if (!err)
			err = rdmafsd_records_commit(g->exp);
	}
	if (err) {
		/* If this fails, too, it is a record of locks that nobody will ask for. */
		rdmafsd_record_remove(g->exp, &r);
		return err;
	}
	if (h->record)
		rdmafsd_holder_retired(g, h, nr);
	else
		rdmafsd_holder_set(g, h, h->ses, nr);
	rdmafsd_holder_done(g, h);
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

/* A holder was granted a lock that it did not have before. */
static void rdmafsd_taken_by(struct rdmafsd_grace *g, const struct inode *inode, u64 who)
{
	struct rdmafsd_taken *t = rdmafsd_taken_of(g, inode);

	spin_lock(&g->taken_lock);
	if (t->who != who)
		t->other = t->seq;
	t->who = who;
	t->seq = ++g->seq;
	spin_unlock(&g->taken_lock);
}

/* May another than @who have got a lock of the file since? */
static bool rdmafsd_taken_since(struct rdmafsd_grace *g, const struct inode *inode, u64 who,
				u64 since)
{
	struct rdmafsd_taken *t = rdmafsd_taken_of(g, inode);
	bool taken;

	spin_lock(&g->taken_lock);
	taken = (t->who == who ? t->other : t->seq) > since;
	spin_unlock(&g->taken_lock);
	return taken;
}

/* ------------------------------------------------------------------ asking */

/* Does a holder still have what it had when it was told the number of the record that it shows? */
static bool rdmafsd_holder_had(struct rdmafsd_grace *g, const struct rdmafsd_holder *h,
			       const struct rdmafsd_session *ses, const struct inode *inode,
			       const struct rdmafsd_asking *a)
{
	/* It only makes sure: there may have been others before it got the lock. */
	if (a->holds)
		return true;
	if (!a->record)
		return false;
	/* While it has no session others get nothing without its record's end. */
	if (a->record == h->record)
		return h->ses != ses || !h->done ||
		       !rdmafsd_taken_since(g, inode, h->who, h->done_seq);
	return a->record == h->was && !rdmafsd_taken_since(g, inode, h->who, h->was_seq);
}

/*
 * May a lock be asked for?  0; -RDMAFSD_EGRACE, -RDMAFSD_ENOGRACE; -EAGAIN: when holders and
 * records have been changed.
 */
static int rdmafsd_grace_look(struct rdmafsd_grace *g, struct rdmafsd_session *ses,
			      const struct inode *inode, struct rdmafsd_asking *a)
{
	struct rdmafsd_holder *h = rdmafsd_holder_find(g, ses->id);

	if (a->again && (!h || !rdmafsd_holder_had(g, h, ses, inode, a)))
		return -RDMAFSD_ENOGRACE;
	if (!a->again && g->on)
		return -RDMAFSD_EGRACE;
	if (!h || h->ses != ses || !h->record || (!a->again && g->nr_left))
		return -EAGAIN;
	a->who = h->who;
	a->record = h->record;
	return 0;
}

/* There can't be records here.  True: there are none, so that they are done without. */
static bool rdmafsd_grace_none(struct rdmafsd_grace *g)
{
	struct rdmafsd_holder *h;

	list_for_each_entry(h, &g->all, link)
		if (h->record)
			return false;
	g->none = true;
	pr_warn("%s: who has locks can't be recorded: after a restart others may be quicker\n",
		g->exp->p.name);
	return true;
}

/* Change holders and records so that the lock may be asked for. */
static int rdmafsd_grace_change(struct rdmafsd_grace *g, struct rdmafsd_session *ses,
				const struct inode *inode, struct rdmafsd_asking *a)
{
	struct rdmafsd_holder *h;
	int err;

	lockdep_assert_held_write(&g->sem);
	/* Another task may have done it, or the grace period may have ended. */
	if (g->none) {
		a->record = 0;
		return 0;
	}
	err = rdmafsd_grace_look(g, ses, inode, a);
	if (err != -EAGAIN)
		return err;
	/* What a session that ends waits for must not displace the client's next session. */
	if (READ_ONCE(ses->gone))
		return -EAGAIN;
	err = a->again ? 0 : rdmafsd_holders_retire(g, ses->id);
	if (err)
		return err;
	err = rdmafsd_session_hold(ses, g->exp);
	if (err)
		return err;
	h = rdmafsd_holder_find(g, ses->id);
	if (!h)
		h = rdmafsd_holder_new(g, ses->id);
	if (IS_ERR(h))
		return PTR_ERR(h);
	/* In the grace period others have got nothing, so what the record says stays true. */
	if (!h->record || (h->ses != ses && !g->on))
		err = rdmafsd_holder_renew(g, h);
	if (err == -EPERM && rdmafsd_grace_none(g)) {
		a->record = 0;
		return 0;
	}
	if (err)
		return rdmafsd_grace_errno(err, a->again);
	rdmafsd_holder_set(g, h, ses, h->record);
	/* What the client shows was looked at before it got another record. */
	a->who = h->who;
	a->record = h->record;
	return 0;
}

/**
 * rdmafsd_grace_enter - find out whether a client may ask for a lock now
 * @exp:   the export; in flight, or kept from its end by an open of the session
 * @ses:   the client's session
 * @inode: the file
 * @a:	   @again, @nowait and, with @again, @record and @holds are set by the caller; out: @record of
 *	   the client's locks
 *
 * Context: process, may sleep; waits for the export's file system if a record has to be written.
 * Return: 0: to be followed by rdmafsd_grace_leave(); -RDMAFSD_EGRACE: it is to ask later;
 * -RDMAFSD_ENOGRACE: it has not had the lock all the time; -ENOLCK: its having locks can't be
 * recorded; -EAGAIN: nor can it now, because the file system is frozen, or others write with
 * @nowait, or it can't be recorded that the client has a lock again; -ENOMEM.
 */
int rdmafsd_grace_enter(struct rdmafsd_export *exp, struct rdmafsd_session *ses,
			const struct inode *inode, struct rdmafsd_asking *a)
{
	struct rdmafsd_grace *g = exp->grace;
	int err;

	a->grace = g;
	a->who = 0;
	if (!a->nowait)
		down_read(&g->sem);
	else if (!down_read_trylock(&g->sem))
		return -EAGAIN;
	if (g->none) {
		a->record = 0;
		return 0;
	}
	err = rdmafsd_grace_look(g, ses, inode, a);
	if (err)
		up_read(&g->sem);
	if (err != -EAGAIN)
		return err;
	if (!a->nowait)
		down_write(&g->sem);
	else if (!down_write_trylock(&g->sem))
		return -EAGAIN;
	err = rdmafsd_grace_change(g, ses, inode, a);
	if (!err) {
		downgrade_write(&g->sem);
		return 0;
	}
	up_write(&g->sem);
	return err;
}

/**
 * rdmafsd_grace_leave - end what rdmafsd_grace_enter() has begun
 * @a:	     what it has filled in
 * @inode:   the file
 * @granted: the client has got the lock
 *
 * Context: process, does not sleep.
 */
void rdmafsd_grace_leave(const struct rdmafsd_asking *a, const struct inode *inode, bool granted)
{
	if (granted && a->who && !a->again)
		rdmafsd_taken_by(a->grace, inode, a->who);
	up_read(&a->grace->sem);
}

/* --------------------------------------------------------- sessions that end */

/**
 * rdmafsd_grace_lost - note that a client's session ends, before its locks in an export go
 * @exp: the export, its memory kept by the caller
 * @ses: the session
 *
 * Context: process, may sleep.
 */
void rdmafsd_grace_lost(struct rdmafsd_export *exp, struct rdmafsd_session *ses)
{
	struct rdmafsd_grace *g = exp->grace;
	struct rdmafsd_holder *h;

	down_write(&g->sem);
	h = rdmafsd_holder_find(g, ses->id);
	/* The client may have begun another session already. */
	if (h && h->ses == ses) {
		/* If it has said that it was done, others wait for it no longer. */
		if (g->on && !h->done)
			rdmafsd_holder_await(g, h, true);
		rdmafsd_holder_set(g, h, NULL, h->record);
	}
	up_write(&g->sem);
}

/**
 * rdmafsd_grace_unused - note that a session ends that has no lock in an export
 * @exp: the export, in flight
 * @ses: the session
 *
 * Its record goes: it would be waited for after a restart, and has nothing to come back for.
 *
 * Context: process, may sleep.
 */
void rdmafsd_grace_unused(struct rdmafsd_export *exp, struct rdmafsd_session *ses)
{
	struct rdmafsd_grace *g = exp->grace;
	struct rdmafsd_holder *h;
	struct rdmafsd_record r;

	down_write(&g->sem);
	h = rdmafsd_holder_find(g, ses->id);
	if (h && h->ses == ses && g->on && !h->done) {
		/* It may have been lost before it has asked for any. */
		rdmafsd_holder_await(g, h, true);
		rdmafsd_holder_set(g, h, NULL, h->record);
	} else if (h && h->ses == ses) {
		r = rdmafsd_holder_record(h, h->record);
		if (!h->record || !rdmafsd_record_remove(exp, &r))
			rdmafsd_holder_free(g, h);
		else
			rdmafsd_holder_set(g, h, NULL, h->record);
	}
	up_write(&g->sem);
}

/* -------------------------------------------------------- the grace period */

/* Who has not said that it has asked for all is left; what it has asked for so far it has. */
static void rdmafsd_grace_over(struct rdmafsd_grace *g)
{
	unsigned int away = g->nr_awaited;
	struct rdmafsd_holder *h;

	lockdep_assert_held_write(&g->sem);
	list_for_each_entry(h, &g->all, link) {
		if (!h->awaited)
			continue;
		rdmafsd_holder_await(g, h, false);
		rdmafsd_holder_set(g, h, NULL, h->record);
	}
	WRITE_ONCE(g->on, false);
	pr_info("%s: the grace period is over: %u clients did not come back\n", g->exp->p.name,
		away);
}

static void rdmafsd_grace_end_work(struct work_struct *work)
{
	struct rdmafsd_grace *g = container_of(to_delayed_work(work), struct rdmafsd_grace, end);

	down_write(&g->sem);
	if (g->on)
		rdmafsd_grace_over(g);
	up_write(&g->sem);
}

/**
 * rdmafsd_grace_done - a client has asked again for all locks that it had in an export
 * @exp: the export, in flight
 * @ses: the client's session, in which it has asked
 *
 * Context: process, may sleep.
 */
void rdmafsd_grace_done(struct rdmafsd_export *exp, struct rdmafsd_session *ses)
{
	struct rdmafsd_grace *g = exp->grace;
	struct rdmafsd_holder *h;

	down_write(&g->sem);
	h = rdmafsd_holder_find(g, ses->id);
	/* What the client's next session has to ask for is not known to this one. */
	if (h && (!h->ses || h->ses == ses)) {
		rdmafsd_holder_await(g, h, false);
		/* There is nothing more that it could ask for by that record. */
		if (!h->done)
			rdmafsd_holder_done(g, h);
		if (rdmafsd_holder_left(h) && !rdmafsd_session_hold(ses, exp))
			rdmafsd_holder_set(g, h, ses, h->record);
	}
	if (g->on && !g->nr_awaited)
		rdmafsd_grace_over(g);
	up_write(&g->sem);
}

/**
 * rdmafsd_grace_awaits - tell whether an export waits for the client of a session
 * @exp: the export, kept from its end by the caller
 * @ses: the session
 *
 * Context: process, may sleep.
 * Return: true if so.
 */
bool rdmafsd_grace_awaits(struct rdmafsd_export *exp, const struct rdmafsd_session *ses)
{
	struct rdmafsd_grace *g = exp->grace;
	struct rdmafsd_holder *h;
	bool awaits;

	down_read(&g->sem);
	h = rdmafsd_holder_find(g, ses->id);
	awaits = h && h->awaited;
	up_read(&g->sem);
	return awaits;
}

/**
 * rdmafsd_grace_on - tell whether this is an export's grace period
 * @exp: the export
 *
 * Context: any.
 * Return: true if so.
 */
bool rdmafsd_grace_on(const struct rdmafsd_export *exp)
{
	return READ_ONCE(exp->grace->on);
}

/**
 * rdmafsd_grace_show - tell for whom an export waits, and for how long
 * @exp:  the export, or NULL: it is not live
 * @page: out, PAGE_SIZE bytes
 *
 * Context: process, does not sleep.
 * Return: number of bytes.
 */
ssize_t rdmafsd_grace_show(const struct rdmafsd_export *exp, char *page)
{
	u64 now = get_jiffies_64(), until;
	unsigned int awaited = 0;
	u64 left = 0;

	if (exp && rdmafsd_grace_on(exp)) {
		awaited = READ_ONCE(exp->grace->nr_awaited);
		until = READ_ONCE(exp->grace->until);
		left = until > now ? jiffies64_to_msecs(until - now) / MSEC_PER_SEC : 0;
	}
	return sysfs_emit(page, "awaited %u\nseconds %llu\n", awaited, left);
}

/* ------------------------------------------------------------ start and end */

/* What is found when the export starts. */
struct rdmafsd_grace_found {
	struct rdmafsd_grace *g;
	struct list_head surplus;	/* struct rdmafsd_surplus */
	int err;
};

struct rdmafsd_surplus {
	struct list_head link;
	struct rdmafsd_record record;
};

static bool rdmafsd_grace_take(const struct rdmafsd_record *r, void *to)
{
	struct rdmafsd_grace_found *found = to;
	struct rdmafsd_grace *g = found->g;
	struct rdmafsd_surplus *surplus;
	struct rdmafsd_holder *h;

	h = rdmafsd_holder_find(g, r->client);
	if (!h && g->nr < RDMAFSD_HOLDERS_MAX) {
		h = rdmafsd_holder_new(g, r->client);
		if (IS_ERR(h)) {
			found->err = PTR_ERR(h);
			return false;
		}
		rdmafsd_holder_set(g, h, NULL, r->nr);
		rdmafsd_holder_await(g, h, true);
		return true;
	}
	/* The server died when it had made the new record and the old one was still there. */
	if (h && !h->was)
		h->was = r->nr;
	/* Nobody has so many: they are somebody's doing. */
	surplus = kmalloc(sizeof(*surplus), GFP_KERNEL);
	if (!surplus) {
		found->err = -ENOMEM;
		return false;
	}
	surplus->record = *r;
	list_add_tail(&surplus->link, &found->surplus);
	return true;
}

static int rdmafsd_grace_read(struct rdmafsd_grace *g)
{
	struct rdmafsd_grace_found found = { .g = g };
	struct rdmafsd_surplus *surplus, *next;
	unsigned int nr = 0;
	int err;

	INIT_LIST_HEAD(&found.surplus);
	down_write(&g->sem);
	err = rdmafsd_records_read(g->exp, rdmafsd_grace_take, &found);
	up_write(&g->sem);
	list_for_each_entry_safe(surplus, next, &found.surplus, link) {
		rdmafsd_record_remove(g->exp, &surplus->record);
		kfree(surplus);
		nr++;
	}
	if (nr)
		pr_warn("%s: %u records of clients' locks were too many\n", g->exp->p.name, nr);
	if (err == -EPERM)
		g->none = true;
	else if (err)
		pr_err("%s: can't read which clients had locks (%d): they lose them\n",
		       g->exp->p.name, err);
	return found.err;
}

static void rdmafsd_grace_free(struct rdmafsd_grace *g)
{
	struct rdmafsd_holder *h, *next;

	down_write(&g->sem);
	list_for_each_entry_safe(h, next, &g->all, link)
		rdmafsd_holder_free(g, h);
	up_write(&g->sem);
}

/**
 * rdmafsd_grace_init - read which clients had locks in an export
 * @exp: the export, not live yet; gets @grace
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM; either is undone by rdmafsd_grace_exit().
 */
int rdmafsd_grace_init(struct rdmafsd_export *exp)
{
	struct rdmafsd_grace *g = kzalloc(sizeof(*g), GFP_KERNEL);
	int err = 0;

	if (!g)
		return -ENOMEM;
	exp->grace = g;
	g->exp = exp;
	init_rwsem(&g->sem);
	spin_lock_init(&g->taken_lock);
	get_random_bytes(&g->taken_key, sizeof(g->taken_key));
	INIT_LIST_HEAD(&g->all);
	INIT_DELAYED_WORK(&g->end, rdmafsd_grace_end_work);
	g->none = exp->p.read_only || __mnt_is_readonly(exp->path.mnt);
	if (!g->none)
		err = rdmafsd_grace_read(g);
	g->on = g->nr_awaited && exp->p.grace_s;
	g->until = get_jiffies_64() + (u64)exp->p.grace_s * HZ;
	return err;
}

/**
 * rdmafsd_grace_begin - begin the grace period of an export that has just become live
 * @exp: the export
 *
 * Context: process, may sleep.
 */
void rdmafsd_grace_begin(struct rdmafsd_export *exp)
{
	struct rdmafsd_grace *g = exp->grace;

	down_write(&g->sem);
	/* All of them may be back already. */
	if (g->on) {
		pr_info("%s: grace period: waiting %u s at most for %u clients that had locks\n",
			exp->p.name, exp->p.grace_s, g->nr_awaited);
		WRITE_ONCE(g->until, get_jiffies_64() + (u64)exp->p.grace_s * HZ);
		queue_delayed_work(rdmafsd_reap_wq, &g->end, exp->p.grace_s * HZ);
	} else if (g->nr_awaited) {
		rdmafsd_grace_over(g);
	}
	up_write(&g->sem);
}

/**
 * rdmafsd_grace_exit - end what the server knows of the holders; their records stay
 * @exp: the export; no request is at work in it, and nothing is open there; or
 *	 rdmafsd_grace_init() has just been called
 *
 * Sessions may yet end that had something there: the memory stays until rdmafsd_grace_put().
 *
 * Context: process, may sleep.
 */
void rdmafsd_grace_exit(struct rdmafsd_export *exp)
{
	struct rdmafsd_grace *g = exp->grace;

	if (!g)
		return;
	disable_delayed_work_sync(&g->end);
	rdmafsd_grace_free(g);
}

/**
 * rdmafsd_grace_put - free the memory
 * @exp: the export, which nobody looks at any more
 *
 * Context: any but interrupt.
 */
void rdmafsd_grace_put(struct rdmafsd_export *exp)
{
	kfree(exp->grace);
}
