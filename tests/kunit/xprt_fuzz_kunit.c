// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_xprt_fuzz: a client in bare verbs sends messages to a live server at random.
 *
 * It keeps to the protocol as far as is necessary to reach all of the server: it makes calls
 * of all kinds, writes to sinks, uses, keeps or returns grants, registers rooms that the
 * server writes to, and has sessions of one or two connections, which it leaves and resumes.
 * But one message in a few is spoilt (a bit, a field, its length, the key that it
 * invalidates), or comes at a wrong moment.  The server may end the connection for that, and do
 * nothing worse.
 *
 * Meanwhile a well-behaved client beside it must be answered correctly.  All messages to a
 * session in which nothing was spoilt must be well formed.  Pages that the server has given
 * back must not be written to.  In the end no session or request of the hostile client may be
 * left.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <net/net_namespace.h>
#include "tests/points/points.h"
#include "transport/points.h"
#include "transport/server/server.h"
#include "xprt_lots.h"
#include "xprt_raw.h"

#define FUZZ_OWN_PORT	20993
#define FUZZ_LEN	16384
#define FUZZ_CONNS	2
#define FUZZ_GRANTS	8

static uint fuzz_messages = 5000;
module_param(fuzz_messages, uint, 0644);
MODULE_PARM_DESC(fuzz_messages, "messages that rdmafs_xprt_fuzz says");

static ushort fuzz_port;
module_param(fuzz_port, ushort, 0444);
MODULE_PARM_DESC(fuzz_port, "port of the server that rdmafs_xprt_fuzz speaks to; 0: its own");

/* The body of a request, and of its reply; the bodies of another server may hold anything. */
struct fuzz_msg {
	u32 fill;			/* 0: no data; bit 1: do not cache */
	u32 sum;			/* of the bytes of data that came */
};

/* The client's view of a slot. */
struct fuzz_slot {
	u32 seq;			/* of the last call */
	bool busy;			/* the last call is not answered */
	u8 kind;			/* of the last call: see fuzz_put_call() */
	bool room;			/* the server waits for an STCRW */
	bool cancelled;			/* cancelled: an STCRW is too late */
	struct rxp_wire_tag sink;	/* the server waits for its DATA, if it has a key */
};

/**
 * struct fuzz - the server, the hostile client and the well-behaved one
 * @port:     port of the server
 * @server:   server under test; NULL: @port is another server's
 * @opened:   sessions that began there
 * @closed:   sessions that ended there
 * @good:     connection of the well-behaved client
 * @good_seq: sequence number of its last call
 * @lots:     source of random numbers, and of what is spoilt
 * @count:    connections of the hostile client's session; 0: the next one is new
 * @conn:     each of these connections, or NULL
 * @slot:     slots of the session
 * @grant:    grants that the session holds
 * @nr_grants: number of grants
 * @client:   identity that the hostile client gives in its HELLO
 * @welcome:  last WELCOME on connection 0
 * @pages:    memory of the room
 * @sg:       the same
 * @mapped:   entries of @sg that are mapped for the device of @good, which is that of all
 * @room:     MR of @pages on connection 0, or NULL
 * @room_of:  last slot for which the room was registered
 * @said:     messages sent
 * @cuts:     connections that were lost
 * @resumed:  sessions that were resumed
 * @replies:  replies to the hostile client
 * @written:  sinks that were written to
 * @dirty:    a message was spoilt, or a call sent again, since the client connected last: a reply
 *    that is on its way may then be built anew for the second call
 * @stuck:    steps in which nothing was sent, one after the other
 * @kept_before: the knob keep_pages before the case
 * @spoiled:  pages that had been written to after they were given back, before the case
 * @given:    pages that had been given back, before the case
 * @test:     the case
 */
struct fuzz {
	u16 port;
	struct rdmafs_xprt_server *server;
	atomic_t opened;
	atomic_t closed;
	struct raw *good;
	u32 good_seq;

