// SPDX-License-Identifier: GPL-2.0
/*
 * Allocate the buffers that mounts' connections receive messages in, and bound their memory.
 *
 * They are large only as long as all large ones of this machine's mounts together take no more
 * than 1/RXC_LARGE_PART of its memory, and there is memory without reclaim.  A mount has to connect
 * again even when there is no memory left, so it keeps them for the next connection.
 */
#include <linux/mm.h>
#include "transport/client/client.h"

/* All large receives together may take one part in this many of the memory. */
#define RXC_LARGE_PART	64

static atomic64_t rxc_large_bytes = ATOMIC64_INIT(0);

/**
 * rxc_receives_free - free receive buffers
 * @ring: the buffers, or a zeroed ring
 *
 * Context: process, may sleep.
 */
void rxc_receives_free(struct rxp_ring *ring)
{
	rxp_ring_destroy(ring);
	atomic64_sub(ring->charged, &rxc_large_bytes);
	ring->charged = 0;
}

/* Allocate large receives, unless there are too many already or there is no memory for them. */
static int rxc_receives_large(struct rxp_ring *ring, u32 nr, u32 size)
{
	u64 limit = ((u64)totalram_pages() << PAGE_SHIFT) / RXC_LARGE_PART;
	u64 bytes = (u64)nr * size;

	if (atomic64_add_return(bytes, &rxc_large_bytes) > limit ||
	    rxp_ring_init(ring, nr, size, DMA_FROM_DEVICE, false)) {
		atomic64_sub(bytes, &rxc_large_bytes);
		return -ENOMEM;
	}
	ring->charged = bytes;
	return 0;
}

/**
 * rxc_receives - make a connection's receives, large ones if possible
 * @conn: the connection; its rx_ring may hold those of the connection before, which are reused
 * @size: bytes that are best for each
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rxc_receives(struct rxp_conn *conn, u32 size)
{
	struct rxp_ring *ring = &conn->rx_ring, large = {};
	bool kept = ring->chunk && ring->nr >= conn->nr_rx;
	int ret = 0;

	if (size > RXP_MSG_MAX && !(kept && ring->size >= size) &&
	    !rxc_receives_large(&large, conn->nr_rx, size)) {
		rxc_receives_free(ring);
		*ring = large;
	} else if (!kept) {
		rxc_receives_free(ring);
		ret = rxp_ring_init(ring, conn->nr_rx, RXP_MSG_MAX, DMA_FROM_DEVICE, true);
	}
	conn->recv_size = ring->charged ? min(size, ring->size) : RXP_MSG_MAX;
	return ret;
}
