// SPDX-License-Identifier: GPL-2.0
/*
 * transport/client_state.c under any sequence of events: a mount's session, and calls beside
 * each other in its slots, which share its connection.
 *
 * What the code around the tables does, from call.c, replay.c, revoke.c and client.c, stands
 * here in as few words as will do.  What has happened is kept as facts, and by those alone,
 * not by the tables, it is said here where a call, or the session, has to be (call_where(),
 * session_where()) and what can't be at all (never()):
 *
 * - A call begins in a slot that is free, of a session that is up, and ends once: when it has
 *   its one answer, from the server or from recovery, its submitter has gone, the device is at
 *   work with nothing of it, and nobody can write to its memory.
 * - The server may say anything at any time.  It is heard while it has the CALL on a connection
 *   that is there, and has not answered: an answer once; an STCRW where data waits for one, or
 *   where that crossed a CANCEL; a DROPPED, once, and CANCELLED behind a CANCEL only.
 * - A loss is never out of place.  Then what was not answered is lost, and nothing else is; it
 *   hears nothing, and recovery alone goes on with it, when all of the old connection is over.
 *   When recovery is about to connect again, no call waits for a connection that is gone.
 * - While a submitter maps its pages only it ends that: no loss does, no answer and no recovery.
 * - What follows a CALL is one chain, and is not posted again while it is in the send queue.
 * - A session is up when it has connections, and neither fails, nor ends, nor is aborted.
 *   Nothing leads out of aborted, and only that out of ended.
 * - From wherever that leads all comes to its end: with a server that answers, which has the
 *   session up again, as well as by an abort.
 *
 * Input: slots, how it ends, and whether it begins before the first connection; then two bytes
 * a step: what happens, to which slot, and how.
 */
#include <linux/errno.h>
#include "fuzz.h"
#include "transport/client_state.h"

#define SLOTS	4
#define ROUNDS	32	/* more than recovery and any call need to come to their end */

enum data { SMALL, READ, WRITE };

/* Who may write to a READ's memory. */
enum key {
	NONE,		/* nobody */
	LENT,		/* the server: its key is registered, or about to be */
	LEAVING,	/* the server, until our LOCAL_INV is executed */
	DEAD,		/* nobody: its queue pair is; to be deregistered */
};

struct call {
	enum rxp_call_state state;	/* as the table has it */
	/* What has happened to it. */
	bool there;	/* its CALL was sent, and it has not ended */
	enum data data;
	bool maps;	/* its submitter maps its pages */
	bool sink;	/* a WRITE's data may go: the server has said where */
	bool followed;	/* what follows the CALL was given to the device, and is not out */
	bool cancel;	/* a CANCEL has followed */
	bool dropped;	/* and a DROPPED come */
	bool lost;	/* with its connection, and recovery has not come to it */
	u32 answers;
	/* What has to be over before it ends. */
	bool here;	/* its submitter */
	bool call_out, chain_out, inv_out;	/* the device, with what was posted */
	enum key key;
};

/* What recovery does next. */
enum worker { WATCH, DRAIN, LOSE, CONNECT, BIND };

static struct mount {
	struct fuzz f;
	struct call slot[SLOTS];
	u32 nr;
	enum rxp_state state;	/* as the table has it */
	bool known;	/* it was connected once */
	bool conns;	/* it has connections */
	bool failing, ended, aborted;
	/* Of the connection there is, or that is being made or ended: */
	bool wire;	/* it is not drained: messages come */
	bool broken;	/* it is lost */
	bool deaf;	/* and takes nothing any more */
	enum worker worker;
	u32 at;		/* the slot it has come to */
} m;

/* ---------------------------------------------------------------- what has to hold */

/* The server has, or gets, its CALL, and has not answered. */
static bool owed(const struct call *c)
{
	return c->there && !c->lost && !c->answers;
}

static enum rxp_call_state call_where(const struct call *c)
{
	if (!c->there)
		return RXP_CALL_FREE;
	if (c->answers)
		return c->maps ? RXP_CALL_ANSWERED_MAPPING : RXP_CALL_ANSWERED;
	if (c->lost)
		return c->maps ? RXP_CALL_LOST_MAPPING : RXP_CALL_LOST;
	if (c->cancel)
		return c->dropped ? RXP_CALL_DROPPED : RXP_CALL_CANCELLED;
	if (c->maps)
		return c->sink ? RXP_CALL_TAGGED : RXP_CALL_MAPPING;
	if (c->data == WRITE && !c->sink)
		return RXP_CALL_HELD;
	return c->followed ? RXP_CALL_FOLLOWED : RXP_CALL_SENT;
}

