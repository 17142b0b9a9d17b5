// SPDX-License-Identifier: GPL-2.0
/*
 * Taking apart protocol bodies that a peer wrote.
 *
 * The peer is not trusted, so this file checks everything in a body that can be
 * checked without its meaning (Documentation/architecture.rst,
 * "Bytes that are not trusted").  A length is compared with the bytes that are
 * left, and never added to a position before that.  A name is one that the VFS may
 * be given.  The caller checks the meaning of a value: an operation's number, flag
 * bits, a range inside a file.
 *
 * Only handles are copied.  Strings and fixed structs point into the body, and are
 * valid as long as the body is.
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/fs_types.h>
#include <linux/math.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include "fs/proto/codec.h"

#define DIRENT_ALIGN	8

/* The types that readdir(3) knows, as a set of bits; all types are below 16. */
#define DIRENT_TYPES	(BIT(DT_UNKNOWN) | BIT(DT_FIFO) | BIT(DT_CHR) | BIT(DT_DIR) | \
			 BIT(DT_BLK) | BIT(DT_REG) | BIT(DT_LNK) | BIT(DT_SOCK) | BIT(DT_WHT))

static const u8 *dec_take(struct rfp_dec *d, size_t size)
{
	const u8 *p = d->p;

	if (d->bad || size > d->end - p) {
		d->bad = true;
		return NULL;
	}
	d->p = p + size;
	return p;
}

static const u8 *dec_counted(struct rfp_dec *d, u16 *len, size_t max)
{
	const u8 *p = dec_take(d, sizeof(__le16));

	*len = p ? get_unaligned_le16(p) : 0;
	if (!*len || *len > max) {
		d->bad = true;
		*len = 0;
		return NULL;
	}
	p = dec_take(d, *len);
	if (!p)
		*len = 0;
	return p;
}

static bool name_is_sound(const char *s, size_t len, bool dotdot_ok)
{
	if (memchr(s, '\0', len) || memchr(s, '/', len))
		return false;
	if (len == 1)
		return s[0] != '.';
	return len != 2 || s[0] != '.' || s[1] != '.' || dotdot_ok;
}

static void dec_str_drop(struct rfp_dec *d, struct rfp_str *str)
{
	d->bad = true;
	str->s = NULL;
	str->len = 0;
}

/**
 * rfp_dec_init - begin to take a body apart
 * @d: decoder
 * @buf: the body, which must not change or be freed while results are used
 * @size: length of the body in bytes
 *
 * Context: any.
 */
void rfp_dec_init(struct rfp_dec *d, const void *buf, size_t size)
{
	d->p = buf;
	d->end = d->p + size;
	d->bad = false;
}
EXPORT_SYMBOL_GPL(rfp_dec_init);

/**
 * rfp_dec_fixed - take the next fixed struct
 * @d: decoder
 * @size: size of the struct in bytes
 *
 * Context: any.
 * Return: the struct inside the body, at any alignment; NULL once @d is bad.
 */
const void *rfp_dec_fixed(struct rfp_dec *d, size_t size)
{
	return dec_take(d, size);
}
EXPORT_SYMBOL_GPL(rfp_dec_fixed);

/**
 * rfp_dec_zero_at - take the next fixed struct, a part of which has to be 0
 * @d: decoder, bad afterwards if that part is not 0
 * @size: size of the struct in bytes
 * @pad: offset of the part in the struct
 * @len: length of the part in bytes; 0: there is none
 *
 * Context: any.
 * Return: as rfp_dec_fixed().
 */
const void *rfp_dec_zero_at(struct rfp_dec *d, size_t size, size_t pad, size_t len)
{
	const u8 *p = dec_take(d, size);

	if (p && memchr_inv(p + pad, 0, len)) {
		d->bad = true;
		p = NULL;
	}
	return p;
}
EXPORT_SYMBOL_GPL(rfp_dec_zero_at);

/**
 * rfp_dec_fh - take the next file handle
 * @d: decoder
 * @fh: gets a copy; its length is 0 once @d is bad
 *
 * Context: any.
 */
void rfp_dec_fh(struct rfp_dec *d, struct rfp_fh *fh)
{
	const u8 *p = dec_counted(d, &fh->len, RFP_FH_MAX);

	if (p)
		memcpy(fh->data, p, fh->len);
}
EXPORT_SYMBOL_GPL(rfp_dec_fh);

/**
 * rfp_dec_name - take the next file name
 * @d: decoder, bad afterwards if the name is not fit for a directory entry
 * @name: filled in; its length is 0 once @d is bad
 * @dotdot_ok: ".." is allowed, as it is in LOOKUP
 *
 * Context: any.
 */
void rfp_dec_name(struct rfp_dec *d, struct rfp_str *name, bool dotdot_ok)
{
	name->s = (const char *)dec_counted(d, &name->len, RFP_NAME_MAX);
	if (name->s && !name_is_sound(name->s, name->len, dotdot_ok))
		dec_str_drop(d, name);
}
EXPORT_SYMBOL_GPL(rfp_dec_name);

/**
 * rfp_dec_str - take the next string that is not a file name
 * @d: decoder, bad afterwards if the string holds a NUL
 * @str: filled in; its length is 0 once @d is bad
 * @max: the most bytes that the protocol allows here
 *
 * Context: any.
 */
