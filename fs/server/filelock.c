// SPDX-License-Identifier: GPL-2.0
/*
 * Locks of files, as by fcntl(2) and flock(2), for clients.
 *
 * The server takes each lock through the VFS, on the struct file of the client's open.  So clients,
 * and the processes of this machine that use the file system, see each other's locks.
 *
 * An owner of the VFS's locks is a &struct rdmafsd_owner here: what a client has named by a number
 * (lockowner.c).
 *
 * A lock that can't be had at once waits as a &struct rdmafsd_lock.  No slot and no thread wait
 * with it, but for a few threads (below).  The VFS keeps it in the queue of the lock that is in its
 * way, and tells when that is gone (lm_notify); a work then tries again.  So waiters take their
 * turns as local processes do, and the VFS finds deadlocks between all of them.  When the server
 * has the lock, or has found that it can't be had, the client gets an event, and asks.  Until then,
 * the lock is the client's already: if the client does not ask, CANCEL, the end of its session or
 * the end of the export gives the lock back.
 *
 * For flock(2) the VFS offers its queue only to tasks that sleep.  A thread does so for a client if
 * a process of this machine is in the way; else the lock is tried again when a client gives back
 * one of that file (lockwait.c).
 *
 * The end of an open: the VFS forgets what a struct file has locked by flock(2), but not what was
 * locked by fcntl(2) for other owners than processes.  So rdmafsd_file_unlock() gives these back
 * before the file is closed.
 *
 * Who may ask for a lock, and when, says grace.c.
 *
 * Locks: rdmafsd_lock.mutex; in it rdmafsd_grace.sem, which may wait for a file system; in that the
 * VFS's, in those rdmafsd_session.locks_lock.  Also in the mutex, but not in the VFS's:
 * rdmafsd_polled.lock.  A task that holds the mutex does not wait for the work, which takes it; it
 * may wait for the thread's end.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/filelock.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include "transport/points.h"
#include "filelock.h"
#include "grace.h"

static void rdmafsd_lm_notify(struct file_lock *fl);

static const struct lock_manager_operations rdmafsd_lm_ops = {
	.lm_get_owner	= rdmafsd_lm_get_owner,
	.lm_put_owner	= rdmafsd_lm_put_owner,
	.lm_notify	= rdmafsd_lm_notify,
};

/* ------------------------------------------------------------ locks of the VFS */

/* Fill in a lock of the VFS.  It takes no reference: the caller keeps owner and open meanwhile. */
static void rdmafsd_lock_fill(struct file_lock *fl, const struct rdmafsd_range *r,
			      struct rdmafsd_owner *owner, struct file *file, unsigned char type)
{
	locks_init_lock(fl);
	fl->c.flc_type = type;
	fl->c.flc_flags = r->kind == RFP_LOCK_FLOCK ? FL_FLOCK : FL_POSIX;
	if (r->kind == RFP_LOCK_OFD)
		fl->c.flc_flags |= FL_OFDLCK;
	fl->c.flc_owner = owner;
	fl->c.flc_file = file;
	/*
	 * Those who look at the lock see by the sign that it is a process of another machine.  A
	 * lock of process 0 would not be shown.
	 */
	fl->c.flc_pid = r->pid ? -(pid_t)r->pid : -1;
	fl->fl_start = r->start;
	fl->fl_end = r->end;
	fl->fl_lmops = &rdmafsd_lm_ops;
}

/**
 * rdmafsd_lock_offered - tell whether clients can lock a file
 * @file: the file, open
 * @kind: RFP_LOCK_POSIX, RFP_LOCK_OFD or RFP_LOCK_FLOCK
 *
 * Some file systems have locks of their own (NFS, fuse, ceph and ocfs2, for instance).  Of these no
 * lock is taken for a client.  They keep what they need in the request, or by the address of its
 * owner, and not always in a lock of the VFS.  So it can't be known for how long they need the
 * owner, nor which locks are to be given back when a client goes; and each of them has rules of
 * its own for a request that is not to wait.
 *
 * Context: any.
 * Return: true: the VFS itself decides about locks of the file.
 */
