// SPDX-License-Identifier: GPL-2.0
/*
 * Read a directory because its names are asked for one by one.
 *
 * Some programs know the names that they look at and do not list the directory first: git(1) has
 * them in its index.  Others, as find(1) does, list 100,000 names before they look at the first,
 * and the attributes that came with the listing have expired by then.  Each of these looks would
 * be a request.  READDIR brings the names, handles and attributes of some hundred entries in one.
 * So after some requests about names of one directory, by whichever tasks, the task that sent the
 * last of them reads a part of the directory, and what it finds is entered in the dcache and the
 * inodes, as it is for readdir(3) (dir.c).  Each part begins where the last one ended.
 *
 * Most of what is read may be read in vain: a program may look at few names of a large directory.
 * So it has to be earned.  A request about one name is worth about as much of the server's time as
 * RDMAFS_AHEAD_WORTH entries of a listing.  That many entries may be read for each such request,
 * and as many for each that was spared because a task looked at an object that was found here.
 * RDMAFS_AHEAD_CREDIT entries may be read before that; half of what is owed is forgotten each
 * RDMAFS_AHEAD_HALVE.  So whatever a program does, it does not cost the server much more than twice
 * what it would without.
 *
 * A directory is read to its end once in a turn, which takes some seconds, and no further in this
 * turn if the server refuses it.  If another client changes the directory, all names in it have to
 * be asked for again, so that it may be read again; what has been spent is not forgotten.  Where
 * others change it all the time, more and more requests have to come before each part.
 *
 * On a mount with security labels, which entries of a listing lack, only names that the dcache has
 * are entered (dir.c).  So a name that is looked up there for the first time does not count.
 *
 * Nothing depends on whether it succeeds, and no caller is told its errors.  So a task that has
 * the answer about its own name waits for more only if the server serves the export, and for no
 * longer than RDMAFS_AHEAD_WAIT: the server may be gone by now, its disk may be slow, and while the
 * task waits no name in the directory can be changed.  A task that leaves its READDIR under way
 * leaves a slot of the session to it.  So that these do not add up, nothing of the mount is read
 * ahead for RDMAFS_AHEAD_PAUSE then.
 *
 * Locks: the directory's i_rwsem is held shared while names are entered, as it is for readdir(3).
 * It must not be held exclusively: its holder is about to change a name then, and entering what the
 * server says may move that very name, or another in its place (d_splice_alias()).  How the caller
 * holds it, if at all, can't be told from the name: knfsd and overlayfs look up what they are going
 * to remove as others look up what they want to see.  So each part takes the lock once more,
 * shared, if it can be had at once: that fails while a task holds it exclusively, this one
 * included, or waits to do so.  rdmafs_inode.lock protects struct rdmafs_ahead.  The task has no
 * name of its own that others wait for (d_in_lookup()).  Names that other tasks look up just then
 * are left out, so that it does not wait for theirs (rdmafs_looking()).
 */
#include <linux/dcache.h>
#include <linux/fs.h>
#include "transport/points.h"
#include "client.h"
#include "dir.h"
#include "op.h"

/* Requests about single names before each part: a part costs less than the next of these. */
#define RDMAFS_AHEAD_ASKED	3U

/* Entries of a listing that may be read for a request about one name, sent or spared. */
#define RDMAFS_AHEAD_WORTH	16U

/* Entries that may be read before they are earned: the whole of most directories. */
#define RDMAFS_AHEAD_CREDIT	1024U

/* The cost of a part that did not come, in entries. */
#define RDMAFS_AHEAD_PART	256U

/* So many times the number of requests is doubled that have to come before a part. */
#define RDMAFS_AHEAD_CALLS_MAX	6U

/* After that time half of what is owed is forgotten, in jiffies. */
#define RDMAFS_AHEAD_HALVE	(60 * HZ)

/* For so long a task waits for the replies of a part, all together, in jiffies. */
#define RDMAFS_AHEAD_WAIT	(5 * HZ)

/* For so long nothing is read ahead after a reply that did not come in time, in jiffies. */
#define RDMAFS_AHEAD_PAUSE	(60 * HZ)

/* A turn takes as long as attributes of files last at least, but no more seconds than this. */
#define RDMAFS_AHEAD_TURN_MAX	3U

