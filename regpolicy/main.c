// SPDX-License-Identifier: GPL-2.0
/*
 * The registration policy as a module.  It has no state of its own: domains
 * are made by transport, one for each RNIC, and gone before it is unloaded.
 */
#include <linux/module.h>

MODULE_DESCRIPTION("rdmafs registration policy: shares an RNIC's translations");
MODULE_LICENSE("GPL");
