// SPDX-License-Identifier: GPL-2.0
/*
 * File systems that are mounted below an export with crossmnt, and subvolumes of btrfs in it.
 *
 * Each of them that clients have come to is an export of its own (struct rdmafsd_export), with the
 * settings of the export above it, but with an id, keys, orphans, opens and locks of its own.  So
 * what is true of exports holds for it: no handle or open of one leads to an object of another,
 * and ".." of its root is the root.  It has no name and no directory in configfs.  Clients come to
 * it by CROSS, from the directory that it covers, or that is a subvolume's root: attributes of that
 * have RFP_ATTR_CROSSING.  LOOKUP and READDIR never cross.
 *
 * Nothing has to be remembered over a restart: a handle in such an export holds the whole handle of
 * that directory in the export above (handle.c).  If the export is not there the request makes it
 * anew.  Its id is made of that handle, of the identity of the file system and of the directory in
 * it that is mounted; and so are its keys.  So a handle is ESTALE if another file system is mounted
 * there meanwhile, another directory of the same one, or none.  But after the server's start the
 * disk may be late: then such a handle waits (OFFLINE) for a while if none is mounted, or if that
 * fails which would mount it (autofs).
 *
 * While it is live it keeps the mount, so that umount(8) on this machine says EBUSY, as it does
 * where knfsd has crossed.  When nothing is open or locked there, no client may come back for
 * anything, and no handle was used for crossed_s seconds, it ends; the next handle makes it again.
 * It ends at once if the administrator asks for that, with the export above it, and when it is seen
 * at a request that it is not mounted there any more (umount -l).
 *
 * Of those below one export there are RDMAFSD_CROSSED_MAX at most.  One that is not used makes room
 * for the next; if RDMAFSD_CROSSED_CLIENT were made for one client it is one of these, unless all
 * of these are used: then it is another's, which comes back to that when it needs it.  In so many
 * may a client have files open, too, which keeps them (staying.c).
 *
 * That one has made room does not keep the room for its next, which is made when the client asks
 * again.  Where clients come to more than there may be, another may have been faster; then one
 * more has to go.
 *
 * Ownership.  An export that was crossed into has references to the memory of the one above
 * (@parent) and to the directory that it covers (@over), until it has ended, and is in the list
 * @crossed of the one above from its start to its end.  The export above waits for it when it ends.
 * A request that makes one has the export above in flight.
 */
#include <linux/exportfs.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/magic.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/namei.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <uapi/linux/btrfs_tree.h>
#include "transport/points.h"
#include "request.h"

static unsigned int rdmafsd_crossed_s = 60;
module_param_named(crossed_s, rdmafsd_crossed_s, uint, 0644);
MODULE_PARM_DESC(crossed_s, "seconds after which a file system below an export is let go if unused");

/* Guards @crossed and @sibling of all exports, and the list; in it only locks of percpu_ref. */
static DEFINE_SPINLOCK(rdmafsd_crossed_lock);
static LIST_HEAD(rdmafsd_crossed_makings);	/* &struct rdmafsd_crossing */

/**
 * struct rdmafsd_crossing - an export that is being made, on the stack of the task that makes it
 * @link:   in the list of all
 * @parent: the export above, in flight
 * @dentry: the directory that is crossed at, a reference
 */
struct rdmafsd_crossing {
	struct list_head link;
	const struct rdmafsd_export *parent;
	const struct dentry *dentry;
};

/* Is it the root of a subvolume of btrfs?  stat(2) tells another device there. */
static bool rdmafsd_is_subvolume(struct dentry *dentry)
{
	return dentry->d_sb->s_magic == BTRFS_SUPER_MAGIC &&
	       d_inode(dentry)->i_ino == BTRFS_FIRST_FREE_OBJECTID;
}

/**
 * rdmafsd_is_crossing - tell whether another file system, or a subvolume, begins at an object
 * @exp:    the export
 * @dentry: the object, positive
 *
 * Context: process, does not sleep.
 * Return: true if so, and if clients may cross into it.
 */
bool rdmafsd_is_crossing(const struct rdmafsd_export *exp, struct dentry *dentry)
{
	const struct path path = { .mnt = exp->path.mnt, .dentry = dentry };

	if (!exp->p.crossmnt || !d_is_dir(dentry) || dentry == exp->path.dentry)
		return false;
	return rdmafsd_is_subvolume(dentry) || path_is_mountpoint(&path) ||
	       (READ_ONCE(dentry->d_flags) & DCACHE_NEED_AUTOMOUNT);
}

