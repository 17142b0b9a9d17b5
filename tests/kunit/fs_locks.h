/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How suites that talk to a real server ask for locks (fs_locks_kunit.c).
 */
#ifndef RDMAFS_KUNIT_FS_LOCKS_H
#define RDMAFS_KUNIT_FS_LOCKS_H

#include <linux/limits.h>
#include "fs_client.h"

#define FS_LOCK_END	((u64)LLONG_MAX)

/* A lock as a client asks for it; all fields go on the wire as they are. */
struct fs_lock {
	u64 owner, start, end;
	u32 token, pid, type, kind, flags, record;
};

u32 fs_lock_ask(struct kunit *test, struct fs_client *c, enum rfp_op op, const struct fs_open *o,
		const struct fs_lock *l);
u32 fs_unlock(struct kunit *test, struct fs_client *c, const struct fs_open *o,
	      const struct fs_lock *l);
u32 fs_lock(struct kunit *test, struct fs_client *c, const struct fs_open *o,
	    const struct fs_lock *l);

#endif