	struct lots lots;
	u32 count;
	struct raw *conn[FUZZ_CONNS];
	struct fuzz_slot slot[RAW_SLOTS];
	struct rxp_wire_tag grant[FUZZ_GRANTS];
	u32 nr_grants;
	u8 client[16];
	struct rxp_wire_welcome welcome;

	struct page *pages;
	struct scatterlist sg;
	int mapped;
	struct ib_mr *room;
	struct fuzz_slot *room_of;

	u32 said;
	u32 cuts;
	u32 resumed;
	u32 replies;
	u32 written;
	bool dirty;
	u32 stuck;
	u32 kept_before;
	u32 spoiled;
	u32 given;
	struct kunit *test;
};

/* ------------------------------------------------------------------- service */

static void fuzz_handle(struct rdmafs_xprt_req *req, void *ctx)
{
	struct fuzz_msg *out = req->reply;
	struct iov_iter dest;
	u32 len = 0;
	u8 byte;

	memset(out, 0, sizeof(*out));
	memcpy(out, req->body, min_t(u32, sizeof(*out), req->body_len));
	out->sum = 0;
	while (iov_iter_count(&req->data) && copy_from_iter(&byte, 1, &req->data) == 1)
		out->sum += byte;
	if (out->fill && req->read_max && !rdmafs_xprt_req_room(req, req->read_max, &dest))
		len = iov_iter_zero(req->read_max, &dest);
	rdmafs_xprt_req_reply(req, sizeof(*out), len, out->fill & 2 ? RDMAFS_REPLY_NOCACHE : 0);
}

static int fuzz_session_open(struct rdmafs_xprt_session *s, void *ctx)
{
	struct fuzz *z = ctx;

	atomic_inc(&z->opened);
	return 0;
}

static void fuzz_session_close(struct rdmafs_xprt_session *s, void *ctx)
{
	struct fuzz *z = ctx;

	atomic_inc(&z->closed);
}

static const struct rdmafs_xprt_service fuzz_service = {
	.session_open	= fuzz_session_open,
	.session_close	= fuzz_session_close,
	.handle		= fuzz_handle,
};

/* ------------------------------------------------------------------- the client */

/* The length of a room or sink, or now and then any number. */
static u32 fuzz_len(struct fuzz *z)
{
	return lot_once_in(&z->lots, 8) ? lot_number(&z->lots) : FUZZ_LEN;
}

static struct raw *fuzz_conn(struct fuzz *z, u16 slot)
{
	return z->conn[slot % z->count];
}

/* Send the message in the connection's buffer, which may be spoilt. */
static void fuzz_say(struct fuzz *z, struct raw *raw, u32 len, u32 inv)
{
	z->said++;
	z->dirty |= lot_spoil(&z->lots, raw->send->buf, &len, &inv);
	raw_send(raw, len, inv);
}

/* Send a header and the structure that belongs to @op. */
static void fuzz_control(struct fuzz *z, struct raw *raw, u8 op, u16 slot, const void *body,
			 u32 len, u32 inv)
{
	struct rxp_wire_hdr *hdr = (struct rxp_wire_hdr *)raw->send->buf;

	memset(hdr, 0, sizeof(*hdr));
	hdr->type = RXP_CONTROL;
	hdr->op = op;
	hdr->slot = cpu_to_le16(slot);
	hdr->seq = cpu_to_le32(op == RXP_CONTROL_DATA || op == RXP_CONTROL_STCRW ||
			       op == RXP_CONTROL_CANCEL ? z->slot[slot].seq : 0);
	if (len)
		memcpy(hdr + 1, body, len);
	fuzz_say(z, raw, sizeof(*hdr) + len, inv);
}

/*
 * Register the room anew, for @s, so that a key that was kept from before is no longer valid.
 * While another slot's call has the room this is hardly ever done, as that call loses it.
 */
