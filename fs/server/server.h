/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rdmafsd: the declarations that the server's files share.
 *
 * Transport hands a request to a kthread of its own pool, which has an fs_struct of its own with
 * umask 0.  dispatch.c looks the operation up in a table.  As the operation declares, dispatch.c
 * decodes its arguments, finds the objects of its handles and stateids, and puts on the caller's
 * credentials.  The operation calls the VFS and builds the reply.  dispatch.c then undoes what the
 * request holds and replies: each request gets exactly one reply, also when it fails.
 *
 *	dispatch.c	from a request to its reply
 *	op_*.c		the operations
 *	request.c	what operations do with the request that they serve (request.h)
 *	handle.c	file handle <-> dentry
 *	attr.c		attributes; seclabel.c security labels
 *	commit.c	bringing changes to stable storage
 *	change.c	the change cookie, and which session's changes moved it
 *	cred.c		SETCRED's identities, squashing, struct cred
 *	state.c		stateids: opens
 *	lockvfs.c	locks of files for clients (filelock.h); op_lock.c the operations
 *	filelock.c	those that clients wait for
 *	events.c	what clients are told of them without asking
 *	lockowner.c	whose they are, and how many there may be
 *	lockwait.c	when those that wait are tried again
 *	grace.c		which clients may take them again, and when (grace.h)
 *	holder.c	clients that have, or had, any in a file system (holder.h)
 *	record.c	records, on stable storage, of such clients (record.h); recordname.c
 *	clients.c	how many opens a client may have
 *	staying.c	in how many file systems below an export it may have them (staying.h)
 *	opened.c	the files that clients have open, or may open again (opened.h)
 *	claim.c		the opens of these, which outlive their sessions
 *	reclaim.c	for how long clients may open them again
 *	leaving.c	names that are being removed, of such files above all
 *	cut.c		notes of opens that an export's end has closed
 *	orphan.c	the directory that holds files whose last name was removed
 *	tmpfile.c	files that are made without a name
 *	trace.c		tracepoints of claims, names, records and grace periods (trace.h)
 *	nowait.c	READ and GETATTR of what is in memory, without blocking
 *	waits.c		the file system that any other request may block on
 *	session.c	what belongs to one session of a client
 *	export.c	exports that are live
 *	crossed.c	file systems that are mounted below them (crossmnt)
 *	configfs.c	the administrator's interface
 *	configfs_export.c, configfs_port.c	exports and ports there
 *
 * Lifetimes
 *
 *	struct rdmafsd_export	from enable to disable.  @inflight counts the
 *		requests at work in it; disable kills it.  When the last of them
 *		is done, the work @end closes the opens of all sessions and puts
 *		the path: after that the file system can be unmounted.  @refs
 *		keeps the memory alone, for as long as a state points to it.
 *	struct rdmafsd_session	from session_open to session_close; its memory
 *		also for as long as an export that ends looks at it.  Transport
 *		calls no handle() outside of that time.
 *	struct rdmafsd_state	@refs: one reference for the table of the session,
 *		one for each request at work with the state.  The task that
 *		takes the state out of the table (for CLOSE, disable or
 *		session_close) puts the table's reference.  The last put closes
 *		the file, at once and in process context.
 *	struct rdmafsd_lock	a lock that waits.  @refs: one of the session's table, one for
 *		each request at work with it.  The task that takes it out of the table
 *		ends it, and is sure then that nothing tries it, nor a thread sleeps for
 *		it (lockwait.c).  It keeps its state and its owner; the session ends when
 *		it has none (@nr_waits).
 *	struct rdmafsd_owner	@refs: one for each lock of the VFS, and each copy of one
 *		that a process looks at; one for each request at work, and each lock that
 *		waits.  It keeps the memory of the session; the module's exit waits for it.
 *	struct rdmafsd_ident	@refs: one reference for the table of the session,
 *		one for each request that is making its credentials.
 *	struct rdmafsd_opened, struct rdmafsd_claim	within the life of their
 *		export, see opened.c and claim.c.
 *
 * The order of locks is in Documentation/architecture.rst ("Lock order").
 */
#ifndef RDMAFSD_SERVER_H
#define RDMAFSD_SERVER_H

#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mount.h>
#include <linux/mutex.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/percpu-refcount.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/siphash.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include "fs/proto/codec.h"
#include "fs/proto/rdmafs_proto.h"
#include "transport/xprt.h"

