// SPDX-License-Identifier: GPL-2.0
/*
 * Notes: opens that were cut off because their export was disabled.
 *
 * The end of an export closes the files that clients have open in it.  Its next start finds files
 * without a name among the orphans (orphan.c).  A client that loses its session learns that at
 * once and opens its files again.  But the end of an export leaves sessions alive, and a client
 * learns nothing for as long as it does not use its file.  So each open is noted with
 * its session until the client opens the file again or closes it.
 *
 * When the session ends the note is *left*: the client has the time that it has after any end of
 * a session, then the note is freed (rdmafsd_cuts_reap()).  An open whose session had ended
 * before, and that waits for its client when the export ends, is noted as left.  Notes hold
 * nothing of the export's file system, which may be unmounted: they identify files by number.
 *
 * A file that has a name is found by it.  Before a request removes the name, the file gets a claim
 * (rdmafsd_cut_claims()), and so becomes an orphan.
 *
 * A note takes over the room of its open and counts among its client's opens (clients.c).  So
 * there are no more notes than clients may have opens, however often exports end, and no note is
 * ever refused.  A client whose room is full of notes can open only the files that are noted.  So
 * it is with the file systems below an export that a client may have files open in (staying.c).  A
 * client's time does not run while the export is off.  But notes whose time would be over then
 * give way to opens for which there is no room (rdmafsd_cuts_give_way()).
 *
 * If there is no memory for a note, or one has given way, the export's next life keeps files that
 * are removed, as after a crash of the server (rdmafsd_known_set_note_lost()).
 *
 * rdmafsd_cut_lock guards all notes.
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "transport/points.h"
#include "server.h"
#include "staying.h"
#include "opened.h"

#define RDMAFSD_CUT_BITS	12

/**
 * struct rdmafsd_cut - a note of an open that was cut off by the end of its export
 * @link:	in the list of its session, or of those left or to be freed; rdmafsd_cut_lock guards
 *		this and all that changes
 * @by_file:	in the table by export and file
 * @by_id:	in the table by stateid, while the session lives
 * @ses:	the session, no reference, while it lives; NULL: the note is left
 * @client:	the client among whose opens the note counts; constant, a reference
 * @stay:	that @client has it in the export (staying.c); NULL: that is none that was crossed
 *		into; constant
 * @left:	when the note was left, in jiffies
 * @since:	when the client's time began: @left, or later if the export was off, in jiffies
 * @export:	id of the export; constant
 * @known:	the id by which configfs knows it (rdmafsd_export_known()); constant
 * @ino:	the file's inode number; constant
 * @generation:	the file's generation; constant
 * @stateid:	the stateid that the client has; constant, of no meaning once the note is left
 * @claim:	number of the open's claim; constant
 * @waited:	serial of the export in whose life the file has got a claim for its notes
 */
struct rdmafsd_cut {
	struct list_head link;
	struct hlist_node by_file;
	struct hlist_node by_id;
	struct rdmafsd_session *ses;
	struct rdmafsd_client *client;
	struct rdmafsd_stay *stay;
	unsigned long left;
	unsigned long since;
	u32 export;
	u32 known;
	u32 generation;
	u64 ino;
	u64 stateid;
	u64 claim;
	u64 waited;
};

static DEFINE_SPINLOCK(rdmafsd_cut_lock);	/* what follows, and sessions' lists */
static DEFINE_HASHTABLE(rdmafsd_cut_files, RDMAFSD_CUT_BITS);
static DEFINE_HASHTABLE(rdmafsd_cut_ids, RDMAFSD_CUT_BITS);
static unsigned int rdmafsd_cuts;	/* notes that there are */
static LIST_HEAD(rdmafsd_cuts_left);	/* those that are left, in this order */
static unsigned int rdmafsd_cuts_nr_left;

static void rdmafsd_cuts_reap(struct work_struct *work);
static DECLARE_DELAYED_WORK(rdmafsd_cuts_work, rdmafsd_cuts_reap);

