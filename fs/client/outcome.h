/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What has become of a call whose answer was lost with its session, by what the server shows in
 * the next one.  These are rules only: no locks, no memory, no requests; unanswered.c asks, and
 * acts on what they say.
 *
 * A server makes no new session for a client before all requests of the old one are over.  So the
 * call has been executed, as a whole, or never will be.  It is *known* which change cookies (see
 * coherence.h) its objects had at some time before it was first sent.
 */
#ifndef RDMAFS_OUTCOME_H
#define RDMAFS_OUTCOME_H

#include <linux/types.h>

/**
 * enum rdmafs_outcome - what has become of the call
 * @RDMAFS_OUTCOME_DONE:    it was executed, or what it was to do was done by others
 * @RDMAFS_OUTCOME_AGAIN:   it has changed nothing: it may be sent once more
 * @RDMAFS_OUTCOME_UNKNOWN: neither can be proved
 */
enum rdmafs_outcome {
	RDMAFS_OUTCOME_DONE,
	RDMAFS_OUTCOME_AGAIN,
	RDMAFS_OUTCOME_UNKNOWN,
};

/**
 * enum rdmafs_stands - what a name stands for now
 * @RDMAFS_STANDS_NONE:	 there is no such name
 * @RDMAFS_STANDS_MEANT: the object that the call was to remove, to move or to give that name to
 * @RDMAFS_STANDS_OTHER: another object
 */
enum rdmafs_stands {
	RDMAFS_STANDS_NONE,
	RDMAFS_STANDS_MEANT,
	RDMAFS_STANDS_OTHER,
};

/**
 * struct rdmafs_shown - what the server shows of the objects of a call
 * @name: what the name stands for: that which is removed or made; of RENAME the new one
 * @old:  RENAME: what the old name stands for
 * @swapped: RENAME with RFP_RENAME_EXCHANGE: the old name stands for what the new one stood for
 * @same_dir: the cookie of the directory, or of one of two, is the one that is known
 * @same_obj: that of the object which is meant is
 */
struct rdmafs_shown {
	enum rdmafs_stands name;
	enum rdmafs_stands old;
	bool swapped;
	bool same_dir;
	bool same_obj;
};

enum rdmafs_outcome rdmafs_outcome_remove(const struct rdmafs_shown *s);
enum rdmafs_outcome rdmafs_outcome_link(const struct rdmafs_shown *s);
enum rdmafs_outcome rdmafs_outcome_rename(const struct rdmafs_shown *s, bool exchange);
enum rdmafs_outcome rdmafs_outcome_make(const struct rdmafs_shown *s, bool proved);
enum rdmafs_outcome rdmafs_outcome_change(bool same, bool there);

#endif
