// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_grants: slots of WRITEs whose mount holds grants.  A WRITE may take one of the
 * slots that are kept for other calls only if it goes to a grant.  The server is in bare verbs
 * (xprt_fake.c).
 */
#include <linux/delay.h>
#include <linux/workqueue.h>
#include "tests/points/points.h"
#include "xprt_fake.h"

/* A key that was never given out: no WRITE fits in the grant that has it. */
#define GRANTS_KEY	0x77777777

/* Slots that large WRITEs may have when no call has one: of RAW_SLOTS, all but eleven. */
#define GRANTS_BULK	(RAW_SLOTS - 11)

/**
 * struct grants_submit - a call that is submitted by a thread of its own
 * @work: the thread; it lasts no longer than the case, also if that is aborted
 * @x:    the session
 * @c:    the call
 * @ret:  what the submission returned
 */
static struct grants_submit {
	struct work_struct work;
	struct rdmafs_xprt *x;
	struct fake_call *c;
	int ret;
} grants_later;

static void grants_submit_work(struct work_struct *work)
{
	struct grants_submit *s = container_of(work, struct grants_submit, work);

	s->ret = rdmafs_xprt_submit(s->x, &s->c->call);
}

static void grants_submit_later(struct fake *f, u32 id)
{
	grants_later.x = f->xprt;
	grants_later.c = fake_describe(f, id, FAKE_WRITE);
	grants_later.ret = -EINPROGRESS;
	queue_work(system_unbound_wq, &grants_later.work);
}

/* Submit a call that must not wait; returns what the submission does. */
static int grants_submit_now(struct fake *f, u32 id, enum fake_kind kind)
{
	struct fake_call *c = fake_describe(f, id, kind);

	c->call.flags |= RDMAFS_CALL_NOWAIT;
	return rdmafs_xprt_submit(f->xprt, &c->call);
}

/* A call that needs a slot of those that are kept for it gets one at once, and is answered. */
static void grants_small_goes(struct kunit *test, struct fake *f, u32 id)
{
	KUNIT_ASSERT_EQ_MSG(test, grants_submit_now(f, id, FAKE_ECHO), 0,
			    "a small call finds no slot");
	fake_serve(test, f, &f->call[id]);
	fake_await(test, &f->call[id]);
	KUNIT_EXPECT_EQ(test, f->call[id].call.status, 0);
}

static u32 grants_waiting(struct fake *f, enum rxc_slot_kind kind)
{
	struct rxc_slots *s = &f->xprt->slot_account;
	u32 nr;

	spin_lock_bh(&s->lock);
	nr = list_count_nodes(&s->waiters[kind]);
	spin_unlock_bh(&s->lock);
	return nr;
}

/* Wait until one large WRITE waits for a slot that is not kept for others. */
static bool grants_waits(struct fake *f)
{
	unsigned long end = jiffies + RAW_WAIT;

	while (!grants_waiting(f, RXC_SLOT_BULK) && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return grants_waiting(f, RXC_SLOT_BULK) == 1;
}

static u32 grants_free(struct fake *f)
{
	return READ_ONCE(f->xprt->slot_account.free);
}

/* Take @nr slots, which other calls then do not have. */
static void grants_take(struct kunit *test, struct fake *f, enum rxc_slot_kind kind, u32 nr,
			int *slots)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		slots[i] = fake_get_slot(f, kind);
		KUNIT_ASSERT_GE(test, slots[i], 0);
	}
}

static void grants_put(struct fake *f, const int *slots, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		rxc_slots_put(&f->xprt->slot_account, slots[i]);
}

static u32 grants_held(struct fake *f)
{
	u32 nr;

	spin_lock_bh(&f->xprt->lock);
	nr = f->xprt->nr_grants;
	spin_unlock_bh(&f->xprt->lock);
	return nr;
}

