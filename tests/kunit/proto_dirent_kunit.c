// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_proto_dirent: encoding directory entries into a reply, and decoding entries, also
 * those that no honest server would send.
 */
#include <kunit/test.h>
#include <linux/fs_types.h>
#include <linux/prandom.h>
#include <linux/unaligned.h>
#include "proto_golden.h"

/* Offsets of the fields of an entry. */
enum {
	OFF_REC_LEN	= 16,
	OFF_NAME_LEN	= 18,
	OFF_FH_LEN	= 20,
	OFF_TYPE		= 22,
	OFF_FLAGS	= 23,
	OFF_REST		= 24,
};

/* "hello" without attributes: 24 + 5, and 3 to the next multiple of 8. */
static const u8 gold_short[] = {
	0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,	/* cookie */
	0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,	/* ino */
	0x20, 0x00,					/* rec_len */
	0x05, 0x00,					/* name_len */
	0x00, 0x00,					/* fh_len */
	0x08,						/* type: regular */
	0x00,						/* flags */
	'h', 'e', 'l', 'l', 'o',
	0x00, 0x00, 0x00,
};

/* The head of the same with attributes and a handle of 4: 24 + 136 + 4 + 5 + 7. */
static const u8 gold_long_head[] = {
	0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,	/* cookie */
	0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,	/* ino */
	0xb0, 0x00,					/* rec_len */
	0x05, 0x00,					/* name_len */
	0x04, 0x00,					/* fh_len */
	0x08,						/* type: regular */
	0x01,						/* flags: with attributes */
};

#define SHORT_LEN	sizeof(gold_short)
#define LONG_LEN	176
#define LONG_PAD	7
#define COOKIE		0x1817161514131211ULL
#define INO		0x2827262524232221ULL

static void compose_long(u8 *buf)
{
	memset(buf, 0, LONG_LEN);
	memcpy(buf, gold_long_head, OFF_REST);
	memcpy(buf + OFF_REST, gold_attr_bytes, sizeof(gold_attr_bytes));
	memcpy(buf + 160, gold_fh.data, gold_fh.len);
	memcpy(buf + 164, GOLD_NAME, strlen(GOLD_NAME));
}

static int decode_one(const u8 *buf, size_t len, struct rfp_dirent_view *view)
{
	struct rfp_dec d;
	int ret;

	rfp_dec_init(&d, buf, len);
	ret = rfp_dec_dirent(&d, view);
	if (ret == 1)
		ret = rfp_dec_end(&d) ?: 1;
	return ret;
}

static u8 *long_entry(struct kunit *test)
{
	u8 *buf = kunit_kmalloc(test, LONG_LEN, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, buf);
	compose_long(buf);
	return buf;
}

/* An entry without attributes must encode to the golden bytes, and decode from them. */
static void dirent_golden_short(struct kunit *test)
{
	struct rfp_dirent_view view;
	u8 buf[SHORT_LEN + 1];
	struct rfp_enc e;

	memset(buf, 0xff, sizeof(buf));
	rfp_enc_init(&e, buf, sizeof(buf));
	KUNIT_ASSERT_TRUE(test, rfp_enc_dirent(&e, COOKIE, INO, DT_REG, GOLD_NAME, 5, NULL, NULL));
	KUNIT_ASSERT_EQ(test, rfp_enc_len(&e), (int)SHORT_LEN);
	KUNIT_EXPECT_MEMEQ(test, buf, gold_short, SHORT_LEN);
	KUNIT_EXPECT_EQ(test, buf[SHORT_LEN], 0xff);

	KUNIT_ASSERT_EQ(test, decode_one(gold_short, SHORT_LEN, &view), 1);
	KUNIT_EXPECT_EQ(test, view.cookie, COOKIE);
	KUNIT_EXPECT_EQ(test, view.ino, INO);
	KUNIT_EXPECT_EQ(test, view.type, DT_REG);
	KUNIT_EXPECT_NULL(test, view.attr);
	KUNIT_EXPECT_EQ(test, view.fh.len, 0);
	KUNIT_ASSERT_EQ(test, view.name.len, 5);
	KUNIT_EXPECT_MEMEQ(test, view.name.s, GOLD_NAME, 5);
}

