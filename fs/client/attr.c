// SPDX-License-Identifier: GPL-2.0
/*
 * Attributes, the change cookie, and what they say about cached data.
 *
 * Three kinds of attributes arrive:
 *	fresh	of GETATTR, LOOKUP, OPEN, READDIR: what the server has now.  A
 *		cookie that we do not know means that someone else changed the
 *		object: cached pages, names and ACLs are not to be trusted.
 *	own	with the reply to a change of ours.  Their cookie differs from
 *		the last one because of us; @before in the attributes tells
 *		whether because of us alone.
 *	weak	fresh ones that crossed a change of ours on the way: old or
 *		new, one can't tell.  They never shrink a file, never refresh
 *		the expiry, and prove nothing.
 *
 * Own changes run in parallel and are answered in any order.  @change is the
 * cookie up to which everything is accounted for; an own change (before,
 * after) with before <= change extends it to after.  One that does not connect
 * waits in @edges for the answer that closes the gap.  If the gap is still
 * there when nothing of ours is in flight, someone else's change is in it.
 *
 * What the server does not tell (@before 0) is counted as ours while the file
 * is open, and cached pages are dropped at the next open: close-to-open
 * consistency does not depend on luck.
 *
 * Dirty data is never given up: pages are written back before they are
 * dropped, and a size from the server does not cut off what is not there yet.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/posix_acl.h>
#include "client.h"

/* Times that invalidation of a busy mapping is tried. */
#define RDMAFS_INVALIDATE_TRIES	8

/* What st_blksize says: large enough to stream, small enough for stdio. */
#define RDMAFS_BLKSIZE		65536

/**
 * rdmafs_attr_check - are attributes off the wire sane?
 * @sb:	  the mount
 * @attr: attributes, may be NULL
 *
 * Context: any.
 * Return: 0 or -EIO.
 */
int rdmafs_attr_check(struct super_block *sb, const struct rfp_attr *attr)
{
	if (!attr)
		return -EIO;
	switch (le32_to_cpu(attr->mode) & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFLNK:
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		break;
	default:
		return -EIO;
	}
	if (le32_to_cpu(attr->mode) & ~(S_IFMT | S_IALLUGO) ||
	    le64_to_cpu(attr->size) > LLONG_MAX || le64_to_cpu(attr->blocks) > LLONG_MAX ||
	    le32_to_cpu(attr->atime.nsec) >= NSEC_PER_SEC ||
	    le32_to_cpu(attr->mtime.nsec) >= NSEC_PER_SEC ||
	    le32_to_cpu(attr->ctime.nsec) >= NSEC_PER_SEC ||
	    le32_to_cpu(attr->btime.nsec) >= NSEC_PER_SEC)
		return -EIO;
	return 0;
}

static struct timespec64 rdmafs_time(const struct rfp_time *t)
{
	struct timespec64 ts = {
		.tv_sec = (s64)le64_to_cpu(t->sec),
		.tv_nsec = le32_to_cpu(t->nsec),
	};

	return ts;
}

/* Names found so far are to be looked up again; 0 is that of none. */
static void rdmafs_verifier_next_locked(struct rdmafs_inode *ri)
{
	lockdep_assert_held(&ri->lock);
	if (!++ri->verifier)
		ri->verifier = 1;
}

/* Someone else changed the object. */
static void rdmafs_foreign_locked(struct rdmafs_inode *ri)
{
	lockdep_assert_held(&ri->lock);
	set_bit(RDMAFS_I_INVALID, &ri->flags);
	rdmafs_verifier_next_locked(ri);
	ri->timeo = 0;
	forget_all_cached_acls(&ri->netfs.inode);
}

/* Take in every own change that connects to what is known. */
static void rdmafs_edges_join_locked(struct rdmafs_inode *ri)
{
	bool again;
	unsigned int i;

	lockdep_assert_held(&ri->lock);
	do {
		again = false;
		for (i = 0; i < ri->nr_edges; i++) {
			if (ri->edges[i].before > ri->change)
				continue;
			if (ri->edges[i].after > ri->change)
				ri->change = ri->edges[i].after;
			ri->edges[i] = ri->edges[--ri->nr_edges];
			again = true;
			break;
		}
	} while (again);
}

