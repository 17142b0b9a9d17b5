// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_send: the send queue (transport/send.c) on a device that only takes note.
 * The cases check which work requests are posted, when, and which of them are signaled.  Each
 * chain must be given back once, whatever completions the device reports, and even if it
 * reports none.
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

/**
 * struct send_stage - a connection, and its device that only takes note
 * @ib:      the device
 * @pd:      its protection domain
 * @qp:      the connection's queue pair
 * @rdev:    the device, for the transport
 * @pool:    the connection's pool
 * @stats:   the connection's counters
 * @conn:    connection under test
 * @seen:    work requests that were posted
 * @nr_seen: number of these
 * @doorbells: calls of ib_post_send()
 * @fail_at: of this doorbell only the first work request is taken, and it fails; 0: none fails
 * @lost:    times that the connection was lost
 * @rooms:   times that a buffer was said to be free
 * @refs:    references to the connection
 *
 * The case's thread owns all of it: the device has no thread.
 */
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
	int fail_at;
	int lost;
	int rooms;
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

/*
 * The stage of a connection; connections of other suites, which link with this file, use one
 * for all.
 */
static struct send_stage *send_stage_of(struct rxp_conn *conn)
{
	static struct send_stage others;

	return conn->owner ?: &others;
}

/* These functions of conn.c are called by send.c and binding.c. */
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

/* Make a SEND of @bytes, with @id as its address; after an RDMA WRITE if @write. */
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

/*
 * Chains that find no room in the send queue must wait, in order.  A small one that would fit
 * must not overtake a larger one.
 */
static void send_room(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, 4, 64, true);
	int i;

	st->conn.sq_free = 5;
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, rxp_post(&st->conn, &m[i].chain), 0);
	/* There would be room for this message by itself. */
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

/*
 * Quiet chains are given back when they are posted.  Only each QUIET_MAX-th is signaled, and
 * its completion must free the room of all.
 */
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
	/* A signaled chain that follows three quiet ones frees their room, too. */
	send_make(&m[0], 1, 64, true);
	KUNIT_EXPECT_EQ(test, rxp_post(&st->conn, &m[0].chain), 0);
	KUNIT_EXPECT_EQ(test, m[0].chain.frees, 3);
	rxp_send_end(&st->conn);
	KUNIT_EXPECT_EQ(test, m[0].done, 1);
	KUNIT_EXPECT_FALSE(test, m[0].ok);
}

/*
 * rxp_send_oldest() must tell the chain that the device completes next, or that waits for room
 * first.  Quiet chains do not count.  A chain that is posted again in the same memory must have
 * another number.
 */
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
	/* The same memory is posted again: it is another chain, and waits for room. */
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

/*
 * A chain is stalled if it was posted before one time and nothing has moved since, or if it was
 * posted before a much earlier time though something moves.
 */
static void send_stalled(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, 2, 64, true);
	unsigned long now = jiffies;

	st->conn.moved = now - 90;
	KUNIT_EXPECT_FALSE(test, rxp_send_stalled(&st->conn, now, now));
	st->conn.sq_free = 2;
	rxp_post(&st->conn, &m[0].chain);
	rxp_post(&st->conn, &m[1].chain);
	m[0].chain.since = now - 50;
	m[1].chain.since = now - 40;
	KUNIT_EXPECT_FALSE(test, rxp_send_stalled(&st->conn, now - 50, now - 90));
	KUNIT_EXPECT_TRUE(test, rxp_send_stalled(&st->conn, now - 49, now - 90));
	/* An RDMA WRITE of the chain, on devices where each has a completion. */
	send_complete(st, &st->conn.err_cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, rxp_send_stalled(&st->conn, now - 10, now - 50));
	KUNIT_EXPECT_TRUE(test, rxp_send_stalled(&st->conn, now - 10, now - 49));
	/*
	 * The whole chain is done: the next one has waited behind it, and can be stalled only
	 * from now on.
	 */
	st->conn.moved = now - 90;
	send_complete(st, &m[0].chain.cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, rxp_send_stalled(&st->conn, now - 10, now - 40));
	st->conn.moved = now - 20;
	KUNIT_EXPECT_TRUE(test, rxp_send_stalled(&st->conn, now - 10, now - 40));
	send_complete(st, &m[1].chain.cqe, IB_WC_SUCCESS);
	st->conn.moved = now - 20;
	KUNIT_EXPECT_FALSE(test, rxp_send_stalled(&st->conn, now, now));
}

