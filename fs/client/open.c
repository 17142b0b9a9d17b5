// SPDX-License-Identifier: GPL-2.0
/*
 * Opens: the server's open state, as long as anything needs it.
 *
 * Every open(2) of a regular file has its own.  Reads and writes name it and
 * are done with the credentials of the opener, so that permissions are not
 * asked for again, not by writeback either.  When the server has lost it, it
 * is opened again by its handle before the next use, and with the proof that
 * came with it, so that permissions are not asked for then either.  Workers
 * do so for all that is open as soon as there is a new session (reclaim.c).
 *
 * An open goes when the last of its users goes: the struct file, or a read or
 * write that a killed task left behind.  CLOSE has nothing to say that anyone
 * could use, so it is sent and not waited for; only where the file itself goes
 * with it, its last name being gone, one waits, because close(2) has to give
 * back the space.  What can't be sent at once, or for want of memory not at all, is left
 * to a worker: a task that closes because it was killed waits for nothing, and who may not
 * sleep can't.
 */
#include <linux/slab.h>
#include "client.h"

static void rdmafs_open_work(struct work_struct *work);

/**
 * rdmafs_opens_dec - one thing less for which unmounting waits
 * @mnt: the mount, whose nr_opens was raised; may be gone after this
 *
 * Context: any.
 */
void rdmafs_opens_dec(struct rdmafs_mount *mnt)
{
	if (atomic_dec_and_test(&mnt->nr_opens))
		wake_up_all(&mnt->opens_wait);
}

/**
 * rdmafs_open_new - record an open that the server has granted
 * @inode:   the file; a reference is taken
 * @cred:    the opener's; a reference is taken
 * @flags:   RFP_OPEN_*
 * @rep:     how the server calls it
 * @session: in which session
 *
 * Return: the open, or -ENOMEM (the caller closes it).
 */
