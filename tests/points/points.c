// SPDX-License-Identifier: GPL-2.0
/*
 * Test points (transport/points.h).  A test can hold threads at a named place of the code
 * until it releases them, so that an interleaving is certain and not a matter of luck.  It
 * can also make an operation at a named place fail.
 *
 * The parameter "points" takes one command with each write:
 *
 *	hold NAME [COUNT [KEY]]	the next COUNT (default 1) threads that reach the point are held
 *	fail NAME [COUNT [KEY]]	the next COUNT (default 1) operations at the point fail
 *	release NAME		threads held at the point go on, and no more are held or failed
 *	reset			release all points and set their counts to 0; nothing is counted
 *				until the next "hold" or "fail"
 *
 * With KEY, the point ignores threads that come with another key.  Reading the parameter
 * gives a line for each name that was ever in a command:
 *
 *	NAME arrived N held N failed N overdue N
 *
 * "arrived" counts threads while any point is armed.  "held" is the number of threads held
 * now.  "overdue" counts threads that went on because no test had released them within
 * bound_ms.  The events that the test wanted while a thread was held may not have come in this
 * case.  So the kernel log has a warning, and tests/guest/run, which reads the log, fails, unless
 * a test has set overdue_ok.
 *
 * All state is guarded by points_lock, which is taken with bottom halves off.  Threads that
 * are held sleep on points_wait.
 */
#include <linux/delay.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/wait.h>
#include "tests/points/points.h"
#include "transport/points.h"

#define POINT_NAME_MAX	32
#define POINTS_MAX	32	/* their lines fit in the page of a parameter */
#define POINT_SLICE_MS	300U

/**
 * struct point - a point that a command has named
 * @name:	its name; set once
 * @hold:	number of threads that are still to be held
 * @fail:	number of operations that are still to fail
 * @keyed:	only threads that come with @key count
 * @key:	that key, if @keyed
 * @arrived:	threads that came, while any point was armed
 * @held:	threads that are held now
 * @failed:	operations that were made to fail
 * @overdue:	threads that were held for longer than bound_ms
 * @released:	number of times that the point was released; a thread that is held goes on
 *		when this changes; read without the lock
 *
 * All fields are guarded by points_lock.
 */
struct point {
	char name[POINT_NAME_MAX];
	u32 hold;
	u32 fail;
	bool keyed;
	u64 key;
	u32 arrived;
	u32 held;
	u32 failed;
	u32 overdue;
	u32 released;
};

/* Points are never freed: a thread that is held has a pointer to its point. */
static struct point points[POINTS_MAX];
static u32 nr_points;
static DEFINE_SPINLOCK(points_lock);
static DECLARE_WAIT_QUEUE_HEAD(points_wait);

bool rdmafs_points_armed;
EXPORT_SYMBOL_GPL(rdmafs_points_armed);

static unsigned int bound_ms = 120000;
module_param(bound_ms, uint, 0600);
MODULE_PARM_DESC(bound_ms, "a thread is held for so many milliseconds at most");

static bool overdue_ok;
module_param(overdue_ok, bool, 0600);
MODULE_PARM_DESC(overdue_ok, "a test means to hold threads for longer than that");

struct rdmafs_test_knobs rdmafs_test_knobs;
EXPORT_SYMBOL_GPL(rdmafs_test_knobs);
module_param_named(map_us, rdmafs_test_knobs.map_us, uint, 0600);
MODULE_PARM_DESC(map_us, "mapping data takes so many microseconds longer");
module_param_named(map_page_us, rdmafs_test_knobs.map_page_us, uint, 0600);
MODULE_PARM_DESC(map_page_us, "and so many for each page");
module_param_named(service_us, rdmafs_test_knobs.service_us, uint, 0600);
MODULE_PARM_DESC(service_us, "serving a request takes so many microseconds longer");
module_param_named(version_up, rdmafs_test_knobs.version_up, uint, 0600);
MODULE_PARM_DESC(version_up, "clients offer a protocol version that is higher by this");

module_param_named(seq_before, rdmafs_test_knobs.seq_before, uint, 0600);
MODULE_PARM_DESC(seq_before, "slots of new sessions begin behind this sequence number");
module_param_named(grace_ms, rdmafs_test_knobs.grace_ms, uint, 0600);
MODULE_PARM_DESC(grace_ms, "the grace period of servers, if it is not the parameter's of rdmafs_xprt");
module_param_named(step_ms, rdmafs_test_knobs.step_ms, uint, 0600);
MODULE_PARM_DESC(step_ms, "each step of connecting again may take so long");
module_param_named(grant_idle_s, rdmafs_test_knobs.grant_idle_s, uint, 0600);
MODULE_PARM_DESC(grant_idle_s, "clients keep grants that they have no use for so many seconds");
module_param_named(queue_blocks, rdmafs_test_knobs.queue_blocks, uint, 0600);
MODULE_PARM_DESC(queue_blocks, "devices have room for so many blocks of 64 bytes in a send queue");
module_param_named(retries, rdmafs_test_knobs.retries, uint, 0600);
MODULE_PARM_DESC(retries, "servers take clients that ask for so many retries, 7 is for ever");
module_param_named(keep_pages, rdmafs_test_knobs.keep_pages, uint, 0600);
MODULE_PARM_DESC(keep_pages, "pages that are given back get a pattern, and are looked at");

