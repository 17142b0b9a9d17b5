// SPDX-License-Identifier: GPL-2.0
/*
 * OPEN, CREATE, TMPFILE, CLOSE.
 *
 * dentry_open() checks no permission, so the checks that open(2) makes on its way are made here.
 * CREATE opens the file that it has just made without a check, since the mode that a file is
 * created with does not bind the open that creates it.  An open that the client proves to have
 * been granted before (its session was lost) is not checked either: had the file stayed open it
 * would not have been checked again.
 *
 * Only regular files are opened.  A FIFO, socket or device means something on the client's
 * machine and nothing on the server; to open one could block or have effects.  CREATE that finds
 * another type of object under the name says which: RFP_EISDIR, RFP_ELOOP (a symbolic link) or
 * RFP_EOPNOTSUPP (the rest).  The client then looks the name up.
 *
 * Append-only files may be opened for writing, but WRITE then appends or fails: the open does
 * not tell whether the client's file has O_APPEND.
 */
#include <linux/fs.h>
#include <linux/posix_acl.h>
#include <linux/security.h>
#include <linux/xattr.h>
#include "transport/points.h"
#include "request.h"
#include "opened.h"

static int rdmafsd_open_type(struct dentry *dentry)
{
	if (d_is_reg(dentry))
		return 0;
	if (d_is_dir(dentry))
		return -EISDIR;
	if (d_is_symlink(dentry))
		return -ELOOP;
	return -EOPNOTSUPP;
}

static int rdmafsd_open_mask(u32 flags)
{
	int mask = MAY_OPEN;

	if (flags & RFP_OPEN_READ)
		mask |= MAY_READ;
	if (flags & (RFP_OPEN_WRITE | RFP_OPEN_TRUNC))
		mask |= MAY_WRITE;
	if (flags & RFP_OPEN_EXEC)
		mask |= MAY_EXEC;
	return mask;
}

/**
 * struct rdmafsd_opening - an open on its way, on the stack of the request
 * @flags:   RFP_OPEN_* of the request
 * @made:    this very request has made the file
 * @found:   this very request has found the file by its name
 * @before:  number of the claim by which the client has proven to have had the file open before,
 *           or 0
 * @claim:   the open's claim, owned by the request until a state has it
 * @number:  number of the claim, once the claim belongs to the file
 * @stateid: the state's id, once there is a state
 */
struct rdmafsd_opening {
	u32 flags;
	bool made;
	bool found;
	u64 before;
	struct rdmafsd_claim *claim;
	u64 number;
	u64 stateid;
};

/* Does the proof show that the same client and user had this file open before with these flags? */
static bool rdmafsd_open_proven(struct rdmafsd_rq *rq, struct dentry *dentry, u32 flags,
				const struct rfp_proof *proof)
{
	struct rfp_proof want;

	return proof->claim && !(flags & RFP_OPEN_TRUNC) &&
	       !rdmafsd_open_proof(rq, dentry, flags, le64_to_cpu(proof->claim), &want) &&
	       proof->mac == want.mac;
}

static int rdmafsd_open_permission(struct rdmafsd_rq *rq, struct dentry *dentry, u32 flags,
				   bool again)
{
	struct inode *inode = d_inode(dentry);

	if ((flags & RFP_OPEN_EXEC) && ((rq->exp->path.mnt->mnt_flags & MNT_NOEXEC) ||
					(inode->i_sb->s_iflags & SB_I_NOEXEC)))
		return -EACCES;
	if ((flags & (RFP_OPEN_WRITE | RFP_OPEN_TRUNC)) &&
	    (rq->exp->p.read_only || __mnt_is_readonly(rq->exp->path.mnt)))
		return -EROFS;
	if (again)
		return 0;
	if ((flags & RFP_OPEN_TRUNC) && IS_APPEND(inode))
		return -EPERM;
	return inode_permission(rdmafsd_idmap(rq->exp), inode, rdmafsd_open_mask(flags));
}

static int rdmafsd_open_flags(u32 flags)
{
	bool read = flags & (RFP_OPEN_READ | RFP_OPEN_EXEC);

	if (!(flags & (RFP_OPEN_WRITE | RFP_OPEN_TRUNC)))
		return O_RDONLY | O_LARGEFILE;
	return (read ? O_RDWR : O_WRONLY) | O_LARGEFILE;
}

