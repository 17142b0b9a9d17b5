// SPDX-License-Identifier: GPL-2.0
/*
 * The suites' own copies of the policy's pure functions, which its module does not export.
 */
#include "../../regpolicy/admit.c"
#include "../../regpolicy/entitle.c"
#include "../../regpolicy/window.c"
