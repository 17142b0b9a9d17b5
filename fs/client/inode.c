// SPDX-License-Identifier: GPL-2.0
/*
 * Make a VFS inode for a handle, and free it.
 *
 * The inode number is the server's.  An object is identified by its handle, which
 * contains a generation: if the server uses the number again for another object,
 * that object has another handle and gets another inode.
 */
#include <linux/slab.h>
#include "client.h"
#include "dir.h"
#include "open.h"

static struct kmem_cache *rdmafs_inode_cache;

static void rdmafs_inode_once(void *p)
{
	struct rdmafs_inode *ri = p;

	inode_init_once(&ri->netfs.inode);
}

/**
 * rdmafs_alloc_inode - allocate an inode: super_operations.alloc_inode
 * @sb: the mount
 *
 * Context: process, may sleep.
 * Return: the inode or NULL.
 */
struct inode *rdmafs_alloc_inode(struct super_block *sb)
{
	struct rdmafs_inode *ri = alloc_inode_sb(sb, rdmafs_inode_cache, GFP_KERNEL);

	if (!ri)
		return NULL;
	memset_after(ri, 0, netfs);
	spin_lock_init(&ri->lock);
	init_rwsem(&ri->stores);
	mutex_init(&ri->locking);
	mutex_init(&ri->recording);
	rdmafs_coh_init(&ri->coh);
	INIT_LIST_HEAD(&ri->opens);
	INIT_LIST_HEAD(&ri->uncommitted);
	INIT_DELAYED_WORK(&ri->commit_work, rdmafs_commit_work);
	return &ri->netfs.inode;
}

/**
 * rdmafs_free_inode - free an inode: super_operations.free_inode
 * @inode: the inode
 *
 * Context: after an RCU grace period; must not sleep.
 */
void rdmafs_free_inode(struct inode *inode)
{
	if (S_ISLNK(inode->i_mode))
		kfree(inode->i_link);
	kmem_cache_free(rdmafs_inode_cache, RDMAFS_I(inode));
}

/**
 * rdmafs_evict_inode - end all activity of an inode: super_operations.evict_inode
 * @inode: the inode, which has no user; netfs requests may be under way
 *
 * Context: process, may sleep.
 */
void rdmafs_evict_inode(struct inode *inode)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);

	if (S_ISREG(inode->i_mode)) {
		netfs_wait_for_outstanding_io(inode);
		cancel_delayed_work_sync(&ri->commit_work);
	}
	truncate_inode_pages_final(&inode->i_data);
	if (S_ISREG(inode->i_mode)) {
		netfs_clear_inode_writeback(inode, NULL);
		rdmafs_open_late_drop(ri);
	}
	clear_inode(inode);
}

struct rdmafs_iget {
	const struct rfp_fh *fh;
	umode_t type;
};

static int rdmafs_iget_test(struct inode *inode, void *data)
{
	const struct rdmafs_iget *want = data;

	/* An inode can't change its type: an object that has done so gets a new inode. */
	return rdmafs_same_fh(inode, want->fh) && (inode->i_mode & S_IFMT) == want->type &&
	       !is_bad_inode(inode);
}

static int rdmafs_iget_set(struct inode *inode, void *data)
{
	const struct rdmafs_iget *want = data;

	RDMAFS_I(inode)->fh = *want->fh;
	inode->i_mode = want->type;
	return 0;
}

static void rdmafs_inode_setup(struct inode *inode, const struct rfp_attr *attr)
{
	struct rdmafs_inode *ri = RDMAFS_I(inode);

	inode->i_ino = le64_to_cpu(attr->ino);
	inode->i_generation = le32_to_cpu(attr->gen);
	/* The server sets the times, not the VFS. */
	inode->i_flags |= S_NOATIME | S_NOCMTIME;
	rdmafs_attr_init(inode, attr);
	netfs_inode_init(&ri->netfs, &rdmafs_netfs_ops, false);
	switch (inode->i_mode & S_IFMT) {
	case S_IFREG:
		inode->i_op = &rdmafs_file_iops;
		inode->i_fop = &rdmafs_file_fops;
		inode->i_mapping->a_ops = &rdmafs_aops;
		/*
		 * No large folios: netfs writes back whole folios.  For one byte that is dirty it
		 * would write up to 1 MiB, over data of another client beside that byte.
		 */
		break;
	case S_IFDIR:
		inode->i_op = &rdmafs_dir_iops;
		inode->i_fop = &rdmafs_dir_fops;
		break;
	case S_IFLNK:
		inode->i_op = &rdmafs_symlink_iops;
		break;
	default:
		inode->i_op = &rdmafs_special_iops;
		init_special_inode(inode, inode->i_mode,
				   MKDEV(le32_to_cpu(attr->rdev_major),
					 le32_to_cpu(attr->rdev_minor)));
		break;
	}
}