#define RDMAFSD_SECRET_LEN	32	/* two keys of SipHash */
#define RDMAFSD_MAC_LEN		sizeof(__le64)

/*
 * What one client may make the server keep.  An open above the limit is refused (the limits are
 * in struct rdmafsd_opens_limits).  An identity above the limit evicts the one that has been
 * unused longest, since the client registers that one again when it is told BADCRED.  With fewer
 * identities than RDMAFSD_IDENTS_LEAST the users of a client would do little but register again.
 */
#define RDMAFSD_IDENTS_LEAST	16
#define RDMAFSD_IDENTS_USUAL	4096
#define RDMAFSD_GROUPS_MAX	(4 * RFP_GROUPS_MAX)	/* of all identities together */

/* ----------------------------------------------------------------- exports */

/**
 * enum rdmafsd_squash - which callers are given the anonymous user and group
 * @RDMAFSD_SQUASH_NONE: no caller
 * @RDMAFSD_SQUASH_ROOT: root; also the group root, and among the supplementary groups
 * @RDMAFSD_SQUASH_ALL:  all callers; they lose their supplementary groups
 */
enum rdmafsd_squash {
	RDMAFSD_SQUASH_NONE,
	RDMAFSD_SQUASH_ROOT,
	RDMAFSD_SQUASH_ALL,
};

/**
 * enum rdmafsd_commit - how changes are brought to stable storage, see commit.c
 * @RDMAFSD_COMMIT_NEVER: not at all: the file system has no stable storage
 * @RDMAFSD_COMMIT_CALL:  by the file system's ->commit_metadata()
 * @RDMAFSD_COMMIT_INODE: by writing an inode with its pages and buffers
 * @RDMAFSD_COMMIT_FSYNC: by the ->fsync() of its directories, for all objects
 * @RDMAFSD_COMMIT_SYNC:  by fsync of objects that can be opened, and by syncing the whole file
 *                        system for the others; used where nothing better is known to work
 */
enum rdmafsd_commit {
	RDMAFSD_COMMIT_NEVER,
	RDMAFSD_COMMIT_CALL,
	RDMAFSD_COMMIT_INODE,
	RDMAFSD_COMMIT_FSYNC,
	RDMAFSD_COMMIT_SYNC,
};

/**
 * struct rdmafsd_export_params - the settings of an export
 * @id:         names the export in handles; not 0
 * @secret:     signs handles and proofs
 * @read_only:  refuse changes
 * @devices:    let clients make device nodes
 * @grace_s:    for so many seconds clients may take their locks again before others get any; 0:
 *              they have no such time
 * @all_xattrs: offer trusted. and security. attributes, too
 * @seclabel:   clients are told the security labels of objects, and may set them
 * @mountpoint: refuse to start where no file system is mounted
 * @crossmnt:   clients may cross into what is mounted below it
 * @top:        of one that was crossed into: @id of the configured export above it; else 0
 * @unknown:    clients may have files open that the server does not know of: the secret is older
 *              than this module's memory, or notes of opens were lost; see
 *              rdmafsd_export_unknown()
 * @squash:     which callers become @anonuid:@anongid
 * @anonuid:    user that squashed callers become
 * @anongid:    group that squashed callers become
 * @name:       the name by which clients mount it, without slashes at its ends
 *
 * The administrator sets all but @unknown and @top.  Guarded by the lock of the item in configfs,
 * constant in a live export's copy.
 */
struct rdmafsd_export_params {
	u32 id;
	u8 secret[RDMAFSD_SECRET_LEN];
	bool read_only;
	bool devices;
	bool all_xattrs;
	bool seclabel;
	bool mountpoint;
	bool crossmnt;
	bool unknown;
	u32 top;
	u32 grace_s;
	enum rdmafsd_squash squash;
	kuid_t anonuid;
	kgid_t anongid;
	char name[RFP_EXPORT_NAME_MAX + 1];
};

#define RDMAFSD_NAMING_BITS	6	/* log2 of the number of @naming semaphores of an export */

