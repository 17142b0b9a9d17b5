// SPDX-License-Identifier: GPL-2.0
/*
 * Writing protocol bodies into a buffer of a given size.
 *
 * A field that does not fit, or may not be sent (an empty name, a handle longer
 * than the protocol allows), makes the encoder bad, and rfp_enc_len() says so at
 * the end.  A directory entry is the exception: it may find no room without harm,
 * because a reply holds as many entries as fit.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/limits.h>
#include <linux/math.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include "fs/proto/codec.h"

/* READDIR data is a sequence of entries, each of which begins at a multiple of this. */
#define DIRENT_ALIGN	8

static u8 *enc_take(struct rfp_enc *e, size_t size)
{
	u8 *p = e->p;

	if (e->bad || size > e->end - p) {
		e->bad = true;
		return NULL;
	}
	e->p = p + size;
	return p;
}

static void enc_counted(struct rfp_enc *e, const void *data, size_t len, size_t max)
{
	u8 *p;

	if (!len || len > max || len > U16_MAX) {
		e->bad = true;
		return;
	}
	p = enc_take(e, sizeof(__le16) + len);
	if (!p)
		return;
	put_unaligned_le16(len, p);
	memcpy(p + sizeof(__le16), data, len);
}

/**
 * rfp_enc_init - begin a body
 * @e: encoder
 * @buf: buffer to write to
 * @size: size of the buffer in bytes
 *
 * Context: any.
 */
void rfp_enc_init(struct rfp_enc *e, void *buf, size_t size)
{
	e->base = buf;
	e->p = buf;
	e->end = e->base + size;
	e->bad = false;
}
EXPORT_SYMBOL_GPL(rfp_enc_init);

/**
 * rfp_enc_fixed - append room for a fixed struct
 * @e: encoder
 * @size: size of the struct in bytes
 *
 * Context: any.
 * Return: the room, at any alignment, zeroed, so that pad fields need not be set; NULL
 * once @e is bad.
 */
void *rfp_enc_fixed(struct rfp_enc *e, size_t size)
{
	u8 *p = enc_take(e, size);

	if (p)
		memset(p, 0, size);
	return p;
}
EXPORT_SYMBOL_GPL(rfp_enc_fixed);

/**
 * rfp_enc_fh - append a file handle
 * @e: encoder, bad afterwards if @fh is empty, too long, or does not fit
 * @fh: the handle
 *
 * Context: any.
 */
void rfp_enc_fh(struct rfp_enc *e, const struct rfp_fh *fh)
{
	enc_counted(e, fh->data, fh->len, RFP_FH_MAX);
}
EXPORT_SYMBOL_GPL(rfp_enc_fh);

/**
 * rfp_enc_str - append a name
 * @e: encoder, bad afterwards if the name is empty, longer than @max, or does not fit
 * @s: first byte of the name; no NUL is needed
 * @len: length of the name in bytes
 * @max: the most bytes that the protocol allows here
 *
 * Context: any.
 */
void rfp_enc_str(struct rfp_enc *e, const char *s, size_t len, size_t max)
{
	enc_counted(e, s, len, max);
}
EXPORT_SYMBOL_GPL(rfp_enc_str);

/**
 * rfp_enc_label - append a security label
 * @e: encoder, bad afterwards if the label is longer than RFP_LABEL_MAX, or does not fit
 * @label: its first byte; may be NULL if there is none
 * @len: length of the label in bytes; 0: there is none
 *
 * Context: any.
 */
void rfp_enc_label(struct rfp_enc *e, const void *label, size_t len)
{
	if (len)
		enc_counted(e, label, len, RFP_LABEL_MAX);
	else
		rfp_enc_fixed(e, sizeof(__le16));
}
EXPORT_SYMBOL_GPL(rfp_enc_label);

/**
 * rfp_enc_label_none - append that an object has no security label
 * @e: encoder of a reply, bad afterwards if that does not fit
 *
 * Context: any.
 */
void rfp_enc_label_none(struct rfp_enc *e)
{
	u8 *p = rfp_enc_fixed(e, sizeof(__le16));

	if (p)
		put_unaligned_le16(RFP_LABEL_NONE, p);
}
EXPORT_SYMBOL_GPL(rfp_enc_label_none);