/* Move a note from the tables to @gone, to be freed without the lock. */
static void rdmafsd_cut_drop_locked(struct rdmafsd_cut *cut, struct list_head *gone)
{
	lockdep_assert_held(&rdmafsd_cut_lock);
	list_move(&cut->link, gone);
	hash_del(&cut->by_file);
	hash_del(&cut->by_id);
	WRITE_ONCE(rdmafsd_cuts, rdmafsd_cuts - 1);
	if (!cut->ses)
		WRITE_ONCE(rdmafsd_cuts_nr_left, rdmafsd_cuts_nr_left - 1);
}

static void rdmafsd_cuts_free(struct list_head *gone)
{
	struct rdmafsd_cut *cut, *next;

	list_for_each_entry_safe(cut, next, gone, link) {
		rdmafsd_opens_uncharge(cut->client);
		rdmafsd_stay_put(cut->stay);
		kfree(cut);
	}
}

static void rdmafsd_cut_again_later_locked(struct rdmafsd_cut *cut)
{
	lockdep_assert_held(&rdmafsd_cut_lock);
	cut->since = jiffies;
	list_move_tail(&cut->link, &rdmafsd_cuts_left);
}

/*
 * Free the notes whose clients have had their time since the session's end.  It does not run while
 * the export is off, as no client can open files then.
 */
static void rdmafsd_cuts_reap(struct work_struct *work)
{
	unsigned long now, due, time;
	struct rdmafsd_cut *cut;
	LIST_HEAD(gone);

	spin_lock(&rdmafsd_cut_lock);
	now = jiffies;
	/* Read under the lock, or the former time might re-arm what rdmafsd_cuts_rearm() armed. */
	time = rdmafsd_reclaim_time();
	while ((cut = list_first_entry_or_null(&rdmafsd_cuts_left, struct rdmafsd_cut, link))) {
		due = cut->since + time;
		if (time_before(now, due)) {
			mod_delayed_work(system_unbound_wq, &rdmafsd_cuts_work,
					 round_jiffies_up_relative(due - now));
			break;
		}
		if (time && rdmafsd_export_off(cut->known))
			rdmafsd_cut_again_later_locked(cut);
		else
			rdmafsd_cut_drop_locked(cut, &gone);
	}
	spin_unlock(&rdmafsd_cut_lock);
	rdmafsd_cuts_free(&gone);
	rdmafs_test_point("cuts_reap", 0);
}

/**
 * rdmafsd_cuts_rearm - apply a new time for which clients may come back
 *
 * Notes whose time is over by the new setting are freed at once.
 *
 * Context: process; does not sleep.
 */
void rdmafsd_cuts_rearm(void)
{
	spin_lock(&rdmafsd_cut_lock);
	if (!list_empty(&rdmafsd_cuts_left))
		mod_delayed_work(system_unbound_wq, &rdmafsd_cuts_work, 0);
	spin_unlock(&rdmafsd_cut_lock);
}

static void rdmafsd_cut_init(struct rdmafsd_cut *cut, const struct rdmafsd_export *exp,
			     const struct rdmafsd_claim *claim, const struct inode *inode)
{
	cut->client = claim->client;
	cut->export = exp->p.id;
	cut->known = rdmafsd_export_known(exp);
	cut->ino = inode->i_ino;
	cut->generation = inode->i_generation;
	cut->claim = claim->id;
}

/* The note takes over the open's room, with its reference to the client and its stay. */
static void rdmafsd_cut_take_over(struct rdmafsd_cut *cut, struct rdmafsd_claim *claim)
{
	claim->client = NULL;
	cut->stay = claim->stay;
	claim->stay = NULL;
}

static void rdmafsd_cut_leave_locked(struct rdmafsd_cut *cut)
{
	lockdep_assert_held(&rdmafsd_cut_lock);
	cut->ses = NULL;
	cut->left = jiffies;
	cut->since = cut->left;
	WRITE_ONCE(rdmafsd_cuts_nr_left, rdmafsd_cuts_nr_left + 1);
}

/**
 * rdmafsd_cut_off - take a state from its session, and note its open if the session lives
 * @ses: the session, its memory held
 * @st:	 the state, referenced; its file is still open
 *
 * Called at the end of an export or of a session.  This is one step, so a CLOSE finds either the
 * state or the note (rdmafsd_cut_closed()).  If the session has ended there is no note, as its
 * client learns of that end.
 *
 * Context: process, may sleep; takes rdmafsd_cut_lock.
 * Return: as rdmafsd_state_remove().
 */
