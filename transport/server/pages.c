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
 * rxs_pages_new - map pages for RDMA WRITEs to read
 * @pool: a pool of the device
 * @bv:	  the pages
 * @nr:	  number of pages, at least 1
 *
 * Context: process, may sleep for memory.
 * Return: the pages with their references, to be given to rxs_pages_free(); or
 * ERR_PTR(-ENOMEM), and the caller keeps the references.
 */
struct rxp_sg *rxs_pages_new(struct rxp_pool *pool, const struct bio_vec *bv, u32 nr)
{
	struct rxp_sg *pages;
	u32 i;

	/* Not kvmalloc(): it may be freed in atomic context; the service can copy instead. */
	pages = kmalloc(sizeof(*pages) + rxp_sg_room(nr),
			GFP_NOFS | __GFP_NOWARN | __GFP_NORETRY);
	if (!pages)
		return ERR_PTR(-ENOMEM);
	rxp_sg_init(pages, pages + 1, nr);
	pages->nents = nr;
	sg_init_table(pages->sgl, nr);
	for (i = 0; i < nr; i++)
		sg_set_page(&pages->sgl[i], bv[i].bv_page, bv[i].bv_len, bv[i].bv_offset);
	if (rdmafs_test_fails("lend_dma_map", 0) || rxp_sg_map(pool, pages, DMA_TO_DEVICE)) {
		kfree(pages);
		return ERR_PTR(-ENOMEM);
	}
	return pages;
}

/**
 * rxs_pages_free - unmap and put pages that the device does not read any more
 * @pool:  as for rxs_pages_new()
 * @pages: the pages
 *
 * Context: any but hard interrupt; does not sleep.
 */
void rxs_pages_free(struct rxp_pool *pool, struct rxp_sg *pages)
{
	u32 i;

	rxp_sg_unmap(pool, pages, DMA_TO_DEVICE);
	for (i = 0; i < pages->nents; i++)
		put_page(sg_page(&pages->sgl[i]));
	kfree(pages);
}
