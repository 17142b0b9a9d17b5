/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Entries of files that clients have open (opened.c): what claims do with them; for claim.c only.
 */
#ifndef RDMAFSD_OPENED_H
#define RDMAFSD_OPENED_H

#include "server.h"

void rdmafsd_opened_move(struct rdmafsd_export *exp, struct rdmafsd_opened *of,
			 enum rdmafsd_opened_name to);
struct rdmafsd_opened *rdmafsd_opened_get(struct rdmafsd_export *exp, struct inode *inode);
bool rdmafsd_opened_ends(struct rdmafsd_export *exp, struct rdmafsd_opened *of, bool *orphan);
void rdmafsd_opened_end(struct rdmafsd_export *exp, struct rdmafsd_opened *of, bool orphan);
int rdmafsd_opened_init(struct rdmafsd_export *exp);
void rdmafsd_opened_drop(struct rdmafsd_export *exp, struct rdmafsd_opened *of);
void rdmafsd_opened_exit(struct rdmafsd_export *exp);

#endif
