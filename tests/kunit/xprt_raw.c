// SPDX-License-Identifier: GPL-2.0
/*
 * One end of a connection in bare verbs.  Its user is a KUnit case, which is one thread and
 * sends one message at a time.  Messages that arrive are kept until the case asks for them.  All
 * of this is process context: completions come on a workqueue.
 */
#include <linux/delay.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include "transport/points.h"
#include "transport/server/server.h"
#include "xprt_raw.h"

static char *address = "10.9.0.1";
module_param(address, charp, 0444);
MODULE_PARM_DESC(address, "IPv4 address of an RDMA device of this machine");

/**
 * raw_address - get the address of the module's parameter
 * @port: port
 * @addr: out: the address
 *
 * Context: any.
 *
 * Return: 0 or -EINVAL.
 */
int raw_address(u16 port, struct sockaddr_in *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->sin_family = AF_INET;
	addr->sin_port = htons(port);
	return in4_pton(address, -1, (u8 *)&addr->sin_addr, -1, NULL) ? 0 : -EINVAL;
}

/**
 * raw_address_name - get the module's parameter as text
 *
 * Context: any.
 *
 * Return: the text.
 */
const char *raw_address_name(void)
{
	return address;
}

static struct {
	struct sockaddr_storage from;
	struct sockaddr_storage to;
	bool set;
} raw_way;

/**
 * raw_route - let connections go from one address to another from now on
 * @from: own address; NULL: any, and to the parameter's address again
 * @to:   peer's address
 *
 * Context: the case's thread.
 *
 * Return: 0 or a negative errno.
 */
int raw_route(const char *from, const char *to)
{
	int ret;

	raw_way.set = false;
	if (!from)
		return 0;
	ret = inet_pton_with_scope(&init_net, AF_UNSPEC, from, NULL, &raw_way.from);
	if (!ret)
		ret = inet_pton_with_scope(&init_net, AF_UNSPEC, to, NULL, &raw_way.to);
	raw_way.set = !ret;
	return ret;
}

static struct sockaddr_storage raw_claim;

/**
 * raw_pretend - let connection requests claim another source address from now on
 * @from: address to claim; NULL: the real one again
 *
 * On iWARP a request holds no address.
 *
 * Context: the case's thread.
 *
 * Return: 0 or a negative errno.
 */
int raw_pretend(const char *from)
{
	raw_claim.ss_family = AF_UNSPEC;
	return from ? inet_pton_with_scope(&init_net, AF_UNSPEC, from, NULL, &raw_claim) : 0;
}

/* The connection manager copies this address into the request, and has no other use for it. */
static void raw_claim_address(struct sockaddr_storage *own)
{
	if (raw_claim.ss_family == AF_INET)
		((struct sockaddr_in *)own)->sin_addr =
			((struct sockaddr_in *)&raw_claim)->sin_addr;
	else if (raw_claim.ss_family == AF_INET6)
		((struct sockaddr_in6 *)own)->sin6_addr =
			((struct sockaddr_in6 *)&raw_claim)->sin6_addr;
}

/* Get the peer's address, and in @from our own, or NULL for any. */
static int raw_ends(u16 port, struct sockaddr_storage *to, struct sockaddr **from)
{
	*from = NULL;
	if (!raw_way.set)
		return raw_address(port, (struct sockaddr_in *)to);
	*from = (struct sockaddr *)&raw_way.from;
	*to = raw_way.to;
	/* The port is at the same offset for both families. */
	((struct sockaddr_in *)to)->sin_port = htons(port);
	return 0;
}

/**
 * raw_fill_cm - fill in private data that each peer accepts
 * @cm: out: the private data
 *
 * Context: any.
 */
void raw_fill_cm(struct rxp_wire_cm *cm)
{
	*cm = (struct rxp_wire_cm) {
		.magic = cpu_to_le32(RXP_WIRE_MAGIC),
		.version = cpu_to_le16(RXP_WIRE_VERSION),
		.count = 1,
		.recv_size = cpu_to_le32(RXP_MSG_MAX),
		.data_max = cpu_to_le32(RDMAFS_XPRT_DATA_MAX),
		.slots = cpu_to_le16(RAW_SLOTS),
		.reserve = cpu_to_le16(RXP_RECV_RESERVE),
	};
}

