// SPDX-License-Identifier: GPL-2.0
/*
 * A mount's session: connecting, losing a connection, connecting again.
 *
 * One worker per mount, recover, does all of it after the first connect, so
 * that nothing of it runs twice at once.  Whoever finds a connection broken
 * only queues that worker.  The worker takes all connections from the session
 * (no call is posted on them any more), drains them, takes from the unanswered
 * calls what they have of the device, and tries to connect until it succeeds
 * or the mount is aborted: a mount is hard, as NFS has it.  Then it sends the
 * unanswered calls again and lets submitters in.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include "transport/client.h"
#include "transport/trace.h"

/* A connection that has lived so long begins with a clean record when it ends. */
#define RXP_STABLE_SECS		2

/* Jiffies until calls that could not be sent again for want of memory are tried again. */
#define RXP_UNSENT_DELAY	(HZ / 10)

/* Silence, or a send queue that stands, ends a connection after this many beats. */
#define RXP_MISSED_MAX		5

/* ------------------------------------------------------------------- recovery */

static void rxp_recover_later(struct rdmafs_xprt *x)
{
	unsigned int delay = rxp_retry_delay(x->attempts, get_random_u32());

	x->attempts++;
	mod_delayed_work(rxp_recover_wq, &x->recover, msecs_to_jiffies(delay));
}

/**
 * rxp_state_move - something happened to a session
 * @x:	   the session, its lock held
 * @event: what
 *
 * Return: whether that changed its state.
 */
bool rxp_state_move(struct rdmafs_xprt *x, enum rxp_event event)
{
	enum rxp_state old = x->state, new = rxp_state_next(old, event);

	lockdep_assert_held(&x->lock);
	trace_rdmafs_session_state(x->session, old, event, new);
	WRITE_ONCE(x->state, new);
	return new != old;
}

/*
 * Take the connections from the session if one of them is lost, or if all calls
 * are to fail; gives how many they were.  No call is posted on them any more.
 */
static u32 rxp_conns_take(struct rdmafs_xprt *x, struct rxp_conn **conns)
{
	bool lost = x->state == RXP_FAILING || x->state == RXP_ABORTED;
	u32 nr = x->nr_conns, i;

	lockdep_assert_held(&x->lock);
	for (i = 0; i < nr; i++) {
		conns[i] = x->conns[i];
		lost |= rxp_conn_is_lost(conns[i]);
	}
	if (!lost || !nr)
		return 0;
	for (i = 0; i < nr; i++)
		rxp_conn_lost(conns[i]);
	x->nr_conns = 0;
	rxp_state_move(x, RXP_EV_LOST);
	return nr;
}

/*
 * The connections are gone: drain them all before anything that one of them may have
 * used is let go.
 */
static void rxp_conns_end(struct rdmafs_xprt *x, struct rxp_conn **conns, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		rxp_conn_kill(conns[i]);
	spin_lock_bh(&x->lock);
	rxp_grants_forget(x);
	spin_unlock_bh(&x->lock);
	rxp_calls_lose(x);
	for (i = 0; i < nr; i++)
		rxp_client_conn_free(x, conns[i]);
}

/* Let go of a device that waits for that; who is aborted has no more use of any. */
static void rxp_pool_leave(struct rdmafs_xprt *x, bool aborted)
{
	struct rxp_pool *pool = NULL;

	spin_lock_bh(&x->lock);
	if (x->pool && (aborted || READ_ONCE(x->pool->rdev->removed))) {
		pool = x->pool;
		x->pool = NULL;
	}
	spin_unlock_bh(&x->lock);
	if (!pool)
		return;
	rpol_member_shutdown(pool->member);
	rxp_slots_kick(&x->slot_account);
	rxp_pool_put(pool);
}

/*
 * End what was outstanding when rdmafs_xprt_fail_outstanding() was called.  The
 * server may execute it still, or have it come late: a new session begins only when
 * it has done with the old one, so nothing of that is done behind what follows.
 */
static void rxp_recover_fail(struct rdmafs_xprt *x)
{
	int failed = rxp_calls_fail(x, -EIO);

	spin_lock_bh(&x->lock);
	if (failed)
		memset(x->session, 0, sizeof(x->session));
	rxp_state_move(x, RXP_EV_FAILED);
	spin_unlock_bh(&x->lock);
	wake_up_all(&x->wait);
}

