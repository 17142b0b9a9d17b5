// SPDX-License-Identifier: GPL-2.0
/*
 * Which clients may take locks again that were lost with a session, or with the server.
 *
 * A *holder* is a client, by the id that its mount gives itself, that has locks in an export.
 * Before its first lock is granted it gets a record on the storage of that (record.c).  The client
 * is told the record's number with each lock, and shows it when it asks for the lock again
 * (RFP_LOCK_RECLAIM).  What the record says is always this: since the client got the locks that it
 * knows by this number, no other client has got one.  So
 *
 * - a session that ends leaves the record as it is (the holder is *left*), but before the next lock
 *   is granted to another client the records of all that are left are removed;
 * - the client's next session gets a new record, in whose name it does not hold what it has not
 *   asked for again yet.
 *
 * Several exports may lead to one file.  So all exports of a file system have their holders, and
 * the grace period, in common, and the records lie at one place, where also those of an export are
 * removed that is not live.
 *
 * When an export starts the clients of the records that are found may come back.  In this *grace
 * period* only they are given locks, and only those that they had.  It ends when each of them has
 * said that it has asked for all (RFP_RECLAIM_DONE), or after a time that the administrator sets.
 * A client that has not said so by then is left.
 *
 * Without a restart a client may also ask by the number of a record that was removed, the last one
 * that it had.  Then the server looks whether another client was granted any lock of that file
 * since (holder.c).  There are fewer of these marks than files, so a client may lose a lock that no
 * other client had; it never gets one that another client has had.
 *
 * Locks of processes on this machine, and of clients of its NFS server, are neither recorded nor
 * kept waiting: the server does not know which were held in between.  No records are made for the
 * clients of an export that is read-only, nor where the directory of orphans can't be root's own
 * (vfat): they get again what is free, unless others are recorded.
 *
 * Locks: @sem guards all of struct rdmafsd_grace and its holders but @taken.  It is held for
 * reading while a lock is asked for, and for writing where holders change, also while records are
 * written.  It is taken inside of rdmafsd_lock.mutex, and outside of all that is needed to write a
 * record.  A task that waits for it waits for no other file system.
 */
#define pr_fmt(fmt) "rdmafsd: " fmt

#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include "transport/points.h"
#include "server.h"
#include "filelock.h"
#include "grace.h"
#include "holder.h"
#include "record.h"
#include "trace.h"

static DEFINE_MUTEX(rdmafsd_graces_lock);	/* the next, and @users; a leaf */
static LIST_HEAD(rdmafsd_graces);		/* &struct rdmafsd_grace with @users */

/* ------------------------------------------------------------------ asking */

/*
 * If the record of a client's lock can't be written, the lock is not granted.  -EAGAIN, ask later:
 * the file system is frozen, and will thaw; or the client takes a lock again (@again): its record
 * is valid, and -ENOLCK would lose the lock.  A read-only file system may never be written:
 * -ENOLCK.
 */
static int rdmafsd_grace_errno(int err, bool again)
{
	if (!err || err == -EAGAIN || err == -ENOMEM)
		return err;
	return again && err != -EROFS ? -EAGAIN : -ENOLCK;
}

/* Does a holder still have what it had when it was told the number of the record that it shows? */
static bool rdmafsd_holder_had(struct rdmafsd_grace *g, const struct rdmafsd_holder *h,
			       const struct rdmafsd_session *ses, const struct inode *inode,
			       const struct rdmafsd_asking *a)
{
	if (!a->record)
		return false;
	/* While it has no session others get nothing without its record's end. */
	if (a->record == h->record)
		return h->ses != ses || !h->done ||
		       !rdmafsd_taken_since(g, inode, h->who, h->done_seq);
	return a->record == h->was && !rdmafsd_taken_since(g, inode, h->who, h->was_seq);
}

/*
 * As rdmafsd_grace_look(), for a client of an export where it can't be recorded.  If others are
 * recorded, or were, it is not known what they have had since.
 */
