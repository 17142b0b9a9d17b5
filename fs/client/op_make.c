// SPDX-License-Identifier: GPL-2.0
/*
 * Make an operation: its memory, whose it is, and what it names.
 *
 * The caller gets a &struct rdmafs_op with the head of its request filled in.  The rest of
 * the request, and running it, is the caller's (op.c).
 *
 * Each mount sets a few ops of each kind aside (enum rdmafs_pool).  When there is no memory a maker
 * takes one of these, or waits until one is put; a maker that must not wait gets none then
 * (RDMAFS_POOL_NONE).
 *
 * Ownership: see client.h.  The last reference frees an op, and what it has named, in any context.
 */
#include <linux/mempool.h>
#include <linux/slab.h>
#include "client.h"
#include "op.h"
#include "open.h"
#include "transport/points.h"

/* One reserved op is enough to make progress; with a few, several tasks do so at a time. */
#define RDMAFS_POOL_MIN		4

static struct kmem_cache *rdmafs_op_cache;

/* As mempool_alloc_slab(); a test can make it fail, so that the reserve is used. */
static void *rdmafs_op_mem(gfp_t gfp, void *cache)
{
	return rdmafs_test_fails("op_mem", 0) ? NULL : kmem_cache_alloc(cache, gfp);
}

/*
 * Operations that may be executed a second time without harm.  Of some of them only their maker
 * knows whether this is so.
 */
static bool rdmafs_op_idempotent(enum rfp_op nr)
{
	switch (nr) {
	case RFP_ATTACH:
	case RFP_SETCRED:
	case RFP_LOOKUP:
	case RFP_GETATTR:
	case RFP_SETATTR:
	case RFP_OPEN:
	case RFP_CLOSE:
	case RFP_READ:
	case RFP_WRITE:
	case RFP_COMMIT:
	case RFP_READLINK:
	case RFP_READDIR:
	case RFP_STATFS:
	case RFP_GETXATTR:
	case RFP_LISTXATTR:
	case RFP_SEEK:
	case RFP_GETFLAGS:
	case RFP_SETFLAGS:
	case RFP_TMPFILE:	/* makes another file, which no client knows of */
	case RFP_COPY:		/* but not blindly */
	case RFP_CLONE:		/* likewise */
	case RFP_LOCK:
	case RFP_UNLOCK:
	case RFP_LOCKCANCEL:
	case RFP_TESTLOCK:
	case RFP_EVENTS:
	case RFP_RECLAIM_DONE:
	case RFP_CROSS:
		return true;
	default:
		return false;
	}
}

static void rdmafs_op_release(struct rdmafs_op *op)
{
	if (op->open)
		rdmafs_open_put(op->open);
	if (op->source)
		rdmafs_open_put(op->source);
	rdmafs_cred_put(op->cred);
	kfree(op->buf);
	if (op->pool == RDMAFS_POOL_NONE)
		kmem_cache_free(rdmafs_op_cache, op);
	else
		mempool_free(op, op->mnt->op_pools[op->pool]);
}

/**
 * rdmafs_op_put - drop a reference to an op
 * @op: the op
 *
 * Context: any.
 */
void rdmafs_op_put(struct rdmafs_op *op)
{
	if (refcount_dec_and_test(&op->ref))
		rdmafs_op_release(op);
}

/**
 * rdmafs_op_time - begin the time for which an op is waited for
 * @op: the op, not sent
 *
 * Context: any.
 */
void rdmafs_op_time(struct rdmafs_op *op)
{
	unsigned long timeout = READ_ONCE(op->mnt->timeout);

	/* 0 stands for "never". */
	op->call.deadline = timeout ? jiffies + timeout ?: 1 : 0;
}

/**
 * rdmafs_op_may_repeat - have an op sent again after errors, and in a new session
 * @op: the op, not sent; to execute it a second time does no harm
 *
 * Context: any.
 */
void rdmafs_op_may_repeat(struct rdmafs_op *op)
{
	op->repeats = true;
	op->call.flags |= RDMAFS_CALL_IDEMPOTENT;
}

