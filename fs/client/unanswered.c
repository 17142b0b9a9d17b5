// SPDX-License-Identifier: GPL-2.0
/*
 * Calls whose answer was lost with the session: were they executed?
 *
 * Transport sends calls again in a new session if they may be executed twice, and ends the others
 * (op_make.c).  Their maker asks here, with no op of its own, what the server shows now, and is
 * told by the rules of outcome.c that the call was executed, that it is to be made once more, or
 * that this can't be known: the program gets EIO.  Each of the three is counted (/proc, "lost_").
 *
 * What is compared is what was known before the call was first sent: rdmafs_resolve_begin() takes
 * the change cookies of its objects.  They are of answers that had come by then, so each change
 * that the call makes is a later one.
 *
 * When a call is made once more, the cookies that have just been shown are what is known; and it is
 * known of the call that it has changed nothing so far.  So a session may be lost any number of
 * times; only to end for certain it is no more than RDMAFS_OP_TRIES.
 *
 * Locks: the caller holds what it has held for the call: the lock of the directory, or of the file.
 * That keeps changes of this mount away, but no others: who asks for two names asks one after the
 * other, and the rules are right for what may happen in between.
 */
#include "client.h"
#include "dir.h"
#include "op.h"
#include "open.h"
#include "transport/points.h"
#include "trace.h"
#include "unanswered.h"

static u64 rdmafs_known_change(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	unsigned long irq;
	u64 change;

	spin_lock_irqsave(&ri->lock, irq);
	change = ri->coh.change;
	spin_unlock_irqrestore(&ri->lock, irq);
	return change;
}

/**
 * rdmafs_resolve_begin - note what is known before a call is sent
 * @r:	  to be used until the call is over
 * @dir:  the directory that it changes, or NULL
 * @dir2: another one that it changes, or NULL, or @dir once more
 * @obj:  the object that it changes, or whose name it changes, or NULL
 *
 * The caller has references to all of them until the call is over.
 *
 * Context: any; takes rdmafs_inode.lock.
 */
void rdmafs_resolve_begin(struct rdmafs_resolve *r, struct inode *dir, struct inode *dir2,
			  struct inode *obj)
{
	*r = (struct rdmafs_resolve){ .dir = { dir, dir2 == dir ? NULL : dir2 }, .obj = obj };
	if (r->dir[0])
		r->dir_change[0] = rdmafs_known_change(r->dir[0]);
	if (r->dir[1])
		r->dir_change[1] = rdmafs_known_change(r->dir[1]);
	if (obj)
		r->obj_change = rdmafs_known_change(obj);
}

/**
 * rdmafs_op_unanswered - tell whether the answer to an op was lost with its session
 * @op: an op that rdmafs_op_run() has returned an error from
 *
 * Context: any.
 * Return: true if so: the server has executed it, or never will.
 */
bool rdmafs_op_unanswered(struct rdmafs_op *op)
{
	/* Of an op that was left in flight nothing is this task's. */
	return op->sent && !rdmafs_op_left(op) && op->call.status == -EREMOTEIO;
}

/* The cookie of an object is shown: is it the one that is known?  It is, from now on. */
static bool rdmafs_resolve_same(u64 *known, __le64 shown)
{
	u64 change = le64_to_cpu(shown);
	bool same = *known == change;

	*known = change;
	return same;
}

/* Note the cookie of a directory, of which two answers may show two. */
static void rdmafs_resolve_dir(struct rdmafs_resolve *r, struct inode *dir,
			       const struct rfp_attr *attr)
{
	unsigned int i = dir != r->dir[0];
	bool same = rdmafs_resolve_same(&r->dir_change[i], attr->change);

	r->dir_same[i] = same && (r->dir_same[i] || !r->dir_asked[i]);
	r->dir_asked[i] = true;
	r->shown.same_dir = r->dir_same[0] || r->dir_same[1];
}

/*
 * Ask what a name in a directory stands for; @target is what the other name of an exchange stood
 * for, else NULL.  0 or a negative errno.
 */
static int rdmafs_resolve_name(struct rdmafs_resolve *r, struct inode *dir,
			       const struct qstr *name, struct inode *target,
			       enum rdmafs_stands *stands)
{
	struct rdmafs_found found = {};
	struct rdmafs_op *op;
	int err;

