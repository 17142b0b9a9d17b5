/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The states of a connection, on either side, and what may follow what.  Pure:
 * conn.c keeps the state and its lock.
 */
#ifndef RDMAFS_TRANSPORT_CONNSTATE_H
#define RDMAFS_TRANSPORT_CONNSTATE_H

/**
 * enum rxp_conn_state - where a connection is
 * @RXP_CONN_NEW:     it has no queues yet: it is asked for, or asks
 * @RXP_CONN_OPEN:    it has; HELLO comes next.  The server's is OPEN before it is
 *		      accepted, since the client may speak as soon as it is
 * @RXP_CONN_HELLO:   HELLO was said; the server makes room for it in its session
 * @RXP_CONN_REFUSED: the server's: the client was told to come again, and goes
 * @RXP_CONN_BOUND:   one of its session's: whatever a session may say is said.  The
 *		      client's is when WELCOME has come
 * @RXP_CONN_LOST:    of no more use; its owner has been told and will end it
 * @RXP_CONN_DEAD:    its owner ends it: nothing is posted any more
 * @RXP_NR_CONN_STATES: number of states
 */
enum rxp_conn_state {
	RXP_CONN_NEW,
	RXP_CONN_OPEN,
	RXP_CONN_HELLO,
	RXP_CONN_REFUSED,
	RXP_CONN_BOUND,
	RXP_CONN_LOST,
	RXP_CONN_DEAD,
	RXP_NR_CONN_STATES,
};

/**
 * enum rxp_conn_event - what happens to a connection
 * @RXP_CONN_MADE:    it has its queues, and receives in them
 * @RXP_CONN_GREET:   HELLO is sent, or has come
 * @RXP_CONN_REFUSE:  the answer is that there is no session for it
 * @RXP_CONN_BIND:    it takes its place in its session
 * @RXP_CONN_LOSE:    somebody found that it is of no more use
 * @RXP_CONN_KILL:    its owner begins to end it
 * @RXP_NR_CONN_EVENTS: number of events
 */
enum rxp_conn_event {
	RXP_CONN_MADE,
	RXP_CONN_GREET,
	RXP_CONN_REFUSE,
	RXP_CONN_BIND,
	RXP_CONN_LOSE,
	RXP_CONN_KILL,
	RXP_NR_CONN_EVENTS,
};

int rxp_conn_next(enum rxp_conn_state state, enum rxp_conn_event event);

#endif
