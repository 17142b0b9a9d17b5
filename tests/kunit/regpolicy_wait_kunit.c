// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_regpolicy_wait: reservations that wait, made by real threads.
 *
 * An *actor* is a thread that makes one reservation.  It notes the result and the reservation's
 * place in the order in which all of them ended.  A case starts one actor after the other, and
 * sees each wait before it starts the next, so that the order of arrival is known.
 *
 * wait_exit() clears up after each case, even one that failed: it shuts down all members, which
 * ends all waits, and releases what was granted.
 */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/sched/signal.h>
#include "regpolicy/regpolicy.h"
#include "reserve.h"

#define MAX_MEMBERS	8
#define MAX_ACTORS	32

/* How long to wait for an event that must come: long enough for a loaded machine. */
#define PATIENCE	(20 * HZ)
/* How long to watch for an event that must not come: much longer than a wakeup takes. */
#define A_WHILE_MS	30

struct stage;

struct actor {
	struct stage *stage;
	struct rpol_member *mem;
	u32 entries;
	struct task_struct *task;
	struct completion ended;
	int ret;
	int place;
};

struct stage {
	struct rpol_domain *dom;
	struct rpol_member *mem[MAX_MEMBERS];
	int nr_members;
	struct actor actor[MAX_ACTORS];
	int nr_actors;
	atomic_t places;
};

static int actor_run(void *arg)
{
	struct actor *a = arg;

	allow_kernel_signal(SIGKILL);
	a->ret = reserve_entries(a->mem, a->entries, 0);
	a->place = atomic_inc_return(&a->stage->places);
	flush_signals(current);
	complete(&a->ended);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static u64 waiters_of(struct rpol_domain *dom)
{
	struct rpol_domain_stats st;

	rpol_domain_get_stats(dom, &st);
	return st.waiters;
}

static u64 charged_of(struct rpol_member *mem)
{
	struct rpol_member_stats st;

	rpol_member_get_stats(mem, &st);
	return st.charged;
}

static void expect_waiters(struct kunit *test, u64 nr)
{
	struct stage *s = test->priv;
	unsigned long until = jiffies + PATIENCE;

	while (waiters_of(s->dom) != nr && time_before(jiffies, until))
		usleep_range(100, 1000);
	KUNIT_ASSERT_EQ(test, waiters_of(s->dom), nr);
}

static struct actor *actor(struct kunit *test, struct rpol_member *mem, u32 entries)
{
	struct stage *s = test->priv;
	struct actor *a;

	KUNIT_ASSERT_LT(test, s->nr_actors, MAX_ACTORS);
	a = &s->actor[s->nr_actors];
	a->stage = s;
	a->mem = mem;
	a->entries = entries;
	init_completion(&a->ended);
	a->task = kthread_create(actor_run, a, "rpol-waiter");
	KUNIT_ASSERT_FALSE(test, IS_ERR(a->task));
	get_task_struct(a->task);
	s->nr_actors++;
	wake_up_process(a->task);
	return a;
}

static struct actor *waiting_actor(struct kunit *test, struct rpol_member *mem, u32 entries)
{
	struct stage *s = test->priv;
	u64 waiters = waiters_of(s->dom);
	struct actor *a = actor(test, mem, entries);

	expect_waiters(test, waiters + 1);
	return a;
}

static void expect_end(struct kunit *test, struct actor *a, int ret)
{
	KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&a->ended, PATIENCE), 0UL);
	KUNIT_EXPECT_EQ(test, a->ret, ret);
}

static void expect_still_waiting(struct kunit *test, struct actor *a)
{
	msleep(A_WHILE_MS);
	KUNIT_EXPECT_FALSE(test, completion_done(&a->ended));
}

static void domain_with(struct kunit *test, u64 capacity, const struct rpol_domain_ops *ops)
{
	struct stage *s = test->priv;
	struct rpol_domain *dom = rpol_domain_create(capacity, ops, NULL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dom);
	s->dom = dom;
}

static void domain(struct kunit *test, u64 capacity)
{
	domain_with(test, capacity, NULL);
}

static u64 clock_stands(void *ctx)
{
	return NSEC_PER_SEC;
}

/*
 * A domain whose clock stands still: no deficit grows while a member waits, so members of equal
 * weight are served in the order in which they began to wait.  With a running clock they would
 * stand in line by deficits that were computed at different times, until the next tick.
 */
static void standing_domain(struct kunit *test, u64 capacity)
{
	static const struct rpol_domain_ops ops = { .now = clock_stands };

	domain_with(test, capacity, &ops);
}

