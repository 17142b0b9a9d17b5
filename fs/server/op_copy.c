// SPDX-License-Identifier: GPL-2.0
/*
 * COPY and CLONE: data that goes from one open file to another without leaving the server.
 *
 * Both run with the credentials of the caller that the request names, as WRITE does: set-id bits
 * of the target and quota depend on the user that writes.
 *
 * COPY first has the file system share the storage, which takes little time however much it is.
 * If the file system can't, or the ranges do not fit its blocks, the data is copied, as
 * copy_file_range(2) does, through the pipe that the kernel keeps for each task that splices; for
 * that a request does far less at once.  Either way the data is unstable: see op_io.c.
 *
 * CLONE is all or nothing, as FICLONERANGE is, so it is one piece.  It is stable when it is
 * answered.  With RFP_CLONE_DEDUPE all bytes are read and compared, so it is done in pieces; it
 * changes no data, and nothing has to be made stable.
 *
 * With RFP_CLONE_COMPARE bytes are compared, and that is all: the client wants to know whether an
 * unanswered request was executed.  The target may be open for writing only, so it is opened for
 * reading here.  That tells who may write a file whether it holds what he thinks, and so does
 * FIDEDUPERANGE.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include "request.h"
#include "transport/points.h"

/* The most bytes of which one request shares the storage in COPY. */
#define RDMAFSD_SHARE_MAX	SZ_1G
/* The most bytes that one request reads and writes, or reads and compares. */
#define RDMAFSD_COPY_MAX	SZ_16M

/* The part of a range that is done at once: up to the next multiple of @max, a power of two. */
static u64 rdmafsd_copy_part(u64 offset, u64 count, u64 max)
{
	return min_t(u64, count, max - (offset & (max - 1)));
}

static int rdmafsd_check_ranges(struct rdmafsd_rq *rq, u32 flags)
{
	const struct rfp_copy_req *creq = rq->args;
	u64 end = max(le64_to_cpu(creq->source_offset), le64_to_cpu(creq->offset));

	if ((le32_to_cpu(creq->flags) & ~flags) || end > LLONG_MAX ||
	    le64_to_cpu(creq->count) > LLONG_MAX - end)
		return -EINVAL;
	return 0;
}

static int rdmafsd_check_copy(struct rdmafsd_rq *rq)
{
	const struct rfp_copy_req *creq = rq->args;

	/* With 0 the file system would share all up to the end of the source. */
	return creq->count ? rdmafsd_check_ranges(rq, 0) : -EINVAL;
}

/* Returns bytes, 0 behind the end of the source, or a negative errno; the last is not -ENOMEM. */
static ssize_t rdmafsd_copy_do(struct rdmafsd_rq *rq)
{
	const struct rfp_copy_req *creq = rq->args;
	u64 pos = le64_to_cpu(creq->source_offset), at = le64_to_cpu(creq->offset);
	u64 count = le64_to_cpu(creq->count);
	struct file *from = rq->source->file, *to = rq->state->file;
	ssize_t done;

	done = vfs_clone_file_range(from, pos, to, at,
				    rdmafsd_copy_part(at, count, RDMAFSD_SHARE_MAX),
				    REMAP_FILE_CAN_SHORTEN);
	if (done > 0)
		return done;
	count = rdmafsd_copy_part(at, count, RDMAFSD_COPY_MAX);
	done = rdmafs_test_fails("copy_nomem", file_inode(to)->i_ino) ? -ENOMEM :
		vfs_copy_file_range(from, pos, to, at, count, 0);
	/* A file system with a way of its own to copy refuses what it can't do in that way. */
	if (done == -EOPNOTSUPP || done == -EXDEV)
		done = vfs_copy_file_range(from, pos, to, at, count, COPY_FILE_SPLICE);
	/*
	 * There is no pipe: memory is short, or there are as many pages in pipes as
	 * pipe-user-pages-hard allows, which may not pass.  The client can copy by itself.
	 */
	return done == -ENOMEM ? -EOPNOTSUPP : done;
}

/* The source is to be open for reading. */
static bool rdmafsd_copy_readable(const struct rdmafsd_rq *rq)
{
	return rq->source->file->f_mode & FMODE_READ;
}

