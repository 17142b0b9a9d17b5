// SPDX-License-Identifier: GPL-2.0
/*
 * Run an operation: send its request, wait, and return the reply or an errno.
 *
 * A caller makes an op (op_make.c), fills in the request through op->enc, runs it, and
 * takes the reply apart.  rdmafs_op_run() sends the op and waits.  If the server
 * does not know its credentials or its open (any more), these are registered or
 * opened again and the request is sent once more: both statuses mean that nothing
 * has been executed.
 *
 * Shortages.  If this machine or the server is short of memory, the op is tried
 * again for about a second.  Writeback and COMMIT are tried until umount -f,
 * because data would be lost otherwise (io.c, commit.c).  -EAGAIN, and an export
 * that the server does not serve at present, are waited for until umount -f by
 * every op whose maker can wait: see rdmafs_op_backoff().
 *
 * Soft mounts.  An op has one deadline for all of this.  Transport refuses an op, or gives it up,
 * when it has passed; and an op that fails for a shortage before it comes to transport is not tried
 * again then.
 *
 * Recovery: transport deals with a disconnect.  When the server has lost the
 * session, transport calls session_reset(), and ids of the old session are
 * renewed when they are next used.  An op that must not be executed twice, and
 * whose answer was lost with the session, fails with EIO; its maker may find
 * out what has become of it (unanswered.c).
 *
 * Ownership: see client.h.  A killed task leaves its op to transport.  A worker
 * then closes what an OPEN or CREATE has opened.
 */
#include <linux/sched/signal.h>
#include "client.h"
#include "filelock.h"
#include "op.h"
#include "open.h"
#include "transport/points.h"

/*
 * struct rdmafs_op.state of a synchronous op.
 * WAITED:   a task waits.  Left when done is called, or when the task ends its wait unanswered.
 * DONE:     done has been called, and the task is woken.
 * DETACHED: the task was killed or exits, or its time is over, and it has left; done ends the op or
 *	     queues a worker.
 */
#define RDMAFS_OP_WAITED	0
#define RDMAFS_OP_DONE		1
#define RDMAFS_OP_DETACHED	2

/* Does it read or change data by the right of its opens, for which a lock may have been taken? */
static bool rdmafs_op_needs_lock(const struct rdmafs_op *op)
{
	const struct rfp_setattr_req *req = (const struct rfp_setattr_req *)op->req;

	switch (le16_to_cpu(req->req.op)) {
	case RFP_READ:
	case RFP_WRITE:
	case RFP_FALLOCATE:
	case RFP_COPY:
	case RFP_CLONE:
		return true;
	case RFP_SETATTR:
		return le32_to_cpu(req->valid) & RFP_SET_SIZE;
	default:
		return false;
	}
}

/* Has an open that an op names, or NULL, lost a lock with a session? */
static bool rdmafs_op_lock_lost(const struct rdmafs_open *open)
{
	return open && READ_ONCE(open->lock_lost);
}

/*
 * Does it write back what is cached?  Pages do not tell whose data they have, so the locks
 * of all opens of the file count, whichever open is used.
 */
static bool rdmafs_op_writes_back(const struct rdmafs_op *op)
{
	return op->patient && op->call.dir == RDMAFS_XPRT_WRITE;
}

/* Answers that the server gives only to requests for a lock, for the first time or again. */
static int rdmafs_op_grace(const struct rdmafs_op *op, u32 status)
{
	const struct rfp_lock_req *req = (const struct rfp_lock_req *)op->req;
	u16 nr = le16_to_cpu(req->req.op);
	bool again;

	if (nr != RFP_LOCK && nr != RFP_TESTLOCK)
		return -EIO;
	again = !!(req->flags & cpu_to_le32(RFP_LOCK_RECLAIM));
	if (status == RFP_GRACE)
		return again ? -EIO : -RDMAFS_EGRACE;
	return again ? -RDMAFS_ENOGRACE : -EIO;
}

