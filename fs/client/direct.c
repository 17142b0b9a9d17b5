// SPDX-License-Identifier: GPL-2.0
/*
 * O_DIRECT, and appending writes: from the user's pages to transport.
 *
 * A request is cut into parts of at most one RPC; each part pins its own pages and is one READ
 * or WRITE (io.c).  The last part to end finishes the request: where it ends if that can be
 * done in any context, else in a worker.  The result is the run of bytes from the beginning up
 * to the first part that failed or was short.
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
 * If the submitter's count is the last, nothing is to be settled and libaio can't cancel the
 * request yet, the system call returns the result itself, and the iocb is not completed.
 *
 * The life of a part, struct rdmafs_dio_part: its pages are pinned, referenced or copied
 * (rdmafs_dio_part_new()); its op is sent (rdmafs_io_start()); and rdmafs_dio_io_finish() puts
 * the op and releases the pages, with two exceptions.  A part that was written UNSTABLE goes to
 * @unstable with its op and pages, until rdmafs_dio_commit() has made it stable.  A part that was
 * read into pages which have become clean meanwhile goes to rdmafs_dio_part_work(), on file_wq,
 * which makes them dirty again; the part ends only then.
 *
 * What may come in between:
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
 * O_APPEND: the server picks the offset of each part, so that clients that append to one file
 * do not overwrite each other.  The page cache is flushed before a part is sent and dropped
 * after it, and no mapping can store between the two (rdmafs_inode.stores): such a store would
 * have the last page written back with zeros where the append has put data.  Faults that read
 * go on.  If they were kept out, they would wait for invalidate_lock, deaf to signals, for as
 * long as the server takes.  The data of a part may itself be in a page of the file, and a
 * fault that makes the page fit to be stored into takes rdmafs_inode.stores; so the pages of the
 * data are taken first.  An append is DATA_SYNC: if it were written again, that would be another
 * append.
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
#include "transport/points.h"

/* Pages extracted from an iterator at once. */
#define RDMAFS_DIO_BATCH	16

/* How often @look asks whether the program whose request was cancelled is over. */
#define RDMAFS_DIO_LOOK		(HZ / 2)

/* How a part keeps its pages, and so what is to be undone when it is freed. */
enum rdmafs_dio_hold {
	RDMAFS_DIO_PINNED,	/* the user's pages, pinned: to be unpinned */
	RDMAFS_DIO_REF,		/* the kernel's pages, or a copy of our own: to be put */
	RDMAFS_DIO_LENT,	/* the kernel's pages, which stay until ki_complete(): nothing */
};

/* Whether a task still waits for a request, struct rdmafs_dio.left (fence.c). */
enum rdmafs_dio_left {
	/* The task, or the iocb, is still there.  rdmafs_dio_leave() or _finish() ends it. */
	RDMAFS_DIO_WAITED,
	/* A write whose task has left it: it counts in the fence.  rdmafs_dio_finish() ends it. */
	RDMAFS_DIO_LEFT,
	/* rdmafs_dio_finish() has run: a task that leaves now adds nothing to the fence. */
	RDMAFS_DIO_OVER,
};

/**
 * struct rdmafs_dio - a direct request
 * @inode:   the file, kept by @open; constant
 * @open:    the open whose stateid is used; referenced until rdmafs_dio_finish()
 * @iocb:    of an asynchronous request, else NULL; an append is always synchronous; constant
 * @write:   the request is a write; constant
 * @append:  the server picks the offset; constant
 * @sync:    a write that makes all metadata stable, too; constant
 * @work_needed: the request can't be finished in any context, nor by a task that may be
 *	     killed; set by the submitter, or by a part under @lock
 * @cancellable: libaio may cancel the request, once all of it has been submitted; set by the
 *	     submitter while it has its count of @parts
 * @cancelled: libaio has cancelled it, and @look has a reference, one to @mm, and the mount's
 *	     nr_opens; set under libaio's lock
 * @told:    1: @iocb is completed, by the party that has set this
 * @left:    enum rdmafs_dio_left
 * @look:    completes @iocb before the request is over, if the program is; see the head
 * @mm:      the memory of a @cancellable request; it is there until @iocb is completed
 * @mnt:     the mount, if the request is @cancellable
 * @pos:     where in the file; of an append, set by its part when it ends
 * @len:     bytes submitted; the submitter's
 * @parts:   parts that have not ended, and one for the submitter
 * @ref:     one of the parts, one of the submitter, and one of @look if @cancelled
 * @lock:    guards @good, @error and @unstable while @parts is not 0; irqsave, a leaf
 * @good:    bytes from the beginning that are done; more than @len if no part has failed
 * @error:   why there are not more, 0 at the end of the file
 * @unstable: parts that were written UNSTABLE and wait for the COMMIT
 * @nr_parts: parts submitted; the submitter's
 * @result:  what the system call returns; set by rdmafs_dio_finish()
 * @done:    @result is valid
 * @work:    settles and finishes the request, on dio_wq
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
 * struct rdmafs_dio_part - one RPC of a direct request
 * @dio:  the request
 * @op:	  the READ or WRITE
 * @link: in rdmafs_dio.unstable
 * @off:  bytes of the request before this part
 * @hold: how the pages are kept
 * @work: makes pages dirty before they are released, on file_wq
 * @nr:	  number of elements of @bv
 * @bv:	  the pages; the part's from rdmafs_dio_part_new() to rdmafs_dio_part_free()
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

/* Only the first @end bytes of the request are good, if it is not fewer already. */
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
	rdmafs_opens_dec(mnt);
}

