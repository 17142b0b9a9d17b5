// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of regpolicy_stage.h.  They run in the thread of the KUnit case, which may
 * sleep unless said otherwise.  The policy's callbacks come in the same thread, from within
 * the call that causes them.  So no lock is needed.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include "regpolicy_stage.h"

static u64 stage_now(void *ctx)
{
	struct stage *s = ctx;
	u64 now = s->stale ?: s->now;

	s->stale = 0;
	return now;
}

static void stage_wake(void *ctx, u64 delay_ns)
{
	struct stage *s = ctx;

	s->wakes++;
	s->next_tick = delay_ns;
}

static const struct rpol_domain_ops stage_domain_ops = {
	.now = stage_now,
	.wake = stage_wake,
};

static void stage_reclaim(void *ctx)
{
	struct stage_member *m = ctx;

	m->asked++;
	if (!m->stage->keep_victims)
		stage_reap(m);
}

static const struct rpol_member_ops stage_member_ops = { .reclaim = stage_reclaim };

static void stage_close(void *data)
{
	struct stage_claim *c, *next;
	struct stage *s = data;

	s->keep_victims = false;
	while (s->nr)
		stage_leave(s, &s->m[s->nr - 1]);
	rpol_domain_destroy(s->dom);
	/* KUnit must not own the claims: it would free them before this action runs. */
	list_for_each_entry_safe(c, next, &s->all, all)
		kfree(c);
}

/**
 * stage_open - make a domain without members
 * @test:     the case; the domain is destroyed when it ends, even if it fails
 * @capacity: entries that the domain has
 *
 * Context: process, the thread of the case.
 * Return: the stage; the case is ended if there is none.
 */
struct stage *stage_open(struct kunit *test, u64 capacity)
{
	struct stage *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->test = test;
	s->capacity = capacity;
	s->now = 1000000 * MS;
	INIT_LIST_HEAD(&s->all);
	s->dom = rpol_domain_create(capacity, &stage_domain_ops, s);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s->dom);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stage_close, s), 0);
	return s;
}

/**
 * stage_tune - set how claims are served and how victims are chosen
 * @s:           the stage
 * @discipline:  enum rpol_discipline
 * @replacement: enum rpol_replacement
 *
 * Context: process, the thread of the case.
 */
void stage_tune(struct stage *s, u32 discipline, u32 replacement)
{
	struct rpol_tunables tun;

	rpol_domain_get_tunables(s->dom, &tun);
	tun.discipline = discipline;
	tun.replacement = replacement;
	KUNIT_ASSERT_EQ(s->test, rpol_domain_set_tunables(s->dom, &tun), 0);
}

/**
 * stage_member - make a member
 * @s:      the stage, with fewer than STAGE_MEMBERS members
 * @min:    entries kept for the member
 * @max:    entries that it never exceeds, or RPOL_NO_MAX
 * @weight: 1..RPOL_WEIGHT_MAX
 *
 * Context: process, the thread of the case.
 * Return: the member; stage_leave() or the end of the case destroys it.
 */
struct stage_member *stage_member(struct stage *s, u64 min, u64 max, u32 weight)
{
	struct rpol_quota q = { .min = min, .max = max, .weight = weight };
	struct stage_member *m;

	KUNIT_ASSERT_LT(s->test, s->nr, STAGE_MEMBERS);
	m = &s->m[s->nr];
	memset(m, 0, sizeof(*m));
	m->stage = s;
	INIT_LIST_HEAD(&m->busy);
	INIT_LIST_HEAD(&m->lent);
	INIT_LIST_HEAD(&m->claims);
	m->mem = rpol_member_create(s->dom, &q, &stage_member_ops, m);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(s->test, m->mem);
	s->nr++;
	return m;
}

static void claim_end(struct stage_claim *c)
{
	list_del(&c->link);
	c->ended = true;
	c->place = ++c->m->stage->places;
}

/**
 * stage_leave - destroy a member with all its claims and MRs
 * @s: the stage
 * @m: the member; it must be the last one made
 *
 * Context: process, the thread of the case.
 */
void stage_leave(struct stage *s, struct stage_member *m)
{
	struct stage_mr *mr, *mn;
	struct stage_claim *c;

	/* Begin at the head each time: the cancel of one claim may grant the next one. */
	while ((c = list_first_entry_or_null(&m->claims, struct stage_claim, link))) {
		KUNIT_EXPECT_TRUE(s->test, rpol_mr_cancel(&c->w));
		claim_end(c);
	}
	rpol_member_shutdown(m->mem);
	list_for_each_entry_safe(mr, mn, &m->busy, link) {
		list_del(&mr->link);
		m->held -= mr->mr.entries;
		rpol_uncharge(m->mem, mr->mr.entries);
		kfree(mr);
	}
	list_for_each_entry_safe(mr, mn, &m->lent, link)
		stage_idle(m, mr);
	rpol_mr_flush(m->mem);
	stage_reap(m);
	KUNIT_EXPECT_EQ(s->test, m->held, 0);
	rpol_member_destroy(m->mem);
	s->nr--;
}

