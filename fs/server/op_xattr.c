// SPDX-License-Identifier: GPL-2.0
/*
 * Extended attributes and ACLs.
 *
 * Clients are offered user. attributes and the two POSIX ACLs.  ACLs travel in the form of
 * xattrs, with ids of the exported mount (rdmafsd_idmap()) as the initial user namespace has them,
 * but are handed to the file system as ACLs.  Other attributes of "system." are private to a file
 * system.  trusted. and security. belong to the server: its overlays, its security modules and its
 * file capabilities rest on them.  They are offered only if the export says so, and then to those
 * callers for whom the VFS allows it.  The exception is security.selinux: an export may leave it to
 * clients (seclabel.c).
 */
#include <linux/filelock.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/xattr.h>
#include "request.h"

/**
 * struct rdmafsd_xattr - the attribute that a request is about, on the stack of the request
 * @dentry: the object, a reference of the request
 * @name:   the attribute's name, terminated
 * @acl:    it is a POSIX ACL
 * @chg:    the change of the object, once the attribute is set or removed
 */
struct rdmafsd_xattr {
	struct dentry *dentry;
	char name[RFP_XATTR_NAME_MAX + 1];
	bool acl;
	struct rdmafsd_change chg;
};

/**
 * rdmafsd_xattr_offered - tell whether clients of an export see an attribute
 * @exp:  the export
 * @name: the attribute's full name
 *
 * Context: any.
 * Return: true if so.
 */
bool rdmafsd_xattr_offered(const struct rdmafsd_export *exp, const char *name)
{
	if (is_posix_acl_xattr(name) ||
	    !strncmp(name, XATTR_USER_PREFIX, XATTR_USER_PREFIX_LEN))
		return true;
	if (rdmafsd_seclabel_is(exp, name))
		return true;
	return exp->p.all_xattrs &&
	       (!strncmp(name, XATTR_TRUSTED_PREFIX, XATTR_TRUSTED_PREFIX_LEN) ||
		!strncmp(name, XATTR_SECURITY_PREFIX, XATTR_SECURITY_PREFIX_LEN));
}

/*
 * Take the attribute's name from the request, and put on the caller's credentials.  The operations
 * do not declare the latter: that the attribute is not offered is told before RFP_BADCRED.
 */
static int rdmafsd_xattr_begin(struct rdmafsd_rq *rq, struct rdmafsd_xattr *x)
{
	const struct rfp_str *name = &rq->name[0];

	x->dentry = rq->obj[0];
	memcpy(x->name, name->s, name->len);
	x->name[name->len] = '\0';
	x->acl = is_posix_acl_xattr(x->name);
	return rdmafsd_xattr_offered(rq->exp, x->name) ? rdmafsd_rq_enter(rq) : -EOPNOTSUPP;
}

/* A user or group without an id in the mount is told as the overflow one, as an owner is. */
static void rdmafsd_acl_map(struct mnt_idmap *idmap, struct user_namespace *ns,
			    struct posix_acl *acl)
{
	struct posix_acl_entry *entry, *end;
	uid_t uid;
	gid_t gid;

	FOREACH_ACL_ENTRY(entry, acl, end) {
		switch (entry->e_tag) {
		case ACL_USER:
			uid = from_kuid_munged(&init_user_ns,
					       vfsuid_into_kuid(make_vfsuid(idmap, ns,
									    entry->e_uid)));
			entry->e_uid = make_kuid(&init_user_ns, uid);
			break;
		case ACL_GROUP:
			gid = from_kgid_munged(&init_user_ns,
					       vfsgid_into_kgid(make_vfsgid(idmap, ns,
									    entry->e_gid)));
			entry->e_gid = make_kgid(&init_user_ns, gid);
			break;
		}
	}
}

/*
 * Get an ACL with ids of the exported mount, to be released.  The VFS has it with those of the file
 * system, caches that, and maps only what it copies to a process itself.
 */
static struct posix_acl *rdmafsd_acl_get(struct mnt_idmap *idmap, struct rdmafsd_xattr *x)
{
	struct posix_acl *acl = vfs_get_acl(idmap, x->dentry, x->name), *mapped;