static bool fuzz_register(struct fuzz *z, struct raw *raw, struct fuzz_slot *s)
{
	struct ib_reg_wr wr = { .wr.opcode = IB_WR_REG_MR };

	if (raw != z->conn[0])
		return false;
	if (z->room_of && z->room_of != s && z->room_of->busy && !lot_once_in(&z->lots, 64))
		return false;
	z->room_of = s;
	if (z->room)
		ib_dereg_mr(z->room);
	z->room = ib_alloc_mr(raw->pd, IB_MR_TYPE_MEM_REG, FUZZ_LEN / PAGE_SIZE);
	if (IS_ERR(z->room)) {
		z->room = NULL;
		return false;
	}
	if (ib_map_mr_sg(z->room, &z->sg, 1, NULL, PAGE_SIZE) != 1)
		return false;
	ib_update_fast_reg_key(z->room, (z->room->rkey & 0xff) + 1);
	wr.mr = z->room;
	wr.key = z->room->rkey;
	wr.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
	return !raw_post(raw, &wr.wr) && raw->send_ok;
}

static struct rxp_wire_tag fuzz_room_tag(const struct fuzz *z)
{
	return (struct rxp_wire_tag) {
		.length = cpu_to_le32(FUZZ_LEN), .rkey = cpu_to_le32(z->room->rkey),
		.iova = cpu_to_le64(z->room->iova),
	};
}

/*
 * Write a call of slot->kind to @buf; @inv is NULL if another call goes before or behind it.
 * Returns its length.
 */
static u32 fuzz_put_call(struct fuzz *z, struct raw *raw, void *buf, u16 slot, u32 *inv)
{
	struct rxp_wire_hdr *hdr = buf;
	struct rxp_wire_call *call = (struct rxp_wire_call *)(hdr + 1);
	struct fuzz_msg *body = (struct fuzz_msg *)(call + 1);
	struct fuzz_slot *s = &z->slot[slot];
	struct rxp_wire_tag tag;
	u32 data = 0, flags = 0, bulk = FUZZ_LEN;

	memset(hdr, 0, sizeof(*hdr) + sizeof(*call) + sizeof(*body));
	if (z->server)
		body->fill = lot(&z->lots, 4);
	else
		prandom_bytes_state(&z->lots.rnd, body, sizeof(*body));
	s->room = false;
	s->cancelled = false;
	s->sink.rkey = 0;
	switch (s->kind) {
	case 0:
		flags = RXP_F_WRITE;
		break;
	case 1:
		if (!inv || !z->nr_grants)
			break;
		tag = z->grant[--z->nr_grants];
		if (lot_once_in(&z->lots, 2))
			raw_write(raw, le64_to_cpu(tag.iova), le32_to_cpu(tag.rkey), 64);
		flags = RXP_F_WRITE | RXP_F_RKEY;
		*inv = le32_to_cpu(tag.rkey);
		call->rkey = tag.rkey;
		bulk = le32_to_cpu(tag.length);
		break;
	case 2:
		if (!fuzz_register(z, raw, s))
			break;
		tag = fuzz_room_tag(z);
		flags = RXP_F_READ | RXP_F_RKEY;
		call->rkey = tag.rkey;
		call->iova = tag.iova;
		break;
	case 3:
		flags = RXP_F_READ;
		s->room = true;
		break;
	case 4:
		data = lot(&z->lots, RDMAFS_XPRT_INLINE_MAX / 2);
		break;
	}
	hdr->type = RXP_CALL;
	hdr->slot = cpu_to_le16(slot);
	hdr->seq = cpu_to_le32(s->seq);
	hdr->body_len = cpu_to_le16(sizeof(*body));
	hdr->flags = cpu_to_le16(flags);
	hdr->data_len = cpu_to_le32(data);
	call->bulk_len = cpu_to_le32(flags ? bulk : 0);
	s->busy = true;
	return sizeof(*hdr) + sizeof(*call) + sizeof(*body) + data;
}

/* Begin the slot's next call. */
static void fuzz_next(struct fuzz *z, u16 slot)
{
	z->slot[slot].seq++;
	z->slot[slot].kind = lot(&z->lots, 8);
}

