// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_server_record: the names of records, which are read from a disk where anything may
 * stand (fs/server/recordname.c).
 */
#include <kunit/test.h>
#include <linux/string.h>
#include "fs/server/record.h"

#define RECORD_EXPORT	0x0a1b2c3d
#define RECORD_NAME	"locks-000102030405060708090a0b0c0d0eff-80000001-0a1b2c3d"

static struct rdmafsd_record record_known(void)
{
	struct rdmafsd_record r = { .nr = 0x80000001, .export = RECORD_EXPORT };
	size_t i;

	for (i = 0; i < sizeof(r.client); i++)
		r.client[i] = i;
	r.client[sizeof(r.client) - 1] = 0xff;
	return r;
}

/* The name must be this one: a server has to find the records of the one before. */
static void record_named(struct kunit *test)
{
	struct rdmafsd_record r = record_known();
	char name[RDMAFSD_RECORD_LEN + 2];

	memset(name, 'x', sizeof(name));
	rdmafsd_record_name(&r, name);
	KUNIT_EXPECT_STREQ(test, name, RECORD_NAME);
	KUNIT_EXPECT_EQ(test, strlen(name), RDMAFSD_RECORD_LEN);
	KUNIT_EXPECT_EQ(test, name[RDMAFSD_RECORD_LEN + 1], 'x');
}

/* What was named must be read again. */
static void record_read(struct kunit *test)
{
	struct rdmafsd_record r = record_known(), back;

	memset(&back, 0, sizeof(back));
	KUNIT_ASSERT_TRUE(test, rdmafsd_record_parse(RECORD_NAME, RDMAFSD_RECORD_LEN, &back));
	KUNIT_EXPECT_EQ(test, back.nr, r.nr);
	KUNIT_EXPECT_EQ(test, back.export, r.export);
	KUNIT_EXPECT_MEMEQ(test, back.client, r.client, sizeof(r.client));
}

/* A name that differs in one byte, whichever, must be another record's or none. */
static void record_bytes(struct kunit *test)
{
	struct rdmafsd_record back;
	char name[RDMAFSD_RECORD_LEN + 1], again[RDMAFSD_RECORD_LEN + 1];
	unsigned int at, byte;

	for (at = 0; at < RDMAFSD_RECORD_LEN; at++) {
		for (byte = 0; byte < 256; byte++) {
			memcpy(name, RECORD_NAME, sizeof(name));
			name[at] = byte;
			if (!rdmafsd_record_parse(name, RDMAFSD_RECORD_LEN, &back))
				continue;
			rdmafsd_record_name(&back, again);
			KUNIT_EXPECT_MEMEQ_MSG(test, again, name, RDMAFSD_RECORD_LEN,
					       "byte %u is 0x%02x", at, byte);
		}
	}
}

/* All else that may stand there must be none. */
static void record_garbage(struct kunit *test)
{
	static const char * const none[] = {
		"",
		"locks-",
		"locks-000102030405060708090a0b0c0d0eff-00000000-0a1b2c3d",
		"locks-000102030405060708090A0B0C0D0EFF-80000001-0a1b2c3d",
		"locks-000102030405060708090a0b0c0d0eff-80000001-0A1B2C3D",
		"locks-000102030405060708090a0b0c0d0eff+80000001-0a1b2c3d",
		"locks_000102030405060708090a0b0c0d0eff-80000001-0a1b2c3d",
		"locks-000102030405060708090a0b0c0d0eff-80000001-0a1b2c3d0",
		"locks-000102030405060708090a0b0c0d0eff-80000001-0a1b2c3",
		"locks-000102030405060708090a0b0c0d0e f-80000001-0a1b2c3d",
		"0000000000000105-3f2c11aa-0a1b2c3d",
	};
	struct rdmafsd_record back;
	char name[RDMAFSD_RECORD_LEN];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(none); i++)
		KUNIT_EXPECT_FALSE_MSG(test, rdmafsd_record_parse(none[i], strlen(none[i]), &back),
				       "%s", none[i]);
	/* Names are not terminated, and may hold any byte. */
	memset(name, 0, sizeof(name));
	KUNIT_EXPECT_FALSE(test, rdmafsd_record_parse(name, sizeof(name), &back));
	memset(name, 0xff, sizeof(name));
	KUNIT_EXPECT_FALSE(test, rdmafsd_record_parse(name, sizeof(name), &back));
	KUNIT_EXPECT_FALSE(test, rdmafsd_record_parse(RECORD_NAME, 0, &back));
}

static struct kunit_case record_cases[] = {
	KUNIT_CASE(record_named),
	KUNIT_CASE(record_read),
	KUNIT_CASE(record_bytes),
	KUNIT_CASE(record_garbage),
	{}
};

static struct kunit_suite record_suite = {
	.name = "rdmafs_server_record",
	.test_cases = record_cases,
};

kunit_test_suite(record_suite);

MODULE_DESCRIPTION("KUnit suites of the server's rules");
MODULE_LICENSE("GPL");
