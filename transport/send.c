// SPDX-License-Identifier: GPL-2.0
/*
 * Sending on a connection.
 *
 * A sender hands over a chain of prebuilt work requests.  If the send queue has room, the chain
 * is posted with one doorbell.  Otherwise it is queued on the connection, in order, and posted by
 * the send completion that makes room; no thread waits.  A chain's last work request is signaled,
 * and its completion frees the room of the whole chain.
 *
 * A *quiet* chain is one SEND of a message whose buffer lives as long as the connection, so no
 * caller needs to know when the device is done with it.  It is posted unsignaled, and is over as
 * soon as it is posted.  Its room is freed by the next signaled chain.  If quiet chains take up a
 * quarter of the send queue before a signaled chain comes, the last of them is signaled, only to
 * free their room; it too is over when it is posted.  (A completion comes later than the reply,
 * and a caller that waited for both would wait longer.)
 *
 * Under load, one task makes many small messages before it sleeps: the calls of one io_submit(),
 * or the replies to one burst of requests.  Such a task has plugged its I/O (blk_start_plug()),
 * as for a disk.  The chains that it posts by rxp_post_plugged() go out together, with one
 * doorbell, when it unplugs or sleeps; their messages are joined into one as far as they fit into
 * one of the peer's receives.  WRITEs into granted sinks and replies with data go out in the same
 * way, and their data goes before all messages.
 *
 * Ownership: a chain and the memory that its work requests name belong to the connection from
 * rxp_post*() until done() is called.  Lock: rxp_conn.sq_lock guards the send queue, @pending and
 * @posted.  done(), ops->lost() and ops->room() are called without it.
 */
#include <linux/blkdev.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "transport/internal.h"

static void rxp_wc_chain(struct ib_cq *cq, struct ib_wc *wc);

/**
 * rxp_chain_init - begin an empty chain
 * @chain: the chain to initialise
 * @done:  called once, when the device is done with the chain
 *
 * Context: any.
 */
void rxp_chain_init(struct rxp_chain *chain,
		    void (*done)(struct rxp_chain *chain, bool ok))
{
	chain->cqe.done = rxp_wc_chain;
	chain->conn = NULL;
	chain->mr = NULL;
	chain->inv = false;
	chain->first = NULL;
	chain->last = NULL;
	chain->nr = 0;
	chain->quiet = false;
	chain->done = done;
}

/**
 * rxp_chain_quiet - mark a chain quiet if no caller needs to know when it is done
 * @conn:  the connection that it will be posted on
 * @chain: a complete chain.  If it is only a SEND, its message must be in a buffer that stays
 *	   mapped until the connection is destroyed.  The buffer may be written again only after
 *	   the peer has shown that it got the message: if the device sends it once more after
 *	   that, the peer drops it without looking at its contents.
 * @bytes: length of the message
 *
 * A device that sends unsignaled pages by reference may hand them to TCP long after the connection
 * and its mapping are gone.  There, a message of a page or more is not made quiet.
 *
 * Context: any, also while the connection is being destroyed.
 */
void rxp_chain_quiet(const struct rxp_conn *conn, struct rxp_chain *chain, u32 bytes)
{
	chain->quiet = chain->nr == 1 && (bytes < PAGE_SIZE || !conn->by_reference);
}

/**
 * rxp_chain_add - append a work request
 * @chain: not posted yet
 * @wr:    must stay valid until the chain is posted
 *
 * Context: any; the caller owns @chain.
 */
void rxp_chain_add(struct rxp_chain *chain, struct ib_send_wr *wr)
{
	wr->next = NULL;
	wr->send_flags &= ~IB_SEND_SIGNALED;
	if (chain->last)
		chain->last->next = wr;
	else
		chain->first = wr;
	chain->last = wr;
	chain->nr++;
}

/**
 * rxp_chain_reg - append the registration of an MR
 * @chain: not posted yet; its last work request will be signaled, so it must not be a quiet one
 * @mr:    idle until the chain is posted; at most one MR for each chain
 * @wr:    the REG_MR, as rxp_mr_map() prepared it
 *
 * Context: any; the caller owns @chain and @mr.
 */
void rxp_chain_reg(struct rxp_chain *chain, struct rxp_mr *mr, struct ib_reg_wr *wr)
{
	chain->mr = mr;
	rxp_chain_add(chain, &wr->wr);
}

