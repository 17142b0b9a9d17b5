// SPDX-License-Identifier: GPL-2.0
/*
 * Tell whether a program is at its end, so that no task will use its memory any more.
 *
 * A program is all tasks that share one memory (mm): its threads, and processes that were made with
 * CLONE_VM, or by vfork(2) and have not called execve(2) yet.  A request that one task has begun
 * goes on in that memory after the task has ended.  And execve(2) ends the memory, but not the
 * task.
 */
#include <linux/hash.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include "client.h"
#include "transport/points.h"

/* A program that was found alive is taken to be alive for this many jiffies. */
#define RDMAFS_PROGRAM_LIVES	(HZ / 2)
#define RDMAFS_PROGRAM_BITS	4

/*
 * Programs that were found alive, by hash of their memory, and when.  This spares looking at every
 * task for each question: a user may have cancelled as many requests as libaio allows, and each of
 * them asks twice a second.
 */
static struct {
	const struct mm_struct *mm;	/* compared only: it may be freed, or another program's */
	unsigned long when;
} rdmafs_alive[1 << RDMAFS_PROGRAM_BITS];
static DEFINE_SPINLOCK(rdmafs_alive_lock);	/* a leaf */

static bool rdmafs_program_alive(const struct mm_struct *mm)
{
	unsigned int i = hash_ptr(mm, RDMAFS_PROGRAM_BITS);
	bool alive;

	spin_lock(&rdmafs_alive_lock);
	alive = rdmafs_alive[i].mm == mm && jiffies - rdmafs_alive[i].when < RDMAFS_PROGRAM_LIVES;
	spin_unlock(&rdmafs_alive_lock);
	return alive;
}

static void rdmafs_program_note(const struct mm_struct *mm, unsigned long when)
{
	unsigned int i = hash_ptr(mm, RDMAFS_PROGRAM_BITS);

	spin_lock(&rdmafs_alive_lock);
	rdmafs_alive[i].mm = mm;
	rdmafs_alive[i].when = when;
	spin_unlock(&rdmafs_alive_lock);
}

/* Does the process use @mm?  As the OOM killer does, ask a thread that has not exited yet. */
static bool rdmafs_process_has(struct task_struct *p, const struct mm_struct *mm)
{
	struct task_struct *t;

	for_each_thread(p, t) {
		const struct mm_struct *its = READ_ONCE(t->mm);

		if (its)
			return its == mm;
	}
	return false;
}

/**
 * rdmafs_program_over - tell whether no task will use a memory any more
 * @mm: the memory; the caller has taken a reference by mmgrab()
 *
 * It is over when every task that has it has been killed or is exiting.  Kernel threads that borrow
 * it do not count.  The answer may come half a second late, but never too early.
 *
 * Context: process, does not sleep; takes rdmafs_alive_lock.
 * Return: true if so.
 */
bool rdmafs_program_over(struct mm_struct *mm)
{
	unsigned long when = jiffies;
	struct task_struct *p;
	bool over = true;

	rdmafs_test_point("program_ask", 0);
	if (!atomic_read(&mm->mm_users))
		return true;
	if (rdmafs_program_alive(mm))
		return false;
	rdmafs_test_point("program_look", 0);
	rcu_read_lock();
	for_each_process(p) {
		if ((p->flags & PF_KTHREAD) || !rdmafs_process_has(p, mm))
			continue;
		/* A process with one thread may end by exit(2), which does not set the flag. */
		if (!(READ_ONCE(p->signal->flags) & SIGNAL_GROUP_EXIT) &&
		    !(thread_group_empty(p) && (p->flags & PF_EXITING))) {
			over = false;
			break;
		}
	}
	rcu_read_unlock();
	if (!over)
		rdmafs_program_note(mm, when);
	return over;
}
