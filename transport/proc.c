// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/fs/rdmafs: a directory for each RNIC, each mount, each client of a server and each port
 * of a server.  Documentation/ABI/proc-rdmafs describes every line.
 *
 * A mount's files are for the network namespace that it was mounted in: a task in another one
 * gets ENOENT.
 *
 * The end of an owner (RNIC, mount, session, server) must not wait for a task that reads or
 * writes a file: the task copies from or to its own memory, which may map a file whose server is
 * dead.  But proc_remove() waits for every task that is in a method of proc's.  So rxp_proc_ops
 * has no method of ours but open, which touches no user memory: it gives the file the operations
 * in rxp_proc_fops, and takes references on the directory and the module for them.  These test,
 * with the directory's lock held, whether the owner still exists, and return EIO if not.
 */
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "transport/internal.h"

static struct proc_dir_entry *rxp_proc_root;

/* More than any quota needs; a longer write is refused as a whole. */
#define RXP_PROC_WRITE_MAX	256

struct rxp_proc_file {
	struct rxp_proc_dir *dir;
	const struct rxp_proc_kind *kind;
};

/*
 * The owner holds one reference until it ends, and each open file holds one.
 *
 * @lock: a reader keeps the owner alive; the owner takes it for writing when it ends.  No user
 * memory is touched with it held, and its holder waits for no device and no peer.
 *
 * @change: inside @lock.  It serialises writes, so that a write changes the values that it names
 * and no others, even beside another write.  A write to a file that is at_once does not take it:
 * aborting a mount does not wait for a change of its quota.
 */
struct rxp_proc_dir {
	struct kref ref;
	struct rw_semaphore lock;
	struct mutex change;		/* held during write() unless the file is at_once */
	void *owner;			/* guarded by lock; NULL: it has ended */
	const struct net *net;		/* where the files can be opened; NULL: everywhere */
	struct proc_dir_entry *entry;	/* NULL: not linked in /proc */
	int nr;				/* number of files */
	struct rxp_proc_file files[];
};

static void rxp_proc_dir_release(struct kref *ref)
{
	struct rxp_proc_dir *dir = container_of(ref, struct rxp_proc_dir, ref);

	mutex_destroy(&dir->change);
	kfree(dir);
}

static int rxp_proc_show(struct seq_file *m, void *v)
{
	const struct rxp_proc_file *f = m->private;
	int ret = -EIO;

	down_read(&f->dir->lock);
	if (f->dir->owner) {
		f->kind->show(m, f->dir->owner);
		ret = 0;
	}
	up_read(&f->dir->lock);
	return ret;
}

/* Copy a write's text without its newline; the caller frees it.  May sleep; no lock held. */
static char *rxp_proc_text(const char __user *ubuf, size_t len)
{
	char *text;

	if (!len || len > RXP_PROC_WRITE_MAX)
		return ERR_PTR(-EINVAL);
	text = memdup_user_nul(ubuf, len);
	if (IS_ERR(text))
		return text;
	if (strlen(text) != len) {
		kfree(text);
		return ERR_PTR(-EINVAL);
	}
	if (text[len - 1] == '\n')
		text[len - 1] = '\0';
	return text;
}

static ssize_t rxp_proc_write(struct file *file, const char __user *ubuf, size_t len, loff_t *pos)
{
	const struct rxp_proc_file *f = ((struct seq_file *)file->private_data)->private;
	int ret = -EIO;
	char *text;

	if (!f->kind->write)
		return -EIO;
	text = rxp_proc_text(ubuf, len);
	if (IS_ERR(text))
		return PTR_ERR(text);
	down_read(&f->dir->lock);
	if (!f->kind->at_once)
		mutex_lock(&f->dir->change);
	if (f->dir->owner)
		ret = f->kind->write(f->dir->owner, text);
	if (!f->kind->at_once)
		mutex_unlock(&f->dir->change);
	up_read(&f->dir->lock);
	kfree(text);
	return ret ? ret : len;
}

static int rxp_proc_release(struct inode *inode, struct file *file)
{
	const struct rxp_proc_file *f = ((struct seq_file *)file->private_data)->private;

	kref_put(&f->dir->ref, rxp_proc_dir_release);
	return single_release(inode, file);
}

