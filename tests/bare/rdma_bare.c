// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the time that a link and a device take to move data, without any file system: by a
 * bare RDMA WRITE and SEND, answered by a SEND.
 *
 * When the module is loaded it listens on port 20061.  Writing
 *
 *	ADDRESS SIZE COUNT DEPTH [copy|gather]
 *
 * to /proc/rdma_bare connects to the module at that IPv4 address, which may be the machine's own.
 * It moves SIZE bytes COUNT times, with DEPTH of these transfers outstanding, each from memory of
 * its own and into memory of its own, as I/O does.  The write returns when all are done.
 *
 * With "copy" or "gather" the data, at most a page, is inside the SEND.  With "copy" it is copied
 * into memory that stays mapped, and most SENDs are unsignaled.  With "gather" the device gathers
 * it from its page, which is mapped for each SEND and unmapped by the completion.
 *
 * Reading the file gives the time that the last run took:
 *
 *	size SIZE count COUNT depth DEPTH ns NANOSECONDS
 *
 * All memory is registered before the clock runs, sends are unsignaled but for one in
 * BARE_SIGNAL, and both sides handle completions in softirq.  So no protocol that moves data and
 * reports its end can be cheaper.
 *
 * A connection is freed in process context: by the writing task on the client's side, and by a
 * worker (bare_end()) on the server's.
 */
#include <linux/inet.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/scatterlist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#define BARE_PORT	20061
#define BARE_MAX	(1024 * 1024)	/* bytes of one RDMA WRITE */
#define BARE_ORDER	4		/* largest order of the pieces of memory that are moved */
#define BARE_PIECE	(PAGE_SIZE << BARE_ORDER)
#define BARE_PIECES	(BARE_MAX / BARE_PIECE)
#define BARE_DEPTH	64
#define BARE_SIGNAL	16
#define BARE_MS		10000		/* time limit for each step of connecting */
#define BARE_RX		(PAGE_SIZE + 1024)	/* bytes of the message pages for receives */
#define BARE_COLD	4096		/* number of pages that data inside SENDs is taken from */
#define BARE_OPS	256		/* more than are ever posted and not completed */

/* How data is moved: by RDMA WRITEs, or inside the SEND, copied or gathered. */
enum bare_how { BARE_WRITE, BARE_COPY, BARE_GATHER };

/* Private data of the client's connection request. */
struct bare_ask {
	__le32 size;			/* bytes of an RDMA WRITE; 0 if there will be none */
	__le32 depth;
};

/*
 * The contents of a SEND.  The client's first one is empty.  The server's answer has @depth of
 * these, which say where the client may write.  All later messages are empty again.
 */
struct bare_msg {
	__le64 iova;
	__le32 rkey;
	__le32 unused;
};

struct bare_conn;

/* The memory of one outstanding RDMA WRITE; the server has an MR for it. */
struct bare_buf {
	struct scatterlist sgl[BARE_PIECES];
	int mapped;
	struct ib_mr *mr;
	struct ib_reg_wr reg;
	u64 iova;			/* client: the server's address and key */
	u32 rkey;
};

/* A SEND with data inside. */
struct bare_op {
	struct bare_conn *c;
	struct ib_cqe cqe;
	void *copy;			/* page that data is copied into */
	u64 copy_dma;
	u64 dma;			/* page that data is gathered from, until the completion */
};

