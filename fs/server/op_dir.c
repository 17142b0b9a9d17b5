// SPDX-License-Identifier: GPL-2.0
/*
 * LOOKUP, READLINK, READDIR.
 *
 * READDIR reads names into a buffer first and looks them up afterwards, since the file system
 * calls back with the directory locked.  The cookie of an entry is the position behind it: that
 * of the next entry, or, for the last one, the position of the directory's file.  So a listing
 * goes on behind an entry whether or not the entry still exists.  That a position keeps its
 * meaning while the directory changes is the file system's promise to seekdir(3), and holds here
 * as well.
 *
 * The size of a listing is known only at its end.  But the room that the client has for it is
 * charged to the client's session before the directory is read: it also pays for the buffer that
 * the listing is made in.  If the session has too much charged already, the request is put off
 * before any work was done for it.
 *
 * No name leads out of an export: ".." of its root is the root, and mount points are seen as the
 * directories they cover, with an attribute that says so (crossed.c).
 */
#include <linux/dcache.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "request.h"
#include "transport/points.h"

static struct dentry *rdmafsd_lookup_parent(struct rdmafsd_rq *rq, struct dentry *dir)
{
	struct dentry *parent;
	int err;

	err = inode_permission(rdmafsd_idmap(rq->exp), d_inode(dir), MAY_EXEC);
	if (err)
		return ERR_PTR(err);
	if (dir == rq->exp->path.dentry)
		return dget(dir);
	parent = dget_parent(dir);
	/* The directory may have been moved out of the export since its handle was decoded. */
	if (!rdmafsd_dir_inside(rq->exp, parent)) {
		dput(parent);
		return ERR_PTR(-ESTALE);
	}
	return parent;
}

static struct dentry *rdmafsd_lookup_name(struct rdmafsd_rq *rq, struct dentry *dir,
					  const struct rfp_str *name)
{
	if (name->len == 2 && !memcmp(name->s, "..", 2))
		return rdmafsd_lookup_parent(rq, dir);
	return rdmafsd_lookup_there(rq->exp, dir, name);
}

static int rdmafsd_op_lookup(struct rdmafsd_rq *rq)
{
	struct dentry *dir = rq->obj[0], *obj;
	struct rfp_rep *rep;
	int err;

	obj = rdmafsd_lookup_name(rq, dir, &rq->name[0]);
	if (IS_ERR(obj) && PTR_ERR(obj) != -ENOENT)
		return PTR_ERR(obj);
	rep = rdmafsd_rep(rq, sizeof(*rep));
	if (IS_ERR(obj)) {
		rep->status = cpu_to_le32(RFP_ENOENT);
		return rdmafsd_rep_attr(rq, dir);
	}
	err = rdmafsd_rep_attr(rq, obj);
	if (!err)
		err = rdmafsd_rep_fh(rq, obj);
	if (!err)
		err = rdmafsd_rep_attr(rq, dir);
	if (!err)
		rdmafsd_rep_label(rq, obj, RDMAFS_XPRT_BODY_MAX);
	dput(obj);
	return err;
}

const struct rdmafsd_op rdmafsd_lookup_op = {
	RDMAFSD_FIXED(struct rfp_req),
	.parts = { RDMAFSD_PART_DIR, RDMAFSD_PART_NAME_UP },
	.as = RDMAFSD_AS_CALLER,
	.flags = RDMAFS_REPLY_NOCACHE,
	.req_flags = RFP_REQ_ACCESS | RFP_REQ_LABEL,
	.fn = rdmafsd_op_lookup,
};

static int rdmafsd_op_readlink(struct rdmafsd_rq *rq)
{
	struct dentry *dentry = rq->obj[0];
	struct path path = { .mnt = rq->exp->path.mnt, .dentry = dentry };
	DEFINE_DELAYED_CALL(done);
	const char *target;
	int err;

	if (!d_is_symlink(dentry))
		return -EINVAL;
	touch_atime(&path);
	target = vfs_get_link(dentry, &done);
	if (IS_ERR(target))
		return PTR_ERR(target);
	err = rdmafsd_rq_data_put(rq, target, strlen(target));
	do_delayed_call(&done);
	if (!err)
		rdmafsd_rep(rq, sizeof(struct rfp_rep));
	return err;
}

