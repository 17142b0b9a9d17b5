// SPDX-License-Identifier: GPL-2.0
/*
 * Files that clients have open, whether they still have a name or not.
 *
 * Each export has a table of entries by inode.  A file has an entry while a state has it open,
 * and while a client whose session was lost may come back for it.  Each export also has a table
 * of claims by number, one for each open.  The number stands in the proof that the client got with
 * the open (handle.c).  A client that comes back shows the proof, and takes up that claim and no
 * other.  A claim is kept for reclaim_s seconds, also if that parameter is written meanwhile.
 *
 * A claim:
 *
 *	NEW	has no file yet: there is room for an open
 *	OPEN	a state has the file open
 *	AGAIN	likewise; but the client had lost its session, and opened the file again before
 *		that session ended here, so it will not come back for this claim
 *	LEFT	its session was lost: the client may come back
 *
 * A claim counts among the opens of its client (clients.c) while it exists.  So a client can't
 * leave more claims than it may have opens.
 *
 * When the last name of such a file is removed, or another file is moved over it, the file first
 * gets another name in a directory that clients do not see (orphan.c).  Without one its handle
 * could not be decoded, and a client that lost its session could not open the file again.
 * Clients are told a link count that is one less.  That name is removed with the last CLOSE.  If a
 * session was lost, it is removed when the file was not opened again in time.  If the export
 * ended, its next start finds the orphans in the directory and gives clients that time anew; and
 * an orphan stays while a client that had it open may not have heard that the export ended
 * (cut.c).  A file that still had a name at that end becomes an orphan for that client, too.
 *
 * After a crash the server does not know what was open, and a file's name may be removed before
 * the client that had it open comes back.  So while clients may come back after the start of the
 * export (rdmafsd_export_unknown()) each file that loses its last name becomes an orphan until
 * that time is over.  Its claim is a guess.  There may be as many guesses as opens, which bounds
 * the inodes in memory, and one client's removals may make only a part of them.  No guess is made
 * for a file that was made in this life of the export (rdmafsd_opened_made()), as the server knows
 * its opens.  If the file system is full, all guesses go at once.
 *
 * An entry:
 *
 *	NAMED	the file has its names as users see them
 *	ORPHAN	the file's only name, or one more, is in the directory of orphans; also while that
 *		name can't be removed, because an NFS client has a delegation of the file
 *	GONE	that name is being removed.  An open has to be repeated, and then finds no file,
 *		or the entry as an ORPHAN again, or the file by another name
 *
 * The change from NAMED to ORPHAN comes with the removal of a name, and must not miss an open
 * made meanwhile.  So a task that removes a name holds the inode's naming semaphore for writing
 * from before it looks whether the file is open until the name is removed.  A task that opens the
 * file takes it for reading while it counts itself in the entry (rdmafsd_opened_get()).
 *
 * An entry exists while @opens or @awaited (its claims that are LEFT) is not zero.  It holds the
 * inode.  It also remembers the last writeback error of the inode that moved the export's write
 * verifier: a client that comes back learns of an error by comparing verifiers, even if another
 * process was told of that error meanwhile.
 *
 * Locks: naming semaphore, then exp->opened_lock, which guards the entries' and claims' states
 * and lists.
 */
#define pr_fmt(fmt) "rdmafsd: " fmt

#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/statfs.h>
#include "transport/points.h"
#include "request.h"

static unsigned int rdmafsd_reclaim_s = 90;

/*
 * The workers are armed by the former time, so all of them are made to look at once.  A parameter
 * may be written before the module's init and after its exit, too: then there are neither notes
 * nor exports, and no worker is armed.
 */
static int rdmafsd_reclaim_set(const char *val, const struct kernel_param *kp)
{
	int err = param_set_uint(val, kp);

	if (err)
		return err;
	rdmafsd_cuts_look();
	rdmafsd_exports_look();
	return 0;
}

static const struct kernel_param_ops rdmafsd_reclaim_ops = {
	.set = rdmafsd_reclaim_set,
	.get = param_get_uint,
};

module_param_cb(reclaim_s, &rdmafsd_reclaim_ops, &rdmafsd_reclaim_s, 0644);
__MODULE_PARM_TYPE(reclaim_s, "uint");
MODULE_PARM_DESC(reclaim_s, "seconds for which a client may open again what it had open");

static atomic_t rdmafsd_left;	/* claims of all exports that are LEFT */

static struct workqueue_struct *rdmafsd_reap_wq;	/* of each export: for its file system */

static const struct rhashtable_params rdmafsd_opened_params = {
	.key_len = sizeof(struct inode *),
	.key_offset = offsetof(struct rdmafsd_opened, inode),
	.head_offset = offsetof(struct rdmafsd_opened, node),
	.automatic_shrinking = true,
};

