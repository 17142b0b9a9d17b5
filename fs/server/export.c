// SPDX-License-Identifier: GPL-2.0
/*
 * Exports that are live.
 *
 * An export is a directory, by the path that the administrator's process sees, with an id and a
 * secret.  The exports are in one table by id, in which a request finds the export of a handle;
 * ATTACH, which is rare, searches the table for a name.  Starting and stopping are serialised by
 * rdmafsd_exports_lock and by the configfs item that asks for them.  Requests take no lock, only
 * a per-CPU reference (@inflight).
 *
 * When an export ends, no new request begins in it.  Requests with its handles and stateids are
 * answered OFFLINE while configfs has an export with that id: it is to be live again, and clients
 * keep what they have to write until then.  Otherwise they are answered ESTALE, which makes clients
 * give up what they have to write; but handles work again once an export with the same id and
 * secret is live.
 *
 * When the last request is done, a work closes the files that clients have open, drops the path
 * and takes the export out of the table.  The stateids are answered BADSTATE from then on.  If
 * the file system does not answer, that may never happen.  So rdmafsd_export_end() waits for a
 * second at most, as its caller holds configfs locks that all other administration needs.  The
 * administrator can read which exports have not ended.  An export with the same id or name can't
 * start before, as both would work in the same directory of orphans.
 */
#define pr_fmt(fmt) "rdmafsd: " fmt

#include <linux/exportfs.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>
#include "transport/points.h"
#include "server.h"
#include "opened.h"
#include "grace.h"

static DEFINE_MUTEX(rdmafsd_exports_lock);	/* to change the table, or to walk it and sleep */
static DEFINE_XARRAY(rdmafsd_exports);		/* &struct rdmafsd_export by id */
static DEFINE_SPINLOCK(rdmafsd_known_lock);	/* a leaf; guards rdmafsd_known and its entries */
static LIST_HEAD(rdmafsd_known);		/* &struct rdmafsd_known */
static atomic64_t rdmafsd_export_serial;
static struct workqueue_struct *rdmafsd_end_wq;	/* a work for each export that ends */

/**
 * rdmafsd_known_add - note an export that configfs has got
 * @known: the export's entry
 * @id:	   its id
 *
 * Context: process; takes rdmafsd_known_lock.
 */
void rdmafsd_known_add(struct rdmafsd_known *known, u32 id)
{
	spin_lock(&rdmafsd_known_lock);
	known->id = id;
	list_add_tail(&known->link, &rdmafsd_known);
	spin_unlock(&rdmafsd_known_lock);
}

/**
 * rdmafsd_known_change - give an export another id
 * @known: the export's entry
 * @id:	   its id from now on
 *
 * Context: process; takes rdmafsd_known_lock.
 */
void rdmafsd_known_change(struct rdmafsd_known *known, u32 id)
{
	spin_lock(&rdmafsd_known_lock);
	known->id = id;
	spin_unlock(&rdmafsd_known_lock);
}

/**
 * rdmafsd_known_remove - forget an export that configfs has no more
 * @known: the export's entry
 *
 * Context: process; takes rdmafsd_known_lock.
 */
void rdmafsd_known_remove(struct rdmafsd_known *known)
{
	spin_lock(&rdmafsd_known_lock);
	list_del(&known->link);
	spin_unlock(&rdmafsd_known_lock);
}

/**
 * rdmafsd_known_set_note_lost - remember that a note of an open in an export was lost
 * @id: the export's id
 *
 * If configfs has the export, its next life assumes that there may be opens it does not know of.
 *
 * Context: any but interrupt; takes rdmafsd_known_lock.
 */
void rdmafsd_known_set_note_lost(u32 id)
{
	struct rdmafsd_known *known;

	spin_lock(&rdmafsd_known_lock);
	list_for_each_entry(known, &rdmafsd_known, link)
		if (known->id == id)
			known->unknown = true;
	spin_unlock(&rdmafsd_known_lock);
}

/**
 * rdmafsd_known_has_note_lost - tell whether a note was lost since the export was last started
 * @id: the export's id
 *
 * Context: any but interrupt; takes rdmafsd_known_lock.
 * Return: true if so.
 */
bool rdmafsd_known_has_note_lost(u32 id)
{
	struct rdmafsd_known *known;
	bool unknown = false;

	spin_lock(&rdmafsd_known_lock);
	list_for_each_entry(known, &rdmafsd_known, link)
		unknown |= known->id == id && known->unknown;
	spin_unlock(&rdmafsd_known_lock);
	return unknown;
}

