// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions.
 *
 * A session begins when transport reports it and ends when transport says that it is over.  All
 * sessions stand in one table, so that an export that ends can close what clients have open in
 * it.
 *
 * Closing a file can take as long as its file system likes, so no lock is held meanwhile: a
 * session that ends takes its states out of its table one by one, as does an export that ends,
 * and the task that has taken a state out closes it.  The export then waits until all of its
 * states are gone, also those that other tasks are closing.
 *
 * A session that ends closes the states of different exports in parallel, and ends its locks there
 * that wait; and there it also takes off stable storage that it has locks (grace.c).  It stays in
 * the table until all are closed: no export waits for the file system of another.
 */
#include <linux/list.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include "transport/points.h"
#include "server.h"
#include "opened.h"
#include "filelock.h"
#include "grace.h"

static DEFINE_XARRAY_ALLOC1(rdmafsd_sessions);	/* &struct rdmafsd_session by serial */
static atomic64_t rdmafsd_session_age;
/* Exports that start within so many jiffies ring clients once. */
#define RDMAFSD_RING_DELAY	(HZ / 10 ?: 1)

static struct workqueue_struct *rdmafsd_close_wq;	/* runs &struct rdmafsd_closing */

/**
 * struct rdmafsd_closing - closes what a session that ends has open in one export
 * @work: calls rdmafsd_session_close_in()
 * @link: in the list of the session that ends
 * @ses:  the session
 * @exp:  the export, a reference to its memory
 * @idle: the session has no locks there
 *
 * Owned by the task that ends the session, which waits for @work and frees it.
 */
struct rdmafsd_closing {
	struct work_struct work;
	struct list_head link;
	struct rdmafsd_session *ses;
	struct rdmafsd_export *exp;
	bool idle;
};

/**
 * rdmafsd_session_put - drop a reference to a session's memory
 * @ses: the session
 *
 * Context: process.
 */
void rdmafsd_session_put(struct rdmafsd_session *ses)
{
	if (!refcount_dec_and_test(&ses->refs))
		return;
	xa_destroy(&ses->states);
	xa_destroy(&ses->locks);
	xa_destroy(&ses->holds);
	mutex_destroy(&ses->idents_lock);
	rdmafsd_client_put(ses->client);
	kfree_rcu(ses, rcu);
}

static int rdmafsd_session_open(struct rdmafs_xprt_session *xs, void *ctx)
{
	struct rdmafs_xprt_source source;
	struct rdmafsd_session *ses;
	int err;

	ses = kzalloc(sizeof(*ses), GFP_KERNEL);
	if (!ses)
		return -ENOMEM;
	rdmafs_xprt_session_source(xs, &source);
	rdmafs_xprt_session_client(xs, ses->id);
	ses->client = rdmafsd_client_get(&source);
	if (!ses->client) {
		kfree(ses);
		return -ENOMEM;
	}
	ses->age = atomic64_inc_return(&rdmafsd_session_age);
	refcount_set(&ses->refs, 1);
	xa_init(&ses->idents);
	mutex_init(&ses->idents_lock);
	INIT_LIST_HEAD(&ses->idents_lru);
	spin_lock_init(&ses->lru_lock);
	xa_init_flags(&ses->states, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&ses->cut);
	ses->xs = xs;
	xa_init(&ses->locks);
	xa_init(&ses->holds);
	spin_lock_init(&ses->locks_lock);
	INIT_LIST_HEAD(&ses->events);
	do {
		ses->done_token = get_random_u64();
	} while (!ses->done_token);

	err = xa_alloc(&rdmafsd_sessions, &ses->serial, ses, xa_limit_32b, GFP_KERNEL);
	if (err) {
		mutex_destroy(&ses->idents_lock);
		rdmafsd_client_put(ses->client);
		kfree(ses);
		return err;
	}
	rdmafs_xprt_session_set_priv(xs, ses);
	return 0;
}

/**
 * rdmafsd_session_hold - note that a session may be recorded to have locks in an export
 * @ses: the session, which does not end before the caller is done
 * @exp: the export, the same
 *
 * Context: process, may sleep for memory.
 * Return: 0 or -ENOMEM.
 */