/* Send one call, or several in one message. */
static void fuzz_call(struct fuzz *z)
{
	u16 slot = lot(&z->lots, RAW_SLOTS);
	struct raw *raw = fuzz_conn(z, slot);
	u32 len = 0, inv = 0, more = lot_once_in(&z->lots, 4) ? 1 + lot(&z->lots, 3) : 0;

	if (!raw || (z->slot[slot].busy && !lot_once_in(&z->lots, 256)))
		return;
	if (!z->slot[slot].busy)
		fuzz_next(z, slot);
	else
		z->dirty = true;
	len = fuzz_put_call(z, raw, raw->send->buf, slot, more ? NULL : &inv);
	for (; more && len + 512 + RDMAFS_XPRT_INLINE_MAX / 2 < RXP_MSG_MAX; more--) {
		slot = (slot + z->count) % RAW_SLOTS;
		if (z->slot[slot].busy)
			break;
		fuzz_next(z, slot);
		len += fuzz_put_call(z, raw, raw->send->buf + len, slot, NULL);
	}
	fuzz_say(z, raw, len, inv);
}

/* Go on with a call: the server waits for its DATA or for an STCRW. */
static void fuzz_go_on(struct fuzz *z, u16 slot)
{
	struct fuzz_slot *s = &z->slot[slot];
	struct raw *raw = fuzz_conn(z, slot);
	u32 rkey = le32_to_cpu(s->sink.rkey);
	struct rxp_wire_tag tag = s->sink;

	if (!raw || !s->busy)
		return;
	if (lot_once_in(&z->lots, 6)) {
		fuzz_control(z, raw, RXP_CONTROL_CANCEL, slot, NULL, 0, 0);
		s->room = false;
		s->cancelled = true;
		s->sink.rkey = 0;
	} else if (rkey) {
		if (!lot_once_in(&z->lots, 4)) {
			memset(raw->send->buf, 1, 64);
			raw_write(raw, le64_to_cpu(tag.iova) + lot(&z->lots, 64), rkey, 64);
			z->written++;
		}
		tag.iova = 0;
		tag.length = cpu_to_le32(fuzz_len(z));
		s->sink.rkey = 0;
		fuzz_control(z, raw, RXP_CONTROL_DATA, slot, &tag, sizeof(tag), rkey);
	} else if (s->room && fuzz_register(z, raw, s)) {
		tag = fuzz_room_tag(z);
		s->room = false;
		fuzz_control(z, raw, RXP_CONTROL_STCRW, slot, &tag, sizeof(tag), 0);
	}
}

/* Return some grants, or now and then a key that is none. */
static void fuzz_return(struct fuzz *z, struct raw *raw)
{
	__le32 body[1 + FUZZ_GRANTS];
	u32 nr = 0;

	while (nr < FUZZ_GRANTS && z->nr_grants && (!nr || lot_once_in(&z->lots, 2)))
		body[1 + nr++] = z->grant[--z->nr_grants].rkey;
	if (!nr) {
		if (!lot_once_in(&z->lots, 32))
			return;
		body[1 + nr++] = cpu_to_le32(lot_number(&z->lots));
	}
	body[0] = cpu_to_le32(nr);
	fuzz_control(z, raw, RXP_CONTROL_RETURN, 0, body, 4 + 4 * nr, 0);
}

/* -------------------------------------------------------------- what comes back */

