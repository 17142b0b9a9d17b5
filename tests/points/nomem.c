// SPDX-License-Identifier: GPL-2.0
/*
 * Makes allocations of our modules fail.  A call of any function that nomem.h renames comes
 * here first, from a thread, a worker or a softirq, and fails if a test wants that.  A *place*
 * is one call site in the code.  It is identified by the function and the offset that the call
 * returns to, so it is the same place after its module has been loaded again.
 *
 * Parameters:
 *
 *	nomem		of a thousand calls so many fail, at any place
 *	nomem_once	in addition, the first call from each place fails
 *	nomem_spare	no call from a function whose name begins so fails
 *
 * While nomem or nomem_once is set, all calls are counted.  The file "rdmafs_nomem" of debugfs
 * has a line for each place, "CALLS FAILED FUNCTION+OFFSET/SIZE [MODULE]".  A write to the
 * file, of any text, forgets all places.
 *
 * A call that cannot fail in the kernel does not fail here: neither an allocation with
 * __GFP_NOFAIL, nor a call that happens to need no memory.
 */
#include <linux/bitmap.h>
#include <linux/buffer_head.h>
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/debugfs.h>
#include <linux/exportfs.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/gfp.h>
#include <linux/kallsyms.h>
#include <linux/kthread.h>
#include <linux/mempool.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/pagemap.h>
#include <linux/percpu.h>
#include <linux/percpu-refcount.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/proc_fs.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/stringhash.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include "tests/points/nomem.h"
#include "tests/points/points.h"

#define NOMEM_PLACES	1024U
#define NOMEM_NAME_MAX	112

/**
 * struct nomem_place - a call site of our modules that allocates
 * @name:   function, offset and module, as the kernel prints them; empty if the entry is unused
 * @calls:  number of calls from there
 * @failed: number of these calls that failed
 *
 * Guarded by nomem_lock.
 */
struct nomem_place {
	char name[NOMEM_NAME_MAX];
	u32 calls;
	u32 failed;
};

/* Guards nomem_places and nomem_name; taken in any context, with interrupts off. */
static DEFINE_SPINLOCK(nomem_lock);
static struct nomem_place nomem_places[NOMEM_PLACES];
static char nomem_name[KSYM_SYMBOL_LEN];

static unsigned int nomem_permille;
module_param_named(nomem, nomem_permille, uint, 0600);
MODULE_PARM_DESC(nomem, "of a thousand times that our modules want memory they get none so often");

static bool nomem_once;
module_param(nomem_once, bool, 0600);
MODULE_PARM_DESC(nomem_once, "each place where they want some gets none the first time");

static char nomem_spare[64];
module_param_string(nomem_spare, nomem_spare, sizeof(nomem_spare), 0600);
MODULE_PARM_DESC(nomem_spare, "but not in functions whose names begin so");

static struct dentry *nomem_file;

/* Finds or adds the place of a call that returns to @ip; NULL if the table is full. */
static struct nomem_place *nomem_place(unsigned long ip)
{
	struct nomem_place *p;
	u32 at, n;

	lockdep_assert_held(&nomem_lock);
	sprint_symbol(nomem_name, ip);
	at = full_name_hash(NULL, nomem_name, strlen(nomem_name)) % NOMEM_PLACES;
	for (n = 0; n < NOMEM_PLACES; n++) {
		p = &nomem_places[(at + n) % NOMEM_PLACES];
		if (!p->name[0])
			strscpy(p->name, nomem_name);
		if (!strncmp(p->name, nomem_name, NOMEM_NAME_MAX - 1))
			return p;
	}
	return NULL;
}

/* Counts the call that returns to @ip, and says whether it is to fail.  Any context. */
static bool nomem(unsigned long ip)
{
	u32 permille = READ_ONCE(nomem_permille);
	bool once = READ_ONCE(nomem_once), fails;
	struct nomem_place *p;
	unsigned long flags;

	if (likely(!permille && !once))
		return false;
	fails = get_random_u32_below(1000) < permille;
	spin_lock_irqsave(&nomem_lock, flags);
	p = nomem_place(ip);
	if (p) {
		fails |= once && !p->failed;
		fails &= !nomem_spare[0] || !str_has_prefix(p->name, nomem_spare);
		p->calls++;
		p->failed += fails;
	}
	spin_unlock_irqrestore(&nomem_lock, flags);
	return p && fails;
}

