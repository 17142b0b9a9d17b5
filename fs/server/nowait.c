// SPDX-License-Identifier: GPL-2.0
/*
 * Read bytes and attributes of an open file that are in memory, without ever blocking.
 *
 * READ and GETATTR that need no more are served where they arrive, not on a thread.  This file
 * alone decides on which files and file systems that is possible (Documentation/architecture.rst,
 * "Where completions are handled").
 *
 * Reading from the page cache.  The mapping must be the inode's own, and ->read_iter() of the
 * file system must take no lock and do nothing but copy from up-to-date folios and touch the
 * atime:
 *
 *	tmpfs, ext4, btrfs	yes, for buffered reads
 *	xfs			no: its reads exclude writers (XFS_IOLOCK_SHARED)
 *	overlayfs, DAX		no: the folios are not the file's
 *
 * The caller is told to read in the usual way, on a thread, if a folio is missing, not up to
 * date or poisoned, if reading it should start readahead, if the atime is due to be updated, or
 * if a process watches the file system by fsnotify.
 *
 * Attributes of an open file.  ->getattr() of tmpfs, ext4 and btrfs takes no more than
 * spinlocks.  But ext4 sleeps to find out whether there are xattrs and ACLs.  A change of either
 * raises i_version, so the flags that were found on a thread hold for as long as the change
 * cookie stays the same (not on xfs, whose i_version is of no use).
 *
 * Permission is that of the open (state.c).  A security module that checks each access again is
 * asked only where the request runs on a thread.
 */
#include <linux/bvec.h>
#include <linux/fs.h>
#include <linux/fsnotify.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <linux/pagemap.h>
#include <linux/swap.h>
#include <linux/uio.h>
#include "server.h"
#include "opened.h"

static bool rdmafsd_cache_is_all(struct file *file)
{
	struct inode *inode = file_inode(file);

	if (!S_ISREG(inode->i_mode) || file->f_mapping != &inode->i_data || IS_DAX(inode))
		return false;
	switch (inode->i_sb->s_magic) {
	case TMPFS_MAGIC:
	case EXT4_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
		return !fsnotify_sb_has_watchers(inode->i_sb);
	}
	return false;
}

/* The VFS's rules for relatime.  On a mount without relatime the atime is always due. */
static bool rdmafsd_atime_due(struct file *file)
{
	struct inode *inode = file_inode(file);
	struct timespec64 atime, changed;

	if (IS_NOATIME(inode) || (file->f_flags & O_NOATIME) ||
	    (file->f_path.mnt->mnt_flags & MNT_NOATIME))
		return false;
	if (!(file->f_path.mnt->mnt_flags & MNT_RELATIME))
		return true;
	atime = inode_get_atime(inode);
	changed = inode_get_mtime(inode);
	if (timespec64_compare(&changed, &atime) >= 0)
		return true;
	changed = inode_get_ctime(inode);
	if (timespec64_compare(&changed, &atime) >= 0)
		return true;
	return ktime_get_real_seconds() - atime.tv_sec >= 24 * 60 * 60;
}

/*
 * The flag that marks where to read ahead is also reclaim's PG_reclaim, which drop_caches sets
 * on pages that it can't drop because they are dirty.  So a dirty page does not stop a read
 * here: the next marked page that is clean will start readahead.  tmpfs, whose pages are all
 * dirty, has no readahead.
 */
static bool rdmafsd_folio_readahead(const struct folio *folio)
{
	return folio_test_readahead(folio) && !folio_test_dirty(folio) &&
	       !folio_test_writeback(folio);
}

/* Get the folio at @pos, referenced, if it can be read without blocking; else NULL. */
static struct folio *rdmafsd_cached_folio(struct address_space *mapping, loff_t pos)
{
	struct folio *folio = filemap_get_folio(mapping, pos >> PAGE_SHIFT);

	if (IS_ERR(folio))
		return NULL;
	if (likely(folio_test_uptodate(folio) && folio->mapping == mapping &&
		   !rdmafsd_folio_readahead(folio) && !folio_test_hwpoison(folio) &&
		   !(folio_test_large(folio) && folio_test_has_hwpoisoned(folio))))
		return folio;
	folio_put(folio);
	return NULL;
}

/**
 * rdmafsd_cached_get_pages - get pages of a file from the page cache, with references
 * @file: a file open for reading
 * @pos:  offset of the first byte, not negative
 * @len:  bytes wanted
 * @bv:   gets the pages, with a reference each
 * @max:  entries of @bv, enough for @len
 * @nr:   gets the number of entries used
 *
 * Context: process, does not sleep.
 * Return: bytes, fewer than @len only at the end of the file, where it may be 0 with @nr 0;
 * -EAGAIN: not all of it can be read without blocking, and @nr is 0.
 */
