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
 *	attr.c		attributes
 *	commit.c	changes to stable storage
 *	change.c	the change cookie, and whose changes moved it
 *	cred.c		SETCRED's identities, squashing, struct cred
 *	state.c		stateids: opens
 *	clients.c	how many of them a client may have
 *	opened.c	which files are open, and wait for who had them open
 *	orphan.c	where they are once their names are gone
 *	nowait.c	what can be served without blocking
 *	waits.c		what the others may block on
 *	session.c	what belongs to one client
 *	export.c	exports that are live
 *	configfs.c	what the administrator sees
 *
 * Lifetimes
 *
 *	struct rdmafsd_export	from enable to disable.  @inflight counts the
 *		requests at work in it and is killed by disable; the last of
 *		them has @end closed the opens of all sessions, and let go of
 *		the path: after that the file system can be unmounted.  The
 *		memory alone lives on in @refs while a state points to it.
 *	struct rdmafsd_session	from session_open to session_close, its memory
 *		for as long as an export that ends looks at it.  Transport calls
 *		no handle() outside of that.
 *	struct rdmafsd_state	@refs: one for the table of the session, one
 *		for each request at work with it.  Whoever takes it out of the
 *		table (CLOSE, disable, session_close) puts the table's.  The
 *		last put closes the file, at once and in process context.
 *	struct rdmafsd_opened, struct rdmafsd_claim	see opened.c: within their
 *		export's life.
 *	struct rdmafsd_ident	the same, for SETCRED.
 *
 * Lock order
 *
 *	configfs (su_mutex)
 *	  cfg->lock, port->lock		one item's settings and its state
 *	    rdmafsd_exports_lock	names of live exports; also inside the lock of the
 *					module's parameters, when reclaim_s is written
 *	      mount's and superblock's write counts (mnt_want_write)
 *	        naming semaphore of a file	(opened.c)
 *	          exp->orphans_lock
 *	            i_rwsem of a directory	(I_MUTEX_PARENT; two of them: lock_rename)
 *	              i_rwsem of what is in it
 *	session->idents_lock (outside of lru_lock), ident->lock, exp->opened_lock,
 *	that of clients, that of known exports, those of change.c
 *				leaves: nothing is taken under them but the
 *				allocator's locks and those of a hash table
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
 * What one client may make the server keep.  Too many opens are refused (their
 * bounds are struct rdmafsd_opens_limits); an identity too many throws out the
 * one that was unused longest, since the client registers it again when it is
 * told BADCRED.  With fewer than the least that may be set its users would do
 * little else.
 */
#define RDMAFSD_IDENTS_LEAST	16
#define RDMAFSD_IDENTS_USUAL	4096
#define RDMAFSD_GROUPS_MAX	(4 * RFP_GROUPS_MAX)	/* of all identities together */

/* ----------------------------------------------------------------- exports */

enum rdmafsd_squash {
	RDMAFSD_SQUASH_NONE,
	RDMAFSD_SQUASH_ROOT,
	RDMAFSD_SQUASH_ALL,
};

/**
 * enum rdmafsd_commit - how changes are brought to stable storage, see commit.c
 * @RDMAFSD_COMMIT_NEVER: there is none
 * @RDMAFSD_COMMIT_CALL:  by the file system's ->commit_metadata()
 * @RDMAFSD_COMMIT_INODE: by writing an inode with its pages and buffers
 * @RDMAFSD_COMMIT_FSYNC: by the ->fsync() of its directories, for all objects
 * @RDMAFSD_COMMIT_SYNC:  by fsync of what can be opened, else with the whole
 *			  file system; where nothing is known
 */
enum rdmafsd_commit {
	RDMAFSD_COMMIT_NEVER,
	RDMAFSD_COMMIT_CALL,
	RDMAFSD_COMMIT_INODE,
	RDMAFSD_COMMIT_FSYNC,
	RDMAFSD_COMMIT_SYNC,
};

/**
 * struct rdmafsd_export_params - what an administrator sets
 * @id:		names the export in handles; not 0
 * @secret:	signs handles
 * @read_only:	refuse changes
 * @devices:	let device nodes be made
 * @all_xattrs:	offer trusted. and security. attributes, too
 * @mountpoint:	refuse to start where no file system is mounted
 * @unknown:	clients may have files open that the server has not heard of: the secret
 *		is older than its memory, or that was lost, see rdmafsd_export_unknown()
 * @squash:	who becomes @anonuid:@anongid
 * @anonuid:	user that squashed callers become
 * @anongid:	their group
 * @name:	what clients mount, without slashes at its ends
 */