static void rxp_recover_connect(struct rdmafs_xprt *x, bool lost)
{
	int ret;

	/* Connections that die as soon as they are made are failed attempts, too. */
	if (lost && time_after(jiffies, x->bound_at + RXP_STABLE_SECS * HZ))
		x->attempts = 0;
	if (lost && x->attempts) {
		rxp_recover_later(x);
		return;
	}
	ret = rxp_connect_once(x, rdmafs_test_knob(step_ms) ?: rxp_retry_step(x->attempts));
	if (!ret) {
		x->attempts++;
		pr_info("rdmafs: %pISpc: connected again\n", &x->addr);
		return;
	}
	if (x->attempts == 3)
		pr_warn("rdmafs: %pISpc: server not responding (%d), still trying; umount -f gives up\n",
			&x->addr, ret);
	rxp_recover_later(x);
}

/* There was no memory to map these; they keep only their slots meanwhile. */
static void rxp_recover_unsent(struct rdmafs_xprt *x)
{
	/* Nobody but us takes them from the session. */
	x->unsent = rxp_calls_replay(x, x->conns, x->nr_conns);
	if (x->unsent)
		queue_delayed_work(rxp_recover_wq, &x->recover, RXP_UNSENT_DELAY);
}

/* One step of recovery: by the worker, or by close once the worker is disabled. */
static void rxp_recover_step(struct rdmafs_xprt *x)
{
	struct rxp_conn *conns[RDMAFS_XPRT_CONNS_MAX];
	/* Memory may only come when what waits for us has been written. */
	unsigned int noio = memalloc_noio_save();
	enum rxp_state state;
	u32 lost, up;

	spin_lock_bh(&x->lock);
	lost = rxp_conns_take(x, conns);
	up = x->nr_conns;
	state = x->state;
	spin_unlock_bh(&x->lock);

	if (lost && state == RXP_DOWN)
		pr_info("rdmafs: %pISpc: connection lost, reconnecting\n", &x->addr);
	if (lost)
		rxp_conns_end(x, conns, lost);
	rxp_pool_leave(x, state == RXP_ABORTED);
	if (state == RXP_FAILING)
		rxp_recover_fail(x);
	if (state == RXP_ABORTED)
		rxp_calls_fail(x, -ESHUTDOWN);
	else if (state != RXP_ENDED && !up)
		rxp_recover_connect(x, lost);
	else if (up && x->unsent)
		rxp_recover_unsent(x);
	memalloc_noio_restore(noio);
}

static void rxp_recover(struct work_struct *work)
{
	rxp_recover_step(container_of(work, struct rdmafs_xprt, recover.work));
}

/*
 * Has something moved since the last beat of what a connection sends, or of the data that
 * another one does?  They may share one way.  Of messages, PINGs among them, each says
 * something of its own connection only.
 */
static bool rxp_conn_moves(const struct rdmafs_xprt *x, const struct rxp_conn *conn)
{
	u32 i;

	if (!time_before(READ_ONCE(conn->moved), x->beat_at))
		return true;
	for (i = 0; i < x->nr_conns; i++)
		if (!time_before(READ_ONCE(x->conns[i]->data_moved), x->beat_at))
			return true;
	return false;
}

/*
 * Has something come, or may it still, and does what we send go?  Each connection is asked:
 * one that carries nothing could be dead for long before a call finds out, and the server
 * ends one that is silent for a lease, whatever it answers.  And calls, with what they
 * hold, end only behind what stands in the send queue, however much is heard of the server.
 *
 * On a slow link data takes its time, and who is asked behind it can't answer before: that is
 * no fault while something moves.  But a server might take a work request now and then for
 * that: there is no more time than for as many calls as there are slots.
 */
