// SPDX-License-Identifier: GPL-2.0
/*
 * READ, WRITE, COMMIT, FALLOCATE, SEEK: the operations on an open file.
 *
 * They need no permission but that of the open.  READ, COMMIT and SEEK run with the credentials
 * that the file was opened with; WRITE and FALLOCATE with those of the caller that the request
 * names, because set-id bits and quota depend on the user that writes.
 *
 * Stability: the data of an UNSTABLE write is in the server's page cache.  The verifier in the
 * reply is read before the data goes in.  If writeback fails after that, at any time until
 * COMMIT, then COMMIT answers with another verifier or with the error itself, and the client
 * writes again (see opened.c).  Errors of writeback are looked for where data becomes stable,
 * not at unstable writes: each unstable write would make a new verifier, and clients would write
 * again for ever.  On a file system without stable storage all data is as stable as it will be,
 * and the reply says so.
 *
 * Writers run with PF_LOCAL_THROTTLE: if the client is on this machine, its dirty pages wait for
 * the server's, so the server's writes must not wait for the client's dirty pages.
 */
#include <linux/bvec.h>
#include <linux/falloc.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "transport/points.h"
#include "request.h"
#include "opened.h"

static ssize_t rdmafsd_read_do(struct file *file, loff_t pos, struct iov_iter *to)
{
	struct kiocb kiocb;
	ssize_t done = 0, ret;

	do {
		init_sync_kiocb(&kiocb, file);
		kiocb.ki_pos = pos + done;
		ret = vfs_iocb_iter_read(file, &kiocb, to);
		if (ret > 0)
			done += ret;
	} while (ret > 0 && iov_iter_count(to));
	return done ? done : ret;
}

static int rdmafsd_read_reply(struct rdmafsd_rq *rq, u64 end, u32 got)
{
	struct rfp_read_rep *rep = rdmafsd_rep(rq, sizeof(*rep));
	u64 cookie, size;
	int err;

	err = rdmafsd_cookie(&rq->state->file->f_path, &cookie, &size);
	if (err)
		return err;
	rep->count = cpu_to_le32(got);
	/*
	 * A short read alone does not mean the end: an error after some pages looks the same.
	 * But a read of no bytes was at the end, even if the file has grown since.
	 */
	rep->flags = cpu_to_le32(end >= size || !got ? RFP_READ_EOF : 0);
	rep->change = cpu_to_le64(cookie);
	rep->size = cpu_to_le64(size);
	rq->data_len = got;
	return 0;
}

/*
 * Send a large read from the pages in the page cache.  Returns -EAGAIN if not all of it is
 * there, or if it can't be sent so.
 */
static ssize_t rdmafsd_read_pages(struct rdmafsd_rq *rq, loff_t pos, u32 len)
{
	u32 max = len / PAGE_SIZE + 2, nr = 0;
	struct bio_vec *bv;
	loff_t at = pos;
	ssize_t got;

	bv = kmalloc_array(max, sizeof(*bv), GFP_KERNEL | __GFP_NOWARN);
	if (!bv)
		return -EAGAIN;
	rdmafsd_rq_enter_opener(rq);
	got = rw_verify_area(READ, rq->state->file, &at, len);
	rdmafsd_rq_leave(rq);
	if (!got)
		got = rdmafsd_cached_get_pages(rq->state->file, pos, len, bv, max, &nr);
	if (nr && (got <= RDMAFS_XPRT_INLINE_MAX ||
		   rdmafs_xprt_req_pages(rq->req, bv, nr, got))) {
		while (nr)
			put_page(bv[--nr].bv_page);
		got = -EAGAIN;
	}
	kfree(bv);
	return got;
}

static ssize_t rdmafsd_read_room(struct rdmafsd_rq *rq, loff_t pos, u32 len)
{
	struct iov_iter to;
	int err;

	err = rdmafs_xprt_req_room(rq->req, len, &to);
	if (err)
		return err;
	rdmafsd_rq_enter_opener(rq);
	return rdmafsd_read_do(rq->state->file, pos, &to);
}

