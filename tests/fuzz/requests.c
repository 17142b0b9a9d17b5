// SPDX-License-Identifier: GPL-2.0
/*
 * transport/reqstate.c under any sequence of events: requests beside each other in the slots
 * of a session on the server, on one connection or two, which are lost and come again.
 *
 * What the code around the table does, from serve.c, reply.c and request.c, stands here in as
 * few words as will do.  What has happened is kept as facts, above all in whose hands a request
 * is, and by those alone, not by the table, it is said here where it has to be (where()) and
 * what can't be at all (never()):
 *
 * - A request goes one way, comes to its end from wherever it is, with its connection and
 *   without, and nothing leads out of that: it is answered once, or gone, and never both.
 * - The service gets it once at most, and a WRITE only when all of its data is there.
 * - While the client could write to a sink nobody reads it, and its request is not over, unless
 *   the queue pair is dead.
 * - Data comes, or the key is taken back, only where data is waited for, or came with the CALL.
 * - CANCELLED is the answer to a CANCEL on the connection that the last CALL came on, and to
 *   nothing else: whether there was one is looked at in the step that answers.
 * - What is left to a message of the client, and that alone, is bound to the connection that
 *   its session has just now: so it goes with that, and nothing else does.
 * - A CALL that comes again on the next connection changes nothing; it can't where the former
 *   connection, or the device, still has to do with the request.
 *
 * Input: slots, connections, and how it ends; then two bytes a step: what happens, to which
 * slot, and how.
 */
#include <linux/errno.h>
#include "fuzz.h"
#include "transport/reqstate.h"

#define SLOTS	4
#define CONNS	2
#define ROUNDS	16	/* more than any request needs to come to its end */

enum data { SMALL, READ, WRITE };

/* In whose hands a request is. */
enum who {
	NOBODY,		/* it has left its slot */
	THREADS,	/* it is new, or queued to them */
	SINK,		/* a thread's, or worker's, that gets a sink for it */
	LINE,		/* the policy's */
	CLIENT,
	DEVICE,		/* which executes our LOCAL_INV */
	SERVICE,
};

struct req {
	enum rxp_req_state state;	/* as the table has it */
	/* What has happened to it. */
	enum who who;
	enum data data;
	bool claimed;	/* it has stood in line */
	bool filled;	/* a WRITE's data is there */
	bool open;	/* the client may be able to write to its sink */
	bool keyed;	/* a READ's data has a place to go to */
	bool cancelled;
	u32 served;	/* the service has got it */
	u32 answers;
	u32 bound;	/* the connection that its last CALL came on */
	/* What who gets a sink has seen, and which may not be so any more: */
	u32 way;	/* the connection to ask on for the data; 0: it has not looked */
	bool none;	/* that there is no sink for it */
};

static struct session {
	struct fuzz f;
	struct req slot[SLOTS];
	u32 nr;
	u32 conn[CONNS];	/* serial numbers; 0: none */
	u32 nr_conns;
	u32 serial;		/* of the last one */
	bool losing;		/* one was lost: no other comes before all are */
} s;

/* ---------------------------------------------------------------- what has to hold */

static u32 *conn_of(const struct req *r)
{
	return &s.conn[(r - s.slot) % s.nr_conns];
}

/* Is the connection that it is bound to its session's? */
static bool connected(const struct req *r)
{
	return r->bound && r->bound == *conn_of(r);
}

static enum rxp_req_state where(const struct req *r)
{
	switch (r->who) {
	case THREADS:
		return r->filled ? RXP_REQ_READY : RXP_REQ_QUEUED;
	case SINK:
		return r->claimed ? RXP_REQ_CLAIMING : RXP_REQ_FETCHING;
	case LINE:
		return RXP_REQ_CLAIMING;
	case CLIENT:
		return r->served ? RXP_REQ_HELD : RXP_REQ_WAITING;
	case DEVICE:
		return RXP_REQ_INVALIDATING;
	case SERVICE:
		return RXP_REQ_SERVING;
	default:
		return r->answers ? RXP_REQ_ANSWERED : RXP_REQ_GONE;
	}
}

