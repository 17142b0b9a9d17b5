// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_fs_proofs: hostile clients, in bare verbs, of a real server on the same machine.
 * They claim any identity, show proofs of opens that other clients were given, copy between opens
 * that are not theirs, and set pad fields that must be 0.
 *
 * The server must have exports with the names in the module parameters, and any user may make files
 * in their roots.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/stat.h>
#include <linux/unaligned.h>
#include "fs/proto/codec.h"
#include "fs_client.h"
#include "tests/points/points.h"
#include "xprt_raw.h"

static char *other = "scratch";
module_param(other, charp, 0444);
MODULE_PARM_DESC(other, "name of another one");

static char *where = "/";
module_param(where, charp, 0444);
MODULE_PARM_DESC(where, "what is exported as the first one");

static uint opens = 40;
module_param(opens, uint, 0444);
MODULE_PARM_DESC(opens, "the server's max_opens_client");

static uint callers = 4096;
module_param(callers, uint, 0444);
MODULE_PARM_DESC(callers, "the server's max_credentials");

static void fs_getattr(struct kunit *test, struct fs_client *c, const struct rfp_fh *fh,
		       struct rfp_attr *attr)
{
	const struct rfp_attr *got;
	struct rfp_enc enc;
	struct rfp_dec dec;

	fs_req(c, &enc, RFP_GETATTR, FS_USER, sizeof(struct rfp_getattr_req));
	rfp_enc_fh(&enc, fh);
	KUNIT_ASSERT_EQ(test, fs_call(test, c, &enc), 0);
	rfp_dec_init(&dec, c->rep, c->rep_len);
	rfp_dec_fixed(&dec, sizeof(struct rfp_rep));
	got = rfp_dec_fixed(&dec, sizeof(*got));
	KUNIT_ASSERT_NOT_NULL(test, got);
	*attr = *got;
}

/*
 * A client makes a file that its user may not open again, and another client of the same user
 * shows the proof of that open.  It must be refused, while the first has its session and after.
 * The first client's next session must be able to open with it, but not with a changed one.
 */
static void fs_proof_of_another(struct kunit *test)
{
	struct fs_client *one = fs_client(test), *other = fs_client(test);
	struct fs_open o = {}, got = {};

	KUNIT_ASSERT_EQ(test, fs_create(test, one, "proof", 0, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, other, &o.fh, NULL, &got), RFP_EACCES);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, other, &o.fh, &o.proof, &got), RFP_EACCES);
	fs_end(test, one);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, other, &o.fh, &o.proof, &got), RFP_EACCES);
	fs_begin(test, one);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, one, &o.fh, &o.proof, &got), 0);
	/* The claim's number is covered by the proof's MAC. */
	o.proof.claim ^= cpu_to_le64(1);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, one, &o.fh, &o.proof, &got), RFP_EACCES);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, one, "proof"), 0);
}

/*
 * Two clients have a file open, the file is removed, and the first client's session ends.  The
 * second client opens again and again with its own proof, and closes.  The server must keep the
 * file until the first client has come back and closed it.  If the server only counted the opens
 * that it waits for, the second client could use up the first one's.
 */
static void fs_counted_once(struct kunit *test)
{
	struct fs_client *one = fs_client(test), *other = fs_client(test);
	struct fs_open o = {}, mine = {}, again[4] = {};
	u32 i;

	KUNIT_ASSERT_EQ(test, fs_create(test, one, "once", 0666, &o), 0);
	KUNIT_ASSERT_EQ(test, fs_open_as(test, other, &o.fh, NULL, &mine), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, other, "once"), 0);
	fs_end(test, one);
	for (i = 0; i < ARRAY_SIZE(again); i++) {
		KUNIT_EXPECT_EQ(test, fs_open_as(test, other, &o.fh, &mine.proof, &again[i]), 0);
		KUNIT_EXPECT_EQ(test, fs_close(test, other, &again[i]), 0);
	}
	KUNIT_EXPECT_EQ(test, fs_close(test, other, &mine), 0);
	fs_begin(test, one);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, one, &o.fh, &o.proof, &again[0]), 0);
	/* No other open or claim keeps the file, so it goes now. */
	KUNIT_EXPECT_EQ(test, fs_close(test, one, &again[0]), 0);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, one, &o.fh, &o.proof, &again[0]), RFP_ESTALE);
}

/* The point where an open with a proof fails, and the status of its reply. */
static const struct fs_beside_param {
	const char *point;
	u32 status;
} fs_beside_params[] = {
	{ "claim_insert", RFP_ENOMEM },
	{ "open_reply", RFP_EIO },
};

