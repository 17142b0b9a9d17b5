// SPDX-License-Identifier: GPL-2.0
/*
 * Mount and unmount: connect to the server, make the superblock, and undo both.  options.c has
 * the options.
 *
 * A superblock has a session of its own.  Mounts of one export with equal options share it
 * (share.c); all of them are one struct rdmafs_mount.  mount.rdmafs resolves
 * the server's name and passes the address in addr=.  Without addr= the host in
 * the source has to be an address.
 *
 * Ownership: the context owns its options, of which the mount has a copy
 * (rdmafs_connect()), and the mount until fill_super gives it to the superblock.
 * kill_sb undoes what get_tree did, in reverse order, and waits for files that are
 * still being closed.
 */
#include <linux/fs_context.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/statfs.h>
#include <net/net_namespace.h>
#include "client.h"
#include "dir.h"
#include "filelock.h"
#include "op.h"
#include "open.h"
#include "options.h"
#include "transport/points.h"

#define RDMAFS_READAHEAD	(4U << 20)	/* bytes: several RPCs under way */

/* ------------------------------------------------------------- the session */

/* Free a mount that has no session (any more). */
static void rdmafs_mount_destroy(struct rdmafs_mount *mnt)
{
	rdmafs_rules_exit(mnt);
	/* Works of dio_wq, file_wq and fill_wq may queue works to io_wq as they end. */
	if (mnt->dio_wq)
		destroy_workqueue(mnt->dio_wq);
	if (mnt->file_wq)
		destroy_workqueue(mnt->file_wq);
	if (mnt->fill_wq)
		destroy_workqueue(mnt->fill_wq);
	if (mnt->tell_wq)
		destroy_workqueue(mnt->tell_wq);
	rdmafs_opens_exit(&mnt->super);
	if (mnt->io_wq)
		destroy_workqueue(mnt->io_wq);
	if (mnt->cred)
		rdmafs_cred_put(mnt->cred);
	rdmafs_cred_destroy(mnt);
	rdmafs_idmap_mount_exit(mnt);
	rdmafs_op_pools_destroy(mnt);
	rdmafs_opts_clear(&mnt->opts);
	/* rdmafs_permission() and rdmafs_d_revalidate() read it in RCU mode. */
	kfree_rcu(mnt, rcu);
}

/* Transport calls this when the server has lost the session: its ids and stateids are void. */
static void rdmafs_session_reset(void *p)
{
	struct rdmafs_mount *mnt = p;

	rdmafs_opens_lost(mnt, true);
	rdmafs_rules_doubt(mnt);
	rdmafs_locks_wake(mnt);
}

static void rdmafs_xprt_event(void *p)
{
	rdmafs_events(p);
}

static const struct rdmafs_xprt_client_ops rdmafs_xprt_ops = {
	.session_reset = rdmafs_session_reset,
	.event = rdmafs_xprt_event,
};

static int rdmafs_connect_failed(struct fs_context *fc, int err)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	const struct sockaddr_storage *addr = &ctx->opts.addr;

	switch (err) {
	case -ETIMEDOUT:
		errorfc(fc, "no answer from %pISpc within %u s", addr, ctx->opts.connect_s);
		break;
	case -ECONNREFUSED:
		errorfc(fc, "%pISpc refuses: no rdmafs server there", addr);
		break;
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		errorfc(fc, "%pISpc can't be reached", addr);
		break;
	case -EPROTONOSUPPORT:
		errorfc(fc, "the server at %pISpc speaks another version of the protocol", addr);
		break;
	case -EPROTO:
		errorfc(fc, "what answers at %pISpc is no rdmafs server", addr);
		break;
	case -ENODEV:
	case -ENXIO:
	case -EADDRNOTAVAIL:
		errorfc(fc, "no RDMA device leads to %pISpc", addr);
		break;
	case -ENOSPC:
		errorfc(fc, "min=%llu is more than the RDMA device has left",
			ctx->opts.quota.min);
		break;
	case -EBUSY:
		errorfc(fc, "%pISpc has no room for another connection", addr);
		break;
	case -EUSERS:
		errorfc(fc, "%pISpc allows this client no more connections or sessions", addr);
		break;
	case -EACCES:
	case -EPERM:
		errorfc(fc, "%pISpc does not admit this client", addr);
		break;
	case -EINTR:
	case -ERESTARTSYS:
		break;
	default:
		errorfc(fc, "connecting to %pISpc failed: error %d", addr, err);
		break;
	}
	return err == -ERESTARTSYS ? -EINTR : err;
}

