// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_proto_codec: bodies of every kind are compared with golden bytes, and the decoder
 * and encoder are given bodies that are cut, changed or random.
 *
 * The decoder gets its bytes in buffers of exactly their size, so that KASAN finds a read behind
 * them.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/unaligned.h>
#include "proto_golden.h"

#define BODY_MAX	1024

static void body_desc(const struct gold_body *body, char *desc)
{
	strscpy(desc, body->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(body, gold_bodies, body_desc);

static size_t append(u8 *buf, size_t at, const u8 *bytes, size_t len)
{
	memcpy(buf + at, bytes, len);
	return at + len;
}

/* Puts the whole golden body together from its bytes; returns its length. */
static size_t compose(const struct gold_body *body, u8 *buf)
{
	size_t at = append(buf, 0, body->bytes, body->len);
	const char *s;

	for (s = body->shape; *s; s++) {
		switch (*s) {
		case 'f':
			at = append(buf, at, gold_fh_bytes, sizeof(gold_fh_bytes));
			break;
		case 'n':
			at = append(buf, at, gold_name_bytes, sizeof(gold_name_bytes));
			break;
		case 's':
			at = append(buf, at, gold_str_bytes, sizeof(gold_str_bytes));
			break;
		case 'a':
			at = append(buf, at, gold_attr_bytes, sizeof(gold_attr_bytes));
			break;
		}
	}
	return at;
}

/* Encodes the same body into @room bytes; returns the result of rfp_enc_len(). */
static int encode(const struct gold_body *body, u8 *buf, size_t room)
{
	struct rfp_attr *attr;
	struct rfp_enc e;
	const char *s;
	void *fixed;

	rfp_enc_init(&e, buf, room);
	if (body->op)
		fixed = rfp_enc_req(&e, body->op, GOLD_CRED, body->fixed);
	else
		fixed = rfp_enc_rep(&e, body->fixed);
	if (fixed && body->fill)
		body->fill(fixed);
	for (s = body->shape; *s; s++) {
		switch (*s) {
		case 'f':
			rfp_enc_fh(&e, &gold_fh);
			break;
		case 'n':
			rfp_enc_str(&e, GOLD_NAME, strlen(GOLD_NAME), RFP_NAME_MAX);
			break;
		case 's':
			rfp_enc_str(&e, GOLD_STR, strlen(GOLD_STR), RFP_EXPORT_NAME_MAX);
			break;
		case 'a':
			attr = rfp_enc_fixed(&e, sizeof(*attr));
			if (attr)
				fill_attr(attr);
			break;
		}
	}
	return rfp_enc_len(&e);
}

/* The items of a body that decode() has found, the last one of each kind. */
struct decoded {
	const void *fixed;
	struct rfp_fh fh;
	struct rfp_str name;
	struct rfp_str str;
	const void *attr;
};

static int decode(const struct gold_body *body, const u8 *buf, size_t len, struct decoded *got)
{
	struct rfp_dec d;
	const char *s;

	rfp_dec_init(&d, buf, len);
	got->fixed = rfp_dec_fixed(&d, body->fixed);
	for (s = body->shape; *s; s++) {
		switch (*s) {
		case 'f':
			rfp_dec_fh(&d, &got->fh);
			break;
		case 'n':
			rfp_dec_name(&d, &got->name, false);
			break;
		case 's':
			rfp_dec_str(&d, &got->str, RFP_EXPORT_NAME_MAX);
			break;
		case 'a':
			got->attr = rfp_dec_fixed(&d, sizeof(struct rfp_attr));
			break;
		}
	}
	return rfp_dec_end(&d);
}

/* A copy of @len bytes in memory of exactly this size. */
static u8 *exact_copy(struct kunit *test, const u8 *bytes, size_t len)
{
	u8 *copy = kunit_kmalloc(test, len, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, copy);
	memcpy(copy, bytes, len);
	return copy;
}

/* The encoder must give the golden bytes, and write nothing behind them. */
static void codec_golden_encode(struct kunit *test)
{
	const struct gold_body *body = test->param_value;
	u8 *gold = kunit_kzalloc(test, BODY_MAX, GFP_KERNEL);
	u8 *buf = kunit_kmalloc(test, BODY_MAX, GFP_KERNEL);
	size_t len;

	KUNIT_ASSERT_NOT_NULL(test, gold);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	KUNIT_EXPECT_EQ(test, body->fixed, body->len);
	len = compose(body, gold);

	/* Old contents of the buffer must not show through pad fields. */
	memset(buf, 0xff, BODY_MAX);
	KUNIT_ASSERT_EQ(test, encode(body, buf, BODY_MAX), (int)len);
	KUNIT_EXPECT_MEMEQ(test, buf, gold, len);
	KUNIT_EXPECT_EQ(test, buf[len], 0xff);
}

/* In every buffer that is too small the encoder must fail, and write nothing behind it. */
static void codec_encode_without_room(struct kunit *test)
{
	const struct gold_body *body = test->param_value;
	u8 *gold = kunit_kzalloc(test, BODY_MAX, GFP_KERNEL);
	size_t len, room;
	u8 *buf;

	KUNIT_ASSERT_NOT_NULL(test, gold);
	len = compose(body, gold);
	for (room = 0; room < len; room++) {
		buf = exact_copy(test, gold, room);
		KUNIT_EXPECT_EQ_MSG(test, encode(body, buf, room), -EMSGSIZE, "room %zu", room);
		kunit_kfree(test, buf);
	}
}

/* The decoder must find all items of the golden body as they were filled in. */
static void codec_golden_decode(struct kunit *test)
{
	const struct gold_body *body = test->param_value;
	u8 *gold = kunit_kzalloc(test, BODY_MAX, GFP_KERNEL);
	struct decoded got = {};
	struct rfp_attr attr;
	u8 fixed[128] = {};
	size_t len;
	u8 *buf;

	KUNIT_ASSERT_NOT_NULL(test, gold);
	KUNIT_ASSERT_LE(test, body->fixed, sizeof(fixed));
	len = compose(body, gold);
	buf = exact_copy(test, gold, len);
	KUNIT_ASSERT_EQ(test, decode(body, buf, len, &got), 0);

	if (body->op) {
		put_unaligned_le16(body->op, fixed);
		put_unaligned_le32(GOLD_CRED, fixed + 4);
	}
	if (body->fill)
		body->fill(fixed);
	KUNIT_EXPECT_MEMEQ(test, got.fixed, fixed, body->fixed);
	if (strchr(body->shape, 'f')) {
		KUNIT_EXPECT_EQ(test, got.fh.len, gold_fh.len);
		KUNIT_EXPECT_MEMEQ(test, got.fh.data, gold_fh.data, gold_fh.len);
	}
	if (strchr(body->shape, 'n')) {
		KUNIT_EXPECT_EQ(test, got.name.len, strlen(GOLD_NAME));
		KUNIT_EXPECT_MEMEQ(test, got.name.s, GOLD_NAME, strlen(GOLD_NAME));
	}
	if (strchr(body->shape, 's')) {
		KUNIT_EXPECT_EQ(test, got.str.len, strlen(GOLD_STR));
		KUNIT_EXPECT_MEMEQ(test, got.str.s, GOLD_STR, strlen(GOLD_STR));
	}
	if (strchr(body->shape, 'a')) {
		fill_attr(&attr);
		KUNIT_EXPECT_MEMEQ(test, got.attr, &attr, sizeof(attr));
	}
}

/* A body that is cut anywhere must be refused, and no byte behind the cut be read. */
static void codec_truncated(struct kunit *test)
{
	const struct gold_body *body = test->param_value;
	u8 *gold = kunit_kzalloc(test, BODY_MAX, GFP_KERNEL);
	struct decoded got;
	size_t len, cut;
	u8 *buf;

	KUNIT_ASSERT_NOT_NULL(test, gold);
	len = compose(body, gold);
	for (cut = 0; cut < len; cut++) {
		buf = exact_copy(test, gold, cut);
		KUNIT_EXPECT_EQ_MSG(test, decode(body, buf, cut, &got), -EBADMSG, "cut at %zu",
				    cut);
		kunit_kfree(test, buf);
	}
}

/* A body with one byte more must be refused. */
static void codec_trailing(struct kunit *test)
{
	const struct gold_body *body = test->param_value;
	u8 *gold = kunit_kzalloc(test, BODY_MAX, GFP_KERNEL);
	struct decoded got;
	size_t len;

	KUNIT_ASSERT_NOT_NULL(test, gold);
	len = compose(body, gold);
	KUNIT_EXPECT_EQ(test, decode(body, gold, len + 1, &got), -EBADMSG);
}

/* Any byte of a body is changed to any value: the decoder may refuse it, but must not overrun. */
static void codec_any_byte(struct kunit *test)
{
	const struct gold_body *body = test->param_value;
	u8 *gold = kunit_kzalloc(test, BODY_MAX, GFP_KERNEL);
	struct decoded got;
	size_t len, i;
	u8 *buf;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, gold);
	len = compose(body, gold);
	buf = exact_copy(test, gold, len);
	for (i = 0; i < len; i++) {
		for (buf[i] = gold[i] + 1; buf[i] != gold[i]; buf[i]++) {
			ret = decode(body, buf, len, &got);
			if (ret && ret != -EBADMSG)
				KUNIT_FAIL(test, "byte %zu as %#x gives %d", i, buf[i], ret);
		}
	}
}

struct name_case {
	const char *desc;
	const char *bytes;
	size_t len;
	bool name_ok;
	bool dotdot_ok;
	bool str_ok;
};

static const struct name_case name_cases[] = {
	{ "plain",		"a",		1, true,  true,  true },
	{ "high bytes",		"\xff\xc3\x28",	3, true,  true,  true },
	{ "newline",		"a\nb",		3, true,  true,  true },
	{ "hidden",		".a",		2, true,  true,  true },
	{ "two dots and more",	"..a",		3, true,  true,  true },
	{ "three dots",		"...",		3, true,  true,  true },
	{ "space and dot",	" .",		2, true,  true,  true },
	{ "dot",		".",		1, false, false, true },
	{ "dotdot",		"..",		2, false, true,  true },
	{ "slash",		"/",		1, false, false, true },
	{ "slash first",	"/a",		2, false, false, true },
	{ "slash last",		"a/",		2, false, false, true },
	{ "climbing",		"../a",		4, false, false, true },
	{ "NUL",		"\0",		1, false, false, false },
	{ "NUL inside",		"a\0b",		3, false, false, false },
	{ "NUL last",		"ab\0",		3, false, false, false },
};

static void name_desc(const struct name_case *c, char *desc)
{
	strscpy(desc, c->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(name, name_cases, name_desc);

/*
 * Each name of the table must be accepted or refused: as a name, as one that may be "..", and as a
 * string.
 */
static void codec_names(struct kunit *test)
{
	const struct name_case *c = test->param_value;
	size_t len = sizeof(__le16) + c->len;
	u8 *buf = kunit_kmalloc(test, len, GFP_KERNEL);
	struct rfp_str str;
	struct rfp_dec d;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	put_unaligned_le16(c->len, buf);
	memcpy(buf + sizeof(__le16), c->bytes, c->len);

	rfp_dec_init(&d, buf, len);
	rfp_dec_name(&d, &str, false);
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), c->name_ok ? 0 : -EBADMSG);
	KUNIT_EXPECT_EQ(test, str.len, c->name_ok ? c->len : 0);

	rfp_dec_init(&d, buf, len);
	rfp_dec_name(&d, &str, true);
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), c->dotdot_ok ? 0 : -EBADMSG);

	rfp_dec_init(&d, buf, len);
	rfp_dec_str(&d, &str, RFP_XATTR_NAME_MAX);
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), c->str_ok ? 0 : -EBADMSG);
	KUNIT_EXPECT_EQ(test, str.len, c->str_ok ? c->len : 0);
}

