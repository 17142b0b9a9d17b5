// SPDX-License-Identifier: GPL-2.0
/* The server's module exports no symbols, so the suites have their own copy of its rules. */
#include "../../fs/server/recordname.c"
