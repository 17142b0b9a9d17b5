// SPDX-License-Identifier: GPL-2.0
/*
 * Messages that belong to no slot: WELCOME, PONG, RECALL and EVENT of a server; HELLO, PING, BYE
 * and RETURN of a client.
 *
 * A connection has RXP_RECV_RESERVE buffers for them, as many as the peer has receives for them
 * beyond those of its slots.  A buffer is busy from when its message is handed over until the
 * device is done with it.  rxp_conn.sq_lock guards taking one.
 */
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "transport/internal.h"

static void rxp_ctl_done(struct rxp_chain *chain, bool ok)
{
	struct rxp_ctl *ctl = container_of(chain, struct rxp_ctl, chain);
	struct rxp_conn *conn = ctl->conn;

	/*
	 * A full barrier in this orders the clear before the test of ctl_short: if rxp_ctl_get()
	 * still finds the buffer busy, its ctl_short is seen here.
	 */
	clear_and_wake_up_bit(0, &ctl->busy);
	if (ok && test_and_clear_bit(0, &conn->ctl_short))
		conn->ops->room(conn);
}

/**
 * rxp_ctl_init - allocate and map the buffers for messages of no slot
 * @conn: has its device
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.  In either case rxp_ctl_unmap() undoes the mapping; the memory is freed
 * with the connection.
 */
int rxp_ctl_init(struct rxp_conn *conn)
{
	struct ib_device *ib = conn->rdev->ib;
	int i;

	conn->ctl = kcalloc(RXP_RECV_RESERVE, sizeof(*conn->ctl), GFP_KERNEL);
	if (!conn->ctl)
		return -ENOMEM;
	for (i = 0; i < RXP_RECV_RESERVE; i++) {
		struct rxp_ctl *ctl = &conn->ctl[i];

		ctl->conn = conn;
		ctl->dma = ib_dma_map_single(ib, ctl->msg, sizeof(ctl->msg), DMA_TO_DEVICE);
		if (ib_dma_mapping_error(ib, ctl->dma)) {
			ctl->conn = NULL;
			return -ENOMEM;
		}
	}
	return 0;
}

/**
 * rxp_ctl_unmap - undo the mapping of rxp_ctl_init()
 * @conn: killed, or never used
 *
 * Context: process.
 */
void rxp_ctl_unmap(struct rxp_conn *conn)
{
	int i;

	for (i = 0; conn->ctl && i < RXP_RECV_RESERVE && conn->ctl[i].conn; i++)
		ib_dma_unmap_single(conn->rdev->ib, conn->ctl[i].dma,
				    sizeof(conn->ctl[i].msg), DMA_TO_DEVICE);
}

/* A free buffer, or an ERR_PTR with an errno of rxp_ctl_send()'s.  @conn->sq_lock held. */
static struct rxp_ctl *rxp_ctl_get(struct rxp_conn *conn)
{
	int i;

	/* The lock and this test keep the device from being removed while the caller uses it. */
	if (rxp_conn_is_dead(conn))
		return ERR_PTR(-ENOTCONN);
	for (i = 0; i < 2 * RXP_RECV_RESERVE; i++) {
		/*
		 * All are busy: set ctl_short and look once more, so that none is freed
		 * unnoticed.
		 */
		if (i == RXP_RECV_RESERVE) {
			set_bit(0, &conn->ctl_short);
			/* Pairs with the barrier in rxp_ctl_done(), between its two bits. */
			smp_mb__after_atomic();
		}
		if (!test_and_set_bit_lock(0, &conn->ctl[i % RXP_RECV_RESERVE].busy))
			return &conn->ctl[i % RXP_RECV_RESERVE];
	}
	return ERR_PTR(-EBUSY);
}

/* Post a buffer whose work request is filled in.  ctl->conn->sq_lock held. */
static enum rxp_posted rxp_ctl_post(struct rxp_ctl *ctl)
{
	rxp_chain_init(&ctl->chain, rxp_ctl_done);
	rxp_chain_add(&ctl->chain, &ctl->wr.wr);
	return rxp_post_or_queue(ctl->conn, &ctl->chain);
}

