/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client file system: the header that its files share.
 *
 *	super.c		mounting; options.c the options, share.c mounts that share a superblock,
 *			submount.c file systems below a mount, umount.c the end of a mount and
 *			umount -f
 *	op.c		from a request body to an errno; op_make.c makes what it runs; io.c READ
 *			and WRITE of file data; unanswered.c calls whose answer was lost with the
 *			session, by the rules of outcome.c
 *	cred.c		credentials of callers; access.c what they may do, without asking
 *	inode.c		inodes; attr.c their attributes, by the rules of coherence.c; setattr.c
 *			changes of them
 *	export.c	handles of them for programs, and for servers that export the mount again
 *	lookup.c	names that are looked up, or believed; namei.c changes of names; by_name.c
 *			opening a file by its name; dir.c reading directories, listing.c replies
 *			that are kept for it, ahead.c because of single names
 *	open.c		opens at the server; reclaim.c opening again what a lost session had open
 *	tmpfile.c	files that are made without a name
 *	file.c		open files but reading and writing; lock.c the locks for these
 *	filelock.c	fcntl(2)'s and flock(2)'s locks; lock_request.c the requests for them, and
 *			those that killed tasks leave; lock_record.c their record in the VFS;
 *			lock_reclaim.c those of a lost session; events.c wakes who waits for one
 *	grace.c		the time in which the server grants no others
 *	buffered.c	through the page cache; mapping.c which cached pages are valid; flush.c
 *			waiting for writeback; commit.c when a page is clean
 *	direct.c	O_DIRECT; direct_part.c the pages of one part; append.c O_APPEND
 *	copy.c		copy_file_range(2), FICLONE, FIDEDUPERANGE: the server does it
 *	fence.c		changes that a killed task has left; program.c is a program at its end?
 *	xattr.c, acl.c	extended attributes and ACLs
 *	fileattr.c	what chattr(1) sets
 *	seclabel.c	labels of SELinux that the server keeps
 *
 * How a request travels.  A &struct rdmafs_op holds one request and one reply
 * body and the transport's call.  A task that runs a synchronous operation
 * (op.c) waits for it killably.  If the task is killed it detaches, and the op
 * lives on until transport has called done.  Reads and writes of file data
 * (io.c) do not wait for the answer: they end in a callback, which may run in
 * softirq context.
 *
 * Lifetimes
 *	op	refs: one of its maker, one of transport from submit to done.
 *		The memory that transport may touch (request, reply, @buf)
 *		belongs to the op.  Memory that does not belong to it stays in
 *		place until the callback has run: folios that are under
 *		writeback or locked for reading, pages that direct.c has pinned.
 *	open	refs: one of the struct file, one of each op that names its
 *		stateid, one of a task that has its locks taken again.  It holds
 *		a reference to the inode.  The last put has CLOSE sent, by a
 *		worker unless the caller may sleep.
 *	cred	refs: of opens and of ops.  Its id is given to other
 *		credentials only when it has no reference, so that an id in a
 *		detached op keeps its meaning.
 *	inode	refs: the VFS's.  The folios of an UNSTABLE write stay under
 *		writeback until COMMIT has been answered, and keep the inode:
 *		eviction waits for netfs requests, then cancels the commit work.
 *	mount	from fill_super to kill_sb.  Before kill_sb closes the transport
 *		it waits until opens are closed and until works have ended that
 *		go on after their task was killed (nr_opens).
 *	submount	likewise (struct rdmafs_super); it has a reference to the superblock
 *		of the mount, and so to the mount, whose session it uses.
 *	lock	the record is the VFS's (struct file_lock), and its file keeps the open.  A
 *		request that waits is on the stack of its task (filelock.c); one that a
 *		killed task has left is a LOCK or UNLOCK op, which a worker puts.
 *
 * Lock order
 *	inode->i_rwsem (of two files: rdmafs_lock_copy())
 *	  rdmafs_inode.stores
 *	    mapping->invalidate_lock
 *	      netfs_inode.wb_lock
 *		folio lock
 *		  rdmafs_open.lock (reopening)
 *		    rdmafs_cred.lock (registering)
 *		      inode->i_lock
 *			rdmafs_inode.lock (irqsave)
 *			  rdmafs_mount.cred_lock (irqsave)
 *	Of these a done callback takes the last two only.
 *	rdmafs_inode.locking is outside of rdmafs_open.lock too, and is taken with none of the locks
 *	before that one held.  A task that holds it waits for the server.
 *	rdmafs_inode.recording is inside of both.  In it only the VFS's locks are taken, and
 *	rdmafs_inode.lock (rdmafs_open_put()).
 *	rdmafs_mount.opens_lock is a leaf, taken in process context only.  lock_lock and supers_lock
 *	(both irqsave) are leaves, too.  supers_mutex is outside of s_umount of a superblock that is
 *	being made; its holder does not wait for the server.
 *	rdmafs_makings_lock (share.c) is a leaf; who looks there or makes a superblock may
 *	take s_umount, but none waits for him with s_umount held.
 */
#ifndef RDMAFS_CLIENT_H
#define RDMAFS_CLIENT_H

#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/mempool.h>
#include <linux/netfs.h>
#include <linux/pagemap.h>
#include <linux/siphash.h>
#include <linux/workqueue.h>
#include "coherence.h"
#include "fs/proto/codec.h"
#include "transport/xprt.h"

#define RDMAFS_MAGIC		0x72646d66	/* "rdmf" */

/* A COMMIT is sent when an inode has this many uncommitted bytes. */
#define RDMAFS_COMMIT_BYTES	(32U << 20)
/* While writes are in flight, an answered one waits at most this long for its COMMIT. */
#define RDMAFS_COMMIT_DELAY	(HZ / 20)

