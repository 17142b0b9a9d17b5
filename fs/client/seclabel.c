// SPDX-License-Identifier: GPL-2.0
/*
 * Security labels of objects that the server keeps (mount option security_label).
 *
 * SELinux has the label of each inode in memory.  For a mount that has native labels it gets the
 * label in one of three ways:
 *	- A reply that leads to a new inode tells it (RFP_REQ_LABEL), and SELinux is told before
 *	  a task finds the inode.  Of a root, SELinux asks when it begins with the superblock, and
 *	  gets what the reply told.
 *	- SELinux asks for security.selinux when it needs a label that it does not have: the reply
 *	  told none (it was too long, or the inode comes from a handle), it is no label by the
 *	  policy that is loaded, or another client has changed the object.  In the last case
 *	  rdmafs_seclabel_settle() has said that the label may be another by now.  A label is
 *	  thus believed for as long as the attributes are.
 *	- A process on this machine has set it, by setxattr(2).
 *
 * A new object gets the label that the policy here wants, with the request that makes it.
 *
 * The root of a superblock that has options of the module (rootcontext= and others) keeps the label
 * that it got when it was mounted.  The module looks at that label with spin locks held, when
 * another mount may share the superblock, and under locks of the VFS that others wait for, when
 * /proc/mounts is read: it must have no reason to ask then.  And rootcontext= is to hold.
 *
 * SELinux may ask wherever it looks at an inode.  So a task that holds an op, of which the pool may
 * have but one, must not enter an inode in the dcache before it has put the op.
 */
#include <linux/fs_context.h>
#include <linux/security.h>
#include <linux/string.h>
#include <linux/xattr.h>
#include "client.h"
#include "op.h"
#include "options.h"

/* The options of the mount say how its root is labelled, or may be shown with its label. */
static void rdmafs_seclabel_keep(struct super_block *sb)
{
	set_bit(RDMAFS_I_LABEL_KEPT, &RDMAFS_I(d_inode(sb->s_root))->flags);
}

/**
 * rdmafs_seclabel_begin - have the security module take the labels of the server
 * @fc: the context of the mount
 * @sb: the superblock, which has its root, and no user yet
 * @label: the root's label, as ATTACH or CROSS has told it
 *
 * For a mount with the option security_label, or a file system below one, whose export has labels.
 * The module does not, if there is none that knows such labels, or if the mount gives all objects
 * one label (context=).
 *
 * It asks for the root's label, and is given @label: s_umount is held, and each sync(2) would wait
 * for the server otherwise.
 *
 * Context: process, may sleep.  The server is not asked.
 * Return: 0; -EIO: the server could not tell the root's label; or an errno of the module: it
 * refuses the options that it has of this mount.
 */
int rdmafs_seclabel_begin(struct fs_context *fc, struct super_block *sb,
			  const struct rfp_str *label)
{
	struct rdmafs_super *super = RDMAFS_S(sb);
	unsigned long taken = 0;
	int err;

	super->seclabel = true;
	if (fc->security)
		rdmafs_seclabel_keep(sb);
	super->root_label = label;
	err = security_sb_set_mnt_opts(sb, fc->security, SECURITY_LSM_NATIVE_LABELS, &taken);
	super->root_label = NULL;
	if (err == -EIO && !label->s)
		errorfc(fc, "the server can't tell the security label of the root");
	if (!(taken & SECURITY_LSM_NATIVE_LABELS)) {
		super->seclabel = false;
		if (!err && fc->security)
			infofc(fc, "security_label: other options give this mount its labels");
		else if (!err)
			infofc(fc, "security_label: no security module here takes such labels");
	}
	return err;
}

