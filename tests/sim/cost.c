// SPDX-License-Identifier: GPL-2.0
/*
 * The real time that the policy takes: for a grant and a release without contention, for decisions
 * under contention, and for a computation of all entitlements with up to 10,000 members.  There is
 * one thread, so a lock takes the time of an uncontended one.
 */
#include <linux/ktime.h>
#include "regpolicy/domain.h"
#include "sim.h"

#define ROUNDS	2000000

static u64 cost_fast(void)
{
	struct rpol_quota q = { .max = RPOL_NO_MAX, .weight = 100 };
	struct rpol_domain *dom = rpol_domain_create(64 << 10, NULL, NULL);
	struct rpol_member *mem = rpol_member_create(dom, &q, NULL, NULL);
	struct rpol_mr own = { .class = L_CLASS, .entries = L }, *mr;
	u64 best = U64_MAX, began;
	int round, i;

	assert(!rpol_mr_get(mem, L_CLASS, L, RPOL_NOWAIT, &mr) && !mr);
	for (round = 0; round < 5; round++) {
		began = ktime_get_ns();
		for (i = 0; i < ROUNDS; i++) {
			rpol_mr_idle(mem, &own);
			assert(!rpol_mr_get(mem, L_CLASS, L, RPOL_NOWAIT, &mr));
		}
		best = min(best, ktime_get_ns() - began);
	}
	rpol_uncharge(mem, L);
	rpol_member_destroy(mem);
	rpol_domain_destroy(dom);
	return best * 10 / ROUNDS;
}

/* All members always want more than there is, so each MR that falls idle is taken for a claim. */
static void cost_many(u32 nr, u64 capacity)
{
	struct sim *s = sim_open(SIM_FAIR, capacity, nr);
	u32 depth = max_t(u32, 2, 3 * capacity / L / nr / 2), i;
	double *got = calloc(nr, sizeof(*got)), all = 0;
	u64 began, wall, before, best = U64_MAX, length = 400 * MS;
	u64 turn = (u64)nr * L > capacity ? 10 * MS * nr * L / capacity : 0;

	for (i = 0; i < nr; i++)
		sim_load(&s->m[i], 0, 100 * SEC, depth, L_CLASS, 5 * MS, 0);
	sim_start(s);
	/* Run until all members have had a turn or two, and then measure six turns. */
	length = max(length, 6 * turn);
	sim_run(s, max(100 * MS, 2 * turn));
	for (i = 0; i < nr; i++)
		got[i] = -(double)s->m[i].bound_ns;
	before = s->decisions;
	began = ktime_get_ns();
	sim_run(s, max(100 * MS, 2 * turn) + length);
	wall = ktime_get_ns() - began;
	before = s->decisions - before;
	for (i = 0; i < nr; i++) {
		got[i] += s->m[i].bound_ns;
		all += got[i];
	}
	for (i = 0; i < 20; i++) {
		began = ktime_get_ns();
		rpol_domain_lock(s->dom);
		rpol_balance_locked(s->dom, s->now);
		rpol_domain_unlock(s->dom);
		best = min(best, ktime_get_ns() - began);
	}
	printf("| %u | %llu Ki | %.4f | %.1f %% | %.2f M | %.1f us | %.0f ns |\n", nr,
	       (unsigned long long)capacity >> 10, sim_jain(got, nr),
	       100 * all / length / capacity, before * 1e3 / wall, best / 1e3,
	       (double)best / nr);
	fflush(stdout);
	free(got);
	sim_close(s);
}

/**
 * cost_run - measure all costs, and print a table
 *
 * Return: the exit status.
 */
int cost_run(void)
{
	static const u32 members[] = { 1, 10, 100, 1000, 10000 };
	static const u64 capacity[] = { 64 << 10, 1 << 20, 16 << 20 };
	u64 ns = cost_fast();
	u32 i, j;

	printf("An idle MR bound and idle again, nobody waiting: %llu.%llu ns.\n\n",
	       (unsigned long long)ns / 10, (unsigned long long)ns % 10);
	printf("| members | entries | Jain | used | decisions/s, simulation included | a rebalance | for each member |\n");
	printf("| --- | --- | --- | --- | --- | --- | --- |\n");
	for (j = 0; j < ARRAY_SIZE(capacity); j++)
		for (i = 0; i < ARRAY_SIZE(members); i++)
			cost_many(members[i], capacity[j]);
	return 0;
}
