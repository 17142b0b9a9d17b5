// SPDX-License-Identifier: GPL-2.0
/*
 * File systems that are mounted below the export on the server, and subvolumes of btrfs there.
 *
 * The server says in the attributes of a directory that another file system begins there
 * (RFP_ATTR_CROSSING).  A walk that comes to the directory has d_automount mount that, as with NFS:
 * it has a superblock of its own, and so a device number, inode numbers and figures of its own, and
 * nothing is renamed or linked over the border.  It uses the session of the mount, and has its
 * options.  So all superblocks of a mount have one struct rdmafs_mount, and each has a struct
 * rdmafs_super.
 *
 * Nothing else of the client knows of this: names of the directory that is covered are those of the
 * superblock above, and the way up from a root is the VFS's.  If the server can't let the client
 * cross, the directory itself is seen.
 *
 * Each superblock has security options of its own, copied from the one above, and labels if its
 * export has (seclabel.c).
 *
 * Such mounts are unmounted when they have been idle for submount_s seconds, or twice as long,
 * and with the mount above if they are idle then (MNT_SHRINKABLE).  While the server is not there,
 * or does not serve one of them, none expires: the worker that ends it would wait for the server,
 * and others wait for that worker.
 *
 * One superblock serves all mounts of one root in one struct rdmafs_mount, which a file system may
 * have in several namespaces.  It has an active reference to the superblock of the mount, which may
 * so outlive its last umount; and none to one between them, as the end of each would be nested in
 * that of the next, however many of them a server claims.
 */
#include <linux/dcache.h>
#include <linux/fs_context.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include "transport/points.h"
#include "client.h"
#include "op.h"
#include "open.h"
#include "options.h"

#define RDMAFS_SUBMOUNT_S	300

static unsigned int rdmafs_submount_s = RDMAFS_SUBMOUNT_S;
module_param_named(submount_s, rdmafs_submount_s, uint, 0644);
MODULE_PARM_DESC(submount_s, "seconds after which an idle file system below a mount is unmounted; 0: never");

/* The flags that a superblock below takes over from the one above. */
#define RDMAFS_SUBMOUNT_FLAGS	(SB_RDONLY | SB_SYNCHRONOUS | SB_DIRSYNC | SB_LAZYTIME)

/**
 * rdmafs_dentry_crosses - tell whether a name knows whether another file system begins there
 * @dentry: the name
 * @inode:  its object, or NULL
 *
 * Context: any, RCU walk included.
 * Return: false: rdmafs_dentry_crossing() has to be called.
 */
bool rdmafs_dentry_crosses(const struct dentry *dentry, const struct inode *inode)
{
	bool crossing = inode && IS_AUTOMOUNT(inode);

	return crossing == !!(READ_ONCE(dentry->d_flags) & DCACHE_NEED_AUTOMOUNT);
}

/**
 * rdmafs_dentry_crossing - have a name know whether another file system begins there
 * @dentry: the name
 *
 * The VFS looks only when a dentry gets an inode; the attributes may have changed since, or the
 * directory may be gone.
 *
 * Context: process.
 */
void rdmafs_dentry_crossing(struct dentry *dentry)
{
	struct inode *inode;

	spin_lock(&dentry->d_lock);
	inode = d_inode(dentry);
	if (!rdmafs_dentry_crosses(dentry, inode))
		dentry->d_flags ^= DCACHE_NEED_AUTOMOUNT;
	spin_unlock(&dentry->d_lock);
}

/* ---------------------------------------------------------- the superblock */

/**
 * rdmafs_super_init - begin with a superblock
 * @super: its memory, zeroed
 * @mnt:   the mount
 *
 * Context: any.
 */
void rdmafs_super_init(struct rdmafs_super *super, struct rdmafs_mount *mnt)
{
	super->mnt = mnt;
	INIT_LIST_HEAD(&super->link);
	init_waitqueue_head(&super->opens_wait);
	rdmafs_opens_init(super);
	INIT_WORK(&super->drop, rdmafs_share_drop_super);
}

static void rdmafs_submount_free(struct rdmafs_super *super)
{
	kfree(super->from);
	/* RDMAFS_M() reads it in RCU mode. */
	kfree_rcu(super, rcu);
}

/**
 * rdmafs_submount_ended - free what a superblock below has left, and let go of the mount's
 * @super: its memory; kill_anon_super() was called
 *
 * Context: process, may sleep; s_umount is not held.  The mount may end by this.
 */