static const struct rhashtable_params rdmafsd_claims_params = {
	.key_len = sizeof(u64),
	.key_offset = offsetof(struct rdmafsd_claim, id),
	.head_offset = offsetof(struct rdmafsd_claim, node),
	.automatic_shrinking = true,
};

/* Each export has its own semaphores, as the holder of one may wait for that export's disk. */
static struct rw_semaphore *rdmafsd_naming_of(struct rdmafsd_export *exp, struct inode *inode)
{
	return &exp->naming[hash_ptr(inode, RDMAFSD_NAMING_BITS)];
}

static struct rdmafsd_opened *rdmafsd_opened_lookup(struct rdmafsd_export *exp,
						    struct inode *inode)
{
	return rhashtable_lookup_fast(&exp->opened, &inode, rdmafsd_opened_params);
}

/* The only place where @name changes. */
static void rdmafsd_opened_move(struct rdmafsd_export *exp, struct rdmafsd_opened *of,
				enum rdmafsd_opened_name to)
{
	lockdep_assert_held(&exp->opened_lock);
	if (to == RDMAFSD_ORPHAN)
		WRITE_ONCE(exp->nr_orphans, exp->nr_orphans + 1);
	else if (of->name == RDMAFSD_ORPHAN)
		WRITE_ONCE(exp->nr_orphans, exp->nr_orphans - 1);
	WRITE_ONCE(of->name, to);
}

static void rdmafsd_opened_rename(struct rdmafsd_export *exp, struct rdmafsd_opened *of,
				  enum rdmafsd_opened_name to)
{
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

/*
 * A claim ends, and its client may still come back, too late.  The server would not find that an
 * error which writeback meets from now on concerns this client, so if there is data to be written
 * back the verifier is moved now.
 */
static void rdmafsd_claim_last_wb(struct rdmafsd_export *exp, const struct rdmafsd_claim *claim)
{
	struct address_space *mapping = claim->of->inode->i_mapping;

	if (mapping_tagged(mapping, PAGECACHE_TAG_DIRTY) ||
	    mapping_tagged(mapping, PAGECACHE_TAG_WRITEBACK))
		atomic64_inc_return(&exp->verf_gen);
}

static void rdmafsd_opened_free(struct rdmafsd_opened *of)
{
	iput(of->inode);
	kfree_rcu(of, rcu);
}

/**
 * rdmafsd_left_now - count the opens that clients may come back for
 *
 * Context: any.
 * Return: the claims of all exports that are LEFT, and the notes that are left (cut.c).
 */
u32 rdmafsd_left_now(void)
{
	return atomic_read(&rdmafsd_left) + rdmafsd_cuts_left_now();
}

/**
 * rdmafsd_reclaim_time - get the time for which clients may come back, as it is set now
 *
 * Context: any.
 * Return: jiffies, 0..MAX_JIFFY_OFFSET.
 */
unsigned long rdmafsd_reclaim_time(void)
{
	/* time_before() takes a time more than half of all jiffies ahead for one in the past. */
	return min_t(u64, (u64)READ_ONCE(rdmafsd_reclaim_s) * HZ, MAX_JIFFY_OFFSET);
}

static unsigned long rdmafsd_claim_due(const struct rdmafsd_claim *claim)
{
	return claim->since + rdmafsd_reclaim_time();
}

/* Arm the worker for when this claim is due; the caller has seen that none is due before. */
static void rdmafsd_reap_at(struct rdmafsd_export *exp, const struct rdmafsd_claim *claim)
{
	unsigned long when = rdmafsd_claim_due(claim);
	long delay = when - jiffies;

	lockdep_assert_held(&exp->opened_lock);
	exp->reap_at = when;
	mod_delayed_work(rdmafsd_reap_wq, &exp->reap,
			 delay > 0 ? round_jiffies_up_relative(delay) : 0);
}

/* Run the worker at once; no claim re-arms it for later.  It arms itself for those not due yet. */
static void rdmafsd_reap_now(struct rdmafsd_export *exp)
{
	lockdep_assert_held(&exp->opened_lock);
	exp->reap_at = jiffies;
	mod_delayed_work(rdmafsd_reap_wq, &exp->reap, 0);
}

/* The only place where @state changes. */
static void rdmafsd_claim_move(struct rdmafsd_export *exp, struct rdmafsd_claim *claim,
			       enum rdmafsd_claim_state to)
{
	lockdep_assert_held(&exp->opened_lock);
	if (claim->state == RDMAFSD_CLAIM_LEFT) {
		list_del_init(&claim->left);
		claim->of->awaited--;
		atomic_dec(&rdmafsd_left);
	}
	if (to == RDMAFSD_CLAIM_LEFT) {
		claim->since = jiffies;
		if (list_empty(&exp->left) ||
		    time_before(rdmafsd_claim_due(claim), exp->reap_at))
			rdmafsd_reap_at(exp, claim);
		list_add_tail(&claim->left, &exp->left);
		claim->of->awaited++;
		atomic_inc(&rdmafsd_left);
	}
	claim->state = to;
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

/* End the entry if no open or claim is left; @orphan says how rdmafsd_opened_end() is to do it. */
static bool rdmafsd_opened_ends(struct rdmafsd_export *exp, struct rdmafsd_opened *of,
				bool *orphan)
{
	lockdep_assert_held(&exp->opened_lock);
	if (of->opens || of->awaited)
		return false;
	list_del_init(&of->late);
	/* This comes before another entry of the file can be made. */
	rdmafsd_opened_last_wb(exp, of);
	*orphan = of->name == RDMAFSD_ORPHAN;
	if (*orphan)
		rdmafsd_opened_move(exp, of, RDMAFSD_GONE);
	else
		rhashtable_remove_fast(&exp->opened, &of->node, rdmafsd_opened_params);
	return true;
}

static void rdmafsd_opened_end(struct rdmafsd_export *exp, struct rdmafsd_opened *of,
			       bool orphan)
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

/* Count an open in the entry of a file.  If there is no entry, @new becomes it; NULL: none. */
static struct rdmafsd_opened *rdmafsd_opened_join(struct rdmafsd_export *exp, struct inode *inode,
						  struct rdmafsd_opened *new)
{
	struct rdmafsd_opened *of;
	int err;

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

/* Count an open in the entry of a file, made if there is none.  Naming semaphore held. */
static struct rdmafsd_opened *rdmafsd_opened_make(struct rdmafsd_export *exp,
						  struct inode *inode)
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

/* Count an open in the entry of a file; waits while a name of the file is being removed. */
static struct rdmafsd_opened *rdmafsd_opened_get(struct rdmafsd_export *exp, struct inode *inode)
{
	struct rw_semaphore *naming = rdmafsd_naming_of(exp, inode);
	struct rdmafsd_opened *of;