/* The export that an administrator has configured, above all that were crossed into. */
static struct rdmafsd_export *rdmafsd_crossed_top(struct rdmafsd_export *exp)
{
	while (exp->parent)
		exp = exp->parent;
	return exp;
}

/**
 * rdmafsd_crossed_missing - choose the error for handles of a file system that is not mounted
 * @exp: the export of the directory that it covered
 *
 * After the server's boot its disk may come late.  To be told that it is gone would cost clients
 * what they have to write there, and their locks, so they wait as long as they may come back.
 *
 * Context: any; does not sleep.
 * Return: RFP_OFFLINE while clients may have opens that the server does not know of, else -ESTALE.
 */
int rdmafsd_crossed_missing(struct rdmafsd_export *exp)
{
	return rdmafsd_export_unknown(rdmafsd_crossed_top(exp)) ? RFP_OFFLINE : -ESTALE;
}

/*
 * Is its file system still where it was crossed into, and that below the root of the export above?
 * The directory, or one above it, may have been moved out.  A subvolume is in the directory itself,
 * and gone when that has been removed.
 */
static bool rdmafsd_crossed_there(const struct rdmafsd_export *exp)
{
	struct path path = exp->over;
	bool there;

	path_get(&path);
	there = !follow_down(&path, 0) && path_equal(&path, &exp->path) &&
		rdmafsd_dir_inside(exp->parent, exp->over.dentry);
	if (path_equal(&exp->over, &exp->path) && d_unhashed(exp->path.dentry))
		there = false;
	path_put(&path);
	return there;
}

/* Begin its end, once.  Either the caller keeps its memory, or rdmafsd_crossed_lock is held. */
static void rdmafsd_crossed_end(struct rdmafsd_export *exp)
{
	if (atomic_xchg(&exp->ending, 1))
		return;
	/* As in rdmafsd_export_end(). */
	__module_get(THIS_MODULE);
	percpu_ref_kill(&exp->inflight);
}

/**
 * rdmafsd_crossed_check - see to it that an export is still what is mounted there, for a request
 * @exp: the export, in flight
 *
 * So must be all exports above it: what is mounted in a file system moves with it.  None of them
 * has ended, as each waits for those below it.
 *
 * Context: process, may sleep.
 * Return: 0, also if it is one that an administrator has configured; RFP_OFFLINE: it is not, and
 * ends.
 */
int rdmafsd_crossed_check(struct rdmafsd_export *exp)
{
	struct rdmafsd_export *at;

	if (!exp->parent)
		return 0;
	if (time_after(jiffies, READ_ONCE(exp->used)))
		WRITE_ONCE(exp->used, jiffies);
	for (at = exp; at->parent; at = at->parent)
		if (!rdmafsd_crossed_there(at))
			break;
	if (!at->parent)
		return 0;
	/* It ends what is below it, too, but only when no request is at work in it. */
	rdmafsd_crossed_end(at);
	rdmafsd_crossed_end(exp);
	return RFP_OFFLINE;
}

/*
 * Is nothing open there, so that nothing is locked either, and may no client come back for
 * anything?  No lock is held, so this may change.
 */
static bool rdmafsd_crossed_unused(const struct rdmafsd_export *exp)
{
	return !atomic_read(&exp->nr_states) && !atomic_read(&exp->opened.nelems) &&
	       list_empty_careful(&exp->crossed);
}

static unsigned long rdmafsd_crossed_time(void)
{
	return min_t(u64, (u64)READ_ONCE(rdmafsd_crossed_s) * HZ, MAX_JIFFY_OFFSET);
}

/**
 * rdmafsd_crossed_idle_work - end an export that was crossed into when it is not used
 * @work: its @idle
 *
 * A request that comes just now is served to its end; what it opens is closed as when an export is
 * disabled, and its client opens it again.
 *
 * Context: process, may sleep.
 */
void rdmafsd_crossed_idle_work(struct work_struct *work)
{
	struct delayed_work *idle = to_delayed_work(work);
	struct rdmafsd_export *exp = container_of(idle, struct rdmafsd_export, idle);
	unsigned long time = rdmafsd_crossed_time();

	if (time_after_eq(jiffies, READ_ONCE(exp->used) + time) && rdmafsd_crossed_unused(exp))
		rdmafsd_crossed_end(exp);
	else
		queue_delayed_work(rdmafsd_reap_wq, idle, max(time / 2, HZ / 4UL));
}

