/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_PRANDOM_H
#define SHIM_PRANDOM_H

#include <linux/kernel.h>

/* The C library's numbers: not those of the kernel, but likewise the same in each run. */
struct rnd_state {
	unsigned int seed;
};

static inline void prandom_seed_state(struct rnd_state *state, u64 seed)
{
	state->seed = seed;
}

static inline u32 prandom_u32_state(struct rnd_state *state)
{
	u32 high = rand_r(&state->seed);

	return high << 16 ^ rand_r(&state->seed);
}

#endif
