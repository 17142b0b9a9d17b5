// SPDX-License-Identifier: GPL-2.0
/*
 * Read and write with O_DIRECT, and append (append.c): from the user's pages to transport.
 *
 * A request is cut into parts of at most one RPC; each part pins its own pages (direct_part.c)
 * and is one READ or WRITE (io.c).  The last part to end finishes the request: where it ends if
 * that can be done in any context, else in a worker.  The result is the run of bytes from the
 * beginning up to the first part that failed or was short.
 *
 * A write of one part goes DATA_SYNC (FILE_SYNC for O_SYNC).  The parts of a longer write go
 * UNSTABLE and are kept until a COMMIT has been answered; parts that were written under another
 * verifier than that of the COMMIT are written again.  So a direct write is stable when it
 * returns, and is never synced again.
 *
 * The life of a request, struct rdmafs_dio.  @parts counts the parts that have not ended, and
 * one more for the submitter.  The request has two references: one for its parts, which
 * rdmafs_dio_finish() drops, and one of the submitter.
 *
 *	rdmafs_dio_new()		the submitter, a task, is the only owner
 *	  |
 *	  |  rdmafs_dio_start_part()	for each part, @parts + 1; now the part is its op's
 *	  v
 *	submitting			the submitter and the started parts own it
 *	  |
 *	  |  rdmafs_dio_end()		the submitter gives up its count of @parts; if the
 *	  |				request is synchronous, it waits for @done, killably
 *	  v
 *	in flight			the parts own it; each ends in rdmafs_dio_io_finish()
 *	  |
 *	  |  @parts falls to 0		in rdmafs_dio_part_end(), any context; or in
 *	  |				rdmafs_dio_end(), if all parts ended before
 *	  |
 *	  +-- rdmafs_dio_waits() -->	settling: rdmafs_dio_work() on dio_wq owns it; it sends
 *	  |				COMMIT, writes again what the server lost, drops cached
 *	  |				pages, and raises the size
 *	  v				  |
 *	rdmafs_dio_finish()  <------------+
 *	  |				@result is set; the iocb is completed, the waiter woken
 *	  v
 *	freed				with the last reference
 *
 * If the submitter's count is the last, nothing has to be waited for and libaio can't cancel the
 * request yet, the system call returns the result itself, and the iocb is not completed.
 *
 * The life of a part, struct rdmafs_dio_part: its pages are pinned, referenced or copied
 * (rdmafs_dio_part_new()); its op is sent (rdmafs_io_start()); and rdmafs_dio_io_finish() puts
 * the op and releases the pages, with two exceptions.  A part that was written UNSTABLE goes to
 * @unstable with its op and pages, until rdmafs_dio_commit() has made it stable.  A part that was
 * read into pages which have become clean meanwhile goes to rdmafs_dio_part_work(), on file_wq,
 * which makes them dirty again; the part ends only then.
 *
 * Events that may come in between:
 *	The task is killed.  rdmafs_dio_leave(): the task does not wait any more, and does not
 *	touch the request again but to put its reference; the iocb and the iterator of a
 *	synchronous request are not touched from then on.  A write counts in the file's fence
 *	(fence.c) until rdmafs_dio_finish().
 *	libaio cancels.  rdmafs_dio_cancel(): @look, on tell_wq, asks twice a second whether the
 *	program is over, and if so, completes the iocb with -ECANCELED while the request is
 *	still in flight, and leaves the request as a killed task does.  The end of a program
 *	would wait for the request otherwise, and so would execve(2).  A program that lives and
 *	calls io_destroy(2) does wait, as it may use the memory for something else afterwards.
 *
 * Locks: i_rwsem is held from rdmafs_dio_lock() until the system call returns, shared, and
 * exclusively by an append.  As a request may be in flight for longer, i_dio_count counts it
 * from rdmafs_dio_new() to rdmafs_dio_finish(), and rdmafs_inode.writers counts a write.
 */
#include <linux/aio.h>
#include <linux/bvec.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "client.h"
#include "direct.h"
#include "op.h"
#include "open.h"
#include "transport/points.h"
#include "trace.h"

/* How often @look asks whether the program whose request was cancelled is over. */
#define RDMAFS_DIO_LOOK		(HZ / 2)

/**
 * rdmafs_dio_put - drop a reference to a request
 * @dio: the request
 *
 * Context: any.
 */
