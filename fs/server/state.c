// SPDX-License-Identifier: GPL-2.0
/*
 * Open state.
 *
 * A stateid names a struct file that was opened for a client after its
 * permissions were checked.  From then on it is not asked again, whatever
 * happens to the file's mode or name: POSIX wants that of an open file, and
 * the client's writeback needs it.  The low half of a stateid is an index, the
 * high half random, so that a stateid left over from an earlier open does not
 * fit the next one, nor can be guessed.
 *
 * A session's end removes states from the table as its export's end does, and
 * both may meet CLOSE: whoever takes the state out of the table owns the
 * table's reference.
 *
 * Writeback errors: the kernel tells each struct file once, and forgets when
 * the inode goes.  Which one the export has seen last is remembered for as long as
 * some client has the file open or may come back for it (rdmafsd_claim_check_wb()).
 */
#include <linux/file.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "transport/points.h"
#include "server.h"

/**
 * rdmafsd_file_close - close a file here and now
 * @file: the file, the caller's reference goes
 *
 * A kthread's fput() leaves the work to a queue that nothing bounds, and an
 * export that ends must know that its files are closed.  Nothing may be locked
 * that ->release() could want.
 */
void rdmafsd_file_close(struct file *file)
{
	get_file(file);
	filp_close(file, NULL);
	__fput_sync(file);
}

/**
 * rdmafsd_state_add - make an open file known to its client
 * @ses:   the client's session
 * @exp:   the export, in flight
 * @file:  the file; on success the state's from now on
 * @claim: the open's claim; likewise
 * @id:	   gets the stateid
 *
 * Return: 0 or -ENOMEM.
 */
int rdmafsd_state_add(struct rdmafsd_session *ses, struct rdmafsd_export *exp,
		      struct file *file, struct rdmafsd_claim *claim, u64 *id)
{
	struct rdmafsd_state *st;
	u32 index;
	int err;

	st = kzalloc(sizeof(*st), GFP_KERNEL_ACCOUNT);
	if (!st)
		return -ENOMEM;
	st->file = file;
	st->exp = exp;
	st->claim = claim;
	refcount_set(&st->refs, 1);
	spin_lock_init(&st->lock);

	/* Reserved first, published when complete. */
	err = xa_alloc_cyclic(&ses->states, &index, NULL, xa_limit_31b,
			      &ses->next_state, GFP_KERNEL_ACCOUNT);
	if (err < 0) {
		kfree(st);
		return err;
	}
	st->id = (u64)get_random_u32() << 32 | index;
	*id = st->id;
	refcount_inc(&exp->refs);
	atomic_inc(&exp->nr_states);
	/* Can't fail: the slot has its memory. */
	xa_store(&ses->states, index, st, GFP_KERNEL_ACCOUNT);
	return 0;
}

/**
 * rdmafsd_state_get - find the open that a stateid names, and enter its export
 * @ses:   the client's session
 * @id:	   the stateid, from the wire
 * @state: gets the state
 *
 * In this order: an export that ends waits for requests at work in it, and
 * would not wait for one that holds nothing but a file.
 *
 * Return: 0, and the state is to be put by rdmafsd_state_put(), and its export after it
 * by rdmafsd_export_put(); RFP_BADSTATE if there is no such open; or what
 * rdmafsd_export_missing() says if its export is ending.
 */
int rdmafsd_state_get(struct rdmafsd_session *ses, u64 id, struct rdmafsd_state **state)
{
	struct rdmafsd_state *st;
	int err = 0;

	rcu_read_lock();
	st = xa_load(&ses->states, lower_32_bits(id));
	if (!st || st->id != id) {
		err = RFP_BADSTATE;
	} else if (!percpu_ref_tryget_live(&st->exp->inflight)) {
		err = rdmafsd_export_missing(st->exp->p.id);
	} else if (!refcount_inc_not_zero(&st->refs)) {
		percpu_ref_put(&st->exp->inflight);
		err = RFP_BADSTATE;
	}
	rcu_read_unlock();
	if (!err)
		*state = st;
	return err;
}

/**
 * rdmafsd_state_domain - the file system of the open that a stateid names
 * @ses: the client's session
 * @id:	 the stateid, from the wire
 *
 * Any context that may take no lock that sleeps.
 *
 * Return: a number for it, or 0: there is no such open.  Also while its export ends: a
 * CLOSE does its work then, too.
 */
