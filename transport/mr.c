// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions (MRs) and data buffers, and the pool that a mount or a session draws them from.
 *
 * An MR is bound from the REG_MR of one I/O until that I/O is over: then the peer has invalidated
 * it with its last message, or we do (design, rule 3; binding.c).  It goes back to the policy,
 * which keeps it idle, still charged to the member.  The policy has it destroyed when its entries
 * are needed elsewhere or it was idle for too long.  If the queue pair of an MR fails, the state
 * of its key is unknown: the MR is deregistered, and its charge is returned only then.
 *
 * rxp_pool.lock guards the lists of buffers and the states of MRs.  An MR or a buffer that is not
 * idle belongs to the I/O that took it.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/wait_bit.h>
#include "transport/internal.h"
#include "transport/points.h"

static void rxp_mr_destroy(struct rxp_pool *pool, struct rxp_mr *mr)
{
	ib_dereg_mr(mr->mr);
	if (mr->conn)
		rxp_conn_put(mr->conn);
	rxp_count(pool->stats, mr_free);
	kfree(mr);
}

static void rxp_pool_reap(struct rxp_pool *pool)
{
	struct rpol_mr *victim;
	u32 entries;

	while ((victim = rpol_mr_reap(pool->member))) {
		entries = victim->entries;
		rxp_mr_destroy(pool, container_of(victim, struct rxp_mr, policy));
		rpol_mr_freed(pool->member, entries);
	}
}

static void rxp_pool_reap_work(struct work_struct *work)
{
	struct rxp_pool *pool = container_of(work, struct rxp_pool, reap);

	/* Recalls come first: the peer takes time to answer them. */
	if (pool->ops->recall)
		pool->ops->recall(pool);
	rxp_pool_reap(pool);
}

/**
 * rxp_pool_reclaim - have a worker do what the policy wants of a pool
 * @ctx: the pool; it exists until its member is destroyed
 *
 * The policy has MRs to be destroyed, or grants to be called back.
 *
 * Context: Any; must not sleep.
 */
void rxp_pool_reclaim(void *ctx)
{
	struct rxp_pool *pool = ctx;

	queue_work(rxp_wq, &pool->reap);
}

static const struct rpol_member_ops rxp_member_ops = {
	.reclaim = rxp_pool_reclaim,
};

static void rxp_buf_free(struct rxp_pool *pool, struct rxp_buf *buf)
{
	u32 i;

	if (buf->sgl) {
		if (buf->mapped)
			ib_dma_unmap_sg(pool->rdev->ib, buf->sgl, buf->nents, DMA_BIDIRECTIONAL);
		for (i = 0; i < buf->nents; i++)
			if (buf->bv[i].bv_page && !rdmafs_test_keep(buf->bv[i].bv_page))
				__free_pages(buf->bv[i].bv_page, get_order(buf->bv[i].bv_len));
	}
	kvfree(buf->sgl);
	kvfree(buf->bv);
	kvfree(buf->sge);
	kvfree(buf->wr);
	kfree(buf);
}

/* Take a buffer that has left the lists out of the idle bytes.  @pool->lock held. */
static void rxp_pool_unidle(struct rxp_pool *pool, const struct rxp_buf *buf)
{
	lockdep_assert_held(&pool->lock);
	pool->idle_bytes -= buf->size;
	if (pool->ops->unidle)
		pool->ops->unidle(pool, buf->size);
}

static void rxp_pool_decay(struct work_struct *work)
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
			rxp_pool_unidle(pool, buf);
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
static struct rxp_buf *rxp_pool_spare(struct rxp_pool *pool)
{
	struct rxp_buf *buf;
	int c;

	lockdep_assert_held(&pool->lock);
	for (c = RPOL_NR_CLASSES - 1; c >= 0; c--) {
		if (list_empty(&pool->bufs[c]))
			continue;
		buf = list_last_entry(&pool->bufs[c], struct rxp_buf, link);
		list_del(&buf->link);
		rxp_pool_unidle(pool, buf);
		return buf;
	}
	return NULL;
}

/**
 * rxp_buf_trim - give idle buffers back to the system
 * @pool: the pool
 * @keep: bytes of idle buffers that may stay
 *
 * Context: Process context; takes @pool->lock.
 */
void rxp_buf_trim(struct rxp_pool *pool, u64 keep)
{
	struct rxp_buf *buf;

	do {
		spin_lock_bh(&pool->lock);
		buf = pool->idle_bytes > keep ? rxp_pool_spare(pool) : NULL;
		spin_unlock_bh(&pool->lock);
		if (buf)
			rxp_buf_free(pool, buf);
	} while (buf);
}