static int rdmafsd_grace_look_bare(struct rdmafsd_grace *g, struct rdmafsd_asking *a)
{
	a->record = 0;
	if (a->again)
		return !a->holds && (rdmafsd_taken_seq(g) || g->last) ? -RDMAFSD_ENOGRACE : 0;
	if (g->on)
		return -RDMAFSD_EGRACE;
	return g->nr_left ? -EAGAIN : 0;
}

/*
 * May a lock be asked for?  0; -RDMAFSD_EGRACE, -RDMAFSD_ENOGRACE; -EAGAIN: when holders and
 * records have been changed.
 */
static int rdmafsd_grace_look(struct rdmafsd_export *exp, struct rdmafsd_session *ses,
			      const struct inode *inode, struct rdmafsd_asking *a)
{
	struct rdmafsd_grace *g = exp->grace;
	struct rdmafsd_holder *h = rdmafsd_holder_find(g, ses->id, exp->p.id);

	if (!h && exp->bare)
		return rdmafsd_grace_look_bare(g, a);
	/*
	 * A client that still holds the lock (@holds) only confirms it: it needs no holder,
	 * whichever clients had the lock earlier.
	 */
	if (a->again && !a->holds && (!h || !rdmafsd_holder_had(g, h, ses, inode, a)))
		return -RDMAFSD_ENOGRACE;
	if (!a->again && g->on)
		return -RDMAFSD_EGRACE;
	if (!h || h->ses != ses || !h->record || (!a->again && g->nr_left))
		return -EAGAIN;
	a->who = h->who;
	a->record = h->record;
	return 0;
}

/* No record can be made here.  True: nor is there one, so the file system does without. */
static bool rdmafsd_grace_make_bare(struct rdmafsd_export *exp)
{
	struct rdmafsd_grace *g = exp->grace;
	struct rdmafsd_holder *h;

	list_for_each_entry(h, &g->all, link)
		if (h->record)
			return false;
	g->none = true;
	pr_warn_ratelimited("%s: who has locks can't be recorded: after a restart others may be quicker\n",
			    exp->p.name);
	return true;
}

/* Give a holder a record for the session in which it asks. */
static int rdmafsd_grace_record(struct rdmafsd_export *exp, struct rdmafsd_session *ses,
				struct rdmafsd_asking *a)
{
	struct rdmafsd_grace *g = exp->grace;
	struct rdmafsd_holder *h;
	int err;

	err = rdmafsd_session_hold(ses, exp);
	if (err)
		return err;
	h = rdmafsd_holder_find(g, ses->id, exp->p.id);
	if (!h)
		h = rdmafsd_holder_new(g, ses->id, exp->p.id, &ses->client->source);
	if (IS_ERR(h))
		return PTR_ERR(h);
	/* The session of this request is one that transport ends: the client has another one. */
	if (h->ses && h->ses->age > ses->age)
		return -EAGAIN;
	/*
	 * While others wait for this client they get nothing, so what the record says stays true;
	 * and if the client does not say that it has asked for all, it is left when they wait no
	 * longer.
	 */
	if (!h->record || (h->ses != ses && !(g->on && h->awaited)))
		err = rdmafsd_holder_renew(exp, h);
	if (err)
		return err;
	rdmafsd_holder_set(g, h, ses, h->record);
	a->who = h->who;
	a->record = h->record;
	return 0;
}

/* Change holders and records so that the lock may be asked for. */
static int rdmafsd_grace_change(struct rdmafsd_export *exp, struct rdmafsd_session *ses,
				const struct inode *inode, struct rdmafsd_asking *a)
{
	struct rdmafsd_grace *g = exp->grace;
	struct rdmafsd_holder *h;
	int err;

	lockdep_assert_held_write(&g->sem);
	/* Another task may have done it, or the grace period may have ended. */
	if (g->none) {
		a->record = 0;
		return 0;
	}
	err = rdmafsd_grace_look(exp, ses, inode, a);
	if (err != -EAGAIN)
		return err;
	/*
	 * A request of a session that ends must not displace the client's next session.  Nor may it
	 * retire the record of a second client whose session the stopping server has just ended:
	 * that would lose the second client's locks and give the first nothing.  What is left when
	 * an export ends is given back without this (rdmafsd_grace_end()).
	 */
	if (rdmafs_xprt_session_closes(ses->xs) || percpu_ref_is_dying(&exp->inflight))
		return -EAGAIN;
	h = rdmafsd_holder_find(g, ses->id, exp->p.id);
	err = a->again ? 0 : rdmafsd_holders_retire(exp, h);
	/* rdmafsd_grace_look() has compared @a->record before this replaces the record. */
	if (!err && (h || !exp->bare))
		err = rdmafsd_grace_record(exp, ses, a);
	if (err == -EPERM && rdmafsd_grace_make_bare(exp)) {
		a->record = 0;
		return 0;
	}
	return rdmafsd_grace_errno(err, a->again);
}

