// SPDX-License-Identifier: GPL-2.0
/*
 * Files that clients have open, whatever becomes of their names.
 *
 * Each export has a table of them, by inode, with an entry for each file that some
 * state has open, or had when its session was lost: the client may come back for it.
 * And it has a table of claims, by number, one for each open.  The number stands in the
 * proof that came with the open (handle.c), by which a client shows that it was its own:
 * whoever comes back takes up that claim and no other.  It is waited for as long as the
 * parameter reclaim_s says, also where that is written meanwhile; after that the claim goes.
 *
 * A claim:
 *
 *	NEW	of no file yet: there is room for an open
 *	OPEN	a state has the file open
 *	AGAIN	likewise; but its client has it open again, before the session that
 *		was lost had ended here, and will not come for this one any more
 *	LEFT	its session was lost: the client may come back
 *
 * It counts among the opens of its client (clients.c) for as long as it lives, and so
 * clients leave no more than they may have.
 *
 * When the last name of such a file is removed, or another file is moved over it,
 * the file gets another name first, in a directory that clients do not see
 * (orphan.c): its handle would lead to nothing otherwise, and whoever has lost a
 * session could not open it again.  To clients its link count is one less than
 * it is.  That name goes with the last CLOSE; if a session was lost, when it
 * has not been opened again in time; if the export ended, likewise after its
 * next start, which finds what lies in the directory; but not as long as a client may not
 * have heard of it that had it open when the export ended (cut.c).  A file that had a name
 * then becomes an orphan for it, too.
 *
 * Of what was open when the server died nothing is known, and its clients may come after
 * somebody who removes the name.  So for as long as they have to come back after the start
 * of the export (rdmafsd_export_unknown()) each file that loses its last name becomes an
 * orphan, which goes when that time is over: as many of them as clients may have opens, by
 * which their inodes in memory are bounded, and no more than a part of them for one client's
 * removals.  Not what was made in this life (rdmafsd_opened_made()): who has that open is known.
 * And where the file system is full the claims of all that is kept so, guesses, go at once.
 *
 * An entry:
 *
 *	NAMED	its name is as users see it
 *	ORPHAN	its only name, or one besides, is in the directory of orphans; also while
 *		that one can't go, since an NFS client has a delegation of the file
 *	GONE	that name is being removed: who opens it comes again, and finds no such file,
 *		or the entry as an ORPHAN again, or the file by another name
 *
 * The change from NAMED to ORPHAN goes with the removal of a name, and must not
 * miss an open made meanwhile.  So whoever removes a name holds a semaphore from
 * before he looks whether the file is open until it is removed, which those who
 * open it take for a moment (rdmafsd_opened_get()).
 *
 * An entry lives for as long as somebody counts in @opens, or in @awaited: the claims
 * of it that are LEFT.  It holds the inode, and remembers which writeback error of it the
 * export has seen last: who comes back after his session was lost compares verifiers, though
 * somebody else may have been told of the error meanwhile.
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
#include "server.h"

static unsigned int rdmafsd_reclaim_s = 90;

/*
 * Who looks whose time is over sleeps until the former time would be, so all look at once.
 * Parameters are written before the module's init and after its exit, too: then there are
 * neither notes nor exports, and nothing is armed.
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

/* Each export has its own: who waits for a disk holds it. */
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
		/* Fully ordered: whoever sees the new error sees the new verifier. */
		atomic64_inc_return(&exp->verf_gen);
		cmpxchg(&of->wb_err, old, new);
	} else {
		/* Whoever saw it before has moved the verifier: so it is read after this. */
		smp_rmb();
	}
	return err;
}

/**
 * rdmafsd_claim_check_wb - has unstable data of a file been lost?
 * @exp:   the export
 * @claim: of an open of the file
 *
 * If so the write verifier of the export has another value when this returns, so that
 * clients write again what they have not committed.  It may have been lost before this open
 * was made: so it is no error of this one.
 *
 * Return: whether it moved.
 */
bool rdmafsd_claim_check_wb(struct rdmafsd_export *exp, struct rdmafsd_claim *claim)
{
	return rdmafsd_opened_check_wb(exp, claim->of);
}

