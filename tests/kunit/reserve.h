/* SPDX-License-Identifier: GPL-2.0 */
/* What the suites take of a member's entries without an MR. */
#ifndef RDMAFS_KUNIT_RESERVE_H
#define RDMAFS_KUNIT_RESERVE_H

#include "regpolicy/regpolicy.h"

/*
 * Charge a member as for a new MR, whatever MRs are idle.  rpol_uncharge() ends the charge.
 * Context and result as of rpol_mr_get(); @flags is 0 or RPOL_NOWAIT.
 */
static inline int reserve_entries(struct rpol_member *mem, u32 entries, unsigned int flags)
{
	struct rpol_mr *mr;

	return rpol_mr_get(mem, RPOL_NO_CLASS, entries, flags, &mr);
}

#endif
