// SPDX-License-Identifier: GPL-2.0
/*
 * A session's pool: its idle pages count for its client, and MRs that are lent to the client, or
 * to a WRITE that waits to be served, can be taken back (grant.c).
 */
#include <linux/slab.h>
#include <linux/unaligned.h>
#include "transport/server/server.h"

static void rxs_pool_recall(struct rxp_pool *pool)
{
	rxs_grants_recall(pool);
	rxs_reqs_give_mrs(pool);
}

static bool rxs_pool_idle(struct rxp_pool *pool, u32 bytes)
{
	return rxs_account_idle(rxs_pool(pool)->account, bytes);
}

static void rxs_pool_unidle(struct rxp_pool *pool, u32 bytes)
{
	rxs_account_unidle(rxs_pool(pool)->account, bytes);
}

static void rxs_pool_free(struct rxp_pool *pool)
{
	struct rxs_pool *sp = rxs_pool(pool);

	rxs_account_put(sp->account);
	kfree(sp);
}

static const struct rxp_pool_ops rxs_pool_ops = {
	.recall = rxs_pool_recall,
	.idle = rxs_pool_idle,
	.unidle = rxs_pool_unidle,
	.free = rxs_pool_free,
};

/**
 * rxs_pool_create - make the pool of a session that is about to begin
 * @rdev:    the device; a reference is taken
 * @account: the client's account; a reference is taken
 * @stats:   where registrations are counted; must outlive the pool
 *
 * Context: process, may sleep.
 * Return: the pool with one reference, or an ERR_PTR: see rxp_pool_init().
 */
struct rxp_pool *rxs_pool_create(struct rxp_device *rdev, struct rxs_account *account,
				 struct rxp_stats *stats)
{
	struct rxs_pool *sp = kzalloc(sizeof(*sp), GFP_KERNEL);
	int ret;

	if (!sp)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&sp->lent);
	sp->account = rxs_account_get(account);
	ret = rxp_pool_init(&sp->p, &rxs_pool_ops, rdev, stats);
	if (!ret)
		return &sp->p;
	rxs_account_put(account);
	kfree(sp);
	return ERR_PTR(ret);
}

/**
 * rxs_pool_bind - set the session whose grants are made from a pool, and that names it in traces
 * @pool: the pool
 * @s:	  the session, to which connection 0 holds a reference meanwhile; NULL: none
 *
 * Context: process, connection 0's worker; takes the pool's lock, perhaps within the session's.
 */
void rxs_pool_bind(struct rxp_pool *pool, struct rdmafs_xprt_session *s)
{
	spin_lock_bh(&pool->lock);
	rxs_pool(pool)->session = s;
	spin_unlock_bh(&pool->lock);
	if (s)
		rpol_member_set_label(pool->member, get_unaligned_be32(s->id));
}
