// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_fs_order: requests with several faults, to a real server on the same machine.  The
 * reply must tell the one that comes first in the order that fs/server/request.h gives (struct
 * rdmafsd_op): decoding, the server's own names, the operation's check, what stateid or handles
 * name, the open's mode, the caller, the operation.  Where an operation has an order of its own, it
 * must be kept, too: clients see the difference.
 *
 * Each fault is also made alone, or with one that comes later, so that the reply to both shows
 * which of them was found.
 */
#include <kunit/test.h>
#include <linux/bits.h>
#include "fs_client.h"

/* Credentials that no client registers. */
#define FS_NOBODY	99

/* Where the server keeps files that have no name left. */
#define FS_OWN_NAME	".rdmafs-orphans"

/* More than a major number has room for. */
#define FS_MAJOR	0x1000

static void order_str(struct rfp_enc *enc, const char *s)
{
	rfp_enc_str(enc, s, strlen(s), RFP_NAME_MAX);
}

#define ORDER(op, type, parts, status, ...)	\
	{ RFP_ ## op, #op, sizeof(struct type), parts, RFP_ ## status, __VA_ARGS__ }

/*
 * A request of each operation whose body can be decoded, and the status that it must have.  Behind
 * the fixed part, all 0, come in the order of @parts: a handle of the root (h), the server's own
 * name (n), the name of an attribute that is not offered (x), the name of an export that does not
 * exist (e).  With the request come @data bytes of data.
 */
static const struct order_body {
	enum rfp_op op;
	const char *name;
	size_t size;
	const char *parts;
	u32 status;
	u32 data;
} order_bodies[] = {
	ORDER(ATTACH, rfp_req, "e", ENOENT),
	ORDER(SETCRED, rfp_setcred_req, "", OK),
	ORDER(LOOKUP, rfp_req, "hn", EACCES),
	ORDER(GETATTR, rfp_getattr_req, "h", OK),
	ORDER(SETATTR, rfp_setattr_req, "h", OK),
	ORDER(OPEN, rfp_open_req, "h", EINVAL),
	ORDER(CREATE, rfp_create_req, "hn", EINVAL),
	ORDER(CLOSE, rfp_close_req, "", BADSTATE),
	ORDER(READ, rfp_read_req, "", BADSTATE),
	ORDER(WRITE, rfp_write_req, "", BADSTATE, .data = 8),
	ORDER(COMMIT, rfp_commit_req, "", BADSTATE),
	ORDER(MKDIR, rfp_mknod_req, "hn", EACCES),
	ORDER(MKNOD, rfp_mknod_req, "hn", EACCES),
	ORDER(SYMLINK, rfp_mknod_req, "hn", EACCES),
	ORDER(LINK, rfp_req, "hhn", EACCES),
	ORDER(UNLINK, rfp_req, "hn", EACCES),
	ORDER(RMDIR, rfp_req, "hn", EACCES),
	ORDER(RENAME, rfp_rename_req, "hnhn", EACCES),
	ORDER(READLINK, rfp_req, "h", EINVAL),
	ORDER(READDIR, rfp_readdir_req, "h", ERANGE),
	ORDER(STATFS, rfp_req, "h", OK),
	ORDER(GETXATTR, rfp_getxattr_req, "hx", EOPNOTSUPP),
	ORDER(SETXATTR, rfp_setxattr_req, "hx", EOPNOTSUPP),
	ORDER(LISTXATTR, rfp_getxattr_req, "h", OK),
	ORDER(REMOVEXATTR, rfp_req, "hx", EOPNOTSUPP),
	ORDER(FALLOCATE, rfp_fallocate_req, "", EINVAL),
	ORDER(SEEK, rfp_seek_req, "", BADSTATE),
	ORDER(TMPFILE, rfp_create_req, "h", EINVAL),
	ORDER(COPY, rfp_copy_req, "", EINVAL),
	ORDER(CLONE, rfp_copy_req, "", BADSTATE),
	ORDER(GETFLAGS, rfp_req, "h", OK),
	ORDER(SETFLAGS, rfp_setflags_req, "h", EINVAL),
	ORDER(LOCK, rfp_lock_req, "", BADSTATE),
	ORDER(UNLOCK, rfp_unlock_req, "", BADSTATE),
	ORDER(LOCKCANCEL, rfp_lockcancel_req, "", OK),
	ORDER(TESTLOCK, rfp_lock_req, "", BADSTATE),
	ORDER(EVENTS, rfp_req, "", OK),
	ORDER(RECLAIM_DONE, rfp_reclaim_req, "h", OK),
	ORDER(CROSS, rfp_req, "h", ESTALE),
};

static_assert(ARRAY_SIZE(order_bodies) == RFP_NR_OPS - 1);

static void order_body_desc(const struct order_body *b, char *desc)
{
	strscpy(desc, b->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(order_body, order_bodies, order_body_desc);

/* Sends the request, with @more bytes that are too many behind its body; returns the status. */
static u32 order_send_body(struct kunit *test, struct fs_client *c, const struct order_body *b,
			   u32 cred, size_t more)
{
	struct rfp_enc enc;
	const char *part;
	void *req;

	req = fs_req(c, &enc, b->op, cred, b->size);
	if (b->data)
		((struct rfp_write_req *)req)->count = cpu_to_le32(b->data);
	for (part = b->parts; *part; part++) {
		if (*part == 'h')
			rfp_enc_fh(&enc, &c->root);
		else if (*part == 'n')
			order_str(&enc, FS_OWN_NAME);
		else if (*part == 'x')
			order_str(&enc, "none.of_these");
		else
			order_str(&enc, "not there");
	}
	if (more)
		rfp_enc_fixed(&enc, more);
	return fs_call_data(test, c, &enc, b->data);
}

/*
 * A byte too many behind the body must be found before all else that is wrong with the request:
 * the server's own name, values that the operation refuses, a stateid of no open, an unknown
 * caller.  Without that byte the request must have the status of its other fault.
 */
static void order_too_long(struct kunit *test)
{
	const struct order_body *b = test->param_value;
	struct fs_client *c = fs_client(test);

	KUNIT_EXPECT_EQ(test, order_send_body(test, c, b, FS_USER, 0), b->status);
	KUNIT_EXPECT_EQ(test, order_send_body(test, c, b, FS_USER, 1), RFP_BADPROTO);
	KUNIT_EXPECT_EQ(test, order_send_body(test, c, b, FS_NOBODY, 1), RFP_BADPROTO);
}

static u32 order_create(struct kunit *test, struct fs_client *c, const struct rfp_fh *dir,
			const char *name, u32 flags, u32 cred)
{
	struct rfp_create_req *req;
	struct rfp_enc enc;

	req = fs_req(c, &enc, RFP_CREATE, cred, sizeof(*req));
	req->flags = cpu_to_le32(flags);
	rfp_enc_fh(&enc, dir);
	order_str(&enc, name);
	return fs_call(test, c, &enc);
}

/* CREATE must look at its flags before it looks at the name, and at both before the directory. */
static void order_create_flags(struct kunit *test)
{
	struct fs_client *c = fs_client(test);
	struct rfp_fh stale = c->root;

	stale.data[stale.len - 1] ^= 1;
	KUNIT_EXPECT_EQ(test, order_create(test, c, &stale, FS_OWN_NAME, BIT(31), FS_NOBODY),
			RFP_EINVAL);
	KUNIT_EXPECT_EQ(test, order_create(test, c, &stale, FS_OWN_NAME, RFP_OPEN_READ, FS_NOBODY),
			RFP_EACCES);
	KUNIT_EXPECT_EQ(test, order_create(test, c, &stale, "not there", RFP_OPEN_READ, FS_NOBODY),
			RFP_ESTALE);
	KUNIT_EXPECT_EQ(test, order_create(test, c, &c->root, "not there", RFP_OPEN_READ,
					   FS_NOBODY), RFP_BADCRED);
}

static u32 order_mkdir(struct kunit *test, struct fs_client *c, const struct rfp_fh *dir,
		       const char *name, u32 major)
{
	struct rfp_mknod_req *req;
	struct rfp_enc enc;

	req = fs_req(c, &enc, RFP_MKDIR, FS_NOBODY, sizeof(*req));
	req->rdev_major = cpu_to_le32(major);
	rfp_enc_fh(&enc, dir);
	order_str(&enc, name);
	return fs_call(test, c, &enc);
}

/*
 * MKDIR must look at the name before it looks at the device number, which means nothing to it but
 * must be one; and at both before the directory, which must be one before the caller is known.
 */
static void order_mkdir_device(struct kunit *test)
{
	struct fs_client *c = fs_client(test);
	struct fs_open o = {};

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "order", 0666, &o), 0);
	KUNIT_EXPECT_EQ(test, order_mkdir(test, c, &o.fh, FS_OWN_NAME, FS_MAJOR), RFP_EACCES);
	KUNIT_EXPECT_EQ(test, order_mkdir(test, c, &o.fh, "not there", FS_MAJOR), RFP_EINVAL);
	KUNIT_EXPECT_EQ(test, order_mkdir(test, c, &o.fh, "not there", 0), RFP_ENOTDIR);
	KUNIT_EXPECT_EQ(test, order_mkdir(test, c, &c->root, "not there", 0), RFP_BADCRED);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "order"), 0);
}