/**
 * rdmafsd_known_take_note_lost - tell whether a note was lost since the last call, and reset that
 * @known: the export's entry
 *
 * Context: process; takes rdmafsd_known_lock.
 * Return: true if so.
 */
bool rdmafsd_known_take_note_lost(struct rdmafsd_known *known)
{
	bool unknown;

	spin_lock(&rdmafsd_known_lock);
	unknown = known->unknown;
	known->unknown = false;
	spin_unlock(&rdmafsd_known_lock);
	return unknown;
}

/**
 * rdmafsd_export_missing - choose the error for requests to an export that is not live
 * @id: the export's id
 *
 * Context: any but interrupt; takes rdmafsd_known_lock.
 * Return: RFP_OFFLINE if configfs has the export, else -ESTALE.
 */
int rdmafsd_export_missing(u32 id)
{
	struct rdmafsd_known *known;
	int err = -ESTALE;

	spin_lock(&rdmafsd_known_lock);
	list_for_each_entry(known, &rdmafsd_known, link)
		if (known->id == id)
			err = RFP_OFFLINE;
	spin_unlock(&rdmafsd_known_lock);
	return err;
}

/**
 * rdmafsd_export_off - tell whether configfs has an export that is not live
 * @id: the export's id
 *
 * Context: any but interrupt; takes rdmafsd_known_lock.
 * Return: true if so.
 */
bool rdmafsd_export_off(u32 id)
{
	struct rdmafsd_export *exp;
	bool live;

	rcu_read_lock();
	exp = xa_load(&rdmafsd_exports, id);
	live = exp && !percpu_ref_is_dying(&exp->inflight);
	rcu_read_unlock();
	return !live && rdmafsd_export_missing(id) == RFP_OFFLINE;
}

static void rdmafsd_export_idle(struct percpu_ref *ref)
{
	queue_work(rdmafsd_end_wq, &container_of(ref, struct rdmafsd_export, inflight)->end);
}

/**
 * rdmafsd_export_put_memory - drop a reference to the memory of an export
 * @exp: the export
 *
 * Context: any.
 */
void rdmafsd_export_put_memory(struct rdmafsd_export *exp)
{
	struct rdmafsd_export *parent;

	/* Crossed into from one another: not many, as their handles have to fit into one. */
	for (; exp && refcount_dec_and_test(&exp->refs); exp = parent) {
		parent = exp->parent;
		rdmafsd_grace_put(exp);
		kfree_rcu(exp, rcu);
	}
}

/**
 * rdmafsd_export_get - keep an export in flight if it is live
 * @exp: the export, whose memory the caller keeps
 *
 * Context: any.
 * Return: true: to be put by rdmafsd_export_put(); false: it ends.
 */
bool rdmafsd_export_get(struct rdmafsd_export *exp)
{
	return percpu_ref_tryget_live(&exp->inflight);
}

/**
 * rdmafsd_export_put - end the use of an export by a request
 * @exp: the export in flight, or NULL
 *
 * Context: any.
 */
void rdmafsd_export_put(struct rdmafsd_export *exp)
{
	if (exp)
		percpu_ref_put(&exp->inflight);
}

/**
 * rdmafsd_export_find_id - find a live export and keep it in flight
 * @id: its id
 *
 * Context: any; does not sleep.
 * Return: the export, to be put by rdmafsd_export_put(), or NULL.
 */
struct rdmafsd_export *rdmafsd_export_find_id(u32 id)
{
	struct rdmafsd_export *exp;

	rcu_read_lock();
	exp = xa_load(&rdmafsd_exports, id);
	if (exp && !percpu_ref_tryget_live(&exp->inflight))
		exp = NULL;
	rcu_read_unlock();
	return exp;
}

/**
 * rdmafsd_export_ends - tell whether an export is ending
 * @id: the export's id
 *
 * Context: any; does not sleep.
 * Return: true: it was live, and has not ended yet.
 */
bool rdmafsd_export_ends(u32 id)
{
	struct rdmafsd_export *exp;
	bool ends;

	rcu_read_lock();
	exp = xa_load(&rdmafsd_exports, id);
	ends = exp && percpu_ref_is_dying(&exp->inflight);
	rcu_read_unlock();
	return ends;
}

/**
 * rdmafsd_export_resource - get the number of a live export's file system
 * @id: the export's id
 *
 * Context: any; does not sleep.
 * Return: the number; or 0: there is no such export, or it ends, so requests that name it are
 * refused.
 */
u64 rdmafsd_export_resource(u32 id)
{
	struct rdmafsd_export *exp;
	u64 resource;

	rcu_read_lock();
	exp = xa_load(&rdmafsd_exports, id);
	resource = exp && !percpu_ref_is_dying(&exp->inflight) ? exp->resource : 0;
	rcu_read_unlock();
	return resource;
}

