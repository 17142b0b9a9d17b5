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

/* Attributes of an export, named as in configfs and in the file. */
enum attr {
	ATTR_PATH,
	ATTR_ID,
	ATTR_SECRET,
	ATTR_READ_ONLY,
	ATTR_SQUASH,
	ATTR_ANONUID,
	ATTR_ANONGID,
	NR_ATTRS
};

extern const char *const attr_names[NR_ATTRS];

/**
 * struct export - an export
 * @name:   what clients mount, without slashes at its ends
 * @label:  its directory in configfs; NULL if it comes from a file
 * @attr:   values by enum attr; NULL where nothing is said
 * @enable: serve it
 * @line:   where it begins in the file, 0 if it comes from configfs
 */
struct export {
	char *name;
	char *label;
	char *attr[NR_ATTRS];
	bool enable;
	unsigned int line;
};

/**
 * struct port - a port
 * @number: its number
 * @enable: listen on it
 */
struct port {
	uint16_t number;
	bool enable;
};

/**
 * struct config - all of it
 * @exports:	exports
 * @nr_exports: how many
 * @ports:	ports
 * @nr_ports:	how many
 */
struct config {
	struct export *exports;
	size_t nr_exports;
	struct port *ports;
	size_t nr_ports;
};

/* config.c */
void config_free(struct config *cfg);
struct export *config_find(struct config *cfg, const char *name);
struct export *config_add_export(struct config *cfg, const char *name);
void config_add_port(struct config *cfg, uint16_t number, bool enable);
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
int configfs_read(struct config *cfg, bool secrets);
int configfs_export_create(const struct export *exp);
int configfs_export_update(const struct export *have, const struct export *want);
int configfs_export_remove(const char *label);
int configfs_port_start(uint16_t port);
int configfs_port_stop(uint16_t port);
void __attribute__((format(printf, 1, 2))) complain(const char *format, ...);

#endif