static struct stage_mr *busy(struct stage_member *m, struct rpol_mr *idle, unsigned int class)
{
	struct stage_mr *mr;

	if (idle) {
		mr = container_of(idle, struct stage_mr, mr);
	} else {
		mr = kzalloc(sizeof(*mr), GFP_ATOMIC);
		if (!mr)
			return NULL;
		mr->mr.class = class;
		mr->mr.entries = rpol_class_entries(class, U32_MAX);
		mr->name = ++m->stage->names;
		m->held += mr->mr.entries;
	}
	mr->until = m->stage->now + m->service;
	list_add_tail(&mr->link, &m->busy);
	return mr;
}

/**
 * stage_get - bind an MR without waiting
 * @m:     the member
 * @class: class of the MR
 *
 * Context: process, the thread of the case.
 * Return: the MR, which is on @m's list of busy MRs; NULL if the claim would have to wait.
 */
struct stage_mr *stage_get(struct stage_member *m, unsigned int class)
{
	u32 entries = rpol_class_entries(class, U32_MAX);
	struct rpol_mr *idle;

	if (rpol_mr_get(m->mem, class, entries, RPOL_NOWAIT, &idle))
		return NULL;
	return busy(m, idle, class);
}

static void stage_claim_done(struct rpol_waiter *w, int ret)
{
	struct stage_claim *c = container_of(w, struct stage_claim, w);

	claim_end(c);
	c->ret = ret;
	if (!ret)
		busy(c->m, w->mr, w->class);
	/* A long run makes many claims, and no case looks at one that has ended. */
	if (c->m->stage->running) {
		list_del(&c->all);
		kfree(c);
	}
}

/**
 * stage_claim - claim an MR, and wait for it if need be
 * @m:     the member
 * @class: class of the MR
 *
 * Context: process, the thread of the case.
 * Return: the claim, which may have ended already; NULL if it has and stage_run() is running,
 * as the claim is freed then.
 */
struct stage_claim *stage_claim(struct stage_member *m, unsigned int class)
{
	struct stage_claim *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int ret;

	KUNIT_ASSERT_NOT_NULL(m->stage->test, c);
	list_add_tail(&c->all, &m->stage->all);
	c->m = m;
	c->w.mem = m->mem;
	c->w.class = class;
	c->w.entries = rpol_class_entries(class, U32_MAX);
	c->w.done = stage_claim_done;
	list_add_tail(&c->link, &m->claims);
	ret = rpol_mr_claim(&c->w);
	if (ret == -EINPROGRESS)
		return c;
	stage_claim_done(&c->w, ret);
	return m->stage->running ? NULL : c;
}

/**
 * stage_hoard - make a number of claims; those that cannot be granted now wait
 * @m:     the member
 * @class: class of the MRs
 * @nr:    number of claims
 *
 * Context: process, the thread of the case.
 */
void stage_hoard(struct stage_member *m, unsigned int class, u32 nr)
{
	while (nr--)
		stage_claim(m, class);
}

/**
 * stage_idle - end the I/O of an MR, or end its being lent
 * @m:  the member
 * @mr: a busy or lent MR of @m; the policy's from now on
 *
 * Context: process, the thread of the case.
 */
void stage_idle(struct stage_member *m, struct stage_mr *mr)
{
	list_del(&mr->link);
	rpol_mr_idle(m->mem, &mr->mr);
}

/**
 * stage_idle_all - end the I/O of all MRs that are busy now
 * @m: the member; MRs that become busy by this, as its claims are granted, stay so
 *
 * Context: process, the thread of the case.
 */
void stage_idle_all(struct stage_member *m)
{
	struct stage_mr *mr, *next;
	LIST_HEAD(all);

	list_splice_init(&m->busy, &all);
	list_for_each_entry_safe(mr, next, &all, link)
		stage_idle(m, mr);
}

/**
 * stage_lend - lend an MR to a peer
 * @m:  the member
 * @mr: a busy MR of @m
 *
 * Context: process, the thread of the case.
 */
void stage_lend(struct stage_member *m, struct stage_mr *mr)
{
	list_move_tail(&mr->link, &m->lent);
	rpol_mr_lend(m->mem, &mr->mr);
}

/**
 * stage_recalled - count the lent MRs that the policy calls back
 * @m: the member
 *
 * Context: process, the thread of the case.
 * Return: their number.
 */
u32 stage_recalled(struct stage_member *m)
{
	struct stage_mr *mr;
	u32 nr = 0;

	list_for_each_entry(mr, &m->lent, link)
		nr += rpol_mr_recalled(&mr->mr);
	return nr;
}

/**
 * stage_return - have the peer return all MRs that are recalled
 * @m: the member
 *
 * Context: process, the thread of the case.
 */
void stage_return(struct stage_member *m)
{
	struct stage_mr *mr, *next;

	list_for_each_entry_safe(mr, next, &m->lent, link)
		if (rpol_mr_recalled(&mr->mr))
			stage_idle(m, mr);
}

