// SPDX-License-Identifier: GPL-2.0
/*
 * Keep replies to READDIR for a moment, in case the directory is read again.
 *
 * A directory is often read twice in a row: rm -r first looks whether it is
 * empty, a shell expands the same pattern twice.  If the second open confirms, by
 * the change cookie, that the directory has not changed, the kept replies are used:
 * they need not be sent again, nor their names be entered in the dcache again.
 *
 * Replies lie in the directory's page cache, one after the other, where memory
 * reclaim and drop_caches find them.  They need no invalidation.  Each page says to
 * which reply it belongs, so that a page that is missing, or of an older reply, is
 * noticed.  A page says:
 *	- the directory's change cookie.  It was the same before READDIR was sent
 *	  and in the reply, so that no change lies between the names and the
 *	  cookie.  A listing is used while this is the directory's cookie, as far as
 *	  is known, and its attributes are believed;
 *	- the credentials that asked: the server may refuse others, and the same ones if the
 *	  export maps callers in another way since (rules.c);
 *	- until when the attributes are believed that came with the entries.  After
 *	  that one READDIR is cheaper than asking for the attributes of each entry.  So
 *	  the listing is used further only if no name was looked at since the
 *	  directory was last read: it is the names that its readers want.  A reader
 *	  that had to ask once asks for the rest, too;
 *	- until when it may be used in that way: for acdirmax at most, and not at all if
 *	  the directory had just been changed.  The cookie of some file systems is made of
 *	  a ctime that advances with the timer's ticks, so that another change in the same
 *	  tick, after the names had been read, would leave the cookie as it is.  (The clocks
 *	  of client and server are taken to agree, or the server's to be fast.)
 *
 * Locks: a folio is filled and read under its lock; no other lock is taken under it.
 */
#include <linux/highmem.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include "client.h"
#include "dir.h"
#include "op.h"

/*
 * Most pages of one directory, for some 40,000 names, or 200,000 without attributes: a larger one
 * would push out of memory what is more likely to be used again.  Its beginning is kept.
 */
#define RDMAFS_LISTING_PAGES	(SZ_8M >> PAGE_SHIFT)

/*
 * The beginning of each page.  No two replies have the same @serial: it tells their pages apart
 * where all else is the same.
 */
struct rdmafs_listing_head {
	u64 change;
	u64 cookie;
	u64 cred;
	u64 serial;
	unsigned long expires;
	unsigned long until;
	u32 count;
	u32 eof;
};

#define RDMAFS_LISTING_ROOM	(PAGE_SIZE - sizeof(struct rdmafs_listing_head))

static atomic64_t rdmafs_listing_serial;

/**
 * rdmafs_listing_change - get the change cookie of a directory, as far as is known
 * @dir: the directory
 *
 * Context: process; takes rdmafs_inode.lock.
 * Return: the cookie.
 */
u64 rdmafs_listing_change(struct inode *dir)
{
	struct rdmafs_inode *ri = RDMAFS_I(dir);
	u64 change;

	spin_lock_irq(&ri->lock);
	change = ri->coh.change;
	spin_unlock_irq(&ri->lock);
	return change;
}

/**
 * rdmafs_listing_cred - tell to whom a listing may be shown
 * @op: a READDIR
 *
 * Context: any.
 * Return: a number that is another one for other credentials, and after a change of what holds for
 * the export.
 */
u64 rdmafs_listing_cred(const struct rdmafs_op *op)
{
	return op->cred->serial ^ (u64)READ_ONCE(op->super->rules) << 40;
}

/* Copy the head of a page and the @len bytes that follow it; false if it is not there. */
static bool rdmafs_listing_get(struct address_space *mapping, pgoff_t index,
			       struct rdmafs_listing_head *head, void *data, size_t len)
{
	struct folio *folio = filemap_lock_folio(mapping, index);
	bool ok;

	if (IS_ERR(folio))
		return false;
	ok = folio_test_uptodate(folio);
	if (ok) {
		memcpy_from_folio((char *)head, folio, 0, sizeof(*head));
		memcpy_from_folio(data, folio, sizeof(*head), len);
		folio_mark_accessed(folio);
	}
	folio_unlock(folio);
	folio_put(folio);
	return ok;
}

