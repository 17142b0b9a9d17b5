// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_fs_labels: security labels that a client sends to a real server on the same machine,
 * and gets from it.  The first export has none; tests/scenarios/inside/proofs has given them to the
 * second one.  The kernel needs no security module for this.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/string.h>
#include "fs_client.h"
#include "tests/points/points.h"

#define LABELS_EXPORT	"scratch"
#define LABELS_NAME	"labelled"
#define LABELS_XATTR	"security.selinux"

/* Another user, and the id of his credentials. */
#define LABELS_OTHER	3
#define LABELS_UID	1001

/*
 * Attach to the export with labels.  It may be off because of a case of another suite, for which
 * tests/scenarios/inside/proofs turns it on again.
 */
static u32 labels_attach(struct kunit *test, struct fs_client *c)
{
	unsigned long end = jiffies + 60 * HZ;
	u32 status;

	while ((status = fs_attach(test, c, LABELS_EXPORT)) == RFP_ENOENT &&
	       time_before(jiffies, end))
		msleep(20);
	return status;
}

/* Begin a request that makes a regular file, as far as its label. */
static void labels_make(struct fs_client *c, struct rfp_enc *enc)
{
	struct rfp_mknod_req *req;

	req = fs_req(c, enc, RFP_MKNOD, FS_USER, sizeof(*req));
	req->req.flags = cpu_to_le16(RFP_REQ_LABEL);
	req->mode = cpu_to_le32(S_IFREG | 0666);
	rfp_enc_fh(enc, &c->root);
	rfp_enc_str(enc, LABELS_NAME, strlen(LABELS_NAME), RFP_NAME_MAX);
}

/* Look the file up, with flags, and a label in the request if @extra. */
static u32 labels_lookup(struct kunit *test, struct fs_client *c, u16 flags, bool extra)
{
	struct rfp_enc enc;
	struct rfp_req *req;

	req = fs_req(c, &enc, RFP_LOOKUP, FS_USER, sizeof(*req));
	req->flags = cpu_to_le16(flags);
	rfp_enc_fh(&enc, &c->root);
	rfp_enc_str(&enc, LABELS_NAME, strlen(LABELS_NAME), RFP_NAME_MAX);
	if (extra)
		rfp_enc_label(&enc, "a", 1);
	return fs_call(test, c, &enc);
}

/* The file and its label, as of rfp_dec_label_told(), from the last reply, to LOOKUP or MKNOD. */
static void labels_told(struct kunit *test, struct fs_client *c, struct rfp_fh *fh,
			struct rfp_str *label)
{
	struct rfp_dec dec;

	rfp_dec_init(&dec, c->rep, c->rep_len);
	rfp_dec_fixed(&dec, sizeof(struct rfp_rep));
	rfp_dec_fixed(&dec, sizeof(struct rfp_attr));
	rfp_dec_fh(&dec, fh);
	rfp_dec_fixed(&dec, sizeof(struct rfp_attr));
	rfp_dec_label_told(&dec, label);
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&dec), 0);
}

/* In an export without labels nothing is made with one, and none is told. */
static void labels_without(struct kunit *test)
{
	struct fs_client *c = fs_client(test);
	struct rfp_str label;
	struct rfp_enc enc;
	struct rfp_fh fh;

	labels_make(c, &enc);
	rfp_enc_label(&enc, "a:b", 3);
	KUNIT_EXPECT_EQ(test, fs_call(test, c, &enc), RFP_EPERM);
	KUNIT_EXPECT_EQ(test, labels_lookup(test, c, RFP_REQ_LABEL, false), RFP_ENOENT);
	labels_make(c, &enc);
	rfp_enc_label(&enc, NULL, 0);
	KUNIT_ASSERT_EQ(test, fs_call(test, c, &enc), 0);
	labels_told(test, c, &fh, &label);
	KUNIT_EXPECT_NULL(test, label.s);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, LABELS_NAME), 0);
}

/* Attach with the flag; the root's label, as of rfp_dec_label_told(). */
static void labels_of_root(struct kunit *test, struct fs_client *c, const char *export,
			   struct rfp_str *label)
{
	struct rfp_enc enc;
	struct rfp_dec dec;
	struct rfp_req *req;

	req = fs_req(c, &enc, RFP_ATTACH, 0, sizeof(*req));
	req->flags = cpu_to_le16(RFP_REQ_LABEL);
	rfp_enc_str(&enc, export, strlen(export), RFP_EXPORT_NAME_MAX);
	KUNIT_ASSERT_EQ(test, fs_call(test, c, &enc), 0);
	rfp_dec_init(&dec, c->rep, c->rep_len);
	rfp_dec_fixed(&dec, sizeof(struct rfp_attach_rep));
	rfp_dec_fh(&dec, &c->root);
	rfp_dec_fixed(&dec, sizeof(struct rfp_attr));
	rfp_dec_label_told(&dec, label);
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&dec), 0);
}

