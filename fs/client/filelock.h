/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This header declares locks of files: a lock as the server is asked for it (lock_request.c), for
 * the first time (filelock.c) or again after a lost session (lock_reclaim.c), and as the VFS
 * records it (lock_record.c); and how tasks wait for locks (events.c, grace.c).
 */
#ifndef RDMAFS_FILELOCK_H
#define RDMAFS_FILELOCK_H

#include <linux/filelock.h>
#include "client.h"

/**
 * struct rdmafs_range - what a request is about
 * @owner: names the owner on the wire
 * @who:   names the owner in the VFS; what it points to may be gone, so it is compared only
 * @start: first byte
 * @end:   last byte
 * @type:  F_RDLCK, F_WRLCK or F_UNLCK
 * @kind:  RFP_LOCK_POSIX, _OFD or _FLOCK
 * @pid:   the owner's process
 */
struct rdmafs_range {
	u64 owner;
	void *who;
	loff_t start;
	loff_t end;
	unsigned char type;
	u32 kind;
	pid_t pid;
};

/**
 * struct rdmafs_grace_wait - a task waits for the end of the server's grace period
 * @since: when it began
 * @waits: how often it has waited
 */
struct rdmafs_grace_wait {
	struct rdmafs_since since;
	unsigned int waits;
};

/**
 * struct rdmafs_lock_wait - a task that waits for a lock
 * @link:  in rdmafs_mount.lock_waits; under lock_lock
 * @token: names its request
 * @event: the server is to be asked again
 *
 * On the stack of the task.
 */
struct rdmafs_lock_wait {
	struct list_head link;
	u32 token;
	struct completion event;
};

/**
 * struct rdmafs_lock_at - where a LOCK was granted
 * @session: the session of the open's stateid
 * @stateid: the name that the open has had there
 */
struct rdmafs_lock_at {
	int session;
	u64 stateid;
};

/* filelock.c */
int rdmafs_file_lock(struct file *file, int cmd, struct file_lock *fl);
int rdmafs_file_flock(struct file *file, int cmd, struct file_lock *fl);

/* lock_request.c */
void rdmafs_lock_leave(struct rdmafs_op *op);
void rdmafs_lock_stay(struct rdmafs_op *op);
void rdmafs_lock_left(struct rdmafs_op *op);
void rdmafs_lock_req(struct rdmafs_op *op, const struct rdmafs_range *r, u32 token);
int rdmafs_lock_state(struct rdmafs_op *op, bool may_wait);
void rdmafs_lock_unknown(struct rdmafs_op *op);
int rdmafs_lock_ask(struct rdmafs_open *open, const struct rdmafs_range *r, u32 token, bool final,
		    struct rdmafs_lock_at *at);
int rdmafs_lock_ask_again(struct rdmafs_open *open, const struct rdmafs_range *r, bool final,
			  struct rdmafs_lock_at *at);
bool rdmafs_lock_stands(struct rdmafs_open *open, const struct rdmafs_lock_at *at);
int rdmafs_unlock_send(struct rdmafs_open *open, const struct rdmafs_range *r, bool final);
int rdmafs_lock_cancel(struct rdmafs_open *open, u32 token);
void rdmafs_lock_abandon(struct rdmafs_open *open, const struct rdmafs_range *r, u32 token);
void rdmafs_unlock_leave(struct rdmafs_open *open, const struct rdmafs_range *r);

/* lock_record.c */
bool rdmafs_write_through(struct inode *inode);
struct rdmafs_range rdmafs_range_of(struct rdmafs_mount *mnt, const struct file_lock *fl);
bool rdmafs_lock_local(const struct file *file, const struct file_lock *fl);
struct rdmafs_open *rdmafs_lock_piece(struct inode *inode, struct rdmafs_range *r);
bool rdmafs_lock_recorded(struct inode *inode, const struct rdmafs_range *r);
struct rdmafs_open *rdmafs_lock_rival(struct inode *inode, const struct rdmafs_range *r, u32 nr,
				      struct rdmafs_range *rival);
int rdmafs_lock_record_change(struct inode *inode, struct file_lock *fl);
void rdmafs_lock_unrecord(struct inode *inode, const struct rdmafs_range *r);
void rdmafs_lock_lost(struct rdmafs_open *open, const struct rdmafs_range *r);
struct rdmafs_range *rdmafs_locks_copy(struct rdmafs_open *open, u32 *nr);
bool rdmafs_locks_gone(int err);
int rdmafs_locks_lose(struct rdmafs_open *open);

/* lock_loss.c */
bool rdmafs_loss_has(struct inode *inode, loff_t pos, size_t len);
void rdmafs_loss_begin(struct inode *inode, loff_t start, loff_t end);

/* lock_reclaim.c */
int rdmafs_locks_ready(const struct rdmafs_op *op);
int rdmafs_locks_reclaim(struct rdmafs_open *open, u64 stateid, int session,
			 const struct rdmafs_op *user);
bool rdmafs_locks_again(struct rdmafs_open *open, int err);

/* events.c */
void rdmafs_locks_wake(struct rdmafs_mount *mnt);
void rdmafs_events(struct rdmafs_mount *mnt);
void rdmafs_locks_init(struct rdmafs_mount *mnt);
void rdmafs_lock_wait_begin(struct rdmafs_mount *mnt, struct rdmafs_lock_wait *w);
void rdmafs_lock_wait_end(struct rdmafs_mount *mnt, struct rdmafs_lock_wait *w);

/* grace.c */
int rdmafs_grace_wait(struct rdmafs_mount *mnt, struct rdmafs_grace_wait *w);
void rdmafs_lock_granted(struct rdmafs_op *op);

#endif
