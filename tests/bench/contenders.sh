#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In the guest: brings up every contender in the one kernel, or takes them down.
# The servers and clients are those of the test runner itself ($RDMAFS_GUEST_LIB).
#
# Usage: contenders.sh up MIB NAME... | down
#
# "up" prints a line "NAME TARGET LOCAL" for each contender: the file or device
# on which fio works, and its local backing, another one of the same kind.
set -euo pipefail
# shellcheck source=tests/guest/inside/lib.sh
. "$RDMAFS_GUEST_LIB"

# Allocated in the backing, so that nobody pays for holes.
make_file() {
	dd if=/dev/zero of="$1" bs=1M count="$2" status=none
	chmod 666 "$1"
}

up_mount() {
	local fs=$1 mib=$2
	if [ "$fs" = rdmafs ]; then
		rdmafs_server
	elif [ ! -e /run/bench-nfs ]; then
		nfs_server
		touch /run/bench-nfs
	fi
	"${fs}_client"
	# NFSv4.1 takes two mounts of one server for one session's, over whichever
	# transport came first, unless they say that they are two clients.
	if [ "$fs" != rdmafs ]; then
		echo "$fs" >/sys/fs/nfs/net/nfs_client/identifier
	fi
	guest_mount "$fs" export "/mnt/$fs"
	make_file "/backing/export/bench-$fs" "$mib"
	[ -e /backing/export/bench-local ] || make_file /backing/export/bench-local "$mib"
	printf '%s %s %s\n' "$fs" "/mnt/$fs/bench-$fs" /backing/export/bench-local
}

# The bare device; ram1 is of the same kind and not exported for I/O here.
up_nvme() {
	nvme-rdma_server
	nvme-rdma_client
	dd if=/dev/zero of=/dev/nvme0n1 bs=1M count="$1" oflag=direct status=none
	dd if=/dev/zero of=/dev/ram1 bs=1M count="$1" oflag=direct status=none
	printf '%s %s %s\n' nvme-rdma /dev/nvme0n1 /dev/ram1
}

up() {
	local mib=$1 name
	shift
	# For a test kernel it is built.
	if [ -e "$RDMAFS_MODULES/rdma_bare.ko" ]; then
		insmod "$RDMAFS_MODULES/rdma_bare.ko"
	fi
	for name; do
		case $name in
		rdmafs | nfs-rdma | nfs-tcp) up_mount "$name" "$mib" ;;
		nvme-rdma) up_nvme "$mib" ;;
		*) guest_fail "no contender $name" ;;
		esac
	done
}

down() {
	local fs
	for fs in rdmafs nfs-rdma nfs-tcp; do
		if mountpoint -q "/mnt/$fs"; then
			umount "/mnt/$fs"
		fi
	done
	rdmafs_stop_server
	if [ -e /proc/rdma_bare ]; then
		rmmod rdma_bare
	fi
}

case ${1:-} in
up | down) "$@" ;;
*)
	echo "Usage: contenders.sh up MIB NAME... | down" >&2
	exit 2
	;;
esac