/**
 * stage_reap - destroy all victims of a member, as its worker does
 * @m: the member
 *
 * Context: also called from within the policy's callback reclaim().
 */
void stage_reap(struct stage_member *m)
{
	struct rpol_mr *victim;
	struct stage_mr *mr;
	u32 entries;

	while ((victim = rpol_mr_reap(m->mem))) {
		mr = container_of(victim, struct stage_mr, mr);
		entries = victim->entries;
		m->freed++;
		m->last_victim = mr->name;
		m->held -= entries;
		kfree(mr);
		rpol_mr_freed(m->mem, entries);
	}
}

/**
 * stage_pass - let time pass, with a tick of the domain at least every 10 ms
 * @s:  the stage
 * @ns: time to pass, in ns
 *
 * Context: process, the thread of the case.
 */
void stage_pass(struct stage *s, u64 ns)
{
	u64 step;

	while (ns) {
		step = min_t(u64, ns, 10 * MS);
		s->now += step;
		ns -= step;
		rpol_domain_tick(s->dom);
	}
}

static u32 outstanding(const struct stage_member *m)
{
	return list_count_nodes((struct list_head *)&m->busy) +
	       list_count_nodes((struct list_head *)&m->claims);
}

/**
 * stage_run - have all members do I/O for a time
 * @s:  the stage
 * @ns: how long, in ns of the stage's clock
 *
 * Each member keeps stage_member.depth I/Os going.  The clock moves in steps of half a
 * millisecond, with stage_check() after each, and a tick after a hundred of them.
 *
 * Context: process, the thread of the case.
 */
void stage_run(struct stage *s, u64 ns)
{
	const u64 step = MS / 2, end = s->now + ns;
	struct stage_mr *mr;
	int i, steps = 0;

	s->running = true;
	while (s->now < end) {
		s->now += step;
		for (i = 0; i < s->nr; i++) {
			while ((mr = stage_oldest(&s->m[i])) && mr->until <= s->now) {
				s->m[i].done++;
				stage_idle(&s->m[i], mr);
			}
			while (outstanding(&s->m[i]) < s->m[i].depth)
				stage_claim(&s->m[i], s->m[i].class);
		}
		stage_check(s);
		if (++steps % 100 == 0)
			rpol_domain_tick(s->dom);
	}
	s->running = false;
}

/**
 * stage_oldest - find the MR that has been busy for longest
 * @m: the member
 *
 * Context: process, the thread of the case.
 * Return: the MR; NULL if none is busy.
 */
struct stage_mr *stage_oldest(struct stage_member *m)
{
	return list_first_entry_or_null(&m->busy, struct stage_mr, link);
}

/**
 * stage_stats - read the statistics of a member
 * @m: the member
 *
 * Context: process, the thread of the case.
 * Return: the statistics, valid until they are read again.
 */
const struct rpol_member_stats *stage_stats(struct stage_member *m)
{
	rpol_member_get_stats(m->mem, &m->st);
	return &m->st;
}

/**
 * stage_check - check what must hold after every step
 * @s: the stage
 *
 * For each member: the entries charged are those of the MRs that exist, and its time integrals
 * add up.  For the domain: no more is charged than there is.  Unless victims are kept
 * unfreed, no member waits for entries that it is entitled to while enough of them are free, or
 * while MRs are idle or lent at a member that is charged more than its entitlement.
 *
 * Context: process, the thread of the case.
 */
void stage_check(struct stage *s)
{
	const struct rpol_member_stats *st;
	u64 held = 0, kept = 0, idle_over = 0, free;
	struct rpol_quota q;
	struct stage_claim *c;
	bool owed = false;
	int i;

	for (i = 0; i < s->nr; i++) {
		st = stage_stats(&s->m[i]);
		KUNIT_ASSERT_EQ(s->test, st->charged, s->m[i].held);
		KUNIT_ASSERT_LE(s->test, st->in_use + st->idle + st->lent, st->charged);
		KUNIT_ASSERT_EQ(s->test, st->charged_us, st->bound_us + st->converting_us +
							 st->idle_us + st->idle_waited_us);
		held += st->charged;
		rpol_member_get_quota(s->m[i].mem, &q);
		kept += max(q.min, st->charged) - st->charged;
		if (st->charged > st->entitlement)
			idle_over += st->idle + st->lent;
	}
	KUNIT_ASSERT_LE(s->test, held, s->capacity);
	if (s->keep_victims)
		return;
	free = s->capacity - min(s->capacity, held + kept);
	for (i = 0; i < s->nr; i++) {
		c = list_first_entry_or_null(&s->m[i].claims, struct stage_claim, link);
		st = &s->m[i].st;
		if (!c || st->in_use + c->w.entries > st->entitlement)
			continue;
		owed = true;
		/* A claim of the largest class may stand in front, so fewer may be left free. */
		KUNIT_ASSERT_LT(s->test, free, (u64)RPOL_CLASS_MAX);
	}
	if (owed)
		KUNIT_ASSERT_EQ(s->test, idle_over, 0);
}
