// SPDX-License-Identifier: GPL-2.0
/*
 * rdmafsctl export: adds, removes and lists exports.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "config.h"
#include "json.h"
#include "rdmafsctl.h"

/* Set an attribute by an option: NULL, or a message. */
static const char *apply_option(struct export *exp, char *option)
{
	static const struct {
		const char *name;
		enum attr attr;
		const char *value;
	} words[] = {
		{ "ro",		    ATTR_READ_ONLY, "1" },
		{ "rw",		    ATTR_READ_ONLY, "0" },
		{ "dev",	    ATTR_DEVICES, "1" },
		{ "nodev",	    ATTR_DEVICES, "0" },
		{ "root_squash",    ATTR_SQUASH, "root" },
		{ "no_root_squash", ATTR_SQUASH, "none" },
		{ "all_squash",	    ATTR_SQUASH, "all" },
		{ "mountpoint",	    ATTR_MOUNTPOINT, "1" },
		{ "nomountpoint",   ATTR_MOUNTPOINT, "0" },
		{ "crossmnt",	    ATTR_CROSSMNT, "1" },
		{ "nocrossmnt",	    ATTR_CROSSMNT, "0" },
		{ "security_label", ATTR_SECLABEL, "1" },
		{ "nosecurity_label", ATTR_SECLABEL, "0" },
	};
	static const enum attr values[] = {
		ATTR_ANONUID, ATTR_ANONGID, ATTR_ID, ATTR_XATTRS, ATTR_GRACE
	};
	char *value = strchr(option, '=');
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(option, words[i].name)) {
			export_set(exp, words[i].attr, words[i].value);
			return NULL;
		}
	if (!value)
		return "no such option";
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		const char *name = attr_names[values[i]];

		if (strlen(name) != (size_t)(value - option) ||
		    strncmp(option, name, value - option))
			continue;
		why = attr_check(values[i], value + 1);
		if (!why)
			export_set(exp, values[i], value + 1);
		return why;
	}
	return "no such option";
}

static int apply_options(struct export *exp, char *options)
{
	const char *why;
	char *option;

	while ((option = strsep(&options, ","))) {
		if (!*option)
			continue;
		why = apply_option(exp, option);
		if (why) {
			complain("option %s: %s", option, why);
			return EX_BAD;
		}
	}
	return EX_OK;
}

/* Read NAME, PATH and options, in any order, into @want. */
static int parse_add(int argc, char **argv, struct config *want)
{
	static const struct option longopts[] = {
		{ "options", required_argument, NULL, 'o' },
		{ }
	};
	struct export *exp;
	char *name;
	const char *why;
	int c, rc = EX_OK;

	exp = config_add_export(want, "");
	while (!rc && (c = getopt_long(argc, argv, "o:", longopts, NULL)) != -1)
		rc = c == 'o' ? apply_options(exp, optarg) : EX_BAD;
	if (rc)
		return rc;
	if (argc - optind != 2)
		return usage_error("export add wants a NAME and a PATH", NULL);
	name = name_clean(argv[optind]);
	free(exp->name);
	exp->name = name;
	why = name_check(exp->name);
	if (!why)
		why = attr_check(ATTR_PATH, argv[optind + 1]);
	if (why) {
		complain("export %s at %s: %s", argv[optind], argv[optind + 1], why);
		return EX_BAD;
	}
	export_set(exp, ATTR_PATH, argv[optind + 1]);
	export_fill_defaults(exp);
	return EX_OK;
}

/**
 * export_add - export a directory
 * @argc: number of arguments
 * @argv: the command's last word, and its arguments
 *
 * Return: an exit status.
 */
int export_add(int argc, char **argv)
{
	struct config want = { }, have = { };
	int rc;

	rc = parse_add(argc, argv, &want);
	if (!rc)
		rc = configfs_begin(true);
	if (!rc)
		rc = configfs_read(&have, false);
	if (!rc && config_find(&have, want.exports[0].name)) {
		complain("export %s: there is one already", want.exports[0].name);
		rc = EX_REFUSED;
	}
	if (!rc)
		rc = configfs_export_create(&want.exports[0], false);
	config_free(&want);
	config_free(&have);
	return rc;
}

static int remove_exports(struct config *have, const char *name)
{
	struct export *exp = NULL;
	int rc = EX_OK, one;
	size_t i;

	if (name) {
		exp = config_find(have, name);
		if (exp)
			return configfs_export_remove(exp);
		complain("export %s: there is no such export", name);
		return EX_REFUSED;
	}
	for (i = 0; i < have->nr_exports; i++) {
		one = configfs_export_remove(&have->exports[i]);
		if (one)
			rc = one;
	}
	return rc;
}

