// SPDX-License-Identifier: GPL-2.0
/*
 * Tell whether cached pages of a file are valid, which task drops them, and which tasks wait.
 *
 * Pages that a foreign change (coherence.h) has made stale are dropped by the first task that
 * wants to use them; coherence.h has the states.  Other tasks wait for it: until it is done, a
 * page may be from before a change that another client had closed before they opened the file.
 * Dirty data is written back first.
 *
 * The page that a file ends in is special.  It has zeros behind the end, and is written back up
 * to the end.  If the file gets longer while that page is dirty, or becomes dirty later, the
 * zeros go over what another client has written there.  Hence rdmafs_tail_dirty(), for a size
 * that attributes tell, and rdmafs_leave_hole(), for a size that we are about to change.
 *
 * Locks: a task that drops pages needs the server, and the locks of folios, for as long as that
 * takes.  So a task that waits here must hold neither the lock of a folio, which writeback needs,
 * nor the file's invalidate_lock.  It may hold the file's i_rwsem, which neither writeback nor
 * dropping needs, and the locks of a directory and of an address space.  A task that may not
 * wait at all (IOCB_NOWAIT) looks at rdmafs_pages_valid() instead.  Page faults that only read
 * do not come here.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/wait_bit.h>
#include "client.h"
#include "transport/points.h"
#include "trace.h"

/* How often pages that are busy, or dirty again, are tried to be dropped. */
#define RDMAFS_INVALIDATE_TRIES	8

/**
 * rdmafs_pages_moved_locked - trace cached pages if they have changed their state
 * @ri:  the file
 * @old: their state before
 *
 * Context: any; rdmafs_inode.lock held.
 */
void rdmafs_pages_moved_locked(struct rdmafs_inode *ri, enum rdmafs_pages old)
{
	lockdep_assert_held(&ri->lock);
	if (trace_rdmafs_pages_enabled() && ri->coh.pages != old)
		trace_rdmafs_pages(&ri->netfs.inode, old, ri->coh.pages);
}

/* Move the state of cached pages on by @event; returns the new state. */
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
 * rdmafs_pages_stale - have cached pages dropped before they are used again
 * @inode: a regular file
 *
 * Context: any; takes rdmafs_inode.lock.
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
 * rdmafs_pages_valid - tell whether cached pages may be used as they are
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
 * rdmafs_pages_still_valid - tell whether a page may be made dirty as it is
 * @inode: a regular file
 *
 * The page is uptodate.  As the caller has its lock until it is dirty, attributes that would make
 * the file longer after this find it locked (rdmafs_tail_dirty()); attributes that have done so
 * before this have made pages stale.
 *
 * Context: process, the page's lock held; takes rdmafs_inode.lock.
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
 * rdmafs_busy - tell whether there is data that the server does not have, or may not have yet
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
 * rdmafs_tail_dirty - tell whether the page that the file ends in is dirty, or about to be
 * @inode: a regular file
 *
 * A store or a write into the page holds its lock until the page is dirty.  Writeback holds the
 * lock until it has settled how much of the page it writes.  A page that is locked to be read in
 * is not uptodate, and does not count; but if a write(2) is under way (RDMAFS_I_WRITING), any
 * page does: the write may wait for its data now, and then find the page that is being read in.
 *
 * Context: any; rdmafs_inode.lock held.
 * Return: true if so.
 */