/* A domain that serves in the order of arrival, for cases that expect this order. */
static void fifo_domain(struct kunit *test, u64 capacity)
{
	struct stage *s = test->priv;
	struct rpol_tunables tun;

	domain(test, capacity);
	rpol_domain_get_tunables(s->dom, &tun);
	tun.discipline = RPOL_FIFO;
	KUNIT_ASSERT_EQ(test, rpol_domain_set_tunables(s->dom, &tun), 0);
}

static struct rpol_member *member(struct kunit *test, u64 min, u64 max)
{
	struct rpol_quota q = { .min = min, .max = max, .weight = RPOL_WEIGHT_DEFAULT };
	struct stage *s = test->priv;
	struct rpol_member *mem;

	KUNIT_ASSERT_LT(test, s->nr_members, MAX_MEMBERS);
	mem = rpol_member_create(s->dom, &q, NULL, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mem);
	s->mem[s->nr_members++] = mem;
	return mem;
}

static void reserve(struct kunit *test, struct rpol_member *mem, u32 entries)
{
	KUNIT_ASSERT_EQ(test, reserve_entries(mem, entries, RPOL_NOWAIT), 0);
}

static int wait_init(struct kunit *test)
{
	struct stage *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	if (!s)
		return -ENOMEM;
	test->priv = s;
	return 0;
}

static void wait_exit(struct kunit *test)
{
	struct stage *s = test->priv;
	int i;

	if (!s)
		return;
	for (i = 0; i < s->nr_members; i++)
		rpol_member_shutdown(s->mem[i]);
	for (i = 0; i < s->nr_actors; i++) {
		kthread_stop(s->actor[i].task);
		put_task_struct(s->actor[i].task);
	}
	for (i = 0; i < s->nr_members; i++) {
		rpol_uncharge(s->mem[i], charged_of(s->mem[i]));
		rpol_member_destroy(s->mem[i]);
	}
	if (s->dom)
		rpol_domain_destroy(s->dom);
}

/* Destroys the member that was made last, in the middle of a case. */
static void drop_last_member(struct stage *s)
{
	rpol_member_destroy(s->mem[--s->nr_members]);
}

/*
 * A member holds all entries, and another one waits for 100.  It stays asleep when 99 are
 * released, and is woken by the last one.  A lost wakeup would be found here, and a grant of
 * entries that are not there.
 */
static void wait_until_released(struct kunit *test)
{
	struct rpol_member *a, *b;
	struct rpol_member_stats st;
	struct actor *w;

	domain(test, 1000);
	a = member(test, 0, RPOL_NO_MAX);
	b = member(test, 0, RPOL_NO_MAX);
	reserve(test, a, 1000);
	w = waiting_actor(test, b, 100);
	KUNIT_EXPECT_TRUE(test, rpol_pressed(a));
	KUNIT_EXPECT_FALSE(test, rpol_capped(b, 1));
	rpol_member_get_stats(b, &st);
	KUNIT_EXPECT_EQ(test, st.waiters, 1);
	KUNIT_EXPECT_EQ(test, st.waiting, 100);
	KUNIT_EXPECT_EQ(test, st.waits, 1);

	rpol_uncharge(a, 99);
	expect_still_waiting(test, w);
	KUNIT_EXPECT_TRUE(test, rpol_pressed(a));
	rpol_uncharge(a, 1);
	expect_end(test, w, 0);
	KUNIT_EXPECT_FALSE(test, rpol_pressed(a));
	rpol_member_get_stats(b, &st);
	KUNIT_EXPECT_EQ(test, st.charged, 100);
	KUNIT_EXPECT_EQ(test, st.waiters, 0);
	KUNIT_EXPECT_EQ(test, st.waiting, 0);
	KUNIT_EXPECT_EQ(test, st.grants, 1);
	KUNIT_EXPECT_GE(test, st.wait_ns, (u64)A_WHILE_MS * NSEC_PER_MSEC);
}

/*
 * A large reservation waits, and smaller ones come after it: from another member, from its own,
 * and without waiting.  None of them may overtake it, although they would fit; else the large
 * one could starve.
 */
