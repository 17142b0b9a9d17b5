// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_fs_idmap: what a real server on the same machine lets callers do who come by an
 * id-mapped mount of a client (RFP_REQ_MAPPED): as user 0, and without a user or group in the file
 * system.  Root is root in the export.
 */
#include <kunit/test.h>
#include <linux/string.h>
#include "fs_client.h"

#define IDMAP_NAME	"mapped"
#define IDMAP_OTHER	"mapped-too"

/* The id of the credentials that a case registers. */
#define IDMAP_CRED	3

/**
 * struct idmap_who - credentials to be registered
 * @flags:  RFP_REQ_*
 * @uid:    user
 * @gid:    group
 */
struct idmap_who {
	u16 flags;
	u32 uid;
	u32 gid;
};

static u32 idmap_setcred(struct kunit *test, struct fs_client *c, const struct idmap_who *who)
{
	struct rfp_setcred_req *req;
	struct rfp_enc enc;

	req = fs_req(c, &enc, RFP_SETCRED, 0, sizeof(*req));
	req->req.flags = cpu_to_le16(who->flags);
	req->id = cpu_to_le32(IDMAP_CRED);
	req->uid = cpu_to_le32(who->uid);
	req->gid = cpu_to_le32(who->gid);
	return fs_call(test, c, &enc);
}

/* Register a caller by an id-mapped mount. */
static void idmap_is(struct kunit *test, struct fs_client *c, u32 uid, u32 gid, bool capable)
{
	const struct idmap_who who = {
		.flags = RFP_REQ_MAPPED | (capable ? RFP_REQ_CAPABLE : 0), .uid = uid, .gid = gid,
	};

	KUNIT_ASSERT_EQ(test, idmap_setcred(test, c, &who), 0);
}

/* Open a file as that caller, and close it. */
static u32 idmap_open(struct kunit *test, struct fs_client *c, const struct rfp_fh *fh, u32 flags)
{
	struct rfp_open_req *req;
	struct fs_open o = {};
	struct rfp_enc enc;
	u32 status;

	req = fs_req(c, &enc, RFP_OPEN, IDMAP_CRED, sizeof(*req));
	req->flags = cpu_to_le32(flags);
	rfp_enc_fh(&enc, fh);
	status = fs_call(test, c, &enc);
	if (status)
		return status;
	fs_take_open(c, &o, false);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	return 0;
}

/**
 * struct idmap_change - fields of a SETATTR
 * @valid: RFP_SET_*
 * @mode:  permissions
 * @uid:   owner
 */
struct idmap_change {
	u32 valid;
	u32 mode;
	u32 uid;
};

/* Change attributes, a size to 0; *@mode becomes the permissions after it. */
static u32 idmap_setattr(struct kunit *test, struct fs_client *c, const struct rfp_fh *fh, u32 cred,
			 const struct idmap_change *change, u32 *mode)
{
	const struct rfp_attr *attr;
	struct rfp_setattr_req *req;
	struct rfp_enc enc;
	struct rfp_dec dec;
	u32 status;

	req = fs_req(c, &enc, RFP_SETATTR, cred, sizeof(*req));
	req->valid = cpu_to_le32(change->valid);
	req->mode = cpu_to_le32(change->mode);
	req->uid = cpu_to_le32(change->uid);
	rfp_enc_fh(&enc, fh);
	status = fs_call(test, c, &enc);
	if (status)
		return status;
	rfp_dec_init(&dec, c->rep, c->rep_len);
	rfp_dec_fixed(&dec, sizeof(struct rfp_rep));
	attr = rfp_dec_fixed(&dec, sizeof(*attr));
	KUNIT_ASSERT_EQ(test, rfp_dec_end(&dec), 0);
	*mode = le32_to_cpu(attr->mode) & S_IALLUGO;
	return 0;
}

/* Make something in the root as that caller. */
static u32 idmap_make(struct kunit *test, struct fs_client *c, enum rfp_op nr)
{
	struct rfp_create_req *create;
	struct rfp_mknod_req *mknod;
	struct rfp_enc enc;

	if (nr == RFP_CREATE || nr == RFP_TMPFILE) {
		create = fs_req(c, &enc, nr, IDMAP_CRED, sizeof(*create));
		create->mode = cpu_to_le32(0600);
		create->flags = cpu_to_le32(RFP_OPEN_READ | RFP_OPEN_WRITE);
	} else {
		mknod = fs_req(c, &enc, nr, IDMAP_CRED, sizeof(*mknod));
		mknod->mode = cpu_to_le32(nr == RFP_MKDIR ? S_IFDIR | 0700 : S_IFIFO | 0600);
	}
	rfp_enc_fh(&enc, &c->root);
	if (nr != RFP_TMPFILE)
		rfp_enc_str(&enc, IDMAP_OTHER, strlen(IDMAP_OTHER), RFP_NAME_MAX);
	return fs_call(test, c, &enc);
}

