/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which clients may take locks again that were lost with a session, or with the server (grace.c).
 */
#ifndef RDMAFSD_GRACE_H
#define RDMAFSD_GRACE_H

#include <linux/types.h>

struct inode;
struct rdmafsd_export;
struct rdmafsd_grace;
struct rdmafsd_session;

/* Negative, these are what no file system returns; op_lock.c sends the statuses. */
#define RDMAFSD_EGRACE		10001
#define RDMAFSD_ENOGRACE	10002

#define RDMAFSD_GRACE_USUAL	30	/* seconds: the lease of a session */
#define RDMAFSD_GRACE_MAX	3600

/**
 * struct rdmafsd_asking - a lock that is asked for, on the stack of the task
 * @grace:  of the export's file system
 * @who:    the holder; 0: the client is not recorded
 * @record: the number of its record; before rdmafsd_grace_enter() that which the client shows
 * @again:  the client says that it had the lock in a session that is lost
 * @holds:  with @again: it holds the lock in this session
 * @nowait: set by the caller: do not wait for other tasks that write a record
 */
struct rdmafsd_asking {
	struct rdmafsd_grace *grace;
	u64 who;
	u32 record;
	bool again;
	bool holds;
	bool nowait;
};

int rdmafsd_grace_enter(struct rdmafsd_export *exp, struct rdmafsd_session *ses,
			const struct inode *inode, struct rdmafsd_asking *a);
void rdmafsd_grace_leave(const struct rdmafsd_asking *a, const struct inode *inode, bool granted);
void rdmafsd_grace_lost(struct rdmafsd_export *exp, struct rdmafsd_session *ses);
void rdmafsd_grace_unused(struct rdmafsd_export *exp, struct rdmafsd_session *ses);
void rdmafsd_grace_done(struct rdmafsd_export *exp, struct rdmafsd_session *ses);
bool rdmafsd_grace_tells(struct rdmafsd_export *exp, const struct rdmafsd_session *ses);
bool rdmafsd_grace_on(const struct rdmafsd_export *exp);
ssize_t rdmafsd_grace_show(const struct rdmafsd_export *exp, char *page);
int rdmafsd_grace_init(struct rdmafsd_export *exp);
void rdmafsd_grace_end(struct rdmafsd_export *exp);
void rdmafsd_grace_exit(struct rdmafsd_export *exp);
void rdmafsd_grace_put(struct rdmafsd_export *exp);

#endif