static u32 rdmafsd_read_len(const struct rdmafsd_rq *rq)
{
	const struct rfp_read_req *rreq = rq->args;

	return min3(le32_to_cpu(rreq->count), rq->req->read_max, (u32)RDMAFS_XPRT_DATA_MAX);
}

static int rdmafsd_check_read(struct rdmafsd_rq *rq)
{
	const struct rfp_read_req *rreq = rq->args;

	return le64_to_cpu(rreq->offset) > (u64)LLONG_MAX - rdmafsd_read_len(rq) ? -EINVAL : 0;
}

static int rdmafsd_op_read(struct rdmafsd_rq *rq)
{
	const struct rfp_read_req *rreq = rq->args;
	u64 pos = le64_to_cpu(rreq->offset);
	u32 len = rdmafsd_read_len(rq);
	ssize_t got = -EAGAIN;

	if (!len)
		return rdmafsd_read_reply(rq, pos, 0);
	if (len > RDMAFS_XPRT_INLINE_MAX)
		got = rdmafsd_read_pages(rq, pos, len);
	if (got == -EAGAIN)
		got = rdmafsd_read_room(rq, pos, len);
	if (got < 0)
		return got;
	return rdmafsd_read_reply(rq, pos + got, got);
}

/*
 * Serve a small READ from the page cache.  The attributes that the reply needs are in memory on
 * the file systems that rdmafsd_cached_read() supports.
 */
static int rdmafsd_now_read(struct rdmafsd_rq *rq)
{
	const struct rfp_read_req *rreq = rq->args;
	u64 pos = le64_to_cpu(rreq->offset);
	u32 len = rdmafsd_read_len(rq);
	struct iov_iter to;
	ssize_t got;

	if (!len || len > RDMAFS_XPRT_INLINE_MAX || rdmafs_xprt_req_room(rq->req, len, &to))
		return -EAGAIN;
	got = rdmafsd_cached_read(rq->state->file, pos, &to);
	if (got < 0 || rdmafsd_read_reply(rq, pos + got, got))
		return -EAGAIN;
	return 0;
}

/* The operation puts on the opener's credentials itself, and only where it asks the VFS. */
const struct rdmafsd_op rdmafsd_read_op = {
	RDMAFSD_PADDED(struct rfp_read_req),
	.stateid = offsetof(struct rfp_read_req, stateid),
	.mode = FMODE_READ,
	.flags = RDMAFS_REPLY_NOCACHE,
	.check = rdmafsd_check_read,
	.fn = rdmafsd_op_read,
	.now = rdmafsd_now_read,
};

static int rdmafsd_write_iocb_flags(u32 stable, u32 flags)
{
	int iocb = 0;

	if (stable >= RFP_DATA_SYNC)
		iocb |= IOCB_DSYNC;
	if (stable >= RFP_FILE_SYNC)
		iocb |= IOCB_SYNC;
	if (flags & RFP_WRITE_APPEND)
		iocb |= IOCB_APPEND;
	return iocb;
}

/*
 * The client must not send an append again once data was, or may have been, appended.  So it is
 * then not told -ENOMEM or -EAGAIN, which make a client send a request again.  It is told these
 * errors if nothing was appended.
 */
static int rdmafsd_append_error(int err)
{
	return err == -ENOMEM || err == -EAGAIN ? -EIO : err;
}

