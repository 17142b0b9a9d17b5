// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a mount, and umount -f: who waits for whom, and when no longer.
 *
 * A server that is gone is waited for, and so is one that answers but does not serve
 * the export at present (RFP_OFFLINE): its administrator has disabled it for a moment.
 * What waits keeps its data, ends by SIGKILL where a task waits, and by umount -f, which
 * leaves a busy mount as it is for those who come later.  If the mount ends with that
 * umount, what is dirty gets one more chance with a server that answers, and none with
 * one that does not.
 */
#include <linux/sched/signal.h>
#include "client.h"

/**
 * rdmafs_heard - the server has answered
 * @mnt: the mount
 *
 * Context: any.
 */
void rdmafs_heard(struct rdmafs_mount *mnt)
{
	WRITE_ONCE(mnt->heard, jiffies);
}

/**
 * rdmafs_heard_export - it has said something of the export
 * @mnt:     the mount
 * @offline: that it does not serve the export at present
 *
 * Context: any.
 */
void rdmafs_heard_export(struct rdmafs_mount *mnt, bool offline)
{
	if (unlikely(READ_ONCE(mnt->offline) != offline))
		WRITE_ONCE(mnt->offline, offline);
	if (unlikely(!offline && READ_ONCE(mnt->given_up)))
		WRITE_ONCE(mnt->given_up, 0);
}

/**
 * rdmafs_served - is there anybody who would do what is asked for?
 * @mnt: the mount
 *
 * Context: any.
 * Return: true: as far as the last answer tells.
 */
bool rdmafs_served(struct rdmafs_mount *mnt)
{
	return rdmafs_xprt_connected(mnt->xprt) && !READ_ONCE(mnt->offline);
}

/**
 * rdmafs_umount_begin - umount -f: whatever waits for the server gets an error now
 * @sb: the mount
 *
 * If the mount is busy it stays, and goes on when the server, or the export, is back.
 */
void rdmafs_umount_begin(struct super_block *sb)
{
	struct rdmafs_mount *mnt = RDMAFS_M(sb);

	/* First: who finds that his call has failed does not try again. */
	atomic_inc(&mnt->forced);
	rdmafs_xprt_fail_outstanding(mnt->xprt);
	/* If the mount ends with this call, it is by this task. */
	WRITE_ONCE(mnt->given_up, rdmafs_served(mnt) ? 0 : current->start_boottime);
}

/*
 * Files that are still being closed hold inodes.  It takes an answer
 * of the server; whoever has no patience kills us and ends the session.
 */
static void rdmafs_umount_opens(struct rdmafs_mount *mnt)
{
	if (wait_event_killable(mnt->opens_wait, !atomic_read(&mnt->nr_opens))) {
		rdmafs_xprt_abort(mnt->xprt);
		wait_event(mnt->opens_wait, !atomic_read(&mnt->nr_opens));
	}
}

/**
 * rdmafs_umount_wait - the mount ends: wait for what holds its inodes
 * @mnt: the mount; nobody uses it any more
 *
 * Context: kill_sb.
 */
void rdmafs_umount_wait(struct rdmafs_mount *mnt)
{
	/*
	 * What is left to be done would wait for a server that nobody waits for any more.
	 * An earlier umount -f, of a mount that was busy then, says nothing of what has been
	 * written since.
	 */
	if (READ_ONCE(mnt->given_up) == current->start_boottime) {
		WRITE_ONCE(mnt->ending, true);
		if (!rdmafs_xprt_connected(mnt->xprt))
			rdmafs_xprt_abort(mnt->xprt);
	}
	rdmafs_umount_opens(mnt);
	/* What is written now may be opened for that once more. */
	if (mnt->sb && mnt->sb->s_root)
		sync_filesystem(mnt->sb);
	WRITE_ONCE(mnt->no_late, true);
	rdmafs_umount_opens(mnt);
}
