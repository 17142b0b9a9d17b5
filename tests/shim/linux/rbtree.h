/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_RBTREE_H
#define SHIM_RBTREE_H

#include <linux/kernel.h>

/* The interface is the kernel's; the implementation (shim.c) is a treap, which is shorter. */
struct rb_node {
	struct rb_node *parent;
	struct rb_node *child[2];
	u32 priority;
};

struct rb_root_cached {
	struct rb_node *root;
	struct rb_node *leftmost;
};

#define RB_ROOT_CACHED		((struct rb_root_cached){ NULL, NULL })
#define rb_entry(p, type, m)	container_of(p, type, m)

static inline struct rb_node *rb_first_cached(const struct rb_root_cached *tree)
{
	return tree->leftmost;
}

void rb_add_cached(struct rb_node *node, struct rb_root_cached *tree,
		   bool (*less)(struct rb_node *a, const struct rb_node *b));
void rb_erase_cached(struct rb_node *node, struct rb_root_cached *tree);

#endif
