// SPDX-License-Identifier: GPL-2.0
/*
 * Sending, on a device that does nothing but take note: what is posted, when, what is
 * signaled, and that each chain is given back once, whatever the device says or fails
 * to say.
 */
#include <kunit/test.h>
#include <linux/blkdev.h>
#include "transport/internal.h"

#define ROOM		16
#define QUIET_MAX	4
#define SGE		6
#define LOG		32

/* A work request as the device saw it. */
struct send_seen {
	enum ib_wr_opcode opcode;
	struct ib_cqe *cqe;		/* NULL: not signaled */
	struct ib_cqe *err_cqe;
	int nr_sge;
	u32 bytes;
	u64 first;			/* address of its first byte */
	int doorbell;
};

struct send_stage {
	struct ib_device ib;
	struct ib_pd pd;
	struct ib_qp qp;
	struct rxp_device rdev;
	struct rxp_pool pool;
	struct rxp_stats stats;
	struct rxp_conn conn;
	struct send_seen seen[LOG];
	int nr_seen;
	int doorbells;
	int fail_at;			/* this doorbell's first work request is taken, no more */
	int lost;			/* times that the connection was lost */
	int rooms;			/* times that a buffer was said to be free */
	int refs;
};

/* A message, or an RDMA WRITE and a message. */
struct send_msg {
	struct rxp_chain chain;
	struct ib_rdma_wr write;
	struct ib_send_wr send;
	struct ib_sge sge[2];
	int done;
	bool ok;
};

/* Of this suite's connections; the counts of others, on a stage of theirs, go to waste. */
static struct send_stage *send_stage_of(struct rxp_conn *conn)
{
	static struct send_stage others;

	return conn->owner ?: &others;
}

/* What send.c wants of conn.c. */
void rxp_conn_lost(struct rxp_conn *conn)
{
	send_stage_of(conn)->lost++;
}

void rxp_conn_get(struct rxp_conn *conn)
{
	send_stage_of(conn)->refs++;
}

void rxp_conn_put(struct rxp_conn *conn)
{
	send_stage_of(conn)->refs--;
}

static int send_fake_post(struct ib_qp *qp, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad)
{
	struct send_stage *st = container_of(qp, struct send_stage, qp);
	int doorbell = ++st->doorbells, n = 0, i;

	for (; wr; wr = wr->next, n++) {
		struct send_seen *seen = &st->seen[st->nr_seen];

		if (doorbell == st->fail_at && n == 1)
			break;
		if (st->nr_seen == LOG)
			return -ENOMEM;
		st->nr_seen++;
		seen->opcode = wr->opcode;
		seen->cqe = wr->send_flags & IB_SEND_SIGNALED ? wr->wr_cqe : NULL;
		seen->err_cqe = wr->wr_cqe;
		seen->nr_sge = wr->num_sge;
		seen->doorbell = doorbell;
		seen->first = wr->num_sge ? wr->sg_list[0].addr : 0;
		seen->bytes = 0;
		for (i = 0; i < wr->num_sge; i++)
			seen->bytes += wr->sg_list[i].length;
	}
	*bad = wr;
	return doorbell == st->fail_at ? -EINVAL : 0;
}

static int send_init(struct kunit *test)
{
	struct send_stage *st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);

	if (!st)
		return -ENOMEM;
	st->stats.v = __alloc_percpu(sizeof(u64) * RXP_NR_STATS, __alignof__(u64));
	if (!st->stats.v)
		return -ENOMEM;
	st->ib.ops.post_send = send_fake_post;
	st->qp.device = &st->ib;
	st->rdev.ib = &st->ib;
	st->pool.pd = &st->pd;
	st->conn.owner = st;
	st->conn.qp = &st->qp;
	st->conn.rdev = &st->rdev;
	st->conn.pool = &st->pool;
	st->conn.stats = &st->stats;
	st->conn.sq_free = ROOM;
	st->conn.sq_quiet_max = QUIET_MAX;
	st->conn.send_sge = SGE;
	st->conn.cm.recv_size = cpu_to_le32(RXP_MSG_MAX);
	rxp_send_limit(&st->conn);
	rxp_send_init(&st->conn);
	test->priv = st;
	return 0;
}

static void send_exit(struct kunit *test)
{
	struct send_stage *st = test->priv;

	if (st)
		free_percpu(st->stats.v);
}

static void send_done(struct rxp_chain *chain, bool ok)
{
	struct send_msg *m = container_of(chain, struct send_msg, chain);

	m->done++;
	m->ok = ok;
}

