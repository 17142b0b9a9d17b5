/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client file system: what its files share.
 *
 * How a request travels.  A &struct rdmafs_op holds one request and one reply
 * body and the transport's call.  Synchronous operations (op.c) wait for it
 * killably; a killed waiter detaches, and the op lives on until transport has
 * called done.  Reads and writes of file data (io.c) never wait: they end in
 * a callback, which may run in softirq context.
 *
 * Lifetimes
 *	op	refs: one of its maker, one of transport from submit to done.
 *		All memory that transport may touch (request, reply, @buf) is
 *		the op's own, or stays put until its callback has run: folios
 *		under writeback or locked for reading, pages pinned by direct.c.
 *	open	refs: the struct file's, and one of each op that names its
 *		stateid.  Holds an inode reference.  The last put sends CLOSE,
 *		from a worker unless the caller may sleep.
 *	cred	refs: of opens and of ops.  Its id is given to other
 *		credentials only when nobody refers to it, so that an id
 *		travelling in a detached op keeps its meaning.
 *	inode	the VFS's.  An UNSTABLE write keeps its folios under writeback
 *		until COMMIT has answered, and those keep the inode: eviction
 *		waits for netfs requests, then cancels the commit work.
 *	mount	from fill_super to kill_sb, which waits for the opens to be
 *		closed, and for works that go on for a killed task (flush.c),
 *		before it closes the transport.
 *
 * Lock order
 *	inode->i_rwsem
 *	  mapping->invalidate_lock
 *	    netfs_inode.wb_lock
 *	      folio lock
 *		rdmafs_open.lock (reopening)
 *		  rdmafs_cred.lock (registering)
 *		    inode->i_lock
 *		      rdmafs_inode.lock (irqsave)
 *			rdmafs_mount.cred_lock (irqsave)
 *	What done callbacks take are the locks of the last two lines only.
 */
#ifndef RDMAFS_CLIENT_H
#define RDMAFS_CLIENT_H

#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/mempool.h>
#include <linux/netfs.h>
#include <linux/pagemap.h>
#include <linux/workqueue.h>
#include "coherence.h"
#include "fs/proto/codec.h"
#include "transport/xprt.h"

#define RDMAFS_MAGIC		0x72646d66	/* "rdmf" */

/* Uncommitted bytes of one inode that make a COMMIT due. */
#define RDMAFS_COMMIT_BYTES	(32U << 20)
/* And the longest that an answered write waits for one while more are in flight. */
#define RDMAFS_COMMIT_DELAY	(HZ / 20)

/* How often one operation is sent again after BADCRED or BADSTATE. */
#define RDMAFS_OP_TRIES		8

/* And after a shortage, if somebody waits: at first after so long, then twice that, ... */
#define RDMAFS_BACKOFF_MS	10
#define RDMAFS_OP_WAITS		7U

/* More than this and sleeping costs nothing in comparison. */
#define RDMAFS_POLL_US_MAX	1000

/**
 * struct rdmafs_opts - what mount(8) said
 * @addr:	the server, with port
 * @host:	what stands before the colon of the source
 * @export:	name of the export, without a leading slash
 * @slots:	RPCs outstanding at once
 * @nconnect:	connections that they are spread over
 * @reg:	when large READs register
 * @poll_us:	microseconds for which a synchronous caller polls
 * @connect_s:	seconds that the first connect may take
 * @rsize:	bytes read by one RPC at most
 * @wsize:	bytes written by one RPC at most
 * @acregmin:	seconds that a file's attributes are believed at least
 * @acregmax:	and at most
 * @acdirmin:	the same of a directory
 * @acdirmax:	likewise
 * @quota:	share of the RNIC's translations, to begin with: transport has it then
 */
