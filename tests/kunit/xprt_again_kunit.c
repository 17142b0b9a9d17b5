// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_again: a mount comes back to a server that grants fewer slots, or more
 * again; umount -f meets calls between two waits; and a first connect goes wrong.  The server
 * is in bare verbs (xprt_fake.c).
 */
#include <linux/delay.h>
#include <linux/workqueue.h>
#include <rdma/ib_cm.h>
#include "tests/points/points.h"
#include "reserve.h"
#include "xprt_fake.h"

#define AGAIN_FEW	RAW_SLOTS
#define AGAIN_MANY	FAKE_WANT_SLOTS

static bool again_is(struct rdmafs_xprt *x, enum rxc_session_state state)
{
	unsigned long end = jiffies + RAW_WAIT;

	while (READ_ONCE(x->state) != state && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return READ_ONCE(x->state) == state;
}

/* Accept the client with @slots, and take its HELLO. */
static void again_accept(struct kunit *test, struct fake *f, u16 slots)
{
	struct rxp_wire_cm cm;

	raw_fill_cm(&cm);
	cm.slots = cpu_to_le16(slots);
	KUNIT_ASSERT_TRUE_MSG(test, fake_accept(f, &cm), "no connection");
	fake_take_hello(test, f);
}

/* The first connect, which was begun, must succeed. */
static void again_connected(struct kunit *test, struct fake *f, u16 slots)
{
	again_accept(test, f, slots);
	KUNIT_ASSERT_EQ(test, fake_welcome(f, RXP_WELCOME_NEW), 0);
	flush_work(&f->connect);
	KUNIT_ASSERT_EQ(test, f->error, 0);
}

/* Do the first connect, with more slots than other suites have. */
static void again_start(struct kunit *test, struct fake *f)
{
	schedule_work(&f->connect);
	again_connected(test, f, AGAIN_MANY);
	KUNIT_ASSERT_EQ(test, f->xprt->slot_account.nr, AGAIN_MANY);
}

/* Another server accepts the client, with @slots. */
static void again_restart(struct kunit *test, struct fake *f, u16 slots)
{
	fake_drop(f);
	again_accept(test, f, slots);
	KUNIT_ASSERT_EQ(test, fake_welcome(f, RXP_WELCOME_NEW), 0);
	KUNIT_ASSERT_TRUE(test, again_is(f->xprt, RXC_UP));
	KUNIT_EXPECT_EQ(test, f->xprt->slot_account.nr, slots);
}

/* Take slots 0 to AGAIN_FEW - 1, so that calls get higher ones. */
static void again_take_low(struct kunit *test, struct fake *f)
{
	u32 i;

	for (i = 0; i < AGAIN_FEW; i++)
		KUNIT_ASSERT_EQ(test, fake_get_slot(f, RXC_SLOT_NORMAL), i);
}

static void again_put_low(struct fake *f)
{
	u32 i;

	for (i = 0; i < AGAIN_FEW; i++)
		rxc_slots_put(&f->xprt->slot_account, i);
}

static u32 again_free(struct fake *f)
{
	return READ_ONCE(f->xprt->slot_account.free);
}

/*
 * Calls are in slots that the next session does not have.  They must be sent again in other
 * slots, and a call that may not be executed twice must end with -EREMOTEIO.
 */
static void again_fewer(struct kunit *test)
{
	static const enum fake_kind kind[FAKE_CALLS] = {
		FAKE_ECHO, FAKE_READ, FAKE_ECHO, FAKE_WRITE
	};
	struct fake *f = test->priv;
	u32 i;

	again_start(test, f);
	again_take_low(test, f);
	for (i = 0; i < FAKE_CALLS; i++) {
		fake_submit(test, f, i, kind[i]);
		if (!i)
			f->call[i].call.flags &= ~RDMAFS_CALL_IDEMPOTENT;
		fake_take_call(test, f, &f->call[i]);
		KUNIT_EXPECT_GE(test, f->call[i].slot, AGAIN_FEW);
	}
	fake_drop(f);
	KUNIT_ASSERT_TRUE(test, again_is(f->xprt, RXC_DOWN));
	again_put_low(f);
	again_restart(test, f, AGAIN_FEW);
	fake_await(test, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].call.status, -EREMOTEIO);
	for (i = 1; i < FAKE_CALLS; i++) {
		fake_serve(test, f, &f->call[i]);
		KUNIT_EXPECT_LT(test, f->call[i].slot, AGAIN_FEW);
		fake_await(test, &f->call[i]);
		KUNIT_EXPECT_EQ(test, f->call[i].call.status, 0);
		fake_check(test, &f->call[i]);
	}
	fake_idle(test, f);
	KUNIT_EXPECT_EQ(test, again_free(f), AGAIN_FEW);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_protocol_errors), 0);
}

