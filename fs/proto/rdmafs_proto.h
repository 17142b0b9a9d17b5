/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The file protocol of rdmafs, draft-10: the contents of the bodies of
 * transport's requests and replies.  Documentation/protocol.rst says the same
 * in prose.
 *
 * All integers are little-endian.  A body is a fixed struct, followed by variable
 * fields.  The comment on enum rfp_op names the struct of each operation and lists
 * the fields in their order; there is no padding between them:
 *
 *	fh	__le16 length (1..RFP_FH_MAX), then that many bytes
 *	name	__le16 length (1..RFP_NAME_MAX), then that many bytes; no NUL,
 *		no '/', neither "." nor ".."
 *	attr	struct rfp_attr
 *	label	__le16 length (0..RFP_LABEL_MAX; 0: none, or none is told), then that many
 *		bytes: a security label, as security.selinux has it.  In a reply also
 *		RFP_LABEL_NONE, and no bytes: the object has none
 *
 * Bytes after the last field are an error.  Every request begins with struct
 * rfp_req, and every reply with struct rfp_rep.  If the status of a reply is not
 * RFP_OK nothing follows struct rfp_rep, except where an operation says so.  If a
 * request has the flag RFP_REQ_LABEL, a label ends the reply whose status is RFP_OK,
 * and the request itself unless it is an ATTACH, a LOOKUP or a CROSS.
 */
#ifndef RDMAFS_PROTO_H
#define RDMAFS_PROTO_H

#include <linux/types.h>

#ifndef __packed	/* in user space, whose linux/types.h does not define it */
#define __packed __attribute((__packed__))
#endif

#define RFP_FH_MAX		128	/* bytes of a file handle */
#define RFP_FH_EXPORT		4	/* of these, the first, by which exports differ */
#define RFP_NAME_MAX		255
#define RFP_SYMLINK_MAX		4095
#define RFP_XATTR_NAME_MAX	255
#define RFP_XATTR_SIZE_MAX	65536
#define RFP_EXPORT_NAME_MAX	255
#define RFP_GROUPS_MAX		65536
#define RFP_LABEL_MAX		512	/* bytes of a security label */
#define RFP_LABEL_NONE		0xffff	/* in place of a length: the object has no label */

