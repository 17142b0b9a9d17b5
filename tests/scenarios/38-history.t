#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What was acknowledged is there, once: while connections and sessions are lost and RNICs go, over
# the loss of power of the server's machine, which boots on its disks, and while its disk fails,
# is full or frozen, or a user is over quota.  With RDMAFS_FAULTS=1 (make check-faults) so many
# times that all machines together have lost a thousand connections, and a hundred of everything
# else, and a twentieth more: tests/check/faults counts those that came.  Each part has a guest of
# its own then, so that little is to be done again when one is interrupted.  RDMAFS_FS=nfs-rdma is
# to compare with: what it loses it fails by.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"

only_on rdmafs nfs-rdma
connections=5 devices=10 sessions=5 power=1 disks=10 freezes=20 limit=1800 backings="ext4 xfs btrfs"
alone=(connections:5 sessions:5 device:5)
if [ -n "${RDMAFS_FAULTS:-}" ]; then
	connections=210 devices=21 sessions=21 power=27 disks=35 freezes=35 limit=7200
	alone=("connections:$connections" "sessions:$sessions" "device:$devices")
elif [ "$scenario_scale" -gt 1 ]; then
	devices=2 sessions=1 disks=2 freezes=4 backings=ext4 alone=(connections:2 sessions:1)
fi

# histories LABEL [RUN-OPTION]... -- PART...: in one guest, or in one each.
histories() {
	local label=$1 options=() part
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	if [ -z "${RDMAFS_FAULTS:-}" ] || [ $# = 1 ]; then
		scenario "$label" "${options[@]}" -- history "$@"
		return
	fi
	for part; do
		scenario "$label, ${part%%:*}" "${options[@]}" -- history "$part"
	done
}

# With packets of 1 KiB, of which one in twenty is lost, data does not come through on rxe before
# its connection is given up (Documentation/limits.rst).
links() {
	local rdma seconds=120 devices="rxe siw"
	[ "$scenario_kernel" = uml ] || return 0
	[ "$scenario_scale" = 1 ] || seconds=5 devices=rxe
	for rdma in $devices; do
		scenario "link $rdma" --nodes 2 --net-mtu 9000 --rdma $rdma --backing ext4 --size 400M -- \
			history link:$seconds
	done
}

scenario checker --fs local --backing ext4 --size 400M -- history checker
if [ "$scenario_fs" != rdmafs ]; then
	for backing in $backings; do
		histories "$backing" --nodes 2 --disks file --backing "$backing" --size 400M \
			--timeout $limit -- device:$devices power:$power
	done
	for backing in ${backings% btrfs}; do
		histories "$backing full and frozen" --nodes 2 --backing "$backing" --size 400M \
			--timeout $limit -- full:$disks frozen:$freezes
	done
	links
	[ -n "${RDMAFS_FAULTS:-}" ] || tap_skip "connections, sessions, disks that fail, quota" \
		"they take test points, or what is below /proc/fs/rdmafs"
	tap_done
	exit
fi
# The short form has what one machine can do, and no disk that fails, in one.
if [ "$scenario_scale" -gt 1 ]; then
	scenario one --disks mapped --backing ext4 --size 400M --timeout $limit -- \
		history "${alone[@]}" full:$disks quota:$disks frozen:$freezes
else
	histories one --backing ext4 --size 400M --timeout $limit -- "${alone[@]}"
fi
for backing in $backings; do
	histories "$backing" --nodes 2 --disks file --backing "$backing" --size 400M --timeout $limit -- \
		connections:$connections device:$devices sessions:$sessions rewritten rewritten_direct opened power:$power
done
# What a disk has the kernel say while it fails.
failing='^(Buffer I/O error on dev(ice)? dm-0|.*I/O error, dev dm-0|JBD2: .*dm-0|EXT4-fs error \(device dm-0\)'
failing+='|XFS \(dm-0\): (.*I/O [Ee]rror|Internal error xfs_trans_cancel|Corruption of in-memory data))'
for backing in ${backings% btrfs}; do
	histories "$backing fails" --disks mapped --backing "$backing" --size 400M --timeout $limit \
		--expect "$failing" -- failing:$disks forgotten
	[ "$scenario_scale" -gt 1 ] ||
		histories "$backing full and frozen" --disks mapped --backing "$backing" --size 400M \
			--timeout $limit -- full:$disks quota:$disks frozen:$freezes
done
links
# Guests in QEMU are two at most.
[[ $scenario_kernel != uml* ]] || {
	more=(connections:2)
	[ "$scenario_scale" -gt 1 ] || more=("device:$devices" "power:$power" "connections:$connections")
	histories two-clients --nodes 3 --disks file --backing ext4 --size 400M --mem 1500M \
		--timeout $limit -- sessions:$sessions "${more[@]}"
	[ "$scenario_scale" -gt 1 ] ||
		histories "two-clients, their disk" --nodes 3 --disks mapped --backing ext4 --size 400M \
			--mem 1500M --timeout $limit --expect "$failing" -- \
			failing:$disks full:$disks frozen:$freezes
}
tap_done
