// SPDX-License-Identifier: GPL-2.0
/*
 * Clients in bare verbs for the suites that talk to a real server (fs_client.h).
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/random.h>
#include "fs_client.h"
#include "tests/points/points.h"

#define FS_PORT		20060

char *fs_export = "export";
module_param_named(export, fs_export, charp, 0444);
MODULE_PARM_DESC(export, "name of the export");

/* A message that is no reply: the server recalls grants, and the client returns them. */
static void fs_notified(struct kunit *test, struct fs_client *c, struct raw_msg *m)
{
	struct rxp_wire_hdr *hdr = (struct rxp_wire_hdr *)m->buf;
	struct rxp_wire_keys *keys = (struct rxp_wire_keys *)(hdr + 1);
	u32 len = struct_size(keys, rkey, le16_to_cpu(keys->nr));

	KUNIT_ASSERT_EQ(test, hdr->type, RXP_NOTIFY);
	if (hdr->op == RXP_NOTIFY_EVENT) {
		c->rings++;
		KUNIT_ASSERT_EQ(test, raw_repost(c->raw, m), 0);
		return;
	}
	KUNIT_ASSERT_EQ(test, hdr->op, RXP_NOTIFY_RECALL);
	KUNIT_ASSERT_LE(test, le16_to_cpu(keys->nr), RXP_WIRE_KEYS);
	KUNIT_ASSERT_EQ(test, raw_say(c->raw, RXP_CONTROL, RXP_CONTROL_RETURN, 0, 0, keys, len, 0),
			0);
	KUNIT_ASSERT_EQ(test, raw_repost(c->raw, m), 0);
}

/**
 * fs_send - send a request
 * @test: the case; it is aborted if that fails
 * @c:    the client
 * @enc:  the request, in @c->req
 * @data: bytes of data behind it
 *
 * Context: process, may sleep.
 */
void fs_send(struct kunit *test, struct fs_client *c, struct rfp_enc *enc, u32 data)
{
	struct rxp_frame f = { .body = c->req, .data_len = data };
	u8 *buf = c->raw->send->buf;
	int len = rfp_enc_len(enc);

	KUNIT_ASSERT_GT(test, len, 0);
	f.body_len = len;
	f.seq = ++c->seq;
	len = raw_put_call(buf, &f);
	memset(buf + len, 'd', data);
	KUNIT_ASSERT_EQ(test, raw_send(c->raw, len + data, 0), 0);
}

/**
 * fs_reply - wait for the reply to the last request
 * @test: the case; it is aborted if none comes
 * @c:    the client; its @rep gets the reply
 *
 * Context: process, may sleep.
 * Return: the reply's status.
 */
u32 fs_reply(struct kunit *test, struct fs_client *c)
{
	struct rxp_wire_hdr *hdr;
	struct raw_msg *m;

	for (;;) {
		m = raw_next_msg(c->raw);
		KUNIT_ASSERT_NOT_NULL_MSG(test, m, "no reply to call %u, cut: %d", c->seq,
					  c->raw->cut);
		hdr = (struct rxp_wire_hdr *)m->buf;
		if (hdr->type == RXP_REPLY)
			break;
		fs_notified(test, c, m);
	}
	KUNIT_ASSERT_EQ(test, le32_to_cpu(hdr->seq), c->seq);
	c->rep_len = le16_to_cpu(hdr->body_len);
	KUNIT_ASSERT_GE(test, c->rep_len, sizeof(struct rfp_rep));
	KUNIT_ASSERT_LE(test, c->rep_len, sizeof(c->rep));
	memcpy(c->rep, (void *)(hdr + 1) + sizeof(struct rxp_wire_reply), c->rep_len);
	KUNIT_ASSERT_EQ(test, raw_repost(c->raw, m), 0);
	return le32_to_cpu(((struct rfp_rep *)c->rep)->status);
}

/**
 * fs_call_data - make a call with data, and wait for the reply
 * @test: the case
 * @c:    the client
 * @enc:  the request, in @c->req
 * @data: bytes of data behind it
 *
 * Context: process, may sleep.
 * Return: the reply's status; @c->rep has the reply.
 */
