// SPDX-License-Identifier: GPL-2.0
/*
 * Locks of files, as by fcntl(2) and flock(2), that clients wait for.  What is done at once with a
 * lock of a client is in lockvfs.c.
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
	/* It is not kicked any more; and if it was, it is the turn of the next one now. */
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
		/* No other task has seen it: it is in no list, and was not tried. */
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

/* --------------------------------------------------------------------- end */

/**
 * rdmafsd_locks_end - give up the locks that a session waits for, or has not learnt that it has
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
 * Return: the export, its memory to be put by rdmafsd_export_put_memory(); NULL: there are no more
 * locks.
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
 * rdmafsd_lock_resource - find the file system of a lock that a session waits for
 * @ses:   the session
 * @token: the client's name for it, from the wire
 *
 * The end of the wait may be the end of the open, too, which blocks in the file system.
 *
 * Context: any; does not sleep.
 * Return: the number of the file system; 0: there is no such lock.
 */
u64 rdmafsd_lock_resource(struct rdmafsd_session *ses, u32 token)
{
	struct rdmafsd_lock *lk;
	u64 resource;

	/* A lock leaves the table before its open is put, so the open's memory is there as well. */
	rcu_read_lock();
	lk = xa_load(&ses->locks, token);
	resource = lk ? lk->st->exp->resource : 0;
	rcu_read_unlock();
	return resource;
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