/* Every length of 16 bits in front of 300 bytes: only lengths within the limits are accepted. */
static void codec_lengths(struct kunit *test)
{
	const size_t size = sizeof(__le16) + 300;
	struct rfp_str name, str;
	unsigned int len;
	struct rfp_dec d;
	struct rfp_fh fh;
	u8 *buf;

	buf = kunit_kmalloc(test, size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	memset(buf, 'x', size);
	for (len = 0; len <= U16_MAX; len++) {
		put_unaligned_le16(len, buf);

		rfp_dec_init(&d, buf, size);
		rfp_dec_fh(&d, &fh);
		KUNIT_ASSERT_EQ(test, d.bad, !len || len > RFP_FH_MAX);
		KUNIT_ASSERT_EQ(test, fh.len, d.bad ? 0 : len);

		rfp_dec_init(&d, buf, size);
		rfp_dec_name(&d, &name, false);
		KUNIT_ASSERT_EQ(test, d.bad, !len || len > RFP_NAME_MAX);
		KUNIT_ASSERT_EQ(test, name.len, d.bad ? 0 : len);

		rfp_dec_init(&d, buf, size);
		rfp_dec_str(&d, &str, SIZE_MAX);
		KUNIT_ASSERT_EQ(test, d.bad, !len || len > 300);
		KUNIT_ASSERT_EQ(test, str.len, d.bad ? 0 : len);
	}
}

/* Sizes that would overflow if they were added to a pointer or a length must be refused. */
static void codec_wrap_around(struct kunit *test)
{
	static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 7, SIZE_MAX / 2 + 1,
					SSIZE_MAX, U32_MAX, (size_t)U32_MAX + 1, 65 };
	struct rfp_enc e;
	struct rfp_dec d;
	u8 buf[64] = {};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		rfp_enc_init(&e, buf, sizeof(buf));
		KUNIT_EXPECT_NULL(test, rfp_enc_fixed(&e, sizes[i]));
		KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);

		rfp_enc_init(&e, buf, sizeof(buf));
		rfp_enc_str(&e, "x", sizes[i], SIZE_MAX);
		KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);

		rfp_dec_init(&d, buf, sizeof(buf));
		KUNIT_EXPECT_NULL(test, rfp_dec_fixed(&d, sizes[i]));
		KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), -EBADMSG);
	}
}

