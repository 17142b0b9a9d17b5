// SPDX-License-Identifier: GPL-2.0
/*
 * Keep files open at the server, for as long as anything needs that.
 *
 * Every open(2) of a regular file has an open of its own.  Reads and writes
 * name it and are done with the credentials of the opener, so that the server
 * does not check permissions again, not for writeback either.
 *
 * Recovery: an open that the server has lost is opened again by the file's
 * handle before its next use.  The client sends the proof that came with the
 * open, so that permissions are not checked then either.  When there is a new
 * session, workers do so for all opens at once (reclaim.c).
 *
 * The end: an open ends when its last user puts it: the struct file, or a read
 * or write that a killed task left behind.  CLOSE is sent without waiting for
 * its answer, which is of no use.  But if the last name of the file is gone,
 * close(2) waits, because it has to give back the space.  A CLOSE that can't be
 * sent at once, or for which there is no memory, is left to a worker: a killed
 * task must not wait, and a caller in atomic context can't.
 *
 * Ownership: an open holds its inode, and counts in rdmafs_super.nr_opens.
 */
#include <linux/slab.h>
#include "client.h"
#include "filelock.h"
#include "op.h"
#include "open.h"

static void rdmafs_open_work(struct work_struct *work);

/**
 * rdmafs_opens_dec - drop a count in rdmafs_super.nr_opens, for which unmounting waits
 * @super: the superblock, whose nr_opens the caller has raised; may be gone after this
 *
 * Context: any.
 */
void rdmafs_opens_dec(struct rdmafs_super *super)
{
	unsigned long irq;

	if (atomic_add_unless(&super->nr_opens, -1, 1))
		return;
	/* A task that finds 0 may free it, but takes this lock before that. */
	spin_lock_irqsave(&super->opens_wait.lock, irq);
	if (atomic_dec_and_test(&super->nr_opens))
		wake_up_all_locked(&super->opens_wait);
	spin_unlock_irqrestore(&super->opens_wait.lock, irq);
}

/**
 * rdmafs_open_new - record an open that the server has granted
 * @inode:   the file; a reference is taken
 * @cred:    the opener's credentials; a reference is taken
 * @flags:   RFP_OPEN_*
 * @rep:     the reply that granted it
 * @session: the session in which it was granted
 *
 * Context: process, may sleep; takes opens_lock and rdmafs_inode.lock.
 * Return: the open, or -ENOMEM: the caller has to close what the server opened.
 */
struct rdmafs_open *rdmafs_open_new(struct inode *inode, struct rdmafs_cred *cred, u32 flags,
				    const struct rfp_open_rep *rep, int session)
{
	struct rdmafs_super *super = RDMAFS_S(inode->i_sb);
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	struct rdmafs_mount *mnt = super->mnt;
	struct rdmafs_open *open;

	open = kzalloc(sizeof(*open), GFP_KERNEL);
	if (!open)
		return ERR_PTR(-ENOMEM);
	refcount_set(&open->ref, 1);
	open->inode = inode;
	ihold(inode);
	open->cred = rdmafs_cred_get(cred);
	open->flags = flags & ~RFP_OPEN_TRUNC;
	open->stateid = le64_to_cpu(rep->stateid);
	open->proof = rep->proof;
	open->session = session;
	open->known_at = atomic_read(&mnt->forgets);
	mutex_init(&open->lock);
	INIT_WORK(&open->work, rdmafs_open_work);
	atomic_inc(&super->nr_opens);

	open->asked = session;
	spin_lock(&mnt->opens_lock);
	if (session == atomic_read(&mnt->session)) {
		list_add_tail(&open->all, &super->opens);
	} else {
		/* The session was lost since: a worker has to open it again. */
		list_add(&open->all, &super->opens);
		rdmafs_opens_reclaim(super);
	}
	spin_unlock(&mnt->opens_lock);
	spin_lock_irq(&ri->lock);
	list_add_tail(&open->link, &ri->opens);
	spin_unlock_irq(&ri->lock);
	return open;
}

static struct rdmafs_open *rdmafs_open_find_locked(struct rdmafs_inode *ri, u32 flags)
{
	struct rdmafs_open *open;
	bool lost;
	int i;

