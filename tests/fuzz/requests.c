// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: transport/server/reqstate.c, the server's table of request states, under any
 * sequence of events.  Requests are in several slots of a session, on one connection or two, which
 * are lost and made again.
 *
 * The functions here do in few lines what the code around the table does (serve.c, sink.c, reply.c
 * and request.c).  They note what has happened to a request as facts, above all which party has it
 * (enum who).  From these facts alone, and without the table, where() computes the state that a
 * request must have, and never() the events that must be refused.  The rules:
 *
 * - A request's states only go forward.  It comes to its end from any state, with its connection
 *   or without, and has no event after that.  It is answered once, or gone, and never both.
 * - The service gets it at most once, and a WRITE only when all of its data is there.
 * - While the client could write to a sink, the server does not read the sink, and the request
 *   does not end, unless the queue pair is dead.
 * - Data comes, or the key is invalidated, only while the request waits for data, or if the data
 *   came with the CALL.
 * - CANCELLED answers only a CANCEL that came on the same connection as the last CALL.  The step
 *   that answers looks whether there was one.
 * - A request that waits for a message of the client is bound to the connection that its session
 *   has now.  It ends when this connection is lost; no other request does.
 * - A CALL that comes again on the next connection changes no state.  It is refused while the
 *   former connection or the device still works on the request.
 *
 * Input: a byte with the number of slots and of connections, and how the run ends; then two bytes
 * for each step: what happens, to which slot, and how.
 */
#include <linux/errno.h>
#include "fuzz.h"
#include "transport/server/reqstate.h"

#define SLOTS	4
#define CONNS	2
#define ROUNDS	16	/* more than any request needs to come to its end */

enum data { SMALL, READ, WRITE };

/* The party that has a request, and that is to act next. */
enum who {
	NOBODY,		/* no party: the request has left its slot */
	THREADS,	/* the server's threads: it is new, or queued to them */
	SINK,		/* a thread or worker that is about to get a sink for it */
	LINE,		/* the policy: it waits in line for translations */
	CLIENT,		/* the client: the server waits for a message */
	DEVICE,		/* the device, which executes a LOCAL_INV */
	SERVICE,	/* the service: it is being executed */
};

/**
 * struct req - a request in its slot
 * @state:   its state in the table; all other fields are the facts
 * @who:     the party that has it
 * @data:    its kind
 * @claimed: it has stood in the policy's line
 * @filled:  a WRITE's data is there
 * @open:    the client may be able to write to its sink
 * @keyed:   the client has said where a READ's data is to go
 * @cancelled: a CANCEL has come since the last CALL
 * @served:  number of times that the service got it
 * @answers: number of answers
 * @bound:   serial number of the connection that its last CALL came on
 * @way:     connection to ask for the data on, as the thread that gets a sink saw it under the
 *	     lock, so that it may have changed since; 0: the thread has not looked
 * @none:    that thread has found that there is no sink
 */
struct req {
	enum rxs_req_state state;
	enum who who;
	enum data data;
	bool claimed;
	bool filled;
	bool open;
	bool keyed;
	bool cancelled;
	u32 served;
	u32 answers;
	u32 bound;
	u32 way;
	bool none;
};

static struct session {
	struct fuzz f;
	struct req slot[SLOTS];
	u32 nr;
	u32 conn[CONNS];	/* serial numbers of the connections; 0: none */
	u32 nr_conns;
	u32 serial;		/* serial number of the last connection made */
	bool losing;		/* one was lost, and none is made before all are lost */
} s;

/* ---------------------------------------------------------------- what has to hold */

static u32 *conn_of(const struct req *r)
{
	return &s.conn[(r - s.slot) % s.nr_conns];
}

/* Does the session still have the connection that the request is bound to? */
static bool connected(const struct req *r)
{
	return r->bound && r->bound == *conn_of(r);
}

/* The state that a request must have, by the facts. */
static enum rxs_req_state where(const struct req *r)
{
	switch (r->who) {
	case THREADS:
		return r->filled ? RXS_REQ_READY : RXS_REQ_QUEUED;
	case SINK:
		return r->claimed ? RXS_REQ_CLAIMING : RXS_REQ_FETCHING;
	case LINE:
		return RXS_REQ_CLAIMING;
	case CLIENT:
		return r->served ? RXS_REQ_HELD : RXS_REQ_WAITING;
	case DEVICE:
		return RXS_REQ_INVALIDATING;
	case SERVICE:
		return RXS_REQ_SERVING;
	default:
		return r->answers ? RXS_REQ_ANSWERED : RXS_REQ_GONE;
	}
}