bool rdmafsd_cut_off(struct rdmafsd_session *ses, struct rdmafsd_state *st)
{
	struct inode *inode = file_inode(st->file);
	struct rdmafsd_cut *cut;
	bool removed, noted;

	if (READ_ONCE(ses->ended))
		return rdmafsd_state_remove(ses, st);
	cut = kzalloc(sizeof(*cut), GFP_KERNEL_ACCOUNT);
	if (!cut) {
		rdmafsd_known_set_note_lost(rdmafsd_export_known(st->exp));
		return rdmafsd_state_remove(ses, st);
	}
	rdmafsd_cut_init(cut, st->exp, st->claim, inode);
	cut->ses = ses;
	cut->stateid = st->id;
	spin_lock(&rdmafsd_cut_lock);
	removed = rdmafsd_state_remove(ses, st);
	noted = removed && !ses->ended;
	if (noted) {
		rdmafsd_cut_take_over(cut, st->claim);
		list_add_tail(&cut->link, &ses->cut);
		hash_add(rdmafsd_cut_files, &cut->by_file, cut->ino);
		hash_add(rdmafsd_cut_ids, &cut->by_id, cut->stateid);
		WRITE_ONCE(rdmafsd_cuts, rdmafsd_cuts + 1);
	}
	spin_unlock(&rdmafsd_cut_lock);
	if (!noted)
		kfree(cut);
	return removed;
}

/**
 * rdmafsd_cut_left - note an open that a client may come back for, as the export ends
 * @exp:   the export
 * @claim: the open's claim, LEFT, used by no other task
 *
 * The claim ends with the export.  The client's time begins anew with the next start, as the
 * client can't come back while the export is off.
 *
 * Context: process, may sleep; takes rdmafsd_cut_lock.
 */
void rdmafsd_cut_left(struct rdmafsd_export *exp, struct rdmafsd_claim *claim)
{
	struct inode *inode = claim->of->inode;
	struct rdmafsd_cut *cut;

	/* The next start finds the file of a claim without a client, as an orphan or by a note. */
	if (!claim->client || !rdmafsd_reclaim_time())
		return;
	cut = kzalloc(sizeof(*cut), GFP_KERNEL_ACCOUNT);
	if (!cut) {
		rdmafsd_known_set_note_lost(rdmafsd_export_known(exp));
		return;
	}
	rdmafsd_cut_init(cut, exp, claim, inode);
	rdmafsd_cut_take_over(cut, claim);
	spin_lock(&rdmafsd_cut_lock);
	rdmafsd_cut_leave_locked(cut);
	list_add_tail(&cut->link, &rdmafsd_cuts_left);
	hash_add(rdmafsd_cut_files, &cut->by_file, cut->ino);
	WRITE_ONCE(rdmafsd_cuts, rdmafsd_cuts + 1);
	mod_delayed_work(system_unbound_wq, &rdmafsd_cuts_work, 0);
	spin_unlock(&rdmafsd_cut_lock);
}

/**
 * rdmafsd_cut_closed - free the note of an open that its client closes
 * @ses: the client's session
 * @id:	 the stateid, from the wire; the server may have no such note
 *
 * Context: process, may sleep; takes rdmafsd_cut_lock.
 */
void rdmafsd_cut_closed(struct rdmafsd_session *ses, u64 id)
{
	struct rdmafsd_cut *cut;
	struct hlist_node *next;
	LIST_HEAD(gone);

	spin_lock(&rdmafsd_cut_lock);
	hash_for_each_possible_safe(rdmafsd_cut_ids, cut, next, by_id, id)
		if (cut->ses == ses && cut->stateid == id)
			rdmafsd_cut_drop_locked(cut, &gone);
	spin_unlock(&rdmafsd_cut_lock);
	rdmafsd_cuts_free(&gone);
}

/**
 * rdmafsd_cut_again - free the note of an open whose client has opened the file again
 * @exp:   the export
 * @inode: the file
 * @claim: number of the claim of which the client has shown the proof
 *
 * The session does not matter, as no other client has the proof.
 *
 * Context: process, may sleep; takes rdmafsd_cut_lock.
 */