	err = rdmafs_lookup_send(dir, name, &found, &op);
	if (err == -ENOENT && found.dir) {
		*stands = RDMAFS_STANDS_NONE;
		err = 0;
	} else if (!err && r->obj && rdmafs_same_fh(r->obj, &found.fh)) {
		*stands = RDMAFS_STANDS_MEANT;
		r->shown.same_obj = rdmafs_resolve_same(&r->obj_change, found.attr->change);
	} else if (!err) {
		*stands = RDMAFS_STANDS_OTHER;
		r->shown.swapped = target && rdmafs_same_fh(target, &found.fh);
	}
	if (!err)
		rdmafs_resolve_dir(r, dir, found.dir);
	if (op)
		rdmafs_op_put(op);
	return err;
}

/* Ask for the object's attributes, and whether its cookie is the known one. */
static int rdmafs_resolve_obj(struct rdmafs_resolve *r, struct rfp_attr *attr)
{
	int err = rdmafs_attr_told(r->obj, attr);

	if (!err)
		r->shown.same_obj = rdmafs_resolve_same(&r->obj_change, attr->change);
	return err;
}

/* Begin to ask about a call, of which nothing is shown yet. */
static void rdmafs_resolve_start(struct rdmafs_resolve *r, enum rfp_op nr)
{
	memset(&r->shown, 0, sizeof(r->shown));
	memset(r->dir_asked, 0, sizeof(r->dir_asked));
	memset(r->dir_same, 0, sizeof(r->dir_same));
	r->nr = nr;
	rdmafs_test_point("unanswered", nr);
}

/*
 * Count what has become of a call, and turn it into what the caller is told: true: it is to be made
 * once more.  @asked is 0, or why the server could not be asked.
 */
static bool rdmafs_resolve_end(struct rdmafs_resolve *r, int asked, enum rdmafs_outcome outcome,
			       int *err)
{
	struct inode *inode = r->dir[0] ?: r->obj;
	struct rdmafs_xprt *xprt = RDMAFS_M(inode->i_sb)->xprt;

	if (asked || (outcome == RDMAFS_OUTCOME_AGAIN && ++r->tries >= RDMAFS_OP_TRIES))
		outcome = RDMAFS_OUTCOME_UNKNOWN;
	trace_rdmafs_unanswered(inode, r->nr, outcome, &r->shown);
	switch (outcome) {
	case RDMAFS_OUTCOME_DONE:
		rdmafs_xprt_count_lost(xprt, RDMAFS_XPRT_LOST_DONE);
		*err = 0;
		return false;
	case RDMAFS_OUTCOME_AGAIN:
		rdmafs_xprt_count_lost(xprt, RDMAFS_XPRT_LOST_AGAIN);
		return true;
	case RDMAFS_OUTCOME_UNKNOWN:
		break;
	}
	rdmafs_xprt_count_lost(xprt, RDMAFS_XPRT_LOST_UNKNOWN);
	*err = asked == -EINTR ? -EINTR : -EIO;
	return false;
}

/**
 * rdmafs_resolve_remove - find out what has become of an unanswered UNLINK or RMDIR
 * @r:	  begun with the directory and the object
 * @nr:	  which of the two
 * @name: the name that was to be removed
 * @err:  out: 0: it is removed; -EIO: that is not known; -EINTR: nor is it, the task was killed
 *
 * Context: process, may sleep; the wait is killable.  The task has no op, and holds the directory's
 * lock.
 * Return: true if the call has changed nothing, and is to be made once more.
 */
bool rdmafs_resolve_remove(struct rdmafs_resolve *r, enum rfp_op nr, const struct qstr *name,
			   int *err)
{
	int asked;

	rdmafs_resolve_start(r, nr);
	asked = rdmafs_resolve_name(r, r->dir[0], name, NULL, &r->shown.name);
	return rdmafs_resolve_end(r, asked, rdmafs_outcome_remove(&r->shown), err);
}

/**
 * rdmafs_resolve_link - find out what has become of an unanswered LINK
 * @r:	  begun with the directory and the object
 * @name: the new name
 * @err:  out: as for rdmafs_resolve_remove()
 *
 * Context: as rdmafs_resolve_remove().
 * Return: likewise.
 */
bool rdmafs_resolve_link(struct rdmafs_resolve *r, const struct qstr *name, int *err)
{
	struct rfp_attr attr;
	int asked;

	rdmafs_resolve_start(r, RFP_LINK);
	asked = rdmafs_resolve_name(r, r->dir[0], name, NULL, &r->shown.name);
	if (!asked && !r->shown.same_dir && r->shown.name != RDMAFS_STANDS_MEANT)
		asked = rdmafs_resolve_obj(r, &attr);
	return rdmafs_resolve_end(r, asked, rdmafs_outcome_link(&r->shown), err);
}

