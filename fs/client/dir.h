/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This header declares what is done with names and directories.  Names are looked up (lookup.c),
 * changed (namei.c) and opened (by_name.c).  Directories are read (dir.c), with replies that are
 * kept for that (listing.c), or because of single names (ahead.c).
 */
#ifndef RDMAFS_CLIENT_DIR_H
#define RDMAFS_CLIENT_DIR_H

#include <linux/dcache.h>
#include "client.h"

/**
 * struct rdmafs_found - an object and its directory, from a reply
 * @labels: in: the reply is to tell the object's security label, if the mount has labels
 * @fh:	   handle of the object
 * @attr:  attributes of the object; inside the op's reply
 * @dir:   attributes of the directory; inside the op's reply
 * @label: the object's security label, as of rfp_dec_label_told(); inside the op's reply
 * @clock: op->clock of the request
 */
struct rdmafs_found {
	bool labels;
	struct rfp_fh fh;
	const struct rfp_attr *attr;
	const struct rfp_attr *dir;
	struct rfp_str label;
	u64 clock;
};

/* lookup.c */
extern const struct dentry_operations rdmafs_dentry_ops;
/* A name with this verifier, which no directory ever has, is asked for at its next use. */
#define RDMAFS_NAME_UNKNOWN	0
/* Instead of a verifier, which never comes that far: the file was made without a name. */
#define RDMAFS_NAME_NEVER	ULONG_MAX
void rdmafs_dentry_fresh(struct dentry *dentry, unsigned long verifier);
unsigned long rdmafs_dir_verifier(struct inode *dir);
int rdmafs_found_decode(struct rdmafs_op *op, struct rfp_dec *dec, struct super_block *sb,
			struct rdmafs_found *found);
int rdmafs_lookup_send(struct inode *dir, const struct qstr *name, struct rdmafs_found *found,
		       struct rdmafs_op **opp);
atomic_t *rdmafs_looking(unsigned int hash);
struct dentry *rdmafs_lookup(struct inode *dir, struct dentry *dentry, unsigned int flags);
struct inode *rdmafs_found_inode(struct super_block *sb, const struct rdmafs_found *found);

/* namei.c */
extern const struct inode_operations rdmafs_dir_iops;
extern const struct inode_operations rdmafs_symlink_iops;
int rdmafs_made(struct inode *dir, struct dentry *dentry, struct inode *inode,
		unsigned long verifier);
int rdmafs_make_file(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry,
		     umode_t mode);

/* by_name.c */
int rdmafs_open_dentry(struct dentry *dentry, u32 flags, struct rdmafs_open **openp);
int rdmafs_atomic_open(struct inode *dir, struct dentry *dentry, struct file *file,
		       unsigned int flags, umode_t mode);
int rdmafs_create(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry, umode_t mode,
		  bool excl);

/* listing.c */
#define RDMAFS_LISTING_NONE	ULONG_MAX	/* no place is known, or the reply is not kept */

/**
 * struct rdmafs_listing - a reply to READDIR, and where it is kept
 * @index:  first page of it in the directory's page cache, or RDMAFS_LISTING_NONE
 * @cookie: the reply begins after the entry with this cookie
 * @last:   the cookie of the last entry that rdmafs_dir_fetch() has entered in the dcache
 * @cred:   rdmafs_cred.serial of the caller that asked
 * @change: the directory's change cookie, which was the same before the request and in the reply
 * @data:   entries; to be freed by kvfree()
 * @count:  bytes of @data
 * @plus:   the server is asked for attributes and handles, too
 * @ahead:  it is read because of single names (ahead.c)
 * @fresh:  a kept reply is of use only if the attributes in it are still believed
 * @eof:    the directory ends with this reply
 * @cut:    rdmafs_dir_fetch() has not entered what follows @last
 * @used:   it has entered names, or renewed what is known of some
 *
 * It is on the stack of the task that reads the directory, and no other task sees it: no lock.
 */
struct rdmafs_listing {
	pgoff_t index;
	u64 cookie;
	u64 last;
	u64 cred;
	u64 change;
	void *data;
	u32 count;
	bool plus;
	bool ahead;
	bool fresh;
	bool eof;
	bool cut;
	bool used;
};

u64 rdmafs_listing_change(struct inode *dir);
u64 rdmafs_listing_cred(const struct rdmafs_op *op);
int rdmafs_listing_load(struct inode *dir, struct rdmafs_listing *l);
void rdmafs_listing_keep(struct inode *dir, struct rdmafs_listing *l, unsigned long sent);

/* dir.c */
extern const struct file_operations rdmafs_dir_fops;
int rdmafs_dir_ask(struct inode *dir, struct rdmafs_op *op, bool large, struct rdmafs_listing *l);
int rdmafs_dir_fetch(struct dentry *parent, struct rdmafs_op *op, bool large,
		     struct rdmafs_listing *l);

/* ahead.c */
void rdmafs_ahead_dir(struct dentry *parent);
void rdmafs_ahead(struct dentry *dentry);
void rdmafs_ahead_used(struct dentry *dentry);

#endif