u32 fs_call_data(struct kunit *test, struct fs_client *c, struct rfp_enc *enc, u32 data)
{
	fs_send(test, c, enc, data);
	return fs_reply(test, c);
}

/**
 * fs_call - make a call without data, and wait for the reply
 * @test: the case
 * @c:    the client
 * @enc:  the request, in @c->req
 *
 * Context: process, may sleep.
 * Return: the reply's status; @c->rep has the reply.
 */
u32 fs_call(struct kunit *test, struct fs_client *c, struct rfp_enc *enc)
{
	return fs_call_data(test, c, enc, 0);
}

/**
 * fs_req - begin a request
 * @c:    the client, whose @req gets it
 * @enc:  set up; to be given to fs_call() or fs_send()
 * @op:   the operation
 * @cred: the caller's credentials: FS_ROOT, FS_USER, or an id that is not registered
 * @size: size of the fixed part in bytes
 *
 * Context: any.
 * Return: the fixed part, all 0 but for @op and @cred.
 */
void *fs_req(struct fs_client *c, struct rfp_enc *enc, enum rfp_op op, u32 cred, size_t size)
{
	rfp_enc_init(enc, c->req, sizeof(c->req));
	return rfp_enc_req(enc, op, cred, size);
}

/**
 * fs_attach - attach to an export
 * @test: the case
 * @c:    the client; its @root gets the handle of the root
 * @name: the export's name
 *
 * Context: process, may sleep.
 * Return: the reply's status.
 */
u32 fs_attach(struct kunit *test, struct fs_client *c, const char *name)
{
	struct rfp_enc enc;
	struct rfp_dec dec;
	u32 status;

	fs_req(c, &enc, RFP_ATTACH, 0, sizeof(struct rfp_req));
	rfp_enc_str(&enc, name, strlen(name), RFP_EXPORT_NAME_MAX);
	status = fs_call(test, c, &enc);
	rfp_dec_init(&dec, c->rep, c->rep_len);
	rfp_dec_fixed(&dec, sizeof(struct rfp_attach_rep));
	rfp_dec_fh(&dec, &c->root);
	return status;
}

/**
 * fs_setcred - register credentials
 * @test: the case
 * @c:    the client
 * @id:   their id
 * @uid:  user, and group
 *
 * Context: process, may sleep.
 * Return: the reply's status.
 */
u32 fs_setcred(struct kunit *test, struct fs_client *c, u32 id, u32 uid)
{
	struct rfp_setcred_req *req;
	struct rfp_enc enc;

	req = fs_req(c, &enc, RFP_SETCRED, 0, sizeof(*req));
	req->id = cpu_to_le32(id);
	req->uid = cpu_to_le32(uid);
	req->gid = cpu_to_le32(uid);
	return fs_call(test, c, &enc);
}

/**
 * fs_begin - make a session for a client that has none, and attach to the first export
 * @test: the case
 * @c:    the client; it keeps its name of former sessions
 *
 * Context: process, may sleep.
 */
void fs_begin(struct kunit *test, struct fs_client *c)
{
	unsigned long end = jiffies + RAW_WAIT;
	struct rxp_wire_hello hello = {};
	struct rxp_wire_welcome *w;

	memcpy(hello.client, c->id, sizeof(hello.client));
	for (;;) {
		c->raw = raw_open(FS_PORT);
		KUNIT_ASSERT_FALSE(test, IS_ERR(c->raw));
		KUNIT_ASSERT_EQ(test, raw_say(c->raw, RXP_CONTROL, RXP_CONTROL_HELLO, 0, 0, &hello,
					      sizeof(hello), 0), 0);
		w = raw_expect(test, c->raw, RXP_NOTIFY, RXP_NOTIFY_WELCOME, 0, 0);
		if (le32_to_cpu(w->status) == RXP_WELCOME_NEW) {
			KUNIT_ASSERT_EQ(test, raw_repost(c->raw, &c->raw->recv[0]), 0);
			break;
		}
		/* The former session of this name has not quite ended. */
		KUNIT_ASSERT_EQ(test, le32_to_cpu(w->status), RXP_WELCOME_REFUSED);
		KUNIT_ASSERT_TRUE(test, time_before(jiffies, end));
		raw_close(c->raw);
		c->raw = NULL;
		msleep(20);
	}
	c->seq = 0;
	KUNIT_ASSERT_EQ(test, fs_attach(test, c, fs_export), 0);
	KUNIT_ASSERT_EQ(test, fs_setcred(test, c, FS_ROOT, 0), 0);
	KUNIT_ASSERT_EQ(test, fs_setcred(test, c, FS_USER, FS_UID), 0);
}

