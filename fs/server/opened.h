/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files that clients have open, or may open again (opened.c), and claims: the opens of these
 * (claim.c), for how long clients may come back for them (reclaim.c), and notes of those that an
 * export's end has closed (cut.c).
 */
#ifndef RDMAFSD_OPENED_H
#define RDMAFSD_OPENED_H

#include <linux/errseq.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/rhashtable-types.h>
#include <linux/types.h>
#include "server.h"

/* ------------------------------------------------------------- opened files */

/**
 * enum rdmafsd_opened_name - where the name of an open file is
 * @RDMAFSD_NAMED:  where users see it; left for ORPHAN when its last name is about to be removed
 * @RDMAFSD_ORPHAN: in the directory of orphans, perhaps besides a name that users see; left for
 *                  GONE when no open or claim is left, for NAMED when the removal failed
 * @RDMAFSD_TMPFILE: there, and its client may give it its first name; left for NAMED when it has
 *                   got that (ORPHAN if the other name stays), for GONE as an ORPHAN
 * @RDMAFSD_GONE:   the name in the directory of orphans is being removed; the entry is freed
 *                  then, or goes back to ORPHAN if the name could not be removed yet
 */
enum rdmafsd_opened_name {
	RDMAFSD_NAMED,
	RDMAFSD_ORPHAN,
	RDMAFSD_TMPFILE,
	RDMAFSD_GONE,
};

/* Does a file have a name that clients do not see, so that they are told one link less? */
static inline bool rdmafsd_name_hidden(enum rdmafsd_opened_name name)
{
	return name == RDMAFSD_ORPHAN || name == RDMAFSD_TMPFILE;
}

/**
 * struct rdmafsd_opened - a file that clients have open, or may open again
 * @node:    in the table of its export; changed under the export's @opened_lock
 * @inode:   the file; constant, a reference
 * @name:    where its name is; changed under @opened_lock
 * @wb_err:  the last writeback error of the file for which the export's verifier was moved
 * @opens:   claims with a state, and removals of its name under way; guarded by @opened_lock
 * @awaited: claims that are LEFT; guarded by @opened_lock
 * @late:    in the export's @late: its name as an orphan could not be removed yet; guarded by
 *           @opened_lock
 * @rcu:     defers its freeing
 */
struct rdmafsd_opened {
	struct rhash_head node;
	struct inode *inode;
	enum rdmafsd_opened_name name;
	errseq_t wb_err;
	unsigned int opens;
	unsigned int awaited;
	struct list_head late;
	struct rcu_head rcu;
};

struct rw_semaphore *rdmafsd_naming_of(struct rdmafsd_export *exp, struct inode *inode);
struct rdmafsd_opened *rdmafsd_opened_join(struct rdmafsd_export *exp, struct inode *inode,
					   struct rdmafsd_opened *new);
struct rdmafsd_opened *rdmafsd_opened_make(struct rdmafsd_export *exp, struct inode *inode);
void rdmafsd_opened_put(struct rdmafsd_export *exp, struct rdmafsd_opened *of);
void rdmafsd_opened_rename(struct rdmafsd_export *exp, struct rdmafsd_opened *of,
			   enum rdmafsd_opened_name to);
int rdmafsd_opened_keep(struct rdmafsd_export *exp, struct inode *inode,
			enum rdmafsd_opened_name name);
void rdmafsd_opened_made(struct rdmafsd_export *exp, const struct inode *inode);
bool rdmafsd_opened_is_made(struct rdmafsd_export *exp, const struct inode *inode);
bool rdmafsd_opened_has(struct rdmafsd_export *exp, struct inode *inode);
enum rdmafsd_opened_name rdmafsd_opened_where(struct rdmafsd_export *exp, struct inode *inode);
bool rdmafsd_is_orphan(struct rdmafsd_export *exp, struct inode *inode);

/* For claims alone (claim.c). */
void rdmafsd_opened_move(struct rdmafsd_export *exp, struct rdmafsd_opened *of,
			 enum rdmafsd_opened_name to);
struct rdmafsd_opened *rdmafsd_opened_get(struct rdmafsd_export *exp, struct inode *inode);
bool rdmafsd_opened_ends(struct rdmafsd_export *exp, struct rdmafsd_opened *of, bool *orphan);
void rdmafsd_opened_end(struct rdmafsd_export *exp, struct rdmafsd_opened *of, bool orphan);
int rdmafsd_opened_init(struct rdmafsd_export *exp);
void rdmafsd_opened_drop(struct rdmafsd_export *exp, struct rdmafsd_opened *of);
void rdmafsd_opened_exit(struct rdmafsd_export *exp);

/* ------------------------------------------------------------------- claims */

/**
 * enum rdmafsd_claim_state - what a claim stands for
 * @RDMAFSD_CLAIM_NEW:   room for an open, or nothing any more; becomes OPEN when a file is about
 *                       to be opened
 * @RDMAFSD_CLAIM_OPEN:  an open; ends with CLOSE, becomes LEFT when the session is lost, AGAIN
 *                       when the client has opened the file again besides
 * @RDMAFSD_CLAIM_AGAIN: an open whose client has opened the file again besides, and will not
 *                       come back for this claim; ends with its state
 * @RDMAFSD_CLAIM_LEFT:  an open whose session was lost; becomes OPEN when the client opens the
 *                       file again, ends when the client does not in time, or with its export
 */