int rdmafsd_session_hold(struct rdmafsd_session *ses, struct rdmafsd_export *exp)
{
	int err;

	if (xa_load(&ses->holds, exp->serial))
		return 0;
	refcount_inc(&exp->refs);
	err = xa_insert(&ses->holds, exp->serial, exp, GFP_KERNEL_ACCOUNT);
	if (err)
		rdmafsd_export_put_memory(exp);
	return err == -EBUSY ? 0 : err;
}

/* Two tasks may come here for one export; the one that finds it has the reference. */
static void rdmafsd_session_unhold_one(struct rdmafsd_session *ses, unsigned long serial)
{
	struct rdmafsd_export *held = xa_erase(&ses->holds, serial);

	if (held)
		rdmafsd_export_put_memory(held);
}

/* No lock of the session is tried there any more, nor will be.  @exp: as below. */
static void rdmafsd_session_unhold(struct rdmafsd_session *ses, const struct rdmafsd_export *exp)
{
	struct rdmafsd_export *held;
	unsigned long serial;

	if (exp) {
		rdmafsd_session_unhold_one(ses, exp->serial);
		return;
	}
	/* The export's memory may go meanwhile. */
	xa_for_each(&ses->holds, serial, held)
		rdmafsd_session_unhold_one(ses, serial);
}

/* End what a session has in an export, or, if that is NULL, in all exports. */
static void rdmafsd_session_close_in(struct rdmafsd_session *ses, struct rdmafsd_export *exp)
{
	/* A lock that waits keeps its open. */
	rdmafsd_locks_end(ses, exp);
	rdmafsd_states_close(ses, exp);
	rdmafsd_session_unhold(ses, exp);
}

/* Before what a session that ends has locked in an export is free for others, note that. */
static void rdmafsd_session_leave(struct rdmafsd_session *ses, struct rdmafsd_export *exp,
				  bool idle)
{
	/* If the export ends nothing is written there any more for this. */
	if (idle && rdmafsd_export_get(exp)) {
		rdmafsd_grace_unused(exp, ses);
		rdmafsd_export_put(exp);
	} else {
		rdmafsd_grace_lost(exp, ses);
	}
}

static void rdmafsd_closing_work(struct work_struct *work)
{
	struct rdmafsd_closing *c = container_of(work, struct rdmafsd_closing, work);

	rdmafsd_session_leave(c->ses, c->exp, c->idle);
	rdmafsd_session_close_in(c->ses, c->exp);
}

static bool rdmafsd_closing_is(const struct list_head *closings, const struct rdmafsd_export *exp)
{
	struct rdmafsd_closing *c;

	list_for_each_entry(c, closings, link)
		if (c->exp == exp)
			return true;
	return false;
}

/* On success the caller's reference to the export's memory belongs to the closing. */
static bool rdmafsd_closing_begin(struct rdmafsd_session *ses, struct rdmafsd_export *exp,
				  bool idle, struct list_head *closings)
{
	struct rdmafsd_closing *c = kmalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return false;
	INIT_WORK(&c->work, rdmafsd_closing_work);
	c->ses = ses;
	c->exp = exp;
	c->idle = idle;
	list_add(&c->link, closings);
	queue_work(rdmafsd_close_wq, &c->work);
	return true;
}

/* The tables of a session that rdmafsd_session_export() looks through. */
enum rdmafsd_has {
	RDMAFSD_HAS_OPEN,
	RDMAFSD_HAS_WAITING,	/* a lock that waits, which may be all that is left of its open */
	RDMAFSD_HAS_RECORD,	/* if that is all that it has, it has no lock there */
	RDMAFSD_HAS_NONE,
};

static struct rdmafsd_export *rdmafsd_session_held(struct rdmafsd_session *ses,
						   unsigned long *index)
{
	struct rdmafsd_export *exp;

	xa_lock(&ses->holds);
	exp = xa_find(&ses->holds, index, ULONG_MAX, XA_PRESENT);
	if (exp) {
		refcount_inc(&exp->refs);
		++*index;
	}
	xa_unlock(&ses->holds);
	return exp;
}