static void rdmafs_edges_drop_locked(struct rdmafs_inode *ri)
{
	unsigned int i;

	lockdep_assert_held(&ri->lock);
	if (!ri->nr_edges)
		return;
	for (i = 0; i < ri->nr_edges; i++)
		if (ri->edges[i].after > ri->change)
			ri->change = ri->edges[i].after;
	ri->nr_edges = 0;
	rdmafs_foreign_locked(ri);
}

/* A change of ours ended; @attr is what came with its reply, if it did. */
static void rdmafs_own_locked(struct rdmafs_inode *ri, const struct rfp_attr *attr)
{
	struct rdmafs_mount *mnt = RDMAFS_M(ri->netfs.inode.i_sb);

	lockdep_assert_held(&ri->lock);
	ri->own--;
	ri->clock = atomic64_inc_return(&mnt->clock);
	if (!attr) {
		/* Executed or not, nobody knows: the next fresh cookie tells. */
		ri->expires = jiffies;
	} else {
		u64 before = le64_to_cpu(attr->before);
		u64 after = le64_to_cpu(attr->change);

		if (!before) {
			set_bit(RDMAFS_I_UNSURE, &ri->flags);
			rdmafs_verifier_next_locked(ri);
			before = ri->change;
		}
		if (ri->nr_edges == RDMAFS_NR_EDGES)
			rdmafs_edges_drop_locked(ri);
		ri->edges[ri->nr_edges].before = before;
		ri->edges[ri->nr_edges].after = after;
		ri->nr_edges++;
		rdmafs_edges_join_locked(ri);
	}
	if (!ri->own)
		rdmafs_edges_drop_locked(ri);
}

/* Is there data that the server does not have, or may not have had? */
static bool rdmafs_busy(struct inode *inode)
{
	struct address_space *mapping = inode->i_mapping;

	return atomic_read(&RDMAFS_I(inode)->writers) ||
	       mapping_tagged(mapping, PAGECACHE_TAG_DIRTY) ||
	       mapping_tagged(mapping, PAGECACHE_TAG_WRITEBACK) ||
	       mapping_tagged(mapping, PAGECACHE_TAG_TOWRITE);
}

/**
 * rdmafs_flush - write back what is dirty and wait for it
 * @inode: a regular file
 *
 * Errors stay with the mapping, for fsync(2) and close(2) to report.
 */
void rdmafs_flush(struct inode *inode)
{
	struct address_space *mapping = inode->i_mapping;

	if (!mapping->nrpages)
		return;
	filemap_fdatawrite(mapping);
	filemap_fdatawait_keep_errors(mapping);
}

/* Copy @attr; caller holds i_lock, or has the inode for itself. */
static void rdmafs_attr_copy(struct inode *inode, const struct rfp_attr *attr, bool weak)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	loff_t size = le64_to_cpu(attr->size);

	inode->i_mode = le32_to_cpu(attr->mode);
	inode->i_uid = make_kuid(&init_user_ns, le32_to_cpu(attr->uid));
	inode->i_gid = make_kgid(&init_user_ns, le32_to_cpu(attr->gid));
	set_nlink(inode, le32_to_cpu(attr->nlink));
	inode_set_atime_to_ts(inode, rdmafs_time(&attr->atime));
	inode_set_mtime_to_ts(inode, rdmafs_time(&attr->mtime));
	inode_set_ctime_to_ts(inode, rdmafs_time(&attr->ctime));
	ri->btime = rdmafs_time(&attr->btime);
	inode->i_blocks = le64_to_cpu(attr->blocks);
	WRITE_ONCE(ri->attr_flags, le32_to_cpu(attr->flags));
	if (!S_ISREG(inode->i_mode) || size > i_size_read(inode) ||
	    (!weak && !rdmafs_busy(inode)))
		i_size_write(inode, size);
}

