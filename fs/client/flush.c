// SPDX-License-Identifier: GPL-2.0
/*
 * Write back and read in, and wait for both killably.
 *
 * The kernel's own waits for writeback and for a folio's lock are deaf to signals, and
 * without a server they last.  So a worker of the mount does them for the task, in an
 * *errand*, and the task waits for the worker, killably.  When the task is killed, the
 * worker goes on, and finishes when there is a server again: dirty data is written though
 * no task waits for it any more.  A *fill* is the same for a folio that is read in.
 *
 * SIGKILL does not reach a task that exits.  If a signal has ended the task, it waits for
 * nothing.  If it exits by itself, the data that it wrote is to be at the server when its
 * parent learns of its end; so it waits while a server answers, but for at most
 * RDMAFS_EXIT_WAIT seconds if there is no server, and RDMAFS_EXIT_SILENT seconds if the
 * server answers no request at all.
 *
 * Ownership: an errand, or a fill, belongs to its worker and, while the task waits, to the
 * task.  An errand holds the inode, the mount (nr_opens), and an open for writing if there is
 * one, as writeback needs that.  A fill holds the folio, and an open for reading, which keeps
 * the inode and the mount.
 */
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "client.h"
#include "open.h"
#include "transport/points.h"
#include "trace.h"

/* Seconds without a server, or without the export, for which a task that exits waits. */
#define RDMAFS_EXIT_WAIT	10

/* Seconds without any answer of the server, likewise: longer than a slow disk takes. */
#define RDMAFS_EXIT_SILENT	60

/**
 * struct rdmafs_errand - writing back, and dropping, that a worker does for a task
 * @work:  the work, on file_wq
 * @done:  @err is valid
 * @ref:   one of the worker, one of the task
 * @inode: the file, referenced
 * @open:  an open for writing, referenced, or NULL if there is none
 * @start: first byte
 * @end:   last byte
 * @drop:  drop the pages, too
 * @err:   0 or a negative errno
 */
struct rdmafs_errand {
	struct work_struct work;
	struct completion done;
	refcount_t ref;
	struct inode *inode;
	struct rdmafs_open *open;
	loff_t start;
	loff_t end;
	bool drop;
	int err;
};

/**
 * rdmafs_wait - wait for something that comes from the server
 * @super: the superblock that it is for
 * @done: the completion that is waited for
 *
 * Context: process; waits killably, or for as long as the head says in a task that exits.
 * Return: 0: @done is complete; -EINTR: the task was killed, or exits and waits no longer.
 */
int rdmafs_wait(struct rdmafs_super *super, struct completion *done)
{
	struct rdmafs_mount *mnt = super->mnt;
	unsigned long heard = READ_ONCE(mnt->heard);
	unsigned int down = 0, silent = 0;

	if (!(current->flags & PF_EXITING))
		return wait_for_completion_killable(done) ? -EINTR : 0;
	if (current->exit_code & 0x7f)	/* the signal that ended it */
		return try_wait_for_completion(done) ? 0 : -EINTR;
	while (!wait_for_completion_timeout(done, HZ)) {
		down = rdmafs_served(super) ? 0 : down + 1;
		silent = heard == READ_ONCE(mnt->heard) ? silent + 1 : 0;
		heard = READ_ONCE(mnt->heard);
		if (down == RDMAFS_EXIT_WAIT || silent == RDMAFS_EXIT_SILENT)
			return -EINTR;
	}
	return 0;
}

/* Write back, wait for that, and drop if @drop.  Process context; the waits are not killable. */
static int rdmafs_errand_do(struct inode *inode, loff_t start, loff_t end, bool drop)
{
	struct address_space *mapping = inode->i_mapping;
	int err;

	err = filemap_fdatawrite_range(mapping, start, end);
	/* Errors stay with the mapping, for fsync(2) and close(2) to report. */
	filemap_fdatawait_range_keep_errors(mapping, start, end);
	if (!drop)
		return err;
	rdmafs_test_point("range_written", inode->i_ino);
	return invalidate_inode_pages2_range(mapping, start >> PAGE_SHIFT, end >> PAGE_SHIFT);
}

