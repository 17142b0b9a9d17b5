// SPDX-License-Identifier: GPL-2.0
/*
 * Finds a write to pages that were given back (transport/points.h), for instance by a peer
 * whose access should have ended.
 *
 * While the parameter keep_pages is set, pages that are given back are filled with a pattern.
 * The pattern is checked when the pages are taken into use again.  Pages that would be freed
 * are kept here instead, the last 32 MiB of them; their pattern is checked when a test asks,
 * and when they are freed in the end.
 *
 * The parameter "given_back" has the counts so far: runs of pages that were given back, pages
 * that are kept now, and runs that were found written to:
 *
 *	given N kept N spoiled N
 *
 * page->private says whether a run has the pattern.  It is written by the owner of the pages,
 * or under kept_lock for pages that are kept.
 */
#include <linux/bvec.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include "tests/points/points.h"
#include "transport/points.h"

#define KEPT_BYTE	0xd5
#define KEPT_MAGIC	0x9d5e11ul

/* The largest number of bytes that are kept; beyond it the oldest pages are freed. */
#define KEPT_MAX	(32UL << 20)

/* Guards kept and kept_bytes; taken in process context only. */
static DEFINE_MUTEX(kept_lock);
static LIST_HEAD(kept);
static unsigned long kept_bytes;
static atomic_t nr_given, nr_spoiled;

/* Reports a run of pages that was written to.  A run that never had the pattern is passed over. */
static void page_check(struct page *page, size_t len)
{
	u8 *at;

	if (page_private(page) != KEPT_MAGIC)
		return;
	at = memchr_inv(page_address(page), KEPT_BYTE, len);
	if (at) {
		pr_err("rdmafs_points: pages were written after they had been given back: byte %zu of %zu is %*ph\n",
		       at - (u8 *)page_address(page), len, 16, at);
		atomic_inc(&nr_spoiled);
		/* Report each run once only. */
		set_page_private(page, 0);
	}
}

/**
 * rdmafs_test_give - mark pages that are given back: no peer may write to them from now on
 * @bv: the pages, in runs; the caller owns them
 * @nr: number of runs
 *
 * Context: any but hard interrupt.
 */
void rdmafs_test_give(const struct bio_vec *bv, u32 nr)
{
	u32 i;

	if (!rdmafs_test_knob(keep_pages))
		return;
	for (i = 0; i < nr; i++) {
		memset(page_address(bv[i].bv_page), KEPT_BYTE, bv[i].bv_len);
		set_page_private(bv[i].bv_page, KEPT_MAGIC);
	}
	atomic_add(nr, &nr_given);
}
EXPORT_SYMBOL_GPL(rdmafs_test_give);

/**
 * rdmafs_test_take - check that pages which are taken into use again were not written to
 * @bv: the pages, in runs; the caller owns them
 * @nr: number of runs
 *
 * Context: any but hard interrupt.
 */
void rdmafs_test_take(const struct bio_vec *bv, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		page_check(bv[i].bv_page, bv[i].bv_len);
		set_page_private(bv[i].bv_page, 0);
	}
}
EXPORT_SYMBOL_GPL(rdmafs_test_take);

static size_t page_bytes(const struct page *page)
{
	return PAGE_SIZE << compound_order((struct page *)page);
}

static void kept_free(struct page *page)
{
	lockdep_assert_held(&kept_lock);
	page_check(page, page_bytes(page));
	list_del(&page->lru);
	kept_bytes -= page_bytes(page);
	set_page_private(page, 0);
	__free_pages(page, compound_order(page));
}

/**
 * rdmafs_test_keep - keep pages that would be freed, if they have the pattern
 * @page: the first page
 *
 * Context: process; may sleep.  Takes kept_lock.
 * Return: true if the pages are kept, so that the caller must not free them; false if the
 * caller is to free them.
 */
bool rdmafs_test_keep(struct page *page)
{
	if (page_private(page) != KEPT_MAGIC)
		return false;
	mutex_lock(&kept_lock);
	list_add_tail(&page->lru, &kept);
	kept_bytes += page_bytes(page);
	while (kept_bytes > KEPT_MAX)
		kept_free(list_first_entry(&kept, struct page, lru));
	mutex_unlock(&kept_lock);
	return true;
}
EXPORT_SYMBOL_GPL(rdmafs_test_keep);

/**
 * rdmafs_points_spoiled - check all pages that are kept
 * @given: out: number of runs of pages that were ever given back; may be NULL
 *
 * Context: process; may sleep.  Takes kept_lock.
 * Return: number of runs that were ever found written to after they had been given back.
 */
u32 rdmafs_points_spoiled(u32 *given)
{
	struct page *page;

	mutex_lock(&kept_lock);
	list_for_each_entry(page, &kept, lru)
		page_check(page, page_bytes(page));
	mutex_unlock(&kept_lock);
	if (given)
		*given = atomic_read(&nr_given);
	return atomic_read(&nr_spoiled);
}
EXPORT_SYMBOL_GPL(rdmafs_points_spoiled);

/**
 * points_free_kept - free all pages that are kept
 *
 * Called when this module is removed, so that all modules that use it are gone.
 *
 * Context: process; may sleep.  Takes kept_lock.
 */
void points_free_kept(void)
{
	mutex_lock(&kept_lock);
	while (!list_empty(&kept))
		kept_free(list_first_entry(&kept, struct page, lru));
	mutex_unlock(&kept_lock);
}

static int given_back_get(char *buffer, const struct kernel_param *kp)
{
	u32 given, spoiled = rdmafs_points_spoiled(&given);

	return scnprintf(buffer, PAGE_SIZE, "given %u kept %lu spoiled %u\n", given,
			 READ_ONCE(kept_bytes) >> PAGE_SHIFT, spoiled);
}

static const struct kernel_param_ops given_back_ops = {
	.get = given_back_get,
};
module_param_cb(given_back, &given_back_ops, NULL, 0400);
MODULE_PARM_DESC(given_back, "pages given back while keep_pages was set, and what became of them");