/* Handle the frame at @buf.  Returns its bytes, or 0: it is malformed. */
static u32 fuzz_frame(struct fuzz *z, struct raw *raw, const u8 *buf, u32 len)
{
	const struct rxp_wire_hdr *hdr = (const struct rxp_wire_hdr *)buf;
	const struct rxp_wire_reply *reply = (const struct rxp_wire_reply *)(hdr + 1);
	u16 slot = le16_to_cpu(hdr->slot), flags = le16_to_cpu(hdr->flags);
	const __le32 *keys = (const __le32 *)(hdr + 1);
	struct rxp_wire_tag tag;
	struct fuzz_slot *s;
	u32 size;

	if (len < sizeof(*hdr) || slot >= RAW_SLOTS)
		return 0;
	s = &z->slot[slot];
	if (hdr->type == RXP_REPLY) {
		size = sizeof(*hdr) + sizeof(*reply) + le16_to_cpu(hdr->body_len);
		if (flags & RXP_F_GRANT) {
			if (size + sizeof(tag) > len)
				return 0;
			memcpy(&tag, buf + size, sizeof(tag));
			if (z->nr_grants < FUZZ_GRANTS)
				z->grant[z->nr_grants++] = tag;
			size += sizeof(tag);
		}
		size += le32_to_cpu(hdr->data_len);
		z->replies++;
		if (le32_to_cpu(hdr->seq) == s->seq)
			s->busy = false;
		return size;
	}
	if (hdr->type != RXP_NOTIFY)
		return 0;
	switch (hdr->op) {
	case RXP_NOTIFY_STCRW:
		if (len < sizeof(*hdr) + sizeof(tag))
			return 0;
		if (le32_to_cpu(hdr->seq) == s->seq && !s->cancelled)
			memcpy(&s->sink, hdr + 1, sizeof(s->sink));
		return sizeof(*hdr) + sizeof(tag);
	case RXP_NOTIFY_RECALL:
		if (len < sizeof(*hdr) + 4)
			return 0;
		return sizeof(*hdr) + 4 + 4 * (le32_to_cpu(keys[0]) & 0xffff);
	case RXP_NOTIFY_WELCOME:
		return sizeof(*hdr) + sizeof(struct rxp_wire_welcome);
	case RXP_NOTIFY_PONG:
	case RXP_NOTIFY_EVENT:
	case RXP_NOTIFY_REVOKED:
		return sizeof(*hdr);
	default:
		return 0;
	}
}

static bool fuzz_there(struct raw *raw)
{
	return atomic_read(&raw->arrived) > raw->taken;
}

/* Take all messages that are there, and post their receives again. */
static void fuzz_take(struct fuzz *z, struct raw *raw)
{
	struct raw_msg *m;
	u32 at, size;

	while (fuzz_there(raw)) {
		m = raw_next_msg(raw);
		for (at = 0; at < m->len; at += size) {
			size = fuzz_frame(z, raw, m->buf + at, m->len - at);
			if (!size || size > m->len - at) {
				if (z->dirty)
					break;
				KUNIT_FAIL(z->test, "%u bytes at %u are no frame: type %u op %u",
					   m->len - at, at, m->buf[at], m->buf[at + 1]);
				break;
			}
		}
		raw_repost(raw, m);
	}
}

/* --------------------------------------------------------------- its connections */

static void fuzz_leave(struct fuzz *z)
{
	u32 i;

	for (i = FUZZ_CONNS; i--;) {
		if (!z->conn[i])
			continue;
		if (!i && z->room) {
			rdma_disconnect(z->conn[i]->id);
			ib_drain_qp(z->conn[i]->id->qp);
			ib_dereg_mr(z->room);
			z->room = NULL;
		}
		raw_close(z->conn[i]);
		z->conn[i] = NULL;
	}
	z->nr_grants = 0;
}

/* Take the answer to a HELLO; if the HELLO was @spoilt there may be none. */
static bool fuzz_welcome(struct raw *raw, bool spoilt)
{
	const struct rxp_wire_hdr *hdr;
	struct raw_msg *m;
	u32 status;

	wait_event_timeout(raw->wait, READ_ONCE(raw->cut) || fuzz_there(raw),
			   spoilt ? HZ : RAW_WAIT);
	if (!fuzz_there(raw))
		return false;
	m = raw_next_msg(raw);
	hdr = (const struct rxp_wire_hdr *)m->buf;
	if (m->len < sizeof(*hdr) + sizeof(raw->welcome) || hdr->type != RXP_NOTIFY ||
	    hdr->op != RXP_NOTIFY_WELCOME)
		return false;
	raw->welcome = *(const struct rxp_wire_welcome *)(hdr + 1);
	status = le32_to_cpu(raw->welcome.status);
	raw_repost(raw, m);
	return status == RXP_WELCOME_BOUND || status == RXP_WELCOME_NEW;
}

