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
 * It is told of capabilities over the initial user namespace alone, since it can't know what those
 * over another one reach.
 *
 * Ids of users and groups on the wire are those of the initial user namespace.  Of a caller that
 * comes by an id-mapped mount (idmap.c) they are those that the caller has in the file system.  The
 * owner of what the caller makes is thus the same as on a local file system, and is named with the
 * request.  A user or group without an id there is told as having none; such supplementary groups
 * are left out.  Whether the caller is root there says nothing about its capabilities
 * (RFP_REQ_MAPPED).
 *
 * Nor does it for a caller by a mount without a map that is user 0, but in another user namespace,
 * or has none of root's capabilities for files: to the server it is a user like others, too.  A
 * caller that has some of them is root there, since the server knows no other kinds of root.  The
 * client's own checks are by the capabilities that the caller has.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/jhash.h>
#include <linux/mnt_idmapping.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include "client.h"
#include "op.h"

/**
 * struct rdmafs_who - whom the current task is for the server
 * @idmap:   the map of the mount by which it has come, a reference
 * @from:    its own supplementary groups
 * @ngroups: how many of them have ids in the file system
 * @by_map:  whether @idmap maps anything
 * @uid:     as in &struct rdmafs_cred, and so the next four
 * @gid:     see there
 * @capable: see there
 * @mapped:  see there
 */
struct rdmafs_who {
	struct mnt_idmap *idmap;
	struct group_info *from;
	int ngroups;
	bool by_map;
	kuid_t uid;
	kgid_t gid;
	bool capable;
	bool mapped;
};

/* The next group after the first *@i that has an id in the file system; false: there is none. */
static bool rdmafs_who_group(const struct rdmafs_who *who, int *i, kgid_t *gid)
{
	while (*i < who->from->ngroups) {
		*gid = from_vfsgid(who->idmap, &init_user_ns,
				   VFSGIDT_INIT(who->from->gid[(*i)++]));
		if (gid_valid(*gid))
			return true;
	}
	return false;
}

/*
 * Does the caller lack nothing that root has, but maybe the user id?  Capabilities over another
 * user namespace say nothing about the server's files.
 */
static bool rdmafs_cred_capable(const struct cred *cred)
{
	return cred->user_ns == &init_user_ns && cap_issubset(CAP_FS_SET, cred->cap_effective);
}

/**
 * rdmafs_cred_reaches - tell whether the server is told that the current task is capable
 * @idmap: of the mount by which it comes
 *
 * Such a caller by an id-mapped mount has no capability over what the mount does not map, which the
 * server does not know: the client has to refuse it that.
 *
 * Context: process, RCU walk included.
 * Return: true for such a caller; always false if @idmap maps nothing.
 */
bool rdmafs_cred_reaches(const struct mnt_idmap *idmap)
{
	return idmap != &nop_mnt_idmap && rdmafs_cred_capable(current_cred());
}

/**
 * rdmafs_cred_rooted - tell whether the server takes the current task for root
 *
 * For a task that comes by a mount without a map.
 *
 * Context: process, RCU walk included.
 * Return: true if it is user 0 of the initial user namespace and has any of root's capabilities for
 * files there.
 */
bool rdmafs_cred_rooted(void)
{
	const struct cred *cred = current_cred();

	return uid_eq(cred->fsuid, GLOBAL_ROOT_UID) && cred->user_ns == &init_user_ns &&
	       !cap_isclear(cap_intersect(cred->cap_effective, CAP_FS_SET));
}

/* To be followed by mnt_idmap_put(who->idmap). */
static void rdmafs_who_get(struct rdmafs_mount *mnt, struct rdmafs_who *who)
{
	const struct cred *cred = current_cred();
	kgid_t gid;
	int i = 0;

	who->idmap = rdmafs_idmap_get(mnt);
	who->from = cred->group_info;
	who->uid = mapped_fsuid(who->idmap, &init_user_ns);
	who->gid = mapped_fsgid(who->idmap, &init_user_ns);
	who->by_map = who->idmap != &nop_mnt_idmap;
	who->mapped = who->by_map ||
		      (uid_eq(who->uid, GLOBAL_ROOT_UID) && !rdmafs_cred_rooted());
	/* Without a map user 0 is root to the server anyway: the flag is not needed. */
	who->capable = (who->by_map || !uid_eq(who->uid, GLOBAL_ROOT_UID)) &&
		       rdmafs_cred_capable(cred);
	who->ngroups = who->by_map ? 0 : who->from->ngroups;
	while (who->by_map && rdmafs_who_group(who, &i, &gid))
		who->ngroups++;
}

