#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What was acknowledged is there, once: while connections and sessions are lost, over the
# loss of power of the server's machine, which boots on its disks, and while its disk fails,
# is full or frozen.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"

only_on rdmafs
times=$((scenario_scale > 1 ? 1 : 5))
scenario checker --fs local --backing ext4 --size 400M -- history checker
for backing in ext4 xfs btrfs; do
	scenario $backing --nodes 2 --disks file --backing $backing --size 400M -- \
		history connections:5 device:$((times * 2)) sessions:$times rewritten opened power:1
	[ "$scenario_scale" = 1 ] || break
done
# What a disk has the kernel say while it fails.
failing='^(Buffer I/O error on dev(ice)? dm-0|.*I/O error, dev dm-0|JBD2: .*dm-0|EXT4-fs error \(device dm-0\)'
failing+='|XFS \(dm-0\): (.*I/O [Ee]rror|Internal error xfs_trans_cancel|Corruption of in-memory data))'
for backing in ext4 xfs; do
	scenario "$backing fails" --disks mapped --backing $backing --size 400M --expect "$failing" -- \
		history failing:$((times * 2)) forgotten
	scenario "$backing full and frozen" --disks mapped --backing $backing --size 400M -- \
		history full:$((times * 2)) frozen:$((times * 4))
	[ "$scenario_scale" = 1 ] || break
done
# With packets of 1 KiB a work request of 64 KiB that loses one in twenty does not come through
# on rxe: it counts what is sent again until something is acknowledged.
[ "$scenario_scale" != 1 ] || [ "$scenario_kernel" != uml ] ||
	for rdma in rxe siw; do
		scenario "link $rdma" --nodes 2 --net-mtu 9000 --rdma $rdma --backing ext4 --size 400M -- \
			history link:120
	done
long=
[ "$scenario_scale" != 1 ] || long=power:1
# Guests in QEMU are two at most.
[[ $scenario_kernel != uml* ]] ||
	scenario two-clients --nodes 3 --disks file --backing ext4 --size 400M --mem 1500M -- \
		history sessions:$times $long
tap_done
