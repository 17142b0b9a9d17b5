// SPDX-License-Identifier: GPL-2.0
/*
 * Map the data of a call that does not travel inside its messages: the caller's pages, for the
 * device, and for a READ the MR over them.
 *
 * Mapping comes before the CALL (direct), or after the CALL has been sent, while the server is
 * at work already (overlapped: Ou et al., FRRWP).  Overlapped, the translations are reserved
 * before the CALL, without waiting, and only the mapping is done late.
 *
 * This file also decides which of the two a READ uses.  Direct takes R + d + S + d, overlapped
 * 2d + max(R, S) and one message more, where R is the time of mapping here, S the server's time
 * and d one way.  R and S are known from the last I/Os of that size, the cost of a message from
 * small calls (cost.c).  A WRITE needs no additional message, so it is always overlapped unless
 * a granted sink is at hand: its data goes when both its pages and the server's sink are ready.
 *
 * Pages that one MR, or one set of RDMA WRITEs, can't hold go through a bounce buffer, which is
 * always mapped before the CALL for a READ.
 *
 * client.h says which party owns the mapping in which state of the call.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/mempool.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "transport/client/client.h"

/* Scatter/gather entries by kind: for 128 KiB, 1 MiB and 4 MiB that begin inside a page. */
static const u32 rxc_io_segs[RXC_IO_KINDS] = { 33, 257, RPOL_CLASS_MAX };
/*
 * Number of each kind that a mount keeps for when the system is short of memory: enough for
 * writeback to go on, one I/O at a time.  Mounts do not share them: what another mount holds
 * may come back only from a server that is dead.  112 KiB for each mount (4 of 4 KiB, one of 32
 * KiB, one of 64 KiB).
 */
static const int rxc_io_reserve_nr[RXC_IO_KINDS] = { 4, 1, 1 };

static size_t rxc_io_size(u32 segs)
{
	return sizeof(struct rxc_io) + rxp_sg_room(segs);
}

/* As mempool_kvmalloc(), but a test can make it fail, so that the mempool's reserve is used. */
static void *rxc_io_mem(gfp_t gfp, void *size)
{
	return rdmafs_test_fails("io_mem", 0) ? NULL : kvmalloc((size_t)size, gfp);
}

/**
 * rxc_io_pools_init - set memory aside for a mount's large calls
 * @x: the session
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM; rxc_io_pools_destroy() undoes either.
 */
int rxc_io_pools_init(struct rdmafs_xprt *x)
{
	int k;

	for (k = 0; k < RXC_IO_KINDS; k++) {
		x->io_pools[k] = mempool_create(rxc_io_reserve_nr[k], rxc_io_mem, mempool_kvfree,
						(void *)rxc_io_size(rxc_io_segs[k]));
		if (!x->io_pools[k])
			return -ENOMEM;
	}
	return 0;
}

/**
 * rxc_io_pools_destroy - undo rxc_io_pools_init()
 * @x: the session, without calls
 *
 * Context: process.
 */
void rxc_io_pools_destroy(struct rdmafs_xprt *x)
{
	int k;

	for (k = 0; k < RXC_IO_KINDS; k++)
		mempool_destroy(x->io_pools[k]);
}

/* ------------------------------------------------------------ data of a call */

/**
 * rxc_io_alloc - allocate the description of a call's data
 * @call: with its iterator and its session
 *
 * Context: process, may sleep.  In a shortage it waits for another I/O of this mount to end, as
 * writeback must go on.
 *
 * Return: the io, to be freed by rxc_io_free(); never fails.
 */
struct rxc_io *rxc_io_alloc(struct rdmafs_xprt_call *call)
{
	u32 segs = iov_iter_npages(&call->iter, RPOL_CLASS_MAX + 1);
	struct rxc_io *io;
	u8 kind = 0;

	/* Data in more pieces than the largest kind holds goes through a bounce buffer. */
	while (kind < RXC_IO_KINDS - 1 && segs > rxc_io_segs[kind])
		kind++;
	io = mempool_alloc(call->x.xprt->io_pools[kind], GFP_NOFS);
	memset(io, 0, sizeof(*io));
	io->call = call;
	io->len = iov_iter_count(&call->iter);
	io->kind = kind;
	io->segs = rxc_io_segs[kind];
	rxp_sg_init(&io->sg, io + 1, io->segs);
	return io;
}

/**
 * rxc_io_free - free the description of a call's data
 * @io: not mapped
 *
 * Context: any but hard interrupt.
 */
void rxc_io_free(struct rxc_io *io)
{
	kfree(io->small);
	mempool_free(io, io->call->x.xprt->io_pools[io->kind]);
}