/* The encoder must refuse handles, strings and structs of bad lengths. */
static void codec_encoder_refuses(struct kunit *test)
{
	struct rfp_fh long_fh = { .len = RFP_FH_MAX + 1 }, no_fh = {};
	u8 buf[512];
	struct rfp_enc e;

	rfp_enc_init(&e, buf, sizeof(buf));
	rfp_enc_fh(&e, &no_fh);
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);

	rfp_enc_init(&e, buf, sizeof(buf));
	rfp_enc_fh(&e, &long_fh);
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);

	rfp_enc_init(&e, buf, sizeof(buf));
	rfp_enc_str(&e, "", 0, RFP_NAME_MAX);
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);

	rfp_enc_init(&e, buf, sizeof(buf));
	rfp_enc_str(&e, "abc", 3, 2);
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);

	rfp_enc_init(&e, buf, sizeof(buf));
	KUNIT_EXPECT_NULL(test, rfp_enc_req(&e, RFP_READ, 1, sizeof(struct rfp_req) - 1));
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);

	rfp_enc_init(&e, buf, sizeof(buf));
	KUNIT_EXPECT_NULL(test, rfp_enc_rep(&e, sizeof(struct rfp_rep) - 1));
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);
}

/* A label may be empty, have any bytes, and be RFP_LABEL_MAX bytes long, but not longer. */
static void codec_labels(struct kunit *test)
{
	static const size_t sizes[] = { 0, 1, 2, 255, RFP_LABEL_MAX };
	u8 *label = kunit_kzalloc(test, RFP_LABEL_MAX + 1, GFP_KERNEL);
	u8 *body = kunit_kzalloc(test, BODY_MAX, GFP_KERNEL), *copy;
	struct rfp_str got;
	struct rfp_enc e;
	struct rfp_dec d;
	size_t i, cut;

	KUNIT_ASSERT_NOT_NULL(test, label);
	KUNIT_ASSERT_NOT_NULL(test, body);
	for (i = 0; i <= RFP_LABEL_MAX; i++)
		label[i] = i * 7;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		rfp_enc_init(&e, body, BODY_MAX);
		rfp_enc_label(&e, sizes[i] ? label : NULL, sizes[i]);
		KUNIT_ASSERT_EQ(test, rfp_enc_len(&e), (int)(sizeof(__le16) + sizes[i]));
		KUNIT_EXPECT_EQ(test, get_unaligned_le16(body), sizes[i]);
		for (cut = 0; cut <= sizeof(__le16) + sizes[i]; cut++) {
			copy = kmemdup(body, max_t(size_t, cut, 1), GFP_KERNEL);
			KUNIT_ASSERT_NOT_NULL(test, copy);
			rfp_dec_init(&d, copy, cut);
			rfp_dec_label(&d, &got);
			if (cut < sizeof(__le16) + sizes[i]) {
				KUNIT_EXPECT_EQ_MSG(test, rfp_dec_end(&d), -EBADMSG,
						    "%zu of label %zu", cut, sizes[i]);
				KUNIT_EXPECT_EQ(test, got.len, 0);
			} else {
				KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), 0);
				KUNIT_EXPECT_EQ(test, got.len, sizes[i]);
				KUNIT_EXPECT_EQ(test, memcmp(got.s, label, got.len), 0);
			}
			kfree(copy);
		}
	}

	rfp_enc_init(&e, body, BODY_MAX);
	rfp_enc_label(&e, label, RFP_LABEL_MAX + 1);
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);
	rfp_enc_init(&e, body, sizeof(__le16) + 9);
	rfp_enc_label(&e, label, 10);
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);
	rfp_enc_init(&e, body, 1);
	rfp_enc_label(&e, NULL, 0);
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);
	put_unaligned_le16(RFP_LABEL_MAX + 1, body);
	rfp_dec_init(&d, body, BODY_MAX);
	rfp_dec_label(&d, &got);
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), -EBADMSG);
	KUNIT_EXPECT_EQ(test, got.len, 0);
	KUNIT_EXPECT_NULL(test, got.s);
}

