// SPDX-License-Identifier: GPL-2.0
/*
 * O_DIRECT, and appending writes: from the user's pages to transport.
 *
 * A request is cut into parts of at most one RPC; each pins its own pages and
 * is one READ or WRITE (io.c).  The last part to end finishes the request:
 * inline if that can be done in any context, else in a worker.  What counts is
 * the run of bytes from the beginning up to the first part that failed or was
 * short.
 *
 * A write of one part goes DATA_SYNC (FILE_SYNC for O_SYNC).  The parts of a
 * longer one go UNSTABLE and are kept until a COMMIT under their verifier has
 * been answered; those written under another one are written again.  So a
 * direct write is stable when it returns, and never synced again.
 *
 * O_APPEND: the server picks the offset, part by part, so that clients that
 * append to one file do not overwrite each other; the page cache is flushed
 * before and dropped after, and no mapping can store between the two: the last
 * page would be written back as it was when it had no more than zeros there
 * (rdmafs_inode.stores).  Faults that read go on: they would wait for
 * invalidate_lock, deaf to signals, for as long as the server takes.  A part's data may itself be
 * in a page of the file that a fault has to make fit to be stored into, so that
 * it is taken before.  As there is no copy from which it could be sent again, an
 * append is DATA_SYNC as well.
 *
 * Ownership: a part's pages are pinned until its op has finished (written
 * unstably: until stable).  A killed task leaves the request; iocb and iterator
 * of a synchronous one are not touched any more from then on.  Those of libaio are
 * told to be over when nobody will use their memory any more: the end of a program would wait
 * for them otherwise, and so would execve(2).  A program that lives and calls io_destroy(2)
 * does wait: it has other uses for its memory then.
 */
#include <linux/aio.h>
#include <linux/bvec.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "client.h"
#include "transport/points.h"

/* Pages extracted from an iterator at once. */
#define RDMAFS_DIO_BATCH	16

/* How soon one looks again whether the program of a request that was called off is over. */
#define RDMAFS_DIO_LOOK		(HZ / 2)

/* What becomes of a part's pages. */
enum rdmafs_dio_hold {
	RDMAFS_DIO_PINNED,	/* user's, pinned */
	RDMAFS_DIO_REF,		/* the kernel's, referenced, or our own copy */
	RDMAFS_DIO_LENT,	/* the kernel's, there until ki_complete */
};

/* Of a write: who waits for it, its task or nobody (fence.c). */
enum rdmafs_dio_left {
	RDMAFS_DIO_WAITED,
	RDMAFS_DIO_LEFT,
	RDMAFS_DIO_OVER,
};

/**
 * struct rdmafs_dio - a direct request
 * @inode:   the file, kept by @open
 * @open:    whose stateid is used
 * @iocb:    of an asynchronous request, else NULL
 * @write:   a write
 * @append:  where, the server says
 * @sync:    a write with all metadata
 * @work_needed: it can't be finished in any context, nor by a task that may be killed
 * @cancellable: libaio may call it off, from when all has been submitted
 * @cancelled: it has, and @look keeps a reference, one to @mm, and the mount
 * @told:    1: @iocb has been completed
 * @left:    by whom it is waited for: enum rdmafs_dio_left
 * @look:    completes @iocb before the request is over, if nobody will use the memory
 * @mm:      whose memory it is, if it is @cancellable: there until @iocb is completed
 * @mnt:     the mount, if it is @cancellable
 * @pos:     where in the file
 * @len:     bytes submitted
 * @parts:   parts not yet ended, and one for the submitter
 * @ref:     the parts' and the waiter's
 * @lock:    protects the next three; irqsave
 * @good:    bytes from the beginning that are done
 * @error:   why not more, 0 at the end of the file
 * @unstable: written parts that wait for the COMMIT
 * @nr_parts: parts submitted
 * @result:  what the system call returns
 * @done:    @result is valid
 * @work:    finishes it
 */
