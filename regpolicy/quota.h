/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions for quotas that are for the files of regpolicy/ only.
 */
#ifndef RDMAFS_REGPOLICY_QUOTA_H
#define RDMAFS_REGPOLICY_QUOTA_H

#include "regpolicy/regpolicy.h"

bool rpol_quota_valid(const struct rpol_quota *quota);

#endif