/* An operation fails when the server has answered it BADCRED or BADSTATE this many times. */
#define RDMAFS_OP_TRIES		8

/*
 * After a shortage an operation is sent again after this long, and then after twice as long
 * each time, up to RDMAFS_OP_WAITS times unless it is patient.
 */
#define RDMAFS_BACKOFF_MS	10
#define RDMAFS_OP_WAITS		7U

/* With longer polling than this, the cost of sleeping no longer matters. */
#define RDMAFS_POLL_US_MAX	1000

/* struct rdmafs_opts.local_lock: locks that the server is not asked for */
#define RDMAFS_LOCAL_FLOCK	0x1	/* those of flock(2) */
#define RDMAFS_LOCAL_POSIX	0x2	/* those of fcntl(2) */
#define RDMAFS_LOCAL_ALL	0x3

/**
 * enum rdmafs_late - what becomes of a request that has had no answer for the time of the mount
 * @RDMAFS_HARD: it is waited for
 * @RDMAFS_SOFT: it fails with EIO
 * @RDMAFS_SOFTERR: it fails with ETIMEDOUT
 */
enum rdmafs_late {
	RDMAFS_HARD,
	RDMAFS_SOFT,
	RDMAFS_SOFTERR,
};

/**
 * enum rdmafs_names - which cached names are believed without asking the server
 * @RDMAFS_NAMES_ALL: all, as long as the attributes of their directory are
 * @RDMAFS_NAMES_POSITIVE: those of which an object is known, likewise
 * @RDMAFS_NAMES_NONE: none
 */
enum rdmafs_names {
	RDMAFS_NAMES_ALL,
	RDMAFS_NAMES_POSITIVE,
	RDMAFS_NAMES_NONE,
};

/**
 * struct rdmafs_opts - the options of a mount
 * @addr:	the server's address, with the port
 * @host:	what stands before the colon of the source
 * @export:	name of the export, without a leading slash
 * @slots:	RPCs outstanding at once
 * @nconnect:	connections that they are spread over
 * @reg:	when large READs register their memory
 * @poll_us:	microseconds for which a synchronous caller polls
 * @connect_s:	seconds that the first connect may take
 * @late:	what becomes of a request that has no answer after @timeo times (@retrans + 1)
 * @timeo:	tenths of a second
 * @retrans:	how many times more than once @timeo passes
 * @rsize:	most bytes that one RPC reads
 * @wsize:	most bytes that one RPC writes
 * @acregmin:	seconds for which the attributes of a file are believed at least
 * @acregmax:	seconds for which the attributes of a file are believed at most
 * @acdirmin:	the same as @acregmin, for a directory
 * @acdirmax:	the same as @acregmax, for a directory
 * @names:	which cached names are believed
 * @local_lock:	RDMAFS_LOCAL_*
 * @unshared:	the mount shares its superblock with no other (nosharecache)
 * @seclabel:	security labels are the server's (security_label)
 * @quota:	the share of the RNIC's translations that the mount, or a remount, has asked for;
 *		transport keeps the present one, which can be changed by way of /proc
 *
 * The mount context has its own, and the mount a copy.  A remount, which holds s_umount, changes
 * @reg, @poll_us, @late, @timeo, @retrans, @ac*, @names and @quota; the others stay as they are.
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
	enum rdmafs_late late;
	u32 timeo;
	u32 retrans;
	u32 rsize;
	u32 wsize;
	u32 acregmin;
	u32 acregmax;
	u32 acdirmin;
	u32 acdirmax;
	enum rdmafs_names names;
	u32 local_lock;
	bool unshared;
	bool seclabel;
	struct rpol_quota quota;
};

/**
 * enum rdmafs_pool - reserve from which an op gets memory when the allocator has none
 * @RDMAFS_POOL_COMMON: for operations that wait for the server and for ops of the pools REOPEN,
 *		STRAY, CRED and RELOCK only
 * @RDMAFS_POOL_WRITE:	for writes, which may also wait for a COMMIT, an op of COMMON
 * @RDMAFS_POOL_REOPEN:	for OPEN of a file that was open, which any of the above may need first
 * @RDMAFS_POOL_STRAY:	for CLOSE of an open that has no user; it is made while the op that
 *		opened it still exists
 * @RDMAFS_POOL_CRED:	for SETCRED, which any of the above may need first
 * @RDMAFS_POOL_RELOCK:	for LOCK of what a lost session had locked, which an OPEN of REOPEN may
 *		need before it is of use
 * @RDMAFS_NR_POOLS:	number of pools
 * @RDMAFS_POOL_NONE:	no reserve: making the op may fail.  For a maker that holds other ops
 *		which can't end before it has made this one, or that must not wait for memory
 */
enum rdmafs_pool {
	RDMAFS_POOL_COMMON,
	RDMAFS_POOL_WRITE,
	RDMAFS_POOL_REOPEN,
	RDMAFS_POOL_STRAY,
	RDMAFS_POOL_CRED,
	RDMAFS_POOL_RELOCK,
	RDMAFS_NR_POOLS,
	RDMAFS_POOL_NONE = RDMAFS_NR_POOLS
};

#define RDMAFS_CRED_HASH	64
#define RDMAFS_CRED_IDLE_MAX	256	/* unused credentials that are kept */

/*
 * Workers that open files again after a session was lost; each asks for one at a time.  A file
 * system below a mount has fewer: all of a mount share io_wq, and each may wait for a dead disk.
 */