static bool rxp_conn_beats(const struct rdmafs_xprt *x, struct rxp_conn *conn)
{
	/* Read once, and before the PING: that, and its answer, are for the next beat to see. */
	bool moves = rxp_conn_moves(x, conn);
	u64 received = READ_ONCE(conn->received);
	u64 sent = READ_ONCE(conn->sent);
	u64 oldest = rxp_send_oldest(conn);
	bool heard = received != conn->seen;
	/* Is the PING in the send queue still? */
	bool behind = conn->pinged && oldest && oldest <= conn->pinged;
	bool same = oldest && oldest == conn->oldest;
	bool beats;

	if (rdmafs_test_fail("client_beat", conn->index)) {
		rxp_conn_lost(conn);
		return true;
	}
	conn->silent = heard ? 0 : conn->silent + 1;
	conn->missed = heard || (behind && moves) ? 0 : conn->missed + 1;
	conn->same = same ? conn->same + 1 : 0;
	conn->stood = same && !moves ? conn->stood + 1 : 0;
	if (heard)
		conn->pinged = 0;
	beats = max(conn->missed, conn->stood) <= RXP_MISSED_MAX &&
		max(conn->silent, conn->same) <= RXP_MISSED_MAX * conn->slots;
	if (!beats) {
		rxp_conn_lost(conn);
	} else if (conn->silent || sent == conn->said) {
		rxp_ctl_send(conn, RXP_CONTROL, RXP_CONTROL_PING, NULL, 0);
		if (!conn->pinged)
			conn->pinged = READ_ONCE(conn->chains);
	}
	conn->seen = received;
	conn->said = sent;
	conn->oldest = oldest;
	return beats;
}

/*
 * A PING when nothing came since the last beat, or nothing went.  Messages are
 * counted, not their age: an answer to a PING comes within the same jiffy and is
 * then a beat old.  Beats are counted, not seconds: a machine that stood still must
 * not take that for the server's death.
 */
static void rxp_heartbeat(struct work_struct *work)
{
	struct rdmafs_xprt *x = container_of(work, struct rdmafs_xprt, heartbeat.work);
	unsigned long beat = msecs_to_jiffies(max(READ_ONCE(rxp_heartbeat_ms), 100U)) /
			     RXP_MISSED_MAX;
	unsigned long now = jiffies;
	bool dead = false;
	u32 i;

	spin_lock_bh(&x->lock);
	for (i = 0; x->state == RXP_UP && i < x->nr_conns; i++)
		dead |= !rxp_conn_beats(x, x->conns[i]);
	spin_unlock_bh(&x->lock);
	/* What moves in the same jiffy counts twice rather than not at all. */
	x->beat_at = now;
	if (dead)
		pr_warn_ratelimited("rdmafs: %pISpc: nothing comes, or goes, for %u ms\n", &x->addr,
				    READ_ONCE(rxp_heartbeat_ms));
	rxp_grants_give_back(x);
	rxp_calls_revoke(x);
	queue_delayed_work(rxp_wq, &x->heartbeat, beat);
}

/* ----------------------------------------------------------------------- /proc */

static struct rxp_pool *rxp_client_proc_pool(void *owner)
{
	struct rdmafs_xprt *x = owner;
	struct rxp_pool *pool;

	spin_lock_bh(&x->lock);
	pool = x->pool;
	if (pool)
		rxp_pool_get(pool);
	spin_unlock_bh(&x->lock);
	return pool;
}

static int rxp_client_set_quota(void *owner, const struct rpol_quota *quota)
{
	struct rdmafs_xprt *x = owner;

	return rdmafs_xprt_set_quota(x, quota);
}

static void rxp_client_get_quota(void *owner, struct rpol_quota *quota)
{
	rdmafs_xprt_get_quota(owner, quota);
}

static void rxp_client_show_mount(struct seq_file *m, void *owner)
{
	struct rdmafs_xprt *x = owner;

	if (x->show_mount)
		x->show_mount(m, x->ctx);
}

static void rxp_client_show_window(struct seq_file *m, void *owner)
{
	static const char * const state[RXP_NR_STATES] = {
		[RXP_CONNECTING] = "connecting",
		[RXP_UP] = "up",
		[RXP_DOWN] = "down",
		[RXP_FAILING] = "failing",
		[RXP_ENDED] = "ended",
		[RXP_ABORTED] = "aborted",
	};
	struct rdmafs_xprt *x = owner;
	u32 i;

	spin_lock_bh(&x->lock);
	seq_printf(m, "server %pISpc\nstate %s\nconnections %u\nreceived", &x->addr,
		   state[x->state], x->nr_conns);
	for (i = 0; i < x->nr_conns; i++)
		seq_printf(m, " %llu", READ_ONCE(x->conns[i]->received));
	seq_puts(m, "\nrecv_size");
	for (i = 0; i < x->nr_conns; i++)
		seq_printf(m, " %u", x->conns[i]->recv_size);
	seq_putc(m, '\n');
	seq_printf(m, "in_flight %u\ndata_max %u\nsinks_held %u\n", x->in_flight, x->data_max,
		   x->nr_grants);
	spin_unlock_bh(&x->lock);
	rxp_io_show_costs(m, x);
	spin_lock_bh(&x->slot_account.lock);
	seq_printf(m, "slots %u\nslots_free %u\nslot_waits %llu\n", x->slot_account.nr,
		   x->slot_account.free, x->slot_account.waits);
	spin_unlock_bh(&x->slot_account.lock);
}

