// SPDX-License-Identifier: GPL-2.0
/*
 * Make the next part of a direct request, and free it.  The pages of its data are pinned,
 * referenced or lent, or the data is copied: enum rdmafs_dio_hold.
 */
#include <linux/bvec.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "client.h"
#include "direct.h"

/* Pages extracted from an iterator at once. */
#define RDMAFS_DIO_BATCH	16

/**
 * rdmafs_dio_part_free - give a part's pages back, and free it
 * @part: the part, whose op has been put
 *
 * Context: any.
 */
void rdmafs_dio_part_free(struct rdmafs_dio_part *part)
{
	unsigned int i;

	for (i = 0; i < part->nr; i++) {
		if (part->hold == RDMAFS_DIO_PINNED)
			unpin_user_page(part->bv[i].bv_page);
		else if (part->hold == RDMAFS_DIO_REF)
			put_page(part->bv[i].bv_page);
	}
	kfree(part);
}

/**
 * rdmafs_dio_part_dirty - make the pages that a part reads into dirty
 * @part: the part
 *
 * Context: process, may sleep: it takes the pages' locks.
 */
void rdmafs_dio_part_dirty(struct rdmafs_dio_part *part)
{
	unsigned int i;

	for (i = 0; i < part->nr; i++)
		set_page_dirty_lock(part->bv[i].bv_page);
}

/**
 * rdmafs_dio_part_cleaned - was a page written back while the device put data into it?
 * @part: a part that was read, its pages pinned
 *
 * Context: any.
 * Return: true if so: it has to be made dirty again.
 */
bool rdmafs_dio_part_cleaned(struct rdmafs_dio_part *part)
{
	unsigned int i;

	for (i = 0; i < part->nr; i++)
		if (!PageDirty(part->bv[i].bv_page))
			return true;
	return false;
}

/*
 * May a segment that begins at @off in its page follow the @have bytes of @part?  One
 * translation covers pages without gaps: only the first may begin, and only the last may end,
 * inside of a page.  Data that travels inline needs no translation.
 */
static bool rdmafs_dio_fits(const struct rdmafs_dio_part *part, size_t have, size_t more,
			    size_t off)
{
	const struct bio_vec *last;

	if (!part->nr || have + more <= RDMAFS_XPRT_INLINE_MAX)
		return true;
	last = &part->bv[part->nr - 1];
	return !off && !((last->bv_offset + last->bv_len) & ~PAGE_MASK);
}

static struct rdmafs_dio_part *rdmafs_dio_part_alloc(unsigned int nr)
{
	struct rdmafs_dio_part *part;

	part = kzalloc(struct_size(part, bv, nr), GFP_KERNEL);
	if (part)
		part->nr = nr;
	return part;
}

/* Make a part of up to @max bytes of @iter, copied to pages of our own; @len gets how many. */
static struct rdmafs_dio_part *rdmafs_dio_copy(struct iov_iter *iter, size_t max, size_t *len)
{
	unsigned int i, nr = DIV_ROUND_UP(max, PAGE_SIZE);
	struct rdmafs_dio_part *part = rdmafs_dio_part_alloc(nr);
	size_t n, got;

	*len = 0;
	if (!part)
		return ERR_PTR(-ENOMEM);
	part->hold = RDMAFS_DIO_REF;
	for (i = 0; i < nr; i++) {
		struct page *page = alloc_page(GFP_KERNEL);

		part->nr = i;
		if (!page) {
			rdmafs_dio_part_free(part);
			return ERR_PTR(-ENOMEM);
		}
		part->nr = i + 1;
		n = min_t(size_t, max - *len, PAGE_SIZE);
		bvec_set_page(&part->bv[i], page, n, 0);
		got = copy_page_from_iter(page, 0, n, iter);
		*len += got;
		if (!got) {
			put_page(page);
			part->nr = i;
			break;
		}
		part->bv[i].bv_len = got;
		if (got < n)
			break;
	}
	if (!*len) {
		rdmafs_dio_part_free(part);
		return ERR_PTR(-EFAULT);
	}
	return part;
}

