// SPDX-License-Identifier: GPL-2.0
/*
 * Message buffers.  Their owner allocates them once, in runs of pages, and a connection maps them
 * as long as it lasts.  So a message costs neither an allocation nor a mapping, nor an MR
 * (Documentation/architecture.rst, "Who owns memory until when").
 *
 * No function here takes a lock: the owner lets none run beside rxp_ring_init() or
 * rxp_ring_destroy().
 */
#include <linux/slab.h>
#include "transport/internal.h"

/* Bytes of a chunk of message buffers: large enough to waste little. */
#define RXP_RING_CHUNK	SZ_32K

static int rxp_ring_fill(struct rxp_ring *ring, u32 nr, u32 size, u32 order, gfp_t gfp)
{
	u32 chunks, i;

	ring->nr = nr;
	ring->size = size;
	ring->order = order;
	ring->per = (PAGE_SIZE << order) / size;
	chunks = DIV_ROUND_UP(nr, ring->per);
	ring->chunk = kvcalloc(chunks, sizeof(*ring->chunk), GFP_KERNEL);
	if (!ring->chunk)
		return -ENOMEM;
	for (i = 0; i < chunks; i++) {
		if (!rdmafs_test_fails("ring_chunk", order))
			ring->chunk[i] = (void *)__get_free_pages(gfp | __GFP_COMP, order);
		if (!ring->chunk[i]) {
			rxp_ring_destroy(ring);
			return -ENOMEM;
		}
	}
	return 0;
}

/**
 * rxp_ring_init - allocate message buffers
 * @ring: the ring to fill in
 * @nr:   buffers
 * @size: bytes of each, at most RXP_RING_CHUNK
 * @dir:  DMA_TO_DEVICE: the buffers are zeroed, so that a gap in a message does not tell the peer
 *	  what was in memory before; DMA_FROM_DEVICE: only bytes that have arrived are read, and
 *	  zeroing would be a large part of what a connection costs
 * @must: if there are no large chunks, use smaller ones, down to one for each buffer
 *
 * Large chunks are allocated without pressing hard for memory (__GFP_NORETRY): writeback may wait
 * for what these buffers are for.
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rxp_ring_init(struct rxp_ring *ring, u32 nr, u32 size, enum dma_data_direction dir, bool must)
{
	gfp_t gfp = GFP_KERNEL | (dir == DMA_TO_DEVICE ? __GFP_ZERO : 0);
	u32 small;
	int ret;

	size = ALIGN(size, 64);
	small = get_order(size);
	ret = rxp_ring_fill(ring, nr, size, get_order(RXP_RING_CHUNK),
			    gfp | __GFP_NORETRY | __GFP_NOWARN);
	if (ret && must)
		ret = rxp_ring_fill(ring, nr, size, small, gfp);
	return ret;
}

/**
 * rxp_ring_destroy - free message buffers
 * @ring: the ring, not mapped; a zeroed ring is fine
 *
 * Context: process, may sleep.
 */
void rxp_ring_destroy(struct rxp_ring *ring)
{
	u32 i;

	if (!ring->chunk)
		return;
	for (i = 0; i < DIV_ROUND_UP(ring->nr, ring->per); i++)
		if (ring->chunk[i])
			free_pages((unsigned long)ring->chunk[i], ring->order);
	kvfree(ring->chunk);
	ring->chunk = NULL;
}

/**
 * rxp_ring_buf - return the address of a buffer
 * @ring: the ring
 * @i:    index of the buffer, below @ring->nr
 *
 * Context: any.
 *
 * Return: its address.
 */
void *rxp_ring_buf(const struct rxp_ring *ring, u32 i)
{
	return ring->chunk[i / ring->per] + (i % ring->per) * ring->size;
}

/**
 * rxp_ring_map - map all buffers for a device
 * @ring: the ring
 * @ib:   the device
 * @dir:  DMA direction
 *
 * Context: process, may sleep.
 *
 * Return: a DMA address for each chunk, to be given back by rxp_ring_unmap(), or NULL.
 */
dma_addr_t *rxp_ring_map(const struct rxp_ring *ring, struct ib_device *ib,
			 enum dma_data_direction dir)
{
	u32 chunks = DIV_ROUND_UP(ring->nr, ring->per), i;
	dma_addr_t *dma = kvcalloc(chunks, sizeof(*dma), GFP_KERNEL);
	u32 bytes = PAGE_SIZE << ring->order;

	if (!dma)
		return NULL;
	for (i = 0; i < chunks; i++) {
		dma[i] = ib_dma_map_single(ib, ring->chunk[i], bytes, dir);
		if (ib_dma_mapping_error(ib, dma[i])) {
			while (i--)
				ib_dma_unmap_single(ib, dma[i], bytes, dir);
			kvfree(dma);
			return NULL;
		}
	}
	return dma;
}

/**
 * rxp_ring_unmap - undo rxp_ring_map()
 * @ring: the ring
 * @ib:   the device
 * @dma:  the addresses from rxp_ring_map(), or NULL
 * @dir:  the same direction
 *
 * Context: process, may sleep.
 */
void rxp_ring_unmap(const struct rxp_ring *ring, struct ib_device *ib, dma_addr_t *dma,
		    enum dma_data_direction dir)
{
	u32 i;

	if (!dma)
		return;
	for (i = 0; i < DIV_ROUND_UP(ring->nr, ring->per); i++)
		ib_dma_unmap_single(ib, dma[i], PAGE_SIZE << ring->order, dir);
	kvfree(dma);
}

/**
 * rxp_ring_dma - return the DMA address of a buffer
 * @ring: the ring
 * @dma:  the addresses from rxp_ring_map()
 * @i:    index of the buffer, below @ring->nr
 *
 * Context: any.
 *
 * Return: the address.
 */
u64 rxp_ring_dma(const struct rxp_ring *ring, const dma_addr_t *dma, u32 i)
{
	return dma[i / ring->per] + (i % ring->per) * ring->size;
}
