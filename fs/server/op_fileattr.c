// SPDX-License-Identifier: GPL-2.0
/*
 * GETFLAGS and SETFLAGS: what lsattr(1) shows and chattr(1) sets, extent size hints, project ids.
 *
 * vfs_fileattr_set() checks the caller's rights under the caller's credentials: ownership,
 * CAP_LINUX_IMMUTABLE for what makes an object immutable or append-only, and which values make
 * sense.  A client's root has that capability only if the export does not squash root (cred.c).
 * The file system refuses what it does not have.  Only values that the protocol defines get there.
 *
 * A caller's user namespace is known to the client's kernel alone, which refuses a change of the
 * project in any but the initial one.
 */
#include <linux/fs.h>
#include <linux/fileattr.h>
#include "request.h"
#include "opened.h"

static int rdmafsd_op_getflags(struct rdmafsd_rq *rq)
{
	struct fileattr fa = {};
	struct rfp_getflags_rep *rep;
	int err;

	err = vfs_fileattr_get(rq->obj[0], &fa);
	if (err)
		return err;
	rep = rdmafsd_rep(rq, sizeof(*rep));
	rep->attr.flags = cpu_to_le32(fa.flags & RFP_FLAGS_ALL);
	rep->attr.xflags = cpu_to_le32(fa.fsx_xflags & RFP_XFLAGS_ALL);
	rep->attr.extsize = cpu_to_le32(fa.fsx_extsize);
	rep->attr.nextents = cpu_to_le32(fa.fsx_nextents);
	rep->attr.projid = cpu_to_le32(fa.fsx_projid);
	rep->attr.cowextsize = cpu_to_le32(fa.fsx_cowextsize);
	return 0;
}

const struct rdmafsd_op rdmafsd_getflags_op = {
	RDMAFSD_FIXED(struct rfp_req),
	.parts = { RDMAFSD_PART_FH },
	.as = RDMAFSD_AS_CALLER,
	.flags = RDMAFS_REPLY_NOCACHE,
	.fn = rdmafsd_op_getflags,
};

static void rdmafsd_fileattr_from(const struct rfp_setflags_req *sreq, struct fileattr *fa)
{
	const struct rfp_fileattr *attr = &sreq->attr;

	if (le32_to_cpu(sreq->valid) == RFP_SETFLAGS_FLAGS) {
		fileattr_fill_flags(fa, le32_to_cpu(attr->flags));
		return;
	}
	fileattr_fill_xflags(fa, le32_to_cpu(attr->xflags));
	fa->fsx_extsize = le32_to_cpu(attr->extsize);
	fa->fsx_projid = le32_to_cpu(attr->projid);
	fa->fsx_cowextsize = le32_to_cpu(attr->cowextsize);
}

/* A change that the file system might make, but that clients could not live with. */
static int rdmafsd_fileattr_allowed(struct inode *inode, const struct fileattr *fa)
{
	/* They tell names from each other by their bytes. */
	if (fa->flags_valid && !(fa->flags & FS_CASEFOLD_FL) != !IS_CASEFOLDED(inode))
		return -EOPNOTSUPP;
	return 0;
}

/*
 * Make a file immutable or append-only.  The server could not remove the name as an orphan of such
 * a file when it is closed.  The naming semaphore is held so that the file does not get that name
 * meanwhile: its last name is removed before this, or can't be removed any more.
 */
static int rdmafsd_fileattr_seal(struct rdmafsd_rq *rq, struct dentry *dentry, struct fileattr *fa)
{
	struct rw_semaphore *naming = rdmafsd_naming_of(rq->exp, d_inode(dentry));
	enum rdmafsd_opened_name where;
	int err;

	down_read(naming);
	where = rdmafsd_opened_where(rq->exp, d_inode(dentry));
	if (where == RDMAFSD_NAMED)
		err = vfs_fileattr_set(rdmafsd_idmap(rq->exp), dentry, fa);
	else
		/* When the name is removed the file may have another one. */
		err = where == RDMAFSD_GONE ? -EAGAIN : -EPERM;
	up_read(naming);
	return err;
}

static int rdmafsd_fileattr_set(struct rdmafsd_rq *rq, struct dentry *dentry, struct fileattr *fa)
{
	if (d_is_reg(dentry) && (fa->flags & (FS_IMMUTABLE_FL | FS_APPEND_FL)))
		return rdmafsd_fileattr_seal(rq, dentry, fa);
	return vfs_fileattr_set(rdmafsd_idmap(rq->exp), dentry, fa);
}

static int rdmafsd_check_setflags(struct rdmafsd_rq *rq)
{
	const struct rfp_setflags_req *sreq = rq->args;
	u32 valid = le32_to_cpu(sreq->valid);

	if (valid != RFP_SETFLAGS_FLAGS && valid != RFP_SETFLAGS_FSX)
		return -EINVAL;
	if ((le32_to_cpu(sreq->attr.flags) & ~RFP_FLAGS_ALL) ||
	    (le32_to_cpu(sreq->attr.xflags) & ~RFP_XFLAGS_ALL))
		return -EOPNOTSUPP;
	return 0;
}

static int rdmafsd_op_setflags(struct rdmafsd_rq *rq)
{
	struct dentry *dentry = rq->obj[0];
	struct rdmafsd_change chg;
	struct fileattr fa;
	int err;

	rdmafsd_fileattr_from(rq->args, &fa);
	err = rdmafsd_fileattr_allowed(d_inode(dentry), &fa);
	if (!err)
		err = rdmafsd_rq_want_write(rq);
	if (err)
		return err;
	/* vfs_fileattr_set() takes the lock of a directory itself. */
	rdmafsd_change_begin_unlocked(rq, dentry, &chg);
	err = rdmafsd_fileattr_set(rq, dentry, &fa);
	rdmafsd_change_end(&chg);
	if (!err)
		rdmafsd_change_keep(&chg);
	rdmafsd_rq_drop_write(rq);
	if (!err)
		err = rdmafsd_commit(rq->exp, dentry);
	return err ? err : rdmafsd_reply_changed(rq, &chg);
}

const struct rdmafsd_op rdmafsd_setflags_op = {
	RDMAFSD_PADDED(struct rfp_setflags_req),
	.parts = { RDMAFSD_PART_FH },
	.as = RDMAFSD_AS_CALLER,
	.check = rdmafsd_check_setflags,
	.fn = rdmafsd_op_setflags,
};
