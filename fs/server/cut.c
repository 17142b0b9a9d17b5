// SPDX-License-Identifier: GPL-2.0
/*
 * Files that were open, or waited for, when an export was disabled.
 *
 * The export's end closes what is open in it, and its next start finds the files where
 * it keeps those that have no name (orphan.c).  For a session that was lost the client
 * hears of that at once, and opens again what it had.  But these sessions live, and
 * whoever does nothing with his file does not hear of anything, however long that lasts.
 * So each open is noted with its session until the client has opened the file again
 * or closed it.  When the session ends the note is *left*: the client has the time that it
 * has after any end of a session, then the note goes (rdmafsd_cuts_reap()).  An open whose
 * session had ended before, and which waits for its client, is noted as left.  Notes hold
 * nothing of the export's file system, which is free to go meanwhile: they tell files by
 * their numbers.
 *
 * A file that has a name is found by that.  Who removes the name makes it one that is
 * waited for first (rdmafsd_cut_claims()), and so another orphan.
 *
 * A note has the room of its open, and counts among those of the client (clients.c): there
 * are no more of them than clients may have opens, however often exports end, and none is
 * ever refused.  Whose room is full of them opens nothing else, but what is noted he may.
 * The client's time does not run while the export is off; but then notes that would have
 * gone without that give way to opens for which there is no room (rdmafsd_cuts_give_way()).
 *
 * Without memory for a note, and when one has given way, the export's next life keeps what is
 * removed as if it had been the server that was started (rdmafsd_known_lost()).
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "transport/points.h"
#include "server.h"

#define RDMAFSD_CUT_BITS	12

/**
 * struct rdmafsd_cut - an open of a file, cut off by its export's end
 * @link:	among those of its session, or those that are left
 * @by_file:	in the table by export and file
 * @by_id:	in the table by stateid, as long as the session lives
 * @ses:	the session, which lives; NULL: it is left
 * @client:	among whose opens it counts; a reference
 * @left:	when it was left, in jiffies
 * @since:	likewise, or when its client could come back at last
 * @export:	id of the export
 * @ino:	the file's number
 * @generation:	likewise
 * @stateid:	what the client believes to have; of no meaning when it is left
 * @claim:	number of the open's claim
 * @waited:	serial of the export in whose life the file has been waited for
 */