/**
 * enum rfp_op - operations
 *
 * "data>" stands for data that travels with the request, ">data" for data that
 * travels with the reply.
 *
 * @RFP_ATTACH:	 struct rfp_req, name of the export (may hold '/', up to
 *	RFP_EXPORT_NAME_MAX bytes) -> struct rfp_attach_rep, fh, attr of the
 *	root.
 * @RFP_SETCRED: struct rfp_setcred_req, data> @ngroups times __le32 -> struct
 *	rfp_rep.  Gives credentials an id for this session; an id in use is
 *	redefined.  @cred of the request's own struct rfp_req is ignored.
 * @RFP_LOOKUP:	 struct rfp_req, fh of the directory, name (here "..", and only
 *	here, is allowed) -> struct rfp_rep, attr and fh of the object, attr of
 *	the directory.  With status RFP_ENOENT the attr of the directory follows
 *	struct rfp_rep.
 * @RFP_GETATTR: struct rfp_getattr_req, fh -> struct rfp_rep, attr
 * @RFP_SETATTR: struct rfp_setattr_req, fh -> struct rfp_rep, attr
 * @RFP_OPEN:	 struct rfp_open_req, fh -> struct rfp_open_rep, attr.  Only regular
 *	files can be opened: the status is RFP_EISDIR for a directory, RFP_ELOOP for
 *	a symbolic link, RFP_EOPNOTSUPP for a device, FIFO or socket.
 * @RFP_CREATE:	 struct rfp_create_req, fh of the directory, name -> struct
 *	rfp_open_rep, attr and fh of the file, attr of the directory.  Opens
 *	the file by its name, and makes it if there is none, except with
 *	RFP_CREATE_NOT.  If the name exists and is not a regular file, the status is
 *	that of RFP_OPEN, or RFP_EEXIST with RFP_CREATE_EXCL, and the client looks the
 *	name up.
 * @RFP_CLOSE:	 struct rfp_close_req -> struct rfp_rep
 * @RFP_READ:	 struct rfp_read_req -> struct rfp_read_rep, >data
 * @RFP_WRITE:	 struct rfp_write_req, data> -> struct rfp_write_rep, attr
 * @RFP_COMMIT:	 struct rfp_commit_req -> struct rfp_commit_rep, attr
 * @RFP_MKDIR:	 struct rfp_mknod_req, fh of the directory, name -> struct
 *	rfp_rep, attr and fh of the object, attr of the directory
 * @RFP_MKNOD:	 as RFP_MKDIR; @mode has the type: S_IFIFO, S_IFSOCK, S_IFCHR,
 *	S_IFBLK or S_IFREG
 * @RFP_SYMLINK: as RFP_MKDIR, and data> the target, 1..RFP_SYMLINK_MAX bytes
 * @RFP_LINK:	 struct rfp_req, fh of the object, fh of the directory, name ->
 *	struct rfp_rep, attr of the object, attr of the directory
 * @RFP_UNLINK:	 struct rfp_req, fh of the directory, name -> struct rfp_rep,
 *	attr of the object as it is now (its link count lowered), attr of the
 *	directory
 * @RFP_RMDIR:	 as RFP_UNLINK
 * @RFP_RENAME:	 struct rfp_rename_req, fh of the old directory, old name, fh of
 *	the new directory, new name -> struct rfp_rep, attr of what was moved,
 *	attr of the old directory, attr of the new one
 * @RFP_READLINK: struct rfp_req, fh -> struct rfp_rep, >data
 * @RFP_READDIR: struct rfp_readdir_req, fh -> struct rfp_readdir_rep, >data:
 *	as many struct rfp_dirent as fit
 * @RFP_STATFS:	 struct rfp_req, fh -> struct rfp_statfs_rep
 * @RFP_GETXATTR: struct rfp_getxattr_req, fh, name of the attribute (may hold
 *	'/') -> struct rfp_xattr_rep, >data: the value.  With @size 0
 *	only the value's size is returned.  The status is RFP_ERANGE if the value
 *	is larger than @size.
 * @RFP_SETXATTR: struct rfp_setxattr_req, fh, name of the attribute, data> the
 *	value -> struct rfp_rep, attr.  system.posix_acl_access and _default
 *	are set in their xattr form.
 * @RFP_LISTXATTR: struct rfp_getxattr_req, fh -> struct rfp_xattr_rep, >data:
 *	names, each ended by a NUL
 * @RFP_REMOVEXATTR: struct rfp_req, fh, name of the attribute -> struct
 *	rfp_rep, attr
 * @RFP_FALLOCATE: struct rfp_fallocate_req -> struct rfp_fallocate_rep, attr
 * @RFP_SEEK:	 struct rfp_seek_req -> struct rfp_seek_rep
 * @RFP_GETFLAGS: struct rfp_req, fh -> struct rfp_getflags_rep.  The status is
 *	RFP_EOPNOTSUPP if the object has no such attributes.
 * @RFP_SETFLAGS: struct rfp_setflags_req, fh -> struct rfp_rep, attr
 * @RFP_TMPFILE: struct rfp_create_req, fh of the directory -> struct rfp_open_rep,
 *	attr and fh of the file.  Makes a file without a name and opens it; @flags has
 *	RFP_OPEN_WRITE, and besides it RFP_OPEN_READ at most.  With RFP_CREATE_EXCL,
 *	which alone may be in @how, the file can never get a name; else LINK can give
 *	it one, once.  The status is RFP_EOPNOTSUPP where the server can't make such a
 *	file, or can't keep it.
 * @RFP_COPY:	 struct rfp_copy_req -> struct rfp_copy_rep, attr of the target.  Copies data
 *	between two opens, which may be of one file if the ranges do not overlap.  The status
 *	RFP_BADSOURCE is to @source what RFP_BADSTATE is to @stateid.
 * @RFP_CLONE:	 struct rfp_copy_req -> struct rfp_clone_rep, attr of the target.  Has two
 *	ranges share their storage, as FICLONERANGE does, or FIDEDUPERANGE with
 *	RFP_CLONE_DEDUPE.  The status is RFP_EOPNOTSUPP if the file system can't.
 * @RFP_LOCK:	 struct rfp_lock_req -> struct rfp_lock_rep.  Takes a lock, or changes its
 *	type.  With RFP_LOCK_WAIT the server goes on trying if the lock can't be had
 *	at once, and makes an event when it has it; the client then sends the
 *	request again, with the same @token, and is told.
 * @RFP_UNLOCK:	 struct rfp_unlock_req -> struct rfp_rep
 * @RFP_LOCKCANCEL: struct rfp_lockcancel_req -> struct rfp_lock_rep.  The client no
 *	longer waits for the lock.  @state is RFP_LOCK_HELD if the server has the lock
 *	for the client already, which then holds it; else RFP_LOCK_DENIED.
 * @RFP_TESTLOCK: struct rfp_lock_req -> struct rfp_testlock_rep.  Tells a lock that
 *	would be in the way.  Not for RFP_LOCK_FLOCK.
 * @RFP_EVENTS:	 struct rfp_req -> struct rfp_events_rep, then @nr times struct rfp_event.
 *	The client sends it when transport has brought an EVENT, and whenever it has
 *	connected again.
 * @RFP_RECLAIM_DONE: struct rfp_reclaim_req, fh of any object of the export -> struct
 *	rfp_reclaim_rep.  The client has asked for all locks again that it had there in a lost
 *	session.
 * @RFP_CROSS:	 struct rfp_req, fh of a directory with RFP_ATTR_CROSSING -> struct
 *	rfp_attach_rep, fh, attr: of the root of the file system that is mounted there, or of the
 *	subvolume of which the directory is the root.  The status is RFP_ESTALE if there is none,
 *	RFP_EOPNOTSUPP if it can't be exported, RFP_EOVERFLOW if it lies too deep, RFP_ENFILE
 *	if there are too many, RFP_EAGAIN if others wait for it.
 * @RFP_NR_OPS:	 one more than the last
 */
enum rfp_op {
	RFP_ATTACH	= 1,
	RFP_SETCRED	= 2,
	RFP_LOOKUP	= 3,
	RFP_GETATTR	= 4,
	RFP_SETATTR	= 5,
	RFP_OPEN	= 6,
	RFP_CREATE	= 7,
	RFP_CLOSE	= 8,
	RFP_READ	= 9,
	RFP_WRITE	= 10,
	RFP_COMMIT	= 11,
	RFP_MKDIR	= 12,
	RFP_MKNOD	= 13,
	RFP_SYMLINK	= 14,
	RFP_LINK	= 15,
	RFP_UNLINK	= 16,
	RFP_RMDIR	= 17,
	RFP_RENAME	= 18,
	RFP_READLINK	= 19,
	RFP_READDIR	= 20,
	RFP_STATFS	= 21,
	RFP_GETXATTR	= 22,
	RFP_SETXATTR	= 23,
	RFP_LISTXATTR	= 24,
	RFP_REMOVEXATTR	= 25,
	RFP_FALLOCATE	= 26,
	RFP_SEEK	= 27,
	RFP_TMPFILE	= 28,
	RFP_COPY	= 29,
	RFP_CLONE	= 30,
	RFP_GETFLAGS	= 31,
	RFP_SETFLAGS	= 32,
	RFP_LOCK	= 33,
	RFP_UNLOCK	= 34,
	RFP_LOCKCANCEL	= 35,
	RFP_TESTLOCK	= 36,
	RFP_EVENTS	= 37,
	RFP_RECLAIM_DONE = 38,
	RFP_CROSS	= 39,
	RFP_NR_OPS
};

