// SPDX-License-Identifier: GPL-2.0
/*
 * From a request to its reply.
 *
 * Each operation declares what its requests are made of and what it needs (struct rdmafsd_op).
 * That is decoded and looked up here before the operation is called.  What an operation does later,
 * or in another order (its export, its open, its credentials), it does not declare.
 *
 * A request takes, in this order: the in-flight count of its export (with the first handle or
 * stateid), the opens or the objects that it names, the caller's credentials, and the locks and
 * references that its operation takes and gives back itself.  struct rdmafsd_rq holds all but
 * the last.  They are given back here before the reply goes out: the objects while the
 * credentials are still on, then the credentials, the opens and the in-flight count.  After
 * rdmafs_xprt_req_reply() the request belongs to transport again.
 *
 * Transport's reply cache keeps the replies to operations that change something, so these must
 * not exceed RDMAFS_XPRT_CACHE_MAX bytes; the longest are those of CREATE and RENAME.  The reply
 * to COMMIT is kept, too: COMMIT reports a writeback error only once.
 */
#include <linux/build_bug.h>
#include <linux/dcache.h>
#include <linux/slab.h>
#include <linux/unaligned.h>
#include "request.h"
#include "opened.h"
#include "transport/points.h"

static_assert(sizeof(struct rfp_open_rep) + 2 * sizeof(struct rfp_attr) +
	      2 * sizeof(__le16) + RFP_FH_MAX <= RDMAFS_XPRT_CACHE_MAX);
static_assert(sizeof(struct rfp_rep) + 3 * sizeof(struct rfp_attr) <= RDMAFS_XPRT_CACHE_MAX);
static_assert(sizeof(struct rfp_write_rep) + sizeof(struct rfp_attr) <= RDMAFS_XPRT_CACHE_MAX);
static_assert(sizeof(struct rfp_copy_rep) + sizeof(struct rfp_attr) <= RDMAFS_XPRT_CACHE_MAX);

/*
 * The operations by number.  What each needs before it is called, and with which credentials, it
 * declares itself, beside its functions.
 */
static const struct rdmafsd_op * const rdmafsd_ops[RFP_NR_OPS] = {
	[RFP_ATTACH]	= &rdmafsd_attach_op,
	[RFP_SETCRED]	= &rdmafsd_setcred_op,
	[RFP_LOOKUP]	= &rdmafsd_lookup_op,
	[RFP_GETATTR]	= &rdmafsd_getattr_op,
	[RFP_SETATTR]	= &rdmafsd_setattr_op,
	[RFP_OPEN]	= &rdmafsd_open_op,
	[RFP_CREATE]	= &rdmafsd_create_op,
	[RFP_CLOSE]	= &rdmafsd_close_op,
	[RFP_READ]	= &rdmafsd_read_op,
	[RFP_WRITE]	= &rdmafsd_write_op,
	[RFP_COMMIT]	= &rdmafsd_commit_op,
	[RFP_MKDIR]	= &rdmafsd_mkdir_op,
	[RFP_MKNOD]	= &rdmafsd_mknod_op,
	[RFP_SYMLINK]	= &rdmafsd_symlink_op,
	[RFP_LINK]	= &rdmafsd_link_op,
	[RFP_UNLINK]	= &rdmafsd_unlink_op,
	[RFP_RMDIR]	= &rdmafsd_rmdir_op,
	[RFP_RENAME]	= &rdmafsd_rename_op,
	[RFP_READLINK]	= &rdmafsd_readlink_op,
	[RFP_READDIR]	= &rdmafsd_readdir_op,
	[RFP_STATFS]	= &rdmafsd_statfs_op,
	[RFP_GETXATTR]	= &rdmafsd_getxattr_op,
	[RFP_SETXATTR]	= &rdmafsd_setxattr_op,
	[RFP_LISTXATTR] = &rdmafsd_listxattr_op,
	[RFP_REMOVEXATTR] = &rdmafsd_removexattr_op,
	[RFP_FALLOCATE] = &rdmafsd_fallocate_op,
	[RFP_SEEK]	= &rdmafsd_seek_op,
	[RFP_TMPFILE]	= &rdmafsd_tmpfile_op,
	[RFP_COPY]	= &rdmafsd_copy_op,
	[RFP_CLONE]	= &rdmafsd_clone_op,
	[RFP_GETFLAGS]	= &rdmafsd_getflags_op,
	[RFP_SETFLAGS]	= &rdmafsd_setflags_op,
	[RFP_LOCK]	= &rdmafsd_lock_op,
	[RFP_UNLOCK]	= &rdmafsd_unlock_op,
	[RFP_LOCKCANCEL] = &rdmafsd_lockcancel_op,
	[RFP_TESTLOCK]	= &rdmafsd_testlock_op,
	[RFP_EVENTS]	= &rdmafsd_events_op,
	[RFP_RECLAIM_DONE] = &rdmafsd_reclaim_done_op,
	[RFP_CROSS]	= &rdmafsd_cross_op,
};