static int rdmafs_resolve(struct fs_context *fc)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	const char *text = ctx->addr ?: ctx->opts.host;
	char port[8];

	snprintf(port, sizeof(port), "%u", ctx->port);
	if (inet_pton_with_scope(fc->net_ns, AF_UNSPEC, text, port, &ctx->opts.addr))
		return invalfc(fc, ctx->addr ? "addr=%s is not an IP address" :
			       "'%s' is not an IP address (is mount.rdmafs installed?)", text);
	return 0;
}

/*
 * Workqueues and reserves are the mount's own, so that its works and ops never wait for the server
 * of another mount.
 */
static struct rdmafs_mount *rdmafs_mount_create(const char *host)
{
	struct rdmafs_mount *mnt = kzalloc(sizeof(*mnt), GFP_KERNEL);

	if (!mnt)
		return NULL;
	rdmafs_supers_init(mnt);
	atomic_set(&mnt->session, 1);
	mnt->session_first = 1;
	spin_lock_init(&mnt->opens_lock);
	rdmafs_cred_init(mnt);
	rdmafs_idmap_mount_init(mnt);
	rdmafs_locks_init(mnt);
	/* WQ_MEM_RECLAIM: writeback depends on them. */
	mnt->io_wq = alloc_workqueue("rdmafs-io-%s", WQ_MEM_RECLAIM | WQ_UNBOUND, 0, host);
	mnt->fill_wq = alloc_workqueue("rdmafs-fill-%s", WQ_MEM_RECLAIM | WQ_UNBOUND, 0, host);
	mnt->file_wq = alloc_workqueue("rdmafs-file-%s", WQ_MEM_RECLAIM | WQ_UNBOUND, 0, host);
	mnt->dio_wq = alloc_workqueue("rdmafs-dio-%s", WQ_MEM_RECLAIM | WQ_UNBOUND, 0, host);
	mnt->tell_wq = alloc_workqueue("rdmafs-tell-%s", WQ_MEM_RECLAIM | WQ_UNBOUND, 0, host);
	if (!mnt->io_wq || !mnt->fill_wq || !mnt->file_wq || !mnt->dio_wq || !mnt->tell_wq ||
	    rdmafs_op_pools_init(mnt)) {
		rdmafs_mount_destroy(mnt);
		return NULL;
	}
	return mnt;
}

static int rdmafs_connect(struct fs_context *fc)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	struct rdmafs_mount *mnt;
	struct rdmafs_xprt_params params = {
		.net = fc->net_ns,
		.slots = ctx->opts.slots,
		.conns = ctx->opts.nconnect,
		.connect_ms = ctx->opts.connect_s * MSEC_PER_SEC,
		.quota = ctx->opts.quota,
		.reg = ctx->opts.reg,
		.poll_us = ctx->opts.poll_us,
	};
	int err;

	mnt = rdmafs_mount_create(ctx->opts.host);
	if (!mnt)
		return -ENOMEM;
	err = rdmafs_opts_copy(&mnt->opts, &ctx->opts);
	if (err) {
		rdmafs_mount_destroy(mnt);
		return err;
	}
	params.addr = ctx->opts.addr;
	mnt->xprt = rdmafs_xprt_connect(&params, &rdmafs_xprt_ops, mnt);
	if (IS_ERR(mnt->xprt)) {
		err = rdmafs_connect_failed(fc, PTR_ERR(mnt->xprt));
		rdmafs_mount_destroy(mnt);
		return err;
	}
	mnt->net = fc->net_ns;
	mnt->labelled = fc->security;
	mnt->timeout = rdmafs_opts_timeout(&mnt->opts);
	mnt->rsize = min(mnt->opts.rsize, rounddown_pow_of_two(rdmafs_xprt_data_max(mnt->xprt)));
	mnt->wsize = min(mnt->opts.wsize, rounddown_pow_of_two(rdmafs_xprt_data_max(mnt->xprt)));
	ctx->mnt = mnt;
	return 0;
}

static void rdmafs_mount_end(struct rdmafs_mount *mnt)
{
	/* Its worker may be about to look at the session. */
	rdmafs_supers_exit(mnt);
	/* Ends calls that killed tasks left behind; no call is under way after this. */
	rdmafs_xprt_close(mnt->xprt);
	rdmafs_mount_destroy(mnt);
}