struct rdmafsd_export_params {
	u32 id;
	u8 secret[RDMAFSD_SECRET_LEN];
	bool read_only;
	bool devices;
	bool all_xattrs;
	bool mountpoint;
	bool unknown;
	enum rdmafsd_squash squash;
	kuid_t anonuid;
	kgid_t anongid;
	char name[RFP_EXPORT_NAME_MAX + 1];
};

#define RDMAFSD_NAMING_BITS	6	/* semaphores for the names of an export's open files */

/**
 * struct rdmafsd_export - an export that is live
 * @p:		its settings, constant while it is live
 * @serial:	never the same for two lives: tells cached credentials apart
 * @started:	when clients could come back at first, in 64-bit jiffies
 * @unknown:	they may come back yet for what the server has not heard of
 * @path:	its root
 * @domain:	its file system: what requests in it may wait for, see waits.c
 * @whole:	@path is the root of its file system: every directory is inside
 * @commit:	how its file system is made to keep changes
 * @fsid:	names the file system to clients, the same after a restart
 * @key:	signs handles
 * @proof_key: signs proofs of opens
 * @verf:	base of the write verifier, random
 * @verf_gen:	added to it; grows with every writeback error
 * @inflight:	requests at work
 * @end:	what is left to do once @inflight is gone, see export.c
 * @ended:	that is done
 * @nr_states:	states that hold a file open, closing ones too
 * @opened:	&struct rdmafsd_opened by inode
 * @claims:	&struct rdmafsd_claim by number
 * @made:	marks of files that were made in this life, or NULL, see rdmafsd_opened_made()
 * @opened_lock: changes of @opened, @claims and what is in them, and of the next six
 * @left:	the claims that clients may come back for, the first to be lost first; guesses
 *		(rdmafsd_leaving_wait()) before all others
 * @full:	guesses go at once: their room is needed
 * @going:	the file of a guess is just being removed
 * @room:	until then, in 64-bit jiffies, there may be the room of one
 * @late:	of what is in @opened, those whose names as orphans are to be removed yet
 * @nr_orphans:	likewise, those without a name of their own
 * @reap:	lets go of those that nobody comes back for
 * @reap_at:	when it is to run, in jiffies
 * @later:	removes names of those in @late
 * @orphans_lock: guards the next three
 * @orphans:	the directory of orphans once it was needed
 * @orphans_inode: its inode, to be compared with
 * @orphans_ino: and that one's number
 * @refs:	this memory
 * @rcu:	defers its freeing; in the first 4 KiB, as kfree_rcu() wants it
 * @naming:	each held while the name of a file goes; by inode, see opened.c
 */
struct rdmafsd_export {
	struct rdmafsd_export_params p;
	u64 serial;
	u64 started;
	bool unknown;
	struct path path;
	u64 domain;
	bool whole;
	enum rdmafsd_commit commit;
	u8 fsid[16];
	siphash_key_t key;
	siphash_key_t proof_key;
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
	refcount_t refs;
	struct rcu_head rcu;
	struct rw_semaphore naming[1 << RDMAFSD_NAMING_BITS];
};

/**
 * struct rdmafsd_known - an export that is written down, live or not
 * @link:    among all such
 * @id:	     its number in handles
 * @unknown: what clients had open in it could not all be noted, or not for as long as it is off
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
void rdmafsd_known_lost(u32 id);
bool rdmafsd_known_unknown(struct rdmafsd_known *known);

struct rdmafsd_export *rdmafsd_export_start(const struct rdmafsd_export_params *p,
					    const char *path);
void rdmafsd_export_end(struct rdmafsd_export *exp);
ssize_t rdmafsd_exports_ending(char *page);
void rdmafsd_exports_look(void);
struct rdmafsd_export *rdmafsd_export_find_id(u32 id);
u64 rdmafsd_export_domain(u32 id);
bool rdmafsd_export_unknown(struct rdmafsd_export *exp);
struct rdmafsd_export *rdmafsd_export_find_name(const char *name, size_t len);
void rdmafsd_export_put(struct rdmafsd_export *exp);
void rdmafsd_export_free(struct rdmafsd_export *exp);
int rdmafsd_exports_init(void);
void rdmafsd_exports_exit(void);

/* All is as stable there as it will ever be. */
static inline bool rdmafsd_export_is_volatile(const struct rdmafsd_export *exp)
{
	return exp->commit == RDMAFSD_COMMIT_NEVER;
}

