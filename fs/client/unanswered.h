/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls whose answer was lost with the session: what unanswered.c has for their makers.
 */
#ifndef RDMAFS_CLIENT_UNANSWERED_H
#define RDMAFS_CLIENT_UNANSWERED_H

#include "client.h"
#include "outcome.h"

/**
 * struct rdmafs_resolve - a call whose answer may be lost with its session, on its maker's stack
 * @dir:	the directories that it changes, or NULL
 * @obj:	the object that it changes, or whose name it changes, or NULL
 * @dir_change:	change cookies of @dir that were known before the call was sent last
 * @obj_change:	that of @obj
 * @dir_asked:	the server has shown the cookie of @dir since its answer was lost
 * @dir_same:	each time it was the known one
 * @nr:	which call it is
 * @shown:	what else the server has shown
 * @tries:	how often the call was made once more
 */
struct rdmafs_resolve {
	struct inode *dir[2];
	struct inode *obj;
	u64 dir_change[2];
	u64 obj_change;
	bool dir_asked[2];
	bool dir_same[2];
	enum rfp_op nr;
	struct rdmafs_shown shown;
	unsigned int tries;
};

void rdmafs_resolve_begin(struct rdmafs_resolve *r, struct inode *dir, struct inode *dir2,
			  struct inode *obj);
bool rdmafs_op_unanswered(struct rdmafs_op *op);
bool rdmafs_resolve_remove(struct rdmafs_resolve *r, enum rfp_op nr, const struct qstr *name,
			   int *err);
bool rdmafs_resolve_link(struct rdmafs_resolve *r, const struct qstr *name, int *err);
bool rdmafs_resolve_rename(struct rdmafs_resolve *r, const struct qstr *old, struct inode *ndir,
			   const struct qstr *new, struct inode *target, int *err);
int rdmafs_resolve_look(struct rdmafs_resolve *r, enum rfp_op nr, const struct qstr *name);
bool rdmafs_resolve_made(struct rdmafs_resolve *r, int asked, bool proved, int *err);
bool rdmafs_resolve_make(struct rdmafs_resolve *r, enum rfp_op nr, const struct qstr *name,
			 int *err);
int rdmafs_resolve_told(struct rdmafs_resolve *r, enum rfp_op nr, struct rfp_attr *attr);
bool rdmafs_resolve_changed(struct rdmafs_resolve *r, int asked, bool there, int *err);
bool rdmafs_resolve_change(struct rdmafs_resolve *r, enum rfp_op nr, int *err);
bool rdmafs_resolve_size(struct rdmafs_resolve *r, u64 size, int *err);
bool rdmafs_resolve_longer(struct rdmafs_resolve *r, u64 end, bool *longer, int *err);
bool rdmafs_equal(struct rdmafs_open *to, loff_t at, struct rdmafs_open *from, loff_t pos,
		  u64 count);

#endif
