// SPDX-License-Identifier: GPL-2.0
/*
 * The callers of a client, and their credentials.
 *
 * A client names each of its callers once, by SETCRED: user, group and supplementary groups
 * under an id of the client's choice.  The rights of that caller depend on the export: its
 * squashing turns root, or all callers, into the anonymous user.  So an identity keeps a few
 * struct cred, each made for one export when the caller first used it.
 *
 * A cred differs from the server's own in fsuid, fsgid and groups, as nfsd's do.  It has no
 * capability at all unless its user is root after squashing, or no user is squashed and the client
 * says that the caller is as capable as root (RFP_REQ_CAPABLE).  Such a client could as well name
 * root itself; but what this caller makes belongs to the caller.  Root has the capabilities that
 * concern files (CAP_NFSD_SET, and CAP_LINUX_IMMUTABLE for chattr(1)), not those over the machine.
 * If the export offers all extended attributes root also has the two capabilities that these ask
 * for.  Ids are those of the initial user namespace.
 *
 * Of a caller that comes by an id-mapped mount of its client (RFP_REQ_MAPPED) the user may be root
 * here and not there: a container's root, whose capabilities are over a user namespace of the
 * client.  This server knows neither that namespace nor the mount's map, and so could not tell how
 * far these capabilities reach: they count for nothing, and the caller is a user like others whose
 * number happens to be 0.  Only with RFP_REQ_CAPABLE he is the root of the client's machine.
 *
 * If the caller's user or group has no id in the file system then neither has the cred's: the VFS
 * takes it for no owner, and makes nothing for it (EOVERFLOW).  See rdmafsd_gid_none().
 *
 * A session's table is bounded by the number of identities and by the number of their groups.
 * Beyond that the identities that have been unused longest are evicted.  A request that uses an
 * evicted identity is answered BADCRED, and the client registers the identity again.
 *
 * @idents_lock serialises changes of a session's table; requests look identities up under RCU.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/mnt_idmapping.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "transport/points.h"
#include "server.h"

const struct cred *rdmafsd_own_cred;

u32 rdmafsd_idents_max = RDMAFSD_IDENTS_USUAL;
static atomic_t rdmafsd_idents;		/* in the tables of all sessions */
static atomic64_t rdmafsd_idents_evicted;

/**
 * rdmafsd_creds_init - make the server's own credentials
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rdmafsd_creds_init(void)
{
	rdmafsd_own_cred = prepare_kernel_cred(&init_task);
	return rdmafsd_own_cred ? 0 : -ENOMEM;
}

/**
 * rdmafsd_creds_exit - undo rdmafsd_creds_init()
 *
 * Context: process.
 */
void rdmafsd_creds_exit(void)
{
	put_cred(rdmafsd_own_cred);
}

static void rdmafsd_ident_put(struct rdmafsd_ident *ident)
{
	unsigned int i;

	if (!ident || !refcount_dec_and_test(&ident->refs))
		return;
	for (i = 0; i < RDMAFSD_IDENT_CREDS; i++)
		put_cred(ident->creds[i].cred);
	put_group_info(ident->who.groups);
	kfree_rcu(ident, rcu);
}

static struct rdmafsd_ident *rdmafsd_ident_get(struct rdmafsd_session *ses, u32 id)
{
	struct rdmafsd_ident *ident;

	rcu_read_lock();
	ident = xa_load(&ses->idents, id);
	if (ident && !refcount_inc_not_zero(&ident->refs))
		ident = NULL;
	rcu_read_unlock();
	return ident;
}

/*
 * Stop counting an identity that is out of the table.  The table's reference is the caller's to
 * put.
 */
static void rdmafsd_ident_gone(struct rdmafsd_session *ses, struct rdmafsd_ident *ident)
{
	lockdep_assert_held(&ses->idents_lock);
	atomic_dec(&rdmafsd_idents);
	ses->nr_idents--;
	ses->nr_groups -= ident->who.groups->ngroups;
	spin_lock(&ses->lru_lock);
	list_del_init(&ident->lru);
	spin_unlock(&ses->lru_lock);
}

/* Count an identity that is in the table, as the one used last. */
static void rdmafsd_ident_come(struct rdmafsd_session *ses, struct rdmafsd_ident *ident)
{
	lockdep_assert_held(&ses->idents_lock);
	atomic_inc(&rdmafsd_idents);
	ses->nr_idents++;
	ses->nr_groups += ident->who.groups->ngroups;
	spin_lock(&ses->lru_lock);
	list_add_tail(&ident->lru, &ses->idents_lru);
	spin_unlock(&ses->lru_lock);
}

/* Move an identity to the end of the LRU list: at most once in a jiffy, to keep the lock free. */
static void rdmafsd_ident_used(struct rdmafsd_session *ses, struct rdmafsd_ident *ident)
{
	unsigned long now = jiffies;

	if (READ_ONCE(ident->used) == now)
		return;
	WRITE_ONCE(ident->used, now);
	spin_lock(&ses->lru_lock);
	if (!list_empty(&ident->lru))
		list_move_tail(&ident->lru, &ses->idents_lru);
	spin_unlock(&ses->lru_lock);
}

