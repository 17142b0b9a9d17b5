// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_recover: the client's recovery.  What do calls wait for while there is no
 * connection, which event ends them, and which of them are sent again?  The server is in bare
 * verbs (xprt_fake.c), so that each step waits for the case.
 *
 * Cases named slow, queue and wanted hold the completions of the client's send queue back: the
 * client may not end an answered call while the device may still use its memory.
 */
#include <linux/delay.h>
#include <linux/workqueue.h>
#include "tests/points/points.h"
#include "transport/points.h"
#include "reserve.h"
#include "xprt_fake.h"
/* Those functions are not exported: the suite takes slots by its own copy of the account. */
#include "../../transport/client/slot.c"

/* A submit in a thread of its own, as it may have to wait. */
struct recover_submit {
	struct work_struct work;
	struct fake *f;
	struct fake_call *c;
	int ret;
};

static void recover_submit_work(struct work_struct *work)
{
	struct recover_submit *s = container_of(work, struct recover_submit, work);

	s->ret = rdmafs_xprt_submit(s->f->xprt, &s->c->call);
}

static void recover_submit_later(struct fake *f, struct recover_submit *s, u32 id,
				 enum fake_kind kind)
{
	s->f = f;
	s->c = fake_describe(f, id, kind);
	s->ret = 1;
	INIT_WORK_ONSTACK(&s->work, recover_submit_work);
	queue_work(system_unbound_wq, &s->work);
}

static bool recover_is(struct rdmafs_xprt *x, enum rxc_session_state state)
{
	unsigned long end = jiffies + RAW_WAIT;

	while (READ_ONCE(x->state) != state && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return READ_ONCE(x->state) == state;
}

static u64 recover_waiting(struct rdmafs_xprt *x)
{
	struct rpol_member_stats st = {};

	spin_lock_bh(&x->lock);
	if (x->pool)
		rpol_member_get_stats(x->pool->member, &st);
	spin_unlock_bh(&x->lock);
	return st.waiters;
}

/* Wait until a call of the session waits for translations. */
static bool recover_lines_up(struct rdmafs_xprt *x)
{
	unsigned long end = jiffies + RAW_WAIT;

	while (!recover_waiting(x) && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return recover_waiting(x);
}

/* Wait until a call waits for a slot. */
static bool recover_wants_slot(struct rdmafs_xprt *x)
{
	unsigned long end = jiffies + RAW_WAIT;

	while (!READ_ONCE(x->slot_account.waits) && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return READ_ONCE(x->slot_account.waits);
}

/* Wait until the session has @nr calls, including those that wait until it is connected. */
static bool recover_has_calls(struct rdmafs_xprt *x, u32 nr)
{
	unsigned long end = jiffies + RAW_WAIT;

	while (READ_ONCE(x->in_flight) != nr && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return READ_ONCE(x->in_flight) == nr;
}

/* Set the quota; 33 translations are room for one READ at a time. */
static void recover_quota(struct kunit *test, struct fake *f, u64 max)
{
	struct rpol_quota quota = { .max = max, .weight = RPOL_WEIGHT_DEFAULT };

	KUNIT_ASSERT_EQ(test, rdmafs_xprt_set_quota(f->xprt, &quota), 0);
}

/*
 * The connection is lost, and calls with RDMAFS_CALL_NOWAIT are submitted.  They must be
 * refused with -EAGAIN at once: a caller that must not wait does not wait for the server
 * either.
 */
static void recover_nowait(struct kunit *test)
{
	static const enum fake_kind kinds[] = { FAKE_ECHO, FAKE_READ, FAKE_WRITE };
	struct fake *f = test->priv;
	struct fake_call *c;
	int i;

	fake_start(test, f);
	fake_drop(f);
	KUNIT_ASSERT_TRUE(test, recover_is(f->xprt, RXC_DOWN));
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		c = fake_describe(f, i, kinds[i]);
		c->call.flags |= RDMAFS_CALL_NOWAIT;
		KUNIT_EXPECT_EQ(test, rdmafs_xprt_submit(f->xprt, &c->call), -EAGAIN);
		KUNIT_EXPECT_EQ(test, atomic_read(&c->ended), 0);
	}
	KUNIT_EXPECT_EQ(test, f->xprt->in_flight, 0);
}

static void recover_all_kinds(struct kunit *test, struct fake *f)
{
	u32 i;

	for (i = 0; i < FAKE_CALLS; i++)
		fake_submit(test, f, i, i & 1 ? FAKE_READ : FAKE_WRITE);
	fake_serve_all(test, f);
	fake_ended(test, f, 0, 0);
}

/* The client comes back and must ask for a new session; its calls are served in that session. */
static void recover_anew(struct kunit *test, struct fake *f)
{
	static const u8 none[16];
	struct rxp_wire_cm cm;

	fake_drop(f);
	raw_fill_cm(&cm);
	KUNIT_ASSERT_TRUE_MSG(test, fake_accept(f, &cm), "no connection");
	fake_take_hello(test, f);
	KUNIT_EXPECT_MEMEQ(test, f->hello.session, none, sizeof(none));
	KUNIT_ASSERT_EQ(test, fake_welcome(f, RXP_WELCOME_NEW), 0);
	KUNIT_ASSERT_TRUE(test, recover_is(f->xprt, RXC_UP));
	recover_all_kinds(test, f);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->resets), 1);
	KUNIT_EXPECT_TRUE(test, f->noio);
}

/*
 * The server has calls on a connection that lives, and all calls are failed.  Each must end
 * with -EIO, and the mount must go on in a new session.
 */
static void recover_fail_sent(struct kunit *test)
{
	struct fake *f = test->priv;

	fake_start(test, f);
	fake_submit_all(test, f, FAKE_READ_LATE);
	rdmafs_xprt_fail_outstanding(f->xprt);
	fake_ended(test, f, -EIO, -EIO);
	recover_anew(test, f);
}

/* The same without a connection, and with one more call that waits until there is one. */
static void recover_fail_down(struct kunit *test)
{
	struct fake *f = test->priv;
	struct recover_submit s;
	u32 i;

	fake_start(test, f);
	for (i = 1; i < FAKE_CALLS; i++) {
		fake_submit(test, f, i, i & 1 ? FAKE_READ : FAKE_ECHO);
		fake_take_call(test, f, &f->call[i]);
	}
	fake_drop(f);
	KUNIT_ASSERT_TRUE(test, recover_is(f->xprt, RXC_DOWN));
	recover_submit_later(f, &s, 0, FAKE_ECHO);
	KUNIT_EXPECT_TRUE(test, recover_has_calls(f->xprt, FAKE_CALLS));
	rdmafs_xprt_fail_outstanding(f->xprt);
	flush_work(&s.work);
	destroy_work_on_stack(&s.work);
	KUNIT_EXPECT_EQ(test, s.ret, -EIO);
	for (i = 1; i < FAKE_CALLS; i++) {
		fake_await(test, &f->call[i]);
		KUNIT_EXPECT_EQ(test, f->call[i].call.status, -EIO);
	}
	fake_idle(test, f);
	recover_anew(test, f);
}

/*
 * From now on the client sees no completion of its sends.  So @nr calls of different kinds get
 * their answers, but must not end: the device may still write to their memory or read it.
 */
static void recover_stands(struct kunit *test, struct fake *f, u32 nr)
{
	static const enum fake_kind kinds[] = { FAKE_READ, FAKE_READ_LATE, FAKE_WRITE };
	u32 i;

	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail wc_chain 1000000 16"), 0);
	for (i = 0; i < nr; i++) {
		fake_submit(test, f, i, kinds[i]);
		fake_serve(test, f, &f->call[i]);
	}
	/* The echo is answered after them, and must end: it shows that their answers have come. */
	fake_submit(test, f, nr, FAKE_ECHO);
	fake_serve(test, f, &f->call[nr]);
	fake_await(test, &f->call[nr]);
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&f->call[i].ended), 0);
}

