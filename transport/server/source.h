/* SPDX-License-Identifier: GPL-2.0 */
/* What is counted as one client: a pure function. */
#ifndef RDMAFS_TRANSPORT_SOURCE_H
#define RDMAFS_TRANSPORT_SOURCE_H

#include <linux/types.h>
#include "transport/xprt.h"

void rxs_source(const struct sockaddr_storage *said, const u8 *gid, bool roce,
		struct rdmafs_xprt_source *source);

#endif
