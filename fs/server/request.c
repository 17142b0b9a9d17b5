// SPDX-License-Identifier: GPL-2.0
/*
 * Operations enter an export by these functions, put on credentials, and build the reply of the
 * request that they serve.
 */
#include <linux/uio.h>
#include "request.h"
#include "transport/points.h"

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
 * rdmafsd_rq_source - find the open that a request copies from
 * @rq: the request, with its state; gets @source, to be put with its export also on an error
 * @id: the stateid, from the wire
 *
 * Context: process, does not sleep.
 * Return: 0, also if the open is not for reading; RFP_BADSOURCE: there is no such open; -EXDEV: it
 * is in another export; or as rdmafsd_rq_state().
 */
int rdmafsd_rq_source(struct rdmafsd_rq *rq, u64 id)
{
	u64 resource = rdmafsd_state_resource(rq->ses, id);
	int err;

	/*
	 * The thread was given to the request for the target's file system (waits.c).  The last put
	 * of a state closes its file, so it must not be that of a file in another one.
	 */
	if (resource && resource != rq->exp->resource)
		return -EXDEV;
	err = rdmafsd_state_get(rq->ses, id, &rq->source);
	if (err)
		return err == RFP_BADSTATE ? RFP_BADSOURCE : err;
	if (rq->source->exp != rq->exp)
		return -EXDEV;
	return 0;
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
		attr->access = cpu_to_le32(rdmafsd_access(rq->exp, d_inode(dentry)));
	return err;
}

/**
 * rdmafsd_rep_attr_changed - append attributes of an object that the request has changed
 * @rq:  the request
 * @chg: the object's change, ended; the object is still held
 *
 * The cookie is that of the change, though the attributes may be newer: changes that others have
 * made since must still look like changes to the client.
 *
 * Context: process, may sleep.
 * Return: as rdmafsd_rep_attr().
 */
int rdmafsd_rep_attr_changed(struct rdmafsd_rq *rq, const struct rdmafsd_change *chg)
{
	struct dentry *dentry = chg->path.dentry;
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
 * rdmafsd_reply_changes - reply with attributes of objects that the request has changed
 * @rq:   the request
 * @chgs: the changes of the objects, in the order of the reply, and NULL after the last of them;
 *        each as in rdmafsd_rep_attr_changed()
 *
 * For operations whose reply is nothing else; rdmafsd_reply_changed() makes the array.
 *
 * Context: process, may sleep.
 * Return: as rdmafsd_rep_attr().
 */
int rdmafsd_reply_changes(struct rdmafsd_rq *rq, const struct rdmafsd_change * const *chgs)
{
	int err = 0;

	rdmafsd_rep(rq, sizeof(struct rfp_rep));
	while (*chgs && !err)
		err = rdmafsd_rep_attr_changed(rq, *chgs++);
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