static void rdmafs_attr_timeo_locked(struct inode *inode, bool changed)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	const struct rdmafs_opts *opts = &RDMAFS_M(inode->i_sb)->opts;
	bool dir = S_ISDIR(inode->i_mode);
	unsigned long min = (dir ? opts->acdirmin : opts->acregmin) * HZ;
	unsigned long max = (dir ? opts->acdirmax : opts->acregmax) * HZ;

	lockdep_assert_held(&ri->lock);
	/* What was found unchanged again is believed twice as long. */
	if (changed || !ri->timeo)
		ri->timeo = min;
	else if (time_after_eq(jiffies, ri->expires))
		ri->timeo = min(ri->timeo * 2, max);
	ri->expires = jiffies + ri->timeo;
}

static bool rdmafs_attr_same_type(struct inode *inode, const struct rfp_attr *attr)
{
	if (!((inode->i_mode ^ le32_to_cpu(attr->mode)) & S_IFMT))
		return true;
	set_bit(RDMAFS_I_STALE, &RDMAFS_I(inode)->flags);
	return false;
}

/**
 * rdmafs_attr_init - first attributes of a new inode
 * @inode: locked by I_NEW
 * @attr:  checked attributes
 * @clock: the mount's clock when they were asked for
 */
void rdmafs_attr_init(struct inode *inode, const struct rfp_attr *attr, u64 clock)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);

	inode->i_mode = le32_to_cpu(attr->mode);
	rdmafs_attr_copy(inode, attr, false);
	ri->change = le64_to_cpu(attr->change);
	ri->clock = clock;
	spin_lock_irq(&ri->lock);
	rdmafs_attr_timeo_locked(inode, true);
	spin_unlock_irq(&ri->lock);
	if (!(ri->attr_flags & RFP_ATTR_ACL))
		cache_no_acl(inode);
}

/**
 * rdmafs_attr_fresh - take over attributes that the server was asked for
 * @inode: the object
 * @attr:  checked attributes
 * @clock: op->clock of the request
 *
 * Context: process.
 */
void rdmafs_attr_fresh(struct inode *inode, const struct rfp_attr *attr, u64 clock)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	u64 change = le64_to_cpu(attr->change);
	bool weak, changed, acl;

	if (!rdmafs_attr_same_type(inode, attr))
		return;
	spin_lock(&inode->i_lock);
	spin_lock_irq(&ri->lock);
	acl = (READ_ONCE(ri->attr_flags) ^ le32_to_cpu(attr->flags)) & RFP_ATTR_ACL;
	weak = ri->own || ri->clock > clock;
	changed = change != ri->change;
	if (weak) {
		ri->expires = jiffies;
	} else {
		if (changed) {
			rdmafs_foreign_locked(ri);
			ri->change = change;
		}
		rdmafs_attr_timeo_locked(inode, changed);
		clear_bit(RDMAFS_I_STASH, &ri->flags);
	}
	rdmafs_attr_copy(inode, attr, weak);
	spin_unlock_irq(&ri->lock);
	spin_unlock(&inode->i_lock);
	if (acl)
		forget_all_cached_acls(inode);
}

/**
 * rdmafs_attr_own_begin - a change of ours is about to be sent
 * @inode: what it changes
 *
 * Context: any.
 */
void rdmafs_attr_own_begin(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	unsigned long irq;

	spin_lock_irqsave(&ri->lock, irq);
	ri->own++;
	spin_unlock_irqrestore(&ri->lock, irq);
}

/*
 * Are these the newest attributes seen?  Replies come in any order: a change
 * that waits for the one before it has been here with attributes as well.
 */
static bool rdmafs_attr_newest_locked(struct rdmafs_inode *ri, const struct rfp_attr *attr)
{
	u64 change = le64_to_cpu(attr->change);
	unsigned int i;

	lockdep_assert_held(&ri->lock);
	for (i = 0; i < ri->nr_edges; i++)
		if (ri->edges[i].after > change)
			return false;
	return change >= ri->change;
}

/**
 * rdmafs_attr_own_end - a change of ours ended
 * @inode: what it changed
 * @attr:  checked attributes of the reply, NULL if there are none
 *
 * Context: process.
 */