static int nomem_show(struct seq_file *m, void *v)
{
	struct nomem_place *p;
	unsigned long flags;

	spin_lock_irqsave(&nomem_lock, flags);
	for (p = nomem_places; p < nomem_places + NOMEM_PLACES; p++)
		if (p->name[0])
			seq_printf(m, "%u %u %s\n", p->calls, p->failed, p->name);
	spin_unlock_irqrestore(&nomem_lock, flags);
	return 0;
}

static ssize_t nomem_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	unsigned long flags;

	spin_lock_irqsave(&nomem_lock, flags);
	memset(nomem_places, 0, sizeof(nomem_places));
	spin_unlock_irqrestore(&nomem_lock, flags);
	return len;
}

DEFINE_SHOW_STORE_ATTRIBUTE(nomem);

/**
 * points_add_nomem - make the file "rdmafs_nomem" of debugfs
 *
 * Context: process; may sleep.
 */
void points_add_nomem(void)
{
	nomem_file = debugfs_create_file("rdmafs_nomem", 0600, NULL, NULL, &nomem_fops);
}

/**
 * points_remove_nomem - remove the file "rdmafs_nomem" of debugfs
 *
 * Context: process; may sleep.
 */
void points_remove_nomem(void)
{
	debugfs_remove(nomem_file);
}

static bool may_fail(gfp_t gfp)
{
	return !(gfp & __GFP_NOFAIL);
}

/* Storing at an index that has an entry, even a reserved one, needs no memory. */
static bool nomem_has_slot(struct xarray *xa, unsigned long index)
{
	XA_STATE(xas, xa, index);
	bool has;

	rcu_read_lock();
	has = xas_load(&xas);
	rcu_read_unlock();
	return has;
}

MAYFAIL(struct page *, __alloc_pages_noprof,
	(gfp_t gfp, unsigned int order, int nid, nodemask_t *nodes), (gfp, order, nid, nodes),
	may_fail(gfp), NULL);
MAYFAIL(void *, __kmalloc_cache_noprof, (struct kmem_cache *s, gfp_t gfp, size_t size),
	(s, gfp, size), may_fail(gfp), NULL);
MAYFAIL(void *, __kmalloc_large_noprof, (size_t size, gfp_t gfp), (size, gfp), may_fail(gfp), NULL);
MAYFAIL(void *, __kmalloc_noprof, (size_t size, gfp_t gfp), (size, gfp), may_fail(gfp), NULL);
MAYFAIL(void *, __kvmalloc_node_noprof, (DECL_BUCKET_PARAMS(size, b), gfp_t gfp, int node),
	(PASS_BUCKET_PARAMS(size, b), gfp, node), may_fail(gfp), NULL);
MAYFAIL(unsigned long *, bitmap_alloc, (unsigned int nbits, gfp_t gfp), (nbits, gfp),
	may_fail(gfp), NULL);
MAYFAIL(unsigned long, get_free_pages_noprof, (gfp_t gfp, unsigned int order), (gfp, order),
	may_fail(gfp), 0);
MAYFAIL(void *, kmem_cache_alloc_lru_noprof,
	(struct kmem_cache *s, struct list_lru *lru, gfp_t gfp), (s, lru, gfp),
	may_fail(gfp), NULL);
MAYFAIL(void *, kmem_cache_alloc_noprof, (struct kmem_cache *s, gfp_t gfp), (s, gfp),
	may_fail(gfp), NULL);
MAYFAIL(void *, kmemdup_noprof, (const void *from, size_t len, gfp_t gfp), (from, len, gfp),
	may_fail(gfp), NULL);
MAYFAIL(char *, kmemdup_nul, (const char *from, size_t len, gfp_t gfp), (from, len, gfp),
	may_fail(gfp), NULL);
MAYFAIL(char *, kstrdup, (const char *from, gfp_t gfp), (from, gfp), may_fail(gfp), NULL);
MAYFAIL(void *, memdup_user_nul, (const void __user *from, size_t len), (from, len), true,
	ERR_PTR(-ENOMEM));
MAYFAIL(void __percpu *, pcpu_alloc_noprof, (size_t size, size_t align, bool reserved, gfp_t gfp),
	(size, align, reserved, gfp), may_fail(gfp), NULL);

