// SPDX-License-Identifier: GPL-2.0
/*
 * Messages: the only file that checks bytes from the wire.  A user of a checked struct rxp_frame
 * need not look at lengths again.  The caller decides whether the frame makes sense in the state
 * that its slot is in.
 *
 * All functions are pure; the caller owns the buffers.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include "transport/frame.h"
#include "transport/xprt.h"

static_assert(sizeof(struct rxp_wire_cm) == 48);
static_assert(sizeof(struct rxp_wire_reject) == 12);
static_assert(sizeof(struct rxp_wire_hdr) == 16);
static_assert(sizeof(struct rxp_wire_call) == 16);
static_assert(sizeof(struct rxp_wire_reply) == 16);
static_assert(sizeof(struct rxp_wire_tag) == 16);
static_assert(sizeof(struct rxp_wire_hello) == 40);
static_assert(sizeof(struct rxp_wire_welcome) == 40);
static_assert(RXP_BODY_OFFSET + RDMAFS_XPRT_BODY_MAX + sizeof(struct rxp_wire_tag) <= RXP_HEAD_MAX);

/* Check the struct and the bytes behind a CALL's header.  Returns their length or -EBADMSG. */
static int check_call(const void *p, u32 left, u32 data_max, struct rxp_frame *f)
{
	const struct rxp_wire_call *c = p;
	u32 need = sizeof(*c) + f->body_len + f->data_len;

	if (left < need)
		return -EBADMSG;
	if (!f->body_len || (f->flags & ~RXP_F_ALL))
		return -EBADMSG;
	f->bulk.length = le32_to_cpu(c->bulk_len);
	f->bulk.rkey = le32_to_cpu(c->rkey);
	f->bulk.iova = le64_to_cpu(c->iova);

	switch (f->flags) {
	case 0:
		if (f->bulk.length || f->bulk.rkey || f->bulk.iova)
			return -EBADMSG;
		break;
	case RXP_F_READ:
		if (f->data_len || !f->bulk.length || f->bulk.length > data_max ||
		    f->bulk.rkey || f->bulk.iova)
			return -EBADMSG;
		break;
	case RXP_F_READ | RXP_F_RKEY:
		if (f->data_len || !f->bulk.length || f->bulk.length > data_max ||
		    rxp_segment_wraps(&f->bulk))
			return -EBADMSG;
		break;
	case RXP_F_WRITE | RXP_F_RKEY:
		if (f->data_len || !f->bulk.length || f->bulk.length > data_max || f->bulk.iova)
			return -EBADMSG;
		break;
	case RXP_F_WRITE:
		if (f->data_len || !f->bulk.length || f->bulk.length > data_max ||
		    f->bulk.rkey || f->bulk.iova)
			return -EBADMSG;
		break;
	default:
		return -EBADMSG;
	}
	f->body = p + sizeof(*c);
	f->data = f->body + f->body_len;
	return need;
}

static int check_reply(const void *p, u32 left, u32 data_max, struct rxp_frame *f)
{
	const struct rxp_wire_reply *r = p;
	const struct rxp_wire_tag *t;
	u32 grant = f->flags & RXP_F_GRANT ? sizeof(*t) : 0;
	u32 need = sizeof(*r) + f->body_len + grant + f->data_len;

	if (left < need)
		return -EBADMSG;
	if (f->flags & ~RXP_F_GRANT)
		return -EBADMSG;
	f->status = le32_to_cpu(r->status);
	f->bulk.length = le32_to_cpu(r->bulk_len);
	f->service_us = le32_to_cpu(r->service_us);
	if (f->bulk.length > data_max || (f->bulk.length && f->data_len) || r->pad)
		return -EBADMSG;
	switch (f->status) {
	case RXP_STATUS_OK:
		if (!f->body_len)
			return -EBADMSG;
		break;
	case RXP_STATUS_RETRY_LATER:
	case RXP_STATUS_CANCELLED:
	case RXP_STATUS_TOO_LARGE:
		if (f->body_len || f->data_len || f->bulk.length)
			return -EBADMSG;
		break;
	default:
		return -EBADMSG;
	}
	f->body = p + sizeof(*r);
	f->data = f->body + f->body_len + grant;
	if (grant) {
		t = f->body + f->body_len;
		f->grant = rxp_segment_decode(t);
		if (f->status != RXP_STATUS_OK || !f->grant.length || !f->grant.rkey ||
		    f->grant.length > RDMAFS_XPRT_DATA_MAX || rxp_segment_wraps(&f->grant))
			return -EBADMSG;
	}
	return need;
}