/* Evict the identity that has been unused longest, but not @keep.  There are at least two. */
static void rdmafsd_ident_evict(struct rdmafsd_session *ses, const struct rdmafsd_ident *keep)
{
	struct rdmafsd_ident *ident;

	lockdep_assert_held(&ses->idents_lock);
	spin_lock(&ses->lru_lock);
	ident = list_first_entry(&ses->idents_lru, struct rdmafsd_ident, lru);
	if (ident == keep)
		ident = list_next_entry(ident, lru);
	spin_unlock(&ses->lru_lock);
	xa_erase(&ses->idents, ident->id);
	rdmafsd_ident_gone(ses, ident);
	rdmafsd_ident_put(ident);
	atomic64_inc(&rdmafsd_idents_evicted);
}

/**
 * rdmafsd_ident_set - define an identity of a client, or replace it
 * @ses: the client's session
 * @id:  the client's name for the identity
 * @who: whom the client calls so; the caller's reference to its groups goes, also on failure
 *
 * May evict other identities.
 *
 * Context: process, may sleep; takes @idents_lock.
 * Return: 0 or -ENOMEM.
 */
int rdmafsd_ident_set(struct rdmafsd_session *ses, u32 id, const struct rdmafsd_who *who)
{
	struct rdmafsd_ident *ident, *old;

	ident = kzalloc(sizeof(*ident), GFP_KERNEL_ACCOUNT);
	if (!ident)
		goto nomem;
	ident->id = id;
	ident->who = *who;
	ident->used = jiffies;
	/* Requests may find it in the table before it is in the LRU list. */
	INIT_LIST_HEAD(&ident->lru);
	spin_lock_init(&ident->lock);
	refcount_set(&ident->refs, 1);

	mutex_lock(&ses->idents_lock);
	old = xa_store(&ses->idents, id, ident, GFP_KERNEL_ACCOUNT);
	if (xa_is_err(old)) {
		mutex_unlock(&ses->idents_lock);
		rdmafsd_ident_put(ident);
		return xa_err(old);
	}
	rdmafs_test_point("ident_stored", id);
	if (old)
		rdmafsd_ident_gone(ses, old);
	rdmafsd_ident_come(ses, ident);
	while (ses->nr_idents > 1 && (ses->nr_idents > READ_ONCE(rdmafsd_idents_max) ||
				      ses->nr_groups > RDMAFSD_GROUPS_MAX))
		rdmafsd_ident_evict(ses, ident);
	mutex_unlock(&ses->idents_lock);
	rdmafsd_ident_put(old);
	return 0;

nomem:
	put_group_info(who->groups);
	return -ENOMEM;
}

/**
 * rdmafsd_idents_free - forget all identities of a session that ends
 * @ses: the session, with no request at work and none to come
 *
 * Context: process, may sleep.
 */
void rdmafsd_idents_free(struct rdmafsd_session *ses)
{
	struct rdmafsd_ident *ident;
	unsigned long id;

	atomic_sub(ses->nr_idents, &rdmafsd_idents);
	xa_for_each(&ses->idents, id, ident)
		rdmafsd_ident_put(ident);
	xa_destroy(&ses->idents);
}

/**
 * rdmafsd_idents_show - write the number of identities, and its limit, to /proc
 * @m: the file limits of a port; the figures are those of all ports together
 *
 * Context: process.
 */
void rdmafsd_idents_show(struct seq_file *m)
{
	seq_printf(m, "credentials %d\nmax_credentials %u\nevicted_credentials %lld\n",
		   atomic_read(&rdmafsd_idents), READ_ONCE(rdmafsd_idents_max),
		   atomic64_read(&rdmafsd_idents_evicted));
}

static struct group_info *rdmafsd_squash_groups(struct group_info *from, kgid_t anon)
{
	struct group_info *to;
	bool root = false;
	int i;

	for (i = 0; i < from->ngroups; i++)
		root |= gid_eq(from->gid[i], GLOBAL_ROOT_GID);
	if (!root)
		return get_group_info(from);

	to = groups_alloc(from->ngroups);
	if (!to)
		return NULL;
	for (i = 0; i < from->ngroups; i++)
		to->gid[i] = gid_eq(from->gid[i], GLOBAL_ROOT_GID) ? anon : from->gid[i];
	groups_sort(to);
	return to;
}

/* Those of a caller whose user in the export is @uid. */
static kernel_cap_t rdmafsd_cred_caps(const struct rdmafsd_export *exp, kuid_t uid, bool capable,
				      bool mapped)
{
	kernel_cap_t caps = CAP_NFSD_SET;

	/* Where all callers are one user that may be root: then all have what root has. */
	if (mapped && exp->p.squash != RDMAFSD_SQUASH_ALL)
		uid = INVALID_UID;
	if (!uid_eq(uid, GLOBAL_ROOT_UID) && !capable)
		return CAP_EMPTY_SET;
	cap_raise(caps, CAP_LINUX_IMMUTABLE);
	if (exp->p.all_xattrs) {
		cap_raise(caps, CAP_SYS_ADMIN);
		cap_raise(caps, CAP_SETFCAP);
	}
	return caps;
}