MAYFAIL(struct kmem_cache *, __kmem_cache_create_args,
	(const char *name, unsigned int size, struct kmem_cache_args *args, slab_flags_t flags),
	(name, size, args, flags), true, NULL);
MAYFAIL_NAMED(struct workqueue_struct *, alloc_workqueue,
	      (const char *format, unsigned int flags, int max_active, ...), max_active,
	      ("%s", flags, max_active, text), NULL);
MAYFAIL(struct group_info *, groups_alloc, (int nr), (nr), true, NULL);
MAYFAIL_NAMED(struct task_struct *, kthread_create_on_node,
	      (int (*run)(void *data), void *data, int node, const char format[], ...), format,
	      (run, data, node, "%s", text), ERR_PTR(-ENOMEM));
MAYFAIL(mempool_t *, mempool_create_node_noprof,
	(int min, mempool_alloc_t *alloc, mempool_free_t *free, void *data, gfp_t gfp, int nid),
	(min, alloc, free, data, gfp, nid), true, NULL);
MAYFAIL(int, percpu_ref_init,
	(struct percpu_ref *ref, percpu_ref_func_t *release, unsigned int flags, gfp_t gfp),
	(ref, release, flags, gfp), true, -ENOMEM);
MAYFAIL(struct cred *, prepare_kernel_cred, (struct task_struct *task), (task), true, NULL);
MAYFAIL(struct proc_dir_entry *, proc_create_data,
	(const char *name, umode_t mode, struct proc_dir_entry *parent, const struct proc_ops *ops,
	 void *data), (name, mode, parent, ops, data), true, NULL);
MAYFAIL(struct proc_dir_entry *, proc_create_single_data,
	(const char *name, umode_t mode, struct proc_dir_entry *parent,
	 int (*show)(struct seq_file *m, void *v), void *data), (name, mode, parent, show, data),
	true, NULL);
MAYFAIL(struct proc_dir_entry *, proc_mkdir, (const char *name, struct proc_dir_entry *parent),
	(name, parent), true, NULL);
MAYFAIL(int, rhashtable_init_noprof,
	(struct rhashtable *ht, const struct rhashtable_params *params), (ht, params), true,
	-ENOMEM);
MAYFAIL(int, single_open,
	(struct file *file, int (*show)(struct seq_file *m, void *v), void *data),
	(file, show, data), true, -ENOMEM);
MAYFAIL(int, unshare_fs_struct, (void), (), true, -ENOMEM);
MAYFAIL(int, __xa_alloc,
	(struct xarray *xa, u32 *id, void *entry, struct xa_limit limit, gfp_t gfp),
	(xa, id, entry, limit, gfp), true, -ENOMEM);
MAYFAIL(int, __xa_alloc_cyclic,
	(struct xarray *xa, u32 *id, void *entry, struct xa_limit limit, u32 *next, gfp_t gfp),
	(xa, id, entry, limit, next, gfp), true, -ENOMEM);
MAYFAIL(int, __xa_insert, (struct xarray *xa, unsigned long index, void *entry, gfp_t gfp),
	(xa, index, entry, gfp), !nomem_has_slot(xa, index), -ENOMEM);
MAYFAIL(void *, xa_store, (struct xarray *xa, unsigned long index, void *entry, gfp_t gfp),
	(xa, index, entry, gfp), entry && !nomem_has_slot(xa, index),
	xa_mk_internal((unsigned long)-ENOMEM));

MAYFAIL(struct ib_cq *, __ib_alloc_cq,
	(struct ib_device *dev, void *private, int nr_cqe, int vector, enum ib_poll_context how,
	 const char *caller), (dev, private, nr_cqe, vector, how, caller), true, ERR_PTR(-ENOMEM));
MAYFAIL(struct ib_pd *, __ib_alloc_pd,
	(struct ib_device *dev, unsigned int flags, const char *caller), (dev, flags, caller), true,
	ERR_PTR(-ENOMEM));
MAYFAIL(struct ib_mr *, ib_alloc_mr, (struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg),
	(pd, type, max_num_sg), true, ERR_PTR(-ENOMEM));
