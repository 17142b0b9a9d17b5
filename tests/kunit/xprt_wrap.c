// SPDX-License-Identifier: GPL-2.0
/* The transport exports none of its pure parts: the suites bring their own copy. */
#include "../../transport/frame.c"
#include "../../transport/send.c"
#include "../../transport/slot.c"