/*
 * As above, but that nobody on this machine takes it for told: the entry ends, or tries to.
 * errseq_sample() would have it come again, which gives 0 for what nobody has been told.
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
 * A claim goes whose client may still come, too late for it: an error that writeback meets from
 * now on would not be known to have been his.
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
 * rdmafsd_left_now - how many opens clients may come back for
 *
 * Return: the claims of all exports that are LEFT, and what is noted of others.
 */
u32 rdmafsd_left_now(void)
{
	return atomic_read(&rdmafsd_left) + rdmafsd_cuts_left_now();
}

/**
 * rdmafsd_reclaim_time - for how long clients may come back, as of now
 *
 * Return: jiffies.
 */
unsigned long rdmafsd_reclaim_time(void)
{
	/* What is later than half of all jiffies would be before now. */
	return min_t(u64, (u64)READ_ONCE(rdmafsd_reclaim_s) * HZ, MAX_JIFFY_OFFSET);
}

static unsigned long rdmafsd_claim_due(const struct rdmafsd_claim *claim)
{
	return claim->since + rdmafsd_reclaim_time();
}

/* Let the worker run when this one is due, if it would not before. */
static void rdmafsd_reap_at(struct rdmafsd_export *exp, const struct rdmafsd_claim *claim)
{
	unsigned long when = rdmafsd_claim_due(claim);
	long delay = when - jiffies;

	lockdep_assert_held(&exp->opened_lock);
	exp->reap_at = when;
	mod_delayed_work(rdmafsd_reap_wq, &exp->reap,
			 delay > 0 ? round_jiffies_up_relative(delay) : 0);
}

/* Let the worker run at once, which no other claim puts off; it arms itself for what is not due. */
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
 * Remove the orphan's name, then the entry, which is GONE; nothing is locked.  Whose
 * delegation is in the way has been asked for it, and nobody waits for him, nor for memory:
 * it is tried again later, and until then the entry is as it was.
 */
static void rdmafsd_opened_delete(struct rdmafsd_export *exp, struct rdmafsd_opened *of)
{
	bool gone = rdmafsd_orphan_remove(exp, of->inode);

	spin_lock(&exp->opened_lock);
	if (gone) {
		rhashtable_remove_fast(&exp->opened, &of->node, rdmafsd_opened_params);
	} else {
		rdmafsd_opened_move(exp, of, RDMAFSD_ORPHAN);
		/* Its links were told as they are meanwhile. */
		rdmafsd_change_made(of->inode);
		list_add_tail(&of->late, &exp->late);
		/* What others wait for already is not put off by this one. */
		queue_delayed_work(rdmafsd_reap_wq, &exp->later, HZ);
	}
	spin_unlock(&exp->opened_lock);
	if (gone)
		rdmafsd_opened_free(of);
}

/* Does the entry end, as nobody counts in it any more?  Then @orphan says how. */
static bool rdmafsd_opened_ends(struct rdmafsd_export *exp, struct rdmafsd_opened *of,
				bool *orphan)
{
	lockdep_assert_held(&exp->opened_lock);
	if (of->opens || of->awaited)
		return false;
	list_del_init(&of->late);
	/* Before another entry of the file can be made. */
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

/* Those that could not go when they should have, unless somebody has opened them since. */
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
	/* Of an export that ends they stay, for its next start. */
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

/* Count in the entry of a file, making it of @new if there is none. */
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
		/* It goes, or is there still: the file may have another name, or this one stay. */
		of = ERR_PTR(-EAGAIN);
	} else if (of) {
		of->opens++;
	}
	spin_unlock(&exp->opened_lock);
	return of;
}

/* Count in the entry of a file, whose naming semaphore is held; made if there is none. */
static struct rdmafsd_opened *rdmafsd_opened_make(struct rdmafsd_export *exp,
						  struct inode *inode)
{
	struct rdmafsd_opened *of, *new;

	of = rdmafsd_opened_join(exp, inode, NULL);
	if (of)
		return of;
	new = rdmafsd_opened_new(inode);
	if (!new)
		return ERR_PTR(-ENOMEM);
	of = rdmafsd_opened_join(exp, inode, new);
	/* The caller has the inode, too: it does not go here. */
	if (of != new)
		rdmafsd_opened_free(new);
	return of;
}

/* Count in the entry of a file that is about to be opened; waits while a name goes. */
static struct rdmafsd_opened *rdmafsd_opened_get(struct rdmafsd_export *exp, struct inode *inode)
{
	struct rw_semaphore *naming = rdmafsd_naming_of(exp, inode);
	struct rdmafsd_opened *of;