/* The calls end with their connection, with their data, and the session goes on. */
static void recover_stood(struct kunit *test, struct fake *f, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		fake_await(test, &f->call[i]);
		KUNIT_EXPECT_EQ(test, f->call[i].call.status, 0);
		fake_check(test, &f->call[i]);
	}
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release wc_chain"), 0);
	fake_drop(f);
	fake_again(test, f, RXP_WELCOME_BOUND);
	recover_all_kinds(test, f);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->resets), 0);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_reconnects), 1);
}

/*
 * A call is answered but cannot end, as its sends stand.  Then all calls are failed (umount
 * -f).  The call must end with its connection, when its memory is safe, and with its own
 * result.
 */
static void recover_fail_answered(struct kunit *test)
{
	struct fake *f = test->priv;

	fake_start(test, f);
	recover_stands(test, f, 1);
	rdmafs_xprt_fail_outstanding(f->xprt);
	fake_await(test, &f->call[0]);
	/* The connection did not end because PINGs were not answered. */
	KUNIT_EXPECT_LT(test, atomic_read(&f->raw->arrived) - f->raw->taken, 5);
	recover_stood(test, f, 1);
}

/*
 * The server is heard, and the client's send queue stands.  The client must end the connection:
 * otherwise the answered calls would wait for ever.
 */
static void recover_queue_stands(struct kunit *test)
{
	unsigned long end = jiffies + RAW_WAIT;
	struct fake *f = test->priv;

	fake_start(test, f);
	recover_stands(test, f, 3);
	while (!READ_ONCE(f->raw->cut) && time_before(jiffies, end)) {
		fake_notify(f, RXP_NOTIFY_PONG, 0, 0, NULL, 0);
		while (atomic_read(&f->raw->arrived) > f->raw->taken)
			fake_take(test, f);
		msleep(100);
	}
	KUNIT_ASSERT_TRUE_MSG(test, READ_ONCE(f->raw->cut), "it waits for ever");
	recover_stood(test, f, 3);
}

/* Handle a completion as if an RDMA WRITE had been done, on devices where each has one. */
static void recover_move(struct fake *f)
{
	struct ib_wc wc = { .status = IB_WC_SUCCESS };
	struct rdmafs_xprt *x = f->xprt;

	spin_lock_bh(&x->lock);
	if (x->nr_conns) {
		wc.wr_cqe = &x->conns[0]->err_cqe;
		wc.wr_cqe->done(NULL, &wc);
	}
	spin_unlock_bh(&x->lock);
}

/*
 * Heartbeats for which the oldest chain in the send queue has been the same, though others may
 * move; 0: there is no connection.
 */
static u32 recover_beats(struct fake *f)
{
	struct rdmafs_xprt *x = f->xprt;
	u32 beats;

	spin_lock_bh(&x->lock);
	beats = x->nr_conns ? rxc_conn(x->conns[0])->same : 0;
	spin_unlock_bh(&x->lock);
	return beats;
}

/*
 * Take messages until the connection is cut or @beats heartbeats have passed.  @heard: send
 * PONGs; @moves: let the send queue move.
 */
static void recover_pass(struct kunit *test, struct fake *f, u32 beats, bool heard, bool moves)
{
	unsigned long end = jiffies + RAW_WAIT;
	u32 first = recover_beats(f), now = first;

	/* 0: the client has ended the connection, and @cut follows soon. */
	for (; !READ_ONCE(f->raw->cut) && (!now || now - first < beats) &&
	     time_before(jiffies, end); now = recover_beats(f)) {
		if (moves)
			recover_move(f);
		if (heard)
			fake_notify(f, RXP_NOTIFY_PONG, 0, 0, NULL, 0);
		while (atomic_read(&f->raw->arrived) > f->raw->taken)
			fake_take(test, f);
		msleep(20);
	}
}

/* More heartbeats than a send queue may stand, or a server may be silent. */
#define RECOVER_BEATS	8

/*
 * On a slow link sends take long, and a PING behind them is answered late.  The client must not
 * end the connection as long as something moves, whether the server is heard or not.  It must
 * do so when nothing moves any more.
 */
static void recover_slow(struct kunit *test, bool heard)
{
	struct fake *f = test->priv;

	fake_start(test, f);
	f->mute = !heard;
	recover_stands(test, f, 3);
	recover_pass(test, f, RECOVER_BEATS, heard, true);
	KUNIT_EXPECT_FALSE_MSG(test, READ_ONCE(f->raw->cut), "it begins again for ever");
	KUNIT_EXPECT_GE(test, recover_beats(f), RECOVER_BEATS);
	recover_pass(test, f, 2 * RECOVER_BEATS, heard, false);
	KUNIT_ASSERT_TRUE_MSG(test, READ_ONCE(f->raw->cut), "it waits for ever");
	f->mute = false;
	recover_stood(test, f, 3);
}

static void recover_slow_heard(struct kunit *test)
{
	recover_slow(test, true);
}

static void recover_slow_silent(struct kunit *test)
{
	recover_slow(test, false);
}

/*
 * The oldest chain stands for very long, though something moves.  The client must end the
 * connection in the end: it may be the server that takes so little.
 */
static void recover_slow_ever(struct kunit *test)
{
	struct fake *f = test->priv;

	fake_start(test, f);
	recover_stands(test, f, 3);
	recover_pass(test, f, 1, true, true);
	spin_lock_bh(&f->xprt->lock);
	if (f->xprt->nr_conns)
		rxc_conn(f->xprt->conns[0])->same += 5 * (f->xprt->slot_account.nr - 1);
	spin_unlock_bh(&f->xprt->lock);
	recover_pass(test, f, RECOVER_BEATS, true, true);
	KUNIT_ASSERT_TRUE_MSG(test, READ_ONCE(f->raw->cut), "it waits for ever");
	recover_stood(test, f, 3);
}

/*
 * The server has got the PING and does not answer, while something moves.  The client must end
 * the connection: a slow link does not excuse that.
 */