/*
 * A chain enters a live connection: it is posted now or later, and its done() will be called.
 * @conn->sq_lock held.
 */
static void rxp_chain_enter(struct rxp_conn *conn, struct rxp_chain *chain)
{
	lockdep_assert_held(&conn->sq_lock);
	chain->conn = conn;
	chain->serial = ++conn->chains;
	chain->since = jiffies;
	if (chain->mr && !chain->inv)
		rxp_mr_posted(chain->mr, conn);
}

/* End a chain.  When this returns, its owner may have used it again or freed it. */
static void rxp_chain_finish(struct rxp_chain *chain, bool ok)
{
	if (chain->mr)
		rxp_mr_chain_done(chain->mr, chain->inv, ok);
	chain->done(chain, ok);
}

/* Take a chain's room in the send queue, and arrange for its completion to give that back. */
static void rxp_chain_ready(struct rxp_conn *conn, struct rxp_chain *chain)
{
	struct ib_send_wr *wr;

	for (wr = chain->first; wr; wr = wr->next) {
		wr->wr_cqe = &conn->err_cqe;
		if (wr->opcode == IB_WR_SEND || wr->opcode == IB_WR_SEND_WITH_INV) {
			rxp_count(conn->stats, msgs_sent);
			WRITE_ONCE(conn->sent, conn->sent + 1);
		}
		/*
		 * On any iWARP device, as TCP never gives up a peer that lives but takes nothing:
		 * only a completion of each RDMA WRITE tells us whether data still moves
		 * (rxp_send_stalled()).  It also keeps a device from sending by reference, which
		 * might go on when the chain is done.
		 */
		if (wr->opcode == IB_WR_RDMA_WRITE && conn->rdev->tells_writes)
			wr->send_flags |= IB_SEND_SIGNALED;
	}
	conn->sq_free -= chain->nr;
	if (chain->quiet && ++conn->sq_quiet < conn->sq_quiet_max)
		return;
	chain->last->send_flags |= IB_SEND_SIGNALED;
	if (chain->quiet) {
		chain->last->wr_cqe = &conn->quiet_cqe;
	} else {
		chain->last->wr_cqe = &chain->cqe;
		chain->frees = chain->nr + conn->sq_quiet;
	}
	conn->sq_quiet = 0;
}

static enum rxp_posted rxp_post_locked(struct rxp_conn *conn, struct rxp_chain *chain)
{
	const struct ib_send_wr *bad;

	lockdep_assert_held(&conn->sq_lock);
	rxp_chain_ready(conn, chain);
	rxp_count(conn->stats, doorbells);
	if (!chain->quiet)
		list_add_tail(&chain->link, &conn->posted);
	if (likely(!ib_post_send(conn->qp, chain->first, &bad)))
		return chain->quiet ? RXP_POSTED_OVER : RXP_POSTED;
	/* Part of the chain may be on its way: it is over only when the QP is destroyed. */
	if (chain->quiet)
		list_add_tail(&chain->link, &conn->posted);
	return RXP_POSTED_LOST;
}

/**
 * rxp_post_or_queue - post a chain, or queue it until there is room
 * @conn:  the connection, not dead
 * @chain: as for rxp_post()
 *
 * Context: any but hard interrupt; @conn->sq_lock held.
 *
 * Return: what the caller has to do once it has dropped the lock.
 */
enum rxp_posted rxp_post_or_queue(struct rxp_conn *conn, struct rxp_chain *chain)
{
	rxp_chain_enter(conn, chain);
	if (list_empty(&conn->pending) && chain->nr <= conn->sq_free)
		return rxp_post_locked(conn, chain);
	list_add_tail(&chain->link, &conn->pending);
	return RXP_POSTED;
}

/**
 * rxp_post - post a chain, now or as soon as the send queue has room
 * @conn:  the connection
 * @chain: at least one work request, at most three quarters of the send queue
 *
 * Context: any but hard interrupt; does not sleep.  Takes @conn->sq_lock; may call done() and
 * ops->lost().
 *
 * Return: 0: done() will be called once; if the chain is quiet, that may have happened already.
 * -ENOTCONN: the connection is dead, the chain was not touched, and done() will not be called.
 */
