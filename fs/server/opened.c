// SPDX-License-Identifier: GPL-2.0
/*
 * Files that clients have open, whether they still have a name or not.
 *
 * Each export has a table of entries by inode.  A file has an entry while a state has it open,
 * and while a client whose session was lost may come back for it.  Each export also has a table
 * of claims by number, one for each open.  The number stands in the proof that the client got with
 * the open (handle.c).  A client that comes back shows the proof, and takes up that claim and no
 * other.  How long it is kept is in reclaim.c.
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
 * Locks: naming semaphore, then exp->opened_lock, which guards the entries' and claims' states
 * and lists.
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/pagemap.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "transport/points.h"
#include "server.h"

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

/* The only place where @name changes; an entry that is GONE counts until it leaves the table. */
static void rdmafsd_opened_move(struct rdmafsd_export *exp, struct rdmafsd_opened *of,
				enum rdmafsd_opened_name to)
{
	lockdep_assert_held(&exp->opened_lock);
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

/* The only place where @state changes. */
static void rdmafsd_claim_move(struct rdmafsd_export *exp, struct rdmafsd_claim *claim,
			       enum rdmafsd_claim_state to)
{
	lockdep_assert_held(&exp->opened_lock);
	if (claim->state == RDMAFSD_CLAIM_LEFT) {
		rdmafsd_left_del(exp, claim);
		claim->of->awaited--;
	}
	if (to == RDMAFSD_CLAIM_LEFT) {
		rdmafsd_left_add(exp, claim);
		claim->of->awaited++;
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
	*orphan = rdmafsd_name_hidden(of->name);
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
		swap(old->stay, claim->stay);
		rdmafsd_claim_move(exp, old, RDMAFSD_CLAIM_OPEN);
		return old;
	}
	claim->id = id && !old ? id : get_random_u64() ?: 1;
	claim->of = of;
	err = rdmafs_test_fails("claim_insert", of->inode->i_ino) ? -ENOMEM :
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
	if (lost && !rdmafsd_reclaim_time()) {
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

/**
 * rdmafsd_opened_keep - keep a file for clients that may come back for it
 * @exp:    the export
 * @inode:  the file
 * @name:   what it was found to be; RDMAFSD_NAMED: it has no name as an orphan that is known of
 *
 * The server does not know how many clients may come back.  So a claim keeps the file that counts
 * for no client.
 *
 * Context: process, may sleep; takes the file's naming semaphore.
 * Return: 0, or a negative errno of rdmafsd_claim_new() or rdmafsd_claim_open().
 */
int rdmafsd_opened_keep(struct rdmafsd_export *exp, struct inode *inode,
			enum rdmafsd_opened_name name)
{
	struct rdmafsd_claim *claim = rdmafsd_claim_new(exp, NULL, false);
	int err;

	if (IS_ERR(claim))
		return PTR_ERR(claim);
	err = rdmafsd_claim_open(exp, inode, &claim, 0);
	if (!err) {
		spin_lock(&exp->opened_lock);
		if (claim->of->name == RDMAFSD_NAMED)
			rdmafsd_opened_move(exp, claim->of, name);
		spin_unlock(&exp->opened_lock);
	}
	rdmafsd_claim_put(exp, claim, true);
	return err;
}

/**
 * rdmafsd_claim_guessed - keep a file for clients that may have it open
 * @exp:   the export
 * @of:    the file's entry, in which the caller counts
 * @claim: from rdmafsd_claim_guess()
 *
 * Context: process, does not sleep.
 * Return: true: the claim belongs to the file, until the time of clients that the server does not
 * know is over; false: the file is no orphan, or there is no memory, and the claim is the caller's.
 */
bool rdmafsd_claim_guessed(struct rdmafsd_export *exp, struct rdmafsd_opened *of,
			   struct rdmafsd_claim *claim)
{
	bool taken;

	spin_lock(&exp->opened_lock);
	taken = of->name == RDMAFSD_ORPHAN && !IS_ERR(rdmafsd_claim_take(exp, of, claim, 0));
	if (taken) {
		rdmafsd_claim_move(exp, claim, RDMAFSD_CLAIM_LEFT);
		rdmafsd_left_add_guess(exp, claim);
	}
	spin_unlock(&exp->opened_lock);
	return taken;
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
 * What was NAMED stays so while the caller holds the file's naming semaphore.
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

/* The claim counts for no client, and its file is to be kept longer than its time (cut.c). */
static bool rdmafsd_claim_kept(struct rdmafsd_export *exp, const struct rdmafsd_claim *claim)
{
	return !claim->client && rdmafsd_reclaim_time() &&
	       rdmafsd_cut_keeps(exp, claim->of->inode);
}

/* Take out a claim that no client came back for in time; @of: its entry if that ends, or NULL. */
static struct rdmafsd_claim *rdmafsd_claim_take_overdue(struct rdmafsd_export *exp,
							struct rdmafsd_opened **of, bool *orphan)
{
	struct rdmafsd_claim *claim;

	lockdep_assert_held(&exp->opened_lock);
	/* The export ends: rdmafsd_opened_exit() notes the claims for its next start. */
	if (percpu_ref_is_dying(&exp->inflight))
		return NULL;
	/* The export is not live yet: no client can come back, so the time does not run. */
	if (rdmafsd_export_off(rdmafsd_export_known(exp))) {
		mod_delayed_work(rdmafsd_reap_wq, &exp->reap, HZ);
		return NULL;
	}
	while ((claim = rdmafsd_left_due(exp)) && rdmafsd_claim_kept(exp, claim)) {
		/* Its time begins anew, at the list's end; it is no guess: a client had it open. */
		claim->guess = false;
		rdmafsd_claim_move(exp, claim, RDMAFSD_CLAIM_LEFT);
	}
	if (!claim)
		return NULL;
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

static void rdmafsd_claims_reap(struct work_struct *work)
{
	struct rdmafsd_export *exp = container_of(to_delayed_work(work), struct rdmafsd_export,
						  reap);
	struct rdmafsd_claim *claim;
	struct rdmafsd_opened *of;
	bool orphan;

	for (;;) {
		spin_lock(&exp->opened_lock);
		claim = rdmafsd_claim_take_overdue(exp, &of, &orphan);
		spin_unlock(&exp->opened_lock);
		if (!claim)
			return;
		rdmafsd_claim_free(claim);
		if (of)
			rdmafsd_opened_end(exp, of, orphan);
		rdmafsd_left_ended(exp);
		/* Many may be due at once. */
		cond_resched();
	}
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