static void rdmafs_errand_put(struct rdmafs_errand *e)
{
	if (refcount_dec_and_test(&e->ref))
		kfree(e);
}

static void rdmafs_errand_work(struct work_struct *work)
{
	struct rdmafs_errand *e = container_of(work, struct rdmafs_errand, work);
	struct rdmafs_super *super = RDMAFS_S(e->inode->i_sb);

	e->err = rdmafs_errand_do(e->inode, e->start, e->end, e->drop);
	/* Before the task goes on: if it closes the file next, its open is to be the last. */
	if (e->open)
		rdmafs_open_put(e->open);
	complete(&e->done);
	iput(e->inode);
	rdmafs_opens_dec(super);
	rdmafs_errand_put(e);
}

/* Queue an errand.  @open is for writing, or NULL; its reference becomes the errand's. */
static void rdmafs_errand_start(struct rdmafs_errand *e, struct inode *inode,
				struct rdmafs_open *open, loff_t start, loff_t end, bool drop)
{
	struct rdmafs_super *super = RDMAFS_S(inode->i_sb);

	INIT_WORK(&e->work, rdmafs_errand_work);
	init_completion(&e->done);
	refcount_set(&e->ref, 2);
	ihold(inode);
	e->inode = inode;
	e->open = open;
	e->start = start;
	e->end = end;
	e->drop = drop;
	atomic_inc(&super->nr_opens);
	queue_work(super->mnt->file_wq, &e->work);
}

/* Have a worker do an errand, and wait; without memory for it the task does it itself. */
static int rdmafs_errand(struct inode *inode, loff_t start, loff_t end, bool drop)
{
	struct rdmafs_errand *e = NULL;
	int err;

	/* A kernel thread is not killed, so it needs no worker. */
	if (!(current->flags & PF_KTHREAD))
		e = kzalloc(sizeof(*e), GFP_NOFS);
	if (!e)
		return rdmafs_errand_do(inode, start, end, drop);
	rdmafs_errand_start(e, inode, rdmafs_open_find(inode, RFP_OPEN_WRITE), start, end, drop);
	err = rdmafs_wait(RDMAFS_S(inode->i_sb), &e->done);
	if (!err)
		err = e->err;
	rdmafs_errand_put(e);
	return err;
}

static bool rdmafs_clean(struct address_space *mapping)
{
	return !mapping_tagged(mapping, PAGECACHE_TAG_DIRTY) &&
	       !mapping_tagged(mapping, PAGECACHE_TAG_WRITEBACK);
}

/**
 * rdmafs_flush_range - write back a part of a file and wait for it
 * @inode: a regular file
 * @start: first byte
 * @end:   last byte
 *
 * Errors of writing stay with the mapping.
 *
 * Context: process, waits killably; no folio lock is held.
 * Return: 0; -EINTR: killed, and writeback goes on alone; or why it could not be begun.
 */
int rdmafs_flush_range(struct inode *inode, loff_t start, loff_t end)
{
	if (rdmafs_clean(inode->i_mapping))
		return 0;
	return rdmafs_errand(inode, start, end, false);
}

/**
 * rdmafs_flush - write back all that is dirty of a file and wait for it
 * @inode: a regular file
 *
 * Errors stay with the mapping, for fsync(2) and close(2) to report.
 *
 * Context: process, waits killably; no folio lock is held.
 * Return: 0; -EINTR: killed, and writeback goes on alone.
 */
int rdmafs_flush(struct inode *inode)
{
	return rdmafs_flush_range(inode, 0, LLONG_MAX) == -EINTR ? -EINTR : 0;
}

/**
 * rdmafs_flush_put - put an open, after a worker has written back what is dirty
 * @open: an open of the file; the caller's reference
 *
 * The caller does not wait; unmounting waits for the worker.
 *
 * Context: process, may sleep for memory.
 */
void rdmafs_flush_put(struct rdmafs_open *open)
{
	struct rdmafs_errand *e;

	if (!(open->flags & RFP_OPEN_WRITE) || rdmafs_clean(open->inode->i_mapping)) {
		rdmafs_open_put(open);
		return;
	}
	e = kzalloc(sizeof(*e), GFP_NOFS | __GFP_NOFAIL);
	rdmafs_errand_start(e, open->inode, open, 0, LLONG_MAX, false);
	rdmafs_errand_put(e);
}

