// SPDX-License-Identifier: GPL-2.0
/*
 * copy_file_range(2), FICLONE, FICLONERANGE, FIDEDUPERANGE: the server does it, and no data comes
 * here.
 *
 * Both files are locked (rdmafs_lock_copy()), and what is dirty in the source is written back, as
 * the server knows only what it has.  For the target it is as in fallocate(2): invalidate_lock is
 * held from the flush before the change until pages are dropped after it, so that no page is read
 * in, written back or stored into meanwhile; but a direct read of another file into a mapping of
 * the target takes no lock, so pages are dropped before the size is raised.
 *
 * The server does a copy piece by piece, and answers each when its data is unstable.  After a
 * batch of pieces COMMIT is sent, and all of the batch is copied again if the verifier says that
 * some of it may be lost.  The locks are held from the first piece until then: else the second
 * copy would undo a write that came between the two.  So a copy is stable when it returns, and
 * other tasks wait for one batch only.
 *
 * A clone is one request, and is stable when it is answered.  To share the storage of equal data
 * changes neither file, so for that no lock is taken.
 *
 * A signal ends a copy after a piece, with the count of what has been copied.  If it kills the
 * task, the request that was sent goes on, and counts in the target's fence (fence.c).  What has
 * been done to the target is then unknown, and so it is if the request fails, unless the error says
 * that nothing was done.
 */
#include <linux/fs.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/splice.h>
#include "client.h"
#include "op.h"
#include "open.h"
#include "transport/points.h"
#include "trace.h"
#include "unanswered.h"

/* COMMIT is sent when this many bytes have been copied, and the locks are given back. */
#define RDMAFS_COPY_BATCH	SZ_256M

/**
 * struct rdmafs_copy - a copy, or a clone, on its way
 * @from:     the source
 * @to:	      the target, in the same mount
 * @pos:      offset in the source
 * @at:	      offset in the target
 * @old:      size of the target before
 * @size:     its size as the server has said last
 * @unstable: something was copied unstably, and @verifier is set
 * @mixed:    under different verifiers
 * @unknown:  what has been done to the target is not known
 * @verifier: the last one
 */
struct rdmafs_copy {
	struct file *from;
	struct file *to;
	loff_t pos;
	loff_t at;
	loff_t old;
	loff_t size;
	bool unstable;
	bool mixed;
	bool unknown;
	u64 verifier;
};

/*
 * Has the server refused a request before it did anything?  If it was sent more than once, it may
 * have been executed before, when the ranges still fitted the files.
 */
static bool rdmafs_copy_refused(const struct rdmafs_op *op, int err)
{
	return !op->twice && (err == -EOPNOTSUPP || err == -EXDEV || err == -EINVAL);
}

/* Take what all replies have in common: the attributes, or NULL if the reply is not sound. */
static const struct rfp_attr *rdmafs_copy_attr(struct rdmafs_copy *c, struct rfp_dec *dec)
{
	const struct rfp_attr *attr = rfp_dec_fixed(dec, sizeof(*attr));

	if (rfp_dec_end(dec) || rdmafs_attr_check(file_inode(c->to)->i_sb, attr))
		return NULL;
	c->size = le64_to_cpu(attr->size);
	return attr;
}

/* Check the reply to COPY of @count bytes. */
static const struct rfp_attr *rdmafs_copy_reply(struct rdmafs_copy *c, struct rdmafs_op *op,
						u64 count, u64 *done)
{
	const struct rfp_copy_rep *rep;
	const struct rfp_attr *attr;
	struct rfp_dec dec;
	u64 verifier;
	u32 stable;

	rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
	attr = rdmafs_copy_attr(c, &dec);
	if (!attr)
		return NULL;
	*done = le64_to_cpu(rep->count);
	stable = le32_to_cpu(rep->stable);
	if (*done > count || stable > RFP_FILE_SYNC || rep->pad)
		return NULL;
	if (!*done || stable != RFP_UNSTABLE)
		return attr;
	verifier = le64_to_cpu(rep->verifier);
	if (c->unstable && c->verifier != verifier)
		c->mixed = true;
	c->unstable = true;
	c->verifier = verifier;
	return attr;
}

/* Check the reply to CLONE of @count bytes, or of all up to the end of the source if that is 0. */
static const struct rfp_attr *rdmafs_clone_reply(struct rdmafs_copy *c, struct rdmafs_op *op,
						 u64 count, u64 *done)
{
	const struct rfp_clone_rep *rep;
	const struct rfp_attr *attr;
	struct rfp_dec dec;

	rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
	attr = rdmafs_copy_attr(c, &dec);
	if (!attr)
		return NULL;
	*done = le64_to_cpu(rep->done);
	if (!count)
		count = LLONG_MAX - max(c->pos, c->at);
	return *done <= count ? attr : NULL;
}

