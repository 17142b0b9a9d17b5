/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rdmafsd: in how many file systems below an export a client has files open, for clients.c.
 */
#ifndef RDMAFSD_STAYING_H
#define RDMAFSD_STAYING_H

#include "server.h"

struct rdmafsd_stay;

/**
 * enum rdmafsd_stay_kind - claims of which a client may have so many below an export, each kind
 * @RDMAFSD_STAY_OPEN:  an open
 * @RDMAFSD_STAY_AGAIN: likewise, of which the client has proven that it had it before
 * @RDMAFSD_STAY_GUESS: a file that the client has removed, and that others may have open
 */
enum rdmafsd_stay_kind {
	RDMAFSD_STAY_OPEN,
	RDMAFSD_STAY_AGAIN,
	RDMAFSD_STAY_GUESS,
};

int rdmafsd_stay_get(const struct rdmafsd_export *exp, const struct rdmafs_xprt_source *source,
		     enum rdmafsd_stay_kind kind, struct rdmafsd_stay **stay);
struct rdmafsd_stay *rdmafsd_stay_share(struct rdmafsd_stay *stay);
void rdmafsd_stay_put(struct rdmafsd_stay *stay);

#endif