/* It has all that it needs, or gets it, and nothing more is to follow. */
static bool complete(const struct call *c)
{
	return owed(c) && !c->cancel && !c->maps && !c->followed && (c->data != WRITE || c->sink);
}

/*
 * The table has to refuse that.  Of what is left it takes some that the code never does: it
 * does not know a call's direction, nor what the device is at work with.
 */
static bool never(const struct call *c, enum rxp_call_event event)
{
	bool left = c->lost && !c->maps;	/* for recovery */

	switch (event) {
	case RXP_CALL_EV_SEND:
	case RXP_CALL_EV_HOLD:
		return c->there && !left;
	case RXP_CALL_EV_OPEN:
		return c->there;
	case RXP_CALL_EV_VOID:
	case RXP_CALL_EV_FAIL:
		return !left;
	case RXP_CALL_EV_MAPPED:
	case RXP_CALL_EV_REGISTERED:
	case RXP_CALL_EV_UNMAPPABLE:
		return !c->maps;
	case RXP_CALL_EV_FOLLOWED:
		return !c->followed && (!c->there || c->maps || (owed(c) && !c->cancel));
	case RXP_CALL_EV_CANCEL:
		return !complete(c);
	case RXP_CALL_EV_LOSE:
		return false;
	case RXP_CALL_EV_END:
		return !c->answers || c->maps;
	case RXP_CALL_EV_STCRW:
		if (!owed(c) || c->cancel)
			return !owed(c) || c->dropped;
		return c->sink || (!c->maps && c->data != WRITE);
	case RXP_CALL_EV_DROP:
		return !owed(c) || !c->cancel || c->dropped;
	case RXP_CALL_EV_CANCELLED:
		return !owed(c) || !c->cancel;
	default:	/* RXP_CALL_EV_REPLY */
		return !owed(c);
	}
}

static enum rxp_state session_where(void)
{
	if (m.aborted)
		return RXP_ABORTED;
	if (m.ended)
		return RXP_ENDED;
	if (m.failing)
		return RXP_FAILING;
	if (m.conns)
		return RXP_UP;
	return m.known ? RXP_DOWN : RXP_CONNECTING;
}

static void session(enum rxp_event event)
{
	m.state = rxp_state_next(m.state, event);
	switch (event) {
	case RXP_EV_BOUND:
		m.known = true;
		m.conns = true;
		break;
	case RXP_EV_LOST:
		m.conns = false;
		break;
	case RXP_EV_FAIL:
		m.failing |= m.known;
		break;
	case RXP_EV_FAILED:
		m.failing = false;
		break;
	case RXP_EV_END:
		m.ended |= m.known;
		break;
	default:	/* RXP_EV_ABORT */
		m.aborted |= m.known;
	}
	FUZZ_ASSERT(m.state == session_where());
}

/* Whatever might happen to a call just now. */
static void look_call(const struct call *c)
{
	u32 event;
	int next;

	for (event = 0; event < RXP_NR_CALL_EVENTS; event++) {
		next = rxp_call_next(c->state, event);
		if (next == -EPROTO)
			continue;
		FUZZ_ASSERT(next >= 0 && next < RXP_NR_CALL_STATES);
		FUZZ_ASSERT(!never(c, event));
		/* It comes late to all that does not wait for it, and changes nothing there. */
		FUZZ_ASSERT(event != RXP_CALL_EV_FOLLOWED || next == (int)c->state ||
			    c->state == RXP_CALL_FOLLOWED);
	}
}

/* Whatever might happen to the session just now; then it is as it was. */
static void look_session(void)
{
	const struct mount now = m;
	u32 event;

	for (event = 0; event < RXP_NR_EVENTS; event++) {
		/* It is recovery that says so, and then there are no connections. */
		if (event == RXP_EV_FAILED && m.failing && m.conns)
			continue;
		session(event);
		if (m.state != now.state) {
			FUZZ_ASSERT(now.state != RXP_ABORTED && m.state != RXP_CONNECTING);
			FUZZ_ASSERT(now.state != RXP_ENDED || m.state == RXP_ABORTED);
			FUZZ_ASSERT((m.state == RXP_UP) == (event == RXP_EV_BOUND));
		}
		m = now;
	}
}

