// SPDX-License-Identifier: GPL-2.0
/*
 * GETATTR, SETATTR, STATFS.
 *
 * If a size is among the changes, SETATTR sets the size first and then the rest, since file
 * systems do not expect both in one call.  notify_change() and the file system check the
 * caller's rights, under the caller's credentials.  The cookies around the rest are read with the
 * object's i_rwsem held (change.c).
 *
 * A stateid beside the handle finds the file also when its last name is gone.
 */
#include <linux/filelock.h>
#include <linux/statfs.h>
#include "request.h"

/* The object of a request by stateid, if it has one, else by handle. */
static struct dentry *rdmafsd_attr_object(const struct rdmafsd_rq *rq)
{
	return rq->state ? rq->state->file->f_path.dentry : rq->obj[0];
}

static int rdmafsd_op_getattr(struct rdmafsd_rq *rq)
{
	struct dentry *dentry = rdmafsd_attr_object(rq);
	struct rfp_attr *attr;
	int err;

	rdmafsd_rep(rq, sizeof(struct rfp_rep));
	attr = rfp_enc_fixed(&rq->enc, sizeof(*attr));
	err = attr ? rdmafsd_getattr(rq->exp, dentry, attr) : -EIO;
	if (!err && rq->state)
		rdmafsd_attrs_seen(rq->state, attr);
	if (!err && rq->access)
		err = rdmafsd_rq_enter(rq);
	if (!err && rq->access)
		attr->access = cpu_to_le32(rdmafsd_access(rq->exp, d_inode(dentry)));
	return err;
}

/* Only by stateid: to find the object of a handle may block. */
static int rdmafsd_now_getattr(struct rdmafsd_rq *rq)
{
	struct rfp_attr *attr;

	rdmafsd_rep(rq, sizeof(struct rfp_rep));
	attr = rfp_enc_fixed(&rq->enc, sizeof(*attr));
	return attr ? rdmafsd_getattr_now(rq->state, attr) : -EAGAIN;
}

/*
 * Needs no credentials: any caller that holds the handle may ask.  Those of the caller are put on
 * by the operation, after the attributes were read, and only for RFP_REQ_ACCESS.
 */
const struct rdmafsd_op rdmafsd_getattr_op = {
	RDMAFSD_FIXED(struct rfp_getattr_req),
	.stateid = offsetof(struct rfp_getattr_req, stateid),
	.parts = { RDMAFSD_PART_FH },
	.flags = RDMAFS_REPLY_NOCACHE,
	.req_flags = RFP_REQ_ACCESS,
	.fn = rdmafsd_op_getattr,
	.now = rdmafsd_now_getattr,
};

static int rdmafsd_time_from(const struct rfp_time *wire, struct timespec64 *ts)
{
	u32 nsec = le32_to_cpu(wire->nsec);

	if (nsec >= NSEC_PER_SEC)
		return -EINVAL;
	ts->tv_sec = (s64)le64_to_cpu(wire->sec);
	ts->tv_nsec = nsec;
	return 0;
}

static int rdmafsd_iattr_times(const struct rfp_setattr_req *sreq, u32 valid, struct iattr *ia)
{
	const u32 now = RFP_SET_ATIME_NOW | RFP_SET_MTIME_NOW;
	const u32 set = RFP_SET_ATIME | RFP_SET_MTIME;
	int err = 0;

	/* The truncation has moved the mtime already, which needed no ownership. */
	if (valid & RFP_SET_SIZE)
		valid &= ~RFP_SET_MTIME_NOW;

	if (valid & (RFP_SET_ATIME | RFP_SET_ATIME_NOW))
		ia->ia_valid |= ATTR_ATIME;
	if (valid & (RFP_SET_MTIME | RFP_SET_MTIME_NOW))
		ia->ia_valid |= ATTR_MTIME;
	if (valid & RFP_SET_ATIME) {
		ia->ia_valid |= ATTR_ATIME_SET;
		err = rdmafsd_time_from(&sreq->atime, &ia->ia_atime);
	}
	if (!err && (valid & RFP_SET_MTIME)) {
		ia->ia_valid |= ATTR_MTIME_SET;
		err = rdmafsd_time_from(&sreq->mtime, &ia->ia_mtime);
	}
	/*
	 * The right to write allows no more than to set both times to now; the rest needs
	 * ownership.
	 */
	if ((valid & now) == now && !(valid & set))
		ia->ia_valid |= ATTR_TOUCH;
	else if (valid & (now | set))
		ia->ia_valid |= ATTR_TIMES_SET;
	return err;
}

