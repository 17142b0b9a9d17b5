/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Locks of files for clients, as the VFS has them (lockvfs.c), those that wait (filelock.c), their
 * owners (lockowner.c), when those that wait are tried (lockwait.c), and what clients are told of
 * them (events.c).
 */
#ifndef RDMAFSD_FILELOCK_H
#define RDMAFSD_FILELOCK_H

#include <linux/filelock.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include "server.h"

/**
 * struct rdmafsd_range - which part of a file a lock is for, and whose lock it is
 * @owner: the client's name for its owner
 * @start: first byte
 * @end:   last byte; OFFSET_MAX stands for the end of all files
 * @kind:  RFP_LOCK_POSIX, RFP_LOCK_OFD or RFP_LOCK_FLOCK
 * @pid:   the owner's process, a number of the client's
 */
struct rdmafsd_range {
	u64 owner;
	loff_t start;
	loff_t end;
	u32 kind;
	u32 pid;
};

/**
 * struct rdmafsd_owner - an owner of locks of the VFS
 * @link: in the session's table; guarded by its @locks_lock
 * @ses:  the session; constant, a reference to its memory
 * @id:   the client's name for it; constant
 * @refs: one for each lock of the VFS, one for each request at work, and each lock that waits
 */
struct rdmafsd_owner {
	struct hlist_node link;
	struct rdmafsd_session *ses;
	u64 id;
	refcount_t refs;
};

struct rdmafsd_owner *rdmafsd_owner_find(struct rdmafsd_session *ses, u64 id);
struct rdmafsd_owner *rdmafsd_owner_get(struct rdmafsd_session *ses, u64 id);
void rdmafsd_owner_put(struct rdmafsd_owner *owner);
fl_owner_t rdmafsd_lm_get_owner(fl_owner_t who);
void rdmafsd_lm_put_owner(fl_owner_t who);
bool rdmafsd_locks_room(const struct rdmafsd_session *ses, u32 times);
bool rdmafsd_waits_charge(struct rdmafsd_session *ses);
void rdmafsd_waits_uncharge(struct rdmafsd_session *ses);
bool rdmafsd_sleepers_charge(struct rdmafsd_client *client);
void rdmafsd_sleepers_uncharge(struct rdmafsd_client *client);
void rdmafsd_owners_init(void);
void rdmafsd_owners_exit(void);

/**
 * struct rdmafsd_lock - a lock that waits, or whose client has not learnt that it has it
 * @fl:     the VFS's request; when the lock is there the VFS has joined its range with others.  It
 *	    is the VFS's while it is queued there; else under @mutex
 * @ses:    the session; constant; lives longer, as it ends only when it has no such lock
 * @st:     the open, a reference; constant
 * @owner:  its owner, a reference; constant
 * @range:  what the client has asked for; constant
 * @token:  the client's name for the request, the index in the session's @locks; constant
 * @mutex:  serialises tries; guards the next six, and @slept while there is no thread
 * @ended:  nothing tries it any more
 * @state:  RFP_LOCK_WAITING; then RFP_LOCK_HELD, and @err tells whether it is
 * @err:    0, or why the lock can't be had
 * @record: with @state RFP_LOCK_HELD and no @err, the number of the record of the client's locks
 * @tries:  how often it was tried since it was last in the VFS's queue
 * @sleeper: the thread that waits for it in that queue (lockwait.c), a reference, or NULL
 * @slept:  that thread waits no longer: the thread sets it, without a lock (WRITE_ONCE(),
 *	    READ_ONCE()), and it is cleared before the next one is made
 * @work:   tries it again
 * @event:  in the session's @events; guarded by its @locks_lock
 * @polled: in the list of those that the VFS does not queue, once it was tried, while it waits;
 *	    guarded by that list's lock
 * @sleeps: there is a thread, or will be; guarded by the same lock
 * @refs:   one of the session's table, one for each request at work with it
 * @rcu:    defers its freeing, for rdmafsd_lock_resource()
 */
struct rdmafsd_lock {
	struct file_lock fl;
	struct rdmafsd_session *ses;
	struct rdmafsd_state *st;
	struct rdmafsd_owner *owner;
	struct rdmafsd_range range;
	u32 token;
	struct mutex mutex;	/* serialises tries */
	bool ended;
	u32 state;
	int err;
	u32 record;
	unsigned int tries;
	struct task_struct *sleeper;
	bool slept;
	struct delayed_work work;
	struct list_head event;
	struct list_head polled;
	bool sleeps;
	refcount_t refs;
	struct rcu_head rcu;
};

struct rdmafsd_asking;

/* filelock.c */
int rdmafsd_lock_wait(struct rdmafsd_session *ses, struct rdmafsd_state *st,
		      const struct rdmafsd_range *r, unsigned char type, u32 token, u32 *record);
int rdmafsd_lock_cancel(struct rdmafsd_session *ses, u32 token);

/* lockvfs.c */
void rdmafsd_lock_fill(struct file_lock *fl, const struct rdmafsd_range *r,
		       struct rdmafsd_owner *owner, struct file *file, unsigned char type);
bool rdmafsd_lock_offered(const struct file *file, u32 kind);
int rdmafsd_lock_vfs(struct file_lock *fl);
bool rdmafsd_lock_had(struct rdmafsd_session *ses, struct rdmafsd_state *st,
		      const struct rdmafsd_range *r, unsigned char type);
int rdmafsd_lock_once(struct rdmafsd_session *ses, struct rdmafsd_state *st,
		      const struct rdmafsd_range *r, unsigned char type, struct rdmafsd_asking *a);
int rdmafsd_lock_test(struct rdmafsd_session *ses, struct rdmafsd_state *st,
		      const struct rdmafsd_range *r, unsigned char type,
		      struct rfp_testlock_rep *rep);
int rdmafsd_unlock(struct rdmafsd_session *ses, struct rdmafsd_state *st,
		   const struct rdmafsd_range *r);

/* lockwait.c */

/* The first pause between tries where the VFS does not tell when a lock may be had, in jiffies. */
#define RDMAFSD_LOCK_PAUSE	(HZ / 50 ?: 1)

extern struct workqueue_struct *rdmafsd_lock_wq;	/* runs rdmafsd_lock.work */

void rdmafsd_polled_add(struct rdmafsd_lock *lk);
void rdmafsd_polled_del(struct rdmafsd_lock *lk);
void rdmafsd_lock_pause(struct rdmafsd_lock *lk);
bool rdmafsd_sleeper_begin(struct rdmafsd_lock *lk);
bool rdmafsd_sleeper_end(struct rdmafsd_lock *lk);
int rdmafsd_lockwait_init(void);
void rdmafsd_lockwait_exit(void);

/* events.c */
void rdmafsd_lock_event(struct rdmafsd_lock *lk, bool ended);
void rdmafsd_event_reclaim(struct rdmafsd_session *ses);
void rdmafsd_event_nothing(struct rdmafsd_session *ses);
bool rdmafsd_event_reclaim_due(struct rdmafsd_session *ses);
u32 rdmafsd_events_take(struct rdmafsd_session *ses, struct rfp_event *events, u32 max, bool *more);

#endif
