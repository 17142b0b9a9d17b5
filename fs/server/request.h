/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rdmafsd: a request while it is served, for the operations and what they call.
 */
#ifndef RDMAFSD_REQUEST_H
#define RDMAFSD_REQUEST_H

#include "server.h"

/**
 * struct rdmafsd_rq - a request at work, on the stack of the task that serves it
 * @req:      transport's request; transport's again after the reply
 * @ses:      the session that it came in
 * @dec:      the rest of the request's body, not decoded yet
 * @enc:      the reply's body, as far as it is built
 * @cred_id:  the caller's credentials, as the client named them
 * @access:   attributes in the reply are to tell what the caller may do
 * @again:    the request may be executed twice, so that it may be answered -EAGAIN when it fails
 * @exp:      export in use, its @inflight held; NULL until the first handle or stateid is
 *            decoded
 * @cred:     credentials put on, a reference; NULL while the server's own are in use
 * @saved:    the credentials to go back to
 * @state:    state in use, a reference; NULL if none
 * @data_len: bytes of data put into the reply's room
 */
struct rdmafsd_rq {
	struct rdmafs_xprt_req *req;
	struct rdmafsd_session *ses;
	struct rfp_dec dec;
	struct rfp_enc enc;
	u32 cred_id;
	bool access;
	bool again;
	struct rdmafsd_export *exp;
	const struct cred *cred;
	const struct cred *saved;
	struct rdmafsd_state *state;
	u32 data_len;
};

/**
 * struct rdmafsd_change - a change of an object that is made for a client
 * @path:   the object; its dentry is held by the caller of rdmafsd_change_begin()
 * @before: its cookie before the change; 0 if that could not be read, or if another session
 *          changed the object meanwhile
 * @after:  its cookie after the change
 */
struct rdmafsd_change {
	struct path path;
	u64 before;
	u64 after;
};

/**
 * struct rdmafsd_leaving - a name that is being removed
 * @obj:    the object of the name, as looked up before anything was locked, a reference; NULL:
 *          none
 * @naming: held for writing, so that no request opens the file meanwhile; NULL: not a regular
 *          file
 * @of:     the file's entry, in which this removal counts as an open; NULL: the file has none
 * @guess:  a claim that keeps the file for clients that are not known to have it open; or NULL
 * @denied: the caller may not remove the name, so the file got no other one
 * @kept:   the file got a name as an orphan first
 * @before: the file's cookie before it got that name; 0 as in struct rdmafsd_change
 * @after:  its cookie after it got that name
 *
 * On the stack of the request, filled by rdmafsd_leaving_begin().
 */
struct rdmafsd_leaving {
	struct dentry *obj;
	struct rw_semaphore *naming;
	struct rdmafsd_opened *of;
	struct rdmafsd_claim *guess;
	bool denied;
	bool kept;
	u64 before;
	u64 after;
};

/*
 * An operation, called in process context, may sleep, nothing of the VFS locked.  It returns 0
 * with the reply in rq->enc; a negative errno; or a positive status that no errno stands for
 * (RFP_BADCRED and the like).  In the latter two cases dispatch.c discards what the operation
 * has put into the reply.
 */
typedef int (*rdmafsd_op_fn)(struct rdmafsd_rq *rq);

int rdmafsd_rq_dec_end(struct rdmafsd_rq *rq);
int rdmafsd_rq_enter(struct rdmafsd_rq *rq);
void rdmafsd_rq_enter_opener(struct rdmafsd_rq *rq);
void rdmafsd_rq_leave(struct rdmafsd_rq *rq);
int rdmafsd_rq_state(struct rdmafsd_rq *rq, u64 id);
int rdmafsd_rq_fh(struct rdmafsd_rq *rq, const struct rfp_fh *fh, struct dentry **dentry);
int rdmafsd_rq_dir(struct rdmafsd_rq *rq, const struct rfp_fh *fh, struct dentry **dentry);
int rdmafsd_rq_want_write(struct rdmafsd_rq *rq);
void rdmafsd_rq_drop_write(struct rdmafsd_rq *rq);
int rdmafsd_rq_data_put(struct rdmafsd_rq *rq, const void *data, size_t len);