static void rxp_pool_free(struct work_struct *work)
{
	struct rxp_pool *pool = container_of(work, struct rxp_pool, free);
	struct rxp_stats *stats = pool->stats;

	rxp_pool_close(pool);
	rpol_mr_flush(pool->member);
	/*
	 * A worker may be about to destroy the last MRs; those that it leaves are destroyed here.
	 */
	cancel_work_sync(&pool->reap);
	rxp_pool_reap(pool);
	rpol_member_destroy(pool->member);
	/* A late rxp_pool_reclaim() may have queued the work, in vain; none can follow. */
	cancel_work_sync(&pool->reap);
	ib_dealloc_pd(pool->pd);
	rxp_device_put(pool->rdev);
	pool->ops->free(pool);
	/* The owner of @stats may free them now: wake_up_var() uses only their address. */
	if (atomic_dec_and_test(&stats->pools))
		wake_up_var(&stats->pools);
}

/**
 * rxp_pool_init - make a protection domain and a member of the policy's domain
 * @pool:  the pool, all zero; it is in memory that @ops->free() frees
 * @ops:   the owner's callbacks; they may be called before this returns
 * @rdev:  the device; a reference is taken
 * @quota: the member's quota
 * @stats: where registrations are counted; must outlive the pool
 *
 * Context: Process context, may sleep.
 *
 * Return: 0, and the pool has one reference; -ENOMEM; -ENOSPC if all of the device's minima are
 * given away; or an error of the device.  On failure the caller frees @pool's memory.
 */
int rxp_pool_init(struct rxp_pool *pool, const struct rxp_pool_ops *ops, struct rxp_device *rdev,
		  const struct rpol_quota *quota, struct rxp_stats *stats)
{
	int ret, c;

	kref_init(&pool->ref);
	pool->ops = ops;
	kref_get(&rdev->ref);
	pool->rdev = rdev;
	pool->stats = stats;
	pool->max_sge = rxp_max_sge(rdev->ib);
	spin_lock_init(&pool->lock);
	INIT_DELAYED_WORK(&pool->decay, rxp_pool_decay);
	INIT_WORK(&pool->free, rxp_pool_free);
	INIT_WORK(&pool->reap, rxp_pool_reap_work);
	for (c = 0; c < RPOL_NR_CLASSES; c++)
		INIT_LIST_HEAD(&pool->bufs[c]);

	pool->pd = ib_alloc_pd(rdev->ib, 0);
	if (IS_ERR(pool->pd)) {
		ret = PTR_ERR(pool->pd);
		goto out_device;
	}
	pool->member = rpol_member_create(rdev->domain, quota, &rxp_member_ops, pool);
	if (IS_ERR(pool->member)) {
		ret = PTR_ERR(pool->member);
		goto out_pd;
	}
	atomic_inc(&stats->pools);
	return 0;

out_pd:
	ib_dealloc_pd(pool->pd);
out_device:
	rxp_device_put(rdev);
	return ret;
}

static void rxp_pool_release(struct kref *ref)
{
	struct rxp_pool *pool = container_of(ref, struct rxp_pool, ref);

	queue_work(rxp_wq, &pool->free);
}

/**
 * rxp_pool_get - take a reference
 * @pool: the pool
 *
 * Context: Any.
 */
void rxp_pool_get(struct rxp_pool *pool)
{
	kref_get(&pool->ref);
}

/**
 * rxp_pool_put - drop a reference; a worker frees the pool after the last one
 * @pool: the pool
 *
 * Context: Any but hard interrupt.
 */
void rxp_pool_put(struct rxp_pool *pool)
{
	kref_put(&pool->ref, rxp_pool_release);
}

/**
 * rxp_pool_close - send away all that wait for translations of a pool
 * @pool: the pool
 *
 * The pool keeps no buffers from now on: a request may hold the pool for long, and idle buffers
 * in it would count for no session meanwhile.
 *
 * Context: Process context, sleeps until the decay worker is done.
 */
void rxp_pool_close(struct rxp_pool *pool)
{
	spin_lock_bh(&pool->lock);
	pool->closed = true;
	spin_unlock_bh(&pool->lock);
	rpol_member_shutdown(pool->member);
	cancel_delayed_work_sync(&pool->decay);
	rxp_buf_trim(pool, 0);
}

static u32 rxp_mr_charge(const struct rxp_pool *pool, int class)
{
	return rpol_class_charge(class, pool->rdev->max_entries, pool->rdev->mr_least);
}

