// SPDX-License-Identifier: GPL-2.0
/*
 * Open and close regular files, and do everything on an open file that is not
 * reading or writing.
 *
 * Close-to-open: open(2) gets fresh attributes, and drops cached pages if there
 * was a foreign change (coherence.h); close(2) writes back, which includes COMMIT,
 * and reports errors.  A mapping keeps the struct file after close(2); what it makes
 * dirty then is written back when the struct file is released, before CLOSE is sent.
 *
 * Ownership: a struct file has a reference to its open (open.c) in private_data.
 * Locks: fallocate(2) takes i_rwsem (lock.c) and invalidate_lock, and reading by
 * splice(2) takes i_rwsem.
 */
#include <linux/fs.h>
#include <linux/falloc.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/splice.h>
#include "client.h"
#include "dir.h"
#include "filelock.h"
#include "op.h"
#include "open.h"
#include "unanswered.h"

/**
 * rdmafs_open_flags - tell for what the server is to open a file
 * @file: the file, which is being opened
 *
 * Context: any.
 * Return: RFP_OPEN_*.
 */
u32 rdmafs_open_flags(const struct file *file)
{
	u32 flags = 0;

	if (file->f_flags & __FMODE_EXEC)
		flags |= RFP_OPEN_EXEC;
	else if (file->f_mode & FMODE_READ)
		flags |= RFP_OPEN_READ;
	if (file->f_mode & FMODE_WRITE)
		flags |= RFP_OPEN_WRITE;
	/* open(2) with access mode 3 allows neither reading nor writing, and asks for both. */
	return flags ? flags : RFP_OPEN_READ | RFP_OPEN_WRITE;
}

/**
 * rdmafs_file_attach - give a file its open, or take it away
 * @file: the file, which is being opened
 * @open: the open, whose reference becomes the file's; NULL gives it back to the caller
 *
 * Context: process.
 */
void rdmafs_file_attach(struct file *file, struct rdmafs_open *open)
{
	file->private_data = open;
}

/* As far as attributes tell: by writes the file can only grow. */
static bool rdmafs_append_only(struct inode *inode)
{
	return READ_ONCE(RDMAFS_I(inode)->attr_flags) & RFP_ATTR_APPEND;
}

/* The server has granted the open, and its attributes have been taken over. */
static int rdmafs_file_opened(struct inode *inode, struct file *file)
{
	/*
	 * The server was not told how the file is to be written.  It would refuse any write but an
	 * append, though only after the page cache has taken the data.
	 */
	if ((file->f_mode & FMODE_WRITE) && !(file->f_flags & O_APPEND) &&
	    rdmafs_append_only(inode))
		return -EPERM;
	file->f_mode |= FMODE_CAN_ODIRECT | FMODE_NOWAIT;
	return rdmafs_open_mapping(inode);
}

/**
 * rdmafs_file_open_atomic - finish an open by atomic_open
 * @inode: the file
 * @file:  the struct file; its open is attached already
 *
 * Context: process, waits killably.
 * Return: 0 or a negative errno.
 */
int rdmafs_file_open_atomic(struct inode *inode, struct file *file)
{
	return rdmafs_file_opened(inode, file);
}

/*
 * The answer to the open has put the security label in doubt: have the module decide again, by the
 * label that the server has.  It looked at the one of before, and a mapping would be checked by
 * that, too.
 */
static int rdmafs_file_relabelled(struct inode *inode, struct file *file)
{
	int mask = MAY_OPEN;

	if (file->f_flags & __FMODE_EXEC)
		mask |= MAY_EXEC;
	else if (file->f_mode & FMODE_READ)
		mask |= MAY_READ;
	if (file->f_mode & FMODE_WRITE)
		mask |= file->f_flags & O_APPEND ? MAY_WRITE | MAY_APPEND : MAY_WRITE;
	return inode_permission(file_mnt_idmap(file), inode, mask);
}

