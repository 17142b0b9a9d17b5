// SPDX-License-Identifier: GPL-2.0
/*
 * A name that is being removed, by a removal or by a rename of another object over it.
 *
 * If it is the last name of a file that a client has open, or may open again, the file first gets
 * another name in a directory that clients do not see (orphan.c).  Without one its handle could
 * not be decoded, and a client that lost its session could not open the file again.  Clients are
 * told a link count that is one less.
 *
 * After a crash the server does not know what was open, and a file's name may be removed before
 * the client that had it open comes back.  So while clients may come back after the start of the
 * export (rdmafsd_export_unknown()) each file that loses its last name becomes an orphan until
 * that time is over.  Its claim is a guess.  There may be as many guesses as opens, which bounds
 * the inodes in memory, and one client's removals may make only a part of them, in a part of the
 * file systems below an export (staying.c).  No guess is made for a file that was made in this
 * life of the export (rdmafsd_opened_made()), as the server knows its opens.  If the file system is
 * full, all guesses go at once.
 *
 * No open may be missed between the look whether the file is open and the removal of the name.  So
 * the task that removes it holds the file's naming semaphore for writing, from
 * rdmafsd_leaving_begin() to rdmafsd_leaving_end(); a task that opens the file takes it for
 * reading while it counts itself in the entry (opened.c).
 */
#define pr_fmt(fmt) "rdmafsd: " fmt

#include <linux/fs.h>
#include <linux/namei.h>
#include <linux/printk.h>
#include <linux/rwsem.h>
#include "transport/points.h"
#include "request.h"
#include "opened.h"

/* May the caller remove a name?  The VFS checks the same when the name is removed. */
static bool rdmafsd_leaving_may(struct rdmafsd_rq *rq, struct dentry *dir, struct inode *inode)
{
	struct mnt_idmap *idmap = rdmafsd_idmap(rq->exp);

	return !inode_permission(idmap, d_inode(dir), MAY_WRITE | MAY_EXEC) &&
	       !IS_APPEND(d_inode(dir)) && !IS_APPEND(inode) && !IS_IMMUTABLE(inode) &&
	       !HAS_UNMAPPED_ID(idmap, inode) && !check_sticky(idmap, d_inode(dir), inode);
}

/*
 * If a file that is open, or may be, has one name left, give it another one as an orphan.  A
 * caller that may not remove the name must not change the file by trying: @l->denied.
 */
static int rdmafsd_leaving_keep(struct rdmafsd_rq *rq, struct dentry *dir,
				struct rdmafsd_leaving *l, struct inode **delegated)
{
	struct inode *inode = d_inode(l->obj);
	struct rdmafsd_change chg;
	int err;

	lockdep_assert_held_write(l->naming);
	l->of = l->guess && inode->i_nlink == 1 ? rdmafsd_opened_make(rq->exp, inode) :
						    rdmafsd_opened_join(rq->exp, inode, NULL);
	if (IS_ERR_OR_NULL(l->of)) {
		l->of = NULL;
		return 0;
	}
	if (l->of->name != RDMAFSD_NAMED || inode->i_nlink != 1)
		return 0;
	l->denied = !rdmafsd_leaving_may(rq, dir, inode);
	if (l->denied)
		return 0;
	rdmafsd_change_begin(rq, l->obj, &chg);
	err = rdmafsd_orphan_add(rq->exp, l->obj, false, delegated);
	if (!err)
		rdmafsd_opened_rename(rq->exp, l->of, RDMAFSD_ORPHAN);
	rdmafsd_change_end(&chg);
	if (err)
		return *delegated ? err : 0;
	l->kept = true;
	l->before = chg.before;
	l->after = chg.after;
	return 0;
}

/* Make a guess for a file; NULL: the server knows all opens of it, or there is no room. */
static struct rdmafsd_claim *rdmafsd_leaving_guess(struct rdmafsd_rq *rq, struct inode *inode)
{
	struct rdmafsd_claim *claim;
	const char *why;

	if (!rdmafsd_export_unknown(rq->exp) || rdmafsd_opened_is_made(rq->exp, inode))
		return NULL;
	claim = rdmafsd_claim_guess(rq->exp, rq->ses->client, &why);
	if (!claim)
		pr_warn_ratelimited("%s: no room to keep what a client removes for others that may have it open and are not back yet (%s)\n",
				    rq->exp->p.name, why);
	return claim;
}

/**
 * rdmafsd_leaving_begin - prepare the removal of a name: keep its file if it is open
 * @rq:	  the request, the caller's credentials on, the mount held for writing
 * @dir:  the directory, not locked
 * @name: the name
 * @l:	  out: to be given to rdmafsd_leaving_end(), whatever is returned
 * @delegated: out: an inode whose leases have to be broken first
 *
 * A file that can't be kept is removed as if no client had it open: opens of it work for as long
 * as their sessions do.  An error in finding the file is not reported, as the removal will find it
 * again.
 *
 * Context: process, may sleep; takes the file's naming semaphore for writing until
 * rdmafsd_leaving_end().
 * Return: 0, or -EWOULDBLOCK with @delegated set.
 */
