// SPDX-License-Identifier: GPL-2.0
/*
 * Pass extended attributes through to the server.
 *
 * The attributes of an object say whether it has any extended attributes.  If it
 * has none, a lookup is answered without a request.  This matters because the
 * kernel looks up security.capability of every file that is executed, and ls(1)
 * the ACLs of every file that it lists.
 */
#include <linux/capability.h>
#include <linux/slab.h>
#include <linux/xattr.h>
#include "client.h"
#include "op.h"
#include "unanswered.h"

/* Get the size from a reply, and copy the data unless only the size was asked for. */
static int rdmafs_xattr_take(struct rdmafs_op *op, void *value, size_t size)
{
	const struct rfp_xattr_rep *rep;
	struct rfp_dec dec;
	u32 n;

	rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
	if (rfp_dec_end(&dec) || rep->pad)
		return -EIO;
	n = le32_to_cpu(rep->size);
	if (n > RFP_XATTR_SIZE_MAX)
		return -E2BIG;
	if (!size)
		return n;
	if (n > size || n != op->call.data_len)
		return -EIO;
	memcpy(value, op->buf, n);
	return n;
}

/**
 * rdmafs_getxattr - ask the server for the value of an attribute
 * @inode: the object
 * @name:  full name
 * @value: room for the value
 * @size:  bytes of room, 0 to learn how much is needed
 *
 * Context: process, may sleep; the wait is killable.
 * Return: bytes of the value, or a negative errno.
 */
