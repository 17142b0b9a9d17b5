/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test points: places where a test can stop a thread or make a step fail.
 *
 * They exist only in modules built for test kernels (RDMAFS_KUNIT=y), where the module
 * rdmafs_points (tests/points) defines the functions declared here; in all other builds they are
 * empty.  Documentation/testing.rst describes how tests use them.  A name consists of lower-case
 * letters, digits and underscores.  If a test gives a key, only arrivals with that key count: a
 * slot, a connection's index, an inode's number.
 */
#ifndef RDMAFS_POINTS_H
#define RDMAFS_POINTS_H

#include <linux/kernel.h>
#include <linux/types.h>

/**
 * struct rdmafs_test_knobs - parameters of rdmafs_points; 0: pretend nothing
 * @map_us:     mapping data takes this many microseconds longer
 * @map_page_us: and this many more for each page
 * @service_us: serving a request takes this many microseconds longer
 * @version_up: clients offer a protocol version that is higher by this
 * @seq_before: slots of new sessions begin after this sequence number
 * @grace_ms:   replaces the parameter of the grace period
 * @step_ms:    milliseconds that each step of connecting again may take
 * @grant_idle_s: seconds after which a client returns a grant that it does not use
 * @queue_blocks: blocks of 64 bytes that a device has for a send queue
 * @retries:    servers accept clients that ask for up to this many retries: of packets of the
 *		server that are not acknowledged, and of messages of it that find no receive; 7
 *		means for ever, on rxe for both
 * @keep_pages: pages that are given back are filled with a pattern, and checked later (kept.c)
 * @spoil_at:   offset of the byte of a reply that is spoilt (rdmafs_test_spoil())
 * @spoil_with: the bits of that byte that are inverted
 * @spoil_end:  bytes after which the reply is cut off, if not 0
 * @spoil_len:  result: length of the last reply that was to be spoilt
 *
 * A test may write them at any time: rdmafs_test_knob() reads them without a lock.
 */
struct rdmafs_test_knobs {
	u32 map_us;
	u32 map_page_us;
	u32 service_us;
	u32 version_up;
	u32 seq_before;
	u32 grace_ms;
	u32 step_ms;
	u32 grant_idle_s;
	u32 queue_blocks;
	u32 retries;
	u32 keep_pages;
	u32 spoil_at;
	u32 spoil_with;
	u32 spoil_end;
	u32 spoil_len;
};

struct bio_vec;
struct page;

#ifdef RDMAFS_POINTS

extern struct rdmafs_test_knobs rdmafs_test_knobs;
extern bool rdmafs_points_armed;

void rdmafs_point_hold(const char *name, u64 key);
bool rdmafs_point_fails(const char *name, u64 key);
void rdmafs_test_delay(u32 us);
void rdmafs_test_give(const struct bio_vec *bv, u32 nr);
void rdmafs_test_take(const struct bio_vec *bv, u32 nr);
bool rdmafs_test_keep(struct page *page);
u16 rdmafs_test_spoil(void *reply, u16 len);

/* Hold the thread here while a test says so, two minutes at most.  Process context, may sleep. */
#define rdmafs_test_point(name, key)						\
do {										\
	might_sleep();								\
	if (unlikely(READ_ONCE(rdmafs_points_armed)))				\
		rdmafs_point_hold(name, key);					\
} while (0)

/* Does a test want the next step to fail?  Any context. */
#define rdmafs_test_fails(name, key)						\
	(unlikely(READ_ONCE(rdmafs_points_armed)) && rdmafs_point_fails(name, key))

#define rdmafs_test_knob(name)	READ_ONCE(rdmafs_test_knobs.name)

#else

static inline void rdmafs_test_point(const char *name, u64 key) { }
static inline bool rdmafs_test_fails(const char *name, u64 key) { return false; }
static inline void rdmafs_test_delay(u32 us) { }
static inline void rdmafs_test_give(const struct bio_vec *bv, u32 nr) { }
static inline void rdmafs_test_take(const struct bio_vec *bv, u32 nr) { }
static inline bool rdmafs_test_keep(struct page *page) { return false; }
static inline u16 rdmafs_test_spoil(void *reply, u16 len) { return len; }

static const struct rdmafs_test_knobs rdmafs_test_knobs __maybe_unused;
#define rdmafs_test_knob(name)	(rdmafs_test_knobs.name)

#endif
#endif
