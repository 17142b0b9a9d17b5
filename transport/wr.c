// SPDX-License-Identifier: GPL-2.0
/*
 * Work requests: the SENDs and LOCAL_INVs that chains are made of.  sg.c has the RDMA WRITEs.
 */
#include "transport/internal.h"

/**
 * rxp_fill_send - prepare a SEND
 * @wr:       the work request to fill in
 * @sge:      the data to send
 * @nr_sge:   entries of @sge
 * @inv_rkey: key of the peer's to invalidate with the SEND, 0 for none
 *
 * Context: any.
 */
void rxp_fill_send(struct ib_send_wr *wr, struct ib_sge *sge, int nr_sge, u32 inv_rkey)
{
	memset(wr, 0, sizeof(*wr));
	wr->opcode = inv_rkey ? IB_WR_SEND_WITH_INV : IB_WR_SEND;
	wr->ex.invalidate_rkey = inv_rkey;
	wr->sg_list = sge;
	wr->num_sge = nr_sge;
}

/**
 * rxp_fill_inv - prepare a LOCAL_INV
 * @wr:   the work request to fill in
 * @rkey: our key
 *
 * Context: any.
 */
void rxp_fill_inv(struct ib_send_wr *wr, u32 rkey)
{
	memset(wr, 0, sizeof(*wr));
	wr->opcode = IB_WR_LOCAL_INV;
	wr->ex.invalidate_rkey = rkey;
}

/**
 * rxp_build_ctl - prepare the SEND of a message that belongs to an RPC, but is no CALL or REPLY
 * @pool:     the pool whose local key is used
 * @buf:      the slot's buffer; the message goes to its end
 * @dma:      its address for the device
 * @f:	      the message, see rxp_frame_write_ctl()
 * @sge:      room for the message's place; both this and @wr stay until the device is done
 * @wr:	      the work request to fill in
 * @inv_rkey: key of the peer's to invalidate with the SEND, 0 for none
 *
 * The caller makes the device see the message before it is posted.
 *
 * Context: any.
 */
void rxp_build_ctl(const struct rxp_pool *pool, void *buf, u64 dma, const struct rxp_frame *f,
		   struct ib_sge *sge, struct ib_send_wr *wr, u32 inv_rkey)
{
	sge->addr = dma + RXP_MSG_MAX;
	sge->length = rxp_frame_write_ctl(buf + RXP_MSG_MAX, f);
	sge->lkey = pool->pd->local_dma_lkey;
	rxp_fill_send(wr, sge, 1, inv_rkey);
}
