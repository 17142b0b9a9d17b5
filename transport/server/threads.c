// SPDX-License-Identifier: GPL-2.0
/*
 * The server's threads: where requests run that may block.
 *
 * A workqueue would not do, because a file server's threads need an umask of their own (0, as the
 * client has applied its user's).
 *
 * Requests come in bursts, those that one completion handler finds, and most of them do not block.
 * So only one thread at a time is being woken, and the next one when it is of use: on several CPUs
 * when the first has taken a request and there are more; on one CPU when the first is about to
 * sleep, of which its plug informs us.  (A second thread on the same CPU would only split the burst
 * in two.)  The thread that fell asleep last is woken first, as its stack is most likely still in
 * the cache.
 *
 * turns.c decides whose request is next, and which session has its share of the threads.
 *
 * The replies of a burst are posted together: when the thread finds no more requests, or blocks,
 * or takes a request that may need longer than moving data does.  The data of large replies goes
 * first then, and the client gets all the messages in one burst (rxp_post_plugged()).
 *
 * rxs_threads.lock guards all of this.
 */
#include <linux/blkdev.h>
#include <linux/fs_struct.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include "transport/server/server.h"

/* The most replies that are held back to be posted together. */
#define RXS_BURST	16

/**
 * struct rxs_thread - a thread of a server
 * @link:    in @threads->idle; empty if it is not idle; rxs_threads.lock
 * @threads: the server's threads; constant
 * @task:    its task; constant
 * @session: the session whose request it serves, or NULL; a reference
 * @part:    the request's part, or NULL (turns.c)
 * @running: it counts in @threads->running; rxs_threads.lock
 * @flushing: the thread unplugs itself, and is not about to sleep; its own
 */
struct rxs_thread {
	struct list_head link;
	struct rxs_threads *threads;
	struct task_struct *task;
	struct rdmafs_xprt_session *session;
	struct rxs_part *part;
	bool running;
	bool flushing;
};

/* Choose the thread that the caller has to wake once it has dropped the lock; or NULL. */
static struct rxs_thread *rxs_threads_to_wake(struct rxs_threads *ts)
{
	struct rxs_thread *t;

	lockdep_assert_held(&ts->lock);
	if (ts->waking || list_empty(&ts->turns) || (ts->running && num_online_cpus() == 1))
		return NULL;
	t = list_first_entry_or_null(&ts->idle, struct rxs_thread, link);
	if (t)
		list_del_init(&t->link);
	ts->waking = t;
	return t;
}

static void rxs_thread_runs(struct rxs_thread *t, bool running)
{
	lockdep_assert_held(&t->threads->lock);
	t->threads->running += running - t->running;
	t->running = running;
}

/**
 * rxs_threads_add - queue a request to be served by a thread
 * @ts:	 the threads
 * @req: the request; a thread may have it, or have freed it, when this returns
 *
 * Context: any but hard interrupt; takes rxs_threads.lock.
 */
void rxs_threads_add(struct rxs_threads *ts, struct rxs_req *req)
{
	struct rdmafs_xprt_server *server = req->session->server;
	struct rxs_thread *t;
	u64 key = 0;

	if (server->service->waits_for)
		key = server->service->waits_for(&req->r, server->ctx);
	spin_lock_bh(&ts->lock);
	rxs_turns_add(ts, req, key);
	t = rxs_threads_to_wake(ts);
	spin_unlock_bh(&ts->lock);
	if (t)
		wake_up_process(t->task);
}

/* A thread is about to block, or can't be informed when it does: another one may be of use. */
static void rxs_thread_blocks(struct rxs_thread *t)
{
	struct rxs_threads *ts = t->threads;
	struct rxs_thread *other;

	spin_lock_bh(&ts->lock);
	rxs_thread_runs(t, false);
	other = rxs_threads_to_wake(ts);
	spin_unlock_bh(&ts->lock);
	if (other)
		wake_up_process(other->task);
}

static void rxs_thread_unplug(struct blk_plug_cb *cb, bool from_schedule)
{
	struct rxs_thread *t = cb->data;

	kfree(cb);
	/* A file system may unplug for us, and sleep after that: count it as asleep. */
	if (!t->flushing)
		rxs_thread_blocks(t);
}

/* Have rxs_thread_unplug() called when the thread is about to sleep. */
static void rxs_thread_watch(struct rxs_thread *t)
{
	if (!blk_check_plugged(rxs_thread_unplug, t, sizeof(struct blk_plug_cb)))
		rxs_thread_blocks(t);
}

/* End the thread's request and take the next one, or NULL. */
static struct rxs_req *rxs_thread_next(struct rxs_thread *t)
{
	struct rdmafs_xprt_session *served = t->session;
	struct rxs_threads *ts = t->threads;
	struct rxs_thread *other = NULL;
	struct rxs_req *req;