static enum dma_data_direction rxc_io_dma_dir(const struct rxc_io *io)
{
	return io->call->dir == RDMAFS_XPRT_READ ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
}

/**
 * rxc_io_unmap - give back all that an io has of a device
 * @io: mapped, reserved or neither
 *
 * Context: process, may sleep; if the MR is idle or there is none, any but hard interrupt.
 */
void rxc_io_unmap(struct rxc_io *io)
{
	if (!io->pool)
		return;
	if (io->mr)
		rxp_mr_put(io->pool, io->mr);
	io->mr = NULL;
	rxp_sg_unmap(io->pool, &io->sg, rxc_io_dma_dir(io));
	if (io->bounce)
		rxp_buf_put(io->pool, io->bounce);
	io->bounce = NULL;
	rxp_pool_put(io->pool);
	io->pool = NULL;
}

/* DMA map the caller's pages; -EINVAL if they are in too many pieces. */
static int rxc_io_map_sg(struct rxc_io *io)
{
	struct sg_table got = { .sgl = io->sg.sgl };
	struct iov_iter iter = io->call->iter;
	int pages = iov_iter_npages(&iter, io->segs + 1);
	ssize_t len;

	if (pages > io->segs)
		return -EINVAL;
	sg_init_table(got.sgl, pages);
	len = extract_iter_to_sg(&iter, io->len, &got, pages, 0);
	if (len < 0)
		return len;
	if (len != io->len || !got.nents)
		return -EINVAL;
	sg_mark_end(&got.sgl[got.nents - 1]);
	io->sg.nents = got.nents;
	if (rdmafs_test_fails("io_dma_map", io->call->dir))
		return -ENOMEM;
	return rxp_sg_map(io->pool, &io->sg, rxc_io_dma_dir(io));
}

static int rxc_io_bounce(struct rxc_io *io)
{
	u32 left = io->len, i;

	io->bounce = rxp_buf_get(io->pool, io->len);
	if (!io->bounce)
		return -ENOMEM;
	if (io->call->dir == RDMAFS_XPRT_WRITE) {
		struct iov_iter iter = io->call->iter;

		for (i = 0; left; i++) {
			struct bio_vec *bv = &io->bounce->bv[i];
			u32 part = min(left, bv->bv_len);

			if (copy_from_iter(page_address(bv->bv_page), part, &iter) != part)
				return -EFAULT;
			left -= part;
		}
		rxp_buf_sync_for_device(io->pool, io->bounce);
	}
	return 0;
}

static int rxc_io_take_mr(struct rxc_io *io, u32 pages, bool nowait)
{
	struct rxp_mr *mr = rxp_mr_get(io->pool, pages);

	if (IS_ERR(mr) && PTR_ERR(mr) == -EAGAIN && !nowait)
		mr = rxp_mr_wait(io->pool, pages, io->call->x.dismissals);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	io->mr = mr;
	return 0;
}

/* For measurements: take as long as registration on a slower device would, T = a * p + b. */
static void rxc_io_slow(const struct rxc_io *io)
{
	u32 base = rdmafs_test_knob(map_us), page = rdmafs_test_knob(map_page_us);

	if (base || page)
		rdmafs_test_delay(base + page * iov_iter_npages(&io->call->iter, INT_MAX));
}

/*
 * Update an average in which the last samples count most.  No lock: if two tasks do this at
 * once, one update may be lost.
 */
static void rxc_average(u32 *average, u64 ns)
{
	u32 old = READ_ONCE(*average), new = min_t(u64, ns, U32_MAX / 2);

	WRITE_ONCE(*average, old ? old - old / 8 + new / 8 : new);
}

static struct rxc_cost *rxc_io_cost(struct rdmafs_xprt *x, const struct rxc_io *io)
{
	int c = rpol_class_for(DIV_ROUND_UP(io->len, PAGE_SIZE), RPOL_CLASS_MAX);

	return &x->cost[max(c, 0)];
}

/*
 * Map the caller's own pages for a READ; -EINVAL: no MR can hold them, as they are too many or
 * have gaps, but a bounce buffer will do.
 */