static void recover_slow_mute(struct kunit *test)
{
	unsigned long end = jiffies + RAW_WAIT;
	struct fake *f = test->priv;

	fake_start(test, f);
	f->mute = true;
	while (!READ_ONCE(f->raw->cut) && time_before(jiffies, end)) {
		recover_move(f);
		while (atomic_read(&f->raw->arrived) > f->raw->taken)
			fake_take(test, f);
		msleep(20);
	}
	KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(f->raw->cut), "it waits for ever");
	f->mute = false;
	fake_drop(f);
	fake_again(test, f, RXP_WELCOME_BOUND);
	recover_all_kinds(test, f);
}

/* Another mount, which waits for translations; the suite's exit ends it if the case has not. */
static struct recover_other {
	struct work_struct work;
	struct rpol_domain *domain;	/* NULL: there is no other mount */
	struct rpol_member *member;
	struct rpol_member *own;	/* the member of the mount under test */
	u64 capacity;			/* the domain's before */
	u32 rest;			/* taken for the mount under test besides */
	u32 entries;			/* that the other mount wants */
	int ret;
} recover_other;

static void recover_other_work(struct work_struct *work)
{
	struct recover_other *o = container_of(work, struct recover_other, work);

	o->ret = reserve_entries(o->member, o->entries, 0);
}

static void recover_other_end(void)
{
	struct recover_other *o = &recover_other;

	if (!o->domain)
		return;
	rpol_uncharge(o->own, o->rest);
	rpol_domain_set_capacity(o->domain, o->capacity);
	flush_work(&o->work);
	if (!o->ret)
		rpol_uncharge(o->member, o->entries);
	rpol_member_destroy(o->member);
	o->domain = NULL;
}

/* All translations belong to the mount under test, and another one waits for @entries of them. */
static void recover_other_begin(struct kunit *test, struct fake *f, u32 entries)
{
	struct rpol_quota quota = { .max = RPOL_NO_MAX, .weight = RPOL_WEIGHT_DEFAULT };
	struct rpol_domain *domain = f->xprt->pool->rdev->domain;
	struct recover_other *o = &recover_other;
	unsigned long end = jiffies + RAW_WAIT;
	struct rpol_domain_stats st;

	*o = (struct recover_other) { .own = f->xprt->pool->member, .entries = entries };
	o->member = rpol_member_create(domain, &quota, NULL, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(o->member));
	rpol_domain_get_stats(domain, &st);
	o->capacity = st.capacity;
	o->rest = RPOL_CAPACITY_MIN - st.charged;
	INIT_WORK(&o->work, recover_other_work);
	if (rpol_domain_set_capacity(domain, RPOL_CAPACITY_MIN) ||
	    reserve_entries(o->own, o->rest, RPOL_NOWAIT)) {
		rpol_domain_set_capacity(domain, o->capacity);
		rpol_member_destroy(o->member);
		KUNIT_FAIL_AND_ABORT(test, "it can't have all");
	}
	o->domain = domain;
	queue_work(system_unbound_wq, &o->work);
	while (!rpol_excess(o->own) && time_before(jiffies, end))
		msleep(20);
	KUNIT_ASSERT_GT(test, rpol_excess(o->own), 0);
}

static void recover_grace(unsigned int ms)
{
	WRITE_ONCE(rdmafs_test_knobs.grace_ms, ms);
}

/* Pretend that a READ's @since was long ago. */
static void recover_age(struct fake *f, struct fake_call *c)
{
	spin_lock_bh(&f->xprt->lock);
	c->call.x.io->since = jiffies - HZ * 60;
	spin_unlock_bh(&f->xprt->lock);
}

/* Heartbeats enough for an overdue READ to cost the connection, and too few for any other end. */
#define RECOVER_LOOKS	4

/*
 * The work request that brings a READ's translations back stands in the send queue, which
 * moves.  The client must end the connection for it, but only if others wait for the
 * translations.
 */
static void recover_queue_wanted(struct kunit *test, struct fake *f)
{
	recover_grace(100);
	recover_pass(test, f, RECOVER_LOOKS, true, true);
	KUNIT_EXPECT_FALSE_MSG(test, READ_ONCE(f->raw->cut), "nobody else waits");
	recover_other_begin(test, f, RPOL_CAPACITY_MIN / 4);
	recover_pass(test, f, 4 * RECOVER_LOOKS, true, true);
	KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(f->raw->cut), "others wait for ever");
	recover_grace(0);
	recover_other_end();
	KUNIT_EXPECT_EQ(test, recover_other.ret, 0);
}

/* A READ that had no answer must be sent again on the next connection, and is served. */
static void recover_reads_again(struct kunit *test, struct fake *f, struct fake_call *c)
{
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release wc_chain"), 0);
	fake_drop(f);
	fake_again(test, f, RXP_WELCOME_BOUND);
	fake_take_call(test, f, c);
	fake_serve(test, f, c);
	fake_await(test, c);
	KUNIT_EXPECT_EQ(test, c->call.status, 0);
	fake_check(test, c);
}

/* The READ's reply has come, but not the completion of its sends. */
static void recover_wanted_answered(struct kunit *test)
{
	struct fake *f = test->priv;

	fake_start(test, f);
	recover_stands(test, f, 1);
	recover_queue_wanted(test, f);
	recover_stood(test, f, 1);
}

/* The READ's STCRW stands in the send queue, so that a CANCEL cannot be sent. */
static void recover_wanted_followed(struct kunit *test)
{
	struct fake *f = test->priv;
	struct fake_call *c = &f->call[0];

	fake_start(test, f);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail wc_chain 1000000 16"), 0);
	fake_submit(test, f, 0, FAKE_READ_LATE);
	while (!c->keyed)
		fake_take(test, f);
	KUNIT_EXPECT_TRUE(test, time_in_range(c->call.x.io->since, jiffies - RAW_WAIT, jiffies));
	recover_queue_wanted(test, f);
	recover_reads_again(test, f, c);
	fake_idle(test, f);
}

/*
 * READs that have been under way for long are answered just now.  The client must give the
 * device time for the rest, counted from the answer, and end the connection when that time is
 * over.
 */
static void recover_wanted_fresh(struct kunit *test)
{
	struct fake *f = test->priv;
	u32 i;

	fake_start(test, f);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail wc_chain 1000000 16"), 0);
	for (i = 0; i < 2; i++) {
		fake_submit(test, f, i, i ? FAKE_READ_LATE : FAKE_READ);
		fake_take_call(test, f, &f->call[i]);
		recover_age(f, &f->call[i]);
		fake_serve(test, f, &f->call[i]);
	}
	/* The echo shows that the answers have come. */
	fake_submit(test, f, 2, FAKE_ECHO);
	fake_serve(test, f, &f->call[2]);
	fake_await(test, &f->call[2]);
	recover_grace(60000);
	recover_other_begin(test, f, RPOL_CAPACITY_MIN / 4);
	recover_pass(test, f, RECOVER_LOOKS, true, true);
	KUNIT_EXPECT_FALSE_MSG(test, READ_ONCE(f->raw->cut), "it has had no time");
	for (i = 0; i < 2; i++)
		recover_age(f, &f->call[i]);
	recover_pass(test, f, RECOVER_LOOKS, true, true);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(f->raw->cut));
	recover_grace(0);
	recover_other_end();
	recover_stood(test, f, 2);
}

