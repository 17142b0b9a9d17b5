/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clients in bare verbs for the suites that talk to a real server on the same machine.  They send
 * the requests that a case has written, one at a time.
 *
 * tests/scenarios/inside/proofs loads the module of these suites.
 */
#ifndef RDMAFS_KUNIT_FS_CLIENT_H
#define RDMAFS_KUNIT_FS_CLIENT_H

#include <kunit/test.h>
#include "fs/proto/codec.h"
#include "xprt_raw.h"

#define FS_BODY		2048
#define FS_CLIENTS	8

/* Ids of the two credentials that each client registers. */
enum { FS_ROOT = 1, FS_USER = 2 };
#define FS_UID		1000

/**
 * struct fs_client - a client with a session
 * @raw:    its connection, NULL without one
 * @id:	    the name that it gives itself
 * @seq:    sequence number of the last call
 * @req:    the next request's body
 * @rep:    the last reply's body
 * @rep_len: its length
 * @root:   handle of the export's root
 * @rings:  EVENTs that came
 */
struct fs_client {
	struct raw *raw;
	u8 id[16];
	u32 seq;
	u8 req[FS_BODY];
	u8 rep[FS_BODY];
	u32 rep_len;
	struct rfp_fh root;
	u32 rings;
};

struct fs_test {
	struct fs_client client[FS_CLIENTS];
	u32 nr;
};

/* An open, as a client knows it. */
struct fs_open {
	struct rfp_fh fh;
	u64 stateid;
	struct rfp_proof proof;
};

extern char *fs_export;

int fs_init(struct kunit *test);
void fs_exit(struct kunit *test);
struct fs_client *fs_client(struct kunit *test);
void fs_begin(struct kunit *test, struct fs_client *c);
void fs_end(struct kunit *test, struct fs_client *c);
void *fs_req(struct fs_client *c, struct rfp_enc *enc, enum rfp_op op, u32 cred, size_t size);
void fs_send(struct kunit *test, struct fs_client *c, struct rfp_enc *enc, u32 data);
u32 fs_reply(struct kunit *test, struct fs_client *c);
u32 fs_call_data(struct kunit *test, struct fs_client *c, struct rfp_enc *enc, u32 data);
u32 fs_call(struct kunit *test, struct fs_client *c, struct rfp_enc *enc);
u32 fs_attach(struct kunit *test, struct fs_client *c, const char *name);
u32 fs_setcred(struct kunit *test, struct fs_client *c, u32 id, u32 uid);
void fs_take_open(struct fs_client *c, struct fs_open *o, bool create);
u32 fs_create(struct kunit *test, struct fs_client *c, const char *name, u32 mode,
	      struct fs_open *o);
u32 fs_open_for(struct kunit *test, struct fs_client *c, const struct rfp_fh *fh, u32 flags,
		const struct rfp_proof *proof, struct fs_open *o);
u32 fs_open_as(struct kunit *test, struct fs_client *c, const struct rfp_fh *fh,
	       const struct rfp_proof *proof, struct fs_open *o);
void fs_close_send(struct kunit *test, struct fs_client *c, const struct fs_open *o);
u32 fs_close(struct kunit *test, struct fs_client *c, const struct fs_open *o);
void fs_unlink_send(struct kunit *test, struct fs_client *c, const char *name);
u32 fs_unlink(struct kunit *test, struct fs_client *c, const char *name);

#endif
