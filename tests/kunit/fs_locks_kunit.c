// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_fs_locks: hostile clients, in bare verbs, ask a real server on the same machine for
 * locks as no client would.
 *
 * It is part of the module of rdmafs_fs_proofs (fs_proofs_kunit.c).
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include "fs_client.h"
#include "fs_locks.h"

/* Locks of one session, at most: "session_locks" of the port's limits. */
#define FS_LOCKS	16384
/* Locks of one session that wait, at most: "session_lock_waits" of the port's limits. */
#define FS_WAITS	1024
/* Those of all sessions of a client: "max_lock_waits_client". */
#define FS_CLIENT_WAITS	4096

/**
 * fs_lock_ask - send a LOCK or TESTLOCK
 * @test: the case
 * @c:    the client
 * @op:   RFP_LOCK or RFP_TESTLOCK
 * @o:    the open
 * @l:    the lock
 *
 * Context: process, may sleep.
 * Return: the reply's status.
 */
u32 fs_lock_ask(struct kunit *test, struct fs_client *c, enum rfp_op op, const struct fs_open *o,
		const struct fs_lock *l)
{
	struct rfp_lock_req *req;
	struct rfp_enc enc;

	req = fs_req(c, &enc, op, FS_USER, sizeof(*req));
	req->stateid = cpu_to_le64(o->stateid);
	req->owner = cpu_to_le64(l->owner);
	req->start = cpu_to_le64(l->start);
	req->end = cpu_to_le64(l->end);
	req->token = cpu_to_le32(l->token);
	req->pid = cpu_to_le32(l->pid);
	req->type = cpu_to_le32(l->type);
	req->kind = cpu_to_le32(l->kind);
	req->flags = cpu_to_le32(l->flags);
	req->record = cpu_to_le32(l->record);
	return fs_call(test, c, &enc);
}

/**
 * fs_unlock - send an UNLOCK
 * @test: the case
 * @c:    the client
 * @o:    an open of the file
 * @l:    what is given back
 *
 * Context: process, may sleep.
 * Return: the reply's status.
 */
u32 fs_unlock(struct kunit *test, struct fs_client *c, const struct fs_open *o,
	      const struct fs_lock *l)
{
	struct rfp_unlock_req *req;
	struct rfp_enc enc;

	req = fs_req(c, &enc, RFP_UNLOCK, FS_USER, sizeof(*req));
	req->stateid = cpu_to_le64(o->stateid);
	req->owner = cpu_to_le64(l->owner);
	req->start = cpu_to_le64(l->start);
	req->end = cpu_to_le64(l->end);
	req->kind = cpu_to_le32(l->kind);
	return fs_call(test, c, &enc);
}

/* The state in the last reply, which must be one to LOCK or LOCKCANCEL. */
static u32 fs_lock_state(struct kunit *test, struct fs_client *c)
{
	const struct rfp_lock_rep *rep = (const struct rfp_lock_rep *)c->rep;

	KUNIT_ASSERT_EQ(test, c->rep_len, sizeof(*rep));
	/* Which record it is says nothing but with a lock. */
	if (le32_to_cpu(rep->state) != RFP_LOCK_HELD)
		KUNIT_EXPECT_EQ(test, le32_to_cpu(rep->record), 0);
	return le32_to_cpu(rep->state);
}

/**
 * fs_lock - ask for a lock, which must not be an error
 * @test: the case
 * @c:    the client
 * @o:    the open
 * @l:    the lock
 *
 * Context: process, may sleep.
 * Return: the state that the reply tells, RFP_LOCK_*.
 */
u32 fs_lock(struct kunit *test, struct fs_client *c, const struct fs_open *o,
	    const struct fs_lock *l)
{
	KUNIT_ASSERT_EQ(test, fs_lock_ask(test, c, RFP_LOCK, o, l), 0);
	return fs_lock_state(test, c);
}

static u32 fs_lockcancel(struct kunit *test, struct fs_client *c, u32 token)
{
	struct rfp_lockcancel_req *req;
	struct rfp_enc enc;

	req = fs_req(c, &enc, RFP_LOCKCANCEL, FS_USER, sizeof(*req));
	req->token = cpu_to_le32(token);
	KUNIT_ASSERT_EQ(test, fs_call(test, c, &enc), 0);
	return fs_lock_state(test, c);
}