	down_read(naming);
	of = rdmafsd_opened_make(exp, inode);
	up_read(naming);
	return of;
}

/* The reverse. */
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
 * Take up the claim of that number, which its client has come back for, or make @claim
 * one that is new: of another number if a state has the former one, which keeps its place
 * until this open is certain (rdmafsd_claim_again()).  The claim that holds, or an ERR_PTR.
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
		/* It counts where the client is now. */
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
 * rdmafsd_claim_open - a file is about to be opened
 * @exp:   the export, in flight
 * @inode: the file
 * @claim: from rdmafsd_claim_new(); may become another on success.  Its number is @id then,
 *	   unless that one is open: then that stays as it is
 * @id:    the claim that it is proven to have been opened by before, or 0
 *
 * Waits while a name of the file is being removed.
 *
 * Return: 0, or a negative errno: -EAGAIN (it is going at present) or -ENOMEM.
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
 * rdmafsd_claim_again - a client has open again what it has open
 * @exp:   the export, in flight
 * @inode: the file
 * @id:    number of the former claim, which it has shown the proof of
 *
 * Only when the new open's state and its reply are there: a claim that is AGAIN is nobody's
 * to come back for.  One that was LEFT meanwhile goes when its time is over.
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

/* The claim is in no list and counts nowhere but with its client. */
static void rdmafsd_claim_forget(struct rdmafsd_export *exp, struct rdmafsd_claim *claim)
{
	lockdep_assert_held(&exp->opened_lock);
	rhashtable_remove_fast(&exp->claims, &claim->node, rdmafsd_claims_params);
	rdmafsd_claim_move(exp, claim, RDMAFSD_CLAIM_NEW);
}

/**
 * rdmafsd_claim_put - a file has been closed, or not been opened
 * @exp:   the export; its memory and path are held
 * @claim: the open's; gone after this
 * @lost:  its session was lost: its client may come back for it
 *
 * Context: process, with nothing of the VFS locked: the file may go with its last name.
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

/* Wait for whoever may come back for a file, by a claim that is nobody's. */
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
 * rdmafsd_opened_found - an orphan that was there when its export started
 * @exp:   the export, not live yet
 * @inode: the file
 *
 * How many clients may come back for it is not known, so it is kept for all of the time,
 * by a claim that is nobody's.
 *
 * Return: 0 or a negative errno.
 */
int rdmafsd_opened_found(struct rdmafsd_export *exp, struct inode *inode)
{
	return rdmafsd_opened_wait(exp, inode, true);
}

/**
 * rdmafsd_opened_started - from now on clients can come back for what was found
 * @exp: the export, about to be live
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
 * rdmafsd_opened_look - the time for which clients may come back is another one
 * @exp: the export, in flight: it does not end before this returns
 *
 * The worker, and whoever else arms it, reads the time under the lock that is taken here: what
 * they have armed by the former time is replaced, and from now on they arm by the new one.
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

/* Hardly any room is left: it was not an attribute that is larger than such may be. */
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
 * rdmafsd_opened_full - there was no room for what a client writes
 * @exp: the export
 *
 * If its file system is full whatever is kept for those alone who may have it open goes,
 * and nothing that anybody is known to have open.
 *
 * Context: process, the server's own credentials.
 * Return: true: there may be room in a moment, or is.
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
	 * Also while one is just going, which may take long if it is large.  None but guesses, of
	 * which there are none any more in a while: else whoever closes files that have lost their
	 * names would have others wait for room for ever.
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
 * rdmafsd_opened_made - a client has made a file
 * @exp:   the export
 * @inode: the file
 *
 * Nobody can have it open whom the server does not know.  A mark may take the place of another:
 * that file is then kept as if somebody might.
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
 * rdmafsd_is_orphan - has the file no name that clients see?
 * @exp:   the export
 * @inode: the file
 *
 * Context: any that may take no lock that sleeps.
 *
 * Return: true: its link count is one less than the file system says.
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