/**
 * raw_limits - get limits for a server
 *
 * These are the defaults, but for the time within which a client must say HELLO: the case's
 * thread is the client, and may be slow.
 *
 * Context: any.
 *
 * Return: the limits.
 */
struct rdmafs_xprt_limits raw_limits(void)
{
	struct rdmafs_xprt_limits limits;

	rdmafs_xprt_limits_default(&limits);
	limits.unbound_ms = RAW_PATIENT_MS;
	return limits;
}

/**
 * raw_no_lease - keep a server from ending connections and sessions that are silent
 * @server: the server
 *
 * Context: process, may sleep.
 */
void raw_no_lease(struct rdmafs_xprt_server *server)
{
	cancel_delayed_work_sync(&server->lease);
}

/* ----------------------------------------------------------------- completions */

static void raw_failed(struct raw *raw)
{
	WRITE_ONCE(raw->cut, true);
	wake_up_all(&raw->wait);
}

/**
 * raw_event - handle an event of a connection's own id, at either end
 * @id:    id whose context is a struct raw
 * @event: the event
 *
 * Context: process; the connection manager holds the id's handler lock.
 *
 * Return: 0.
 */
int raw_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	const struct rxp_wire_reject *rej;
	struct raw *raw = id->context;
	u8 len = 0;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_ESTABLISHED:
		break;
	case RDMA_CM_EVENT_REJECTED:
		rej = rdma_consumer_reject_data(id, event, &len);
		if (!rej && rdma_protocol_iwarp(id->device, id->port_num)) {
			/*
			 * siw reports ECONNRESET, which the core does not recognise as a
			 * rejection by the peer.
			 */
			rej = event->param.conn.private_data;
			len = event->param.conn.private_data_len;
		}
		if (rej && len >= sizeof(*rej))
			raw->reason = le16_to_cpu(rej->reason);
		raw->status = -ECONNREFUSED;
		/*
		 * This event also comes for a connection, if the peer ends it before it has
		 * heard that the connection stands.  An end without posted receives learns it
		 * only here.
		 */
		raw_failed(raw);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		raw_failed(raw);
		if (READ_ONCE(raw->follows))
			rdma_disconnect(id);
		return 0;
	default:
		raw->status = event->status ?: -ECONNREFUSED;
		raw_failed(raw);
	}
	complete(&raw->step);
	return 0;
}

static void raw_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct raw_msg *m = container_of(wc->wr_cqe, struct raw_msg, cqe);

	if (wc->status == IB_WC_SUCCESS) {
		m->len = wc->byte_len;
		atomic_inc(&m->raw->arrived);
	} else {
		WRITE_ONCE(m->raw->cut, true);
	}
	wake_up_all(&m->raw->wait);
}

static void raw_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct raw_msg *m = container_of(wc->wr_cqe, struct raw_msg, cqe);

	m->raw->send_ok = wc->status == IB_WC_SUCCESS;
	if (!m->raw->send_ok)
		raw_failed(m->raw);
	complete(&m->raw->sent);
}

static void raw_more_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct raw *raw = container_of(wc->wr_cqe, struct raw, more);

	if (wc->status != IB_WC_SUCCESS)
		raw_failed(raw);
}

/* ------------------------------------------------------------------ life and end */

static void raw_free(struct raw *raw)
{
	kvfree(raw->recv);
	kvfree(raw->send);
	kfree(raw);
}

/**
 * raw_alloc - allocate an end without a device
 *
 * The caller sets raw->id.
 *
 * Context: process, may sleep.
 *
 * Return: the end, or NULL.
 */
struct raw *raw_alloc(void)
{
	struct raw *raw = kzalloc(sizeof(*raw), GFP_KERNEL);
	int i;

	if (!raw)
		return NULL;
	init_waitqueue_head(&raw->wait);
	init_completion(&raw->step);
	init_completion(&raw->sent);
	INIT_LIST_HEAD(&raw->link);
	raw->more.done = raw_more_done;
	raw->recvs = RAW_RECVS;
	raw->recv = kvmalloc_array(RAW_RECVS, sizeof(*raw->recv), GFP_KERNEL);
	raw->send = kvzalloc(sizeof(*raw->send), GFP_KERNEL);
	if (!raw->recv || !raw->send) {
		raw_free(raw);
		return NULL;
	}
	/* Filling all of it with zeros would be most of the time that connecting takes. */
	for (i = 0; i < RAW_RECVS; i++)
		memset(&raw->recv[i], 0, offsetof(struct raw_msg, buf) + RXP_HEAD_MAX);
	return raw;
}

