// SPDX-License-Identifier: GPL-2.0
/*
 * Translation between protocol status and errno, by tables.
 *
 * The first table is one to one and is used both ways.  The second table is used
 * by the client only: it has the statuses of the protocol itself.  A server sends
 * these by name, so no errno of a file system can become one of them.  The third
 * table is used by the server only: it has errnos that a file system or the VFS
 * may return on the server and that have no meaning, or another one, on a client.
 * An errno or status that is in no table becomes an I/O error, which every program
 * can handle.
 *
 * EBADMSG is deliberately absent, and becomes an I/O error: file systems return it
 * for a bad checksum on their medium.  A server that can't parse a request sends
 * RFP_BADPROTO by name.
 */
#include <linux/array_size.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/export.h>
#include "fs/proto/codec.h"

struct status_errno {
	u32 status;
	int err;
};

static const struct status_errno one_to_one[] = {
	{ RFP_OK,		0 },
	{ RFP_EPERM,		-EPERM },
	{ RFP_ENOENT,		-ENOENT },
	{ RFP_EIO,		-EIO },
	{ RFP_ENXIO,		-ENXIO },
	{ RFP_EAGAIN,		-EAGAIN },
	{ RFP_ENOMEM,		-ENOMEM },
	{ RFP_EACCES,		-EACCES },
	{ RFP_EBUSY,		-EBUSY },
	{ RFP_EEXIST,		-EEXIST },
	{ RFP_EXDEV,		-EXDEV },
	{ RFP_ENODEV,		-ENODEV },
	{ RFP_ENOTDIR,		-ENOTDIR },
	{ RFP_EISDIR,		-EISDIR },
	{ RFP_EINVAL,		-EINVAL },
	{ RFP_ETXTBSY,		-ETXTBSY },
	{ RFP_EFBIG,		-EFBIG },
	{ RFP_ENOSPC,		-ENOSPC },
	{ RFP_EROFS,		-EROFS },
	{ RFP_EMLINK,		-EMLINK },
	{ RFP_ENAMETOOLONG,	-ENAMETOOLONG },
	{ RFP_ENOTEMPTY,	-ENOTEMPTY },
	{ RFP_ELOOP,		-ELOOP },
	{ RFP_ENODATA,		-ENODATA },
	{ RFP_EOVERFLOW,	-EOVERFLOW },
	{ RFP_EOPNOTSUPP,	-EOPNOTSUPP },
	{ RFP_ESTALE,		-ESTALE },
	{ RFP_EDQUOT,		-EDQUOT },
	{ RFP_ERANGE,		-ERANGE },
	{ RFP_E2BIG,		-E2BIG },
	{ RFP_ENFILE,		-ENFILE },
	{ RFP_EBADF,		-EBADF },
	{ RFP_EILSEQ,		-EILSEQ },
	{ RFP_EBADE,		-EBADE },
	{ RFP_ENOLCK,		-ENOLCK },
	{ RFP_EDEADLK,		-EDEADLK },
};

static const struct status_errno client_only[] = {
	{ RFP_BADCRED,		-EKEYREJECTED },
	{ RFP_BADSTATE,		-EBADFD },
	{ RFP_BADPROTO,		-EPROTO },
	{ RFP_OFFLINE,		-ENONET },
	{ RFP_BADSOURCE,	-EBADR },
	{ RFP_GRACE,		-EINPROGRESS },
	{ RFP_NO_GRACE,		-ETIME },
};

static const struct status_errno server_only[] = {
	/* The worker is being stopped and was interrupted before it did anything. */
	{ RFP_EAGAIN,		-EINTR },
	{ RFP_EAGAIN,		-ERESTARTSYS },
	{ RFP_EAGAIN,		-ERESTARTNOINTR },
	{ RFP_EAGAIN,		-ERESTARTNOHAND },
	{ RFP_EAGAIN,		-ERESTART_RESTARTBLOCK },
	/* Errnos by which a file system says that it does not have the operation. */
	{ RFP_EOPNOTSUPP,	-ENOTSUPP },
	{ RFP_EOPNOTSUPP,	-ENOTTY },
	{ RFP_EOPNOTSUPP,	-ENOIOCTLCMD },
	/* The exported file system is itself a network one, whose server says: later. */
	{ RFP_EAGAIN,		-EJUKEBOX },
	/* The exported file system is itself a network one, and has lost the object. */
	{ RFP_ESTALE,		-EOPENSTALE },
	/* The object is beyond a mount point, and what is mounted there is not exported. */
	{ RFP_EXDEV,		-EREMOTE },
	/* Limits of the server's task, not of the client's. */
	{ RFP_ENFILE,		-EMFILE },
	{ RFP_ENOMEM,		-ENOBUFS },
	/* An encrypted directory for which the server does not have the key. */
	{ RFP_EACCES,		-ENOKEY },
};

/**
 * rfp_status_from_errno - translate an errno on the server to a status for the reply
 * @err: errno, negative or positive; 0 for success
 *
 * Context: any.
 * Return: enum rfp_status; RFP_EIO for an errno that is in neither table of the server.
 */
u32 rfp_status_from_errno(int err)
{
	size_t i;

	if (err > 0)
		err = -err;
	for (i = 0; i < ARRAY_SIZE(one_to_one); i++)
		if (one_to_one[i].err == err)
			return one_to_one[i].status;
	for (i = 0; i < ARRAY_SIZE(server_only); i++)
		if (server_only[i].err == err)
			return server_only[i].status;
	return RFP_EIO;
}
EXPORT_SYMBOL_GPL(rfp_status_from_errno);

/**
 * rfp_errno_from_status - translate a received status to an errno on the client
 * @status: the status; any value
 *
 * Context: any.
 * Return: 0 or a negative errno; -EIO for a status that is not in the
 * protocol.
 */
int rfp_errno_from_status(u32 status)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(one_to_one); i++)
		if (one_to_one[i].status == status)
			return one_to_one[i].err;
	for (i = 0; i < ARRAY_SIZE(client_only); i++)
		if (client_only[i].status == status)
			return client_only[i].err;
	return -EIO;
}
EXPORT_SYMBOL_GPL(rfp_errno_from_status);