void rdmafs_attr_own_end(struct inode *inode, const struct rfp_attr *attr)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	bool acl = false;

	if (attr && !rdmafs_attr_same_type(inode, attr))
		attr = NULL;
	spin_lock(&inode->i_lock);
	spin_lock_irq(&ri->lock);
	rdmafs_own_locked(ri, attr);
	if (attr && rdmafs_attr_newest_locked(ri, attr)) {
		acl = (READ_ONCE(ri->attr_flags) ^ le32_to_cpu(attr->flags)) & RFP_ATTR_ACL;
		rdmafs_attr_copy(inode, attr, ri->own);
		rdmafs_attr_timeo_locked(inode, true);
		clear_bit(RDMAFS_I_STASH, &ri->flags);
	}
	spin_unlock_irq(&ri->lock);
	spin_unlock(&inode->i_lock);
	if (acl)
		forget_all_cached_acls(inode);
}

/**
 * rdmafs_attr_own_end_atomic - the same where one may not take i_lock
 * @inode: what was changed
 * @attr:  checked attributes of the reply, NULL if there are none
 *
 * The attributes are kept and taken over when they are next looked at.
 *
 * Context: any.
 */
void rdmafs_attr_own_end_atomic(struct inode *inode, const struct rfp_attr *attr)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	unsigned long irq;

	spin_lock_irqsave(&ri->lock, irq);
	rdmafs_own_locked(ri, attr);
	if (attr && rdmafs_attr_newest_locked(ri, attr)) {
		ri->stash = *attr;
		set_bit(RDMAFS_I_STASH, &ri->flags);
		rdmafs_attr_timeo_locked(inode, true);
	}
	spin_unlock_irqrestore(&ri->lock, irq);
}

/* Take over what a write left behind. */
static void rdmafs_attr_unstash(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);

	if (!test_bit(RDMAFS_I_STASH, &ri->flags))
		return;
	spin_lock(&inode->i_lock);
	spin_lock_irq(&ri->lock);
	if (test_and_clear_bit(RDMAFS_I_STASH, &ri->flags) &&
	    rdmafs_attr_same_type(inode, &ri->stash))
		rdmafs_attr_copy(inode, &ri->stash, ri->own);
	spin_unlock_irq(&ri->lock);
	spin_unlock(&inode->i_lock);
}

/**
 * rdmafs_attr_expire - ask the server next time
 * @inode: the object
 *
 * Context: any.
 */
void rdmafs_attr_expire(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	unsigned long irq;

	spin_lock_irqsave(&ri->lock, irq);
	ri->expires = jiffies;
	spin_unlock_irqrestore(&ri->lock, irq);
}

/**
 * rdmafs_attr_expired - must the server be asked?
 * @inode: the object
 *
 * Context: any, RCU walk included.
 * Return: true if so.
 */
bool rdmafs_attr_expired(struct inode *inode)
{
	return time_after_eq(jiffies, READ_ONCE(RDMAFS_I(inode)->expires));
}