static inline u64 rdmafsd_export_verifier(struct rdmafsd_export *exp)
{
	return exp->verf + atomic64_read(&exp->verf_gen);
}

/* ---------------------------------------------------------------- sessions */

#define RDMAFSD_IDENT_CREDS	4	/* exports that one client uses at a time, or nearly */

/**
 * struct rdmafsd_ident - a caller, as its client named it by SETCRED
 * @id:	    its name
 * @lru:    among those of its session; empty once it is in its table no more
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
	u32 id;
	struct list_head lru;
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
 * struct rdmafsd_opens_limits - how many opens there may be
 * @all:    of all clients together
 * @client: of one, which is where it comes from, in all of its sessions
 *
 * Written by the administrator at any time; what is open stays open, and is opened again
 * after its session was lost.
 */
struct rdmafsd_opens_limits {
	u32 all;
	u32 client;
};

extern struct rdmafsd_opens_limits rdmafsd_opens_limits;

/**
 * struct rdmafsd_client - what transport takes for one client
 * @link:   in the list of all
 * @refs:   sessions, claims and those notes; under the lock of the list
 * @opens:  claims that it has, and notes of what was cut off (cut.c)
 * @guesses: claims for whoever may have open what it has removed
 * @cuts_looked: in 64-bit jiffies, when none of those notes gave way at last
 * @source: where it comes from
 */
struct rdmafsd_client {
	struct list_head link;
	unsigned int refs;
	atomic_t opens;
	atomic_t guesses;
	u64 cuts_looked;
	struct rdmafs_xprt_source source;
};

struct rdmafsd_client *rdmafsd_client_get(const struct rdmafs_xprt_source *source);
void rdmafsd_client_put(struct rdmafsd_client *client);
void rdmafsd_opens_init(void);
u32 rdmafsd_opens_now(void);
u32 rdmafsd_left_now(void);
void rdmafsd_opens_show(struct seq_file *m);
struct rdmafsd_claim *rdmafsd_claim_new(struct rdmafsd_client *client, bool again);
struct rdmafsd_claim *rdmafsd_claim_guess(struct rdmafsd_client *by);
void rdmafsd_opens_uncharge(struct rdmafsd_client *client);
void rdmafsd_claim_free(struct rdmafsd_claim *claim);

/**
 * struct rdmafsd_session - what belongs to one client
 * @serial:	in the table of all
 * @id:		what the client calls itself, in this session and the next
 * @idents:	&struct rdmafsd_ident by the id that the client chose
 * @idents_lock: serialises changes of @idents
 * @idents_lru:	the same, what was used last at its end
 * @lru_lock:	guards it; a leaf
 * @nr_idents:	how many there are
 * @nr_groups:	groups of all of them together
 * @states:	&struct rdmafsd_state by the low half of the stateid
 * @next_state:	where to look for a free one; under the lock of @states
 * @client:	whose opens they are
 * @cut:	&struct rdmafsd_cut, see cut.c, which has the lock
 * @ended:	there are to be no more of them; likewise
 * @refs:	this memory
 * @rcu:	defers its freeing
 */
struct rdmafsd_session {
	u32 serial;
	u8 id[RDMAFS_XPRT_CLIENT_ID];
	struct xarray idents;
	struct mutex idents_lock;	/* changes of @idents, and their account */
	struct list_head idents_lru;
	spinlock_t lru_lock;		/* @idents_lru */
	unsigned int nr_idents;
	unsigned int nr_groups;
	struct xarray states;
	u32 next_state;
	struct rdmafsd_client *client;
	struct list_head cut;
	bool ended;
	refcount_t refs;
	struct rcu_head rcu;
};

extern const struct rdmafs_xprt_service rdmafsd_service;

void rdmafsd_sessions_close_export(struct rdmafsd_export *exp);
int rdmafsd_sessions_init(void);
void rdmafsd_sessions_exit(void);

int rdmafsd_creds_init(void);
void rdmafsd_creds_exit(void);
int rdmafsd_ident_set(struct rdmafsd_session *ses, u32 id, kuid_t uid, kgid_t gid,
		      struct group_info *groups);
void rdmafsd_idents_free(struct rdmafsd_session *ses);
void rdmafsd_idents_show(struct seq_file *m);
const struct cred *rdmafsd_cred_get(struct rdmafsd_session *ses, u32 id,
				    struct rdmafsd_export *exp);

/* Identities that a session may have; set in configfs. */
extern u32 rdmafsd_idents_max;