/**
 * rdmafs_drop_range - write back a part of a file and drop it from the page cache
 * @inode: a regular file
 * @start: first byte
 * @end:   last byte
 *
 * Context: process, waits killably; no folio lock is held.
 * Return: 0; -EINTR: killed, and the worker goes on alone; -EBUSY: pages are in use, or were
 * made dirty again.
 */
int rdmafs_drop_range(struct inode *inode, loff_t start, loff_t end)
{
	if (!inode->i_mapping->nrpages)
		return 0;
	return rdmafs_errand(inode, start, end, true);
}

/**
 * struct rdmafs_fill - a folio that a worker reads in for a task
 * @work:  the work, on fill_wq
 * @done:  @err is valid, and the folio is unlocked
 * @ref:   one of the worker, one of the task
 * @open:  an open for reading, referenced; the worker's
 * @folio: locked, referenced; the worker's
 * @err:   0 or a negative errno
 */
struct rdmafs_fill {
	struct work_struct work;
	struct completion done;
	refcount_t ref;
	struct rdmafs_open *open;
	struct folio *folio;
	int err;
};

static void rdmafs_fill_put(struct rdmafs_fill *fill)
{
	if (refcount_dec_and_test(&fill->ref))
		kfree(fill);
}

/*
 * Read in a folio whose lock is held.  netfs looks whether the folio is dirty, but not whether a
 * part of it is under writeback: the data read would be put over that part, and netfs would free
 * its record of the part, which writeback uses.  So writeback is waited for.
 *
 * That wait ends though the lock is held: a write of this folio that commit.c holds unsent is sent
 * when writepages ends, and writepages does not come to this folio again.
 */
static int rdmafs_fill_do(struct file *file, struct folio *folio)
{
	folio_wait_writeback(folio);
	return netfs_read_folio(file, folio);
}

/*
 * The same wait, done by the task before it asks a worker: else workers that wait for writeback
 * could be as many as can run, and no other folio would be read.  0 or -EINTR.  A task that exits
 * can't be killed in this wait, so it leaves the wait to the worker.
 */
static int rdmafs_fill_wait(struct folio *folio)
{
	if (current->flags & PF_EXITING)
		return 0;
	return folio_wait_writeback_killable(folio) ? -EINTR : 0;
}

static void rdmafs_fill_work(struct work_struct *work)
{
	struct rdmafs_fill *fill = container_of(work, struct rdmafs_fill, work);

	/* Without a struct file; rdmafs_init_request() finds an open. */
	fill->err = rdmafs_fill_do(NULL, fill->folio);
	folio_put(fill->folio);
	rdmafs_open_put(fill->open);
	complete(&fill->done);
	rdmafs_fill_put(fill);
}

/**
 * rdmafs_read_folio - read in a folio, for address_space_operations.read_folio
 * @file:  the file that it is read through, or NULL
 * @folio: locked; unlocked when it has been read, or could not be
 *
 * A worker calls netfs, which does not wait killably; the task waits killably for the worker.
 *
 * Context: process, waits killably; the folio's lock is held.
 * Return: 0 or a negative errno; -EINTR: killed, and the worker goes on alone.
 */
int rdmafs_read_folio(struct file *file, struct folio *folio)
{
	struct inode *inode = folio->mapping->host;
	struct rdmafs_super *super = RDMAFS_S(inode->i_sb);
	struct rdmafs_fill *fill = NULL;
	int err;

	if (!(current->flags & PF_KTHREAD))
		fill = kzalloc(sizeof(*fill), GFP_NOFS);
	if (!fill)
		return rdmafs_fill_do(file, folio);
	err = rdmafs_fill_wait(folio);
	fill->open = err ? NULL : rdmafs_open_find(inode, RFP_OPEN_READ | RFP_OPEN_EXEC);
	if (!fill->open) {
		kfree(fill);
		folio_unlock(folio);
		return err ? err : -EBADF;
	}
	folio_get(folio);
	fill->folio = folio;
	INIT_WORK(&fill->work, rdmafs_fill_work);
	init_completion(&fill->done);
	refcount_set(&fill->ref, 2);
	/* Not file_wq: its works wait for folios, and may be as many as can run. */
	queue_work(super->mnt->fill_wq, &fill->work);
	err = rdmafs_wait(super, &fill->done);
	if (!err)
		err = fill->err;
	rdmafs_fill_put(fill);
	return err;
}