void rdmafsd_cut_again(struct rdmafsd_export *exp, struct inode *inode, u64 claim)
{
	struct rdmafsd_cut *cut;
	struct hlist_node *next;
	LIST_HEAD(gone);

	spin_lock(&rdmafsd_cut_lock);
	hash_for_each_possible_safe(rdmafsd_cut_files, cut, next, by_file, (u64)inode->i_ino)
		if (cut->export == exp->p.id && cut->claim == claim)
			rdmafsd_cut_drop_locked(cut, &gone);
	spin_unlock(&rdmafsd_cut_lock);
	rdmafsd_cuts_free(&gone);
}

/**
 * rdmafsd_cut_end - leave the notes of a session that ends
 * @ses: the session, with no request at work
 *
 * Context: process; takes rdmafsd_cut_lock.
 */
void rdmafsd_cut_end(struct rdmafsd_session *ses)
{
	struct rdmafsd_cut *cut;

	spin_lock(&rdmafsd_cut_lock);
	WRITE_ONCE(ses->ended, true);
	list_for_each_entry(cut, &ses->cut, link) {
		rdmafsd_cut_leave_locked(cut);
		/* A client that comes back in another session has no stateid of this one. */
		hash_del(&cut->by_id);
	}
	list_splice_tail_init(&ses->cut, &rdmafsd_cuts_left);
	if (!list_empty(&rdmafsd_cuts_left))
		mod_delayed_work(system_unbound_wq, &rdmafsd_cuts_work, 0);
	spin_unlock(&rdmafsd_cut_lock);
}

/**
 * rdmafsd_cuts_give_way - free notes of exports that are off, to make room for an open
 * @client: the client whose notes give way; NULL: those of all clients
 *
 * Only notes whose client's time would be over by now if it had run give way.  Otherwise opens in
 * an export that stays disabled would count for ever.  If there was none, the notes of the same
 * client are not searched again within a second.
 *
 * Context: process, may sleep; takes rdmafsd_cut_lock.
 * Return: true if there were any.
 */
bool rdmafsd_cuts_give_way(struct rdmafsd_client *client)
{
	unsigned long time = rdmafsd_reclaim_time();
	struct rdmafsd_cut *cut, *next;
	static u64 looked_at_all;
	u64 *looked = client ? &client->cuts_looked : &looked_at_all;
	LIST_HEAD(gone);
	bool any;

	/* A client without room may call this at any rate, and there may be many notes. */
	if (!READ_ONCE(rdmafsd_cuts_nr_left) ||
	    time_before64(get_jiffies_64(), READ_ONCE(*looked) + HZ))
		return false;
	spin_lock(&rdmafsd_cut_lock);
	list_for_each_entry_safe(cut, next, &rdmafsd_cuts_left, link)
		if ((!client || cut->client == client) &&
		    time_after_eq(jiffies, cut->left + time) &&
		    rdmafsd_export_off(cut->known)) {
			rdmafsd_known_set_note_lost(cut->known);
			rdmafsd_cut_drop_locked(cut, &gone);
		}
	spin_unlock(&rdmafsd_cut_lock);
	any = !list_empty(&gone);
	if (!any)
		WRITE_ONCE(*looked, get_jiffies_64());
	rdmafsd_cuts_free(&gone);
	return any;
}

/**
 * rdmafsd_cuts_start - begin the time of left notes anew, as their export starts
 * @exp: the export, about to be live
 *
 * So it does for all that were crossed into from it.  It does not when one of these starts: as long
 * as the export above is live clients may come back to it at any time, and make it start by that.
 *
 * Context: process; takes rdmafsd_cut_lock.
 */
void rdmafsd_cuts_start(struct rdmafsd_export *exp)
{
	struct rdmafsd_cut *cut, *next;
	LIST_HEAD(left);

	spin_lock(&rdmafsd_cut_lock);
	list_splice_init(&rdmafsd_cuts_left, &left);
	list_for_each_entry_safe(cut, next, &left, link)
		if (cut->known != exp->p.id)
			list_move_tail(&cut->link, &rdmafsd_cuts_left);
	list_for_each_entry_safe(cut, next, &left, link)
		rdmafsd_cut_again_later_locked(cut);
	spin_unlock(&rdmafsd_cut_lock);
}

