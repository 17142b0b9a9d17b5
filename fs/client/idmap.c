// SPDX-License-Identifier: GPL-2.0
/*
 * Id-mapped mounts: by which mount does a task come?
 *
 * An id-mapped mount gives the ids of the file system others here.  The server knows those of the
 * file system only, so that a request by such a mount has to name its caller by the ids that the
 * mount makes of his (cred.c).  The VFS tells the map of a mount with most calls, or the open file
 * does.  lookup, link, unlink, rmdir, d_revalidate and the reading of extended attributes do not
 * tell it.  But before each of these the VFS asks for the permission of the directory, or of the
 * object if the permission matters, in the same task, and this call tells it.  So what a task is
 * told is noted, and all requests of a task are made by its note.
 *
 * A call that tells a map changes the note first, and acts then: for what it makes there is no
 * doubt about the owner.  A note holds until the task's next call that tells a map.  It never goes
 * before its task does, so that a request by an id-mapped mount is not made with other ids.
 *
 * Notes are by struct pid, which a task keeps, but for execve(2) in a thread that does not lead its
 * process: this gets the leader's, and with it the leader's note, or none.  The program is open by
 * then, and read by its open.  What the task does next begins with a call that tells a map, as what
 * a new task does.
 *
 * A caller by an id-mapped mount may be user 0 in the file system and have no capability there.  Or
 * it has capabilities, but not over objects whose ids the mount, or the caller's user namespace,
 * does not map.  The server does not know these maps, nor could the client keep to them for it:
 * what the client knows of owners and of the export may be old.  So the server decides by the ids
 * alone (RFP_REQ_MAPPED), which it can compare with the object's at the moment of the request.  A
 * file system here would allow a container's root more: that is refused.
 *
 * The capabilities of the machine's root do count there (rdmafs_cred_reaches()).  The machine's
 * root can also use the mount without a map.  So a map restricts root only where root has chosen
 * it.  The client sees to it: the VFS by what is known of an object, and this module again, by what
 * the server says then, where root opens a file or changes attributes (access.c, setattr.c).
 *
 * A mount of which nothing is mapped costs no note: rdmafs_mount.mapped.
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/mnt_idmapping.h>
#include <linux/pid.h>
#include <linux/slab.h>
#include "client.h"

/**
 * struct rdmafs_via - the map of the mount by which a task has come last
 * @hash:  in its chain, whose lock guards this and @idmap
 * @task:  the task, a reference; constant, as @mount
 * @mount: rdmafs_mount.serial
 * @idmap: the map, a reference
 */
struct rdmafs_via {
	struct hlist_node hash;
	struct pid *task;
	u64 mount;
	struct mnt_idmap *idmap;
};

#define RDMAFS_VIA_BITS	9

static struct rdmafs_via_chain {
	spinlock_t lock;	/* guards @head and what is in it; a leaf */
	struct hlist_head head;
} rdmafs_via[1 << RDMAFS_VIA_BITS];

static struct rdmafs_via_chain *rdmafs_via_chain(void)
{
	return &rdmafs_via[hash_ptr(task_pid(current), RDMAFS_VIA_BITS)];
}

static struct rdmafs_via *rdmafs_via_find_locked(struct rdmafs_via_chain *chain,
						 const struct rdmafs_mount *mnt)
{
	struct rdmafs_via *via;

	lockdep_assert_held(&chain->lock);
	hlist_for_each_entry(via, &chain->head, hash)
		if (via->task == task_pid(current) && via->mount == mnt->serial)
			return via;
	return NULL;
}

static void rdmafs_via_free_locked(struct rdmafs_via_chain *chain, struct rdmafs_via *via)
{
	lockdep_assert_held(&chain->lock);
	hlist_del(&via->hash);
	mnt_idmap_put(via->idmap);
	put_pid(via->task);
	kfree(via);
}

/* Set the map of the current task's note; false: it has none. */
static bool rdmafs_via_set(struct rdmafs_mount *mnt, struct mnt_idmap *idmap)
{
	struct rdmafs_via_chain *chain = rdmafs_via_chain();
	struct rdmafs_via *via;

	spin_lock(&chain->lock);
	via = rdmafs_via_find_locked(chain, mnt);
	if (via && via->idmap != idmap) {
		mnt_idmap_put(via->idmap);
		via->idmap = mnt_idmap_get(idmap);
	}
	spin_unlock(&chain->lock);
	return via;
}

