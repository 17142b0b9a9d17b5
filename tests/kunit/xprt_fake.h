/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A server in bare verbs for the client of transport/xprt.h, and calls whose memory is
 * watched.  The case is the server: no message is answered unless the case does so.
 */
#ifndef RDMAFS_KUNIT_XPRT_FAKE_H
#define RDMAFS_KUNIT_XPRT_FAKE_H

#include "transport/client/client.h"
#include "xprt_raw.h"

#define FAKE_LEN	65536
#define FAKE_SMALL	1000
#define FAKE_CALLS	4
#define FAKE_SINKS	4

/* More than the server grants, so that there are slots that the client wanted and did not get. */
#define FAKE_WANT_SLOTS	32

/* This fills the memory around a call's data, and a READ's data before the answer. */
#define FAKE_POISON	0xee
#define FAKE_GUARD	512

/* Pieces of data with gaps, which no single MR can hold. */
#define FAKE_PIECES	64
#define FAKE_STRIDE	3000
#define FAKE_ROOM	(FAKE_PIECES * FAKE_STRIDE)

/* The body of a request, and of its reply. */
struct fake_msg {
	u32 id;
	u32 pad;
};

enum fake_kind {
	FAKE_NONE,
	FAKE_ECHO,
	FAKE_READ_SMALL,
	FAKE_READ,		/* registered before the CALL */
	FAKE_READ_LATE,		/* registered after the CALL */
	FAKE_READ_GAPS,		/* cannot be registered after the CALL: CANCEL */
	FAKE_WRITE_SMALL,
	FAKE_WRITE,
	FAKE_WRITE_GRANTED,
};

/**
 * struct fake_call - a call, and what the server has seen of it
 * @call:   the call; the client's from rdmafs_xprt_submit() until @ended
 * @req:    its body
 * @reply:  room for the reply's body
 * @kind:   kind of call
 * @len:    bytes of data
 * @buf:    FAKE_GUARD bytes, FAKE_ROOM for the data, FAKE_GUARD bytes
 * @kvec:   the data in @buf
 * @ended:  times that the call ended
 * @hit:    its data may be written in part though it is not answered
 * @seen:   the server has a CALL that it has not answered
 * @keyed:  the server has a key for the READ's data
 * @fired:  the server has the WRITE's DATA
 * @cancelled: the server has a CANCEL
 * @slot:   slot of the CALL
 * @flags:  flags of the CALL
 * @seq:    sequence number of the CALL
 * @rkey:   key of the CALL or STCRW
 * @iova:   address of the CALL or STCRW
 */
struct fake_call {
	struct rdmafs_xprt_call call;
	struct fake_msg req;
	struct fake_msg reply;
	enum fake_kind kind;
	u32 len;
	u8 *buf;
	struct kvec kvec[FAKE_PIECES];
	atomic_t ended;
	bool hit;

	bool seen;
	bool keyed;
	bool fired;
	bool cancelled;
	u16 slot;
	u16 flags;
	u32 seq;
	u32 rkey;
	u64 iova;
};

/**
 * struct fake - the server, and the client under test
 * @listen:  id that listens
 * @lock:    guards @pending
 * @pending: connection requests that are not accepted yet
 * @wait:    woken when @pending gets an entry
 * @raw:     server's end of the connection, or NULL
 * @hello:   the client's HELLO on it
 * @connect: calls rdmafs_xprt_connect() in a thread of its own
 * @error:   result of that
 * @connect_ms: milliseconds that it may take
 * @xprt:    the session under test
 * @resets:  times that the client was told of a new session
 * @noio:    at the last of these, memory was allocated without I/O
 * @events:  times that the client was told to ask what the service has to tell
 * @call:    the calls
 * @pages:   memory of all sinks
 * @sg:      the same
 * @mapped:  entries of @sg that are mapped for the connection's device
 * @sink:    sinks that are registered on the connection
 * @nr_sinks: number of sinks
 * @grant:   the next reply to a large WRITE brings a grant
 * @returned: first key of the last RETURN
 * @nr_returned: keys that were returned
 * @returns: RETURNs that came
 * @pings:   PINGs that came
 * @mute:    PINGs are not answered
 * @rnr_retries: raw.rnr_retries of the connections that are accepted from now on
 */
struct fake {
	struct rdma_cm_id *listen;
	spinlock_t lock;
	struct list_head pending;
	wait_queue_head_t wait;
	struct raw *raw;
	struct rxp_wire_hello hello;

	struct work_struct connect;
	int error;
	u32 connect_ms;
	struct rdmafs_xprt *xprt;
	atomic_t resets;
	bool noio;
	atomic_t events;