void rdmafs_dio_put(struct rdmafs_dio *dio)
{
	if (refcount_dec_and_test(&dio->ref))
		kfree(dio);
}

/**
 * rdmafs_dio_limit - note that only the first bytes of a request are good, if not fewer already
 * @dio:   the request
 * @end:   how many
 * @error: why, or 0 at the end of the file
 *
 * Context: any; takes the request's lock.
 */
void rdmafs_dio_limit(struct rdmafs_dio *dio, size_t end, int error)
{
	unsigned long irq;

	spin_lock_irqsave(&dio->lock, irq);
	if (end < dio->good) {
		dio->good = end;
		dio->error = error;
	}
	spin_unlock_irqrestore(&dio->lock, irq);
}

/*
 * The task of a request is killed, and no longer waits for it.  Process context; @dio->inode
 * is kept by the caller's file, or by that of the iocb, which is not completed yet.
 */
static void rdmafs_dio_leave(struct rdmafs_dio *dio)
{
	struct inode *inode = dio->inode;

	/* A read changes nothing. */
	if (!dio->write)
		return;
	/* Before @left changes: rdmafs_dio_finish() ends the fence as soon as it finds LEFT. */
	rdmafs_fence_begin(inode);
	if (atomic_cmpxchg(&dio->left, RDMAFS_DIO_WAITED, RDMAFS_DIO_LEFT) != RDMAFS_DIO_WAITED)
		rdmafs_fence_end(inode);
}

/*
 * End a request for which nothing is left to be done: set the result, and wake the waiter.
 * With @inline_ the caller returns the result itself, and the iocb is not completed.  Any
 * context; drops the reference of the parts.
 */
static void rdmafs_dio_finish(struct rdmafs_dio *dio, bool inline_)
{
	struct inode *inode = dio->inode;
	struct kiocb *iocb = dio->iocb;
	ssize_t result;

	dio->good = min(dio->good, dio->len);
	result = dio->good ? (ssize_t)dio->good : dio->error;
	dio->result = result;
	if (dio->write) {
		/* Parts behind the one that failed may have been written. */
		if (dio->good < dio->len && dio->nr_parts > 1)
			rdmafs_change_unknown(inode);
		atomic_dec(&RDMAFS_I(inode)->writers);
	}
	inode_dio_end(inode);
	if (atomic_xchg(&dio->left, RDMAFS_DIO_OVER) == RDMAFS_DIO_LEFT)
		rdmafs_fence_end(inode);
	rdmafs_open_put(dio->open);
	if (!inline_ && iocb && !atomic_xchg(&dio->told, 1)) {
		if (result > 0)
			iocb->ki_pos = dio->pos + result;
		iocb->ki_complete(iocb, result);
	}
	/* @look has nothing to do any more but to drop its references, one of them the mount's. */
	if (READ_ONCE(dio->cancelled) && cancel_delayed_work(&dio->look))
		queue_delayed_work(dio->mnt->tell_wq, &dio->look, 0);
	complete(&dio->done);
	rdmafs_dio_put(dio);
}

/* libaio has cancelled the request: complete the iocb early if its program is over. */
static void rdmafs_dio_look_work(struct work_struct *work)
{
	struct rdmafs_dio *dio = container_of(to_delayed_work(work), struct rdmafs_dio, look);
	struct rdmafs_mount *mnt = dio->mnt;

	if (!atomic_read(&dio->told)) {
		if (!rdmafs_program_over(dio->mm)) {
			queue_delayed_work(mnt->tell_wq, &dio->look, RDMAFS_DIO_LOOK);
			return;
		}
		if (!atomic_xchg(&dio->told, 1)) {
			rdmafs_dio_leave(dio);
			dio->iocb->ki_complete(dio->iocb, -ECANCELED);
		}
	}
	mmdrop(dio->mm);
	rdmafs_dio_put(dio);
	rdmafs_opens_dec(&mnt->super);
}

/*
 * libaio calls this at most once for an iocb: because the program ends, or has called
 * io_destroy(2) or io_cancel(2).  After these calls a program that lives may do with its memory
 * as it likes, so its iocb is not completed before the request is over.  But the program may
 * end later; so @look goes on asking.  -EINVAL: the request is not cancelled by this.
 *
 * libaio's lock is held, so this may not sleep, and @iocb is on libaio's list.  Only ki_complete()
 * takes it off, and needs that lock to do so: the request, the memory and the file are there.
 */
