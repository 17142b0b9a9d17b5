// SPDX-License-Identifier: GPL-2.0
/*
 * Pages of the service that are sent from where they are, without a copy.
 *
 * The service lends them, one reference each, for a request's reply.  They are DMA mapped for that
 * reply only and put with the request, which outlives the RDMA WRITEs that read them: their chain
 * is signaled (Documentation/architecture.rst, "Who owns memory until when").  Data that is
 * written to them meanwhile may be sent or not, as with any read that runs beside a write.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "transport/server/server.h"

/**
 * rxs_pages_lend - map pages for RDMA WRITEs to read
 * @pool: a pool of the device
 * @bv:	  the pages
 * @nr:	  number of pages, at least 1
 *
 * Context: process, may sleep for memory.
 * Return: the pages with their references, to be given to rxs_pages_release(); or
 * ERR_PTR(-ENOMEM), and the caller keeps the references.
 */
struct rxs_pages *rxs_pages_lend(struct rxp_pool *pool, const struct bio_vec *bv, u32 nr)
{
	u32 nr_wr = DIV_ROUND_UP(nr, RXP_SGE_MIN), i;
	struct rxs_pages *p;
	void *room;

	/* Not kvmalloc(): it may be freed in atomic context; the service can copy instead. */
	p = kmalloc(sizeof(*p) + nr_wr * sizeof(*p->wr) +
		    nr * (sizeof(*p->sge) + sizeof(*p->sgl)),
		    GFP_NOFS | __GFP_NOWARN | __GFP_NORETRY);
	if (!p)
		return ERR_PTR(-ENOMEM);
	room = p + 1;
	p->wr = room;
	room += nr_wr * sizeof(*p->wr);
	p->sge = room;
	room += nr * sizeof(*p->sge);
	p->sgl = room;
	p->nr = nr;
	sg_init_table(p->sgl, nr);
	for (i = 0; i < nr; i++)
		sg_set_page(&p->sgl[i], bv[i].bv_page, bv[i].bv_len, bv[i].bv_offset);
	if (rdmafs_test_fail("lend_dma_map", 0) ||
	    !ib_dma_map_sg(pool->rdev->ib, p->sgl, nr, DMA_TO_DEVICE)) {
		kfree(p);
		return ERR_PTR(-ENOMEM);
	}
	return p;
}

/**
 * rxs_pages_release - unmap and put pages that the device does not read any more
 * @pool: as for rxs_pages_lend()
 * @p:	  the pages
 *
 * Context: any but hard interrupt; does not sleep.
 */
void rxs_pages_release(struct rxp_pool *pool, struct rxs_pages *p)
{
	u32 i;

	ib_dma_unmap_sg(pool->rdev->ib, p->sgl, p->nr, DMA_TO_DEVICE);
	for (i = 0; i < p->nr; i++)
		put_page(sg_page(&p->sgl[i]));
	kfree(p);
}