/*
 * The server has let go of a READ, but the client's LOCAL_INV stands.  The client's time for it
 * began with the CANCEL, and must not begin again with the REVOKED.  The client must not cancel
 * another READ for translations that are on their way back already.
 */
static void recover_wanted_revoked(struct kunit *test)
{
	struct fake *f = test->priv;
	u32 i;

	fake_start(test, f);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail wc_chain 1000000 16"), 0);
	for (i = 0; i < 2; i++) {
		fake_submit(test, f, i, FAKE_READ);
		fake_take_call(test, f, &f->call[i]);
	}
	recover_grace(100);
	recover_other_begin(test, f, 1);
	while (!f->call[0].cancelled && !f->call[1].cancelled)
		fake_take(test, f);
	i = f->call[0].cancelled ? 0 : 1;
	recover_grace(60000);
	KUNIT_ASSERT_EQ(test, fake_notify(f, RXP_NOTIFY_REVOKED, f->call[i].slot, f->call[i].seq,
					  NULL, f->call[i].rkey), 0);
	recover_pass(test, f, RECOVER_LOOKS, true, true);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(f->raw->cut));
	KUNIT_EXPECT_EQ(test, f->call[i].call.x.slot->state, RXC_CALL_REVOKED);
	recover_grace(100);
	recover_pass(test, f, RECOVER_LOOKS, true, true);
	KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(f->raw->cut), "others wait for ever");
	KUNIT_EXPECT_FALSE(test, f->call[!i].cancelled);
	recover_grace(0);
	recover_other_end();
	recover_reads_again(test, f, &f->call[0]);
	fake_take_call(test, f, &f->call[1]);
	fake_serve(test, f, &f->call[1]);
	fake_await(test, &f->call[1]);
	KUNIT_EXPECT_EQ(test, f->call[1].call.status, 0);
	fake_idle(test, f);
}

/*
 * The client asked the server to let go of a READ.  The server says REVOKED, and then answers
 * CANCELLED.  Neither must give it more time: @since stays as it was.
 */
static void recover_wanted_once(struct kunit *test)
{
	struct fake *f = test->priv;
	struct fake_call *c = &f->call[0];
	struct fake_reply r;
	unsigned long since;

	fake_start(test, f);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail wc_chain 1000000 16"), 0);
	fake_submit(test, f, 0, FAKE_READ);
	fake_take_call(test, f, c);
	recover_grace(100);
	recover_other_begin(test, f, 1);
	while (!c->cancelled)
		fake_take(test, f);
	recover_grace(60000);
	since = c->call.x.io->since - HZ * 10;
	c->call.x.io->since = since;
	KUNIT_ASSERT_EQ(test, fake_notify(f, RXP_NOTIFY_REVOKED, c->slot, c->seq, NULL, c->rkey),
			0);
	r = fake_ok(c);
	r.status = RXP_STATUS_CANCELLED;
	r.bulk_len = 0;
	r.body_len = 0;
	r.inv = 0;
	KUNIT_ASSERT_EQ(test, fake_reply(f, &r), 0);
	recover_pass(test, f, 2, true, true);
	KUNIT_EXPECT_EQ(test, c->call.x.slot->state, RXC_CALL_ANSWERED);
	KUNIT_EXPECT_EQ(test, c->call.x.io->since, since);
	recover_grace(5000);
	recover_pass(test, f, RECOVER_LOOKS, true, true);
	KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(f->raw->cut), "others wait for ever");
	recover_grace(0);
	recover_other_end();
	recover_reads_again(test, f, c);
	fake_idle(test, f);
}

/*
 * The client asked the server to let go of a READ.  The REVOKED names that READ and invalidates the
 * key of another one.  The client must end the connection, not give the first READ's translations
 * to others while the server may write there.  Both READs are read again.
 */
static void recover_revoked_other(struct kunit *test)
{
	struct fake *f = test->priv;
	u32 i;

	fake_start(test, f);
	for (i = 0; i < 2; i++) {
		fake_submit(test, f, i, FAKE_READ);
		fake_take_call(test, f, &f->call[i]);
	}
	recover_grace(100);
	recover_other_begin(test, f, 1);
	while (!f->call[0].cancelled && !f->call[1].cancelled)
		fake_take(test, f);
	recover_grace(60000);
	i = f->call[0].cancelled ? 0 : 1;
	KUNIT_ASSERT_EQ(test, fake_notify(f, RXP_NOTIFY_REVOKED, f->call[i].slot, f->call[i].seq,
					  NULL, f->call[!i].rkey), 0);
	KUNIT_EXPECT_TRUE_MSG(test, raw_wait_cut(f->raw), "still connected");
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_protocol_errors), 1);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_remote_inv), 0);
	recover_grace(0);
	recover_other_end();
	fake_drop(f);
	fake_untouched(test, f);
	fake_again(test, f, RXP_WELCOME_BOUND);
	for (i = 0; i < 2; i++) {
		fake_serve(test, f, &f->call[i]);
		fake_await(test, &f->call[i]);
		KUNIT_EXPECT_EQ(test, f->call[i].call.status, 0);
		fake_check(test, &f->call[i]);
	}
	fake_idle(test, f);
}

/*
 * One call waits for translations and one for a slot, and all calls are failed.  Both must be
 * refused with -EIO.  As nothing was sent the session must go on: no new session.
 */
static void recover_fail_waiting(struct kunit *test)
{
	struct fake *f = test->priv;
	struct recover_submit s[2];
	u32 i;

	fake_start(test, f);
	recover_quota(test, f, 33);
	KUNIT_ASSERT_EQ(test, reserve_entries(f->xprt->pool->member, 33, RPOL_NOWAIT), 0);
	recover_submit_later(f, &s[0], 0, FAKE_READ);
	KUNIT_EXPECT_TRUE(test, recover_lines_up(f->xprt));
	while (fake_get_slot(f, RXC_SLOT_EVENT) >= 0)
		;
	recover_submit_later(f, &s[1], 1, FAKE_ECHO);
	KUNIT_EXPECT_TRUE(test, recover_wants_slot(f->xprt));
	rdmafs_xprt_fail_outstanding(f->xprt);
	for (i = 0; i < ARRAY_SIZE(s); i++) {
		flush_work(&s[i].work);
		destroy_work_on_stack(&s[i].work);
		KUNIT_EXPECT_EQ(test, s[i].ret, -EIO);
	}
	for (i = 0; i < f->xprt->slot_account.nr; i++)
		rxc_slots_put(&f->xprt->slot_account, i);
	rpol_uncharge(f->xprt->pool->member, 33);
	KUNIT_EXPECT_EQ(test, READ_ONCE(f->xprt->state), RXC_UP);
	fake_submit(test, f, 0, FAKE_READ);
	fake_serve(test, f, &f->call[0]);
	fake_await(test, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].call.status, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->resets), 0);
	fake_idle(test, f);
}

