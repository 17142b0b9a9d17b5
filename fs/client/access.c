// SPDX-License-Identifier: GPL-2.0
/*
 * Decide what a caller may do with an object, without asking the server if that can be.
 *
 * The client knows an object's owner, mode and ACL.  These settle it for most
 * callers: a caller that may not pass is refused without a request, and the server
 * checks every request that reaches it.
 *
 * The exceptions are callers that the server takes for another user, and callers
 * that capabilities of this machine let through.  Only the server can tell what
 * these may do.  It does so in the attributes of replies to LOOKUP and GETATTR, if
 * the request asks for it (RFP_REQ_ACCESS), so that walking a path costs these
 * callers no more requests than it costs others.
 *
 * An answer is kept with the inode, for the credentials that asked.  It is valid as
 * long as the attributes that came with it: until they expire, or change.  Newer ones, which
 * another caller has got, do not make it last longer.  It is not valid any more if the export maps
 * callers in another way (rules.c).
 *
 * Of a caller by an id-mapped mount (idmap.c) the server knows the ids that the caller has in the
 * file system, and decides by these.  It has to be asked wherever capabilities let the caller pass
 * here, as they count for nothing there.  Those of the machine's root do count there, though the
 * mount keeps root off objects whose ids it does not map, of which the server knows nothing.  So
 * root has to pass here as well, also where the client otherwise leaves the decision to the server:
 * when a regular file is opened.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/mnt_idmapping.h>
#include "client.h"
#include "op.h"

/*
 * Does the server see another caller than the client does?  Then only the server can tell what the
 * current task may do.  Process context, RCU walk included.
 */
static bool rdmafs_access_differs(struct super_block *sb, struct mnt_idmap *idmap)
{
	u32 flags = READ_ONCE(RDMAFS_S(sb)->export_flags);
	const struct cred *cred = current_cred();
	bool root = uid_eq(mapped_fsuid(idmap, &init_user_ns), GLOBAL_ROOT_UID);
	bool told = rdmafs_cred_reaches(idmap);

	if (flags & RFP_EXPORT_SQUASH)
		return true;
	if ((flags & RFP_EXPORT_ROOT_SQUASH) &&
	    (root || told ||
	     vfsgid_in_group_p(make_vfsgid(idmap, &init_user_ns, GLOBAL_ROOT_GID))))
		return true;
	/* Does the server know of the capabilities that count here? */
	if (idmap == &nop_mnt_idmap)
		told = rdmafs_cred_rooted();
	return !told && (cap_raised(cred->cap_effective, CAP_DAC_OVERRIDE) ||
			 cap_raised(cred->cap_effective, CAP_DAC_READ_SEARCH));
}

/**
 * rdmafs_access_ask - have the reply to a request tell what its caller may do
 * @op: a LOOKUP or GETATTR, for the current task
 * @sb: where the object is
 *
 * Does nothing if the client can tell itself.
 *
 * Context: process.
 */
void rdmafs_access_ask(struct rdmafs_op *op, struct super_block *sb)
{
	struct mnt_idmap *idmap = rdmafs_idmap_get(op->mnt);
	struct rfp_req *req = (struct rfp_req *)op->req;

	if (rdmafs_access_differs(sb, idmap))
		req->flags |= cpu_to_le16(RFP_REQ_ACCESS);
	mnt_idmap_put(idmap);
}

/**
 * rdmafs_access_note - keep what the server said about a caller's rights
 * @inode: the object, whose attributes @attr have been taken over
 * @op:	   the request, answered
 * @attr:  checked attributes of its reply
 *
 * Context: process; takes rdmafs_inode.lock.
 */
void rdmafs_access_note(struct inode *inode, struct rdmafs_op *op, const struct rfp_attr *attr)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	u32 access = le32_to_cpu(attr->access);
	unsigned int i;

	if (!(access & RFP_ACCESS_TOLD))
		return;
	spin_lock_irq(&ri->lock);
	for (i = 0; i < RDMAFS_NR_ACCESS - 1; i++)
		if (ri->access[i].serial == op->cred->serial)
			break;
	/* The newest answer comes first, and the oldest is dropped. */
	for (; i > 0; i--)
		ri->access[i] = ri->access[i - 1];
	ri->access[0].serial = op->cred->serial;
	ri->access[0].expires = ri->expires;
	ri->access[0].may = access;
	ri->access[0].rules = READ_ONCE(RDMAFS_S(inode->i_sb)->rules);
	spin_unlock_irq(&ri->lock);
}

/* RFP_ACCESS_* of these credentials; 0 if that is not known, or not any more. */
static u32 rdmafs_access_of(struct inode *inode, u64 serial)
{
	u32 rules = READ_ONCE(RDMAFS_S(inode->i_sb)->rules);
	struct rdmafs_inode *ri = RDMAFS_I(inode);
	unsigned int i;
	u32 may = 0;

	spin_lock_irq(&ri->lock);
	for (i = 0; i < RDMAFS_NR_ACCESS; i++)
		if (ri->access[i].serial == serial && ri->access[i].rules == rules &&
		    time_before(jiffies, ri->access[i].expires))
			may = ri->access[i].may;
	spin_unlock_irq(&ri->lock);
	return may;
}

