// SPDX-License-Identifier: GPL-2.0
/*
 * Requests for locks: LOCK, UNLOCK and LOCKCANCEL, from a range to what the server has answered,
 * and what becomes of those whose task does not wait for the answer any more.
 *
 * A task that was killed leaves its request.  When that is answered a worker makes the server's
 * locks the same as the record (rdmafs_lock_left_work()).  It does so with requests of its own, and
 * leaves none of these to another worker (@final).  A task that would have to wait for the server,
 * and must not, makes a request for that worker only (rdmafs_lock_abandon(),
 * rdmafs_unlock_leave()).
 *
 * Which lock is asked for, by which open, and when, is decided in filelock.c and lock_reclaim.c.
 *
 * Locks: rdmafs_inode.locking, from a request to its record; the worker takes it itself.
 */
#include <linux/pagemap.h>
#include <linux/wait_bit.h>
#include "client.h"
#include "filelock.h"
#include "op.h"
#include "open.h"
#include "transport/points.h"

/* A worker leaves rdmafs_inode.locking to others for this time, in jiffies, then tries again. */
#define RDMAFS_LOCK_PAUSE	(HZ / 4 ?: 1)

/* ------------------------------------------------------- made, sent and read */

/**
 * rdmafs_lock_req - fill in a LOCK or TESTLOCK but for its stateid
 * @op:	   the op
 * @r:	   what it is about
 * @token: names the request if the server is to go on trying, else 0
 *
 * Context: any.
 */
void rdmafs_lock_req(struct rdmafs_op *op, const struct rdmafs_range *r, u32 token)
{
	struct rfp_lock_req *req = (struct rfp_lock_req *)op->req;

	req->owner = cpu_to_le64(r->owner);
	req->start = cpu_to_le64(r->start);
	req->end = cpu_to_le64(r->end);
	req->token = cpu_to_le32(token);
	req->pid = cpu_to_le32(max(r->pid, 0));
	req->type = cpu_to_le32(r->type == F_RDLCK ? RFP_LOCK_READ : RFP_LOCK_WRITE);
	req->kind = cpu_to_le32(r->kind);
	req->flags = cpu_to_le32(token ? RFP_LOCK_WAIT : 0);
}

/**
 * rdmafs_lock_state - read the reply to LOCK or LOCKCANCEL
 * @op:	      the op, which was answered without an error
 * @may_wait: the server may answer that the lock is not to be had yet
 *
 * Context: any.
 * Return: RFP_LOCK_*, or -EIO: the reply makes no sense.
 */
int rdmafs_lock_state(struct rdmafs_op *op, bool may_wait)
{
	const struct rfp_lock_rep *rep;
	struct rfp_dec dec;
	u32 state;

	rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
	if (rfp_dec_end(&dec))
		return -EIO;
	state = le32_to_cpu(rep->state);
	if (state > RFP_LOCK_DENIED || (state == RFP_LOCK_WAITING && !may_wait))
		return -EIO;
	if (rep->record && state != RFP_LOCK_HELD)
		return -EIO;
	return state;
}

/**
 * rdmafs_lock_unknown - have a worker see to it that the server has the locks of the record
 * @op: a LOCK or UNLOCK that is not in flight; what it has changed is not known, or should not have
 *	been changed
 *
 * Context: process.
 */
void rdmafs_lock_unknown(struct rdmafs_op *op)
{
	refcount_inc(&op->ref);
	rdmafs_lock_leave(op);
	rdmafs_lock_left(op);
}

/*
 * Run an op that changes locks.  If it may yet be executed, or has to be, though this task does
 * not wait for it any more, a worker sees to it that the server has the locks of the record.
 * @final: this is that worker: what it can't do is not done.
 */
static int rdmafs_lock_run(struct rdmafs_op *op, bool final)
{
	int err;

	op->locks = !final;
	err = rdmafs_op_run(op);
	if (final)
		return err;
	/*
	 * If it was left in flight, its worker was told when it was left.  A LOCK that the server
	 * has refused changes nothing; but what is no longer recorded has to be given back.
	 */
	if (err && !rdmafs_op_left(op) &&
	    (!op->sent || op->call.status || err == -EIO || err == -EINTR ||
	     le16_to_cpu(((const struct rfp_req *)op->req)->op) == RFP_UNLOCK))
		rdmafs_lock_unknown(op);
	return err;
}

static struct rdmafs_op *rdmafs_lock_op(struct rdmafs_open *open, const struct rdmafs_range *r,
					u32 token)
{
	struct rdmafs_op *op;

	op = rdmafs_op_new_open(open, RFP_LOCK, sizeof(struct rfp_lock_req),
				offsetof(struct rfp_lock_req, stateid), RDMAFS_POOL_COMMON);
	rdmafs_lock_req(op, r, token);
	/* Whatever the answer is, and if there is none: the server may record first, then look. */
	WRITE_ONCE(op->mnt->recorded, true);
	return op;
}