/*
 * enum rfp_status - how an operation ended
 *
 * The values are the protocol's own, because errno numbers differ between
 * architectures.  fs/proto/status.c has the tables.
 *
 * @RFP_EAGAIN:	  the request can't be executed now, for instance because the holder of a
 *		  lease or a delegation on the server has to give it up first, and was asked
 *		  to; the client sends the request again in a moment.
 *		  Documentation/protocol.rst has all cases
 * @RFP_GRACE:	  a LOCK or TESTLOCK came in the time in which clients take the locks again that
 *		  they had before the export's start; the client sends it again in a moment
 * @RFP_NO_GRACE: a LOCK with RFP_LOCK_RECLAIM: others may have had the lock since the client had
 *		  it, so it is lost
 * @RFP_BADCRED:  the session does not know the credential id; the client sends SETCRED, and
 *		  then the request again
 * @RFP_BADSTATE: the session does not know the stateid; the client sends OPEN, and then the
 *		  request again
 * @RFP_BADPROTO: the request can't be parsed or names an unknown operation
 * @RFP_OFFLINE:  the server knows the export and does not serve it at present; nothing has
 *		  been executed, and the client sends the request again in a moment
 * @RFP_BADSOURCE: as RFP_BADSTATE, for the stateid of the source of a COPY or CLONE
 */
enum rfp_status {
	RFP_OK		= 0,
	RFP_EPERM	= 1,
	RFP_ENOENT	= 2,
	RFP_EIO		= 3,
	RFP_ENXIO	= 4,
	RFP_EAGAIN	= 5,
	RFP_ENOMEM	= 6,
	RFP_EACCES	= 7,
	RFP_EBUSY	= 8,
	RFP_EEXIST	= 9,
	RFP_EXDEV	= 10,
	RFP_ENODEV	= 11,
	RFP_ENOTDIR	= 12,
	RFP_EISDIR	= 13,
	RFP_EINVAL	= 14,
	RFP_ETXTBSY	= 15,
	RFP_EFBIG	= 16,
	RFP_ENOSPC	= 17,
	RFP_EROFS	= 18,
	RFP_EMLINK	= 19,
	RFP_ENAMETOOLONG = 20,
	RFP_ENOTEMPTY	= 21,
	RFP_ELOOP	= 22,
	RFP_ENODATA	= 23,
	RFP_EOVERFLOW	= 24,
	RFP_EOPNOTSUPP	= 25,
	RFP_ESTALE	= 26,
	RFP_EDQUOT	= 27,
	RFP_ERANGE	= 28,
	RFP_E2BIG	= 29,
	RFP_ENFILE	= 30,
	RFP_EBADF	= 31,
	RFP_EILSEQ	= 32,
	RFP_EBADE	= 33,
	RFP_ENOLCK	= 34,
	RFP_EDEADLK	= 35,
	RFP_GRACE	= 36,
	RFP_NO_GRACE	= 37,
	RFP_BADCRED	= 100,
	RFP_BADSTATE	= 101,
	RFP_BADPROTO	= 102,
	RFP_OFFLINE	= 103,
	RFP_BADSOURCE	= 104,
};

#define RFP_REQ_ACCESS	0x1	/* the attributes are to tell what the caller may do */
#define RFP_REQ_CAPABLE	0x2	/* the caller has root's capabilities for files, whoever it is */
#define RFP_REQ_LABEL	0x4	/* a label ends the body: of what is made, and in the reply */
#define RFP_REQ_MAPPED	0x8	/* the ids are an id-mapped mount's: see rfp_setcred_req */

/**
 * struct rfp_req - the beginning of every request; 8 bytes
 * @op:	   enum rfp_op
 * @flags: RFP_REQ_ACCESS, allowed in GETATTR and LOOKUP; RFP_REQ_CAPABLE and RFP_REQ_MAPPED,
 *	   in SETCRED; RFP_REQ_LABEL, in ATTACH, LOOKUP, CREATE, TMPFILE, MKDIR, MKNOD, SYMLINK and
 *	   CROSS; else 0
 * @cred:  id of the caller's credentials, from RFP_SETCRED
 */
struct rfp_req {
	__le16 op;
	__le16 flags;
	__le32 cred;
} __packed;

/**
 * struct rfp_rep - the beginning of every reply; 8 bytes
 * @status: enum rfp_status
 * @pad:    0
 */
struct rfp_rep {
	__le32 status;
	__le32 pad;
} __packed;

/**
 * struct rfp_time - seconds and nanoseconds since 1970; 12 bytes
 * @sec:  signed
 * @nsec: 0..999999999
 */
struct rfp_time {
	__le64 sec;
	__le32 nsec;
} __packed;

#define RFP_ATTR_XATTRS	0x1	/* the object has, or may have, extended attributes */
#define RFP_ATTR_ACL	0x2	/* the object has, or may have, a POSIX ACL */
#define RFP_ATTR_CROSSING 0x8	/* RFP_CROSS leads from this directory to another file system */
#define RFP_ATTR_LABEL	0x80	/* the object has, or may have, a security label */

/* What statx(2) tells in stx_attributes, by the same values. */
#define RFP_ATTR_COMPRESSED	0x00000004
#define RFP_ATTR_IMMUTABLE	0x00000010
#define RFP_ATTR_APPEND		0x00000020
#define RFP_ATTR_NODUMP		0x00000040
#define RFP_ATTR_ENCRYPTED	0x00000800
#define RFP_ATTR_VERITY		0x00100000
#define RFP_ATTR_STATX		0x00100874	/* all of these */
/* Shifted to the left by this much: the server's file system can tell it of the object. */
#define RFP_ATTR_TOLD_SHIFT	8
#define RFP_ATTR_ALL	(RFP_ATTR_XATTRS | RFP_ATTR_ACL | RFP_ATTR_CROSSING | RFP_ATTR_LABEL | \
			 RFP_ATTR_STATX | (RFP_ATTR_STATX << RFP_ATTR_TOLD_SHIFT))