static void fs_beside_desc(const struct fs_beside_param *p, char *desc)
{
	strscpy(desc, p->point, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(fs_beside, fs_beside_params, fs_beside_desc);

/*
 * A client shows the proof of a removed file that it has open, and the open fails at a point; it
 * does so as often as it may have opens.  The failures must not use up the client's opens, and
 * must leave the first open as it was.  In a new session the client must get the file once, and
 * after the close the file must be gone: no failed open may have left a claim.
 */
static void fs_failed_beside(struct kunit *test)
{
	const struct fs_beside_param *p = test->param_value;
	struct fs_client *c = fs_client(test);
	struct fs_open o = {}, got = {};
	char command[32];
	u32 i;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "beside", 0666, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "beside"), 0);
	snprintf(command, sizeof(command), "fail %s %u", p->point, opens);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command(command), 0);
	for (i = 0; i < opens; i++)
		KUNIT_EXPECT_EQ(test, fs_open_as(test, c, &o.fh, &o.proof, &got), p->status);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, c, &o.fh, NULL, &got), 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &got), 0);
	fs_end(test, c);
	fs_begin(test, c);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, c, &o.fh, &o.proof, &got), 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &got), 0);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, c, &o.fh, &o.proof, &got), RFP_ESTALE);
}

/*
 * The same where the open succeeds, but the client does not get the reply with the new proof.  In
 * its next session it must be able to open with the former proof.
 */
static void fs_lost_beside(struct kunit *test)
{
	struct fs_client *c = fs_client(test);
	struct fs_open o = {}, got = {};

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "lost", 0666, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "lost"), 0);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, c, &o.fh, &o.proof, &got), 0);
	fs_end(test, c);
	fs_begin(test, c);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, c, &o.fh, &o.proof, &got), 0);
}

/* Opens the file until the server refuses; the stateids and proofs are thrown away. */
static u32 fs_fill(struct kunit *test, struct fs_client *c, const struct rfp_fh *fh)
{
	struct fs_open o;
	u32 status, nr = 0;

	while (!(status = fs_open_as(test, c, fh, NULL, &o)) && nr <= opens)
		nr++;
	KUNIT_EXPECT_EQ(test, status, RFP_ENFILE);
	return nr;
}

/*
 * Opens that a session has left, and that may be claimed again, count against the limit of their
 * client, by its address.  A client that leaves as many as it may must get no more, under this
 * name or another, until it has them back and closes them.  It must take nothing of what other
 * addresses have left or may have.
 */
static void fs_left_counts(struct kunit *test)
{
	struct fs_client *one, *other, *third;
	struct fs_open o = {}, file = {}, got = {};
	u32 had;

	one = fs_client(test);
	KUNIT_ASSERT_EQ(test, fs_create(test, one, "left", 0666, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, one, "left"), 0);
	fs_end(test, one);

	KUNIT_ASSERT_EQ(test, raw_route("fd09::1", "fd09::1"), 0);
	other = fs_client(test);
	KUNIT_ASSERT_EQ(test, fs_create(test, other, "many", 0666, &file), 0);
	had = fs_fill(test, other, &file.fh);
	KUNIT_EXPECT_EQ(test, had, opens - 1);
	fs_end(test, other);
	fs_begin(test, other);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, other, &file.fh, NULL, &got), RFP_ENFILE);
	/* A client with another address, even of the same network, has a limit of its own. */
	KUNIT_ASSERT_EQ(test, raw_route("fd09::2", "fd09::1"), 0);
	third = fs_client(test);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, third, &file.fh, NULL, &got), 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, third, &got), 0);
	fs_end(test, third);
	/* A client with another name at the same address shares the limit. */
	KUNIT_ASSERT_EQ(test, raw_route("fd09::1", "fd09::1"), 0);
	third = fs_client(test);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, third, &file.fh, NULL, &got), RFP_ENFILE);
	/* But the first one gets back an open that it has left. */
	KUNIT_EXPECT_EQ(test, fs_open_as(test, other, &file.fh, &file.proof, &got), 0);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, third, &file.fh, NULL, &got), RFP_ENFILE);
	KUNIT_EXPECT_EQ(test, fs_close(test, other, &got), 0);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, third, &file.fh, NULL, &got), 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, third, &got), 0);

	KUNIT_ASSERT_EQ(test, raw_route(NULL, NULL), 0);
	fs_begin(test, one);
	KUNIT_EXPECT_EQ(test, fs_open_as(test, one, &o.fh, &o.proof, &got), 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, one, &got), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, one, "many"), 0);
}

/* Makes a call that fails only if the server does not know the credential @cred. */
static u32 fs_known(struct kunit *test, struct fs_client *c, u32 cred)
{
	struct rfp_enc enc;

	fs_req(c, &enc, RFP_LOOKUP, cred, sizeof(struct rfp_req));
	rfp_enc_fh(&enc, &c->root);
	rfp_enc_str(&enc, "..", 2, RFP_NAME_MAX);
	return fs_call(test, c, &enc);
}

/*
 * A client registers more credentials than the server keeps.  Those that were not used for
 * longest must be forgotten, and no others.
 */
