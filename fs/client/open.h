/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This header declares opens at the server (open.c), and what becomes of them when a session is
 * lost (reclaim.c, grace.c).
 */
#ifndef RDMAFS_CLIENT_OPEN_H
#define RDMAFS_CLIENT_OPEN_H

#include <linux/mutex.h>
#include <linux/workqueue.h>
#include "client.h"

/* For what a file is opened that a kernel thread makes: it says that only after that. */
#define RDMAFS_OPEN_MADE	(RFP_OPEN_READ | RFP_OPEN_WRITE)

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
 * @lock_lost:	a lock was lost, with a session, say: reads and writes fail.  Set under
 *		rdmafs_inode.recording, read without; it stays set
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

/* The rdmafs_open of @file, an open regular file. */
static inline struct rdmafs_open *rdmafs_file_open(struct file *file)
{
	return file->private_data;
}

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

#endif
