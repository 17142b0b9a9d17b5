// SPDX-License-Identifier: GPL-2.0
/* The client's module exports no symbols, so the suites have their own copy of its rules. */
#include "../../fs/client/coherence.c"
#include "../../fs/client/outcome.c"