	down_read(naming);
	of = rdmafsd_opened_make(exp, inode);
	up_read(naming);
	return of;
}

/* Undo rdmafsd_opened_get().  No lock is held: the file's name may be removed. */
static void rdmafsd_opened_put(struct rdmafsd_export *exp, struct rdmafsd_opened *of)
{
	bool ends, orphan;

	spin_lock(&exp->opened_lock);
	of->opens--;
	ends = rdmafsd_opened_ends(exp, of, &orphan);
	spin_unlock(&exp->opened_lock);
	if (ends)
		rdmafsd_opened_end(exp, of, orphan);
}

/*
 * If the claim numbered @id is LEFT take it up, as its client has come back; else make @claim an
 * OPEN one.  @claim gets another number if a claim numbered @id is in use: that one keeps its
 * place until the new open is certain (rdmafsd_claim_again()).  Returns the OPEN claim, or an
 * ERR_PTR.
 */
static struct rdmafsd_claim *rdmafsd_claim_take(struct rdmafsd_export *exp,
						struct rdmafsd_opened *of,
						struct rdmafsd_claim *claim, u64 id)
{
	struct rdmafsd_claim *old = NULL;
	int err;

	lockdep_assert_held(&exp->opened_lock);
	if (id)
		old = rhashtable_lookup_fast(&exp->claims, &id, rdmafsd_claims_params);
	if (old && old->of == of && old->state == RDMAFSD_CLAIM_LEFT) {
		/* The open counts for the client that asks now, no more for the former one. */
		swap(old->client, claim->client);
		rdmafsd_claim_move(exp, old, RDMAFSD_CLAIM_OPEN);
		return old;
	}
	claim->id = id && !old ? id : get_random_u64() ?: 1;
	claim->of = of;
	err = rdmafs_test_fail("claim_insert", of->inode->i_ino) ? -ENOMEM :
		rhashtable_insert_fast(&exp->claims, &claim->node, rdmafsd_claims_params);
	if (err)
		return ERR_PTR(err == -EEXIST ? -ENOMEM : err);
	rdmafsd_claim_move(exp, claim, RDMAFSD_CLAIM_OPEN);
	return claim;
}

/**
 * rdmafsd_claim_open - count a file as open that is about to be opened
 * @exp:   the export, in flight
 * @inode: the file
 * @claim: in: from rdmafsd_claim_new(); out: the OPEN claim, which may be another one on success.
 *	   Its number is @id, unless the claim numbered @id is in use: that one stays as it is
 * @id:    number of the claim by which the client has proven that it had the file open, or 0
 *
 * Context: process, may sleep: waits while a name of the file is being removed.
 * Return: 0; -EAGAIN: the file's last name is being removed, repeat the lookup; -ENOMEM.
 */
int rdmafsd_claim_open(struct rdmafsd_export *exp, struct inode *inode,
		       struct rdmafsd_claim **claim, u64 id)
{
	struct rdmafsd_opened *of = rdmafsd_opened_get(exp, inode);
	struct rdmafsd_claim *got;

