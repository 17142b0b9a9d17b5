// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the time that the policy takes for a grant and a release without contention.  Each read
 * of /proc/rdmafs_policy_cost measures anew, in the reading task, and gives the medians of 2001
 * rounds of a hundred pairs each.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include "regpolicy/regpolicy.h"

#define ROUNDS	2001
#define TIMES	100

static int cmp_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void reclaim(void *ctx)
{
}

static const struct rpol_member_ops ops = {
	.reclaim = reclaim,
};

/* An idle MR is bound and falls idle again; returns ns, or U64_MAX if the policy refused. */
static u64 one_round(struct rpol_member *mem, struct rpol_mr *mr)
{
	u64 start = ktime_get_ns();
	int i;

	for (i = 0; i < TIMES; i++) {
		struct rpol_mr *got;

		if (rpol_mr_get(mem, mr->class, mr->entries, RPOL_NOWAIT, &got) || got != mr)
			return U64_MAX;
		rpol_mr_idle(mem, got);
	}
	return ktime_get_ns() - start;
}

/* The same with an MR that is made and destroyed each time: charge and release. */
static u64 one_round_new(struct rpol_member *mem)
{
	u64 start = ktime_get_ns();
	int i;

	for (i = 0; i < TIMES; i++) {
		struct rpol_mr *got;

		if (rpol_mr_get(mem, 1, 33, RPOL_NOWAIT, &got) || got)
			return U64_MAX;
		rpol_uncharge(mem, 33);
	}
	return ktime_get_ns() - start;
}

static int measure(struct seq_file *m, struct rpol_member *mem, u64 *ns)
{
	struct rpol_mr mr = { .class = 1, .entries = 33 }, *got;
	int i;

	for (i = 0; i < ROUNDS; i++)
		ns[i] = one_round_new(mem);
	sort(ns, ROUNDS, sizeof(*ns), cmp_u64, NULL);
	if (ns[ROUNDS - 1] == U64_MAX)
		return -EIO;
	seq_printf(m, "reserve_release_ns %llu\n", div_u64(ns[ROUNDS / 2], TIMES));

	if (rpol_mr_get(mem, mr.class, mr.entries, RPOL_NOWAIT, &got) || got)
		return -EIO;
	rpol_mr_idle(mem, &mr);
	for (i = 0; i < ROUNDS; i++)
		ns[i] = one_round(mem, &mr);
	rpol_mr_flush(mem);
	while (rpol_mr_reap(mem))
		rpol_mr_freed(mem, mr.entries);
	sort(ns, ROUNDS, sizeof(*ns), cmp_u64, NULL);
	if (ns[ROUNDS - 1] == U64_MAX)
		return -EIO;
	seq_printf(m, "acquire_release_ns %llu\n", div_u64(ns[ROUNDS / 2], TIMES));
	return 0;
}

static int cost_show(struct seq_file *m, void *v)
{
	const struct rpol_quota quota = { .max = RPOL_NO_MAX, .weight = RPOL_WEIGHT_DEFAULT };
	struct rpol_domain *dom;
	struct rpol_member *mem;
	int ret = -ENOMEM;
	u64 *ns;

	ns = kcalloc(ROUNDS, sizeof(*ns), GFP_KERNEL);
	if (!ns)
		return ret;
	dom = rpol_domain_create(1 << 20, NULL, NULL);
	if (IS_ERR(dom)) {
		kfree(ns);
		return PTR_ERR(dom);
	}
	mem = rpol_member_create(dom, &quota, &ops, NULL);
	if (!IS_ERR(mem)) {
		ret = measure(m, mem, ns);
		rpol_member_destroy(mem);
	}
	rpol_domain_destroy(dom);
	kfree(ns);
	return ret;
}

static int __init cost_init(void)
{
	return proc_create_single("rdmafs_policy_cost", 0444, NULL, cost_show) ? 0 : -ENOMEM;
}

static void __exit cost_exit(void)
{
	remove_proc_entry("rdmafs_policy_cost", NULL);
}

module_init(cost_init);
module_exit(cost_exit);

MODULE_DESCRIPTION("What rdmafs' registration policy costs");
MODULE_LICENSE("GPL");
