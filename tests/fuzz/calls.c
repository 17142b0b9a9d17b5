// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: transport/client/state.c, the client's tables of call and session states, under
 * any sequence of events.  There is a mount's session with one connection, and calls in several
 * of its slots.
 *
 * The functions here do in few lines what the code around the tables does (call.c, receive.c,
 * replay.c, revoke.c, connect.c and session.c).  They note what has happened as facts.  From
 * these facts alone, and without the tables, call_where() and session_where() compute the states
 * that a call and the session must have, and never() the events that must be refused.  The rules:
 *
 * - A call begins in a free slot of a session that is up.  It ends once: when it has its one
 *   answer, from the server or from recovery, its submitter has left, the device has completed
 *   all that was posted for it, and the server cannot write to its memory.
 * - The server may send any message at any time.  A message counts only while the server has the
 *   CALL, on a connection that exists, and has not answered.  Then an answer is accepted once; an
 *   STCRW while a WRITE's data waits for it, or if it crossed a CANCEL; a REVOKED once, and a
 *   CANCELLED, only after a CANCEL.
 * - A loss of the connection is accepted in any state.  All calls without an answer are lost then,
 *   and no others.  A lost call accepts no message.  Only recovery goes on with it, and only when
 *   everything on the old connection has ended.  When recovery is about to connect again, no call
 *   may wait for the old connection any more.
 * - While a submitter maps its pages, only the submitter ends that: no loss, answer or recovery.
 * - The work requests that follow a CALL are one chain, which is not posted again while it is in
 *   the send queue.
 * - A session is up while it has connections, and does not fail, end or abort.  No event leads out
 *   of aborted, and only an abort leads out of ended.
 * - From any state all calls come to their end, by a server that answers, after which the session
 *   is up again, and by an abort as well.
 *
 * Input: a byte with the number of slots, how the run ends, and whether it begins before the
 * first connection; then two bytes for each step: what happens, to which slot, and how.
 */
#include <linux/errno.h>
#include "fuzz.h"
#include "transport/client/state.h"

#define SLOTS	4
#define ROUNDS	32	/* more than recovery and any call need to come to their end */

enum data { SMALL, READ, WRITE };

/* State of the key to a READ's memory: may the server write to it? */
enum key {
	NONE,		/* no: there is no key */
	LENT,		/* yes: the key is registered, or about to be */
	LEAVING,	/* yes, until our LOCAL_INV is executed */
	DEAD,		/* no: the queue pair is dead, and the MR is to be deregistered */
};

/**
 * struct call - a call in its slot
 * @state:    its state in the table; all other fields are the facts
 * @there:    its CALL was sent, and it has not ended
 * @data:     its kind
 * @maps:     its submitter maps its pages
 * @sink:     the server has said where a WRITE's data is to go
 * @followed: the chain that follows the CALL was posted, and its completion is not handled
 * @cancel:   a CANCEL has followed
 * @revoked:  a REVOKED has come
 * @lost:     its connection was lost, and recovery has not sent it again nor answered it yet
 * @answers:  number of answers
 * @here:     its submitter has not left; the call does not end before that, nor while any of the
 *	      next three is set
 * @call_out: the work request of the CALL has not completed
 * @chain_out: nor has the chain that follows it
 * @inv_out:  nor has the LOCAL_INV
 * @key:      state of the key to its memory
 */
struct call {
	enum rxc_call_state state;
	bool there;
	enum data data;
	bool maps;
	bool sink;
	bool followed;
	bool cancel;
	bool revoked;
	bool lost;
	u32 answers;
	bool here;
	bool call_out, chain_out, inv_out;
	enum key key;
};

/* The next step of recovery, in the order in which they follow each other. */
enum worker { WATCH, DRAIN, LOSE, CONNECT, BIND };

static struct mount {
	struct fuzz f;
	struct call slot[SLOTS];
	u32 nr;			/* number of slots in use */
	enum rxc_session_state state;	/* the session's, in the table; the rest are facts */
	bool known;	/* the session was connected once */
	bool conns;	/* it has connections */
	bool failing, ended, aborted;
	/* The connection that exists, or that is being made or ended: */
	bool wire;	/* it is not drained, so messages may come */
	bool broken;	/* it is lost */
	bool deaf;	/* it is lost, and its send queue takes nothing any more */
	enum worker worker;	/* the next step of recovery */
	u32 at;		/* the next slot for its step LOSE */
} m;

/* ---------------------------------------------------------------- what has to hold */

