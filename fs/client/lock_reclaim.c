// SPDX-License-Identifier: GPL-2.0
/*
 * Locks of files after a lost session: the server has forgotten all of them.
 *
 * An open that is opened again takes the locks again that are recorded for it in the VFS, before it
 * is used (rdmafs_locks_reclaim()).  Before a process asks for a lock in the new session, all other
 * opens of that file that have locks are opened again (rdmafs_locks_ready()).  Else the process
 * could be granted what another one of this machine has.  It is the same when the server has
 * forgotten opens within the session, as it does when their export is disabled.  The client knows
 * that only when an answer has said so, for any open (rdmafs_mount.forgets).  For what is done if
 * the client comes to know too late, see rdmafs_lock_rivals().
 *
 * The server is shown by which of its records the locks were granted (rdmafs_open.lock_record).  If
 * the server finds that others may have had the lock meanwhile, or has given it to another client,
 * or if the open can't be opened again, the lock is lost (rdmafs_lock_lost()).
 *
 * A process may give back such a lock by another descriptor, while it is taken again.  The LOCK may
 * come to the server after the UNLOCK: so the record is looked at once more after the answer.
 *
 * Locks: rdmafs_open.lock, which the caller holds or which rdmafs_open_ready() takes; the VFS's
 * flc_lock, a leaf.
 */
#include <linux/filelock.h>
#include <linux/slab.h>
#include "client.h"
#include "filelock.h"
#include "op.h"
#include "open.h"

/* Has nothing been seen since that lets the server forget an open that it knew? */
static bool rdmafs_locks_sure(const struct rdmafs_open *open)
{
	return READ_ONCE(open->known_at) == atomic_read(&RDMAFS_M(open->inode->i_sb)->forgets);
}

/*
 * An open that has locks of the record, and that the server does not know yet, or may have
 * forgotten; a reference.  @lock: out: one of the locks.  Of several opens, the one whose last
 * confirmation by the server is oldest.  Each open that was forgotten puts all others in doubt
 * again: so each is asked for twice at most, if nothing else is forgotten meanwhile.
 */
static struct rdmafs_open *rdmafs_locks_behind(struct rdmafs_open *asks, int session,
					       struct rdmafs_range *lock)
{
	struct rdmafs_mount *mnt = RDMAFS_M(asks->inode->i_sb);
	struct file_lock_context *ctx = locks_inode_context(asks->inode);
	struct rdmafs_open *open, *found = NULL;
	struct file_lock *fl;
	int known_at = 0;
	int i;

	if (!ctx)
		return NULL;
	spin_lock(&ctx->flc_lock);
	for (i = 0; i < 2; i++)
		list_for_each_entry(fl, i ? &ctx->flc_flock : &ctx->flc_posix, c.flc_list) {
			/* The file has the lock, so that it has not been released. */
			open = fl->c.flc_file->private_data;
			/* One that has lost a lock may have others. */
			if (open == asks ||
			    (READ_ONCE(open->session) == session && rdmafs_locks_sure(open)) ||
			    rdmafs_lock_local(fl->c.flc_file, fl))
				continue;
			if (found && READ_ONCE(open->known_at) - known_at >= 0)
				continue;
			*lock = rdmafs_range_of(mnt, fl);
			known_at = READ_ONCE(open->known_at);
			found = open;
		}
	if (found)
		rdmafs_open_get(found);
	spin_unlock(&ctx->flc_lock);
	return found;
}

/* Has the server answered that a lock is not to be had again? */
static bool rdmafs_lock_refused(int ret)
{
	return ret == RFP_LOCK_DENIED || ret == -RDMAFS_ENOGRACE;
}

/*
 * Take one lock again; RFP_LOCK_*, -RDMAFS_EBADSTATE, -RDMAFS_ENOGRACE, or a negative errno.
 * @anew: the session in which the open has been opened again, so that a lock for which there is no
 * room is lost; or 0.  @record: that by which it was granted; out, with RFP_LOCK_HELD: by which it
 * is now.
 */
