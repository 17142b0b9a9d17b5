// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting for writeback, killably.
 *
 * The kernel's own waits for writeback and for a folio's lock are deaf to signals,
 * and without a server they last.  So a worker of the mount does them in the stead
 * of the task, which waits for the worker.  When the task is killed, the worker
 * stays, and goes on when there is a server again: what is dirty is written though
 * nobody waits for it any more.
 *
 * SIGKILL does not reach a task that exits.  If a signal ended it, it waits for
 * nothing.  If it exits by itself, what it wrote is to be there when its parent
 * knows of its end; so it waits while a server answers: not for more than
 * RDMAFS_EXIT_WAIT seconds when there is none, or RDMAFS_EXIT_SILENT when there is one
 * that answers nobody.
 *
 * Ownership: an errand, or a fill, is its worker's and, while it waits, the task's.  It holds
 * the inode, an open for writing, as writeback needs one, and the mount.
 */
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "client.h"
#include "transport/points.h"

/* Seconds without a server, or the export, after which a task that exits waits no longer. */
#define RDMAFS_EXIT_WAIT	10

/* Seconds without any answer of a server, likewise: more than a slow disk takes. */
#define RDMAFS_EXIT_SILENT	60

/**
 * struct rdmafs_errand - what a worker does for a task
 * @work:  the worker's
 * @done:  it has been done
 * @ref:   the worker's and the task's
 * @inode: the file, referenced
 * @open:  for writing, referenced, or NULL if there is none
 * @start: first byte
 * @end:   last byte
 * @drop:  drop the pages, too
 * @err:   what came of it
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
 * @mnt:  the mount
 * @done: what is waited for
 *
 * Context: process.
 * Return: 0: it is there; -EINTR: killed, or not to be waited for in an exit.
 */
int rdmafs_wait(struct rdmafs_mount *mnt, struct completion *done)
{
	unsigned long heard = READ_ONCE(mnt->heard);
	unsigned int down = 0, silent = 0;

	if (!(current->flags & PF_EXITING))
		return wait_for_completion_killable(done) ? -EINTR : 0;
	if (current->exit_code & 0x7f)	/* the signal that ended it */
		return try_wait_for_completion(done) ? 0 : -EINTR;
	while (!wait_for_completion_timeout(done, HZ)) {
		down = rdmafs_served(mnt) ? 0 : down + 1;
		silent = heard == READ_ONCE(mnt->heard) ? silent + 1 : 0;
		heard = READ_ONCE(mnt->heard);
		if (down == RDMAFS_EXIT_WAIT || silent == RDMAFS_EXIT_SILENT)
			return -EINTR;
	}
	return 0;
}

/* Write back and wait, and drop; waits as the kernel does. */
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
	struct rdmafs_mount *mnt = RDMAFS_M(e->inode->i_sb);

	e->err = rdmafs_errand_do(e->inode, e->start, e->end, e->drop);
	/* Before the task goes on: who closes the file then is to be the last. */
	if (e->open)
		rdmafs_open_put(e->open);
	complete(&e->done);
	iput(e->inode);
	rdmafs_opens_dec(mnt);
	rdmafs_errand_put(e);
}

/* @open: for writing, or NULL; its reference becomes the errand's. */
static void rdmafs_errand_start(struct rdmafs_errand *e, struct inode *inode,
				struct rdmafs_open *open, loff_t start, loff_t end, bool drop)
{
	struct rdmafs_mount *mnt = RDMAFS_M(inode->i_sb);

	INIT_WORK(&e->work, rdmafs_errand_work);
	init_completion(&e->done);
	refcount_set(&e->ref, 2);
	ihold(inode);
	e->inode = inode;
	e->open = open;
	e->start = start;
	e->end = end;
	e->drop = drop;
	atomic_inc(&mnt->nr_opens);
	queue_work(mnt->file_wq, &e->work);
}

