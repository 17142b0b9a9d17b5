// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: transport/frame.c on any message.  It must accept the messages that
 * Documentation/protocol.rst allows and no others, give the fields as they are in the message,
 * and encode the same bytes from them again.
 *
 * The rules are repeated here, in tables and by offsets, and without the structs of
 * transport/wire.h: so a mistake would have to be made twice.
 *
 * Input: two bytes that say which side sent the message, how many slots the session has and how
 * many bytes of data are allowed; then the message.
 */
#include <errno.h>
#include "fuzz.h"
#include "transport/frame.h"
#include "transport/xprt.h"

enum { CALL = 1, REPLY, CONTROL, NOTIFY };
enum { READ = 1, WRITE = 2, RKEY = 4, GRANT = 1 };
#define KEYS	(-1)	/* instead of a length: the number of keys in the message says it */
#define TAG	16

/* An RPC's frame begins with 16 bytes of header and 16 of its own. */
#define HDR	16
#define HEAD	(HDR + 16)

static u64 le(const u8 *p, u32 bytes)
{
	return bytes ? p[0] | le(p + 1, bytes - 1) << 8 : 0;
}

/*
 * The valid flags of a CALL, and the fields that go with each.  bulk: must not be 0 if set here,
 * and must be 0 if not.  The others: may be other than 0 only if set here.
 */
static const struct {
	u16 flags;
	bool data, bulk, rkey, iova;
} calls[] = {
	{ 0,		.data = true },
	{ READ,		.bulk = true },
	{ READ | RKEY,	.bulk = true, .rkey = true, .iova = true },
	{ WRITE,	.bulk = true },
	{ WRITE | RKEY,	.bulk = true, .rkey = true },
};

static const struct {
	u8 type, op;
	int len;
	bool rpc;
} ops[] = {
	{ CONTROL, 1, 40, false },
	{ CONTROL, 2, TAG, true },
	{ CONTROL, 3, 0, false },
	{ CONTROL, 4, 0, false },
	{ CONTROL, 5, TAG, true },
	{ CONTROL, 6, 0, true },
	{ CONTROL, 7, KEYS, false },
	{ NOTIFY, 1, 40, false },
	{ NOTIFY, 2, TAG, true },
	{ NOTIFY, 3, 0, false },
	{ NOTIFY, 4, KEYS, false },
	{ NOTIFY, 5, 0, true },
	{ NOTIFY, 6, 0, false },
};

struct agreed {
	bool from_client;
	u32 slots, data_max;
};

static bool call_allowed(const u8 *m, const struct agreed *a)
{
	u32 body = le(m + 8, 2), flags = le(m + 10, 2), data = le(m + 12, 4);
	u32 bulk = le(m + 16, 4), rkey = le(m + 20, 4), i;
	u64 iova = le(m + 24, 8);

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].flags == flags)
			return body && (!data || calls[i].data) && !bulk == !calls[i].bulk &&
			       bulk <= a->data_max && (!rkey || calls[i].rkey) &&
			       (!iova || calls[i].iova) && iova + bulk >= iova;
	return false;
}

static bool reply_allowed(const u8 *m, const struct agreed *a)
{
	u32 body = le(m + 8, 2), flags = le(m + 10, 2), data = le(m + 12, 4);
	u32 status = le(m + 16, 4), bulk = le(m + 20, 4), pad = le(m + 28, 4);
	const u8 *grant = m + HEAD + body;

	if (pad || status > 3 || (flags && flags != GRANT))
		return false;
	if (status)
		return !body && !data && !bulk && !flags;
	if (!body || bulk > a->data_max || (bulk && data))
		return false;
	if (!flags)
		return true;
	/* The grant's length, its key and its address. */
	return le(grant, 4) && le(grant, 4) <= 4 << 20 && le(grant + 4, 4) &&
	       le(grant + 8, 8) + le(grant, 4) >= le(grant + 8, 8);
}