static int rdmafs_dio_cancel(struct kiocb *iocb)
{
	struct rdmafs_dio *dio = iocb->private;

	refcount_inc(&dio->ref);
	mmgrab(dio->mm);
	atomic_inc(&dio->mnt->super.nr_opens);
	WRITE_ONCE(dio->cancelled, true);
	queue_delayed_work(dio->mnt->tell_wq, &dio->look, 0);
	return -EINVAL;
}

/*
 * Let libaio cancel the request.  The submitter still has its count of @parts, so that the
 * request is not over.  From here on the iocb is to be ended by ki_complete().
 */
static void rdmafs_dio_cancellable(struct rdmafs_dio *dio)
{
	if (!(dio->iocb->ki_flags & IOCB_AIO_RW))
		return;
	dio->cancellable = true;
	dio->mm = current->mm;
	dio->mnt = RDMAFS_M(dio->inode->i_sb);
	dio->iocb->private = dio;
	kiocb_set_cancel_fn(dio->iocb, rdmafs_dio_cancel);
}

/* A part that was lost has been written again; any context. */
static void rdmafs_dio_rewritten(struct rdmafs_op *op, int err)
{
	struct rdmafs_dio_part *part = op->io.priv;

	if (err || op->io.done < op->io.len)
		rdmafs_dio_limit(part->dio, part->off + op->io.done, err ? err : -EIO);
	complete(&op->done);
}

/*
 * Make the parts of a long write stable.  All parts have ended, so that @unstable needs no lock.
 * Process context, a worker of dio_wq.
 */
static void rdmafs_dio_commit(struct rdmafs_dio *dio)
{
	struct rdmafs_dio_part *part, *next;
	u64 verifier = 0;
	int err;

	if (list_empty(&dio->unstable))
		return;
	rdmafs_test_point("dio_commit", dio->inode->i_ino);
	err = rdmafs_commit_send(dio->open, dio->sync, &verifier);
	list_for_each_entry_safe(part, next, &dio->unstable, link) {
		struct rdmafs_op *op = part->op;

		list_del(&part->link);
		if (err) {
			rdmafs_dio_limit(dio, part->off, err);
		} else if (op->io.mixed || op->io.verifier != verifier) {
			rdmafs_test_point("dio_again", dio->inode->i_ino);
			op->io.done = 0;
			op->io.answered = false;
			op->io.mixed = false;
			op->io.stable = dio->sync ? RFP_FILE_SYNC : RFP_DATA_SYNC;
			op->io.finish = rdmafs_dio_rewritten;
			op->tries = 0;
			op->waits = 0;
			reinit_completion(&op->done);
			rdmafs_io_start(op, false);
			/* Not killable: the server's answer ends it, or transport's end. */
			wait_for_completion(&op->done);
		}
		rdmafs_op_put(op);
		rdmafs_dio_part_free(part);
	}
}

/*
 * A write has made the file longer: drop the page that the file ended in, then raise the size.
 *
 * The order matters.  A store may have made that page dirty before stores were kept out here, and
 * so may a direct read into a mapping, which no lock keeps away.  If the size were raised first,
 * the page would be written back up to the new size, with the zeros that it has behind the old
 * one.  A fault that reads the page in now gets what the server has there, whichever client wrote
 * it.  An append may be behind one of another client, so it drops the page in any case.  A write
 * that has left a hole keeps a page that rdmafs_leave_hole() has let stay before it.
 *
 * Process context.  The submitter of an append holds rdmafs_inode.stores; else it is taken here.
 */
static void rdmafs_dio_longer(struct inode *inode, bool append, loff_t pos, loff_t end)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	loff_t from;

	if (!append)
		down_write(&ri->stores);
	from = min(pos, i_size_read(inode));
	if (!append && from < pos && !rdmafs_tail_keep(inode, from))
		from = pos;
	if (rdmafs_test_fails("dio_longer", inode->i_ino) ||
	    rdmafs_drop_range(inode, from, end - 1)) {
		/* The page is dirty again: the server is asked for the size when it is clean. */
		trace_rdmafs_cache(inode, RDMAFS_CACHE_NO_EXTEND, pos, end - pos);
		rdmafs_change_unknown(inode);
	} else {
		spin_lock(&inode->i_lock);
		if (end > i_size_read(inode))
			i_size_write(inode, end);
		spin_unlock(&inode->i_lock);
		trace_rdmafs_cache(inode, RDMAFS_CACHE_EXTEND, pos, end - pos);
	}
	if (!append)
		up_write(&ri->stores);
}

