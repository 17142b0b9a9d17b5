// SPDX-License-Identifier: GPL-2.0
/*
 * rdmafsctl: sets what the server exports, and on which ports it listens.
 *
 * The settings are in configfs, where they may also be read and changed by hand;
 * this program keeps none.  "save" writes them to a file.  "load" makes configfs hold
 * what the file says, and no other exports.
 *
 * Exit status: 0 done; 1 wrong usage, or a file that can't be parsed; 2 refused, by
 * the kernel or because there is no such export or port; 3 the server is not there;
 * 4 a part was refused, the rest is done.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "config.h"
#include "json.h"

#define VERSION		"draft-10"
#define DEFAULT_DIR	"/etc/rdmafs"
#define DEFAULT_FILE	DEFAULT_DIR "/exports.conf"

enum {
	EX_OK = 0,
	EX_BAD = 1,
	EX_REFUSED = 2,
	EX_PARTLY = 4,
};

/**
 * complain - write one line to stderr
 * @format: as for printf(3)
 */
void complain(const char *format, ...)
{
	va_list ap;

	fputs("rdmafsctl: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static const char usage_text[] =
	"Usage: rdmafsctl [--configfs DIR] COMMAND\n"
	"\n"
	"  export add NAME PATH [-o OPTION[,OPTION]...]\n"
	"                             export the directory PATH as NAME; options are\n"
	"                             ro, rw, root_squash, no_root_squash, all_squash,\n"
	"                             anonuid=N, anongid=N, id=N, dev, nodev,\n"
	"                             xattrs=user|all, mountpoint, crossmnt, grace_s=N,\n"
	"                             security_label\n"
	"  export remove NAME|--all   end an export, or all\n"
	"  export list [--json]       show what is exported\n"
	"  start [--port P]           listen on P; else on the ports there are, or on 20060\n"
	"  stop [--port P]            listen no more on P; else on no port at all\n"
	"  limits [--port P] [NAME=NUMBER]...\n"
	"                             show what clients of P, or of the server, may have, or\n"
	"                             change it\n"
	"  status [--json]            show ports, and how many exports there are\n"
	"  save [FILE]                write the settings to FILE\n"
	"  load [FILE]                make the settings what FILE says\n"
	"  --help, --version\n"
	"\n"
	"FILE is " DEFAULT_FILE " unless given; - is standard input or output.\n"
	"See rdmafsctl(8).\n";

static int usage_error(const char *why, const char *what)
{
	complain("%s%s%s", why, what ? ": " : "", what ? what : "");
	complain("try rdmafsctl --help");
	return EX_BAD;
}

/* ------------------------------------------------------------------ exports */

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

static int export_add(int argc, char **argv)
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

static int export_remove(int argc, char **argv)
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

/* Is --json given?  0, 1, or -1 after a message. */
static int parse_json(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "json", no_argument, NULL, 'j' },
		{ }
	};
	int c, json = 0;

	while ((c = getopt_long(argc, argv, "j", longopts, NULL)) != -1) {
		if (c != 'j')
			return -1;
		json = 1;
	}
	if (optind != argc) {
		usage_error("this is too much", argv[optind]);
		return -1;
	}
	return json;
}

static int export_list(int argc, char **argv)
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

/* -------------------------------------------------------------------- ports */

static int parse_port_args(int argc, char **argv, uint16_t *port, bool *given)
{
	static const struct option longopts[] = {
		{ "port", required_argument, NULL, 'p' },
		{ }
	};
	int c;

	*given = false;
	while ((c = getopt_long(argc, argv, "p:", longopts, NULL)) != -1) {
		if (c != 'p')
			return EX_BAD;
		if (parse_port(optarg, port))
			return usage_error("a port is a number from 1 to 65535", optarg);
		*given = true;
	}
	return EX_OK;
}

/* The same for commands that take no other argument. */
static int parse_port_option(int argc, char **argv, uint16_t *port, bool *given)
{
	int rc = parse_port_args(argc, argv, port, given);

	if (!rc && optind != argc)
		rc = usage_error("this is too much", argv[optind]);
	return rc;
}

/* Start @port if it was @given, else all ports that there are, or the default one. */
static int start_ports(const struct config *have, uint16_t port, bool given)
{
	struct port want = { .number = port, .enable = true };
	int rc = EX_OK, one;
	size_t i;

	if (given || !have->nr_ports)
		return configfs_port_set(config_find_port(have, port), &want);
	for (i = 0; i < have->nr_ports; i++) {
		want.number = have->ports[i].number;
		one = configfs_port_set(&have->ports[i], &want);
		if (one)
			rc = one;
	}
	return rc;
}

