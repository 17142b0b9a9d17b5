// SPDX-License-Identifier: GPL-2.0
/*
 * Read directories, and seek in them.
 *
 * Positions.  "." is 0, ".." is 1.  A cookie of the server stands for the place
 * after an entry.  The client's position for that place is cookie + 2, so that the
 * first entry (cookie 0) is at 2.  Positions keep their meaning while entries come
 * and go, because the server's cookies do.  Cookies of the very end (ext4's is
 * 2^63 - 1) do not fit; they become RDMAFS_POS_END, where nothing follows.
 *
 * Each open directory holds the last reply and goes through it.  A seek to another
 * place, or to the beginning, drops the reply.  The first fetch is small, so that it
 * needs no translation of the RNIC; further ones are large.  A reader that starts at
 * the beginning uses replies that were kept when the directory was read last
 * (listing.c), by a reader or because single names were asked for (ahead.c).
 *
 * Entries come with handles and attributes, which are entered in the dcache and the
 * inodes.  What usually follows (stat, rm -r, find) needs no request then.  But each of them
 * takes memory, and the server's time.  If a reader has got RDMAFS_DIR_UNLOOKED of them and no
 * name of the directory was looked at meanwhile, it gets names alone from then on, until one is.
 *
 * Locks: rdmafs_dir.lock is held while the server is asked.
 */
#include <linux/slab.h>
#include "client.h"
#include "dir.h"
#include "op.h"

#define RDMAFS_POS_FIRST	2
#define RDMAFS_POS_END		LLONG_MAX

#define RDMAFS_DIR_SMALL	RDMAFS_XPRT_INLINE_MAX
#define RDMAFS_DIR_SMALL_FETCHES 1
#define RDMAFS_DIR_LARGE	65536

/* For how long names of a reply are entered, in jiffies. */
#define RDMAFS_DIR_PRIME	HZ

/* find(1) and others that use fts(3) read 100,000 names before they look at the first. */
#define RDMAFS_DIR_UNLOOKED	131072U

/**
 * struct rdmafs_dir - an open directory
 * @cred:    credentials of the task that opened it, referenced; requests are made with these, as
 *	     the descriptor may be handed on; constant
 * @lock:    protects the rest, as several tasks may iterate at a time
 * @reply:   entries of the last reply, or NULL
 * @dec:     the place in @reply
 * @pos:     the position of that place
 * @cookie:  the cookie of that place
 * @fetches: replies since the beginning
 * @unlooked: entries that were entered in the dcache since a name was looked at
 * @index:   where the next reply may be kept, or RDMAFS_LISTING_NONE
 * @begun:   it was read from the beginning before
 * @ask:     the next reply has to come from the server
 * @asked:   a reply has come from the server since the beginning
 * @vain:    since then attributes came of which none was of use: no more are asked for
 * @eof:     nothing follows @reply
 */
struct rdmafs_dir {
	struct rdmafs_cred *cred;
	struct mutex lock; /* protects the rest */
	void *reply;
	struct rfp_dec dec;
	loff_t pos;
	u64 cookie;
	unsigned int fetches;
	unsigned int unlooked;
	pgoff_t index;
	bool begun;
	bool ask;
	bool asked;
	bool vain;
	bool eof;
};

static loff_t rdmafs_dir_pos(u64 cookie)
{
	if (cookie >= (u64)RDMAFS_POS_END - RDMAFS_POS_FIRST)
		return RDMAFS_POS_END;
	return cookie + RDMAFS_POS_FIRST;
}

static void rdmafs_dir_drop(struct rdmafs_dir *d)
{
	kvfree(d->reply);
	d->reply = NULL;
	d->eof = false;
}

/*
 * Enter a name, with what the server said about it, in the dcache.  @ahead: rdmafs_listing.ahead.
 * False: the entry is of no use, as it has no label.
 */