/* The same for an entry with attributes and a handle. */
static void dirent_golden_long(struct kunit *test)
{
	struct rfp_dirent_view view;
	u8 *gold = long_entry(test);
	struct rfp_attr attr;
	struct rfp_enc e;
	u8 *buf;

	buf = kunit_kmalloc(test, LONG_LEN, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	memset(buf, 0xff, LONG_LEN);
	fill_attr(&attr);
	rfp_enc_init(&e, buf, LONG_LEN);
	KUNIT_ASSERT_TRUE(test, rfp_enc_dirent(&e, COOKIE, INO, DT_REG, GOLD_NAME, 5, &attr,
					       &gold_fh));
	KUNIT_ASSERT_EQ(test, rfp_enc_len(&e), LONG_LEN);
	KUNIT_EXPECT_MEMEQ(test, buf, gold, LONG_LEN);

	KUNIT_ASSERT_EQ(test, decode_one(gold, LONG_LEN, &view), 1);
	KUNIT_EXPECT_EQ(test, view.cookie, COOKIE);
	KUNIT_EXPECT_EQ(test, view.ino, INO);
	KUNIT_ASSERT_NOT_NULL(test, view.attr);
	KUNIT_EXPECT_MEMEQ(test, view.attr, &attr, sizeof(attr));
	KUNIT_ASSERT_EQ(test, view.fh.len, gold_fh.len);
	KUNIT_EXPECT_MEMEQ(test, view.fh.data, gold_fh.data, gold_fh.len);
	KUNIT_ASSERT_EQ(test, view.name.len, 5);
	KUNIT_EXPECT_MEMEQ(test, view.name.s, GOLD_NAME, 5);
}

/*
 * Entries of all lengths are encoded until one does not fit.  That one must leave the buffer as
 * it was, and all others must be decoded again.
 */
static void dirent_fill(struct kunit *test)
{
	char name[RFP_NAME_MAX + 1];
	struct rfp_dirent_view view;
	unsigned int packed = 0, i;
	struct rfp_fh fh = {};
	struct rfp_attr attr;
	struct rfp_enc e;
	struct rfp_dec d;
	int before;
	u8 *buf;

	buf = kunit_kmalloc(test, 4096, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	fill_attr(&attr);
	memset(name, 'n', sizeof(name));
	rfp_enc_init(&e, buf, 4096);
	for (;;) {
		fh.len = packed % RFP_FH_MAX + 1;
		before = rfp_enc_len(&e);
		if (!rfp_enc_dirent(&e, packed + 1, packed, DT_DIR, name, packed % RFP_NAME_MAX + 1,
				    packed & 1 ? &attr : NULL, packed & 1 ? &fh : NULL))
			break;
		packed++;
	}
	KUNIT_EXPECT_GT(test, packed, 20U);
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), before);

	rfp_dec_init(&d, buf, rfp_enc_len(&e));
	for (i = 0; i < packed; i++) {
		KUNIT_ASSERT_EQ(test, rfp_dec_dirent(&d, &view), 1);
		KUNIT_EXPECT_EQ(test, view.cookie, (u64)i + 1);
		KUNIT_EXPECT_EQ(test, view.name.len, i % RFP_NAME_MAX + 1);
		KUNIT_EXPECT_EQ(test, view.fh.len, i & 1 ? i % RFP_FH_MAX + 1 : 0);
		KUNIT_EXPECT_EQ(test, !view.attr, !(i & 1));
	}
	KUNIT_EXPECT_EQ(test, rfp_dec_dirent(&d, &view), 0);
	KUNIT_EXPECT_EQ(test, rfp_dec_dirent(&d, &view), 0);
	KUNIT_EXPECT_EQ(test, rfp_dec_end(&d), 0);
}

/* The largest entry must fit into 544 bytes, and be refused in every smaller buffer. */
static void dirent_largest(struct kunit *test)
{
	struct rfp_fh fh = { .len = RFP_FH_MAX };
	char name[RFP_NAME_MAX + 1];
	struct rfp_dirent_view view;
	struct rfp_attr attr;
	struct rfp_enc e;
	int room;
	u8 *buf;

	fill_attr(&attr);
	memset(name, 'n', sizeof(name));
	memset(fh.data, 0xab, sizeof(fh.data));
	for (room = 0; room <= 544; room++) {
		buf = kunit_kmalloc(test, room, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, buf);
		rfp_enc_init(&e, buf, room);
		KUNIT_EXPECT_EQ(test, rfp_enc_dirent(&e, 1, 1, DT_REG, name, RFP_NAME_MAX, &attr,
						     &fh), room == 544);
		KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), room == 544 ? 544 : 0);
		if (room == 544)
			KUNIT_EXPECT_EQ(test, decode_one(buf, room, &view), 1);
		kunit_kfree(test, buf);
	}
}

