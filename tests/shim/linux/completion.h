/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_COMPLETION_H
#define SHIM_COMPLETION_H

#include <linux/kernel.h>

struct completion {
	bool done;
	const struct completion *self;	/* once it has been initialised */
};

static inline void init_completion(struct completion *c)
{
	c->done = false;
	c->self = c;
}

static inline void complete(struct completion *c)
{
	WARN_ON_ONCE(c->self != c);
	c->done = true;
}

/* The one thread cannot sleep, so the completion must be done already. */
static inline void wait_for_completion(struct completion *c)
{
	WARN_ON_ONCE(!c->done);
}

/*
 * Defined by the program: does what goes on during the wait.  Returns 0, or a negative errno if
 * the task was killed.
 */
int shim_wait_killable(struct completion *c);

static inline int wait_for_completion_killable(struct completion *c)
{
	return shim_wait_killable(c);
}

static inline long wait_for_completion_killable_timeout(struct completion *c, long timeout)
{
	WARN_ON_ONCE(!c->done);
	return timeout;
}

#endif