static int rdmafs_access_check(struct inode *inode, int mask)
{
	struct rdmafs_cred *cred = rdmafs_cred_current(RDMAFS_M(inode->i_sb));
	u32 want = 0, may = 0;
	int err = 0;

	if (IS_ERR(cred))
		return PTR_ERR(cred);
	rdmafs_seclabel_settle(inode);
	if (!rdmafs_attr_expired(inode))
		may = rdmafs_access_of(inode, cred->serial);
	if (!may)
		err = rdmafs_attr_fetch(inode, &may);
	rdmafs_cred_put(cred);
	if (err)
		return err;
	if (mask & MAY_READ)
		want |= RFP_ACCESS_READ;
	if (mask & (MAY_WRITE | MAY_APPEND))
		want |= RFP_ACCESS_WRITE;
	if (mask & MAY_EXEC)
		want |= RFP_ACCESS_EXEC;
	return want & ~may ? -EACCES : 0;
}

/* Check by the attributes that are known: 0, -EACCES, or another errno of generic_permission(). */
static int rdmafs_access_known(struct mnt_idmap *idmap, struct inode *inode, int mask)
{
	/* The VFS has checked that before the attributes were asked for again. */
	if ((mask & MAY_WRITE) && HAS_UNMAPPED_ID(idmap, inode))
		return -EACCES;
	return generic_permission(idmap, inode, mask);
}

/*
 * May the machine's root open a regular file by an id-mapped mount?  As far as is known; if not, as
 * the server knows it.  Others are left to the server.
 */
static int rdmafs_access_open(struct mnt_idmap *idmap, struct inode *inode, int mask)
{
	int err;

	if (!rdmafs_cred_reaches(idmap))
		return 0;
	err = rdmafs_access_known(idmap, inode, mask);
	if (err != -EACCES)
		return err;
	if (mask & MAY_NOT_BLOCK)
		return -ECHILD;
	err = rdmafs_revalidate(inode, true);
	return err ?: rdmafs_access_known(idmap, inode, mask);
}

/**
 * rdmafs_access_opened - check again whether the current task may open a file
 * @file: a regular file that the server has just opened, and whose attributes have come with that
 *
 * Callers by an id-mapped mount need this: the VFS has let them pass by attributes that may have
 * been old.  No caller may write to an object that the mount does not map, and of the machine's
 * root the server knows only that it may do all.  A file that the open has made needs no check.
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int rdmafs_access_opened(struct file *file)
{
	struct mnt_idmap *idmap = file_mnt_idmap(file);
	struct inode *inode = file_inode(file);
	u32 flags = rdmafs_open_flags(file);
	int mask = MAY_OPEN;

	if (flags & RFP_OPEN_READ)
		mask |= MAY_READ;
	if (flags & RFP_OPEN_WRITE)
		mask |= MAY_WRITE;
	if (flags & RFP_OPEN_EXEC)
		mask |= MAY_EXEC;
	if (rdmafs_cred_reaches(idmap))
		return rdmafs_access_known(idmap, inode, mask);
	/* The server has let others pass, but does not know the map. */
	return (mask & MAY_WRITE) && HAS_UNMAPPED_ID(idmap, inode) ? -EACCES : 0;
}

/**
 * rdmafs_permission - check whether the current task may access an object
 * @idmap: of the mount
 * @inode: the object
 * @mask:  MAY_*
 *
 * The server checks again.  This check spares it requests that would fail, and protects what is
 * cached.  Whether a regular file may be opened is left to the server alone: OPEN is sent in any
 * case, and the server knows the present mode.
 *
 * Context: process, may sleep; RCU walk with MAY_NOT_BLOCK.
 * Return: 0 or a negative errno; -ECHILD if MAY_NOT_BLOCK is set and the server has to be asked.
 */
int rdmafs_permission(struct mnt_idmap *idmap, struct inode *inode, int mask)
{
	int err;

	err = rdmafs_idmap_tell(RDMAFS_M(inode->i_sb), idmap, mask & MAY_NOT_BLOCK);
	if (err)
		return err;
	if ((mask & MAY_OPEN) && S_ISREG(inode->i_mode))
		return rdmafs_access_open(idmap, inode, mask);
	if (rdmafs_access_differs(inode->i_sb, idmap)) {
		err = mask & MAY_NOT_BLOCK ? -ECHILD : rdmafs_access_check(inode, mask);
		if (!err && (mask & MAY_WRITE) && HAS_UNMAPPED_ID(idmap, inode))
			err = -EACCES;
		/* By export_flags, which an administrator may have changed since. */
		if (err || !rdmafs_cred_reaches(idmap))
			return err;
	}
	/* Of the label a security module makes use as soon as this has returned. */
	if (rdmafs_attr_expired(inode) || (READ_ONCE(RDMAFS_I(inode)->flags) &
					   (BIT(RDMAFS_I_STASH) | BIT(RDMAFS_I_RELABEL)))) {
		if (mask & MAY_NOT_BLOCK)
			return -ECHILD;
		err = rdmafs_revalidate(inode, false);
		if (err)
			return err;
	}
	return rdmafs_access_known(idmap, inode, mask);
}
