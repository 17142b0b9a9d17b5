// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_fs_idmap: what a real server on the same machine lets callers do who come by an
 * id-mapped mount of a client (RFP_REQ_MAPPED): by their capabilities, whatever their user is, and
 * without a user or group in the file system.  Root is root in the export.
 */
#include <kunit/test.h>
#include <linux/capability.h>
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
 * @caps:   capabilities
 */
struct idmap_who {
	u16 flags;
	u32 uid;
	u32 gid;
	u64 caps;
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
	req->caps = cpu_to_le64(who->caps);
	return fs_call(test, c, &enc);
}

/* Register a caller by an id-mapped mount. */
static void idmap_is(struct kunit *test, struct fs_client *c, u32 uid, u32 gid, u64 caps)
{
	const struct idmap_who who = {
		.flags = RFP_REQ_MAPPED, .uid = uid, .gid = gid, .caps = caps,
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
		{ { RFP_REQ_MAPPED, 0, 0, 0 }, RFP_OK },
		{ { RFP_REQ_MAPPED, RFP_ID_NONE, RFP_ID_NONE, RFP_CAPS_ALL }, RFP_OK },
		{ { RFP_REQ_CAPABLE, FS_UID, FS_UID, 0 }, RFP_OK },
		{ { RFP_REQ_MAPPED | RFP_REQ_CAPABLE, FS_UID, FS_UID, 0 }, RFP_BADPROTO },
		{ { RFP_REQ_MAPPED, 0, 0, RFP_CAPS_ALL | BIT_ULL(CAP_NET_ADMIN) }, RFP_BADPROTO },
		{ { RFP_REQ_MAPPED, 0, 0, BIT_ULL(63) }, RFP_BADPROTO },
		{ { 0, FS_UID, FS_UID, BIT_ULL(CAP_CHOWN) }, RFP_BADPROTO },
		{ { RFP_REQ_CAPABLE, FS_UID, FS_UID, BIT_ULL(CAP_CHOWN) }, RFP_BADPROTO },
		{ { 0, RFP_ID_NONE, FS_UID, 0 }, RFP_EINVAL },
		{ { 0, FS_UID, RFP_ID_NONE, 0 }, RFP_EINVAL },
		{ { RFP_REQ_LABEL, FS_UID, FS_UID, 0 }, RFP_BADPROTO },
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

/* User 0 must have the capabilities that are told, and no other. */
static void idmap_root(struct kunit *test)
{
	struct fs_client *c = fs_client(test);
	struct fs_open o = {};

	KUNIT_ASSERT_EQ(test, fs_create(test, c, IDMAP_NAME, 0600, &o), 0);
	idmap_is(test, c, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_READ), RFP_EACCES);
	idmap_is(test, c, 0, 0, RFP_CAPS_ALL & ~(BIT_ULL(CAP_DAC_OVERRIDE) |
						 BIT_ULL(CAP_DAC_READ_SEARCH)));
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_READ), RFP_EACCES);
	idmap_is(test, c, 0, 0, BIT_ULL(CAP_DAC_READ_SEARCH));
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_READ), 0);
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_WRITE), RFP_EACCES);
	idmap_is(test, c, FS_UID + 1, FS_UID + 1, BIT_ULL(CAP_DAC_OVERRIDE));
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_WRITE), 0);
	idmap_is(test, c, FS_UID, FS_UID, 0);
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_WRITE), 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, IDMAP_NAME), 0);
}

/* Who lacks a user or a group in the file system must make nothing, whatever it is capable of. */
static void idmap_makes_nothing(struct kunit *test, struct fs_client *c, u32 uid, u32 gid)
{
	static const enum rfp_op makes[] = { RFP_CREATE, RFP_TMPFILE, RFP_MKDIR, RFP_MKNOD };
	size_t i;

	idmap_is(test, c, uid, gid, RFP_CAPS_ALL);
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
	idmap_is(test, c, RFP_ID_NONE, FS_UID, 0);
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_READ), 0);
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_WRITE), RFP_EACCES);
	idmap_is(test, c, RFP_ID_NONE, RFP_ID_NONE, 0);
	KUNIT_EXPECT_EQ(test, idmap_open(test, c, &o.fh, RFP_OPEN_READ), RFP_EACCES);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, IDMAP_NAME), 0);
}

static struct kunit_case idmap_cases[] = {
	KUNIT_CASE(idmap_registered),
	KUNIT_CASE(idmap_root),
	KUNIT_CASE(idmap_none),
	{}
};

static struct kunit_suite idmap_suite = {
	.name = "rdmafs_fs_idmap",
	.init = fs_init,
	.exit = fs_exit,
	.test_cases = idmap_cases,
};

kunit_test_suite(idmap_suite);