/*
 * The length of a RECALL or RETURN behind its header, from its number of keys; U32_MAX if
 * invalid.
 */
static u32 check_keys(const void *p, u32 left, struct rxp_frame *f)
{
	const struct rxp_wire_keys *keys = p;

	if (left < sizeof(*keys))
		return U32_MAX;
	f->nr_keys = le16_to_cpu(keys->nr);
	if (!f->nr_keys || f->nr_keys > RXP_WIRE_KEYS || keys->pad)
		return U32_MAX;
	return sizeof(*keys) + f->nr_keys * sizeof(keys->rkey[0]);
}

/* What a CONTROL or a NOTIFY has behind its header. */
enum op_body {
	OP_UNKNOWN,	/* there is no such op */
	OP_NOTHING,
	OP_HELLO,
	OP_WELCOME,
	OP_TAG,
	OP_KEYS,	/* their length depends on their number: check_keys() */
};

/* @rpc: slot and seq name an RPC; else both are 0. */
struct op_rule {
	enum op_body body;
	bool rpc;
};

static const struct op_rule controls[] = {
	[RXP_CONTROL_HELLO]	= { .body = OP_HELLO },
	[RXP_CONTROL_DATA]	= { .body = OP_TAG, .rpc = true },
	[RXP_CONTROL_PING]	= { .body = OP_NOTHING },
	[RXP_CONTROL_BYE]	= { .body = OP_NOTHING },
	[RXP_CONTROL_STCRW]	= { .body = OP_TAG, .rpc = true },
	[RXP_CONTROL_CANCEL]	= { .body = OP_NOTHING, .rpc = true },
	[RXP_CONTROL_RETURN]	= { .body = OP_KEYS },
};

static const struct op_rule notifies[] = {
	[RXP_NOTIFY_WELCOME]	= { .body = OP_WELCOME },
	[RXP_NOTIFY_STCRW]	= { .body = OP_TAG, .rpc = true },
	[RXP_NOTIFY_PONG]	= { .body = OP_NOTHING },
	[RXP_NOTIFY_RECALL]	= { .body = OP_KEYS },
	[RXP_NOTIFY_REVOKED]	= { .body = OP_NOTHING, .rpc = true },
	[RXP_NOTIFY_EVENT]	= { .body = OP_NOTHING },
};

static const u32 op_size[] = {
	[OP_NOTHING]	= 0,
	[OP_HELLO]	= sizeof(struct rxp_wire_hello),
	[OP_WELCOME]	= sizeof(struct rxp_wire_welcome),
	[OP_TAG]	= sizeof(struct rxp_wire_tag),
};

/* Check what is behind the header of a CONTROL or a NOTIFY.  Returns its length or -EBADMSG. */
static int check_op(const void *p, u32 left, bool from_client, struct rxp_frame *f)
{
	const struct op_rule *rules = from_client ? controls : notifies;
	u32 nr = from_client ? ARRAY_SIZE(controls) : ARRAY_SIZE(notifies), want;
	const struct op_rule *rule;

	if (f->body_len || f->data_len || f->flags || f->op >= nr)
		return -EBADMSG;
	rule = &rules[f->op];
	if (rule->body == OP_UNKNOWN)
		return -EBADMSG;
	want = rule->body == OP_KEYS ? check_keys(p, left, f) : op_size[rule->body];
	if (left != want || (!rule->rpc && (f->slot || f->seq)))
		return -EBADMSG;
	if (rule->body == OP_WELCOME && ((const struct rxp_wire_welcome *)p)->pad)
		return -EBADMSG;
	f->rpc = rule->rpc;
	f->body = p;
	if (rule->body == OP_TAG) {
		f->bulk = rxp_segment_decode(p);
		if (from_client && f->op == RXP_CONTROL_DATA && f->bulk.iova)
			return -EBADMSG;
	}
	return want;
}