static int rdmafsd_open_truncate(struct rdmafsd_rq *rq, struct file *file)
{
	struct dentry *dentry = file->f_path.dentry;
	struct rdmafsd_change chg;
	int err;

	rdmafsd_change_begin(rq, dentry, &chg);
	err = rdmafsd_truncate(rq, dentry, file, 0, ATTR_OPEN);
	rdmafsd_change_end(&chg);
	return err ? err : rdmafsd_commit(rq->exp, dentry);
}

static int rdmafsd_open_file(struct rdmafsd_rq *rq, struct dentry *dentry, u32 flags,
			     struct rdmafsd_opening *o)
{
	struct path path = { .mnt = rq->exp->path.mnt, .dentry = dentry };
	struct file *file;
	int err;

	/*
	 * Break leases without waiting for their holders: the client sends the request again.
	 * But if this request has just made the file, wait: sent again, it would find that the
	 * file exists.
	 */
	file = dentry_open(&path, rdmafsd_open_flags(flags) | (o->made ? 0 : O_NONBLOCK),
			   current_cred());
	if (IS_ERR(file))
		return PTR_ERR(file);
	spin_lock(&file->f_lock);
	file->f_flags &= ~O_NONBLOCK;
	spin_unlock(&file->f_lock);
	err = security_file_post_open(file, rdmafsd_open_mask(flags) & ~MAY_OPEN);
	if (!err && (flags & RFP_OPEN_TRUNC))
		err = rdmafsd_open_truncate(rq, file);
	if (!err)
		err = rdmafsd_state_add(rq->ses, rq->exp, file, o->claim, &o->stateid);
	if (err)
		rdmafsd_file_close(file);
	return err;
}

/* Open a file for a caller whose permission has been checked, and give the open a stateid. */
static int rdmafsd_open_do(struct rdmafsd_rq *rq, struct dentry *dentry, u32 flags,
			   struct rdmafsd_opening *o)
{
	int err = rdmafsd_claim_open(rq->exp, d_inode(dentry), &o->claim, o->before);

	if (err)
		return err;
	/* From here on its name is not removed without an orphan.  It may have been just before. */
	if (o->found && !d_inode(dentry)->i_nlink && d_unhashed(dentry))
		return -EAGAIN;
	o->number = o->claim->id;
	err = rdmafsd_open_file(rq, dentry, flags, o);
	if (!err)
		o->claim = NULL;	/* the state's, which may be freed already */
	return err;
}

static int rdmafsd_open_existing(struct rdmafsd_rq *rq, struct dentry *dentry,
				 struct rdmafsd_opening *o)
{
	int err;

	err = rdmafsd_open_type(dentry);
	if (err)
		return err;
	err = rdmafsd_open_permission(rq, dentry, o->flags, o->before);
	if (!err)
		err = rdmafsd_open_do(rq, dentry, o->flags, o);
	return err;
}

/* Take room for the open, before anything is changed for it. */
static int rdmafsd_open_begin(struct rdmafsd_rq *rq, struct rdmafsd_opening *o)
{
	o->claim = rdmafsd_claim_new(rq->exp, rq->ses->client, o->before);
	return PTR_ERR_OR_ZERO(o->claim);
}

/*
 * Has this open taken up the claim that the client had before?  If not, a state still has that
 * claim, which keeps its place.
 */
static bool rdmafsd_open_former(const struct rdmafsd_opening *o)
{
	return o->before && o->number == o->before;
}

/*
 * The open has failed.  If it had taken up the claim of before, the client may come back for
 * that.
 */
static void rdmafsd_open_fail(struct rdmafsd_rq *rq, struct rdmafsd_opening *o)
{
	rdmafsd_claim_put(rq->exp, o->claim, rdmafsd_open_former(o));
}

static int rdmafsd_open_check_flags(u32 flags)
{
	if ((flags & ~RFP_OPEN_ALL) || !(flags & (RFP_OPEN_READ | RFP_OPEN_WRITE | RFP_OPEN_EXEC)))
		return -EINVAL;
	return 0;
}

/*
 * Close an open whose reply can't be made.  The client does not learn of it, and will not come
 * back for it.  But if it had taken up the claim of before, the client may come back for that.
 */
static void rdmafsd_open_undo(struct rdmafsd_rq *rq, const struct rdmafsd_opening *o)
{
	rdmafsd_state_close(rq->ses, o->stateid, !rdmafsd_open_former(o));
}