struct rdmafs_opts {
	struct sockaddr_storage addr;
	char *host;
	char *export;
	u32 slots;
	u32 nconnect;
	enum rdmafs_xprt_reg reg;
	u32 poll_us;
	u32 connect_s;
	u32 rsize;
	u32 wsize;
	u32 acregmin;
	u32 acregmax;
	u32 acdirmin;
	u32 acdirmax;
	struct rpol_quota quota;
};

/**
 * enum rdmafs_pool - where an op's memory comes from when there is none
 * @RDMAFS_POOL_COMMON: operations that wait for nothing but the server and those below
 * @RDMAFS_POOL_WRITE:	writes, which may wait for a COMMIT (of the above)
 * @RDMAFS_POOL_REOPEN:	OPEN again, which any of them may need first
 * @RDMAFS_POOL_STRAY:	CLOSE of what was opened in vain, made beside the op that opened it
 * @RDMAFS_POOL_CRED:	SETCRED, which any of them may need first, too
 * @RDMAFS_NR_POOLS:	their number
 * @RDMAFS_POOL_NONE:	from none: there may be no memory; for ops whose maker holds
 *		others that can't end before it has made this one
 */
enum rdmafs_pool {
	RDMAFS_POOL_COMMON,
	RDMAFS_POOL_WRITE,
	RDMAFS_POOL_REOPEN,
	RDMAFS_POOL_STRAY,
	RDMAFS_POOL_CRED,
	RDMAFS_NR_POOLS,
	RDMAFS_POOL_NONE = RDMAFS_NR_POOLS
};

#define RDMAFS_CRED_HASH	64
#define RDMAFS_CRED_IDLE_MAX	256	/* unused credentials that are remembered */

/* Opens that are asked for at a time after the loss of a session. */
#define RDMAFS_NR_RECLAIM	8

/**
 * struct rdmafs_reclaim - one of those that open again
 * @work:  the worker's
 * @mnt:   the mount
 * @waits: how often it was told that the export is not served; its own
 */
struct rdmafs_reclaim {
	struct delayed_work work;
	struct rdmafs_mount *mnt;
	unsigned int waits;
};

/**
 * struct rdmafs_mount - one mount
 * @xprt:	its session
 * @sb:		its superblock
 * @opts:	its options
 * @root_fh:	handle of the export's root
 * @export_flags: RFP_EXPORT_*
 * @rsize:	bytes of one READ at most
 * @wsize:	bytes of one WRITE at most
 * @io_wq:	works that wait for the server and for no other work: sending
 *		again, COMMIT, CLOSE
 * @fill_wq:	works that hold a folio and wait for those of @io_wq: reading it
 * @file_wq:	works that wait for folios, and so for those of the other two: flushing
 * @dio_wq:	the end of direct writes, which waits for who has stores wait, and that for
 *		those of @file_wq
 * @tell_wq:	works that wait for nothing: a task that exits is told that its requests
 *		are over
 * @op_pools:	memory for ops when there is none
 * @session:	generation of the session; ids and stateids of an older one are void
 * @clock:	ticks with every change made by us, and with every answer about attributes;
 *		tells which attributes may be older than what is known
 * @forced:	how often umount -f was called
 * @given_up:	of the task that called umount -f without a server, when it was made;
 *		0 if none did, or the export has been served since
 * @offline:	the server answers, but has said last that it does not serve the export
 * @ending:	that task ends the mount: an export that is not served is not waited for
 * @heard:	when the server answered last, in jiffies
 * @no_late:	the mount ends, and no open is made any more for pages dirtied late
 * @nr_opens:	opens not yet closed, and works that hold inodes
 * @opens_wait:	woken when @nr_opens falls to 0
 * @reclaim:	open again what a lost session had open
 * @opens_lock:	guards the next two; a leaf
 * @opens:	all opens but those below; those that were asked for in the present session
 *		last
 * @opens_later: those that are asked for when all of the former have been (reclaim.c)
 * @cred_lock:	protects the five below
 * @creds:	known credentials by hash
 * @cred_idle:	those without references, least recently used first
 * @nr_idle:	how many they are
 * @cred_next:	the id that was never given away
 * @cred_serial: rdmafs_cred.serial of the last one made
 */
