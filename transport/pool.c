// SPDX-License-Identifier: GPL-2.0
/*
 * Pools: the protection domain, the translations and the idle buffers of a mount or a session.
 *
 * mr.c and buf.c take memory regions and buffers from a pool.  A worker frees the pool when its
 * owner, its connections, its requests and its grants have dropped their references.
 */
#include <linux/wait_bit.h>
#include "transport/internal.h"

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
 * The policy has MRs to be destroyed, or grants to be recalled.
 *
 * Context: any; must not sleep.
 */
void rxp_pool_reclaim(void *ctx)
{
	struct rxp_pool *pool = ctx;

	queue_work(rxp_wq, &pool->reap);
}

static const struct rpol_member_ops rxp_pool_member_ops = {
	.reclaim = rxp_pool_reclaim,
};

const struct rpol_quota rxp_quota_default = {
	.max = RPOL_NO_MAX,
	.weight = RPOL_WEIGHT_DEFAULT,
};

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
 * @stats: where registrations are counted; must outlive the pool
 *
 * The pool has rxp_quota_default until rxp_member_give_quota().
 *
 * Context: process, may sleep.
 *
 * Return: 0, and the pool has one reference; -ENOMEM; or an error of the device.  On failure the
 * caller frees @pool's memory.
 */
int rxp_pool_init(struct rxp_pool *pool, const struct rxp_pool_ops *ops, struct rxp_device *rdev,
		  struct rxp_stats *stats)
{
	int ret, c;

	kref_init(&pool->ref);
	pool->ops = ops;
	kref_get(&rdev->ref);
	pool->rdev = rdev;
	pool->stats = stats;
	pool->max_sge = rxp_max_sge(rdev->ib);
	spin_lock_init(&pool->lock);
	INIT_DELAYED_WORK(&pool->decay, rxp_buf_decay);
	INIT_WORK(&pool->free, rxp_pool_free);
	INIT_WORK(&pool->reap, rxp_pool_reap_work);
	for (c = 0; c < RPOL_NR_CLASSES; c++)
		INIT_LIST_HEAD(&pool->bufs[c]);

	pool->pd = ib_alloc_pd(rdev->ib, 0);
	if (IS_ERR(pool->pd)) {
		ret = PTR_ERR(pool->pd);
		goto out_device;
	}
	pool->member = rpol_member_create(rdev->domain, &rxp_quota_default, &rxp_pool_member_ops,
					  pool);
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
 * Context: any.
 */
void rxp_pool_get(struct rxp_pool *pool)
{
	kref_get(&pool->ref);
}

/**
 * rxp_pool_put - drop a reference; a worker frees the pool after the last one
 * @pool: the pool
 *
 * Context: any but hard interrupt.
 */
void rxp_pool_put(struct rxp_pool *pool)
{
	kref_put(&pool->ref, rxp_pool_release);
}

/**
 * rxp_pool_close - dismiss all that wait for translations of a pool
 * @pool: the pool
 *
 * The pool keeps no buffers from now on: a request may hold the pool for long, and idle buffers
 * in it would count for no session meanwhile.
 *
 * Context: process, sleeps until the decay worker is done.
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
