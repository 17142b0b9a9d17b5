// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_regpolicy_trace: what the policy traces of windows, and for what reason.  A probe of
 * the module's own tracepoint notes what it is given.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include "regpolicy/domain.h"
#include "regpolicy/window.h"
#include "regpolicy_stage.h"

#define LARGE		3	/* class of 257 entries */
#define L		257ULL
#define NONE		RPOL_NO_WINDOW

#define TRACED_MAX	32

/**
 * struct traced - an event
 * @mem:    the member
 * @was:    its window before
 * @window: its window from now on
 * @why:    the reason
 */
struct traced {
	const struct rpol_member *mem;
	u64 was;
	u64 window;
	enum rpol_window_why why;
};

/**
 * struct traces - what the tracepoint was given
 * @tp:    the tracepoint; NULL: it has not been found
 * @probe: the probe is registered
 * @nr:    events that came, also those for which there was no room
 * @event: the first of them
 *
 * The case's thread alone causes events.
 */
static struct traces {
	struct tracepoint *tp;
	bool probe;
	u32 nr;
	struct traced event[TRACED_MAX];
} traces;

static void traces_probe(void *data, const struct rpol_member *mem, u64 was, u64 window,
			 enum rpol_window_why why)
{
	struct traces *t = data;

	if (t->nr < TRACED_MAX)
		t->event[t->nr] = (struct traced) {
			.mem = mem, .was = was, .window = window, .why = why,
		};
	t->nr++;
}

/* Called for each module that has tracepoints; those of the policy are not exported. */
static int traces_module(struct notifier_block *nb, unsigned long action, void *data)
{
	const struct module *mod = ((const struct tp_module *)data)->mod;
	struct tracepoint *tp;
	unsigned int i;

	if (action != MODULE_STATE_COMING || strcmp(mod->name, "rdmafs_regpolicy"))
		return NOTIFY_OK;
	for (i = 0; i < mod->num_tracepoints; i++) {
		tp = tracepoint_ptr_deref(&mod->tracepoints_ptrs[i]);
		if (!strcmp(tp->name, "rdmafs_policy_window"))
			traces.tp = tp;
	}
	return NOTIFY_OK;
}

/* The @n-th event of a member since traces_new() must be this one. */
static void traces_has(struct kunit *test, const struct stage_member *m, u32 n, u64 was,
		       u64 window, enum rpol_window_why why)
{
	u32 i, nth = n;

	for (i = 0; i < min_t(u32, traces.nr, TRACED_MAX); i++) {
		const struct traced *e = &traces.event[i];

		if (e->mem != m->mem || nth--)
			continue;
		KUNIT_EXPECT_EQ(test, e->was, was);
		KUNIT_EXPECT_EQ(test, e->window, window);
		KUNIT_EXPECT_EQ(test, e->why, why);
		return;
	}
	KUNIT_FAIL(test, "member %d has no event %u among %u",
		   (int)(m - m->stage->m), n, traces.nr);
}

static void traces_new(void)
{
	traces.nr = 0;
}

/*
 * Two members; @a has all entries in use, and @b waits for two MRs.  No event of before is kept.
 */
static struct stage *traces_contended(struct kunit *test, struct stage_member **a,
				      struct stage_member **b)
{
	struct stage *s = stage_open(test, 8 * L);

	*a = stage_member(s, 0, RPOL_NO_MAX, 100);
	*b = stage_member(s, 0, RPOL_NO_MAX, 100);
	stage_hoard(*a, LARGE, 8);
	stage_claim(*b, LARGE);
	s->now += MS;
	stage_claim(*b, LARGE);
	KUNIT_ASSERT_EQ(test, stage_stats(*a)->window, 6 * L);
	KUNIT_ASSERT_EQ(test, stage_stats(*b)->window, 2 * L);
	traces_new();
	return s;
}

/* The same, and @b has got what it waited for: nobody waits. */
static struct stage *traces_calm(struct kunit *test, struct stage_member **a,
				 struct stage_member **b)
{
	struct stage *s = traces_contended(test, a, b);

