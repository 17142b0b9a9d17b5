// SPDX-License-Identifier: GPL-2.0
/*
 * Data buffers: pages for the data of one RPC, DMA mapped for as long as they are in a pool.
 *
 * A buffer that is given back stays in its pool for some seconds.  rxp_pool.lock guards the lists
 * of idle buffers.  A buffer that is not idle belongs to the I/O that took it.
 */
#include <linux/slab.h>
#include "transport/internal.h"
#include "transport/points.h"

static void rxp_buf_free(struct rxp_pool *pool, struct rxp_buf *buf)
{
	u32 i;

	rxp_sg_unmap(pool, &buf->sg, DMA_BIDIRECTIONAL);
	for (i = 0; i < buf->sg.nents; i++)
		if (buf->bv[i].bv_page && !rdmafs_test_keep(buf->bv[i].bv_page))
			__free_pages(buf->bv[i].bv_page, get_order(buf->bv[i].bv_len));
	kvfree(buf->sg.wr);
	kvfree(buf->bv);
	kfree(buf);
}

/* Take a buffer that has left the lists out of the idle bytes.  @pool->lock held. */
static void rxp_buf_unidle(struct rxp_pool *pool, const struct rxp_buf *buf)
{
	lockdep_assert_held(&pool->lock);
	pool->idle_bytes -= buf->size;
	if (pool->ops->unidle)
		pool->ops->unidle(pool, buf->size);
}

/**
 * rxp_buf_decay - free the buffers of a pool that have been idle for RXP_IDLE_SECS
 * @work: the pool's decay
 *
 * Context: process; takes the pool's lock.
 */
void rxp_buf_decay(struct work_struct *work)
{
	struct rxp_pool *pool = container_of(work, struct rxp_pool, decay.work);
	unsigned long limit = jiffies - RXP_IDLE_SECS * HZ;
	struct rxp_buf *buf, *bt;
	LIST_HEAD(old_bufs);
	bool more = false;
	int c;

	spin_lock_bh(&pool->lock);
	for (c = RPOL_NR_CLASSES - 1; c >= 0; c--) {
		list_for_each_entry_safe_reverse(buf, bt, &pool->bufs[c], link) {
			if (!pool->closed && time_after(buf->idle, limit))
				break;
			list_move(&buf->link, &old_bufs);
			rxp_buf_unidle(pool, buf);
		}
		more |= !list_empty(&pool->bufs[c]);
	}
	more &= !pool->closed;
	if (more)
		queue_delayed_work(rxp_wq, &pool->decay, HZ);
	spin_unlock_bh(&pool->lock);

	list_for_each_entry_safe(buf, bt, &old_bufs, link) {
		list_del(&buf->link);
		rxp_buf_free(pool, buf);
	}
}

/*
 * Remove the largest idle buffer, and of several the oldest, from the pool.  Returns NULL if none
 * is idle.
 */
static struct rxp_buf *rxp_buf_spare(struct rxp_pool *pool)
{
	struct rxp_buf *buf;
	int c;

	lockdep_assert_held(&pool->lock);
	for (c = RPOL_NR_CLASSES - 1; c >= 0; c--) {
		if (list_empty(&pool->bufs[c]))
			continue;
		buf = list_last_entry(&pool->bufs[c], struct rxp_buf, link);
		list_del(&buf->link);
		rxp_buf_unidle(pool, buf);
		return buf;
	}
	return NULL;
}

/**
 * rxp_buf_trim - give idle buffers back to the system
 * @pool: the pool
 * @keep: bytes of idle buffers that may stay
 *
 * Context: process; takes @pool->lock.
 */
void rxp_buf_trim(struct rxp_pool *pool, u64 keep)
{
	struct rxp_buf *buf;

	do {
		spin_lock_bh(&pool->lock);
		buf = pool->idle_bytes > keep ? rxp_buf_spare(pool) : NULL;
		spin_unlock_bh(&pool->lock);
		if (buf)
			rxp_buf_free(pool, buf);
	} while (buf);
}

/*
 * Fill a buffer with runs of pages: each run is one sge, so that a megabyte needs few work
 * requests.
 */