bool rdmafsd_lock_offered(const struct file *file, u32 kind)
{
	return kind == RFP_LOCK_FLOCK ? !file->f_op->flock : !file->f_op->lock;
}

/*
 * Try once; does not wait for other locks.  0; -EAGAIN: others have it; FILE_LOCK_DEFERRED: they
 * do, and the VFS has queued it (only with FL_SLEEP); or another errno.
 */
static int rdmafsd_lock_vfs(struct file_lock *fl)
{
	struct file *file = fl->c.flc_file;

	if (fl->c.flc_flags & FL_POSIX)
		return posix_lock_file(file, fl, NULL);
	return locks_lock_file_wait(file, fl);
}

/* Is a lock of the VFS one of the owner's that has all of a range, in that type? */
static bool rdmafsd_lock_covers(const struct file_lock *fl, const struct rdmafsd_range *r,
				const struct rdmafsd_owner *owner, const struct file *file,
				unsigned char type)
{
	if (fl->fl_lmops != &rdmafsd_lm_ops || fl->c.flc_owner != owner || fl->c.flc_type != type)
		return false;
	if (r->kind == RFP_LOCK_FLOCK)
		return fl->c.flc_file == file;
	return fl->fl_start <= r->start && fl->fl_end >= r->end;
}

/* Does the client have a lock already, so that it takes no room? */
static bool rdmafsd_lock_had(struct rdmafsd_session *ses, struct rdmafsd_state *st,
			     const struct rdmafsd_range *r, unsigned char type)
{
	struct file_lock_context *ctx = locks_inode_context(file_inode(st->file));
	struct rdmafsd_owner *owner;
	struct file_lock *fl;
	bool had = false;

	owner = ctx ? rdmafsd_owner_find(ses, r->owner) : NULL;
	if (!owner)
		return false;
	spin_lock(&ctx->flc_lock);
	list_for_each_entry(fl, r->kind == RFP_LOCK_FLOCK ? &ctx->flc_flock : &ctx->flc_posix,
			    c.flc_list) {
		had = rdmafsd_lock_covers(fl, r, owner, st->file, type);
		if (had)
			break;
	}
	spin_unlock(&ctx->flc_lock);
	rdmafsd_owner_put(owner);
	return had;
}

/* ----------------------------------------------------------- locks that wait */

static void rdmafsd_lock_put(struct rdmafsd_lock *lk)
{
	if (!refcount_dec_and_test(&lk->refs))
		return;
	rdmafsd_owner_put(lk->owner);
	rdmafsd_state_put(lk->st);
	mutex_destroy(&lk->mutex);
	kfree_rcu(lk, rcu);
}

/* Give back what the client has not learnt that it has, and does not get. */
static void rdmafsd_lock_give_back(struct rdmafsd_lock *lk)
{
	struct file_lock fl;

	rdmafsd_lock_fill(&fl, &lk->range, lk->owner, lk->st->file, F_UNLCK);
	/* If a part of a lock can't be given back, it is with the open, which is closed next. */
	rdmafsd_lock_vfs(&fl);
	if (lk->range.kind == RFP_LOCK_FLOCK)
		rdmafsd_locks_kick(file_inode(lk->st->file));
}

/*
 * Ask the VFS for the lock, if the client may have it now.  As rdmafsd_lock_vfs() or
 * rdmafsd_grace_enter().  @denied: out: others have it.
 */
static int rdmafsd_lock_ask(struct rdmafsd_lock *lk, bool nowait, bool *denied)
{
	struct rdmafsd_asking a = { .nowait = nowait };
	struct inode *inode = file_inode(lk->st->file);
	int err;

	lockdep_assert_held(&lk->mutex);
	*denied = false;
	err = rdmafsd_grace_enter(lk->st->exp, lk->ses, inode, &a);
	if (err)
		return err;
	err = rdmafsd_lock_vfs(&lk->fl);
	rdmafsd_grace_leave(&a, inode, !err);
	lk->record = a.record;
	*denied = err == -EAGAIN;
	return err;
}