/* A deadline that passes only when the case says so. */
static void recover_far_deadline(struct fake_call *c)
{
	c->call.deadline = jiffies + 1000 * HZ;
}

/* The deadline of the only call that has one passes now. */
static void recover_deadline(struct fake *f, struct fake_call *c)
{
	struct rdmafs_xprt *x = f->xprt;

	spin_lock_bh(&x->lock);
	c->call.deadline = jiffies;
	spin_unlock_bh(&x->lock);
	mod_delayed_work(system_wq, &x->expire, 0);
}

/*
 * The server has calls on a connection that lives, and the deadline of one passes.  It must end
 * with -ETIMEDOUT, when the server can't write to its memory any more; the others must be sent
 * again in a new session.
 */
static void recover_expire_sent(struct kunit *test)
{
	struct fake *f = test->priv;
	static const u8 none[16];
	struct rxp_wire_cm cm;
	u32 i;

	fake_start(test, f);
	recover_far_deadline(&f->call[0]);
	fake_submit_all(test, f, FAKE_READ_LATE);
	recover_deadline(f, &f->call[0]);
	fake_await(test, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].call.status, -ETIMEDOUT);
	fake_check(test, &f->call[0]);
	for (i = 1; i < FAKE_CALLS; i++)
		KUNIT_EXPECT_FALSE_MSG(test, fake_has_ended(&f->call[i]), "call %u", i);
	fake_drop(f);
	raw_fill_cm(&cm);
	KUNIT_ASSERT_TRUE_MSG(test, fake_accept(f, &cm), "no connection");
	fake_take_hello(test, f);
	KUNIT_EXPECT_MEMEQ(test, f->hello.session, none, sizeof(none));
	KUNIT_ASSERT_EQ(test, fake_welcome(f, RXP_WELCOME_NEW), 0);
	fake_serve_all(test, f);
	for (i = 1; i < FAKE_CALLS; i++) {
		KUNIT_EXPECT_EQ(test, f->call[i].call.status, 0);
		fake_check(test, &f->call[i]);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&f->resets), 1);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_timed_out), 1);
	fake_idle(test, f);
}

/*
 * Without a connection two calls wait for one, and the deadline of one passes.  It must be refused;
 * nothing was sent, so the other one is sent in the same session.
 */
static void recover_expire_down(struct kunit *test)
{
	struct fake *f = test->priv;
	struct recover_submit s[2];
	u32 i;

	fake_start(test, f);
	fake_drop(f);
	KUNIT_ASSERT_TRUE(test, recover_is(f->xprt, RXC_DOWN));
	recover_far_deadline(&f->call[0]);
	for (i = 0; i < ARRAY_SIZE(s); i++)
		recover_submit_later(f, &s[i], i, FAKE_READ);
	KUNIT_EXPECT_TRUE(test, recover_has_calls(f->xprt, 2));
	recover_deadline(f, &f->call[0]);
	flush_work(&s[0].work);
	destroy_work_on_stack(&s[0].work);
	KUNIT_EXPECT_EQ(test, s[0].ret, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, READ_ONCE(s[1].ret), 1);
	/* What is late already is not begun. */
	KUNIT_EXPECT_EQ(test, rdmafs_xprt_submit(f->xprt, &f->call[0].call), -ETIMEDOUT);
	fake_again(test, f, RXP_WELCOME_BOUND);
	flush_work(&s[1].work);
	destroy_work_on_stack(&s[1].work);
	KUNIT_EXPECT_EQ(test, s[1].ret, 0);
	fake_serve(test, f, &f->call[1]);
	fake_await(test, &f->call[1]);
	KUNIT_EXPECT_EQ(test, f->call[1].call.status, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->resets), 0);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_timed_out), 2);
	fake_idle(test, f);
}

/* The same for calls that wait for translations and for a slot, one after the other. */
static void recover_expire_waiting(struct kunit *test)
{
	struct fake *f = test->priv;
	struct recover_submit s;
	u32 i;

	fake_start(test, f);
	recover_quota(test, f, 33);
	KUNIT_ASSERT_EQ(test, reserve_entries(f->xprt->pool->member, 33, RPOL_NOWAIT), 0);
	for (i = 0; i < 2; i++) {
		recover_far_deadline(&f->call[i]);
		recover_submit_later(f, &s, i, i ? FAKE_ECHO : FAKE_READ);
		KUNIT_EXPECT_TRUE(test, i ? recover_wants_slot(f->xprt) :
					    recover_lines_up(f->xprt));
		recover_deadline(f, &f->call[i]);
		flush_work(&s.work);
		destroy_work_on_stack(&s.work);
		KUNIT_EXPECT_EQ(test, s.ret, -ETIMEDOUT);
		while (!i && fake_get_slot(f, RXC_SLOT_EVENT) >= 0)
			;
	}
	for (i = 0; i < f->xprt->slot_account.nr; i++)
		rxc_slots_put(&f->xprt->slot_account, i);
	rpol_uncharge(f->xprt->pool->member, 33);
	KUNIT_EXPECT_EQ(test, READ_ONCE(f->xprt->state), RXC_UP);
	f->call[0].call.deadline = 0;
	fake_submit(test, f, 0, FAKE_READ);
	fake_serve(test, f, &f->call[0]);
	fake_await(test, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].call.status, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->resets), 0);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_timed_out), 2);
	fake_idle(test, f);
}

/*
 * The server refuses two READs.  The worker that sends them again is held at the first one when the
 * deadline of the other one passes, which must end then; the first one is read.
 */
static void recover_expire_turn(struct kunit *test)
{
	unsigned long end = jiffies + RAW_WAIT;
	struct fake *f = test->priv;
	struct fake_reply r;
	u32 i;

	fake_start(test, f);
	recover_far_deadline(&f->call[1]);
	for (i = 0; i < 2; i++) {
		fake_submit(test, f, i, FAKE_READ);
		fake_take_call(test, f, &f->call[i]);
	}
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold call_pool 1"), 0);
	for (i = 0; i < 2; i++) {
		r = fake_ok(&f->call[i]);
		r.status = RXP_STATUS_RETRY_LATER;
		r.body_len = 0;
		KUNIT_ASSERT_EQ(test, fake_reply(f, &r), 0);
		f->call[i].seen = false;
	}
	while (READ_ONCE(f->call[1].call.x.slot) && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_ASSERT_NULL(test, READ_ONCE(f->call[1].call.x.slot));
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("call_pool", 1, 20));
	recover_deadline(f, &f->call[1]);
	fake_await(test, &f->call[1]);
	KUNIT_EXPECT_EQ(test, f->call[1].call.status, -ETIMEDOUT);
	KUNIT_EXPECT_FALSE(test, fake_has_ended(&f->call[0]));
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release call_pool"), 0);
	fake_serve(test, f, &f->call[0]);
	fake_await(test, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].call.status, 0);
	fake_check(test, &f->call[0]);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->resets), 0);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_timed_out), 1);
	fake_idle(test, f);
}