static int rxp_buf_fill(struct rxp_pool *pool, struct rxp_buf *buf)
{
	u32 left = buf->size, i = 0;
	int order = 3;

	while (left) {
		struct page *page = NULL;

		while (order > 0 && left < (PAGE_SIZE << order))
			order--;
		while (!page) {
			gfp_t gfp = GFP_NOFS | __GFP_ZERO | __GFP_COMP;

			if (order)
				gfp |= __GFP_NORETRY | __GFP_NOWARN;
			page = alloc_pages(gfp, order);
			if (!page && !order--)
				return -ENOMEM;
		}
		bvec_set_page(&buf->bv[i], page, PAGE_SIZE << order, 0);
		sg_set_page(&buf->sg.sgl[i], page, PAGE_SIZE << order, 0);
		left -= PAGE_SIZE << order;
		i++;
		buf->sg.nents = i;
	}
	sg_mark_end(&buf->sg.sgl[i - 1]);
	if (rdmafs_test_fails("buf_dma_map", 0))
		return -ENOMEM;
	return rxp_sg_map(pool, &buf->sg, DMA_BIDIRECTIONAL);
}

static const u32 rxp_buf_sizes[RPOL_NR_CLASSES] = {
	SZ_32K, SZ_128K, SZ_512K, SZ_1M, SZ_2M, SZ_4M
};

/* The class of a buffer for @len bytes, RPOL_NR_CLASSES if there is none. */
static int rxp_buf_class(u32 len)
{
	int c;

	for (c = 0; c < RPOL_NR_CLASSES && rxp_buf_sizes[c] < len; c++)
		;
	return c;
}

/**
 * rxp_buf_size - the size of the buffer that rxp_buf_get() makes
 * @len: bytes asked for, 1..RDMAFS_XPRT_DATA_MAX
 *
 * Context: any.
 *
 * Return: bytes of the buffer.
 */
u32 rxp_buf_size(u32 len)
{
	int c = min(rxp_buf_class(len), RPOL_NR_CLASSES - 1);

	/* A page may be larger than the smallest class, for example 64 KiB. */
	return max_t(u32, rxp_buf_sizes[c], PAGE_SIZE);
}

/**
 * rxp_buf_get_idle - take an idle buffer for the data of one RPC
 * @pool: the pool, whose pages never go to another session (Documentation/architecture.rst,
 *	  "Who owns memory until when")
 * @len:  bytes, 1..RDMAFS_XPRT_DATA_MAX
 *
 * Context: any but hard interrupt; takes @pool->lock.
 *
 * Return: a buffer of at least @len bytes, or NULL if none of its class is idle.
 */
struct rxp_buf *rxp_buf_get_idle(struct rxp_pool *pool, u32 len)
{
	int c = rxp_buf_class(len);
	struct rxp_buf *buf;

	if (c == RPOL_NR_CLASSES)
		return NULL;
	spin_lock_bh(&pool->lock);
	buf = list_first_entry_or_null(&pool->bufs[c], struct rxp_buf, link);
	if (buf) {
		list_del(&buf->link);
		rxp_buf_unidle(pool, buf);
	}
	spin_unlock_bh(&pool->lock);
	if (buf)
		rdmafs_test_take(buf->bv, buf->sg.nents);
	return buf;
}

/**
 * rxp_buf_get - take a buffer for the data of one RPC, an idle one or a new one
 * @pool: the pool
 * @len:  bytes, 1..RDMAFS_XPRT_DATA_MAX
 *
 * Context: process, may sleep for memory.
 *
 * Return: a buffer of at least @len bytes, or NULL.
 */
struct rxp_buf *rxp_buf_get(struct rxp_pool *pool, u32 len)
{
	static atomic64_t rxp_buf_ids;
	int c = rxp_buf_class(len);
	struct rxp_buf *buf;
	void *room;
	u32 pages;

	if (c == RPOL_NR_CLASSES)
		return NULL;
	buf = rxp_buf_get_idle(pool, len);
	if (buf)
		return buf;