struct rdmafs_mount {
	struct rdmafs_xprt *xprt;
	struct super_block *sb;
	struct rdmafs_opts opts;
	struct rfp_fh root_fh;
	u32 export_flags;
	u32 rsize;
	u32 wsize;
	struct workqueue_struct *io_wq;
	struct workqueue_struct *fill_wq;
	struct workqueue_struct *file_wq;
	struct workqueue_struct *dio_wq;
	struct workqueue_struct *tell_wq;
	mempool_t *op_pools[RDMAFS_NR_POOLS];
	atomic_t session;
	atomic64_t clock;
	atomic_t forced;
	u64 given_up;
	bool offline;
	bool ending;
	bool no_late;
	unsigned long heard;
	atomic_t nr_opens;
	wait_queue_head_t opens_wait;
	struct rdmafs_reclaim reclaim[RDMAFS_NR_RECLAIM];
	spinlock_t opens_lock;	/* the opens; a leaf */
	struct list_head opens;
	struct list_head opens_later;

	spinlock_t cred_lock; /* protects what follows; see the lock order */
	struct hlist_head creds[RDMAFS_CRED_HASH];
	struct list_head cred_idle;
	unsigned int nr_idle;
	u32 cred_next;
	u64 cred_serial;
};

/**
 * struct rdmafs_cred - credentials as the server knows them
 * @hash:	in rdmafs_mount.creds
 * @idle:	in rdmafs_mount.cred_idle while @ref is 0
 * @mnt:	of this mount
 * @ref:	users, under cred_lock
 * @serial:	never the same for two, as @id is, which is used again
 * @id:		its name on the wire
 * @session:	in which session it was registered, 0 if in none
 * @lock:	held while it is being registered
 * @uid:	file system user
 * @gid:	file system group
 * @groups:	supplementary groups
 */
struct rdmafs_cred {
	struct hlist_node hash;
	struct list_head idle;
	struct rdmafs_mount *mnt;
	unsigned int ref;
	u64 serial;
	u32 id;
	int session;
	struct mutex lock; /* serialises registration */
	kuid_t uid;
	kgid_t gid;
	struct group_info *groups;
};

/* struct rdmafs_inode.flags */
#define RDMAFS_I_STASH		0	/* @stash holds attributes */
#define RDMAFS_I_STALE		1	/* the server does not know the handle any more */
#define RDMAFS_I_STORED		2	/* mappings have stored into it; see @late */
#define RDMAFS_I_UNSURE		3	/* the size is not known; see @unknown */
#define RDMAFS_I_WRITING	4	/* i_rwsem is held by rdmafs_lock_write() */

#define RDMAFS_NR_ACCESS	4	/* callers whose rights are remembered */

/**
 * struct rdmafs_inode - our part of an inode
 * @netfs:	netfs' part with the VFS inode; must be first
 * @fh:		handle
 * @btime:	creation
 * @attr_flags:	RFP_ATTR_*
 * @writers:	tasks that may extend the file in memory at this moment
 * @syncing:	fsyncs under way: a lone write goes out FILE_SYNC
 * @written:	counts what was written without all metadata
 * @synced:	what @written was before a COMMIT with metadata that has been answered;
 *		raised under @lock
 * @fence:	changes that killed tasks have left behind: others wait (fence.c)
 * @stores:	held by stores of mappings, until the page is dirty, and against them by
 *		appends, direct writes that lengthen the file (direct.c) and writes behind
 *		a hole; between i_rwsem and invalidate_lock
 * @lock:	protects what follows; irqsave, taken by done callbacks
 * @flags:	RDMAFS_I_*
 * @coh:	what may be believed of what is cached
 * @unknown:	how often a change of ours was over and nobody knew what it had done
 * @expires:	jiffies from which on its attributes are asked for again
 * @timeo:	how long they were believed last, in jiffies
 * @access:	what the server lets callers do that it sees otherwise than we
 *		(RFP_ACCESS_*), by rdmafs_cred.serial
 * @stash:	attributes that came with a write's reply, to be taken over
 *		where one may sleep
 * @stash_clock: the mount's clock when that write was sent
 * @opens:	opens of the file
 * @late:	what the last open for writing was, for pages that become dirty after it
 * @issuing:	calls of writepages under way
 * @held:	the last write of writepages, not sent yet: if it stays the
 *		only one it needs no COMMIT
 * @inflight:	writes of writepages sent and not answered
 * @uncommitted: answered ones that wait for a COMMIT
 * @uncommitted_bytes: how much they are
 * @commit_work: sends it
 */
