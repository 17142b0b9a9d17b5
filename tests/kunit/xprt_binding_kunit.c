// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_binding: MRs and grants (transport/binding.c, server/grant.c, overdue.c) on two
 * connections whose send queues stand still as long as a case wants.  The device refuses nothing:
 * the work request that it has executed last decides whether a key is valid.  The client knows
 * every key before it is told.
 *
 * An MR and its pages must not be given back while a registration that was posted may still be
 * executed, nor while its key may be valid.
 */
#include <kunit/test.h>
#include "transport/server/server.h"
#include "reserve.h"

#define CONNS	2
#define QUEUE	16
#define SIZE	SZ_32K
#define ENTRIES	8

/* A work request in a send queue. */
struct binding_wr {
	enum ib_wr_opcode opcode;
	u32 key;
	struct ib_cqe *cqe;		/* NULL: not signaled */
};

struct binding_queue {
	struct ib_qp qp;
	struct binding_wr wr[QUEUE];
	int nr;
	int done;
};

/**
 * struct binding_stage - two connections of a session, and their device
 * @ib:       the device
 * @pd:       its protection domain
 * @rdev:     the device, for the transport
 * @pool:     pool of both connections
 * @sconn:    the connections
 * @conn:     what is in them of both sides
 * @queue:    their send queues
 * @server:   server of the session
 * @session:  session of the connections
 * @slot:     its only slot, in which there is no request
 * @req:      WRITE whose reply grants, or that has its data
 * @send:     SEND of its reply
 * @mr:       MR of the WRITE or the grant
 * @ib_mr:    the same, for the device
 * @buf:      its buffer
 * @valid:    key that the device accepts now; 0: none
 * @replied:  chains that are over
 * @mr_puts:  times that the MR was given back
 * @put_as:   state of the MR when it was given back last
 * @buf_puts: times that the buffer was given back
 * @session_refs: references to the session
 * @lost:     times that the session lost its connections
 * @refuses:  no pages may be granted
 * @unmapped: memory to be mapped has gaps
 * @granted:  bytes granted
 *
 * The case's thread owns all of it: the device has no thread.
 */
struct binding_stage {
	struct ib_device ib;
	struct ib_pd pd;
	struct rxp_device rdev;
	struct rxs_pool pool;
	struct rxs_conn sconn[CONNS];
	struct rxp_conn *conn[CONNS];
	struct binding_queue queue[CONNS];
	struct rdmafs_xprt_server server;
	struct rdmafs_xprt_session session;
	struct rxs_slot slot;
	struct rxs_req req;
	struct ib_send_wr send;
	struct rxp_mr mr;
	struct ib_mr ib_mr;
	struct rxp_buf buf;
	u32 valid;
	int replied;
	int mr_puts;
	enum rxp_mr_state put_as;
	int buf_puts;
	int session_refs;
	int lost;
	bool refuses;
	bool unmapped;
	u64 granted;
};

static struct binding_stage *stage;

/* ------------------------------------- functions of other files that these call */

void rxp_mr_put(struct rxp_pool *pool, struct rxp_mr *mr)
{
	stage->mr_puts++;
	stage->put_as = mr->state;
	rpol_mr_regain(pool->member, &mr->policy);
}

int rxp_mr_map_buf(struct rxp_pool *pool, struct rxp_mr *mr, struct rxp_buf *buf, u32 len,
		   struct ib_reg_wr *wr)
{
	if (stage->unmapped)
		return -EINVAL;
	memset(wr, 0, sizeof(*wr));
	wr->wr.opcode = IB_WR_REG_MR;
	wr->mr = mr->mr;
	wr->key = ++mr->mr->rkey;
	mr->mr->length = len;
	return 0;
}

void rxp_buf_put(struct rxp_pool *pool, struct rxp_buf *buf)
{
	stage->buf_puts++;
}

void rxp_buf_sync_for_device(struct rxp_pool *pool, struct rxp_buf *buf)
{
}

void rxp_pool_get(struct rxp_pool *pool)
{
}

void rxp_pool_put(struct rxp_pool *pool)
{
}