/* The lock waits no more: it is there, or can't be had.  Then others may, if a thread has it. */
static void rdmafsd_lock_settle(struct rdmafsd_lock *lk, int err)
{
	if (rdmafsd_sleeper_end(lk) && err)
		rdmafsd_lock_give_back(lk);
	lk->state = RFP_LOCK_HELD;
	lk->err = err;
	rdmafsd_polled_del(lk);
}

/*
 * The lock could not be had now, and is not in the VFS's queue: see to it that it is tried again.
 * @denied: because others have it.
 */
static void rdmafsd_lock_later(struct rdmafsd_lock *lk, bool denied)
{
	if (lk->sleeper && !READ_ONCE(lk->slept))
		return;
	if (lk->sleeper) {
		/* The thread had no memory, or the client may not have now what it has got. */
		if (rdmafsd_sleeper_end(lk))
			rdmafsd_lock_give_back(lk);
		denied = false;
	}
	if (denied && rdmafsd_sleeper_begin(lk))
		lk->tries = 0;
	else
		rdmafsd_lock_pause(lk);
}

/*
 * Try to get the lock, or to get it into the VFS's queue.  @work: as below.  True: it waits no more
 * since.
 */
static bool rdmafsd_lock_try(struct rdmafsd_lock *lk, bool work)
{
	bool denied;
	int err;

	lockdep_assert_held(&lk->mutex);
	if (lk->ended || lk->state != RFP_LOCK_WAITING)
		return false;
	rdmafs_test_point("lock_try", lk->token);
	if (lk->fl.c.flc_flags & FL_FLOCK)
		rdmafsd_polled_add(lk);
	err = rdmafsd_lock_ask(lk, work, &denied);
	if (err == FILE_LOCK_DEFERRED) {
		lk->tries = 0;
		return false;
	}
	/* The VFS may have queued others beneath this one while that waited: they are to go on. */
	locks_delete_block(&lk->fl);
	if (err == -EAGAIN) {
		rdmafsd_lock_later(lk, denied);
		return false;
	}
	rdmafsd_lock_settle(lk, err);
	return true;
}

static void rdmafsd_lock_work(struct work_struct *work)
{
	struct rdmafsd_lock *lk = container_of(to_delayed_work(work), struct rdmafsd_lock, work);
	bool tell;

	/*
	 * The queue runs only so many works at a time, for all exports.  So while a file system
	 * does not answer, one work may stand there that writes a record, and others come again.
	 */
	if (!mutex_trylock(&lk->mutex)) {
		queue_delayed_work(rdmafsd_lock_wq, &lk->work, RDMAFSD_LOCK_PAUSE);
		return;
	}
	tell = rdmafsd_lock_try(lk, true);
	mutex_unlock(&lk->mutex);
	if (tell)
		rdmafsd_lock_event(lk, false);
}

/* What was in the way is gone, or is another now; called with a spin lock of the VFS held. */
static void rdmafsd_lm_notify(struct file_lock *fl)
{
	struct rdmafsd_lock *lk;

	/* It is on the stack of a thread that sleeps (lockwait.c). */
	if (fl->c.flc_flags & FL_FLOCK) {
		locks_wake_up(fl);
		return;
	}
	lk = container_of(fl, struct rdmafsd_lock, fl);
	mod_delayed_work(rdmafsd_lock_wq, &lk->work, 0);
}

/*
 * Take a lock out of its session's table.  True: the caller has, and is to end it; the table's
 * reference is the caller's then.
 */
static bool rdmafsd_lock_remove(struct rdmafsd_session *ses, struct rdmafsd_lock *lk)
{
	return xa_cmpxchg(&ses->locks, lk->token, lk, NULL, 0) == lk;
}

/*
 * End a lock that the caller has taken out of the table: nothing tries it any more, and the VFS
 * does not know the request.  What has become of it is told by its state, which is constant now.
 */
