// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions (MRs): taking one, mapping pages into it, and giving it back.
 *
 * An MR's key is valid from the REG_MR of one I/O until that I/O is over: then the peer has
 * invalidated it with its last message, or we do (Documentation/architecture.rst, "States of an
 * MR"; binding.c).  The MR goes back to the policy, which keeps it idle, still charged to the
 * member.  The policy has it destroyed when its entries are needed elsewhere or it was idle for
 * too long.  If the queue pair of an MR fails, the state of its key is unknown: the MR is
 * deregistered, and its charge is returned only then.
 *
 * rxp_pool.lock guards the states of MRs.  An MR that is not idle belongs to the I/O that took it.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "transport/internal.h"

/**
 * rxp_mr_destroy - deregister and free an MR
 * @pool: its pool
 * @mr:   the MR; no chain that registers or invalidates it is under way
 *
 * Context: process, sleeps.
 */
void rxp_mr_destroy(struct rxp_pool *pool, struct rxp_mr *mr)
{
	ib_dereg_mr(mr->mr);
	if (mr->conn)
		rxp_conn_put(mr->conn);
	rxp_count(pool->stats, mr_free);
	kfree(mr);
}

static u32 rxp_mr_charge(const struct rxp_pool *pool, int class)
{
	return rpol_class_charge(class, pool->rdev->max_entries, pool->rdev->mr_least);
}

/* Make an MR whose entries are charged already.  On failure they are released. */
static struct rxp_mr *rxp_mr_create(struct rxp_pool *pool, int class)
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
	rpol_uncharge(pool->member, charge);
	return ERR_PTR(ret);
}

/* The policy has granted the entries: return the idle MR that came with them, or a new one. */
static struct rxp_mr *rxp_mr_idle_or_new(struct rxp_pool *pool, int class, struct rpol_mr *idle)
{
	return idle ? container_of(idle, struct rxp_mr, policy) : rxp_mr_create(pool, class);
}

/**
 * rxp_mr_get - take an MR for one I/O, without waiting for translations
 * @pool:    the pool
 * @entries: pages that the I/O touches
 *
 * Context: process, may sleep for memory.
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
	return ret ? ERR_PTR(ret) : rxp_mr_idle_or_new(pool, class, idle);
}

/**
 * rxp_mr_capped - was it only the quota that kept rxp_mr_get() from an MR?
 * @pool:    the pool, for which rxp_mr_get() has just returned -EAGAIN
 * @entries: as passed to rxp_mr_get()
 *
 * Context: any but hard interrupt.
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
 * Context: process; sleeps, killably, until the policy grants the entries.
 *
 * Return: an MR that is idle, or an ERR_PTR: -EAGAIN (all waiters were dismissed after @since),
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
	return ret ? ERR_PTR(ret) : rxp_mr_idle_or_new(pool, class, idle);
}

/**
 * rxp_mr_put - give an MR back after its I/O
 * @pool: the pool
 * @mr:   the MR; no chain that registers or invalidates it may be under way
 *
 * An MR that is not idle, because its queue pair is dead, is deregistered at once.
 *
 * Context: any but hard interrupt if @mr is idle; otherwise process context, sleeps.
 */
void rxp_mr_put(struct rxp_pool *pool, struct rxp_mr *mr)
{
	u32 entries = mr->policy.entries;

	switch (READ_ONCE(mr->state)) {
	case RXP_MR_IDLE:
		rpol_mr_idle(pool->member, &mr->policy);
		break;
	case RXP_MR_VALID:
	case RXP_MR_UNKNOWN:
		rpol_mr_regain(pool->member, &mr->policy);
		rxp_mr_destroy(pool, mr);
		rpol_uncharge(pool->member, entries);
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
 * @w:       its done() is set; the policy's until done() is called, then its owner's again
 *
 * done() is called in any case, perhaps before this returns.  It is called in any context but
 * hard interrupt, with locks held.  If its result is 0, rxp_mr_get_claimed() has to follow.
 *
 * Context: any but hard interrupt; does not sleep.
 */
void rxp_mr_claim(struct rxp_pool *pool, u32 entries, struct rpol_waiter *w)
{
	int ret;

	w->mem = pool->member;
	w->class = rpol_class_for(entries, pool->rdev->max_entries);
	w->entries = rxp_mr_charge(pool, w->class);
	ret = rpol_mr_claim(w);
	if (ret != -EINPROGRESS)
		w->done(w, ret);
}

/**
 * rxp_mr_get_claimed - get the MR that a claim was granted
 * @pool: the pool
 * @w:    done() was called for it with 0
 *
 * Context: process, may sleep for memory.
 *
 * Return: an MR that is idle, or an ERR_PTR: -ENOMEM, or an error of the device.
 */
struct rxp_mr *rxp_mr_get_claimed(struct rxp_pool *pool, const struct rpol_waiter *w)
{
	return rxp_mr_idle_or_new(pool, w->class, w->mr);
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
 * Context: process: some devices write the translations here.
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
 * Context: process.
 *
 * Return: as rxp_mr_map().
 */
int rxp_mr_map_buf(struct rxp_pool *pool, struct rxp_mr *mr, struct rxp_buf *buf, u32 len,
		   struct ib_reg_wr *wr)
{
	u32 nents = rxp_buf_nents(buf, len);
	int ret;

	if (!pool->rdev->quirks.keeps_pages || mr->buf != buf->id || mr->nents != nents) {
		ret = rxp_mr_set_pages(mr, buf->sg.sgl, nents, len);
		if (ret)
			return ret;
		mr->buf = buf->id;
		mr->nents = nents;
	}
	rxp_mr_prepare(mr, len, wr);
	return 0;
}