/* Make an MR whose entries are charged already.  On failure they are released. */
static struct rxp_mr *rxp_mr_make(struct rxp_pool *pool, int class)
{
	u32 charge = rxp_mr_charge(pool, class);
	struct rxp_mr *mr = kzalloc(sizeof(*mr), GFP_NOFS);
	int ret = -ENOMEM;

	if (!mr)
		goto out_release;
	mr->pool = pool;
	mr->policy.class = class;
	mr->policy.entries = charge;
	mr->room = rpol_class_entries(class, pool->rdev->max_entries);
	mr->mr = ib_alloc_mr(pool->pd, IB_MR_TYPE_MEM_REG, mr->room);
	if (IS_ERR(mr->mr)) {
		ret = PTR_ERR(mr->mr);
		goto out_free;
	}
	rxp_count(pool->stats, mr_alloc);
	return mr;

out_free:
	kfree(mr);
out_release:
	rpol_release(pool->member, charge);
	return ERR_PTR(ret);
}

/* The policy has granted the entries: return the idle MR that came with them, or a new one. */
static struct rxp_mr *rxp_mr_granted(struct rxp_pool *pool, int class, struct rpol_mr *idle)
{
	return idle ? container_of(idle, struct rxp_mr, policy) : rxp_mr_make(pool, class);
}

/**
 * rxp_mr_get - take an MR for one I/O, without waiting for translations
 * @pool:    the pool
 * @entries: pages that the I/O touches
 *
 * Context: Process context, may sleep for memory.
 *
 * Return: an MR that is idle, or an ERR_PTR: -EAGAIN (none is free), -ESHUTDOWN (the pool is
 * closed), -E2BIG (more than the device or the quota allow), -ENOMEM.
 */
struct rxp_mr *rxp_mr_get(struct rxp_pool *pool, u32 entries)
{
	int class = rpol_class_for(entries, pool->rdev->max_entries);
	struct rpol_mr *idle;
	int ret;

	if (class < 0)
		return ERR_PTR(class);
	ret = rpol_mr_get(pool->member, class, rxp_mr_charge(pool, class), RPOL_NOWAIT, &idle);
	return ret ? ERR_PTR(ret) : rxp_mr_granted(pool, class, idle);
}

/**
 * rxp_mr_capped - was it only the quota that kept rxp_mr_get() from an MR?
 * @pool:    the pool, for which rxp_mr_get() has just returned -EAGAIN
 * @entries: as passed to rxp_mr_get()
 *
 * Context: Any but hard interrupt.
 *
 * Return: true if so: the device has enough entries.
 */
bool rxp_mr_capped(struct rxp_pool *pool, u32 entries)
{
	int class = rpol_class_for(entries, pool->rdev->max_entries);

	return rpol_capped(pool->member, rxp_mr_charge(pool, class));
}

/**
 * rxp_mr_wait - take an MR for one I/O, waiting for translations
 * @pool:    the pool
 * @entries: pages that the I/O touches
 * @since:   rpol_member_dismissals() when the caller saw that it may wait
 *
 * Context: Process context; sleeps, killably, until the policy grants the entries.
 *
 * Return: an MR that is idle, or an ERR_PTR: -EAGAIN (all waiters were sent away after @since),
 * -EINTR, -ESHUTDOWN (the pool is closed), -E2BIG (more than the device or the quota allow),
 * -ENOMEM.
 */
struct rxp_mr *rxp_mr_wait(struct rxp_pool *pool, u32 entries, u32 since)
{
	int class = rpol_class_for(entries, pool->rdev->max_entries);
	struct rpol_mr *idle;
	int ret;

	if (class < 0)
		return ERR_PTR(class);
	ret = rpol_mr_get_since(pool->member, class, rxp_mr_charge(pool, class), since, &idle);
	return ret ? ERR_PTR(ret) : rxp_mr_granted(pool, class, idle);
}

/**
 * rxp_mr_put - give an MR back after its I/O
 * @pool: the pool
 * @mr:   the MR; no chain that registers or invalidates it may be under way
 *
 * An MR that is not idle, because its queue pair is dead, is deregistered at once.
 *
 * Context: Any but hard interrupt if @mr is idle; otherwise process context, sleeps.
 */
void rxp_mr_put(struct rxp_pool *pool, struct rxp_mr *mr)
{
	u32 entries = mr->policy.entries;

	switch (READ_ONCE(mr->state)) {
	case RXP_MR_IDLE:
		rpol_mr_idle(pool->member, &mr->policy);
		break;
	case RXP_MR_BOUND:
	case RXP_MR_UNKNOWN:
		rpol_mr_regain(pool->member, &mr->policy);
		rxp_mr_destroy(pool, mr);
		rpol_release(pool->member, entries);
		break;
	default:
		/* Leak the MR rather than reuse it while a device may know its key. */
		WARN_ON_ONCE(1);
	}
}

