/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This header declares a mount or remount that is being prepared, its options (options.c), and how
 * it finds a superblock that is there already (share.c).
 */
#ifndef RDMAFS_CLIENT_OPTIONS_H
#define RDMAFS_CLIENT_OPTIONS_H

#include <linux/bits.h>
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include "client.h"

enum rdmafs_param {
	RDMAFS_OPT_SOURCE,
	RDMAFS_OPT_ADDR,
	RDMAFS_OPT_PORT,
	RDMAFS_OPT_SLOTS,
	RDMAFS_OPT_CONNECT_TIMEOUT,
	RDMAFS_OPT_HARD,
	RDMAFS_OPT_SOFT,
	RDMAFS_OPT_SOFTERR,
	RDMAFS_OPT_TIMEO,
	RDMAFS_OPT_RETRANS,
	RDMAFS_OPT_RSIZE,
	RDMAFS_OPT_WSIZE,
	RDMAFS_OPT_ACREGMIN,
	RDMAFS_OPT_ACREGMAX,
	RDMAFS_OPT_ACDIRMIN,
	RDMAFS_OPT_ACDIRMAX,
	RDMAFS_OPT_ACTIMEO,
	RDMAFS_OPT_NOAC,
	RDMAFS_OPT_LOOKUPCACHE,
	RDMAFS_OPT_MIN,
	RDMAFS_OPT_MAX,
	RDMAFS_OPT_WEIGHT,
	RDMAFS_OPT_REG,
	RDMAFS_OPT_POLL_US,
	RDMAFS_OPT_NCONNECT,
	RDMAFS_OPT_LOCAL_LOCK,
	RDMAFS_OPT_SHARECACHE,
	RDMAFS_OPT_SECLABEL,
};

/* Options that change the mount's share of the RNIC's translations. */
#define RDMAFS_OPTS_QUOTA						\
	(BIT(RDMAFS_OPT_MIN) | BIT(RDMAFS_OPT_MAX) | BIT(RDMAFS_OPT_WEIGHT))

/**
 * struct rdmafs_ctx - a mount or remount that is being prepared
 * @opts: the options so far
 * @addr: value of addr=, or NULL
 * @port: the server's port
 * @seen: options that were given, bits of enum rdmafs_param
 * @mnt:  connected, and not owned by a superblock yet; or NULL
 * @found: a superblock that fits, with an active reference, or NULL; of rdmafs_share_get() only
 * @cross: the directory at which a file system below a mount is crossed into, for the time of
 *         rdmafs_d_automount(); NULL: a mount or remount.  Of submount.c, as the next two
 * @super: the superblock below, not owned by the VFS yet; or NULL
 * @at:    what the server says of that
 */
struct rdmafs_ctx {
	struct rdmafs_opts opts;
	char *addr;
	u16 port;
	unsigned long seen;
	struct rdmafs_mount *mnt;
	struct super_block *found;
	struct dentry *cross;
	struct rdmafs_super *super;
	const struct rdmafs_attached *at;
};

/**
 * struct rdmafs_attached - what the server says of an export
 * @op:   has the reply, in which @rep and @attr lie; to be put if it is not NULL
 * @rep:  the fixed part of the reply
 * @root: handle of the root
 * @attr: attributes of the root
 * @label: its security label, as of rfp_dec_label_told(); not told if none was asked for
 */
struct rdmafs_attached {
	struct rdmafs_op *op;
	const struct rfp_attach_rep *rep;
	struct rfp_fh root;
	const struct rfp_attr *attr;
	struct rfp_str label;
};

extern const struct fs_parameter_spec rdmafs_params[];

void rdmafs_opts_default(struct rdmafs_opts *opts);
void rdmafs_opts_clear(struct rdmafs_opts *opts);
int rdmafs_opts_copy(struct rdmafs_opts *to, const struct rdmafs_opts *from);
u16 rdmafs_addr_port(const struct sockaddr_storage *addr);
int rdmafs_opts_parse(struct fs_context *fc, struct fs_parameter *param);
int rdmafs_opts_check(struct fs_context *fc);
int rdmafs_opts_fixed(struct fs_context *fc, const struct rdmafs_mount *mnt);
bool rdmafs_opts_same(const struct rdmafs_opts *a, const struct rdmafs_opts *b);
unsigned long rdmafs_opts_timeout(const struct rdmafs_opts *opts);
int rdmafs_opts_show(struct seq_file *m, struct dentry *root);

int rdmafs_attach_decode(struct rdmafs_attached *at);
int rdmafs_super_setup(struct super_block *sb);
int rdmafs_super_root(struct super_block *sb, const struct rdmafs_attached *at);
int rdmafs_submount_get_tree(struct fs_context *fc);

struct rdmafs_making *rdmafs_share_begin(struct fs_context *fc);
void rdmafs_share_end(struct rdmafs_making *making, int err);
bool rdmafs_share_fits(struct super_block *sb, struct fs_context *fc);
void rdmafs_share_drop(struct rdmafs_making *making, struct super_block *sb);
struct super_block *rdmafs_share_get(struct fs_context *fc);

#endif