/**
 * rdmafs_resolve_rename - find out what has become of an unanswered RENAME
 * @r:	    begun with both directories and what the old name stood for
 * @old:    the old name, in the first directory
 * @ndir:   the directory of the new name
 * @new:    the new name
 * @target: with RENAME_EXCHANGE what the new name stood for, else NULL
 * @err:    out: as for rdmafs_resolve_remove()
 *
 * Context: as rdmafs_resolve_remove(); the locks of both directories are held.
 * Return: likewise.
 */
bool rdmafs_resolve_rename(struct rdmafs_resolve *r, const struct qstr *old, struct inode *ndir,
			   const struct qstr *new, struct inode *target, int *err)
{
	int asked;

	rdmafs_resolve_start(r, RFP_RENAME);
	asked = rdmafs_resolve_name(r, ndir, new, NULL, &r->shown.name);
	if (!asked)
		asked = rdmafs_resolve_name(r, r->dir[0], old, target, &r->shown.old);
	return rdmafs_resolve_end(r, asked, rdmafs_outcome_rename(&r->shown, target), err);
}

/**
 * rdmafs_resolve_look - ask for the name of an unanswered call that makes an object
 * @r:	  begun with the directory; @shown of it is out
 * @nr:	  the call
 * @name: the name of the new object
 *
 * To be followed by rdmafs_resolve_made().
 *
 * Context: as rdmafs_resolve_remove().
 * Return: 0 or a negative errno.
 */
int rdmafs_resolve_look(struct rdmafs_resolve *r, enum rfp_op nr, const struct qstr *name)
{
	rdmafs_resolve_start(r, nr);
	return rdmafs_resolve_name(r, r->dir[0], name, NULL, &r->shown.name);
}

/**
 * rdmafs_resolve_made - find out what has become of an unanswered call that makes an object
 * @r:	    as for rdmafs_resolve_look()
 * @asked:  0, or why nothing is known
 * @proved: the server has recognised the object as that which the call has made
 * @err:    out: 0: it is made; -EIO: that is not known; -EINTR: nor is it, the task was killed
 *
 * Context: process.
 * Return: true if the call has changed nothing, and is to be made once more.
 */
bool rdmafs_resolve_made(struct rdmafs_resolve *r, int asked, bool proved, int *err)
{
	return rdmafs_resolve_end(r, asked, rdmafs_outcome_make(&r->shown, proved), err);
}

/**
 * rdmafs_resolve_make - find out what has become of an unanswered MKDIR, MKNOD or SYMLINK
 * @r:	  begun with the directory
 * @nr:	  which of them
 * @name: the name of the new object
 * @err:  out: -EIO: it is not known; -EINTR: nor is it, the task was killed
 *
 * Context: as rdmafs_resolve_remove().
 * Return: likewise.
 */
bool rdmafs_resolve_make(struct rdmafs_resolve *r, enum rfp_op nr, const struct qstr *name,
			 int *err)
{
	return rdmafs_resolve_made(r, rdmafs_resolve_look(r, nr, name), false, err);
}

/**
 * rdmafs_resolve_told - ask for the object of an unanswered change
 * @r:	  begun with the object; @shown of it is out: whether its cookie is the known one
 * @nr:	  the operation
 * @attr: gets the object's attributes
 *
 * To be followed by rdmafs_resolve_changed().
 *
 * Context: process, may sleep; the wait is killable.  The task has no op, and keeps other changes
 * of this mount away.
 * Return: 0 or a negative errno.
 */
int rdmafs_resolve_told(struct rdmafs_resolve *r, enum rfp_op nr, struct rfp_attr *attr)
{
	rdmafs_resolve_start(r, nr);
	return rdmafs_resolve_obj(r, attr);
}

/**
 * rdmafs_resolve_changed - find out what has become of an unanswered change of an object
 * @r:	   as for rdmafs_resolve_told()
 * @asked: what that has returned
 * @there: the object is as the change was to leave it
 * @err:   out: as for rdmafs_resolve_remove()
 *
 * Context: process.
 * Return: true if the call has changed nothing, and is to be made once more.
 */
bool rdmafs_resolve_changed(struct rdmafs_resolve *r, int asked, bool there, int *err)
{
	return rdmafs_resolve_end(r, asked, rdmafs_outcome_change(r->shown.same_obj, there), err);
}

/**
 * rdmafs_resolve_change - likewise, if nothing can show that the change was made
 * @r:	 begun with the object
 * @nr:	 the operation
 * @err: out: as for rdmafs_resolve_remove()
 *
 * Context: as rdmafs_resolve_told().
 * Return: as rdmafs_resolve_changed().
 */