static int rdmafsd_open_reply(struct rdmafsd_rq *rq, struct dentry *dentry,
			      const struct rdmafsd_opening *o, bool created)
{
	struct rfp_open_rep *rep = rdmafsd_rep(rq, sizeof(*rep));
	int err;

	rep->stateid = cpu_to_le64(o->stateid);
	rep->flags = cpu_to_le32(created ? RFP_OPEN_CREATED : 0);
	err = rdmafsd_open_proof(rq, dentry, o->flags & ~RFP_OPEN_TRUNC, o->number, &rep->proof);
	if (rdmafs_test_fails("open_reply", d_inode(dentry)->i_ino))
		err = -EIO;
	return err ? err : rdmafsd_rep_attr(rq, dentry);
}

static int rdmafsd_open_run(struct rdmafsd_rq *rq, struct dentry *dentry,
			    struct rdmafsd_opening *o)
{
	int err;

	err = rdmafsd_open_begin(rq, o);
	if (err)
		return err;
	err = rdmafsd_open_existing(rq, dentry, o);
	if (err) {
		rdmafsd_open_fail(rq, o);
		return err;
	}
	err = rdmafsd_open_reply(rq, dentry, o, false);
	if (err)
		rdmafsd_open_undo(rq, o);
	else if (o->before && !rdmafsd_open_former(o))
		rdmafsd_claim_again(rq->exp, d_inode(dentry), o->before);
	return err;
}

static int rdmafsd_check_open(struct rdmafsd_rq *rq)
{
	const struct rfp_open_req *oreq = rq->args;

	return rdmafsd_open_check_flags(le32_to_cpu(oreq->flags));
}

static int rdmafsd_op_open(struct rdmafsd_rq *rq)
{
	const struct rfp_open_req *oreq = rq->args;
	struct rdmafsd_opening o = { .flags = le32_to_cpu(oreq->flags) };
	struct dentry *dentry = rq->obj[0];
	int err;

	if (rdmafsd_open_proven(rq, dentry, o.flags, &oreq->proof))
		o.before = le64_to_cpu(oreq->proof.claim);
	err = rdmafsd_open_run(rq, dentry, &o);
	if (!err && o.before)
		rdmafsd_cut_again(rq->exp, d_inode(dentry), o.before);
	return err;
}

const struct rdmafsd_op rdmafsd_open_op = {
	RDMAFSD_PADDED(struct rfp_open_req),
	.parts = { RDMAFSD_PART_FH },
	.as = RDMAFSD_AS_CALLER,
	.check = rdmafsd_check_open,
	.fn = rdmafsd_op_open,
};

/**
 * struct rdmafsd_create - a CREATE on its way, on the stack of the request
 * @dir:     the directory, a reference of the request
 * @mode:    permissions, before the umask
 * @umask:   the caller's umask
 * @how:     RFP_CREATE_*
 * @verifier: by which the client knows the file, or 0
 * @created: the file is new: this request has made it, or the same request in a lost session may
 *           have
 * @open:    the open of the file
 * @chg:     the change of @dir
 * @undo:    the file, if it can't have its label
 */
struct rdmafsd_create {
	struct dentry *dir;
	u32 mode;
	u32 umask;
	u32 how;
	u64 verifier;
	bool created;
	struct rdmafsd_opening open;
	struct rdmafsd_change chg;
	struct rdmafsd_unlabelled undo;
};

/**
 * rdmafsd_create_mode - work out the permissions of a new object
 * @dir:   the directory to make it in
 * @mode:  permissions that the caller asked for
 * @umask: the caller's umask
 *
 * A default ACL of the directory takes the place of the umask.  The umask of the running thread
 * is 0, so the VFS takes nothing else away.
 *
 * Context: process, may sleep; the i_rwsem of @dir is held.
 * Return: permissions.
 */
umode_t rdmafsd_create_mode(struct dentry *dir, u32 mode, u32 umask)
{
	struct inode *inode = d_inode(dir);
	struct posix_acl *acl = NULL;

	lockdep_assert_held_write(&inode->i_rwsem);
	if (IS_POSIXACL(inode))
		acl = get_inode_acl(inode, ACL_TYPE_DEFAULT);
	if (IS_ERR_OR_NULL(acl))
		mode &= ~(umask & 0777);
	else
		posix_acl_release(acl);
	return mode & S_IALLUGO;
}

/**
 * rdmafsd_lookup_again - get the dentry of an object that was just created
 * @idmap:  the one that it was created with
 * @dir:    the directory
 * @dentry: the dentry that it was created with; the caller's reference goes
 * @name:   its name
 *
 * Some file systems instantiate another dentry than the one that they were given.
 *
 * Context: process, may sleep; the i_rwsem of @dir is held.
 * Return: a positive dentry, referenced, or an ERR_PTR.
 */