int rxp_post(struct rxp_conn *conn, struct rxp_chain *chain)
{
	enum rxp_posted posted;

	spin_lock_bh(&conn->sq_lock);
	if (rxp_conn_is_dead(conn)) {
		spin_unlock_bh(&conn->sq_lock);
		return -ENOTCONN;
	}
	posted = rxp_post_or_queue(conn, chain);
	spin_unlock_bh(&conn->sq_lock);
	if (posted == RXP_POSTED_OVER)
		rxp_chain_finish(chain, true);
	else if (posted == RXP_POSTED_LOST)
		rxp_conn_lost(conn);
	return 0;
}

/**
 * rxp_post_behind - post a chain that must not end before those posted earlier
 * @conn:  the connection, dead or alive
 * @chain: not a quiet one
 *
 * On a dead connection the chain is not posted.  It is given back, with ok = false, after all
 * chains that were posted.
 *
 * Context: any but hard interrupt; does not sleep.  Takes @conn->sq_lock.
 *
 * Return: 0: done() will be called once.  -ENOTCONN: all chains of the connection are over, this
 * one was not touched, and done() will not be called.
 */
int rxp_post_behind(struct rxp_conn *conn, struct rxp_chain *chain)
{
	enum rxp_posted posted = RXP_POSTED;
	bool over;

	spin_lock_bh(&conn->sq_lock);
	over = conn->over;
	if (!over && !rxp_conn_is_dead(conn)) {
		posted = rxp_post_or_queue(conn, chain);
	} else if (!over) {
		chain->conn = conn;
		list_add_tail(&chain->link, &conn->pending);
	}
	spin_unlock_bh(&conn->sq_lock);
	if (posted == RXP_POSTED_LOST)
		rxp_conn_lost(conn);
	return over ? -ENOTCONN : 0;
}

/* The chains that a task has handed over plugged, and that are not posted yet. */
struct rxp_plug {
	struct blk_plug_cb cb;
	struct list_head chains;	/* zeroed until the first chain, which counts in @plugged */
	u32 bytes;			/* in the RDMA WRITEs of @chains */
};

static void rxp_chains_done(struct list_head *list, bool ok)
{
	struct rxp_chain *chain, *tmp;

	list_for_each_entry_safe(chain, tmp, list, link) {
		list_del(&chain->link);
		rxp_chain_finish(chain, ok);
	}
}

/**
 * rxp_send_limit - from now on messages may be joined into one
 * @conn: conn->cm holds what the peer said of its receives
 *
 * Where a device sends pages by reference, a joined message stays below a page, as a single one
 * has to (rxp_chain_quiet()).
 *
 * Context: any, before anything but the HELLO is sent.
 */
void rxp_send_limit(struct rxp_conn *conn)
{
	conn->join_max = le32_to_cpu(conn->cm.recv_size);
	if (conn->by_reference)
		conn->join_max = min_t(u32, conn->join_max, PAGE_SIZE - 1);
}

static u32 rxp_send_bytes(const struct ib_send_wr *wr)
{
	u32 bytes = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	return bytes;
}

/*
 * Join @wr's message to @head's, which is not posted yet, if there is room for it.  @head's list
 * of entries moves to conn->joined, where it can grow: it is the last list there, and *@used
 * counts the entries of all lists there.  @conn->sq_lock held.
 */
static bool rxp_send_join(struct rxp_conn *conn, struct ib_send_wr *head,
			  const struct ib_send_wr *wr, u32 *used)
{
	struct ib_sge *sge = conn->joined + *used;
	bool moved = head->sg_list >= conn->joined && head->sg_list < sge;
	u32 more = wr->num_sge + (moved ? 0 : head->num_sge);

	lockdep_assert_held(&conn->sq_lock);
	if (head->opcode != IB_WR_SEND || wr->opcode != IB_WR_SEND ||
	    head->num_sge + wr->num_sge > conn->send_sge ||
	    *used + more > ARRAY_SIZE(conn->joined) ||
	    rxp_send_bytes(head) + rxp_send_bytes(wr) > conn->join_max)
		return false;
	if (!moved) {
		memcpy(sge, head->sg_list, head->num_sge * sizeof(*sge));
		head->sg_list = sge;
		sge += head->num_sge;
	}
	memcpy(sge, wr->sg_list, wr->num_sge * sizeof(*sge));
	head->num_sge += wr->num_sge;
	*used += more;
	return true;
}

