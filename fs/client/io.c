// SPDX-License-Identifier: GPL-2.0
/*
 * Send READ and WRITE of file data, without waiting for the answer.
 *
 * rdmafs_io_start() sends as much as the op's iterator holds (at most what one RPC
 * carries) and returns.  op->io.finish is called once, in process or softirq
 * context, when all of it is done, when a read has met the end of the file, or when
 * it has failed.
 *
 * An op that was answered, or could not be sent, ends, or a worker on io_wq sends it
 * again, as that may sleep.  rdmafs_io_decide() says what comes next, and
 * rdmafs_io_go_on() does it.
 *
 * Ownership: the op, and the pages behind its iterator, are lent to this file from
 * rdmafs_io_start() to op->io.finish.
 */
#include <linux/slab.h>
#include "client.h"
#include "op.h"
#include "open.h"
#include "transport/points.h"

/**
 * enum rdmafs_io_next - what comes next for an op that was answered, or could not be sent
 * @RDMAFS_IO_END:     nothing: it is done, or has failed
 * @RDMAFS_IO_GIVE_UP: nothing: it would be tried again, but for umount -f, or the end of the mount
 * @RDMAFS_IO_MORE:    the answer was short: the worker asks for the rest
 * @RDMAFS_IO_MEND:    the server does not know an id: the worker renews it (op.c), and sends the
 *	same again
 * @RDMAFS_IO_SMALLER: there is no room for one RPC of that size, because of a quota or of what
 *	others are entitled to: the worker sends smaller ones.  What our RNIC has room for is
 *	known before a READ is sent; else -E2BIG tells, from transport or from the server
 * @RDMAFS_IO_AGAIN:   the worker sends the same again.  Either there was a shortage, and it waits
 *	for a while before; writeback goes on with that until umount -f, as data that it gives up
 *	is lost, and other requests for as long as a task may be kept waiting
 *	(rdmafs_op_backoff()); on a soft mount none goes on after its deadline.  Or the task was
 *	killed, and can't wait for a slot any more; what it was about to send may be the data of
 *	other tasks (writeback, readahead)
 */
enum rdmafs_io_next {
	RDMAFS_IO_END,
	RDMAFS_IO_GIVE_UP,
	RDMAFS_IO_MORE,
	RDMAFS_IO_MEND,
	RDMAFS_IO_SMALLER,
	RDMAFS_IO_AGAIN,
};

/**
 * struct rdmafs_io_result - what has become of an op that was to be sent
 * @err:    0, or why it could not be sent, or was not served
 * @more:   it was served in part
 * @attr:   came with the reply to a WRITE, or NULL
 * @task:   it could not be sent, by a task, which may have been killed
 * @nowait: likewise, and the task may not wait
 */
struct rdmafs_io_result {
	int err;
	bool more;
	const struct rfp_attr *attr;
	bool task;
	bool nowait;
};

static void rdmafs_io_work(struct work_struct *work);

/* The op has ended; @attr came with the reply to a WRITE, or is NULL.  Any context. */
static void rdmafs_io_finish(struct rdmafs_op *op, int err, const struct rfp_attr *attr)
{
	if (op->call.dir == RDMAFS_XPRT_WRITE) {
		if (op->io.stable < RFP_FILE_SYNC)
			atomic64_inc(&RDMAFS_I(op->open->inode)->written);
		rdmafs_attr_own_end_atomic(op->open->inode, attr, op->clock);
	}
	op->io.finish(op, err);
}

/*
 * Decide what comes next for an op, and after how many jiffies.  Any context.
 *
 * @op's tries after a shortage are counted here (rdmafs_op_backoff()), and if its deadline ends
 * them that becomes @res->err; nothing else changes.
 */
static enum rdmafs_io_next rdmafs_io_decide(struct rdmafs_op *op, struct rdmafs_io_result *res,
					    unsigned long *delay)
{
	int err = res->err;

	*delay = 0;
	if (!err)
		return res->more ? RDMAFS_IO_MORE : RDMAFS_IO_END;
	if (err == -RDMAFS_EBADCRED || err == -RDMAFS_EBADSTATE)
		return RDMAFS_IO_MEND;
	/* Data that goes inline already needs no translation: less of it would not help. */
	if (err == -E2BIG && iov_iter_count(&op->call.iter) > RDMAFS_XPRT_INLINE_MAX)
		return RDMAFS_IO_SMALLER;
	if (err == -EINTR && res->task)
		return RDMAFS_IO_AGAIN;
	if (res->nowait)
		return RDMAFS_IO_END;
	*delay = rdmafs_op_backoff(op, &res->err);
	if (*delay)
		return RDMAFS_IO_AGAIN;
	/* These two errors are left only if umount -f, or the mount's end, has ended the tries. */
	return res->err == -RDMAFS_EOFFLINE || res->err == -EAGAIN ? RDMAFS_IO_GIVE_UP :
								     RDMAFS_IO_END;
}

