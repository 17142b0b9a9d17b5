/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rdmafsd: the server, as its files see each other.
 *
 * A request comes from transport on a kthread of its own pool, which has an
 * fs_struct of its own with umask 0.  dispatch.c looks the operation up in a
 * table, the operation takes its arguments apart, finds what handles and
 * stateids name, puts on the caller's credentials, calls the VFS and builds
 * the reply.  dispatch.c then takes everything off again and replies: exactly
 * one reply per request, whatever happened.
 *
 *	dispatch.c	struct rdmafsd_rq: what one request holds while it runs
 *	op_*.c		the operations
 *	handle.c	file handle <-> dentry
 *	attr.c		attributes, commit to stable storage
 *	change.c	the change cookie, and whose changes moved it
 *	cred.c		SETCRED's identities, squashing, struct cred
 *	state.c		stateids: opens
 *	nowait.c	what can be served without blocking
 *	session.c	what belongs to one client
 *	export.c	exports that are live
 *	configfs.c	what the administrator sees
 *
 * Lifetimes
 *
 *	struct rdmafsd_export	from enable to disable.  @inflight counts the
 *		requests at work in it and is killed by disable, which then
 *		waits for them, closes the opens of all sessions, and lets go
 *		of the path: after that the file system can be unmounted.  The
 *		memory alone lives on in @refs while a state points to it.
 *	struct rdmafsd_session	from session_open to session_close.
 *		Transport calls no handle() outside of that.
 *	struct rdmafsd_state	@refs: one for the table of the session, one
 *		for each request at work with it.  Whoever takes it out of the
 *		table (CLOSE, disable, session_close) puts the table's.  The
 *		last put closes the file, at once and in process context.
 *	struct rdmafsd_ident	the same, for SETCRED.
 *
 * Lock order
 *
 *	configfs (su_mutex)
 *	  cfg->lock, port->lock		one item's settings and its state
 *	    rdmafsd_exports_lock	names of live exports
 *	    rdmafsd_sessions_lock	list of sessions; files are closed under it
 *	      mount's and superblock's write counts (mnt_want_write)
 *	        i_rwsem of a directory	(I_MUTEX_PARENT; two of them: lock_rename)
 *	          i_rwsem of what is in it
 *	session->idents_lock, ident->lock, those of change.c	leaves: nothing is
 *				taken under them but the allocator's locks
 *
 * Tables are xarrays, read under RCU; what is found there is used only after
 * its count was raised from non-zero.
 */
#ifndef RDMAFSD_SERVER_H
#define RDMAFSD_SERVER_H

#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/errseq.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mount.h>
#include <linux/mutex.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/percpu-refcount.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/siphash.h>
#include <linux/uidgid.h>
#include <linux/xarray.h>
#include "fs/proto/codec.h"
#include "fs/proto/rdmafs_proto.h"
#include "transport/xprt.h"

#define RDMAFSD_SECRET_LEN	32	/* two keys of SipHash */
#define RDMAFSD_MAC_LEN		sizeof(__le64)

/*
 * What one client may make the server keep.  Too many opens are refused; an
 * identity too many throws out the one that was unused longest, since the
 * client registers it again when it is told BADCRED.
 */
#define RDMAFSD_STATES_MAX	65536
#define RDMAFSD_IDENTS_MAX	4096
#define RDMAFSD_GROUPS_MAX	(4 * RFP_GROUPS_MAX)	/* of all identities together */

/* ----------------------------------------------------------------- exports */

enum rdmafsd_squash {
	RDMAFSD_SQUASH_NONE,
	RDMAFSD_SQUASH_ROOT,
	RDMAFSD_SQUASH_ALL,
};

/**
 * struct rdmafsd_export_params - what an administrator sets
 * @id:		names the export in handles; not 0
 * @secret:	signs handles
 * @read_only:	refuse changes
 * @squash:	who becomes @anonuid:@anongid
 * @anonuid:	user that squashed callers become
 * @anongid:	their group
 * @name:	what clients mount, without slashes at its ends
 */
