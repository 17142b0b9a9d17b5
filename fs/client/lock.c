// SPDX-License-Identifier: GPL-2.0
/*
 * Before a file is read or written: who else may be at it, and what has to be clean.
 *
 * The locks are netfs' and the VFS's, taken killably: i_rwsem exclusively for writing
 * through the page cache, shared for reading through it and for direct I/O, with
 * NETFS_ICTX_ODIRECT telling which of the two it was last.  While that is clear no direct
 * I/O is under way, but for appends, which have i_rwsem exclusively or are waited for as
 * what a killed task has left (fence.c).
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include "client.h"
#include "transport/points.h"

/*
 * The size is not known, and what was asked for before the lock was taken could not tell:
 * changes of ours were under way.  Now there are none.  As in a truncate.
 */
static int rdmafs_lock_size(struct inode *inode)
{
	struct address_space *mapping = inode->i_mapping;
	unsigned int waits = 0;
	int err;

	/* A fault that reads has it for as long as the server takes. */
	if (down_write_killable(&mapping->invalidate_lock))
		return -EINTR;
	while (true) {
		/* Direct reads into a mapping of the file dirty its pages when they end. */
		err = rdmafs_flush(inode);
		if (!err)
			err = rdmafs_revalidate(inode, true);
		if (err || !rdmafs_size_unsure(inode))
			break;
		/* Or what somebody else here has asked has put our answer in doubt. */
		schedule_timeout_killable(rdmafs_backoff(&waits));
		if (fatal_signal_pending(current)) {
			err = -EINTR;
			break;
		}
	}
	filemap_invalidate_unlock(mapping);
	return err;
}

/*
 * Have no direct I/O under way, and none that begins; the caller holds i_rwsem exclusively.
 * 0 or -EINTR.
 */
static int rdmafs_dio_block(struct inode *inode)
{
	int err = rdmafs_dio_wait(inode);

	/* Only now: who finds it clear does not wait. */
	if (!err)
		clear_bit(NETFS_ICTX_ODIRECT, &netfs_inode(inode)->flags);
	return err;
}

/**
 * rdmafs_lock_read - take i_rwsem for reading through the page cache
 * @inode: the file
 *
 * With no direct I/O under way: what is read in while it is would be from before it, and be
 * written back over it with all of its page.  (netfs_start_io_read() lets any signal end that
 * wait, and whoever comes next does not wait at all.)
 *
 * Return: 0 or -EINTR.  To be undone by netfs_end_io_read().
 */
int rdmafs_lock_read(struct inode *inode)
{
	int err;

	if (down_read_killable(&inode->i_rwsem))
		return -EINTR;
	if (!test_bit(NETFS_ICTX_ODIRECT, &netfs_inode(inode)->flags))
		return 0;
	inode_unlock_shared(inode);
	if (down_write_killable(&inode->i_rwsem))
		return -EINTR;
	err = rdmafs_dio_block(inode);
	if (err) {
		inode_unlock(inode);
		return err;
	}
	downgrade_write(&inode->i_rwsem);
	return 0;
}

/*
 * No direct I/O is under way, the size is known, and pages are good but for those that
 * can't be dropped; i_rwsem is held exclusively.
 */
static int rdmafs_lock_alone(struct inode *inode)
{
	int err = rdmafs_dio_block(inode);

	if (!err && rdmafs_size_unsure(inode))
		err = rdmafs_lock_size(inode);
	/*
	 * Others' direct writes that we have waited for, and changes between two of ours, make
	 * pages stale each time: who gives the lock back for that may do so for ever.
	 */
	if (!err)
		err = rdmafs_revalidate_mapping(inode, false);
	return err;
}

/*
 * From here on the file does not grow by what others have written while the page that it
 * ends in is cached (rdmafs_tail_dirty()); false: it just has, and pages are stale.
 */
static bool rdmafs_write_begin(struct rdmafs_inode *ri, bool stale)
{
	bool may;

	spin_lock_irq(&ri->lock);
	may = stale || ri->coh.pages == RDMAFS_PAGES_VALID;
	if (may)
		set_bit(RDMAFS_I_WRITING, &ri->flags);
	spin_unlock_irq(&ri->lock);
	return may;
}

/**
 * rdmafs_lock_write - take i_rwsem for writing through the page cache
 * @inode: the file
 *
 * Exclusively, with no direct I/O under way, and nothing that a killed task has left:
 * netfs' own lock lets buffered writers in together, which loses the larger of two new
 * sizes.  No page that was found stale before is left, nor one that a change which failed
 * has made stale while one waited: all of a page is written back, whatever has been stored
 * into it.  Neither a page nor the size is from before the end of a change that nobody has
 * waited for.  And the size stays: all that lies behind it in the page where the file ends
 * would be written with that page, if it grew while the writer waits for his own data.
 *
 * Return: 0; -EINTR; or why stale pages could not be dropped, or the server be asked.  To
 * be undone by rdmafs_unlock_write().
 */
