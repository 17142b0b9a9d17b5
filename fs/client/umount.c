// SPDX-License-Identifier: GPL-2.0
/*
 * At the end of a mount, and with umount -f, decide which operations wait for the server, and
 * until when.
 *
 * Operations wait for a server that can't be reached, and for one that answers
 * but does not serve the export at present (RFP_OFFLINE), because its
 * administrator has disabled the export for a moment.  Dirty data is kept meanwhile.
 * SIGKILL ends the wait of a task, and umount -f ends all waits of the mount.
 *
 * A mount that is busy outlives umount -f, and operations that begin later are
 * not affected.  If the mount ends with that umount, dirty data is sent once more
 * if the server answers, and is given up if it does not.
 *
 * A file system below a mount uses the mount's session, which is not ended for it.  SIGKILL does
 * not end its umount.  If that is an umount -f, which has found the server away, all that waits for
 * the server in the mount is ended again and again, until the server is back: so data that is dirty
 * is given up here, too, after a second in which it might have been written.  If the server is
 * there and does not serve that file system, only its own operations end.
 */
#include <linux/sched/signal.h>
#include <linux/workqueue.h>
#include "client.h"
#include "filelock.h"
#include "transport/points.h"

/**
 * rdmafs_heard - note that the server has answered
 * @mnt: the mount
 *
 * Context: any.
 */
void rdmafs_heard(struct rdmafs_mount *mnt)
{
	WRITE_ONCE(mnt->heard, jiffies);
}

/**
 * rdmafs_heard_export - note that the server has told whether it serves an export
 * @super:   the superblock of the export
 * @offline: it does not serve the export at present
 *
 * Context: any.
 */
void rdmafs_heard_export(struct rdmafs_super *super, bool offline)
{
	struct rdmafs_mount *mnt = super->mnt;

	if (unlikely(READ_ONCE(super->offline) != offline)) {
		WRITE_ONCE(super->offline, offline);
		/* Its administrator may have changed its settings meanwhile. */
		rdmafs_rules_doubt(mnt);
		/* With an export those below it end, for which nothing may have been asked. */
		if (offline)
			atomic_inc(&mnt->forgets);
		else
			WRITE_ONCE(super->given_up, 0);
	}
	if (unlikely(!offline && READ_ONCE(mnt->given_up))) {
		WRITE_ONCE(mnt->given_up, false);
		WRITE_ONCE(mnt->returns, READ_ONCE(mnt->returns) + 1);
	}
	if (!offline)
		rdmafs_rules_ask(mnt);
}

/**
 * rdmafs_served - tell whether the server can be reached and serves an export
 * @super: the superblock of the export
 *
 * Context: any.
 * Return: true if so, as far as the last answer tells.
 */
bool rdmafs_served(struct rdmafs_super *super)
{
	return rdmafs_xprt_connected(super->mnt->xprt) && !READ_ONCE(super->offline);
}

/**
 * rdmafs_since_now - begin something that umount -f, or a soft mount's time, may end
 * @mnt:   the mount
 * @since: out: now
 *
 * Context: any.
 */
void rdmafs_since_now(struct rdmafs_mount *mnt, struct rdmafs_since *since)
{
	since->forced = atomic_read_acquire(&mnt->forced_done);
	since->time = jiffies;
}

/**
 * rdmafs_since_over - tell whether it is over
 * @mnt:   the mount
 * @since: when it began
 *
 * Context: any.
 * Return: 0: it is not; -EIO: umount -f was called since, or a soft mount's time has passed;
 * -ETIMEDOUT: that of a softerr one.
 */
int rdmafs_since_over(struct rdmafs_mount *mnt, const struct rdmafs_since *since)
{
	unsigned long timeout = READ_ONCE(mnt->timeout);

	if (since->forced != atomic_read(&mnt->forced))
		return -EIO;
	if (!timeout || time_before(jiffies, since->time + timeout))
		return 0;
	return READ_ONCE(mnt->opts.late) == RDMAFS_SOFTERR ? -ETIMEDOUT : -EIO;
}

/* End all operations of a mount that wait for the server. */
static void rdmafs_umount_force(struct rdmafs_mount *mnt)
{
	/* Before the calls fail: an op that finds its call failed must not be tried again. */
	atomic_inc(&mnt->forced);
	rdmafs_xprt_fail_outstanding(mnt->xprt);
	/* Pairs with the acquire in rdmafs_since_now(): what is sent after it is not failed. */
	atomic_inc_return_release(&mnt->forced_done);
	rdmafs_locks_wake(mnt);
	/* Pairs with the barrier by which a task begins to wait in rdmafs_locking_begin(). */
	smp_mb();
	wake_up_var(&mnt->forced);
}

/*
 * If this umount ends the superblock, this task calls rdmafs_umount_wait().  Is that to give up
 * what it can't tell the server?
 */
static bool rdmafs_umount_give_up(struct rdmafs_super *super)
{
	u64 given_up = rdmafs_served(super) ? 0 : current->start_boottime;

	WRITE_ONCE(super->returns, READ_ONCE(super->mnt->returns));
	WRITE_ONCE(super->given_up, given_up);
	return given_up;
}

/**
 * rdmafs_umount_begin - umount -f: end all operations that wait for the server, with an error
 * @sb: the mount, or a file system below it: those of the mount are ended, too
 *
 * A mount that is busy stays, and goes on when the server or the export is back.
 *
 * Context: process.
 */
