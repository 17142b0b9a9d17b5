// SPDX-License-Identifier: GPL-2.0
/*
 * Files that clients have open, whether they still have a name or not.
 *
 * Each export has a table of entries by inode.  A file has an entry while a state has it open,
 * and while a client whose session was lost may come back for it.  Each of these opens is a claim
 * (claim.c).
 *
 * A file that loses its last name meanwhile has one in the directory of orphans first (leaving.c).
 * That name is removed with the last CLOSE.  If a session was lost, it is removed when the file
 * was not opened again in time.  If the export ended, its next start finds the orphans in the
 * directory and gives clients that time anew; and an orphan stays while a client that had it open
 * may not have heard that the export ended (cut.c).  A file that still had a name at that end
 * becomes an orphan for that client, too.
 *
 * An entry:
 *
 *	NAMED	the file has its names as users see them
 *	ORPHAN	the file's only name, or one more, is in the directory of orphans; also while that
 *		name can't be removed, because an NFS client has a delegation of the file
 *	TMPFILE	likewise its only name, and it may get its first real one (tmpfile.c)
 *	GONE	that name is being removed.  An open has to be repeated, and then finds no file,
 *		or the entry as an ORPHAN again, or the file by another name
 *
 * The change from NAMED to ORPHAN comes with the removal of a name, and must not miss an open
 * made meanwhile: the task that removes a name holds the inode's naming semaphore for writing, and
 * a task that opens the file takes it for reading (rdmafsd_opened_get()), and so does one that
 * makes the file immutable or append-only (op_fileattr.c).
 *
 * An entry exists while @opens or @awaited (its claims that are LEFT) is not zero.  It holds the
 * inode.  It also remembers the last writeback error of the inode that moved the export's write
 * verifier: a client that comes back learns of an error by comparing verifiers, even if another
 * process was told of that error meanwhile.
 *
 * Locks: naming semaphore, then exp->opened_lock, which guards the entries' states and lists.
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/pagemap.h>
#include <linux/rhashtable.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "server.h"
#include "opened.h"
#include "trace.h"

static const struct rhashtable_params rdmafsd_opened_params = {
	.key_len = sizeof(struct inode *),
	.key_offset = offsetof(struct rdmafsd_opened, inode),
	.head_offset = offsetof(struct rdmafsd_opened, node),
	.automatic_shrinking = true,
};

/**
 * rdmafsd_naming_of - find the naming semaphore of a file
 * @exp:   the export
 * @inode: the file
 *
 * Each export has its own semaphores, as the holder of one may wait for that export's disk.
 *
 * Context: any.
 * Return: the semaphore, which other files may share.
 */
struct rw_semaphore *rdmafsd_naming_of(struct rdmafsd_export *exp, struct inode *inode)
{
	return &exp->naming[hash_ptr(inode, RDMAFSD_NAMING_BITS)];
}

static struct rdmafsd_opened *rdmafsd_opened_lookup(struct rdmafsd_export *exp,
						    struct inode *inode)
{
	return rhashtable_lookup_fast(&exp->opened, &inode, rdmafsd_opened_params);
}

/**
 * rdmafsd_opened_move - change where the name of a file is; the only place where @name changes
 * @exp: the export
 * @of:  the file's entry; one that is GONE counts as an orphan until it leaves the table
 * @to:  where its name is now
 *
 * Context: any but interrupt; exp->opened_lock is held.
 */
void rdmafsd_opened_move(struct rdmafsd_export *exp, struct rdmafsd_opened *of,
			 enum rdmafsd_opened_name to)
{
	lockdep_assert_held(&exp->opened_lock);
	trace_rdmafs_opened_name(exp, of, to);
	WRITE_ONCE(exp->nr_orphans, exp->nr_orphans + (to != RDMAFSD_NAMED) -
		   (of->name != RDMAFSD_NAMED));
	WRITE_ONCE(of->name, to);
}

