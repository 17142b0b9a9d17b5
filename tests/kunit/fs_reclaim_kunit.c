// SPDX-License-Identifier: GPL-2.0
/*
 * Suite rdmafs_fs_reclaim: hostile clients, in bare verbs, say to a real server on the same machine
 * that they had locks in sessions that are lost.  What a record says has to hold: who shows it gets
 * what no other client has got since, and nothing else.
 *
 * It is part of the module of rdmafs_fs_proofs (fs_proofs_kunit.c).
 */
#include <kunit/test.h>
#include "fs_client.h"
#include "fs_locks.h"

/* Sends RECLAIM_DONE, and returns its status. */
static u32 fs_reclaim_done(struct kunit *test, struct fs_client *c, u64 token)
{
	struct rfp_reclaim_req *req;
	struct rfp_enc enc;

	req = fs_req(c, &enc, RFP_RECLAIM_DONE, FS_USER, sizeof(*req));
	req->token = cpu_to_le64(token);
	rfp_enc_fh(&enc, &c->root);
	return fs_call(test, c, &enc);
}

/*
 * A client says that it had a lock in a session that is lost.  It must get the lock by the number
 * of its record, and by no other; one that has no record must not get it by any.
 */
static void fs_reclaim_record(struct kunit *test)
{
	struct fs_lock l = { .owner = 2, .end = 9, .type = RFP_LOCK_WRITE }, again = l;
	const struct rfp_lock_rep *rep;
	struct fs_client *c = fs_client(test);
	struct fs_open o = {};
	u32 record;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "reclaim", 0666, &o), 0);
	again.flags = RFP_LOCK_RECLAIM;
	KUNIT_EXPECT_EQ(test, fs_lock_ask(test, c, RFP_LOCK, &o, &again), RFP_NO_GRACE);
	again.record = 1;
	KUNIT_EXPECT_EQ(test, fs_lock_ask(test, c, RFP_LOCK, &o, &again), RFP_NO_GRACE);
	KUNIT_ASSERT_EQ(test, fs_lock(test, c, &o, &l), RFP_LOCK_HELD);
	rep = (const struct rfp_lock_rep *)c->rep;
	record = le32_to_cpu(rep->record);
	KUNIT_ASSERT_NE(test, record, 0);
	KUNIT_ASSERT_EQ(test, fs_unlock(test, c, &o, &l), 0);
	again.record = record + 1;
	KUNIT_EXPECT_EQ(test, fs_lock_ask(test, c, RFP_LOCK, &o, &again), RFP_NO_GRACE);
	again.record = 0;
	KUNIT_EXPECT_EQ(test, fs_lock_ask(test, c, RFP_LOCK, &o, &again), RFP_NO_GRACE);
	again.record = record;
	KUNIT_EXPECT_EQ(test, fs_lock(test, c, &o, &again), RFP_LOCK_HELD);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rep->record), record);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "reclaim"), 0);
}

/* The record in the last reply, which must be one to a LOCK that was granted. */
static u32 fs_record(struct kunit *test, struct fs_client *c)
{
	const struct rfp_lock_rep *rep = (const struct rfp_lock_rep *)c->rep;

	KUNIT_ASSERT_EQ(test, c->rep_len, sizeof(*rep));
	KUNIT_ASSERT_EQ(test, le32_to_cpu(rep->state), RFP_LOCK_HELD);
	KUNIT_ASSERT_NE(test, le32_to_cpu(rep->record), 0);
	return le32_to_cpu(rep->record);
}

/* Asks for a lock that nobody has; returns the record by which it is granted. */
static u32 fs_take(struct kunit *test, struct fs_client *c, const struct fs_open *o,
		   const struct fs_lock *l)
{
	KUNIT_ASSERT_EQ(test, fs_lock_ask(test, c, RFP_LOCK, o, l), 0);
	return fs_record(test, c);
}