static int rdmafsd_op_copy(struct rdmafsd_rq *rq)
{
	struct dentry *dentry = rq->state->file->f_path.dentry;
	unsigned int saved = current->flags;
	struct rdmafsd_change chg;
	struct rfp_copy_rep *rep;
	u64 verifier;
	ssize_t done;

	if (!rdmafsd_copy_readable(rq))
		return -EBADF;
	rq->again = true;
	if (IS_APPEND(d_inode(dentry)))
		return -EPERM;
	verifier = rdmafsd_export_verifier(rq->exp);
	rdmafsd_change_begin(rq, dentry, &chg);
	current->flags |= PF_LOCAL_THROTTLE;
	done = rdmafsd_copy_do(rq);
	current_restore_flags(saved, PF_LOCAL_THROTTLE);
	rdmafsd_change_end(&chg);
	if (done < 0)
		return done;

	rep = rdmafsd_rep(rq, sizeof(*rep));
	rep->count = cpu_to_le64(done);
	rep->verifier = cpu_to_le64(verifier);
	rep->stable = cpu_to_le32(rdmafsd_export_is_volatile(rq->exp) ? RFP_FILE_SYNC :
								     RFP_UNSTABLE);
	return rdmafsd_rep_attr_changed(rq, &chg);
}

const struct rdmafsd_op rdmafsd_copy_op = {
	RDMAFSD_PADDED(struct rfp_copy_req),
	.stateid = offsetof(struct rfp_copy_req, stateid),
	.source = offsetof(struct rfp_copy_req, source),
	.mode = FMODE_WRITE,
	.as = RDMAFSD_AS_CALLER,
	.check = rdmafsd_check_copy,
	.fn = rdmafsd_op_copy,
};

static int rdmafsd_check_clone(struct rdmafsd_rq *rq)
{
	const struct rfp_copy_req *creq = rq->args;

	u32 flags = le32_to_cpu(creq->flags);

	if (!creq->count && flags)
		return -EINVAL;
	switch (flags) {
	case 0:
	case RFP_CLONE_DEDUPE:
	case RFP_CLONE_COMPARE:
	case RFP_CLONE_COMPARE | RFP_CLONE_ZEROS:
		return rdmafsd_check_ranges(rq, flags);
	}
	return -EINVAL;
}

/* Bytes that are read at a time to be compared, of each of two files. */
#define RDMAFSD_COMPARE_BYTES	SZ_32K

/*
 * Compare @count bytes; @from: with those of another file, or, if it is NULL, with zeros.  @buf has
 * room for twice RDMAFSD_COMPARE_BYTES.  0, -EBADE or another negative errno.
 */
static int rdmafsd_compare_files(struct file *to, loff_t at, struct file *from, loff_t pos,
				 u64 count, char *buf)
{
	char *other = buf + RDMAFSD_COMPARE_BYTES;
	ssize_t got, got2;
	size_t n;

	while (count) {
		n = min_t(u64, count, RDMAFSD_COMPARE_BYTES);
		got = kernel_read(to, buf, n, &at);
		if (got < 0)
			return got;
		got2 = from ? kernel_read(from, other, n, &pos) : n;
		if (got2 < 0)
			return got2;
		if (got != n || got2 != n)
			return -EBADE;
		if (from ? !!memcmp(buf, other, n) : !!memchr_inv(buf, 0, n))
			return -EBADE;
		count -= n;
	}
	return 0;
}