/* That an object has no label is told, where objects can have one: of a root, and of a file. */
static void labels_none(struct kunit *test)
{
	struct fs_client *c = fs_client(test);
	struct rfp_str label;
	struct rfp_enc enc;
	struct rfp_fh fh;

	KUNIT_ASSERT_EQ(test, labels_attach(test, c), 0);
	labels_of_root(test, c, LABELS_EXPORT, &label);
	KUNIT_EXPECT_NOT_NULL(test, label.s);
	KUNIT_EXPECT_EQ(test, label.len, 0);
	labels_make(c, &enc);
	rfp_enc_label(&enc, NULL, 0);
	KUNIT_ASSERT_EQ(test, fs_call(test, c, &enc), 0);
	labels_told(test, c, &fh, &label);
	KUNIT_EXPECT_NOT_NULL(test, label.s);
	KUNIT_EXPECT_EQ(test, label.len, 0);
	KUNIT_EXPECT_EQ(test, labels_lookup(test, c, RFP_REQ_LABEL, false), 0);
	labels_told(test, c, &fh, &label);
	KUNIT_EXPECT_NOT_NULL(test, label.s);
	KUNIT_EXPECT_EQ(test, label.len, 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, LABELS_NAME), 0);

	/* A request can't say it. */
	labels_make(c, &enc);
	rfp_enc_label_none(&enc);
	KUNIT_EXPECT_EQ(test, fs_call(test, c, &enc), RFP_BADPROTO);
}

/* Make the file with @len bytes of a label in an export that has labels, and look it up. */
static void labels_keep(struct kunit *test, struct fs_client *c, const u8 *bytes, size_t len)
{
	struct rfp_str label;
	struct rfp_enc enc;
	struct rfp_fh fh;

	labels_make(c, &enc);
	rfp_enc_label(&enc, bytes, len);
	KUNIT_ASSERT_EQ_MSG(test, fs_call(test, c, &enc), 0, "%zu bytes", len);
	KUNIT_EXPECT_LE(test, c->rep_len, RDMAFS_XPRT_CACHE_MAX);
	labels_told(test, c, &fh, &label);
	/* It is told, or does not fit. */
	if (label.len || len < 64) {
		KUNIT_EXPECT_EQ(test, label.len, len);
		KUNIT_EXPECT_EQ(test, memcmp(label.s, bytes, label.len), 0);
	}
	KUNIT_EXPECT_EQ(test, labels_lookup(test, c, RFP_REQ_LABEL, false), 0);
	labels_told(test, c, &fh, &label);
	KUNIT_EXPECT_EQ(test, label.len, len);
	KUNIT_EXPECT_EQ(test, memcmp(label.s, bytes, min_t(size_t, label.len, len)), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, LABELS_NAME), 0);
}

