/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The states of a mount's session and of its calls, and what leads from one to
 * another.  Pure: the functions that make a transition, under the session's lock, are
 * in client.c and call.c.
 */
#ifndef RDMAFS_TRANSPORT_CLIENT_STATE_H
#define RDMAFS_TRANSPORT_CLIENT_STATE_H

#include <linux/types.h>

/**
 * enum rxp_state - where a mount's session is
 * @RXP_CONNECTING: mount(8) connects for the first time; nobody else knows it
 * @RXP_UP:	    calls travel
 * @RXP_DOWN:	    without connections: the recovery worker makes new ones
 * @RXP_FAILING:    all calls are to end, then it goes on: umount -f
 * @RXP_ENDED:	    it is being closed: no connection is made any more
 * @RXP_ABORTED:    every call fails, now and later
 * @RXP_NR_STATES:  how many
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
 * @RXP_EV_BOUND:  all connections are bound, and unanswered calls sent again
 * @RXP_EV_LOST:   a connection is lost, and all are taken from the session
 * @RXP_EV_FAIL:   what is outstanding is to fail
 * @RXP_EV_FAILED: it has
 * @RXP_EV_END:	   the last call is over, the file system goes
 * @RXP_EV_ABORT:  everything is to fail
 * @RXP_NR_EVENTS: how many
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
 * enum rxp_call_state - where the call in a slot is
 * @RXP_CALL_FREE:     there is none
 * @RXP_CALL_SENT:     the server has, or gets, all that it needs from us
 * @RXP_CALL_MAPPING:  the CALL is out, its submitter maps the pages
 * @RXP_CALL_TAGGED:   the same, and the server's sink is there (WRITE)
 * @RXP_CALL_HELD:     pages are mapped, the CRW waits for the server's sink (WRITE)
 * @RXP_CALL_FOLLOWED: what follows the CALL, DATA or STCRW, is in the send queue
 * @RXP_CALL_CANCELLED: a CANCEL is out
 * @RXP_CALL_DROPPED:  the server has given the key back, but not answered (READ)
 * @RXP_CALL_LOST:     its connection is gone: recovery sends it again, or ends it
 * @RXP_CALL_LOST_MAPPING: the same, but its submitter maps the pages still
 * @RXP_CALL_ANSWERED: the reply is there; the device may be at work for it still
 * @RXP_CALL_ANSWERED_MAPPING: the same, but its submitter maps the pages still
 * @RXP_NR_CALL_STATES: how many
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
 * @RXP_CALL_EV_SEND:  its CALL goes out, nothing is to follow
 * @RXP_CALL_EV_HOLD:  its CALL goes out, its CRW is held (WRITE)
 * @RXP_CALL_EV_OPEN:  its CALL goes out before its pages are mapped
 * @RXP_CALL_EV_VOID:  its CALL goes out again, and a CANCEL behind it
 * @RXP_CALL_EV_MAPPED: the submitter has mapped a WRITE's pages
 * @RXP_CALL_EV_REGISTERED: the submitter has mapped a READ's, its STCRW goes out
 * @RXP_CALL_EV_UNMAPPABLE: the submitter can't: a CANCEL goes out
 * @RXP_CALL_EV_FOLLOWED: the device is done with what followed the CALL
 * @RXP_CALL_EV_CANCEL: a CANCEL goes out: its translations are needed elsewhere (READ)
 * @RXP_CALL_EV_LOSE:  its connection is gone, and drained
 * @RXP_CALL_EV_FAIL:  recovery ends it
 * @RXP_CALL_EV_END:   all is over: the slot is free
 * @RXP_CALL_EV_STCRW: the server's sink is there (WRITE); this and what is behind it
 *		       is said by the server, which may say anything
 * @RXP_CALL_EV_DROP:  a DROPPED came (READ)
 * @RXP_CALL_EV_CANCELLED: a reply came that says CANCELLED
 * @RXP_CALL_EV_REPLY: another reply came
 * @RXP_NR_CALL_EVENTS: how many
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
