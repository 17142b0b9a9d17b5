// SPDX-License-Identifier: GPL-2.0
/*
 * Mounts that share a superblock, and with it a session, a page cache and locks (sharecache).
 *
 * A mount looks for a superblock that fits before it connects, and connects only if there is
 * none.  Of all mounts that might share one, only one at a time does this (struct rdmafs_making),
 * so that no two of them make one.  The others wait for it, killably.  In sget_fc() they would
 * wait for the superblock that it makes, as long as the server takes to answer, and no signal would
 * end that.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "client.h"
#include "options.h"

/* Flags that a superblock has for all of its mounts, and that mount(8) sets. */
#define RDMAFS_SB_FLAGS		(SB_RDONLY | SB_SYNCHRONOUS | SB_DIRSYNC | SB_LAZYTIME)

/**
 * struct rdmafs_making - a mount that looks for its superblock, or makes it
 * @list: in rdmafs_makings, until it has the superblock or has failed
 * @fc:   its context; valid while it is in the list, and its options do not change meanwhile
 * @over: it has left the list
 * @err:  why it could make no superblock, if other mounts would fail likewise, or 0; set before
 *	  @over
 * @ref:  one of the mount, one of each mount that waits for it, one of @drop
 * @sb:   a superblock that it could not share, with the reference that @drop has to put
 * @drop: runs rdmafs_drop_work()
 */
struct rdmafs_making {
	struct list_head list;
	struct fs_context *fc;
	struct completion over;
	int err;
	refcount_t ref;
	struct super_block *sb;
	struct work_struct drop;
};

static struct workqueue_struct *rdmafs_drop_wq;
static LIST_HEAD(rdmafs_makings);
static DEFINE_SPINLOCK(rdmafs_makings_lock);	/* guards rdmafs_makings; a leaf */

static void rdmafs_making_put(struct rdmafs_making *making)
{
	if (refcount_dec_and_test(&making->ref))
		kfree(making);
}

static void rdmafs_drop_work(struct work_struct *work)
{
	struct rdmafs_making *making = container_of(work, struct rdmafs_making, drop);

	deactivate_super(making->sb);
	rdmafs_making_put(making);
}

/*
 * Would the mounts fail alike?  Some of this may turn out to be equal only when the server has been
 * asked (the sizes of RPCs, a read-only export), and labels are for the LSM to compare.
 */
static bool rdmafs_making_alike(const struct fs_context *a, const struct fs_context *b)
{
	const struct rdmafs_ctx *x = a->fs_private, *y = b->fs_private;

	return !((a->sb_flags ^ b->sb_flags) & RDMAFS_SB_FLAGS) &&
	       x->opts.rsize == y->opts.rsize && x->opts.wsize == y->opts.wsize &&
	       !a->security && !b->security;
}

/*
 * A mount with which the one of @fc might share a superblock, with a reference, or NULL.  @alike:
 * whether both would fail for the same reasons.
 */
static struct rdmafs_making *rdmafs_making_find(struct fs_context *fc, bool *alike)
{
	const struct rdmafs_ctx *ctx = fc->fs_private, *other;
	struct rdmafs_making *making;

	lockdep_assert_held(&rdmafs_makings_lock);
	list_for_each_entry(making, &rdmafs_makings, list) {
		other = making->fc->fs_private;
		if (making->fc->net_ns == fc->net_ns &&
		    rdmafs_opts_same(&other->opts, &ctx->opts)) {
			refcount_inc(&making->ref);
			*alike = rdmafs_making_alike(making->fc, fc);
			return making;
		}
	}
	return NULL;
}

/*
 * Wait for another mount, and put it.  If the server has refused that one, or has not answered, it
 * will not do better by this one if they are @alike: of many mounts that are waiting, the last
 * would fail only when the server has been waited for as many times.
 */
static int rdmafs_making_wait(struct fs_context *fc, struct rdmafs_making *making, bool alike)
{
	const struct rdmafs_ctx *ctx = fc->fs_private;
	int err = -EINTR;

	if (!wait_for_completion_killable(&making->over)) {
		err = alike ? making->err : 0;
		if (err)
			errorfc(fc, "%s:/%s: another mount at the same time failed: error %d",
				ctx->opts.host, ctx->opts.export, err);
	}
	rdmafs_making_put(making);
	return err;
}