/**
 * rdmafsd_cuts_exit - free all notes, when there is no session any more, nor will be
 *
 * Context: process, may sleep; takes rdmafsd_cut_lock.
 */
void rdmafsd_cuts_exit(void)
{
	LIST_HEAD(gone);

	/* reclaim_s may still be written: rdmafsd_cuts_rearm() finds no note, and does not arm. */
	spin_lock(&rdmafsd_cut_lock);
	list_splice_init(&rdmafsd_cuts_left, &gone);
	spin_unlock(&rdmafsd_cut_lock);
	cancel_delayed_work_sync(&rdmafsd_cuts_work);
	rdmafsd_cuts_free(&gone);
}

/**
 * rdmafsd_cuts_left_now - count the notes that are left
 *
 * Context: any.
 * Return: number of opens that were cut off and whose session has ended.
 */
u32 rdmafsd_cuts_left_now(void)
{
	return READ_ONCE(rdmafsd_cuts_nr_left);
}

static bool rdmafsd_cut_is(const struct rdmafsd_cut *cut, struct rdmafsd_export *exp,
			   struct inode *inode)
{
	return cut->export == exp->p.id && cut->ino == inode->i_ino &&
	       cut->generation == inode->i_generation;
}

/**
 * rdmafsd_cut_claims - tell whether a file needs a claim for its notes before it loses a name
 * @exp:   the export
 * @inode: the file
 *
 * That is once for each note in each life of the export: see rdmafsd_cut_set_claimed().
 *
 * Context: process; takes rdmafsd_cut_lock.
 * Return: true if so.
 */
bool rdmafsd_cut_claims(struct rdmafsd_export *exp, struct inode *inode)
{
	struct rdmafsd_cut *cut;
	bool claims = false;

	if (!READ_ONCE(rdmafsd_cuts))
		return false;
	spin_lock(&rdmafsd_cut_lock);
	hash_for_each_possible(rdmafsd_cut_files, cut, by_file, (u64)inode->i_ino)
		claims |= rdmafsd_cut_is(cut, exp, inode) && cut->waited != exp->serial;
	spin_unlock(&rdmafsd_cut_lock);
	return claims;
}

/**
 * rdmafsd_cut_set_claimed - note that a file has got a claim for its notes
 * @exp:   the export
 * @inode: the file
 *
 * To be called only once the claim exists: another request that removes a name of the file before
 * that has to make a claim itself.
 *
 * Context: process; takes rdmafsd_cut_lock.
 */
void rdmafsd_cut_set_claimed(struct rdmafsd_export *exp, struct inode *inode)
{
	struct rdmafsd_cut *cut;

	spin_lock(&rdmafsd_cut_lock);
	hash_for_each_possible(rdmafsd_cut_files, cut, by_file, (u64)inode->i_ino)
		if (rdmafsd_cut_is(cut, exp, inode))
			cut->waited = exp->serial;
	spin_unlock(&rdmafsd_cut_lock);
}

/**
 * rdmafsd_cut_keeps - tell whether a file has a note, so that its orphan has to be kept
 * @exp:   the export
 * @inode: a file with a claim that counts for no client
 * @stay:  out: for that claim, the stay of a client that has a note; NULL: there is none, or the
 *	   export is none that was crossed into
 *
 * The client of the note may not have heard of the export's end.  The claim keeps the export in
 * use, perhaps for longer than the note is there, and so has the stay as well.
 *
 * Context: process; takes rdmafsd_cut_lock, perhaps within exp->opened_lock; does not sleep.
 * Return: true if so.
 */
bool rdmafsd_cut_keeps(struct rdmafsd_export *exp, struct inode *inode,
		       struct rdmafsd_stay **stay)
{
	struct rdmafsd_cut *cut;
	bool keeps = false;

	*stay = NULL;
	spin_lock(&rdmafsd_cut_lock);
	hash_for_each_possible(rdmafsd_cut_files, cut, by_file, (u64)inode->i_ino) {
		keeps = rdmafsd_cut_is(cut, exp, inode);
		if (keeps) {
			*stay = rdmafsd_stay_share(cut->stay);
			break;
		}
	}
	spin_unlock(&rdmafsd_cut_lock);
	return keeps;
}
