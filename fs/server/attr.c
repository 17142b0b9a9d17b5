// SPDX-License-Identifier: GPL-2.0
/*
 * Attributes, and setting a size.
 *
 * Attributes are read with the server's own credentials: clients cache them, so they must not
 * depend on which caller asked first.
 */
#include <linux/exportfs.h>
#include <linux/filelock.h>
#include <linux/fs.h>
#include <linux/posix_acl.h>
#include <linux/stat.h>
#include <linux/swab.h>
#include <linux/xattr.h>
#include <uapi/linux/btrfs_tree.h>
#include "request.h"
#include "opened.h"
#include "transport/points.h"

static struct rfp_time rdmafsd_time(const struct timespec64 *ts)
{
	return (struct rfp_time){
		.sec = cpu_to_le64(ts->tv_sec),
		.nsec = cpu_to_le32(ts->tv_nsec),
	};
}

static bool rdmafsd_has_acl(struct inode *inode, int type)
{
	struct posix_acl *acl = get_inode_acl(inode, type);

	if (IS_ERR(acl))
		return PTR_ERR(acl) != -EOPNOTSUPP;
	posix_acl_release(acl);
	return acl;
}

/* A longer list of names is taken to hold an attribute that is offered. */
#define RDMAFSD_NAMES_MAX	256

/*
 * Does the object have an xattr that a client may ask for?  The names of a security module,
 * which are on every file, do not count unless they are offered; and if that is for security
 * labels, these have a flag of their own, so that clients without such a module ask no more.
 */
static u32 rdmafsd_has_xattrs(const struct rdmafsd_export *exp, struct dentry *dentry)
{
	const u32 all = RFP_ATTR_XATTRS | (exp->p.seclabel ? RFP_ATTR_LABEL : 0);
	char names[RDMAFSD_NAMES_MAX];
	ssize_t len, at;
	u32 flags = 0;

	if (!d_inode(dentry)->i_op->listxattr)
		return 0;
	len = vfs_listxattr(dentry, names, sizeof(names));
	if (len < 0)
		return len != -EOPNOTSUPP ? all : 0;
	for (at = 0; at < len && flags != all; at += strnlen(names + at, len - at) + 1) {
		if (rdmafsd_seclabel_is(exp, names + at))
			flags |= RFP_ATTR_LABEL;
		else if (rdmafsd_xattr_offered(exp, names + at))
			flags |= RFP_ATTR_XATTRS;
	}
	return flags;
}

/*
 * The flags are exact, not "may have": each bit set in vain costs the client's ls a request for
 * each file.  They are cheap: ACLs come from the inode's cache after the first time, and a list
 * of xattrs is short and stored with the inode.
 */
static u32 rdmafsd_attr_flags(const struct rdmafsd_export *exp, struct dentry *dentry)
{
	struct inode *inode = d_inode(dentry);
	u32 flags = rdmafsd_has_xattrs(exp, dentry);

	if (IS_POSIXACL(inode) && !S_ISLNK(inode->i_mode) &&
	    (rdmafsd_has_acl(inode, ACL_TYPE_ACCESS) ||
	     (S_ISDIR(inode->i_mode) && rdmafsd_has_acl(inode, ACL_TYPE_DEFAULT))))
		flags |= RFP_ATTR_ACL;
	if (rdmafsd_is_crossing(exp, dentry))
		flags |= RFP_ATTR_CROSSING;
	return flags;
}

/*
 * Make a number that no other object of the file system has.  Each subvolume of btrfs has inode
 * numbers of its own.  So the inode number is mixed with the subvolume's number, except in the
 * top subvolume.
 */
static u64 rdmafsd_ino(const struct kstat *stat)
{
	if (!(stat->result_mask & STATX_SUBVOL) || stat->subvol == BTRFS_FS_TREE_OBJECTID)
		return stat->ino;
	/* Both numbers begin small: so one fills the result from below, the other from above. */
	return stat->ino ^ swab64(stat->subvol);
}

static_assert(RFP_ATTR_STATX ==
	      (STATX_ATTR_COMPRESSED | STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND |
	       STATX_ATTR_NODUMP | STATX_ATTR_ENCRYPTED | STATX_ATTR_VERITY));

/* The flags of chattr that the file system has told of, and which of them it can tell. */
static u32 rdmafsd_attr_statx(const struct kstat *stat)
{
	return (stat->attributes & RFP_ATTR_STATX) |
	       (stat->attributes_mask & RFP_ATTR_STATX) << RFP_ATTR_TOLD_SHIFT;
}

/**
 * rdmafsd_attr_fill - put attributes into the form that goes on the wire
 * @inode:  the object
 * @stat:   its attributes, as the file system tells them
 * @cookie: its change cookie, of rdmafsd_cookie_from() @stat
 * @flags:  RFP_ATTR_XATTRS, _ACL, _CROSSING and _LABEL, as far as they hold; other bits mean
 *          nothing
 * @attr:   gets the attributes
 *
 * Context: any.
 */