/* May the caller remove a name?  What the VFS asks when it is done. */
static bool rdmafsd_leaving_may(struct dentry *dir, struct inode *inode)
{
	return !inode_permission(&nop_mnt_idmap, d_inode(dir), MAY_WRITE | MAY_EXEC) &&
	       !IS_APPEND(d_inode(dir)) && !IS_APPEND(inode) && !IS_IMMUTABLE(inode) &&
	       !check_sticky(&nop_mnt_idmap, d_inode(dir), inode);
}

/*
 * If it is open, or may be, and has one name left: give it another one.  Who may not remove
 * that one must not change the file by trying.
 */
static int rdmafsd_leaving_keep(struct rdmafsd_rq *rq, struct dentry *dir,
				struct rdmafsd_leaving *l, struct inode **delegated)
{
	struct inode *inode = d_inode(l->obj);
	struct rdmafsd_change chg;
	int err;

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
 * It has lost its name, and nobody knows who may come back for it: by a claim that is nobody's
 * it is kept for as long as they may.
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
		/* Since then they may come, and since no later for any other. */
		claim->since = exp->started;
		list_move(&claim->left, &exp->left);
		if (time_before(rdmafsd_claim_due(claim), exp->reap_at))
			rdmafsd_reap_at(exp, claim);
	}
	spin_unlock(&exp->opened_lock);
}

/* For whoever may have it open; NULL: nobody, unknown, or there is no room for another. */
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
 * rdmafsd_leaving_begin - a name is about to be removed
 * @rq:	  the request, the caller's credentials on, the mount held for writing
 * @dir:  the directory, not locked
 * @name: the name
 * @l:	  to be given to rdmafsd_leaving_end(), whatever is returned
 * @delegated: gets an inode whose leases have to be broken first
 *
 * What can't be kept is removed as if nobody had it open: it works for as long as the
 * session does.  Errors in finding it are left to him who removes it to find again.
 *
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
	/* Before it is locked; without memory it is removed as if nobody had it open. */
	if (READ_ONCE(rdmafsd_reclaim_s) && rdmafsd_cut_claims(rq->exp, d_inode(obj)) &&
	    !rdmafsd_opened_wait(rq->exp, d_inode(obj), false))
		rdmafsd_cut_waited(rq->exp, d_inode(obj));
	l->guess = rdmafsd_leaving_guess(rq, d_inode(obj));
	l->naming = rdmafsd_naming_of(rq->exp, d_inode(obj));
	down_write(l->naming);
	return rdmafsd_leaving_keep(rq, dir, l, delegated);
}

/**
 * rdmafsd_leaving_is - is this what was found by rdmafsd_leaving_begin()?
 * @l:	    as it was left by that
 * @dentry: what the name stands for now that the directory is locked
 *
 * The caller's credentials are on, the directory of @dentry is locked.
 *
 * Return: true, also for what need not be kept; false: it has to be begun anew, likewise
 * where the caller may do now what he might not do then.
 */
bool rdmafsd_leaving_is(const struct rdmafsd_leaving *l, struct dentry *dentry)
{
	if (d_really_is_negative(dentry) || !d_is_reg(dentry))
		return true;
	if (!l->obj || d_inode(l->obj) != d_inode(dentry))
		return false;
	return !l->denied || !rdmafsd_leaving_may(dentry->d_parent, d_inode(dentry));
}

/**
 * rdmafsd_leaving_change - the file's part in it was one change
 * @l:	 as it was left by rdmafsd_leaving_begin()
 * @chg: the file's change by the removal of its name, ended
 *
 * To get the other name was a change, too, of the same client.
 */
void rdmafsd_leaving_change(const struct rdmafsd_leaving *l, struct rdmafsd_change *chg)
{
	if (l->kept && chg->before == l->after)
		chg->before = l->before;
}

/**
 * rdmafsd_leaving_end - the name has been removed, or not
 * @rq:	     the request; the mount is held for writing, the directory not locked
 * @l:	     as it was left by rdmafsd_leaving_begin()
 * @removed: whether it was
 *
 * To be followed by rdmafsd_leaving_put().
 */
