// SPDX-License-Identifier: GPL-2.0
/*
 * Open a file by its name, in one request, and make it in the same if need be.
 *
 * The last component of an open is never just believed, since the open must see another client's
 * rename that came before it.  A regular file is opened by its name; anything else is looked up
 * again.
 */
#include <linux/namei.h>
#include <linux/random.h>
#include "transport/points.h"
#include "client.h"
#include "dir.h"
#include "op.h"
#include "open.h"
#include "unanswered.h"

/**
 * struct rdmafs_by_name - a file to be opened by its name, and perhaps made
 * @flags: RFP_OPEN_*
 * @how:   RFP_CREATE_*
 * @verifier: with RFP_CREATE_EXCL a random number, by which the server knows the new file
 * @mode:  permissions of a new file
 * @label: security label of a new file
 * @locked: the caller holds the directory's lock, so that the op must not wait until another
 *	   client has given up a lease
 * @op:	   the request, whose reply @rep and @found point into; the caller puts it, if not NULL
 * @rep:   the reply
 * @found: the file that was opened
 */
struct rdmafs_by_name {
	u32 flags;
	u32 how;
	u64 verifier;
	umode_t mode;
	struct rdmafs_seclabel label;
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
	op = rdmafs_op_new(RDMAFS_S(dir->i_sb), RFP_CREATE, sizeof(*req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	b->op = op;
	req = (struct rfp_create_req *)op->req;
	req->mode = cpu_to_le32(b->mode & S_IALLUGO);
	req->umask = cpu_to_le32(current_umask());
	req->flags = cpu_to_le32(b->flags);
	req->how = cpu_to_le32(b->how);
	req->verifier = cpu_to_le64(b->verifier);
	rfp_enc_fh(&op->enc, &RDMAFS_I(dir)->fh);
	rfp_enc_str(&op->enc, name->name, name->len, RFP_NAME_MAX);
	if (b->found.labels)
		rdmafs_seclabel_send(op, dir->i_sb, &b->label);
	op->closes = true;
	op->once = b->locked;
	/* With O_EXCL a restarted server must not execute it a second time. */
	if (b->how != RFP_CREATE_EXCL)
		rdmafs_op_may_repeat(op);

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

/* The reply is of no use: what follows needs ops of the same pool. */
static void rdmafs_by_name_drop(struct rdmafs_by_name *b)
{
	if (b->op)
		rdmafs_op_put(b->op);
	b->op = NULL;
}

/*
 * The answer to CREATE with O_EXCL was lost with the session: true if nothing has been made, and it
 * is to be sent once more.  If it is proved that the server has made the file, that is open now.
 */
static bool rdmafs_by_name_lost(struct inode *dir, const struct qstr *name,
				struct rdmafs_by_name *b, struct rdmafs_resolve *r, int *err)
{
	bool proved = false;
	int asked;

	asked = rdmafs_resolve_look(r, RFP_CREATE, name);
	if (!asked && !r->shown.same_dir && r->shown.name != RDMAFS_STANDS_NONE) {
		b->how = RFP_CREATE_EXCL | RFP_CREATE_AGAIN;
		asked = rdmafs_by_name_ask(dir, name, b);
		b->how = RFP_CREATE_EXCL;
		proved = !asked;
		if (!proved)
			rdmafs_by_name_drop(b);
	}
	return rdmafs_resolve_made(r, asked, proved, err);
}

/*
 * Send CREATE with O_EXCL, and find out what has become of it if the answer was lost with the
 * session.  The caller holds the directory's lock.
 */
static int rdmafs_by_name_excl(struct inode *dir, const struct qstr *name,
			       struct rdmafs_by_name *b)
{
	struct rdmafs_resolve r;
	int err;

	b->verifier = get_random_u64() ?: 1;
	rdmafs_resolve_begin(&r, dir, NULL, NULL);
	do {
		err = rdmafs_by_name_ask(dir, name, b);
		if (!err || !b->op || !rdmafs_op_unanswered(b->op))
			return err;
		rdmafs_by_name_drop(b);
	} while (rdmafs_by_name_lost(dir, name, b, &r, &err));
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

	if (b->how == RFP_CREATE_EXCL)
		return rdmafs_by_name_excl(dir, name, b);
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

/* The inode of the file that was opened, or an ERR_PTR: then the next use looks the name up. */
static struct inode *rdmafs_by_name_inode(struct inode *dir, struct dentry *dentry,
					  const struct rdmafs_by_name *b)
{
	struct inode *inode = rdmafs_found_inode(dir->i_sb, &b->found);

	if (!IS_ERR(inode) && !S_ISREG(inode->i_mode)) {
		iput(inode);
		inode = ERR_PTR(-EIO);
	}
	if (IS_ERR(inode))
		d_drop(dentry);
	return inode;
}

static int rdmafs_by_name_attach(struct inode *dir, struct dentry *dentry, struct file *file,
				 struct rdmafs_by_name *b, unsigned long verifier)
{
	struct rdmafs_open *open;
	struct inode *inode;
	bool created;
	int err;

	inode = rdmafs_by_name_inode(dir, dentry, b);
	if (IS_ERR(inode)) {
		rdmafs_open_undo(b->op);
		return PTR_ERR(inode);
	}
	open = rdmafs_by_name_open(inode, b);
	if (IS_ERR(open)) {
		rdmafs_open_undo(b->op);
		d_drop(dentry);
		iput(inode);
		return PTR_ERR(open);
	}
	created = le32_to_cpu(b->rep->flags) & RFP_OPEN_CREATED;
	/*
	 * What follows may need ops.  A task must not hold an op while it waits for another one
	 * of the same pool.
	 */
	rdmafs_op_put(b->op);
	b->op = NULL;
	err = rdmafs_made(dir, dentry, inode, verifier);
	if (err) {
		rdmafs_open_put_sync(open);
		return err;
	}
	if (created)
		file->f_mode |= FMODE_CREATED;
	rdmafs_file_attach(file, open);
	/* Once finish_open() has opened the file, its release puts the open. */
	err = finish_open(file, dentry, rdmafs_file_open_atomic);
	if (err && !(file->f_mode & FMODE_OPENED)) {
		rdmafs_file_attach(file, NULL);
		rdmafs_open_put_sync(open);
	}
	return err;
}

static int rdmafs_open_new_name(struct inode *dir, struct dentry *dentry, struct file *file,
				unsigned int flags, umode_t mode)
{
	atomic_t *looking = rdmafs_looking(dentry->d_name.hash);
	unsigned long verifier = rdmafs_dir_verifier(dir);
	struct rdmafs_by_name b = {
		.flags = rdmafs_open_flags(file), .mode = mode, .locked = true,
		.found.labels = true,
	};
	int err = 0;

	if (!(flags & O_CREAT))
		b.how = RFP_CREATE_NOT;
	else if (flags & O_EXCL)
		b.how = RFP_CREATE_EXCL;
	if (b.how != RFP_CREATE_NOT)
		err = rdmafs_seclabel_new(dentry, S_IFREG, &b.label);
	if (err)
		return err;
	atomic_inc(looking);
	err = rdmafs_by_name_send(dir, &dentry->d_name, &b);
	rdmafs_seclabel_free(&b.label);
	if (!err) {
		err = rdmafs_by_name_attach(dir, dentry, file, &b, verifier);
	} else if (err == -EIO || err == -EINTR) {
		d_drop(dentry);
	} else if (err == -ENOENT && d_in_lookup(dentry)) {
		rdmafs_dentry_fresh(dentry, verifier);
		d_splice_alias(NULL, dentry);
	}
	atomic_dec(looking);
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
	err = rdmafs_idmap_permission(dir, MAY_EXEC | MAY_NOT_BLOCK);
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
	struct rdmafs_found found = {};
	struct rdmafs_op *op;
	int err;

	if (search == -ECHILD)
		search = rdmafs_idmap_permission(dir, MAY_EXEC);
	err = rdmafs_lookup_send(dir, name, &found, &op);
	if (op)
		rdmafs_op_put(op);
	if (!err)
		return rdmafs_same_fh(inode, &found.fh) ? -EACCES : -ENOENT;
	return err == -EACCES && search == -EACCES ? rdmafs_open_send(inode, flags, openp) : err;
}

/* Open a file by its name or, if the caller can't have found it by one, by its handle. */
static int rdmafs_open_found(struct dentry *dentry, u32 flags, struct rdmafs_open **openp)
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

/**
 * rdmafs_open_dentry - open a file that has been found by its name
 * @dentry: the file, positive
 * @flags:  RFP_OPEN_*
 * @openp:  out: the open, with a reference for the caller
 *
 * The file is opened by its name, which need not be confirmed before: this finds out whether the
 * name still stands for the file.  A file that has no name here, or that the caller can't have
 * found by its name, is opened by its handle; so is one that the server refuses to a kernel
 * thread which has made it for the same user.
 *
 * Context: process, may sleep; the wait is killable.
 * Return: 0; -EOPENSTALE: the name stands for another object or for none, and has been
 * dropped; or another negative errno.
 */
int rdmafs_open_dentry(struct dentry *dentry, u32 flags, struct rdmafs_open **openp)
{
	int err = rdmafs_open_found(dentry, flags, openp);

	return err == -EACCES ? rdmafs_open_made(d_inode(dentry), flags, openp) : err;
}

/* The inode of the file that a kernel thread has made, which keeps the open's proof. */
static struct inode *rdmafs_create_opened(struct inode *dir, struct dentry *dentry,
					  struct rdmafs_by_name *b)
{
	struct inode *inode = rdmafs_by_name_inode(dir, dentry, b);

	if (IS_ERR(inode))
		return inode;
	/* The request could open nothing but a new file. */
	if (!(le32_to_cpu(b->rep->flags) & RFP_OPEN_CREATED)) {
		d_drop(dentry);
		iput(inode);
		return ERR_PTR(-EIO);
	}
	rdmafs_open_made_note(inode, b->op->cred, b->rep, b->found.attr);
	return inode;
}

/*
 * Make a file by opening it, and keep the proof of that open: rdmafs_open_made().
 *
 * EEXIST says that another client has made the file, of which this one did not know.  knfsd has
 * looked the name up before, and would give that errno to its own client, which need not have asked
 * for a new file.  With EAGAIN it has its client ask again, and finds the file then.
 */
static int rdmafs_create_open(struct inode *dir, struct dentry *dentry, umode_t mode)
{
	unsigned long verifier = rdmafs_dir_verifier(dir);
	struct rdmafs_by_name b = {
		.flags = RDMAFS_OPEN_MADE, .how = RFP_CREATE_EXCL, .mode = mode, .locked = true,
		.found.labels = true,
	};
	struct inode *inode = NULL;
	int err;

	if (dentry->d_name.len > RFP_NAME_MAX)
		return -ENAMETOOLONG;
	err = rdmafs_seclabel_new(dentry, S_IFREG, &b.label);
	if (err)
		return err;
	err = rdmafs_by_name_send(dir, &dentry->d_name, &b);
	rdmafs_seclabel_free(&b.label);
	if (err) {
		/* The file may have been made or not: the next use looks the name up. */
		d_drop(dentry);
	} else {
		inode = rdmafs_create_opened(dir, dentry, &b);
		err = PTR_ERR_OR_ZERO(inode);
		/* Whether a task opens the file next is not known. */
		rdmafs_open_undo(b.op);
	}
	if (b.op)
		rdmafs_op_put(b.op);
	if (!err)
		err = rdmafs_made(dir, dentry, inode, verifier);
	return err == -EEXIST ? -EAGAIN : err;
}

/**
 * rdmafs_create - make a regular file: inode_operations.create
 * @idmap:  of the mount
 * @dir:    the directory
 * @dentry: the name
 * @mode:   permissions
 * @excl:   it must be new, as in any case here
 *
 * Called by mknod(2), and by servers in the kernel; open(2) goes through atomic_open.
 *
 * Context: process, may sleep; the directory's lock held.
 * Return: 0; -EAGAIN for a kernel thread if the file exists, and is found when the name is looked
 * up again; or another negative errno.
 */
int rdmafs_create(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry, umode_t mode,
		  bool excl)
{
	int err;

	if (!(current->flags & PF_KTHREAD))
		return rdmafs_make_file(idmap, dir, dentry, mode);
	err = rdmafs_idmap_tell(RDMAFS_M(dir->i_sb), idmap, false);
	return err ?: rdmafs_create_open(dir, dentry, mode);
}

/**
 * rdmafs_atomic_open - open a file by its name, and perhaps make it: inode_operations.atomic_open
 * @dir:    the directory
 * @dentry: the name
 * @file:   the file to be opened
 * @flags:  its open flags
 * @mode:   permissions of a new file
 *
 * Context: process, may sleep.
 * Return: as finish_open() and finish_no_open(), or a negative errno.
 */
int rdmafs_atomic_open(struct inode *dir, struct dentry *dentry, struct file *file,
		       unsigned int flags, umode_t mode)
{
	struct dentry *res = NULL;
	int err;

	if (dentry->d_name.len > RFP_NAME_MAX)
		return -ENAMETOOLONG;
	/* The VFS has set nothing of the path but the mount. */
	err = rdmafs_idmap_tell(RDMAFS_M(dir->i_sb), file_mnt_idmap(file), false);
	if (err)
		return err;
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
	res = rdmafs_lookup(dir, dentry, LOOKUP_OPEN);
	if (IS_ERR(res))
		return PTR_ERR(res);
	return finish_no_open(file, res);
}