/* A new file must have the label of its request, whatever its bytes are, and a LOOKUP tell it. */
static void labels_kept(struct kunit *test)
{
	static const size_t sizes[] = { 1, 3, 63, 64, 200, RFP_LABEL_MAX };
	u8 *bytes = kunit_kzalloc(test, RFP_LABEL_MAX + 1, GFP_KERNEL);
	struct fs_client *c = fs_client(test);
	struct rfp_enc enc;
	size_t i;

	KUNIT_ASSERT_NOT_NULL(test, bytes);
	for (i = 0; i <= RFP_LABEL_MAX; i++)
		bytes[i] = i * 11;
	KUNIT_ASSERT_EQ(test, labels_attach(test, c), 0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		labels_keep(test, c, bytes, sizes[i]);

	labels_make(c, &enc);
	rfp_enc_str(&enc, bytes, RFP_LABEL_MAX + 1, RFP_LABEL_MAX + 1);
	KUNIT_EXPECT_EQ(test, fs_call(test, c, &enc), RFP_BADPROTO);
	labels_make(c, &enc);
	KUNIT_EXPECT_EQ(test, fs_call(test, c, &enc), RFP_BADPROTO);
	KUNIT_EXPECT_EQ(test, labels_lookup(test, c, 0, false), RFP_ENOENT);
}

/* Only requests that lead to an object by a name, or to a root, or make one, have the flag. */
static void labels_flag(struct kunit *test)
{
	struct fs_client *c = fs_client(test);
	struct rfp_getattr_req *req;
	struct rfp_enc enc;

	KUNIT_ASSERT_EQ(test, labels_attach(test, c), 0);
	req = fs_req(c, &enc, RFP_GETATTR, FS_USER, sizeof(*req));
	req->req.flags = cpu_to_le16(RFP_REQ_LABEL);
	rfp_enc_fh(&enc, &c->root);
	KUNIT_EXPECT_EQ(test, fs_call(test, c, &enc), RFP_BADPROTO);
	KUNIT_EXPECT_EQ(test, labels_lookup(test, c, RFP_REQ_LABEL, true), RFP_BADPROTO);
	KUNIT_EXPECT_EQ(test, labels_lookup(test, c, RFP_REQ_LABEL, false), RFP_ENOENT);
}

static u32 labels_set(struct kunit *test, struct fs_client *c, const struct rfp_fh *fh, u32 cred,
		      u32 size)
{
	struct rfp_setxattr_req *req;
	struct rfp_enc enc;

	req = fs_req(c, &enc, RFP_SETXATTR, cred, sizeof(*req));
	req->size = cpu_to_le32(size);
	rfp_enc_fh(&enc, fh);
	rfp_enc_str(&enc, LABELS_XATTR, strlen(LABELS_XATTR), RFP_XATTR_NAME_MAX);
	return fs_call_data(test, c, &enc, size);
}

/* The owner may set a label, and no other user, though anybody may write to the file. */
static void labels_owner(struct kunit *test)
{
	struct fs_client *c = fs_client(test);
	struct rfp_str label;
	struct rfp_enc enc;
	struct rfp_fh fh;

	KUNIT_ASSERT_EQ(test, labels_attach(test, c), 0);
	KUNIT_ASSERT_EQ(test, fs_setcred(test, c, LABELS_OTHER, LABELS_UID), 0);
	labels_make(c, &enc);
	rfp_enc_label(&enc, "first", 5);
	KUNIT_ASSERT_EQ(test, fs_call(test, c, &enc), 0);
	labels_told(test, c, &fh, &label);
	KUNIT_EXPECT_EQ(test, labels_set(test, c, &fh, LABELS_OTHER, 8), RFP_EPERM);
	KUNIT_EXPECT_EQ(test, labels_lookup(test, c, RFP_REQ_LABEL, false), 0);
	labels_told(test, c, &fh, &label);
	KUNIT_EXPECT_EQ(test, label.len, 5);
	KUNIT_EXPECT_EQ(test, labels_set(test, c, &fh, FS_USER, RFP_LABEL_MAX + 1), RFP_E2BIG);
	KUNIT_EXPECT_EQ(test, labels_set(test, c, &fh, FS_USER, 8), 0);
	KUNIT_EXPECT_EQ(test, labels_lookup(test, c, RFP_REQ_LABEL, false), 0);
	labels_told(test, c, &fh, &label);
	KUNIT_EXPECT_EQ(test, label.len, 8);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, LABELS_NAME), 0);
}

/* The root's change cookie, by its handle, for which the server does not lock it; also @ino. */
static u64 labels_cookie(struct kunit *test, struct fs_client *c, u64 *ino)
{
	const struct rfp_attr *attr;
	struct rfp_enc enc;
	struct rfp_dec dec;

	fs_req(c, &enc, RFP_GETATTR, FS_USER, sizeof(struct rfp_getattr_req));
	rfp_enc_fh(&enc, &c->root);
	KUNIT_EXPECT_EQ(test, fs_call(test, c, &enc), 0);
	rfp_dec_init(&dec, c->rep, c->rep_len);
	rfp_dec_fixed(&dec, sizeof(struct rfp_rep));
	attr = rfp_dec_fixed(&dec, sizeof(*attr));
	KUNIT_ASSERT_NOT_NULL(test, attr);
	*ino = le64_to_cpu(attr->ino);
	return le64_to_cpu(attr->change);
}

/*
 * If a file can't have its label there is none.  Its removal changes the directory: who has asked
 * for the cookie while it was under way must find another one after it.
 */