/**
 * rdmafsd_export_unknown - tell whether clients may have opens that the server does not know of
 * @exp: the export, live
 *
 * After a crash of the server, or a reload of the module, only the clients know what they had open.
 * They may come back within the usual time from the export's start on.  If the secret was made
 * since the module was loaded, no client has a proof from before.  When an export is disabled,
 * files that are open or were left are noted (cut.c), unless a note was lost
 * (rdmafsd_known_set_note_lost()).
 *
 * Context: any; does not sleep.
 * Return: true if so.
 */
bool rdmafsd_export_unknown(struct rdmafsd_export *exp)
{
	if (!READ_ONCE(exp->unknown))
		return false;
	if (time_before64(get_jiffies_64(), exp->started + rdmafsd_reclaim_time()))
		return true;
	/* For good: a client that has not come by now is too late, even if reclaim_s is raised. */
	WRITE_ONCE(exp->unknown, false);
	return false;
}

static bool rdmafsd_name_is(const struct rdmafsd_export *exp, const char *name, size_t len)
{
	return !exp->p.top && strlen(exp->p.name) == len && !memcmp(exp->p.name, name, len);
}

/**
 * rdmafsd_export_find_name - find a live export by its name and keep it in flight
 * @name: the name, not terminated; slashes at its ends are ignored
 * @len:  its length in bytes
 *
 * Context: any; does not sleep.
 * Return: the export, to be put by rdmafsd_export_put(), or NULL.
 */
struct rdmafsd_export *rdmafsd_export_find_name(const char *name, size_t len)
{
	struct rdmafsd_export *exp;
	unsigned long id;

	while (len && *name == '/') {
		name++;
		len--;
	}
	while (len && name[len - 1] == '/')
		len--;

	rcu_read_lock();
	xa_for_each(&rdmafsd_exports, id, exp)
		if (rdmafsd_name_is(exp, name, len) &&
		    percpu_ref_tryget_live(&exp->inflight))
			break;
	rcu_read_unlock();
	return exp;
}

/* Does the file system have handles that can be decoded? */
static int rdmafsd_export_check(const struct path *path, const char *name)
{
	struct super_block *sb = path->dentry->d_sb;

	if (!exportfs_can_decode_fh(sb->s_export_op) || !sb->s_export_op->encode_fh) {
		pr_err("%s: a file system of type %s can't be exported: it has no file handles\n",
		       name, sb->s_type->name);
		return -EOPNOTSUPP;
	}
	return 0;
}

/* End an export in which no request is at work any more, nor will be. */
static void rdmafsd_export_ended(struct work_struct *work)
{
	struct rdmafsd_export *exp = container_of(work, struct rdmafsd_export, end);

	rdmafsd_crossed_end_below(exp);
	disable_delayed_work_sync(&exp->idle);
	/* Clients that had locks there gave them back: they are not to be waited for again. */
	if (exp->parent && !atomic_read(&exp->nr_states))
		rdmafsd_sessions_unused(exp);
	/* Before others can get, by another export, the locks that are given back now. */
	rdmafsd_grace_end(exp);
	/* No request can add a state any more, so this closes all. */
	rdmafsd_sessions_close_export(exp);
	percpu_ref_exit(&exp->inflight);
	rdmafsd_grace_exit(exp);
	rdmafsd_claims_exit(exp);
	path_put(&exp->path);

	/* Once the export is gone the module may be unloaded: its exit waits for this work. */
	module_put(THIS_MODULE);
	mutex_lock(&rdmafsd_exports_lock);
	xa_erase(&rdmafsd_exports, exp->p.id);
	mutex_unlock(&rdmafsd_exports_lock);
	/* From now on it may be crossed into anew. */
	rdmafsd_crossed_ended(exp);
	complete_all(&exp->ended);
	rdmafsd_export_put_memory(exp);
}

/**
 * rdmafsd_exports_ending - print the exports that have not ended yet
 * @page: out, PAGE_SIZE bytes: a line with the id of each; "more" if there is no room for all
 *
 * Context: process, may sleep; takes rdmafsd_exports_lock.
 * Return: number of bytes.
 */
