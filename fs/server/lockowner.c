// SPDX-License-Identifier: GPL-2.0
/*
 * Owners of locks of files, and how many locks there may be.
 *
 * An owner of the VFS's locks is a &struct rdmafsd_owner here: what a client has named by a number.
 * Each lock of the VFS holds a reference to its owner, so the number of these references is the
 * number of locks, which is bounded for a session, for all sessions of one client, and for all
 * clients together.
 *
 * A process of this machine that looks at a lock (F_GETLK) has a copy for a moment, which keeps
 * the owner, perhaps until after the session has ended.  The owner keeps the session's memory then,
 * and rdmafsd_exit() waits for it.
 */
#include <linux/atomic.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "filelock.h"

/* Locks of one session, each a struct file_lock of the VFS; and its locks that wait. */
#define RDMAFSD_SESSION_LOCKS	16384
#define RDMAFSD_SESSION_WAITS	1024

/* The same of one client; but no more locks than one in so many of all. */
#define RDMAFSD_CLIENT_LOCKS	65536
#define RDMAFSD_CLIENT_WAITS	4096
#define RDMAFSD_CLIENT_PART	4

/* Threads that wait for locks by flock(2) in the VFS's queue (lockwait.c); those of one client. */
#define RDMAFSD_SLEEPERS	64
#define RDMAFSD_CLIENT_SLEEPERS	16

/* Memory that a lock takes, with an owner of its own; and one that waits. */
#define RDMAFSD_LOCK_BYTES	256
#define RDMAFSD_WAIT_BYTES	1024

/* All locks may take one part in so many of memory, and so may all that wait. */
#define RDMAFSD_LOCKS_PART	64

/* The limits, constant once the module is loaded. */
static u32 rdmafsd_locks_max;
static u32 rdmafsd_locks_client_max;
static u32 rdmafsd_waits_max;

static atomic_t rdmafsd_nr_locks;		/* sum of rdmafsd_session.nr_locks */
static atomic_t rdmafsd_nr_waits;		/* sum of rdmafsd_session.nr_waits */
static atomic_t rdmafsd_nr_sleepers;		/* sum of rdmafsd_client.nr_sleepers */
static atomic64_t rdmafsd_locks_refused;

static atomic_t rdmafsd_nr_owners;		/* rdmafsd_owners_exit() waits until it is 0 */
/* Secret, so that no client can choose numbers that share a chain. */
static siphash_key_t rdmafsd_owners_key;

/* ------------------------------------------------------------------ owners */

static struct hlist_head *rdmafsd_owner_chain(struct rdmafsd_session *ses, u64 id)
{
	u64 hash = siphash_1u64(id, &rdmafsd_owners_key);

	return &ses->owners[hash % ARRAY_SIZE(ses->owners)];
}

static struct rdmafsd_owner *rdmafsd_owner_lookup(struct rdmafsd_session *ses, u64 id)
{
	struct rdmafsd_owner *owner;

	lockdep_assert_held(&ses->locks_lock);
	hlist_for_each_entry(owner, rdmafsd_owner_chain(ses, id), link)
		if (owner->id == id && refcount_inc_not_zero(&owner->refs))
			return owner;
	return NULL;
}

/**
 * rdmafsd_owner_find - find the owner that a client names
 * @ses: the client's session
 * @id:  the name, from the wire
 *
 * Context: process; takes the session's locks_lock.
 * Return: the owner, to be put by rdmafsd_owner_put(); NULL: the client has no lock of this owner,
 * nor waits for one.
 */
struct rdmafsd_owner *rdmafsd_owner_find(struct rdmafsd_session *ses, u64 id)
{
	struct rdmafsd_owner *owner;

	spin_lock(&ses->locks_lock);
	owner = rdmafsd_owner_lookup(ses, id);
	spin_unlock(&ses->locks_lock);
	return owner;
}

/**
 * rdmafsd_owner_get - find or make the owner that a client names
 * @ses: the client's session
 * @id:  the name, from the wire
 *
 * Context: process, may sleep; takes the session's locks_lock.
 * Return: the owner, to be put by rdmafsd_owner_put(); NULL: there is no memory.
 */
struct rdmafsd_owner *rdmafsd_owner_get(struct rdmafsd_session *ses, u64 id)
{
	struct rdmafsd_owner *owner = rdmafsd_owner_find(ses, id), *new;