static int rdmafs_lock_reclaim(struct rdmafs_open *open, const struct rdmafs_range *r, u64 stateid,
			       const struct rdmafs_op *user, int anew, u32 *record)
{
	struct rfp_lock_req *req;
	struct rdmafs_op *op;
	int ret;

	op = rdmafs_op_new_cred(RDMAFS_S(open->inode->i_sb), RFP_LOCK, sizeof(*req), open->cred,
				RDMAFS_POOL_RELOCK);
	if (user) {
		op->forced = user->forced;
		op->call.deadline = user->call.deadline;
	} else {
		op->brief = true;
	}
	rdmafs_lock_req(op, r, 0);
	req = (struct rfp_lock_req *)op->req;
	req->stateid = cpu_to_le64(stateid);
	req->flags = cpu_to_le32(RFP_LOCK_RECLAIM);
	req->record = cpu_to_le32(*record);
	/* For the worker that sees to the lock if this task is killed. */
	op->open = rdmafs_open_get(open);
	op->locks = true;
	ret = rdmafs_op_run(op);
	if (!ret)
		ret = rdmafs_lock_state(op, false);
	else if (rdmafs_op_state_unknown(op))
		ret = -RDMAFS_EBADSTATE;
	/*
	 * A process may have given back its lock meanwhile, by another descriptor.  If the record
	 * has the lock still, an UNLOCK comes after this.  Of a lock that is lost for want of room
	 * the server may have a part.
	 */
	if (ret == -ENOLCK && anew && anew == atomic_read(&op->mnt->session))
		rdmafs_lock_lost(open, r);
	if (!rdmafs_lock_refused(ret) && ret != -RDMAFS_EBADSTATE && !rdmafs_op_left(op) &&
	    !rdmafs_lock_recorded(open->inode, r))
		rdmafs_lock_unknown(op);
	if (ret == RFP_LOCK_HELD)
		*record = le32_to_cpu(((const struct rfp_lock_rep *)op->rep)->record);
	rdmafs_op_put(op);
	return ret;
}

/*
 * The server may have forgotten an open within the session: have @lock, one of the open's, taken
 * again with it.  If it has, the open is opened again, with all of its locks.  0 or a negative
 * errno.
 */
static int rdmafs_locks_verify(struct rdmafs_open *open, const struct rdmafs_range *lock,
			       const struct rdmafs_op *user)
{
	int forgets = atomic_read(&user->mnt->forgets);
	u64 stateid = READ_ONCE(open->stateid);
	u32 record = READ_ONCE(open->lock_record);
	int ret;

	ret = rdmafs_lock_reclaim(open, lock, stateid, user, 0, &record);
	if (ret == -RDMAFS_EBADSTATE) {
		rdmafs_open_unknown(open, user->session, stateid);
		return rdmafs_open_ready(open, user);
	}
	if (rdmafs_lock_refused(ret))
		rdmafs_lock_lost(open, lock);
	/* That there is no room says that the open is known, and so it has its locks still. */
	if (rdmafs_lock_refused(ret) || ret == -ENOLCK)
		ret = 0;
	if (!ret)
		WRITE_ONCE(open->known_at, forgets);
	return ret;
}

/**
 * rdmafs_locks_ready - have the locks of a file taken again before others are asked for
 * @op: a LOCK, or a WRITE of cached data, that is being prepared, with its open and its session
 *
 * Else one process of this machine could be granted what another has, in a new session, or when
 * the export was disabled and enabled.  And what was written under a lock that is lost would be
 * written back (lock_loss.c).
 *
 * Context: process, may sleep; takes rdmafs_open.lock of other opens.
 * Return: 0, or a negative errno: the lock can't be asked for yet.
 */