/* What holds between any two steps. */
static void check(void)
{
	struct call *c;

	FUZZ_ASSERT(m.state == session_where());
	for (c = m.slot; c < m.slot + m.nr; c++) {
		FUZZ_ASSERT(c->state == call_where(c));
		FUZZ_ASSERT(rxp_call_unanswered(c->state) == (c->there && !c->answers));
		FUZZ_ASSERT(rxp_call_being_mapped(c->state) == c->maps);
		FUZZ_ASSERT(c->answers <= 1);
		FUZZ_ASSERT(m.worker != CONNECT || !owed(c));
	}
}

/* -------------------------------------------------------------------- what happens */

/* The server may say anything; what can't be is refused. */
static bool heard(struct call *c, enum rxp_call_event event)
{
	int next = rxp_call_next(c->state, event);

	FUZZ_ASSERT(never(c, event) ? next == -EPROTO : next >= 0 && next < RXP_NR_CALL_STATES);
	if (next < 0)
		return false;
	c->state = next;
	return true;
}

/* We may not. */
static void take(struct call *c, enum rxp_call_event event)
{
	FUZZ_ASSERT(heard(c, event));
}

static void break_conn(bool deaf)
{
	m.broken = true;
	m.deaf |= deaf;
}

/* Post what follows the CALL. */
static void follow(struct call *c)
{
	FUZZ_ASSERT(c->followed && !c->chain_out && m.wire);
	c->chain_out = !m.deaf;
}

static void lose(struct call *c)
{
	take(c, RXP_CALL_EV_LOSE);
	if (!c->there || c->answers)
		return;
	c->lost = true;
	/* Nothing of this is so on the next one. */
	c->sink = false;
	c->followed = false;
	c->cancel = false;
	c->dropped = false;
}

static void begin(struct call *c, u8 how)
{
	enum data data = (how & 3) % 3;
	bool open = data != SMALL && how & 4;
	bool granted = data == WRITE && !open && how & 8;

	if (c->there || m.state != RXP_UP)
		return;
	if (open)
		take(c, RXP_CALL_EV_OPEN);
	else
		take(c, data == WRITE && !granted ? RXP_CALL_EV_HOLD : RXP_CALL_EV_SEND);
	c->there = true;
	c->data = data;
	c->maps = open;
	c->sink = granted;
	c->here = true;
	c->call_out = !m.deaf;
	if (data == READ && !open && c->call_out)
		c->key = LENT;
}

static void mapped(struct call *c, bool failed)
{
	bool read = c->data == READ;

	/* Recovery has its connection, and will come to it. */
	if (!m.conns)
		lose(c);
	if (failed)
		take(c, RXP_CALL_EV_UNMAPPABLE);
	else
		take(c, read ? RXP_CALL_EV_REGISTERED : RXP_CALL_EV_MAPPED);
	c->maps = false;
	c->cancel = owed(c) && failed;
	c->followed = owed(c) && (failed || read || c->sink);
	if (c->state == RXP_CALL_FOLLOWED || c->state == RXP_CALL_CANCELLED)
		follow(c);
	if (c->state == RXP_CALL_FOLLOWED && read && c->chain_out)
		c->key = LENT;
}

static void submitter(struct call *c, u8 how)
{
	if (c->maps)
		mapped(c, how & 1);
	else
		c->here = false;
}