/* What is in the way of @l: RFP_LOCK_READ, _WRITE or _NONE. */
static u32 fs_testlock(struct kunit *test, struct fs_client *c, const struct fs_open *o,
		       const struct fs_lock *l)
{
	const struct rfp_testlock_rep *rep = (const struct rfp_testlock_rep *)c->rep;

	KUNIT_ASSERT_EQ(test, fs_lock_ask(test, c, RFP_TESTLOCK, o, l), 0);
	KUNIT_ASSERT_EQ(test, c->rep_len, sizeof(*rep));
	return le32_to_cpu(rep->type);
}

/* Asks for events; returns how many there are. */
static u32 fs_events(struct kunit *test, struct fs_client *c)
{
	const struct rfp_events_rep *rep = (const struct rfp_events_rep *)c->rep;
	struct rfp_enc enc;
	u32 nr;

	fs_req(c, &enc, RFP_EVENTS, FS_USER, sizeof(struct rfp_req));
	KUNIT_ASSERT_EQ(test, fs_call(test, c, &enc), 0);
	KUNIT_ASSERT_GE(test, c->rep_len, sizeof(*rep));
	nr = le32_to_cpu(rep->nr);
	KUNIT_ASSERT_LE(test, nr, RFP_EVENTS_MAX);
	KUNIT_ASSERT_EQ(test, c->rep_len, sizeof(*rep) + nr * sizeof(struct rfp_event));
	return nr;
}

/* Waits for an event, which must be the only one, and about this token. */
static void fs_lock_event(struct kunit *test, struct fs_client *c, u32 token)
{
	const struct rfp_event *event = (void *)c->rep + sizeof(struct rfp_events_rep);
	unsigned long end = jiffies + 60 * HZ;
	u32 nr;

	while (!(nr = fs_events(test, c)) && time_before(jiffies, end))
		msleep(20);
	KUNIT_ASSERT_EQ(test, nr, 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(event->type), RFP_EVENT_LOCK);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(event->pad), 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(event->id), token);
	/* Nothing else is told.  The EVENT of transport may be behind the reply. */
	do {
		KUNIT_EXPECT_EQ(test, fs_events(test, c), 0);
	} while (!c->rings && time_before(jiffies, end));
	KUNIT_EXPECT_GT(test, c->rings, 0);
	c->rings = 0;
}

#define FS_WRONG(_name, _start, _end, _type, _kind, ...)			\
	{ _name, { .owner = 1, .start = _start, .end = _end, .type = _type,	\
		   .kind = _kind, __VA_ARGS__ } }
#define FS_WRONG_RANGE(_name, _start, _end, _kind)	\
	FS_WRONG(_name, _start, _end, RFP_LOCK_WRITE, _kind)
#define FS_WRONG_OTHER(_name, ...)	\
	FS_WRONG(_name, 0, 9, RFP_LOCK_WRITE, RFP_LOCK_POSIX, __VA_ARGS__)

/* Locks that no client may ask for; those of which UNLOCK has the fields come first. */
static const struct fs_wrong_param {
	const char *name;
	struct fs_lock lock;
} fs_wrong_params[] = {
	FS_WRONG_RANGE("the start is behind the end", 10, 9, RFP_LOCK_POSIX),
	FS_WRONG_RANGE("the end is beyond all files", 0, FS_LOCK_END + 1, RFP_LOCK_OFD),
	FS_WRONG_RANGE("the range is all ones", U64_MAX, U64_MAX, RFP_LOCK_POSIX),
	FS_WRONG_RANGE("an unknown kind", 0, FS_LOCK_END, RFP_LOCK_FLOCK + 1),
	FS_WRONG_RANGE("flock with a start", 1, FS_LOCK_END, RFP_LOCK_FLOCK),
	FS_WRONG_RANGE("flock with an end", 0, 9, RFP_LOCK_FLOCK),
#define FS_WRONG_UNLOCKS	6
	FS_WRONG("an unknown type", 0, 9, RFP_LOCK_NONE, RFP_LOCK_POSIX),
	FS_WRONG("a type that is all ones", 0, 9, U32_MAX, RFP_LOCK_POSIX),
	FS_WRONG_OTHER("an unknown flag", .flags = 4),
	FS_WRONG_OTHER("an unknown flag and WAIT", .flags = 5, .token = 1),
	FS_WRONG_OTHER("RECLAIM and WAIT", .flags = RFP_LOCK_RECLAIM | RFP_LOCK_WAIT,
		       .token = 1),
	FS_WRONG_OTHER("RECLAIM and a token", .flags = RFP_LOCK_RECLAIM, .token = 1),
	FS_WRONG_OTHER("a record without RECLAIM", .record = 1),
	FS_WRONG_OTHER("a token without WAIT", .token = 1),
	FS_WRONG_OTHER("WAIT without a token", .flags = RFP_LOCK_WAIT),
	FS_WRONG_OTHER("a process that there can't be", .pid = (u32)INT_MAX + 1),
};