static int rxc_io_map_read_pages(struct rxc_io *io, bool nowait)
{
	u32 pages = iov_iter_npages(&io->call->iter, INT_MAX);
	u64 start;
	int ret;

	if (DIV_ROUND_UP(io->len, PAGE_SIZE) > io->pool->rdev->max_entries)
		return -E2BIG;
	if (!io->mr) {
		/*
		 * A bounce buffer helps against the device's bound only: data that is more than
		 * the quota allows (-E2BIG) stays so in whatever pages.
		 */
		if (pages > io->pool->rdev->max_entries)
			return -EINVAL;
		ret = rxc_io_take_mr(io, pages, nowait);
		if (ret)
			return ret;
	}
	/* From here on the same is done before a CALL and after it: rxc_io_overlaps() compares. */
	start = ktime_get_ns();
	rxc_io_slow(io);
	ret = rxc_io_map_sg(io);
	if (!ret)
		ret = rxp_mr_map(io->mr, io->sg.sgl, io->sg.mapped, io->len, &io->reg);
	if (!ret)
		rxc_average(&rxc_io_cost(io->call->x.xprt, io)->map_ns, ktime_get_ns() - start);
	return ret;
}

static int rxc_io_map_read(struct rxc_io *io, bool nowait, bool late)
{
	int ret;

	ret = rxc_io_map_read_pages(io, nowait);
	if (ret != -EINVAL || late)
		return ret;
	/* Read into a bounce buffer; rxc_io_copy_out() copies when the reply has come. */
	rxp_sg_unmap(io->pool, &io->sg, rxc_io_dma_dir(io));
	if (io->mr)
		rxp_mr_put(io->pool, io->mr);
	io->mr = NULL;
	rxp_count(io->pool->stats, bounced);
	ret = rxc_io_bounce(io);
	if (!ret)
		ret = rxc_io_take_mr(io, rxp_buf_pages(io->bounce, io->len), nowait);
	if (!ret)
		ret = rxp_mr_map_buf(io->pool, io->mr, io->bounce, io->len, &io->reg);
	return ret;
}

static int rxc_io_map_write(struct rxc_io *io)
{
	int ret;

	rxc_io_slow(io);
	ret = rxc_io_map_sg(io);
	if (ret == -EINVAL) {
		rxp_count(io->pool->stats, bounced);
		ret = rxc_io_bounce(io);
	}
	if (!ret)
		io->nr_wr = rxp_build_writes(io->pool, rxc_io_source(io), io->len);
	return ret;
}

/**
 * rxc_io_served - account what the server said it took for a READ
 * @x:  the session
 * @io: of the READ
 * @us: the server's time from CALL to REPLY, microseconds
 *
 * Context: softirq; any would do.
 */
void rxc_io_served(struct rdmafs_xprt *x, const struct rxc_io *io, u32 us)
{
	rxc_average(&rxc_io_cost(x, io)->service_ns, (u64)us * NSEC_PER_USEC);
}

/**
 * rxc_message_time - read the clock if a call is to show what a message costs
 * @call: the call, about to be sent
 * @seq:  its sequence number: one in RXP_WIRE_SAMPLE is a sample
 *
 * Context: any.
 *
 * Return: ns, or 0 if the call is no sample.
 */
u64 rxc_message_time(const struct rdmafs_xprt_call *call, u32 seq)
{
	return call->x.io || seq % RXP_WIRE_SAMPLE ? 0 : ktime_get_ns();
}

/**
 * rxc_message_seen - account what a message costs, if the call that was answered is a sample
 * @x:    the session
 * @slot: the call's slot
 * @us:   the server's time from CALL to REPLY, microseconds
 *
 * Context: softirq; any would do.
 */
void rxc_message_seen(struct rdmafs_xprt *x, const struct rxc_slot *slot, u32 us)
{
	if (slot->sent_ns)
		WRITE_ONCE(x->message_ns,
			   rxc_message_cost(READ_ONCE(x->message_ns),
					    ktime_get_ns() - slot->sent_ns, us));
}

static u32 rxc_message_ns(const struct rdmafs_xprt *x)
{
	return READ_ONCE(x->message_ns) ?: READ_ONCE(x->message_guess);
}

/**
 * rxc_io_overlaps - decide whether data is mapped after the CALL has been sent
 * @x:  the session
 * @io: of a call about to be sent
 *
 * Context: any.
 *
 * Return: true if so.
 */
bool rxc_io_overlaps(struct rdmafs_xprt *x, const struct rxc_io *io)
{
	const struct rxc_cost *cost = rxc_io_cost(x, io);
	enum rdmafs_xprt_reg reg = READ_ONCE(x->reg);

	if (io->direct)
		return false;
	if (io->call->dir == RDMAFS_XPRT_WRITE)
		return true;
	if (reg != RDMAFS_REG_AUTO)
		return reg == RDMAFS_REG_OVERLAPPED;
	return min(READ_ONCE(cost->map_ns), READ_ONCE(cost->service_ns)) > rxc_message_ns(x);
}