/*
 * The table has to refuse that.  Of what is left it takes some that the code never does: it
 * does not know what is a WRITE, nor who of two has what is claiming.
 */
static bool never(const struct req *r, enum rxp_req_event event)
{
	bool new = r->who == THREADS && !r->filled;
	bool waits = r->who == CLIENT && !r->served;

	switch (event) {
	case RXP_REQ_FETCH:
		return !new;
	case RXP_REQ_CLAIM:
	case RXP_REQ_ASK:
		return r->who != SINK && r->who != LINE;
	case RXP_REQ_DATA:
	case RXP_REQ_INVALIDATE:
		return !new && !waits;
	case RXP_REQ_INVALIDATED:
		return r->who != DEVICE;
	case RXP_REQ_SERVE:
		return r->who != THREADS;
	case RXP_REQ_HOLD:
		return r->who != SERVICE;
	case RXP_REQ_ANSWER:
		return r->who == NOBODY || waits || (r->who == THREADS && r->filled);
	case RXP_REQ_REPLAY:
		return r->who == NOBODY || r->who == CLIENT || r->who == DEVICE;
	case RXP_REQ_UNBIND:
		return r->who == NOBODY;
	default:	/* RXP_REQ_DROP */
		return r->who == NOBODY || r->who == CLIENT || r->who == SERVICE ||
		       (r->who == THREADS && r->filled);
	}
}

/* Whatever might happen to it just now. */
static void look(const struct req *r)
{
	u32 event;
	int next;

	for (event = 0; event < RXP_NR_REQ_EVENTS; event++) {
		next = rxp_req_next(r->state, event);
		FUZZ_ASSERT(next == -EPROTO || (next >= 0 && next < RXP_NR_REQ_STATES));
		if (next == -EPROTO)
			continue;
		FUZZ_ASSERT(!never(r, event));
		/* They stand in the order in which they follow each other. */
		FUZZ_ASSERT(next >= (int)r->state);
	}
}

/* What holds between any two steps. */
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

/* False: that can't be, and nothing has changed. */
static bool move(struct req *r, enum rxp_req_event event)
{
	int next = rxp_req_next(r->state, event);

	FUZZ_ASSERT(never(r, event) ? next == -EPROTO : next >= 0 && next < RXP_NR_REQ_STATES);
	if (next < 0)
		return false;
	r->state = next;
	return true;
}

/* Of what we do ourselves all can be. */
static void take(struct req *r, enum rxp_req_event event)
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
	take(r, RXP_REQ_ANSWER);
	over(r, true);
}

static void drop(struct req *r)
{
	take(r, RXP_REQ_DROP);
	over(r, false);
}

static void serve(struct req *r)
{
	FUZZ_ASSERT(!r->served && !r->open && (r->data != WRITE || r->filled));
	r->who = SERVICE;
	r->served++;
}

/* The data of a WRITE is said to be there: has that made the key invalid for certain? */
static void data_there(struct req *r, bool invalid)
{
	take(r, invalid ? RXP_REQ_DATA : RXP_REQ_INVALIDATE);
	r->who = invalid ? THREADS : DEVICE;
	r->filled = invalid;
	r->open = !invalid;
}