/* A reply may tell a label, or that there is none, or nothing of it; a request only the first. */
static void codec_labels_told(struct kunit *test)
{
	struct rfp_str got;
	struct rfp_enc e;
	struct rfp_dec d;
	u8 body[8];

	rfp_enc_init(&e, body, sizeof(body));
	rfp_enc_label_none(&e);
	KUNIT_ASSERT_EQ(test, rfp_enc_len(&e), (int)sizeof(__le16));
	KUNIT_EXPECT_EQ(test, get_unaligned_le16(body), RFP_LABEL_NONE);
	rfp_dec_init(&d, body, sizeof(__le16));
	rfp_dec_label_told(&d, &got);
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), 0);
	KUNIT_EXPECT_NOT_NULL(test, got.s);
	KUNIT_EXPECT_EQ(test, got.len, 0);
	rfp_dec_init(&d, body, sizeof(__le16));
	rfp_dec_label(&d, &got);
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), -EBADMSG);
	rfp_dec_init(&d, body, 1);
	rfp_dec_label_told(&d, &got);
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), -EBADMSG);
	KUNIT_EXPECT_NULL(test, got.s);

	rfp_enc_init(&e, body, sizeof(body));
	rfp_enc_label(&e, NULL, 0);
	rfp_dec_init(&d, body, sizeof(__le16));
	rfp_dec_label_told(&d, &got);
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), 0);
	KUNIT_EXPECT_NULL(test, got.s);
	KUNIT_EXPECT_EQ(test, got.len, 0);

	rfp_enc_init(&e, body, sizeof(body));
	rfp_enc_label(&e, "a:b", 3);
	rfp_dec_init(&d, body, sizeof(__le16) + 3);
	rfp_dec_label_told(&d, &got);
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), 0);
	KUNIT_ASSERT_EQ(test, got.len, 3);
	KUNIT_EXPECT_EQ(test, memcmp(got.s, "a:b", 3), 0);

	rfp_enc_init(&e, body, 1);
	rfp_enc_label_none(&e);
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);
}

