/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In test kernels our modules are compiled with this file in front of every source file
 * (-include, in the Makefile).  It renames each function of the kernel that allocates memory,
 * or that makes an object which needs memory.  The new name also holds in the kernel's headers
 * and their inline functions.  nomem.c has the functions with the new names: they may fail
 * instead of calling the kernel.
 *
 * A function that makes an object from memory that its caller passes in is not here.  Nor is
 * mempool_alloc(): it waits instead of failing, and the pools allocate by functions of our modules,
 * whose calls are renamed.
 */
#ifndef RDMAFS_TESTS_NOMEM_H
#define RDMAFS_TESTS_NOMEM_H

/* The modules in tests/ define RDMAFS_NOMEM_OFF and call the kernel directly. */
#ifndef RDMAFS_NOMEM_OFF

/* Plain memory */
#define __alloc_pages_noprof		rdmafs_nomem___alloc_pages_noprof
#define __kmalloc_cache_noprof		rdmafs_nomem___kmalloc_cache_noprof
#define __kmalloc_large_noprof		rdmafs_nomem___kmalloc_large_noprof
#define __kmalloc_noprof		rdmafs_nomem___kmalloc_noprof
#define __kvmalloc_node_noprof		rdmafs_nomem___kvmalloc_node_noprof
#define bitmap_alloc			rdmafs_nomem_bitmap_alloc
#define get_free_pages_noprof		rdmafs_nomem_get_free_pages_noprof
#define kmem_cache_alloc_lru_noprof	rdmafs_nomem_kmem_cache_alloc_lru_noprof
#define kmem_cache_alloc_noprof		rdmafs_nomem_kmem_cache_alloc_noprof
#define kmemdup_noprof			rdmafs_nomem_kmemdup_noprof
#define kmemdup_nul			rdmafs_nomem_kmemdup_nul
#define kstrdup				rdmafs_nomem_kstrdup
#define memdup_user_nul			rdmafs_nomem_memdup_user_nul
#define pcpu_alloc_noprof		rdmafs_nomem_pcpu_alloc_noprof

/* Objects of the kernel's core */
#define __kmem_cache_create_args	rdmafs_nomem___kmem_cache_create_args
#define alloc_workqueue			rdmafs_nomem_alloc_workqueue
#define groups_alloc			rdmafs_nomem_groups_alloc
#define kthread_create_on_node		rdmafs_nomem_kthread_create_on_node
#define mempool_create_node_noprof	rdmafs_nomem_mempool_create_node_noprof
#define percpu_ref_init			rdmafs_nomem_percpu_ref_init
#define prepare_kernel_cred		rdmafs_nomem_prepare_kernel_cred
#define proc_create_data		rdmafs_nomem_proc_create_data
#define proc_create_single_data		rdmafs_nomem_proc_create_single_data
#define proc_mkdir			rdmafs_nomem_proc_mkdir
#define rhashtable_init_noprof		rdmafs_nomem_rhashtable_init_noprof
#define single_open			rdmafs_nomem_single_open
#define unshare_fs_struct		rdmafs_nomem_unshare_fs_struct
#define __xa_alloc			rdmafs_nomem___xa_alloc
#define __xa_alloc_cyclic		rdmafs_nomem___xa_alloc_cyclic
#define __xa_insert			rdmafs_nomem___xa_insert
#define xa_store			rdmafs_nomem_xa_store

/* Objects of RDMA */
#define __ib_alloc_cq			rdmafs_nomem___ib_alloc_cq
#define __ib_alloc_pd			rdmafs_nomem___ib_alloc_pd
#define ib_alloc_mr			rdmafs_nomem_ib_alloc_mr
#define ib_register_client		rdmafs_nomem_ib_register_client
#define __rdma_create_kernel_id		rdmafs_nomem___rdma_create_kernel_id
#define rdma_accept			rdmafs_nomem_rdma_accept
#define rdma_bind_addr			rdmafs_nomem_rdma_bind_addr
#define rdma_connect			rdmafs_nomem_rdma_connect
#define rdma_create_qp			rdmafs_nomem_rdma_create_qp
#define rdma_listen			rdmafs_nomem_rdma_listen
#define rdma_resolve_addr		rdmafs_nomem_rdma_resolve_addr
#define rdma_resolve_route		rdmafs_nomem_rdma_resolve_route

/* Objects of file systems */
#define __bread_gfp			rdmafs_nomem___bread_gfp
#define d_alloc_parallel		rdmafs_nomem_d_alloc_parallel
#define d_make_root			rdmafs_nomem_d_make_root
#define dentry_open			rdmafs_nomem_dentry_open
#define exportfs_decode_fh		rdmafs_nomem_exportfs_decode_fh
#define __filemap_get_folio		rdmafs_nomem___filemap_get_folio
#define iov_iter_extract_pages		rdmafs_nomem_iov_iter_extract_pages
#define kern_path			rdmafs_nomem_kern_path
#define lookup_one			rdmafs_nomem_lookup_one
#define lookup_one_positive_unlocked	rdmafs_nomem_lookup_one_positive_unlocked
#define posix_acl_from_xattr		rdmafs_nomem_posix_acl_from_xattr
#define super_setup_bdi			rdmafs_nomem_super_setup_bdi
#define vfs_get_acl			rdmafs_nomem_vfs_get_acl

#else

/*
 * MAYFAIL(TYPE, NAME, PARAMETERS, ARGUMENTS, MAY, INSTEAD) defines what our modules call in
 * the place of the kernel's NAME.  If the condition MAY holds and nomem() says so, the function
 * returns INSTEAD; else it calls NAME.  The compiler checks that it has the type of NAME.
 */
#define MAYFAIL(struct_or_other, name, parameters, arguments, may, instead)	\
extern __typeof__(name) rdmafs_nomem_##name;					\
struct_or_other rdmafs_nomem_##name parameters					\
{										\
	return (may) && nomem(_RET_IP_) ? (instead) : name arguments;		\
}										\
EXPORT_SYMBOL_GPL(rdmafs_nomem_##name)

/*
 * The same for functions with a format string.  A name that is too long for the buffer is cut
 * off here; the kernel would cut it off as well.
 */
#define MAYFAIL_NAMED(struct_or_other, name, parameters, last, arguments, instead)	\
extern __typeof__(name) rdmafs_nomem_##name;					\
struct_or_other rdmafs_nomem_##name parameters					\
{										\
	char text[64];								\
	va_list args;								\
										\
	if (nomem(_RET_IP_))							\
		return instead;							\
	va_start(args, last);							\
	vsnprintf(text, sizeof(text), format, args);				\
	va_end(args);								\
	return name arguments;							\
}										\
EXPORT_SYMBOL_GPL(rdmafs_nomem_##name)

#endif
#endif
