#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What system calls promise, one by one: names, links, modes, owners, times,
# attributes, ACLs, sizes, holes, directories that change while they are read,
# copies that the server makes, locks, two mounts of one export, chattr, statx, what is refused, a
# disk that is full and a user over quota.  Which mounts share a superblock, and which do not.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"

scenario ext4 --backing ext4 --size 600M -- posix all
# a boot and a leak scan of a slow kernel cost more than they show here
[ "$scenario_scale" -gt 1 ] || scenario tmpfs --backing tmpfs -- posix some
# What depends on the kind of the backing alone.
[ "$scenario_scale" -gt 1 ] || for backing in xfs btrfs f2fs; do
	only=(t_supported t_rename_flags t_fallocate t_chattr t_chattr_supported t_immutable t_append_only
		t_statx t_far t_whiteout t_tmpfile t_tmpfile_excl t_tmpfile_given t_copy_ranges t_clone)
	# These share storage.
	[ $backing = f2fs ] || only+=(t_copy_lost t_clone_copy t_clone_lost t_dedupe)
	scenario $backing --backing $backing --size 400M -- posix some "${only[@]}"
done
[ "$scenario_fs" != rdmafs ] || scenario sharecache --backing ext4 --size 200M -- sharecache
scenario full --backing ext4 --size 48M -- full
scenario quota --backing ext4 --size 200M -- quota
[ "$scenario_scale" -gt 1 ] || for backing in xfs tmpfs; do
	scenario "quota $backing" --backing $backing --size 400M -- quota
done
tap_done
