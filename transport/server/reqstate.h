/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The states of a request on the server, and the events that lead from one to the next.  Pure
 * functions: request.c keeps the state and asserts its lock.
 */
#ifndef RDMAFS_TRANSPORT_REQSTATE_H
#define RDMAFS_TRANSPORT_REQSTATE_H

/**
 * enum rxp_req_state - the state of a request
 * @RXP_REQ_QUEUED:   it has its slot; a thread takes it by SERVE or FETCH.  Or it is left in the
 *		      completion handler: by ANSWER, or, if its data is in a granted sink, by DATA,
 *		      INVALIDATE or DROP
 * @RXP_REQ_FETCHING: a WRITE for which a thread gets a sink; left by ASK, CLAIM, ANSWER or DROP
 * @RXP_REQ_CLAIMING: it waits for translations for a sink, or has just got them; left by ASK,
 *		      ANSWER or DROP
 * @RXP_REQ_WAITING:  its STCRW is posted and the client's data has not come; left by the client's
 *		      DATA or CANCEL (DATA, INVALIDATE), or when the connection is unbound
 * @RXP_REQ_INVALIDATING: nothing more is written to its sink, and a LOCAL_INV for the key is
 *		      posted; left when that is completed (INVALIDATED, ANSWER, DROP)
 * @RXP_REQ_READY:    its data is there, and a thread takes it on by SERVE
 * @RXP_REQ_SERVING:  the service has it; left by ANSWER or HOLD
 * @RXP_REQ_HELD:     it is served, and its RDMA WRITEs and reply wait for the client's STCRW; left
 *		      by that or a CANCEL (ANSWER), or when the connection is unbound
 * @RXP_REQ_ANSWERED: it has left its slot, and its reply is sent if there is a connection; final
 * @RXP_REQ_GONE:     it has left its slot as if its CALL had never come; final
 * @RXP_NR_REQ_STATES: number of states
 */
enum rxp_req_state {
	RXP_REQ_QUEUED,
	RXP_REQ_FETCHING,
	RXP_REQ_CLAIMING,
	RXP_REQ_WAITING,
	RXP_REQ_INVALIDATING,
	RXP_REQ_READY,
	RXP_REQ_SERVING,
	RXP_REQ_HELD,
	RXP_REQ_ANSWERED,
	RXP_REQ_GONE,
	RXP_NR_REQ_STATES,
};

/**
 * enum rxp_req_event - an event in a request's life
 * @RXP_REQ_FETCH:      a thread takes it, and its data is not there
 * @RXP_REQ_CLAIM:      there are no translations for a sink now
 * @RXP_REQ_ASK:        it has a sink, and the STCRW is about to be posted
 * @RXP_REQ_DATA:       its data has come, and the sink's key is invalid
 * @RXP_REQ_INVALIDATE: its data has come, or will not come; the key may still be valid
 * @RXP_REQ_INVALIDATED: the LOCAL_INV is completed, and the data is there
 * @RXP_REQ_SERVE:      a thread gives it to the service
 * @RXP_REQ_HOLD:       the reply has data, and the client has not named memory for it
 * @RXP_REQ_ANSWER:     it leaves its slot, and the reply is sent
 * @RXP_REQ_REPLAY:     its CALL came again, so the reply goes to the new connection
 * @RXP_REQ_UNBIND:     the connection that it is bound to is unbound from the session
 * @RXP_REQ_DROP:       the party at work with it finds that the connection is gone, or the
 *			request not valid
 * @RXP_NR_REQ_EVENTS:  number of events
 */
enum rxp_req_event {
	RXP_REQ_FETCH,
	RXP_REQ_CLAIM,
	RXP_REQ_ASK,
	RXP_REQ_DATA,
	RXP_REQ_INVALIDATE,
	RXP_REQ_INVALIDATED,
	RXP_REQ_SERVE,
	RXP_REQ_HOLD,
	RXP_REQ_ANSWER,
	RXP_REQ_REPLAY,
	RXP_REQ_UNBIND,
	RXP_REQ_DROP,
	RXP_NR_REQ_EVENTS,
};

int rxp_req_next(enum rxp_req_state state, enum rxp_req_event event);

#endif