/* Notes of tasks that have ended go. */
static void rdmafs_via_prune_locked(struct rdmafs_via_chain *chain)
{
	struct hlist_node *next;
	struct rdmafs_via *via;

	lockdep_assert_held(&chain->lock);
	hlist_for_each_entry_safe(via, next, &chain->head, hash)
		if (!pid_has_task(via->task, PIDTYPE_PID))
			rdmafs_via_free_locked(chain, via);
}

/*
 * Look through another chain, each in its turn.  A note keeps the pid and user namespaces of its
 * task, and would do so for as long as no other task comes to its chain.
 */
static void rdmafs_via_prune_next(void)
{
	static atomic_t turn;
	u32 nr = atomic_inc_return(&turn);
	struct rdmafs_via_chain *chain = &rdmafs_via[nr % ARRAY_SIZE(rdmafs_via)];

	spin_lock(&chain->lock);
	rdmafs_via_prune_locked(chain);
	spin_unlock(&chain->lock);
}

/*
 * Make a note for the current task, which has none: no other task makes it.  Notes of ended tasks
 * go from its chain, and from one other, so that all chains have been looked through when there
 * have been as many new notes as there are chains.
 */
static int rdmafs_via_add(struct rdmafs_mount *mnt, struct mnt_idmap *idmap, gfp_t gfp)
{
	struct rdmafs_via *via = kmalloc(sizeof(*via), gfp | __GFP_NOWARN);
	struct rdmafs_via_chain *chain = rdmafs_via_chain();

	if (!via)
		return -ENOMEM;
	via->task = get_pid(task_pid(current));
	via->mount = mnt->serial;
	via->idmap = mnt_idmap_get(idmap);
	/* Before any of its requests: rdmafs_idmap_get() looks for notes from now on. */
	WRITE_ONCE(mnt->mapped, true);
	spin_lock(&chain->lock);
	rdmafs_via_prune_locked(chain);
	hlist_add_head(&via->hash, &chain->head);
	spin_unlock(&chain->lock);
	rdmafs_via_prune_next();
	return 0;
}

/**
 * rdmafs_idmap_tell - note by which mount the current task comes
 * @mnt:   the mount whose superblocks it comes to
 * @idmap: the map of the mount by which it comes
 * @rcu:   the caller may not sleep
 *
 * Context: process, may sleep; RCU walk with @rcu.
 * Return: 0; -ENOMEM; -ECHILD with @rcu, if the caller has to come again without it.
 */
int rdmafs_idmap_tell(struct rdmafs_mount *mnt, struct mnt_idmap *idmap, bool rcu)
{
	int err;

	if (idmap == &nop_mnt_idmap && likely(!READ_ONCE(mnt->mapped)))
		return 0;
	if (rdmafs_via_set(mnt, idmap) || idmap == &nop_mnt_idmap)
		return 0;
	err = rdmafs_via_add(mnt, idmap, rcu ? GFP_ATOMIC : GFP_NOFS);
	return err && rcu ? -ECHILD : err;
}

/**
 * rdmafs_idmap_get - get the map of the mount by which the current task has come last
 * @mnt: the mount
 *
 * Context: process, does not sleep; RCU walk included.
 * Return: the map, a reference, to be put by mnt_idmap_put(); nop_mnt_idmap if it maps nothing.
 */
struct mnt_idmap *rdmafs_idmap_get(struct rdmafs_mount *mnt)
{
	struct mnt_idmap *idmap = &nop_mnt_idmap;
	struct rdmafs_via_chain *chain;
	struct rdmafs_via *via;

	if (likely(!READ_ONCE(mnt->mapped)))
		return idmap;
	chain = rdmafs_via_chain();
	spin_lock(&chain->lock);
	via = rdmafs_via_find_locked(chain, mnt);
	if (via)
		idmap = mnt_idmap_get(via->idmap);
	spin_unlock(&chain->lock);
	return idmap;
}

/**
 * rdmafs_idmap_permission - check the current task's permission by the map of its note
 * @inode: what the task has come to by that mount
 * @mask:  MAY_*
 *
 * Context: process, may sleep; RCU with MAY_NOT_BLOCK.
 * Return: as inode_permission().
 */
int rdmafs_idmap_permission(struct inode *inode, int mask)
{
	struct mnt_idmap *idmap = rdmafs_idmap_get(RDMAFS_M(inode->i_sb));
	int err = inode_permission(idmap, inode, mask);

	mnt_idmap_put(idmap);
	return err;
}

/**
 * rdmafs_idmap_owns - tell whether the current task has the ids that a new object needs
 * @inode: a directory that it has come to by the mount of its note
 *
 * Context: process, does not sleep.
 * Return: false if its user or group has no id in the file system: the VFS has EOVERFLOW for that.
 */
