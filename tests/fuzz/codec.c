// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: fs/proto on any body.  What the decoder returns must lie in the body, be valid for
 * its kind (a name has no slash, for instance), and encode to the same bytes again.
 *
 * Input: the first byte says what follows.
 *	0..0x7f	up to 16 steps, each saying what is to be decoded next; then the body
 *	0x80..	the data of a READDIR reply
 *	0xff	a status, to be converted to an errno and back
 */
#include <linux/errno.h>
#include "fuzz.h"
#include "fs/proto/codec.h"

#define STEPS	16

static void check_name(const struct rfp_str *name, bool dotdot_ok)
{
	FUZZ_ASSERT(name->len && name->len <= RFP_NAME_MAX);
	FUZZ_ASSERT(!memchr(name->s, 0, name->len) && !memchr(name->s, '/', name->len));
	FUZZ_ASSERT(name->len != 1 || name->s[0] != '.');
	FUZZ_ASSERT(dotdot_ok || name->len != 2 || memcmp(name->s, "..", 2));
}

/* Decodes one item from @d and, if it is valid, encodes it into @e. */
static void step(struct rfp_dec *d, struct rfp_enc *e, u8 what, u8 size)
{
	const u8 *begin = d->p;
	struct rfp_str str;
	struct rfp_fh fh;
	const void *p;
	void *room;
	bool sound;

	switch (what & 3) {
	case 0:
		sound = !d->bad && size <= d->end - begin;
		if (what & 4) {
			p = rfp_dec_zero_at(d, size, size / 2, size / 4);
			sound = sound && fuzz_zero(begin + size / 2, size / 4);
		} else {
			p = rfp_dec_fixed(d, size);
		}
		FUZZ_ASSERT(!p == d->bad && !p == !sound);
		if (!p)
			return;
		FUZZ_ASSERT(p == begin && d->p == begin + size);
		room = rfp_enc_fixed(e, size);
		FUZZ_ASSERT(!room == e->bad);
		if (room)
			memcpy(room, p, size);
		return;
	case 1:
		rfp_dec_fh(d, &fh);
		FUZZ_ASSERT(!fh.len == d->bad && fh.len <= RFP_FH_MAX);
		if (!d->bad)
			rfp_enc_fh(e, &fh);
		return;
	case 2:
		rfp_dec_name(d, &str, what & 4);
		FUZZ_ASSERT(!str.len == d->bad && !str.s == d->bad);
		if (!d->bad) {
			check_name(&str, what & 4);
			rfp_enc_str(e, str.s, str.len, RFP_NAME_MAX);
		}
		return;
	default:
		if (what & 8) {
			bool told = what & 4;

			if (told)
				rfp_dec_label_told(d, &str);
			else
				rfp_dec_label(d, &str);
			FUZZ_ASSERT(str.len <= RFP_LABEL_MAX && (!str.s || !d->bad));
			FUZZ_ASSERT(told ? str.s || !str.len : !str.s == d->bad);
			if (!d->bad && told && str.s && !str.len)
				rfp_enc_label_none(e);
			else if (!d->bad)
				rfp_enc_label(e, str.s, str.len);
			return;
		}
		rfp_dec_str(d, &str, size + 1);
		FUZZ_ASSERT(!str.len == d->bad && !str.s == d->bad);
		if (!d->bad) {
			FUZZ_ASSERT(str.len <= size + 1 && !memchr(str.s, 0, str.len));
			rfp_enc_str(e, str.s, str.len, size + 1);
		}
	}
}

/* Takes @nr steps on the body in @d; items that are valid are encoded into @e. */
static void steps(struct rfp_dec *d, struct rfp_enc *e, const u8 *what, const u8 *size, u8 nr)
{
	const u8 *begin;
	bool bad;
	u8 i;

	for (i = 0; i < nr; i++) {
		begin = d->p;
		bad = d->bad;
		step(d, e, what[i], size[i]);
		FUZZ_ASSERT(d->p >= begin && d->p <= d->end);
		/* After the first invalid item the decoder must give nothing and not move. */
		FUZZ_ASSERT(!bad || (d->bad && d->p == begin));
	}
}