/* The next export that a session has something in.  @index and @has tell where to go on. */
static struct rdmafsd_export *rdmafsd_session_export(struct rdmafsd_session *ses,
						     unsigned long *index, enum rdmafsd_has *has)
{
	struct rdmafsd_export *exp = NULL;

	while (*has != RDMAFSD_HAS_NONE) {
		if (*has == RDMAFSD_HAS_OPEN)
			exp = rdmafsd_states_export(ses, index);
		else if (*has == RDMAFSD_HAS_WAITING)
			exp = rdmafsd_locks_export(ses, index);
		else
			exp = rdmafsd_session_held(ses, index);
		if (exp)
			break;
		++*has;
		*index = 0;
	}
	return exp;
}

/*
 * Most sessions have files in one export only: those files are closed by this task.  Files of
 * other exports are closed by works, or, if there is no memory for a work, by this task at the
 * end.
 */
static void rdmafsd_session_close_files(struct rdmafsd_session *ses)
{
	bool idle = !atomic_read(&ses->nr_locks) && !atomic_read(&ses->nr_waits), idle_first = idle;
	enum rdmafsd_has has = RDMAFSD_HAS_OPEN;
	struct rdmafsd_export *exp, *first = NULL;
	struct rdmafsd_closing *c, *next;
	unsigned long index = 0;
	LIST_HEAD(closings);

	while ((exp = rdmafsd_session_export(ses, &index, &has))) {
		idle |= has == RDMAFSD_HAS_RECORD;
		if (!first) {
			first = exp;
			idle_first = idle;
		} else if (exp == first || rdmafsd_closing_is(&closings, exp)) {
			rdmafsd_export_put_memory(exp);
		} else if (!rdmafsd_closing_begin(ses, exp, idle, &closings)) {
			rdmafsd_session_leave(ses, exp, idle);
			rdmafsd_export_put_memory(exp);
		}
	}
	if (first) {
		rdmafsd_session_leave(ses, first, idle_first);
		rdmafsd_session_close_in(ses, first);
		rdmafsd_export_put_memory(first);
	}
	list_for_each_entry_safe(c, next, &closings, link) {
		flush_work(&c->work);
		rdmafsd_export_put_memory(c->exp);
		kfree(c);
	}
	rdmafsd_session_close_in(ses, NULL);
}

static void rdmafsd_session_close(struct rdmafs_xprt_session *xs, void *ctx)
{
	struct rdmafsd_session *ses = rdmafs_xprt_session_priv(xs);

	/*
	 * This comes first: the opens that an export's end takes from now on are lost with the
	 * session, and get no note (cut.c).
	 */
	rdmafsd_cut_end(ses);
	spin_lock(&ses->locks_lock);
	ses->gone = true;
	spin_unlock(&ses->locks_lock);
	rdmafsd_session_close_files(ses);
	rdmafs_test_point("session_closed", ses->serial);
	xa_erase(&rdmafsd_sessions, ses->serial);
	rdmafs_xprt_session_set_priv(xs, NULL);
	rdmafsd_idents_free(ses);
	rdmafsd_session_put(ses);
}

/* Find the first session with a serial of at least @serial, and take a reference to its memory. */
static struct rdmafsd_session *rdmafsd_session_next(unsigned long *serial)
{
	struct rdmafsd_session *ses;

	rcu_read_lock();
	for (;; ++*serial) {
		ses = xa_find(&rdmafsd_sessions, serial, ULONG_MAX, XA_PRESENT);
		if (!ses || refcount_inc_not_zero(&ses->refs))
			break;
	}
	rcu_read_unlock();
	return ses;
}

/**
 * rdmafsd_sessions_close_export - close what clients have open in an export
 * @exp: the export, with no request at work and none to come
 *
 * When this returns nothing is open in the export, and no other task is closing anything there.
 *
 * Context: process, may sleep; no lock is held.
 */
