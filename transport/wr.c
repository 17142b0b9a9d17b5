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
 * Not on rxe: it lets 128 packets travel unacknowledged.  It asks for an acknowledgment at a
 * message's end, and inside a message only after 65 packets.  So 1 MiB takes 12 round trips in
 * one WRITE, but 8 in 16 WRITEs.
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
		if (last && !full && !pool->rdev->short_writes &&
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
 * @iova: the target of the first byte
 * @rkey: the peer's key
 *
 * Context: Any.
 */
void rxp_aim_writes(struct ib_rdma_wr *wr, u32 nr, u64 iova, u32 rkey)
{
	u32 i;
	int s;

	for (i = 0; i < nr; i++) {
		wr[i].remote_addr = iova;
		wr[i].rkey = rkey;
		for (s = 0; s < wr[i].wr.num_sge; s++)
			iova += wr[i].wr.sg_list[s].length;
	}
}