/**
 * struct rdmafsd_export - an export that is live
 * @p:		its settings, constant
 * @serial:	differs between any two lives of exports: cached credentials are found by it;
 *		constant
 * @started:	since when clients can come back, in 64-bit jiffies; constant once it is live
 * @unknown:	clients may yet come back for opens that the server does not know of; without a
 *		lock, cleared for good by rdmafsd_export_unknown()
 * @path:	its root, a reference until the work @end; constant
 * @resource:	number of its file system, which requests in it may block on, see waits.c;
 *		constant
 * @whole:	@path is the root of its file system: every directory is inside; constant
 * @commit:	how changes are brought to stable storage in its file system; constant
 * @fsid:	names the file system to clients, the same after a restart; constant
 * @key:	signs handles; constant
 * @proof_key:	signs proofs of opens; constant
 * @cross_key:	makes the ids of exports that are crossed into from it; constant
 * @parent:	the export from which it was crossed into, a reference to its memory; NULL: an
 *		administrator has configured it; constant, as the next
 * @via:	handle of the directory at which it was crossed into, in @parent
 * @over:	that directory, a reference until it has ended; constant
 * @crossed:	&struct rdmafsd_export that were crossed into from it; guarded by
 *		rdmafsd_crossed_lock (crossed.c), as @sibling
 * @sibling:	in the list @crossed of @parent, from its start to its end
 * @nr_crossed:	of one without @parent: how many live ones there are below it; atomic
 * @ending:	of one with @parent: its end has begun; atomic
 * @nr_arriving: of one with @parent: how many CROSSes read its root; atomic, see op_session.c
 * @maker:	of one with @parent: the client that it was made for; constant
 * @used:	when a handle of it was last used, in jiffies; without a lock
 * @idle:	ends it when it is unused
 * @verf:	base of the write verifier, random; constant
 * @verf_gen:	added to @verf; atomic; grows whenever unstable data may have been lost
 * @inflight:	requests at work; killed when the export ends
 * @end:	closes and frees what is left once @inflight is zero, see export.c
 * @ended:	completed by @end
 * @nr_states:	states that hold a file open, those being closed included; atomic
 * @opened:	&struct rdmafsd_opened by inode; read under RCU
 * @claims:	&struct rdmafsd_claim by number; read and changed under @opened_lock
 * @made:	marks of files that were made in this life, or NULL, see rdmafsd_opened_made();
 *		without a lock
 * @opened_lock: changes of @opened, @claims and what is in them, and of the next six
 * @left:	the claims that clients may come back for, the first to be lost first; guesses
 *		(rdmafsd_left_add_guess()) before all others
 * @full:	guesses go at once: their room is needed
 * @going:	the file of a guess is just being removed
 * @room:	until this time, in 64-bit jiffies, the file system may get the room of a guess
 *		that was removed
 * @late:	the entries of @opened whose names as orphans could not be removed yet
 * @nr_orphans:	number of the entries of @opened that are not NAMED; also read without the lock
 * @reap:	ends the claims that no client has come back for in time
 * @reap_at:	when @reap is to run, in jiffies; under @opened_lock
 * @later:	removes the names of the entries in @late
 * @orphans_lock: guards changes of the next three, except the last change, which the task makes
 *		that ends the export, with no request and no other work left
 * @orphans:	the directory of orphans, a reference; NULL until it is first needed
 * @orphans_inode: inode of @orphans, only to be compared with; read without a lock
 * @orphans_ino: inode number of @orphans; read without a lock
 * @grace:	which clients have locks in its file system, see grace.c; constant
 * @bare:	it is read-only: clients that have locks there are not recorded; constant
 * @seclabel:	1: its file system has security labels; -1: it has none; 0: it was not asked yet.
 *		Without a lock
 * @refs:	keeps this memory: one until @end is done, one for each state, for each export with
 *		this @parent, and for each task that still looks at the export
 * @rcu:	defers its freeing; in the first 4 KiB, as kfree_rcu() wants it
 * @naming:	held for writing while the name of a file is removed, for reading by an open for a
 *		moment, and while a file is made immutable or append-only; one of them by a hash of
 *		the inode, see opened.c
 */
