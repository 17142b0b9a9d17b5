#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In the guest: brings up every contender in the one kernel, changes what one of them is set
# to, or takes them down. The servers and clients of files are those of the test runner itself
# ($RDMAFS_GUEST_LIB); NVMe-oF's are here, as what fio works on is the device and no file
# system on it.
#
# Usage: contenders.sh up BACKING MIB NAME... | change NAME SETTING=VALUE... | down
#
# "up" prints a line "NAME TARGET LOCAL" for each contender: the file or device
# on which fio works, and its local backing, another one of the same kind. BACKING is what
# /backing/export is (tests/guest/run --backing). Files are exported from there, and NVMe-oF's
# namespace is one of these files, opened for direct I/O: who writes to it is answered when
# that is on the disk, as by the others. On tmpfs, which has no disk, it is a RAM disk.
set -euo pipefail
# shellcheck source=tests/guest/inside/lib.sh
. "$RDMAFS_GUEST_LIB"

export_dir=/backing/export
rdmafs_port=/sys/kernel/config/rdmafs/ports/20060
nvmet=/sys/kernel/config/nvmet
nvmet_subsystem=$nvmet/subsystems/$nvme_nqn
nvmet_link=$nvmet/ports/1/subsystems/$nvme_nqn

# await COMMAND...: until it succeeds.
await() {
	local i
	for ((i = 0; i < 200; i++)); do
		! "$@" || return 0
		sleep 0.1
	done
	guest_fail "not after 20 s: $*"
}

# Allocated and written in the backing, so that nobody pays for holes.
make_file() {
	dd if=/dev/zero of="$1" bs=1M count="$2" conv=fsync status=none
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
	make_file "$export_dir/bench-$fs" "$mib"
	[ -e $export_dir/bench-local ] || make_file $export_dir/bench-local "$mib"
	printf '%s %s %s\n' "$fs" "/mnt/$fs/bench-$fs" $export_dir/bench-local
}

# nvme_serve PATH: a file or a device as the one namespace, not yet on the port.
nvme_serve() {
	guest_modprobe nvmet nvmet_rdma
	mkdir "$nvmet_subsystem" "$nvmet_subsystem/namespaces/1" $nvmet/ports/1
	echo 1 >"$nvmet_subsystem/attr_allow_any_host"
	echo "$1" >"$nvmet_subsystem/namespaces/1/device_path"
	echo 1 >"$nvmet_subsystem/namespaces/1/enable"
	echo rdma >$nvmet/ports/1/addr_trtype
	echo ipv4 >$nvmet/ports/1/addr_adrfam
	echo "$GUEST_SERVER" >$nvmet/ports/1/addr_traddr
	echo 4420 >$nvmet/ports/1/addr_trsvcid
}

# The target keeps what it knows of a device, the size of inline data with it, as long as any
# queue is left.
nvmet_idle() { ! rdma resource show pd | grep nvmet >/dev/null; }

# nvme_connect [SETTING=VALUE]...: anew, if it is connected.
nvme_connect() {
	local id=5a1b9f0e-6b0d-4a5e-9d8c-000000000001 queue_size=128 inline=4096 scheduler=
	[ $# = 0 ] || local "$@"
	if [ -e /sys/class/nvme/nvme0 ]; then
		echo 1 >/sys/class/nvme/nvme0/delete_controller
		await test ! -e /sys/class/nvme/nvme0
		rm "$nvmet_link"
		await nvmet_idle
	fi
	echo "$inline" >$nvmet/ports/1/param_inline_data_size
	ln -s "$nvmet_subsystem" "$nvmet_link"
	guest_modprobe nvme_rdma
	echo "transport=rdma,traddr=$GUEST_SERVER,trsvcid=4420,nqn=$nvme_nqn,hostnqn=nqn.2014-08.org.nvmexpress:uuid:$id,hostid=$id,queue_size=$queue_size" \
		>/dev/nvme-fabrics
	await test -b /dev/nvme0n1
	[ -z "$scheduler" ] || echo "$scheduler" >/sys/block/nvme0n1/queue/scheduler
}

up_nvme() {
	local backing=$1 mib=$2 served=$export_dir/bench-nvme-rdma here=$export_dir/bench-local
	if [ "$backing" = tmpfs ]; then
		guest_ramdisks "$RDMAFS_SIZE"
		served=/dev/ram0 here=/dev/ram1
		dd if=/dev/zero of=$here bs=1M count="$mib" oflag=direct status=none
	else
		make_file "$served" "$mib"
		[ -e "$here" ] || make_file "$here" "$mib"
	fi
	nvme_serve "$served"
	nvme_connect
	dd if=/dev/zero of=/dev/nvme0n1 bs=1M count="$mib" oflag=direct status=none
	printf '%s %s %s\n' nvme-rdma /dev/nvme0n1 "$here"
}

up() {
	local backing=$1 mib=$2 name
	shift 2
	# For a test kernel it is built.
	if [ -e "$RDMAFS_MODULES/rdma_bare.ko" ]; then
		insmod "$RDMAFS_MODULES/rdma_bare.ko"
	fi
	for name; do
		case $name in
		rdmafs | nfs-rdma | nfs-tcp) up_mount "$name" "$mib" ;;
		nvme-rdma) up_nvme "$backing" "$mib" ;;
		*) guest_fail "no contender $name" ;;
		esac
	done
}

# rdmafs_change threads=N: from when the port is enabled next.
rdmafs_change() {
	umount /mnt/rdmafs
	echo "${1#threads=}" >$rdmafs_port/max_threads
	echo 0 >$rdmafs_port/enable
	echo 1 >$rdmafs_port/enable
	guest_mount rdmafs export /mnt/rdmafs
}

# nfsd's threads can be written at any time: ios.py does.
change() {
	local name=$1
	shift
	case $name in
	rdmafs) rdmafs_change "$@" ;;
	nvme-rdma) nvme_connect "$@" ;;
	*) guest_fail "$name has nothing to change" ;;
	esac
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
up | change | down) "$@" ;;
*)
	echo "Usage: contenders.sh up BACKING MIB NAME... | change NAME SETTING=VALUE... | down" >&2
	exit 2
	;;
esac
