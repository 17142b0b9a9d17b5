// SPDX-License-Identifier: GPL-2.0
/*
 * Cached pages of a file: whether they are good, dropping them, waiting for that.
 *
 * Pages that someone else's change has made stale are dropped by the first task
 * that wants to use them; coherence.c has the states.  Others wait for it, since
 * until it is done pages may be old ones, and the change was closed before they
 * opened the file.  Dirty data is written back first.
 *
 * Who drops needs the server, and the locks of folios, for as long as it takes.
 * So nobody may wait here who holds a folio, which writeback needs, or the file's
 * invalidate_lock.  Its i_rwsem is all right: neither writeback nor whoever drops pages
 * needs it.  So are the locks of a directory and of an address space.  Who may not wait at
 * all (IOCB_NOWAIT) looks at rdmafs_pages_valid() instead; page faults that only read do
 * not come here.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/wait_bit.h>
#include "client.h"
#include "transport/points.h"
#include "trace.h"

/* Times that invalidation of a busy mapping is tried. */
#define RDMAFS_INVALIDATE_TRIES	8

/**
 * rdmafs_pages_moved_locked - trace that cached pages have changed their state
 * @ri:  the file, its lock held
 * @old: what the state was
 */
void rdmafs_pages_moved_locked(struct rdmafs_inode *ri, enum rdmafs_pages old)
{
	lockdep_assert_held(&ri->lock);
	if (ri->coh.pages != old)
		trace_rdmafs_pages(&ri->netfs.inode, old, ri->coh.pages);
}

/* Something happened to cached pages; what they are after that. */
static enum rdmafs_pages rdmafs_pages_event_locked(struct rdmafs_inode *ri,
						   enum rdmafs_pages_event event)
{
	enum rdmafs_pages old = ri->coh.pages;

	lockdep_assert_held(&ri->lock);
	WARN_ON_ONCE(!rdmafs_pages_next(&ri->coh.pages, event));
	rdmafs_pages_moved_locked(ri, old);
	return ri->coh.pages;
}

/**
 * rdmafs_pages_stale - cached pages are not to be used any more
 * @inode: a regular file
 *
 * Context: any.
 */
void rdmafs_pages_stale(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	unsigned long irq;

	spin_lock_irqsave(&ri->lock, irq);
	rdmafs_pages_event_locked(ri, RDMAFS_PAGES_CHANGED);
	spin_unlock_irqrestore(&ri->lock, irq);
}

/**
 * rdmafs_pages_valid - may cached pages be used as they are?
 * @inode: a regular file
 *
 * Context: any.
 * Return: true if so.
 */
bool rdmafs_pages_valid(struct inode *inode)
{
	return READ_ONCE(RDMAFS_I(inode)->coh.pages) == RDMAFS_PAGES_VALID;
}

/**
 * rdmafs_pages_still_valid - may a page that is about to be dirty be used as it is?
 * @inode: a regular file
 *
 * The caller has the page locked, and it is uptodate: who lets the file grow after this finds
 * it so (rdmafs_tail_dirty()), and who did before has made pages stale.
 *
 * Context: process.
 * Return: true if so.
 */
bool rdmafs_pages_still_valid(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	bool valid;

	spin_lock_irq(&ri->lock);
	valid = ri->coh.pages == RDMAFS_PAGES_VALID;
	spin_unlock_irq(&ri->lock);
	return valid;
}

static bool rdmafs_pages_dropping(struct rdmafs_inode *ri)
{
	enum rdmafs_pages pages = READ_ONCE(ri->coh.pages);

	return pages == RDMAFS_PAGES_DROPPING || pages == RDMAFS_PAGES_DROPPING_AGAIN;
}

/**
 * rdmafs_busy - is there data that the server does not have, or may not have had?
 * @inode: a regular file
 *
 * Context: any.
 * Return: true if so.
 */
bool rdmafs_busy(struct inode *inode)
{
	struct address_space *mapping = inode->i_mapping;

	return atomic_read(&RDMAFS_I(inode)->writers) ||
	       mapping_tagged(mapping, PAGECACHE_TAG_DIRTY) ||
	       mapping_tagged(mapping, PAGECACHE_TAG_WRITEBACK) ||
	       mapping_tagged(mapping, PAGECACHE_TAG_TOWRITE);
}

/**
 * rdmafs_tail_dirty - is the page that the file ends in dirty, or about to be?
 * @inode: a regular file
 *
 * Who writes into it has it locked until it is dirty; so has who writes it back, until it
 * is settled how much of it.  One that is locked to be filled is not uptodate.  But what
 * write(2) will find there, when it has waited for its data, may be what is being filled in
 * now.
 *
 * Context: any; the caller holds rdmafs_inode.lock.
 * Return: true if so.
 */
