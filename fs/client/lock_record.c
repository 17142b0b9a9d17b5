// SPDX-License-Identifier: GPL-2.0
/*
 * The record of locks, which the VFS keeps: what the server has granted to processes of this
 * machine.
 *
 * A lock that the server does not have any more is *lost*.  It is taken off the record, else a lock
 * that the server grants to another owner here could not be recorded.  What the lost lock was to
 * protect may have changed: reads and writes of the open that it was taken with fail with EIO until
 * that open is closed (@lock_lost), and data written under it is not written back (lock_loss.c).
 *
 * Locks: rdmafs_inode.recording, while the record changes; in it the VFS's flc_lock, a leaf.
 */
#include <linux/filelock.h>
#include <linux/sched/mm.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include "client.h"
#include "filelock.h"
#include "open.h"

/* The number that names an owner to the server; it does not tell the kernel's own name of it. */
static u64 rdmafs_owner_id(struct rdmafs_mount *mnt, const void *who)
{
	return siphash_1u64((unsigned long)who, &mnt->lock_key);
}

/**
 * rdmafs_range_of - tell how a lock of the VFS is named on the wire
 * @mnt: the mount
 * @fl:	 the lock
 *
 * Context: any.
 * Return: its range, owner, type and kind.
 */
struct rdmafs_range rdmafs_range_of(struct rdmafs_mount *mnt, const struct file_lock *fl)
{
	const struct file_lock_core *flc = &fl->c;
	bool flock = flc->flc_flags & FL_FLOCK;
	/* flock(2) has no other owner than the open file description. */
	void *who = flock ? (void *)flc->flc_file : flc->flc_owner;

	return (struct rdmafs_range) {
		.owner = rdmafs_owner_id(mnt, who),
		.who = who,
		.start = flock ? 0 : fl->fl_start,
		.end = flock ? OFFSET_MAX : fl->fl_end,
		.type = flc->flc_type,
		.kind = flock ? RFP_LOCK_FLOCK :
			flc->flc_flags & FL_OFDLCK ? RFP_LOCK_OFD : RFP_LOCK_POSIX,
		.pid = flc->flc_pid,
	};
}

/**
 * rdmafs_lock_local - tell whether a lock is kept here alone, as local_lock= wants it
 * @file: the file
 * @fl:	  the lock
 *
 * Context: any.
 * Return: true if the server is not asked for it.
 */
bool rdmafs_lock_local(const struct file *file, const struct file_lock *fl)
{
	u32 local = RDMAFS_M(file_inode(file)->i_sb)->opts.local_lock;

	return local & (fl->c.flc_flags & FL_FLOCK ? RDMAFS_LOCAL_FLOCK : RDMAFS_LOCAL_POSIX);
}

/**
 * rdmafs_lock_piece - find out what is recorded for an owner from an offset on
 * @inode: the file
 * @r:	   its start is that offset; its end is lowered to the end of the piece that is locked in
 *	   one way, or not at all; type, @who and @pid become those of the lock
 *
 * Context: any but interrupt; takes the VFS's lock of the file's locks.
 * Return: the open that the lock was taken with, a reference; NULL if the piece is not locked.
 */
struct rdmafs_open *rdmafs_lock_piece(struct inode *inode, struct rdmafs_range *r)
{
	struct file_lock_context *ctx = locks_inode_context(inode);
	struct rdmafs_mount *mnt = RDMAFS_M(inode->i_sb);
	struct rdmafs_open *open = NULL;
	struct list_head *list;
	struct file_lock *fl;

	r->type = F_UNLCK;
	if (!ctx)
		return NULL;
	list = r->kind == RFP_LOCK_FLOCK ? &ctx->flc_flock : &ctx->flc_posix;
	spin_lock(&ctx->flc_lock);
	list_for_each_entry(fl, list, c.flc_list) {
		struct rdmafs_range have = rdmafs_range_of(mnt, fl);

		/* An owner's locks are sorted and do not overlap. */
		if (have.owner != r->owner || have.end < r->start || have.start > r->end)
			continue;
		if (have.start > r->start) {
			r->end = have.start - 1;
		} else {
			r->type = have.type;
			r->who = have.who;
			r->pid = have.pid;
			r->end = min(r->end, have.end);
			/* The file has the lock, so that it has not been released. */
			open = rdmafs_open_get(fl->c.flc_file->private_data);
		}
		break;
	}
	spin_unlock(&ctx->flc_lock);
	return open;
}

/**
 * rdmafs_lock_recorded - tell whether the record still has a lock
 * @inode: the file
 * @r:	   the lock
 *
 * Context: any but interrupt; as rdmafs_lock_piece().
 * Return: true if its owner is recorded with all of it, in that type.
 */
bool rdmafs_lock_recorded(struct inode *inode, const struct rdmafs_range *r)
{
	struct rdmafs_range piece = *r;
	struct rdmafs_open *open = rdmafs_lock_piece(inode, &piece);

	if (!open)
		return false;
	rdmafs_open_put(open);
	return piece.type == r->type && piece.end == r->end;
}

