// SPDX-License-Identifier: GPL-2.0
/*
 * Files that are made without a name (O_TMPFILE), and the first name that one of them gets.
 *
 * The file system makes the file for the directory that the client names, so that its mode, group,
 * ACL and quota are what any file of that directory gets.  Next the file gets a name as an orphan
 * (orphan.c).  From then on it is an open file like any other that has no name left: it outlives
 * its session and a restart of the server, and goes with its last CLOSE, or when no client comes
 * back for it.
 *
 * The client says whether the file may get a name later.  If so its entry is a TMPFILE (opened.c),
 * and its name as an orphan says the same to the next start of the export.  With the first real
 * name the name as an orphan goes, and the file is like any other.  The real name is brought to
 * stable storage first: a crash in between leaves one link too many, which the next start removes.
 * The naming semaphore is not held for that, as it may write all of the file's data.
 * If the name as an orphan can't be removed then it stays until the last CLOSE.  That such a file
 * has had a name is not known after a restart, if its name was removed as well before that.
 *
 * A file that can't be kept, since it can't get a name as an orphan, is not made: EOPNOTSUPP.  It
 * would be lost with its session, and programs that use O_TMPFILE know what to do without.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/namei.h>
#include "request.h"
#include "opened.h"

/*
 * The file system applies the umask, or the default ACL in its place.  The directory can't be
 * locked for that, as it is where a name is made (rdmafsd_create_mode()): the file is opened, too,
 * which may have to wait for a process on this machine that watches opens (fanotify), and that
 * process may wait for the lock.
 */
static struct file *rdmafsd_tmpfile_open(struct rdmafsd_rq *rq, const struct rdmafsd_tmpfile *t)
{
	struct path path = { .mnt = rq->exp->path.mnt, .dentry = t->dir };
	struct file *file;

	/* The umask is this thread's alone (transport/server/threads.c), and 0 otherwise. */
	current->fs->umask = t->umask & 0777;
	file = kernel_tmpfile_open(rdmafsd_idmap(rq->exp), &path,
				   S_IFREG | (t->mode & S_IALLUGO), O_RDWR | O_LARGEFILE,
				   current_cred());
	current->fs->umask = 0;
	return file;
}

/*
 * Why can't a file get a name as an orphan?  It lies in another subvolume or project than the
 * directory of orphans, or something else has the name of that directory.
 */
static int rdmafsd_tmpfile_errno(int err)
{
	switch (err) {
	case -EXDEV:
	case -EPERM:
	case -EACCES:
	case -EEXIST:
	case -EMLINK:
		return -EOPNOTSUPP;
	}
	return err;
}

/* Give the file a name as an orphan; @t->of is set if the caller has to put it, also on errors. */
static int rdmafsd_tmpfile_hide(struct rdmafsd_rq *rq, struct rdmafsd_tmpfile *t)
{
	struct rw_semaphore *naming = rdmafsd_naming_of(rq->exp, d_inode(t->obj));
	struct inode *delegated = NULL;
	struct rdmafsd_opened *of;
	int err;

	down_write(naming);
	of = rdmafsd_opened_make(rq->exp, d_inode(t->obj));
	err = PTR_ERR_OR_ZERO(of);
	if (!err) {
		t->of = of;
		err = rdmafsd_orphan_add(rq->exp, t->obj, t->linkable, &delegated);
		err = rdmafsd_tmpfile_errno(rdmafsd_deleg_end(&delegated, err));
	}
	if (!err)
		rdmafsd_opened_rename(rq->exp, of, t->linkable ? RDMAFSD_TMPFILE : RDMAFSD_ORPHAN);
	up_write(naming);
	return err;
}

/**
 * rdmafsd_tmpfile_make - make a file without a name
 * @rq: the request, the caller's credentials on, the mount not held for writing
 * @t:	what to make; gets @obj and @of
 *
 * When this returns 0 the file is on stable storage.
 *
 * Context: a kthread with its own fs_struct and umask 0; may sleep; takes the file's naming
 * semaphore.
 * Return: 0: to be followed by rdmafsd_tmpfile_put() once the file is open; -EOPNOTSUPP: the file
 * system has no such files, or can't keep them; -EOVERFLOW: the caller has no id in the file
 * system; or another negative errno.  After an error
 * rdmafsd_tmpfile_put() may be called, too.
 */
int rdmafsd_tmpfile_make(struct rdmafsd_rq *rq, struct rdmafsd_tmpfile *t)
{
	struct file *file;
	int err;

	/* For files with names the VFS checks this. */
	if (!fsuidgid_has_mapping(t->dir->d_sb, rdmafsd_idmap(rq->exp)))
		return -EOVERFLOW;
	err = rdmafsd_rq_want_write(rq);
	if (err)
		return err;
	file = rdmafsd_tmpfile_open(rq, t);
	err = PTR_ERR_OR_ZERO(file);
	if (!err) {
		t->obj = dget(file->f_path.dentry);
		err = rdmafsd_seclabel_first(rq, t->obj, 0);
		if (!err)
			err = rdmafsd_tmpfile_hide(rq, t);
		rdmafsd_file_close(file);
	}
	rdmafsd_rq_drop_write(rq);
	if (err)
		return err;
	rdmafsd_opened_made(rq->exp, d_inode(t->obj));
	return rdmafsd_commit(rq->exp, t->obj);
}