/*
 * Must the table refuse @event?  It may accept some other events that never come in practice: it
 * does not know whether a request is a WRITE, nor whether a request that is CLAIMING is the
 * thread's (SINK) or the policy's (LINE).
 */
static bool never(const struct req *r, enum rxs_req_event event)
{
	bool new = r->who == THREADS && !r->filled;
	bool waits = r->who == CLIENT && !r->served;

	switch (event) {
	case RXS_REQ_FETCH:
		return !new;
	case RXS_REQ_CLAIM:
	case RXS_REQ_SEND_STCRW:
		return r->who != SINK && r->who != LINE;
	case RXS_REQ_DATA:
	case RXS_REQ_INVALIDATE:
		return !new && !waits;
	case RXS_REQ_INVALIDATED:
		return r->who != DEVICE;
	case RXS_REQ_SERVE:
		return r->who != THREADS;
	case RXS_REQ_HOLD:
		return r->who != SERVICE;
	case RXS_REQ_ANSWER:
		return r->who == NOBODY || waits || (r->who == THREADS && r->filled);
	case RXS_REQ_REPLAY:
		return r->who == NOBODY || r->who == CLIENT || r->who == DEVICE;
	case RXS_REQ_UNBIND:
		return r->who == NOBODY;
	default:	/* RXS_REQ_FORGET */
		return r->who == NOBODY || r->who == CLIENT || r->who == SERVICE ||
		       (r->who == THREADS && r->filled);
	}
}

/* Tries all events on the request's state, without changing it. */
static void look(const struct req *r)
{
	u32 event;
	int next;

	for (event = 0; event < RXS_NR_REQ_EVENTS; event++) {
		next = rxs_req_next(r->state, event);
		FUZZ_ASSERT(next == -EPROTO || (next >= 0 && next < RXS_NR_REQ_STATES));
		if (next == -EPROTO)
			continue;
		FUZZ_ASSERT(!never(r, event));
		/* The enum lists the states in the order in which they follow each other. */
		FUZZ_ASSERT(next >= (int)r->state);
	}
}

/* Checks what holds between any two steps. */
static void check(void)
{
	struct req *r;

	for (r = s.slot; r < s.slot + s.nr; r++) {
		FUZZ_ASSERT(r->state == where(r));
		FUZZ_ASSERT(r->who != CLIENT || connected(r));
		FUZZ_ASSERT(!r->open || r->who == CLIENT || r->who == DEVICE);
		FUZZ_ASSERT(r->served <= 1 && r->answers <= 1);
	}
}

/* -------------------------------------------------------------------- what happens */

/* Applies an event; false if the table refuses it, and then nothing has changed. */
static bool move(struct req *r, enum rxs_req_event event)
{
	int next = rxs_req_next(r->state, event);

	FUZZ_ASSERT(never(r, event) ? next == -EPROTO : next >= 0 && next < RXS_NR_REQ_STATES);
	if (next < 0)
		return false;
	r->state = next;
	return true;
}

/* Applies an event of the server's own, which the table must accept. */
static void take(struct req *r, enum rxs_req_event event)
{
	FUZZ_ASSERT(move(r, event));
}

static void over(struct req *r, bool answered)
{
	FUZZ_ASSERT(r->who != NOBODY && !r->open && !r->answers);
	r->who = NOBODY;
	r->answers += answered;
}

static void answer(struct req *r)
{
	take(r, RXS_REQ_ANSWER);
	over(r, true);
}

static void forget(struct req *r)
{
	take(r, RXS_REQ_FORGET);
	over(r, false);
}

static void serve(struct req *r)
{
	FUZZ_ASSERT(!r->served && !r->open && (r->data != WRITE || r->filled));
	r->who = SERVICE;
	r->served++;
}

/*
 * The client says that the data of a WRITE is there.  @invalid: its message has invalidated the
 * key for certain, so that no LOCAL_INV is needed.
 */