/* A SEND of @bytes, its address @id; after an RDMA WRITE if @write. */
static void send_make(struct send_msg *m, u64 id, u32 bytes, bool write)
{
	memset(m, 0, sizeof(*m));
	m->sge[0].addr = id;
	m->sge[0].length = bytes;
	rxp_chain_init(&m->chain, send_done);
	if (write) {
		m->sge[1].addr = id + 1;
		m->sge[1].length = 2 * PAGE_SIZE;
		m->write.wr.opcode = IB_WR_RDMA_WRITE;
		m->write.wr.sg_list = &m->sge[1];
		m->write.wr.num_sge = 1;
		rxp_chain_add(&m->chain, &m->write.wr);
	}
	rxp_fill_send(&m->send, m->sge, 1, 0);
	rxp_chain_add(&m->chain, &m->send);
}

static struct send_msg *send_msgs(struct kunit *test, int n, u32 bytes, bool write)
{
	struct send_msg *m = kunit_kcalloc(test, n, sizeof(*m), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	for (i = 0; i < n; i++)
		send_make(&m[i], 100 * (i + 1), bytes, write);
	return m;
}

static void send_complete(struct send_stage *st, struct ib_cqe *cqe, enum ib_wc_status status)
{
	struct ib_wc wc = { .wr_cqe = cqe, .status = status };

	cqe->done(NULL, &wc);
}

/* What has no room waits its turn; nothing overtakes it. */
static void send_room(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, 4, 64, true);
	int i;

	st->conn.sq_free = 5;
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, rxp_post(&st->conn, &m[i].chain), 0);
	/* There would be room for a message by itself. */
	send_make(&m[3], 400, 64, false);
	KUNIT_EXPECT_EQ(test, rxp_post(&st->conn, &m[3].chain), 0);
	KUNIT_EXPECT_EQ(test, st->nr_seen, 4);
	KUNIT_EXPECT_EQ(test, st->conn.sq_free, 1);

	KUNIT_EXPECT_PTR_EQ(test, st->seen[1].cqe, &m[0].chain.cqe);
	send_complete(st, st->seen[1].cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, m[0].done, 1);
	KUNIT_EXPECT_TRUE(test, m[0].ok);
	KUNIT_EXPECT_EQ(test, st->nr_seen, 7);
	KUNIT_EXPECT_EQ(test, st->seen[5].first, 300);
	KUNIT_EXPECT_EQ(test, st->seen[6].first, 400);
	KUNIT_EXPECT_EQ(test, st->conn.sq_free, 0);
	KUNIT_EXPECT_EQ(test, m[1].done + m[2].done + m[3].done, 0);

	send_complete(st, &m[1].chain.cqe, IB_WC_SUCCESS);
	send_complete(st, &m[2].chain.cqe, IB_WC_SUCCESS);
	send_complete(st, &m[3].chain.cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, st->conn.sq_free, 5);
	rxp_send_end(&st->conn);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, m[i].done, 1);
	KUNIT_EXPECT_EQ(test, st->lost, 0);
}

/* Quiet ones are over when posted; each QUIET_MAX-th frees the room of all. */
static void send_quiet(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, ROOM + 1, 64, false);
	int i;

	for (i = 0; i <= ROOM; i++) {
		rxp_chain_quiet(&st->conn, &m[i].chain, 64);
		KUNIT_EXPECT_TRUE(test, m[i].chain.quiet);
		KUNIT_EXPECT_EQ(test, rxp_post(&st->conn, &m[i].chain), 0);
		KUNIT_EXPECT_EQ(test, m[i].done, i < ROOM ? 1 : 0);
		if (i < ROOM)
			KUNIT_EXPECT_PTR_EQ(test, st->seen[i].cqe, i % QUIET_MAX == QUIET_MAX - 1 ?
					    &st->conn.quiet_cqe : NULL);
	}
	KUNIT_EXPECT_EQ(test, st->nr_seen, ROOM);
	send_complete(st, &st->conn.quiet_cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, st->nr_seen, ROOM + 1);
	KUNIT_EXPECT_EQ(test, m[ROOM].done, 1);
	KUNIT_EXPECT_EQ(test, st->conn.sq_free, QUIET_MAX - 1);
	/* A signaled one that comes behind three quiet ones frees their room, too. */
	send_make(&m[0], 1, 64, true);
	KUNIT_EXPECT_EQ(test, rxp_post(&st->conn, &m[0].chain), 0);
	KUNIT_EXPECT_EQ(test, m[0].chain.frees, 3);
	rxp_send_end(&st->conn);
	KUNIT_EXPECT_EQ(test, m[0].done, 1);
	KUNIT_EXPECT_FALSE(test, m[0].ok);
}