ssize_t rdmafsd_exports_ending(char *page)
{
	struct rdmafsd_export *exp;
	unsigned long id;
	ssize_t len = 0;

	mutex_lock(&rdmafsd_exports_lock);
	xa_for_each(&rdmafsd_exports, id, exp)
		/* The end of one that was crossed into is waited for by that of the one above. */
		if (!exp->p.top && percpu_ref_is_dying(&exp->inflight)) {
			if (len > PAGE_SIZE - 32) {
				len += sysfs_emit_at(page, len, "more\n");
				break;
			}
			len += sysfs_emit_at(page, len, "%lu\n", id);
		}
	mutex_unlock(&rdmafsd_exports_lock);
	return len;
}

/**
 * rdmafsd_exports_rearm - apply a new time for which clients may come back to all exports
 *
 * Each export looks at once for claims whose time is over.
 *
 * Context: process, may sleep; takes rdmafsd_exports_lock.  The lock of the module's parameters is
 * held.
 */
void rdmafsd_exports_rearm(void)
{
	struct rdmafsd_export *exp;
	unsigned long id;

	mutex_lock(&rdmafsd_exports_lock);
	xa_for_each(&rdmafsd_exports, id, exp) {
		/* In flight, it does not end: its worker must not be armed after its end. */
		if (!percpu_ref_tryget_live(&exp->inflight))
			continue;
		rdmafsd_left_rearm(exp);
		rdmafsd_export_put(exp);
	}
	mutex_unlock(&rdmafsd_exports_lock);
}

/* Is the name or the id taken?  An export that ends keeps both until it has ended. */
static int rdmafsd_export_taken(const struct rdmafsd_export_params *p)
{
	struct rdmafsd_export *other;
	unsigned long id;
	int err = 0;

	lockdep_assert_held(&rdmafsd_exports_lock);
	xa_for_each(&rdmafsd_exports, id, other) {
		if (id != p->id && (other->p.top || p->top || strcmp(other->p.name, p->name)))
			continue;
		if (percpu_ref_is_dying(&other->inflight)) {
			err = -EBUSY;
			continue;
		}
		if (id != p->id)
			pr_err("%s: another export has this name already\n", p->name);
		else
			pr_err_ratelimited("%s: another export has the id %u already: set another one\n",
					   p->name, p->id);
		return -EEXIST;
	}
	return err;
}

static int rdmafsd_export_publish(struct rdmafsd_export *exp)
{
	int err;

	mutex_lock(&rdmafsd_exports_lock);
	err = rdmafsd_export_taken(&exp->p);
	if (!err) {
		exp->started = get_jiffies_64();
		/* A write of reclaim_s came before this, or will find the export in the table. */
		rdmafsd_left_started(exp);
		err = xa_insert(&rdmafsd_exports, exp->p.id, exp, GFP_KERNEL);
	}
	mutex_unlock(&rdmafsd_exports_lock);
	return err;
}

/* Find the directory of an export that is being made, and look whether it can be exported. */
static int rdmafsd_export_find(struct rdmafsd_export *exp, const char *path)
{
	const struct rdmafsd_export_params *p = &exp->p;
	int err;

	err = kern_path(path, LOOKUP_FOLLOW | LOOKUP_DIRECTORY, &exp->path);
	if (err) {
		pr_err("%s: no directory at '%s' (%d)\n", p->name, path, err);
		return err;
	}
	if (p->mountpoint && exp->path.dentry != exp->path.mnt->mnt_root) {
		pr_err("%s: nothing is mounted at '%s': mount it first (mountpoint)\n", p->name,
		       path);
		err = -ENODEV;
	} else {
		err = rdmafsd_export_check(&exp->path, p->name);
	}
	if (err)
		path_put(&exp->path);
	return err;
}

/**
 * rdmafsd_export_new - make the memory of an export
 * @p: its settings
 *
 * Context: process, may sleep.
 * Return: the export, not live, without a path, with the caller's reference; or NULL: no memory.
 */
struct rdmafsd_export *rdmafsd_export_new(const struct rdmafsd_export_params *p)
{
	struct rdmafsd_export *exp = kzalloc(sizeof(*exp), GFP_KERNEL);

	if (!exp)
		return NULL;
	exp->p = *p;
	exp->serial = atomic64_inc_return(&rdmafsd_export_serial);
	exp->unknown = p->unknown;
	exp->verf = get_random_u64();
	INIT_WORK(&exp->end, rdmafsd_export_ended);
	INIT_DELAYED_WORK(&exp->idle, rdmafsd_crossed_idle_work);
	INIT_LIST_HEAD(&exp->crossed);
	INIT_LIST_HEAD(&exp->sibling);
	init_completion(&exp->ended);
	refcount_set(&exp->refs, 1);
	return exp;
}

