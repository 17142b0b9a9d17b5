// SPDX-License-Identifier: GPL-2.0
/*
 * The change cookie, and whose changes moved it.
 *
 * The cookie has to differ after every change and must not come back.
 *
 * - Where the file system keeps a useful i_version, it is the base.  VFS raises it
 *   before the change is visible: a client that asks in between would learn
 *   the new value with the old contents.  So once a change made through us is
 *   done, i_version is raised again if anybody has asked for it meanwhile.
 *   ctime is added, since i_version may be behind on the disk: it falls back,
 *   and would then repeat itself, after a crash of the server, or when the
 *   inode has left its memory.  A clock that is set back makes it fall back,
 *   too, until it has caught up.
 * - Elsewhere ctime is the base.  It is as coarse as the timer, so a counter is
 *   added, from a table by hash of the inode, that grows with each change made
 *   through us; it begins at a value made of the time of loading, which is
 *   more than it can have grown to before.  Two inodes may share a counter:
 *   that costs a client a needless re-read, where there is no i_version.
 *
 * All parts only ever grow, so their sum does not repeat.  Changes made by
 * local processes of the server are seen as well as the file system tells.
 *
 * What moves with each change through us is read before the attributes that are
 * told with it: they may be newer than their cookie, never older.  A client that
 * finds the cookie that its last change has left believes the size beside it.
 *
 * Every change that a client asks for stands between rdmafsd_change_begin()
 * and rdmafsd_change_end(), which read the cookie on either side of it.  If
 * nobody but that client has been at work with the object in between, the
 * reply says so by naming the cookie of before, and the client keeps what it
 * has cached.  Directories are changed with their i_rwsem held, so for them
 * this is exact.  Files are written to by several at a time: their bucket of
 * the table counts who is at it, and changes that overlap with those of
 * another client are nobody's.  What a local process of the server writes at
 * the same time into the same file can't be told from the client's.
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/iversion.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <linux/timekeeping.h>
#include "server.h"
#include "transport/points.h"

#define RDMAFSD_CHANGE_BITS	12

/**
 * struct rdmafsd_changing - changes under way to the inodes of one hash value
 * @lock:  guards the others; a leaf
 * @owner: whose the first of them is
 * @nr:	   how many there are
 * @mixed: there was one of another client since @nr was 0
 * @count: grows with each change
 */
struct rdmafsd_changing {
	spinlock_t lock;	/* all others but @count */
	const struct rdmafsd_session *owner;
	unsigned int nr;
	bool mixed;
	atomic64_t count;
};

static struct rdmafsd_changing rdmafsd_table[1 << RDMAFSD_CHANGE_BITS];
static u64 rdmafsd_count_base;

/**
 * rdmafsd_changes_init - where counters begin this time
 */
void rdmafsd_changes_init(void)
{
	size_t i;

	/* More than a million changes per second never catch up with it. */
	rdmafsd_count_base = (u64)ktime_get_real_seconds() << 20;
	for (i = 0; i < ARRAY_SIZE(rdmafsd_table); i++)
		spin_lock_init(&rdmafsd_table[i].lock);
}

static struct rdmafsd_changing *rdmafsd_changing_of(struct inode *inode)
{
	unsigned long key = inode->i_ino ^ hash_ptr(inode->i_sb, BITS_PER_LONG);

	return &rdmafsd_table[hash_long(key, RDMAFSD_CHANGE_BITS)];
}

/**
 * rdmafsd_has_version - is a file's i_version of use to tell changes by?
 * @inode: the file
 *
 * xfs raises i_version for whatever it writes to its log, that it has found
 * space for delayed data, say: every file written would seem to change again.
 *
 * Return: true if so.
 */
bool rdmafsd_has_version(struct inode *inode)
{
	return IS_I_VERSION(inode) && inode->i_sb->s_magic != XFS_SUPER_MAGIC;
}

/**
 * rdmafsd_cookie_base - that part of the change cookie which is read first
 * @inode: the object, whose attributes are about to be read
 *
 * Return: for rdmafsd_cookie_from().
 */
u64 rdmafsd_cookie_base(struct inode *inode)
{
	if (rdmafsd_has_version(inode))
		return inode_query_iversion(inode);
	/* Pairs with rdmafsd_change_made(): whoever sees the count sees the change. */
	return rdmafsd_count_base + atomic64_read_acquire(&rdmafsd_changing_of(inode)->count);
}