/* What the device, or who waits for room, is to be done with next; the quiet do not count. */
static void send_oldest(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, 4, 64, true);
	u64 oldest[3];

	KUNIT_EXPECT_EQ(test, rxp_send_oldest(&st->conn), 0);
	send_make(&m[3], 400, 64, false);
	rxp_chain_quiet(&st->conn, &m[3].chain, 64);
	KUNIT_EXPECT_EQ(test, rxp_post(&st->conn, &m[3].chain), 0);
	KUNIT_EXPECT_EQ(test, rxp_send_oldest(&st->conn), 0);
	st->conn.sq_free = 2;
	rxp_post(&st->conn, &m[0].chain);
	oldest[0] = rxp_send_oldest(&st->conn);
	KUNIT_EXPECT_NE(test, oldest[0], 0);
	rxp_post(&st->conn, &m[1].chain);
	KUNIT_EXPECT_EQ(test, rxp_send_oldest(&st->conn), oldest[0]);
	send_complete(st, &m[0].chain.cqe, IB_WC_SUCCESS);
	oldest[1] = rxp_send_oldest(&st->conn);
	KUNIT_EXPECT_NE(test, oldest[1], oldest[0]);
	/* The same memory once more is another chain, and waits for room. */
	send_make(&m[0], 100, 64, true);
	st->conn.sq_free = 0;
	rxp_post(&st->conn, &m[0].chain);
	send_complete(st, &m[1].chain.cqe, IB_WC_SUCCESS);
	oldest[2] = rxp_send_oldest(&st->conn);
	KUNIT_EXPECT_NE(test, oldest[2], 0);
	KUNIT_EXPECT_NE(test, oldest[2], oldest[0]);
	KUNIT_EXPECT_NE(test, oldest[2], oldest[1]);
	send_complete(st, &m[0].chain.cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, rxp_send_oldest(&st->conn), 0);
}

/* One that was handed over long ago stands, unless something has moved; in the end it does. */
static void send_stands(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, 2, 64, true);
	unsigned long now = jiffies;

	st->conn.moved = now - 90;
	KUNIT_EXPECT_FALSE(test, rxp_send_stands(&st->conn, now, now));
	st->conn.sq_free = 2;
	rxp_post(&st->conn, &m[0].chain);
	rxp_post(&st->conn, &m[1].chain);
	m[0].chain.since = now - 50;
	m[1].chain.since = now - 40;
	KUNIT_EXPECT_FALSE(test, rxp_send_stands(&st->conn, now - 50, now - 90));
	KUNIT_EXPECT_TRUE(test, rxp_send_stands(&st->conn, now - 49, now - 90));
	/* An RDMA WRITE of it, where each has a completion. */
	send_complete(st, &st->conn.err_cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, rxp_send_stands(&st->conn, now - 10, now - 50));
	KUNIT_EXPECT_TRUE(test, rxp_send_stands(&st->conn, now - 10, now - 49));
	/* And the whole of it: what stands behind it has waited, but not stood. */
	st->conn.moved = now - 90;
	send_complete(st, &m[0].chain.cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, rxp_send_stands(&st->conn, now - 10, now - 40));
	st->conn.moved = now - 20;
	KUNIT_EXPECT_TRUE(test, rxp_send_stands(&st->conn, now - 10, now - 40));
	send_complete(st, &m[1].chain.cqe, IB_WC_SUCCESS);
	st->conn.moved = now - 20;
	KUNIT_EXPECT_FALSE(test, rxp_send_stands(&st->conn, now, now));
}

/* The device is gone, and never said what became of anything. */
static void send_no_completion(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, 3, 64, true);
	int i;

	st->conn.sq_free = 4;
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, rxp_post(&st->conn, &m[i].chain), 0);
	KUNIT_EXPECT_EQ(test, st->nr_seen, 4);
	st->conn.state = RXP_CONN_DEAD;
	KUNIT_EXPECT_EQ(test, rxp_post(&st->conn, &m[0].chain), -ENOTCONN);
	rxp_send_end(&st->conn);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, m[i].done, 1);
		KUNIT_EXPECT_FALSE(test, m[i].ok);
	}
	rxp_send_end(&st->conn);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, m[i].done, 1);
}