/*
 * A client asks for locks that make no sense.  Each must be refused with EINVAL by all operations
 * that know the field, and must leave nothing locked.
 */
static void fs_lock_wrong(struct kunit *test)
{
	const struct fs_lock all = { .owner = 2, .end = FS_LOCK_END, .type = RFP_LOCK_WRITE };
	struct fs_lock wait = all, flock = all, again = all;
	struct fs_client *c = fs_client(test);
	const struct fs_wrong_param *p;
	struct fs_open o = {};
	u32 i;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "wrong", 0666, &o), 0);
	for (i = 0; i < ARRAY_SIZE(fs_wrong_params); i++) {
		p = &fs_wrong_params[i];
		KUNIT_EXPECT_EQ_MSG(test, fs_lock_ask(test, c, RFP_LOCK, &o, &p->lock), RFP_EINVAL,
				    "LOCK: %s", p->name);
		KUNIT_EXPECT_EQ_MSG(test, fs_lock_ask(test, c, RFP_TESTLOCK, &o, &p->lock),
				    RFP_EINVAL, "TESTLOCK: %s", p->name);
		if (i < FS_WRONG_UNLOCKS)
			KUNIT_EXPECT_EQ_MSG(test, fs_unlock(test, c, &o, &p->lock), RFP_EINVAL,
					    "UNLOCK: %s", p->name);
		KUNIT_EXPECT_EQ_MSG(test, fs_testlock(test, c, &o, &all), RFP_LOCK_NONE,
				    "locked: %s", p->name);
	}
	/* TESTLOCK takes nothing again and does not wait; flock(2) has no such question. */
	again.flags = RFP_LOCK_RECLAIM;
	again.record = 1;
	KUNIT_EXPECT_EQ(test, fs_lock_ask(test, c, RFP_TESTLOCK, &o, &again), RFP_EINVAL);
	wait.flags = RFP_LOCK_WAIT;
	wait.token = 1;
	KUNIT_EXPECT_EQ(test, fs_lock_ask(test, c, RFP_TESTLOCK, &o, &wait), RFP_EINVAL);
	flock.kind = RFP_LOCK_FLOCK;
	KUNIT_EXPECT_EQ(test, fs_lock_ask(test, c, RFP_TESTLOCK, &o, &flock), RFP_EINVAL);
	KUNIT_EXPECT_EQ(test, fs_lock(test, c, &o, &flock), RFP_LOCK_HELD);
	KUNIT_EXPECT_EQ(test, fs_lock(test, c, &o, &all), RFP_LOCK_HELD);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_lock_ask(test, c, RFP_LOCK, &o, &all), RFP_BADSTATE);
	KUNIT_EXPECT_EQ(test, fs_unlock(test, c, &o, &all), RFP_BADSTATE);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "wrong"), 0);
}

/*
 * fcntl(2) needs an open for reading or for writing, as the lock is; flock(2) does not care.  A
 * lock that is refused must not be there.
 */
static void fs_lock_modes(struct kunit *test)
{
	struct fs_lock l = { .owner = 1, .end = 9 }, other = { .owner = 2, .end = 9 };
	struct fs_client *c = fs_client(test);
	struct fs_open o = {}, r = {}, w = {};

	other.type = RFP_LOCK_WRITE;
	KUNIT_ASSERT_EQ(test, fs_create(test, c, "modes", 0666, &o), 0);
	KUNIT_ASSERT_EQ(test, fs_open_for(test, c, &o.fh, RFP_OPEN_READ, NULL, &r), 0);
	KUNIT_ASSERT_EQ(test, fs_open_for(test, c, &o.fh, RFP_OPEN_WRITE, NULL, &w), 0);
	for (l.kind = RFP_LOCK_POSIX; l.kind <= RFP_LOCK_OFD; l.kind++) {
		l.type = RFP_LOCK_READ;
		KUNIT_EXPECT_EQ(test, fs_lock_ask(test, c, RFP_LOCK, &w, &l), RFP_EBADF);
		l.type = RFP_LOCK_WRITE;
		KUNIT_EXPECT_EQ(test, fs_lock_ask(test, c, RFP_LOCK, &r, &l), RFP_EBADF);
		KUNIT_EXPECT_EQ(test, fs_testlock(test, c, &o, &other), RFP_LOCK_NONE);
		KUNIT_EXPECT_EQ(test, fs_lock(test, c, &w, &l), RFP_LOCK_HELD);
		KUNIT_EXPECT_EQ(test, fs_testlock(test, c, &r, &other), RFP_LOCK_WRITE);
		/* Any open of the file gives it back. */
		KUNIT_EXPECT_EQ(test, fs_unlock(test, c, &r, &l), 0);
		KUNIT_EXPECT_EQ(test, fs_testlock(test, c, &o, &other), RFP_LOCK_NONE);
	}
	l.kind = RFP_LOCK_FLOCK;
	l.end = FS_LOCK_END;
	KUNIT_EXPECT_EQ(test, fs_lock(test, c, &r, &l), RFP_LOCK_HELD);
	KUNIT_EXPECT_EQ(test, fs_lock(test, c, &w, &l), RFP_LOCK_DENIED);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &r), 0);
	KUNIT_EXPECT_EQ(test, fs_lock(test, c, &w, &l), RFP_LOCK_HELD);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &w), 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "modes"), 0);
}