/*
 * Post with one doorbell as many of the chains in @list as there is room for, and move the quiet
 * ones to @over.  Messages that fit into one receive of the peer's are joined into one.
 *
 * The RDMA WRITEs of all chains come first.  So the peer gets the messages in one burst and is
 * woken once for it, and its replies form a burst again.  A chain's last completion still covers
 * its WRITEs, as the queue pair executes in order.
 *
 * Returns false if the connection is lost.  @conn is alive, its sq_lock held.
 */
static bool rxp_post_together(struct rxp_conn *conn, struct list_head *list,
			      struct list_head *over)
{
	struct ib_send_wr *writes = NULL, **writes_end = &writes;
	struct ib_send_wr *sends = NULL, **sends_end = &sends;
	struct rxp_chain *chain, *tmp;
	struct ib_send_wr *last = NULL;
	const struct ib_send_wr *bad;
	bool joins = false;
	u32 used = 0;

	lockdep_assert_held(&conn->sq_lock);
	if (!list_empty(&conn->pending))
		return true;
	list_for_each_entry_safe(chain, tmp, list, link) {
		struct ib_send_wr *wr = chain->first;

		if (joins && chain->quiet && rxp_send_join(conn, last, wr, &used)) {
			rxp_count(conn->stats, msgs_joined);
			list_move_tail(&chain->link, over);
			continue;
		}
		if (chain->nr > conn->sq_free)
			break;
		rxp_chain_ready(conn, chain);
		list_move_tail(&chain->link, chain->quiet ? over : &conn->posted);
		joins = chain->quiet;
		for (; wr != chain->last && wr->opcode == IB_WR_RDMA_WRITE; wr = wr->next) {
			*writes_end = wr;
			writes_end = &wr->next;
		}
		*sends_end = wr;
		last = chain->last;
		sends_end = &last->next;
	}
	if (!sends)
		return true;
	*writes_end = sends;
	rxp_count(conn->stats, doorbells);
	if (likely(!ib_post_send(conn->qp, writes, &bad)))
		return true;
	/* As in rxp_post_locked(): the quiet ones too are over only when the QP is destroyed. */
	list_splice_tail_init(over, &conn->posted);
	return false;
}

/*
 * Post chains that wait for room, in order, as far as there is room.  Quiet ones go to @over.
 * Returns false if the connection is lost.  @conn is alive, its sq_lock held.
 */
static bool rxp_post_pending(struct rxp_conn *conn, struct list_head *over)
{
	struct rxp_chain *chain, *tmp;

	lockdep_assert_held(&conn->sq_lock);
	list_for_each_entry_safe(chain, tmp, &conn->pending, link) {
		if (chain->nr > conn->sq_free)
			return true;
		list_del(&chain->link);
		switch (rxp_post_locked(conn, chain)) {
		case RXP_POSTED:
			break;
		case RXP_POSTED_OVER:
			list_add_tail(&chain->link, over);
			break;
		case RXP_POSTED_LOST:
			return false;
		}
	}
	return true;
}

/*
 * Post the chains that a task has plugged.  Afterwards each is posted, over, or waiting for room;
 * on a dead connection all end with ok = false.
 */
static void rxp_plug_post(struct rxp_conn *conn, struct rxp_plug *plug)
{
	bool lost = false;
	LIST_HEAD(over);

	plug->bytes = 0;
	spin_lock_bh(&conn->sq_lock);
	if (!rxp_conn_is_dead(conn)) {
		lost = !rxp_post_together(conn, &plug->chains, &over);
		list_splice_tail_init(&plug->chains, &conn->pending);
		if (!lost)
			lost = !rxp_post_pending(conn, &over);
	}
	spin_unlock_bh(&conn->sq_lock);
	if (lost)
		rxp_conn_lost(conn);
	rxp_chains_done(&over, true);
	rxp_chains_done(&plug->chains, false);
}