	lockdep_assert_held(&ri->lock);
	/* One that has lost a lock is of no use, but tells the errno if there is no other. */
	for (i = 0; i < 2; i++) {
		list_for_each_entry(open, &ri->opens, link) {
			lost = READ_ONCE(open->lock_lost);
			if ((open->flags & flags) && lost == i && refcount_inc_not_zero(&open->ref))
				return open;
		}
	}
	return NULL;
}

/**
 * rdmafs_open_late - find or make an open for pages that became dirty after the last close
 * @inode: the file
 *
 * Pages of a mapping that are pinned, by a direct read into it, say, may become dirty when no task
 * has the file open any more.  They are written with the credentials and the proof of the last
 * open for writing, with which rdmafs_open_ready() opens the file again.
 *
 * Context: writeback, may sleep; must not drop a reference to the inode.
 * Return: the open, referenced; NULL if there is none and none can be made.
 */
struct rdmafs_open *rdmafs_open_late(struct inode *inode)
{
	struct rdmafs_super *super = RDMAFS_S(inode->i_sb);
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	struct rdmafs_mount *mnt = super->mnt;
	struct rdmafs_open *open, *found;

	if (READ_ONCE(super->no_late) || !test_bit(RDMAFS_I_STORED, &ri->flags) || !igrab(inode))
		return rdmafs_open_find(inode, RFP_OPEN_WRITE);
	open = kzalloc(sizeof(*open), GFP_NOFS | __GFP_NOFAIL);
	refcount_set(&open->ref, 1);
	open->inode = inode;
	INIT_LIST_HEAD(&open->link);
	INIT_LIST_HEAD(&open->all);
	mutex_init(&open->lock);
	INIT_WORK(&open->work, rdmafs_open_work);
	atomic_inc(&super->nr_opens);
	spin_lock_irq(&ri->lock);
	/* Another caller may have made one meanwhile. */
	found = rdmafs_open_find_locked(ri, RFP_OPEN_WRITE);
	if (!found && ri->late.cred) {
		swap(open->cred, ri->late.cred);
		open->proof = ri->late.proof;
		open->flags = ri->late.flags;
		list_add_tail(&open->link, &ri->opens);
		found = open;
	}
	spin_unlock_irq(&ri->lock);
	if (found != open)
		queue_work(mnt->io_wq, &open->work);
	return found;
}

/**
 * rdmafs_open_late_drop - drop what an inode keeps for rdmafs_open_late()
 * @ri: the inode, which is being evicted
 *
 * Context: process.
 */
void rdmafs_open_late_drop(struct rdmafs_inode *ri)
{
	if (ri->late.cred)
		rdmafs_cred_put(ri->late.cred);
	ri->late.cred = NULL;
}

/**
 * rdmafs_open_rep_check - check a reply that grants an open
 * @rep: the reply
 * @may: the flags RFP_OPEN_CREATED... that it may have
 *
 * Context: any.
 * Return: 0, or -EIO if it has other flags or padding that is not 0.
 */
int rdmafs_open_rep_check(const struct rfp_open_rep *rep, u32 may)
{
	return rep->pad || (le32_to_cpu(rep->flags) & ~may) ? -EIO : 0;
}

/*
 * Send OPEN and wait.  *@rep and *@attr are parts of the op's reply, valid only if this returns 0.
 */
static int rdmafs_open_ask(struct rdmafs_op *op, struct inode *inode, u32 flags,
			   struct rfp_proof proof, const struct rfp_open_rep **rep,
			   const struct rfp_attr **attr)
{
	struct rfp_open_req *req = (struct rfp_open_req *)op->req;
	struct rfp_dec dec;
	int err;

	req->flags = cpu_to_le32(flags);
	req->proof = proof;
	rfp_enc_fh(&op->enc, &RDMAFS_I(inode)->fh);
	op->closes = true;
	err = rdmafs_op_run(op);
	if (err)
		return err;
	*rep = rdmafs_op_reply(op, &dec, sizeof(**rep));
	*attr = rfp_dec_fixed(&dec, sizeof(**attr));
	if (!rfp_dec_end(&dec) && !rdmafs_open_rep_check(*rep, 0) &&
	    !rdmafs_attr_check(inode->i_sb, *attr))
		return 0;
	rdmafs_open_undo(op);
	return -EIO;
}

