// SPDX-License-Identifier: GPL-2.0
/*
 * Work requests: the SENDs, LOCAL_INVs and RDMA WRITEs that chains are made of.
 */
#include "transport/internal.h"

/**
 * rxp_fill_send - prepare a SEND
 * @wr:       the work request to fill in
 * @sge:      the data to send
 * @nr_sge:   entries of @sge
 * @inv_rkey: key of the peer's to invalidate with the SEND, 0 for none
 *
 * Context: Any.
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
 * Context: Any.
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
 * @f:	      the message, see rxp_frame_put_ctl()
 * @sge:      room for the message's place; both this and @wr stay until the device is done
 * @wr:	      the work request to fill in
 * @inv_rkey: key of the peer's to invalidate with the SEND, 0 for none
 *
 * The caller makes the device see the message before it is posted.
 *
 * Context: Any.
 */
void rxp_build_ctl(const struct rxp_pool *pool, void *buf, u64 dma, const struct rxp_frame *f,
		   struct ib_sge *sge, struct ib_send_wr *wr, u32 inv_rkey)
{
	sge->addr = dma + RXP_MSG_MAX;
	sge->length = rxp_frame_put_ctl(buf + RXP_MSG_MAX, f);
	sge->lkey = pool->pd->local_dma_lkey;
	rxp_fill_send(wr, sge, 1, inv_rkey);
}

/* Bytes of one RDMA WRITE on iWARP, whose completion shows that the peer still takes data. */
#define RXP_WRITE_TOLD	SZ_256K

/**
 * rxp_build_writes - prepare the RDMA WRITEs for a run of data
 * @pool: the pool whose local key is used
 * @sgl:  the data, DMA mapped
 * @len:  bytes
 * @sge:  room for as many entries as @sgl has
 * @wr:   room for one work request for each RXP_SGE_MIN entries
 *
 * Adjacent pieces become one entry: all of a request in a huge page or a large folio goes in one
 * RDMA WRITE.
 *
 * Not on a device with short_writes, which is rxe: it lets 128 packets travel unacknowledged.  It
 * asks for an acknowledgment at a message's end, and inside a message only after 65 packets.  So
 * 1 MiB takes 12 round trips in one WRITE, but 8 in 16 WRITEs.
 *
 * On iWARP, a WRITE is of RXP_WRITE_TOLD bytes at most, as far as @wr has room for more WRITEs;
 * but an entry is not split, so a folio goes whole, whatever its size.
 *
 * Context: Any.
 *
 * Return: work requests used.  rxp_aim_writes() gives them their target.
 */
u32 rxp_build_writes(const struct rxp_pool *pool, struct scatterlist *sgl, u32 len,
		     struct ib_sge *sge, struct ib_rdma_wr *wr)
{
	u32 max_sge = READ_ONCE(pool->max_sge), nr = 0, bytes = 0, used;
	struct ib_sge *last = NULL;

	for (used = 0; len; used++, sgl = sg_next(sgl)) {
		u64 addr = sg_dma_address(sgl);
		u32 part = min_t(u32, len, sg_dma_len(sgl));
		bool full = pool->rdev->tells_writes && bytes + part > RXP_WRITE_TOLD &&
			    nr * RXP_SGE_MIN <= used;

		len -= part;
		bytes += part;
		if (last && !full && !pool->rdev->quirks.short_writes &&
		    last->addr + last->length == addr) {
			last->length += part;
			continue;
		}
		if (!nr || full || wr[nr - 1].wr.num_sge == max_sge) {
			bytes = part;
			memset(&wr[nr], 0, sizeof(wr[nr]));
			wr[nr].wr.opcode = IB_WR_RDMA_WRITE;
			wr[nr].wr.sg_list = sge;
			nr++;
		}
		last = sge++;
		last->addr = addr;
		last->length = part;
		last->lkey = pool->pd->local_dma_lkey;
		wr[nr - 1].wr.num_sge++;
	}
	return nr;
}

/**
 * rxp_aim_writes - give prepared RDMA WRITEs their target
 * @wr:   the work requests
 * @nr:   how many
 * @to:   the peer's memory
 *
 * Context: Any.
 */
void rxp_aim_writes(struct ib_rdma_wr *wr, u32 nr, const struct rxp_segment *to)
{
	u64 iova = to->iova;
	u32 i;
	int s;

	for (i = 0; i < nr; i++) {
		wr[i].remote_addr = iova;
		wr[i].rkey = to->rkey;
		for (s = 0; s < wr[i].wr.num_sge; s++)
			iova += wr[i].wr.sg_list[s].length;
	}
}
