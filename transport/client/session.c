// SPDX-License-Identifier: GPL-2.0
/*
 * Make a mount's session, connect it again when a connection is lost, and close it.
 *
 * mount(8) makes the first connections.  After that one worker per mount, @recover, does all of
 * this, so that nothing of it runs twice at once; a party that finds a connection broken only
 * queues the worker.
 *
 * The worker takes all connections from the session, so that no call is posted on them any
 * more, and drains them.  It unmaps the unanswered calls, then tries to connect until that
 * succeeds or the mount is aborted: as with a hard NFS mount there is no other end.  Then it
 * sends the unanswered calls again and lets submitters in.
 *
 * umount -f has the worker fail the calls that were outstanding before it connects again; the
 * deadline of a call has it fail that call (expire.c), and the abort file all calls.  A heartbeat
 * on each connection finds a server that is dead, or that does not take what is sent to it.
 *
 * The states are in state.h; their lock is rdmafs_xprt.lock.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include "transport/client/client.h"

/* When a connection ends that was bound for so long, the count of attempts begins anew. */
#define RXC_STABLE_SECS		2

/* Jiffies until calls that could not be sent again for lack of memory are tried again. */
#define RXC_UNSENT_DELAY	(HZ / 10)

/* A connection ends after so many beats of silence, or of a send queue that stands. */
#define RXC_MISSED_MAX		5

/* ------------------------------------------------------------------- recovery */

/*
 * Run the worker again, after a pause, to try to connect.  If umount -f, a deadline or an abort has
 * queued it meanwhile, it runs at once: mod_delayed_work() with the pause would postpone that run.
 * They change the state, with the lock held, before they queue it.
 */
static void rxc_recover_later(struct rdmafs_xprt *x)
{
	unsigned int delay = rxc_retry_delay(x->attempts, get_random_u32());

	x->attempts++;
	spin_lock_bh(&x->lock);
	if (x->state == RXC_FAILING || x->state == RXC_ABORTED)
		delay = 0;
	mod_delayed_work(rxc_recover_wq, &x->recover, msecs_to_jiffies(delay));
	spin_unlock_bh(&x->lock);
}

/*
 * Take the connections from the session, so that no call is posted on them any more, if one of
 * them is lost or if all calls are to fail.  The session's lock is held.  Returns their number,
 * 0 if none was taken.
 */
static u32 rxc_conns_take(struct rdmafs_xprt *x, struct rxp_conn **conns)
{
	bool lost = x->state == RXC_FAILING || x->state == RXC_ABORTED;
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
	rxc_state_move(x, RXC_EV_LOST);
	return nr;
}

/*
 * End connections that were taken from the session.  All are drained before anything is let go
 * that any of them may have used.
 */
static void rxc_conns_end(struct rdmafs_xprt *x, struct rxp_conn **conns, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		rxp_conn_kill(conns[i]);
	spin_lock_bh(&x->lock);
	rxc_grants_drop(x);
	spin_unlock_bh(&x->lock);
	rxc_calls_unmap_lost(x);
	for (i = 0; i < nr; i++)
		rxc_conn_end(x, conns[i]);
}

/*
 * Let go of the pool if the device is being removed, which waits for that, or if the session is
 * aborted and has no more use for it.
 */
static void rxc_pool_leave(struct rdmafs_xprt *x, bool aborted)
{
	struct rxp_pool *pool = NULL;

	spin_lock_bh(&x->lock);
	if (x->pool && (aborted || READ_ONCE(x->pool->rdev->removed))) {
		pool = x->pool;
		x->pool = NULL;
	}
	spin_unlock_bh(&x->lock);
	if (pool)
		rxc_pool_retire(x, pool);
}

/*
 * End the calls that were outstanding when rdmafs_xprt_fail_outstanding() was called, or whose
 * deadline has passed.  The server may still execute them, or receive them late.  So the session
 * ends with them: the server begins a new one only when it is done with the old one, and no such
 * call is executed after one that follows.
 */
