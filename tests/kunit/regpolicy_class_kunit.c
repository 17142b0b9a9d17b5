// SPDX-License-Identifier: GPL-2.0
/*
 * Suites rdmafs_regpolicy_class and rdmafs_regpolicy_quota: the classes of MRs, and the parsing of
 * quotas and tunables as an administrator writes them.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include "regpolicy/regpolicy.h"

struct class_case {
	const char *desc;
	u32 entries;
	u32 device_max;
	int class;
};

static const struct class_case class_table[] = {
	{ "nothing",		0,	512,	-EINVAL },
	{ "one",		1,	512,	0 },
	{ "8",			8,	512,	0 },
	{ "9",			9,	512,	1 },
	{ "128 KiB unaligned",	33,	512,	1 },
	{ "34",			34,	512,	2 },
	{ "512 KiB unaligned",	129,	512,	2 },
	{ "130",		130,	512,	3 },
	{ "1 MiB unaligned",	257,	512,	3 },
	{ "258",		258,	512,	4 },
	{ "2 MiB unaligned",	513,	2048,	4 },
	{ "513 on a 512 device", 513,	512,	-E2BIG },
	{ "4 MiB unaligned",	1025,	2048,	5 },
	{ "1026",		1026,	2048,	-E2BIG },
	{ "U32_MAX",		U32_MAX, U32_MAX, -E2BIG },
	{ "256 on a 256 device", 256,	256,	3 },
	{ "257 on a 256 device", 257,	256,	-E2BIG },
	{ "100 on a 100 device", 100,	100,	2 },
	{ "101 on a 100 device", 101,	100,	-E2BIG },
	{ "4 on a 4 device",	4,	4,	0 },
	{ "5 on a 4 device",	5,	4,	-E2BIG },
	{ "device without MRs",	1,	0,	-E2BIG },
};

static void class_desc(const struct class_case *c, char *desc)
{
	strscpy(desc, c->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(class, class_table, class_desc);

static void class_for(struct kunit *test)
{
	const struct class_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, rpol_class_for(c->entries, c->device_max), c->class);
}

static void class_entries(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rpol_class_entries(0, 512), 8);
	KUNIT_EXPECT_EQ(test, rpol_class_entries(1, 512), 33);
	KUNIT_EXPECT_EQ(test, rpol_class_entries(2, 512), 129);
	KUNIT_EXPECT_EQ(test, rpol_class_entries(3, 512), 257);
	KUNIT_EXPECT_EQ(test, rpol_class_entries(5, 512), 512);
	KUNIT_EXPECT_EQ(test, rpol_class_entries(5, 2048), RPOL_CLASS_MAX);
	KUNIT_EXPECT_EQ(test, rpol_class_entries(3, 256), 256);
	KUNIT_EXPECT_EQ(test, rpol_class_entries(2, 100), 100);
	KUNIT_EXPECT_EQ(test, rpol_class_entries(3, 100), 100);
	KUNIT_EXPECT_EQ(test, rpol_class_entries(RPOL_NR_CLASSES, 512), 0);
	KUNIT_EXPECT_EQ(test, rpol_class_entries(UINT_MAX, 512), 0);
}

/*
 * For each transfer on each device, the class found must hold the transfer, and the next smaller
 * one must not.  A transfer that is refused must be too large for the largest class.
 */
static void class_is_the_smallest(struct kunit *test)
{
	u32 entries, max;
	int class;

	for (max = 1; max <= 1100; max += 7) {
		for (entries = 1; entries <= 1100; entries++) {
			class = rpol_class_for(entries, max);
			if (class == -E2BIG) {
				KUNIT_ASSERT_GT(test, entries,
						rpol_class_entries(RPOL_NR_CLASSES - 1, max));
				continue;
			}
			KUNIT_ASSERT_GE(test, class, 0);
			KUNIT_ASSERT_LE(test, entries, rpol_class_entries(class, max));
			if (class)
				KUNIT_ASSERT_GT(test, entries, rpol_class_entries(class - 1, max));
		}
	}
}

/*
 * A device has few MRs.  The capacity and the charges derived from their number must be such that
 * the capacity is used up, by MRs of whichever class, before the device is out of MRs.
 */