static int start(int argc, char **argv)
{
	struct config have = { };
	uint16_t port = DEFAULT_PORT;
	bool given;
	int rc;

	rc = parse_port_option(argc, argv, &port, &given);
	if (!rc)
		rc = configfs_begin(true);
	if (!rc)
		rc = configfs_read(&have, false);
	if (!rc)
		rc = start_ports(&have, port, given);
	config_free(&have);
	return rc;
}

static int stop_ports(const struct config *have, uint16_t port, bool given)
{
	int rc = EX_OK, one;
	bool found = false;
	size_t i;

	for (i = 0; i < have->nr_ports; i++) {
		if (given && have->ports[i].number != port)
			continue;
		found = true;
		one = configfs_port_stop(have->ports[i].number);
		if (one)
			rc = one;
	}
	if (given && !found) {
		complain("port %u: the server does not listen there", port);
		rc = EX_REFUSED;
	}
	return rc;
}

static int stop(int argc, char **argv)
{
	struct config have = { };
	uint16_t port = 0;
	bool given;
	int rc;

	rc = parse_port_option(argc, argv, &port, &given);
	if (!rc)
		rc = configfs_begin(true);
	if (!rc)
		rc = configfs_read(&have, false);
	if (!rc)
		rc = stop_ports(&have, port, given);
	config_free(&have);
	return rc;
}

/* ------------------------------------------------------------------- limits */

/* Read the rest of the command line: NAME=NUMBER, each name once. */
static int parse_limits(char **argv, struct limits *want)
{
	char *value;

	for (; *argv; argv++) {
		value = strchr(*argv, '=');
		if (!value)
			return usage_error("a limit is changed by NAME=NUMBER", *argv);
		*value++ = '\0';
		if (!is_limit(*argv))
			return usage_error("the name of a limit begins with max_", *argv);
		if (!is_limit_value(value))
			return usage_error("a limit is a number", value);
		if (limit_get(want, *argv))
			return usage_error("this is said twice", *argv);
		limit_set(want, *argv, value);
	}
	return EX_OK;
}

static void print_limits(const struct limits *limits)
{
	size_t i;

	for (i = 0; i < limits->nr; i++)
		printf("%s = %s\n", limits->limit[i].name, limits->limit[i].value);
}

static int limits_do(const struct config *have, uint16_t number, bool given,
		     const struct limits *want)
{
	const struct port *port = given ? config_find_port(have, number) : NULL;
	const struct limits *now = port ? &port->limits : &have->limits;
	size_t i;

	if (given && !port) {
		complain("port %u: there is no such port", number);
		return EX_REFUSED;
	}
	if (!want->nr) {
		print_limits(now);
		return EX_OK;
	}
	/* Change none if one of the names does not exist. */
	for (i = 0; i < want->nr; i++) {
		if (limit_get(now, want->limit[i].name))
			continue;
		complain("there is no limit %s %s", want->limit[i].name,
			 given ? "of a port" : "of the server; --port?");
		return EX_REFUSED;
	}
	return configfs_limits_set(port, now, want);
}

static int limits(int argc, char **argv)
{
	struct config have = { };
	struct limits want = { };
	uint16_t port = DEFAULT_PORT;
	bool given;
	int rc;

	rc = parse_port_args(argc, argv, &port, &given);
	if (!rc)
		rc = parse_limits(argv + optind, &want);
	if (!rc)
		rc = configfs_begin(want.nr);
	if (!rc)
		rc = configfs_read(&have, false);
	if (!rc)
		rc = limits_do(&have, port, given, &want);
	limits_free(&want);
	config_free(&have);
	return rc;
}

/* ------------------------------------------------------------------- status */

static size_t nr_enabled(const struct config *cfg)
{
	size_t i, n = 0;

	for (i = 0; i < cfg->nr_exports; i++)
		n += cfg->exports[i].enable;
	return n;
}

static void print_status(const struct config *cfg, bool json)
{
	size_t i, ending = configfs_ending(NULL);

	if (json) {
		fputs("{\"ports\": [", stdout);
		for (i = 0; i < cfg->nr_ports; i++)
			printf("%s{\"port\": %u, \"enable\": %s}", i ? ", " : "",
			       cfg->ports[i].number, cfg->ports[i].enable ? "true" : "false");
		printf("], \"exports\": %zu, \"enabled\": %zu, \"ending\": %zu}\n",
		       cfg->nr_exports, nr_enabled(cfg), ending);
		return;
	}
	for (i = 0; i < cfg->nr_ports; i++)
		printf("port %u: %s\n", cfg->ports[i].number,
		       cfg->ports[i].enable ? "listening" : "not enabled");
	if (!cfg->nr_ports)
		puts("no port: rdmafsctl start");
	printf("exports: %zu, of which enabled: %zu\n", cfg->nr_exports, nr_enabled(cfg));
	if (ending)
		printf("exports that have not ended: %zu\n", ending);
}