/* Process context; must not sleep, as the task may be about to. */
static void rxp_unplug(struct blk_plug_cb *cb, bool from_schedule)
{
	struct rxp_plug *plug = container_of(cb, struct rxp_plug, cb);
	struct rxp_conn *conn = cb->data;

	/* Without chains, @conn was dead when this was made, and it may be freed by now. */
	if (plug->chains.next) {
		rxp_plug_post(conn, plug);

		spin_lock_bh(&conn->sq_lock);
		conn->plugged--;
		/*
		 * rxp_conn_kill() takes this lock once more after it has seen @plugged 0: @conn
		 * stays until then.
		 */
		spin_unlock_bh(&conn->sq_lock);
		/*
		 * Pairs with the waiter in rxp_conn_kill(), which queues itself before it reads
		 * @plugged: wake_up_var() looks for waiters without a lock, and uses only the
		 * address.
		 */
		smp_mb();
		wake_up_var(&conn->plugged);
	}
	kfree(plug);
}

/* Bytes that a chain's RDMA WRITEs write. */
static u32 rxp_chain_data(const struct rxp_chain *chain)
{
	const struct ib_send_wr *wr;
	u32 bytes = 0;

	for (wr = chain->first; wr && wr->opcode == IB_WR_RDMA_WRITE; wr = wr->next)
		bytes += rxp_send_bytes(wr);
	return bytes;
}

/**
 * rxp_post_plugged - post a chain when the task unplugs; at once if it has not plugged
 * @conn:  the connection
 * @chain: as for rxp_post(); nothing that must come after it may be posted before the unplug
 *
 * Data of RXP_PLUG_MAX bytes or more is posted without waiting for the unplug.
 *
 * Context: process; does not sleep.  Takes @conn->sq_lock.
 *
 * Return: as rxp_post().
 */
int rxp_post_plugged(struct rxp_conn *conn, struct rxp_chain *chain)
{
	struct blk_plug_cb *cb;
	struct rxp_plug *plug;
	bool dead;

	cb = blk_check_plugged(rxp_unplug, conn, sizeof(*plug));
	if (!cb)
		return rxp_post(conn, chain);
	plug = container_of(cb, struct rxp_plug, cb);
	spin_lock_bh(&conn->sq_lock);
	dead = rxp_conn_is_dead(conn);
	if (!dead && !plug->chains.next) {
		INIT_LIST_HEAD(&plug->chains);
		/*
		 * A count and not a reference: a task about to sleep must not drop the last
		 * reference, as that may sleep.
		 */
		conn->plugged++;
	}
	if (!dead) {
		rxp_chain_enter(conn, chain);
		list_add_tail(&chain->link, &plug->chains);
		plug->bytes += rxp_chain_data(chain);
	}
	spin_unlock_bh(&conn->sq_lock);
	if (plug->bytes >= RXP_PLUG_MAX)
		rxp_plug_post(conn, plug);
	return dead ? -ENOTCONN : 0;
}

/*
 * Give the send queue room for @frees more work requests, and post chains that wait for room
 * unless the connection is @lost.  @chain is the one that has completed, or NULL.
 */
static void rxp_sq_room(struct rxp_conn *conn, struct rxp_chain *chain, u32 frees, bool lost)
{
	LIST_HEAD(over);

	rxp_count(conn->stats, send_completions);
	spin_lock_bh(&conn->sq_lock);
	if (chain)
		list_del(&chain->link);
	conn->sq_free += frees;
	WRITE_ONCE(conn->moved, jiffies);
	if (chain && chain->first->opcode == IB_WR_RDMA_WRITE)
		WRITE_ONCE(conn->data_moved, jiffies);
	if (!lost && !rxp_conn_is_dead(conn))
		lost = !rxp_post_pending(conn, &over);
	spin_unlock_bh(&conn->sq_lock);
	if (lost)
		rxp_conn_lost(conn);
	rxp_chains_done(&over, true);
}

static void rxp_wc_chain(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rxp_chain *chain = container_of(wc->wr_cqe, struct rxp_chain, cqe);
	bool ok = wc->status == IB_WC_SUCCESS;

	/* For tests: as if no completion had come.  The chain stays until its connection ends. */
	if (rdmafs_test_fails("wc_chain", chain->conn->slots))
		return;
	rxp_sq_room(chain->conn, chain, chain->frees, !ok);
	rxp_chain_finish(chain, ok);
}

/* Frees the room of the @sq_quiet_max quiet chains before the signaled one, with its own. */
static void rxp_wc_quiet(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rxp_conn *conn = container_of(wc->wr_cqe, struct rxp_conn, quiet_cqe);

	rxp_sq_room(conn, NULL, conn->sq_quiet_max, wc->status != IB_WC_SUCCESS);
}