static int raw_map(struct raw *raw, struct raw_msg *m, void (*done)(struct ib_cq *, struct ib_wc *),
		   enum dma_data_direction dir)
{
	m->raw = raw;
	m->cqe.done = done;
	m->dma = ib_dma_map_single(raw->id->device, m->buf, sizeof(m->buf), dir);
	return ib_dma_mapping_error(raw->id->device, m->dma) ? -ENOMEM : 0;
}

/**
 * raw_repost - give a receive to the device, for the first time or again
 * @raw: the end
 * @m:   the receive
 *
 * Context: any.
 *
 * Return: 0 or the error of ib_post_recv().
 */
int raw_repost(struct raw *raw, struct raw_msg *m)
{
	struct ib_sge sge = {
		.addr = m->dma, .length = RXP_MSG_MAX, .lkey = raw->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_cqe = &m->cqe, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(raw->id->qp, &wr, NULL);
}

/**
 * raw_sge - get the number of entries of a SEND
 * @raw: the end
 *
 * With that many of our buffers a SEND is longer than any receive of the peer, if the device
 * allows it.
 *
 * Context: any.
 *
 * Return: the number.
 */
int raw_sge(struct raw *raw)
{
	return min(RXP_RECV_MAX / RXP_MSG_MAX + 1, raw->id->device->attrs.max_send_sge);
}

/**
 * raw_setup - create queues, and post receives, on the device that raw->id is bound to
 * @raw: the end
 *
 * Context: process, may sleep.
 *
 * Return: 0 or a negative errno; raw_close() frees all in either case.
 */
int raw_setup(struct raw *raw)
{
	struct ib_qp_init_attr attr = {
		.cap.max_send_wr = 16,
		.cap.max_recv_wr = RAW_RECVS + 1,
		.cap.max_send_sge = raw_sge(raw),
		.cap.max_recv_sge = 1,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};
	int ret, i;

	raw->pd = ib_alloc_pd(raw->id->device, 0);
	if (IS_ERR(raw->pd))
		return PTR_ERR(raw->pd);
	raw->cq = ib_alloc_cq_any(raw->id->device, raw, RAW_RECVS + 32, IB_POLL_WORKQUEUE);
	if (IS_ERR(raw->cq))
		return PTR_ERR(raw->cq);
	attr.send_cq = raw->cq;
	attr.recv_cq = raw->cq;
	ret = rdma_create_qp(raw->id, raw->pd, &attr);
	if (!ret)
		ret = raw_map(raw, raw->send, raw_send_done, DMA_TO_DEVICE);
	for (i = 0; !ret && i < RAW_RECVS; i++) {
		ret = raw_map(raw, &raw->recv[i], raw_recv_done, DMA_FROM_DEVICE);
		if (!ret && i < raw->recvs)
			ret = raw_repost(raw, &raw->recv[i]);
	}
	return ret;
}

/**
 * raw_step - wait for the step that a call of the connection manager has begun
 * @raw: the end
 * @ret: result of that call
 *
 * Context: process, may sleep.
 *
 * Return: @ret if it is not 0, else the step's result, or -ETIMEDOUT.
 */
int raw_step(struct raw *raw, int ret)
{
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&raw->step, RAW_WAIT))
		return -ETIMEDOUT;
	return raw->status;
}

/**
 * raw_close - disconnect, and free an end
 * @raw: the end; its id must be set
 *
 * Context: process, may sleep; not an event handler.
 */
void raw_close(struct raw *raw)
{
	struct ib_device *ib = raw->id->device;
	int i;

	if (raw->id->qp) {
		rdma_disconnect(raw->id);
		ib_drain_qp(raw->id->qp);
		rdma_destroy_qp(raw->id);
	}
	for (i = 0; i < RAW_RECVS; i++)
		if (raw->recv[i].dma)
			ib_dma_unmap_single(ib, raw->recv[i].dma, sizeof(raw->recv[i].buf),
					    DMA_FROM_DEVICE);
	if (raw->send->dma)
		ib_dma_unmap_single(ib, raw->send->dma, sizeof(raw->send->buf), DMA_TO_DEVICE);
	if (!IS_ERR_OR_NULL(raw->cq))
		ib_free_cq(raw->cq);
	if (!IS_ERR_OR_NULL(raw->pd))
		ib_dealloc_pd(raw->pd);
	rdma_destroy_id(raw->id);
	raw_free(raw);
}