	stage_idle(*a, stage_oldest(*a));
	stage_idle(*a, stage_oldest(*a));
	KUNIT_ASSERT_EQ(test, stage_stats(*b)->in_use, 2 * L);
	KUNIT_ASSERT_EQ(test, stage_stats(*b)->waiters, 0);
	KUNIT_ASSERT_EQ(test, stage_stats(*a)->window, 6 * L);
	traces_new();
	return s;
}

/* The windows are cut to the entitlements when claims wait; no event comes if nothing changes. */
static void trace_window_cut(struct kunit *test)
{
	struct stage *s = stage_open(test, 8 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 0, RPOL_NO_MAX, 100);

	stage_hoard(a, LARGE, 8);
	KUNIT_EXPECT_EQ(test, traces.nr, 0);
	stage_claim(b, LARGE);
	KUNIT_EXPECT_EQ(test, traces.nr, 2);
	traces_has(test, a, 0, NONE, 7 * L, RPOL_WINDOW_SHARE);
	traces_has(test, b, 0, NONE, L, RPOL_WINDOW_SHARE);
	s->now += MS;
	stage_claim(b, LARGE);
	KUNIT_EXPECT_EQ(test, traces.nr, 4);
	traces_has(test, a, 1, 7 * L, 6 * L, RPOL_WINDOW_SHARE);
	traces_has(test, b, 1, L, 2 * L, RPOL_WINDOW_SHARE);
	stage_pass(s, 50 * MS);
	KUNIT_EXPECT_EQ(test, traces.nr, 4);
}

/* An entitlement is never below the minimum: a member that demands nothing keeps that. */
static void trace_window_minimum(struct kunit *test)
{
	struct stage *s = stage_open(test, 8 * L);
	struct stage_member *a = stage_member(s, 0, RPOL_NO_MAX, 100);
	struct stage_member *b = stage_member(s, 3 * L, RPOL_NO_MAX, 100);

	stage_hoard(a, LARGE, 6);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->waiters, 1);
	KUNIT_EXPECT_EQ(test, traces.nr, 2);
	traces_has(test, a, 0, NONE, 5 * L, RPOL_WINDOW_SHARE);
	traces_has(test, b, 0, NONE, 3 * L, RPOL_WINDOW_SHARE);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->entitlement, 3 * L);
}

/* Nobody has waited for long, and a member looks at its window: it is open, and that comes once. */
static void trace_window_calm(struct kunit *test)
{
	struct stage_member *a, *b;
	struct stage *s = traces_calm(test, &a, &b);

	s->now += RPOL_REGROW_NS;
	KUNIT_EXPECT_EQ(test, stage_stats(a)->window, 7 * L);
	KUNIT_EXPECT_EQ(test, traces.nr, 0);
	s->now += 1000 * MS;
	KUNIT_EXPECT_EQ(test, stage_stats(a)->window, NONE);
	KUNIT_EXPECT_EQ(test, stage_stats(a)->window, NONE);
	KUNIT_EXPECT_EQ(test, traces.nr, 1);
	traces_has(test, a, 0, 6 * L, NONE, RPOL_WINDOW_CALM);
}

/* A window that has grown in part is cut again: it was what it had grown to. */
static void trace_window_grown(struct kunit *test)
{
	struct stage_member *a, *b;
	struct stage *s = traces_calm(test, &a, &b);

	s->now += RPOL_REGROW_NS + MS;
	stage_claim(b, LARGE);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->waiters, 1);
	KUNIT_EXPECT_EQ(test, traces.nr, 2);
	traces_has(test, a, 0, 7 * L, 5 * L, RPOL_WINDOW_SHARE);
	/* It has grown to just what b is entitled to now; but it was cut to less. */
	traces_has(test, b, 0, 3 * L, 3 * L, RPOL_WINDOW_SHARE);
}