struct rdmafs_inode {
	struct netfs_inode netfs;
	struct rfp_fh fh;
	struct timespec64 btime;
	u32 attr_flags;
	atomic_t writers;
	atomic_t syncing;
	atomic64_t written;
	atomic64_t synced;
	atomic_t fence;
	struct rw_semaphore stores;

	spinlock_t lock; /* protects what follows; see the lock order */
	unsigned long flags;
	struct rdmafs_coh coh;
	unsigned int unknown;
	unsigned long expires;
	unsigned long timeo;
	struct {
		u64 serial;
		u32 may;
	} access[RDMAFS_NR_ACCESS];
	struct rfp_attr stash;
	u64 stash_clock;
	struct list_head opens;
	struct {
		struct rdmafs_cred *cred;
		struct rfp_proof proof;
		u32 flags;
	} late;

	unsigned int issuing;
	struct rdmafs_op *held;
	unsigned int inflight;
	struct list_head uncommitted;
	u64 uncommitted_bytes;
	struct delayed_work commit_work;
};

/**
 * struct rdmafs_open - an open of a file, as the server knows it
 * @link:	in rdmafs_inode.opens
 * @all:	in rdmafs_mount.opens or opens_later
 * @asked:	the session in which it was opened, or last tried to be
 * @again:	in opens_later: not to be tried before, in jiffies
 * @ref:	users
 * @inode:	the file, referenced
 * @cred:	the opener's
 * @flags:	RFP_OPEN_READ, _WRITE, _EXEC
 * @stateid:	the server's name for it; changes with @session, under rdmafs_inode.lock
 * @proof:	shows the server that it was granted; under @lock once it is made
 * @session:	in which session, 0 if the server forgot it
 * @forgot:	in which session the server did so last
 * @lock:	held while it is opened again
 * @work:	closes it
 */
struct rdmafs_open {
	struct list_head link;
	struct list_head all;
	int asked;
	unsigned long again;
	refcount_t ref;
	struct inode *inode;
	struct rdmafs_cred *cred;
	u32 flags;
	u64 stateid;
	struct rfp_proof proof;
	int session;
	int forgot;
	struct mutex lock; /* serialises opening again */
	struct work_struct work;
};

struct rdmafs_op;

