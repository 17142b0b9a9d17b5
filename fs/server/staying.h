/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rdmafsd: in how many file systems below an export a client has files open, for clients.c.
 */
#ifndef RDMAFSD_STAYING_H
#define RDMAFSD_STAYING_H

#include "server.h"

struct rdmafsd_stay;

int rdmafsd_stay_get(const struct rdmafsd_export *exp, const struct rdmafs_xprt_source *source,
		     bool again, struct rdmafsd_stay **stay);
struct rdmafsd_stay *rdmafsd_stay_share(struct rdmafsd_stay *stay);
void rdmafsd_stay_put(struct rdmafsd_stay *stay);

#endif