void rxs_session_get(struct rdmafs_xprt_session *session)
{
	stage->session_refs++;
}

void rxs_session_put(struct rdmafs_xprt_session *session)
{
	stage->session_refs--;
}

void rxs_session_lose_conns(struct rdmafs_xprt_session *session)
{
	stage->lost++;
}

bool rxp_mr_capped(struct rxp_pool *pool, u32 entries)
{
	return false;
}

void rxs_session_uncharge(struct rdmafs_xprt_session *s, u32 bytes, bool overdrawn)
{
	atomic64_sub(bytes, &s->data_bytes);
}

bool rxs_session_count_grant(struct rdmafs_xprt_session *s, u32 bytes)
{
	stage->granted += stage->refuses ? 0 : bytes;
	return !stage->refuses;
}

void rxs_session_uncount_grant(struct rdmafs_xprt_session *s, u32 bytes, bool recalled)
{
	stage->granted -= bytes;
}

void rxs_session_count_recall(struct rdmafs_xprt_session *s, u32 bytes)
{
}

u64 rxs_session_excess(struct rdmafs_xprt_session *s)
{
	return 0;
}

void rxp_pool_reclaim(void *ctx)
{
}

struct workqueue_struct *rxp_wq;
unsigned int rxp_grace_ms = 10000;

/* -------------------------------------------------------------------- the device */

static int binding_post(struct ib_qp *qp, const struct ib_send_wr *wr,
			const struct ib_send_wr **bad)
{
	struct binding_queue *q = container_of(qp, struct binding_queue, qp);

	for (; wr; wr = wr->next) {
		struct binding_wr *w = &q->wr[q->nr];

		*bad = wr;
		if (q->nr == QUEUE)
			return -ENOMEM;
		q->nr++;
		w->opcode = wr->opcode;
		w->cqe = wr->send_flags & IB_SEND_SIGNALED ? wr->wr_cqe : NULL;
		w->key = wr->opcode == IB_WR_REG_MR ? reg_wr(wr)->key : wr->ex.invalidate_rkey;
	}
	return 0;
}

/* The queue is executed to its end.  With an error status nothing is executed, but all complete. */
static void binding_run(struct binding_stage *st, int i, enum ib_wc_status status)
{
	struct binding_queue *q = &st->queue[i];

	while (q->done < q->nr) {
		struct binding_wr *w = &q->wr[q->done++];
		struct ib_wc wc = { .wr_cqe = w->cqe, .status = status };

		if (status == IB_WC_SUCCESS && w->opcode == IB_WR_REG_MR)
			st->valid = w->key;
		if (status == IB_WC_SUCCESS && w->opcode == IB_WR_LOCAL_INV &&
		    st->valid >> 8 == w->key >> 8)
			st->valid = 0;
		if (w->cqe)
			w->cqe->done(NULL, &wc);
	}
}

