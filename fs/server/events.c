// SPDX-License-Identifier: GPL-2.0
/*
 * Events that the server tells a client of: locks that it waits for have changed (filelock.c), or
 * it is to take its locks again (grace.c).  If an export has other settings than before
 * (configfs_export.c) clients are rung for nothing.
 *
 * The client is rung for the first event, and then asks for all that there are (EVENTS).
 *
 * Locks: rdmafsd_session.locks_lock; in it transport's lock of the session.
 */
#include <linux/list.h>
#include <linux/spinlock.h>
#include "server.h"
#include "filelock.h"

/**
 * rdmafsd_lock_event - have the client ask what has become of a lock
 * @lk:	   the lock, whose session is kept by the caller
 * @ended: it ends with its export: the client is to ask for all that it waits for, and nothing is
 *	   kept of the lock
 *
 * The client is told once until it has asked.
 *
 * Context: process; takes the session's locks_lock.
 */
void rdmafsd_lock_event(struct rdmafsd_lock *lk, bool ended)
{
	struct rdmafsd_session *ses = lk->ses;
	bool ring;

	spin_lock(&ses->locks_lock);
	if (ended)
		ses->waits_ended = true;
	else if (list_empty(&lk->event))
		list_add_tail(&lk->event, &ses->events);
	ring = !ses->rung;
	ses->rung = true;
	spin_unlock(&ses->locks_lock);
	if (ring)
		rdmafs_xprt_session_ring(ses->xs);
}

/**
 * rdmafsd_event_reclaim - have the client take its locks again
 * @ses: the session, its memory kept by the caller; it may end meanwhile
 *
 * Context: process; takes the session's locks_lock.
 */
void rdmafsd_event_reclaim(struct rdmafsd_session *ses)
{
	spin_lock(&ses->locks_lock);
	ses->reclaim = true;
	ses->reclaim_told = false;
	ses->rung = true;
	/* Transport's session is there until this one has gone. */
	if (!ses->gone)
		rdmafs_xprt_session_ring(ses->xs);
	spin_unlock(&ses->locks_lock);
}

/**
 * rdmafsd_event_nothing - ring a client that has nothing to ask for
 * @ses: the session, its memory kept by the caller; it may end meanwhile
 *
 * It does not count as rung: a client that waits for no lock does not ask (EVENTS), but for what
 * holds for its exports.
 *
 * Context: process; takes the session's locks_lock.
 */
void rdmafsd_event_nothing(struct rdmafsd_session *ses)
{
	spin_lock(&ses->locks_lock);
	if (!ses->gone)
		rdmafs_xprt_session_ring(ses->xs);
	spin_unlock(&ses->locks_lock);
}

/**
 * rdmafsd_event_reclaim_due - tell whether the client may not know that it has to take its locks
 *			       again
 * @ses: the session of a request
 *
 * Context: process; takes the session's locks_lock.
 * Return: true if so; false: it has heard of all that came before the request's export was live.
 */
bool rdmafsd_event_reclaim_due(struct rdmafsd_session *ses)
{
	bool due;

	spin_lock(&ses->locks_lock);
	due = ses->reclaim;
	spin_unlock(&ses->locks_lock);
	return due;
}

/**
 * rdmafsd_events_take - take events that the client is to be told
 * @ses:    the session of the request
 * @events: out: the events
 * @max:    room for so many, at least 1
 * @more:   out: there are others
 *
 * When there are none left, the next event rings again.  The client has the reply with which it was
 * told to take its locks again when it asks the next time, which it does at once (@more).
 *
 * Context: process; takes the session's locks_lock.
 * Return: number of events.
 */
u32 rdmafsd_events_take(struct rdmafsd_session *ses, struct rfp_event *events, u32 max, bool *more)
{
	struct rdmafsd_lock *lk;
	u32 nr = 0;

	spin_lock(&ses->locks_lock);
	/* There is no token 0. */
	if (ses->waits_ended)
		events[nr++] = (struct rfp_event) { .type = cpu_to_le32(RFP_EVENT_LOCK) };
	ses->waits_ended = false;
	while (nr < max && (lk = list_first_entry_or_null(&ses->events, struct rdmafsd_lock,
							  event))) {
		list_del_init(&lk->event);
		events[nr++] = (struct rfp_event) {
			.type = cpu_to_le32(RFP_EVENT_LOCK),
			.id = cpu_to_le64(lk->token),
		};
	}
	if (ses->reclaim_told)
		ses->reclaim = false;
	ses->reclaim_told = false;
	if (nr < max && ses->reclaim) {
		ses->reclaim_told = true;
		events[nr++] = (struct rfp_event) { .type = cpu_to_le32(RFP_EVENT_RECLAIM) };
	}
	*more = !list_empty(&ses->events) || ses->reclaim;
	ses->rung = *more;
	spin_unlock(&ses->locks_lock);
	return nr;
}