/* Do all that a write waits for before it is over.  Process context, a worker of dio_wq. */
static void rdmafs_dio_before_finish(struct rdmafs_dio *dio)
{
	struct inode *inode = dio->inode;
	struct address_space *mapping = inode->i_mapping;
	size_t good;
	loff_t end;

	if (!dio->write)
		return;
	rdmafs_dio_commit(dio);
	good = min(dio->good, dio->len);
	if (!good)
		return;
	end = dio->pos + good;
	if (end > i_size_read(inode))
		rdmafs_dio_longer(inode, dio->append, dio->pos, end);
	/* A mapping may have read the old data meanwhile. */
	else if (mapping->nrpages &&
		 invalidate_inode_pages2_range(mapping, dio->pos >> PAGE_SHIFT,
					       (end - 1) >> PAGE_SHIFT))
		rdmafs_pages_stale(inode);
}

/*
 * Is there something to do in rdmafs_dio_before_finish(), which may wait for the server, for
 * pages, or for stores into them?  There is not if nothing was written: a caller that may not
 * wait gets its -EAGAIN at once, and asks again where it may.  There is not if the file has no
 * cached pages, either: a page that is read in from now on is asked for after the data was
 * written.
 *
 * @parts is 0, or the submitter's count is the last.  Any context.
 */
static bool rdmafs_dio_waits(struct rdmafs_dio *dio)
{
	if (!dio->write)
		return false;
	if (!list_empty(&dio->unstable))
		return true;
	return min(dio->good, dio->len) &&
	       (dio->work_needed || dio->inode->i_mapping->nrpages);
}

static void rdmafs_dio_work(struct work_struct *work)
{
	struct rdmafs_dio *dio = container_of(work, struct rdmafs_dio, work);

	rdmafs_dio_before_finish(dio);
	rdmafs_dio_finish(dio, false);
}

/* A part has ended; any context. */
static void rdmafs_dio_part_end(struct rdmafs_dio *dio)
{
	if (!atomic_dec_and_test(&dio->parts))
		return;
	if (rdmafs_dio_waits(dio))
		queue_work(RDMAFS_M(dio->inode->i_sb)->dio_wq, &dio->work);
	else
		rdmafs_dio_finish(dio, false);
}

/* Pages of a read are made dirty again, which takes their locks. */
static void rdmafs_dio_part_work(struct work_struct *work)
{
	struct rdmafs_dio_part *part = container_of(work, struct rdmafs_dio_part, work);
	struct rdmafs_dio *dio = part->dio;

	rdmafs_dio_part_dirty(part);
	rdmafs_dio_part_free(part);
	rdmafs_dio_part_end(dio);
}

/* The op of a part has finished; any context. */
static void rdmafs_dio_io_finish(struct rdmafs_op *op, int err)
{
	struct rdmafs_dio_part *part = op->io.priv;
	struct rdmafs_dio *dio = part->dio;
	unsigned long irq;

	if (dio->append) {
		dio->pos = op->io.pos;
		dio->lost = err && op->call.status == -EREMOTEIO;
	}
	if (err || op->io.done < op->io.len)
		rdmafs_dio_limit(dio, part->off + op->io.done, err);
	if (dio->write && op->io.answered && op->io.done) {
		spin_lock_irqsave(&dio->lock, irq);
		list_add_tail(&part->link, &dio->unstable);
		dio->work_needed = true;
		/* Only bytes that the server has acknowledged are written again. */
		op->io.len = op->io.done;
		iov_iter_truncate(&op->io.iter, op->io.len);
		spin_unlock_irqrestore(&dio->lock, irq);
		rdmafs_dio_part_end(dio);
		return;
	}
	rdmafs_op_put(op);
	if (!dio->write && part->hold == RDMAFS_DIO_PINNED && rdmafs_dio_part_cleaned(part)) {
		INIT_WORK(&part->work, rdmafs_dio_part_work);
		queue_work(RDMAFS_M(dio->inode->i_sb)->file_wq, &part->work);
		return;
	}
	rdmafs_dio_part_free(part);
	rdmafs_dio_part_end(dio);
}