/* Open a file by its handle, and take over the attributes that the server returns. */
static int rdmafs_open_prove(struct inode *inode, u32 flags, struct rfp_proof proof,
			     struct rdmafs_open **openp)
{
	const struct rfp_open_rep *rep;
	const struct rfp_attr *attr;
	struct rdmafs_open *open;
	struct rdmafs_op *op;
	int err;

	op = rdmafs_op_new(RDMAFS_S(inode->i_sb), RFP_OPEN, sizeof(struct rfp_open_req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	err = rdmafs_open_ask(op, inode, flags, proof, &rep, &attr);
	if (err)
		goto out;
	rdmafs_attr_fresh(inode, attr, op->clock);
	open = rdmafs_open_new(inode, op->cred, flags, rep, op->answered);
	if (IS_ERR(open)) {
		rdmafs_open_undo(op);
		err = PTR_ERR(open);
	} else {
		*openp = open;
	}
out:
	rdmafs_op_put(op);
	return err;
}

/**
 * rdmafs_open_send - open a file by its handle
 * @inode: the file
 * @flags: RFP_OPEN_*
 * @openp: out: the open, with a reference for the caller
 *
 * Takes over the attributes that the server returns.
 *
 * Context: process, may sleep; the wait is killable.
 * Return: 0 or a negative errno.
 */
int rdmafs_open_send(struct inode *inode, u32 flags, struct rdmafs_open **openp)
{
	return rdmafs_open_prove(inode, flags, (struct rfp_proof){}, openp);
}

/**
 * rdmafs_open_made_note - note that a kernel thread has made a file
 * @inode: the file
 * @cred:  the thread's credentials
 * @rep:   the reply that granted the open with which the file was made
 * @attr:  checked attributes of that reply
 *
 * Context: process; takes rdmafs_inode.lock.
 */
void rdmafs_open_made_note(struct inode *inode, const struct rdmafs_cred *cred,
			   const struct rfp_open_rep *rep, const struct rfp_attr *attr)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);

	spin_lock_irq(&ri->lock);
	ri->made.proof = rep->proof;
	ri->made.uid = cred->uid;
	ri->made.gid = cred->gid;
	ri->made.owner = make_kuid(&init_user_ns, le32_to_cpu(attr->uid));
	spin_unlock_irq(&ri->lock);
}

/*
 * The proof of the open with which the current task's user has made a file; false: that user has
 * not made it.
 */
static bool rdmafs_open_made_proof(struct inode *inode, struct rfp_proof *proof, kuid_t *owner)
{
	struct rdmafs_cred *cred = rdmafs_cred_current(RDMAFS_M(inode->i_sb));
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	bool his;

	if (IS_ERR(cred))
		return false;
	spin_lock_irq(&ri->lock);
	his = ri->made.proof.claim && uid_eq(ri->made.uid, cred->uid) &&
	      gid_eq(ri->made.gid, cred->gid);
	*proof = ri->made.proof;
	*owner = ri->made.owner;
	spin_unlock_irq(&ri->lock);
	rdmafs_cred_put(cred);
	return his;
}

/**
 * rdmafs_open_made - open a file for the user that has made it
 * @inode: the file
 * @flags: RFP_OPEN_*, with which the server has refused to open it
 * @openp: out: the open, with a reference for the caller
 *
 * A file is open for the task that makes it, whatever its mode.  knfsd makes a file first and opens
 * it then, or opens it for each of NFSv3's writes: it has the file opened as it was made, by that
 * open's proof.  The server does not check the user's rights then.  knfsd has done so, by what is
 * known here: it lets the owner pass, whatever the mode.  So the server is asked before whether the
 * file still has the owner of then; another client may have given it away.
 *
 * Context: process, may sleep; the wait is killable.
 * Return: 0; -EACCES: no kernel thread has made the file for this user, or it has another owner by
 * now; or another negative errno.
 */
int rdmafs_open_made(struct inode *inode, u32 flags, struct rdmafs_open **openp)
{
	struct rfp_proof proof;
	kuid_t owner;
	int err;

	if (!(current->flags & PF_KTHREAD) || (flags & ~RDMAFS_OPEN_MADE) ||
	    !rdmafs_open_made_proof(inode, &proof, &owner))
		return -EACCES;
	err = rdmafs_revalidate(inode, true);
	if (err)
		return err;
	if (!uid_eq(inode->i_uid, owner))
		return -EACCES;
	return rdmafs_open_prove(inode, RDMAFS_OPEN_MADE, proof, openp);
}

