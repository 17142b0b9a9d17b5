/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stage for the policy: a domain whose clock moves only when a case moves it, and members
 * whose MRs are mere numbers.  All runs in one thread: a claim that waits does not sleep, but
 * is granted by a callback.
 *
 * stage_check() tests the conditions that hold after every step.
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
	u32 asked;			/* number of calls of reclaim() */
	u32 freed;			/* victims destroyed */
	u64 last_victim;		/* stage_mr.name of the last of them */
	/* For stage_run(): */
	u32 depth;			/* I/Os at a time */
	u32 class;			/* class of their MRs */
	u64 service;			/* time for which each has its MR, in ns */
	u64 done;			/* I/Os that have ended */
	struct rpol_member_stats st;	/* as last read; too large for a stack */
};

struct stage_mr {
	struct rpol_mr mr;
	struct list_head link;		/* stage_member.busy or lent, or on neither if idle */
	u64 name;			/* number of the MR, in the order in which they are made */
	u64 until;			/* end of its I/O, for stage_run() */
};

struct stage_claim {
	struct rpol_waiter w;
	struct list_head link;		/* stage_member.claims, until it has ended */
	struct list_head all;		/* stage.all */
	struct stage_member *m;
	bool ended;
	int ret;			/* its result, once it has ended */
	u64 place;			/* its place among all claims, in the order of their ends */
};

struct stage {
	struct kunit *test;
	struct rpol_domain *dom;
	u64 capacity;
	u64 now;			/* the clock, in ns */
	u64 stale;			/* if not 0, the clock gives this once, instead of @now */
	u64 wakes;			/* number of calls of wake() */
	u64 next_tick;			/* the delay that the last of them asked for, in ns */
	u64 names;			/* the last stage_mr.name */
	u64 places;			/* the last stage_claim.place */
	bool keep_victims;		/* victims stay until the case calls stage_reap() */
	bool running;			/* claims are freed when they have ended */
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