/**
 * export_remove - end an export, or all
 * @argc: number of arguments
 * @argv: the command's last word, and its arguments
 *
 * Return: an exit status.
 */
int export_remove(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "all", no_argument, NULL, 'a' },
		{ }
	};
	struct config have = { };
	bool all = false;
	char *name = NULL;
	int c, rc;

	while ((c = getopt_long(argc, argv, "a", longopts, NULL)) != -1) {
		if (c != 'a')
			return EX_BAD;
		all = true;
	}
	if (argc - optind != !all)
		return usage_error("export remove wants a NAME or --all", NULL);
	if (!all)
		name = name_clean(argv[optind]);
	rc = configfs_begin(true);
	if (!rc)
		rc = configfs_read(&have, false);
	if (!rc)
		rc = remove_exports(&have, name);
	free(name);
	config_free(&have);
	return rc;
}

static void print_export(const struct export *exp)
{
	const char *squash = exp->attr[ATTR_SQUASH];

	printf("%-20s %s (%s,%s", exp->name, exp->attr[ATTR_PATH],
	       strcmp(exp->attr[ATTR_READ_ONLY], "1") ? "rw" : "ro",
	       !strcmp(squash, "none") ? "no_root_squash" :
	       !strcmp(squash, "all") ? "all_squash" : "root_squash");
	if (strcmp(exp->attr[ATTR_ANONUID], ANON_ID))
		printf(",anonuid=%s", exp->attr[ATTR_ANONUID]);
	if (strcmp(exp->attr[ATTR_ANONGID], ANON_ID))
		printf(",anongid=%s", exp->attr[ATTR_ANONGID]);
	if (!strcmp(exp->attr[ATTR_DEVICES], "1"))
		fputs(",dev", stdout);
	if (strcmp(exp->attr[ATTR_XATTRS], "user"))
		printf(",xattrs=%s", exp->attr[ATTR_XATTRS]);
	if (!strcmp(exp->attr[ATTR_MOUNTPOINT], "1"))
		printf(",mountpoint");
	if (!strcmp(exp->attr[ATTR_CROSSMNT], "1"))
		printf(",crossmnt");
	if (!strcmp(exp->attr[ATTR_SECLABEL], "1"))
		printf(",security_label");
	if (strcmp(exp->attr[ATTR_GRACE], GRACE_S))
		printf(",grace_s=%s", exp->attr[ATTR_GRACE]);
	printf(",id=%s)%s\n", exp->attr[ATTR_ID], exp->enable ? "" : " not enabled");
}

static void print_exports_json(const struct config *cfg)
{
	size_t i;
	int a;

	putchar('[');
	for (i = 0; i < cfg->nr_exports; i++) {
		const struct export *exp = &cfg->exports[i];

		printf("%s\n  {\"name\": ", i ? "," : "");
		json_string(stdout, exp->name);
		for (a = 0; a < NR_ATTRS; a++) {
			if (a == ATTR_SECRET)
				continue;
			printf(", \"%s\": ", attr_names[a]);
			if (a == ATTR_READ_ONLY || a == ATTR_DEVICES || a == ATTR_MOUNTPOINT ||
			    a == ATTR_CROSSMNT || a == ATTR_SECLABEL)
				fputs(strcmp(exp->attr[a], "1") ? "false" : "true", stdout);
			else if (a == ATTR_PATH)
				json_string(stdout, exp->attr[a]);
			else
				json_value(stdout, exp->attr[a]);
		}
		printf(", \"enable\": %s}", exp->enable ? "true" : "false");
	}
	puts(cfg->nr_exports ? "\n]" : "]");
}

/**
 * export_list - show what is exported
 * @argc: number of arguments
 * @argv: the command's last word, and its arguments
 *
 * Return: an exit status.
 */
int export_list(int argc, char **argv)
{
	struct config have = { };
	int rc, json;
	size_t i;

	json = parse_json(argc, argv);
	if (json < 0)
		return EX_BAD;
	rc = configfs_begin(false);
	if (!rc)
		rc = configfs_read(&have, false);
	if (!rc && json)
		print_exports_json(&have);
	for (i = 0; !rc && !json && i < have.nr_exports; i++)
		print_export(&have.exports[i]);
	config_free(&have);
	return rc;
}