static void rxc_recover_fail(struct rdmafs_xprt *x)
{
	int failed = 0;
	bool more;

	do {
		failed += rxc_calls_fail(x);
		spin_lock_bh(&x->lock);
		/* Others may have been given up meanwhile, which changes nothing in this state. */
		more = rxc_calls_given_up(x);
		if (!more && failed)
			memset(x->session, 0, sizeof(x->session));
		if (!more)
			rxc_state_move(x, RXC_EV_FAILED);
		spin_unlock_bh(&x->lock);
	} while (more);
	wake_up_all(&x->wait);
}

static void rxc_recover_connect(struct rdmafs_xprt *x, bool lost)
{
	int ret;

	/* A connection that dies as soon as it is made counts as a failed attempt. */
	if (lost && time_after(jiffies, x->bound_at + RXC_STABLE_SECS * HZ))
		x->attempts = 0;
	if (lost && x->attempts) {
		rxc_recover_later(x);
		return;
	}
	ret = rxc_connect_once(x, rdmafs_test_knob(step_ms) ?: rxc_retry_step(x->attempts));
	if (!ret) {
		x->attempts++;
		pr_info("rdmafs: %pISpc: connected again\n", &x->addr);
		return;
	}
	if (x->attempts == 3)
		pr_warn("rdmafs: %pISpc: server not responding (%d), still trying; umount -f gives up\n",
			&x->addr, ret);
	rxc_recover_later(x);
}

/*
 * Try again to send the calls that could not be mapped for lack of memory.  They hold only
 * their slots meanwhile.
 */
static void rxc_recover_unsent(struct rdmafs_xprt *x)
{
	/* Only this worker takes connections from the session: no lock is needed. */
	x->unsent = rxc_calls_replay(x, x->conns, x->nr_conns);
	if (x->unsent)
		queue_delayed_work(rxc_recover_wq, &x->recover, RXC_UNSENT_DELAY);
}

/* A step of recovery, by the worker, or by rdmafs_xprt_close() when the worker is disabled. */
static void rxc_recover_step(struct rdmafs_xprt *x)
{
	struct rxp_conn *conns[RDMAFS_XPRT_CONNS_MAX];
	/* Writeback may wait for this worker: no allocation here may wait for writeback. */
	unsigned int noio = memalloc_noio_save();
	enum rxc_session_state state;
	u32 lost, up;

	spin_lock_bh(&x->lock);
	lost = rxc_conns_take(x, conns);
	up = x->nr_conns;
	state = x->state;
	spin_unlock_bh(&x->lock);

	if (lost && state == RXC_DOWN)
		pr_info("rdmafs: %pISpc: connection lost, reconnecting\n", &x->addr);
	if (lost)
		rxc_conns_end(x, conns, lost);
	rxc_pool_leave(x, state == RXC_ABORTED);
	if (state == RXC_FAILING)
		rxc_recover_fail(x);
	if (state == RXC_ABORTED)
		rxc_calls_fail(x);
	else if (state != RXC_ENDED && !up)
		rxc_recover_connect(x, lost);
	else if (up && x->unsent)
		rxc_recover_unsent(x);
	memalloc_noio_restore(noio);
}

static void rxc_recover(struct work_struct *work)
{
	rxc_recover_step(container_of(work, struct rdmafs_xprt, recover.work));
}

/*
 * Has the device been done since the last beat with anything that this connection sends, or
 * with data that another one sends?  Connections may share one link, so data that moves on one
 * may delay the others.  Messages on another connection, PINGs among them, prove nothing for
 * this one.
 */
static bool rxc_conn_moves(const struct rdmafs_xprt *x, const struct rxp_conn *conn)
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
 * Check a connection at a heartbeat, and PING the server if it is silent.  Returns false, with
 * the connection lost, if the server was silent for more than RXC_MISSED_MAX beats, or if the
 * same chain has been the oldest in the send queue for as long.  The session's lock is held.
 *
 * Each connection is checked: an idle one could be dead for long before a call finds out, and
 * the server ends a connection that it hears nothing on for a lease, even if it answers on
 * others.  The send queue is checked as well: a call, and the memory that it holds, ends only
 * behind the chains that stand in front of its own, however much is heard of the server.
 *
 * On a slow link data takes its time, and a server can't answer a PING that waits behind it.
 * So such beats do not count while something moves.  But a server could take a work request now
 * and then just to gain time, so the time is bounded in all by RXC_MISSED_MAX beats for each
 * slot.
 */