struct rdmafsd_export_params {
	u32 id;
	u8 secret[RDMAFSD_SECRET_LEN];
	bool read_only;
	enum rdmafsd_squash squash;
	kuid_t anonuid;
	kgid_t anongid;
	char name[RFP_EXPORT_NAME_MAX + 1];
};

/**
 * struct rdmafsd_export - an export that is live
 * @p:		its settings, constant while it is live
 * @serial:	never the same for two lives: tells cached credentials apart
 * @path:	its root
 * @whole:	@path is the root of its file system: every directory is inside
 * @volatile_fs: the file system has no stable storage: nothing to commit
 * @fsid:	names the file system to clients, the same after a restart
 * @key:	signs handles
 * @verf:	base of the write verifier, random
 * @verf_gen:	added to it; grows with every writeback error
 * @inflight:	requests at work
 * @idle:	@inflight is gone
 * @refs:	this memory
 * @rcu:	defers its freeing
 */
struct rdmafsd_export {
	struct rdmafsd_export_params p;
	u64 serial;
	struct path path;
	bool whole;
	bool volatile_fs;
	u8 fsid[16];
	siphash_key_t key;
	u64 verf;
	atomic64_t verf_gen;
	struct percpu_ref inflight;
	struct completion idle;
	refcount_t refs;
	struct rcu_head rcu;
};

struct rdmafsd_export *rdmafsd_export_start(const struct rdmafsd_export_params *p,
					    const char *path);
void rdmafsd_export_stop(struct rdmafsd_export *exp);
struct rdmafsd_export *rdmafsd_export_find_id(u32 id);
struct rdmafsd_export *rdmafsd_export_find_name(const char *name, size_t len);
void rdmafsd_export_put(struct rdmafsd_export *exp);
void rdmafsd_export_free(struct rdmafsd_export *exp);

static inline u64 rdmafsd_export_verifier(struct rdmafsd_export *exp)
{
	return exp->verf + atomic64_read(&exp->verf_gen);
}

/* ---------------------------------------------------------------- sessions */

#define RDMAFSD_IDENT_CREDS	4	/* exports that one client uses at a time, or nearly */

/**
 * struct rdmafsd_ident - a caller, as its client named it by SETCRED
 * @uid:    user
 * @gid:    group
 * @groups: supplementary groups, sorted
 * @used:   when a request last came with it, in jiffies
 * @lock:   guards @next and @creds
 * @next:   entry of @creds to be replaced next
 * @creds:  what it becomes in an export, by the export's serial
 * @refs:   the table's and those of requests
 * @rcu:    defers its freeing
 */
struct rdmafsd_ident {
	kuid_t uid;
	kgid_t gid;
	struct group_info *groups;
	unsigned long used;
	spinlock_t lock;	/* @next, @creds */
	unsigned int next;
	struct {
		u64 serial;
		const struct cred *cred;
	} creds[RDMAFSD_IDENT_CREDS];
	refcount_t refs;
	struct rcu_head rcu;
};

/**
 * struct rdmafsd_session - what belongs to one client
 * @link:	in the list of all
 * @idents:	&struct rdmafsd_ident by the id that the client chose
 * @idents_lock: serialises changes of @idents
 * @nr_idents:	how many there are
 * @nr_groups:	groups of all of them together
 * @states:	&struct rdmafsd_state by the low half of the stateid
 * @next_state:	where to look for a free one; under the lock of @states
 * @nr_states:	how many there are, or are being made
 */
struct rdmafsd_session {
	struct list_head link;
	struct xarray idents;
	struct mutex idents_lock;	/* changes of @idents, and their account */
	unsigned int nr_idents;
	unsigned int nr_groups;
	struct xarray states;
	u32 next_state;
	atomic_t nr_states;
};