	if (owner)
		return owner;
	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return NULL;
	new->id = id;
	refcount_set(&new->refs, 1);
	spin_lock(&ses->locks_lock);
	owner = rdmafsd_owner_lookup(ses, id);
	if (!owner) {
		new->ses = ses;
		refcount_inc(&ses->refs);
		atomic_inc(&rdmafsd_nr_owners);
		hlist_add_head(&new->link, rdmafsd_owner_chain(ses, id));
		owner = new;
		new = NULL;
	}
	spin_unlock(&ses->locks_lock);
	kfree(new);
	return owner;
}

/**
 * rdmafsd_owner_put - drop a reference to an owner
 * @owner: the owner
 *
 * Context: process, may sleep; takes the session's locks_lock, and the lock of clients if this was
 * all that kept the session's memory.
 */
void rdmafsd_owner_put(struct rdmafsd_owner *owner)
{
	struct rdmafsd_session *ses = owner->ses;

	if (!refcount_dec_and_test(&owner->refs))
		return;
	spin_lock(&ses->locks_lock);
	hlist_del(&owner->link);
	spin_unlock(&ses->locks_lock);
	kfree(owner);
	rdmafsd_session_put(ses);
	/* The last step: nothing of the module but this function's end is run after it. */
	if (atomic_dec_and_test(&rdmafsd_nr_owners))
		wake_up_var(&rdmafsd_nr_owners);
}

/**
 * rdmafsd_lm_get_owner - count a lock of the VFS, or a copy of one
 * @who: its owner
 *
 * Context: any but interrupt; called by the VFS under its spin locks.
 * Return: @who.
 */
fl_owner_t rdmafsd_lm_get_owner(fl_owner_t who)
{
	struct rdmafsd_owner *owner = who;

	atomic_inc(&rdmafsd_nr_locks);
	atomic_inc(&owner->ses->client->nr_locks);
	atomic_inc(&owner->ses->nr_locks);
	refcount_inc(&owner->refs);
	return who;
}

/**
 * rdmafsd_lm_put_owner - undo rdmafsd_lm_get_owner()
 * @who: the owner
 *
 * Context: process, may sleep; called by the VFS when it frees a lock, with none of its locks held.
 */
void rdmafsd_lm_put_owner(fl_owner_t who)
{
	struct rdmafsd_owner *owner = who;

	atomic_dec(&owner->ses->nr_locks);
	atomic_dec(&owner->ses->client->nr_locks);
	atomic_dec(&rdmafsd_nr_locks);
	rdmafsd_owner_put(owner);
}

/* ------------------------------------------------------------------ limits */

/**
 * rdmafsd_locks_room - tell whether a session may have one more lock
 * @ses:   the session
 * @times: so many times the limits count
 *
 * Requests that are at work at the same time may all be told so, so that a limit may be exceeded by
 * as many as there are threads.
 *
 * Context: any.
 * Return: true if so.
 */
bool rdmafsd_locks_room(const struct rdmafsd_session *ses, u32 times)
{
	if (atomic_read(&ses->nr_locks) < times * RDMAFSD_SESSION_LOCKS &&
	    atomic_read(&ses->client->nr_locks) < times * rdmafsd_locks_client_max &&
	    atomic_read(&rdmafsd_nr_locks) < times * rdmafsd_locks_max)
		return true;
	atomic64_inc(&rdmafsd_locks_refused);
	return false;
}

/**
 * rdmafsd_waits_charge - count a lock that waits
 * @ses: its session
 *
 * Context: any.
 * Return: true: it is counted; false: there are too many.
 */
bool rdmafsd_waits_charge(struct rdmafsd_session *ses)
{
	if (!atomic_add_unless(&ses->nr_waits, 1, RDMAFSD_SESSION_WAITS))
		goto out;
	if (!atomic_add_unless(&ses->client->nr_waits, 1, RDMAFSD_CLIENT_WAITS))
		goto out_session;
	if (atomic_add_unless(&rdmafsd_nr_waits, 1, rdmafsd_waits_max))
		return true;
	atomic_dec(&ses->client->nr_waits);
out_session:
	atomic_dec(&ses->nr_waits);
out:
	atomic64_inc(&rdmafsd_locks_refused);
	return false;
}

/**
 * rdmafsd_waits_uncharge - stop counting a lock that waits
 * @ses: its session, which may end as soon as it has no such lock; the caller keeps its memory
 *
 * Context: any.
 */
