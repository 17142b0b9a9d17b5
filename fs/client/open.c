// SPDX-License-Identifier: GPL-2.0
/*
 * Opens: the server's open state, as long as anything needs it.
 *
 * Every open(2) of a regular file has its own.  Reads and writes name it and
 * are done with the credentials of the opener, so that permissions are not
 * asked for again, not by writeback either.  When the server has lost it, it
 * is opened again by its handle before the next use.
 *
 * An open goes when the last of its users goes: the struct file, or a read or
 * write that a killed task left behind.  CLOSE has nothing to say that anyone
 * could use, so it is sent and not waited for; only where the file itself goes
 * with it, its last name being gone, one waits, because close(2) has to give
 * back the space.  Who may not sleep leaves it to a worker, and so does a task
 * that was killed, for it can't send.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "client.h"

static void rdmafs_open_work(struct work_struct *work);

static void rdmafs_opens_dec(struct rdmafs_mount *mnt)
{
	if (atomic_dec_and_test(&mnt->nr_opens))
		wake_up_all(&mnt->opens_wait);
}

/**
 * rdmafs_open_new - record an open that the server has granted
 * @inode:   the file; a reference is taken
 * @cred:    the opener's; a reference is taken
 * @flags:   RFP_OPEN_*
 * @stateid: the server's name for it
 * @session: in which session
 *
 * Return: the open, or -ENOMEM (the caller closes @stateid).
 */
struct rdmafs_open *rdmafs_open_new(struct inode *inode, struct rdmafs_cred *cred, u32 flags,
				    u64 stateid, int session)
{
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
	open->stateid = stateid;
	open->session = session;
	mutex_init(&open->lock);
	INIT_WORK(&open->work, rdmafs_open_work);
	atomic_inc(&RDMAFS_M(inode->i_sb)->nr_opens);

	spin_lock_irq(&ri->lock);
	list_add_tail(&open->link, &ri->opens);
	spin_unlock_irq(&ri->lock);
	return open;
}

