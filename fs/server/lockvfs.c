// SPDX-License-Identifier: GPL-2.0
/*
 * Locks of files for clients, as the VFS has them: one that can be had at once is taken, given
 * back, or looked for.  Those that have to be waited for are in filelock.c.
 *
 * The server takes each lock through the VFS, on the struct file of the client's open.  So clients,
 * and the processes of this machine that use the file system, see each other's locks.
 *
 * An owner of the VFS's locks is a &struct rdmafsd_owner here: what a client has named by a number
 * (lockowner.c).
 *
 * The end of an open: the VFS forgets what a struct file has locked by flock(2), but not what was
 * locked by fcntl(2) for other owners than processes.  So rdmafsd_file_unlock() gives these back
 * before the file is closed.
 *
 * grace.c says which client may ask for a lock, and when.
 *
 * Locks: rdmafsd_grace.sem, which may wait for a file system; in it the VFS's, in those
 * rdmafsd_session.locks_lock.
 */
#include <linux/filelock.h>
#include <linux/fs.h>
#include <linux/limits.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include "filelock.h"
#include "grace.h"

/*
 * The VFS says that the lock in the way is gone, or that another one is in the way now; a spin lock
 * of the VFS is held.
 */
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

static const struct lock_manager_operations rdmafsd_lm_ops = {
	.lm_get_owner	= rdmafsd_lm_get_owner,
	.lm_put_owner	= rdmafsd_lm_put_owner,
	.lm_notify	= rdmafsd_lm_notify,
};

/**
 * rdmafsd_lock_fill - fill in a lock of the VFS
 * @fl:	   out: the lock; it takes no reference: the caller keeps owner and open meanwhile
 * @r:	   the range and the kind
 * @owner: its owner
 * @file:  the file of the open
 * @type:  F_RDLCK, F_WRLCK, or F_UNLCK to give it back
 *
 * Context: any.
 */
void rdmafsd_lock_fill(struct file_lock *fl, const struct rdmafsd_range *r,
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
	 * A process that looks at the lock sees by the sign that its owner is a process of another
	 * machine.  A lock of process 0 would not be shown.
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

/**
 * rdmafsd_lock_vfs - try once to take a lock, or give one back
 * @fl: the lock, filled in
 *
 * Context: process, may sleep; does not wait for other locks.
 * Return: 0; -EAGAIN: others have it; FILE_LOCK_DEFERRED: they do, and the VFS has queued it (only
 * with FL_SLEEP); or another errno.
 */
int rdmafsd_lock_vfs(struct file_lock *fl)
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

/**
 * rdmafsd_lock_had - tell whether a client has a lock already, so that it takes no room
 * @ses:  the client's session
 * @st:	  the open
 * @r:	  the range, the owner and the kind
 * @type: F_RDLCK or F_WRLCK
 *
 * Context: process, may sleep; takes the VFS's lock of the file's locks.
 * Return: true if so.
 */
bool rdmafsd_lock_had(struct rdmafsd_session *ses, struct rdmafsd_state *st,
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
	/* A client that has reached the limit may ask for a lock that it has, to be sure. */
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
