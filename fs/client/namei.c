// SPDX-License-Identifier: GPL-2.0
/*
 * Names: looking them up, believing them for a while, changing them.
 *
 * A cached name, positive or negative, is believed without a request as long as
 * the attributes of its directory are believed and no other client has changed
 * the directory since the name was looked up: d_fsdata holds the directory's
 * verifier of that time.  Otherwise the name is looked up again, which refreshes
 * the attributes of the object and of the directory.
 *
 * The last component of an open is never just believed, since the open must see
 * another client's rename that came before it.  A regular file is opened by its
 * name, in one request; anything else is looked up again.
 *
 * A change that this client makes is entered in the dcache when it succeeds.
 *
 * Ownership: the pointers of struct rdmafs_found lie in the op's reply, so the
 * op is put after their last use.
 */
#include <linux/namei.h>
#include <linux/slab.h>
#include "transport/points.h"
#include "client.h"

/**
 * rdmafs_dir_verifier - get the verifier for names that are about to be looked up
 * @dir: the directory
 *
 * To be taken before the request that finds the names: if another client's change becomes known
 * while the request is under way, the names are asked for again.
 *
 * Context: any, RCU walk included.
 * Return: the verifier.
 */
unsigned long rdmafs_dir_verifier(struct inode *dir)
{
	return READ_ONCE(RDMAFS_I(dir)->coh.verifier);
}

/* A name with this verifier, which no directory ever has, is asked for at its next use. */
#define RDMAFS_NAME_UNKNOWN	0

/**
 * rdmafs_dentry_fresh - note that the server has just confirmed a name
 * @dentry:   the name
 * @verifier: rdmafs_dir_verifier() of its directory, from before the request
 *
 * Context: any.
 */
void rdmafs_dentry_fresh(struct dentry *dentry, unsigned long verifier)
{
	WRITE_ONCE(dentry->d_fsdata, (void *)verifier);
}

/**
 * struct rdmafs_found - an object and its directory, from a reply
 * @fh:	   handle of the object
 * @attr:  attributes of the object; inside the op's reply
 * @dir:   attributes of the directory; inside the op's reply
 * @clock: op->clock of the request
 */
struct rdmafs_found {
	struct rfp_fh fh;
	const struct rfp_attr *attr;
	const struct rfp_attr *dir;
	u64 clock;
};

/* Decode attr and fh of the object and attr of the directory: 0 or -EIO. */
static int rdmafs_found_decode(struct rdmafs_op *op, struct rfp_dec *dec, struct super_block *sb,
			       struct rdmafs_found *found)
{
	found->attr = rfp_dec_fixed(dec, sizeof(*found->attr));
	rfp_dec_fh(dec, &found->fh);
	found->dir = rfp_dec_fixed(dec, sizeof(*found->dir));
	found->clock = op->clock;
	if (rfp_dec_end(dec) || rdmafs_attr_check(sb, found->attr) ||
	    rdmafs_attr_check(sb, found->dir))
		return -EIO;
	return 0;
}

/*
 * Send LOOKUP and take over the directory's attributes.  Returns 0 and @found; -ENOENT if there is
 * no such name; or another negative errno.  The caller puts *@opp, if it is not NULL, after it has
 * used @found.
 */
static int rdmafs_lookup_send(struct inode *dir, const struct qstr *name,
			      struct rdmafs_found *found, struct rdmafs_op **opp)
{
	const struct rfp_attr *attr;
	struct rdmafs_op *op;
	struct rfp_dec dec;
	int err;

