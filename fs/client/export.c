// SPDX-License-Identifier: GPL-2.0
/*
 * File handles for name_to_handle_at(2), and for servers that export the mount again, knfsd say.
 *
 * A handle of the client holds the server's handle, and what it takes to find the inode in memory
 * without a request:
 *
 *	__le64	inode number, XORed with the first 8 bytes of the export's fsid
 *	...	the server's handle
 *	...	up to 3 bytes of 0: handles are made of 32-bit words
 *
 * The handle's type, a byte, tells the type of the object and the number of bytes of 0.  The
 * handle is that short because NFSv3 has 64 bytes for all of a handle, knfsd's part included.
 *
 * Handles come from user space and from NFS clients, so that nothing in them is believed: either
 * all of a handle is that of an inode in memory, or the server is asked, which knows its own handle
 * by a MAC, and its answer must have the inode number and the type that the handle says.  The XOR
 * makes the handle of another export one with a wrong number, although the server knows the
 * handle in it.  The fsid outlives a restart of the server, and so do handles.
 *
 * A handle names no directory, so that nothing can be said about the path to it: subtree_check is
 * refused.  A file that has no name any more is found while it is in memory here, which it is as
 * long as it is open here.
 *
 * Credentials.  A handle is decoded as root, not as the current task.  Its rights are checked on
 * the object that is found, not on the way to it; and a thread of knfsd has those of the
 * request before, if any.  If the server doesn't let root through (root_squash), exportfs asks
 * once more, as the current task.
 */
#include <linux/cred.h>
#include <linux/exportfs.h>
#include <linux/namei.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include "client.h"
#include "dir.h"
#include "op.h"

/* Types of handles; include/linux/exportfs.h has those of other file systems. */
#define RDMAFS_FID_TYPE		0xc0	/* set in all of them */
#define RDMAFS_FID_TYPE_MASK	0xc0
#define RDMAFS_FID_FMT_SHIFT	2	/* four bits: S_IFMT >> 12 */
#define RDMAFS_FID_FMT_MASK	0xf
#define RDMAFS_FID_PAD_MASK	0x3	/* bytes of 0 at the end */
#define RDMAFS_FMT_SHIFT	12

#define RDMAFS_FID_INO_WORDS	(sizeof(__le64) / sizeof(u32))
#define RDMAFS_FID_WORDS_MAX	(RDMAFS_FID_INO_WORDS + RFP_FH_MAX / sizeof(u32))

static_assert(RFP_FH_MAX % sizeof(u32) == 0);
static_assert(S_IFMT >> RDMAFS_FMT_SHIFT == RDMAFS_FID_FMT_MASK);
/* exportfs's buffer for a name has NAME_MAX + 1 bytes. */
static_assert(RFP_NAME_MAX <= NAME_MAX);

/* More levels of directories than this are not connected: a server may claim any number. */
#define RDMAFS_LEVELS_MAX	PATH_MAX

static const struct cred *rdmafs_own_cred;

/**
 * struct rdmafs_fid - what a handle says
 * @fh:	  the server's handle
 * @ino:  inode number
 * @type: type of the object, bits of S_IFMT
 */
struct rdmafs_fid {
	struct rfp_fh fh;
	u64 ino;
	umode_t type;
};

static u64 rdmafs_fid_mask(struct super_block *sb)
{
	return get_unaligned_le64(sb->s_uuid.b);
}

static int rdmafs_encode_fh(struct inode *inode, __u32 *raw, int *max_len, struct inode *parent)
{
	const struct rfp_fh *fh = &RDMAFS_I(inode)->fh;
	int words = RDMAFS_FID_INO_WORDS + DIV_ROUND_UP(fh->len, sizeof(u32));
	int room = *max_len;
	unsigned int pad;

	/* @raw may be NULL if there is no room. */
	*max_len = words;
	if (room < words)
		return FILEID_INVALID;
	raw[words - 1] = 0;
	put_unaligned_le64(inode->i_ino ^ rdmafs_fid_mask(inode->i_sb), raw);
	memcpy(raw + RDMAFS_FID_INO_WORDS, fh->data, fh->len);
	pad = (words - RDMAFS_FID_INO_WORDS) * sizeof(u32) - fh->len;
	return RDMAFS_FID_TYPE | pad |
	       (inode->i_mode & S_IFMT) >> RDMAFS_FMT_SHIFT << RDMAFS_FID_FMT_SHIFT;
}

/* Take a handle apart, of which nothing has been checked; false if it can't be one of ours. */
static bool rdmafs_fid_decode(struct super_block *sb, const u32 *raw, int words, int type,
			      struct rdmafs_fid *f)
{
	unsigned int pad = type & RDMAFS_FID_PAD_MASK;