#define RFP_ACCESS_EXEC	0x1	/* the caller may execute or search the object */
#define RFP_ACCESS_WRITE 0x2	/* the caller may write it */
#define RFP_ACCESS_READ	0x4	/* the caller may read it */
#define RFP_ACCESS_TOLD	0x8	/* the other three bits are valid */
#define RFP_ACCESS_ALL	0xf

/**
 * struct rfp_attr - the attributes of an object; 136 bytes
 * @ino:    unique in the export's file system: the inode number, as a rule
 * @change: change cookie: differs whenever data or attributes have changed
 * @size:   size in bytes
 * @blocks: 512-byte blocks allocated
 * @atime:  last access
 * @mtime:  last modification
 * @ctime:  last change
 * @btime:  creation; all zero if unknown
 * @mode:   type and permissions, as in struct stat
 * @nlink:  number of links
 * @uid:    owner
 * @gid:    group
 * @rdev_major: major number of a device node
 * @rdev_minor: minor number of a device node
 * @blksize: preferred I/O size in bytes
 * @gen:    generation of the inode number
 * @flags:  RFP_ATTR_*
 * @access: RFP_ACCESS_* if the request had RFP_REQ_ACCESS, else 0
 * @before: in the reply to an operation that changes this object (WRITE,
 *	    SETATTR, CREATE, UNLINK, RENAME...): the object's change cookie just
 *	    before the change, by which a client tells its own changes from those
 *	    of others; 0 if the server does not tell it: others may have changed
 *	    the object, too
 * @pad:    0
 */
struct rfp_attr {
	__le64 ino;
	__le64 change;
	__le64 size;
	__le64 blocks;
	struct rfp_time atime;
	struct rfp_time mtime;
	struct rfp_time ctime;
	struct rfp_time btime;
	__le32 mode;
	__le32 nlink;
	__le32 uid;
	__le32 gid;
	__le32 rdev_major;
	__le32 rdev_minor;
	__le32 blksize;
	__le32 gen;
	__le32 flags;
	__le32 access;
	__le64 before;
	__le64 pad;
} __packed;

#define RFP_EXPORT_RO	0x1	/* the export is read-only */
#define RFP_EXPORT_ACL	0x2	/* the file system has POSIX ACLs */
#define RFP_EXPORT_XATTR 0x4	/* the file system has user. xattrs */
#define RFP_EXPORT_SQUASH 0x8	/* all callers are one user: only the server knows their rights */
#define RFP_EXPORT_ROOT_SQUASH 0x10	/* user and group 0 have other ids: likewise for them */
#define RFP_EXPORT_LABEL 0x20	/* clients may set security labels, and are told them */
#define RFP_EXPORT_ALL	0x3f

/**
 * struct rfp_attach_rep - 48 bytes
 * @rep:	common part
 * @fsid:	16 bytes that name the exported file system
 * @flags:	RFP_EXPORT_*
 * @time_gran:	granularity of times, in nanoseconds
 * @maxbytes:	largest file size, in bytes
 * @verifier:	write verifier, see struct rfp_write_rep
 */
struct rfp_attach_rep {
	struct rfp_rep rep;
	__u8 fsid[16];
	__le32 flags;
	__le32 time_gran;
	__le64 maxbytes;
	__le64 verifier;
} __packed;

#define RFP_ID_NONE	0xffffffffU	/* a caller's user or group has no id in the file system */

/**
 * struct rfp_setcred_req - 24 bytes
 * @req:     common part; with RFP_REQ_MAPPED the ids are those that an id-mapped mount of the
 *	     client makes of the caller's: the user 0 has no capability then, unless there is
 *	     RFP_REQ_CAPABLE, too
 * @id:	     the id that the client gives these credentials
 * @uid:     user id, in the initial user namespace; with RFP_REQ_MAPPED also RFP_ID_NONE
 * @gid:     group id, likewise
 * @ngroups: number of supplementary groups, 0..RFP_GROUPS_MAX; the data has one __le32 for each
 */
struct rfp_setcred_req {
	struct rfp_req req;
	__le32 id;
	__le32 uid;
	__le32 gid;
	__le32 ngroups;
} __packed;

/**
 * struct rfp_getattr_req - 16 bytes; then fh
 * @req:     common part
 * @stateid: an open of this file, by which the server finds the file even if its last
 *	     name is gone; or 0
 */
struct rfp_getattr_req {
	struct rfp_req req;
	__le64 stateid;
} __packed;

/* struct rfp_setattr_req.valid */
#define RFP_SET_MODE	0x001
#define RFP_SET_UID	0x002
#define RFP_SET_GID	0x004
#define RFP_SET_SIZE	0x008
#define RFP_SET_ATIME	0x010	/* set to @atime */
#define RFP_SET_MTIME	0x020	/* set to @mtime */
#define RFP_SET_ATIME_NOW 0x040	/* set to the time of the server's clock */
#define RFP_SET_MTIME_NOW 0x080	/* likewise */
#define RFP_SET_KILL_SUID 0x100	/* remove set-user-id, and set-group-id as for a write */
#define RFP_SET_KILL_SGID 0x200	/* remove set-group-id, whoever the caller is */
#define RFP_SET_KILL	(RFP_SET_KILL_SUID | RFP_SET_KILL_SGID)
#define RFP_SET_ALL	0x3ff

/**
 * struct rfp_setattr_req - 68 bytes; then fh
 * @req:     common part
 * @stateid: with RFP_SET_SIZE an open for writing, with which permission is not
 *	     checked again; or 0
 * @valid:   RFP_SET_*: the fields that count
 * @mode:    permissions, without the type
 * @uid:     owner
 * @gid:     group
 * @size:    size in bytes
 * @atime:   last access
 * @mtime:   last modification
 * @pad:     0
 */