/* Ask the server; the reply's parts are only valid if 0 is returned. */
static int rdmafs_open_ask(struct rdmafs_op *op, struct inode *inode, u32 flags,
			   u64 *stateid, const struct rfp_attr **attr)
{
	struct rfp_open_req *req = (struct rfp_open_req *)op->req;
	const struct rfp_open_rep *rep;
	struct rfp_dec dec;
	int err;

	req->flags = cpu_to_le32(flags);
	rfp_enc_fh(&op->enc, &RDMAFS_I(inode)->fh);
	op->closes = true;
	err = rdmafs_op_run(op);
	if (err)
		return err;
	rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
	*attr = rfp_dec_fixed(&dec, sizeof(**attr));
	if (rfp_dec_end(&dec))
		return -EIO;
	*stateid = le64_to_cpu(rep->stateid);
	err = rdmafs_attr_check(inode->i_sb, *attr);
	if (err)
		rdmafs_open_close_stray(op->mnt, op->cred, *stateid);
	return err;
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
	const struct rfp_attr *attr;
	struct rdmafs_open *open;
	struct rdmafs_op *op;
	u64 stateid;
	int err;

	op = rdmafs_op_new(mnt, RFP_OPEN, sizeof(struct rfp_open_req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	err = rdmafs_open_ask(op, inode, flags, &stateid, &attr);
	if (err)
		goto out;
	rdmafs_attr_fresh(inode, attr, op->clock);
	open = rdmafs_open_new(inode, op->cred, flags, stateid, op->session);
	if (IS_ERR(open)) {
		rdmafs_open_close_stray(mnt, op->cred, stateid);
		err = PTR_ERR(open);
	} else {
		*openp = open;
	}
out:
	rdmafs_op_put(op);
	return err;
}

/**
 * rdmafs_open_ready - make sure that the server knows an open
 * @open: the open
 *
 * Return: 0, -EINTR, or why it can't be opened again.
 */
int rdmafs_open_ready(struct rdmafs_open *open)
{
	struct inode *inode = open->inode;
	struct rdmafs_mount *mnt = RDMAFS_M(inode->i_sb);
	const struct rfp_attr *attr;
	struct rdmafs_op *op;
	u64 stateid;
	int err = 0;

	/* Pairs with the release below: the stateid is that session's. */
	if (likely(smp_load_acquire(&open->session) == atomic_read(&mnt->session)))
		return 0;
	if (mutex_lock_killable(&open->lock))
		return -EINTR;
	if (open->session == atomic_read(&mnt->session))
		goto out;
	op = rdmafs_op_new_cred(mnt, RFP_OPEN, sizeof(struct rfp_open_req), open->cred,
				RDMAFS_POOL_NESTED);
	err = rdmafs_open_ask(op, inode, open->flags, &stateid, &attr);
	if (!err) {
		WRITE_ONCE(open->stateid, stateid);
		/* Pairs with the acquire above. */
		smp_store_release(&open->session, op->session);
		/* What happened meanwhile is not known. */
		rdmafs_attr_expire(inode);
	}
	rdmafs_op_put(op);
out:
	mutex_unlock(&open->lock);
	return err;
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
	struct rdmafs_open *open, *found = NULL;
	unsigned long irq;

	spin_lock_irqsave(&ri->lock, irq);
	list_for_each_entry(open, &ri->opens, link) {
		if ((open->flags & flags) && refcount_inc_not_zero(&open->ref)) {
			found = open;
			break;
		}
	}
	spin_unlock_irqrestore(&ri->lock, irq);
	return found;
}

static struct rdmafs_op *rdmafs_close_new(struct rdmafs_mount *mnt, struct rdmafs_cred *cred,
					  u64 stateid)
{
	struct rfp_close_req *req;
	struct rdmafs_op *op;

	op = rdmafs_op_new_cred(mnt, RFP_CLOSE, sizeof(*req), cred, RDMAFS_POOL_COMMON);
	req = (struct rfp_close_req *)op->req;
	req->stateid = cpu_to_le64(stateid);
	return op;
}

/* Tell the server and wait; false if it could not be sent because the task was killed. */
static bool rdmafs_open_close(struct rdmafs_mount *mnt, struct rdmafs_cred *cred, u64 stateid)
{
	struct rdmafs_op *op = rdmafs_close_new(mnt, cred, stateid);
	bool sent;
	int err;

	err = rdmafs_op_run(op);
	sent = op->sent || err != -EINTR;
	rdmafs_op_put(op);
	return sent;
}

/* Whatever the answer is: the server has closed it, or does not know it. */
static void rdmafs_close_done(struct rdmafs_xprt_call *call)
{
	rdmafs_op_put(container_of(call, struct rdmafs_op, call));
}

/* Tell the server; false if it could not be sent. */
static bool rdmafs_open_close_nowait(struct rdmafs_mount *mnt, struct rdmafs_open *open)
{
	struct rdmafs_op *op = rdmafs_close_new(mnt, open->cred, open->stateid);
	int err;

	op->call.done = rdmafs_close_done;
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

	rdmafs_cred_put(open->cred);
	iput(open->inode);
	kfree(open);
	rdmafs_opens_dec(mnt);
}

/* True if there is nothing to close (any more). */
static bool rdmafs_open_end(struct rdmafs_open *open, bool wait)
{
	struct rdmafs_mount *mnt = RDMAFS_M(open->inode->i_sb);

	if (open->session != atomic_read(&mnt->session))
		return true;
	if (wait || !open->inode->i_nlink)
		return rdmafs_open_close(mnt, open->cred, open->stateid);
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
	unsigned long irq;

	if (!refcount_dec_and_test(&open->ref))
		return false;
	spin_lock_irqsave(&ri->lock, irq);
	list_del_init(&open->link);
	spin_unlock_irqrestore(&ri->lock, irq);
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
		queue_work(rdmafs_wq, &open->work);
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
	if (!fatal_signal_pending(current) && rdmafs_open_end(open, false))
		rdmafs_open_free(open);
	else
		queue_work(rdmafs_wq, &open->work);
}

/**
 * rdmafs_open_close_stray - close what nobody will use
 * @mnt:     the mount
 * @cred:    the opener's
 * @stateid: as the server returned it
 *
 * Context: process, may sleep.  If the task has been killed, the server keeps
 * the state until the session ends.
 */
void rdmafs_open_close_stray(struct rdmafs_mount *mnt, struct rdmafs_cred *cred, u64 stateid)
{
	rdmafs_open_close(mnt, cred, stateid);
}
