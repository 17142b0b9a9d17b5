// SPDX-License-Identifier: GPL-2.0
/*
 * Flags that lsattr(1) shows and chattr(1) sets, extent size hints and project ids:
 * FS_IOC_GETFLAGS and its kin, which fs/ioctl.c makes calls of fileattr_get and fileattr_set of.
 *
 * They are passed through to the server, and nothing is cached but what attributes tell for
 * statx(2) (attr.c).  The inode here gets none of S_IMMUTABLE, S_APPEND, S_SYNC: the VFS would
 * refuse by them for as long as attributes are believed, though another client has removed the
 * flag.  The server enforces all flags, at each request.  So they hold for files that are open
 * already, as well: what an open file gets into the page cache after it was made immutable is
 * refused when it is written back.
 *
 * Before it calls here, the VFS checks the caller against the owner that the client sees.  So where
 * an export maps all callers to one user, only a caller with CAP_FOWNER gets as far as this.
 */
#include <linux/fs.h>
#include <linux/fileattr.h>
#include "client.h"
#include "op.h"

/* The selectors of @fa are the caller's, and stay. */
static int rdmafs_fileattr_take(struct rdmafs_op *op, struct fileattr *fa)
{
	const struct rfp_getflags_rep *rep;
	struct rfp_dec dec;

	rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
	if (rfp_dec_end(&dec) || (le32_to_cpu(rep->attr.flags) & ~RFP_FLAGS_ALL) ||
	    (le32_to_cpu(rep->attr.xflags) & ~RFP_XFLAGS_ALL))
		return -EIO;
	fa->flags = le32_to_cpu(rep->attr.flags);
	fa->fsx_xflags = le32_to_cpu(rep->attr.xflags);
	fa->fsx_extsize = le32_to_cpu(rep->attr.extsize);
	fa->fsx_nextents = le32_to_cpu(rep->attr.nextents);
	fa->fsx_projid = le32_to_cpu(rep->attr.projid);
	fa->fsx_cowextsize = le32_to_cpu(rep->attr.cowextsize);
	return 0;
}

/**
 * rdmafs_fileattr_get - get chattr's flags and their kin: inode_operations.fileattr_get
 * @dentry: the object
 * @fa:     gets them
 *
 * Context: process, may sleep; the wait is killable.
 * Return: 0; -ENOTTY: the server's file system has none; or another negative errno.
 */
int rdmafs_fileattr_get(struct dentry *dentry, struct fileattr *fa)
{
	struct rdmafs_op *op;
	int err;

	op = rdmafs_op_new(RDMAFS_S(dentry->d_sb), RFP_GETFLAGS, sizeof(struct rfp_req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	rfp_enc_fh(&op->enc, &RDMAFS_I(d_inode(dentry))->fh);
	err = rdmafs_op_run(op);
	if (!err)
		err = rdmafs_fileattr_take(op, fa);
	rdmafs_op_put(op);
	return err == -EOPNOTSUPP ? -ENOTTY : err;
}

static void rdmafs_fileattr_fill(struct rfp_setflags_req *req, const struct fileattr *fa)
{
	if (fa->flags_valid) {
		req->valid = cpu_to_le32(RFP_SETFLAGS_FLAGS);
		req->attr.flags = cpu_to_le32(fa->flags);
		return;
	}
	req->valid = cpu_to_le32(RFP_SETFLAGS_FSX);
	req->attr.xflags = cpu_to_le32(fa->fsx_xflags);
	req->attr.extsize = cpu_to_le32(fa->fsx_extsize);
	req->attr.projid = cpu_to_le32(fa->fsx_projid);
	req->attr.cowextsize = cpu_to_le32(fa->fsx_cowextsize);
}

/**
 * rdmafs_fileattr_set - set chattr's flags or their kin: inode_operations.fileattr_set
 * @idmap:  of the mount
 * @dentry: the object
 * @fa:     what is to be set, completed by what vfs_fileattr_set() has just asked for
 *
 * The server decides whether it is allowed.
 *
 * Context: process, i_rwsem held exclusively; waits killably for writeback and the server.
 * Return: 0; -EINTR if killed, and the change may be made yet; or another negative errno.
 */
int rdmafs_fileattr_set(struct mnt_idmap *idmap, struct dentry *dentry, struct fileattr *fa)
{
	struct inode *inode = d_inode(dentry);
	struct rdmafs_op *op;
	int err;

	err = rdmafs_idmap_tell(RDMAFS_M(inode->i_sb), idmap, false);
	if (!err && rdmafs_cred_reaches(idmap)) {
		/* As in rdmafs_idmap_may_write(), but the VFS asks for the owner alone. */
		err = rdmafs_revalidate(inode, true);
		if (!err && !inode_owner_or_capable(idmap, inode))
			err = -EPERM;
	}
	if (err)
		return err;
	/* Data written before is in the file, although that takes no more from now on. */
	if (S_ISREG(inode->i_mode) && (fa->flags & (FS_IMMUTABLE_FL | FS_APPEND_FL))) {
		err = rdmafs_flush(inode);
		if (err)
			return err;
	}
	op = rdmafs_op_new(RDMAFS_S(inode->i_sb), RFP_SETFLAGS, sizeof(struct rfp_setflags_req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	rdmafs_fileattr_fill((struct rfp_setflags_req *)op->req, fa);
	rfp_enc_fh(&op->enc, &RDMAFS_I(inode)->fh);
	err = rdmafs_change_run(op, inode);
	rdmafs_op_put(op);
	return err;
}