ssize_t rdmafsd_cached_get_pages(struct file *file, loff_t pos, size_t len, struct bio_vec *bv,
				 u32 max, u32 *nr)
{
	struct inode *inode = file_inode(file);
	size_t done = 0;
	loff_t size;
	u32 n = 0;

	*nr = 0;
	if (!rdmafsd_cache_is_all(file) || rdmafsd_atime_due(file))
		return -EAGAIN;
	size = i_size_read(inode);
	if (pos >= size)
		return 0;
	len = min_t(loff_t, len, size - pos);
	while (done < len) {
		struct folio *folio = n < max ? rdmafsd_cached_folio(file->f_mapping,
								     pos + done) : NULL;
		size_t off, part;

		if (!folio)
			goto again;
		off = offset_in_folio(folio, pos + done);
		part = min(len - done, folio_size(folio) - off);
		if (mapping_writably_mapped(file->f_mapping))
			flush_dcache_folio(folio);
		folio_mark_accessed(folio);
		bvec_set_folio(&bv[n++], folio, part, off);
		done += part;
	}
	if (i_size_read(inode) >= pos + done) {
		*nr = n;
		return done;
	}
again:
	while (n)
		put_page(bv[--n].bv_page);
	return -EAGAIN;
}

/* Pages that a read which fits a message can touch: it may begin at the end of a page. */
#define RDMAFSD_SMALL_PAGES	(DIV_ROUND_UP(RDMAFS_XPRT_INLINE_MAX, PAGE_SIZE) + 1)

/**
 * rdmafsd_cached_read - copy bytes of a file from the page cache
 * @file: a file open for reading
 * @pos:  offset of the first byte, not negative
 * @to:   the destination, an ITER_DEST of the kernel's memory, at most RDMAFS_XPRT_INLINE_MAX
 *        bytes
 *
 * Context: process, does not sleep.
 * Return: bytes, fewer than asked for only at the end of the file; -EAGAIN: the caller has to
 * read in the usual way, and @to is spoilt.
 */
ssize_t rdmafsd_cached_read(struct file *file, loff_t pos, struct iov_iter *to)
{
	struct bio_vec bv[RDMAFSD_SMALL_PAGES];
	ssize_t got;
	u32 nr, i;

	got = rdmafsd_cached_get_pages(file, pos, iov_iter_count(to), bv, ARRAY_SIZE(bv), &nr);
	for (i = 0; i < nr; i++) {
		if (copy_folio_to_iter(page_folio(bv[i].bv_page), bv[i].bv_offset, bv[i].bv_len,
				       to) != bv[i].bv_len)
			got = -EAGAIN;
		put_page(bv[i].bv_page);
	}
	/* The file may have been truncated meanwhile: bytes that were cut off must not be told. */
	return got > 0 && i_size_read(file_inode(file)) < pos + got ? -EAGAIN : got;
}

/**
 * rdmafsd_attrs_seen - note the flags of an open file for rdmafsd_getattr_now()
 * @st:   the open
 * @attr: attributes of its file, the cookie read before the flags were
 *
 * Context: process, does not sleep.
 */
void rdmafsd_attrs_seen(struct rdmafsd_state *st, const struct rfp_attr *attr)
{
	spin_lock(&st->lock);
	st->seen = le64_to_cpu(attr->change);
	st->flags = le32_to_cpu(attr->flags);
	spin_unlock(&st->lock);
}

static bool rdmafsd_attrs_in_memory(struct inode *inode)
{
	switch (inode->i_sb->s_magic) {
	case TMPFS_MAGIC:
	case EXT4_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
		return rdmafsd_has_version(inode);
	}
	return false;
}

/**
 * rdmafsd_getattr_now - get the attributes of an open file without blocking
 * @st:   the open
 * @attr: gets the attributes
 *
 * Context: process, does not sleep.
 * Return: 0; -EAGAIN: the caller has to get them in the usual way.
 */
int rdmafsd_getattr_now(struct rdmafsd_state *st, struct rfp_attr *attr)
{
	struct inode *inode = file_inode(st->file);
	u64 base, cookie;
	struct kstat stat;
	bool seen;
	u32 flags;

	if (!rdmafsd_attrs_in_memory(inode))
		return -EAGAIN;
	base = rdmafsd_cookie_base(inode);
	if (vfs_getattr_nosec(&st->file->f_path, &stat, RDMAFSD_STATX, AT_STATX_SYNC_AS_STAT))
		return -EAGAIN;
	cookie = rdmafsd_cookie_from(inode, base, &stat);
	spin_lock(&st->lock);
	flags = st->flags;
	seen = st->seen && st->seen == cookie;
	spin_unlock(&st->lock);
	if (!seen)
		return -EAGAIN;
	if (stat.nlink && rdmafsd_name_hidden(READ_ONCE(st->claim->of->name)))
		stat.nlink--;
	rdmafsd_attr_fill(inode, &stat, cookie, flags, attr);
	return 0;
}