/**
 * rxc_io_show_costs - show what rxc_io_overlaps() decides by, for each MR class
 * @m: the file to write to
 * @x: the session
 *
 * Context: process.
 */
void rxc_io_show_costs(struct seq_file *m, struct rdmafs_xprt *x)
{
	static const char * const name[] = { "auto", "direct", "overlapped" };
	int c;

	seq_printf(m, "poll_us %u\n", READ_ONCE(x->poll_us));
	seq_printf(m, "reg %s\nmessage_ns %u\nmap_ns", name[READ_ONCE(x->reg)], rxc_message_ns(x));
	for (c = 0; c < RPOL_NR_CLASSES; c++)
		seq_printf(m, " %u", READ_ONCE(x->cost[c].map_ns));
	seq_puts(m, "\nservice_ns");
	for (c = 0; c < RPOL_NR_CLASSES; c++)
		seq_printf(m, " %u", READ_ONCE(x->cost[c].service_ns));
	seq_putc(m, '\n');
}

static int rxc_io_map_pages(struct rxc_io *io, bool nowait, bool late)
{
	if (io->call->dir == RDMAFS_XPRT_READ)
		return rxc_io_map_read(io, nowait, late);
	return rxc_io_map_write(io);
}

/**
 * rxc_io_reserve - take the translations that mapping will need, without waiting
 * @io:   not mapped
 * @pool: the pool of the device to be used; a reference is taken
 *
 * Context: process, may sleep for memory.
 *
 * Return: 0, after which rxc_io_map_late() maps it; or a negative errno, and nothing is taken:
 * map it before the CALL.
 */
int rxc_io_reserve(struct rxc_io *io, struct rxp_pool *pool)
{
	int ret = 0;

	rxp_pool_get(pool);
	io->pool = pool;
	if (io->call->dir == RDMAFS_XPRT_READ)
		ret = rxc_io_take_mr(io, iov_iter_npages(&io->call->iter, INT_MAX), true);
	if (ret)
		rxc_io_unmap(io);
	return ret;
}

/**
 * rxc_io_map_late - map after the CALL has been sent
 * @io: reserved; its call is in a state of rxc_call_being_mapped(), so that only the submitter
 *	touches the mapping
 *
 * The reply may come meanwhile.
 *
 * Context: process, may sleep for memory.
 *
 * Return: 0; -EINVAL: a READ whose pages need a bounce buffer; or another negative errno.  What
 * was mapped before an error is unmapped when the call ends.
 */
int rxc_io_map_late(struct rxc_io *io)
{
	return rxc_io_map_pages(io, true, true);
}

/**
 * rxc_io_map - map before the CALL is sent
 * @io:     not mapped
 * @pool:   the pool of the device to be used; a reference is taken
 * @nowait: -EAGAIN rather than waiting for translations
 *
 * Context: process; without @nowait sleeps for translations, killably; may sleep for memory.
 *
 * Return: 0, or a negative errno, and nothing is mapped.
 */
int rxc_io_map(struct rxc_io *io, struct rxp_pool *pool, bool nowait)
{
	int ret;

	rxp_pool_get(pool);
	io->pool = pool;
	ret = rxc_io_map_pages(io, nowait, false);
	if (ret)
		rxc_io_unmap(io);
	return ret;
}

/**
 * rxc_io_copy_out - copy from a READ's bounce buffer to the caller's pages
 * @io: of the READ, answered; if the copy fails, the call's status becomes -EFAULT
 *
 * Context: process.
 */
void rxc_io_copy_out(struct rxc_io *io)
{
	u32 left = io->filled, i;
	struct iov_iter iter = io->call->iter;

	rxp_buf_sync_for_cpu(io->pool, io->bounce);
	for (i = 0; left; i++) {
		struct bio_vec *bv = &io->bounce->bv[i];
		u32 part = min(left, bv->bv_len);

		if (copy_to_iter(page_address(bv->bv_page), part, &iter) != part) {
			io->call->status = -EFAULT;
			break;
		}
		left -= part;
	}
}

/**
 * rxc_io_copy_small - copy data that came inside the REPLY to the caller's pages
 * @io: of a READ, answered and unmapped; if the copy fails, the call's status becomes -EFAULT
 *
 * Context: any but hard interrupt.
 */
void rxc_io_copy_small(struct rxc_io *io)
{
	struct iov_iter iter = io->call->iter;

	if (io->small && !io->call->status &&
	    copy_to_iter(io->small, io->call->data_len, &iter) != io->call->data_len)
		io->call->status = -EFAULT;
	kfree(io->small);
	io->small = NULL;
}
