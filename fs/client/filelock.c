// SPDX-License-Identifier: GPL-2.0
/*
 * Locks of files: fcntl(2) and flock(2).
 *
 * The server has all locks, and decides.  What it has granted is also recorded here, in the VFS,
 * which shows it in /proc/locks and tells what a process that ends has to give back.  A lock is
 * recorded after the server has granted it, and taken off the record before the server is told, so
 * that no two processes here are recorded with locks that exclude each other.  If the record has
 * locks that the server does not have any more, they are taken again or are lost, as soon as the
 * server grants them to others here (rdmafs_lock_rivals()).
 *
 * Waiting takes no slot: the server answers that the lock is not to be had yet, and transport
 * brings an EVENT when the server has something to tell (events.c).  A task that is woken asks for
 * its lock again, under the same token.  All of them ask, too, after a new connection or session,
 * and now and then without a reason.  In its grace period the server grants only locks that are
 * taken again: a task that wants another one asks again until that period is over (grace.c).
 *
 * A lock makes what it covers coherent: before the lock is taken all that is cached is put in
 * doubt, and before it is given back what is dirty is written.  While a range is locked write(2)
 * writes just the bytes that it is given (rdmafs_write_through()): a page may have ranges that
 * other clients have locked.
 *
 * Order: rdmafs_inode.locking is held from a request to its record, so that requests for one file
 * reach the server in the order of the record.  A task that was killed leaves its request to a
 * worker, and other tasks wait for that worker before they ask (@lock_strays).
 *
 * The requests, and that worker, are lock_request.c's; the record is lock_record.c's.  What becomes
 * of the locks of a lost session is in lock_reclaim.c.
 *
 * A lock manager that exports the mount again (knfsd, lockd) takes locks here as processes do.  It
 * never waits for one, and its threads wait for the server as for anything else.  Locks that NFS
 * clients had before knfsd was started anew are refused to them: others may have had these locks
 * meanwhile.  (lockd does not tell which locks are such, so NFSv3 clients may take them again.)
 *
 * Locks: rdmafs_inode.locking, outside of rdmafs_open.lock.
 */
#include <linux/filelock.h>
#include <linux/sched/signal.h>
#include <linux/wait_bit.h>
#include "client.h"
#include "filelock.h"
#include "op.h"
#include "open.h"
#include "transport/points.h"

/* A task that waits asks again after this time, in jiffies, though no event has come. */
#define RDMAFS_LOCK_PATIENCE	(30 * HZ)

/* ----------------------------------------------------- in line for rdmafs_inode.locking */

static bool rdmafs_strays_waited(struct rdmafs_inode *ri, const struct rdmafs_since *since)
{
	return !atomic_read(&ri->lock_strays) ||
	       rdmafs_since_over(RDMAFS_M(ri->netfs.inode.i_sb), since);
}

/*
 * Wait for workers, umount -f, or the end of a soft mount's time.  The workers and umount -f wake
 * this task; the time is looked at now and then.  0 or -EINTR.
 */
static int rdmafs_strays_wait(struct rdmafs_inode *ri, const struct rdmafs_since *since)
{
	struct rdmafs_mount *mnt = RDMAFS_M(ri->netfs.inode.i_sb);

	while (!rdmafs_strays_waited(ri, since)) {
		if (fatal_signal_pending(current))
			return -EINTR;
		___wait_var_event(&mnt->forced,
				  ___wait_cond_timeout(rdmafs_strays_waited(ri, since)),
				  TASK_KILLABLE, 0, HZ, __ret = schedule_timeout(__ret));
	}
	return 0;
}

/*
 * Stand in line for @locking.  A worker that has something to do there lets those in line go first,
 * as it holds the mutex until the server answers.  0; -EINTR; or, unless @always, -EBUSY: there is
 * such a worker already.
 */