/* A completion that says no ends the connection, and posts nothing more. */
static void send_failed(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, 3, 64, true);
	int i;

	st->conn.sq_free = 4;
	for (i = 0; i < 3; i++)
		rxp_post(&st->conn, &m[i].chain);
	/* Of the RDMA WRITE, which nobody asked to hear of, and then of the chain. */
	send_complete(st, st->seen[0].err_cqe, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, st->lost, 1);
	KUNIT_EXPECT_EQ(test, m[0].done, 0);
	send_complete(st, st->seen[1].cqe, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, m[0].done, 1);
	KUNIT_EXPECT_FALSE(test, m[0].ok);
	KUNIT_EXPECT_EQ(test, st->nr_seen, 4);
	st->conn.state = RXP_CONN_DEAD;
	/* siw says nothing of the second. */
	rxp_send_end(&st->conn);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, m[i].done, 1);
}

/* What the device takes in part only, or not at all, is its until it is gone. */
static void send_refused(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, 3, 64, true);
	struct blk_plug plug;
	int i;

	st->fail_at = 1;
	KUNIT_EXPECT_EQ(test, rxp_post(&st->conn, &m[0].chain), 0);
	KUNIT_EXPECT_EQ(test, st->lost, 1);
	KUNIT_EXPECT_EQ(test, m[0].done, 0);

	send_make(&m[1], 1, 64, false);
	send_make(&m[2], 2, 64, false);
	rxp_chain_quiet(&st->conn, &m[1].chain, 64);
	rxp_chain_quiet(&st->conn, &m[2].chain, 64);
	st->fail_at = 2;
	blk_start_plug(&plug);
	KUNIT_EXPECT_EQ(test, rxp_post_plugged(&st->conn, &m[1].chain), 0);
	KUNIT_EXPECT_EQ(test, rxp_post_plugged(&st->conn, &m[2].chain), 0);
	blk_finish_plug(&plug);
	KUNIT_EXPECT_EQ(test, st->lost, 2);
	KUNIT_EXPECT_EQ(test, m[1].done + m[2].done, 0);

	st->conn.state = RXP_CONN_DEAD;
	rxp_send_end(&st->conn);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, m[i].done, 1);
		KUNIT_EXPECT_FALSE(test, m[i].ok);
	}
	KUNIT_EXPECT_EQ(test, st->refs, 0);
}

/* What a task plugs goes by one doorbell; small messages travel in one another. */
static void send_plugged(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, 10, 500, false);
	struct blk_plug plug;
	int i;

	send_make(&m[7], 800, 500, true);
	blk_start_plug(&plug);
	for (i = 0; i < 10; i++) {
		rxp_chain_quiet(&st->conn, &m[i].chain, 500);
		KUNIT_EXPECT_EQ(test, rxp_post_plugged(&st->conn, &m[i].chain), 0);
		KUNIT_EXPECT_EQ(test, m[i].done, 0);
	}
	KUNIT_EXPECT_EQ(test, st->doorbells, 0);
	KUNIT_EXPECT_EQ(test, st->conn.plugged, 1);
	/* A reference could be the last one, and who unplugs must not sleep. */
	KUNIT_EXPECT_EQ(test, st->refs, 0);
	blk_finish_plug(&plug);
	KUNIT_EXPECT_EQ(test, st->doorbells, 1);
	KUNIT_EXPECT_EQ(test, st->conn.plugged, 0);

	/* The WRITE, six entries, then one, the WRITE's SEND by itself, the last two. */
	KUNIT_ASSERT_EQ(test, st->nr_seen, 5);
	KUNIT_EXPECT_EQ(test, st->seen[0].opcode, IB_WR_RDMA_WRITE);
	KUNIT_EXPECT_EQ(test, st->seen[1].nr_sge, SGE);
	KUNIT_EXPECT_EQ(test, st->seen[1].bytes, SGE * 500);
	KUNIT_EXPECT_EQ(test, st->seen[1].first, 100);
	KUNIT_EXPECT_EQ(test, st->seen[2].first, 700);
	KUNIT_EXPECT_EQ(test, st->seen[2].nr_sge, 1);
	KUNIT_EXPECT_EQ(test, st->seen[3].first, 800);
	KUNIT_EXPECT_PTR_EQ(test, st->seen[3].cqe, &m[7].chain.cqe);
	KUNIT_EXPECT_EQ(test, st->seen[4].first, 900);
	KUNIT_EXPECT_EQ(test, st->seen[4].nr_sge, 2);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, m[i].done, i != 7);
	send_complete(st, &m[7].chain.cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, m[7].done, 1);
	KUNIT_EXPECT_EQ(test, st->conn.sq_free, ROOM - 1);
}

