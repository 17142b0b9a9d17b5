// SPDX-License-Identifier: GPL-2.0
/*
 * The registration policy as a module.  It has no state of its own: transport makes
 * domains, one for each RNIC, and destroys them before this module can be unloaded.
 */
#include <linux/module.h>

MODULE_DESCRIPTION("rdmafs registration policy: shares an RNIC's translations");
MODULE_LICENSE("GPL");