/*
 * Have the server open @open again, unless it has done so in this session, and the open's locks
 * could not all be taken again then.  @user: as below.
 */
static int rdmafs_open_renew_ask(struct rdmafs_open *open, const struct rdmafs_op *user)
{
	struct inode *inode = open->inode;
	struct rdmafs_mount *mnt = RDMAFS_M(inode->i_sb);
	const struct rfp_open_rep *rep;
	const struct rfp_attr *attr;
	struct rdmafs_op *op;
	int err, forgets;

	lockdep_assert_held(&open->lock);
	if (open->half && open->half == atomic_read(&mnt->session))
		return 0;
	op = rdmafs_op_new_cred(RDMAFS_S(inode->i_sb), RFP_OPEN, sizeof(struct rfp_open_req),
				open->cred, RDMAFS_POOL_REOPEN);
	if (user) {
		op->forced = user->forced;
		op->call.deadline = user->call.deadline;
	} else {
		op->brief = true;
	}
	forgets = atomic_read(&mnt->forgets);
	err = rdmafs_open_ask(op, inode, open->flags, open->proof, &rep, &attr);
	if (!err) {
		WRITE_ONCE(open->known_at, forgets);
		spin_lock_irq(&RDMAFS_I(inode)->lock);
		open->proof = rep->proof;
		spin_unlock_irq(&RDMAFS_I(inode)->lock);
		open->half_id = le64_to_cpu(rep->stateid);
		open->half = op->answered;
	}
	rdmafs_op_put(op);
	return err;
}

/* The server has forgotten an open within a session; rdmafs_inode.lock is held. */
static void rdmafs_open_forgot_locked(struct rdmafs_open *open, int session)
{
	struct rdmafs_mount *mnt = RDMAFS_M(open->inode->i_sb);

	lockdep_assert_held(&RDMAFS_I(open->inode)->lock);
	WRITE_ONCE(open->session, 0);
	open->forgot = session;
	/*
	 * And maybe others.  This one may have been in doubt already, but others have been known
	 * since, and the export may have been disabled once more after that.
	 */
	atomic_inc(&mnt->forgets);
	rdmafs_rules_doubt(mnt);
}

/* The server does not know any more what it has opened again for @half. */
static void rdmafs_open_half_unknown(struct rdmafs_open *open)
{
	struct rdmafs_inode *ri = RDMAFS_I(open->inode);

	lockdep_assert_held(&open->lock);
	/* It keeps the file for a while, until CLOSE names this stateid (rdmafs_open_end()). */
	spin_lock_irq(&ri->lock);
	WRITE_ONCE(open->stateid, open->half_id);
	rdmafs_open_forgot_locked(open, open->half);
	spin_unlock_irq(&ri->lock);
	open->half = 0;
}

/*
 * An export was started again within the session, maybe the open's (RFP_EVENT_RECLAIM).  If the
 * server knows the open, which may have been opened again since, it is not opened yet another time:
 * flock(2)'s locks would be in the way.  Taking its locks again tells.  What has no locks is found
 * out when it is used, by BADSTATE.
 */
static void rdmafs_open_in_doubt(struct rdmafs_open *open)
{
	struct rdmafs_inode *ri = RDMAFS_I(open->inode);
	int session, now;
	u64 stateid;

	lockdep_assert_held(&open->lock);
	spin_lock_irq(&ri->lock);
	session = open->session;
	stateid = open->stateid;
	spin_unlock_irq(&ri->lock);
	now = rdmafs_session_same(RDMAFS_M(open->inode->i_sb), open->half);
	if (!now) {
		now = rdmafs_session_same(RDMAFS_M(open->inode->i_sb), session);
		if (!now)
			return;
		open->half_id = stateid;
	}
	open->half = now;
}