static bool raw_unheard;

/*
 * Connect.  If raw_unheard is set the server does not hear that its answer has arrived: the
 * connection manager tells it so only for queue pairs that it knows.
 */
static int raw_connect(struct raw *raw, struct rdma_conn_param *param)
{
	static const enum ib_qp_state states[] = { IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS };
	struct ib_qp *qp = raw->id->qp;
	struct ib_qp_attr attr = {};
	int ret, i, mask;

	if (!raw_unheard)
		return raw_step(raw, rdma_connect(raw->id, param));
	param->qp_num = qp->qp_num;
	raw->id->qp = NULL;
	ret = raw_step(raw, rdma_connect(raw->id, param));
	raw->id->qp = qp;
	for (i = 0; !ret && i < ARRAY_SIZE(states); i++) {
		attr.qp_state = states[i];
		ret = rdma_init_qp_attr(raw->id, &attr, &mask);
		if (!ret)
			ret = ib_modify_qp(qp, &attr, mask);
	}
	return ret;
}

/*
 * Open a client's end, connected, without a session.  It has posted @recvs receives, and asks
 * the server to send again what is not taken as often as @retries and @rnr_retries say.
 * @reason may be NULL.
 */
static struct raw *raw_open_with(u16 port, const struct rxp_wire_cm *cm, u16 *reason, u32 recvs,
				 u8 retries, u8 rnr_retries)
{
	struct rdma_conn_param param = {
		.private_data = cm, .private_data_len = sizeof(*cm),
		.retry_count = retries, .rnr_retry_count = rnr_retries,
	};
	struct raw *raw = raw_alloc();
	struct sockaddr_storage to;
	struct sockaddr *from;
	int ret;

	if (!raw)
		return ERR_PTR(-ENOMEM);
	raw->recvs = recvs;
	raw->id = rdma_create_id(&init_net, raw_event, raw, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(raw->id)) {
		ret = PTR_ERR(raw->id);
		raw_free(raw);
		return ERR_PTR(ret);
	}
	ret = raw_ends(port, &to, &from);
	if (!ret)
		ret = raw_step(raw, rdma_resolve_addr(raw->id, from, (struct sockaddr *)&to, 5000));
	if (!ret)
		ret = raw_step(raw, rdma_resolve_route(raw->id, 5000));
	if (!ret)
		ret = raw_setup(raw);
	raw_claim_address(&raw->id->route.addr.src_addr);
	if (!ret)
		ret = raw_connect(raw, &param);
	if (reason)
		*reason = raw->reason;
	if (ret) {
		raw_close(raw);
		return ERR_PTR(ret);
	}
	return raw;
}

/**
 * raw_open_as - open a client's end with all receives
 * @port:   the server's port
 * @cm:     private data
 * @reason: out: RXP_REJECT_*, or 0; may be NULL
 *
 * Context: process, may sleep.
 *
 * Return: the end, connected, or an ERR_PTR.
 */
struct raw *raw_open_as(u16 port, const struct rxp_wire_cm *cm, u16 *reason)
{
	return raw_open_with(port, cm, reason, RAW_RECVS, 6, 6);
}

/**
 * raw_open_retries - open a client's end that asks for other retry counts
 * @port:   the server's port
 * @cm:     private data
 * @retries: times that the server is to send again what is not acknowledged
 * @rnr_retries: times that the server is to send again what finds no receive
 * @reason: out: RXP_REJECT_*, or 0; may be NULL
 *
 * Context: process, may sleep.
 *
 * Return: the end, connected, or an ERR_PTR.
 */
struct raw *raw_open_retries(u16 port, const struct rxp_wire_cm *cm, u8 retries, u8 rnr_retries,
			     u16 *reason)
{
	return raw_open_with(port, cm, reason, RAW_RECVS, retries, rnr_retries);
}