/* Answer WRITE @id, whose CALL has come, with a grant that is one byte too short for the next. */
static void grants_answer_short(struct kunit *test, struct fake *f, u32 id)
{
	struct fake_call *c = &f->call[id];
	struct fake_reply r = fake_ok(c);

	r.flags = RXP_F_GRANT;
	r.grant.length = cpu_to_le32(FAKE_LEN - 1);
	r.grant.rkey = cpu_to_le32(GRANTS_KEY);
	r.grant.iova = cpu_to_le64(PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, fake_reply(f, &r), 0);
	c->seen = false;
	fake_await(test, c);
	KUNIT_ASSERT_EQ(test, c->call.status, 0);
}

/* Have the mount hold one grant, which the next WRITE fits in, or which is too small for it. */
static void grants_give(struct kunit *test, struct fake *f, bool fits)
{
	fake_submit(test, f, 0, FAKE_WRITE);
	fake_take_call(test, f, &f->call[0]);
	if (fits) {
		f->grant = true;
		fake_serve(test, f, &f->call[0]);
		fake_await(test, &f->call[0]);
	} else {
		grants_answer_short(test, f, 0);
	}
	KUNIT_ASSERT_EQ(test, grants_held(f), 1);
}

/* WRITE @id ends well; @flags: what its CALL must have had. */
static void grants_written(struct kunit *test, struct fake *f, u32 id, u16 flags)
{
	struct fake_call *c = &f->call[id];

	fake_take_call(test, f, c);
	KUNIT_EXPECT_EQ(test, c->flags, flags);
	fake_serve(test, f, c);
	fake_await(test, c);
	KUNIT_EXPECT_EQ(test, c->call.status, 0);
	fake_check(test, c);
}

/*
 * The only grant is too small, and as many large WRITEs are on their way as may be.  One more must
 * not take a slot that is kept for other calls: it waits, a small call has its slot at once, and
 * the WRITE goes when one of the WRITEs is answered.
 */
static void grants_too_small(struct kunit *test)
{
	struct fake *f = test->priv;
	int slots[GRANTS_BULK - 2];
	u32 i;

	fake_start(test, f);
	grants_give(test, f, false);
	grants_take(test, f, RXC_SLOT_BULK, ARRAY_SIZE(slots), slots);
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, grants_submit_now(f, i, FAKE_WRITE), 0);
		fake_take_call(test, f, &f->call[i]);
	}
	KUNIT_ASSERT_EQ(test, grants_free(f), RAW_SLOTS - GRANTS_BULK);
	KUNIT_ASSERT_EQ(test, grants_submit_now(f, 2, FAKE_WRITE), -EAGAIN);
	grants_submit_later(f, 2);
	KUNIT_ASSERT_TRUE_MSG(test, grants_waits(f), "%u slots are left", grants_free(f));
	KUNIT_EXPECT_EQ(test, grants_free(f), RAW_SLOTS - GRANTS_BULK);
	grants_small_goes(test, f, 3);
	KUNIT_EXPECT_EQ(test, grants_waiting(f, RXC_SLOT_BULK), 1);
	grants_written(test, f, 0, RXP_F_WRITE);
	grants_written(test, f, 2, RXP_F_WRITE);
	flush_work(&grants_later.work);
	KUNIT_EXPECT_EQ(test, grants_later.ret, 0);
	grants_written(test, f, 1, RXP_F_WRITE);
	KUNIT_EXPECT_EQ(test, grants_held(f), 1);
	grants_put(f, slots, ARRAY_SIZE(slots));
	fake_idle(test, f);
}

/* A WRITE that goes to a grant waits for nothing at the server: it may have such a slot. */
static void grants_fitting(struct kunit *test)
{
	struct fake *f = test->priv;
	int slots[GRANTS_BULK];

	fake_start(test, f);
	grants_give(test, f, true);
	grants_take(test, f, RXC_SLOT_BULK, ARRAY_SIZE(slots), slots);
	KUNIT_ASSERT_EQ(test, grants_submit_now(f, 1, FAKE_WRITE), 0);
	grants_written(test, f, 1, RXP_F_WRITE | RXP_F_RKEY);
	KUNIT_EXPECT_EQ(test, grants_submit_now(f, 1, FAKE_WRITE), -EAGAIN);
	grants_put(f, slots, ARRAY_SIZE(slots));
	fake_idle(test, f);
}