/* After the first failure a decoder or encoder must not move, and must return nothing. */
static void codec_sticky(struct kunit *test)
{
	struct rfp_str str = { .len = 1, .s = "x" };
	u8 buf[32] = { 1, 0, 'a', 1, 0, 'b' };
	struct rfp_dirent_view view;
	struct rfp_enc e;
	struct rfp_dec d;
	struct rfp_fh fh;

	rfp_dec_init(&d, buf, sizeof(buf));
	KUNIT_EXPECT_NULL(test, rfp_dec_fixed(&d, sizeof(buf) + 1));
	KUNIT_EXPECT_PTR_EQ(test, d.p, (const u8 *)buf);
	KUNIT_EXPECT_NULL(test, rfp_dec_fixed(&d, 1));
	rfp_dec_fh(&d, &fh);
	KUNIT_EXPECT_EQ(test, fh.len, 0);
	rfp_dec_name(&d, &str, true);
	KUNIT_EXPECT_EQ(test, str.len, 0);
	KUNIT_EXPECT_NULL(test, str.s);
	rfp_dec_str(&d, &str, 10);
	KUNIT_EXPECT_NULL(test, str.s);
	KUNIT_EXPECT_EQ(test, rfp_dec_dirent(&d, &view), -EBADMSG);
	KUNIT_EXPECT_PTR_EQ(test, d.p, (const u8 *)buf);
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), -EBADMSG);

	memset(buf, 0x55, sizeof(buf));
	rfp_enc_init(&e, buf, sizeof(buf));
	KUNIT_EXPECT_NULL(test, rfp_enc_fixed(&e, sizeof(buf) + 1));
	KUNIT_EXPECT_NULL(test, rfp_enc_fixed(&e, 1));
	rfp_enc_str(&e, "a", 1, 1);
	rfp_enc_fh(&e, &gold_fh);
	KUNIT_EXPECT_FALSE(test, rfp_enc_dirent(&e, 1, 1, 0, "a", 1, NULL, NULL));
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);
	KUNIT_EXPECT_NULL(test, memchr_inv(buf, 0x55, sizeof(buf)));
}