/**
 * rdmafsd_grace_enter - find out whether a client may ask for a lock now
 * @exp:   the export; in flight, or kept from its end by an open of the session
 * @ses:   the client's session
 * @inode: the file
 * @a:	   @again, @nowait and, with @again, @record and @holds are set by the caller; out: @record
 *	   of the client's locks
 *
 * Context: process, may sleep; waits for the export's file system if a record has to be written.
 * Return: 0: to be followed by rdmafsd_grace_leave(); -RDMAFSD_EGRACE: it is to ask later;
 * -RDMAFSD_ENOGRACE: it has not had the lock all the time; -ENOLCK: the record can't be written;
 * -EAGAIN: it can't be written now: the file system is frozen, another task writes (with @nowait),
 * or the client takes a lock again; -ENOMEM.
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
	err = rdmafsd_grace_look(exp, ses, inode, a);
	if (err)
		up_read(&g->sem);
	if (err != -EAGAIN)
		return err;
	if (!a->nowait)
		down_write(&g->sem);
	else if (!down_write_trylock(&g->sem))
		return -EAGAIN;
	err = rdmafsd_grace_change(exp, ses, inode, a);
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
	struct rdmafsd_grace *g = a->grace;

	/* Where no client is recorded none will ask by a record. */
	if (granted && !a->again && (a->who || g->nr))
		rdmafsd_taken_by(g, inode, a->who);
	up_read(&g->sem);
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
	h = rdmafsd_holder_find(g, ses->id, exp->p.id);
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
 * Its record goes: it would be waited for after a restart, and has nothing to come back for.  But
 * what it has not asked for again yet it may ask for in its next session by the former record.
 *
 * Context: process, may sleep.
 */
void rdmafsd_grace_unused(struct rdmafsd_export *exp, struct rdmafsd_session *ses)
{
	struct rdmafsd_grace *g = exp->grace;
	struct rdmafsd_holder *h;
	struct rdmafsd_record r;

	down_write(&g->sem);
	h = rdmafsd_holder_find(g, ses->id, exp->p.id);
	if (h && h->ses == ses && g->on && !h->done) {
		/* The session may have been lost before its client has asked for any lock. */
		rdmafsd_holder_await(g, h, true);
		rdmafsd_holder_set(g, h, NULL, h->record);
	} else if (h && h->ses == ses) {
		r = rdmafsd_holder_record(h, h->record);
		if (h->record && rdmafsd_record_remove(exp, &r))
			rdmafsd_holder_set(g, h, NULL, h->record);
		else if (h->was && !h->told)
			rdmafsd_holder_set(g, h, NULL, 0);
		else
			rdmafsd_holder_free(g, h);
	}
	up_write(&g->sem);
}

/* -------------------------------------------------------- the grace period */

/*
 * A client that has not said that it has asked for all is left; it keeps the locks that it has
 * taken again so far.
 */
static void rdmafsd_grace_finish(struct rdmafsd_grace *g)
{
	unsigned int away = g->nr_awaited;
	struct rdmafsd_holder *h;

	lockdep_assert_held_write(&g->sem);
	list_for_each_entry(h, &g->all, link) {
		if (!h->awaited)
			continue;
		rdmafsd_holder_await(g, h, false);
		h->part = h->ses ? h->ses->age : 0;
		rdmafsd_holder_set(g, h, NULL, h->record);
	}
	WRITE_ONCE(g->on, false);
	trace_rdmafs_grace(g->sb, false, away);
	pr_info("%s: the grace period is over: %u clients did not come back\n", g->sb->s_id, away);
}