/* ---------------------------------------------------------- the superblock */

static int rdmafs_statfs(struct dentry *dentry, struct kstatfs *st)
{
	struct inode *inode = d_inode(dentry);
	const struct rfp_statfs_rep *rep;
	struct rdmafs_op *op;
	struct rfp_dec dec;
	int err;

	op = rdmafs_op_new(RDMAFS_S(dentry->d_sb), RFP_STATFS, sizeof(struct rfp_req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	rfp_enc_fh(&op->enc, &RDMAFS_I(inode)->fh);
	err = rdmafs_op_run(op);
	if (err)
		goto out;
	rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
	err = -EIO;
	if (rfp_dec_end(&dec) || !rep->bsize || rep->pad)
		goto out;
	st->f_type = RDMAFS_MAGIC;
	st->f_bsize = le32_to_cpu(rep->bsize);
	st->f_frsize = st->f_bsize;
	st->f_namelen = min_t(u32, le32_to_cpu(rep->namelen), RFP_NAME_MAX);
	st->f_blocks = le64_to_cpu(rep->blocks);
	st->f_bfree = le64_to_cpu(rep->bfree);
	st->f_bavail = le64_to_cpu(rep->bavail);
	st->f_files = le64_to_cpu(rep->files);
	st->f_ffree = le64_to_cpu(rep->ffree);
	/* mountd(8) puts it into handles: if it can be, it is the same in the next mount. */
	if (dentry->d_sb->s_uuid_len)
		st->f_fsid = uuid_to_fsid(dentry->d_sb->s_uuid.b);
	else
		st->f_fsid = u64_to_fsid(huge_encode_dev(dentry->d_sb->s_dev));
	err = 0;
out:
	rdmafs_op_put(op);
	return err;
}

/* Write the line of /proc/fs/rdmafs/<st_dev>/mount. */
static void rdmafs_proc_show(struct seq_file *m, void *p)
{
	const struct rdmafs_mount *mnt = p;

	seq_printf(m, "%s:/%s on %pISpc\n", mnt->opts.host, mnt->opts.export, &mnt->opts.addr);
}

static const struct super_operations rdmafs_super_ops = {
	.alloc_inode	= rdmafs_alloc_inode,
	.free_inode	= rdmafs_free_inode,
	.evict_inode	= rdmafs_evict_inode,
	.drop_inode	= generic_drop_inode,
	.statfs		= rdmafs_statfs,
	.show_options	= rdmafs_opts_show,
	.umount_begin	= rdmafs_umount_begin,
};

/**
 * rdmafs_attach_decode - read what the server says of an export
 * @at: its @op, an ATTACH or CROSS, was answered; gets the rest, in part inside the reply
 *
 * Context: process.
 * Return: 0 or -EIO.
 */
int rdmafs_attach_decode(struct rdmafs_attached *at)
{
	struct rfp_dec dec;

	at->rep = rdmafs_op_reply(at->op, &dec, sizeof(*at->rep));
	rfp_dec_fh(&dec, &at->root);
	at->attr = rfp_dec_fixed(&dec, sizeof(*at->attr));
	rdmafs_seclabel_decode(at->op, &dec, &at->label);
	if (rfp_dec_end(&dec) || (le32_to_cpu(at->rep->flags) & ~RFP_EXPORT_ALL) ||
	    rdmafs_attr_check(NULL, at->attr) || !S_ISDIR(le32_to_cpu(at->attr->mode)))
		return -EIO;
	return 0;
}

/*
 * Ask for the export, until @end (jiffies).  If @first, the superblock has no mount yet, and is
 * given up if the server does not answer in time.  If not, this is the second ATTACH, which must
 * not, at its deadline, end calls of the first mount: a call that was sent ends only with its
 * session.  So the call is left to transport, and it neither registers credentials, which others
 * may be waiting for, nor does its answer count for the export of that mount: another may have got
 * the name.
 */
static int rdmafs_attach(struct fs_context *fc, struct super_block *sb, bool first,
			 unsigned long end, struct rdmafs_attached *at)
{
	struct rdmafs_mount *mnt = RDMAFS_M(sb);
	struct rdmafs_op *op;
	struct rfp_req *req;
	int err;

	at->op = NULL;
	op = rdmafs_op_new(RDMAFS_S(sb), RFP_ATTACH, sizeof(*req));
	if (IS_ERR(op))
		return PTR_ERR(op);
	at->op = op;
	req = (struct rfp_req *)op->req;
	if (first && mnt->opts.seclabel)
		req->flags |= cpu_to_le16(RFP_REQ_LABEL);
	/* On a hard mount as well: mount(8) has to say something, or to try elsewhere. */
	op->call.deadline = end ?: 1;
	if (!first) {
		op->call.flags |= RDMAFS_CALL_UNTIL_SENT;
		op->leave = end ?: 1;
		op->bare = true;
	}
	rfp_enc_str(&op->enc, mnt->opts.export, strlen(mnt->opts.export), RFP_EXPORT_NAME_MAX);
	err = rdmafs_op_run(op);
	/* The caller makes another superblock. */
	if (err && !first && rdmafs_xprt_aborted(mnt->xprt))
		return err;
	/* A mount that is not a softerr one has made EIO of it. */
	if (err == -EIO && time_after_eq(jiffies, end))
		err = -ETIMEDOUT;
	if (err == -ETIMEDOUT)
		errorfc(fc, "no answer from %pISpc within %u s: it was asked for export '%s'",
			&mnt->opts.addr, mnt->opts.connect_s, mnt->opts.export);
	else if (err == -ENOENT)
		errorfc(fc, "%s has no export '%s'", mnt->opts.host, mnt->opts.export);
	else if (err == -EACCES || err == -EPERM)
		errorfc(fc, "%s does not give export '%s' to this client", mnt->opts.host,
			mnt->opts.export);
	else if (err && err != -EINTR)
		errorfc(fc, "export '%s' of %s: error %d", mnt->opts.export, mnt->opts.host, err);
	if (err)
		return err;
	err = rdmafs_attach_decode(at);
	if (err)
		errorfc(fc, "%s sent an unsound answer", mnt->opts.host);
	return err;
}

/**
 * rdmafs_super_root - take over what the server says of the export, and make the root
 * @sb: a superblock that is being made, after rdmafs_super_setup()
 * @at: what the server says
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int rdmafs_super_root(struct super_block *sb, const struct rdmafs_attached *at)
{
	struct rdmafs_super *super = RDMAFS_S(sb);
	struct inode *root;
	u32 gran = le32_to_cpu(at->rep->time_gran);

	if (memchr_inv(at->rep->fsid, 0, sizeof(at->rep->fsid)))
		super_set_uuid(sb, at->rep->fsid, sizeof(at->rep->fsid));
	spin_lock_irq(&super->mnt->supers_lock);
	super->root_fh = at->root;
	super->export_flags = le32_to_cpu(at->rep->flags);
	spin_unlock_irq(&super->mnt->supers_lock);
	sb->s_time_gran = gran && gran <= NSEC_PER_SEC ? gran : 1;
	sb->s_maxbytes = min_t(u64, le64_to_cpu(at->rep->maxbytes), MAX_LFS_FILESIZE);
	if (super->export_flags & RFP_EXPORT_ACL)
		sb->s_flags |= SB_POSIXACL;
	if (super->export_flags & RFP_EXPORT_RO)
		sb->s_flags |= SB_RDONLY;
	root = rdmafs_iget(sb, &super->root_fh, at->attr, NULL, at->op->clock);
	if (IS_ERR(root))
		return PTR_ERR(root);
	sb->s_root = d_make_root(root);
	return sb->s_root ? 0 : -ENOMEM;
}

/**
 * rdmafs_super_setup - set up all of a superblock that does not depend on the export
 * @sb: the superblock, which is being made, with its s_fs_info
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int rdmafs_super_setup(struct super_block *sb)
{
	struct rdmafs_super *super = RDMAFS_S(sb);
	u32 rsize = super->mnt->rsize;
	int err;

	super->sb = sb;
	sb->s_magic = RDMAFS_MAGIC;
	sb->s_op = &rdmafs_super_ops;
	sb->s_d_op = &rdmafs_dentry_ops;
	sb->s_xattr = rdmafs_xattr_handlers;
	sb->s_export_op = &rdmafs_export_ops;
	sb->s_blocksize = PAGE_SIZE;
	sb->s_blocksize_bits = PAGE_SHIFT;
	/* Pages that the device reads must not change under way: iWARP checks a CRC. */
	sb->s_iflags |= SB_I_STABLE_WRITES;
	sb->s_flags |= SB_NOATIME | SB_NODIRATIME;

	err = super_setup_bdi(sb);
	if (err)
		return err;
	sb->s_bdi->ra_pages = max(RDMAFS_READAHEAD, 4 * rsize) >> PAGE_SHIFT;
	sb->s_bdi->io_pages = rsize >> PAGE_SHIFT;
	return 0;
}

static int rdmafs_fill_super(struct super_block *sb, struct fs_context *fc)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	struct rdmafs_mount *mnt = ctx->mnt;
	struct rdmafs_attached at;
	char name[32];
	int err;

	/* From here on kill_sb ends the mount, which is s_fs_info already. */
	ctx->mnt = NULL;
	err = rdmafs_super_setup(sb);
	if (err)
		return err;
	err = rdmafs_attach(fc, sb, true, jiffies + mnt->opts.connect_s * HZ, &at);
	if (err)
		goto out;
	mnt->cred = rdmafs_cred_get(at.op->cred);
	err = rdmafs_super_root(sb, &at);
	if (!err && mnt->opts.seclabel && !(mnt->super.export_flags & RFP_EXPORT_LABEL)) {
		errorfc(fc, "export '%s' of %s has no security labels (security_label)",
			mnt->opts.export, mnt->opts.host);
		err = -EOPNOTSUPP;
	}
	if (err)
		goto out;
	snprintf(name, sizeof(name), "%u:%u", MAJOR(sb->s_dev), MINOR(sb->s_dev));
	err = rdmafs_xprt_make_dir(mnt->xprt, name, rdmafs_proc_show);
	if (!err && mnt->opts.seclabel)
		err = rdmafs_seclabel_begin(fc, sb, &at.label);
out:
	if (at.op)
		rdmafs_op_put(at.op);
	return err;
}

