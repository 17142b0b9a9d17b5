// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on names: MKDIR, MKNOD, SYMLINK, LINK, UNLINK, RMDIR, RENAME.
 *
 * Each of them takes the mount's write counts, locks the directory (or two), looks the name up,
 * makes the change and unlocks.  Only then it brings directory and object to stable storage and
 * reads their attributes.  If another server holds a delegation of an object, that server is
 * asked to return it, and the client to send the request again.
 *
 * Names never cross a mount: at a mount point of the server they mean the directory that is
 * covered, not the file system that is mounted there (crossed.c).  A directory that is a mount
 * point can't be removed or replaced (the VFS says EBUSY).
 *
 * Before a file that is open, or may be, loses its last name by a removal or by a rename of
 * another object over it, the file gets another name, which clients do not see: leaving.c.
 */
#include <linux/filelock.h>
#include <linux/fsnotify.h>
#include <linux/kdev_t.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "transport/points.h"
#include "request.h"
#include "opened.h"

/**
 * struct rdmafsd_named - a name that was made or removed, on the stack of the request
 * @obj:   the object of the name, a reference of the task that has this structure
 * @ochg:  the object's change
 * @dchg:  the change of the directory
 * @other: nothing was done, for the name had become another file's
 * @kept:  the object got another name, which clients do not see and which is on stable storage
 */
struct rdmafsd_named {
	struct dentry *obj;
	struct rdmafsd_change ochg;
	struct rdmafsd_change dchg;
	bool other;
	bool kept;
};

static int rdmafsd_name_commit(struct rdmafsd_rq *rq, struct dentry *obj, struct dentry *dir)
{
	int err, err2;

	err = rdmafsd_commit(rq->exp, obj);
	err2 = rdmafsd_commit(rq->exp, dir);
	return err ? err : err2;
}

/**
 * struct rdmafsd_make - an object to be made, on the stack of the request
 * @dir:    the directory to make it in, a reference of the request
 * @mode:   type and permissions, before the umask
 * @umask:  the caller's umask
 * @dev:    device number of a device node
 * @target: target of a symbolic link
 * @chg:    the change of @dir, once the object is made
 * @undo:   the object, if it can't have its label
 */
struct rdmafsd_make {
	struct dentry *dir;
	umode_t mode;
	u32 umask;
	dev_t dev;
	const char *target;
	struct rdmafsd_change chg;
	struct rdmafsd_unlabelled undo;
};

static int rdmafsd_make_vfs(struct mnt_idmap *idmap, struct rdmafsd_make *m,
			    struct dentry *dentry)
{
	struct inode *dir = d_inode(m->dir);
	umode_t mode = rdmafsd_create_mode(m->dir, m->mode, m->umask);

	switch (m->mode & S_IFMT) {
	case S_IFDIR:
		return vfs_mkdir(idmap, dir, dentry, mode);
	case S_IFLNK:
		return vfs_symlink(idmap, dir, dentry, m->target);
	case S_IFREG:
		return vfs_create(idmap, dir, dentry, mode | S_IFREG, true);
	default:
		return vfs_mknod(idmap, dir, dentry, mode | (m->mode & S_IFMT), m->dev);
	}
}

/* A character device 0:0 is a whiteout, a mark that leads to no device: any export may have it. */
static bool rdmafsd_make_allowed(struct rdmafsd_rq *rq, const struct rdmafsd_make *m)
{
	bool device = S_ISCHR(m->mode) || S_ISBLK(m->mode);

	return !device || rq->exp->p.devices || (S_ISCHR(m->mode) && m->dev == WHITEOUT_DEV);
}