/**
 * struct rdmafs_io - what a READ or WRITE has besides
 * @iter:	all of its data, not advanced
 * @pos:	where in the file; the server's answer for an append
 * @len:	bytes
 * @done:	of these, how many are there
 * @limit:	most bytes that one RPC may carry, 0 if there is no such bound
 * @stable:	what is asked for; lowest of what was answered
 * @flags:	RFP_WRITE_*
 * @verifier:	under which it was written
 * @answered:	@verifier was set
 * @mixed:	parts were written under different verifiers
 * @eof:	a read found the end of the file
 * @again:	0, or the status (-errno of op.c) that a worker has to mend
 * @later:	sends it again, or sends the rest
 * @finish:	called once, in any context
 * @priv:	the caller's
 * @link:	the caller's
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
 * @call:	transport's part
 * @mnt:	the mount
 * @enc:	encoder of the request
 * @cred:	whose request it is, referenced
 * @bare:	a SETCRED: @cred need not be known to the server first
 * @open:	the open whose stateid it names, referenced, or NULL
 * @stateid:	where in the request
 * @session:	the session as it was when ids were filled in
 * @answered:	the session in which a synchronous op was answered
 * @clock:	the mount's clock as it was when it was sent
 * @ref:	see Lifetimes above
 * @state:	whether its waiter is still there
 * @tries:	how often ids that the server did not know were renewed
 * @waits:	how often it was sent again after a shortage
 * @forced:	rdmafs_mount.forced as it was when it was made, or, of one that renews an
 *		open or a credential, when that was made which needs it
 * @pool:	where its memory came from
 * @patient:	a shortage is waited for until it is over: what is given up is lost
 * @closes:	an OPEN or CREATE: what it opens is to be closed if nobody waits
 * @fence:	changes what this file holds: what comes after it waits if nobody else does
 * @once:	EAGAIN of the server is for its maker, who can't wait
 * @brief:	its maker tries again later: nothing but the answer is waited for
 * @sent:	it reached transport, the last time
 * @done:	completed by transport
 * @work:	what can't be done in a callback
 * @buf:	memory for the data of a synchronous operation
 * @kvec:	the same for the iterator
 * @io:		if it is a READ or a WRITE
 * @req:	request body
 * @rep:	reply body
 */
struct rdmafs_op {
	struct rdmafs_xprt_call call;
	struct rdmafs_mount *mnt;
	struct rfp_enc enc;
	struct rdmafs_cred *cred;
	struct rdmafs_open *open;
	struct inode *fence;
	__le64 *stateid;
	int session;
	int answered;
	u64 clock;
	refcount_t ref;
	atomic_t state;
	unsigned int tries;
	unsigned int waits;
	int forced;
	enum rdmafs_pool pool;
	bool bare;
	bool patient;
	bool closes;
	bool once;
	bool brief;
	bool sent;
	struct completion done;
	struct work_struct work;
	void *buf;
	struct kvec kvec;
	struct rdmafs_io io;
	u8 req[RDMAFS_XPRT_BODY_MAX] __aligned(8);
	u8 rep[RDMAFS_XPRT_BODY_MAX] __aligned(8);
};

static inline struct rdmafs_inode *RDMAFS_I(struct inode *inode)
{
	return container_of(inode, struct rdmafs_inode, netfs.inode);
}

static inline struct rdmafs_mount *RDMAFS_M(struct super_block *sb)
{
	return sb->s_fs_info;
}

/* The open of a regular file. */
static inline struct rdmafs_open *rdmafs_file_open(struct file *file)
{
	return file->private_data;
}

/* op.c */
int rdmafs_op_init(void);
void rdmafs_op_exit(void);
int rdmafs_op_pools_init(struct rdmafs_mount *mnt);
void rdmafs_op_pools_destroy(struct rdmafs_mount *mnt);
struct rdmafs_op *rdmafs_op_new(struct rdmafs_mount *mnt, enum rfp_op nr, size_t size);
struct rdmafs_op *rdmafs_op_new_open(struct rdmafs_open *open, enum rfp_op nr, size_t size,
				     size_t stateid_off, enum rdmafs_pool pool);
struct rdmafs_op *rdmafs_op_new_cred(struct rdmafs_mount *mnt, enum rfp_op nr, size_t size,
				     struct rdmafs_cred *cred, enum rdmafs_pool pool);