/* Rename the file to a name where there is none, with a whiteout in its place. */
static u32 idmap_whiteout(struct kunit *test, struct fs_client *c)
{
	struct rfp_rename_req *req;
	struct rfp_enc enc;

	req = fs_req(c, &enc, RFP_RENAME, IDMAP_CRED, sizeof(*req));
	req->flags = cpu_to_le32(RFP_RENAME_WHITEOUT);
	rfp_enc_fh(&enc, &c->root);
	rfp_enc_str(&enc, IDMAP_NAME, strlen(IDMAP_NAME), RFP_NAME_MAX);
	rfp_enc_fh(&enc, &c->root);
	rfp_enc_str(&enc, IDMAP_OTHER, strlen(IDMAP_OTHER), RFP_NAME_MAX);
	return fs_call(test, c, &enc);
}

/* Which registrations are allowed. */
static void idmap_registered(struct kunit *test)
{
	static const struct {
		struct idmap_who who;
		u32 status;
	} cases[] = {
		{ { RFP_REQ_MAPPED, 0, 0 }, RFP_OK },
		{ { RFP_REQ_MAPPED, RFP_ID_NONE, RFP_ID_NONE }, RFP_OK },
		{ { RFP_REQ_CAPABLE, FS_UID, FS_UID }, RFP_OK },
		{ { RFP_REQ_MAPPED | RFP_REQ_CAPABLE, FS_UID, FS_UID }, RFP_OK },
		{ { RFP_REQ_MAPPED | RFP_REQ_CAPABLE, RFP_ID_NONE, RFP_ID_NONE }, RFP_OK },
		{ { 0, RFP_ID_NONE, FS_UID }, RFP_EINVAL },
		{ { 0, FS_UID, RFP_ID_NONE }, RFP_EINVAL },
		{ { RFP_REQ_CAPABLE, RFP_ID_NONE, FS_UID }, RFP_EINVAL },
		{ { RFP_REQ_LABEL, FS_UID, FS_UID }, RFP_BADPROTO },
	};
	struct fs_client *c = fs_client(test);
	struct rfp_getattr_req *req;
	struct rfp_enc enc;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test, idmap_setcred(test, c, &cases[i].who), cases[i].status,
				    "case %zu", i);
	req = fs_req(c, &enc, RFP_GETATTR, FS_USER, sizeof(*req));
	req->req.flags = cpu_to_le16(RFP_REQ_MAPPED);
	rfp_enc_fh(&enc, &c->root);
	KUNIT_EXPECT_EQ(test, fs_call(test, c, &enc), RFP_BADPROTO);
}

/* User 0 must have no capability, and whoever is as capable as root all of them. */
static void idmap_root(struct kunit *test)
{
	static const struct idmap_change chmod = { RFP_SET_MODE, 0666 };
	static const struct idmap_change chown = { RFP_SET_UID, 0, 0 };
	static const struct idmap_change cut = { RFP_SET_SIZE };
	struct fs_client *c = fs_client(test);
	struct fs_open o = {};
	u32 mode = 0;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, IDMAP_NAME, 0600, &o), 0);
	idmap_is(test, c, 0, 0, false);
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_READ), RFP_EACCES);
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_WRITE), RFP_EACCES);
	KUNIT_EXPECT_EQ(test, idmap_setattr(test, c, &o.fh, IDMAP_CRED, &chmod, &mode), RFP_EPERM);
	KUNIT_EXPECT_EQ(test, idmap_setattr(test, c, &o.fh, IDMAP_CRED, &chown, &mode), RFP_EPERM);
	KUNIT_EXPECT_EQ(test, idmap_setattr(test, c, &o.fh, IDMAP_CRED, &cut, &mode), RFP_EACCES);
	idmap_is(test, c, FS_UID + 1, FS_UID + 1, true);
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_WRITE), 0);
	idmap_is(test, c, RFP_ID_NONE, RFP_ID_NONE, true);
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_WRITE), 0);
	KUNIT_EXPECT_EQ(test, idmap_setattr(test, c, &o.fh, IDMAP_CRED, &cut, &mode), 0);
	idmap_is(test, c, FS_UID, FS_UID, false);
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_WRITE), 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, IDMAP_NAME), 0);
}