/* The data of a burst goes before its messages; what has no room keeps its place. */
static void send_data_first(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, 4, 64, true);
	struct blk_plug plug;
	int i;

	st->conn.sq_free = 7;
	blk_start_plug(&plug);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, rxp_post_plugged(&st->conn, &m[i].chain), 0);
	blk_finish_plug(&plug);
	KUNIT_EXPECT_EQ(test, st->doorbells, 1);
	KUNIT_ASSERT_EQ(test, st->nr_seen, 6);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, st->seen[i].opcode, IB_WR_RDMA_WRITE);
		KUNIT_EXPECT_EQ(test, st->seen[i].first, 100 * (i + 1) + 1);
		KUNIT_EXPECT_EQ(test, st->seen[3 + i].first, 100 * (i + 1));
		KUNIT_EXPECT_PTR_EQ(test, st->seen[3 + i].cqe, &m[i].chain.cqe);
	}
	KUNIT_EXPECT_EQ(test, st->conn.sq_free, 1);

	send_complete(st, &m[0].chain.cqe, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, st->nr_seen, 8);
	KUNIT_EXPECT_EQ(test, st->seen[6].first, 401);
	KUNIT_EXPECT_EQ(test, st->seen[7].first, 400);
	for (i = 1; i < 4; i++)
		send_complete(st, &m[i].chain.cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, st->conn.sq_free, 7);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, m[i].done, 1);
}

/* Much data does not wait until the task unplugs. */
static void send_plug_max(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, 3, 64, true);
	struct blk_plug plug;
	int i;

	blk_start_plug(&plug);
	for (i = 0; i < 3; i++) {
		m[i].sge[1].length = RXP_PLUG_MAX / 2;
		KUNIT_EXPECT_EQ(test, rxp_post_plugged(&st->conn, &m[i].chain), 0);
		KUNIT_EXPECT_EQ(test, st->nr_seen, i ? 4 : 0);
	}
	KUNIT_EXPECT_EQ(test, st->conn.plugged, 1);
	blk_finish_plug(&plug);
	KUNIT_EXPECT_EQ(test, st->nr_seen, 6);
	KUNIT_EXPECT_EQ(test, st->doorbells, 2);
	KUNIT_EXPECT_EQ(test, st->conn.plugged, 0);
	for (i = 0; i < 3; i++)
		send_complete(st, &m[i].chain.cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, st->conn.sq_free, ROOM);
}

/* No message is longer than a receive, nor, where pages go by reference, than a page. */
static void send_join_limit(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, 5, 2000, false);
	struct blk_plug plug;
	int i;

	blk_start_plug(&plug);
	for (i = 0; i < 3; i++) {
		rxp_chain_quiet(&st->conn, &m[i].chain, 2000);
		rxp_post_plugged(&st->conn, &m[i].chain);
	}
	blk_finish_plug(&plug);
	KUNIT_ASSERT_EQ(test, st->nr_seen, 2);
	KUNIT_EXPECT_EQ(test, st->seen[0].bytes, 4000);

	/* The peer's, however large: four of 4,096 bytes fill one to the last byte. */
	st->conn.cm.recv_size = cpu_to_le32(4 * PAGE_SIZE);
	rxp_send_limit(&st->conn);
	st->nr_seen = 0;
	blk_start_plug(&plug);
	for (i = 0; i < 5; i++) {
		send_make(&m[i], i, PAGE_SIZE, false);
		rxp_chain_quiet(&st->conn, &m[i].chain, PAGE_SIZE);
		rxp_post_plugged(&st->conn, &m[i].chain);
	}
	blk_finish_plug(&plug);
	KUNIT_ASSERT_EQ(test, st->nr_seen, 2);
	KUNIT_EXPECT_EQ(test, st->seen[0].bytes, 4 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, st->seen[1].bytes, PAGE_SIZE);

	st->conn.by_reference = true;
	rxp_send_limit(&st->conn);
	st->nr_seen = 0;
	blk_start_plug(&plug);
	for (i = 0; i < 2; i++) {
		send_make(&m[i], i, PAGE_SIZE / 2, false);
		rxp_chain_quiet(&st->conn, &m[i].chain, PAGE_SIZE / 2);
		rxp_post_plugged(&st->conn, &m[i].chain);
	}
	blk_finish_plug(&plug);
	KUNIT_EXPECT_EQ(test, st->nr_seen, 2);

	/* And no more than the peer's receives hold, where pages are larger than these. */
	st->conn.cm.recv_size = cpu_to_le32(PAGE_SIZE / 2);
	rxp_send_limit(&st->conn);
	st->nr_seen = 0;
	blk_start_plug(&plug);
	for (i = 0; i < 3; i++) {
		send_make(&m[i], i, PAGE_SIZE / 4, false);
		rxp_chain_quiet(&st->conn, &m[i].chain, PAGE_SIZE / 4);
		rxp_post_plugged(&st->conn, &m[i].chain);
	}
	blk_finish_plug(&plug);
	KUNIT_ASSERT_EQ(test, st->nr_seen, 2);
	KUNIT_EXPECT_EQ(test, st->seen[0].bytes, PAGE_SIZE / 2);
	st->conn.cm.recv_size = cpu_to_le32(4 * PAGE_SIZE);
	rxp_send_limit(&st->conn);

	/* A page, or an RDMA WRITE, would be sent when the chain is long given back. */
	send_make(&m[0], 1, PAGE_SIZE, false);
	rxp_chain_quiet(&st->conn, &m[0].chain, PAGE_SIZE);
	KUNIT_EXPECT_FALSE(test, m[0].chain.quiet);
	st->nr_seen = 0;
	send_make(&m[1], 2, 64, true);
	rxp_post(&st->conn, &m[1].chain);
	KUNIT_EXPECT_PTR_EQ(test, st->seen[0].cqe, &st->conn.err_cqe);
	send_complete(st, st->seen[0].cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, m[1].done, 0);
	rxp_send_end(&st->conn);
	KUNIT_EXPECT_EQ(test, m[1].done, 1);
}