/**
 * rxp_frame_check - check one frame of a received message and take it apart
 * @msg:      the message
 * @len:      its length, as the device reported it
 * @at:       offset of the frame: 0 first, then f->end of the frame before, while that is below
 *	      @len
 * @from_client: the peer is the client; this decides which types it may send
 * @slots:    slots of the session
 * @data_max: most bytes of data of one RPC
 * @f:        out; points into @msg
 *
 * Context: any.
 *
 * Return: 0, or -EBADMSG: the peer broke the protocol and is to be cut off.
 */
int rxp_frame_check(const void *msg, u32 len, u32 at, bool from_client, u32 slots,
		    u32 data_max, struct rxp_frame *f)
{
	const struct rxp_wire_hdr *h = msg + at;
	const void *p = h + 1;
	u32 left = len - at;
	int ret;

	memset(f, 0, sizeof(*f));
	if (len > RXP_RECV_MAX || left < sizeof(*h))
		return -EBADMSG;
	f->type = h->type;
	f->op = h->op;
	f->slot = le16_to_cpu(h->slot);
	f->seq = le32_to_cpu(h->seq);
	f->body_len = le16_to_cpu(h->body_len);
	f->flags = le16_to_cpu(h->flags);
	f->data_len = le32_to_cpu(h->data_len);
	if (f->slot >= slots || f->body_len > RDMAFS_XPRT_BODY_MAX ||
	    f->data_len > RDMAFS_XPRT_INLINE_MAX)
		return -EBADMSG;
	left -= sizeof(*h);

	if (f->type == (from_client ? RXP_CALL : RXP_REPLY)) {
		if (f->op)
			return -EBADMSG;
		f->rpc = true;
		ret = from_client ? check_call(p, left, data_max, f) :
				    check_reply(p, left, data_max, f);
	} else if (f->type == (from_client ? RXP_CONTROL : RXP_NOTIFY) && !at) {
		ret = check_op(p, left, from_client, f);
	} else {
		return -EBADMSG;
	}
	if (ret < 0)
		return ret;
	f->end = at + sizeof(*h) + ret;
	f->alone = !at && f->end == len;
	return 0;
}

/* Connection 0 makes or resumes a session by HELLO, and names none here; the others do. */
static bool cm_place_ok(const struct rxp_wire_cm *cm)
{
	bool named = memchr_inv(cm->session, 0, sizeof(cm->session));

	if (cm->count > RDMAFS_XPRT_CONNS_MAX || cm->index >= cm->count)
		return false;
	return cm->index ? named && cm->incarnation : !named && !cm->incarnation;
}

/**
 * rxp_frame_check_cm - check the private data of a connection request or accept
 * @data:       the private data
 * @len:        bytes of @data; devices pad it, so it may be longer than the struct
 * @data_limit: upper bound for data_max
 * @out:        out: a copy
 *
 * Context: any.
 *
 * Return: 0; -EPROTO: not an rdmafs peer; -EPROTONOSUPPORT: another version; -EINVAL: values out
 * of bounds.
 */
int rxp_frame_check_cm(const void *data, u32 len, u32 data_limit, struct rxp_wire_cm *out)
{
	u32 slots;

	if (!data || len < sizeof(*out))
		return -EPROTO;
	memcpy(out, data, sizeof(*out));
	if (le32_to_cpu(out->magic) != RXP_WIRE_MAGIC)
		return -EPROTO;
	if (le16_to_cpu(out->version) != RXP_WIRE_VERSION)
		return -EPROTONOSUPPORT;
	slots = le16_to_cpu(out->slots);
	if (slots < RDMAFS_XPRT_SLOTS_MIN || slots > RDMAFS_XPRT_SLOTS_MAX ||
	    le32_to_cpu(out->recv_size) < RXP_MSG_MAX ||
	    le32_to_cpu(out->data_max) < RDMAFS_XPRT_INLINE_MAX ||
	    le32_to_cpu(out->data_max) > data_limit ||
	    le16_to_cpu(out->reserve) < RXP_RECV_RESERVE ||
	    out->features || !cm_place_ok(out))
		return -EINVAL;
	return 0;
}

/**
 * rxp_frame_write_hdr - write the header of a CONTROL or NOTIFY
 * @head: destination
 * @type: RXP_CONTROL or RXP_NOTIFY
 * @op:   its op
 * @slot: slot, or 0
 * @seq:  sequence number, or 0
 *
 * Context: any.
 */