static struct dentry *rdmafsd_make_locked(struct rdmafsd_rq *rq, struct rdmafsd_make *m,
					  int ro_err)
{
	struct dentry *dentry;
	int err;

	lockdep_assert_held_write(&d_inode(m->dir)->i_rwsem);
	dentry = rdmafsd_lookup(rq->exp, m->dir, &rq->name[0]);
	if (IS_ERR(dentry))
		return dentry;
	err = d_really_is_positive(dentry) ? -EEXIST : ro_err;
	if (!err && !rdmafsd_make_allowed(rq, m))
		err = -EPERM;
	if (!err) {
		rdmafsd_change_begin(rq, m->dir, &m->chg);
		err = rdmafsd_make_vfs(rdmafsd_idmap(rq->exp), m, dentry);
		rdmafsd_change_end(&m->chg);
		if (!err)
			rdmafsd_change_keep(&m->chg);
	}
	if (!err) {
		dentry = rdmafsd_lookup_again(rdmafsd_idmap(rq->exp), m->dir, dentry,
					      &rq->name[0]);
		if (IS_ERR(dentry))
			return dentry;
		rdmafsd_opened_made(rq->exp, d_inode(dentry));
		err = rdmafsd_seclabel_first(rq, dentry, 0);
		if (!err)
			return dentry;
		rdmafsd_seclabel_failed(rq, dentry, &m->undo);
	}
	dput(dentry);
	return ERR_PTR(err);
}

/* Reply with the object's attributes and handle, and the directory's attributes. */
static int rdmafsd_make_reply(struct rdmafsd_rq *rq, struct dentry *obj,
			      const struct rdmafsd_make *m)
{
	int err;

	rdmafsd_rep(rq, sizeof(struct rfp_rep));
	err = rdmafsd_rep_attr(rq, obj);
	if (!err)
		err = rdmafsd_rep_fh(rq, obj);
	if (!err)
		err = rdmafsd_rep_attr_changed(rq, &m->chg);
	if (!err)
		rdmafsd_rep_label(rq, obj, RDMAFS_XPRT_CACHE_MAX);
	return err;
}

/* Make an object with the name and in the directory of the request. */
static int rdmafsd_make(struct rdmafsd_rq *rq, umode_t mode, dev_t dev, const char *target)
{
	const struct rfp_mknod_req *mreq = rq->args;
	struct rdmafsd_make m = {
		.dir = rq->obj[0],
		.mode = mode,
		.umask = le32_to_cpu(mreq->umask),
		.dev = dev,
		.target = target,
	};
	struct inode *dir = d_inode(m.dir);
	struct dentry *dentry;
	int ro_err, err;

	/* A name that exists is answered EEXIST also where nothing may be written. */
	ro_err = rdmafsd_rq_want_write(rq);
	inode_lock_nested(dir, I_MUTEX_PARENT);
	dentry = rdmafsd_make_locked(rq, &m, ro_err);
	inode_unlock(dir);
	rdmafsd_seclabel_undo(rq, m.dir, &m.undo);
	if (!ro_err)
		rdmafsd_rq_drop_write(rq);
	if (IS_ERR(dentry))
		return PTR_ERR(dentry);

	err = rdmafsd_name_commit(rq, dentry, m.dir);
	if (!err)
		err = rdmafsd_make_reply(rq, dentry, &m);
	dput(dentry);
	return err;
}

static umode_t rdmafsd_make_mode(const struct rdmafsd_rq *rq, u32 mask)
{
	const struct rfp_mknod_req *mreq = rq->args;

	return le32_to_cpu(mreq->mode) & mask;
}

static int rdmafsd_check_make(struct rdmafsd_rq *rq)
{
	const struct rfp_mknod_req *mreq = rq->args;

	return le32_to_cpu(mreq->rdev_major) >= 1 << (32 - MINORBITS) ||
	       le32_to_cpu(mreq->rdev_minor) > MINORMASK ? -EINVAL : 0;
}

static int rdmafsd_op_mkdir(struct rdmafsd_rq *rq)
{
	return rdmafsd_make(rq, S_IFDIR | rdmafsd_make_mode(rq, S_IALLUGO), 0, NULL);
}

const struct rdmafsd_op rdmafsd_mkdir_op = {
	RDMAFSD_FIXED(struct rfp_mknod_req),
	.parts = { RDMAFSD_PART_DIR, RDMAFSD_PART_NAME, RDMAFSD_PART_LABEL },
	.as = RDMAFSD_AS_CALLER,
	.req_flags = RFP_REQ_LABEL,
	.check = rdmafsd_check_make,
	.fn = rdmafsd_op_mkdir,
};

static int rdmafsd_check_mknod(struct rdmafsd_rq *rq)
{
	switch (rdmafsd_make_mode(rq, S_IFMT)) {
	case S_IFREG:
	case S_IFIFO:
	case S_IFSOCK:
	case S_IFCHR:
	case S_IFBLK:
		return rdmafsd_check_make(rq);
	}
	return -EINVAL;
}