/* Is a CONTROL or NOTIFY allowed of which @left bytes follow the header? */
static bool op_allowed(const u8 *m, u32 left)
{
	const u8 *p = m + HDR;
	u32 i, nr;

	if (le(m + 8, 8))
		return false;
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		if (ops[i].type == m[0] && ops[i].op == m[1])
			break;
	if (i == ARRAY_SIZE(ops) || (!ops[i].rpc && le(m + 2, 6)))
		return false;
	if (ops[i].len != KEYS) {
		if (left != ops[i].len)
			return false;
		/* The address of a DATA and the pad of a WELCOME must be 0. */
		return !(m[0] == CONTROL && m[1] == 2 && le(p + 8, 8)) &&
		       !(m[0] == NOTIFY && m[1] == 1 && le(p + 36, 4));
	}
	nr = left < 4 ? 0 : le(p, 2);
	return nr && nr <= 32 && !le(p + 2, 2) && left == 4 + 4 * nr;
}

/*
 * The length of the frame at @m, where @left of the message's @len bytes are left; 0 if the frame
 * is not allowed.
 */
static u32 allowed(const u8 *m, u32 len, u32 left, const struct agreed *a)
{
	u32 body, data, need;

	if (len > 32768 || left < HDR || le(m + 2, 2) >= a->slots)
		return 0;
	if (m[0] == (a->from_client ? CONTROL : NOTIFY))
		return left == len && op_allowed(m, left - HDR) ? left : 0;
	body = le(m + 8, 2);
	data = le(m + 12, 4);
	if (m[0] != (a->from_client ? CALL : REPLY) || m[1] || body > 960 || data > 4096)
		return 0;
	need = HEAD + body + data;
	if (m[0] == REPLY && le(m + 10, 2) & GRANT)
		need += TAG;
	if (left < need)
		return 0;
	return (m[0] == CALL ? call_allowed(m, a) : reply_allowed(m, a)) ? need : 0;
}

/* Checks that the fields are those of the message, and that they encode to the same bytes. */
static void check_rpc(const u8 *m, const struct rxp_frame *f)
{
	u8 head[RXP_HEAD_MAX];
	const u8 *body = m + HEAD, *grant = body + le(m + 8, 2);
	u32 len;

	FUZZ_ASSERT(f->rpc && f->flags == le(m + 10, 2));
	FUZZ_ASSERT(f->body == body && f->body_len == le(m + 8, 2) && f->data_len == le(m + 12, 4));
	memset(head, 0xa5, sizeof(head));
	if (m[0] == CALL) {
		FUZZ_ASSERT(f->data == grant && f->bulk.length == le(m + 16, 4));
		FUZZ_ASSERT(f->bulk.rkey == le(m + 20, 4) && f->bulk.iova == le(m + 24, 8));
		len = rxp_frame_write_call(head, f);
	} else {
		FUZZ_ASSERT(f->status == le(m + 16, 4) && f->bulk.length == le(m + 20, 4));
		FUZZ_ASSERT(f->service_us == le(m + 24, 4));
		FUZZ_ASSERT(f->data == grant + (f->flags ? TAG : 0));
		memcpy(head + HEAD, body, f->body_len);
		len = rxp_frame_write_reply(head, f);
		if (f->flags) {
			FUZZ_ASSERT(f->grant.length == le(grant, 4));
			FUZZ_ASSERT(f->grant.rkey == le(grant + 4, 4));
			FUZZ_ASSERT(f->grant.iova == le(grant + 8, 8));
			rxp_frame_write_grant(head, len, &f->grant);
			len += TAG;
		}
	}
	FUZZ_ASSERT(m + len == f->data && !memcmp(head, m, len));
	if (m[0] == REPLY) {
		rxp_frame_clear_grant(head);
		FUZZ_ASSERT(!le(head + 10, 2));
	}
}

