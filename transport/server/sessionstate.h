/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The states of a session on the server, and the events that lead from one to the next.  Pure
 * functions: session.c keeps the state and asserts its lock.
 */
#ifndef RDMAFS_TRANSPORT_SERVER_SESSIONSTATE_H
#define RDMAFS_TRANSPORT_SERVER_SESSIONSTATE_H

/**
 * enum rxs_session_state - what a session can do
 * @RXS_SESSION_MAKING:	   a worker makes it, and connection 0 waits; left when the worker is done
 *			   (MADE, FAIL), or by CLOSE
 * @RXS_SESSION_OPEN:	   it takes connections and requests; left by CLOSE
 * @RXS_SESSION_ABANDONED: it was closed while a worker makes it, and takes neither; left when the
 *			   worker is done (MADE, FAIL)
 * @RXS_SESSION_CLOSING:   it takes neither; left by EMPTY
 * @RXS_SESSION_ENDING:	   no connection and no request is left, and a worker closes it; final
 * @RXS_NR_SESSION_STATES: number of states
 *
 * A session that takes no connections and requests any more is in ABANDONED or a later one.
 */
enum rxs_session_state {
	RXS_SESSION_MAKING,
	RXS_SESSION_OPEN,
	RXS_SESSION_ABANDONED,
	RXS_SESSION_CLOSING,
	RXS_SESSION_ENDING,
	RXS_NR_SESSION_STATES,
};

/**
 * enum rxs_session_event - an event in a session's life
 * @RXS_SESSION_MADE:  its worker has made it
 * @RXS_SESSION_FAIL:  its worker could not make it
 * @RXS_SESSION_CLOSE: the client, its lease, the administrator or the server's end closes it
 * @RXS_SESSION_EMPTY: the last of its connections and requests is gone
 * @RXS_NR_SESSION_EVENTS: number of events
 */
enum rxs_session_event {
	RXS_SESSION_MADE,
	RXS_SESSION_FAIL,
	RXS_SESSION_CLOSE,
	RXS_SESSION_EMPTY,
	RXS_NR_SESSION_EVENTS,
};

int rxs_session_next(enum rxs_session_state state, enum rxs_session_event event);

#endif
