// SPDX-License-Identifier: GPL-2.0
/*
 * From a request to its reply.
 *
 * A request takes, in this order: the in-flight count of its export (with the first handle or
 * stateid), the caller's credentials, and the locks and references that its operation takes and
 * gives back itself.  struct rdmafsd_rq holds the first two.  They are given back here, in the
 * reverse order, before the reply goes out: after rdmafs_xprt_req_reply() the request belongs to
 * transport again.
 *
 * Transport's reply cache keeps the replies to operations that change something, so these must
 * not exceed RDMAFS_XPRT_CACHE_MAX bytes; the longest are those of CREATE and RENAME.  The reply
 * to COMMIT is kept, too: COMMIT reports a writeback error only once.
 */
#include <linux/build_bug.h>
#include <linux/uio.h>
#include "server.h"
#include "transport/points.h"

static_assert(sizeof(struct rfp_open_rep) + 2 * sizeof(struct rfp_attr) +
	      sizeof(__le16) + RFP_FH_MAX <= RDMAFS_XPRT_CACHE_MAX);
static_assert(sizeof(struct rfp_rep) + 3 * sizeof(struct rfp_attr) <= RDMAFS_XPRT_CACHE_MAX);
static_assert(sizeof(struct rfp_write_rep) + sizeof(struct rfp_attr) <= RDMAFS_XPRT_CACHE_MAX);

/*
 * The operations by number.
 *
 * @fn:        serves the request on a thread
 * @flags:     RDMAFS_REPLY_*
 * @now:       serves the request where it arrived, if that can be done without blocking; or NULL
 * @req_flags: RFP_REQ_* that the request may have
 */
static const struct rdmafsd_op {
	rdmafsd_op_fn fn;
	unsigned int flags;
	rdmafsd_op_fn now;
	u16 req_flags;
} rdmafsd_ops[RFP_NR_OPS] = {
	[RFP_ATTACH]	= { rdmafsd_op_attach, RDMAFS_REPLY_NOCACHE },
	[RFP_SETCRED]	= { rdmafsd_op_setcred, RDMAFS_REPLY_NOCACHE },
	[RFP_LOOKUP]	= { rdmafsd_op_lookup, RDMAFS_REPLY_NOCACHE, NULL, RFP_REQ_ACCESS },
	[RFP_GETATTR]	= { rdmafsd_op_getattr, RDMAFS_REPLY_NOCACHE, rdmafsd_now_getattr,
			    RFP_REQ_ACCESS },
	[RFP_SETATTR]	= { rdmafsd_op_setattr },
	[RFP_OPEN]	= { rdmafsd_op_open },
	[RFP_CREATE]	= { rdmafsd_op_create },
	[RFP_CLOSE]	= { rdmafsd_op_close },
	[RFP_READ]	= { rdmafsd_op_read, RDMAFS_REPLY_NOCACHE, rdmafsd_now_read },
	[RFP_WRITE]	= { rdmafsd_op_write },
	[RFP_COMMIT]	= { rdmafsd_op_commit },
	[RFP_MKDIR]	= { rdmafsd_op_mkdir },
	[RFP_MKNOD]	= { rdmafsd_op_mknod },
	[RFP_SYMLINK]	= { rdmafsd_op_symlink },
	[RFP_LINK]	= { rdmafsd_op_link },
	[RFP_UNLINK]	= { rdmafsd_op_unlink },
	[RFP_RMDIR]	= { rdmafsd_op_rmdir },
	[RFP_RENAME]	= { rdmafsd_op_rename },
	[RFP_READLINK]	= { rdmafsd_op_readlink, RDMAFS_REPLY_NOCACHE },
	[RFP_READDIR]	= { rdmafsd_op_readdir, RDMAFS_REPLY_NOCACHE },
	[RFP_STATFS]	= { rdmafsd_op_statfs, RDMAFS_REPLY_NOCACHE },
	[RFP_GETXATTR]	= { rdmafsd_op_getxattr, RDMAFS_REPLY_NOCACHE },
	[RFP_SETXATTR]	= { rdmafsd_op_setxattr },
	[RFP_LISTXATTR]	= { rdmafsd_op_listxattr, RDMAFS_REPLY_NOCACHE },
	[RFP_REMOVEXATTR] = { rdmafsd_op_removexattr },
	[RFP_FALLOCATE]	= { rdmafsd_op_fallocate },
	[RFP_SEEK]	= { rdmafsd_op_seek, RDMAFS_REPLY_NOCACHE },
};

/**
 * rdmafsd_rq_dec_end - check that the request was well formed, once all of it is decoded
 * @rq: the request
 *
 * Context: process, does not sleep.
 * Return: 0 or RFP_BADPROTO.
 */
int rdmafsd_rq_dec_end(struct rdmafsd_rq *rq)
{
	return rfp_dec_end(&rq->dec) ? RFP_BADPROTO : 0;
}