struct rdmafsd_cut {
	struct list_head link;
	struct hlist_node by_file;
	struct hlist_node by_id;
	struct rdmafsd_session *ses;
	struct rdmafsd_client *client;
	unsigned long left;
	unsigned long since;
	u32 export;
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

/* Out of the tables, to those that are to be freed without the lock. */
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
 * Those of sessions that ended so long ago that their clients have had their time.  That does
 * not run while the export is off, when nobody can open anything.
 */
static void rdmafsd_cuts_reap(struct work_struct *work)
{
	unsigned long now, due, time;
	struct rdmafsd_cut *cut;
	LIST_HEAD(gone);

	spin_lock(&rdmafsd_cut_lock);
	now = jiffies;
	/* Under the lock: else the former time might put off what rdmafsd_cuts_look() arms. */
	time = rdmafsd_reclaim_time();
	while ((cut = list_first_entry_or_null(&rdmafsd_cuts_left, struct rdmafsd_cut, link))) {
		due = cut->since + time;
		if (time_before(now, due)) {
			mod_delayed_work(system_unbound_wq, &rdmafsd_cuts_work,
					 round_jiffies_up_relative(due - now));
			break;
		}
		if (time && rdmafsd_export_off(cut->export))
			rdmafsd_cut_again_later_locked(cut);
		else
			rdmafsd_cut_drop_locked(cut, &gone);
	}
	spin_unlock(&rdmafsd_cut_lock);
	rdmafsd_cuts_free(&gone);
	rdmafs_test_point("cuts_reap", 0);
}

/**
 * rdmafsd_cuts_look - the time for which clients may come back is another one
 *
 * Those whose time is over by that go at once.
 *
 * Context: process; does not sleep.
 */
void rdmafsd_cuts_look(void)
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
	cut->ino = inode->i_ino;
	cut->generation = inode->i_generation;
	cut->claim = claim->id;
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
 * rdmafsd_cut_off - an export's end, or the session's, takes a state out of the session's table
 * @ses: the session, its memory held
 * @st:	 the state, referenced; its file is open yet
 *
 * In one step: a CLOSE finds either the state or the note (rdmafsd_cut_closed()).  A session
 * that has ended gets none: its client hears of that.
 *
 * Context: process.
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
		rdmafsd_known_lost(st->exp->p.id);
		return rdmafsd_state_remove(ses, st);
	}
	rdmafsd_cut_init(cut, st->exp, st->claim, inode);
	cut->ses = ses;
	cut->stateid = st->id;
	spin_lock(&rdmafsd_cut_lock);
	removed = rdmafsd_state_remove(ses, st);
	noted = removed && !ses->ended;
	if (noted) {
		/* The open's room, and its reference, are the note's. */
		st->claim->client = NULL;
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
 * rdmafsd_cut_left - an export ends, and a client might yet have come back for an open
 * @exp:   the export
 * @claim: the open's, LEFT, of no other task's use
 *
 * The claim ends with the export.  Its client has all of the time that it has after the
 * next start: while the export is off it can't come.
 *
 * Context: process.
 */
void rdmafsd_cut_left(struct rdmafsd_export *exp, struct rdmafsd_claim *claim)
{
	struct inode *inode = claim->of->inode;
	struct rdmafsd_cut *cut;

	/* One that was found is found again, as an orphan or by its note. */
	if (!claim->client || !rdmafsd_reclaim_time())
		return;
	cut = kzalloc(sizeof(*cut), GFP_KERNEL_ACCOUNT);
	if (!cut) {
		rdmafsd_known_lost(exp->p.id);
		return;
	}
	rdmafsd_cut_init(cut, exp, claim, inode);
	/* The open's room, and its reference, are the note's. */
	claim->client = NULL;
	spin_lock(&rdmafsd_cut_lock);
	rdmafsd_cut_leave_locked(cut);
	list_add_tail(&cut->link, &rdmafsd_cuts_left);
	hash_add(rdmafsd_cut_files, &cut->by_file, cut->ino);
	WRITE_ONCE(rdmafsd_cuts, rdmafsd_cuts + 1);
	mod_delayed_work(system_unbound_wq, &rdmafsd_cuts_work, 0);
	spin_unlock(&rdmafsd_cut_lock);
}

/**
 * rdmafsd_cut_closed - a client closes what the server has not open
 * @ses: its session
 * @id:	 the stateid, from the wire
 *
 * Context: process.
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
 * rdmafsd_cut_again - a client has opened again what it had open
 * @exp:   the export
 * @inode: the file
 * @claim: number of the claim of which it has shown the proof
 *
 * In whatever session: nobody but that client has the proof.
 *
 * Context: process.
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
 * rdmafsd_cut_end - a session ends: what is noted with it is left
 * @ses: the session, with no request at work
 *
 * Context: process.
 */
void rdmafsd_cut_end(struct rdmafsd_session *ses)
{
	struct rdmafsd_cut *cut;

	spin_lock(&rdmafsd_cut_lock);
	WRITE_ONCE(ses->ended, true);
	list_for_each_entry(cut, &ses->cut, link) {
		rdmafsd_cut_leave_locked(cut);
		/* Whoever comes back in another session has no stateid of this one. */
		hash_del(&cut->by_id);
	}
	list_splice_tail_init(&ses->cut, &rdmafsd_cuts_left);
	if (!list_empty(&rdmafsd_cuts_left))
		mod_delayed_work(system_unbound_wq, &rdmafsd_cuts_work, 0);
	spin_unlock(&rdmafsd_cut_lock);
}

/**
 * rdmafsd_cuts_give_way - there is no room for an open: notes of exports that are off go
 * @client: whose; NULL: of all
 *
 * Those whose clients would have had their time by now.  Else who disables an export and
 * leaves it so would have what clients had open there count for ever.  After a look in vain
 * the next one for the same client is a second later.
 *
 * Context: process.
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

	/* Who has no room may ask at any rate, and there may be many. */
	if (!READ_ONCE(rdmafsd_cuts_nr_left) ||
	    time_before64(get_jiffies_64(), READ_ONCE(*looked) + HZ))
		return false;
	spin_lock(&rdmafsd_cut_lock);
	list_for_each_entry_safe(cut, next, &rdmafsd_cuts_left, link)
		if ((!client || cut->client == client) &&
		    time_after_eq(jiffies, cut->left + time) &&
		    rdmafsd_export_off(cut->export)) {
			rdmafsd_known_lost(cut->export);
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
 * rdmafsd_cuts_start - an export starts: from now on its clients can come back
 * @exp: the export, about to be live
 *
 * Context: process.
 */
void rdmafsd_cuts_start(struct rdmafsd_export *exp)
{
	struct rdmafsd_cut *cut, *next;
	LIST_HEAD(left);

	spin_lock(&rdmafsd_cut_lock);
	list_splice_init(&rdmafsd_cuts_left, &left);
	list_for_each_entry_safe(cut, next, &left, link)
		if (cut->export != exp->p.id)
			list_move_tail(&cut->link, &rdmafsd_cuts_left);
	list_for_each_entry_safe(cut, next, &left, link)
		rdmafsd_cut_again_later_locked(cut);
	spin_unlock(&rdmafsd_cut_lock);
}

/**
 * rdmafsd_cuts_exit - there is no session any more, nor will there be
 */
void rdmafsd_cuts_exit(void)
{
	LIST_HEAD(gone);

	/* reclaim_s may still be written: rdmafsd_cuts_look() finds none, and arms nothing. */
	spin_lock(&rdmafsd_cut_lock);
	list_splice_init(&rdmafsd_cuts_left, &gone);
	spin_unlock(&rdmafsd_cut_lock);
	cancel_delayed_work_sync(&rdmafsd_cuts_work);
	rdmafsd_cuts_free(&gone);
}

/**
 * rdmafsd_cuts_left_now - how many notes are left
 *
 * Return: opens that were cut off, and whose sessions have ended since.
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
 * rdmafsd_cut_claims - a name is about to be removed: has the file to be waited for?
 * @exp:   the export
 * @inode: the file
 *
 * Once for each note in each life of the export: rdmafsd_cut_waited().
 *
 * Context: process.
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
 * rdmafsd_cut_waited - the file is waited for now
 * @exp:   the export
 * @inode: the file
 *
 * Not before: who else removes a name of it meanwhile has to see to it himself.
 *
 * Context: process.
 */
void rdmafsd_cut_waited(struct rdmafsd_export *exp, struct inode *inode)
{
	struct rdmafsd_cut *cut;

	spin_lock(&rdmafsd_cut_lock);
	hash_for_each_possible(rdmafsd_cut_files, cut, by_file, (u64)inode->i_ino)
		if (rdmafsd_cut_is(cut, exp, inode))
			cut->waited = exp->serial;
	spin_unlock(&rdmafsd_cut_lock);
}

/**
 * rdmafsd_cut_keeps - may there be a client that has not heard of the export's end?
 * @exp:   the export
 * @inode: a file that is waited for, though nobody knows for whom
 *
 * Context: any that may take no lock that sleeps.
 * Return: true if so: the file is to be kept.
 */
bool rdmafsd_cut_keeps(struct rdmafsd_export *exp, struct inode *inode)
{
	struct rdmafsd_cut *cut;
	bool keeps = false;

	spin_lock(&rdmafsd_cut_lock);
	hash_for_each_possible(rdmafsd_cut_files, cut, by_file, (u64)inode->i_ino)
		keeps |= rdmafsd_cut_is(cut, exp, inode);
	spin_unlock(&rdmafsd_cut_lock);
	return keeps;
}
