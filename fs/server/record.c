// SPDX-License-Identifier: GPL-2.0
/*
 * Records of clients that have locks in the exports of a file system, on its own storage: grace.c
 * says when there has to be one.
 *
 * They are empty files in the directory of orphans (orphan.c) that an export of the whole file
 * system has, which is hidden from clients, belongs to root and moves with the storage: all exports
 * of the file system find those of one another there, also of such as are not live.  A record is
 * made, and is gone, with its name (recordname.c).
 *
 * The caller serialises all of this for one file system.  An error leaves it open whether the
 * change of a record is on stable storage; to do it again is no harm.
 */
#define pr_fmt(fmt) "rdmafsd: " fmt

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include "transport/points.h"
#include "server.h"
#include "record.h"
#include "trace.h"

/* Another export of the same root may remove the directory while it is empty. */
#define RDMAFSD_RECORD_TRIES	8

struct rdmafsd_records {
	struct rdmafsd_orphans_list list;
	rdmafsd_record_fn fn;
	void *to;
};

static bool rdmafsd_records_actor(struct dir_context *ctx, const char *name, int len, loff_t pos,
				  u64 ino, unsigned int type)
{
	struct rdmafsd_records *rs = container_of(ctx, struct rdmafsd_records, list.ctx);
	struct rdmafsd_record r;

	if (rdmafsd_record_parse(name, len, &r)) {
		rs->list.enough = !rs->fn(&r, rs->to);
		/* A directory that is changed meanwhile may show a name twice. */
		if (!rs->list.enough && rdmafs_test_fails("record_twice", r.export))
			rs->list.enough = !rs->fn(&r, rs->to);
	}
	return !rs->list.enough;
}

/**
 * rdmafsd_records_read - read the records of a file system
 * @exp: an export of it, not live yet
 * @fn:	 called for each of them, in any order, until it returns false; may sleep for memory
 * @to:	 handed to it
 *
 * Context: process, may sleep.
 * Return: 0, also if there are none; -EPERM: there can't be any; or another negative errno: there
 * may be others.
 */
int rdmafsd_records_read(struct rdmafsd_export *exp, rdmafsd_record_fn fn, void *to)
{
	struct rdmafsd_records rs = {
		.list.ctx.actor = rdmafsd_records_actor,
		.fn = fn,
		.to = to,
	};
	const struct cred *saved = override_creds(rdmafsd_own_cred);
	struct dentry *dir = rdmafsd_orphans_of_fs(exp, false);
	int err = PTR_ERR_OR_ZERO(dir);

	if (!err) {
		err = rdmafsd_orphans_list(exp, dir, &rs.list);
		dput(dir);
	}
	revert_creds(saved);
	return err == -ENOENT ? 0 : err;
}

/*
 * Hold the mount for writing.  -EAGAIN: the file system is frozen.  That is not waited for, as
 * other tasks wait for the caller, and these need no file system.
 */
static int rdmafsd_record_want_write(struct rdmafsd_export *exp)
{
	struct super_block *sb = exp->path.mnt->mnt_sb;
	int err;

	if (!sb_start_write_trylock(sb))
		return -EAGAIN;
	err = mnt_get_write_access(exp->path.mnt);
	if (err)
		sb_end_write(sb);
	return err;
}

static void rdmafsd_record_drop_write(struct rdmafsd_export *exp)
{
	mnt_put_write_access(exp->path.mnt);
	sb_end_write(exp->path.mnt->mnt_sb);
}

static int rdmafsd_record_make_in(struct rdmafsd_export *exp, struct dentry *dir, const char *name)
{
	struct dentry *dentry;
	int err;

	inode_lock_nested(d_inode(dir), I_MUTEX_PARENT);
	dentry = lookup_one(&nop_mnt_idmap, name, dir, RDMAFSD_RECORD_LEN);
	err = PTR_ERR_OR_ZERO(dentry);
	if (!err && d_really_is_negative(dentry))
		err = vfs_create(&nop_mnt_idmap, d_inode(dir), dentry, S_IFREG | 0600, true);
	inode_unlock(d_inode(dir));
	if (!err && d_really_is_positive(dentry))
		err = rdmafsd_commit(exp, dentry);
	if (!err)
		err = rdmafsd_commit(exp, dir);
	if (!IS_ERR(dentry))
		dput(dentry);
	return err;
}

