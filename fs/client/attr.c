// SPDX-License-Identifier: GPL-2.0
/*
 * Attributes: they are asked for, checked and taken over here.
 *
 * coherence.c decides what attributes may do, and has the terms: a change of an
 * object is an own one or a foreign one.  mapping.c drops cached pages.
 *
 * A request tells at which tick of the mount's clock it was sent (op->clock); its
 * attributes come back by rdmafs_attr_fresh(), or by rdmafs_attr_own_end() if it
 * was a change.  The reply to a WRITE comes where i_lock can't be taken; its
 * attributes are stashed, and taken over when attributes are next looked at.
 *
 * Dirty data is never given up: pages are written back before they are dropped,
 * and a size from the server does not cut off data that the server does not have
 * yet.
 *
 * Locks: inode->i_lock and, inside of it, rdmafs_inode.lock, while attributes are
 * taken over.  rdmafs_inode.lock alone guards what is known (struct rdmafs_coh), the
 * expiry and the stash.
 */
#include <linux/fs.h>
#include <linux/posix_acl.h>
#include "client.h"
#include "dir.h"
#include "op.h"
#include "open.h"
#include "transport/points.h"
#include "trace.h"

/* st_blksize: large enough to stream, small enough for stdio. */
#define RDMAFS_BLKSIZE		65536

/**
 * rdmafs_attr_check - check attributes off the wire before they are used
 * @sb:	  the mount
 * @attr: attributes; NULL if the reply was too short for them
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
	    le32_to_cpu(attr->flags) & ~RFP_ATTR_ALL ||
	    le32_to_cpu(attr->access) & ~RFP_ACCESS_ALL || attr->pad ||
	    le64_to_cpu(attr->size) > LLONG_MAX || le64_to_cpu(attr->blocks) > LLONG_MAX ||
	    le32_to_cpu(attr->atime.nsec) >= NSEC_PER_SEC ||
	    le32_to_cpu(attr->mtime.nsec) >= NSEC_PER_SEC ||
	    le32_to_cpu(attr->ctime.nsec) >= NSEC_PER_SEC ||
	    le32_to_cpu(attr->btime.nsec) >= NSEC_PER_SEC)
		return -EIO;
	return 0;
}

/*
 * Advance the mount's clock, and read it.  The caller holds rdmafs_inode.lock, or the inode is
 * I_NEW, so that ticks reach an inode in order.  A request that is sent when the clock shows
 * this tick, or a later one, is sent after this.
 */
static u64 rdmafs_attr_tick(struct inode *inode)
{
	lockdep_assert(lockdep_is_held(&RDMAFS_I(inode)->lock) ||
		       READ_ONCE(inode->i_state) & I_NEW);
	return atomic64_inc_return(&RDMAFS_M(inode->i_sb)->clock);
}

static struct timespec64 rdmafs_time(const struct rfp_time *t)
{
	struct timespec64 ts = {
		.tv_sec = (s64)le64_to_cpu(t->sec),
		.tv_nsec = le32_to_cpu(t->nsec),
	};

	return ts;
}

/* Attributes say that the file is longer than is known here: may the size be raised? */
static bool rdmafs_attr_grow_locked(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	enum rdmafs_pages old = ri->coh.pages;
	bool may;

	lockdep_assert_held(&ri->lock);
	may = rdmafs_coh_grow(&ri->coh, rdmafs_tail_dirty(inode));
	rdmafs_pages_moved_locked(ri, old);
	trace_rdmafs_cache(inode, may ? RDMAFS_CACHE_GROW : RDMAFS_CACHE_NO_GROW, 0, 0);
	if (!may)
		ri->expires = jiffies;
	return may;
}