/**
 * rdmafsd_rq_enter - put on the caller's credentials
 * @rq: the request, in its export, without credentials on
 *
 * Context: process, may sleep.
 * Return: 0; RFP_BADCRED: the session has no such identity; or -ENOMEM.
 */
int rdmafsd_rq_enter(struct rdmafsd_rq *rq)
{
	const struct cred *cred = rdmafsd_cred_get(rq->ses, rq->cred_id, rq->exp);

	if (!cred)
		return RFP_BADCRED;
	if (IS_ERR(cred))
		return PTR_ERR(cred);
	rq->cred = cred;
	rq->saved = override_creds(cred);
	return 0;
}

/**
 * rdmafsd_rq_enter_opener - put on the credentials that the file was opened with
 * @rq: the request, with its state, without credentials on
 *
 * For operations that need no right but that the file is open.
 *
 * Context: process, does not sleep.
 */
void rdmafsd_rq_enter_opener(struct rdmafsd_rq *rq)
{
	rq->cred = get_cred(rq->state->file->f_cred);
	rq->saved = override_creds(rq->cred);
}

/**
 * rdmafsd_rq_leave - take off the credentials that were put on, if any
 * @rq: the request, with or without them
 *
 * Context: process, does not sleep.
 */
void rdmafsd_rq_leave(struct rdmafsd_rq *rq)
{
	if (!rq->cred)
		return;
	revert_creds(rq->saved);
	put_cred(rq->cred);
	rq->cred = NULL;
}

/**
 * rdmafsd_rq_state - find the open of a request's stateid, and enter its export
 * @rq: the request, in no export yet; gets @exp and @state
 * @id: the stateid, from the wire
 *
 * Context: process, does not sleep.
 * Return: 0; RFP_BADSTATE: there is no such open; or the return value of
 * rdmafsd_export_missing() if the export is ending.
 */
int rdmafsd_rq_state(struct rdmafsd_rq *rq, u64 id)
{
	int err = rdmafsd_state_get(rq->ses, id, &rq->state);

	if (!err)
		rq->exp = rq->state->exp;
	return err;
}

/**
 * rdmafsd_rq_want_write - take the write counts of the mount
 * @rq: the request, in its export
 *
 * Context: process, may sleep while the file system is frozen; no i_rwsem is held.
 * Return: 0: to be followed by rdmafsd_rq_drop_write(); -EROFS; or another errno of
 * mnt_want_write().
 */
int rdmafsd_rq_want_write(struct rdmafsd_rq *rq)
{
	return rq->exp->p.read_only ? -EROFS : mnt_want_write(rq->exp->path.mnt);
}

/**
 * rdmafsd_rq_drop_write - undo rdmafsd_rq_want_write()
 * @rq: the request
 *
 * Context: process.
 */
void rdmafsd_rq_drop_write(struct rdmafsd_rq *rq)
{
	mnt_drop_write(rq->exp->path.mnt);
}

/**
 * rdmafsd_rq_data_put - copy data into the room that goes with the reply
 * @rq:   the request; at most once for each
 * @data: the data
 * @len:  its length in bytes; 0: nothing is done
 *
 * Context: process, may sleep.
 * Return: 0; -ERANGE: the client has no room for it; -EIO; or an errno of
 * rdmafs_xprt_req_room().
 */
int rdmafsd_rq_data_put(struct rdmafsd_rq *rq, const void *data, size_t len)
{
	struct iov_iter dest;
	int err;

	if (!len)
		return 0;
	if (len > rq->req->read_max)
		return -ERANGE;
	err = rdmafs_xprt_req_room(rq->req, len, &dest);
	if (err)
		return err;
	if (copy_to_iter(data, len, &dest) != len)
		return -EIO;
	rq->data_len = len;
	return 0;
}

/**
 * rdmafsd_rep - begin the reply
 * @rq:   the request
 * @size: size of the fixed part in bytes, at least that of struct rfp_rep
 *
 * Context: process, does not sleep.
 * Return: the fixed part, zeroed, its status RFP_OK.  Never NULL: it is the first thing in a
 * buffer that has room for any fixed part.
 */
void *rdmafsd_rep(struct rdmafsd_rq *rq, size_t size)
{
	return rfp_enc_rep(&rq->enc, size);
}

/**
 * rdmafsd_rep_attr - append an object's attributes to the reply
 * @rq:     the request; if its @access is set, with the caller's credentials on
 * @dentry: the object, positive
 *
 * Context: process, may sleep.
 * Return: 0; -EIO: the reply has no room; or an errno of rdmafsd_getattr().
 */
int rdmafsd_rep_attr(struct rdmafsd_rq *rq, struct dentry *dentry)
{
	struct rfp_attr *attr = rfp_enc_fixed(&rq->enc, sizeof(*attr));
	int err;

	if (!attr)
		return -EIO;
	err = rdmafsd_getattr(rq->exp, dentry, attr);
	if (!err && rq->access)
		attr->access = cpu_to_le32(rdmafsd_access(d_inode(dentry)));
	return err;
}

