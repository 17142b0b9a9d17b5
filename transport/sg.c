// SPDX-License-Identifier: GPL-2.0
/*
 * Pages for the data of an RPC: their DMA mapping, and the RDMA WRITEs that send them.
 *
 * sg.h says who has such pages.
 */
#include "transport/internal.h"

/**
 * rxp_sg_room - the memory that the arrays of a struct rxp_sg take
 * @entries: entries of its scatterlist
 *
 * Context: any.
 *
 * Return: bytes.
 */
size_t rxp_sg_room(u32 entries)
{
	/* At worst a work request has no more than RXP_SGE_MIN entries. */
	return DIV_ROUND_UP(entries, RXP_SGE_MIN) * sizeof(struct ib_rdma_wr) +
	       entries * (sizeof(struct ib_sge) + sizeof(struct scatterlist));
}

/**
 * rxp_sg_init - lay out the arrays of a struct rxp_sg that has no pages yet
 * @sg:      the struct
 * @room:    rxp_sg_room() bytes, not initialised, which stay the caller's; they begin at sg->wr
 * @entries: as passed to rxp_sg_room()
 *
 * Context: any.
 */
void rxp_sg_init(struct rxp_sg *sg, void *room, u32 entries)
{
	sg->wr = room;
	room += DIV_ROUND_UP(entries, RXP_SGE_MIN) * sizeof(*sg->wr);
	sg->sge = room;
	room += entries * sizeof(*sg->sge);
	sg->sgl = room;
	sg->nents = 0;
	sg->mapped = 0;
}

/**
 * rxp_sg_map - DMA map pages
 * @pool: a pool of the device
 * @sg:   the pages, not mapped
 * @dir:  DMA_TO_DEVICE if RDMA WRITEs are to read them, DMA_FROM_DEVICE if the peer is to write to
 *	  them, DMA_BIDIRECTIONAL for both
 *
 * Context: any.
 *
 * Return: 0; -ENOMEM: the IOMMU, or the swiotlb, has no room.
 */
int rxp_sg_map(const struct rxp_pool *pool, struct rxp_sg *sg, enum dma_data_direction dir)
{
	sg->mapped = ib_dma_map_sg(pool->rdev->ib, sg->sgl, sg->nents, dir);
	return sg->mapped ? 0 : -ENOMEM;
}

/**
 * rxp_sg_unmap - undo rxp_sg_map()
 * @pool: a pool of the same device
 * @sg:   the pages, mapped or not; the device does not use them any more
 * @dir:  as passed to rxp_sg_map()
 *
 * Context: any.
 */
void rxp_sg_unmap(const struct rxp_pool *pool, struct rxp_sg *sg, enum dma_data_direction dir)
{
	if (sg->mapped)
		ib_dma_unmap_sg(pool->rdev->ib, sg->sgl, sg->nents, dir);
	sg->mapped = 0;
}

/* Bytes of one RDMA WRITE on iWARP, whose completion shows that the peer still takes data. */
#define RXP_WRITE_TOLD	SZ_256K

/**
 * rxp_build_writes - prepare the RDMA WRITEs for a run of data
 * @pool: the pool whose local key is used
 * @sg:   the data, DMA mapped
 * @len:  bytes
 *
 * Adjacent pieces become one entry: all of a request in a huge page or a large folio goes in one
 * RDMA WRITE.
 *
 * Not on a device with short_writes, which is rxe: it lets 128 packets travel unacknowledged.  It
 * asks for an acknowledgment at a message's end, and inside a message only after 65 packets.  So
 * 1 MiB takes 12 round trips in one WRITE, but 8 in 16 WRITEs.
 *
 * On iWARP, a WRITE is of RXP_WRITE_TOLD bytes at most, as far as sg->wr has room for more WRITEs;
 * but an entry is not split, so a folio goes whole, whatever its size.
 *
 * Context: any.
 *
 * Return: work requests used.  rxp_aim_writes() gives them their target.
 */
u32 rxp_build_writes(const struct rxp_pool *pool, struct rxp_sg *sg, u32 len)
{
	u32 max_sge = READ_ONCE(pool->max_sge), nr = 0, bytes = 0, used;
	struct ib_sge *sge = sg->sge, *last = NULL;
	struct scatterlist *sgl = sg->sgl;
	struct ib_rdma_wr *wr = sg->wr;

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
 * @sg: the data, for which rxp_build_writes() has prepared them
 * @nr: how many there are
 * @to: the peer's memory
 *
 * Context: any.
 */
void rxp_aim_writes(struct rxp_sg *sg, u32 nr, const struct rxp_segment *to)
{
	struct ib_rdma_wr *wr = sg->wr;
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
