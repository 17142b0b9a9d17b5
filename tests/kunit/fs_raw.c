// SPDX-License-Identifier: GPL-2.0
/* Bare verbs for this module, too: an object is of one module only. */
#include "xprt_raw.c"