/* The server's own: all capabilities, nobody's groups. */
extern const struct cred *rdmafsd_own_cred;

/* ------------------------------------------------------------------ states */

/**
 * struct rdmafsd_state - an open
 * @file:   the open file; its mode tells what may be done with it
 * @exp:    where it is, holding the memory only
 * @claim:  its part in what becomes of the file there
 * @closed: by its client, who does not come back for it
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
u64 rdmafsd_state_domain(struct rdmafsd_session *ses, u64 id);
void rdmafsd_state_put(struct rdmafsd_state *st);
bool rdmafsd_state_remove(struct rdmafsd_session *ses, struct rdmafsd_state *st);
bool rdmafsd_state_close(struct rdmafsd_session *ses, u64 id, bool closed);
void rdmafsd_states_close(struct rdmafsd_session *ses, struct rdmafsd_export *exp);
struct rdmafsd_export *rdmafsd_states_export(struct rdmafsd_session *ses, unsigned long *index);
void rdmafsd_file_close(struct file *file);

/* ------------------------------------------------------------- opened files */

/**
 * enum rdmafsd_opened_name - where the name of an open file is
 * @RDMAFSD_NAMED:  where users see it
 * @RDMAFSD_ORPHAN: in the directory of orphans
 * @RDMAFSD_GONE:   just being removed from there
 */
enum rdmafsd_opened_name {
	RDMAFSD_NAMED,
	RDMAFSD_ORPHAN,
	RDMAFSD_GONE,
};

/**
 * struct rdmafsd_opened - a file that clients have open, or may come back for
 * @node:    in the table of its export
 * @inode:   the file, referenced
 * @name:    where its name is
 * @wb_err:  last writeback error of it that moved the export's verifier
 * @opens:   who counts: states, and removals of its name under way
 * @awaited: claims that are LEFT
 * @late:    among those whose names as orphans could not be removed yet
 * @rcu:     defers its freeing
 */
struct rdmafsd_opened {
	struct rhash_head node;
	struct inode *inode;
	enum rdmafsd_opened_name name;
	errseq_t wb_err;
	unsigned int opens;
	unsigned int awaited;
	struct list_head late;
	struct rcu_head rcu;
};

/**
 * enum rdmafsd_claim_state - what stands behind a claim
 * @RDMAFSD_CLAIM_NEW:	 nothing yet, or no more
 * @RDMAFSD_CLAIM_OPEN:	 a state
 * @RDMAFSD_CLAIM_AGAIN: a state whose client has it open again, too
 * @RDMAFSD_CLAIM_LEFT:	 a state that was lost: its client may come back
 */
enum rdmafsd_claim_state {
	RDMAFSD_CLAIM_NEW,
	RDMAFSD_CLAIM_OPEN,
	RDMAFSD_CLAIM_AGAIN,
	RDMAFSD_CLAIM_LEFT,
};

/**
 * struct rdmafsd_claim - an open, also when its session was lost
 * @node:   in the table of its export
 * @id:     its number there, the same over restarts, random; constant once it is OPEN
 * @state:  see there
 * @of:     the file
 * @client: among whose opens it counts; NULL: it was found when the export started, or
 *	    what was its open is noted (cut.c), or nobody knows whether there is one
 * @by:     who removed the file's last name, if nobody knows whether anybody has it open;
 *	    referenced
 * @guess:  likewise, and nothing has been found since that says so
 * @since:  when it was LEFT, in jiffies
 * @left:   among those that are
 * @rcu:    defers its freeing
 */
struct rdmafsd_claim {
	struct rhash_head node;
	u64 id;
	enum rdmafsd_claim_state state;
	struct rdmafsd_opened *of;
	struct rdmafsd_client *client;
	struct rdmafsd_client *by;
	bool guess;
	unsigned long since;
	struct list_head left;
	struct rcu_head rcu;
};

bool rdmafsd_cut_off(struct rdmafsd_session *ses, struct rdmafsd_state *st);
void rdmafsd_cut_left(struct rdmafsd_export *exp, struct rdmafsd_claim *claim);
void rdmafsd_cut_closed(struct rdmafsd_session *ses, u64 id);
void rdmafsd_cut_again(struct rdmafsd_export *exp, struct inode *inode, u64 claim);
void rdmafsd_cut_end(struct rdmafsd_session *ses);
bool rdmafsd_cut_claims(struct rdmafsd_export *exp, struct inode *inode);
void rdmafsd_cut_waited(struct rdmafsd_export *exp, struct inode *inode);
bool rdmafsd_cut_keeps(struct rdmafsd_export *exp, struct inode *inode);
bool rdmafsd_cuts_give_way(struct rdmafsd_client *client);
void rdmafsd_cuts_start(struct rdmafsd_export *exp);
void rdmafsd_cuts_look(void);
void rdmafsd_cuts_exit(void);
u32 rdmafsd_cuts_left_now(void);