/**
 * rdmafsd_opened_rename - note that a file has got a name as an orphan, or has lost it
 * @exp: the export
 * @of:  the file's entry, in which the caller counts
 * @to:  where its name is now
 *
 * Context: process, does not sleep; the file's naming semaphore is held for writing.
 */
void rdmafsd_opened_rename(struct rdmafsd_export *exp, struct rdmafsd_opened *of,
			   enum rdmafsd_opened_name to)
{
	lockdep_assert_held_write(rdmafsd_naming_of(exp, of->inode));
	spin_lock(&exp->opened_lock);
	rdmafsd_opened_move(exp, of, to);
	spin_unlock(&exp->opened_lock);
}

/*
 * A new error moves the write verifier first and is remembered second, so that no COMMIT can
 * pass between them and promise with the old verifier what was lost.
 */
static int rdmafsd_opened_check_wb(struct rdmafsd_export *exp, struct rdmafsd_opened *of)
{
	errseq_t old = READ_ONCE(of->wb_err), new = old;
	int err;

	err = errseq_check_and_advance(&of->inode->i_mapping->wb_err, &new);
	if (err) {
		/* Fully ordered: a task that sees the new error sees the new verifier. */
		atomic64_inc_return(&exp->verf_gen);
		cmpxchg(&of->wb_err, old, new);
	} else {
		/*
		 * A task that saw the error before moved the verifier first: the caller reads the
		 * verifier after this.
		 */
		smp_rmb();
	}
	return err;
}

/**
 * rdmafsd_claim_check_wb - see whether unstable data of a file has been lost
 * @exp:   the export
 * @claim: the claim of an open of the file
 *
 * If so the write verifier of the export has another value when this returns, so that clients
 * write again what they have not committed.  The data may have been lost before this open was
 * made, so the caller must not report an error for it.
 *
 * Context: any; does not sleep.
 * Return: whether the verifier was moved.
 */
bool rdmafsd_claim_check_wb(struct rdmafsd_export *exp, struct rdmafsd_claim *claim)
{
	return rdmafsd_opened_check_wb(exp, claim->of);
}

/*
 * Likewise for an entry that ends, or tries to; but the error is not marked as seen, so that
 * processes on this machine are still told of it.  @now is the value to remember: errseq_sample()
 * returns 0 for an error that is not marked as seen, and the error would be found again.
 */
static void rdmafsd_opened_last_wb(struct rdmafsd_export *exp, struct rdmafsd_opened *of)
{
	errseq_t now = READ_ONCE(of->inode->i_mapping->wb_err);

	if (!errseq_check(&now, of->wb_err))
		return;
	atomic64_inc_return(&exp->verf_gen);
	WRITE_ONCE(of->wb_err, now);
}

static void rdmafsd_opened_free(struct rdmafsd_opened *of)
{
	iput(of->inode);
	kfree_rcu(of, rcu);
}

/*
 * Remove an orphan's name, then its entry, which is GONE.  No lock is held.  If a delegation is in
 * the way its holder has been asked to return it; the caller waits neither for that nor for
 * memory.  Then the entry is an ORPHAN again, and a worker tries again later.
 */
static void rdmafsd_opened_delete(struct rdmafsd_export *exp, struct rdmafsd_opened *of)
{
	bool gone = rdmafsd_orphan_remove(exp, of->inode);

	spin_lock(&exp->opened_lock);
	if (gone) {
		rhashtable_remove_fast(&exp->opened, &of->node, rdmafsd_opened_params);
		WRITE_ONCE(exp->nr_orphans, exp->nr_orphans - 1);
	} else {
		rdmafsd_opened_move(exp, of, RDMAFSD_ORPHAN);
		/* While the entry was GONE clients were told the link count without the 1 less. */
		rdmafsd_change_made(of->inode);
		list_add_tail(&of->late, &exp->late);
		/* Not mod_delayed_work(): that would put off entries that wait already. */
		queue_delayed_work(rdmafsd_reap_wq, &exp->later, HZ);
	}
	spin_unlock(&exp->opened_lock);
	if (gone)
		rdmafsd_opened_free(of);
}