#define RDMAFS_NR_RECLAIM	8
#define RDMAFS_NR_RECLAIM_BELOW	2

/**
 * struct rdmafs_reclaim - a worker that opens files again after a session was lost
 * @work:  runs rdmafs_reclaim_work()
 * @super: whose files they are
 * @waits: how often in a row this worker was told that the export is not served; only the
 *	   worker uses it
 */
struct rdmafs_reclaim {
	struct delayed_work work;
	struct rdmafs_super *super;
	unsigned int waits;
};

/**
 * struct rdmafs_super - a superblock: that of a mount, or of a file system below it (submount.c)
 * @mnt:	the mount; constant, as all down to @from
 * @sb:		the superblock; set by fill_super
 * @above:	of a file system below: the superblock of the mount, an active reference; else NULL
 * @root_fh:	handle of its root; set by fill_super
 * @export_flags: RFP_EXPORT_*; set by fill_super
 * @seclabel:	a security module takes the labels of the server; set before it is used
 * @root_label:	while the module begins: the root's label, inside a reply; else NULL
 * @from:	of a file system below: its source, for /proc/mounts and for those below it
 * @link:	in rdmafs_mount.supers; guarded by supers_lock
 * @told:	the last session in which the server was told that all of its locks were asked for
 *		again; no lock: READ_ONCE() and WRITE_ONCE()
 * @telling:	a worker tells the server so at this moment; no lock
 * @opens:	all its opens that are not in @opens_later; opens that have been asked for in the
 *		present session come last.  Under rdmafs_mount.opens_lock, as @opens_later
 * @opens_later: opens that the workers ask for when no open in @opens has to be (reclaim.c)
 * @reclaim:	the workers that open files again: all in the superblock of the mount, the first
 *		RDMAFS_NR_RECLAIM_BELOW in one below it
 * @reclaiming:	how many of them are at work; atomic
 * @offline:	the last answer that says anything about its export says that it is not served.  No
 *		lock: READ_ONCE() and WRITE_ONCE(), as for the next six
 * @nr_opens:	opens that are not closed yet, and works that hold inodes, or, in that of the mount,
 *		the mount; atomic
 * @opens_wait:	woken when @nr_opens falls to 0
 * @given_up:	start_boottime of the task that called umount -f, of it or of the mount, while it
 *		was not served; 0 if no task did, or if it has been served since.  It counts while
 *		it is not served, or @returns is the mount's
 * @returns:	rdmafs_mount.returns then
 * @ending:	one below ends by that umount -f: its operations do not wait any longer until it is
 *		served, and workers do not try again what umount -f has ended
 * @unused:	it ends, and no file is open: what a soft mount can't tell the server in its time
 *		about locks stays untold
 * @no_late:	it ends: rdmafs_open_late() makes no more opens, and the server is told and asked
 *		nothing more but what others wait for
 * @no_clone:	the session in which the server has said that its file system can't share storage
 * @drop:	puts the last reference to @sb for a task that was killed
 * @rcu:	frees that of a file system below: an RCU walk may still read it
 */
struct rdmafs_super {
	struct rdmafs_mount *mnt;
	struct super_block *sb;
	struct super_block *above;
	struct rfp_fh root_fh;
	u32 export_flags;
	bool seclabel;
	const struct rfp_str *root_label;
	char *from;
	struct list_head link;
	int told;
	bool telling;
	struct list_head opens;
	struct list_head opens_later;
	struct rdmafs_reclaim reclaim[RDMAFS_NR_RECLAIM];
	atomic_t reclaiming;
	atomic_t nr_opens;
	wait_queue_head_t opens_wait;
	bool offline;
	u64 given_up;
	int returns;
	bool ending;
	bool unused;
	bool no_late;
	int no_clone;
	struct work_struct drop;
	struct rcu_head rcu;
};