void rdmafsd_leaving_end(struct rdmafsd_rq *rq, struct rdmafsd_leaving *l, bool removed)
{
	struct rdmafsd_change chg;
	int err;

	if (l->kept && !removed) {
		/* Between the two it seems to have a link less: that has a cookie of its own. */
		rdmafsd_change_begin(rq, l->obj, &chg);
		err = rdmafsd_orphan_undo(rq->exp, d_inode(l->obj));
		rdmafs_test_point("leaving_undone", d_inode(l->obj)->i_ino);
		/* Else it has that name besides, until it ends. */
		if (!err)
			rdmafsd_opened_rename(rq->exp, l->of, RDMAFSD_NAMED);
		rdmafsd_change_end(&chg);
	} else if (removed && l->of && l->guess) {
		/* Also if it was an orphan before that, with a name left. */
		rdmafsd_leaving_wait(rq->exp, l);
	}
	if (l->naming)
		up_write(l->naming);
}

/**
 * rdmafsd_leaving_put - let go of what rdmafsd_leaving_begin() took
 * @rq:	the request; the mount not held for writing
 * @l:	as it was left by rdmafsd_leaving_end()
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

/* It is nobody's, and its file is to be kept for longer than its time (cut.c). */
static bool rdmafsd_claim_kept(struct rdmafsd_export *exp, const struct rdmafsd_claim *claim)
{
	return !claim->client && READ_ONCE(rdmafsd_reclaim_s) &&
	       rdmafsd_cut_keeps(exp, claim->of->inode);
}

/* One that nobody came back for in time; its entry if that ends, too. */
static struct rdmafsd_claim *rdmafsd_claim_overdue(struct rdmafsd_export *exp,
						   struct rdmafsd_opened **of, bool *orphan)
{
	struct rdmafsd_claim *claim;

	lockdep_assert_held(&exp->opened_lock);
	/* Whatever is in the list stays where it is, for the next start. */
	if (percpu_ref_is_dying(&exp->inflight))
		return NULL;
	/* It starts: nobody can come back before, so the time stands. */
	if (rdmafsd_export_off(exp->p.id)) {
		mod_delayed_work(rdmafsd_reap_wq, &exp->reap, HZ);
		return NULL;
	}
	while (true) {
		claim = list_first_entry_or_null(&exp->left, struct rdmafsd_claim, left);
		/* All guesses, which are before the others, go if the room of any is needed. */
		exp->full &= claim && claim->guess;
		if (!claim)
			return NULL;
		if (!exp->full && time_before(jiffies, rdmafsd_claim_due(claim))) {
			rdmafsd_reap_at(exp, claim);
			return NULL;
		}
		if (!rdmafsd_claim_kept(exp, claim))
			break;
		/* Anew, behind the others; and somebody has it open, or had. */
		claim->guess = false;
		rdmafsd_claim_move(exp, claim, RDMAFSD_CLAIM_LEFT);
	}
	exp->going = claim->guess;
	*of = claim->of;
	rdmafsd_claim_forget(exp, claim);
	/* What goes with its data is nobody's to write again. */
	if ((*of)->opens || (*of)->awaited || (*of)->name == RDMAFSD_NAMED ||
	    (*of)->inode->i_nlink > 1)
		rdmafsd_claim_last_wb(exp, claim);
	if (!rdmafsd_opened_ends(exp, *of, orphan))
		*of = NULL;
	return claim;
}

/* If that was a guess there is its room now. */
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
		/* There may be many, whose time is over at once. */
		cond_resched();
	}
}

/**
 * rdmafsd_reap_init - make the queue on which exports let go of files
 *
 * One that is frozen keeps its work for as long as it is, and nobody else's.
 *
 * Return: 0 or -ENOMEM.
 */
int rdmafsd_reap_init(void)
{
	rdmafsd_reap_wq = alloc_workqueue("rdmafsd_reap", WQ_UNBOUND, WQ_UNBOUND_MAX_ACTIVE);
	return rdmafsd_reap_wq ? 0 : -ENOMEM;
}

/**
 * rdmafsd_reap_exit - the reverse of rdmafsd_reap_init(); there are no exports
 */
void rdmafsd_reap_exit(void)
{
	destroy_workqueue(rdmafsd_reap_wq);
}

/**
 * rdmafsd_opened_init - an export that has nothing open yet
 * @exp: the export
 *
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
	/* Without it what was made is kept, too. */
	if (exp->unknown)
		exp->made = kvcalloc(1 << RDMAFSD_MADE_BITS, sizeof(*exp->made), GFP_KERNEL);
	return 0;
}

/**
 * rdmafsd_opened_exit - an export ends
 * @exp: the export, with nothing open and no request at work
 *
 * Orphans stay where they are: clients may come back after the next start.
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
