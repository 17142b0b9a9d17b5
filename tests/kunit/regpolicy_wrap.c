// SPDX-License-Identifier: GPL-2.0
/*
 * The suites' own copies of what is pure, which the module does not export.
 */
#include "../../regpolicy/admit.c"
#include "../../regpolicy/entitle.c"
#include "../../regpolicy/window.c"