/**
 * struct rdmafs_mount - one superblock, all mounts that share it, and file systems below it
 * @xprt:	its session; set before the mount has a superblock, constant
 * @net:	the network namespace, which the session holds; constant, as @xprt
 * @labelled:	it was made with options of an LSM; constant, as @xprt
 * @super:	its superblock
 * @supers:	@super, and those of file systems below, each &struct rdmafs_super
 * @supers_lock: guards @supers; irqsave, a leaf
 * @supers_mutex: held while a superblock below is looked for and made, so that there is one
 * @submounts:	mounts of file systems below that expire; the VFS's
 * @expire:	has those expire that are idle
 * @rcu:	frees it: an RCU walk that meets an umount may still read it
 * @opts:	its options; see there which of them a remount changes
 * @rsize:	most bytes of one READ; constant
 * @wsize:	most bytes of one WRITE; constant
 * @io_wq:	for works that wait for the server and for no other work: sending
 *		again, COMMIT, CLOSE.  Constant, as all down to @op_pools
 * @fill_wq:	for works that hold a folio's lock and wait for works of @io_wq: reading the folio
 * @file_wq:	for works that wait for folios, and so for works of @io_wq and @fill_wq: flushing
 * @dio_wq:	for works that end direct writes: they wait for holders of rdmafs_inode.stores,
 *		which may wait for works of @file_wq
 * @tell_wq:	for works that wait for nothing: they complete the asynchronous requests of a
 *		program that is at its end
 * @op_pools:	reserves of memory for ops, by enum rdmafs_pool
 * @session:	generation of the session, never 0; ids and stateids of an older generation are
 *		void.  Only rdmafs_opens_lost() changes it
 * @session_first: the first @session that is of the server's present session: an export that starts
 *		again within it begins a generation, too; under @lock_lock
 * @clock:	advances with every change that this client makes, and with every answer about
 *		attributes; tells whether attributes may be older than what is known; atomic, as
 *		@session and @forced
 * @forgets:	how often it was seen that the server has forgotten opens within a session, as it
 *		does when the export is disabled; atomic
 * @forced:	how often umount -f was called; tasks that wait for rdmafs_inode.lock_strays, too,
 *		are woken at its address
 * @forced_done: how often umount -f has failed the calls that were outstanding; atomic.  If it was
 *		not yet @forced when a call was made, umount -f may have ended the call
 * @given_up:	umount -f was called while the export, or one below it, was not served, and none of
 *		them was served since.  No lock: READ_ONCE() and WRITE_ONCE(), as for the next four
 * @returns:	how often one was served after that
 * @ending:	the task of rdmafs_super.given_up ends the mount: an operation does not wait any
 *		longer until the export is served
 * @heard:	when the server answered last, in jiffies
 * @timeout:	for how long a new op is waited for, in jiffies, never 0 on a soft mount; 0: without
 *		end.  Set with @opts
 * @ahead_pause: nothing is read ahead until then, in jiffies, as a reply to that was late, or 0
 * @recorded:	a LOCK was made: the server may have recorded that this client has locks; no lock
 * @opens_lock:	protects opens and opens_later of the superblocks, and rdmafs_open's @all, @asked
 *		and @again; a leaf
 * @lock_key:	hides from the server how the kernel names the owners of locks; constant
 * @lock_lock:	protects the next two, @session_first and the writes of @session; irqsave, a leaf
 * @lock_waits:	&struct rdmafs_lock_wait of tasks that wait for locks
 * @lock_token:	the last token that was given
 * @events_work: asks the server what it has to tell
 * @cred_lock:	protects @creds and all that follows it
 * @creds:	known credentials by hash
 * @cred_idle:	credentials without a reference, the least recently used first
 * @nr_idle:	length of @cred_idle
 * @cred_next:	the lowest id that has never been given to credentials
 * @cred_serial: the last rdmafs_cred.serial that was given
 */
struct rdmafs_mount {
	struct rdmafs_xprt *xprt;
	const struct net *net;
	bool labelled;
	struct rdmafs_super super;
	struct list_head supers;
	spinlock_t supers_lock;	/* protects @supers; a leaf */
	struct mutex supers_mutex; /* serialises those who make superblocks below */
	struct list_head submounts;
	struct delayed_work expire;
	struct rcu_head rcu;
	struct rdmafs_opts opts;
	u32 rsize;
	u32 wsize;
	struct workqueue_struct *io_wq;
	struct workqueue_struct *fill_wq;
	struct workqueue_struct *file_wq;
	struct workqueue_struct *dio_wq;
	struct workqueue_struct *tell_wq;
	mempool_t *op_pools[RDMAFS_NR_POOLS];
	atomic_t session;
	int session_first;
	atomic64_t clock;
	atomic_t forgets;
	atomic_t forced;
	atomic_t forced_done;
	bool given_up;
	int returns;
	bool ending;
	unsigned long heard;
	unsigned long timeout;
	unsigned long ahead_pause;
	bool recorded;
	spinlock_t opens_lock;	/* protects the opens' lists; a leaf */

	siphash_key_t lock_key;
	spinlock_t lock_lock;	/* protects the next two, @session_first; a leaf */
	struct list_head lock_waits;
	u32 lock_token;
	struct work_struct events_work;

	spinlock_t cred_lock; /* protects what follows; see the lock order */
	struct hlist_head creds[RDMAFS_CRED_HASH];
	struct list_head cred_idle;
	unsigned int nr_idle;
	u32 cred_next;
	u64 cred_serial;
};

/**
 * struct rdmafs_since - when something began that umount -f, or a soft mount's time, may end
 * @forced: rdmafs_mount.forced_done then: one that is under way may end what begins now
 * @time:   jiffies then
 */
struct rdmafs_since {
	int forced;
	unsigned long time;
};

/**
 * struct rdmafs_cred - credentials as the server knows them
 * @hash:	in rdmafs_mount.creds; under cred_lock
 * @idle:	in rdmafs_mount.cred_idle while @ref is 0; under cred_lock
 * @mnt:	the mount; constant
 * @ref:	users, under cred_lock
 * @serial:	identifies the entry for ever, whereas @id is given to other credentials later;
 *		constant
 * @id:		its name on the wire; constant
 * @session:	the session in which it is registered, 0 if in none.  Set under @lock; set to 0
 *		by cmpxchg() without it
 * @lock:	serialises registration
 * @uid:	file system user; constant
 * @gid:	file system group; constant
 * @capable:	not root, but with root's capabilities that concern files; constant
 * @groups:	supplementary groups; constant, referenced
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
	bool capable;
	struct group_info *groups;
};

/* For what a file is opened that a kernel thread makes: it says that only after that. */
#define RDMAFS_OPEN_MADE	(RFP_OPEN_READ | RFP_OPEN_WRITE)

/* struct rdmafs_inode.flags; STASH, UNSURE and UNCROSSED change, WRITING is set, under its lock */
#define RDMAFS_I_STASH		0	/* @stash holds attributes */
#define RDMAFS_I_STALE		1	/* the server no longer knows the handle */
#define RDMAFS_I_STORED		2	/* a mapping has stored into the file; see @late */
#define RDMAFS_I_UNSURE		3	/* the size is not known; see @unknown */
#define RDMAFS_I_WRITING	4	/* i_rwsem is held by rdmafs_lock_write() */
#define RDMAFS_I_LOOKED		5	/* a directory: a name in it was looked at; see dir.c */
#define RDMAFS_I_AHEAD		6	/* attributes came ahead; nobody has looked at them yet */
#define RDMAFS_I_WALKED		7	/* found by name; a GETATTR follows (ahead.c) */
#define RDMAFS_I_RELABEL	8	/* another client may have changed the security label */
#define RDMAFS_I_LABEL_KEPT	9	/* a root: only this machine changes its security label */
#define RDMAFS_I_UNLABELLED	10	/* the server has said that it has no security label */
#define RDMAFS_I_UNCROSSED	9	/* the server has refused a CROSS; see @uncrossed */