static void fs_callers(struct kunit *test)
{
	struct fs_client *c = fs_client(test);
	u32 id;

	/* Ids 1 and 2 are those that each client has. */
	for (id = 3; id <= callers; id++)
		KUNIT_ASSERT_EQ(test, fs_setcred(test, c, id, FS_UID), 0);
	KUNIT_EXPECT_EQ(test, fs_known(test, c, FS_ROOT), 0);
	msleep(20);
	KUNIT_EXPECT_EQ(test, fs_known(test, c, FS_ROOT), 0);
	KUNIT_EXPECT_EQ(test, fs_known(test, c, 3), 0);
	KUNIT_ASSERT_EQ(test, fs_setcred(test, c, id, FS_UID), 0);
	KUNIT_ASSERT_EQ(test, fs_setcred(test, c, id + 1, FS_UID), 0);
	KUNIT_EXPECT_EQ(test, fs_known(test, c, FS_ROOT), 0);
	KUNIT_EXPECT_EQ(test, fs_known(test, c, 3), 0);
	KUNIT_EXPECT_EQ(test, fs_known(test, c, FS_USER), RFP_BADCRED);
	KUNIT_EXPECT_EQ(test, fs_known(test, c, 4), RFP_BADCRED);
	KUNIT_EXPECT_EQ(test, fs_known(test, c, 5), 0);
}

#define FS_PAD(op, type, ...)	\
	{ RFP_ ## op, #op, sizeof(struct type), offsetof(struct type, pad), __VA_ARGS__ }

/*
 * Requests with a pad.  Behind the struct there are @handles handles, each with a name behind it if
 * @names; @data bytes of data come with the request.
 */
static const struct fs_pad_param {
	enum rfp_op op;
	const char *name;
	size_t size, pad;
	u32 handles;
	bool names;
	u32 data;
} fs_pad_params[] = {
	FS_PAD(SETATTR, rfp_setattr_req, 1),
	FS_PAD(OPEN, rfp_open_req, 1),
	FS_PAD(READ, rfp_read_req),
	FS_PAD(WRITE, rfp_write_req, .data = 8),
	FS_PAD(COMMIT, rfp_commit_req),
	FS_PAD(RENAME, rfp_rename_req, 2, true),
	FS_PAD(GETXATTR, rfp_getxattr_req, 1, true),
	FS_PAD(LISTXATTR, rfp_getxattr_req, 1),
	FS_PAD(FALLOCATE, rfp_fallocate_req),
	FS_PAD(SEEK, rfp_seek_req),
	FS_PAD(UNLOCK, rfp_unlock_req),
	FS_PAD(LOCKCANCEL, rfp_lockcancel_req),
	FS_PAD(COPY, rfp_copy_req),
	FS_PAD(CLONE, rfp_copy_req),
	FS_PAD(SETFLAGS, rfp_setflags_req, 1),
};

static void fs_pad_desc(const struct fs_pad_param *p, char *desc)
{
	strscpy(desc, p->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(fs_pad, fs_pad_params, fs_pad_desc);

/*
 * A request comes with a pad of 0, and then with another value.  The second must be refused with
 * BADPROTO and the first must not, so that pads can get a meaning later.
 */
static void fs_pad(struct kunit *test)
{
	const struct fs_pad_param *p = test->param_value;
	struct fs_client *c = fs_client(test);
	struct rfp_enc enc;
	u32 pad, i;
	void *req;

	for (pad = 0; pad < 2; pad++) {
		req = fs_req(c, &enc, p->op, FS_USER, p->size);
		put_unaligned_le32(pad << 31, req + p->pad);
		if (p->data)
			((struct rfp_write_req *)req)->count = cpu_to_le32(p->data);
		for (i = 0; i < p->handles; i++) {
			rfp_enc_fh(&enc, &c->root);
			if (p->names)
				rfp_enc_str(&enc, "not there", 9, RFP_NAME_MAX);
		}
		if (pad)
			KUNIT_EXPECT_EQ(test, fs_call_data(test, c, &enc, p->data), RFP_BADPROTO);
		else
			KUNIT_EXPECT_NE(test, fs_call_data(test, c, &enc, p->data), RFP_BADPROTO);
	}
}

/* The inode number of the file that the client has just made; 0 if the reply has none. */
static u64 fs_made(struct fs_client *c)
{
	const struct rfp_attr *attr;
	struct rfp_dec dec;

	rfp_dec_init(&dec, c->rep, c->rep_len);
	rfp_dec_fixed(&dec, sizeof(struct rfp_open_rep));
	attr = rfp_dec_fixed(&dec, sizeof(*attr));
	return attr ? le64_to_cpu(attr->ino) : 0;
}

/*
 * An open file is unlinked.  The server gives it a name as an orphan, the VFS fails to remove its
 * name, and the server takes the orphan's name away again.  Another client asks for attributes
 * in between, which may tell of another number of links.  If so, the change cookie must not be
 * the final one, or the other client would believe the wrong number for good.
 */
static void fs_not_removed(struct kunit *test)
{
	struct fs_client *one = fs_client(test), *two = fs_client(test);
	struct rfp_attr before, meanwhile, after;
	struct fs_open o = {};

	KUNIT_ASSERT_EQ(test, fs_create(test, one, "stays", 0666, &o), 0);
	fs_getattr(test, two, &o.fh, &before);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(before.nlink), 1);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail remove_vfs"), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold leaving_undone"), 0);
	fs_unlink_send(test, one, "stays");
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("leaving_undone", 1, 60));
	fs_getattr(test, two, &o.fh, &meanwhile);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release leaving_undone"), 0);
	KUNIT_EXPECT_EQ(test, fs_reply(test, one), RFP_EIO);
	fs_getattr(test, two, &o.fh, &after);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(after.nlink), 1);
	if (meanwhile.nlink != after.nlink)
		KUNIT_EXPECT_NE(test, le64_to_cpu(meanwhile.change), le64_to_cpu(after.change));
	KUNIT_EXPECT_EQ(test, fs_unlink(test, one, "stays"), 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, one, &o), 0);
}