static void rxp_client_proc_abort(void *owner)
{
	rdmafs_xprt_abort(owner);
}

/**
 * rdmafs_xprt_proc_add - make a mount visible in /proc/fs/rdmafs
 * @x:	  the session
 * @name: name of the directory: the mount's device number
 * @show: writes the line that describes the mount
 *
 * Process context.
 *
 * Return: 0, or -ENOMEM.
 */
int rdmafs_xprt_proc_add(struct rdmafs_xprt *x, const char *name,
			 void (*show)(struct seq_file *m, void *ctx))
{
	x->show_mount = show;
	x->proc.net = x->net;
	x->proc.owner = x;
	x->proc.stats = &x->stats;
	x->proc.pool = rxp_client_proc_pool;
	x->proc.set_quota = rxp_client_set_quota;
	x->proc.get_quota = rxp_client_get_quota;
	x->proc.show_mount = rxp_client_show_mount;
	x->proc.show_window = rxp_client_show_window;
	x->proc.abort = rxp_client_proc_abort;
	return rxp_proc_add(&x->proc, name);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_proc_add);

/* ----------------------------------------------------------------- life and end */

static void rxp_client_free(struct rdmafs_xprt *x)
{
	u32 i;

	if (x->pool)
		rxp_pool_put(x->pool);
	rxp_stats_wait(&x->stats);
	kvfree(x->slots);
	rxp_slots_destroy(&x->slot_account);
	rxp_ring_destroy(&x->tx_ring);
	for (i = 0; i < ARRAY_SIZE(x->rx_rings); i++)
		rxp_recv_release(&x->rx_rings[i]);
	rxp_io_pools_destroy(x);
	rxp_stats_destroy(&x->stats);
	put_net(x->net);
	kfree(x);
}

/**
 * rdmafs_xprt_connect - connect to a server and make a session
 * @params: where and how
 * @ops:    the mount's callbacks, may be NULL
 * @ctx:    for them
 *
 * Process context; sleeps, killably, up to params->connect_ms for each step
 * of the connection.
 *
 * Return: the session, or an ERR_PTR: -EHOSTUNREACH, -ETIMEDOUT (no answer, or only lost
 * connections),
 * -ECONNREFUSED (nobody serves the port), -EPROTO (not an rdmafs server),
 * -EPROTONOSUPPORT (another version), -ECONNRESET (it lost the session while the
 * connections were being made), -EBUSY (it takes no sessions now),
 * -EUSERS (this client has as many connections or sessions there as it may),
 * -ENODEV (no usable RDMA device on the way to it), -ENOSPC (the device's
 * translations are all promised to others), -ENOTCONN (it said what it must
 * not), -EINVAL (it offers sizes that can't be), -ENOMEM, -EINTR.
 */