/* Have a worker send the op after @delay jiffies; it must not be touched then.  Any context. */
static void rdmafs_io_later(struct rdmafs_op *op, unsigned long delay)
{
	INIT_DELAYED_WORK(&op->io.later, rdmafs_io_work);
	queue_delayed_work(op->mnt->io_wq, &op->io.later, delay);
}

/* End an op, or have a worker send it again: it must not be touched after this.  Any context. */
static void rdmafs_io_go_on(struct rdmafs_op *op, struct rdmafs_io_result *res)
{
	struct rdmafs_io *io = &op->io;
	unsigned long delay;
	size_t half;

	switch (rdmafs_io_decide(op, res, &delay)) {
	case RDMAFS_IO_END:
		rdmafs_io_finish(op, res->err, res->attr);
		return;
	case RDMAFS_IO_GIVE_UP:
		rdmafs_io_finish(op, -EIO, NULL);
		return;
	case RDMAFS_IO_MORE:
		/* Something was done, so the tries begin anew, and so does the time. */
		op->tries = 0;
		op->waits = 0;
		rdmafs_op_time(op);
		if (res->attr) {
			rdmafs_attr_own_end_atomic(op->open->inode, res->attr, op->clock);
			rdmafs_attr_own_begin(op->open->inode);
		}
		break;
	case RDMAFS_IO_MEND:
		io->again = res->err;
		break;
	case RDMAFS_IO_SMALLER:
		half = round_down(iov_iter_count(&op->call.iter) / 2, PAGE_SIZE);
		io->limit = max_t(size_t, half, RDMAFS_XPRT_INLINE_MAX);
		break;
	case RDMAFS_IO_AGAIN:
		break;
	}
	rdmafs_io_later(op, delay);
}

/* Take the answer to a READ; 0 or -EIO; @more: the rest is to be asked for. */
static int rdmafs_io_read_answered(struct rdmafs_op *op, bool *more)
{
	struct rdmafs_io *io = &op->io;
	const struct rfp_read_rep *rep;
	struct rfp_dec dec;
	u32 count;

	rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
	if (rfp_dec_end(&dec) || (le32_to_cpu(rep->flags) & ~RFP_READ_EOF))
		return -EIO;
	count = le32_to_cpu(rep->count);
	if (count != op->call.data_len || count > io->len - io->done)
		return -EIO;
	io->done += count;
	if (io->done == io->len)
		return 0;
	if (le32_to_cpu(rep->flags) & RFP_READ_EOF) {
		io->eof = true;
		return 0;
	}
	if (!count)
		return -EIO;
	*more = true;
	return 0;
}

/* Take the answer to a WRITE; 0 or -EIO; @more: the rest is to be sent; @attr may be NULL. */
static int rdmafs_io_write_answered(struct rdmafs_op *op, bool *more, const struct rfp_attr **attr)
{
	struct rdmafs_io *io = &op->io;
	const struct rfp_write_rep *rep;
	struct rfp_dec dec;
	u32 count, stable;
	u64 verifier;

	rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
	*attr = rep ? rfp_dec_fixed(&dec, sizeof(**attr)) : NULL;
	if (!*attr || rfp_dec_end(&dec) || rdmafs_attr_check(op->mnt->super.sb, *attr)) {
		*attr = NULL;
		return -EIO;
	}
	count = le32_to_cpu(rep->count);
	stable = le32_to_cpu(rep->stable);
	verifier = le64_to_cpu(rep->verifier);
	if (!count || count > io->len - io->done || stable < io->stable ||
	    stable > RFP_FILE_SYNC)
		return -EIO;
	if (io->flags & RFP_WRITE_APPEND) {
		u64 offset = le64_to_cpu(rep->offset);

		if (offset > LLONG_MAX - count)
			return -EIO;
		/* A short append is not continued: the rest would be another append. */
		io->pos = offset;
		io->done = count;
		return 0;
	}
	/* Only unstable data depends on the verifier. */
	if (stable == RFP_UNSTABLE) {
		if (io->answered && io->verifier != verifier)
			io->mixed = true;
		io->answered = true;
		io->verifier = verifier;
	}
	io->done += count;
	*more = io->done < io->len;
	return 0;
}

/* Transport is done with the call; any context. */
static void rdmafs_io_done(struct rdmafs_xprt_call *call)
{
	struct rdmafs_op *op = container_of(call, struct rdmafs_op, call);
	struct rdmafs_io_result res = {};

	res.err = rdmafs_op_status(op);
	if (!res.err && call->dir == RDMAFS_XPRT_READ)
		res.err = rdmafs_io_read_answered(op, &res.more);
	else if (!res.err)
		res.err = rdmafs_io_write_answered(op, &res.more, &res.attr);
	rdmafs_io_go_on(op, &res);
}

