// SPDX-License-Identifier: GPL-2.0
/*
 * The server's grace period: after a restart clients take their locks again before others get any.
 *
 * A task that asks for another lock meanwhile is told to come later, and waits here, until a signal
 * or umount -f ends the wait.  When all that a lost session had open has been opened again, with
 * its locks (reclaim.c), the server is told so: it may be waiting for this client alone.
 *
 * Telling the server may take long, and what is true of one session is not true of the next.  So
 * the server gives a token first, in the session in which all was opened again, and does not
 * believe a client that shows this token in another session.
 *
 * Each file system below the mount is an export of its own, and the server is told of each by
 * itself: one whose disk is dead does not keep the others waiting.
 */
#include <linux/sched/signal.h>
#include "client.h"
#include "filelock.h"
#include "op.h"
#include "open.h"

/* A task that waits for the grace period's end asks again after at most this time, in jiffies. */
#define RDMAFS_GRACE_PAUSE	HZ

/**
 * rdmafs_grace_wait - wait before the server is asked again
 * @mnt: the mount
 * @w:	 the wait, of which the caller has set when it began; the rest is 0 at first
 *
 * Context: process, may sleep; no lock is held that others need to give theirs back.
 * Return: 0: ask again; -ERESTARTSYS: a signal; -EIO: umount -f, or the time of a soft mount is
 * over; -ETIMEDOUT: that of a softerr one.
 */
int rdmafs_grace_wait(struct rdmafs_mount *mnt, struct rdmafs_grace_wait *w)
{
	int err = rdmafs_since_over(mnt, &w->since);

	if (err)
		return err;
	schedule_timeout_interruptible(min_t(unsigned long, rdmafs_backoff(&w->waits),
					     RDMAFS_GRACE_PAUSE));
	return signal_pending(current) ? -ERESTARTSYS : 0;
}

/* Send RECLAIM_DONE.  0, with the answer's token and session, or a negative errno. */
static int rdmafs_reclaim_ask(struct rdmafs_super *super, u64 *token, int *session)
{
	const struct rfp_reclaim_rep *rep;
	struct rfp_reclaim_req *req;
	struct rdmafs_op *op;
	struct rfp_dec dec;
	int err;

	op = rdmafs_op_new(super, RFP_RECLAIM_DONE, sizeof(*req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	req = (struct rfp_reclaim_req *)op->req;
	req->token = cpu_to_le64(*token);
	rfp_enc_fh(&op->enc, &super->root_fh);
	op->brief = true;
	err = rdmafs_op_run(op);
	if (!err) {
		rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
		err = rfp_dec_end(&dec) || !rep->token ? -EIO : 0;
	}
	if (!err) {
		*token = le64_to_cpu(rep->token);
		*session = op->answered;
	}
	rdmafs_op_put(op);
	return err;
}

/* 0: the server was told; 1: it was not, as it is too late for that; or a negative errno. */
static int rdmafs_reclaim_tell_now(struct rdmafs_super *super, int session)
{
	int answered = 0, err;
	u64 token = 0;

	err = rdmafs_reclaim_ask(super, &token, &answered);
	/*
	 * What was opened again in this session is open in the session of the token.  If an open
	 * has to be opened again since, the worker that does so comes here again.
	 */
	if (err || answered != session || !rdmafs_opens_asked(super, session))
		return err ?: 1;
	err = rdmafs_reclaim_ask(super, &token, &answered);
	return err ?: answered != session;
}

/**
 * rdmafs_reclaim_tell - tell the server that all locks of a lost session were asked for again
 * @super:   the superblock of the export that they are in
 * @session: the session in which they were
 *
 * Context: a worker.
 * Return: 0: it was told, or need not be; -EAGAIN: try again soon; or another negative errno.
 */
int rdmafs_reclaim_tell(struct rdmafs_super *super, int session)
{
	int err = 1;

	if (!READ_ONCE(super->mnt->recorded) || READ_ONCE(super->told) == session)
		return 0;
	/* Unmounting waits for the calls. */
	atomic_inc(&super->nr_opens);
	/* Pairs with the barrier in rdmafs_umount_drain(). */
	smp_mb__after_atomic();
	WRITE_ONCE(super->telling, true);
	if (!READ_ONCE(super->no_late))
		err = rdmafs_reclaim_tell_now(super, session);
	WRITE_ONCE(super->telling, false);
	/*
	 * Of a file system that is not mounted on the server any more nothing need be told.  Nor
	 * of one for which the server has no room: there is room where a file is open again.
	 */
	if (err == -ESTALE || err == -ENFILE)
		err = 0;
	if (!err)
		WRITE_ONCE(super->told, session);
	rdmafs_opens_dec(super);
	return min(err, 0);
}

/**
 * rdmafs_lock_granted - note by which record of the server's a lock was granted
 * @op: a LOCK of an open, answered with RFP_LOCK_HELD
 *
 * Context: process; takes rdmafs_inode.lock.
 */
void rdmafs_lock_granted(struct rdmafs_op *op)
{
	const struct rfp_lock_rep *rep = (const struct rfp_lock_rep *)op->rep;
	struct rdmafs_inode *ri = RDMAFS_I(op->open->inode);

	/*
	 * If there is a next session, the lock is taken again there, or asked for once more.  If it
	 * is the open's first lock, this record is shown for that, too.
	 */
	spin_lock_irq(&ri->lock);
	if (op->session == atomic_read(&op->mnt->session) || !op->open->lock_record)
		WRITE_ONCE(op->open->lock_record, le32_to_cpu(rep->record));
	spin_unlock_irq(&ri->lock);
}