/**
 * raw_open_standing - open a client's end that lets the server's send queue stand
 * @port:  the server's port
 * @cm:    private data
 * @recvs: receives to post
 *
 * The server sends again for ever what finds no receive, though it allows that to no client: so
 * its queue stands for as long as the case takes, however slow the machine is.  The same holds for
 * timeouts: rxe counts those of a slow machine until something is acknowledged, and here nothing
 * is.
 *
 * Context: process, may sleep.
 *
 * Return: the end, connected, or an ERR_PTR.
 */
struct raw *raw_open_standing(u16 port, const struct rxp_wire_cm *cm, u32 recvs)
{
	struct raw *raw;

	WRITE_ONCE(rdmafs_test_knobs.retries, 7);
	raw = raw_open_with(port, cm, NULL, recvs, 7, 7);
	WRITE_ONCE(rdmafs_test_knobs.retries, 0);
	return raw;
}

/**
 * raw_open_unheard - open a client's end of which the server has not heard that it stands
 * @port:  the server's port
 * @cm:    private data
 * @recvs: receives to post
 *
 * Not for iWARP.
 *
 * Context: process, may sleep.
 *
 * Return: the end, connected, or an ERR_PTR.
 */
struct raw *raw_open_unheard(u16 port, const struct rxp_wire_cm *cm, u32 recvs)
{
	struct raw *raw;

	raw_unheard = true;
	raw = raw_open_with(port, cm, NULL, recvs, 6, 6);
	raw_unheard = false;
	return raw;
}

/**
 * raw_open - open a client's end with all receives and correct private data
 * @port: the server's port
 *
 * Context: process, may sleep.
 *
 * Return: the end, connected, or an ERR_PTR.
 */
struct raw *raw_open(u16 port)
{
	struct rxp_wire_cm cm;

	raw_fill_cm(&cm);
	return raw_open_as(port, &cm, NULL);
}

/**
 * raw_accept - set up a server's end, and accept its connection
 * @raw:  the end, of a connection request
 * @data: private data
 * @len:  bytes of @data
 *
 * Context: process, may sleep.
 *
 * Return: 0 or a negative errno.
 */
int raw_accept(struct raw *raw, const void *data, u8 len)
{
	struct rdma_conn_param param = {
		.private_data = data, .private_data_len = len,
		.rnr_retry_count = raw->rnr_retries ?: 6,
	};
	int ret = raw_setup(raw);

	if (ret)
		return ret;
	/* The event of the request holds this lock: wait for that to be over. */
	rdma_lock_handler(raw->id);
	ret = rdma_accept(raw->id, &param);
	rdma_unlock_handler(raw->id);
	return raw_step(raw, ret);
}

/**
 * raw_wait_cut - wait until a connection is lost
 * @raw: the end
 *
 * Context: process, may sleep, for up to RAW_WAIT.
 *
 * Return: true if it is lost.
 */
bool raw_wait_cut(struct raw *raw)
{
	return wait_event_timeout(raw->wait, READ_ONCE(raw->cut), RAW_WAIT);
}

/* ---------------------------------------------------------------------- sending */

/**
 * raw_post - post work requests, and wait until the device is done with the last
 * @raw: the end
 * @wr:  work requests; the last one is for raw->send
 *
 * Context: process, may sleep.
 *
 * Return: 0, -ETIMEDOUT or the error of ib_post_send(); raw->send_ok tells whether it was
 * executed.
 */
int raw_post(struct raw *raw, struct ib_send_wr *wr)
{
	struct ib_send_wr *last;
	int ret;

	for (last = wr; last->next; last = last->next)
		last->wr_cqe = &raw->more;
	last->wr_cqe = &raw->send->cqe;
	ib_dma_sync_single_for_device(raw->id->device, raw->send->dma, sizeof(raw->send->buf),
				      DMA_TO_DEVICE);
	reinit_completion(&raw->sent);
	ret = ib_post_send(raw->id->qp, wr, NULL);
	if (!ret && !wait_for_completion_timeout(&raw->sent, RAW_WAIT))
		ret = -ETIMEDOUT;
	return ret;
}

/**
 * raw_send - SEND the bytes in raw->send
 * @raw:  the end
 * @len:  number of bytes
 * @rkey: key that the SEND invalidates, or 0
 *
 * Context: process, may sleep.
 *
 * Return: as raw_post().
 */