static int rdmafs_file_open_cb(struct inode *inode, struct file *file)
{
	atomic_t *relabels = &RDMAFS_I(inode)->relabels;
	int before = atomic_read(relabels);
	struct rdmafs_open *open;
	int err;

	err = rdmafs_idmap_tell(RDMAFS_M(inode->i_sb), file_mnt_idmap(file), false);
	if (!err)
		err = rdmafs_open_dentry(file_dentry(file), rdmafs_open_flags(file), &open);
	if (err)
		return err;
	err = rdmafs_access_opened(file);
	if (!err)
		err = rdmafs_file_opened(inode, file);
	if (!err && atomic_read(relabels) != before)
		err = rdmafs_file_relabelled(inode, file);
	if (err) {
		rdmafs_open_put_sync(open);
		return err;
	}
	rdmafs_file_attach(file, open);
	return 0;
}

static int rdmafs_file_flush(struct file *file, fl_owner_t id)
{
	int err;

	if (!(file->f_mode & FMODE_WRITE))
		return 0;
	err = rdmafs_flush(file_inode(file));
	if (err)
		return err;
	/* The error is reported, but not marked as seen: fsync(2) still reports it, too. */
	return filemap_check_wb_err(file->f_mapping, READ_ONCE(file->f_wb_err));
}

static int rdmafs_file_release(struct inode *inode, struct file *file)
{
	struct rdmafs_open *open = rdmafs_file_open(file);

	if (!open)
		return 0;
	file->private_data = NULL;
	/* One kernel thread may close files of all mounts: it must not wait for a server. */
	if (current->flags & PF_KTHREAD) {
		rdmafs_flush_put(open);
		return 0;
	}
	/*
	 * Writeback needs an open for writing, and this may be the last one.  If
	 * this task is killed, the worker that goes on has a reference (flush.c).
	 */
	if (open->flags & RFP_OPEN_WRITE)
		rdmafs_flush(inode);
	rdmafs_open_put_sync(open);
	return 0;
}

static ssize_t rdmafs_file_read_iter(struct kiocb *iocb, struct iov_iter *iter)
{
	if (!iov_iter_count(iter))
		return 0;
	if (READ_ONCE(rdmafs_file_open(iocb->ki_filp)->lock_lost))
		return -EIO;
	if (iocb->ki_flags & IOCB_DIRECT)
		return rdmafs_direct_read(iocb, iter);
	return rdmafs_buffered_read(iocb, iter);
}

/*
 * May a write that is no append go on?  The file may have been opened before it became append-only,
 * and fcntl(2) or RWF_NOAPPEND may have left O_APPEND.  The server would refuse such data, though
 * only when it is written back.
 */
static int rdmafs_may_overwrite(struct kiocb *iocb)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	int err;

	if (likely(!rdmafs_append_only(inode)))
		return 0;
	if (iocb->ki_flags & IOCB_NOWAIT)
		return -EAGAIN;
	/* As far as is known: another client may have taken the flag away. */
	err = rdmafs_revalidate(inode, false);
	if (err)
		return err;
	return rdmafs_append_only(inode) ? -EPERM : 0;
}

static ssize_t rdmafs_file_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	int err;

	if (!iov_iter_count(from))
		return 0;
	if (READ_ONCE(rdmafs_file_open(iocb->ki_filp)->lock_lost))
		return -EIO;
	/* An append is atomic between clients only if the server picks the offset. */
	if (iocb->ki_flags & IOCB_APPEND)
		return rdmafs_append_write(iocb, from);
	err = rdmafs_may_overwrite(iocb);
	if (err)
		return err;
	if ((iocb->ki_flags & IOCB_DIRECT) || rdmafs_write_through(file_inode(iocb->ki_filp)))
		return rdmafs_direct_write(iocb, from);
	return rdmafs_buffered_write(iocb, from);
}

static ssize_t rdmafs_file_splice_read(struct file *in, loff_t *ppos,
				       struct pipe_inode_info *pipe, size_t len,
				       unsigned int flags)
{
	struct inode *inode = file_inode(in);
	ssize_t ret;

	if (READ_ONCE(rdmafs_file_open(in)->lock_lost))
		return -EIO;
	ret = rdmafs_revalidate_mapping(inode, true);
	if (ret)
		return ret;
	ret = rdmafs_lock_read(inode);
	if (ret)
		return ret;
	ret = filemap_splice_read(in, ppos, pipe, len, flags);
	netfs_end_io_read(inode);
	return ret;
}