void rdmafs_umount_begin(struct super_block *sb)
{
	struct rdmafs_super *below, *super = RDMAFS_S(sb);
	struct rdmafs_mount *mnt = super->mnt;
	bool any = false;

	rdmafs_umount_force(mnt);
	if (super->above) {
		any = rdmafs_umount_give_up(super);
	} else {
		/* Those that are idle end with it. */
		spin_lock_irq(&mnt->supers_lock);
		list_for_each_entry(below, &mnt->supers, link)
			any |= rdmafs_umount_give_up(below);
		spin_unlock_irq(&mnt->supers_lock);
		/* That the export above is not served either may not be known yet. */
		if (any)
			WRITE_ONCE(super->given_up, current->start_boottime);
	}
	if (any)
		WRITE_ONCE(mnt->given_up, true);
}

/**
 * struct rdmafs_push - has the umount -f of a file system below a mount go on without a server
 * @work: runs once a second
 * @mnt:  the mount
 */
struct rdmafs_push {
	struct delayed_work work;
	struct rdmafs_mount *mnt;
};

static void rdmafs_push_work(struct work_struct *work)
{
	struct rdmafs_push *push = container_of(to_delayed_work(work), struct rdmafs_push, work);

	/*
	 * A server that is there answers, and with it calls that fail would end the session.  What
	 * it does not serve is not waited for (@ending).
	 */
	if (!rdmafs_xprt_connected(push->mnt->xprt))
		rdmafs_umount_force(push->mnt);
	/* Operations that begin only now, the CLOSE of a file say, wait for the next time. */
	queue_delayed_work(system_unbound_wq, &push->work, HZ);
}

/*
 * Wait for files that are still being closed, which hold inodes.  Closing takes an answer of the
 * server: SIGKILL makes all calls fail instead, which ends the session.
 *
 * The session of a file system below a mount is that of others, whose calls must not fail as this
 * task was killed.  So only umount -f ends what waits, this one (struct rdmafs_push) or another.
 */
static void rdmafs_umount_opens(struct rdmafs_super *super)
{
	struct rdmafs_mount *mnt = super->mnt;

	if (super->above) {
		wait_event(super->opens_wait, !atomic_read(&super->nr_opens));
	} else if (wait_event_killable(super->opens_wait, !atomic_read(&super->nr_opens))) {
		rdmafs_xprt_abort(mnt->xprt);
		wait_event(super->opens_wait, !atomic_read(&super->nr_opens));
	}
	/* rdmafs_opens_dec() holds this lock until it has done with the superblock. */
	spin_lock_irq(&super->opens_wait.lock);
	spin_unlock_irq(&super->opens_wait.lock);
}

/*
 * Has this task called umount -f without a server, so that it must not wait for one now?  An
 * umount -f of another task, when the mount was busy, says nothing about data that has been written
 * since.  But the umount -f that has left the superblock to a task that could not use it, as that
 * was killed say, has returned, and no other task can end the wait of the worker that puts it.
 */
static bool rdmafs_umount_given_up(const struct rdmafs_super *super)
{
	u64 by = READ_ONCE(super->given_up);

	if (!by || (by != current->start_boottime && !rdmafs_share_dropping()))
		return false;
	/* Other tasks may have had an answer since from a server that was away. */
	return READ_ONCE(super->offline) ||
	       READ_ONCE(super->returns) == READ_ONCE(super->mnt->returns);
}

/* Wait for all that holds inodes, and write back in between. */
static void rdmafs_umount_drain(struct rdmafs_super *super)
{
	rdmafs_umount_opens(super);
	/* Writeback may make opens (rdmafs_open_late()), whose end has to be waited for, too. */
	if (super->sb && super->sb->s_root)
		sync_filesystem(super->sb);
	WRITE_ONCE(super->no_late, true);
	/*
	 * Pairs with those in rdmafs_reclaim_tell() and rdmafs_events(): a task that comes there
	 * sees this, or is counted here.
	 */
	smp_mb();
	rdmafs_umount_opens(super);
}

/**
 * rdmafs_umount_wait - wait for all that holds inodes of a mount that ends
 * @super: the mount, or a file system below one, which has no user any more
 *
 * Context: process, may sleep; kill_sb.
 */
void rdmafs_umount_wait(struct rdmafs_super *super)
{
	struct rdmafs_push push = { .mnt = super->mnt };
	struct rdmafs_mount *mnt = super->mnt;
	bool given_up;

	WRITE_ONCE(super->unused, true);
	rdmafs_test_point("kill_sb", 0);
	given_up = rdmafs_umount_given_up(super);
	if (given_up && super->above) {
		WRITE_ONCE(super->ending, true);
		INIT_DELAYED_WORK_ONSTACK(&push.work, rdmafs_push_work);
		queue_delayed_work(system_unbound_wq, &push.work, HZ);
		rdmafs_umount_drain(super);
		cancel_delayed_work_sync(&push.work);
		destroy_delayed_work_on_stack(&push.work);
		return;
	}
	if (given_up) {
		WRITE_ONCE(mnt->ending, true);
		if (!rdmafs_xprt_connected(mnt->xprt))
			rdmafs_xprt_abort(mnt->xprt);
	}
	rdmafs_umount_drain(super);
}
