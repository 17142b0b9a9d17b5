// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_slot: the slot account (transport/client/slot.c).  Which kind of call may take
 * how many slots, and in which order do waiting calls get them?
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include "transport/client/slot.h"
#include "transport/frame.h"
#include "transport/xprt.h"

#define NR	16

static void slot_bulk_max(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rxc_slots_bulk_max(256), 256 - 67);
	KUNIT_EXPECT_EQ(test, rxc_slots_bulk_max(NR), NR - 11);
	KUNIT_EXPECT_EQ(test, rxc_slots_bulk_max(12), 1);
	KUNIT_EXPECT_EQ(test, rxc_slots_bulk_max(11), 0);
	KUNIT_EXPECT_EQ(test, rxc_slots_bulk_max(1), 0);
}

/* Take a slot without waiting. */
static int slot_get(struct rxc_slots *s, enum rxc_slot_kind kind)
{
	return rxc_slots_get_since(s, kind, true, rxc_slots_dismissals(s));
}

static int slot_take_all(struct rxc_slots *s, enum rxc_slot_kind kind)
{
	int n = 0;

	while (slot_get(s, kind) >= 0)
		n++;
	return n;
}

static void slot_reserve(struct kunit *test)
{
	struct rxc_slots s = {};

	KUNIT_ASSERT_EQ(test, rxc_slots_init(&s, NR), 0);
	KUNIT_EXPECT_EQ(test, slot_take_all(&s, RXC_SLOT_BULK), NR - 11);
	KUNIT_EXPECT_EQ(test, slot_take_all(&s, RXC_SLOT_NORMAL), 8);
	KUNIT_EXPECT_EQ(test, slot_take_all(&s, RXC_SLOT_URGENT), 2);
	KUNIT_EXPECT_EQ(test, slot_take_all(&s, RXC_SLOT_EVENT), 1);
	KUNIT_EXPECT_EQ(test, slot_get(&s, RXC_SLOT_EVENT), -EAGAIN);
	rxc_slots_destroy(&s);
}

/*
 * Connections take turns, and each gives its lowest free slot.  A connection without a free
 * slot must be passed over.
 */
static void slot_spread(struct kunit *test)
{
	static const int want[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct rxc_slots s = {};
	int i, n;

	KUNIT_ASSERT_EQ(test, rxc_slots_init(&s, NR), 0);
	/* With one connection the same slot is used each time. */
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, slot_get(&s, RXC_SLOT_NORMAL), 0);
		rxc_slots_put(&s, 0);
	}
	rxc_slots_spread(&s, NR, 4);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		n = slot_get(&s, RXC_SLOT_EVENT);
		KUNIT_EXPECT_EQ(test, n, want[i]);
	}
	/* One call at a time still goes round the connections, in four slots. */
	for (i = 0; i < ARRAY_SIZE(want); i++)
		rxc_slots_put(&s, want[i]);
	for (i = 0; i < 12; i++) {
		n = slot_get(&s, RXC_SLOT_EVENT);
		KUNIT_EXPECT_EQ(test, n, i % 4);
		rxc_slots_put(&s, n);
	}
	/* A connection without a free slot is passed over. */
	KUNIT_EXPECT_EQ(test, slot_take_all(&s, RXC_SLOT_EVENT), NR);
	rxc_slots_put(&s, 8);
	rxc_slots_put(&s, 4);
	rxc_slots_put(&s, 5);
	n = slot_get(&s, RXC_SLOT_EVENT);
	KUNIT_EXPECT_EQ(test, n, 4);
	n = slot_get(&s, RXC_SLOT_EVENT);
	KUNIT_EXPECT_EQ(test, n, 5);
	n = slot_get(&s, RXC_SLOT_EVENT);
	KUNIT_EXPECT_EQ(test, n, 8);
	KUNIT_EXPECT_EQ(test, slot_get(&s, RXC_SLOT_EVENT), -EAGAIN);
	rxc_slots_destroy(&s);
}

/* With any number of connections each slot must be carried by exactly one. */
static void slot_carried(struct kunit *test)
{
	struct rxc_slots s = {};
	u32 conns, i, sum;

	KUNIT_ASSERT_EQ(test, rxc_slots_init(&s, 67), 0);
	for (conns = 1; conns <= RDMAFS_XPRT_CONNS_MAX; conns++) {
		u32 of[RDMAFS_XPRT_CONNS_MAX] = {};

		rxc_slots_spread(&s, 67, conns);
		KUNIT_EXPECT_EQ(test, slot_take_all(&s, RXC_SLOT_EVENT), 67);
		for (i = 0; i < 67; i++) {
			of[i % conns]++;
			rxc_slots_put(&s, i);
		}
		for (i = 0, sum = 0; i < conns; i++) {
			KUNIT_EXPECT_EQ(test, rxp_slots_carried(67, i, conns), of[i]);
			sum += of[i];
		}
		KUNIT_EXPECT_EQ(test, sum, 67);
	}
	rxc_slots_destroy(&s);
}