static const struct vm_operations_struct rdmafs_vm_ops = {
	.fault		= filemap_fault,
	.map_pages	= filemap_map_pages,
	.page_mkwrite	= rdmafs_page_mkwrite,
};

static int rdmafs_file_mmap(struct file *file, struct vm_area_struct *vma)
{
	int err;

	err = rdmafs_revalidate_mapping(file_inode(file), true);
	if (err)
		return err;
	/* Data that a mapping stores is not appended. */
	if ((vma->vm_flags & VM_SHARED) && rdmafs_append_only(file_inode(file)))
		return -EACCES;
	vma->vm_ops = &rdmafs_vm_ops;
	return 0;
}

static loff_t rdmafs_file_seek_hole(struct file *file, loff_t offset, int whence)
{
	struct inode *inode = file_inode(file);
	const struct rfp_seek_rep *rep;
	struct rfp_seek_req *req;
	struct rdmafs_op *op;
	struct rfp_dec dec;
	u64 found;
	loff_t ret;

	if (offset < 0)
		return -ENXIO;
	/* Data that is dirty here may be a hole at the server. */
	ret = rdmafs_flush(inode);
	if (ret)
		return ret;
	op = rdmafs_op_new_open(rdmafs_file_open(file), RFP_SEEK, sizeof(*req),
				offsetof(struct rfp_seek_req, stateid), RDMAFS_POOL_COMMON);
	req = (struct rfp_seek_req *)op->req;
	req->offset = cpu_to_le64(offset);
	req->whence = cpu_to_le32(whence == SEEK_DATA ? RFP_SEEK_DATA : RFP_SEEK_HOLE);
	ret = rdmafs_op_run(op);
	if (ret)
		goto out;
	rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
	ret = -EIO;
	if (rfp_dec_end(&dec))
		goto out;
	found = le64_to_cpu(rep->offset);
	if (found > LLONG_MAX)
		goto out;
	ret = vfs_setpos(file, found, inode->i_sb->s_maxbytes);
out:
	rdmafs_op_put(op);
	return ret;
}

static loff_t rdmafs_file_llseek(struct file *file, loff_t offset, int whence)
{
	struct inode *inode = file_inode(file);
	bool unsure;
	int err;

	switch (whence) {
	case SEEK_DATA:
	case SEEK_HOLE:
		return rdmafs_file_seek_hole(file, offset, whence);
	case SEEK_END:
		/* While the page of the end is dirty, a larger size is not taken over. */
		unsure = rdmafs_size_unsure(inode);
		err = unsure ? rdmafs_flush(inode) : 0;
		if (!err)
			err = rdmafs_revalidate(inode, unsure);
		if (err)
			return err;
		break;
	}
	return generic_file_llseek(file, offset, whence);
}

/*
 * Check the reply to FALLOCATE.  @done gets the bytes of @len that are done, @size the size that
 * the file has then.  The attributes, or NULL if the reply is not sound.
 */
static const struct rfp_attr *rdmafs_fallocate_reply(struct inode *inode, struct rdmafs_op *op,
						     loff_t len, loff_t *done, loff_t *size)
{
	const struct rfp_fallocate_rep *rep;
	const struct rfp_attr *attr;
	struct rfp_dec dec;

	rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
	attr = rfp_dec_fixed(&dec, sizeof(*attr));
	if (rfp_dec_end(&dec) || rdmafs_attr_check(inode->i_sb, attr))
		return NULL;
	*done = le64_to_cpu(rep->done);
	*size = le64_to_cpu(attr->size);
	return *done > 0 && *done <= len ? attr : NULL;
}

/* Does it neither change what is read, nor, but for making the file longer, its size? */
static bool rdmafs_fallocate_only(int mode)
{
	return !(mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_UNSHARE_RANGE));
}

/*
 * Send one FALLOCATE, of which the server does as much as it does at once.  @lost: its answer was
 * lost with the session, and it may not be executed twice.
 */
