// SPDX-License-Identifier: GPL-2.0
/*
 * Exports that are live.
 *
 * An export is a directory, by the path that the administrator's process sees,
 * with an id and a secret.  It stands in one table by id, which is how handles
 * find it; ATTACH, which is rare, walks the table for the name.  Starting and
 * stopping are serialised by rdmafsd_exports_lock and by the item in configfs
 * that asks for them; requests take no lock but a per-CPU count.
 *
 * Ending: no request begins any more.  Handles, and what clients have open, answer OFFLINE
 * while an export with their id is written down in configfs: it is to be live again, and
 * clients wait for that with what they have to write.  They answer ESTALE when there is
 * none, which is final for what they mean to write; all the same handles work again once
 * one with the same id and secret is live.
 *
 * When the last request is done a work closes what clients have open, whose stateids
 * answer BADSTATE from then on, drops the path and takes the export out of the table.
 * Where the file system does not answer that may be never.  So nobody waits for it here
 * for longer than a second: who changes something in configfs holds locks there that all
 * other administration needs.  He may look which exports have not ended.  Another life of
 * the export, of the same id or name, does not begin before: both would have their hands
 * in the same directory of orphans.
 */
#define pr_fmt(fmt) "rdmafsd: " fmt

#include <linux/exportfs.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>
#include "server.h"

static DEFINE_MUTEX(rdmafsd_exports_lock);	/* changes of the table, and who walks all of it */
static DEFINE_XARRAY(rdmafsd_exports);		/* &struct rdmafsd_export by id */
static DEFINE_SPINLOCK(rdmafsd_known_lock);	/* a leaf: what follows */
static LIST_HEAD(rdmafsd_known);		/* &struct rdmafsd_known */
static atomic64_t rdmafsd_export_serial;
static struct workqueue_struct *rdmafsd_end_wq;	/* a work for each export that ends */

/**
 * rdmafsd_known_add - an export is written down
 * @known: its entry
 * @id:	   its id
 */
void rdmafsd_known_add(struct rdmafsd_known *known, u32 id)
{
	spin_lock(&rdmafsd_known_lock);
	known->id = id;
	list_add_tail(&known->link, &rdmafsd_known);
	spin_unlock(&rdmafsd_known_lock);
}

/**
 * rdmafsd_known_change - it gets another id
 * @known: its entry
 * @id:	   its id from now on
 */
void rdmafsd_known_change(struct rdmafsd_known *known, u32 id)
{
	spin_lock(&rdmafsd_known_lock);
	known->id = id;
	spin_unlock(&rdmafsd_known_lock);
}

/**
 * rdmafsd_known_remove - it is gone for good
 * @known: its entry
 */
void rdmafsd_known_remove(struct rdmafsd_known *known)
{
	spin_lock(&rdmafsd_known_lock);
	list_del(&known->link);
	spin_unlock(&rdmafsd_known_lock);
}

/**
 * rdmafsd_known_lost - it is no longer noted what clients have open in an export
 * @id: its id
 *
 * If it is written down its next life takes it that there may be such as it does not know.
 *
 * Context: any but interrupt.
 */
void rdmafsd_known_lost(u32 id)
{
	struct rdmafsd_known *known;

	spin_lock(&rdmafsd_known_lock);
	list_for_each_entry(known, &rdmafsd_known, link)
		if (known->id == id)
			known->unknown = true;
	spin_unlock(&rdmafsd_known_lock);
}

/**
 * rdmafsd_known_unknown - was something lost so since the last start?
 * @known: the export's entry; from now on it is asked anew
 *
 * Return: true if so.
 */
bool rdmafsd_known_unknown(struct rdmafsd_known *known)
{
	bool unknown;

	spin_lock(&rdmafsd_known_lock);
	unknown = known->unknown;
	known->unknown = false;
	spin_unlock(&rdmafsd_known_lock);
	return unknown;
}

/**
 * rdmafsd_export_missing - what to say of an export that is not live
 * @id: its id
 *
 * Context: any but interrupt.
 * Return: RFP_OFFLINE: it is written down; else -ESTALE.
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
 * rdmafsd_export_off - is it written down, and not live?
 * @id: its id
 *
 * Context: any but interrupt.
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
 * rdmafsd_export_free - let go of the memory of an export
 * @exp: whose reference is given back; any context
 */
void rdmafsd_export_free(struct rdmafsd_export *exp)
{
	if (refcount_dec_and_test(&exp->refs))
		kfree_rcu(exp, rcu);
}

/**
 * rdmafsd_export_put - a request is done with an export
 * @exp: the export, NULL allowed
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
 * rdmafsd_export_domain - the file system of a live export
 * @id: its id
 *
 * Any context that may take no lock that sleeps.
 *
 * Return: a number for it, or 0: there is no such export, or it ends, so that whoever
 * names it is refused.
 */