static void rdmafsd_grace_end_work(struct work_struct *work)
{
	struct rdmafsd_grace *g = container_of(to_delayed_work(work), struct rdmafsd_grace, end);

	rdmafs_test_point("grace_end", 0);
	down_write(&g->sem);
	/* This work may have been due for an earlier end, and have waited: it is queued anew. */
	if (g->on && !time_before64(get_jiffies_64(), g->until))
		rdmafsd_grace_finish(g);
	up_write(&g->sem);
}

/*
 * A client that has none of its locks again says that it has asked for all.  So it needs no record;
 * and if it is wrong, no record must stay valid while others get locks.  A record that can't be
 * removed now is removed before that.  But where none can be removed, since the export is
 * read-only, others are not to wait for that: the client keeps its record, and is not left.
 */
static void rdmafsd_grace_holds_none(struct rdmafsd_export *exp, struct rdmafsd_session *ses,
				     struct rdmafsd_holder *h)
{
	if (rdmafsd_holder_retire(exp, h) && exp->bare && !rdmafsd_session_hold(ses, exp))
		rdmafsd_holder_set(exp->grace, h, ses, h->record);
}

/*
 * A client that is left says that it has asked for all.  If it was too late to say so, but has
 * taken some again in this session, it has these by its record, which is there yet: so no other
 * client has got a lock since.
 */
static void rdmafsd_grace_note_partial(struct rdmafsd_export *exp, struct rdmafsd_session *ses,
				       struct rdmafsd_holder *h)
{
	if (h->part == ses->age && atomic_read(&ses->nr_locks) && !rdmafsd_session_hold(ses, exp))
		rdmafsd_holder_set(exp->grace, h, ses, h->record);
	else
		rdmafsd_grace_holds_none(exp, ses, h);
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
	h = rdmafsd_holder_find(g, ses->id, exp->p.id);
	/* This session does not know which locks the client's next session has to ask for. */
	if (h && (!h->ses || h->ses == ses)) {
		rdmafsd_holder_await(g, h, false);
		/* There is nothing more that it could ask for by that record. */
		if (!h->done)
			rdmafsd_holder_done(g, h);
		if (rdmafsd_holder_left(h))
			rdmafsd_grace_note_partial(exp, ses, h);
		h->told = h->ses;
		/* One that has nothing, and nothing to ask for, is not told of the next start. */
		if (!h->record && !h->ses)
			rdmafsd_holder_free(g, h);
	}
	if (g->on && !g->nr_awaited)
		rdmafsd_grace_finish(g);
	up_write(&g->sem);
}

/**
 * rdmafsd_grace_tells - tell whether the client of a session is to take its locks again
 * @exp: the export, which is about to become live
 * @ses: the session
 *
 * A client that has no record any more may also have a lock again, if no other client has had it
 * since.  Where no client is waited for, as grace_s is 0, each finds out by itself.
 *
 * Context: process, may sleep.
 * Return: true if so.
 */
bool rdmafsd_grace_tells(struct rdmafsd_export *exp, const struct rdmafsd_session *ses)
{
	struct rdmafsd_grace *g = exp->grace;
	struct rdmafsd_holder *h;
	bool tells;

	down_read(&g->sem);
	h = rdmafsd_holder_find(g, ses->id, exp->p.id);
	tells = h && (h->awaited || (exp->p.grace_s && !h->ses));
	up_read(&g->sem);
	return tells;
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
 * rdmafsd_grace_show - tell for how many clients an export waits, and for how long
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

/* The records that are found when the export starts. */
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

	h = rdmafsd_holder_find(g, r->client, r->export);
	if (!h && g->nr < RDMAFSD_HOLDERS_MAX) {
		h = rdmafsd_holder_new(g, r->client, r->export, NULL);
		if (IS_ERR(h)) {
			found->err = PTR_ERR(h);
			return false;
		}
		rdmafsd_holder_set(g, h, NULL, r->nr);
		return true;
	}
	/* A directory that is changed meanwhile may show a name twice. */
	if (h && h->record == r->nr)
		return true;
	/* The server died when it had made the new record and the old one was still there. */
	if (h && !h->was)
		h->was = r->nr;
	/* Other records are none of the server's: it never leaves so many. */
	surplus = kmalloc(sizeof(*surplus), GFP_KERNEL);
	if (!surplus) {
		found->err = -ENOMEM;
		return false;
	}
	surplus->record = *r;
	list_add_tail(&surplus->link, &found->surplus);
	return true;
}

