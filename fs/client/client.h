/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client file system: the header that its files share.  These have headers of their own:
 * operations (op.h), opens (open.h), names and directories (dir.h), locks of files (filelock.h),
 * direct requests (direct.h), and mounts that are being made (options.h).
 *
 *	super.c		mounting; options.c the options, share.c mounts that share a superblock,
 *			submount.c file systems below a mount, umount.c the end of a mount and
 *			umount -f; rules.c what holds for an export
 *	op.c		from a request body to an errno; op_make.c makes what it runs; io.c READ
 *			and WRITE of file data; unanswered.c calls whose answer was lost with the
 *			session, by the rules of outcome.c
 *	cred.c		credentials of callers; access.c what they may do, without asking; idmap.c
 *			id-mapped mounts by which they come
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
 *			lock_reclaim.c those of a lost session; lock_loss.c the data written under
 *			one that is lost; events.c wakes waiting tasks
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
 * The order of locks is in Documentation/architecture.rst ("Lock order").
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
 * @RDMAFS_POOL_EVENTS:	for EVENTS, for which tasks wait that wait for locks; it needs no other
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
	RDMAFS_POOL_EVENTS,
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

struct rdmafs_op;
struct rdmafs_open;

/**
 * struct rdmafs_super - a superblock: that of a mount, or of a file system below it (submount.c)
 * @mnt:	the mount; constant, as all down to @from
 * @sb:		the superblock; set by fill_super
 * @above:	of a file system below: the superblock of the mount, an active reference; else NULL
 * @root_fh:	handle of its root; set by fill_super
 * @over:	of a file system below: handle of the directory in the export above; else empty
 * @export_flags: RFP_EXPORT_*; changed under supers_lock (rules.c), read without
 * @rules:	how often they have changed; likewise
 * @seclabel:	a security module takes the labels of the server; set before it is used
 * @root_label:	while the module begins: the root's label, inside a reply; else NULL.  Only the
 *		mounting task's; s_umount is held
 * @ready:	of a file system below: the module knows it, or it may be used without; set under
 *		s_umount before that
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
 *		lock: READ_ONCE() and WRITE_ONCE(), as for all from @given_up to @no_clone
 * @nr_opens:	opens that are not closed yet, and works that hold inodes, or, in that of the mount,
 *		the mount; atomic
 * @opens_wait:	woken when @nr_opens falls to 0
 * @given_up:	start_boottime of the task that called umount -f on this or on the mount while this
 *		was not served; 0: none did, or it has been served since.  Valid while it is not
 *		served, or while rdmafs_mount.returns is still @returns
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
	struct rfp_fh over;
	u32 export_flags;
	u32 rules;
	bool seclabel;
	const struct rfp_str *root_label;
	bool ready;
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
 * @dio_wq:	for works that end direct writes, or see to lost locks: they wait for folios, and
 *		for holders of rdmafs_inode.stores, which may wait for works of @file_wq
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
 * @doubts:	how often the export may have been started anew, with other settings; atomic
 * @rules_work:	asks what holds for it (rules.c)
 * @rules_known: @doubts before that; no lock: READ_ONCE() and WRITE_ONCE(), as for the next
 * @rules_asked: when it did so, in jiffies
 * @forced:	how often umount -f was called; tasks that wait for rdmafs_inode.lock_strays, too,
 *		are woken at its address
 * @forced_done: how often umount -f has failed the calls that were outstanding; atomic.  If it was
 *		not yet @forced when a call was made, umount -f may have ended the call
 * @given_up:	umount -f was called while the export, or one below it, was not served, and none of
 *		them was served since.  No lock: READ_ONCE() and WRITE_ONCE(), as for all down to
 *		@recorded
 * @returns:	how often one was served after that
 * @ending:	the task of rdmafs_super.given_up ends the mount: an operation does not wait any
 *		longer until the export is served
 * @heard:	when the server answered last, in jiffies
 * @timeout:	for how long a new op is waited for, in jiffies, never 0 on a soft mount; 0: without
 *		end.  Set with @opts
 * @ahead_pause: nothing is read ahead until then, in jiffies, as a reply to that was late, or 0
 * @recorded:	a LOCK was made: the server may have recorded that this client has locks
 * @opens_lock:	protects opens and opens_later of the superblocks, and rdmafs_open's @all, @asked
 *		and @again; a leaf
 * @serial:	tells it from all other mounts there have been; constant
 * @mapped:	a task has come by an id-mapped mount of it, so that there may be notes (idmap.c);
 *		no lock
 * @lock_key:	hides from the server how the kernel names the owners of locks; constant
 * @lock_lock:	protects the next two, @session_first and the writes of @session; irqsave, a leaf
 * @lock_waits:	&struct rdmafs_lock_wait of tasks that wait for locks
 * @lock_token:	the last token that was given
 * @events_work: asks the server what it has to tell
 * @cred:	of who has mounted it, referenced; for ops whose credentials the server ignores; set
 *		before the superblock is used
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
	struct mutex supers_mutex; /* serialises tasks that make superblocks below */
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
	atomic_t doubts;
	struct delayed_work rules_work;
	int rules_known;
	unsigned long rules_asked;
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
	u64 serial;
	bool mapped;

	siphash_key_t lock_key;
	spinlock_t lock_lock;	/* protects the next two, @session_first; a leaf */
	struct list_head lock_waits;
	u32 lock_token;
	struct work_struct events_work;
	struct rdmafs_cred *cred;

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
 * @uid:	file system user; constant, as all that follows
 * @gid:	file system group
 * @capable:	with root's capabilities that concern files; not set for root without @mapped
 * @mapped:	for callers by an id-mapped mount: ids are those of the file system, invalid for a
 *		user or group who has none there, and to be root there gives no capability.  Also
 *		for a user 0 whom the server must not take for root (rdmafs_cred_rooted())
 * @groups:	supplementary groups; referenced
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
	bool mapped;
	struct group_info *groups;
};