MAYFAIL(int, ib_register_client, (struct ib_client *client), (client), true, -ENOMEM);
MAYFAIL(struct rdma_cm_id *, __rdma_create_kernel_id,
	(struct net *net, rdma_cm_event_handler handler, void *context, enum rdma_ucm_port_space ps,
	 enum ib_qp_type type, const char *caller), (net, handler, context, ps, type, caller), true,
	ERR_PTR(-ENOMEM));
MAYFAIL(int, rdma_accept, (struct rdma_cm_id *id, struct rdma_conn_param *param), (id, param), true,
	-ENOMEM);
MAYFAIL(int, rdma_bind_addr, (struct rdma_cm_id *id, struct sockaddr *addr), (id, addr), true,
	-ENOMEM);
MAYFAIL(int, rdma_connect, (struct rdma_cm_id *id, struct rdma_conn_param *param), (id, param),
	true, -ENOMEM);
MAYFAIL(int, rdma_create_qp,
	(struct rdma_cm_id *id, struct ib_pd *pd, struct ib_qp_init_attr *attr), (id, pd, attr),
	true, -ENOMEM);
MAYFAIL(int, rdma_listen, (struct rdma_cm_id *id, int backlog), (id, backlog), true, -ENOMEM);
MAYFAIL(int, rdma_resolve_addr,
	(struct rdma_cm_id *id, struct sockaddr *from, const struct sockaddr *to, unsigned long ms),
	(id, from, to, ms), true, -ENOMEM);
MAYFAIL(int, rdma_resolve_route, (struct rdma_cm_id *id, unsigned long ms), (id, ms), true,
	-ENOMEM);

MAYFAIL(struct buffer_head *, __bread_gfp,
	(struct block_device *dev, sector_t block, unsigned int size, gfp_t gfp),
	(dev, block, size, gfp), may_fail(gfp), NULL);
MAYFAIL(struct dentry *, d_alloc_parallel,
	(struct dentry *parent, const struct qstr *name, wait_queue_head_t *wq), (parent, name, wq),
	true, ERR_PTR(-ENOMEM));
MAYFAIL(struct dentry *, d_make_root, (struct inode *root), (root), root, (iput(root), NULL));
MAYFAIL(struct file *, dentry_open, (const struct path *path, int flags, const struct cred *cred),
	(path, flags, cred), true, ERR_PTR(-ENOMEM));
MAYFAIL(struct dentry *, exportfs_decode_fh,
	(struct vfsmount *mnt, struct fid *fid, int words, int type,
	 int (*acceptable)(void *context, struct dentry *dentry), void *context),
	(mnt, fid, words, type, acceptable, context), true, ERR_PTR(-ENOMEM));
MAYFAIL(struct folio *, __filemap_get_folio,
	(struct address_space *mapping, pgoff_t index, fgf_t flags, gfp_t gfp),
	(mapping, index, flags, gfp), (flags & FGP_CREAT) && may_fail(gfp), ERR_PTR(-ENOMEM));
MAYFAIL(ssize_t, iov_iter_extract_pages,
	(struct iov_iter *iter, struct page ***pages, size_t size, unsigned int nr,
	 iov_iter_extraction_t flags, size_t *offset), (iter, pages, size, nr, flags, offset), true,
	-ENOMEM);
MAYFAIL(int, kern_path, (const char *name, unsigned int flags, struct path *path),
	(name, flags, path), true, -ENOMEM);
MAYFAIL(struct dentry *, lookup_one,
	(struct mnt_idmap *idmap, const char *name, struct dentry *base, int len),
	(idmap, name, base, len), true, ERR_PTR(-ENOMEM));
MAYFAIL(struct dentry *, lookup_one_positive_unlocked,
	(struct mnt_idmap *idmap, const char *name, struct dentry *base, int len),
	(idmap, name, base, len), true, ERR_PTR(-ENOMEM));
MAYFAIL(struct posix_acl *, posix_acl_from_xattr,
	(struct user_namespace *ns, const void *value, size_t size), (ns, value, size), true,
	ERR_PTR(-ENOMEM));
MAYFAIL(int, super_setup_bdi, (struct super_block *sb), (sb), true, -ENOMEM);
MAYFAIL(struct posix_acl *, vfs_get_acl,
	(struct mnt_idmap *idmap, struct dentry *dentry, const char *name), (idmap, dentry, name),
	true, ERR_PTR(-ENOMEM));