static struct raw *fuzz_open(struct fuzz *z, u8 index, bool again)
{
	struct rxp_wire_hello hello = {};
	u32 spoilt = z->lots.spoilt;
	struct rxp_wire_cm cm;
	struct raw *raw;

	raw_fill_cm(&cm);
	cm.count = z->count;
	cm.index = index;
	if (index) {
		cm.incarnation = z->welcome.incarnation;
		memcpy(cm.session, z->welcome.session, sizeof(cm.session));
	}
	raw = raw_open_as(z->port, &cm, NULL);
	if (IS_ERR(raw))
		return NULL;
	WRITE_ONCE(raw->follows, true);
	if (again) {
		memcpy(hello.session, z->welcome.session, sizeof(hello.session));
		hello.boot = z->welcome.boot;
	}
	memcpy(hello.client, z->client, sizeof(hello.client));
	fuzz_control(z, raw, RXP_CONTROL_HELLO, 0, &hello, sizeof(hello), 0);
	if (fuzz_welcome(raw, z->lots.spoilt != spoilt))
		return raw;
	raw_close(raw);
	return NULL;
}

/* Connect and resume the session, or now and then open a new one: the old one lasts for a lease. */
static bool fuzz_come(struct fuzz *z)
{
	bool again = z->count && !lot_once_in(&z->lots, 64);
	u32 i;

	if (!again) {
		z->count = 1 + lot(&z->lots, FUZZ_CONNS);
		prandom_bytes_state(&z->lots.rnd, z->client, sizeof(z->client));
	}
	z->dirty = false;
	z->conn[0] = fuzz_open(z, 0, again);
	if (!z->conn[0]) {
		if (lot_once_in(&z->lots, 16))
			z->count = 0;
		return false;
	}
	z->welcome = z->conn[0]->welcome;
	if (le32_to_cpu(z->welcome.status) == RXP_WELCOME_BOUND)
		z->resumed++;
	else
		memset(z->slot, 0, sizeof(z->slot));
	for (i = 1; i < z->count; i++)
		z->conn[i] = fuzz_open(z, i, true);
	/* Send all calls again that are not answered. */
	for (i = 0; i < RAW_SLOTS; i++) {
		if (!z->slot[i].busy || !fuzz_conn(z, i))
			continue;
		z->dirty = true;
		fuzz_say(z, fuzz_conn(z, i),
			 fuzz_put_call(z, fuzz_conn(z, i), fuzz_conn(z, i)->send->buf, i, NULL), 0);
	}
	return true;
}

static bool fuzz_cut(const struct fuzz *z)
{
	u32 i;

	for (i = 0; i < z->count; i++)
		if (z->conn[i] && READ_ONCE(z->conn[i]->cut))
			return true;
	return !z->conn[0];
}

/* ----------------------------------------------------------------------- the case */

/* The well-behaved client must be answered as if it were alone. */
static void fuzz_good(struct fuzz *z)
{
	const struct rxp_frame f = {
		.slot = 5, .seq = ++z->good_seq, .body_len = sizeof(struct fuzz_msg),
		.data_len = 100,
	};
	u8 *buf = z->good->send->buf;
	u8 n = lot(&z->lots, 256);
	struct rxp_wire_hdr *hdr;
	struct fuzz_msg *body;
	struct raw_msg *m;
	u32 len;

	len = raw_put_call(buf, &f);
	memset(buf + len, n, f.data_len);
	KUNIT_ASSERT_EQ(z->test, raw_send(z->good, len + f.data_len, 0), 0);
	m = raw_next_msg(z->good);
	KUNIT_ASSERT_NOT_NULL_MSG(z->test, m, "no answer, cut: %d", z->good->cut);
	hdr = (struct rxp_wire_hdr *)m->buf;
	body = (struct fuzz_msg *)((struct rxp_wire_reply *)(hdr + 1) + 1);
	KUNIT_EXPECT_EQ(z->test, hdr->type, RXP_REPLY);
	KUNIT_EXPECT_EQ(z->test, le32_to_cpu(hdr->seq), z->good_seq);
	if (z->server)
		KUNIT_EXPECT_EQ(z->test, body->sum, 100 * n);
	KUNIT_EXPECT_EQ(z->test, raw_repost(z->good, m), 0);
}