/*
 * A lock waits, and the client uses its token for other requests.  Each of these must be refused,
 * and the lock that waits must come in the end: the client gets one event, and then the lock.
 */
static void fs_lock_token(struct kunit *test)
{
	const struct fs_lock held = { .owner = 1, .end = FS_LOCK_END, .type = RFP_LOCK_WRITE };
	struct fs_lock l = { .owner = 2, .end = FS_LOCK_END, .type = RFP_LOCK_WRITE, .token = 7,
			     .flags = RFP_LOCK_WAIT };
	struct fs_client *c = fs_client(test);
	struct fs_open o = {}, second = {};
	struct fs_lock other[5];
	u32 i;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "token", 0666, &o), 0);
	KUNIT_ASSERT_EQ(test, fs_open_as(test, c, &o.fh, NULL, &second), 0);
	KUNIT_ASSERT_EQ(test, fs_lock(test, c, &o, &held), RFP_LOCK_HELD);
	KUNIT_ASSERT_EQ(test, fs_lock(test, c, &o, &l), RFP_LOCK_WAITING);
	for (i = 0; i < ARRAY_SIZE(other); i++)
		other[i] = l;
	other[0].start = 1;
	other[1].end--;
	other[2].owner = 3;
	other[3].type = RFP_LOCK_READ;
	other[4].kind = RFP_LOCK_FLOCK;
	for (i = 0; i < ARRAY_SIZE(other); i++)
		KUNIT_EXPECT_EQ_MSG(test, fs_lock_ask(test, c, RFP_LOCK, &o, &other[i]), RFP_EINVAL,
				    "request %u", i);
	KUNIT_EXPECT_EQ(test, fs_lock_ask(test, c, RFP_LOCK, &second, &l), RFP_EINVAL);
	KUNIT_EXPECT_EQ(test, fs_lock(test, c, &o, &l), RFP_LOCK_WAITING);
	KUNIT_EXPECT_EQ(test, fs_events(test, c), 0);
	KUNIT_ASSERT_EQ(test, fs_unlock(test, c, &o, &held), 0);
	fs_lock_event(test, c, l.token);
	KUNIT_EXPECT_EQ(test, fs_lock(test, c, &o, &l), RFP_LOCK_HELD);
	/* The token is free again: this is a new request, of an owner that has the lock. */
	KUNIT_EXPECT_EQ(test, fs_lock(test, c, &o, &l), RFP_LOCK_HELD);
	KUNIT_EXPECT_EQ(test, fs_testlock(test, c, &o, &held), RFP_LOCK_WRITE);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_testlock(test, c, &second, &held), RFP_LOCK_NONE);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &second), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "token"), 0);
}

/*
 * LOCKCANCEL and UNLOCK of what is not there change nothing.  A wait that was cancelled must not
 * get the lock later; one that was cancelled after the lock had come must have it.
 */