/*
 * The device is gone and has reported no completion.  The end of the connection must give each
 * chain back, once, as failed.
 */
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

/* A completion with an error must end the connection, and no more may be posted. */
static void send_failed(struct kunit *test)
{
	struct send_stage *st = test->priv;
	struct send_msg *m = send_msgs(test, 3, 64, true);
	int i;

	st->conn.sq_free = 4;
	for (i = 0; i < 3; i++)
		rxp_post(&st->conn, &m[i].chain);
	/* First the RDMA WRITE fails, which is not signaled, and then the chain. */
	send_complete(st, st->seen[0].err_cqe, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, st->lost, 1);
	KUNIT_EXPECT_EQ(test, m[0].done, 0);
	send_complete(st, st->seen[1].cqe, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, m[0].done, 1);
	KUNIT_EXPECT_FALSE(test, m[0].ok);
	KUNIT_EXPECT_EQ(test, st->nr_seen, 4);
	st->conn.state = RXP_CONN_DEAD;
	/* siw reports nothing of the second chain. */
	rxp_send_end(&st->conn);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, m[i].done, 1);
}

/*
 * The device takes a chain only in part, or not at all.  The chain must not be given back
 * before the connection ends: the device may still use its memory.
 */
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

/*
 * A task posts under a plug.  All must go with one doorbell, small messages joined into one
 * another.
 */
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
	/*
	 * A plug takes no reference to the connection: that could be the last one, and a task
	 * that unplugs must not sleep.
	 */
	KUNIT_EXPECT_EQ(test, st->refs, 0);
	blk_finish_plug(&plug);
	KUNIT_EXPECT_EQ(test, st->doorbells, 1);
	KUNIT_EXPECT_EQ(test, st->conn.plugged, 0);

	/*
	 * The RDMA WRITE, a SEND of six entries, a SEND of one, the SEND after the RDMA WRITE
	 * by itself, and a SEND of the last two.
	 */
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

/*
 * The RDMA WRITEs of a burst must be posted before its messages.  A chain that finds no room
 * must keep its place.
 */
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

/* Much data under a plug must be posted before the task unplugs. */
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

/*
 * A joined message must not be longer than the peer's receives, nor than a page where pages
 * are sent by reference.
 */
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

	/*
	 * The peer's receives count, however large: four messages of 4,096 bytes fill one
	 * completely.
	 */
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

	/* On iWARP, too, unless the device sends by reference. */
	st->rdev.tells_writes = true;
	rxp_send_limit(&st->conn);
	KUNIT_EXPECT_EQ(test, st->conn.join_max, 4 * PAGE_SIZE);
	send_make(&m[0], 0, PAGE_SIZE, false);
	rxp_chain_quiet(&st->conn, &m[0].chain, PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, m[0].chain.quiet);
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

	/* The peer's receives also count where a page is larger than they are. */
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

	/*
	 * By reference, the device sends a page when a quiet chain would long be given back: it
	 * must not be quiet.  An RDMA WRITE has to be signaled on iWARP.
	 */
	send_make(&m[0], 1, PAGE_SIZE, false);
	rxp_chain_quiet(&st->conn, &m[0].chain, PAGE_SIZE);
	KUNIT_EXPECT_FALSE(test, m[0].chain.quiet);
	st->nr_seen = 0;
	send_make(&m[1], 2, 64, true);
	rxp_post(&st->conn, &m[1].chain);
	KUNIT_ASSERT_PTR_EQ(test, st->seen[0].cqe, &st->conn.err_cqe);
	send_complete(st, st->seen[0].cqe, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, m[1].done, 0);
	rxp_send_end(&st->conn);
	KUNIT_EXPECT_EQ(test, m[1].done, 1);
}

/* A plug that is finished when the connection is dead must give all chains back. */
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

/*
 * A chain that is posted to a dead connection must leave nothing in the plug: the connection
 * may be freed before the task unplugs.
 */
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

