// SPDX-License-Identifier: GPL-2.0
/*
 * Open again all that a lost session had open.
 *
 * A user of an open opens it again before it uses it (rdmafs_open_ready()).  But
 * after the loss of a session the server keeps a file that has no name any more,
 * or that another client wants to remove, only for a while.  So workers go through
 * all opens as soon as there is a new session, several at once, files without a
 * name first.  A worker waits for nothing but the answer.  An open that is busy (a
 * lease has to be given up first, or a user is opening it again) is put behind the
 * others and tried again after a pause.  If opening it again fails, its users find
 * that out when they use it; but if it has locks, it is tried until it is closed, or they are lost
 * when it can't be opened any more.
 *
 * While the export is not served opening fails for every file.  A worker that is
 * told so stops.  One worker goes on asking, for one open at a time, with the pauses
 * of any op that waits for an export.  When the export is served, all workers go on.
 *
 * When all have been asked for, the server is told that this client has taken again what locks it
 * had (grace.c).
 *
 * Each file system below a mount is an export of its own, and may be on a disk of its own that is
 * dead.  So each superblock has lists and workers of its own, and is told of by itself: locks in
 * one do not wait for another.
 *
 * The workers of a superblock end before it does: nothing queues them when it has no opens and is
 * in rdmafs_mount.supers no more.
 *
 * Locks: two lists, under rdmafs_mount.opens_lock.  An open begins in @opens,
 * where opens that have not been asked for in the present session come first.  If
 * it has a name, or is busy, it moves to @opens_later, and back when a worker asks
 * for it.
 */
#include <linux/slab.h>
#include "client.h"
#include "filelock.h"
#include "op.h"
#include "open.h"
#include "transport/points.h"

/* A busy open is tried again after this pause, in jiffies. */
#define RDMAFS_RECLAIM_PAUSE	(HZ / 5)

/* If the server can't be told that all were asked for it is tried again after this pause. */
#define RDMAFS_RECLAIM_TELL	(5 * HZ)

/* Opens that are moved from one list to the other before the lock is given back. */
#define RDMAFS_RECLAIM_BATCH	64

/*
 * Return the open to be asked for now.  NULL: there is none; or, with *@more set, the lock has to
 * be given back before the search goes on; or, with *@delay set, the next one is due then.
 */
static struct rdmafs_open *rdmafs_reclaim_next_locked(struct rdmafs_super *super, bool *more,
						      unsigned long *delay)
{
	int session = atomic_read(&super->mnt->session);
	unsigned long now = jiffies;
	struct rdmafs_open *open;
	unsigned int n;

	lockdep_assert_held(&super->mnt->opens_lock);
	for (n = 0; n < RDMAFS_RECLAIM_BATCH; n++) {
		open = list_first_entry_or_null(&super->opens, struct rdmafs_open, all);
		if (!open || open->asked == session)
			break;
		open->asked = session;
		open->again = now;
		if (!open->inode->i_nlink) {
			list_move_tail(&open->all, &super->opens);
			return open;
		}
		list_move_tail(&open->all, &super->opens_later);
	}
	*more = n == RDMAFS_RECLAIM_BATCH;
	open = list_first_entry_or_null(&super->opens_later, struct rdmafs_open, all);
	if (*more || !open)
		return NULL;
	if (time_before(now, open->again)) {
		*delay = open->again - now;
		return NULL;
	}
	open->asked = session;
	list_move_tail(&open->all, &super->opens);
	return open;
}

/* The same, with a reference for the caller; does not return before the search is over. */
static struct rdmafs_open *rdmafs_reclaim_next(struct rdmafs_super *super, unsigned long *delay)
{
	struct rdmafs_mount *mnt = super->mnt;
	struct rdmafs_open *open;
	bool more, gone;

	*delay = 0;
	do {
		more = false;
		spin_lock(&mnt->opens_lock);
		open = rdmafs_reclaim_next_locked(super, &more, delay);
		/* Its last user has put it, and is about to take it from the list. */
		gone = open && !refcount_inc_not_zero(&open->ref);
		spin_unlock(&mnt->opens_lock);
		cond_resched();
	} while (more || gone);
	return open;
}

/*
 * Have an open tried again: behind the others, after a pause; or, if it failed because the export
 * is not served, before the others, without a pause of its own.
 */
static void rdmafs_reclaim_later(struct rdmafs_super *super, struct rdmafs_open *open, bool first)
{
	spin_lock(&super->mnt->opens_lock);
	open->again = jiffies;
	if (first) {
		list_move(&open->all, &super->opens_later);
	} else {
		open->again += RDMAFS_RECLAIM_PAUSE;
		list_move_tail(&open->all, &super->opens_later);
	}
	spin_unlock(&super->mnt->opens_lock);
}

/**
 * rdmafs_opens_asked - tell whether all opens of a file system have been asked for
 * @super:   its superblock
 * @session: the session in which they are to have been
 *
 * Context: process, does not sleep; takes opens_lock.
 * Return: true: the server has answered for each of them in that session, which is still the
 * present one.
 */
bool rdmafs_opens_asked(struct rdmafs_super *super, int session)
{
	struct rdmafs_mount *mnt = super->mnt;
	struct rdmafs_open *open;
	bool all;

	spin_lock(&mnt->opens_lock);
	open = list_first_entry_or_null(&super->opens, struct rdmafs_open, all);
	all = list_empty(&super->opens_later) && (!open || open->asked == session);
	/* A worker that has taken one from a list was counted before. */
	all = all && !atomic_read(&super->reclaiming) && session == atomic_read(&mnt->session);
	spin_unlock(&mnt->opens_lock);
	return all;
}

