/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This header declares direct requests and their parts, for direct.c, which has their life,
 * direct_part.c and append.c.
 */
#ifndef RDMAFS_CLIENT_DIRECT_H
#define RDMAFS_CLIENT_DIRECT_H

#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/workqueue.h>
#include "client.h"

/* How a part keeps its pages, and so what is to be undone when it is freed. */
enum rdmafs_dio_hold {
	RDMAFS_DIO_PINNED,	/* the user's pages, pinned: to be unpinned */
	RDMAFS_DIO_REF,		/* the kernel's pages, or a copy of our own: to be put */
	RDMAFS_DIO_LENT,	/* the kernel's pages, which stay until ki_complete(): nothing */
};

/* Whether a task still waits for a request, struct rdmafs_dio.left (fence.c). */
enum rdmafs_dio_left {
	/*
	 * The task, or the iocb, is still there.  rdmafs_dio_leave() or rdmafs_dio_finish() ends
	 * it.
	 */
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
 * @told:    1: @iocb is completed, by the party that has set this; atomic, as @left
 * @left:    enum rdmafs_dio_left
 * @look:    completes @iocb before the request is over, if the program is; see the head
 * @mm:      the memory of a @cancellable request; it is there until @iocb is completed; set with
 *	     @cancellable, as @mnt
 * @mnt:     the mount, if the request is @cancellable
 * @pos:     where in the file; of an append, set by its part when it ends
 * @len:     bytes submitted; the submitter's
 * @parts:   parts that have not ended, and one for the submitter
 * @ref:     one of the parts, one of the submitter, and one of @look if @cancelled
 * @lock:    guards @good, @error and @unstable while @parts is not 0; irqsave, a leaf
 * @good:    bytes from the beginning that are done; more than @len if no part has failed
 * @error:   why there are not more, 0 at the end of the file
 * @unstable: parts that were written UNSTABLE and wait for the COMMIT
 * @lost:    an append: its answer was lost with the session; set by its part when it ends
 * @nr_parts: parts submitted; the submitter's
 * @result:  what the system call returns; set by rdmafs_dio_finish()
 * @done:    @result is valid
 * @work:    rdmafs_dio_work(), on dio_wq: does what the request waits for, and finishes it
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
	bool lost;
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

struct rdmafs_dio *rdmafs_dio_new(struct kiocb *iocb, bool write, bool append);
void rdmafs_dio_put(struct rdmafs_dio *dio);
void rdmafs_dio_limit(struct rdmafs_dio *dio, size_t end, int error);
int rdmafs_dio_start_part(struct rdmafs_dio *dio, struct rdmafs_dio_part *part, size_t len,
			  bool more, bool nowait);
ssize_t rdmafs_dio_end(struct rdmafs_dio *dio);

struct rdmafs_dio_part *rdmafs_dio_part_new(struct rdmafs_dio *dio, struct iov_iter *iter,
					    size_t *len);
void rdmafs_dio_part_free(struct rdmafs_dio_part *part);
void rdmafs_dio_part_dirty(struct rdmafs_dio_part *part);
bool rdmafs_dio_part_cleaned(struct rdmafs_dio_part *part);

#endif