int rdmafs_getxattr(struct inode *inode, const char *name, void *value, size_t size)
{
	struct rfp_getxattr_req *req;
	struct rdmafs_op *op;
	int err;

	size = min_t(size_t, size, RFP_XATTR_SIZE_MAX);
	op = rdmafs_op_new(RDMAFS_S(inode->i_sb), RFP_GETXATTR, sizeof(*req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	req = (struct rfp_getxattr_req *)op->req;
	req->size = cpu_to_le32(size);
	rfp_enc_fh(&op->enc, &RDMAFS_I(inode)->fh);
	rfp_enc_str(&op->enc, name, strlen(name), RFP_XATTR_NAME_MAX);
	err = size ? rdmafs_op_buf(op, RDMAFS_XPRT_READ, size) : 0;
	if (!err)
		err = rdmafs_op_run(op);
	if (!err)
		err = rdmafs_xattr_take(op, value, size);
	rdmafs_op_put(op);
	return err;
}

/**
 * rdmafs_change_run - send a request whose reply consists of the attributes of what it changes
 * @op:    the request
 * @inode: the object that it changes; neither its size nor its data
 *
 * Context: process, may sleep; the wait is killable.
 * Return: 0; -EINTR if killed, and the change may be made yet; or another negative errno.
 */
int rdmafs_change_run(struct rdmafs_op *op, struct inode *inode)
{
	const struct rfp_attr *attr = NULL;
	struct rfp_dec dec;
	int err;

	rdmafs_attr_own_begin(inode);
	err = rdmafs_op_run(op);
	if (!err) {
		rdmafs_op_reply(op, &dec, sizeof(struct rfp_rep));
		attr = rfp_dec_fixed(&dec, sizeof(*attr));
		if (rfp_dec_end(&dec) || rdmafs_attr_check(inode->i_sb, attr)) {
			attr = NULL;
			err = -EIO;
		}
	}
	rdmafs_attr_own_end(inode, attr, op->clock);
	return err;
}

/* Send SETXATTR; @lost: the answer was lost with the session, and it may not be executed twice. */
static int rdmafs_setxattr_ask(struct inode *inode, const char *name, const void *value,
			       size_t size, u32 flags, bool *lost)
{
	struct rfp_setxattr_req *req;
	struct rdmafs_op *op;
	int err = 0;

	*lost = false;
	op = rdmafs_op_new(RDMAFS_S(inode->i_sb), RFP_SETXATTR, sizeof(*req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	req = (struct rfp_setxattr_req *)op->req;
	req->size = cpu_to_le32(size);
	req->flags = cpu_to_le32(flags);
	rfp_enc_fh(&op->enc, &RDMAFS_I(inode)->fh);
	rfp_enc_str(&op->enc, name, strlen(name), RFP_XATTR_NAME_MAX);
	/* A value is set whole, like a mode. */
	if (!flags)
		rdmafs_op_may_repeat(op);
	if (size) {
		err = rdmafs_op_buf(op, RDMAFS_XPRT_WRITE, size);
		if (!err)
			memcpy(op->buf, value, size);
	}
	if (!err) {
		err = rdmafs_change_run(op, inode);
		*lost = err && rdmafs_op_unanswered(op);
	}
	rdmafs_op_put(op);
	return err;
}

/* Has the attribute this value now?  If that can't be read, no. */
static bool rdmafs_xattr_is(struct inode *inode, const char *name, const void *value, size_t size)
{
	void *now = kvmalloc(size + 1, GFP_KERNEL);
	bool is;

	if (!now)
		return false;
	is = rdmafs_getxattr(inode, name, now, size + 1) == size && !memcmp(now, value, size);
	kvfree(now);
	return is;
}

/**
 * rdmafs_setxattr - set an attribute on the server
 * @inode: the object
 * @name:  full name
 * @value: its value
 * @size:  bytes of the value
 * @flags: RFP_XATTR_*
 *
 * Context: process, may sleep; the wait is killable.
 * Return: 0 or a negative errno.
 */
int rdmafs_setxattr(struct inode *inode, const char *name, const void *value, size_t size,
		    u32 flags)
{
	struct rdmafs_resolve r;
	struct rfp_attr attr;
	bool lost, there;
	int err, asked;

	if (size > RFP_XATTR_SIZE_MAX)
		return -E2BIG;
	rdmafs_resolve_begin(&r, NULL, NULL, inode);
	do {
		err = rdmafs_setxattr_ask(inode, name, value, size, flags, &lost);
		if (!lost)
			return err;
		asked = rdmafs_resolve_told(&r, RFP_SETXATTR, &attr);
		/* Of one that must be new it is not enough that it has this value. */
		there = !asked && flags == RFP_XATTR_REPLACE &&
			rdmafs_xattr_is(inode, name, value, size);
	} while (rdmafs_resolve_changed(&r, asked, there, &err));
	return err;
}

/* Send REMOVEXATTR; @lost: the answer was lost with the session. */
static int rdmafs_removexattr_ask(struct inode *inode, const char *name, bool *lost)
{
	struct rdmafs_op *op;
	int err;

	*lost = false;
	op = rdmafs_op_new(RDMAFS_S(inode->i_sb), RFP_REMOVEXATTR, sizeof(struct rfp_req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	rfp_enc_fh(&op->enc, &RDMAFS_I(inode)->fh);
	rfp_enc_str(&op->enc, name, strlen(name), RFP_XATTR_NAME_MAX);
	err = rdmafs_change_run(op, inode);
	*lost = err && rdmafs_op_unanswered(op);
	rdmafs_op_put(op);
	return err;
}

/**
 * rdmafs_removexattr - remove an attribute on the server
 * @inode: the object
 * @name:  full name
 *
 * Context: process, may sleep; the wait is killable.
 * Return: 0 or a negative errno.
 */
int rdmafs_removexattr(struct inode *inode, const char *name)
{
	struct rdmafs_resolve r;
	struct rfp_attr attr;
	bool lost, there;
	int err, asked;

	rdmafs_resolve_begin(&r, NULL, NULL, inode);
	do {
		err = rdmafs_removexattr_ask(inode, name, &lost);
		if (!lost)
			return err;
		asked = rdmafs_resolve_told(&r, RFP_REMOVEXATTR, &attr);
		there = !asked && rdmafs_getxattr(inode, name, NULL, 0) == -ENODATA;
	} while (rdmafs_resolve_changed(&r, asked, there, &err));
	return err;
}

/* Remove names that the caller may not see; returns the bytes that remain. */
static ssize_t rdmafs_list_filter(char *list, ssize_t size)
{
	char *from = list, *to = list, *end = list + size;
	size_t n;

	if (capable(CAP_SYS_ADMIN))
		return size;
	while (from < end) {
		n = strnlen(from, end - from);
		if (n == end - from)
			break;
		n++;
		if (strncmp(from, XATTR_TRUSTED_PREFIX, XATTR_TRUSTED_PREFIX_LEN)) {
			memmove(to, from, n);
			to += n;
		}
		from += n;
	}
	return to - list;
}

/**
 * rdmafs_listxattr - list the names of the attributes: inode_operations.listxattr
 * @dentry: the object
 * @list:   room for the names, each ended by a NUL
 * @size:   bytes of room, 0 to learn how much is needed
 *
 * Context: process, may sleep; the wait is killable.
 * Return: bytes of the names, or a negative errno.
 */
ssize_t rdmafs_listxattr(struct dentry *dentry, char *list, size_t size)
{
	struct inode *inode = d_inode(dentry);
	struct rfp_getxattr_req *req;
	struct rdmafs_op *op;
	ssize_t ret;

	size = min_t(size_t, size, RFP_XATTR_SIZE_MAX);
	ret = rdmafs_revalidate(inode, false);
	if (ret)
		return ret;
	if (!(READ_ONCE(RDMAFS_I(inode)->attr_flags) &
	      (RFP_ATTR_XATTRS | RFP_ATTR_ACL | RFP_ATTR_LABEL)))
		return 0;
	op = rdmafs_op_new(RDMAFS_S(inode->i_sb), RFP_LISTXATTR, sizeof(*req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	req = (struct rfp_getxattr_req *)op->req;
	req->size = cpu_to_le32(size);
	rfp_enc_fh(&op->enc, &RDMAFS_I(inode)->fh);
	ret = size ? rdmafs_op_buf(op, RDMAFS_XPRT_READ, size) : 0;
	if (!ret)
		ret = rdmafs_op_run(op);
	if (!ret)
		ret = rdmafs_xattr_take(op, list, size);
	if (ret > 0 && size)
		ret = rdmafs_list_filter(list, ret);
	rdmafs_op_put(op);
	return ret;
}

/* A label is asked for so often if others change it all the time. */
#define RDMAFS_LABEL_TRIES	8

/* The root's label as ATTACH or CROSS has told it: SELinux begins with the superblock. */
static int rdmafs_xattr_root_label(const struct rfp_str *label, void *value, size_t size)
{
	if (!label->s)
		return -EIO;
	if (!label->len)
		return -ENODATA;
	if (size && size < label->len)
		return -ERANGE;
	if (size)
		memcpy(value, label->s, label->len);
	return label->len;
}

/*
 * Get a label for SELinux.  While the answer was under way the label may have been put in doubt,
 * and another task may have begun to ask again: SELinux would take the answer that comes first, and
 * this one may be the older.  So it is asked for once more then.
 *
 * Where the server has no such attributes any more SELinux would log each attempt.  An object
 * without a label is nothing to it.
 */
static int rdmafs_xattr_label(struct inode *inode, void *value, size_t size)
{
	const struct rfp_str *root = RDMAFS_S(inode->i_sb)->root_label;
	atomic_t *relabels = &RDMAFS_I(inode)->relabels;
	int before, ret, tries = RDMAFS_LABEL_TRIES;

	/* No other task uses the superblock then, which has no other inode. */
	if (root)
		return rdmafs_xattr_root_label(root, value, size);
	if (test_bit(RDMAFS_I_UNLABELLED, &RDMAFS_I(inode)->flags))
		return -ENODATA;
	do {
		/* Before the request is sent, and again after its answer is there. */
		before = atomic_read_acquire(relabels);
		ret = rdmafs_getxattr(inode, XATTR_NAME_SELINUX, value, size);
		smp_rmb(); /* pairs with rdmafs_seclabel_invalidate() */
	} while (atomic_read(relabels) != before && --tries &&
		 (ret >= 0 || ret == -ENODATA || ret == -ERANGE));
	return ret == -EOPNOTSUPP ? -ENODATA : ret;
}

static int rdmafs_xattr_get(const struct xattr_handler *handler, struct dentry *dentry,
			    struct inode *inode, const char *name, void *value, size_t size)
{
	const char *full = xattr_full_name(handler, name);
	bool label = !strcmp(full, XATTR_NAME_SELINUX);
	u32 flags = RFP_ATTR_XATTRS;
	int err;

	/*
	 * SELinux asks, and the server in any case.  Attributes that arrived meanwhile could say
	 * that the label is in doubt, and SELinux would not take the answer.
	 */
	if (label && RDMAFS_S(inode->i_sb)->seclabel)
		return rdmafs_xattr_label(inode, value, size);
	if (label)
		flags |= RFP_ATTR_LABEL;
	err = rdmafs_revalidate(inode, false);
	if (err)
		return err;
	if (!(READ_ONCE(RDMAFS_I(inode)->attr_flags) & flags)) {
		if (handler->flags == RFP_EXPORT_XATTR &&
		    !(READ_ONCE(RDMAFS_S(inode->i_sb)->export_flags) & RFP_EXPORT_XATTR))
			return -EOPNOTSUPP;
		return -ENODATA;
	}
	return rdmafs_getxattr(inode, full, value, size);
}

static int rdmafs_xattr_set(const struct xattr_handler *handler, struct mnt_idmap *idmap,
			    struct dentry *dentry, struct inode *inode, const char *name,
			    const void *value, size_t size, int flags)
{
	const char *full = xattr_full_name(handler, name);
	u32 how = 0;
	int err;

	err = rdmafs_idmap_tell(RDMAFS_M(inode->i_sb), idmap, false);
	if (!err)
		err = rdmafs_idmap_may_write(idmap, inode);
	if (err)
		return err;
	if (!value)
		return rdmafs_removexattr(inode, full);
	if (flags & XATTR_CREATE)
		how |= RFP_XATTR_CREATE;
	if (flags & XATTR_REPLACE)
		how |= RFP_XATTR_REPLACE;
	err = rdmafs_setxattr(inode, full, value, size, how);
	/* SELinux takes this label now, though another client may have set another since. */
	if (!strcmp(full, XATTR_NAME_SELINUX))
		rdmafs_seclabel_doubt(inode);
	return err;
}

static const struct xattr_handler rdmafs_xattr_user = {
	.prefix	= XATTR_USER_PREFIX,
	.flags	= RFP_EXPORT_XATTR,
	.get	= rdmafs_xattr_get,
	.set	= rdmafs_xattr_set,
};

static const struct xattr_handler rdmafs_xattr_trusted = {
	.prefix	= XATTR_TRUSTED_PREFIX,
	.get	= rdmafs_xattr_get,
	.set	= rdmafs_xattr_set,
};

static const struct xattr_handler rdmafs_xattr_security = {
	.prefix	= XATTR_SECURITY_PREFIX,
	.get	= rdmafs_xattr_get,
	.set	= rdmafs_xattr_set,
};

const struct xattr_handler * const rdmafs_xattr_handlers[] = {
	&rdmafs_xattr_user,
	&rdmafs_xattr_trusted,
	&rdmafs_xattr_security,
	NULL
};