/**
 * struct rdmafsd_crossed_search - a search for an export that may go, on the stack
 * @maker:  the client that wants another one; NULL: none does
 * @parent: where it wants it; this one stays
 * @unused: out: the unused one that was used least recently, or NULL
 * @own:    out: likewise of those that were made for @maker
 * @nr_own: out: how many were made for it
 */
struct rdmafsd_crossed_search {
	const struct rdmafs_xprt_source *maker;
	const struct rdmafsd_export *parent;
	struct rdmafsd_export *unused;
	struct rdmafsd_export *own;
	unsigned int nr_own;
};

static void rdmafsd_crossed_look(struct rdmafsd_crossed_search *s, struct rdmafsd_export *exp)
{
	bool own = s->maker && !memcmp(&exp->maker, s->maker, sizeof(*s->maker));

	lockdep_assert_held(&rdmafsd_crossed_lock);
	if (atomic_read(&exp->ending))
		return;
	s->nr_own += own;
	if (exp == s->parent || !rdmafsd_crossed_unused(exp))
		return;
	if (!s->unused || time_before(READ_ONCE(exp->used), READ_ONCE(s->unused->used)))
		s->unused = exp;
	if (own && (!s->own || time_before(READ_ONCE(exp->used), READ_ONCE(s->own->used))))
		s->own = exp;
}

/*
 * The unused one below @top that was used least recently, with a reference; or NULL.  A client for
 * which very many were made takes none from others, unless it uses all of its own: it is to see
 * what is there also where it has files open in as many as it may.
 */
static struct rdmafsd_export *rdmafsd_crossed_find_unused(struct rdmafsd_export *top,
							  struct rdmafsd_crossed_search *s)
{
	struct rdmafsd_export *exp = top, *found;

	/* Depth first, without a stack: down to the first one below, else aside, else up. */
	spin_lock(&rdmafsd_crossed_lock);
	for (;;) {
		if (!list_empty(&exp->crossed)) {
			exp = list_first_entry(&exp->crossed, struct rdmafsd_export, sibling);
		} else {
			while (exp != top && list_is_last(&exp->sibling, &exp->parent->crossed))
				exp = exp->parent;
			if (exp == top)
				break;
			exp = list_next_entry(exp, sibling);
		}
		rdmafsd_crossed_look(s, exp);
	}
	found = s->own && s->nr_own >= RDMAFSD_CROSSED_CLIENT ? s->own : s->unused;
	if (found)
		refcount_inc(&found->refs);
	spin_unlock(&rdmafsd_crossed_lock);
	return found;
}

/**
 * rdmafsd_crossed_drop - let go of all file systems below an export that are not used now
 * @top: the export, as configured, live, kept by the caller
 *
 * Waits for the end of each, a second at most.  Clients may come back to each at once, so it lets
 * go of no more than there were.
 *
 * Context: process, may sleep.
 */
void rdmafsd_crossed_drop(struct rdmafsd_export *top)
{
	int nr = atomic_read(&top->nr_crossed);
	struct rdmafsd_export *exp;
	unsigned long left = 1;

	while (left && nr-- > 0) {
		struct rdmafsd_crossed_search search = {};

		exp = rdmafsd_crossed_find_unused(top, &search);
		if (!exp)
			return;
		rdmafsd_crossed_end(exp);
		left = wait_for_completion_timeout(&exp->ended, HZ);
		rdmafsd_export_put_memory(exp);
		rdmafs_test_point("crossed_dropped", 0);
	}
}

/* Count one more below @parent; if there are too many, one that is unused has to go first. */
static int rdmafsd_crossed_charge(struct rdmafsd_export *parent,
				  const struct rdmafs_xprt_source *maker)
{
	struct rdmafsd_crossed_search search = { .maker = maker, .parent = parent };
	struct rdmafsd_export *top = rdmafsd_crossed_top(parent), *exp;

	if (atomic_inc_return(&top->nr_crossed) <= RDMAFSD_CROSSED_MAX)
		return 0;
	atomic_dec(&top->nr_crossed);
	exp = rdmafsd_crossed_find_unused(top, &search);
	if (!exp)
		return -ENFILE;
	rdmafsd_crossed_end(exp);
	rdmafsd_export_put_memory(exp);
	return RFP_OFFLINE;
}

/**
 * rdmafsd_crossed_end_below - end all exports that were crossed into from one that ends
 * @exp: the export, with no request in flight
 *
 * Context: process, may sleep; waits for their file systems.
 */
