// SPDX-License-Identifier: GPL-2.0
/*
 * The record of locks, which the VFS keeps: what the server has granted to processes of this
 * machine.
 *
 * A lock that the server does not have any more is *lost*.  It is taken off the record, else others
 * here could not be recorded with what the server grants them.  What it was to protect may have
 * changed: reads and writes of the open that it was taken with fail with EIO until that is closed
 * (@lock_lost).
 *
 * Locks: the VFS's flc_lock, a leaf.
 */
#include <linux/filelock.h>
#include <linux/sched/mm.h>
#include "client.h"
#include "filelock.h"

/**
 * rdmafs_lock_unrecord - take a range off the record that the server does not have for the owner
 * @inode: the file
 * @r:	   the range, with its owner; no other owner's locks change
 *
 * Context: process, may sleep; takes the VFS's lock of the file's locks.
 */
void rdmafs_lock_unrecord(struct inode *inode, const struct rdmafs_range *r)
{
	bool flock = r->kind == RFP_LOCK_FLOCK;
	struct file_lock fl;
	unsigned int nofs;

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
	/* The VFS makes room for a lock that is cut in two, and the open's lock may be held here. */
	nofs = memalloc_nofs_save();
	locks_lock_inode_wait(inode, &fl);
	memalloc_nofs_restore(nofs);
}

/**
 * rdmafs_lock_lost - note that the server does not have a lock of the record any more
 * @open: the open that it was taken with
 * @r:	  the lock, of the record, or a part of it
 *
 * Context: process, may sleep; as rdmafs_lock_unrecord().
 */
void rdmafs_lock_lost(struct rdmafs_open *open, const struct rdmafs_range *r)
{
	struct rdmafs_mount *mnt = RDMAFS_M(open->inode->i_sb);

	/* Before others here can get it. */
	WRITE_ONCE(open->lock_lost, true);
	rdmafs_lock_unrecord(open->inode, r);
	pr_warn_ratelimited("rdmafs: %s:/%s: inode %lu: a lock was lost\n", mnt->opts.host,
			    mnt->opts.export, open->inode->i_ino);
}