static bool rdmafs_dir_prime(struct dentry *parent, const struct rfp_dirent_view *ent,
			     unsigned long verifier, u64 clock, bool ahead)
{
	struct qstr name = QSTR_INIT(ent->name.s, ent->name.len);
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(wq);
	struct super_block *sb = parent->d_sb;
	struct dentry *dentry, *alias;
	struct inode *inode;

	name.hash = full_name_hash(parent, name.name, name.len);
	dentry = d_lookup(parent, &name);
	if (dentry && !d_in_lookup(dentry)) {
		inode = d_inode(dentry);
		if (inode && rdmafs_same_fh(inode, &ent->fh) && !rdmafs_attr_check(sb, ent->attr)) {
			rdmafs_attr_fresh(inode, ent->attr, clock);
			rdmafs_dentry_fresh(dentry, verifier);
			if (ahead)
				set_bit(RDMAFS_I_AHEAD, &RDMAFS_I(inode)->flags);
			dput(dentry);
			return true;
		}
		d_invalidate(dentry);
		dput(dentry);
		dentry = NULL;
	}
	/* Entries have no labels, for which SELinux would send a request for each, at once. */
	if (!dentry && RDMAFS_S(sb)->seclabel)
		return false;
	if (!dentry) {
		/*
		 * d_alloc_parallel() would wait, whatever signals come, until the task that looks
		 * the name up has its answer.  Reading ahead does without that name.  (The task
		 * may begin between this test and d_alloc_parallel(), but hardly ever does.)
		 */
		if (ahead && atomic_read(rdmafs_looking(name.hash)))
			return true;
		dentry = d_alloc_parallel(parent, &name, &wq);
		if (IS_ERR(dentry))
			return true;
	}
	/* Another task has just looked it up. */
	if (!d_in_lookup(dentry)) {
		dput(dentry);
		return true;
	}
	inode = rdmafs_iget(sb, &ent->fh, ent->attr, NULL, clock);
	if (IS_ERR(inode)) {
		/* The name is not hashed, so that a lookup will ask again. */
		d_lookup_done(dentry);
		dput(dentry);
		return true;
	}
	if (ahead)
		set_bit(RDMAFS_I_AHEAD, &RDMAFS_I(inode)->flags);
	rdmafs_dentry_fresh(dentry, verifier);
	alias = d_splice_alias(inode, dentry);
	d_lookup_done(dentry);
	if (!IS_ERR_OR_NULL(alias)) {
		rdmafs_dentry_fresh(alias, verifier);
		dput(alias);
	}
	dput(dentry);
	return true;
}

/*
 * Is the rest of a reply of no use any more?  So it is when all of its names have to be asked for
 * again, as another client has changed the directory; when its attributes would be believed for
 * long after their time, as other tasks that look names up had to be waited for; or when a signal
 * has killed the task.
 */
static bool rdmafs_dir_outdated(struct inode *dir, unsigned long verifier, unsigned long until)
{
	return rdmafs_dir_verifier(dir) != verifier || time_after(jiffies, until) ||
	       fatal_signal_pending(current);
}

/* Enter the names of a reply that has just come; returns how many entries it has. */
static int rdmafs_dir_prime_all(struct dentry *parent, struct rdmafs_listing *l,
				unsigned long verifier, u64 clock)
{
	unsigned long until = jiffies + RDMAFS_DIR_PRIME;
	struct rfp_dirent_view ent;
	struct rfp_dec dec;
	int nr = 0;

	l->last = l->cookie;
	l->cut = false;
	l->used = false;
	rfp_dec_init(&dec, l->data, l->count);
	while (rfp_dec_dirent(&dec, &ent) == 1) {
		nr++;
		l->cut = l->cut || rdmafs_dir_outdated(d_inode(parent), verifier, until);
		if (l->cut)
			continue;
		if (ent.attr && ent.fh.len)
			l->used |= rdmafs_dir_prime(parent, &ent, verifier, clock, l->ahead);
		l->last = ent.cookie;
		cond_resched();
	}
	return nr;
}

/**
 * rdmafs_dir_ask - send READDIR, and take over the directory's attributes
 * @dir:   the directory
 * @op:	   a new RFP_READDIR
 * @large: ask for RDMAFS_DIR_LARGE bytes, memory allowing, not for those that fit a message
 * @l:	   in: @cookie, @plus, @ahead.  Out: @data, @count, @eof, @change; @data is to be freed by
 *	   kvfree()
 *
 * The op itself is not kept while the directory is open, since other operations need its memory.
 *
 * Context: process, may sleep; the wait is killable.
 * Return: 0: @l has an entry or the end; or a negative errno.
 */