/**
 * struct bare_conn - one end of a connection
 * @id:	      the CM's part; its context is this struct
 * @pd:	      protection domain
 * @cq:	      for sends and receives; completions come in softirq, one at a time
 * @size:     bytes of a transfer
 * @depth:    transfers outstanding at a time
 * @bufs:     @depth of them, if there are RDMA WRITEs
 * @order:    order of the pieces of @bufs
 * @pieces:   number of pieces of each
 * @greeted:  the first message has come; used by the handler of receives only
 * @msgs:     two pages: the first BARE_RX bytes are received into, the rest is sent
 * @msgs_dma: its DMA address; 0 if it is not mapped
 * @recv_cqe: for receives
 * @send_cqe: for all work requests but those of @ops
 * @step:     completed when a step of connecting, or the whole run, has ended or failed
 * @status:   0, or the errno of the first failure
 * @sends:    number of SENDs that may be unsignaled, to signal one in BARE_SIGNAL
 * @end:      server: frees the connection
 * @ending:   bit 0: @end is queued
 * @link:     server: on bare_conns, guarded by bare_lock
 * @server:   this is the server's end
 * @count:    client, like all below: transfers to be made
 * @begun:    transfers that were posted
 * @ended:    transfers that were answered; used by the handler of receives only
 * @lock:     guards @wr and @sge until they are posted, and @next_op; bottom halves off
 * @wr:	      work requests of a transfer that is being posted
 * @sge:      their memory
 * @how:      how data is moved
 * @ops:      BARE_OPS of them, unless @how is BARE_WRITE
 * @cold:     BARE_COLD pages of data for @ops
 * @next_op:  number of the next of @ops
 */
struct bare_conn {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	u32 size;
	u32 depth;
	struct bare_buf *bufs;
	unsigned int order;
	int pieces;
	bool greeted;
	struct bare_msg *msgs;
	u64 msgs_dma;
	struct ib_cqe recv_cqe;
	struct ib_cqe send_cqe;
	struct completion step;
	int status;
	unsigned int sends;
	struct work_struct end;
	unsigned long ending;
	struct list_head link;
	bool server;

	u32 count;
	u32 begun;
	u32 ended;
	spinlock_t lock;
	struct ib_rdma_wr wr[BARE_PIECES];
	struct ib_sge sge[BARE_PIECES];
	enum bare_how how;
	struct bare_op *ops;
	void *cold;
	unsigned int next_op;
};

static struct rdma_cm_id *bare_listener;
static LIST_HEAD(bare_conns);			/* the server's connections */
static DEFINE_SPINLOCK(bare_lock);		/* guards bare_conns; process context */
static struct workqueue_struct *bare_wq;
static DEFINE_MUTEX(bare_running);		/* one run at a time; guards bare_result */
static char bare_result[128];

static void bare_fail(struct bare_conn *c, int status)
{
	if (!c->status)
		c->status = status;
	complete(&c->step);
}

static int bare_post_recv(struct bare_conn *c)
{
	struct ib_sge sge = {
		.addr	= c->msgs_dma,
		.length	= BARE_RX,
		.lkey	= c->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_cqe = &c->recv_cqe, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(c->id->qp, &wr, NULL);
}

/* Posts the chain @first to @last, if not NULL, and a SEND of @nr struct bare_msg behind it. */
static int bare_send(struct bare_conn *c, struct ib_send_wr *first, struct ib_send_wr *last,
		     u32 nr)
{
	struct ib_sge sge = {
		.addr	= c->msgs_dma + BARE_RX,
		.length	= nr * sizeof(*c->msgs),
		.lkey	= c->pd->local_dma_lkey,
	};
	struct ib_send_wr send = {
		.wr_cqe	= &c->send_cqe,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode	= IB_WR_SEND,
		.send_flags = ++c->sends % BARE_SIGNAL ? 0 : IB_SEND_SIGNALED,
	};

	if (last)
		last->next = &send;
	return ib_post_send(c->id->qp, first ?: &send, NULL);
}

/*
 * Posts a WRITE for each piece, and a SEND.  rxe sends 128 packets before it waits for an
 * acknowledgment.  On a long link it gets twice as many through by several WRITEs as by one.
 */
static int bare_write(struct bare_conn *c, u32 index)
{
	struct bare_buf *buf = &c->bufs[index % c->depth];
	struct ib_send_wr *last = NULL;
	u32 done = 0, n;
	int ret;

	spin_lock_bh(&c->lock);
	for (n = 0; done < c->size; n++) {
		struct ib_rdma_wr *wr = &c->wr[n];

		c->sge[n].addr = sg_dma_address(&buf->sgl[n]);
		c->sge[n].length = min_t(u32, c->size - done, PAGE_SIZE << c->order);
		c->sge[n].lkey = c->pd->local_dma_lkey;
		wr->wr.wr_cqe = &c->send_cqe;
		wr->wr.sg_list = &c->sge[n];
		wr->wr.num_sge = 1;
		wr->wr.opcode = IB_WR_RDMA_WRITE;
		wr->remote_addr = buf->iova + done;
		wr->rkey = buf->rkey;
		if (last)
			last->next = &wr->wr;
		last = &wr->wr;
		done += c->sge[n].length;
	}
	ret = bare_send(c, &c->wr[0].wr, last, 1);
	spin_unlock_bh(&c->lock);
	return ret;
}

static void bare_op_over(struct bare_op *op, int status)
{
	if (op->dma)
		ib_dma_unmap_page(op->c->id->device, op->dma, PAGE_SIZE, DMA_TO_DEVICE);
	op->dma = 0;
	if (status)
		bare_fail(op->c, status);
}

static void bare_op_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	bare_op_over(container_of(wc->wr_cqe, struct bare_op, cqe),
		     wc->status == IB_WC_SUCCESS ? 0 : -EIO);
}