/* Does a lock of the record exclude what another owner has in that range? */
static bool rdmafs_lock_excludes(const struct file_lock *fl, const struct rdmafs_range *r)
{
	const struct file_lock_core *flc = &fl->c;
	void *who = flc->flc_flags & FL_FLOCK ? (void *)flc->flc_file : flc->flc_owner;

	return who != r->who && fl->fl_end >= r->start && fl->fl_start <= r->end &&
	       (flc->flc_type == F_WRLCK || r->type == F_WRLCK);
}

/**
 * rdmafs_lock_rival - find a lock of the record that excludes what another owner has
 * @inode: the file
 * @r:	   what that owner has: range, @who, type and kind
 * @nr:	   how many such locks to pass over
 * @rival: out: the lock
 *
 * Context: any but interrupt; takes the VFS's lock of the file's locks.
 * Return: the open that it was taken with, a reference; NULL: there are no more.
 */
struct rdmafs_open *rdmafs_lock_rival(struct inode *inode, const struct rdmafs_range *r, u32 nr,
				      struct rdmafs_range *rival)
{
	struct file_lock_context *ctx = locks_inode_context(inode);
	struct rdmafs_open *open = NULL;
	struct list_head *list;
	struct file_lock *fl;

	if (!ctx)
		return NULL;
	list = r->kind == RFP_LOCK_FLOCK ? &ctx->flc_flock : &ctx->flc_posix;
	spin_lock(&ctx->flc_lock);
	list_for_each_entry(fl, list, c.flc_list) {
		if (!rdmafs_lock_excludes(fl, r))
			continue;
		if (!nr) {
			*rival = rdmafs_range_of(RDMAFS_M(inode->i_sb), fl);
			open = rdmafs_open_get(fl->c.flc_file->private_data);
			break;
		}
		nr--;
	}
	spin_unlock(&ctx->flc_lock);
	return open;
}

static int rdmafs_lock_record_locked(struct inode *inode, struct file_lock *fl)
{
	unsigned int nofs;
	int err;

	lockdep_assert_held(&RDMAFS_I(inode)->recording);
	/* The VFS makes room for a lock, also for one that is cut in two. */
	nofs = memalloc_nofs_save();
	err = locks_lock_inode_wait(inode, fl);
	memalloc_nofs_restore(nofs);
	return err;
}

/**
 * rdmafs_lock_record_change - record a lock, or take it off the record
 * @inode: the file
 * @fl:	   the lock, without FL_SLEEP
 *
 * Context: process, may sleep; takes rdmafs_inode.recording and the VFS's lock of the file's locks.
 * Return: 0 or the negative errno of the VFS.
 */
int rdmafs_lock_record_change(struct inode *inode, struct file_lock *fl)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	int err;

	mutex_lock(&ri->recording);
	err = rdmafs_lock_record_locked(inode, fl);
	mutex_unlock(&ri->recording);
	return err;
}

static void rdmafs_lock_unrecord_locked(struct inode *inode, const struct rdmafs_range *r)
{
	bool flock = r->kind == RFP_LOCK_FLOCK;
	struct file_lock fl;

	locks_init_lock(&fl);
	fl.c.flc_type = F_UNLCK;
	fl.c.flc_flags = flock ? FL_FLOCK : FL_POSIX;
	if (r->kind == RFP_LOCK_OFD)
		fl.c.flc_flags |= FL_OFDLCK;
	/* The VFS compares these with those of its locks, and does not look what they point to. */
	fl.c.flc_owner = r->who;
	fl.c.flc_file = flock ? r->who : NULL;
	fl.c.flc_pid = r->pid;
	fl.fl_start = r->start;
	fl.fl_end = r->end;
	rdmafs_lock_record_locked(inode, &fl);
}

/**
 * rdmafs_lock_unrecord - take a range off the record that the server does not have for the owner
 * @inode: the file
 * @r:	   the range, with its owner; no other owner's locks change
 *
 * Context: process, may sleep; as rdmafs_lock_record_change().
 */
void rdmafs_lock_unrecord(struct inode *inode, const struct rdmafs_range *r)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);

	mutex_lock(&ri->recording);
	rdmafs_lock_unrecord_locked(inode, r);
	mutex_unlock(&ri->recording);
}

/**
 * rdmafs_lock_lost - note that the server does not have a lock of the record any more
 * @open: the open that it was taken with
 * @r:	  the lock, as it was recorded, or a part of it
 *
 * The process may have given it back since, or changed it, by another descriptor, and even have
 * taken it anew with that: what is not recorded as it was is not lost.
 *
 * Context: process, may sleep; as rdmafs_lock_record_change().
 */