/*
 * A RENAME whose old name is gone by now leaves alone what has the new name: it gets no name as an
 * orphan, which would change it, though that were taken away again.
 */
static void fs_renamed_nothing(struct kunit *test)
{
	struct fs_client *one = fs_client(test), *two = fs_client(test);
	struct rfp_attr before, after;
	struct rfp_rename_req *req;
	struct fs_open o = {};
	struct rfp_enc enc;

	KUNIT_ASSERT_EQ(test, fs_create(test, one, "stays", 0666, &o), 0);
	fs_getattr(test, two, &o.fh, &before);
	req = fs_req(two, &enc, RFP_RENAME, FS_USER, sizeof(*req));
	req->flags = 0;
	rfp_enc_fh(&enc, &two->root);
	rfp_enc_str(&enc, "gone", 4, RFP_NAME_MAX);
	rfp_enc_fh(&enc, &two->root);
	rfp_enc_str(&enc, "stays", 5, RFP_NAME_MAX);
	KUNIT_EXPECT_EQ(test, fs_call(test, two, &enc), RFP_ENOENT);
	fs_getattr(test, two, &o.fh, &after);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(after.change), le64_to_cpu(before.change));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(after.nlink), 1);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, one, "stays"), 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, one, &o), 0);
}

static u32 fs_tmpfile(struct kunit *test, struct fs_client *c, u32 flags, u32 how,
		      struct fs_open *o)
{
	struct rfp_create_req *req;
	struct rfp_enc enc;
	u32 status;

	req = fs_req(c, &enc, RFP_TMPFILE, FS_USER, sizeof(*req));
	req->mode = cpu_to_le32(0600);
	req->flags = cpu_to_le32(flags);
	req->how = cpu_to_le32(how);
	rfp_enc_fh(&enc, &c->root);
	status = fs_call(test, c, &enc);
	if (!status)
		fs_take_open(c, o, true);
	return status;
}

static u32 fs_link(struct kunit *test, struct fs_client *c, const struct rfp_fh *fh,
		   const char *name)
{
	struct rfp_enc enc;

	fs_req(c, &enc, RFP_LINK, FS_USER, sizeof(struct rfp_req));
	rfp_enc_fh(&enc, fh);
	rfp_enc_fh(&enc, &c->root);
	rfp_enc_str(&enc, name, strlen(name), RFP_NAME_MAX);
	return fs_call(test, c, &enc);
}

static u32 fs_links(struct kunit *test, struct fs_client *c, const struct fs_open *o)
{
	struct rfp_attr attr;

	fs_getattr(test, c, &o->fh, &attr);
	return le32_to_cpu(attr.nlink);
}

/*
 * Whether a file that was made without a name may get one is the server's to say, whatever its
 * client believes: never if it was made so, else once, also in another session.  Requests that
 * make no sense are refused.
 */
