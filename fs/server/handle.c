// SPDX-License-Identifier: GPL-2.0
/*
 * File handles.
 *
 *	__le32	id of the export
 *	u8	exportfs's type of the part that follows; 0: the root of the export
 *	u8	length of that part, in 32-bit words
 *	u8	length of the handle that follows it, in bytes; 0: none
 *	u8	0
 *	...	exportfs's handle
 *	...	in a file system that was crossed into (crossed.c): the handle of the directory at
 *		which it was, as the export above would give it
 *	8 bytes	SipHash-2-4 of all of the above, under a key made of the secret and
 *		of the identity of the file system
 *
 * So a client can use only handles that the server has given to it, or to another client of the
 * export: it can't name files outside of the export by guessing inode numbers.  A handle holds
 * no name: it stays valid when its object is renamed, and after a restart with the same id and
 * secret.
 *
 * A directory is accepted only while it lies under the root of the export.  For other objects
 * that is not checked at each request (nfsd calls this no_subtree_check): a file that a local
 * process has moved out of the export stays reachable for clients that hold its handle.
 *
 * The handle inside of a handle says where to look for the file system after a restart.  It is
 * checked as any other, and has to lead to an export of the same id, whose key the outer one is
 * signed under.
 *
 * SipHash is made for keyed MACs of short inputs, against attackers that see and choose the
 * inputs.  HMAC-SHA256, of which 8 bytes would be kept as well, takes ten times as long, for
 * each request and each entry of a directory.
 *
 * Handles are decoded with the server's own credentials, because connecting a directory that is
 * not cached to the root reads the directories in between.
 */
#include <linux/exportfs.h>
#include <linux/siphash.h>
#include <linux/statfs.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <linux/uuid.h>
#include "request.h"

struct rdmafsd_fh_head {
	__le32 id;
	u8 type;
	u8 words;
	u8 via;
	u8 pad;
} __packed;

#define RDMAFSD_FID_MAX \
	((RFP_FH_MAX - sizeof(struct rdmafsd_fh_head) - RDMAFSD_MAC_LEN) / sizeof(u32))

/* exportfs's part of a handle, aligned, as exportfs wants it. */
union rdmafsd_fid {
	struct fid fid;
	u32 words[RDMAFSD_FID_MAX];
};

/* One half of the secret signs handles and proofs, the other half names the file system. */
static_assert(RDMAFSD_SECRET_LEN == 2 * sizeof(siphash_key_t));
static_assert(sizeof_field(struct rdmafsd_export, fsid) == 2 * sizeof(__le64));

/*
 * The values derived from the secret, two 64-bit words for each use.  The numbers stay: clients'
 * handles, and fsids, outlast the server's next version.
 */
enum {
	RDMAFSD_USE_HANDLE = 0,
	RDMAFSD_USE_PROOF = 2,
	RDMAFSD_USE_FSID = 4,
	RDMAFSD_USE_CROSS = 6,
	RDMAFSD_NR_USES = 8,
};

static siphash_key_t rdmafsd_key(const u8 *half)
{
	return (siphash_key_t) {
		.key = { get_unaligned_le64(half), get_unaligned_le64(half + sizeof(u64)) },
	};
}

static __le64 rdmafsd_mac(struct rdmafsd_export *exp, const void *data, size_t len)
{
	return cpu_to_le64(siphash(data, len, &exp->key));
}

/*
 * Tell the file system from any other that may be mounted in its place some day: by its UUID,
 * or, if it has none, by its type and by the id that statfs(2) tells, which is mostly made from
 * its device.
 */
static void rdmafsd_fs_identity(const struct path *path, u8 *identity)
{
	struct super_block *sb = path->dentry->d_sb;
	struct kstatfs st;

	if (!uuid_is_null(&sb->s_uuid)) {
		export_uuid(identity, &sb->s_uuid);
		return;
	}
	put_unaligned_le64(sb->s_magic, identity);
	if (vfs_statfs(path, &st))
		return;
	put_unaligned_le32(st.f_fsid.val[0], identity + sizeof(u64));
	put_unaligned_le32(st.f_fsid.val[1], identity + sizeof(u64) + sizeof(u32));
}