/* Needs no credentials: the permissions of a symbolic link mean nothing. */
const struct rdmafsd_op rdmafsd_readlink_op = {
	RDMAFSD_FIXED(struct rfp_req),
	.parts = { RDMAFSD_PART_FH },
	.flags = RDMAFS_REPLY_NOCACHE,
	.fn = rdmafsd_op_readlink,
};

/*
 * A name that was read from the directory and is to be looked up; @rec is the size of this
 * record, @pos the position of the name in the directory.
 */
struct rdmafsd_raw {
	u64 ino;
	loff_t pos;
	u16 rec;
	u16 len;
	u8 type;
	char name[];
};

#define RDMAFSD_RAW_MAX	ALIGN(sizeof(struct rdmafsd_raw) + RFP_NAME_MAX, 8)

/*
 * Names are read in runs of this many bytes, some hundreds of names: so the directory is not
 * locked for long, and few names are read in vain.  A client that asks for little gets shorter
 * runs, of at least RDMAFSD_RAW_BUF_MIN bytes.
 */
#define RDMAFSD_RAW_BUF		SZ_32K
#define RDMAFSD_RAW_BUF_MIN	SZ_4K

/* One request lists this many bytes at most: some thousand entries. */
#define RDMAFSD_READDIR_MAX	((u32)SZ_1M)

/**
 * struct rdmafsd_readdir - a listing under way, on the stack of the request
 * @ctx:  the VFS's context of iterate_dir()
 * @raw:  names of this run, &struct rdmafsd_raw one after the other
 * @size: size of @raw in bytes
 * @used: bytes used in @raw
 * @last: offset in @raw of the last name; if several names at the end have one position, of the
 *        first of these
 * @full: a name did not fit into @raw
 * @rq:   the request
 * @dir:  the directory, a reference of the request
 * @file: the same directory, opened for this request
 * @plus: send attributes and handles, too
 * @out:  the entries for the client
 * @nr:   how many entries @out has
 */
struct rdmafsd_readdir {
	struct dir_context ctx;
	void *raw;
	size_t size;
	size_t used;
	size_t last;
	bool full;
	struct rdmafsd_rq *rq;
	struct dentry *dir;
	struct file *file;
	bool plus;
	struct rfp_enc out;
	unsigned int nr;
};

static bool rdmafsd_readdir_actor(struct dir_context *ctx, const char *name, int len,
				  loff_t pos, u64 ino, unsigned int type)
{
	struct rdmafsd_readdir *r = container_of(ctx, struct rdmafsd_readdir, ctx);
	const struct rdmafsd_raw *last = r->raw + r->last;
	struct rdmafsd_raw *raw = r->raw + r->used;
	size_t rec = ALIGN(sizeof(*raw) + len, 8);

	/* No file system of Linux has longer names, and the protocol can't carry them. */
	if (len <= 0 || len > RFP_NAME_MAX)
		return true;
	if (rec > r->size - r->used) {
		r->full = true;
		return false;
	}
	if (r->used && rdmafs_test_fails("readdir_alike", d_inode(r->dir)->i_ino))
		pos = last->pos;
	raw->ino = ino;
	raw->pos = pos;
	raw->rec = rec;
	raw->len = len;
	raw->type = type;
	memcpy(raw->name, name, len);
	if (!r->used || last->pos != pos)
		r->last = r->used;
	r->used += rec;
	return true;
}

static bool rdmafsd_raw_is_dots(const struct rdmafsd_raw *raw)
{
	return raw->name[0] == '.' &&
	       (raw->len == 1 || (raw->len == 2 && raw->name[1] == '.'));
}

static bool rdmafsd_raw_is_reserved(const struct rdmafsd_readdir *r, const struct rdmafsd_raw *raw)
{
	const struct rfp_str name = { .s = raw->name, .len = raw->len };
	struct dentry *dentry;

	if (rdmafsd_name_reserved(&name))
		return true;
	if (raw->ino != READ_ONCE(r->rq->exp->orphans_ino))
		return false;
	/* Another object may have the same number, such as one in a subvolume: look at this one. */
	dentry = rdmafsd_lookup_there(r->rq->exp, r->dir, &name);
	if (!IS_ERR(dentry))
		dput(dentry);
	return PTR_ERR(dentry) == -EACCES;
}