static void fs_nameless(struct kunit *test)
{
	const u32 rw = RFP_OPEN_READ | RFP_OPEN_WRITE;
	struct fs_client *c = fs_client(test);
	struct fs_open o = {};

	KUNIT_EXPECT_EQ(test, fs_tmpfile(test, c, RFP_OPEN_READ, 0, &o), RFP_EINVAL);
	KUNIT_EXPECT_EQ(test, fs_tmpfile(test, c, rw | RFP_OPEN_TRUNC, 0, &o), RFP_EINVAL);
	KUNIT_EXPECT_EQ(test, fs_tmpfile(test, c, rw | RFP_OPEN_EXEC, 0, &o), RFP_EINVAL);
	KUNIT_EXPECT_EQ(test, fs_tmpfile(test, c, rw, RFP_CREATE_NOT, &o), RFP_EINVAL);
	KUNIT_EXPECT_EQ(test, fs_tmpfile(test, c, rw, RFP_CREATE_AGAIN, &o), RFP_EINVAL);

	KUNIT_ASSERT_EQ(test, fs_tmpfile(test, c, rw, RFP_CREATE_EXCL, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_links(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_link(test, c, &o.fh, "nameless"), RFP_ENOENT);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_link(test, c, &o.fh, "nameless"), RFP_ESTALE);

	KUNIT_ASSERT_EQ(test, fs_tmpfile(test, c, rw, 0, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_links(test, c, &o), 0);
	fs_end(test, c);
	fs_begin(test, c);
	KUNIT_ASSERT_EQ(test, fs_open_as(test, c, &o.fh, &o.proof, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_link(test, c, &o.fh, "nameless"), 0);
	KUNIT_EXPECT_EQ(test, fs_links(test, c, &o), 1);
	KUNIT_EXPECT_EQ(test, fs_link(test, c, &o.fh, "nameless"), RFP_EEXIST);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "nameless"), 0);
	KUNIT_EXPECT_EQ(test, fs_links(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_link(test, c, &o.fh, "nameless"), RFP_ENOENT);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_link(test, c, &o.fh, "nameless"), RFP_ESTALE);
}

/* The write verifier of the export. */
static u64 fs_verifier(struct kunit *test, struct fs_client *c)
{
	KUNIT_ASSERT_EQ(test, fs_attach(test, c, fs_export), 0);
	return le64_to_cpu(((struct rfp_attach_rep *)c->rep)->verifier);
}

/* Makes the file look as if writeback had failed, with the error not reported yet. */
static void fs_lose(struct kunit *test, const char *name)
{
	struct file *file;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", where, name);
	file = filp_open(path, O_RDONLY, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	mapping_set_error(file->f_mapping, -EIO);
	filp_close(file, NULL);
}

/*
 * Writeback of an open file fails, the file is unlinked, and then closed; its removal fails at
 * first and is tried again later.  The close must report the loss by a new write verifier, and
 * the later attempt must not change the verifier again.
 */
static void fs_lost_once(struct kunit *test)
{
	struct fs_client *c = fs_client(test);
	struct fs_open o = {};
	u64 before, closed;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "lost", 0666, &o), 0);
	fs_lose(test, "lost");
	KUNIT_ASSERT_EQ(test, fs_unlink(test, c, "lost"), 0);
	before = fs_verifier(test, c);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail orphan_undo 2"), 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold orphan_remove"), 0);
	closed = fs_verifier(test, c);
	KUNIT_EXPECT_NE(test, closed, before);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("orphan_remove", 1, 60));
	KUNIT_EXPECT_EQ(test, fs_verifier(test, c), closed);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release orphan_remove"), 0);
}

/*
 * An unlink of an open file fails half-way, so that the file has its own name and one as an
 * orphan.  When it is closed, the orphan's name is being removed, and a first attempt fails.  A
 * client that opens the file meanwhile must be told to try again, and must succeed at last.  If
 * attributes from this time tell of another number of links, they must have another change cookie
 * than those in the end.
 */
static void fs_goes_on(struct kunit *test)
{
	struct fs_client *one = fs_client(test), *two = fs_client(test);
	struct rfp_attr meanwhile, after;
	unsigned long end = jiffies + 60 * HZ;
	struct fs_open o = {}, again = {};
	u32 status;

	KUNIT_ASSERT_EQ(test, fs_create(test, one, "goes_on", 0666, &o), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail remove_vfs"), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail orphan_undo 2"), 0);
	KUNIT_ASSERT_EQ(test, fs_unlink(test, one, "goes_on"), RFP_EIO);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold orphan_remove"), 0);
	fs_close_send(test, one, &o);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("orphan_remove", 1, 60));
	KUNIT_EXPECT_EQ(test, fs_open_as(test, two, &o.fh, NULL, &again), RFP_EAGAIN);
	fs_getattr(test, two, &o.fh, &meanwhile);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release orphan_remove"), 0);
	KUNIT_EXPECT_EQ(test, fs_reply(test, one), 0);
	do {
		status = fs_open_as(test, two, &o.fh, NULL, &again);
	} while (status == RFP_EAGAIN && time_before(jiffies, end));
	fs_getattr(test, two, &o.fh, &after);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(after.nlink), 1);
	if (meanwhile.nlink != after.nlink)
		KUNIT_EXPECT_NE(test, le64_to_cpu(meanwhile.change), le64_to_cpu(after.change));
	KUNIT_ASSERT_EQ(test, status, 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, two, &again), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, two, "goes_on"), 0);
}