static int binding_init(struct kunit *test)
{
	static const struct rpol_quota quota = {
		.max = RPOL_NO_MAX,
		.weight = RPOL_WEIGHT_DEFAULT,
	};
	struct binding_stage *st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	int i;

	if (!st)
		return -ENOMEM;
	st->session.stats.v = __alloc_percpu(sizeof(u64) * RXP_NR_STATS, __alignof__(u64));
	if (!st->session.stats.v)
		return -ENOMEM;
	st->rdev.domain = rpol_domain_create(RPOL_CAPACITY_MIN, NULL, NULL);
	if (IS_ERR(st->rdev.domain))
		return PTR_ERR(st->rdev.domain);
	st->pool.p.member = rpol_member_create(st->rdev.domain, &quota, NULL, NULL);
	if (IS_ERR(st->pool.p.member))
		return PTR_ERR(st->pool.p.member);
	if (reserve_entries(st->pool.p.member, ENTRIES, RPOL_NOWAIT))
		return -ENOMEM;
	st->ib.ops.post_send = binding_post;
	st->rdev.ib = &st->ib;
	st->rdev.short_until = jiffies;
	st->pool.p.rdev = &st->rdev;
	st->pool.p.pd = &st->pd;
	spin_lock_init(&st->pool.p.lock);
	INIT_LIST_HEAD(&st->pool.lent);
	INIT_LIST_HEAD(&st->req.lent);
	spin_lock_init(&st->session.lock);
	INIT_LIST_HEAD(&st->session.grants);
	st->session.server = &st->server;
	st->session.nr_conns = CONNS;
	for (i = 0; i < CONNS; i++) {
		struct rxp_conn *conn = &st->sconn[i].conn;

		st->conn[i] = conn;
		conn->index = i;
		conn->rdev = &st->rdev;
		conn->pool = &st->pool.p;
		conn->stats = &st->session.stats;
		st->sconn[i].session = &st->session;
		conn->qp = &st->queue[i].qp;
		conn->qp->device = &st->ib;
		conn->sq_free = QUEUE;
		conn->sq_quiet_max = 4;
		rxp_send_init(conn);
		st->session.conns[i] = conn;
	}
	st->mr.mr = &st->ib_mr;
	st->mr.pool = &st->pool.p;
	st->ib_mr.rkey = 0x4200;
	st->mr.policy.entries = ENTRIES;
	st->mr.room = ENTRIES;
	st->buf.size = SIZE;
	stage = st;
	test->priv = st;
	return 0;
}

static void binding_exit(struct kunit *test)
{
	struct binding_stage *st = test->priv;

	if (!st)
		return;
	rpol_mr_regain(st->pool.p.member, &st->mr.policy);
	rpol_uncharge(st->pool.p.member, ENTRIES);
	rpol_member_destroy(st->pool.p.member);
	rpol_domain_destroy(st->rdev.domain);
	free_percpu(st->session.stats.v);
}

static void binding_replied(struct rxp_chain *chain, bool ok)
{
	stage->replied++;
}

/* ------------------------------------------------------------------------- cases */

#define RULES	"posted registered remote_inv local_inv invalidated failed"

/* Each state and event, as the head of binding.c tells; . is an event that cannot come. */
static void binding_table(struct kunit *test)
{
	static const char want[RXP_MR_NR_STATES][RXP_MR_NR_EVENTS + 1] = {
		[RXP_MR_IDLE]	      = "R.....",
		[RXP_MR_REGISTERING]  = ".VTL.U",
		[RXP_MR_VALID]	      = "..IL..",
		[RXP_MR_RETURNED]     = ".I...U",
		[RXP_MR_INVALIDATING] = ".L..IU",
		[RXP_MR_UNKNOWN]      = "....UU",
	};
	static const char name[RXP_MR_NR_STATES + 2] = "IRVTLU.";
	int s, e;

	for (s = 0; s < RXP_MR_NR_STATES; s++)
		for (e = 0; e < RXP_MR_NR_EVENTS; e++)
			KUNIT_EXPECT_EQ_MSG(test, name[rxp_mr_next(s, e)], want[s][e],
					    "state %c, event %d of " RULES, name[s], e);
}

/* No event may lead from a REG_MR that may still be executed to an MR that may be used again. */
static void binding_no_short_cut(struct kunit *test)
{
	int e;

	for (e = 0; e < RXP_MR_NR_EVENTS; e++)
		KUNIT_EXPECT_NE(test, rxp_mr_next(RXP_MR_REGISTERING, e), RXP_MR_IDLE);
}

/*
 * Make a grant; its reply, with its registration in front, is to be posted on the second
 * connection.
 */
static struct rxs_grant *binding_grant(struct kunit *test, struct rxp_segment *sink)
{
	struct binding_stage *st = test->priv;
	struct rxs_grant *g;

	st->req.session = &st->session;
	st->req.flags = RXP_F_WRITE;
	st->req.mr = &st->mr;
	st->req.buf = &st->buf;
	st->req.pool = &st->pool.p;
	g = rxs_grant_offer(&st->req, st->conn[1], sink);
	KUNIT_ASSERT_NOT_NULL(test, g);
	return g;
}

