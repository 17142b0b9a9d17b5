// SPDX-License-Identifier: GPL-2.0
/*
 * LOCK, UNLOCK, LOCKCANCEL, TESTLOCK, EVENTS and RECLAIM_DONE.
 *
 * Their replies are cached: a lock that is taken twice is taken once, but one that is cancelled
 * twice may have been asked for again in between, and events are told once.
 */
#include <linux/build_bug.h>
#include <linux/fcntl.h>
#include "request.h"
#include "filelock.h"
#include "grace.h"

static_assert(sizeof(struct rfp_events_rep) + RFP_EVENTS_MAX * sizeof(struct rfp_event) <=
	      RDMAFS_XPRT_CACHE_MAX);

static bool rdmafsd_range_sound(u64 start, u64 end, u32 kind)
{
	if (start > end || end > OFFSET_MAX || kind > RFP_LOCK_FLOCK)
		return false;
	return kind != RFP_LOCK_FLOCK || (!start && end == OFFSET_MAX);
}

static int rdmafsd_check_lock(struct rdmafsd_rq *rq)
{
	const struct rfp_lock_req *lreq = rq->args;
	u32 flags = le32_to_cpu(lreq->flags), type = le32_to_cpu(lreq->type);

	if (!rdmafsd_range_sound(le64_to_cpu(lreq->start), le64_to_cpu(lreq->end),
				 le32_to_cpu(lreq->kind)))
		return -EINVAL;
	if (type != RFP_LOCK_READ && type != RFP_LOCK_WRITE)
		return -EINVAL;
	if (flags && flags != RFP_LOCK_WAIT && flags != RFP_LOCK_RECLAIM)
		return -EINVAL;
	if (flags != RFP_LOCK_RECLAIM && lreq->record)
		return -EINVAL;
	if (!(flags & RFP_LOCK_WAIT) != !lreq->token || le32_to_cpu(lreq->pid) > INT_MAX)
		return -EINVAL;
	return 0;
}

static int rdmafsd_check_testlock(struct rdmafsd_rq *rq)
{
	const struct rfp_lock_req *lreq = rq->args;

	if (lreq->flags || le32_to_cpu(lreq->kind) == RFP_LOCK_FLOCK)
		return -EINVAL;
	return rdmafsd_check_lock(rq);
}

static int rdmafsd_check_unlock(struct rdmafsd_rq *rq)
{
	const struct rfp_unlock_req *ureq = rq->args;

	return rdmafsd_range_sound(le64_to_cpu(ureq->start), le64_to_cpu(ureq->end),
				   le32_to_cpu(ureq->kind)) ? 0 : -EINVAL;
}

static struct rdmafsd_range rdmafsd_range_of(const struct rfp_lock_req *lreq)
{
	return (struct rdmafsd_range) {
		.owner = le64_to_cpu(lreq->owner),
		.start = le64_to_cpu(lreq->start),
		.end = le64_to_cpu(lreq->end),
		.kind = le32_to_cpu(lreq->kind),
		.pid = le32_to_cpu(lreq->pid),
	};
}

static unsigned char rdmafsd_lock_type(const struct rfp_lock_req *lreq)
{
	return le32_to_cpu(lreq->type) == RFP_LOCK_READ ? F_RDLCK : F_WRLCK;
}

static void rdmafsd_lock_reply(struct rdmafsd_rq *rq, u32 state, u32 record)
{
	struct rfp_lock_rep *rep = rdmafsd_rep(rq, sizeof(*rep));

	rep->state = cpu_to_le32(state);
	rep->record = cpu_to_le32(state == RFP_LOCK_HELD ? record : 0);
}

/* The results of the grace period have no errno, but a status of their own. */
static int rdmafsd_lock_status(int err)
{
	switch (err) {
	case -RDMAFSD_EGRACE:
		return RFP_GRACE;
	case -RDMAFSD_ENOGRACE:
		return RFP_NO_GRACE;
	default:
		return err;
	}
}

static int rdmafsd_op_lock(struct rdmafsd_rq *rq)
{
	const struct rfp_lock_req *lreq = rq->args;
	struct rdmafsd_range r = rdmafsd_range_of(lreq);
	unsigned char type = rdmafsd_lock_type(lreq);
	struct rdmafsd_asking a = {
		.again = lreq->flags == cpu_to_le32(RFP_LOCK_RECLAIM),
		.record = le32_to_cpu(lreq->record),
	};
	u32 token = le32_to_cpu(lreq->token);
	int ret;

	if (!rdmafsd_lock_offered(rq->state->file, r.kind))
		return -ENOLCK;
	/* fcntl(2) looks at this where the lock is made; flock(2) allows any open. */
	if (r.kind != RFP_LOCK_FLOCK &&
	    !(rq->state->file->f_mode & (type == F_RDLCK ? FMODE_READ : FMODE_WRITE)))
		return -EBADF;
	ret = token ? rdmafsd_lock_wait(rq->ses, rq->state, &r, type, token, &a.record) :
		      rdmafsd_lock_once(rq->ses, rq->state, &r, type, &a);
	if (ret < 0)
		return rdmafsd_lock_status(ret);
	rdmafsd_lock_reply(rq, ret, a.record);
	return 0;
}