static const struct file_operations rxp_proc_fops = {
	.owner = THIS_MODULE,
	.read_iter = seq_read_iter,
	.splice_read = copy_splice_read,
	.write = rxp_proc_write,
	.llseek = seq_lseek,
	.release = rxp_proc_release,
};

/* The owner exists: before it ends, it calls proc_remove(), which waits until this returns. */
static int rxp_proc_open(struct inode *inode, struct file *file)
{
	struct rxp_proc_file *f = pde_data(inode);
	const struct file_operations *fops;
	unsigned int nofs;
	int ret;

	if (f->dir->net && !net_eq(current->nsproxy->net_ns, f->dir->net))
		return -ENOENT;
	fops = fops_get(&rxp_proc_fops);
	if (!fops)
		return -ENODEV;
	/* Reclaim might wait for the server of another mount, and the owner's end waits for us. */
	nofs = memalloc_nofs_save();
	ret = single_open(file, rxp_proc_show, f);
	memalloc_nofs_restore(nofs);
	if (ret) {
		fops_put(fops);
		return ret;
	}
	kref_get(&f->dir->ref);
	replace_fops(file, fops);
	return 0;
}

/*
 * No other methods, such as DEFINE_PROC_SHOW_ATTRIBUTE() has: proc_remove() would wait for them as
 * well.
 */
static const struct proc_ops rxp_proc_ops = {
	.proc_open = rxp_proc_open,
	.proc_lseek = seq_lseek,	/* never called; without it the file can't seek */
};

/*
 * Take the directory out of /proc.  Afterwards no task can look it up, and each task that was in
 * open has finished.
 */
static void rxp_proc_unlink(struct rxp_proc_dir *dir)
{
	proc_remove(dir->entry);
	dir->entry = NULL;
}

/*
 * Link the directory in /proc, under a name that no other directory has.  Returns false without
 * memory.
 */
static bool rxp_proc_link(struct rxp_proc_dir *dir, const char *name)
{
	struct rxp_proc_file *f;

	dir->entry = proc_mkdir(name, rxp_proc_root);
	if (!dir->entry)
		return false;
	for (f = dir->files; f < dir->files + dir->nr; f++) {
		if (!proc_create_data(f->kind->name, f->kind->write ? 0644 : 0444, dir->entry,
				      &rxp_proc_ops, f)) {
			rxp_proc_unlink(dir);
			return false;
		}
	}
	return true;
}

/**
 * rxp_proc_remove - remove a directory
 * @dir: the directory, or NULL
 *
 * The owner is not used any more when this returns.  This does not wait until open files are
 * closed.
 *
 * Context: process, sleeps; takes @dir's lock for writing.
 */
void rxp_proc_remove(struct rxp_proc_dir *dir)
{
	if (!dir)
		return;
	rxp_proc_unlink(dir);
	down_write(&dir->lock);
	dir->owner = NULL;
	up_write(&dir->lock);
	kref_put(&dir->ref, rxp_proc_dir_release);
}

/* Make a directory that is not linked in /proc yet.  Returns NULL without memory. */
static struct rxp_proc_dir *rxp_proc_alloc(const struct net *net, const struct rxp_proc_kind *kinds,
					   int nr, void *owner)
{
	struct rxp_proc_dir *dir = kzalloc(struct_size(dir, files, nr), GFP_KERNEL);
	int i;

	if (!dir)
		return NULL;
	kref_init(&dir->ref);
	init_rwsem(&dir->lock);
	mutex_init(&dir->change);
	dir->owner = owner;
	dir->net = net;
	dir->nr = nr;
	for (i = 0; i < nr; i++) {
		dir->files[i].dir = dir;
		dir->files[i].kind = &kinds[i];
	}
	return dir;
}

/**
 * rxp_proc_make - make a directory
 * @name:  its name
 * @net:   the network namespace in which its files can be opened; NULL: all
 * @kinds: its files
 * @nr:    number of @kinds
 * @owner: what the files show; it removes the directory before it ends
 *
 * Context: process, may sleep.
 *
 * Return: the directory, or NULL without memory.
 */
