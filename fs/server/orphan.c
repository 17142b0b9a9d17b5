// SPDX-License-Identifier: GPL-2.0
/*
 * The directory of orphans: files that have no name left but are open, or may be opened again
 * (opened.c), have a name there.
 *
 * It lies in the root of the export, is made when it is first needed, and belongs to root.
 * Clients do not see it, and can't use its name or another that leads to it.  A file gets its name
 * there as another link before its last name is removed.  So the removal itself checks permissions
 * and takes place as always.  A crash in between leaves one link too many, which the next start of
 * the export removes.  The name consists of inode number, generation and the export's id: several
 * exports of one directory share its root, and none must take another's orphans for its own.  So
 * another export may remove the directory at any time that it is empty.
 *
 * Records of clients that have locks are in the directory of that name in the file system's root
 * (record.c), which is the same if that is exported.
 *
 * A file that was made without a name (tmpfile.c) has its only name there.  While it may still get
 * its first real name there is a plus in place of the first dash.  So the next start of the export
 * knows that, too.
 *
 * Some files can't be kept so: those on a file system that is full or has no links (vfat), in
 * another subvolume, of another project's quota, or immutable.  They are removed at once, as if no
 * client had them open.  (On a read-only file system no name is removed anyway.)
 *
 * exp->orphans_lock guards exp->orphans.  It is taken before the i_rwsem of the export's root.
 */
#define pr_fmt(fmt) "rdmafsd: " fmt

#include <linux/file.h>
#include <linux/filelock.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/slab.h>
#include "transport/points.h"
#include "server.h"
#include "opened.h"

#define RDMAFSD_ORPHANS		".rdmafs-orphans"
#define RDMAFSD_ORPHAN_LEN	34	/* 16 digits, and twice a dash (or plus) and 8 digits */
#define RDMAFSD_ORPHAN_TAIL	9	/* the last of these name the export */
#define RDMAFSD_ORPHAN_TRIES	8

/**
 * rdmafsd_name_reserved - tell whether a name is the server's own
 * @name: a name from a client
 *
 * Context: any.
 * Return: true if clients can't use it.
 */
bool rdmafsd_name_reserved(const struct rfp_str *name)
{
	return name->len == sizeof(RDMAFSD_ORPHANS) - 1 &&
	       !memcmp(name->s, RDMAFSD_ORPHANS, name->len);
}

/*
 * The directory that a client's name leads to is checked as well: it has other names if the file
 * system ignores case, or if the directory was renamed on this machine.
 */
static struct dentry *rdmafsd_lookup_checked(struct rdmafsd_export *exp, struct dentry *dentry)
{
	if (!IS_ERR(dentry) && rdmafsd_is_orphans(exp, d_inode(dentry))) {
		dput(dentry);
		return ERR_PTR(-EACCES);
	}
	return dentry;
}

/**
 * rdmafsd_lookup - look up what a client names
 * @exp:  the export
 * @dir:  the directory, its i_rwsem held
 * @name: the name
 *
 * Context: process, may sleep.
 * Return: as lookup_one(); -EACCES for the directory of orphans.
 */
struct dentry *rdmafsd_lookup(struct rdmafsd_export *exp, struct dentry *dir,
			      const struct rfp_str *name)
{
	lockdep_assert_held_write(&d_inode(dir)->i_rwsem);
	return rdmafsd_lookup_checked(exp, lookup_one(rdmafsd_idmap(exp), name->s, dir, name->len));
}

/**
 * rdmafsd_lookup_there - look up what a client names, which has to exist
 * @exp:  the export
 * @dir:  the directory, not locked
 * @name: the name
 *
 * Context: process, may sleep.
 * Return: as lookup_one_positive_unlocked(); -EACCES for the directory of orphans.
 */
struct dentry *rdmafsd_lookup_there(struct rdmafsd_export *exp, struct dentry *dir,
				    const struct rfp_str *name)
{
	return rdmafsd_lookup_checked(exp, lookup_one_positive_unlocked(rdmafsd_idmap(exp),
									name->s, dir, name->len));
}

static void rdmafsd_orphan_name(struct rdmafsd_export *exp, struct inode *inode, bool linkable,
				char *name)
{
	snprintf(name, RDMAFSD_ORPHAN_LEN + 1, "%016llx%c%08x-%08x", (u64)inode->i_ino,
		 linkable ? '+' : '-', inode->i_generation, exp->p.id);
}

