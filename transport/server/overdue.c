// SPDX-License-Identifier: GPL-2.0
/*
 * Clients that hold what they do not use.
 *
 * Translations of a sink are lent to a client until it has sent the data that it announced.  If it
 * has not after the grace period T, and others wait for translations of the device, its
 * connections end, and the sink's key with them.
 *
 * They also end, whether others wait or not, if a client keeps memory for long: it fills no sink,
 * does not ask for a held reply, or does not take a reply that was sent.  How long that may be is
 * not T but a limit of the port, held_ms (limits.c).
 *
 * And they end if grants that were recalled do not come back (grant.c).
 */
#include "transport/server/server.h"

/*
 * Does a request wait for the client since before @before?  WAITING: the client's data has not
 * come.  INVALIDATING: our LOCAL_INV stands in the send queue behind messages that the client
 * has not taken.
 */
static bool rxs_req_overdue(const struct rxs_req *req, unsigned long before)
{
	return req && (req->state == RXS_REQ_WAITING || req->state == RXS_REQ_INVALIDATING) &&
	       time_before(req->since, before);
}

/*
 * Does a request wait for the client for longer than @held_ms allows?  It holds memory for all
 * of its data, or room for it.  In any other state it goes on without the client.
 *
 * Many sinks may take long to be filled, one after the other.  A message of the client may wait
 * in its send queue behind the data of other requests, as our STCRW may in ours.  So there is
 * time as long as any data of the session moves, but in all no more than @held_ms for each
 * slot.
 */
static bool rxs_req_held_too_long(const struct rxs_req *req, u32 held_ms)
{
	unsigned long held = msecs_to_jiffies(held_ms);
	const struct rdmafs_xprt_session *s;

	if (!req || (req->state != RXS_REQ_HELD && req->state != RXS_REQ_WAITING &&
		     req->state != RXS_REQ_INVALIDATING))
		return false;
	s = req->session;
	return time_before(req->since, jiffies - held * s->nr_slots) ||
	       (time_before(req->since, jiffies - held) &&
		time_before(READ_ONCE(s->progress), jiffies - held));
}

/* Time from one look at a send queue that stands to the next. */
#define RXS_LOOK_AGAIN	(HZ / 5)

/*
 * Note whether a send queue stands; returns whether it does at two looks, RXS_LOOK_AGAIN apart.  At
 * the first alone its completions may not have been handled yet: this machine may have stood still.
 * @before and @ever: rxp_send_stalled(); @more is set if it is to be looked at again.
 */
static bool rxs_conn_note_stalled(struct rxp_conn *conn, unsigned long before, unsigned long ever,
				  bool *more)
{
	u64 first = rxp_send_stalled(conn, before, ever);
	struct rxs_conn *sc = rxs_conn(conn);

	if (first && !sc->oldest)
		sc->found_at = jiffies;
	sc->oldest = first;
	*more |= first;
	return first && time_after(jiffies, sc->found_at + RXS_LOOK_AGAIN);
}

/*
 * Note whether a client does not take what is sent to it; returns whether it has not for too long.
 * Pages of replies stand in our send queue then.
 * On iWARP that may last for ever: TCP takes a window that is shut, or nearly, for a peer that
 * lives, and the client is heard.  The time is the same as for requests that are held.
 */
static bool rxs_session_note_stalled(const struct rdmafs_xprt_session *s, u32 held_ms,
				     bool *more)
{
	unsigned long held = msecs_to_jiffies(held_ms);
	unsigned long ever = jiffies - held * s->nr_slots;
	unsigned long before = jiffies - held;
	bool stands = false;
	u32 i;

	/* Its connections may share one link: data that moves on any of them counts. */
	if (!time_before(READ_ONCE(s->progress), before))
		before = ever;
	for (i = 0; i < s->nr_conns; i++)
		if (s->conns[i] && !rxp_conn_is_lost(s->conns[i]))
			stands |= rxs_conn_note_stalled(s->conns[i], before, ever, more);
	return stands;
}

/*
 * Note whether a client holds what it does not use; returns true if it has held something for too
 * long, so that its connections are to end.  @more is set if the session has to be tested again.
 * The locks of the server and of the session are held.
 *
 * Translations count only while others wait for them; memory counts always.
 */
static bool rxs_session_note_overdue(struct rdmafs_xprt_session *s, bool *more)
{
	unsigned long before = jiffies - rxp_grace();
	u32 held_ms = s->server->limits.held_ms;
	bool wanted;
	u32 i;

	lockdep_assert_held(&s->server->lock);
	lockdep_assert_held(&s->lock);
	if (!s->conns[0])
		return false;
	wanted = rpol_excess(s->conns[0]->pool->member);
	*more |= wanted;
	for (i = 0; i < s->nr_slots; i++) {
		if (rxs_req_held_too_long(s->slots[i].req, held_ms)) {
			s->server->held_dropped++;
			return true;
		}
		if (wanted && rxs_req_overdue(s->slots[i].req, before))
			return true;
	}
	if (!rxs_session_note_stalled(s, held_ms, more))
		return false;
	s->server->held_dropped++;
	return true;
}

/**
 * rxs_sessions_tick - recall grants of too many pages, and disconnect clients that are overdue
 * @server: the server
 *
 * Context: process; @server->lock held, takes each session's lock.
 * Return: whether it has to be called again soon.
 */
bool rxs_sessions_tick(struct rdmafs_xprt_server *server)
{
	struct rdmafs_xprt_session *s;
	bool more = false;

	lockdep_assert_held(&server->lock);
	list_for_each_entry(s, &server->sessions, link) {
		spin_lock_bh(&s->lock);
		rxs_grants_want_back(s);
		if (rxs_session_note_overdue(s, &more)) {
			pr_warn_ratelimited("rdmafs: %s leaves requests half done: disconnecting\n",
					    s->member.name);
			rxs_session_lose_conns(s);
		}
		if (rxs_grants_overdue(s, &more) && s->nr_bound) {
			pr_warn_ratelimited("rdmafs: %s does not return grants: disconnecting\n",
					    s->member.name);
			rxs_session_lose_conns(s);
		}
		spin_unlock_bh(&s->lock);
	}
	return more;
}