/* Make a session and a superblock. */
static int rdmafs_super_make(struct fs_context *fc)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	int err;

	err = rdmafs_connect(fc);
	if (err)
		return err;
	/* Other mounts can look at it as soon as the superblock is in fs_supers. */
	fc->s_fs_info = &ctx->mnt->super;
	err = get_tree_nodev(fc, rdmafs_fill_super);
	fc->s_fs_info = NULL;
	return err;
}

/*
 * Is the export still what the superblock was made of?  It may have been removed since, and another
 * may have got its name; or its options were changed.  1: it is; 0: it is not; or an error.
 */
static int rdmafs_still_attached(struct fs_context *fc, struct super_block *sb)
{
	struct rdmafs_mount *mnt = RDMAFS_M(sb);
	unsigned long end = jiffies + mnt->opts.connect_s * HZ;
	struct rdmafs_attached at;
	int ret;

	/* As long as a mount that connects, but this one may be aborted meanwhile. */
	while (!rdmafs_xprt_connected(mnt->xprt)) {
		if (rdmafs_xprt_aborted(mnt->xprt))
			return 0;
		if (time_after_eq(jiffies, end))
			return rdmafs_connect_failed(fc, -ETIMEDOUT);
		schedule_timeout_killable(HZ / 20 ?: 1);
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	ret = rdmafs_attach(fc, sb, false, end, &at);
	if (ret && ret != -EINTR && rdmafs_xprt_aborted(mnt->xprt))
		ret = 0;
	else if (!ret)
		ret = rdmafs_same_fh(d_inode(sb->s_root), &at.root);
	/* Only this answer says that the server serves what the superblock was made of. */
	if (ret > 0) {
		rdmafs_heard_export(&mnt->super, false);
		ret = le32_to_cpu(at.rep->flags) == READ_ONCE(mnt->super.export_flags);
	}
	if (at.op)
		rdmafs_op_put(at.op);
	return ret;
}

/* Share a superblock that fits.  1: done, s_umount is held; 0: there is none; or an error. */
static int rdmafs_share(struct fs_context *fc, struct rdmafs_making *making)
{
	struct super_block *sb = rdmafs_share_get(fc);
	int ret;

	if (IS_ERR_OR_NULL(sb))
		return PTR_ERR(sb);
	rdmafs_test_point("share_found", 0);
	/* Tasks that need s_umount, as in sync(2), must not wait for the server with this one. */
	ret = rdmafs_still_attached(fc, sb);
	rdmafs_test_point("share_lock", 0);
	/*
	 * Its holder makes progress, as the server has just answered.  While the flusher is busy
	 * only a task that waits in the queue gets it, which is why this has no time limit.
	 */
	if (ret > 0 && down_write_killable(&sb->s_umount))
		ret = -EINTR;
	if (ret > 0) {
		if (rdmafs_share_fits(sb, fc)) {
			fc->root = dget(sb->s_root);
			return ret;
		}
		/* It was remounted, or aborted, before s_umount was got. */
		up_write(&sb->s_umount);
		ret = 0;
	}
	rdmafs_share_drop(making, sb);
	return ret;
}

/* Share a superblock, or make one while no other mount does that might share it. */
static int rdmafs_share_or_make(struct fs_context *fc)
{
	struct rdmafs_making *making = rdmafs_share_begin(fc);
	int ret, err = 0;

	if (IS_ERR(making))
		return PTR_ERR(making);
	ret = rdmafs_share(fc, making);
	/* umount -f of that superblock, say, is no reason why others should fail. */
	if (!ret) {
		err = rdmafs_super_make(fc);
		ret = err;
	} else if (ret == -ETIMEDOUT) {
		err = ret;
	}
	rdmafs_share_end(making, err);
	return min(ret, 0);
}

static int rdmafs_get_tree(struct fs_context *fc)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	const struct rdmafs_mount *mnt;
	int err;

	if (ctx->cross)
		return rdmafs_submount_get_tree(fc);
	/* Ids on the wire are those of the initial user namespace. */
	if (fc->user_ns != &init_user_ns) {
		errorfc(fc, "only the initial user namespace can mount");
		return -EPERM;
	}
	if (!fc->source || !ctx->opts.host)
		return invalfc(fc, "no source: host:/export is needed");
	err = rdmafs_opts_check(fc);
	if (err)
		return err;
	err = rdmafs_resolve(fc);
	if (err)
		return err;
	err = ctx->opts.unshared ? rdmafs_super_make(fc) : rdmafs_share_or_make(fc);
	if (err)
		return err;
	mnt = RDMAFS_M(fc->root->d_sb);
	if ((mnt->super.export_flags & RFP_EXPORT_RO) && !(fc->sb_flags & SB_RDONLY))
		infofc(fc, "export '%s' is read-only", mnt->opts.export);
	return 0;
}

