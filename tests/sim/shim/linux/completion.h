/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_COMPLETION_H
#define SHIM_COMPLETION_H

#include <linux/kernel.h>

struct completion { bool done; };

static inline void init_completion(struct completion *c)
{
	c->done = false;
}

static inline void complete(struct completion *c)
{
	c->done = true;
}

/* One thread can't sleep: what it would wait for must have happened. */
static inline void wait_for_completion(struct completion *c)
{
	WARN_ON_ONCE(!c->done);
}

static inline long wait_for_completion_killable_timeout(struct completion *c, long timeout)
{
	WARN_ON_ONCE(!c->done);
	return timeout;
}

#endif