/* The groups of a new entry: a reference, or NULL. */
static struct group_info *rdmafs_who_groups(const struct rdmafs_who *who)
{
	struct group_info *gi;
	unsigned int nofs;
	int i = 0, n = 0;
	kgid_t gid;

	if (!who->by_map)
		return get_group_info(who->from);
	nofs = memalloc_nofs_save();
	gi = groups_alloc(who->ngroups);
	memalloc_nofs_restore(nofs);
	while (gi && rdmafs_who_group(who, &i, &gid))
		gi->gid[n++] = gid;
	return gi;
}

static u32 rdmafs_cred_hash(kuid_t uid, kgid_t gid, int ngroups)
{
	return jhash_3words(__kuid_val(uid), __kgid_val(gid), ngroups, 0) % RDMAFS_CRED_HASH;
}

static bool rdmafs_cred_is(const struct rdmafs_cred *c, const struct rdmafs_who *who)
{
	int i = 0, n = 0;
	kgid_t gid;

	if (!uid_eq(c->uid, who->uid) || !gid_eq(c->gid, who->gid) ||
	    c->capable != who->capable || c->mapped != who->mapped ||
	    c->groups->ngroups != who->ngroups)
		return false;
	if (c->groups == who->from)
		return true;
	while (rdmafs_who_group(who, &i, &gid))
		if (!gid_eq(c->groups->gid[n++], gid))
			return false;
	return true;
}

static struct rdmafs_cred *rdmafs_cred_find_locked(struct rdmafs_mount *mnt,
						   const struct rdmafs_who *who)
{
	u32 hash = rdmafs_cred_hash(who->uid, who->gid, who->ngroups);
	struct rdmafs_cred *c;

	lockdep_assert_held(&mnt->cred_lock);
	hlist_for_each_entry(c, &mnt->creds[hash], hash) {
		if (!rdmafs_cred_is(c, who))
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

/* An entry that is not in the table yet. */
static struct rdmafs_cred *rdmafs_cred_new(struct rdmafs_mount *mnt, const struct rdmafs_who *who)
{
	struct rdmafs_cred *new = kzalloc(sizeof(*new), GFP_NOFS);

	if (!new)
		return NULL;
	new->groups = rdmafs_who_groups(who);
	if (!new->groups) {
		kfree(new);
		return NULL;
	}
	new->mnt = mnt;
	new->ref = 1;
	new->uid = who->uid;
	new->gid = who->gid;
	new->capable = who->capable;
	new->mapped = who->mapped;
	INIT_LIST_HEAD(&new->idle);
	mutex_init(&new->lock);
	return new;
}

/* Find an entry, or enter @new.  What is not in use any more, to be freed, is in *@old. */
static struct rdmafs_cred *rdmafs_cred_enter_locked(struct rdmafs_mount *mnt,
						    const struct rdmafs_who *who,
						    struct rdmafs_cred *new,
						    struct rdmafs_cred **old)
{
	struct rdmafs_cred *c = rdmafs_cred_find_locked(mnt, who);

	if (c) {
		*old = new;
		return c;
	}
	if (mnt->nr_idle >= RDMAFS_CRED_IDLE_MAX) {
		*old = list_first_entry(&mnt->cred_idle, struct rdmafs_cred, idle);
		list_del_init(&(*old)->idle);
		hlist_del(&(*old)->hash);
		mnt->nr_idle--;
		new->id = (*old)->id;
	} else {
		new->id = mnt->cred_next++;
	}
	new->serial = ++mnt->cred_serial;
	hlist_add_head(&new->hash,
		       &mnt->creds[rdmafs_cred_hash(who->uid, who->gid, who->ngroups)]);
	return new;
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
	struct rdmafs_cred *c, *new, *old = NULL;
	struct rdmafs_who who;
	unsigned long flags;

	rdmafs_who_get(mnt, &who);
	spin_lock_irqsave(&mnt->cred_lock, flags);
	c = rdmafs_cred_find_locked(mnt, &who);
	spin_unlock_irqrestore(&mnt->cred_lock, flags);
	if (c)
		goto out;

	new = rdmafs_cred_new(mnt, &who);
	if (!new) {
		c = ERR_PTR(-ENOMEM);
		goto out;
	}
	spin_lock_irqsave(&mnt->cred_lock, flags);
	c = rdmafs_cred_enter_locked(mnt, &who, new, &old);
	spin_unlock_irqrestore(&mnt->cred_lock, flags);
	if (old)
		rdmafs_cred_free(old);
out:
	mnt_idmap_put(who.idmap);
	return c;
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
	if (cred->mapped)
		req->req.flags |= cpu_to_le16(RFP_REQ_MAPPED);
	/* Of an id that is not valid this makes RFP_ID_NONE. */
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