static void labels_refused(struct kunit *test)
{
	struct fs_client *c = fs_client(test), *other = fs_client(test);
	struct rfp_enc enc;
	char command[64];
	u64 meanwhile, ino;

	KUNIT_ASSERT_EQ(test, labels_attach(test, c), 0);
	KUNIT_ASSERT_EQ(test, labels_attach(test, other), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail seclabel_set"), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold seclabel_first"), 0);
	labels_make(c, &enc);
	rfp_enc_label(&enc, "a:b", 3);
	fs_send(test, c, &enc, 0);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("seclabel_first", 1, 60));
	labels_cookie(test, other, &ino);
	snprintf(command, sizeof(command), "hold change_end 1 %llu", ino);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command(command), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release seclabel_first"), 0);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("change_end", 1, 60));
	meanwhile = labels_cookie(test, other, &ino);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release change_end"), 0);
	KUNIT_EXPECT_EQ(test, fs_reply(test, c), RFP_EPERM);
	KUNIT_EXPECT_NE(test, labels_cookie(test, other, &ino), meanwhile);
	KUNIT_EXPECT_EQ(test, labels_lookup(test, other, 0, false), RFP_ENOENT);
}

/* But a file that another client has opened before that was known keeps its name. */
static void labels_opened(struct kunit *test)
{
	struct fs_client *c = fs_client(test), *other = fs_client(test);
	struct fs_open o = {};
	struct rfp_str label;
	struct rfp_enc enc;
	struct rfp_fh fh;

	KUNIT_ASSERT_EQ(test, labels_attach(test, c), 0);
	KUNIT_ASSERT_EQ(test, labels_attach(test, other), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail seclabel_set"), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold seclabel_first"), 0);
	labels_make(c, &enc);
	rfp_enc_label(&enc, "a:b", 3);
	fs_send(test, c, &enc, 0);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("seclabel_first", 1, 60));
	KUNIT_EXPECT_EQ(test, labels_lookup(test, other, RFP_REQ_LABEL, false), 0);
	labels_told(test, other, &fh, &label);
	KUNIT_EXPECT_EQ(test, label.len, 0);
	KUNIT_EXPECT_EQ(test, fs_open_for(test, other, &fh, RFP_OPEN_READ, NULL, &o), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release seclabel_first"), 0);
	KUNIT_EXPECT_EQ(test, fs_reply(test, c), RFP_EPERM);
	KUNIT_EXPECT_EQ(test, labels_lookup(test, other, RFP_REQ_LABEL, false), 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, other, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, other, LABELS_NAME), 0);
}

/*
 * And one whose name is being removed by another client just then, which fails, is removed after
 * that.
 */
static void labels_awaited(struct kunit *test)
{
	struct fs_client *c = fs_client(test), *other = fs_client(test), *third = fs_client(test);
	struct rfp_enc enc;
	u32 i;

	KUNIT_ASSERT_EQ(test, labels_attach(test, c), 0);
	KUNIT_ASSERT_EQ(test, labels_attach(test, other), 0);
	KUNIT_ASSERT_EQ(test, labels_attach(test, third), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail seclabel_set"), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold seclabel_first"), 0);
	labels_make(c, &enc);
	rfp_enc_label(&enc, "a:b", 3);
	fs_send(test, c, &enc, 0);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("seclabel_first", 1, 60));
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold name_kept"), 0);
	fs_unlink_send(test, other, LABELS_NAME);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("name_kept", 1, 60));
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold seclabel_undo"), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release seclabel_first"), 0);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("seclabel_undo", 1, 60));
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release seclabel_undo"), 0);
	/* Time enough for it to come to the semaphore that the removal has. */
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, labels_lookup(test, third, 0, false), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail remove_vfs"), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release name_kept"), 0);
	KUNIT_EXPECT_EQ(test, fs_reply(test, other), RFP_EIO);
	KUNIT_EXPECT_EQ(test, fs_reply(test, c), RFP_EPERM);
	KUNIT_EXPECT_EQ(test, labels_lookup(test, third, 0, false), RFP_ENOENT);
}

/* Create the file again with a label, as if the first answer was lost; it must have @want then. */
static void labels_create_again(struct kunit *test, struct fs_client *c, const char *text,
				const char *want)
{
	struct rfp_create_req *req;
	struct fs_open o = {};
	struct rfp_str label;
	struct rfp_enc enc;
	struct rfp_fh fh;

	req = fs_req(c, &enc, RFP_CREATE, FS_USER, sizeof(*req));
	req->req.flags = cpu_to_le16(RFP_REQ_LABEL);
	req->mode = cpu_to_le32(0600);
	req->flags = cpu_to_le32(RFP_OPEN_READ | RFP_OPEN_WRITE);
	req->how = cpu_to_le32(RFP_CREATE_AGAIN);
	rfp_enc_fh(&enc, &c->root);
	rfp_enc_str(&enc, LABELS_NAME, strlen(LABELS_NAME), RFP_NAME_MAX);
	rfp_enc_label(&enc, text, strlen(text));
	KUNIT_ASSERT_EQ(test, fs_call(test, c, &enc), 0);
	fs_take_open(c, &o, true);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, labels_lookup(test, c, RFP_REQ_LABEL, false), 0);
	labels_told(test, c, &fh, &label);
	KUNIT_EXPECT_EQ(test, label.len, strlen(want));
	KUNIT_EXPECT_EQ(test, memcmp(label.s, want, min_t(size_t, label.len, strlen(want))), 0);
}