void rdmafsd_attr_fill(struct inode *inode, const struct kstat *stat, u64 cookie, u32 flags,
		       struct rfp_attr *attr)
{
	*attr = (struct rfp_attr){
		.ino = cpu_to_le64(rdmafsd_ino(stat)),
		.change = cpu_to_le64(cookie),
		.size = cpu_to_le64(stat->size),
		.blocks = cpu_to_le64(stat->blocks),
		.atime = rdmafsd_time(&stat->atime),
		.mtime = rdmafsd_time(&stat->mtime),
		.ctime = rdmafsd_time(&stat->ctime),
		.mode = cpu_to_le32(stat->mode),
		.nlink = cpu_to_le32(stat->nlink),
		.uid = cpu_to_le32(from_kuid_munged(&init_user_ns, stat->uid)),
		.gid = cpu_to_le32(from_kgid_munged(&init_user_ns, stat->gid)),
		.rdev_major = cpu_to_le32(MAJOR(stat->rdev)),
		.rdev_minor = cpu_to_le32(MINOR(stat->rdev)),
		.blksize = cpu_to_le32(stat->blksize),
		.gen = cpu_to_le32(inode->i_generation),
		.flags = cpu_to_le32((flags & (RFP_ATTR_XATTRS | RFP_ATTR_ACL |
					       RFP_ATTR_CROSSING | RFP_ATTR_LABEL)) |
				     rdmafsd_attr_statx(stat)),
	};
	if (stat->result_mask & STATX_BTIME)
		attr->btime = rdmafsd_time(&stat->btime);
}

/**
 * rdmafsd_getattr - read the attributes of an object
 * @exp:    the export
 * @dentry: the object, positive
 * @attr:   gets the attributes
 *
 * Reads with the server's own credentials.  An orphan's link count is told without the name that
 * the server has given it.
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno of vfs_getattr().
 */
int rdmafsd_getattr(struct rdmafsd_export *exp, struct dentry *dentry, struct rfp_attr *attr)
{
	struct path path = { .mnt = exp->path.mnt, .dentry = dentry };
	struct inode *inode = d_inode(dentry);
	u64 base = rdmafsd_cookie_base(inode);
	const struct cred *saved;
	struct kstat stat;
	int err;

	saved = override_creds(rdmafsd_own_cred);
	err = vfs_getattr(&path, &stat, RDMAFSD_STATX, AT_STATX_SYNC_AS_STAT);
	rdmafs_test_point("getattr_flags", inode->i_ino);
	if (!err) {
		if (stat.nlink && rdmafsd_is_orphan(exp, inode))
			stat.nlink--;
		rdmafsd_attr_fill(inode, &stat, rdmafsd_cookie_from(inode, base, &stat),
				  rdmafsd_attr_flags(exp, dentry), attr);
	}
	revert_creds(saved);
	return err;
}

/**
 * rdmafsd_access - find out what the current credentials allow
 * @exp:   the export
 * @inode: the object
 *
 * Context: process, may sleep.
 * Return: RFP_ACCESS_*.
 */
u32 rdmafsd_access(const struct rdmafsd_export *exp, struct inode *inode)
{
	struct mnt_idmap *idmap = rdmafsd_idmap(exp);
	u32 access = RFP_ACCESS_TOLD;

	if (!inode_permission(idmap, inode, MAY_READ))
		access |= RFP_ACCESS_READ;
	if (!inode_permission(idmap, inode, MAY_WRITE))
		access |= RFP_ACCESS_WRITE;
	if (!inode_permission(idmap, inode, MAY_EXEC))
		access |= RFP_ACCESS_EXEC;
	return access;
}

/**
 * rdmafsd_deleg_end - turn a delegation that was in the way into an errno
 * @delegated: the inode that a function of the VFS has left there, or NULL; put, NULL after this
 * @err:       the return value of that function
 *
 * The VFS has asked the holder of the delegation to return it.  The server does not wait for
 * that: the holder may take any time, and the thread is needed for others.  The client sends the
 * request again.
 *
 * Context: process, may sleep.
 * Return: @err; -EAGAIN if there is a delegation.
 */
int rdmafsd_deleg_end(struct inode **delegated, int err)
{
	if (!*delegated)
		return err;
	iput(*delegated);
	*delegated = NULL;
	return -EAGAIN;
}

/**
 * rdmafsd_truncate - set the size of a file
 * @rq:     the request, with the caller's credentials on
 * @dentry: the file
 * @file:   the same file if it is open for writing, else NULL
 * @size:   new size in bytes
 * @extra:  ATTR_OPEN, or 0
 *
 * Works as truncate() and, with @file, as ftruncate(): set-id bits and capabilities go, and with
 * @file the times move even if the size stays.  The caller of this function has checked that the
 * user may write.  The user need not be allowed to change the mode: hence ATTR_FORCE, which lets
 * the bits be removed.
 *
 * Context: process, may sleep; takes the mount's write counts and the file's i_rwsem.
 * Return: 0; -EAGAIN: the client is to come again, see rdmafsd_deleg_end(); or another negative
 * errno.
 */
int rdmafsd_truncate(struct rdmafsd_rq *rq, struct dentry *dentry, struct file *file, loff_t size,
		     unsigned int extra)
{
	struct mnt_idmap *idmap = rdmafsd_idmap(rq->exp);
	struct inode *inode = d_inode(dentry);
	struct inode *delegated = NULL;
	struct iattr ia = {
		.ia_valid = ATTR_SIZE | ATTR_KILL_PRIV | ATTR_FORCE | extra,
		.ia_size = size,
	};
	int err;

	if (IS_APPEND(inode))
		return -EPERM;
	if (file) {
		ia.ia_valid |= ATTR_FILE | ATTR_MTIME | ATTR_CTIME;
		ia.ia_file = file;
	}
	err = rdmafsd_rq_want_write(rq);
	if (err)
		return err;
	inode_lock(inode);
	ia.ia_valid |= setattr_should_drop_suidgid(idmap, inode);
	err = notify_change(idmap, dentry, &ia, &delegated);
	inode_unlock(inode);
	rdmafsd_rq_drop_write(rq);
	return rdmafsd_deleg_end(&delegated, err);
}