/* The last worker has no more to do. */
static void rdmafs_reclaim_finish(struct rdmafs_super *super)
{
	int session = atomic_read(&super->mnt->session);
	int err;

	if (!rdmafs_opens_asked(super, session))
		return;
	err = rdmafs_reclaim_tell(super, session);
	/* No other task tells the server in this session, and other clients may wait for that. */
	if (err && !READ_ONCE(super->no_late))
		queue_delayed_work(super->mnt->io_wq, &super->reclaim[0].work,
				   err == -EAGAIN ? RDMAFS_RECLAIM_PAUSE : RDMAFS_RECLAIM_TELL);
}

static void rdmafs_reclaim_work(struct work_struct *work)
{
	struct rdmafs_reclaim *r = container_of(to_delayed_work(work), struct rdmafs_reclaim,
						work);
	struct rdmafs_super *super = r->super;
	struct rdmafs_open *open;
	bool offline = false;
	unsigned long delay;
	int err;

	atomic_inc(&super->reclaiming);
	while (!offline && (open = rdmafs_reclaim_next(super, &delay))) {
		if (open->inode->i_nlink)
			rdmafs_test_point("reclaim_named", open->inode->i_ino);
		else
			rdmafs_test_point("reclaim_nameless", open->inode->i_ino);
		err = rdmafs_open_again(open);
		offline = err == -EAGAIN && READ_ONCE(super->offline);
		if (err == -EAGAIN || (err && rdmafs_locks_again(open, err)))
			rdmafs_reclaim_later(super, open, offline);
		if (!offline && r->waits) {
			r->waits = 0;
			/* Before the put: the open keeps the superblock in use. */
			rdmafs_opens_reclaim(super);
		}
		rdmafs_open_put(open);
	}
	if (offline)
		delay = rdmafs_backoff(&r->waits);
	/* One worker is enough to wait for busy opens, and for the export. */
	if (delay)
		queue_delayed_work(super->mnt->io_wq, &super->reclaim[0].work, delay);
	if (atomic_dec_and_test(&super->reclaiming) && !delay)
		rdmafs_reclaim_finish(super);
}

/**
 * rdmafs_opens_init - begin with no opens
 * @super: the superblock's memory
 *
 * Context: any.
 */
void rdmafs_opens_init(struct rdmafs_super *super)
{
	int i;

	INIT_LIST_HEAD(&super->opens);
	INIT_LIST_HEAD(&super->opens_later);
	for (i = 0; i < RDMAFS_NR_RECLAIM; i++) {
		super->reclaim[i].super = super;
		INIT_DELAYED_WORK(&super->reclaim[i].work, rdmafs_reclaim_work);
	}
}

/**
 * rdmafs_opens_exit - stop the workers that open again
 * @super: the superblock, which has no opens any more: that of a mount that has no session any
 *	   more, or one that is in rdmafs_mount.supers no more
 *
 * Context: process, may sleep.
 */
void rdmafs_opens_exit(struct rdmafs_super *super)
{
	int i;

	/* Worker 0 comes last, because the others may queue it until they have ended. */
	for (i = RDMAFS_NR_RECLAIM - 1; i >= 0; i--)
		cancel_delayed_work_sync(&super->reclaim[i].work);
}

/**
 * rdmafs_opens_reclaim - have the workers open again, now
 * @super: the superblock; there is a new session, or its export is served again
 *
 * Context: any; the caller keeps the superblock from its end.
 */
void rdmafs_opens_reclaim(struct rdmafs_super *super)
{
	struct rdmafs_mount *mnt = super->mnt;
	int i, nr = super == &mnt->super ? RDMAFS_NR_RECLAIM : RDMAFS_NR_RECLAIM_BELOW;

	for (i = 0; i < nr; i++)
		mod_delayed_work(mnt->io_wq, &super->reclaim[i].work, 0);
}

/**
 * rdmafs_opens_lost - have all opened again: the server knows neither opens nor credentials
 * @mnt:   the mount
 * @reset: the server has lost the session; else an export was started again within it
 *
 * Context: any; takes lock_lock, and supers_lock.
 */
void rdmafs_opens_lost(struct rdmafs_mount *mnt, bool reset)
{
	struct rdmafs_super *super;
	unsigned long irq;

	spin_lock_irqsave(&mnt->lock_lock, irq);
	/* 0 is skipped: it stands for "in no session". */
	if (!atomic_inc_return(&mnt->session))
		atomic_inc(&mnt->session);
	if (reset)
		mnt->session_first = atomic_read(&mnt->session);
	spin_unlock_irqrestore(&mnt->lock_lock, irq);
	/* One that comes into the list later sees the new generation. */
	spin_lock_irqsave(&mnt->supers_lock, irq);
	list_for_each_entry(super, &mnt->supers, link)
		rdmafs_opens_reclaim(super);
	spin_unlock_irqrestore(&mnt->supers_lock, irq);
}

/**
 * rdmafs_session_same - tell whether the server's session is still that of a generation
 * @mnt:     the mount
 * @session: the generation, or 0
 *
 * Then the server may know the stateids of that generation.
 *
 * Context: any; takes lock_lock.
 * Return: the present generation if so, else 0.
 */
int rdmafs_session_same(struct rdmafs_mount *mnt, int session)
{
	unsigned long irq;
	u32 now, first;

	spin_lock_irqsave(&mnt->lock_lock, irq);
	now = atomic_read(&mnt->session);
	first = mnt->session_first;
	spin_unlock_irqrestore(&mnt->lock_lock, irq);
	return session && now - (u32)session <= now - first ? now : 0;
}
