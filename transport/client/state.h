/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The states of a mount's session and of its calls, and which event leads from one to another.
 * Pure: the functions that apply an event, with the session's lock held, are rxp_state_move()
 * in ready.c and rxp_call_move() in call.c.
 */
#ifndef RDMAFS_TRANSPORT_CLIENT_STATE_H
#define RDMAFS_TRANSPORT_CLIENT_STATE_H

#include <linux/types.h>

/**
 * enum rxp_state - the state of a mount's session
 * @RXP_CONNECTING: mount(8) makes the first connections, and no other task knows the session.
 *	It stays so until they are bound; if that fails the session is freed
 * @RXP_UP:         there are connections and calls travel, until a connection is lost or the
 *	session is to fail its calls, to end or to be aborted
 * @RXP_DOWN:       no connections; the recovery worker makes new ones and goes to UP
 * @RXP_FAILING:    umount -f was called; the recovery worker fails the calls that were
 *	outstanding and goes to DOWN
 * @RXP_ENDED:      rdmafs_xprt_close() has begun; no connections are made any more.  It aborts
 *	the session next
 * @RXP_ABORTED:    every call fails, now and later; no event leaves this state
 * @RXP_NR_STATES:  number of states
 */
enum rxp_state {
	RXP_CONNECTING,
	RXP_UP,
	RXP_DOWN,
	RXP_FAILING,
	RXP_ENDED,
	RXP_ABORTED,
	RXP_NR_STATES,
};

/**
 * enum rxp_event - what happens to a mount's session
 * @RXP_EV_BOUND:  all connections are bound, and the unanswered calls were sent again as far as
 *	there was memory
 * @RXP_EV_LOST:   a connection is lost, and all were taken from the session
 * @RXP_EV_FAIL:   umount -f: the outstanding calls are to fail
 * @RXP_EV_FAILED: the recovery worker has failed them
 * @RXP_EV_END:    the last call is over and the file system closes the session
 * @RXP_EV_ABORT:  every call is to fail, now and later
 * @RXP_NR_EVENTS: number of events
 */
enum rxp_event {
	RXP_EV_BOUND,
	RXP_EV_LOST,
	RXP_EV_FAIL,
	RXP_EV_FAILED,
	RXP_EV_END,
	RXP_EV_ABORT,
	RXP_NR_EVENTS,
};

enum rxp_state rxp_state_next(enum rxp_state state, enum rxp_event event);

/**
 * enum rxp_call_state - the state of the call in a slot
 * @RXP_CALL_FREE: there is no call; left when a CALL is sent in the slot
 * @RXP_CALL_SENT: the server has, or is being sent, all that it needs from the client; a reply
 *	ends it, a READ may be cancelled
 * @RXP_CALL_MAPPING: the CALL was sent before the pages were mapped, and the submitter maps
 *	them now
 * @RXP_CALL_TAGGED: WRITE: as MAPPING, and the server's STCRW has come
 * @RXP_CALL_HELD: WRITE: the pages are mapped; the CRW waits for the server's STCRW
 * @RXP_CALL_FOLLOWED: the message that follows the CALL (DATA or STCRW) was handed to the send
 *	queue; left when the device is done with it, or by a reply
 * @RXP_CALL_CANCELLED: a CANCEL was handed to the send queue; a reply or a DROPPED comes next
 * @RXP_CALL_DROPPED: READ: the server has given the key back, but has not replied
 * @RXP_CALL_LOST: its connection is gone; the recovery worker sends it again or fails it
 * @RXP_CALL_LOST_MAPPING: as LOST, but the submitter still maps the pages; the recovery worker
 *	waits for it
 * @RXP_CALL_ANSWERED: the reply has come, or recovery has failed the call; the last reference,
 *	which the device may have, ends it
 * @RXP_CALL_ANSWERED_MAPPING: as ANSWERED, but the submitter still maps the pages
 * @RXP_NR_CALL_STATES: number of states
 *
 * "Its connection is gone" means that a connection of the session was lost: all are taken from
 * the session at once.
 */
enum rxp_call_state {
	RXP_CALL_FREE,
	RXP_CALL_SENT,
	RXP_CALL_MAPPING,
	RXP_CALL_TAGGED,
	RXP_CALL_HELD,
	RXP_CALL_FOLLOWED,
	RXP_CALL_CANCELLED,
	RXP_CALL_DROPPED,
	RXP_CALL_LOST,
	RXP_CALL_LOST_MAPPING,
	RXP_CALL_ANSWERED,
	RXP_CALL_ANSWERED_MAPPING,
	RXP_NR_CALL_STATES,
};

/**
 * enum rxp_call_event - what happens to the call in a slot
 * @RXP_CALL_EV_SEND: its CALL is sent and no message is to follow
 * @RXP_CALL_EV_HOLD: WRITE: its CALL is sent, with the pages mapped and a CRW held
 * @RXP_CALL_EV_OPEN: its CALL is sent before its pages are mapped
 * @RXP_CALL_EV_VOID: its CALL is sent again, and a CANCEL behind it (a READ that recovery can't
 *	map)
 * @RXP_CALL_EV_MAPPED: WRITE: the submitter has mapped the pages
 * @RXP_CALL_EV_REGISTERED: READ: the submitter has mapped the pages; the STCRW is to be sent
 * @RXP_CALL_EV_UNMAPPABLE: the submitter can't map the pages; a CANCEL is to be sent
 * @RXP_CALL_EV_FOLLOWED: the device is done with the message that followed the CALL
 * @RXP_CALL_EV_CANCEL: READ: a CANCEL is to be sent, since its translations are needed
 *	elsewhere
 * @RXP_CALL_EV_LOSE: its connection is gone, and drained too when the recovery worker says so
 * @RXP_CALL_EV_FAIL: the recovery worker fails it
 * @RXP_CALL_EV_END: the call is over and leaves the slot
 * @RXP_CALL_EV_STCRW: WRITE: the server's STCRW has come.  This event and those below are
 *	caused by a message, so a server may cause them in any state; those above are our own
 * @RXP_CALL_EV_DROP: READ: a DROPPED has come
 * @RXP_CALL_EV_CANCELLED: a reply with status CANCELLED has come
 * @RXP_CALL_EV_REPLY: any other reply has come
 * @RXP_NR_CALL_EVENTS: number of events
 */
enum rxp_call_event {
	RXP_CALL_EV_SEND,
	RXP_CALL_EV_HOLD,
	RXP_CALL_EV_OPEN,
	RXP_CALL_EV_VOID,
	RXP_CALL_EV_MAPPED,
	RXP_CALL_EV_REGISTERED,
	RXP_CALL_EV_UNMAPPABLE,
	RXP_CALL_EV_FOLLOWED,
	RXP_CALL_EV_CANCEL,
	RXP_CALL_EV_LOSE,
	RXP_CALL_EV_FAIL,
	RXP_CALL_EV_END,
	RXP_CALL_EV_STCRW,
	RXP_CALL_EV_DROP,
	RXP_CALL_EV_CANCELLED,
	RXP_CALL_EV_REPLY,
	RXP_NR_CALL_EVENTS,
};

int rxp_call_next(enum rxp_call_state state, enum rxp_call_event event);

unsigned int rxp_retry_step(unsigned int attempts);
unsigned int rxp_retry_delay(unsigned int attempts, u32 random);
bool rxp_call_unanswered(enum rxp_call_state state);
bool rxp_call_being_mapped(enum rxp_call_state state);

#endif