/* Get the directory's dentry, positive.  The i_rwsem of @root, in which it lies, is held. */
static struct dentry *rdmafsd_orphans_locked(struct dentry *root, bool make)
{
	const struct rfp_str name = { .s = RDMAFSD_ORPHANS, .len = sizeof(RDMAFSD_ORPHANS) - 1 };
	struct dentry *dir;
	int err;

	lockdep_assert_held_write(&d_inode(root)->i_rwsem);
	dir = lookup_one(&nop_mnt_idmap, name.s, root, name.len);
	if (IS_ERR(dir) || d_really_is_positive(dir))
		return dir;
	err = make ? vfs_mkdir(&nop_mnt_idmap, d_inode(root), dir, 0700) : -ENOENT;
	if (!err)
		return rdmafsd_lookup_again(&nop_mnt_idmap, root, dir, &name);
	dput(dir);
	return ERR_PTR(err);
}

/* Is it a directory that the server may have made?  Users may have put something else there. */
static bool rdmafsd_orphans_fit(struct dentry *dir)
{
	struct inode *inode = d_inode(dir);

	return d_is_dir(dir) && !d_mountpoint(dir) && !(inode->i_mode & 077) &&
	       uid_eq(inode->i_uid, GLOBAL_ROOT_UID);
}

static struct dentry *rdmafsd_orphans_find(struct rdmafsd_export *exp, struct dentry *root,
					   bool make)
{
	struct dentry *dir;
	int err = 0;

	inode_lock_nested(d_inode(root), I_MUTEX_PARENT);
	dir = rdmafsd_orphans_locked(root, make);
	inode_unlock(d_inode(root));
	if (IS_ERR(dir))
		return dir;
	if (!rdmafsd_orphans_fit(dir)) {
		pr_warn_ratelimited("%s: '%s' is not root's own directory: unlinked files that are open are not kept\n",
				    exp->p.name, RDMAFSD_ORPHANS);
		err = -EPERM;
	} else if (make) {
		err = rdmafsd_commit(exp, dir);
		if (!err)
			err = rdmafsd_commit(exp, root);
	}
	if (err) {
		dput(dir);
		return ERR_PTR(err);
	}
	return dir;
}

/* Was the directory removed, by another export of the same root or by a user of this machine? */
static bool rdmafsd_orphans_gone(struct dentry *dir)
{
	return d_unhashed(dir) || IS_DEADDIR(d_inode(dir));
}

/* The only place where @orphans changes; returns the old one, to be put by the caller. */
static struct dentry *rdmafsd_orphans_set(struct rdmafsd_export *exp, struct dentry *dir)
{
	struct dentry *old = exp->orphans;

	exp->orphans = dir;
	/* Read without a lock: readers compare the pointer, and must not follow it. */
	WRITE_ONCE(exp->orphans_inode, dir ? d_inode(dir) : NULL);
	WRITE_ONCE(exp->orphans_ino, dir ? d_inode(dir)->i_ino : 0);
	return old;
}

/**
 * rdmafsd_orphans - get the directory of orphans
 * @exp:  the export, its mount held for writing with @make
 * @make: make it, on stable storage, if there is none
 *
 * Context: process, may sleep, the server's own credentials; no VFS lock held.
 * Return: the directory, to be put, or an ERR_PTR: -ENOENT if there is none.
 */
struct dentry *rdmafsd_orphans(struct rdmafsd_export *exp, bool make)
{
	struct dentry *dir, *gone = NULL;

	mutex_lock(&exp->orphans_lock);
	if (exp->orphans && rdmafsd_orphans_gone(exp->orphans))
		gone = rdmafsd_orphans_set(exp, NULL);
	dir = exp->orphans;
	if (!dir) {
		dir = rdmafsd_orphans_find(exp, exp->path.dentry, make);
		if (!IS_ERR(dir))
			rdmafsd_orphans_set(exp, dir);
	}
	if (!IS_ERR(dir))
		dget(dir);
	mutex_unlock(&exp->orphans_lock);
	dput(gone);
	return dir;
}

/**
 * rdmafsd_orphans_of_fs - get the directory of that name in the root of an export's file system
 * @exp:  the export, its mount held for writing with @make
 * @make: make it, on stable storage, if there is none
 *
 * Context: as rdmafsd_orphans().
 * Return: as rdmafsd_orphans().
 */
struct dentry *rdmafsd_orphans_of_fs(struct rdmafsd_export *exp, bool make)
{
	struct dentry *root = exp->path.dentry->d_sb->s_root;