bool rdmafs_tail_dirty(struct inode *inode)
{
	loff_t size = i_size_read(inode);
	struct folio *folio;
	bool dirty;

	lockdep_assert_held(&RDMAFS_I(inode)->lock);
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

/* Write back and drop pages of a range; 0, -EBUSY if some are still in use, or -EINTR. */
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

/*
 * Pages are not valid: drop them, or wait for the task that does.  True if this task has dropped
 * them, or @err is set; false if the caller is to look at their state again.
 */
static bool rdmafs_pages_renew(struct inode *inode, int *err)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	bool ours;

	spin_lock_irq(&ri->lock);
	ours = ri->coh.pages == RDMAFS_PAGES_STALE;
	if (ours)
		rdmafs_pages_event_locked(ri, RDMAFS_PAGES_DROP);
	spin_unlock_irq(&ri->lock);
	if (ours)
		trace_rdmafs_cache(inode, RDMAFS_CACHE_DROP, 0, 0);
	else if (trace_rdmafs_cache_enabled() && rdmafs_pages_dropping(ri))
		trace_rdmafs_cache(inode, RDMAFS_CACHE_WAIT, 0, 0);
	if (!ours) {
		*err = wait_var_event_killable(&ri->coh.pages, !rdmafs_pages_dropping(ri));
		return *err;
	}
	*err = rdmafs_pages_drop(inode, 0, LLONG_MAX);
	spin_lock_irq(&ri->lock);
	rdmafs_pages_event_locked(ri, *err ? RDMAFS_PAGES_KEPT : RDMAFS_PAGES_DROPPED);
	spin_unlock_irq(&ri->lock);
	/* The new state is visible before waiters are looked for: pairs with their barrier. */
	smp_mb();
	wake_up_var(&ri->coh.pages);
	/* Pages that stay busy are in use by a mapping: the next use of them tries again. */
	if (*err == -EBUSY) {
		trace_rdmafs_cache(inode, RDMAFS_CACHE_BUSY, 0, 0);
		*err = 0;
	}
	return true;
}

/**
 * rdmafs_revalidate_mapping - make cached pages fit to be used
 * @inode: a regular file
 * @attrs: look at the attributes first, if they have expired
 *
 * If the size is in doubt, the server is asked for it in any case, so that data that is read in
 * or written after this ends where the file does.
 *
 * Context: process; waits killably; the head says which locks may be held.
 * Return: 0, also if a mapping uses stale pages, which stay; -EINTR; or another negative errno.
 */
int rdmafs_revalidate_mapping(struct inode *inode, bool attrs)
{
	bool unsure = rdmafs_size_unsure(inode);
	int err;

	if (attrs || unsure) {
		/* While the page of the end is dirty, a larger size is not taken over. */
		err = unsure ? rdmafs_flush(inode) : 0;
		if (!err)
			err = rdmafs_revalidate(inode, unsure);
		if (err)
			return err;
	}
	err = 0;
	if (trace_rdmafs_cache_enabled() && rdmafs_pages_valid(inode))
		trace_rdmafs_cache(inode, RDMAFS_CACHE_KEEP, 0, 0);
	while (!rdmafs_pages_valid(inode) && !rdmafs_pages_renew(inode, &err))
		;
	return err == -ERESTARTSYS ? -EINTR : err;
}

/* Is enough known for an open to use cached pages? */
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
 * rdmafs_open_mapping - make cached pages fit for a new open of the file
 * @inode: a regular file; the attributes of the open have been taken over
 *
 * Context: process; waits killably; the head says which locks may be held.
 * Return: 0 or a negative errno.
 */
int rdmafs_open_mapping(struct inode *inode)
{
	int err;

	if (!rdmafs_open_known(inode)) {
		/* The attributes of the open have crossed changes of ours: end these, and ask. */
		err = rdmafs_flush(inode);
		if (!err)
			err = rdmafs_revalidate(inode, true);
		if (err)
			return err;
		/* More changes of ours were under way: it can't be told what is in the pages. */
		if (!rdmafs_open_known(inode))
			rdmafs_pages_stale(inode);
	}
	rdmafs_test_point("open_mapping_known", inode->i_ino);
	return rdmafs_revalidate_mapping(inode, false);
}

/*
 * Is a page pinned?  Each page table that has it holds a reference, so a page of many mappings
 * would look pinned if these were not taken off.
 */
static bool rdmafs_folio_lent(const struct folio *folio)
{
	return folio_ref_count(folio) - folio_mapcount(folio) >= (int)GUP_PIN_COUNTING_BIAS;
}

/*
 * In the page that the file ends in, clear what is behind the end at @from; if @lent, only in a
 * page that is pinned, and -EAGAIN for another one.  A page of which only a part is there, not
 * uptodate, is left as it is.  0, -EAGAIN, or -EINTR if killed.
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
	/* While this task waited, the page may have been dropped, and the file become longer. */
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
 * rdmafs_zero_tail - clear what a mapping may have stored behind the end
 * @inode: the file
 * @from:  its size, which is about to become more
 *
 * A page that is on its way to the server must not change, so its writeback is waited for.
 *
 * Context: process; waits killably; i_rwsem held, or rdmafs_inode.stores for writing.
 * Return: 0 or -EINTR.
 */
