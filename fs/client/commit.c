// SPDX-License-Identifier: GPL-2.0
/*
 * Stability: a page is clean when the server's disk has it, not before.
 *
 * netfs knows no commit phase, so an UNSTABLE answer does not end its subrequest.
 * The op waits on the inode's list, its folios under writeback, until a COMMIT has
 * been answered.  If the answer has the verifier of the write, the subrequest ends.
 * If it has another one, the server may have lost the data, and the op writes it
 * again, from the same folios, this time DATA_SYNC.
 *
 * COMMIT goes out when no write of the inode is being issued or in flight; when
 * RDMAFS_COMMIT_BYTES wait for it; and after RDMAFS_COMMIT_DELAY in any case, as a
 * writepages under way may itself wait for a folio on the list.
 *
 * A lone write needs no COMMIT.  writepages holds each write back until the next one
 * comes, and the last one until its end, where it is known whether it is the only
 * one.  If so, it goes DATA_SYNC (FILE_SYNC if fsync waits), in one round trip.  No task
 * that writepages may wait for waits for a folio of the held write: writepages only
 * meets folios behind it, and a task that holds the lock of one of these waits at
 * most for the writeback of that same folio.
 *
 * COMMIT is sent by a worker, on io_wq.
 *
 * Ownership: an op on the list keeps the inode, through its folios; after the last op
 * has ended, the inode must not be touched.  rdmafs_inode.lock guards the list, the held
 * op and the counts.
 */
#include <linux/slab.h>
#include "client.h"
#include "op.h"
#include "open.h"
#include "transport/points.h"

/* Have a worker send COMMIT at once. */
static void rdmafs_commit_kick(struct rdmafs_inode *ri)
{
	mod_delayed_work(RDMAFS_M(ri->netfs.inode.i_sb)->io_wq, &ri->commit_work, 0);
}

/* Do writes wait for a COMMIT, and none is being issued or in flight? */
static bool rdmafs_commit_idle_locked(struct rdmafs_inode *ri)
{
	lockdep_assert_held(&ri->lock);
	return !ri->issuing && !ri->inflight && !list_empty(&ri->uncommitted);
}

/* Give the subrequest back to netfs; the inode may be gone after this. */
static void rdmafs_commit_end_subreq(struct rdmafs_op *op, int err)
{
	struct netfs_io_subrequest *subreq = op->io.priv;
	ssize_t done = op->io.done;

	/* netfs marks the pages clean, but the server does not have their data: drop them. */
	if (err)
		rdmafs_pages_stale(op->open->inode);
	rdmafs_op_put(op);
	netfs_write_subrequest_terminated(subreq, err ? err : done, true);
}

/* A write of writepages has been answered; any context. */
static void rdmafs_commit_finish(struct rdmafs_op *op, int err)
{
	struct rdmafs_inode *ri = RDMAFS_I(op->open->inode);
	bool unstable = !err && op->io.answered;
	bool first, due;
	unsigned long irq;

	spin_lock_irqsave(&ri->lock, irq);
	ri->inflight--;
	first = list_empty(&ri->uncommitted);
	if (unstable) {
		list_add_tail(&op->io.link, &ri->uncommitted);
		ri->uncommitted_bytes += op->io.len;
	}
	due = rdmafs_commit_idle_locked(ri) || ri->uncommitted_bytes >= RDMAFS_COMMIT_BYTES;
	if (due)
		rdmafs_commit_kick(ri);
	else if (unstable && first)
		queue_delayed_work(op->mnt->io_wq, &ri->commit_work, RDMAFS_COMMIT_DELAY);
	spin_unlock_irqrestore(&ri->lock, irq);
	if (!unstable)
		rdmafs_commit_end_subreq(op, err);
}

/* Send a write from its beginning; it counts in @inflight already. */
static void rdmafs_commit_write(struct rdmafs_op *op, u32 stable)
{
	op->io.stable = stable;
	op->io.done = 0;
	op->io.answered = false;
	op->io.mixed = false;
	op->tries = 0;
	op->waits = 0;
	rdmafs_io_start(op, false);
}