void rdmafs_submount_ended(struct rdmafs_super *super)
{
	struct super_block *above = super->above;
	struct rdmafs_mount *mnt = super->mnt;

	spin_lock_irq(&mnt->supers_lock);
	list_del_init(&super->link);
	spin_unlock_irq(&mnt->supers_lock);
	/* It has no opens any more, and no other task finds it. */
	rdmafs_opens_exit(super);
	deactivate_super(above);
	rdmafs_submount_free(super);
}

/* The superblock of a root that was crossed into, with an active reference; or NULL. */
static struct rdmafs_super *rdmafs_submount_find(struct rdmafs_mount *mnt,
						 const struct rfp_fh *root)
{
	struct rdmafs_super *super, *found = NULL;

	spin_lock_irq(&mnt->supers_lock);
	list_for_each_entry(super, &mnt->supers, link) {
		if (super != &mnt->super && super->root_fh.len == root->len &&
		    !memcmp(super->root_fh.data, root->data, root->len) &&
		    atomic_inc_not_zero(&super->sb->s_active)) {
			found = super;
			break;
		}
	}
	spin_unlock_irq(&mnt->supers_lock);
	return found;
}

/*
 * Take the s_umount of a superblock that was found; if killed, put it.  Its maker may have failed
 * after it was found, and then the security module does not know it: -EIO.
 */
static int rdmafs_submount_lock(struct rdmafs_super *super)
{
	struct super_block *sb = super->sb;

	rdmafs_test_point("submount_found", 0);
	if (!down_write_killable(&sb->s_umount)) {
		if (super->ready)
			return 0;
		deactivate_locked_super(sb);
		return -EIO;
	}
	/* Its last user may believe that it was unmounted with all data: a worker does that. */
	if (!atomic_add_unless(&sb->s_active, -1, 1))
		rdmafs_share_drop_later(super);
	return -EINTR;
}

static int rdmafs_submount_fill(struct super_block *sb, struct fs_context *fc)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	struct rdmafs_super *super = ctx->super;
	struct rdmafs_mount *mnt = super->mnt;
	int err;

	/* From here on kill_sb ends it. */
	ctx->super = NULL;
	/* The superblock that was crossed from is the mount's, or holds a reference to it. */
	super->above = mnt->super.sb;
	atomic_inc(&super->above->s_active);
	super->over = RDMAFS_I(d_inode(ctx->cross))->fh;
	err = rdmafs_super_setup(sb);
	if (!err)
		err = rdmafs_super_root(sb, ctx->at);
	if (err)
		return err;
	spin_lock_irq(&mnt->supers_lock);
	list_add_tail(&super->link, &mnt->supers);
	/*
	 * The server may have started its export for this CROSS, and wait for this client, which
	 * has been told so before it was in the list.
	 */
	rdmafs_opens_reclaim(super);
	spin_unlock_irq(&mnt->supers_lock);
	return 0;
}

/* Make the superblock of a root; nothing is waited for. */
static int rdmafs_submount_make(struct fs_context *fc)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	struct rdmafs_super *super;
	int err;

	super = kzalloc(sizeof(*super), GFP_KERNEL);
	if (!super)
		return -ENOMEM;
	rdmafs_super_init(super, RDMAFS_M(ctx->cross->d_sb));
	super->from = kstrdup(fc->source, GFP_KERNEL);
	if (!super->from) {
		kfree(super);
		return -ENOMEM;
	}
	ctx->super = super;
	fc->s_fs_info = super;
	err = get_tree_nodev(fc, rdmafs_submount_fill);
	fc->s_fs_info = NULL;
	if (ctx->super)
		rdmafs_submount_free(super);
	ctx->super = NULL;
	return err;
}

/* Give up the new superblock. */
static void rdmafs_submount_unmake(struct fs_context *fc)
{
	struct super_block *sb = fc->root->d_sb;

	dput(fc->root);
	fc->root = NULL;
	deactivate_locked_super(sb);
}