void rdmafsd_sessions_close_export(struct rdmafsd_export *exp)
{
	struct rdmafsd_session *ses;
	unsigned long serial = 0;

	while ((ses = rdmafsd_session_next(&serial))) {
		rdmafsd_session_close_in(ses, exp);
		rdmafsd_session_put(ses);
		serial++;
	}
	wait_var_event(&exp->nr_states, !atomic_read(&exp->nr_states));
}

/**
 * rdmafsd_sessions_unused - take off stable storage which clients have had locks in an export
 * @exp: the export, which ends; no request is at work in it, and nothing is open there
 *
 * A session that ends at the same time may leave its record.
 *
 * Context: process, may sleep; waits for the export's file system.
 */
void rdmafsd_sessions_unused(struct rdmafsd_export *exp)
{
	struct rdmafsd_session *ses;
	unsigned long serial = 0;

	while ((ses = rdmafsd_session_next(&serial))) {
		if (xa_load(&ses->holds, exp->serial))
			rdmafsd_grace_unused(exp, ses);
		rdmafsd_session_put(ses);
		serial++;
	}
}

/**
 * rdmafsd_sessions_tell - have clients that had locks in an export take them again
 * @exp: the export, which is about to become live
 *
 * A client whose session has outlived the export's pause may not have noticed it.  Before it has
 * heard of it nothing that it says of its locks is believed of this life of the export.
 *
 * Context: process, may sleep.
 */
void rdmafsd_sessions_tell(struct rdmafsd_export *exp)
{
	struct rdmafsd_session *ses;
	unsigned long serial = 0;

	while ((ses = rdmafsd_session_next(&serial))) {
		if (rdmafsd_grace_tells(exp, ses))
			rdmafsd_event_reclaim(ses);
		rdmafsd_session_put(ses);
		serial++;
	}
}

static void rdmafsd_ring_work(struct work_struct *work)
{
	struct rdmafsd_session *ses;
	unsigned long serial = 0;

	while ((ses = rdmafsd_session_next(&serial))) {
		rdmafsd_event_nothing(ses);
		rdmafsd_session_put(ses);
		serial++;
	}
}

static DECLARE_DELAYED_WORK(rdmafsd_ring, rdmafsd_ring_work);

/**
 * rdmafsd_sessions_ring - have clients ask what holds for their exports
 *
 * A client has receives for a few EVENTs at a time only.  So many exports that are started one
 * after the other ring once.
 *
 * Context: process.
 */
void rdmafsd_sessions_ring(void)
{
	queue_delayed_work(rdmafsd_close_wq, &rdmafsd_ring, RDMAFSD_RING_DELAY);
}

/**
 * rdmafsd_sessions_init - make the queue on which sessions that end close files
 *
 * A work whose file system does not answer holds up only itself: the queue runs as many at a
 * time as a queue can.
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rdmafsd_sessions_init(void)
{
	/*
	 * The works are flushed by works of transport's queue, which has a rescuer: so must have
	 * this one.
	 */
	rdmafsd_close_wq = alloc_workqueue("rdmafsd_close", WQ_UNBOUND | WQ_MEM_RECLAIM,
					   WQ_UNBOUND_MAX_ACTIVE);
	return rdmafsd_close_wq ? 0 : -ENOMEM;
}

/**
 * rdmafsd_sessions_exit - undo rdmafsd_sessions_init(), once there are no sessions
 *
 * Context: process, may sleep.
 */
void rdmafsd_sessions_exit(void)
{
	cancel_delayed_work_sync(&rdmafsd_ring);
	destroy_workqueue(rdmafsd_close_wq);
}

static void rdmafsd_limits_show(struct seq_file *m, void *ctx)
{
	rdmafsd_opens_show(m);
	rdmafsd_idents_show(m);
	rdmafsd_locks_show(m);
}

const struct rdmafs_xprt_service rdmafsd_service = {
	.session_open = rdmafsd_session_open,
	.waits_for = rdmafsd_waits_for,
	.session_close = rdmafsd_session_close,
	.handle = rdmafsd_handle,
	.handle_now = rdmafsd_handle_now,
	.show_limits = rdmafsd_limits_show,
};