static ssize_t rdmafsd_append_do(struct rdmafsd_rq *rq, struct kiocb *kiocb, u32 stable)
{
	struct inode *inode = file_inode(kiocb->ki_filp);
	ssize_t done;
	int err;

	/* Append and sync in two steps, so that it is known which of them has failed. */
	kiocb->ki_flags &= ~(IOCB_DSYNC | IOCB_SYNC);
	done = vfs_iocb_iter_write(kiocb->ki_filp, kiocb, &rq->req->data);
	if (done < 0 && IS_SYNC(inode))
		return rdmafsd_append_error(done);
	if (done <= 0 || stable == RFP_UNSTABLE || IS_SYNC(inode))
		return done;
	err = vfs_fsync_range(kiocb->ki_filp, kiocb->ki_pos - done, kiocb->ki_pos - 1,
			      stable < RFP_FILE_SYNC);
	if (rdmafs_test_fails("append_sync", inode->i_ino))
		err = -ENOMEM;
	if (rdmafs_test_fails("append_full", inode->i_ino))
		err = -ENOSPC;
	return err ? rdmafsd_append_error(err) : done;
}

static ssize_t rdmafsd_write_do(struct rdmafsd_rq *rq, struct kiocb *kiocb, u32 stable)
{
	unsigned int saved = current->flags;
	ssize_t ret;

	current->flags |= PF_LOCAL_THROTTLE;
	if (kiocb->ki_flags & IOCB_APPEND)
		ret = rdmafsd_append_do(rq, kiocb, stable);
	else
		ret = vfs_iocb_iter_write(kiocb->ki_filp, kiocb, &rq->req->data);
	current_restore_flags(saved, PF_LOCAL_THROTTLE);
	return ret;
}

static u64 rdmafsd_write_pos(const struct rfp_write_req *wreq)
{
	return le32_to_cpu(wreq->flags) & RFP_WRITE_APPEND ? 0 : le64_to_cpu(wreq->offset);
}

static int rdmafsd_check_write(struct rdmafsd_rq *rq)
{
	const struct rfp_write_req *wreq = rq->args;
	u32 count = le32_to_cpu(wreq->count);

	if (!count || count != rq->req->data_len || le32_to_cpu(wreq->stable) > RFP_FILE_SYNC ||
	    (le32_to_cpu(wreq->flags) & ~RFP_WRITE_APPEND))
		return RFP_BADPROTO;
	return rdmafsd_write_pos(wreq) > (u64)LLONG_MAX - count ? -EFBIG : 0;
}

static int rdmafsd_op_write(struct rdmafsd_rq *rq)
{
	const struct rfp_write_req *wreq = rq->args;
	u32 stable = le32_to_cpu(wreq->stable), flags = le32_to_cpu(wreq->flags);
	struct file *file = rq->state->file;
	struct rfp_write_rep *rep;
	struct rdmafsd_change chg;
	struct kiocb kiocb;
	u64 verifier;
	ssize_t done;
	int err;

	rq->again = !(flags & RFP_WRITE_APPEND);
	if (IS_APPEND(file_inode(file)) && !(flags & RFP_WRITE_APPEND))
		return -EPERM;

	init_sync_kiocb(&kiocb, file);
	kiocb.ki_pos = rdmafsd_write_pos(wreq);
	kiocb.ki_flags |= rdmafsd_write_iocb_flags(stable, flags);
	verifier = rdmafsd_export_verifier(rq->exp);
	rdmafsd_change_begin(rq, file->f_path.dentry, &chg);
	done = rdmafsd_write_do(rq, &kiocb, stable);
	rdmafsd_change_end(&chg);
	/*
	 * A stable write consumes the errors that unstable writes before it have left behind:
	 * the clients of those writes must learn of it, by the verifier.
	 */
	if (stable != RFP_UNSTABLE)
		rdmafsd_claim_check_wb(rq->exp, rq->state->claim);
	if (done <= 0)
		return done ? done : -EIO;

	rep = rdmafsd_rep(rq, sizeof(*rep));
	rep->count = cpu_to_le32(done);
	rep->stable = cpu_to_le32(rdmafsd_export_is_volatile(rq->exp) ? RFP_FILE_SYNC :
								     stable);
	rep->verifier = cpu_to_le64(verifier);
	rep->offset = cpu_to_le64(kiocb.ki_pos - done);
	err = rdmafsd_rep_attr_changed(rq, &chg);
	return flags & RFP_WRITE_APPEND ? rdmafsd_append_error(err) : err;
}