static int rdmafsd_iattr_owner(const struct rfp_setattr_req *sreq, u32 valid, struct iattr *ia)
{
	kuid_t uid;
	kgid_t gid;

	/* They are ids of the exported mount: notify_change() maps them. */
	if (valid & RFP_SET_UID) {
		uid = make_kuid(&init_user_ns, le32_to_cpu(sreq->uid));
		if (!uid_valid(uid))
			return -EINVAL;
		ia->ia_vfsuid = VFSUIDT_INIT(uid);
		ia->ia_valid |= ATTR_UID;
	}
	if (valid & RFP_SET_GID) {
		gid = make_kgid(&init_user_ns, le32_to_cpu(sreq->gid));
		if (!gid_valid(gid))
			return -EINVAL;
		ia->ia_vfsgid = VFSGIDT_INIT(gid);
		ia->ia_valid |= ATTR_GID;
	}
	return 0;
}

/*
 * Fill in what depends on the object's present mode; its i_rwsem is held.  notify_change() does
 * not take a change of mode together with the order to remove set-id bits.
 */
static void rdmafsd_iattr_mode(struct mnt_idmap *idmap, struct inode *inode, u32 valid, u32 mode,
			       struct iattr *ia)
{
	bool chown = (ia->ia_valid & (ATTR_UID | ATTR_GID)) && !S_ISDIR(inode->i_mode);
	bool kill = (valid & RFP_SET_KILL) && S_ISREG(inode->i_mode);
	bool sgid = (valid & RFP_SET_KILL_SGID) && kill;

	lockdep_assert_held_write(&inode->i_rwsem);
	if (chown)
		ia->ia_valid |= ATTR_KILL_PRIV;
	if (valid & RFP_SET_MODE) {
		ia->ia_mode = (mode & S_IALLUGO) | (inode->i_mode & ~S_IALLUGO);
		if (chown || kill) {
			ia->ia_mode &= ~S_ISUID;
			if (sgid || (ia->ia_mode & 0010))
				ia->ia_mode &= ~S_ISGID;
		}
		ia->ia_valid |= ATTR_MODE;
		return;
	}
	if (chown)
		ia->ia_valid |= ATTR_KILL_SUID | setattr_should_drop_sgid(idmap, inode);
	/*
	 * The client's kernel knows the caller better: it may lack CAP_FSETID there, or its group.
	 * That takes more bits away than this server would by itself, and never fewer.
	 */
	if (kill)
		ia->ia_valid |= ATTR_KILL_SUID | setattr_should_drop_sgid(idmap, inode) |
				ATTR_KILL_PRIV;
	if (sgid)
		ia->ia_valid |= ATTR_KILL_SGID;
}

/*
 * To remove set-id bits, and nothing else, is what the VFS does when a file is written to: it
 * needs the right to write, not ownership.  A chown(2) that changes no id also comes down to
 * that, which the owner may do in any case: notify_change() decides, who refuses others only where
 * there are bits to remove.  So what needs no ownership there, file capabilities and the ctime,
 * stays: *@bits.  A change of the size before it has shown the right.
 */
static int rdmafsd_iattr_kill(struct rdmafsd_rq *rq, struct inode *inode, u32 valid,
			      struct iattr *ia, bool *bits)
{
	struct mnt_idmap *idmap = rdmafsd_idmap(rq->exp);
	u32 rest = valid;

	if (valid & RFP_SET_SIZE)
		rest &= ~(RFP_SET_SIZE | RFP_SET_MTIME_NOW);
	if (!rest || (rest & ~RFP_SET_KILL))
		return 0;
	if (valid & RFP_SET_SIZE) {
		ia->ia_valid |= ATTR_FORCE;
		return 0;
	}
	if (rq->state && !(rq->state->file->f_mode & FMODE_WRITE))
		return -EBADF;
	if (rq->state || !inode_permission(idmap, inode, MAY_WRITE))
		ia->ia_valid |= ATTR_FORCE;
	else
		*bits = !inode_owner_or_capable(idmap, inode);
	return 0;
}

/*
 * Change all but the size.  On success @chg is the change, also if there is nothing to change.  If
 * the size was set, @chg is that change before, and both of them after.
 */
static int rdmafsd_setattr_rest(struct rdmafsd_rq *rq, struct dentry *dentry,
				const struct rfp_setattr_req *sreq, u32 valid,
				struct rdmafsd_change *chg)
{
	struct inode *inode = d_inode(dentry), *delegated = NULL;
	struct mnt_idmap *idmap = rdmafsd_idmap(rq->exp);
	struct rdmafsd_change rest;
	struct iattr ia = {};
	bool bits = false;
	int err;

	err = rdmafsd_iattr_owner(sreq, valid, &ia);
	if (!err)
		err = rdmafsd_iattr_times(sreq, valid, &ia);
	if (!err)
		err = rdmafsd_iattr_kill(rq, inode, valid, &ia, &bits);
	if (err)
		return err;
	if (!ia.ia_valid && !(valid & (RFP_SET_MODE | RFP_SET_KILL))) {
		if (!(valid & RFP_SET_SIZE))
			rdmafsd_change_none(rq, dentry, chg);
		return 0;
	}
	ia.ia_valid |= ATTR_CTIME;