static int status(int argc, char **argv)
{
	struct config have = { };
	int rc, json;

	json = parse_json(argc, argv);
	if (json < 0)
		return EX_BAD;
	rc = configfs_begin(false);
	if (!rc)
		rc = configfs_read(&have, false);
	if (!rc)
		print_status(&have, json);
	config_free(&have);
	return rc;
}

/* -------------------------------------------------------------------- files */

static int parse_file(int argc, char **argv, const char **file)
{
	static const struct option none[] = { { } };

	if (getopt_long(argc, argv, "", none, NULL) != -1)
		return EX_BAD;
	if (argc - optind > 1)
		return usage_error("this is too much", argv[optind + 1]);
	*file = argc > optind ? argv[optind] : DEFAULT_FILE;
	return EX_OK;
}

/* fill_temp(), sync_dir_of(), replace_file(): 0, or -errno. */

static int fill_temp(char *tmp, const struct config *cfg)
{
	int err = 0, fd = mkostemp(tmp, O_CLOEXEC);	/* mode 0600 */
	FILE *f;

	if (fd < 0)
		return -errno;
	f = must(fdopen(fd, "w"));
	config_write(f, cfg);
	if (fflush(f) || fsync(fd))
		err = -errno;
	if (fclose(f) && !err)
		err = -errno;
	if (err)
		unlink(tmp);
	return err;
}

static int sync_dir_of(const char *file)
{
	const char *slash = strrchr(file, '/');
	char *dir = must(slash ? strndup(file, slash - file + 1) : strdup("."));
	int err = 0, fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd))
		err = -errno;
	if (fd >= 0)
		close(fd);
	free(dir);
	return err;
}

/* A crash leaves the old file or the new one.  Only the owner may read the new one. */
static int replace_file(const char *file, const struct config *cfg)
{
	char *tmp;
	int err;

	if (asprintf(&tmp, "%s.XXXXXX", file) < 0)
		tmp = NULL;
	must(tmp);
	err = fill_temp(tmp, cfg);
	if (!err && rename(tmp, file)) {
		err = -errno;
		unlink(tmp);
	}
	free(tmp);
	return err ? err : sync_dir_of(file);
}

static int write_file(const char *file, const struct config *cfg)
{
	int err;

	if (!strcmp(file, DEFAULT_FILE))
		mkdir(DEFAULT_DIR, 0755);
	err = replace_file(file, cfg);
	if (!err)
		return EX_OK;
	complain("%s: %s", file, strerror(-err));
	return EX_REFUSED;
}

static int check_writable(const struct config *cfg)
{
	const char *why;
	size_t i;

	for (i = 0; i < cfg->nr_exports; i++) {
		const struct export *exp = &cfg->exports[i];

		if (!*exp->attr[ATTR_PATH]) {
			complain("export %s: not saved: it has no path", exp->name);
			return EX_REFUSED;
		}
		why = name_check(exp->name);
		if (!why)
			why = attr_check(ATTR_PATH, exp->attr[ATTR_PATH]);
		if (why) {
			complain("export %s: can't be saved: %s", exp->name, why);
			return EX_REFUSED;
		}
	}
	return EX_OK;
}

static int save(int argc, char **argv)
{
	struct config have = { };
	const char *file;
	int rc;

	rc = parse_file(argc, argv, &file);
	if (!rc)
		rc = configfs_begin(false);
	if (!rc)
		rc = configfs_read(&have, true);
	if (!rc)
		rc = check_writable(&have);
	if (!rc && !strcmp(file, "-"))
		config_write(stdout, &have);
	else if (!rc)
		rc = write_file(file, &have);
	config_free(&have);
	return rc;
}

static int read_file(const char *file, struct config *cfg)
{
	FILE *f = strcmp(file, "-") ? fopen(file, "re") : stdin;
	int err;

	if (!f) {
		complain("%s: %s", file, strerror(errno));
		return EX_REFUSED;
	}
	err = config_parse(f, file, cfg);
	if (f != stdin)
		fclose(f);
	if (err)
		complain("%s: nothing of it was loaded", file);
	return err == -EINVAL ? EX_BAD : err ? EX_REFUSED : EX_OK;
}