/*
 * A third server grants as many slots as the first: they must be used again, from sequence
 * number 1 on.
 */
static void again_more(struct kunit *test)
{
	struct fake *f = test->priv;

	again_start(test, f);
	again_restart(test, f, AGAIN_FEW);
	again_restart(test, f, AGAIN_MANY);
	KUNIT_EXPECT_EQ(test, again_free(f), AGAIN_MANY);
	again_take_low(test, f);
	fake_submit(test, f, 0, FAKE_WRITE);
	fake_serve(test, f, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].slot, AGAIN_FEW);
	KUNIT_EXPECT_EQ(test, f->call[0].seq, 1);
	fake_await(test, &f->call[0]);
	again_put_low(f);
	fake_idle(test, f);
}

struct again_submit {
	struct work_struct work;
	struct fake *f;
	struct fake_call *c;
	struct completion over;
	int ret;
};

static void again_submit_work(struct work_struct *work)
{
	struct again_submit *s = container_of(work, struct again_submit, work);

	s->ret = rdmafs_xprt_submit(s->f->xprt, &s->c->call);
	complete(&s->over);
}

/* Submit call 0 in a thread of its own, and wait until it comes to @point. */
static void again_submit_to(struct kunit *test, struct again_submit *s, enum fake_kind kind,
			    const char *point)
{
	char command[32];

	snprintf(command, sizeof(command), "hold %s 1", point);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command(command), 0);
	s->c = fake_describe(s->f, 0, kind);
	init_completion(&s->over);
	INIT_WORK_ONSTACK(&s->work, again_submit_work);
	queue_work(system_unbound_wq, &s->work);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait(point, 1, 20));
}

/* Let it go on; it must return @ret. */
static void again_submit_ends(struct kunit *test, struct again_submit *s, const char *point,
			      int ret)
{
	char command[32];

	snprintf(command, sizeof(command), "release %s", point);
	KUNIT_EXPECT_EQ(test, rdmafs_points_command(command), 0);
	if (!wait_for_completion_timeout(&s->over, RAW_WAIT)) {
		KUNIT_FAIL(test, "it waits for ever");
		rdmafs_xprt_abort(s->f->xprt);
	}
	flush_work(&s->work);
	destroy_work_on_stack(&s->work);
	KUNIT_EXPECT_EQ(test, s->ret, ret);
}

/*
 * A call has got a slot and has not sent in it when the slot ceases to exist.  It must get
 * another one.
 */
static void again_taken(struct kunit *test)
{
	struct fake *f = test->priv;
	struct again_submit s = { .f = f };

	again_start(test, f);
	again_take_low(test, f);
	again_submit_to(test, &s, FAKE_ECHO, "call_slot");
	again_put_low(f);
	again_restart(test, f, AGAIN_FEW);
	again_submit_ends(test, &s, "call_slot", 0);
	fake_serve(test, f, &f->call[0]);
	KUNIT_EXPECT_LT(test, f->call[0].slot, AGAIN_FEW);
	fake_await(test, &f->call[0]);
	fake_idle(test, f);
}

/*
 * A session keeps its number of slots.  A server that resumes it with fewer must lose the
 * connection, and the client must come back.
 */
static void again_same_session(struct kunit *test)
{
	struct fake *f = test->priv;

	again_start(test, f);
	fake_submit(test, f, 0, FAKE_ECHO);
	fake_take_call(test, f, &f->call[0]);
	fake_drop(f);
	again_accept(test, f, AGAIN_FEW);
	KUNIT_ASSERT_EQ(test, fake_welcome(f, RXP_WELCOME_BOUND), 0);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(f->raw));
	KUNIT_EXPECT_EQ(test, READ_ONCE(f->xprt->state), RXC_DOWN);
	fake_drop(f);
	again_accept(test, f, AGAIN_MANY);
	KUNIT_ASSERT_EQ(test, fake_welcome(f, RXP_WELCOME_BOUND), 0);
	fake_serve(test, f, &f->call[0]);
	fake_await(test, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].call.status, 0);
	fake_idle(test, f);
}