/* The same, and post the reply, which stands in the queue.  Returns the grant's key. */
static u32 binding_granted(struct kunit *test)
{
	struct binding_stage *st = test->priv;
	struct rxp_segment sink;
	struct rxs_grant *g = binding_grant(test, &sink);

	rxp_chain_init(&st->req.reply, binding_replied);
	rxp_chain_reg(&st->req.reply, g->mr, &st->req.reg);
	rxp_fill_send(&st->send, NULL, 0, 0);
	rxp_chain_add(&st->req.reply, &st->send);
	KUNIT_ASSERT_EQ(test, rxs_grant_post(g, &st->req.reply), 0);
	return sink.rkey;
}

/* Neither the MR nor the buffer may have been given back. */
static void binding_expect_nothing_back(struct kunit *test)
{
	struct binding_stage *st = test->priv;

	KUNIT_EXPECT_EQ(test, st->mr_puts, 0);
	KUNIT_EXPECT_EQ(test, st->buf_puts, 0);
}

/* Both must have been given back, once, with no key valid, and the MR in @state. */
static void binding_expect_back(struct kunit *test, enum rxp_mr_state state)
{
	struct binding_stage *st = test->priv;

	KUNIT_EXPECT_EQ(test, st->mr_puts, 1);
	KUNIT_EXPECT_EQ(test, st->put_as, state);
	KUNIT_EXPECT_EQ(test, st->buf_puts, 1);
	KUNIT_EXPECT_EQ(test, st->valid, 0);
	KUNIT_EXPECT_EQ(test, st->session.nr_grants, 0);
	KUNIT_EXPECT_EQ(test, st->session_refs, 0);
}

/* Handle a RETURN of one key. */
static const char *binding_give(struct rxp_conn *conn, u32 rkey)
{
	struct {
		struct rxp_wire_keys keys;
		__le32 rkey;
	} __packed body = { .keys.nr = cpu_to_le16(1), .rkey = cpu_to_le32(rkey) };
	struct rxp_frame f = { .nr_keys = 1, .body = &body };

	return rxs_return_arrived(conn, &f);
}

static bool binding_tick(struct binding_stage *st)
{
	bool more;

	spin_lock_bh(&st->server.lock);
	more = rxs_sessions_tick(&st->server);
	spin_unlock_bh(&st->server.lock);
	return more;
}

/*
 * A grant is returned on the other connection before it is registered.  It must be invalidated
 * on its own connection, behind the registration, and only then be given back.
 */
static void binding_return(struct kunit *test)
{
	struct binding_stage *st = test->priv;
	u32 key = binding_granted(test);

	KUNIT_EXPECT_NULL(test, binding_give(st->conn[0], key));
	binding_run(st, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, st->queue[0].nr, 0);
	binding_expect_nothing_back(test);
	binding_run(st, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, st->replied, 1);
	binding_expect_back(test, RXP_MR_IDLE);
	KUNIT_EXPECT_EQ(test, st->sconn[1].strays, 0);
}

/* A grant is returned when it is registered: it must still be invalidated on its own connection. */
static void binding_return_valid(struct kunit *test)
{
	struct binding_stage *st = test->priv;
	u32 key = binding_granted(test);

	binding_run(st, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, st->valid, key);
	KUNIT_EXPECT_EQ(test, st->mr.state, RXP_MR_VALID);
	KUNIT_EXPECT_NULL(test, binding_give(st->conn[0], key));
	KUNIT_EXPECT_EQ(test, st->queue[0].nr, 0);
	binding_expect_nothing_back(test);
	binding_run(st, 1, IB_WC_SUCCESS);
	binding_expect_back(test, RXP_MR_IDLE);
}

/*
 * A returned grant whose invalidation stands must still count as a grant, so that it makes no
 * room for others.  After the time that a recalled grant has, the session must lose its
 * connections.
 */