struct rfp_setattr_req {
	struct rfp_req req;
	__le64 stateid;
	__le32 valid;
	__le32 mode;
	__le32 uid;
	__le32 gid;
	__le64 size;
	struct rfp_time atime;
	struct rfp_time mtime;
	__le32 pad;
} __packed;

#define RFP_OPEN_READ	0x1
#define RFP_OPEN_WRITE	0x2
#define RFP_OPEN_TRUNC	0x4
#define RFP_OPEN_EXEC	0x8	/* to execute the file: permission is checked for x, not for r */
#define RFP_OPEN_ALL	0xf

/**
 * struct rfp_proof - proof that a client was granted an open; 16 bytes
 * @claim: number of the open, 0 for no proof
 * @mac:   MAC over @claim, client, caller, file and flags; only the server can check it
 */
struct rfp_proof {
	__le64 claim;
	__le64 mac;
} __packed;

/**
 * struct rfp_open_req - 32 bytes; then fh
 * @req:   common part
 * @flags: RFP_OPEN_*
 * @pad:   0
 * @proof: proof from the reply to an earlier open of this file by the same client, with the
 *	   same @flags and for the same caller: the file is opened again and permission is
 *	   not checked; or 0
 */
struct rfp_open_req {
	struct rfp_req req;
	__le32 flags;
	__le32 pad;
	struct rfp_proof proof;
} __packed;

#define RFP_OPEN_CREATED 0x1

/**
 * struct rfp_open_rep - 40 bytes; then attr, for CREATE fh and attr, for TMPFILE fh
 * @rep:     common part
 * @stateid: id of this open until RFP_CLOSE; never 0
 * @flags:   RFP_OPEN_CREATED: CREATE or TMPFILE made the file
 * @pad:     0
 * @proof:   proof of this open for struct rfp_open_req, in another session
 */
struct rfp_open_rep {
	struct rfp_rep rep;
	__le64 stateid;
	__le32 flags;
	__le32 pad;
	struct rfp_proof proof;
} __packed;

#define RFP_CREATE_EXCL	0x1	/* the name must be new; TMPFILE: there will never be one */
#define RFP_CREATE_NOT	0x2	/* the name must exist; mode and umask mean nothing */
#define RFP_CREATE_AGAIN 0x4	/* sent before, in a session that was lost with the reply */

/**
 * struct rfp_create_req - 32 bytes; then fh, and for CREATE name
 * @req:   common part
 * @mode:  permissions; the umask may be applied already if the file system has no POSIX ACLs
 * @umask: the caller's umask, which the server applies if there is no default ACL
 * @flags: RFP_OPEN_*
 * @how:   RFP_CREATE_EXCL, RFP_CREATE_NOT, RFP_CREATE_AGAIN, RFP_CREATE_EXCL with RFP_CREATE_AGAIN,
 *	   or 0; TMPFILE: RFP_CREATE_EXCL or 0
 * @verifier: CREATE with RFP_CREATE_EXCL: a random number by which the server knows the file that
 *	   this request has made; else, and in TMPFILE, 0
 */
struct rfp_create_req {
	struct rfp_req req;
	__le32 mode;
	__le32 umask;
	__le32 flags;
	__le32 how;
	__le64 verifier;
} __packed;

/**
 * struct rfp_mknod_req - 24 bytes; then fh, name
 * @req:   common part
 * @mode:  type and permissions; as to the umask see struct rfp_create_req
 * @umask: the caller's umask, which the server applies if there is no default ACL
 * @rdev_major: major number of a device node
 * @rdev_minor: minor number of a device node
 */
struct rfp_mknod_req {
	struct rfp_req req;
	__le32 mode;
	__le32 umask;
	__le32 rdev_major;
	__le32 rdev_minor;
} __packed;

/**
 * struct rfp_close_req - 16 bytes
 * @req:     common part
 * @stateid: the open to end; the stateid is invalid from now on
 */
struct rfp_close_req {
	struct rfp_req req;
	__le64 stateid;
} __packed;

/**
 * struct rfp_read_req - 32 bytes
 * @req:     common part
 * @stateid: an open for reading (or RFP_OPEN_EXEC)
 * @offset:  in bytes
 * @count:   number of bytes, at most what the client has room for
 * @pad:     0
 */
struct rfp_read_req {
	struct rfp_req req;
	__le64 stateid;
	__le64 offset;
	__le32 count;
	__le32 pad;
} __packed;

#define RFP_READ_EOF	0x1	/* the file ends with, or before, this data */

/**
 * struct rfp_read_rep - 32 bytes
 * @rep:    common part
 * @count:  bytes of data that follow, equal to the data's length
 * @flags:  RFP_READ_EOF
 * @change: change cookie of the file after the read
 * @size:   size of the file after the read
 */
struct rfp_read_rep {
	struct rfp_rep rep;
	__le32 count;
	__le32 flags;
	__le64 change;
	__le64 size;
} __packed;

/* struct rfp_write_req.stable, in rising order */
#define RFP_UNSTABLE	0
#define RFP_DATA_SYNC	1
#define RFP_FILE_SYNC	2

#define RFP_WRITE_APPEND 0x1	/* @offset is ignored: the server writes at the end of the file */

/**
 * struct rfp_write_req - 40 bytes
 * @req:     common part
 * @stateid: an open for writing
 * @offset:  in bytes
 * @count:   bytes, equal to the data's length, at least 1
 * @stable:  RFP_UNSTABLE, RFP_DATA_SYNC or RFP_FILE_SYNC
 * @flags:   RFP_WRITE_*
 * @pad:     0
 */
struct rfp_write_req {
	struct rfp_req req;
	__le64 stateid;
	__le64 offset;
	__le32 count;
	__le32 stable;
	__le32 flags;
	__le32 pad;
} __packed;

/**
 * struct rfp_write_rep - 32 bytes; then attr
 * @rep:      common part
 * @count:    bytes written, at least 1
 * @stable:   the stability of these bytes: at least that of the request
 * @verifier: write verifier: changes whenever unstable data may have been lost, which is at
 *	      the server's start and at any writeback error there
 * @offset:   where these bytes were written
 */
