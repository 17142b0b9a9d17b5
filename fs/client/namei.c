// SPDX-License-Identifier: GPL-2.0
/*
 * Change names: make objects, link, remove and rename them; and read symbolic links.
 *
 * A change that this client makes is entered in the dcache when it succeeds.  If its answer is lost
 * with the session, unanswered.c finds out whether it was made.
 */
#include <linux/slab.h>
#include "transport/points.h"
#include "client.h"
#include "dir.h"
#include "op.h"
#include "unanswered.h"

/**
 * struct rdmafs_make - an object to be made
 * @nr:	    RFP_MKDIR, RFP_MKNOD or RFP_SYMLINK
 * @mode:   type and permissions
 * @dev:    number of a device node
 * @target: target of a symbolic link, else NULL
 * @label:  its security label; rdmafs_make() sets it
 */
struct rdmafs_make {
	enum rfp_op nr;
	umode_t mode;
	dev_t dev;
	const char *target;
	struct rdmafs_seclabel label;
};

/**
 * rdmafs_made - enter an object that has been made, or opened by its name, in the dcache
 * @dir:      its directory
 * @dentry:   its name
 * @inode:    the object; the caller's reference goes
 * @verifier: rdmafs_dir_verifier() of @dir, from before the request
 *
 * Context: process, may sleep; the directory's lock held, and no op: a security module may ask for
 * the object's label.
 * Return: 0 or a negative errno.
 */
int rdmafs_made(struct inode *dir, struct dentry *dentry, struct inode *inode,
		unsigned long verifier)
{
	struct dentry *res;

	lockdep_assert_held(&dir->i_rwsem);
	rdmafs_dentry_fresh(dentry, verifier);
	if (!d_unhashed(dentry)) {
		d_instantiate(dentry, inode);
		return 0;
	}
	res = d_splice_alias(inode, dentry);
	if (IS_ERR(res))
		return PTR_ERR(res);
	/* Another task looked it up under another name before this one had the reply. */
	dput(res);
	return 0;
}

/* Build the request that makes an object. */
static int rdmafs_make_request(struct rdmafs_op *op, struct inode *dir, struct dentry *dentry,
			       const struct rdmafs_make *make)
{
	struct rfp_mknod_req *req = (struct rfp_mknod_req *)op->req;
	size_t len;
	int err;

	req->mode = cpu_to_le32(make->mode);
	req->umask = cpu_to_le32(current_umask());
	req->rdev_major = cpu_to_le32(MAJOR(make->dev));
	req->rdev_minor = cpu_to_le32(MINOR(make->dev));
	rfp_enc_fh(&op->enc, &RDMAFS_I(dir)->fh);
	rfp_enc_str(&op->enc, dentry->d_name.name, dentry->d_name.len, RFP_NAME_MAX);
	rdmafs_seclabel_send(op, dir->i_sb, &make->label);
	if (!make->target)
		return 0;
	len = strlen(make->target);
	err = len > RFP_SYMLINK_MAX ? -ENAMETOOLONG : rdmafs_op_buf(op, RDMAFS_XPRT_WRITE, len);
	if (!err)
		memcpy(op->buf, make->target, len);
	return err;
}

/* Have the server make an object: its inode, or an ERR_PTR; @lost: its answer was lost. */
static struct inode *rdmafs_make_ask(struct inode *dir, struct dentry *dentry,
				     const struct rdmafs_make *make, bool *lost)
{
	const struct rfp_attr *dattr = NULL;
	struct rdmafs_found found;
	struct inode *inode;
	struct rdmafs_op *op;
	struct rfp_dec dec;
	int err;

	*lost = false;
	op = rdmafs_op_new(RDMAFS_S(dir->i_sb), make->nr, sizeof(struct rfp_mknod_req));
	if (IS_ERR(op))
		return ERR_CAST(op);
	err = rdmafs_make_request(op, dir, dentry, make);
	if (err) {
		rdmafs_op_put(op);
		return ERR_PTR(err);
	}
	rdmafs_attr_own_begin(dir);
	err = rdmafs_op_run(op);
	*lost = err && rdmafs_op_unanswered(op);
	if (!err) {
		rdmafs_op_reply(op, &dec, sizeof(struct rfp_rep));
		err = rdmafs_found_decode(op, &dec, dir->i_sb, &found);
		if (!err)
			dattr = found.dir;
	}
	rdmafs_attr_own_end(dir, dattr, op->clock);
	inode = err ? ERR_PTR(err) : rdmafs_found_inode(dir->i_sb, &found);
	/* The object may have been made or not: the next use looks the name up. */
	if (IS_ERR(inode))
		d_drop(dentry);
	rdmafs_op_put(op);
	return inode;
}