/* A CALL that begins a request. */
static void call_new(struct req *r, u8 how)
{
	enum data data = (how & 3) % 3;
	bool keyed = how & 4;

	*r = (struct req){
		.state = RXP_REQ_QUEUED, .who = THREADS, .data = data,
		.keyed = data == READ && keyed, .bound = *conn_of(r),
	};
	if (data == WRITE && keyed) {
		/* Its data is in a granted sink; or there is none. */
		if (how & 8)
			data_there(r, how & 16);
		else
			drop(r);
	} else if (data != WRITE && how & 8) {
		/* It is served where it arrived. */
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
	/* Twice on one connection, or not refused: the client loses that. */
	if (connected(r) || !move(r, RXP_REQ_REPLAY))
		return;
	r->bound = *conn_of(r);
	r->keyed = r->data == READ && how & 4;
	r->cancelled = false;
}

static void thread(struct req *r)
{
	if (r->who != THREADS)
		return;
	if (r->state == RXP_REQ_QUEUED && r->data == WRITE) {
		take(r, RXP_REQ_FETCH);
		r->who = SINK;
	} else {
		take(r, RXP_REQ_SERVE);
		serve(r);
	}
}

/*
 * A step for each time that the lock is held: whoever gets a sink looks where to ask for the data,
 * then does so, or stands in line, or finds that there is none, and then says that.  In between
 * the connection may go, and the CALL come again on the next one.
 */
static void sink(struct req *r, u8 how)
{
	if (r->who != SINK)
		return;
	if (!r->way) {
		if (connected(r))
			r->way = r->bound;
		else
			drop(r);
		return;
	}
	if (r->none) {
		answer(r);
		return;
	}
	switch (how & 3) {
	case 0:		/* there are no pages, or it can never have so many */
		r->none = true;
		break;
	case 1:		/* there are no translations */
		if (r->cancelled) {
			answer(r);
			break;
		}
		take(r, RXP_REQ_CLAIM);
		r->who = LINE;
		r->claimed = true;
		r->way = 0;
		break;
	default:
		if (r->way != r->bound || !connected(r)) {
			r->way = 0;	/* it looks again */
			break;
		}
		if (r->cancelled) {
			answer(r);
			break;
		}
		take(r, RXP_REQ_ASK);
		r->who = CLIENT;
		r->open = true;
	}
}

static void turn(struct req *r)
{
	if (r->who == LINE)
		r->who = SINK;
}

static void client_data(struct req *r, u8 how)
{
	if (r->state == RXP_REQ_WAITING && connected(r))
		data_there(r, how & 1);
}

static void client_stcrw(struct req *r)
{
	if (r->who == NOBODY || !connected(r) || r->data != READ || r->keyed || r->cancelled)
		return;
	r->keyed = true;
	if (r->state == RXP_REQ_HELD)
		answer(r);
}

static void client_cancel(struct req *r)
{
	if (r->who == NOBODY || !connected(r) || r->cancelled || r->data == SMALL ||
	    (r->data == WRITE && r->state > RXP_REQ_WAITING))
		return;
	r->cancelled = true;
	if (r->keyed)
		r->keyed = false;	/* by a DROPPED */
	else if (r->state == RXP_REQ_HELD || r->who == LINE)
		answer(r);
	else if (r->state == RXP_REQ_WAITING)
		data_there(r, false);
}

/* The LOCAL_INV is over; if it failed the queue pair is dead. */
static void device(struct req *r, bool failed)
{
	if (r->who != DEVICE)
		return;
	r->open = false;
	if (failed) {
		drop(r);
	} else if (r->cancelled) {
		answer(r);
	} else {
		take(r, RXP_REQ_INVALIDATED);
		r->who = THREADS;
		r->filled = true;
	}
}

static void service(struct req *r, bool data)
{
	if (r->who != SERVICE)
		return;
	if (r->data == READ && data && !r->keyed && !r->cancelled && connected(r)) {
		take(r, RXP_REQ_HOLD);
		r->who = CLIENT;
	} else {
		answer(r);
	}
}

/* A connection is lost, drained, and leaves its session. */
static void unbind(u32 conn)
{
	u32 i;

	if (!s.conn[conn])
		return;
	for (i = conn; i < s.nr; i += s.nr_conns) {
		struct req *r = &s.slot[i];

		if (r->who == NOBODY || !connected(r))
			continue;
		take(r, RXP_REQ_UNBIND);
		if (r->who == CLIENT) {
			r->open = false;
			over(r, false);
		}
	}
	s.conn[conn] = 0;
	s.losing = s.conn[0] || s.conn[1];
}

/* The client comes back: with connection 0 when all are gone, with others then. */
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

/* All is done that can be, by the client, too, if it is there. */
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
	/* As if there had been one, and gone. */
	for (i = 0; i < SLOTS; i++)
		s.slot[i].state = RXP_REQ_GONE;
	for (i = 0; i < s.nr_conns; i++)
		bind(i);
	check();
	while (s.f.left)
		step();
	finish(how & 0x80);
	fuzz_verdict(0);
	return 0;
}