/**
 * rdmafsd_opened_ends - take an entry out of service if no open or claim is left
 * @exp:    the export
 * @of:     the entry
 * @orphan: out: how rdmafsd_opened_end() is to end it
 *
 * Context: any but interrupt; exp->opened_lock is held.
 * Return: true: the caller is to call rdmafsd_opened_end() without the lock.
 */
bool rdmafsd_opened_ends(struct rdmafsd_export *exp, struct rdmafsd_opened *of, bool *orphan)
{
	lockdep_assert_held(&exp->opened_lock);
	if (of->opens || of->awaited)
		return false;
	list_del_init(&of->late);
	/* This comes before another entry of the file can be made. */
	rdmafsd_opened_last_wb(exp, of);
	*orphan = rdmafsd_name_hidden(of->name);
	if (*orphan)
		rdmafsd_opened_move(exp, of, RDMAFSD_GONE);
	else
		rhashtable_remove_fast(&exp->opened, &of->node, rdmafsd_opened_params);
	return true;
}

/**
 * rdmafsd_opened_end - end an entry, as rdmafsd_opened_ends() has said
 * @exp:    the export
 * @of:     the entry, not to be used any more
 * @orphan: the name that it has as an orphan is to be removed
 *
 * Context: process, may sleep, no VFS lock held.
 */
void rdmafsd_opened_end(struct rdmafsd_export *exp, struct rdmafsd_opened *of, bool orphan)
{
	if (orphan)
		rdmafsd_opened_delete(exp, of);
	else
		rdmafsd_opened_free(of);
}

/* Try again to remove orphans that could not be removed, unless they have been opened since. */
static void rdmafsd_opened_later(struct work_struct *work)
{
	struct rdmafsd_export *exp = container_of(to_delayed_work(work), struct rdmafsd_export,
						  later);
	struct rdmafsd_opened *of;
	LIST_HEAD(late);
	bool orphan;

	spin_lock(&exp->opened_lock);
	list_splice_init(&exp->late, &late);
	while ((of = list_first_entry_or_null(&late, struct rdmafsd_opened, late)) &&
	       !percpu_ref_is_dying(&exp->inflight)) {
		list_del_init(&of->late);
		if (!rdmafsd_opened_ends(exp, of, &orphan))
			continue;
		spin_unlock(&exp->opened_lock);
		rdmafsd_opened_end(exp, of, orphan);
		cond_resched();
		spin_lock(&exp->opened_lock);
	}
	/* If the export ends the rest stay orphans: its next start finds them. */
	list_splice(&late, &exp->late);
	spin_unlock(&exp->opened_lock);
}

static struct rdmafsd_opened *rdmafsd_opened_new(struct inode *inode)
{
	struct rdmafsd_opened *of = kzalloc(sizeof(*of), GFP_KERNEL_ACCOUNT);

	if (!of)
		return NULL;
	ihold(inode);
	of->inode = inode;
	of->wb_err = filemap_sample_wb_err(inode->i_mapping);
	of->opens = 1;
	INIT_LIST_HEAD(&of->late);
	return of;
}

/**
 * rdmafsd_opened_join - count an open in the entry of a file
 * @exp:   the export
 * @inode: the file
 * @new:   becomes the entry if there is none; or NULL
 *
 * Context: process, does not sleep; the file's naming semaphore is held.
 * Return: the entry, to be put by rdmafsd_opened_put(); NULL: there is none, and no @new;
 * -EAGAIN as an ERR_PTR: the file's name as an orphan is being removed; or another ERR_PTR.
 */
struct rdmafsd_opened *rdmafsd_opened_join(struct rdmafsd_export *exp, struct inode *inode,
					   struct rdmafsd_opened *new)
{
	struct rdmafsd_opened *of;
	int err;