/* Has the server the CALL, or will it get it, and has it not answered? */
static bool owed(const struct call *c)
{
	return c->there && !c->lost && !c->answers;
}

static enum rxc_call_state call_where(const struct call *c)
{
	if (!c->there)
		return RXC_CALL_FREE;
	if (c->answers)
		return c->maps ? RXC_CALL_ANSWERED_MAPPING : RXC_CALL_ANSWERED;
	if (c->lost)
		return c->maps ? RXC_CALL_LOST_MAPPING : RXC_CALL_LOST;
	if (c->cancel)
		return c->revoked ? RXC_CALL_REVOKED : RXC_CALL_CANCELLED;
	if (c->maps)
		return c->sink ? RXC_CALL_TAGGED : RXC_CALL_MAPPING;
	if (c->data == WRITE && !c->sink)
		return RXC_CALL_HELD;
	return c->followed ? RXC_CALL_FOLLOWED : RXC_CALL_SENT;
}

/* Has the server all that it needs for the call, so that nothing more is to be posted? */
static bool complete(const struct call *c)
{
	return owed(c) && !c->cancel && !c->maps && !c->followed && (c->data != WRITE || c->sink);
}

/*
 * Must the table refuse @event?  It may accept some other events that never come in practice: it
 * does not know whether a call is a READ or a WRITE, nor what the device is executing.
 */
static bool never(const struct call *c, enum rxc_call_event event)
{
	bool left = c->lost && !c->maps;	/* for recovery */

	switch (event) {
	case RXC_CALL_EV_SEND:
	case RXC_CALL_EV_HOLD:
		return c->there && !left;
	case RXC_CALL_EV_SEND_UNMAPPED:
		return c->there;
	case RXC_CALL_EV_VOID:
	case RXC_CALL_EV_FAIL:
		return !left;
	case RXC_CALL_EV_MAPPED:
	case RXC_CALL_EV_REGISTERED:
	case RXC_CALL_EV_UNMAPPABLE:
		return !c->maps;
	case RXC_CALL_EV_FOLLOWED:
		return !c->followed && (!c->there || c->maps || (owed(c) && !c->cancel));
	case RXC_CALL_EV_CANCEL:
		return !complete(c);
	case RXC_CALL_EV_LOSE:
		return false;
	case RXC_CALL_EV_END:
		return !c->answers || c->maps;
	case RXC_CALL_EV_STCRW:
		if (!owed(c) || c->cancel)
			return !owed(c) || c->revoked;
		return c->sink || (!c->maps && c->data != WRITE);
	case RXC_CALL_EV_REVOKED:
		return !owed(c) || !c->cancel || c->revoked;
	case RXC_CALL_EV_CANCELLED:
		return !owed(c) || !c->cancel;
	default:	/* RXC_CALL_EV_REPLY */
		return !owed(c);
	}
}

static enum rxc_session_state session_where(void)
{
	if (m.aborted)
		return RXC_ABORTED;
	if (m.ended)
		return RXC_ENDED;
	if (m.failing)
		return RXC_FAILING;
	if (m.conns)
		return RXC_UP;
	return m.known ? RXC_DOWN : RXC_CONNECTING;
}

/* Applies an event to the session, in the table and in the facts. */
static void session(enum rxc_session_event event)
{
	m.state = rxc_state_next(m.state, event);
	switch (event) {
	case RXC_EV_BOUND:
		m.known = true;
		m.conns = true;
		break;
	case RXC_EV_LOST:
		m.conns = false;
		break;
	case RXC_EV_FAIL:
		m.failing |= m.known;
		break;
	case RXC_EV_FAILED:
		m.failing = false;
		break;
	case RXC_EV_END:
		m.ended |= m.known;
		break;
	default:	/* RXC_EV_ABORT */
		m.aborted |= m.known;
	}
	FUZZ_ASSERT(m.state == session_where());
}

/* Tries all events on the call's state, without changing it. */
static void look_call(const struct call *c)
{
	u32 event;
	int next;

	for (event = 0; event < RXC_NR_CALL_EVENTS; event++) {
		next = rxc_call_next(c->state, event);
		if (next == -EPROTO)
			continue;
		FUZZ_ASSERT(next >= 0 && next < RXC_NR_CALL_STATES);
		FUZZ_ASSERT(!never(c, event));
		/* A completion of the chain that comes late changes no other state. */
		FUZZ_ASSERT(event != RXC_CALL_EV_FOLLOWED || next == (int)c->state ||
			    c->state == RXC_CALL_FOLLOWED);
	}
}