/**
 * rdmafsd_keys_init - derive keys and fsid from the secret of an export
 * @exp: the export, with settings and path; gets @key, @proof_key, @cross_key and @fsid
 *
 * All of them depend also on the file system that is exported.  So handles and proofs made for
 * one file system are refused when another is found at the same path, such as the directory
 * under a disk that has not been mounted.  The fsid is made of the id, half of the secret and
 * the file system: it is the same after a restart, and differs between exports.
 *
 * Context: process, may sleep.
 */
void rdmafsd_keys_init(struct rdmafsd_export *exp)
{
	struct {
		__le32 id;
		__le32 use;
		u8 identity[UUID_SIZE];
	} seed = { .id = cpu_to_le32(exp->p.id) };
	siphash_key_t sign = rdmafsd_key(exp->p.secret);
	siphash_key_t name = rdmafsd_key(exp->p.secret + sizeof(sign));
	u64 out[RDMAFSD_NR_USES];
	__le64 fsid[2];
	bool fsid_use;
	u32 use;

	rdmafsd_fs_identity(&exp->path, seed.identity);
	for (use = 0; use < RDMAFSD_NR_USES; use++) {
		seed.use = cpu_to_le32(use);
		/* Clients are told the fsid: the half that signs has no part in it. */
		fsid_use = use == RDMAFSD_USE_FSID || use == RDMAFSD_USE_FSID + 1;
		out[use] = siphash(&seed, sizeof(seed), fsid_use ? &name : &sign);
	}
	exp->key = (siphash_key_t){ { out[RDMAFSD_USE_HANDLE], out[RDMAFSD_USE_HANDLE + 1] } };
	exp->proof_key = (siphash_key_t){ { out[RDMAFSD_USE_PROOF], out[RDMAFSD_USE_PROOF + 1] } };
	exp->cross_key = (siphash_key_t){ { out[RDMAFSD_USE_CROSS], out[RDMAFSD_USE_CROSS + 1] } };
	fsid[0] = cpu_to_le64(out[RDMAFSD_USE_FSID]);
	fsid[1] = cpu_to_le64(out[RDMAFSD_USE_FSID + 1]);
	memcpy(exp->fsid, fsid, sizeof(fsid));
	memzero_explicit(out, sizeof(out));
}

/**
 * rdmafsd_crossed_id - make the id of an export that is crossed into
 * @parent: the export above
 * @via:    handle of the directory, in @parent
 * @path:   root of the new export
 *
 * It is the same after a restart, and another one if another file system is mounted there, or
 * another directory of the same one: handles of files do not say in which directory these lie.
 * (That two have one id is as good as impossible; the second could not start then.)
 *
 * Context: process, may sleep.
 * Return: the id, not 0.
 */
u32 rdmafsd_crossed_id(struct rdmafsd_export *parent, const struct rfp_fh *via,
		       const struct path *path)
{
	struct {
		u8 identity[UUID_SIZE];
		u8 fh[RFP_FH_MAX];
		union rdmafsd_fid root;
	} what;
	int words = RDMAFSD_FID_MAX, type;
	u32 id;

	memset(&what, 0, sizeof(what));
	rdmafsd_fs_identity(path, what.identity);
	memcpy(what.fh, via->data, via->len);
	type = exportfs_encode_fh(path->dentry, &what.root.fid, &words, 0);
	/* Without a handle of its root the export does not start (rdmafsd_fh_fits()). */
	if (type < 0 || type >= FILEID_INVALID)
		memset(&what.root, 0, sizeof(what.root));
	id = lower_32_bits(siphash(&what, sizeof(what), &parent->cross_key));
	return id ?: 1;
}

/**
 * rdmafsd_open_proof - make the proof by which a client may open a file again
 * @rq:     the request, with the credentials of the caller that opens the file on
 * @dentry: the file, positive
 * @flags:  RFP_OPEN_* that the file is opened with, without RFP_OPEN_TRUNC
 * @claim:  number of the open's claim, not 0
 * @proof:  gets the proof
 *
 * The proof is a MAC of the claim, the caller's user and group after squashing, the flags, the
 * file's handle and the client's name for itself.  A client that was granted an open once is
 * granted the same open again, in another session and by a server that was restarted.  The MAC
 * is under a key of its own, derived from the same secret as the key of handles, so that no
 * handle is a proof.
 *
 * Context: process, as rdmafsd_fh_encode().
 * Return: 0 or a negative errno of rdmafsd_fh_encode().
 */
