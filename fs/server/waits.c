// SPDX-License-Identifier: GPL-2.0
/*
 * The file system that a request may block on.
 *
 * A file system that is frozen, or whose disk does not answer, holds up the threads of all
 * requests in it for as long as that lasts.  So transport gives no file system more than its
 * share of the threads.  Before it gives a request a thread, it asks here for the request's file
 * system.  Two exports of one file system count as one.
 *
 * A request enters the export of its first handle or stateid (rdmafsd_rq_fh(), rdmafsd_rq_state()),
 * and no other export.  So the first handle or stateid tells the file system.  It is where the
 * operation says (struct rdmafsd_op); no name comes before the first handle.  It is not checked
 * here: if it is valid the request will block in that file system, if not the request will be
 * refused without blocking.  The file to copy from must be in the same file system
 * (rdmafsd_rq_source()).  LOCKCANCEL has a token instead.  CROSS may block below the export of its
 * handle as well, so there are few of these at a time (op_session.c).
 */
#include <linux/unaligned.h>
#include "request.h"

static u64 rdmafsd_attach_resource(struct rfp_dec *dec)
{
	struct rdmafsd_export *exp;
	struct rfp_str name;
	u64 resource;

	rfp_dec_str(dec, &name, RFP_EXPORT_NAME_MAX);
	if (dec->bad)
		return 0;
	exp = rdmafsd_export_find_name(name.s, name.len);
	resource = exp ? exp->resource : 0;
	rdmafsd_export_put(exp);
	return resource;
}

static u64 rdmafsd_handle_resource(struct rfp_dec *dec)
{
	struct rfp_fh fh;

	rfp_dec_fh(dec, &fh);
	return dec->bad ? 0 : rdmafsd_fh_resource(&fh);
}

/**
 * rdmafsd_waits_for - find the file system that a request may block on
 * @req: the request; nothing of it has been checked
 * @ctx: unused
 *
 * Context: process, does not sleep.
 * Return: the number of the file system; 0: the request will be refused, or needs no file
 * system.
 */
u64 rdmafsd_waits_for(struct rdmafs_xprt_req *req, void *ctx)
{
	struct rdmafsd_session *ses = rdmafs_xprt_session_priv(req->session);
	const struct rfp_lockcancel_req *creq = req->body;
	const struct rfp_req *head = req->body;
	const struct rdmafsd_op *op;
	struct rfp_dec dec;
	u64 id = 0;

	/*
	 * The state has been closed, so its stateid finds nothing any more.  But
	 * rdmafsd_handle() will close the file, which may block.
	 */
	if (req->priv)
		return ((struct rdmafsd_state *)req->priv)->exp->resource;
	if (req->body_len < sizeof(*head))
		return 0;
	op = rdmafsd_op_of(head);
	if (!op)
		return 0;
	/* The lock that waits may be all that is left of its open. */
	if (op == &rdmafsd_lockcancel_op && req->body_len >= sizeof(*creq))
		return rdmafsd_lock_resource(ses, le32_to_cpu(creq->token));
	if (op->stateid && req->body_len >= op->stateid + sizeof(id))
		id = get_unaligned_le64(req->body + op->stateid);
	if (id)
		return rdmafsd_state_resource(ses, id);
	rfp_dec_init(&dec, req->body, req->body_len);
	rfp_dec_fixed(&dec, op->fixed);
	switch (op->parts[0]) {
	case RDMAFSD_PART_FH:
	case RDMAFSD_PART_DIR:
		return rdmafsd_handle_resource(&dec);
	case RDMAFSD_PART_EXPORT:
		return rdmafsd_attach_resource(&dec);
	}
	return 0;
}