static void fs_lock_cancel(struct kunit *test)
{
	const struct fs_lock held = { .owner = 1, .end = 9, .type = RFP_LOCK_WRITE };
	const struct fs_lock other = { .owner = 3, .end = 9, .type = RFP_LOCK_WRITE };
	struct fs_lock l = { .owner = 2, .end = 9, .type = RFP_LOCK_WRITE, .token = 7,
			     .flags = RFP_LOCK_WAIT };
	struct fs_client *c = fs_client(test), *two = fs_client(test);
	struct fs_open o = {}, theirs = {};

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "cancel", 0666, &o), 0);
	KUNIT_ASSERT_EQ(test, fs_open_as(test, two, &o.fh, NULL, &theirs), 0);
	KUNIT_EXPECT_EQ(test, fs_lockcancel(test, c, 0), RFP_LOCK_DENIED);
	KUNIT_EXPECT_EQ(test, fs_lockcancel(test, c, U32_MAX), RFP_LOCK_DENIED);
	KUNIT_EXPECT_EQ(test, fs_unlock(test, c, &o, &held), 0);

	KUNIT_ASSERT_EQ(test, fs_lock(test, c, &o, &held), RFP_LOCK_HELD);
	KUNIT_ASSERT_EQ(test, fs_lock(test, c, &o, &l), RFP_LOCK_WAITING);
	/* Another client's token is not this one, and its owners are others. */
	KUNIT_EXPECT_EQ(test, fs_lockcancel(test, two, l.token), RFP_LOCK_DENIED);
	KUNIT_EXPECT_EQ(test, fs_unlock(test, two, &theirs, &held), 0);
	KUNIT_EXPECT_EQ(test, fs_testlock(test, two, &theirs, &held), RFP_LOCK_WRITE);
	KUNIT_EXPECT_EQ(test, fs_lockcancel(test, c, l.token), RFP_LOCK_DENIED);
	KUNIT_EXPECT_EQ(test, fs_unlock(test, c, &o, &held), 0);
	KUNIT_EXPECT_EQ(test, fs_lock(test, two, &theirs, &other), RFP_LOCK_HELD);

	KUNIT_ASSERT_EQ(test, fs_lock(test, c, &o, &l), RFP_LOCK_WAITING);
	KUNIT_EXPECT_EQ(test, fs_unlock(test, two, &theirs, &other), 0);
	fs_lock_event(test, c, l.token);
	KUNIT_EXPECT_EQ(test, fs_lockcancel(test, c, l.token), RFP_LOCK_HELD);
	KUNIT_EXPECT_EQ(test, fs_lockcancel(test, c, l.token), RFP_LOCK_DENIED);
	KUNIT_EXPECT_EQ(test, fs_testlock(test, two, &theirs, &other), RFP_LOCK_WRITE);
	KUNIT_EXPECT_EQ(test, fs_unlock(test, c, &o, &l), 0);
	KUNIT_EXPECT_EQ(test, fs_testlock(test, two, &theirs, &other), RFP_LOCK_NONE);
	KUNIT_EXPECT_EQ(test, fs_close(test, two, &theirs), 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "cancel"), 0);
}

/*
 * A client has more locks wait than it may.  It must be refused, until one of them waits no more.
 * When its session ends another client must get the lock: nothing of all that stays behind.
 */
static void fs_lock_waits(struct kunit *test)
{
	const struct fs_lock held = { .owner = 1, .end = FS_LOCK_END, .type = RFP_LOCK_WRITE };
	struct fs_lock l = { .owner = 2, .type = RFP_LOCK_WRITE, .flags = RFP_LOCK_WAIT };
	struct fs_client *c = fs_client(test), *two = fs_client(test);
	unsigned long end = jiffies + 120 * HZ;
	struct fs_open o = {}, theirs = {};

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "waits", 0666, &o), 0);
	KUNIT_ASSERT_EQ(test, fs_open_as(test, two, &o.fh, NULL, &theirs), 0);
	KUNIT_ASSERT_EQ(test, fs_lock(test, c, &o, &held), RFP_LOCK_HELD);
	for (l.token = 1; l.token <= FS_WAITS; l.token++) {
		l.start = 2 * l.token;
		l.end = l.start;
		KUNIT_ASSERT_EQ(test, fs_lock(test, c, &o, &l), RFP_LOCK_WAITING);
	}
	KUNIT_EXPECT_EQ(test, fs_lock_ask(test, c, RFP_LOCK, &o, &l), RFP_ENOLCK);
	/* Each session has a limit of its own. */
	KUNIT_EXPECT_EQ(test, fs_lock(test, two, &theirs, &l), RFP_LOCK_WAITING);
	KUNIT_EXPECT_EQ(test, fs_lockcancel(test, two, l.token), RFP_LOCK_DENIED);
	KUNIT_EXPECT_EQ(test, fs_lockcancel(test, c, 1), RFP_LOCK_DENIED);
	KUNIT_EXPECT_EQ(test, fs_lock(test, c, &o, &l), RFP_LOCK_WAITING);
	l.token++;
	KUNIT_EXPECT_EQ(test, fs_lock_ask(test, c, RFP_LOCK, &o, &l), RFP_ENOLCK);
	/* A request that is there already needs no room. */
	l.token--;
	KUNIT_EXPECT_EQ(test, fs_lock(test, c, &o, &l), RFP_LOCK_WAITING);
	fs_end(test, c);
	while (fs_lock(test, two, &theirs, &held) != RFP_LOCK_HELD && time_before(jiffies, end))
		msleep(20);
	KUNIT_EXPECT_EQ(test, fs_lock(test, two, &theirs, &held), RFP_LOCK_HELD);
	KUNIT_EXPECT_EQ(test, fs_close(test, two, &theirs), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, two, "waits"), 0);
}