/* Take over @attr.  The caller holds i_lock and rdmafs_inode.lock, or the inode is I_NEW. */
static void rdmafs_attr_copy(struct inode *inode, const struct rfp_attr *attr,
			     enum rdmafs_size how)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	struct timespec64 ctime = inode_get_ctime(inode);
	loff_t size = le64_to_cpu(attr->size);

	lockdep_assert((lockdep_is_held(&inode->i_lock) && lockdep_is_held(&ri->lock)) ||
		       READ_ONCE(inode->i_state) & I_NEW);
	if (ctime.tv_sec != (s64)le64_to_cpu(attr->ctime.sec) ||
	    ctime.tv_nsec != le32_to_cpu(attr->ctime.nsec))
		memset(ri->access, 0, sizeof(ri->access));
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
	if (S_ISDIR(inode->i_mode))
		inode_set_flags(inode, ri->attr_flags & RFP_ATTR_CROSSING ? S_AUTOMOUNT : 0,
				S_AUTOMOUNT);
	/* Data that the server does not have yet is not cut off, whatever size it says. */
	if (S_ISREG(inode->i_mode) && how == RDMAFS_SIZE_SET && rdmafs_busy(inode))
		how = RDMAFS_SIZE_GROW;
	if (S_ISREG(inode->i_mode) && how != RDMAFS_SIZE_KEEP && size > i_size_read(inode) &&
	    !(inode->i_state & I_NEW) && !rdmafs_attr_grow_locked(inode))
		how = RDMAFS_SIZE_KEEP;
	if (!S_ISREG(inode->i_mode) || how == RDMAFS_SIZE_SET ||
	    (how == RDMAFS_SIZE_GROW && size > i_size_read(inode)))
		i_size_write(inode, size);
	if (how == RDMAFS_SIZE_SET)
		clear_bit(RDMAFS_I_UNSURE, &ri->flags);
}

/* Set when attributes expire; @changed: they differ from those before, or may. */
static void rdmafs_attr_timeo_locked(struct inode *inode, bool changed)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	const struct rdmafs_opts *opts = &RDMAFS_M(inode->i_sb)->opts;
	bool dir = S_ISDIR(inode->i_mode);
	unsigned long min = (dir ? opts->acdirmin : opts->acregmin) * HZ;
	unsigned long max = (dir ? opts->acdirmax : opts->acregmax) * HZ;

	lockdep_assert_held(&ri->lock);
	/* If the object is unchanged when its attributes have expired, they last twice as long. */
	if (changed || !ri->timeo)
		ri->timeo = min;
	else if (time_after_eq(jiffies, ri->expires))
		ri->timeo = min(ri->timeo * 2, max);
	ri->expires = jiffies + ri->timeo;
}

/* An object does not change its type: if it seems to, its inode is beyond use. */
static bool rdmafs_attr_same_type(struct inode *inode, const struct rfp_attr *attr)
{
	if (!((inode->i_mode ^ le32_to_cpu(attr->mode)) & S_IFMT))
		return true;
	set_bit(RDMAFS_I_STALE, &RDMAFS_I(inode)->flags);
	return false;
}

/**
 * rdmafs_attr_init - set the first attributes of a new inode
 * @inode: the inode, I_NEW
 * @attr:  checked attributes
 *
 * Context: process; takes rdmafs_inode.lock.
 */
void rdmafs_attr_init(struct inode *inode, const struct rfp_attr *attr)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	u64 now = rdmafs_attr_tick(inode);

	inode->i_mode = le32_to_cpu(attr->mode);
	rdmafs_attr_copy(inode, attr, RDMAFS_SIZE_SET);
	spin_lock_irq(&ri->lock);
	rdmafs_coh_first(&ri->coh, le64_to_cpu(attr->change), now);
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
 * Context: process; takes i_lock and rdmafs_inode.lock.
 */