/**
 * rdmafsd_op_of - find the operation of a request
 * @head: the request, from the wire
 *
 * Context: any.
 * Return: the operation, or NULL if none has the request's number.
 */
const struct rdmafsd_op *rdmafsd_op_of(const struct rfp_req *head)
{
	u16 nr = le16_to_cpu(head->op);

	return nr < RFP_NR_OPS ? rdmafsd_ops[nr] : NULL;
}

/*
 * Take a request's body apart: the fixed part to @rq->args, the names to @rq->name, the handles to
 * @fh.  A name of the server's own is told only if all of the body is sound.
 */
static int rdmafsd_decode(struct rdmafsd_rq *rq, const struct rdmafsd_op *op, struct rfp_fh *fh)
{
	struct rfp_str *name = rq->name;
	bool reserved = false;
	struct rfp_dec dec;
	size_t i;

	rfp_dec_init(&dec, rq->req->body, rq->req->body_len);
	rq->args = rfp_dec_zero_at(&dec, op->fixed, op->pad, op->pad_len);
	for (i = 0; i < ARRAY_SIZE(op->parts) && op->parts[i]; i++) {
		switch (op->parts[i]) {
		case RDMAFSD_PART_FH:
		case RDMAFSD_PART_DIR:
			rfp_dec_fh(&dec, fh++);
			break;
		case RDMAFSD_PART_NAME:
		case RDMAFSD_PART_NAME_UP:
			rfp_dec_name(&dec, name, op->parts[i] == RDMAFSD_PART_NAME_UP);
			reserved |= rdmafsd_name_reserved(name++);
			break;
		case RDMAFSD_PART_NAME_ANY:
			rfp_dec_name(&dec, name++, false);
			break;
		case RDMAFSD_PART_XATTR:
			rfp_dec_str(&dec, name++, RFP_XATTR_NAME_MAX);
			break;
		case RDMAFSD_PART_EXPORT:
			rfp_dec_str(&dec, name++, RFP_EXPORT_NAME_MAX);
			break;
		case RDMAFSD_PART_LABEL:
			if (rq->labels)
				rfp_dec_label(&dec, &rq->label);
			break;
		}
	}
	if (rfp_dec_end(&dec))
		return RFP_BADPROTO;
	return reserved ? -EACCES : 0;
}

/* Find the open of the stateid, enter its export, and find the open to copy from. */
static int rdmafsd_find_open(struct rdmafsd_rq *rq, const struct rdmafsd_op *op, u64 id)
{
	int err = rdmafsd_rq_state(rq, id);

	if (!err && (op->mode & ~rq->state->file->f_mode))
		err = -EBADF;
	if (!err && op->source)
		err = rdmafsd_rq_source(rq, get_unaligned_le64(rq->args + op->source));
	return err;
}