void rxp_frame_write_hdr(void *head, u8 type, u8 op, u16 slot, u32 seq)
{
	struct rxp_wire_hdr *h = head;

	memset(h, 0, sizeof(*h));
	h->type = type;
	h->op = op;
	h->slot = cpu_to_le16(slot);
	h->seq = cpu_to_le32(seq);
}

static void write_common(struct rxp_wire_hdr *h, u8 type, const struct rxp_frame *f)
{
	rxp_frame_write_hdr(h, type, 0, f->slot, f->seq);
	h->body_len = cpu_to_le16(f->body_len);
	h->data_len = cpu_to_le32(f->data_len);
}

/**
 * rxp_frame_write_call - write the head of a CALL
 * @head: destination, RXP_HEAD_MAX bytes
 * @f:    slot, seq, flags, body, body_len, data_len, bulk
 *
 * Context: any.
 *
 * Return: bytes of the head; f->data_len bytes of data follow it.
 */
u32 rxp_frame_write_call(void *head, const struct rxp_frame *f)
{
	struct rxp_wire_hdr *h = head;
	struct rxp_wire_call *c = head + sizeof(*h);

	write_common(h, RXP_CALL, f);
	h->flags = cpu_to_le16(f->flags);
	c->bulk_len = cpu_to_le32(f->bulk.length);
	c->rkey = cpu_to_le32(f->bulk.rkey);
	c->iova = cpu_to_le64(f->bulk.iova);
	memcpy(c + 1, f->body, f->body_len);
	return RXP_BODY_OFFSET + f->body_len;
}

/**
 * rxp_frame_write_reply - write the head of a REPLY around its body
 * @head: destination; the body is at RXP_BODY_OFFSET already
 * @f:    slot, seq, body_len, data_len, bulk.length, status, service_us
 *
 * Context: any.
 *
 * Return: bytes of the head; f->data_len bytes of data follow it.
 */
u32 rxp_frame_write_reply(void *head, const struct rxp_frame *f)
{
	struct rxp_wire_hdr *h = head;
	struct rxp_wire_reply *r = head + sizeof(*h);

	static_assert(sizeof(*r) == sizeof(struct rxp_wire_call));
	write_common(h, RXP_REPLY, f);
	r->status = cpu_to_le32(f->status);
	r->bulk_len = cpu_to_le32(f->bulk.length);
	r->service_us = cpu_to_le32(f->service_us);
	r->pad = 0;
	return RXP_BODY_OFFSET + f->body_len;
}

/**
 * rxp_frame_write_grant - append a grant to a reply
 * @head:  the reply's head, from rxp_frame_write_reply()
 * @len:   its length; it is sizeof(struct rxp_wire_tag) bytes longer now
 * @grant: the grant
 *
 * Context: any.
 */
void rxp_frame_write_grant(void *head, u32 len, const struct rxp_segment *grant)
{
	struct rxp_wire_hdr *h = head;
	struct rxp_wire_tag tag;

	h->flags = cpu_to_le16(RXP_F_GRANT);
	rxp_segment_encode(&tag, grant);
	memcpy(head + len, &tag, sizeof(tag));
}

/**
 * rxp_frame_clear_grant - remove the grant from a reply
 * @head: the reply's head, with or without a grant
 *
 * Context: any.
 */
void rxp_frame_clear_grant(void *head)
{
	struct rxp_wire_hdr *h = head;

	h->flags = 0;
}

/**
 * rxp_frame_write_ctl - write a CONTROL or NOTIFY of an RPC
 * @msg: destination
 * @f:   type, op, slot, seq; bulk of an STCRW or DATA, else its length is 0
 *
 * Context: any.
 *
 * Return: its bytes.
 */
u32 rxp_frame_write_ctl(void *msg, const struct rxp_frame *f)
{
	struct rxp_wire_tag *tag = msg + sizeof(struct rxp_wire_hdr);

	rxp_frame_write_hdr(msg, f->type, f->op, f->slot, f->seq);
	if (!f->bulk.length)
		return sizeof(struct rxp_wire_hdr);
	rxp_segment_encode(tag, &f->bulk);
	return sizeof(struct rxp_wire_hdr) + sizeof(*tag);
}