static u32 fs_write(struct kunit *test, struct fs_client *c, const struct fs_open *o, u32 count)
{
	struct rfp_write_req *req;
	struct rfp_enc enc;

	req = fs_req(c, &enc, RFP_WRITE, FS_USER, sizeof(*req));
	req->stateid = cpu_to_le64(o->stateid);
	req->count = cpu_to_le32(count);
	return fs_call_data(test, c, &enc, count);
}

/* COPY or CLONE between two stateids, with what @like says of ranges and flags. */
static u32 fs_copy(struct kunit *test, struct fs_client *c, enum rfp_op op, u64 source, u64 target,
		   const struct rfp_copy_req *like)
{
	struct rfp_copy_req *req;
	struct rfp_enc enc;

	req = fs_req(c, &enc, op, FS_USER, sizeof(*req));
	req->source = cpu_to_le64(source);
	req->source_offset = like->source_offset;
	req->stateid = cpu_to_le64(target);
	req->offset = like->offset;
	req->count = like->count;
	req->flags = like->flags;
	return fs_call(test, c, &enc);
}

/* How many bytes the reply to COPY tells. */
static u64 fs_copied(struct fs_client *c)
{
	const struct rfp_copy_rep *rep = (const struct rfp_copy_rep *)c->rep;

	return c->rep_len == sizeof(*rep) + sizeof(struct rfp_attr) ? le64_to_cpu(rep->count) : 0;
}

/* The opens that a copy is asked for between. */
struct fs_copy_opens {
	struct fs_open a, b, far, its, reads, writes;
};

static noinline_for_stack void fs_copy_make(struct kunit *test, struct fs_client *c,
					    struct fs_client *two, struct fs_copy_opens *o)
{
	KUNIT_ASSERT_EQ(test, fs_create(test, c, "copy_a", 0666, &o->a), 0);
	KUNIT_ASSERT_EQ(test, fs_create(test, c, "copy_b", 0666, &o->b), 0);
	KUNIT_ASSERT_EQ(test, fs_open_for(test, c, &o->a.fh, RFP_OPEN_READ, NULL, &o->reads), 0);
	KUNIT_ASSERT_EQ(test, fs_open_for(test, c, &o->a.fh, RFP_OPEN_WRITE, NULL, &o->writes), 0);
	KUNIT_ASSERT_EQ(test, fs_open_as(test, two, &o->a.fh, NULL, &o->its), 0);
	KUNIT_ASSERT_EQ(test, fs_unlink(test, c, "copy_a"), 0);
	KUNIT_ASSERT_EQ(test, fs_unlink(test, c, "copy_b"), 0);
	KUNIT_ASSERT_EQ(test, fs_attach(test, c, other), 0);
	KUNIT_ASSERT_EQ(test, fs_create(test, c, "copy_far", 0666, &o->far), 0);
	KUNIT_ASSERT_EQ(test, fs_unlink(test, c, "copy_far"), 0);
	KUNIT_ASSERT_EQ(test, fs_write(test, c, &o->a, 8), 0);
}

/*
 * A copy names two opens.  Each must be the session's own and fit for its part, both must be in one
 * export, and the status must say which of the two is not known.
 */
static void fs_copy_names(struct kunit *test)
{
	static const struct rfp_copy_req eight = { .count = cpu_to_le64(8) };
	struct fs_client *c = fs_client(test), *two = fs_client(test);
	struct fs_copy_opens *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	const struct {
		enum rfp_op op;
		const u64 *source, *target;
		u32 status;
	} lies[] = {
		{ RFP_COPY, NULL, &o->b.stateid, RFP_BADSOURCE },
		{ RFP_COPY, &o->its.stateid, &o->b.stateid, RFP_BADSOURCE },
		{ RFP_CLONE, NULL, &o->b.stateid, RFP_BADSOURCE },
		{ RFP_COPY, &o->a.stateid, NULL, RFP_BADSTATE },
		{ RFP_COPY, NULL, NULL, RFP_BADSTATE },
		{ RFP_CLONE, &o->a.stateid, NULL, RFP_BADSTATE },
		{ RFP_COPY, &o->a.stateid, &o->far.stateid, RFP_EXDEV },
		{ RFP_COPY, &o->far.stateid, &o->b.stateid, RFP_EXDEV },
		{ RFP_CLONE, &o->far.stateid, &o->b.stateid, RFP_EXDEV },
		{ RFP_COPY, &o->writes.stateid, &o->b.stateid, RFP_EBADF },
		{ RFP_COPY, &o->b.stateid, &o->reads.stateid, RFP_EBADF },
		/* The ranges overlap. */
		{ RFP_COPY, &o->reads.stateid, &o->writes.stateid, RFP_EINVAL },
	};
	u64 unknown;
	size_t i;

	KUNIT_ASSERT_NOT_NULL(test, o);
	fs_copy_make(test, c, two, o);
	unknown = o->a.stateid ^ 1ULL << 63;
	KUNIT_EXPECT_EQ(test, fs_copy(test, c, RFP_COPY, o->a.stateid, o->b.stateid, &eight), 0);
	KUNIT_EXPECT_EQ(test, fs_copied(c), 8);
	KUNIT_EXPECT_EQ(test, fs_copy(test, c, RFP_COPY, 0, o->b.stateid, &eight), RFP_BADSOURCE);
	for (i = 0; i < ARRAY_SIZE(lies); i++)
		KUNIT_EXPECT_EQ_MSG(test, fs_copy(test, c, lies[i].op,
						  lies[i].source ? *lies[i].source : unknown,
						  lies[i].target ? *lies[i].target : unknown,
						  &eight), lies[i].status, "%zu", i);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o->far), 0);
	KUNIT_EXPECT_EQ(test, fs_copy(test, c, RFP_COPY, o->far.stateid, o->b.stateid, &eight),
			RFP_BADSOURCE);
}