struct rdmafs_dio {
	struct inode *inode;
	struct rdmafs_open *open;
	struct kiocb *iocb;
	bool write;
	bool append;
	bool sync;
	bool work_needed;
	bool cancellable;
	bool cancelled;
	atomic_t told;
	atomic_t left;
	struct delayed_work look;
	struct mm_struct *mm;
	struct rdmafs_mount *mnt;
	loff_t pos;
	size_t len;
	atomic_t parts;
	refcount_t ref;
	spinlock_t lock; /* protects good, error, unstable */
	size_t good;
	int error;
	struct list_head unstable;
	unsigned int nr_parts;
	ssize_t result;
	struct completion done;
	struct work_struct work;
};

/**
 * struct rdmafs_dio_part - one RPC of it
 * @dio:  the request
 * @op:	  the operation
 * @link: in rdmafs_dio.unstable
 * @off:  bytes of the request before this part
 * @hold: what becomes of the pages
 * @work: releases pages that can't be released in any context
 * @nr:	  of @bv
 * @bv:	  the pages
 */
struct rdmafs_dio_part {
	struct rdmafs_dio *dio;
	struct rdmafs_op *op;
	struct list_head link;
	size_t off;
	enum rdmafs_dio_hold hold;
	struct work_struct work;
	unsigned int nr;
	struct bio_vec bv[] __counted_by(nr);
};

static void rdmafs_dio_part_free(struct rdmafs_dio_part *part)
{
	unsigned int i;

	for (i = 0; i < part->nr; i++) {
		if (part->hold == RDMAFS_DIO_PINNED)
			unpin_user_page(part->bv[i].bv_page);
		else if (part->hold == RDMAFS_DIO_REF)
			put_page(part->bv[i].bv_page);
	}
	kfree(part);
}

static void rdmafs_dio_part_dirty(struct rdmafs_dio_part *part)
{
	unsigned int i;

	for (i = 0; i < part->nr; i++)
		set_page_dirty_lock(part->bv[i].bv_page);
}

static void rdmafs_dio_put(struct rdmafs_dio *dio)
{
	if (refcount_dec_and_test(&dio->ref))
		kfree(dio);
}

/* The end of a part, or of what was submitted: bytes up to @end, if not more. */
static void rdmafs_dio_limit(struct rdmafs_dio *dio, size_t end, int error)
{
	unsigned long irq;

	spin_lock_irqsave(&dio->lock, irq);
	if (end < dio->good) {
		dio->good = end;
		dio->error = error;
	}
	spin_unlock_irqrestore(&dio->lock, irq);
}

/* Its task is killed, and goes on without it. */
static void rdmafs_dio_leave(struct rdmafs_dio *dio)
{
	struct inode *inode = dio->inode;

	/* A read changes nothing. */
	if (!dio->write)
		return;
	/* The file is open as long as this task, or its iocb, is there. */
	rdmafs_fence_begin(inode);
	if (atomic_cmpxchg(&dio->left, RDMAFS_DIO_WAITED, RDMAFS_DIO_LEFT) != RDMAFS_DIO_WAITED)
		rdmafs_fence_end(inode);
}

/* Any context: nothing is left to do but to tell. */
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
	/* There is nothing to look for any more, and unmounting waits for it. */
	if (READ_ONCE(dio->cancelled) && cancel_delayed_work(&dio->look))
		queue_delayed_work(dio->mnt->tell_wq, &dio->look, 0);
	complete(&dio->done);
	rdmafs_dio_put(dio);
}

/* It was called off. */
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
	rdmafs_opens_dec(mnt);
}

/*
 * libaio, once: the program ends, or has called io_destroy(2) or io_cancel(2), after which it
 * may do with its memory as it likes: so only what is at its end is told before the request is
 * over.  It may come to that later.  libaio's lock is held, and @iocb is on its list, from
 * which only ki_complete() takes it: it keeps the request, the memory and the file.
 */
static int rdmafs_dio_cancel(struct kiocb *iocb)
{
	struct rdmafs_dio *dio = iocb->private;

	refcount_inc(&dio->ref);
	mmgrab(dio->mm);
	atomic_inc(&dio->mnt->nr_opens);
	WRITE_ONCE(dio->cancelled, true);
	queue_delayed_work(dio->mnt->tell_wq, &dio->look, 0);
	return -EINVAL;
}

/* The submitter still has its part, so the request is not over. */
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

static void rdmafs_dio_rewritten(struct rdmafs_op *op, int err)
{
	struct rdmafs_dio_part *part = op->io.priv;

	if (err || op->io.done < op->io.len)
		rdmafs_dio_limit(part->dio, part->off + op->io.done, err ? err : -EIO);
	complete(&op->done);
}