/* Asks for a lock by a record; returns the status. */
static u32 fs_again(struct kunit *test, struct fs_client *c, const struct fs_open *o,
		    const struct fs_lock *l, u32 record)
{
	struct fs_lock again = *l;

	again.flags = RFP_LOCK_RECLAIM;
	again.record = record;
	return fs_lock_ask(test, c, RFP_LOCK, o, &again);
}

/* A client loses its session, and opens a file again in the next one. */
static void fs_lose(struct kunit *test, struct fs_client *c, struct fs_open *o)
{
	struct rfp_fh fh = o->fh;

	fs_end(test, c);
	fs_begin(test, c);
	KUNIT_ASSERT_EQ(test, fs_open_as(test, c, &fh, NULL, o), 0);
}

/*
 * A client loses its session, and the next one before it has asked for all locks again.  It must
 * get each of them by the record that it was told with it: nobody else had any.
 */
static void fs_reclaim_twice(struct kunit *test)
{
	const struct fs_lock one = { .owner = 1, .end = 9, .type = RFP_LOCK_WRITE };
	const struct fs_lock two = { .owner = 2, .start = 20, .end = 29, .type = RFP_LOCK_WRITE };
	struct fs_client *c = fs_client(test);
	struct fs_open o = {};
	u32 first, second;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "twice", 0666, &o), 0);
	first = fs_take(test, c, &o, &one);
	KUNIT_EXPECT_EQ(test, fs_take(test, c, &o, &two), first);
	fs_lose(test, c, &o);
	KUNIT_ASSERT_EQ(test, fs_again(test, c, &o, &one, first), 0);
	second = fs_record(test, c);
	KUNIT_EXPECT_NE(test, second, first);
	fs_lose(test, c, &o);
	KUNIT_ASSERT_EQ_MSG(test, fs_again(test, c, &o, &two, first), 0,
			    "by the record before the last");
	KUNIT_EXPECT_NE(test, fs_record(test, c), second);
	KUNIT_EXPECT_EQ_MSG(test, fs_again(test, c, &o, &one, second), 0, "by the last record");
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "twice"), 0);
}

/*
 * The same, and before the second session is lost the client has given back what it has asked for
 * so far.  It must still get the other lock.
 */
static void fs_reclaim_given_back(struct kunit *test)
{
	const struct fs_lock one = { .owner = 1, .end = 9, .type = RFP_LOCK_WRITE };
	const struct fs_lock two = { .owner = 2, .start = 20, .end = 29, .type = RFP_LOCK_WRITE };
	struct fs_client *c = fs_client(test);
	struct fs_open o = {};
	u32 first;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "given back", 0666, &o), 0);
	first = fs_take(test, c, &o, &one);
	KUNIT_EXPECT_EQ(test, fs_take(test, c, &o, &two), first);
	fs_lose(test, c, &o);
	KUNIT_ASSERT_EQ(test, fs_again(test, c, &o, &one, first), 0);
	KUNIT_EXPECT_EQ(test, fs_unlock(test, c, &o, &one), 0);
	fs_lose(test, c, &o);
	KUNIT_EXPECT_EQ_MSG(test, fs_again(test, c, &o, &two, first), 0,
			    "which it had not asked for again");
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "given back"), 0);
}

/*
 * A client gives back a lock, another one has it, and the first says that it had it.  Its record is
 * valid, and that of this session; the lock must not be granted by it, now that it is free again.
 */