static void check_control(const u8 *m, const struct rxp_frame *f)
{
	const u8 *p = m + HDR;
	u8 head[HDR];
	u32 i;

	FUZZ_ASSERT(f->alone && f->body == p && !f->flags && !f->body_len && !f->data_len);
	rxp_frame_write_hdr(head, f->type, f->op, f->slot, f->seq);
	FUZZ_ASSERT(!memcmp(head, m, sizeof(head)));
	for (i = 0; ops[i].type != m[0] || ops[i].op != m[1]; i++)
		;
	FUZZ_ASSERT(f->rpc == ops[i].rpc);
	if (ops[i].len == TAG)
		FUZZ_ASSERT(f->bulk.length == le(p, 4) && f->bulk.rkey == le(p + 4, 4) &&
			    f->bulk.iova == le(p + 8, 8));
	FUZZ_ASSERT(f->nr_keys == (ops[i].len == KEYS ? le(p, 2) : 0));
	for (i = 0; i < f->nr_keys; i++)
		FUZZ_ASSERT(rxp_frame_key(f, i) == le(p + 4 + 4 * i, 4));
}

static int check_message(const u8 *msg, u32 len, const struct agreed *a)
{
	struct rxp_frame f;
	u32 at = 0, want;
	int ret;

	do {
		const u8 *m = msg + at;

		want = allowed(m, len, len - at, a);
		ret = rxp_frame_check(msg, len, at, a->from_client, a->slots, a->data_max, &f);
		FUZZ_ASSERT(ret == (want ? 0 : -EBADMSG));
		if (ret)
			return ret;
		FUZZ_ASSERT(f.type == m[0] && f.op == m[1] && f.slot == le(m + 2, 2) &&
			    f.seq == le(m + 4, 4));
		FUZZ_ASSERT(f.end == at + want && f.alone == (want == len));
		if (f.type <= REPLY)
			check_rpc(m, &f);
		else
			check_control(m, &f);
		at = f.end;
	} while (at < len);
	return 0;
}

static int cm_verdict(const u8 *m, u32 len, u32 limit)
{
	u8 index, count;

	if (len < 48 || le(m, 4) != 0x53464452)
		return -EPROTO;
	if (le(m + 4, 2) != 0x800a)
		return -EPROTONOSUPPORT;
	index = m[6];
	count = m[7];
	if (count > 16 || index >= count || le(m + 8, 4) < 5120 ||
	    le(m + 12, 4) < 4096 || le(m + 12, 4) > limit || le(m + 16, 4) ||
	    le(m + 20, 2) < 16 || le(m + 20, 2) > 1024 || le(m + 22, 2) < 8)
		return -EINVAL;
	/* Each connection but number 0 names a session and its incarnation. */
	if (index ? !le(m + 24, 4) || fuzz_zero(m + 32, 16) :
		    !fuzz_zero(m + 24, 4) || !fuzz_zero(m + 32, 16))
		return -EINVAL;
	return 0;
}

static int check_cm(const u8 *m, u32 len, u32 limit)
{
	struct rxp_wire_cm cm;
	int ret = rxp_frame_check_cm(m, len, limit, &cm);

	FUZZ_ASSERT(ret == cm_verdict(m, len, limit));
	FUZZ_ASSERT(rxp_frame_check_cm(NULL, len, limit, &cm) == -EPROTO);
	if (!ret)
		FUZZ_ASSERT(!memcmp(&cm, m, sizeof(cm)));
	return ret;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz f = { .p = data, .left = size };
	u8 how = fuzz_u8(&f);
	/* 1..1024 slots, and a limit for data that peers may agree on, 4 KiB..4 MiB. */
	struct agreed a = {
		.from_client = how & 1,
		.slots = 1 << (how >> 1 & 7) << (how >> 4 & 3),
		.data_max = 4096 << fuzz_u8(&f) % 11,
	};
	size_t len;
	u8 *msg;

	msg = fuzz_bytes(&f, f.left, &len);
	fuzz_verdict(how & 0x80 ? check_cm(msg, len, a.data_max) : check_message(msg, len, &a));
	free(msg);
	return 0;
}