/*
 * The number of slots is lowered while slots are in use.  Those above must not be given out
 * when they are put, until there are more slots again.
 */
static void slot_fewer(struct kunit *test)
{
	struct rxc_slots s = {};
	int i;

	KUNIT_ASSERT_EQ(test, rxc_slots_init(&s, 2 * NR), 0);
	for (i = 0; i < NR + 4; i++)
		KUNIT_ASSERT_EQ(test, slot_get(&s, RXC_SLOT_EVENT), i);
	rxc_slots_spread(&s, NR, 3);
	KUNIT_EXPECT_EQ(test, s.free, 0);
	for (i = 0; i < 4; i++)
		rxc_slots_put(&s, NR + i);
	KUNIT_EXPECT_EQ(test, s.free, 0);
	KUNIT_EXPECT_EQ(test, slot_get(&s, RXC_SLOT_EVENT), -EAGAIN);
	for (i = 0; i < NR; i++)
		rxc_slots_put(&s, i);
	KUNIT_EXPECT_EQ(test, s.free, NR);
	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_LT(test, slot_get(&s, RXC_SLOT_EVENT), NR);
	KUNIT_EXPECT_EQ(test, slot_get(&s, RXC_SLOT_EVENT), -EAGAIN);
	rxc_slots_spread(&s, 2 * NR, 1);
	KUNIT_EXPECT_EQ(test, s.free, NR);
	KUNIT_EXPECT_EQ(test, slot_get(&s, RXC_SLOT_EVENT), NR);
	rxc_slots_destroy(&s);
}

struct slot_thread {
	struct rxc_slots *s;
	enum rxc_slot_kind kind;
	int got;
	struct completion done;
};

static int slot_wait(void *data)
{
	struct slot_thread *t = data;

	t->got = rxc_slots_get_since(t->s, t->kind, false, rxc_slots_dismissals(t->s));
	complete(&t->done);
	return 0;
}

static void slot_start(struct kunit *test, struct slot_thread *t, struct rxc_slots *s,
		       enum rxc_slot_kind kind)
{
	u64 waits = READ_ONCE(s->waits);
	struct task_struct *task;

	t->s = s;
	t->kind = kind;
	t->got = -1;
	init_completion(&t->done);
	task = kthread_run(slot_wait, t, "slot-wait");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	while (READ_ONCE(s->waits) == waits)
		usleep_range(100, 1000);
}

static bool slot_got(struct slot_thread *t)
{
	return wait_for_completion_timeout(&t->done, 10 * HZ);
}

/*
 * So many slots must be free, and so many calls of a kind must wait, right after a put: a
 * thread that was given a slot may take long to say so.
 */
static void slot_left(struct kunit *test, struct rxc_slots *s, u32 free, enum rxc_slot_kind kind,
		      u32 waiting)
{
	u32 nr, waiters;

	spin_lock_bh(&s->lock);
	nr = s->free;
	waiters = list_count_nodes(&s->waiters[kind]);
	spin_unlock_bh(&s->lock);
	KUNIT_EXPECT_EQ(test, nr, free);
	KUNIT_EXPECT_EQ(test, waiters, waiting);
}

/*
 * Calls of each kind wait for a slot.  The call that an EVENT asks for must get the first one, an
 * urgent call one if another is left, and the others get one only if three are left, in the order
 * in which they came.
 */
