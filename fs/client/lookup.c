// SPDX-License-Identifier: GPL-2.0
/*
 * Look names up, and believe them for a while.
 *
 * A cached name, positive or negative, is believed without a request as long as
 * the attributes of its directory are believed and no other client has changed
 * the directory since the name was looked up: d_fsdata holds the directory's
 * verifier of that time.  (The mount may say that no name is believed, or no
 * negative one.)  Otherwise the name is looked up again, which refreshes the
 * attributes of the object and of the directory.
 *
 * The last component of an open is never just believed, since the open must see
 * another client's rename that came before it: by_name.c.
 *
 * Ownership: the pointers of struct rdmafs_found lie in the op's reply, so the
 * op is put after their last use.
 */
#include <linux/hash.h>
#include <linux/namei.h>
#include "client.h"
#include "dir.h"
#include "op.h"

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
 * rdmafs_found_decode - read an object and its directory from a reply
 * @op:    the op
 * @dec:   its reply, before the object's attributes
 * @sb:    the mount
 * @found: out: both
 *
 * Context: any.
 * Return: 0 or -EIO.
 */
int rdmafs_found_decode(struct rdmafs_op *op, struct rfp_dec *dec, struct super_block *sb,
			struct rdmafs_found *found)
{
	found->attr = rfp_dec_fixed(dec, sizeof(*found->attr));
	rfp_dec_fh(dec, &found->fh);
	found->dir = rfp_dec_fixed(dec, sizeof(*found->dir));
	found->clock = op->clock;
	rdmafs_seclabel_decode(op, dec, &found->label);
	if (rfp_dec_end(dec) || rdmafs_attr_check(sb, found->attr) ||
	    rdmafs_attr_check(sb, found->dir))
		return -EIO;
	return 0;
}

/**
 * rdmafs_lookup_send - send LOOKUP, and take over the directory's attributes
 * @dir:   the directory
 * @name:  the name
 * @found: @labels is set; out: the object; if there is no such name only @dir, which may be NULL if
 *	   it was NULL before
 * @opp:   out: the op, which the caller puts after it has used @found; or NULL
 *
 * Context: process, may sleep.
 * Return: 0; -ENOENT: there is no such name; or another negative errno.
 */
int rdmafs_lookup_send(struct inode *dir, const struct qstr *name, struct rdmafs_found *found,
		       struct rdmafs_op **opp)
{
	const struct rfp_attr *attr;
	struct rdmafs_op *op;
	struct rfp_dec dec;
	int err;