struct rxp_proc_dir *rxp_proc_make(const char *name, const struct net *net,
				   const struct rxp_proc_kind *kinds, int nr, void *owner)
{
	struct rxp_proc_dir *dir = rxp_proc_alloc(net, kinds, nr, owner);

	if (dir && !rxp_proc_link(dir, name)) {
		rxp_proc_remove(dir);
		return NULL;
	}
	return dir;
}

/*
 * Guards rxp_proc_devices, and the directory and the name of each RNIC on that list.  It nests
 * inside the RDMA core's locks of devices.  Its holder may wait for a task that opens a file of a
 * directory (rxp_proc_unlink()), but not for one that reads or writes a file.
 */
static DEFINE_MUTEX(rxp_proc_devices_lock);
static LIST_HEAD(rxp_proc_devices);

/* Might a mount, a client or a port have a directory of this name, or is the name invalid? */
static bool rxp_proc_reserved(const char *name)
{
	return name[0] == '.' || strpbrk(name, "/:") || strstarts(name, "client-") ||
	       strstarts(name, "port-");
}

/*
 * Link an RNIC's directory under @name.  No two RNICs have the same name: if another one's
 * directory has it, that RNIC was renamed while it was being removed, and then rename is not
 * called for it.
 */
static int rxp_proc_link_device(struct rxp_device *rdev, const char *name,
				const struct rxp_proc_kind *kinds, int nr)
{
	struct rxp_device *other;

	lockdep_assert_held(&rxp_proc_devices_lock);
	list_for_each_entry(other, &rxp_proc_devices, proc_link) {
		if (other == rdev || !strcmp(other->proc_name, name))
			rxp_proc_unlink(other->proc);
	}
	if (rxp_proc_reserved(name))
		return -EINVAL;
	if (!rdev->proc) {
		rdev->proc = rxp_proc_alloc(NULL, kinds, nr, rdev);
		if (!rdev->proc)
			return -ENOMEM;
		list_add(&rdev->proc_link, &rxp_proc_devices);
	}
	strscpy(rdev->proc_name, name);
	return rxp_proc_link(rdev->proc, name) ? 0 : -ENOMEM;
}

/**
 * rxp_proc_name_device - give an RNIC's directory the name that the RNIC has now
 * @rdev:  the device
 * @kinds: the files of the directory
 * @nr:    number of @kinds
 *
 * The directory is made if there is none.  Open files of it stay valid.  If this fails, a warning
 * is logged, and the RNIC has no directory until it gets another name.
 *
 * Context: process, from an ib_client's add or rename: the RDMA core changes no device's
 * name until that returns, and this device's removal waits for it.
 */
void rxp_proc_name_device(struct rxp_device *rdev, const struct rxp_proc_kind *kinds, int nr)
{
	const char *name = rdev->ib->name;
	unsigned int nofs;
	int ret;

	/* Reclaim of an inode might wait for an RNIC that can't come back before this is over. */
	nofs = memalloc_nofs_save();
	mutex_lock(&rxp_proc_devices_lock);
	ret = rxp_proc_link_device(rdev, name, kinds, nr);
	mutex_unlock(&rxp_proc_devices_lock);
	memalloc_nofs_restore(nofs);
	if (ret)
		pr_warn("rdmafs: %s has no directory in /proc/fs/rdmafs: %s\n", name,
			ret == -EINVAL ? "what is no RNIC might have that name" : "no memory");
}

/**
 * rxp_proc_remove_device - remove an RNIC's directory
 * @rdev: the device; it is being removed, and has no other users
 *
 * Context: process, sleeps, as rxp_proc_remove().
 */
void rxp_proc_remove_device(struct rxp_device *rdev)
{
	if (!rdev->proc)
		return;
	mutex_lock(&rxp_proc_devices_lock);
	list_del(&rdev->proc_link);
	rxp_proc_unlink(rdev->proc);
	mutex_unlock(&rxp_proc_devices_lock);
	rxp_proc_remove(rdev->proc);
}

/**
 * rxp_proc_init - make /proc/fs/rdmafs
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rxp_proc_init(void)
{
	rxp_proc_root = proc_mkdir("fs/rdmafs", NULL);
	return rxp_proc_root ? 0 : -ENOMEM;
}

/**
 * rxp_proc_exit - remove /proc/fs/rdmafs
 *
 * Context: process, sleeps.
 */
void rxp_proc_exit(void)
{
	proc_remove(rxp_proc_root);
}
