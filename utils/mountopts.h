/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The options of a mount.  Each is an attribute of the mount (nosuid), a parameter of
 * the file system that the kernel checks (port=), or an option that only user space
 * uses (_netdev).
 */
#ifndef RDMAFS_MOUNTOPTS_H
#define RDMAFS_MOUNTOPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct param - an option for the kernel
 * @name:  its name
 * @value: its value, NULL for a flag
 */
struct param {
	char *name;
	char *value;
};

/**
 * struct mount_options - options, sorted
 * @attr:     MOUNT_ATTR_* to set
 * @params:   parameters for the kernel, in the order given
 * @nr:       length of @params
 * @user:     options for user space, as an option string; NULL if there are none
 * @addr:     value of addr=, NULL if not given; not among @params
 * @port:     value of port=, NULL if not given; among @params as well
 * @retry:    value of retry=, NULL if not given
 * @bg:       bg was given, and no fg behind it
 * @remount:  change a mount rather than make one
 */
struct mount_options {
	uint64_t attr;
	struct param *params;
	size_t nr;
	char *user;
	char *addr;
	char *port;
	char *retry;
	bool bg;
	bool remount;
};

int mount_options_parse(struct mount_options *mo, const char *text, char **bad);
void mount_options_free(struct mount_options *mo);

int mount_source_split(const char *source, char **host, const char **name, const char **why);

#endif