/* Turn an errno of transport, or of the server, into one that a system call may return. */
static int rdmafs_errno(int err)
{
	switch (err) {
	case -ESHUTDOWN:
	case -EREMOTEIO:
	case -EPROTO:
	case -EBADMSG:
		return -EIO;
	case -ERESTARTSYS:
		return -EINTR;
	default:
		return err;
	}
}

/**
 * rdmafs_op_state_unknown - tell whether an op failed as the server does not know its open
 * @op: an op that rdmafs_op_run() has returned from
 *
 * rdmafs_op_run() has such an open opened again, but not for an op that is part of that itself.
 *
 * Context: any.
 * Return: true if so; the op has changed nothing.
 */
bool rdmafs_op_state_unknown(struct rdmafs_op *op)
{
	const struct rfp_rep *rep = (const struct rfp_rep *)op->rep;

	/* The reply of an op that was left in flight is not this task's. */
	return op->sent && !rdmafs_op_left(op) && !op->call.status &&
	       op->call.reply_len >= sizeof(*rep) && le32_to_cpu(rep->status) == RFP_BADSTATE;
}

/* Is an open that an op names, or NULL, known in this session? */
static bool rdmafs_op_open_known(const struct rdmafs_open *open, int session)
{
	/* Pairs with the release in rdmafs_open_renew(): the stateid is of that session. */
	return !open || smp_load_acquire(&open->session) == session;
}

/* The open that the server has to know before an op is sent, or NULL. */
static struct rdmafs_open *rdmafs_op_needs_open(const struct rdmafs_op *op)
{
	/* A LOCK that is part of opening its open again has filled in the stateid itself. */
	return op->stateid ? op->open : NULL;
}

/**
 * rdmafs_op_errno - turn the errno with which transport ended an op into one for a system call
 * @op:  the op
 * @err: 0 or a negative errno of transport
 *
 * Context: any.
 * Return: 0 or a negative errno.
 */
int rdmafs_op_errno(const struct rdmafs_op *op, int err)
{
	/* The mount may have been made a hard one since. */
	if (err == -ETIMEDOUT && READ_ONCE(op->mnt->opts.late) != RDMAFS_SOFTERR)
		return -EIO;
	return rdmafs_errno(err);
}

/**
 * rdmafs_op_prepare - fill in the ids that belong to the session
 * @op:	    the op
 * @nowait: return -EAGAIN rather than ask the server for an id
 *
 * Context: process; sleeps, killably, unless @nowait.
 * Return: 0 or a negative errno.
 */
int rdmafs_op_prepare(struct rdmafs_op *op, bool nowait)
{
	const struct rfp_req *req = (const struct rfp_req *)op->req;
	struct rdmafs_open *open = rdmafs_op_needs_open(op);
	int len, err;

	len = rfp_enc_len(&op->enc);
	if (len < 0)
		return -ENAMETOOLONG;
	op->call.req_len = len;
again:
	op->session = atomic_read(&op->mnt->session);
	if (nowait && ((!op->bare && READ_ONCE(op->cred->session) != op->session) ||
		       !rdmafs_op_open_known(open, op->session) ||
		       !rdmafs_op_open_known(op->source, op->session)))
		return -EAGAIN;
	rdmafs_test_point("op_prepare", le16_to_cpu(req->op));
	/* Without waiting they are not asked: the session may be a new one by now. */
	if (!op->bare && !nowait) {
		err = rdmafs_cred_ready(op->cred, op);
		if (err)
			return err;
	}
	if (open && !nowait) {
		err = rdmafs_open_ready(open, op);
		if (!err && (le16_to_cpu(req->op) == RFP_LOCK || rdmafs_op_writes_back(op)))
			err = rdmafs_locks_ready(op);
		if (err)
			return err;
	}
	if (op->source && !nowait) {
		err = rdmafs_open_ready(op->source, op);
		if (err)
			return err;
	}
	/* Writeback may have chosen the open before it lost its lock: the range is what counts. */
	if (rdmafs_op_writes_back(op)) {
		if (rdmafs_loss_has(open->inode, op->io.pos, op->io.len))
			return -EIO;
	} else if ((rdmafs_op_lock_lost(open) || rdmafs_op_lock_lost(op->source)) &&
		   rdmafs_op_needs_lock(op)) {
		return -EIO;
	}
	if (open)
		*op->stateid = cpu_to_le64(READ_ONCE(open->stateid));
	if (op->source)
		*op->source_id = cpu_to_le64(READ_ONCE(op->source->stateid));
	/* Each of the three may have waited until there was a new session. */
	if (op->session != atomic_read(&op->mnt->session))
		goto again;
	op->clock = atomic64_read(&op->mnt->clock);
	return 0;
}