/* Find the objects of the handles, and enter their export. */
static int rdmafsd_find_objects(struct rdmafsd_rq *rq, const struct rdmafsd_op *op,
				const struct rfp_fh *fh)
{
	struct dentry **obj = rq->obj;
	int err = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(op->parts) && !err; i++) {
		if (op->parts[i] == RDMAFSD_PART_FH)
			err = rdmafsd_rq_fh(rq, fh++, obj++);
		else if (op->parts[i] == RDMAFSD_PART_DIR)
			err = rdmafsd_rq_dir(rq, fh++, obj++);
	}
	return err;
}

/*
 * Do what an operation declares before it is called, all but the credentials.  If @now, without
 * blocking: -EAGAIN if that can't be done.  The handles need the stack only here.
 */
static noinline_for_stack int rdmafsd_begin(struct rdmafsd_rq *rq, const struct rdmafsd_op *op,
					    bool now)
{
	struct rfp_fh fh[RDMAFSD_HANDLES];
	u64 id;
	int err;

	err = rdmafsd_decode(rq, op, fh);
	if (!err && op->check)
		err = op->check(rq);
	if (err)
		return err;
	if (op->stateid && !op->closes) {
		id = get_unaligned_le64(rq->args + op->stateid);
		if (id || !op->parts[0])
			return rdmafsd_find_open(rq, op, id);
	}
	return now ? -EAGAIN : rdmafsd_find_objects(rq, op, fh);
}

static int rdmafsd_put_on(struct rdmafsd_rq *rq, enum rdmafsd_as as)
{
	if (as == RDMAFSD_AS_CALLER)
		return rdmafsd_rq_enter(rq);
	if (as == RDMAFSD_AS_OPENER)
		rdmafsd_rq_enter_opener(rq);
	return 0;
}

/* Put the objects that were found, also if only some of them were. */
static void rdmafsd_put_objects(struct rdmafsd_rq *rq)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rq->obj); i++)
		dput(rq->obj[i]);
}

static int rdmafsd_run(struct rdmafsd_rq *rq, unsigned int *flags)
{
	struct rdmafs_xprt_req *req = rq->req;
	const struct rfp_req *head = req->body;
	const struct rdmafsd_op *op;
	int err;

	*flags = RDMAFS_REPLY_NOCACHE;
	if (req->body_len < sizeof(*head))
		return RFP_BADPROTO;
	op = rdmafsd_op_of(head);
	if (!op || (le16_to_cpu(head->flags) & ~op->req_flags))
		return RFP_BADPROTO;
	rq->access = le16_to_cpu(head->flags) & RFP_REQ_ACCESS;
	rq->labels = le16_to_cpu(head->flags) & RFP_REQ_LABEL;
	rq->cred_id = le32_to_cpu(head->cred);
	*flags = op->flags;
	if (rdmafs_test_fails("op_run", le16_to_cpu(head->op)))
		return -ENOMEM;
	rdmafs_test_point("op_begin", le16_to_cpu(head->op));
	if (rdmafs_test_fails("op_undone", le16_to_cpu(head->op)))
		return -EIO;
	err = rdmafsd_begin(rq, op, false);
	/* Before anything is made that would lack its label. */
	if (!err && rq->label.len && !rdmafsd_seclabel_able(rq->exp))
		err = -EPERM;
	if (!err)
		err = rdmafsd_put_on(rq, op->as);
	if (!err)
		err = op->fn(rq);
	rdmafsd_put_objects(rq);
	kfree(rq->buf);
	return err;
}

/* Put a state and the @inflight of its export that rdmafsd_state_get() has raised. */
static void rdmafsd_put_state(struct rdmafsd_state *st)
{
	struct rdmafsd_export *exp = st->exp;

	rdmafsd_state_put(st);
	rdmafsd_export_put(exp);
}

/* Put the state that rdmafsd_handle_now() could not put without blocking, and its export. */
static void rdmafsd_put_late(struct rdmafs_xprt_req *req)
{
	struct rdmafsd_state *st = req->priv;

	req->priv = NULL;
	rdmafsd_put_state(st);
}