int rdmafsd_open_proof(struct rdmafsd_rq *rq, struct dentry *dentry, u32 flags, u64 claim,
		       struct rfp_proof *proof)
{
	struct {
		__le64 claim;
		u8 client[RDMAFS_XPRT_CLIENT_ID];
		__le32 uid;
		__le32 gid;
		__le32 flags;
		__le32 fh_len;
		u8 fh[RFP_FH_MAX];
	} what = {
		.claim = cpu_to_le64(claim),
		.uid = cpu_to_le32(from_kuid(&init_user_ns, current_fsuid())),
		.gid = cpu_to_le32(from_kgid(&init_user_ns, current_fsgid())),
		.flags = cpu_to_le32(flags),
	};
	struct rfp_fh fh;
	int err;

	err = rdmafsd_fh_encode(rq->exp, dentry, &fh);
	if (err)
		return err;
	memcpy(what.client, rq->ses->id, sizeof(what.client));
	what.fh_len = cpu_to_le32(fh.len);
	memcpy(what.fh, fh.data, fh.len);
	proof->claim = what.claim;
	proof->mac = cpu_to_le64(siphash(&what, offsetof(typeof(what), fh) + fh.len,
					 &rq->exp->proof_key));
	return 0;
}

/* Make exportfs's part of a handle.  Its type, or a negative errno: it does not fit, say. */
static int rdmafsd_fid_encode(const struct rdmafsd_export *exp, struct dentry *dentry,
			      union rdmafsd_fid *fid, int *words)
{
	int room = RDMAFSD_FID_MAX - DIV_ROUND_UP(exp->via.len, sizeof(u32)), type;

	if (room <= 0)
		return -EOVERFLOW;
	*words = room;
	type = exportfs_encode_fh(dentry, &fid->fid, words, 0);
	if (type <= FILEID_ROOT || type >= FILEID_INVALID || *words <= 0 || *words > room)
		return type < 0 ? type : -EOVERFLOW;
	return type;
}

/**
 * rdmafsd_fh_fits - tell whether the handles of an export are short enough
 * @exp: the export, with path and @via; not live yet
 *
 * Handles of one file system have one length, as a rule.
 *
 * Context: process, may sleep.
 * Return: 0; -EOVERFLOW: they are not; or another negative errno.
 */
int rdmafsd_fh_fits(struct rdmafsd_export *exp)
{
	union rdmafsd_fid fid;
	int words;

	return min(rdmafsd_fid_encode(exp, exp->path.dentry, &fid, &words), 0);
}

/**
 * rdmafsd_fh_encode - make the handle of an object
 * @exp:    the export
 * @dentry: the object, positive
 * @fh:     gets the handle
 *
 * Context: process; sleeps only if the file system's ->encode_fh() does.
 * Return: 0; -EOVERFLOW: the handles of the file system are too long for the protocol, or it has
 * none for this object; or another negative errno.
 */
int rdmafsd_fh_encode(struct rdmafsd_export *exp, struct dentry *dentry, struct rfp_fh *fh)
{
	struct rdmafsd_fh_head head = { .id = cpu_to_le32(exp->p.id), .via = exp->via.len };
	union rdmafsd_fid fid;
	int words = 0;
	__le64 mac;
	size_t len;

	if (dentry == exp->path.dentry) {
		head.type = FILEID_ROOT;
	} else {
		int type = rdmafsd_fid_encode(exp, dentry, &fid, &words);

		if (type < 0)
			return type;
		head.type = type;
	}
	head.words = words;

	memcpy(fh->data, &head, sizeof(head));
	len = sizeof(head) + words * sizeof(u32);
	memcpy(fh->data + sizeof(head), fid.words, words * sizeof(u32));
	memcpy(fh->data + len, exp->via.data, exp->via.len);
	len += exp->via.len;
	mac = rdmafsd_mac(exp, fh->data, len);
	memcpy(fh->data + len, &mac, RDMAFSD_MAC_LEN);
	fh->len = len + RDMAFSD_MAC_LEN;
	return 0;
}