static void wait_small_behind_large(struct kunit *test)
{
	struct rpol_member *a, *b, *c;
	struct actor *large, *small, *own;

	fifo_domain(test, 1000);
	a = member(test, 0, RPOL_NO_MAX);
	b = member(test, 0, RPOL_NO_MAX);
	c = member(test, 0, RPOL_NO_MAX);
	reserve(test, a, 1000);
	large = waiting_actor(test, b, 257);
	small = waiting_actor(test, c, 8);
	own = waiting_actor(test, b, 8);

	rpol_uncharge(a, 256);
	expect_still_waiting(test, small);
	expect_still_waiting(test, own);
	KUNIT_EXPECT_EQ(test, reserve_entries(a, 1, RPOL_NOWAIT), -EAGAIN);
	KUNIT_EXPECT_EQ(test, reserve_entries(c, 1, RPOL_NOWAIT), -EAGAIN);

	rpol_uncharge(a, 1);
	expect_end(test, large, 0);
	expect_still_waiting(test, small);
	rpol_uncharge(a, 8);
	expect_end(test, small, 0);
	expect_still_waiting(test, own);
	rpol_uncharge(a, 8);
	expect_end(test, own, 0);
	KUNIT_EXPECT_LT(test, large->place, small->place);
	KUNIT_EXPECT_LT(test, small->place, own->place);
}

/*
 * Ten reservations of all sizes wait, and all entries are released.  All of them must be granted,
 * and no waiter may be left.
 */
static void wait_in_order_of_arrival(struct kunit *test)
{
	static const u32 sizes[] = { 257, 8, 129, 33, 8, 257, 8, 33, 129, 8 };
	struct actor *w[ARRAY_SIZE(sizes)];
	struct rpol_member *a, *m[3];
	u32 total = 0;
	size_t i;

	fifo_domain(test, 2000);
	a = member(test, 0, RPOL_NO_MAX);
	for (i = 0; i < ARRAY_SIZE(m); i++)
		m[i] = member(test, 0, RPOL_NO_MAX);
	reserve(test, a, 2000);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		w[i] = waiting_actor(test, m[i % ARRAY_SIZE(m)], sizes[i]);
		total += sizes[i];
	}
	/* Release one entry at a time, so that no release can grant two reservations. */
	for (i = 0; i < total; i++)
		rpol_uncharge(a, 1);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		expect_end(test, w[i], 0);
	KUNIT_EXPECT_EQ(test, waiters_of(((struct stage *)test->priv)->dom), 0);
}

/*
 * The same with equal sizes; each grant is seen before the next one is made possible.  They must
 * come in the order of arrival, with one grant for each release.
 */
static void wait_one_by_one(struct kunit *test)
{
	struct rpol_member *a, *m[4];
	struct actor *w[12];
	size_t i, j;

	fifo_domain(test, 2000);
	a = member(test, 0, RPOL_NO_MAX);
	for (i = 0; i < ARRAY_SIZE(m); i++)
		m[i] = member(test, 0, RPOL_NO_MAX);
	reserve(test, a, 2000);
	for (i = 0; i < ARRAY_SIZE(w); i++)
		w[i] = waiting_actor(test, m[(i * 7) % ARRAY_SIZE(m)], 100);
	for (i = 0; i < ARRAY_SIZE(w); i++) {
		rpol_uncharge(a, 100);
		expect_end(test, w[i], 0);
		KUNIT_EXPECT_EQ(test, w[i]->place, (int)i + 1);
		for (j = i + 1; j < ARRAY_SIZE(w); j++)
			KUNIT_EXPECT_FALSE(test, completion_done(&w[j]->ended));
	}
}

/*
 * A member waits because it is at its own maximum.  It holds up its own later reservations, and
 * no other member: the other one gets entries while it waits.
 */
static void wait_for_own_maximum(struct kunit *test)
{
	struct rpol_member *a, *b;
	struct actor *w, *behind;

	domain(test, 1000);
	a = member(test, 0, 300);
	b = member(test, 0, RPOL_NO_MAX);
	reserve(test, a, 299);
	KUNIT_EXPECT_FALSE(test, rpol_capped(a, 1));
	KUNIT_EXPECT_TRUE(test, rpol_capped(a, 2));
	reserve(test, a, 1);
	w = waiting_actor(test, a, 50);
	behind = waiting_actor(test, a, 1);
	KUNIT_EXPECT_TRUE(test, rpol_pressed(a));
	KUNIT_EXPECT_FALSE(test, rpol_pressed(b));
	reserve(test, b, 700);
	KUNIT_EXPECT_FALSE(test, rpol_pressed(b));
	KUNIT_EXPECT_TRUE(test, rpol_capped(a, 1));
	KUNIT_EXPECT_FALSE(test, rpol_capped(b, 1));
	rpol_uncharge(b, 700);
	reserve(test, b, 257);
	rpol_uncharge(a, 49);
	expect_still_waiting(test, w);
	/* One entry is below the maximum, but the claim would have to stand behind @w. */
	KUNIT_EXPECT_TRUE(test, rpol_capped(a, 1));
	KUNIT_EXPECT_FALSE(test, completion_done(&behind->ended));
	rpol_uncharge(a, 2);
	expect_end(test, w, 0);
	expect_end(test, behind, 0);
	KUNIT_EXPECT_EQ(test, charged_of(a), 300);
}