/* Make the parts of a long write stable. */
static void rdmafs_dio_commit(struct rdmafs_dio *dio)
{
	struct rdmafs_dio_part *part, *next;
	u64 verifier = 0;
	int err;

	if (list_empty(&dio->unstable))
		return;
	err = rdmafs_commit_send(dio->open, dio->sync, &verifier);
	list_for_each_entry_safe(part, next, &dio->unstable, link) {
		struct rdmafs_op *op = part->op;

		list_del(&part->link);
		if (err) {
			rdmafs_dio_limit(dio, part->off, err);
		} else if (op->io.mixed || op->io.verifier != verifier) {
			op->io.done = 0;
			op->io.answered = false;
			op->io.mixed = false;
			op->io.stable = dio->sync ? RFP_FILE_SYNC : RFP_DATA_SYNC;
			op->io.finish = rdmafs_dio_rewritten;
			op->tries = 0;
			reinit_completion(&op->done);
			rdmafs_io_start(op, false);
			/* The server's answer, or transport's end. */
			wait_for_completion(&op->done);
		}
		rdmafs_op_put(op);
		rdmafs_dio_part_free(part);
	}
}

/*
 * The file is longer: the page that it ended in goes while the size is what it was.  A store
 * may have made it dirty before they were kept out here, or a direct read into a mapping, which
 * no lock keeps away, and up to the new size it would be written back with the zeros that it
 * has behind the old one.  Who reads it in now gets what has been written there, by whomever:
 * an append, for which stores are kept out already, may be behind another client's.  Behind
 * a hole of ours it stays if it stayed before (rdmafs_leave_hole()).
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
	if (rdmafs_test_fail("dio_longer", inode->i_ino) ||
	    rdmafs_drop_range(inode, from, end - 1)) {
		/* Dirty once more: the size is the server's to tell, when it is clean. */
		rdmafs_change_unknown(inode);
	} else {
		spin_lock(&inode->i_lock);
		if (end > i_size_read(inode))
			i_size_write(inode, end);
		spin_unlock(&inode->i_lock);
	}
	if (!append)
		up_write(&ri->stores);
}

/* Process context: all that sleeps. */
static void rdmafs_dio_settle(struct rdmafs_dio *dio)
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
 * Is there something to settle, which may wait for the server, for pages, or for who stores into
 * them?  Not if nothing was written: who is told at once that he would have to wait (-EAGAIN)
 * asks again where he may.  Nor if there are no pages: what is read in from now on was asked for
 * after it had been written.
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

	rdmafs_dio_settle(dio);
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

static void rdmafs_dio_part_work(struct work_struct *work)
{
	struct rdmafs_dio_part *part = container_of(work, struct rdmafs_dio_part, work);
	struct rdmafs_dio *dio = part->dio;

	rdmafs_dio_part_dirty(part);
	rdmafs_dio_part_free(part);
	rdmafs_dio_part_end(dio);
}

/* Were pages of the user's cleaned while data was put there? */
static bool rdmafs_dio_part_cleaned(struct rdmafs_dio_part *part)
{
	unsigned int i;

	for (i = 0; i < part->nr; i++)
		if (!PageDirty(part->bv[i].bv_page))
			return true;
	return false;
}