/**
 * rdmafs_share_begin - wait until no other mount looks for, or makes, a superblock that might fit
 * @fc: the context of the mount
 *
 * Context: process, may sleep, killably.
 * Return: for rdmafs_share_end(), which has to be called; or an error: -EINTR, -ENOMEM, or that of
 * another mount, with a message in @fc.
 */
struct rdmafs_making *rdmafs_share_begin(struct fs_context *fc)
{
	struct rdmafs_making *making = kzalloc(sizeof(*making), GFP_KERNEL), *other;
	bool alike = false;
	int err;

	if (!making)
		return ERR_PTR(-ENOMEM);
	making->fc = fc;
	init_completion(&making->over);
	refcount_set(&making->ref, 1);
	INIT_WORK(&making->drop, rdmafs_drop_work);
	for (;;) {
		spin_lock(&rdmafs_makings_lock);
		other = rdmafs_making_find(fc, &alike);
		if (!other)
			list_add(&making->list, &rdmafs_makings);
		spin_unlock(&rdmafs_makings_lock);
		if (!other)
			return making;
		err = rdmafs_making_wait(fc, other, alike);
		if (err) {
			rdmafs_making_put(making);
			return ERR_PTR(err);
		}
	}
}

/**
 * rdmafs_share_end - let the next mount look for a superblock
 * @making: what rdmafs_share_begin() has returned
 * @err:    why others would fail likewise: the server does not answer, or this mount could make no
 *	    superblock; or 0
 *
 * Context: process.
 */
void rdmafs_share_end(struct rdmafs_making *making, int err)
{
	/* A signal, want of memory or FSCONFIG_CMD_CREATE_EXCL makes no other mount fail. */
	if (err != -EINTR && err != -ENOMEM && !fatal_signal_pending(current) &&
	    !making->fc->exclusive)
		making->err = err;
	spin_lock(&rdmafs_makings_lock);
	list_del(&making->list);
	spin_unlock(&rdmafs_makings_lock);
	complete_all(&making->over);
	rdmafs_making_put(making);
}

/*
 * Have both the same options of the LSM?  An LSM that compares them (SELinux) says that a
 * superblock with options does not go with a mount that has none; an LSM that does not compare them
 * (Smack) objects to nothing.
 */
static bool rdmafs_share_labels(struct super_block *sb, struct fs_context *fc)
{
	if (RDMAFS_M(sb)->labelled != !!fc->security)
		return false;
	if (fc->security && !security_sb_mnt_opts_compat(sb, NULL))
		return false;
	return !security_sb_mnt_opts_compat(sb, fc->security);
}

/**
 * rdmafs_share_fits - tell whether a mount may share a superblock
 * @sb: the superblock, with sb_lock or s_umount held
 * @fc: the context of the mount
 *
 * Context: any, but for the locks.
 * Return: true if so.
 */
bool rdmafs_share_fits(struct super_block *sb, struct fs_context *fc)
{
	const struct rdmafs_mount *mnt = RDMAFS_M(sb);
	const struct rdmafs_ctx *ctx = fc->fs_private;
	const struct rdmafs_opts *old = &mnt->opts, *new = &ctx->opts;
	unsigned int flags = fc->sb_flags;

	/* After 1 was written to /proc/fs/rdmafs/<st_dev>/abort a mount gets a new session. */
	if (mnt->net != fc->net_ns || rdmafs_xprt_aborted(mnt->xprt))
		return false;
	/* Without s_umount a remount may be changing them.  The caller looks again with it. */
	if (!data_race(rdmafs_opts_same(old, new)))
		return false;
	/* /proc/mounts shows what became of the sizes: a mount may ask for either. */
	if ((new->rsize != old->rsize && new->rsize != mnt->rsize) ||
	    (new->wsize != old->wsize && new->wsize != mnt->wsize))
		return false;
	if (READ_ONCE(mnt->super.export_flags) & RFP_EXPORT_RO)
		flags |= SB_RDONLY;
	if ((READ_ONCE(sb->s_flags) ^ flags) & RDMAFS_SB_FLAGS)
		return false;
	return rdmafs_share_labels(sb, fc);
}