enum rdmafsd_claim_state {
	RDMAFSD_CLAIM_NEW,
	RDMAFSD_CLAIM_OPEN,
	RDMAFSD_CLAIM_AGAIN,
	RDMAFSD_CLAIM_LEFT,
};

/**
 * struct rdmafsd_claim - an open, which outlives its session
 * @node:   in the table of its export; changed under the export's @opened_lock
 * @id:     its number there, random, the same over restarts; constant once the claim is OPEN
 * @state:  see enum rdmafsd_claim_state; changed under @opened_lock
 * @of:     the file, set before the claim is OPEN
 * @client: the client that the open counts for, a reference; NULL: the claim was made for a file
 *          that was found when the export started, its open has become a note (cut.c), or it is
 *          not known whether any client has the file open
 * @by:     the client that removed the file's last name, a reference, where it is not known
 *          whether any client has the file open; else NULL
 * @stay:   that @client, or @by, or the client of a note of the file, has it in its export
 *          (staying.c); NULL: it is none that was crossed into, or there is no such client
 * @guess:  it is not known whether any client has the file open, and nothing found since says
 *          so; guarded by @opened_lock
 * @since:  when it was LEFT, in jiffies
 * @left:   in the export's @left while it is LEFT; guarded by @opened_lock
 * @rcu:    defers its freeing
 *
 * @of, @client, @by, @stay and @since change under @opened_lock while the claim is LEFT (claim.c),
 * at the end of its export only by the task that ends it (cut.c).  Else they are the state's, from
 * which a note takes over @client under rdmafsd_cut_lock.
 */
struct rdmafsd_claim {
	struct rhash_head node;
	u64 id;
	enum rdmafsd_claim_state state;
	struct rdmafsd_opened *of;
	struct rdmafsd_client *client;
	struct rdmafsd_client *by;
	struct rdmafsd_stay *stay;
	bool guess;
	unsigned long since;
	struct list_head left;
	struct rcu_head rcu;
};

int rdmafsd_claims_init(struct rdmafsd_export *exp);
void rdmafsd_claims_exit(struct rdmafsd_export *exp);
int rdmafsd_claim_open(struct rdmafsd_export *exp, struct inode *inode,
		       struct rdmafsd_claim **claim, u64 id);
void rdmafsd_claim_again(struct rdmafsd_export *exp, struct inode *inode, u64 id);
void rdmafsd_claim_put(struct rdmafsd_export *exp, struct rdmafsd_claim *claim, bool lost);
bool rdmafsd_claim_check_wb(struct rdmafsd_export *exp, struct rdmafsd_claim *claim);
bool rdmafsd_claim_guessed(struct rdmafsd_export *exp, struct rdmafsd_opened *of,
			   struct rdmafsd_claim *claim);

/* ------------------------------------------ claims and notes that are left */

extern unsigned int rdmafsd_reclaim_s;

unsigned long rdmafsd_reclaim_time(void);
void rdmafsd_left_add(struct rdmafsd_export *exp, struct rdmafsd_claim *claim);
void rdmafsd_left_add_guess(struct rdmafsd_export *exp, struct rdmafsd_claim *claim);
void rdmafsd_left_del(struct rdmafsd_export *exp, struct rdmafsd_claim *claim);
struct rdmafsd_claim *rdmafsd_left_due(struct rdmafsd_export *exp);
void rdmafsd_left_started(struct rdmafsd_export *exp);
void rdmafsd_left_rearm(struct rdmafsd_export *exp);
bool rdmafsd_left_make_room(struct rdmafsd_export *exp);
void rdmafsd_left_ended(struct rdmafsd_export *exp);
u32 rdmafsd_left_now(void);
int rdmafsd_reap_init(void);
void rdmafsd_reap_exit(void);

bool rdmafsd_cut_off(struct rdmafsd_session *ses, struct rdmafsd_state *st);
void rdmafsd_cut_left(struct rdmafsd_export *exp, struct rdmafsd_claim *claim);
void rdmafsd_cut_closed(struct rdmafsd_session *ses, u64 id);
void rdmafsd_cut_again(struct rdmafsd_export *exp, struct inode *inode, u64 claim);
void rdmafsd_cut_end(struct rdmafsd_session *ses);
bool rdmafsd_cut_claims(struct rdmafsd_export *exp, struct inode *inode);
void rdmafsd_cut_set_claimed(struct rdmafsd_export *exp, struct inode *inode);
bool rdmafsd_cut_keeps(struct rdmafsd_export *exp, struct inode *inode,
		       struct rdmafsd_stay **stay);
bool rdmafsd_cuts_give_way(struct rdmafsd_client *client);
void rdmafsd_cuts_start(struct rdmafsd_export *exp);
void rdmafsd_cuts_rearm(void);
void rdmafsd_cuts_exit(void);
u32 rdmafsd_cuts_left_now(void);

#endif