/*
 * Send one request for the @count bytes that begin @off bytes behind the offsets.  @done gets how
 * many the server has done.  @lost: the answer was lost with the session.
 */
static int rdmafs_copy_ask(struct rdmafs_copy *c, enum rfp_op nr, u32 flags, u64 off, u64 count,
			   u64 *done, bool *lost)
{
	struct inode *inode = file_inode(c->to);
	const struct rfp_attr *attr = NULL;
	struct rfp_copy_req *req;
	struct rdmafs_op *op;
	int err;

	*done = 0;
	op = rdmafs_op_new_open(rdmafs_file_open(c->to), nr, sizeof(*req),
				offsetof(struct rfp_copy_req, stateid), RDMAFS_POOL_COMMON);
	req = (struct rfp_copy_req *)op->req;
	rdmafs_op_use_source(op, rdmafs_file_open(c->from), &req->source);
	req->source_offset = cpu_to_le64(c->pos + off);
	req->offset = cpu_to_le64(c->at + off);
	req->count = cpu_to_le64(count);
	req->flags = cpu_to_le32(flags);

	/* What another client has written to the target since would be lost. */
	if (!(flags & RFP_CLONE_DEDUPE)) {
		op->fence = inode;
		rdmafs_op_not_blindly(op);
	}
	rdmafs_attr_own_begin(inode);
	err = rdmafs_op_run(op);
	*lost = err && rdmafs_op_unanswered(op);
	if (!err) {
		attr = nr == RFP_COPY ? rdmafs_copy_reply(c, op, count, done) :
					rdmafs_clone_reply(c, op, count, done);
		err = attr ? 0 : -EIO;
	}
	if (err) {
		*done = 0;
		c->unknown |= !*lost && !rdmafs_copy_refused(op, err);
	}
	if (err == -EOPNOTSUPP && nr == RFP_CLONE)
		WRITE_ONCE(RDMAFS_S(inode->i_sb)->no_clone, op->answered);
	atomic64_inc(&RDMAFS_I(inode)->written);
	rdmafs_attr_own_end(inode, attr, op->clock);
	rdmafs_op_put(op);
	return err;
}

/*
 * The answer was lost: true if nothing was changed, and the request is to be made once more.  It
 * was executed if all that it may have copied is in the target: the server may have done a part,
 * but nobody knows then which of what differs it has copied, and others have written over since.
 */
static bool rdmafs_copy_lost(struct rdmafs_copy *c, struct rdmafs_resolve *r, enum rfp_op nr,
			     u64 off, u64 count, u64 *done, int *err)
{
	struct rdmafs_open *to = rdmafs_file_open(c->to), *from = rdmafs_file_open(c->from);
	struct rfp_attr attr;
	bool there = false;
	int asked;

	asked = rdmafs_resolve_told(r, nr, &attr);
	if (!asked && !r->shown.same_obj) {
		if (nr == RFP_COPY)
			count = min_t(u64, count, SZ_1G - ((c->at + off) & (SZ_1G - 1)));
		there = count && rdmafs_equal(to, c->at + off, from, c->pos + off, count);
	}
	if (there) {
		*done = count;
		c->size = max_t(loff_t, le64_to_cpu(attr.size), c->at + off + count);
	}
	return rdmafs_resolve_changed(r, asked, there, err);
}

/* Likewise, and once more if the answer was lost, and nothing was changed. */
static int rdmafs_copy_send(struct rdmafs_copy *c, enum rfp_op nr, u32 flags, u64 off, u64 count,
			    u64 *done)
{
	struct rdmafs_resolve r;
	bool lost;
	int err;

	rdmafs_resolve_begin(&r, NULL, NULL, file_inode(c->to));
	do {
		err = rdmafs_copy_ask(c, nr, flags, off, count, done, &lost);
	} while (lost && rdmafs_copy_lost(c, &r, nr, off, count, done, &err));
	c->unknown |= lost;
	return err;
}

/* Write back what is dirty in the source from the offset on; 0 or a negative errno. */
static int rdmafs_copy_flush(struct rdmafs_copy *c)
{
	struct address_space *mapping = c->from->f_mapping;
	errseq_t since = filemap_sample_wb_err(mapping);
	int err;

	/* Also what is behind the range: until then the server's file may end before ours. */
	err = rdmafs_flush_range(mapping->host, c->pos, LLONG_MAX);
	return err ? err : filemap_check_wb_err(mapping, since);
}

/*
 * Prepare the target for @count bytes, or for any number if that is 0.  Both files are locked.  If
 * 0 is returned, invalidate_lock is held.
 */