/**
 * rfp_enc_len - end a body
 * @e: encoder
 *
 * Context: any.
 * Return: the length of the body in bytes, or -EMSGSIZE if a field did not fit or was
 * not fit to be sent.
 */
int rfp_enc_len(const struct rfp_enc *e)
{
	if (e->bad || e->p - e->base > INT_MAX)
		return -EMSGSIZE;
	return e->p - e->base;
}
EXPORT_SYMBOL_GPL(rfp_enc_len);

/**
 * rfp_enc_req - begin a request
 * @e: encoder
 * @op: operation
 * @cred: id of the caller's credentials
 * @size: size of the operation's fixed struct, which begins with struct rfp_req
 *
 * Context: any.
 * Return: the struct, zero except for @op and @cred in the common part; NULL once @e is
 * bad.
 */
void *rfp_enc_req(struct rfp_enc *e, enum rfp_op op, u32 cred, size_t size)
{
	struct rfp_req *req;

	if (size < sizeof(*req)) {
		e->bad = true;
		return NULL;
	}
	req = rfp_enc_fixed(e, size);
	if (req) {
		req->op = cpu_to_le16(op);
		req->cred = cpu_to_le32(cred);
	}
	return req;
}
EXPORT_SYMBOL_GPL(rfp_enc_req);

/**
 * rfp_enc_rep - begin a reply of status RFP_OK
 * @e: encoder
 * @size: size of the operation's fixed struct, which begins with struct rfp_rep
 *
 * Context: any.
 * Return: the struct, zeroed, so its status is RFP_OK; NULL once @e is bad.
 */
void *rfp_enc_rep(struct rfp_enc *e, size_t size)
{
	if (size < sizeof(struct rfp_rep)) {
		e->bad = true;
		return NULL;
	}
	return rfp_enc_fixed(e, size);
}
EXPORT_SYMBOL_GPL(rfp_enc_rep);

/**
 * rfp_enc_dirent - append a directory entry, if it fits
 * @e: encoder over the data of a READDIR reply
 * @cookie: a READDIR with this cookie begins after this entry
 * @ino: inode number
 * @type: DT_*
 * @name: first byte of the name; NUL, '/', "." and ".." are not refused here
 * @name_len: length of the name in bytes
 * @attr: attributes, NULL together with @fh
 * @fh: handle, NULL together with @attr
 *
 * Context: any.
 * Return: true if the entry was written.  Else false: @e is as it was if only the
 * room was too small, and bad if the entry itself breaks the protocol.
 */
bool rfp_enc_dirent(struct rfp_enc *e, u64 cookie, u64 ino, u8 type, const char *name,
		    u16 name_len, const struct rfp_attr *attr, const struct rfp_fh *fh)
{
	struct rfp_dirent *de;
	size_t len, rec_len;
	u8 *p;

	if (!name_len || name_len > RFP_NAME_MAX || !attr != !fh ||
	    (fh && (!fh->len || fh->len > RFP_FH_MAX)))
		e->bad = true;
	if (e->bad)
		return false;

	len = sizeof(*de) + name_len;
	if (fh)
		len += sizeof(*attr) + fh->len;
	rec_len = round_up(len, DIRENT_ALIGN);
	if (rec_len > e->end - e->p)
		return false;

	de = rfp_enc_fixed(e, rec_len);
	de->cookie = cpu_to_le64(cookie);
	de->ino = cpu_to_le64(ino);
	de->rec_len = cpu_to_le16(rec_len);
	de->name_len = cpu_to_le16(name_len);
	de->type = type;
	p = (u8 *)(de + 1);
	if (fh) {
		de->fh_len = cpu_to_le16(fh->len);
		de->flags = RFP_DIRENT_ATTR;
		memcpy(p, attr, sizeof(*attr));
		p += sizeof(*attr);
		memcpy(p, fh->data, fh->len);
		p += fh->len;
	}
	memcpy(p, name, name_len);
	return true;
}
EXPORT_SYMBOL_GPL(rfp_enc_dirent);
