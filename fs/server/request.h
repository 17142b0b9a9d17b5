/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rdmafsd: a request while it is served, for the operations and what they call.
 */
#ifndef RDMAFSD_REQUEST_H
#define RDMAFSD_REQUEST_H

#include "server.h"

#define RDMAFSD_HANDLES	2	/* the most handles, and names, in a request's body */

/**
 * struct rdmafsd_rq - a request at work, on the stack of the task that serves it
 * @req:      transport's request; transport's again after the reply
 * @ses:      the session that it came in
 * @args:     the fixed part of the request's body, of the type that its operation declares
 * @name:     the names in the body, in their order
 * @obj:      the objects of the handles in the body, in their order, references; NULL: none, or
 *            a stateid was given, which takes the place of the handle
 * @buf:      memory that the operation's check has taken, freed after the operation; or NULL
 * @enc:      the reply's body, as far as it is built
 * @cred_id:  the caller's credentials, as the client named them
 * @access:   attributes in the reply are to tell what the caller may do
 * @labels:   the request has RFP_REQ_LABEL: a label ends the reply
 * @label:    the label in the body, of what is to be made; @len 0: none
 * @again:    the request may be executed twice, so that it may be answered -EAGAIN when it fails
 * @exp:      export in use, its @inflight held; NULL until the first handle or stateid is
 *            looked up
 * @cred:     credentials put on, a reference; NULL while the server's own are in use
 * @saved:    the credentials to go back to
 * @state:    state in use, a reference; NULL if none
 * @source:   state of the file that is copied from, a reference, with an @inflight of its own;
 *            NULL if none
 * @data_len: bytes of data put into the reply's room
 */
struct rdmafsd_rq {
	struct rdmafs_xprt_req *req;
	struct rdmafsd_session *ses;
	const void *args;
	struct rfp_str name[RDMAFSD_HANDLES];
	struct dentry *obj[RDMAFSD_HANDLES];
	void *buf;
	struct rfp_enc enc;
	u32 cred_id;
	bool access;
	bool labels;
	struct rfp_str label;
	bool again;
	struct rdmafsd_export *exp;
	const struct cred *cred;
	const struct cred *saved;
	struct rdmafsd_state *state;
	struct rdmafsd_state *source;
	u32 data_len;
};

/**
 * struct rdmafsd_change - a change of an object that is made for a client
 * @path:   the object; its dentry is held by the caller of rdmafsd_change_begin(), until the
 *          reply tells the change
 * @before: its cookie before the change; 0 if that could not be read, if another session changed
 *          the object meanwhile, or if a local process may have done so without being seen
 * @after:  its cookie after the change
 * @raised: i_version was raised in memory after the change (rdmafsd_change_keep())
 */