/* Have the server open @open again, and take its locks again.  @user: as below. */
static int rdmafs_open_renew_locks(struct rdmafs_open *open, const struct rdmafs_op *user)
{
	unsigned int tries = 0;
	int err;

	do {
		err = rdmafs_open_renew_ask(open, user);
		if (!err)
			err = rdmafs_locks_reclaim(open, open->half_id, open->half, user);
		if (err != -RDMAFS_EBADSTATE)
			return err;
		/* Its export was disabled and enabled since. */
		rdmafs_open_half_unknown(open);
	} while (++tries < RDMAFS_OP_TRIES);
	return user ? -EIO : -EAGAIN;
}

/*
 * Open @open again if the server does not know it in the present session.
 * @user: the op that needs the open, not sent.  NULL: none does yet, so return -EAGAIN rather than
 * wait for anything but the answer.
 */
static int rdmafs_open_renew(struct rdmafs_open *open, const struct rdmafs_op *user)
{
	struct inode *inode = open->inode;
	struct rdmafs_mount *mnt = RDMAFS_M(inode->i_sb);
	int was = atomic_read(&mnt->forced);
	int err = 0;

	if (!user) {
		if (!mutex_trylock(&open->lock))
			return -EAGAIN;
	} else if (mutex_lock_killable(&open->lock)) {
		return -EINTR;
	}
	if (open->session == atomic_read(&mnt->session))
		goto out;
	/* umount -f ends waiters: it was called while this task waited for the lock. */
	if (was != atomic_read(&mnt->forced)) {
		err = -EIO;
		goto out;
	}
	rdmafs_open_in_doubt(open);
	err = rdmafs_open_renew_locks(open, user);
	/*
	 * After an error the server still has the file open for @half, with locks that were taken
	 * again by now: flock(2)'s would be in the way if the file was opened yet another time.
	 */
	if (!err) {
		spin_lock_irq(&RDMAFS_I(inode)->lock);
		WRITE_ONCE(open->stateid, open->half_id);
		/* Pairs with the acquire in rdmafs_open_ready(). */
		smp_store_release(&open->session, open->half);
		spin_unlock_irq(&RDMAFS_I(inode)->lock);
		open->half = 0;
		/* Other clients may have changed the file while it was not open. */
		rdmafs_attr_expire(inode);
	}
out:
	mutex_unlock(&open->lock);
	return err;
}

/**
 * rdmafs_open_ready - make sure that the server knows an open
 * @open: the open
 * @user: the op that needs it, not sent: an umount -f since it was made ends the wait, and so does
 *	  its deadline
 *
 * Context: process, may sleep; takes open->lock.
 * Return: 0, -EINTR, or the errno with which opening it again failed.
 */
int rdmafs_open_ready(struct rdmafs_open *open, const struct rdmafs_op *user)
{
	struct rdmafs_mount *mnt = RDMAFS_M(open->inode->i_sb);

	/* Pairs with the release in rdmafs_open_renew(): the stateid is of that session. */
	if (likely(smp_load_acquire(&open->session) == atomic_read(&mnt->session)))
		return 0;
	return rdmafs_open_renew(open, user);
}

/**
 * rdmafs_open_unknown - note that the server does not know an open
 * @open:    the open
 * @session: the session in which the server said so
 * @stateid: the stateid that the server did not know
 *
 * An open that has been opened again since, in @session or in another one, is left as it is.
 *
 * Context: process; takes rdmafs_inode.lock.
 */
void rdmafs_open_unknown(struct rdmafs_open *open, int session, u64 stateid)
{
	struct rdmafs_inode *ri = RDMAFS_I(open->inode);

	spin_lock_irq(&ri->lock);
	if (open->session == session && open->stateid == stateid)
		rdmafs_open_forgot_locked(open, session);
	spin_unlock_irq(&ri->lock);
}

/**
 * rdmafs_open_again - open again after the loss of a session, before a user needs it
 * @open: the open
 *
 * Context: a worker.
 * Return: 0; -EAGAIN if it is busy, if there is a shortage of memory, if the export is not served,
 * or if the answer did not come in a soft mount's time: try again later; or another errno with
 * which opening it again failed.
 */
int rdmafs_open_again(struct rdmafs_open *open)
{
	return rdmafs_open_renew(open, NULL);
}

/**
 * rdmafs_open_get - take another reference
 * @open: an open to which the caller has a reference
 *
 * Context: any.
 * Return: @open.
 */