	*opp = NULL;
	op = rdmafs_op_new(RDMAFS_M(dir->i_sb), RFP_LOOKUP, sizeof(struct rfp_req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	*opp = op;
	rdmafs_access_ask(op);
	rfp_enc_fh(&op->enc, &RDMAFS_I(dir)->fh);
	rfp_enc_str(&op->enc, name->name, name->len, RFP_NAME_MAX);
	err = rdmafs_op_run(op);
	if (err && err != -ENOENT)
		return err;
	if (!rdmafs_op_reply(op, &dec, sizeof(struct rfp_rep)))
		return -EIO;
	if (err == -ENOENT) {
		attr = rfp_dec_fixed(&dec, sizeof(*attr));
		if (rfp_dec_end(&dec) || rdmafs_attr_check(dir->i_sb, attr))
			return -EIO;
		rdmafs_attr_fresh(dir, attr, op->clock);
		rdmafs_access_note(dir, op, attr);
		return -ENOENT;
	}
	err = rdmafs_found_decode(op, &dec, dir->i_sb, found);
	if (!err) {
		rdmafs_attr_fresh(dir, found->dir, op->clock);
		rdmafs_access_note(dir, op, found->dir);
	}
	return err;
}

static struct dentry *rdmafs_lookup(struct inode *dir, struct dentry *dentry, unsigned int flags)
{
	unsigned long verifier;
	struct rdmafs_found found;
	struct inode *inode = NULL;
	struct dentry *res;
	struct rdmafs_op *op;
	int err;

	if (dentry->d_name.len > RFP_NAME_MAX)
		return ERR_PTR(-ENAMETOOLONG);
	/*
	 * mkdir, mknod, symlink and link need no LOOKUP: the server answers EEXIST to the request
	 * itself.  But for a caller that may not write to the directory the VFS sends no request,
	 * so the caller has to learn here whether the name exists.  The name stays unhashed until
	 * it has been made.
	 */
	if ((flags & (LOOKUP_CREATE | LOOKUP_EXCL)) == (LOOKUP_CREATE | LOOKUP_EXCL) &&
	    !(flags & (LOOKUP_OPEN | LOOKUP_RENAME_TARGET)) &&
	    !inode_permission(&nop_mnt_idmap, dir, MAY_WRITE | MAY_EXEC))
		return NULL;

	verifier = rdmafs_dir_verifier(dir);
	err = rdmafs_lookup_send(dir, &dentry->d_name, &found, &op);
	if (!err)
		inode = rdmafs_iget(dir->i_sb, &found.fh, found.attr, found.clock);
	else if (err != -ENOENT)
		inode = ERR_PTR(err);
	if (!IS_ERR_OR_NULL(inode))
		rdmafs_access_note(inode, op, found.attr);
	if (op)
		rdmafs_op_put(op);
	rdmafs_dentry_fresh(dentry, verifier);
	res = d_splice_alias(inode, dentry);
	if (!IS_ERR_OR_NULL(res))
		rdmafs_dentry_fresh(res, verifier);
	return res;
}

/* Ask whether the name still stands for the same object: 1 (yes), 0 or a negative errno. */
static int rdmafs_reval_ask(struct inode *dir, struct dentry *dentry)
{
	unsigned long verifier = rdmafs_dir_verifier(dir);
	struct inode *inode = d_inode(dentry);
	struct rdmafs_found found;
	struct name_snapshot name;
	struct rdmafs_op *op;
	int err;

	take_dentry_name_snapshot(&name, dentry);
	err = rdmafs_lookup_send(dir, &name.name, &found, &op);
	release_dentry_name_snapshot(&name);
	if (err == -ENOENT) {
		err = !inode;
	} else if (err == -ESTALE || err == -ENOTDIR) {
		err = 0;
	} else if (!err) {
		err = inode && rdmafs_same_fh(inode, &found.fh) &&
		      !((inode->i_mode ^ le32_to_cpu(found.attr->mode)) & S_IFMT);
		if (err) {
			clear_bit(RDMAFS_I_STALE, &RDMAFS_I(inode)->flags);
			rdmafs_attr_fresh(inode, found.attr, found.clock);
			rdmafs_access_note(inode, op, found.attr);
		}
	}
	if (op)
		rdmafs_op_put(op);
	if (err == 1)
		rdmafs_dentry_fresh(dentry, verifier);
	return err;
}

/* May the name be used without a request? */
static bool rdmafs_d_believed(struct inode *dir, struct dentry *dentry, struct inode *inode,
			      unsigned int flags)
{
	if (flags & LOOKUP_REVAL)
		return false;
	/* Opening a regular file by its name confirms the name: rdmafs_open_dentry(). */
	if (flags & LOOKUP_OPEN)
		return inode && S_ISREG(inode->i_mode) &&
		       !(flags & (LOOKUP_EXCL | LOOKUP_DIRECTORY));
	return !rdmafs_attr_expired(dir) &&
	       (unsigned long)READ_ONCE(dentry->d_fsdata) == rdmafs_dir_verifier(dir) &&
	       !(inode && test_bit(RDMAFS_I_STALE, &RDMAFS_I(inode)->flags));
}

static int rdmafs_d_revalidate(struct dentry *dentry, unsigned int flags)
{
	struct dentry *parent;
	struct inode *dir, *inode;
	bool valid;
	int ret;

	if (flags & LOOKUP_RCU) {
		dir = d_inode_rcu(READ_ONCE(dentry->d_parent));
		inode = d_inode_rcu(dentry);
	} else {
		inode = d_inode(dentry);
		/*
		 * Do not ask for a negative name that is about to be made or replaced:
		 * rdmafs_lookup() or the change itself finds out what the server has.
		 */
		if (!inode && (flags & (LOOKUP_CREATE | LOOKUP_RENAME_TARGET)))
			return 0;
		parent = dget_parent(dentry);
		dir = d_inode(parent);
	}
	valid = dir && rdmafs_d_believed(dir, dentry, inode, flags);
	if (flags & LOOKUP_RCU)
		return valid ? 1 : -ECHILD;
	ret = valid ? 1 : rdmafs_reval_ask(dir, dentry);
	dput(parent);
	return ret;
}

/*
 * The walk has jumped to the object (/proc/self/fd, "."), so that no name was looked up: ask for
 * the object.  A directory that is opened this way is asked for in any case, so that it is not
 * read as it was before the open.
 */
static int rdmafs_d_weak_revalidate(struct dentry *dentry, unsigned int flags)
{
	struct inode *inode = d_inode(dentry);
	int err;

	if (!inode)
		return 1;
	err = rdmafs_revalidate(inode, (flags & LOOKUP_OPEN) && S_ISDIR(inode->i_mode));
	return err == -ESTALE ? 0 : err ? err : 1;
}

/**
 * struct rdmafs_make - an object to be made
 * @nr:	    RFP_MKDIR, RFP_MKNOD or RFP_SYMLINK
 * @mode:   type and permissions
 * @dev:    number of a device node
 * @target: target of a symbolic link, else NULL
 */
struct rdmafs_make {
	enum rfp_op nr;
	umode_t mode;
	dev_t dev;
	const char *target;
};

/* Enter an object that has been made, or opened by its name, in the dcache. */
static int rdmafs_made(struct inode *dir, struct dentry *dentry, struct rdmafs_found *found,
		       unsigned long verifier)
{
	struct inode *inode;
	struct dentry *res;

	inode = rdmafs_iget(dir->i_sb, &found->fh, found->attr, found->clock);
	if (IS_ERR(inode)) {
		d_drop(dentry);
		return PTR_ERR(inode);
	}
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

static int rdmafs_make(struct inode *dir, struct dentry *dentry, const struct rdmafs_make *make)
{
	unsigned long verifier = rdmafs_dir_verifier(dir);
	const struct rfp_attr *dattr = NULL;
	struct rfp_mknod_req *req;
	struct rdmafs_found found;
	struct rdmafs_op *op;
	struct rfp_dec dec;
	size_t len;
	int err;

	if (dentry->d_name.len > RFP_NAME_MAX)
		return -ENAMETOOLONG;
	op = rdmafs_op_new(RDMAFS_M(dir->i_sb), make->nr, sizeof(*req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	req = (struct rfp_mknod_req *)op->req;
	req->mode = cpu_to_le32(make->mode);
	req->umask = cpu_to_le32(current_umask());
	req->rdev_major = cpu_to_le32(MAJOR(make->dev));
	req->rdev_minor = cpu_to_le32(MINOR(make->dev));
	rfp_enc_fh(&op->enc, &RDMAFS_I(dir)->fh);
	rfp_enc_str(&op->enc, dentry->d_name.name, dentry->d_name.len, RFP_NAME_MAX);
	if (make->target) {
		len = strlen(make->target);
		err = len > RFP_SYMLINK_MAX ? -ENAMETOOLONG :
		      rdmafs_op_buf(op, RDMAFS_XPRT_WRITE, len);
		if (err)
			goto out;
		memcpy(op->buf, make->target, len);
	}

	rdmafs_attr_own_begin(dir);
	err = rdmafs_op_run(op);
	if (!err) {
		rdmafs_op_reply(op, &dec, sizeof(struct rfp_rep));
		err = rdmafs_found_decode(op, &dec, dir->i_sb, &found);
		if (!err)
			dattr = found.dir;
	}
	rdmafs_attr_own_end(dir, dattr, op->clock);
	if (!err)
		err = rdmafs_made(dir, dentry, &found, verifier);
	else
		/* The object may have been made or not: the next use looks the name up. */
		d_drop(dentry);
out:
	rdmafs_op_put(op);
	return err;
}

static int rdmafs_mkdir(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
			umode_t mode)
{
	struct rdmafs_make make = { .nr = RFP_MKDIR, .mode = mode | S_IFDIR };

	return rdmafs_make(dir, dentry, &make);
}

static int rdmafs_mknod(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
			umode_t mode, dev_t dev)
{
	struct rdmafs_make make = { .nr = RFP_MKNOD, .mode = mode, .dev = dev };

	return rdmafs_make(dir, dentry, &make);
}

/* Only for callers inside the kernel: open(2) goes through atomic_open. */
static int rdmafs_create(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
			 umode_t mode, bool excl)
{
	struct rdmafs_make make = { .nr = RFP_MKNOD, .mode = mode | S_IFREG };

	return rdmafs_make(dir, dentry, &make);
}

static int rdmafs_symlink(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
			  const char *target)
{
	struct rdmafs_make make = {
		.nr = RFP_SYMLINK, .mode = S_IFLNK | 0777, .target = target,
	};

	return rdmafs_make(dir, dentry, &make);
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

static int rdmafs_link(struct dentry *old, struct inode *dir, struct dentry *dentry)
{
	unsigned long verifier = rdmafs_dir_verifier(dir);
	const struct rfp_attr *attrs[2] = {};	/* the object, the directory */
	struct inode *inode = d_inode(old);
	struct rdmafs_op *op;
	int err;

	if (dentry->d_name.len > RFP_NAME_MAX)
		return -ENAMETOOLONG;
	op = rdmafs_op_new(RDMAFS_M(dir->i_sb), RFP_LINK, sizeof(struct rfp_req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	rfp_enc_fh(&op->enc, &RDMAFS_I(inode)->fh);
	rfp_enc_fh(&op->enc, &RDMAFS_I(dir)->fh);
	rfp_enc_str(&op->enc, dentry->d_name.name, dentry->d_name.len, RFP_NAME_MAX);

	rdmafs_attr_own_begin(dir);
	rdmafs_attr_own_begin(inode);
	err = rdmafs_op_run(op);
	if (!err)
		err = rdmafs_attrs(op, dir->i_sb, attrs, 2);
	rdmafs_attr_own_end(inode, attrs[0], op->clock);
	rdmafs_attr_own_end(dir, attrs[1], op->clock);
	rdmafs_op_put(op);
	if (err) {
		d_drop(dentry);
		return err;
	}
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

static int rdmafs_remove(struct inode *dir, struct dentry *dentry, enum rfp_op nr)
{
	unsigned long verifier = rdmafs_dir_verifier(dir);
	const struct rfp_attr *attrs[2] = {};	/* the object, the directory */
	struct inode *inode = d_inode(dentry);
	struct rdmafs_op *op;
	int err;

	if (dentry->d_name.len > RFP_NAME_MAX)
		return -ENAMETOOLONG;
	op = rdmafs_op_new(RDMAFS_M(dir->i_sb), nr, sizeof(struct rfp_req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	rfp_enc_fh(&op->enc, &RDMAFS_I(dir)->fh);
	rfp_enc_str(&op->enc, dentry->d_name.name, dentry->d_name.len, RFP_NAME_MAX);

	rdmafs_attr_own_begin(dir);
	rdmafs_attr_own_begin(inode);
	err = rdmafs_op_run(op);
	if (!err)
		err = rdmafs_attrs(op, dir->i_sb, attrs, 2);
	rdmafs_attr_own_end(inode, rdmafs_attr_of(inode, attrs[0]), op->clock);
	rdmafs_attr_own_end(dir, attrs[1], op->clock);
	rdmafs_op_put(op);
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

static int rdmafs_rename(struct mnt_idmap *idmap, struct inode *odir, struct dentry *odentry,
			 struct inode *ndir, struct dentry *ndentry, unsigned int flags)
{
	unsigned long verifier = rdmafs_dir_verifier(ndir);	/* as in rdmafs_remove() */
	const struct rfp_attr *attrs[3] = {};	/* the object that is moved, both directories */
	struct inode *inode = d_inode(odentry), *target = d_inode(ndentry);
	struct rfp_rename_req *req;
	struct rdmafs_op *op;
	u32 how = 0;
	bool same;
	int err;

	if (flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT))
		return -EINVAL;
	if (odentry->d_name.len > RFP_NAME_MAX || ndentry->d_name.len > RFP_NAME_MAX)
		return -ENAMETOOLONG;
	if (flags & RENAME_NOREPLACE)
		how |= RFP_RENAME_NOREPLACE;
	if (flags & RENAME_EXCHANGE)
		how |= RFP_RENAME_EXCHANGE;
	if (flags & RENAME_WHITEOUT)
		how |= RFP_RENAME_WHITEOUT;
	op = rdmafs_op_new(RDMAFS_M(odir->i_sb), RFP_RENAME, sizeof(*req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	req = (struct rfp_rename_req *)op->req;
	req->flags = cpu_to_le32(how);
	rfp_enc_fh(&op->enc, &RDMAFS_I(odir)->fh);
	rfp_enc_str(&op->enc, odentry->d_name.name, odentry->d_name.len, RFP_NAME_MAX);
	rfp_enc_fh(&op->enc, &RDMAFS_I(ndir)->fh);
	rfp_enc_str(&op->enc, ndentry->d_name.name, ndentry->d_name.len, RFP_NAME_MAX);

	rdmafs_attr_own_begin(inode);
	rdmafs_attr_own_begin(odir);
	if (ndir != odir)
		rdmafs_attr_own_begin(ndir);
	err = rdmafs_op_run(op);
	if (!err)
		err = rdmafs_attrs(op, odir->i_sb, attrs, 3);
	same = rdmafs_attr_of(inode, attrs[0]);
	rdmafs_attr_own_end(inode, rdmafs_attr_of(inode, attrs[0]), op->clock);
	rdmafs_attr_own_end(odir, attrs[1], op->clock);
	if (ndir != odir)
		rdmafs_attr_own_end(ndir, attrs[2], op->clock);
	rdmafs_op_put(op);

	if (err == -ENOENT || err == -EIO || err == -EINTR) {
		d_drop(odentry);
		d_drop(ndentry);
	}
	if (err)
		return err;
	/* Its change time and link count have changed, and the reply does not tell them. */
	if (target) {
		rdmafs_attr_expire(target);
		if (!(flags & RENAME_EXCHANGE)) {
			if (S_ISDIR(target->i_mode))
				clear_nlink(target);
			else if (target->i_nlink)
				drop_nlink(target);
		}
	}
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

/**
 * struct rdmafs_by_name - a file to be opened by its name, and perhaps made
 * @flags: RFP_OPEN_*
 * @how:   RFP_CREATE_*
 * @mode:  permissions of a new file
 * @locked: the caller holds the directory's lock, so that the op must not wait until another
 *	   client has given up a lease
 * @op:	   the request, whose reply @rep and @found point into; the caller puts it, if not NULL
 * @rep:   the reply
 * @found: the file that was opened
 */
struct rdmafs_by_name {
	u32 flags;
	u32 how;
	umode_t mode;
	bool locked;
	struct rdmafs_op *op;
	const struct rfp_open_rep *rep;
	struct rdmafs_found found;
};

/* Send CREATE: the server opens the file, and makes it before unless RFP_CREATE_NOT. */
static int rdmafs_by_name_ask(struct inode *dir, const struct qstr *name,
			      struct rdmafs_by_name *b)
{
	const struct rfp_attr *dattr = NULL;
	struct rfp_create_req *req;
	struct rdmafs_op *op;
	struct rfp_dec dec;
	int err;

	b->op = NULL;
	op = rdmafs_op_new(RDMAFS_M(dir->i_sb), RFP_CREATE, sizeof(*req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	b->op = op;
	req = (struct rfp_create_req *)op->req;
	req->mode = cpu_to_le32(b->mode & S_IALLUGO);
	req->umask = cpu_to_le32(current_umask());
	req->flags = cpu_to_le32(b->flags);
	req->how = cpu_to_le32(b->how);
	rfp_enc_fh(&op->enc, &RDMAFS_I(dir)->fh);
	rfp_enc_str(&op->enc, name->name, name->len, RFP_NAME_MAX);
	op->closes = true;
	op->once = b->locked;
	/* Without O_EXCL a restarted server may execute it a second time. */
	if (!(b->how & RFP_CREATE_EXCL))
		op->call.flags |= RDMAFS_CALL_IDEMPOTENT;

	if (!(b->how & RFP_CREATE_NOT))
		rdmafs_attr_own_begin(dir);
	err = rdmafs_op_run(op);
	if (!err) {
		b->rep = rdmafs_op_reply(op, &dec, sizeof(*b->rep));
		err = rdmafs_found_decode(op, &dec, dir->i_sb, &b->found);
		if (!err)
			err = rdmafs_open_rep_check(b->rep, RFP_OPEN_CREATED);
		if (!err)
			dattr = b->found.dir;
		else
			rdmafs_open_undo(op);
	}
	if (!(b->how & RFP_CREATE_NOT))
		rdmafs_attr_own_end(dir, dattr, op->clock);
	else if (dattr)
		rdmafs_attr_fresh(dir, dattr, op->clock);
	return err;
}

/*
 * Send CREATE, and once more if the server may have made the file and the answer was lost with the
 * session: the mode of the new file may deny the open to the caller that has made it.
 */
static int rdmafs_by_name_send(struct inode *dir, const struct qstr *name,
			       struct rdmafs_by_name *b)
{
	struct rdmafs_mount *mnt = RDMAFS_M(dir->i_sb);
	int session = atomic_read(&mnt->session);
	int err;

	err = rdmafs_by_name_ask(dir, name, b);
	if (err != -EACCES || b->how || session == atomic_read(&mnt->session))
		return err;
	rdmafs_op_put(b->op);
	rdmafs_test_point("create_again", dir->i_ino);
	b->how = RFP_CREATE_AGAIN;
	return rdmafs_by_name_ask(dir, name, b);
}

static struct rdmafs_open *rdmafs_by_name_open(struct inode *inode, const struct rdmafs_by_name *b)
{
	return rdmafs_open_new(inode, b->op->cred, b->flags, b->rep, b->op->answered);
}

static int rdmafs_by_name_attach(struct inode *dir, struct dentry *dentry, struct file *file,
				 struct rdmafs_by_name *b, unsigned long verifier)
{
	struct rdmafs_open *open;
	int err;

	err = rdmafs_made(dir, dentry, &b->found, verifier);
	if (!err && !d_is_reg(dentry))
		err = -EIO;
	if (err)
		goto undo;
	open = rdmafs_by_name_open(d_inode(dentry), b);
	if (IS_ERR(open)) {
		err = PTR_ERR(open);
		goto undo;
	}
	if (le32_to_cpu(b->rep->flags) & RFP_OPEN_CREATED)
		file->f_mode |= FMODE_CREATED;
	rdmafs_file_attach(file, open);
	/*
	 * finish_open() may need ops.  A task must not hold an op while it waits for another one
	 * of the same pool.
	 */
	rdmafs_op_put(b->op);
	b->op = NULL;
	/* Once finish_open() has opened the file, its release puts the open. */
	err = finish_open(file, dentry, rdmafs_file_open_atomic);
	if (err && !(file->f_mode & FMODE_OPENED)) {
		rdmafs_file_attach(file, NULL);
		rdmafs_open_put_sync(open);
	}
	return err;

undo:
	rdmafs_open_undo(b->op);
	return err;
}

static int rdmafs_open_new_name(struct inode *dir, struct dentry *dentry, struct file *file,
				unsigned int flags, umode_t mode)
{
	unsigned long verifier = rdmafs_dir_verifier(dir);
	struct rdmafs_by_name b = {
		.flags = rdmafs_open_flags(file), .mode = mode, .locked = true,
	};
	int err;

	if (!(flags & O_CREAT))
		b.how = RFP_CREATE_NOT;
	else if (flags & O_EXCL)
		b.how = RFP_CREATE_EXCL;
	err = rdmafs_by_name_send(dir, &dentry->d_name, &b);
	if (!err) {
		err = rdmafs_by_name_attach(dir, dentry, file, &b, verifier);
	} else if (err == -EIO || err == -EINTR) {
		d_drop(dentry);
	} else if (err == -ENOENT && d_in_lookup(dentry)) {
		rdmafs_dentry_fresh(dentry, verifier);
		d_splice_alias(NULL, dentry);
	}
	if (b.op)
		rdmafs_op_put(b.op);
	return err;
}

/*
 * May the caller search the directory, as far as this client knows?  0, -EACCES, -ECHILD if it
 * does not know, or another negative errno.
 */
static int rdmafs_search_known(struct inode *dir)
{
	int err;

	rcu_read_lock();
	err = inode_permission(&nop_mnt_idmap, dir, MAY_EXEC | MAY_NOT_BLOCK);
	rcu_read_unlock();
	return err;
}

/*
 * Opening a file by its name failed with EACCES.  There are two reasons:
 *
 * The name leads to a file that the caller may not open: this one, or another one that has the
 * name by now.
 *
 * Or the caller may not search the directory, and has not come by this name: the file is mounted
 * somewhere else, or was open already (/proc/self/fd).  Then the caller means the handle.  But a
 * caller that could search the directory when it began, as far as was known here, has come by the
 * name.  @search is what rdmafs_search_known() returned then.
 */
static int rdmafs_open_denied(struct inode *inode, struct inode *dir, const struct qstr *name,
			      int search, u32 flags, struct rdmafs_open **openp)
{
	struct rdmafs_found found;
	struct rdmafs_op *op;
	int err;

	if (search == -ECHILD)
		search = inode_permission(&nop_mnt_idmap, dir, MAY_EXEC);
	err = rdmafs_lookup_send(dir, name, &found, &op);
	if (op)
		rdmafs_op_put(op);
	if (!err)
		return rdmafs_same_fh(inode, &found.fh) ? -EACCES : -ENOENT;
	return err == -EACCES && search == -EACCES ? rdmafs_open_send(inode, flags, openp) : err;
}

/**
 * rdmafs_open_dentry - open a file that has been found by its name
 * @dentry: the file, positive
 * @flags:  RFP_OPEN_*
 * @openp:  out: the open, with a reference for the caller
 *
 * The file is opened by its name, which need not be confirmed before: this finds out whether the
 * name still stands for the file.  A file that has no name here, or that the caller can't have
 * found by its name, is opened by its handle.
 *
 * Context: process, may sleep; the wait is killable.
 * Return: 0; -EOPENSTALE: the name stands for another object or for none, and has been
 * dropped; or another negative errno.
 */
int rdmafs_open_dentry(struct dentry *dentry, u32 flags, struct rdmafs_open **openp)
{
	struct inode *inode = d_inode(dentry);
	struct rdmafs_by_name b = { .flags = flags, .how = RFP_CREATE_NOT };
	struct name_snapshot name;
	unsigned long verifier;
	struct dentry *parent;
	int err, search;

	if (d_unhashed(dentry) || IS_ROOT(dentry))
		return rdmafs_open_send(inode, flags, openp);
	parent = dget_parent(dentry);
	search = rdmafs_search_known(d_inode(parent));
	verifier = rdmafs_dir_verifier(d_inode(parent));
	take_dentry_name_snapshot(&name, dentry);
	err = rdmafs_by_name_send(d_inode(parent), &name.name, &b);
	if (!err && !rdmafs_same_fh(inode, &b.found.fh)) {
		rdmafs_open_undo(b.op);
		err = -ENOENT;
	} else if (err == -EACCES) {
		rdmafs_op_put(b.op);
		b.op = NULL;
		err = rdmafs_open_denied(inode, d_inode(parent), &name.name, search, flags, openp);
	}
	release_dentry_name_snapshot(&name);
	dput(parent);
	switch (err) {
	case 0:
		if (!b.op)
			break;
		clear_bit(RDMAFS_I_STALE, &RDMAFS_I(inode)->flags);
		rdmafs_attr_fresh(inode, b.found.attr, b.found.clock);
		rdmafs_dentry_fresh(dentry, verifier);
		*openp = rdmafs_by_name_open(inode, &b);
		if (IS_ERR(*openp)) {
			rdmafs_open_undo(b.op);
			err = PTR_ERR(*openp);
		}
		break;
	case -ENOENT:
	case -ENOTDIR:
	case -ESTALE:
	case -EISDIR:
	case -ELOOP:
	case -EOPNOTSUPP:
		d_drop(dentry);
		err = -EOPENSTALE;
		break;
	}
	if (b.op)
		rdmafs_op_put(b.op);
	return err;
}

static int rdmafs_atomic_open(struct inode *dir, struct dentry *dentry, struct file *file,
			      unsigned int flags, umode_t mode)
{
	struct dentry *res = NULL;
	int err;

	if (dentry->d_name.len > RFP_NAME_MAX)
		return -ENAMETOOLONG;
	if (!(flags & O_DIRECTORY) && ((flags & O_CREAT) || d_in_lookup(dentry))) {
		err = rdmafs_open_new_name(dir, dentry, file, flags, mode);
		switch (err) {
		case -EEXIST:
			if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
				return err;
			break;
		case -EISDIR:
		case -ELOOP:
		case -EINVAL:
		case -ENXIO:
		case -ENODEV:
		case -EOPNOTSUPP:
			/*
			 * Not a regular file, but a link to be followed, or a FIFO or device of
			 * this machine: look it up.
			 */
		case -EAGAIN:
			/* Another client has a lease: the open waits after the lock is dropped. */
			break;
		default:
			return err;
		}
	}
	/*
	 * O_CREAT with a name that the dcache has as negative: it comes here hashed, and has to be
	 * looked up all the same.
	 */
	if (!d_in_lookup(dentry)) {
		if (!(flags & O_CREAT) || !d_is_negative(dentry))
			return finish_no_open(file, NULL);
		d_drop(dentry);
	}
	res = rdmafs_lookup(dir, dentry, 0);
	if (IS_ERR(res))
		return PTR_ERR(res);
	return finish_no_open(file, res);
}

static const char *rdmafs_get_link(struct dentry *dentry, struct inode *inode,
				   struct delayed_call *done)
{
	struct rdmafs_mount *mnt = RDMAFS_M(inode->i_sb);
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
	op = rdmafs_op_new(mnt, RFP_READLINK, sizeof(struct rfp_req));
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
	.permission	= rdmafs_permission,
	.getattr	= rdmafs_getattr,
	.setattr	= rdmafs_setattr,
	.listxattr	= rdmafs_listxattr,
	.get_inode_acl	= rdmafs_get_inode_acl,
	.set_acl	= rdmafs_set_acl,
};

const struct inode_operations rdmafs_symlink_iops = {
	.get_link	= rdmafs_get_link,
	.permission	= rdmafs_permission,
	.getattr	= rdmafs_getattr,
	.setattr	= rdmafs_setattr,
	.listxattr	= rdmafs_listxattr,
};

const struct dentry_operations rdmafs_dentry_ops = {
	.d_revalidate	= rdmafs_d_revalidate,
	.d_weak_revalidate = rdmafs_d_weak_revalidate,
};