static void binding_return_stuck(struct kunit *test)
{
	struct binding_stage *st = test->priv;
	u32 key = binding_granted(test);
	struct rxs_grant *g;

	spin_lock_init(&st->server.lock);
	INIT_LIST_HEAD(&st->server.sessions);
	list_add(&st->session.link, &st->server.sessions);
	st->server.limits.held_ms = 60000;
	st->session.slots = &st->slot;
	st->session.nr_slots = 1;
	st->session.nr_bound = CONNS;
	KUNIT_EXPECT_NULL(test, binding_give(st->conn[0], key));
	KUNIT_EXPECT_EQ(test, st->session.nr_grants, 1);
	KUNIT_EXPECT_TRUE(test, binding_tick(st));
	KUNIT_EXPECT_EQ(test, st->lost, 0);
	/* It must not be returned, or used, again. */
	KUNIT_EXPECT_NULL(test, binding_give(st->conn[0], key));
	KUNIT_EXPECT_EQ(test, st->sconn[0].strays, 1);
	g = list_first_entry_or_null(&st->session.grants, struct rxs_grant, link);
	KUNIT_ASSERT_NOT_NULL(test, g);
	g->recalled = (jiffies - 11 * HZ) | 1;
	KUNIT_EXPECT_TRUE(test, binding_tick(st));
	KUNIT_EXPECT_EQ(test, st->lost, 1);
	/*
	 * The connection is drained: the MR is given back when the connection's queue ends,
	 * not from the list of grants.
	 */
	rxs_grants_drop(&st->session, st->conn[1]);
	binding_expect_nothing_back(test);
	st->conn[1]->state = RXP_CONN_DEAD;
	rxp_send_end(st->conn[1]);
	binding_expect_back(test, RXP_MR_UNKNOWN);
	KUNIT_EXPECT_FALSE(test, binding_tick(st));
}

/*
 * The queue never moves, and the connection is dead.  The MR must be given back, with its state
 * unknown, only when the send queue has ended.
 */
static void binding_return_dead(struct kunit *test)
{
	struct binding_stage *st = test->priv;
	u32 key = binding_granted(test);

	st->conn[1]->state = RXP_CONN_DEAD;
	KUNIT_EXPECT_NULL(test, binding_give(st->conn[0], key));
	binding_expect_nothing_back(test);
	binding_run(st, 1, IB_WC_WR_FLUSH_ERR);
	binding_expect_nothing_back(test);
	rxp_send_end(st->conn[1]);
	binding_expect_back(test, RXP_MR_UNKNOWN);
}

/* The same with a device that reports nothing of its work requests, as siw may. */
static void binding_return_silent(struct kunit *test)
{
	struct binding_stage *st = test->priv;
	u32 key = binding_granted(test);

	st->conn[1]->state = RXP_CONN_DEAD;
	KUNIT_EXPECT_NULL(test, binding_give(st->conn[0], key));
	rxp_send_end(st->conn[1]);
	KUNIT_EXPECT_EQ(test, st->replied, 1);
	binding_expect_back(test, RXP_MR_UNKNOWN);
}

/*
 * Before its reply is posted a grant cannot be returned: the key counts as a stray one.  If the
 * connection is dead when the reply is posted there must be no grant.
 */
static void binding_unposted(struct kunit *test)
{
	struct binding_stage *st = test->priv;
	struct rxp_segment sink;
	struct rxs_grant *g = binding_grant(test, &sink);

	KUNIT_EXPECT_NULL(test, binding_give(st->conn[1], sink.rkey));
	KUNIT_EXPECT_EQ(test, st->sconn[1].strays, 1);
	binding_expect_nothing_back(test);
	st->conn[1]->state = RXP_CONN_DEAD;
	rxp_chain_init(&st->req.reply, binding_replied);
	rxp_chain_reg(&st->req.reply, g->mr, &st->req.reg);
	KUNIT_EXPECT_EQ(test, rxs_grant_post(g, &st->req.reply), -ENOTCONN);
	binding_expect_back(test, RXP_MR_IDLE);
}

/*
 * A client may return 16 keys that are no grants on a connection, and no more.  The strays of
 * one connection must not count for another, nor for a proper RETURN.
 */