/**
 * rdmafs_seclabel_below - give a file system below a mount the security options of the one above
 * @fc:    the context of the file system below, with its root; s_umount is held
 * @above: the superblock that was crossed from
 * @label: the root's label, as CROSS has told it, if the mount has labels
 *
 * Options (context= and others) are copied: that is the business of no permission of the task,
 * which does no more than walk.  If there are none, or only one for the root of the mount
 * (rootcontext=), the module begins anew; from a copy of that one the VFS, which tells the module
 * the options that @fc has, would conclude that others were meant.
 *
 * There are labels if the mount has them, and the export below says so itself: its file system may
 * be one that can't have them, and then its objects have the label that the policy has for such.
 *
 * A task that has found the same superblock meanwhile waits for s_umount, and does not use the
 * superblock if this fails (rdmafs_super.ready).
 *
 * Context: as of rdmafs_seclabel_begin().
 * Return: as of rdmafs_seclabel_begin().
 */
int rdmafs_seclabel_below(struct fs_context *fc, const struct super_block *above,
			  const struct rfp_str *label)
{
	struct super_block *sb = fc->root->d_sb;
	struct rdmafs_super *super = RDMAFS_S(sb);
	unsigned long ask = 0, taken = 0;
	int err;

	if (super->mnt->super.seclabel && (super->export_flags & RFP_EXPORT_LABEL))
		ask = SECURITY_LSM_NATIVE_LABELS;
	if (!fc->security)
		return ask ? rdmafs_seclabel_begin(fc, sb, label) : 0;
	super->seclabel = ask;
	rdmafs_seclabel_keep(sb);
	super->root_label = label;
	err = security_sb_clone_mnt_opts(above, sb, ask, &taken);
	super->root_label = NULL;
	super->seclabel = taken & SECURITY_LSM_NATIVE_LABELS;
	/* The module does not tell, and would ask for the label later, wherever that may be. */
	if (!err && super->seclabel && !label->s)
		err = -EIO;
	return err;
}

/**
 * rdmafs_seclabel_first - tell the security module the first label of an inode
 * @inode: the inode, I_NEW
 * @label: what a reply told, as of rfp_dec_label_told(), or NULL
 *
 * If this is no label by the policy here the module asks for it later, and does with it what it
 * does with such a label on a disk.  That there is none it can't be told, and asks, too; but the
 * server need not be asked then.
 *
 * Context: process, may sleep.
 */
void rdmafs_seclabel_first(struct inode *inode, const struct rfp_str *label)
{
	if (!label || !label->s || !RDMAFS_S(inode->i_sb)->seclabel)
		return;
	if (label->len)
		security_inode_notifysecctx(inode, (void *)label->s, label->len);
	else
		set_bit(RDMAFS_I_UNLABELLED, &RDMAFS_I(inode)->flags);
}

/**
 * rdmafs_seclabel_doubt - note that another client may have changed an object's label
 * @inode: the object
 *
 * To be followed by rdmafs_seclabel_settle(), here or when its attributes are next looked at.
 *
 * Context: any.
 */
void rdmafs_seclabel_doubt(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);

	if (!RDMAFS_S(inode->i_sb)->seclabel)
		return;
	clear_bit(RDMAFS_I_UNLABELLED, &ri->flags);
	if (!test_bit(RDMAFS_I_LABEL_KEPT, &ri->flags))
		set_bit(RDMAFS_I_RELABEL, &ri->flags);
}

/*
 * The count comes first, for tasks whose request is under way (rdmafs_xattr_label()): they ask
 * again.  An answer that had come before this is dropped by the module, as it was told in the
 * meantime; unless the task stands still between the two until another one asks the server.
 */
static void rdmafs_seclabel_invalidate(struct inode *inode)
{
	atomic_inc_return(&RDMAFS_I(inode)->relabels);
	security_inode_invalidate_secctx(inode);
}

/**
 * rdmafs_seclabel_settle - have the security module ask for a label again that is in doubt
 * @inode: the object
 *
 * Context: process, no spin lock held.
 */