/*
 * A member takes entries that its minimum keeps for it, while another one waits for common
 * entries.  It must get them at once; for the part beyond its minimum it has to wait in line.
 */
static void wait_minimum_needs_no_turn(struct kunit *test)
{
	struct rpol_member *a, *b, *c;
	struct actor *w, *kept;

	standing_domain(test, 1000);
	a = member(test, 0, RPOL_NO_MAX);
	b = member(test, 0, RPOL_NO_MAX);
	c = member(test, 200, RPOL_NO_MAX);
	reserve(test, a, 700);
	w = waiting_actor(test, b, 257);
	reserve(test, c, 150);
	/* 50 are within the minimum and one is from the common part, so it has to queue. */
	KUNIT_EXPECT_EQ(test, reserve_entries(c, 51, RPOL_NOWAIT), -EAGAIN);
	kept = waiting_actor(test, c, 51);
	/* This would fit, but must not overtake an earlier claim of its own member. */
	KUNIT_EXPECT_EQ(test, reserve_entries(c, 1, RPOL_NOWAIT), -EAGAIN);
	/* A release of c helps c's own claim, and does not help b. */
	KUNIT_EXPECT_TRUE(test, rpol_pressed(c));
	rpol_uncharge(c, 1);
	expect_end(test, kept, 0);
	KUNIT_EXPECT_FALSE(test, rpol_pressed(c));
	KUNIT_EXPECT_TRUE(test, rpol_pressed(a));
	expect_still_waiting(test, w);
	rpol_uncharge(a, 157);
	expect_end(test, w, 0);
}

/*
 * A large reservation waits in front of a small one that fits, and its thread is killed.  It
 * must end with -EINTR, be charged nothing, and let the small one be granted.
 */
static void wait_killed(struct kunit *test)
{
	struct rpol_member *a, *b;
	struct rpol_member_stats st;
	struct actor *large, *small;

	domain(test, 1000);
	a = member(test, 0, RPOL_NO_MAX);
	b = member(test, 0, RPOL_NO_MAX);
	reserve(test, a, 900);
	large = waiting_actor(test, b, 257);
	small = waiting_actor(test, b, 100);
	send_sig(SIGKILL, large->task, 1);
	expect_end(test, large, -EINTR);
	/* Nothing was released, but the reservation in front is gone. */
	expect_end(test, small, 0);
	rpol_member_get_stats(b, &st);
	KUNIT_EXPECT_EQ(test, st.charged, 100);
	KUNIT_EXPECT_EQ(test, st.refused, 1);
	KUNIT_EXPECT_EQ(test, st.waiting, 0);
	KUNIT_EXPECT_FALSE(test, rpol_pressed(a));
}

/* The second of two waiting threads is killed: the first must wait on, and be granted once. */
static void wait_killed_behind(struct kunit *test)
{
	struct rpol_member *a, *b;
	struct actor *first, *second;

	domain(test, 1000);
	a = member(test, 0, RPOL_NO_MAX);
	b = member(test, 0, RPOL_NO_MAX);
	reserve(test, a, 1000);
	first = waiting_actor(test, b, 100);
	second = waiting_actor(test, b, 100);
	send_sig(SIGKILL, second->task, 1);
	expect_end(test, second, -EINTR);
	expect_still_waiting(test, first);
	rpol_uncharge(a, 100);
	expect_end(test, first, 0);
	KUNIT_EXPECT_EQ(test, charged_of(b), 100);
}

/*
 * Three reservations of a member wait, and one of another member behind them.  The shutdown of
 * the first member must end its own with -ESHUTDOWN and let the other one be granted.
 */
