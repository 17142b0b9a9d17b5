/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the fuzz targets: an input that is read from its beginning, assertions that end the
 * program, and the comparison of a verdict with the expected one.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

/* The part of the input that has not been read yet. */
struct fuzz {
	const u8 *p;
	size_t left;
};

/* The next byte of the input, or 0 at its end. */
static inline u8 fuzz_u8(struct fuzz *f)
{
	if (!f->left)
		return 0;
	f->left--;
	return *f->p++;
}

static inline u16 fuzz_u16(struct fuzz *f)
{
	u16 low = fuzz_u8(f);

	return low | fuzz_u8(f) << 8;
}

static inline u32 fuzz_u32(struct fuzz *f)
{
	u32 low = fuzz_u16(f);

	return low | (u32)fuzz_u16(f) << 16;
}

static inline bool fuzz_zero(const u8 *p, size_t len)
{
	while (len && !p[len - 1])
		len--;
	return !len;
}

/*
 * The next @len bytes, or as many as there are, in memory of exactly that size, so that
 * AddressSanitizer finds an access to the first byte behind it.  The caller frees the memory by
 * free().
 */
static inline u8 *fuzz_bytes(struct fuzz *f, size_t len, size_t *got)
{
	u8 *copy;

	*got = len < f->left ? len : f->left;
	copy = malloc(*got);
	if (!copy && *got)
		abort();
	if (*got)
		memcpy(copy, f->p, *got);
	f->p += *got;
	f->left -= *got;
	return copy;
}

#define FUZZ_ASSERT(c) do {							\
	if (!(c)) {								\
		fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #c); \
		abort();							\
	}									\
} while (0)

/*
 * Reports the result for the input: 0, or the errno that it was refused with.  For inputs whose
 * result is known (seeds.py), the environment has it in FUZZ_VERDICT, and any other is an error.
 */
static inline void fuzz_verdict(int err)
{
	const char *want = getenv("FUZZ_VERDICT");

	if (want && atoi(want) != err) {
		fprintf(stderr, "the verdict is %d and should be %s\n", err, want);
		abort();
	}
}

/* The entry point that libFuzzer calls; each target defines it. */
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#endif