/**
 * fs_client - make a client with a session, and attach to the first export
 * @test: the case, at whose end the session ends
 *
 * Context: process, may sleep.
 * Return: the client, part of @test's struct fs_test.
 */
struct fs_client *fs_client(struct kunit *test)
{
	struct fs_test *t = test->priv;
	struct fs_client *c = &t->client[t->nr];

	KUNIT_ASSERT_LT(test, t->nr, FS_CLIENTS);
	get_random_bytes(c->id, sizeof(c->id));
	fs_begin(test, c);
	t->nr++;
	return c;
}

/**
 * fs_end - end a client's session; its opens are not closed before
 * @test: the case
 * @c:    the client
 *
 * Context: process, may sleep.
 */
void fs_end(struct kunit *test, struct fs_client *c)
{
	raw_say(c->raw, RXP_CONTROL, RXP_CONTROL_BYE, 0, 0, NULL, 0, 0);
	KUNIT_EXPECT_TRUE(test, raw_wait_cut(c->raw));
	raw_close(c->raw);
	c->raw = NULL;
}

/**
 * fs_take_open - take an open from the last reply
 * @c:      the client
 * @o:      gets the open; its @fh only if @create
 * @create: the reply is that to a CREATE
 *
 * Context: any.
 */
void fs_take_open(struct fs_client *c, struct fs_open *o, bool create)
{
	const struct rfp_open_rep *rep;
	struct rfp_dec dec;

	rfp_dec_init(&dec, c->rep, c->rep_len);
	rep = rfp_dec_fixed(&dec, sizeof(*rep));
	if (!rep)
		return;
	o->stateid = le64_to_cpu(rep->stateid);
	o->proof = rep->proof;
	if (!create)
		return;
	rfp_dec_fixed(&dec, sizeof(struct rfp_attr));
	rfp_dec_fh(&dec, &o->fh);
}

/**
 * fs_create - make a file in the root, and open it for reading and writing
 * @test: the case
 * @c:    the client
 * @name: the file's name, which must not exist
 * @mode: its permissions
 * @o:    gets the open
 *
 * Context: process, may sleep.
 * Return: the reply's status.
 */
u32 fs_create(struct kunit *test, struct fs_client *c, const char *name, u32 mode,
	      struct fs_open *o)
{
	struct rfp_create_req *req;
	struct rfp_enc enc;
	u32 status;

	req = fs_req(c, &enc, RFP_CREATE, FS_USER, sizeof(*req));
	req->mode = cpu_to_le32(mode);
	req->flags = cpu_to_le32(RFP_OPEN_READ | RFP_OPEN_WRITE);
	req->how = cpu_to_le32(RFP_CREATE_EXCL);
	rfp_enc_fh(&enc, &c->root);
	rfp_enc_str(&enc, name, strlen(name), RFP_NAME_MAX);
	status = fs_call(test, c, &enc);
	if (!status)
		fs_take_open(c, o, true);
	return status;
}

/**
 * fs_open_for - open a file by handle
 * @test:  the case
 * @c:     the client
 * @fh:    the handle
 * @flags: RFP_OPEN_*
 * @proof: proof of a former open, or NULL
 * @o:     gets the stateid and the proof of the new open
 *
 * Context: process, may sleep.
 * Return: the reply's status.
 */