/* Send CROSS. */
static int rdmafs_submount_ask(struct inode *dir, struct rdmafs_attached *at)
{
	struct rdmafs_op *op;
	int err;

	at->op = NULL;
	op = rdmafs_op_new(RDMAFS_S(dir->i_sb), RFP_CROSS, sizeof(struct rfp_req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	at->op = op;
	rdmafs_seclabel_ask(op, RDMAFS_M(dir->i_sb)->super.sb);
	rfp_enc_fh(&op->enc, &RDMAFS_I(dir)->fh);
	err = rdmafs_op_run(op);
	return err ?: rdmafs_attach_decode(at);
}

/**
 * rdmafs_submount_get_tree - find or make the superblock below: fs_context_operations.get_tree
 * @fc: the context, whose fs_private says where it is
 *
 * Context: process, waits killably for the server; in rdmafs_d_automount().
 * Return: 0: s_umount is held; or a negative errno.
 */
int rdmafs_submount_get_tree(struct fs_context *fc)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	struct rdmafs_mount *mnt = RDMAFS_M(ctx->cross->d_sb);
	struct rdmafs_super *found = NULL;
	struct rdmafs_attached at;
	int err;

	err = rdmafs_submount_ask(d_inode(ctx->cross), &at);
	if (!err)
		err = mutex_lock_killable(&mnt->supers_mutex);
	if (!err) {
		found = rdmafs_submount_find(mnt, &at.root);
		ctx->at = &at;
		if (!found)
			err = rdmafs_submount_make(fc);
		ctx->at = NULL;
		mutex_unlock(&mnt->supers_mutex);
	}
	if (!err && !found) {
		rdmafs_test_point("submount_made", 0);
		err = rdmafs_seclabel_below(fc, ctx->cross->d_sb, &at.label);
		if (!err && rdmafs_test_fails("submount_label", 0))
			err = -ENOMEM;
		RDMAFS_S(fc->root->d_sb)->ready = !err;
	}
	if (at.op)
		rdmafs_op_put(at.op);
	/* That may need ops. */
	if (err && fc->root)
		rdmafs_submount_unmake(fc);
	if (err || !found)
		return err;
	err = rdmafs_submount_lock(found);
	if (!err)
		fc->root = dget(found->sb->s_root);
	return err;
}

/* --------------------------------------------------------------- the mount */

static unsigned long rdmafs_submount_time(void)
{
	return min_t(u64, (u64)READ_ONCE(rdmafs_submount_s) * HZ, MAX_JIFFY_OFFSET);
}

/*
 * Are the mount and all below it served?  What ends waits for the server in a worker; so it does
 * while the server is told of its locks, for which a dead disk may have no answer.
 */
static bool rdmafs_submounts_served(struct rdmafs_mount *mnt)
{
	struct rdmafs_super *super;
	bool served = true;

	spin_lock_irq(&mnt->supers_lock);
	list_for_each_entry(super, &mnt->supers, link)
		served = served && rdmafs_served(super) && !READ_ONCE(super->telling);
	spin_unlock_irq(&mnt->supers_lock);
	return served;
}

static void rdmafs_submounts_expire(struct work_struct *work)
{
	struct rdmafs_mount *mnt = container_of(to_delayed_work(work), struct rdmafs_mount, expire);
	unsigned long time = rdmafs_submount_time();

	rdmafs_test_point("submount_expire", mnt->rsize);
	if (time && rdmafs_submounts_served(mnt))
		mark_mounts_for_expiry(&mnt->submounts);
	if (!list_empty(&mnt->submounts))
		queue_delayed_work(system_unbound_wq, &mnt->expire, time ?: 60 * HZ);
}

/* The source that /proc/mounts shows: the place on the server. */
static char *rdmafs_submount_source(struct dentry *dentry)
{
	const struct rdmafs_super *super = RDMAFS_S(dentry->d_sb);
	const struct rdmafs_opts *opts = &super->mnt->opts;
	char *buf, *path, *source = NULL;

	buf = kmalloc(PATH_MAX, GFP_KERNEL);
	if (!buf)
		return NULL;
	path = dentry_path_raw(dentry, buf, PATH_MAX);
	/* It is for users to read only. */
	if (IS_ERR(path))
		path = "";
	if (super->from)
		source = kasprintf(GFP_KERNEL, "%s%s", super->from, path);
	else
		source = kasprintf(GFP_KERNEL, "%s:/%s%s", opts->host, opts->export, path);
	kfree(buf);
	return source;
}

static struct vfsmount *rdmafs_submount(struct fs_context *fc, const struct path *path)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	struct dentry *dentry = path->dentry;

	ctx->cross = dentry;
	fc->sb_flags_mask |= RDMAFS_SUBMOUNT_FLAGS;
	fc->sb_flags = (fc->sb_flags & ~RDMAFS_SUBMOUNT_FLAGS) |
		       (READ_ONCE(dentry->d_sb->s_flags) & RDMAFS_SUBMOUNT_FLAGS);
	/* By this other mounts know it (share.c), for as long as they find it. */
	fc->sb_flags |= SB_SUBMOUNT;
	fc->source = rdmafs_submount_source(dentry);
	if (!fc->source)
		return ERR_PTR(-ENOMEM);
	return fc_mount(fc);
}

