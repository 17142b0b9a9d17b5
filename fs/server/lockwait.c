// SPDX-License-Identifier: GPL-2.0
/*
 * Locks of clients that wait: when each of them is tried again (filelock.c tries them).
 *
 * For those by fcntl(2) the VFS says when: they are in its queue, as local processes are.
 *
 * By flock(2) only a task that sleeps meanwhile can be in that queue.  A lock that local processes
 * hand to each other is hardly ever found free by a waiter that is not in it: each unlock wakes the
 * next of the queue.  So a thread (rdmafsd_sleeper()) waits there for a client's lock if a process
 * of this machine, or another lock manager, has what is in the way.  The lock that the thread gets
 * is the open's, and the try that follows finds it there.  While only clients are in the way there
 * is no need of that: rdmafsd_locks_kick() has the first of those that wait tried when a client
 * gives its lock back.
 *
 * There are few threads: for each file one for those that wait to write to it, and one for those
 * that wait to read it; and only so many for one client, and for all (lockowner.c).  A lock that
 * gets none is tried again after pauses, in which local processes may be quicker, and asks for a
 * thread each time.
 *
 * kthread_stop() ends the sleep of such a thread, which waits for nothing else.  So the task that
 * ends the wait for a lock waits for the thread just until it has left the queue.
 *
 * Locks: rdmafsd_lock.mutex; in it rdmafsd_polled.lock, and the VFS's.  The threads take those of
 * the VFS only.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/filelock.h>
#include <linux/hash.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/sched/task.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "filelock.h"

/* Each pause is twice the one before, until there were so many. */
#define RDMAFSD_LOCK_PAUSES	6

struct workqueue_struct *rdmafsd_lock_wq;

#define RDMAFSD_POLLED_BITS	8	/* log2 of the number of chains */

/**
 * struct rdmafsd_polled - locks by flock(2) that wait, of the files of one hash of the inode
 * @lock:    guards the lists, and rdmafsd_lock.sleeps of those in them; under it no lock is taken
 *	     but those of workqueues
 * @waiters: &struct rdmafsd_lock: those that wait to read; to write.  The first waits longest
 */
static struct rdmafsd_polled {
	spinlock_t lock;	/* @waiters */
	struct list_head waiters[2];
} rdmafsd_polled[1 << RDMAFSD_POLLED_BITS];

static struct rdmafsd_polled *rdmafsd_polled_of(const struct inode *inode)
{
	return &rdmafsd_polled[hash_ptr(inode, RDMAFSD_POLLED_BITS)];
}

static struct list_head *rdmafsd_polled_list(struct rdmafsd_polled *p,
					     const struct rdmafsd_lock *lk)
{
	return &p->waiters[lk->fl.c.flc_type == F_WRLCK];
}

/**
 * rdmafsd_locks_kick - a lock by flock(2) may have gone: have those tried again that wait for it
 * @inode: the file, compared by address only
 *
 * Only the first of those that wait to write is tried, and the first of those that wait to read.
 * When one of them waits no more the next is tried (rdmafsd_polled_del()).
 *
 * Context: any but interrupt; takes the lock of a chain of those that wait.
 */
void rdmafsd_locks_kick(const struct inode *inode)
{
	struct rdmafsd_polled *p = rdmafsd_polled_of(inode);
	struct rdmafsd_lock *lk;
	size_t i;

	/* A lock that comes later is tried after what the caller has given back was free. */
	if (list_empty_careful(&p->waiters[0]) && list_empty_careful(&p->waiters[1]))
		return;
	spin_lock(&p->lock);
	for (i = 0; i < ARRAY_SIZE(p->waiters); i++) {
		list_for_each_entry(lk, &p->waiters[i], polled) {
			if (file_inode(lk->st->file) == inode) {
				mod_delayed_work(rdmafsd_lock_wq, &lk->work, 0);
				break;
			}
		}
	}
	spin_unlock(&p->lock);
}

