// SPDX-License-Identifier: GPL-2.0
/*
 * With O_APPEND, write behind the end of the file, wherever that is at the server.
 *
 * The server picks the offset of each part, so that clients that append to one file
 * do not overwrite each other.  The page cache is flushed before a part is sent and dropped
 * after it, and no mapping can store between the two (rdmafs_inode.stores): such a store would
 * have the last page written back with zeros where the append has put data.  Faults that read
 * go on.  If they were kept out, they would wait for invalidate_lock, deaf to signals, for as
 * long as the server takes.  The data of a part may itself be in a page of the file, and a
 * fault that makes the page fit to be stored into takes rdmafs_inode.stores; so the pages of the
 * data are taken first.  An append is DATA_SYNC: if it were written again, that would be another
 * append.
 *
 * If its answer is lost with the session it is sent again only if the file was not changed since
 * (unanswered.c).  That the file ends with the same bytes now is no proof: two clients may append
 * the same, and each has to be there.
 */
#include "client.h"
#include "direct.h"
#include "trace.h"
#include "unanswered.h"

/*
 * Keep mappings from storing into the file, and have at the server what is cached here, so that
 * the page of the end is clean and has zeros behind it.  The caller holds i_rwsem exclusively;
 * if 0 is returned, rdmafs_inode.stores is held for writing.  Else -EINTR.
 */
static int rdmafs_append_lock(struct inode *inode)
{
	int err;

	lockdep_assert_held_write(&inode->i_rwsem);
	if (down_write_killable(&RDMAFS_I(inode)->stores))
		return -EINTR;
	err = rdmafs_flush(inode);
	if (!err)
		err = rdmafs_zero_tail(inode, i_size_read(inode));
	if (err)
		up_write(&RDMAFS_I(inode)->stores);
	return err;
}

/*
 * Send one part of @iter, and wait.  @r: to be begun with what is known before, unless it is NULL.
 * The caller holds i_rwsem exclusively.
 */
static ssize_t rdmafs_append_part(struct rdmafs_dio *dio, struct iov_iter *iter,
				  struct rdmafs_resolve *r)
{
	struct inode *inode = dio->inode;
	struct rdmafs_dio_part *part;
	bool locked = false;
	ssize_t ret;
	size_t len;
	int err;

	lockdep_assert_held_write(&inode->i_rwsem);
	part = rdmafs_dio_part_new(dio, iter, &len);
	err = PTR_ERR_OR_ZERO(part);
	if (!err) {
		err = rdmafs_append_lock(inode);
		locked = !err;
		if (locked && r)
			rdmafs_resolve_begin(r, NULL, NULL, inode);
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

/*
 * Append one part of @from, whose bytes are added to @total.  @lost: its answer was lost with the
 * session.  0 or a negative errno.
 */
static int rdmafs_append_once(struct kiocb *iocb, struct iov_iter *from,
			      struct rdmafs_resolve *r, ssize_t *total, bool *lost)
{
	struct rdmafs_dio *dio = rdmafs_dio_new(iocb, true, true);
	ssize_t ret;

	*lost = false;
	if (!dio)
		return -ENOMEM;
	dio->work_needed = true;
	ret = rdmafs_append_part(dio, from, r);
	if (ret > 0) {
		trace_rdmafs_cache(dio->inode, RDMAFS_CACHE_APPENDED, dio->pos, ret);
		iocb->ki_pos = dio->pos + ret;
		*total += ret;
	}
	/* Of a request that a killed task has left nothing is its own. */
	if (ret < 0 && ret != -EINTR && dio->lost) {
		*lost = true;
		iov_iter_revert(from, dio->len);
	}
	/* A part was short: the next append might not land right behind it. */
	if (ret != dio->len)
		ret = ret < 0 ? ret : -EIO;
	rdmafs_dio_put(dio);
	return ret < 0 ? ret : 0;
}

/* Likewise, and once more if the answer was lost, and nothing was changed. */
static int rdmafs_append_next(struct kiocb *iocb, struct iov_iter *from, ssize_t *total)
{
	struct rdmafs_resolve r, *begin = &r;
	bool lost;
	int err;

	do {
		err = rdmafs_append_once(iocb, from, begin, total, &lost);
		/* What is known then is what the answers about the first try have shown. */
		begin = NULL;
	} while (lost && rdmafs_resolve_change(&r, RFP_WRITE, &err));
	return err;
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
	ssize_t ret, total = 0;

	if (iocb->ki_flags & IOCB_NOWAIT)
		return -EAGAIN;
	ret = rdmafs_lock_write(inode);
	if (ret)
		return ret;
	ret = generic_write_checks(iocb, from);
	if (ret <= 0)
		goto out;
	trace_rdmafs_cache(inode, RDMAFS_CACHE_APPEND, iocb->ki_pos, iov_iter_count(from));
	ret = rdmafs_dio_privs(iocb);
	if (ret)
		goto out;
	while (iov_iter_count(from)) {
		ret = rdmafs_append_next(iocb, from, &total);
		if (ret < 0)
			break;
	}
out:
	rdmafs_unlock_write(inode);
	return total ? total : ret;
}
