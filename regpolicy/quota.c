// SPDX-License-Identifier: GPL-2.0
/*
 * Quotas and tunables as an administrator writes them: "min=64 max=4096
 * weight=200", "discipline=fair idle_ms=5000".
 *
 * The parser is strict on purpose.  A quota that is half understood would give a
 * mount a share that the administrator did not ask for.  So there are no signs, no
 * hexadecimal and no suffixes, and one unknown word refuses the whole line.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/limits.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/types.h>
#include "regpolicy/quota.h"
#include "regpolicy/regpolicy.h"

enum key {
	KEY_MIN, KEY_MAX, KEY_WEIGHT,
	KEY_DISCIPLINE, KEY_REPLACEMENT, KEY_LOW, KEY_HIGH, KEY_IDLE_MS,
	NR_KEYS
};

static const char *const key_names[NR_KEYS] = {
	[KEY_MIN]		= "min=",
	[KEY_MAX]		= "max=",
	[KEY_WEIGHT]		= "weight=",
	[KEY_DISCIPLINE]	= "discipline=",
	[KEY_REPLACEMENT]	= "replacement=",
	[KEY_LOW]		= "low=",
	[KEY_HIGH]		= "high=",
	[KEY_IDLE_MS]		= "idle_ms=",
};

static const char *const discipline_names[RPOL_NR_DISCIPLINES] = {
	[RPOL_FAIR] = "fair",
	[RPOL_FIFO] = "fifo",
};

static const char *const replacement_names[RPOL_NR_REPLACEMENTS] = {
	[RPOL_LRU]	= "lru",
	[RPOL_LFU]	= "lfu",
	[RPOL_RANDOM]	= "random",
};

/* Where the values of a line go: one of the two is not NULL. */
struct target {
	struct rpol_quota *quota;
	struct rpol_tunables *tun;
};

/* Not isspace(), which accepts 0xa0 and form feeds as well. */
static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Parses a decimal number that takes all of the @len bytes at @s. */
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

static int parse_name(const char *const *names, u32 nr, const char *s, size_t len, u32 *value)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (strlen(names[i]) == len && !memcmp(s, names[i], len)) {
			*value = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_u32(const char *s, size_t len, u32 max, u32 *value)
{
	u64 v;
	int ret = parse_number(s, len, &v);

	if (ret || v > max)
		return -EINVAL;
	*value = v;
	return 0;
}

static int parse_quota(struct rpol_quota *quota, enum key key, const char *s, size_t len)
{
	switch (key) {
	case KEY_MIN:
		return parse_number(s, len, &quota->min);
	case KEY_MAX:
		if (len == strlen("none") && !memcmp(s, "none", len)) {
			quota->max = RPOL_NO_MAX;
			return 0;
		}
		return parse_number(s, len, &quota->max);
	case KEY_WEIGHT:
		return parse_u32(s, len, RPOL_WEIGHT_MAX, &quota->weight);
	default:
		return -EINVAL;
	}
}

static int parse_tunable(struct rpol_tunables *tun, enum key key, const char *s, size_t len)
{
	switch (key) {
	case KEY_DISCIPLINE:
		return parse_name(discipline_names, RPOL_NR_DISCIPLINES, s, len,
				  &tun->discipline);
	case KEY_REPLACEMENT:
		return parse_name(replacement_names, RPOL_NR_REPLACEMENTS, s, len,
				  &tun->replacement);
	case KEY_LOW:
		return parse_number(s, len, &tun->low);
	case KEY_HIGH:
		return parse_number(s, len, &tun->high);
	case KEY_IDLE_MS:
		return parse_u32(s, len, U32_MAX, &tun->idle_ms);
	default:
		return -EINVAL;
	}
}

static int parse_word(const struct target *to, unsigned int *seen, const char *s, size_t len)
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
		if (to->quota)
			return parse_quota(to->quota, i, s + name_len, len - name_len);
		return parse_tunable(to->tun, i, s + name_len, len - name_len);
	}
	return -EINVAL;
}

/* Parses words separated by white space: at least one, and each at most once. */
static int parse_line(const struct target *to, const char *text)
{
	unsigned int seen = 0;
	const char *word;
	int ret;

	for (;;) {
		while (is_blank(*text))
			text++;
		if (!*text)
			return seen ? 0 : -EINVAL;
		word = text;
		while (*text && !is_blank(*text))
			text++;
		ret = parse_word(to, &seen, word, text - word);
		if (ret)
			return ret;
	}
}

/**
 * rpol_quota_valid - test whether a quota does not contradict itself
 * @quota: the quota
 *
 * Whether its minimum fits into the domain is for the caller to check.
 *
 * Context: any.
 * Return: true if a member can have it.
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
 * @quota: gets the values; a value that is not named stays as it is, and all stay unless 0
 *	   is returned
 *
 * Context: any.
 * Return: 0, or -EINVAL for any other text, also one without a word, and for a quota
 * that contradicts itself.
 */
int rpol_quota_parse(const char *text, struct rpol_quota *quota)
{
	struct rpol_quota q = *quota;
	const struct target to = { .quota = &q };

	if (parse_line(&to, text) || !rpol_quota_valid(&q))
		return -EINVAL;
	*quota = q;
	return 0;
}
EXPORT_SYMBOL_GPL(rpol_quota_parse);

/**
 * rpol_tunables_parse - read a domain's tunables as an administrator writes them
 * @text: any of discipline=fair|fifo, replacement=lru|lfu|random, low=N,
 *	  high=N, idle_ms=N, each at most once, in any order, separated by white
 *	  space
 * @tun:  gets the values; a value that is not named stays as it is, and all stay unless 0
 *	  is returned
 *
 * rpol_domain_set_tunables() checks whether the values fit together.
 *
 * Context: any.
 * Return: 0, or -EINVAL for any other text, also one without a word.
 */
int rpol_tunables_parse(const char *text, struct rpol_tunables *tun)
{
	struct rpol_tunables t = *tun;
	const struct target to = { .tun = &t };

	if (parse_line(&to, text))
		return -EINVAL;
	*tun = t;
	return 0;
}
EXPORT_SYMBOL_GPL(rpol_tunables_parse);

/**
 * rpol_discipline_name - look up how a discipline is written
 * @discipline: enum rpol_discipline
 *
 * Context: any.
 * Return: the name; "?" if there is no such discipline.
 */
const char *rpol_discipline_name(u32 discipline)
{
	return discipline < RPOL_NR_DISCIPLINES ? discipline_names[discipline] : "?";
}
EXPORT_SYMBOL_GPL(rpol_discipline_name);

/**
 * rpol_replacement_name - look up how a replacement policy is written
 * @replacement: enum rpol_replacement
 *
 * Context: any.
 * Return: the name; "?" if there is no such policy.
 */
const char *rpol_replacement_name(u32 replacement)
{
	return replacement < RPOL_NR_REPLACEMENTS ? replacement_names[replacement] : "?";
}
EXPORT_SYMBOL_GPL(rpol_replacement_name);
