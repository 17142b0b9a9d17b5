/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This header declares operations, each of which is a request and its reply (op_make.c, op.c), and
 * READ and WRITE of file data (io.c).
 */
#ifndef RDMAFS_CLIENT_OP_H
#define RDMAFS_CLIENT_OP_H

#include <linux/completion.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#include "client.h"

/* An operation fails when the server has answered it BADCRED or BADSTATE this many times. */
#define RDMAFS_OP_TRIES		8

/*
 * After a shortage an operation is sent again after this long, and then after twice as long
 * each time, up to RDMAFS_OP_WAITS times unless it is patient.
 */
#define RDMAFS_BACKOFF_MS	10
#define RDMAFS_OP_WAITS		7U

/**
 * struct rdmafs_io - the part of an op that READ and WRITE need
 * @iter:	all of its data, not advanced
 * @pos:	offset in the file; for an append, the offset that the server has chosen
 * @len:	bytes
 * @done:	bytes of @len that have been read or written
 * @limit:	most bytes that one RPC may carry, 0 if there is no limit
 * @stable:	the stability that is asked for, RFP_UNSTABLE to RFP_FILE_SYNC
 * @flags:	RFP_WRITE_*
 * @verifier:	the server's verifier of the parts that were written unstably
 * @answered:	a part was written unstably, and @verifier is set
 * @mixed:	parts were written under different verifiers
 * @eof:	a read found the end of the file
 * @again:	0, or the status (-RDMAFS_EBADCRED, ...) that the worker has to mend
 * @later:	the worker: sends the op again, or sends the rest
 * @finish:	called once, in process or softirq context
 * @priv:	the caller's
 * @link:	the caller's
 *
 * The caller fills in @iter, @pos, @len, @stable, @flags and @finish before rdmafs_io_start(),
 * and clears @done, @answered and @mixed if it sends the op once more.  From then until @finish
 * the fields belong to io.c, which runs in one place at a time; after @finish they are the
 * caller's again.
 */
struct rdmafs_io {
	struct iov_iter iter;
	loff_t pos;
	size_t len;
	size_t done;
	size_t limit;
	u32 stable;
	u32 flags;
	u64 verifier;
	bool answered;
	bool mixed;
	bool eof;
	int again;
	struct delayed_work later;
	void (*finish)(struct rdmafs_op *op, int err);
	void *priv;
	struct list_head link;
};

/**
 * struct rdmafs_op - one operation
 * @call:	transport's part; transport's from submit to done.  Its deadline is that of all that
 *		is done for the op: each time that it is sent, and what has to be asked for before,
 *		as the ops that renew an open or a credential take it over, like @forced
 * @mnt:	the mount
 * @super:	the superblock of the file that it names, whose export the answer tells of; it is
 *		there as long as a task runs the op, or the op has an open.  NULL: it may be gone
 * @enc:	encoder of the request
 * @cred:	credentials with which it is executed, referenced
 * @bare:	@cred need not be known to the server first, and the answer does not tell whether it
 *		serves the export: a SETCRED, or the ATTACH of a mount that may share
 * @open:	the open whose stateid it names, referenced, or NULL
 * @stateid:	where the stateid stands in the request; NULL if the op is part of opening @open
 *		again, and names the stateid that it will have
 * @source:	the open that it copies from, referenced, or NULL
 * @source_id:	where the stateid of @source stands in the request
 * @session:	the session whose ids were filled in last
 * @answered:	the session in which a synchronous op was answered
 * @clock:	the mount's clock when the op was prepared last
 * @ref:	see Lifetimes above
 * @state:	RDMAFS_OP_*: whether a task still waits for a synchronous op
 * @tries:	how often it failed because the server did not know an id
 * @waits:	how often it was sent again after a shortage
 * @forced:	rdmafs_mount.forced when the op was made, or, for a READ or WRITE, started last.
 *		For an op that renews an open or a credential: that of the op that needs it
 * @leave:	its task waits no longer than until then, in jiffies, and leaves it as if it were
 *		killed; 0: the answer is waited for.  For a synchronous op, and the op that renews
 *		its credential
 * @pool:	where its memory came from
 * @patient:	it is tried until the shortage is over, because giving up would lose data
 * @closes:	an OPEN, CREATE or TMPFILE: if its task is gone, what it opens is closed
 * @fence:	an inode whose size or contents the op changes, or NULL: if its task is gone,
 *		later changes wait for the op (fence.c)
 * @locks:	a LOCK or UNLOCK: if its task is gone, a worker makes the server's locks those
 *		that are recorded here (lock_request.c)
 * @once:	if the server answers EAGAIN the op fails, as its maker can't wait
 * @brief:	its maker tries again later, so that it waits for nothing but the answer
 * @repeats:	after an error of the server it may be sent again: to execute it twice does no harm
 * @sent:	the last rdmafs_op_send() has handed it to transport
 * @twice:	it is synchronous, and may have been executed before it was answered last: it was
 *		answered in another session than that whose ids it has, or sent again after an error
 * @done:	transport has completed it
 * @work:	does what a callback can't
 * @buf:	memory for the data of a synchronous operation; the op's own
 * @kvec:	describes @buf for the iterator
 * @io:		used if it is a READ or a WRITE
 * @req:	request body
 * @rep:	reply body
 *
 * While an op is not submitted its fields belong to its maker.  From submit to done a waiting
 * task changes only @state and @ref.  After done the fields are the task's again or, if it has
 * detached, the worker's that ends the op.
 */
