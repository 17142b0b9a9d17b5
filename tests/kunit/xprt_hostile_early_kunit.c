// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_hostile_early: a server in bare verbs that answers a READ before it has
 * got the CALL, so that it may write to the READ's memory when that is the caller's again.
 *
 * On iWARP it does not take what the client sends, so that the CALL, and the registration in
 * front of it, stand in the client's send queue.  Its reply invalidates the key already, which
 * such a device allows.  On other devices it answers as soon as there is a key to be named.
 * Then it writes as long as the device allows.  The caller's memory must not change after the
 * call has ended.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/module.h>
#include "xprt_fake.h"
#include "xprt_stall.h"

/* The key and address in a READ's CALL, taken from the client's own state. */
struct early_read {
	struct fake_call *c;
	enum rxp_mr_state key;
	enum rxc_call_state state;
};

static bool early_look(struct fake *f, struct early_read *r)
{
	struct rdmafs_xprt *x = f->xprt;
	struct fake_call *c = r->c;
	bool there = false;
	u32 i;

	spin_lock_bh(&x->lock);
	for (i = 0; i < x->slot_account.nr && !there; i++) {
		struct rxc_slot *slot = &x->slots[i];

		there = slot->call == &c->call && slot->call->x.io && slot->call->x.io->mr;
		if (!there)
			continue;
		c->slot = slot->index;
		c->seq = slot->seq;
		c->rkey = slot->call->x.io->mr->mr->rkey;
		c->iova = slot->call->x.io->mr->mr->iova;
		c->keyed = true;
		r->key = READ_ONCE(slot->call->x.io->mr->state);
		r->state = slot->state;
	}
	spin_unlock_bh(&x->lock);
	return there;
}

/* Wait until the client has handled the reply; the call must not have ended. */
static void early_answered(struct kunit *test, struct fake *f, struct early_read *r)
{
	unsigned long end = jiffies + RAW_WAIT;

	while (early_look(f, r) && r->state != RXC_CALL_ANSWERED && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_ASSERT_EQ(test, r->state, RXC_CALL_ANSWERED);
}

/* The call must end only when its registration has been executed and invalidated. */
static void early_reply(struct kunit *test)
{
	struct fake *f = test->priv;
	struct fake_call *c = &f->call[1];
	struct early_read r = { .c = c };
	unsigned long end = jiffies + RAW_WAIT;
	struct fake_reply reply;
	struct stall stall;
	bool iwarp;
	u32 i;

	fake_start(test, f);
	iwarp = raw_iwarp(f->raw);
	fake_submit(test, f, 0, FAKE_WRITE);
	fake_take_call(test, f, &f->call[0]);
	f->grant = true;
	fake_serve(test, f, &f->call[0]);
	fake_await(test, &f->call[0]);

	/*
	 * The data of the WRITE to the grant fills the queues between the client's send queue
	 * and us.
	 */
	KUNIT_ASSERT_EQ(test, stall_begin(&stall, f->raw, RAW_RECVS), 0);
	fake_submit(test, f, 0, FAKE_WRITE_GRANTED);
	fake_submit(test, f, 1, FAKE_READ);
	KUNIT_EXPECT_TRUE(test, early_look(f, &r));
	if (iwarp)
		KUNIT_EXPECT_EQ(test, r.key, RXP_MR_REGISTERING);
	else
		fake_take_call(test, f, c);
	reply = fake_ok(c);
	KUNIT_EXPECT_EQ(test, fake_reply(f, &reply), 0);
	if (iwarp) {
		early_answered(test, f, &r);
		KUNIT_EXPECT_EQ(test, atomic_read(&c->ended), 0);
	}
	KUNIT_EXPECT_EQ(test, stall_end(&stall), 0);
	if (iwarp)
		fake_take_call(test, f, c);
	fake_await(test, c);

	/* The memory is the caller's again. */
	for (i = 0; i < FAKE_ROOM + 2 * FAKE_GUARD; i++)
		c->buf[i] = FAKE_POISON;
	while (!READ_ONCE(f->raw->cut) && time_before(jiffies, end)) {
		memset(f->raw->send->buf, 'W', 64);
		if (raw_write(f->raw, c->iova, c->rkey, 64))
			break;
	}
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(f->raw));
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(c->buf, FAKE_POISON, FAKE_ROOM + 2 * FAKE_GUARD),
			    NULL);
}

static int early_init(struct kunit *test)
{
	fake_new(test);
	return 0;
}

static void early_exit(struct kunit *test)
{
	if (test->priv)
		fake_free(test->priv);
}

static struct kunit_case early_cases[] = {
	KUNIT_CASE(early_reply),
	{}
};

static struct kunit_suite early_suite = {
	.name = "rdmafs_xprt_hostile_early",
	.init = early_init,
	.exit = early_exit,
	.test_cases = early_cases,
};

kunit_test_suite(early_suite);
