/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The states of a request on the server, and the events that lead from one to the next.  Pure
 * functions: request.c keeps the state and asserts its lock.
 */
#ifndef RDMAFS_TRANSPORT_REQSTATE_H
#define RDMAFS_TRANSPORT_REQSTATE_H

/**
 * enum rxs_req_state - the state of a request
 * @RXS_REQ_QUEUED:   it has its slot; a thread takes it by SERVE or FETCH.  Or it is left in the
 *		      completion handler: by ANSWER, or, if its data is in a granted sink, by DATA,
 *		      INVALIDATE or FORGET
 * @RXS_REQ_FETCHING: a WRITE for which a thread gets a sink; left by SEND_STCRW, CLAIM,
 *		      ANSWER or FORGET
 * @RXS_REQ_CLAIMING: it waits for translations for a sink, or has just got them; left by
 *		      SEND_STCRW, ANSWER or FORGET
 * @RXS_REQ_WAITING:  its STCRW is posted and the client's data has not come; left by the client's
 *		      DATA or CANCEL (DATA, INVALIDATE), or when the connection is unbound
 * @RXS_REQ_INVALIDATING: nothing more is written to its sink, and a LOCAL_INV for the key is
 *		      posted; left when that is completed (INVALIDATED, ANSWER, FORGET)
 * @RXS_REQ_READY:    its data is there, and a thread takes it on by SERVE
 * @RXS_REQ_SERVING:  the service has it; left by ANSWER or HOLD
 * @RXS_REQ_HELD:     it is served, and its RDMA WRITEs and reply wait for the client's STCRW; left
 *		      by that or a CANCEL (ANSWER), or when the connection is unbound
 * @RXS_REQ_ANSWERED: it has left its slot, and its reply is sent if there is a connection; final
 * @RXS_REQ_GONE:     it has left its slot as if its CALL had never come; final
 * @RXS_NR_REQ_STATES: number of states
 */
enum rxs_req_state {
	RXS_REQ_QUEUED,
	RXS_REQ_FETCHING,
	RXS_REQ_CLAIMING,
	RXS_REQ_WAITING,
	RXS_REQ_INVALIDATING,
	RXS_REQ_READY,
	RXS_REQ_SERVING,
	RXS_REQ_HELD,
	RXS_REQ_ANSWERED,
	RXS_REQ_GONE,
	RXS_NR_REQ_STATES,
};

/**
 * enum rxs_req_event - an event in a request's life
 * @RXS_REQ_FETCH:      a thread takes it, and its data is not there
 * @RXS_REQ_CLAIM:      there are no translations for a sink now
 * @RXS_REQ_SEND_STCRW: it has a sink, and the STCRW is about to be posted
 * @RXS_REQ_DATA:       its data has come, and the sink's key is invalid
 * @RXS_REQ_INVALIDATE: its data has come, or will not come; the key may still be valid
 * @RXS_REQ_INVALIDATED: the LOCAL_INV is completed, and the data is there
 * @RXS_REQ_SERVE:      a thread gives it to the service
 * @RXS_REQ_HOLD:       the reply has data, and the client has not named memory for it
 * @RXS_REQ_ANSWER:     it leaves its slot, and the reply is sent
 * @RXS_REQ_REPLAY:     its CALL came again, so the reply goes to the new connection
 * @RXS_REQ_UNBIND:     the connection that it is bound to is unbound from the session
 * @RXS_REQ_FORGET:     the party at work with it finds that the connection is gone, or the
 *			request not valid
 * @RXS_NR_REQ_EVENTS:  number of events
 */
enum rxs_req_event {
	RXS_REQ_FETCH,
	RXS_REQ_CLAIM,
	RXS_REQ_SEND_STCRW,
	RXS_REQ_DATA,
	RXS_REQ_INVALIDATE,
	RXS_REQ_INVALIDATED,
	RXS_REQ_SERVE,
	RXS_REQ_HOLD,
	RXS_REQ_ANSWER,
	RXS_REQ_REPLAY,
	RXS_REQ_UNBIND,
	RXS_REQ_FORGET,
	RXS_NR_REQ_EVENTS,
};

int rxs_req_next(enum rxs_req_state state, enum rxs_req_event event);

#endif