/*
 * libaio calls this at most once for an iocb: because the program ends, or has called
 * io_destroy(2) or io_cancel(2).  After these calls a program that lives may do with its memory
 * as it likes, so its iocb is not completed before the request is over.  But the program may
 * end later; so @look goes on asking.  -EINVAL: the request is not cancelled by this.
 *
 * libaio's lock is held, interrupts are off, and @iocb is on libaio's list.  Only ki_complete()
 * takes it off, and needs that lock to do so: the request, the memory and the file are there.
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
	if (rdmafs_test_fail("dio_longer", inode->i_ino) ||
	    rdmafs_drop_range(inode, from, end - 1)) {
		/* The page is dirty again: the server is asked for the size when it is clean. */
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

/* Do all that a write waits for before it is over.  Process context, a worker of dio_wq. */
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
 * Is there something to settle, which may wait for the server, for pages, or for stores into
 * them?  There is not if nothing was written: a caller that may not wait gets its -EAGAIN at
 * once, and asks again where it may.  There is not if the file has no cached pages, either: a
 * page that is read in from now on is asked for after the data was written.
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

/* Pages of a read are made dirty again, which takes their locks. */
static void rdmafs_dio_part_work(struct work_struct *work)
{
	struct rdmafs_dio_part *part = container_of(work, struct rdmafs_dio_part, work);
	struct rdmafs_dio *dio = part->dio;

	rdmafs_dio_part_dirty(part);
	rdmafs_dio_part_free(part);
	rdmafs_dio_part_end(dio);
}

/* Was a page of the user's written back while the device put data into it? */
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

/*
 * May a segment that begins at @off in its page follow the @have bytes of @part?  One
 * translation covers pages without gaps: only the first may begin, and only the last may end,
 * inside of a page.  Data that travels inline needs no translation.
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

/* Make a part of up to @max bytes of @iter, copied to pages of our own; @len gets how many. */
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

/*
 * Make a part of the pages of up to @max bytes of @iter; @len gets how many.  The pages of a read
 * must fit one translation.
 */
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
	/* As many pages as the device translates at once, wherever in the first the data begins. */
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
		/* Only a write: rdmafs_direct_read() leaves other kinds to the page cache. */
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

/* Send @part, of @len bytes; @more follows.  The part is its op's, or freed if there is none. */
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

/*
 * All parts have been submitted: give up the submitter's count of @parts, and wait for the end
 * unless the request is asynchronous.  Process context; the caller keeps its reference.
 */
static ssize_t rdmafs_dio_end(struct rdmafs_dio *dio)
{
	struct kiocb *iocb = dio->iocb;
	bool answered, waits, over;
	ssize_t ret;

	rdmafs_test_point("dio_submitted", dio->inode->i_ino);
	/*
	 * If all parts have ended, the submitter is the only owner.  Whether there is something to
	 * settle is asked once, before the count is dropped: cached pages come and go, and the
	 * answer must be the same below.  A request that has to be settled waits for the server
	 * yet, so that it can be cancelled like one that is in flight.
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
static ssize_t rdmafs_dio_submit(struct rdmafs_dio *dio, struct iov_iter *iter, bool nowait)
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
 * What has been written is stable.
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
	ret = rdmafs_dio_submit(dio, from, nowait);
	/* An asynchronous @iocb may be completed, and gone. */
	if (sync && ret > 0)
		iocb->ki_pos += ret;
	rdmafs_dio_put(dio);
out:
	netfs_end_io_direct(inode);
	return ret;
}

/*
 * Keep mappings from storing into the file, and have at the server what is cached here, so that
 * the page of the end is clean and has zeros behind it.  The caller holds i_rwsem exclusively;
 * if 0 is returned, rdmafs_inode.stores is held for writing.  Else -EINTR.
 */
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

/* Send one part of @iter, and wait.  The caller holds i_rwsem exclusively. */
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
	/*
	 * When this returns the request is over and its pages are dropped; only then stores may go
	 * on.  If the task was killed, the request is not over: others wait for the fence.
	 */
	ret = rdmafs_dio_end(dio);
	if (locked)
		up_write(&RDMAFS_I(inode)->stores);
	return ret;
}

/**
 * rdmafs_append_write - write at the end of the file, which the server knows
 * @iocb: the file, with O_APPEND; O_DIRECT or not; its offset becomes the new end
 * @from: the data; not empty
 *
 * Goes past the page cache in either case.  What one RPC carries is atomic between clients.
 *
 * Context: process, may sleep.  No folio lock is held; takes i_rwsem and rdmafs_inode.stores.
 * Return: bytes; -EAGAIN with IOCB_NOWAIT; -EINTR if killed, the part that was sent goes on
 * alone; -ENOMEM; or a negative errno of the server or transport.
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
		/* A part was short: the next append might not land right behind it. */
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