int rdmafsd_leaving_begin(struct rdmafsd_rq *rq, struct dentry *dir, const struct rfp_str *name,
			  struct rdmafsd_leaving *l, struct inode **delegated)
{
	struct dentry *obj;

	*l = (struct rdmafsd_leaving){};
	obj = rdmafsd_lookup_there(rq->exp, dir, name);
	if (IS_ERR(obj))
		return 0;
	l->obj = obj;
	if (!d_is_reg(obj))
		return 0;
	/*
	 * This may sleep, and takes the naming semaphore itself, so it comes before that is taken.
	 * If there is no memory, the file is removed as if no client had it open.
	 */
	if (rdmafsd_reclaim_time() && rdmafsd_cut_claims(rq->exp, d_inode(obj)) &&
	    !rdmafsd_opened_keep(rq->exp, d_inode(obj), RDMAFSD_NAMED))
		rdmafsd_cut_set_claimed(rq->exp, d_inode(obj));
	l->guess = rdmafsd_leaving_guess(rq, d_inode(obj));
	l->naming = rdmafsd_naming_of(rq->exp, d_inode(obj));
	down_write(l->naming);
	return rdmafsd_leaving_keep(rq, dir, l, delegated);
}

/**
 * rdmafsd_leaving_is - check that a name still is the object's that rdmafsd_leaving_begin() found
 * @rq:	    the request, the caller's credentials on
 * @l:	    as rdmafsd_leaving_begin() left it
 * @dentry: what the name stands for now
 *
 * Context: process; the directory of @dentry is locked, the caller's credentials are on.
 * Return: true if so, or if there is no file to be kept; false: the caller has to begin anew,
 * also if it may remove the name now and might not then.
 */
bool rdmafsd_leaving_is(struct rdmafsd_rq *rq, const struct rdmafsd_leaving *l,
			struct dentry *dentry)
{
	lockdep_assert_held_write(&d_inode(dentry->d_parent)->i_rwsem);
	if (d_really_is_negative(dentry) || !d_is_reg(dentry))
		return true;
	if (!l->obj || d_inode(l->obj) != d_inode(dentry))
		return false;
	return !l->denied || !rdmafsd_leaving_may(rq, dentry->d_parent, d_inode(dentry));
}

/**
 * rdmafsd_leaving_change - join the two changes of a file whose name was removed
 * @l:	 as rdmafsd_leaving_begin() left it
 * @chg: the file's change by the removal of its name, ended
 *
 * That the file got a name as an orphan was a change by the same client.  If no other came between
 * the two, @chg begins with the first.
 *
 * Context: any.
 */
void rdmafsd_leaving_change(const struct rdmafsd_leaving *l, struct rdmafsd_change *chg)
{
	if (l->kept)
		rdmafsd_change_join(chg, l->before, l->after);
}

/**
 * rdmafsd_leaving_end - complete the removal of a name, or undo what was prepared for it
 * @rq:	     the request; the mount is held for writing, the directory not locked
 * @l:	     as rdmafsd_leaving_begin() left it
 * @removed: whether the name was removed
 *
 * To be followed by rdmafsd_leaving_put().
 *
 * Context: process, may sleep; releases the naming semaphore.
 */
void rdmafsd_leaving_end(struct rdmafsd_rq *rq, struct rdmafsd_leaving *l, bool removed)
{
	struct rdmafsd_change chg;
	int err;

	if (l->kept && !removed) {
		/* In between clients see one link less: the change gives that its own cookie. */
		rdmafsd_change_begin(rq, l->obj, &chg);
		err = rdmafsd_orphan_undo(rq->exp, d_inode(l->obj));
		rdmafs_test_point("leaving_undone", d_inode(l->obj)->i_ino);
		/* On an error the file keeps its orphan name besides, until the entry ends. */
		if (!err)
			rdmafsd_opened_rename(rq->exp, l->of, RDMAFSD_NAMED);
		rdmafsd_change_end(&chg);
	} else if (removed && l->of && l->guess) {
		/* Also if the file was an orphan already and had one more name. */
		if (rdmafsd_claim_guessed(rq->exp, l->of, l->guess))
			l->guess = NULL;
	}
	if (l->naming)
		up_write(l->naming);
}

/**
 * rdmafsd_leaving_put - let go of what rdmafsd_leaving_begin() took
 * @rq:	the request; the mount not held for writing
 * @l:	as rdmafsd_leaving_end() left it
 *
 * Context: process, may sleep, no VFS lock held: the file's name as an orphan may be removed.
 */
void rdmafsd_leaving_put(struct rdmafsd_rq *rq, struct rdmafsd_leaving *l)
{
	if (l->of)
		rdmafsd_opened_put(rq->exp, l->of);
	if (l->guess)
		rdmafsd_claim_free(l->guess);
	if (l->obj)
		dput(l->obj);
}
