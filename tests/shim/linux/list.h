/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_LIST_H
#define SHIM_LIST_H

#include <linux/kernel.h>

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD(name)		struct list_head name = { &(name), &(name) }

static inline void INIT_LIST_HEAD(struct list_head *h)
{
	h->next = h;
	h->prev = h;
}

static inline bool list_empty(const struct list_head *h)
{
	return h->next == h;
}

static inline void list_add(struct list_head *e, struct list_head *h)
{
	e->next = h->next;
	e->prev = h;
	h->next->prev = e;
	h->next = e;
}

static inline void list_add_tail(struct list_head *e, struct list_head *h)
{
	list_add(e, h->prev);
}

static inline void shim_unlink(struct list_head *e)
{
	e->prev->next = e->next;
	e->next->prev = e->prev;
}

/* Code that goes on from a deleted entry crashes, as it does in the kernel. */
static inline void list_del(struct list_head *e)
{
	shim_unlink(e);
	e->next = NULL;
	e->prev = NULL;
}

static inline void list_del_init(struct list_head *e)
{
	shim_unlink(e);
	INIT_LIST_HEAD(e);
}

static inline void list_move_tail(struct list_head *e, struct list_head *h)
{
	shim_unlink(e);
	list_add_tail(e, h);
}

#define list_entry(p, type, m)		container_of(p, type, m)
#define list_last_entry(h, type, m)	list_entry((h)->prev, type, m)
#define list_first_entry(h, type, m)	list_entry((h)->next, type, m)
#define list_first_entry_or_null(h, type, m) \
	(list_empty(h) ? NULL : list_first_entry(h, type, m))
#define list_for_each_entry(p, h, m) \
	for (p = list_entry((h)->next, __typeof__(*p), m); &p->m != (h); \
	     p = list_entry(p->m.next, __typeof__(*p), m))
#define list_for_each_entry_reverse(p, h, m) \
	for (p = list_entry((h)->prev, __typeof__(*p), m); &p->m != (h); \
	     p = list_entry(p->m.prev, __typeof__(*p), m))
#define list_for_each_entry_safe(p, n, h, m) \
	for (p = list_entry((h)->next, __typeof__(*p), m), \
	     n = list_entry(p->m.next, __typeof__(*p), m); &p->m != (h); \
	     p = n, n = list_entry(n->m.next, __typeof__(*n), m))
#define list_for_each_entry_safe_reverse(p, n, h, m) \
	for (p = list_entry((h)->prev, __typeof__(*p), m), \
	     n = list_entry(p->m.prev, __typeof__(*p), m); &p->m != (h); \
	     p = n, n = list_entry(n->m.prev, __typeof__(*n), m))

#endif
