// SPDX-License-Identifier: GPL-2.0
/*
 * The names of records (record.c): text to numbers and back, without a lock or a file system.
 *
 * A record is an empty file, so that it is made and removed in one step, and its name says all:
 *
 *	locks-CLIENT-RECORD-EXPORT
 *
 * CLIENT has 32 hex digits, the id that the client gives itself; RECORD 8, which tell the record
 * from others of the same client, and are not 0; EXPORT 8, since exports may share a file system.
 * The names that are found on a disk may be anything.
 */
#include <linux/hex.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include "record.h"

#define RDMAFSD_RECORD_HEAD	"locks-"
#define RDMAFSD_RECORD_HEAD_LEN	(sizeof(RDMAFSD_RECORD_HEAD) - 1)
#define RDMAFSD_RECORD_ID_LEN	(2 * RDMAFS_XPRT_CLIENT_ID)

static_assert(RDMAFSD_RECORD_LEN ==
	      RDMAFSD_RECORD_HEAD_LEN + RDMAFSD_RECORD_ID_LEN + 2 * (1 + 2 * sizeof(u32)));

/**
 * rdmafsd_record_name - make the name of a record
 * @r:	  the record
 * @name: out, RDMAFSD_RECORD_LEN bytes and a NUL
 *
 * Context: any.
 */
void rdmafsd_record_name(const struct rdmafsd_record *r, char *name)
{
	snprintf(name, RDMAFSD_RECORD_LEN + 1, RDMAFSD_RECORD_HEAD "%*phN-%08x-%08x",
		 RDMAFS_XPRT_CLIENT_ID, r->client, r->nr, r->export);
}

/* Eight hex digits behind a dash. */
static bool rdmafsd_record_number(const char *text, u32 *nr)
{
	u8 bytes[sizeof(u32)];

	if (text[0] != '-' || hex2bin(bytes, text + 1, sizeof(bytes)))
		return false;
	*nr = (u32)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
	return true;
}

/**
 * rdmafsd_record_parse - read the name of a record
 * @name: the name, not terminated
 * @len:  its length
 * @r:	  out: the record, if it is one
 *
 * Only the very name that rdmafsd_record_name() makes is one: no capitals, for instance.
 *
 * Context: any.
 * Return: true: it is the name of a record.
 */
bool rdmafsd_record_parse(const char *name, size_t len, struct rdmafsd_record *r)
{
	char again[RDMAFSD_RECORD_LEN + 1];
	const char *p = name;

	if (len != RDMAFSD_RECORD_LEN ||
	    memcmp(p, RDMAFSD_RECORD_HEAD, RDMAFSD_RECORD_HEAD_LEN))
		return false;
	p += RDMAFSD_RECORD_HEAD_LEN;
	if (hex2bin(r->client, p, RDMAFS_XPRT_CLIENT_ID))
		return false;
	p += RDMAFSD_RECORD_ID_LEN;
	if (!rdmafsd_record_number(p, &r->nr) || !r->nr)
		return false;
	p += 1 + 2 * sizeof(u32);
	if (!rdmafsd_record_number(p, &r->export))
		return false;
	rdmafsd_record_name(r, again);
	return !memcmp(again, name, len);
}