static int rdmafs_locking_line(struct rdmafs_inode *ri, bool always)
{
	int err = -EBUSY;

	atomic_inc(&ri->lock_line);
	/* Pairs with rdmafs_lock_left_work(): it sees this task, or this task sees it. */
	smp_mb__after_atomic();
	if (always || !atomic_read(&ri->lock_strays))
		err = mutex_lock_killable(&ri->locking);
	if (atomic_dec_and_test(&ri->lock_line))
		wake_up_var(&ri->lock_line);
	return err;
}

/*
 * Take @locking to ask for a lock, when what killed tasks have left is done: an UNLOCK that is
 * still on its way would undo the lock.  0; -EINTR; or -EIO or -ETIMEDOUT: a soft mount's time is
 * over, or umount -f was called after the caller had read @forced.  This ends the tasks that wait
 * in line here, too: each would ask the server in its turn, and wait for the answer.
 */
static int rdmafs_locking_begin(struct rdmafs_inode *ri, int forced)
{
	struct rdmafs_mount *mnt = RDMAFS_M(ri->netfs.inode.i_sb);
	struct rdmafs_since since;
	int err;

	rdmafs_since_now(mnt, &since);
	since.forced = forced;
	for (;;) {
		/* A worker holds the mutex while it waits for the server: not in line behind it. */
		err = rdmafs_locking_line(ri, false);
		if (err == -EINTR)
			return err;
		if (!err) {
			if (forced == atomic_read(&mnt->forced) && !atomic_read(&ri->lock_strays))
				return 0;
			mutex_unlock(&ri->locking);
		}
		if (rdmafs_strays_wait(ri, &since))
			return -EINTR;
		err = rdmafs_since_over(mnt, &since);
		if (err && (forced != atomic_read(&mnt->forced) || atomic_read(&ri->lock_strays)))
			return err;
	}
}

/* --------------------------------------------------------------- taking a lock */

/*
 * knfsd may keep the locks of an NFS client that is gone until another owner wants them.  The
 * server would refuse these, and does not know that: have knfsd give them up first.  The caller
 * holds no lock, as knfsd flushes and closes files for that.
 */
static void rdmafs_lock_expire(struct file *file, const struct file_lock *fl)
{
	struct file_lock wanted;

	if (!(fl->c.flc_flags & FL_POSIX))
		return;
	locks_init_lock(&wanted);
	wanted.c.flc_owner = fl->c.flc_owner;
	wanted.c.flc_file = file;
	wanted.c.flc_pid = fl->c.flc_pid;
	wanted.c.flc_flags = fl->c.flc_flags;
	wanted.c.flc_type = fl->c.flc_type;
	wanted.fl_start = fl->fl_start;
	wanted.fl_end = fl->fl_end;
	posix_test_lock(file, &wanted);
	/* If another owner has the lock, @wanted has become a copy of that one. */
	locks_release_private(&wanted);
}

/* Record what the server has granted.  This does not wait; -EAGAIN: rdmafs_lock_rivals(). */
static int rdmafs_lock_record(struct file *file, struct file_lock *fl)
{
	unsigned int flags = fl->c.flc_flags;
	int err;

	fl->c.flc_flags &= ~FL_SLEEP;
	err = rdmafs_lock_record_change(file_inode(file), fl);
	fl->c.flc_flags = flags;
	return err;
}

/*
 * The server has granted a lock that others here are recorded with: it does not have their locks
 * any more.  Their export was disabled and enabled, say, and they have not used their opens since,
 * so that no answer has told this client.  Have their locks taken again, or find them lost, now
 * that the server has been given back what it has granted.  0; -EAGAIN: begin again;
 * -RDMAFS_EGRACE or another negative errno.
 */
