// SPDX-License-Identifier: GPL-2.0
/*
 * Opening again all that a lost session had open.
 *
 * Whatever is used is opened again by its user (rdmafs_open_ready()).  But the server
 * keeps what has no name any more, and what others would like to remove, only for a
 * while; so workers go through all opens as soon as there is a new session, several at
 * once, those of files without a name first.  They wait for nothing but the answer: what
 * is busy (a lease that has to be given up first, a user who is at it himself) is put
 * behind the others and tried again in a moment.  What fails is left to its users, who are
 * told.
 *
 * While the export is not served no other open would fare better: who is told so stops,
 * and one worker alone asks whether it is back, by one open at a time, with the pauses
 * of others who wait for that.  Then all go on.
 *
 * Two lists, under rdmafs_mount.opens_lock.  An open is in @opens; those that have not
 * been asked for in the present session stand first.  It goes from there to @opens_later
 * if it has a name or is busy, and back when it is asked for.
 */
#include <linux/slab.h>
#include "client.h"
#include "transport/points.h"

/* What is busy is tried again after so long. */
#define RDMAFS_RECLAIM_PAUSE	(HZ / 5)

/* So many are moved from list to list before the lock is given back. */
#define RDMAFS_RECLAIM_BATCH	64

/* The one to be asked for now; NULL: none, or see @more or @delay. */
static struct rdmafs_open *rdmafs_reclaim_next_locked(struct rdmafs_mount *mnt, bool *more,
						      unsigned long *delay)
{
	int session = atomic_read(&mnt->session);
	unsigned long now = jiffies;
	struct rdmafs_open *open;
	unsigned int n;

	lockdep_assert_held(&mnt->opens_lock);
	for (n = 0; n < RDMAFS_RECLAIM_BATCH; n++) {
		open = list_first_entry_or_null(&mnt->opens, struct rdmafs_open, all);
		if (!open || open->asked == session)
			break;
		open->asked = session;
		open->again = now;
		if (!open->inode->i_nlink) {
			list_move_tail(&open->all, &mnt->opens);
			return open;
		}
		list_move_tail(&open->all, &mnt->opens_later);
	}
	*more = n == RDMAFS_RECLAIM_BATCH;
	open = list_first_entry_or_null(&mnt->opens_later, struct rdmafs_open, all);
	if (*more || !open)
		return NULL;
	if (time_before(now, open->again)) {
		*delay = open->again - now;
		return NULL;
	}
	open->asked = session;
	list_move_tail(&open->all, &mnt->opens);
	return open;
}

/* The same, referenced. */
static struct rdmafs_open *rdmafs_reclaim_next(struct rdmafs_mount *mnt, unsigned long *delay)
{
	struct rdmafs_open *open;
	bool more, gone;

	*delay = 0;
	do {
		more = false;
		spin_lock(&mnt->opens_lock);
		open = rdmafs_reclaim_next_locked(mnt, &more, delay);
		/* Its last user has put it, and will take it from the list. */
		gone = open && !refcount_inc_not_zero(&open->ref);
		spin_unlock(&mnt->opens_lock);
		cond_resched();
	} while (more || gone);
	return open;
}

/* Try it again: behind the others, or first, if it was not for it that it could not be. */
static void rdmafs_reclaim_later(struct rdmafs_mount *mnt, struct rdmafs_open *open, bool first)
{
	spin_lock(&mnt->opens_lock);
	open->again = jiffies;
	if (first) {
		list_move(&open->all, &mnt->opens_later);
	} else {
		open->again += RDMAFS_RECLAIM_PAUSE;
		list_move_tail(&open->all, &mnt->opens_later);
	}
	spin_unlock(&mnt->opens_lock);
}

static void rdmafs_reclaim_work(struct work_struct *work)
{
	struct rdmafs_reclaim *r = container_of(to_delayed_work(work), struct rdmafs_reclaim,
						work);
	struct rdmafs_mount *mnt = r->mnt;
	struct rdmafs_open *open;
	bool offline = false;
	unsigned long delay;
	int err;

	while (!offline && (open = rdmafs_reclaim_next(mnt, &delay))) {
		if (open->inode->i_nlink)
			rdmafs_test_point("reclaim_named", open->inode->i_ino);
		else
			rdmafs_test_point("reclaim_nameless", open->inode->i_ino);
		err = rdmafs_open_again(open);
		offline = err == -EAGAIN && READ_ONCE(mnt->offline);
		if (err == -EAGAIN)
			rdmafs_reclaim_later(mnt, open, offline);
		if (!offline && r->waits) {
			r->waits = 0;
			/* While the open keeps the mount. */
			rdmafs_opens_reclaim(mnt);
		}
		rdmafs_open_put(open);
	}
	if (offline)
		delay = rdmafs_backoff(&r->waits);
	/* One is enough to look after those that are busy, and for the export. */
	if (delay)
		queue_delayed_work(mnt->io_wq, &mnt->reclaim[0].work, delay);
}

/**
 * rdmafs_opens_init - a mount without opens
 * @mnt: the mount
 */
void rdmafs_opens_init(struct rdmafs_mount *mnt)
{
	int i;

	init_waitqueue_head(&mnt->opens_wait);
	spin_lock_init(&mnt->opens_lock);
	INIT_LIST_HEAD(&mnt->opens);
	INIT_LIST_HEAD(&mnt->opens_later);
	for (i = 0; i < RDMAFS_NR_RECLAIM; i++) {
		mnt->reclaim[i].mnt = mnt;
		INIT_DELAYED_WORK(&mnt->reclaim[i].work, rdmafs_reclaim_work);
	}
}

/**
 * rdmafs_opens_exit - the mount has no opens any more, nor a session
 * @mnt: the mount
 */
void rdmafs_opens_exit(struct rdmafs_mount *mnt)
{
	int i;

	/* The first comes last: all of them may queue it until they have ended. */
	for (i = RDMAFS_NR_RECLAIM - 1; i >= 0; i--)
		cancel_delayed_work_sync(&mnt->reclaim[i].work);
}

/**
 * rdmafs_opens_reclaim - the server has lost the session, or serves the export again
 * @mnt: the mount
 *
 * Context: any.
 */
void rdmafs_opens_reclaim(struct rdmafs_mount *mnt)
{
	int i;

	for (i = 0; i < RDMAFS_NR_RECLAIM; i++)
		mod_delayed_work(mnt->io_wq, &mnt->reclaim[i].work, 0);
}