void rdmafs_op_put(struct rdmafs_op *op);
int rdmafs_op_buf(struct rdmafs_op *op, enum rdmafs_xprt_dir dir, size_t size);
void rdmafs_op_use_open(struct rdmafs_op *op, struct rdmafs_open *open, __le64 *where);
int rdmafs_op_prepare(struct rdmafs_op *op, bool nowait);
int rdmafs_op_status(struct rdmafs_op *op);
bool rdmafs_op_mend(struct rdmafs_op *op, int err);
unsigned long rdmafs_backoff(unsigned int *waits);
unsigned long rdmafs_op_backoff(struct rdmafs_op *op, int err);
int rdmafs_op_run(struct rdmafs_op *op);
const void *rdmafs_op_reply(struct rdmafs_op *op, struct rfp_dec *dec, size_t size);
int rdmafs_errno(int err);

/* What rdmafs_op_status() says besides errnos; never seen outside of op.c and io.c. */
#define RDMAFS_EBADCRED		10001
#define RDMAFS_EBADSTATE	10002
#define RDMAFS_EOFFLINE		10003

/* cred.c */
struct rdmafs_cred *rdmafs_cred_current(struct rdmafs_mount *mnt);
struct rdmafs_cred *rdmafs_cred_get(struct rdmafs_cred *cred);
void rdmafs_cred_put(struct rdmafs_cred *cred);
int rdmafs_cred_ready(struct rdmafs_cred *cred, int forced);
void rdmafs_cred_init(struct rdmafs_mount *mnt);
void rdmafs_cred_destroy(struct rdmafs_mount *mnt);

/* open.c */
struct rdmafs_open *rdmafs_open_new(struct inode *inode, struct rdmafs_cred *cred, u32 flags,
				    const struct rfp_open_rep *rep, int session);
int rdmafs_open_send(struct inode *inode, u32 flags, struct rdmafs_open **openp);
int rdmafs_open_dentry(struct dentry *dentry, u32 flags, struct rdmafs_open **openp);
struct rdmafs_open *rdmafs_open_get(struct rdmafs_open *open);
struct rdmafs_open *rdmafs_open_find(struct inode *inode, u32 flags);
struct rdmafs_open *rdmafs_open_late(struct inode *inode);
void rdmafs_open_late_forget(struct rdmafs_inode *ri);
int rdmafs_open_ready(struct rdmafs_open *open, int forced);
void rdmafs_open_unknown(struct rdmafs_open *open, int session, u64 stateid);
int rdmafs_open_again(struct rdmafs_open *open);
void rdmafs_open_put(struct rdmafs_open *open);
void rdmafs_opens_dec(struct rdmafs_mount *mnt);
void rdmafs_open_put_sync(struct rdmafs_open *open);
void rdmafs_open_undo(struct rdmafs_op *op);
int rdmafs_open_rep_check(const struct rfp_open_rep *rep, u32 may);

/* reclaim.c */
void rdmafs_opens_init(struct rdmafs_mount *mnt);
void rdmafs_opens_exit(struct rdmafs_mount *mnt);
void rdmafs_opens_reclaim(struct rdmafs_mount *mnt);

/* umount.c */
bool rdmafs_served(struct rdmafs_mount *mnt);
void rdmafs_heard(struct rdmafs_mount *mnt);
void rdmafs_heard_export(struct rdmafs_mount *mnt, bool offline);
void rdmafs_umount_begin(struct super_block *sb);
void rdmafs_umount_wait(struct rdmafs_mount *mnt);

/* lock.c */
int rdmafs_lock_read(struct inode *inode);
int rdmafs_lock_write(struct inode *inode);
void rdmafs_unlock_write(struct inode *inode);
int rdmafs_dio_lock(struct inode *inode, bool write, bool nowait);
int rdmafs_dio_clear(struct kiocb *iocb, size_t count, bool write);
int rdmafs_dio_privs(struct kiocb *iocb);

/* fence.c */
bool rdmafs_fenced(struct inode *inode);
void rdmafs_fence_begin(struct inode *inode);
void rdmafs_fence_end(struct inode *inode);
int rdmafs_fence_wait(struct inode *inode);
void rdmafs_change_unknown(struct inode *inode);
bool rdmafs_size_unsure(struct inode *inode);
void rdmafs_fence_op(struct rdmafs_op *op);
void rdmafs_fence_op_put(struct rdmafs_op *op);