/**
 * rdmafs_iget - get the inode of a handle
 * @sb:	   the mount
 * @fh:	   the handle
 * @attr:  attributes off the wire, unchecked
 * @label: the security label that came with them, or NULL
 * @clock: op->clock of the request that returned them
 *
 * Context: process, may sleep.
 * Return: the inode, referenced, its attributes taken over; or -EIO or -ENOMEM.
 */
struct inode *rdmafs_iget(struct super_block *sb, const struct rfp_fh *fh,
			  const struct rfp_attr *attr, const struct rfp_str *label, u64 clock)
{
	struct rdmafs_iget want = { .fh = fh };
	struct inode *inode;

	if (!fh->len || rdmafs_attr_check(sb, attr))
		return ERR_PTR(-EIO);
	want.type = le32_to_cpu(attr->mode) & S_IFMT;
	inode = iget5_locked(sb, (unsigned long)le64_to_cpu(attr->ino), rdmafs_iget_test,
			     rdmafs_iget_set, &want);
	if (!inode)
		return ERR_PTR(-ENOMEM);
	if (inode->i_state & I_NEW) {
		rdmafs_inode_setup(inode, attr);
		rdmafs_seclabel_first(inode, label);
		unlock_new_inode(inode);
	} else {
		/* The server knows the handle (again). */
		clear_bit(RDMAFS_I_STALE, &RDMAFS_I(inode)->flags);
		rdmafs_attr_fresh(inode, attr, clock);
	}
	return inode;
}

/**
 * rdmafs_ilookup - find the inode of a handle in memory
 * @sb:	  the mount
 * @fh:	  the handle
 * @ino:  its inode number
 * @type: type of the object, bits of S_IFMT
 *
 * Context: process, may sleep.
 * Return: the inode, referenced; NULL if there is none of this handle, number and type.
 */
struct inode *rdmafs_ilookup(struct super_block *sb, const struct rfp_fh *fh, u64 ino,
			     umode_t type)
{
	struct rdmafs_iget want = { .fh = fh, .type = type };
	struct inode *inode = ilookup5(sb, (unsigned long)ino, rdmafs_iget_test, &want);

	/* The number only says where to look, among inodes of others. */
	if (inode && inode->i_ino != (unsigned long)ino) {
		iput(inode);
		inode = NULL;
	}
	return inode;
}

/**
 * rdmafs_same_fh - tell whether an inode has a handle
 * @inode: the object
 * @fh:	   the handle
 *
 * Context: any.
 * Return: true if so.
 */
bool rdmafs_same_fh(struct inode *inode, const struct rfp_fh *fh)
{
	const struct rfp_fh *own = &RDMAFS_I(inode)->fh;

	return own->len == fh->len && !memcmp(own->data, fh->data, fh->len);
}

/**
 * rdmafs_inode_init - make the cache of inodes
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rdmafs_inode_init(void)
{
	rdmafs_inode_cache = kmem_cache_create("rdmafs_inode", sizeof(struct rdmafs_inode), 0,
					       SLAB_RECLAIM_ACCOUNT | SLAB_ACCOUNT,
					       rdmafs_inode_once);
	return rdmafs_inode_cache ? 0 : -ENOMEM;
}

/**
 * rdmafs_inode_exit - undo rdmafs_inode_init(), once the last inode is gone
 *
 * Context: process, may sleep.
 */
void rdmafs_inode_exit(void)
{
	/* Inodes are freed after a grace period. */
	rcu_barrier();
	kmem_cache_destroy(rdmafs_inode_cache);
}
