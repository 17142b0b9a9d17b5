// SPDX-License-Identifier: GPL-2.0
/*
 * The server's settings in memory, and the file that keeps them.
 *
 * The file:
 *
 *	# a comment
 *	[export data/projects]
 *	path = /srv/data/projects
 *	squash = root
 *	[port 20060]
 *	max_sessions = 100
 *	[server]
 *	max_opens = 100000
 *
 * A value is the rest of its line.  A setting that the file does not mention has its
 * default.  The exceptions are id and secret, which make a client's handles outlive
 * the server: they have no default, and stay what they are if they are left out.  If
 * there is any error in a file it is not used at all, and every bad line is reported.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "config.h"

const char *const attr_names[NR_ATTRS] = {
	[ATTR_PATH]	 = "path",
	[ATTR_ID]	 = "id",
	[ATTR_SECRET]	 = "secret",
	[ATTR_READ_ONLY] = "read_only",
	[ATTR_SQUASH]	 = "squash",
	[ATTR_ANONUID]	 = "anonuid",
	[ATTR_ANONGID]	 = "anongid",
	[ATTR_DEVICES]	 = "devices",
	[ATTR_XATTRS]	 = "xattrs",
	[ATTR_MOUNTPOINT] = "mountpoint",
	[ATTR_CROSSMNT]	 = "crossmnt",
	[ATTR_SECLABEL]	 = "security_label",
	[ATTR_GRACE]	 = "grace_s",
};

/**
 * must - end the process if an allocation failed
 * @p: the pointer that the allocation returned
 *
 * Without memory nothing useful can be done.  No setting is left half written, because configfs
 * is changed one file at a time and the file is replaced by a rename.
 *
 * Return: @p, not NULL.
 */
void *must(void *p)
{
	if (!p) {
		complain("out of memory");
		exit(2);
	}
	return p;
}

static void export_free(struct export *exp)
{
	size_t i;

	free(exp->name);
	free(exp->label);
	for (i = 0; i < NR_ATTRS; i++)
		free(exp->attr[i]);
}

/**
 * limits_free - free limits, and have none then
 * @limits: the limits
 */
void limits_free(struct limits *limits)
{
	size_t i;

	for (i = 0; i < limits->nr; i++) {
		free(limits->limit[i].name);
		free(limits->limit[i].value);
	}
	free(limits->limit);
	*limits = (struct limits){ };
}

/**
 * config_free - free all exports, ports and limits
 * @cfg: the settings, empty afterwards
 */
void config_free(struct config *cfg)
{
	size_t i;

	for (i = 0; i < cfg->nr_exports; i++)
		export_free(&cfg->exports[i]);
	free(cfg->exports);
	for (i = 0; i < cfg->nr_ports; i++)
		limits_free(&cfg->ports[i].limits);
	free(cfg->ports);
	limits_free(&cfg->limits);
	memset(cfg, 0, sizeof(*cfg));
}

/**
 * config_find - find an export by its name
 * @cfg:  the settings
 * @name: the export's name, cleaned (name_clean())
 *
 * Return: the export, or NULL.
 */
struct export *config_find(struct config *cfg, const char *name)
{
	size_t i;

	for (i = 0; i < cfg->nr_exports; i++)
		if (!strcmp(cfg->exports[i].name, name))
			return &cfg->exports[i];
	return NULL;
}

/**
 * config_add_export - add an export without attributes
 * @cfg:  the settings; older pointers to its exports are void afterwards
 * @name: the export's name, cleaned
 *
 * Return: the export.
 */
struct export *config_add_export(struct config *cfg, const char *name)
{
	struct export *exp;

	cfg->exports = must(reallocarray(cfg->exports, cfg->nr_exports + 1, sizeof(*exp)));
	exp = &cfg->exports[cfg->nr_exports++];
	memset(exp, 0, sizeof(*exp));
	exp->name = must(strdup(name));
	exp->enable = true;
	return exp;
}

/**
 * config_add_port - add a port
 * @cfg:    the settings; older pointers to its ports are void afterwards
 * @number: the port's number
 * @enable: listen on it
 *
 * Return: the port.
 */
