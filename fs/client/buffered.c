// SPDX-License-Identifier: GPL-2.0
/*
 * Read and write through the page cache, and let mappings store into it.
 *
 * netfs does most of it.  A read or a write takes its locks (lock.c), makes cached
 * pages fit to be used (mapping.c), and calls netfs or the VFS.  netfs cuts what it
 * reads in, or writes back, into subrequests, and each becomes one READ or WRITE
 * (io.c); commit.c has the end of a WRITE.
 *
 * Where rdmafs keeps out of netfs' way:
 *
 *	- init_request never fails for writeback: netfs would drop the dirty
 *	  pages without an error.
 *	- zero_point stays at LLONG_MAX: a client can't know where another client's
 *	  data ends.
 *	- netfs' write-through mode holds wb_lock while it waits for pages that
 *	  need wb_lock; so a synchronous write is written back by fsync instead.
 *	- A folio that was filled around a partial write keeps its record of the
 *	  dirty part.  The first store through a mapping must remove the record,
 *	  or only that part would be written back.
 *	- Folios are single pages: netfs writes back the whole of a folio that is
 *	  written to again, and what another client has written next to it is lost.
 *	- READs reach beyond the end of the file that is known here, as the server
 *	  knows what is there; and they are cut at page boundaries, so that no folio
 *	  is filled by two requests.
 *
 * Ownership: folios are locked (reading) or under writeback (writing, until stable)
 * from the issue of their subrequest to its termination.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/slab.h>
#include "client.h"
#include "op.h"
#include "open.h"
#include "transport/points.h"
#include "trace.h"

/* Find the open by whose right a request of netfs reads or writes; may be NULL for writing. */
static int rdmafs_init_request(struct netfs_io_request *rreq, struct file *file)
{
	struct rdmafs_mount *mnt = RDMAFS_M(rreq->inode->i_sb);
	struct rdmafs_open *open = NULL;

	switch (rreq->origin) {
	case NETFS_READAHEAD:
	case NETFS_READPAGE:
	case NETFS_READ_GAPS:
	case NETFS_READ_FOR_WRITE:
		rreq->rsize = mnt->rsize;
		if (file && rdmafs_file_open(file) &&
		    (rdmafs_file_open(file)->flags & (RFP_OPEN_READ | RFP_OPEN_EXEC)))
			open = rdmafs_open_get(rdmafs_file_open(file));
		else
			open = rdmafs_open_find(rreq->inode, RFP_OPEN_READ | RFP_OPEN_EXEC);
		if (!open)
			return -EBADF;
		break;
	default:
		rreq->wsize = mnt->wsize;
		open = rdmafs_open_find(rreq->inode, RFP_OPEN_WRITE);
		if (!open)
			open = rdmafs_open_late(rreq->inode);
		break;
	}
	rreq->netfs_priv = open;
	return 0;
}

static void rdmafs_free_request(struct netfs_io_request *rreq)
{
	if (rreq->netfs_priv)
		rdmafs_open_put(rreq->netfs_priv);
}

/* Bound a subrequest that reads to one RPC, cut at a page boundary. */
static int rdmafs_prepare_read(struct netfs_io_subrequest *subreq)
{
	struct netfs_io_request *rreq = subreq->rreq;
	u64 end = rreq->start + rreq->len;
	u64 max = rreq->rsize;
	u64 cut;

	rreq->io_streams[0].sreq_max_len = max;
	if (test_bit(NETFS_SREQ_RETRYING, &subreq->flags))
		return 0;
	if (rreq->origin == NETFS_READ_GAPS) {
		/* The gaps are pieces of pages, which no one translation covers: read inline. */
		max = min_t(u64, max, RDMAFS_XPRT_INLINE_MAX);
	} else {
		cut = round_down(subreq->start + max, PAGE_SIZE);
		if (cut > subreq->start)
			max = cut - subreq->start;
	}
	subreq->len = min(max, end - subreq->start);
	return 0;
}

/* The READ of a subrequest has ended; any context. */
static void rdmafs_read_finish(struct rdmafs_op *op, int err)
{
	struct netfs_io_subrequest *subreq = op->io.priv;

	subreq->transferred += op->io.done;
	if (op->io.eof)
		__set_bit(NETFS_SREQ_HIT_EOF, &subreq->flags);
	rdmafs_op_put(op);
	netfs_read_subreq_terminated(subreq, err, true);
}