bool rdmafs_tail_dirty(struct inode *inode)
{
	loff_t size = i_size_read(inode);
	struct folio *folio;
	bool dirty;

	if (!(size & (PAGE_SIZE - 1)))
		return false;
	folio = filemap_get_folio(inode->i_mapping, size >> PAGE_SHIFT);
	if (IS_ERR(folio))
		return false;
	/* Pairs with the release in rdmafs_unlock_write(). */
	dirty = test_bit_acquire(RDMAFS_I_WRITING, &RDMAFS_I(inode)->flags) ||
		(folio_test_uptodate(folio) &&
		 (folio_test_dirty(folio) || folio_test_locked(folio)));
	folio_put(folio);
	return dirty;
}

/* Drop pages of a range, after writing back what is dirty; 0, or why they could not be. */
static int rdmafs_pages_drop(struct inode *inode, loff_t start, loff_t end)
{
	int tries, err = 0;

	/* -EBUSY: dirtied again meanwhile, through a mapping most likely. */
	for (tries = 0; tries < RDMAFS_INVALIDATE_TRIES; tries++) {
		rdmafs_test_point("pages_drop", inode->i_ino);
		err = rdmafs_drop_range(inode, start, end);
		if (err != -EBUSY)
			break;
	}
	return err;
}

/* They are stale: drop them, unless another task does; false: look again. */
static bool rdmafs_pages_renew(struct inode *inode, int *err)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	bool ours;

	spin_lock_irq(&ri->lock);
	ours = ri->coh.pages == RDMAFS_PAGES_STALE;
	if (ours)
		rdmafs_pages_event_locked(ri, RDMAFS_PAGES_DROP);
	spin_unlock_irq(&ri->lock);
	if (!ours) {
		*err = wait_var_event_killable(&ri->coh.pages, !rdmafs_pages_dropping(ri));
		return *err;
	}
	*err = rdmafs_pages_drop(inode, 0, LLONG_MAX);
	spin_lock_irq(&ri->lock);
	rdmafs_pages_event_locked(ri, *err ? RDMAFS_PAGES_KEPT : RDMAFS_PAGES_DROPPED);
	spin_unlock_irq(&ri->lock);
	/* The new state is seen before we look for waiters: pairs with their barrier. */
	smp_mb();
	wake_up_var(&ri->coh.pages);
	/* Pages that stay busy are in use by a mapping: the next read tries again. */
	if (*err == -EBUSY)
		*err = 0;
	return true;
}

/**
 * rdmafs_revalidate_mapping - make cached pages fit to be read
 * @inode: a regular file
 * @attrs: look at the attributes first, if they have expired
 *
 * The server is asked in any case if the size is not known: what is read in, or written,
 * then ends with the file.
 *
 * Context: process; see above for what may be held.
 * Return: 0, -EINTR, or why pages could not be dropped.
 */
int rdmafs_revalidate_mapping(struct inode *inode, bool attrs)
{
	bool unsure = rdmafs_size_unsure(inode);
	int err;

	if (attrs || unsure) {
		/* A page of the end that is dirty keeps a larger size from being taken over. */
		err = unsure ? rdmafs_flush(inode) : 0;
		if (!err)
			err = rdmafs_revalidate(inode, unsure);
		if (err)
			return err;
	}
	err = 0;
	while (!rdmafs_pages_valid(inode) && !rdmafs_pages_renew(inode, &err))
		;
	return err == -ERESTARTSYS ? -EINTR : err;
}

/* Does what we know tell whether pages are good for who has opened the file now? */
static bool rdmafs_open_known(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	enum rdmafs_pages old;
	bool known;

	spin_lock_irq(&ri->lock);
	old = ri->coh.pages;
	known = rdmafs_coh_opened(&ri->coh);
	rdmafs_pages_moved_locked(ri, old);
	spin_unlock_irq(&ri->lock);
	return known;
}

/**
 * rdmafs_open_mapping - cached pages when the file has been opened
 * @inode: a regular file; attributes of the open have been taken over
 *
 * Context: as above.
 * Return: 0 or a negative errno.
 */
int rdmafs_open_mapping(struct inode *inode)
{
	int err;

	if (!rdmafs_open_known(inode)) {
		/* Changes of ours were under way; so have them done, and ask. */
		err = rdmafs_flush(inode);
		if (!err)
			err = rdmafs_revalidate(inode, true);
		if (err)
			return err;
		/* More of them: then nobody can tell. */
		if (!rdmafs_open_known(inode))
			rdmafs_pages_stale(inode);
	}
	rdmafs_test_point("open_mapping_known", inode->i_ino);
	return rdmafs_revalidate_mapping(inode, false);
}