/* The windows have grown until they bound nothing, unnoticed, when claims wait again. */
static void trace_window_open(struct kunit *test)
{
	struct stage_member *a, *b;
	struct stage *s = traces_calm(test, &a, &b);

	s->now += 2000 * MS;
	/* Its first look finds its window open, and then it waits. */
	stage_claim(b, LARGE);
	KUNIT_EXPECT_EQ(test, stage_stats(b)->waiters, 1);
	KUNIT_EXPECT_EQ(test, traces.nr, 3);
	traces_has(test, b, 0, 2 * L, NONE, RPOL_WINDOW_CALM);
	traces_has(test, b, 1, NONE, stage_stats(b)->entitlement, RPOL_WINDOW_SHARE);
	traces_has(test, a, 0, NONE, stage_stats(a)->entitlement, RPOL_WINDOW_SHARE);
}

/* The discipline has no windows from now on, while claims wait; later it has some again. */
static void trace_window_fifo(struct kunit *test)
{
	struct stage_member *a, *b;
	struct stage *s = traces_contended(test, &a, &b);

	stage_tune(s, RPOL_FIFO, RPOL_LRU);
	KUNIT_EXPECT_EQ(test, traces.nr, 2);
	traces_has(test, a, 0, 6 * L, NONE, RPOL_WINDOW_FIFO);
	traces_has(test, b, 0, 2 * L, NONE, RPOL_WINDOW_FIFO);
	stage_tune(s, RPOL_FIFO, RPOL_LFU);
	KUNIT_EXPECT_EQ(test, traces.nr, 2);
	stage_tune(s, RPOL_FAIR, RPOL_LRU);
	KUNIT_EXPECT_EQ(test, traces.nr, 4);
	traces_has(test, a, 1, NONE, 6 * L, RPOL_WINDOW_SHARE);
	traces_has(test, b, 1, NONE, 2 * L, RPOL_WINDOW_SHARE);
}

/* The same after a long calm: the windows were open already, though nobody had looked. */
static void trace_window_fifo_late(struct kunit *test)
{
	struct stage_member *a, *b;
	struct stage *s = traces_calm(test, &a, &b);

	s->now += 2000 * MS;
	stage_tune(s, RPOL_FIFO, RPOL_LRU);
	KUNIT_EXPECT_EQ(test, traces.nr, 2);
	traces_has(test, a, 0, 6 * L, NONE, RPOL_WINDOW_CALM);
	traces_has(test, b, 0, 2 * L, NONE, RPOL_WINDOW_CALM);
}

static int trace_init(struct kunit *test)
{
	struct notifier_block nb = { .notifier_call = traces_module };

	traces = (struct traces) {};
	KUNIT_ASSERT_EQ(test, register_tracepoint_module_notifier(&nb), 0);
	unregister_tracepoint_module_notifier(&nb);
	KUNIT_ASSERT_NOT_NULL(test, traces.tp);
	KUNIT_ASSERT_EQ(test, tracepoint_probe_register(traces.tp, traces_probe, &traces), 0);
	traces.probe = true;
	return 0;
}

static void trace_exit(struct kunit *test)
{
	if (!traces.probe)
		return;
	tracepoint_probe_unregister(traces.tp, traces_probe, &traces);
	tracepoint_synchronize_unregister();
	traces.probe = false;
}

static struct kunit_case trace_cases[] = {
	KUNIT_CASE(trace_window_cut),
	KUNIT_CASE(trace_window_minimum),
	KUNIT_CASE(trace_window_calm),
	KUNIT_CASE(trace_window_grown),
	KUNIT_CASE(trace_window_open),
	KUNIT_CASE(trace_window_fifo),
	KUNIT_CASE(trace_window_fifo_late),
	{}
};

static struct kunit_suite trace_suite = {
	.name = "rdmafs_regpolicy_trace",
	.init = trace_init,
	.exit = trace_exit,
	.test_cases = trace_cases,
};

kunit_test_suite(trace_suite);
