// SPDX-License-Identifier: GPL-2.0
/*
 * Give the credentials of each caller a 32-bit id, by which requests name them.
 *
 * The client tells the server the user, group and supplementary groups of a task
 * once (SETCRED) and names them by an id from then on.  An entry is found by its
 * contents, registered when it is first used in a session, and kept for a while
 * after its last use.
 *
 * If many entries are idle a new entry takes the id of the least recently used
 * one, which is freed.  An entry with a request under way is not idle, so that no
 * request can be executed with the wrong credentials.
 *
 * A caller that is not root may have root's capabilities for files, such as an overlayfs that
 * makes a file for its user.  The server is told of that: it knows no more of a caller than ids.
 *
 * Ids of users and groups on the wire are those of the initial user namespace.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/jhash.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include "client.h"

static u32 rdmafs_cred_hash(kuid_t uid, kgid_t gid, const struct group_info *gi)
{
	return jhash_3words(__kuid_val(uid), __kgid_val(gid), gi->ngroups, 0) %
	       RDMAFS_CRED_HASH;
}

/*
 * Does the caller lack nothing that root has, but the user id?  Capabilities over another user
 * namespace say nothing about the server's files.
 */
static bool rdmafs_cred_capable(const struct cred *cred)
{
	return !uid_eq(cred->fsuid, GLOBAL_ROOT_UID) && cred->user_ns == &init_user_ns &&
	       cap_issubset(CAP_FS_SET, cred->cap_effective);
}

static bool rdmafs_cred_is(const struct rdmafs_cred *c, const struct cred *cred)
{
	const struct group_info *gi = cred->group_info;
	int i;

	if (!uid_eq(c->uid, cred->fsuid) || !gid_eq(c->gid, cred->fsgid) ||
	    c->capable != rdmafs_cred_capable(cred) || c->groups->ngroups != gi->ngroups)
		return false;
	if (c->groups == gi)
		return true;
	for (i = 0; i < gi->ngroups; i++)
		if (!gid_eq(c->groups->gid[i], gi->gid[i]))
			return false;
	return true;
}

static struct rdmafs_cred *rdmafs_cred_find_locked(struct rdmafs_mount *mnt,
						   const struct cred *cred)
{
	u32 hash = rdmafs_cred_hash(cred->fsuid, cred->fsgid, cred->group_info);
	struct rdmafs_cred *c;

	lockdep_assert_held(&mnt->cred_lock);
	hlist_for_each_entry(c, &mnt->creds[hash], hash) {
		if (!rdmafs_cred_is(c, cred))
			continue;
		if (!c->ref++) {
			list_del_init(&c->idle);
			mnt->nr_idle--;
		}
		return c;
	}
	return NULL;
}

static void rdmafs_cred_free(struct rdmafs_cred *c)
{
	put_group_info(c->groups);
	kfree(c);
}

/**
 * rdmafs_cred_current - find or make the entry of the current task's credentials
 * @mnt: the mount
 *
 * Context: process, may sleep; takes cred_lock.
 * Return: the entry, referenced, or -ENOMEM.
 */
struct rdmafs_cred *rdmafs_cred_current(struct rdmafs_mount *mnt)
{
	const struct cred *cred = current_cred();
	struct group_info *gi = cred->group_info;
	struct rdmafs_cred *c, *new, *old = NULL;
	unsigned long flags;

	spin_lock_irqsave(&mnt->cred_lock, flags);
	c = rdmafs_cred_find_locked(mnt, cred);
	spin_unlock_irqrestore(&mnt->cred_lock, flags);
	if (c)
		return c;

	new = kzalloc(sizeof(*new), GFP_NOFS);
	if (!new)
		return ERR_PTR(-ENOMEM);
	new->mnt = mnt;
	new->ref = 1;
	new->uid = cred->fsuid;
	new->gid = cred->fsgid;
	new->capable = rdmafs_cred_capable(cred);
	new->groups = get_group_info(gi);
	INIT_LIST_HEAD(&new->idle);
	mutex_init(&new->lock);

	spin_lock_irqsave(&mnt->cred_lock, flags);
	c = rdmafs_cred_find_locked(mnt, cred);
	if (c) {
		old = new;
		new = c;
	} else {
		if (mnt->nr_idle >= RDMAFS_CRED_IDLE_MAX) {
			old = list_first_entry(&mnt->cred_idle, struct rdmafs_cred, idle);
			list_del_init(&old->idle);
			hlist_del(&old->hash);
			mnt->nr_idle--;
			new->id = old->id;
		} else {
			new->id = mnt->cred_next++;
		}
		new->serial = ++mnt->cred_serial;
		hlist_add_head(&new->hash, &mnt->creds[rdmafs_cred_hash(new->uid, new->gid, gi)]);
	}
	spin_unlock_irqrestore(&mnt->cred_lock, flags);
	if (old)
		rdmafs_cred_free(old);
	return new;
}