static bool rxc_conn_beat(const struct rdmafs_xprt *x, struct rxp_conn *conn)
{
	struct rxc_conn *cc = rxc_conn(conn);
	/*
	 * All of this is read once, and before the PING is sent: the PING itself, and its
	 * answer, are for the next beat to see.
	 */
	bool moves = rxc_conn_moves(x, conn);
	u64 received = READ_ONCE(conn->received);
	u64 sent = READ_ONCE(conn->sent);
	u64 oldest = rxp_send_oldest(conn);
	bool heard = received != cc->seen;
	/* Is the PING in the send queue still? */
	bool behind = cc->pinged && oldest && oldest <= cc->pinged;
	bool same = oldest && oldest == cc->oldest;
	bool beats;

	lockdep_assert_held(&x->lock);
	if (rdmafs_test_fails("client_beat", conn->index)) {
		rxp_conn_lost(conn);
		return true;
	}
	cc->silent = heard ? 0 : cc->silent + 1;
	cc->missed = heard || (behind && moves) ? 0 : cc->missed + 1;
	cc->same = same ? cc->same + 1 : 0;
	cc->stalled_beats = same && !moves ? cc->stalled_beats + 1 : 0;
	if (heard)
		cc->pinged = 0;
	beats = max(cc->missed, cc->stalled_beats) <= RXC_MISSED_MAX &&
		max(cc->silent, cc->same) <= RXC_MISSED_MAX * conn->slots;
	if (!beats) {
		rxp_conn_lost(conn);
	} else if (cc->silent || sent == cc->said) {
		rxp_ctl_send(conn, RXP_CONTROL, RXP_CONTROL_PING, NULL, 0);
		if (!cc->pinged)
			cc->pinged = READ_ONCE(conn->chains);
	}
	cc->seen = received;
	cc->said = sent;
	cc->oldest = oldest;
	return beats;
}

/*
 * The heartbeat of all connections.  A PING is sent if since the last beat nothing has come or
 * nothing was sent.
 *
 * Messages are counted instead of comparing times: the answer to a PING may come within the
 * same jiffy and would then look a beat old.  Beats are counted, not seconds: a machine that
 * stood still must not take that for the server's death.
 */
static void rxc_heartbeat(struct work_struct *work)
{
	struct rdmafs_xprt *x = container_of(work, struct rdmafs_xprt, heartbeat.work);
	unsigned long beat = msecs_to_jiffies(max(READ_ONCE(rxc_heartbeat_ms), 100U)) /
			     RXC_MISSED_MAX;
	unsigned long now = jiffies;
	bool dead = false;
	u32 i;

	spin_lock_bh(&x->lock);
	for (i = 0; x->state == RXC_UP && i < x->nr_conns; i++)
		dead |= !rxc_conn_beat(x, x->conns[i]);
	spin_unlock_bh(&x->lock);
	/*
	 * The time of before the check: data that moves in that jiffy counts for two beats rather
	 * than for none.
	 */
	x->beat_at = now;
	if (dead)
		pr_warn_ratelimited("rdmafs: %pISpc: nothing comes, or goes, for %u ms\n", &x->addr,
				    READ_ONCE(rxc_heartbeat_ms));
	rxc_grants_return_due(x);
	rxc_calls_revoke(x);
	queue_delayed_work(rxp_wq, &x->heartbeat, beat);
}

/* ---------------------------------------------------------------------- member */

static struct rdmafs_xprt *rxc_member_xprt(struct rxp_member *member)
{
	return container_of(member, struct rdmafs_xprt, member);
}

static struct rxp_pool *rxc_member_pool(struct rxp_member *member)
{
	return rxc_session_pool(rxc_member_xprt(member));
}

static int rxc_member_set_quota(struct rxp_member *member, const struct rpol_quota *quota)
{
	/* A mount without a pool connects again, and takes the quota to the pool that it gets. */
	return rxp_member_set_quota(member, quota, true);
}

static void rxc_show_mount(struct seq_file *m, struct rxp_member *member)
{
	struct rdmafs_xprt *x = rxc_member_xprt(member);

	if (x->show_mount)
		x->show_mount(m, x->ctx);
}

