// SPDX-License-Identifier: GPL-2.0
/*
 * The server's threads: where requests run that may block.
 *
 * The threads are ours, not a workqueue's, because a file server needs an
 * umask of its own (0: the client has applied its user's).
 *
 * Requests come in bursts, one completion handler's worth, and most of them do
 * not block.  So no more than one thread at a time is on its way out of sleep,
 * and the next one is roused when it is of use: on a machine of several CPUs
 * when the first has taken a request and there are more; on one CPU when the
 * first is about to sleep, which its plug tells.  (A second thread on the same
 * CPU only shares a burst with the first, and breaks it in two.)  The thread
 * that slept last is roused first: it is the one whose stack is still in the
 * cache.
 *
 * Whose request is next, and who has had his share of the threads, is in turns.c.
 *
 * The replies of a burst go out together, when the thread finds nothing more
 * to do, or blocks, or turns to a request that may take longer than moving
 * data does.  The data of large ones goes first then, and the client gets all
 * the messages in one burst (rxp_post_plugged()).
 */
#include <linux/blkdev.h>
#include <linux/fs_struct.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include "transport/server.h"

/* Replies held back at most for others to join them. */
#define RXP_BURST	16

/**
 * struct rxp_thread - one of them
 * @link:    among the idle ones, empty if it is not
 * @threads: all of them
 * @task:    the thread
 * @session: whose request it serves; a reference
 * @part:    what that is of, or NULL (turns.c)
 * @running: counted among those that run
 * @flushing: the thread itself unplugs
 */
struct rxp_thread {
	struct list_head link;
	struct rxp_threads *threads;
	struct task_struct *task;
	struct rdmafs_xprt_session *session;
	struct rxp_part *part;
	bool running;
	bool flushing;
};

/* Under the lock: the thread to be woken once the lock is dropped, or NULL. */
static struct rxp_thread *rxp_threads_rouse(struct rxp_threads *ts)
{
	struct rxp_thread *t;

	lockdep_assert_held(&ts->lock);
	if (ts->roused || list_empty(&ts->turns) || (ts->running && num_online_cpus() == 1))
		return NULL;
	t = list_first_entry_or_null(&ts->idle, struct rxp_thread, link);
	if (t)
		list_del_init(&t->link);
	ts->roused = t;
	return t;
}

static void rxp_thread_runs(struct rxp_thread *t, bool running)
{
	lockdep_assert_held(&t->threads->lock);
	t->threads->running += running - t->running;
	t->running = running;
}

/**
 * rxp_threads_add - have a request served
 * @ts:	 the threads
 * @req: the request; theirs from now on
 *
 * Any context but hard interrupt.
 */
void rxp_threads_add(struct rxp_threads *ts, struct rxp_req *req)
{
	struct rdmafs_xprt_server *server = req->session->server;
	struct rxp_thread *t;
	u64 key = 0;

	if (server->service->waits_for)
		key = server->service->waits_for(&req->r, server->ctx);
	spin_lock_bh(&ts->lock);
	rxp_turns_add(ts, req, key);
	t = rxp_threads_rouse(ts);
	spin_unlock_bh(&ts->lock);
	if (t)
		wake_up_process(t->task);
}

/* A thread does not run any more, or can't tell: another one may be of use. */
static void rxp_thread_blocks(struct rxp_thread *t)
{
	struct rxp_threads *ts = t->threads;
	struct rxp_thread *other;

	spin_lock_bh(&ts->lock);
	rxp_thread_runs(t, false);
	other = rxp_threads_rouse(ts);
	spin_unlock_bh(&ts->lock);
	if (other)
		wake_up_process(other->task);
}

static void rxp_thread_unplug(struct blk_plug_cb *cb, bool from_schedule)
{
	struct rxp_thread *t = cb->data;

	kfree(cb);
	/* Somebody below may unplug for us, and sleep after that: as good as asleep. */
	if (!t->flushing)
		rxp_thread_blocks(t);
}

/* Be told when the thread is about to sleep. */
static void rxp_thread_watch(struct rxp_thread *t)
{
	if (!blk_check_plugged(rxp_thread_unplug, t, sizeof(struct blk_plug_cb)))
		rxp_thread_blocks(t);
}

/* The thread is through with its request.  The next one, or NULL. */
static struct rxp_req *rxp_thread_next(struct rxp_thread *t)
{
	struct rdmafs_xprt_session *served = t->session;
	struct rxp_threads *ts = t->threads;
	struct rxp_thread *other = NULL;
	struct rxp_req *req;

	spin_lock_bh(&ts->lock);
	rxp_thread_runs(t, true);
	t->session = NULL;
	if (served)
		rxp_turns_served(ts, &served->turns, t->part);
	req = rxp_turns_take(ts);
	if (req) {
		t->session = req->session;
		t->part = req->part;
		rxp_session_get(t->session);
		other = rxp_threads_rouse(ts);
	}
	spin_unlock_bh(&ts->lock);
	if (served)
		rxp_session_put(served);
	if (other)
		wake_up_process(other->task);
	return req;
}