/**
 * rdmafs_dio_new - make a request without parts
 * @iocb:   the file and the offset
 * @write:  whether it writes
 * @append: whether the server picks the offset
 *
 * Context: process, may sleep for memory.
 * Return: the request, with the submitter's count of @parts and its reference; or NULL.
 */
struct rdmafs_dio *rdmafs_dio_new(struct kiocb *iocb, bool write, bool append)
{
	struct rdmafs_dio *dio = kzalloc(sizeof(*dio), GFP_KERNEL);
	struct file *file = iocb->ki_filp;

	if (!dio)
		return NULL;
	dio->inode = file_inode(file);
	dio->open = rdmafs_open_get(rdmafs_file_open(file));
	dio->iocb = is_sync_kiocb(iocb) || append ? NULL : iocb;
	dio->write = write;
	dio->append = append;
	dio->sync = iocb->ki_flags & IOCB_SYNC;
	dio->pos = iocb->ki_pos;
	dio->good = SIZE_MAX;
	atomic_set(&dio->parts, 1);
	/* One of the parts, one of the submitter. */
	refcount_set(&dio->ref, 2);
	spin_lock_init(&dio->lock);
	INIT_LIST_HEAD(&dio->unstable);
	init_completion(&dio->done);
	INIT_WORK(&dio->work, rdmafs_dio_work);
	INIT_DELAYED_WORK(&dio->look, rdmafs_dio_look_work);
	inode_dio_begin(dio->inode);
	if (write)
		atomic_inc(&RDMAFS_I(dio->inode)->writers);
	return dio;
}

/*
 * Make the op of a part.  A read waits for memory.  So does the first part of a write, for as long
 * as an op is tried again after a shortage.  A later part must not wait: the parts before it keep
 * their memory until they are stable, and COMMIT is sent only when all parts have ended.  The
 * write comes out short instead.  For the same reason a write takes nothing from a pool.
 *
 * Process context.  -EAGAIN with @nowait, -ENOMEM, or -EINTR if killed.
 */
static struct rdmafs_op *rdmafs_dio_op(struct rdmafs_dio *dio, bool nowait)
{
	unsigned int waits = 0;
	struct rdmafs_op *op;

	if (!dio->write)
		return rdmafs_io_new(dio->open, false, RDMAFS_POOL_COMMON);
	while (true) {
		op = rdmafs_test_fails("dio_op", dio->inode->i_ino) ? NULL :
		     rdmafs_io_new(dio->open, true, RDMAFS_POOL_NONE);
		if (op)
			return op;
		if (nowait)
			return ERR_PTR(-EAGAIN);
		if (dio->nr_parts || waits == RDMAFS_OP_WAITS)
			return ERR_PTR(-ENOMEM);
		schedule_timeout_killable(rdmafs_backoff(&waits));
		if (fatal_signal_pending(current))
			return ERR_PTR(-EINTR);
	}
}

/**
 * rdmafs_dio_start_part - send a part
 * @dio:    the request
 * @part:   the part, its op's from now on, or freed if there is none
 * @len:    its bytes
 * @more:   more parts follow
 * @nowait: the caller may not wait but for memory
 *
 * Context: process, may sleep.
 * Return: 0; -EAGAIN with @nowait, -ENOMEM, or -EINTR if killed.
 */
int rdmafs_dio_start_part(struct rdmafs_dio *dio, struct rdmafs_dio_part *part, size_t len,
			  bool more, bool nowait)
{
	struct rdmafs_op *op;

	op = rdmafs_dio_op(dio, nowait);
	if (IS_ERR(op)) {
		rdmafs_dio_part_free(part);
		return PTR_ERR(op);
	}
	part->dio = dio;
	part->op = op;
	part->off = dio->len;
	op->io.pos = dio->pos + dio->len;
	op->io.len = len;
	op->io.finish = rdmafs_dio_io_finish;
	op->io.priv = part;
	iov_iter_bvec(&op->io.iter, dio->write ? ITER_SOURCE : ITER_DEST, part->bv, part->nr, len);
	if (dio->write) {
		if (dio->append)
			op->io.flags = RFP_WRITE_APPEND;
		if (dio->append || (!dio->nr_parts && !more))
			op->io.stable = dio->sync ? RFP_FILE_SYNC : RFP_DATA_SYNC;
		else
			op->io.stable = RFP_UNSTABLE;
	} else if (part->hold == RDMAFS_DIO_PINNED) {
		rdmafs_dio_part_dirty(part);
	}
	dio->len += len;
	dio->nr_parts++;
	atomic_inc(&dio->parts);
	rdmafs_io_start(op, nowait);
	return 0;
}