/* Send the held write, though it is not known whether it is the only one. */
static void rdmafs_commit_unhold(struct rdmafs_inode *ri)
{
	struct rdmafs_op *op;

	spin_lock_irq(&ri->lock);
	op = ri->held;
	ri->held = NULL;
	if (op)
		ri->inflight++;
	spin_unlock_irq(&ri->lock);
	if (op)
		rdmafs_commit_write(op, RFP_UNSTABLE);
}

/**
 * rdmafs_commit_issue - write the data of a subrequest of writepages
 * @open:   an open for writing
 * @subreq: the subrequest; it is terminated when its data is stable, or has failed
 *
 * Between rdmafs_commit_begin() and rdmafs_commit_end() the write is held, and the one held before
 * is sent.
 *
 * Context: process, may sleep for memory; takes rdmafs_inode.lock.
 */
void rdmafs_commit_issue(struct rdmafs_open *open, struct netfs_io_subrequest *subreq)
{
	struct rdmafs_inode *ri = RDMAFS_I(open->inode);
	struct rdmafs_op *op;

	/* A held write gives back its memory only if it is sent: so send it before waiting. */
	op = rdmafs_io_new(open, true, RDMAFS_POOL_NONE);
	if (!op) {
		rdmafs_commit_unhold(ri);
		op = rdmafs_io_new(open, true, RDMAFS_POOL_WRITE);
	}
	op->io.iter = subreq->io_iter;
	op->io.pos = subreq->start + subreq->transferred;
	op->io.len = iov_iter_count(&subreq->io_iter);
	op->patient = true;
	op->io.finish = rdmafs_commit_finish;
	op->io.priv = subreq;

	spin_lock_irq(&ri->lock);
	if (ri->issuing)
		swap(op, ri->held);
	if (op)
		ri->inflight++;
	spin_unlock_irq(&ri->lock);
	if (op)
		rdmafs_commit_write(op, RFP_UNSTABLE);
	else
		rdmafs_test_point("commit_held", open->inode->i_ino);
}

/**
 * rdmafs_commit_begin - begin to hold writes, as writepages begins
 * @ri: the file
 *
 * Context: process; takes rdmafs_inode.lock.
 */
void rdmafs_commit_begin(struct rdmafs_inode *ri)
{
	spin_lock_irq(&ri->lock);
	ri->issuing++;
	spin_unlock_irq(&ri->lock);
}

/**
 * rdmafs_commit_end - send the held write, as writepages has issued all it had
 * @ri: the file
 *
 * Context: process; takes rdmafs_inode.lock.
 */
void rdmafs_commit_end(struct rdmafs_inode *ri)
{
	struct rdmafs_op *op;
	bool alone;

	spin_lock_irq(&ri->lock);
	ri->issuing--;
	op = ri->held;
	ri->held = NULL;
	alone = !ri->inflight && list_empty(&ri->uncommitted);
	if (op)
		ri->inflight++;
	else if (rdmafs_commit_idle_locked(ri))
		rdmafs_commit_kick(ri);
	spin_unlock_irq(&ri->lock);
	if (!op)
		return;
	if (!alone)
		rdmafs_commit_write(op, RFP_UNSTABLE);
	else if (atomic_read(&ri->syncing))
		rdmafs_commit_write(op, RFP_FILE_SYNC);
	else
		rdmafs_commit_write(op, RFP_DATA_SYNC);
}

/* A COMMIT with metadata has been answered; rdmafs_inode.written was @written when it was sent. */
static void rdmafs_commit_synced(struct rdmafs_inode *ri, s64 written)
{
	spin_lock_irq(&ri->lock);
	if (written > atomic64_read(&ri->synced))
		atomic64_set(&ri->synced, written);
	spin_unlock_irq(&ri->lock);
}

/**
 * rdmafs_commit_send - COMMIT a whole file, and wait for the answer
 * @open:     an open of the file
 * @meta:     commit all metadata as well, as for fsync(2)
 * @verifier: gets the verifier under which written data is stable now; may be NULL
 *
 * Context: process, waits killably.
 * Return: 0 or a negative errno.
 */