/**
 * rxp_mr_claim - wait in line for an MR that rxp_mr_get() could not get
 * @pool:    the pool, which @w's owner holds a reference on
 * @entries: as passed to rxp_mr_get()
 * @w:       its granted() is set; the policy's until granted() is called, then its owner's again
 *
 * granted() is called in any case, perhaps before this returns.  It is called in any context but
 * hard interrupt, with locks held.  If its result is 0, rxp_mr_claimed() has to follow.
 *
 * Context: Any but hard interrupt; does not sleep.
 */
void rxp_mr_claim(struct rxp_pool *pool, u32 entries, struct rpol_waiter *w)
{
	int ret;

	w->mem = pool->member;
	w->class = rpol_class_for(entries, pool->rdev->max_entries);
	w->entries = rxp_mr_charge(pool, w->class);
	ret = rpol_mr_claim(w);
	if (ret != -EINPROGRESS)
		w->granted(w, ret);
}

/**
 * rxp_mr_claimed - take the MR that a claim was granted
 * @pool: the pool
 * @w:    granted() was called for it with 0
 *
 * Context: Process context, may sleep for memory.
 *
 * Return: an MR that is idle, or an ERR_PTR: -ENOMEM, or an error of the device.
 */
struct rxp_mr *rxp_mr_claimed(struct rxp_pool *pool, const struct rpol_waiter *w)
{
	return rxp_mr_granted(pool, w->class, w->mr);
}

/*
 * An address that tells the peer nothing about our memory: random above the page offset, and with
 * its two top bits clear, so that it is far from the end and can't wrap.
 */
static u64 rxp_random_iova(u64 page_offset)
{
	return (get_random_u64() & (U64_MAX >> 2) & PAGE_MASK) | page_offset;
}

static int rxp_mr_set_pages(struct rxp_mr *mr, struct scatterlist *sgl, int nents, u32 len)
{
	mr->buf = 0;
	if (ib_map_mr_sg(mr->mr, sgl, nents, NULL, PAGE_SIZE) != nents || mr->mr->length < len)
		return -EINVAL;
	return 0;
}

static void rxp_mr_prepare(struct rxp_mr *mr, u32 len, struct ib_reg_wr *wr)
{
	struct ib_mr *ib = mr->mr;
	u8 key;

	ib->length = len;
	ib->iova = rxp_random_iova(ib->iova & ~PAGE_MASK);

	/* 1..255 added: never the key of the last use, and hard to guess. */
	key = (ib->rkey & 0xff) + 1 + get_random_u32_below(255);
	ib_update_fast_reg_key(ib, key);

	memset(wr, 0, sizeof(*wr));
	wr->wr.opcode = IB_WR_REG_MR;
	wr->mr = ib;
	wr->key = ib->rkey;
	wr->access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
}

/**
 * rxp_mr_map - map pages into an MR and prepare its registration
 * @mr:    an MR that is idle
 * @sgl:   the pages, DMA mapped
 * @nents: entries of @sgl
 * @len:   bytes of the I/O: all that @sgl holds, or less
 * @wr:    out: the REG_MR to post; wr->key is the new rkey
 *
 * Context: Process context: some devices write the translations here.
 *
 * Return: 0; -EINVAL: the pages have gaps that one MR can't bridge.
 */
int rxp_mr_map(struct rxp_mr *mr, struct scatterlist *sgl, int nents, u32 len,
	       struct ib_reg_wr *wr)
{
	int ret = rxp_mr_set_pages(mr, sgl, nents, len);

	if (!ret)
		rxp_mr_prepare(mr, len, wr);
	return ret;
}

/**
 * rxp_mr_map_buf - map the beginning of a buffer into an MR and prepare its registration
 * @pool: the pool of both
 * @mr:   an MR that is idle
 * @buf:  the buffer
 * @len:  bytes, 1..@buf->size
 * @wr:   out: the REG_MR to post; wr->key is the new rkey
 *
 * A granted sink is mostly the buffer that was written last, with the same MR.  If the device
 * keeps the translations of an invalid MR, they are not written again here: writing them costs
 * more than all else that a registration does on this side.
 *
 * Context: Process context.
 *
 * Return: as rxp_mr_map().
 */
int rxp_mr_map_buf(struct rxp_pool *pool, struct rxp_mr *mr, struct rxp_buf *buf, u32 len,
		   struct ib_reg_wr *wr)
{
	u32 nents = rxp_buf_nents(buf, len);
	int ret;