static void binding_strays(struct kunit *test)
{
	struct binding_stage *st = test->priv;
	u32 key = binding_granted(test), taken = 0;

	while (taken < 255 && !binding_give(st->conn[0], key + 1 + taken))
		taken++;
	KUNIT_EXPECT_EQ(test, taken, 16);
	/* Each connection counts its own. */
	KUNIT_EXPECT_NULL(test, binding_give(st->conn[1], key + 1));

	KUNIT_EXPECT_NULL(test, binding_give(st->conn[1], key));
	binding_run(st, 1, IB_WC_SUCCESS);
	binding_expect_back(test, RXP_MR_IDLE);
}

/*
 * The peer invalidates a key before its registration is over, as if it had guessed it, and
 * once more after that.  The first must not be believed if the device does not check, or if
 * the caller does not wait for the registration.  The second must be believed if the device
 * checks; else the server invalidates the key itself.
 */
static void binding_remote(struct kunit *test)
{
	struct binding_stage *st = test->priv;
	struct rxp_conn *conn = st->conn[1];
	int checks;

	for (checks = 0; checks < 2; checks++) {
		st->rdev.checks_inv = checks;
		rxp_mr_map_buf(&st->pool.p, &st->mr, &st->buf, SIZE, &st->req.reg);
		rxp_chain_init(&st->req.reply, binding_replied);
		rxp_chain_reg(&st->req.reply, &st->mr, &st->req.reg);
		KUNIT_ASSERT_EQ(test, rxp_post(conn, &st->req.reply), 0);
		KUNIT_EXPECT_FALSE(test, rxp_mr_remote_inv(&st->mr, !checks));
		KUNIT_EXPECT_EQ(test, st->mr.state, RXP_MR_REGISTERING);
		binding_run(st, 1, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, rxp_mr_remote_inv(&st->mr, true), checks);
		KUNIT_EXPECT_EQ(test, st->mr.state, checks ? RXP_MR_IDLE : RXP_MR_VALID);
		if (!checks) {
			KUNIT_EXPECT_EQ(test, rxp_mr_invalidate(&st->mr, &st->req.inv_chain,
								&st->req.inv, binding_replied), 0);
			binding_run(st, 1, IB_WC_SUCCESS);
			KUNIT_EXPECT_EQ(test, st->mr.state, RXP_MR_IDLE);
			KUNIT_EXPECT_EQ(test, st->valid, 0);
		}
		KUNIT_EXPECT_NULL(test, st->mr.conn);
	}
	KUNIT_EXPECT_EQ(test, st->replied, 3);
}

/*
 * A device that checks must have executed the registration if its key was invalidated, though
 * the completion has not come.  The MR is idle when it comes, and not before.
 */
static void binding_returned(struct kunit *test)
{
	struct binding_stage *st = test->priv;

	st->rdev.checks_inv = true;
	rxp_mr_map_buf(&st->pool.p, &st->mr, &st->buf, SIZE, &st->req.reg);
	rxp_chain_init(&st->req.reply, binding_replied);
	rxp_chain_reg(&st->req.reply, &st->mr, &st->req.reg);
	KUNIT_ASSERT_EQ(test, rxp_post(st->conn[1], &st->req.reply), 0);
	KUNIT_EXPECT_TRUE(test, rxp_mr_remote_inv(&st->mr, true));
	KUNIT_EXPECT_EQ(test, st->mr.state, RXP_MR_RETURNED);
	KUNIT_EXPECT_NOT_NULL(test, st->mr.conn);
	binding_run(st, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, st->mr.state, RXP_MR_IDLE);
	KUNIT_EXPECT_NULL(test, st->mr.conn);
}

/*
 * A grant is used before its registration is over.  The peer's invalidation must not be
 * believed, as the caller does not wait for the registration: the server must invalidate the
 * key itself, behind the registration.
 */
