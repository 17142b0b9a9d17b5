/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bounded writing and reading of protocol bodies.
 *
 * Encoder and decoder are sticky: the first field that does not fit, or that
 * breaks the rules of its type, sets @bad, and all later calls do nothing.  So a
 * caller builds a body, or takes it apart, without a test at each step, and makes
 * one test at the end (rfp_enc_len(), rfp_dec_end()).  If this test fails, the
 * caller must not use anything that the decoder returned.
 *
 * The functions take no lock and may be called in any context; encoder, decoder and
 * buffer are the caller's.
 */
#ifndef RDMAFS_CODEC_H
#define RDMAFS_CODEC_H

#include <linux/stddef.h>
#include <linux/types.h>
#include "fs/proto/rdmafs_proto.h"

/**
 * struct rfp_enc - an encoder over a buffer
 * @base: start of the buffer
 * @p:    where the next field goes
 * @end:  end of the buffer
 * @bad:  a field did not fit, or was not fit to be sent
 */
struct rfp_enc {
	u8 *base;
	u8 *p;
	u8 *end;
	bool bad;
};

/**
 * struct rfp_dec - a decoder over a received body
 * @p:   where the next field is
 * @end: end of the body
 * @bad: a field was missing or unsound
 */
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
 * @len: number of bytes
 * @s:	 the first byte; valid as long as the body is
 */
struct rfp_str {
	u16 len;
	const char *s;
};

void rfp_enc_init(struct rfp_enc *e, void *buf, size_t size);
/* Appends room for a fixed struct, zeroed; NULL once bad. */
void *rfp_enc_fixed(struct rfp_enc *e, size_t size);
void rfp_enc_fh(struct rfp_enc *e, const struct rfp_fh *fh);
void rfp_enc_str(struct rfp_enc *e, const char *s, size_t len, size_t max);
/* A label of @len bytes; 0: none. */
void rfp_enc_label(struct rfp_enc *e, const void *label, size_t len);
/* In a reply: the object has no label. */
void rfp_enc_label_none(struct rfp_enc *e);
/* The length of the body, or -EMSGSIZE. */
int rfp_enc_len(const struct rfp_enc *e);

void rfp_dec_init(struct rfp_dec *d, const void *buf, size_t size);
/* The next @size bytes, or NULL once bad. */
const void *rfp_dec_fixed(struct rfp_dec *d, size_t size);
/* The same, but NULL and bad if one of its @len bytes from offset @pad on is not 0. */
const void *rfp_dec_zero_at(struct rfp_dec *d, size_t size, size_t pad, size_t len);
void rfp_dec_fh(struct rfp_dec *d, struct rfp_fh *fh);
/* A file name: no NUL, no '/', not "." or ".."; @dotdot_ok allows "..". */
void rfp_dec_name(struct rfp_dec *d, struct rfp_str *name, bool dotdot_ok);
/* A string of 1..@max bytes, none of them NUL. */
void rfp_dec_str(struct rfp_dec *d, struct rfp_str *str, size_t max);
/* A label of 0..RFP_LABEL_MAX bytes, any of which may be NUL. */
void rfp_dec_label(struct rfp_dec *d, struct rfp_str *label);
/* Likewise, of a reply: @label->s is NULL if none is told, else a length of 0 says: it has none. */
void rfp_dec_label_told(struct rfp_dec *d, struct rfp_str *label);
/* 0 if all fields were sound and nothing is left over, else -EBADMSG. */
int rfp_dec_end(const struct rfp_dec *d);

/* Begin a request or a reply, with its common part filled in; NULL once bad. */
void *rfp_enc_req(struct rfp_enc *e, enum rfp_op op, u32 cred, size_t size);
void *rfp_enc_rep(struct rfp_enc *e, size_t size);

/**
 * struct rfp_dirent_view - one entry of a READDIR reply, checked
 * @cookie: a READDIR with this cookie begins after this entry
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
 * Append an entry of @cookie, @ino, @type; @attr and @fh may both be NULL.  False
 * if nothing was written: if the entry did not fit the encoder stays good, if the
 * entry breaks the protocol the encoder is bad.
 */
bool rfp_enc_dirent(struct rfp_enc *e, u64 cookie, u64 ino, u8 type, const char *name,
		    u16 name_len, const struct rfp_attr *attr, const struct rfp_fh *fh);
/* 1: @view is filled in; 0: no more entries; -EBADMSG: the entry is unsound. */
int rfp_dec_dirent(struct rfp_dec *d, struct rfp_dirent_view *view);

/* From an errno, negative or positive, to a status, and from a status to a negative errno. */
u32 rfp_status_from_errno(int err);
int rfp_errno_from_status(u32 status);

#endif