static int rdmafs_fallocate_ask(struct file *file, int mode, loff_t offset, loff_t len,
				loff_t *done, loff_t *size, bool *lost)
{
	struct inode *inode = file_inode(file);
	const struct rfp_attr *attr = NULL;
	struct rfp_fallocate_req *req;
	struct rdmafs_op *op;
	int err;

	op = rdmafs_op_new_open(rdmafs_file_open(file), RFP_FALLOCATE, sizeof(*req),
				offsetof(struct rfp_fallocate_req, stateid),
				RDMAFS_POOL_COMMON);
	req = (struct rfp_fallocate_req *)op->req;
	req->offset = cpu_to_le64(offset);
	req->length = cpu_to_le64(len);
	req->mode = cpu_to_le32(mode);
	/* To shift the rest of a file twice is never right. */
	if (!(mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)))
		rdmafs_op_may_repeat(op);
	/* What another client has written since would be cleared, or its truncate undone. */
	if (!(mode & FALLOC_FL_KEEP_SIZE) || !rdmafs_fallocate_only(mode))
		rdmafs_op_not_blindly(op);

	op->fence = inode;
	rdmafs_attr_own_begin(inode);
	err = rdmafs_op_run(op);
	*lost = err && rdmafs_op_unanswered(op);
	if (!err) {
		attr = rdmafs_fallocate_reply(inode, op, len, done, size);
		err = attr ? 0 : -EIO;
	}
	atomic64_inc(&RDMAFS_I(inode)->written);
	rdmafs_attr_own_end(inode, attr, op->clock);
	rdmafs_op_put(op);
	return err;
}

/* The end of what the server does at most of a FALLOCATE (Documentation/protocol.rst). */
static loff_t rdmafs_fallocate_piece(loff_t offset, loff_t len)
{
	return min_t(u64, offset + len, (u64)round_down(offset, SZ_1G) + SZ_1G);
}

/*
 * The answer to one that clears a range was lost: true if nothing was changed, and it is to be sent
 * once more.  It was executed if the piece of the range, as far as the file reaches, is zeros.
 */
static bool rdmafs_cleared_lost(struct file *file, int mode, loff_t offset, loff_t end,
				struct rdmafs_resolve *r, loff_t *done, loff_t *size, int *err)
{
	struct rdmafs_open *open = rdmafs_file_open(file);
	struct rfp_attr attr;
	bool there = false;
	loff_t last;
	int asked;

	asked = rdmafs_resolve_told(r, RFP_FALLOCATE, &attr);
	if (!asked && !r->shown.same_obj) {
		*size = le64_to_cpu(attr.size);
		last = min(end, *size);
		there = (mode & FALLOC_FL_KEEP_SIZE) || *size >= end;
		if (there && last > offset)
			there = rdmafs_equal(open, offset, NULL, 0, last - offset);
		*done = end - offset;
	}
	return rdmafs_resolve_changed(r, asked, there, err);
}

/* Likewise, and once more if the answer was lost, and that does no harm. */
static int rdmafs_fallocate_send(struct file *file, int mode, loff_t offset, loff_t len,
				 loff_t *done, loff_t *size)
{
	loff_t end = rdmafs_fallocate_piece(offset, len);
	bool lost, again, longer = false;
	struct rdmafs_resolve r;
	int err;

	rdmafs_resolve_begin(&r, NULL, NULL, file_inode(file));
	do {
		err = rdmafs_fallocate_ask(file, mode, offset, len, done, size, &lost);
		if (!lost)
			return err;
		if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
			again = rdmafs_cleared_lost(file, mode, offset, end, &r, done, size, &err);
		else if (rdmafs_fallocate_only(mode))
			again = rdmafs_resolve_longer(&r, end, &longer, &err);
		else
			again = rdmafs_resolve_change(&r, RFP_FALLOCATE, &err);
		/* The file is as long as this piece makes it: another's truncate stays. */
		if (longer) {
			mode |= FALLOC_FL_KEEP_SIZE;
			len = end - offset;
		}
	} while (again);
	return err;
}

/* Do all of a fallocate, in the pieces that the server does; if it fails, a part may be done. */
static int rdmafs_fallocate_all(struct file *file, int mode, loff_t offset, loff_t len,
				loff_t *size)
{
	loff_t at = 0, done;
	int err;

	do {
		err = rdmafs_fallocate_send(file, mode, offset + at, len - at, &done, size);
		at += err ? 0 : done;
	} while (!err && at < len);
	return err;
}

