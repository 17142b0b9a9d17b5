/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records, on stable storage, of clients that have locks in exports (record.c, recordname.c).
 */
#ifndef RDMAFSD_RECORD_H
#define RDMAFSD_RECORD_H

#include <linux/types.h>
#include "transport/xprt.h"

#define RDMAFSD_RECORD_LEN	56	/* of a name */

struct rdmafsd_export;

/**
 * struct rdmafsd_record - says that a client has, or may have, locks in an export
 * @client: the id that the client's mount gives itself, the same in all of its sessions
 * @nr:	    tells it from other records of that client; not 0
 * @export: the export's id
 */
struct rdmafsd_record {
	u8 client[RDMAFS_XPRT_CLIENT_ID];
	u32 nr;
	u32 export;
};

void rdmafsd_record_name(const struct rdmafsd_record *r, char *name);
bool rdmafsd_record_parse(const char *name, size_t len, struct rdmafsd_record *r);

/* Takes a record that was found; false: no more. */
typedef bool (*rdmafsd_record_fn)(const struct rdmafsd_record *r, void *to);

int rdmafsd_records_read(struct rdmafsd_export *exp, rdmafsd_record_fn fn, void *to);
int rdmafsd_record_make(struct rdmafsd_export *exp, const struct rdmafsd_record *r);
int rdmafsd_record_remove(struct rdmafsd_export *exp, const struct rdmafsd_record *r);
int rdmafsd_records_commit(struct rdmafsd_export *exp);

#endif