static bool rdmafs_listing_put(struct address_space *mapping, pgoff_t index,
			       const struct rdmafs_listing_head *head, const void *data,
			       size_t len)
{
	struct folio *folio = __filemap_get_folio(mapping, index,
						  FGP_LOCK | FGP_ACCESSED | FGP_CREAT,
						  mapping_gfp_mask(mapping) | __GFP_NOWARN);

	if (IS_ERR(folio))
		return false;
	memcpy_to_folio(folio, 0, (const char *)head, sizeof(*head));
	memcpy_to_folio(folio, sizeof(*head), data, len);
	folio_mark_uptodate(folio);
	folio_unlock(folio);
	folio_put(folio);
	return true;
}

/**
 * rdmafs_listing_load - get a reply that was kept
 * @dir: the directory
 * @l:	 in: @index, @cookie, @cred and @fresh.  Out: @data, which is to be freed by kvfree(),
 *	 @count and @eof; @index becomes that of the next reply
 *
 * Context: process, may sleep; takes folio locks.
 * Return: 0, -ENOENT if there is none that may be used, or -ENOMEM.
 */
int rdmafs_listing_load(struct inode *dir, struct rdmafs_listing *l)
{
	struct rdmafs_listing_head head, part;
	pgoff_t index = l->index;
	size_t at = 0, len;
	char *data;

	if (rdmafs_attr_expired(dir) ||
	    !rdmafs_listing_get(dir->i_mapping, index, &head, NULL, 0))
		return -ENOENT;
	if (head.change != rdmafs_listing_change(dir) || head.cookie != l->cookie ||
	    head.cred != l->cred)
		return -ENOENT;
	if (time_after_eq(jiffies, head.until))
		return -ENOENT;
	if (time_after_eq(jiffies, head.expires) &&
	    (l->fresh || test_bit(RDMAFS_I_LOOKED, &RDMAFS_I(dir)->flags)))
		return -ENOENT;
	data = kvmalloc(max(head.count, 1U), GFP_KERNEL);
	if (!data)
		return -ENOMEM;
	do {
		len = min(RDMAFS_LISTING_ROOM, head.count - at);
		if (!rdmafs_listing_get(dir->i_mapping, index++, &part, data + at, len) ||
		    part.serial != head.serial) {
			kvfree(data);
			return -ENOENT;
		}
		at += len;
	} while (at < head.count);
	l->data = data;
	l->count = head.count;
	l->eof = head.eof;
	l->index = index;
	return 0;
}

/* Was the directory at rest for a second before the request was sent? */
static bool rdmafs_listing_at_rest(struct inode *dir, unsigned long sent)
{
	s64 then = ktime_get_real_seconds() - (jiffies - sent) / HZ;

	/* Both ends are cut to whole seconds, and so is the time since: two may be too many. */
	return then - inode_get_ctime_sec(dir) > 2;
}

/**
 * rdmafs_listing_keep - keep a reply
 * @dir:  the directory
 * @l:	  the reply; @index becomes that of the next reply, or RDMAFS_LISTING_NONE if this one
 *	  was not kept
 * @sent: jiffies when the request was sent
 *
 * Context: process, may sleep; takes folio locks.
 */
void rdmafs_listing_keep(struct inode *dir, struct rdmafs_listing *l, unsigned long sent)
{
	const struct rdmafs_opts *opts = &RDMAFS_M(dir->i_sb)->opts;
	unsigned long life = min(opts->acregmin, opts->acdirmin) * HZ;
	struct rdmafs_listing_head head = {
		.change = l->change,
		.cookie = l->cookie,
		.cred = l->cred,
		.expires = sent + life,
		.until = sent + life,
		.count = l->count,
		.eof = l->eof,
	};
	pgoff_t index = l->index;
	size_t at = 0, len;

	l->index = RDMAFS_LISTING_NONE;
	if (!life || index + l->count / RDMAFS_LISTING_ROOM >= RDMAFS_LISTING_PAGES)
		return;
	if (rdmafs_listing_at_rest(dir, sent))
		head.until = sent + max(life, READ_ONCE(opts->acdirmax) * HZ);
	head.serial = atomic64_inc_return(&rdmafs_listing_serial);
	do {
		len = min(RDMAFS_LISTING_ROOM, l->count - at);
		if (!rdmafs_listing_put(dir->i_mapping, index++, &head, l->data + at, len))
			return;
		at += len;
	} while (at < l->count);
	l->index = index;
}