/*
 * Check a reply that consists of its status: it must not be longer, and its padding must be 0.
 * Replies with more in them are left to the code that takes their body apart.
 */
static bool rdmafs_op_bare_sound(const struct rdmafs_op *op, u32 status)
{
	u16 nr = le16_to_cpu(((const struct rfp_req *)op->req)->op);
	const struct rfp_rep *rep = (const struct rfp_rep *)op->rep;

	if (status == RFP_OK ? nr != RFP_CLOSE && nr != RFP_SETCRED && nr != RFP_UNLOCK :
			       nr == RFP_LOOKUP)
		return true;
	return !rep->pad && op->call.reply_len == sizeof(*rep);
}

/*
 * Does the status of an answer tell whether the server serves the export of @super?  SETCRED, and
 * the ops that name neither a file nor an open, are answered even while it does not; and so is any
 * op with BADCRED, BADSTATE or BADSOURCE.  What CROSS is told may be true of the export below.
 */
static bool rdmafs_op_tells_export(const struct rdmafs_op *op, u32 status)
{
	u16 nr = le16_to_cpu(((const struct rfp_req *)op->req)->op);

	return op->super && !op->bare && nr != RFP_LOCKCANCEL && nr != RFP_EVENTS &&
	       nr != RFP_CROSS && status != RFP_BADCRED && status != RFP_BADSTATE &&
	       status != RFP_BADSOURCE;
}

/**
 * rdmafs_op_status - tell how an answered op ended
 * @op: an op whose done has been called
 *
 * Context: any.
 * Return: 0, a negative errno, -RDMAFS_EBADCRED, -RDMAFS_EBADSTATE, -RDMAFS_EOFFLINE; for an op
 * with a source, -RDMAFS_EBADSOURCE; for one that asks for a lock, -RDMAFS_EGRACE or
 * -RDMAFS_ENOGRACE.
 */
int rdmafs_op_status(struct rdmafs_op *op)
{
	const struct rfp_req *req __maybe_unused = (const struct rfp_req *)op->req;
	const struct rfp_rep *rep = (const struct rfp_rep *)op->rep;
	u32 status;

	if (op->call.status)
		return rdmafs_op_errno(op, op->call.status);
	if (op->call.reply_len < sizeof(*rep))
		return -EIO;
	status = le32_to_cpu(rep->status);
	rdmafs_heard(op->mnt);
	if (rdmafs_op_tells_export(op, status))
		rdmafs_heard_export(op->super, status == RFP_OFFLINE);
	if (rdmafs_test_fails("op_nomem", le16_to_cpu(req->op)))
		return -ENOMEM;
	if (!rdmafs_op_bare_sound(op, status))
		return -EIO;
	switch (status) {
	case RFP_OK:
		return 0;
	case RFP_BADCRED:
		return -RDMAFS_EBADCRED;
	case RFP_BADSTATE:
		return -RDMAFS_EBADSTATE;
	case RFP_OFFLINE:
		return -RDMAFS_EOFFLINE;
	case RFP_BADSOURCE:
		return op->source ? -RDMAFS_EBADSOURCE : -EIO;
	case RFP_GRACE:
	case RFP_NO_GRACE:
		return rdmafs_op_grace(op, status);
	default:
		return rdmafs_errno(rfp_errno_from_status(status));
	}
}