struct rdmafs_open *rdmafs_open_get(struct rdmafs_open *open)
{
	refcount_inc(&open->ref);
	return open;
}

/**
 * rdmafs_open_find - find an open of a file that has one of some flags
 * @inode: the file
 * @flags: RFP_OPEN_*, of which the open has to have one
 *
 * Context: any; takes rdmafs_inode.lock.
 * Return: an open, referenced, or NULL.
 */
struct rdmafs_open *rdmafs_open_find(struct inode *inode, u32 flags)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	struct rdmafs_open *found;
	unsigned long irq;

	spin_lock_irqsave(&ri->lock, irq);
	found = rdmafs_open_find_locked(ri, flags);
	spin_unlock_irqrestore(&ri->lock, irq);
	return found;
}

static struct rdmafs_op *rdmafs_close_new(struct rdmafs_super *super, struct rdmafs_cred *cred,
					  u64 stateid, enum rdmafs_pool pool)
{
	struct rfp_close_req *req;
	struct rdmafs_op *op;

	op = rdmafs_op_new_cred(super, RFP_CLOSE, sizeof(*req), cred, pool);
	if (!op)
		return NULL;
	req = (struct rfp_close_req *)op->req;
	req->stateid = cpu_to_le64(stateid);
	return op;
}

/* Send CLOSE and wait; false if this task could not send it, so that a worker has to. */
static bool rdmafs_open_close(struct rdmafs_super *super, struct rdmafs_cred *cred, u64 stateid,
			      enum rdmafs_pool pool)
{
	struct rdmafs_op *op = rdmafs_close_new(super, cred, stateid, pool);
	bool sent;
	int err;

	if (!op)
		return false;
	err = rdmafs_op_run(op);
	sent = op->sent || (err != -EINTR && err != -EAGAIN);
	rdmafs_op_put(op);
	return sent;
}

/* The answer does not matter: the server has closed the open, or does not know it. */
static void rdmafs_close_done(struct rdmafs_xprt_call *call)
{
	rdmafs_op_put(container_of(call, struct rdmafs_op, call));
}

/* Send CLOSE and do not wait; false if it could not be sent at once. */
static bool rdmafs_open_close_nowait(struct rdmafs_super *super, struct rdmafs_open *open)
{
	struct rdmafs_op *op = rdmafs_close_new(super, open->cred, open->stateid,
						RDMAFS_POOL_NONE);
	int err;

	if (!op)
		return false;
	op->call.done = rdmafs_close_done;
	op->call.flags |= RDMAFS_CALL_NOWAIT;
	err = rdmafs_op_prepare(op, true);
	/* Unmounting waits for this call: rdmafs_xprt_close() does so for calls in flight. */
	if (!err)
		err = rdmafs_xprt_submit(super->mnt->xprt, &op->call);
	if (err)
		rdmafs_op_put(op);
	return !err;
}

static void rdmafs_open_free(struct rdmafs_open *open)
{
	struct rdmafs_super *super = RDMAFS_S(open->inode->i_sb);
	struct rdmafs_mount *mnt = super->mnt;

	spin_lock(&mnt->opens_lock);
	list_del(&open->all);
	spin_unlock(&mnt->opens_lock);
	if (open->cred)
		rdmafs_cred_put(open->cred);
	iput(open->inode);
	kfree(open);
	rdmafs_opens_dec(super);
}

/* Send CLOSE if there is anything to close.  @wait: a worker.  False: left to a worker. */
static bool rdmafs_open_end(struct rdmafs_open *open, bool wait)
{
	struct rdmafs_super *super = RDMAFS_S(open->inode->i_sb);
	struct rdmafs_mount *mnt = super->mnt;
	int session = atomic_read(&mnt->session);

	/* It was opened again, but was of no use yet when its last user put it. */
	if (open->session != session && rdmafs_session_same(mnt, open->half)) {
		open->stateid = open->half_id;
		open->session = session;
	}
	/*
	 * CLOSE can't name an open of an older session.  But the server keeps the file of an open
	 * that it forgot in the present session, for the client to open it again: CLOSE tells it
	 * that the client will not.
	 */
	if (!rdmafs_session_same(mnt, open->session ?: open->forgot))
		return true;
	/* A killed task must not wait for memory, which others may hold for long; a worker may. */
	if (wait || !open->inode->i_nlink)
		return rdmafs_open_close(super, open->cred, open->stateid,
					 wait ? RDMAFS_POOL_COMMON : RDMAFS_POOL_NONE);
	return rdmafs_open_close_nowait(super, open);
}

