// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: what belongs to one client, from the moment transport tells of it
 * until it says that the session is over.  They stand in a table so that an
 * export that ends can close what clients have open in it.
 *
 * Nothing is held while files are closed, which can take as long as their file
 * system likes: a session that ends takes its states out of its table one by
 * one, as does an export that ends, and whoever has taken one closes it.  The
 * export then waits for all its states, those that others are closing as well.
 * A session that ends closes those of each export apart from the others, and stays in
 * the table until all are closed: no export waits for the file system of another.
 */
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include "server.h"

static DEFINE_XARRAY_ALLOC1(rdmafsd_sessions);	/* &struct rdmafsd_session by serial */
static struct workqueue_struct *rdmafsd_close_wq;	/* of each &struct rdmafsd_closing */

/**
 * struct rdmafsd_closing - what a session that ends has open in one export
 * @work: closes it
 * @link: among those of the session
 * @ses:  the session
 * @exp:  the export; its memory is held
 */
struct rdmafsd_closing {
	struct work_struct work;
	struct list_head link;
	struct rdmafsd_session *ses;
	struct rdmafsd_export *exp;
};

static void rdmafsd_session_put(struct rdmafsd_session *ses)
{
	if (!refcount_dec_and_test(&ses->refs))
		return;
	xa_destroy(&ses->states);
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
	refcount_set(&ses->refs, 1);
	xa_init(&ses->idents);
	mutex_init(&ses->idents_lock);
	INIT_LIST_HEAD(&ses->idents_lru);
	spin_lock_init(&ses->lru_lock);
	xa_init_flags(&ses->states, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&ses->cut);

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

static void rdmafsd_closing_work(struct work_struct *work)
{
	struct rdmafsd_closing *c = container_of(work, struct rdmafsd_closing, work);

	rdmafsd_states_close(c->ses, c->exp);
}

static bool rdmafsd_closing_is(const struct list_head *closings, const struct rdmafsd_export *exp)
{
	struct rdmafsd_closing *c;

	list_for_each_entry(c, closings, link)
		if (c->exp == exp)
			return true;
	return false;
}

/* The export's memory is the closing's; true if it has begun. */
static bool rdmafsd_closing_begin(struct rdmafsd_session *ses, struct rdmafsd_export *exp,
				  struct list_head *closings)
{
	struct rdmafsd_closing *c = kmalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return false;
	INIT_WORK(&c->work, rdmafsd_closing_work);
	c->ses = ses;
	c->exp = exp;
	list_add(&c->link, closings);
	queue_work(rdmafsd_close_wq, &c->work);
	return true;
}

/* Most have files in one export only, which are closed here; without memory all are. */
static void rdmafsd_session_close_files(struct rdmafsd_session *ses)
{
	struct rdmafsd_export *exp, *first = NULL;
	struct rdmafsd_closing *c, *next;
	unsigned long index = 0;
	LIST_HEAD(closings);

	while ((exp = rdmafsd_states_export(ses, &index))) {
		if (!first)
			first = exp;
		else if (exp == first || rdmafsd_closing_is(&closings, exp) ||
			 !rdmafsd_closing_begin(ses, exp, &closings))
			rdmafsd_export_free(exp);
	}
	if (first) {
		rdmafsd_states_close(ses, first);
		rdmafsd_export_free(first);
	}
	list_for_each_entry_safe(c, next, &closings, link) {
		flush_work(&c->work);
		rdmafsd_export_free(c->exp);
		kfree(c);
	}
	rdmafsd_states_close(ses, NULL);
}

static void rdmafsd_session_close(struct rdmafs_xprt_session *xs, void *ctx)
{
	struct rdmafsd_session *ses = rdmafs_xprt_session_priv(xs);

	/* First: what an export that ends takes from now on is lost with the session. */
	rdmafsd_cut_end(ses);
	rdmafsd_session_close_files(ses);
	xa_erase(&rdmafsd_sessions, ses->serial);
	rdmafs_xprt_session_set_priv(xs, NULL);
	rdmafsd_idents_free(ses);
	rdmafsd_session_put(ses);
}

/* The first session from @serial on; its memory is held. */
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
 * When it returns nothing is open any more.
 */
void rdmafsd_sessions_close_export(struct rdmafsd_export *exp)
{
	struct rdmafsd_session *ses;
	unsigned long serial = 0;

	while ((ses = rdmafsd_session_next(&serial))) {
		rdmafsd_states_close(ses, exp);
		rdmafsd_session_put(ses);
		serial++;
	}
	wait_var_event(&exp->nr_states, !atomic_read(&exp->nr_states));
}

/**
 * rdmafsd_sessions_init - make the queue on which sessions that end close files
 *
 * One whose file system does not answer keeps its work, and nobody else's.
 *
 * Return: 0 or -ENOMEM.
 */
int rdmafsd_sessions_init(void)
{
	/* Flushed by works of a queue that has a rescuer. */
	rdmafsd_close_wq = alloc_workqueue("rdmafsd_close", WQ_UNBOUND | WQ_MEM_RECLAIM,
					   WQ_UNBOUND_MAX_ACTIVE);
	return rdmafsd_close_wq ? 0 : -ENOMEM;
}

/**
 * rdmafsd_sessions_exit - the reverse of rdmafsd_sessions_init(); there are no sessions
 */
void rdmafsd_sessions_exit(void)
{
	destroy_workqueue(rdmafsd_close_wq);
}

static void rdmafsd_limits_show(struct seq_file *m, void *ctx)
{
	rdmafsd_opens_show(m);
	rdmafsd_idents_show(m);
}

const struct rdmafs_xprt_service rdmafsd_service = {
	.session_open = rdmafsd_session_open,
	.waits_for = rdmafsd_waits_for,
	.session_close = rdmafsd_session_close,
	.handle = rdmafsd_handle,
	.handle_now = rdmafsd_handle_now,
	.show_limits = rdmafsd_limits_show,
};