struct rdmafs_open *rdmafs_open_new(struct inode *inode, struct rdmafs_cred *cred, u32 flags,
				    const struct rfp_open_rep *rep, int session)
{
	struct rdmafs_mount *mnt = RDMAFS_M(inode->i_sb);
	struct rdmafs_inode *ri = RDMAFS_I(inode);
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
	mutex_init(&open->lock);
	INIT_WORK(&open->work, rdmafs_open_work);
	atomic_inc(&mnt->nr_opens);

	open->asked = session;
	spin_lock(&mnt->opens_lock);
	if (session == atomic_read(&mnt->session)) {
		list_add_tail(&open->all, &mnt->opens);
	} else {
		/* Lost on its way. */
		list_add(&open->all, &mnt->opens);
		rdmafs_opens_reclaim(mnt);
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

	lockdep_assert_held(&ri->lock);
	list_for_each_entry(open, &ri->opens, link)
		if ((open->flags & flags) && refcount_inc_not_zero(&open->ref))
			return open;
	return NULL;
}

/**
 * rdmafs_open_late - an open for pages that became dirty after the last close
 * @inode: the file
 *
 * Who has pinned pages of a mapping, a direct read into it, say, may be done with them
 * when nobody has the file open any more.  They are written by the right of the last one
 * who had, which he can prove: rdmafs_open_ready() does.
 *
 * Context: writeback; must not drop a reference to the inode.
 * Return: the open, referenced; NULL: nobody ever stored into a mapping.
 */
struct rdmafs_open *rdmafs_open_late(struct inode *inode)
{
	struct rdmafs_mount *mnt = RDMAFS_M(inode->i_sb);
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	struct rdmafs_open *open, *found;

	if (READ_ONCE(mnt->no_late) || !test_bit(RDMAFS_I_STORED, &ri->flags) || !igrab(inode))
		return rdmafs_open_find(inode, RFP_OPEN_WRITE);
	open = kzalloc(sizeof(*open), GFP_NOFS | __GFP_NOFAIL);
	refcount_set(&open->ref, 1);
	open->inode = inode;
	INIT_LIST_HEAD(&open->link);
	INIT_LIST_HEAD(&open->all);
	mutex_init(&open->lock);
	INIT_WORK(&open->work, rdmafs_open_work);
	atomic_inc(&mnt->nr_opens);
	spin_lock_irq(&ri->lock);
	/* Somebody else may have made it just now. */
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
 * rdmafs_open_late_forget - the inode goes
 * @ri: it
 */
void rdmafs_open_late_forget(struct rdmafs_inode *ri)
{
	if (ri->late.cred)
		rdmafs_cred_put(ri->late.cred);
	ri->late.cred = NULL;
}

/**
 * rdmafs_open_rep_check - is what a server says of an open sound?
 * @rep: it
 * @may: RFP_OPEN_... that it may say
 *
 * Context: any.
 * Return: 0 or -EIO.
 */
int rdmafs_open_rep_check(const struct rfp_open_rep *rep, u32 may)
{
	return rep->pad || (le32_to_cpu(rep->flags) & ~may) ? -EIO : 0;
}

/* Ask the server; the reply's parts are only valid if 0 is returned. */
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

/**
 * rdmafs_open_send - open a file by its handle
 * @inode: the file
 * @flags: RFP_OPEN_*
 * @openp: the open
 *
 * Takes over the attributes that the server returns.
 *
 * Return: 0 or a negative errno.
 */
int rdmafs_open_send(struct inode *inode, u32 flags, struct rdmafs_open **openp)
{
	struct rdmafs_mount *mnt = RDMAFS_M(inode->i_sb);
	const struct rfp_open_rep *rep;
	const struct rfp_attr *attr;
	struct rdmafs_open *open;
	struct rdmafs_op *op;
	int err;

	op = rdmafs_op_new(mnt, RFP_OPEN, sizeof(struct rfp_open_req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	err = rdmafs_open_ask(op, inode, flags, (struct rfp_proof){}, &rep, &attr);
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

/*
 * @brief: -EAGAIN rather than wait for anything but the answer.
 * @forced: of the op that needs it.
 */
static int rdmafs_open_renew(struct rdmafs_open *open, bool brief, int forced)
{
	struct inode *inode = open->inode;
	struct rdmafs_mount *mnt = RDMAFS_M(inode->i_sb);
	const struct rfp_open_rep *rep;
	const struct rfp_attr *attr;
	int was = atomic_read(&mnt->forced);
	struct rdmafs_op *op;
	int err = 0;

	if (brief) {
		if (!mutex_trylock(&open->lock))
			return -EAGAIN;
	} else if (mutex_lock_killable(&open->lock)) {
		return -EINTR;
	}
	if (open->session == atomic_read(&mnt->session))
		goto out;
	/* Who waited here when umount -f was called is one of those that it ends. */
	if (was != atomic_read(&mnt->forced)) {
		err = -EIO;
		goto out;
	}
	op = rdmafs_op_new_cred(mnt, RFP_OPEN, sizeof(struct rfp_open_req), open->cred,
				RDMAFS_POOL_REOPEN);
	op->brief = brief;
	op->forced = forced;
	err = rdmafs_open_ask(op, inode, open->flags, open->proof, &rep, &attr);
	if (!err) {
		spin_lock_irq(&RDMAFS_I(inode)->lock);
		WRITE_ONCE(open->stateid, le64_to_cpu(rep->stateid));
		open->proof = rep->proof;
		/* Pairs with the acquire in rdmafs_open_ready(). */
		smp_store_release(&open->session, op->answered);
		spin_unlock_irq(&RDMAFS_I(inode)->lock);
		/* What happened meanwhile is not known. */
		rdmafs_attr_expire(inode);
	}
	rdmafs_op_put(op);
out:
	mutex_unlock(&open->lock);
	return err;
}

/**
 * rdmafs_open_ready - make sure that the server knows an open
 * @open:   the open
 * @forced: of the op that needs it: umount -f ends both
 *
 * Return: 0, -EINTR, or why it can't be opened again.
 */
int rdmafs_open_ready(struct rdmafs_open *open, int forced)
{
	struct rdmafs_mount *mnt = RDMAFS_M(open->inode->i_sb);

	/* Pairs with the release above: the stateid is that session's. */
	if (likely(smp_load_acquire(&open->session) == atomic_read(&mnt->session)))
		return 0;
	return rdmafs_open_renew(open, false, forced);
}

/**
 * rdmafs_open_unknown - the server has said that it does not know an open
 * @open:    the open
 * @session: in which session it was asked
 * @stateid: by which name
 *
 * If it was opened again since, in that session or another, it is left as it is.
 *
 * Context: process.
 */
void rdmafs_open_unknown(struct rdmafs_open *open, int session, u64 stateid)
{
	struct rdmafs_inode *ri = RDMAFS_I(open->inode);

	spin_lock_irq(&ri->lock);
	if (open->session == session && open->stateid == stateid) {
		WRITE_ONCE(open->session, 0);
		open->forgot = session;
	}
	spin_unlock_irq(&ri->lock);
}

/**
 * rdmafs_open_again - open again what nobody has asked for yet
 * @open: the open
 *
 * Context: a worker.
 * Return: 0; -EAGAIN: it is busy at present; or why it can't be opened again.
 */
int rdmafs_open_again(struct rdmafs_open *open)
{
	struct rdmafs_mount *mnt = RDMAFS_M(open->inode->i_sb);

	return rdmafs_open_renew(open, true, atomic_read(&mnt->forced));
}

/**
 * rdmafs_open_get - take another reference
 * @open: an open that the caller refers to
 *
 * Return: @open.
 */
struct rdmafs_open *rdmafs_open_get(struct rdmafs_open *open)
{
	refcount_inc(&open->ref);
	return open;
}

/**
 * rdmafs_open_find - some open of a file that allows what is wanted
 * @inode: the file
 * @flags: any of RFP_OPEN_*
 *
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

static struct rdmafs_op *rdmafs_close_new(struct rdmafs_mount *mnt, struct rdmafs_cred *cred,
					  u64 stateid, enum rdmafs_pool pool)
{
	struct rfp_close_req *req;
	struct rdmafs_op *op;

	op = rdmafs_op_new_cred(mnt, RFP_CLOSE, sizeof(*req), cred, pool);
	if (!op)
		return NULL;
	req = (struct rfp_close_req *)op->req;
	req->stateid = cpu_to_le64(stateid);
	return op;
}

/* Tell the server and wait; false if it could not be sent in this task. */
static bool rdmafs_open_close(struct rdmafs_mount *mnt, struct rdmafs_cred *cred, u64 stateid,
			      enum rdmafs_pool pool)
{
	struct rdmafs_op *op = rdmafs_close_new(mnt, cred, stateid, pool);
	bool sent;
	int err;

	if (!op)
		return false;
	err = rdmafs_op_run(op);
	sent = op->sent || (err != -EINTR && err != -EAGAIN);
	rdmafs_op_put(op);
	return sent;
}

/* Whatever the answer is: the server has closed it, or does not know it. */
static void rdmafs_close_done(struct rdmafs_xprt_call *call)
{
	rdmafs_op_put(container_of(call, struct rdmafs_op, call));
}

/* Tell the server; false if it could not be sent at once. */
static bool rdmafs_open_close_nowait(struct rdmafs_mount *mnt, struct rdmafs_open *open)
{
	struct rdmafs_op *op = rdmafs_close_new(mnt, open->cred, open->stateid,
						RDMAFS_POOL_NONE);
	int err;

	if (!op)
		return false;
	op->call.done = rdmafs_close_done;
	op->call.flags |= RDMAFS_CALL_NOWAIT;
	err = rdmafs_op_prepare(op, true);
	/* Unmounting waits for it: transport closes when no call is in flight. */
	if (!err)
		err = rdmafs_xprt_submit(mnt->xprt, &op->call);
	if (err)
		rdmafs_op_put(op);
	return !err;
}

static void rdmafs_open_free(struct rdmafs_open *open)
{
	struct rdmafs_mount *mnt = RDMAFS_M(open->inode->i_sb);

	spin_lock(&mnt->opens_lock);
	list_del(&open->all);
	spin_unlock(&mnt->opens_lock);
	if (open->cred)
		rdmafs_cred_put(open->cred);
	iput(open->inode);
	kfree(open);
	rdmafs_opens_dec(mnt);
}

/* True if there is nothing to close (any more). */
static bool rdmafs_open_end(struct rdmafs_open *open, bool wait)
{
	struct rdmafs_mount *mnt = RDMAFS_M(open->inode->i_sb);
	int session = atomic_read(&mnt->session);

	/* What the server forgot in this very session it keeps for us: we do not come back. */
	if (open->session != session && (open->session || open->forgot != session))
		return true;
	/* A worker waits for memory.  Who was killed must not: others may have it for long. */
	if (wait || !open->inode->i_nlink)
		return rdmafs_open_close(mnt, open->cred, open->stateid,
					 wait ? RDMAFS_POOL_COMMON : RDMAFS_POOL_NONE);
	return rdmafs_open_close_nowait(mnt, open);
}

/* A worker: nobody kills it, so that CLOSE gets through if anything does. */
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

	/* refcount_dec_and_lock_irqsave(), of which sparse does not know that it may lock */
	if (refcount_dec_not_one(&open->ref))
		return false;
	spin_lock_irqsave(&ri->lock, irq);
	if (!refcount_dec_and_test(&open->ref)) {
		spin_unlock_irqrestore(&ri->lock, irq);
		return false;
	}
	list_del_init(&open->link);
	/*
	 * It may be the last, and pages may be dirtied yet: rdmafs_open_late().  Who holds
	 * the lock finds it in the list or here.
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
 * rdmafs_open_put - drop a reference
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
 * When this returns, a file without a name is closed and gone.
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
	rdmafs_opens_dec(mnt);
}

/**
 * rdmafs_open_undo - have a worker close what nobody will use
 * @op: an OPEN or CREATE that was answered
 *
 * The rest of its reply need not be sound: the server keeps what it has opened until it is
 * asked to close it, or the session ends.
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
	close = rdmafs_close_new(mnt, op->cred, le64_to_cpu(rep->stateid), RDMAFS_POOL_STRAY);

	atomic_inc(&mnt->nr_opens);
	INIT_WORK(&close->work, rdmafs_close_work);
	queue_work(mnt->io_wq, &close->work);
}