static void rdmafsd_lock_end(struct rdmafsd_lock *lk)
{
	struct rdmafsd_session *ses = lk->ses;
	bool denied;

	mutex_lock(&lk->mutex);
	lk->ended = true;
	/*
	 * A thread may have got it, and the work have not come yet.  It is not just given back: the
	 * open may have got it in another way since.
	 */
	if (lk->state == RFP_LOCK_WAITING && rdmafsd_sleeper_end(lk)) {
		lk->state = RFP_LOCK_HELD;
		lk->err = rdmafsd_lock_ask(lk, true, &denied);
		if (lk->err)
			rdmafsd_lock_give_back(lk);
	}
	mutex_unlock(&lk->mutex);
	/* No try is under way or comes, so the VFS does not queue it again, nor call lm_notify. */
	locks_delete_block(&lk->fl);
	/* No one kicks it any more, and if one has, it is the turn of the next now. */
	rdmafsd_polled_del(lk);
	disable_delayed_work_sync(&lk->work);
	spin_lock(&ses->locks_lock);
	list_del_init(&lk->event);
	spin_unlock(&ses->locks_lock);
	rdmafsd_waits_uncharge(ses);
}

/* Give back what a lock that has ended holds, since the client does not learn that it has it. */
static void rdmafsd_lock_undo(struct rdmafsd_lock *lk)
{
	if (lk->state == RFP_LOCK_HELD && !lk->err)
		rdmafsd_lock_give_back(lk);
}

/*
 * Find the lock of a token, with a reference.  If it is not of the open @st, which may be NULL, it
 * is -EINVAL as an ERR_PTR: to put a lock may close its file, and block in another file system than
 * the request's.
 */
static struct rdmafsd_lock *rdmafsd_lock_find(struct rdmafsd_session *ses, u32 token,
					      const struct rdmafsd_state *st)
{
	struct rdmafsd_lock *lk;

	xa_lock(&ses->locks);
	lk = xa_load(&ses->locks, token);
	if (lk && st && lk->st != st)
		lk = ERR_PTR(-EINVAL);
	else if (lk)
		refcount_inc(&lk->refs);
	xa_unlock(&ses->locks);
	return lk;
}

/* Put a new lock into its session's table.  The table and the caller have a reference each. */
static int rdmafsd_lock_add(struct rdmafsd_session *ses, struct rdmafsd_lock *lk)
{
	int err;

	if (!rdmafsd_waits_charge(ses))
		return -ENOLCK;
	err = xa_insert(&ses->locks, lk->token, lk, GFP_KERNEL_ACCOUNT);
	if (!err)
		return 0;
	rdmafsd_waits_uncharge(ses);
	/* A client that sends one token twice at a time waits for neither. */
	return err == -EBUSY ? -EINVAL : err;
}

static int rdmafsd_lock_new(struct rdmafsd_session *ses, struct rdmafsd_state *st,
			    const struct rdmafsd_range *r, unsigned char type, u32 token,
			    struct rdmafsd_lock **lkp)
{
	struct rdmafsd_lock *lk;
	int err;

	lk = kzalloc(sizeof(*lk), GFP_KERNEL_ACCOUNT);
	if (!lk)
		return -ENOMEM;
	lk->owner = rdmafsd_owner_get(ses, r->owner);
	if (!lk->owner) {
		kfree(lk);
		return -ENOMEM;
	}
	lk->ses = ses;
	lk->st = st;
	refcount_inc(&st->refs);
	lk->range = *r;
	lk->token = token;
	lk->state = RFP_LOCK_WAITING;
	refcount_set(&lk->refs, 2);
	mutex_init(&lk->mutex);
	INIT_LIST_HEAD(&lk->event);
	INIT_LIST_HEAD(&lk->polled);
	INIT_DELAYED_WORK(&lk->work, rdmafsd_lock_work);
	rdmafsd_lock_fill(&lk->fl, r, lk->owner, st->file, type);
	if (lk->fl.c.flc_flags & FL_POSIX)
		lk->fl.c.flc_flags |= FL_SLEEP;
	err = rdmafsd_lock_add(ses, lk);
	if (err) {
		/* No one has seen it: it is in no list, and was not tried. */
		refcount_set(&lk->refs, 1);
		rdmafsd_lock_put(lk);
		return err;
	}
	*lkp = lk;
	return 0;
}