/* Returns bytes that are equal, or a negative errno. */
static loff_t rdmafsd_compare(struct rdmafsd_rq *rq)
{
	const struct rfp_copy_req *creq = rq->args;
	bool zeros = le32_to_cpu(creq->flags) & RFP_CLONE_ZEROS;
	u64 at = le64_to_cpu(creq->offset);
	u64 count = rdmafsd_copy_part(at, le64_to_cpu(creq->count), RDMAFSD_COPY_MAX);
	struct file *from = zeros ? NULL : rq->source->file, *to;
	char *buf;
	int err;

	if (!(rq->state->file->f_mode & FMODE_WRITE) || (from && !rdmafsd_copy_readable(rq)))
		return -EBADF;
	buf = kvmalloc(2 * RDMAFSD_COMPARE_BYTES, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	/* As in rdmafsd_open_file(): whoever has a lease is not waited for. */
	to = dentry_open(&rq->state->file->f_path, O_RDONLY | O_LARGEFILE | O_NOATIME | O_NONBLOCK,
			 current_cred());
	err = PTR_ERR_OR_ZERO(to);
	if (!err) {
		err = rdmafsd_compare_files(to, at, from, le64_to_cpu(creq->source_offset), count,
					    buf);
		rdmafsd_file_close(to);
	}
	kvfree(buf);
	return err ? err : count;
}

static int rdmafsd_op_compare(struct rdmafsd_rq *rq)
{
	struct rfp_clone_rep *rep;
	loff_t done;

	done = rdmafsd_compare(rq);
	if (done < 0)
		return done;
	rep = rdmafsd_rep(rq, sizeof(*rep));
	rep->done = cpu_to_le64(done);
	return rdmafsd_rep_attr(rq, rq->state->file->f_path.dentry);
}

/* Returns bytes or a negative errno. */
static loff_t rdmafsd_clone_do(struct rdmafsd_rq *rq)
{
	const struct rfp_copy_req *creq = rq->args;
	u64 pos = le64_to_cpu(creq->source_offset), at = le64_to_cpu(creq->offset);
	u64 count = le64_to_cpu(creq->count);
	struct file *from = rq->source->file, *to = rq->state->file;

	if (!(le32_to_cpu(creq->flags) & RFP_CLONE_DEDUPE))
		return vfs_clone_file_range(from, pos, to, at, count, 0);
	/* The VFS asks whether the caller may write the file, or owns it. */
	return vfs_dedupe_file_range_one(from, pos, to, at,
					 rdmafsd_copy_part(at, count, RDMAFSD_COPY_MAX),
					 REMAP_FILE_CAN_SHORTEN);
}

static int rdmafsd_op_clone(struct rdmafsd_rq *rq)
{
	const struct rfp_copy_req *creq = rq->args;
	bool dedupe = le32_to_cpu(creq->flags) & RFP_CLONE_DEDUPE;
	struct dentry *dentry = rq->state->file->f_path.dentry;
	u64 at = le64_to_cpu(creq->offset);
	struct rdmafsd_change chg;
	struct rfp_clone_rep *rep;
	loff_t done;
	int err;

	if (le32_to_cpu(creq->flags) & RFP_CLONE_COMPARE)
		return rdmafsd_op_compare(rq);
	if (!rdmafsd_copy_readable(rq))
		return -EBADF;
	rq->again = true;
	/* The VFS calls this EINVAL in one of the two cases. */
	if (!rq->state->file->f_op->remap_file_range)
		return -EOPNOTSUPP;
	/* An open for writing is proof that the export may be written, but this may be another. */
	if (dedupe && rq->exp->p.read_only)
		return -EROFS;
	if (!dedupe && IS_APPEND(d_inode(dentry)))
		return -EPERM;
	rdmafsd_change_begin(rq, dentry, &chg);
	done = rdmafsd_clone_do(rq);
	rdmafsd_change_end(&chg);
	if (done < 0)
		return done;
	if (done && !dedupe) {
		err = rdmafsd_commit_range(rq->state, at, at + done - 1, 0);
		if (err)
			return err;
	}

	rep = rdmafsd_rep(rq, sizeof(*rep));
	rep->done = cpu_to_le64(done);
	return rdmafsd_rep_attr_changed(rq, &chg);
}

/* The VFS refuses an open that is not for writing, unless the storage is only shared. */
const struct rdmafsd_op rdmafsd_clone_op = {
	RDMAFSD_PADDED(struct rfp_copy_req),
	.stateid = offsetof(struct rfp_copy_req, stateid),
	.source = offsetof(struct rfp_copy_req, source),
	.as = RDMAFSD_AS_CALLER,
	.check = rdmafsd_check_clone,
	.fn = rdmafsd_op_clone,
};