/* flush.c */
int rdmafs_wait(struct rdmafs_mount *mnt, struct completion *done);
int rdmafs_flush_range(struct inode *inode, loff_t start, loff_t end);
int rdmafs_flush(struct inode *inode);
void rdmafs_flush_put(struct rdmafs_open *open);
int rdmafs_drop_range(struct inode *inode, loff_t start, loff_t end);
int rdmafs_read_folio(struct file *file, struct folio *folio);
int rdmafs_write_ready(struct inode *inode, loff_t pos, size_t len);
int rdmafs_dio_wait(struct inode *inode);

/* program.c */
bool rdmafs_program_over(struct mm_struct *mm);

/* io.c */
struct rdmafs_op *rdmafs_io_new(struct rdmafs_open *open, bool write, enum rdmafs_pool pool);
void rdmafs_io_start(struct rdmafs_op *op, bool nowait);

/* access.c */
bool rdmafs_access_differs(struct rdmafs_mount *mnt);
void rdmafs_access_ask(struct rdmafs_op *op);
void rdmafs_access_note(struct inode *inode, struct rdmafs_op *op, const struct rfp_attr *attr);
int rdmafs_permission(struct mnt_idmap *idmap, struct inode *inode, int mask);

/* attr.c */
int rdmafs_attr_fetch(struct inode *inode, u32 *access);
int rdmafs_attr_check(struct super_block *sb, const struct rfp_attr *attr);
void rdmafs_attr_init(struct inode *inode, const struct rfp_attr *attr);
void rdmafs_attr_fresh(struct inode *inode, const struct rfp_attr *attr, u64 clock);
void rdmafs_attr_own_begin(struct inode *inode);
void rdmafs_attr_own_end(struct inode *inode, const struct rfp_attr *attr, u64 clock);
void rdmafs_attr_own_end_atomic(struct inode *inode, const struct rfp_attr *attr, u64 clock);
void rdmafs_resize_begin(struct inode *inode);
void rdmafs_resize_end(struct inode *inode, loff_t own, loff_t size);
void rdmafs_attr_expire(struct inode *inode);
bool rdmafs_attr_expired(struct inode *inode);
int rdmafs_revalidate(struct inode *inode, bool force);
int rdmafs_getattr(struct mnt_idmap *idmap, const struct path *path, struct kstat *stat,
		   u32 request_mask, unsigned int query_flags);
int rdmafs_setattr(struct mnt_idmap *idmap, struct dentry *dentry, struct iattr *attr);

/* mapping.c */
void rdmafs_pages_moved_locked(struct rdmafs_inode *ri, enum rdmafs_pages old);
void rdmafs_pages_stale(struct inode *inode);
bool rdmafs_pages_valid(struct inode *inode);
bool rdmafs_pages_still_valid(struct inode *inode);
int rdmafs_revalidate_mapping(struct inode *inode, bool attrs);
int rdmafs_open_mapping(struct inode *inode);
bool rdmafs_busy(struct inode *inode);
bool rdmafs_tail_dirty(struct inode *inode);
int rdmafs_zero_tail(struct inode *inode, loff_t from);
int rdmafs_tail_keep(struct inode *inode, loff_t from);
int rdmafs_leave_hole(struct inode *inode, loff_t from);
int rdmafs_leave_hole_unlocked(struct inode *inode);

/* inode.c */
int rdmafs_inode_init(void);
void rdmafs_inode_exit(void);
struct inode *rdmafs_alloc_inode(struct super_block *sb);
void rdmafs_free_inode(struct inode *inode);
void rdmafs_evict_inode(struct inode *inode);
struct inode *rdmafs_iget(struct super_block *sb, const struct rfp_fh *fh,
			  const struct rfp_attr *attr, u64 clock);