#define RDMAFS_NR_ACCESS	4	/* callers whose rights are kept */

/**
 * struct rdmafs_ahead - reading a directory because its names are asked for one by one (ahead.c)
 * @ends:     jiffies when the present turn ends
 * @verifier: that of the directory when @cookie was 0 last; 0: nothing has been asked for yet
 * @cookie:   the next part begins after the entry with this cookie
 * @index:    where the next part may be kept (listing.c)
 * @halves:   jiffies when half of @owed is forgotten
 * @asked:    requests about single names in this turn, since the last part
 * @owed:     entries that were read, and have not been earned yet
 * @calls:    RDMAFS_AHEAD_ASKED is doubled that often
 * @busy:     a task reads a part
 * @read:     a part was read since @verifier is the directory's
 * @moved:    @verifier was replaced in this turn
 * @over:     the end was reached in this turn
 * @refused:  the server did not send a part in this turn
 */
struct rdmafs_ahead {
	unsigned long ends;
	unsigned long verifier;
	u64 cookie;
	pgoff_t index;
	unsigned long halves;
	unsigned int asked;
	unsigned int owed;
	unsigned int calls;
	bool busy;
	bool read;
	bool moved;
	bool over;
	bool refused;
};

/**
 * struct rdmafs_inode - the client's part of an inode
 * @netfs:	netfs' part with the VFS inode; must be first
 * @fh:		handle; constant
 * @btime:	creation time; written under i_lock and @lock, read without, as inode attributes are
 * @attr_flags:	RFP_ATTR_*; likewise
 * @writers:	tasks that may extend the file in memory at this moment
 * @syncing:	fsyncs under way: a write that is the only one goes out FILE_SYNC
 * @written:	counts changes that were made without a sync of all metadata
 * @synced:	the value of @written before the last answered COMMIT with metadata was sent;
 *		raised under @lock; atomic, as the three before and @fence
 * @fence:	number of changes whose task was killed and that are not answered yet; other
 *		changes wait for them (fence.c)
 * @locking:	serialises requests for locks and their record (filelock.c); outside of
 *		rdmafs_open.lock
 * @recording:	serialises changes of the record of locks (lock_record.c), for which nothing is
 *		waited; inside of @locking and of rdmafs_open.lock; no fs reclaim under it
 * @lock_strays: requests for locks that killed tasks have left; others wait for them; atomic
 * @lock_line:	tasks in line for @locking, for which the workers of @lock_strays wait; atomic
 * @relabels:	how often the security module was told that its label may be wrong; atomic
 * @stores:	held for reading by a mapping that stores, until the page is dirty.  Held for
 *		writing by appends, by direct writes that lengthen the file (direct.c) and by
 *		writes behind a hole.  Between i_rwsem and invalidate_lock
 * @lock:	protects what follows; irqsave, taken by done callbacks
 * @flags:	RDMAFS_I_*; atomic bit operations
 * @coh:	which of the cached data may be believed
 * @unknown:	how often a change that this client sent ended without the client knowing what
 *		it had done; also read without @lock, as @expires
 * @expires:	jiffies from which on the server is asked for the attributes again
 * @timeo:	for how long the attributes were believed last, in jiffies
 * @uncrossed:	of a directory: jiffies until which the server is not asked again to cross there
 * @access:	rights of callers that the server sees as other users than the client does;
 *		the newest answer comes first
 * @access.serial: rdmafs_cred.serial of the caller
 * @access.may:	RFP_ACCESS_* of the caller
 * @ahead:	of a directory: its names are asked for one by one
 * @stash:	attributes from the reply to a write, to be taken over in process context
 * @stash_clock: the mount's clock when that write was sent
 * @opens:	opens of the file
 * @late:	the last open for writing, kept for pages that become dirty after it was closed;
 *		see rdmafs_open_late()
 * @late.cred:	the opener's credentials, referenced; NULL if there was none
 * @late.proof:	proves to the server that it granted the open
 * @late.flags:	RFP_OPEN_*
 * @made:	a kernel thread has made the file; see rdmafs_open_made()
 * @made.proof:	of the open, RDMAFS_OPEN_MADE, with which the file was made; no claim: none
 * @made.uid:	file system user of the thread
 * @made.gid:	its file system group
 * @made.owner:	owner of the new file: the user that the server takes the thread's for
 * @issuing:	calls of writepages under way
 * @held:	the last write of writepages, not sent yet: if it stays the only one it needs no
 *		COMMIT
 * @inflight:	writes of writepages that have been sent and not answered
 * @uncommitted: answered writes that wait for a COMMIT
 * @uncommitted_bytes: bytes in @uncommitted
 * @commit_work: sends the COMMIT
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
	struct mutex locking; /* serialises requests for locks and their record */
	struct mutex recording; /* serialises changes of the record of locks */
	atomic_t lock_strays;
	atomic_t lock_line;
	atomic_t relabels;
	struct rw_semaphore stores;

	spinlock_t lock; /* protects what follows; see the lock order */
	unsigned long flags;
	struct rdmafs_coh coh;
	unsigned int unknown;
	unsigned long expires;
	unsigned long timeo;
	unsigned long uncrossed;
	struct {
		u64 serial;
		u32 may;
	} access[RDMAFS_NR_ACCESS];
	struct rdmafs_ahead ahead;
	struct rfp_attr stash;
	u64 stash_clock;
	struct list_head opens;
	struct {
		struct rdmafs_cred *cred;
		struct rfp_proof proof;
		u32 flags;
	} late;
	struct {
		struct rfp_proof proof;
		kuid_t uid;
		kgid_t gid;
		kuid_t owner;
	} made;

	unsigned int issuing;
	struct rdmafs_op *held;
	unsigned int inflight;
	struct list_head uncommitted;
	u64 uncommitted_bytes;
	struct delayed_work commit_work;
};