/*
 * A file whose creation is asked for again gets its label, which it may lack.  If it has one that
 * stays: it may be another file than was made, or others may have changed it.
 */
static void labels_again(struct kunit *test)
{
	struct fs_client *c = fs_client(test);
	struct rfp_enc enc;

	KUNIT_ASSERT_EQ(test, labels_attach(test, c), 0);
	labels_make(c, &enc);
	rfp_enc_label(&enc, NULL, 0);
	KUNIT_ASSERT_EQ(test, fs_call(test, c, &enc), 0);
	labels_create_again(test, c, "a:b", "a:b");
	labels_create_again(test, c, "x:yz", "a:b");
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, LABELS_NAME), 0);
}

/* Have a creation whose label fails come as far as the removal of its file. */
static void labels_hold_undo(struct kunit *test, struct fs_client *c)
{
	struct rfp_enc enc;

	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail seclabel_set"), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold seclabel_undo"), 0);
	labels_make(c, &enc);
	rfp_enc_label(&enc, "a:b", 3);
	fs_send(test, c, &enc, 0);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("seclabel_undo", 1, 60));
}

/* A file that another request has given its label meanwhile, and closed, stays. */
static void labels_touched(struct kunit *test)
{
	struct fs_client *c = fs_client(test), *other = fs_client(test);

	KUNIT_ASSERT_EQ(test, labels_attach(test, c), 0);
	KUNIT_ASSERT_EQ(test, labels_attach(test, other), 0);
	labels_hold_undo(test, c);
	labels_create_again(test, other, "x:yz", "x:yz");
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release seclabel_undo"), 0);
	KUNIT_EXPECT_EQ(test, fs_reply(test, c), RFP_EPERM);
	KUNIT_EXPECT_EQ(test, labels_lookup(test, other, 0, false), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, other, LABELS_NAME), 0);
}

/* A CREATE that has found the file by its name, but not opened it yet, does not open it. */
static void labels_found(struct kunit *test)
{
	struct fs_client *c = fs_client(test), *other = fs_client(test);
	struct rfp_create_req *req;
	struct rfp_enc enc;

	KUNIT_ASSERT_EQ(test, labels_attach(test, c), 0);
	KUNIT_ASSERT_EQ(test, labels_attach(test, other), 0);
	labels_hold_undo(test, c);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold create_found"), 0);
	req = fs_req(other, &enc, RFP_CREATE, FS_USER, sizeof(*req));
	req->req.flags = cpu_to_le16(RFP_REQ_LABEL);
	req->mode = cpu_to_le32(0600);
	req->flags = cpu_to_le32(RFP_OPEN_READ | RFP_OPEN_WRITE);
	rfp_enc_fh(&enc, &other->root);
	rfp_enc_str(&enc, LABELS_NAME, strlen(LABELS_NAME), RFP_NAME_MAX);
	rfp_enc_label(&enc, NULL, 0);
	fs_send(test, other, &enc, 0);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("create_found", 1, 60));
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release seclabel_undo"), 0);
	KUNIT_EXPECT_EQ(test, fs_reply(test, c), RFP_EPERM);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release create_found"), 0);
	KUNIT_EXPECT_EQ(test, fs_reply(test, other), RFP_EAGAIN);
	KUNIT_EXPECT_EQ(test, labels_lookup(test, c, 0, false), RFP_ENOENT);
}

static struct kunit_case labels_cases[] = {
	KUNIT_CASE(labels_without),
	KUNIT_CASE(labels_none),
	KUNIT_CASE(labels_kept),
	KUNIT_CASE(labels_flag),
	KUNIT_CASE(labels_owner),
	KUNIT_CASE(labels_refused),
	KUNIT_CASE(labels_opened),
	KUNIT_CASE(labels_awaited),
	KUNIT_CASE(labels_again),
	KUNIT_CASE(labels_touched),
	KUNIT_CASE(labels_found),
	{}
};

static struct kunit_suite labels_suite = {
	.name = "rdmafs_fs_labels",
	.init = fs_init,
	.exit = fs_exit,
	.test_cases = labels_cases,
};

kunit_test_suite(labels_suite);