/**
 * rxp_ctl_send - send a CONTROL or NOTIFY that belongs to no slot
 * @conn: the connection
 * @type: RXP_CONTROL or RXP_NOTIFY
 * @op:   its op
 * @body: the struct that follows the header
 * @len:  bytes of @body, may be 0
 *
 * Context: any but hard interrupt; does not sleep.  Takes @conn->sq_lock.
 *
 * Return: 0; -ENOTCONN: the connection is dead; -EBUSY: as many such messages as the peer has
 * receives for are on their way, and conn->ops->room() will be called; -EMSGSIZE: @len is too
 * large.
 */
int rxp_ctl_send(struct rxp_conn *conn, u8 type, u8 op, const void *body, u32 len)
{
	enum rxp_posted posted;
	struct rxp_ctl *ctl;

	if (sizeof(struct rxp_wire_hdr) + len > RXP_CTL_MSG)
		return -EMSGSIZE;
	spin_lock_bh(&conn->sq_lock);
	ctl = rxp_ctl_get(conn);
	if (IS_ERR(ctl)) {
		spin_unlock_bh(&conn->sq_lock);
		return PTR_ERR(ctl);
	}
	rxp_frame_write_hdr(ctl->msg, type, op, 0, 0);
	if (len)
		memcpy(ctl->msg + sizeof(struct rxp_wire_hdr), body, len);
	ib_dma_sync_single_for_device(conn->rdev->ib, ctl->dma, sizeof(ctl->msg), DMA_TO_DEVICE);
	ctl->sge.addr = ctl->dma;
	ctl->sge.length = sizeof(struct rxp_wire_hdr) + len;
	ctl->sge.lkey = conn->pool->pd->local_dma_lkey;
	rxp_fill_send(&ctl->wr.wr, &ctl->sge, 1, 0);
	posted = rxp_ctl_post(ctl);
	spin_unlock_bh(&conn->sq_lock);
	if (posted == RXP_POSTED_LOST)
		rxp_conn_lost(conn);
	return 0;
}

/**
 * rxp_ctl_send_keys - send a RECALL or RETURN
 * @conn:  the connection
 * @type:  RXP_CONTROL or RXP_NOTIFY
 * @op:    its op
 * @rkeys: the keys of the grants
 * @nr:    how many, 1..RXP_WIRE_KEYS
 *
 * Context: as rxp_ctl_send().
 *
 * Return: as rxp_ctl_send().
 */
int rxp_ctl_send_keys(struct rxp_conn *conn, u8 type, u8 op, const u32 *rkeys, u32 nr)
{
	__le32 body[sizeof(struct rxp_wire_keys) / sizeof(__le32) + RXP_WIRE_KEYS] = {};
	struct rxp_wire_keys *keys = (struct rxp_wire_keys *)body;
	u32 i;

	keys->nr = cpu_to_le16(nr);
	for (i = 0; i < nr; i++)
		keys->rkey[i] = cpu_to_le32(rkeys[i]);
	return rxp_ctl_send(conn, type, op, keys, struct_size(keys, rkey, nr));
}

/**
 * rxp_ctl_rtr - send the peer's device the ready-to-receive frame
 * @conn: the connection, over iWARP
 *
 * This is an RDMA WRITE of no bytes, as in RFC 6581: the peer's software does not see it, and siw
 * checks no key for it.
 *
 * Context: any but hard interrupt; takes @conn->sq_lock.
 */
void rxp_ctl_rtr(struct rxp_conn *conn)
{
	enum rxp_posted posted = RXP_POSTED;
	struct rxp_ctl *ctl;

	spin_lock_bh(&conn->sq_lock);
	ctl = rxp_ctl_get(conn);
	if (!IS_ERR(ctl)) {
		memset(&ctl->wr, 0, sizeof(ctl->wr));
		ctl->wr.wr.opcode = IB_WR_RDMA_WRITE;
		posted = rxp_ctl_post(ctl);
	}
	spin_unlock_bh(&conn->sq_lock);
	if (posted == RXP_POSTED_LOST)
		rxp_conn_lost(conn);
}

/**
 * rxp_ctl_flush - wait until the device is done with the messages of rxp_ctl_send()
 * @conn:    the connection
 * @timeout: in jiffies, for each message
 *
 * Context: process, sleeps.
 */
void rxp_ctl_flush(struct rxp_conn *conn, unsigned long timeout)
{
	int i;

	for (i = 0; i < RXP_RECV_RESERVE; i++)
		wait_on_bit_timeout(&conn->ctl[i].busy, 0, TASK_UNINTERRUPTIBLE, timeout);
}
