// SPDX-License-Identifier: GPL-2.0
/* The transport does not export its pure parts: the suites bring their own copies. */
#include "../../transport/client/state.c"
#include "../../transport/connstate.c"
#include "../../transport/binding.c"
#include "../../transport/client/cost.c"
#include "../../transport/frame.c"
#include "../../transport/qp_plan.c"
#include "../../transport/server/reqstate.c"
#include "../../transport/server/grant.c"
#include "../../transport/send.c"
#include "../../transport/client/slot.c"
#include "../../transport/server/source.c"
