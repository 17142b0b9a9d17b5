// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of the shim that are too long for a header: WARN_ON_ONCE(), which ends the
 * program, and the rbtree, which is a treap here.
 */
#include <stdio.h>
#include <linux/prandom.h>
#include <linux/rbtree.h>

/**
 * shim_warn - end the program if a condition of WARN_ON_ONCE() is true
 * @bad:  the condition
 * @what: its text
 * @file: where it is
 * @line: where it is
 *
 * Return: @bad, which is false.
 */
bool shim_warn(bool bad, const char *what, const char *file, int line)
{
	if (bad) {
		fprintf(stderr, "%s:%d: WARN_ON(%s)\n", file, line, what);
		abort();
	}
	return bad;
}

/* Puts @with, which may be NULL, into the place of @node under its parent. */
static void hang(struct rb_root_cached *tree, struct rb_node *node, struct rb_node *with)
{
	struct rb_node *up = node->parent;

	if (with)
		with->parent = up;
	if (up)
		up->child[up->child[1] == node] = with;
	else
		tree->root = with;
}

/* Makes @node the child of its child on side @side; the order of all nodes stays. */
static void rotate(struct rb_root_cached *tree, struct rb_node *node, int side)
{
	struct rb_node *kid = node->child[side], *inner = kid->child[!side];

	hang(tree, node, kid);
	node->parent = kid;
	kid->child[!side] = node;
	node->child[side] = inner;
	if (inner)
		inner->parent = node;
}

static struct rb_node *leftmost(const struct rb_root_cached *tree)
{
	struct rb_node *n = tree->root;

	while (n && n->child[0])
		n = n->child[0];
	return n;
}

/**
 * rb_add_cached - insert a node behind all that are not greater, as the kernel does
 * @node: the node
 * @tree: the tree
 * @less: does @a come before @b?
 *
 * A node is put in as a leaf and then rotated upwards until its parent has a higher random
 * priority.
 */
void rb_add_cached(struct rb_node *node, struct rb_root_cached *tree,
		   bool (*less)(struct rb_node *a, const struct rb_node *b))
{
	static struct rnd_state random;
	struct rb_node **at = &tree->root, *up = NULL;

	while (*at) {
		up = *at;
		at = &up->child[!less(node, up)];
	}
	*at = node;
	*node = (struct rb_node){ .parent = up, .priority = prandom_u32_state(&random) };
	while (node->parent && node->parent->priority < node->priority)
		rotate(tree, node->parent, node->parent->child[1] == node);
	tree->leftmost = leftmost(tree);
}

/**
 * rb_erase_cached - remove a node
 * @node: the node
 * @tree: the tree
 *
 * The node is rotated downwards until it has at most one child, which takes its place.
 */
void rb_erase_cached(struct rb_node *node, struct rb_root_cached *tree)
{
	struct rb_node *l, *r;

	while ((l = node->child[0]) && (r = node->child[1]))
		rotate(tree, node, l->priority < r->priority);
	hang(tree, node, node->child[0] ? node->child[0] : node->child[1]);
	tree->leftmost = leftmost(tree);
}
