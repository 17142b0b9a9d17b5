// SPDX-License-Identifier: GPL-2.0
/*
 * Security labels of objects (security.selinux): clients are told them, and set them, if the export
 * says so (security_label).
 *
 * The policy that gives labels their meaning is the clients'.  The server keeps them: it needs no
 * security module for that, and one that it has is not asked whether its own policy would let the
 * caller set such a label.  So this is done with the server's own credentials.  What the server
 * checks itself is that the caller is the object's owner, or may act as one.
 *
 * A new object has its label before the client learns of the object.  If it can't have it the
 * request fails, and the object is removed again: an object with another label than the client's
 * policy wants may be open to users that must not see it.  Others see the name as soon as the
 * object is made.  So it stays, without that label, if another client has it open by then, or a
 * lease of it, has written to it or labelled it, has put something into the new directory, or has
 * given it another name.  The name is removed when the directory is not locked any more, as files'
 * naming semaphores come before that.
 *
 * One case is left.  Some file systems make the object with another dentry than the one that they
 * were given, and the name is looked up once more (rdmafsd_lookup_again()).  If that fails, for
 * want of memory or as a disk fails, the request fails, and an object without that label stays:
 * there is nothing to remove but what the name stands for later, which may be another object.
 *
 * That others have done something to it in between, by which they learned its change cookie, makes
 * the label a change like any other: the cookie moves.
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/jhash.h>
#include <linux/xattr.h>
#include "request.h"
#include "opened.h"
#include "transport/points.h"

/**
 * rdmafsd_seclabel_is - tell whether an attribute is the security label that clients may set
 * @exp:  the export
 * @name: full name of the attribute
 *
 * Context: any.
 * Return: true if so.
 */
bool rdmafsd_seclabel_is(const struct rdmafsd_export *exp, const char *name)
{
	return exp->p.seclabel && !strcmp(name, XATTR_NAME_SELINUX);
}

/**
 * rdmafsd_seclabel_get - get an object's label
 * @exp:    the export
 * @dentry: the object, positive
 * @label:  room for the label, or NULL
 * @size:   bytes of room, 0 to learn how much is needed
 *
 * As attributes, it must not depend on which caller asks: a security module of the server shows a
 * label that it does not know to some only.
 *
 * Context: process, may sleep.
 * Return: bytes of the label, or a negative errno.
 */
int rdmafsd_seclabel_get(struct rdmafsd_export *exp, struct dentry *dentry, void *label,
			 size_t size)
{
	const struct cred *caller = override_creds(rdmafsd_own_cred);
	int len;

	len = vfs_getxattr(rdmafsd_idmap(exp), dentry, XATTR_NAME_SELINUX, label, size);
	revert_creds(caller);
	return len;
}

/**
 * rdmafsd_seclabel_able - tell whether objects of an export can have labels that clients may set
 * @exp: the export
 *
 * A file system may have attributes, and none of security modules: it is asked once, and not this
 * machine's security module, which answers for each file system.
 *
 * Context: process, may sleep.
 * Return: true if so.
 */
bool rdmafsd_seclabel_able(struct rdmafsd_export *exp)
{
	s8 able = READ_ONCE(exp->seclabel);
	const struct cred *caller;
	struct dentry *root;

	if (!exp->p.seclabel || !(d_inode(exp->path.dentry)->i_opflags & IOP_XATTR))
		return false;
	if (!able) {
		root = exp->path.dentry;
		caller = override_creds(rdmafsd_own_cred);
		able = __vfs_getxattr(root, d_inode(root), XATTR_NAME_SELINUX, NULL, 0) ==
		       -EOPNOTSUPP ? -1 : 1;
		revert_creds(caller);
		WRITE_ONCE(exp->seclabel, able);
	}
	return able > 0;
}

/**
 * rdmafsd_seclabel_set - set an object's label
 * @rq:        the request, with the caller's credentials on
 * @dentry:    the object, its i_rwsem held for writing
 * @label:     the label
 * @size:      its length in bytes
 * @flags:     XATTR_CREATE, XATTR_REPLACE or 0
 * @delegated: as of __vfs_setxattr_locked(), for rdmafsd_deleg_end()
 *
 * Context: process, may sleep; the mount's write counts are held.
 * Return: 0; -EPERM: the caller is not the owner; -E2BIG: the label is too long; or another
 * negative errno.
 */