/**
 * rdmafsd_export_begin - make an export live
 * @exp: the export, with its settings and its path
 *
 * One that was crossed into is in flight then, to be put by the caller.
 *
 * Context: process, may sleep; takes rdmafsd_exports_lock.
 * Return: 0; or -EEXIST, -EBUSY or -ENOMEM as rdmafsd_export_start(), or another negative errno:
 * the caller still has path and memory.
 */
int rdmafsd_export_begin(struct rdmafsd_export *exp)
{
	int err;

	exp->whole = IS_ROOT(exp->path.dentry);
	exp->resource = exp->path.dentry->d_sb->s_dev;
	rdmafsd_commit_init(exp);

	rdmafsd_keys_init(exp);
	err = rdmafsd_claims_init(exp);
	if (err)
		return err;
	err = rdmafsd_orphans_start(exp);
	if (err)
		goto exit_claims;
	err = rdmafsd_grace_init(exp);
	if (err)
		goto exit_grace;
	err = percpu_ref_init(&exp->inflight, rdmafsd_export_idle, 0, GFP_KERNEL);
	if (err)
		goto exit_grace;
	if (exp->p.top)
		percpu_ref_get(&exp->inflight);
	rdmafsd_cuts_start(exp);
	/* If it does not become live after all, clients look in vain at what they have. */
	rdmafsd_sessions_tell(exp);
	err = rdmafsd_export_publish(exp);
	if (err)
		goto exit_ref;
	rdmafs_test_point("export_live", exp->p.id);
	return 0;

exit_ref:
	percpu_ref_exit(&exp->inflight);
exit_grace:
	rdmafsd_grace_exit(exp);
	rdmafsd_grace_put(exp);
	exp->grace = NULL;
exit_claims:
	rdmafsd_claims_exit(exp);
	return err;
}

/**
 * rdmafsd_export_start - make an export live
 * @p:	  its settings
 * @path: its root, as the calling process sees it
 *
 * Each failure but -EBUSY and -ENOMEM leaves a line in the log.
 *
 * Context: process, may sleep; takes rdmafsd_exports_lock.
 * Return: the export with the caller's reference, or an ERR_PTR: -EINVAL (bad settings), -ENODEV
 * (no mount point), -EEXIST (name or id is taken), -EBUSY (an export that had the name or the id
 * has not ended yet), -EOPNOTSUPP (no file handles), an error of path lookup, or -ENOMEM.
 */
struct rdmafsd_export *rdmafsd_export_start(const struct rdmafsd_export_params *p,
					    const char *path)
{
	struct rdmafsd_export *exp;
	int err;

	if (!p->id || !p->name[0]) {
		pr_err("%s: id and name of an export must not be empty\n", p->name);
		return ERR_PTR(-EINVAL);
	}
	mutex_lock(&rdmafsd_exports_lock);
	err = rdmafsd_export_taken(p);
	mutex_unlock(&rdmafsd_exports_lock);
	if (err)
		return ERR_PTR(err);
	exp = rdmafsd_export_new(p);
	if (!exp)
		return ERR_PTR(-ENOMEM);
	err = rdmafsd_export_find(exp, path);
	if (err)
		goto free;
	err = rdmafsd_export_begin(exp);
	if (!err)
		return exp;
	path_put(&exp->path);
free:
	kfree(exp);
	return ERR_PTR(err);
}

/**
 * rdmafsd_export_end - end an export, with clients in it or not
 * @exp: the export; the caller's reference goes
 *
 * No request begins in it any more.  This waits for its end, for a second at most, which is usually
 * enough.  If the file system does not answer, requests at work and open files keep it busy, and
 * rdmafsd_exports_ending() shows the export.
 *
 * Context: process, may sleep, with a reference to the module.
 */
void rdmafsd_export_end(struct rdmafsd_export *exp)
{
	refcount_inc(&exp->refs);
	__module_get(THIS_MODULE);
	percpu_ref_kill(&exp->inflight);
	wait_for_completion_timeout(&exp->ended, HZ);
	rdmafsd_export_put_memory(exp);
}

/**
 * rdmafsd_exports_init - make the queue on which exports end
 *
 * An export whose end hangs blocks its own work, but not that of other exports.
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rdmafsd_exports_init(void)
{
	rdmafsd_end_wq = alloc_workqueue("rdmafsd_end", WQ_UNBOUND, WQ_UNBOUND_MAX_ACTIVE);
	return rdmafsd_end_wq ? 0 : -ENOMEM;
}

/**
 * rdmafsd_exports_exit - undo rdmafsd_exports_init()
 *
 * Context: process, may sleep; all exports have ended.
 */
void rdmafsd_exports_exit(void)
{
	destroy_workqueue(rdmafsd_end_wq);
}
