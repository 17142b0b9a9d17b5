/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test points: places where a test takes the reins.
 *
 * They are there in the modules that are built for test kernels (RDMAFS_KUNIT=y),
 * where the module rdmafs_points (tests/points) has what is declared here; in all
 * others each of them is nothing.  Documentation/testing.rst tells how tests use
 * them.  Names are of lower-case letters, digits and underscores; a key, if a test
 * gives one, picks the arrivals that have it: a slot, a connection's index, an
 * inode's number.
 */
#ifndef RDMAFS_POINTS_H
#define RDMAFS_POINTS_H

#include <linux/kernel.h>
#include <linux/types.h>

/**
 * struct rdmafs_test_knobs - parameters of rdmafs_points: what to pretend, where 0 is nothing;
 *			      and what came of it
 * @map_us:	 mapping data takes so many microseconds longer
 * @map_page_us: and so many for each page
 * @service_us:	 serving a request takes so many longer
 * @version_up:	 clients offer a protocol version that is higher by this
 * @seq_before:	 slots of new sessions begin behind this sequence number
 * @grace_ms:	 the grace period, if it is not the parameter's
 * @step_ms:	 each step of connecting again may take so long
 * @grant_idle_s: clients keep a grant that they have no use for so long
 * @queue_blocks: a device has room for so many blocks of 64 bytes in a send queue
 * @retries:	 servers take clients that have them send so often what is not acknowledged, or
 *		 finds no receive; 7 is for ever, on rxe for both
 * @keep_pages:	 pages that are given back get a pattern, and are looked at (kept.c)
 * @spoil_at:	 which byte of a reply is spoilt (rdmafs_test_spoil())
 * @spoil_with:	 which of its bits are turned over
 * @spoil_end:	 behind how many bytes it ends, if not where it would
 * @spoil_len:	 how long the last reply was that was to be spoilt
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
bool rdmafs_point_fail(const char *name, u64 key);
void rdmafs_test_delay(u32 us);
void rdmafs_test_give(const struct bio_vec *bv, u32 nr);
void rdmafs_test_take(const struct bio_vec *bv, u32 nr);
bool rdmafs_test_keep(struct page *page);
u16 rdmafs_test_spoil(void *reply, u16 len);

/* A thread is held here while a test says so, two minutes at most.  It must be able to sleep. */
#define rdmafs_test_point(name, key)						\
do {										\
	might_sleep();								\
	if (unlikely(READ_ONCE(rdmafs_points_armed)))				\
		rdmafs_point_hold(name, key);					\
} while (0)

/* Whether a test wants what comes next to fail.  Any context. */
#define rdmafs_test_fail(name, key)						\
	(unlikely(READ_ONCE(rdmafs_points_armed)) && rdmafs_point_fail(name, key))

#define rdmafs_test_knob(name)	READ_ONCE(rdmafs_test_knobs.name)

#else

static inline void rdmafs_test_point(const char *name, u64 key) { }
static inline bool rdmafs_test_fail(const char *name, u64 key) { return false; }
static inline void rdmafs_test_delay(u32 us) { }
static inline void rdmafs_test_give(const struct bio_vec *bv, u32 nr) { }
static inline void rdmafs_test_take(const struct bio_vec *bv, u32 nr) { }
static inline bool rdmafs_test_keep(struct page *page) { return false; }
static inline u16 rdmafs_test_spoil(void *reply, u16 len) { return len; }

static const struct rdmafs_test_knobs rdmafs_test_knobs __maybe_unused;
#define rdmafs_test_knob(name)	(rdmafs_test_knobs.name)

#endif
#endif
