// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_proto_status: the conversion of errnos to statuses of the protocol, and back.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/err.h>
#include "fs/proto/codec.h"

struct status_case {
	const char *desc;
	u32 status;
	int err;
};

#define STATUS(_name)	{ #_name, RFP_##_name, -(_name) }

/* The table is repeated here by hand, so that a slip in the library's own is found. */
static const struct status_case status_cases[] = {
	{ "OK", 0, 0 },
	STATUS(EPERM), STATUS(ENOENT), STATUS(EIO), STATUS(ENXIO), STATUS(EAGAIN),
	STATUS(ENOMEM), STATUS(EACCES), STATUS(EBUSY), STATUS(EEXIST), STATUS(EXDEV),
	STATUS(ENODEV), STATUS(ENOTDIR), STATUS(EISDIR), STATUS(EINVAL), STATUS(ETXTBSY),
	STATUS(EFBIG), STATUS(ENOSPC), STATUS(EROFS), STATUS(EMLINK), STATUS(ENAMETOOLONG),
	STATUS(ENOTEMPTY), STATUS(ELOOP), STATUS(ENODATA), STATUS(EOVERFLOW),
	STATUS(EOPNOTSUPP), STATUS(ESTALE), STATUS(EDQUOT), STATUS(ERANGE), STATUS(E2BIG),
	STATUS(ENFILE), STATUS(EBADF), STATUS(EILSEQ), STATUS(EBADE),
	STATUS(ENOLCK), STATUS(EDEADLK),
};

/* Statuses of the protocol itself; no errno of a file system may be sent as one of them. */
static const struct status_case status_own[] = {
	{ "BADCRED", RFP_BADCRED, -EKEYREJECTED },
	{ "BADSTATE", RFP_BADSTATE, -EBADFD },
	{ "BADPROTO", RFP_BADPROTO, -EPROTO },
	{ "OFFLINE", RFP_OFFLINE, -ENONET },
	{ "BADSOURCE", RFP_BADSOURCE, -EBADR },
	{ "GRACE", RFP_GRACE, -EINPROGRESS },
	{ "NO_GRACE", RFP_NO_GRACE, -ETIME },
};

static void status_desc(const struct status_case *c, char *desc)
{
	strscpy(desc, c->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(status, status_cases, status_desc);

/* Each errno, with either sign, must become its status, and the status that errno again. */
static void status_round_trip(struct kunit *test)
{
	const struct status_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, rfp_status_from_errno(c->err), c->status);
	KUNIT_EXPECT_EQ(test, rfp_status_from_errno(-c->err), c->status);
	KUNIT_EXPECT_EQ(test, rfp_errno_from_status(c->status), c->err);
}

/* A status of the protocol must become its errno at the client, and that errno EIO on the wire. */
static void status_of_the_protocol(struct kunit *test)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(status_own); i++) {
		const struct status_case *c = &status_own[i];

		KUNIT_EXPECT_EQ_MSG(test, rfp_errno_from_status(c->status), c->err, "%s", c->desc);
		KUNIT_EXPECT_EQ_MSG(test, rfp_status_from_errno(c->err), RFP_EIO, "%s", c->desc);
	}
}

/* Errnos that only the server's kernel knows must become statuses that a client can act on. */
static void status_of_server_errnos(struct kunit *test)
{
	static const struct status_case cases[] = {
		{ "EINTR", RFP_EAGAIN, -EINTR },
		{ "ERESTARTSYS", RFP_EAGAIN, -ERESTARTSYS },
		{ "ERESTARTNOINTR", RFP_EAGAIN, -ERESTARTNOINTR },
		{ "ENOTSUPP", RFP_EOPNOTSUPP, -ENOTSUPP },
		{ "ENOIOCTLCMD", RFP_EOPNOTSUPP, -ENOIOCTLCMD },
		{ "EOPENSTALE", RFP_ESTALE, -EOPENSTALE },
		{ "EJUKEBOX, of a file system that is a client itself", RFP_EAGAIN, -EJUKEBOX },
		{ "EREMOTE", RFP_EXDEV, -EREMOTE },
		{ "EMFILE", RFP_ENFILE, -EMFILE },
		{ "EUCLEAN, a corrupt file system", RFP_EIO, -EUCLEAN },
		{ "EBADMSG, a bad checksum", RFP_EIO, -EBADMSG },
		{ "EIOCBQUEUED", RFP_EIO, -EIOCBQUEUED },
		{ "no errno at all", RFP_EIO, -123456 },
		{ "INT_MIN", RFP_EIO, INT_MIN },
		{ "INT_MAX", RFP_EIO, INT_MAX },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test, rfp_status_from_errno(cases[i].err), cases[i].status,
				    "%s", cases[i].desc);
}

/* No errno may become a success, and each must become a status that the client knows. */
static void status_of_every_errno(struct kunit *test)
{
	u32 status;
	int err;

	for (err = 1; err <= MAX_ERRNO; err++) {
		status = rfp_status_from_errno(-err);
		KUNIT_ASSERT_NE(test, status, RFP_OK);
		KUNIT_ASSERT_EQ(test, rfp_status_from_errno(rfp_errno_from_status(status)), status);
	}
}

/* For any status that a server may send, the caller must get an errno that IS_ERR() knows. */
static void errno_of_every_status(struct kunit *test)
{
	static const u32 far[] = { 1 << 16, INT_MAX, (u32)INT_MAX + 1, U32_MAX };
	u32 status;
	size_t i;
	int err;

	for (status = 1; status < 4096; status++) {
		err = rfp_errno_from_status(status);
		KUNIT_ASSERT_LT(test, err, 0);
		KUNIT_ASSERT_GE(test, err, -MAX_ERRNO);
	}
	for (i = 0; i < ARRAY_SIZE(far); i++)
		KUNIT_EXPECT_EQ(test, rfp_errno_from_status(far[i]), -EIO);
}

static struct kunit_case status_suite_cases[] = {
	KUNIT_CASE_PARAM(status_round_trip, status_gen_params),
	KUNIT_CASE(status_of_the_protocol),
	KUNIT_CASE(status_of_server_errnos),
	KUNIT_CASE(status_of_every_errno),
	KUNIT_CASE(errno_of_every_status),
	{}
};

static struct kunit_suite status_suite = {
	.name = "rdmafs_proto_status",
	.test_cases = status_suite_cases,
};

kunit_test_suite(status_suite);