/*
 * One client has sessions that all have as many locks wait as they may.  Together they must have no
 * more than a client may, until one of these waits no more, or a session ends.
 */
static void fs_lock_waits_client(struct kunit *test)
{
	const struct fs_lock held = { .owner = 1, .end = FS_LOCK_END, .type = RFP_LOCK_WRITE };
	struct fs_lock l = { .owner = 2, .type = RFP_LOCK_WRITE, .flags = RFP_LOCK_WAIT };
	struct fs_client *c[FS_CLIENT_WAITS / FS_WAITS], *last = fs_client(test);
	struct fs_open o = {}, theirs[ARRAY_SIZE(c)] = {};
	unsigned long end = jiffies + 120 * HZ;
	u32 i, status;

	KUNIT_ASSERT_EQ(test, fs_create(test, last, "many waits", 0666, &o), 0);
	KUNIT_ASSERT_EQ(test, fs_lock(test, last, &o, &held), RFP_LOCK_HELD);
	for (i = 0; i < ARRAY_SIZE(c); i++) {
		c[i] = fs_client(test);
		KUNIT_ASSERT_EQ(test, fs_open_as(test, c[i], &o.fh, NULL, &theirs[i]), 0);
		for (l.token = 1; l.token <= FS_WAITS; l.token++) {
			l.start = 2 * (i * FS_WAITS + l.token);
			l.end = l.start;
			KUNIT_ASSERT_EQ(test, fs_lock(test, c[i], &theirs[i], &l),
					RFP_LOCK_WAITING);
		}
		/* The waits keep the file open, and are all that the session has of it. */
		KUNIT_EXPECT_EQ(test, fs_close(test, c[i], &theirs[i]), 0);
	}
	KUNIT_EXPECT_EQ(test, fs_lock_ask(test, last, RFP_LOCK, &o, &l), RFP_ENOLCK);
	KUNIT_EXPECT_EQ(test, fs_lockcancel(test, c[0], 1), RFP_LOCK_DENIED);
	KUNIT_EXPECT_EQ(test, fs_lock(test, last, &o, &l), RFP_LOCK_WAITING);
	l.token++;
	KUNIT_EXPECT_EQ(test, fs_lock_ask(test, last, RFP_LOCK, &o, &l), RFP_ENOLCK);
	fs_end(test, c[1]);
	/* The server ends the session a little later. */
	do {
		status = fs_lock_ask(test, last, RFP_LOCK, &o, &l);
		if (!status)
			break;
		msleep(20);
	} while (time_before(jiffies, end));
	KUNIT_EXPECT_EQ(test, status, 0);
	KUNIT_EXPECT_EQ(test, fs_lockcancel(test, last, l.token), RFP_LOCK_DENIED);
	KUNIT_EXPECT_EQ(test, fs_lockcancel(test, last, l.token - 1), RFP_LOCK_DENIED);
	for (i = 0; i < ARRAY_SIZE(c); i++)
		if (i != 1)
			fs_end(test, c[i]);
	KUNIT_EXPECT_EQ(test, fs_close(test, last, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, last, "many waits"), 0);
}

/*
 * Locks by flock(2) wait to write and to read.  One that waited first and is cancelled must not get
 * the lock, nor keep the next from getting it.  All that wait to read must get it together.
 */