static int rdmafsd_op_mknod(struct rdmafsd_rq *rq)
{
	const struct rfp_mknod_req *mreq = rq->args;
	umode_t mode = rdmafsd_make_mode(rq, S_IFMT | S_IALLUGO);
	dev_t dev = 0;

	if (S_ISCHR(mode) || S_ISBLK(mode))
		dev = MKDEV(le32_to_cpu(mreq->rdev_major), le32_to_cpu(mreq->rdev_minor));
	return rdmafsd_make(rq, mode, dev, NULL);
}

const struct rdmafsd_op rdmafsd_mknod_op = {
	RDMAFSD_FIXED(struct rfp_mknod_req),
	.parts = { RDMAFSD_PART_DIR, RDMAFSD_PART_NAME, RDMAFSD_PART_LABEL },
	.as = RDMAFSD_AS_CALLER,
	.req_flags = RFP_REQ_LABEL,
	.check = rdmafsd_check_mknod,
	.fn = rdmafsd_op_mknod,
};

/* Check the target as well, and leave it in @rq->buf. */
static int rdmafsd_check_symlink(struct rdmafsd_rq *rq)
{
	u32 len = rq->req->data_len;
	char *target;
	int err;

	err = rdmafsd_check_make(rq);
	if (err)
		return err;
	if (!len)
		return -EINVAL;
	if (len > RFP_SYMLINK_MAX)
		return -ENAMETOOLONG;
	target = kmalloc(len + 1, GFP_KERNEL);
	if (!target)
		return -ENOMEM;
	rq->buf = target;
	if (!copy_from_iter_full(target, len, &rq->req->data))
		return -EINVAL;
	target[len] = '\0';
	return strlen(target) == len ? 0 : -EINVAL;
}

static int rdmafsd_op_symlink(struct rdmafsd_rq *rq)
{
	return rdmafsd_make(rq, S_IFLNK | 0777, 0, rq->buf);
}

const struct rdmafsd_op rdmafsd_symlink_op = {
	RDMAFSD_FIXED(struct rfp_mknod_req),
	.parts = { RDMAFSD_PART_DIR, RDMAFSD_PART_NAME, RDMAFSD_PART_LABEL },
	.as = RDMAFSD_AS_CALLER,
	.req_flags = RFP_REQ_LABEL,
	.check = rdmafsd_check_symlink,
	.fn = rdmafsd_op_symlink,
};

static int rdmafsd_link_do(struct rdmafsd_rq *rq, struct dentry *dir, struct rdmafsd_named *n)
{
	struct inode *delegated = NULL;
	struct dentry *dentry;
	int err;

	inode_lock_nested(d_inode(dir), I_MUTEX_PARENT);
	dentry = rdmafsd_lookup(rq->exp, dir, &rq->name[0]);
	err = PTR_ERR_OR_ZERO(dentry);
	if (!err) {
		rdmafsd_change_begin(rq, dir, &n->dchg);
		rdmafsd_change_begin_unlocked(rq, n->obj, &n->ochg);
		err = vfs_link(n->obj, rdmafsd_idmap(rq->exp), d_inode(dir), dentry, &delegated);
		rdmafsd_change_end(&n->ochg);
		rdmafsd_change_end(&n->dchg);
		if (!err)
			rdmafsd_change_keep(&n->dchg);
		dput(dentry);
	}
	inode_unlock(d_inode(dir));
	return rdmafsd_deleg_end(&delegated, err);
}

static int rdmafsd_op_link(struct rdmafsd_rq *rq)
{
	struct dentry *obj = rq->obj[0], *dir = rq->obj[1];
	struct rdmafsd_named n = { .obj = obj };
	struct rdmafsd_linking l;
	int err;

	err = rdmafsd_rq_want_write(rq);
	if (err)
		return err;
	err = rdmafsd_linking_begin(rq, obj, &l);
	if (!err)
		err = rdmafsd_link_do(rq, dir, &n);
	rdmafsd_linking_end(rq, &l, !err);
	rdmafsd_rq_drop_write(rq);
	if (!err)
		err = rdmafsd_name_commit(rq, obj, dir);
	if (!err)
		rdmafsd_linking_stable(rq, &l, &n.ochg);
	rdmafsd_linking_put(rq, &l);
	if (!err)
		err = rdmafsd_reply_changed(rq, &n.ochg, &n.dchg);
	return err;
}