/* Run a LOCK, and put it; as rdmafs_lock_ask(), or -RDMAFS_ENOGRACE. */
static int rdmafs_lock_answer(struct rdmafs_op *op, bool may_wait, bool final,
			      struct rdmafs_lock_at *at)
{
	int ret = rdmafs_lock_run(op, final);

	if (!ret) {
		ret = rdmafs_lock_state(op, may_wait);
		if (ret == -EIO && !final)
			rdmafs_lock_unknown(op);
		if (ret == RFP_LOCK_HELD)
			rdmafs_lock_granted(op);
	}
	if (at) {
		at->session = op->session;
		at->stateid = le64_to_cpu(*op->stateid);
	}
	rdmafs_op_put(op);
	return ret;
}

/**
 * rdmafs_lock_ask - ask the server for a lock
 * @open:  the open by which it is asked for
 * @r:	   the lock
 * @token: names the request if the server is to go on trying, else 0
 * @final: the caller is the worker that ends what was left; what it can't do is not done
 * @at:	   out: where it was granted; or NULL
 *
 * Context: process, may sleep, killably; under rdmafs_inode.locking.
 * Return: RFP_LOCK_*, -RDMAFS_EGRACE or a negative errno.
 */
int rdmafs_lock_ask(struct rdmafs_open *open, const struct rdmafs_range *r, u32 token, bool final,
		    struct rdmafs_lock_at *at)
{
	return rdmafs_lock_answer(rdmafs_lock_op(open, r, token), token, final, at);
}

/**
 * rdmafs_lock_ask_again - take a recorded lock again, though this is the grace period
 * @open:  the open by which it is asked for
 * @r:	   the lock
 * @final: as for rdmafs_lock_ask()
 * @at:	   as for rdmafs_lock_ask()
 *
 * The lock may have been granted in a session that is lost, and the open may have been opened again
 * before the lock was recorded, so that the lock was not taken again with it: this does so, or
 * makes sure of it.
 *
 * Context: as rdmafs_lock_ask().
 * Return: RFP_LOCK_* or a negative errno; RFP_LOCK_DENIED: it is not to be had again.
 */
int rdmafs_lock_ask_again(struct rdmafs_open *open, const struct rdmafs_range *r, bool final,
			  struct rdmafs_lock_at *at)
{
	struct rdmafs_op *op = rdmafs_lock_op(open, r, 0);
	struct rfp_lock_req *req = (struct rfp_lock_req *)op->req;
	int ret;

	req->flags = cpu_to_le32(RFP_LOCK_RECLAIM);
	req->record = cpu_to_le32(READ_ONCE(open->lock_record));
	ret = rdmafs_lock_answer(op, false, final, at);
	return ret == -RDMAFS_ENOGRACE ? RFP_LOCK_DENIED : ret;
}

/**
 * rdmafs_lock_stands - tell whether the server still knows the open by which it granted a lock
 * @open: the open
 * @at:	  where the lock was granted
 *
 * If that ends after the lock was recorded, the lock is taken again with the open.
 *
 * Context: any.
 * Return: true if so, for all that is known here.
 */
bool rdmafs_lock_stands(struct rdmafs_open *open, const struct rdmafs_lock_at *at)
{
	/* Pairs with the release in rdmafs_open_renew(). */
	return at->session == smp_load_acquire(&open->session) &&
	       at->stateid == READ_ONCE(open->stateid) &&
	       at->session == atomic_read(&RDMAFS_M(open->inode->i_sb)->session);
}

static struct rdmafs_op *rdmafs_unlock_op(struct rdmafs_open *open, const struct rdmafs_range *r)
{
	struct rfp_unlock_req *req;
	struct rdmafs_op *op;

	op = rdmafs_op_new_open(open, RFP_UNLOCK, sizeof(*req),
				offsetof(struct rfp_unlock_req, stateid), RDMAFS_POOL_COMMON);
	req = (struct rfp_unlock_req *)op->req;
	req->owner = cpu_to_le64(r->owner);
	req->start = cpu_to_le64(r->start);
	req->end = cpu_to_le64(r->end);
	req->kind = cpu_to_le32(r->kind);
	return op;
}

/**
 * rdmafs_unlock_send - give back a lock to the server, and wait for the answer
 * @open:  an open of the file
 * @r:	   what is given back
 * @final: as for rdmafs_lock_ask()
 *
 * Context: process, may sleep, killably; under rdmafs_inode.locking.
 * Return: 0 or a negative errno; then, unless @final, a worker gives it back.
 */
int rdmafs_unlock_send(struct rdmafs_open *open, const struct rdmafs_range *r, bool final)
{
	struct rdmafs_op *op = rdmafs_unlock_op(open, r);
	int err = rdmafs_lock_run(op, final);

	rdmafs_op_put(op);
	return err;
}

