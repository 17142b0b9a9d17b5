// SPDX-License-Identifier: GPL-2.0
/*
 * File handles.
 *
 *	__le32	id of the export
 *	u8	exportfs's type of the part that follows; 0: the root of the export
 *	u8	length of that part, in 32-bit words
 *	__le16	0
 *	...	exportfs's handle
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
	__le16 pad;
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

/* The values derived from the secret, two 64-bit words for each use. */
enum {
	RDMAFSD_USE_HANDLE = 0,
	RDMAFSD_USE_PROOF = 2,
	RDMAFSD_USE_FSID = 4,
	RDMAFSD_NR_USES = 6,
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
 * @exp: the export, with settings and path; gets @key, @proof_key and @fsid
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
	u32 use;

	rdmafsd_fs_identity(&exp->path, seed.identity);
	for (use = 0; use < RDMAFSD_NR_USES; use++) {
		seed.use = cpu_to_le32(use);
		out[use] = siphash(&seed, sizeof(seed), use < RDMAFSD_USE_FSID ? &sign : &name);
	}
	exp->key = (siphash_key_t){ { out[RDMAFSD_USE_HANDLE], out[RDMAFSD_USE_HANDLE + 1] } };
	exp->proof_key = (siphash_key_t){ { out[RDMAFSD_USE_PROOF], out[RDMAFSD_USE_PROOF + 1] } };
	fsid[0] = cpu_to_le64(out[RDMAFSD_USE_FSID]);
	fsid[1] = cpu_to_le64(out[RDMAFSD_USE_FSID + 1]);
	memcpy(exp->fsid, fsid, sizeof(fsid));
	memzero_explicit(out, sizeof(out));
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
	struct rdmafsd_fh_head head = { .id = cpu_to_le32(exp->p.id) };
	int words = RDMAFSD_FID_MAX;
	union rdmafsd_fid fid;
	__le64 mac;
	size_t len;

	if (dentry == exp->path.dentry) {
		head.type = FILEID_ROOT;
		words = 0;
	} else {
		int type = exportfs_encode_fh(dentry, &fid.fid, &words, 0);

		if (type <= FILEID_ROOT || type >= FILEID_INVALID ||
		    words <= 0 || words > RDMAFSD_FID_MAX)
			return type < 0 ? type : -EOVERFLOW;
		head.type = type;
	}
	head.words = words;

	memcpy(fh->data, &head, sizeof(head));
	len = sizeof(head) + words * sizeof(u32);
	memcpy(fh->data + sizeof(head), fid.words, words * sizeof(u32));
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

/**
 * rdmafsd_fh_export - read the id of the export in a handle, which is not checked
 * @fh: the handle, from the wire
 *
 * Context: any.
 * Return: the id, which may be of no export, or 0: the handle is too short.
 */
u32 rdmafsd_fh_export(const struct rfp_fh *fh)
{
	struct rdmafsd_fh_head head;

	if (fh->len < sizeof(head))
		return 0;
	memcpy(&head, fh->data, sizeof(head));
	return le32_to_cpu(head.id);
}

/* Enter the export of a handle; -EXDEV if the request is in another export already. */
static int rdmafsd_rq_export(struct rdmafsd_rq *rq, u32 id)
{
	if (rq->exp)
		return rq->exp->p.id == id ? 0 : -EXDEV;
	rq->exp = rdmafsd_export_find_id(id);
	return rq->exp ? 0 : rdmafsd_export_missing(id);
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
	struct rdmafsd_fh_head head;
	union rdmafsd_fid fid;
	struct dentry *d;
	__le64 mac;
	size_t len;
	int err;

	if (fh->len < sizeof(head) + RDMAFSD_MAC_LEN || fh->len > RFP_FH_MAX)
		return -ESTALE;
	memcpy(&head, fh->data, sizeof(head));
	len = sizeof(head) + head.words * sizeof(u32);
	if (head.pad || fh->len != len + RDMAFSD_MAC_LEN)
		return -ESTALE;
	err = rdmafsd_rq_export(rq, le32_to_cpu(head.id));
	if (err)
		return err;
	memcpy(&mac, fh->data + len, RDMAFSD_MAC_LEN);
	if (mac != rdmafsd_mac(rq->exp, fh->data, len))
		return -ESTALE;

	if (head.type == FILEID_ROOT) {
		*dentry = dget(rq->exp->path.dentry);
		return 0;
	}
	memcpy(fid.words, fh->data + sizeof(head), head.words * sizeof(u32));
	d = exportfs_decode_fh(rq->exp->path.mnt, &fid.fid, head.words, head.type,
			       rdmafsd_fh_acceptable, rq->exp);
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