const struct rdmafsd_op rdmafsd_link_op = {
	RDMAFSD_FIXED(struct rfp_req),
	.parts = { RDMAFSD_PART_FH, RDMAFSD_PART_DIR, RDMAFSD_PART_NAME },
	.as = RDMAFSD_AS_CALLER,
	.fn = rdmafsd_op_link,
};

#define RDMAFSD_NAME_TRIES	16

/*
 * Should the server try again at once?  Only if the name had become another file's (@other), and
 * not for ever: after RDMAFSD_NAME_TRIES times the client is told to send the request again.
 * The server waits neither for delegations, nor where the file system itself asks to try later.
 */
static bool rdmafsd_name_again(bool other, int *err, struct inode **delegated,
			       unsigned int *tries)
{
	*err = rdmafsd_deleg_end(delegated, *err);
	return other && ++*tries < RDMAFSD_NAME_TRIES;
}

static int rdmafsd_remove_vfs(struct rdmafsd_rq *rq, struct dentry *dir, bool rmdir,
			      struct rdmafsd_named *n, struct inode **delegated)
{
	int err;

	if (d_really_is_negative(n->obj))
		return -ENOENT;
	rdmafsd_change_begin(rq, dir, &n->dchg);
	rdmafsd_change_begin_unlocked(rq, n->obj, &n->ochg);
	if (rdmafs_test_fails("remove_vfs", d_inode(n->obj)->i_ino))
		err = -EIO;
	else if (rdmafs_test_fails("remove_later", d_inode(n->obj)->i_ino))
		err = -EAGAIN;
	else if (rmdir)
		err = vfs_rmdir(rdmafsd_idmap(rq->exp), d_inode(dir), n->obj);
	else
		err = vfs_unlink(rdmafsd_idmap(rq->exp), d_inode(dir), n->obj, delegated);
	rdmafsd_change_end(&n->ochg);
	rdmafsd_change_end(&n->dchg);
	if (!err)
		rdmafsd_change_keep(&n->dchg);
	return err;
}

/*
 * Remove a name in a locked directory.  The name may have become another object's since
 * rdmafsd_leaving_begin() looked: then set @n->other, and the caller begins anew.
 */
static int rdmafsd_remove_locked(struct rdmafsd_rq *rq, struct dentry *dir,
				 const struct rfp_str *name, bool rmdir,
				 const struct rdmafsd_leaving *l, struct rdmafsd_named *n,
				 struct inode **delegated)
{
	struct dentry *dentry;
	int err;

	lockdep_assert_held_write(&d_inode(dir)->i_rwsem);
	dentry = rdmafsd_lookup(rq->exp, dir, name);
	if (IS_ERR(dentry))
		return PTR_ERR(dentry);
	/*
	 * Keep a second reference.  The last one would free the inode with the name, here with
	 * the lock held, and the reply tells the object's attributes after the removal.
	 */
	n->obj = dget(dentry);
	n->other = (!rmdir && !rdmafsd_leaving_is(rq, l, dentry)) ||
		   rdmafs_test_fails("name_moved", d_inode(dir)->i_ino);
	err = n->other ? -EAGAIN : rdmafsd_remove_vfs(rq, dir, rmdir, n, delegated);
	dput(dentry);
	return err;
}

/*
 * Try once to remove a name.  On success @n->obj is to be put by the caller, with nothing
 * locked.
 */
static int rdmafsd_remove_try(struct rdmafsd_rq *rq, struct dentry *dir,
			      const struct rfp_str *name, bool rmdir, struct rdmafsd_named *n,
			      struct inode **delegated)
{
	struct rdmafsd_leaving l = {};
	int err;