/*
 * A call whose deadline has passed does not come back for a while.  The calls that wait must lose
 * their places in line once, not again and again.
 */
static void recover_expire_once(struct kunit *test)
{
	unsigned long end = jiffies + RAW_WAIT;
	struct fake *f = test->priv;
	struct rpol_member *member;
	struct recover_submit s;
	u32 before;

	fake_start(test, f);
	member = f->xprt->pool->member;
	before = rpol_member_dismissals(member);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold call_pool 1"), 0);
	recover_far_deadline(&f->call[0]);
	recover_submit_later(f, &s, 0, FAKE_READ);
	KUNIT_EXPECT_TRUE(test, rdmafs_point_wait("call_pool", 1, 20));
	recover_deadline(f, &f->call[0]);
	while (rpol_member_dismissals(member) == before && time_before(jiffies, end))
		usleep_range(1000, 2000);
	msleep(1000);
	KUNIT_EXPECT_EQ(test, rpol_member_dismissals(member), before + 1);
	KUNIT_EXPECT_EQ(test, rdmafs_points_command("release call_pool"), 0);
	flush_work(&s.work);
	destroy_work_on_stack(&s.work);
	KUNIT_EXPECT_EQ(test, s.ret, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, READ_ONCE(f->xprt->state), RXC_UP);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_timed_out), 1);
	fake_idle(test, f);
}

/*
 * The deadlines of two calls pass while deadlines do not count: the server has one, the other waits
 * for a connection.  Neither must end, until deadlines count again.
 */
static void recover_expire_never(struct kunit *test)
{
	struct fake *f = test->priv;
	struct recover_submit s;

	fake_start(test, f);
	rdmafs_xprt_set_deadlines(f->xprt, false);
	recover_far_deadline(&f->call[0]);
	fake_submit(test, f, 0, FAKE_READ);
	fake_take_call(test, f, &f->call[0]);
	recover_deadline(f, &f->call[0]);
	msleep(500);
	KUNIT_EXPECT_FALSE(test, fake_has_ended(&f->call[0]));
	KUNIT_EXPECT_EQ(test, READ_ONCE(f->xprt->state), RXC_UP);
	fake_serve(test, f, &f->call[0]);
	fake_await(test, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].call.status, 0);
	fake_drop(f);
	KUNIT_ASSERT_TRUE(test, recover_is(f->xprt, RXC_DOWN));
	recover_far_deadline(&f->call[1]);
	recover_submit_later(f, &s, 1, FAKE_READ);
	KUNIT_EXPECT_TRUE(test, recover_has_calls(f->xprt, 1));
	recover_deadline(f, &f->call[1]);
	msleep(100);
	KUNIT_EXPECT_EQ(test, READ_ONCE(s.ret), 1);
	rdmafs_xprt_set_deadlines(f->xprt, true);
	flush_work(&s.work);
	destroy_work_on_stack(&s.work);
	KUNIT_EXPECT_EQ(test, s.ret, -ETIMEDOUT);
	fake_again(test, f, RXP_WELCOME_BOUND);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->resets), 0);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_timed_out), 1);
	fake_idle(test, f);
}

/* Submit a call whose deadline counts until it is sent. */
static int recover_submit_until_sent(struct fake *f, u32 id, unsigned long time)
{
	struct fake_call *c = fake_describe(f, id, FAKE_ECHO);

	c->call.flags |= RDMAFS_CALL_UNTIL_SENT;
	c->call.deadline = jiffies + time;
	return rdmafs_xprt_submit(f->xprt, &c->call);
}

/*
 * One call with such a deadline is sent, which must end the deadline; the other one waits for a
 * connection, and must be refused in time, also if deadlines do not count otherwise.  Nobody must
 * suffer from that.
 */
static void recover_expire_until_sent(struct kunit *test)
{
	struct fake *f = test->priv;

	fake_start(test, f);
	KUNIT_ASSERT_EQ(test, recover_submit_until_sent(f, 0, 1000 * HZ), 0);
	fake_take_call(test, f, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].call.deadline, 0);
	spin_lock_bh(&f->xprt->lock);
	KUNIT_EXPECT_TRUE(test, list_empty(&f->xprt->timed));
	spin_unlock_bh(&f->xprt->lock);
	fake_serve(test, f, &f->call[0]);
	fake_await(test, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].call.status, 0);
	fake_drop(f);
	KUNIT_ASSERT_TRUE(test, recover_is(f->xprt, RXC_DOWN));
	KUNIT_EXPECT_EQ(test, recover_submit_until_sent(f, 1, HZ / 10 ?: 1), -ETIMEDOUT);
	rdmafs_xprt_set_deadlines(f->xprt, false);
	KUNIT_EXPECT_EQ(test, recover_submit_until_sent(f, 1, HZ / 10 ?: 1), -ETIMEDOUT);
	fake_again(test, f, RXP_WELCOME_BOUND);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->resets), 0);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_timed_out), 2);
	fake_idle(test, f);
}

/* Take all slots but four, so that one call at a time can have one. */
static void recover_take_slots(struct kunit *test, struct fake *f)
{
	u32 i;

	/* A normal call leaves three slots alone. */
	for (i = 0; i + 4 < f->xprt->slot_account.nr; i++)
		KUNIT_ASSERT_GE(test, fake_get_slot(f, RXC_SLOT_URGENT), 0);
}

static void recover_put_slots(struct fake *f)
{
	u32 i;

	for (i = 0; i + 4 < f->xprt->slot_account.nr; i++)
		rxc_slots_put(&f->xprt->slot_account, i);
}

/*
 * There are translations for one READ.  Call A has them, and a slot; call B waits for them.  The
 * connection is lost.  B gets the translations and waits for a slot.  A must not wait for the
 * translations with its slot taken: that would be a deadlock.
 */
static void recover_short(struct kunit *test)
{
	struct fake *f = test->priv;
	struct recover_submit s;

	fake_start(test, f);
	recover_quota(test, f, 33);
	recover_take_slots(test, f);
	fake_submit(test, f, 0, FAKE_READ);
	fake_take_call(test, f, &f->call[0]);
	recover_submit_later(f, &s, 1, FAKE_READ);
	KUNIT_EXPECT_TRUE(test, recover_lines_up(f->xprt));
	fake_drop(f);
	fake_again(test, f, RXP_WELCOME_BOUND);
	while (!f->call[0].cancelled)
		fake_take(test, f);
	KUNIT_EXPECT_EQ(test, f->call[0].flags, RXP_F_READ);
	/* A is answered CANCELLED; then B is read, and A after it. */
	fake_serve_cancelled(test, f, &f->call[0]);
	fake_serve(test, f, &f->call[1]);
	fake_await(test, &f->call[1]);
	flush_work(&s.work);
	destroy_work_on_stack(&s.work);
	KUNIT_EXPECT_EQ(test, s.ret, 0);
	fake_serve(test, f, &f->call[0]);
	fake_await(test, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].call.status, 0);
	KUNIT_EXPECT_EQ(test, f->call[1].call.status, 0);
	fake_check(test, &f->call[0]);
	fake_check(test, &f->call[1]);
	recover_put_slots(f);
	fake_idle(test, f);
}