int rdmafs_dir_ask(struct inode *dir, struct rdmafs_op *op, bool large, struct rdmafs_listing *l)
{
	struct rfp_readdir_req *req = (struct rfp_readdir_req *)op->req;
	u32 size = large ? RDMAFS_DIR_LARGE : RDMAFS_DIR_SMALL;
	const struct rfp_readdir_rep *rep;
	const struct rfp_attr *attr;
	struct rfp_dec dec;
	int err;

	err = rdmafs_op_buf(op, RDMAFS_XPRT_READ, size);
	if (err && large) {
		size = RDMAFS_DIR_SMALL;
		err = rdmafs_op_buf(op, RDMAFS_XPRT_READ, size);
	}
	if (err)
		return err;
	req->cookie = cpu_to_le64(l->cookie);
	req->count = cpu_to_le32(size);
	req->flags = cpu_to_le32((l->plus ? RFP_READDIR_PLUS : 0) |
				 (l->ahead ? RFP_READDIR_NOATIME : 0));
	rfp_enc_fh(&op->enc, &RDMAFS_I(dir)->fh);
	err = rdmafs_op_run(op);
	if (err)
		return err;
	rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
	attr = rfp_dec_fixed(&dec, sizeof(*attr));
	if (rfp_dec_end(&dec) || (le32_to_cpu(rep->flags) & ~RFP_READDIR_EOF) ||
	    rdmafs_attr_check(dir->i_sb, attr))
		return -EIO;
	l->count = le32_to_cpu(rep->count);
	l->eof = le32_to_cpu(rep->flags) & RFP_READDIR_EOF;
	l->change = le64_to_cpu(attr->change);
	/* A reply with neither an entry nor the end would be followed by another, for ever. */
	if (l->count != op->call.data_len || (!l->count && !l->eof))
		return -EIO;
	rdmafs_attr_fresh(dir, attr, op->clock);
	l->data = op->buf;
	op->buf = NULL;
	return 0;
}

/**
 * rdmafs_dir_fetch - have a part of a directory sent, enter its names in the dcache, and keep it
 * @parent: the directory
 * @op:	    a new RFP_READDIR, which is put
 * @large:  as for rdmafs_dir_ask()
 * @l:	    in: @cookie, @plus, @index.  Out: all; @data is to be freed by kvfree()
 *
 * Context: process, may sleep.  The wait for the answer is killable; that of readdir(3) for a name
 * in it which another task looks up ends when that task's LOOKUP does.  Reading ahead leaves such
 * names out.  The directory's lock is held shared, by iterate_dir() or rdmafs_ahead_dir(), and no
 * name of it that is being looked up.
 * Return: the number of entries, or a negative errno.
 */
int rdmafs_dir_fetch(struct dentry *parent, struct rdmafs_op *op, bool large,
		     struct rdmafs_listing *l)
{
	struct inode *dir = d_inode(parent);
	unsigned long verifier = rdmafs_dir_verifier(dir);
	u64 change = rdmafs_listing_change(dir);
	unsigned long sent = jiffies;
	int err, nr;
	u64 clock;

	/* So no task, this one included, is about to change a name of the directory (ahead.c). */
	lockdep_assert_held_read(&dir->i_rwsem);
	l->cred = rdmafs_listing_cred(op);
	err = rdmafs_dir_ask(dir, op, large, l);
	clock = op->clock;
	rdmafs_op_put(op);
	if (err)
		return err;
	nr = rdmafs_dir_prime_all(parent, l, verifier, clock);
	/* Readers of what is kept take it that the names have been entered. */
	if (l->index != RDMAFS_LISTING_NONE && l->change == change && !l->cut)
		rdmafs_listing_keep(dir, l, sent);
	else
		l->index = RDMAFS_LISTING_NONE;
	return nr;
}

/*
 * Are attributes to come with the names?  On a mount with security labels they are of use only for
 * names that the dcache has (rdmafs_dir_prime()): so not before one has been looked at, and not
 * after a reply in which there was none of these.
 */
static bool rdmafs_dir_plus(struct inode *dir, struct rdmafs_dir *d)
{
	if (d->vain)
		return false;
	if (test_and_clear_bit(RDMAFS_I_LOOKED, &RDMAFS_I(dir)->flags))
		d->unlooked = 0;
	else if (!d->asked && RDMAFS_S(dir->i_sb)->seclabel)
		d->unlooked = RDMAFS_DIR_UNLOOKED;
	return d->unlooked < RDMAFS_DIR_UNLOOKED;
}

/* Get the entries after d->cookie, kept ones or from the server. */
static int rdmafs_dir_next(struct file *file, struct rdmafs_dir *d)
{
	struct rdmafs_listing l = {
		.index = d->index, .cookie = d->cookie, .fresh = d->asked,
	};
	struct inode *dir = file_inode(file);
	struct rdmafs_op *op;
	int nr;

	rdmafs_dir_drop(d);
	op = rdmafs_op_new_cred(RDMAFS_S(dir->i_sb), RFP_READDIR, sizeof(struct rfp_readdir_req),
				d->cred, RDMAFS_POOL_COMMON);
	l.cred = rdmafs_listing_cred(op);
	if (!d->ask && l.index != RDMAFS_LISTING_NONE && !rdmafs_listing_load(dir, &l)) {
		rdmafs_op_put(op);
	} else {
		l.plus = rdmafs_dir_plus(dir, d);
		nr = rdmafs_dir_fetch(file_dentry(file), op,
				      d->fetches >= RDMAFS_DIR_SMALL_FETCHES, &l);
		if (nr < 0)
			return nr;
		d->unlooked += l.plus ? nr : 0;
		if (RDMAFS_S(dir->i_sb)->seclabel && l.plus && nr && !l.used && !l.cut)
			d->vain = true;
		d->ask = false;
		d->asked = true;
	}
	d->reply = l.data;
	rfp_dec_init(&d->dec, l.data, l.count);
	d->eof = l.eof;
	d->index = l.index;
	d->fetches++;
	return 0;
}