/* The size that a file of @size bytes has after a fallocate, if there is no foreign change. */
static loff_t rdmafs_fallocate_size(int mode, loff_t offset, loff_t len, loff_t size)
{
	if (mode & FALLOC_FL_COLLAPSE_RANGE)
		return max_t(loff_t, size - len, 0);
	if (mode & FALLOC_FL_INSERT_RANGE)
		return size + len;
	return mode & FALLOC_FL_KEEP_SIZE ? size : max(size, offset + len);
}

static long rdmafs_file_fallocate(struct file *file, int mode, loff_t offset, loff_t len)
{
	struct inode *inode = file_inode(file);
	struct address_space *mapping = inode->i_mapping;
	loff_t end = offset + len, own, size;
	bool grows;
	int err;

	err = rdmafs_lock_write(inode);
	if (err)
		return err;
	/* As in rdmafs_dio_privs(): the server may not see the caller as this machine does. */
	if (inode->i_mode & (S_ISUID | S_ISGID)) {
		err = file_remove_privs(file);
		if (err)
			goto out;
	}
	size = i_size_read(inode);
	grows = !(mode & FALLOC_FL_KEEP_SIZE) && end > size;
	if (grows) {
		err = inode_newsize_ok(inode, end);
		if (err)
			goto out;
	}
	/*
	 * As in rdmafs_setattr_size(): no page is read in, written back or stored
	 * into during the change, and pages are dropped when the server has made it.
	 */
	if (down_write_killable(&mapping->invalidate_lock)) {
		err = -EINTR;
		goto out;
	}
	err = rdmafs_flush(inode);
	if (!err && grows)
		err = rdmafs_leave_hole(inode, size);
	if (err)
		goto unlock;
	rdmafs_resize_begin(inode);
	own = rdmafs_fallocate_size(mode, offset, len, i_size_read(inode));
	err = rdmafs_fallocate_all(file, mode, offset, len, &size);
	rdmafs_resize_end(inode, err ? -1 : own, size);
	if (err)
		rdmafs_change_unknown(inode);
	else if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE))
		/* Whole pages: the data in them has moved, so no part may stay or be cleared. */
		truncate_pagecache(inode, round_down(offset, PAGE_SIZE));
	else if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
		truncate_pagecache_range(inode, offset, end - 1);
unlock:
	filemap_invalidate_unlock(mapping);
out:
	rdmafs_unlock_write(inode);
	return err;
}

const struct inode_operations rdmafs_file_iops = {
	.permission	= rdmafs_permission,
	.getattr	= rdmafs_getattr,
	.setattr	= rdmafs_setattr,
	.listxattr	= rdmafs_listxattr,
	.get_inode_acl	= rdmafs_get_inode_acl,
	.set_acl	= rdmafs_set_acl,
	.fileattr_get	= rdmafs_fileattr_get,
	.fileattr_set	= rdmafs_fileattr_set,
};

const struct inode_operations rdmafs_special_iops = {
	.permission	= rdmafs_permission,
	.getattr	= rdmafs_getattr,
	.setattr	= rdmafs_setattr,
	.listxattr	= rdmafs_listxattr,
	.get_inode_acl	= rdmafs_get_inode_acl,
	.set_acl	= rdmafs_set_acl,
};

const struct file_operations rdmafs_file_fops = {
	.open		= rdmafs_file_open_cb,
	.release	= rdmafs_file_release,
	.flush		= rdmafs_file_flush,
	.fsync		= rdmafs_fsync,
	.llseek		= rdmafs_file_llseek,
	.read_iter	= rdmafs_file_read_iter,
	.write_iter	= rdmafs_file_write_iter,
	.mmap		= rdmafs_file_mmap,
	.splice_read	= rdmafs_file_splice_read,
	.splice_write	= iter_file_splice_write,
	.fallocate	= rdmafs_file_fallocate,
	.copy_file_range = rdmafs_copy_file_range,
	.remap_file_range = rdmafs_remap_file_range,
	.lock		= rdmafs_file_lock,
	.flock		= rdmafs_file_flock,
	/* An open by another client would have to break a lease, and this client hears of none. */
	.setlease	= simple_nosetlease,
};