int rdmafs_locks_ready(const struct rdmafs_op *op)
{
	struct rdmafs_range lock;
	struct rdmafs_open *open;
	int err = 0;

	while (!err && (open = rdmafs_locks_behind(op->open, op->session, &lock))) {
		err = rdmafs_open_ready(open, op);
		if (!err && !rdmafs_locks_sure(open))
			err = rdmafs_locks_verify(open, &lock, op);
		if (rdmafs_locks_gone(err))
			err = rdmafs_locks_lose(open);
		rdmafs_open_put(open);
		/* It may be ready in a session that has come since: the caller looks at that. */
		if (op->session != atomic_read(&op->mnt->session))
			break;
	}
	return err;
}

/**
 * rdmafs_locks_reclaim - take the locks again that a lost session had
 * @open:    an open that has just been opened again
 * @stateid: its new stateid, which no other task knows yet
 * @session: the session in which it was opened again
 * @user:    the op that needs the open, as in rdmafs_open_ready(); NULL: wait for nothing but the
 *	     answers
 *
 * If a lock is not to be had any more, the open is of no use for what the lock was for, and its
 * reads and writes fail (@lock_lost).
 *
 * Context: process, may sleep; rdmafs_open.lock is held.
 * Return: 0; or a negative errno: not all locks were asked for, and this has to be called again;
 * -RDMAFS_EBADSTATE: the server does not know the stateid any more.
 */
int rdmafs_locks_reclaim(struct rdmafs_open *open, u64 stateid, int session,
			 const struct rdmafs_op *user)
{
	struct rdmafs_mount *mnt = RDMAFS_M(open->inode->i_sb);
	struct rdmafs_inode *ri = RDMAFS_I(open->inode);
	u32 had = READ_ONCE(open->lock_record), has = had;
	struct rdmafs_range *copy;
	u32 nr, i, record;
	int ret = 0;

	lockdep_assert_held(&open->lock);
	copy = rdmafs_locks_copy(open, &nr);
	if (IS_ERR(copy))
		return PTR_ERR(copy);
	for (i = 0; i < nr && !ret; i++) {
		record = had;
		ret = rdmafs_lock_reclaim(open, &copy[i], stateid, user, session, &record);
		if (ret == RFP_LOCK_HELD)
			has = record;
		/* The next session has its own reclaim. */
		if (session != atomic_read(&mnt->session)) {
			ret = 0;
			break;
		}
		if (rdmafs_lock_refused(ret))
			rdmafs_lock_lost(open, &copy[i]);
		if (rdmafs_lock_refused(ret) || ret == -ENOLCK)
			ret = 0;
	}
	/* Until all were asked for, each of them has to be asked for by the former record. */
	spin_lock_irq(&ri->lock);
	if (!ret && session == atomic_read(&mnt->session))
		WRITE_ONCE(open->lock_record, has);
	spin_unlock_irq(&ri->lock);
	kvfree(copy);
	return ret;
}

/**
 * rdmafs_locks_again - tell whether an open has to be opened again for its locks
 * @open: the open, which could not be opened again
 * @err:  the errno with which that failed
 *
 * A process that holds a lock need not use the file meanwhile, so that nothing else opens it again
 * before others are granted the lock.  If the open can't be opened any more its locks are lost now:
 * the server is told next that all were asked for (RECLAIM_DONE).
 *
 * Context: process, may sleep; takes the lock of the VFS's locks.
 * Return: true: it has locks, and may be opened some time; or there was no memory to lose them.
 */
bool rdmafs_locks_again(struct rdmafs_open *open, int err)
{
	struct file_lock_context *ctx = locks_inode_context(open->inode);
	struct file_lock *fl;
	bool any = false;
	int i;

	if (!ctx)
		return false;
	if (rdmafs_locks_gone(err))
		return rdmafs_locks_lose(open);
	spin_lock(&ctx->flc_lock);
	for (i = 0; i < 2 && !any; i++)
		list_for_each_entry(fl, i ? &ctx->flc_flock : &ctx->flc_posix, c.flc_list) {
			any = READ_ONCE(fl->c.flc_file->private_data) == open &&
			      !rdmafs_lock_local(fl->c.flc_file, fl);
			if (any)
				break;
		}
	spin_unlock(&ctx->flc_lock);
	return any;
}