static void rdmafsd_holders_free(struct rdmafsd_grace *g)
{
	struct rdmafsd_holder *h, *next;

	list_for_each_entry_safe(h, next, &g->all, link)
		rdmafsd_holder_free(g, h);
}

/* Read what records there are.  Not 0: that is not known, so no lock may be granted. */
static int rdmafsd_grace_read(struct rdmafsd_export *exp)
{
	struct rdmafsd_grace *g = exp->grace;
	struct rdmafsd_grace_found found = { .g = g };
	struct rdmafsd_surplus *surplus, *next;
	unsigned int nr = 0;
	int err;

	lockdep_assert_held_write(&g->sem);
	INIT_LIST_HEAD(&found.surplus);
	err = rdmafsd_records_read(exp, rdmafsd_grace_take, &found) ?: found.err;
	list_for_each_entry_safe(surplus, next, &found.surplus, link) {
		if (!err)
			rdmafsd_record_remove(exp, &surplus->record);
		kfree(surplus);
		nr++;
	}
	if (err)
		rdmafsd_holders_free(g);
	else if (nr)
		pr_warn_ratelimited("%s: %u records of clients' locks were too many\n",
				    exp->p.name, nr);
	if (err == -EPERM) {
		g->none = true;
		err = 0;
	}
	if (err && err != -ENOMEM)
		pr_err_ratelimited("%s: can't read which clients had locks, so it is not started (%d)\n",
				   exp->p.name, err);
	g->found = !err;
	return err;
}

/*
 * Is a holder that has lost its session waited for when an export starts that is not the first of
 * its file system?  An export that was crossed into is started by any client that goes there, and
 * may have ended because it was not used.  So clients that have not been there for long are not
 * waited for again.  Those that the end of the export has cut off are, once.
 */
static bool rdmafsd_grace_awaits(const struct rdmafsd_export *exp, struct rdmafsd_holder *h)
{
	bool cut = h->cut;

	if (h->export != exp->p.id)
		return false;
	h->cut = false;
	return cut || !exp->parent;
}

/*
 * Wait for the clients that may come back to an export that starts; if it is the @first of its file
 * system, also for those of all other exports there.
 */
static void rdmafsd_grace_begin(struct rdmafsd_export *exp, bool first)
{
	u64 until = get_jiffies_64() + (u64)exp->p.grace_s * HZ;
	struct rdmafsd_grace *g = exp->grace;
	struct rdmafsd_holder *h;
	unsigned int nr = 0;

	lockdep_assert_held_write(&g->sem);
	list_for_each_entry(h, &g->all, link) {
		if (!rdmafsd_holder_left(h) || (!first && !rdmafsd_grace_awaits(exp, h)))
			continue;
		h->done = false;
		if (exp->p.grace_s)
			rdmafsd_holder_await(g, h, true);
		nr++;
	}
	if (!nr || !exp->p.grace_s)
		return;
	/* Clients that start one export after the other must not have all others wait for ever. */
	if (!g->on || (!exp->parent && until > g->until)) {
		WRITE_ONCE(g->until, until);
		mod_delayed_work(rdmafsd_reap_wq, &g->end, exp->p.grace_s * HZ);
	}
	WRITE_ONCE(g->on, true);
	trace_rdmafs_grace(g->sb, true, g->nr_awaited);
	pr_info("%s: grace period: waiting %u s at most for %u clients that had locks\n",
		exp->p.name, exp->p.grace_s, g->nr_awaited);
}

static struct rdmafsd_grace *rdmafsd_grace_new(struct super_block *sb)
{
	struct rdmafsd_grace *g = kvzalloc(sizeof(*g), GFP_KERNEL);