/*
 * Clear pages that are about to be read by RDMA WRITE.  The server says how much it has written;
 * the device does not confirm it.  Programs see the bytes that a server leaves out, and those
 * must not be old data of this machine.  Data that travels inline is copied, so it is there.
 */
static void rdmafs_read_clear(const struct iov_iter *pages)
{
	struct iov_iter iter = *pages;
	size_t len = iov_iter_count(&iter);

	/* With init_on_alloc the kernel has cleared new pages already. */
	if (len > RDMAFS_XPRT_INLINE_MAX && !want_init_on_alloc(0))
		iov_iter_zero(len, &iter);
}

static void rdmafs_issue_read(struct netfs_io_subrequest *subreq)
{
	struct rdmafs_op *op;

	rdmafs_read_clear(&subreq->io_iter);
	op = rdmafs_io_new(subreq->rreq->netfs_priv, false, RDMAFS_POOL_COMMON);
	op->io.iter = subreq->io_iter;
	op->io.pos = subreq->start + subreq->transferred;
	op->io.len = iov_iter_count(&subreq->io_iter);
	op->io.finish = rdmafs_read_finish;
	op->io.priv = subreq;
	rdmafs_io_start(op, false);
}

static void rdmafs_begin_writeback(struct netfs_io_request *wreq)
{
	wreq->io_streams[0].avail = true;
}

static void rdmafs_issue_write(struct netfs_io_subrequest *subreq)
{
	struct rdmafs_open *open = subreq->rreq->netfs_priv;

	/* The file was never open for writing, so there is no right by which to write it. */
	if (!open)
		netfs_write_subrequest_terminated(subreq, -EIO, false);
	else
		rdmafs_commit_issue(open, subreq);
}

static void rdmafs_update_i_size(struct inode *inode, loff_t size)
{
	spin_lock(&inode->i_lock);
	if (size > i_size_read(inode))
		i_size_write(inode, size);
	spin_unlock(&inode->i_lock);
}

const struct netfs_request_ops rdmafs_netfs_ops = {
	.init_request	= rdmafs_init_request,
	.free_request	= rdmafs_free_request,
	.prepare_read	= rdmafs_prepare_read,
	.issue_read	= rdmafs_issue_read,
	.update_i_size	= rdmafs_update_i_size,
	.begin_writeback = rdmafs_begin_writeback,
	.issue_write	= rdmafs_issue_write,
};

static int rdmafs_writepages(struct address_space *mapping, struct writeback_control *wbc)
{
	struct rdmafs_inode *ri = RDMAFS_I(mapping->host);
	int err;

	rdmafs_commit_begin(ri);
	err = netfs_writepages(mapping, wbc);
	rdmafs_commit_end(ri);
	return err;
}

const struct address_space_operations rdmafs_aops = {
	.read_folio	= rdmafs_read_folio,
	.readahead	= netfs_readahead,
	.dirty_folio	= netfs_dirty_folio,
	.release_folio	= netfs_release_folio,
	.invalidate_folio = netfs_invalidate_folio,
	.writepages	= rdmafs_writepages,
	.migrate_folio	= filemap_migrate_folio,
	.error_remove_folio = generic_error_remove_folio,
};

/**
 * rdmafs_buffered_read - read through the page cache
 * @iocb: the file and the offset, which is advanced
 * @iter: where to; not empty
 *
 * Context: process, waits killably but with IOCB_NOWAIT; takes i_rwsem; no folio lock is held.
 * Return: bytes; -EAGAIN with IOCB_NOWAIT; or another negative errno.
 */
ssize_t rdmafs_buffered_read(struct kiocb *iocb, struct iov_iter *iter)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	ssize_t ret;

	if (iocb->ki_flags & IOCB_NOWAIT) {
		if (rdmafs_attr_expired(inode) || !rdmafs_pages_valid(inode) ||
		    !inode_trylock_shared(inode))
			return -EAGAIN;
		if (test_bit(NETFS_ICTX_ODIRECT, &ri->netfs.flags)) {
			inode_unlock_shared(inode);
			return -EAGAIN;
		}
	} else {
		ret = rdmafs_revalidate_mapping(inode, true);
		if (ret)
			return ret;
		ret = rdmafs_lock_read(inode);
		if (ret)
			return ret;
	}
	ret = filemap_read(iocb, iter, 0);
	netfs_end_io_read(inode);
	return ret;
}