static int rdmafs_attr_ask(struct inode *inode, struct rdmafs_open *open)
{
	struct rfp_getattr_req *req;
	const struct rfp_attr *attr;
	struct rdmafs_op *op;
	struct rfp_dec dec;
	int err;

	op = rdmafs_op_new(RDMAFS_M(inode->i_sb), RFP_GETATTR, sizeof(*req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	req = (struct rfp_getattr_req *)op->req;
	if (open)
		rdmafs_op_use_open(op, open, &req->stateid);
	rfp_enc_fh(&op->enc, &RDMAFS_I(inode)->fh);
	err = rdmafs_op_run(op);
	if (err)
		goto out;
	rdmafs_op_reply(op, &dec, sizeof(struct rfp_rep));
	attr = rfp_dec_fixed(&dec, sizeof(*attr));
	err = -EIO;
	if (rfp_dec_end(&dec) || rdmafs_attr_check(inode->i_sb, attr))
		goto out;
	rdmafs_attr_fresh(inode, attr, op->clock);
	err = 0;
out:
	rdmafs_op_put(op);
	return err;
}

static int rdmafs_attr_fetch(struct inode *inode)
{
	struct rdmafs_open *open = NULL;
	int err = -ESTALE;

	/*
	 * An open may find what its last name does not lead to any more, and the
	 * server need not look for what it has open.
	 */
	if (S_ISREG(inode->i_mode))
		open = rdmafs_open_find(inode,
					RFP_OPEN_READ | RFP_OPEN_WRITE | RFP_OPEN_EXEC);
	if (open) {
		err = rdmafs_attr_ask(inode, open);
		rdmafs_open_put_sync(open);
	}
	if (!open || (err == -ESTALE && inode->i_nlink))
		err = rdmafs_attr_ask(inode, NULL);
	if (err == -ESTALE)
		set_bit(RDMAFS_I_STALE, &RDMAFS_I(inode)->flags);
	return err;
}

/**
 * rdmafs_revalidate - have attributes that are recent enough
 * @inode: the object
 * @force: ask the server in any case
 *
 * Return: 0 or a negative errno.
 */
int rdmafs_revalidate(struct inode *inode, bool force)
{
	rdmafs_attr_unstash(inode);
	if (test_bit(RDMAFS_I_STALE, &RDMAFS_I(inode)->flags))
		return -ESTALE;
	if (!force && !rdmafs_attr_expired(inode))
		return 0;
	return rdmafs_attr_fetch(inode);
}

/**
 * rdmafs_invalidate_mapping - drop cached pages, after writing back what is dirty
 * @inode: a regular file
 *
 * Return: 0, or why pages could not be dropped.
 */
int rdmafs_invalidate_mapping(struct inode *inode)
{
	struct address_space *mapping = inode->i_mapping;
	int tries, err = 0;

	for (tries = 0; tries < RDMAFS_INVALIDATE_TRIES; tries++) {
		if (!mapping->nrpages)
			return 0;
		rdmafs_flush(inode);
		err = invalidate_inode_pages2(mapping);
		if (err != -EBUSY)
			return err;
		/* Dirtied again meanwhile, through a mapping most likely. */
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return err;
}

/**
 * rdmafs_revalidate_mapping - make cached pages fit to be read
 * @inode: a regular file
 * @attrs: look at the attributes first, if they have expired
 *
 * Return: 0 or a negative errno.
 */
int rdmafs_revalidate_mapping(struct inode *inode, bool attrs)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	int err;

	if (attrs) {
		err = rdmafs_revalidate(inode, false);
		if (err)
			return err;
	}
	if (likely(!test_bit(RDMAFS_I_INVALID, &ri->flags)))
		return 0;
	/* Cleared first: what is found out meanwhile counts again. */
	clear_bit(RDMAFS_I_INVALID, &ri->flags);
	err = rdmafs_invalidate_mapping(inode);
	if (err) {
		set_bit(RDMAFS_I_INVALID, &ri->flags);
		/* Pages that stay busy are in use by a mapping: the next read tries again. */
		if (err == -EBUSY)
			err = 0;
	}
	return err;
}

/**
 * rdmafs_getattr - stat(2)
 * @idmap:	 of the mount
 * @path:	 the object
 * @stat:	 filled in
 * @request_mask: STATX_*
 * @query_flags: AT_STATX_*
 *
 * Return: 0 or a negative errno.
 */
int rdmafs_getattr(struct mnt_idmap *idmap, const struct path *path, struct kstat *stat,
		   u32 request_mask, unsigned int query_flags)
{
	struct inode *inode = d_inode(path->dentry);
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	bool force = query_flags & AT_STATX_FORCE_SYNC;
	int err = 0;

	/*
	 * The server sets the times when it writes.  So what is dirty goes
	 * there first; an error stays with the mapping, for fsync and close.
	 */
	if (S_ISREG(inode->i_mode) && !(query_flags & AT_STATX_DONT_SYNC) &&
	    (request_mask & (STATX_CTIME | STATX_MTIME | STATX_SIZE | STATX_BLOCKS)) &&
	    rdmafs_busy(inode))
		rdmafs_flush(inode);

	if (query_flags & AT_STATX_DONT_SYNC)
		rdmafs_attr_unstash(inode);
	else
		err = rdmafs_revalidate(inode, force);
	if (err)
		return err;

	generic_fillattr(idmap, request_mask, inode, stat);
	stat->blksize = RDMAFS_BLKSIZE;
	if (ri->btime.tv_sec || ri->btime.tv_nsec) {
		stat->btime = ri->btime;
		stat->result_mask |= STATX_BTIME;
	}
	return 0;
}

/**
 * rdmafs_permission - may the current task do this?
 * @idmap: of the mount
 * @inode: the object
 * @mask:  MAY_*
 *
 * The server asks again; this spares it what fails anyway, and serves what is
 * cached.  Whether a file may be opened is left to it alone: OPEN is sent in
 * any case, and it knows the mode as it is now.
 *
 * Return: 0 or a negative errno.
 */
int rdmafs_permission(struct mnt_idmap *idmap, struct inode *inode, int mask)
{
	int err;

	if ((mask & MAY_OPEN) && S_ISREG(inode->i_mode))
		return 0;
	if (rdmafs_attr_expired(inode) || test_bit(RDMAFS_I_STASH, &RDMAFS_I(inode)->flags)) {
		if (mask & MAY_NOT_BLOCK)
			return -ECHILD;
		err = rdmafs_revalidate(inode, false);
		if (err)
			return err;
	}
	/* Owner and mode are those of somebody else; what can't be run is not for anybody. */
	if (RDMAFS_M(inode->i_sb)->export_flags & RFP_EXPORT_SQUASH)
		return (mask & MAY_EXEC) && S_ISREG(inode->i_mode) &&
		       !(inode->i_mode & 0111) ? -EACCES : 0;
	return generic_permission(idmap, inode, mask);
}

/**
 * rdmafs_zero_tail - clear what a mapping may have written behind the end
 * @inode: the file
 * @from:  its size, about to grow
 *
 * Context: the caller holds i_rwsem.
 */
void rdmafs_zero_tail(struct inode *inode, loff_t from)
{
	struct folio *folio;
	size_t offset;

	if (!(from & (PAGE_SIZE - 1)))
		return;
	folio = filemap_lock_folio(inode->i_mapping, from >> PAGE_SHIFT);
	if (IS_ERR(folio))
		return;
	offset = offset_in_folio(folio, from);
	if (folio_test_uptodate(folio) && !folio_test_writeback(folio))
		folio_zero_segment(folio, offset, folio_size(folio));
	folio_unlock(folio);
	folio_put(folio);
}

static void rdmafs_put_time(struct rfp_time *t, const struct timespec64 *ts)
{
	t->sec = cpu_to_le64(ts->tv_sec);
	t->nsec = cpu_to_le32(ts->tv_nsec);
}

static void rdmafs_setattr_fill(struct rfp_setattr_req *req, const struct iattr *attr)
{
	unsigned int ia = attr->ia_valid;
	u32 valid = 0;

	/* The mode without these bits is the VFS's guess from cached ones. */
	if (ia & (ATTR_KILL_SUID | ATTR_KILL_SGID)) {
		valid |= RFP_SET_KILL_SUID;
		ia &= ~ATTR_MODE;
	}
	if (ia & ATTR_MODE) {
		valid |= RFP_SET_MODE;
		req->mode = cpu_to_le32(attr->ia_mode & S_IALLUGO);
	}
	if (ia & ATTR_UID) {
		valid |= RFP_SET_UID;
		req->uid = cpu_to_le32(from_kuid(&init_user_ns, attr->ia_uid));
	}
	if (ia & ATTR_GID) {
		valid |= RFP_SET_GID;
		req->gid = cpu_to_le32(from_kgid(&init_user_ns, attr->ia_gid));
	}
	if (ia & ATTR_SIZE) {
		valid |= RFP_SET_SIZE;
		req->size = cpu_to_le64(attr->ia_size);
	}
	if (ia & ATTR_ATIME_SET) {
		valid |= RFP_SET_ATIME;
		rdmafs_put_time(&req->atime, &attr->ia_atime);
	} else if (ia & ATTR_ATIME) {
		valid |= RFP_SET_ATIME_NOW;
	}
	if (ia & ATTR_MTIME_SET) {
		valid |= RFP_SET_MTIME;
		rdmafs_put_time(&req->mtime, &attr->ia_mtime);
	} else if (ia & ATTR_MTIME) {
		valid |= RFP_SET_MTIME_NOW;
	}
	req->valid = cpu_to_le32(valid);
}

static int rdmafs_setattr_send(struct inode *inode, struct iattr *attr)
{
	struct rdmafs_mount *mnt = RDMAFS_M(inode->i_sb);
	const struct rfp_attr *rattr = NULL;
	struct rfp_setattr_req *req;
	struct rdmafs_open *open;
	struct rdmafs_op *op;
	struct rfp_dec dec;
	int err;

	op = rdmafs_op_new(mnt, RFP_SETATTR, sizeof(*req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	req = (struct rfp_setattr_req *)op->req;
	rdmafs_setattr_fill(req, attr);
	/* ftruncate(2): opened for writing, whatever the permissions are now. */
	if ((attr->ia_valid & ATTR_SIZE) && (attr->ia_valid & ATTR_FILE)) {
		open = rdmafs_file_open(attr->ia_file);
		if (open && (open->flags & RFP_OPEN_WRITE))
			rdmafs_op_use_open(op, open, &req->stateid);
	}
	rfp_enc_fh(&op->enc, &RDMAFS_I(inode)->fh);

	rdmafs_attr_own_begin(inode);
	err = rdmafs_op_run(op);
	if (!err) {
		rdmafs_op_reply(op, &dec, sizeof(struct rfp_rep));
		rattr = rfp_dec_fixed(&dec, sizeof(*rattr));
		if (rfp_dec_end(&dec) || rdmafs_attr_check(inode->i_sb, rattr)) {
			rattr = NULL;
			err = -EIO;
		}
	}
	rdmafs_attr_own_end(inode, rattr);
	rdmafs_op_put(op);
	return err;
}

/* Caller holds i_rwsem exclusively; direct I/O is not under way. */
static int rdmafs_setattr_size(struct inode *inode, struct iattr *attr)
{
	struct address_space *mapping = inode->i_mapping;
	loff_t old, new = attr->ia_size;
	int err;

	/*
	 * Nothing is read in while the sizes here and there differ: what a
	 * read gets behind the new end would come to light when the file
	 * grows.  Nor may a write of what is cut off follow the SETATTR, so
	 * pages go first.  If the server then refuses, they are read again:
	 * all was written back.
	 */
	filemap_invalidate_lock(mapping);
	rdmafs_flush(inode);
	old = i_size_read(inode);
	if (new > old)
		rdmafs_zero_tail(inode, old);
	truncate_setsize(inode, new);
	err = rdmafs_setattr_send(inode, attr);
	if (err) {
		spin_lock(&inode->i_lock);
		i_size_write(inode, old);
		spin_unlock(&inode->i_lock);
		set_bit(RDMAFS_I_INVALID, &RDMAFS_I(inode)->flags);
		rdmafs_attr_expire(inode);
	}
	WRITE_ONCE(RDMAFS_I(inode)->netfs.zero_point, LLONG_MAX);
	filemap_invalidate_unlock(mapping);
	return err;
}

/**
 * rdmafs_setattr - chmod(2), chown(2), truncate(2), utimensat(2)
 * @idmap:  of the mount
 * @dentry: the object
 * @attr:   what is to be changed
 *
 * Whether it is allowed, the server decides.
 *
 * Return: 0 or a negative errno.
 */
int rdmafs_setattr(struct mnt_idmap *idmap, struct dentry *dentry, struct iattr *attr)
{
	struct inode *inode = d_inode(dentry);
	int err;

	if (attr->ia_valid & ATTR_SIZE) {
		if (!S_ISREG(inode->i_mode))
			return S_ISDIR(inode->i_mode) ? -EISDIR : -EINVAL;
		err = inode_newsize_ok(inode, attr->ia_size);
		if (err)
			return err;
		inode_dio_wait(inode);
		return rdmafs_setattr_size(inode, attr);
	}
	/* A write that comes later would undo a time and bring back set-id bits. */
	if (S_ISREG(inode->i_mode))
		rdmafs_flush(inode);
	err = rdmafs_setattr_send(inode, attr);
	if (!err && (attr->ia_valid & ATTR_MODE))
		forget_all_cached_acls(inode);
	return err;
}