/**
 * rdmafs_cred_get - take another reference
 * @cred: an entry to which the caller has a reference
 *
 * Context: any; takes cred_lock.
 * Return: @cred.
 */
struct rdmafs_cred *rdmafs_cred_get(struct rdmafs_cred *cred)
{
	unsigned long flags;

	spin_lock_irqsave(&cred->mnt->cred_lock, flags);
	cred->ref++;
	spin_unlock_irqrestore(&cred->mnt->cred_lock, flags);
	return cred;
}

/**
 * rdmafs_cred_put - drop a reference
 * @cred: the entry
 *
 * Context: any; takes cred_lock.
 */
void rdmafs_cred_put(struct rdmafs_cred *cred)
{
	struct rdmafs_mount *mnt = cred->mnt;
	unsigned long flags;

	spin_lock_irqsave(&mnt->cred_lock, flags);
	if (!--cred->ref) {
		list_add_tail(&cred->idle, &mnt->cred_idle);
		mnt->nr_idle++;
	}
	spin_unlock_irqrestore(&mnt->cred_lock, flags);
}

static int rdmafs_cred_register(struct rdmafs_cred *cred, const struct rdmafs_op *user)
{
	struct group_info *gi = cred->groups;
	struct rfp_setcred_req *req;
	struct rdmafs_op *op;
	__le32 *gids;
	int i, err;

	/* The op's reference to @cred keeps the id from being given to another entry. */
	op = rdmafs_op_new_cred(&cred->mnt->super, RFP_SETCRED, sizeof(*req), cred,
				RDMAFS_POOL_CRED);
	op->forced = user->forced;
	op->call.deadline = user->call.deadline;
	op->call.flags |= user->call.flags & RDMAFS_CALL_UNTIL_SENT;
	op->leave = user->leave;
	req = (struct rfp_setcred_req *)op->req;
	if (cred->capable)
		req->req.flags |= cpu_to_le16(RFP_REQ_CAPABLE);
	req->id = cpu_to_le32(cred->id);
	req->uid = cpu_to_le32(from_kuid(&init_user_ns, cred->uid));
	req->gid = cpu_to_le32(from_kgid(&init_user_ns, cred->gid));
	req->ngroups = cpu_to_le32(gi->ngroups);
	if (gi->ngroups) {
		err = rdmafs_op_buf(op, RDMAFS_XPRT_WRITE, gi->ngroups * sizeof(*gids));
		if (err)
			goto out;
		gids = op->buf;
		for (i = 0; i < gi->ngroups; i++)
			gids[i] = cpu_to_le32(from_kgid(&init_user_ns, gi->gid[i]));
	}
	err = rdmafs_op_run(op);
out:
	rdmafs_op_put(op);
	return err;
}

/**
 * rdmafs_cred_ready - make sure that the server knows an entry
 * @cred: the entry
 * @user: the op that needs it, not sent: an umount -f since it was made ends the wait, and so do
 *	  its deadline, and the time at which its task leaves it
 *
 * Context: process, may sleep; takes cred->lock.
 * Return: 0, -EINTR, or the errno with which registering failed.
 */
int rdmafs_cred_ready(struct rdmafs_cred *cred, const struct rdmafs_op *user)
{
	int session = atomic_read(&cred->mnt->session);
	int was = atomic_read(&cred->mnt->forced);
	int err = 0;

	if (likely(READ_ONCE(cred->session) == session))
		return 0;
	if (mutex_lock_killable(&cred->lock))
		return -EINTR;
	session = atomic_read(&cred->mnt->session);
	if (cred->session != session) {
		/* umount -f ends waiters: it was called while this task waited for the lock. */
		err = was != atomic_read(&cred->mnt->forced) ? -EIO :
		      rdmafs_cred_register(cred, user);
		if (!err)
			WRITE_ONCE(cred->session, session);
	}
	mutex_unlock(&cred->lock);
	return err;
}

/**
 * rdmafs_cred_init - begin with no credentials
 * @mnt: the mount
 *
 * Context: any.
 */
void rdmafs_cred_init(struct rdmafs_mount *mnt)
{
	int i;

	spin_lock_init(&mnt->cred_lock);
	INIT_LIST_HEAD(&mnt->cred_idle);
	for (i = 0; i < RDMAFS_CRED_HASH; i++)
		INIT_HLIST_HEAD(&mnt->creds[i]);
	mnt->cred_next = 1;
}

/**
 * rdmafs_cred_destroy - free all credentials
 * @mnt: the mount; all its entries are idle, and the caller is its only user
 *
 * Context: process.
 */
void rdmafs_cred_destroy(struct rdmafs_mount *mnt)
{
	struct rdmafs_cred *c, *next;

	list_for_each_entry_safe(c, next, &mnt->cred_idle, idle) {
		hlist_del(&c->hash);
		rdmafs_cred_free(c);
	}
	INIT_LIST_HEAD(&mnt->cred_idle);
	mnt->nr_idle = 0;
}