/* Posts a SEND with the data inside, which is from another page each time. */
static int bare_send_data(struct bare_conn *c)
{
	struct ib_sge sge[2] = { {
		.addr	= c->msgs_dma + BARE_RX,
		.length	= sizeof(*c->msgs),
		.lkey	= c->pd->local_dma_lkey,
	}, {
		.length	= c->size,
		.lkey	= c->pd->local_dma_lkey,
	} };
	struct ib_send_wr send = { .sg_list = sge, .num_sge = 2, .opcode = IB_WR_SEND };
	struct ib_device *ib = c->id->device;
	struct bare_op *op;
	void *data;
	int ret;

	spin_lock_bh(&c->lock);
	op = &c->ops[c->next_op % BARE_OPS];
	data = c->cold + (c->next_op++ % BARE_COLD) * PAGE_SIZE;
	send.wr_cqe = &op->cqe;
	if (op->dma) {
		ret = -EBUSY;
		goto out;
	}
	if (c->how == BARE_GATHER) {
		op->dma = ib_dma_map_page(ib, vmalloc_to_page(data), 0, PAGE_SIZE, DMA_TO_DEVICE);
		if (ib_dma_mapping_error(ib, op->dma)) {
			op->dma = 0;
			ret = -ENOMEM;
			goto out;
		}
		sge[1].addr = op->dma;
		send.send_flags = IB_SEND_SIGNALED;
	} else {
		memcpy(op->copy, data, c->size);
		ib_dma_sync_single_for_device(ib, op->copy_dma, PAGE_SIZE, DMA_TO_DEVICE);
		sge[1].addr = op->copy_dma;
		send.send_flags = ++c->sends % BARE_SIGNAL ? 0 : IB_SEND_SIGNALED;
	}
	ret = ib_post_send(c->id->qp, &send, NULL);
	if (ret)
		bare_op_over(op, 0);
out:
	spin_unlock_bh(&c->lock);
	return ret;
}

/*
 * Begins transfer @index.  It uses the memory of transfer @index - depth again, which is over,
 * because an RC queue pair executes work requests in order.
 */
static int bare_move(struct bare_conn *c, u32 index)
{
	return c->how == BARE_WRITE ? bare_write(c, index) : bare_send_data(c);
}

/* The server registers its MRs and tells the client of them, in one chain. */
static int bare_tell(struct bare_conn *c)
{
	struct ib_send_wr *first = NULL;
	u32 i;

	if (!c->bufs)
		return bare_send(c, NULL, NULL, 1);
	for (i = c->depth; i--; ) {
		c->bufs[i].reg.wr.next = first;
		first = &c->bufs[i].reg.wr;
	}
	return bare_send(c, first, &c->bufs[c->depth - 1].reg.wr, c->depth);
}

/* The client notes where it may write, and goes on. */
static void bare_told(struct bare_conn *c)
{
	u32 i;

	for (i = 0; c->bufs && i < c->depth; i++) {
		c->bufs[i].rkey = le32_to_cpu(c->msgs[i].rkey);
		c->bufs[i].iova = le64_to_cpu(c->msgs[i].iova);
	}
	complete(&c->step);
}

