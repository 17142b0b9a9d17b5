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

/* One thread can't sleep: what it would wait for must have happened. */
static inline void wait_for_completion(struct completion *c)
{
	WARN_ON_ONCE(!c->done);
}

/* For the program to say what goes on meanwhile: 0, or negative if the task was killed. */
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