static int check_body(struct fuzz *f, u8 nr)
{
	u8 what[STEPS], size[STEPS];
	struct rfp_enc e, less;
	struct rfp_dec d;
	u8 *body, *again;
	size_t len;
	int sound;
	u8 i;

	for (i = 0; i < nr; i++) {
		what[i] = fuzz_u8(f);
		size[i] = fuzz_u8(f);
	}
	body = fuzz_bytes(f, f->left, &len);
	again = malloc(len);
	rfp_dec_init(&d, body, len);
	rfp_enc_init(&e, again, len);
	steps(&d, &e, what, size, nr);
	FUZZ_ASSERT(rfp_dec_end(&d) == (!d.bad && d.p == body + len ? 0 : -EBADMSG));
	/* The valid items must fit into as many bytes as they were decoded from, ... */
	sound = rfp_enc_len(&e);
	FUZZ_ASSERT(!e.bad && sound <= len && (d.bad || sound == d.p - body));
	FUZZ_ASSERT(!memcmp(again, body, sound));
	free(again);
	/* ... and not into one byte less. */
	if (!d.bad && sound) {
		again = malloc(sound - 1);
		rfp_dec_init(&d, body, len);
		rfp_enc_init(&less, again, sound - 1);
		steps(&d, &less, what, size, nr);
		FUZZ_ASSERT(rfp_enc_len(&less) == -EMSGSIZE);
		free(again);
	}
	free(body);
	return rfp_dec_end(&d);
}

static void check_entry(const struct rfp_dirent_view *view)
{
	check_name(&view->name, false);
	/* One of the types that readdir(3) has. */
	FUZZ_ASSERT(view->type <= 14 && (view->type == 1 || !(view->type & 1)));
	FUZZ_ASSERT(view->fh.len <= RFP_FH_MAX);
	FUZZ_ASSERT(!view->attr == !view->fh.len);
}

static int check_listing(struct fuzz *f)
{
	struct rfp_dirent_view view;
	const u8 *begin;
	struct rfp_enc e;
	struct rfp_dec d;
	size_t len;
	u8 *body, *again;
	int ret;

	body = fuzz_bytes(f, f->left, &len);
	again = malloc(len);
	rfp_dec_init(&d, body, len);
	rfp_enc_init(&e, again, len);
	for (begin = d.p; (ret = rfp_dec_dirent(&d, &view)) > 0; begin = d.p) {
		FUZZ_ASSERT(d.p > begin && d.p <= body + len);
		check_entry(&view);
		FUZZ_ASSERT((const u8 *)view.name.s >= begin &&
			    (const u8 *)view.name.s + view.name.len <= d.p);
		FUZZ_ASSERT(rfp_enc_dirent(&e, view.cookie, view.ino, view.type, view.name.s,
					   view.name.len, view.attr,
					   view.attr ? &view.fh : NULL));
		FUZZ_ASSERT(rfp_enc_len(&e) == d.p - body);
		FUZZ_ASSERT(!memcmp(again + (begin - body), begin, d.p - begin));
	}
	FUZZ_ASSERT(ret == 0 ? d.p == body + len : ret == -EBADMSG && d.bad);
	if (ret)
		FUZZ_ASSERT(rfp_dec_dirent(&d, &view) == -EBADMSG);
	free(again);
	free(body);
	return ret;
}

static void check_status(u32 status)
{
	int err = rfp_errno_from_status(status);

	FUZZ_ASSERT(err <= 0 && err > -4096);
	/* A status of the protocol itself has no errno that leads back to it. */
	FUZZ_ASSERT(rfp_status_from_errno(err) == status ||
		    rfp_status_from_errno(err) == RFP_EIO);
	/* No failure becomes a success, in either direction. */
	FUZZ_ASSERT(!err == (status == RFP_OK));
	if (status)
		FUZZ_ASSERT(rfp_status_from_errno((int)status) != RFP_OK);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz f = { .p = data, .left = size };
	u8 how = fuzz_u8(&f);

	if (how == 0xff)
		check_status(fuzz_u32(&f));
	else if (how & 0x80)
		fuzz_verdict(check_listing(&f));
	else
		fuzz_verdict(check_body(&f, how % (STEPS + 1)));
	return 0;
}