/**
 * struct rdmafs_open - an open of a file, as the server knows it
 * @link:	in rdmafs_inode.opens; under rdmafs_inode.lock
 * @all:	in rdmafs_super.opens or opens_later; under rdmafs_mount.opens_lock
 * @asked:	the session in which it was opened, or in which a worker last tried to open it
 *		again; under opens_lock
 * @again:	in opens_later: jiffies before which no worker tries it; under opens_lock
 * @ref:	users
 * @inode:	the file, referenced; constant
 * @cred:	the opener's credentials, referenced; constant
 * @flags:	RFP_OPEN_READ, _WRITE, _EXEC; constant
 * @stateid:	the server's name for it; changes with @session, under rdmafs_inode.lock; both are
 *		also read without
 * @proof:	proves to the server that it granted the open; changed under @lock and
 *		rdmafs_inode.lock
 * @session:	the session that @stateid belongs to, 0 if the server forgot it; changed under
 *		rdmafs_inode.lock
 * @forgot:	the last session in which the server forgot it; under rdmafs_inode.lock
 * @known_at:	rdmafs_mount.forgets before the last request that has shown that the server knows
 *		it; no lock: READ_ONCE() and WRITE_ONCE()
 * @half:	the session in which it was opened again, or may be open still, but not all of
 *		its locks were taken again yet; under @lock, or the closing task's
 * @half_id:	the stateid that it has in that session; likewise
 * @lock_lost:	a lock was lost, with a session, say: reads and writes fail
 * @lock_record: by which record of the server's its locks were granted, which is shown to take them
 *		again; changed under rdmafs_inode.lock, also read without
 * @lock:	serialises opening it again
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
	int known_at;
	int half;
	u64 half_id;
	bool lock_lost;
	u32 lock_record;
	struct mutex lock; /* serialises opening it again */
	struct work_struct work;
};

struct rdmafs_op;

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

static inline struct rdmafs_inode *RDMAFS_I(struct inode *inode)
{
	return container_of(inode, struct rdmafs_inode, netfs.inode);
}

static inline struct rdmafs_super *RDMAFS_S(struct super_block *sb)
{
	return sb->s_fs_info;
}

static inline struct rdmafs_mount *RDMAFS_M(struct super_block *sb)
{
	return RDMAFS_S(sb)->mnt;
}

/* The rdmafs_open of @file, an open regular file. */
static inline struct rdmafs_open *rdmafs_file_open(struct file *file)
{
	return file->private_data;
}

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
 * two are also what rdmafs_op_run() returns to those who ask for a lock, and EBADSTATE is also what
 * lock_reclaim.c tells open.c.
 */
#define RDMAFS_EBADCRED		10001
#define RDMAFS_EBADSTATE	10002
#define RDMAFS_EOFFLINE		10003
#define RDMAFS_EBADSOURCE	10004
#define RDMAFS_EGRACE		10005
#define RDMAFS_ENOGRACE		10006

/* cred.c */
struct rdmafs_cred *rdmafs_cred_current(struct rdmafs_mount *mnt);
struct rdmafs_cred *rdmafs_cred_get(struct rdmafs_cred *cred);
void rdmafs_cred_put(struct rdmafs_cred *cred);
int rdmafs_cred_ready(struct rdmafs_cred *cred, const struct rdmafs_op *user);
void rdmafs_cred_init(struct rdmafs_mount *mnt);
void rdmafs_cred_destroy(struct rdmafs_mount *mnt);

/* open.c */
struct rdmafs_open *rdmafs_open_new(struct inode *inode, struct rdmafs_cred *cred, u32 flags,
				    const struct rfp_open_rep *rep, int session);
int rdmafs_open_send(struct inode *inode, u32 flags, struct rdmafs_open **openp);
void rdmafs_open_made_note(struct inode *inode, const struct rdmafs_cred *cred,
			   const struct rfp_open_rep *rep, const struct rfp_attr *attr);
int rdmafs_open_made(struct inode *inode, u32 flags, struct rdmafs_open **openp);
struct rdmafs_open *rdmafs_open_get(struct rdmafs_open *open);
struct rdmafs_open *rdmafs_open_find(struct inode *inode, u32 flags);
struct rdmafs_open *rdmafs_open_late(struct inode *inode);
void rdmafs_open_late_drop(struct rdmafs_inode *ri);
int rdmafs_open_ready(struct rdmafs_open *open, const struct rdmafs_op *user);
void rdmafs_open_unknown(struct rdmafs_open *open, int session, u64 stateid);
int rdmafs_open_again(struct rdmafs_open *open);
void rdmafs_open_put(struct rdmafs_open *open);
void rdmafs_opens_dec(struct rdmafs_super *super);
void rdmafs_open_put_sync(struct rdmafs_open *open);
void rdmafs_open_undo(struct rdmafs_op *op);
int rdmafs_open_rep_check(const struct rfp_open_rep *rep, u32 may);