/* Bad lengths, and attributes without a handle or the other way round, must be refused. */
static void dirent_encoder_refuses(struct kunit *test)
{
	struct rfp_fh long_fh = { .len = RFP_FH_MAX + 1 }, no_fh = {};
	struct rfp_attr attr = {};
	struct rfp_enc e;
	u8 *buf = kunit_kmalloc(test, 1024, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, buf);
	rfp_enc_init(&e, buf, 1024);
	KUNIT_EXPECT_FALSE(test, rfp_enc_dirent(&e, 1, 1, 0, "", 0, NULL, NULL));
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);
	rfp_enc_init(&e, buf, 1024);
	KUNIT_EXPECT_FALSE(test, rfp_enc_dirent(&e, 1, 1, 0, "a", RFP_NAME_MAX + 1, NULL, NULL));
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);
	rfp_enc_init(&e, buf, 1024);
	KUNIT_EXPECT_FALSE(test, rfp_enc_dirent(&e, 1, 1, 0, "a", 1, &attr, NULL));
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);
	rfp_enc_init(&e, buf, 1024);
	KUNIT_EXPECT_FALSE(test, rfp_enc_dirent(&e, 1, 1, 0, "a", 1, NULL, &gold_fh));
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);
	rfp_enc_init(&e, buf, 1024);
	KUNIT_EXPECT_FALSE(test, rfp_enc_dirent(&e, 1, 1, 0, "a", 1, &attr, &no_fh));
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);
	rfp_enc_init(&e, buf, 1024);
	KUNIT_EXPECT_FALSE(test, rfp_enc_dirent(&e, 1, 1, 0, "a", 1, &attr, &long_fh));
	KUNIT_EXPECT_EQ(test, rfp_enc_len(&e), -EMSGSIZE);
}

/* An entry that is cut anywhere must be refused, and no byte behind the cut be read. */
static void dirent_truncated(struct kunit *test)
{
	struct rfp_dirent_view view;
	u8 *gold = long_entry(test);
	size_t cut;
	u8 *buf;

	KUNIT_EXPECT_EQ(test, decode_one(gold, 0, &view), 0);
	for (cut = 1; cut < LONG_LEN; cut++) {
		buf = kunit_kmalloc(test, cut, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, buf);
		memcpy(buf, gold, cut);
		KUNIT_EXPECT_EQ_MSG(test, decode_one(buf, cut, &view), -EBADMSG, "cut at %zu", cut);
		kunit_kfree(test, buf);
	}
}

/* Tries all values of a 16-bit field; all but the right one must be refused. */
static void dirent_every_value(struct kunit *test, unsigned int at)
{
	struct rfp_dirent_view view;
	u8 *buf = long_entry(test);
	u16 right = get_unaligned_le16(buf + at);
	unsigned int v;

	for (v = 0; v <= U16_MAX; v++) {
		put_unaligned_le16(v, buf + at);
		KUNIT_ASSERT_EQ_MSG(test, decode_one(buf, LONG_LEN, &view),
				    v == right ? 1 : -EBADMSG, "value %#x", v);
	}
}

/* A record length that is not the one of its contents must be refused. */
static void dirent_hostile_rec_len(struct kunit *test)
{
	dirent_every_value(test, OFF_REC_LEN);
}

/* With a shorter name the rest of the name is padding, which is refused because it is not 0. */
static void dirent_hostile_name_len(struct kunit *test)
{
	dirent_every_value(test, OFF_NAME_LEN);
}

/* A handle's length that leads out of the record must be refused. */
static void dirent_hostile_fh_len(struct kunit *test)
{
	struct rfp_dirent_view view;
	u8 *buf = long_entry(test);
	unsigned int v;
	int ret;

	/* A handle of up to 7 bytes more, with the name behind it, still ends in the record. */
	for (v = 0; v <= U16_MAX; v++) {
		put_unaligned_le16(v, buf + OFF_FH_LEN);
		ret = decode_one(buf, LONG_LEN, &view);
		if (v < 4 || v > 4 + LONG_PAD)
			KUNIT_ASSERT_EQ_MSG(test, ret, -EBADMSG, "value %#x", v);
		else if (v == 4)
			KUNIT_ASSERT_EQ(test, ret, 1);
		if (ret == 1)
			KUNIT_ASSERT_TRUE(test, view.name.s + view.name.len <=
					  (const char *)buf + LONG_LEN);
	}
}