struct rdmafsd_export {
	struct rdmafsd_export_params p;
	u64 serial;
	u64 started;
	bool unknown;
	struct path path;
	u64 resource;
	bool whole;
	enum rdmafsd_commit commit;
	u8 fsid[16];
	siphash_key_t key;
	siphash_key_t proof_key;
	siphash_key_t cross_key;
	struct rdmafsd_export *parent;
	struct rfp_fh via;
	struct path over;
	struct list_head crossed;
	struct list_head sibling;
	atomic_t nr_crossed;
	atomic_t ending;
	atomic_t nr_arriving;
	struct rdmafs_xprt_source maker;
	unsigned long used;
	struct delayed_work idle;
	u64 verf;
	atomic64_t verf_gen;
	struct percpu_ref inflight;
	struct work_struct end;
	struct completion ended;
	atomic_t nr_states;
	struct rhashtable opened;
	struct rhashtable claims;
	u64 *made;
	spinlock_t opened_lock;		/* see above */
	struct list_head left;
	bool full;
	bool going;
	u64 room;
	struct list_head late;
	unsigned int nr_orphans;
	struct delayed_work reap;
	unsigned long reap_at;
	struct delayed_work later;
	struct mutex orphans_lock;	/* the next three */
	struct dentry *orphans;
	const struct inode *orphans_inode;
	u64 orphans_ino;
	struct rdmafsd_grace *grace;
	bool bare;
	s8 seclabel;
	refcount_t refs;
	struct rcu_head rcu;
	struct rw_semaphore naming[1 << RDMAFSD_NAMING_BITS];
};

/**
 * struct rdmafsd_known - an export that has a directory in configfs, live or not
 * @link:    in the list of all of them
 * @id:	     the export's id
 * @unknown: notes of what clients had open in it were lost since its last start
 *
 * All of it is guarded by the lock of known exports (export.c).
 */
struct rdmafsd_known {
	struct list_head link;
	u32 id;
	bool unknown;
};

void rdmafsd_known_add(struct rdmafsd_known *known, u32 id);
void rdmafsd_known_change(struct rdmafsd_known *known, u32 id);
void rdmafsd_known_remove(struct rdmafsd_known *known);
bool rdmafsd_export_off(u32 id);
int rdmafsd_export_missing(u32 id);
void rdmafsd_known_set_note_lost(u32 id);
bool rdmafsd_known_take_note_lost(struct rdmafsd_known *known);
bool rdmafsd_known_has_note_lost(u32 id);

struct rdmafsd_export *rdmafsd_export_new(const struct rdmafsd_export_params *p);
int rdmafsd_export_begin(struct rdmafsd_export *exp);
struct rdmafsd_export *rdmafsd_export_start(const struct rdmafsd_export_params *p,
					    const char *path);
void rdmafsd_export_end(struct rdmafsd_export *exp);
ssize_t rdmafsd_exports_ending(char *page);
void rdmafsd_exports_rearm(void);
struct rdmafsd_export *rdmafsd_export_find_id(u32 id);
u64 rdmafsd_export_resource(u32 id);
bool rdmafsd_export_ends(u32 id);
bool rdmafsd_export_unknown(struct rdmafsd_export *exp);
struct rdmafsd_export *rdmafsd_export_find_name(const char *name, size_t len);
bool rdmafsd_export_get(struct rdmafsd_export *exp);
void rdmafsd_export_put(struct rdmafsd_export *exp);
void rdmafsd_export_put_memory(struct rdmafsd_export *exp);
int rdmafsd_exports_init(void);
void rdmafsd_exports_exit(void);

/* So many file systems and subvolumes may be live below one export. */
#define RDMAFSD_CROSSED_MAX	256
/* So many of them are one client's, so that others always find some. */
#define RDMAFSD_CROSSED_CLIENT	192

bool rdmafsd_is_crossing(const struct rdmafsd_export *exp, struct dentry *dentry);
int rdmafsd_crossed_missing(struct rdmafsd_export *exp);
int rdmafsd_crossed_check(struct rdmafsd_export *exp);
int rdmafsd_crossed_get(struct rdmafsd_export *parent, struct dentry *dentry,
			const struct rdmafs_xprt_source *maker, struct rdmafsd_export **found);
void rdmafsd_crossed_drop(struct rdmafsd_export *top);
void rdmafsd_crossed_end_below(struct rdmafsd_export *exp);
void rdmafsd_crossed_ended(struct rdmafsd_export *exp);
void rdmafsd_crossed_idle_work(struct work_struct *work);

/* Runs an export's @reap, @later and @idle, and the ends of grace periods. */
extern struct workqueue_struct *rdmafsd_reap_wq;