/* For how long a turn lasts, in jiffies; 0: what comes ahead would not be believed. */
static unsigned long rdmafs_ahead_turn(struct inode *dir)
{
	const struct rdmafs_opts *opts = &RDMAFS_M(dir->i_sb)->opts;

	if (READ_ONCE(opts->names) == RDMAFS_NAMES_NONE || !READ_ONCE(opts->acdirmin))
		return 0;
	return min(READ_ONCE(opts->acregmin), RDMAFS_AHEAD_TURN_MAX) * HZ;
}

/* Did a reply not come in time, a short while ago? */
static bool rdmafs_ahead_pauses(struct rdmafs_mount *mnt)
{
	unsigned long until = READ_ONCE(mnt->ahead_pause);

	return until && time_before(jiffies, until);
}

/* A turn has ended: forget what may be forgotten.  The caller holds rdmafs_inode.lock. */
static void rdmafs_ahead_next_turn(struct rdmafs_ahead *a, unsigned long turn)
{
	lockdep_assert_held(&container_of(a, struct rdmafs_inode, ahead)->lock);
	a->ends = jiffies + turn;
	a->asked = 0;
	a->over = false;
	a->refused = false;
	if (!a->moved && a->calls)
		a->calls--;
	a->moved = false;
	if (!a->verifier || time_after_eq(jiffies, a->halves)) {
		a->halves = jiffies + RDMAFS_AHEAD_HALVE;
		a->owed /= 2;
	}
}

/*
 * The names have to be asked for again, as another client has changed the directory.  If that was
 * soon after a part had been read, the next one has to wait for twice as many requests.  The
 * caller holds rdmafs_inode.lock.
 */
static void rdmafs_ahead_moved(struct rdmafs_ahead *a, unsigned long verifier)
{
	lockdep_assert_held(&container_of(a, struct rdmafs_inode, ahead)->lock);
	if (a->read && a->calls < RDMAFS_AHEAD_CALLS_MAX)
		a->calls++;
	a->moved = a->verifier != 0;
	a->read = false;
	a->verifier = verifier;
	a->cookie = 0;
	a->over = false;
}

/* Count a request about one name; true if a part is to be read now, by this task alone. */
static bool rdmafs_ahead_begin(struct inode *dir, unsigned long turn, struct rdmafs_listing *l)
{
	struct rdmafs_inode *ri = RDMAFS_I(dir);
	struct rdmafs_ahead *a = &ri->ahead;
	bool due;

	spin_lock_irq(&ri->lock);
	if (!a->verifier || time_after_eq(jiffies, a->ends))
		rdmafs_ahead_next_turn(a, turn);
	if (a->verifier != ri->coh.verifier && !a->busy)
		rdmafs_ahead_moved(a, ri->coh.verifier);
	a->asked++;
	a->owed -= min(a->owed, RDMAFS_AHEAD_WORTH);
	due = !a->busy && !a->over && !a->refused && a->owed < RDMAFS_AHEAD_CREDIT &&
	      a->asked >= RDMAFS_AHEAD_ASKED << a->calls;
	if (due) {
		a->busy = true;
		a->read = true;
		a->asked = 0;
		l->cookie = a->cookie;
		l->index = a->cookie ? a->index : 0;
	}
	spin_unlock_irq(&ri->lock);
	return due;
}

/*
 * A part has been read, @nr entries, or a negative errno.  The server has had its work with one
 * that it refused, too; it is likely to refuse the next as well, but not that of a killed task.
 */
static void rdmafs_ahead_end(struct inode *dir, const struct rdmafs_listing *l, int nr)
{
	struct rdmafs_inode *ri = RDMAFS_I(dir);
	struct rdmafs_ahead *a = &ri->ahead;

	spin_lock_irq(&ri->lock);
	a->busy = false;
	if (nr < 0) {
		a->refused = nr != -EINTR;
		a->owed += RDMAFS_AHEAD_PART;
	} else {
		a->over = l->eof && !l->cut;
		a->cookie = a->over ? 0 : l->last;
		a->index = l->index;
		a->owed += nr;
	}
	spin_unlock_irq(&ri->lock);
}