/*
 * Prepare the folio at @index for a write of @pos..@end: wait for its lock and its writeback, and
 * write it back if netfs can't join the write with the part that is dirty.  0 or a negative errno.
 */
static int rdmafs_ready_folio(struct inode *inode, pgoff_t index, loff_t pos, loff_t end)
{
	struct folio *folio = filemap_get_folio(inode->i_mapping, index);
	struct netfs_folio *part = NULL;
	bool apart = false;
	loff_t from, to;
	int err;

	if (IS_ERR(folio))
		return 0;
	err = folio_lock_killable(folio);
	if (err)
		goto put;
	err = folio_wait_writeback_killable(folio);
	if (!err)
		part = netfs_folio_info(folio);
	from = folio_pos(folio);
	to = from + folio_size(folio);
	if (part)
		apart = from + part->dirty_offset + part->dirty_len != max(pos, from) &&
			(pos > from || end < to);
	folio_unlock(folio);
put:
	folio_put(folio);
	if (err)
		return -EINTR;
	if (!apart)
		return 0;
	trace_rdmafs_cache(inode, RDMAFS_CACHE_APART, from, to - from);
	return rdmafs_flush_range(inode, from, to - 1);
}

/* Wait for the lock and the writeback of each folio of a range, once.  0 or -EINTR. */
static int rdmafs_ready_range(struct inode *inode, loff_t pos, loff_t end)
{
	pgoff_t index = pos >> PAGE_SHIFT, last = (end - 1) >> PAGE_SHIFT;
	struct folio_batch batch;
	unsigned int i;
	int err = 0;

	folio_batch_init(&batch);
	while (!err && filemap_get_folios(inode->i_mapping, &index, last, &batch)) {
		for (i = 0; !err && i < folio_batch_count(&batch); i++) {
			struct folio *folio = batch.folios[i];

			if (folio_test_locked(folio)) {
				err = folio_lock_killable(folio);
				if (!err)
					folio_unlock(folio);
			}
			if (!err && folio_test_writeback(folio))
				err = folio_wait_writeback_killable(folio);
		}
		folio_batch_release(&batch);
		cond_resched();
	}
	return err ? -EINTR : 0;
}

/**
 * rdmafs_write_ready - do killably the waits that netfs would do deaf to signals
 * @inode: a regular file
 * @pos:   where the write begins
 * @len:   bytes, at least 1
 *
 * If a part of a folio is dirty and the rest is not there, netfs adds another part only if it
 * follows the first; else it writes back first, and waits.  So that is done here.
 *
 * Context: process, waits killably; i_rwsem held exclusively, no folio lock held.
 * Return: 0 or a negative errno, -EINTR if killed.
 */
int rdmafs_write_ready(struct inode *inode, loff_t pos, size_t len)
{
	loff_t end = pos + len;
	int err;

	lockdep_assert_held_write(&inode->i_rwsem);
	err = rdmafs_ready_range(inode, pos, end);
	if (!err)
		err = rdmafs_ready_folio(inode, pos >> PAGE_SHIFT, pos, end);
	if (!err && pos >> PAGE_SHIFT != (end - 1) >> PAGE_SHIFT)
		err = rdmafs_ready_folio(inode, (end - 1) >> PAGE_SHIFT, pos, end);
	return err;
}

/**
 * rdmafs_dio_wait - wait until no direct I/O of a file is under way
 * @inode: the file
 *
 * Context: process, waits killably; i_rwsem held exclusively, so that none begins.
 * Return: 0 or -EINTR.
 */
int rdmafs_dio_wait(struct inode *inode)
{
	lockdep_assert_held_write(&inode->i_rwsem);
	return wait_var_event_killable(&inode->i_dio_count, inode_dio_finished(inode)) ? -EINTR : 0;
}