/* Can the data for the next page, at @pos, be read from the program's memory? */
static bool rdmafs_source_readable(const struct iov_iter *from, loff_t pos)
{
	size_t part = min(iov_iter_count(from), PAGE_SIZE - offset_in_page(pos));

	return user_backed_iter(from) && fault_in_iov_iter_readable(from, part) < part;
}

/* Would this signal end the current task? */
static bool rdmafs_signal_ends(int sig)
{
	/* The sighand of a task that runs stays. */
	const struct sighand_struct *sighand = rcu_dereference_protected(current->sighand, true);

	return !siginmask(sig, SIG_KERNEL_IGNORE_MASK | SIG_KERNEL_STOP_MASK) &&
	       READ_ONCE(sighand->action[sig - 1].sa.sa_handler) == SIG_DFL;
}

/* Block signals that do not end the task; @old gets the mask of before. */
static void rdmafs_signals_hold(sigset_t *old)
{
	sigset_t held;
	int sig;

	sigemptyset(&held);
	for (sig = 1; sig <= _NSIG; sig++)
		if (!rdmafs_signal_ends(sig))
			sigaddset(&held, sig);
	sigprocmask(SIG_BLOCK, &held, old);
}

/*
 * Write all of @from, as programs expect of a regular file.  netfs_perform_write() stops early in
 * two cases: at any signal, and if the program's memory is not there when it is copied, for which
 * it is enough that a page is moved, or collapsed into a huge one.  If it has written nothing by
 * then, it says -ERESTARTSYS or -EFAULT.  So it is called again, unless the task is killed or the
 * memory can't be read at all.
 *
 * At the first signal, all signals are blocked that do not end the task.  If one is pending even
 * then, the task is to end, to be frozen or to do other work first, and the write is short.
 */
static ssize_t rdmafs_write_all(struct kiocb *iocb, struct iov_iter *from)
{
	bool held = false;
	ssize_t ret, done = 0;
	sigset_t old;

	while (true) {
		ret = netfs_perform_write(iocb, from, NULL);
		if (ret > 0)
			done += ret;
		if (!iov_iter_count(from) || fatal_signal_pending(current))
			break;
		if (signal_pending(current)) {
			/* Pending though others are blocked: stop here. */
			if (held) {
				if (ret == -EFAULT && rdmafs_source_readable(from, iocb->ki_pos))
					ret = -ERESTARTSYS;
				break;
			}
			rdmafs_signals_hold(&old);
			held = true;
		} else if (ret <= 0 &&
			   (ret != -EFAULT || !rdmafs_source_readable(from, iocb->ki_pos))) {
			break;
		}
	}
	if (held)
		sigprocmask(SIG_SETMASK, &old, NULL);
	return done ? done : ret;
}

/**
 * rdmafs_buffered_write - write into the page cache
 * @iocb: the file and the offset, which is advanced; not O_APPEND
 * @from: the data; not empty
 *
 * Context: process, waits killably; takes i_rwsem; no folio lock is held.
 * Return: bytes; -EAGAIN with IOCB_NOWAIT; -EINTR; or another negative errno.
 */
ssize_t rdmafs_buffered_write(struct kiocb *iocb, struct iov_iter *from)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	int sync = iocb->ki_flags & (IOCB_DSYNC | IOCB_SYNC);
	ssize_t ret;

	if (iocb->ki_flags & IOCB_NOWAIT)
		return -EAGAIN;
	ret = rdmafs_lock_write(inode);
	if (ret)
		return ret;
	ret = generic_write_checks(iocb, from);
	if (ret <= 0)
		goto out;
	trace_rdmafs_cache(inode, sync ? RDMAFS_CACHE_SYNC : RDMAFS_CACHE_CACHED, iocb->ki_pos,
			   iov_iter_count(from));
	/*
	 * The server takes set-id bits away, too, but only when the data is written back; the
	 * new data can be read, and executed, from the page cache before.
	 */
	if (inode->i_mode & (S_ISUID | S_ISGID)) {
		int err = file_remove_privs(iocb->ki_filp);

		if (err) {
			ret = err;
			goto out;
		}
	}
	if (iocb->ki_pos > i_size_read(inode)) {
		ret = rdmafs_leave_hole_unlocked(inode);
		if (ret)
			goto out;
	}
	ret = rdmafs_write_ready(inode, iocb->ki_pos, iov_iter_count(from));
	if (ret)
		goto out;
	atomic_inc(&ri->writers);
	iocb->ki_flags &= ~sync;
	ret = rdmafs_write_all(iocb, from);
	iocb->ki_flags |= sync;
	atomic_dec(&ri->writers);