static void binding_use(struct kunit *test)
{
	struct binding_stage *st = test->priv;
	struct rxs_req *req = kunit_kzalloc(test, sizeof(*req), GFP_KERNEL);
	bool used;

	KUNIT_ASSERT_NOT_NULL(test, req);
	st->rdev.checks_inv = true;
	req->session = &st->session;
	req->bulk.rkey = binding_granted(test);
	req->bulk.length = SIZE;
	spin_lock_bh(&st->session.lock);
	used = rxs_grant_use(req, st->conn[0]);
	spin_unlock_bh(&st->session.lock);
	KUNIT_ASSERT_TRUE(test, used);
	KUNIT_EXPECT_FALSE(test, rxp_mr_remote_inv(req->mr, false));
	KUNIT_EXPECT_EQ(test, rxp_mr_invalidate(req->mr, &req->inv_chain, &req->inv,
						binding_replied), 0);
	KUNIT_EXPECT_EQ(test, st->queue[0].nr, 0);
	KUNIT_EXPECT_EQ(test, st->replied, 0);
	binding_run(st, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, st->replied, 2);
	KUNIT_EXPECT_EQ(test, st->mr.state, RXP_MR_IDLE);
	KUNIT_EXPECT_EQ(test, st->valid, 0);
	KUNIT_EXPECT_EQ(test, rxp_mr_invalidate(req->mr, &req->inv_chain, &req->inv,
						binding_replied), -ENOTCONN);
}

/* Translations of the session that are lent. */
static u64 binding_lent(struct binding_stage *st)
{
	struct rpol_member_stats stats;

	rpol_member_get_stats(st->pool.p.member, &stats);
	return stats.lent;
}

/* Make a WRITE whose data has come. */
static struct rxs_req *binding_written(struct binding_stage *st)
{
	st->req.session = &st->session;
	st->req.flags = RXP_F_WRITE;
	st->req.mr = &st->mr;
	st->req.buf = &st->buf;
	st->req.pool = &st->pool.p;
	rxs_req_lend_mr(&st->req);
	return &st->req;
}

/*
 * The MR of a WRITE whose data has come is lent until the WRITE is served.  Then it must be
 * there to be granted.
 */
static void binding_write(struct kunit *test)
{
	struct binding_stage *st = test->priv;
	struct rxs_req *req = binding_written(st);
	struct rxp_segment sink;
	struct rxs_grant *g;

	KUNIT_EXPECT_EQ(test, binding_lent(st), ENTRIES);
	rxs_reqs_give_mrs(&st->pool.p);
	binding_expect_nothing_back(test);
	g = rxs_grant_offer(req, st->conn[1], &sink);
	KUNIT_ASSERT_NOT_NULL(test, g);
	KUNIT_EXPECT_PTR_EQ(test, g->mr, &st->mr);
	KUNIT_EXPECT_EQ(test, binding_lent(st), 0);
	rxs_grant_drop(g);
	binding_expect_back(test, RXP_MR_IDLE);
}

/* A grant for which there is no room, or that cannot be made, must leave the request as it was. */
static void binding_write_no_grant(struct kunit *test)
{
	struct binding_stage *st = test->priv;
	struct rxs_req *req = binding_written(st);
	struct rxp_segment sink;

	req->charged = SIZE;
	st->refuses = true;
	KUNIT_EXPECT_NULL(test, rxs_grant_offer(req, st->conn[1], &sink));
	/* The MR must have the same key as before. */
	KUNIT_EXPECT_EQ(test, st->ib_mr.rkey, 0x4200);
	st->refuses = false;
	st->unmapped = true;
	KUNIT_EXPECT_NULL(test, rxs_grant_offer(req, st->conn[1], &sink));
	KUNIT_EXPECT_EQ(test, st->session.nr_grants, 0);
	KUNIT_EXPECT_EQ(test, st->granted, 0);
	KUNIT_EXPECT_EQ(test, req->charged, SIZE);
	KUNIT_EXPECT_PTR_EQ(test, req->mr, &st->mr);
	KUNIT_EXPECT_PTR_EQ(test, req->buf, &st->buf);
	binding_expect_nothing_back(test);
}