int rdmafsd_seclabel_set(struct rdmafsd_rq *rq, struct dentry *dentry, const void *label,
			 size_t size, int flags, struct inode **delegated)
{
	struct mnt_idmap *idmap = rdmafsd_idmap(rq->exp);
	const struct cred *caller;
	int err;

	lockdep_assert_held_write(&d_inode(dentry)->i_rwsem);
	if (!inode_owner_or_capable(idmap, d_inode(dentry)))
		return -EPERM;
	if (!size)
		return -EINVAL;
	if (size > RFP_LABEL_MAX)
		return -E2BIG;
	caller = override_creds(rdmafsd_own_cred);
	err = __vfs_setxattr_locked(idmap, dentry, XATTR_NAME_SELINUX, label, size, flags,
				    delegated);
	revert_creds(caller);
	return err;
}

/*
 * The errno of a request that makes an object, if the object can't have its label.  Other errnos
 * would mean something else to the client: that there is no regular file by this name (EOPNOTSUPP),
 * or that nothing was begun (EAGAIN).
 */
static int rdmafsd_seclabel_errno(int err)
{
	switch (err) {
	case 0:
	case -ENOSPC:
	case -EDQUOT:
	case -ENOMEM:
	case -EIO:
		return err;
	}
	return -EPERM;
}

/**
 * rdmafsd_seclabel_first - give a new object the label that came with the request, if one did
 * @rq:     the request, with the caller's credentials on
 * @dentry: the object, not locked
 * @flags:  0; or XATTR_CREATE: the object may be an older one, whose label stays if it has one
 *
 * Context: process, may sleep; the mount's write counts are held; takes the object's i_rwsem.
 * Return: 0; -ENOSPC, -EDQUOT, -ENOMEM, -EIO; -EPERM: it can't have the label.
 */
int rdmafsd_seclabel_first(struct rdmafsd_rq *rq, struct dentry *dentry, int flags)
{
	struct inode *inode = d_inode(dentry), *delegated = NULL;
	struct rdmafsd_change chg;
	int err = -EOPNOTSUPP;

	if (!rq->label.len)
		return 0;
	rdmafs_test_point("seclabel_first", inode->i_ino);
	inode_lock(inode);
	rdmafsd_change_begin(rq, dentry, &chg);
	if (!rdmafs_test_fails("seclabel_set", inode->i_ino))
		err = rdmafsd_seclabel_set(rq, dentry, rq->label.s, rq->label.len, flags,
					   &delegated);
	rdmafsd_change_end(&chg);
	if (!err)
		rdmafsd_change_keep(&chg);
	inode_unlock(inode);
	err = rdmafsd_deleg_end(&delegated, err);
	return err == -EEXIST ? 0 : rdmafsd_seclabel_errno(err);
}

/* A number that tells an object's label from others; 0 if it has none, or that can't be read. */
static noinline_for_stack u32 rdmafsd_seclabel_sum(struct rdmafsd_rq *rq, struct dentry *dentry)
{
	char label[RFP_LABEL_MAX];
	int len = rdmafsd_seclabel_get(rq->exp, dentry, label, sizeof(label));

	return len < 0 ? 0 : jhash(label, len, 0);
}

/**
 * rdmafsd_seclabel_failed - note that a new object is to be removed again
 * @rq:     the request
 * @dentry: the object, in its locked directory, to which rdmafsd_seclabel_first() gave no label
 * @undo:   is filled, for rdmafsd_seclabel_undo()
 *
 * Context: process, may sleep.
 */
void rdmafsd_seclabel_failed(struct rdmafsd_rq *rq, struct dentry *dentry,
			     struct rdmafsd_unlabelled *undo)
{
	undo->object = dget(dentry);
	undo->label = rdmafsd_seclabel_sum(rq, dentry);
}

/*
 * Has another request found the file by its name, and written to it, or given it a label, since the
 * directory was unlocked?  What it was told is done is not to be taken away.
 */
static bool rdmafsd_seclabel_touched(struct rdmafsd_rq *rq, struct dentry *dentry, u32 label)
{
	return (d_is_reg(dentry) && i_size_read(d_inode(dentry))) ||
	       rdmafsd_seclabel_sum(rq, dentry) != label;
}