struct rdmafs_xprt *rdmafs_xprt_connect(const struct rdmafs_xprt_params *params,
					const struct rdmafs_xprt_client_ops *ops, void *ctx)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(params->connect_ms);
	struct rdmafs_xprt *x;
	int ret;

	if (params->slots < RDMAFS_XPRT_SLOTS_MIN || params->slots > RDMAFS_XPRT_SLOTS_MAX ||
	    !params->conns || params->conns > RDMAFS_XPRT_CONNS_MAX)
		return ERR_PTR(-EINVAL);
	x = kzalloc(sizeof(*x), GFP_KERNEL);
	if (!x)
		return ERR_PTR(-ENOMEM);
	ret = rxp_stats_init(&x->stats);
	if (ret) {
		kfree(x);
		return ERR_PTR(ret);
	}
	x->net = get_net(params->net);
	x->addr = params->addr;
	x->ops = ops;
	x->ctx = ctx;
	x->want_slots = params->slots;
	x->want_conns = params->conns;
	x->quota = params->quota;
	x->reg = params->reg;
	rdmafs_xprt_set_poll(x, params->poll_us);
	spin_lock_init(&x->lock);
	mutex_init(&x->quota_change);
	init_waitqueue_head(&x->wait);
	INIT_DELAYED_WORK(&x->recover, rxp_recover);
	INIT_DELAYED_WORK(&x->heartbeat, rxp_heartbeat);
	rxp_later_init(x);
	get_random_bytes(x->client, sizeof(x->client));

	ret = rxp_io_pools_init(x);
	if (ret)
		goto out_free;
	do {
		ret = rxp_connect_once(x, params->connect_ms);
		if (ret == -EAGAIN)	/* a stale one of ours goes there, or this one was lost */
			schedule_timeout_killable(HZ / 20);
	} while (ret == -EAGAIN && time_before(jiffies, deadline) &&
		 !fatal_signal_pending(current));
	if (ret)
		goto out_free;
	x->beat_at = jiffies;
	queue_delayed_work(rxp_wq, &x->heartbeat, HZ);
	return x;

out_free:
	rxp_client_free(x);
	return ERR_PTR(ret == -EAGAIN ? -ETIMEDOUT : ret);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_connect);

/**
 * rdmafs_xprt_fail_outstanding - fail what is outstanding, with -EIO, and go on
 * @x: the session
 *
 * Calls that wait for a reply, for a connection, for translations or for a slot end;
 * calls that are submitted afterwards are served as ever.  Whether a call that had
 * been sent was executed is unknown; its session ends, so that it is not from then on.
 * One that is answered, and waits for the device only, ends with its answer.
 *
 * Any process context.  Waiters are sent away at once; calls that had been sent end
 * when the recovery worker has taken their memory from the device.
 */
void rdmafs_xprt_fail_outstanding(struct rdmafs_xprt *x)
{
	struct rxp_pool *pool;
	bool recover = false;

	spin_lock_bh(&x->lock);
	WRITE_ONCE(x->epoch, x->epoch + 1);
	if (rxp_calls_bound(x))
		recover = rxp_state_move(x, RXP_EV_FAIL);
	pool = x->pool;
	if (pool)
		rxp_pool_get(pool);
	spin_unlock_bh(&x->lock);
	wake_up_all(&x->wait);
	/* They look again whether they are to go on. */
	rxp_slots_kick(&x->slot_account);
	if (pool) {
		rpol_member_dismiss(pool->member, -EAGAIN);
		rxp_pool_put(pool);
	}
	rxp_later_fail(x);
	if (recover)
		mod_delayed_work(rxp_recover_wq, &x->recover, 0);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_fail_outstanding);

/**
 * rdmafs_xprt_abort - fail every call, now and later, with -ESHUTDOWN
 * @x: the session
 *
 * Any process context; does not wait.  What the abort file does.
 */
void rdmafs_xprt_abort(struct rdmafs_xprt *x)
{
	struct rxp_pool *pool;

	spin_lock_bh(&x->lock);
	rxp_state_move(x, RXP_EV_ABORT);
	pool = x->pool;
	if (pool)
		rxp_pool_get(pool);
	spin_unlock_bh(&x->lock);
	wake_up_all(&x->wait);
	rxp_slots_shutdown(&x->slot_account, -ESHUTDOWN);
	if (pool) {
		rpol_member_shutdown(pool->member);
		rxp_pool_put(pool);
	}
	mod_delayed_work(rxp_recover_wq, &x->recover, 0);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_abort);

/**
 * rdmafs_xprt_close - end the session and free it
 * @x: the session; no call is submitted any more
 *
 * Process context.  Waits for calls in flight; a task that is killed meanwhile aborts
 * them.
 */
