/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stage for the policy: a domain whose clock stands until it is moved, and
 * members whose MRs are only numbers.  All in one thread: claims are waited
 * for by callback.
 *
 * After each step stage_check() looks at what must hold at any time.
 */
#ifndef RDMAFS_REGPOLICY_STAGE_H
#define RDMAFS_REGPOLICY_STAGE_H

#include <kunit/test.h>
#include <linux/list.h>
#include "regpolicy/regpolicy.h"

#define STAGE_MEMBERS	16
#define MS		1000000ULL

struct stage_member {
	struct stage *stage;
	struct rpol_member *mem;
	struct list_head busy;		/* stage_mr.link */
	struct list_head lent;		/* stage_mr.link */
	struct list_head claims;	/* stage_claim.link, waiting */
	u64 held;			/* entries of all its MRs */
	u32 asked;			/* times reclaim() was called */
	u32 freed;			/* victims destroyed */
	u64 last_victim;		/* name of the last one */
	/* For stage_run(): so many I/Os at a time, of a class, of a length in ns. */
	u32 depth;
	u32 class;
	u64 service;
	u64 done;
	struct rpol_member_stats st;	/* as last read; too large for a stack */
};

struct stage_mr {
	struct rpol_mr mr;
	struct list_head link;
	u64 name;
	u64 until;
};

struct stage_claim {
	struct rpol_waiter w;
	struct list_head link;
	struct list_head all;
	struct stage_member *m;
	bool ended;
	int ret;
	u64 place;
};

struct stage {
	struct kunit *test;
	struct rpol_domain *dom;
	u64 capacity;
	u64 now;
	u64 stale;			/* if not 0, what the clock says once, instead of @now */
	u64 wakes;
	u64 next_tick;			/* ns from the last wake */
	u64 names;
	u64 places;
	bool keep_victims;		/* victims wait for stage_reap() */
	bool running;
	struct list_head all;		/* stage_claim.all */
	struct stage_member m[STAGE_MEMBERS];
	int nr;
};

struct stage *stage_open(struct kunit *test, u64 capacity);
void stage_tune(struct stage *s, u32 discipline, u32 replacement);
struct stage_member *stage_member(struct stage *s, u64 min, u64 max, u32 weight);
void stage_leave(struct stage *s, struct stage_member *m);
struct stage_mr *stage_get(struct stage_member *m, unsigned int class);
struct stage_claim *stage_claim(struct stage_member *m, unsigned int class);
void stage_hoard(struct stage_member *m, unsigned int class, u32 nr);
void stage_idle(struct stage_member *m, struct stage_mr *mr);
void stage_idle_all(struct stage_member *m);
void stage_lend(struct stage_member *m, struct stage_mr *mr);
u32 stage_recalled(struct stage_member *m);
void stage_return(struct stage_member *m);
void stage_reap(struct stage_member *m);
void stage_run(struct stage *s, u64 ns);
void stage_pass(struct stage *s, u64 ns);
struct stage_mr *stage_oldest(struct stage_member *m);
const struct rpol_member_stats *stage_stats(struct stage_member *m);
void stage_check(struct stage *s);

#endif