/* Members of a quota that a remount does not name may have been set by /proc: they stay. */
static void rdmafs_quota_asked(struct rpol_quota *quota, const struct rdmafs_ctx *ctx)
{
	const struct rpol_quota *new = &ctx->opts.quota;

	if (ctx->seen & BIT(RDMAFS_OPT_MIN))
		quota->min = new->min;
	if (ctx->seen & BIT(RDMAFS_OPT_MAX))
		quota->max = new->max;
	if (ctx->seen & BIT(RDMAFS_OPT_WEIGHT))
		quota->weight = new->weight;
}

/*
 * May a remount make it writable?  The export may have been read-only when it was mounted, and not
 * be any more: so the server is asked.  Else it is asked without waiting.
 */
static int rdmafs_reconfigure_rules(struct fs_context *fc, struct rdmafs_super *super)
{
	if (!(READ_ONCE(super->export_flags) & RFP_EXPORT_RO) ||
	    !(fc->sb_flags_mask & SB_RDONLY) || (fc->sb_flags & SB_RDONLY)) {
		rdmafs_rules_doubt(super->mnt);
		rdmafs_rules_ask(super->mnt);
		return 0;
	}
	rdmafs_rules_renew(super);
	if (!(READ_ONCE(super->export_flags) & RFP_EXPORT_RO))
		return 0;
	errorfc(fc, "export '%s' is read-only", super->mnt->opts.export);
	return -EROFS;
}