/*
 * umount -f meets a call that has found its connection, and has not begun to wait for the
 * translations that it needs next, of which there are none.  It must end with -EIO: it would
 * otherwise wait for ever, as the wake-up came too early.
 */
static void again_force_translations(struct kunit *test)
{
	struct rpol_quota quota = { .max = 33, .weight = RPOL_WEIGHT_DEFAULT };
	struct fake *f = test->priv;
	struct again_submit s = { .f = f };

	fake_start(test, f);
	KUNIT_ASSERT_EQ(test, rdmafs_xprt_set_quota(f->xprt, &quota), 0);
	KUNIT_ASSERT_EQ(test, reserve_entries(f->xprt->pool->member, 33, RPOL_NOWAIT), 0);
	again_submit_to(test, &s, FAKE_READ, "call_pool");
	rdmafs_xprt_fail_outstanding(f->xprt);
	again_submit_ends(test, &s, "call_pool", -EIO);
	/* A call that comes after that waits as usual, and is served. */
	rpol_uncharge(f->xprt->pool->member, 33);
	fake_submit(test, f, 0, FAKE_READ);
	fake_serve(test, f, &f->call[0]);
	fake_await(test, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].call.status, 0);
	fake_idle(test, f);
}

/* The same for a call that is about to wait for a slot. */
static void again_force_slot(struct kunit *test)
{
	struct fake *f = test->priv;
	struct again_submit s = { .f = f };
	u32 i;

	fake_start(test, f);
	for (i = 0; i < RAW_SLOTS; i++)
		KUNIT_ASSERT_GE(test, fake_get_slot(f, RXC_SLOT_EVENT), 0);
	again_submit_to(test, &s, FAKE_ECHO, "call_pool");
	rdmafs_xprt_fail_outstanding(f->xprt);
	again_submit_ends(test, &s, "call_pool", -EIO);
	for (i = 0; i < RAW_SLOTS; i++)
		rxc_slots_put(&f->xprt->slot_account, i);
	fake_submit(test, f, 0, FAKE_ECHO);
	fake_serve(test, f, &f->call[0]);
	fake_await(test, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].call.status, 0);
	fake_idle(test, f);
}

/* The first connect is rejected without a reason: the client must try again. */
static void again_refused_silently(struct kunit *test)
{
	struct fake *f = test->priv;
	struct raw *raw;

	schedule_work(&f->connect);
	raw = fake_take_request(f);
	KUNIT_ASSERT_NOT_NULL(test, raw);
	if (raw_iwarp(raw)) {
		raw_close(raw);
		kunit_skip(test, "on iWARP nobody listens there, as it looks");
	}
	KUNIT_EXPECT_EQ(test, rdma_reject(raw->id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED), 0);
	raw_close(raw);
	again_connected(test, f, AGAIN_FEW);
	fake_submit(test, f, 0, FAKE_ECHO);
	fake_serve(test, f, &f->call[0]);
	fake_await(test, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].call.status, 0);
}

/* The first connection is lost before its WELCOME: the client must try again. */
static void again_lost_hello(struct kunit *test)
{
	struct fake *f = test->priv;

	schedule_work(&f->connect);
	again_accept(test, f, AGAIN_FEW);
	fake_drop(f);
	again_connected(test, f, AGAIN_FEW);
	fake_submit(test, f, 0, FAKE_ECHO);
	fake_serve(test, f, &f->call[0]);
	fake_await(test, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].call.status, 0);
}

/* Run calls of each kind; the large ones consist of many pages. */
static void again_all_kinds(struct kunit *test, struct fake *f)
{
	static const enum fake_kind kind[FAKE_CALLS] = {
		FAKE_WRITE, FAKE_READ, FAKE_ECHO, FAKE_WRITE_SMALL
	};
	u32 i;

	for (i = 0; i < FAKE_CALLS; i++)
		fake_submit(test, f, i, kind[i]);
	fake_serve_all(test, f);
	fake_ended(test, f, 0, 0);
}

/*
 * The device has no room for a send queue of the usual size.  The client must connect with a
 * smaller one, down to the smallest that holds one chain, and all calls be served.
 */