/**
 * rdmafsd_tmpfile_put - let go of a file that rdmafsd_tmpfile_make() has made, or has not
 * @rq: the request, the mount not held for writing
 * @t:	as rdmafsd_tmpfile_make() left it
 *
 * If no client has the file open it goes.
 *
 * Context: process, may sleep, no VFS lock held: the file's name as an orphan may be removed.
 */
void rdmafsd_tmpfile_put(struct rdmafsd_rq *rq, struct rdmafsd_tmpfile *t)
{
	if (t->of)
		rdmafsd_opened_put(rq->exp, t->of);
	dput(t->obj);
}

/**
 * rdmafsd_linking_begin - prepare that a file gets another name
 * @rq:	 the request, the mount held for writing
 * @obj: the file, not locked, nor any directory
 * @l:	 out: to be given to rdmafsd_linking_end(), whatever is returned
 *
 * Context: process, may sleep; takes the file's naming semaphore for writing until
 * rdmafsd_linking_end() if the file has a name as an orphan.
 * Return: 0; -ENOENT: the file has no name and can't get one; -EAGAIN: it is being removed.
 */
int rdmafsd_linking_begin(struct rdmafsd_rq *rq, struct dentry *obj, struct rdmafsd_linking *l)
{
	struct inode *inode = d_inode(obj);
	struct rdmafsd_opened *of;

	*l = (struct rdmafsd_linking){ .obj = obj };
	/* Also while that name is being removed: a file that is unlinked must not get another. */
	if (rdmafsd_opened_where(rq->exp, inode) == RDMAFSD_NAMED)
		return 0;
	l->naming = rdmafsd_naming_of(rq->exp, inode);
	down_write(l->naming);
	of = rdmafsd_opened_join(rq->exp, inode, NULL);
	if (IS_ERR(of))
		return PTR_ERR(of);
	l->of = of;
	l->first = of && of->name == RDMAFSD_TMPFILE;
	/* To clients it has no name left, so it can't get another one. */
	return of && of->name == RDMAFSD_ORPHAN && inode->i_nlink < 2 ? -ENOENT : 0;
}

/**
 * rdmafsd_linking_end - note that a file has got another name, or has not
 * @rq:	    the request, the mount held for writing
 * @l:	    as rdmafsd_linking_begin() left it
 * @linked: whether the file has got it
 *
 * To be followed by rdmafsd_linking_put().
 *
 * Context: process, does not sleep; releases the naming semaphore.
 */
void rdmafsd_linking_end(struct rdmafsd_rq *rq, struct rdmafsd_linking *l, bool linked)
{
	l->first &= linked;
	/* Whatever happens next, this was its first name. */
	if (l->first)
		rdmafsd_opened_rename(rq->exp, l->of, RDMAFSD_ORPHAN);
	if (l->naming)
		up_write(l->naming);
}

/*
 * Remove the name as an orphan.  In between clients see one link too many rather than none; the
 * change gives that its own cookie, and is joined to @chg, the file's change by its new name.
 */
static void rdmafsd_linking_unhide(struct rdmafsd_rq *rq, struct rdmafsd_linking *l,
				   struct rdmafsd_change *chg)
{
	struct rdmafsd_change removal;
	int err;

	lockdep_assert_held_write(l->naming);
	rdmafsd_change_begin(rq, l->obj, &removal);
	rdmafsd_opened_rename(rq->exp, l->of, RDMAFSD_NAMED);
	err = rdmafsd_orphan_undo(rq->exp, d_inode(l->obj));
	if (err)
		rdmafsd_opened_rename(rq->exp, l->of, RDMAFSD_ORPHAN);
	rdmafsd_change_end(&removal);
	if (removal.before && removal.before == chg->after)
		chg->after = removal.after;
}

/**
 * rdmafsd_linking_stable - complete a first name, which is on stable storage now
 * @rq:	 the request; the mount not held for writing
 * @l:	 as rdmafsd_linking_end() left it
 * @chg: the file's change by its new name, ended; it may come to include the removal of the file's
 *	 name as an orphan
 *
 * Not to be called if the name could not be brought to stable storage: then the file keeps its
 * name as an orphan until the last CLOSE.  So it does if it has lost the new name meanwhile.
 *
 * Context: process, may sleep; takes the naming semaphore.
 */
void rdmafsd_linking_stable(struct rdmafsd_rq *rq, struct rdmafsd_linking *l,
			    struct rdmafsd_change *chg)
{
	if (!l->first || rdmafsd_rq_want_write(rq))
		return;
	down_write(l->naming);
	if (l->of->name == RDMAFSD_ORPHAN && d_inode(l->obj)->i_nlink > 1)
		rdmafsd_linking_unhide(rq, l, chg);
	up_write(l->naming);
	rdmafsd_rq_drop_write(rq);
}

/**
 * rdmafsd_linking_put - let go of what rdmafsd_linking_begin() took
 * @rq:	the request; the mount not held for writing
 * @l:	as rdmafsd_linking_end() left it
 *
 * Context: process, may sleep, no VFS lock held: the file's name as an orphan may be removed.
 */
void rdmafsd_linking_put(struct rdmafsd_rq *rq, struct rdmafsd_linking *l)
{
	if (l->of)
		rdmafsd_opened_put(rq->exp, l->of);
}