/* A plug that is pulled when the connection is gone gives everything back. */
static void send_plug_dead(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, 3, 64, false);
	struct blk_plug plug;
	int i;

	blk_start_plug(&plug);
	for (i = 0; i < 2; i++) {
		rxp_chain_quiet(&st->conn, &m[i].chain, 64);
		KUNIT_EXPECT_EQ(test, rxp_post_plugged(&st->conn, &m[i].chain), 0);
	}
	st->conn.state = RXP_CONN_DEAD;
	KUNIT_EXPECT_EQ(test, rxp_post_plugged(&st->conn, &m[2].chain), -ENOTCONN);
	blk_finish_plug(&plug);
	KUNIT_EXPECT_EQ(test, st->nr_seen, 0);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, m[i].done, 1);
		KUNIT_EXPECT_FALSE(test, m[i].ok);
	}
	KUNIT_EXPECT_EQ(test, m[2].done, 0);
	KUNIT_EXPECT_EQ(test, st->conn.plugged, 0);
}

/* One that is made when the connection is dead does not look at it any more: it may be gone. */
static void send_plug_gone(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, 1, 64, false);
	struct rxp_conn *was = kunit_kmalloc(test, sizeof(*was), GFP_KERNEL);
	struct blk_plug plug;

	KUNIT_ASSERT_NOT_NULL(test, was);
	st->conn.state = RXP_CONN_DEAD;
	blk_start_plug(&plug);
	rxp_chain_quiet(&st->conn, &m[0].chain, 64);
	KUNIT_EXPECT_EQ(test, rxp_post_plugged(&st->conn, &m[0].chain), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, st->conn.plugged, 0);
	KUNIT_EXPECT_EQ(test, st->refs, 0);
	memcpy(was, &st->conn, sizeof(*was));
	blk_finish_plug(&plug);
	KUNIT_EXPECT_EQ(test, m[0].done, 0);
	KUNIT_EXPECT_MEMEQ(test, &st->conn, was, sizeof(*was));
}

static void send_ctl_room(struct rxp_conn *conn)
{
	container_of(conn, struct send_stage, conn)->rooms++;
}

static const struct rxp_conn_ops send_conn_ops = { .room = send_ctl_room };