static int rdmafs_reconfigure(struct fs_context *fc)
{
	struct super_block *sb = fc->root->d_sb;
	struct rdmafs_super *super = RDMAFS_S(sb);
	struct rdmafs_mount *mnt = super->mnt;
	struct rdmafs_ctx *ctx = fc->fs_private;
	const struct rdmafs_opts *new = &ctx->opts;
	unsigned long changed = (sb->s_flags ^ fc->sb_flags) & fc->sb_flags_mask;
	int err;

	err = rdmafs_opts_check(fc);
	if (!err && ctx->addr)
		err = rdmafs_resolve(fc);
	if (!err)
		err = rdmafs_opts_fixed(fc, mnt);
	if (!err)
		err = rdmafs_reconfigure_rules(fc, super);
	if (err)
		return err;
	if (!super->above)
		err = rdmafs_submounts_remount(mnt, changed, fc->sb_flags, true);
	if (err == -EBUSY)
		errorfc(fc, "a file is open for writing in a file system below the mount");
	if (err)
		return err;
	sync_filesystem(sb);
	/* The options are those of the mount above, whose remount changes them. */
	if (super->above)
		return 0;
	if (ctx->seen & RDMAFS_OPTS_QUOTA) {
		err = rdmafs_xprt_set_quota(mnt->xprt, &new->quota);
		if (err) {
			errorfc(fc, "min, max, weight: the RDMA device can't give that");
			return err;
		}
		rdmafs_quota_asked(&mnt->opts.quota, ctx);
	}
	rdmafs_xprt_set_reg(mnt->xprt, new->reg);
	mnt->opts.reg = new->reg;
	rdmafs_xprt_set_poll(mnt->xprt, new->poll_us);
	mnt->opts.poll_us = new->poll_us;
	/* Requests that are waited for keep their time, but on a hard mount that does not count. */
	WRITE_ONCE(mnt->opts.late, new->late);
	mnt->opts.timeo = new->timeo;
	mnt->opts.retrans = new->retrans;
	WRITE_ONCE(mnt->timeout, rdmafs_opts_timeout(&mnt->opts));
	rdmafs_xprt_set_deadlines(mnt->xprt, mnt->timeout);
	WRITE_ONCE(mnt->opts.names, new->names);
	mnt->opts.acregmin = new->acregmin;
	mnt->opts.acregmax = new->acregmax;
	mnt->opts.acdirmin = new->acdirmin;
	mnt->opts.acdirmax = new->acdirmax;
	/* The VFS changes those of this superblock. */
	return rdmafs_submounts_remount(mnt, changed, fc->sb_flags, false);
}