static void fs_lock_turns(struct kunit *test)
{
	struct fs_lock l = { .end = FS_LOCK_END, .type = RFP_LOCK_WRITE, .kind = RFP_LOCK_FLOCK };
	struct fs_client *c = fs_client(test);
	unsigned long end = jiffies + 60 * HZ;
	struct fs_open o[5] = {};
	u32 i, nr = 0;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "turns", 0666, &o[0]), 0);
	for (i = 1; i < ARRAY_SIZE(o); i++)
		KUNIT_ASSERT_EQ(test, fs_open_as(test, c, &o[0].fh, NULL, &o[i]), 0);
	KUNIT_ASSERT_EQ(test, fs_lock(test, c, &o[0], &l), RFP_LOCK_HELD);
	l.flags = RFP_LOCK_WAIT;
	for (l.token = 1; l.token <= 2; l.token++) {
		l.owner = l.token;
		KUNIT_ASSERT_EQ(test, fs_lock(test, c, &o[l.token], &l), RFP_LOCK_WAITING);
	}
	KUNIT_EXPECT_EQ(test, fs_lockcancel(test, c, 1), RFP_LOCK_DENIED);
	l.owner = 0;
	KUNIT_EXPECT_EQ(test, fs_unlock(test, c, &o[0], &l), 0);
	fs_lock_event(test, c, 2);
	l.owner = 2;
	l.token = 2;
	KUNIT_EXPECT_EQ(test, fs_lock(test, c, &o[2], &l), RFP_LOCK_HELD);

	l.type = RFP_LOCK_READ;
	for (l.token = 3; l.token <= 4; l.token++) {
		l.owner = l.token;
		KUNIT_ASSERT_EQ(test, fs_lock(test, c, &o[l.token], &l), RFP_LOCK_WAITING);
	}
	/* A name that owns nothing gives nothing back. */
	l.owner = 5;
	KUNIT_EXPECT_EQ(test, fs_unlock(test, c, &o[2], &l), 0);
	KUNIT_EXPECT_EQ(test, fs_events(test, c), 0);
	/* The end of an open gives back what was locked with it. */
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o[2]), 0);
	while (nr < 2 && time_before(jiffies, end)) {
		nr += fs_events(test, c);
		msleep(20);
	}
	KUNIT_EXPECT_EQ(test, nr, 2);
	for (l.token = 3; l.token <= 4; l.token++) {
		l.owner = l.token;
		KUNIT_EXPECT_EQ(test, fs_lock(test, c, &o[l.token], &l), RFP_LOCK_HELD);
	}
	for (i = 0; i < ARRAY_SIZE(o); i++)
		if (i != 2)
			KUNIT_EXPECT_EQ(test, fs_close(test, c, &o[i]), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "turns"), 0);
}

/* Who looks at a lock must see a process of another machine, also if the client names none. */
static void fs_lock_pid(struct kunit *test)
{
	const struct rfp_testlock_rep *rep;
	struct fs_lock l = { .owner = 1, .end = 9, .type = RFP_LOCK_WRITE };
	const struct fs_lock other = { .owner = 2, .end = 9, .type = RFP_LOCK_READ };
	static const struct { u32 pid; s32 shown; } pids[] = {
		{ 0, -1 }, { 1, -1 }, { 7, -7 }, { INT_MAX, -INT_MAX },
	};
	struct fs_client *c = fs_client(test);
	struct fs_open o = {};
	u32 i;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "pid", 0666, &o), 0);
	for (i = 0; i < ARRAY_SIZE(pids); i++) {
		l.pid = pids[i].pid;
		KUNIT_EXPECT_EQ(test, fs_lock(test, c, &o, &l), RFP_LOCK_HELD);
		KUNIT_EXPECT_EQ(test, fs_testlock(test, c, &o, &other), RFP_LOCK_WRITE);
		rep = (const struct rfp_testlock_rep *)c->rep;
		KUNIT_EXPECT_EQ(test, (s32)le32_to_cpu(rep->pid), pids[i].shown);
		KUNIT_EXPECT_EQ(test, fs_unlock(test, c, &o, &l), 0);
	}
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "pid"), 0);
}

/*
 * An open is closed while a lock waits with it.  The open's number must be void at once, while the
 * request can still be cancelled.  If the lock comes all the same, it must go with the request.
 */
