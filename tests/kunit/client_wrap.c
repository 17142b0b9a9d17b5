// SPDX-License-Identifier: GPL-2.0
/* The client exports nothing: the suites bring their own copy of its rules. */
#include "../../fs/client/coherence.c"