void rfp_dec_str(struct rfp_dec *d, struct rfp_str *str, size_t max)
{
	str->s = (const char *)dec_counted(d, &str->len, max);
	if (str->s && memchr(str->s, '\0', str->len))
		dec_str_drop(d, str);
}
EXPORT_SYMBOL_GPL(rfp_dec_str);

/**
 * rfp_dec_label - take the next security label
 * @d: decoder, bad afterwards if the label is too long
 * @label: filled in; its length is 0 if there is none, and once @d is bad.  Its bytes mean
 * nothing here: a security module finds out whether they are a label
 *
 * Context: any.
 */
void rfp_dec_label(struct rfp_dec *d, struct rfp_str *label)
{
	const u8 *p = dec_take(d, sizeof(__le16));
	u16 len = p ? get_unaligned_le16(p) : 0;

	if (len > RFP_LABEL_MAX)
		d->bad = true;
	p = dec_take(d, len);
	label->s = (const char *)p;
	label->len = p ? len : 0;
}
EXPORT_SYMBOL_GPL(rfp_dec_label);

/**
 * rfp_dec_label_told - take the security label that ends a reply
 * @d: decoder, bad afterwards if the label is too long
 * @label: filled in as by rfp_dec_label(); @s is NULL if the reply tells none.  Else a length of 0
 * says that the object has none
 *
 * Context: any.
 */
void rfp_dec_label_told(struct rfp_dec *d, struct rfp_str *label)
{
	const u8 *p = d->p;

	if (!d->bad && d->end - p >= sizeof(__le16) && get_unaligned_le16(p) == RFP_LABEL_NONE) {
		dec_take(d, sizeof(__le16));
		*label = (struct rfp_str){ .s = (const char *)p };
		return;
	}
	rfp_dec_label(d, label);
	if (!label->len)
		label->s = NULL;
}
EXPORT_SYMBOL_GPL(rfp_dec_label_told);

/**
 * rfp_dec_end - test whether the whole body was sound
 * @d: decoder
 *
 * Context: any.
 * Return: 0, or -EBADMSG if something was missing, unsound or left over.
 */
int rfp_dec_end(const struct rfp_dec *d)
{
	return d->bad || d->p != d->end ? -EBADMSG : 0;
}
EXPORT_SYMBOL_GPL(rfp_dec_end);

/* The length of an entry with these parts; both lengths are u16, so the sum can't wrap. */
static size_t dirent_size(u16 name_len, u16 fh_len, bool has_attr)
{
	size_t len = sizeof(struct rfp_dirent) + name_len + fh_len;

	if (has_attr)
		len += sizeof(struct rfp_attr);
	return round_up(len, DIRENT_ALIGN);
}

static bool dirent_is_sound(const struct rfp_dirent *de)
{
	u16 name_len = le16_to_cpu(de->name_len);
	u16 fh_len = le16_to_cpu(de->fh_len);
	bool has_attr = de->flags & RFP_DIRENT_ATTR;

	if (de->flags & ~RFP_DIRENT_ATTR)
		return false;
	if (de->type >= 16 || !(DIRENT_TYPES & BIT(de->type)))
		return false;
	if (!name_len || name_len > RFP_NAME_MAX)
		return false;
	if (fh_len > RFP_FH_MAX || !fh_len == has_attr)
		return false;
	return le16_to_cpu(de->rec_len) == dirent_size(name_len, fh_len, has_attr);
}

/**
 * rfp_dec_dirent - take the next directory entry
 * @d: decoder over the data of a READDIR reply
 * @view: filled in if 1 is returned
 *
 * Context: any.
 * Return: 1 if there was an entry; 0 at the end of the data; -EBADMSG if the entry is
 * unsound, after which @d stays bad.
 */
int rfp_dec_dirent(struct rfp_dec *d, struct rfp_dirent_view *view)
{
	const struct rfp_dirent *de;
	const u8 *p, *end;

	if (!d->bad && d->p == d->end)
		return 0;
	de = rfp_dec_fixed(d, sizeof(*de));
	if (!de)
		return -EBADMSG;
	if (!dirent_is_sound(de))
		goto bad;
	p = dec_take(d, le16_to_cpu(de->rec_len) - sizeof(*de));
	if (!p)
		return -EBADMSG;
	end = d->p;

	view->cookie = le64_to_cpu(de->cookie);
	view->ino = le64_to_cpu(de->ino);
	view->type = de->type;
	view->attr = NULL;
	view->fh.len = le16_to_cpu(de->fh_len);
	if (view->fh.len) {
		view->attr = (const struct rfp_attr *)p;
		p += sizeof(*view->attr);
		memcpy(view->fh.data, p, view->fh.len);
		p += view->fh.len;
	}
	view->name.s = (const char *)p;
	view->name.len = le16_to_cpu(de->name_len);
	p += view->name.len;
	if (!name_is_sound(view->name.s, view->name.len, false))
		goto bad;
	if (memchr_inv(p, 0, end - p))
		goto bad;
	return 1;

bad:
	d->bad = true;
	return -EBADMSG;
}
EXPORT_SYMBOL_GPL(rfp_dec_dirent);
