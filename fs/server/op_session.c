// SPDX-License-Identifier: GPL-2.0
/*
 * ATTACH, CROSS and SETCRED: entering an export, or a mount below it, and registering the
 * users of a client.
 */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/xattr.h>
#include "request.h"

/* The label of a root always has room. */
static_assert(sizeof(struct rfp_attach_rep) + sizeof(struct rfp_attr) + 2 * sizeof(__le16) +
	      RFP_FH_MAX + RFP_LABEL_MAX <= RDMAFS_XPRT_BODY_MAX);

static void rdmafsd_attach_fill(struct rdmafsd_export *exp, struct rfp_attach_rep *rep)
{
	struct super_block *sb = exp->path.dentry->d_sb;
	u32 flags = 0;

	if (exp->p.read_only || __mnt_is_readonly(exp->path.mnt))
		flags |= RFP_EXPORT_RO;
	if (sb->s_flags & SB_POSIXACL)
		flags |= RFP_EXPORT_ACL;
	if (sb->s_xattr)
		flags |= RFP_EXPORT_XATTR;
	if (exp->p.squash == RDMAFSD_SQUASH_ALL)
		flags |= RFP_EXPORT_SQUASH;
	if (exp->p.squash == RDMAFSD_SQUASH_ROOT)
		flags |= RFP_EXPORT_ROOT_SQUASH;
	if (rdmafsd_seclabel_able(exp))
		flags |= RFP_EXPORT_LABEL;
	memcpy(rep->fsid, exp->fsid, sizeof(rep->fsid));
	rep->flags = cpu_to_le32(flags);
	rep->time_gran = cpu_to_le32(sb->s_time_gran);
	rep->maxbytes = cpu_to_le64(sb->s_maxbytes);
	rep->verifier = cpu_to_le64(rdmafsd_export_verifier(exp));
}

/* Reply with what an export is, and with its root. */
static int rdmafsd_attach_reply(struct rdmafsd_rq *rq)
{
	struct rdmafsd_export *exp = rq->exp;
	int err;

	rdmafsd_attach_fill(exp, rdmafsd_rep(rq, sizeof(struct rfp_attach_rep)));
	err = rdmafsd_rep_fh(rq, exp->path.dentry);
	if (!err)
		err = rdmafsd_rep_attr(rq, exp->path.dentry);
	if (!err)
		rdmafsd_rep_label(rq, exp->path.dentry, RDMAFS_XPRT_BODY_MAX);
	return err;
}

static int rdmafsd_op_attach(struct rdmafsd_rq *rq)
{
	rq->exp = rdmafsd_export_find_name(rq->name[0].s, rq->name[0].len);
	if (!rq->exp)
		return -ENOENT;

	return rdmafsd_attach_reply(rq);
}

/*
 * Needs no credentials: any client that may mount gets the attributes and the handle of the
 * root.
 */
const struct rdmafsd_op rdmafsd_attach_op = {
	RDMAFSD_FIXED(struct rfp_req),
	.parts = { RDMAFSD_PART_EXPORT },
	.flags = RDMAFS_REPLY_NOCACHE,
	.req_flags = RFP_REQ_LABEL,
	.fn = rdmafsd_op_attach,
};

/*
 * So many requests at a time may read what a file system below an export tells of its root.  They
 * have their threads for the file system above (waits.c), which one below that hangs must not take
 * all threads from.
 */
#define RDMAFSD_ARRIVING_MAX	4

static int rdmafsd_op_cross(struct rdmafsd_rq *rq)
{
	struct rdmafsd_export *above = rq->exp, *exp;
	struct dentry *dir = rq->obj[0];
	int err;

	if (!rdmafsd_is_crossing(above, dir))
		return -ESTALE;
	err = rdmafsd_crossed_get(above, dir, &rq->ses->client->source, &exp);
	if (err)
		return err;
	/* This one keeps the mount of the directory, of which the request has a dentry. */
	rq->exp = exp;
	rdmafsd_export_put(above);
	err = atomic_inc_return(&exp->nr_arriving) > RDMAFSD_ARRIVING_MAX ?
		-EAGAIN : rdmafsd_attach_reply(rq);
	atomic_dec(&exp->nr_arriving);
	return err;
}

/*
 * Needs no credentials, as ATTACH: the root's permissions decide.  In the directory nothing may be
 * found: some file systems (NFS) have such directories where they mount others by themselves.
 */
const struct rdmafsd_op rdmafsd_cross_op = {
	RDMAFSD_FIXED(struct rfp_req),
	.parts = { RDMAFSD_PART_FH },
	.flags = RDMAFS_REPLY_NOCACHE,
	.req_flags = RFP_REQ_LABEL,
	.fn = rdmafsd_op_cross,
};

static int rdmafsd_groups_take(struct rdmafsd_rq *rq, u32 n, struct group_info **groups)
{
	struct group_info *gi;
	__le32 *wire = NULL;
	int err = 0;
	u32 i;

	if (n) {
		wire = kvmalloc_array(n, sizeof(*wire), GFP_KERNEL);
		if (!wire)
			return -ENOMEM;
	}
	gi = groups_alloc(n);
	if (!gi) {
		kvfree(wire);
		return -ENOMEM;
	}
	if (!copy_from_iter_full(wire, n * sizeof(*wire), &rq->req->data))
		err = -EIO;
	for (i = 0; i < n && !err; i++) {
		gi->gid[i] = make_kgid(&init_user_ns, le32_to_cpu(wire[i]));
		if (!gid_valid(gi->gid[i]))
			err = -EINVAL;
	}
	kvfree(wire);
	if (err) {
		put_group_info(gi);
		return err;
	}
	groups_sort(gi);
	*groups = gi;
	return 0;
}

/* All but the groups: 0 or -EINVAL. */
static int rdmafsd_who_take(const struct rfp_setcred_req *sreq, struct rdmafsd_who *who)
{
	u16 flags = le16_to_cpu(sreq->req.flags);

	who->capable = flags & RFP_REQ_CAPABLE;
	who->mapped = flags & RFP_REQ_MAPPED;
	/* That of RFP_ID_NONE, and no other, is not valid. */
	who->uid = make_kuid(&init_user_ns, le32_to_cpu(sreq->uid));
	who->gid = make_kgid(&init_user_ns, le32_to_cpu(sreq->gid));
	return who->mapped || (uid_valid(who->uid) && gid_valid(who->gid)) ? 0 : -EINVAL;
}

static int rdmafsd_op_setcred(struct rdmafsd_rq *rq)
{
	const struct rfp_setcred_req *sreq = rq->args;
	u32 n = le32_to_cpu(sreq->ngroups);
	struct rdmafsd_who who;
	int err;

	if (n > RFP_GROUPS_MAX || rq->req->data_len != n * sizeof(__le32))
		return RFP_BADPROTO;
	err = rdmafsd_who_take(sreq, &who);
	if (!err)
		err = rdmafsd_groups_take(rq, n, &who.groups);
	if (err)
		return err;
	err = rdmafsd_ident_set(rq->ses, le32_to_cpu(sreq->id), &who);
	if (!err)
		rdmafsd_rep(rq, sizeof(struct rfp_rep));
	return err;
}

const struct rdmafsd_op rdmafsd_setcred_op = {
	RDMAFSD_FIXED(struct rfp_setcred_req),
	.flags = RDMAFS_REPLY_NOCACHE,
	.req_flags = RFP_REQ_CAPABLE | RFP_REQ_MAPPED,
	.fn = rdmafsd_op_setcred,
};