struct dentry *rdmafsd_lookup_again(struct mnt_idmap *idmap, struct dentry *dir,
				    struct dentry *dentry, const struct rfp_str *name)
{
	lockdep_assert_held_write(&d_inode(dir)->i_rwsem);
	if (!d_unhashed(dentry) && d_really_is_positive(dentry))
		return dentry;
	dput(dentry);
	dentry = lookup_one(idmap, name->s, dir, name->len);
	if (!IS_ERR(dentry) && d_really_is_negative(dentry)) {
		dput(dentry);
		dentry = ERR_PTR(-ENOENT);
	}
	return dentry;
}

/*
 * May the same request have made the file, in a session that was lost?  The server does not
 * know.  But if the file is as that request would have made it, and belongs to the caller, then
 * to open it gives the caller no more than it has: an owner could change the file's mode.
 */
static bool rdmafsd_create_was_done(struct rdmafsd_rq *rq, struct dentry *dentry)
{
	struct inode *inode = d_inode(dentry);

	return d_is_reg(dentry) && !i_size_read(inode) &&
	       vfsuid_eq_kuid(i_uid_into_vfsuid(rdmafsd_idmap(rq->exp), inode), current_fsuid());
}

/* Does an exclusive CREATE ask for what it has made, in a session that was lost? */
static bool rdmafsd_create_asks(const struct rdmafsd_create *c)
{
	return c->how == (RFP_CREATE_EXCL | RFP_CREATE_AGAIN);
}

/* May it open a file that exists: the one that it has made, and no other? */
static bool rdmafsd_create_known(struct rdmafsd_rq *rq, const struct rdmafsd_create *c,
				 struct dentry *dentry)
{
	return rdmafsd_create_asks(c) && rdmafsd_create_was_done(rq, dentry) &&
	       rdmafsd_verifier_is(dentry, c->verifier);
}

/* Find the name in the locked directory, or make the file. */
static struct dentry *rdmafsd_create_locked(struct rdmafsd_rq *rq, struct rdmafsd_create *c,
					    int ro_err)
{
	struct inode *dir = d_inode(c->dir);
	struct dentry *dentry;
	umode_t mode;
	int err;

	lockdep_assert_held_write(&dir->i_rwsem);
	dentry = rdmafsd_lookup(rq->exp, c->dir, &rq->name[0]);
	if (IS_ERR(dentry))
		return dentry;
	if (d_really_is_positive(dentry)) {
		if (!(c->how & RFP_CREATE_EXCL) || rdmafsd_create_known(rq, c, dentry)) {
			rdmafsd_change_none(rq, c->dir, &c->chg);
			return dentry;
		}
		err = -EEXIST;
		goto put;
	}
	err = rdmafsd_create_asks(c) ? -ENOENT : ro_err;
	if (err)
		goto put;
	mode = S_IFREG | rdmafsd_create_mode(c->dir, c->mode, c->umask);
	rdmafsd_change_begin(rq, c->dir, &c->chg);
	err = vfs_create(rdmafsd_idmap(rq->exp), dir, dentry, mode, true);
	rdmafsd_change_end(&c->chg);
	if (err)
		goto put;
	rdmafsd_change_keep(&c->chg);
	c->created = true;
	dentry = rdmafsd_lookup_again(rdmafsd_idmap(rq->exp), c->dir, dentry, &rq->name[0]);
	if (IS_ERR(dentry))
		return dentry;
	rdmafsd_opened_made(rq->exp, d_inode(dentry));
	rdmafsd_verifier_keep(rq, dentry, c->verifier);
	err = rdmafsd_seclabel_first(rq, dentry, 0);
	if (!err)
		return dentry;
	c->created = false;
	rdmafsd_seclabel_failed(rq, dentry, &c->undo);

put:
	dput(dentry);
	return ERR_PTR(err);
}

static struct dentry *rdmafsd_create_do(struct rdmafsd_rq *rq, struct rdmafsd_create *c)
{
	struct inode *dir = d_inode(c->dir);
	struct dentry *dentry;
	int ro_err;

	if (c->how & RFP_CREATE_NOT) {
		/* Read the cookie first: if the name is removed meanwhile the cookie shows it. */
		rdmafsd_change_none(rq, c->dir, &c->chg);
		return rdmafsd_lookup_there(rq->exp, c->dir, &rq->name[0]);
	}