static void fs_lock_closed(struct kunit *test)
{
	const struct fs_lock held = { .owner = 1, .end = FS_LOCK_END, .type = RFP_LOCK_WRITE };
	struct fs_client *c = fs_client(test), *two = fs_client(test);
	struct fs_open o = {}, theirs = {}, closed = {};
	struct fs_lock l = held;

	l.owner = 2;
	l.flags = RFP_LOCK_WAIT;
	KUNIT_ASSERT_EQ(test, fs_create(test, c, "closed", 0666, &o), 0);
	KUNIT_ASSERT_EQ(test, fs_open_as(test, two, &o.fh, NULL, &theirs), 0);
	for (l.token = 1; l.token <= 2; l.token++) {
		KUNIT_ASSERT_EQ(test, fs_lock(test, c, &o, &held), RFP_LOCK_HELD);
		KUNIT_ASSERT_EQ(test, fs_open_as(test, c, &o.fh, NULL, &closed), 0);
		KUNIT_ASSERT_EQ(test, fs_lock(test, c, &closed, &l), RFP_LOCK_WAITING);
		KUNIT_EXPECT_EQ(test, fs_close(test, c, &closed), 0);
		KUNIT_EXPECT_EQ(test, fs_lock_ask(test, c, RFP_LOCK, &closed, &l), RFP_BADSTATE);
		if (l.token == 1) {
			KUNIT_EXPECT_EQ(test, fs_lockcancel(test, c, l.token), RFP_LOCK_DENIED);
			KUNIT_EXPECT_EQ(test, fs_unlock(test, c, &o, &held), 0);
		} else {
			KUNIT_EXPECT_EQ(test, fs_unlock(test, c, &o, &held), 0);
			fs_lock_event(test, c, l.token);
			KUNIT_EXPECT_EQ(test, fs_testlock(test, two, &theirs, &held),
					RFP_LOCK_WRITE);
			KUNIT_EXPECT_EQ(test, fs_lockcancel(test, c, l.token), RFP_LOCK_HELD);
		}
		KUNIT_EXPECT_EQ(test, fs_testlock(test, two, &theirs, &held), RFP_LOCK_NONE);
	}
	KUNIT_EXPECT_EQ(test, fs_close(test, two, &theirs), 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "closed"), 0);
}

/*
 * A client has as many locks as it may.  It must not get another one, but what it has when it asks
 * for that in any way, and must be told by which record: a client that is told none, and believes
 * it, loses its locks with the server's next restart.
 */
static void fs_lock_limit(struct kunit *test)
{
	struct fs_lock l = { .owner = 2, .type = RFP_LOCK_WRITE };
	struct fs_client *c = fs_client(test);
	const struct rfp_lock_rep *rep = (const struct rfp_lock_rep *)c->rep;
	struct fs_open o = {};
	u32 record, status;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "limit", 0666, &o), 0);
	KUNIT_ASSERT_EQ(test, fs_lock(test, c, &o, &l), RFP_LOCK_HELD);
	record = le32_to_cpu(rep->record);
	KUNIT_ASSERT_NE(test, record, 0);
	do {
		l.start += 2;
		l.end = l.start;
		status = fs_lock_ask(test, c, RFP_LOCK, &o, &l);
	} while (!status && l.start < 4 * FS_LOCKS);
	KUNIT_EXPECT_EQ(test, status, RFP_ENOLCK);
	KUNIT_EXPECT_EQ(test, l.start, 2 * FS_LOCKS);
	l.flags = RFP_LOCK_RECLAIM;
	l.record = record;
	KUNIT_EXPECT_EQ(test, fs_lock_ask(test, c, RFP_LOCK, &o, &l), RFP_ENOLCK);
	l.start = 4;
	l.end = 4;
	KUNIT_EXPECT_EQ(test, fs_lock(test, c, &o, &l), RFP_LOCK_HELD);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rep->record), record);
	/* It holds that in this session, whatever it shows. */
	l.record = record + 1;
	KUNIT_EXPECT_EQ(test, fs_lock(test, c, &o, &l), RFP_LOCK_HELD);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rep->record), record);
	l.flags = 0;
	l.record = 0;
	KUNIT_EXPECT_EQ(test, fs_lock(test, c, &o, &l), RFP_LOCK_HELD);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rep->record), record);
	l.flags = RFP_LOCK_WAIT;
	l.token = 1;
	KUNIT_EXPECT_EQ(test, fs_lock(test, c, &o, &l), RFP_LOCK_HELD);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rep->record), record);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "limit"), 0);
}

static struct kunit_case fs_lock_cases[] = {
	KUNIT_CASE(fs_lock_wrong),
	KUNIT_CASE(fs_lock_modes),
	KUNIT_CASE(fs_lock_token),
	KUNIT_CASE(fs_lock_cancel),
	KUNIT_CASE(fs_lock_waits),
	KUNIT_CASE(fs_lock_waits_client),
	KUNIT_CASE(fs_lock_turns),
	KUNIT_CASE(fs_lock_pid),
	KUNIT_CASE(fs_lock_closed),
	KUNIT_CASE(fs_lock_limit),
	{}
};

static struct kunit_suite fs_lock_suite = {
	.name = "rdmafs_fs_locks",
	.init = fs_init,
	.exit = fs_exit,
	.test_cases = fs_lock_cases,
};

kunit_test_suite(fs_lock_suite);