	if (type < 0 || type >= FILEID_INVALID ||
	    (type & RDMAFS_FID_TYPE_MASK) != RDMAFS_FID_TYPE)
		return false;
	if (words <= (int)RDMAFS_FID_INO_WORDS || words > (int)RDMAFS_FID_WORDS_MAX)
		return false;
	f->type = (type >> RDMAFS_FID_FMT_SHIFT & RDMAFS_FID_FMT_MASK) << RDMAFS_FMT_SHIFT;
	f->ino = get_unaligned_le64(raw) ^ rdmafs_fid_mask(sb);
	/* At least one word and at most three bytes less: not empty. */
	f->fh.len = (words - RDMAFS_FID_INO_WORDS) * sizeof(u32) - pad;
	memcpy(f->fh.data, raw + RDMAFS_FID_INO_WORDS, f->fh.len);
	/* The server would find an object of another export by it, too. */
	if (f->fh.len < RFP_FH_EXPORT || memcmp(f->fh.data, RDMAFS_S(sb)->root_fh.data,
						RFP_FH_EXPORT))
		return false;
	return !memchr_inv((const u8 *)(raw + words) - pad, 0, pad);
}

/* Ask the server for the object of a handle. */
static struct inode *rdmafs_fid_ask(struct super_block *sb, const struct rdmafs_fid *f)
{
	const struct rfp_attr *attr;
	struct rdmafs_op *op;
	struct inode *inode;
	struct rfp_dec dec;
	int err;

	op = rdmafs_op_new(RDMAFS_S(sb), RFP_GETATTR, sizeof(struct rfp_getattr_req));
	if (IS_ERR(op))
		return ERR_CAST(op);
	rfp_enc_fh(&op->enc, &f->fh);
	err = rdmafs_op_run(op);
	if (err) {
		inode = ERR_PTR(err);
		goto out;
	}
	rdmafs_op_reply(op, &dec, sizeof(struct rfp_rep));
	attr = rfp_dec_fixed(&dec, sizeof(*attr));
	if (rfp_dec_end(&dec) || rdmafs_attr_check(sb, attr))
		inode = ERR_PTR(-EIO);
	else if ((unsigned long)le64_to_cpu(attr->ino) != (unsigned long)f->ino ||
		 (le32_to_cpu(attr->mode) & S_IFMT) != f->type || !attr->nlink)
		inode = ERR_PTR(-ESTALE);
	else
		inode = rdmafs_iget(sb, &f->fh, attr, NULL, op->clock);
out:
	rdmafs_op_put(op);
	return inode;
}

static struct inode *rdmafs_fid_inode(struct super_block *sb, const struct rdmafs_fid *f)
{
	struct inode *inode = rdmafs_ilookup(sb, &f->fh, f->ino, f->type);

	if (inode && !test_bit(RDMAFS_I_STALE, &RDMAFS_I(inode)->flags))
		return inode;
	/* A stale object is otherwise asked for by its name, when that is next looked up. */
	if (inode)
		iput(inode);
	return rdmafs_fid_ask(sb, f);
}

static struct dentry *rdmafs_get_parent(struct dentry *child)
{
	static const struct qstr up = QSTR_INIT("..", 2);
	struct inode *dir = d_inode(child), *inode;
	struct rdmafs_found found = { .labels = true };
	struct rdmafs_op *op;
	int err;

	err = rdmafs_lookup_send(dir, &up, &found, &op);
	if (err)
		inode = ERR_PTR(err);
	else if (!S_ISDIR(le32_to_cpu(found.attr->mode)))
		inode = ERR_PTR(-EIO);
	else
		inode = rdmafs_found_inode(dir->i_sb, &found);
	if (op)
		rdmafs_op_put(op);
	return d_obtain_alias(inode);
}

/*
 * Is the entry that of the object?  The inode number of an entry may be another one than in the
 * attributes (a subvolume of btrfs, say); but a server need not send a handle with each entry.
 */
static bool rdmafs_entry_is(const struct rfp_dirent_view *ent, struct inode *inode)
{
	if (ent->fh.len)
		return rdmafs_same_fh(inode, &ent->fh);
	return (unsigned long)ent->ino == inode->i_ino;
}

/*
 * Look for the name of an object in a listing: 1: @name has it; 0: it is not there, and @l->cookie
 * is where the listing ends; or -EIO.
 */
static int rdmafs_name_find(struct rdmafs_listing *l, struct inode *inode, char *name)
{
	struct rfp_dirent_view ent;
	struct rfp_dec dec;
	int ret;

	rfp_dec_init(&dec, l->data, l->count);
	for (ret = rfp_dec_dirent(&dec, &ent); ret == 1; ret = rfp_dec_dirent(&dec, &ent)) {
		l->cookie = ent.cookie;
		if (!rdmafs_entry_is(&ent, inode))
			continue;
		memcpy(name, ent.name.s, ent.name.len);
		name[ent.name.len] = '\0';
		return 1;
	}
	return ret ? -EIO : 0;
}