	if (IS_ERR_OR_NULL(acl) || idmap == &nop_mnt_idmap)
		return acl;
	mapped = posix_acl_clone(acl, GFP_KERNEL);
	posix_acl_release(acl);
	if (!mapped)
		return ERR_PTR(-ENOMEM);
	rdmafsd_acl_map(idmap, i_user_ns(d_inode(x->dentry)), mapped);
	return mapped;
}

/* Get the size of the value, and if @size is not 0 the value; -ERANGE if @size is too little. */
static int rdmafsd_xattr_get(struct rdmafsd_rq *rq, struct rdmafsd_xattr *x, void *buf, size_t size)
{
	struct mnt_idmap *idmap = rdmafsd_idmap(rq->exp);
	struct posix_acl *acl;
	int len;

	if (rdmafsd_seclabel_is(rq->exp, x->name))
		return rdmafsd_seclabel_get(rq->exp, x->dentry, buf, size);
	if (!x->acl)
		return vfs_getxattr(idmap, x->dentry, x->name, buf, size);
	acl = rdmafsd_acl_get(idmap, x);
	if (IS_ERR(acl))
		return PTR_ERR(acl);
	if (!acl)
		return -ENODATA;
	len = posix_acl_to_xattr(&init_user_ns, acl, buf, size);
	posix_acl_release(acl);
	return len;
}

static int rdmafsd_xattr_reply(struct rdmafsd_rq *rq, const void *buf, int len)
{
	struct rfp_xattr_rep *rep;
	int err = 0;

	if (buf)
		err = rdmafsd_rq_data_put(rq, buf, len);
	if (err)
		return err;
	rep = rdmafsd_rep(rq, sizeof(*rep));
	rep->size = cpu_to_le32(len);
	return 0;
}

/* Bytes of room that the client has, by its own words and by transport's; 0: tell only the size. */
static size_t rdmafsd_xattr_room(const struct rdmafsd_rq *rq)
{
	const struct rfp_getxattr_req *greq = rq->args;

	return min3(le32_to_cpu(greq->size), rq->req->read_max, (u32)RFP_XATTR_SIZE_MAX);
}

static int rdmafsd_op_getxattr(struct rdmafsd_rq *rq)
{
	size_t room = rdmafsd_xattr_room(rq);
	struct rdmafsd_xattr x;
	void *buf = NULL;
	int len;

	len = rdmafsd_xattr_begin(rq, &x);
	if (len)
		return len;
	if (room) {
		buf = kvmalloc(room, GFP_KERNEL);
		if (!buf)
			return -ENOMEM;
	}
	len = rdmafsd_xattr_get(rq, &x, buf, room);
	if (len >= 0)
		len = rdmafsd_xattr_reply(rq, buf, len);
	kvfree(buf);
	return len;
}

const struct rdmafsd_op rdmafsd_getxattr_op = {
	RDMAFSD_PADDED(struct rfp_getxattr_req),
	.parts = { RDMAFSD_PART_FH, RDMAFSD_PART_XATTR },
	.flags = RDMAFS_REPLY_NOCACHE,
	.fn = rdmafsd_op_getxattr,
};

/*
 * To set and remove ACLs and file capabilities, the VFS waits for the holder of a delegation.
 * So the holder is asked here first, without waiting: nfsd gives no delegation again for a
 * while, nor while it takes one back.  The holder is asked only if the caller may make the
 * change.
 */
static int rdmafsd_xattr_ask(struct rdmafsd_rq *rq, struct rdmafsd_xattr *x)
{
	struct mnt_idmap *idmap = rdmafsd_idmap(rq->exp);
	struct inode *inode = d_inode(x->dentry);

	if (!S_ISREG(inode->i_mode))
		return 0;
	if (x->acl) {
		/* The VFS would check this only after it has waited. */
		if (!IS_POSIXACL(inode))
			return -EOPNOTSUPP;
		if (!inode_owner_or_capable(idmap, inode))
			return -EPERM;
	} else if (strcmp(x->name, XATTR_NAME_CAPS) ||
		   !capable_wrt_inode_uidgid(idmap, inode, CAP_SETFCAP)) {
		return 0;
	}
	/* -EWOULDBLOCK is -EAGAIN: the client sends the request again, see rdmafsd_deleg_end(). */
	return break_deleg(inode, O_WRONLY | O_NONBLOCK);
}

/*
 * Set file capabilities.  Only vfs_setxattr() checks whether the caller may do so, and converts
 * the value.  It takes the lock itself.
 */
