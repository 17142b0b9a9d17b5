// SPDX-License-Identifier: GPL-2.0
/*
 * Changes that a killed task has left behind, and those that come after them.
 *
 * A task that is killed in a truncate, in fallocate(2) or in a direct write leaves the
 * request to transport, which sends it again when the connection is lost, and in a new
 * session if need be.  Who writes to the file next must not be overtaken by it: what he
 * has written would be cut off, or be what it was before.  So the request counts in the
 * inode until it has been answered, and whoever changes sizes or contents waits for
 * that, killably.
 *
 * Writeback does not wait.  All is clean when a truncate begins, and nothing becomes
 * dirty without having waited here: i_rwsem and invalidate_lock are held when the count
 * is raised, and looked at under them.  (A direct write has neither; but who comes after
 * the end of its task sees the count.)
 *
 * Ownership: whoever counts keeps the inode, and the mount (nr_opens).
 */
#include <linux/wait_bit.h>
#include "client.h"
#include "transport/points.h"

/**
 * rdmafs_fenced - is a change of the file on its way that nobody waits for?
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
 * rdmafs_fence_begin - a change of the file is left to itself
 * @inode: the file, which the change keeps
 *
 * Context: any.
 */
void rdmafs_fence_begin(struct inode *inode)
{
	atomic_inc(&RDMAFS_I(inode)->fence);
}

/**
 * rdmafs_change_unknown - a change of ours is over, and nobody knows what it did
 * @inode: the file
 *
 * What is cached may be from before it, and so may the size be: who writes next asks for
 * it, or what he writes would be filled up with zeros to where the file does not end any
 * more (lock.c).
 *
 * Context: any.
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
	set_bit(RDMAFS_I_UNSURE, &ri->flags);
	ri->expires = jiffies;
	/* Pairs with the acquire in rdmafs_lock_write(). */
	smp_store_release(&ri->unknown, ri->unknown + 1);
	spin_unlock_irqrestore(&ri->lock, irq);
}

/**
 * rdmafs_size_unsure - has the server to be asked for the size, for that?
 * @inode: a regular file
 *
 * Context: any.
 * Return: true if so.
 */
bool rdmafs_size_unsure(struct inode *inode)
{
	return test_bit(RDMAFS_I_UNSURE, &RDMAFS_I(inode)->flags);
}

/**
 * rdmafs_fence_end - it is over
 * @inode: the file
 *
 * Nobody has told what it did.
 *
 * Context: any.
 */
void rdmafs_fence_end(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);

	rdmafs_change_unknown(inode);
	/* Fully ordered: the new count is seen before we look for waiters. */
	if (atomic_dec_and_test(&ri->fence))
		wake_up_var(&ri->fence);
}

/**
 * rdmafs_fence_wait - wait for changes that killed tasks have left behind
 * @inode: a regular file
 *
 * Context: process.
 * Return: 0 or -EINTR.
 */
int rdmafs_fence_wait(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);

	return wait_var_event_killable(&ri->fence, !atomic_read(&ri->fence)) ? -EINTR : 0;
}

/**
 * rdmafs_fence_op - a synchronous op that is a change is about to be left
 * @op: the op, with op->fence
 *
 * To be followed by rdmafs_fence_op_put(), when it has been answered.
 *
 * Context: process.
 */
void rdmafs_fence_op(struct rdmafs_op *op)
{
	ihold(op->fence);
	atomic_inc(&op->mnt->nr_opens);
	rdmafs_fence_begin(op->fence);
}

/**
 * rdmafs_fence_op_put - drop a reference to an op that is a change and is over
 * @op: the op, for which rdmafs_fence_op() was called
 *
 * Context: process, may sleep; the mount may be gone after this.
 */
void rdmafs_fence_op_put(struct rdmafs_op *op)
{
	struct rdmafs_mount *mnt = op->mnt;
	struct inode *inode = op->fence;

	rdmafs_op_put(op);
	rdmafs_fence_end(inode);
	rdmafs_test_point("fence_over", inode->i_ino);
	iput(inode);
	rdmafs_opens_dec(mnt);
}
