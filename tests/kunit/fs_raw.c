// SPDX-License-Identifier: GPL-2.0
/* This module's own copy of the bare verbs: kbuild links an object into one module only. */
#include "xprt_raw.c"