/* reclaim.c */
void rdmafs_opens_init(struct rdmafs_super *super);
void rdmafs_opens_exit(struct rdmafs_super *super);
void rdmafs_opens_reclaim(struct rdmafs_super *super);
void rdmafs_opens_lost(struct rdmafs_mount *mnt, bool reset);
int rdmafs_session_same(struct rdmafs_mount *mnt, int session);
bool rdmafs_opens_asked(struct rdmafs_super *super, int session);

/* grace.c */
int rdmafs_reclaim_tell(struct rdmafs_super *super, int session);

/* umount.c */
bool rdmafs_served(struct rdmafs_super *super);
void rdmafs_since_now(struct rdmafs_mount *mnt, struct rdmafs_since *since);
int rdmafs_since_over(struct rdmafs_mount *mnt, const struct rdmafs_since *since);
void rdmafs_heard(struct rdmafs_mount *mnt);
void rdmafs_heard_export(struct rdmafs_super *super, bool offline);
void rdmafs_umount_begin(struct super_block *sb);
void rdmafs_umount_wait(struct rdmafs_super *super);

/* lock.c */
int rdmafs_lock_read(struct inode *inode);
int rdmafs_lock_write(struct inode *inode);
void rdmafs_unlock_write(struct inode *inode);
int rdmafs_lock_copy(struct inode *from, struct inode *to);
void rdmafs_unlock_copy(struct inode *from, struct inode *to);
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
int rdmafs_wait(struct rdmafs_super *super, struct completion *done);
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
void rdmafs_access_ask(struct rdmafs_op *op, struct super_block *sb);
void rdmafs_access_note(struct inode *inode, struct rdmafs_op *op, const struct rfp_attr *attr);
int rdmafs_permission(struct mnt_idmap *idmap, struct inode *inode, int mask);

/* attr.c */
int rdmafs_attr_told(struct inode *inode, struct rfp_attr *attr);
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

/* setattr.c */
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
			  const struct rfp_attr *attr, const struct rfp_str *label, u64 clock);
struct inode *rdmafs_ilookup(struct super_block *sb, const struct rfp_fh *fh, u64 ino,
			     umode_t type);
bool rdmafs_same_fh(struct inode *inode, const struct rfp_fh *fh);

/* lookup.c: struct rdmafs_found is below */
extern const struct dentry_operations rdmafs_dentry_ops;
/* A name with this verifier, which no directory ever has, is asked for at its next use. */
#define RDMAFS_NAME_UNKNOWN	0
/* Instead of a verifier, which never comes that far: the file was made without a name. */
#define RDMAFS_NAME_NEVER	ULONG_MAX
void rdmafs_dentry_fresh(struct dentry *dentry, unsigned long verifier);
unsigned long rdmafs_dir_verifier(struct inode *dir);

/* seclabel.c */

/**
 * struct rdmafs_seclabel - the security label of a new object
 * @text: its first byte, memory of the security module; NULL: there is none
 * @len:  its length in bytes
 */
struct rdmafs_seclabel {
	void *text;
	u32 len;
};

int rdmafs_seclabel_begin(struct fs_context *fc, struct super_block *sb,
			  const struct rfp_str *label);
int rdmafs_seclabel_below(struct fs_context *fc, const struct super_block *above,
			  const struct rfp_str *label);
void rdmafs_seclabel_first(struct inode *inode, const struct rfp_str *label);
void rdmafs_seclabel_doubt(struct inode *inode);
void rdmafs_seclabel_settle(struct inode *inode);
int rdmafs_seclabel_new(struct dentry *dentry, umode_t mode, struct rdmafs_seclabel *label);
void rdmafs_seclabel_free(struct rdmafs_seclabel *label);
void rdmafs_seclabel_ask(struct rdmafs_op *op, struct super_block *sb);
void rdmafs_seclabel_send(struct rdmafs_op *op, struct super_block *sb,
			  const struct rdmafs_seclabel *label);
void rdmafs_seclabel_decode(const struct rdmafs_op *op, struct rfp_dec *dec,
			    struct rfp_str *label);

/**
 * struct rdmafs_found - an object and its directory, from a reply
 * @labels: in: the reply is to tell the object's security label, if the mount has labels
 * @fh:	   handle of the object
 * @attr:  attributes of the object; inside the op's reply
 * @dir:   attributes of the directory; inside the op's reply
 * @label: the object's security label, as of rfp_dec_label_told(); inside the op's reply
 * @clock: op->clock of the request
 */
struct rdmafs_found {
	bool labels;
	struct rfp_fh fh;
	const struct rfp_attr *attr;
	const struct rfp_attr *dir;
	struct rfp_str label;
	u64 clock;
};

int rdmafs_found_decode(struct rdmafs_op *op, struct rfp_dec *dec, struct super_block *sb,
			struct rdmafs_found *found);
int rdmafs_lookup_send(struct inode *dir, const struct qstr *name, struct rdmafs_found *found,
		       struct rdmafs_op **opp);
atomic_t *rdmafs_looking(unsigned int hash);
struct dentry *rdmafs_lookup(struct inode *dir, struct dentry *dentry, unsigned int flags);
struct inode *rdmafs_found_inode(struct super_block *sb, const struct rdmafs_found *found);

/* namei.c */
extern const struct inode_operations rdmafs_dir_iops;
extern const struct inode_operations rdmafs_symlink_iops;
int rdmafs_made(struct inode *dir, struct dentry *dentry, struct inode *inode,
		unsigned long verifier);