static int rdmafs_copy_prepare(struct rdmafs_copy *c, loff_t count)
{
	struct inode *to = file_inode(c->to);
	loff_t size;
	int err;

	/* As in rdmafs_dio_privs(): the server may not see the caller as this machine does. */
	if (to->i_mode & (S_ISUID | S_ISGID)) {
		err = file_remove_privs(c->to);
		if (err)
			return err;
	}
	err = rdmafs_copy_flush(c);
	if (err)
		return err;
	if (down_write_killable(&to->i_mapping->invalidate_lock))
		return -EINTR;
	err = rdmafs_flush(to);
	size = i_size_read(to);
	if (!err && (!count || count > size - c->at))
		err = rdmafs_leave_hole(to, size);
	if (err)
		filemap_invalidate_unlock(to->i_mapping);
	return err;
}

/* Lock both files, and prepare them for @count bytes, or for any number if that is 0. */
static int rdmafs_copy_begin(struct rdmafs_copy *c, loff_t count)
{
	struct inode *from = file_inode(c->from), *to = file_inode(c->to);
	int err;

	err = rdmafs_lock_copy(from, to);
	if (err)
		return err;
	trace_rdmafs_cache(to, RDMAFS_CACHE_COPY, c->at, count);
	err = rdmafs_copy_prepare(c, count);
	if (err) {
		rdmafs_unlock_copy(from, to);
		return err;
	}
	rdmafs_resize_begin(to);
	/* Only now: until then attributes may still tell that another client has cut the file. */
	c->old = i_size_read(to);
	c->size = c->old;
	c->unknown = false;
	return 0;
}

/*
 * Drop the pages of @done bytes that the server has copied, and the page of the old end if there is
 * a hole behind it, as rdmafs_dio_longer() does: a direct read into a mapping may have made them
 * dirty.  The size is the old one yet, so nothing behind the old end is written back.
 */
static int rdmafs_copy_drop(struct rdmafs_copy *c, u64 done)
{
	struct inode *to = file_inode(c->to);
	loff_t from = c->at;

	if (c->old < c->at && rdmafs_tail_keep(to, c->old))
		from = c->old;
	return rdmafs_drop_range(to, from, c->at + done - 1);
}

/* Undo rdmafs_copy_begin(), after @done bytes. */
static void rdmafs_copy_end(struct rdmafs_copy *c, u64 done)
{
	struct inode *from = file_inode(c->from), *to = file_inode(c->to);
	loff_t own = max_t(loff_t, c->old, done ? c->at + done : 0);

	/* If a page is dirty again the server is asked for the size when it is clean. */
	if (!c->unknown && done && rdmafs_copy_drop(c, done))
		c->unknown = true;
	rdmafs_resize_end(to, c->unknown ? -1 : own, c->size);
	if (c->unknown)
		rdmafs_change_unknown(to);
	filemap_invalidate_unlock(to->i_mapping);
	rdmafs_unlock_copy(from, to);
}

/* Copy pieces of @count bytes until the batch is full, or a signal has come. */
static int rdmafs_copy_pieces(struct rdmafs_copy *c, u64 count, u64 *done)
{
	u64 piece;
	int err;

	*done = 0;
	c->unstable = false;
	c->mixed = false;
	do {
		err = rdmafs_copy_send(c, RFP_COPY, 0, *done, count - *done, &piece);
		*done += piece;
		rdmafs_test_point("copy_piece", file_inode(c->to)->i_ino);
	} while (!err && piece && *done < count && *done < RDMAFS_COPY_BATCH &&
		 !signal_pending(current));
	/* The source ends before its end here, so another client has cut it. */
	if (!err && !piece)
		rdmafs_attr_expire(file_inode(c->from));
	return err;
}

/*
 * Copy pieces, and make them stable.  Both files are locked and prepared.  @done gets what is
 * copied and stable, also if an error is returned.
 */
static int rdmafs_copy_stable(struct rdmafs_copy *c, u64 count, u64 *done)
{
	struct rdmafs_open *open = rdmafs_file_open(c->to);
	bool meta = c->to->f_flags & __O_SYNC;
	unsigned int tries;
	u64 verifier = 0;
	int err, failed;

	for (tries = 0; tries < RDMAFS_OP_TRIES; tries++) {
		failed = rdmafs_copy_pieces(c, count, done);
		if (!*done || !c->unstable)
			return failed;
		err = rdmafs_commit_send(open, meta, &verifier);
		if (!err && !c->mixed && c->verifier == verifier)
			return failed;
		if (err)
			break;
		rdmafs_test_point("copy_again", file_inode(c->to)->i_ino);
		/* This time it may be less, but what was copied before is in the file. */
		c->unknown = true;
		count = *done;
	}
	*done = 0;
	c->unknown = true;
	return err ? err : -EIO;
}

/* Copy a batch; @done gets what is copied and stable, also if an error is returned. */
static int rdmafs_copy_batch(struct rdmafs_copy *c, u64 count, u64 *done)
{
	int err;

	*done = 0;
	err = rdmafs_copy_begin(c, count);
	if (err)
		return err;
	err = rdmafs_copy_stable(c, count, done);
	rdmafs_copy_end(c, *done);
	return err;
}

