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
#include "request.h"
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