static void wait_shut_down(struct kunit *test)
{
	struct rpol_member *a, *b, *c;
	struct actor *w[3], *other;
	size_t i;

	domain(test, 1000);
	a = member(test, 0, RPOL_NO_MAX);
	b = member(test, 0, RPOL_NO_MAX);
	c = member(test, 0, RPOL_NO_MAX);
	reserve(test, a, 900);
	for (i = 0; i < ARRAY_SIZE(w); i++)
		w[i] = waiting_actor(test, b, 200);
	other = waiting_actor(test, c, 100);
	rpol_member_shutdown(b);
	for (i = 0; i < ARRAY_SIZE(w); i++)
		expect_end(test, w[i], -ESHUTDOWN);
	expect_end(test, other, 0);
	KUNIT_EXPECT_EQ(test, reserve_entries(b, 1, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, charged_of(b), 0);
}

/*
 * The capacity is changed while two reservations wait.  One that can never be served any more
 * must be refused at once; the other one must be granted as soon as the capacity allows it.
 */
static void wait_capacity_changes(struct kunit *test)
{
	struct stage *s = test->priv;
	struct rpol_member *a, *b;
	struct actor *w, *never;

	domain(test, 1000);
	a = member(test, 0, RPOL_NO_MAX);
	b = member(test, 0, RPOL_NO_MAX);
	reserve(test, a, 1000);
	w = waiting_actor(test, b, 100);
	never = waiting_actor(test, b, 600);
	/* Less than is charged: @w can be served after releases, @never cannot. */
	KUNIT_EXPECT_EQ(test, rpol_domain_set_capacity(s->dom, 500), 0);
	expect_end(test, never, -E2BIG);
	rpol_uncharge(a, 500);
	expect_still_waiting(test, w);
	KUNIT_EXPECT_EQ(test, rpol_domain_set_capacity(s->dom, 599), 0);
	expect_still_waiting(test, w);
	KUNIT_EXPECT_EQ(test, rpol_domain_set_capacity(s->dom, 600), 0);
	expect_end(test, w, 0);
}

/*
 * Quotas are changed while reservations wait, those of the waiting member and of others.  A
 * reservation must be granted or refused when a change makes it possible or impossible.
 */
static void wait_quota_changes(struct kunit *test)
{
	struct rpol_quota q = { .min = 0, .max = 400, .weight = 1 };
	struct rpol_member *a, *b, *c;
	struct actor *w, *never;

	domain(test, 1000);
	a = member(test, 0, 300);
	reserve(test, a, 300);
	w = waiting_actor(test, a, 100);
	never = waiting_actor(test, a, 300);
	KUNIT_EXPECT_EQ(test, rpol_member_set_quota(a, &q), 0);
	expect_end(test, w, 0);
	q.max = 200;
	KUNIT_EXPECT_EQ(test, rpol_member_set_quota(a, &q), 0);
	expect_end(test, never, -E2BIG);

	/* The minimum of a new member makes it impossible; that member's end makes it possible. */
	b = member(test, 0, RPOL_NO_MAX);
	never = waiting_actor(test, b, 700);
	c = member(test, 400, RPOL_NO_MAX);
	KUNIT_EXPECT_NOT_NULL(test, c);
	expect_end(test, never, -E2BIG);
	w = waiting_actor(test, b, 600);
	rpol_uncharge(a, 400);
	expect_end(test, w, 0);
	w = waiting_actor(test, b, 100);
	drop_last_member(test->priv);
	expect_end(test, w, 0);
}

/*
 * Twelve threads reserve and release at random.  A thread that is granted adds its entries to the
 * test's own sums, which must exceed neither the capacity nor the member's maximum.  All threads
 * must come to their end: one that is never woken is found by a timeout.
 */
#define CROWD_MEMBERS	4
#define CROWD_THREADS	12
#define CROWD_ROUNDS	400
#define CROWD_CAPACITY	600

struct crowd {
	atomic_t held;
	atomic_t held_by[CROWD_MEMBERS];
	atomic_t running;
	atomic_t over;
	atomic_t failed;
	struct completion done;
	struct rpol_member *mem[CROWD_MEMBERS];
	u32 max[CROWD_MEMBERS];
};

struct crowd_thread {
	struct crowd *crowd;
	u32 seed;
};

static int crowd_run(void *arg)
{
	static const u32 sizes[] = { 8, 33, 129, 257 };
	struct crowd_thread *t = arg;
	struct crowd *c = t->crowd;
	struct rnd_state rnd;
	u32 n, m, round;

	prandom_seed_state(&rnd, t->seed);
	for (round = 0; round < CROWD_ROUNDS; round++) {
		m = prandom_u32_state(&rnd) % CROWD_MEMBERS;
		n = sizes[prandom_u32_state(&rnd) % ARRAY_SIZE(sizes)];
		if (n > c->max[m])
			continue;
		if (reserve_entries(c->mem[m], n, 0)) {
			atomic_inc(&c->failed);
			continue;
		}
		if (atomic_add_return(n, &c->held) > CROWD_CAPACITY ||
		    atomic_add_return(n, &c->held_by[m]) > c->max[m])
			atomic_inc(&c->over);
		if (prandom_u32_state(&rnd) % 2)
			cond_resched();
		else if (prandom_u32_state(&rnd) % 8 == 0)
			schedule_timeout_uninterruptible(1);
		else
			schedule();
		atomic_sub(n, &c->held);
		atomic_sub(n, &c->held_by[m]);
		rpol_uncharge(c->mem[m], n);
	}
	if (atomic_dec_and_test(&c->running))
		complete(&c->done);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static void wait_random_crowd(struct kunit *test)
{
	static const u64 mins[CROWD_MEMBERS] = { 0, 33, 0, 129 };
	static const u32 maxs[CROWD_MEMBERS] = { 438, 300, 129, 600 };
	struct task_struct *task[CROWD_THREADS];
	struct crowd_thread thread[CROWD_THREADS];
	struct stage *s = test->priv;
	struct rpol_domain_stats st;
	unsigned long left;
	struct crowd *c;
	int i;

	c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);
	init_completion(&c->done);
	domain(test, CROWD_CAPACITY);
	for (i = 0; i < CROWD_MEMBERS; i++) {
		c->mem[i] = member(test, mins[i], maxs[i]);
		c->max[i] = maxs[i];
	}
	atomic_set(&c->running, CROWD_THREADS);
	for (i = 0; i < CROWD_THREADS; i++) {
		thread[i].crowd = c;
		thread[i].seed = i + 1;
		task[i] = kthread_run(crowd_run, &thread[i], "rpol-crowd");
		if (IS_ERR(task[i]))
			atomic_dec(&c->running);
	}
	left = wait_for_completion_timeout(&c->done, 3 * PATIENCE);
	KUNIT_EXPECT_NE_MSG(test, left, 0UL, "somebody was never woken");
	if (!left)
		for (i = 0; i < CROWD_MEMBERS; i++)
			rpol_member_shutdown(c->mem[i]);
	for (i = 0; i < CROWD_THREADS; i++) {
		KUNIT_EXPECT_FALSE(test, IS_ERR(task[i]));
		if (!IS_ERR(task[i]))
			kthread_stop(task[i]);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&c->over), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->failed), 0);
	rpol_domain_get_stats(s->dom, &st);
	KUNIT_EXPECT_EQ(test, st.charged, 0);
	KUNIT_EXPECT_EQ(test, st.waiters, 0);
	KUNIT_EXPECT_GT_MSG(test, st.waits, 0ULL, "nobody ever waited: nothing was tested");
}