/* The id by which configfs knows an export, or the one from which it was crossed into. */
static inline u32 rdmafsd_export_known(const struct rdmafsd_export *exp)
{
	return exp->p.top ?: exp->p.id;
}

/* The file system has no stable storage: what is written is as stable as it will ever be. */
static inline bool rdmafsd_export_is_volatile(const struct rdmafsd_export *exp)
{
	return exp->commit == RDMAFSD_COMMIT_NEVER;
}

/*
 * The map of ids of the exported mount.  What clients name and are told are ids of that mount.  But
 * what the server does for itself with its own credentials is done as the file system's root
 * (nop_mnt_idmap), who may have no id in the mount.
 */
static inline struct mnt_idmap *rdmafsd_idmap(const struct rdmafsd_export *exp)
{
	return mnt_idmap(exp->path.mnt);
}

static inline u64 rdmafsd_export_verifier(struct rdmafsd_export *exp)
{
	return exp->verf + atomic64_read(&exp->verf_gen);
}

/* ---------------------------------------------------------------- sessions */

#define RDMAFSD_IDENT_CREDS	4	/* exports for which an identity keeps a cred each */

/**
 * struct rdmafsd_who - whom a client calls a caller
 * @uid:    user; INVALID_UID: has no id in the file system, which only a @mapped caller may lack
 * @gid:    group; likewise INVALID_GID
 * @groups: supplementary groups, sorted; a reference
 * @capable: the client says that it has root's capabilities for files
 * @mapped: it comes by an id-mapped mount of the client: to be user 0 gives it no capability
 */
struct rdmafsd_who {
	kuid_t uid;
	kgid_t gid;
	struct group_info *groups;
	bool capable;
	bool mapped;
};

/**
 * struct rdmafsd_ident - a caller, as its client named it by SETCRED
 * @id:     the client's name for it; constant
 * @lru:    in the session's @idents_lru; empty before that, and once it is out of the session's
 *          table.  Guarded by the session's @lru_lock
 * @who:    whom the client calls so; constant
 * @used:   when a request last used it, in jiffies; without a lock
 * @lock:   guards @next and @creds; a leaf
 * @next:   index into @creds, modulo its size, of the entry to be replaced next
 * @creds:  the credentials that it has in an export, by the export's serial
 * @refs:   one for the session's table, one for each request that is getting its credentials
 * @rcu:    defers its freeing
 */