static void bare_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct bare_conn *c = container_of(wc->wr_cqe, struct bare_conn, send_cqe);

	if (wc->status != IB_WC_SUCCESS)
		bare_fail(c, -EIO);
}

static void bare_received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct bare_conn *c = container_of(wc->wr_cqe, struct bare_conn, recv_cqe);
	bool first = !c->greeted;
	int ret = 0;

	c->greeted = true;
	if (wc->status != IB_WC_SUCCESS || bare_post_recv(c)) {
		bare_fail(c, -EIO);
		return;
	}
	if (c->server)
		ret = first ? bare_tell(c) : bare_send(c, NULL, NULL, 1);
	else if (first)
		bare_told(c);
	else if (++c->ended == c->count)
		complete(&c->step);
	else if (c->begun < c->count)
		ret = bare_move(c, c->begun++);
	if (ret)
		bare_fail(c, ret);
}

static int bare_buf_alloc(struct bare_conn *c, struct bare_buf *buf)
{
	struct page *page;
	int i;

	sg_init_table(buf->sgl, c->pieces);
	for (i = 0; i < c->pieces; i++) {
		page = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP, c->order);
		if (!page)
			return -ENOMEM;
		sg_set_page(&buf->sgl[i], page, PAGE_SIZE << c->order, 0);
	}
	buf->mapped = ib_dma_map_sg(c->id->device, buf->sgl, c->pieces, DMA_BIDIRECTIONAL);
	return buf->mapped == c->pieces ? 0 : -ENOMEM;
}

static int bare_buf_register(struct bare_conn *c, struct bare_buf *buf, struct bare_msg *tell)
{
	buf->mr = ib_alloc_mr(c->pd, IB_MR_TYPE_MEM_REG, c->pieces << c->order);
	if (IS_ERR(buf->mr)) {
		int ret = PTR_ERR(buf->mr);

		buf->mr = NULL;
		return ret;
	}
	if (ib_map_mr_sg(buf->mr, buf->sgl, buf->mapped, NULL, PAGE_SIZE) != buf->mapped)
		return -EINVAL;
	buf->reg.wr.opcode = IB_WR_REG_MR;
	buf->reg.wr.wr_cqe = &c->send_cqe;
	buf->reg.mr = buf->mr;
	buf->reg.key = buf->mr->rkey;
	buf->reg.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
	tell->rkey = cpu_to_le32(buf->mr->rkey);
	tell->iova = cpu_to_le64(buf->mr->iova);
	return 0;
}

static int bare_bufs_setup(struct bare_conn *c)
{
	struct bare_msg *tell = (void *)c->msgs + BARE_RX;
	int ret = 0;
	u32 i;

	c->order = min(get_order(c->size), BARE_ORDER);
	c->pieces = DIV_ROUND_UP(c->size, PAGE_SIZE << c->order);
	c->bufs = kvcalloc(c->depth, sizeof(*c->bufs), GFP_KERNEL);
	if (!c->bufs)
		return -ENOMEM;
	for (i = 0; !ret && i < c->depth; i++) {
		ret = bare_buf_alloc(c, &c->bufs[i]);
		if (!ret && c->server)
			ret = bare_buf_register(c, &c->bufs[i], &tell[i]);
	}
	return ret;
}

/* Frees all memory; the queue pair is destroyed, so the device and the peer do not use it. */
static void bare_bufs_free(struct bare_conn *c)
{
	int n;
	u32 i;

	for (i = 0; c->bufs && i < c->depth; i++) {
		struct bare_buf *buf = &c->bufs[i];

		if (buf->mr)
			ib_dereg_mr(buf->mr);
		if (buf->mapped)
			ib_dma_unmap_sg(c->id->device, buf->sgl, c->pieces, DMA_BIDIRECTIONAL);
		for (n = 0; n < c->pieces; n++)
			if (sg_page(&buf->sgl[n]))
				__free_pages(sg_page(&buf->sgl[n]), c->order);
	}
	kvfree(c->bufs);
}

