/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The states of a mount's session and of its calls, and which event leads from one to another.
 * Pure: the functions that apply an event, with the session's lock held, are rxc_state_move()
 * in ready.c and rxc_call_move() in call.c.
 */
#ifndef RDMAFS_TRANSPORT_CLIENT_STATE_H
#define RDMAFS_TRANSPORT_CLIENT_STATE_H

#include <linux/types.h>

/**
 * enum rxc_session_state - the state of a mount's session
 * @RXC_CONNECTING: mount(8) makes the first connections, and no other task knows the session.
 *	It stays so until they are bound; if that fails the session is freed
 * @RXC_UP:         there are connections and calls travel, until a connection is lost or the
 *	session is to fail its calls, to end or to be aborted
 * @RXC_DOWN:       no connections; the recovery worker makes new ones and goes to UP
 * @RXC_FAILING:    umount -f was called, or the deadline of a call in a slot has passed; the
 *	recovery worker fails the calls that are given up (rxc_call_given_up()) and goes to DOWN
 * @RXC_ENDED:      rdmafs_xprt_close() has begun; no connections are made any more.  It aborts
 *	the session next
 * @RXC_ABORTED:    every call fails, now and later; no event leaves this state
 * @RXC_NR_STATES:  number of states
 */
enum rxc_session_state {
	RXC_CONNECTING,
	RXC_UP,
	RXC_DOWN,
	RXC_FAILING,
	RXC_ENDED,
	RXC_ABORTED,
	RXC_NR_STATES,
};

/**
 * enum rxc_session_event - what happens to a mount's session
 * @RXC_EV_BOUND:  all connections are bound, and the unanswered calls were sent again as far as
 *	there was memory
 * @RXC_EV_LOST:   a connection is lost, and all were taken from the session
 * @RXC_EV_FAIL:   calls in slots are to fail: all that are outstanding (umount -f), or those whose
 *	deadline has passed (expire.c)
 * @RXC_EV_FAILED: the recovery worker has failed them
 * @RXC_EV_END:    the last call is over and the file system closes the session
 * @RXC_EV_ABORT:  every call is to fail, now and later
 * @RXC_NR_EVENTS: number of events
 */
enum rxc_session_event {
	RXC_EV_BOUND,
	RXC_EV_LOST,
	RXC_EV_FAIL,
	RXC_EV_FAILED,
	RXC_EV_END,
	RXC_EV_ABORT,
	RXC_NR_EVENTS,
};

enum rxc_session_state rxc_state_next(enum rxc_session_state state, enum rxc_session_event event);

/**
 * enum rxc_call_state - the state of the call in a slot
 * @RXC_CALL_FREE: there is no call; left when a CALL is sent in the slot
 * @RXC_CALL_SENT: the server has, or is being sent, all that it needs from the client; a reply
 *	ends it, a READ may be cancelled
 * @RXC_CALL_MAPPING: the CALL was sent before the pages were mapped, and the submitter maps
 *	them now
 * @RXC_CALL_TAGGED: WRITE: as MAPPING, and the server's STCRW has come
 * @RXC_CALL_HELD: WRITE: the pages are mapped; the CRW waits for the server's STCRW
 * @RXC_CALL_FOLLOWED: the message that follows the CALL (DATA or STCRW) was handed to the send
 *	queue; left when the device is done with it, or by a reply
 * @RXC_CALL_CANCELLED: a CANCEL was handed to the send queue; a reply or a REVOKED comes next
 * @RXC_CALL_REVOKED: READ: the server has given the key back, but has not replied
 * @RXC_CALL_LOST: its connection is gone; the recovery worker sends it again or fails it
 * @RXC_CALL_LOST_MAPPING: as LOST, but the submitter still maps the pages; the recovery worker
 *	waits for it
 * @RXC_CALL_ANSWERED: the reply has come, or recovery has failed the call; the last reference,
 *	which the device may have, ends it
 * @RXC_CALL_ANSWERED_MAPPING: as ANSWERED, but the submitter still maps the pages
 * @RXC_NR_CALL_STATES: number of states
 *
 * "Its connection is gone" means that a connection of the session was lost: all are taken from
 * the session at once.
 */
enum rxc_call_state {
	RXC_CALL_FREE,
	RXC_CALL_SENT,
	RXC_CALL_MAPPING,
	RXC_CALL_TAGGED,
	RXC_CALL_HELD,
	RXC_CALL_FOLLOWED,
	RXC_CALL_CANCELLED,
	RXC_CALL_REVOKED,
	RXC_CALL_LOST,
	RXC_CALL_LOST_MAPPING,
	RXC_CALL_ANSWERED,
	RXC_CALL_ANSWERED_MAPPING,
	RXC_NR_CALL_STATES,
};

/**
 * enum rxc_call_event - what happens to the call in a slot
 * @RXC_CALL_EV_SEND: its CALL is sent and no message is to follow
 * @RXC_CALL_EV_HOLD: WRITE: its CALL is sent, with the pages mapped and a CRW held
 * @RXC_CALL_EV_SEND_UNMAPPED: its CALL is sent before its pages are mapped
 * @RXC_CALL_EV_VOID: its CALL is sent again, and a CANCEL behind it (a READ that recovery can't
 *	map)
 * @RXC_CALL_EV_MAPPED: WRITE: the submitter has mapped the pages
 * @RXC_CALL_EV_REGISTERED: READ: the submitter has mapped the pages; the STCRW is to be sent
 * @RXC_CALL_EV_UNMAPPABLE: the submitter can't map the pages; a CANCEL is to be sent
 * @RXC_CALL_EV_FOLLOWED: the device is done with the message that followed the CALL
 * @RXC_CALL_EV_CANCEL: READ: a CANCEL is to be sent, since its translations are needed
 *	elsewhere
 * @RXC_CALL_EV_LOSE: its connection is gone, and drained too when the recovery worker says so
 * @RXC_CALL_EV_FAIL: the recovery worker fails it
 * @RXC_CALL_EV_END: the call is over and leaves the slot
 * @RXC_CALL_EV_STCRW: WRITE: the server's STCRW has come.  This event and those below are
 *	caused by a message, so a server may cause them in any state; those above are our own
 * @RXC_CALL_EV_REVOKED: READ: a REVOKED has come
 * @RXC_CALL_EV_CANCELLED: a reply with status CANCELLED has come
 * @RXC_CALL_EV_REPLY: any other reply has come
 * @RXC_NR_CALL_EVENTS: number of events
 */
enum rxc_call_event {
	RXC_CALL_EV_SEND,
	RXC_CALL_EV_HOLD,
	RXC_CALL_EV_SEND_UNMAPPED,
	RXC_CALL_EV_VOID,
	RXC_CALL_EV_MAPPED,
	RXC_CALL_EV_REGISTERED,
	RXC_CALL_EV_UNMAPPABLE,
	RXC_CALL_EV_FOLLOWED,
	RXC_CALL_EV_CANCEL,
	RXC_CALL_EV_LOSE,
	RXC_CALL_EV_FAIL,
	RXC_CALL_EV_END,
	RXC_CALL_EV_STCRW,
	RXC_CALL_EV_REVOKED,
	RXC_CALL_EV_CANCELLED,
	RXC_CALL_EV_REPLY,
	RXC_NR_CALL_EVENTS,
};

int rxc_call_next(enum rxc_call_state state, enum rxc_call_event event);

unsigned int rxc_retry_step(unsigned int attempts);
unsigned int rxc_retry_delay(unsigned int attempts, u32 random);
bool rxc_call_unanswered(enum rxc_call_state state);
bool rxc_call_being_mapped(enum rxc_call_state state);

#endif