/* A worker can't be killed, so that CLOSE reaches the server if it can be reached at all. */
static void rdmafs_open_work(struct work_struct *work)
{
	struct rdmafs_open *open = container_of(work, struct rdmafs_open, work);

	rdmafs_open_end(open, true);
	rdmafs_open_free(open);
}

static bool rdmafs_open_unlink(struct rdmafs_open *open)
{
	struct rdmafs_inode *ri = RDMAFS_I(open->inode);
	struct rdmafs_cred *cred = NULL;
	unsigned long irq;

	/* This is refcount_dec_and_lock_irqsave(); sparse does not know that it may lock. */
	if (refcount_dec_not_one(&open->ref))
		return false;
	spin_lock_irqsave(&ri->lock, irq);
	if (!refcount_dec_and_test(&open->ref)) {
		spin_unlock_irqrestore(&ri->lock, irq);
		return false;
	}
	list_del_init(&open->link);
	/*
	 * This may be the last open, and pages may become dirty after it: rdmafs_open_late().  A
	 * holder of ri->lock finds the open either in the list or in ri->late.
	 */
	if ((open->flags & RFP_OPEN_WRITE) && test_bit(RDMAFS_I_STORED, &ri->flags)) {
		cred = rdmafs_cred_get(open->cred);
		swap(cred, ri->late.cred);
		ri->late.proof = open->proof;
		ri->late.flags = open->flags;
	}
	spin_unlock_irqrestore(&ri->lock, irq);
	if (cred)
		rdmafs_cred_put(cred);
	return true;
}

/**
 * rdmafs_open_put - drop a reference; a worker closes the open if it was the last
 * @open: the open
 *
 * Context: any.
 */
void rdmafs_open_put(struct rdmafs_open *open)
{
	if (rdmafs_open_unlink(open))
		queue_work(RDMAFS_M(open->inode->i_sb)->io_wq, &open->work);
}

/**
 * rdmafs_open_put_sync - drop a reference; if it was the last, CLOSE is sent
 * @open: the open
 *
 * When this returns a file without a name is closed and its space is free, unless CLOSE had to be
 * left to a worker.
 *
 * Context: process, may sleep.
 */
void rdmafs_open_put_sync(struct rdmafs_open *open)
{
	if (!rdmafs_open_unlink(open))
		return;
	if (rdmafs_open_end(open, false))
		rdmafs_open_free(open);
	else
		queue_work(RDMAFS_M(open->inode->i_sb)->io_wq, &open->work);
}

static void rdmafs_close_work(struct work_struct *work)
{
	struct rdmafs_op *op = container_of(work, struct rdmafs_op, work);
	struct rdmafs_mount *mnt = op->mnt;

	rdmafs_op_run(op);
	rdmafs_op_put(op);
	rdmafs_opens_dec(&mnt->super);
}

/**
 * rdmafs_open_undo - have a worker close what an op has opened and no task will use
 * @op: an OPEN, CREATE or TMPFILE that was answered
 *
 * Only the stateid of the reply need be sound.  The server keeps the open until the client
 * closes it, or until the session ends.
 *
 * Context: process, may sleep for memory; the task may have been killed.
 */
void rdmafs_open_undo(struct rdmafs_op *op)
{
	const struct rfp_open_rep *rep = (const struct rfp_open_rep *)op->rep;
	struct rdmafs_mount *mnt = op->mnt;
	struct rdmafs_op *close;

	if (op->call.status || op->call.reply_len < sizeof(*rep) || rep->rep.status)
		return;
	close = rdmafs_close_new(&mnt->super, op->cred, le64_to_cpu(rep->stateid),
				 RDMAFS_POOL_STRAY);
	/* It may be a file of one below, which does not wait for this and may be gone by then. */
	close->super = NULL;
	atomic_inc(&mnt->super.nr_opens);
	INIT_WORK(&close->work, rdmafs_close_work);
	queue_work(mnt->io_wq, &close->work);
}