	err = rdmafsd_rq_want_write(rq);
	if (err)
		return err;
	if (!rmdir)
		err = rdmafsd_leaving_begin(rq, dir, name, &l, delegated);
	if (!err) {
		rdmafs_test_point("name_kept", d_inode(dir)->i_ino);
		inode_lock_nested(d_inode(dir), I_MUTEX_PARENT);
		err = rdmafsd_remove_locked(rq, dir, name, rmdir, &l, n, delegated);
		inode_unlock(d_inode(dir));
	}
	if (!err)
		rdmafsd_leaving_change(&l, &n->ochg);
	n->kept = l.kept;
	rdmafsd_leaving_end(rq, &l, !err);
	rdmafsd_rq_drop_write(rq);
	rdmafsd_leaving_put(rq, &l);
	if (err && n->obj) {
		dput(n->obj);
		n->obj = NULL;
	}
	return err;
}

static int rdmafsd_remove_do(struct rdmafsd_rq *rq, struct dentry *dir,
			     const struct rfp_str *name, bool rmdir, struct rdmafsd_named *n)
{
	struct inode *delegated = NULL;
	unsigned int tries = 0;
	int err;

	do {
		n->other = false;
		err = rdmafsd_remove_try(rq, dir, name, rmdir, n, &delegated);
	} while (rdmafsd_name_again(n->other, &err, &delegated, &tries));
	return err;
}

static int rdmafsd_remove(struct rdmafsd_rq *rq, bool rmdir)
{
	struct dentry *dir = rq->obj[0];
	struct rdmafsd_named n = {};
	int err;

	err = rdmafsd_remove_do(rq, dir, &rq->name[0], rmdir, &n);
	if (err)
		return err;
	/*
	 * If the file was kept only the directory is committed.  To commit the file, too, may
	 * write its data, which is in vain if no client comes back for it.
	 */
	err = n.kept ? rdmafsd_commit(rq->exp, dir) : rdmafsd_name_commit(rq, n.obj, dir);
	if (!err)
		err = rdmafsd_reply_changed(rq, &n.ochg, &n.dchg);
	dput(n.obj);
	return err;
}

static int rdmafsd_op_unlink(struct rdmafsd_rq *rq)
{
	return rdmafsd_remove(rq, false);
}

const struct rdmafsd_op rdmafsd_unlink_op = {
	RDMAFSD_FIXED(struct rfp_req),
	.parts = { RDMAFSD_PART_DIR, RDMAFSD_PART_NAME },
	.as = RDMAFSD_AS_CALLER,
	.fn = rdmafsd_op_unlink,
};

static int rdmafsd_op_rmdir(struct rdmafsd_rq *rq)
{
	return rdmafsd_remove(rq, true);
}

const struct rdmafsd_op rdmafsd_rmdir_op = {
	RDMAFSD_FIXED(struct rfp_req),
	.parts = { RDMAFSD_PART_DIR, RDMAFSD_PART_NAME },
	.as = RDMAFSD_AS_CALLER,
	.fn = rdmafsd_op_rmdir,
};

/**
 * struct rdmafsd_rename - a rename under way, on the stack of the request
 * @od:    old directory, a reference of the request
 * @nd:    new directory, a reference of the request
 * @oname: old name
 * @nname: new name
 * @flags: RENAME_*
 * @mchg:  the change of @moved
 * @ochg:  the change of @od
 * @nchg:  the change of @nd, if it is not @od
 * @moved: the object that had the old name, once the rename is done, a reference; put when
 *         nothing is locked
 * @gone:  the dentry that had the new name, once the rename is done, a reference; put when
 *         nothing is locked, for its inode may be freed with it
 * @other: nothing was done, for the new name had become another file's
 */
struct rdmafsd_rename {
	struct dentry *od, *nd;
	const struct rfp_str *oname, *nname;
	unsigned int flags;
	struct rdmafsd_change mchg, ochg, nchg;
	struct dentry *moved, *gone;
	bool other;
};

static int rdmafsd_rename_check(struct rdmafsd_rename *r, struct dentry *old,
				struct dentry *new, struct dentry *trap)
{
	if (d_really_is_negative(old))
		return -ENOENT;
	if ((r->flags & RENAME_NOREPLACE) && d_really_is_positive(new))
		return -EEXIST;
	if ((r->flags & RENAME_EXCHANGE) && d_really_is_negative(new))
		return -ENOENT;
	/* A directory would move into itself. */
	if (old == trap)
		return -EINVAL;
	if (new == trap)
		return r->flags & RENAME_EXCHANGE ? -EINVAL : -ENOTEMPTY;
	return 0;
}