/* Sleep until roused or told to stop. */
static void rxp_thread_idle(struct rxp_thread *t)
{
	struct rxp_threads *ts = t->threads;
	bool idle;

	spin_lock_bh(&ts->lock);
	idle = list_empty(&ts->turns);
	if (idle) {
		rxp_thread_runs(t, false);
		list_add(&t->link, &ts->idle);
		set_current_state(TASK_IDLE);
	}
	spin_unlock_bh(&ts->lock);
	if (idle && !kthread_should_stop())
		schedule();
	__set_current_state(TASK_RUNNING);

	spin_lock_bh(&ts->lock);
	list_del_init(&t->link);
	if (ts->roused == t)
		ts->roused = NULL;
	spin_unlock_bh(&ts->lock);
}

static void rxp_thread_flush(struct rxp_thread *t, struct blk_plug *plug)
{
	t->flushing = true;
	blk_finish_plug(plug);
	t->flushing = false;
}

/*
 * Bytes that a request moves if it does hardly more than that, so that replies may
 * wait for it, else 0.  The reply to a large WRITE is not held back: nothing of its
 * data waits to be sent with others'.
 */
static u32 rxp_req_moves(const struct rxp_req *req)
{
	if (req->flags & RXP_F_READ)
		return req->bulk_len;
	return req->bulk_len ? 0 : req->r.data_len;
}

/*
 * Serve what there is.  Replies with a little data go together, and so do large ones,
 * until that is worth a doorbell; a small one does not wait for the large that follow.
 */
static void rxp_thread_burst(struct rxp_thread *t)
{
	u32 n = 0, moved = 0, len, before = 0;
	struct blk_plug plug;
	struct rxp_req *req;

	blk_start_plug(&plug);
	while ((req = rxp_thread_next(t))) {
		len = rxp_req_moves(req);
		if (!len || n == RXP_BURST || moved + len > RXP_PLUG_MAX ||
		    (len > RDMAFS_XPRT_INLINE_MAX && before <= RDMAFS_XPRT_INLINE_MAX)) {
			rxp_thread_flush(t, &plug);
			blk_start_plug(&plug);
			n = 0;
			moved = 0;
		}
		n++;
		moved += len;
		before = len;
		rxp_thread_watch(t);
		rxp_req_run(req);
		cond_resched();
	}
	rxp_thread_flush(t, &plug);
}

static int rxp_thread(void *data)
{
	struct rxp_thread *t = data;
	int ret = unshare_fs_struct();

	if (ret) {
		/* Nothing can be served with another's umask: be none of them. */
		pr_err("rdmafs: server thread: %d\n", ret);
		for (;;) {
			set_current_state(TASK_IDLE);
			if (kthread_should_stop())
				break;
			schedule();
		}
		__set_current_state(TASK_RUNNING);
		return ret;
	}
	current->fs->umask = 0;
	while (!kthread_should_stop()) {
		rxp_thread_burst(t);
		rxp_thread_idle(t);
	}
	return 0;
}

/**
 * rxp_threads_start - start a server's threads
 * @ts: to fill in
 * @nr: how many, RDMAFS_XPRT_THREADS_MIN.._MAX
 *
 * Return: 0 or a negative errno; rxp_threads_stop() undoes either.
 */
int rxp_threads_start(struct rxp_threads *ts, u32 nr)
{
	spin_lock_init(&ts->lock);
	INIT_LIST_HEAD(&ts->turns);
	INIT_LIST_HEAD(&ts->idle);
	ts->share = nr / 4;
	ts->client_share = nr - nr / 4;
	INIT_LIST_HEAD(&ts->parked);
	while (ts->nr < nr) {
		struct rxp_thread *t = kzalloc(sizeof(*t), GFP_KERNEL);
		struct task_struct *task;

		if (!t)
			return -ENOMEM;
		INIT_LIST_HEAD(&t->link);
		t->threads = ts;
		task = kthread_create(rxp_thread, t, "rdmafsd/%u", ts->nr);
		if (IS_ERR(task)) {
			kfree(t);
			return PTR_ERR(task);
		}
		t->task = task;
		ts->thread[ts->nr++] = t;
		wake_up_process(task);
	}
	return 0;
}

/**
 * rxp_threads_stop - stop a server's threads; no request is left
 * @ts: the threads
 */
void rxp_threads_stop(struct rxp_threads *ts)
{
	while (ts->nr) {
		struct rxp_thread *t = ts->thread[--ts->nr];

		kthread_stop(t->task);
		spin_lock_bh(&ts->lock);
		list_del(&t->link);
		spin_unlock_bh(&ts->lock);
		kfree(t);
	}
	rxp_domains_free(ts);
}