	return root == exp->path.dentry ? rdmafsd_orphans(exp, make) :
					  rdmafsd_orphans_find(exp, root, make);
}

static void rdmafsd_orphan_stays(struct rdmafsd_export *exp, struct inode *inode, int err)
{
	pr_warn_ratelimited("%s: inode %lu stays in '%s' until the export is started again (%d)\n",
			    exp->p.name, inode->i_ino, RDMAFSD_ORPHANS, err);
}

/* If the name is there already for this file, it could not be removed when it should have been. */
static int rdmafsd_orphan_link(struct rdmafsd_export *exp, struct dentry *dir,
			       struct dentry *obj, bool linkable, struct inode **delegated)
{
	char name[RDMAFSD_ORPHAN_LEN + 1];
	struct dentry *dentry;
	int err;

	rdmafsd_orphan_name(exp, d_inode(obj), linkable, name);
	inode_lock_nested(d_inode(dir), I_MUTEX_PARENT);
	dentry = lookup_one(&nop_mnt_idmap, name, dir, RDMAFSD_ORPHAN_LEN);
	err = PTR_ERR_OR_ZERO(dentry);
	if (!err) {
		if (d_really_is_negative(dentry))
			err = vfs_link(obj, &nop_mnt_idmap, d_inode(dir), dentry, delegated);
		else if (d_inode(dentry) != d_inode(obj))
			err = -EEXIST;
		dput(dentry);
	}
	inode_unlock(d_inode(dir));
	return err;
}

/* @gone: whether the directory was removed before it was locked, so that the caller tries again. */
static int rdmafsd_orphan_add_try(struct rdmafsd_export *exp, struct dentry *obj, bool linkable,
				  struct inode **delegated, bool *gone)
{
	struct dentry *dir = rdmafsd_orphans(exp, true);
	int err;

	*gone = false;
	if (IS_ERR(dir))
		return PTR_ERR(dir);
	err = rdmafsd_orphan_link(exp, dir, obj, linkable, delegated);
	if (!err) {
		err = rdmafsd_commit(exp, dir);
		if (err && rdmafsd_orphan_undo(exp, d_inode(obj)))
			rdmafsd_orphan_stays(exp, d_inode(obj), err);
	} else if (err == -ENOENT) {
		*gone = rdmafsd_orphans_gone(dir);
	}
	dput(dir);
	return err;
}

/**
 * rdmafsd_orphan_add - give a file a name as an orphan
 * @exp:       the export, its mount held for writing
 * @obj:       the file; neither it nor its directory locked
 * @linkable:  it has no name yet, and may get one: the name as an orphan says so
 * @delegated: out: an inode whose leases have to be broken first
 *
 * Context: process, may sleep.
 * Return: 0: the name is on stable storage; or a negative errno.
 */
int rdmafsd_orphan_add(struct rdmafsd_export *exp, struct dentry *obj, bool linkable,
		       struct inode **delegated)
{
	const struct cred *saved = override_creds(rdmafsd_own_cred);
	unsigned int tries = 0;
	bool gone;
	int err;

	do {
		err = rdmafsd_orphan_add_try(exp, obj, linkable, delegated, &gone);
	} while (gone && ++tries < RDMAFSD_ORPHAN_TRIES);
	revert_creds(saved);
	return err;
}

/* Remove one of the two names that a file may have; the caller has locked the directory. */
static int rdmafsd_orphan_unlink_locked(struct rdmafsd_export *exp, struct dentry *dir,
					struct inode *inode, bool linkable,
					struct inode **delegated)
{
	char name[RDMAFSD_ORPHAN_LEN + 1];
	struct dentry *dentry;
	int err = -ENOENT;

	lockdep_assert_held_write(&d_inode(dir)->i_rwsem);
	rdmafsd_orphan_name(exp, inode, linkable, name);
	dentry = lookup_one(&nop_mnt_idmap, name, dir, RDMAFSD_ORPHAN_LEN);
	if (IS_ERR(dentry))
		return PTR_ERR(dentry);
	if (d_inode(dentry) == inode)
		err = vfs_unlink(&nop_mnt_idmap, d_inode(dir), dentry, delegated);
	dput(dentry);
	return err;
}

static int rdmafsd_orphan_unlink(struct rdmafsd_export *exp, struct dentry *dir,
				 struct inode *inode)
{
	struct inode *delegated = NULL;
	int err;