/*
 * The server can't let the client cross at a directory: it is not asked again before the attributes
 * expire that it has now.  Every walk over it would ask.
 */
static void rdmafs_uncrossed_note(struct inode *dir)
{
	struct rdmafs_inode *ri = RDMAFS_I(dir);

	spin_lock_irq(&ri->lock);
	ri->uncrossed = ri->expires;
	set_bit(RDMAFS_I_UNCROSSED, &ri->flags);
	spin_unlock_irq(&ri->lock);
}

/* Look whether it is known that the server can't let the client cross there; if not, forget it. */
static bool rdmafs_uncrossed_check(struct inode *dir)
{
	struct rdmafs_inode *ri = RDMAFS_I(dir);
	bool known;

	if (!test_bit(RDMAFS_I_UNCROSSED, &ri->flags))
		return false;
	spin_lock_irq(&ri->lock);
	known = time_before(jiffies, ri->uncrossed) && time_before(jiffies, ri->expires);
	/* Later, when jiffies have come round, it would be believed again. */
	if (!known)
		clear_bit(RDMAFS_I_UNCROSSED, &ri->flags);
	spin_unlock_irq(&ri->lock);
	return known;
}

/**
 * rdmafs_d_automount - mount what begins at a directory: dentry_operations.d_automount
 * @path: the directory
 *
 * Context: process, waits killably for the server.
 * Return: the mount, with two references; ERR_PTR(-EISDIR): there is none, the directory itself is
 * to be used; or another error.
 */
struct vfsmount *rdmafs_d_automount(struct path *path)
{
	struct rdmafs_mount *mnt = RDMAFS_M(path->dentry->d_sb);
	struct vfsmount *new;
	struct fs_context *fc;

	/* An object that was come to by its handle has no place yet; and a root is no border. */
	if (IS_ROOT(path->dentry) || d_really_is_negative(path->dentry))
		return ERR_PTR(-EISDIR);
	if (rdmafs_uncrossed_check(d_inode(path->dentry)))
		return ERR_PTR(-EISDIR);
	fc = fs_context_for_submount(path->mnt->mnt_sb->s_type, path->dentry);
	if (IS_ERR(fc))
		return ERR_CAST(fc);
	new = rdmafs_submount(fc, path);
	put_fs_context(fc);
	if (new == ERR_PTR(-ESTALE))
		rdmafs_attr_expire(d_inode(path->dentry));
	if (new == ERR_PTR(-EOPNOTSUPP) || new == ERR_PTR(-EOVERFLOW))
		rdmafs_uncrossed_note(d_inode(path->dentry));
	if (new == ERR_PTR(-ESTALE) || new == ERR_PTR(-EOPNOTSUPP) || new == ERR_PTR(-EOVERFLOW))
		return ERR_PTR(-EISDIR);
	if (IS_ERR(new))
		return new;
	/* The one of the caller, and one that keeps it from expiring before it is mounted. */
	mntget(new);
	mnt_set_expiry(new, &mnt->submounts);
	queue_delayed_work(system_unbound_wq, &mnt->expire, rdmafs_submount_time() ?: 60 * HZ);
	return new;
}

/* -------------------------------------------------------------- a remount */

/* Is a file open there for writing?  The VFS does not tell. */
static bool rdmafs_submount_written(struct rdmafs_super *super)
{
	struct list_head *lists[] = { &super->opens, &super->opens_later };
	struct rdmafs_open *open;
	bool written = false;
	int i;

	spin_lock(&super->mnt->opens_lock);
	for (i = 0; i < ARRAY_SIZE(lists) && !written; i++)
		list_for_each_entry(open, lists[i], all)
			written = written || (open->flags & RFP_OPEN_WRITE);
	spin_unlock(&super->mnt->opens_lock);
	return written;
}