static void rdmafs_free_fc(struct fs_context *fc)
{
	struct rdmafs_ctx *ctx = fc->fs_private;

	if (!ctx)
		return;
	if (ctx->mnt)
		rdmafs_mount_end(ctx->mnt);
	rdmafs_opts_clear(&ctx->opts);
	kfree(ctx->addr);
	kfree(ctx);
}

static const struct fs_context_operations rdmafs_context_ops = {
	.free		= rdmafs_free_fc,
	.parse_param	= rdmafs_opts_parse,
	.get_tree	= rdmafs_get_tree,
	.reconfigure	= rdmafs_reconfigure,
};

static int rdmafs_init_fs_context(struct fs_context *fc)
{
	struct rdmafs_ctx *ctx;
	struct rdmafs_opts *opts;

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);
	if (!ctx)
		return -ENOMEM;
	opts = &ctx->opts;
	if (fc->purpose == FS_CONTEXT_FOR_RECONFIGURE) {
		const struct rdmafs_mount *mnt = RDMAFS_M(fc->root->d_sb);

		if (rdmafs_opts_copy(opts, &mnt->opts)) {
			kfree(ctx);
			return -ENOMEM;
		}
		ctx->port = rdmafs_addr_port(&opts->addr);
		/* The quota may have been changed since, by way of /proc. */
		rdmafs_xprt_get_quota(mnt->xprt, &opts->quota);
	} else {
		ctx->port = RDMAFS_PORT;
		rdmafs_opts_default(opts);
	}
	fc->fs_private = ctx;
	fc->ops = &rdmafs_context_ops;
	return 0;
}

static void rdmafs_kill_sb(struct super_block *sb)
{
	struct rdmafs_super *super = RDMAFS_S(sb);
	struct rdmafs_mount *mnt = super->mnt;

	rdmafs_umount_wait(super);
	kill_anon_super(sb);
	if (super == &mnt->super)
		rdmafs_mount_end(mnt);
	else
		rdmafs_submount_ended(super);
}

struct file_system_type rdmafs_type = {
	.owner		= THIS_MODULE,
	.name		= "rdmafs",
	.init_fs_context = rdmafs_init_fs_context,
	.parameters	= rdmafs_params,
	.kill_sb	= rdmafs_kill_sb,
	.fs_flags	= FS_ALLOW_IDMAP,
};
