// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that were given back (transport/points.h): with the parameter keep_pages they
 * are filled with a pattern, and whoever writes to them after that is found out: when
 * they are taken again, or, those that were to be freed, whenever somebody asks.  The
 * last ones that were to be freed are kept for that instead.
 *
 * The parameter "given_back" says what there was so far:
 *
 *	given N kept N spoiled N
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

/* No more than this of them, the oldest go. */
#define KEPT_MAX	(32UL << 20)

static DEFINE_MUTEX(kept_lock);
static LIST_HEAD(kept);
static unsigned long kept_bytes;
static atomic_t nr_given, nr_spoiled;

/* They have the pattern still; or, if they never had it, nobody can say. */
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
		/* Once is enough. */
		set_page_private(page, 0);
	}
}

/**
 * rdmafs_test_give - pages that nobody but their owner may write from now on
 * @bv: the pages
 * @nr: how many runs of them
 *
 * Any context but hard interrupt.
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
 * rdmafs_test_take - pages that are in use again: nobody has written them since
 * @bv: the pages
 * @nr: how many runs of them
 *
 * Any context but hard interrupt.
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
 * rdmafs_test_keep - pages that are to be freed
 * @page: the first
 *
 * Process context.
 *
 * Return: whether they were taken instead: they are not the caller's any more.
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
 * rdmafs_points_spoiled - look at all that are kept
 * @given: out: how many were ever given back; may be NULL
 *
 * Process context.
 *
 * Return: how many were found written after they had been given back, since ever.
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

/* The module goes, and all others have gone before. */
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