static void slot_order(struct kunit *test)
{
	struct slot_thread first, second, bulk, urgent, event;
	struct rxc_slots s = {};
	int i;

	KUNIT_ASSERT_EQ(test, rxc_slots_init(&s, NR), 0);
	KUNIT_ASSERT_EQ(test, slot_take_all(&s, RXC_SLOT_EVENT), NR);
	slot_start(test, &first, &s, RXC_SLOT_NORMAL);
	slot_start(test, &bulk, &s, RXC_SLOT_BULK);
	slot_start(test, &second, &s, RXC_SLOT_NORMAL);
	slot_start(test, &urgent, &s, RXC_SLOT_URGENT);
	slot_start(test, &event, &s, RXC_SLOT_EVENT);

	rxc_slots_put(&s, 0);
	KUNIT_EXPECT_TRUE(test, slot_got(&event));
	KUNIT_EXPECT_EQ(test, event.got, 0);
	rxc_slots_put(&s, 1);
	slot_left(test, &s, 1, RXC_SLOT_URGENT, 1);
	rxc_slots_put(&s, 2);
	slot_left(test, &s, 1, RXC_SLOT_URGENT, 0);
	KUNIT_EXPECT_TRUE(test, slot_got(&urgent));
	KUNIT_EXPECT_EQ(test, urgent.got, 1);
	for (i = 3; i <= 4; i++)
		rxc_slots_put(&s, i);
	slot_left(test, &s, 3, RXC_SLOT_NORMAL, 2);
	slot_left(test, &s, 3, RXC_SLOT_BULK, 1);
	rxc_slots_put(&s, 5);
	slot_left(test, &s, 3, RXC_SLOT_NORMAL, 1);
	slot_left(test, &s, 3, RXC_SLOT_BULK, 1);
	KUNIT_EXPECT_TRUE(test, slot_got(&first));
	rxc_slots_put(&s, 6);
	slot_left(test, &s, 3, RXC_SLOT_NORMAL, 1);
	slot_left(test, &s, 3, RXC_SLOT_BULK, 0);
	KUNIT_EXPECT_TRUE(test, slot_got(&bulk));
	rxc_slots_put(&s, 7);
	slot_left(test, &s, 3, RXC_SLOT_NORMAL, 0);
	KUNIT_EXPECT_TRUE(test, slot_got(&second));
	for (i = 8; i < NR; i++)
		rxc_slots_put(&s, i);
	slot_left(test, &s, 3 + NR - 8, RXC_SLOT_NORMAL, 0);
	rxc_slots_destroy(&s);
}

/*
 * Calls that are not large WRITEs keep all slots busy that they may have, and there are always more
 * of them.  A large WRITE that waits must get the next slot nevertheless.
 */
static void slot_bulk_beside_busy(struct kunit *test)
{
	struct slot_thread bulk, normal;
	struct rxc_slots s = {};

	KUNIT_ASSERT_EQ(test, rxc_slots_init(&s, NR), 0);
	KUNIT_ASSERT_EQ(test, slot_take_all(&s, RXC_SLOT_NORMAL), NR - 3);
	slot_start(test, &bulk, &s, RXC_SLOT_BULK);
	slot_start(test, &normal, &s, RXC_SLOT_NORMAL);
	rxc_slots_put(&s, 0);
	slot_left(test, &s, 3, RXC_SLOT_BULK, 0);
	slot_left(test, &s, 3, RXC_SLOT_NORMAL, 1);
	KUNIT_EXPECT_EQ(test, slot_get(&s, RXC_SLOT_NORMAL), -EAGAIN);
	rxc_slots_put(&s, 1);
	slot_left(test, &s, 3, RXC_SLOT_NORMAL, 0);
	/* If one of them was not served it has to be sent away before its account goes. */
	rxc_slots_shutdown(&s, -ESHUTDOWN);
	KUNIT_EXPECT_TRUE(test, slot_got(&bulk));
	KUNIT_EXPECT_EQ(test, bulk.got, 0);
	KUNIT_EXPECT_TRUE(test, slot_got(&normal));
	KUNIT_EXPECT_EQ(test, normal.got, 1);
	rxc_slots_destroy(&s);
}

/*
 * Large WRITEs have all slots that they may have, and one more waits.  Calls that come later must
 * pass it, those that find a slot and those that wait for one; and it gets the slot of a large
 * WRITE, before calls that came after it.
 */