int rdmafs_lock_write(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	unsigned int unknown, stale = 0;
	int err;

	while (true) {
		err = rdmafs_fence_wait(inode);
		/* Whoever sees the count has to see what it stands for. */
		unknown = smp_load_acquire(&ri->unknown);
		if (!err)
			err = rdmafs_revalidate_mapping(inode, false);
		if (err)
			return err;
		/* Pages that stay stale are in use by a mapping. */
		stale = rdmafs_pages_valid(inode) ? 0 : stale + 1;
		rdmafs_test_point("lock_write", inode->i_ino);
		if (down_write_killable(&inode->i_rwsem))
			return -EINTR;
		if (!rdmafs_fenced(inode)) {
			/* It is counted before the fence falls: rdmafs_fence_end(). */
			smp_rmb();
			if (READ_ONCE(ri->unknown) == unknown) {
				err = rdmafs_lock_alone(inode);
				if (!err && rdmafs_write_begin(ri, stale > 1))
					return 0;
			}
		}
		up_write(&inode->i_rwsem);
		if (err)
			return err;
	}
}

/**
 * rdmafs_unlock_write - undo rdmafs_lock_write()
 * @inode: the file
 */
void rdmafs_unlock_write(struct inode *inode)
{
	/* Pairs with the acquire in rdmafs_tail_dirty(): what was written is dirty. */
	clear_bit_unlock(RDMAFS_I_WRITING, &RDMAFS_I(inode)->flags);
	inode_unlock(inode);
}

/*
 * As netfs_start_io_direct(), which waits for writeback deaf to signals: buffered writers
 * stay out, and what they have written is there.
 */
static int rdmafs_dio_lock_any(struct inode *inode, bool nowait)
{
	unsigned long *flags = &netfs_inode(inode)->flags;
	int err;

	if (nowait) {
		if (!inode_trylock_shared(inode))
			return -EAGAIN;
	} else if (down_read_killable(&inode->i_rwsem)) {
		return -EINTR;
	}
	if (test_bit(NETFS_ICTX_ODIRECT, flags))
		return 0;
	inode_unlock_shared(inode);
	if (nowait)
		return -EAGAIN;
	if (down_write_killable(&inode->i_rwsem))
		return -EINTR;
	err = rdmafs_flush(inode);
	if (err) {
		inode_unlock(inode);
		return err;
	}
	set_bit(NETFS_ICTX_ODIRECT, flags);
	downgrade_write(&inode->i_rwsem);
	return 0;
}

/**
 * rdmafs_dio_lock - take i_rwsem for direct I/O
 * @inode:  the file
 * @write:  for a write: nothing that a killed task has left is on its way, and the size is
 *	    known after it: while a write is under way, no answer tells that a file is shorter
 * @nowait: -EAGAIN rather than wait
 *
 * Return: 0 or a negative errno; -EAGAIN with @nowait.  To be undone by netfs_end_io_direct().
 */
int rdmafs_dio_lock(struct inode *inode, bool write, bool nowait)
{
	int err;

	while (true) {
		err = rdmafs_dio_lock_any(inode, nowait);
		if (err || !write)
			return err;
		if (!rdmafs_fenced(inode)) {
			/* The size is in doubt before the fence falls: rdmafs_fence_end(). */
			smp_rmb();
			if (!rdmafs_size_unsure(inode))
				return 0;
		}
		netfs_end_io_direct(inode);
		if (nowait)
			return -EAGAIN;
		/* That waits for the one, and asks for the other. */
		err = rdmafs_lock_write(inode);
		if (err)
			return err;
		rdmafs_unlock_write(inode);
	}
}

/**
 * rdmafs_dio_clear - nothing dirty in the way, and for a write nothing clean either
 * @iocb:  where
 * @count: bytes
 * @write: a write
 *
 * Return: 0 or a negative errno; -EAGAIN with IOCB_NOWAIT.
 */
int rdmafs_dio_clear(struct kiocb *iocb, size_t count, bool write)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	struct address_space *mapping = inode->i_mapping;
	loff_t pos = iocb->ki_pos, end = pos + count - 1;
	errseq_t since;
	int err;

	if (!mapping->nrpages)
		return 0;
	/*
	 * Dirty data behind a read counts as well: until it is written, the
	 * server's file may end before ours, and a hole there would read short.
	 */
	if (!write)
		end = LLONG_MAX;
	if (iocb->ki_flags & IOCB_NOWAIT) {
		if (write ? filemap_range_has_page(mapping, pos, end) :
			    filemap_range_needs_writeback(mapping, pos, end))
			return -EAGAIN;
		return 0;
	}
	since = filemap_sample_wb_err(mapping);
	err = write ? rdmafs_drop_range(inode, pos, end) : rdmafs_flush_range(inode, pos, end);
	/* What can't be dropped now is dropped afterwards. */
	if (err && !(write && err == -EBUSY))
		return err;
	return filemap_check_wb_err(mapping, since);
}

/**
 * rdmafs_dio_privs - take set-id bits away before a write that the page cache does not see
 * @iocb: the write
 *
 * Return: 0 or a negative errno; -EAGAIN with IOCB_NOWAIT.
 */
int rdmafs_dio_privs(struct kiocb *iocb)
{
	if (!(file_inode(iocb->ki_filp)->i_mode & (S_ISUID | S_ISGID)))
		return 0;
	return iocb->ki_flags & IOCB_NOWAIT ? -EAGAIN : file_remove_privs(iocb->ki_filp);
}