static int bare_ops_setup(struct bare_conn *c)
{
	struct ib_device *ib = c->id->device;
	int i;

	c->cold = vzalloc(BARE_COLD * PAGE_SIZE);
	c->ops = kvcalloc(BARE_OPS, sizeof(*c->ops), GFP_KERNEL);
	if (!c->cold || !c->ops)
		return -ENOMEM;
	for (i = 0; i < BARE_OPS; i++) {
		struct bare_op *op = &c->ops[i];

		op->c = c;
		op->cqe.done = bare_op_sent;
		op->copy = (void *)__get_free_page(GFP_KERNEL);
		if (!op->copy)
			return -ENOMEM;
		op->copy_dma = ib_dma_map_single(ib, op->copy, PAGE_SIZE, DMA_TO_DEVICE);
		if (ib_dma_mapping_error(ib, op->copy_dma)) {
			op->copy_dma = 0;
			return -ENOMEM;
		}
	}
	return 0;
}

/* Frees all memory of SENDs; the queue pair was drained, so all have completed. */
static void bare_ops_free(struct bare_conn *c)
{
	struct ib_device *ib = c->id->device;
	int i;

	for (i = 0; c->ops && i < BARE_OPS; i++) {
		if (c->ops[i].copy_dma)
			ib_dma_unmap_single(ib, c->ops[i].copy_dma, PAGE_SIZE, DMA_TO_DEVICE);
		free_page((unsigned long)c->ops[i].copy);
	}
	kvfree(c->ops);
	vfree(c->cold);
}

static int bare_msgs_setup(struct bare_conn *c)
{
	struct ib_device *ib = c->id->device;

	c->msgs = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, 1);
	if (!c->msgs)
		return -ENOMEM;
	c->msgs_dma = ib_dma_map_single(ib, c->msgs, 2 * PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(ib, c->msgs_dma)) {
		c->msgs_dma = 0;
		return -ENOMEM;
	}
	return 0;
}

/* Makes all that a connection needs.  c->id is bound to a device. */
static int bare_setup(struct bare_conn *c)
{
	struct ib_qp_init_attr attr = {
		.cap.max_send_wr = (BARE_PIECES + 1) * (BARE_DEPTH + BARE_SIGNAL),
		.cap.max_recv_wr = 2 * BARE_DEPTH,
		.cap.max_send_sge = 2,
		.cap.max_recv_sge = 1,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	int ret, i;

	c->pd = ib_alloc_pd(c->id->device, 0);
	if (IS_ERR(c->pd)) {
		ret = PTR_ERR(c->pd);
		c->pd = NULL;
		return ret;
	}
	c->cq = ib_alloc_cq_any(c->id->device, c,
				(BARE_PIECES + 4) * (BARE_DEPTH + BARE_SIGNAL), IB_POLL_SOFTIRQ);
	if (IS_ERR(c->cq)) {
		ret = PTR_ERR(c->cq);
		c->cq = NULL;
		return ret;
	}
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	ret = rdma_create_qp(c->id, c->pd, &attr);
	if (!ret)
		ret = bare_msgs_setup(c);
	if (!ret && c->size && c->how == BARE_WRITE)
		ret = bare_bufs_setup(c);
	if (!ret && c->how != BARE_WRITE)
		ret = bare_ops_setup(c);
	for (i = 0; !ret && i < BARE_DEPTH + 1; i++)
		ret = bare_post_recv(c);
	return ret;
}

/* Frees a connection, at any stage.  Process context, sleeps; not called by a handler of c->id. */
static void bare_destroy(struct bare_conn *c)
{
	struct ib_device *ib = c->id->device;

	if (c->id->qp) {
		rdma_disconnect(c->id);
		ib_drain_qp(c->id->qp);
		rdma_destroy_qp(c->id);
	}
	bare_bufs_free(c);
	if (c->msgs_dma)
		ib_dma_unmap_single(ib, c->msgs_dma, 2 * PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (c->cq)
		ib_free_cq(c->cq);
	if (c->pd)
		ib_dealloc_pd(c->pd);
	bare_ops_free(c);
	rdma_destroy_id(c->id);
	free_pages((unsigned long)c->msgs, 1);
	kfree(c);
}

static void bare_end(struct work_struct *work)
{
	struct bare_conn *c = container_of(work, struct bare_conn, end);

	spin_lock(&bare_lock);
	list_del(&c->link);
	spin_unlock(&bare_lock);
	bare_destroy(c);
}

static void bare_end_later(struct bare_conn *c)
{
	if (!test_and_set_bit(0, &c->ending))
		queue_work(bare_wq, &c->end);
}

static struct bare_conn *bare_conn_new(struct rdma_cm_id *id, bool server)
{
	struct bare_conn *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	c->id = id;
	c->server = server;
	c->recv_cqe.done = bare_received;
	c->send_cqe.done = bare_sent;
	init_completion(&c->step);
	spin_lock_init(&c->lock);
	INIT_WORK(&c->end, bare_end);
	return c;
}

/* -------------------------------------------------------------------- server */

static int bare_server_event(struct rdma_cm_id *id, struct rdma_cm_event *event);

static int bare_accept(struct rdma_cm_id *id, const struct rdma_conn_param *asked)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7, .retry_count = 6 };
	const struct bare_ask *ask = asked->private_data;
	struct bare_conn *c;
	u32 size, depth;
	int ret;

	if (!ask || asked->private_data_len < sizeof(*ask))
		return -EINVAL;		/* the CM destroys the id if its handler fails */
	size = le32_to_cpu(ask->size);
	depth = le32_to_cpu(ask->depth);
	if (size > BARE_MAX || !depth || depth > BARE_DEPTH)
		return -EINVAL;
	c = bare_conn_new(id, true);
	if (!c)
		return -ENOMEM;
	c->size = size;
	c->depth = depth;
	id->context = c;
	spin_lock(&bare_lock);
	list_add(&c->link, &bare_conns);
	spin_unlock(&bare_lock);
	ret = bare_setup(c);
	if (!ret)
		ret = rdma_accept(id, &param);
	if (ret)
		bare_end_later(c);
	return 0;
}