bool rdmafs_resolve_change(struct rdmafs_resolve *r, enum rfp_op nr, int *err)
{
	struct rfp_attr attr;

	return rdmafs_resolve_changed(r, rdmafs_resolve_told(r, nr, &attr), false, err);
}

/* Compare what the server compares at once: bytes that are equal, or a negative errno. */
static s64 rdmafs_equal_ask(struct rdmafs_open *to, loff_t at, struct rdmafs_open *from, loff_t pos,
			    u64 count)
{
	u32 flags = RFP_CLONE_COMPARE | (from ? 0 : RFP_CLONE_ZEROS);
	const struct rfp_clone_rep *rep;
	const struct rfp_attr *attr;
	struct rfp_copy_req *req;
	struct rdmafs_op *op;
	struct rfp_dec dec;
	s64 done;

	op = rdmafs_op_new_open(to, RFP_CLONE, sizeof(*req), offsetof(struct rfp_copy_req, stateid),
				RDMAFS_POOL_COMMON);
	req = (struct rfp_copy_req *)op->req;
	rdmafs_op_use_source(op, from ?: to, &req->source);
	req->source_offset = cpu_to_le64(pos);
	req->offset = cpu_to_le64(at);
	req->count = cpu_to_le64(count);
	req->flags = cpu_to_le32(flags);
	done = rdmafs_op_run(op);
	if (!done) {
		rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
		attr = rfp_dec_fixed(&dec, sizeof(*attr));
		if (rfp_dec_end(&dec) || rdmafs_attr_check(to->inode->i_sb, attr))
			done = -EIO;
		else
			done = le64_to_cpu(rep->done);
		if (done <= 0 || done > count)
			done = -EIO;
	}
	rdmafs_op_put(op);
	return done;
}

/**
 * rdmafs_equal - tell whether a range of a file is as a change was to leave it, and stable
 * @to:    an open of the file for writing
 * @at:    offset in it
 * @from:  an open of the source for reading; NULL: the range is to be zeros
 * @pos:   offset in the source
 * @count: bytes
 *
 * COMMIT comes first.  If the server is started anew before it has compared, what it has then comes
 * from its disk.
 *
 * Context: process, may sleep; the wait is killable.  The task has no op.
 * Return: true if so; false: not, or it can't be found out.
 */
bool rdmafs_equal(struct rdmafs_open *to, loff_t at, struct rdmafs_open *from, loff_t pos,
		  u64 count)
{
	s64 done;

	if (rdmafs_commit_send(to, true, NULL))
		return false;
	while (count) {
		done = rdmafs_equal_ask(to, at, from, pos, count);
		if (done < 0)
			return false;
		at += done;
		pos += done;
		count -= done;
	}
	return true;
}

/**
 * rdmafs_resolve_size - find out what has become of an unanswered SETATTR with a size
 * @r:	  begun with the file
 * @size: the new size, in bytes
 * @err:  out: as for rdmafs_resolve_remove()
 *
 * Context: as rdmafs_resolve_change().
 * Return: likewise.
 */
bool rdmafs_resolve_size(struct rdmafs_resolve *r, u64 size, int *err)
{
	struct rfp_attr attr;
	bool there = false;
	int asked;

	rdmafs_resolve_start(r, RFP_SETATTR);
	asked = rdmafs_resolve_obj(r, &attr);
	if (!asked)
		there = le64_to_cpu(attr.size) == size;
	return rdmafs_resolve_end(r, asked, rdmafs_outcome_change(r->shown.same_obj, there), err);
}

/**
 * rdmafs_resolve_longer - find out what has become of an unanswered FALLOCATE
 * @r:	    begun with the file
 * @end:    the file ends there, or behind it, if the request was executed
 * @longer: out: the file does, so that what is left of the request changes neither size nor data
 * @err:    out: as for rdmafs_resolve_remove()
 *
 * Context: as rdmafs_resolve_change().
 * Return: true if the request is to be sent once more; if @longer, such that it keeps the size.
 */
bool rdmafs_resolve_longer(struct rdmafs_resolve *r, u64 end, bool *longer, int *err)
{
	struct rfp_attr attr;
	bool same;
	int asked;

	rdmafs_resolve_start(r, RFP_FALLOCATE);
	asked = rdmafs_resolve_obj(r, &attr);
	same = !asked && r->shown.same_obj;
	*longer = !asked && !same && le64_to_cpu(attr.size) >= end;
	return rdmafs_resolve_end(r, asked, rdmafs_outcome_change(same || *longer, false), err);
}