/* In the place of exportfs's own, which knows no handles and compares inode numbers. */
static int rdmafs_get_name(struct dentry *parent, char *name, struct dentry *child)
{
	struct inode *dir = d_inode(parent);
	struct rdmafs_listing l = { .plus = true };
	struct rdmafs_op *op;
	int ret;

	do {
		op = rdmafs_op_new(RDMAFS_S(dir->i_sb), RFP_READDIR,
				   sizeof(struct rfp_readdir_req));
		if (IS_ERR(op))
			return PTR_ERR(op);
		ret = rdmafs_dir_ask(dir, op, true, &l);
		rdmafs_op_put(op);
		if (ret)
			return ret;
		ret = rdmafs_name_find(&l, d_inode(child), name);
		kvfree(l.data);
		if (ret)
			return ret == 1 ? 0 : ret;
		/* The answers may have been there whenever this task came to wait for them. */
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	} while (!l.eof);
	return -ENOENT;
}

/* Give a directory without a name here the one that it has in @parent; @name is a buffer. */
static int rdmafs_connect_one(struct dentry *parent, struct dentry *dentry, char *name)
{
	struct dentry *found;
	int err;

	err = rdmafs_get_name(parent, name, dentry);
	if (err)
		return err;
	/* As each lookup of a directory's name, this moves the dentry that the directory has. */
	found = lookup_one_unlocked(&nop_mnt_idmap, name, parent, strlen(name));
	if (IS_ERR(found))
		return PTR_ERR(found);
	err = found == dentry ? 0 : -ENOENT;
	dput(found);
	return err;
}

/*
 * Connect a directory to the root, as far as it is not.  exportfs finds it connected then; it does
 * the same, but as the current task, which may not search the directories on the way.
 */
static int rdmafs_connect_dir(struct dentry *dentry)
{
	struct dentry *parent;
	int levels = 0, err = 0;
	char *name;
	bool alone;

	name = kmalloc(NAME_MAX + 1, GFP_KERNEL);
	if (!name)
		return -ENOMEM;
	dget(dentry);
	while (!err && (dentry->d_flags & DCACHE_DISCONNECTED)) {
		if (++levels > RDMAFS_LEVELS_MAX) {
			err = -ELOOP;
			break;
		}
		alone = IS_ROOT(dentry);
		parent = alone ? rdmafs_get_parent(dentry) : dget_parent(dentry);
		if (IS_ERR(parent)) {
			err = PTR_ERR(parent);
			break;
		}
		if (alone)
			err = rdmafs_connect_one(parent, dentry, name);
		dput(dentry);
		dentry = parent;
	}
	dput(dentry);
	kfree(name);
	/* It is being moved, or the server does not let root pass: exportfs tries again. */
	return err == -ENOENT || err == -EACCES ? 0 : err;
}

/* exportfs makes ESTALE of NULL. */
static struct dentry *rdmafs_fh_to_dentry(struct super_block *sb, struct fid *fid, int fh_len,
					  int fh_type)
{
	const struct cred *saved;
	struct dentry *dentry;
	struct rdmafs_fid f;
	int err;

	if (!rdmafs_fid_decode(sb, fid->raw, fh_len, fh_type, &f))
		return NULL;
	saved = override_creds(rdmafs_own_cred);
	dentry = d_obtain_alias(rdmafs_fid_inode(sb, &f));
	if (!IS_ERR(dentry) && d_is_dir(dentry)) {
		err = rdmafs_connect_dir(dentry);
		if (err) {
			dput(dentry);
			dentry = ERR_PTR(err);
		}
	}
	revert_creds(saved);
	return dentry;
}

/* Nothing is left to be done: the server has changes of metadata stable before it answers. */
static int rdmafs_commit_metadata(struct inode *inode)
{
	return 0;
}

/*
 * EXPORT_OP_REMOTE_FS is not set, remote though it is.  All that knfsd makes of it is that it does
 * not spare a thread that serves an NFS mount of this machine to wait for dirty pages of that
 * mount, which this thread is needed to clean.
 *
 * EXPORT_OP_ASYNC_LOCK is not set: so lock managers ask for a lock again when they do not get it,
 * and never wait here (filelock.c).
 */
const struct export_operations rdmafs_export_ops = {
	.encode_fh	= rdmafs_encode_fh,
	.fh_to_dentry	= rdmafs_fh_to_dentry,
	.get_parent	= rdmafs_get_parent,
	.get_name	= rdmafs_get_name,
	.commit_metadata = rdmafs_commit_metadata,
	/* Other clients change an object between two looks at its attributes, */
	.flags = EXPORT_OP_NOWCC |
		 EXPORT_OP_NOATOMIC_ATTR |
		 /* a handle does not tell where the object is, */
		 EXPORT_OP_NOSUBTREECHK |
		 /* the server has to rename a file that is open, and to remove it later, */
		 EXPORT_OP_CLOSE_BEFORE_UNLINK |
		 /* and closing a file writes it back, and waits for that. */
		 EXPORT_OP_FLUSH_ON_CLOSE,
};

/**
 * rdmafs_export_init - make the credentials with which handles are decoded
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rdmafs_export_init(void)
{
	rdmafs_own_cred = prepare_kernel_cred(&init_task);
	return rdmafs_own_cred ? 0 : -ENOMEM;
}

/**
 * rdmafs_export_exit - undo rdmafs_export_init()
 *
 * Context: process.
 */
void rdmafs_export_exit(void)
{
	put_cred(rdmafs_own_cred);
}