struct rfp_write_rep {
	struct rfp_rep rep;
	__le32 count;
	__le32 stable;
	__le64 verifier;
	__le64 offset;
} __packed;

#define RFP_COMMIT_META	0x1	/* all metadata too, as fsync() does and fdatasync() does not */

/**
 * struct rfp_commit_req - 40 bytes
 * @req:     common part
 * @stateid: an open of the file
 * @offset:  start of the range, in bytes
 * @count:   length of the range in bytes, 0 for all that follows
 * @flags:   RFP_COMMIT_META
 * @pad:     0
 */
struct rfp_commit_req {
	struct rfp_req req;
	__le64 stateid;
	__le64 offset;
	__le64 count;
	__le32 flags;
	__le32 pad;
} __packed;

/**
 * struct rfp_commit_rep - 16 bytes; then attr
 * @rep:      common part
 * @verifier: data of the range whose WRITEs returned this verifier is stable now
 */
struct rfp_commit_rep {
	struct rfp_rep rep;
	__le64 verifier;
} __packed;

/* struct rfp_rename_req.flags */
#define RFP_RENAME_NOREPLACE	0x1
#define RFP_RENAME_EXCHANGE	0x2
#define RFP_RENAME_WHITEOUT	0x4

/**
 * struct rfp_rename_req - 16 bytes; then fh, name, fh, name
 * @req:   common part
 * @flags: RFP_RENAME_*
 * @pad:   0
 */
struct rfp_rename_req {
	struct rfp_req req;
	__le32 flags;
	__le32 pad;
} __packed;

#define RFP_READDIR_PLUS	0x1
#define RFP_READDIR_NOATIME	0x2

/**
 * struct rfp_readdir_req - 24 bytes; then fh
 * @req:    common part
 * @cookie: 0, or the cookie of the last entry that the client has
 * @count:  the most bytes of entries that are wanted
 * @flags:  RFP_READDIR_PLUS: with attributes and handles; RFP_READDIR_NOATIME: nobody lists the
 *	    directory, so its access time stays
 */
struct rfp_readdir_req {
	struct rfp_req req;
	__le64 cookie;
	__le32 count;
	__le32 flags;
} __packed;

#define RFP_READDIR_EOF	0x1

/**
 * struct rfp_readdir_rep - 16 bytes; then attr of the directory
 * @rep:   common part
 * @count: bytes of data, equal to the data's length
 * @flags: RFP_READDIR_EOF: there are no entries after these
 */
struct rfp_readdir_rep {
	struct rfp_rep rep;
	__le32 count;
	__le32 flags;
} __packed;

#define RFP_DIRENT_ATTR	0x1

/**
 * struct rfp_dirent - one directory entry; 24 bytes, then, if RFP_DIRENT_ATTR,
 *	attr and @fh_len bytes of handle; then @name_len bytes of name; then
 *	zeros up to a multiple of 8.  "." and ".." are not among them.
 * @cookie:   a READDIR with this cookie begins at the entry after this one
 * @ino:      inode number
 * @rec_len:  length of this entry in bytes, with attr, handle, name and zeros
 * @name_len: 1..RFP_NAME_MAX
 * @fh_len:   1..RFP_FH_MAX with RFP_DIRENT_ATTR, else 0
 * @type:     DT_* of readdir(3)
 * @flags:    RFP_DIRENT_*
 */
struct rfp_dirent {
	__le64 cookie;
	__le64 ino;
	__le16 rec_len;
	__le16 name_len;
	__le16 fh_len;
	__u8 type;
	__u8 flags;
} __packed;

/**
 * struct rfp_statfs_rep - 64 bytes
 * @rep:     common part
 * @bsize:   block size, in bytes
 * @namelen: length of the longest name, in bytes
 * @blocks:  number of blocks
 * @bfree:   number of free blocks
 * @bavail:  number of free blocks for the caller
 * @files:   number of inodes
 * @ffree:   number of free inodes
 * @pad:     0
 */
struct rfp_statfs_rep {
	struct rfp_rep rep;
	__le32 bsize;
	__le32 namelen;
	__le64 blocks;
	__le64 bfree;
	__le64 bavail;
	__le64 files;
	__le64 ffree;
	__le64 pad;
} __packed;

/**
 * struct rfp_getxattr_req - 16 bytes; then fh, and for GETXATTR name
 * @req:  common part
 * @size: bytes that the caller has room for; 0: only the size is wanted
 * @pad:  0
 */
struct rfp_getxattr_req {
	struct rfp_req req;
	__le32 size;
	__le32 pad;
} __packed;

/**
 * struct rfp_xattr_rep - 16 bytes
 * @rep:  common part
 * @size: bytes of the value or of the list
 * @pad:  0
 */
struct rfp_xattr_rep {
	struct rfp_rep rep;
	__le32 size;
	__le32 pad;
} __packed;

/* struct rfp_setxattr_req.flags */
#define RFP_XATTR_CREATE	0x1
#define RFP_XATTR_REPLACE	0x2

/**
 * struct rfp_setxattr_req - 16 bytes; then fh, name; data> the value
 * @req:   common part
 * @size:  bytes of the value, equal to the data's length
 * @flags: RFP_XATTR_*
 */
struct rfp_setxattr_req {
	struct rfp_req req;
	__le32 size;
	__le32 flags;
} __packed;

/**
 * struct rfp_fallocate_req - 40 bytes
 * @req:     common part
 * @stateid: an open for writing
 * @offset:  in bytes
 * @length:  in bytes, at least 1
 * @mode:    FALLOC_FL_* of fallocate(2), same values
 * @pad:     0
 */
struct rfp_fallocate_req {
	struct rfp_req req;
	__le64 stateid;
	__le64 offset;
	__le64 length;
	__le32 mode;
	__le32 pad;
} __packed;