void rdmafs_lock_lost(struct rdmafs_open *open, const struct rdmafs_range *r)
{
	struct rdmafs_mount *mnt = RDMAFS_M(open->inode->i_sb);
	struct rdmafs_inode *ri = RDMAFS_I(open->inode);
	struct rdmafs_range piece = *r;
	struct rdmafs_open *holder;
	bool lost = false, more;

	mutex_lock(&ri->recording);
	do {
		holder = rdmafs_lock_piece(open->inode, &piece);
		more = piece.end < r->end;
		if (holder == open && piece.type == r->type) {
			/* Before others here can get it. */
			WRITE_ONCE(open->lock_lost, true);
			if (piece.type == F_WRLCK)
				rdmafs_loss_begin(open->inode, piece.start, piece.end);
			rdmafs_lock_unrecord_locked(open->inode, &piece);
			lost = true;
		}
		if (holder)
			rdmafs_open_put(holder);
		piece.start = more ? piece.end + 1 : piece.start;
		piece.end = r->end;
	} while (more);
	mutex_unlock(&ri->recording);
	if (!lost)
		return;
	pr_warn_ratelimited("rdmafs: %s:/%s: inode %lu: a lock was lost\n", mnt->opts.host,
			    mnt->opts.export, open->inode->i_ino);
}

/**
 * rdmafs_locks_copy - copy the locks that were taken with an open
 * @open: the open
 * @nr:	  out: how many there are
 *
 * Context: process, may sleep; takes the VFS's lock of the file's locks.
 * Return: the copies, to be freed by kvfree(); NULL if there are none; or -ENOMEM.
 */
struct rdmafs_range *rdmafs_locks_copy(struct rdmafs_open *open, u32 *nr)
{
	struct rdmafs_mount *mnt = RDMAFS_M(open->inode->i_sb);
	struct file_lock_context *ctx = locks_inode_context(open->inode);
	struct rdmafs_range *copy = NULL;
	u32 room = 0, n;
	struct file_lock *fl;
	int i;

	*nr = 0;
	if (!ctx)
		return NULL;
	do {
		n = 0;
		spin_lock(&ctx->flc_lock);
		for (i = 0; i < 2; i++)
			list_for_each_entry(fl, i ? &ctx->flc_flock : &ctx->flc_posix, c.flc_list) {
				if (READ_ONCE(fl->c.flc_file->private_data) != open ||
				    rdmafs_lock_local(fl->c.flc_file, fl))
					continue;
				if (n < room)
					copy[n] = rdmafs_range_of(mnt, fl);
				n++;
			}
		spin_unlock(&ctx->flc_lock);
		if (n <= room)
			break;
		kvfree(copy);
		room = n + 16;
		copy = kvmalloc_array(room, sizeof(*copy), GFP_NOFS);
	} while (copy);
	if (!copy && n)
		return ERR_PTR(-ENOMEM);
	*nr = n;
	return copy;
}

/**
 * rdmafs_locks_gone - tell whether an open that failed to be opened again can't be opened any more
 * @err: the errno with which that failed
 *
 * Context: any.
 * Return: true if so: its locks are lost.
 */
bool rdmafs_locks_gone(int err)
{
	return err == -ESTALE || err == -EACCES || err == -EPERM || err == -EROFS;
}

/**
 * rdmafs_locks_lose - note that all locks of an open are lost
 * @open: the open
 *
 * Context: process, may sleep; as rdmafs_lock_unrecord().
 * Return: 0 or -ENOMEM.
 */
int rdmafs_locks_lose(struct rdmafs_open *open)
{
	struct rdmafs_range *copy;
	u32 nr, i;

	copy = rdmafs_locks_copy(open, &nr);
	if (IS_ERR(copy))
		return PTR_ERR(copy);
	for (i = 0; i < nr; i++)
		rdmafs_lock_lost(open, &copy[i]);
	kvfree(copy);
	return 0;
}

/**
 * rdmafs_write_through - tell whether write(2) is to write its bytes and no others
 * @inode: a regular file
 *
 * Writing back writes whole pages.  A process that has locked a range may write just that range,
 * while another client writes the rest of the page.
 *
 * Context: any; takes the lock of the VFS's locks.
 * Return: true if a range is locked that is not the whole file.
 */
bool rdmafs_write_through(struct inode *inode)
{
	struct file_lock_context *ctx = locks_inode_context(inode);
	struct file_lock *fl;
	bool ranges = false;

	if (likely(!ctx) || list_empty_careful(&ctx->flc_posix) ||
	    (RDMAFS_M(inode->i_sb)->opts.local_lock & RDMAFS_LOCAL_POSIX))
		return false;
	spin_lock(&ctx->flc_lock);
	list_for_each_entry(fl, &ctx->flc_posix, c.flc_list) {
		ranges = fl->c.flc_type == F_WRLCK && (fl->fl_start || fl->fl_end != OFFSET_MAX);
		if (ranges)
			break;
	}
	spin_unlock(&ctx->flc_lock);
	return ranges;
}