/* Get attributes and handle of an entry; false if they can't be got, or the entry is gone. */
static bool rdmafsd_readdir_plus(struct rdmafsd_readdir *r, const struct rdmafsd_raw *raw,
				 struct rfp_attr *attr, struct rfp_fh *fh)
{
	struct dentry *dentry;
	bool ok;

	dentry = lookup_one_positive_unlocked(rdmafsd_idmap(r->rq->exp), raw->name, r->dir,
					      raw->len);
	if (IS_ERR(dentry))
		return false;
	ok = !rdmafsd_getattr(r->rq->exp, dentry, attr) &&
	     !rdmafsd_fh_encode(r->rq->exp, dentry, fh);
	dput(dentry);
	return ok;
}

static bool rdmafsd_readdir_emit(struct rdmafsd_readdir *r, const struct rdmafsd_raw *raw,
				 u64 cookie)
{
	struct rfp_attr attr;
	struct rfp_fh fh;
	bool plus;

	if (rdmafsd_raw_is_dots(raw) || rdmafsd_raw_is_reserved(r, raw))
		return true;
	plus = r->plus && rdmafsd_readdir_plus(r, raw, &attr, &fh);
	/*
	 * The object's own number may differ from the entry's, for example at the root of a
	 * subvolume.
	 */
	if (!rfp_enc_dirent(&r->out, cookie, plus ? le64_to_cpu(attr.ino) : raw->ino,
			    raw->type, raw->name, raw->len, plus ? &attr : NULL, plus ? &fh : NULL))
		return false;
	r->nr++;
	return true;
}

/* Add the names of this run to the client's entries; false: the client's room is used up. */
static bool rdmafsd_readdir_flush(struct rdmafsd_readdir *r)
{
	size_t at = 0;

	while (at < r->used) {
		const struct rdmafsd_raw *raw = r->raw + at, *next;
		u64 cookie = r->file->f_pos;

		at += raw->rec;
		if (at < r->used) {
			next = r->raw + at;
			cookie = next->pos;
		}
		if (!rdmafsd_readdir_emit(r, raw, cookie))
			return false;
	}
	return true;
}

static int rdmafsd_readdir_iterate(struct rdmafsd_readdir *r)
{
	int err = iterate_dir(r->file, &r->ctx);

	/*
	 * As if the rest of the directory could not be read and were stepped over, as ext2 does
	 * it.
	 */
	if (r->used && rdmafs_test_fails("readdir_last", d_inode(r->dir)->i_ino))
		return -EIO;
	return err;
}

/*
 * The directory can't be read any further.  The names that were read are sent first, and the
 * error with the next request.  Some file systems leave the position where the error was, but
 * others behind it, so a client that goes on there would never be told.  So the last name that
 * was read, with the names that share its position, is not sent now: the next request begins at
 * that position, and meets the error without new names before it.
 */
static void rdmafsd_readdir_failed(struct rdmafsd_readdir *r)
{
	const struct rdmafsd_raw *last = r->raw + r->last;

	if (!r->used)
		return;
	r->file->f_pos = last->pos;
	r->used = r->last;
}

/* Returns 1: the directory ends here; 0: there may be more; or a negative errno. */
static int rdmafsd_readdir_fill(struct rdmafsd_readdir *r)
{
	int err;

	for (;;) {
		r->used = 0;
		r->full = false;
		err = rdmafsd_readdir_iterate(r);
		/* Some file systems return an error because the buffer is full. */
		if (err > 0 || r->full)
			err = 0;
		if (err)
			rdmafsd_readdir_failed(r);
		if (!r->used && !err)
			return 1;
		if (!rdmafsd_readdir_flush(r))
			return r->nr ? 0 : -ERANGE;
		/* The error comes with the next request, which begins where this one ends. */
		if (err)
			return r->nr ? 0 : err;
	}
}