	inode_lock_nested(d_inode(dir), I_MUTEX_PARENT);
	err = rdmafsd_orphan_unlink_locked(exp, dir, inode, false, &delegated);
	if (err == -ENOENT)
		err = rdmafsd_orphan_unlink_locked(exp, dir, inode, true, &delegated);
	inode_unlock(d_inode(dir));
	return rdmafsd_deleg_end(&delegated, err);
}

/**
 * rdmafsd_orphan_undo - remove a file's name as an orphan
 * @exp:   the export, its mount held for writing
 * @inode: the file
 *
 * Context: process, may sleep.
 * Return: 0: the file has none; -EAGAIN: try again later, see rdmafsd_deleg_end(); or another
 * negative errno.
 */
int rdmafsd_orphan_undo(struct rdmafsd_export *exp, struct inode *inode)
{
	const struct cred *saved = override_creds(rdmafsd_own_cred);
	struct dentry *dir = rdmafsd_orphans(exp, false);
	int err = PTR_ERR_OR_ZERO(dir);

	if (!err) {
		err = rdmafs_test_fails("orphan_undo", inode->i_ino) ? -EAGAIN :
			rdmafsd_orphan_unlink(exp, dir, inode);
		dput(dir);
	}
	revert_creds(saved);
	return err == -ENOENT ? 0 : err;
}

/**
 * rdmafsd_orphan_remove - remove a file that has only its name as an orphan
 * @exp:   the export; its mount not held for writing by the caller
 * @inode: the file
 *
 * Context: process, may sleep; no VFS lock held.
 * Return: true: done, or it can't be; false: the caller has to try again later, also if the file
 * system is read-only at present.
 */
bool rdmafsd_orphan_remove(struct rdmafsd_export *exp, struct inode *inode)
{
	int err;

	rdmafs_test_point("orphan_remove", inode->i_ino);
	err = mnt_want_write(exp->path.mnt);
	if (!err) {
		err = rdmafsd_orphan_undo(exp, inode);
		mnt_drop_write(exp->path.mnt);
	}
	/* The lookup takes memory, and the removal may take room: a shortage passes. */
	if (err == -ENOSPC || err == -EDQUOT)
		pr_warn_ratelimited("%s: no room to remove a file that has lost its name (%d), trying again\n",
				    exp->p.name, err);
	if (err == -EAGAIN || err == -ENOMEM || err == -ENOSPC || err == -EDQUOT || err == -EROFS)
		return false;
	if (err)
		rdmafsd_orphan_stays(exp, inode, err);
	return true;
}

/* A name that was found in the directory when an export started. */
struct rdmafsd_found {
	struct list_head link;
	char name[RDMAFSD_ORPHAN_LEN + 1];
};

struct rdmafsd_finding {
	struct rdmafsd_orphans_list list;
	struct list_head found;
	char tail[RDMAFSD_ORPHAN_TAIL + 1];	/* of names that are the export's */
};

static bool rdmafsd_orphans_actor(struct dir_context *ctx, const char *name, int len,
				  loff_t pos, u64 ino, unsigned int type)
{
	struct rdmafsd_finding *f = container_of(ctx, struct rdmafsd_finding, list.ctx);
	struct rdmafsd_found *found;

	if (len != RDMAFSD_ORPHAN_LEN ||
	    memcmp(name + len - RDMAFSD_ORPHAN_TAIL, f->tail, RDMAFSD_ORPHAN_TAIL))
		return true;
	found = kmalloc(sizeof(*found), GFP_KERNEL);
	if (!found) {
		f->list.enough = true;
		return false;
	}
	memcpy(found->name, name, len);
	found->name[len] = '\0';
	list_add_tail(&found->link, &f->found);
	return true;
}

/**
 * rdmafsd_orphans_list - read the directory of orphans
 * @exp:  an export of its file system
 * @dir:  the directory
 * @list: its actor is called for each name, in any order, until it has set @list->enough
 *
 * Context: process, may sleep; the server's own credentials.
 * Return: 0, or a negative errno: the actor may not have been called for all names.
 */
int rdmafsd_orphans_list(struct rdmafsd_export *exp, struct dentry *dir,
			 struct rdmafsd_orphans_list *list)
{
	struct path path = { .mnt = exp->path.mnt, .dentry = dir };
	struct file *file;
	loff_t pos;
	int err;

	file = dentry_open(&path, O_RDONLY | O_DIRECTORY | O_LARGEFILE, rdmafsd_own_cred);
	if (IS_ERR(file))
		return PTR_ERR(file);
	do {
		pos = file->f_pos;
		err = iterate_dir(file, &list->ctx);
	} while (!err && !list->enough && file->f_pos != pos);
	rdmafsd_file_close(file);
	return err;
}