static void data_there(struct req *r, bool invalid)
{
	take(r, invalid ? RXS_REQ_DATA : RXS_REQ_INVALIDATE);
	r->who = invalid ? THREADS : DEVICE;
	r->filled = invalid;
	r->open = !invalid;
}

/* A CALL comes and begins a new request in its slot. */
static void call_new(struct req *r, u8 how)
{
	enum data data = (how & 3) % 3;
	bool keyed = how & 4;

	*r = (struct req){
		.state = RXS_REQ_QUEUED, .who = THREADS, .data = data,
		.keyed = data == READ && keyed, .bound = *conn_of(r),
	};
	if (data == WRITE && keyed) {
		/* The client says that its data is in a granted sink, which may not be so. */
		if (how & 8)
			data_there(r, how & 16);
		else
			forget(r);
	} else if (data != WRITE && how & 8) {
		/* It is served at once, where it arrived. */
		r->served++;
		answer(r);
	}
}

static void call(struct req *r, u8 how)
{
	if (!*conn_of(r))
		return;
	if (r->who == NOBODY) {
		call_new(r, how);
		return;
	}
	/* A CALL that comes twice on one connection, or that the table refuses, changes nothing. */
	if (connected(r) || !move(r, RXS_REQ_REPLAY))
		return;
	r->bound = *conn_of(r);
	r->keyed = r->data == READ && how & 4;
	r->cancelled = false;
}

/* A thread takes a request from the queue: it gets a sink for a WRITE, or has it served. */
static void thread(struct req *r)
{
	if (r->who != THREADS)
		return;
	if (r->state == RXS_REQ_QUEUED && r->data == WRITE) {
		take(r, RXS_REQ_FETCH);
		r->who = SINK;
	} else {
		take(r, RXS_REQ_SERVE);
		serve(r);
	}
}

/*
 * The thread that gets a sink; one step for each time that it holds the lock.  It looks which
 * connection it is to ask for the data on.  Then it asks, or goes to stand in line, or finds that
 * there is no sink; in the latter case it answers in the next step.  Between two steps the
 * connection may be lost, and the CALL come again on the next one.
 */
static void sink(struct req *r, u8 how)
{
	if (r->who != SINK)
		return;
	if (!r->way) {
		if (connected(r))
			r->way = r->bound;
		else
			forget(r);
		return;
	}
	if (r->none) {
		answer(r);
		return;
	}
	switch (how & 3) {
	case 0:		/* there are no pages, or the session may never have so many */
		r->none = true;
		break;
	case 1:		/* there are no translations */
		if (r->cancelled) {
			answer(r);
			break;
		}
		take(r, RXS_REQ_CLAIM);
		r->who = LINE;
		r->claimed = true;
		r->way = 0;
		break;
	default:
		if (r->way != r->bound || !connected(r)) {
			r->way = 0;	/* look again in the next step */
			break;
		}
		if (r->cancelled) {
			answer(r);
			break;
		}
		take(r, RXS_REQ_SEND_STCRW);
		r->who = CLIENT;
		r->open = true;
	}
}

/* The policy grants the translations that a request waits for in line. */
static void turn(struct req *r)
{
	if (r->who == LINE)
		r->who = SINK;
}

static void client_data(struct req *r, u8 how)
{
	if (r->state == RXS_REQ_WAITING && connected(r))
		data_there(r, how & 1);
}

/* An STCRW: the client says where a READ's data is to go. */
static void client_stcrw(struct req *r)
{
	if (r->who == NOBODY || !connected(r) || r->data != READ || r->keyed || r->cancelled)
		return;
	r->keyed = true;
	if (r->state == RXS_REQ_HELD)
		answer(r);
}

/* A CANCEL, which is ignored where it comes too late. */
static void client_cancel(struct req *r)
{
	if (r->who == NOBODY || !connected(r) || r->cancelled || r->data == SMALL ||
	    (r->data == WRITE && r->state > RXS_REQ_WAITING))
		return;
	r->cancelled = true;
	if (r->keyed)
		r->keyed = false;	/* by a REVOKED */
	else if (r->state == RXS_REQ_HELD || r->who == LINE)
		answer(r);
	else if (r->state == RXS_REQ_WAITING)
		data_there(r, false);
}