	buf = kzalloc(sizeof(*buf), GFP_NOFS);
	if (!buf)
		return NULL;
	buf->id = atomic64_inc_return(&rxp_buf_ids);
	buf->class = c;
	buf->size = rxp_buf_size(len);
	pages = buf->size >> PAGE_SHIFT;
	room = kvmalloc(rxp_sg_room(pages), GFP_NOFS);
	if (!room)
		goto out_free;
	rxp_sg_init(&buf->sg, room, pages);
	sg_init_table(buf->sg.sgl, pages);
	buf->bv = kvcalloc(pages, sizeof(*buf->bv), GFP_NOFS);
	if (!buf->bv)
		goto out_free;
	if (rxp_buf_fill(pool, buf))
		goto out_free;
	return buf;

out_free:
	rxp_buf_free(pool, buf);
	return NULL;
}

/**
 * rxp_buf_put - give a buffer back
 * @pool: the pool
 * @buf:  the buffer; neither the device nor the caller uses it any more
 *
 * Context: any but hard interrupt; takes @pool->lock.
 */
void rxp_buf_put(struct rxp_pool *pool, struct rxp_buf *buf)
{
	bool keep;

	rdmafs_test_give(buf->bv, buf->sg.nents);
	buf->idle = jiffies;
	spin_lock_bh(&pool->lock);
	pool->idle_bytes += buf->size;
	keep = !pool->ops->idle || pool->ops->idle(pool, buf->size);
	if (keep) {
		list_add(&buf->link, &pool->bufs[buf->class]);
	} else {
		/*
		 * The budget has no room for it: have the decay worker free it at once, by its
		 * age.
		 */
		buf->idle -= RXP_IDLE_SECS * HZ + 1;
		list_add_tail(&buf->link, &pool->bufs[buf->class]);
	}
	if (keep && !pool->closed)
		queue_delayed_work(rxp_wq, &pool->decay, HZ);
	else
		mod_delayed_work(rxp_wq, &pool->decay, 0);
	spin_unlock_bh(&pool->lock);
}

/**
 * rxp_buf_nents - count the DMA mapped entries that hold the first bytes
 * @buf: the buffer
 * @len: bytes, 1..buf->size
 *
 * Context: any.
 *
 * Return: how many.
 */
u32 rxp_buf_nents(const struct rxp_buf *buf, u32 len)
{
	struct scatterlist *sg = buf->sg.sgl;
	u32 n = 1;

	while (sg_dma_len(sg) < len) {
		len -= sg_dma_len(sg);
		sg = sg_next(sg);
		n++;
	}
	return n;
}

/**
 * rxp_buf_pages - count the translations that the first bytes take, in whole chunks
 * @buf: the buffer
 * @len: bytes, 1..buf->size
 *
 * Context: any.
 *
 * Return: pages.
 */
u32 rxp_buf_pages(const struct rxp_buf *buf, u32 len)
{
	u32 n = rxp_buf_nents(buf, len), pages = 0;
	struct scatterlist *sg;
	int i;

	for_each_sg(buf->sg.sgl, sg, n, i)
		pages += DIV_ROUND_UP(sg_dma_len(sg), PAGE_SIZE);
	return pages;
}

/**
 * rxp_buf_sync_for_cpu - make a buffer readable by the CPU after the device has written
 * @pool: the pool of the buffer
 * @buf:  the buffer
 *
 * Context: any.
 */
void rxp_buf_sync_for_cpu(struct rxp_pool *pool, struct rxp_buf *buf)
{
	struct ib_device *ib = pool->rdev->ib;

	if (!ib_uses_virt_dma(ib))
		dma_sync_sg_for_cpu(ib->dma_device, buf->sg.sgl, buf->sg.nents, DMA_BIDIRECTIONAL);
}

/**
 * rxp_buf_sync_for_device - make a buffer readable by the device after the CPU has written
 * @pool: the pool of the buffer
 * @buf:  the buffer
 *
 * Context: any.
 */
void rxp_buf_sync_for_device(struct rxp_pool *pool, struct rxp_buf *buf)
{
	struct ib_device *ib = pool->rdev->ib;

	if (!ib_uses_virt_dma(ib))
		dma_sync_sg_for_device(ib->dma_device, buf->sg.sgl, buf->sg.nents,
				       DMA_BIDIRECTIONAL);
}
