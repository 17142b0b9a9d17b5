// SPDX-License-Identifier: GPL-2.0
/*
 * The queues of a connection: one RC queue pair, one completion queue.
 *
 * The possible length of a send queue depends on the size of a work request in it.  The verbs do
 * not tell it: they bound the number of work requests and the entries of each, but not both
 * together.  mlx5 counts blocks of 64 bytes, and a request with 16 entries takes several, so its
 * queues can't hold 4,096 of them.  If the device refuses a queue, a smaller one is tried: first
 * with fewer entries in a work request, which costs only more work requests for data in many
 * pieces, then a shorter one (qp_plan.c).
 */
#include <linux/log2.h>
#include "transport/internal.h"

static void rxp_qp_event(struct ib_event *event, void *context)
{
	struct rxp_conn *conn = context;

	/* A message came before the CM's last one, which may have been lost: tell the CM. */
	if (event->event == IB_EVENT_COMM_EST) {
		rdma_notify(conn->id, IB_EVENT_COMM_EST);
		return;
	}

	/* Other errors come as completions, too; these must be noticed here. */
	if (event->event == IB_EVENT_QP_FATAL || event->event == IB_EVENT_QP_ACCESS_ERR ||
	    event->event == IB_EVENT_QP_REQ_ERR)
		rxp_conn_lost(conn);
}

/*
 * Choose a completion vector.  The connections of a session complete on successive CPUs, and each
 * new session begins at the next.
 */
static int rxp_conn_vector(struct rxp_conn *conn)
{
	static atomic_t next = ATOMIC_INIT(0);
	u32 vectors = min_t(u32, conn->id->device->num_comp_vectors, num_online_cpus());

	if (!conn->index)
		conn->pool->vector = atomic_inc_return(&next);
	return (conn->pool->vector + conn->index) % max(vectors, 1U);
}

/* For tests: refuse a queue of more than queue_blocks blocks, as mlx5 would. */
static int rxp_qp_refused(const struct ib_qp_init_attr *attr)
{
	u32 blocks = rdmafs_test_knob(queue_blocks);
	u32 each = roundup_pow_of_two(DIV_ROUND_UP(32 + 16 * attr->cap.max_send_sge, 64));

	return blocks && attr->cap.max_send_wr * each > blocks ? -ENOMEM : 0;
}

static int rxp_qp_try(struct rxp_conn *conn, const struct rxp_qp_plan *plan,
		      enum ib_poll_context poll)
{
	struct ib_qp_init_attr attr = {
		.event_handler = rxp_qp_event,
		.qp_context = conn,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		/* One more of each kind for the work requests of ib_drain_qp(). */
		.cap.max_send_wr = plan->sends + 1,
		.cap.max_recv_wr = conn->nr_rx + 1,
		.cap.max_send_sge = max_t(u32, plan->sges, 2),
		.cap.max_recv_sge = 1,
	};
	struct ib_cq *cq;
	int ret;

	cq = ib_alloc_cq(conn->rdev->ib, conn, plan->sends + conn->nr_rx + 2,
			 rxp_conn_vector(conn), poll);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	ret = rxp_qp_refused(&attr) ?: rdma_create_qp(conn->id, conn->pool->pd, &attr);
	if (ret) {
		ib_free_cq(cq);
		return ret;
	}
	conn->cq = cq;
	conn->qp = conn->id->qp;
	conn->send_sge = max_t(u32, plan->sges, 2);
	conn->sq_free = plan->sends;
	conn->sq_quiet_max = plan->sends / 4;
	return 0;
}

/**
 * rxp_qp_create - make a connection's queues, as large as the device can
 * @conn:    has its pool and the number of its receives
 * @carried: slots that travel on it
 * @poll:    the context in which completions are handled
 *
 * If the device allows only fewer entries in a work request, the RDMA WRITEs of @conn's pool have
 * no more from now on.  If a longer one was built before, posting it costs the connection, and it
 * is built anew for the next one.
 *
 * Context: process, may sleep.
 *
 * Return: 0; or the device's error for the smallest queues.
 */
int rxp_qp_create(struct rxp_conn *conn, u32 carried, enum ib_poll_context poll)
{
	const struct rxp_device *rdev = conn->rdev;
	u32 sges = conn->pool->max_sge;
	struct rxp_qp_plan plan;
	u32 step = 0;
	int ret;

	do {
		plan = rxp_qp_plan(step++, carried, rdev->max_entries, sges,
				   rdev->ib->attrs.max_qp_wr);
		ret = rxp_qp_try(conn, &plan, poll);
	} while ((ret == -ENOMEM || ret == -EINVAL) && !plan.last);
	if (ret)
		return ret;
	if (step > 1)
		pr_info_once("rdmafs: %s has no room for send queues of more than %u work requests of %u entries\n",
			     rdev->ib->name, plan.sends, plan.sges);
	if (plan.sges < sges)
		WRITE_ONCE(conn->pool->max_sge, plan.sges);
	return 0;
}
