/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages for the data of one RPC that does not travel inside its messages, as the device sees them.
 * The data of a client's call (struct rxc_io), a data buffer (struct rxp_buf) and the pages that a
 * service lends for a reply each have one struct rxp_sg.
 *
 * Its owner maps it, and keeps the pages until it has unmapped it: when every chain with its RDMA
 * WRITEs is over, and no key is valid for the pages (Documentation/architecture.rst, "Who owns
 * memory until when").
 */
#ifndef RDMAFS_TRANSPORT_SG_H
#define RDMAFS_TRANSPORT_SG_H

#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>
#include "transport/frame.h"

struct rxp_pool;

/**
 * struct rxp_sg - pages, their DMA mapping, and room for the RDMA WRITEs that send them
 * @wr:     room for the RDMA WRITEs; the room of all three arrays begins here
 * @sge:    room for the local side of @wr
 * @sgl:    the pages
 * @nents:  entries of @sgl that have pages
 * @mapped: DMA mapped entries of @sgl: fewer than @nents if an IOMMU joins them, 0 while it is not
 *	    mapped
 */
struct rxp_sg {
	struct ib_rdma_wr *wr;
	struct ib_sge *sge;
	struct scatterlist *sgl;
	u32 nents;
	u32 mapped;
} __aligned(8);	/* the room may follow it, and work requests have members of 64 bits */

size_t rxp_sg_room(u32 entries);
void rxp_sg_init(struct rxp_sg *sg, void *room, u32 entries);
int rxp_sg_map(const struct rxp_pool *pool, struct rxp_sg *sg, enum dma_data_direction dir);
void rxp_sg_unmap(const struct rxp_pool *pool, struct rxp_sg *sg, enum dma_data_direction dir);
u32 rxp_build_writes(const struct rxp_pool *pool, struct rxp_sg *sg, u32 len);
void rxp_aim_writes(struct rxp_sg *sg, u32 nr, const struct rxp_segment *to);

#endif