void rdmafsd_crossed_end_below(struct rdmafsd_export *exp)
{
	struct rdmafsd_export *below;

	spin_lock(&rdmafsd_crossed_lock);
	list_for_each_entry(below, &exp->crossed, sibling)
		rdmafsd_crossed_end(below);
	spin_unlock(&rdmafsd_crossed_lock);
	for (;;) {
		spin_lock(&rdmafsd_crossed_lock);
		below = list_first_entry_or_null(&exp->crossed, struct rdmafsd_export, sibling);
		if (below)
			refcount_inc(&below->refs);
		spin_unlock(&rdmafsd_crossed_lock);
		if (!below)
			return;
		wait_for_completion(&below->ended);
		rdmafsd_export_put_memory(below);
	}
}

/**
 * rdmafsd_crossed_ended - take an export that has ended away from the one above it
 * @exp: the export; its path is put
 *
 * Context: process, may sleep.
 */
void rdmafsd_crossed_ended(struct rdmafsd_export *exp)
{
	if (!exp->parent)
		return;
	/* All of this comes before the one above goes on to end: its mount is to be free then. */
	path_put(&exp->over);
	atomic_dec(&rdmafsd_crossed_top(exp)->nr_crossed);
	spin_lock(&rdmafsd_crossed_lock);
	list_del_init(&exp->sibling);
	spin_unlock(&rdmafsd_crossed_lock);
	rdmafs_test_point("crossed_ended", 0);
}

/*
 * Find the live export at @dentry.  0: @found is the export, in flight; 1: there is none, and the
 * caller is to make it; RFP_OFFLINE: the client is to come again.  An export that ends, for ever
 * perhaps as its disk is dead, does not count if another file system is there now, of @resource.
 */
static int rdmafsd_crossed_find(struct rdmafsd_export *parent, const struct dentry *dentry,
				u64 resource, struct rdmafsd_crossing *making,
				struct rdmafsd_export **found)
{
	struct rdmafsd_crossing *other;
	struct rdmafsd_export *exp;
	int ret = 1;

	spin_lock(&rdmafsd_crossed_lock);
	list_for_each_entry(other, &rdmafsd_crossed_makings, link)
		if (other->parent == parent && other->dentry == dentry)
			ret = RFP_OFFLINE;
	list_for_each_entry(exp, &parent->crossed, sibling) {
		if (exp->over.dentry != dentry)
			continue;
		if (percpu_ref_tryget_live(&exp->inflight)) {
			ret = 0;
			*found = exp;
			break;
		}
		if (exp->resource == resource)
			ret = RFP_OFFLINE;
	}
	if (ret == 1)
		list_add(&making->link, &rdmafsd_crossed_makings);
	spin_unlock(&rdmafsd_crossed_lock);
	return ret;
}

/* The settings of the export that is to be, but for its path. */
static int rdmafsd_crossed_describe(struct rdmafsd_export *parent, struct dentry *dentry,
				    const struct path *path, struct rdmafsd_export **expp)
{
	struct rdmafsd_export *top = rdmafsd_crossed_top(parent), *exp;
	struct rdmafsd_export_params p = parent->p;
	struct rfp_fh via;
	int err;

	err = rdmafsd_fh_encode(parent, dentry, &via);
	if (err)
		return err;
	p.top = top->p.id;
	p.id = rdmafsd_crossed_id(parent, &via, path);
	/*
	 * A client that had something open there before the server's restart comes back as soon as
	 * it does to the export above.  If this export has ended since, what was open was noted, as
	 * far as it was known.
	 */
	p.unknown = rdmafsd_export_unknown(top) || rdmafsd_known_has_note_lost(p.top);
	exp = rdmafsd_export_new(&p);
	if (!exp)
		return -ENOMEM;
	exp->via = via;
	refcount_inc(&parent->refs);
	exp->parent = parent;
	*expp = exp;
	return 0;
}

/* Make an export of what is mounted on @dentry; it is not live, and has @path. */
static int rdmafsd_crossed_new(struct rdmafsd_export *parent, struct dentry *dentry,
			       struct rdmafsd_export **expp)
{
	struct path path = { .mnt = mntget(parent->path.mnt), .dentry = dget(dentry) };
	const struct export_operations *eops;
	int err;