struct port *config_add_port(struct config *cfg, uint16_t number, bool enable)
{
	cfg->ports = must(reallocarray(cfg->ports, cfg->nr_ports + 1, sizeof(*cfg->ports)));
	cfg->ports[cfg->nr_ports] = (struct port){ .number = number, .enable = enable };
	return &cfg->ports[cfg->nr_ports++];
}

/**
 * config_find_port - find a port
 * @cfg:    the settings
 * @number: the port's number
 *
 * Return: the port, or NULL.
 */
struct port *config_find_port(const struct config *cfg, uint16_t number)
{
	size_t i;

	for (i = 0; i < cfg->nr_ports; i++)
		if (cfg->ports[i].number == number)
			return &cfg->ports[i];
	return NULL;
}

/**
 * is_limit - tell whether a name has the form of a limit's, max_SOMETHING
 * @name: the name
 *
 * Return: true if so.
 */
bool is_limit(const char *name)
{
	const char *what = name + strlen("max_");

	return !strncmp(name, "max_", what - name) && *what &&
	       !what[strspn(what, "abcdefghijklmnopqrstuvwxyz_")];
}

/**
 * limit_get - get the value of a limit
 * @limits: the limits
 * @name:   the limit's name
 *
 * Return: the value, NULL if the limit is not among @limits.
 */
const char *limit_get(const struct limits *limits, const char *name)
{
	size_t i;

	for (i = 0; i < limits->nr; i++)
		if (!strcmp(limits->limit[i].name, name))
			return limits->limit[i].value;
	return NULL;
}

/**
 * limit_set - add a limit
 * @limits: the limits, among which it is not yet
 * @name:   the limit's name
 * @value:  its value
 */
void limit_set(struct limits *limits, const char *name, const char *value)
{
	limits->limit = must(reallocarray(limits->limit, limits->nr + 1,
					  sizeof(*limits->limit)));
	limits->limit[limits->nr++] = (struct limit){
		.name = must(strdup(name)), .value = must(strdup(value)),
	};
}

/**
 * export_set - set an attribute
 * @exp:   the export
 * @a:	   the attribute
 * @value: its value
 */
void export_set(struct export *exp, enum attr a, const char *value)
{
	char *copy = must(strdup(value));

	free(exp->attr[a]);
	exp->attr[a] = copy;
}

/**
 * export_fill_defaults - set the attributes that were not set and have a default
 * @exp: the export
 */
void export_fill_defaults(struct export *exp)
{
	static const char *const defaults[NR_ATTRS] = {
		[ATTR_READ_ONLY] = "0",
		[ATTR_SQUASH]	 = "root",
		[ATTR_ANONUID]	 = ANON_ID,
		[ATTR_ANONGID]	 = ANON_ID,
		[ATTR_DEVICES]	 = "0",
		[ATTR_XATTRS]	 = "user",
		[ATTR_MOUNTPOINT] = "0",
		[ATTR_CROSSMNT] = "0",
		[ATTR_SECLABEL] = "0",
		[ATTR_GRACE]	 = GRACE_S,
	};
	int a;

	for (a = 0; a < NR_ATTRS; a++)
		if (!exp->attr[a] && defaults[a])
			export_set(exp, a, defaults[a]);
}

/* ------------------------------------------------------------------ values */

static bool has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

static bool is_number(const char *s, unsigned long min, unsigned long max)
{
	unsigned long v;
	char *end;

	/* no leading zeros: some programs read them as octal, others ignore them */
	if (!isdigit((unsigned char)*s) || (s[0] == '0' && s[1]))
		return false;
	errno = 0;
	v = strtoul(s, &end, 10);
	return !errno && !*end && v >= min && v <= max;
}

/**
 * is_limit_value - tell whether a value has the form of a limit's
 * @value: the value
 *
 * Return: true if so; the kernel checks the range.
 */
bool is_limit_value(const char *value)
{
	return is_number(value, 0, UINT32_MAX);
}

/**
 * attr_check - check the value of an attribute
 * @a:	   the attribute
 * @value: the value
 *
 * Return: NULL if the attribute can have it, else a message.
 */
