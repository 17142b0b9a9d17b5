// SPDX-License-Identifier: GPL-2.0
/*
 * Is a program at its end?
 *
 * A program is what has a memory in common: its threads, and processes that were made with
 * CLONE_VM, or by vfork(2) and have not called execve(2) yet.  What another one of them has
 * begun goes on in that memory when he has ended, and execve(2) ends the memory, not the task.
 */
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include "client.h"

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
 * not count.
 *
 * Context: process.
 * Return: true if so.
 */
bool rdmafs_program_over(struct mm_struct *mm)
{
	struct task_struct *p;
	bool over = true;

	if (!atomic_read(&mm->mm_users))
		return true;
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
	return over;
}
