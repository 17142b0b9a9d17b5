/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The states of a request on the server, and what may follow what.  Pure:
 * request.c keeps the state and asserts its lock.
 */
#ifndef RDMAFS_TRANSPORT_REQSTATE_H
#define RDMAFS_TRANSPORT_REQSTATE_H

/**
 * enum rxp_req_state - where a request is
 * @RXP_REQ_QUEUED:   it has its slot; for a thread, or the completion handler
 * @RXP_REQ_FETCHING: a WRITE; a thread gets a sink for its data
 * @RXP_REQ_CLAIMING: it stands in line for the translations of a sink, or has just got them
 * @RXP_REQ_WAITING:  its STCRW is out, the client's data has not come
 * @RXP_REQ_INVALIDATING: nothing more is written to its sink, whose key we take back
 * @RXP_REQ_READY:    its data is there, for a thread to serve it
 * @RXP_REQ_SERVING:  the service has it
 * @RXP_REQ_HELD:     served; its RDMA WRITEs and reply wait for the client's STCRW
 * @RXP_REQ_ANSWERED: it has left its slot, its reply goes
 * @RXP_REQ_GONE:     it has left its slot as if its CALL had never come
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
 * enum rxp_req_event - what happens to a request
 * @RXP_REQ_FETCH:      a thread turns to it, and its data is not there
 * @RXP_REQ_CLAIM:      there are no translations for a sink now
 * @RXP_REQ_ASK:        it has a sink: the STCRW is about to be posted
 * @RXP_REQ_DATA:       its data has come, and the sink's key is invalid
 * @RXP_REQ_INVALIDATE: its data has come, or will not; the key is still valid
 * @RXP_REQ_INVALIDATED: the device says that the key is invalid, and there is data
 * @RXP_REQ_SERVE:      a thread gives it to the service
 * @RXP_REQ_HOLD:       the reply has data, and the client has not said where it goes
 * @RXP_REQ_ANSWER:     the reply goes
 * @RXP_REQ_REPLAY:     its CALL came again: the reply goes to the new connection
 * @RXP_REQ_UNBIND:     the connection it is bound to is no more its session's
 * @RXP_REQ_DROP:       who is at work with it finds that it is no more of use
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