/**
 * rdmafs_op_mend - forget an id that the server does not know, if the op may be sent again
 * @op:	 the op
 * @err: what rdmafs_op_status() returned
 *
 * rdmafs_op_prepare() renews the id.
 *
 * Context: process.
 * Return: true if the op is to be prepared and sent again.
 */
bool rdmafs_op_mend(struct rdmafs_op *op, int err)
{
	if (err != -RDMAFS_EBADCRED && err != -RDMAFS_EBADSTATE && err != -RDMAFS_EBADSOURCE)
		return false;
	if (++op->tries >= RDMAFS_OP_TRIES)
		return false;
	/* An id that has been renewed since is left as it is. */
	if (err == -RDMAFS_EBADCRED && !op->bare) {
		cmpxchg(&op->cred->session, op->session, 0);
		return true;
	}
	if (err == -RDMAFS_EBADSTATE && rdmafs_op_needs_open(op)) {
		rdmafs_open_unknown(op->open, op->session, le64_to_cpu(*op->stateid));
		return true;
	}
	if (err == -RDMAFS_EBADSOURCE && op->source) {
		rdmafs_open_unknown(op->source, op->session, le64_to_cpu(*op->source_id));
		return true;
	}
	return false;
}

/* A worker: the task of this op was killed, so close what the op has opened. */
static void rdmafs_op_stray_work(struct work_struct *work)
{
	struct rdmafs_op *op = container_of(work, struct rdmafs_op, work);
	struct rdmafs_mount *mnt = op->mnt;

	rdmafs_open_undo(op);
	rdmafs_op_put(op);
	rdmafs_opens_dec(&mnt->super);
}

/* A worker: the task of this op was killed, so end the fence of its change. */
static void rdmafs_op_fence_work(struct work_struct *work)
{
	rdmafs_fence_op_put(container_of(work, struct rdmafs_op, work));
}

/* A synchronous op's done callback; any context.  Puts transport's reference. */
static void rdmafs_op_done(struct rdmafs_xprt_call *call)
{
	struct rdmafs_op *op = container_of(call, struct rdmafs_op, call);

	/* Transport hands on replies of the present session only. */
	op->answered = atomic_read(&op->mnt->session);
	if (atomic_cmpxchg(&op->state, RDMAFS_OP_WAITED, RDMAFS_OP_DONE) == RDMAFS_OP_WAITED) {
		complete(&op->done);
	} else if (op->locks) {
		rdmafs_lock_left(op);
		return;
	} else if (op->closes || op->fence) {
		INIT_WORK(&op->work, op->closes ? rdmafs_op_stray_work : rdmafs_op_fence_work);
		queue_work(op->mnt->io_wq, &op->work);
		return;
	}
	rdmafs_op_put(op);
}

/* 0: the op is done; -EINTR, -ETIMEDOUT: its task waits no longer. */
static int rdmafs_op_wait(struct rdmafs_op *op)
{
	long left = op->leave - jiffies;

	if (!op->leave)
		return rdmafs_wait(op->super ?: &op->mnt->super, &op->done);
	left = wait_for_completion_killable_timeout(&op->done, max(left, 1L));
	if (left > 0)
		return 0;
	return left ? -EINTR : -ETIMEDOUT;
}

