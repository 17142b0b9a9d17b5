// SPDX-License-Identifier: GPL-2.0
/*
 * Sorts mount options, and takes a source (host:/export) apart.
 *
 * This file knows only the options that every file system has, and those that tell
 * mount.rdmafs what to do (bg, fg, retry=).  Options of rdmafs are passed to the kernel
 * as they are.  Only the kernel knows which there are and what values they take, and its
 * message names the option that it refuses.
 *
 * libmount splits the string, but its tables (mnt_get_builtin_optmap()) are of no use here: they
 * give the flags of mount(2), while fsmount(2) takes attributes of the mount, and fsconfig(2) the
 * names of those options that are for the superblock.
 */
#include <errno.h>
#include <libmount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include "mountopts.h"

enum kind {
	ATTR,	/* sets and clears mount attributes */
	SB,	/* a flag of the superblock: to the kernel as a parameter */
	READ,	/* ro and rw: an attribute and a flag of the superblock */
	USER,	/* kept in user space */
	DROP,	/* ignored */
};

#define SECURE	(MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

static const struct known {
	const char *name;
	enum kind kind;
	uint64_t clear;
	uint64_t set;
} known_options[] = {
	{ "defaults",	DROP, 0, 0 },
	{ "auto",	DROP, 0, 0 },
	{ "noauto",	DROP, 0, 0 },
	{ "nofail",	DROP, 0, 0 },
	{ "fail",	DROP, 0, 0 },
	{ "nouser",	DROP, 0, 0 },
	{ "nousers",	DROP, 0, 0 },
	{ "noowner",	DROP, 0, 0 },
	{ "nogroup",	DROP, 0, 0 },
	{ "comment",	DROP, 0, 0 },
	{ "_netdev",	USER, 0, 0 },
	{ "user",	USER, 0, SECURE },
	{ "users",	USER, 0, SECURE },
	{ "owner",	USER, 0, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV },
	{ "group",	USER, 0, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV },
	{ "ro",		READ, 0, MOUNT_ATTR_RDONLY },
	{ "rw",		READ, MOUNT_ATTR_RDONLY, 0 },
	{ "suid",	ATTR, MOUNT_ATTR_NOSUID, 0 },
	{ "nosuid",	ATTR, 0, MOUNT_ATTR_NOSUID },
	{ "dev",	ATTR, MOUNT_ATTR_NODEV, 0 },
	{ "nodev",	ATTR, 0, MOUNT_ATTR_NODEV },
	{ "exec",	ATTR, MOUNT_ATTR_NOEXEC, 0 },
	{ "noexec",	ATTR, 0, MOUNT_ATTR_NOEXEC },
	{ "symfollow",	ATTR, MOUNT_ATTR_NOSYMFOLLOW, 0 },
	{ "nosymfollow", ATTR, 0, MOUNT_ATTR_NOSYMFOLLOW },
	{ "diratime",	ATTR, MOUNT_ATTR_NODIRATIME, 0 },
	{ "nodiratime",	ATTR, 0, MOUNT_ATTR_NODIRATIME },
	/* these exclude each other; relatime is the state without any of the others */
	{ "relatime",	ATTR, MOUNT_ATTR__ATIME, MOUNT_ATTR_RELATIME },
	{ "norelatime",	ATTR, MOUNT_ATTR__ATIME, MOUNT_ATTR_RELATIME },
	{ "atime",	ATTR, MOUNT_ATTR__ATIME, MOUNT_ATTR_RELATIME },
	{ "noatime",	ATTR, MOUNT_ATTR__ATIME, MOUNT_ATTR_NOATIME },
	{ "strictatime", ATTR, MOUNT_ATTR__ATIME, MOUNT_ATTR_STRICTATIME },
	{ "nostrictatime", ATTR, MOUNT_ATTR__ATIME, MOUNT_ATTR_RELATIME },
	{ "sync",	SB, 0, 0 },
	{ "async",	SB, 0, 0 },
	{ "dirsync",	SB, 0, 0 },
	{ "lazytime",	SB, 0, 0 },
	{ "nolazytime",	SB, 0, 0 },
	{ "mand",	DROP, 0, 0 },
	{ "nomand",	DROP, 0, 0 },
	{ "silent",	DROP, 0, 0 },
	{ "loud",	DROP, 0, 0 },
};

static const struct known *find_known(const char *name, size_t len)
{
	static const struct known x_user = { "x-", USER, 0, 0 };
	static const struct known x_mount = { "X-", DROP, 0, 0 };
	size_t i;

	for (i = 0; i < sizeof(known_options) / sizeof(known_options[0]); i++)
		if (strlen(known_options[i].name) == len &&
		    !memcmp(known_options[i].name, name, len))
			return &known_options[i];
	if (len > 2 && !memcmp(name, "x-", 2))
		return &x_user;
	if (len > 2 && !memcmp(name, "X-", 2))
		return &x_mount;
	return NULL;
}

static bool is(const char *name, size_t len, const char *what)
{
	return strlen(what) == len && !memcmp(name, what, len);
}

/* Quotes keep commas inside a value (SELinux contexts have them). */
static char *dup_value(const char *value, size_t len)
{
	if (len >= 2 && value[0] == '"' && value[len - 1] == '"') {
		value++;
		len -= 2;
	}
	return strndup(value, len);
}