/**
 * rdmafsd_dir_inside - tell whether a directory lies in its export
 * @exp: the export
 * @dir: a directory of its file system, connected
 *
 * Context: process, does not sleep.
 * Return: true if it is the root of the export or under it.
 */
bool rdmafsd_dir_inside(struct rdmafsd_export *exp, struct dentry *dir)
{
	return exp->whole || is_subdir(dir, exp->path.dentry);
}

static int rdmafsd_fh_acceptable(void *ctx, struct dentry *dentry)
{
	struct rdmafsd_export *exp = ctx;

	return !d_is_dir(dentry) || rdmafsd_dir_inside(exp, dentry);
}

/* Read the head of a handle, which is not checked but for its length; false: it is malformed. */
static bool rdmafsd_fh_parse(const struct rfp_fh *fh, struct rdmafsd_fh_head *head)
{
	if (fh->len < sizeof(*head) + RDMAFSD_MAC_LEN || fh->len > RFP_FH_MAX)
		return false;
	memcpy(head, fh->data, sizeof(*head));
	return !head->pad && fh->len == sizeof(*head) + head->words * sizeof(u32) + head->via +
					RDMAFSD_MAC_LEN;
}

/* Take out the handle inside of a handle. */
static void rdmafsd_fh_via(const struct rfp_fh *fh, const struct rdmafsd_fh_head *head,
			   struct rfp_fh *via)
{
	via->len = head->via;
	memcpy(via->data, fh->data + sizeof(*head) + head->words * sizeof(u32), head->via);
}

/**
 * rdmafsd_fh_resource - find the file system that a request with a handle may block on
 * @fh: the handle, from the wire, not checked
 *
 * Context: any; does not sleep.
 * Return: its number.  If its export is not live: that of the one above it, in which the search
 * for it begins.  0: there is none, the request will be refused.
 */
u64 rdmafsd_fh_resource(const struct rfp_fh *fh)
{
	struct rdmafsd_fh_head head;
	struct rfp_fh at = *fh, via;
	u64 resource;

	while (rdmafsd_fh_parse(&at, &head)) {
		resource = rdmafsd_export_resource(le32_to_cpu(head.id));
		if (resource || !head.via)
			return resource;
		rdmafsd_fh_via(&at, &head, &via);
		at = via;
	}
	return 0;
}

static int rdmafsd_fh_find(struct rdmafsd_export **exp, const struct rfp_fh *fh,
			   const struct rdmafs_xprt_source *source, struct dentry **dentry);

/*
 * The error if it can't be crossed at the directory of a handle.  A mount point may have become one
 * no more just now, and an automount (autofs) fails in many ways while its disk is not there: these
 * are for rdmafsd_crossed_missing(), whatever the error.
 */
static int rdmafsd_fh_cross_error(struct rdmafsd_export *above, int err)
{
	switch (err) {
	case RFP_OFFLINE:
	case -ENFILE:
	case -ENOMEM:
	case -EOVERFLOW:
		return err;
	default:
		return rdmafsd_crossed_missing(above) == RFP_OFFLINE ? RFP_OFFLINE : err;
	}
}

/*
 * Make an export live again that was crossed into.  Each handle is at least 16 bytes longer than
 * the one inside of it, which bounds this.
 */
static noinline_for_stack int rdmafsd_fh_cross(const struct rfp_fh *fh,
					       const struct rdmafsd_fh_head *head,
					       const struct rdmafs_xprt_source *source,
					       struct rdmafsd_export **exp)
{
	struct rdmafsd_export *above = NULL;
	struct dentry *dir = NULL;
	struct rfp_fh via;
	int err;

	rdmafsd_fh_via(fh, head, &via);
	err = rdmafsd_fh_find(&above, &via, source, &dir);
	if (!err && !rdmafsd_is_crossing(above, dir))
		err = rdmafsd_crossed_missing(above);
	if (!err) {
		err = rdmafsd_crossed_get(above, dir, source, exp);
		if (err)
			err = rdmafsd_fh_cross_error(above, err);
	}
	dput(dir);
	rdmafsd_export_put(above);
	/* Another file system is there now; but that of the handle may be back while it ends. */
	if (!err && (*exp)->p.id != le32_to_cpu(head->id)) {
		rdmafsd_export_put(*exp);
		*exp = NULL;
		err = rdmafsd_export_ends(le32_to_cpu(head->id)) ? RFP_OFFLINE : -ESTALE;
	}
	return err;
}