/* Copy all, batch by batch: bytes, or a negative errno if there are none. */
static ssize_t rdmafs_copy_all(struct rdmafs_copy *c, size_t count)
{
	ssize_t total = 0;
	u64 done;
	int err;

	do {
		err = rdmafs_copy_batch(c, count - total, &done);
		c->pos += done;
		c->at += done;
		total += done;
	} while (!err && done && total < count && !signal_pending(current));
	return total ? total : err;
}

/**
 * rdmafs_copy_file_range - copy from one file to another: copy_file_range(2)
 * @from:  the source, open for reading
 * @pos:   offset in it
 * @to:	   the target, open for writing, not for appending; perhaps in another mount
 * @at:	   offset in it
 * @count: bytes, not 0; the VFS has cut them at the end of the source, and at the limits of the
 *	   target, and has seen that ranges in one file do not overlap
 * @flags: 0
 *
 * If the server can't do it, the data is read and written here.
 *
 * Context: process, waits killably; file_start_write() was called for @to; no lock is held.
 * Return: bytes, fewer than @count if a signal or an error has ended it, or at the end of the
 * source; or a negative errno.
 */
ssize_t rdmafs_copy_file_range(struct file *from, loff_t pos, struct file *to, loff_t at,
			       size_t count, unsigned int flags)
{
	struct rdmafs_copy c = { .from = from, .to = to, .pos = pos, .at = at };
	ssize_t ret = -EXDEV;

	/* A stateid means something in one session only. */
	if (file_inode(from)->i_sb == file_inode(to)->i_sb)
		ret = rdmafs_copy_all(&c, count);
	if (ret == -EXDEV || ret == -EOPNOTSUPP)
		ret = splice_copy_file_range(from, pos, to, at, count);
	return ret;
}

static loff_t rdmafs_clone(struct rdmafs_copy *c, loff_t len, bool shorten)
{
	loff_t size = i_size_read(file_inode(c->from)), count, limited;
	u64 done;
	int err;

	count = len ? len : max_t(loff_t, size - c->pos, 0);
	limited = count;
	if (count) {
		err = generic_write_check_limits(c->to, c->at, &limited);
		if (err)
			return err;
	}
	if (limited < count) {
		if (!shorten)
			return -EINVAL;
		len = limited;
	}
	err = rdmafs_copy_begin(c, len);
	if (err)
		return err;
	err = rdmafs_copy_send(c, RFP_CLONE, 0, 0, len, &done);
	rdmafs_copy_end(c, done);
	return err ? err : done;
}

/* Any signal but one that kills is left until the end: the VFS takes a short count for all. */
static loff_t rdmafs_dedupe(struct rdmafs_copy *c, loff_t len)
{
	u64 done = 0, piece;
	int err;

	err = rdmafs_copy_flush(c);
	if (!err)
		err = rdmafs_flush(file_inode(c->to));
	while (!err && done < len) {
		err = rdmafs_copy_send(c, RFP_CLONE, RFP_CLONE_DEDUPE, done, len - done, &piece);
		done += piece;
		if (!piece)
			break;
		/* An answer that comes at once ends the wait for it before the signal does. */
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
	}
	return err ? err : done;
}

/**
 * rdmafs_remap_file_range - have two files share storage: FICLONE, FICLONERANGE, FIDEDUPERANGE
 * @from:  the source, open for reading
 * @pos:   offset in it
 * @to:	   the target in the same mount, open for writing; to dedupe perhaps for reading only
 * @at:	   offset in it
 * @len:   bytes; to clone also 0: up to the end of the source
 * @flags: REMAP_FILE_*
 *
 * Context: process, waits killably; file_start_write() was called for @to; no lock is held.
 * Return: bytes; -EOPNOTSUPP: the server's file system can't; -EBADE: the data to be shared
 * differs; or another negative errno.
 */
loff_t rdmafs_remap_file_range(struct file *from, loff_t pos, struct file *to, loff_t at,
			       loff_t len, unsigned int flags)
{
	struct rdmafs_copy c = { .from = from, .to = to, .pos = pos, .at = at };
	struct rdmafs_super *super = RDMAFS_S(file_inode(to)->i_sb);

	/* cp(1) tries it with each file before it copies. */
	if (READ_ONCE(super->no_clone) == atomic_read(&super->mnt->session))
		return -EOPNOTSUPP;
	if (flags & ~(REMAP_FILE_DEDUP | REMAP_FILE_ADVISORY))
		return -EINVAL;
	if (flags & REMAP_FILE_DEDUP)
		return rdmafs_dedupe(&c, len);
	return rdmafs_clone(&c, len, flags & REMAP_FILE_CAN_SHORTEN);
}