u64 rdmafsd_state_domain(struct rdmafsd_session *ses, u64 id)
{
	struct rdmafsd_state *st;
	u64 domain;

	rcu_read_lock();
	st = xa_load(&ses->states, lower_32_bits(id));
	domain = st && st->id == id ? st->exp->domain : 0;
	rcu_read_unlock();
	return domain;
}

/**
 * rdmafsd_state_put - be done with a state; the last one closes the file
 * @st: the state; process context, with nothing of the VFS locked
 */
void rdmafsd_state_put(struct rdmafsd_state *st)
{
	if (!refcount_dec_and_test(&st->refs))
		return;
	rdmafs_test_point("state_close", file_inode(st->file)->i_ino);
	rdmafsd_file_close(st->file);
	rdmafsd_claim_put(st->exp, st->claim, !st->closed);
	if (atomic_dec_and_test(&st->exp->nr_states))
		wake_up_var(&st->exp->nr_states);
	rdmafsd_export_free(st->exp);
	kfree_rcu(st, rcu);
}

/**
 * rdmafsd_state_remove - take a state out of its session's table
 * @ses: the session
 * @st:	 the state
 *
 * Return: whether the caller did, and now owns the table's reference.
 */
bool rdmafsd_state_remove(struct rdmafsd_session *ses, struct rdmafsd_state *st)
{
	return xa_cmpxchg(&ses->states, lower_32_bits(st->id), st, NULL, 0) == st;
}

/**
 * rdmafsd_state_close - a client closes a file, or does not learn that it is open
 * @ses:    the session of a request
 * @id:	    the stateid, from the wire
 * @closed: the client will not come back for it
 *
 * Also while its export ends, which waits for what still has a file open: a client takes
 * whatever it is told for the end of its open.
 *
 * Context: process, with nothing of the VFS locked.
 * Return: false if there is no such open.
 */
bool rdmafsd_state_close(struct rdmafsd_session *ses, u64 id, bool closed)
{
	struct rdmafsd_state *st;
	bool removed;

	rcu_read_lock();
	st = xa_load(&ses->states, lower_32_bits(id));
	if (st && (st->id != id || !refcount_inc_not_zero(&st->refs)))
		st = NULL;
	rcu_read_unlock();
	if (!st)
		return false;
	removed = rdmafsd_state_remove(ses, st);
	if (removed) {
		WRITE_ONCE(st->closed, closed);
		rdmafsd_state_put(st);
	}
	/* The file closes with the last request at work with it. */
	rdmafsd_state_put(st);
	return removed;
}

/**
 * rdmafsd_states_close - close a client's files
 * @ses: the client's session, kept from going away by the caller
 * @exp: those of one export; NULL for all
 *
 * No request is at work in the export, or none of the session's.
 */
void rdmafsd_states_close(struct rdmafsd_session *ses, struct rdmafsd_export *exp)
{
	struct rdmafsd_state *st;
	unsigned long index;

	/*
	 * xa_for_each() takes no lock between its steps.  A state of another
	 * export may be closed, and freed, meanwhile: so hold on to it before
	 * it is looked at.
	 */
	for (index = 0;; index++) {
		rcu_read_lock();
		st = xa_find(&ses->states, &index, ULONG_MAX, XA_PRESENT);
		if (!st) {
			rcu_read_unlock();
			break;
		}
		if ((exp && st->exp != exp) || !refcount_inc_not_zero(&st->refs)) {
			rcu_read_unlock();
			continue;
		}
		rcu_read_unlock();
		if (rdmafsd_cut_off(ses, st))
			rdmafsd_state_put(st);
		rdmafsd_state_put(st);
	}
}

/**
 * rdmafsd_states_export - where a client has files open
 * @ses:   the client's session, kept from going away by the caller
 * @index: where to begin in its table; moves on
 *
 * Return: the export of the next state, its memory held: rdmafsd_export_free(); or NULL.
 */
struct rdmafsd_export *rdmafsd_states_export(struct rdmafsd_session *ses, unsigned long *index)
{
	struct rdmafsd_export *exp = NULL;
	struct rdmafsd_state *st;

	rcu_read_lock();
	while (!exp && (st = xa_find(&ses->states, index, ULONG_MAX, XA_PRESENT))) {
		/* Gone with its last state, if that has just been closed. */
		if (refcount_inc_not_zero(&st->exp->refs))
			exp = st->exp;
		++*index;
	}
	rcu_read_unlock();
	return exp;
}