/* Enter the export of a handle; -EXDEV if the request is in another export already. */
static int rdmafsd_fh_enter(struct rdmafsd_export **exp, const struct rfp_fh *fh,
			    const struct rdmafsd_fh_head *head,
			    const struct rdmafs_xprt_source *source)
{
	u32 id = le32_to_cpu(head->id);
	int err;

	if (*exp)
		return (*exp)->p.id == id ? 0 : -EXDEV;
	*exp = rdmafsd_export_find_id(id);
	if (!*exp)
		return head->via ? rdmafsd_fh_cross(fh, head, source, exp) :
				   rdmafsd_export_missing(id);
	err = rdmafsd_crossed_check(*exp);
	if (err) {
		rdmafsd_export_put(*exp);
		*exp = NULL;
	}
	return err;
}

/*
 * Find the object of a handle, for the client @source, and its export, which stays entered also on
 * an error.
 */
static int rdmafsd_fh_find(struct rdmafsd_export **exp, const struct rfp_fh *fh,
			   const struct rdmafs_xprt_source *source, struct dentry **dentry)
{
	struct rdmafsd_fh_head head;
	union rdmafsd_fid fid;
	struct dentry *d;
	__le64 mac;
	int err;

	if (!rdmafsd_fh_parse(fh, &head))
		return -ESTALE;
	err = rdmafsd_fh_enter(exp, fh, &head, source);
	if (err)
		return err;
	memcpy(&mac, fh->data + fh->len - RDMAFSD_MAC_LEN, RDMAFSD_MAC_LEN);
	if (mac != rdmafsd_mac(*exp, fh->data, fh->len - RDMAFSD_MAC_LEN))
		return -ESTALE;

	if (head.type == FILEID_ROOT) {
		*dentry = dget((*exp)->path.dentry);
		return 0;
	}
	memcpy(fid.words, fh->data + sizeof(head), head.words * sizeof(u32));
	d = exportfs_decode_fh((*exp)->path.mnt, &fid.fid, head.words, head.type,
			       rdmafsd_fh_acceptable, *exp);
	if (IS_ERR(d))
		return PTR_ERR(d);
	if (d_really_is_negative(d)) {
		dput(d);
		return -ESTALE;
	}
	*dentry = d;
	return 0;
}

/**
 * rdmafsd_rq_fh - find the object of a handle
 * @rq:     the request; enters the export of the handle if it is in none yet
 * @fh:     the handle, from the wire
 * @dentry: gets the object, positive, to be put by dput()
 *
 * To be called before rdmafsd_rq_enter().
 *
 * Context: process, may sleep; the server's own credentials.
 * Return: 0; -ESTALE: the handle is malformed or forged, its export does not exist, or its
 * object is gone; RFP_OFFLINE: its export is not live at present; -EXDEV: the request is in
 * another export; or another negative errno, such as -ENOMEM.
 */
int rdmafsd_rq_fh(struct rdmafsd_rq *rq, const struct rfp_fh *fh, struct dentry **dentry)
{
	return rdmafsd_fh_find(&rq->exp, fh, &rq->ses->client->source, dentry);
}

/**
 * rdmafsd_rq_dir - find the directory of a handle
 * @rq:     the request; enters the export of the handle if it is in none yet
 * @fh:     the handle, from the wire
 * @dentry: gets the directory, to be put by dput()
 *
 * Context: process, may sleep; the server's own credentials.
 * Return: as rdmafsd_rq_fh(); or -ENOTDIR.
 */
int rdmafsd_rq_dir(struct rdmafsd_rq *rq, const struct rfp_fh *fh, struct dentry **dentry)
{
	int err = rdmafsd_rq_fh(rq, fh, dentry);

	if (!err && !d_can_lookup(*dentry)) {
		dput(*dentry);
		*dentry = NULL;
		err = -ENOTDIR;
	}
	return err;
}