/* Tries all events on the session, and restores it after each. */
static void look_session(void)
{
	const struct mount now = m;
	u32 event;

	for (event = 0; event < RXC_NR_EVENTS; event++) {
		/* This event is recovery's own, and then there are no connections. */
		if (event == RXC_EV_FAILED && m.failing && m.conns)
			continue;
		session(event);
		if (m.state != now.state) {
			FUZZ_ASSERT(now.state != RXC_ABORTED && m.state != RXC_CONNECTING);
			FUZZ_ASSERT(now.state != RXC_ENDED || m.state == RXC_ABORTED);
			FUZZ_ASSERT((m.state == RXC_UP) == (event == RXC_EV_BOUND));
		}
		m = now;
	}
}

/* Checks what holds between any two steps. */
static void check(void)
{
	struct call *c;

	FUZZ_ASSERT(m.state == session_where());
	for (c = m.slot; c < m.slot + m.nr; c++) {
		FUZZ_ASSERT(c->state == call_where(c));
		FUZZ_ASSERT(rxc_call_unanswered(c->state) == (c->there && !c->answers));
		FUZZ_ASSERT(rxc_call_being_mapped(c->state) == c->maps);
		FUZZ_ASSERT(c->answers <= 1);
		FUZZ_ASSERT(m.worker != CONNECT || !owed(c));
	}
}

/* -------------------------------------------------------------------- what happens */

/* Applies a message of the server; false if the table refuses it, as it must if never() says so. */
static bool heard(struct call *c, enum rxc_call_event event)
{
	int next = rxc_call_next(c->state, event);

	FUZZ_ASSERT(never(c, event) ? next == -EPROTO : next >= 0 && next < RXC_NR_CALL_STATES);
	if (next < 0)
		return false;
	c->state = next;
	return true;
}

/* Applies an event of the client's own, which the table must accept. */
static void take(struct call *c, enum rxc_call_event event)
{
	FUZZ_ASSERT(heard(c, event));
}

static void break_conn(bool deaf)
{
	m.broken = true;
	m.deaf |= deaf;
}

/* Posts the chain that follows the CALL; it must not be in the send queue already. */
static void follow(struct call *c)
{
	FUZZ_ASSERT(c->followed && !c->chain_out && m.wire);
	c->chain_out = !m.deaf;
}

static void lose(struct call *c)
{
	take(c, RXC_CALL_EV_LOSE);
	if (!c->there || c->answers)
		return;
	c->lost = true;
	/* None of this holds on the next connection. */
	c->sink = false;
	c->followed = false;
	c->cancel = false;
	c->revoked = false;
}

/* A submitter begins a call; with @how & 4 its pages are mapped only after the CALL was sent. */
static void begin(struct call *c, u8 how)
{
	enum data data = (how & 3) % 3;
	bool open = data != SMALL && how & 4;
	bool granted = data == WRITE && !open && how & 8;

	if (c->there || m.state != RXC_UP)
		return;
	if (open)
		take(c, RXC_CALL_EV_SEND_UNMAPPED);
	else
		take(c, data == WRITE && !granted ? RXC_CALL_EV_HOLD : RXC_CALL_EV_SEND);
	c->there = true;
	c->data = data;
	c->maps = open;
	c->sink = granted;
	c->here = true;
	c->call_out = !m.deaf;
	if (data == READ && !open && c->call_out)
		c->key = LENT;
}

/* The submitter has mapped its pages, or has @failed to, and what follows the CALL is posted. */
static void mapped(struct call *c, bool failed)
{
	bool read = c->data == READ;

	/* The connection is gone; recovery goes on with the call after this. */
	if (!m.conns)
		lose(c);
	if (failed)
		take(c, RXC_CALL_EV_UNMAPPABLE);
	else
		take(c, read ? RXC_CALL_EV_REGISTERED : RXC_CALL_EV_MAPPED);
	c->maps = false;
	c->cancel = owed(c) && failed;
	c->followed = owed(c) && (failed || read || c->sink);
	if (c->state == RXC_CALL_FOLLOWED || c->state == RXC_CALL_CANCELLED)
		follow(c);
	if (c->state == RXC_CALL_FOLLOWED && read && c->chain_out)
		c->key = LENT;
}

static void submitter(struct call *c, u8 how)
{
	if (c->maps)
		mapped(c, how & 1);
	else
		c->here = false;
}

/* The completion of the chain is handled. */
static void chain_done(struct call *c)
{
	take(c, RXC_CALL_EV_FOLLOWED);
	c->chain_out = false;
	c->followed = false;
}