static const void *take_open(struct rfp_dec *d, size_t len)
{
	return rfp_dec_zero_at(d, sizeof(struct rfp_open_req), offsetof(struct rfp_open_req, pad),
			       len);
}

/* A struct whose pad is not 0 must be refused, and one with a pad of 0, or without, accepted. */
static void codec_pad(struct kunit *test)
{
	const size_t len = sizeof_field(struct rfp_open_req, pad);
	struct rfp_open_req req;
	struct rfp_dec d;

	memset(&req, 0xff, sizeof(req));
	req.pad = 0;
	rfp_dec_init(&d, &req, sizeof(req));
	KUNIT_EXPECT_PTR_EQ(test, take_open(&d, len), (const void *)&req);
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), 0);
	rfp_dec_init(&d, &req, sizeof(req) - 1);
	KUNIT_EXPECT_NULL(test, take_open(&d, len));
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), -EBADMSG);

	req.pad = cpu_to_le32(1U << 31);
	rfp_dec_init(&d, &req, sizeof(req));
	KUNIT_EXPECT_NULL(test, take_open(&d, len));
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), -EBADMSG);
	rfp_dec_init(&d, &req, sizeof(req));
	KUNIT_EXPECT_PTR_EQ(test, take_open(&d, 0), (const void *)&req);
}