extern const struct rdmafs_xprt_service rdmafsd_service;

void rdmafsd_sessions_close_export(struct rdmafsd_export *exp);

int rdmafsd_creds_init(void);
void rdmafsd_creds_exit(void);
int rdmafsd_ident_set(struct rdmafsd_session *ses, u32 id, kuid_t uid, kgid_t gid,
		      struct group_info *groups);
void rdmafsd_idents_free(struct rdmafsd_session *ses);
const struct cred *rdmafsd_cred_get(struct rdmafsd_session *ses, u32 id,
				    struct rdmafsd_export *exp);

/* The server's own: all capabilities, nobody's groups. */
extern const struct cred *rdmafsd_own_cred;

/* ------------------------------------------------------------------ states */

/**
 * struct rdmafsd_state - an open
 * @file:   the open file; its mode tells what may be done with it
 * @exp:    where it is, holding the memory only
 * @wb_err: last writeback error that moved the verifier
 * @id:     the whole stateid
 * @refs:   the table's and those of requests
 * @rcu:    defers its freeing
 * @lock:   guards the next two; a leaf
 * @seen:   the file's change cookie when they were last looked for, or 0
 * @flags:  RFP_ATTR_* that it had then
 */
struct rdmafsd_state {
	struct file *file;
	struct rdmafsd_export *exp;
	errseq_t wb_err;
	u64 id;
	refcount_t refs;
	struct rcu_head rcu;
	spinlock_t lock;
	u64 seen;
	u32 flags;
};

int rdmafsd_state_reserve(struct rdmafsd_session *ses);
void rdmafsd_state_unreserve(struct rdmafsd_session *ses);
int rdmafsd_state_add(struct rdmafsd_session *ses, struct rdmafsd_export *exp,
		      struct file *file, u64 *id);
struct rdmafsd_state *rdmafsd_state_get(struct rdmafsd_session *ses, u64 id);
void rdmafsd_state_put(struct rdmafsd_state *st);
bool rdmafsd_state_remove(struct rdmafsd_session *ses, struct rdmafsd_state *st);
void rdmafsd_states_close(struct rdmafsd_session *ses, struct rdmafsd_export *exp);
int rdmafsd_state_check_wb(struct rdmafsd_state *st);
void rdmafsd_file_close(struct file *file);

/* ---------------------------------------------------------------- requests */

/**
 * struct rdmafsd_rq - a request at work
 * @req:	transport's
 * @ses:	whose it is
 * @dec:	what is left of its body
 * @enc:	the reply, so far
 * @cred_id:	the caller's credentials, as the client named them
 * @exp:	export in use, in flight; NULL until the first handle or stateid
 * @cred:	credentials put on, NULL while the server's own are on
 * @saved:	what they cover
 * @state:	state in use; NULL if none
 * @data_len:	bytes of data put into the reply's room
 */
struct rdmafsd_rq {
	struct rdmafs_xprt_req *req;
	struct rdmafsd_session *ses;
	struct rfp_dec dec;
	struct rfp_enc enc;
	u32 cred_id;
	struct rdmafsd_export *exp;
	const struct cred *cred;
	const struct cred *saved;
	struct rdmafsd_state *state;
	u32 data_len;
};

/**
 * struct rdmafsd_change - a change that is made for a client
 * @path:   the object
 * @before: its cookie before the change; 0 if others changed it meanwhile
 * @after:  the cookie with the change
 */
struct rdmafsd_change {
	struct path path;
	u64 before;
	u64 after;
};

/*
 * An operation: returns 0 with the reply in rq->enc, a negative errno, or a
 * positive status that no errno stands for (RFP_BADCRED and the like); in the
 * latter two cases what it has put into the reply is thrown away.
 */
typedef int (*rdmafsd_op_fn)(struct rdmafsd_rq *rq);

void rdmafsd_handle(struct rdmafs_xprt_req *req, void *ctx);
bool rdmafsd_handle_now(struct rdmafs_xprt_req *req, void *ctx);