int raw_send(struct raw *raw, u32 len, u32 rkey)
{
	struct ib_sge sge = {
		.addr = raw->send->dma, .length = len, .lkey = raw->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.sg_list = &sge, .num_sge = len ? 1 : 0,
		.opcode = rkey ? IB_WR_SEND_WITH_INV : IB_WR_SEND,
		.ex.invalidate_rkey = rkey,
	};

	return raw_post(raw, &wr);
}

/**
 * raw_write - RDMA WRITE the bytes in raw->send
 * @raw:  the end
 * @iova: address
 * @rkey: key
 * @len:  number of bytes
 *
 * Context: process, may sleep.
 *
 * Return: as raw_post().
 */
int raw_write(struct raw *raw, u64 iova, u32 rkey, u32 len)
{
	struct ib_sge sge = {
		.addr = raw->send->dma, .length = len, .lkey = raw->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr.sg_list = &sge, .wr.num_sge = 1, .wr.opcode = IB_WR_RDMA_WRITE,
		.remote_addr = iova, .rkey = rkey,
	};

	return raw_post(raw, &wr.wr);
}

/**
 * raw_write_imm - RDMA WRITE with immediate data
 * @raw:  the end
 * @iova: address
 * @rkey: key
 * @len:  number of bytes; those in raw->send are written as often as necessary
 *
 * Context: process, may sleep.
 *
 * Return: as raw_post(); -EINVAL: more than the device takes at once.
 */
int raw_write_imm(struct raw *raw, u64 iova, u32 rkey, u32 len)
{
	struct ib_sge sge[8];
	struct ib_rdma_wr wr = {
		.wr.sg_list = sge, .wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM,
		.remote_addr = iova, .rkey = rkey,
	};
	int nr = 0;

	while (len && nr < min_t(int, raw_sge(raw), ARRAY_SIZE(sge))) {
		sge[nr] = (struct ib_sge) {
			.addr = raw->send->dma, .length = min_t(u32, len, RXP_MSG_MAX),
			.lkey = raw->pd->local_dma_lkey,
		};
		len -= sge[nr++].length;
	}
	wr.wr.num_sge = nr;
	return len ? -EINVAL : raw_post(raw, &wr.wr);
}

/**
 * raw_send_imm - SEND with immediate data
 * @raw: the end
 * @len: number of bytes in raw->send
 *
 * Context: process, may sleep.
 *
 * Return: as raw_post().
 */
int raw_send_imm(struct raw *raw, u32 len)
{
	struct ib_sge sge = {
		.addr = raw->send->dma, .length = len, .lkey = raw->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND_WITH_IMM,
	};

	return raw_post(raw, &wr);
}

/**
 * raw_put_call - write a CALL, but for data inside it
 * @buf: buffer
 * @f:   values of the CALL; a body that is NULL is written as zeros
 *
 * Other fields of @f are ignored.  transport/frame.c is not used, as a case may want a CALL that
 * it would not build.
 *
 * Context: any.
 *
 * Return: number of bytes.
 */
u32 raw_put_call(void *buf, const struct rxp_frame *f)
{
	struct rxp_wire_hdr *hdr = buf;
	struct rxp_wire_call *call = (struct rxp_wire_call *)(hdr + 1);

	*hdr = (struct rxp_wire_hdr) {
		.type = RXP_CALL,
		.slot = cpu_to_le16(f->slot),
		.seq = cpu_to_le32(f->seq),
		.body_len = cpu_to_le16(f->body_len),
		.flags = cpu_to_le16(f->flags),
		.data_len = cpu_to_le32(f->data_len),
	};
	*call = (struct rxp_wire_call) {
		.bulk_len = cpu_to_le32(f->bulk.length),
		.rkey = cpu_to_le32(f->bulk.rkey),
		.iova = cpu_to_le64(f->bulk.iova),
	};
	if (f->body)
		memcpy(call + 1, f->body, f->body_len);
	else
		memset(call + 1, 0, f->body_len);
	return sizeof(*hdr) + sizeof(*call) + f->body_len;
}

/**
 * raw_send_call - SEND a CALL without data inside it
 * @raw: the end
 * @f:   as for raw_put_call()
 *
 * Context: process, may sleep.
 *
 * Return: as raw_post().
 */
int raw_send_call(struct raw *raw, const struct rxp_frame *f)
{
	return raw_send(raw, raw_put_call(raw->send->buf, f), 0);
}

