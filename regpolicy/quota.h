/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What regpolicy's own files need of quotas beyond regpolicy.h.
 */
#ifndef RDMAFS_REGPOLICY_QUOTA_H
#define RDMAFS_REGPOLICY_QUOTA_H

#include "regpolicy/regpolicy.h"

bool rpol_quota_valid(const struct rpol_quota *quota);

#endif