/**
 * rdmafsd_polled_add - have rdmafsd_locks_kick() find a lock by flock(2)
 * @lk: the lock, which is to be tried after this, so that none that goes meanwhile is missed
 *
 * Context: process; its @mutex is held.
 */
void rdmafsd_polled_add(struct rdmafsd_lock *lk)
{
	struct rdmafsd_polled *p = rdmafsd_polled_of(file_inode(lk->st->file));

	lockdep_assert_held(&lk->mutex);
	spin_lock(&p->lock);
	if (list_empty(&lk->polled))
		list_add_tail(&lk->polled, rdmafsd_polled_list(p, lk));
	spin_unlock(&p->lock);
}

/**
 * rdmafsd_polled_del - a lock waits no more, if it did: it is the turn of the next
 * @lk: the lock, which no thread sleeps for
 *
 * Context: process.
 */
void rdmafsd_polled_del(struct rdmafsd_lock *lk)
{
	const struct inode *inode = file_inode(lk->st->file);
	struct rdmafsd_polled *p = rdmafsd_polled_of(inode);
	bool was;

	if (!(lk->fl.c.flc_flags & FL_FLOCK))
		return;
	spin_lock(&p->lock);
	was = !list_empty(&lk->polled);
	list_del_init(&lk->polled);
	spin_unlock(&p->lock);
	if (was)
		rdmafsd_locks_kick(inode);
}

/**
 * rdmafsd_lock_pause - try a lock again after a pause
 * @lk: the lock
 *
 * Context: process; its @mutex is held.
 */
void rdmafsd_lock_pause(struct rdmafsd_lock *lk)
{
	unsigned int n;

	lockdep_assert_held(&lk->mutex);
	n = min(lk->tries++, RDMAFSD_LOCK_PAUSES);
	queue_delayed_work(rdmafsd_lock_wq, &lk->work, RDMAFSD_LOCK_PAUSE << n);
}

/* ----------------------------------------------------------- threads that sleep */

/* Is a lock of the VFS in the way of another open's?  Both are locks by flock(2). */
static bool rdmafsd_flock_excludes(const struct file_lock *fl, const struct rdmafsd_lock *lk)
{
	if (fl->c.flc_file == lk->fl.c.flc_file)
		return false;
	return fl->c.flc_type == F_WRLCK || lk->fl.c.flc_type == F_WRLCK;
}

/*
 * Is a lock in the way that goes without a kick?  Also true if there is none any more: a thread
 * gets it at once then.
 */
static bool rdmafsd_flock_unkicked(const struct rdmafsd_lock *lk)
{
	struct file_lock_context *ctx = locks_inode_context(file_inode(lk->st->file));
	bool clients = false, others = false;
	struct file_lock *fl;

	if (!ctx)
		return true;
	spin_lock(&ctx->flc_lock);
	list_for_each_entry(fl, &ctx->flc_flock, c.flc_list) {
		if (!rdmafsd_flock_excludes(fl, lk))
			continue;
		clients = true;
		others = fl->fl_lmops != lk->fl.fl_lmops;
		if (others)
			break;
	}
	spin_unlock(&ctx->flc_lock);
	return others || !clients;
}

/* May a thread sleep for this lock, or does one for another lock of that file and type? */
static bool rdmafsd_sleep_enter(struct rdmafsd_lock *lk)
{
	const struct inode *inode = file_inode(lk->st->file);
	struct rdmafsd_polled *p = rdmafsd_polled_of(inode);
	struct rdmafsd_lock *other;
	bool free = true;

	if (!rdmafsd_sleepers_charge(lk->ses->client))
		return false;
	spin_lock(&p->lock);
	list_for_each_entry(other, rdmafsd_polled_list(p, lk), polled) {
		if (other->sleeps && file_inode(other->st->file) == inode) {
			free = false;
			break;
		}
	}
	lk->sleeps = free;
	spin_unlock(&p->lock);
	if (!free)
		rdmafsd_sleepers_uncharge(lk->ses->client);
	return free;
}