	struct fake_call call[FAKE_CALLS];

	struct page *pages;
	struct scatterlist sg;
	int mapped;
	struct ib_mr *sink[FAKE_SINKS];
	u32 nr_sinks;
	bool grant;
	u32 returned;
	u32 nr_returned;
	u32 returns;
	u32 pings;
	bool mute;
	u8 rnr_retries;
};

/**
 * struct fake_reply - a REPLY as it is to be sent
 * @type:     RXP_REPLY
 * @op:       0
 * @slot:     slot of the CALL
 * @seq:      sequence number of the CALL
 * @status:   RXP_STATUS_*
 * @pad:      0
 * @bulk_len: bytes that were written to the READ's room
 * @body_len: bytes of body; struct fake_msg comes first
 * @data_len: bytes of data inside the REPLY
 * @flags:    RXP_F_GRANT or 0
 * @id:       number of the call, in body and data
 * @inv:      key that the SEND invalidates, or 0
 * @extra:    bytes that it is longer than it says; may be negative
 * @grant:    the grant, with RXP_F_GRANT
 */
struct fake_reply {
	u8 type;
	u8 op;
	u16 slot;
	u32 seq;
	u32 status;
	u32 pad;
	u32 bulk_len;
	u16 body_len;
	u32 data_len;
	u16 flags;
	u32 id;
	u32 inv;
	int extra;
	struct rxp_wire_tag grant;
};

/* The call has ended; its result may be read after this. */
static inline bool fake_has_ended(const struct fake_call *c)
{
	return atomic_read_acquire(&c->ended);
}

/* Take a slot from the client's calls, without waiting; or -EAGAIN. */
static inline int fake_get_slot(struct fake *f, enum rxc_slot_kind kind)
{
	struct rxc_slots *s = &f->xprt->slot_account;

	return rxc_slots_get_since(s, kind, true, rxc_slots_dismissals(s));
}

struct fake *fake_new(struct kunit *test);
void fake_free(struct fake *f);

struct raw *fake_take_request(struct fake *f);
bool fake_accept(struct fake *f, const struct rxp_wire_cm *cm);
void fake_take_hello(struct kunit *test, struct fake *f);
void fake_put_welcome(struct fake *f, struct rxp_wire_welcome *w, u32 status);
int fake_welcome(struct fake *f, u32 status);
void fake_start(struct kunit *test, struct fake *f);
void fake_again(struct kunit *test, struct fake *f, u32 status);
void fake_drop(struct fake *f);

struct fake_call *fake_describe(struct fake *f, u32 id, enum fake_kind kind);
void fake_submit(struct kunit *test, struct fake *f, u32 id, enum fake_kind kind);
struct fake_call *fake_submit_all(struct kunit *test, struct fake *f, enum fake_kind kind);
void fake_await(struct kunit *test, struct fake_call *c);
void fake_untouched(struct kunit *test, struct fake *f);
void fake_guarded(struct kunit *test, const struct fake_call *c);
void fake_check(struct kunit *test, const struct fake_call *c);
void fake_ended(struct kunit *test, struct fake *f, int status, int others);
void fake_idle(struct kunit *test, struct fake *f);
u64 fake_stat(struct fake *f, enum rxp_stat stat);

void fake_note_call(struct fake_call *c, const struct rxp_wire_hdr *hdr);
void fake_take(struct kunit *test, struct fake *f);
void fake_take_call(struct kunit *test, struct fake *f, struct fake_call *c);
int fake_sink_at(struct fake *f, u32 i, struct rxp_wire_tag *tag);
struct rxp_wire_tag fake_sink(struct kunit *test, struct fake *f);
int fake_recall(struct fake *f, u32 rkey, u32 nr);
int fake_notify(struct fake *f, u8 op, u16 slot, u32 seq, const struct rxp_wire_tag *tag, u32 inv);
int fake_stcrw(struct kunit *test, struct fake *f, const struct fake_call *c);
struct fake_reply fake_ok(const struct fake_call *c);
u32 fake_put_reply(void *buf, const struct fake_reply *r);
int fake_reply(struct fake *f, const struct fake_reply *r);
int fake_write_part(struct fake *f, const struct fake_call *c, u32 len);
void fake_write(struct kunit *test, struct fake *f, struct fake_call *c);
void fake_serve(struct kunit *test, struct fake *f, struct fake_call *c);
void fake_serve_cancelled(struct kunit *test, struct fake *f, struct fake_call *c);
void fake_serve_all(struct kunit *test, struct fake *f);

#endif