/*
 * The quota is lowered below what a READ needs, and the connection is lost.  The READ must end
 * with -E2BIG, other calls are served, and the mount goes on.
 */
static void recover_too_big(struct kunit *test)
{
	struct fake *f = test->priv;

	fake_start(test, f);
	fake_submit(test, f, 0, FAKE_READ);
	fake_take_call(test, f, &f->call[0]);
	fake_submit(test, f, 1, FAKE_WRITE);
	fake_take_call(test, f, &f->call[1]);
	recover_quota(test, f, 8);
	fake_drop(f);
	fake_again(test, f, RXP_WELCOME_BOUND);
	while (!f->call[0].cancelled)
		fake_take(test, f);
	fake_serve_cancelled(test, f, &f->call[0]);
	fake_await(test, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].call.status, -E2BIG);
	fake_serve(test, f, &f->call[1]);
	fake_await(test, &f->call[1]);
	KUNIT_EXPECT_EQ(test, f->call[1].call.status, 0);
	fake_idle(test, f);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_reconnects), 1);
}

/*
 * The connection is lost when a call belongs to the session and is not posted yet: its
 * submitter is held there.  The next connection sends the call.  The submitter must not send it
 * again when it goes on, nor may the call end while the submitter still uses it.
 */
static void recover_unposted(struct kunit *test, enum fake_kind kind)
{
	struct fake *f = test->priv;
	struct fake_call *c = &f->call[0];
	struct recover_submit s;

	fake_start(test, f);
	if (kind == FAKE_WRITE_GRANTED) {
		fake_submit(test, f, 0, FAKE_WRITE);
		f->grant = true;
		fake_serve(test, f, c);
		fake_await(test, c);
	}
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("hold call_unposted 1"), 0);
	recover_submit_later(f, &s, 0, kind);
	KUNIT_ASSERT_TRUE(test, rdmafs_point_wait("call_unposted", 1, 20));
	fake_drop(f);
	fake_again(test, f, RXP_WELCOME_BOUND);
	fake_serve(test, f, c);
	/* The call is answered, and must not end before its submitter is done with it. */
	fake_submit(test, f, 1, FAKE_ECHO);
	fake_serve(test, f, &f->call[1]);
	fake_await(test, &f->call[1]);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->ended), 0);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release call_unposted"), 0);
	flush_work(&s.work);
	destroy_work_on_stack(&s.work);
	KUNIT_EXPECT_EQ(test, s.ret, 0);
	fake_await(test, c);
	KUNIT_EXPECT_EQ(test, c->call.status, 0);
	fake_check(test, c);
	fake_idle(test, f);
	/* The call was sent once: the next message is the next call. */
	fake_submit(test, f, 1, FAKE_ECHO);
	fake_take(test, f);
	KUNIT_EXPECT_TRUE(test, f->call[1].seen);
	fake_serve(test, f, &f->call[1]);
	fake_await(test, &f->call[1]);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_protocol_errors), 0);
}

static void recover_unposted_small(struct kunit *test)
{
	recover_unposted(test, FAKE_ECHO);
}

static void recover_unposted_granted(struct kunit *test)
{
	recover_unposted(test, FAKE_WRITE_GRANTED);
}

/*
 * There are no large runs of pages.  The mount must connect all the same, with smaller
 * receives, and get large ones on a later connection when there are some again.
 */
static void recover_small_receives(struct kunit *test)
{
	struct fake *f = test->priv;

	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail ring_chunk 1000000 3"), 0);
	fake_start(test, f);
	if (raw_iwarp(f->raw))
		kunit_skip(test, "on iWARP all receives are small");
	KUNIT_EXPECT_EQ(test, f->xprt->conns[0]->recv_size, RXP_MSG_MAX);
	recover_all_kinds(test, f);
	fake_drop(f);
	fake_again(test, f, RXP_WELCOME_BOUND);
	recover_all_kinds(test, f);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("release ring_chunk"), 0);
	fake_drop(f);
	fake_again(test, f, RXP_WELCOME_BOUND);
	recover_all_kinds(test, f);
	KUNIT_EXPECT_EQ(test, f->xprt->conns[0]->recv_size, RXP_RECV_MAX);
}

/*
 * No receives can be allocated, and the connection is lost.  The next connection must take over
 * the receives of the old one: a client short of memory must be able to come back.
 */
static void recover_kept_receives(struct kunit *test)
{
	struct fake *f = test->priv;
	void *first;

	fake_start(test, f);
	if (raw_iwarp(f->raw))
		kunit_skip(test, "on iWARP all receives are small");
	KUNIT_EXPECT_EQ(test, f->xprt->conns[0]->recv_size, RXP_RECV_MAX);
	first = f->xprt->conns[0]->rx_ring.chunk[0];
	recover_all_kinds(test, f);
	KUNIT_ASSERT_EQ(test, rdmafs_points_command("fail ring_chunk 1000000"), 0);
	fake_drop(f);
	fake_again(test, f, RXP_WELCOME_BOUND);
	recover_all_kinds(test, f);
	KUNIT_EXPECT_EQ(test, f->xprt->conns[0]->recv_size, RXP_RECV_MAX);
	KUNIT_EXPECT_PTR_EQ(test, f->xprt->conns[0]->rx_ring.chunk[0], first);
}

/*
 * The route to the server has got another address.  The client must end the connection and
 * connect again.
 */
static void recover_addr_change(struct kunit *test)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_ADDR_CHANGE };
	struct fake *f = test->priv;
	struct rdma_cm_id *id;
	int arrived;

	fake_start(test, f);
	id = f->xprt->conns[0]->id;
	arrived = atomic_read(&f->raw->arrived);
	KUNIT_EXPECT_EQ(test, id->event_handler(id, &event), 0);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(f->raw));
	/*
	 * The connection did not end because PINGs were not answered; the client sends five of
	 * them.
	 */
	KUNIT_EXPECT_LT(test, atomic_read(&f->raw->arrived) - arrived, 5);
	fake_drop(f);
	fake_again(test, f, RXP_WELCOME_BOUND);
	recover_all_kinds(test, f);
}

/*
 * The server comes back with smaller limits.  Calls that are too large now must end with
 * -E2BIG, and later ones be refused with it; the rest goes on.
 */