static void rdmafsd_sleep_leave(struct rdmafsd_lock *lk)
{
	struct rdmafsd_polled *p = rdmafsd_polled_of(file_inode(lk->st->file));

	spin_lock(&p->lock);
	lk->sleeps = false;
	spin_unlock(&p->lock);
	rdmafsd_sleepers_uncharge(lk->ses->client);
}

/* The thread: 0 if it has got the lock, or a negative errno. */
static int rdmafsd_sleeper(void *data)
{
	struct rdmafsd_lock *lk = data;
	struct file_lock fl;
	int err;

	/* Tries use lk->fl meanwhile, of which these are constant. */
	locks_init_lock(&fl);
	fl.c.flc_type = lk->fl.c.flc_type;
	fl.c.flc_flags = FL_FLOCK | FL_SLEEP;
	fl.c.flc_owner = lk->fl.c.flc_owner;
	fl.c.flc_file = lk->fl.c.flc_file;
	fl.c.flc_pid = lk->fl.c.flc_pid;
	fl.fl_end = OFFSET_MAX;
	fl.fl_lmops = lk->fl.fl_lmops;
	err = locks_lock_file_wait(fl.c.flc_file, &fl);
	/* The work sees this, or runs once more. */
	WRITE_ONCE(lk->slept, true);
	mod_delayed_work(rdmafsd_lock_wq, &lk->work, 0);
	return err;
}

/**
 * rdmafsd_sleeper_begin - have a thread wait for a lock by flock(2), in the VFS's queue
 * @lk: the lock, for which there is no thread, and which others have
 *
 * When the thread has got the lock, or an error, it has the lock tried again.
 *
 * Context: process, may sleep; its @mutex is held.
 * Return: true; false: a kick will come instead, or there are too many threads, or no memory.
 */
bool rdmafsd_sleeper_begin(struct rdmafsd_lock *lk)
{
	struct task_struct *task;

	lockdep_assert_held(&lk->mutex);
	if (!rdmafsd_flock_unkicked(lk) || !rdmafsd_sleep_enter(lk))
		return false;
	lk->slept = false;
	task = kthread_create(rdmafsd_sleeper, lk, "rdmafsd_flock");
	if (IS_ERR(task)) {
		rdmafsd_sleep_leave(lk);
		return false;
	}
	/* It may end by itself before it is stopped. */
	lk->sleeper = get_task_struct(task);
	wake_up_process(task);
	return true;
}

/**
 * rdmafsd_sleeper_end - end the thread that waits for a lock, if there is one
 * @lk: the lock
 *
 * Context: process, may sleep, but waits for no other lock; its @mutex is held.
 * Return: true: the thread has got the lock, which is the caller's to keep or to give back.
 */
bool rdmafsd_sleeper_end(struct rdmafsd_lock *lk)
{
	bool got;

	lockdep_assert_held(&lk->mutex);
	if (!lk->sleeper)
		return false;
	got = !kthread_stop_put(lk->sleeper);
	lk->sleeper = NULL;
	rdmafsd_sleep_leave(lk);
	return got;
}

/* --------------------------------------------------------------------- setup */

/**
 * rdmafsd_lockwait_init - make the queue that tries locks again
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rdmafsd_lockwait_init(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rdmafsd_polled); i++) {
		spin_lock_init(&rdmafsd_polled[i].lock);
		INIT_LIST_HEAD(&rdmafsd_polled[i].waiters[0]);
		INIT_LIST_HEAD(&rdmafsd_polled[i].waiters[1]);
	}
	rdmafsd_lock_wq = alloc_workqueue("rdmafsd_lock", WQ_UNBOUND | WQ_MEM_RECLAIM,
					  WQ_UNBOUND_MAX_ACTIVE);
	return rdmafsd_lock_wq ? 0 : -ENOMEM;
}

/**
 * rdmafsd_lockwait_exit - undo rdmafsd_lockwait_init(), once no lock waits
 *
 * Context: process, may sleep.
 */
void rdmafsd_lockwait_exit(void)
{
	destroy_workqueue(rdmafsd_lock_wq);
}