const char *attr_check(enum attr a, const char *value)
{
	size_t len = strlen(value);

	switch (a) {
	case ATTR_PATH:
		if (*value != '/')
			return "a path begins with '/'";
		if (has_control(value) || value[len - 1] == ' ')
			return "a path has no control characters, and no blank at its end";
		if (len > 4000)
			return "the path is too long";
		return NULL;
	case ATTR_ID:
		return is_number(value, 1, UINT32_MAX) ? NULL :
		       "an id is a number from 1 to 4294967295";
	case ATTR_SECRET:
		if (len != 64 || strspn(value, "0123456789abcdefABCDEF") != len)
			return "a secret has 64 hexadecimal digits";
		return NULL;
	case ATTR_READ_ONLY:
		return is_number(value, 0, 1) ? NULL : "read_only is 0 or 1";
	case ATTR_DEVICES:
		return is_number(value, 0, 1) ? NULL : "devices is 0 or 1";
	case ATTR_XATTRS:
		if (strcmp(value, "user") && strcmp(value, "all"))
			return "xattrs is user or all";
		return NULL;
	case ATTR_MOUNTPOINT:
		return is_number(value, 0, 1) ? NULL : "mountpoint is 0 or 1";
	case ATTR_CROSSMNT:
		return is_number(value, 0, 1) ? NULL : "crossmnt is 0 or 1";
	case ATTR_SECLABEL:
		return is_number(value, 0, 1) ? NULL : "security_label is 0 or 1";
	case ATTR_GRACE:
		return is_number(value, 0, 3600) ? NULL : "grace_s is a number from 0 to 3600";
	case ATTR_SQUASH:
		if (strcmp(value, "none") && strcmp(value, "root") && strcmp(value, "all"))
			return "squash is none, root or all";
		return NULL;
	case ATTR_ANONUID:
	case ATTR_ANONGID:
		/* -1 is no id */
		return is_number(value, 0, UINT32_MAX - 1) ? NULL :
		       "a user or group id is a number from 0 to 4294967294";
	default:
		return "no such attribute";
	}
}

/**
 * name_check - check the name of an export
 * @name: the name, cleaned
 *
 * Return: NULL if an export can have it, else a message.
 */
const char *name_check(const char *name)
{
	size_t len = strlen(name);

	if (!len)
		return "an export's name must not be empty";
	if (len > NAME_BYTES)
		return "an export's name has at most 255 bytes";
	if (has_control(name) || name[0] == ' ' || name[len - 1] == ' ')
		return "an export's name has no control characters, and no blanks at its ends";
	return NULL;
}

/**
 * name_clean - copy a name without the slashes at its ends
 * @name: the name
 *
 * Return: the copy, to be freed.
 */
char *name_clean(const char *name)
{
	size_t len;

	name += strspn(name, "/");
	len = strlen(name);
	while (len && name[len - 1] == '/')
		len--;
	return must(strndup(name, len));
}

/**
 * name_to_label - make the name of an export's directory in configfs
 * @name: the export's name, cleaned
 *
 * '/', '%' and a leading '.' become %2F, %25 and %2E, so that different names have
 * different labels.
 *
 * Return: the label, to be freed.
 */
char *name_to_label(const char *name)
{
	char *label = must(malloc(3 * strlen(name) + 1)), *p = label;
	const char *s;

	for (s = name; *s; s++)
		if (*s == '/' || *s == '%' || (*s == '.' && s == name))
			p += sprintf(p, "%%%02X", (unsigned char)*s);
		else
			*p++ = *s;
	*p = '\0';
	return label;
}

/**
 * parse_port - read a port's number
 * @text: the number
 * @port: out: the number
 *
 * Return: 0 or -EINVAL.
 */
int parse_port(const char *text, uint16_t *port)
{
	if (!is_number(text, 1, UINT16_MAX))
		return -EINVAL;
	*port = strtoul(text, NULL, 10);
	return 0;
}

/* -------------------------------------------------------------------- file */

