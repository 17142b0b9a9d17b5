// SPDX-License-Identifier: GPL-2.0
/*
 * What a request may block on: the file system that it is about.
 *
 * One that is frozen, or whose disk does not answer, keeps the threads of all requests in
 * it for as long as that lasts.  Transport gives no file system more than its share of
 * them, and is told here which it is, before it gives the request a thread.  Two exports
 * of one file system are one in this.
 *
 * A request enters the export of its first handle or stateid, and no other one
 * (rdmafsd_rq_export()).  So that one tells, believed as it is: what it names is what the
 * request will wait for, or it will be refused without waiting.
 */
#include "server.h"

/* Where an operation's first handle is, or its stateid, which comes right behind the head. */
static const struct {
	u16 fixed;	/* bytes in front of the handle; 0: there is none */
	bool stateid;	/* there is one, which is 0 if the handle is meant */
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
 * rdmafsd_waits_for - the file system that a request may block on
 * @req: the request, of which nothing has been checked
 * @ctx: unused
 *
 * Context: as rdmafsd_handle_now().
 *
 * Return: a number for it, or 0: none, it will be refused or needs no file system.
 */
u64 rdmafsd_waits_for(struct rdmafs_xprt_req *req, void *ctx)
{
	struct rdmafsd_session *ses = rdmafs_xprt_session_priv(req->session);
	const struct rfp_req *head = req->body;
	struct rfp_dec dec;
	__le64 id = 0;
	u16 op;

	/* Closed meanwhile, so that its number finds nothing: but the file is still to close. */
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