/* Flags and types that do not exist must be refused. */
static void dirent_hostile_flags_and_type(struct kunit *test)
{
	static const u8 types[] = { DT_UNKNOWN, DT_FIFO, DT_CHR, DT_DIR, DT_BLK, DT_REG, DT_LNK,
				    DT_SOCK, DT_WHT };
	struct rfp_dirent_view view;
	u8 *buf = long_entry(test);
	unsigned int v;

	for (v = 0; v <= U8_MAX; v++) {
		buf[OFF_FLAGS] = v;
		KUNIT_EXPECT_EQ(test, decode_one(buf, LONG_LEN, &view),
				v == RFP_DIRENT_ATTR ? 1 : -EBADMSG);
	}
	buf[OFF_FLAGS] = RFP_DIRENT_ATTR;
	for (v = 0; v <= U8_MAX; v++) {
		buf[OFF_TYPE] = v;
		KUNIT_EXPECT_EQ(test, decode_one(buf, LONG_LEN, &view),
				memchr(types, v, sizeof(types)) ? 1 : -EBADMSG);
	}
}

/* Names that a client must not see in a directory must be refused. */
static void dirent_hostile_names(struct kunit *test)
{
	static const struct {
		const char *name;
		size_t len;
	} names[] = { { ".", 1 }, { "..", 2 }, { "a/b", 3 }, { "/", 1 }, { "a\0b", 3 } };
	struct rfp_dirent_view view;
	struct rfp_enc e;
	u8 buf[64];
	size_t i;

	/* The encoder takes any name: it relies on the file system that the name comes from. */
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		rfp_enc_init(&e, buf, sizeof(buf));
		KUNIT_ASSERT_TRUE(test, rfp_enc_dirent(&e, 1, 1, 0, names[i].name, names[i].len,
						       NULL, NULL));
		KUNIT_EXPECT_EQ_MSG(test, decode_one(buf, rfp_enc_len(&e), &view), -EBADMSG,
				    "name %zu", i);
	}
}

/* Padding that is not 0 must be refused. */
static void dirent_hostile_padding(struct kunit *test)
{
	struct rfp_dirent_view view;
	u8 *buf = long_entry(test);
	size_t i;

	for (i = LONG_LEN - LONG_PAD; i < LONG_LEN; i++) {
		buf[i] = 1;
		KUNIT_EXPECT_EQ(test, decode_one(buf, LONG_LEN, &view), -EBADMSG);
		buf[i] = 0;
	}
}

/* Two valid entries with random changes: each name that is decoded must lie in the buffer. */
static void dirent_noise(struct kunit *test)
{
	struct rfp_dirent_view view;
	unsigned int round, found = 0;
	const char *end;
	struct rnd_state rnd;
	struct rfp_dec d;
	size_t len, i;
	u8 *buf;

	prandom_seed_state(&rnd, 20060);
	for (round = 0; round < 20000; round++) {
		len = 2 * SHORT_LEN + prandom_u32_state(&rnd) % 64;
		buf = kunit_kzalloc(test, len, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, buf);
		memcpy(buf, gold_short, SHORT_LEN);
		memcpy(buf + SHORT_LEN, gold_short, SHORT_LEN);
		for (i = 0; i < 3; i++)
			buf[prandom_u32_state(&rnd) % len] = prandom_u32_state(&rnd) % 64;
		end = (const char *)buf + len;
		rfp_dec_init(&d, buf, len);
		while (rfp_dec_dirent(&d, &view) == 1) {
			found++;
			KUNIT_ASSERT_TRUE(test, view.name.s > (const char *)buf &&
					  view.name.s + view.name.len <= end);
		}
		kunit_kfree(test, buf);
	}
	KUNIT_EXPECT_GT(test, found, 1000U);
}

static struct kunit_case dirent_cases[] = {
	KUNIT_CASE(dirent_golden_short),
	KUNIT_CASE(dirent_golden_long),
	KUNIT_CASE(dirent_fill),
	KUNIT_CASE(dirent_largest),
	KUNIT_CASE(dirent_encoder_refuses),
	KUNIT_CASE(dirent_truncated),
	KUNIT_CASE(dirent_hostile_rec_len),
	KUNIT_CASE(dirent_hostile_name_len),
	KUNIT_CASE(dirent_hostile_fh_len),
	KUNIT_CASE(dirent_hostile_flags_and_type),
	KUNIT_CASE(dirent_hostile_names),
	KUNIT_CASE(dirent_hostile_padding),
	KUNIT_CASE(dirent_noise),
	{}
};

static struct kunit_suite dirent_suite = {
	.name = "rdmafs_proto_dirent",
	.test_cases = dirent_cases,
};

kunit_test_suite(dirent_suite);