/*
 * A work request inside a chain, or an unsignaled quiet one, has failed; or, on iWARP, an RDMA
 * WRITE has been executed.
 */
static void rxp_wc_err(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rxp_conn *conn = container_of(wc->wr_cqe, struct rxp_conn, err_cqe);

	if (wc->status != IB_WC_SUCCESS) {
		rxp_conn_lost(conn);
		return;
	}
	WRITE_ONCE(conn->moved, jiffies);
	WRITE_ONCE(conn->data_moved, jiffies);
}

/**
 * rxp_send_init - initialise the sending side of a connection
 * @conn: being allocated
 *
 * Context: any; @conn is not shared yet.
 */
void rxp_send_init(struct rxp_conn *conn)
{
	spin_lock_init(&conn->sq_lock);
	INIT_LIST_HEAD(&conn->pending);
	INIT_LIST_HEAD(&conn->posted);
	conn->err_cqe.done = rxp_wc_err;
	conn->quiet_cqe.done = rxp_wc_quiet;
	conn->moved = jiffies;
	conn->data_moved = jiffies;
}

static const struct rxp_chain *rxp_send_first(struct rxp_conn *conn)
{
	lockdep_assert_held(&conn->sq_lock);
	return list_first_entry_or_null(&conn->posted, struct rxp_chain, link) ?:
	       list_first_entry_or_null(&conn->pending, struct rxp_chain, link);
}

/**
 * rxp_send_oldest - find the chain that the device is to complete next
 * @conn: the connection
 *
 * Quiet chains have no waiter, so they do not count unless they have to wait for room.
 *
 * Context: any but hard interrupt; takes @conn->sq_lock.
 *
 * Return: the chain's serial number, which is unique on this connection; 0 if there is none.
 */
u64 rxp_send_oldest(struct rxp_conn *conn)
{
	const struct rxp_chain *chain;
	u64 serial;

	spin_lock_bh(&conn->sq_lock);
	chain = rxp_send_first(conn);
	serial = chain ? chain->serial : 0;
	spin_unlock_bh(&conn->sq_lock);
	return serial;
}

/**
 * rxp_send_stalled - has the peer let the oldest chain stand for too long?
 * @conn:   the connection
 * @before: in jiffies: the chain was handed over before this time, and nothing of the connection
 *	    has completed since; on iWARP each RDMA WRITE counts as a completion
 * @ever:   in jiffies: or the chain was handed over before this time, whatever has completed
 *
 * Quiet chains count as in rxp_send_oldest().
 *
 * Context: any but hard interrupt; takes @conn->sq_lock.
 *
 * Return: the chain's serial number if either is true, else 0.
 */
u64 rxp_send_stalled(struct rxp_conn *conn, unsigned long before, unsigned long ever)
{
	const struct rxp_chain *chain;
	u64 serial = 0;

	spin_lock_bh(&conn->sq_lock);
	chain = rxp_send_first(conn);
	if (chain && (time_before(chain->since, ever) ||
		      (time_before(chain->since, before) &&
		       time_before(READ_ONCE(conn->moved), before))))
		serial = chain->serial;
	spin_unlock_bh(&conn->sq_lock);
	return serial;
}

/**
 * rxp_send_end - give back the chains that have had no completion and will have none
 * @conn: dead; its queues are destroyed
 *
 * There are chains that were not posted, or only in part, and chains that siw has dropped
 * silently: after a failed send, siw can be idle with work left in its queue, and a QP that goes
 * to ERROR by way of CLOSING does not flush that (siw_qp_nextstate_from_close() in 6.12).  A
 * chain that rxp_post_behind() adds meanwhile is given back after the others.
 *
 * Context: process; takes @conn->sq_lock, and calls done() without it.
 */
void rxp_send_end(struct rxp_conn *conn)
{
	LIST_HEAD(list);

	spin_lock_bh(&conn->sq_lock);
	while (!list_empty(&conn->posted) || !list_empty(&conn->pending)) {
		list_splice_init(&conn->posted, &list);
		list_splice_tail_init(&conn->pending, &list);
		spin_unlock_bh(&conn->sq_lock);
		rxp_chains_done(&list, false);
		spin_lock_bh(&conn->sq_lock);
	}
	conn->over = true;
	spin_unlock_bh(&conn->sq_lock);
}