/**
 * rdmafs_dio_end - give up the submitter's count of parts, and wait for the request's end
 * @dio: the request, all of whose parts have been submitted; the caller keeps its reference
 *
 * An asynchronous request is not waited for.
 *
 * Context: process, may sleep.
 * Return: bytes; -EIOCBQUEUED; -EINTR if killed; or a negative errno.
 */
ssize_t rdmafs_dio_end(struct rdmafs_dio *dio)
{
	struct kiocb *iocb = dio->iocb;
	bool answered, waits, over;
	ssize_t ret;

	rdmafs_test_point("dio_submitted", dio->inode->i_ino);
	/*
	 * If all parts have ended, the submitter is the only owner.  Whether the request waits for
	 * more is asked once, before the count is dropped: cached pages come and go, and the
	 * answer must be the same below.  A request that waits needs the server yet, so that it
	 * can be cancelled like one that is in flight.
	 */
	answered = atomic_read_acquire(&dio->parts) == 1;
	waits = answered && rdmafs_dio_waits(dio);
	if (iocb && (!answered || waits))
		rdmafs_dio_cancellable(dio);
	over = atomic_dec_and_test(&dio->parts);
	if (over && !answered)
		waits = rdmafs_dio_waits(dio);
	if (over && waits) {
		queue_work(RDMAFS_M(dio->inode->i_sb)->dio_wq, &dio->work);
		over = false;
	}
	if (over && dio->cancellable) {
		rdmafs_dio_finish(dio, false);
		ret = -EIOCBQUEUED;
	} else if (over) {
		/* The system call returns the result: ki_complete() is not called. */
		rdmafs_dio_finish(dio, true);
		ret = dio->result;
		if (ret > 0 && iocb)
			iocb->ki_pos = dio->pos + ret;
	} else if (iocb) {
		ret = -EIOCBQUEUED;
	} else {
		rdmafs_xprt_poll(RDMAFS_M(dio->inode->i_sb)->xprt, &dio->done);
		ret = wait_for_completion_killable(&dio->done);
		if (ret)
			rdmafs_dio_leave(dio);
		ret = ret ? -EINTR : dio->result;
	}
	return ret;
}

/* Send all of @iter, and wait unless the request is asynchronous. */
static ssize_t rdmafs_dio_run(struct rdmafs_dio *dio, struct iov_iter *iter, bool nowait)
{
	struct rdmafs_dio_part *part;
	size_t len;
	int err;

	while (iov_iter_count(iter)) {
		part = rdmafs_dio_part_new(dio, iter, &len);
		err = PTR_ERR_OR_ZERO(part);
		if (!err && nowait && iov_iter_count(iter)) {
			/*
			 * All of it goes in one part, or none: a second part could not wait, and a
			 * caller that does not wait does not ask for the rest.
			 */
			rdmafs_dio_part_free(part);
			err = -EAGAIN;
		}
		if (!err)
			err = rdmafs_dio_start_part(dio, part, len, iov_iter_count(iter), nowait);
		if (err) {
			rdmafs_dio_limit(dio, dio->len, err);
			break;
		}
		/* A part has failed or was short already: more bytes behind it would not count. */
		if (READ_ONCE(dio->good) != SIZE_MAX)
			break;
	}
	return rdmafs_dio_end(dio);
}

/**
 * rdmafs_direct_read - read from the server past the page cache
 * @iocb: the file and the offset, which is advanced
 * @iter: where to; not empty
 *
 * Context: process, may sleep; with IOCB_NOWAIT for memory only.  No folio lock is held; takes
 * i_rwsem.
 * Return: bytes; -EIOCBQUEUED: @iocb is completed later; -EAGAIN with IOCB_NOWAIT; -EINTR if
 * killed, the request goes on alone; -ENOMEM; or a negative errno of the server or transport.
 */