/* Send the reply; the request is transport's again.  A test may have the reply spoilt. */
static void rdmafsd_answer(struct rdmafsd_rq *rq, u16 len, unsigned int flags)
{
	const struct rfp_req *head = rq->req->body;

	if (rq->req->body_len >= sizeof(*head) &&
	    rdmafs_test_fails("reply_spoil", le16_to_cpu(head->op)))
		len = rdmafs_test_spoil(rq->req->reply, len);
	rdmafs_xprt_req_reply(rq->req, len, rq->data_len, flags);
}

/**
 * rdmafsd_handle_now - serve a request where it arrived, if that can't block
 * @req: the request
 * @ctx: unused
 *
 * If the request's state was closed meanwhile, and this is its last reference, the state can't
 * be put here, for that closes the file.  @req->priv then takes it to rdmafsd_handle().
 *
 * Context: a completion handler in process context, whose fs_struct must not be used.  It must
 * not sleep: messages that other requests wait for come by the same completion queue.
 * Return: true: the request has been answered and is transport's again; false: it is for
 * rdmafsd_handle(), which begins anew.
 */
bool rdmafsd_handle_now(struct rdmafs_xprt_req *req, void *ctx)
{
	const struct rfp_req *head = req->body;
	struct rdmafsd_rq rq = {
		.req = req,
		.ses = rdmafs_xprt_session_priv(req->session),
	};
	const struct rdmafsd_op *op;
	bool done;

	if (req->body_len < sizeof(*head) || head->flags)
		return false;
	op = rdmafsd_op_of(head);
	if (!op || !op->now)
		return false;
	rq.cred_id = le32_to_cpu(head->cred);
	rfp_enc_init(&rq.enc, req->reply, RDMAFS_XPRT_BODY_MAX);
	done = !rdmafsd_begin(&rq, op, true) && !op->now(&rq) && rfp_enc_len(&rq.enc) > 0;
	if (rq.state && !refcount_dec_not_one(&rq.state->refs)) {
		/* Closed meanwhile, so the last put closes the file: leave that to a thread. */
		req->priv = rq.state;
		return false;
	}
	rdmafsd_export_put(rq.exp);
	if (done)
		rdmafsd_answer(&rq, rfp_enc_len(&rq.enc), op->flags);
	return done;
}

/**
 * rdmafsd_handle - serve a request
 * @req: the request; transport's again when this returns
 * @ctx: unused
 *
 * Context: a kthread with its own fs_struct and umask 0; may sleep.
 */
void rdmafsd_handle(struct rdmafs_xprt_req *req, void *ctx)
{
	struct rdmafsd_rq rq = {
		.req = req,
		.ses = rdmafs_xprt_session_priv(req->session),
	};
	unsigned int flags;
	int err, len;

	if (req->priv)
		rdmafsd_put_late(req);
	rfp_enc_init(&rq.enc, req->reply, RDMAFS_XPRT_BODY_MAX);
	err = rdmafsd_run(&rq, &flags);
	rdmafsd_rq_leave(&rq);
	/*
	 * The file system was full, but there may be room soon.  If the request may be executed
	 * twice the client is told to send it again: the data of a WRITE would be lost
	 * otherwise.
	 */
	if (err == -ENOSPC && rq.exp && rdmafsd_left_make_room(rq.exp) && rq.again)
		err = -EAGAIN;
	if (rq.source)
		rdmafsd_put_state(rq.source);
	if (rq.state)
		rdmafsd_state_put(rq.state);
	rdmafsd_export_put(rq.exp);

	len = err ? err : rfp_enc_len(&rq.enc);
	if (len < 0 || err) {
		struct rfp_rep *rep;

		rfp_enc_init(&rq.enc, req->reply, RDMAFS_XPRT_BODY_MAX);
		rep = rdmafsd_rep(&rq, sizeof(*rep));
		rep->status = cpu_to_le32(len > 0 ? len : rfp_status_from_errno(len));
		len = sizeof(*rep);
		rq.data_len = 0;
	}
	rdmafsd_answer(&rq, len, flags);
}