/*
 * Which name a file in the directory of orphans has; RDMAFSD_NAMED: one that the server has not
 * given it.
 */
static enum rdmafsd_opened_name rdmafsd_orphan_is(struct rdmafsd_export *exp,
						  struct dentry *dentry, const char *found)
{
	char name[RDMAFSD_ORPHAN_LEN + 1];

	if (!d_is_reg(dentry))
		return RDMAFSD_NAMED;
	rdmafsd_orphan_name(exp, d_inode(dentry), false, name);
	if (!strcmp(name, found))
		return RDMAFSD_ORPHAN;
	rdmafsd_orphan_name(exp, d_inode(dentry), true, name);
	return strcmp(name, found) ? RDMAFSD_NAMED : RDMAFSD_TMPFILE;
}

static int rdmafsd_orphan_found(struct rdmafsd_export *exp, struct dentry *dir, const char *found)
{
	enum rdmafsd_opened_name what;
	struct dentry *dentry;
	int err = 0;

	dentry = lookup_one_positive_unlocked(&nop_mnt_idmap, found, dir, RDMAFSD_ORPHAN_LEN);
	if (IS_ERR(dentry))
		return PTR_ERR(dentry) == -ENOENT ? 0 : PTR_ERR(dentry);
	what = rdmafsd_orphan_is(exp, dentry, found);
	/* With another name besides, it is no orphan: the server died before it removed that. */
	if (what == RDMAFSD_NAMED)
		pr_warn_ratelimited("%s: '%s/%s' is none of the server's\n", exp->p.name,
				    RDMAFSD_ORPHANS, found);
	else if (d_inode(dentry)->i_nlink < 2)
		err = rdmafsd_opened_keep(exp, d_inode(dentry), what);
	else if (!rdmafsd_orphan_remove(exp, d_inode(dentry)))
		err = rdmafsd_opened_keep(exp, d_inode(dentry), RDMAFSD_ORPHAN);
	dput(dentry);
	return err;
}

/**
 * rdmafsd_orphans_start - take up the orphans that a former life of the export has left
 * @exp: the export, not live yet
 *
 * Context: process, may sleep.
 * Return: 0, also if there is no directory or it can't be read; or -ENOMEM.
 */
int rdmafsd_orphans_start(struct rdmafsd_export *exp)
{
	struct rdmafsd_finding f = { .list.ctx.actor = rdmafsd_orphans_actor };
	struct rdmafsd_found *found, *next;
	const struct cred *saved;
	struct dentry *dir;
	int err;

	bool ro = exp->p.read_only || __mnt_is_readonly(exp->path.mnt);

	INIT_LIST_HEAD(&f.found);
	snprintf(f.tail, sizeof(f.tail), "-%08x", exp->p.id);
	saved = override_creds(rdmafsd_own_cred);
	dir = rdmafsd_orphans(exp, false);
	err = PTR_ERR_OR_ZERO(dir);
	/* If nothing can be changed the directory is only hidden from clients. */
	if (!err && !ro)
		err = rdmafsd_orphans_list(exp, dir, &f.list);
	if (!err && f.list.enough)
		err = -ENOMEM;
	list_for_each_entry_safe(found, next, &f.found, link) {
		if (!err)
			err = rdmafsd_orphan_found(exp, dir, found->name);
		kfree(found);
	}
	if (!IS_ERR(dir))
		dput(dir);
	revert_creds(saved);
	return err == -ENOMEM ? err : 0;
}

/**
 * rdmafsd_orphans_exit - let go of the directory of orphans, and remove it if it is empty
 * @exp: the export, with no request at work
 *
 * Context: process, may sleep.
 */
void rdmafsd_orphans_exit(struct rdmafsd_export *exp)
{
	struct inode *root = d_inode(exp->path.dentry);
	struct dentry *dir = rdmafsd_orphans_set(exp, NULL);
	const struct cred *saved;

	if (!dir)
		return;
	saved = override_creds(rdmafsd_own_cred);
	if (!mnt_want_write(exp->path.mnt)) {
		inode_lock_nested(root, I_MUTEX_PARENT);
		/* If a user of this machine has moved or removed the directory, leave it so. */
		if (dir->d_parent == exp->path.dentry && !d_unhashed(dir))
			vfs_rmdir(&nop_mnt_idmap, root, dir);
		inode_unlock(root);
		mnt_drop_write(exp->path.mnt);
	}
	revert_creds(saved);
	dput(dir);
}