/* Is this the request with which the client asked for the lock first? */
static bool rdmafsd_lock_same(const struct rdmafsd_lock *lk, const struct rdmafsd_range *r,
			      unsigned char type)
{
	return lk->range.owner == r->owner && lk->fl.c.flc_type == type &&
	       lk->range.start == r->start && lk->range.end == r->end &&
	       lk->range.kind == r->kind;
}

/**
 * rdmafsd_lock_wait - take a lock for a client, or go on trying
 * @ses:   the session of the request
 * @st:	   the open
 * @r:	   the range, the owner and the kind
 * @type:  F_RDLCK or F_WRLCK
 * @token: the client's name for the request, not 0; the same again: it asks what has become of it
 * @record: out: with RFP_LOCK_HELD the number of the record of the client's locks
 *
 * Context: process, may sleep; with the server's own credentials, or the opener's.
 * Return: RFP_LOCK_HELD; RFP_LOCK_WAITING: an event comes; or a negative errno, -EDEADLK or
 * -ENOLCK for instance, or as rdmafsd_grace_enter().
 */
int rdmafsd_lock_wait(struct rdmafsd_session *ses, struct rdmafsd_state *st,
		      const struct rdmafsd_range *r, unsigned char type, u32 token, u32 *record)
{
	struct rdmafsd_lock *lk = rdmafsd_lock_find(ses, token, st);
	int ret;

	if (IS_ERR(lk))
		return PTR_ERR(lk);
	if (!lk) {
		/* The client may have lost an EVENT when it waited for nothing: tell it anew. */
		spin_lock(&ses->locks_lock);
		ses->rung = false;
		spin_unlock(&ses->locks_lock);
		if (!rdmafsd_locks_room(ses, 1) && !rdmafsd_lock_had(ses, st, r, type))
			return -ENOLCK;
		ret = rdmafsd_lock_new(ses, st, r, type, token, &lk);
		if (ret)
			return ret;
		mutex_lock(&lk->mutex);
		rdmafsd_lock_try(lk, false);
	} else if (rdmafsd_lock_same(lk, r, type)) {
		mutex_lock(&lk->mutex);
	} else {
		rdmafsd_lock_put(lk);
		return -EINVAL;
	}
	ret = lk->err ?: lk->state;
	*record = lk->record;
	mutex_unlock(&lk->mutex);
	if (ret != RFP_LOCK_WAITING) {
		/* Another task that ends it may give the lock back: then it is not held. */
		if (rdmafsd_lock_remove(ses, lk)) {
			rdmafsd_lock_end(lk);
			rdmafsd_lock_put(lk);
		} else if (ret == RFP_LOCK_HELD) {
			ret = -EAGAIN;
		}
	}
	rdmafsd_lock_put(lk);
	return ret;
}

/*
 * Has another session of the same client, which is being closed, a lock of the file yet?  Its end
 * gives it back.
 */
static bool rdmafsd_lock_before(const struct rdmafsd_session *ses, struct inode *inode)
{
	struct file_lock_context *ctx = locks_inode_context(inode);
	const struct rdmafsd_owner *owner;
	struct file_lock *fl;
	bool before = false;
	int i;

	if (!ctx)
		return false;
	spin_lock(&ctx->flc_lock);
	for (i = 0; i < 2 && !before; i++)
		list_for_each_entry(fl, i ? &ctx->flc_flock : &ctx->flc_posix, c.flc_list) {
			if (fl->fl_lmops != &rdmafsd_lm_ops)
				continue;
			owner = fl->c.flc_owner;
			before = owner->ses != ses &&
				 !memcmp(owner->ses->id, ses->id, sizeof(ses->id));
			if (before)
				break;
		}
	spin_unlock(&ctx->flc_lock);
	return before;
}

