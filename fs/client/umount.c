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
 */
#include <linux/sched/signal.h>
#include "client.h"
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
 * rdmafs_heard_export - note that the server has told whether it serves the export
 * @mnt:     the mount
 * @offline: it does not serve the export at present
 *
 * Context: any.
 */
void rdmafs_heard_export(struct rdmafs_mount *mnt, bool offline)
{
	if (unlikely(READ_ONCE(mnt->offline) != offline)) {
		WRITE_ONCE(mnt->offline, offline);
		if (offline)
			atomic_inc(&mnt->forgets);
	}
	if (unlikely(!offline && READ_ONCE(mnt->given_up)))
		WRITE_ONCE(mnt->given_up, 0);
}

/**
 * rdmafs_served - tell whether the server can be reached and serves the export
 * @mnt: the mount
 *
 * Context: any.
 * Return: true if so, as far as the last answer tells.
 */
bool rdmafs_served(struct rdmafs_mount *mnt)
{
	return rdmafs_xprt_connected(mnt->xprt) && !READ_ONCE(mnt->offline);
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

/**
 * rdmafs_umount_begin - umount -f: end all operations that wait for the server, with an error
 * @sb: the mount
 *
 * A mount that is busy stays, and goes on when the server or the export is back.
 *
 * Context: process.
 */
void rdmafs_umount_begin(struct super_block *sb)
{
	struct rdmafs_mount *mnt = RDMAFS_M(sb);

	/* Before the calls fail: an op that finds its call failed must not be tried again. */
	atomic_inc(&mnt->forced);
	rdmafs_xprt_fail_outstanding(mnt->xprt);
	/* Pairs with the acquire in rdmafs_since_now(): what is sent after it is not failed. */
	atomic_inc_return_release(&mnt->forced_done);
	rdmafs_locks_wake(mnt);
	/* Pairs with the barrier by which a task begins to wait in rdmafs_locking_begin(). */
	smp_mb();
	wake_up_var(&mnt->forced);
	/* If this umount ends the mount, this task calls rdmafs_umount_wait(). */
	WRITE_ONCE(mnt->given_up, rdmafs_served(mnt) ? 0 : current->start_boottime);
}

/*
 * Wait for files that are still being closed, which hold inodes.  Closing takes an answer of the
 * server: SIGKILL makes all calls fail instead, which ends the session.
 */
static void rdmafs_umount_opens(struct rdmafs_mount *mnt)
{
	if (wait_event_killable(mnt->opens_wait, !atomic_read(&mnt->nr_opens))) {
		rdmafs_xprt_abort(mnt->xprt);
		wait_event(mnt->opens_wait, !atomic_read(&mnt->nr_opens));
	}
}

/**
 * rdmafs_umount_wait - wait for all that holds inodes of a mount that ends
 * @mnt: the mount, which has no user any more
 *
 * Context: process, may sleep; kill_sb.
 */
void rdmafs_umount_wait(struct rdmafs_mount *mnt)
{
	u64 given_up = READ_ONCE(mnt->given_up);

	WRITE_ONCE(mnt->unused, true);
	rdmafs_test_point("kill_sb", 0);
	/*
	 * This task has called umount -f without a server, so that it must not wait for one now.
	 * An umount -f of another task, when the mount was busy, says nothing about data that has
	 * been written since.  But the one that has left the superblock to a mount(2), which could
	 * not share it, has returned, and nobody else can end the wait of this worker.
	 */
	if (given_up && (given_up == current->start_boottime || rdmafs_share_dropping())) {
		WRITE_ONCE(mnt->ending, true);
		if (!rdmafs_xprt_connected(mnt->xprt))
			rdmafs_xprt_abort(mnt->xprt);
	}
	rdmafs_umount_opens(mnt);
	/* Writeback may make opens (rdmafs_open_late()), whose end has to be waited for, too. */
	if (mnt->sb && mnt->sb->s_root)
		sync_filesystem(mnt->sb);
	WRITE_ONCE(mnt->no_late, true);
	/*
	 * Pairs with those in rdmafs_reclaim_tell() and rdmafs_events(): who comes sees this, or is
	 * counted here.
	 */
	smp_mb();
	rdmafs_umount_opens(mnt);
}
