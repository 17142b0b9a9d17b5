// SPDX-License-Identifier: GPL-2.0
/*
 * Take the locks of a file that is read or written, and see to what has to be clean or known
 * under them.
 *
 * The locks are those of netfs and of the VFS, but they are taken killably.  i_rwsem is held
 * exclusively by a write through the page cache, by an append and for the target of a copy, and
 * shared by a read through the page cache, for the source of a copy, and by direct I/O.
 * NETFS_ICTX_ODIRECT, which only changes with i_rwsem held exclusively, tells whether direct I/O
 * or the others may share it.  While it is clear, no direct I/O is under way.  An append does not
 * set it: it holds i_rwsem exclusively, and if its task is killed, others wait for the fence
 * (fence.c).
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include "client.h"
#include "op.h"
#include "transport/points.h"
#include "trace.h"

/*
 * Ask the server for the size of a file.  Attributes that were asked for before the caller had
 * its lock could not tell the size, as changes of ours were under way.  Now there are none, and
 * invalidate_lock keeps stores of mappings away, as in a truncate.
 *
 * Process context; i_rwsem held exclusively, no direct I/O under way.  0; -EINTR; or why the
 * server could not be asked.
 */
static int rdmafs_lock_size(struct inode *inode)
{
	struct address_space *mapping = inode->i_mapping;
	unsigned int waits = 0;
	int err;

	lockdep_assert_held_write(&inode->i_rwsem);
	/* Killably: a fault that reads holds it for as long as the server takes. */
	if (down_write_killable(&mapping->invalidate_lock))
		return -EINTR;
	while (true) {
		/*
		 * A direct read of another file into a mapping of this one makes pages dirty
		 * under no lock of this file, and then the size is not taken over.
		 */
		err = rdmafs_flush(inode);
		if (!err)
			err = rdmafs_revalidate(inode, true);
		if (err || !rdmafs_size_unsure(inode))
			break;
		/* Pages were dirty again, or an answer to another task has left doubt. */
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
 * Wait for direct I/O that is under way, and let none begin.  The caller holds i_rwsem
 * exclusively.  0 or -EINTR.
 */
static int rdmafs_dio_block(struct inode *inode)
{
	int err;

	lockdep_assert_held_write(&inode->i_rwsem);
	err = rdmafs_dio_wait(inode);
	/* Only after the wait: a reader that finds the bit clear does not wait. */
	if (!err)
		clear_bit(NETFS_ICTX_ODIRECT, &netfs_inode(inode)->flags);
	return err;
}

/* rdmafs_lock_read(); @subclass: lockdep's, if i_rwsem of another file is held. */
static int rdmafs_lock_read_nested(struct inode *inode, int subclass)
{
	int err;

	if (down_read_killable_nested(&inode->i_rwsem, subclass))
		return -EINTR;
	if (!test_bit(NETFS_ICTX_ODIRECT, &netfs_inode(inode)->flags))
		return 0;
	inode_unlock_shared(inode);
	if (down_write_killable_nested(&inode->i_rwsem, subclass))
		return -EINTR;
	err = rdmafs_dio_block(inode);
	if (err) {
		inode_unlock(inode);
		return err;
	}
	downgrade_write(&inode->i_rwsem);
	return 0;
}

/**
 * rdmafs_lock_read - take i_rwsem for reading through the page cache
 * @inode: the file
 *
 * No direct I/O is under way then.  A page that is read in beside a direct write may be from
 * before it; a later store would have all of that page written back, over what the direct write
 * has written.  (netfs_start_io_read() is not used: any signal ends its wait, and the next
 * reader does not wait at all.)
 *
 * Context: process; waits killably.
 * Return: 0, i_rwsem is held shared until netfs_end_io_read(); or -EINTR.
 */
int rdmafs_lock_read(struct inode *inode)
{
	return rdmafs_lock_read_nested(inode, I_MUTEX_NORMAL);
}

/*
 * With i_rwsem held exclusively: have no direct I/O under way, the size known, and all pages
 * valid but those that can't be dropped.
 */
static int rdmafs_lock_alone(struct inode *inode)
{
	int err = rdmafs_dio_block(inode);

	if (!err && rdmafs_size_unsure(inode))
		err = rdmafs_lock_size(inode);
	/*
	 * Direct writes that have just been waited for, and foreign changes, may make pages
	 * stale each time.  So pages are dropped with the lock held: a writer that gave the
	 * lock back for that might do so for ever.
	 */
	if (!err)
		err = rdmafs_revalidate_mapping(inode, false);
	return err;
}

/*
 * From here on foreign writes do not make the file longer while the page that it ends in is
 * cached (rdmafs_tail_dirty()).  False if one just has, so that pages are stale; with @stale
 * the caller has found that they can't be dropped, and goes on with them.
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

/* rdmafs_lock_write(); @subclass: lockdep's, if i_rwsem of another file is held. */
static int rdmafs_lock_write_nested(struct inode *inode, int subclass)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	unsigned int unknown, stale = 0;
	int err;

	while (true) {
		err = rdmafs_fence_wait(inode);
		/* Pairs with the release in rdmafs_change_unknown(): pages are seen stale, too. */
		unknown = smp_load_acquire(&ri->unknown);
		if (!err)
			err = rdmafs_revalidate_mapping(inode, false);
		if (err)
			return err;
		/* Pages that are stale a second time are in use by a mapping: go on with them. */
		stale = rdmafs_pages_valid(inode) ? 0 : stale + 1;
		rdmafs_test_point("lock_write", inode->i_ino);
		if (down_write_killable_nested(&inode->i_rwsem, subclass))
			return -EINTR;
		if (!rdmafs_fenced(inode)) {
			/* Pairs with rdmafs_fence_end(), which raises @unknown before that. */
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
 * rdmafs_lock_write - take i_rwsem for writing through the page cache
 * @inode: the file
 *
 * When this returns 0, rdmafs_unlock_write() undoes it, and until then:
 *
 *  - i_rwsem is held exclusively.  netfs' own lock lets buffered writers in together, and the
 *    larger of two new sizes may be lost.
 *  - No direct I/O is under way, nor a change that a killed task has left (fence.c).
 *  - No cached page is stale, but those that a mapping uses.  That includes pages that became
 *    stale while the caller waited for the lock, by a change that failed.  All of a page is
 *    written back after a store into a part of it, so a stale page would undo the change.
 *  - Neither a page nor the size is from before the end of a change that a killed task left.
 *  - Attributes do not make the file longer.  If they did while the writer waits for its own
 *    data, all that lies behind the old end in the last page would be written with that page.
 *
 * Context: process; waits killably.  No folio lock, nor invalidate_lock, is held.
 * Return: 0; -EINTR; or why stale pages could not be dropped, or the server could not be asked.
 */
int rdmafs_lock_write(struct inode *inode)
{
	return rdmafs_lock_write_nested(inode, I_MUTEX_NORMAL);
}

/**
 * rdmafs_unlock_write - undo rdmafs_lock_write()
 * @inode: the file
 *
 * Context: process; the caller has marked dirty whatever it has written.
 */
void rdmafs_unlock_write(struct inode *inode)
{
	/* Pairs with the acquire in rdmafs_tail_dirty(), which sees the page dirty after this. */
	clear_bit_unlock(RDMAFS_I_WRITING, &RDMAFS_I(inode)->flags);
	inode_unlock(inode);
}

/**
 * rdmafs_lock_copy - take i_rwsem of two files, to copy from one to the other
 * @from: the source, locked as by rdmafs_lock_read()
 * @to:   the target, locked as by rdmafs_lock_write(); may be @from
 *
 * Two tasks that copy between the same files in opposite directions take the locks in the same
 * order, which is that of the addresses, as in lock_two_nondirectories().
 *
 * Context: process; waits killably.  No folio lock, nor invalidate_lock, is held.
 * Return: 0: rdmafs_unlock_copy() undoes it; or as rdmafs_lock_write().
 */
int rdmafs_lock_copy(struct inode *from, struct inode *to)
{
	int err;

	if (from == to)
		return rdmafs_lock_write(to);
	if (from < to) {
		err = rdmafs_lock_read(from);
		if (err)
			return err;
		err = rdmafs_lock_write_nested(to, I_MUTEX_NONDIR2);
		if (err)
			netfs_end_io_read(from);
		return err;
	}
	err = rdmafs_lock_write(to);
	if (err)
		return err;
	err = rdmafs_lock_read_nested(from, I_MUTEX_NONDIR2);
	if (err)
		rdmafs_unlock_write(to);
	return err;
}

/**
 * rdmafs_unlock_copy - undo rdmafs_lock_copy()
 * @from: the source
 * @to:   the target
 *
 * Context: process.
 */
void rdmafs_unlock_copy(struct inode *from, struct inode *to)
{
	if (from != to)
		netfs_end_io_read(from);
	rdmafs_unlock_write(to);
}

/*
 * Take i_rwsem shared, with NETFS_ICTX_ODIRECT set, so that no I/O through the page cache is
 * under way, and what it has left dirty is at the server when the bit is set.  Like
 * netfs_start_io_direct(), which waits for writeback deaf to signals.
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
 * @write:  for a write, see below
 * @nowait: -EAGAIN rather than wait
 *
 * Before a write, no change that a killed task has left is under way (fence.c), and the size is
 * known: while the write is under way, no attributes make the file shorter, so that a size from
 * before such a change could not be put right.
 *
 * Context: process; waits killably without @nowait.  No folio lock, nor invalidate_lock, is held.
 * Return: 0, i_rwsem is held shared until netfs_end_io_direct(); -EAGAIN with @nowait; -EINTR;
 * or another negative errno.
 */
int rdmafs_dio_lock(struct inode *inode, bool write, bool nowait)
{
	int err;

	while (true) {
		err = rdmafs_dio_lock_any(inode, nowait);
		if (err || !write)
			return err;
		if (!rdmafs_fenced(inode)) {
			/* Pairs with rdmafs_fence_end(): the size is put in doubt before. */
			smp_rmb();
			if (!rdmafs_size_unsure(inode))
				return 0;
		}
		netfs_end_io_direct(inode);
		if (nowait)
			return -EAGAIN;
		/* rdmafs_lock_write() waits for the fence, and asks for the size. */
		err = rdmafs_lock_write(inode);
		if (err)
			return err;
		rdmafs_unlock_write(inode);
	}
}

/**
 * rdmafs_dio_clear - clear the page cache before direct I/O
 * @iocb:  the file and the offset
 * @count: bytes, at least 1
 * @write: drop the pages that are to be written; else write back what is dirty
 *
 * Context: process, i_rwsem held by rdmafs_dio_lock(); waits killably without IOCB_NOWAIT.
 * Return: 0; -EAGAIN with IOCB_NOWAIT; -EINTR; or an error of writing back.
 */
int rdmafs_dio_clear(struct kiocb *iocb, size_t count, bool write)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	struct address_space *mapping = inode->i_mapping;
	loff_t pos = iocb->ki_pos, end = pos + count - 1;
	errseq_t since;
	int err;

	lockdep_assert_held_read(&inode->i_rwsem);
	if (!mapping->nrpages)
		return 0;
	/*
	 * Dirty data behind the range of a read is written back as well: until
	 * then the server's file may end before ours, and a read of a hole
	 * between the two ends would be short.
	 */
	if (!write)
		end = LLONG_MAX;
	if (iocb->ki_flags & IOCB_NOWAIT) {
		if (write ? filemap_range_has_page(mapping, pos, end) :
			    filemap_range_needs_writeback(mapping, pos, end))
			return -EAGAIN;
		return 0;
	}
	trace_rdmafs_cache(inode, write ? RDMAFS_CACHE_CLEAR : RDMAFS_CACHE_FLUSH, pos, count);
	since = filemap_sample_wb_err(mapping);
	err = write ? rdmafs_drop_range(inode, pos, end) : rdmafs_flush_range(inode, pos, end);
	/* Pages that a mapping uses are dropped when the write is over (direct.c). */
	if (err && !(write && err == -EBUSY))
		return err;
	return filemap_check_wb_err(mapping, since);
}

/**
 * rdmafs_dio_privs - take set-id bits away before a write past the page cache
 * @iocb: the write
 *
 * Context: process; may wait for the server without IOCB_NOWAIT.
 * Return: 0; -EAGAIN with IOCB_NOWAIT; or another negative errno.
 */
int rdmafs_dio_privs(struct kiocb *iocb)
{
	if (!(file_inode(iocb->ki_filp)->i_mode & (S_ISUID | S_ISGID)))
		return 0;
	return iocb->ki_flags & IOCB_NOWAIT ? -EAGAIN : file_remove_privs(iocb->ki_filp);
}
