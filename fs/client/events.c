// SPDX-License-Identifier: GPL-2.0
/*
 * Events: the server tells that tasks which wait for locks are to ask for them again, or that the
 * export was started again, and waits for this client to take its locks again.  If there is
 * nothing of that the server may have rung as an export has other settings (rules.c).
 *
 * Transport brings an EVENT.  Then events_work asks what it is about, and wakes the tasks that
 * wait.  The request has a slot and memory of its own, which no data takes.  The tasks are also
 * woken when there is a new session, and by umount -f.
 *
 * Locks: rdmafs_mount.lock_lock, a leaf.
 */
#include <linux/random.h>
#include "client.h"
#include "filelock.h"
#include "op.h"
#include "open.h"

/* If what the server has told is lost it is asked again after this pause, in jiffies. */
#define RDMAFS_EVENTS_PAUSE	HZ

/**
 * rdmafs_lock_wait_begin - begin to wait for a lock
 * @mnt: the mount
 * @w:	 out: the wait, with a token that no other has
 *
 * Context: process; takes lock_lock.
 */
void rdmafs_lock_wait_begin(struct rdmafs_mount *mnt, struct rdmafs_lock_wait *w)
{
	init_completion(&w->event);
	spin_lock_irq(&mnt->lock_lock);
	do {
		w->token = ++mnt->lock_token;
	} while (!w->token);
	list_add_tail(&w->link, &mnt->lock_waits);
	spin_unlock_irq(&mnt->lock_lock);
}

/**
 * rdmafs_lock_wait_end - do not wait for a lock any more
 * @mnt: the mount
 * @w:	 the wait
 *
 * Context: process; takes lock_lock.
 */
void rdmafs_lock_wait_end(struct rdmafs_mount *mnt, struct rdmafs_lock_wait *w)
{
	spin_lock_irq(&mnt->lock_lock);
	list_del(&w->link);
	spin_unlock_irq(&mnt->lock_lock);
}

/**
 * rdmafs_locks_wake - have all tasks that wait for locks ask again
 * @mnt: the mount
 *
 * Context: any; takes lock_lock.
 */
void rdmafs_locks_wake(struct rdmafs_mount *mnt)
{
	struct rdmafs_lock_wait *w;
	unsigned long irq;

	spin_lock_irqsave(&mnt->lock_lock, irq);
	list_for_each_entry(w, &mnt->lock_waits, link)
		complete(&w->event);
	spin_unlock_irqrestore(&mnt->lock_lock, irq);
}

/* Have the task with that token ask again; false if there is none. */
static bool rdmafs_lock_wake(struct rdmafs_mount *mnt, u64 token)
{
	struct rdmafs_lock_wait *w;
	bool found = false;

	spin_lock_irq(&mnt->lock_lock);
	list_for_each_entry(w, &mnt->lock_waits, link) {
		found = w->token == token;
		if (found) {
			complete(&w->event);
			break;
		}
	}
	spin_unlock_irq(&mnt->lock_lock);
	return found;
}

/*
 * Events may have been in a reply that is lost.  So all is done that events can ask for: tasks that
 * wait for locks ask for them, and locks that the server may have recorded are taken again.  True:
 * after a pause the server is to be asked once more, as it believes that its
 * last reply has come.  It is anyway when there is another connection, and a mount that ends need
 * not ask.
 */
static bool rdmafs_events_missed(struct rdmafs_mount *mnt)
{
	bool recorded = READ_ONCE(mnt->recorded);

	if (recorded)
		rdmafs_opens_lost(mnt, false);
	rdmafs_locks_wake(mnt);
	if (!recorded || READ_ONCE(mnt->super.unused) || !rdmafs_xprt_connected(mnt->xprt))
		return false;
	schedule_timeout_uninterruptible(RDMAFS_EVENTS_PAUSE);
	return !READ_ONCE(mnt->super.unused) && rdmafs_xprt_connected(mnt->xprt);
}

/* The server has not rung for a lock, but maybe for what holds for an export. */
static void rdmafs_events_else(struct rdmafs_mount *mnt)
{
	rdmafs_rules_doubt(mnt);
	rdmafs_rules_ask(mnt);
}

