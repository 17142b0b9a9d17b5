// SPDX-License-Identifier: GPL-2.0
/*
 * Bringing changes of metadata to stable storage before they are answered.
 *
 * How that is done depends on the file system.  It is found out once, when the export starts:
 *
 *	CALL	The file system has ->commit_metadata() and a journal (xfs, ext4):
 *		the call brings names as well as inodes to stable storage.
 *	INODE	The file system has neither journal nor log (ext4 without a journal,
 *		ext2, and others that use generic_file_fsync() for directories): the
 *		entries of a directory are pages and buffers of the directory, and
 *		only fsync of that very directory writes them.  So pages, buffers and
 *		inode are written, and the device's cache is flushed, as
 *		generic_file_fsync() does it for an open file.
 *	FSYNC	The file system has a log, or a table of blocks in use, that only
 *		its ->fsync() writes (btrfs, f2fs; FAT).  ->fsync() of directories
 *		is the same function as that of files, and needs no more of its file
 *		than inode, dentry and (FAT) mapping.  So it is called for objects of
 *		every type, with a file opened O_PATH: such an open has no effects on
 *		devices, FIFOs, leases or atime.
 *	SYNC	None of these is known to work (jfs, bcachefs, FUSE, NFS): that the
 *		file system writes an inode does not say that the inode's names are
 *		on the disk.  Files and directories are opened and fsynced; for any
 *		other object the whole file system is synced.
 *	NEVER	The file system has no stable storage (tmpfs).
 */
#include <linux/blkdev.h>
#include <linux/buffer_head.h>
#include <linux/exportfs.h>
#include <linux/filelock.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/unaligned.h>
#include <linux/writeback.h>
#include "transport/points.h"
#include "server.h"

/* Where the superblock of ext4 says that there is a journal; no mount option takes it away. */
#define RDMAFSD_EXT4_SB		1024	/* the superblock's offset */
#define RDMAFSD_EXT4_MAGIC	56	/* in it, __le16 */
#define RDMAFSD_EXT4_COMPAT	92	/* in it, __le32 */
#define RDMAFSD_EXT4_JOURNAL	0x4	/* a bit of that */

/* If the superblock can't be read the answer is no, which costs time but loses nothing. */
static bool rdmafsd_ext4_has_journal(struct super_block *sb)
{
	struct buffer_head *bh = sb_bread(sb, RDMAFSD_EXT4_SB / sb->s_blocksize);
	bool journal = false;
	const u8 *es;

	if (!bh)
		return false;
	es = bh->b_data + RDMAFSD_EXT4_SB % sb->s_blocksize;
	if (get_unaligned_le16(es + RDMAFSD_EXT4_MAGIC) == EXT4_SUPER_MAGIC)
		journal = get_unaligned_le32(es + RDMAFSD_EXT4_COMPAT) & RDMAFSD_EXT4_JOURNAL;
	brelse(bh);
	return journal;
}

static enum rdmafsd_commit rdmafsd_commit_of(struct inode *root)
{
	typeof(root->i_fop->fsync) fsync = root->i_fop->fsync;
	struct super_block *sb = root->i_sb;

	if (sb->s_export_op->commit_metadata) {
		if (sb->s_magic == EXT4_SUPER_MAGIC && sb->s_bdev && !rdmafsd_ext4_has_journal(sb))
			return RDMAFSD_COMMIT_INODE;
		return RDMAFSD_COMMIT_CALL;
	}
	if (fsync && (sb->s_magic == BTRFS_SUPER_MAGIC || sb->s_magic == F2FS_SUPER_MAGIC ||
		      sb->s_magic == MSDOS_SUPER_MAGIC))
		return RDMAFSD_COMMIT_FSYNC;
	if (sb->s_bdev && (fsync == generic_file_fsync || sb->s_magic == EXT2_SUPER_MAGIC))
		return RDMAFSD_COMMIT_INODE;
	if (sb->s_op->write_inode || (fsync && fsync != noop_fsync))
		return RDMAFSD_COMMIT_SYNC;
	return RDMAFSD_COMMIT_NEVER;
}

/**
 * rdmafsd_commit_init - find out how a file system is made to keep changes
 * @exp: an export that starts, with its path; gets @commit
 *
 * Context: process, may sleep.
 */
void rdmafsd_commit_init(struct rdmafsd_export *exp)
{
	exp->commit = rdmafsd_commit_of(d_inode(exp->path.dentry));
}