	err = follow_down(&path, LOOKUP_AUTOMOUNT);
	if (!err && path.mnt == parent->path.mnt && path.dentry == dentry &&
	    !rdmafsd_is_subvolume(dentry))
		err = -ESTALE;
	if (!err) {
		eops = path.dentry->d_sb->s_export_op;
		if (!d_can_lookup(path.dentry) || !exportfs_can_decode_fh(eops) || !eops->encode_fh)
			err = -EOPNOTSUPP;
	}
	if (!err)
		err = rdmafsd_crossed_describe(parent, dentry, &path, expp);
	if (err) {
		path_put(&path);
		return err;
	}
	(*expp)->path = path;
	(*expp)->over.mnt = mntget(parent->path.mnt);
	(*expp)->over.dentry = dget(dentry);
	return 0;
}

/* Make an export live.  It is in flight then, so that it does not end before its maker puts it. */
static int rdmafsd_crossed_start(struct rdmafsd_export *exp)
{
	int err;

	exp->used = jiffies;
	err = rdmafsd_export_begin(exp);
	/* Its last life has not ended: a copy of its disk is there now. */
	if (err)
		return err == -EBUSY ? RFP_OFFLINE : err;
	spin_lock(&rdmafsd_crossed_lock);
	list_add_tail(&exp->sibling, &exp->parent->crossed);
	spin_unlock(&rdmafsd_crossed_lock);
	queue_delayed_work(rdmafsd_reap_wq, &exp->idle, rdmafsd_crossed_time());
	return 0;
}

static int rdmafsd_crossed_make(struct rdmafsd_export *parent, struct dentry *dentry,
				const struct rdmafs_xprt_source *maker,
				struct rdmafsd_export **found)
{
	struct rdmafsd_export *exp;
	int err;

	err = rdmafsd_crossed_new(parent, dentry, &exp);
	if (err)
		return err;
	/* It is of no use if clients get no handles there: then none has to make room for it. */
	err = rdmafsd_fh_fits(exp);
	if (err)
		goto free;
	err = rdmafs_test_fails("crossed_full", d_inode(dentry)->i_ino) ? -ENFILE :
	      rdmafsd_crossed_charge(parent, maker);
	if (err)
		goto free;
	exp->maker = *maker;
	err = rdmafsd_crossed_start(exp);
	if (!err) {
		*found = exp;
		return 0;
	}
	atomic_dec(&rdmafsd_crossed_top(parent)->nr_crossed);
free:
	path_put(&exp->over);
	path_put(&exp->path);
	rdmafsd_export_put_memory(exp);
	return err;
}

/* The file system that is mounted on a directory now, or the directory's own, as a number. */
static u64 rdmafsd_crossed_resource(struct rdmafsd_export *parent, struct dentry *dentry)
{
	struct path path = { .mnt = mntget(parent->path.mnt), .dentry = dget(dentry) };
	u64 resource;

	/* If it fails so does the making, and the path is still one to be put. */
	follow_down(&path, 0);
	resource = path.dentry->d_sb->s_dev;
	path_put(&path);
	return resource;
}

/**
 * rdmafsd_crossed_get - get the export of what is mounted on a directory, or of a subvolume
 * @parent: the export of the directory, in flight, with crossmnt
 * @dentry: the directory
 * @maker:  the client that comes there
 * @found:  gets the export, in flight, to be put by rdmafsd_export_put()
 *
 * Makes it live if it is not.
 *
 * Context: process, may sleep; the server's own credentials.  Waits for the file system.
 * Return: 0; RFP_OFFLINE: it ends, or another task makes it: the client is to come again; -ESTALE:
 * there is nothing to cross into; -EOPNOTSUPP: it can't be exported; -EOVERFLOW: its handles would
 * be too long; -ENFILE: there are too many; or another negative errno.
 */
int rdmafsd_crossed_get(struct rdmafsd_export *parent, struct dentry *dentry,
			const struct rdmafs_xprt_source *maker, struct rdmafsd_export **found)
{
	struct rdmafsd_crossing making = { .parent = parent, .dentry = dentry };
	struct rdmafsd_export *exp;
	u64 resource = rdmafsd_crossed_resource(parent, dentry);
	int err;

	err = rdmafsd_crossed_find(parent, dentry, resource, &making, &exp);
	if (!err) {
		err = rdmafsd_crossed_check(exp);
		if (err)
			rdmafsd_export_put(exp);
		else
			*found = exp;
		return err;
	}
	if (err != 1)
		return err;
	err = rdmafsd_crossed_make(parent, dentry, maker, found);
	spin_lock(&rdmafsd_crossed_lock);
	list_del(&making.link);
	spin_unlock(&rdmafsd_crossed_lock);
	return err;
}