u64 rdmafsd_export_domain(u32 id)
{
	struct rdmafsd_export *exp;
	u64 domain;

	rcu_read_lock();
	exp = xa_load(&rdmafsd_exports, id);
	domain = exp && !percpu_ref_is_dying(&exp->inflight) ? exp->domain : 0;
	rcu_read_unlock();
	return domain;
}

/**
 * rdmafsd_export_unknown - may there be opens that nobody here knows of?
 * @exp: the export, live
 *
 * What was open when the server's machine lost its power, or the module was unloaded, only
 * clients know, until they come back for it: they have the time that they have after any end
 * of a session, from the export's start on.  Where the secret was made by this very module
 * nobody has a proof from before; and what is open, or was left, when an export is disabled is
 * noted (cut.c), unless that note was lost (rdmafsd_known_lost()).
 *
 * Context: any that may take no lock that sleeps.
 * Return: true if so.
 */
bool rdmafsd_export_unknown(struct rdmafsd_export *exp)
{
	if (!READ_ONCE(exp->unknown))
		return false;
	if (time_before64(get_jiffies_64(), exp->started + rdmafsd_reclaim_time()))
		return true;
	/* For good: who has not come by now is not waited for, whatever the time becomes. */
	WRITE_ONCE(exp->unknown, false);
	return false;
}

static bool rdmafsd_name_is(const struct rdmafsd_export *exp, const char *name, size_t len)
{
	return strlen(exp->p.name) == len && !memcmp(exp->p.name, name, len);
}

/**
 * rdmafsd_export_find_name - find a live export by what clients call it
 * @name: the name, not terminated; slashes at its ends mean nothing
 * @len:  its length
 *
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

/* Can handles be made for it, and do they name their object for ever? */
static int rdmafsd_export_check(const struct path *path, const char *name)
{
	struct super_block *sb = path->dentry->d_sb;

	if (!exportfs_can_decode_fh(sb->s_export_op) || !sb->s_export_op->encode_fh) {
		pr_err("%s: a file system of type %s can't be exported: it has no file handles\n",
		       name, sb->s_type->name);
		return -EOPNOTSUPP;
	}
	if (is_idmapped_mnt(path->mnt)) {
		pr_err("%s: an id-mapped mount can't be exported: export the file system's own mount\n",
		       name);
		return -EINVAL;
	}
	return 0;
}

/* No request is at work in it, nor will any be. */
static void rdmafsd_export_ended(struct work_struct *work)
{
	struct rdmafsd_export *exp = container_of(work, struct rdmafsd_export, end);

	/* No request can add a state from here on. */
	rdmafsd_sessions_close_export(exp);
	percpu_ref_exit(&exp->inflight);
	rdmafsd_opened_exit(exp);
	path_put(&exp->path);

	/* Who sees that it has ended may unload us: rdmafsd_exports_exit() waits for the rest. */
	module_put(THIS_MODULE);
	mutex_lock(&rdmafsd_exports_lock);
	xa_erase(&rdmafsd_exports, exp->p.id);
	mutex_unlock(&rdmafsd_exports_lock);
	complete(&exp->ended);
	rdmafsd_export_free(exp);
}

/**
 * rdmafsd_exports_ending - which exports have not ended yet
 * @page: where to: a line with the id of each, and "more" for those that find no room
 *
 * Context: process; may sleep.
 * Return: how many bytes.
 */