const struct rdmafsd_op rdmafsd_lock_op = {
	RDMAFSD_FIXED(struct rfp_lock_req),
	.stateid = offsetof(struct rfp_lock_req, stateid),
	.as = RDMAFSD_AS_OPENER,
	.check = rdmafsd_check_lock,
	.fn = rdmafsd_op_lock,
};

static int rdmafsd_op_unlock(struct rdmafsd_rq *rq)
{
	const struct rfp_unlock_req *ureq = rq->args;
	const struct rdmafsd_range r = {
		.owner = le64_to_cpu(ureq->owner),
		.start = le64_to_cpu(ureq->start),
		.end = le64_to_cpu(ureq->end),
		.kind = le32_to_cpu(ureq->kind),
	};
	int err;

	if (!rdmafsd_lock_offered(rq->state->file, r.kind))
		return -ENOLCK;
	err = rdmafsd_unlock(rq->ses, rq->state, &r);
	if (!err)
		rdmafsd_rep(rq, sizeof(struct rfp_rep));
	return err;
}

const struct rdmafsd_op rdmafsd_unlock_op = {
	RDMAFSD_PADDED(struct rfp_unlock_req),
	.stateid = offsetof(struct rfp_unlock_req, stateid),
	.as = RDMAFSD_AS_OPENER,
	.check = rdmafsd_check_unlock,
	.fn = rdmafsd_op_unlock,
};

static int rdmafsd_op_lockcancel(struct rdmafsd_rq *rq)
{
	const struct rfp_lockcancel_req *creq = rq->args;

	rdmafsd_lock_reply(rq, rdmafsd_lock_cancel(rq->ses, le32_to_cpu(creq->token)), 0);
	return 0;
}

const struct rdmafsd_op rdmafsd_lockcancel_op = {
	RDMAFSD_PADDED(struct rfp_lockcancel_req),
	.fn = rdmafsd_op_lockcancel,
};

static int rdmafsd_op_testlock(struct rdmafsd_rq *rq)
{
	const struct rfp_lock_req *lreq = rq->args;
	struct rdmafsd_range r = rdmafsd_range_of(lreq);
	struct rfp_testlock_rep *rep;

	if (!rdmafsd_lock_offered(rq->state->file, r.kind))
		return -ENOLCK;
	/* The lock that would be in the way may not have been taken again yet. */
	if (rdmafsd_grace_on(rq->exp))
		return RFP_GRACE;
	rep = rdmafsd_rep(rq, sizeof(*rep));
	return rdmafsd_lock_test(rq->ses, rq->state, &r, rdmafsd_lock_type(lreq), rep);
}

const struct rdmafsd_op rdmafsd_testlock_op = {
	RDMAFSD_FIXED(struct rfp_lock_req),
	.stateid = offsetof(struct rfp_lock_req, stateid),
	.as = RDMAFSD_AS_OPENER,
	.flags = RDMAFS_REPLY_NOCACHE,
	.check = rdmafsd_check_testlock,
	.fn = rdmafsd_op_testlock,
};

static int rdmafsd_op_events(struct rdmafsd_rq *rq)
{
	struct rfp_events_rep *rep = rdmafsd_rep(rq, sizeof(*rep));
	struct rfp_event *events;
	bool more;
	u32 nr;

	/* Room for as many as can be told; what is not used is taken off the reply again. */
	events = rfp_enc_fixed(&rq->enc, RFP_EVENTS_MAX * sizeof(*events));
	if (!events)
		return -EIO;
	nr = rdmafsd_events_take(rq->ses, events, RFP_EVENTS_MAX, &more);
	rq->enc.p -= (RFP_EVENTS_MAX - nr) * sizeof(*events);
	rep->nr = cpu_to_le32(nr);
	rep->flags = cpu_to_le32(more ? RFP_EVENTS_MORE : 0);
	return 0;
}

const struct rdmafsd_op rdmafsd_events_op = {
	RDMAFSD_FIXED(struct rfp_req),
	.fn = rdmafsd_op_events,
};

static int rdmafsd_op_reclaim_done(struct rdmafsd_rq *rq)
{
	/* Each session has another token for each life of an export; not 0. */
	u64 token = (rq->ses->done_token ^ rq->exp->serial) ?: rq->ses->done_token;
	const struct rfp_reclaim_req *rreq = rq->args;
	struct rfp_reclaim_rep *rep;

	/* A token of another session, or of another life of the export, proves nothing here. */
	if (rreq->token && le64_to_cpu(rreq->token) != token)
		return -EINVAL;
	/* The client is to ask for all once more (RFP_EVENT_RECLAIM), and may not know that. */
	if (rdmafsd_event_reclaim_due(rq->ses))
		return -EAGAIN;
	if (rreq->token)
		rdmafsd_grace_done(rq->exp, rq->ses);
	rep = rdmafsd_rep(rq, sizeof(*rep));
	rep->token = cpu_to_le64(token);
	return 0;
}

/* Its reply is the same each time. */
const struct rdmafsd_op rdmafsd_reclaim_done_op = {
	RDMAFSD_FIXED(struct rfp_reclaim_req),
	.parts = { RDMAFSD_PART_FH },
	.flags = RDMAFS_REPLY_NOCACHE,
	.fn = rdmafsd_op_reclaim_done,
};
