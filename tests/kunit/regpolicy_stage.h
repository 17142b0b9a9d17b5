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

/**
 * struct stage_member - a member and its MRs
 * @stage:   the stage it is on
 * @mem:     the policy's part
 * @busy:    MRs that are bound, by stage_mr.link, in the order in which they were bound
 * @lent:    MRs that are lent, by stage_mr.link
 * @claims:  claims that wait, by stage_claim.link, in the order of arrival
 * @held:    entries of all its MRs
 * @asked:   number of calls of reclaim()
 * @freed:   number of victims destroyed
 * @last_victim: stage_mr.name of the last of them
 * @depth:   for stage_run(), like the next three: I/Os at a time
 * @class:   class of their MRs
 * @service: time for which each has its MR, in ns
 * @done:    I/Os that have ended
 * @st:	     the statistics as they were read last; too large for a stack
 */
struct stage_member {
	struct stage *stage;
	struct rpol_member *mem;
	struct list_head busy;
	struct list_head lent;
	struct list_head claims;
	u64 held;
	u32 asked;
	u32 freed;
	u64 last_victim;
	u32 depth;
	u32 class;
	u64 service;
	u64 done;
	struct rpol_member_stats st;
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

/**
 * struct stage - a domain, its clock and its members; used by the case's thread only
 * @test:     the case
 * @dom:      the policy's part
 * @capacity: entries of the domain, as stage_check() is to know them
 * @now:      the clock, in ns
 * @stale:    if not 0, the clock gives this once, instead of @now
 * @wakes:    number of calls of wake()
 * @next_tick: the delay that the last of them asked for, in ns
 * @names:    the last stage_mr.name
 * @places:   the last stage_claim.place
 * @keep_victims: victims stay until the case calls stage_reap()
 * @running:  claims are freed as soon as they have ended
 * @all:      all claims that are not freed, by stage_claim.all
 * @m:	      the members
 * @nr:	      number of members
 */
struct stage {
	struct kunit *test;
	struct rpol_domain *dom;
	u64 capacity;
	u64 now;
	u64 stale;
	u64 wakes;
	u64 next_tick;
	u64 names;
	u64 places;
	bool keep_victims;
	bool running;
	struct list_head all;
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