static int add_param(struct mount_options *mo, const char *name, size_t namesz,
		     const char *value, size_t valsz)
{
	struct param *p;

	p = reallocarray(mo->params, mo->nr + 1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	mo->params = p;
	p += mo->nr;
	p->name = strndup(name, namesz);
	p->value = value ? dup_value(value, valsz) : NULL;
	if (!p->name || (value && !p->value)) {
		free(p->name);
		free(p->value);
		return -ENOMEM;
	}
	mo->nr++;
	return 0;
}

static int keep(char **where, const char *value, size_t len)
{
	free(*where);
	*where = dup_value(value, len);
	return *where ? 0 : -ENOMEM;
}

static int keep_user(struct mount_options *mo, const char *name, size_t namesz,
		     const char *value, size_t valsz)
{
	char *n = strndup(name, namesz);
	char *v = value ? strndup(value, valsz) : NULL;
	int err = -ENOMEM;

	if (n && (!value || v))
		err = mnt_optstr_append_option(&mo->user, n, v);
	free(n);
	free(v);
	return err;
}

static int parse_one(struct mount_options *mo, const char *name, size_t namesz,
		     const char *value, size_t valsz)
{
	const struct known *k = find_known(name, namesz);

	if (k) {
		mo->attr = (mo->attr & ~k->clear) | k->set;
		switch (k->kind) {
		case USER:
			return keep_user(mo, name, namesz, value, valsz);
		case SB:
		case READ:
			return add_param(mo, name, namesz, NULL, 0);
		default:
			return 0;
		}
	}
	if (is(name, namesz, "remount")) {
		mo->remount = true;
		return 0;
	}
	if (!value && (is(name, namesz, "bg") || is(name, namesz, "fg"))) {
		mo->bg = *name == 'b';
		return 0;
	}
	if (value && is(name, namesz, "retry"))
		return keep(&mo->retry, value, valsz);
	if (value && is(name, namesz, "addr"))
		return keep(&mo->addr, value, valsz);
	if (value && is(name, namesz, "port") && keep(&mo->port, value, valsz))
		return -ENOMEM;
	return add_param(mo, name, namesz, value, valsz);
}

/**
 * mount_options_parse - sort an option string
 * @mo:   out: the options; to be freed by mount_options_free() whatever is returned
 * @text: options with commas between them, NULL for none
 * @bad:  out, with -EINVAL: the rest of @text that begins with the wrong option, to be freed;
 *	  NULL if it is not known
 *
 * Return: 0, -EINVAL, -ENOMEM.
 */
int mount_options_parse(struct mount_options *mo, const char *text, char **bad)
{
	/* a copy, because libmount's iterator takes no const string; it does not write to it */
	char *copy, *next, *name, *value;
	size_t namesz, valsz;
	int err = 0;

	memset(mo, 0, sizeof(*mo));
	*bad = NULL;
	copy = strdup(text ? text : "");
	if (!copy)
		return -ENOMEM;
	next = copy;
	while (!err) {
		err = mnt_optstr_next_option(&next, &name, &namesz, &value, &valsz);
		if (err)
			break;
		if (!namesz)
			continue;
		err = parse_one(mo, name, namesz, value, valsz);
	}
	/* 1 means the end of the string, or a quote without its other half */
	if (err > 0)
		err = next && *next ? -EINVAL : 0;
	if (err == -EINVAL && next && *next)
		*bad = strdup(next);
	free(copy);
	return err;
}

/**
 * mount_options_free - free the memory of mount_options_parse()
 * @mo: the options, empty afterwards
 */
void mount_options_free(struct mount_options *mo)
{
	size_t i;

	for (i = 0; i < mo->nr; i++) {
		free(mo->params[i].name);
		free(mo->params[i].value);
	}
	free(mo->params);
	free(mo->user);
	free(mo->addr);
	free(mo->port);
	free(mo->retry);
	memset(mo, 0, sizeof(*mo));
}

/**
 * mount_source_split - take host:/export apart
 * @source: as the user gave it: name:/export, a.b.c.d:/export, [v6]:/export
 * @host:   out: the host without brackets, to be freed
 * @name:   out: the export's name without leading slashes, inside @source
 * @why:    out: a message if @source is wrong, else NULL
 *
 * Return: 0, -EINVAL with @why set, -ENOMEM.
 */
int mount_source_split(const char *source, char **host, const char **name, const char **why)
{
	const char *end, *colon, *begin = source;

	*host = NULL;
	*why = NULL;
	if (*source == '[') {
		begin++;
		end = strchr(begin, ']');
		if (!end || end[1] != ':')
			*why = "an IPv6 address is written [ADDRESS]:/EXPORT";
		colon = end ? end + 1 : NULL;
	} else {
		colon = strchr(source, ':');
		end = colon;
		if (!colon || memchr(source, '/', colon - source))
			*why = "the source is written HOST:/EXPORT";
		else if (strchr(colon + 1, ':') &&
			 strchr(colon + 1, ':') < strchrnul(colon, '/'))
			*why = "an IPv6 address is written in brackets: [ADDRESS]:/EXPORT";
	}
	if (!*why && end == begin)
		*why = "the source has no host: HOST:/EXPORT";
	if (*why)
		return -EINVAL;
	*name = colon + 1;
	while (**name == '/')
		(*name)++;
	if (!**name) {
		*why = "the source names no export: HOST:/EXPORT";
		return -EINVAL;
	}
	*host = strndup(begin, end - begin);
	return *host ? 0 : -ENOMEM;
}
