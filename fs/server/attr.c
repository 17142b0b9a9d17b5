// SPDX-License-Identifier: GPL-2.0
/*
 * Attributes, and bringing changes to stable storage.
 *
 * Attributes are read with the server's own credentials: what is known about
 * an object must not depend on who asked first, because clients cache it.
 */
#include <linux/exportfs.h>
#include <linux/filelock.h>
#include <linux/fs.h>
#include <linux/posix_acl.h>
#include <linux/stat.h>
#include <linux/xattr.h>
#include "server.h"

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

/*
 * Exact, not "may have": each bit set in vain costs the client's ls a request
 * for each file.  ACLs come from the inode's cache after the first time; a
 * list of xattrs is short, and with the inode.
 */
static u32 rdmafsd_attr_flags(struct dentry *dentry)
{
	struct inode *inode = d_inode(dentry);
	ssize_t names = 0;
	u32 flags = 0;

	if (inode->i_op->listxattr)
		names = vfs_listxattr(dentry, NULL, 0);
	if (names && names != -EOPNOTSUPP)
		flags |= RFP_ATTR_XATTRS;
	if (IS_POSIXACL(inode) && !S_ISLNK(inode->i_mode) &&
	    (rdmafsd_has_acl(inode, ACL_TYPE_ACCESS) ||
	     (S_ISDIR(inode->i_mode) && rdmafsd_has_acl(inode, ACL_TYPE_DEFAULT))))
		flags |= RFP_ATTR_ACL;
	return flags;
}

/**
 * rdmafsd_attr_fill - attributes as they go on the wire
 * @inode: whose
 * @stat:  as the file system tells them
 * @flags: RFP_ATTR_*
 * @attr:  gets them
 */
void rdmafsd_attr_fill(struct inode *inode, const struct kstat *stat, u32 flags,
		       struct rfp_attr *attr)
{
	*attr = (struct rfp_attr){
		.ino = cpu_to_le64(stat->ino),
		.change = cpu_to_le64(rdmafsd_cookie_from(inode, stat)),
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
		.flags = cpu_to_le32(flags),
	};
	if (stat->result_mask & STATX_BTIME)
		attr->btime = rdmafsd_time(&stat->btime);
}

/**
 * rdmafsd_getattr - attributes of an object
 * @exp:    the export
 * @dentry: the object, positive
 * @attr:   gets them
 *
 * Return: 0 or a negative errno.
 */
int rdmafsd_getattr(struct rdmafsd_export *exp, struct dentry *dentry, struct rfp_attr *attr)
{
	struct path path = { .mnt = exp->path.mnt, .dentry = dentry };
	const struct cred *saved;
	struct kstat stat;
	int err;

	saved = override_creds(rdmafsd_own_cred);
	err = vfs_getattr(&path, &stat, RDMAFSD_STATX, AT_STATX_SYNC_AS_STAT);
	if (!err)
		rdmafsd_attr_fill(d_inode(dentry), &stat, rdmafsd_attr_flags(dentry), attr);
	revert_creds(saved);
	return err;
}

/* By fsync, for file systems that write inodes in no other way, as btrfs. */
static int rdmafsd_commit_fsync(struct rdmafsd_export *exp, struct dentry *dentry)
{
	struct path path = { .mnt = exp->path.mnt, .dentry = dentry };
	struct super_block *sb = dentry->d_sb;
	struct file *file;
	int err;

	/* What can't be opened without side effects has to go with all the rest. */
	if (!d_is_reg(dentry) && !d_is_dir(dentry)) {
		down_read(&sb->s_umount);
		err = sync_filesystem(sb);
		up_read(&sb->s_umount);
		return err;
	}
	file = dentry_open(&path, O_RDONLY | O_LARGEFILE, rdmafsd_own_cred);
	if (IS_ERR(file))
		return PTR_ERR(file);
	err = file->f_op->fsync ? vfs_fsync(file, 0) : 0;
	rdmafsd_file_close(file);
	return err;
}

/**
 * rdmafsd_commit - bring an object's metadata to stable storage
 * @exp:    the export
 * @dentry: the object, positive; nothing of it locked by the caller
 *
 * Return: 0 or a negative errno.
 */
int rdmafsd_commit(struct rdmafsd_export *exp, struct dentry *dentry)
{
	struct inode *inode = d_inode(dentry);
	struct super_block *sb = inode->i_sb;

	/* What has no name left does not outlive a crash: nothing to keep. */
	if (exp->volatile_fs || !inode->i_nlink)
		return 0;
	if (sb->s_export_op->commit_metadata)
		return sb->s_export_op->commit_metadata(inode);
	if (sb->s_op->write_inode)
		return sync_inode_metadata(inode, 1);
	return rdmafsd_commit_fsync(exp, dentry);
}

/*
 * As ftruncate() does it: set-id bits and capabilities go, times move even if
 * the size does not.  The right to write was checked when the file was opened,
 * but whoever writes need not be allowed to change the mode: hence ATTR_FORCE,
 * which lets the bits be removed.
 */
static int rdmafsd_truncate_locked(struct dentry *dentry, struct file *file, loff_t size,
				   unsigned int extra, struct inode **delegated)
{
	struct iattr ia = {
		.ia_valid = ATTR_SIZE | ATTR_MTIME | ATTR_CTIME | ATTR_FILE | extra,
		.ia_size = size,
		.ia_file = file,
	};

	ia.ia_valid |= setattr_should_drop_suidgid(&nop_mnt_idmap, d_inode(dentry)) |
		       ATTR_KILL_PRIV | ATTR_FORCE;
	return notify_change(&nop_mnt_idmap, dentry, &ia, delegated);
}

/**
 * rdmafsd_truncate_file - set the size of an open file
 * @rq:	   the request, with the caller's credentials on
 * @file:  the file, open for writing
 * @size:  new size
 * @extra: ATTR_OPEN, or 0
 *
 * Return: 0 or a negative errno.
 */
int rdmafsd_truncate_file(struct rdmafsd_rq *rq, struct file *file, loff_t size,
			  unsigned int extra)
{
	struct dentry *dentry = file->f_path.dentry;
	struct inode *inode = d_inode(dentry);
	struct inode *delegated = NULL;
	int err;

	if (IS_APPEND(inode))
		return -EPERM;
	err = rdmafsd_rq_want_write(rq);
	if (err)
		return err;
	do {
		inode_lock(inode);
		err = rdmafsd_truncate_locked(dentry, file, size, extra, &delegated);
		inode_unlock(inode);
	} while (delegated && !(err = break_deleg_wait(&delegated)));
	rdmafsd_rq_drop_write(rq);
	return err;
}