void rdmafsd_waits_uncharge(struct rdmafsd_session *ses)
{
	atomic_dec(&rdmafsd_nr_waits);
	atomic_dec(&ses->client->nr_waits);
	if (atomic_dec_and_test(&ses->nr_waits))
		wake_up_var(&ses->nr_waits);
}

/**
 * rdmafsd_sleepers_charge - count a thread that is to wait for a lock
 * @client: for which client
 *
 * Context: any.
 * Return: true: it is counted; false: there are too many.
 */
bool rdmafsd_sleepers_charge(struct rdmafsd_client *client)
{
	if (!atomic_add_unless(&client->nr_sleepers, 1, RDMAFSD_CLIENT_SLEEPERS))
		return false;
	if (atomic_add_unless(&rdmafsd_nr_sleepers, 1, RDMAFSD_SLEEPERS))
		return true;
	atomic_dec(&client->nr_sleepers);
	return false;
}

/**
 * rdmafsd_sleepers_uncharge - stop counting a thread, which has ended
 * @client: for which client it has waited
 *
 * Context: any.
 */
void rdmafsd_sleepers_uncharge(struct rdmafsd_client *client)
{
	atomic_dec(&rdmafsd_nr_sleepers);
	atomic_dec(&client->nr_sleepers);
}

/**
 * rdmafsd_locks_show - write the number of locks, and their limits, to /proc
 * @m: the file limits of a port; the figures are those of all ports together
 *
 * Context: process.
 */
void rdmafsd_locks_show(struct seq_file *m)
{
	seq_printf(m, "locks %u\nmax_locks %u\nmax_locks_client %u\nsession_locks %u\n",
		   atomic_read(&rdmafsd_nr_locks), rdmafsd_locks_max, rdmafsd_locks_client_max,
		   RDMAFSD_SESSION_LOCKS);
	seq_printf(m, "lock_waits %u\nmax_lock_waits %u\nmax_lock_waits_client %u\n",
		   atomic_read(&rdmafsd_nr_waits), rdmafsd_waits_max, RDMAFSD_CLIENT_WAITS);
	seq_printf(m, "session_lock_waits %u\nrefused_locks %lld\n", RDMAFSD_SESSION_WAITS,
		   atomic64_read(&rdmafsd_locks_refused));
	seq_printf(m, "lock_threads %u\nmax_lock_threads %u\nmax_lock_threads_client %u\n",
		   atomic_read(&rdmafsd_nr_sleepers), RDMAFSD_SLEEPERS, RDMAFSD_CLIENT_SLEEPERS);
}

static u32 rdmafsd_locks_part(u32 bytes, u32 least)
{
	u64 memory = (u64)totalram_pages() << PAGE_SHIFT;

	return clamp_t(u64, memory / RDMAFSD_LOCKS_PART / bytes, least, INT_MAX / 4);
}

/**
 * rdmafsd_owners_init - set the limits, and choose the key of the tables of owners
 *
 * Two sessions of a client may have all of their locks, however little memory there is.
 *
 * Context: process, before there are sessions.
 */
void rdmafsd_owners_init(void)
{
	rdmafsd_locks_max = rdmafsd_locks_part(RDMAFSD_LOCK_BYTES, RDMAFSD_CLIENT_LOCKS);
	rdmafsd_locks_client_max = clamp(rdmafsd_locks_max / RDMAFSD_CLIENT_PART,
					 2 * RDMAFSD_SESSION_LOCKS, RDMAFSD_CLIENT_LOCKS);
	rdmafsd_waits_max = rdmafsd_locks_part(RDMAFSD_WAIT_BYTES, 2 * RDMAFSD_CLIENT_WAITS);
	get_random_bytes(&rdmafsd_owners_key, sizeof(rdmafsd_owners_key));
}

/**
 * rdmafsd_owners_exit - wait until the VFS has no lock of an owner, and no copy of one
 *
 * A process that frees its copy may just be running the end of rdmafsd_owner_put(), which must not
 * be unloaded under it.  It does not sleep there, so it has left the module when all tasks have
 * gone through a voluntary switch.
 *
 * Context: process, may sleep; there are no sessions.
 */
void rdmafsd_owners_exit(void)
{
	wait_var_event(&rdmafsd_nr_owners, !atomic_read(&rdmafsd_nr_owners));
	synchronize_rcu_tasks();
}
