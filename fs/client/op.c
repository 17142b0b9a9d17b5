// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: from a request body to an errno.
 *
 * A caller makes an op, fills in the request through op->enc, runs it, and
 * takes the reply apart.  rdmafs_op_run() sends it, waits, and mends what can
 * be mended: credentials and opens that the server does not know (any more)
 * are registered or opened again and the request is sent once more.  Both
 * statuses mean that nothing has been executed.
 *
 * Recovery: a disconnect is transport's affair.  When the server has lost the
 * session, transport says so by session_reset(), and ids of the old one are
 * renewed when they are next used.
 *
 * Ownership: see client.h.  A killed waiter leaves the op to transport.  What
 * an OPEN or CREATE opened meanwhile is then closed by a worker.
 */
#include <linux/slab.h>
#include "client.h"

#define RDMAFS_POOL_MIN		16

/* struct rdmafs_op.state */
#define RDMAFS_OP_WAITED	0
#define RDMAFS_OP_DONE		1
#define RDMAFS_OP_DETACHED	2

static struct kmem_cache *rdmafs_op_cache;
static mempool_t *rdmafs_op_pools[RDMAFS_NR_POOLS];

/* Operations that may reach a restarted server a second time without harm. */
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
		return true;
	default:
		return false;
	}
}

static void rdmafs_op_release(struct rdmafs_op *op)
{
	if (op->open)
		rdmafs_open_put(op->open);
	rdmafs_cred_put(op->cred);
	kfree(op->buf);
	mempool_free(op, rdmafs_op_pools[op->pool]);
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
 * rdmafs_op_new_cred - make an op on behalf of given credentials
 * @mnt:  the mount
 * @nr:   operation
 * @size: of its fixed request struct, which is at op->req, zeroed
 * @cred: whose request it is; a reference is taken
 * @pool: memory to fall back to
 *
 * Context: process, may sleep; safe in writeback.
 * Return: the op; never fails.
 */
struct rdmafs_op *rdmafs_op_new_cred(struct rdmafs_mount *mnt, enum rfp_op nr, size_t size,
				     struct rdmafs_cred *cred, enum rdmafs_pool pool)
{
	struct rdmafs_op *op = mempool_alloc(rdmafs_op_pools[pool], GFP_NOFS);

	memset(op, 0, offsetof(struct rdmafs_op, req));
	op->mnt = mnt;
	op->pool = pool;
	op->cred = rdmafs_cred_get(cred);
	op->bare = nr == RFP_SETCRED;
	refcount_set(&op->ref, 1);
	init_completion(&op->done);
	rfp_enc_init(&op->enc, op->req, sizeof(op->req));
	rfp_enc_req(&op->enc, nr, cred->id, size);
	op->call.req = op->req;
	op->call.reply = op->rep;
	op->call.reply_max = sizeof(op->rep);
	op->call.dir = RDMAFS_XPRT_NODATA;
	if (rdmafs_op_idempotent(nr))
		op->call.flags |= RDMAFS_CALL_IDEMPOTENT;
	if (nr == RFP_CLOSE || nr == RFP_COMMIT)
		op->call.flags |= RDMAFS_CALL_URGENT;
	return op;
}

/**
 * rdmafs_op_new - make an op on behalf of the current task
 * @mnt:  the mount
 * @nr:   operation
 * @size: of its fixed request struct, which is at op->req, zeroed
 *
 * Return: the op, or -ENOMEM.
 */
struct rdmafs_op *rdmafs_op_new(struct rdmafs_mount *mnt, enum rfp_op nr, size_t size)
{
	struct rdmafs_cred *cred = rdmafs_cred_current(mnt);
	struct rdmafs_op *op;

	if (IS_ERR(cred))
		return ERR_CAST(cred);
	op = rdmafs_op_new_cred(mnt, nr, size, cred, RDMAFS_POOL_COMMON);
	rdmafs_cred_put(cred);
	return op;
}

/**
 * rdmafs_op_use_open - name an open in a request
 * @op:    the op
 * @open:  the open; a reference is taken
 * @where: the field of the request; filled in whenever the op is sent
 */
void rdmafs_op_use_open(struct rdmafs_op *op, struct rdmafs_open *open, __le64 *where)
{
	op->open = rdmafs_open_get(open);
	op->stateid = where;
}

/**
 * rdmafs_op_new_open - make an op on an open, on behalf of its opener
 * @open: the open; a reference is taken
 * @nr:	  operation
 * @size: of its fixed request struct, which is at op->req, zeroed
 * @stateid_off: where in it the stateid stands
 * @pool: memory to fall back to
 *
 * Return: the op; never fails.
 */
struct rdmafs_op *rdmafs_op_new_open(struct rdmafs_open *open, enum rfp_op nr, size_t size,
				     size_t stateid_off, enum rdmafs_pool pool)
{
	struct rdmafs_op *op = rdmafs_op_new_cred(RDMAFS_M(open->inode->i_sb), nr, size,
						  open->cred, pool);

	rdmafs_op_use_open(op, open, (__le64 *)(op->req + stateid_off));
	return op;
}

/**
 * rdmafs_op_buf - give a synchronous op memory for its data
 * @op:	  the op
 * @dir:  RDMAFS_XPRT_READ or RDMAFS_XPRT_WRITE
 * @size: bytes, at least 1
 *
 * Return: 0 or -ENOMEM.  The memory is at op->buf.
 */
int rdmafs_op_buf(struct rdmafs_op *op, enum rdmafs_xprt_dir dir, size_t size)
{
	/* kmalloc: transport maps it page by page by its physical address. */
	op->buf = kmalloc(size, GFP_NOFS | __GFP_NOWARN);
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
 * rdmafs_errno - an errno that a system call may return
 * @err: 0 or a negative errno of transport
 *
 * Return: 0 or a negative errno.
 */
int rdmafs_errno(int err)
{
	switch (err) {
	case -ESHUTDOWN:
	case -EREMOTEIO:
	case -EPROTO:
	case -EBADMSG:
		return -EIO;
	case -ERESTARTSYS:
		return -EINTR;
	default:
		return err;
	}
}

/**
 * rdmafs_op_prepare - fill in what belongs to the session
 * @op:	    the op
 * @nowait: -EAGAIN rather than asking the server for it
 *
 * Return: 0 or a negative errno.
 */
int rdmafs_op_prepare(struct rdmafs_op *op, bool nowait)
{
	int len, err;

	len = rfp_enc_len(&op->enc);
	if (len < 0)
		return -ENAMETOOLONG;
	op->call.req_len = len;
	op->session = atomic_read(&op->mnt->session);
	if (nowait &&
	    ((!op->bare && READ_ONCE(op->cred->session) != op->session) ||
	     (op->open && READ_ONCE(op->open->session) != op->session)))
		return -EAGAIN;
	if (!op->bare) {
		err = rdmafs_cred_ready(op->cred);
		if (err)
			return err;
	}
	if (op->open) {
		err = rdmafs_open_ready(op->open);
		if (err)
			return err;
		*op->stateid = cpu_to_le64(READ_ONCE(op->open->stateid));
	}
	op->clock = atomic64_read(&op->mnt->clock);
	return 0;
}

/**
 * rdmafs_op_status - how an answered op ended
 * @op: an op whose done has been called
 *
 * Context: any.
 * Return: 0, a negative errno, -RDMAFS_EBADCRED or -RDMAFS_EBADSTATE.
 */
int rdmafs_op_status(struct rdmafs_op *op)
{
	const struct rfp_rep *rep = (const struct rfp_rep *)op->rep;
	u32 status;

	if (op->call.status)
		return rdmafs_errno(op->call.status);
	if (op->call.reply_len < sizeof(*rep))
		return -EIO;
	status = le32_to_cpu(rep->status);
	switch (status) {
	case RFP_OK:
		return 0;
	case RFP_BADCRED:
		return -RDMAFS_EBADCRED;
	case RFP_BADSTATE:
		return -RDMAFS_EBADSTATE;
	default:
		return rdmafs_errno(rfp_errno_from_status(status));
	}
}

/**
 * rdmafs_op_mend - may an op be sent again, after this?
 * @op:	 the op
 * @err: what rdmafs_op_status() said
 *
 * Forgets the id that the server does not know; rdmafs_op_prepare() renews
 * it.
 *
 * Return: true if the op is to be prepared and sent again.
 */
bool rdmafs_op_mend(struct rdmafs_op *op, int err)
{
	if (++op->tries >= RDMAFS_OP_TRIES)
		return false;
	/* If it was renewed since, it is left as it is. */
	if (err == -RDMAFS_EBADCRED && !op->bare) {
		cmpxchg(&op->cred->session, op->session, 0);
		return true;
	}
	if (err == -RDMAFS_EBADSTATE && op->open) {
		cmpxchg(&op->open->session, op->session, 0);
		return true;
	}
	return false;
}

/* A worker: nobody waited for what this op opened. */
static void rdmafs_op_stray_work(struct work_struct *work)
{
	struct rdmafs_op *op = container_of(work, struct rdmafs_op, work);
	const struct rfp_open_rep *rep;
	struct rfp_dec dec;

	rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
	if (rep)
		rdmafs_open_close_stray(op->mnt, op->cred, le64_to_cpu(rep->stateid));
	if (atomic_dec_and_test(&op->mnt->nr_opens))
		wake_up_all(&op->mnt->opens_wait);
	rdmafs_op_put(op);
}

/* Transport has done with a synchronous op; any context. */
static void rdmafs_op_done(struct rdmafs_xprt_call *call)
{
	struct rdmafs_op *op = container_of(call, struct rdmafs_op, call);

	if (atomic_cmpxchg(&op->state, RDMAFS_OP_WAITED, RDMAFS_OP_DONE) == RDMAFS_OP_WAITED) {
		complete(&op->done);
	} else if (op->closes) {
		INIT_WORK(&op->work, rdmafs_op_stray_work);
		queue_work(rdmafs_wq, &op->work);
		return;
	}
	rdmafs_op_put(op);
}

/* Send once and wait. */
static int rdmafs_op_send(struct rdmafs_op *op)
{
	int err;

	reinit_completion(&op->done);
	atomic_set(&op->state, RDMAFS_OP_WAITED);
	op->call.done = rdmafs_op_done;
	refcount_inc(&op->ref);
	err = rdmafs_xprt_submit(op->mnt->xprt, &op->call);
	if (err) {
		rdmafs_op_put(op);
		return rdmafs_errno(err);
	}
	op->sent = true;
	rdmafs_xprt_poll(op->mnt->xprt, &op->done);
	if (!wait_for_completion_killable(&op->done))
		return rdmafs_op_status(op);
	/* A stray open keeps the mount's transport until it is closed. */
	if (op->closes)
		atomic_inc(&op->mnt->nr_opens);
	if (atomic_cmpxchg(&op->state, RDMAFS_OP_WAITED, RDMAFS_OP_DETACHED) == RDMAFS_OP_WAITED)
		return -EINTR;
	if (op->closes && atomic_dec_and_test(&op->mnt->nr_opens))
		wake_up_all(&op->mnt->opens_wait);
	/* It was answered in this very moment. */
	wait_for_completion(&op->done);
	return rdmafs_op_status(op);
}

/**
 * rdmafs_op_run - send an op and wait for its answer
 * @op: the op, its request encoded
 *
 * Context: process.  The wait is killable.
 * Return: 0: the reply is there for rdmafs_op_reply(); -EINTR: killed, and the
 * op may still be executed; else what the server or transport said.
 */
int rdmafs_op_run(struct rdmafs_op *op)
{
	int err;

	do {
		err = rdmafs_op_prepare(op, false);
		if (err)
			return err;
		err = rdmafs_op_send(op);
	} while (err < 0 && rdmafs_op_mend(op, err));

	if (err == -RDMAFS_EBADCRED || err == -RDMAFS_EBADSTATE)
		return -EIO;
	return err;
}

/**
 * rdmafs_op_reply - begin to take a reply apart
 * @op:	  the op; its status was RFP_OK, or one whose description names fields
 * @dec:  decoder to use
 * @size: of the fixed reply struct
 *
 * Return: the fixed struct, NULL if the reply is shorter.
 */
const void *rdmafs_op_reply(struct rdmafs_op *op, struct rfp_dec *dec, size_t size)
{
	rfp_dec_init(dec, op->rep, op->call.status ? 0 : op->call.reply_len);
	return rfp_dec_fixed(dec, size);
}

/**
 * rdmafs_op_init - make the caches
 *
 * Return: 0 or -ENOMEM.
 */
int rdmafs_op_init(void)
{
	int i;

	rdmafs_op_cache = KMEM_CACHE(rdmafs_op, SLAB_HWCACHE_ALIGN | SLAB_RECLAIM_ACCOUNT);
	if (!rdmafs_op_cache)
		return -ENOMEM;
	for (i = 0; i < RDMAFS_NR_POOLS; i++) {
		rdmafs_op_pools[i] = mempool_create_slab_pool(RDMAFS_POOL_MIN, rdmafs_op_cache);
		if (!rdmafs_op_pools[i]) {
			rdmafs_op_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

/**
 * rdmafs_op_exit - undo rdmafs_op_init()
 */
void rdmafs_op_exit(void)
{
	int i;

	for (i = 0; i < RDMAFS_NR_POOLS; i++) {
		mempool_destroy(rdmafs_op_pools[i]);
		rdmafs_op_pools[i] = NULL;
	}
	kmem_cache_destroy(rdmafs_op_cache);
	rdmafs_op_cache = NULL;
}