/*
 * Messages that belong to no slot: as many may be sent as the peer has reserved receives for,
 * each buffer once.
 */
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

	/* A caller that found no buffer is told once, as soon as there is one. */
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
	/* All buffers are free again: the flush does not wait. */
	rxp_ctl_flush(&st->conn, MAX_SCHEDULE_TIMEOUT);
	KUNIT_EXPECT_EQ(test, rxp_ctl_send(&st->conn, RXP_CONTROL, RXP_CONTROL_PING, body,
					   sizeof(body)), -ENOTCONN);
	rxp_ctl_unmap(&st->conn);
	kfree(st->conn.ctl);
}

/*
 * Pieces of data that are adjacent must become one entry.  The rest is split where a work
 * request has all entries that it may have.
 */
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
	const struct rxp_segment to = { .rkey = 9, .length = 0x5a00, .iova = 0x1000000 };
	struct scatterlist sgl[ARRAY_SIZE(data)];
	struct ib_sge sge[ARRAY_SIZE(data)];
	struct send_stage *st = test->priv;
	struct ib_rdma_wr wr[4];
	struct rxp_sg sg = { .wr = wr, .sge = sge, .sgl = sgl };
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
	KUNIT_ASSERT_EQ(test, rxp_build_writes(&st->pool, &sg, len), 2);
	rxp_aim_writes(&sg, 2, &to);
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

	/* The first run is longer than the data. */
	KUNIT_ASSERT_EQ(test, rxp_build_writes(&st->pool, &sg, 0x300), 1);
	KUNIT_EXPECT_EQ(test, wr[0].wr.num_sge, 1);
	KUNIT_EXPECT_EQ(test, sge[0].length, 0x300);

	/* A device that takes longer over long RDMA WRITEs gets short ones. */
	st->rdev.quirks.short_writes = true;
	KUNIT_ASSERT_EQ(test, rxp_build_writes(&st->pool, &sg, len), 4);
	KUNIT_EXPECT_EQ(test, wr[3].wr.num_sge, 1);
	KUNIT_EXPECT_EQ(test, sge[6].length, 0x800);
}

/*
 * On a device that reports when the peer has taken an RDMA WRITE they must be short, but not
 * more than there is room for.
 */
static void send_writes_told(struct kunit *test)
{
	const u32 pages = SZ_1M / PAGE_SIZE;
	struct send_stage *st = test->priv;
	void *room = kunit_kzalloc(test, rxp_sg_room(pages), GFP_KERNEL);
	struct rxp_sg sg;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, room);
	rxp_sg_init(&sg, room, pages);
	sg_init_table(sg.sgl, pages);
	for (i = 0; i < pages; i++) {
		sg_dma_address(&sg.sgl[i]) = 0x100000 + i * PAGE_SIZE;
		sg_dma_len(&sg.sgl[i]) = PAGE_SIZE;
	}
	st->pool.max_sge = SGE;
	st->pool.rdev = &st->rdev;
	KUNIT_ASSERT_EQ(test, rxp_build_writes(&st->pool, &sg, SZ_1M), 1);
	st->rdev.tells_writes = true;
	KUNIT_ASSERT_EQ(test, rxp_build_writes(&st->pool, &sg, SZ_1M), 4);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, sg.wr[i].wr.num_sge, 1);
		KUNIT_EXPECT_EQ(test, sg.wr[i].wr.sg_list[0].length, SZ_256K);
		KUNIT_EXPECT_EQ(test, sg.wr[i].wr.sg_list[0].addr, 0x100000 + i * SZ_256K);
	}
	/* There is room for two work requests, not for five. */
	for (i = 0; i < 5; i++) {
		sg_dma_address(&sg.sgl[i]) = 0x100000 + i * SZ_256K;
		sg_dma_len(&sg.sgl[i]) = SZ_256K;
	}
	KUNIT_ASSERT_EQ(test, rxp_build_writes(&st->pool, &sg, 5 * SZ_256K), 2);
	KUNIT_EXPECT_EQ(test, sg.wr[0].wr.sg_list[0].length, SZ_1M);
	KUNIT_EXPECT_EQ(test, sg.wr[1].wr.sg_list[0].length, SZ_256K);
}

/* A completion must count as a move of the queue; and only one with data as a move of data. */
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
	KUNIT_CASE(send_stalled),
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
