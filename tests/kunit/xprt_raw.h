/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One end of a connection in bare verbs, for the suites that break the protocol.  It sends what
 * a case has written, and checks nothing.
 *
 * One thread at a time, the case's as a rule, uses a struct raw.  Completion handlers and the
 * events of the connection manager write only @arrived, @cut, @reason, @status, @send_ok, the
 * lengths of messages and the completions.
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

/* Longer than any case takes, however slow the machine is. */
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
 * @id:      id of the connection manager
 * @pd:      protection domain
 * @cq:      completion queue of sends and receives
 * @recv:    RAW_RECVS receives
 * @recvs:   number of them that are posted at first
 * @send:    buffer of the message to be sent
 * @more:    completion entry of all but the last of several sends
 * @taken:   receives that the case has looked at
 * @arrived: receives that have completed
 * @wait:    woken when @arrived or @cut changes
 * @cut:     the connection is lost
 * @follows: disconnect as soon as the peer does, so that sends fail at once after that
 * @step:    completed when a step of the connection's set-up is over
 * @status:  result of that step
 * @sent:    completed when the device is done with the last work request
 * @send_ok: the device executed it
 * @reason:  reason for which the connection was rejected, or 0
 * @rnr_retries: server's end: count to accept with; 0: 6
 * @client:  client that it says it is
 * @welcome: last WELCOME that it got
 * @link:    server's end: in the list of requests that are not accepted yet
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

/*
 * iWARP has no immediate data, and a WRITE completes when it is sent, even if the peer's
 * device refuses it.
 */
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