/**
 * rdmafsd_lock_once - take a lock for a client if it can be had at once
 * @ses:  the session of the request
 * @st:	  the open
 * @r:	  the range, the owner and the kind
 * @type: F_RDLCK or F_WRLCK
 * @a:	  as for rdmafsd_grace_enter(); gets @holds
 *
 * Context: process, may sleep; with the server's own credentials, or the opener's.
 * Return: RFP_LOCK_HELD, RFP_LOCK_DENIED or a negative errno, also as rdmafsd_grace_enter();
 * -EAGAIN: the client is to ask again in a moment.
 */
int rdmafsd_lock_once(struct rdmafsd_session *ses, struct rdmafsd_state *st,
		      const struct rdmafsd_range *r, unsigned char type, struct rdmafsd_asking *a)
{
	struct inode *inode = file_inode(st->file);
	bool room = rdmafsd_locks_room(ses, 1), had, before;
	struct rdmafsd_owner *owner;
	struct file_lock fl;
	int err;

	/* Only its client can give it back. */
	had = (a->again || !room) && rdmafsd_lock_had(ses, st, r, type);
	/* A client that has the limit may ask for what it has, to be sure. */
	if (!room && !had)
		return -ENOLCK;
	a->holds = a->again && had;
	owner = rdmafsd_owner_get(ses, r->owner);
	if (!owner)
		return -ENOMEM;
	rdmafsd_lock_fill(&fl, r, owner, st->file, type);
	err = rdmafsd_grace_enter(st->exp, ses, inode, a);
	if (!err) {
		/* To be looked at first: if the other session ends in between, it is free. */
		before = a->again && rdmafsd_lock_before(ses, inode);
		err = rdmafsd_lock_vfs(&fl);
		rdmafsd_grace_leave(a, inode, !err);
		/* flock(2) gives up one type for the other, also if it does not get that. */
		if (r->kind == RFP_LOCK_FLOCK)
			rdmafsd_locks_kick(inode);
		if (err == -EAGAIN && !before)
			err = RFP_LOCK_DENIED;
	}
	rdmafsd_owner_put(owner);
	return err;
}

/**
 * rdmafsd_lock_cancel - end the wait for a lock
 * @ses:   the session of the request
 * @token: the client's name for it
 *
 * Context: process, may sleep.
 * Return: RFP_LOCK_HELD: the client has it now; else RFP_LOCK_DENIED.
 */
int rdmafsd_lock_cancel(struct rdmafsd_session *ses, u32 token)
{
	struct rdmafsd_lock *lk = rdmafsd_lock_find(ses, token, NULL);
	int ret = RFP_LOCK_DENIED;

	if (!lk)
		return ret;
	if (rdmafsd_lock_remove(ses, lk)) {
		rdmafsd_lock_end(lk);
		if (lk->state == RFP_LOCK_HELD && !lk->err)
			ret = RFP_LOCK_HELD;
		rdmafsd_lock_put(lk);
	}
	rdmafsd_lock_put(lk);
	return ret;
}

/**
 * rdmafsd_unlock - give back a lock, or a part of one
 * @ses: the session of the request
 * @st:	 the open
 * @r:	 the range, the owner and the kind
 *
 * Context: process, may sleep; with the server's own credentials, or the opener's.
 * Return: 0, also if the client had no such lock; -ENOLCK: a lock would be cut in two, and there
 * are too many, or there is no memory.
 */
