/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One end of a connection in bare verbs, for the suites that break the
 * protocol: what it sends is what a case has written, and nothing is checked.
 */
#ifndef RDMAFS_KUNIT_XPRT_RAW_H
#define RDMAFS_KUNIT_XPRT_RAW_H

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/in.h>
#include <linux/list.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include "transport/frame.h"
#include "transport/xprt.h"

#define RAW_SLOTS	16
#define RAW_RECVS	(2 * RAW_SLOTS + RXP_RECV_RESERVE)
#define RAW_WAIT	(20 * HZ)

/* Longer than any case takes, on however slow a machine. */
#define RAW_PATIENT_MS	(600 * MSEC_PER_SEC)

struct raw;

struct raw_msg {
	struct ib_cqe cqe;
	struct raw *raw;
	u64 dma;
	u32 len;
	u8 buf[RXP_MSG_MAX] __aligned(64);
};

/**
 * struct raw - one end of a connection
 * @id:	     its own
 * @pd:	     protection domain
 * @cq:	     of sends and receives
 * @recv:    RAW_RECVS receives
 * @recvs:   of which so many are posted at first
 * @send:    what is sent is written here
 * @more:    completions of sends that nobody waits for
 * @taken:   receives that were looked at
 * @arrived: receives that came
 * @wait:    for @arrived and @cut
 * @cut:     the connection is gone
 * @follows: its end goes when the other one does, so that what it sends then fails at once
 * @step:    of the connection's set-up
 * @status:  of that step
 * @sent:    the device is done with the last work request
 * @send_ok: and executed it
 * @reason:  why it was rejected, or 0
 * @rnr_retries: what a server's end accepts with, if not 6
 * @client:  the client that it says it is
 * @welcome: what it was told
 * @link:    a server's: among those that nobody has accepted
 */
struct raw {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct raw_msg *recv;
	u32 recvs;
	struct raw_msg *send;
	struct ib_cqe more;
	u32 taken;
	atomic_t arrived;
	wait_queue_head_t wait;
	bool cut;
	bool follows;
	struct completion step;
	int status;
	struct completion sent;
	bool send_ok;
	u16 reason;
	u8 rnr_retries;
	u8 client[16];
	struct rxp_wire_welcome welcome;
	struct list_head link;
};

/* iWARP has no immediate data, and a WRITE is sent when it is done, whatever becomes of it. */
static inline bool raw_iwarp(const struct raw *raw)
{
	return rdma_protocol_iwarp(raw->id->device, raw->id->port_num);
}

int raw_address(u16 port, struct sockaddr_in *addr);
const char *raw_address_name(void);
int raw_route(const char *from, const char *to);
int raw_pretend(const char *from);
void raw_fill_cm(struct rxp_wire_cm *cm);
struct rdmafs_xprt_limits raw_limits(void);
void raw_no_lease(struct rdmafs_xprt_server *server);

struct raw *raw_alloc(void);
int raw_sge(struct raw *raw);
int raw_event(struct rdma_cm_id *id, struct rdma_cm_event *event);
int raw_setup(struct raw *raw);
int raw_step(struct raw *raw, int ret);
struct raw *raw_open_as(u16 port, const struct rxp_wire_cm *cm, u16 *reason);
struct raw *raw_open_retries(u16 port, const struct rxp_wire_cm *cm, u8 retries, u8 rnr_retries,
			     u16 *reason);
struct raw *raw_open_standing(u16 port, const struct rxp_wire_cm *cm, u32 recvs);
struct raw *raw_open_unheard(u16 port, const struct rxp_wire_cm *cm, u32 recvs);
struct raw *raw_open(u16 port);
int raw_accept(struct raw *raw, const void *data, u8 len);
void raw_close(struct raw *raw);
bool raw_wait_cut(struct raw *raw);

int raw_post(struct raw *raw, struct ib_send_wr *wr);
int raw_send(struct raw *raw, u32 len, u32 rkey);
int raw_write(struct raw *raw, u64 iova, u32 rkey, u32 len);
int raw_write_imm(struct raw *raw, u64 iova, u32 rkey, u32 len);
int raw_send_imm(struct raw *raw, u32 len);
u32 raw_put_call(void *buf, const struct rxp_frame *f);
int raw_send_call(struct raw *raw, const struct rxp_frame *f);
int raw_say(struct raw *raw, u8 type, u8 op, u16 slot, u32 seq, const void *body, u32 len,
	    u32 inv_rkey);
int raw_return(struct raw *raw, u32 rkey);

bool raw_arrives(struct raw *raw);
struct raw_msg *raw_next_msg(struct raw *raw);
struct rxp_wire_hdr *raw_next(struct raw *raw);
int raw_repost(struct raw *raw, struct raw_msg *m);
void *raw_expect(struct kunit *test, struct raw *raw, u8 type, u8 op, u16 slot, u32 seq);

#endif