	*opp = NULL;
	op = rdmafs_op_new(RDMAFS_S(dir->i_sb), RFP_LOOKUP, sizeof(struct rfp_req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	*opp = op;
	rdmafs_access_ask(op, dir->i_sb);
	if (found->labels)
		rdmafs_seclabel_ask(op, dir->i_sb);
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
		found->dir = attr;
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

/**
 * rdmafs_found_inode - get the inode of an object that a reply tells
 * @sb:    the mount
 * @found: of rdmafs_found_decode()
 *
 * Context: process, may sleep.
 * Return: as rdmafs_iget().
 */
struct inode *rdmafs_found_inode(struct super_block *sb, const struct rdmafs_found *found)
{
	return rdmafs_iget(sb, &found->fh, found->attr, &found->label, found->clock);
}

/* Is a name looked up to be used as it is, and not to be opened, made or replaced? */
static bool rdmafs_name_plain(unsigned int flags)
{
	return !(flags & (LOOKUP_OPEN | LOOKUP_CREATE | LOOKUP_EXCL | LOOKUP_RENAME_TARGET |
			  LOOKUP_REVAL));
}

/* A task that lists the directory now needs attributes with the names: dir.c, listing.c. */
static void rdmafs_dir_looked(struct inode *dir)
{
	unsigned long *flags = &RDMAFS_I(dir)->flags;

	/* Most walks only read the word, which all of them share. */
	if (!test_bit(RDMAFS_I_LOOKED, flags))
		set_bit(RDMAFS_I_LOOKED, flags);
}

/* A GETATTR that follows is about a name, and not about a file that is open: ahead.c. */
static void rdmafs_walked(struct inode *inode)
{
	unsigned long *flags = &RDMAFS_I(inode)->flags;

	if (!test_bit(RDMAFS_I_WALKED, flags))
		set_bit(RDMAFS_I_WALKED, flags);
}

#define RDMAFS_LOOKING_BITS	8

/* Requests under way about names that others may wait for, by the names' hashes. */
static atomic_t rdmafs_looking_nr[1 << RDMAFS_LOOKING_BITS];

/**
 * rdmafs_looking - get the number of requests under way about names that are in lookup
 * @hash: the hash of a name, in which the one of its directory is
 *
 * A task that enters a name by d_alloc_parallel() while another one looks it up waits for that
 * one's request, and no signal ends this.  The names of all mounts share a few numbers: one that is
 * not 0 may be there because of another name.
 *
 * Context: any.
 * Return: the number for the names with such hashes, to be raised during a request.
 */
atomic_t *rdmafs_looking(unsigned int hash)
{
	return &rdmafs_looking_nr[hash_32(hash, RDMAFS_LOOKING_BITS)];
}

/**
 * rdmafs_lookup - look up a name: inode_operations.lookup
 * @dir:    the directory
 * @dentry: the name, not hashed
 * @flags:  LOOKUP_*
 *
 * Context: process, may sleep; the directory's lock held, shared or exclusively: also if the name
 * is in lookup the caller may be about to remove or rename it (lookup_one()).
 * Return: as for d_splice_alias().
 */
struct dentry *rdmafs_lookup(struct inode *dir, struct dentry *dentry, unsigned int flags)
{
	bool plain = d_in_lookup(dentry) && rdmafs_name_plain(flags);
	atomic_t *looking = rdmafs_looking(dentry->d_name.hash);
	/* A directory that is found may be moved as soon as it has its name. */
	struct dentry *parent = dentry->d_parent;
	unsigned long verifier;
	struct rdmafs_found found = { .labels = true };
	struct inode *inode = NULL;
	struct dentry *res;
	struct rdmafs_op *op;
	int err;

	if (dentry->d_name.len > RFP_NAME_MAX)
		return ERR_PTR(-ENAMETOOLONG);
	/*
	 * mkdir, mknod, symlink and link need no LOOKUP: the server answers EEXIST to the request
	 * itself.  But the VFS sends no request for a caller that may not write to the directory,
	 * nor for a caller without an id in the file system: that caller has to learn here whether
	 * the name exists.  The name stays unhashed until it has been made.
	 */
	if ((flags & (LOOKUP_CREATE | LOOKUP_EXCL)) == (LOOKUP_CREATE | LOOKUP_EXCL) &&
	    !(flags & (LOOKUP_OPEN | LOOKUP_RENAME_TARGET)) && rdmafs_idmap_owns(dir) &&
	    !rdmafs_idmap_permission(dir, MAY_WRITE | MAY_EXEC))
		return NULL;

	atomic_inc(looking);
	verifier = rdmafs_dir_verifier(dir);
	err = rdmafs_lookup_send(dir, &dentry->d_name, &found, &op);
	if (!err)
		inode = rdmafs_found_inode(dir->i_sb, &found);
	else if (err != -ENOENT)
		inode = ERR_PTR(err);
	if (!IS_ERR_OR_NULL(inode))
		rdmafs_access_note(inode, op, found.attr);
	if (op)
		rdmafs_op_put(op);
	rdmafs_dentry_fresh(dentry, verifier);
	res = d_splice_alias(inode, dentry);
	atomic_dec(looking);
	if (!IS_ERR_OR_NULL(res))
		rdmafs_dentry_fresh(res, verifier);
	if (!inode || IS_ERR(res))
		return res;
	rdmafs_dir_looked(dir);
	/*
	 * No task waits for this name any more, so that this one may wait for others.  A caller
	 * that is to remove or rename the name relies on the name staying where it is: it holds
	 * the lock exclusively, so that nothing is read.  Where there are labels, names that the
	 * dcache does not have are not entered (rdmafs_dir_prime()).
	 */
	if (plain && !RDMAFS_S(dir->i_sb)->seclabel)
		rdmafs_ahead_dir(parent);
	if (!IS_ERR(res))
		rdmafs_dentry_crossing(res ?: dentry);
	return res;
}

/*
 * The server does not let the caller search the directory.  If he may search it by what is known
 * here, that is old, and he is refused.  Else he has not walked here: a file system above, an
 * overlayfs, has looked the name up by credentials of its own, lets the caller pass by rules of its
 * own, and asks whether the name still stands for that object.  This is no matter of permission:
 * the answer is yes, as long as the object is there, which any caller may ask by its handle.  The
 * directory's attributes say who may search it, and for how long its names are believed.
 */
static int rdmafs_reval_unseen(struct inode *dir, struct inode *inode)
{
	int err;

	rcu_read_lock();
	err = rdmafs_idmap_permission(dir, MAY_EXEC | MAY_NOT_BLOCK);
	rcu_read_unlock();
	if (!inode || !err)
		return -EACCES;
	err = rdmafs_revalidate(dir, true);
	if (!err)
		err = rdmafs_revalidate(inode, true);
	return err == -ESTALE ? 0 : err ?: 1;
}

/* Ask whether the name still stands for the same object: 1 (yes), 0 or a negative errno. */
static int rdmafs_reval_ask(struct inode *dir, struct dentry *dentry)
{
	unsigned long verifier = rdmafs_dir_verifier(dir);
	struct inode *inode = d_inode(dentry);
	struct rdmafs_found found = {};
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
	if (err == -EACCES)
		return rdmafs_reval_unseen(dir, inode);
	if (err == 1)
		rdmafs_dentry_fresh(dentry, verifier);
	return err;
}

/* Is the security module to be told first that a label is in doubt?  RCU walk included. */
static bool rdmafs_relabel(struct inode *inode)
{
	return inode && test_bit(RDMAFS_I_RELABEL, &RDMAFS_I(inode)->flags);
}

/* May the name be used without a request? */
static bool rdmafs_d_believed(struct inode *dir, struct dentry *dentry, struct inode *inode,
			      unsigned int flags)
{
	enum rdmafs_names names = READ_ONCE(RDMAFS_M(dir->i_sb)->opts.names);

	if (flags & LOOKUP_REVAL)
		return false;
	/*
	 * A security module decides by the label before the VFS looks at the attributes, which say
	 * whether it may have changed.
	 */
	if (inode && RDMAFS_S(inode->i_sb)->seclabel && rdmafs_attr_expired(inode))
		return false;
	/*
	 * By an id-mapped mount the VFS refuses to change what belongs to ids that the mount does
	 * not map, before anything else looks at the attributes.  Another client may have given it
	 * to one that is mapped: the server is asked when they are old, and before every open.
	 */
	if (inode && (flags & LOOKUP_OPEN || rdmafs_attr_expired(inode)) &&
	    rdmafs_idmap_lacks(inode))
		return false;
	/* Opening a regular file by its name confirms the name: rdmafs_open_dentry(). */
	if (flags & LOOKUP_OPEN)
		return inode && S_ISREG(inode->i_mode) &&
		       !(flags & (LOOKUP_EXCL | LOOKUP_DIRECTORY));
	if (names == RDMAFS_NAMES_NONE || (names == RDMAFS_NAMES_POSITIVE && !inode))
		return false;
	return !rdmafs_attr_expired(dir) &&
	       (unsigned long)READ_ONCE(dentry->d_fsdata) == rdmafs_dir_verifier(dir) &&
	       !(inode && test_bit(RDMAFS_I_STALE, &RDMAFS_I(inode)->flags));
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

/*
 * The dentry that a file without a name was made with (tmpfile.c), or one that an object has that
 * was come to by its handle alone: there is no name to ask for.  An overlayfs above goes on with
 * it, also when the file has got a name, or that is known.
 */
static int rdmafs_d_revalidate_nameless(struct dentry *dentry, unsigned int flags)
{
	struct inode *inode;

	if (!(flags & LOOKUP_RCU))
		return rdmafs_d_weak_revalidate(dentry, flags);
	inode = d_inode_rcu(dentry);
	return !inode || rdmafs_attr_expired(inode) || rdmafs_relabel(inode) ||
	       test_bit(RDMAFS_I_STALE, &RDMAFS_I(inode)->flags) ? -ECHILD : 1;
}

static int rdmafs_d_revalidate(struct dentry *dentry, unsigned int flags)
{
	struct dentry *parent;
	struct inode *dir, *inode;
	bool valid;
	int ret;

	if (IS_ROOT(dentry) || (unsigned long)READ_ONCE(dentry->d_fsdata) == RDMAFS_NAME_NEVER)
		return rdmafs_d_revalidate_nameless(dentry, flags);
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
	if (dir && inode)
		rdmafs_dir_looked(dir);
	valid = dir && rdmafs_d_believed(dir, dentry, inode, flags);
	if (valid && inode && rdmafs_name_plain(flags) && rdmafs_attr_expired(inode))
		rdmafs_walked(inode);
	if (flags & LOOKUP_RCU)
		return valid && rdmafs_dentry_crosses(dentry, inode) && !rdmafs_relabel(inode) ?
		       1 : -ECHILD;
	if (valid && inode)
		rdmafs_seclabel_settle(inode);
	ret = valid ? 1 : rdmafs_reval_ask(dir, dentry);
	if (!valid && ret == 1 && inode && rdmafs_name_plain(flags))
		rdmafs_ahead(dentry);
	if (ret == 1 && !rdmafs_dentry_crosses(dentry, inode))
		rdmafs_dentry_crossing(dentry);
	dput(parent);
	return ret;
}

const struct dentry_operations rdmafs_dentry_ops = {
	.d_revalidate	= rdmafs_d_revalidate,
	.d_weak_revalidate = rdmafs_d_weak_revalidate,
	.d_automount	= rdmafs_d_automount,
};