/**
 * rdmafs_lock_cancel - end the wait for a lock
 * @open:  the open by which it was asked for
 * @token: names the request
 *
 * Context: process, may sleep, killably.
 * Return: RFP_LOCK_DENIED: the server does not try any more; RFP_LOCK_HELD: it has granted the lock
 * meanwhile; or a negative errno.
 */
int rdmafs_lock_cancel(struct rdmafs_open *open, u32 token)
{
	struct rfp_lockcancel_req *req;
	struct rdmafs_op *op;
	int ret;

	op = rdmafs_op_new_cred(RDMAFS_S(open->inode->i_sb), RFP_LOCKCANCEL, sizeof(*req),
				open->cred, RDMAFS_POOL_COMMON);
	req = (struct rfp_lockcancel_req *)op->req;
	req->token = cpu_to_le32(token);
	ret = rdmafs_op_run(op);
	if (!ret)
		ret = rdmafs_lock_state(op, false);
	rdmafs_op_put(op);
	return ret;
}

/* --------------------------------------------------------- what killed tasks leave */

/**
 * rdmafs_lock_leave - count an op whose task no longer waits for it
 * @op: a LOCK or UNLOCK
 *
 * To be followed by rdmafs_lock_left() when it is answered, or rdmafs_lock_stay().
 *
 * Context: process.
 */
void rdmafs_lock_leave(struct rdmafs_op *op)
{
	atomic_inc(&op->mnt->super.nr_opens);
	atomic_inc(&RDMAFS_I(op->open->inode)->lock_strays);
}

/**
 * rdmafs_lock_stay - undo rdmafs_lock_leave()
 * @op: the op, whose open the caller keeps
 *
 * Context: process.
 */
void rdmafs_lock_stay(struct rdmafs_op *op)
{
	struct rdmafs_inode *ri = RDMAFS_I(op->open->inode);

	if (atomic_dec_and_test(&ri->lock_strays))
		wake_up_var(&op->mnt->forced);
	rdmafs_opens_dec(&op->mnt->super);
}

/*
 * Make the server's locks in a range the same as those of the record.  What an owner has locked is
 * not given up in between.  But the task that was killed may have done so: flock(2) gives up the
 * lock that it changes.  If another owner has that lock now, it is lost; and so is a lock that
 * can't be had, if that is sure, or if this is the @last try.
 */
static int rdmafs_lock_restore(struct rdmafs_open *open, const struct rdmafs_range *range,
			       bool last)
{
	struct rdmafs_range r = *range;
	struct rdmafs_open *holder;
	int ret;

	lockdep_assert_held(&RDMAFS_I(open->inode)->locking);
	for (;;) {
		holder = rdmafs_lock_piece(open->inode, &r);
		if (holder) {
			/* @open may be one for reading, and this a lock for writing. */
			ret = rdmafs_lock_ask(holder, &r, 0, true, NULL);
			if (ret == -RDMAFS_EGRACE)
				ret = rdmafs_lock_ask_again(holder, &r, true, NULL);
			if (ret == RFP_LOCK_DENIED ||
			    (ret < 0 && (last || rdmafs_locks_gone(ret))))
				rdmafs_lock_lost(holder, &r);
			/* The server may have it, or a part of it, all the same. */
			if (ret < 0 && last)
				ret = rdmafs_unlock_send(holder, &r, true);
			rdmafs_open_put(holder);
		} else {
			ret = rdmafs_unlock_send(open, &r, true);
		}
		if (ret < 0)
			return ret;
		if (r.end >= range->end)
			return 0;
		r.start = r.end + 1;
		r.end = range->end;
	}
}

/*
 * Is a worker to try again what has failed?  After a shortage, a few times.  And if umount -f, or
 * the time of a soft mount, has ended its request, until the mount ends: nothing else gives back at
 * the server what is no longer recorded here.  @waits: how often it has waited for memory.
 */
static bool rdmafs_lock_again(struct rdmafs_open *open, int err, unsigned int *waits,
			      struct rdmafs_since *since)
{
	struct rdmafs_super *super = RDMAFS_S(open->inode->i_sb);
	struct rdmafs_mount *mnt = super->mnt;

	if (err == -ENOMEM || err == -ENOLCK) {
		if (*waits >= 4 * RDMAFS_OP_WAITS)
			return false;
		schedule_timeout_uninterruptible(rdmafs_backoff(waits));
	} else {
		if ((err != -EIO && err != -ETIMEDOUT) || !rdmafs_since_over(mnt, since))
			return false;
		if (READ_ONCE(mnt->ending) || READ_ONCE(super->ending) ||
		    (READ_ONCE(super->unused) && READ_ONCE(mnt->timeout)))
			return false;
	}
	/*
	 * Tasks that wait for this worker have not asked for another try: their wait ends.  Tasks
	 * that are in line for the mutex get it now: one that wakes is slower than this worker.
	 */
	wake_up_var(&mnt->forced);
	schedule_timeout_uninterruptible(RDMAFS_LOCK_PAUSE);
	rdmafs_since_now(mnt, since);
	return true;
}