static void class_few_mrs(struct kunit *test)
{
	static const u32 device_max[] = { 8, 16, 33, 256, 1025, 65536 };
	static const u64 most = 1 << 20;
	unsigned int class, d;
	u64 capacity, mrs;
	u32 least;

	for (mrs = 1; mrs < 1 << 24; mrs += 1 + mrs / 3) {
		for (d = 0; d < ARRAY_SIZE(device_max); d++) {
			capacity = rpol_capacity_for(mrs, device_max[d], most, &least);
			KUNIT_ASSERT_GE(test, capacity, RPOL_CAPACITY_MIN);
			KUNIT_ASSERT_LE(test, capacity, most);
			for (class = 0; class < RPOL_NR_CLASSES; class++) {
				u32 charge = rpol_class_charge(class, device_max[d], least);

				KUNIT_ASSERT_GE(test, charge,
						rpol_class_entries(class, device_max[d]));
				KUNIT_ASSERT_LE(test, capacity / charge, mrs);
			}
		}
	}
	/* If the device has enough MRs, each is charged the entries that it holds. */
	KUNIT_EXPECT_EQ(test, rpol_capacity_for(1 << 17, 1025, most, &least), most);
	KUNIT_EXPECT_EQ(test, rpol_class_charge(0, 1025, least), 8);
	/* With half of 131,072 MRs a small one is charged twice as much. */
	KUNIT_EXPECT_EQ(test, rpol_capacity_for(1 << 16, 1025, most, &least), most);
	KUNIT_EXPECT_EQ(test, rpol_class_charge(0, 1025, least), 16);
	KUNIT_EXPECT_EQ(test, rpol_class_charge(1, 1025, least), 33);
	KUNIT_EXPECT_EQ(test, rpol_class_charge(RPOL_NR_CLASSES, 1025, least), 0);
}

static struct kunit_case class_cases[] = {
	KUNIT_CASE_PARAM(class_for, class_gen_params),
	KUNIT_CASE(class_entries),
	KUNIT_CASE(class_is_the_smallest),
	KUNIT_CASE(class_few_mrs),
	{}
};

static struct kunit_suite class_suite = {
	.name = "rdmafs_regpolicy_class",
	.test_cases = class_cases,
};

kunit_test_suite(class_suite);

struct quota_case {
	const char *text;
	struct rpol_quota want;
};

/* The quota before each text is parsed; fields that the text does not name must keep its values. */
static const struct rpol_quota quota_before = { .min = 10, .max = 1000, .weight = 77 };

static const struct quota_case good_table[] = {
	{ "min=64 max=4096 weight=200",		{ 64, 4096, 200 } },
	{ "weight=200 max=4096 min=64",		{ 64, 4096, 200 } },
	{ "min=64",				{ 64, 1000, 77 } },
	{ "min=0",				{ 0, 1000, 77 } },
	{ "max=10",				{ 10, 10, 77 } },
	{ "max=none",				{ 10, RPOL_NO_MAX, 77 } },
	{ "max=none min=5000",			{ 5000, RPOL_NO_MAX, 77 } },
	{ "min=5000 max=6000",			{ 5000, 6000, 77 } },
	{ "weight=1",				{ 10, 1000, 1 } },
	{ "weight=10000",			{ 10, 1000, 10000 } },
	{ "weight=00100",			{ 10, 1000, 100 } },
	{ "  min=64\t\tmax=128  ",		{ 64, 128, 77 } },
	{ "min=64\nmax=128\n",			{ 64, 128, 77 } },
	{ "min=64\r\n",				{ 64, 1000, 77 } },
	{ "max=18446744073709551615",		{ 10, RPOL_NO_MAX, 77 } },
	{ "max=18446744073709551614",		{ 10, RPOL_NO_MAX - 1, 77 } },
};

static const char *const bad_table[] = {
	"", " ", "\n", "\t\n",
	"min", "min=", "min= 64", "min =64", "= 64", "=", "64",
	"min=-1", "min=+1", "min=0x40", "min=64k", "min=6 4", "min=1.5", "min=1,max=2",
	"min=none", "weight=none", "max=None", "max=nones", "max=non", "max=",
	"MIN=64", "mins=64", "xmin=64", "minmax=1", "shares=1", "min=64 shares=1",
	"min=18446744073709551616", "max=99999999999999999999999", "max=184467440737095516160",
	"weight=0", "weight=10001", "weight=4294967297", "weight=18446744073709551617",
	"weight=-1",
	"min=1001", "max=9", "min=200 max=100", "max=0",
	"min=64 min=64", "max=2000 max=none", "weight=1 min=2 weight=1",
	"min=64;max=128", "min=64 max=128 junk", "junk min=64", "min=64 \x01",
	"min=\xd9\xa1", "min=64\xa0", "min=64\vmax=128",
};