	spin_lock_bh(&ts->lock);
	rxs_thread_runs(t, true);
	t->session = NULL;
	if (served)
		rxs_turns_served(ts, &served->turns, t->part);
	req = rxs_turns_take(ts);
	if (req) {
		t->session = req->session;
		t->part = req->part;
		rxs_session_get(t->session);
		other = rxs_threads_to_wake(ts);
	}
	spin_unlock_bh(&ts->lock);
	if (served)
		rxs_session_put(served);
	if (other)
		wake_up_process(other->task);
	return req;
}

/* Sleep until woken or told to stop. */
static void rxs_thread_idle(struct rxs_thread *t)
{
	struct rxs_threads *ts = t->threads;
	bool idle;

	spin_lock_bh(&ts->lock);
	idle = list_empty(&ts->turns);
	if (idle) {
		rxs_thread_runs(t, false);
		list_add(&t->link, &ts->idle);
		set_current_state(TASK_IDLE);
	}
	spin_unlock_bh(&ts->lock);
	if (idle && !kthread_should_stop())
		schedule();
	__set_current_state(TASK_RUNNING);

	spin_lock_bh(&ts->lock);
	list_del_init(&t->link);
	if (ts->waking == t)
		ts->waking = NULL;
	spin_unlock_bh(&ts->lock);
}

static void rxs_thread_flush(struct rxs_thread *t, struct blk_plug *plug)
{
	t->flushing = true;
	blk_finish_plug(plug);
	t->flushing = false;
}

/*
 * The bytes that a request moves if it does little else, so that other replies may wait for it;
 * else 0.  A large WRITE gives 0: its reply has no data to be posted with that of others.
 */
static u32 rxs_req_data_bytes(const struct rxs_req *req)
{
	if (req->flags & RXP_F_READ)
		return req->bulk.length;
	return req->bulk.length ? 0 : req->r.data_len;
}

/*
 * Serve requests until there are none.  Small replies are posted together, and so are large ones
 * until they are worth a doorbell.  Small ones do not wait for the large ones that follow.
 */
static void rxs_thread_burst(struct rxs_thread *t)
{
	u32 n = 0, moved = 0, len, before = 0;
	struct blk_plug plug;
	struct rxs_req *req;

	blk_start_plug(&plug);
	while ((req = rxs_thread_next(t))) {
		len = rxs_req_data_bytes(req);
		if (!len || n == RXS_BURST || moved + len > RXP_PLUG_MAX ||
		    (len > RDMAFS_XPRT_INLINE_MAX && before <= RDMAFS_XPRT_INLINE_MAX)) {
			rxs_thread_flush(t, &plug);
			blk_start_plug(&plug);
			n = 0;
			moved = 0;
		}
		n++;
		moved += len;
		before = len;
		rxs_thread_watch(t);
		t->threads->run(req);
		cond_resched();
	}
	rxs_thread_flush(t, &plug);
}

static int rxs_thread(void *data)
{
	struct rxs_thread *t = data;
	int ret = unshare_fs_struct();

	if (ret) {
		/* With a shared umask the thread must not serve: it only waits to be stopped. */
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
		rxs_thread_burst(t);
		rxs_thread_idle(t);
	}
	return 0;
}

/**
 * rxs_threads_start - start a server's threads
 * @ts:	 out: the threads
 * @nr:	 number of threads, RDMAFS_XPRT_THREADS_MIN..RDMAFS_XPRT_THREADS_MAX
 * @run: what a thread does with a request; it may sleep, and the request may be freed in it
 *
 * Context: process, may sleep.
 * Return: 0, -ENOMEM, or an error of kthread_create(); rxs_threads_stop() undoes it in any case.
 */
int rxs_threads_start(struct rxs_threads *ts, u32 nr, void (*run)(struct rxs_req *req))
{
	ts->run = run;
	spin_lock_init(&ts->lock);
	INIT_LIST_HEAD(&ts->turns);
	INIT_LIST_HEAD(&ts->idle);
	ts->share = nr / 4;
	ts->client_share = nr - nr / 4;
	INIT_LIST_HEAD(&ts->parked);
	while (ts->nr < nr) {
		struct rxs_thread *t = kzalloc(sizeof(*t), GFP_KERNEL);
		struct task_struct *task;

		if (!t)
			return -ENOMEM;
		INIT_LIST_HEAD(&t->link);
		t->threads = ts;
		task = kthread_create(rxs_thread, t, "rdmafsd/%u", ts->nr);
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
 * rxs_threads_stop - stop a server's threads
 * @ts: the threads, with no request left
 *
 * Context: process, may sleep.
 */
void rxs_threads_stop(struct rxs_threads *ts)
{
	while (ts->nr) {
		struct rxs_thread *t = ts->thread[--ts->nr];

		kthread_stop(t->task);
		spin_lock_bh(&ts->lock);
		list_del(&t->link);
		spin_unlock_bh(&ts->lock);
		kfree(t);
	}
	rxs_resources_free(ts);
}