#define FS_RANGE(op, from, to, bytes, what)	\
	{ RFP_ ## op, { .source_offset = cpu_to_le64(from), .offset = cpu_to_le64(to),	\
			.count = cpu_to_le64(bytes), .flags = cpu_to_le32(what) } }

/* Ranges beyond all files, of no byte, and flags that there are not, must be refused. */
static void fs_copy_ranges(struct kunit *test)
{
	static const struct {
		enum rfp_op op;
		struct rfp_copy_req like;
	} bad[] = {
		FS_RANGE(COPY, 0, 0, 0, 0),
		FS_RANGE(COPY, 0, 0, 8, RFP_CLONE_DEDUPE),
		FS_RANGE(COPY, 1ULL << 63, 0, 8, 0),
		FS_RANGE(COPY, 0, 1ULL << 63, 8, 0),
		FS_RANGE(COPY, LLONG_MAX - 7, 0, 8, 0),
		FS_RANGE(COPY, 0, LLONG_MAX - 7, 8, 0),
		FS_RANGE(COPY, 8, 0, U64_MAX, 0),
		FS_RANGE(CLONE, 0, 0, 0, RFP_CLONE_DEDUPE),
		FS_RANGE(CLONE, 0, 0, 8, RFP_CLONE_ZEROS << 1),
		FS_RANGE(CLONE, 0, 0, 8, RFP_CLONE_ZEROS),
		FS_RANGE(CLONE, 0, 0, 8, RFP_CLONE_DEDUPE | RFP_CLONE_COMPARE),
		FS_RANGE(COPY, 0, 0, 8, RFP_CLONE_COMPARE),
		FS_RANGE(CLONE, 0, 0, 0, RFP_CLONE_COMPARE),
		FS_RANGE(CLONE, U64_MAX, 0, 0, 0),
		FS_RANGE(CLONE, 0, 8, LLONG_MAX, 0),
	};
	struct fs_client *c = fs_client(test);
	struct fs_open a = {}, b = {};
	size_t i;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "copy_from", 0666, &a), 0);
	KUNIT_ASSERT_EQ(test, fs_create(test, c, "copy_to", 0666, &b), 0);
	KUNIT_ASSERT_EQ(test, fs_unlink(test, c, "copy_from"), 0);
	KUNIT_ASSERT_EQ(test, fs_unlink(test, c, "copy_to"), 0);
	KUNIT_ASSERT_EQ(test, fs_write(test, c, &a, 8), 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, fs_copy(test, c, bad[i].op, a.stateid, b.stateid,
						  &bad[i].like), RFP_EINVAL, "%zu", i);
}

/* CREATE of a name in the root, with a verifier, as a user; an open that is made is closed. */
static u32 fs_create_how(struct kunit *test, struct fs_client *c, u32 cred, const char *name,
			 u32 how, u64 verifier)
{
	struct rfp_create_req *req;
	struct fs_open o = {};
	struct rfp_enc enc;
	u32 status;

	req = fs_req(c, &enc, RFP_CREATE, cred, sizeof(*req));
	req->mode = cpu_to_le32(0444);
	req->flags = cpu_to_le32(RFP_OPEN_READ | RFP_OPEN_WRITE);
	req->how = cpu_to_le32(how);
	req->verifier = cpu_to_le64(verifier);
	rfp_enc_fh(&enc, &c->root);
	rfp_enc_str(&enc, name, strlen(name), RFP_NAME_MAX);
	status = fs_call(test, c, &enc);
	if (!status) {
		KUNIT_EXPECT_EQ(test, le32_to_cpu(((struct rfp_open_rep *)c->rep)->flags),
				RFP_OPEN_CREATED);
		fs_take_open(c, &o, true);
		KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	}
	return status;
}

/*
 * A file that a client has made exclusively is known by the verifier that it was made with, though
 * the session is another one, and by no other; not to another user; and not when somebody has
 * written to it.  To ask for it makes nothing.
 */