static void rxc_show_window(struct seq_file *m, struct rxp_member *member)
{
	static const char * const state[RXC_NR_STATES] = {
		[RXC_CONNECTING] = "connecting",
		[RXC_UP] = "up",
		[RXC_DOWN] = "down",
		[RXC_FAILING] = "failing",
		[RXC_ENDED] = "ended",
		[RXC_ABORTED] = "aborted",
	};
	struct rdmafs_xprt *x = rxc_member_xprt(member);
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
	rxc_io_show_costs(m, x);
	spin_lock_bh(&x->slot_account.lock);
	seq_printf(m, "slots %u\nslots_free %u\nslot_waits %llu\n", x->slot_account.nr,
		   x->slot_account.free, x->slot_account.waits);
	spin_unlock_bh(&x->slot_account.lock);
}

static void rxc_member_abort(struct rxp_member *member)
{
	rdmafs_xprt_abort(rxc_member_xprt(member));
}

static const struct rxp_member_ops rxc_member_ops = {
	.pool = rxc_member_pool,
	.set_quota = rxc_member_set_quota,
	.show_mount = rxc_show_mount,
	.show_window = rxc_show_window,
	.abort = rxc_member_abort,
};

/**
 * rdmafs_xprt_make_dir - make a mount visible in /proc/fs/rdmafs
 * @x:    the session
 * @name: name of the directory: the mount's device number
 * @show: writes the line that describes the mount; called with the @ctx of
 *	rdmafs_xprt_connect()
 *
 * Context: process, may sleep.
 *
 * Return: 0, or -ENOMEM.
 */
int rdmafs_xprt_make_dir(struct rdmafs_xprt *x, const char *name,
			 void (*show)(struct seq_file *m, void *ctx))
{
	x->show_mount = show;
	return rxp_member_make_dir(&x->member, x->net, name);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_make_dir);

/* ----------------------------------------------------------------- life and end */

static void rxc_destroy(struct rdmafs_xprt *x)
{
	u32 i;

	if (x->pool)
		rxp_pool_put(x->pool);
	rxp_stats_wait(&x->stats);
	kvfree(x->slots);
	rxc_slots_destroy(&x->slot_account);
	rxp_ring_destroy(&x->tx_ring);
	for (i = 0; i < ARRAY_SIZE(x->rx_rings); i++)
		rxc_receives_free(&x->rx_rings[i]);
	rxc_io_pools_destroy(x);
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
 * Context: process; sleeps, killably, up to params->connect_ms for each step of each
 * connection, twice that for finding the address and the route.
 *
 * Return: the session, or an ERR_PTR: -EHOSTUNREACH, -ETIMEDOUT (no answer, or connections were
 * lost until params->connect_ms was over), -ECONNREFUSED (no server at the port, or it stops),
 * -EPROTO (not an rdmafs server, or it breaks the protocol), -EPROTONOSUPPORT (another
 * version), -ECONNRESET (the server lost the session while the connections were being made),
 * -EBUSY (it takes no sessions now), -EUSERS (this client has as many connections or sessions
 * there as it may), -ENODEV (no usable RDMA device on the way to it), -ENOSPC (the device's
 * translations are all promised to others), -ENOTCONN (the connection was ended because the
 * server broke the protocol), -EINVAL (@params are out of range, or the server offers
 * impossible sizes), -ENOMEM, -EINTR.
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
	x->reg = params->reg;
	rdmafs_xprt_set_poll(x, params->poll_us);
	spin_lock_init(&x->lock);
	mutex_init(&x->member.lock);
	rxp_member_init(&x->member, &rxc_member_ops, &x->addr, &x->stats, &params->quota);
	init_waitqueue_head(&x->wait);
	INIT_DELAYED_WORK(&x->recover, rxc_recover);
	INIT_DELAYED_WORK(&x->heartbeat, rxc_heartbeat);
	rxc_deferred_init(x);
	rxc_expire_init(x);
	get_random_bytes(x->client, sizeof(x->client));

	ret = rxc_io_pools_init(x);
	if (ret)
		goto out_free;
	do {
		ret = rxc_connect_once(x, params->connect_ms);
		if (ret == -EAGAIN)	/* a stale connection there, or this one was lost */
			schedule_timeout_killable(HZ / 20);
	} while (ret == -EAGAIN && time_before(jiffies, deadline) &&
		 !fatal_signal_pending(current));
	if (ret)
		goto out_free;
	x->beat_at = jiffies;
	queue_delayed_work(rxp_wq, &x->heartbeat, HZ);
	return x;

out_free:
	rxc_destroy(x);
	return ERR_PTR(ret == -EAGAIN ? -ETIMEDOUT : ret);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_connect);