/* An empty body is valid, and a body with an unread byte is not. */
static void codec_empty(struct kunit *test)
{
	struct rfp_enc e;
	struct rfp_dec d;
	u8 byte = 0x55;

	rfp_enc_init(&e, &byte, 0);
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), 0);
	rfp_dec_init(&d, &byte, 0);
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), 0);
	rfp_dec_init(&d, &byte, 1);
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), -EBADMSG);
}

static bool lies_within(const void *p, size_t size, const u8 *buf, size_t len)
{
	const u8 *at = p;

	return at >= buf && size <= len && (size_t)(at - buf) <= len - size;
}

/*
 * Decodes a body, and encodes the items that are found.  Returns false if an item lies outside
 * the body or is too long, or if a valid body does not encode to the same bytes.  @sound counts
 * valid bodies.
 */
static bool decode_and_encode(const struct gold_body *body, const u8 *buf, size_t len, u8 *again,
			      size_t *sound)
{
	struct rfp_str str;
	struct rfp_fh fh;
	struct rfp_enc e;
	struct rfp_dec d;
	size_t size, max;
	const void *p;
	const char *s;
	void *to;

	rfp_dec_init(&d, buf, len);
	rfp_enc_init(&e, again, len);
	for (s = NULL; !s || *s; s = s ? s + 1 : body->shape) {
		if (!s || *s == 'a') {
			size = s ? sizeof(struct rfp_attr) : body->fixed;
			p = rfp_dec_fixed(&d, size);
			if (d.bad)
				break;
			if (!lies_within(p, size, buf, len))
				return false;
			to = rfp_enc_fixed(&e, size);
			if (to)
				memcpy(to, p, size);
		} else if (*s == 'f') {
			rfp_dec_fh(&d, &fh);
			if (d.bad)
				break;
			if (!fh.len || fh.len > RFP_FH_MAX)
				return false;
			rfp_enc_fh(&e, &fh);
		} else {
			max = *s == 'n' ? RFP_NAME_MAX : RFP_EXPORT_NAME_MAX;
			if (*s == 'n')
				rfp_dec_name(&d, &str, false);
			else
				rfp_dec_str(&d, &str, max);
			if (d.bad)
				break;
			if (!str.len || str.len > max || !lies_within(str.s, str.len, buf, len) ||
			    memchr(str.s, 0, str.len))
				return false;
			rfp_enc_str(&e, str.s, str.len, max);
		}
	}
	if (rfp_dec_end(&d))
		return rfp_dec_end(&d) == -EBADMSG;
	(*sound)++;
	return rfp_enc_len(&e) == (int)len && !memcmp(again, buf, len);
}

/* Makes a valid body of random numbers, names and lengths. */
static size_t compose_noise(const struct gold_body *body, struct rnd_state *rnd, u8 *buf)
{
	size_t at = body->fixed, i, len;
	const char *s;

	prandom_bytes_state(rnd, buf, at);
	for (s = body->shape; *s; s++) {
		if (*s == 'a') {
			prandom_bytes_state(rnd, buf + at, sizeof(struct rfp_attr));
			at += sizeof(struct rfp_attr);
			continue;
		}
		len = 1 + prandom_u32_state(rnd) % 60;
		put_unaligned_le16(len, buf + at);
		at += sizeof(__le16);
		for (i = 0; i < len; i++)
			buf[at++] = 'a' + prandom_u32_state(rnd) % 26;
	}
	return at;
}