u32 fs_open_for(struct kunit *test, struct fs_client *c, const struct rfp_fh *fh, u32 flags,
		const struct rfp_proof *proof, struct fs_open *o)
{
	struct rfp_open_req *req;
	struct rfp_enc enc;
	u32 status;

	req = fs_req(c, &enc, RFP_OPEN, FS_USER, sizeof(*req));
	req->flags = cpu_to_le32(flags);
	if (proof)
		req->proof = *proof;
	rfp_enc_fh(&enc, fh);
	status = fs_call(test, c, &enc);
	if (!status) {
		o->fh = *fh;
		fs_take_open(c, o, false);
	}
	return status;
}

/**
 * fs_open_as - open a file by handle, for reading and writing
 * @test:  the case
 * @c:     the client
 * @fh:    the handle
 * @proof: proof of a former open, or NULL
 * @o:     gets the stateid and the proof of the new open
 *
 * Context: process, may sleep.
 * Return: the reply's status.
 */
u32 fs_open_as(struct kunit *test, struct fs_client *c, const struct rfp_fh *fh,
	       const struct rfp_proof *proof, struct fs_open *o)
{
	return fs_open_for(test, c, fh, RFP_OPEN_READ | RFP_OPEN_WRITE, proof, o);
}

/**
 * fs_close_send - send a CLOSE; fs_reply() has to follow
 * @test: the case
 * @c:    the client
 * @o:    the open
 *
 * Context: process, may sleep.
 */
void fs_close_send(struct kunit *test, struct fs_client *c, const struct fs_open *o)
{
	struct rfp_close_req *req;
	struct rfp_enc enc;

	req = fs_req(c, &enc, RFP_CLOSE, FS_USER, sizeof(*req));
	req->stateid = cpu_to_le64(o->stateid);
	fs_send(test, c, &enc, 0);
}

/**
 * fs_close - close an open
 * @test: the case
 * @c:    the client
 * @o:    the open
 *
 * Context: process, may sleep.
 * Return: the reply's status.
 */
u32 fs_close(struct kunit *test, struct fs_client *c, const struct fs_open *o)
{
	fs_close_send(test, c, o);
	return fs_reply(test, c);
}

/**
 * fs_unlink_send - send an UNLINK; fs_reply() has to follow
 * @test: the case
 * @c:    the client
 * @name: a name in the root
 *
 * Context: process, may sleep.
 */
void fs_unlink_send(struct kunit *test, struct fs_client *c, const char *name)
{
	struct rfp_enc enc;

	fs_req(c, &enc, RFP_UNLINK, FS_ROOT, sizeof(struct rfp_req));
	rfp_enc_fh(&enc, &c->root);
	rfp_enc_str(&enc, name, strlen(name), RFP_NAME_MAX);
	fs_send(test, c, &enc, 0);
}

/**
 * fs_unlink - remove a name in the root
 * @test: the case
 * @c:    the client
 * @name: the name
 *
 * Context: process, may sleep.
 * Return: the reply's status.
 */
u32 fs_unlink(struct kunit *test, struct fs_client *c, const char *name)
{
	fs_unlink_send(test, c, name);
	return fs_reply(test, c);
}

/**
 * fs_init - begin a case of a suite whose cases have clients: kunit_suite.init
 * @test: the case
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int fs_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct fs_test), GFP_KERNEL);
	return test->priv ? 0 : -ENOMEM;
}

/**
 * fs_exit - end a case, and the sessions of its clients: kunit_suite.exit
 * @test: the case
 *
 * Context: process, may sleep.
 */
void fs_exit(struct kunit *test)
{
	struct fs_test *t = test->priv;
	u32 i;

	raw_route(NULL, NULL);
	rdmafs_points_command("reset");
	for (i = 0; t && i < FS_CLIENTS; i++)
		if (!IS_ERR_OR_NULL(t->client[i].raw)) {
			raw_say(t->client[i].raw, RXP_CONTROL, RXP_CONTROL_BYE, 0, 0, NULL, 0, 0);
			raw_close(t->client[i].raw);
		}
}