/**
 * rdmafsd_record_make - make a record, on stable storage
 * @exp: an export of the file system, which is kept from its end
 * @r:	 the record
 *
 * Context: process, may sleep.
 * Return: 0; -EAGAIN: the file system is frozen; or another negative errno: there is none, or not
 * for sure.
 */
int rdmafsd_record_make(struct rdmafsd_export *exp, const struct rdmafsd_record *r)
{
	const struct cred *saved = override_creds(rdmafsd_own_cred);
	char name[RDMAFSD_RECORD_LEN + 1];
	unsigned int tries = 0;
	struct dentry *dir;
	int err;

	rdmafsd_record_name(r, name);
	rdmafs_test_point("record_write", exp->p.id);
	err = rdmafs_test_fails("record_make", exp->p.id) ? -ENOSPC :
		rdmafsd_record_want_write(exp);
	if (err)
		goto out;
	do {
		dir = rdmafsd_orphans_of_fs(exp, true);
		err = PTR_ERR_OR_ZERO(dir);
		if (err)
			break;
		err = rdmafsd_record_make_in(exp, dir, name);
		dput(dir);
	} while (err == -ENOENT && ++tries < RDMAFSD_RECORD_TRIES);
	rdmafsd_record_drop_write(exp);
out:
	revert_creds(saved);
	trace_rdmafs_record(exp, r, true, err);
	if (err && err != -EAGAIN)
		pr_warn_ratelimited("%s: can't record that a client has locks (%d)\n",
				    exp->p.name, err);
	return err;
}

static int rdmafsd_record_remove_in(struct dentry *dir, const char *name)
{
	struct dentry *dentry;
	int err;

	inode_lock_nested(d_inode(dir), I_MUTEX_PARENT);
	dentry = lookup_one(&nop_mnt_idmap, name, dir, RDMAFSD_RECORD_LEN);
	err = PTR_ERR_OR_ZERO(dentry);
	if (!err) {
		if (d_really_is_positive(dentry))
			err = vfs_unlink(&nop_mnt_idmap, d_inode(dir), dentry, NULL);
		dput(dentry);
	}
	inode_unlock(d_inode(dir));
	return err;
}

/**
 * rdmafsd_record_remove - remove a record; rdmafsd_records_commit() brings that to stable storage
 * @exp: an export of the file system, which is kept from its end
 * @r:	 the record
 *
 * Context: process, may sleep.
 * Return: 0, also if there was none; -EAGAIN: the file system is frozen; or another negative errno.
 */
int rdmafsd_record_remove(struct rdmafsd_export *exp, const struct rdmafsd_record *r)
{
	const struct cred *saved = override_creds(rdmafsd_own_cred);
	char name[RDMAFSD_RECORD_LEN + 1];
	struct dentry *dir;
	int err;

	rdmafsd_record_name(r, name);
	err = rdmafs_test_fails("record_remove", exp->p.id) ? -EIO :
		rdmafsd_record_want_write(exp);
	if (!err) {
		dir = rdmafsd_orphans_of_fs(exp, false);
		err = PTR_ERR_OR_ZERO(dir);
		if (!err) {
			err = rdmafsd_record_remove_in(dir, name);
			dput(dir);
		}
		rdmafsd_record_drop_write(exp);
	}
	revert_creds(saved);
	err = err == -ENOENT ? 0 : err;
	trace_rdmafs_record(exp, r, false, err);
	return err;
}

/**
 * rdmafsd_records_commit - bring the removal of records to stable storage
 * @exp: an export of the file system, which is kept from its end
 *
 * Context: process, may sleep.
 * Return: 0; -EAGAIN: the file system is frozen; or another negative errno.
 */
int rdmafsd_records_commit(struct rdmafsd_export *exp)
{
	const struct cred *saved = override_creds(rdmafsd_own_cred);
	struct dentry *dir;
	int err;

	/* A file system that is frozen meanwhile may have the commit wait for its thaw. */
	err = rdmafsd_record_want_write(exp);
	if (!err) {
		dir = rdmafsd_orphans_of_fs(exp, false);
		err = PTR_ERR_OR_ZERO(dir);
		if (!err) {
			err = rdmafsd_commit(exp, dir);
			dput(dir);
		} else if (err == -ENOENT) {
			/* They went with it: another export has removed it when it was empty. */
			err = rdmafsd_commit(exp, exp->path.dentry->d_sb->s_root);
		}
		rdmafsd_record_drop_write(exp);
	}
	revert_creds(saved);
	return err;
}