/*
 * A WRITE has such a slot because of a grant, and the server takes the grant back before the WRITE
 * is sent.  The WRITE must give the slot back, and wait for one that it may have.
 */
static void grants_lost(struct kunit *test)
{
	struct fake *f = test->priv;
	int slots[GRANTS_BULK];

	fake_start(test, f);
	grants_give(test, f, true);
	grants_take(test, f, RXC_SLOT_BULK, ARRAY_SIZE(slots), slots);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold call_slot 1"), 0);
	grants_submit_later(f, 1);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("call_slot", 1, 20));
	KUNIT_EXPECT_EQ(test, grants_free(f), RAW_SLOTS - GRANTS_BULK - 1);
	KUNIT_ASSERT_EQ(test, fake_recall(f, f->xprt->grants[0].sink.rkey, 1), 0);
	while (!f->nr_returned)
		fake_take(test, f);
	KUNIT_ASSERT_EQ(test, grants_held(f), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release call_slot"), 0);
	KUNIT_ASSERT_TRUE_MSG(test, grants_waits(f), "%u slots are left", grants_free(f));
	KUNIT_EXPECT_EQ(test, grants_free(f), RAW_SLOTS - GRANTS_BULK);
	grants_small_goes(test, f, 2);
	grants_put(f, slots, 1);
	grants_written(test, f, 1, RXP_F_WRITE);
	flush_work(&grants_later.work);
	KUNIT_EXPECT_EQ(test, grants_later.ret, 0);
	grants_put(f, slots + 1, ARRAY_SIZE(slots) - 1);
	fake_idle(test, f);
}

/*
 * The server had no sink for a WRITE, which is being sent again, and the only grant is too small.
 * The next WRITE must queue behind it.
 */
static void grants_behind(struct kunit *test)
{
	struct fake *f = test->priv;
	struct fake_call *c = &f->call[1];
	struct fake_reply r;
	u32 queued;

	fake_start(test, f);
	grants_give(test, f, false);
	fake_submit(test, f, 1, FAKE_WRITE);
	fake_take_call(test, f, c);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold call_slot 1"), 0);
	r = fake_ok(c);
	r.status = RXP_STATUS_RETRY_LATER;
	r.body_len = 0;
	KUNIT_ASSERT_EQ(test, fake_reply(f, &r), 0);
	c->seen = false;
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("call_slot", 1, 20));
	KUNIT_EXPECT_EQ(test, grants_submit_now(f, 2, FAKE_WRITE), 0);
	spin_lock_bh(&f->xprt->lock);
	queued = list_count_nodes(&f->xprt->deferred.writes);
	spin_unlock_bh(&f->xprt->lock);
	KUNIT_EXPECT_EQ(test, queued, 1);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release call_slot"), 0);
	grants_written(test, f, 1, RXP_F_WRITE);
	grants_written(test, f, 2, RXP_F_WRITE);
	fake_idle(test, f);
}

/**
 * struct grants_slot - a caller that waits for a slot, as small calls do
 * @work: the caller
 * @s:    the account
 * @slot: what it got
 */
static struct grants_slot {
	struct work_struct work;
	struct rxc_slots *s;
	int slot;
} grants_slots[2];

static void grants_slot_work(struct work_struct *work)
{
	struct grants_slot *g = container_of(work, struct grants_slot, work);

	g->slot = rxc_slots_get_since(g->s, RXC_SLOT_NORMAL, false, rxc_slots_dismissals(g->s));
}