/* Write all that belongs to an inode, but not the data of a regular file. */
static int rdmafsd_commit_inode(struct inode *inode)
{
	struct address_space *mapping = &inode->i_data;
	struct super_block *sb = inode->i_sb;
	int err = 0, err2;

	if (!S_ISREG(inode->i_mode))
		err = filemap_write_and_wait(mapping);
	err2 = sync_mapping_buffers(mapping);
	if (!err)
		err = err2;
	err2 = sb->s_export_op->commit_metadata ? sb->s_export_op->commit_metadata(inode) :
						  sync_inode_metadata(inode, 1);
	if (!err)
		err = err2;
	err2 = blkdev_issue_flush(sb->s_bdev);
	return err ? err : err2;
}

static int rdmafsd_commit_fsync(struct rdmafsd_export *exp, struct dentry *dentry)
{
	struct path path = { .mnt = exp->path.mnt, .dentry = dentry };
	struct file *file;
	int err;

	file = dentry_open(&path, O_PATH, rdmafsd_own_cred);
	if (IS_ERR(file))
		return PTR_ERR(file);
	err = d_inode(exp->path.dentry)->i_fop->fsync(file, 0, LLONG_MAX, 0);
	rdmafsd_file_close(file);
	return err;
}

static int rdmafsd_commit_all(struct super_block *sb)
{
	int err;

	rdmafs_test_point("commit_all", 0);
	down_read(&sb->s_umount);
	err = sync_filesystem(sb);
	up_read(&sb->s_umount);
	return err;
}

/*
 * Does a local process, or an NFS client, have a lease that an open for reading would break?  A
 * lease for reading does not count, since the open does not break it.  The caller syncs the
 * whole file system instead of opening the file, but only where that is necessary: FUSE, for
 * example, has nothing that brings all to the disk.
 */
static bool rdmafsd_commit_leased(struct inode *inode)
{
	struct file_lock_context *ctx = locks_inode_context(inode);
	const struct file_lease *lease;
	bool leased = false;

	if (!ctx || list_empty_careful(&ctx->flc_lease))
		return false;
	spin_lock(&ctx->flc_lock);
	list_for_each_entry(lease, &ctx->flc_lease, c.flc_list)
		leased |= lease->c.flc_type == F_WRLCK;
	spin_unlock(&ctx->flc_lock);
	return leased;
}

static int rdmafsd_commit_sync(struct rdmafsd_export *exp, struct dentry *dentry)
{
	struct path path = { .mnt = exp->path.mnt, .dentry = dentry };
	struct file *file;
	int err;

	/* An object that can't be opened without side effects: sync the whole file system. */
	if ((!d_is_reg(dentry) && !d_is_dir(dentry)) || rdmafsd_commit_leased(d_inode(dentry)))
		return rdmafsd_commit_all(dentry->d_sb);
	/* O_NONBLOCK: do not wait for a lease that is given just now. */
	file = dentry_open(&path, O_RDONLY | O_LARGEFILE | O_NONBLOCK, rdmafsd_own_cred);
	if (PTR_ERR_OR_ZERO(file) == -EWOULDBLOCK)
		return rdmafsd_commit_all(dentry->d_sb);
	if (IS_ERR(file))
		return PTR_ERR(file);
	err = file->f_op->fsync ? vfs_fsync(file, 0) : rdmafsd_commit_all(dentry->d_sb);
	rdmafsd_file_close(file);
	return err;
}

/**
 * rdmafsd_commit - bring an object's metadata to stable storage
 * @exp:    the export
 * @dentry: the object, positive
 *
 * A name belongs to its object and to its directory: for a change of a name both are to be
 * committed.
 *
 * Context: process, may sleep.  The caller has locked neither the object nor its directory.
 * Return: 0 or a negative errno.
 */
int rdmafsd_commit(struct rdmafsd_export *exp, struct dentry *dentry)
{
	struct inode *inode = d_inode(dentry);

	/* An object without a name does not outlive a crash: there is nothing to keep. */
	if (!inode->i_nlink)
		return 0;
	switch (exp->commit) {
	case RDMAFSD_COMMIT_CALL:
		return inode->i_sb->s_export_op->commit_metadata(inode);
	case RDMAFSD_COMMIT_INODE:
		return rdmafsd_commit_inode(inode);
	case RDMAFSD_COMMIT_FSYNC:
		return rdmafsd_commit_fsync(exp, dentry);
	case RDMAFSD_COMMIT_SYNC:
		return rdmafsd_commit_sync(exp, dentry);
	case RDMAFSD_COMMIT_NEVER:
		break;
	}
	return 0;
}