void rdmafsd_change_begin(struct rdmafsd_rq *rq, struct dentry *dentry,
			  struct rdmafsd_change *chg);
void rdmafsd_change_end(struct rdmafsd_change *chg);
void rdmafsd_change_none(struct rdmafsd_rq *rq, struct dentry *dentry,
			 struct rdmafsd_change *chg);

int rdmafsd_leaving_begin(struct rdmafsd_rq *rq, struct dentry *dir, const struct rfp_str *name,
			  struct rdmafsd_leaving *l, struct inode **delegated);
bool rdmafsd_leaving_is(const struct rdmafsd_leaving *l, struct dentry *dentry);
void rdmafsd_leaving_change(const struct rdmafsd_leaving *l, struct rdmafsd_change *chg);
void rdmafsd_leaving_end(struct rdmafsd_rq *rq, struct rdmafsd_leaving *l, bool removed);
void rdmafsd_leaving_put(struct rdmafsd_rq *rq, struct rdmafsd_leaving *l);

int rdmafsd_truncate(struct rdmafsd_rq *rq, struct dentry *dentry, struct file *file, loff_t size,
		     unsigned int extra);

int rdmafsd_open_proof(struct rdmafsd_rq *rq, struct dentry *dentry, u32 flags, u64 claim,
		       struct rfp_proof *proof);
void *rdmafsd_rep(struct rdmafsd_rq *rq, size_t size);
int rdmafsd_rep_attr(struct rdmafsd_rq *rq, struct dentry *dentry);
int rdmafsd_rep_attr_changed(struct rdmafsd_rq *rq, struct dentry *dentry,
			     const struct rdmafsd_change *chg);
int rdmafsd_rep_fh(struct rdmafsd_rq *rq, struct dentry *dentry);

int rdmafsd_op_attach(struct rdmafsd_rq *rq);
int rdmafsd_op_setcred(struct rdmafsd_rq *rq);
int rdmafsd_op_lookup(struct rdmafsd_rq *rq);
int rdmafsd_op_getattr(struct rdmafsd_rq *rq);
int rdmafsd_now_getattr(struct rdmafsd_rq *rq);
int rdmafsd_op_setattr(struct rdmafsd_rq *rq);
int rdmafsd_op_open(struct rdmafsd_rq *rq);
int rdmafsd_op_create(struct rdmafsd_rq *rq);
int rdmafsd_op_close(struct rdmafsd_rq *rq);
int rdmafsd_op_read(struct rdmafsd_rq *rq);
int rdmafsd_now_read(struct rdmafsd_rq *rq);
int rdmafsd_op_write(struct rdmafsd_rq *rq);
int rdmafsd_op_commit(struct rdmafsd_rq *rq);
int rdmafsd_op_mkdir(struct rdmafsd_rq *rq);
int rdmafsd_op_mknod(struct rdmafsd_rq *rq);
int rdmafsd_op_symlink(struct rdmafsd_rq *rq);
int rdmafsd_op_link(struct rdmafsd_rq *rq);
int rdmafsd_op_unlink(struct rdmafsd_rq *rq);
int rdmafsd_op_rmdir(struct rdmafsd_rq *rq);
int rdmafsd_op_rename(struct rdmafsd_rq *rq);
int rdmafsd_op_readlink(struct rdmafsd_rq *rq);
int rdmafsd_op_readdir(struct rdmafsd_rq *rq);
int rdmafsd_op_statfs(struct rdmafsd_rq *rq);
int rdmafsd_op_getxattr(struct rdmafsd_rq *rq);
int rdmafsd_op_setxattr(struct rdmafsd_rq *rq);
int rdmafsd_op_listxattr(struct rdmafsd_rq *rq);
int rdmafsd_op_removexattr(struct rdmafsd_rq *rq);
int rdmafsd_op_fallocate(struct rdmafsd_rq *rq);
int rdmafsd_op_seek(struct rdmafsd_rq *rq);

#endif
