// SPDX-License-Identifier: GPL-2.0
/*
 * rdmafsctl: sets what the server exports, and on which ports it listens.
 *
 * The settings are in configfs (configfs.c), where they may also be read and changed by
 * hand; this program keeps none.  "save" writes them to a file.  "load" makes configfs hold
 * what the file says, and no other exports.
 *
 * "export" is in exports.c, "save" and "load" are in saved.c, and all other commands here.
 *
 * Exit status: 0 done; 1 wrong usage, or a file that can't be parsed; 2 refused, by
 * the kernel or because there is no such export or port; 3 the server is not there;
 * 4 a part was refused, the rest is done.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <string.h>
#include "config.h"
#include "rdmafsctl.h"

#define VERSION		"draft-10"

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

/**
 * usage_error - say that the command line is wrong
 * @why:  in which way
 * @what: which word of it; NULL: none in particular
 *
 * Return: EX_BAD.
 */
int usage_error(const char *why, const char *what)
{
	complain("%s%s%s", why, what ? ": " : "", what ? what : "");
	complain("try rdmafsctl --help");
	return EX_BAD;
}

/**
 * parse_json - read the rest of the command line: is --json given?
 * @argc: number of arguments
 * @argv: the command's last word, and its arguments
 *
 * Return: 0, 1, or -1 after a message.
 */
int parse_json(int argc, char **argv)
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
	{ NULL,	    "save",	settings_save },
	{ NULL,	    "load",	settings_load },
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