/**
 * struct tally - how far a file was loaded
 * @tried:   exports, ports and the server's limits that had to be set or removed
 * @failed:  of @tried, those that are not as the file says
 * @refused: of @failed, those of which nothing was done
 */
struct tally {
	size_t tried;
	size_t failed;
	size_t refused;
};

static void count(struct tally *t, int rc)
{
	t->tried++;
	t->failed += !!rc;
	t->refused += rc && rc != EX_PARTLY;
}

/*
 * Remove what the file does not have.  This comes first, so that other exports can have the names
 * and the ids of the removed ones.
 */
static void load_removals(struct config *want, const struct config *have, struct tally *t)
{
	size_t i;

	for (i = 0; i < have->nr_exports; i++)
		if (!config_find(want, have->exports[i].name))
			count(t, configfs_export_remove(&have->exports[i]));
	/* A file without ports leaves them as "start" and "stop" have left them. */
	for (i = 0; want->nr_ports && i < have->nr_ports; i++)
		if (!config_find_port(want, have->ports[i].number))
			count(t, configfs_port_stop(have->ports[i].number));
}

static int load_port(const struct port *want, const struct port *have)
{
	if (want->enable)
		return configfs_port_set(have, want);
	return have ? configfs_port_stop(have->number) : EX_OK;
}

/* Do everything that can be done, whatever fails: 0 or an exit status. */
static int load_config(struct config *want, struct config *have)
{
	struct tally t = { };
	size_t i;

	if (want->limits.nr)
		count(&t, configfs_limits_set(NULL, &have->limits, &want->limits));
	load_removals(want, have, &t);
	for (i = 0; i < want->nr_exports; i++) {
		const struct export *old = config_find(have, want->exports[i].name);

		count(&t, old ? configfs_export_update(old, &want->exports[i]) :
				configfs_export_create(&want->exports[i], true));
	}
	for (i = 0; i < want->nr_ports; i++)
		count(&t, load_port(&want->ports[i],
				    config_find_port(have, want->ports[i].number)));
	if (!t.failed)
		return EX_OK;
	if (t.refused == t.tried)
		return EX_REFUSED;
	complain("%zu of %zu exports and ports are not as the file says%s", t.failed, t.tried,
		 t.failed < t.tried ? "; the others are" : "");
	return EX_PARTLY;
}

static int load(int argc, char **argv)
{
	struct config want = { }, have = { };
	const char *file;
	int rc;

	rc = parse_file(argc, argv, &file);
	if (!rc)
		rc = read_file(file, &want);
	if (!rc)
		rc = configfs_begin(true);
	if (!rc)
		rc = configfs_read(&have, true);
	if (!rc)
		rc = load_config(&want, &have);
	config_free(&want);
	config_free(&have);
	return rc;
}

/* --------------------------------------------------------------------- main */

static const struct command {
	const char *group;
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "export", "add",	export_add },
	{ "export", "remove",	export_remove },
	{ "export", "list",	export_list },
	{ NULL,	    "start",	start },
	{ NULL,	    "stop",	stop },
	{ NULL,	    "limits",	limits },
	{ NULL,	    "status",	status },
	{ NULL,	    "save",	save },
	{ NULL,	    "load",	load },
};

static int run_command(int argc, char **argv)
{
	const char *group = NULL;
	size_t i;

	if (argc && !strcmp(argv[0], "export")) {
		group = "export";
		argc--;
		argv++;
	}
	if (!argc)
		return usage_error(group ? "export what?" : "no command", NULL);
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!commands[i].group != !group || strcmp(commands[i].name, argv[0]))
			continue;
		optind = 0;	/* getopt_long() begins again, at the command's arguments */
		return commands[i].run(argc, argv);
	}
	return usage_error("no such command", argv[0]);
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "configfs", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ }
	};
	int c, rc;

	/* "+": options that follow the command are left to it */
	while ((c = getopt_long(argc, argv, "+hV", longopts, NULL)) != -1) {
		switch (c) {
		case 'c':
			configfs_base = optarg;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return EX_OK;
		case 'V':
			puts("rdmafsctl " VERSION);
			return EX_OK;
		default:
			fputs(usage_text, stderr);
			return EX_BAD;
		}
	}
	rc = run_command(argc - optind, argv + optind);
	configfs_end();
	if (fflush(stdout) || ferror(stdout)) {
		complain("standard output: %s", strerror(errno));
		return EX_REFUSED;
	}
	return rc;
}