	err = rdmafsd_rq_want_write(rq);
	if (err)
		return err;
	inode_lock(inode);
	rdmafsd_change_begin(rq, dentry, &rest);
	rdmafsd_iattr_mode(idmap, inode, valid, le32_to_cpu(sreq->mode), &ia);
	if (bits)
		ia.ia_valid &= ~(ATTR_KILL_PRIV | ATTR_CTIME);
	err = notify_change(idmap, dentry, &ia, &delegated);
	rdmafsd_change_end(&rest);
	if (!err)
		rdmafsd_change_keep(&rest);
	inode_unlock(inode);
	if (valid & RFP_SET_SIZE)
		rdmafsd_change_join(&rest, chg->before, chg->after);
	*chg = rest;
	rdmafsd_rq_drop_write(rq);
	return rdmafsd_deleg_end(&delegated, err);
}

/* Works as vfs_truncate(), but does not wait for the holder of a lease. */
static int rdmafsd_setattr_size_path(struct rdmafsd_rq *rq, struct dentry *dentry, u64 size)
{
	struct inode *inode = d_inode(dentry);
	int err;

	if (d_is_dir(dentry))
		return -EISDIR;
	if (!d_is_reg(dentry))
		return -EINVAL;
	if (rq->exp->p.read_only)
		return -EROFS;
	err = inode_permission(rdmafsd_idmap(rq->exp), inode, MAY_WRITE);
	if (err)
		return err;
	err = get_write_access(inode);
	if (err)
		return err;
	err = break_lease(inode, O_WRONLY | O_NONBLOCK);
	if (!err)
		err = rdmafsd_truncate(rq, dentry, NULL, size, 0);
	put_write_access(inode);
	return err;
}

static int rdmafsd_setattr_size(struct rdmafsd_rq *rq, struct dentry *dentry, u64 size)
{
	if (size > LLONG_MAX)
		return -EINVAL;
	if (!rq->state)
		return rdmafsd_setattr_size_path(rq, dentry, size);
	if (!(rq->state->file->f_mode & FMODE_WRITE))
		return -EBADF;
	return rdmafsd_truncate(rq, dentry, rq->state->file, size, 0);
}

static int rdmafsd_check_setattr(struct rdmafsd_rq *rq)
{
	const struct rfp_setattr_req *sreq = rq->args;

	return le32_to_cpu(sreq->valid) & ~RFP_SET_ALL ? -EINVAL : 0;
}

static int rdmafsd_op_setattr(struct rdmafsd_rq *rq)
{
	const struct rfp_setattr_req *sreq = rq->args;
	struct dentry *dentry = rdmafsd_attr_object(rq);
	u32 valid = le32_to_cpu(sreq->valid);
	struct rdmafsd_change chg;
	bool half = false;
	int err = 0, err2;

	if (valid & RFP_SET_SIZE) {
		rdmafsd_change_begin_unlocked(rq, dentry, &chg);
		err = rdmafsd_setattr_size(rq, dentry, le64_to_cpu(sreq->size));
		rdmafsd_change_end(&chg);
		half = !err;
	}
	if (!err)
		err = rdmafsd_setattr_rest(rq, dentry, sreq, valid, &chg);
	/* Also when the second half has failed, for the first half is done. */
	if (!err || half) {
		err2 = rdmafsd_commit(rq->exp, dentry);
		if (!err)
			err = err2;
	}
	return err ? err : rdmafsd_reply_changed(rq, &chg);
}

const struct rdmafsd_op rdmafsd_setattr_op = {
	RDMAFSD_PADDED(struct rfp_setattr_req),
	.stateid = offsetof(struct rfp_setattr_req, stateid),
	.parts = { RDMAFSD_PART_FH },
	.as = RDMAFSD_AS_CALLER,
	.check = rdmafsd_check_setattr,
	.fn = rdmafsd_op_setattr,
};

static int rdmafsd_op_statfs(struct rdmafsd_rq *rq)
{
	struct path path = { .mnt = rq->exp->path.mnt, .dentry = rq->obj[0] };
	struct rfp_statfs_rep *rep;
	struct kstatfs st;
	int err;

	err = vfs_statfs(&path, &st);
	if (err)
		return err;

	rep = rdmafsd_rep(rq, sizeof(*rep));
	rep->bsize = cpu_to_le32(st.f_frsize ? st.f_frsize : st.f_bsize);
	rep->namelen = cpu_to_le32(min_t(long, st.f_namelen, RFP_NAME_MAX));
	rep->blocks = cpu_to_le64(st.f_blocks);
	rep->bfree = cpu_to_le64(st.f_bfree);
	rep->bavail = cpu_to_le64(st.f_bavail);
	rep->files = cpu_to_le64(st.f_files);
	rep->ffree = cpu_to_le64(st.f_ffree);
	return 0;
}

const struct rdmafsd_op rdmafsd_statfs_op = {
	RDMAFSD_FIXED(struct rfp_req),
	.parts = { RDMAFSD_PART_FH },
	.flags = RDMAFS_REPLY_NOCACHE,
	.fn = rdmafsd_op_statfs,
};