int rdmafs_make_file(struct inode *dir, struct dentry *dentry, umode_t mode);

/* by_name.c */
int rdmafs_open_dentry(struct dentry *dentry, u32 flags, struct rdmafs_open **openp);
int rdmafs_atomic_open(struct inode *dir, struct dentry *dentry, struct file *file,
		       unsigned int flags, umode_t mode);
int rdmafs_create(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry, umode_t mode,
		  bool excl);

/* listing.c */
#define RDMAFS_LISTING_NONE	ULONG_MAX	/* no place is known, or the reply is not kept */

/**
 * struct rdmafs_listing - a reply to READDIR, and where it is kept
 * @index:  first page of it in the directory's page cache, or RDMAFS_LISTING_NONE
 * @cookie: the reply begins after the entry with this cookie
 * @last:   the cookie of the last entry that rdmafs_dir_fetch() has entered in the dcache
 * @cred:   rdmafs_cred.serial of the caller that asked
 * @change: the directory's change cookie, which was the same before the request and in the reply
 * @data:   entries; to be freed by kvfree()
 * @count:  bytes of @data
 * @plus:   the server is asked for attributes and handles, too
 * @ahead:  nobody lists the directory (ahead.c)
 * @fresh:  a kept reply is of use only if the attributes in it are still believed
 * @eof:    the directory ends with this reply
 * @cut:    rdmafs_dir_fetch() has not entered what follows @last
 */
struct rdmafs_listing {
	pgoff_t index;
	u64 cookie;
	u64 last;
	u64 cred;
	u64 change;
	void *data;
	u32 count;
	bool plus;
	bool ahead;
	bool fresh;
	bool eof;
	bool cut;
};

u64 rdmafs_listing_change(struct inode *dir);
int rdmafs_listing_load(struct inode *dir, struct rdmafs_listing *l);
void rdmafs_listing_keep(struct inode *dir, struct rdmafs_listing *l, unsigned long sent);

/* dir.c */
extern const struct file_operations rdmafs_dir_fops;
int rdmafs_dir_ask(struct inode *dir, struct rdmafs_op *op, bool large, struct rdmafs_listing *l);
int rdmafs_dir_fetch(struct dentry *parent, struct rdmafs_op *op, bool large,
		     struct rdmafs_listing *l);

/* ahead.c */
void rdmafs_ahead_dir(struct dentry *parent);
void rdmafs_ahead(struct dentry *dentry);
void rdmafs_ahead_used(struct dentry *dentry);

/* export.c */
extern const struct export_operations rdmafs_export_ops;
int rdmafs_export_init(void);
void rdmafs_export_exit(void);

/* filelock.c */
int rdmafs_file_lock(struct file *file, int cmd, struct file_lock *fl);
int rdmafs_file_flock(struct file *file, int cmd, struct file_lock *fl);

/* lock_request.c */
void rdmafs_lock_leave(struct rdmafs_op *op);
void rdmafs_lock_stay(struct rdmafs_op *op);
void rdmafs_lock_left(struct rdmafs_op *op);

/* events.c */
void rdmafs_locks_wake(struct rdmafs_mount *mnt);
void rdmafs_events(struct rdmafs_mount *mnt);
void rdmafs_locks_init(struct rdmafs_mount *mnt);

/* lock_record.c */
bool rdmafs_write_through(struct inode *inode);

/* lock_reclaim.c */
int rdmafs_locks_ready(const struct rdmafs_op *op);
int rdmafs_locks_reclaim(struct rdmafs_open *open, u64 stateid, int session,
			 const struct rdmafs_op *user);
bool rdmafs_locks_again(struct rdmafs_open *open, int err);

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

/* copy.c */
ssize_t rdmafs_copy_file_range(struct file *from, loff_t pos, struct file *to, loff_t at,
			       size_t count, unsigned int flags);
loff_t rdmafs_remap_file_range(struct file *from, loff_t pos, struct file *to, loff_t at,
			       loff_t len, unsigned int flags);

/* append.c */
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
int rdmafs_change_run(struct rdmafs_op *op, struct inode *inode);

/* fileattr.c */
struct fileattr;
int rdmafs_fileattr_get(struct dentry *dentry, struct fileattr *fa);
int rdmafs_fileattr_set(struct mnt_idmap *idmap, struct dentry *dentry, struct fileattr *fa);

/* acl.c */
struct posix_acl *rdmafs_get_inode_acl(struct inode *inode, int type, bool rcu);
int rdmafs_set_acl(struct mnt_idmap *idmap, struct dentry *dentry, struct posix_acl *acl,
		   int type);

/* tmpfile.c */
int rdmafs_tmpfile(struct mnt_idmap *idmap, struct inode *dir, struct file *file, umode_t mode);

/* share.c */
int rdmafs_share_init(void);
void rdmafs_share_exit(void);
bool rdmafs_share_dropping(void);
void rdmafs_share_drop_super(struct work_struct *work);
void rdmafs_share_drop_later(struct rdmafs_super *super);

/* submount.c */
struct vfsmount *rdmafs_d_automount(struct path *path);
void rdmafs_dentry_crossing(struct dentry *dentry);
bool rdmafs_dentry_crosses(const struct dentry *dentry, const struct inode *inode);
void rdmafs_super_init(struct rdmafs_super *super, struct rdmafs_mount *mnt);
void rdmafs_supers_init(struct rdmafs_mount *mnt);
void rdmafs_supers_exit(struct rdmafs_mount *mnt);
void rdmafs_submount_ended(struct rdmafs_super *super);

/* super.c */
extern struct file_system_type rdmafs_type;

#endif