static void fs_reclaim_taken(struct kunit *test)
{
	const struct fs_lock l = { .owner = 1, .end = 9, .type = RFP_LOCK_WRITE };
	struct fs_client *c = fs_client(test), *two = fs_client(test);
	struct fs_open o = {}, theirs = {};
	u32 record;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "taken", 0666, &o), 0);
	KUNIT_ASSERT_EQ(test, fs_open_as(test, two, &o.fh, NULL, &theirs), 0);
	record = fs_take(test, c, &o, &l);
	KUNIT_EXPECT_EQ(test, fs_unlock(test, c, &o, &l), 0);
	KUNIT_EXPECT_EQ_MSG(test, fs_again(test, c, &o, &l, record), 0, "nobody had it");
	KUNIT_EXPECT_EQ(test, fs_unlock(test, c, &o, &l), 0);
	KUNIT_EXPECT_EQ(test, fs_lock(test, two, &theirs, &l), RFP_LOCK_HELD);
	KUNIT_EXPECT_EQ(test, fs_unlock(test, two, &theirs, &l), 0);
	KUNIT_EXPECT_EQ_MSG(test, fs_again(test, c, &o, &l, record), RFP_NO_GRACE,
			    "another had it");
	KUNIT_EXPECT_EQ(test, fs_close(test, two, &theirs), 0);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "taken"), 0);
}

/* That all was asked for must be believed in the session that the token is of, and in no other. */
static void fs_reclaim_done_token(struct kunit *test)
{
	struct fs_client *c = fs_client(test), *two = fs_client(test);
	const struct rfp_reclaim_rep *rep = (const struct rfp_reclaim_rep *)c->rep;
	u64 token;

	KUNIT_ASSERT_EQ(test, fs_reclaim_done(test, c, 0), 0);
	KUNIT_ASSERT_EQ(test, c->rep_len, sizeof(*rep));
	token = le64_to_cpu(rep->token);
	KUNIT_ASSERT_NE(test, token, 0);
	KUNIT_EXPECT_EQ(test, fs_reclaim_done(test, c, token + 1 ?: 1), RFP_EINVAL);
	KUNIT_EXPECT_EQ(test, fs_reclaim_done(test, two, token), RFP_EINVAL);
	KUNIT_EXPECT_EQ(test, fs_reclaim_done(test, c, token), 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(rep->token), token);
}

/*
 * A client that has taken none of its locks again says that it has asked for all.  Its record must
 * end by that: it would say that nobody else got a lock, and from now on others do.
 */
static void fs_reclaim_nothing(struct kunit *test)
{
	const struct fs_lock l = { .owner = 1, .end = 9, .type = RFP_LOCK_WRITE };
	struct fs_client *c = fs_client(test);
	const struct rfp_reclaim_rep *rep = (const struct rfp_reclaim_rep *)c->rep;
	struct fs_open o = {};
	u32 record;

	KUNIT_ASSERT_EQ(test, fs_create(test, c, "nothing", 0666, &o), 0);
	record = fs_take(test, c, &o, &l);
	fs_lose(test, c, &o);
	KUNIT_ASSERT_EQ(test, fs_reclaim_done(test, c, 0), 0);
	KUNIT_ASSERT_EQ(test, fs_reclaim_done(test, c, le64_to_cpu(rep->token)), 0);
	/* Nobody had it so far; but it has no record any more by which it could say so. */
	KUNIT_EXPECT_EQ(test, fs_again(test, c, &o, &l, record), RFP_NO_GRACE);
	KUNIT_EXPECT_EQ(test, fs_close(test, c, &o), 0);
	KUNIT_EXPECT_EQ(test, fs_unlink(test, c, "nothing"), 0);
}

static struct kunit_case fs_reclaim_cases[] = {
	KUNIT_CASE(fs_reclaim_record),
	KUNIT_CASE(fs_reclaim_twice),
	KUNIT_CASE(fs_reclaim_given_back),
	KUNIT_CASE(fs_reclaim_taken),
	KUNIT_CASE(fs_reclaim_done_token),
	KUNIT_CASE(fs_reclaim_nothing),
	{}
};

static struct kunit_suite fs_reclaim_suite = {
	.name = "rdmafs_fs_reclaim",
	.init = fs_init,
	.exit = fs_exit,
	.test_cases = fs_reclaim_cases,
};

kunit_test_suite(fs_reclaim_suite);