/* Messages of no slot: as many as the peer has room for, each buffer once. */
static void send_control(struct kunit *test)
{
	struct send_stage *st = test->priv;
	u8 body[8] = {};
	int i;

	st->conn.ops = &send_conn_ops;
	KUNIT_ASSERT_EQ(test, rxp_ctl_init(&st->conn), 0);
	KUNIT_EXPECT_EQ(test, rxp_ctl_send(&st->conn, RXP_CONTROL, RXP_CONTROL_PING, body,
					   RXP_CTL_MSG), -EMSGSIZE);
	for (i = 0; i < RXP_RECV_RESERVE; i++)
		KUNIT_EXPECT_EQ(test, rxp_ctl_send(&st->conn, RXP_CONTROL, RXP_CONTROL_PING, body,
						   sizeof(body)), 0);
	KUNIT_EXPECT_EQ(test, rxp_ctl_send(&st->conn, RXP_CONTROL, RXP_CONTROL_PING, body,
					   sizeof(body)), -EBUSY);
	rxp_ctl_rtr(&st->conn);
	KUNIT_ASSERT_EQ(test, st->nr_seen, RXP_RECV_RESERVE);
	KUNIT_EXPECT_EQ(test, st->seen[0].bytes, sizeof(struct rxp_wire_hdr) + sizeof(body));

	/* Who found none is told, once, as soon as there is one. */
	KUNIT_EXPECT_EQ(test, st->rooms, 0);
	send_complete(st, st->seen[3].cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, st->rooms, 1);
	send_complete(st, st->seen[4].cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, st->rooms, 1);
	rxp_ctl_rtr(&st->conn);
	KUNIT_ASSERT_EQ(test, st->nr_seen, RXP_RECV_RESERVE + 1);
	KUNIT_EXPECT_EQ(test, st->seen[RXP_RECV_RESERVE].opcode, IB_WR_RDMA_WRITE);
	KUNIT_EXPECT_EQ(test, st->seen[RXP_RECV_RESERVE].bytes, 0);

	st->conn.state = RXP_CONN_DEAD;
	rxp_send_end(&st->conn);
	/* All are free again: nobody waits. */
	rxp_ctl_flush(&st->conn, MAX_SCHEDULE_TIMEOUT);
	KUNIT_EXPECT_EQ(test, rxp_ctl_send(&st->conn, RXP_CONTROL, RXP_CONTROL_PING, body,
					   sizeof(body)), -ENOTCONN);
	rxp_ctl_unmap(&st->conn);
	kfree(st->conn.ctl);
}

/* What lies side by side is one entry; the rest is cut where a work request is full. */
static void send_writes(struct kunit *test)
{
	static const struct {
		u64 addr;
		u32 len;
	} data[] = {
		{ 0x10e00, 0x200 }, { 0x11000, 0x1000 }, { 0x12000, 0x1000 },	/* one run */
		{ 0x20000, 0x1000 }, { 0x1f000, 0x1000 },	/* backwards: two */
		{ 0x40000, 0x1000 }, { 0x41000, 0x1000 },	/* the last of these is cut */
	};
	struct scatterlist sgl[ARRAY_SIZE(data)];
	struct ib_sge sge[ARRAY_SIZE(data)];
	struct send_stage *st = test->priv;
	struct ib_rdma_wr wr[4];
	u32 len = 0x200 + 5 * 0x1000 + 0x800;
	int i;

	st->pool.rdev = &st->rdev;
	st->pd.local_dma_lkey = 7;
	st->pool.max_sge = 2;
	sg_init_table(sgl, ARRAY_SIZE(data));
	for (i = 0; i < ARRAY_SIZE(data); i++) {
		sg_dma_address(&sgl[i]) = data[i].addr;
		sg_dma_len(&sgl[i]) = data[i].len;
	}
	KUNIT_ASSERT_EQ(test, rxp_build_writes(&st->pool, sgl, len, sge, wr), 2);
	rxp_aim_writes(wr, 2, 0x1000000, 9);
	KUNIT_EXPECT_EQ(test, wr[0].wr.num_sge, 2);
	KUNIT_EXPECT_EQ(test, wr[0].remote_addr, 0x1000000);
	KUNIT_EXPECT_EQ(test, sge[0].addr, 0x10e00);
	KUNIT_EXPECT_EQ(test, sge[0].length, 0x2200);
	KUNIT_EXPECT_EQ(test, sge[1].addr, 0x20000);
	KUNIT_EXPECT_EQ(test, wr[1].wr.num_sge, 2);
	KUNIT_EXPECT_PTR_EQ(test, wr[1].wr.sg_list, &sge[2]);
	KUNIT_EXPECT_EQ(test, wr[1].remote_addr, 0x1003200);
	KUNIT_EXPECT_EQ(test, wr[1].rkey, 9);
	KUNIT_EXPECT_EQ(test, sge[2].addr, 0x1f000);
	KUNIT_EXPECT_EQ(test, sge[2].length, 0x1000);
	KUNIT_EXPECT_EQ(test, sge[3].length, 0x1800);
	KUNIT_EXPECT_EQ(test, sge[3].lkey, 7);

	/* A run that is longer than the data. */
	KUNIT_ASSERT_EQ(test, rxp_build_writes(&st->pool, sgl, 0x300, sge, wr), 1);
	KUNIT_EXPECT_EQ(test, wr[0].wr.num_sge, 1);
	KUNIT_EXPECT_EQ(test, sge[0].length, 0x300);

	/* A device that takes longer over long ones. */
	st->rdev.short_writes = true;
	KUNIT_ASSERT_EQ(test, rxp_build_writes(&st->pool, sgl, len, sge, wr), 4);
	KUNIT_EXPECT_EQ(test, wr[3].wr.num_sge, 1);
	KUNIT_EXPECT_EQ(test, sge[6].length, 0x800);
}