bool rdmafs_idmap_owns(struct inode *inode)
{
	struct mnt_idmap *idmap = rdmafs_idmap_get(RDMAFS_M(inode->i_sb));
	bool owns = fsuidgid_has_mapping(inode->i_sb, idmap);

	mnt_idmap_put(idmap);
	return owns;
}

/**
 * rdmafs_idmap_lacks - tell whether the mount does not map an object's owner or group
 * @inode: the object, to which the current task comes by the mount of its note
 *
 * Context: process, does not sleep; RCU walk included.
 * Return: true if the VFS refuses to change the object, by the ids that are known of it.
 */
bool rdmafs_idmap_lacks(struct inode *inode)
{
	struct mnt_idmap *idmap = rdmafs_idmap_get(RDMAFS_M(inode->i_sb));
	bool lacks = idmap != &nop_mnt_idmap && HAS_UNMAPPED_ID(idmap, inode);

	mnt_idmap_put(idmap);
	return lacks;
}

/**
 * rdmafs_idmap_may_link - check again whether the mount maps the ids of what gets another name
 * @inode: the object, to which the current task comes by the mount of its note
 *
 * The VFS has checked it by attributes that may be old, and the server does not know the map.
 *
 * Context: process, may sleep.
 * Return: 0; -EPERM; or an errno with which the server could not be asked.
 */
int rdmafs_idmap_may_link(struct inode *inode)
{
	struct mnt_idmap *idmap = rdmafs_idmap_get(RDMAFS_M(inode->i_sb));
	bool by_map = idmap != &nop_mnt_idmap;
	int err;

	mnt_idmap_put(idmap);
	if (!by_map)
		return 0;
	err = rdmafs_revalidate(inode, true);
	return err ?: rdmafs_idmap_lacks(inode) ? -EPERM : 0;
}

/**
 * rdmafs_idmap_may_write - check again whether the mount maps an object's owner and group
 * @idmap: of the mount
 * @inode: the object, whose extended attributes or ACL are about to be changed
 *
 * The VFS has checked it by attributes that may be old.  The server refuses a caller whose ids have
 * no right; so only the machine's root needs this check.
 *
 * Context: process, may sleep.
 * Return: 0; -EPERM; or an errno with which the server could not be asked.
 */
int rdmafs_idmap_may_write(struct mnt_idmap *idmap, struct inode *inode)
{
	int err;

	if (!rdmafs_cred_reaches(idmap))
		return 0;
	err = rdmafs_revalidate(inode, true);
	if (err)
		return err;
	return HAS_UNMAPPED_ID(idmap, inode) ? -EPERM : 0;
}

/**
 * rdmafs_idmap_mount_init - begin without notes
 * @mnt: the mount, new
 *
 * Context: process.
 */
void rdmafs_idmap_mount_init(struct rdmafs_mount *mnt)
{
	static atomic64_t serials;

	mnt->serial = atomic64_inc_return(&serials);
}

static void rdmafs_vias_drop(u64 mount)
{
	struct rdmafs_via_chain *chain;
	struct hlist_node *next;
	struct rdmafs_via *via;

	for (chain = rdmafs_via; chain < rdmafs_via + ARRAY_SIZE(rdmafs_via); chain++) {
		spin_lock(&chain->lock);
		hlist_for_each_entry_safe(via, next, &chain->head, hash)
			if (!mount || via->mount == mount)
				rdmafs_via_free_locked(chain, via);
		spin_unlock(&chain->lock);
	}
}

/**
 * rdmafs_idmap_mount_exit - forget all notes about a mount
 * @mnt: the mount, without users
 *
 * An RCU walk may yet come and leave a note, which goes with its task: no other mount ever has the
 * serial.
 *
 * Context: process.
 */
void rdmafs_idmap_mount_exit(struct rdmafs_mount *mnt)
{
	if (mnt->mapped)
		rdmafs_vias_drop(mnt->serial);
}

/**
 * rdmafs_idmap_init - begin with no mounts
 *
 * Context: process.
 */
void rdmafs_idmap_init(void)
{
	struct rdmafs_via_chain *chain;

	for (chain = rdmafs_via; chain < rdmafs_via + ARRAY_SIZE(rdmafs_via); chain++) {
		spin_lock_init(&chain->lock);
		INIT_HLIST_HEAD(&chain->head);
	}
}

/**
 * rdmafs_idmap_exit - undo rdmafs_idmap_init()
 *
 * Context: process; there is no mount, and no RCU walk that came by one.
 */
void rdmafs_idmap_exit(void)
{
	rdmafs_vias_drop(0);
}
