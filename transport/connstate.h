/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The states of a connection, on either side, and the events that change them.  Pure: conn.c
 * keeps the state and its lock.  RXP_CONN_LOSE and RXP_CONN_KILL may come in every state.
 */
#ifndef RDMAFS_TRANSPORT_CONNSTATE_H
#define RDMAFS_TRANSPORT_CONNSTATE_H

/**
 * enum rxp_conn_state - the state of a connection
 * @RXP_CONN_NEW:       it has no queues yet; left by MADE
 * @RXP_CONN_OPEN:      it has its queues, and HELLO comes next; left by GREET.  On a server this
 *			is before the accept, since the client may send its HELLO as soon as it is
 *			accepted
 * @RXP_CONN_HELLO:     HELLO was sent, or has come; the server looks for the place in the
 *			session.  Left by BIND or REFUSE
 * @RXP_CONN_REFUSED:   server only: the client was told to connect again; left when it
 *			disconnects
 * @RXP_CONN_BOUND:     it belongs to its session, and all messages of a session may be sent.  On
 *			a client this is when WELCOME has come
 * @RXP_CONN_LOST:      it is of no more use; its owner has been told and will end it by KILL
 * @RXP_CONN_DEAD:      its owner ends it: nothing is posted any more; never left
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
 * enum rxp_conn_event - an event of a connection
 * @RXP_CONN_MADE:      it has its queues, with receives posted
 * @RXP_CONN_GREET:     HELLO is sent, or has come
 * @RXP_CONN_REFUSE:    server: there is no session for it now
 * @RXP_CONN_BIND:      it takes its place in its session
 * @RXP_CONN_LOSE:      an error, an event or a party has made it useless
 * @RXP_CONN_KILL:      its owner begins to end it
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