/**
 * rdmafs_op_not_blindly - have an op end if its answer is lost with the session
 * @op: the op, not sent; executed a second time it would undo what others have done since, and its
 *	maker finds out what has become of it (unanswered.c)
 *
 * Context: any.
 */
void rdmafs_op_not_blindly(struct rdmafs_op *op)
{
	op->call.flags &= ~RDMAFS_CALL_IDEMPOTENT;
}

/**
 * rdmafs_op_new_cred - make an op on behalf of given credentials
 * @super: the superblock that it is for, which the caller keeps until rdmafs_op_run() returns, or
 *	  as long as the op has an open
 * @nr:   operation
 * @size: bytes of its fixed request struct, which is at op->req, zeroed
 * @cred: credentials with which it is executed; a reference is taken
 * @pool: the reserve to fall back to
 *
 * Context: process, may sleep; safe in writeback.
 * Return: the op; NULL only with RDMAFS_POOL_NONE.
 */
struct rdmafs_op *rdmafs_op_new_cred(struct rdmafs_super *super, enum rfp_op nr, size_t size,
				     struct rdmafs_cred *cred, enum rdmafs_pool pool)
{
	struct rdmafs_mount *mnt = super->mnt;
	struct rdmafs_op *op;

	if (pool == RDMAFS_POOL_NONE)
		op = rdmafs_op_mem(GFP_NOFS | __GFP_NORETRY | __GFP_NOWARN, rdmafs_op_cache);
	else
		op = mempool_alloc(mnt->op_pools[pool], GFP_NOFS);
	if (!op)
		return NULL;
	memset(op, 0, offsetof(struct rdmafs_op, req));
	op->mnt = mnt;
	op->super = super;
	op->pool = pool;
	op->cred = rdmafs_cred_get(cred);
	op->bare = nr == RFP_SETCRED;
	op->forced = atomic_read(&mnt->forced);
	rdmafs_op_time(op);
	refcount_set(&op->ref, 1);
	init_completion(&op->done);
	rfp_enc_init(&op->enc, op->req, sizeof(op->req));
	rfp_enc_req(&op->enc, nr, cred->id, size);
	op->call.req = op->req;
	op->call.reply = op->rep;
	op->call.reply_max = sizeof(op->rep);
	op->call.dir = RDMAFS_XPRT_NODATA;
	if (rdmafs_op_idempotent(nr))
		rdmafs_op_may_repeat(op);
	if (nr == RFP_CLOSE || nr == RFP_COMMIT || nr == RFP_UNLOCK || nr == RFP_LOCKCANCEL)
		op->call.flags |= RDMAFS_CALL_URGENT;
	if (nr == RFP_EVENTS)
		op->call.flags |= RDMAFS_CALL_EVENT;
	return op;
}

/**
 * rdmafs_op_new - make an op on behalf of the current task
 * @super: the superblock that it is for, as for rdmafs_op_new_cred()
 * @nr:   operation
 * @size: bytes of its fixed request struct, which is at op->req, zeroed
 *
 * By an id-mapped mount the op's credentials are made by the map in the task's note (idmap.c),
 * which the last call that passed a map has set.
 *
 * Context: process, may sleep.
 * Return: the op, or -ENOMEM.
 */
struct rdmafs_op *rdmafs_op_new(struct rdmafs_super *super, enum rfp_op nr, size_t size)
{
	struct rdmafs_cred *cred = rdmafs_cred_current(super->mnt);
	struct rdmafs_op *op;

	if (IS_ERR(cred))
		return ERR_CAST(cred);
	op = rdmafs_op_new_cred(super, nr, size, cred, RDMAFS_POOL_COMMON);
	rdmafs_cred_put(cred);
	return op;
}

/**
 * rdmafs_op_use_open - name an open in a request
 * @op:    the op
 * @open:  the open; a reference is taken
 * @where: the field of the request that names it; filled in whenever the op is sent
 *
 * Context: any.
 */
void rdmafs_op_use_open(struct rdmafs_op *op, struct rdmafs_open *open, __le64 *where)
{
	op->open = rdmafs_open_get(open);
	op->stateid = where;
}

