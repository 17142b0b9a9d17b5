// SPDX-License-Identifier: GPL-2.0
/*
 * Quotas as an administrator writes them: "min=64 max=4096 weight=200".
 *
 * Strict on purpose.  A quota that is half understood gives a mount a share
 * that nobody asked for, so there are no signs, no hexadecimal, no suffixes,
 * and a word that is not known refuses the whole line.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/limits.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/types.h>
#include "regpolicy/quota.h"
#include "regpolicy/regpolicy.h"

enum quota_key { KEY_MIN, KEY_MAX, KEY_WEIGHT, NR_KEYS };

static const char *const key_names[NR_KEYS] = {
	[KEY_MIN]	= "min=",
	[KEY_MAX]	= "max=",
	[KEY_WEIGHT]	= "weight=",
};

/* isspace() would take 0xa0 and form feeds as well. */
static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The number that is all of the @len bytes at @s. */
static int parse_number(const char *s, size_t len, u64 *value)
{
	u64 v = 0;
	size_t i;

	if (!len)
		return -EINVAL;
	for (i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -EINVAL;
		if (check_mul_overflow(v, (u64)10, &v) ||
		    check_add_overflow(v, (u64)(s[i] - '0'), &v))
			return -EINVAL;
	}
	*value = v;
	return 0;
}

static int parse_value(struct rpol_quota *quota, enum quota_key key, const char *s, size_t len)
{
	u64 value;
	int ret;

	if (key == KEY_MAX && len == strlen("none") && !memcmp(s, "none", len)) {
		quota->max = RPOL_NO_MAX;
		return 0;
	}
	ret = parse_number(s, len, &value);
	if (ret)
		return ret;
	switch (key) {
	case KEY_MIN:
		quota->min = value;
		return 0;
	case KEY_MAX:
		quota->max = value;
		return 0;
	case KEY_WEIGHT:
		if (value > RPOL_WEIGHT_MAX)
			return -EINVAL;
		quota->weight = value;
		return 0;
	default:
		return -EINVAL;
	}
}

static int parse_word(struct rpol_quota *quota, unsigned int *seen, const char *s, size_t len)
{
	size_t name_len;
	unsigned int i;

	for (i = 0; i < NR_KEYS; i++) {
		name_len = strlen(key_names[i]);
		if (len < name_len || memcmp(s, key_names[i], name_len))
			continue;
		if (*seen & (1U << i))
			return -EINVAL;
		*seen |= 1U << i;
		return parse_value(quota, i, s + name_len, len - name_len);
	}
	return -EINVAL;
}

/**
 * rpol_quota_valid - whether a quota is one that a member can have
 * @quota: as given
 *
 * Return: true if so.  Whether its minimum fits the domain is not asked here.
 */
bool rpol_quota_valid(const struct rpol_quota *quota)
{
	return quota->min <= quota->max &&
	       quota->weight >= 1 && quota->weight <= RPOL_WEIGHT_MAX;
}

/**
 * rpol_quota_parse - read a quota as an administrator writes it
 * @text: any of min=N, max=N or max=none, weight=N, each at most once, in any
 *	  order, separated by white space
 * @quota: what is not named keeps its value; unchanged unless 0 is returned
 *
 * Return: 0, or -EINVAL for anything but that, for a quota that contradicts
 * itself, and for a text that names nothing.
 */
int rpol_quota_parse(const char *text, struct rpol_quota *quota)
{
	struct rpol_quota q = *quota;
	unsigned int seen = 0;
	const char *word;
	int ret;

	for (;;) {
		while (is_blank(*text))
			text++;
		if (!*text)
			break;
		word = text;
		while (*text && !is_blank(*text))
			text++;
		ret = parse_word(&q, &seen, word, text - word);
		if (ret)
			return ret;
	}
	if (!seen || !rpol_quota_valid(&q))
		return -EINVAL;
	*quota = q;
	return 0;
}
EXPORT_SYMBOL_GPL(rpol_quota_parse);