/**
 * struct rfp_fallocate_rep - 16 bytes; then attr
 * @rep:  common part
 * @done: number of bytes from the request's @offset on that were done, at least 1; the
 *	  client sends another request for the rest
 */
struct rfp_fallocate_rep {
	struct rfp_rep rep;
	__le64 done;
} __packed;

#define RFP_SEEK_DATA	0
#define RFP_SEEK_HOLE	1

/**
 * struct rfp_seek_req - 32 bytes
 * @req:     common part
 * @stateid: an open of the file
 * @offset:  where to begin, in bytes
 * @whence:  RFP_SEEK_DATA or RFP_SEEK_HOLE
 * @pad:     0
 */
struct rfp_seek_req {
	struct rfp_req req;
	__le64 stateid;
	__le64 offset;
	__le32 whence;
	__le32 pad;
} __packed;

/**
 * struct rfp_seek_rep - 16 bytes
 * @rep:    common part
 * @offset: offset of the data or hole that was found, in bytes
 */
struct rfp_seek_rep {
	struct rfp_rep rep;
	__le64 offset;
} __packed;

#define RFP_FLAGS_ALL	0xf2ffffffU	/* the FS_*_FL that Linux 6.12 defines */
#define RFP_XFLAGS_ALL	0x8001fffbU	/* the FS_XFLAG_* that Linux 6.12 defines */

/**
 * struct rfp_fileattr - the attributes that chattr(1) sets; 24 bytes
 * @flags:	FS_*_FL of ioctl_iflags(2), same values, within RFP_FLAGS_ALL
 * @xflags:	FS_XFLAG_* of ioctl_xfs_fsgetxattr(2), same values, within RFP_XFLAGS_ALL
 * @extsize:	extent size hint, in bytes
 * @nextents:	number of extents; means nothing in RFP_SETFLAGS
 * @projid:	id of the project that space is accounted to
 * @cowextsize: extent size hint for what is copied on write, in bytes
 */
struct rfp_fileattr {
	__le32 flags;
	__le32 xflags;
	__le32 extsize;
	__le32 nextents;
	__le32 projid;
	__le32 cowextsize;
} __packed;

/**
 * struct rfp_getflags_rep - 32 bytes
 * @rep:  common part
 * @attr: all of its fields count
 */
struct rfp_getflags_rep {
	struct rfp_rep rep;
	struct rfp_fileattr attr;
} __packed;

/* struct rfp_setflags_req.valid, of which one is set */
#define RFP_SETFLAGS_FLAGS	0x1	/* set @flags, as FS_IOC_SETFLAGS does */
#define RFP_SETFLAGS_FSX	0x2	/* set the other fields, as FS_IOC_FSSETXATTR does */

/**
 * struct rfp_setflags_req - 40 bytes; then fh
 * @req:   common part
 * @valid: RFP_SETFLAGS_FLAGS or RFP_SETFLAGS_FSX: the fields of @attr that count
 * @pad:   0
 * @attr:  the new values
 */
struct rfp_setflags_req {
	struct rfp_req req;
	__le32 valid;
	__le32 pad;
	struct rfp_fileattr attr;
} __packed;

#define RFP_CLONE_DEDUPE 0x1	/* only if the bytes are equal; RFP_EBADE: they are not */
#define RFP_CLONE_COMPARE 0x2	/* nothing is shared; RFP_EBADE: the bytes are not equal */
#define RFP_CLONE_ZEROS	0x4	/* with RFP_CLONE_COMPARE: to zeros, not to the source */

/**
 * struct rfp_copy_req - COPY and CLONE; 56 bytes
 * @req:	   common part
 * @source:	   an open for reading; with RFP_CLONE_ZEROS any open, of which nothing is used
 * @source_offset: in bytes
 * @stateid:	   the target, an open for writing in the same export; with RFP_CLONE_DEDUPE any
 *		   open of a file that the caller owns or may write
 * @offset:	   in the target, in bytes
 * @count:	   in bytes, at least 1; of CLONE without flags also 0: up to the end of the source
 * @flags:	   of CLONE RFP_CLONE_DEDUPE, RFP_CLONE_COMPARE, that and RFP_CLONE_ZEROS, or 0; of
 *		   COPY 0
 * @pad:	   0
 */
struct rfp_copy_req {
	struct rfp_req req;
	__le64 source;
	__le64 source_offset;
	__le64 stateid;
	__le64 offset;
	__le64 count;
	__le32 flags;
	__le32 pad;
} __packed;

/**
 * struct rfp_copy_rep - 32 bytes; then attr
 * @rep:      common part
 * @count:    bytes copied; if they are fewer than asked for, the client asks for the rest; 0: the
 *	      source ends at, or before, its offset
 * @verifier: as in struct rfp_write_rep
 * @stable:   the stability of these bytes
 * @pad:      0
 */
struct rfp_copy_rep {
	struct rfp_rep rep;
	__le64 count;
	__le64 verifier;
	__le32 stable;
	__le32 pad;
} __packed;

/**
 * struct rfp_clone_rep - 16 bytes; then attr
 * @rep:  common part
 * @done: bytes that share their storage now, which is on stable storage; with RFP_CLONE_COMPARE
 *	  bytes that are equal, at least 1.  With this or RFP_CLONE_DEDUPE they may be fewer than
 *	  asked for, and the client asks for the rest; with the latter 0: the rest is no whole
 *	  block, and can't be shared
 */
struct rfp_clone_rep {
	struct rfp_rep rep;
	__le64 done;
} __packed;

/* struct rfp_lock_req.type, and that of struct rfp_testlock_rep */
#define RFP_LOCK_READ	0	/* shared with others that are for reading */
#define RFP_LOCK_WRITE	1	/* exclusive */
#define RFP_LOCK_NONE	2	/* in a reply only: there is no such lock */