/**
 * rdmafs_op_use_source - name the open that a request copies from
 * @op:    the op, which names an open by rdmafs_op_use_open(), too
 * @open:  the open; a reference is taken
 * @where: as for rdmafs_op_use_open()
 *
 * Context: any.
 */
void rdmafs_op_use_source(struct rdmafs_op *op, struct rdmafs_open *open, __le64 *where)
{
	op->source = rdmafs_open_get(open);
	op->source_id = where;
}

/**
 * rdmafs_op_new_open - make an op on an open, on behalf of its opener
 * @open: the open; a reference is taken
 * @nr:	  operation
 * @size: bytes of its fixed request struct, which is at op->req, zeroed
 * @stateid_off: offset of the stateid in that struct
 * @pool: the reserve to fall back to
 *
 * Context: process, may sleep; safe in writeback.
 * Return: the op; NULL only with RDMAFS_POOL_NONE.
 */
struct rdmafs_op *rdmafs_op_new_open(struct rdmafs_open *open, enum rfp_op nr, size_t size,
				     size_t stateid_off, enum rdmafs_pool pool)
{
	struct rdmafs_op *op = rdmafs_op_new_cred(RDMAFS_S(open->inode->i_sb), nr, size,
						  open->cred, pool);

	if (op)
		rdmafs_op_use_open(op, open, (__le64 *)(op->req + stateid_off));
	return op;
}

/**
 * rdmafs_op_buf - give a synchronous op memory for its data
 * @op:	  the op
 * @dir:  RDMAFS_XPRT_READ or RDMAFS_XPRT_WRITE
 * @size: bytes, at least 1
 *
 * The memory of a READ is zeroed: the client can't but believe a server that says that it has
 * written there, and must not use old contents of the memory if the server has not.
 *
 * Context: process, may sleep; safe in writeback.
 * Return: 0 or -ENOMEM.  The memory is at op->buf.
 */
int rdmafs_op_buf(struct rdmafs_op *op, enum rdmafs_xprt_dir dir, size_t size)
{
	/* Not vmalloc memory: transport maps it page by page by its physical address. */
	op->buf = kmalloc(size, GFP_NOFS | __GFP_NOWARN |
				(dir == RDMAFS_XPRT_READ ? __GFP_ZERO : 0));
	if (!op->buf)
		return -ENOMEM;
	op->kvec.iov_base = op->buf;
	op->kvec.iov_len = size;
	op->call.dir = dir;
	iov_iter_kvec(&op->call.iter, dir == RDMAFS_XPRT_READ ? ITER_DEST : ITER_SOURCE,
		      &op->kvec, 1, size);
	return 0;
}

/**
 * rdmafs_op_pools_init - set memory aside for a mount's ops
 * @mnt: the mount
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM; rdmafs_op_pools_destroy() undoes either.
 */
int rdmafs_op_pools_init(struct rdmafs_mount *mnt)
{
	int i;

	for (i = 0; i < RDMAFS_NR_POOLS; i++) {
		mnt->op_pools[i] = mempool_create(RDMAFS_POOL_MIN, rdmafs_op_mem,
						  mempool_free_slab, rdmafs_op_cache);
		if (!mnt->op_pools[i])
			return -ENOMEM;
	}
	return 0;
}

/**
 * rdmafs_op_pools_destroy - undo rdmafs_op_pools_init()
 * @mnt: the mount, which has no op
 *
 * Context: process.
 */
void rdmafs_op_pools_destroy(struct rdmafs_mount *mnt)
{
	int i;

	for (i = 0; i < RDMAFS_NR_POOLS; i++)
		mempool_destroy(mnt->op_pools[i]);
}

/**
 * rdmafs_op_init - make the cache of ops
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rdmafs_op_init(void)
{
	rdmafs_op_cache = KMEM_CACHE(rdmafs_op, SLAB_HWCACHE_ALIGN | SLAB_RECLAIM_ACCOUNT);
	return rdmafs_op_cache ? 0 : -ENOMEM;
}

/**
 * rdmafs_op_exit - undo rdmafs_op_init()
 *
 * Context: process.
 */
void rdmafs_op_exit(void)
{
	kmem_cache_destroy(rdmafs_op_cache);
}
