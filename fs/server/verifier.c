// SPDX-License-Identifier: GPL-2.0
/*
 * By what a file is known that a client has made exclusively.
 *
 * If the answer to an exclusive CREATE is lost with the session, its client can't tell the file
 * that it has made from one that another client has.  So it sends a random number with the request,
 * and the server keeps that with the file, where it lasts as long as the file does: the access time
 * is earlier than the time of the last modification by a number of nanoseconds below 2^32.
 *
 * Why there.  Nobody has read a new file, so there is no access time to be lost; it stays within
 * 4.3 s of what it would be.  It is not in the future, so the first read sets it also on relatime
 * mounts.  The time of modification is as it is, for make(1) and rsync(1).  An extended attribute
 * would stay with the file for ever, or cost another change to be removed.
 *
 * Whoever reads the file or writes to it moves one of the two times: then it is not known any more,
 * and its client has to be told that nobody knows.  So it has where the file system keeps times in
 * seconds, or where the server lost its power when the file was on the disk, and its time was not.
 * Two files of one name, made by two clients of one user within the same moment, are confused if
 * their numbers are equal in 32 bits.
 */
#include <linux/fs.h>
#include <linux/time64.h>
#include "request.h"
#include "transport/points.h"

/* Never 0, as the difference of both times is where there is no verifier. */
static u32 rdmafsd_verifier_ns(u64 verifier)
{
	return ((u32)verifier ^ (u32)(verifier >> 32)) ?: 1;
}

/**
 * rdmafsd_verifier_keep - keep a client's verifier with the file that it has made
 * @rq:       the request, with the caller's credentials on and the mount's write counts
 * @dentry:   the file, in its directory, whose i_rwsem is held
 * @verifier: the client's number, or 0
 *
 * If this fails the file will not be known, which its client finds out when it asks.
 *
 * Context: process, may sleep; takes the file's i_rwsem.
 */
void rdmafsd_verifier_keep(struct rdmafsd_rq *rq, struct dentry *dentry, u64 verifier)
{
	struct inode *inode = d_inode(dentry);
	struct iattr ia = { .ia_valid = ATTR_ATIME | ATTR_ATIME_SET | ATTR_FORCE };

	if (!verifier || rdmafs_test_fails("verifier_keep", inode->i_ino))
		return;
	inode_lock(inode);
	ia.ia_atime = timespec64_sub(inode_get_mtime(inode),
				     ns_to_timespec64(rdmafsd_verifier_ns(verifier)));
	notify_change(rdmafsd_idmap(rq->exp), dentry, &ia, NULL);
	inode_unlock(inode);
}

/**
 * rdmafsd_verifier_is - tell whether a file is known by a verifier
 * @dentry:   the file
 * @verifier: the client's number, or 0
 *
 * Context: process, does not sleep.
 * Return: true if so: it was made with this verifier, and neither read nor written to since.
 */
bool rdmafsd_verifier_is(struct dentry *dentry, u64 verifier)
{
	struct inode *inode = d_inode(dentry);
	struct timespec64 gap = timespec64_sub(inode_get_mtime(inode), inode_get_atime(inode));

	return verifier && timespec64_to_ns(&gap) == rdmafsd_verifier_ns(verifier);
}
