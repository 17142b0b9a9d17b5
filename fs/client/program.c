// SPDX-License-Identifier: GPL-2.0
/*
 * Is a program at its end?
 *
 * A program is what has a memory in common: its threads, and processes that were made with
 * CLONE_VM, or by vfork(2) and have not called execve(2) yet.  What another one of them has
 * begun goes on in that memory when he has ended, and execve(2) ends the memory, not the task.
 */
#include <linux/hash.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include "client.h"
#include "transport/points.h"

/* A program that lived less than so long ago is taken to live yet. */
#define RDMAFS_PROGRAM_LIVES	(HZ / 2)
#define RDMAFS_PROGRAM_BITS	4

/*
 * Programs that were found alive, by hash of their memory, and when.  A user may have called off
 * as many requests as libaio gives him, and each of them asks twice a second; to answer takes a
 * look at every task.
 */
static struct {
	const struct mm_struct *mm;	/* compared only: it may be gone, or another one's */
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

/* As the OOM killer has it: a thread that has exited tells nothing. */
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
 * rdmafs_program_over - will nobody use this memory any more?
 * @mm: the memory; the caller has mmgrab()bed it
 *
 * All who have it have been killed, or are exiting.  Threads of the kernel's that borrow it do
 * not count.  That is said half a second late at most, and never before it is so.
 *
 * Context: process.
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
		/* Who has one thread may exit by exit(2), which sets no flag of the group. */
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