unsigned long rdmafsd_reclaim_time(void);
int rdmafsd_reap_init(void);
void rdmafsd_reap_exit(void);
int rdmafsd_opened_init(struct rdmafsd_export *exp);
void rdmafsd_opened_exit(struct rdmafsd_export *exp);
int rdmafsd_claim_open(struct rdmafsd_export *exp, struct inode *inode,
		       struct rdmafsd_claim **claim, u64 id);
void rdmafsd_claim_again(struct rdmafsd_export *exp, struct inode *inode, u64 id);
void rdmafsd_claim_put(struct rdmafsd_export *exp, struct rdmafsd_claim *claim, bool lost);
bool rdmafsd_claim_check_wb(struct rdmafsd_export *exp, struct rdmafsd_claim *claim);
void rdmafsd_opened_started(struct rdmafsd_export *exp);
void rdmafsd_opened_look(struct rdmafsd_export *exp);
bool rdmafsd_opened_full(struct rdmafsd_export *exp);
void rdmafsd_opened_made(struct rdmafsd_export *exp, const struct inode *inode);
int rdmafsd_opened_found(struct rdmafsd_export *exp, struct inode *inode);
bool rdmafsd_is_orphan(struct rdmafsd_export *exp, struct inode *inode);

bool rdmafsd_name_reserved(const struct rfp_str *name);

/* Is it the directory of orphans itself? */
static inline bool rdmafsd_is_orphans(const struct rdmafsd_export *exp, const struct inode *inode)
{
	return inode && inode == READ_ONCE(exp->orphans_inode);
}

struct dentry *rdmafsd_lookup(struct rdmafsd_export *exp, struct dentry *dir,
			      const struct rfp_str *name);
struct dentry *rdmafsd_lookup_there(struct rdmafsd_export *exp, struct dentry *dir,
				    const struct rfp_str *name);
int rdmafsd_orphan_add(struct rdmafsd_export *exp, struct dentry *obj, struct inode **delegated);
int rdmafsd_orphan_undo(struct rdmafsd_export *exp, struct inode *inode);
bool rdmafsd_orphan_remove(struct rdmafsd_export *exp, struct inode *inode);
int rdmafsd_orphans_start(struct rdmafsd_export *exp);
void rdmafsd_orphans_exit(struct rdmafsd_export *exp);

/* ---------------------------------------------------------------- requests */

/**
 * struct rdmafsd_rq - a request at work
 * @req:	transport's
 * @ses:	whose it is
 * @dec:	what is left of its body
 * @enc:	the reply, so far
 * @cred_id:	the caller's credentials, as the client named them
 * @access:	attributes are to tell what the caller may do
 * @again:	it may be executed twice
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
	bool access;
	bool again;
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

/**
 * struct rdmafsd_leaving - a name that is being removed
 * @obj:    what it stands for, before anything is locked; NULL for nothing
 * @naming: held, so that nobody opens it meanwhile; NULL if nobody could
 * @of:	    its entry if it is open, or NULL
 * @guess:  for whoever may have it open, if that is not known; or NULL
 * @denied: the caller may not remove it, so it was given none
 * @kept:   it was given another name first
 * @before: its change cookie before that; 0 if others changed it meanwhile
 * @after:  the cookie after it
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
 * An operation: returns 0 with the reply in rq->enc, a negative errno, or a
 * positive status that no errno stands for (RFP_BADCRED and the like); in the
 * latter two cases what it has put into the reply is thrown away.
 */
typedef int (*rdmafsd_op_fn)(struct rdmafsd_rq *rq);

void rdmafsd_handle(struct rdmafs_xprt_req *req, void *ctx);
bool rdmafsd_handle_now(struct rdmafs_xprt_req *req, void *ctx);
u64 rdmafsd_waits_for(struct rdmafs_xprt_req *req, void *ctx);

int rdmafsd_rq_dec_end(struct rdmafsd_rq *rq);
int rdmafsd_rq_enter(struct rdmafsd_rq *rq);
void rdmafsd_rq_enter_opener(struct rdmafsd_rq *rq);
void rdmafsd_rq_leave(struct rdmafsd_rq *rq);
int rdmafsd_rq_state(struct rdmafsd_rq *rq, u64 id);
int rdmafsd_rq_want_write(struct rdmafsd_rq *rq);
void rdmafsd_rq_drop_write(struct rdmafsd_rq *rq);
int rdmafsd_rq_data_put(struct rdmafsd_rq *rq, const void *data, size_t len);