/* The op of a part has finished; any context. */
static void rdmafs_dio_io_finish(struct rdmafs_op *op, int err)
{
	struct rdmafs_dio_part *part = op->io.priv;
	struct rdmafs_dio *dio = part->dio;
	unsigned long irq;

	if (dio->append)
		dio->pos = op->io.pos;
	if (err || op->io.done < op->io.len)
		rdmafs_dio_limit(dio, part->off + op->io.done, err);
	if (dio->write && op->io.answered && op->io.done) {
		spin_lock_irqsave(&dio->lock, irq);
		list_add_tail(&part->link, &dio->unstable);
		dio->work_needed = true;
		/* What is written again is what was written. */
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

/*
 * May a segment at @off follow what @part has? One translation covers pages
 * that are full but for the first one's beginning and the last one's end.
 */
static bool rdmafs_dio_fits(const struct rdmafs_dio_part *part, size_t have, size_t more,
			    size_t off)
{
	const struct bio_vec *last;

	if (!part->nr || have + more <= RDMAFS_XPRT_INLINE_MAX)
		return true;
	last = &part->bv[part->nr - 1];
	return !off && !((last->bv_offset + last->bv_len) & ~PAGE_MASK);
}

static struct rdmafs_dio_part *rdmafs_dio_part_alloc(unsigned int nr)
{
	struct rdmafs_dio_part *part;

	part = kzalloc(struct_size(part, bv, nr), GFP_KERNEL);
	if (part)
		part->nr = nr;
	return part;
}

/* Copy up to @max bytes of @iter to pages of our own. */
static struct rdmafs_dio_part *rdmafs_dio_copy(struct iov_iter *iter, size_t max, size_t *len)
{
	unsigned int i, nr = DIV_ROUND_UP(max, PAGE_SIZE);
	struct rdmafs_dio_part *part = rdmafs_dio_part_alloc(nr);
	size_t n, got;

	*len = 0;
	if (!part)
		return ERR_PTR(-ENOMEM);
	part->hold = RDMAFS_DIO_REF;
	for (i = 0; i < nr; i++) {
		struct page *page = alloc_page(GFP_KERNEL);

		part->nr = i;
		if (!page) {
			rdmafs_dio_part_free(part);
			return ERR_PTR(-ENOMEM);
		}
		part->nr = i + 1;
		n = min_t(size_t, max - *len, PAGE_SIZE);
		bvec_set_page(&part->bv[i], page, n, 0);
		got = copy_page_from_iter(page, 0, n, iter);
		*len += got;
		if (!got) {
			put_page(page);
			part->nr = i;
			break;
		}
		part->bv[i].bv_len = got;
		if (got < n)
			break;
	}
	if (!*len) {
		rdmafs_dio_part_free(part);
		return ERR_PTR(-EFAULT);
	}
	return part;
}

/* Take up to @max bytes of pages from @iter; a read's must fit one translation. */
static struct rdmafs_dio_part *rdmafs_dio_extract(struct rdmafs_dio *dio, struct iov_iter *iter,
						  size_t max, enum rdmafs_dio_hold hold,
						  size_t *len)
{
	unsigned int room = iov_iter_npages(iter, max / PAGE_SIZE + 2);
	bool read = !dio->write;
	struct page *batch[RDMAFS_DIO_BATCH], **pages = batch;
	struct rdmafs_dio_part *part;
	bool full = false;
	size_t off, n;
	ssize_t got = 0;
	unsigned int i, nr;

	*len = 0;
	/* As much as the device translates at once, wherever in a page it begins. */
	if (read)
		room = clamp_t(unsigned int,
			       rdmafs_xprt_data_max(RDMAFS_M(dio->inode->i_sb)->xprt) / PAGE_SIZE,
			       1, room);
	part = rdmafs_dio_part_alloc(room);
	if (!part)
		return ERR_PTR(-ENOMEM);
	part->hold = hold;
	part->nr = 0;
	while (!full && *len < max && part->nr < room && iov_iter_count(iter)) {
		got = iov_iter_extract_pages(iter, &pages, max - *len,
					     min_t(unsigned int, room - part->nr,
						   RDMAFS_DIO_BATCH), 0, &off);
		if (got <= 0)
			break;
		nr = DIV_ROUND_UP(off + got, PAGE_SIZE);
		for (i = 0; i < nr; i++) {
			n = min_t(size_t, got, PAGE_SIZE - off);
			if (read && !full && !rdmafs_dio_fits(part, *len, got, off)) {
				/* The rest goes to the next part. */
				iov_iter_revert(iter, got);
				full = true;
			}
			if (full) {
				if (hold == RDMAFS_DIO_PINNED)
					unpin_user_page(pages[i]);
				continue;
			}
			if (hold == RDMAFS_DIO_REF)
				get_page(pages[i]);
			part->nr++;
			bvec_set_page(&part->bv[part->nr - 1], pages[i], n, off);
			*len += n;
			got -= n;
			off = 0;
		}
	}
	if (!*len) {
		rdmafs_dio_part_free(part);
		return ERR_PTR(got < 0 ? got : -EFAULT);
	}
	return part;
}

static struct rdmafs_dio_part *rdmafs_dio_part_new(struct rdmafs_dio *dio,
						   struct iov_iter *iter, size_t *len)
{
	struct rdmafs_mount *mnt = RDMAFS_M(dio->inode->i_sb);
	size_t max = min_t(size_t, iov_iter_count(iter), dio->write ? mnt->wsize : mnt->rsize);
	enum rdmafs_dio_hold hold;

	if (user_backed_iter(iter)) {
		/* Copying a little is cheaper than pinning. */
		if (dio->append && max <= RDMAFS_XPRT_INLINE_MAX)
			return rdmafs_dio_copy(iter, max, len);
		hold = RDMAFS_DIO_PINNED;
	} else if (iov_iter_is_bvec(iter)) {
		hold = dio->iocb ? RDMAFS_DIO_LENT : RDMAFS_DIO_REF;
	} else {
		/* Only writes come here with other kinds. */
		return rdmafs_dio_copy(iter, max, len);
	}
	return rdmafs_dio_extract(dio, iter, max, hold, len);
}

static struct rdmafs_dio *rdmafs_dio_new(struct kiocb *iocb, bool write, bool append)
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
	/* The parts', and the submitter's. */
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
 * Who has no part under way yet can wait for memory, as who reads does; behind one that is kept
 * until it is stable the write is short instead.
 */
static struct rdmafs_op *rdmafs_dio_op(struct rdmafs_dio *dio, bool nowait)
{
	unsigned int waits = 0;
	struct rdmafs_op *op;

	/* A write's ops stay until all of its parts are stable. */
	if (!dio->write)
		return rdmafs_io_new(dio->open, false, RDMAFS_POOL_COMMON);
	while (true) {
		op = rdmafs_test_fail("dio_op", dio->inode->i_ino) ? NULL :
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

static int rdmafs_dio_start_part(struct rdmafs_dio *dio, struct rdmafs_dio_part *part,
				 size_t len, bool more, bool nowait)
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

/* All has been submitted: wait for it, unless the request is asynchronous. */
static ssize_t rdmafs_dio_end(struct rdmafs_dio *dio)
{
	struct kiocb *iocb = dio->iocb;
	bool answered, waits, over;
	ssize_t ret;

	rdmafs_test_point("dio_submitted", dio->inode->i_ino);
	/*
	 * If all parts have ended nobody else has it: what is found here stays true, though pages
	 * come and go.  It waits for the server all the same if there is something to settle.
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
		/* All is done already, so that the caller can be told at once. */
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
static ssize_t rdmafs_dio_submit(struct rdmafs_dio *dio, struct iov_iter *iter, bool nowait)
{
	struct rdmafs_dio_part *part;
	size_t len;
	int err;

	while (iov_iter_count(iter)) {
		part = rdmafs_dio_part_new(dio, iter, &len);
		err = PTR_ERR_OR_ZERO(part);
		if (!err && nowait && iov_iter_count(iter)) {
			/* All of it at once, or not now: who did not wait asks for no rest. */
			rdmafs_dio_part_free(part);
			err = -EAGAIN;
		}
		if (!err)
			err = rdmafs_dio_start_part(dio, part, len, iov_iter_count(iter), nowait);
		if (err) {
			rdmafs_dio_limit(dio, dio->len, err);
			break;
		}
		/* No sense in more behind a part that has failed already. */
		if (READ_ONCE(dio->good) != SIZE_MAX)
			break;
	}
	return rdmafs_dio_end(dio);
}

/**
 * rdmafs_direct_read - read past the page cache
 * @iocb: where
 * @iter: where to
 *
 * Return: bytes, -EIOCBQUEUED, or a negative errno.
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
	/* Kernel memory that can't be kept beyond a killed task. */
	if (!user_backed_iter(iter) && !iov_iter_is_bvec(iter))
		return rdmafs_buffered_read(iocb, iter);
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
	ret = rdmafs_dio_submit(dio, iter, nowait);
	/* An asynchronous one may be completed, and gone. */
	if (sync && ret > 0)
		iocb->ki_pos += ret;
	rdmafs_dio_put(dio);
out:
	netfs_end_io_direct(inode);
	return ret;
}

/**
 * rdmafs_direct_write - write past the page cache
 * @iocb: where
 * @from: what
 *
 * Return: bytes, -EIOCBQUEUED, or a negative errno.
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
	ret = rdmafs_dio_privs(iocb);
	if (ret)
		goto out;
	ret = rdmafs_dio_clear(iocb, iov_iter_count(from), true);
	if (ret)
		goto out;
	size = i_size_read(inode);
	if (iocb->ki_pos > size) {
		/* A page that is read in later goes when the file has grown. */
		if (filemap_range_has_page(inode->i_mapping, size, size))
			ret = nowait ? -EAGAIN : rdmafs_leave_hole_unlocked(inode);
		if (ret < 0)
			goto out;
	}
	ret = -ENOMEM;
	dio = rdmafs_dio_new(iocb, true, false);
	if (!dio)
		goto out;
	/* It counts as a writer: under the lock the size does not become less any more. */
	spin_lock_irq(&RDMAFS_I(inode)->lock);
	if (iocb->ki_pos + iov_iter_count(from) > i_size_read(inode))
		dio->work_needed = true;
	spin_unlock_irq(&RDMAFS_I(inode)->lock);
	ret = rdmafs_dio_submit(dio, from, nowait);
	/* An asynchronous one may be completed, and gone. */
	if (sync && ret > 0)
		iocb->ki_pos += ret;
	rdmafs_dio_put(dio);
out:
	netfs_end_io_direct(inode);
	return ret;
}

/* The server's end of the file becomes ours, and stays so: no mapping stores into it. */
static int rdmafs_append_lock(struct inode *inode)
{
	int err;

	if (down_write_killable(&RDMAFS_I(inode)->stores))
		return -EINTR;
	err = rdmafs_flush(inode);
	if (!err)
		err = rdmafs_zero_tail(inode, i_size_read(inode));
	if (err)
		up_write(&RDMAFS_I(inode)->stores);
	return err;
}

/* Send one part of @iter, and wait. */
static ssize_t rdmafs_append_part(struct rdmafs_dio *dio, struct iov_iter *iter)
{
	struct inode *inode = dio->inode;
	struct rdmafs_dio_part *part;
	bool locked = false;
	ssize_t ret;
	size_t len;
	int err;

	part = rdmafs_dio_part_new(dio, iter, &len);
	err = PTR_ERR_OR_ZERO(part);
	if (!err) {
		err = rdmafs_append_lock(inode);
		locked = !err;
		if (err)
			rdmafs_dio_part_free(part);
		else
			err = rdmafs_dio_start_part(dio, part, len, false, false);
	}
	if (err)
		rdmafs_dio_limit(dio, 0, err);
	/* Its pages are dropped when this returns; if it was killed, others wait (fence.c). */
	ret = rdmafs_dio_end(dio);
	if (locked)
		up_write(&RDMAFS_I(inode)->stores);
	return ret;
}

/**
 * rdmafs_append_write - write at the end, wherever that is by now
 * @iocb: O_APPEND, O_DIRECT or not
 * @from: what
 *
 * Atomic between clients for what one RPC carries.
 *
 * Return: bytes, or a negative errno.
 */
ssize_t rdmafs_append_write(struct kiocb *iocb, struct iov_iter *from)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	struct rdmafs_dio *dio;
	ssize_t ret, total = 0;

	if (iocb->ki_flags & IOCB_NOWAIT)
		return -EAGAIN;
	ret = rdmafs_lock_write(inode);
	if (ret)
		return ret;
	ret = generic_write_checks(iocb, from);
	if (ret <= 0)
		goto out;
	ret = rdmafs_dio_privs(iocb);
	if (ret)
		goto out;
	while (iov_iter_count(from)) {
		ret = -ENOMEM;
		dio = rdmafs_dio_new(iocb, true, true);
		if (!dio)
			break;
		dio->work_needed = true;
		ret = rdmafs_append_part(dio, from);
		if (ret > 0) {
			iocb->ki_pos = dio->pos + ret;
			total += ret;
		}
		/* A short one: what follows would not follow it. */
		if (ret != dio->len)
			ret = ret < 0 ? ret : -EIO;
		rdmafs_dio_put(dio);
		if (ret < 0)
			break;
	}
out:
	rdmafs_unlock_write(inode);
	return total ? total : ret;
}