/**
 * rdmafsd_cookie_from - the change cookie
 * @inode: the object
 * @base:  rdmafsd_cookie_base(), from before @stat
 * @stat:  its attributes, STATX_CTIME asked for
 *
 * Return: the cookie.
 */
u64 rdmafsd_cookie_from(struct inode *inode, u64 base, const struct kstat *stat)
{
	if (rdmafsd_has_version(inode) && (stat->attributes & STATX_ATTR_CHANGE_MONOTONIC))
		return base;
	return base + ((u64)stat->ctime.tv_sec << 30) + stat->ctime.tv_nsec;
}

/**
 * rdmafsd_cookie - just the change cookie and the size
 * @path:   the object
 * @cookie: gets the one
 * @size:   gets the other
 *
 * Return: 0 or a negative errno.
 */
int rdmafsd_cookie(const struct path *path, u64 *cookie, u64 *size)
{
	struct inode *inode = d_inode(path->dentry);
	u64 base = rdmafsd_cookie_base(inode);
	struct kstat stat;
	int err;

	err = vfs_getattr_nosec(path, &stat, STATX_SIZE | STATX_CTIME, AT_STATX_SYNC_AS_STAT);
	if (err)
		return err;
	*cookie = rdmafsd_cookie_from(inode, base, &stat);
	*size = stat.size;
	return 0;
}

/* 0, which no cookie is, if it can't be read. */
static u64 rdmafsd_change_sample(struct rdmafsd_change *chg)
{
	u64 cookie, size;

	return rdmafsd_cookie(&chg->path, &cookie, &size) ? 0 : cookie;
}

/**
 * rdmafsd_change_begin - a change is about to be made for a client
 * @rq:	    the request
 * @dentry: the object, positive; held by the caller until the end
 * @chg:    to be given to rdmafsd_change_end(), which must follow
 *
 * For a directory with its i_rwsem held.
 */
void rdmafsd_change_begin(struct rdmafsd_rq *rq, struct dentry *dentry,
			  struct rdmafsd_change *chg)
{
	struct rdmafsd_changing *now = rdmafsd_changing_of(d_inode(dentry));

	chg->path.mnt = rq->exp->path.mnt;
	chg->path.dentry = dentry;
	spin_lock(&now->lock);
	if (!now->nr++) {
		now->owner = rq->ses;
		now->mixed = false;
	} else if (now->owner != rq->ses) {
		now->mixed = true;
	}
	spin_unlock(&now->lock);
	chg->before = rdmafsd_change_sample(chg);
}

/**
 * rdmafsd_change_none - an object was not changed by a request that might have
 * @rq:	    the request
 * @dentry: the object, positive
 * @chg:    as if a change had begun and ended
 */
void rdmafsd_change_none(struct rdmafsd_rq *rq, struct dentry *dentry,
			 struct rdmafsd_change *chg)
{
	chg->path.mnt = rq->exp->path.mnt;
	chg->path.dentry = dentry;
	chg->before = rdmafsd_change_sample(chg);
	chg->after = chg->before;
}

/**
 * rdmafsd_change_made - what is told of an object is not what was told before
 * @inode: the object
 *
 * Context: any that may take no lock that sleeps.
 */
void rdmafsd_change_made(struct inode *inode)
{
	if (rdmafsd_has_version(inode))
		inode_maybe_inc_iversion(inode, false);
	/* The change comes before its count: rdmafsd_cookie_base(). */
	atomic64_inc_return_release(&rdmafsd_changing_of(inode)->count);
}

/**
 * rdmafsd_change_end - it has been made, or has failed
 * @chg: the change; its @before is 0 from now on if others were at it, too
 */
void rdmafsd_change_end(struct rdmafsd_change *chg)
{
	struct inode *inode = d_inode(chg->path.dentry);
	struct rdmafsd_changing *now = rdmafsd_changing_of(inode);

	rdmafs_test_point("change_end", inode->i_ino);
	rdmafsd_change_made(inode);
	chg->after = rdmafsd_change_sample(chg);
	spin_lock(&now->lock);
	if (now->mixed || !chg->after)
		chg->before = 0;
	now->nr--;
	spin_unlock(&now->lock);
}