/* The lent translations are wanted elsewhere: they must be given back at once. */
static void binding_write_recalled(struct kunit *test)
{
	static const struct rpol_quota little = { .max = 1, .weight = RPOL_WEIGHT_DEFAULT };
	static const struct rpol_quota any = { .max = RPOL_NO_MAX, .weight = RPOL_WEIGHT_DEFAULT };
	struct binding_stage *st = test->priv;
	struct rxs_req *req = binding_written(st);
	struct rxp_segment sink;

	KUNIT_ASSERT_EQ(test, rpol_member_set_quota(st->pool.p.member, &little), 0);
	KUNIT_EXPECT_TRUE(test, rpol_mr_recalled(&st->mr.policy));
	rxs_reqs_give_mrs(&st->pool.p);
	KUNIT_EXPECT_EQ(test, st->mr_puts, 1);
	KUNIT_EXPECT_EQ(test, st->buf_puts, 0);
	KUNIT_EXPECT_NULL(test, req->mr);
	KUNIT_EXPECT_TRUE(test, list_empty(&st->pool.lent));
	KUNIT_ASSERT_EQ(test, rpol_member_set_quota(st->pool.p.member, &any), 0);
	KUNIT_EXPECT_NULL(test, rxs_grant_offer(req, st->conn[1], &sink));
	KUNIT_EXPECT_EQ(test, st->mr_puts, 1);
}

/* Translations are short: they must be given back at once, without being recalled first. */
static void binding_write_short(struct kunit *test)
{
	struct binding_stage *st = test->priv;
	struct rxs_req *req;

	st->rdev.short_until = jiffies + 100 * HZ;
	req = binding_written(st);
	KUNIT_EXPECT_EQ(test, st->mr_puts, 1);
	KUNIT_EXPECT_NULL(test, req->mr);
	KUNIT_EXPECT_EQ(test, binding_lent(st), 0);
}

/*
 * The client's DATA comes before the completion of the chain that registered the sink.  The MR
 * may be lent when that completes, but not if the request has taken it back by then.
 */
static void binding_write_returned(struct kunit *test)
{
	struct binding_stage *st = test->priv;
	struct rxs_req *req;
	int late;

	st->rdev.checks_inv = true;
	for (late = 0; late < 2; late++) {
		rxp_mr_map_buf(&st->pool.p, &st->mr, &st->buf, SIZE, &st->req.reg);
		rxp_chain_init(&st->req.stcrw, binding_replied);
		rxp_chain_reg(&st->req.stcrw, &st->mr, &st->req.reg);
		KUNIT_ASSERT_EQ(test, rxp_post(st->conn[1], &st->req.stcrw), 0);
		KUNIT_EXPECT_TRUE(test, rxp_mr_remote_inv(&st->mr, true));
		req = binding_written(st);
		KUNIT_EXPECT_EQ(test, binding_lent(st), 0);
		if (late)
			rxs_req_regain_mr(req);
		binding_run(st, 1, IB_WC_SUCCESS);
		rxs_req_lend_mr(req);
		KUNIT_EXPECT_EQ(test, binding_lent(st), late ? 0 : ENTRIES);
		rxs_req_regain_mr(req);
		KUNIT_EXPECT_EQ(test, binding_lent(st), 0);
		req->regained = false;
		st->valid = 0;
	}
	binding_expect_nothing_back(test);
}

static struct kunit_case binding_cases[] = {
	KUNIT_CASE(binding_table),
	KUNIT_CASE(binding_no_short_cut),
	KUNIT_CASE(binding_return),
	KUNIT_CASE(binding_return_valid),
	KUNIT_CASE(binding_return_stuck),
	KUNIT_CASE(binding_return_dead),
	KUNIT_CASE(binding_return_silent),
	KUNIT_CASE(binding_unposted),
	KUNIT_CASE(binding_strays),
	KUNIT_CASE(binding_remote),
	KUNIT_CASE(binding_returned),
	KUNIT_CASE(binding_use),
	KUNIT_CASE(binding_write),
	KUNIT_CASE(binding_write_no_grant),
	KUNIT_CASE(binding_write_recalled),
	KUNIT_CASE(binding_write_short),
	KUNIT_CASE(binding_write_returned),
	{}
};

static struct kunit_suite binding_suite = {
	.name = "rdmafs_xprt_binding",
	.init = binding_init,
	.exit = binding_exit,
	.test_cases = binding_cases,
};

kunit_test_suite(binding_suite);