static int rdmafsd_xattr_set_caps(struct rdmafsd_rq *rq, struct rdmafsd_xattr *x,
				  const void *value, size_t size, int flags)
{
	int err;

	rdmafsd_change_begin_unlocked(rq, x->dentry, &x->chg);
	err = vfs_setxattr(rdmafsd_idmap(rq->exp), x->dentry, x->name, value, size, flags);
	rdmafsd_change_end(&x->chg);
	if (!err)
		rdmafsd_change_keep(&x->chg);
	return err;
}

/*
 * Set an ACL, or remove it.  vfs_set_acl() and vfs_remove_acl() take the lock themselves, and what
 * they do with it held can't be done here: modules have no access to the checks of security
 * modules.
 */
static int rdmafsd_xattr_set_acl(struct rdmafsd_rq *rq, struct rdmafsd_xattr *x,
				 struct posix_acl *acl, bool remove)
{
	struct mnt_idmap *idmap = rdmafsd_idmap(rq->exp);
	int err;

	rdmafsd_change_begin_unlocked(rq, x->dentry, &x->chg);
	err = remove ? vfs_remove_acl(idmap, x->dentry, x->name) :
		       vfs_set_acl(idmap, x->dentry, x->name, acl);
	rdmafsd_change_end(&x->chg);
	if (!err)
		rdmafsd_change_keep(&x->chg);
	return err;
}

static int rdmafsd_xattr_set(struct rdmafsd_rq *rq, struct rdmafsd_xattr *x, const void *value,
			     size_t size, int flags)
{
	struct inode *inode = d_inode(x->dentry), *delegated = NULL;
	struct posix_acl *acl = NULL;
	int err;

	if (size && !strcmp(x->name, XATTR_NAME_CAPS))
		return rdmafsd_xattr_set_caps(rq, x, value, size, flags);
	if (x->acl) {
		if (size)
			acl = posix_acl_from_xattr(&init_user_ns, value, size);
		if (IS_ERR(acl))
			return PTR_ERR(acl);
		err = rdmafsd_xattr_set_acl(rq, x, acl, false);
		posix_acl_release(acl);
		return err;
	}
	inode_lock(inode);
	rdmafsd_change_begin(rq, x->dentry, &x->chg);
	if (rdmafsd_seclabel_is(rq->exp, x->name))
		err = rdmafsd_seclabel_set(rq, x->dentry, value, size, flags, &delegated);
	else
		err = __vfs_setxattr_locked(rdmafsd_idmap(rq->exp), x->dentry, x->name, value,
					    size, flags, &delegated);
	rdmafsd_change_end(&x->chg);
	if (!err)
		rdmafsd_change_keep(&x->chg);
	inode_unlock(inode);
	return rdmafsd_deleg_end(&delegated, err);
}

static int rdmafsd_xattr_changed(struct rdmafsd_rq *rq, const struct rdmafsd_xattr *x)
{
	int err = rdmafsd_commit(rq->exp, x->dentry);

	return err ? err : rdmafsd_reply_changed(rq, &x->chg);
}

static int rdmafsd_setxattr_run(struct rdmafsd_rq *rq, struct rdmafsd_xattr *x,
				const void *value, size_t size, int flags)
{
	int err;

	err = rdmafsd_rq_want_write(rq);
	if (err)
		return err;
	err = rdmafsd_xattr_ask(rq, x);
	if (!err)
		err = rdmafsd_xattr_set(rq, x, value, size, flags);
	rdmafsd_rq_drop_write(rq);
	return err ? err : rdmafsd_xattr_changed(rq, x);
}

static int rdmafsd_xattr_flags(u32 wire, int *flags)
{
	*flags = 0;
	if (wire & RFP_XATTR_CREATE)
		*flags |= XATTR_CREATE;
	if (wire & RFP_XATTR_REPLACE)
		*flags |= XATTR_REPLACE;
	return wire & ~(RFP_XATTR_CREATE | RFP_XATTR_REPLACE) ? -EINVAL : 0;
}

