// SPDX-License-Identifier: GPL-2.0
/*
 * Open state.
 *
 * A stateid names a struct file that was opened for a client after the client's permissions were
 * checked.  From then on the server does not check them again, whatever happens to the file's
 * mode or name: POSIX wants that of an open file, and the client's writeback needs it.  The low
 * half of a stateid is an index into the session's table.  The high half is random, so that a
 * stateid of an earlier open does not fit the next open with that index, and can't be guessed.
 *
 * CLOSE, the end of a session and the end of an export each remove a state from the table, and
 * may meet at the same state.  The task that takes the state out of the table owns the table's
 * reference.
 *
 * Writeback errors: the kernel reports an error once to each struct file, and forgets it when
 * the inode leaves memory.  So the server remembers which error the export has seen last, for as
 * long as a client has the file open or may open it again (rdmafsd_claim_check_wb()).
 */
#include <linux/file.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "transport/points.h"
#include "server.h"
#include "opened.h"

/**
 * rdmafsd_file_close - close a file before returning
 * @file: the file; the caller's reference goes
 *
 * fput() of a kthread leaves the work to a queue that nothing bounds, but an export that ends
 * must know that its files are closed.
 *
 * Context: process, may sleep.  The caller holds no lock that the file's ->release() may take.
 */
void rdmafsd_file_close(struct file *file)
{
	get_file(file);
	filp_close(file, NULL);
	__fput_sync(file);
}

/**
 * rdmafsd_state_add - give an open file a stateid
 * @ses:   the client's session
 * @exp:   the export, with @inflight held by the request
 * @file:  the file; on success it belongs to the state
 * @claim: the claim of the open; on success it belongs to the state
 * @id:    gets the stateid
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM; also -EBUSY if the table has no free index.
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

	/* Reserve the index first, and store the state when it is complete. */
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
	/* This can't fail: the reserved entry has its memory. */
	xa_store(&ses->states, index, st, GFP_KERNEL_ACCOUNT);
	return 0;
}

/**
 * rdmafsd_state_get - find the open that a stateid names, and enter its export
 * @ses:   the client's session
 * @id:    the stateid, from the wire
 * @state: gets the state, on success
 *
 * The export's @inflight is raised before the state's @refs: an export that ends waits for the
 * requests that @inflight counts, and would not wait for a request that holds only a file.
 *
 * Context: process, does not sleep.
 * Return: 0: the caller is to put the state by rdmafsd_state_put(), and after it the state's
 * export by rdmafsd_export_put(); RFP_BADSTATE if there is no such open; or the return value of
 * rdmafsd_export_missing() if its export is ending.
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
		err = rdmafsd_export_missing(rdmafsd_export_known(st->exp));
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
 * rdmafsd_state_resource - find the file system of the open that a stateid names
 * @ses: the client's session
 * @id:  the stateid, from the wire
 *
 * Context: process, does not sleep.
 * Return: the number of the file system, also while the export ends, since a CLOSE blocks in the
 * file system then, too; 0: there is no such open.
 */
u64 rdmafsd_state_resource(struct rdmafsd_session *ses, u64 id)
{
	struct rdmafsd_state *st;
	u64 resource;

	rcu_read_lock();
	st = xa_load(&ses->states, lower_32_bits(id));
	resource = st && st->id == id ? st->exp->resource : 0;
	rcu_read_unlock();
	return resource;
}

/**
 * rdmafsd_state_put - drop a reference to a state, and close the file with the last one
 * @st: the state
 *
 * The last put also gives up the claim, and wakes the end of the export if this was the export's
 * last state.
 *
 * Context: process, may sleep.  No lock of the VFS is held.
 */
void rdmafsd_state_put(struct rdmafsd_state *st)
{
	const struct inode *inode = file_inode(st->file);
	bool flocks;

	if (!refcount_dec_and_test(&st->refs))
		return;
	rdmafs_test_point("state_close", inode->i_ino);
	flocks = rdmafsd_file_unlock(st->file);
	rdmafsd_file_close(st->file);
	if (flocks)
		rdmafsd_locks_kick(inode);
	rdmafsd_claim_put(st->exp, st->claim, !st->closed);
	if (atomic_dec_and_test(&st->exp->nr_states))
		wake_up_var(&st->exp->nr_states);
	rdmafsd_export_put_memory(st->exp);
	kfree_rcu(st, rcu);
}

/**
 * rdmafsd_state_remove - take a state out of its session's table
 * @ses: the session
 * @st:  the state, referenced
 *
 * Context: any but interrupt, does not sleep.
 * Return: true: the caller has taken it out, and owns the table's reference; false: another task
 * has.
 */
bool rdmafsd_state_remove(struct rdmafsd_session *ses, struct rdmafsd_state *st)
{
	return xa_cmpxchg(&ses->states, lower_32_bits(st->id), st, NULL, 0) == st;
}

/**
 * rdmafsd_state_close - take an open from a client, and close it when no request uses it
 * @ses:    the session of the request
 * @id:     the stateid, from the wire
 * @closed: the client will not open the file again for the claim of this open
 *
 * An open can be closed also while its export ends, which waits for tasks that still have a file
 * open.  To refuse it would not help: a client takes any answer to CLOSE for the end of its
 * open.
 *
 * Context: process, may sleep.  No lock of the VFS is held.
 * Return: true if this call has taken the open; false if there is no such open, or another task
 * has taken it.
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
	/* If requests are at work with the file, the last of them closes it. */
	rdmafsd_state_put(st);
	return removed;
}

/**
 * rdmafsd_states_close - close the files that a session has open
 * @ses: the session, kept from being freed by the caller
 * @exp: close the files of this export only; NULL: of all exports
 *
 * Context: process, may sleep.  Either no request is at work in @exp, or no request of the
 * session is at work.
 */
void rdmafsd_states_close(struct rdmafsd_session *ses, struct rdmafsd_export *exp)
{
	struct rdmafsd_state *st;
	unsigned long index;

	/*
	 * xa_for_each() takes no lock between its steps.  A state of another export may be
	 * closed and freed meanwhile, so take a reference before looking into the state.
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
 * rdmafsd_states_export - find the next export that a session has files open in
 * @ses:   the session, kept from being freed by the caller
 * @index: where to begin in the session's table; moves behind the state that was found
 *
 * Context: process, does not sleep.
 * Return: the export of the next state, its memory to be put by rdmafsd_export_put_memory(); NULL:
 * there are no more states.
 */
struct rdmafsd_export *rdmafsd_states_export(struct rdmafsd_session *ses, unsigned long *index)
{
	struct rdmafsd_export *exp = NULL;
	struct rdmafsd_state *st;

	rcu_read_lock();
	while (!exp && (st = xa_find(&ses->states, index, ULONG_MAX, XA_PRESENT))) {
		/*
		 * The memory may be gone: the last state of the export may have just been
		 * closed.
		 */
		if (refcount_inc_not_zero(&st->exp->refs))
			exp = st->exp;
		++*index;
	}
	rcu_read_unlock();
	return exp;
}
