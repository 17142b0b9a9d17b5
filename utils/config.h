/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The server's settings as rdmafsctl handles them: read from configfs or from
 * a file, compared, written to either.
 */
#ifndef RDMAFS_CONFIG_H
#define RDMAFS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define DEFAULT_PORT	20060
#define NAME_BYTES	255	/* longest name of an export, and of a file */
#define ANON_ID		"65534"	/* nobody, nogroup */
#define GRACE_S		"30"	/* the lease of a session */

/* Attributes of an export, named as in configfs and in the file. */
enum attr {
	ATTR_PATH,
	ATTR_ID,
	ATTR_SECRET,
	ATTR_READ_ONLY,
	ATTR_SQUASH,
	ATTR_ANONUID,
	ATTR_ANONGID,
	ATTR_DEVICES,
	ATTR_XATTRS,
	ATTR_MOUNTPOINT,
	ATTR_CROSSMNT,
	ATTR_SECLABEL,
	ATTR_GRACE,
	NR_ATTRS
};

extern const char *const attr_names[NR_ATTRS];

/**
 * struct export - an export
 * @name:   the name that clients mount, without slashes at its ends
 * @label:  its directory in configfs; NULL if it was not read from configfs
 * @attr:   values by enum attr; NULL where none was given
 * @enable: serve it
 * @line:   the line where it begins in the file, 0 if it was not read from a file
 */
struct export {
	char *name;
	char *label;
	char *attr[NR_ATTRS];
	bool enable;
	unsigned int line;
};

/**
 * struct limit - how much of something clients are allowed
 * @name:  name of its file in configfs, max_SOMETHING
 * @value: a number
 */
struct limit {
	char *name;
	char *value;
};

/**
 * struct limits - limits that were given; only the kernel knows which there are
 * @limit: the limits
 * @nr:	   how many
 */
struct limits {
	struct limit *limit;
	size_t nr;
};

/**
 * struct port - a port
 * @number: its number
 * @enable: listen on it
 * @limits: limits for its clients
 */
struct port {
	uint16_t number;
	bool enable;
	struct limits limits;
};

/**
 * struct config - all settings of the server
 * @exports:	exports
 * @nr_exports: how many
 * @ports:	ports
 * @nr_ports:	how many
 * @limits:	limits for the clients of all ports together
 */
struct config {
	struct export *exports;
	size_t nr_exports;
	struct port *ports;
	size_t nr_ports;
	struct limits limits;
};

/* config.c */
void config_free(struct config *cfg);
struct export *config_find(struct config *cfg, const char *name);
struct export *config_add_export(struct config *cfg, const char *name);
struct port *config_add_port(struct config *cfg, uint16_t number, bool enable);
struct port *config_find_port(const struct config *cfg, uint16_t number);
bool is_limit(const char *name);
bool is_limit_value(const char *value);
const char *limit_get(const struct limits *limits, const char *name);
void limit_set(struct limits *limits, const char *name, const char *value);
void limits_free(struct limits *limits);
int config_parse(FILE *f, const char *file, struct config *cfg);
void config_write(FILE *f, const struct config *cfg);
void export_set(struct export *exp, enum attr a, const char *value);
void export_fill_defaults(struct export *exp);
const char *attr_check(enum attr a, const char *value);
const char *name_check(const char *name);
char *name_clean(const char *name);
char *name_to_label(const char *name);
int parse_port(const char *text, uint16_t *port);
void *must(void *p);

/* configfs.c */
extern const char *configfs_base;

int configfs_begin(bool change);
void configfs_end(void);
size_t configfs_ending(const char *id);
int configfs_read(struct config *cfg, bool secrets);
int configfs_export_create(const struct export *exp, bool keep);
int configfs_export_update(const struct export *have, const struct export *want);
int configfs_export_remove(const struct export *exp);
int configfs_port_set(const struct port *have, const struct port *want);
int configfs_port_stop(uint16_t port);
int configfs_limits_set(const struct port *port, const struct limits *have,
			const struct limits *want);
void __attribute__((format(printf, 1, 2))) complain(const char *format, ...);

#endif