static void rdmafs_lock_left_work(struct work_struct *work)
{
	struct rdmafs_op *op = container_of(work, struct rdmafs_op, work);
	const struct rfp_lock_req *lreq = (const struct rfp_lock_req *)op->req;
	const struct rfp_unlock_req *ureq = (const struct rfp_unlock_req *)op->req;
	bool lock = le16_to_cpu(lreq->req.op) == RFP_LOCK;
	struct rdmafs_open *open = rdmafs_open_get(op->open);
	struct rdmafs_inode *ri = RDMAFS_I(open->inode);
	u32 token = lock ? le32_to_cpu(lreq->token) : 0;
	struct rdmafs_mount *mnt = op->mnt;
	/* LOCK and UNLOCK have these three at the same place. */
	struct rdmafs_range r = {
		.owner = le64_to_cpu(lreq->owner),
		.start = le64_to_cpu(lreq->start),
		.end = le64_to_cpu(lreq->end),
		.kind = le32_to_cpu(lock ? lreq->kind : ureq->kind),
	};
	bool again, last = false;
	struct rdmafs_since since;
	unsigned int waits = 0;
	int err = 0;

	/* The ops that are made now may need its memory. */
	rdmafs_op_put(op);
	rdmafs_test_point("lock_left", open->inode->i_ino);
	rdmafs_since_now(mnt, &since);
	do {
		if (token)
			err = rdmafs_lock_cancel(open, token);
	} while (err < 0 && rdmafs_lock_again(open, err, &waits, &since));
	/* Data that the killed task has written, or left to be written, comes before its UNLOCK. */
	filemap_fdatawrite(open->inode->i_mapping);
	filemap_fdatawait_keep_errors(open->inode->i_mapping);
	rdmafs_fence_wait(open->inode);
	waits = 0;
	rdmafs_since_now(mnt, &since);
	wake_up_var(&mnt->forced);
	do {
		/*
		 * Two of these workers, or a worker and a task that unlocks, may have the record
		 * change meanwhile.  The one that comes last finds the record as it stays.
		 */
		smp_mb();	/* @lock_strays was raised before: see rdmafs_locking_line() */
		wait_var_event(&ri->lock_line, !atomic_read(&ri->lock_line));
		mutex_lock(&ri->locking);
		err = rdmafs_lock_restore(open, &r, last);
		mutex_unlock(&ri->locking);
		again = err && rdmafs_lock_again(open, err, &waits, &since);
		/* Once more: what is recorded and can't be had is lost then. */
		if (err && !again && !last &&
		    !READ_ONCE(RDMAFS_S(open->inode->i_sb)->unused)) {
			last = true;
			again = true;
		}
	} while (again);
	if (atomic_dec_and_test(&ri->lock_strays))
		wake_up_var(&mnt->forced);
	rdmafs_open_put(open);
	rdmafs_opens_dec(&mnt->super);
}

/**
 * rdmafs_lock_left - have a worker see to the locks that an op was to change
 * @op: an op for which rdmafs_lock_leave() was called, and that is not in flight; its reference
 *	is the worker's
 *
 * Context: any.
 */
void rdmafs_lock_left(struct rdmafs_op *op)
{
	INIT_WORK(&op->work, rdmafs_lock_left_work);
	/* It waits for folios. */
	queue_work(op->mnt->file_wq, &op->work);
}

/**
 * rdmafs_lock_abandon - leave a request for a lock to a worker, which ends it
 * @open:  the open by which the lock was asked for
 * @r:	   the lock
 * @token: names the request if the server may go on trying, else 0
 *
 * Context: process, may sleep; does not wait for the server.
 */
void rdmafs_lock_abandon(struct rdmafs_open *open, const struct rdmafs_range *r, u32 token)
{
	struct rdmafs_op *op = rdmafs_lock_op(open, r, token);

	rdmafs_lock_leave(op);
	rdmafs_lock_left(op);
}

/**
 * rdmafs_unlock_leave - have a worker give back a lock that is not recorded any more
 * @open: an open of the file
 * @r:	  what is given back
 *
 * Context: process, may sleep; does not wait for the server.
 */
void rdmafs_unlock_leave(struct rdmafs_open *open, const struct rdmafs_range *r)
{
	struct rdmafs_op *op = rdmafs_unlock_op(open, r);

	rdmafs_lock_leave(op);
	rdmafs_lock_left(op);
}