void rdmafs_attr_fresh(struct inode *inode, const struct rfp_attr *attr, u64 clock)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	struct rdmafs_verdict v;
	enum rdmafs_pages old;
	bool acl = false;
	u64 now;

	if (!rdmafs_attr_same_type(inode, attr))
		return;
	spin_lock(&inode->i_lock);
	spin_lock_irq(&ri->lock);
	old = ri->coh.pages;
	now = rdmafs_attr_tick(inode);
	v = rdmafs_coh_fresh(&ri->coh, le64_to_cpu(attr->change), clock, now);
	trace_rdmafs_attrs(inode, false, attr, &v);
	rdmafs_pages_moved_locked(ri, old);
	if (v.changed) {
		ri->timeo = 0;
		rdmafs_seclabel_doubt(inode);
	}
	if (v.believe)
		rdmafs_attr_timeo_locked(inode, v.changed);
	else
		ri->expires = jiffies;
	if (v.use) {
		/* Attributes that a write has stashed are older. */
		clear_bit(RDMAFS_I_STASH, &ri->flags);
		acl = (READ_ONCE(ri->attr_flags) ^ le32_to_cpu(attr->flags)) & RFP_ATTR_ACL;
		rdmafs_attr_copy(inode, attr, v.size);
	}
	spin_unlock_irq(&ri->lock);
	spin_unlock(&inode->i_lock);
	if (acl || v.changed)
		forget_all_cached_acls(inode);
	rdmafs_seclabel_settle(inode);
}

/**
 * rdmafs_attr_own_begin - count a change of ours that is about to be sent
 * @inode: the object that it changes
 *
 * To be followed by one rdmafs_attr_own_end() or rdmafs_attr_own_end_atomic().
 *
 * Context: any; takes rdmafs_inode.lock.
 */
void rdmafs_attr_own_begin(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	unsigned long irq;

	spin_lock_irqsave(&ri->lock, irq);
	rdmafs_coh_own_begin(&ri->coh);
	spin_unlock_irqrestore(&ri->lock, irq);
}

/* A change of ours has ended; @attr came with its reply, NULL if no sound ones did. */
static struct rdmafs_verdict rdmafs_own_locked(struct rdmafs_inode *ri,
					       const struct rfp_attr *attr, u64 clock)
{
	struct inode *inode = &ri->netfs.inode;
	u64 now = rdmafs_attr_tick(inode);
	enum rdmafs_pages old = ri->coh.pages;
	struct rdmafs_edge told;
	struct rdmafs_verdict v;

	lockdep_assert_held(&ri->lock);
	if (attr) {
		told.before = le64_to_cpu(attr->before);
		told.after = le64_to_cpu(attr->change);
	}
	v = rdmafs_coh_own_end(&ri->coh, attr ? &told : NULL, clock, now);
	trace_rdmafs_attrs(inode, true, attr, &v);
	rdmafs_pages_moved_locked(ri, old);
	if (v.changed)
		ri->timeo = 0;
	/* A change by others that the reply hides may have been one of an ACL, or of the label. */
	if (v.changed || (attr && !attr->before)) {
		forget_all_cached_acls(inode);
		rdmafs_seclabel_doubt(inode);
	}
	if (v.use)
		rdmafs_attr_timeo_locked(inode, true);
	else if (!attr)
		ri->expires = jiffies;
	return v;
}

/**
 * rdmafs_attr_own_end - end a change of ours, and take over the attributes of its reply
 * @inode: the object that it changed
 * @attr:  checked attributes of the reply, NULL if there are none
 * @clock: op->clock of the request
 *
 * Context: process; takes i_lock and rdmafs_inode.lock.
 */
void rdmafs_attr_own_end(struct inode *inode, const struct rfp_attr *attr, u64 clock)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	struct rdmafs_verdict v;
	bool acl = false;

	if (attr && !rdmafs_attr_same_type(inode, attr))
		attr = NULL;
	spin_lock(&inode->i_lock);
	spin_lock_irq(&ri->lock);
	v = rdmafs_own_locked(ri, attr, clock);
	if (v.use) {
		acl = (READ_ONCE(ri->attr_flags) ^ le32_to_cpu(attr->flags)) & RFP_ATTR_ACL;
		rdmafs_attr_copy(inode, attr, v.size);
		clear_bit(RDMAFS_I_STASH, &ri->flags);
	}
	spin_unlock_irq(&ri->lock);
	spin_unlock(&inode->i_lock);
	if (acl)
		forget_all_cached_acls(inode);
	rdmafs_seclabel_settle(inode);
}

/**
 * rdmafs_attr_own_end_atomic - end a change of ours where i_lock can't be taken
 * @inode: the object that it changed
 * @attr:  checked attributes of the reply, NULL if there are none
 * @clock: op->clock of the request
 *
 * The attributes are stashed, and taken over when attributes are next looked at.
 *
 * Context: any; takes rdmafs_inode.lock.
 */
