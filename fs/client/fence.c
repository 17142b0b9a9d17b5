// SPDX-License-Identifier: GPL-2.0
/*
 * The fence counts the changes that a killed task has left, and has later changes wait for them.
 *
 * A task that is killed in a truncate, in fallocate(2), in a copy or in a direct write leaves the
 * request to transport, which sends it again when the connection is lost.  (In a new session only
 * direct writes are sent again.)  The request must not overtake the next change of the file: the
 * data of that change would be cut off, or be overwritten with older data.  So the request counts
 * in rdmafs_inode.fence until it has been answered, and any task that is to change the size or the
 * contents of the file waits for that, killably.
 *
 * When the request has been answered, its task is not there to say what it did.  So all that
 * is cached counts as older than the change: rdmafs_change_unknown().
 *
 * What was written under a lost lock counts likewise until it is dropped (lock_loss.c).
 *
 * Writeback does not wait for the fence.  All pages are clean when a truncate, fallocate(2) or
 * a copy begins, and no page becomes dirty without having waited: i_rwsem and invalidate_lock are
 * held when the fence is raised, and writers and stores look at it under these locks.  (A
 * direct write may be left with neither of them held; but a change that comes after the end
 * of its task sees the fence.)
 *
 * Ownership: a change that counts in the fence keeps the inode, and the mount (nr_opens).
 */
#include <linux/wait_bit.h>
#include "client.h"
#include "op.h"
#include "open.h"
#include "transport/points.h"
#include "trace.h"

/**
 * rdmafs_fenced - tell whether a change that a killed task has left is under way
 * @inode: a regular file
 *
 * Context: any.
 * Return: true if so.
 */
bool rdmafs_fenced(struct inode *inode)
{
	return atomic_read(&RDMAFS_I(inode)->fence);
}

/**
 * rdmafs_fence_begin - count a change whose task no longer waits for it
 * @inode: the file; the change keeps it until rdmafs_fence_end()
 *
 * Context: any.
 */
void rdmafs_fence_begin(struct inode *inode)
{
	atomic_inc(&RDMAFS_I(inode)->fence);
}

/**
 * rdmafs_change_unknown - note that a change of ours is over whose effect is not known
 * @inode: the file
 *
 * Cached pages may be from before the change, so they are stale; and so may the size be, so
 * that the next writer asks for it (lock.c).  Else a write would be filled up with zeros to
 * where the file does not end any more.
 *
 * Context: any; takes rdmafs_inode.lock.
 */
void rdmafs_change_unknown(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	enum rdmafs_pages old;
	unsigned long irq;

	spin_lock_irqsave(&ri->lock, irq);
	old = ri->coh.pages;
	rdmafs_coh_unknown(&ri->coh,
			   atomic64_inc_return(&RDMAFS_M(inode->i_sb)->clock));
	rdmafs_pages_moved_locked(ri, old);
	trace_rdmafs_cache(inode, RDMAFS_CACHE_UNKNOWN, 0, 0);
	set_bit(RDMAFS_I_UNSURE, &ri->flags);
	ri->expires = jiffies;
	/* Pairs with the acquire in rdmafs_lock_write(), which sees the pages stale then. */
	smp_store_release(&ri->unknown, ri->unknown + 1);
	spin_unlock_irqrestore(&ri->lock, irq);
}

/**
 * rdmafs_size_unsure - tell whether the size is in doubt since rdmafs_change_unknown()
 * @inode: a regular file
 *
 * Context: any.
 * Return: true if the server has to be asked for the size.
 */
bool rdmafs_size_unsure(struct inode *inode)
{
	return test_bit(RDMAFS_I_UNSURE, &RDMAFS_I(inode)->flags);
}

/**
 * rdmafs_fence_end - end a change that counts in the fence
 * @inode: the file
 *
 * The effect of the change is not known: pages are stale and the size is in doubt before the fence
 * falls.
 *
 * Context: any; takes rdmafs_inode.lock.
 */
void rdmafs_fence_end(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);

	rdmafs_change_unknown(inode);
	/* Fully ordered: the new count is visible before wake_up_var() looks for waiters. */
	if (atomic_dec_and_test(&ri->fence))
		wake_up_var(&ri->fence);
}

/**
 * rdmafs_fence_wait - wait for changes that killed tasks have left
 * @inode: a regular file
 *
 * Context: process; waits killably.
 * Return: 0 or -EINTR.
 */
int rdmafs_fence_wait(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);

	return wait_var_event_killable(&ri->fence, !atomic_read(&ri->fence)) ? -EINTR : 0;
}

/**
 * rdmafs_fence_op - count a synchronous op that its killed task is about to leave
 * @op: the op, with op->fence set to the file that it changes
 *
 * To be followed by rdmafs_fence_op_put() when the op has been answered.
 *
 * Context: process; the caller still waits for @op.
 */
void rdmafs_fence_op(struct rdmafs_op *op)
{
	ihold(op->fence);
	atomic_inc(&RDMAFS_S(op->fence->i_sb)->nr_opens);
	rdmafs_fence_begin(op->fence);
}

/**
 * rdmafs_fence_op_put - drop a reference to an answered op, and end its fence
 * @op: the op, for which rdmafs_fence_op() was called
 *
 * Context: process, may sleep; the inode and the mount may be gone after this.
 */
void rdmafs_fence_op_put(struct rdmafs_op *op)
{
	struct inode *inode = op->fence;
	struct rdmafs_super *super = RDMAFS_S(inode->i_sb);

	rdmafs_op_put(op);
	rdmafs_fence_end(inode);
	rdmafs_test_point("fence_over", inode->i_ino);
	iput(inode);
	rdmafs_opens_dec(super);
}
