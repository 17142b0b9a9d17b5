// SPDX-License-Identifier: GPL-2.0
/*
 * Keep the grants that a mount holds: sinks of its server that it may write to without asking,
 * each for one WRITE (the server's grant.c has their whole story).
 *
 * A reply brings a grant, and a WRITE takes it.  The mount returns grants that the server recalls,
 * and those that it has not used for some seconds, several in one message.  A grant ends with the
 * session's connections.  The session's lock guards the list of grants.
 */
#include "transport/client/client.h"
#include "transport/client/trace.h"

/* Trace a step of a grant, in which no WRITE has part. */
#define rxc_grant_trace(step, x, held)						\
do {										\
	const struct rxc_held_grant *t = (held);				\
										\
	trace_rdmafs_held_grant_##step((x)->session, t->conn, t->sink.rkey,	\
				       t->sink.length, 0, 0);			\
} while (0)

/**
 * rxc_grant_keep - keep a grant that a reply brought
 * @x:    the session
 * @conn: the connection that the reply came on
 * @f:    the reply
 *
 * Context: softirq; takes the session's lock.
 * Return: false if there are too many grants, or one with this key is held already.
 */
bool rxc_grant_keep(struct rdmafs_xprt *x, const struct rxp_conn *conn, const struct rxp_frame *f)
{
	struct rxc_held_grant *h;
	bool room;
	u32 i;

	spin_lock_bh(&x->lock);
	room = x->nr_grants < RXP_WIRE_GRANTS;
	for (i = 0; i < x->nr_grants; i++)
		room &= x->grants[i].sink.rkey != f->grant.rkey;
	if (room) {
		h = &x->grants[x->nr_grants++];
		h->sink = f->grant;
		h->conn = conn->index;
		h->recalled = false;
		h->since = jiffies;
		trace_rdmafs_held_grant_given(x->session, h->conn, h->sink.rkey, h->sink.length,
					      f->slot, f->seq);
	}
	spin_unlock_bh(&x->lock);
	return room;
}

/*
 * The grant that a WRITE of @len bytes is to take, or NULL.  It is the smallest that fits, and the
 * youngest of these, so that grants which are not needed grow old and are returned.
 */
static struct rxc_held_grant *rxc_grant_best(struct rdmafs_xprt *x, u32 len)
{
	struct rxc_held_grant *best = NULL;
	u32 i;

	lockdep_assert_held(&x->lock);
	for (i = 0; i < x->nr_grants; i++) {
		struct rxc_held_grant *h = &x->grants[i];

		if (h->sink.length >= len && !h->recalled &&
		    (!best || h->sink.length <= best->sink.length))
			best = h;
	}
	return best;
}

/**
 * rxc_grant_fits - tell whether a WRITE could take a grant now
 * @x:	 the session
 * @len: bytes to be written
 *
 * When the lock is dropped, another WRITE may take the grant, or the server may recall it.
 *
 * Context: any but hard interrupt; the session's lock held.
 * Return: whether rxc_grant_take() would find one.
 */
bool rxc_grant_fits(struct rdmafs_xprt *x, u32 len)
{
	return rxc_grant_best(x, len);
}

/**
 * rxc_grant_take - take a grant for a WRITE, if there is one
 * @x:	  the session
 * @len:  bytes to be written
 * @slot: the WRITE's slot, with the sequence number of the call before
 * @out:  out: the grant, no longer held
 *
 * Context: any but hard interrupt; the session's lock held.
 * Return: whether there was one.
 */
bool rxc_grant_take(struct rdmafs_xprt *x, u32 len, const struct rxc_slot *slot,
		    struct rxc_held_grant *out)
{
	struct rxc_held_grant *best = rxc_grant_best(x, len);

	if (!best)
		return false;
	*out = *best;
	trace_rdmafs_held_grant_used(x->session, out->conn, out->sink.rkey, out->sink.length,
				     slot->index, rxp_seq_next(slot->seq));
	x->nr_grants--;
	memmove(best, best + 1, (x->grants + x->nr_grants - best) * sizeof(*best));
	return true;
}

/**
 * rxc_grants_drop - drop all grants, as the connections are gone
 * @x: the session
 *
 * Context: any but hard interrupt; the session's lock held.
 */
void rxc_grants_drop(struct rdmafs_xprt *x)
{
	u32 i;

	lockdep_assert_held(&x->lock);
	if (trace_rdmafs_held_grant_dropped_enabled())
		for (i = 0; i < x->nr_grants; i++)
			rxc_grant_trace(dropped, x, &x->grants[i]);
	x->nr_grants = 0;
}

/*
 * Return as many grants that were recalled, or came before @old, as one message can name.  False
 * if there are none, or no buffer for a message: the connection's room() is called when there is.
 */
static bool rxc_grants_send_return(struct rdmafs_xprt *x, unsigned long old)
{
	u32 rkeys[RXP_WIRE_KEYS], at[RXP_WIRE_KEYS], nr = 0, i;

	lockdep_assert_held(&x->lock);
	for (i = 0; i < x->nr_grants && nr < RXP_WIRE_KEYS; i++) {
		const struct rxc_held_grant *h = &x->grants[i];

		if (!h->recalled && !time_before(h->since, old))
			continue;
		rkeys[nr] = h->sink.rkey;
		at[nr++] = i;
	}
	if (!nr)
		return false;
	/* Before the server can trace that it came. */
	if (trace_rdmafs_held_grant_returned_enabled())
		for (i = 0; i < nr; i++)
			rxc_grant_trace(returned, x, &x->grants[at[i]]);
	if (rxp_ctl_send_keys(x->conns[0], RXP_CONTROL, RXP_CONTROL_RETURN, rkeys, nr))
		return false;
	/* From the last one on, so that the others stay where they are. */
	for (i = nr; i--;) {
		x->nr_grants--;
		memmove(&x->grants[at[i]], &x->grants[at[i] + 1],
			(x->nr_grants - at[i]) * sizeof(*x->grants));
	}
	rxp_count(&x->stats, returns);
	rxp_add(&x->stats, grants_returned, nr);
	return true;
}

/**
 * rxc_grants_return_due - return grants that were recalled or have not been used for some seconds
 * @x: the session
 *
 * Context: any but hard interrupt; takes the session's lock.
 */
void rxc_grants_return_due(struct rdmafs_xprt *x)
{
	u32 idle_s = rdmafs_test_knob(grant_idle_s) ?: RXP_IDLE_SECS;
	unsigned long old = jiffies - idle_s * HZ;

	spin_lock_bh(&x->lock);
	while (x->nr_conns && rxc_grants_send_return(x, old))
		;
	spin_unlock_bh(&x->lock);
}

/**
 * rxc_recall_arrived - return the grants that a server's RECALL names
 * @x: the session
 * @f: the RECALL
 *
 * A grant that is not held is being used: the server will see the WRITE.
 *
 * Context: softirq; takes the session's lock.
 */
void rxc_recall_arrived(struct rdmafs_xprt *x, const struct rxp_frame *f)
{
	u32 i, k;

	rxp_count(&x->stats, recalls);
	spin_lock_bh(&x->lock);
	for (i = 0; i < x->nr_grants; i++) {
		for (k = 0; k < f->nr_keys; k++) {
			if (x->grants[i].sink.rkey != rxp_frame_key(f, k))
				continue;
			x->grants[i].recalled = true;
			rxc_grant_trace(recalled, x, &x->grants[i]);
		}
	}
	spin_unlock_bh(&x->lock);
	rxc_grants_return_due(x);
}