static u32 order_getxattr(struct kunit *test, struct fs_client *c, const struct rfp_fh *fh,
			  const char *name)
{
	struct rfp_enc enc;

	fs_req(c, &enc, RFP_GETXATTR, FS_NOBODY, sizeof(struct rfp_getxattr_req));
	rfp_enc_fh(&enc, fh);
	order_str(&enc, name);
	return fs_call(test, c, &enc);
}

/* GETXATTR must tell that an attribute is not offered before it tells that nobody may ask. */
static void order_getxattr_kind(struct kunit *test)
{
	struct fs_client *c = fs_client(test);
	struct rfp_fh stale = c->root;

	stale.data[stale.len - 1] ^= 1;
	KUNIT_EXPECT_EQ(test, order_getxattr(test, c, &stale, "none.of_these"), RFP_ESTALE);
	KUNIT_EXPECT_EQ(test, order_getxattr(test, c, &c->root, "none.of_these"), RFP_EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, order_getxattr(test, c, &c->root, "user.not_there"), RFP_BADCRED);
}

static u32 order_setxattr(struct kunit *test, struct fs_client *c, const char *name, u32 cred)
{
	struct rfp_setxattr_req *req;
	struct rfp_enc enc;

	req = fs_req(c, &enc, RFP_SETXATTR, cred, sizeof(*req));
	/* Wrong: there is less data than that. */
	req->size = cpu_to_le32(8);
	req->flags = cpu_to_le32(BIT(31));
	rfp_enc_fh(&enc, &c->root);
	order_str(&enc, name);
	return fs_call_data(test, c, &enc, 4);
}