/* Probes for a group that an export's mount does not map, and the distance between them. */
#define RDMAFSD_GID_PROBES	64
#define RDMAFSD_GID_STEP	0x4000000U

/*
 * The group of a caller that has none in the file system.  Where the export is an id-mapped mount
 * the VFS has INVALID_GID for the group of what the mount does not map, and in_group_p() would find
 * a caller with this group in it.  So it is one that no object has there: one that the mount maps
 * to nothing, for which nothing is made either.  So it is where the file system was mounted in a
 * user namespace, and has no group that this does not have.  Where all groups are mapped, or seem
 * to be, it is INVALID_GID, and only a damaged file system has something of that group.
 */
static kgid_t rdmafsd_gid_none(const struct rdmafsd_export *exp)
{
	struct user_namespace *ns = exp->path.dentry->d_sb->s_user_ns;
	struct mnt_idmap *idmap = rdmafsd_idmap(exp);
	kgid_t gid;
	u32 i;

	if (idmap == &nop_mnt_idmap && ns == &init_user_ns)
		return INVALID_GID;
	for (i = 0; i < RDMAFSD_GID_PROBES; i++) {
		/* The last of all, 4294967295, is INVALID_GID. */
		gid = KGIDT_INIT((gid_t)-2 - i * RDMAFSD_GID_STEP);
		if (!kgid_has_mapping(ns, from_vfsgid(idmap, ns, VFSGIDT_INIT(gid))))
			return gid;
	}
	return INVALID_GID;
}

static const struct cred *rdmafsd_cred_make(struct rdmafsd_ident *ident,
					    struct rdmafsd_export *exp)
{
	const struct rdmafsd_who *who = &ident->who;
	struct group_info *groups;
	kuid_t uid = who->uid;
	kgid_t gid = who->gid;
	bool capable = false;
	struct cred *cred;

	switch (exp->p.squash) {
	case RDMAFSD_SQUASH_ALL:
		uid = exp->p.anonuid;
		gid = exp->p.anongid;
		groups = groups_alloc(0);
		break;
	case RDMAFSD_SQUASH_ROOT:
		if (uid_eq(uid, GLOBAL_ROOT_UID))
			uid = exp->p.anonuid;
		if (gid_eq(gid, GLOBAL_ROOT_GID))
			gid = exp->p.anongid;
		groups = rdmafsd_squash_groups(who->groups, exp->p.anongid);
		break;
	default:
		capable = who->capable;
		groups = get_group_info(who->groups);
		break;
	}
	if (!groups)
		return NULL;

	cred = prepare_kernel_cred(&init_task);
	if (cred) {
		cred->fsuid = uid;
		cred->fsgid = gid_valid(gid) ? gid : rdmafsd_gid_none(exp);
		set_groups(cred, groups);
		cred->cap_inheritable = CAP_EMPTY_SET;
		cred->cap_permitted = rdmafsd_cred_caps(exp, uid, capable, who->mapped);
		cred->cap_effective = cred->cap_permitted;
		cred->cap_ambient = CAP_EMPTY_SET;
	}
	put_group_info(groups);
	return cred;
}

static const struct cred *rdmafsd_cred_cached(struct rdmafsd_ident *ident, u64 serial)
{
	const struct cred *cred = NULL;
	unsigned int i;

	spin_lock(&ident->lock);
	for (i = 0; i < RDMAFSD_IDENT_CREDS; i++)
		if (ident->creds[i].serial == serial) {
			cred = get_cred(ident->creds[i].cred);
			break;
		}
	spin_unlock(&ident->lock);
	return cred;
}

static void rdmafsd_cred_keep(struct rdmafsd_ident *ident, u64 serial, const struct cred *cred)
{
	const struct cred *old;
	unsigned int i;

	spin_lock(&ident->lock);
	i = ident->next++ % RDMAFSD_IDENT_CREDS;
	old = ident->creds[i].cred;
	ident->creds[i].serial = serial;
	ident->creds[i].cred = get_cred(cred);
	spin_unlock(&ident->lock);
	put_cred(old);
}

/**
 * rdmafsd_cred_get - get the credentials that a caller has in an export
 * @ses: the client's session
 * @id:  the client's name for the caller
 * @exp: the export
 *
 * Context: process, may sleep.
 * Return: credentials, to be put by put_cred(); NULL: the session does not know the id; or
 * ERR_PTR(-ENOMEM).
 */
const struct cred *rdmafsd_cred_get(struct rdmafsd_session *ses, u32 id,
				    struct rdmafsd_export *exp)
{
	struct rdmafsd_ident *ident = rdmafsd_ident_get(ses, id);
	const struct cred *cred;

	if (!ident)
		return NULL;
	rdmafsd_ident_used(ses, ident);
	cred = rdmafsd_cred_cached(ident, exp->serial);
	if (!cred) {
		cred = rdmafsd_cred_make(ident, exp);
		if (cred)
			rdmafsd_cred_keep(ident, exp->serial, cred);
		else
			cred = ERR_PTR(-ENOMEM);
	}
	rdmafsd_ident_put(ident);
	return cred;
}