/* A READDIR that fails rather than wait for the export, memory, or, after @until, anything. */
static struct rdmafs_op *rdmafs_ahead_op(struct rdmafs_super *super, unsigned long until)
{
	struct rdmafs_op *op = rdmafs_op_new(super, RFP_READDIR, sizeof(struct rfp_readdir_req));

	if (IS_ERR(op))
		return op;
	op->brief = true;
	op->leave = until;
	/* This does not end a call that was sent, and the session with it, on a soft mount. */
	op->call.deadline = until;
	op->call.flags |= RDMAFS_CALL_UNTIL_SENT;
	return op;
}

/*
 * Read a part.  As for readdir(3), what fits a message comes first, so that in a small directory
 * no task waits for translations of the RNIC; if that is not all, more comes at once.
 */
static int rdmafs_ahead_read(struct dentry *parent, struct rdmafs_listing *l)
{
	struct rdmafs_mount *mnt = RDMAFS_M(parent->d_sb);
	unsigned long until = jiffies + RDMAFS_AHEAD_WAIT ?: 1;
	bool large = l->cookie;
	struct rdmafs_op *op;
	int nr, all = 0;

	rdmafs_test_point("ahead_read", d_inode(parent)->i_ino);
	for (;;) {
		op = rdmafs_ahead_op(RDMAFS_S(parent->d_sb), until);
		if (IS_ERR(op))
			return PTR_ERR(op);
		nr = rdmafs_dir_fetch(parent, op, large, l);
		if (nr == -ETIMEDOUT)
			WRITE_ONCE(mnt->ahead_pause, jiffies + RDMAFS_AHEAD_PAUSE ?: 1);
		if (nr < 0)
			return nr;
		kvfree(l->data);
		/* Not all of the names have been entered then. */
		if (fatal_signal_pending(current))
			return -EINTR;
		all += nr;
		if (large || l->eof || l->cut)
			return all;
		l->cookie = l->last;
		large = true;
	}
}

/**
 * rdmafs_ahead_dir - a name was asked for: read a part of its directory if it is time
 * @parent: the directory, referenced
 *
 * If the directory's lock can't be had shared at once, the request does not count.
 *
 * Context: process, may sleep; the wait for the answer is killable, and short.  The caller may
 * hold the directory's lock, in either way; it holds no op, nor a name of the directory that is
 * being looked up.
 */
void rdmafs_ahead_dir(struct dentry *parent)
{
	struct inode *dir = d_inode(parent);
	unsigned long turn = rdmafs_ahead_turn(dir);
	struct rdmafs_listing l = { .plus = true, .ahead = true };

	if (!turn || rdmafs_ahead_pauses(RDMAFS_M(dir->i_sb)) || !inode_trylock_shared(dir))
		return;
	if (!IS_DEADDIR(dir) && rdmafs_ahead_begin(dir, turn, &l))
		rdmafs_ahead_end(dir, &l, rdmafs_ahead_read(parent, &l));
	inode_unlock_shared(dir);
}

/**
 * rdmafs_ahead - the same, by the name that was asked for
 * @dentry: the name, positive
 *
 * Nothing is read while the object is locked.  That may be by this task, which is about to change
 * it: knfsd asks for attributes of what it has locked, for a rename of two directories and with
 * s_vfs_rename_mutex held.  No other task should wait for what is read ahead then.
 *
 * Context: as for rdmafs_ahead_dir().
 */
void rdmafs_ahead(struct dentry *dentry)
{
	struct dentry *parent;

	if (IS_ROOT(dentry) || d_unhashed(dentry) || inode_is_locked(d_inode(dentry)))
		return;
	parent = dget_parent(dentry);
	rdmafs_ahead_dir(parent);
	dput(parent);
}

/**
 * rdmafs_ahead_used - a task looks at an object whose attributes came ahead
 * @dentry: its name
 *
 * Context: process; takes rdmafs_inode.lock of the directory.
 */
void rdmafs_ahead_used(struct dentry *dentry)
{
	struct dentry *parent = dget_parent(dentry);
	struct rdmafs_inode *ri = RDMAFS_I(d_inode(parent));

	spin_lock_irq(&ri->lock);
	ri->ahead.owed -= min(ri->ahead.owed, RDMAFS_AHEAD_WORTH);
	spin_unlock_irq(&ri->lock);
	dput(parent);
}