/* SETXATTR must look at attribute and caller before it looks at size and flags. */
static void order_setxattr_size(struct kunit *test)
{
	struct fs_client *c = fs_client(test);

	KUNIT_EXPECT_EQ(test, order_setxattr(test, c, "none.of_these", FS_NOBODY), RFP_EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, order_setxattr(test, c, "user.not_there", FS_NOBODY), RFP_BADCRED);
	KUNIT_EXPECT_EQ(test, order_setxattr(test, c, "user.not_there", FS_USER), RFP_BADPROTO);
}

static u32 order_write(struct kunit *test, struct fs_client *c, u64 stateid, u32 count)
{
	struct rfp_write_req *req;
	struct rfp_enc enc;

	req = fs_req(c, &enc, RFP_WRITE, FS_NOBODY, sizeof(*req));
	req->stateid = cpu_to_le64(stateid);
	req->count = cpu_to_le32(count);
	return fs_call_data(test, c, &enc, 8);
}

/* WRITE must look at its count, then at the open's mode, and at the caller after that. */
static void order_write_mode(struct kunit *test)
{
	struct fs_client *c = fs_client(test);
	struct fs_open o = {}, reader = {};
	struct rfp_open_req *req;
	struct rfp_enc enc;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "order", 0666, &o), 0);
	req = fs_req(c, &enc, RFP_OPEN, FS_USER, sizeof(*req));
	req->flags = cpu_to_le32(RFP_OPEN_READ);
	rfp_enc_fh(&enc, &o.fh);
	KUNIT_ASSERT_EQ(test, fs_call(test, c, &enc), 0);
	fs_take_open(c, &reader, false);
	KUNIT_EXPECT_EQ(test, order_write(test, c, reader.stateid, 7), RFP_BADPROTO);
	KUNIT_EXPECT_EQ(test, order_write(test, c, reader.stateid, 8), RFP_EBADF);
	KUNIT_EXPECT_EQ(test, order_write(test, c, o.stateid, 8), RFP_BADCRED);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &reader), 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "order"), 0);
}

static struct kunit_case order_cases[] = {
	KUNIT_CASE_PARAM(order_too_long, order_body_gen_params),
	KUNIT_CASE(order_create_flags),
	KUNIT_CASE(order_mkdir_device),
	KUNIT_CASE(order_getxattr_kind),
	KUNIT_CASE(order_setxattr_size),
	KUNIT_CASE(order_write_mode),
	{}
};

static struct kunit_suite order_suite = {
	.name = "rdmafs_fs_order",
	.init = fs_init,
	.exit = fs_exit,
	.test_cases = order_cases,
};

kunit_test_suite(order_suite);