/* Wait until @nr callers of a kind wait for a slot. */
static bool grants_lines_up(struct fake *f, enum rxc_slot_kind kind, u32 nr)
{
	unsigned long end = jiffies + RAW_WAIT;

	while (grants_waiting(f, kind) != nr && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return grants_waiting(f, kind) == nr;
}

static bool grants_slot_wait(struct fake *f, struct grants_slot *g)
{
	g->s = &f->xprt->slot_account;
	g->slot = -EINPROGRESS;
	queue_work(system_unbound_wq, &g->work);
	return grants_lines_up(f, RXC_SLOT_NORMAL, 1);
}

/*
 * The server had no sink for a WRITE, and there is no slot to send it again, as other calls always
 * wait for one.  The WRITE must stand in line, and get its slot before those that came after it.
 */
static void grants_slotless(struct kunit *test)
{
	struct fake *f = test->priv;
	int slots[RAW_SLOTS - 4];
	struct fake_reply r;

	fake_start(test, f);
	fake_submit(test, f, 0, FAKE_WRITE);
	fake_take_call(test, f, &f->call[0]);
	grants_take(test, f, RXC_SLOT_NORMAL, ARRAY_SIZE(slots), slots);
	KUNIT_ASSERT_TRUE(test, grants_slot_wait(f, &grants_slots[0]));
	r = fake_ok(&f->call[0]);
	r.status = RXP_STATUS_RETRY_LATER;
	r.body_len = 0;
	KUNIT_ASSERT_EQ(test, fake_reply(f, &r), 0);
	f->call[0].seen = false;
	flush_work(&grants_slots[0].work);
	KUNIT_ASSERT_GE(test, grants_slots[0].slot, 0);
	KUNIT_ASSERT_TRUE_MSG(test, grants_lines_up(f, RXC_SLOT_BULK, 1),
			      "the WRITE does not wait for a slot; %u are left", grants_free(f));
	KUNIT_ASSERT_TRUE(test, grants_slot_wait(f, &grants_slots[1]));
	grants_put(f, slots, 1);
	KUNIT_EXPECT_EQ(test, grants_waiting(f, RXC_SLOT_NORMAL), 1);
	grants_written(test, f, 0, RXP_F_WRITE);
	flush_work(&grants_slots[1].work);
	KUNIT_ASSERT_GE(test, grants_slots[1].slot, 0);
	rxc_slots_put(&f->xprt->slot_account, grants_slots[0].slot);
	rxc_slots_put(&f->xprt->slot_account, grants_slots[1].slot);
	grants_put(f, slots + 1, ARRAY_SIZE(slots) - 1);
	KUNIT_EXPECT_EQ(test, grants_free(f), RAW_SLOTS);
	fake_idle(test, f);
}

static int grants_init(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(grants_slots); i++)
		INIT_WORK(&grants_slots[i].work, grants_slot_work);
	INIT_WORK(&grants_later.work, grants_submit_work);
	/* A slow machine could otherwise return a grant before it is looked at. */
	rdmafs_test_knobs.grant_idle_s = 600;
	return fake_new(test) ? 0 : -ENOMEM;
}

static void grants_exit(struct kunit *test)
{
	struct fake *f = test->priv;
	u32 i;

	rdmafs_points_command("reset");
	/* After a failed test they may still wait for a slot of the session. */
	for (i = 0; i < ARRAY_SIZE(grants_slots); i++) {
		if (work_busy(&grants_slots[i].work)) {
			rdmafs_xprt_abort(f->xprt);
			flush_work(&grants_slots[i].work);
		}
	}
	if (test->priv)
		fake_free(test->priv);
	flush_work(&grants_later.work);
	rdmafs_test_knobs.grant_idle_s = 0;
}

static struct kunit_case grants_cases[] = {
	KUNIT_CASE(grants_too_small),
	KUNIT_CASE(grants_fitting),
	KUNIT_CASE(grants_lost),
	KUNIT_CASE(grants_behind),
	KUNIT_CASE(grants_slotless),
	{}
};

static struct kunit_suite grants_suite = {
	.name = "rdmafs_xprt_grants",
	.init = grants_init,
	.exit = grants_exit,
	.test_cases = grants_cases,
};

kunit_test_suite(grants_suite);
