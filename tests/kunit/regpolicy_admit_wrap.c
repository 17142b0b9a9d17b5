// SPDX-License-Identifier: GPL-2.0
/*
 * The suite's own copy of the admission rule, which the module does not export.
 */
#include "../../regpolicy/admit.c"