static void fs_made_exclusively(struct kunit *test)
{
	const u32 excl = RFP_CREATE_EXCL, again = RFP_CREATE_EXCL | RFP_CREATE_AGAIN;
	const u64 mine = 0x123456789abcdef0ULL;
	struct fs_client *c = fs_client(test);
	struct fs_open o = {};

	KUNIT_EXPECT_EQ(test, fs_create_how(test, c, FS_USER, "made", again, mine), RFP_ENOENT);
	KUNIT_ASSERT_EQ(test, fs_create_how(test, c, FS_USER, "made", excl, mine), 0);
	KUNIT_EXPECT_EQ(test, fs_create_how(test, c, FS_USER, "made", excl, mine), RFP_EEXIST);
	KUNIT_EXPECT_EQ(test, fs_create_how(test, c, FS_USER, "made", again, mine + 1), RFP_EEXIST);
	KUNIT_EXPECT_EQ(test, fs_create_how(test, c, FS_ROOT, "made", again, mine), RFP_EEXIST);
	fs_end(test, c);
	fs_begin(test, c);
	KUNIT_EXPECT_EQ(test, fs_create_how(test, c, FS_USER, "made", again, mine), 0);
	KUNIT_EXPECT_EQ(test, fs_create_how(test, c, FS_USER, "made", 0, mine), RFP_EINVAL);
	KUNIT_EXPECT_EQ(test, fs_create_how(test, c, FS_USER, "made", RFP_CREATE_AGAIN, mine),
			RFP_EINVAL);
	KUNIT_EXPECT_EQ(test, fs_create_how(test, c, FS_USER, "made", again, 0), RFP_EINVAL);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "made"), 0);

	/* One without a verifier is nobody's. */
	KUNIT_ASSERT_EQ(test, fs_create(test, c, "made", 0666, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_create_how(test, c, FS_USER, "made", again, mine), RFP_EEXIST);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "made"), 0);
}

/*
 * A session has files open in two exports; it ends, and the close of the first file is held.  The
 * script tests/scenarios/inside/proofs looks whether the other export goes on meanwhile, and then
 * releases the first file.  This case sets that up, and waits for the release.
 */
static void fs_ends_apart(struct kunit *test)
{
	struct fs_client *c = fs_client(test);
	struct fs_open o = {}, elsewhere = {};
	unsigned long end = jiffies + 120 * HZ;
	char command[64];
	u64 ino;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "apart", 0666, &o), 0);
	ino = fs_made(c);
	snprintf(command, sizeof(command), "hold state_close 1 %llu", ino);
	KUNIT_ASSERT_EQ(test, fs_attach(test, c, other), 0);
	/* The point's key is the inode number, so the two files must not have the same. */
	KUNIT_ASSERT_EQ(test, fs_create(test, c, "apart1", 0666, &elsewhere), 0);
	if (fs_made(c) == ino) {
		KUNIT_ASSERT_EQ(test, fs_close(test, c, &elsewhere), 0);
		KUNIT_ASSERT_EQ(test, fs_create(test, c, "apart2", 0666, &elsewhere), 0);
	}
	KUNIT_ASSERT_EQ(test, rdmafs_points_command(command), 0);
	fs_end(test, c);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("state_close", 1, 60));
	while (rdmafs_point_wait("state_close", 1, 0) && time_before(jiffies, end))
		msleep(20);
	KUNIT_EXPECT_FALSE(test, rdmafs_point_wait("state_close", 1, 0));
}

static struct kunit_case fs_cases[] = {
	KUNIT_CASE(fs_proof_of_another),
	KUNIT_CASE(fs_counted_once),
	KUNIT_CASE_PARAM(fs_failed_beside, fs_beside_gen_params),
	KUNIT_CASE(fs_lost_beside),
	KUNIT_CASE(fs_left_counts),
	KUNIT_CASE(fs_callers),
	KUNIT_CASE_PARAM(fs_pad, fs_pad_gen_params),
	KUNIT_CASE(fs_not_removed),
	KUNIT_CASE(fs_renamed_nothing),
	KUNIT_CASE(fs_lost_once),
	KUNIT_CASE(fs_goes_on),
	KUNIT_CASE(fs_copy_names),
	KUNIT_CASE(fs_copy_ranges),
	KUNIT_CASE(fs_nameless),
	KUNIT_CASE(fs_made_exclusively),
	KUNIT_CASE(fs_ends_apart),
	{}
};

static struct kunit_suite fs_suite = {
	.name = "rdmafs_fs_proofs",
	.init = fs_init,
	.exit = fs_exit,
	.test_cases = fs_cases,
};

kunit_test_suite(fs_suite);

MODULE_DESCRIPTION("rdmafs: clients that say what they like");
MODULE_LICENSE("GPL");