/* Move to @pos, which is the caller's ctx->pos. */
static void rdmafs_dir_seek(struct rdmafs_dir *d, loff_t pos)
{
	if (d->pos == pos && pos != RDMAFS_POS_FIRST)
		return;
	/* At the beginning a reply that is held is dropped, so that changes since are seen. */
	if (d->pos == pos && !d->reply)
		return;
	rdmafs_dir_drop(d);
	d->pos = pos;
	d->cookie = pos - RDMAFS_POS_FIRST;
	d->fetches = 0;
	d->index = pos == RDMAFS_POS_FIRST ? 0 : RDMAFS_LISTING_NONE;
	/*
	 * A kept listing was confirmed by the open, so it serves the first pass only: rewinddir(3)
	 * promises the state of its own time.
	 */
	d->ask = d->begun;
	d->asked = false;
	d->vain = false;
	d->begun = true;
}

static int rdmafs_readdir_locked(struct file *file, struct dir_context *ctx,
				 struct rdmafs_dir *d)
{
	struct rfp_dirent_view ent;
	struct rfp_dec before;
	int ret;

	lockdep_assert_held(&d->lock);
	rdmafs_dir_seek(d, ctx->pos);
	while (ctx->pos != RDMAFS_POS_END) {
		if (!d->reply) {
			ret = rdmafs_dir_next(file, d);
			if (ret)
				return ret;
		}
		before = d->dec;
		ret = rfp_dec_dirent(&d->dec, &ent);
		if (ret < 0)
			return -EIO;
		if (!ret) {
			if (!d->eof) {
				rdmafs_dir_drop(d);
				continue;
			}
			/* Empty: at POS_FIRST the next call would ask the server again. */
			if (ctx->pos == RDMAFS_POS_FIRST) {
				ctx->pos = RDMAFS_POS_END;
				d->pos = ctx->pos;
			}
			break;
		}
		if (!dir_emit(ctx, ent.name.s, ent.name.len, ent.ino, ent.type)) {
			d->dec = before;
			break;
		}
		d->cookie = ent.cookie;
		ctx->pos = rdmafs_dir_pos(ent.cookie);
		d->pos = ctx->pos;
	}
	return 0;
}

static int rdmafs_readdir(struct file *file, struct dir_context *ctx)
{
	struct rdmafs_dir *d = file->private_data;
	int err;

	if (ctx->pos < 0)
		return -EINVAL;
	if (!dir_emit_dots(file, ctx))
		return 0;
	if (mutex_lock_killable(&d->lock))
		return -EINTR;
	err = rdmafs_readdir_locked(file, ctx, d);
	mutex_unlock(&d->lock);
	return err;
}

static loff_t rdmafs_dir_llseek(struct file *file, loff_t offset, int whence)
{
	switch (whence) {
	case SEEK_CUR:
		if (offset)
			return -EINVAL;
		return file->f_pos;
	case SEEK_SET:
		break;
	default:
		return -EINVAL;
	}
	/* Any position may come from telldir(3). */
	return vfs_setpos(file, offset, LLONG_MAX);
}

static int rdmafs_dir_open(struct inode *inode, struct file *file)
{
	struct rdmafs_dir *d;

	if (rdmafs_idmap_tell(RDMAFS_M(inode->i_sb), file_mnt_idmap(file), false))
		return -ENOMEM;
	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return -ENOMEM;
	d->cred = rdmafs_cred_current(RDMAFS_M(inode->i_sb));
	if (IS_ERR(d->cred)) {
		kfree(d);
		return -ENOMEM;
	}
	mutex_init(&d->lock);
	file->private_data = d;
	return 0;
}

static int rdmafs_dir_release(struct inode *inode, struct file *file)
{
	struct rdmafs_dir *d = file->private_data;

	rdmafs_dir_drop(d);
	rdmafs_cred_put(d->cred);
	kfree(d);
	return 0;
}

/* There is nothing to sync: changes of names are stable before the server answers. */
static int rdmafs_dir_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	return 0;
}

const struct file_operations rdmafs_dir_fops = {
	.open		= rdmafs_dir_open,
	.release	= rdmafs_dir_release,
	.iterate_shared	= rdmafs_readdir,
	.read		= generic_read_dir,
	.llseek		= rdmafs_dir_llseek,
	.fsync		= rdmafs_dir_fsync,
};