/* The name, in the locked directory, is that of the object still: remove it. */
static int rdmafsd_seclabel_remove(struct rdmafsd_rq *rq, struct dentry *dir,
				   struct dentry *dentry, u32 label)
{
	struct mnt_idmap *idmap = rdmafsd_idmap(rq->exp);
	struct rdmafsd_change chg;
	int err;

	rdmafsd_change_begin(rq, dir, &chg);
	if (d_is_dir(dentry))
		err = vfs_rmdir(idmap, d_inode(dir), dentry);
	else if (rdmafsd_opened_has(rq->exp, d_inode(dentry)) ||
		 rdmafsd_seclabel_touched(rq, dentry, label))
		err = -EBUSY;
	else
		err = vfs_unlink(idmap, d_inode(dir), dentry, NULL);
	rdmafsd_change_end(&chg);
	if (!err)
		rdmafsd_change_keep(&chg);
	return err;
}

/**
 * rdmafsd_seclabel_undo - remove the name of a new object that can't have its label
 * @rq:     the request, which has made the object by its first name
 * @dir:    the directory, not locked any more
 * @undo:   from rdmafsd_seclabel_failed(), whose reference goes; or empty: nothing is done
 *
 * Other requests may forbid that meanwhile: by an open, a lease, data or a label of the file, by an
 * entry in the directory, by another name in place of this one.  A file that a client has open
 * would have to become an orphan (leaving.c): its name stays.  A CREATE that has found the file by
 * its name, and counts it as open only after this, is repeated (rdmafsd_open_do()).
 *
 * Context: process, may sleep: waits for removals of names as these wait for each other; the
 * mount's write counts are held; takes the file's naming semaphore, and the directory's i_rwsem.
 */
void rdmafsd_seclabel_undo(struct rdmafsd_rq *rq, struct dentry *dir,
			   const struct rdmafsd_unlabelled *undo)
{
	struct dentry *object = undo->object;
	struct rw_semaphore *naming;
	const struct cred *caller;
	struct dentry *dentry;
	int err = -ENOENT;

	if (!object)
		return;
	caller = override_creds(rdmafsd_own_cred);
	naming = rdmafsd_naming_of(rq->exp, d_inode(object));
	rdmafs_test_point("seclabel_undo", d_inode(object)->i_ino);
	down_write(naming);
	inode_lock_nested(d_inode(dir), I_MUTEX_PARENT);
	dentry = rdmafsd_lookup(rq->exp, dir, &rq->name[0]);
	if (!IS_ERR(dentry)) {
		/* That it fails is told by nothing but the name, which stays. */
		if (d_inode(dentry) == d_inode(object))
			err = rdmafsd_seclabel_remove(rq, dir, dentry, undo->label);
		dput(dentry);
	}
	inode_unlock(d_inode(dir));
	up_write(naming);
	revert_creds(caller);
	/* Another's fsync may have made the creation stable: its undoing has to be, too. */
	if (!err)
		rdmafsd_commit(rq->exp, dir);
	dput(object);
}

/**
 * rdmafsd_rep_label - append an object's label to the reply, if the request asks for it
 * @rq:     the request
 * @dentry: the object, positive
 * @max:    the most bytes that the reply may have, at least two more than it has
 *
 * A label that finds no room, or that can't be read, is not told: the client asks for it by
 * GETXATTR, and gets the label or the error.  That there is none is told.
 *
 * Context: process, may sleep.
 */
noinline_for_stack void rdmafsd_rep_label(struct rdmafsd_rq *rq, struct dentry *dentry, size_t max)
{
	char label[RFP_LABEL_MAX];
	int used, len = 0;
	ssize_t room;

	if (!rq->labels)
		return;
	used = rfp_enc_len(&rq->enc);
	room = used < 0 ? 0 : (ssize_t)max - used - (ssize_t)sizeof(__le16);
	room = min_t(ssize_t, room, sizeof(label));
	if (rq->exp->p.seclabel && room > 0)
		len = rdmafsd_seclabel_get(rq->exp, dentry, label, room);
	if (len == -ENODATA || len == -EOPNOTSUPP)
		rfp_enc_label_none(&rq->enc);
	else
		rfp_enc_label(&rq->enc, label, max(len, 0));
}