/* Send once and wait, killably. */
static int rdmafs_op_send(struct rdmafs_op *op)
{
	int err;

	op->sent = false;
	reinit_completion(&op->done);
	atomic_set(&op->state, RDMAFS_OP_WAITED);
	op->call.done = rdmafs_op_done;
	refcount_inc(&op->ref);
	err = rdmafs_xprt_submit(op->mnt->xprt, &op->call);
	if (err) {
		rdmafs_op_put(op);
		return rdmafs_op_errno(op, err);
	}
	op->sent = true;
	rdmafs_xprt_poll(op->mnt->xprt, &op->done);
	err = rdmafs_op_wait(op);
	if (!err) {
		op->twice |= op->answered != op->session;
		return rdmafs_op_status(op);
	}
	/* Before the task detaches: unmounting waits until a worker has closed a stray open. */
	if (op->closes)
		atomic_inc(&op->mnt->super.nr_opens);
	if (op->fence)
		rdmafs_fence_op(op);
	if (op->locks)
		rdmafs_lock_leave(op);
	if (atomic_cmpxchg(&op->state, RDMAFS_OP_WAITED, RDMAFS_OP_DETACHED) == RDMAFS_OP_WAITED)
		return err;
	if (op->closes)
		rdmafs_opens_dec(&op->mnt->super);
	if (op->locks)
		rdmafs_lock_stay(op);
	if (op->fence) {
		refcount_inc(&op->ref);
		rdmafs_fence_op_put(op);
	}
	/* The op was answered before this task could detach. */
	wait_for_completion(&op->done);
	op->twice |= op->answered != op->session;
	return rdmafs_op_status(op);
}

/**
 * rdmafs_op_left - tell whether its task has left an op, which is in flight or a worker's
 * @op: an op that rdmafs_op_run() has returned from
 *
 * Context: any.
 * Return: true if so.
 */
bool rdmafs_op_left(struct rdmafs_op *op)
{
	return atomic_read(&op->state) == RDMAFS_OP_DETACHED;
}

/**
 * rdmafs_backoff - tell how long to wait before the server is asked again
 * @waits: how often the caller has waited already; incremented
 *
 * Context: any; the caller serialises the use of @waits.
 * Return: jiffies.
 */
unsigned long rdmafs_backoff(unsigned int *waits)
{
	unsigned int n = min(*waits, RDMAFS_OP_WAITS - 1);

	*waits += 1;
	return msecs_to_jiffies(RDMAFS_BACKOFF_MS << n);
}

/* Does the superblock of an op end by umount -f, so that the op does not wait for the export? */
static bool rdmafs_op_ending(const struct rdmafs_op *op)
{
	return READ_ONCE(op->mnt->ending) || (op->super && READ_ONCE(op->super->ending));
}

/* Does the op's deadline count?  The mount may have been made a hard one since. */
static bool rdmafs_op_timed(const struct rdmafs_op *op)
{
	return op->call.deadline && READ_ONCE(op->mnt->timeout);
}

static bool rdmafs_op_late(const struct rdmafs_op *op)
{
	return rdmafs_op_timed(op) && time_after_eq(jiffies, op->call.deadline);
}

/* Wait no longer than to the op's deadline.  @delay in jiffies. */
static unsigned long rdmafs_op_in_time(const struct rdmafs_op *op, unsigned long delay)
{
	long left = op->call.deadline - jiffies;

	return rdmafs_op_timed(op) ? clamp_t(long, left, 1, delay) : delay;
}

/**
 * rdmafs_op_backoff - tell how long to wait before an op is sent again after a shortage
 * @op:	 the op
 * @err: the errno with which it failed; if its deadline ends the tries, that errno instead
 *
 * After -ENOMEM an op is tried again RDMAFS_OP_WAITS times, and a patient op until umount -f.
 * After -EAGAIN every op is tried until umount -f: a party on the server has to give something up
 * first, a lease, say, which may take the better part of a minute.  An export that is not served
 * is waited for until umount -f, too, as a server is that can't be reached; but not when the
 * superblock ends without it (@ending).  An op whose maker can't wait fails instead: @brief in each
 * of these cases, @once after -EAGAIN.  The deadline of an op on a soft mount ends all of this, and
 * so does the time at which its task leaves it.
 *
 * Context: any.
 * Return: jiffies; 0: the op has failed.
 */