/**
 * raw_say - SEND a CONTROL or NOTIFY
 * @raw:  the end
 * @type: RXP_CONTROL or RXP_NOTIFY
 * @op:   op
 * @slot: slot
 * @seq:  sequence number
 * @body: structure behind the header
 * @len:  bytes of @body; may be 0
 * @inv_rkey: key that the SEND invalidates, or 0
 *
 * Context: process, may sleep.
 *
 * Return: as raw_post().
 */
int raw_say(struct raw *raw, u8 type, u8 op, u16 slot, u32 seq, const void *body, u32 len,
	    u32 inv_rkey)
{
	struct rxp_wire_hdr *hdr = (struct rxp_wire_hdr *)raw->send->buf;

	memset(hdr, 0, sizeof(*hdr));
	hdr->type = type;
	hdr->op = op;
	hdr->slot = cpu_to_le16(slot);
	hdr->seq = cpu_to_le32(seq);
	if (len)
		memcpy(hdr + 1, body, len);
	return raw_send(raw, sizeof(*hdr) + len, inv_rkey);
}

/**
 * raw_return - SEND a RETURN of one grant
 * @raw:  the end
 * @rkey: the grant's key
 *
 * Context: process, may sleep.
 *
 * Return: as raw_post().
 */
int raw_return(struct raw *raw, u32 rkey)
{
	const __le32 body[] = { cpu_to_le32(1), cpu_to_le32(rkey) };

	return raw_say(raw, RXP_CONTROL, RXP_CONTROL_RETURN, 0, 0, body, sizeof(body), 0);
}

/* -------------------------------------------------------------------- receiving */

static bool raw_arrived(struct raw *raw)
{
	return READ_ONCE(raw->cut) || atomic_read(&raw->arrived) > raw->taken;
}

/**
 * raw_arrives - wait for a message
 * @raw: the end
 *
 * Context: process, may sleep, for up to RAW_WAIT.
 *
 * Return: true if there is one that was not taken yet.
 */
bool raw_arrives(struct raw *raw)
{
	wait_event_timeout(raw->wait, raw_arrived(raw), RAW_WAIT);
	return atomic_read(&raw->arrived) > raw->taken;
}

/**
 * raw_next_msg - take the next message, or wait for it
 * @raw: the end
 *
 * Context: process, may sleep, for up to RAW_WAIT.
 *
 * Return: the message, or NULL: none came, or the connection is lost.
 */
struct raw_msg *raw_next_msg(struct raw *raw)
{
	struct raw_msg *m;

	if (!raw_arrives(raw))
		return NULL;
	m = &raw->recv[raw->taken++ % RAW_RECVS];
	ib_dma_sync_single_for_cpu(raw->id->device, m->dma, sizeof(m->buf), DMA_FROM_DEVICE);
	return m;
}

/**
 * raw_next - take the header of the next message, or wait for it
 * @raw: the end
 *
 * Context: process, may sleep, for up to RAW_WAIT.
 *
 * Return: the header, or NULL: none came, or the connection is lost.
 */
struct rxp_wire_hdr *raw_next(struct raw *raw)
{
	struct raw_msg *m = raw_next_msg(raw);

	return m ? (struct rxp_wire_hdr *)m->buf : NULL;
}

/**
 * raw_expect - take the next message, which must be this one
 * @test: the case; it fails if another message comes, and is aborted if none comes
 * @raw:  the end
 * @type: type
 * @op:   op
 * @slot: slot
 * @seq:  sequence number
 *
 * Its receive is not posted again.
 *
 * Context: process, may sleep, for up to RAW_WAIT.
 *
 * Return: the bytes behind the header.
 */
void *raw_expect(struct kunit *test, struct raw *raw, u8 type, u8 op, u16 slot, u32 seq)
{
	struct rxp_wire_hdr *hdr = raw_next(raw);

	KUNIT_ASSERT_NOT_NULL_MSG(test, hdr, "no message, cut: %d", raw->cut);
	KUNIT_EXPECT_EQ(test, hdr->type, type);
	KUNIT_EXPECT_EQ(test, hdr->op, op);
	KUNIT_EXPECT_EQ(test, le16_to_cpu(hdr->slot), slot);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(hdr->seq), seq);
	return hdr + 1;
}