static void slot_bulk_bound(struct kunit *test)
{
	struct slot_thread bulk, normal, last;
	struct rxc_slots s = {};
	int i;

	KUNIT_ASSERT_EQ(test, rxc_slots_init(&s, NR), 0);
	KUNIT_ASSERT_EQ(test, slot_take_all(&s, RXC_SLOT_BULK), NR - 11);
	slot_start(test, &bulk, &s, RXC_SLOT_BULK);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, slot_get(&s, RXC_SLOT_NORMAL), NR - 11 + i);
	slot_start(test, &normal, &s, RXC_SLOT_NORMAL);
	slot_start(test, &last, &s, RXC_SLOT_NORMAL);
	rxc_slots_put(&s, NR - 11);
	slot_left(test, &s, 3, RXC_SLOT_BULK, 1);
	slot_left(test, &s, 3, RXC_SLOT_NORMAL, 1);
	rxc_slots_put(&s, 0);
	slot_left(test, &s, 3, RXC_SLOT_BULK, 0);
	slot_left(test, &s, 3, RXC_SLOT_NORMAL, 1);
	rxc_slots_put(&s, 1);
	slot_left(test, &s, 3, RXC_SLOT_NORMAL, 0);
	rxc_slots_shutdown(&s, -ESHUTDOWN);
	KUNIT_EXPECT_TRUE(test, slot_got(&bulk));
	KUNIT_EXPECT_EQ(test, bulk.got, 0);
	KUNIT_EXPECT_TRUE(test, slot_got(&normal));
	KUNIT_EXPECT_EQ(test, normal.got, NR - 11);
	KUNIT_EXPECT_TRUE(test, slot_got(&last));
	KUNIT_EXPECT_EQ(test, last.got, 1);
	rxc_slots_destroy(&s);
}

/* Retired slots that large WRITEs have must not count as theirs, until there are more again. */
static void slot_bulk_fewer(struct kunit *test)
{
	struct rxc_slots s = {};
	int i;

	KUNIT_ASSERT_EQ(test, rxc_slots_init(&s, 2 * NR), 0);
	KUNIT_ASSERT_EQ(test, slot_take_all(&s, RXC_SLOT_BULK), 2 * NR - 11);
	rxc_slots_spread(&s, NR, 1);
	KUNIT_EXPECT_EQ(test, s.bulk, NR);
	for (i = 0; i < NR; i++)
		rxc_slots_put(&s, i);
	KUNIT_EXPECT_EQ(test, s.bulk, 0);
	KUNIT_EXPECT_EQ(test, slot_take_all(&s, RXC_SLOT_BULK), NR - 11);
	/* One of the retired ones comes back, and the others are in use again. */
	rxc_slots_put(&s, NR);
	KUNIT_EXPECT_EQ(test, s.bulk, NR - 11);
	rxc_slots_spread(&s, 2 * NR, 1);
	KUNIT_EXPECT_EQ(test, s.bulk, NR - 11 + NR - 11 - 1);
	KUNIT_EXPECT_EQ(test, slot_take_all(&s, RXC_SLOT_BULK), 2 * NR - 11 - (2 * NR - 23));
	rxc_slots_destroy(&s);
}

struct slot_turn {
	struct rxc_slot_waiter waiter;
	int came;
};

static void slot_turn_came(struct rxc_slot_waiter *waiter)
{
	container_of(waiter, struct slot_turn, waiter)->came++;
}

/* Who does not sleep must keep its place in line, be told of its turn, and have its slot then. */
static void slot_turn(struct kunit *test)
{
	struct slot_thread normal;
	struct rxc_slots s = {};
	struct slot_turn t = {};

	KUNIT_ASSERT_EQ(test, rxc_slots_init(&s, NR), 0);
	rxc_slots_turn_init(&t.waiter, slot_turn_came);
	KUNIT_ASSERT_EQ(test, slot_take_all(&s, RXC_SLOT_NORMAL), NR - 3);
	KUNIT_EXPECT_EQ(test, rxc_slots_get_turn(&s, RXC_SLOT_BULK, &t.waiter), -EAGAIN);
	slot_start(test, &normal, &s, RXC_SLOT_NORMAL);
	KUNIT_EXPECT_EQ(test, rxc_slots_get_turn(&s, RXC_SLOT_BULK, &t.waiter), -EAGAIN);
	slot_left(test, &s, 3, RXC_SLOT_BULK, 1);
	KUNIT_EXPECT_EQ(test, t.came, 0);
	rxc_slots_put(&s, 3);
	KUNIT_EXPECT_EQ(test, t.came, 1);
	slot_left(test, &s, 3, RXC_SLOT_BULK, 0);
	slot_left(test, &s, 3, RXC_SLOT_NORMAL, 1);
	KUNIT_EXPECT_EQ(test, s.bulk, 1);
	KUNIT_EXPECT_EQ(test, rxc_slots_get_turn(&s, RXC_SLOT_BULK, &t.waiter), 3);
	rxc_slots_put(&s, 3);
	slot_left(test, &s, 3, RXC_SLOT_NORMAL, 0);
	KUNIT_EXPECT_EQ(test, s.bulk, 0);
	rxc_slots_shutdown(&s, -ESHUTDOWN);
	KUNIT_EXPECT_TRUE(test, slot_got(&normal));
	KUNIT_EXPECT_EQ(test, normal.got, 3);
	KUNIT_EXPECT_EQ(test, t.came, 1);
	KUNIT_EXPECT_EQ(test, rxc_slots_get_turn(&s, RXC_SLOT_BULK, &t.waiter), -ESHUTDOWN);
	rxc_slots_destroy(&s);
}