	if (!pool->rdev->keeps_pages || mr->buf != buf->id || mr->nents != nents) {
		ret = rxp_mr_set_pages(mr, buf->sgl, nents, len);
		if (ret)
			return ret;
		mr->buf = buf->id;
		mr->nents = nents;
	}
	rxp_mr_prepare(mr, len, wr);
	return 0;
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
		sg_set_page(&buf->sgl[i], page, PAGE_SIZE << order, 0);
		left -= PAGE_SIZE << order;
		i++;
		buf->nents = i;
	}
	sg_mark_end(&buf->sgl[i - 1]);
	if (!rdmafs_test_fail("buf_dma_map", 0))
		buf->mapped = ib_dma_map_sg(pool->rdev->ib, buf->sgl, i, DMA_BIDIRECTIONAL);
	return buf->mapped ? 0 : -ENOMEM;
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
 * Context: Any.
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
 * @pool: the pool: pages never leave its session (design, sink pages)
 * @len:  bytes, 1..RDMAFS_XPRT_DATA_MAX
 *
 * Context: Any but hard interrupt; takes @pool->lock.
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
		rxp_pool_unidle(pool, buf);
	}
	spin_unlock_bh(&pool->lock);
	if (buf)
		rdmafs_test_take(buf->bv, buf->nents);
	return buf;
}

/**
 * rxp_buf_get - take a buffer for the data of one RPC, an idle one or a new one
 * @pool: the pool
 * @len:  bytes, 1..RDMAFS_XPRT_DATA_MAX
 *
 * Context: Process context, may sleep for memory.
 *
 * Return: a buffer of at least @len bytes, or NULL.
 */
struct rxp_buf *rxp_buf_get(struct rxp_pool *pool, u32 len)
{
	static atomic64_t rxp_buf_ids;
	int c = rxp_buf_class(len);
	struct rxp_buf *buf;
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
	buf->sgl = kvcalloc(pages, sizeof(*buf->sgl), GFP_NOFS);
	buf->bv = kvcalloc(pages, sizeof(*buf->bv), GFP_NOFS);
	buf->sge = kvcalloc(pages, sizeof(*buf->sge), GFP_NOFS);
	buf->wr = kvcalloc(DIV_ROUND_UP(pages, RXP_SGE_MIN), sizeof(*buf->wr), GFP_NOFS);
	if (!buf->sgl || !buf->bv || !buf->sge || !buf->wr)
		goto out_free;
	sg_init_table(buf->sgl, pages);
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
 * Context: Any but hard interrupt; takes @pool->lock.
 */
void rxp_buf_put(struct rxp_pool *pool, struct rxp_buf *buf)
{
	bool keep;

	rdmafs_test_give(buf->bv, buf->nents);
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
 * Context: Any.
 *
 * Return: how many.
 */
u32 rxp_buf_nents(const struct rxp_buf *buf, u32 len)
{
	struct scatterlist *sg = buf->sgl;
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
 * Context: Any.
 *
 * Return: pages.
 */
u32 rxp_buf_pages(const struct rxp_buf *buf, u32 len)
{
	u32 n = rxp_buf_nents(buf, len), pages = 0;
	struct scatterlist *sg;
	int i;

	for_each_sg(buf->sgl, sg, n, i)
		pages += DIV_ROUND_UP(sg_dma_len(sg), PAGE_SIZE);
	return pages;
}

/**
 * rxp_buf_sync_for_cpu - make a buffer readable by the CPU after the device has written
 * @pool: the pool of the buffer
 * @buf:  the buffer
 *
 * Context: Any.
 */
void rxp_buf_sync_for_cpu(struct rxp_pool *pool, struct rxp_buf *buf)
{
	struct ib_device *ib = pool->rdev->ib;

	if (!ib_uses_virt_dma(ib))
		dma_sync_sg_for_cpu(ib->dma_device, buf->sgl, buf->nents, DMA_BIDIRECTIONAL);
}

/**
 * rxp_buf_sync_for_device - make a buffer readable by the device after the CPU has written
 * @pool: the pool of the buffer
 * @buf:  the buffer
 *
 * Context: Any.
 */
void rxp_buf_sync_for_device(struct rxp_pool *pool, struct rxp_buf *buf)
{
	struct ib_device *ib = pool->rdev->ib;

	if (!ib_uses_virt_dma(ib))
		dma_sync_sg_for_device(ib->dma_device, buf->sgl, buf->nents, DMA_BIDIRECTIONAL);
}