/* Do one step: send at most one message, and take all that has come. */
static void fuzz_step(struct fuzz *z)
{
	struct raw *raw = z->conn[lot(&z->lots, z->count)];
	u32 i, said = z->said;

	if (!raw)
		raw = z->conn[0];
	switch (lot(&z->lots, 64)) {
	case 0 ... 39:
		fuzz_call(z);
		break;
	case 40 ... 57:
		i = lot(&z->lots, RAW_SLOTS);
		while (i < RAW_SLOTS && !z->slot[i].sink.rkey && !z->slot[i].room)
			i++;
		if (i < RAW_SLOTS)
			fuzz_go_on(z, i);
		break;
	case 58 ... 60:
		fuzz_return(z, raw);
		break;
	case 61:
		fuzz_control(z, raw, RXP_CONTROL_PING, 0, NULL, 0, 0);
		break;
	case 62:
		/* A CONTROL at a wrong moment: a second HELLO, DATA or an STCRW for no call. */
		if (lot_once_in(&z->lots, 8))
			fuzz_control(z, raw, 1 + lot(&z->lots, 7), lot(&z->lots, RAW_SLOTS),
				     &z->welcome, sizeof(struct rxp_wire_tag), 0);
		break;
	default:
		if (lot_once_in(&z->lots, 8)) {
			fuzz_control(z, raw, RXP_CONTROL_BYE, 0, NULL, 0, 0);
			z->count = 0;
		} else if (lot_once_in(&z->lots, 8)) {
			rdma_disconnect(raw->id);
		}
	}
	if (!z->count) {
		fuzz_leave(z);
		return;
	}
	for (i = 0; i < z->count; i++)
		if (z->conn[i])
			fuzz_take(z, z->conn[i]);
	/*
	 * Nothing could be sent: a message comes, or the session is stuck as a spoilt message
	 * was lost.
	 */
	if (said != z->said)
		z->stuck = 0;
	else if (++z->stuck % 64 == 63)
		wait_event_timeout(raw->wait, READ_ONCE(raw->cut) || fuzz_there(raw), 1);
	if (z->stuck > 512) {
		fuzz_leave(z);
		z->count = lot_once_in(&z->lots, 2) ? z->count : 0;
		z->stuck = 0;
	}
}