/* Who lacks a user or a group in the file system must make nothing, whatever it is capable of. */
static void idmap_makes_nothing(struct kunit *test, struct fs_client *c, u32 uid, u32 gid)
{
	static const enum rfp_op makes[] = { RFP_CREATE, RFP_TMPFILE, RFP_MKDIR, RFP_MKNOD };
	size_t i;

	idmap_is(test, c, uid, gid, true);
	for (i = 0; i < ARRAY_SIZE(makes); i++)
		KUNIT_EXPECT_EQ_MSG(test, idmap_make(test, c, makes[i]), RFP_EOVERFLOW,
				    "operation %d of user %u", makes[i], uid);
	KUNIT_EXPECT_EQ(test, idmap_whiteout(test, c), RFP_EOVERFLOW);
}

static void idmap_none(struct kunit *test)
{
	struct fs_client *c = fs_client(test);
	struct fs_open o = {};

	KUNIT_ASSERT_EQ(test, fs_create(test, c, IDMAP_NAME, 0640, &o), 0);
	idmap_makes_nothing(test, c, RFP_ID_NONE, RFP_ID_NONE);
	idmap_makes_nothing(test, c, RFP_ID_NONE, FS_UID);
	idmap_makes_nothing(test, c, FS_UID, RFP_ID_NONE);
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_WRITE), 0);
	/* The group is the file's. */
	idmap_is(test, c, RFP_ID_NONE, FS_UID, false);
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_READ), 0);
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_WRITE), RFP_EACCES);
	idmap_is(test, c, RFP_ID_NONE, RFP_ID_NONE, false);
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_READ), RFP_EACCES);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, IDMAP_NAME), 0);
}

/*
 * Set-id bits must go when a file is cut by who does not own it, whatever the client asks for; it
 * can ask for more of them to go.
 */
static void idmap_set_ids(struct kunit *test)
{
	enum { OTHER, MEMBER, ROOT };
	static const struct {
		u32 mode;
		u32 caller;
		u32 valid;
		u32 left;
	} cases[] = {
		{ 06777, OTHER, RFP_SET_SIZE, 0777 },
		{ 06777, OTHER, RFP_SET_KILL_SUID, 0777 },
		{ 06777, OTHER, RFP_SET_SIZE | RFP_SET_KILL, 0777 },
		{ 02666, OTHER, RFP_SET_SIZE, 0666 },
		{ 06777, MEMBER, RFP_SET_SIZE, 0777 },
		{ 02666, MEMBER, RFP_SET_SIZE, 02666 },
		{ 02666, MEMBER, RFP_SET_KILL_SUID, 02666 },
		{ 02666, MEMBER, RFP_SET_KILL, 0666 },
		{ 02666, MEMBER, RFP_SET_SIZE | RFP_SET_KILL, 0666 },
		{ 06777, ROOT, RFP_SET_SIZE, 06777 },
		{ 06777, ROOT, RFP_SET_SIZE | RFP_SET_KILL_SUID, 0777 },
		{ 02666, ROOT, RFP_SET_KILL_SUID, 02666 },
		{ 02666, ROOT, RFP_SET_KILL, 0666 },
	};
	struct fs_client *c = fs_client(test);
	struct idmap_change change = {};
	struct fs_open o = {};
	u32 mode;
	size_t i;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, IDMAP_NAME, 0600, &o), 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		mode = 0;
		change = (struct idmap_change){ .valid = RFP_SET_MODE, .mode = cases[i].mode };
		KUNIT_EXPECT_EQ_MSG(test, idmap_setattr(test, c, &o.fh, FS_USER, &change, &mode), 0,
				    "chmod of case %zu", i);
		KUNIT_EXPECT_EQ_MSG(test, mode, cases[i].mode, "before case %zu", i);
		idmap_is(test, c, FS_UID + 1, FS_UID + (cases[i].caller != MEMBER),
			 cases[i].caller == ROOT);
		change = (struct idmap_change){ .valid = cases[i].valid };
		KUNIT_EXPECT_EQ_MSG(test,
				    idmap_setattr(test, c, &o.fh, IDMAP_CRED, &change, &mode), 0,
				    "case %zu", i);
		KUNIT_EXPECT_EQ_MSG(test, mode, cases[i].left, "case %zu", i);
	}
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, IDMAP_NAME), 0);
}

static struct kunit_case idmap_cases[] = {
	KUNIT_CASE(idmap_registered),
	KUNIT_CASE(idmap_root),
	KUNIT_CASE(idmap_none),
	KUNIT_CASE(idmap_set_ids),
	{}
};

static struct kunit_suite idmap_suite = {
	.name = "rdmafs_fs_idmap",
	.init = fs_init,
	.exit = fs_exit,
	.test_cases = idmap_cases,
};

kunit_test_suite(idmap_suite);