/**
 * enum rdmafs_inode_bit - bits of rdmafs_inode.flags
 * @RDMAFS_I_STASH:	@stash holds attributes; changes under rdmafs_inode.lock
 * @RDMAFS_I_STALE:	the server no longer knows the handle
 * @RDMAFS_I_STORED:	a mapping has stored into the file; see @late
 * @RDMAFS_I_UNSURE:	the size is not known; see @unknown.  Changes under the lock
 * @RDMAFS_I_WRITING:	i_rwsem is held by rdmafs_lock_write(); is set under the lock
 * @RDMAFS_I_LOOKED:	a directory: a name in it was looked at; see dir.c
 * @RDMAFS_I_AHEAD:	attributes came ahead, and were not looked at yet
 * @RDMAFS_I_WALKED:	found by name; a GETATTR follows (ahead.c)
 * @RDMAFS_I_RELABEL:	another client may have changed the security label
 * @RDMAFS_I_LABEL_KEPT: a root: only this machine changes its security label
 * @RDMAFS_I_UNLABELLED: the server has said that it has no security label
 * @RDMAFS_I_UNCROSSED:	the server has refused a CROSS; see @uncrossed.  Changes under the lock
 */
enum rdmafs_inode_bit {
	RDMAFS_I_STASH,
	RDMAFS_I_STALE,
	RDMAFS_I_STORED,
	RDMAFS_I_UNSURE,
	RDMAFS_I_WRITING,
	RDMAFS_I_LOOKED,
	RDMAFS_I_AHEAD,
	RDMAFS_I_WALKED,
	RDMAFS_I_RELABEL,
	RDMAFS_I_LABEL_KEPT,
	RDMAFS_I_UNLABELLED,
	RDMAFS_I_UNCROSSED,
};

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
 *
 * rdmafs_inode.lock of the directory protects all of it.
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
 * @fence:	number of changes whose task was killed and that are not answered yet, and of
 *		@loss; other changes wait for them (fence.c)
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
 * @flags:	bits of &enum rdmafs_inode_bit; atomic bit operations
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
 * @access.rules: rdmafs_super.rules then
 * @access.expires: jiffies from which on the server is asked for them again
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
 * @loss:	a range whose lock was lost, so that nothing of it is written back (lock_loss.c);
 *		NULL: there is none
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
		u32 rules;
		unsigned long expires;
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

	struct rdmafs_loss *loss;
	unsigned int issuing;
	struct rdmafs_op *held;
	unsigned int inflight;
	struct list_head uncommitted;
	u64 uncommitted_bytes;
	struct delayed_work commit_work;
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

/* cred.c */
struct rdmafs_cred *rdmafs_cred_current(struct rdmafs_mount *mnt);
struct rdmafs_cred *rdmafs_cred_get(struct rdmafs_cred *cred);
void rdmafs_cred_put(struct rdmafs_cred *cred);
int rdmafs_cred_ready(struct rdmafs_cred *cred, const struct rdmafs_op *user);
bool rdmafs_cred_reaches(const struct mnt_idmap *idmap);
bool rdmafs_cred_rooted(void);
void rdmafs_cred_init(struct rdmafs_mount *mnt);
void rdmafs_cred_destroy(struct rdmafs_mount *mnt);

/* idmap.c */
int rdmafs_idmap_tell(struct rdmafs_mount *mnt, struct mnt_idmap *idmap, bool rcu);
struct mnt_idmap *rdmafs_idmap_get(struct rdmafs_mount *mnt);
int rdmafs_idmap_permission(struct inode *inode, int mask);
bool rdmafs_idmap_owns(struct inode *inode);
bool rdmafs_idmap_lacks(struct inode *inode);
int rdmafs_idmap_may_link(struct inode *inode);
int rdmafs_idmap_may_write(struct mnt_idmap *idmap, struct inode *inode);
void rdmafs_idmap_mount_init(struct rdmafs_mount *mnt);
void rdmafs_idmap_mount_exit(struct rdmafs_mount *mnt);
void rdmafs_idmap_init(void);
void rdmafs_idmap_exit(void);

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

/* rules.c */
void rdmafs_rules_ask(struct rdmafs_mount *mnt);
void rdmafs_rules_doubt(struct rdmafs_mount *mnt);
void rdmafs_rules_renew(struct rdmafs_super *super);
void rdmafs_rules_init(struct rdmafs_mount *mnt);
void rdmafs_rules_exit(struct rdmafs_mount *mnt);

/* access.c */
void rdmafs_access_ask(struct rdmafs_op *op, struct super_block *sb);
void rdmafs_access_note(struct inode *inode, struct rdmafs_op *op, const struct rfp_attr *attr);
int rdmafs_permission(struct mnt_idmap *idmap, struct inode *inode, int mask);
int rdmafs_access_opened(struct file *file);

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

/* export.c */
extern const struct export_operations rdmafs_export_ops;
int rdmafs_export_init(void);
void rdmafs_export_exit(void);

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
int rdmafs_submounts_remount(struct rdmafs_mount *mnt, unsigned long changed, unsigned long flags,
			     bool look);

/* super.c */
extern struct file_system_type rdmafs_type;

#endif