static int rdmafsd_rename_vfs(struct rdmafsd_rq *rq, struct rdmafsd_rename *r,
			      struct dentry *old, struct dentry *new, struct inode **delegated)
{
	bool other = d_really_is_positive(new);
	struct rdmafsd_change replaced;
	struct renamedata rd = {
		.old_mnt_idmap = rdmafsd_idmap(rq->exp),
		.old_dir = d_inode(r->od),
		.old_dentry = old,
		.new_mnt_idmap = rdmafsd_idmap(rq->exp),
		.new_dir = d_inode(r->nd),
		.new_dentry = new,
		.delegated_inode = delegated,
		.flags = r->flags,
	};
	int err;

	rdmafsd_change_begin(rq, r->od, &r->ochg);
	if (r->nd != r->od)
		rdmafsd_change_begin(rq, r->nd, &r->nchg);
	rdmafsd_change_begin_unlocked(rq, old, &r->mchg);
	if (other)
		rdmafsd_change_begin_unlocked(rq, new, &replaced);
	err = vfs_rename(&rd);
	if (other)
		rdmafsd_change_end(&replaced);
	rdmafsd_change_end(&r->mchg);
	if (r->nd != r->od)
		rdmafsd_change_end(&r->nchg);
	rdmafsd_change_end(&r->ochg);
	if (!err) {
		if (other)
			rdmafsd_change_keep(&replaced);
		rdmafsd_change_keep(&r->mchg);
		rdmafsd_change_keep(&r->ochg);
		if (r->nd != r->od)
			rdmafsd_change_keep(&r->nchg);
		r->moved = dget(old);
		r->gone = dget(new);
	}
	return err;
}

/* Only a rename that may replace an object removes that object's name. */
static bool rdmafsd_rename_replaces(const struct rdmafsd_rename *r)
{
	return !(r->flags & (RENAME_NOREPLACE | RENAME_EXCHANGE));
}

static int rdmafsd_rename_locked(struct rdmafsd_rq *rq, struct rdmafsd_rename *r,
				 struct dentry *trap, const struct rdmafsd_leaving *l,
				 struct inode **delegated)
{
	struct dentry *old, *new;
	int err;

	lockdep_assert_held_write(&d_inode(r->od)->i_rwsem);
	lockdep_assert_held_write(&d_inode(r->nd)->i_rwsem);
	old = rdmafsd_lookup(rq->exp, r->od, r->oname);
	if (IS_ERR(old))
		return PTR_ERR(old);
	new = rdmafsd_lookup(rq->exp, r->nd, r->nname);
	err = PTR_ERR_OR_ZERO(new);
	if (!err) {
		err = rdmafsd_rename_check(r, old, new, trap);
		r->other = !err && rdmafsd_rename_replaces(r) && !rdmafsd_leaving_is(rq, l, new);
		if (r->other)
			err = -EAGAIN;
		if (!err)
			err = rdmafsd_rename_vfs(rq, r, old, new, delegated);
		dput(new);
	}
	dput(old);
	return err;
}

/* Check that the old name exists: if not, the object that would be replaced must not be touched. */
static int rdmafsd_rename_source(struct rdmafsd_rq *rq, const struct rdmafsd_rename *r)
{
	struct dentry *old = rdmafsd_lookup_there(rq->exp, r->od, r->oname);

	if (IS_ERR(old))
		return PTR_ERR(old);
	dput(old);
	return 0;
}

static int rdmafsd_rename_try(struct rdmafsd_rq *rq, struct rdmafsd_rename *r,
			      struct inode **delegated)
{
	struct rdmafsd_leaving l = {};
	struct dentry *trap;
	int err;