/* Page tables hold a reference each: a page of many mappings would look as if it were pinned. */
static bool rdmafs_folio_lent(const struct folio *folio)
{
	return folio_ref_count(folio) - folio_mapcount(folio) >= (int)GUP_PIN_COUNTING_BIAS;
}

/*
 * Clear what is behind the end in the page of the end, of what there is all of; if that is for
 * pages that are pinned (@lent) others are -EAGAIN.  -EINTR if killed.
 */
static int rdmafs_tail_rest(struct inode *inode, loff_t from, bool lent)
{
	struct folio *folio;
	int err;

	if (!(from & (PAGE_SIZE - 1)))
		return 0;
	folio = filemap_get_folio(inode->i_mapping, from >> PAGE_SHIFT);
	if (IS_ERR(folio))
		return 0;
	err = -EINTR;
	if (folio_lock_killable(folio))
		goto put;
	if (folio_wait_writeback_killable(folio))
		goto unlock;
	err = 0;
	/* It may have been dropped, and the file have grown, while we waited. */
	if (folio->mapping != inode->i_mapping || !folio_test_uptodate(folio) ||
	    i_size_read(inode) != from)
		goto unlock;
	if (!lent || rdmafs_folio_lent(folio))
		folio_zero_segment(folio, offset_in_folio(folio, from), folio_size(folio));
	else
		err = -EAGAIN;
unlock:
	folio_unlock(folio);
put:
	folio_put(folio);
	return err;
}

/**
 * rdmafs_zero_tail - clear what a mapping may have written behind the end
 * @inode: the file
 * @from:  its size, about to grow
 *
 * What is on its way to the server must not change, so that is waited for.
 *
 * Context: the caller holds i_rwsem, or rdmafs_inode.stores for writing.
 * Return: 0 or -EINTR.
 */
int rdmafs_zero_tail(struct inode *inode, loff_t from)
{
	return rdmafs_tail_rest(inode, from, false);
}

/**
 * rdmafs_tail_keep - may the page that a file ends in stay though it gets longer?
 * @inode: the file
 * @from:  its size
 *
 * It stays, cleared behind the end, if somebody has it pinned: what a direct read of some
 * other file brings would end in a page that is nobody's, if it was dropped meanwhile;
 * invalidate_inode_pages2_range() does not look.  Who reads into a page that is clean has to
 * fault first, and page_mkwrite() waits for rdmafs_inode.stores and invalidate_lock: with one
 * of them held for writing it stays true of a clean page that nobody has pinned.  A dirty one
 * can be pinned without a fault, so it is written back before.
 *
 * Context: the caller holds rdmafs_inode.stores or invalidate_lock for writing.
 * Return: 0 if it may, or if there is none, or not all of it and nobody reads it in; -EAGAIN
 * if it is to be dropped; -EINTR if killed.
 */
int rdmafs_tail_keep(struct inode *inode, loff_t from)
{
	if (!(from & (PAGE_SIZE - 1)))
		return 0;
	if (rdmafs_flush_range(inode, from, from) == -EINTR)
		return -EINTR;
	return rdmafs_tail_rest(inode, from, true);
}

/**
 * rdmafs_leave_hole - something is about to be written behind the end of a file
 * @inode: the file
 * @from:  its size
 *
 * The zeros between are the server's to make: it may know that another client has written
 * there.  So the page of the end, if there is all of it, goes back to the server while the
 * file ends in it, and what is written into it next brings nothing else along.
 *
 * Context: the caller holds i_rwsem, and rdmafs_inode.stores or invalidate_lock for writing.
 * Return: 0 or a negative errno, -EINTR if killed.
 */
int rdmafs_leave_hole(struct inode *inode, loff_t from)
{
	int err = rdmafs_tail_keep(inode, from);

	if (err != -EAGAIN)
		return err;
	err = rdmafs_pages_drop(inode, from, from);
	/* Used by a mapping: what has been read in just now has the server's bytes there. */
	return err == -EBUSY ? rdmafs_zero_tail(inode, from) : err;
}

/**
 * rdmafs_leave_hole_unlocked - the same for who holds neither of these locks
 * @inode: the file
 *
 * Mappings may store again before the file has grown: what is written may itself be in a page
 * of the file, which the copy of it has to fault in, or be written by the server only later.
 *
 * Context: the caller holds i_rwsem.
 * Return: 0 or a negative errno, -EINTR if killed.
 */
int rdmafs_leave_hole_unlocked(struct inode *inode)
{
	struct rw_semaphore *stores = &RDMAFS_I(inode)->stores;
	int err;

	if (down_write_killable(stores))
		return -EINTR;
	err = rdmafs_leave_hole(inode, i_size_read(inode));
	up_write(stores);
	rdmafs_test_point("hole_left", inode->i_ino);
	return err;
}