/**
 * struct parser - state of reading a file
 * @cfg:	the settings that have been read
 * @line:	number of the line
 * @exp:	the section is that of the last export in @cfg
 * @limits:	the limits that the section may set: those of the last port in @cfg, or of the
 *		server; NULL if it may set none
 * @port:	the section is that of the last port in @cfg
 * @server:	there was a section of the server
 * @skip:	the section's head was bad, so that its lines are not looked at
 * @enable_set:	the section had an enable line
 */
struct parser {
	struct config *cfg;
	unsigned int line;
	bool exp;
	struct limits *limits;
	bool port;
	bool server;
	bool skip;
	bool enable_set;
};

static struct export *parser_export(struct parser *ps)
{
	return ps->exp ? &ps->cfg->exports[ps->cfg->nr_exports - 1] : NULL;
}

static char *trim(char *s)
{
	char *end;

	s += strspn(s, " \t");
	end = s + strlen(s);
	while (end > s && strchr(" \t\r\n", end[-1]))
		end--;
	*end = '\0';
	return s;
}

static const char *begin_export(struct parser *ps, const char *text)
{
	char *name = name_clean(text);
	const char *why = name_check(name);

	if (!why && config_find(ps->cfg, name))
		why = "this export stands above already";
	if (!why) {
		config_add_export(ps->cfg, name)->line = ps->line;
		ps->exp = true;
	}
	free(name);
	return why;
}

static const char *begin_port(struct parser *ps, const char *text)
{
	uint16_t number;

	if (parse_port(text, &number))
		return "a port is a number from 1 to 65535";
	if (config_find_port(ps->cfg, number))
		return "this port stands above already";
	ps->limits = &config_add_port(ps->cfg, number, true)->limits;
	ps->port = true;
	return NULL;
}

static const char *begin_server(struct parser *ps)
{
	if (ps->server)
		return "the server stands above already";
	ps->server = true;
	ps->limits = &ps->cfg->limits;
	return NULL;
}

/* Check that an export's section has what it must have, and fill in defaults. */
static const char *end_section(struct parser *ps)
{
	struct export *exp = parser_export(ps);

	if (!exp)
		return NULL;
	if (!exp->attr[ATTR_PATH])
		return "this export has no path";
	export_fill_defaults(exp);
	return NULL;
}

static const char bad_head[] = "a section is written [export NAME], [port NUMBER] or [server]";

static const char *parse_head(struct parser *ps, char *s)
{
	size_t len = strlen(s);
	const char *why;

	ps->exp = false;
	ps->port = false;
	ps->limits = NULL;
	ps->enable_set = false;
	ps->skip = true;
	if (s[len - 1] != ']')
		return bad_head;
	s[len - 1] = '\0';
	s = trim(s + 1);
	if (!strncmp(s, "export ", 7))
		why = begin_export(ps, trim(s + 7));
	else if (!strncmp(s, "port ", 5))
		why = begin_port(ps, trim(s + 5));
	else if (!strcmp(s, "server"))
		why = begin_server(ps);
	else
		why = bad_head;
	ps->skip = why;
	return why;
}

static const char *set_enable(struct parser *ps, const char *value)
{
	struct export *exp = parser_export(ps);

	if (!is_number(value, 0, 1))
		return "enable is 0 or 1";
	if (ps->enable_set)
		return "this stands above already";
	ps->enable_set = true;
	if (exp)
		exp->enable = *value == '1';
	else
		ps->cfg->ports[ps->cfg->nr_ports - 1].enable = *value == '1';
	return NULL;
}

static const char *set_limit(struct parser *ps, const char *name, const char *value)
{
	if (!is_limit_value(value))
		return "a limit is a number";
	if (limit_get(ps->limits, name))
		return "this stands above already";
	limit_set(ps->limits, name, value);
	return NULL;
}

