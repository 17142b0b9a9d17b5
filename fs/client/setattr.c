// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of attributes that a program asks for: their modes, owners, times and sizes.
 *
 * The server decides whether a change is allowed, and its reply has the attributes after it, which
 * attr.c takes over.  Data that was written before is written back first: later, it would set
 * another time, and take set-id bits away.  A change of the size keeps pages and mappings as they
 * are until the server has agreed.
 *
 * Locks: inode->i_rwsem, which the VFS holds; for a change of the size invalidate_lock, too.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/posix_acl.h>
#include "client.h"
#include "op.h"
#include "open.h"
#include "transport/points.h"
#include "unanswered.h"

static void rdmafs_put_time(struct rfp_time *t, const struct timespec64 *ts)
{
	t->sec = cpu_to_le64(ts->tv_sec);
	t->nsec = cpu_to_le32(ts->tv_nsec);
}

/* On the wire ids are those of the file system, which the VFS has made sure that there are. */
static void rdmafs_setattr_fill(struct mnt_idmap *idmap, struct rfp_setattr_req *req,
				const struct iattr *attr)
{
	unsigned int ia = attr->ia_valid;
	u32 valid = 0;
	kuid_t uid;
	kgid_t gid;

	/* The VFS has guessed the mode without these bits from a cached one: the server knows. */
	if (ia & (ATTR_KILL_SUID | ATTR_KILL_SGID)) {
		valid |= RFP_SET_KILL_SUID;
		if (ia & ATTR_KILL_SGID)
			valid |= RFP_SET_KILL_SGID;
		ia &= ~ATTR_MODE;
	}
	if (ia & ATTR_MODE) {
		valid |= RFP_SET_MODE;
		req->mode = cpu_to_le32(attr->ia_mode & S_IALLUGO);
	}
	if (ia & ATTR_UID) {
		valid |= RFP_SET_UID;
		uid = from_vfsuid(idmap, &init_user_ns, attr->ia_vfsuid);
		req->uid = cpu_to_le32(from_kuid(&init_user_ns, uid));
	}
	if (ia & ATTR_GID) {
		valid |= RFP_SET_GID;
		gid = from_vfsgid(idmap, &init_user_ns, attr->ia_vfsgid);
		req->gid = cpu_to_le32(from_kgid(&init_user_ns, gid));
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

/*
 * Send SETATTR and take over the attributes of its reply; @size gets the size in them.  @lost: with
 * a size, the answer was lost with the session.
 */
static int rdmafs_setattr_ask(struct mnt_idmap *idmap, struct inode *inode, struct iattr *attr,
			      loff_t *size, bool *lost)
{
	const struct rfp_attr *rattr = NULL;
	struct rfp_setattr_req *req;
	struct rdmafs_open *open;
	struct rdmafs_op *op;
	struct rfp_dec dec;
	int err;

	*lost = false;
	op = rdmafs_op_new(RDMAFS_S(inode->i_sb), RFP_SETATTR, sizeof(*req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	req = (struct rfp_setattr_req *)op->req;
	rdmafs_setattr_fill(idmap, req, attr);
	/* ftruncate(2): the file is open for writing, whatever the permissions are now. */
	if ((attr->ia_valid & ATTR_SIZE) && (attr->ia_valid & ATTR_FILE)) {
		open = rdmafs_file_open(attr->ia_file);
		if (open && (open->flags & RFP_OPEN_WRITE))
			rdmafs_op_use_open(op, open, &req->stateid);
	} else if ((attr->ia_valid & ATTR_FORCE) && !(attr->ia_valid & ATTR_SIZE)) {
		/*
		 * A write takes set-id bits away, by the right of an open for writing.  truncate(2)
		 * does so, too, by the right of its caller: the open may be another user's.
		 */
		open = rdmafs_open_find(inode, RFP_OPEN_WRITE);
		if (open) {
			rdmafs_op_use_open(op, open, &req->stateid);
			rdmafs_open_put_sync(open);
		}
	}
	rfp_enc_fh(&op->enc, &RDMAFS_I(inode)->fh);

	if (attr->ia_valid & ATTR_SIZE) {
		op->fence = inode;
		/* It would cut off what another client has written behind the new end. */
		rdmafs_op_not_blindly(op);
	}
	rdmafs_attr_own_begin(inode);
	err = rdmafs_test_fails("setattr_send", inode->i_ino) ? -EPERM : rdmafs_op_run(op);
	*lost = err && rdmafs_op_unanswered(op);
	rdmafs_test_point("setattr_send_end", inode->i_ino);
	if (!err) {
		rdmafs_op_reply(op, &dec, sizeof(struct rfp_rep));
		rattr = rfp_dec_fixed(&dec, sizeof(*rattr));
		if (rfp_dec_end(&dec) || rdmafs_attr_check(inode->i_sb, rattr)) {
			rattr = NULL;
			err = -EIO;
		} else {
			*size = le64_to_cpu(rattr->size);
		}
	}
	rdmafs_attr_own_end(inode, rattr, op->clock);
	rdmafs_op_put(op);
	return err;
}

/* Likewise, and once more if the answer was lost, and nothing was changed. */
static int rdmafs_setattr_send(struct mnt_idmap *idmap, struct inode *inode, struct iattr *attr,
			       loff_t *size)
{
	struct rdmafs_resolve r;
	bool lost;
	int err;

	rdmafs_resolve_begin(&r, NULL, NULL, inode);
	do {
		err = rdmafs_setattr_ask(idmap, inode, attr, size, &lost);
	} while (lost && rdmafs_resolve_size(&r, attr->ia_size, &err));
	if (lost && !err)
		*size = attr->ia_size;
	return err;
}

/*
 * Change the size of a file.  The VFS holds i_rwsem exclusively; no direct I/O is under way, nor
 * a change that a killed task has left (fence.c).
 */
static int rdmafs_setattr_size(struct mnt_idmap *idmap, struct inode *inode, struct iattr *attr)
{
	struct address_space *mapping = inode->i_mapping;
	loff_t size = 0, old, new = attr->ia_size;
	int err;

	lockdep_assert_held_write(&inode->i_rwsem);
	/*
	 * invalidate_lock is held from the flush until pages are dropped, for
	 * two reasons.  No page is read in while the sizes here and at the server
	 * differ: what a read gets behind the new end would be seen when the
	 * file grows.  And no data that is cut off is written after the SETATTR:
	 * all pages are clean before it, and mappings can't make them dirty
	 * meanwhile.
	 * Pages are dropped when the server has agreed: if it refuses, they are
	 * still what the file holds.
	 */
	if (down_write_killable(&mapping->invalidate_lock))
		return -EINTR;
	err = rdmafs_flush(inode);
	if (err)
		goto out;
	old = i_size_read(inode);
	if (new > old) {
		err = rdmafs_leave_hole(inode, old);
		if (err)
			goto out;
	}
	rdmafs_resize_begin(inode);
	err = rdmafs_setattr_send(idmap, inode, attr, &size);
	rdmafs_resize_end(inode, err ? -1 : new, size);
	if (!err)
		truncate_pagecache(inode, new);
	else
		rdmafs_change_unknown(inode);
out:
	filemap_invalidate_unlock(mapping);
	return err;
}

/* Check once more what vfs_truncate() and notify_change() have checked before they came here. */
static int rdmafs_setattr_reach(struct mnt_idmap *idmap, struct inode *inode, unsigned int ia)
{
	int err;

	if ((ia & ATTR_SIZE) && !(ia & ATTR_FILE)) {
		err = inode_permission(idmap, inode, MAY_WRITE);
		if (err)
			return err;
	}
	err = may_setattr(idmap, inode, ia);
	if (err)
		return err;
	if (!(ia & ATTR_UID) && !vfsuid_valid(i_uid_into_vfsuid(idmap, inode)))
		return -EOVERFLOW;
	if (!(ia & ATTR_GID) && !vfsgid_valid(i_gid_into_vfsgid(idmap, inode)))
		return -EOVERFLOW;
	return 0;
}

/*
 * May the machine's root change the attributes by this id-mapped mount?  He may do so at the server
 * in any case, which does not know the map.  So this asks it for the attributes.  It takes the
 * set-group-id bit out of a mode as a file system here does; the server takes file capabilities
 * away.  Others are left to the server.
 */
static int rdmafs_setattr_check(struct mnt_idmap *idmap, struct dentry *dentry,
				struct iattr *attr)
{
	struct inode *inode = d_inode(dentry);
	struct iattr check = *attr;
	int err;

	/* A write takes set-id bits away, whoever writes. */
	if (!rdmafs_cred_reaches(idmap) ||
	    ((attr->ia_valid & ATTR_FORCE) && !(attr->ia_valid & ATTR_SIZE)))
		return 0;
	check.ia_valid &= ~ATTR_KILL_PRIV;
	err = rdmafs_revalidate(inode, true);
	if (!err)
		err = rdmafs_setattr_reach(idmap, inode, attr->ia_valid);
	if (!err)
		err = setattr_prepare(idmap, dentry, &check);
	if (!err && (check.ia_valid & ATTR_MODE))
		attr->ia_mode = check.ia_mode;
	return err;
}

/**
 * rdmafs_setattr - change attributes: chmod(2), chown(2), truncate(2), utimensat(2)
 * @idmap:  of the mount
 * @dentry: the object
 * @attr:   what is to be changed
 *
 * The server decides whether it is allowed.
 *
 * Context: process, i_rwsem held, exclusively unless the VFS takes away set-id bits before a direct
 * write (rdmafs_dio_privs()); waits killably for writeback and the server.
 * Return: 0; -EINTR if killed, and the change may be made yet; or another negative errno.
 */
int rdmafs_setattr(struct mnt_idmap *idmap, struct dentry *dentry, struct iattr *attr)
{
	struct inode *inode = d_inode(dentry);
	loff_t size;
	int err;

	err = rdmafs_idmap_tell(RDMAFS_M(inode->i_sb), idmap, false);
	if (!err)
		err = rdmafs_setattr_check(idmap, dentry, attr);
	if (err)
		return err;
	if (attr->ia_valid & ATTR_SIZE) {
		if (!S_ISREG(inode->i_mode))
			return S_ISDIR(inode->i_mode) ? -EISDIR : -EINVAL;
		err = inode_newsize_ok(inode, attr->ia_size);
		if (err)
			return err;
		err = rdmafs_dio_wait(inode);
		if (!err)
			err = rdmafs_fence_wait(inode);
		if (err)
			return err;
		return rdmafs_setattr_size(idmap, inode, attr);
	}
	/* Written back later, dirty data would set another time, and take set-id bits away. */
	if (S_ISREG(inode->i_mode)) {
		err = rdmafs_flush(inode);
		if (err)
			return err;
	}
	err = rdmafs_setattr_send(idmap, inode, attr, &size);
	if (!err && (attr->ia_valid & ATTR_MODE))
		forget_all_cached_acls(inode);
	return err;
}