module_param_named(spoil_at, rdmafs_test_knobs.spoil_at, uint, 0600);
MODULE_PARM_DESC(spoil_at, "which byte of a reply is spoilt, where reply_spoil fails");
module_param_named(spoil_with, rdmafs_test_knobs.spoil_with, uint, 0600);
MODULE_PARM_DESC(spoil_with, "bits of it that are turned over");
module_param_named(spoil_end, rdmafs_test_knobs.spoil_end, uint, 0600);
MODULE_PARM_DESC(spoil_end, "behind how many bytes the reply ends, if not where it would");
module_param_named(spoil_len, rdmafs_test_knobs.spoil_len, uint, 0400);
MODULE_PARM_DESC(spoil_len, "bytes of the last reply that was to be spoilt");

static struct point *point_find(const char *name)
{
	u32 i;

	lockdep_assert_held(&points_lock);
	for (i = 0; i < nr_points; i++)
		if (!strcmp(points[i].name, name))
			return &points[i];
	return NULL;
}

/* Counts a thread that comes to a point; returns the point, or NULL if it is not to be affected. */
static struct point *point_arrive(const char *name, u64 key)
{
	struct point *p = point_find(name);

	/* The caller saw the points armed without the lock; a reset may have come since. */
	if (!rdmafs_points_armed || !p || (p->keyed && p->key != key))
		return NULL;
	p->arrived++;
	wake_up_all(&points_wait);
	return p;
}

/**
 * rdmafs_point_hold - hold the caller until a test releases it, if a test wants that
 * @name: the point
 * @key:  identifies the object that the caller works on
 *
 * The caller is held for bound_ms at most.  This time is counted in short slices: if the whole
 * machine stands still for minutes, jiffies go on but the test that is to release does not.
 *
 * Context: process; sleeps, not interruptibly.  Takes points_lock.
 */
void rdmafs_point_hold(const char *name, u64 key)
{
	u32 slices = DIV_ROUND_UP(bound_ms, POINT_SLICE_MS), released;
	struct point *p;

	spin_lock_bh(&points_lock);
	p = point_arrive(name, key);
	if (!p || !p->hold) {
		spin_unlock_bh(&points_lock);
		return;
	}
	p->hold--;
	p->held++;
	released = p->released;
	spin_unlock_bh(&points_lock);

	/* An uninterruptible sleep would be reported as a hang, an idle one is not. */
	while (slices &&
	       !wait_event_idle_timeout(points_wait, READ_ONCE(p->released) != released,
					msecs_to_jiffies(POINT_SLICE_MS)))
		slices--;
	if (!slices) {
		if (!READ_ONCE(overdue_ok))
			pr_warn("rdmafs_points: overdue: nobody has let go of %s\n", name);
		spin_lock_bh(&points_lock);
		p->overdue++;
		spin_unlock_bh(&points_lock);
	}
	spin_lock_bh(&points_lock);
	p->held--;
	spin_unlock_bh(&points_lock);
	wake_up_all(&points_wait);
}
EXPORT_SYMBOL_GPL(rdmafs_point_hold);

/**
 * rdmafs_point_fails - ask whether a test wants an operation to fail
 * @name: the point
 * @key:  identifies the object that the caller works on
 *
 * Context: any but hard interrupt.  Takes points_lock.
 * Return: true if the caller is to fail.
 */
bool rdmafs_point_fails(const char *name, u64 key)
{
	bool fails = false;
	struct point *p;

	spin_lock_bh(&points_lock);
	p = point_arrive(name, key);
	if (p && p->fail) {
		p->fail--;
		p->failed++;
		fails = true;
	}
	spin_unlock_bh(&points_lock);
	return fails;
}
EXPORT_SYMBOL_GPL(rdmafs_point_fails);

/**
 * rdmafs_test_delay - sleep, so that the caller takes longer
 * @us: for how long, in microseconds; 0: not at all
 *
 * Context: process; sleeps.
 */
void rdmafs_test_delay(u32 us)
{
	if (us >= 100 * USEC_PER_MSEC)
		msleep(us / USEC_PER_MSEC);
	else if (us)
		usleep_range(us, us + us / 50 + 1);
}
EXPORT_SYMBOL_GPL(rdmafs_test_delay);

/**
 * rdmafs_test_spoil - change a reply to one that no server of ours would send
 * @reply: its body
 * @len:   length of @reply in bytes, at least 1
 *
 * The parameters spoil_at, spoil_with and spoil_end say what is changed.  The length is noted in
 * spoil_len, so that a test can go through all bytes.
 *
 * Context: any.
 * Return: the new length in bytes, at least 1.
 */