int rdmafs_zero_tail(struct inode *inode, loff_t from)
{
	lockdep_assert(lockdep_is_held(&inode->i_rwsem) ||
		       lockdep_is_held_type(&RDMAFS_I(inode)->stores, 0));
	return rdmafs_tail_rest(inode, from, false);
}

/**
 * rdmafs_tail_keep - tell whether the page that a file ends in stays when the file gets longer
 * @inode: the file
 * @from:  its size
 *
 * A page that is pinned stays, cleared behind the end.  A direct read of another file may have
 * pinned it; if the page were dropped meanwhile, the data of that read would be in a page that
 * does not belong to the file any more.  invalidate_inode_pages2_range() does not look for pins.
 *
 * The answer must stay true until the caller has dropped the page.  A direct read that is to pin
 * a clean page has to fault first, and rdmafs_page_mkwrite() waits for the lock that the caller
 * holds; so a clean page that is not pinned stays so.  A dirty page can be pinned without a
 * fault, so it is written back first.
 *
 * Context: process; waits killably; rdmafs_inode.stores or invalidate_lock held for writing.
 * Return: 0 if the page stays, if there is none, or if only a part of it is there and it is not
 * being read in; -EAGAIN if it is to be dropped; -EINTR if killed.
 */
int rdmafs_tail_keep(struct inode *inode, loff_t from)
{
	lockdep_assert(lockdep_is_held_type(&RDMAFS_I(inode)->stores, 0) ||
		       lockdep_is_held_type(&inode->i_mapping->invalidate_lock, 0));
	if (!(from & (PAGE_SIZE - 1)))
		return 0;
	if (rdmafs_flush_range(inode, from, from) == -EINTR)
		return -EINTR;
	return rdmafs_tail_rest(inode, from, true);
}

/**
 * rdmafs_leave_hole - prepare the page of the end for a write behind the end of a file
 * @inode: the file
 * @from:  its size
 *
 * The server makes the zeros between the old end and the write: another client may have written
 * there, of which only the server knows.  So the page of the end, if all of it is cached, is
 * written back and dropped while the file ends in it.  The next write into that page then
 * writes its own bytes, and no zeros with them.
 *
 * Context: process; waits killably; i_rwsem held, and rdmafs_inode.stores or invalidate_lock for
 * writing.
 * Return: 0, -EINTR if killed, or another negative errno.
 */
int rdmafs_leave_hole(struct inode *inode, loff_t from)
{
	enum rdmafs_cache did = RDMAFS_CACHE_TAIL_KEEP;
	int err = rdmafs_tail_keep(inode, from);

	lockdep_assert_held(&inode->i_rwsem);
	if (err == -EAGAIN) {
		did = RDMAFS_CACHE_TAIL_DROP;
		err = rdmafs_pages_drop(inode, from, from);
	}
	if (err == -EBUSY) {
		/* The page stays.  If it was read in just now, it has the server's bytes. */
		did = RDMAFS_CACHE_TAIL_ZERO;
		err = rdmafs_zero_tail(inode, from);
	}
	if (!err)
		trace_rdmafs_cache(inode, did, from, 0);
	return err;
}

/**
 * rdmafs_leave_hole_unlocked - do rdmafs_leave_hole() with rdmafs_inode.stores taken for it
 * @inode: the file
 *
 * Mappings may store again before the file is longer: stores can't be kept out until then.  The
 * data of the write may itself be in a page of the file, which has to be faulted in to be copied;
 * and a direct write makes the file longer only when the server has answered.
 *
 * Context: process; waits killably; i_rwsem held, rdmafs_inode.stores not.
 * Return: 0, -EINTR if killed, or another negative errno.
 */
int rdmafs_leave_hole_unlocked(struct inode *inode)
{
	struct rw_semaphore *stores = &RDMAFS_I(inode)->stores;
	int err;

	lockdep_assert_held(&inode->i_rwsem);
	if (down_write_killable(stores))
		return -EINTR;
	err = rdmafs_leave_hole(inode, i_size_read(inode));
	up_write(stores);
	rdmafs_test_point("hole_left", inode->i_ino);
	return err;
}