/*
 * Random bytes for bodies of every kind, and random valid bodies, which are then changed in one
 * bit; all from a fixed seed.  decode_and_encode() says what must hold.
 */
static void codec_noise(struct kunit *test)
{
	const size_t rounds = 2000, kinds = ARRAY_SIZE(gold_bodies);
	u8 *sound_one = kunit_kmalloc(test, BODY_MAX, GFP_KERNEL);
	u8 *again = kunit_kmalloc(test, BODY_MAX, GFP_KERNEL);
	size_t i, len, round, sound = 0, ignored = 0;
	struct rnd_state rnd;
	u8 *buf;

	KUNIT_ASSERT_NOT_NULL(test, sound_one);
	KUNIT_ASSERT_NOT_NULL(test, again);
	prandom_seed_state(&rnd, 20060);
	for (round = 0; round < rounds; round++) {
		len = prandom_u32_state(&rnd) % 400;
		buf = kunit_kmalloc(test, len, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, buf);
		prandom_bytes_state(&rnd, buf, len);
		/* A small number is a length with which decoding goes on, so make many of them. */
		for (i = 1; i < len; i += 1 + prandom_u32_state(&rnd) % 3)
			buf[i] = 0;
		for (i = 0; i < kinds; i++)
			KUNIT_ASSERT_TRUE_MSG(test, decode_and_encode(&gold_bodies[i], buf, len,
								      again, &ignored),
					      "%s, round %zu", gold_bodies[i].desc, round);
		kunit_kfree(test, buf);

		/* A valid body, and then the same with one bit changed. */
		i = round % kinds;
		len = compose_noise(&gold_bodies[i], &rnd, sound_one);
		buf = exact_copy(test, sound_one, len);
		KUNIT_ASSERT_TRUE_MSG(test, decode_and_encode(&gold_bodies[i], buf, len, again,
							      &sound),
				      "%s, round %zu, sound", gold_bodies[i].desc, round);
		buf[prandom_u32_state(&rnd) % len] ^= 1 << prandom_u32_state(&rnd) % 8;
		KUNIT_ASSERT_TRUE_MSG(test, decode_and_encode(&gold_bodies[i], buf, len, again,
							      &ignored),
				      "%s, round %zu, changed", gold_bodies[i].desc, round);
		kunit_kfree(test, buf);
	}
	KUNIT_EXPECT_EQ(test, sound, rounds);
}

static struct kunit_case codec_cases[] = {
	KUNIT_CASE_PARAM(codec_golden_encode, body_gen_params),
	KUNIT_CASE_PARAM(codec_encode_without_room, body_gen_params),
	KUNIT_CASE_PARAM(codec_golden_decode, body_gen_params),
	KUNIT_CASE_PARAM(codec_truncated, body_gen_params),
	KUNIT_CASE_PARAM(codec_trailing, body_gen_params),
	KUNIT_CASE_PARAM(codec_any_byte, body_gen_params),
	KUNIT_CASE_PARAM(codec_names, name_gen_params),
	KUNIT_CASE(codec_lengths),
	KUNIT_CASE(codec_wrap_around),
	KUNIT_CASE(codec_encoder_refuses),
	KUNIT_CASE(codec_labels),
	KUNIT_CASE(codec_labels_told),
	KUNIT_CASE(codec_sticky),
	KUNIT_CASE(codec_empty),
	KUNIT_CASE(codec_pad),
	KUNIT_CASE(codec_noise),
	{}
};

static struct kunit_suite codec_suite = {
	.name = "rdmafs_proto_codec",
	.test_cases = codec_cases,
};

kunit_test_suite(codec_suite);

MODULE_DESCRIPTION("KUnit suites of rdmafs' protocol library");
MODULE_LICENSE("GPL");