static int bare_server_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct bare_conn *c = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return bare_accept(id, &event->param.conn);
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_DISCONNECTED:
		if (c)
			bare_end_later(c);
		return 0;
	default:
		return 0;
	}
}

static int bare_listen(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(BARE_PORT),
	};
	int ret;

	bare_listener = rdma_create_id(&init_net, bare_server_event, NULL, RDMA_PS_TCP,
				       IB_QPT_RC);
	if (IS_ERR(bare_listener))
		return PTR_ERR(bare_listener);
	ret = rdma_bind_addr(bare_listener, (struct sockaddr *)&addr);
	if (!ret)
		ret = rdma_listen(bare_listener, 4);
	if (ret)
		rdma_destroy_id(bare_listener);
	return ret;
}

/* -------------------------------------------------------------------- client */

static int bare_client_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct bare_conn *c = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ESTABLISHED:
		complete(&c->step);
		break;
	default:
		bare_fail(c, -ECONNREFUSED);
	}
	return 0;
}

static int bare_step(struct bare_conn *c, int ret, unsigned int ms)
{
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&c->step, msecs_to_jiffies(ms)))
		return -ETIMEDOUT;
	return c->status;
}

static int bare_connect(struct bare_conn *c, struct sockaddr_in *to)
{
	struct bare_ask ask = {
		.size = cpu_to_le32(c->how == BARE_WRITE ? c->size : 0),
		.depth = cpu_to_le32(c->depth),
	};
	struct rdma_conn_param param = {
		.rnr_retry_count = 7,
		.retry_count = 6,
		.private_data = &ask,
		.private_data_len = sizeof(ask),
	};
	int ret;

	ret = bare_step(c, rdma_resolve_addr(c->id, NULL, (struct sockaddr *)to, BARE_MS), BARE_MS);
	if (!ret)
		ret = bare_step(c, rdma_resolve_route(c->id, BARE_MS), BARE_MS);
	if (!ret)
		ret = bare_setup(c);
	if (!ret)
		ret = bare_step(c, rdma_connect(c->id, &param), BARE_MS);
	if (!ret)
		ret = bare_step(c, bare_send(c, NULL, NULL, 1), BARE_MS);
	return ret;
}

