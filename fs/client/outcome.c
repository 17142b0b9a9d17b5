// SPDX-License-Identifier: GPL-2.0
/*
 * The rules by which a call whose answer was lost is taken for executed or not; outcome.h has the
 * terms.  Pure.
 *
 * That a call has changed nothing is proved by a cookie alone: each change of an object gives it a
 * cookie that it has never had, so an object which has the known one has not been changed since.
 * The call would have changed it.  For a directory this holds in any case.  For the object that a
 * name is to stand for it holds only where the call can have changed no other: if the call names
 * the object by its handle (LINK), or if the name stands for it now.  For had the name stood for
 * another object when the call was executed, it would have been given to this one since, and that
 * had changed this one's cookie.
 *
 * A directory that was not changed since is looked at first: a name that was not there even before
 * is no proof that this call has removed it.  Executed now, the call gets the errors that are its
 * own.  The cookie of a file is looked at last.  If a server loses its power, a change of a file's
 * names may not show in it, if that is of the same tick of the clock as the change before it
 * (fs/server/change.c); a later one by others does.
 *
 * That a call was executed is proved by what it leaves.  Where others may have done the same
 * meanwhile, that can't be told from it, and need not be: the caller finds what it has asked for,
 * and no call is made twice.  But to make an object is not to find one: two that make a name
 * exclusively must not both be told that they have made it.
 *
 * In all other cases something may have come between the call and its proof, and nobody knows on
 * which side of it the call was.  Sent again, it might undo what another client was told is done:
 * remove a name that was made again, cut data that was written behind a new end.
 */
#include "outcome.h"

/**
 * rdmafs_outcome_remove - judge an UNLINK or RMDIR
 * @s: what the server shows
 *
 * Context: any.
 * Return: what has become of it.
 */
enum rdmafs_outcome rdmafs_outcome_remove(const struct rdmafs_shown *s)
{
	if (s->same_dir)
		return RDMAFS_OUTCOME_AGAIN;
	if (s->name != RDMAFS_STANDS_MEANT)
		return RDMAFS_OUTCOME_DONE;
	/* If not the same: it may have been removed, and been given the name again. */
	return s->same_obj ? RDMAFS_OUTCOME_AGAIN : RDMAFS_OUTCOME_UNKNOWN;
}

/**
 * rdmafs_outcome_link - judge a LINK
 * @s: what the server shows
 *
 * Context: any.
 * Return: what has become of it.
 */
enum rdmafs_outcome rdmafs_outcome_link(const struct rdmafs_shown *s)
{
	if (s->same_dir)
		return RDMAFS_OUTCOME_AGAIN;
	if (s->name == RDMAFS_STANDS_MEANT)
		return RDMAFS_OUTCOME_DONE;
	/* If not the same: it may have been made, and been removed again. */
	return s->same_obj ? RDMAFS_OUTCOME_AGAIN : RDMAFS_OUTCOME_UNKNOWN;
}

/**
 * rdmafs_outcome_rename - judge a RENAME
 * @s:	      what the server shows
 * @exchange: two names were to be exchanged
 *
 * Context: any.
 * Return: what has become of it.
 */
enum rdmafs_outcome rdmafs_outcome_rename(const struct rdmafs_shown *s, bool exchange)
{
	if (s->same_dir)
		return RDMAFS_OUTCOME_AGAIN;
	if (s->old == RDMAFS_STANDS_MEANT && s->name != RDMAFS_STANDS_MEANT)
		return s->same_obj ? RDMAFS_OUTCOME_AGAIN : RDMAFS_OUTCOME_UNKNOWN;
	/* With both names it may be half of a rename, on a disk without a journal. */
	if (s->name != RDMAFS_STANDS_MEANT || s->old == RDMAFS_STANDS_MEANT)
		return RDMAFS_OUTCOME_UNKNOWN;
	return exchange && !s->swapped ? RDMAFS_OUTCOME_UNKNOWN : RDMAFS_OUTCOME_DONE;
}

/**
 * rdmafs_outcome_make - judge a call that makes an object: MKDIR, MKNOD, SYMLINK, exclusive CREATE
 * @s:	    what the server shows; only @same_dir counts
 * @proved: it knows the object as that which this very call has made
 *
 * Context: any.
 * Return: what has become of it.
 */
enum rdmafs_outcome rdmafs_outcome_make(const struct rdmafs_shown *s, bool proved)
{
	if (proved)
		return RDMAFS_OUTCOME_DONE;
	return s->same_dir ? RDMAFS_OUTCOME_AGAIN : RDMAFS_OUTCOME_UNKNOWN;
}

/**
 * rdmafs_outcome_change - judge a change of one object: of its size, data or extended attributes
 * @same:  it has the known cookie
 * @there: it is as the change was to leave it, whoever has done that
 *
 * Context: any.
 * Return: what has become of it.
 */
enum rdmafs_outcome rdmafs_outcome_change(bool same, bool there)
{
	if (same)
		return RDMAFS_OUTCOME_AGAIN;
	return there ? RDMAFS_OUTCOME_DONE : RDMAFS_OUTCOME_UNKNOWN;
}