/*
 * Take the events of a reply; true if the server is to be asked once more.  All tasks ask if events
 * may have been in an earlier reply, which was an error; and if an event is for none of them, by
 * which the server says that requests are gone with their export.
 */
static bool rdmafs_events_told(struct rdmafs_mount *mnt, struct rdmafs_op *op)
{
	const struct rfp_events_rep *rep;
	const struct rfp_event *event;
	struct rfp_dec dec;
	u32 nr, flags, i;
	bool clear, lost = false;

	rep = rdmafs_op_reply(op, &dec, sizeof(*rep));
	nr = rep ? le32_to_cpu(rep->nr) : 0;
	flags = rep ? le32_to_cpu(rep->flags) : 0;
	event = nr <= RFP_EVENTS_MAX ? rfp_dec_fixed(&dec, nr * sizeof(*event)) : NULL;
	if (!event || rfp_dec_end(&dec) || (flags & ~RFP_EVENTS_MORE))
		return rdmafs_events_missed(mnt);
	clear = !op->tries && !op->waits;
	for (i = 0; i < nr; i++) {
		if (le32_to_cpu(event[i].type) == RFP_EVENT_RECLAIM && !event[i].pad &&
		    !event[i].id)
			lost = true;
		else if (clear)
			clear = le32_to_cpu(event[i].type) == RFP_EVENT_LOCK && !event[i].pad &&
				rdmafs_lock_wake(mnt, le64_to_cpu(event[i].id));
	}
	if (lost)
		rdmafs_opens_lost(mnt, false);
	if (lost || !clear)
		rdmafs_locks_wake(mnt);
	if (lost || !nr)
		rdmafs_events_else(mnt);
	return nr && flags;
}

static void rdmafs_events_work(struct work_struct *work)
{
	struct rdmafs_mount *mnt = container_of(work, struct rdmafs_mount, events_work);
	struct rdmafs_op *op;
	bool more;

	do {
		op = rdmafs_op_new_cred(&mnt->super, RFP_EVENTS, sizeof(struct rfp_req), mnt->cred,
					RDMAFS_POOL_EVENTS);
		/* To register credentials takes memory and a slot that data may have. */
		op->bare = true;
		more = rdmafs_op_run(op) ? rdmafs_events_missed(mnt) : rdmafs_events_told(mnt, op);
		rdmafs_op_put(op);
	} while (more);
	/* The mount may be gone after this. */
	rdmafs_opens_dec(&mnt->super);
}

/**
 * rdmafs_events - ask the server what it has to tell
 * @mnt: the mount
 *
 * Context: any.
 */
void rdmafs_events(struct rdmafs_mount *mnt)
{
	unsigned long irq;
	bool any;

	/* The server tells only a client whose tasks wait, or that is known to have locks. */
	spin_lock_irqsave(&mnt->lock_lock, irq);
	any = !list_empty(&mnt->lock_waits);
	spin_unlock_irqrestore(&mnt->lock_lock, irq);
	if (!any && !READ_ONCE(mnt->recorded)) {
		rdmafs_events_else(mnt);
		return;
	}
	/* Unmounting waits for the work, which sends a call. */
	atomic_inc(&mnt->super.nr_opens);
	/* Pairs with the barrier in rdmafs_umount_wait(). */
	smp_mb__after_atomic();
	if ((!any && READ_ONCE(mnt->super.no_late)) || !queue_work(mnt->io_wq, &mnt->events_work))
		rdmafs_opens_dec(&mnt->super);
}

/**
 * rdmafs_locks_init - begin without locks
 * @mnt: the mount
 *
 * Context: process.
 */
void rdmafs_locks_init(struct rdmafs_mount *mnt)
{
	spin_lock_init(&mnt->lock_lock);
	INIT_LIST_HEAD(&mnt->lock_waits);
	INIT_WORK(&mnt->events_work, rdmafs_events_work);
	get_random_bytes(&mnt->lock_key, sizeof(mnt->lock_key));
}