/*
 * Make a part of the pages of up to @max bytes of @iter; @len gets how many.  The pages of a read
 * must fit one translation.
 *
 * netfs_extract_user_iter() would not do.  It can't stop before a page that does not fit, it takes
 * no bvecs, and it allocates an array for the pages of all of @iter, not just of the part.
 */
static struct rdmafs_dio_part *rdmafs_dio_extract(struct rdmafs_dio *dio, struct iov_iter *iter,
						  size_t max, enum rdmafs_dio_hold hold,
						  size_t *len)
{
	unsigned int room = iov_iter_npages(iter, max / PAGE_SIZE + 2);
	bool read = !dio->write;
	struct page *batch[RDMAFS_DIO_BATCH], **pages = batch;
	struct rdmafs_dio_part *part;
	bool full = false;
	size_t off, n;
	ssize_t got = 0;
	unsigned int i, nr;

	*len = 0;
	/* As many pages as the device translates at once, wherever in the first the data begins. */
	if (read)
		room = clamp_t(unsigned int,
			       rdmafs_xprt_data_max(RDMAFS_M(dio->inode->i_sb)->xprt) / PAGE_SIZE,
			       1, room);
	part = rdmafs_dio_part_alloc(room);
	if (!part)
		return ERR_PTR(-ENOMEM);
	part->hold = hold;
	part->nr = 0;
	while (!full && *len < max && part->nr < room && iov_iter_count(iter)) {
		got = iov_iter_extract_pages(iter, &pages, max - *len,
					     min_t(unsigned int, room - part->nr,
						   RDMAFS_DIO_BATCH), 0, &off);
		if (got <= 0)
			break;
		nr = DIV_ROUND_UP(off + got, PAGE_SIZE);
		for (i = 0; i < nr; i++) {
			n = min_t(size_t, got, PAGE_SIZE - off);
			if (read && !full && !rdmafs_dio_fits(part, *len, got, off)) {
				/* The rest goes to the next part. */
				iov_iter_revert(iter, got);
				full = true;
			}
			if (full) {
				if (hold == RDMAFS_DIO_PINNED)
					unpin_user_page(pages[i]);
				continue;
			}
			if (hold == RDMAFS_DIO_REF)
				get_page(pages[i]);
			part->nr++;
			bvec_set_page(&part->bv[part->nr - 1], pages[i], n, off);
			*len += n;
			got -= n;
			off = 0;
		}
	}
	if (!*len) {
		rdmafs_dio_part_free(part);
		return ERR_PTR(got < 0 ? got : -EFAULT);
	}
	return part;
}

/**
 * rdmafs_dio_part_new - make the next part of a request
 * @dio:  the request
 * @iter: what is left of it; advanced
 * @len:  out: bytes of the part
 *
 * Context: process, may sleep.
 * Return: the part, or an ERR_PTR: -ENOMEM, -EFAULT.
 */
struct rdmafs_dio_part *rdmafs_dio_part_new(struct rdmafs_dio *dio, struct iov_iter *iter,
					    size_t *len)
{
	struct rdmafs_mount *mnt = RDMAFS_M(dio->inode->i_sb);
	size_t max = min_t(size_t, iov_iter_count(iter), dio->write ? mnt->wsize : mnt->rsize);
	enum rdmafs_dio_hold hold;

	if (user_backed_iter(iter)) {
		/* Copying a little is cheaper than pinning. */
		if (dio->append && max <= RDMAFS_XPRT_INLINE_MAX)
			return rdmafs_dio_copy(iter, max, len);
		hold = RDMAFS_DIO_PINNED;
	} else if (iov_iter_is_bvec(iter)) {
		hold = dio->iocb ? RDMAFS_DIO_LENT : RDMAFS_DIO_REF;
	} else {
		/* Only a write: rdmafs_direct_read() leaves other kinds to the page cache. */
		return rdmafs_dio_copy(iter, max, len);
	}
	return rdmafs_dio_extract(dio, iter, max, hold, len);
}