static void device(struct call *c, u8 how)
{
	switch (how % 3) {
	case 0:
		c->call_out = false;
		break;
	case 1:
		if (c->chain_out)
			chain_done(c);
		break;
	default:
		if (c->inv_out)
			c->key = m.broken ? DEAD : NONE;
		c->inv_out = false;
	}
}

/*
 * The server says that it does not use a READ's key any more.  @believed: its message has
 * invalidated the key; if not, a LOCAL_INV must.
 */
static void key_back(struct call *c, bool believed)
{
	if (c->key != LENT)
		return;
	c->key = believed ? NONE : LEAVING;
	c->inv_out = !believed;
}

/* A message of the server for a call; false if the client has to refuse it. */
static bool server_says(struct call *c, u8 how)
{
	bool believed = how & 4;

	switch (how & 3) {
	case 0:
		if (c->data != WRITE || !heard(c, RXC_CALL_EV_STCRW))
			return false;
		c->sink = true;
		c->followed |= !c->maps && !c->cancel;
		if (c->state == RXC_CALL_FOLLOWED)
			follow(c);
		return true;
	case 1:
		if (c->state != RXC_CALL_CANCELLED || c->data != READ || c->key != LENT)
			return false;
		take(c, RXC_CALL_EV_REVOKED);
		c->revoked = true;
		key_back(c, believed);
		return true;
	default:
		if (!heard(c, (how & 3) == 2 ? RXC_CALL_EV_CANCELLED : RXC_CALL_EV_REPLY))
			return false;
		c->answers++;
		key_back(c, believed);
		return true;
	}
}

/* The same; the client breaks a connection on which a message was refused. */
static void server(struct call *c, u8 how)
{
	if (m.wire && !server_says(c, how))
		break_conn(how & 8);
}

/* The policy wants the translations of the call, which is cancelled therefore. */
static void revoke(struct call *c)
{
	if (m.state != RXC_UP || c->state != RXC_CALL_SENT || c->data != READ || c->key != LENT)
		return;
	take(c, RXC_CALL_EV_CANCEL);
	c->cancel = true;
	c->followed = true;
	follow(c);
}

/* Ends a call if it has its answer and nothing of it is under way, and frees its slot. */
static void call_end(struct call *c)
{
	if (!c->answers || c->here || c->call_out || c->chain_out || c->inv_out)
		return;
	take(c, RXC_CALL_EV_END);
	FUZZ_ASSERT(c->answers == 1 && (c->key == NONE || c->key == DEAD));
	*c = (struct call){ .state = c->state };
}

/* ------------------------------------------------------------------------ recovery */

/* Recovery drains the old connection: all work requests complete, and its keys are dead. */
static void drain(void)
{
	struct call *c;

	for (c = m.slot; c < m.slot + m.nr; c++) {
		c->call_out = false;
		if (c->chain_out)
			chain_done(c);
		c->inv_out = false;
		if (c->key != NONE)
			c->key = DEAD;
	}
	m.wire = false;
}

/* Loses a call; false if recovery must wait, because the submitter still maps the pages. */
static bool lose_next(struct call *c)
{
	lose(c);
	if (c->state == RXC_CALL_LOST_MAPPING)
		return false;
	if (c->state == RXC_CALL_LOST) {
		FUZZ_ASSERT(!c->call_out && !c->chain_out && !c->inv_out);
		FUZZ_ASSERT(c->key == NONE || c->key == DEAD);
		c->key = NONE;
	}
	return true;
}

/* Recovery answers the lost calls in the slots of @mask with an error. */
static void fail(u32 mask)
{
	struct call *c;

	for (c = m.slot; c < m.slot + m.nr; c++) {
		if (c->state != RXC_CALL_LOST || !(mask & BIT(c - m.slot)))
			continue;
		take(c, RXC_CALL_EV_FAIL);
		c->lost = false;
		c->answers++;
	}
}

/*
 * Recovery sends all lost calls again.  @nothing: there are no translations to map data with; then
 * a READ is sent and cancelled, and a WRITE stays lost until later.
 */