static void chain_done(struct call *c)
{
	take(c, RXP_CALL_EV_FOLLOWED);
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

/* The server has no more use of a READ's key: by its own word, if that can be believed. */
static void key_back(struct call *c, bool believed)
{
	if (c->key != LENT)
		return;
	c->key = believed ? NONE : LEAVING;
	c->inv_out = !believed;
}

static bool server_says(struct call *c, u8 how)
{
	bool believed = how & 4;

	switch (how & 3) {
	case 0:
		if (c->data != WRITE || !heard(c, RXP_CALL_EV_STCRW))
			return false;
		c->sink = true;
		c->followed |= !c->maps && !c->cancel;
		if (c->state == RXP_CALL_FOLLOWED)
			follow(c);
		return true;
	case 1:
		if (c->state != RXP_CALL_CANCELLED || c->data != READ || c->key != LENT)
			return false;
		take(c, RXP_CALL_EV_DROP);
		c->dropped = true;
		key_back(c, believed);
		return true;
	default:
		if (!heard(c, (how & 3) == 2 ? RXP_CALL_EV_CANCELLED : RXP_CALL_EV_REPLY))
			return false;
		c->answers++;
		key_back(c, believed);
		return true;
	}
}

static void server(struct call *c, u8 how)
{
	if (m.wire && !server_says(c, how))
		break_conn(how & 8);
}

/* Its translations are needed elsewhere. */
static void revoke(struct call *c)
{
	if (m.state != RXP_UP || c->state != RXP_CALL_SENT || c->data != READ || c->key != LENT)
		return;
	take(c, RXP_CALL_EV_CANCEL);
	c->cancel = true;
	c->followed = true;
	follow(c);
}

static void call_end(struct call *c)
{
	if (!c->answers || c->here || c->call_out || c->chain_out || c->inv_out)
		return;
	take(c, RXP_CALL_EV_END);
	FUZZ_ASSERT(c->answers == 1 && (c->key == NONE || c->key == DEAD));
	*c = (struct call){ .state = c->state };
}

/* ------------------------------------------------------------------------ recovery */

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

/* False: its submitter is at work with what we would take from the device. */
static bool lose_next(struct call *c)
{
	lose(c);
	if (c->state == RXP_CALL_LOST_MAPPING)
		return false;
	if (c->state == RXP_CALL_LOST) {
		FUZZ_ASSERT(!c->call_out && !c->chain_out && !c->inv_out);
		FUZZ_ASSERT(c->key == NONE || c->key == DEAD);
		c->key = NONE;
	}
	return true;
}

/* Those in the slots of @mask. */
static void fail(u32 mask)
{
	struct call *c;

	for (c = m.slot; c < m.slot + m.nr; c++) {
		if (c->state != RXP_CALL_LOST || !(mask & BIT(c - m.slot)))
			continue;
		take(c, RXP_CALL_EV_FAIL);
		c->lost = false;
		c->answers++;
	}
}

/* Send what is lost again; if there is @nothing to map it with, a WRITE is left. */
static void replay(bool nothing)
{
	struct call *c;
	bool cancelled;

	for (c = m.slot; c < m.slot + m.nr; c++) {
		if (c->state != RXP_CALL_LOST || (c->data == WRITE && nothing))
			continue;
		FUZZ_ASSERT(!c->call_out && !c->chain_out && !c->inv_out && c->key == NONE);
		cancelled = c->data == READ && nothing;
		if (cancelled)
			take(c, RXP_CALL_EV_VOID);
		else
			take(c, c->data == WRITE ? RXP_CALL_EV_HOLD : RXP_CALL_EV_SEND);
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

/* There is no connection: what next? */
static void recover_down(u8 how)
{
	switch (m.state) {
	case RXP_ABORTED:
		fail(~0U);
		break;
	case RXP_FAILING:
		fail(~0U);
		session(RXP_EV_FAILED);
		break;
	case RXP_ENDED:
		break;
	default:
		if (how & 1)
			break;
		m.wire = true;
		m.broken = how & 2;
		m.deaf = m.broken && how & 4;
		/* In a new session what may not be done twice fails. */
		fail(how >> 4);
		replay(how & 8);
		m.worker = BIND;
	}
}

static void recover(u8 how)
{
	switch (m.worker) {
	case WATCH:
		if (!m.broken && m.state != RXP_FAILING && m.state != RXP_ABORTED) {
			replay(how & 8);
			break;
		}
		session(RXP_EV_LOST);
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
	default:	/* BIND: whatever has happened to the session meanwhile */
		session(RXP_EV_BOUND);
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
		session(RXP_EV_ABORT);
	else if (how & 1 && !any_there())
		session(RXP_EV_END);
	else if (any_there())
		session(RXP_EV_FAIL);
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

/* All is done that can be, and a server that is asked to answers. */
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

static void finish(bool answers)
{
	u32 round;

	if (!answers)
		session(RXP_EV_ABORT);
	for (round = 0; round < ROUNDS; round++) {
		if (!any_there() && (m.ended || m.aborted || m.state == RXP_UP))
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