ssize_t rdmafsd_exports_ending(char *page)
{
	struct rdmafsd_export *exp;
	unsigned long id;
	ssize_t len = 0;

	mutex_lock(&rdmafsd_exports_lock);
	xa_for_each(&rdmafsd_exports, id, exp)
		if (percpu_ref_is_dying(&exp->inflight)) {
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
 * rdmafsd_exports_look - the time for which clients may come back is another one
 *
 * Each export looks at once whose time is over.
 *
 * Context: process; may sleep.  The lock of the module's parameters is held.
 */
void rdmafsd_exports_look(void)
{
	struct rdmafsd_export *exp;
	unsigned long id;

	mutex_lock(&rdmafsd_exports_lock);
	xa_for_each(&rdmafsd_exports, id, exp) {
		/* One that is in flight does not end: its worker must not be armed after that. */
		if (!percpu_ref_tryget_live(&exp->inflight))
			continue;
		rdmafsd_opened_look(exp);
		rdmafsd_export_put(exp);
	}
	mutex_unlock(&rdmafsd_exports_lock);
}

/* Is its name or its id another's?  One that ends has them until it has ended. */
static int rdmafsd_export_taken(const struct rdmafsd_export_params *p)
{
	struct rdmafsd_export *other;
	unsigned long id;
	int err = 0;

	lockdep_assert_held(&rdmafsd_exports_lock);
	xa_for_each(&rdmafsd_exports, id, other) {
		if (id != p->id && strcmp(other->p.name, p->name))
			continue;
		if (percpu_ref_is_dying(&other->inflight)) {
			err = -EBUSY;
			continue;
		}
		if (id != p->id)
			pr_err("%s: another export has this name already\n", p->name);
		else
			pr_err("%s: another export has the id %u already: set another one\n",
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
		/* Its worker is armed: who writes reclaim_s did so before, or finds it here. */
		rdmafsd_opened_started(exp);
		err = xa_insert(&rdmafsd_exports, exp->p.id, exp, GFP_KERNEL);
	}
	mutex_unlock(&rdmafsd_exports_lock);
	return err;
}

/**
 * rdmafsd_export_start - make an export live
 * @p:	  its settings
 * @path: its root, as the calling process sees it
 *
 * Each failure but -EBUSY and -ENOMEM leaves a line in the log.
 *
 * Return: the export, or an ERR_PTR: -EINVAL (bad settings, id-mapped mount),
 * -ENODEV (no mount point), -EEXIST (name or id is taken), -EBUSY (one that had the
 * name or the id has not ended yet), -EOPNOTSUPP (no file handles), an error of path
 * lookup, or -ENOMEM.
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
	exp = kzalloc(sizeof(*exp), GFP_KERNEL);
	if (!exp)
		return ERR_PTR(-ENOMEM);
	exp->p = *p;
	exp->serial = atomic64_inc_return(&rdmafsd_export_serial);
	exp->unknown = p->unknown;
	exp->verf = get_random_u64();
	INIT_WORK(&exp->end, rdmafsd_export_ended);
	init_completion(&exp->ended);
	refcount_set(&exp->refs, 1);

	err = kern_path(path, LOOKUP_FOLLOW | LOOKUP_DIRECTORY, &exp->path);
	if (err) {
		pr_err("%s: no directory at '%s' (%d)\n", p->name, path, err);
		goto free;
	}
	if (p->mountpoint && exp->path.dentry != exp->path.mnt->mnt_root) {
		pr_err("%s: nothing is mounted at '%s': mount it first (mountpoint)\n", p->name,
		       path);
		err = -ENODEV;
		goto put_path;
	}
	err = rdmafsd_export_check(&exp->path, p->name);
	if (err)
		goto put_path;
	exp->whole = IS_ROOT(exp->path.dentry);
	exp->domain = exp->path.dentry->d_sb->s_dev;
	rdmafsd_commit_init(exp);

	rdmafsd_keys_init(exp);
	err = rdmafsd_opened_init(exp);
	if (err)
		goto put_path;
	err = rdmafsd_orphans_start(exp);
	if (err)
		goto exit_opened;
	err = percpu_ref_init(&exp->inflight, rdmafsd_export_idle, 0, GFP_KERNEL);
	if (err)
		goto exit_opened;
	rdmafsd_cuts_start(exp);
	err = rdmafsd_export_publish(exp);
	if (err)
		goto exit_ref;
	return exp;

exit_ref:
	percpu_ref_exit(&exp->inflight);
exit_opened:
	rdmafsd_opened_exit(exp);
put_path:
	path_put(&exp->path);
free:
	kfree(exp);
	return ERR_PTR(err);
}

/**
 * rdmafsd_export_end - end an export, with clients in it or not
 * @exp: the export; the caller's reference goes
 *
 * No request begins in it any more.  Those at work, and what is open, may keep its file
 * system for as long as that does not answer; rdmafsd_exports_ending() shows it.  Usually
 * they don't, and all is over when this returns, after a second at most.
 *
 * Context: process, with a reference to the module.
 */
void rdmafsd_export_end(struct rdmafsd_export *exp)
{
	refcount_inc(&exp->refs);
	__module_get(THIS_MODULE);
	percpu_ref_kill(&exp->inflight);
	wait_for_completion_timeout(&exp->ended, HZ);
	rdmafsd_export_free(exp);
}

/**
 * rdmafsd_exports_init - make the queue on which exports end
 *
 * One that does not come to its end keeps its work, and nobody else's.
 *
 * Return: 0 or -ENOMEM.
 */
int rdmafsd_exports_init(void)
{
	rdmafsd_end_wq = alloc_workqueue("rdmafsd_end", WQ_UNBOUND, WQ_UNBOUND_MAX_ACTIVE);
	return rdmafsd_end_wq ? 0 : -ENOMEM;
}

/**
 * rdmafsd_exports_exit - the reverse of rdmafsd_exports_init(); all exports have ended
 */
void rdmafsd_exports_exit(void)
{
	destroy_workqueue(rdmafsd_end_wq);
}
