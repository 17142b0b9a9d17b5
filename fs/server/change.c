// SPDX-License-Identifier: GPL-2.0
/*
 * The change cookie, and which session's changes moved it.
 *
 * The cookie must differ after every change, and must never take an old value again.
 *
 * - Where the file system keeps a useful i_version, that is the base.  The VFS raises i_version
 *   before the change is visible: a client that asks in between would learn the new value with
 *   the old contents.  So once a change made by a request is done, i_version is raised again if
 *   it has been queried meanwhile.  ctime is added to it, since the i_version on the disk may be
 *   behind: after a crash of the server, or when the inode has left memory, i_version falls back
 *   and would repeat itself.  If the clock is set back the cookie falls back, too, until the
 *   clock has caught up.
 *   ctime is as coarse as the timer: a directory could leave memory and be changed again within a
 *   tick, and then have the cookie of before, by which clients believe its old names for ever.  So
 *   what is raised here goes to the disk with the change, if that is one of a directory
 *   (rdmafsd_change_keep()).  For files that would be a change of the inode more with each WRITE.
 * - Elsewhere ctime is the base.  It is as coarse as the timer.  So a counter is added that
 *   grows with each change made by a request; it is found in a table by a hash of the inode.  It
 *   begins at a value made of the time when the module was loaded, which is more than it can
 *   have grown to before.  Two inodes may share a counter: that costs a client a needless read
 *   where there is no i_version.
 *
 * All parts only ever grow, so their sum does not repeat.  Changes made by local processes of
 * the server are seen as well as the file system tells them.
 *
 * The base of the cookie is read before the attributes that are told with it: the attributes may
 * be newer than their cookie, never older.  A client that finds the cookie of its own last
 * change takes the size beside the cookie for the file's.
 *
 * Every change that a client asks for stands between rdmafsd_change_begin() and
 * rdmafsd_change_end(), which read the cookie before and after it.  If only that client's
 * session has changed the object in between, the reply says so by telling the cookie of before,
 * and the client keeps what it has cached.  Several requests may write to a file at a time, so the
 * inode's entry of the table counts the changes under way.  If changes of two sessions overlap,
 * neither reply tells the cookie of before.
 *
 * Local processes of the server are in no such table.  But they need the i_rwsem of a directory to
 * change its names, attributes and xattrs.  So for a directory this is exact if its i_rwsem is
 * held from begin to end: it is where names are made and removed in it, and where its attributes
 * and xattrs change.  Some functions of the VFS take the lock of what they change themselves: those
 * that set and remove ACLs and file capabilities, vfs_fileattr_set(), and vfs_rmdir(), for the
 * directory that it removes.  vfs_rename() takes that of a directory that it moves only if the
 * parent changes; if it were taken here otherwise, two directories could be locked without the
 * superblock's rename mutex.  The cookie of before such a change of a directory is never told
 * (rdmafsd_change_begin_unlocked()), so its client asks for the names in it again.
 *
 * A write that a local process of the server makes to a file while a client writes to it can't be
 * told from the client's.
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/iversion.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <linux/timekeeping.h>
#include "request.h"
#include "transport/points.h"

#define RDMAFSD_CHANGE_BITS	12

/**
 * struct rdmafsd_changing - changes under way to the inodes of one hash value
 * @lock:  guards @owner, @nr and @mixed; a leaf
 * @owner: session of the first of them; compared only
 * @nr:    how many there are
 * @mixed: another session has made a change since @nr was 0
 * @count: grows with each change; without the lock
 */
struct rdmafsd_changing {
	spinlock_t lock;	/* @owner, @nr, @mixed */
	const struct rdmafsd_session *owner;
	unsigned int nr;
	bool mixed;
	atomic64_t count;
};

static struct rdmafsd_changing rdmafsd_table[1 << RDMAFSD_CHANGE_BITS];
static u64 rdmafsd_count_base;

/**
 * rdmafsd_changes_init - set up the table of changes and the value at which counters begin
 *
 * Context: process, when the module is loaded.
 */