	if (!g)
		return NULL;
	g->sb = sb;
	g->users = 1;
	refcount_set(&g->refs, 1);
	init_rwsem(&g->sem);
	spin_lock_init(&g->taken_lock);
	get_random_bytes(&g->taken_key, sizeof(g->taken_key));
	INIT_LIST_HEAD(&g->all);
	INIT_DELAYED_WORK(&g->end, rdmafsd_grace_end_work);
	return g;
}

/* The memory that the exports of a file system share, with a reference; NULL: there is none. */
static struct rdmafsd_grace *rdmafsd_grace_join(struct super_block *sb)
{
	struct rdmafsd_grace *new = rdmafsd_grace_new(sb), *found = NULL, *g;

	mutex_lock(&rdmafsd_graces_lock);
	list_for_each_entry(g, &rdmafsd_graces, link)
		if (g->sb == sb)
			found = g;
	if (found) {
		found->users++;
		refcount_inc(&found->refs);
	} else if (new) {
		list_add(&new->link, &rdmafsd_graces);
		swap(found, new);
	}
	mutex_unlock(&rdmafsd_graces_lock);
	kvfree(new);
	return found;
}

/**
 * rdmafsd_grace_init - find out which clients had locks in an export, and wait for them
 * @exp: the export, not live yet; gets @grace and @bare
 *
 * Context: process, may sleep.
 * Return: 0, -ENOMEM or another negative errno: the records can't be read.  Each is undone by
 * rdmafsd_grace_exit() and rdmafsd_grace_put().
 */
int rdmafsd_grace_init(struct rdmafsd_export *exp)
{
	struct rdmafsd_grace *g = rdmafsd_grace_join(exp->path.dentry->d_sb);
	bool first;
	int err = 0;

	if (!g)
		return -ENOMEM;
	exp->grace = g;
	exp->bare = exp->p.read_only || __mnt_is_readonly(exp->path.mnt);
	down_write(&g->sem);
	first = !g->found;
	if (first)
		err = rdmafsd_grace_read(exp);
	if (!err)
		rdmafsd_grace_begin(exp, first);
	up_write(&g->sem);
	return err;
}

/**
 * rdmafsd_grace_end - note that an export ends, before what clients have locked there goes
 * @exp: the export; no request is at work in it
 *
 * Context: process, may sleep.
 */
void rdmafsd_grace_end(struct rdmafsd_export *exp)
{
	struct rdmafsd_grace *g = exp->grace;
	struct rdmafsd_holder *h;

	down_write(&g->sem);
	list_for_each_entry(h, &g->all, link) {
		if (h->export != exp->p.id)
			continue;
		h->cut = h->ses;
		rdmafsd_holder_set(g, h, NULL, h->record);
	}
	up_write(&g->sem);
}

/**
 * rdmafsd_grace_exit - let go of the holders in the export's file system; their records stay
 * @exp: the export; no request is at work in it, and nothing is open there; or
 *	 rdmafsd_grace_init() has just been called
 *
 * With its last export the server forgets them.  Sessions may yet end that had something there: the
 * memory stays until rdmafsd_grace_put().
 *
 * Context: process, may sleep.
 */
void rdmafsd_grace_exit(struct rdmafsd_export *exp)
{
	struct rdmafsd_grace *g = exp->grace;
	bool last;

	if (!g)
		return;
	mutex_lock(&rdmafsd_graces_lock);
	last = !--g->users;
	if (last)
		list_del(&g->link);
	mutex_unlock(&rdmafsd_graces_lock);
	if (!last)
		return;
	disable_delayed_work_sync(&g->end);
	down_write(&g->sem);
	if (g->on)
		trace_rdmafs_grace(g->sb, false, g->nr_awaited);
	rdmafsd_holders_free(g);
	up_write(&g->sem);
}

/**
 * rdmafsd_grace_put - drop an export's reference to the memory
 * @exp: the export, which no task looks at any more
 *
 * Context: any but interrupt.
 */
void rdmafsd_grace_put(struct rdmafsd_export *exp)
{
	if (exp->grace && refcount_dec_and_test(&exp->grace->refs))
		kvfree_rcu(exp->grace, rcu);
}
