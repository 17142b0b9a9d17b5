// SPDX-License-Identifier: GPL-2.0
/*
 * Files that are made without a name: open(2) with O_TMPFILE.
 *
 * The server makes the file, opens it and keeps it as it keeps a file that has lost its last name,
 * also over the loss of the session.  Its link count is 0.  The VFS lets link(2) give it a name
 * as long as the inode is I_LINKABLE, which the VFS sets unless the file was made with O_EXCL, and
 * clears with the first link.  The server keeps the same account.
 *
 * If the answer is lost with the session the file is made again: no client knows of the first one,
 * which the server removes when its client's time to come back for it is over.
 */
#include <linux/fs.h>
#include "client.h"
#include "dir.h"
#include "op.h"
#include "open.h"

/**
 * struct rdmafs_tmpfile - a file without a name, as the server has opened it
 * @flags: RFP_OPEN_* that it was opened with
 * @rep:   the reply that granted the open, inside the op
 * @fh:    handle of the file
 * @attr:  its attributes, checked, inside the op
 * @label: its security label; @told what the server says of it, inside the op
 * @told:  likewise
 */
struct rdmafs_tmpfile {
	u32 flags;
	const struct rfp_open_rep *rep;
	struct rfp_fh fh;
	const struct rfp_attr *attr;
	struct rdmafs_seclabel label;
	struct rfp_str told;
};

/* Take the reply apart: 0 or -EIO. */
static int rdmafs_tmpfile_decode(struct rdmafs_op *op, struct super_block *sb,
				 struct rdmafs_tmpfile *t)
{
	struct rfp_dec dec;

	t->rep = rdmafs_op_reply(op, &dec, sizeof(*t->rep));
	t->attr = rfp_dec_fixed(&dec, sizeof(*t->attr));
	rfp_dec_fh(&dec, &t->fh);
	rdmafs_seclabel_decode(op, &dec, &t->told);
	if (rfp_dec_end(&dec) || rdmafs_attr_check(sb, t->attr) ||
	    !S_ISREG(le32_to_cpu(t->attr->mode)))
		return -EIO;
	return rdmafs_open_rep_check(t->rep, RFP_OPEN_CREATED);
}

/* Send TMPFILE; on success the caller has to close what the server has opened, or to use it. */
static int rdmafs_tmpfile_ask(struct rdmafs_op *op, struct inode *dir, umode_t mode, bool excl,
			      struct rdmafs_tmpfile *t)
{
	struct rfp_create_req *req = (struct rfp_create_req *)op->req;
	int err;

	req->mode = cpu_to_le32(mode & S_IALLUGO);
	req->umask = cpu_to_le32(current_umask());
	req->flags = cpu_to_le32(t->flags);
	req->how = cpu_to_le32(excl ? RFP_CREATE_EXCL : 0);
	rfp_enc_fh(&op->enc, &RDMAFS_I(dir)->fh);
	rdmafs_seclabel_send(op, dir->i_sb, &t->label);
	op->closes = true;
	err = rdmafs_op_run(op);
	if (err)
		return err;
	err = rdmafs_tmpfile_decode(op, dir->i_sb, t);
	if (err)
		rdmafs_open_undo(op);
	return err;
}

/* Make the inode and the open of what the server has opened; the inode is the caller's. */
static struct inode *rdmafs_tmpfile_inode(struct super_block *sb, struct rdmafs_op *op,
					  const struct rdmafs_tmpfile *t,
					  struct rdmafs_open **openp)
{
	struct inode *inode = rdmafs_iget(sb, &t->fh, t->attr, &t->told, op->clock);
	int err;

	if (IS_ERR(inode)) {
		rdmafs_open_undo(op);
		return inode;
	}
	*openp = rdmafs_open_new(inode, op->cred, t->flags, t->rep, op->answered);
	if (!IS_ERR(*openp))
		return inode;
	err = PTR_ERR(*openp);
	rdmafs_open_undo(op);
	iput(inode);
	return ERR_PTR(err);
}

/**
 * rdmafs_tmpfile - make a file without a name and open it: inode_operations.tmpfile
 * @idmap: of the mount
 * @dir:   the directory that the file is made for
 * @file:  the file to be opened; its dentry is a new one without a name
 * @mode:  permissions
 *
 * Context: process, may sleep; the wait is killable.
 * Return: 0; -EOPNOTSUPP: the server can't make such a file there; -EOVERFLOW: the caller has no id
 * in the file system; or another negative errno.
 */
int rdmafs_tmpfile(struct mnt_idmap *idmap, struct inode *dir, struct file *file, umode_t mode)
{
	struct rdmafs_tmpfile t = { .flags = rdmafs_open_flags(file) };
	struct rdmafs_open *open = NULL;
	struct inode *inode;
	struct rdmafs_op *op;
	int err;

	err = rdmafs_idmap_tell(RDMAFS_M(dir->i_sb), idmap, false);
	if (err)
		return err;
	/* For files with names the VFS checks this. */
	if (!rdmafs_idmap_owns(dir))
		return -EOVERFLOW;
	err = rdmafs_seclabel_new(file->f_path.dentry, S_IFREG, &t.label);
	if (err)
		return err;
	op = rdmafs_op_new(RDMAFS_S(dir->i_sb), RFP_TMPFILE, sizeof(struct rfp_create_req));
	if (IS_ERR(op)) {
		rdmafs_seclabel_free(&t.label);
		return PTR_ERR(op);
	}
	err = rdmafs_tmpfile_ask(op, dir, mode, file->f_flags & O_EXCL, &t);
	rdmafs_seclabel_free(&t.label);
	inode = err ? ERR_PTR(err) : rdmafs_tmpfile_inode(dir->i_sb, op, &t, &open);
	/* The calls below may need ops, and a task must not hold one while it waits for another. */
	rdmafs_op_put(op);
	if (IS_ERR(inode))
		return PTR_ERR(inode);
	/* Not d_tmpfile(), which takes a link away: the server has told the link count, 0. */
	d_mark_tmpfile(file, inode);
	rdmafs_dentry_fresh(file->f_path.dentry, RDMAFS_NAME_NEVER);
	d_instantiate(file->f_path.dentry, inode);
	rdmafs_file_attach(file, open);
	/* Once finish_open() has opened the file, its release puts the open. */
	err = finish_open(file, file->f_path.dentry, rdmafs_file_open_atomic);
	if (err && !(file->f_mode & FMODE_OPENED)) {
		rdmafs_file_attach(file, NULL);
		rdmafs_open_put_sync(open);
	}
	return err;
}
