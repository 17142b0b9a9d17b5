// SPDX-License-Identifier: GPL-2.0
/*
 * The time in which clients may open again what they had open when their session was lost.
 *
 * Each export has a list of the claims that clients may come back for (RDMAFSD_CLAIM_LEFT,
 * claim.c), those first whose time is over first.  The time is reclaim_s seconds, also if that
 * parameter is written meanwhile.  The export's worker is armed for the first claim of the list.
 * It runs rdmafsd_claims_reap() (claim.c), which lets go of the claims whose time is over.
 *
 * Guesses are claims for files that clients may have had open before the server lost its power
 * (leaving.c).  Their time began with the export, so they come before all others, and if the file
 * system is full all of them go at once.
 *
 * exp->opened_lock guards the list and what changes of the export here.
 */
#include <linux/jiffies.h>
#include <linux/statfs.h>
#include <linux/workqueue.h>
#include "server.h"
#include "opened.h"

/* In seconds; a parameter of the module (main.c). */
unsigned int rdmafsd_reclaim_s = 90;

/* Lets go of files: two works of each export, which may wait for its file system. */
struct workqueue_struct *rdmafsd_reap_wq;

static atomic_t rdmafsd_left;	/* claims of all exports that are LEFT */

/**
 * rdmafsd_left_now - count the claims that clients may come back for
 *
 * Context: any.
 * Return: the claims of all exports that are LEFT.
 */
u32 rdmafsd_left_now(void)
{
	return atomic_read(&rdmafsd_left);
}

/**
 * rdmafsd_reclaim_time - get the time for which clients may come back, as it is set now
 *
 * Context: any.
 * Return: jiffies, 0..MAX_JIFFY_OFFSET; 0: clients can't come back.
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

/**
 * rdmafsd_left_add - begin the time in which the client of a claim may come back
 * @exp:   the export, its @opened_lock held
 * @claim: the claim, in no list, about to be LEFT
 *
 * Context: process, does not sleep.
 */
void rdmafsd_left_add(struct rdmafsd_export *exp, struct rdmafsd_claim *claim)
{
	lockdep_assert_held(&exp->opened_lock);
	claim->since = jiffies;
	if (list_empty(&exp->left) || time_before(rdmafsd_claim_due(claim), exp->reap_at))
		rdmafsd_reap_at(exp, claim);
	list_add_tail(&claim->left, &exp->left);
	atomic_inc(&rdmafsd_left);
}

/**
 * rdmafsd_left_add_guess - begin the time of a guess, which counts since the export's start
 * @exp:   the export, its @opened_lock held
 * @claim: the claim, LEFT just now
 *
 * Context: process, does not sleep.
 */
void rdmafsd_left_add_guess(struct rdmafsd_export *exp, struct rdmafsd_claim *claim)
{
	lockdep_assert_held(&exp->opened_lock);
	claim->guess = true;
	/* No claim has been LEFT before that, so this one goes to the front of the list. */
	claim->since = exp->started;
	list_move(&claim->left, &exp->left);
	if (time_before(rdmafsd_claim_due(claim), exp->reap_at))
		rdmafsd_reap_at(exp, claim);
}

/**
 * rdmafsd_left_del - end the time in which the client of a claim may come back
 * @exp:   the export, its @opened_lock held
 * @claim: the claim, LEFT until now
 *
 * Context: process, does not sleep.
 */
void rdmafsd_left_del(struct rdmafsd_export *exp, struct rdmafsd_claim *claim)
{
	lockdep_assert_held(&exp->opened_lock);
	list_del_init(&claim->left);
	atomic_dec(&rdmafsd_left);
}

/**
 * rdmafsd_left_due - find a claim whose time is over, or that has to go for its room
 * @exp: the export, its @opened_lock held
 *
 * Context: process, does not sleep.
 * Return: the claim, still LEFT; NULL: there is none now, and the worker is armed for the next.
 */
struct rdmafsd_claim *rdmafsd_left_due(struct rdmafsd_export *exp)
{
	struct rdmafsd_claim *claim;

	lockdep_assert_held(&exp->opened_lock);
	claim = list_first_entry_or_null(&exp->left, struct rdmafsd_claim, left);
	/* If room is needed all guesses go; they come first in the list. */
	exp->full &= claim && claim->guess;
	if (!claim)
		return NULL;
	if (!exp->full && time_before(jiffies, rdmafsd_claim_due(claim))) {
		rdmafsd_reap_at(exp, claim);
		return NULL;
	}
	return claim;
}

/**
 * rdmafsd_left_started - begin the time in which clients can come back for orphans
 * @exp: the export, about to be live, @exp->started set
 *
 * Context: process; does not sleep.
 */
void rdmafsd_left_started(struct rdmafsd_export *exp)
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
 * rdmafsd_left_rearm - apply a new time for which clients may come back
 * @exp: the export, in flight: it does not end before this returns
 *
 * All that arm the worker read the time under exp->opened_lock, which is taken here.  So a timer
 * that was armed by the former time is replaced, and later ones are armed by the new time.
 *
 * Context: process; does not sleep.
 */
void rdmafsd_left_rearm(struct rdmafsd_export *exp)
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
 * rdmafsd_left_make_room - make room if a client's write found none
 * @exp: the export
 *
 * If the file system is full all guesses end, and with them the orphans that no client is known
 * to have open.  Files that a client is known to have open stay.
 *
 * Context: process, may sleep, the server's own credentials.
 * Return: true: there is room, or will soon be, so the write can be repeated.
 */
bool rdmafsd_left_make_room(struct rdmafsd_export *exp)
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

/**
 * rdmafsd_left_ended - note that a claim that was due has ended, with all that it kept
 * @exp: the export
 *
 * If the claim was a guess the room of its file is free now.
 *
 * Context: process, does not sleep.
 */
void rdmafsd_left_ended(struct rdmafsd_export *exp)
{
	spin_lock(&exp->opened_lock);
	if (exp->going)
		exp->room = get_jiffies_64() + HZ;
	exp->going = false;
	spin_unlock(&exp->opened_lock);
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