static const char *parse_key(struct parser *ps, char *s)
{
	struct export *exp = parser_export(ps);
	char *eq = strchr(s, '='), *value;
	const char *why;
	int a;

	if (!eq)
		return "neither a section, nor KEY = VALUE, nor a comment";
	*eq = '\0';
	s = trim(s);
	value = trim(eq + 1);
	if (ps->skip)
		return NULL;
	if (!exp && !ps->limits)
		return "this stands in no section";
	if ((exp || ps->port) && !strcmp(s, "enable"))
		return set_enable(ps, value);
	if (ps->limits && is_limit(s))
		return set_limit(ps, s, value);
	for (a = 0; exp && a < NR_ATTRS; a++) {
		if (strcmp(s, attr_names[a]))
			continue;
		if (exp->attr[a])
			return "this stands above already";
		why = attr_check(a, value);
		/* set even if bad, so that the section is not reported as having none */
		export_set(exp, a, value);
		return why;
	}
	return "no such key in this section";
}

static const char *parse_line(struct parser *ps, char *text)
{
	char *s = trim(text);

	if (!*s || *s == '#' || *s == ';')
		return NULL;
	return *s == '[' ? parse_head(ps, s) : parse_key(ps, s);
}

static const char *check_ids(struct config *cfg, unsigned int *line)
{
	size_t i, k;

	for (i = 0; i < cfg->nr_exports; i++)
		for (k = 0; k < i; k++) {
			const char *a = cfg->exports[i].attr[ATTR_ID];
			const char *b = cfg->exports[k].attr[ATTR_ID];

			if (!a || !b || strtoul(a, NULL, 10) != strtoul(b, NULL, 10))
				continue;
			*line = cfg->exports[i].line;
			return "this export has the id of one above";
		}
	return NULL;
}

/**
 * config_parse - read settings from a file
 * @f:	  the file
 * @file: its name, for messages
 * @cfg:  out: the settings; empty before, to be freed whatever is returned
 *
 * Return: 0, or -EINVAL or -EIO after messages, one for each bad line.
 */
int config_parse(FILE *f, const char *file, struct config *cfg)
{
	struct parser ps = { .cfg = cfg };
	unsigned int head = 0, line;
	char *text = NULL;
	const char *why;
	size_t size = 0;
	ssize_t len;
	int err = 0;

	for (;;) {
		len = getline(&text, &size, f);
		ps.line++;
		if (len < 0 || text[strspn(text, " \t")] == '[') {
			why = end_section(&ps);
			if (why) {
				complain("%s: line %u: %s", file, head, why);
				err = -EINVAL;
			}
			head = ps.line;
		}
		if (len < 0)
			break;
		why = strlen(text) != (size_t)len ? "a NUL byte" : parse_line(&ps, text);
		if (why) {
			complain("%s: line %u: %s", file, ps.line, why);
			err = -EINVAL;
		}
	}
	free(text);
	if (ferror(f)) {
		complain("%s: %s", file, strerror(errno));
		return -EIO;
	}
	why = check_ids(cfg, &line);
	if (why) {
		complain("%s: line %u: %s", file, line, why);
		err = -EINVAL;
	}
	return err;
}

static void write_limits(FILE *f, const struct limits *limits)
{
	size_t i;

	for (i = 0; i < limits->nr; i++)
		fprintf(f, "%s = %s\n", limits->limit[i].name, limits->limit[i].value);
}

/**
 * config_write - write settings as config_parse() reads them
 * @f:	 the file
 * @cfg: the settings
 */
void config_write(FILE *f, const struct config *cfg)
{
	size_t i;
	int a;

	fputs("# Written by \"rdmafsctl save\"; see rdmafsctl(8).\n"
	      "# A secret signs the file handles of its export: keep this file private.\n", f);
	for (i = 0; i < cfg->nr_exports; i++) {
		const struct export *exp = &cfg->exports[i];

		fprintf(f, "\n[export %s]\n", exp->name);
		for (a = 0; a < NR_ATTRS; a++)
			if (exp->attr[a])
				fprintf(f, "%s = %s\n", attr_names[a], exp->attr[a]);
		if (!exp->enable)
			fputs("enable = 0\n", f);
	}
	for (i = 0; i < cfg->nr_ports; i++) {
		const struct port *port = &cfg->ports[i];

		fprintf(f, "\n[port %u]\n%s", port->number, port->enable ? "" : "enable = 0\n");
		write_limits(f, &port->limits);
	}
	if (cfg->limits.nr) {
		fputs("\n[server]\n", f);
		write_limits(f, &cfg->limits);
	}
}