void rdmafsd_changes_init(void)
{
	size_t i;

	/*
	 * A counter that grows by less than a million a second stays below the next module's
	 * base.
	 */
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
 * rdmafsd_has_version - tell whether the i_version of an inode can tell changes
 * @inode: the inode
 *
 * xfs raises i_version for anything that it writes to its log, for example when it allocates
 * space for delayed data: each file written would seem to change again later.
 *
 * Context: any.
 * Return: true if so.
 */
bool rdmafsd_has_version(struct inode *inode)
{
	return IS_I_VERSION(inode) && inode->i_sb->s_magic != XFS_SUPER_MAGIC;
}

/**
 * rdmafsd_cookie_base - read the part of the change cookie that is read before attributes
 * @inode: the object, whose attributes are about to be read
 *
 * Context: process, does not sleep.
 * Return: the base for rdmafsd_cookie_from().
 */
u64 rdmafsd_cookie_base(struct inode *inode)
{
	if (rdmafsd_has_version(inode))
		return inode_query_iversion(inode);
	/*
	 * Pairs with the release in rdmafsd_change_made(): a task that sees the new count sees
	 * the change.
	 */
	return rdmafsd_count_base + atomic64_read_acquire(&rdmafsd_changing_of(inode)->count);
}

/**
 * rdmafsd_cookie_from - make the change cookie of an object
 * @inode: the object
 * @base:  rdmafsd_cookie_base(), read before @stat was
 * @stat:  its attributes, with STATX_CTIME asked for
 *
 * Context: any.
 * Return: the cookie.
 */
u64 rdmafsd_cookie_from(struct inode *inode, u64 base, const struct kstat *stat)
{
	if (rdmafsd_has_version(inode) && (stat->attributes & STATX_ATTR_CHANGE_MONOTONIC))
		return base;
	return base + ((u64)stat->ctime.tv_sec << 30) + stat->ctime.tv_nsec;
}

/**
 * rdmafsd_cookie - read the change cookie and the size of an object
 * @path:   the object, positive
 * @cookie: gets the cookie
 * @size:   gets the size in bytes
 *
 * Context: process; sleeps only if the file system's ->getattr() does.
 * Return: 0 or a negative errno of vfs_getattr_nosec().
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

/* Returns 0, which is no cookie's value, if the cookie can't be read. */
static u64 rdmafsd_change_sample(struct rdmafsd_change *chg)
{
	u64 cookie, size;

	return rdmafsd_cookie(&chg->path, &cookie, &size) ? 0 : cookie;
}

static void rdmafsd_change_count(struct rdmafsd_rq *rq, struct dentry *dentry,
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
}

/**
 * rdmafsd_change_begin - note that a change is about to be made for a client
 * @rq:     the request
 * @dentry: the object, positive; held by the caller until the end
 * @chg:    filled in; to be given to rdmafsd_change_end(), which must follow
 *
 * Context: process, may sleep.  If the object is a directory its i_rwsem is held, until the end.
 */
void rdmafsd_change_begin(struct rdmafsd_rq *rq, struct dentry *dentry,
			  struct rdmafsd_change *chg)
{
	if (d_is_dir(dentry))
		lockdep_assert_held_write(&d_inode(dentry)->i_rwsem);
	rdmafsd_change_count(rq, dentry, chg);
	chg->before = rdmafsd_change_sample(chg);
}

/**
 * rdmafsd_change_begin_unlocked - likewise, if the caller can't hold the object's lock to the end
 * @rq:     the request
 * @dentry: the object, positive; held by the caller until the end
 * @chg:    filled in; to be given to rdmafsd_change_end(), which must follow
 *
 * A local process may change a directory before the VFS has its lock, or after that: the reply
 * does not tell a directory's cookie of before.
 *
 * Context: process, may sleep.
 */
void rdmafsd_change_begin_unlocked(struct rdmafsd_rq *rq, struct dentry *dentry,
				   struct rdmafsd_change *chg)
{
	rdmafsd_change_count(rq, dentry, chg);
	chg->before = d_is_dir(dentry) ? 0 : rdmafsd_change_sample(chg);
}

/**
 * rdmafsd_change_none - fill in a change that was not made, though the reply tells one
 * @rq:     the request
 * @dentry: the object, positive
 * @chg:    gets the same cookie for before and after
 *
 * Context: process, may sleep.
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
 * rdmafsd_change_made - move the change cookie, since attributes told before hold no longer
 * @inode: the object
 *
 * Context: process, does not sleep.
 * Return: true if i_version was raised in memory, and is not what the disk has.
 */
bool rdmafsd_change_made(struct inode *inode)
{
	bool raised = rdmafsd_has_version(inode) && inode_maybe_inc_iversion(inode, false);

	/* The change comes before its count.  Pairs with the acquire in rdmafsd_cookie_base(). */
	atomic64_inc_return_release(&rdmafsd_changing_of(inode)->count);
	return raised;
}

/**
 * rdmafsd_change_end - note that a change has been made, or has failed
 * @chg: the change; gets @after, and @before becomes 0 if another session changed the object
 *       meanwhile
 *
 * Context: process, may sleep; with the lock held that rdmafsd_change_begin() names, if the change
 * began with that.
 */
void rdmafsd_change_end(struct rdmafsd_change *chg)
{
	struct inode *inode = d_inode(chg->path.dentry);
	struct rdmafsd_changing *now = rdmafsd_changing_of(inode);

	rdmafs_test_point("change_end", inode->i_ino);
	chg->raised = rdmafsd_change_made(inode);
	chg->after = rdmafsd_change_sample(chg);
	spin_lock(&now->lock);
	if (now->mixed || !chg->after)
		chg->before = 0;
	now->nr--;
	spin_unlock(&now->lock);
}

/**
 * rdmafsd_change_keep - have the disk keep the cookie of a directory
 * @chg: a change that was made, not one that has failed; ended, and its dentry is held still
 *
 * Does nothing for other objects.
 *
 * Context: process, may sleep; the request has the mount's write counts
 * (rdmafsd_rq_want_write()).
 */
void rdmafsd_change_keep(const struct rdmafsd_change *chg)
{
	struct inode *inode = d_inode(chg->path.dentry);

	if (chg->raised && S_ISDIR(inode->i_mode) && inode->i_nlink)
		mark_inode_dirty_sync(inode);
}

/**
 * rdmafsd_change_join - have a change begin with another one that the same request made before it
 * @chg:    the change, ended
 * @before: cookie of before the other one, 0 if not told
 * @after:  cookie of after it
 *
 * If anything came between the two, @chg stays as it is: its client sees a gap.
 *
 * Context: any.
 */
void rdmafsd_change_join(struct rdmafsd_change *chg, u64 before, u64 after)
{
	if (chg->before == after)
		chg->before = before;
}