static void replay(bool nothing)
{
	struct call *c;
	bool cancelled;

	for (c = m.slot; c < m.slot + m.nr; c++) {
		if (c->state != RXC_CALL_LOST || (c->data == WRITE && nothing))
			continue;
		FUZZ_ASSERT(!c->call_out && !c->chain_out && !c->inv_out && c->key == NONE);
		cancelled = c->data == READ && nothing;
		if (cancelled)
			take(c, RXC_CALL_EV_VOID);
		else
			take(c, c->data == WRITE ? RXC_CALL_EV_HOLD : RXC_CALL_EV_SEND);
		c->lost = false;
		c->cancel = cancelled;
		c->followed = cancelled;
		c->call_out = !m.deaf;
		if (cancelled)
			follow(c);
		else if (c->data == READ && c->call_out)
			c->key = LENT;
	}
}

/* Recovery without a connection: fail calls if the session is failing or aborted, else connect. */
static void recover_down(u8 how)
{
	switch (m.state) {
	case RXC_ABORTED:
		fail(~0U);
		break;
	case RXC_FAILING:
		fail(~0U);
		session(RXC_EV_FAILED);
		break;
	case RXC_ENDED:
		break;
	default:
		if (how & 1)
			break;
		m.wire = true;
		m.broken = how & 2;
		m.deaf = m.broken && how & 4;
		/* If the session is a new one, calls that must not be repeated fail. */
		fail(how >> 4);
		replay(how & 8);
		m.worker = BIND;
	}
}

/* One step of recovery. */
static void recover(u8 how)
{
	switch (m.worker) {
	case WATCH:
		if (!m.broken && m.state != RXC_FAILING && m.state != RXC_ABORTED) {
			replay(how & 8);
			break;
		}
		session(RXC_EV_LOST);
		m.worker = DRAIN;
		break;
	case DRAIN:
		drain();
		m.at = 0;
		m.worker = LOSE;
		break;
	case LOSE:
		while (m.at < m.nr && lose_next(&m.slot[m.at]))
			m.at++;
		if (m.at == m.nr)
			m.worker = CONNECT;
		break;
	case CONNECT:
		recover_down(how);
		break;
	default:	/* BIND: other events may have come to the session meanwhile */
		session(RXC_EV_BOUND);
		m.worker = WATCH;
	}
}

/* ----------------------------------------------------------------------- the input */

static bool any_there(void)
{
	struct call *c;

	for (c = m.slot; c < m.slot + m.nr; c++)
		if (c->there)
			return true;
	return false;
}

static void session_step(u8 how)
{
	if (how == 0xff)
		session(RXC_EV_ABORT);
	else if (how & 1 && !any_there())
		session(RXC_EV_END);
	else if (any_there())
		session(RXC_EV_FAIL);
}

static void step(void)
{
	u8 what = fuzz_u8(&m.f), how = fuzz_u8(&m.f);
	struct call *c = &m.slot[(what >> 4) % m.nr];

	switch (what & 15) {
	case 0:
		begin(c, how);
		break;
	case 1:
		submitter(c, how);
		break;
	case 2:
		device(c, how);
		break;
	case 3:
		server(c, how);
		break;
	case 4:
		revoke(c);
		break;
	case 5:
		call_end(c);
		break;
	case 6:
		recover(how);
		break;
	case 7:
		break_conn(how & 1);
		break;
	case 8:
		session_step(how);
		break;
	default:
		break;
	}
	look_call(c);
	look_session();
	check();
}

/* Every party does all that it can; the server if @answers. */
static void finish_round(bool answers)
{
	struct call *c;

	recover(0);
	for (c = m.slot; c < m.slot + m.nr; c++) {
		submitter(c, 0);
		submitter(c, 0);
		device(c, 0);
		device(c, 1);
		device(c, 2);
		if (answers && owed(c))
			server(c, 3);
		device(c, 2);
		call_end(c);
	}
	check();
}

/*
 * Brings all calls to their end, by a server that @answers or else by an abort.  That must take
 * no more than ROUNDS rounds.
 */
static void finish(bool answers)
{
	u32 round;

	if (!answers)
		session(RXC_EV_ABORT);
	for (round = 0; round < ROUNDS; round++) {
		if (!any_there() && (m.ended || m.aborted || m.state == RXC_UP))
			return;
		finish_round(answers);
	}
	FUZZ_ASSERT(!"it comes to its end");
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u8 how;

	memset(&m, 0, sizeof(m));
	m.f = (struct fuzz){ .p = data, .left = size };
	how = fuzz_u8(&m.f);
	m.nr = how % SLOTS + 1;
	m.worker = CONNECT;
	if (!(how & 0x40)) {
		recover(0);
		recover(0);
	}
	check();
	while (m.f.left)
		step();
	finish(how & 0x80);
	fuzz_verdict(0);
	return 0;
}