static void again_small_queues(struct kunit *test)
{
	struct fake *f = test->priv;
	u32 sges, sends;

	again_start(test, f);
	if (raw_iwarp(f->raw))
		kunit_skip(test, "on iWARP work requests have no more entries than they need");
	sges = f->xprt->pool->max_sge;
	sends = f->xprt->conns[0]->sq_free;
	KUNIT_ASSERT_GT(test, sges, RXP_SGE_MIN);
	again_all_kinds(test, f);
	/* Fewer entries for each work request, and not fewer work requests. */
	rdmafs_test_knobs.queue_blocks = (2 * sends + 1) * 4;
	again_restart(test, f, AGAIN_MANY);
	KUNIT_EXPECT_LT(test, f->xprt->pool->max_sge, sges);
	KUNIT_EXPECT_EQ(test, f->xprt->conns[0]->send_sge, f->xprt->pool->max_sge);
	KUNIT_EXPECT_GE(test, f->xprt->conns[0]->sq_free, sends);
	again_all_kinds(test, f);
	/* Fewer of both: just room for one longest chain in three quarters of the queue. */
	sends = DIV_ROUND_UP(f->xprt->pool->rdev->max_entries, RXP_SGE_MIN) + 2;
	rdmafs_test_knobs.queue_blocks = 2 * (DIV_ROUND_UP(4 * sends, 3) + 2);
	again_restart(test, f, AGAIN_FEW);
	KUNIT_EXPECT_EQ(test, f->xprt->pool->max_sge, RXP_SGE_MIN);
	again_all_kinds(test, f);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_protocol_errors), 0);
}

/*
 * A device has only two MRs, each with half of its translations.  While two READs have them
 * there must be no third MR, however small: a READ that may not wait is refused with -EAGAIN.
 * A later READ uses one of the two.
 */
static void again_few_mrs(struct kunit *test)
{
	struct fake *f = test->priv;
	struct rpol_domain_stats st;
	struct rxp_device *rdev;
	u32 least, i;

	fake_start(test, f);
	rdev = f->xprt->pool->rdev;
	least = rdev->mr_least;
	rpol_domain_get_stats(rdev->domain, &st);
	rdev->mr_least = st.capacity / 2;
	for (i = 0; i < 2; i++) {
		fake_submit(test, f, i, FAKE_READ);
		fake_take_call(test, f, &f->call[i]);
	}
	fake_describe(f, 2, FAKE_READ);
	f->call[2].call.flags |= RDMAFS_CALL_NOWAIT;
	KUNIT_EXPECT_EQ(test, rdmafs_xprt_submit(f->xprt, &f->call[2].call), -EAGAIN);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_mr_alloc), 2);
	for (i = 0; i < 2; i++) {
		fake_serve(test, f, &f->call[i]);
		fake_await(test, &f->call[i]);
		fake_check(test, &f->call[i]);
	}
	/* A READ finds room in an MR for as many pages as the MR holds translations. */
	fake_submit(test, f, 2, FAKE_READ);
	fake_serve(test, f, &f->call[2]);
	fake_await(test, &f->call[2]);
	fake_check(test, &f->call[2]);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_mr_alloc), 2);
	fake_idle(test, f);
	rdev->mr_least = least;
}

static int again_init(struct kunit *test)
{
	return fake_new(test) ? 0 : -ENOMEM;
}

static void again_exit(struct kunit *test)
{
	rdmafs_points_command("reset");
	rdmafs_test_knobs.queue_blocks = 0;
	if (test->priv)
		fake_free(test->priv);
}

static struct kunit_case again_cases[] = {
	KUNIT_CASE(again_fewer),
	KUNIT_CASE(again_more),
	KUNIT_CASE(again_taken),
	KUNIT_CASE(again_same_session),
	KUNIT_CASE(again_force_translations),
	KUNIT_CASE(again_force_slot),
	KUNIT_CASE(again_refused_silently),
	KUNIT_CASE(again_lost_hello),
	KUNIT_CASE(again_small_queues),
	KUNIT_CASE(again_few_mrs),
	{}
};

static struct kunit_suite again_suite = {
	.name = "rdmafs_xprt_again",
	.init = again_init,
	.exit = again_exit,
	.test_cases = again_cases,
};

kunit_test_suite(again_suite);