	lockdep_assert_held(rdmafsd_naming_of(exp, inode));
	spin_lock(&exp->opened_lock);
	of = rdmafsd_opened_lookup(exp, inode);
	if (!of && new) {
		err = rhashtable_insert_fast(&exp->opened, &new->node, rdmafsd_opened_params);
		of = err ? ERR_PTR(err) : new;
	} else if (of && of->name == RDMAFSD_GONE) {
		/* To be repeated: the file may have another name, or the removal may fail. */
		of = ERR_PTR(-EAGAIN);
	} else if (of) {
		of->opens++;
	}
	spin_unlock(&exp->opened_lock);
	return of;
}

/**
 * rdmafsd_opened_make - count an open in the entry of a file, which is made if there is none
 * @exp:   the export
 * @inode: the file
 *
 * Context: process, may sleep; the file's naming semaphore is held.
 * Return: as rdmafsd_opened_join(), but not NULL.
 */
struct rdmafsd_opened *rdmafsd_opened_make(struct rdmafsd_export *exp, struct inode *inode)
{
	struct rdmafsd_opened *of, *new;

	lockdep_assert_held(rdmafsd_naming_of(exp, inode));
	of = rdmafsd_opened_join(exp, inode, NULL);
	if (of)
		return of;
	new = rdmafsd_opened_new(inode);
	if (!new)
		return ERR_PTR(-ENOMEM);
	of = rdmafsd_opened_join(exp, inode, new);
	/* The caller holds the inode, too: this is not its last reference. */
	if (of != new)
		rdmafsd_opened_free(new);
	return of;
}

/**
 * rdmafsd_opened_get - count an open in the entry of a file
 * @exp:   the export
 * @inode: the file
 *
 * Context: process, may sleep: waits while a name of the file is being removed.
 * Return: as rdmafsd_opened_make().
 */
struct rdmafsd_opened *rdmafsd_opened_get(struct rdmafsd_export *exp, struct inode *inode)
{
	struct rw_semaphore *naming = rdmafsd_naming_of(exp, inode);
	struct rdmafsd_opened *of;

	down_read(naming);
	of = rdmafsd_opened_make(exp, inode);
	up_read(naming);
	return of;
}

/**
 * rdmafsd_opened_put - count an open less in the entry of a file
 * @exp: the export
 * @of:  the entry, not to be used any more
 *
 * Context: process, may sleep, no VFS lock held: the file's name as an orphan may be removed.
 */
void rdmafsd_opened_put(struct rdmafsd_export *exp, struct rdmafsd_opened *of)
{
	bool ends, orphan;

	spin_lock(&exp->opened_lock);
	of->opens--;
	ends = rdmafsd_opened_ends(exp, of, &orphan);
	spin_unlock(&exp->opened_lock);
	if (ends)
		rdmafsd_opened_end(exp, of, orphan);
}

#define RDMAFSD_MADE_BITS	13

static u64 rdmafsd_made_mark(struct rdmafsd_export *exp, const struct inode *inode)
{
	return siphash_2u64(inode->i_ino, inode->i_generation, &exp->key);
}

/**
 * rdmafsd_opened_made - mark a file that a client has made in this life of the export
 * @exp:   the export
 * @inode: the file
 *
 * The server knows all opens of the file, so no guess is made when it loses its last name.  The
 * mark may replace that of another file, for which a guess is then made as for an old one.
 *
 * Context: any.
 */
void rdmafsd_opened_made(struct rdmafsd_export *exp, const struct inode *inode)
{
	u64 mark = rdmafsd_made_mark(exp, inode);

	if (exp->made && READ_ONCE(exp->unknown))
		WRITE_ONCE(exp->made[mark >> (64 - RDMAFSD_MADE_BITS)], mark);
}

/**
 * rdmafsd_opened_is_made - look for the mark of a file that was made in this life of the export
 * @exp:   the export
 * @inode: the file
 *
 * Context: any.
 * Return: true: it is there.
 */
bool rdmafsd_opened_is_made(struct rdmafsd_export *exp, const struct inode *inode)
{
	u64 mark = rdmafsd_made_mark(exp, inode);

	return exp->made && READ_ONCE(exp->made[mark >> (64 - RDMAFSD_MADE_BITS)]) == mark;
}