/*
 * Set those flags of one below, or with @look see whether they can be set.  One that is read-only
 * on the server stays so.  0; -EBUSY: a file is open for writing (@look); -EINTR: killed while it
 * waited for s_umount.
 */
static int rdmafs_submount_set(struct rdmafs_super *super, unsigned long changed,
			       unsigned long flags, bool look)
{
	struct super_block *sb = super->sb;
	bool ends;	/* being writable */
	int err = 0;

	/* That of the mount is held: the other order does not occur. */
	if (down_write_killable_nested(&sb->s_umount, SINGLE_DEPTH_NESTING))
		return -EINTR;
	if (!sb->s_root)
		goto out;
	if (READ_ONCE(super->export_flags) & RFP_EXPORT_RO)
		flags |= SB_RDONLY;
	ends = (changed & flags & SB_RDONLY) && !sb_rdonly(sb);
	if (look) {
		err = ends && rdmafs_submount_written(super) ? -EBUSY : 0;
		goto out;
	}
	/* What is dirty then is not written at its umount. */
	if (ends)
		sync_filesystem(sb);
	WRITE_ONCE(sb->s_flags, (sb->s_flags & ~changed) | (flags & changed));
out:
	up_write(&sb->s_umount);
	return err;
}

/* The one below after @last, whose reference goes, or the first one; an active reference. */
static struct rdmafs_super *rdmafs_submount_next(struct rdmafs_mount *mnt,
						 struct rdmafs_super *last)
{
	struct rdmafs_super *super = last ?: &mnt->super, *next = NULL;

	spin_lock_irq(&mnt->supers_lock);
	/* The mount's own comes first; what has a reference is in the list. */
	list_for_each_entry_continue(super, &mnt->supers, link)
		if (atomic_inc_not_zero(&super->sb->s_active)) {
			next = super;
			break;
		}
	spin_unlock_irq(&mnt->supers_lock);
	if (last && !atomic_add_unless(&last->sb->s_active, -1, 1))
		rdmafs_share_drop_later(last);
	return next;
}

/**
 * rdmafs_submounts_remount - have file systems below a mount take over flags that it gets
 * @mnt:     the mount, which is being remounted
 * @changed: SB_RDONLY, SB_SYNCHRONOUS...: those that change
 * @flags:   their new values
 * @look:    only see whether all of them can
 *
 * An operation that is under way may end a moment after one has become read-only: only the VFS
 * knows of all that write.
 *
 * Context: process; s_umount of the mount is held; takes that of each below.
 * Return: 0; -EBUSY: a file is open for writing (@look); or -EINTR.
 */
int rdmafs_submounts_remount(struct rdmafs_mount *mnt, unsigned long changed, unsigned long flags,
			     bool look)
{
	struct rdmafs_super *super = NULL;
	int err = 0;

	changed &= RDMAFS_SUBMOUNT_FLAGS;
	if (!changed)
		return 0;
	/* To the last one, whose reference goes then. */
	while ((super = rdmafs_submount_next(mnt, super)))
		err = err ?: rdmafs_submount_set(super, changed, flags, look);
	return err;
}

/**
 * rdmafs_supers_init - begin with the superblock of a mount alone
 * @mnt: the mount, zeroed
 *
 * Context: any.
 */
void rdmafs_supers_init(struct rdmafs_mount *mnt)
{
	INIT_LIST_HEAD(&mnt->supers);
	spin_lock_init(&mnt->supers_lock);
	mutex_init(&mnt->supers_mutex);
	INIT_LIST_HEAD(&mnt->submounts);
	INIT_DELAYED_WORK(&mnt->expire, rdmafs_submounts_expire);
	rdmafs_rules_init(mnt);
	rdmafs_super_init(&mnt->super, mnt);
	list_add(&mnt->super.link, &mnt->supers);
}

/**
 * rdmafs_supers_exit - end what rdmafs_d_automount() has begun
 * @mnt: the mount, which has no superblock any more, but still its session
 *
 * Context: process, may sleep.
 */
void rdmafs_supers_exit(struct rdmafs_mount *mnt)
{
	disable_delayed_work_sync(&mnt->expire);
	rdmafs_rules_exit(mnt);
	mutex_destroy(&mnt->supers_mutex);
}