/*
 * Called with sb_lock held.  The reference is taken here, and no superblock is said to fit: for one
 * that fits sget_fc() would wait for s_umount, deaf to SIGKILL, and the holder of s_umount may be
 * waiting for the server, as sync(2) and the flusher do.  A superblock whose last user has gone
 * does not count.  A superblock without SB_BORN counts: its maker has left rdmafs_makings, else
 * this mount would still be waiting for it there.
 */
static int rdmafs_share_test(struct super_block *sb, struct fs_context *fc)
{
	struct rdmafs_ctx *ctx = fc->fs_private;

	/* A superblock below a mount has another root; and s_fs_info may be gone (submount.c). */
	if (ctx->found || (READ_ONCE(sb->s_flags) & SB_SUBMOUNT) || !rdmafs_share_fits(sb, fc))
		return 0;
	/* FSCONFIG_CMD_CREATE_EXCL: sget_fc() waits for nothing, and refuses it. */
	if (fc->exclusive)
		return atomic_read(&sb->s_active) > 0;
	if (atomic_inc_not_zero(&sb->s_active))
		ctx->found = sb;
	return 0;
}

/**
 * rdmafs_share_drop - put a superblock that a mount can't share after all
 * @making: of the mount, which has not called this before
 * @sb:     the superblock, with an active reference of the mount
 *
 * The last user of the superblock may have unmounted it meanwhile, and believe that this has
 * written its data.  A worker puts the reference, so that the data is written even if the task of
 * this mount is killed.  (A mount that fails later puts its reference as any last user does, see
 * rdmafs_umount_wait().)
 *
 * Context: process; s_umount is not held.
 */
void rdmafs_share_drop(struct rdmafs_making *making, struct super_block *sb)
{
	if (atomic_add_unless(&sb->s_active, -1, 1))
		return;
	making->sb = sb;
	refcount_inc(&making->ref);
	queue_work(rdmafs_drop_wq, &making->drop);
}

/**
 * rdmafs_share_drop_super - the work of rdmafs_share_drop_later()
 * @work: rdmafs_super.drop
 *
 * Context: process, may sleep.
 */
void rdmafs_share_drop_super(struct work_struct *work)
{
	/* This ends the superblock, and frees the work. */
	deactivate_super(container_of(work, struct rdmafs_super, drop)->sb);
}

/**
 * rdmafs_share_dropping - tell whether this task is the worker of rdmafs_share_drop(), or of
 *			   rdmafs_share_drop_later()
 *
 * Context: process.
 * Return: true if so.
 */
bool rdmafs_share_dropping(void)
{
	const struct work_struct *work = current_work();

	return work && (work->func == rdmafs_drop_work || work->func == rdmafs_share_drop_super);
}

/**
 * rdmafs_share_drop_later - have a worker put the last reference to a superblock below a mount
 * @super: its memory
 *
 * Context: process.
 */
void rdmafs_share_drop_later(struct rdmafs_super *super)
{
	queue_work(rdmafs_drop_wq, &super->drop);
}

/* There is no session yet with which a superblock could be made. */
static int rdmafs_share_none(struct super_block *sb, struct fs_context *fc)
{
	return -ENOENT;
}

/**
 * rdmafs_share_get - find a superblock that fits
 * @fc: the context of the mount, which has called rdmafs_share_begin()
 *
 * The superblock may be remounted, or aborted, before its s_umount is got.
 *
 * Context: process, may sleep, but waits for no other mount.
 * Return: the superblock, with an active reference; NULL: there is none; or an error.
 */
struct super_block *rdmafs_share_get(struct fs_context *fc)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	struct super_block *sb;

	ctx->found = NULL;
	sb = sget_fc(fc, rdmafs_share_test, rdmafs_share_none);
	if (ctx->found)
		sb = ctx->found;
	ctx->found = NULL;
	return sb == ERR_PTR(-ENOENT) ? NULL : sb;
}

/**
 * rdmafs_share_init - make the workqueue for superblocks that have lost their last user
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rdmafs_share_init(void)
{
	/* Such a work may wait for its server; so each of them has a thread. */
	rdmafs_drop_wq = alloc_workqueue("rdmafs-drop", WQ_UNBOUND, 0);
	return rdmafs_drop_wq ? 0 : -ENOMEM;
}

/**
 * rdmafs_share_exit - undo rdmafs_share_init()
 *
 * Context: process, may sleep; there is no superblock.
 */
void rdmafs_share_exit(void)
{
	destroy_workqueue(rdmafs_drop_wq);
}