static int rdmafs_make(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
		       struct rdmafs_make *make)
{
	unsigned long verifier = rdmafs_dir_verifier(dir);
	struct rdmafs_resolve r;
	struct inode *inode;
	bool again, lost;
	int err;

	if (dentry->d_name.len > RFP_NAME_MAX)
		return -ENAMETOOLONG;
	err = rdmafs_idmap_tell(RDMAFS_M(dir->i_sb), idmap, false);
	if (!err)
		err = rdmafs_seclabel_new(dentry, make->mode, &make->label);
	if (err)
		return err;
	rdmafs_resolve_begin(&r, dir, NULL, NULL);
	do {
		inode = rdmafs_make_ask(dir, dentry, make, &lost);
		again = lost && rdmafs_resolve_make(&r, make->nr, &dentry->d_name, &err);
	} while (again);
	if (lost)
		inode = ERR_PTR(err);
	rdmafs_seclabel_free(&make->label);
	return IS_ERR(inode) ? PTR_ERR(inode) : rdmafs_made(dir, dentry, inode, verifier);
}

static int rdmafs_mkdir(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
			umode_t mode)
{
	struct rdmafs_make make = { .nr = RFP_MKDIR, .mode = mode | S_IFDIR };

	return rdmafs_make(idmap, dir, dentry, &make);
}

static int rdmafs_mknod(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
			umode_t mode, dev_t dev)
{
	struct rdmafs_make make = { .nr = RFP_MKNOD, .mode = mode, .dev = dev };

	return rdmafs_make(idmap, dir, dentry, &make);
}

/**
 * rdmafs_make_file - make a regular file that need not be opened
 * @idmap:  of the mount
 * @dir:    the directory
 * @dentry: the name
 * @mode:   permissions
 *
 * Context: process, may sleep; the directory's lock held.
 * Return: 0 or a negative errno.
 */
int rdmafs_make_file(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
		     umode_t mode)
{
	struct rdmafs_make make = { .nr = RFP_MKNOD, .mode = mode | S_IFREG };

	return rdmafs_make(idmap, dir, dentry, &make);
}

static int rdmafs_symlink(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
			  const char *target)
{
	struct rdmafs_make make = {
		.nr = RFP_SYMLINK, .mode = S_IFLNK | 0777, .target = target,
	};

	return rdmafs_make(idmap, dir, dentry, &make);
}

/*
 * Decode a reply that consists of @nr attributes, of the objects that the op changed.  If any is
 * unsound all of @attrs become NULL.  0 or -EIO.
 */
static int rdmafs_attrs(struct rdmafs_op *op, struct super_block *sb,
			const struct rfp_attr **attrs, unsigned int nr)
{
	struct rfp_dec dec;
	unsigned int i;
	int err = 0;

	rdmafs_op_reply(op, &dec, sizeof(struct rfp_rep));
	for (i = 0; i < nr; i++) {
		attrs[i] = rfp_dec_fixed(&dec, sizeof(*attrs[i]));
		if (rdmafs_attr_check(sb, attrs[i]))
			err = -EIO;
	}
	if (!err && !rfp_dec_end(&dec))
		return 0;
	memset(attrs, 0, nr * sizeof(*attrs));
	return -EIO;
}

/*
 * The file has got a name.  If it had none before (tmpfile.c), it must not be without a link here,
 * also if it has changed since and the attributes of the reply were not taken over.
 */
static void rdmafs_linked(struct inode *inode)
{
	bool told;

	spin_lock(&inode->i_lock);
	told = inode->i_nlink;
	if (!told)
		set_nlink(inode, 1);
	spin_unlock(&inode->i_lock);
	if (!told)
		rdmafs_attr_expire(inode);
}