/*
 * A member waits for entries that the minimum of another one keeps.  The shutdown of the other
 * one gives up its minimum, and must grant the wait at once.
 */
static void wait_minimum_given_up(struct kunit *test)
{
	struct rpol_member *a, *b;
	struct actor *w;

	domain(test, 1000);
	a = member(test, 600, RPOL_NO_MAX);
	b = member(test, 0, RPOL_NO_MAX);
	reserve(test, b, 400);
	w = waiting_actor(test, b, 100);
	expect_still_waiting(test, w);
	rpol_member_shutdown(a);
	expect_end(test, w, 0);
}

static struct kunit_case wait_cases[] = {
	KUNIT_CASE(wait_until_released),
	KUNIT_CASE(wait_small_behind_large),
	KUNIT_CASE(wait_in_order_of_arrival),
	KUNIT_CASE(wait_one_by_one),
	KUNIT_CASE(wait_for_own_maximum),
	KUNIT_CASE(wait_minimum_needs_no_turn),
	KUNIT_CASE(wait_killed),
	KUNIT_CASE(wait_killed_behind),
	KUNIT_CASE(wait_shut_down),
	KUNIT_CASE(wait_minimum_given_up),
	KUNIT_CASE(wait_capacity_changes),
	KUNIT_CASE(wait_quota_changes),
	KUNIT_CASE_SLOW(wait_random_crowd),
	{}
};

static struct kunit_suite wait_suite = {
	.name = "rdmafs_regpolicy_wait",
	.init = wait_init,
	.exit = wait_exit,
	.test_cases = wait_cases,
};

kunit_test_suite(wait_suite);