struct rdmafsd_ident {
	u32 id;
	struct list_head lru;
	struct rdmafsd_who who;
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
 * struct rdmafsd_opens_limits - how many opens there may be
 * @all:    opens of all clients together
 * @client: opens of one client, in all of its sessions; clients are told apart by the address
 *          that they come from
 *
 * The administrator may write them at any time.  A lower limit closes nothing: files that are
 * open stay open, and may be opened again after their session was lost.  No lock: READ_ONCE().
 */
struct rdmafsd_opens_limits {
	u32 all;
	u32 client;
};

extern struct rdmafsd_opens_limits rdmafsd_opens_limits;

/**
 * struct rdmafsd_client - all sessions that come from one address
 * @link:        in the list of all; guarded by the lock of that list (clients.c)
 * @refs:        references of sessions, claims and notes (cut.c); guarded by the lock of the
 *               list
 * @opens:       claims of its opens, and notes of its opens that were cut off (cut.c)
 * @guesses:     claims for files that it has removed and that clients unknown may have open
 * @nr_locks:    @nr_locks of all of its sessions together (lockowner.c)
 * @nr_waits:    @nr_waits of all of its sessions together
 * @nr_sleepers: threads that wait for locks of its sessions (lockwait.c)
 * @cuts_looked: when notes of this client were last searched for some that could give way, and
 *               none was found; in 64-bit jiffies.  Without a lock
 * @source:      the address that it comes from; constant
 */
struct rdmafsd_client {
	struct list_head link;
	unsigned int refs;
	atomic_t opens;
	atomic_t guesses;
	atomic_t nr_locks;
	atomic_t nr_waits;
	atomic_t nr_sleepers;
	u64 cuts_looked;
	struct rdmafs_xprt_source source;
};

struct rdmafsd_claim;

struct rdmafsd_client *rdmafsd_client_get(const struct rdmafs_xprt_source *source);
void rdmafsd_client_put(struct rdmafsd_client *client);
void rdmafsd_opens_init(void);
u32 rdmafsd_opens_now(void);
void rdmafsd_opens_show(struct seq_file *m);
struct rdmafsd_claim *rdmafsd_claim_new(const struct rdmafsd_export *exp,
					struct rdmafsd_client *client, bool again);
struct rdmafsd_claim *rdmafsd_claim_guess(const struct rdmafsd_export *exp,
					  struct rdmafsd_client *by, const char **why);
void rdmafsd_opens_uncharge(struct rdmafsd_client *client);
void rdmafsd_claim_free(struct rdmafsd_claim *claim);

/* Chains of a session's table of owners of locks. */
#define RDMAFSD_OWNER_CHAINS	256

/**
 * struct rdmafsd_session - one session of a client
 * @serial:      its index in the table of all sessions; constant
 * @id:          what the client calls itself, the same in its next session; constant
 * @age:         greater than those of all sessions that began before it; constant
 * @idents:      &struct rdmafsd_ident by the id that the client chose; read under RCU
 * @idents_lock: serialises changes of @idents; guards @nr_idents and @nr_groups
 * @idents_lru:  the same identities, the one used last at the end
 * @lru_lock:    guards @idents_lru; a leaf, inside @idents_lock
 * @nr_idents:   identities in @idents
 * @nr_groups:   supplementary groups of all of them together
 * @states:      &struct rdmafsd_state by the low half of the stateid; read under RCU
 * @next_state:  index to try next in @states; guarded by the lock of @states
 * @client:      the client that its opens count for; constant, a reference
 * @xs:          transport's; constant, valid until session_close() returns
 * @holds:       &struct rdmafsd_export by serial, references to memory: those in which it may be
 *               recorded to have locks (grace.c); the xarray's own lock
 * @locks:       &struct rdmafsd_lock by token; the xarray's own lock
 * @locks_lock:  guards the next seven; in it only transport's lock of the session
 * @owners:      &struct rdmafsd_owner, by a keyed hash of the client's names for them
 * @events:      &struct rdmafsd_lock whose client is to be told
 * @waits_ended: locks that waited are gone with their export, and the client is to be told
 * @rung:        the client was told to ask for @events, and has not asked yet
 * @reclaim:     the client is to be told that it has to take its locks again, or may not have got
 *               that reply yet
 * @reclaim_told: the reply to its last EVENTS says so
 * @gone:        the session ends, and transport's is not to be rung for @reclaim, or for
 *               nothing, any more
 * @nr_locks:    locks that the VFS has for it, and copies of them that processes look at; atomic
 * @nr_waits:    locks in @locks, and those that are being ended; atomic
 * @done_token:  tells its RECLAIM_DONE from those of other sessions, with the export's serial from
 *               those of other lives of it; random, not 0; constant
 * @cut:         &struct rdmafsd_cut, notes of its opens; guarded by the lock in cut.c
 * @ended:       the session ends, @cut gets no more notes; written under the same lock
 * @refs:        keeps this memory: one until session_close, one for each export that ends and
 *               looks at it, one for each owner of locks, one for each holder (grace.c)
 * @rcu:         defers its freeing
 */
struct rdmafsd_session {
	u32 serial;
	u8 id[RDMAFS_XPRT_CLIENT_ID];
	u64 age;
	struct xarray idents;
	struct mutex idents_lock;	/* changes of @idents, @nr_* */
	struct list_head idents_lru;
	spinlock_t lru_lock;		/* @idents_lru */
	unsigned int nr_idents;
	unsigned int nr_groups;
	struct xarray states;
	u32 next_state;
	struct rdmafsd_client *client;
	struct rdmafs_xprt_session *xs;
	struct xarray holds;
	struct xarray locks;
	spinlock_t locks_lock;		/* @owners, @events and the five after it */
	struct hlist_head owners[RDMAFSD_OWNER_CHAINS];
	struct list_head events;
	bool waits_ended;
	bool rung;
	bool reclaim;
	bool reclaim_told;
	bool gone;
	atomic_t nr_locks;
	atomic_t nr_waits;
	u64 done_token;
	struct list_head cut;
	bool ended;
	refcount_t refs;
	struct rcu_head rcu;
};

extern const struct rdmafs_xprt_service rdmafsd_service;

void rdmafsd_handle(struct rdmafs_xprt_req *req, void *ctx);
bool rdmafsd_handle_now(struct rdmafs_xprt_req *req, void *ctx);
u64 rdmafsd_waits_for(struct rdmafs_xprt_req *req, void *ctx);

void rdmafsd_session_put(struct rdmafsd_session *ses);
void rdmafsd_sessions_close_export(struct rdmafsd_export *exp);
void rdmafsd_sessions_unused(struct rdmafsd_export *exp);
void rdmafsd_sessions_tell(struct rdmafsd_export *exp);
void rdmafsd_sessions_ring(void);
int rdmafsd_session_hold(struct rdmafsd_session *ses, struct rdmafsd_export *exp);
int rdmafsd_sessions_init(void);
void rdmafsd_sessions_exit(void);

int rdmafsd_creds_init(void);
void rdmafsd_creds_exit(void);
int rdmafsd_ident_set(struct rdmafsd_session *ses, u32 id, const struct rdmafsd_who *who);
void rdmafsd_idents_free(struct rdmafsd_session *ses);
void rdmafsd_idents_show(struct seq_file *m);
const struct cred *rdmafsd_cred_get(struct rdmafsd_session *ses, u32 id,
				    struct rdmafsd_export *exp);

/* How many identities a session may have; set in configfs.  No lock: READ_ONCE(). */
extern u32 rdmafsd_idents_max;

/* The server's own credentials: all capabilities, no supplementary groups. */
extern const struct cred *rdmafsd_own_cred;

/* ------------------------------------------------------------------ states */

/**
 * struct rdmafsd_state - an open of a file in one session
 * @file:   the open file; its f_mode tells what may be done with it; constant
 * @exp:    the export of the file; constant, a reference to its memory only
 * @claim:  the claim of the open, owned by the state; constant
 * @closed: the client will not open the file again for this claim: it has closed it, or does not
 *          learn that it was opened; set before the table's reference is put
 * @id:     the whole stateid; constant
 * @refs:   one for the session's table, one for each request at work with it, one for each lock
 *          that waits
 * @rcu:    defers its freeing
 * @lock:   guards @seen and @flags; a leaf
 * @seen:   the file's change cookie when @flags were last looked up, or 0
 * @flags:  RFP_ATTR_* that the file had then
 */
struct rdmafsd_state {
	struct file *file;
	struct rdmafsd_export *exp;
	struct rdmafsd_claim *claim;
	bool closed;
	u64 id;
	refcount_t refs;
	struct rcu_head rcu;
	spinlock_t lock;
	u64 seen;
	u32 flags;
};

int rdmafsd_state_add(struct rdmafsd_session *ses, struct rdmafsd_export *exp,
		      struct file *file, struct rdmafsd_claim *claim, u64 *id);
int rdmafsd_state_get(struct rdmafsd_session *ses, u64 id, struct rdmafsd_state **state);
u64 rdmafsd_state_resource(struct rdmafsd_session *ses, u64 id);
void rdmafsd_state_put(struct rdmafsd_state *st);
bool rdmafsd_state_remove(struct rdmafsd_session *ses, struct rdmafsd_state *st);
bool rdmafsd_state_close(struct rdmafsd_session *ses, u64 id, bool closed);
void rdmafsd_states_close(struct rdmafsd_session *ses, struct rdmafsd_export *exp);
struct rdmafsd_export *rdmafsd_states_export(struct rdmafsd_session *ses, unsigned long *index);
void rdmafsd_file_close(struct file *file);

/* --------------------------------------------------- locks, orphans, names */

void rdmafsd_locks_end(struct rdmafsd_session *ses, const struct rdmafsd_export *exp);
struct rdmafsd_export *rdmafsd_locks_export(struct rdmafsd_session *ses, unsigned long *index);
u64 rdmafsd_lock_resource(struct rdmafsd_session *ses, u32 token);
bool rdmafsd_file_unlock(struct file *file);
void rdmafsd_locks_kick(const struct inode *inode);
void rdmafsd_locks_show(struct seq_file *m);
int rdmafsd_locks_init(void);
void rdmafsd_locks_exit(void);

bool rdmafsd_name_reserved(const struct rfp_str *name);

/* Compared by address only: the inode is not referenced for this. */
static inline bool rdmafsd_is_orphans(const struct rdmafsd_export *exp, const struct inode *inode)
{
	return inode && inode == READ_ONCE(exp->orphans_inode);
}

struct dentry *rdmafsd_lookup(struct rdmafsd_export *exp, struct dentry *dir,
			      const struct rfp_str *name);
struct dentry *rdmafsd_lookup_there(struct rdmafsd_export *exp, struct dentry *dir,
				    const struct rfp_str *name);
struct dentry *rdmafsd_orphans(struct rdmafsd_export *exp, bool make);
struct dentry *rdmafsd_orphans_of_fs(struct rdmafsd_export *exp, bool make);

/* Reads their directory: the actor of @ctx sets @enough when it wants no more names. */
struct rdmafsd_orphans_list {
	struct dir_context ctx;
	bool enough;
};

int rdmafsd_orphans_list(struct rdmafsd_export *exp, struct dentry *dir,
			 struct rdmafsd_orphans_list *list);
int rdmafsd_orphan_add(struct rdmafsd_export *exp, struct dentry *obj, bool linkable,
		       struct inode **delegated);
int rdmafsd_orphan_undo(struct rdmafsd_export *exp, struct inode *inode);
bool rdmafsd_orphan_remove(struct rdmafsd_export *exp, struct inode *inode);
int rdmafsd_orphans_start(struct rdmafsd_export *exp);
void rdmafsd_orphans_exit(struct rdmafsd_export *exp);

/* ----------------------------------------------------- handles, attributes */

u64 rdmafsd_fh_resource(const struct rfp_fh *fh);
int rdmafsd_fh_fits(struct rdmafsd_export *exp);
u32 rdmafsd_crossed_id(struct rdmafsd_export *parent, const struct rfp_fh *via,
		       const struct path *path);
int rdmafsd_fh_encode(struct rdmafsd_export *exp, struct dentry *dentry, struct rfp_fh *fh);
void rdmafsd_keys_init(struct rdmafsd_export *exp);
bool rdmafsd_dir_inside(struct rdmafsd_export *exp, struct dentry *dir);

void rdmafsd_changes_init(void);
bool rdmafsd_change_made(struct inode *inode);
bool rdmafsd_has_version(struct inode *inode);
u64 rdmafsd_cookie_base(struct inode *inode);
u64 rdmafsd_cookie_from(struct inode *inode, u64 base, const struct kstat *stat);
ssize_t rdmafsd_cached_read(struct file *file, loff_t pos, struct iov_iter *to);
void rdmafsd_attrs_seen(struct rdmafsd_state *st, const struct rfp_attr *attr);
int rdmafsd_getattr_now(struct rdmafsd_state *st, struct rfp_attr *attr);
ssize_t rdmafsd_cached_get_pages(struct file *file, loff_t pos, size_t len, struct bio_vec *bv,
				 u32 max, u32 *nr);

int rdmafsd_cookie(const struct path *path, u64 *cookie, u64 *size);
/* The attributes that an rfp_attr is made of. */
#define RDMAFSD_STATX	(STATX_BASIC_STATS | STATX_BTIME)

void rdmafsd_attr_fill(struct inode *inode, const struct kstat *stat, u64 cookie, u32 flags,
		       struct rfp_attr *attr);
int rdmafsd_getattr(struct rdmafsd_export *exp, struct dentry *dentry, struct rfp_attr *attr);
void rdmafsd_commit_init(struct rdmafsd_export *exp);
int rdmafsd_commit(struct rdmafsd_export *exp, struct dentry *dentry);
u32 rdmafsd_access(const struct rdmafsd_export *exp, struct inode *inode);
int rdmafsd_deleg_end(struct inode **delegated, int err);

bool rdmafsd_xattr_offered(const struct rdmafsd_export *exp, const char *name);
bool rdmafsd_seclabel_is(const struct rdmafsd_export *exp, const char *name);
bool rdmafsd_seclabel_able(struct rdmafsd_export *exp);
int rdmafsd_seclabel_get(struct rdmafsd_export *exp, struct dentry *dentry, void *label,
			 size_t size);
umode_t rdmafsd_create_mode(struct dentry *dir, u32 mode, u32 umask);
struct dentry *rdmafsd_lookup_again(struct mnt_idmap *idmap, struct dentry *dir,
				    struct dentry *dentry, const struct rfp_str *name);

extern const struct config_item_type rdmafsd_exports_type;
extern const struct config_item_type rdmafsd_ports_type;

int rdmafsd_configfs_init(void);
void rdmafsd_configfs_exit(void);

#endif