const struct rdmafsd_op rdmafsd_write_op = {
	RDMAFSD_PADDED(struct rfp_write_req),
	.stateid = offsetof(struct rfp_write_req, stateid),
	.mode = FMODE_WRITE,
	.as = RDMAFSD_AS_CALLER,
	.check = rdmafsd_check_write,
	.fn = rdmafsd_op_write,
};

/**
 * rdmafsd_commit_range - bring the data of an open file to stable storage
 * @st:	      the open
 * @start:    first byte
 * @end:      last byte
 * @datasync: only the metadata that is needed to find the data
 *
 * If that fails, or an error of writeback is found, the export's verifier becomes another one.
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int rdmafsd_commit_range(struct rdmafsd_state *st, loff_t start, loff_t end, int datasync)
{
	bool moved;
	int err = 0;

	if (st->file->f_op->fsync)
		err = vfs_fsync_range(st->file, start, end, datasync);
	moved = rdmafsd_claim_check_wb(st->exp, st->claim);
	/* It has failed, but not by a writeback error: nothing is stable then either. */
	if (err && !moved)
		atomic64_inc(&st->exp->verf_gen);
	return err;
}

static int rdmafsd_check_commit(struct rdmafsd_rq *rq)
{
	const struct rfp_commit_req *creq = rq->args;

	return le64_to_cpu(creq->offset) > LLONG_MAX ||
	       (le32_to_cpu(creq->flags) & ~RFP_COMMIT_META) ? -EINVAL : 0;
}

static int rdmafsd_op_commit(struct rdmafsd_rq *rq)
{
	const struct rfp_commit_req *creq = rq->args;
	u64 start = le64_to_cpu(creq->offset), count = le64_to_cpu(creq->count);
	bool meta = le32_to_cpu(creq->flags) & RFP_COMMIT_META;
	struct rfp_commit_rep *rep;
	u64 end = LLONG_MAX;
	int err;

	if (count && count - 1 < (u64)LLONG_MAX - start)
		end = start + count - 1;
	/*
	 * COMMIT may be executed twice: when it fails it moves the verifier, and the client
	 * writes again what is not stable.
	 */
	rq->again = true;
	err = rdmafsd_commit_range(rq->state, start, end, !meta);
	if (err)
		return err;

	rep = rdmafsd_rep(rq, sizeof(*rep));
	rep->verifier = cpu_to_le64(rdmafsd_export_verifier(rq->exp));
	return rdmafsd_rep_attr(rq, rq->state->file->f_path.dentry);
}

const struct rdmafsd_op rdmafsd_commit_op = {
	RDMAFSD_PADDED(struct rfp_commit_req),
	.stateid = offsetof(struct rfp_commit_req, stateid),
	.as = RDMAFSD_AS_OPENER,
	.check = rdmafsd_check_commit,
	.fn = rdmafsd_op_commit,
};

/* The most bytes that one request allocates or frees. */
#define RDMAFSD_FALLOCATE_MAX	SZ_1G

/*
 * Length of the part of a FALLOCATE that this request does; the client asks for the rest.  So a
 * request does not keep its thread, its slot and the file's lock for the time of a whole disk.
 * Modes that shift the rest of the file can't be done in parts.  A hole behind the end of the
 * file is punched at once: there is little to be freed, and its end may be far away.
 */
static u64 rdmafsd_fallocate_part(struct inode *inode, u32 mode, u64 offset, u64 length)
{
	if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE))
		return length;
	if ((mode & FALLOC_FL_PUNCH_HOLE) && offset >= i_size_read(inode))
		return length;
	return min_t(u64, length, RDMAFSD_FALLOCATE_MAX - offset % RDMAFSD_FALLOCATE_MAX);
}