/**
 * rdmafs_xprt_fail_outstanding - fail the outstanding calls with -EIO, and go on
 * @x: the session
 *
 * Calls end that wait for a reply, for a connection, for translations or for a slot; calls that
 * are submitted afterwards are served as ever.  It is unknown whether a call that had been sent
 * was executed; its session ends, so that it is not executed from then on.  A call that is
 * answered, and waits only for the device, ends with its answer.
 *
 * Waiters are dismissed at once.  Calls that had been sent end when the recovery worker has
 * taken their memory from the device.
 *
 * Context: process; does not wait for the calls.
 */
void rdmafs_xprt_fail_outstanding(struct rdmafs_xprt *x)
{
	bool recover = false;

	spin_lock_bh(&x->lock);
	WRITE_ONCE(x->epoch, x->epoch + 1);
	if (rxc_calls_in_slots(x))
		recover = rxc_state_move(x, RXC_EV_FAIL);
	spin_unlock_bh(&x->lock);
	rxc_waiters_dismiss(x);
	if (recover)
		mod_delayed_work(rxc_recover_wq, &x->recover, 0);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_fail_outstanding);

/**
 * rdmafs_xprt_abort - fail every call, now and later, with -ESHUTDOWN
 * @x: the session
 *
 * This is what the abort file in /proc does.
 *
 * Context: process; does not wait for the calls.
 */
void rdmafs_xprt_abort(struct rdmafs_xprt *x)
{
	struct rxp_pool *pool;

	spin_lock_bh(&x->lock);
	rxc_state_move(x, RXC_EV_ABORT);
	spin_unlock_bh(&x->lock);
	wake_up_all(&x->wait);
	/* A call that waits at a pool which the session has just left begins anew, and ends. */
	pool = rxc_session_pool(x);
	rxc_slots_shutdown(&x->slot_account, -ESHUTDOWN);
	if (pool) {
		rpol_member_shutdown(pool->member);
		rxp_pool_put(pool);
	}
	mod_delayed_work(rxc_recover_wq, &x->recover, 0);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_abort);

/**
 * rdmafs_xprt_close - end the session and free it
 * @x: the session; no call is submitted any more
 *
 * Context: process; sleeps until the calls in flight are over.  If the task is killed
 * meanwhile, they are aborted.
 */
void rdmafs_xprt_close(struct rdmafs_xprt *x)
{
	struct rxp_conn *conn = NULL;

	rxp_proc_remove(x->member.dir);
	if (wait_event_killable(x->wait, !READ_ONCE(x->in_flight))) {
		rdmafs_xprt_abort(x);
		wait_event(x->wait, !READ_ONCE(x->in_flight));
	}

	spin_lock_bh(&x->lock);
	if (x->state == RXC_UP) {
		conn = x->conns[0];
		rxp_conn_get(conn);
	}
	rxc_state_move(x, RXC_EV_END);
	spin_unlock_bh(&x->lock);
	cancel_delayed_work_sync(&x->heartbeat);
	if (conn) {
		/* Say BYE, so that the server need not wait for the lease to end the session. */
		if (!rxp_ctl_send(conn, RXP_CONTROL, RXP_CONTROL_BYE, NULL, 0))
			rxp_ctl_flush(conn, HZ);
		rxp_conn_put(conn);
	}
	rdmafs_xprt_abort(x);
	/*
	 * The worker's last step is taken here.  It is not enough to flush the worker: the end
	 * of a connection queues it once more, and a flush could return before that run has
	 * freed the connection, which then would outlive @x.
	 */
	disable_delayed_work_sync(&x->recover);
	rxc_recover_step(x);
	rxc_deferred_exit(x);
	rxc_expire_exit(x);
	rxc_destroy(x);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_close);