/* Send fuzz_messages messages, and open the session again whenever a connection is lost. */
static void fuzz_server(struct kunit *test)
{
	struct fuzz *z = test->priv;
	unsigned long end;
	u32 came = 0;

	z->test = test;
	lots_begin(&z->lots);
	fuzz_good(z);
	while (z->said < fuzz_messages) {
		if (!z->count || fuzz_cut(z)) {
			z->cuts += !!z->count;
			fuzz_leave(z);
			came = fuzz_come(z) ? 0 : came + 1;
			KUNIT_ASSERT_LT_MSG(test, came, 1000, "it is not let in any more");
			if (came)
				continue;
		}
		fuzz_step(z);
		if (lot_once_in(&z->lots, 256))
			fuzz_good(z);
		cond_resched();
	}
	fuzz_leave(z);
	end = jiffies + RAW_WAIT;
	while (z->server && READ_ONCE(z->server->nr_conns) > 1 && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_TRUE(test, !z->server || READ_ONCE(z->server->nr_conns) == 1);
	fuzz_good(z);
	kunit_info(test, "seed %u: %u messages, %u spoilt, %u connections cut, %u sessions resumed, %u made, %u replies, %u sinks written\n",
		   fuzz_seed, z->said, z->lots.spoilt, z->cuts, z->resumed, atomic_read(&z->opened),
		   z->replies, z->written);
	KUNIT_EXPECT_GT(test, z->replies, z->said / 8);
	KUNIT_EXPECT_GT(test, z->resumed, 0);
	KUNIT_EXPECT_TRUE(test, !z->server || z->written);
}

static int fuzz_init(struct kunit *test)
{
	struct fuzz *z = kunit_kzalloc(test, sizeof(*z), GFP_KERNEL);
	struct rxp_wire_hello hello = { .client = "well-behaved" };
	struct rdmafs_xprt_limits limits = raw_limits();
	struct raw *raw;

	KUNIT_ASSERT_NOT_NULL(test, z);
	/*
	 * Sessions that the hostile client leaves last as long as a lease; the limits are not
	 * tested here.
	 */
	limits.connections = 256;
	limits.client_connections = 256;
	limits.unbound_connections = 256;
	limits.sessions = 4096;
	limits.client_sessions = 4096;
	z->pages = alloc_pages(GFP_KERNEL, get_order(FUZZ_LEN));
	KUNIT_ASSERT_NOT_NULL(test, z->pages);
	sg_init_table(&z->sg, 1);
	sg_set_page(&z->sg, z->pages, FUZZ_LEN, 0);
	test->priv = z;
	z->port = fuzz_port ?: FUZZ_OWN_PORT;
	if (!fuzz_port) {
		z->server = rdmafs_xprt_listen(&init_net, z->port, &fuzz_service, z, &limits);
		if (IS_ERR(z->server))
			kunit_skip(test, "can't listen");
	}
	raw = raw_open(z->port);
	if (IS_ERR(raw))
		kunit_skip(test, "no RDMA device at %s", raw_address_name());
	z->good = raw;
	z->mapped = ib_dma_map_sg(raw->id->device, &z->sg, 1, DMA_FROM_DEVICE);
	KUNIT_ASSERT_EQ(test, z->mapped, 1);
	KUNIT_ASSERT_EQ(test, raw_say(raw, RXP_CONTROL, RXP_CONTROL_HELLO, 0, 0, &hello,
				      sizeof(hello), 0), 0);
	KUNIT_ASSERT_TRUE(test, fuzz_welcome(raw, false));
	z->kept_before = rdmafs_test_knobs.keep_pages;
	z->spoiled = rdmafs_points_spoiled(&z->given);
	WRITE_ONCE(rdmafs_test_knobs.keep_pages, 1);
	return 0;
}

static void fuzz_exit(struct kunit *test)
{
	struct fuzz *z = test->priv;
	u32 given;

	if (!z)
		return;
	fuzz_leave(z);
	if (z->mapped)
		ib_dma_unmap_sg(z->good->id->device, &z->sg, 1, DMA_FROM_DEVICE);
	if (z->good)
		raw_close(z->good);
	if (!IS_ERR_OR_NULL(z->server))
		rdmafs_xprt_unlisten(z->server);
	KUNIT_EXPECT_EQ(test, atomic_read(&z->opened), atomic_read(&z->closed));
	if (z->mapped) {
		KUNIT_EXPECT_EQ_MSG(test, rdmafs_points_spoiled(&given), z->spoiled,
				    "pages were written after they had been given back");
		KUNIT_EXPECT_GT(test, given, z->given);
		WRITE_ONCE(rdmafs_test_knobs.keep_pages, z->kept_before);
	}
	__free_pages(z->pages, get_order(FUZZ_LEN));
}

static struct kunit_case fuzz_cases[] = {
	KUNIT_CASE_SLOW(fuzz_server),
	{}
};

static struct kunit_suite fuzz_suite = {
	.name = "rdmafs_xprt_fuzz",
	.init = fuzz_init,
	.exit = fuzz_exit,
	.test_cases = fuzz_cases,
};

kunit_test_suite(fuzz_suite);