void rdmafs_attr_own_end_atomic(struct inode *inode, const struct rfp_attr *attr, u64 clock)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	unsigned long irq;

	spin_lock_irqsave(&ri->lock, irq);
	if (rdmafs_own_locked(ri, attr, clock).use) {
		ri->stash = *attr;
		ri->stash_clock = clock;
		set_bit(RDMAFS_I_STASH, &ri->flags);
	}
	spin_unlock_irqrestore(&ri->lock, irq);
}

/* Take over attributes that a write has stashed. */
static void rdmafs_attr_unstash(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);

	rdmafs_seclabel_settle(inode);
	if (!test_bit(RDMAFS_I_STASH, &ri->flags))
		return;
	spin_lock(&inode->i_lock);
	spin_lock_irq(&ri->lock);
	if (test_and_clear_bit(RDMAFS_I_STASH, &ri->flags) &&
	    rdmafs_attr_same_type(inode, &ri->stash))
		rdmafs_attr_copy(inode, &ri->stash,
				 rdmafs_coh_size(&ri->coh, ri->stash_clock));
	spin_unlock_irq(&ri->lock);
	spin_unlock(&inode->i_lock);
}

/**
 * rdmafs_resize_begin - keep attributes from changing the size, as we are about to
 * @inode: a regular file
 *
 * No attributes that arrive change the size until rdmafs_resize_end().
 *
 * Context: process; i_rwsem held exclusively, invalidate_lock for writing, and no direct I/O is
 * under way.
 */
void rdmafs_resize_begin(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);

	lockdep_assert_held_write(&inode->i_rwsem);
	lockdep_assert_held_write(&inode->i_mapping->invalidate_lock);
	spin_lock_irq(&ri->lock);
	rdmafs_coh_resize_begin(&ri->coh);
	spin_unlock_irq(&ri->lock);
}

/**
 * rdmafs_resize_end - set the size that the file has after a change of ours
 * @inode: the file
 * @own:   size that the change has made; negative: it failed
 * @size:  size that the server said with its reply: another client may have appended since
 *
 * Attributes that were asked for before this never change the size.
 *
 * Context: as rdmafs_resize_begin(); takes i_lock and rdmafs_inode.lock.
 */
void rdmafs_resize_end(struct inode *inode, loff_t own, loff_t size)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);

	lockdep_assert_held_write(&inode->i_rwsem);
	lockdep_assert_held_write(&inode->i_mapping->invalidate_lock);
	spin_lock(&inode->i_lock);
	spin_lock_irq(&ri->lock);
	if (own >= 0) {
		i_size_write(inode, min(own, size));
		/*
		 * Another client has appended.  The cookie of the reply may be from before that, so
		 * it is not by the cookie that pages become stale here.
		 */
		if (size > own && rdmafs_attr_grow_locked(inode))
			i_size_write(inode, size);
		clear_bit(RDMAFS_I_UNSURE, &ri->flags);
	}
	rdmafs_coh_resize_end(&ri->coh, rdmafs_attr_tick(inode));
	if (own < 0)
		ri->expires = jiffies;
	spin_unlock_irq(&ri->lock);
	spin_unlock(&inode->i_lock);
}

/**
 * rdmafs_attr_expire - have the server asked when attributes are next needed
 * @inode: the object
 *
 * Context: any; takes rdmafs_inode.lock.
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
 * rdmafs_attr_expired - tell whether attributes are too old to be used
 * @inode: the object
 *
 * Context: any, RCU walk included.
 * Return: true if the server must be asked.
 */
bool rdmafs_attr_expired(struct inode *inode)
{
	return time_after_eq(jiffies, READ_ONCE(RDMAFS_I(inode)->expires));
}