void rdmafs_seclabel_settle(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);

	if (!test_bit(RDMAFS_I_RELABEL, &ri->flags))
		return;
	/* Before the bit is cleared: a task that finds it clear goes on, and uses the label. */
	rdmafs_seclabel_invalidate(inode);
	/* The module may have asked since, and the bit have been set again after that. */
	if (test_and_clear_bit(RDMAFS_I_RELABEL, &ri->flags))
		rdmafs_seclabel_invalidate(inode);
}

/**
 * rdmafs_seclabel_new - find out which label a new object is to have
 * @dentry: its name, or the dentry of a file without one
 * @mode:   its type; the other bits mean nothing
 * @label:  out: the label, to be given to rdmafs_seclabel_free()
 *
 * Context: process, may wait killably for the server, which is asked for the label of the
 * directory; no op is held.
 * Return: 0; @label is empty if the server is to be sent none; -E2BIG: the label is too long; or
 * an errno of the security module.
 */
int rdmafs_seclabel_new(struct dentry *dentry, umode_t mode, struct rdmafs_seclabel *label)
{
	const char *name = NULL;
	bool sound;
	int err;

	*label = (struct rdmafs_seclabel){};
	if (!RDMAFS_S(dentry->d_sb)->seclabel)
		return 0;
	err = security_dentry_init_security(dentry, mode, &dentry->d_name, &name, &label->text,
					    &label->len);
	if (err) {
		*label = (struct rdmafs_seclabel){};
		return err == -EOPNOTSUPP ? 0 : err;
	}
	/* Before SELinux has a policy it knows names of its own, which mean nothing to others. */
	sound = name && !strcmp(name, XATTR_NAME_SELINUX) && label->len &&
		memchr(label->text, ':', label->len);
	if (sound && label->len <= RFP_LABEL_MAX)
		return 0;
	rdmafs_seclabel_free(label);
	return sound ? -E2BIG : 0;
}

/**
 * rdmafs_seclabel_free - give back a label
 * @label: of rdmafs_seclabel_new(); empty after this
 *
 * Context: process.
 */
void rdmafs_seclabel_free(struct rdmafs_seclabel *label)
{
	if (label->text)
		security_release_secctx(label->text, label->len);
	*label = (struct rdmafs_seclabel){};
}

/**
 * rdmafs_seclabel_ask - have the reply to a request tell the label of the object
 * @op: the request, which leads to an inode that may be new
 * @sb: where the object is
 *
 * Does nothing on a mount without labels.
 *
 * Context: any.
 */
void rdmafs_seclabel_ask(struct rdmafs_op *op, struct super_block *sb)
{
	struct rfp_req *req = (struct rfp_req *)op->req;

	if (RDMAFS_S(sb)->seclabel)
		req->flags |= cpu_to_le16(RFP_REQ_LABEL);
}

/**
 * rdmafs_seclabel_send - likewise, and end the request with the label of what it makes
 * @op:    the request, whose body is complete but for this
 * @sb:    where the object is to be
 * @label: of rdmafs_seclabel_new(), or empty
 *
 * Context: any.
 */
void rdmafs_seclabel_send(struct rdmafs_op *op, struct super_block *sb,
			  const struct rdmafs_seclabel *label)
{
	if (!RDMAFS_S(sb)->seclabel)
		return;
	rdmafs_seclabel_ask(op, sb);
	rfp_enc_label(&op->enc, label->text, label->len);
}

/**
 * rdmafs_seclabel_decode - take the label that ends a reply
 * @op:    the request, answered
 * @dec:   its reply, before the label
 * @label: out: the label, inside the reply, as of rfp_dec_label_told(); not told if none was asked
 *	   for
 *
 * Context: any.
 */
void rdmafs_seclabel_decode(const struct rdmafs_op *op, struct rfp_dec *dec,
			    struct rfp_str *label)
{
	const struct rfp_req *req = (const struct rfp_req *)op->req;

	*label = (struct rfp_str){};
	if (req->flags & cpu_to_le16(RFP_REQ_LABEL))
		rfp_dec_label_told(dec, label);
}