/* Have the server give an object a name; @lost: its answer was lost. */
static int rdmafs_link_ask(struct inode *inode, struct inode *dir, const struct dentry *dentry,
			   bool *lost)
{
	const struct rfp_attr *attrs[2] = {};	/* the object, the directory */
	struct rdmafs_op *op;
	int err;

	*lost = false;
	op = rdmafs_op_new(RDMAFS_S(dir->i_sb), RFP_LINK, sizeof(struct rfp_req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	rfp_enc_fh(&op->enc, &RDMAFS_I(inode)->fh);
	rfp_enc_fh(&op->enc, &RDMAFS_I(dir)->fh);
	rfp_enc_str(&op->enc, dentry->d_name.name, dentry->d_name.len, RFP_NAME_MAX);

	rdmafs_attr_own_begin(dir);
	rdmafs_attr_own_begin(inode);
	err = rdmafs_op_run(op);
	*lost = err && rdmafs_op_unanswered(op);
	if (!err)
		err = rdmafs_attrs(op, dir->i_sb, attrs, 2);
	rdmafs_attr_own_end(inode, attrs[0], op->clock);
	rdmafs_attr_own_end(dir, attrs[1], op->clock);
	rdmafs_op_put(op);
	return err;
}

static int rdmafs_link(struct dentry *old, struct inode *dir, struct dentry *dentry)
{
	unsigned long verifier = rdmafs_dir_verifier(dir);
	struct inode *inode = d_inode(old);
	struct rdmafs_resolve r;
	bool lost;
	int err;

	if (dentry->d_name.len > RFP_NAME_MAX)
		return -ENAMETOOLONG;
	err = rdmafs_idmap_may_link(inode);
	if (err)
		return err;
	rdmafs_resolve_begin(&r, dir, NULL, inode);
	do {
		err = rdmafs_link_ask(inode, dir, dentry, &lost);
	} while (lost && rdmafs_resolve_link(&r, &dentry->d_name, &err));
	if (err) {
		d_drop(dentry);
		return err;
	}
	rdmafs_linked(inode);
	ihold(inode);
	rdmafs_dentry_fresh(dentry, verifier);
	if (d_unhashed(dentry))
		d_add(dentry, inode);
	else
		d_instantiate(dentry, inode);
	return 0;
}

/*
 * @attr if it is of @inode, else NULL: on the server the name stood for another object than here.
 * That object may have the inode number that @inode had, but then it has another generation.
 */
static const struct rfp_attr *rdmafs_attr_of(struct inode *inode, const struct rfp_attr *attr)
{
	if (!attr || le64_to_cpu(attr->ino) != inode->i_ino ||
	    le32_to_cpu(attr->gen) != inode->i_generation)
		return NULL;
	return attr;
}

/* Have the server remove a name; @lost: its answer was lost. */
static int rdmafs_remove_ask(struct inode *dir, struct dentry *dentry, enum rfp_op nr, bool *lost)
{
	const struct rfp_attr *attrs[2] = {};	/* the object, the directory */
	struct inode *inode = d_inode(dentry);
	struct rdmafs_op *op;
	int err;

	*lost = false;
	op = rdmafs_op_new(RDMAFS_S(dir->i_sb), nr, sizeof(struct rfp_req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	rfp_enc_fh(&op->enc, &RDMAFS_I(dir)->fh);
	rfp_enc_str(&op->enc, dentry->d_name.name, dentry->d_name.len, RFP_NAME_MAX);

	rdmafs_attr_own_begin(dir);
	rdmafs_attr_own_begin(inode);
	err = rdmafs_op_run(op);
	*lost = err && rdmafs_op_unanswered(op);
	if (!err)
		err = rdmafs_attrs(op, dir->i_sb, attrs, 2);
	rdmafs_attr_own_end(inode, rdmafs_attr_of(inode, attrs[0]), op->clock);
	rdmafs_attr_own_end(dir, attrs[1], op->clock);
	rdmafs_op_put(op);
	return err;
}

static int rdmafs_remove(struct inode *dir, struct dentry *dentry, enum rfp_op nr)
{
	unsigned long verifier = rdmafs_dir_verifier(dir);
	struct inode *inode = d_inode(dentry);
	struct rdmafs_resolve r;
	bool lost;
	int err;

	if (dentry->d_name.len > RFP_NAME_MAX)
		return -ENAMETOOLONG;
	rdmafs_resolve_begin(&r, dir, NULL, inode);
	do {
		err = rdmafs_remove_ask(dir, dentry, nr, &lost);
	} while (lost && rdmafs_resolve_remove(&r, nr, &dentry->d_name, &err));
	if (err == -ENOENT || err == -EIO || err == -EINTR)
		d_drop(dentry);
	if (err)
		return err;
	rdmafs_test_point("name_removed", dir->i_ino);
	/*
	 * The name becomes a negative entry.  Its verifier is from before the request: another
	 * client may have made the name again by now, and it may be known already that the
	 * directory has changed.
	 */
	rdmafs_dentry_fresh(dentry, verifier);
	if (nr == RFP_RMDIR)
		clear_nlink(inode);
	return 0;
}

static int rdmafs_unlink(struct inode *dir, struct dentry *dentry)
{
	return rdmafs_remove(dir, dentry, RFP_UNLINK);
}

static int rdmafs_rmdir(struct inode *dir, struct dentry *dentry)
{
	return rdmafs_remove(dir, dentry, RFP_RMDIR);
}

static struct rdmafs_op *rdmafs_rename_op(struct inode *odir, struct dentry *odentry,
					  struct inode *ndir, struct dentry *ndentry,
					  unsigned int flags)
{
	struct rfp_rename_req *req;
	struct rdmafs_op *op;
	u32 how = 0;

	if (flags & RENAME_NOREPLACE)
		how |= RFP_RENAME_NOREPLACE;
	if (flags & RENAME_EXCHANGE)
		how |= RFP_RENAME_EXCHANGE;
	if (flags & RENAME_WHITEOUT)
		how |= RFP_RENAME_WHITEOUT;
	op = rdmafs_op_new(RDMAFS_S(odir->i_sb), RFP_RENAME, sizeof(*req));
	if (IS_ERR(op))
		return op;
	req = (struct rfp_rename_req *)op->req;
	req->flags = cpu_to_le32(how);
	rfp_enc_fh(&op->enc, &RDMAFS_I(odir)->fh);
	rfp_enc_str(&op->enc, odentry->d_name.name, odentry->d_name.len, RFP_NAME_MAX);
	rfp_enc_fh(&op->enc, &RDMAFS_I(ndir)->fh);
	rfp_enc_str(&op->enc, ndentry->d_name.name, ndentry->d_name.len, RFP_NAME_MAX);
	return op;
}

/*
 * The server has moved a name to where the one of @target was.  Its change time and link count have
 * changed, and the reply does not tell them.  @exchanged: it has the other name now.
 */
static void rdmafs_rename_over(struct inode *target, bool exchanged)
{
	rdmafs_attr_expire(target);
	if (exchanged)
		return;
	if (S_ISDIR(target->i_mode))
		clear_nlink(target);
	else if (target->i_nlink)
		drop_nlink(target);
}

/*
 * Have the server move a name; @same: it was that of the same object as here; @lost: the answer was
 * lost.
 */
static int rdmafs_rename_ask(struct inode *odir, struct dentry *odentry, struct inode *ndir,
			     struct dentry *ndentry, unsigned int flags, bool *same, bool *lost)
{
	const struct rfp_attr *attrs[3] = {};	/* the object that is moved, both directories */
	struct inode *inode = d_inode(odentry);
	struct rdmafs_op *op;
	int err;

	*same = false;
	*lost = false;
	op = rdmafs_rename_op(odir, odentry, ndir, ndentry, flags);
	if (IS_ERR(op))
		return PTR_ERR(op);
	rdmafs_attr_own_begin(inode);
	rdmafs_attr_own_begin(odir);
	if (ndir != odir)
		rdmafs_attr_own_begin(ndir);
	err = rdmafs_op_run(op);
	*lost = err && rdmafs_op_unanswered(op);
	if (!err)
		err = rdmafs_attrs(op, odir->i_sb, attrs, 3);
	*same = rdmafs_attr_of(inode, attrs[0]);
	rdmafs_attr_own_end(inode, rdmafs_attr_of(inode, attrs[0]), op->clock);
	rdmafs_attr_own_end(odir, attrs[1], op->clock);
	if (ndir != odir)
		rdmafs_attr_own_end(ndir, attrs[2], op->clock);
	rdmafs_op_put(op);
	return err;
}

static int rdmafs_rename(struct mnt_idmap *idmap, struct inode *odir, struct dentry *odentry,
			 struct inode *ndir, struct dentry *ndentry, unsigned int flags)
{
	unsigned long verifier = rdmafs_dir_verifier(ndir);	/* as in rdmafs_remove() */
	struct inode *inode = d_inode(odentry), *target = d_inode(ndentry);
	struct rdmafs_resolve r;
	bool same, lost;
	int err;

	if (flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT))
		return -EINVAL;
	if (odentry->d_name.len > RFP_NAME_MAX || ndentry->d_name.len > RFP_NAME_MAX)
		return -ENAMETOOLONG;
	err = rdmafs_idmap_tell(RDMAFS_M(odir->i_sb), idmap, false);
	if (err)
		return err;
	rdmafs_resolve_begin(&r, odir, ndir, inode);
	do {
		err = rdmafs_rename_ask(odir, odentry, ndir, ndentry, flags, &same, &lost);
	} while (lost && rdmafs_resolve_rename(&r, &odentry->d_name, ndir, &ndentry->d_name,
					       flags & RENAME_EXCHANGE ? target : NULL, &err));
	/* What has been proved is that it was this object. */
	same |= lost;
	if (err == -ENOENT || err == -EIO || err == -EINTR) {
		d_drop(odentry);
		d_drop(ndentry);
	}
	if (err)
		return err;
	if (target)
		rdmafs_rename_over(target, flags & RENAME_EXCHANGE);
	rdmafs_test_point("name_removed", odir->i_ino);
	/*
	 * Next, the VFS moves the names with the objects that they stand for here.  If the server
	 * has moved another object, the next use of the name has to ask; so it has for the object
	 * that was exchanged with it, of which the reply says nothing.
	 */
	rdmafs_dentry_fresh(odentry, same ? verifier : RDMAFS_NAME_UNKNOWN);
	rdmafs_dentry_fresh(ndentry, RDMAFS_NAME_UNKNOWN);
	return 0;
}

static const char *rdmafs_get_link(struct dentry *dentry, struct inode *inode,
				   struct delayed_call *done)
{
	struct rdmafs_op *op;
	struct rfp_dec dec;
	char *link, *old;
	int err;

	/* The target of a handle never changes, so it is asked for once. */
	link = READ_ONCE(inode->i_link);
	if (link)
		return link;
	if (!dentry)
		return ERR_PTR(-ECHILD);
	op = rdmafs_op_new(RDMAFS_S(inode->i_sb), RFP_READLINK, sizeof(struct rfp_req));
	if (IS_ERR(op))
		return ERR_CAST(op);
	rfp_enc_fh(&op->enc, &RDMAFS_I(inode)->fh);
	err = rdmafs_op_buf(op, RDMAFS_XPRT_READ, RFP_SYMLINK_MAX);
	if (!err)
		err = rdmafs_op_run(op);
	if (err)
		goto out;
	rdmafs_op_reply(op, &dec, sizeof(struct rfp_rep));
	err = -EIO;
	if (rfp_dec_end(&dec) || !op->call.data_len || op->call.data_len > RFP_SYMLINK_MAX ||
	    memchr(op->buf, 0, op->call.data_len))
		goto out;
	err = -ENOMEM;
	link = kmemdup_nul(op->buf, op->call.data_len, GFP_KERNEL);
	if (!link)
		goto out;
	old = cmpxchg(&inode->i_link, NULL, link);
	if (old) {
		kfree(link);
		link = old;
	}
	err = 0;
out:
	rdmafs_op_put(op);
	return err ? ERR_PTR(err) : link;
}

const struct inode_operations rdmafs_dir_iops = {
	.lookup		= rdmafs_lookup,
	.atomic_open	= rdmafs_atomic_open,
	.create		= rdmafs_create,
	.link		= rdmafs_link,
	.unlink		= rdmafs_unlink,
	.symlink	= rdmafs_symlink,
	.mkdir		= rdmafs_mkdir,
	.rmdir		= rdmafs_rmdir,
	.mknod		= rdmafs_mknod,
	.rename		= rdmafs_rename,
	.tmpfile	= rdmafs_tmpfile,
	.permission	= rdmafs_permission,
	.getattr	= rdmafs_getattr,
	.setattr	= rdmafs_setattr,
	.listxattr	= rdmafs_listxattr,
	.get_inode_acl	= rdmafs_get_inode_acl,
	.set_acl	= rdmafs_set_acl,
	.fileattr_get	= rdmafs_fileattr_get,
	.fileattr_set	= rdmafs_fileattr_set,
};

const struct inode_operations rdmafs_symlink_iops = {
	.get_link	= rdmafs_get_link,
	.permission	= rdmafs_permission,
	.getattr	= rdmafs_getattr,
	.setattr	= rdmafs_setattr,
	.listxattr	= rdmafs_listxattr,
};