unsigned long rdmafs_op_backoff(struct rdmafs_op *op, int *err)
{
	bool offline = *err == -RDMAFS_EOFFLINE;
	bool patient = op->patient || *err == -EAGAIN || offline;

	if ((*err != -ENOMEM && *err != -EAGAIN && !offline) || (*err == -EAGAIN && op->once))
		return 0;
	if (op->brief || (offline && rdmafs_op_ending(op)))
		return 0;
	if (op->leave && time_after_eq(jiffies, op->leave)) {
		*err = -ETIMEDOUT;
		return 0;
	}
	if (rdmafs_op_late(op)) {
		*err = rdmafs_op_errno(op, -ETIMEDOUT);
		return 0;
	}
	/* An export that is served again knows no opens: BADSTATE follows, and is no failure. */
	if (offline)
		op->tries = 0;
	if (patient && op->forced != atomic_read(&op->mnt->forced))
		return 0;
	if (!patient && op->waits >= RDMAFS_OP_WAITS)
		return 0;
	return rdmafs_op_in_time(op, rdmafs_backoff(&op->waits));
}

/**
 * rdmafs_op_run - send an op and wait for its answer
 * @op: the op, its request encoded
 *
 * Context: process, may sleep; the wait is killable.
 * Return: 0: the reply is there for rdmafs_op_reply(); -EINTR: the task was killed, and the op may
 * still be executed; -ETIMEDOUT: likewise, but its time is over (@leave); -EAGAIN: the op can't be
 * sent at once, and its task exits, or its maker can't wait (@once, @brief); -RDMAFS_EGRACE (LOCK,
 * TESTLOCK), -RDMAFS_ENOGRACE (LOCK); else the errno of the server or of transport.
 */
int rdmafs_op_run(struct rdmafs_op *op)
{
	bool nowait = current->flags & PF_EXITING;
	unsigned long delay;
	int err;

	if (nowait)
		op->call.flags |= RDMAFS_CALL_NOWAIT;
	for (;;) {
		op->sent = false;
		err = rdmafs_op_prepare(op, nowait);
		if (!err)
			err = rdmafs_op_send(op);
		if (!err)
			return 0;
		if (rdmafs_op_mend(op, err))
			continue;
		/*
		 * An op that failed at the server may have been executed in part.  -EAGAIN and
		 * OFFLINE mean that it was not begun.
		 */
		if (nowait || (op->sent && err != -EAGAIN && err != -RDMAFS_EOFFLINE &&
			       !op->repeats))
			break;
		delay = rdmafs_op_backoff(op, &err);
		if (!delay)
			break;
		op->twice |= op->sent && err != -RDMAFS_EOFFLINE;
		schedule_timeout_killable(delay);
		if (fatal_signal_pending(current))
			return -EINTR;
	}

	if (op->brief && (err == -ENOMEM || err == -RDMAFS_EOFFLINE))
		return -EAGAIN;
	/* Its time is over; so it is not known whether it would have failed. */
	if (op->brief && rdmafs_op_late(op) && (err == -EIO || err == -ETIMEDOUT))
		return -EAGAIN;
	/* This op would have waited: umount -f has ended it. */
	if (err == -EAGAIN && !nowait && !op->brief && !op->once)
		return -EIO;
	if (err == -RDMAFS_EBADCRED || err == -RDMAFS_EBADSTATE || err == -RDMAFS_EOFFLINE ||
	    err == -RDMAFS_EBADSOURCE)
		return -EIO;
	return err;
}

/**
 * rdmafs_op_reply - begin to take a reply apart
 * @op:	  the op; its status was RFP_OK, or one for which rdmafs_proto.h names fields
 * @dec:  decoder to use
 * @size: bytes of the fixed reply struct
 *
 * Context: any.
 * Return: the fixed struct; NULL if the reply is shorter, or the padding of its head is not 0.
 */
const void *rdmafs_op_reply(struct rdmafs_op *op, struct rfp_dec *dec, size_t size)
{
	rfp_dec_init(dec, op->rep, op->call.status ? 0 : op->call.reply_len);
	return rfp_dec_zero_at(dec, size, offsetof(struct rfp_rep, pad),
			       sizeof_field(struct rfp_rep, pad));
}