struct rdmafs_op {
	struct rdmafs_xprt_call call;
	struct rdmafs_mount *mnt;
	struct rdmafs_super *super;
	struct rfp_enc enc;
	struct rdmafs_cred *cred;
	struct rdmafs_open *open;
	struct inode *fence;
	__le64 *stateid;
	struct rdmafs_open *source;
	__le64 *source_id;
	int session;
	int answered;
	u64 clock;
	refcount_t ref;
	atomic_t state;
	unsigned int tries;
	unsigned int waits;
	int forced;
	unsigned long leave;
	enum rdmafs_pool pool;
	bool bare;
	bool patient;
	bool closes;
	bool locks;
	bool once;
	bool brief;
	bool repeats;
	bool sent;
	bool twice;
	struct completion done;
	struct work_struct work;
	void *buf;
	struct kvec kvec;
	struct rdmafs_io io;
	u8 req[RDMAFS_XPRT_BODY_MAX] __aligned(8);
	u8 rep[RDMAFS_XPRT_BODY_MAX] __aligned(8);
};

/* op_make.c */
int rdmafs_op_init(void);
void rdmafs_op_exit(void);
int rdmafs_op_pools_init(struct rdmafs_mount *mnt);
void rdmafs_op_pools_destroy(struct rdmafs_mount *mnt);
struct rdmafs_op *rdmafs_op_new(struct rdmafs_super *super, enum rfp_op nr, size_t size);
struct rdmafs_op *rdmafs_op_new_open(struct rdmafs_open *open, enum rfp_op nr, size_t size,
				     size_t stateid_off, enum rdmafs_pool pool);
struct rdmafs_op *rdmafs_op_new_cred(struct rdmafs_super *super, enum rfp_op nr, size_t size,
				     struct rdmafs_cred *cred, enum rdmafs_pool pool);
void rdmafs_op_put(struct rdmafs_op *op);
int rdmafs_op_buf(struct rdmafs_op *op, enum rdmafs_xprt_dir dir, size_t size);
void rdmafs_op_use_open(struct rdmafs_op *op, struct rdmafs_open *open, __le64 *where);
void rdmafs_op_use_source(struct rdmafs_op *op, struct rdmafs_open *open, __le64 *where);
void rdmafs_op_time(struct rdmafs_op *op);
void rdmafs_op_may_repeat(struct rdmafs_op *op);
void rdmafs_op_not_blindly(struct rdmafs_op *op);

/* op.c */
int rdmafs_op_prepare(struct rdmafs_op *op, bool nowait);
int rdmafs_op_status(struct rdmafs_op *op);
bool rdmafs_op_mend(struct rdmafs_op *op, int err);
unsigned long rdmafs_backoff(unsigned int *waits);
unsigned long rdmafs_op_backoff(struct rdmafs_op *op, int *err);
int rdmafs_op_run(struct rdmafs_op *op);
bool rdmafs_op_left(struct rdmafs_op *op);
bool rdmafs_op_state_unknown(struct rdmafs_op *op);
const void *rdmafs_op_reply(struct rdmafs_op *op, struct rfp_dec *dec, size_t size);
int rdmafs_op_errno(const struct rdmafs_op *op, int err);

/*
 * rdmafs_op_status() returns these besides errnos; they do not leave op.c and io.c.  Only the last
 * two are also what rdmafs_op_run() returns to callers that ask for a lock, and EBADSTATE is also
 * what lock_reclaim.c tells open.c.
 */
#define RDMAFS_EBADCRED		10001
#define RDMAFS_EBADSTATE	10002
#define RDMAFS_EOFFLINE		10003
#define RDMAFS_EBADSOURCE	10004
#define RDMAFS_EGRACE		10005
#define RDMAFS_ENOGRACE		10006

/* io.c */
struct rdmafs_op *rdmafs_io_new(struct rdmafs_open *open, bool write, enum rdmafs_pool pool);
void rdmafs_io_start(struct rdmafs_op *op, bool nowait);

#endif
