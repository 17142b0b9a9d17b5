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
 * Stopping: out of the table, no request begins any more, wait for those that
 * run, close what clients have open, drop the path.  Whatever clients still
 * hold - handles, stateids - answers ESTALE or BADSTATE from then on, and
 * works again (handles) once an export with the same id and secret is live.
 */
#define pr_fmt(fmt) "rdmafsd: " fmt

#include <linux/exportfs.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "server.h"

static DEFINE_MUTEX(rdmafsd_exports_lock);	/* changes of the table */
static DEFINE_XARRAY(rdmafsd_exports);		/* &struct rdmafsd_export by id */
static atomic64_t rdmafsd_export_serial;

static void rdmafsd_export_idle(struct percpu_ref *ref)
{
	complete(&container_of(ref, struct rdmafsd_export, inflight)->idle);
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

static bool rdmafsd_fs_is_volatile(struct inode *root)
{
	const struct super_operations *ops = root->i_sb->s_op;

	return !ops->write_inode && !root->i_sb->s_export_op->commit_metadata &&
	       (!root->i_fop->fsync || root->i_fop->fsync == noop_fsync);
}

static int rdmafsd_export_publish(struct rdmafsd_export *exp)
{
	struct rdmafsd_export *other;
	unsigned long id;
	int err = 0;

	mutex_lock(&rdmafsd_exports_lock);
	xa_for_each(&rdmafsd_exports, id, other)
		if (!strcmp(other->p.name, exp->p.name)) {
			pr_err("%s: another export has this name already\n", exp->p.name);
			err = -EEXIST;
		}
	if (!err) {
		err = xa_insert(&rdmafsd_exports, exp->p.id, exp, GFP_KERNEL);
		if (err == -EBUSY) {
			pr_err("%s: another export has the id %u already: set another one\n",
			       exp->p.name, exp->p.id);
			err = -EEXIST;
		}
	}
	mutex_unlock(&rdmafsd_exports_lock);
	return err;
}

/**
 * rdmafsd_export_start - make an export live
 * @p:	  its settings
 * @path: its root, as the calling process sees it
 *
 * Each failure leaves a line in the log.
 *
 * Return: the export, or an ERR_PTR: -EINVAL (bad settings, id-mapped mount),
 * -EEXIST (name or id is taken), -EOPNOTSUPP (no file handles), an error of
 * path lookup, or -ENOMEM.
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
	exp = kzalloc(sizeof(*exp), GFP_KERNEL);
	if (!exp)
		return ERR_PTR(-ENOMEM);
	exp->p = *p;
	exp->serial = atomic64_inc_return(&rdmafsd_export_serial);
	exp->verf = get_random_u64();
	init_completion(&exp->idle);
	refcount_set(&exp->refs, 1);

	err = kern_path(path, LOOKUP_FOLLOW | LOOKUP_DIRECTORY, &exp->path);
	if (err) {
		pr_err("%s: no directory at '%s' (%d)\n", p->name, path, err);
		goto free;
	}
	err = rdmafsd_export_check(&exp->path, p->name);
	if (err)
		goto put_path;
	exp->whole = IS_ROOT(exp->path.dentry);
	exp->volatile_fs = rdmafsd_fs_is_volatile(d_inode(exp->path.dentry));

	rdmafsd_keys_init(exp);
	err = percpu_ref_init(&exp->inflight, rdmafsd_export_idle, 0, GFP_KERNEL);
	if (err)
		goto put_path;
	err = rdmafsd_export_publish(exp);
	if (err)
		goto exit_ref;
	return exp;

exit_ref:
	percpu_ref_exit(&exp->inflight);
put_path:
	path_put(&exp->path);
free:
	kfree(exp);
	return ERR_PTR(err);
}

/**
 * rdmafsd_export_stop - end an export, with clients in it or not
 * @exp: the export; the caller's reference goes
 *
 * Waits for the requests that are at work in it.  Afterwards nothing of the
 * server holds its file system.
 */
void rdmafsd_export_stop(struct rdmafsd_export *exp)
{
	mutex_lock(&rdmafsd_exports_lock);
	xa_erase(&rdmafsd_exports, exp->p.id);
	mutex_unlock(&rdmafsd_exports_lock);

	percpu_ref_kill(&exp->inflight);
	wait_for_completion(&exp->idle);
	/* No request can add a state from here on. */
	rdmafsd_sessions_close_export(exp);
	percpu_ref_exit(&exp->inflight);
	path_put(&exp->path);
	rdmafsd_export_free(exp);
}
