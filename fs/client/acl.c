// SPDX-License-Identifier: GPL-2.0
/*
 * POSIX ACLs are read and written as extended attributes here; the VFS caches them.
 *
 * The cache is dropped whenever another client has changed the object (attr.c).
 * The server makes a new object inherit the default ACL of its directory.
 */
#include <linux/fs.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/slab.h>
#include "client.h"

static const char *rdmafs_acl_name(int type)
{
	return type == ACL_TYPE_ACCESS ? XATTR_NAME_POSIX_ACL_ACCESS :
					 XATTR_NAME_POSIX_ACL_DEFAULT;
}

/**
 * rdmafs_get_inode_acl - get an ACL: inode_operations.get_inode_acl
 * @inode: the object
 * @type:  ACL_TYPE_*
 * @rcu:   the caller may not sleep
 *
 * Context: process, may sleep; RCU walk with @rcu.
 * Return: the ACL, NULL if there is none, or an ERR_PTR(); -ECHILD with @rcu.
 */
struct posix_acl *rdmafs_get_inode_acl(struct inode *inode, int type, bool rcu)
{
	struct posix_acl *acl;
	void *value;
	int size;

	if (rcu)
		return ERR_PTR(-ECHILD);
	if (!IS_POSIXACL(inode))
		return ERR_PTR(-EOPNOTSUPP);
	if (!(READ_ONCE(RDMAFS_I(inode)->attr_flags) & RFP_ATTR_ACL))
		return NULL;
	/* One entry is 8 bytes: most ACLs fit in a message, and need one request. */
	value = kmalloc(RDMAFS_XPRT_INLINE_MAX, GFP_KERNEL);
	if (!value)
		return ERR_PTR(-ENOMEM);
	size = rdmafs_getxattr(inode, rdmafs_acl_name(type), value, RDMAFS_XPRT_INLINE_MAX);
	if (size == -ERANGE) {
		kfree(value);
		value = kmalloc(RFP_XATTR_SIZE_MAX, GFP_KERNEL);
		if (!value)
			return ERR_PTR(-ENOMEM);
		size = rdmafs_getxattr(inode, rdmafs_acl_name(type), value, RFP_XATTR_SIZE_MAX);
	}
	if (size > 0)
		acl = posix_acl_from_xattr(&init_user_ns, value, size);
	else if (!size || size == -ENODATA || size == -EOPNOTSUPP)
		acl = NULL;
	else
		acl = ERR_PTR(size);
	kfree(value);
	return acl;
}

/**
 * rdmafs_set_acl - set or remove an ACL: inode_operations.set_acl
 * @idmap:  of the mount
 * @dentry: the object
 * @acl:    the ACL, NULL to remove it
 * @type:   ACL_TYPE_*
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int rdmafs_set_acl(struct mnt_idmap *idmap, struct dentry *dentry, struct posix_acl *acl,
		   int type)
{
	struct inode *inode = d_inode(dentry);
	void *value;
	int size, err;

	if (type == ACL_TYPE_DEFAULT && !S_ISDIR(inode->i_mode))
		return acl ? -EACCES : 0;
	err = rdmafs_idmap_tell(RDMAFS_M(inode->i_sb), idmap, false);
	if (!err)
		err = rdmafs_idmap_may_write(idmap, inode);
	if (err)
		return err;
	if (!acl) {
		err = rdmafs_removexattr(inode, rdmafs_acl_name(type));
		if (err == -ENODATA)
			err = 0;
	} else {
		size = posix_acl_xattr_size(acl->a_count);
		value = kmalloc(size, GFP_KERNEL);
		if (!value)
			return -ENOMEM;
		err = posix_acl_to_xattr(&init_user_ns, acl, value, size);
		if (err >= 0)
			err = rdmafs_setxattr(inode, rdmafs_acl_name(type), value, size, 0);
		kfree(value);
	}
	/* The server may have made it a part of the mode, so that there is none now. */
	forget_all_cached_acls(inode);
	return err;
}