static int rdmafsd_readdir_reply(struct rdmafsd_readdir *r, bool eof)
{
	struct rdmafsd_rq *rq = r->rq;
	struct rfp_readdir_rep *rep;
	int len = rfp_enc_len(&r->out);
	int err;

	if (len < 0)
		return -EIO;
	err = rdmafsd_rq_data_put(rq, r->out.base, len);
	if (err)
		return err;
	rep = rdmafsd_rep(rq, sizeof(*rep));
	rep->count = cpu_to_le32(len);
	rep->flags = cpu_to_le32(eof ? RFP_READDIR_EOF : 0);
	return rdmafsd_rep_attr(rq, r->dir);
}

static int rdmafsd_readdir_list(struct rdmafsd_readdir *r, u64 cookie, u32 count)
{
	void *buf;
	int err = -ENOMEM;

	rdmafs_test_point("readdir_list", d_inode(r->dir)->i_ino);
	r->size = clamp_t(size_t, count, RDMAFSD_RAW_BUF_MIN, RDMAFSD_RAW_BUF);
	BUILD_BUG_ON(RDMAFSD_RAW_MAX > RDMAFSD_RAW_BUF_MIN);
	r->raw = kvmalloc(r->size, GFP_KERNEL);
	buf = kvmalloc(count, GFP_KERNEL);
	if (r->raw && buf) {
		rfp_enc_init(&r->out, buf, count);
		r->ctx.actor = rdmafsd_readdir_actor;
		err = 0;
		if (cookie) {
			loff_t pos = vfs_llseek(r->file, cookie, SEEK_SET);

			err = pos < 0 ? pos : 0;
		}
		if (!err)
			err = rdmafsd_readdir_fill(r);
		if (err >= 0)
			err = rdmafsd_readdir_reply(r, err);
	}
	kvfree(buf);
	kvfree(r->raw);
	return err;
}

/* Bytes that the client gets of a listing at most. */
static u32 rdmafsd_readdir_room(const struct rdmafsd_rq *rq)
{
	const struct rfp_readdir_req *rreq = rq->args;

	return min3(le32_to_cpu(rreq->count), rq->req->read_max, RDMAFSD_READDIR_MAX);
}

static int rdmafsd_check_readdir(struct rdmafsd_rq *rq)
{
	const struct rfp_readdir_req *rreq = rq->args;

	if ((le32_to_cpu(rreq->flags) & ~(RFP_READDIR_PLUS | RFP_READDIR_NOATIME)) ||
	    le64_to_cpu(rreq->cookie) > LLONG_MAX)
		return -EINVAL;
	/* There is no room for a single entry. */
	return rdmafsd_readdir_room(rq) < sizeof(struct rfp_dirent) ? -ERANGE : 0;
}

static int rdmafsd_op_readdir(struct rdmafsd_rq *rq)
{
	const struct rfp_readdir_req *rreq = rq->args;
	struct path path = { .mnt = rq->exp->path.mnt, .dentry = rq->obj[0] };
	struct rdmafsd_readdir r = { .rq = rq, .dir = path.dentry };
	int flags = O_RDONLY | O_DIRECTORY | O_LARGEFILE;
	u32 room = rdmafsd_readdir_room(rq);
	int err;

	if (le32_to_cpu(rreq->flags) & RFP_READDIR_NOATIME)
		flags |= O_NOATIME;
	r.plus = le32_to_cpu(rreq->flags) & RFP_READDIR_PLUS;
	err = inode_permission(rdmafsd_idmap(rq->exp), d_inode(r.dir), MAY_READ | MAY_OPEN);
	if (err)
		return err;
	err = rdmafs_xprt_req_reserve(rq->req, room);
	if (err)
		return err;
	r.file = dentry_open(&path, flags, current_cred());
	if (IS_ERR(r.file))
		return PTR_ERR(r.file);
	/* ext4 and others use positions of 64 bits then, so that hardly any two names share one. */
	r.file->f_mode |= FMODE_64BITHASH;
	err = rdmafsd_readdir_list(&r, le64_to_cpu(rreq->cookie), room);
	rdmafsd_file_close(r.file);
	return err;
}

const struct rdmafsd_op rdmafsd_readdir_op = {
	RDMAFSD_FIXED(struct rfp_readdir_req),
	.parts = { RDMAFSD_PART_DIR },
	.as = RDMAFSD_AS_CALLER,
	.flags = RDMAFS_REPLY_NOCACHE,
	.check = rdmafsd_check_readdir,
	.fn = rdmafsd_op_readdir,
};