out:
	rdmafs_unlock_write(inode);
	if (ret > 0)
		ret = generic_write_sync(iocb, ret);
	return ret;
}

/*
 * Take the locks for a store: rdmafs_inode.stores and invalidate_lock, both for reading.
 *
 * No append is under way then, nor a change that a killed task has left (fence.c).  And no page is
 * from before such a change, or from before one that has failed without an answer: all of the page
 * will be written back, over data that the server has moved there, or where it has cut the file.
 *
 * Process context; waits killably; i_rwsem is not held, mmap_lock may be.
 */
static int rdmafs_mkwrite_lock(struct inode *inode)
{
	struct address_space *mapping = inode->i_mapping;
	struct rw_semaphore *stores = &RDMAFS_I(inode)->stores;
	int err;

	while (true) {
		err = rdmafs_fence_wait(inode);
		if (!err && !rdmafs_pages_valid(inode))
			err = rdmafs_revalidate_mapping(inode, true);
		if (!err)
			err = down_read_killable(stores);
		if (err)
			return err;
		err = down_read_killable(&mapping->invalidate_lock);
		if (err)
			break;
		if (!rdmafs_fenced(inode)) {
			/* Pairs with rdmafs_fence_end(), which makes pages stale before. */
			smp_rmb();
			if (rdmafs_pages_valid(inode))
				return 0;
		}
		filemap_invalidate_unlock_shared(mapping);
		up_read(stores);
	}
	up_read(stores);
	return err;
}

/**
 * rdmafs_page_mkwrite - make a folio dirty that a mapping is about to store into
 * @vmf: the fault
 *
 * A change of the size, or of what lies where in the file, holds invalidate_lock from the flush
 * before it until pages are dropped after it; an append holds rdmafs_inode.stores likewise.  Both
 * keep stores out.  The folio is made dirty before these locks are given back here, or the flush
 * would not find it.
 *
 * Context: process, waits killably; the folio is not locked; mmap_lock may be held.
 * Return: VM_FAULT_LOCKED with the folio locked; VM_FAULT_NOPAGE: fault again; or VM_FAULT_SIGBUS.
 */
vm_fault_t rdmafs_page_mkwrite(struct vm_fault *vmf)
{
	struct folio *folio = page_folio(vmf->page);
	struct inode *inode = file_inode(vmf->vma->vm_file);
	struct address_space *mapping = inode->i_mapping;
	/* Also if killed: with VM_FAULT_NOPAGE some architectures fault again before they look. */
	vm_fault_t ret = VM_FAULT_SIGBUS;
	void *priv;

	/* As write(2) fails with EIO. */
	if (READ_ONCE(rdmafs_file_open(vmf->vma->vm_file)->lock_lost))
		return ret;
	sb_start_pagefault(inode->i_sb);
	if (rdmafs_mkwrite_lock(inode))
		goto end;
	rdmafs_test_point("page_mkwrite_locked", inode->i_ino);
	if (folio_lock_killable(folio))
		goto out;
	/* Dropped; or stale, as a foreign change was found while this task waited for the lock. */
	if (folio->mapping != mapping || !rdmafs_pages_still_valid(inode)) {
		ret = VM_FAULT_NOPAGE;
		goto unlock;
	}
	/* Another client has cut the page off: it would never be written back. */
	if (page_offset(vmf->page) >= i_size_read(inode) ||
	    folio_wait_writeback_killable(folio) || !folio_test_uptodate(folio))
		goto unlock;
	if (!test_bit(RDMAFS_I_STORED, &RDMAFS_I(inode)->flags))
		set_bit(RDMAFS_I_STORED, &RDMAFS_I(inode)->flags);
	/* From now on all of the folio is dirty: remove netfs' record of a dirty part. */
	priv = folio_get_private(folio);
	if (netfs_is_folio_info(priv)) {
		folio_detach_private(folio);
		kfree(__netfs_folio_info(priv));
	}
	folio_mark_dirty(folio);
	ret = VM_FAULT_LOCKED;
	goto out;
unlock:
	folio_unlock(folio);
out:
	filemap_invalidate_unlock_shared(mapping);
	up_read(&RDMAFS_I(inode)->stores);
end:
	sb_end_pagefault(inode->i_sb);
	return ret;
}