static void good_desc(const struct quota_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%*pE", (int)strlen(c->text), c->text);
}

static void bad_desc(const char *const *text, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "'%*pE'", (int)strlen(*text), *text);
}

KUNIT_ARRAY_PARAM(good, good_table, good_desc);
KUNIT_ARRAY_PARAM(bad, bad_table, bad_desc);

/* A valid text must set the fields that it names, and no others. */
static void quota_good(struct kunit *test)
{
	const struct quota_case *c = test->param_value;
	struct rpol_quota q = quota_before;

	KUNIT_EXPECT_EQ(test, rpol_quota_parse(c->text, &q), 0);
	KUNIT_EXPECT_EQ(test, q.min, c->want.min);
	KUNIT_EXPECT_EQ(test, q.max, c->want.max);
	KUNIT_EXPECT_EQ(test, q.weight, c->want.weight);
}

/* A text that is not valid must be refused, and change nothing. */
static void quota_bad(struct kunit *test)
{
	const char *const *text = test->param_value;
	struct rpol_quota q = quota_before;

	KUNIT_EXPECT_EQ(test, rpol_quota_parse(*text, &q), -EINVAL);
	KUNIT_EXPECT_EQ(test, q.min, quota_before.min);
	KUNIT_EXPECT_EQ(test, q.max, quota_before.max);
	KUNIT_EXPECT_EQ(test, q.weight, quota_before.weight);
}

static const struct rpol_tunables tun_before = {
	.discipline = RPOL_FIFO, .replacement = RPOL_RANDOM, .low = 10, .high = 20, .idle_ms = 5000,
};

static const char *const bad_tunables[] = {
	"", " ", "discipline", "discipline=", "discipline=Fair", "discipline=fairly",
	"discipline=0", "replacement=mru", "replacement=lru,lfu", "low=-1", "low=1k",
	"low=18446744073709551616", "idle_ms=4294967296", "idle_ms=none", "min=1", "low=1 min=2",
	"low=1 low=2", "discipline=fair discipline=fair", "discipline=fair;low=1",
};

/* The same for the tunables of a domain. */
static void tunables_parse(struct kunit *test)
{
	struct rpol_tunables t = tun_before;
	size_t i;

	KUNIT_EXPECT_EQ(test, rpol_tunables_parse("discipline=fair", &t), 0);
	KUNIT_EXPECT_EQ(test, t.discipline, RPOL_FAIR);
	KUNIT_EXPECT_EQ(test, t.replacement, tun_before.replacement);
	KUNIT_EXPECT_EQ(test, t.low, tun_before.low);
	KUNIT_EXPECT_EQ(test, rpol_tunables_parse(" replacement=lfu\tlow=1 high=2 idle_ms=3\n", &t),
			0);
	KUNIT_EXPECT_EQ(test, t.discipline, RPOL_FAIR);
	KUNIT_EXPECT_EQ(test, t.replacement, RPOL_LFU);
	KUNIT_EXPECT_EQ(test, t.low, 1);
	KUNIT_EXPECT_EQ(test, t.high, 2);
	KUNIT_EXPECT_EQ(test, t.idle_ms, 3);
	KUNIT_EXPECT_EQ(test, rpol_tunables_parse("replacement=lru", &t), 0);
	KUNIT_EXPECT_EQ(test, t.replacement, RPOL_LRU);

	for (i = 0; i < ARRAY_SIZE(bad_tunables); i++) {
		t = tun_before;
		KUNIT_EXPECT_EQ_MSG(test, rpol_tunables_parse(bad_tunables[i], &t), -EINVAL, "%s",
				    bad_tunables[i]);
		KUNIT_EXPECT_MEMEQ(test, &t, &tun_before, sizeof(t));
	}
	KUNIT_EXPECT_STREQ(test, rpol_discipline_name(RPOL_FIFO), "fifo");
	KUNIT_EXPECT_STREQ(test, rpol_replacement_name(RPOL_LRU), "lru");
}

static struct kunit_case quota_cases[] = {
	KUNIT_CASE_PARAM(quota_good, good_gen_params),
	KUNIT_CASE_PARAM(quota_bad, bad_gen_params),
	KUNIT_CASE(tunables_parse),
	{}
};

static struct kunit_suite quota_suite = {
	.name = "rdmafs_regpolicy_quota",
	.test_cases = quota_cases,
};

kunit_test_suite(quota_suite);

MODULE_DESCRIPTION("KUnit suites of rdmafs' registration policy");
MODULE_LICENSE("GPL");