ssize_t rdmafs_direct_read(struct kiocb *iocb, struct iov_iter *iter)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	bool nowait = iocb->ki_flags & IOCB_NOWAIT;
	bool sync = is_sync_kiocb(iocb);
	struct rdmafs_dio *dio;
	ssize_t ret;

	if (iocb->ki_pos < 0)
		return -EINVAL;
	/* Kernel memory of which there are no pages to keep: a killed task could not leave it. */
	if (!user_backed_iter(iter) && !iov_iter_is_bvec(iter)) {
		trace_rdmafs_cache(inode, RDMAFS_CACHE_NO_DIRECT, iocb->ki_pos,
				   iov_iter_count(iter));
		return rdmafs_buffered_read(iocb, iter);
	}
	if (nowait && iov_iter_count(iter) > RDMAFS_M(inode->i_sb)->rsize)
		return -EAGAIN;
	ret = rdmafs_dio_lock(inode, false, nowait);
	if (ret)
		return ret;
	ret = rdmafs_dio_clear(iocb, iov_iter_count(iter), false);
	if (ret)
		goto out;
	ret = -ENOMEM;
	dio = rdmafs_dio_new(iocb, false, false);
	if (!dio)
		goto out;
	ret = rdmafs_dio_run(dio, iter, nowait);
	/* An asynchronous @iocb may be completed, and gone. */
	if (sync && ret > 0)
		iocb->ki_pos += ret;
	rdmafs_dio_put(dio);
out:
	netfs_end_io_direct(inode);
	return ret;
}

/**
 * rdmafs_direct_write - write to the server past the page cache
 * @iocb: the file and the offset, which is advanced; not O_APPEND
 * @from: the data; not empty
 *
 * The bytes that the write returns, or completes @iocb with, are stable at the server.
 *
 * Context: process, may sleep; with IOCB_NOWAIT for memory only.  No folio lock is held; takes
 * i_rwsem.
 * Return: bytes; -EIOCBQUEUED: @iocb is completed later; -EAGAIN with IOCB_NOWAIT; -EINTR if
 * killed, the request goes on alone; -ENOMEM; or a negative errno of the server or transport.
 */
ssize_t rdmafs_direct_write(struct kiocb *iocb, struct iov_iter *from)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	bool nowait = iocb->ki_flags & IOCB_NOWAIT;
	bool sync = is_sync_kiocb(iocb);
	struct rdmafs_dio *dio;
	loff_t size;
	ssize_t ret;

	if (nowait && iov_iter_count(from) > RDMAFS_M(inode->i_sb)->wsize)
		return -EAGAIN;
	ret = rdmafs_dio_lock(inode, true, nowait);
	if (ret)
		return ret;
	ret = generic_write_checks(iocb, from);
	if (ret <= 0)
		goto out;
	trace_rdmafs_cache(inode, RDMAFS_CACHE_DIRECT, iocb->ki_pos, iov_iter_count(from));
	ret = rdmafs_dio_privs(iocb);
	if (ret)
		goto out;
	ret = rdmafs_dio_clear(iocb, iov_iter_count(from), true);
	if (ret)
		goto out;
	size = i_size_read(inode);
	if (iocb->ki_pos > size) {
		/* If the page of the end is read in later, rdmafs_dio_longer() drops it. */
		if (filemap_range_has_page(inode->i_mapping, size, size))
			ret = nowait ? -EAGAIN : rdmafs_leave_hole_unlocked(inode);
		if (ret < 0)
			goto out;
	}
	ret = -ENOMEM;
	dio = rdmafs_dio_new(iocb, true, false);
	if (!dio)
		goto out;
	/*
	 * rdmafs_dio_new() has counted the write in rdmafs_inode.writers: attributes, which are
	 * taken over under the lock, do not lower the size from here on.
	 */
	spin_lock_irq(&RDMAFS_I(inode)->lock);
	if (iocb->ki_pos + iov_iter_count(from) > i_size_read(inode))
		dio->work_needed = true;
	spin_unlock_irq(&RDMAFS_I(inode)->lock);
	ret = rdmafs_dio_run(dio, from, nowait);
	/* An asynchronous @iocb may be completed, and gone. */
	if (sync && ret > 0)
		iocb->ki_pos += ret;
	rdmafs_dio_put(dio);
out:
	netfs_end_io_direct(inode);
	return ret;
}