static int rdmafsd_fallocate_reply(struct rdmafsd_rq *rq, u64 done,
				   const struct rdmafsd_change *chg)
{
	struct rfp_fallocate_rep *rep = rdmafsd_rep(rq, sizeof(*rep));

	rep->done = cpu_to_le64(done);
	return rdmafsd_rep_attr_changed(rq, chg);
}

static int rdmafsd_check_fallocate(struct rdmafsd_rq *rq)
{
	const struct rfp_fallocate_req *freq = rq->args;
	u64 offset = le64_to_cpu(freq->offset), length = le64_to_cpu(freq->length);

	if (!length || offset > LLONG_MAX || length > LLONG_MAX)
		return -EINVAL;
	/* Check the whole range before a part is done, as the VFS would for the whole range. */
	return length > LLONG_MAX - offset ? -EFBIG : 0;
}

static int rdmafsd_op_fallocate(struct rdmafsd_rq *rq)
{
	const struct rfp_fallocate_req *freq = rq->args;
	u64 offset = le64_to_cpu(freq->offset), length = le64_to_cpu(freq->length);
	struct dentry *dentry = rq->state->file->f_path.dentry;
	u32 mode = le32_to_cpu(freq->mode);
	struct rdmafsd_change chg;
	int err;

	if (offset + length > dentry->d_sb->s_maxbytes)
		return -EFBIG;
	length = rdmafsd_fallocate_part(d_inode(dentry), mode, offset, length);
	rdmafsd_change_begin(rq, dentry, &chg);
	err = vfs_fallocate(rq->state->file, mode, offset, length);
	rdmafsd_change_end(&chg);
	if (!err)
		err = rdmafsd_commit(rq->exp, dentry);
	return err ? err : rdmafsd_fallocate_reply(rq, length, &chg);
}

/* The VFS refuses modes that this kernel does not know, and an open that is not for writing. */
const struct rdmafsd_op rdmafsd_fallocate_op = {
	RDMAFSD_PADDED(struct rfp_fallocate_req),
	.stateid = offsetof(struct rfp_fallocate_req, stateid),
	.as = RDMAFSD_AS_CALLER,
	.check = rdmafsd_check_fallocate,
	.fn = rdmafsd_op_fallocate,
};

static int rdmafsd_check_seek(struct rdmafsd_rq *rq)
{
	const struct rfp_seek_req *sreq = rq->args;
	u32 whence = le32_to_cpu(sreq->whence);

	if (le64_to_cpu(sreq->offset) > LLONG_MAX)
		return -ENXIO;
	return whence == RFP_SEEK_DATA || whence == RFP_SEEK_HOLE ? 0 : -EINVAL;
}

/* This moves the position of the struct file, too, on which nothing in the server depends. */
static int rdmafsd_op_seek(struct rdmafsd_rq *rq)
{
	const struct rfp_seek_req *sreq = rq->args;
	bool data = le32_to_cpu(sreq->whence) == RFP_SEEK_DATA;
	struct rfp_seek_rep *rep;
	loff_t pos;

	pos = vfs_llseek(rq->state->file, le64_to_cpu(sreq->offset), data ? SEEK_DATA : SEEK_HOLE);
	if (pos < 0)
		return pos;
	rep = rdmafsd_rep(rq, sizeof(*rep));
	rep->offset = cpu_to_le64(pos);
	return 0;
}

const struct rdmafsd_op rdmafsd_seek_op = {
	RDMAFSD_PADDED(struct rfp_seek_req),
	.stateid = offsetof(struct rfp_seek_req, stateid),
	.as = RDMAFSD_AS_OPENER,
	.flags = RDMAFS_REPLY_NOCACHE,
	.check = rdmafsd_check_seek,
	.fn = rdmafsd_op_seek,
};