/* The device has executed the LOCAL_INV; if @failed, the queue pair is dead. */
static void device(struct req *r, bool failed)
{
	if (r->who != DEVICE)
		return;
	r->open = false;
	if (failed) {
		forget(r);
	} else if (r->cancelled) {
		answer(r);
	} else {
		take(r, RXS_REQ_INVALIDATED);
		r->who = THREADS;
		r->filled = true;
	}
}

/* The service has executed a request; @data: a READ has data, which may have no place to go to. */
static void service(struct req *r, bool data)
{
	if (r->who != SERVICE)
		return;
	if (r->data == READ && data && !r->keyed && !r->cancelled && connected(r)) {
		take(r, RXS_REQ_HOLD);
		r->who = CLIENT;
	} else {
		answer(r);
	}
}

/* A connection is lost and drained, and the session forgets it. */
static void unbind(u32 conn)
{
	u32 i;

	if (!s.conn[conn])
		return;
	for (i = conn; i < s.nr; i += s.nr_conns) {
		struct req *r = &s.slot[i];

		if (r->who == NOBODY || !connected(r))
			continue;
		take(r, RXS_REQ_UNBIND);
		if (r->who == CLIENT) {
			r->open = false;
			over(r, false);
		}
	}
	s.conn[conn] = 0;
	s.losing = s.conn[0] || s.conn[1];
}

/* The client connects: connection 0 first, when all are gone, and then the others. */
static void bind(u32 conn)
{
	if (s.losing || s.conn[conn] || (conn && !s.conn[0]))
		return;
	s.conn[conn] = ++s.serial;
}

/* ----------------------------------------------------------------------- the input */

static void step(void)
{
	u8 what = fuzz_u8(&s.f), how = fuzz_u8(&s.f);
	struct req *r = &s.slot[(what >> 4) % s.nr];

	switch (what & 15) {
	case 0:
		call(r, how);
		break;
	case 1:
		thread(r);
		break;
	case 2:
		sink(r, how);
		break;
	case 3:
		turn(r);
		break;
	case 4:
		client_data(r, how);
		break;
	case 5:
		client_stcrw(r);
		break;
	case 6:
		client_cancel(r);
		break;
	case 7:
		device(r, how & 1);
		break;
	case 8:
		service(r, how & 1);
		break;
	case 9:
		unbind(how % s.nr_conns);
		break;
	case 10:
		bind(how % s.nr_conns);
		break;
	default:
		break;
	}
	look(r);
	check();
}

static bool any_left(void)
{
	struct req *r;

	for (r = s.slot; r < s.slot + s.nr; r++)
		if (r->who != NOBODY)
			return true;
	return false;
}

/* Every party does all that it can, the client as well if it is connected. */
static void finish_round(void)
{
	struct req *r;

	for (r = s.slot; r < s.slot + s.nr; r++) {
		turn(r);
		thread(r);
		sink(r, 2);
		client_data(r, 0);
		device(r, false);
		thread(r);
		service(r, true);
		client_stcrw(r);
	}
	check();
}

/*
 * Brings all requests to their end; @stays: the client is connected meanwhile.  Each request must
 * end within ROUNDS rounds.
 */
static void finish(bool stays)
{
	u32 round, i;

	for (i = 0; i < s.nr_conns; i++)
		if (!stays || s.losing)
			unbind(i);
	for (i = 0; stays && i < s.nr_conns; i++)
		bind(i);
	check();
	for (round = 0; any_left(); round++) {
		FUZZ_ASSERT(round < ROUNDS);
		finish_round();
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u32 i;
	u8 how;

	memset(&s, 0, sizeof(s));
	s.f = (struct fuzz){ .p = data, .left = size };
	how = fuzz_u8(&s.f);
	s.nr = how % SLOTS + 1;
	s.nr_conns = (how >> 2) % CONNS + 1;
	/* Each slot begins as if its former request was gone. */
	for (i = 0; i < SLOTS; i++)
		s.slot[i].state = RXS_REQ_GONE;
	for (i = 0; i < s.nr_conns; i++)
		bind(i);
	check();
	while (s.f.left)
		step();
	finish(how & 0x80);
	fuzz_verdict(0);
	return 0;
}
