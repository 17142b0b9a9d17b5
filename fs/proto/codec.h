/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bounded writing and reading of protocol bodies.
 *
 * Both cursors are sticky: the first thing that does not fit, or does not
 * hold what its type demands, sets @bad, and all that follows is a no-op.  So
 * a body is put together or taken apart without a test at each step, and the
 * one test at the end (rfp_enc_len(), rfp_dec_end()) tells.  After a failure
 * nothing returned by the decoder may be used.
 */
#ifndef RDMAFS_CODEC_H
#define RDMAFS_CODEC_H

#include <linux/stddef.h>
#include <linux/types.h>
#include "fs/proto/rdmafs_proto.h"

struct rfp_enc {
	u8 *base;
	u8 *p;
	u8 *end;
	bool bad;
};

struct rfp_dec {
	const u8 *p;
	const u8 *end;
	bool bad;
};

/**
 * struct rfp_fh - a file handle in memory
 * @len:  1..RFP_FH_MAX, 0 for none
 * @data: its bytes
 */
struct rfp_fh {
	u16 len;
	u8 data[RFP_FH_MAX];
};

/**
 * struct rfp_str - a run of bytes inside a received body, not NUL-terminated
 * @len: bytes
 * @s:	 the first
 */
struct rfp_str {
	u16 len;
	const char *s;
};

void rfp_enc_init(struct rfp_enc *e, void *buf, size_t size);
/* Room for a fixed struct, zeroed; NULL once bad. */
void *rfp_enc_fixed(struct rfp_enc *e, size_t size);
void rfp_enc_fh(struct rfp_enc *e, const struct rfp_fh *fh);
void rfp_enc_str(struct rfp_enc *e, const char *s, size_t len, size_t max);
/* Length of the body, or -EMSGSIZE. */
int rfp_enc_len(const struct rfp_enc *e);

void rfp_dec_init(struct rfp_dec *d, const void *buf, size_t size);
/* The next @size bytes, or NULL once bad. */
const void *rfp_dec_fixed(struct rfp_dec *d, size_t size);
/* The same, or NULL if one of the @len bytes at @pad of it is not 0. */
const void *rfp_dec_zero_at(struct rfp_dec *d, size_t size, size_t pad, size_t len);
/* The next struct of a type that has a pad, which is 0; or NULL once bad. */
#define rfp_dec_padded(d, type) \
	((const type *)rfp_dec_zero_at(d, sizeof(type), offsetof(type, pad), \
				       sizeof_field(type, pad)))
void rfp_dec_fh(struct rfp_dec *d, struct rfp_fh *fh);
/* A file name: no NUL, no '/', not "." or ".."; @dotdot_ok allows "..". */
void rfp_dec_name(struct rfp_dec *d, struct rfp_str *name, bool dotdot_ok);
/* Any bytes but NUL, 1..@max of them. */
void rfp_dec_str(struct rfp_dec *d, struct rfp_str *str, size_t max);
/* 0 if all was well and nothing is left over, else -EBADMSG. */
int rfp_dec_end(const struct rfp_dec *d);

/* Begin a request or a reply: the common part, filled in. */
void *rfp_enc_req(struct rfp_enc *e, enum rfp_op op, u32 cred, size_t size);
void *rfp_enc_rep(struct rfp_enc *e, size_t size);

/**
 * struct rfp_dirent_view - one entry of a READDIR reply, checked
 * @cookie: READDIR with it begins after this entry
 * @ino:    inode number
 * @type:   DT_*
 * @name:   points into the reply
 * @attr:   points into the reply, NULL if the entry has none
 * @fh:	    the handle, len 0 if the entry has none
 */
struct rfp_dirent_view {
	u64 cookie;
	u64 ino;
	u8 type;
	struct rfp_str name;
	const struct rfp_attr *attr;
	struct rfp_fh fh;
};

/*
 * Append an entry of @cookie, @ino, @type; @attr and @fh may be NULL
 * together.  False, and nothing written, if it does not fit; the encoder does
 * not go bad by that.
 */
bool rfp_enc_dirent(struct rfp_enc *e, u64 cookie, u64 ino, u8 type, const char *name,
		    u16 name_len, const struct rfp_attr *attr, const struct rfp_fh *fh);
/* 1: @view filled in; 0: no more entries; -EBADMSG. */
int rfp_dec_dirent(struct rfp_dec *d, struct rfp_dirent_view *view);

/* Status of the protocol for a (negative or positive) errno, and back to a negative errno. */
u32 rfp_status_from_errno(int err);
int rfp_errno_from_status(u32 status);

#endif