int rdmafsd_unlock(struct rdmafsd_session *ses, struct rdmafsd_state *st,
		   const struct rdmafsd_range *r)
{
	struct rdmafsd_owner *owner;
	struct file_lock fl;
	int err;

	owner = rdmafsd_owner_find(ses, r->owner);
	if (!owner)
		return 0;
	if ((r->start || r->end != OFFSET_MAX) && !rdmafsd_locks_room(ses, 2)) {
		rdmafsd_owner_put(owner);
		return -ENOLCK;
	}
	rdmafsd_lock_fill(&fl, r, owner, st->file, F_UNLCK);
	err = rdmafsd_lock_vfs(&fl);
	if (r->kind == RFP_LOCK_FLOCK)
		rdmafsd_locks_kick(file_inode(st->file));
	rdmafsd_owner_put(owner);
	return err;
}

/**
 * rdmafsd_lock_test - find a lock that would be in the way
 * @ses:  the session of the request
 * @st:	  the open
 * @r:	  the range, the owner and the kind, which is not RFP_LOCK_FLOCK
 * @type: F_RDLCK or F_WRLCK
 * @rep:  out: the fields but its @rep
 *
 * Context: process, may sleep; with the server's own credentials, or the opener's.
 * Return: 0 or a negative errno.
 */
int rdmafsd_lock_test(struct rdmafsd_session *ses, struct rdmafsd_state *st,
		      const struct rdmafsd_range *r, unsigned char type,
		      struct rfp_testlock_rep *rep)
{
	struct rdmafsd_owner *owner = rdmafsd_owner_get(ses, r->owner);
	struct file_lock fl;
	bool found;
	int err;

	if (!owner)
		return -ENOMEM;
	rdmafsd_lock_fill(&fl, r, owner, st->file, type);
	/* The VFS puts those of the lock that it finds there. */
	fl.fl_lmops = NULL;
	err = vfs_test_lock(st->file, &fl);
	found = !err && fl.c.flc_type != F_UNLCK;
	rep->type = cpu_to_le32(!found ? RFP_LOCK_NONE :
				fl.c.flc_type == F_RDLCK ? RFP_LOCK_READ : RFP_LOCK_WRITE);
	if (found) {
		rep->start = cpu_to_le64(fl.fl_start);
		rep->end = cpu_to_le64(fl.fl_end);
		rep->pid = cpu_to_le32(fl.c.flc_flags & FL_OFDLCK ? -1 : fl.c.flc_pid);
		/* The VFS has copied the lock that it found, with a reference to its owner. */
		locks_release_private(&fl);
	}
	rdmafsd_owner_put(owner);
	return err;
}

/* --------------------------------------------------------------------- end */

/**
 * rdmafsd_locks_end - give up what a session waits for, and what it has not learnt that it has
 * @ses: the session, kept from being freed by the caller
 * @exp: the locks in this export only; NULL: all
 *
 * If only an export ends, the client is told: it asks anew when the export is served again.
 *
 * Context: process, may sleep.  No request of the session is at work in @exp, and none comes.
 */
void rdmafsd_locks_end(struct rdmafsd_session *ses, const struct rdmafsd_export *exp)
{
	struct rdmafsd_lock *lk;
	unsigned long index;
	bool told = false;

	for (index = 0;; index++) {
		/* The last put of a lock closes a file: not one of another export. */
		xa_lock(&ses->locks);
		while ((lk = xa_find(&ses->locks, &index, ULONG_MAX, XA_PRESENT)) && exp &&
		       lk->st->exp != exp)
			index++;
		if (lk)
			refcount_inc(&lk->refs);
		xa_unlock(&ses->locks);
		if (!lk)
			break;
		if (rdmafsd_lock_remove(ses, lk)) {
			/* Now, as the session stays only until the lock has ended. */
			if (exp && !told)
				rdmafsd_lock_event(lk, true);
			told = true;
			rdmafsd_lock_end(lk);
			rdmafsd_lock_undo(lk);
			rdmafsd_lock_put(lk);
		}
		rdmafsd_lock_put(lk);
		cond_resched();
	}
	/* The end of an export may be at work with some of them, which may still ring. */
	if (!exp)
		wait_var_event(&ses->nr_waits, !atomic_read(&ses->nr_waits));
}