static int bare_measure(struct bare_conn *c, u32 count)
{
	u64 start = ktime_get_ns();
	int ret = 0;
	u32 i;

	c->count = count;
	/* Set before the first transfer is posted, because its answer may come at once. */
	c->begun = min(c->depth, count);
	for (i = 0; !ret && i < min(c->depth, count); i++)
		ret = bare_move(c, i);
	ret = bare_step(c, ret, 60 * BARE_MS);
	if (!ret)
		snprintf(bare_result, sizeof(bare_result), "size %u count %u depth %u ns %llu\n",
			 c->size, count, c->depth, ktime_get_ns() - start);
	return ret;
}

static int bare_run(struct sockaddr_in *to, u32 size, u32 count, u32 depth, enum bare_how how)
{
	struct rdma_cm_id *id;
	struct bare_conn *c;
	int ret;

	id = rdma_create_id(&init_net, bare_client_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	c = bare_conn_new(id, false);
	if (!c) {
		rdma_destroy_id(id);
		return -ENOMEM;
	}
	id->context = c;
	c->how = how;
	c->size = size;
	c->depth = depth;
	ret = bare_connect(c, to);
	if (!ret)
		ret = bare_measure(c, count);
	bare_destroy(c);
	return ret;
}

/* ---------------------------------------------------------------------- proc */

static ssize_t bare_proc_write(struct file *file, const char __user *buf, size_t len,
			       loff_t *pos)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(BARE_PORT) };
	char text[80] = "", addr[16], word[8] = "";
	enum bare_how how = BARE_WRITE;
	u32 size, count, depth;
	int ret;

	if (len >= sizeof(text) || copy_from_user(text, buf, len))
		return -EINVAL;
	ret = sscanf(text, "%15s %u %u %u %7s", addr, &size, &count, &depth, word);
	if (!strcmp(word, "copy"))
		how = BARE_COPY;
	else if (!strcmp(word, "gather"))
		how = BARE_GATHER;
	if (ret != (how == BARE_WRITE ? 4 : 5) || (how != BARE_WRITE && size > PAGE_SIZE) ||
	    !in4_pton(addr, -1, (u8 *)&to.sin_addr, -1, NULL) || !size || size > BARE_MAX ||
	    !count || !depth || depth > BARE_DEPTH)
		return -EINVAL;
	mutex_lock(&bare_running);
	ret = bare_run(&to, size, count, depth, how);
	mutex_unlock(&bare_running);
	return ret ?: len;
}

static int bare_proc_show(struct seq_file *m, void *v)
{
	mutex_lock(&bare_running);
	seq_puts(m, bare_result);
	mutex_unlock(&bare_running);
	return 0;
}

static int bare_proc_open(struct inode *inode, struct file *file)
{
	return single_open(file, bare_proc_show, NULL);
}

/* DEFINE_PROC_SHOW_ATTRIBUTE() has no write. */
static const struct proc_ops bare_proc_ops = {
	.proc_open	= bare_proc_open,
	.proc_read	= seq_read,
	.proc_write	= bare_proc_write,
	.proc_lseek	= seq_lseek,
	.proc_release	= single_release,
};

static int __init bare_init(void)
{
	int ret = -ENOMEM;

	bare_wq = alloc_workqueue("rdma_bare", 0, 0);
	if (!bare_wq)
		return ret;
	if (!proc_create("rdma_bare", 0600, NULL, &bare_proc_ops))
		goto out_wq;
	ret = bare_listen();
	if (!ret)
		return 0;
	remove_proc_entry("rdma_bare", NULL);
out_wq:
	destroy_workqueue(bare_wq);
	return ret;
}

static void __exit bare_exit(void)
{
	struct bare_conn *c;

	remove_proc_entry("rdma_bare", NULL);
	rdma_destroy_id(bare_listener);
	spin_lock(&bare_lock);
	list_for_each_entry(c, &bare_conns, link)
		bare_end_later(c);
	spin_unlock(&bare_lock);
	destroy_workqueue(bare_wq);
}

module_init(bare_init);
module_exit(bare_exit);
MODULE_DESCRIPTION("A bare RDMA WRITE and SEND, for comparison");
MODULE_LICENSE("GPL");