int rdmafs_commit_send(struct rdmafs_open *open, bool meta, u64 *verifier)
{
	struct rdmafs_inode *ri = RDMAFS_I(open->inode);
	const struct rfp_commit_rep *rep;
	struct rfp_commit_req *req;
	const struct rfp_attr *attr;
	struct rdmafs_op *op;
	struct rfp_dec dec;
	s64 written;
	int err;

	op = rdmafs_op_new_open(open, RFP_COMMIT, sizeof(*req),
				offsetof(struct rfp_commit_req, stateid), RDMAFS_POOL_COMMON);
	req = (struct rfp_commit_req *)op->req;
	op->patient = true;
	if (meta)
		req->flags = cpu_to_le32(RFP_COMMIT_META);
	/* Before the COMMIT is sent: a write that ends meanwhile is not covered by it. */
	written = atomic64_read(&ri->written);
	err = rdmafs_op_run(op);
	if (!err) {
		rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
		attr = rfp_dec_fixed(&dec, sizeof(*attr));
		if (rfp_dec_end(&dec) || rdmafs_attr_check(open->inode->i_sb, attr)) {
			err = -EIO;
		} else {
			rdmafs_attr_fresh(open->inode, attr, op->clock);
			if (verifier)
				*verifier = le64_to_cpu(rep->verifier);
		}
	}
	if (!err && meta)
		rdmafs_commit_synced(ri, written);
	rdmafs_op_put(op);
	return err;
}

/**
 * rdmafs_commit_work - send COMMIT for the writes that wait for one
 * @work: the inode's commit_work
 *
 * Context: a worker of io_wq; takes rdmafs_inode.lock; the inode may be gone after this.
 */
void rdmafs_commit_work(struct work_struct *work)
{
	struct rdmafs_inode *ri = container_of(to_delayed_work(work), struct rdmafs_inode,
					       commit_work);
	struct rdmafs_op *op, *next;
	u64 verifier = 0;
	LIST_HEAD(list);
	int err;

	spin_lock_irq(&ri->lock);
	list_splice_init(&ri->uncommitted, &list);
	ri->uncommitted_bytes = 0;
	spin_unlock_irq(&ri->lock);
	if (list_empty(&list))
		return;

	op = list_first_entry(&list, struct rdmafs_op, io.link);
	rdmafs_test_point("commit", op->open->inode->i_ino);
	err = rdmafs_commit_send(op->open, atomic_read(&ri->syncing), &verifier);
	list_for_each_entry_safe(op, next, &list, io.link) {
		list_del_init(&op->io.link);
		if (!err && (op->io.mixed || op->io.verifier != verifier)) {
			rdmafs_test_point("commit_again", op->open->inode->i_ino);
			spin_lock_irq(&ri->lock);
			ri->inflight++;
			spin_unlock_irq(&ri->lock);
			rdmafs_commit_write(op, RFP_DATA_SYNC);
		} else {
			rdmafs_commit_end_subreq(op, err);
		}
	}
}

/**
 * rdmafs_fsync - make a file stable: fsync(2), fdatasync(2), msync(2), O_SYNC
 * @file:     the file
 * @start:    first byte
 * @end:      last byte
 * @datasync: metadata need not be stable
 *
 * Context: process, waits killably; no folio lock is held.
 * Return: 0; -EINTR if killed; or an error of writing back since the last call for this @file.
 */
int rdmafs_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	struct inode *inode = file_inode(file);
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	int err, wb_err;

	if (!datasync)
		atomic_inc(&ri->syncing);
	err = rdmafs_flush_range(inode, start, end);
	if (!datasync)
		atomic_dec(&ri->syncing);
	if (err == -EINTR)
		return err;
	wb_err = file_check_and_advance_wb_err(file);
	if (wb_err || err)
		return wb_err ? wb_err : err;
	/*
	 * The data is stable by now, but perhaps not the times of the file.  A COMMIT of another
	 * task that is under way proves nothing: it may fail, or the server may.
	 */
	if (!datasync && atomic64_read(&ri->written) != atomic64_read(&ri->synced))
		err = rdmafs_commit_send(rdmafs_file_open(file), true, NULL);
	return err;
}