	/* That the file exists already is worth more to the client than that it can't be made. */
	ro_err = rdmafsd_rq_want_write(rq);
	inode_lock_nested(dir, I_MUTEX_PARENT);
	dentry = rdmafsd_create_locked(rq, c, ro_err);
	inode_unlock(dir);
	rdmafsd_seclabel_undo(rq, c->dir, &c->undo);
	if (!ro_err)
		rdmafsd_rq_drop_write(rq);
	return dentry;
}

/* Check what binds the owner of a file, too, whatever mode the owner gives it. */
static int rdmafsd_create_done_permission(struct rdmafsd_rq *rq, struct dentry *dentry,
					  u32 flags)
{
	struct inode *inode = d_inode(dentry);

	if ((flags & (RFP_OPEN_WRITE | RFP_OPEN_TRUNC)) &&
	    (IS_IMMUTABLE(inode) || IS_APPEND(inode)))
		return -EPERM;
	return rdmafsd_open_permission(rq, dentry, flags, true);
}

/*
 * The request that has made the file may have ended before the file had its label.  If the file has
 * one, that stays: what was done is a guess, and no label may be changed by a guess.
 */
static int rdmafsd_create_done_label(struct rdmafsd_rq *rq, struct dentry *dentry)
{
	int err;

	if (!rq->label.len)
		return 0;
	err = rdmafsd_rq_want_write(rq);
	if (err)
		return err;
	err = rdmafsd_seclabel_first(rq, dentry, XATTR_CREATE);
	rdmafsd_rq_drop_write(rq);
	return err;
}

static int rdmafsd_create_open(struct rdmafsd_rq *rq, struct rdmafsd_create *c,
			       struct dentry *dentry)
{
	int err;

	c->open.made = c->created;
	if (!c->created && (c->how & RFP_CREATE_AGAIN) && rdmafsd_create_was_done(rq, dentry)) {
		err = rdmafsd_create_done_permission(rq, dentry, c->open.flags);
		if (!err)
			err = rdmafsd_create_done_label(rq, dentry);
		if (err)
			return err;
		c->created = true;
	}
	if (!c->created) {
		c->open.found = true;
		rdmafs_test_point("create_found", d_inode(dentry)->i_ino);
		return rdmafsd_open_existing(rq, dentry, &c->open);
	}
	rdmafs_test_point("create_made", d_inode(c->dir)->i_ino);
	err = rdmafsd_commit(rq->exp, dentry);
	if (!err)
		err = rdmafsd_commit(rq->exp, c->dir);
	if (!err)
		err = rdmafsd_open_do(rq, dentry, c->open.flags & ~RFP_OPEN_TRUNC, &c->open);
	return err;
}

static int rdmafsd_create_reply(struct rdmafsd_rq *rq, struct rdmafsd_create *c,
				struct dentry *dentry)
{
	int err;

	err = rdmafsd_open_reply(rq, dentry, &c->open, c->created);
	if (!err)
		err = rdmafsd_rep_fh(rq, dentry);
	if (!err)
		err = rdmafsd_rep_attr_changed(rq, &c->chg);
	if (!err)
		rdmafsd_rep_label(rq, dentry, RDMAFS_XPRT_CACHE_MAX);
	return err;
}

/* Other operations tell first that a name is the server's own, CREATE last. */
static int rdmafsd_check_create(struct rdmafsd_rq *rq)
{
	const struct rfp_create_req *creq = rq->args;
	int err;

	switch (le32_to_cpu(creq->how)) {
	case 0:
	case RFP_CREATE_NOT:
	case RFP_CREATE_AGAIN:
		if (creq->verifier)
			return -EINVAL;
		break;
	case RFP_CREATE_EXCL:
		break;
	case RFP_CREATE_EXCL | RFP_CREATE_AGAIN:
		if (!creq->verifier)
			return -EINVAL;
		break;
	default:
		return -EINVAL;
	}
	err = rdmafsd_open_check_flags(le32_to_cpu(creq->flags));
	if (!err && rdmafsd_name_reserved(&rq->name[0]))
		err = -EACCES;
	return err;
}