/* Send GETATTR, by the right of @open if it is not NULL; @told gets what the server has told. */
static int rdmafs_attr_ask(struct inode *inode, struct rdmafs_open *open, struct rfp_attr *told)
{
	struct rfp_getattr_req *req;
	const struct rfp_attr *attr;
	struct rdmafs_op *op;
	struct rfp_dec dec;
	int err;

	op = rdmafs_op_new(RDMAFS_S(inode->i_sb), RFP_GETATTR, sizeof(*req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	req = (struct rfp_getattr_req *)op->req;
	if (open)
		rdmafs_op_use_open(op, open, &req->stateid);
	rdmafs_access_ask(op, inode->i_sb);
	rfp_enc_fh(&op->enc, &RDMAFS_I(inode)->fh);
	err = rdmafs_op_run(op);
	if (err)
		goto out;
	rdmafs_op_reply(op, &dec, sizeof(struct rfp_rep));
	attr = rfp_dec_fixed(&dec, sizeof(*attr));
	err = -EIO;
	if (rfp_dec_end(&dec) || rdmafs_attr_check(inode->i_sb, attr))
		goto out;
	rdmafs_test_point("attr_ask_got", inode->i_ino);
	rdmafs_attr_fresh(inode, attr, op->clock);
	rdmafs_access_note(inode, op, attr);
	*told = *attr;
	err = 0;
out:
	rdmafs_op_put(op);
	return err;
}

/**
 * rdmafs_attr_told - ask the server for attributes, and take over what may be taken over
 * @inode: the object
 * @told:  gets what the server has told
 *
 * Context: process, waits killably for the server; no folio lock held.
 * Return: 0; -ESTALE: the object is gone; or another negative errno.
 */
int rdmafs_attr_told(struct inode *inode, struct rfp_attr *told)
{
	struct rdmafs_open *open = NULL;
	int err = -ESTALE;

	/*
	 * A file without a name may be found by an open only, and the server need
	 * not look for a file that it has open.
	 */
	if (S_ISREG(inode->i_mode))
		open = rdmafs_open_find(inode,
					RFP_OPEN_READ | RFP_OPEN_WRITE | RFP_OPEN_EXEC);
	if (open) {
		err = rdmafs_attr_ask(inode, open, told);
		rdmafs_open_put_sync(open);
	}
	if (!open || (err == -ESTALE && inode->i_nlink))
		err = rdmafs_attr_ask(inode, NULL, told);
	if (err == -ESTALE)
		set_bit(RDMAFS_I_STALE, &RDMAFS_I(inode)->flags);
	else if (!err)
		clear_bit(RDMAFS_I_STALE, &RDMAFS_I(inode)->flags);
	return err;
}

/**
 * rdmafs_attr_fetch - ask the server for attributes, and take them over
 * @inode:  the object
 * @access: gets RFP_ACCESS_* if the server was asked for them
 *
 * Context: as rdmafs_attr_told().
 * Return: likewise.
 */
int rdmafs_attr_fetch(struct inode *inode, u32 *access)
{
	struct rfp_attr told;
	int err = rdmafs_attr_told(inode, &told);

	if (!err)
		*access = le32_to_cpu(told.access);
	return err;
}

/**
 * rdmafs_revalidate - see to it that attributes are recent enough
 * @inode: the object
 * @force: ask the server in any case
 *
 * Context: process, waits killably for the server; no folio lock held.
 * Return: 0; -ESTALE: the object is gone; or another negative errno.
 */
int rdmafs_revalidate(struct inode *inode, bool force)
{
	u32 access;

	rdmafs_attr_unstash(inode);
	/* A removed directory is gone at the server, though it may be open here: do not ask. */
	if (S_ISDIR(inode->i_mode) && !inode->i_nlink)
		return 0;
	/*
	 * A lookup finds another object again by its name, but not the root: an export may
	 * have come back, so the server is asked for it.
	 */
	if (test_bit(RDMAFS_I_STALE, &RDMAFS_I(inode)->flags)) {
		if (inode != d_inode(inode->i_sb->s_root))
			return -ESTALE;
		force = true;
	}
	if (!force && !rdmafs_attr_expired(inode))
		return 0;
	trace_rdmafs_cache(inode, force ? RDMAFS_CACHE_ASK : RDMAFS_CACHE_EXPIRED, 0, 0);
	return rdmafs_attr_fetch(inode, &access);
}

/* Fill in what only statx(2), or only the kernel, asks for. */
static void rdmafs_getattr_more(struct inode *inode, struct kstat *stat, u32 request_mask)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	u32 flags = READ_ONCE(ri->attr_flags);

	/* The VFS takes this bit from a mount that does not set access times itself. */
	stat->result_mask |= STATX_ATIME;
	stat->attributes |= flags & RFP_ATTR_STATX;
	stat->attributes_mask |= (flags >> RFP_ATTR_TOLD_SHIFT) & RFP_ATTR_STATX;
	if (ri->btime.tv_sec || ri->btime.tv_nsec) {
		stat->btime = ri->btime;
		stat->result_mask |= STATX_BTIME;
	}
	/* O_DIRECT takes any address, offset and length (direct_part.c). */
	if ((request_mask & STATX_DIOALIGN) && S_ISREG(inode->i_mode)) {
		stat->dio_mem_align = 1;
		stat->dio_offset_align = 1;
		stat->result_mask |= STATX_DIOALIGN;
	}
}

/*
 * The change cookie of the attributes that were taken over last, for a server that exports the
 * mount.  A client that has seen it is shown no older attributes, nor older pages: these are
 * dropped before they are read.  It is not monotonic: it falls if the server's clock is set back.
 */
static u64 rdmafs_attr_cookie(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	u64 cookie;

	spin_lock_irq(&ri->lock);
	cookie = ri->coh.seen;
	spin_unlock_irq(&ri->lock);
	return cookie;
}

/**
 * rdmafs_getattr - fill in what stat(2) returns
 * @idmap:	 of the mount
 * @path:	 the object
 * @stat:	 filled in
 * @request_mask: STATX_*
 * @query_flags: AT_STATX_*
 *
 * Context: process, waits killably for writeback and the server.
 * Return: 0 or a negative errno.
 */
int rdmafs_getattr(struct mnt_idmap *idmap, const struct path *path, struct kstat *stat,
		   u32 request_mask, unsigned int query_flags)
{
	struct inode *inode = d_inode(path->dentry);
	bool force = query_flags & AT_STATX_FORCE_SYNC;
	unsigned long *flags = &RDMAFS_I(inode)->flags;
	bool ask = !(query_flags & AT_STATX_SYNC_TYPE) && rdmafs_attr_expired(inode);
	int err;

	/* Entries that may be read ahead are asked for by the caller's credentials. */
	err = rdmafs_idmap_tell(RDMAFS_M(inode->i_sb), idmap, false);
	if (err)
		return err;

	/*
	 * The server sets the times when it writes, so dirty data goes there
	 * first.  An error stays with the mapping, for fsync(2) and close(2).
	 */
	if (S_ISREG(inode->i_mode) && !(query_flags & AT_STATX_DONT_SYNC) &&
	    (request_mask & (STATX_CTIME | STATX_MTIME | STATX_SIZE | STATX_BLOCKS |
			     STATX_CHANGE_COOKIE)) &&
	    rdmafs_busy(inode)) {
		err = rdmafs_flush(inode);
		if (err)
			return err;
	}

	if (query_flags & AT_STATX_DONT_SYNC)
		rdmafs_attr_unstash(inode);
	else
		err = rdmafs_revalidate(inode, force);
	if (err)
		return err;
	if (ask && test_and_clear_bit(RDMAFS_I_WALKED, flags))
		rdmafs_ahead(path->dentry);
	if (test_bit(RDMAFS_I_AHEAD, flags) && test_and_clear_bit(RDMAFS_I_AHEAD, flags) && !ask)
		rdmafs_ahead_used(path->dentry);

	/* Before the attributes: those of a cookie may be newer than it is, but not older. */
	if (request_mask & STATX_CHANGE_COOKIE) {
		stat->change_cookie = rdmafs_attr_cookie(inode);
		stat->result_mask |= STATX_CHANGE_COOKIE;
	}
	generic_fillattr(idmap, request_mask, inode, stat);
	stat->blksize = RDMAFS_BLKSIZE;
	rdmafs_getattr_more(inode, stat, request_mask);
	return 0;
}