static int rdmafs_lock_rivals(struct inode *inode, const struct rdmafs_range *r)
{
	struct rdmafs_range rival;
	struct rdmafs_open *open;
	u32 nr = 0;
	int ret;

	lockdep_assert_held(&RDMAFS_I(inode)->locking);
	while ((open = rdmafs_lock_rival(inode, r, nr, &rival))) {
		/* If the server does not know its open, it is opened again, and its locks taken. */
		ret = rdmafs_lock_ask(open, &rival, 0, false, NULL);
		/* The export has started once more: did it take the lock again? */
		if (ret == -RDMAFS_EGRACE && rdmafs_lock_recorded(inode, &rival))
			ret = rdmafs_lock_ask_again(open, &rival, false, NULL);
		if (ret == RFP_LOCK_HELD && rdmafs_lock_recorded(inode, &rival)) {
			nr++;
		} else if (ret == RFP_LOCK_HELD) {
			/* It was lost when its open was opened again, and then was free. */
			rdmafs_lock_abandon(open, &rival, 0);
			ret = -EAGAIN;
		} else if (ret == RFP_LOCK_DENIED || ret == -ENOLCK) {
			rdmafs_lock_lost(open, &rival);
			/* The server may have a part of it. */
			if (ret == -ENOLCK)
				rdmafs_lock_abandon(open, &rival, 0);
			ret = 0;
		} else if (rdmafs_locks_gone(ret)) {
			ret = rdmafs_locks_lose(open);
		}
		rdmafs_open_put(open);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/*
 * Ask for a lock, and record it if the server has granted it.  As rdmafs_lock_try_now(), but
 * -EAGAIN: others here are recorded with that lock.
 */
static int rdmafs_lock_obtain(struct file *file, struct file_lock *fl, u32 token)
{
	struct inode *inode = file_inode(file);
	struct rdmafs_mount *mnt = RDMAFS_M(inode->i_sb);
	struct rdmafs_range r = rdmafs_range_of(mnt, fl);
	struct rdmafs_open *open = rdmafs_file_open(file);
	struct rdmafs_lock_at at;
	bool recorded = false;
	int ret, err;

	lockdep_assert_held(&RDMAFS_I(inode)->locking);
	do {
		ret = rdmafs_lock_ask(open, &r, token, false, &at);
		if (ret == -RDMAFS_EGRACE && recorded) {
			ret = rdmafs_lock_ask_again(open, &r, false, &at);
			/* It is as any other now, for which this task comes again. */
			if (ret == RFP_LOCK_DENIED)
				ret = -RDMAFS_EGRACE;
		}
		/*
		 * WAITING or DENIED: flock(2) has given up the lock that is to be changed.  And
		 * what was granted to an open that the server has forgotten since is not held.
		 */
		if (ret != RFP_LOCK_HELD && (recorded || (ret > 0 && r.kind == RFP_LOCK_FLOCK)))
			rdmafs_lock_unrecord(inode, &r);
		if (ret != RFP_LOCK_HELD)
			break;
		err = rdmafs_lock_record(file, fl);
		recorded = !err;
		if (err) {
			rdmafs_lock_abandon(open, &r, 0);
			ret = err;
		}
		/*
		 * If the session was lost, or the open forgotten, before it was recorded, it was
		 * not reclaimed.
		 */
	} while (ret == RFP_LOCK_HELD && !rdmafs_lock_stands(open, &at));
	return ret;
}

/*
 * Ask for a lock, and record it if the server has granted it.  RFP_LOCK_*; or -RDMAFS_EGRACE or a
 * negative errno, and the server's locks are those of the record, or a worker makes them so.
 * @forced: how often umount -f had been called when the task began to wait.
 */
static int rdmafs_lock_try_now(struct file *file, struct file_lock *fl, u32 token, int forced)
{
	struct inode *inode = file_inode(file);
	struct rdmafs_range r = rdmafs_range_of(RDMAFS_M(inode->i_sb), fl);
	unsigned int tries;
	int ret;

	rdmafs_lock_expire(file, fl);
	for (tries = 0; tries < RDMAFS_OP_TRIES; tries++) {
		/* This waits for the worker that gives back what was granted in vain. */
		ret = rdmafs_locking_begin(RDMAFS_I(inode), forced);
		if (ret)
			return ret;
		if (tries)
			ret = rdmafs_lock_rivals(inode, &r);
		if (!ret)
			ret = rdmafs_lock_obtain(file, fl, token);
		mutex_unlock(&RDMAFS_I(inode)->locking);
		if (ret != -EAGAIN)
			return ret;
	}
	/* The server grants one lock to several owners. */
	return -EIO;
}

/* The same, again and again until the server grants other locks than those taken again. */
static int rdmafs_lock_try(struct file *file, struct file_lock *fl, u32 token, int forced)
{
	struct rdmafs_mount *mnt = RDMAFS_M(file_inode(file)->i_sb);
	struct rdmafs_grace_wait w = { };
	int ret;

	rdmafs_since_now(mnt, &w.since);
	w.since.forced = forced;
	for (;;) {
		ret = rdmafs_lock_try_now(file, fl, token, forced);
		if (ret != -RDMAFS_EGRACE)
			return ret;
		rdmafs_test_point("lock_grace", file_inode(file)->i_ino);
		ret = rdmafs_grace_wait(mnt, &w);
		if (ret)
			return ret;
	}
}

/*
 * The task does not wait any more: end its request.  @wait: for the server's answer.
 * True: the task has the lock after all.
 */
static bool rdmafs_lock_give_up(struct file *file, struct file_lock *fl, u32 token, bool wait)
{
	struct rdmafs_mount *mnt = RDMAFS_M(file_inode(file)->i_sb);
	struct rdmafs_range r = rdmafs_range_of(mnt, fl);
	struct rdmafs_open *open = rdmafs_file_open(file);
	int forced = atomic_read(&mnt->forced);
	int ret;

	if (wait && !fatal_signal_pending(current) &&
	    rdmafs_served(RDMAFS_S(file_inode(file)->i_sb))) {
		ret = rdmafs_lock_cancel(open, token);
		if (ret == RFP_LOCK_DENIED)
			return false;
		/* Asking once more takes it, and records it. */
		if (ret == RFP_LOCK_HELD && rdmafs_lock_try(file, fl, 0, forced) == RFP_LOCK_HELD)
			return true;
	}
	rdmafs_lock_abandon(open, &r, token);
	return false;
}

/* Take a lock, and wait for it if @wait.  0, -EAGAIN, -ERESTARTSYS, or another negative errno. */
static int rdmafs_lock_take(struct file *file, struct file_lock *fl, bool wait)
{
	struct rdmafs_mount *mnt = RDMAFS_M(file_inode(file)->i_sb);
	int forced = atomic_read(&mnt->forced);
	struct rdmafs_lock_wait w;
	bool waits = false;
	long left;
	int ret;

	if (!wait) {
		ret = rdmafs_lock_try(file, fl, 0, forced);
		return ret == RFP_LOCK_DENIED ? -EAGAIN : ret;
	}
	rdmafs_lock_wait_begin(mnt, &w);
	for (;;) {
		ret = rdmafs_lock_try(file, fl, w.token, forced);
		/* It could not ask again, and the server may go on trying. */
		if (ret < 0 && waits)
			rdmafs_lock_give_up(file, fl, w.token, false);
		if (ret != RFP_LOCK_WAITING)
			break;
		waits = true;
		rdmafs_test_point("lock_waits", file_inode(file)->i_ino);
		left = wait_for_completion_interruptible_timeout(&w.event, RDMAFS_LOCK_PATIENCE);
		/* The tries of one event are one. */
		reinit_completion(&w.event);
		if (left >= 0 && forced == atomic_read(&mnt->forced))
			continue;
		ret = left < 0 ? -ERESTARTSYS : -EIO;
		if (rdmafs_lock_give_up(file, fl, w.token, left < 0))
			ret = 0;
		break;
	}
	rdmafs_lock_wait_end(mnt, &w);
	/* A server that denies what it was asked to wait for. */
	return ret == RFP_LOCK_DENIED ? -EAGAIN : ret;
}

/*
 * The lock is held: what is read from now on is to be what its holder before has left.
 *
 * Attributes that are asked for from now on tell whether cached pages are older than that, as when
 * a file is opened.  But not of each page: a file system raises the version of a file before it
 * takes over what is written.  A page that was read in between, for another range of the file or
 * ahead, has what was there before, and attributes that fit.  The processes that wrote it under
 * their locks had to be done for this one to be granted, so a page that is read now is right: those
 * that the locked range touches are read again.
 */
static void rdmafs_lock_renew_pages(struct inode *inode, const struct file_lock *fl)
{
	rdmafs_attr_expire(inode);
	if (rdmafs_revalidate(inode, true) || rdmafs_open_mapping(inode) ||
	    rdmafs_drop_range(inode, fl->fl_start, fl->fl_end))
		rdmafs_pages_stale(inode);
}

static int rdmafs_lock_set(struct file *file, struct file_lock *fl, bool wait)
{
	struct inode *inode = file_inode(file);
	int err;

	/* Dirty pages would be written back over what others write under their locks. */
	err = rdmafs_flush(inode);
	if (!err)
		err = rdmafs_lock_take(file, fl, wait);
	if (err)
		return err;
	rdmafs_lock_renew_pages(inode, fl);
	return 0;
}

static int rdmafs_lock_drop(struct file *file, struct file_lock *fl)
{
	struct rdmafs_inode *ri = RDMAFS_I(file_inode(file));
	struct rdmafs_mount *mnt = RDMAFS_M(file_inode(file)->i_sb);
	struct rdmafs_range r = rdmafs_range_of(mnt, fl);
	struct rdmafs_open *open = rdmafs_file_open(file);
	unsigned int flags = fl->c.flc_flags;
	bool thread = (current->flags & PF_KTHREAD) && (flags & FL_CLOSE);
	bool exits = current->flags & PF_EXITING;
	int forced = atomic_read(&mnt->forced), err;
	bool alone, late;

	/*
	 * The next owner of the lock is to see it.  Errors stay with the mapping, for fsync(2).  If
	 * what was written is still on its way, a worker waits for it, and gives back the lock.
	 */
	late = thread || rdmafs_flush(&ri->netfs.inode) == -EINTR ||
	       rdmafs_fenced(&ri->netfs.inode);
	/* A task that ends, or was killed, does not wait for one that waits for the server. */
	alone = thread || exits ? mutex_trylock(&ri->locking) :
				  !rdmafs_locking_line(ri, true);
	/* Nor does one that was in line when umount -f was called. */
	late |= forced != atomic_read(&mnt->forced);
	fl->c.flc_flags |= FL_EXISTS;
	err = rdmafs_lock_record_change(&ri->netfs.inode, fl);
	fl->c.flc_flags = flags;
	if (!err && alone && !late) {
		err = rdmafs_unlock_send(open, &r, false);
	} else if (!err) {
		/* A kernel thread may close files of all mounts: it must not wait for a server. */
		rdmafs_unlock_leave(open, &r);
	}
	if (alone)
		mutex_unlock(&ri->locking);
	/* There was nothing to give back; or a worker does it. */
	return err == -ENOENT || err == -EINTR || exits ? 0 : err;
}

/* -------------------------------------------------------------------- F_GETLK */

static int rdmafs_lock_test_reply(struct rdmafs_op *op, struct file_lock *fl)
{
	const struct rfp_testlock_rep *rep;
	struct rfp_dec dec;
	u64 start, end;
	u32 type;
	s32 pid;

	rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
	if (rfp_dec_end(&dec))
		return -EIO;
	type = le32_to_cpu(rep->type);
	start = le64_to_cpu(rep->start);
	end = le64_to_cpu(rep->end);
	pid = le32_to_cpu(rep->pid);
	if (type > RFP_LOCK_NONE || start > end || end > OFFSET_MAX || pid == S32_MIN)
		return -EIO;
	fl->c.flc_type = F_UNLCK;
	if (type == RFP_LOCK_NONE)
		return 0;
	fl->c.flc_type = type == RFP_LOCK_READ ? F_RDLCK : F_WRLCK;
	fl->fl_start = start;
	fl->fl_end = end;
	/* Not one of this machine's, which a number that is not negative would be taken for. */
	fl->c.flc_pid = -abs(pid);
	return 0;
}

static int rdmafs_lock_test(struct file *file, struct file_lock *fl)
{
	struct rdmafs_mount *mnt = RDMAFS_M(file_inode(file)->i_sb);
	unsigned char type = fl->c.flc_type;
	struct rdmafs_grace_wait w = { };
	struct rdmafs_range r;
	struct rdmafs_op *op;
	int err;

	/* The record tells a process of this machine by the number that it has here. */
	posix_test_lock(file, fl);
	/* F_OFD_GETLK with F_UNLCK asks for the owner's own locks. */
	if (fl->c.flc_type != F_UNLCK || type == F_UNLCK)
		return 0;
	fl->c.flc_type = type;
	r = rdmafs_range_of(mnt, fl);
	rdmafs_since_now(mnt, &w.since);
	do {
		op = rdmafs_op_new_open(rdmafs_file_open(file), RFP_TESTLOCK,
					sizeof(struct rfp_lock_req),
					offsetof(struct rfp_lock_req, stateid), RDMAFS_POOL_COMMON);
		rdmafs_lock_req(op, &r, 0);
		err = rdmafs_op_run(op);
		if (!err)
			err = rdmafs_lock_test_reply(op, fl);
		rdmafs_op_put(op);
		if (err != -RDMAFS_EGRACE)
			return err;
		rdmafs_test_point("lock_grace", file_inode(file)->i_ino);
		err = rdmafs_grace_wait(mnt, &w);
	} while (!err);
	return err;
}

/* ------------------------------------------------------------- file operations */

static int rdmafs_lock_do(struct file *file, int cmd, struct file_lock *fl)
{
	if (cmd == F_GETLK)
		return rdmafs_lock_test(file, fl);
	if (fl->c.flc_type == F_UNLCK)
		return rdmafs_lock_drop(file, fl);
	/* F_SETLK with FL_SLEEP would be a lock manager's, which does not wait. */
	return rdmafs_lock_set(file, fl, IS_SETLKW(cmd));
}

/**
 * rdmafs_file_lock - fcntl(2) with F_SETLK and the like
 * @file: the file
 * @cmd:	  F_GETLK, F_SETLK, F_SETLKW or F_CANCELLK
 * @fl:	  the lock
 *
 * Context: process; waits for the server killably, and for other locks interruptibly.
 * Return: 0; -EAGAIN: others have it; -EDEADLK; -ENOLCK: there are too many; -ERESTARTSYS: a
 * signal; -EINTR: killed; -EIO: umount -f; -ENOGRACE: knfsd asks for a lock of before it was
 * started; -EOPNOTSUPP instead of -ENOLCK for a lock manager; or another negative errno.
 */
int rdmafs_file_lock(struct file *file, int cmd, struct file_lock *fl)
{
	bool local = rdmafs_lock_local(file, fl);
	int err;

	/* No request of a lock manager waits here that could be cancelled. */
	if (cmd == F_CANCELLK)
		return 0;
	/* Only if the locks are local does knfsd's grace period keep others from the lock. */
	if ((fl->c.flc_flags & FL_RECLAIM) && !local)
		return -ENOGRACE;
	if (local) {
		if (cmd != F_GETLK)
			return locks_lock_file_wait(file, fl);
		posix_test_lock(file, fl);
		return 0;
	}
	err = rdmafs_lock_do(file, cmd, fl);
	/* NFSv4 has no such error, and knfsd warns of it. */
	return err == -ENOLCK && (current->flags & PF_KTHREAD) ? -EOPNOTSUPP : err;
}

/**
 * rdmafs_file_flock - flock(2)
 * @file: the file
 * @cmd:  F_SETLK or F_SETLKW
 * @fl:	  the lock
 *
 * Context: as rdmafs_file_lock().
 * Return: as rdmafs_file_lock().
 */
int rdmafs_file_flock(struct file *file, int cmd, struct file_lock *fl)
{
	if (rdmafs_lock_local(file, fl))
		return locks_lock_file_wait(file, fl);
	if (fl->c.flc_type == F_UNLCK)
		return rdmafs_lock_drop(file, fl);
	return rdmafs_lock_set(file, fl, cmd == F_SETLKW);
}