/* Fill in the request for what is not done yet. */
static void rdmafs_io_fill(struct rdmafs_op *op)
{
	struct rdmafs_io *io = &op->io;
	size_t count = io->len - io->done;

	if (io->limit)
		count = min(count, io->limit);
	if (op->call.dir == RDMAFS_XPRT_READ) {
		struct rfp_read_req *req = (struct rfp_read_req *)op->req;

		if (count > RDMAFS_XPRT_INLINE_MAX)
			count = min_t(size_t, count, rdmafs_xprt_read_max(op->mnt->xprt));
		req->offset = cpu_to_le64(io->pos + io->done);
		req->count = cpu_to_le32(count);
	} else {
		struct rfp_write_req *req = (struct rfp_write_req *)op->req;

		req->offset = cpu_to_le64(io->pos + io->done);
		req->count = cpu_to_le32(count);
		req->stable = cpu_to_le32(io->stable);
		req->flags = cpu_to_le32(io->flags);
	}
	op->call.iter = io->iter;
	iov_iter_advance(&op->call.iter, io->done);
	iov_iter_truncate(&op->call.iter, count);
}

/* Send the op, once; @worker: io_wq's, which is not killed.  Process context. */
static void rdmafs_io_try(struct rdmafs_op *op, bool nowait, bool worker)
{
	struct rdmafs_io_result res = { .task = !worker, .nowait = nowait };

	res.err = rdmafs_op_prepare(op, nowait);
	if (!res.err) {
		rdmafs_io_fill(op);
		op->call.done = rdmafs_io_done;
		if (nowait)
			op->call.flags |= RDMAFS_CALL_NOWAIT;
		else
			op->call.flags &= ~RDMAFS_CALL_NOWAIT;
		if (rdmafs_test_fails("io_submit", op->call.dir))
			res.err = -ENOMEM;
		else
			res.err = rdmafs_op_errno(op, rdmafs_xprt_submit(op->mnt->xprt,
									 &op->call));
	}
	/* An op that was sent may be over by now. */
	if (res.err)
		rdmafs_io_go_on(op, &res);
}

/*
 * A worker: renew the id that was not known, if there is one, and send the op again.  An umount -f
 * since it was started has ended what transport had by then; it ends the others here.
 */
static void rdmafs_io_work(struct work_struct *work)
{
	struct rdmafs_op *op = container_of(work, struct rdmafs_op, io.later.work);
	struct rdmafs_io_result hopeless = { .err = -EIO };
	int again = op->io.again;

	op->io.again = 0;
	if (op->forced != atomic_read(&op->mnt->forced) || (again && !rdmafs_op_mend(op, again)))
		rdmafs_io_go_on(op, &hopeless);
	else
		rdmafs_io_try(op, false, true);
}

/**
 * rdmafs_io_new - make a READ or a WRITE
 * @open:  the open that it names; a reference is taken
 * @write: a WRITE
 * @pool:  memory to fall back to
 *
 * The caller fills in op->io: iter, pos, len, stable, flags, finish.
 *
 * Context: process, may sleep for memory; safe in writeback.
 * Return: the op; NULL only with RDMAFS_POOL_NONE.
 */
struct rdmafs_op *rdmafs_io_new(struct rdmafs_open *open, bool write, enum rdmafs_pool pool)
{
	struct rdmafs_op *op;

	if (write)
		op = rdmafs_op_new_open(open, RFP_WRITE, sizeof(struct rfp_write_req),
					offsetof(struct rfp_write_req, stateid), pool);
	else
		op = rdmafs_op_new_open(open, RFP_READ, sizeof(struct rfp_read_req),
					offsetof(struct rfp_read_req, stateid), pool);
	if (!op)
		return NULL;
	op->call.dir = write ? RDMAFS_XPRT_WRITE : RDMAFS_XPRT_READ;
	INIT_LIST_HEAD(&op->io.link);
	return op;
}

/**
 * rdmafs_io_start - send a READ or a WRITE
 * @op:	    the op; one that has finished is sent again, from io.done on
 * @nowait: finish with -EAGAIN rather than sleep
 *
 * The reference of the caller becomes that of op->io.finish, which may have been called when this
 * returns.
 *
 * Context: process; may sleep without @nowait.
 */
void rdmafs_io_start(struct rdmafs_op *op, bool nowait)
{
	op->forced = atomic_read(&op->mnt->forced);
	rdmafs_op_time(op);
	if (op->call.dir == RDMAFS_XPRT_WRITE) {
		rdmafs_attr_own_begin(op->open->inode);
		/* An append that may have been executed must not be repeated. */
		if (op->io.flags & RFP_WRITE_APPEND)
			op->call.flags &= ~RDMAFS_CALL_IDEMPOTENT;
	}
	/*
	 * Without a connection a task would wait here to the deadline of each of its ops in turn,
	 * for all the dirty data of a file, say: so workers wait, for all of them at a time.
	 */
	if (!nowait && op->call.deadline && !rdmafs_xprt_connected(op->mnt->xprt))
		rdmafs_io_later(op, 0);
	else
		rdmafs_io_try(op, nowait, false);
}