static int rdmafsd_op_create(struct rdmafsd_rq *rq)
{
	const struct rfp_create_req *creq = rq->args;
	struct rdmafsd_create c = {
		.dir = rq->obj[0],
		.mode = le32_to_cpu(creq->mode),
		.umask = le32_to_cpu(creq->umask),
		.how = le32_to_cpu(creq->how),
		.verifier = le64_to_cpu(creq->verifier),
		.open.flags = le32_to_cpu(creq->flags),
	};
	struct dentry *dentry;
	int err;

	err = rdmafsd_open_begin(rq, &c.open);
	if (err)
		return err;
	dentry = rdmafsd_create_do(rq, &c);
	if (IS_ERR(dentry)) {
		rdmafsd_open_fail(rq, &c.open);
		return PTR_ERR(dentry);
	}
	err = rdmafsd_create_open(rq, &c, dentry);
	rdmafs_test_point("create_opened", d_inode(c.dir)->i_ino);
	if (err) {
		rdmafsd_open_fail(rq, &c.open);
	} else {
		err = rdmafsd_create_reply(rq, &c, dentry);
		if (err)
			rdmafsd_open_undo(rq, &c.open);
	}
	dput(dentry);
	return err;
}

const struct rdmafsd_op rdmafsd_create_op = {
	RDMAFSD_FIXED(struct rfp_create_req),
	.parts = { RDMAFSD_PART_DIR, RDMAFSD_PART_NAME_ANY, RDMAFSD_PART_LABEL },
	.as = RDMAFSD_AS_CALLER,
	.req_flags = RFP_REQ_LABEL,
	.check = rdmafsd_check_create,
	.fn = rdmafsd_op_create,
};

static int rdmafsd_check_tmpfile(struct rdmafsd_rq *rq)
{
	const struct rfp_create_req *creq = rq->args;
	u32 flags = le32_to_cpu(creq->flags);

	if ((le32_to_cpu(creq->how) & ~RFP_CREATE_EXCL) || creq->verifier ||
	    !(flags & RFP_OPEN_WRITE) ||
	    (flags & ~(RFP_OPEN_READ | RFP_OPEN_WRITE)))
		return -EINVAL;
	return 0;
}

static int rdmafsd_tmpfile_reply(struct rdmafsd_rq *rq, struct dentry *dentry,
				 const struct rdmafsd_opening *o)
{
	int err = rdmafsd_open_reply(rq, dentry, o, true);

	if (!err)
		err = rdmafsd_rep_fh(rq, dentry);
	if (!err)
		rdmafsd_rep_label(rq, dentry, RDMAFS_XPRT_CACHE_MAX);
	return err;
}

static int rdmafsd_op_tmpfile(struct rdmafsd_rq *rq)
{
	const struct rfp_create_req *creq = rq->args;
	struct rdmafsd_opening o = { .flags = le32_to_cpu(creq->flags), .made = true };
	struct rdmafsd_tmpfile t = {
		.dir = rq->obj[0],
		.mode = le32_to_cpu(creq->mode),
		.umask = le32_to_cpu(creq->umask),
		.linkable = !creq->how,
	};
	int err;

	err = rdmafsd_open_begin(rq, &o);
	if (err)
		return err;
	err = rdmafsd_tmpfile_make(rq, &t);
	if (!err)
		err = rdmafsd_open_do(rq, t.obj, o.flags, &o);
	rdmafs_test_point("tmpfile_opened", d_inode(t.dir)->i_ino);
	if (err) {
		rdmafsd_open_fail(rq, &o);
	} else {
		err = rdmafsd_tmpfile_reply(rq, t.obj, &o);
		if (err)
			rdmafsd_open_undo(rq, &o);
	}
	rdmafsd_tmpfile_put(rq, &t);
	return err;
}

const struct rdmafsd_op rdmafsd_tmpfile_op = {
	RDMAFSD_FIXED(struct rfp_create_req),
	.parts = { RDMAFSD_PART_DIR, RDMAFSD_PART_LABEL },
	.as = RDMAFSD_AS_CALLER,
	.req_flags = RFP_REQ_LABEL,
	.check = rdmafsd_check_tmpfile,
	.fn = rdmafsd_op_tmpfile,
};

static int rdmafsd_op_close(struct rdmafsd_rq *rq)
{
	const struct rfp_close_req *creq = rq->args;
	u64 id = le64_to_cpu(creq->stateid);

	if (!rdmafsd_state_close(rq->ses, id, true)) {
		/* Its export may have ended, perhaps just now: there may be a note of the open. */
		rdmafsd_cut_closed(rq->ses, id);
		return RFP_BADSTATE;
	}
	rdmafsd_rep(rq, sizeof(struct rfp_rep));
	return 0;
}

const struct rdmafsd_op rdmafsd_close_op = {
	RDMAFSD_FIXED(struct rfp_close_req),
	.stateid = offsetof(struct rfp_close_req, stateid),
	.closes = true,
	.fn = rdmafsd_op_close,
};