u16 rdmafs_test_spoil(void *reply, u16 len)
{
	u32 at = rdmafs_test_knob(spoil_at), end = rdmafs_test_knob(spoil_end);

	WRITE_ONCE(rdmafs_test_knobs.spoil_len, len);
	if (at < len)
		((u8 *)reply)[at] ^= rdmafs_test_knob(spoil_with);
	return end && end < len ? end : len;
}
EXPORT_SYMBOL_GPL(rdmafs_test_spoil);

static bool point_held(const char *name, u32 held)
{
	struct point *p;
	bool enough;

	spin_lock_bh(&points_lock);
	p = point_find(name);
	enough = p && p->held >= held;
	spin_unlock_bh(&points_lock);
	return enough;
}

/**
 * rdmafs_point_wait - wait until threads are held at a point
 * @name:    the point
 * @held:    how many threads to wait for
 * @seconds: longest time to wait
 *
 * Context: process; sleeps.  Takes points_lock.
 * Return: true if so many are held, false if the time is up.
 */
bool rdmafs_point_wait(const char *name, u32 held, unsigned int seconds)
{
	u32 slices = DIV_ROUND_UP(seconds * MSEC_PER_SEC, POINT_SLICE_MS);

	while (!point_held(name, held)) {
		if (!slices--)
			return false;
		wait_event_idle_timeout(points_wait, point_held(name, held),
					msecs_to_jiffies(POINT_SLICE_MS));
	}
	return true;
}
EXPORT_SYMBOL_GPL(rdmafs_point_wait);

static void point_release(struct point *p)
{
	p->hold = 0;
	p->fail = 0;
	p->keyed = false;
	WRITE_ONCE(p->released, p->released + 1);
}

static void points_reset(void)
{
	u32 i;

	WRITE_ONCE(rdmafs_points_armed, false);
	for (i = 0; i < nr_points; i++) {
		point_release(&points[i]);
		points[i].arrived = 0;
		points[i].failed = 0;
		points[i].overdue = 0;
	}
}

static int point_command(const char *what, const char *name, u32 count, const u64 *key)
{
	struct point *p = point_find(name);

	if (strcmp(what, "hold") && strcmp(what, "fail") && strcmp(what, "release"))
		return -EINVAL;
	if (!p) {
		if (nr_points == POINTS_MAX)
			return -ENOSPC;
		p = &points[nr_points++];
		strscpy(p->name, name);
	}
	if (!strcmp(what, "release")) {
		point_release(p);
		return 0;
	}
	p->keyed = key;
	p->key = key ? *key : 0;
	if (!strcmp(what, "hold"))
		p->hold = count;
	else
		p->fail = count;
	WRITE_ONCE(rdmafs_points_armed, true);
	return 0;
}

/**
 * rdmafs_points_command - execute a command of a test
 * @command: one of those in the comment at the head of this file
 *
 * Context: process.  Takes points_lock.
 * Return: 0; -EINVAL if there is no such command; -ENOSPC if there are too many names.
 */
int rdmafs_points_command(const char *command)
{
	char what[8], name[POINT_NAME_MAX];
	u32 count = 1;
	u64 key = 0;
	int n, ret = 0;

	n = sscanf(command, "%7s %31s %u %lli", what, name, &count, &key);
	spin_lock_bh(&points_lock);
	if (n == 1 && !strcmp(what, "reset"))
		points_reset();
	else if (n >= 2 && strlen(name) < POINT_NAME_MAX - 1)
		ret = point_command(what, name, count, n == 4 ? &key : NULL);
	else
		ret = -EINVAL;
	spin_unlock_bh(&points_lock);
	wake_up_all(&points_wait);
	return ret;
}
EXPORT_SYMBOL_GPL(rdmafs_points_command);

static int points_set(const char *val, const struct kernel_param *kp)
{
	return rdmafs_points_command(val);
}

static int points_get(char *buffer, const struct kernel_param *kp)
{
	int len = 0;
	u32 i;

	spin_lock_bh(&points_lock);
	for (i = 0; i < nr_points; i++)
		len += scnprintf(buffer + len, PAGE_SIZE - len,
				 "%s arrived %u held %u failed %u overdue %u\n", points[i].name,
				 points[i].arrived, points[i].held, points[i].failed,
				 points[i].overdue);
	spin_unlock_bh(&points_lock);
	return len;
}

static const struct kernel_param_ops points_ops = {
	.set = points_set,
	.get = points_get,
};
module_param_cb(points, &points_ops, NULL, 0600);
MODULE_PARM_DESC(points, "one of: hold NAME [COUNT [KEY]], fail NAME [COUNT [KEY]], release NAME, reset");

static int __init points_init(void)
{
	points_add_nomem();
	return 0;
}
module_init(points_init);

static void __exit points_exit(void)
{
	points_remove_nomem();
	points_free_kept();
}
module_exit(points_exit);

MODULE_DESCRIPTION("rdmafs: what tests do at test points");
MODULE_LICENSE("GPL");