	err = rdmafsd_rq_want_write(rq);
	if (err)
		return err;
	if (rdmafsd_rename_replaces(r))
		err = rdmafsd_rename_source(rq, r);
	if (!err && rdmafsd_rename_replaces(r))
		err = rdmafsd_leaving_begin(rq, r->nd, r->nname, &l, delegated);
	if (!err) {
		trap = lock_rename(r->nd, r->od);
		err = PTR_ERR_OR_ZERO(trap);
		if (!err) {
			err = rdmafsd_rename_locked(rq, r, trap, &l, delegated);
			unlock_rename(r->nd, r->od);
		}
	}
	/* An object that is moved over itself has kept its name. */
	rdmafsd_leaving_end(rq, &l, !err && l.obj && d_inode(l.obj) != d_inode(r->moved));
	rdmafsd_rq_drop_write(rq);
	rdmafsd_leaving_put(rq, &l);
	return err;
}

static int rdmafsd_rename_do(struct rdmafsd_rq *rq, struct rdmafsd_rename *r)
{
	struct inode *delegated = NULL;
	unsigned int tries = 0;
	int err;

	do {
		r->other = false;
		err = rdmafsd_rename_try(rq, r, &delegated);
	} while (rdmafsd_name_again(r->other, &err, &delegated, &tries));
	return err;
}

static int rdmafsd_rename_commit(struct rdmafsd_rq *rq, struct rdmafsd_rename *r)
{
	int err;

	/* Commit the new name first: a crash between the two leaves a name too many, not none. */
	err = rdmafsd_commit(rq->exp, r->nd);
	if (!err && r->od != r->nd)
		err = rdmafsd_commit(rq->exp, r->od);
	/*
	 * A journal has all of the rename in one transaction.  Without a journal the object
	 * itself has to be committed, too.  btrfs is one that needs it: if only the directory is
	 * committed, it loses a symbolic link with several names that replaced another object.
	 * Other file systems may do so.
	 */
	if (!err && rq->exp->commit != RDMAFSD_COMMIT_CALL)
		err = rdmafsd_commit(rq->exp, r->moved);
	return err;
}

static unsigned int rdmafsd_rename_flags(u32 wire)
{
	unsigned int flags = 0;

	if (wire & RFP_RENAME_NOREPLACE)
		flags |= RENAME_NOREPLACE;
	if (wire & RFP_RENAME_EXCHANGE)
		flags |= RENAME_EXCHANGE;
	if (wire & RFP_RENAME_WHITEOUT)
		flags |= RENAME_WHITEOUT;
	return flags;
}

static int rdmafsd_check_rename(struct rdmafsd_rq *rq)
{
	const struct rfp_rename_req *rreq = rq->args;
	u32 wire = le32_to_cpu(rreq->flags);

	if (wire & ~(RFP_RENAME_NOREPLACE | RFP_RENAME_EXCHANGE | RFP_RENAME_WHITEOUT))
		return -EINVAL;
	if ((wire & RFP_RENAME_EXCHANGE) && (wire & (RFP_RENAME_NOREPLACE | RFP_RENAME_WHITEOUT)))
		return -EINVAL;
	return 0;
}

static int rdmafsd_op_rename(struct rdmafsd_rq *rq)
{
	const struct rfp_rename_req *rreq = rq->args;
	struct rdmafsd_rename r = {
		.od = rq->obj[0],
		.nd = rq->obj[1],
		.oname = &rq->name[0],
		.nname = &rq->name[1],
		.flags = rdmafsd_rename_flags(le32_to_cpu(rreq->flags)),
	};
	int err;

	/* A whiteout is made without the check that the VFS makes for names. */
	if ((r.flags & RENAME_WHITEOUT) &&
	    !fsuidgid_has_mapping(d_inode(r.nd)->i_sb, rdmafsd_idmap(rq->exp)))
		return -EOVERFLOW;
	err = rdmafsd_rename_do(rq, &r);
	if (err)
		return err;
	dput(r.gone);
	err = rdmafsd_rename_commit(rq, &r);
	if (!err)
		err = rdmafsd_reply_changed(rq, &r.mchg, &r.ochg, r.nd == r.od ? &r.ochg : &r.nchg);
	dput(r.moved);
	return err;
}

const struct rdmafsd_op rdmafsd_rename_op = {
	RDMAFSD_PADDED(struct rfp_rename_req),
	.parts = { RDMAFSD_PART_DIR, RDMAFSD_PART_NAME, RDMAFSD_PART_DIR, RDMAFSD_PART_NAME },
	.as = RDMAFSD_AS_CALLER,
	.check = rdmafsd_check_rename,
	.fn = rdmafsd_op_rename,
};
