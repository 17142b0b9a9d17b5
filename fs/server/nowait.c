// SPDX-License-Identifier: GPL-2.0
/*
 * What can be served where a request arrives, without ever blocking.
 *
 * This is the one place that says for which operations, on which files and
 * file systems, that is so (design, rule 7).
 *
 * Reading what is in the page cache.  The mapping must be the inode's own, and
 * ->read_iter() of the file system must take no lock and do nothing but copy
 * from up-to-date folios and touch the atime:
 *
 *	tmpfs, ext4, btrfs	so it is, for buffered reads
 *	xfs			its reads exclude writers (XFS_IOLOCK_SHARED): no
 *	overlayfs, DAX		the folios are not the file's: no
 *
 * A folio that is missing, not up to date, poisoned, or that should start
 * readahead, an atime that is due, somebody who watches the file system by
 * fsnotify: in all these cases the caller is told to read in the usual way, on
 * a thread.
 *
 * Attributes of an open file.  ->getattr() of tmpfs, ext4 and btrfs takes no
 * more than spinlocks.  Whether there are xattrs and ACLs is another matter: to
 * look for them ext4 sleeps.  But both change i_version, so what was seen on a
 * thread holds for as long as the change cookie stays (not on xfs, whose
 * i_version is of no use).
 *
 * Permission is that of the open (state.c); a security module that looks again
 * at each access is asked where that runs on a thread.
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

/* As VFS has it for relatime; where every access counts it is always due. */
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
 * Readahead's mark is reclaim's as well (PG_reclaim), which drop_caches sets on what it
 * can't drop because it is dirty.  To go on reading ahead at such a page is the next
 * one's affair; tmpfs, whose pages are all dirty, has no readahead.
 */
static bool rdmafsd_folio_readahead(const struct folio *folio)
{
	return folio_test_readahead(folio) && !folio_test_dirty(folio) &&
	       !folio_test_writeback(folio);
}

/* The folio at @pos with a reference, if it can be read just so. */
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
 * rdmafsd_cached_pages - find what is in the page cache
 * @file: open for reading
 * @pos:  where
 * @len:  bytes wanted
 * @bv:	  gets the pages, a reference each
 * @max:  entries of @bv, enough for @len
 * @nr:	  gets the entries used
 *
 * Any context that may not sleep.
 *
 * Return: bytes, fewer than @len only at the end of the file, where it may be
 * none and @nr 0; -EAGAIN: not all of it can be read just so, and @nr is 0.
 */
ssize_t rdmafsd_cached_pages(struct file *file, loff_t pos, size_t len, struct bio_vec *bv,
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

/* Pages that a read of what fits a message can touch: it may begin at the end of one. */
#define RDMAFSD_SMALL_PAGES	(DIV_ROUND_UP(RDMAFS_XPRT_INLINE_MAX, PAGE_SIZE) + 1)

/**
 * rdmafsd_cached_read - read what is in the page cache
 * @file: open for reading
 * @pos:  where
 * @to:	  to where, an ITER_DEST of the kernel's memory, at most
 *	  RDMAFS_XPRT_INLINE_MAX bytes
 *
 * Any context that may not sleep.
 *
 * Return: bytes, fewer than asked for only at the end of the file; -EAGAIN: it
 * has to be read in the usual way, and @to is spoilt.
 */
ssize_t rdmafsd_cached_read(struct file *file, loff_t pos, struct iov_iter *to)
{
	struct bio_vec bv[RDMAFSD_SMALL_PAGES];
	ssize_t got;
	u32 nr, i;

	got = rdmafsd_cached_pages(file, pos, iov_iter_count(to), bv, ARRAY_SIZE(bv), &nr);
	for (i = 0; i < nr; i++) {
		if (copy_folio_to_iter(page_folio(bv[i].bv_page), bv[i].bv_offset, bv[i].bv_len,
				       to) != bv[i].bv_len)
			got = -EAGAIN;
		put_page(bv[i].bv_page);
	}
	/* What was cut off meanwhile is not part of the file. */
	return got > 0 && i_size_read(file_inode(file)) < pos + got ? -EAGAIN : got;
}

/**
 * rdmafsd_attrs_seen - note what rdmafsd_getattr_now() could not find out
 * @st:	  an open
 * @attr: of its file, the cookie read before the flags
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
 * rdmafsd_getattr_now - attributes of an open file
 * @st:	  the open
 * @attr: gets them
 *
 * Any context that may not sleep.
 *
 * Return: 0; -EAGAIN: they have to be found in the usual way.
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
	if (stat.nlink && READ_ONCE(st->claim->of->name) == RDMAFSD_ORPHAN)
		stat.nlink--;
	rdmafsd_attr_fill(inode, &stat, cookie, flags, attr);
	return 0;
}
