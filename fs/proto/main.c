// SPDX-License-Identifier: GPL-2.0
/*
 * The protocol library as a module: both client and server link to it, and
 * neither to the other.  It has no state, so there is nothing to start or stop.
 *
 * The sizes of all wire structs are checked here, at compile time: if a field slips
 * into a struct, or a compiler pads one, the build fails and not a mount.
 */
#include <linux/build_bug.h>
#include <linux/module.h>
#include "fs/proto/rdmafs_proto.h"

static_assert(sizeof(struct rfp_req) == 8);
static_assert(sizeof(struct rfp_rep) == 8);
static_assert(sizeof(struct rfp_time) == 12);
static_assert(sizeof(struct rfp_attr) == 136);
static_assert(sizeof(struct rfp_attach_rep) == 48);
static_assert(sizeof(struct rfp_setcred_req) == 24);
static_assert(sizeof(struct rfp_getattr_req) == 16);
static_assert(sizeof(struct rfp_setattr_req) == 68);
static_assert(sizeof(struct rfp_open_req) == 32);
static_assert(sizeof(struct rfp_open_rep) == 40);
static_assert(sizeof(struct rfp_proof) == 16);
static_assert(sizeof(struct rfp_create_req) == 32);
static_assert(sizeof(struct rfp_mknod_req) == 24);
static_assert(sizeof(struct rfp_close_req) == 16);
static_assert(sizeof(struct rfp_read_req) == 32);
static_assert(sizeof(struct rfp_read_rep) == 32);
static_assert(sizeof(struct rfp_write_req) == 40);
static_assert(sizeof(struct rfp_write_rep) == 32);
static_assert(sizeof(struct rfp_commit_req) == 40);
static_assert(sizeof(struct rfp_commit_rep) == 16);
static_assert(sizeof(struct rfp_rename_req) == 16);
static_assert(sizeof(struct rfp_readdir_req) == 24);
static_assert(sizeof(struct rfp_readdir_rep) == 16);
static_assert(sizeof(struct rfp_dirent) == 24);
static_assert(sizeof(struct rfp_statfs_rep) == 64);
static_assert(sizeof(struct rfp_getxattr_req) == 16);
static_assert(sizeof(struct rfp_xattr_rep) == 16);
static_assert(sizeof(struct rfp_setxattr_req) == 16);
static_assert(sizeof(struct rfp_fallocate_req) == 40);
static_assert(sizeof(struct rfp_fallocate_rep) == 16);
static_assert(sizeof(struct rfp_seek_req) == 32);
static_assert(sizeof(struct rfp_lock_req) == 64);
static_assert(sizeof(struct rfp_lock_rep) == 16);
static_assert(sizeof(struct rfp_unlock_req) == 48);
static_assert(sizeof(struct rfp_lockcancel_req) == 16);
static_assert(sizeof(struct rfp_testlock_rep) == 32);
static_assert(sizeof(struct rfp_event) == 16);
static_assert(sizeof(struct rfp_events_rep) == 16);
static_assert(sizeof(struct rfp_seek_rep) == 16);
static_assert(sizeof(struct rfp_fileattr) == 24);
static_assert(sizeof(struct rfp_getflags_rep) == 32);
static_assert(sizeof(struct rfp_setflags_req) == 40);
static_assert(sizeof(struct rfp_copy_req) == 56);
static_assert(sizeof(struct rfp_copy_rep) == 32);
static_assert(sizeof(struct rfp_clone_rep) == 16);

MODULE_DESCRIPTION("rdmafs file protocol: bounded encoding and decoding");
MODULE_LICENSE("GPL");
