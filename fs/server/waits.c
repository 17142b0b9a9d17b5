// SPDX-License-Identifier: GPL-2.0
/*
 * The file system that a request may block on.
 *
 * A file system that is frozen, or whose disk does not answer, holds up the threads of all
 * requests in it for as long as that lasts.  So transport gives no file system more than its
 * share of the threads.  Before it gives a request a thread, it asks here for the request's file
 * system.  Two exports of one file system count as one.
 *
 * A request enters the export of its first handle or stateid, and no other export
 * (rdmafsd_rq_export()).  So the first handle or stateid tells the file system.  It is not
 * checked here: if it is valid the request will block in that file system, if not the request
 * will be refused without blocking.
 */
#include "server.h"

/* Where an operation has its first handle, or its stateid, which follows the head directly. */
static const struct {
	u16 fixed;	/* bytes in front of the handle; 0: there is none */
	bool stateid;	/* there is a stateid; its value 0 means the handle */
} rdmafsd_named[RFP_NR_OPS] = {
	[RFP_LOOKUP]	= { sizeof(struct rfp_req) },
	[RFP_GETATTR]	= { sizeof(struct rfp_getattr_req), true },
	[RFP_SETATTR]	= { sizeof(struct rfp_setattr_req), true },
	[RFP_OPEN]	= { sizeof(struct rfp_open_req) },
	[RFP_CREATE]	= { sizeof(struct rfp_create_req) },
	[RFP_CLOSE]	= { 0, true },
	[RFP_READ]	= { 0, true },
	[RFP_WRITE]	= { 0, true },
	[RFP_COMMIT]	= { 0, true },
	[RFP_MKDIR]	= { sizeof(struct rfp_mknod_req) },
	[RFP_MKNOD]	= { sizeof(struct rfp_mknod_req) },
	[RFP_SYMLINK]	= { sizeof(struct rfp_mknod_req) },
	[RFP_LINK]	= { sizeof(struct rfp_req) },
	[RFP_UNLINK]	= { sizeof(struct rfp_req) },
	[RFP_RMDIR]	= { sizeof(struct rfp_req) },
	[RFP_RENAME]	= { sizeof(struct rfp_rename_req) },
	[RFP_READLINK]	= { sizeof(struct rfp_req) },
	[RFP_READDIR]	= { sizeof(struct rfp_readdir_req) },
	[RFP_STATFS]	= { sizeof(struct rfp_req) },
	[RFP_GETXATTR]	= { sizeof(struct rfp_getxattr_req) },
	[RFP_SETXATTR]	= { sizeof(struct rfp_setxattr_req) },
	[RFP_LISTXATTR]	= { sizeof(struct rfp_getxattr_req) },
	[RFP_REMOVEXATTR] = { sizeof(struct rfp_req) },
	[RFP_FALLOCATE]	= { 0, true },
	[RFP_SEEK]	= { 0, true },
};

static u64 rdmafsd_attach_domain(struct rfp_dec *dec)
{
	struct rdmafsd_export *exp;
	struct rfp_str name;
	u64 domain;

	rfp_dec_fixed(dec, sizeof(struct rfp_req));
	rfp_dec_str(dec, &name, RFP_EXPORT_NAME_MAX);
	if (dec->bad)
		return 0;
	exp = rdmafsd_export_find_name(name.s, name.len);
	domain = exp ? exp->domain : 0;
	rdmafsd_export_put(exp);
	return domain;
}

static u64 rdmafsd_fh_domain(struct rfp_dec *dec, size_t fixed)
{
	struct rfp_fh fh;

	rfp_dec_fixed(dec, fixed);
	rfp_dec_fh(dec, &fh);
	return dec->bad ? 0 : rdmafsd_export_domain(rdmafsd_fh_export(&fh));
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
	const struct rfp_req *head = req->body;
	struct rfp_dec dec;
	__le64 id = 0;
	u16 op;

	/*
	 * The state has been closed, so its stateid finds nothing any more.  But
	 * rdmafsd_handle() will close the file, which may block.
	 */
	if (req->priv)
		return ((struct rdmafsd_state *)req->priv)->exp->domain;
	if (req->body_len < sizeof(*head))
		return 0;
	op = le16_to_cpu(head->op);
	if (op >= RFP_NR_OPS)
		return 0;
	rfp_dec_init(&dec, req->body, req->body_len);
	if (op == RFP_ATTACH)
		return rdmafsd_attach_domain(&dec);
	if (rdmafsd_named[op].stateid && req->body_len >= sizeof(*head) + sizeof(id))
		memcpy(&id, req->body + sizeof(*head), sizeof(id));
	if (id)
		return rdmafsd_state_domain(ses, le64_to_cpu(id));
	if (!rdmafsd_named[op].fixed)
		return 0;
	return rdmafsd_fh_domain(&dec, rdmafsd_named[op].fixed);
}