/* Who leaves the line must not get a slot, and a slot that nobody took must be free again. */
static void slot_turn_ends(struct kunit *test)
{
	struct rxc_slots s = {};
	struct slot_turn t = {};

	KUNIT_ASSERT_EQ(test, rxc_slots_init(&s, NR), 0);
	rxc_slots_turn_init(&t.waiter, slot_turn_came);
	KUNIT_ASSERT_EQ(test, slot_take_all(&s, RXC_SLOT_NORMAL), NR - 3);
	KUNIT_EXPECT_EQ(test, rxc_slots_get_turn(&s, RXC_SLOT_BULK, &t.waiter), -EAGAIN);
	rxc_slots_put(&s, 0);
	KUNIT_EXPECT_EQ(test, t.came, 1);
	rxc_slots_end_turn(&s, &t.waiter);
	slot_left(test, &s, 4, RXC_SLOT_BULK, 0);
	KUNIT_EXPECT_EQ(test, s.bulk, 0);
	rxc_slots_end_turn(&s, &t.waiter);
	slot_left(test, &s, 4, RXC_SLOT_BULK, 0);

	KUNIT_EXPECT_EQ(test, slot_get(&s, RXC_SLOT_NORMAL), 0);
	KUNIT_EXPECT_EQ(test, rxc_slots_get_turn(&s, RXC_SLOT_BULK, &t.waiter), -EAGAIN);
	rxc_slots_end_turn(&s, &t.waiter);
	rxc_slots_put(&s, 0);
	KUNIT_EXPECT_EQ(test, t.came, 1);
	slot_left(test, &s, 4, RXC_SLOT_BULK, 0);

	/* Who is dismissed has to ask again. */
	KUNIT_EXPECT_EQ(test, slot_get(&s, RXC_SLOT_NORMAL), 0);
	KUNIT_EXPECT_EQ(test, rxc_slots_get_turn(&s, RXC_SLOT_BULK, &t.waiter), -EAGAIN);
	rxc_slots_dismiss_all(&s);
	KUNIT_EXPECT_EQ(test, t.came, 2);
	slot_left(test, &s, 3, RXC_SLOT_BULK, 0);
	KUNIT_EXPECT_EQ(test, rxc_slots_get_turn(&s, RXC_SLOT_BULK, &t.waiter), -EAGAIN);
	slot_left(test, &s, 3, RXC_SLOT_BULK, 1);
	rxc_slots_shutdown(&s, -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, t.came, 3);
	rxc_slots_destroy(&s);
}

/* A shutdown must end a waiting call, and refuse new ones. */
static void slot_shutdown(struct kunit *test)
{
	struct slot_thread waiting;
	struct rxc_slots s = {};

	KUNIT_ASSERT_EQ(test, rxc_slots_init(&s, NR), 0);
	slot_take_all(&s, RXC_SLOT_EVENT);
	slot_start(test, &waiting, &s, RXC_SLOT_NORMAL);
	rxc_slots_shutdown(&s, -ESHUTDOWN);
	KUNIT_EXPECT_TRUE(test, slot_got(&waiting));
	KUNIT_EXPECT_EQ(test, waiting.got, -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, rxc_slots_get_since(&s, RXC_SLOT_EVENT, false,
						  rxc_slots_dismissals(&s)), -ESHUTDOWN);
	rxc_slots_destroy(&s);
}

static struct kunit_case slot_cases[] = {
	KUNIT_CASE(slot_bulk_max),
	KUNIT_CASE(slot_reserve),
	KUNIT_CASE(slot_spread),
	KUNIT_CASE(slot_carried),
	KUNIT_CASE(slot_fewer),
	KUNIT_CASE(slot_order),
	KUNIT_CASE(slot_bulk_beside_busy),
	KUNIT_CASE(slot_bulk_bound),
	KUNIT_CASE(slot_bulk_fewer),
	KUNIT_CASE(slot_turn),
	KUNIT_CASE(slot_turn_ends),
	KUNIT_CASE(slot_shutdown),
	{}
};

static struct kunit_suite slot_suite = {
	.name = "rdmafs_xprt_slot",
	.test_cases = slot_cases,
};

kunit_test_suite(slot_suite);