/**
 * rdmafsd_rep_attr_changed - append attributes of an object that the request has changed
 * @rq:     the request
 * @dentry: the object, positive
 * @chg:    its change, ended
 *
 * The cookie is that of the change, though the attributes may be newer: changes that others have
 * made since must still look like changes to the client.
 *
 * Context: process, may sleep.
 * Return: as rdmafsd_rep_attr().
 */
int rdmafsd_rep_attr_changed(struct rdmafsd_rq *rq, struct dentry *dentry,
			     const struct rdmafsd_change *chg)
{
	struct rfp_attr *attr = rfp_enc_fixed(&rq->enc, sizeof(*attr));
	int err;

	if (!attr)
		return -EIO;
	rdmafs_test_point("rep_attr_changed", d_inode(dentry)->i_ino);
	err = rdmafsd_getattr(rq->exp, dentry, attr);
	if (!err && chg->before) {
		attr->before = cpu_to_le64(chg->before);
		attr->change = cpu_to_le64(chg->after);
	}
	return err;
}

/**
 * rdmafsd_rep_fh - append an object's handle to the reply
 * @rq:     the request
 * @dentry: the object, positive
 *
 * If the reply has no room for it rfp_enc_len() of the reply is an error in the end.
 *
 * Context: process, may sleep.
 * Return: 0 or an errno of rdmafsd_fh_encode().
 */
int rdmafsd_rep_fh(struct rdmafsd_rq *rq, struct dentry *dentry)
{
	struct rfp_fh fh;
	int err;

	err = rdmafsd_fh_encode(rq->exp, dentry, &fh);
	if (!err)
		rfp_enc_fh(&rq->enc, &fh);
	return err;
}

static int rdmafsd_run(struct rdmafsd_rq *rq, unsigned int *flags)
{
	struct rdmafs_xprt_req *req = rq->req;
	const struct rfp_req *head = req->body;
	unsigned int op;

	*flags = RDMAFS_REPLY_NOCACHE;
	if (req->body_len < sizeof(*head))
		return RFP_BADPROTO;
	op = le16_to_cpu(head->op);
	if (op >= RFP_NR_OPS || !rdmafsd_ops[op].fn ||
	    (le16_to_cpu(head->flags) & ~rdmafsd_ops[op].req_flags))
		return RFP_BADPROTO;
	rq->access = le16_to_cpu(head->flags) & RFP_REQ_ACCESS;
	rq->cred_id = le32_to_cpu(head->cred);
	*flags = rdmafsd_ops[op].flags;
	if (rdmafs_test_fail("op_run", op))
		return -ENOMEM;
	rdmafs_test_point("op_begin", op);
	return rdmafsd_ops[op].fn(rq);
}

/* Put the state that rdmafsd_handle_now() could not put without blocking, and its export. */
static void rdmafsd_put_late(struct rdmafs_xprt_req *req)
{
	struct rdmafsd_state *st = req->priv;
	struct rdmafsd_export *exp = st->exp;

	req->priv = NULL;
	rdmafsd_state_put(st);
	rdmafsd_export_put(exp);
}

/* Send the reply; the request is transport's again.  A test may have the reply spoilt. */
static void rdmafsd_answer(struct rdmafsd_rq *rq, u16 len, unsigned int flags)
{
	const struct rfp_req *head = rq->req->body;

	if (rq->req->body_len >= sizeof(*head) &&
	    rdmafs_test_fail("reply_spoil", le16_to_cpu(head->op)))
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
	rdmafsd_op_fn now;
	unsigned int op;
	bool done;

	if (req->body_len < sizeof(*head) || head->flags)
		return false;
	op = le16_to_cpu(head->op);
	now = op < RFP_NR_OPS ? rdmafsd_ops[op].now : NULL;
	if (!now)
		return false;
	rq.cred_id = le32_to_cpu(head->cred);
	rfp_dec_init(&rq.dec, req->body, req->body_len);
	rfp_enc_init(&rq.enc, req->reply, RDMAFS_XPRT_BODY_MAX);
	done = !now(&rq) && rfp_enc_len(&rq.enc) > 0;
	if (rq.state && !refcount_dec_not_one(&rq.state->refs)) {
		/* Closed meanwhile, so the last put closes the file: leave that to a thread. */
		req->priv = rq.state;
		return false;
	}
	rdmafsd_export_put(rq.exp);
	if (done)
		rdmafsd_answer(&rq, rfp_enc_len(&rq.enc), rdmafsd_ops[op].flags);
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
	rfp_dec_init(&rq.dec, req->body, req->body_len);
	rfp_enc_init(&rq.enc, req->reply, RDMAFS_XPRT_BODY_MAX);
	err = rdmafsd_run(&rq, &flags);
	rdmafsd_rq_leave(&rq);
	/*
	 * The file system was full, but there may be room soon.  If the request may be executed
	 * twice the client is told to send it again: the data of a WRITE would be lost
	 * otherwise.
	 */
	if (err == -ENOSPC && rq.exp && rdmafsd_opened_full(rq.exp) && rq.again)
		err = -EAGAIN;
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