bool rdmafs_same_fh(struct inode *inode, const struct rfp_fh *fh);

/* namei.c */
extern const struct inode_operations rdmafs_dir_iops;
extern const struct inode_operations rdmafs_symlink_iops;
extern const struct dentry_operations rdmafs_dentry_ops;
void rdmafs_dentry_fresh(struct dentry *dentry, unsigned long verifier);
unsigned long rdmafs_dir_verifier(struct inode *dir);

/* dir.c */
extern const struct file_operations rdmafs_dir_fops;

/* listing.c */
#define RDMAFS_LISTING_NONE	ULONG_MAX	/* not known where, or not to be kept */

/**
 * struct rdmafs_listing - a reply to READDIR, and where it is kept
 * @index:  first page of it in the directory's page cache
 * @cookie: that it begins after
 * @cred:   rdmafs_cred.serial of who asked
 * @change: the directory's change cookie, when it was asked for and then
 * @data:   entries
 * @count:  bytes of them
 * @eof:    the directory ends with it
 */
struct rdmafs_listing {
	pgoff_t index;
	u64 cookie;
	u64 cred;
	u64 change;
	void *data;
	u32 count;
	bool eof;
};

u64 rdmafs_listing_change(struct inode *dir);
int rdmafs_listing_load(struct inode *dir, struct rdmafs_listing *l);
void rdmafs_listing_keep(struct inode *dir, struct rdmafs_listing *l, unsigned long sent);

/* file.c */
extern const struct inode_operations rdmafs_file_iops;
extern const struct inode_operations rdmafs_special_iops;
extern const struct file_operations rdmafs_file_fops;
u32 rdmafs_open_flags(const struct file *file);
void rdmafs_file_attach(struct file *file, struct rdmafs_open *open);
int rdmafs_file_open_atomic(struct inode *inode, struct file *file);

/* buffered.c */
extern const struct address_space_operations rdmafs_aops;
extern const struct netfs_request_ops rdmafs_netfs_ops;
ssize_t rdmafs_buffered_read(struct kiocb *iocb, struct iov_iter *iter);
ssize_t rdmafs_buffered_write(struct kiocb *iocb, struct iov_iter *from);
vm_fault_t rdmafs_page_mkwrite(struct vm_fault *vmf);

/* direct.c */
ssize_t rdmafs_direct_read(struct kiocb *iocb, struct iov_iter *iter);
ssize_t rdmafs_direct_write(struct kiocb *iocb, struct iov_iter *from);
ssize_t rdmafs_append_write(struct kiocb *iocb, struct iov_iter *from);

/* commit.c */
void rdmafs_commit_work(struct work_struct *work);
void rdmafs_commit_issue(struct rdmafs_open *open, struct netfs_io_subrequest *subreq);
void rdmafs_commit_begin(struct rdmafs_inode *ri);
void rdmafs_commit_end(struct rdmafs_inode *ri);
int rdmafs_commit_send(struct rdmafs_open *open, bool meta, u64 *verifier);
int rdmafs_fsync(struct file *file, loff_t start, loff_t end, int datasync);

/* xattr.c */
extern const struct xattr_handler * const rdmafs_xattr_handlers[];
ssize_t rdmafs_listxattr(struct dentry *dentry, char *list, size_t size);
int rdmafs_getxattr(struct inode *inode, const char *name, void *value, size_t size);
int rdmafs_setxattr(struct inode *inode, const char *name, const void *value, size_t size,
		    u32 flags);
int rdmafs_removexattr(struct inode *inode, const char *name);

/* acl.c */
struct posix_acl *rdmafs_get_inode_acl(struct inode *inode, int type, bool rcu);
int rdmafs_set_acl(struct mnt_idmap *idmap, struct dentry *dentry, struct posix_acl *acl,
		   int type);

/* super.c */
extern struct file_system_type rdmafs_type;

#endif
