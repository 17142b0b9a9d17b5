/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The commands of rdmafsctl, and what they have in common.
 */
#ifndef RDMAFS_RDMAFSCTL_H
#define RDMAFS_RDMAFSCTL_H

#define DEFAULT_DIR	"/etc/rdmafs"
#define DEFAULT_FILE	DEFAULT_DIR "/exports.conf"

/* Exit statuses; rdmafsctl.c says what they mean.  configfs.c returns them, and 3, as numbers. */
enum {
	EX_OK = 0,
	EX_BAD = 1,
	EX_REFUSED = 2,
	EX_PARTLY = 4,
};

/* rdmafsctl.c */
int usage_error(const char *why, const char *what);
int parse_json(int argc, char **argv);

/* exports.c */
int export_add(int argc, char **argv);
int export_remove(int argc, char **argv);
int export_list(int argc, char **argv);

/* saved.c */
int settings_save(int argc, char **argv);
int settings_load(int argc, char **argv);

#endif