/* Where each tells that the peer takes what is sent they are short, but no more than fit. */
static void send_writes_told(struct kunit *test)
{
	const u32 pages = SZ_1M / PAGE_SIZE;
	struct send_stage *st = test->priv;
	struct scatterlist *sgl = kunit_kcalloc(test, pages, sizeof(*sgl), GFP_KERNEL);
	struct ib_sge *sge = kunit_kcalloc(test, pages, sizeof(*sge), GFP_KERNEL);
	struct ib_rdma_wr *wr = kunit_kcalloc(test, pages / RXP_SGE_MIN, sizeof(*wr), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_TRUE(test, sgl && sge && wr);
	sg_init_table(sgl, pages);
	for (i = 0; i < pages; i++) {
		sg_dma_address(&sgl[i]) = 0x100000 + i * PAGE_SIZE;
		sg_dma_len(&sgl[i]) = PAGE_SIZE;
	}
	st->pool.max_sge = SGE;
	st->pool.rdev = &st->rdev;
	KUNIT_ASSERT_EQ(test, rxp_build_writes(&st->pool, sgl, SZ_1M, sge, wr), 1);
	st->rdev.tells_writes = true;
	KUNIT_ASSERT_EQ(test, rxp_build_writes(&st->pool, sgl, SZ_1M, sge, wr), 4);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, wr[i].wr.num_sge, 1);
		KUNIT_EXPECT_EQ(test, wr[i].wr.sg_list[0].length, SZ_256K);
		KUNIT_EXPECT_EQ(test, wr[i].wr.sg_list[0].addr, 0x100000 + i * SZ_256K);
	}
	/* Five pieces have room for two. */
	for (i = 0; i < 5; i++) {
		sg_dma_address(&sgl[i]) = 0x100000 + i * SZ_256K;
		sg_dma_len(&sgl[i]) = SZ_256K;
	}
	KUNIT_ASSERT_EQ(test, rxp_build_writes(&st->pool, sgl, 5 * SZ_256K, sge, wr), 2);
	KUNIT_EXPECT_EQ(test, wr[0].wr.sg_list[0].length, SZ_1M);
	KUNIT_EXPECT_EQ(test, wr[1].wr.sg_list[0].length, SZ_256K);
}

/* What moves; and what of it is data. */
static void send_moves(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, 2, 64, true);
	unsigned long long_ago = jiffies - HZ * 60;

	send_make(&m[1], 400, 64, false);
	rxp_post(&st->conn, &m[0].chain);
	rxp_post(&st->conn, &m[1].chain);
	st->conn.data_moved = long_ago;
	send_complete(st, &m[0].chain.cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_NE(test, st->conn.data_moved, long_ago);
	st->conn.moved = long_ago;
	st->conn.data_moved = long_ago;
	send_complete(st, &m[1].chain.cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_NE(test, st->conn.moved, long_ago);
	KUNIT_EXPECT_EQ(test, st->conn.data_moved, long_ago);
	send_complete(st, &st->conn.err_cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_NE(test, st->conn.data_moved, long_ago);
}

static struct kunit_case send_cases[] = {
	KUNIT_CASE(send_room),
	KUNIT_CASE(send_quiet),
	KUNIT_CASE(send_oldest),
	KUNIT_CASE(send_stands),
	KUNIT_CASE(send_no_completion),
	KUNIT_CASE(send_failed),
	KUNIT_CASE(send_refused),
	KUNIT_CASE(send_plugged),
	KUNIT_CASE(send_data_first),
	KUNIT_CASE(send_plug_max),
	KUNIT_CASE(send_join_limit),
	KUNIT_CASE(send_plug_dead),
	KUNIT_CASE(send_plug_gone),
	KUNIT_CASE(send_control),
	KUNIT_CASE(send_writes),
	KUNIT_CASE(send_writes_told),
	KUNIT_CASE(send_moves),
	{}
};

static struct kunit_suite send_suite = {
	.name = "rdmafs_xprt_send",
	.init = send_init,
	.exit = send_exit,
	.test_cases = send_cases,
};

kunit_test_suite(send_suite);