int rdmafsd_rq_dec_end(struct rdmafsd_rq *rq);
int rdmafsd_rq_enter(struct rdmafsd_rq *rq);
void rdmafsd_rq_enter_opener(struct rdmafsd_rq *rq);
void rdmafsd_rq_leave(struct rdmafsd_rq *rq);
int rdmafsd_rq_state(struct rdmafsd_rq *rq, u64 id);
int rdmafsd_rq_want_write(struct rdmafsd_rq *rq);
void rdmafsd_rq_drop_write(struct rdmafsd_rq *rq);
int rdmafsd_rq_data_put(struct rdmafsd_rq *rq, const void *data, size_t len);

void *rdmafsd_rep(struct rdmafsd_rq *rq, size_t size);
int rdmafsd_rep_attr(struct rdmafsd_rq *rq, struct dentry *dentry);
int rdmafsd_rep_attr_changed(struct rdmafsd_rq *rq, struct dentry *dentry,
			     const struct rdmafsd_change *chg);
int rdmafsd_rep_fh(struct rdmafsd_rq *rq, struct dentry *dentry);

/* ----------------------------------------------------- handles, attributes */

int rdmafsd_fh_encode(struct rdmafsd_export *exp, struct dentry *dentry, struct rfp_fh *fh);
void rdmafsd_keys_init(struct rdmafsd_export *exp);
int rdmafsd_rq_fh(struct rdmafsd_rq *rq, const struct rfp_fh *fh, struct dentry **dentry);
int rdmafsd_rq_dir(struct rdmafsd_rq *rq, const struct rfp_fh *fh, struct dentry **dentry);
bool rdmafsd_dir_inside(struct rdmafsd_export *exp, struct dentry *dir);

void rdmafsd_changes_init(void);
void rdmafsd_change_begin(struct rdmafsd_rq *rq, struct dentry *dentry,
			  struct rdmafsd_change *chg);
void rdmafsd_change_end(struct rdmafsd_change *chg);
void rdmafsd_change_none(struct rdmafsd_rq *rq, struct dentry *dentry,
			 struct rdmafsd_change *chg);
bool rdmafsd_has_version(struct inode *inode);
u64 rdmafsd_cookie_from(struct inode *inode, const struct kstat *stat);
ssize_t rdmafsd_cached_read(struct file *file, loff_t pos, struct iov_iter *to);
void rdmafsd_attrs_seen(struct rdmafsd_state *st, const struct rfp_attr *attr);
int rdmafsd_getattr_now(struct rdmafsd_state *st, struct rfp_attr *attr);
ssize_t rdmafsd_cached_pages(struct file *file, loff_t pos, size_t len, struct bio_vec *bv,
			     u32 max, u32 *nr);

int rdmafsd_cookie(const struct path *path, u64 *cookie, u64 *size);
/* What an rfp_attr is made of. */
#define RDMAFSD_STATX	(STATX_BASIC_STATS | STATX_BTIME | STATX_CHANGE_COOKIE)

void rdmafsd_attr_fill(struct inode *inode, const struct kstat *stat, u32 flags,
		       struct rfp_attr *attr);
int rdmafsd_getattr(struct rdmafsd_export *exp, struct dentry *dentry, struct rfp_attr *attr);
int rdmafsd_commit(struct rdmafsd_export *exp, struct dentry *dentry);
int rdmafsd_truncate_file(struct rdmafsd_rq *rq, struct file *file, loff_t size,
			  unsigned int extra);

/* -------------------------------------------------------------- operations */

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

umode_t rdmafsd_create_mode(struct dentry *dir, u32 mode, u32 umask);
struct dentry *rdmafsd_lookup_again(struct dentry *dir, struct dentry *dentry,
				    const struct rfp_str *name);

int rdmafsd_configfs_init(void);
void rdmafsd_configfs_exit(void);

#endif