/**
 * rdmafsd_locks_export - find the next export that a session waits for a lock in
 * @ses:   the session, kept from being freed by the caller
 * @index: where to begin in the session's table; moves behind the lock that was found
 *
 * Context: process, does not sleep.
 * Return: the export, its memory to be put by rdmafsd_export_free(); NULL: there are no more locks.
 */
struct rdmafsd_export *rdmafsd_locks_export(struct rdmafsd_session *ses, unsigned long *index)
{
	struct rdmafsd_export *exp = NULL;
	struct rdmafsd_lock *lk;

	xa_lock(&ses->locks);
	lk = xa_find(&ses->locks, index, ULONG_MAX, XA_PRESENT);
	if (lk) {
		exp = lk->st->exp;
		refcount_inc(&exp->refs);
		++*index;
	}
	xa_unlock(&ses->locks);
	return exp;
}

/**
 * rdmafsd_lock_domain - find the file system of a lock that a session waits for
 * @ses:   the session
 * @token: the client's name for it, from the wire
 *
 * The end of the wait may be the end of the open, too, which blocks in the file system.
 *
 * Context: any; does not sleep.
 * Return: the number of the file system; 0: there is no such lock.
 */
u64 rdmafsd_lock_domain(struct rdmafsd_session *ses, u32 token)
{
	struct rdmafsd_lock *lk;
	u64 domain;

	/* A lock leaves the table before its open is put, so the open's memory is there as well. */
	rcu_read_lock();
	lk = xa_load(&ses->locks, token);
	domain = lk ? lk->st->exp->domain : 0;
	rcu_read_unlock();
	return domain;
}

/* The owner of a lock that was taken with a file, a reference; NULL: there is none. */
static struct rdmafsd_owner *rdmafsd_lock_of_file(struct file *file)
{
	struct file_lock_context *ctx = locks_inode_context(file_inode(file));
	struct rdmafsd_owner *owner = NULL;
	struct file_lock *fl;

	if (!ctx)
		return NULL;
	spin_lock(&ctx->flc_lock);
	list_for_each_entry(fl, &ctx->flc_posix, c.flc_list) {
		if (fl->c.flc_file != file || fl->fl_lmops != &rdmafsd_lm_ops)
			continue;
		owner = fl->c.flc_owner;
		refcount_inc(&owner->refs);
		break;
	}
	spin_unlock(&ctx->flc_lock);
	return owner;
}

/**
 * rdmafsd_file_unlock - give back all locks by fcntl(2) that were taken with a file
 * @file: the file, which is about to be closed
 *
 * Context: process, may sleep.
 * Return: true: the file may be locked by flock(2), too, which its end will give back.
 */
bool rdmafsd_file_unlock(struct file *file)
{
	const struct rdmafsd_range all = { .end = OFFSET_MAX };
	struct file_lock_context *ctx;
	struct rdmafsd_owner *owner;
	struct file_lock fl;
	int err = 0;

	/*
	 * An owner's locks are given back all at once, whichever file they were taken with.  This
	 * needs no memory and no file system: there are no such locks where a file system has its
	 * own.  So each turn leaves an owner less.
	 */
	while (!err && (owner = rdmafsd_lock_of_file(file))) {
		rdmafsd_lock_fill(&fl, &all, owner, file, F_UNLCK);
		err = posix_lock_file(file, &fl, NULL);
		rdmafsd_owner_put(owner);
		WARN_ON_ONCE(err);
		cond_resched();
	}
	ctx = locks_inode_context(file_inode(file));
	return ctx && !list_empty_careful(&ctx->flc_flock);
}

/**
 * rdmafsd_locks_init - make what locks that wait need, and set the limits of locks
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rdmafsd_locks_init(void)
{
	rdmafsd_owners_init();
	return rdmafsd_lockwait_init();
}

/**
 * rdmafsd_locks_exit - undo rdmafsd_locks_init(), once there are no sessions
 *
 * Context: process, may sleep.
 */
void rdmafsd_locks_exit(void)
{
	rdmafsd_owners_exit();
	rdmafsd_lockwait_exit();
}