/**
 * rdmafs_xprt_set_quota - change a mount's share of the RNIC's translations
 * @x:     the session
 * @quota: the new one
 *
 * Context: process; takes the member's lock, whose holder waits for nothing.
 *
 * Return: 0; or -EINVAL if the device can't keep it: nothing has changed.
 */
int rdmafs_xprt_set_quota(struct rdmafs_xprt *x, const struct rpol_quota *quota)
{
	return rxc_member_set_quota(&x->member, quota);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_set_quota);

/**
 * rdmafs_xprt_get_quota - read a mount's share of the RNIC's translations
 * @x:     the session
 * @quota: filled in
 *
 * Context: process; takes the member's lock, whose holder waits for nothing.
 */
void rdmafs_xprt_get_quota(struct rdmafs_xprt *x, struct rpol_quota *quota)
{
	rxp_member_get_quota(&x->member, quota);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_get_quota);

/**
 * rdmafs_xprt_set_reg - change when a mount's large READs register
 * @x:   the session
 * @reg: from the next READ on
 *
 * Context: any.
 */
void rdmafs_xprt_set_reg(struct rdmafs_xprt *x, enum rdmafs_xprt_reg reg)
{
	WRITE_ONCE(x->reg, reg);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_set_reg);

/**
 * rdmafs_xprt_data_max - read how much data one call may have
 * @x: the session
 *
 * Where the size of the device's MRs is the bound, data that begins inside a page must be
 * shorter: it may touch no more pages than so many bytes of whole pages.
 *
 * Context: any.
 *
 * Return: bytes, RDMAFS_XPRT_INLINE_MAX..RDMAFS_XPRT_DATA_MAX.
 */
u32 rdmafs_xprt_data_max(struct rdmafs_xprt *x)
{
	return x->data_max;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_data_max);

/**
 * rdmafs_xprt_read_max - find how much a READ should ask for just now
 * @x: the session
 *
 * That is less than rdmafs_xprt_data_max() if the mount's quota (or its entitlement, while
 * other members wait) has no room for an RPC of that size: smaller READs get their turn sooner.
 * A larger READ is refused only if it could never be granted.
 *
 * Context: any but hard interrupt.
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
		/*
		 * Data may begin inside a page, which takes one entry more.  Where a whole MR
		 * of the device fits, the caller has to see to that (rdmafs_xprt_data_max()).
		 */
		if (entries < x->pool->rdev->max_entries)
			max = entries > 1 ? (entries - 1) * PAGE_SIZE : 0;
	}
	spin_unlock_bh(&x->lock);
	return clamp_t(u32, max, RDMAFS_XPRT_INLINE_MAX, x->data_max);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_read_max);

/**
 * rdmafs_xprt_connected - test whether the mount has connections just now
 * @x: the session
 *
 * Context: any.
 *
 * Return: true if it has.
 */
bool rdmafs_xprt_connected(struct rdmafs_xprt *x)
{
	return READ_ONCE(x->state) == RXC_UP;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_connected);

/**
 * rdmafs_xprt_aborted - test whether every call fails, now and later
 * @x: the session
 *
 * Context: any.
 *
 * Return: true if it was aborted, by rdmafs_xprt_abort() or by way of /proc.
 */
bool rdmafs_xprt_aborted(struct rdmafs_xprt *x)
{
	return READ_ONCE(x->state) == RXC_ABORTED;
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_aborted);

/**
 * rdmafs_xprt_count_lost - count a call that ended with -EREMOTEIO, by what became of it
 * @x:    the session
 * @lost: what its maker has found out
 *
 * Context: any.
 */
void rdmafs_xprt_count_lost(struct rdmafs_xprt *x, enum rdmafs_xprt_lost lost)
{
	switch (lost) {
	case RDMAFS_XPRT_LOST_DONE:
		rxp_count(&x->stats, lost_done);
		break;
	case RDMAFS_XPRT_LOST_AGAIN:
		rxp_count(&x->stats, lost_again);
		break;
	case RDMAFS_XPRT_LOST_UNKNOWN:
		rxp_count(&x->stats, lost_unknown);
		break;
	}
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_count_lost);
