// SPDX-License-Identifier: GPL-2.0
/*
 * What was written under a lock that is lost is not written back.
 *
 * Pages do not tell who has written to them, and writeback uses any open of the file: so the data
 * of who has lost the lock would go over that of who has it now, by the open of another process
 * that has lost nothing.  A *loss* is the range of such a lock, until no page of the range is
 * cached any more.  While there is one, writeback of what touches the range fails with EIO
 * (rdmafs_op_prepare()), which fsync(2) and close(2) report to whoever has the file open, as with
 * any error of writing back.  A worker has all that is dirty there fail that way, and drops the
 * pages.
 *
 * The range is known before data is sent: writeback in a new session has the file's locks taken
 * again first (rdmafs_locks_ready()), and the range is noted before the lock leaves the record.
 *
 * If processes have locked ranges of one page, and one of them loses its lock, what the others have
 * stored into that page by a mapping is lost, too, and reported; write(2) has not left theirs in
 * the page cache (rdmafs_write_through()).  Data behind or before the range fails as well, if it
 * is in the same WRITE.
 *
 * Meanwhile others write nothing to the file: the loss counts in the fence (fence.c), so that new
 * data does not fail, nor joins a page with the old.  A program may have had the file's locks when
 * the fence was raised; what it writes is seen to by the worker's next round, and fails.
 *
 * Ownership: a loss keeps the inode, and the mount (nr_opens).
 */
#include <linux/pagemap.h>
#include <linux/slab.h>
#include "client.h"
#include "filelock.h"
#include "op.h"
#include "open.h"
#include "transport/points.h"

/* How often pages that became dirty meanwhile are tried to be dropped. */
#define RDMAFS_LOSS_TRIES	8

/**
 * struct rdmafs_loss - a range of which nothing is to be written back
 * @work:  drops its pages
 * @inode: the file, referenced
 * @start: first byte; under rdmafs_inode.lock
 * @end:   last byte; likewise.  What is lost before the worker is done joins the range, with what
 *	   lies between
 */
struct rdmafs_loss {
	struct work_struct work;
	struct inode *inode;
	loff_t start;
	loff_t end;
};

/* Drop the pages of the range, dirty ones too; the waits are not killable. */
static void rdmafs_loss_drop(struct inode *inode, loff_t start, loff_t end)
{
	int tries;

	for (tries = 0; tries < RDMAFS_LOSS_TRIES; tries++)
		if (rdmafs_drop_range(inode, start, end) != -EBUSY)
			break;
}

static void rdmafs_loss_work(struct work_struct *work)
{
	struct rdmafs_loss *loss = container_of(work, struct rdmafs_loss, work);
	struct rdmafs_super *super = RDMAFS_S(loss->inode->i_sb);
	struct rdmafs_inode *ri = RDMAFS_I(loss->inode);
	loff_t start, end;
	bool done;

	rdmafs_test_point("lock_loss", loss->inode->i_ino);
	do {
		spin_lock_irq(&ri->lock);
		start = loss->start;
		end = loss->end;
		spin_unlock_irq(&ri->lock);
		rdmafs_loss_drop(loss->inode, start, end);
		spin_lock_irq(&ri->lock);
		done = start == loss->start && end == loss->end;
		if (done)
			ri->loss = NULL;
		spin_unlock_irq(&ri->lock);
	} while (!done);
	rdmafs_fence_end(loss->inode);
	iput(loss->inode);
	kfree(loss);
	rdmafs_opens_dec(super);
}

/* Let a range join the loss that there is; false: there is none. */
static bool rdmafs_loss_join(struct rdmafs_inode *ri, loff_t start, loff_t end)
{
	struct rdmafs_loss *loss;

	spin_lock_irq(&ri->lock);
	loss = ri->loss;
	if (loss) {
		loss->start = min(loss->start, start);
		loss->end = max(loss->end, end);
	}
	spin_unlock_irq(&ri->lock);
	return loss;
}

/**
 * rdmafs_loss_begin - have nothing written back that was written under a lock that is lost
 * @inode: the file
 * @start: first byte of the lock, or of the part that is lost
 * @end:   last byte
 *
 * To be called before others can be granted the lock.
 *
 * Context: process, may sleep for memory; rdmafs_inode.recording is held.
 */
void rdmafs_loss_begin(struct inode *inode, loff_t start, loff_t end)
{
	struct rdmafs_super *super = RDMAFS_S(inode->i_sb);
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	struct rdmafs_loss *loss;

	lockdep_assert_held(&ri->recording);
	if (rdmafs_loss_join(ri, start, end))
		return;
	loss = kzalloc(sizeof(*loss), GFP_NOFS | __GFP_NOFAIL);
	INIT_WORK(&loss->work, rdmafs_loss_work);
	ihold(inode);
	loss->inode = inode;
	loss->start = start;
	loss->end = end;
	atomic_inc(&super->nr_opens);
	rdmafs_fence_begin(inode);
	spin_lock_irq(&ri->lock);
	ri->loss = loss;
	spin_unlock_irq(&ri->lock);
	/* Not file_wq: its works may wait for the fence, and be as many as can run. */
	queue_work(super->mnt->dio_wq, &loss->work);
}

/**
 * rdmafs_loss_has - tell whether data is not to be written back, as its lock is lost
 * @inode: the file
 * @pos:   where the data begins
 * @len:   bytes, at least 1
 *
 * Context: process; takes rdmafs_inode.lock.
 * Return: true if so, for a part of it at least.
 */
bool rdmafs_loss_has(struct inode *inode, loff_t pos, size_t len)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	bool has;

	if (likely(!READ_ONCE(ri->loss)))
		return false;
	spin_lock_irq(&ri->lock);
	has = ri->loss && pos <= ri->loss->end && pos + (loff_t)len > ri->loss->start;
	spin_unlock_irq(&ri->lock);
	return has;
}