	if (IS_ERR(of))
		return PTR_ERR(of);
	spin_lock(&exp->opened_lock);
	got = rdmafsd_claim_take(exp, of, *claim, id);
	spin_unlock(&exp->opened_lock);
	if (IS_ERR(got)) {
		rdmafsd_opened_put(exp, of);
		return PTR_ERR(got);
	}
	if (got != *claim)
		rdmafsd_claim_free(*claim);
	*claim = got;
	return 0;
}

/**
 * rdmafsd_claim_again - note that a client has opened a file again that it still has open
 * @exp:   the export, in flight
 * @inode: the file
 * @id:    number of the former claim, of which the client has shown the proof
 *
 * Called only when the new open's state and its reply are there, since no client can come back
 * for a claim that is AGAIN.  A claim that was LEFT meanwhile ends when its time is over.
 *
 * Context: process; does not sleep.
 */
void rdmafsd_claim_again(struct rdmafsd_export *exp, struct inode *inode, u64 id)
{
	struct rdmafsd_claim *claim;

	spin_lock(&exp->opened_lock);
	claim = rhashtable_lookup_fast(&exp->claims, &id, rdmafsd_claims_params);
	if (claim && claim->of->inode == inode && claim->state == RDMAFSD_CLAIM_OPEN)
		rdmafsd_claim_move(exp, claim, RDMAFSD_CLAIM_AGAIN);
	spin_unlock(&exp->opened_lock);
}

/* After this the claim is in no table or list, and counts only among its client's opens. */
static void rdmafsd_claim_forget(struct rdmafsd_export *exp, struct rdmafsd_claim *claim)
{
	lockdep_assert_held(&exp->opened_lock);
	rhashtable_remove_fast(&exp->claims, &claim->node, rdmafsd_claims_params);
	rdmafsd_claim_move(exp, claim, RDMAFSD_CLAIM_NEW);
}

/**
 * rdmafsd_claim_put - end an open, or leave its claim for a client that may come back
 * @exp:   the export; its memory and path are held
 * @claim: the open's claim, not to be used any more
 * @lost:  whether the session was lost, so that the client may come back
 *
 * Context: process, may sleep, no VFS lock held: the file's last name may be removed.
 */
void rdmafsd_claim_put(struct rdmafsd_export *exp, struct rdmafsd_claim *claim, bool lost)
{
	struct rdmafsd_opened *of;
	bool ends, orphan;

	if (claim->state == RDMAFSD_CLAIM_NEW) {
		rdmafsd_claim_free(claim);
		return;
	}
	spin_lock(&exp->opened_lock);
	of = claim->of;
	lost &= claim->state == RDMAFSD_CLAIM_OPEN;
	if (lost && !READ_ONCE(rdmafsd_reclaim_s)) {
		rdmafsd_claim_last_wb(exp, claim);
		lost = false;
	}
	if (lost)
		rdmafsd_claim_move(exp, claim, RDMAFSD_CLAIM_LEFT);
	else
		rdmafsd_claim_forget(exp, claim);
	of->opens--;
	ends = rdmafsd_opened_ends(exp, of, &orphan);
	spin_unlock(&exp->opened_lock);
	if (!lost)
		rdmafsd_claim_free(claim);
	if (ends)
		rdmafsd_opened_end(exp, of, orphan);
}

/* Keep a file for clients that may come back for it, by a claim that counts for no client. */
static int rdmafsd_opened_wait(struct rdmafsd_export *exp, struct inode *inode, bool orphan)
{
	struct rdmafsd_claim *claim = rdmafsd_claim_new(NULL, false);
	int err;

	if (IS_ERR(claim))
		return PTR_ERR(claim);
	err = rdmafsd_claim_open(exp, inode, &claim, 0);
	if (!err && orphan) {
		spin_lock(&exp->opened_lock);
		if (claim->of->name == RDMAFSD_NAMED)
			rdmafsd_opened_move(exp, claim->of, RDMAFSD_ORPHAN);
		spin_unlock(&exp->opened_lock);
	}
	rdmafsd_claim_put(exp, claim, true);
	return err;
}

/**
 * rdmafsd_opened_found - keep an orphan that was there when its export started
 * @exp:   the export, not live yet
 * @inode: the file
 *
 * The server does not know how many clients may come back for it.  So the orphan is kept until
 * the time for that is over, by a claim that counts for no client.
 *
 * Context: process, may sleep.
 * Return: 0, or a negative errno of rdmafsd_claim_new() or rdmafsd_claim_open().
 */
int rdmafsd_opened_found(struct rdmafsd_export *exp, struct inode *inode)
{
	return rdmafsd_opened_wait(exp, inode, true);
}

/**
 * rdmafsd_opened_started - begin the time in which clients can come back for orphans
 * @exp: the export, about to be live, @exp->started set
 *
 * Context: process; does not sleep.
 */
void rdmafsd_opened_started(struct rdmafsd_export *exp)
{
	struct rdmafsd_claim *claim;

	spin_lock(&exp->opened_lock);
	list_for_each_entry(claim, &exp->left, left)
		claim->since = exp->started;
	claim = list_first_entry_or_null(&exp->left, struct rdmafsd_claim, left);
	if (claim)
		rdmafsd_reap_at(exp, claim);
	spin_unlock(&exp->opened_lock);
}

/**
 * rdmafsd_opened_look - apply a new time for which clients may come back
 * @exp: the export, in flight: it does not end before this returns
 *
 * All that arm the worker read the time under exp->opened_lock, which is taken here.  So a timer
 * that was armed by the former time is replaced, and later ones are armed by the new time.
 *
 * Context: process; does not sleep.
 */
void rdmafsd_opened_look(struct rdmafsd_export *exp)
{
	spin_lock(&exp->opened_lock);
	if (!list_empty(&exp->left))
		rdmafsd_reap_now(exp);
	spin_unlock(&exp->opened_lock);
}

/* A file system is full when one in so many of its blocks, or inodes, is left. */
#define RDMAFSD_FULL_PART	16

/* Tell a file system without room from other causes of ENOSPC, such as an attribute too large. */
static bool rdmafsd_fs_is_full(const struct rdmafsd_export *exp)
{
	struct kstatfs st;

	if (vfs_statfs(&exp->path, &st))
		return false;
	return st.f_bavail < st.f_blocks / RDMAFSD_FULL_PART ||
	       st.f_ffree < st.f_files / RDMAFSD_FULL_PART;
}

static bool rdmafsd_guesses_left(struct rdmafsd_export *exp)
{
	struct rdmafsd_claim *claim;

	lockdep_assert_held(&exp->opened_lock);
	claim = list_first_entry_or_null(&exp->left, struct rdmafsd_claim, left);
	return claim && claim->guess;
}

/**
 * rdmafsd_opened_full - make room if a client's write found none
 * @exp: the export
 *
 * If the file system is full all guesses end, and with them the orphans that no client is known
 * to have open.  Files that a client is known to have open stay.
 *
 * Context: process, may sleep, the server's own credentials.
 * Return: true: there is room, or will soon be, so the write can be repeated.
 */
bool rdmafsd_opened_full(struct rdmafsd_export *exp)
{
	bool guesses, full, goes;

	spin_lock(&exp->opened_lock);
	guesses = rdmafsd_guesses_left(exp);
	spin_unlock(&exp->opened_lock);
	full = guesses && rdmafsd_fs_is_full(exp);
	spin_lock(&exp->opened_lock);
	/*
	 * True also while the orphan of a guess is being removed, which may take long if it is
	 * large.  Only guesses count, which are all gone after a while: if the removal of any
	 * orphan did, a client that keeps closing files without names could make other clients
	 * wait for room for ever.
	 */
	goes = exp->full || exp->going || time_before64(get_jiffies_64(), exp->room);
	if (!goes && full && rdmafsd_guesses_left(exp)) {
		exp->full = true;
		rdmafsd_reap_now(exp);
		goes = true;
	}
	spin_unlock(&exp->opened_lock);
	return goes;
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

static bool rdmafsd_opened_is_made(struct rdmafsd_export *exp, const struct inode *inode)
{
	u64 mark = rdmafsd_made_mark(exp, inode);

	return exp->made && READ_ONCE(exp->made[mark >> (64 - RDMAFSD_MADE_BITS)]) == mark;
}

/**
 * rdmafsd_is_orphan - tell whether a file has a name in the directory of orphans
 * @exp:   the export
 * @inode: the file
 *
 * Context: any; does not sleep.
 * Return: true: clients are told a link count that is one less than the file system says.
 */
bool rdmafsd_is_orphan(struct rdmafsd_export *exp, struct inode *inode)
{
	struct rdmafsd_opened *of;
	bool orphan;

	if (!READ_ONCE(exp->nr_orphans))
		return false;
	rcu_read_lock();
	of = rdmafsd_opened_lookup(exp, inode);
	orphan = of && READ_ONCE(of->name) == RDMAFSD_ORPHAN;
	rcu_read_unlock();
	return orphan;
}

/* May the caller remove a name?  The VFS checks the same when the name is removed. */
static bool rdmafsd_leaving_may(struct dentry *dir, struct inode *inode)
{
	return !inode_permission(&nop_mnt_idmap, d_inode(dir), MAY_WRITE | MAY_EXEC) &&
	       !IS_APPEND(d_inode(dir)) && !IS_APPEND(inode) && !IS_IMMUTABLE(inode) &&
	       !check_sticky(&nop_mnt_idmap, d_inode(dir), inode);
}

/*
 * If a file that is open, or may be, has one name left, give it another one as an orphan.  A
 * caller that may not remove the name must not change the file by trying: @l->denied.
 */
static int rdmafsd_leaving_keep(struct rdmafsd_rq *rq, struct dentry *dir,
				struct rdmafsd_leaving *l, struct inode **delegated)
{
	struct inode *inode = d_inode(l->obj);
	struct rdmafsd_change chg;
	int err;

	lockdep_assert_held_write(l->naming);
	l->of = l->guess && inode->i_nlink == 1 ? rdmafsd_opened_make(rq->exp, inode) :
						    rdmafsd_opened_join(rq->exp, inode, NULL);
	if (IS_ERR_OR_NULL(l->of)) {
		l->of = NULL;
		return 0;
	}
	if (l->of->name != RDMAFSD_NAMED || inode->i_nlink != 1)
		return 0;
	l->denied = !rdmafsd_leaving_may(dir, inode);
	if (l->denied)
		return 0;
	rdmafsd_change_begin(rq, l->obj, &chg);
	err = rdmafsd_orphan_add(rq->exp, l->obj, delegated);
	if (!err)
		rdmafsd_opened_rename(rq->exp, l->of, RDMAFSD_ORPHAN);
	rdmafsd_change_end(&chg);
	if (err)
		return *delegated ? err : 0;
	l->kept = true;
	l->before = chg.before;
	l->after = chg.after;
	return 0;
}

/*
 * A file has lost its last name, and the server does not know whether a client may come back for
 * it: a guess keeps it for as long as clients may.
 */
static void rdmafsd_leaving_wait(struct rdmafsd_export *exp, struct rdmafsd_leaving *l)
{
	struct rdmafsd_claim *claim = l->guess;

	spin_lock(&exp->opened_lock);
	if (l->of->name == RDMAFSD_ORPHAN &&
	    !IS_ERR(rdmafsd_claim_take(exp, l->of, claim, 0))) {
		l->guess = NULL;
		claim->guess = true;
		rdmafsd_claim_move(exp, claim, RDMAFSD_CLAIM_LEFT);
		/*
		 * Clients may come back since the export's start.  No claim has been LEFT before
		 * that, so this one goes to the front of the list.
		 */
		claim->since = exp->started;
		list_move(&claim->left, &exp->left);
		if (time_before(rdmafsd_claim_due(claim), exp->reap_at))
			rdmafsd_reap_at(exp, claim);
	}
	spin_unlock(&exp->opened_lock);
}

/* Make a guess for a file; NULL: the server knows all opens of it, or there is no room. */
static struct rdmafsd_claim *rdmafsd_leaving_guess(struct rdmafsd_rq *rq, struct inode *inode)
{
	struct rdmafsd_claim *claim;

	if (!rdmafsd_export_unknown(rq->exp) || rdmafsd_opened_is_made(rq->exp, inode))
		return NULL;
	claim = rdmafsd_claim_guess(rq->ses->client);
	if (!claim)
		pr_warn_ratelimited("%s: no room to keep what a client removes for others that may have it open and are not back yet (max_opens)\n",
				    rq->exp->p.name);
	return claim;
}

/**
 * rdmafsd_leaving_begin - prepare the removal of a name: keep its file if it is open
 * @rq:	  the request, the caller's credentials on, the mount held for writing
 * @dir:  the directory, not locked
 * @name: the name
 * @l:	  out: to be given to rdmafsd_leaving_end(), whatever is returned
 * @delegated: out: an inode whose leases have to be broken first
 *
 * A file that can't be kept is removed as if no client had it open: opens of it work for as long
 * as their sessions do.  An error in finding the file is not reported, as the removal will find it
 * again.
 *
 * Context: process, may sleep; takes the file's naming semaphore for writing until
 * rdmafsd_leaving_end().
 * Return: 0, or -EWOULDBLOCK with @delegated set.
 */
int rdmafsd_leaving_begin(struct rdmafsd_rq *rq, struct dentry *dir, const struct rfp_str *name,
			  struct rdmafsd_leaving *l, struct inode **delegated)
{
	struct dentry *obj;

	*l = (struct rdmafsd_leaving){};
	obj = rdmafsd_lookup_there(rq->exp, dir, name);
	if (IS_ERR(obj))
		return 0;
	l->obj = obj;
	if (!d_is_reg(obj))
		return 0;
	/*
	 * This may sleep, and takes the naming semaphore itself, so it comes before that is taken.
	 * If there is no memory, the file is removed as if no client had it open.
	 */
	if (READ_ONCE(rdmafsd_reclaim_s) && rdmafsd_cut_claims(rq->exp, d_inode(obj)) &&
	    !rdmafsd_opened_wait(rq->exp, d_inode(obj), false))
		rdmafsd_cut_waited(rq->exp, d_inode(obj));
	l->guess = rdmafsd_leaving_guess(rq, d_inode(obj));
	l->naming = rdmafsd_naming_of(rq->exp, d_inode(obj));
	down_write(l->naming);
	return rdmafsd_leaving_keep(rq, dir, l, delegated);
}

/**
 * rdmafsd_leaving_is - check that a name still stands for what rdmafsd_leaving_begin() found
 * @l:	    as rdmafsd_leaving_begin() left it
 * @dentry: what the name stands for now
 *
 * Context: process; the directory of @dentry is locked, the caller's credentials are on.
 * Return: true if so, or if there is no file to be kept; false: the caller has to begin anew,
 * also if it may remove the name now and might not then.
 */
bool rdmafsd_leaving_is(const struct rdmafsd_leaving *l, struct dentry *dentry)
{
	lockdep_assert_held_write(&d_inode(dentry->d_parent)->i_rwsem);
	if (d_really_is_negative(dentry) || !d_is_reg(dentry))
		return true;
	if (!l->obj || d_inode(l->obj) != d_inode(dentry))
		return false;
	return !l->denied || !rdmafsd_leaving_may(dentry->d_parent, d_inode(dentry));
}

/**
 * rdmafsd_leaving_change - join the two changes of a file whose name was removed
 * @l:	 as rdmafsd_leaving_begin() left it
 * @chg: the file's change by the removal of its name, ended
 *
 * That the file got a name as an orphan was a change by the same client.  If no other came between
 * the two, @chg begins with the first.
 *
 * Context: any.
 */
void rdmafsd_leaving_change(const struct rdmafsd_leaving *l, struct rdmafsd_change *chg)
{
	if (l->kept && chg->before == l->after)
		chg->before = l->before;
}

/**
 * rdmafsd_leaving_end - complete the removal of a name, or undo what was prepared for it
 * @rq:	     the request; the mount is held for writing, the directory not locked
 * @l:	     as rdmafsd_leaving_begin() left it
 * @removed: whether the name was removed
 *
 * To be followed by rdmafsd_leaving_put().
 *
 * Context: process, may sleep; releases the naming semaphore.
 */
void rdmafsd_leaving_end(struct rdmafsd_rq *rq, struct rdmafsd_leaving *l, bool removed)
{
	struct rdmafsd_change chg;
	int err;

	if (l->kept && !removed) {
		/* In between clients see one link less: the change gives that its own cookie. */
		rdmafsd_change_begin(rq, l->obj, &chg);
		err = rdmafsd_orphan_undo(rq->exp, d_inode(l->obj));
		rdmafs_test_point("leaving_undone", d_inode(l->obj)->i_ino);
		/* On an error the file keeps its orphan name besides, until the entry ends. */
		if (!err)
			rdmafsd_opened_rename(rq->exp, l->of, RDMAFSD_NAMED);
		rdmafsd_change_end(&chg);
	} else if (removed && l->of && l->guess) {
		/* Also if the file was an orphan already and had one more name. */
		rdmafsd_leaving_wait(rq->exp, l);
	}
	if (l->naming)
		up_write(l->naming);
}

/**
 * rdmafsd_leaving_put - let go of what rdmafsd_leaving_begin() took
 * @rq:	the request; the mount not held for writing
 * @l:	as rdmafsd_leaving_end() left it
 *
 * Context: process, may sleep, no VFS lock held: the file's name as an orphan may be removed.
 */
void rdmafsd_leaving_put(struct rdmafsd_rq *rq, struct rdmafsd_leaving *l)
{
	if (l->of)
		rdmafsd_opened_put(rq->exp, l->of);
	if (l->guess)
		rdmafsd_claim_free(l->guess);
	if (l->obj)
		dput(l->obj);
}

/* The claim counts for no client, and its file is to be kept longer than its time (cut.c). */
static bool rdmafsd_claim_kept(struct rdmafsd_export *exp, const struct rdmafsd_claim *claim)
{
	return !claim->client && READ_ONCE(rdmafsd_reclaim_s) &&
	       rdmafsd_cut_keeps(exp, claim->of->inode);
}

/* Take out a claim that no client came back for in time; @of: its entry if that ends, or NULL. */
static struct rdmafsd_claim *rdmafsd_claim_overdue(struct rdmafsd_export *exp,
						   struct rdmafsd_opened **of, bool *orphan)
{
	struct rdmafsd_claim *claim;

	lockdep_assert_held(&exp->opened_lock);
	/* The export ends: rdmafsd_opened_exit() notes the claims for its next start. */
	if (percpu_ref_is_dying(&exp->inflight))
		return NULL;
	/* The export is not live yet: no client can come back, so the time does not run. */
	if (rdmafsd_export_off(exp->p.id)) {
		mod_delayed_work(rdmafsd_reap_wq, &exp->reap, HZ);
		return NULL;
	}
	while (true) {
		claim = list_first_entry_or_null(&exp->left, struct rdmafsd_claim, left);
		/* If room is needed all guesses go; they come first in the list. */
		exp->full &= claim && claim->guess;
		if (!claim)
			return NULL;
		if (!exp->full && time_before(jiffies, rdmafsd_claim_due(claim))) {
			rdmafsd_reap_at(exp, claim);
			return NULL;
		}
		if (!rdmafsd_claim_kept(exp, claim))
			break;
		/* Its time begins anew, at the list's end; it is no guess: a client had it open. */
		claim->guess = false;
		rdmafsd_claim_move(exp, claim, RDMAFSD_CLAIM_LEFT);
	}
	exp->going = claim->guess;
	*of = claim->of;
	rdmafsd_claim_forget(exp, claim);
	/* If the file goes with its data no client has to write that again. */
	if ((*of)->opens || (*of)->awaited || (*of)->name == RDMAFSD_NAMED ||
	    (*of)->inode->i_nlink > 1)
		rdmafsd_claim_last_wb(exp, claim);
	if (!rdmafsd_opened_ends(exp, *of, orphan))
		*of = NULL;
	return claim;
}

/* If the claim was a guess the room of its file is free now. */
static void rdmafsd_claim_gone(struct rdmafsd_export *exp)
{
	spin_lock(&exp->opened_lock);
	if (exp->going)
		exp->room = get_jiffies_64() + HZ;
	exp->going = false;
	spin_unlock(&exp->opened_lock);
}

static void rdmafsd_claims_reap(struct work_struct *work)
{
	struct rdmafsd_export *exp = container_of(to_delayed_work(work), struct rdmafsd_export,
						  reap);
	struct rdmafsd_claim *claim;
	struct rdmafsd_opened *of;
	bool orphan;

	for (;;) {
		spin_lock(&exp->opened_lock);
		claim = rdmafsd_claim_overdue(exp, &of, &orphan);
		spin_unlock(&exp->opened_lock);
		if (!claim)
			return;
		rdmafsd_claim_free(claim);
		if (of)
			rdmafsd_opened_end(exp, of, orphan);
		rdmafsd_claim_gone(exp);
		/* Many may be due at once. */
		cond_resched();
	}
}

/**
 * rdmafsd_reap_init - make the queue on which exports let go of files
 *
 * A file system that is frozen blocks the work of its own exports only.
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rdmafsd_reap_init(void)
{
	rdmafsd_reap_wq = alloc_workqueue("rdmafsd_reap", WQ_UNBOUND, WQ_UNBOUND_MAX_ACTIVE);
	return rdmafsd_reap_wq ? 0 : -ENOMEM;
}

/**
 * rdmafsd_reap_exit - undo rdmafsd_reap_init()
 *
 * Context: process, may sleep; there are no exports.
 */
void rdmafsd_reap_exit(void)
{
	destroy_workqueue(rdmafsd_reap_wq);
}

/**
 * rdmafsd_opened_init - set up the tables of an export that has nothing open yet
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
	INIT_LIST_HEAD(&exp->left);
	INIT_LIST_HEAD(&exp->late);
	INIT_DELAYED_WORK(&exp->reap, rdmafsd_claims_reap);
	INIT_DELAYED_WORK(&exp->later, rdmafsd_opened_later);
	err = rhashtable_init(&exp->opened, &rdmafsd_opened_params);
	if (err)
		return err;
	err = rhashtable_init(&exp->claims, &rdmafsd_claims_params);
	if (err) {
		rhashtable_destroy(&exp->opened);
		return err;
	}
	/* If there is no memory, guesses are made for files of this life as well. */
	if (exp->unknown)
		exp->made = kvcalloc(1 << RDMAFSD_MADE_BITS, sizeof(*exp->made), GFP_KERNEL);
	return 0;
}

/**
 * rdmafsd_opened_exit - free the tables of an export that ends
 * @exp: the export, with nothing open and no request at work
 *
 * Orphans stay where they are: clients may come back after the next start.
 *
 * Context: process, may sleep.
 */
void rdmafsd_opened_exit(struct rdmafsd_export *exp)
{
	struct rdmafsd_claim *claim, *next;
	struct rdmafsd_opened *of, *of_next;

	cancel_delayed_work_sync(&exp->reap);
	cancel_delayed_work_sync(&exp->later);
	list_for_each_entry_safe(claim, next, &exp->left, left) {
		of = claim->of;
		rdmafsd_cut_left(exp, claim);
		spin_lock(&exp->opened_lock);
		rdmafsd_claim_forget(exp, claim);
		spin_unlock(&exp->opened_lock);
		rdmafsd_claim_free(claim);
		cond_resched();
		if (of->awaited)
			continue;
		list_del_init(&of->late);
		rhashtable_remove_fast(&exp->opened, &of->node, rdmafsd_opened_params);
		rdmafsd_opened_free(of);
	}
	list_for_each_entry_safe(of, of_next, &exp->late, late) {
		rhashtable_remove_fast(&exp->opened, &of->node, rdmafsd_opened_params);
		rdmafsd_opened_free(of);
	}
	rhashtable_destroy(&exp->claims);
	rhashtable_destroy(&exp->opened);
	kvfree(exp->made);
	rdmafsd_orphans_exit(exp);
	mutex_destroy(&exp->orphans_lock);
}