/* struct rfp_lock_req.kind */
#define RFP_LOCK_POSIX	0	/* of a process, as by fcntl(2) */
#define RFP_LOCK_OFD	1	/* of an open file description, as by fcntl(2) */
#define RFP_LOCK_FLOCK	2	/* of the open that @stateid names, for all of the file: flock(2) */

/* struct rfp_lock_req.flags */
#define RFP_LOCK_WAIT	0x1	/* the server is to go on trying */
#define RFP_LOCK_RECLAIM 0x2	/* the client had the lock in a session that is lost */

/* struct rfp_lock_rep.state */
#define RFP_LOCK_HELD	0
#define RFP_LOCK_WAITING 1
#define RFP_LOCK_DENIED	2

/**
 * struct rfp_lock_req - 64 bytes
 * @req:     common part
 * @stateid: an open of the file: for reading if @type is RFP_LOCK_READ, for writing if it is
 *	     RFP_LOCK_WRITE; for either if @kind is RFP_LOCK_FLOCK
 * @owner:   names the process or open file description to which the lock belongs; the
 *	     client's own choice
 * @start:   first byte, at most 2^63 - 1
 * @end:     last byte, from @start to 2^63 - 1, which stands for the end of all files
 * @token:   names this request for a lock as long as it waits; the client's own choice.  0
 *	     without RFP_LOCK_WAIT
 * @pid:     the process, for those who look at the lock; at most 2^31 - 1; 0 if it is not known
 * @type:    RFP_LOCK_READ or RFP_LOCK_WRITE
 * @kind:    RFP_LOCK_POSIX, RFP_LOCK_OFD, RFP_LOCK_FLOCK
 * @flags:   RFP_LOCK_WAIT, RFP_LOCK_RECLAIM or 0; with RFP_TESTLOCK 0
 * @record:  with RFP_LOCK_RECLAIM that of the reply by which the client last got the lock, else 0
 */
struct rfp_lock_req {
	struct rfp_req req;
	__le64 stateid;
	__le64 owner;
	__le64 start;
	__le64 end;
	__le32 token;
	__le32 pid;
	__le32 type;
	__le32 kind;
	__le32 flags;
	__le32 record;
} __packed;

/**
 * struct rfp_lock_rep - 16 bytes
 * @rep:   common part
 * @state: RFP_LOCK_HELD: the client has the lock; RFP_LOCK_WAITING: not yet, and an event comes;
 *	   RFP_LOCK_DENIED: others have it
 * @record: with RFP_LOCK_HELD in the reply to LOCK: names the record, on the server's stable
 *	   storage, of the client's having locks in the export; 0: there is none, or it is not LOCK
 *	   that has got the lock
 */
struct rfp_lock_rep {
	struct rfp_rep rep;
	__le32 state;
	__le32 record;
} __packed;

/**
 * struct rfp_unlock_req - 48 bytes
 * @req:     common part
 * @stateid: an open of the file
 * @owner:   as in struct rfp_lock_req
 * @start:   first byte, at most 2^63 - 1
 * @end:     last byte, from @start to 2^63 - 1
 * @kind:    as in struct rfp_lock_req
 * @pad:     0
 */
struct rfp_unlock_req {
	struct rfp_req req;
	__le64 stateid;
	__le64 owner;
	__le64 start;
	__le64 end;
	__le32 kind;
	__le32 pad;
} __packed;

/**
 * struct rfp_lockcancel_req - 16 bytes
 * @req:   common part
 * @token: of a struct rfp_lock_req
 * @pad:   0
 */
struct rfp_lockcancel_req {
	struct rfp_req req;
	__le32 token;
	__le32 pad;
} __packed;

/**
 * struct rfp_testlock_rep - 32 bytes
 * @rep:   common part
 * @start: first byte of a lock that is in the way
 * @end:   its last byte
 * @type:  RFP_LOCK_READ, RFP_LOCK_WRITE; RFP_LOCK_NONE: none is, and the other fields are 0
 * @pid:   the process that has it: on the server, or, if the number is negative, its negative
 *	   on a client; -1 if it belongs to an open file description
 */
struct rfp_testlock_rep {
	struct rfp_rep rep;
	__le64 start;
	__le64 end;
	__le32 type;
	__le32 pid;
} __packed;

#define RFP_EVENTS_MAX	30	/* events in one reply */

/* struct rfp_event.type */
#define RFP_EVENT_LOCK	1	/* a request for a lock waits no longer */
#define RFP_EVENT_RECLAIM 2	/* the export was started again, and knows no open nor lock */

/**
 * struct rfp_event - what has become of something that the client waits for; 16 bytes
 * @type: RFP_EVENT_*
 * @pad:  0
 * @id:	  RFP_EVENT_LOCK: the token; 0: of several requests, whose export has ended
 *	  RFP_EVENT_RECLAIM: 0
 */
struct rfp_event {
	__le32 type;
	__le32 pad;
	__le64 id;
} __packed;

#define RFP_EVENTS_MORE	0x1	/* struct rfp_events_rep.flags: there are more events */

/**
 * struct rfp_events_rep - 16 bytes; then @nr times struct rfp_event
 * @rep:   common part
 * @nr:	   number of events, 0..RFP_EVENTS_MAX
 * @flags: RFP_EVENTS_MORE or 0
 */
struct rfp_events_rep {
	struct rfp_rep rep;
	__le32 nr;
	__le32 flags;
} __packed;

/**
 * struct rfp_reclaim_req - 16 bytes
 * @req:   common part
 * @token: 0: the client asks for the token of the session and the export's start; else that token:
 *	   the client has asked for all of its locks again in the session that the token is of
 */
struct rfp_reclaim_req {
	struct rfp_req req;
	__le64 token;
} __packed;

/**
 * struct rfp_reclaim_rep - 16 bytes
 * @rep:   common part
 * @token: that of the session and the export's start, not 0
 */
struct rfp_reclaim_rep {
	struct rfp_rep rep;
	__le64 token;
} __packed;

#endif