int rdmafsd_leaving_begin(struct rdmafsd_rq *rq, struct dentry *dir, const struct rfp_str *name,
			  struct rdmafsd_leaving *l, struct inode **delegated);
bool rdmafsd_leaving_is(const struct rdmafsd_leaving *l, struct dentry *dentry);
void rdmafsd_leaving_change(const struct rdmafsd_leaving *l, struct rdmafsd_change *chg);
void rdmafsd_leaving_end(struct rdmafsd_rq *rq, struct rdmafsd_leaving *l, bool removed);
void rdmafsd_leaving_put(struct rdmafsd_rq *rq, struct rdmafsd_leaving *l);

void *rdmafsd_rep(struct rdmafsd_rq *rq, size_t size);
int rdmafsd_rep_attr(struct rdmafsd_rq *rq, struct dentry *dentry);
int rdmafsd_rep_attr_changed(struct rdmafsd_rq *rq, struct dentry *dentry,
			     const struct rdmafsd_change *chg);
int rdmafsd_rep_fh(struct rdmafsd_rq *rq, struct dentry *dentry);

/* ----------------------------------------------------- handles, attributes */

u32 rdmafsd_fh_export(const struct rfp_fh *fh);
int rdmafsd_fh_encode(struct rdmafsd_export *exp, struct dentry *dentry, struct rfp_fh *fh);
int rdmafsd_open_proof(struct rdmafsd_rq *rq, struct dentry *dentry, u32 flags, u64 claim,
		       struct rfp_proof *proof);
void rdmafsd_keys_init(struct rdmafsd_export *exp);
int rdmafsd_rq_fh(struct rdmafsd_rq *rq, const struct rfp_fh *fh, struct dentry **dentry);
int rdmafsd_rq_dir(struct rdmafsd_rq *rq, const struct rfp_fh *fh, struct dentry **dentry);
bool rdmafsd_dir_inside(struct rdmafsd_export *exp, struct dentry *dir);

void rdmafsd_changes_init(void);
void rdmafsd_change_begin(struct rdmafsd_rq *rq, struct dentry *dentry,
			  struct rdmafsd_change *chg);
void rdmafsd_change_made(struct inode *inode);
void rdmafsd_change_end(struct rdmafsd_change *chg);
void rdmafsd_change_none(struct rdmafsd_rq *rq, struct dentry *dentry,
			 struct rdmafsd_change *chg);
bool rdmafsd_has_version(struct inode *inode);
u64 rdmafsd_cookie_base(struct inode *inode);
u64 rdmafsd_cookie_from(struct inode *inode, u64 base, const struct kstat *stat);
ssize_t rdmafsd_cached_read(struct file *file, loff_t pos, struct iov_iter *to);
void rdmafsd_attrs_seen(struct rdmafsd_state *st, const struct rfp_attr *attr);
int rdmafsd_getattr_now(struct rdmafsd_state *st, struct rfp_attr *attr);
ssize_t rdmafsd_cached_pages(struct file *file, loff_t pos, size_t len, struct bio_vec *bv,
			     u32 max, u32 *nr);

int rdmafsd_cookie(const struct path *path, u64 *cookie, u64 *size);
/* What an rfp_attr is made of. */
#define RDMAFSD_STATX	(STATX_BASIC_STATS | STATX_BTIME)

void rdmafsd_attr_fill(struct inode *inode, const struct kstat *stat, u64 cookie, u32 flags,
		       struct rfp_attr *attr);
int rdmafsd_getattr(struct rdmafsd_export *exp, struct dentry *dentry, struct rfp_attr *attr);
void rdmafsd_commit_init(struct rdmafsd_export *exp);
int rdmafsd_commit(struct rdmafsd_export *exp, struct dentry *dentry);
u32 rdmafsd_access(struct inode *inode);
int rdmafsd_deleg_end(struct inode **delegated, int err);
int rdmafsd_truncate(struct rdmafsd_rq *rq, struct dentry *dentry, struct file *file, loff_t size,
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

bool rdmafsd_xattr_offered(const struct rdmafsd_export *exp, const char *name);

int rdmafsd_configfs_init(void);
void rdmafsd_configfs_exit(void);

#endif