/**
 * rdmafsd_opened_has - tell whether a client has a file open, or may come back for an open of it
 * @exp:   the export
 * @inode: the file
 *
 * Context: any; does not sleep.  The file's naming semaphore is held for writing: so it stays.
 * Return: true if so.
 */
bool rdmafsd_opened_has(struct rdmafsd_export *exp, struct inode *inode)
{
	lockdep_assert_held_write(rdmafsd_naming_of(exp, inode));
	return rdmafsd_opened_lookup(exp, inode);
}

/**
 * rdmafsd_opened_where - tell where the name of a file is
 * @exp:   the export
 * @inode: the file, open or not
 *
 * A file that was NAMED stays so while the caller holds its naming semaphore.
 *
 * Context: any; does not sleep.
 * Return: where it is; RDMAFSD_NAMED also if the file has no entry.
 */
enum rdmafsd_opened_name rdmafsd_opened_where(struct rdmafsd_export *exp, struct inode *inode)
{
	enum rdmafsd_opened_name name;
	struct rdmafsd_opened *of;

	if (!READ_ONCE(exp->nr_orphans))
		return RDMAFSD_NAMED;
	rcu_read_lock();
	of = rdmafsd_opened_lookup(exp, inode);
	name = of ? READ_ONCE(of->name) : RDMAFSD_NAMED;
	rcu_read_unlock();
	return name;
}

/**
 * rdmafsd_is_orphan - tell whether a file has a name in the directory of orphans
 * @exp:   the export
 * @inode: the file
 *
 * While that name is being removed the file may have lost it already, so it does not count.
 *
 * Context: any; does not sleep.
 * Return: true: clients are told a link count that is one less than the file system says.
 */
bool rdmafsd_is_orphan(struct rdmafsd_export *exp, struct inode *inode)
{
	return rdmafsd_name_hidden(rdmafsd_opened_where(exp, inode));
}

/**
 * rdmafsd_opened_init - set up the table of files of an export that has nothing open yet
 * @exp: the export
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rdmafsd_opened_init(struct rdmafsd_export *exp)
{
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(exp->naming); i++)
		init_rwsem(&exp->naming[i]);
	spin_lock_init(&exp->opened_lock);
	mutex_init(&exp->orphans_lock);
	INIT_LIST_HEAD(&exp->late);
	INIT_DELAYED_WORK(&exp->later, rdmafsd_opened_later);
	err = rhashtable_init(&exp->opened, &rdmafsd_opened_params);
	if (err)
		return err;
	/* If there is no memory, guesses are made for files of this life as well. */
	if (exp->unknown)
		exp->made = kvcalloc(1 << RDMAFSD_MADE_BITS, sizeof(*exp->made), GFP_KERNEL);
	return 0;
}

/**
 * rdmafsd_opened_drop - forget an entry of an export that ends; an orphan stays where it is
 * @exp: the export
 * @of:  the entry, without opens and claims; not to be used any more
 *
 * Context: process, may sleep; the export's works have been cancelled.
 */
void rdmafsd_opened_drop(struct rdmafsd_export *exp, struct rdmafsd_opened *of)
{
	list_del_init(&of->late);
	rhashtable_remove_fast(&exp->opened, &of->node, rdmafsd_opened_params);
	rdmafsd_opened_free(of);
}

/**
 * rdmafsd_opened_exit - free the table of files of an export that ends
 * @exp: the export, with nothing open, no claim, no request at work, and no work
 *
 * Orphans stay where they are: clients may come back after the next start.
 *
 * Context: process, may sleep.
 */
void rdmafsd_opened_exit(struct rdmafsd_export *exp)
{
	struct rdmafsd_opened *of, *next;

	list_for_each_entry_safe(of, next, &exp->late, late)
		rdmafsd_opened_drop(exp, of);
	rhashtable_destroy(&exp->opened);
	kvfree(exp->made);
	rdmafsd_orphans_exit(exp);
	mutex_destroy(&exp->orphans_lock);
}
