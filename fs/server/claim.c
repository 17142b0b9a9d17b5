// SPDX-License-Identifier: GPL-2.0
/*
 * Claims: opens of files, each of which outlives its session.
 *
 * Each export has a table of claims by number, one for each open.  The number stands in the proof
 * that the client got with the open (handle.c).  A client that comes back shows the proof, and
 * takes up that claim and no other.  How long it is kept is in reclaim.c.
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
 * A claim that is not NEW keeps the entry of its file (opened.c).
 *
 * Locks: exp->opened_lock guards the claims' states, table and list.
 */
#include <linux/fs.h>
#include <linux/pagemap.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/workqueue.h>
#include "transport/points.h"
#include "server.h"
#include "opened.h"
#include "staying.h"
#include "trace.h"

static const struct rhashtable_params rdmafsd_claims_params = {
	.key_len = sizeof(u64),
	.key_offset = offsetof(struct rdmafsd_claim, id),
	.head_offset = offsetof(struct rdmafsd_claim, node),
	.automatic_shrinking = true,
};

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

/* The only place where @state changes. */
static void rdmafsd_claim_move(struct rdmafsd_export *exp, struct rdmafsd_claim *claim,
			       enum rdmafsd_claim_state to)
{
	lockdep_assert_held(&exp->opened_lock);
	trace_rdmafs_claim(exp, claim, to);
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
 * for no client.  But if there is a note of the file, the claim keeps the export in use for the
 * note's client (staying.c).
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
	rdmafsd_cut_keeps(exp, inode, &claim->stay);
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

/* The claim counts for no client, and its file is to be kept longer than its time (cut.c). */
static bool rdmafsd_claim_kept(struct rdmafsd_export *exp, struct rdmafsd_claim *claim)
{
	struct rdmafsd_stay *stay;

	if (claim->client || !rdmafsd_reclaim_time() ||
	    !rdmafsd_cut_keeps(exp, claim->of->inode, &stay))
		return false;
	/* The client that it has counted for may have no note any more. */
	rdmafsd_stay_put(claim->stay);
	claim->stay = stay;
	return true;
}

/* Take out a claim that no client came back for in time; @of: its entry if that ends, or NULL. */
static struct rdmafsd_claim *rdmafsd_claim_take_overdue(struct rdmafsd_export *exp,
							struct rdmafsd_opened **of, bool *orphan)
{
	struct rdmafsd_claim *claim;

	lockdep_assert_held(&exp->opened_lock);
	/* The export ends: rdmafsd_claims_exit() notes the claims for its next start. */
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
 * rdmafsd_claims_init - set up the tables of claims and files of an export that starts
 * @exp: the export, with nothing open yet
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rdmafsd_claims_init(struct rdmafsd_export *exp)
{
	int err;

	INIT_LIST_HEAD(&exp->left);
	INIT_DELAYED_WORK(&exp->reap, rdmafsd_claims_reap);
	err = rdmafsd_opened_init(exp);
	if (err)
		return err;
	err = rhashtable_init(&exp->claims, &rdmafsd_claims_params);
	if (err)
		rdmafsd_opened_exit(exp);
	return err;
}

/**
 * rdmafsd_claims_exit - note the claims of an export that ends, and free both tables
 * @exp: the export, with nothing open and no request at work
 *
 * Orphans stay where they are: clients may come back after the next start.
 *
 * Context: process, may sleep.
 */
void rdmafsd_claims_exit(struct rdmafsd_export *exp)
{
	struct rdmafsd_claim *claim, *next;
	struct rdmafsd_opened *of;

	cancel_delayed_work_sync(&exp->reap);
	/* @reap may have queued it, and it must not find entries that are freed next. */
	cancel_delayed_work_sync(&exp->later);
	list_for_each_entry_safe(claim, next, &exp->left, left) {
		of = claim->of;
		rdmafsd_cut_left(exp, claim);
		spin_lock(&exp->opened_lock);
		rdmafsd_claim_forget(exp, claim);
		spin_unlock(&exp->opened_lock);
		rdmafsd_claim_free(claim);
		cond_resched();
		if (!of->awaited)
			rdmafsd_opened_drop(exp, of);
	}
	rhashtable_destroy(&exp->claims);
	rdmafsd_opened_exit(exp);
}