void rdmafs_xprt_close(struct rdmafs_xprt *x)
{
	struct rxp_conn *conn = NULL;

	rxp_proc_remove(x->proc.dir);
	if (wait_event_killable(x->wait, !READ_ONCE(x->in_flight))) {
		rdmafs_xprt_abort(x);
		wait_event(x->wait, !READ_ONCE(x->in_flight));
	}

	spin_lock_bh(&x->lock);
	if (x->state == RXP_UP) {
		conn = x->conns[0];
		rxp_conn_get(conn);
	}
	rxp_state_move(x, RXP_EV_END);
	spin_unlock_bh(&x->lock);
	cancel_delayed_work_sync(&x->heartbeat);
	if (conn) {
		/* So that the server need not wait for the lease. */
		if (!rxp_ctl_send(conn, RXP_CONTROL, RXP_CONTROL_BYE, NULL, 0))
			rxp_ctl_flush(conn, HZ);
		rxp_conn_put(conn);
	}
	rdmafs_xprt_abort(x);
	/*
	 * The last step is taken here.  To flush the worker is not enough: the
	 * connection's end queues it anew, which takes it from under the flush,
	 * and the connection would outlive us.
	 */
	disable_delayed_work_sync(&x->recover);
	rxp_recover_step(x);
	rxp_later_stop(x);
	rxp_client_free(x);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_close);

/**
 * rdmafs_xprt_set_quota - change a mount's share of the RNIC's translations
 * @x:	   the session
 * @quota: the new one
 *
 * Return: 0; -EINVAL: it can't be: nothing has changed.
 */
int rdmafs_xprt_set_quota(struct rdmafs_xprt *x, const struct rpol_quota *quota)
{
	struct rxp_pool *pool;
	int ret = 0;

	mutex_lock(&x->quota_change);
	pool = rxp_client_proc_pool(x);
	if (pool) {
		ret = rpol_member_set_quota(pool->member, quota);
		rxp_pool_put(pool);
	}
	if (!ret) {
		spin_lock_bh(&x->lock);
		x->quota = *quota;
		spin_unlock_bh(&x->lock);
	}
	mutex_unlock(&x->quota_change);
	return ret;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_set_quota);

/**
 * rdmafs_xprt_get_quota - a mount's share of the RNIC's translations, as it is now
 * @x:	   the session
 * @quota: filled in
 *
 * Any context but hard interrupt.
 */
void rdmafs_xprt_get_quota(struct rdmafs_xprt *x, struct rpol_quota *quota)
{
	spin_lock_bh(&x->lock);
	*quota = x->quota;
	spin_unlock_bh(&x->lock);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_get_quota);

/**
 * rdmafs_xprt_set_reg - change when a mount's large READs register
 * @x:	 the session
 * @reg: from the next READ on
 */
void rdmafs_xprt_set_reg(struct rdmafs_xprt *x, enum rdmafs_xprt_reg reg)
{
	WRITE_ONCE(x->reg, reg);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_set_reg);

/**
 * rdmafs_xprt_data_max - most bytes of data in one call
 * @x: the session
 *
 * Where an MR of the device bounds it, data that begins inside a page must be
 * shorter: it may touch no more pages than that many bytes do.
 *
 * Return: bytes, RDMAFS_XPRT_INLINE_MAX..RDMAFS_XPRT_DATA_MAX.
 */
u32 rdmafs_xprt_data_max(struct rdmafs_xprt *x)
{
	return x->data_max;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_data_max);

/**
 * rdmafs_xprt_read_max - most bytes that a READ should ask for just now
 * @x: the session
 *
 * Less than rdmafs_xprt_data_max() where the mount's quota, or while others
 * wait its entitlement, has no room for an RPC of that size: smaller ones get
 * their turn sooner.  A larger one is not refused unless it could never be
 * granted.
 *
 * Any context but hard interrupt.
 *
 * Return: bytes, RDMAFS_XPRT_INLINE_MAX..RDMAFS_XPRT_DATA_MAX.
 */
u32 rdmafs_xprt_read_max(struct rdmafs_xprt *x)
{
	u32 max = x->data_max, entries;

	spin_lock_bh(&x->lock);
	if (x->pool) {
		entries = rpol_member_room(x->pool->member, x->pool->rdev->max_entries,
					   x->pool->rdev->mr_least);
		/* Data may begin inside a page; a whole MR of the device is for what does not. */
		if (entries < x->pool->rdev->max_entries)
			max = entries > 1 ? (entries - 1) * PAGE_SIZE : 0;
	}
	spin_unlock_bh(&x->lock);
	return clamp_t(u32, max, RDMAFS_XPRT_INLINE_MAX, x->data_max);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_read_max);

/**
 * rdmafs_xprt_connected - is there a connection just now?
 * @x: the session
 *
 * Return: true if there is.
 */
bool rdmafs_xprt_connected(struct rdmafs_xprt *x)
{
	return READ_ONCE(x->state) == RXP_UP;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_connected);