struct rdmafsd_change {
	struct path path;
	u64 before;
	u64 after;
	bool raised;
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

/**
 * struct rdmafsd_tmpfile - a file that is made without a name, on the stack of the request
 * @dir:      the directory that it is made for, a reference of the request
 * @mode:     permissions, before the umask
 * @umask:    the caller's umask
 * @linkable: it may get a name later
 * @obj:      the file, once it is made, a reference
 * @of:       its entry, in which the request counts as an open; NULL: it has none yet
 */
struct rdmafsd_tmpfile {
	struct dentry *dir;
	u32 mode;
	u32 umask;
	bool linkable;
	struct dentry *obj;
	struct rdmafsd_opened *of;
};

/**
 * struct rdmafsd_linking - a file that gets another name, on the stack of the request
 * @obj:    the file, a reference of the request
 * @naming: held for writing until rdmafsd_linking_end(), so that no request removes a name of the
 *          file meanwhile; NULL: the file has no name as an orphan
 * @of:     the file's entry, in which this request counts as an open; NULL: it has none
 * @first:  the file was made without a name, and gets, or has got, its first one
 *
 * Filled by rdmafsd_linking_begin().
 */
struct rdmafsd_linking {
	struct dentry *obj;
	struct rw_semaphore *naming;
	struct rdmafsd_opened *of;
	bool first;
};

/*
 * A step of an operation, called in process context, nothing of the VFS locked.  It returns 0; a
 * negative errno; or a positive status that no errno stands for (RFP_BADCRED and the like).  In
 * the latter two cases dispatch.c discards what the operation has put into the reply.
 */
typedef int (*rdmafsd_op_fn)(struct rdmafsd_rq *rq);

/**
 * enum rdmafsd_part - what follows the fixed part of a request's body
 * @RDMAFSD_PART_NONE:     nothing more
 * @RDMAFSD_PART_FH:       the handle of any object
 * @RDMAFSD_PART_DIR:      the handle of a directory; -ENOTDIR: of another object
 * @RDMAFSD_PART_NAME:     a name in a directory; -EACCES: it is the server's own
 * @RDMAFSD_PART_NAME_UP:  likewise, or ".."
 * @RDMAFSD_PART_NAME_ANY: a name in a directory; the operation has to see whether it is the
 *                         server's own
 * @RDMAFSD_PART_XATTR:    the name of an extended attribute
 * @RDMAFSD_PART_EXPORT:   the name of an export
 * @RDMAFSD_PART_LABEL:    a security label, if the request has RFP_REQ_LABEL, else nothing
 */
enum rdmafsd_part {
	RDMAFSD_PART_NONE,
	RDMAFSD_PART_FH,
	RDMAFSD_PART_DIR,
	RDMAFSD_PART_NAME,
	RDMAFSD_PART_NAME_UP,
	RDMAFSD_PART_NAME_ANY,
	RDMAFSD_PART_XATTR,
	RDMAFSD_PART_EXPORT,
	RDMAFSD_PART_LABEL,
};

/**
 * enum rdmafsd_as - with whose credentials an operation is called
 * @RDMAFSD_AS_SERVER: the server's own; the operation may put on others
 * @RDMAFSD_AS_CALLER: those that the request names
 * @RDMAFSD_AS_OPENER: those that the file was opened with: the operation needs no right but that
 *                     the file is open
 */
enum rdmafsd_as {
	RDMAFSD_AS_SERVER,
	RDMAFSD_AS_CALLER,
	RDMAFSD_AS_OPENER,
};

/**
 * struct rdmafsd_op - an operation, and what has to be done before it is called
 * @fixed:     size in bytes of the fixed part of a request's body
 * @pad:       offset in it of a part that has to be 0
 * @pad_len:   length of that part; 0: there is none
 * @stateid:   offset in it of a stateid; 0: there is none.  If the request has a handle, too, the
 *             stateid 0 means the handle
 * @source:    offset in it of the stateid of the file to copy from, an open for reading in the
 *             export of @stateid; 0: there is none
 * @closes:    the stateid is not looked up: the operation takes the open from the session
 * @parts:     what follows the fixed part
 * @mode:      FMODE_* that the open must have; -EBADF: it lacks one
 * @as:        the credentials that the operation is called with
 * @flags:     RDMAFS_REPLY_*
 * @req_flags: RFP_REQ_* that the request may have
 * @check:     checks what the request says, before anything that it names is looked up, or NULL;
 *             may sleep if there is no @now
 * @fn:        serves the request on a thread; may sleep; leaves the reply in rq->enc
 * @now:       likewise where the request arrived, with the server's own credentials on, without
 *             blocking; -EAGAIN: @fn has to serve it; NULL: there is no way to do so
 *
 * A request with several faults is answered by the first of these that finds one: decoding
 * (RFP_BADPROTO), the server's own names (-EACCES), @check, what stateid or handles name, @mode,
 * @as, @fn.
 */
struct rdmafsd_op {
	u16 fixed;
	u16 pad;
	u16 pad_len;
	u16 stateid;
	u16 source;
	bool closes;
	u8 parts[2 * RDMAFSD_HANDLES];
	fmode_t mode;
	enum rdmafsd_as as;
	unsigned int flags;
	u16 req_flags;
	rdmafsd_op_fn check;
	rdmafsd_op_fn fn;
	rdmafsd_op_fn now;
};

/* The fixed part of a request; the second also has to have a field @pad that is 0. */
#define RDMAFSD_FIXED(type)	.fixed = sizeof(type)
#define RDMAFSD_PADDED(type)	.fixed = sizeof(type), .pad = offsetof(type, pad), \
				.pad_len = sizeof_field(type, pad)

const struct rdmafsd_op *rdmafsd_op_of(const struct rfp_req *head);

int rdmafsd_rq_enter(struct rdmafsd_rq *rq);
void rdmafsd_rq_enter_opener(struct rdmafsd_rq *rq);
void rdmafsd_rq_leave(struct rdmafsd_rq *rq);
int rdmafsd_rq_state(struct rdmafsd_rq *rq, u64 id);
int rdmafsd_rq_source(struct rdmafsd_rq *rq, u64 id);
int rdmafsd_rq_fh(struct rdmafsd_rq *rq, const struct rfp_fh *fh, struct dentry **dentry);
int rdmafsd_rq_dir(struct rdmafsd_rq *rq, const struct rfp_fh *fh, struct dentry **dentry);
int rdmafsd_rq_want_write(struct rdmafsd_rq *rq);
void rdmafsd_rq_drop_write(struct rdmafsd_rq *rq);
int rdmafsd_rq_data_put(struct rdmafsd_rq *rq, const void *data, size_t len);

void rdmafsd_change_begin(struct rdmafsd_rq *rq, struct dentry *dentry,
			  struct rdmafsd_change *chg);
void rdmafsd_change_begin_unlocked(struct rdmafsd_rq *rq, struct dentry *dentry,
				   struct rdmafsd_change *chg);
void rdmafsd_change_end(struct rdmafsd_change *chg);
void rdmafsd_change_keep(const struct rdmafsd_change *chg);
void rdmafsd_change_join(struct rdmafsd_change *chg, u64 before, u64 after);
void rdmafsd_change_none(struct rdmafsd_rq *rq, struct dentry *dentry,
			 struct rdmafsd_change *chg);

int rdmafsd_leaving_begin(struct rdmafsd_rq *rq, struct dentry *dir, const struct rfp_str *name,
			  struct rdmafsd_leaving *l, struct inode **delegated);
bool rdmafsd_leaving_is(struct rdmafsd_rq *rq, const struct rdmafsd_leaving *l,
			struct dentry *dentry);
void rdmafsd_leaving_change(const struct rdmafsd_leaving *l, struct rdmafsd_change *chg);
void rdmafsd_leaving_end(struct rdmafsd_rq *rq, struct rdmafsd_leaving *l, bool removed);
void rdmafsd_leaving_put(struct rdmafsd_rq *rq, struct rdmafsd_leaving *l);

void rdmafsd_verifier_keep(struct rdmafsd_rq *rq, struct dentry *dentry, u64 verifier);
bool rdmafsd_verifier_is(struct dentry *dentry, u64 verifier);

int rdmafsd_tmpfile_make(struct rdmafsd_rq *rq, struct rdmafsd_tmpfile *t);
void rdmafsd_tmpfile_put(struct rdmafsd_rq *rq, struct rdmafsd_tmpfile *t);
int rdmafsd_linking_begin(struct rdmafsd_rq *rq, struct dentry *obj, struct rdmafsd_linking *l);
void rdmafsd_linking_end(struct rdmafsd_rq *rq, struct rdmafsd_linking *l, bool linked);
void rdmafsd_linking_stable(struct rdmafsd_rq *rq, struct rdmafsd_linking *l,
			    struct rdmafsd_change *chg);
void rdmafsd_linking_put(struct rdmafsd_rq *rq, struct rdmafsd_linking *l);

int rdmafsd_truncate(struct rdmafsd_rq *rq, struct dentry *dentry, struct file *file, loff_t size,
		     unsigned int extra);

int rdmafsd_commit_range(struct rdmafsd_state *st, loff_t start, loff_t end, int datasync);

/**
 * struct rdmafsd_unlabelled - a new object that can't have its label, on the stack of the request
 * @object: a reference; NULL: there is none
 * @label:  of the label that it had when that was found, in the locked directory: the server's own
 *	    policy may have given it one
 */
struct rdmafsd_unlabelled {
	struct dentry *object;
	u32 label;
};

int rdmafsd_open_proof(struct rdmafsd_rq *rq, struct dentry *dentry, u32 flags, u64 claim,
		       struct rfp_proof *proof);
int rdmafsd_seclabel_set(struct rdmafsd_rq *rq, struct dentry *dentry, const void *label,
			 size_t size, int flags, struct inode **delegated);
int rdmafsd_seclabel_first(struct rdmafsd_rq *rq, struct dentry *dentry, int flags);
void rdmafsd_seclabel_failed(struct rdmafsd_rq *rq, struct dentry *dentry,
			     struct rdmafsd_unlabelled *undo);
void rdmafsd_seclabel_undo(struct rdmafsd_rq *rq, struct dentry *dir,
			   const struct rdmafsd_unlabelled *undo);
void rdmafsd_rep_label(struct rdmafsd_rq *rq, struct dentry *dentry, size_t max);

void *rdmafsd_rep(struct rdmafsd_rq *rq, size_t size);
int rdmafsd_rep_attr(struct rdmafsd_rq *rq, struct dentry *dentry);
int rdmafsd_rep_attr_changed(struct rdmafsd_rq *rq, const struct rdmafsd_change *chg);
int rdmafsd_rep_fh(struct rdmafsd_rq *rq, struct dentry *dentry);
int rdmafsd_reply_changes(struct rdmafsd_rq *rq, const struct rdmafsd_change * const *chgs);

/* Reply with the attributes of what was changed, given the changes in the order of the reply. */
#define rdmafsd_reply_changed(rq, ...) \
	rdmafsd_reply_changes(rq, (const struct rdmafsd_change * const []){ __VA_ARGS__, NULL })

extern const struct rdmafsd_op rdmafsd_attach_op;
extern const struct rdmafsd_op rdmafsd_setcred_op;
extern const struct rdmafsd_op rdmafsd_lookup_op;
extern const struct rdmafsd_op rdmafsd_getattr_op;
extern const struct rdmafsd_op rdmafsd_setattr_op;
extern const struct rdmafsd_op rdmafsd_open_op;
extern const struct rdmafsd_op rdmafsd_create_op;
extern const struct rdmafsd_op rdmafsd_close_op;
extern const struct rdmafsd_op rdmafsd_read_op;
extern const struct rdmafsd_op rdmafsd_write_op;
extern const struct rdmafsd_op rdmafsd_commit_op;
extern const struct rdmafsd_op rdmafsd_mkdir_op;
extern const struct rdmafsd_op rdmafsd_mknod_op;
extern const struct rdmafsd_op rdmafsd_symlink_op;
extern const struct rdmafsd_op rdmafsd_link_op;
extern const struct rdmafsd_op rdmafsd_unlink_op;
extern const struct rdmafsd_op rdmafsd_rmdir_op;
extern const struct rdmafsd_op rdmafsd_rename_op;
extern const struct rdmafsd_op rdmafsd_readlink_op;
extern const struct rdmafsd_op rdmafsd_readdir_op;
extern const struct rdmafsd_op rdmafsd_statfs_op;
extern const struct rdmafsd_op rdmafsd_getxattr_op;
extern const struct rdmafsd_op rdmafsd_setxattr_op;
extern const struct rdmafsd_op rdmafsd_listxattr_op;
extern const struct rdmafsd_op rdmafsd_removexattr_op;
extern const struct rdmafsd_op rdmafsd_fallocate_op;
extern const struct rdmafsd_op rdmafsd_seek_op;
extern const struct rdmafsd_op rdmafsd_getflags_op;
extern const struct rdmafsd_op rdmafsd_setflags_op;
extern const struct rdmafsd_op rdmafsd_tmpfile_op;
extern const struct rdmafsd_op rdmafsd_copy_op;
extern const struct rdmafsd_op rdmafsd_clone_op;
extern const struct rdmafsd_op rdmafsd_lock_op;
extern const struct rdmafsd_op rdmafsd_unlock_op;
extern const struct rdmafsd_op rdmafsd_lockcancel_op;
extern const struct rdmafsd_op rdmafsd_testlock_op;
extern const struct rdmafsd_op rdmafsd_events_op;
extern const struct rdmafsd_op rdmafsd_reclaim_done_op;
extern const struct rdmafsd_op rdmafsd_cross_op;

#endif