static int rdmafs_errand(struct inode *inode, loff_t start, loff_t end, bool drop)
{
	struct rdmafs_errand *e = NULL;
	int err;

	/* A thread of the kernel's own is not killed. */
	if (!(current->flags & PF_KTHREAD))
		e = kzalloc(sizeof(*e), GFP_NOFS);
	if (!e)
		return rdmafs_errand_do(inode, start, end, drop);
	rdmafs_errand_start(e, inode, rdmafs_open_find(inode, RFP_OPEN_WRITE), start, end, drop);
	err = rdmafs_wait(RDMAFS_M(inode->i_sb), &e->done);
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
 * Context: process; the folios' locks are not held.
 * Return: 0; -EINTR: killed, it goes on alone; or why it could not be begun.
 */
int rdmafs_flush_range(struct inode *inode, loff_t start, loff_t end)
{
	if (rdmafs_clean(inode->i_mapping))
		return 0;
	return rdmafs_errand(inode, start, end, false);
}

/**
 * rdmafs_flush - write back what is dirty and wait for it
 * @inode: a regular file
 *
 * Errors stay with the mapping, for fsync(2) and close(2) to report.
 *
 * Context: process; the folios' locks are not held.
 * Return: 0; -EINTR: killed, it goes on alone.
 */
int rdmafs_flush(struct inode *inode)
{
	return rdmafs_flush_range(inode, 0, LLONG_MAX) == -EINTR ? -EINTR : 0;
}

/**
 * rdmafs_flush_put - have workers write back what is dirty, and drop a reference then
 * @open: an open of the file
 *
 * Unmounting waits for them, the caller for nothing.
 *
 * Context: process.
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
 * Context: process; the folios' locks are not held.
 * Return: 0; -EINTR: killed; -EBUSY: pages are in use, or were dirtied again.
 */
int rdmafs_drop_range(struct inode *inode, loff_t start, loff_t end)
{
	if (!inode->i_mapping->nrpages)
		return 0;
	return rdmafs_errand(inode, start, end, true);
}

/**
 * struct rdmafs_fill - a folio that a worker reads for a task
 * @work:  the worker's
 * @done:  it has been read, or not
 * @ref:   the worker's and the task's
 * @open:  for reading, referenced
 * @folio: locked, referenced
 * @err:   what came of it
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
 * netfs looks whether the folio is dirty, but a part of it may be on its way to the server: what
 * is read now would come over that, and netfs would let go of its record of the part, which
 * writeback uses.  Writeback waits for nobody who has a folio's lock here: what is held of it
 * unsent goes when writepages ends, which does not come to this folio again (commit.c).
 */
static int rdmafs_fill_do(struct file *file, struct folio *folio)
{
	folio_wait_writeback(folio);
	return netfs_read_folio(file, folio);
}

/*
 * The same wait, by who asks: workers that wait for writeback would be as many as can run, and
 * nobody else's folio would be read.  0 or -EINTR.  SIGKILL does not reach who exits: the worker
 * waits for him.
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

	/* It finds the open again. */
	fill->err = rdmafs_fill_do(NULL, fill->folio);
	folio_put(fill->folio);
	rdmafs_open_put(fill->open);
	complete(&fill->done);
	rdmafs_fill_put(fill);
}

/**
 * rdmafs_read_folio - address_space_operations.read_folio
 * @file:  who asks, or NULL
 * @folio: locked, to be unlocked when it has been read
 *
 * Who asks waits killably; netfs would wait otherwise.
 *
 * Return: 0 or a negative errno, -EINTR if killed: it goes on alone.
 */
int rdmafs_read_folio(struct file *file, struct folio *folio)
{
	struct inode *inode = folio->mapping->host;
	struct rdmafs_mount *mnt = RDMAFS_M(inode->i_sb);
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
	/* Not with those that wait for the folio: they may be as many as can run. */
	queue_work(mnt->fill_wq, &fill->work);
	err = rdmafs_wait(mnt, &fill->done);
	if (!err)
		err = fill->err;
	rdmafs_fill_put(fill);
	return err;
}

/* The folio at @index: nobody is at it, and netfs can add what is written to what has been. */
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
	return apart ? rdmafs_flush_range(inode, from, to - 1) : 0;
}

/* Nobody is at any folio of the range, each looked at once. */
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
 * rdmafs_write_ready - wait for what netfs would wait for, deaf to signals
 * @inode: a regular file, i_rwsem held exclusively
 * @pos:   where is to be written
 * @len:   bytes, at least 1
 *
 * A folio of which a part has been written takes another part only if that follows;
 * else it is written back first.
 *
 * Return: 0 or a negative errno, -EINTR if killed.
 */
int rdmafs_write_ready(struct inode *inode, loff_t pos, size_t len)
{
	loff_t end = pos + len;
	int err;

	err = rdmafs_ready_range(inode, pos, end);
	if (!err)
		err = rdmafs_ready_folio(inode, pos >> PAGE_SHIFT, pos, end);
	if (!err && pos >> PAGE_SHIFT != (end - 1) >> PAGE_SHIFT)
		err = rdmafs_ready_folio(inode, (end - 1) >> PAGE_SHIFT, pos, end);
	return err;
}

/**
 * rdmafs_dio_wait - wait until no direct I/O of a file is under way
 * @inode: the file, i_rwsem held exclusively
 *
 * Return: 0 or -EINTR.
 */
int rdmafs_dio_wait(struct inode *inode)
{
	return wait_var_event_killable(&inode->i_dio_count, inode_dio_finished(inode)) ? -EINTR : 0;
}
