/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clients that have, or had, locks in the exports of a file system (holder.c); for grace.c only.
 */
#ifndef RDMAFSD_HOLDER_H
#define RDMAFSD_HOLDER_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "record.h"

struct inode;
struct rdmafsd_export;
struct rdmafsd_session;
struct super_block;

/* Holders of a file system; with these many there is no lock for another client. */
#define RDMAFSD_HOLDERS_MAX	4096
/* Those whose sessions come, or came last, from one address: it must not take all. */
#define RDMAFSD_HOLDERS_CLIENT	(RDMAFSD_HOLDERS_MAX / 4)

#define RDMAFSD_HOLDER_CHAINS	128
#define RDMAFSD_TAKEN_BITS	12	/* log2 of the number of marks */

/**
 * struct rdmafsd_holder - a client that has, or had, locks in an export of the file system
 * @link:    in rdmafsd_grace.all
 * @chain:   in a chain by @id
 * @id:      names the client; constant
 * @export:  the export's id; constant
 * @who:     tells it from all other holders, of former ones too; not 0; constant
 * @source:  the address that its last session came from; zeroes: it had none in this life
 * @ses:     its session, a reference to the memory; NULL: it has none, or has asked for none of its
 *	     locks there
 * @record:  number of its record; 0: it has none
 * @was:     number of the record that it had before; 0: none
 * @was_seq: rdmafsd_grace.seq when that was removed
 * @awaited: the grace period does not end before it has said that it has asked for all
 * @done:    the client has asked in its session for all locks that @record covers, or has got
 *	     @record in that session
 * @done_seq: rdmafsd_grace.seq since then
 * @cut:     it had a session when the export ended, which did not start again yet
 * @part:    rdmafsd_session.age of the session in which it had taken some again when the grace
 *	     period ended, before it had said that these are all; 0: there was none
 * @told:    since it got @record the client has said that it has asked for all; so it will not show
 *	     @was
 *
 * Owned by the rdmafsd_grace in whose list it is.  What is not constant is guarded by that one's
 * @sem.
 */
struct rdmafsd_holder {
	struct list_head link;
	struct hlist_node chain;
	u8 id[RDMAFS_XPRT_CLIENT_ID];
	u32 export;
	u64 who;
	struct rdmafs_xprt_source source;
	struct rdmafsd_session *ses;
	u32 record;
	u32 was;
	u64 was_seq;
	bool awaited;
	bool done;
	u64 done_seq;
	bool cut;
	u64 part;
	bool told;
};

/**
 * struct rdmafsd_taken - which holders were granted locks of the files of one hash
 * @seq:   rdmafsd_grace.seq of the last of them
 * @who:   the holder that got it; 0: there was none, or it is not recorded
 * @other: @seq of the last one that another holder than @who got
 */
struct rdmafsd_taken {
	u64 seq;
	u64 who;
	u64 other;
};

/**
 * struct rdmafsd_grace - the holders of the exports of a file system
 * @link:	in rdmafsd_graces; guarded by rdmafsd_graces_lock
 * @sb:		the file system; constant; there while @users is not 0
 * @users:	exports of it that are not at their end; guarded by rdmafsd_graces_lock
 * @refs:	exports whose memory is there
 * @rcu:	defers its freeing, which may sleep
 * @sem:	guards what follows, down to @until, and all holders.  Held for reading while a
 *		lock is asked for, and for writing where holders change, also while records are
 *		written
 * @found:	what records there are was read
 * @all:	&struct rdmafsd_holder, those that are there longest first
 * @chains:	the same by their ids
 * @nr:		how many
 * @nr_left:	those that have a record and no session
 * @nr_awaited:	those that are awaited; also read without the lock
 * @last:	the last rdmafsd_holder.who
 * @none:	nothing is or can be recorded, and no record is there; once set it stays
 * @on:		this is the grace period; also read without the lock
 * @until:	when that ends at last, in 64-bit jiffies; likewise
 * @end:	ends it then
 * @taken_lock:	guards the next two; a leaf
 * @seq:	counts the locks that were granted
 * @taken:	by a hash of the file's number and generation; also 0 as holder, for a client that
 *		is not recorded
 * @taken_key:	secret of that hash; constant
 */
struct rdmafsd_grace {
	struct list_head link;
	struct super_block *sb;
	unsigned int users;
	refcount_t refs;
	struct rcu_head rcu;
	struct rw_semaphore sem;	/* what follows, and all holders; see grace.c */
	bool found;
	struct list_head all;
	struct hlist_head chains[RDMAFSD_HOLDER_CHAINS];
	unsigned int nr;
	unsigned int nr_left;
	unsigned int nr_awaited;
	u64 last;
	bool none;
	bool on;
	u64 until;
	struct delayed_work end;
	spinlock_t taken_lock;		/* @seq, @taken */
	u64 seq;
	struct rdmafsd_taken taken[1 << RDMAFSD_TAKEN_BITS];
	siphash_key_t taken_key;
};

/* Has a client lost its session, and has a record still? */
static inline bool rdmafsd_holder_left(const struct rdmafsd_holder *h)
{
	return h->record && !h->ses;
}

struct rdmafsd_holder *rdmafsd_holder_find(struct rdmafsd_grace *g, const u8 *id, u32 export);
struct rdmafsd_holder *rdmafsd_holder_new(struct rdmafsd_grace *g, const u8 *id, u32 export,
					  const struct rdmafs_xprt_source *source);
void rdmafsd_holder_set(struct rdmafsd_grace *g, struct rdmafsd_holder *h,
			struct rdmafsd_session *ses, u32 record);
void rdmafsd_holder_await(struct rdmafsd_grace *g, struct rdmafsd_holder *h, bool await);
void rdmafsd_holder_done(struct rdmafsd_grace *g, struct rdmafsd_holder *h);
void rdmafsd_holder_free(struct rdmafsd_grace *g, struct rdmafsd_holder *h);
struct rdmafsd_record rdmafsd_holder_record(const struct rdmafsd_holder *h, u32 nr);
int rdmafsd_holder_retire(struct rdmafsd_export *exp, struct rdmafsd_holder *h);
int rdmafsd_holders_retire(struct rdmafsd_export *exp, const struct rdmafsd_holder *own);
int rdmafsd_holder_renew(struct rdmafsd_export *exp, struct rdmafsd_holder *h);

u64 rdmafsd_taken_seq(struct rdmafsd_grace *g);
void rdmafsd_taken_by(struct rdmafsd_grace *g, const struct inode *inode, u64 who);
bool rdmafsd_taken_since(struct rdmafsd_grace *g, const struct inode *inode, u64 who, u64 since);

#endif