static void recover_smaller_server(struct kunit *test)
{
	struct fake *f = test->priv;
	struct rxp_wire_cm cm;
	u32 i;

	fake_start(test, f);
	for (i = 0; i < 2; i++) {
		fake_submit(test, f, i, i ? FAKE_READ : FAKE_WRITE);
		fake_take_call(test, f, &f->call[i]);
	}
	fake_submit(test, f, 2, FAKE_ECHO);
	fake_take_call(test, f, &f->call[2]);
	fake_drop(f);
	raw_fill_cm(&cm);
	cm.data_max = cpu_to_le32(FAKE_LEN / 2);
	KUNIT_ASSERT_TRUE(test, fake_accept(f, &cm));
	fake_take_hello(test, f);
	KUNIT_ASSERT_EQ(test, fake_welcome(f, RXP_WELCOME_NEW), 0);
	for (i = 0; i < 2; i++) {
		fake_await(test, &f->call[i]);
		KUNIT_EXPECT_EQ(test, f->call[i].call.status, -E2BIG);
	}
	fake_serve(test, f, &f->call[2]);
	fake_await(test, &f->call[2]);
	KUNIT_EXPECT_EQ(test, f->call[2].call.status, 0);
	fake_describe(f, 0, FAKE_WRITE);
	KUNIT_EXPECT_EQ(test, rdmafs_xprt_submit(f->xprt, &f->call[0].call), -E2BIG);
	KUNIT_EXPECT_EQ(test, rdmafs_xprt_data_max(f->xprt), FAKE_LEN / 2);
	fake_idle(test, f);
	KUNIT_EXPECT_EQ(test, fake_stat(f, RXP_STAT_reconnects), 1);
}

/* The same for a call that waits for the connection and has no slot. */
static void recover_smaller_waiting(struct kunit *test)
{
	struct fake *f = test->priv;
	unsigned long end = jiffies + RAW_WAIT;
	struct recover_submit s;
	struct rxp_wire_cm cm;

	fake_start(test, f);
	fake_drop(f);
	KUNIT_ASSERT_TRUE(test, recover_is(f->xprt, RXC_DOWN));
	recover_submit_later(f, &s, 0, FAKE_READ);
	while (!fake_stat(f, RXP_STAT_calls) && time_before(jiffies, end))
		usleep_range(1000, 2000);
	raw_fill_cm(&cm);
	cm.data_max = cpu_to_le32(FAKE_LEN / 2);
	KUNIT_EXPECT_TRUE(test, fake_accept(f, &cm));
	fake_take_hello(test, f);
	KUNIT_EXPECT_EQ(test, fake_welcome(f, RXP_WELCOME_NEW), 0);
	flush_work(&s.work);
	destroy_work_on_stack(&s.work);
	KUNIT_EXPECT_EQ(test, s.ret, -E2BIG);
	fake_submit(test, f, 1, FAKE_ECHO);
	fake_take_call(test, f, &f->call[1]);
	fake_serve(test, f, &f->call[1]);
	fake_await(test, &f->call[1]);
	KUNIT_EXPECT_EQ(test, f->call[1].call.status, 0);
}

/*
 * The mount comes back on a device with smaller MRs, in the same session.  A READ that is too
 * large now must end with -E2BIG; the WRITE goes on, as the client registers nothing for it.
 */
static void recover_smaller_device(struct kunit *test)
{
	struct fake *f = test->priv;
	struct rxp_device *rdev;
	u32 entries;

	fake_start(test, f);
	rdev = f->xprt->pool->rdev;
	entries = rdev->max_entries;
	fake_submit(test, f, 0, FAKE_READ);
	fake_take_call(test, f, &f->call[0]);
	fake_submit(test, f, 1, FAKE_WRITE);
	fake_take_call(test, f, &f->call[1]);
	fake_drop(f);
	WRITE_ONCE(rdev->max_entries, 8);
	fake_again(test, f, RXP_WELCOME_BOUND);
	while (!f->call[0].cancelled)
		fake_take(test, f);
	fake_serve_cancelled(test, f, &f->call[0]);
	fake_await(test, &f->call[0]);
	KUNIT_EXPECT_EQ(test, f->call[0].call.status, -E2BIG);
	fake_serve(test, f, &f->call[1]);
	fake_await(test, &f->call[1]);
	KUNIT_EXPECT_EQ(test, f->call[1].call.status, 0);
	KUNIT_EXPECT_EQ(test, rdmafs_xprt_data_max(f->xprt), 8 * PAGE_SIZE);
	fake_idle(test, f);
	WRITE_ONCE(rdev->max_entries, entries);
}

static int recover_init(struct kunit *test)
{
	return fake_new(test) ? 0 : -ENOMEM;
}

static void recover_exit(struct kunit *test)
{
	rdmafs_points_command("reset");
	recover_grace(0);
	recover_other_end();
	if (test->priv)
		fake_free(test->priv);
}

static struct kunit_case recover_cases[] = {
	KUNIT_CASE(recover_nowait),
	KUNIT_CASE(recover_fail_sent),
	KUNIT_CASE(recover_fail_down),
	KUNIT_CASE(recover_fail_answered),
	KUNIT_CASE_SLOW(recover_queue_stands),
	KUNIT_CASE_SLOW(recover_slow_heard),
	KUNIT_CASE_SLOW(recover_slow_silent),
	KUNIT_CASE_SLOW(recover_slow_ever),
	KUNIT_CASE_SLOW(recover_slow_mute),
	KUNIT_CASE_SLOW(recover_wanted_answered),
	KUNIT_CASE_SLOW(recover_wanted_followed),
	KUNIT_CASE_SLOW(recover_wanted_fresh),
	KUNIT_CASE_SLOW(recover_wanted_revoked),
	KUNIT_CASE_SLOW(recover_wanted_once),
	KUNIT_CASE_SLOW(recover_revoked_other),
	KUNIT_CASE(recover_fail_waiting),
	KUNIT_CASE(recover_expire_sent),
	KUNIT_CASE(recover_expire_down),
	KUNIT_CASE(recover_expire_waiting),
	KUNIT_CASE(recover_expire_turn),
	KUNIT_CASE_SLOW(recover_expire_once),
	KUNIT_CASE_SLOW(recover_expire_never),
	KUNIT_CASE(recover_expire_until_sent),
	KUNIT_CASE(recover_short),
	KUNIT_CASE(recover_too_big),
	KUNIT_CASE(recover_unposted_small),
	KUNIT_CASE(recover_unposted_granted),
	KUNIT_CASE(recover_small_receives),
	KUNIT_CASE(recover_kept_receives),
	KUNIT_CASE(recover_addr_change),
	KUNIT_CASE(recover_smaller_server),
	KUNIT_CASE(recover_smaller_waiting),
	KUNIT_CASE(recover_smaller_device),
	{}
};

static struct kunit_suite recover_suite = {
	.name = "rdmafs_xprt_recover",
	.init = recover_init,
	.exit = recover_exit,
	.test_cases = recover_cases,
};

kunit_test_suite(recover_suite);