static int rdmafsd_op_setxattr(struct rdmafsd_rq *rq)
{
	const struct rfp_setxattr_req *sreq = rq->args;
	u32 size = rq->req->data_len;
	struct rdmafsd_xattr x;
	void *value;
	int err, flags;

	err = rdmafsd_xattr_begin(rq, &x);
	if (err)
		return err;
	if (le32_to_cpu(sreq->size) != size)
		return RFP_BADPROTO;
	if (size > RFP_XATTR_SIZE_MAX)
		return -E2BIG;
	err = rdmafsd_xattr_flags(le32_to_cpu(sreq->flags), &flags);
	if (err)
		return err;

	/* An empty value is a value: never pass NULL for it. */
	value = kvmalloc(size ? size : 1, GFP_KERNEL);
	if (!value)
		return -ENOMEM;
	err = -EIO;
	if (!size || copy_from_iter_full(value, size, &rq->req->data))
		err = rdmafsd_setxattr_run(rq, &x, value, size, flags);
	kvfree(value);
	return err;
}

/* Size and flags are checked after object and caller, and not before as in other operations. */
const struct rdmafsd_op rdmafsd_setxattr_op = {
	RDMAFSD_FIXED(struct rfp_setxattr_req),
	.parts = { RDMAFSD_PART_FH, RDMAFSD_PART_XATTR },
	.fn = rdmafsd_op_setxattr,
};

static int rdmafsd_xattr_remove(struct rdmafsd_rq *rq, struct rdmafsd_xattr *x)
{
	struct inode *inode = d_inode(x->dentry), *delegated = NULL;
	int err;

	if (x->acl)
		return rdmafsd_xattr_set_acl(rq, x, NULL, true);
	inode_lock(inode);
	rdmafsd_change_begin(rq, x->dentry, &x->chg);
	err = __vfs_removexattr_locked(rdmafsd_idmap(rq->exp), x->dentry, x->name, &delegated);
	rdmafsd_change_end(&x->chg);
	if (!err)
		rdmafsd_change_keep(&x->chg);
	inode_unlock(inode);
	return rdmafsd_deleg_end(&delegated, err);
}

static int rdmafsd_op_removexattr(struct rdmafsd_rq *rq)
{
	struct rdmafsd_xattr x;
	int err;

	err = rdmafsd_xattr_begin(rq, &x);
	if (!err)
		err = rdmafsd_rq_want_write(rq);
	if (err)
		return err;
	err = rdmafsd_xattr_ask(rq, &x);
	if (!err)
		err = rdmafsd_xattr_remove(rq, &x);
	rdmafsd_rq_drop_write(rq);
	return err ? err : rdmafsd_xattr_changed(rq, &x);
}

const struct rdmafsd_op rdmafsd_removexattr_op = {
	RDMAFSD_FIXED(struct rfp_req),
	.parts = { RDMAFSD_PART_FH, RDMAFSD_PART_XATTR },
	.fn = rdmafsd_op_removexattr,
};

/* Drop names that GETXATTR would refuse; returns the length that is left. */
static size_t rdmafsd_xattr_filter(const struct rdmafsd_export *exp, char *list, size_t len)
{
	size_t in = 0, out = 0;

	while (in < len) {
		size_t n = strnlen(list + in, len - in);

		if (in + n == len)
			break;
		if (rdmafsd_xattr_offered(exp, list + in)) {
			memmove(list + out, list + in, n + 1);
			out += n + 1;
		}
		in += n + 1;
	}
	return out;
}

static int rdmafsd_op_listxattr(struct rdmafsd_rq *rq)
{
	size_t room = rdmafsd_xattr_room(rq);
	char *list;
	ssize_t len;

	/*
	 * Always read the list: if only the size is asked for, it must be that of the filtered
	 * list.
	 */
	list = kvmalloc(XATTR_LIST_MAX, GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	len = vfs_listxattr(rq->obj[0], list, XATTR_LIST_MAX);
	if (len == -ERANGE)
		len = -E2BIG;
	if (len >= 0) {
		len = rdmafsd_xattr_filter(rq->exp, list, len);
		if (room && len > room)
			len = -ERANGE;
		else
			len = rdmafsd_xattr_reply(rq, room ? list : NULL, len);
	}
	kvfree(list);
	return len;
}

const struct rdmafsd_op rdmafsd_listxattr_op = {
	RDMAFSD_PADDED(struct rfp_getxattr_req),
	.parts = { RDMAFSD_PART_FH },
	.as = RDMAFSD_AS_CALLER,
	.flags = RDMAFS_REPLY_NOCACHE,
	.fn = rdmafsd_op_listxattr,
};
