# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What a guest can set up: network, RDMA device, backing file systems, and each
# contender's server and client. session uses it for the run's own mount;
# a COMMAND that wants more than one contender in one boot (the benchmark) finds
# it as $RDMAFS_GUEST_LIB and calls the same functions.
#
# Addresses: node 1 is the server, the client is node 1 too when there is one
# node, else node 2. IPv4 10.9.0.N, IPv6 fd09::N, names "server" and "client".
# Exports are /backing/export and /backing/scratch, known to every contender's
# client as /export and /scratch.
#
# All functions return non-zero with a message on stderr when they fail.

GUEST_SERVER=10.9.0.1
# rdmafs_points: for test kernels only (transport/points.h).
GUEST_RDMAFS_MODULES=(rdmafs_points rdmafs_regpolicy rdmafs_xprt rdmafs_proto rdmafs rdmafsd)

guest_fail() {
	echo "guest: $*" >&2
	return 1
}

# In kernels made for tests everything is built in; Debian's wants it loaded.
guest_modprobe() {
	if [ "$RDMAFS_KERNEL" = debian ]; then
		modprobe -a "$@"
	fi
}

# guest_net NODE NODES: the link between client and server, and what is on it.
guest_net() {
	local node=$1 nodes=$2
	ip link set lo up
	if [ "$nodes" = 1 ]; then
		guest_modprobe dummy
		GUEST_DEV=d0
		ip link add d0 type dummy
		ip link set d0 mtu 9000
	elif [[ $RDMAFS_KERNEL != uml* ]]; then
		guest_modprobe virtio_net
		GUEST_DEV=$(cd /sys/class/net && echo e*)
	else
		GUEST_DEV=eth0
		ip link set vec0 name eth0
	fi
	echo 0 >"/proc/sys/net/ipv6/conf/$GUEST_DEV/accept_dad"
	ip -batch - <<-END
		addr add 10.9.0.$node/24 dev $GUEST_DEV
		addr add fd09::$node/64 dev $GUEST_DEV nodad
		link set $GUEST_DEV up
	END
	printf '%s\n' "10.9.0.1 server" "fd09::1 server6 server" "10.9.0.2 client2" >>/etc/hosts
}

# guest_delay D: hold back what leaves this node by D (a netem time).
guest_delay() {
	guest_modprobe sch_netem
	tc qdisc add dev "$GUEST_DEV" root netem delay "$1" limit 10000
}

# guest_rdma rxe|siw: the software RDMA device on the link.
guest_rdma() {
	case $1 in
	rxe) guest_modprobe rdma_rxe rdma_ucm ib_uverbs ;;
	siw) guest_modprobe siw rdma_ucm ib_uverbs ;;
	esac
	rdma link add "${1}0" type "$1" netdev "$GUEST_DEV"
}

# guest_ramdisks BYTES: /dev/ram0 and /dev/ram1, which take memory only for
# what is written. Where they are built in their size is in the kernel's command line.
guest_ramdisks() {
	if [ "$RDMAFS_KERNEL" = debian ] && [ ! -e /dev/ram0 ]; then
		modprobe brd rd_nr=2 rd_size=$(($1 / 1024))
	fi
	[ -b /dev/ram0 ] || guest_fail "no /dev/ram0"
}

# guest_mkfs TYPE DEVICE
guest_mkfs() {
	case $1 in
	ext4) mkfs.ext4 -q -F -E lazy_itable_init=1,nodiscard "$2" ;;
	xfs) mkfs.xfs -q -f -K "$2" ;;
	btrfs) mkfs.btrfs -q -f -K "$2" ;;
	f2fs) mkfs.f2fs -q -f -t 0 "$2" >/dev/null ;;
	esac
}

# guest_disks BYTES: the names of two block devices, in $GUEST_DISKS, made if need be. Those
# of files on the host outlast this kernel.
guest_disks() {
	if [ "${RUN_DISKS:-ram}" = ram ]; then
		GUEST_DISKS=(/dev/ram0 /dev/ram1)
		guest_ramdisks "$1"
	elif [ "$RUN_DISKS" = mapped ]; then
		GUEST_DISKS=(/dev/mapper/export /dev/mapper/scratch)
		guest_ramdisks "$1" && guest_modprobe dm_mod &&
			dmsetup create export --table "0 $(($1 / 512)) linear /dev/ram0 0" &&
			dmsetup create scratch --table "0 $(($1 / 512)) linear /dev/ram1 0"
	elif [[ $RDMAFS_KERNEL != uml* ]]; then
		GUEST_DISKS=(/dev/vda /dev/vdb)
		guest_modprobe virtio_blk && udevadm settle 2>/dev/null
	else
		GUEST_DISKS=(/dev/ubda /dev/ubdb)
	fi
	[ -b "${GUEST_DISKS[0]}" ] || guest_fail "no ${GUEST_DISKS[0]}"
}

# guest_backing TYPE BYTES: /backing/export and /backing/scratch, each a file
# system of its own; what a disk has already is mounted as it is.
guest_backing() {
	local type=$1 size=$2 name disk i=0
	mkdir -p /backing
	mount -t tmpfs -o mode=755 backing /backing
	mkdir /backing/export /backing/scratch
	if [ "$type" != tmpfs ]; then
		guest_disks "$size" || return
		guest_modprobe "$type"
	fi
	for name in export scratch; do
		if [ "$type" = tmpfs ]; then
			mount -t tmpfs -o "size=$size,mode=755,nr_inodes=0" "$name" "/backing/$name"
		else
			disk=${GUEST_DISKS[i]}
			[ "$(blkid -o value -s TYPE "$disk")" = "$type" ] || guest_mkfs "$type" "$disk"
			mount -t "$type" "$disk" "/backing/$name"
		fi || return
		i=$((i + 1))
	done
}

# The contenders. <fs>_server brings up the exports on the server's node,
# <fs>_source NAME says what a client mounts, <fs>_type and <fs>_opts how.

# The kernel's modules that ours need, then ours.
rdmafs_load() {
	local m need needs=
	for m in "${GUEST_RDMAFS_MODULES[@]}"; do
		[ ! -d "/sys/module/$m" ] || continue
		[ -e "$RDMAFS_MODULES/$m.ko" ] || [ $m != rdmafs_points ] || continue
		# Elsewhere they are built in.
		[ "$RDMAFS_KERNEL" != debian ] || needs=$(modinfo -F depends "$RDMAFS_MODULES/$m.ko")
		for need in ${needs//,/ }; do
			case $need in
			rdmafs*) ;;
			*) guest_modprobe "$need" || return ;;
			esac
		done
		insmod "$RDMAFS_MODULES/$m.ko" || return
	done
}
# A machine that is booted again has the exports, and their secrets, that it had.
rdmafs_server() {
	local saved=${RDMAFS_SHARED:-}/rdmafsd.conf name
	rdmafs_load || return
	if [ "${RUN_DISKS:-ram}" = file ] && [ -e "$saved" ]; then
		rdmafsctl load "$saved" || return
	else
		for name in export scratch; do
			rdmafsctl export add $name /backing/$name \
				-o no_root_squash,dev,xattrs=all || return
		done
		[ "${RUN_DISKS:-ram}" != file ] || rdmafsctl save "$saved" || return
	fi
	rdmafsctl start
}
rdmafs_client() { rdmafs_load; }
rdmafs_stop_server() {
	if [ -d /sys/module/rdmafsd ]; then
		rdmafsctl stop && rdmafsctl export remove --all
	fi
}
rdmafs_source() { echo "$GUEST_SERVER:/$1"; }
rdmafs_type() { echo rdmafs; }
# A guest may stand still for longer than a user is to wait for a server by default.
rdmafs_opts() { echo connect_timeout=60; }

# A machine that is booted again knows from its disk whose files were open, and waits for them.
nfs_server() {
	local d again='' had=/backing/scratch/.nfs
	guest_modprobe nfsd rpcrdma
	mkdir -p /run/rpcbind
	mount -t tmpfs nfs /var/lib/nfs
	mkdir -p /var/lib/nfs/{v4recovery,rpc_pipefs,sm,sm.bak,nfsdcltrack}
	: >/var/lib/nfs/etab
	: >/var/lib/nfs/rmtab
	: >/var/lib/nfs/state
	if [ "${RUN_DISKS:-ram}" = file ]; then
		[ ! -e $had ] || again=1
		for d in v4recovery nfsdcltrack; do
			mkdir -p $had/$d && mount --bind $had/$d /var/lib/nfs/$d || return
		done
	fi
	if [ ! -e /proc/fs/nfsd/threads ]; then
		mount -t nfsd nfsd /proc/fs/nfsd
	fi
	rpcbind -w || return
	d=rw,no_root_squash,no_subtree_check,insecure
	exportfs -i -o "$d,fsid=0,crossmnt" '*:/backing' || return
	exportfs -i -o "$d,fsid=1" '*:/backing/export' || return
	exportfs -i -o "$d,fsid=2" '*:/backing/scratch' || return
	# Nobody has state from before: do not make the first open wait.
	echo 10 >/proc/fs/nfsd/nfsv4leasetime
	echo 10 >/proc/fs/nfsd/nfsv4gracetime
	# as large as rdmafs moves in one piece; small guests default to less
	echo 1048576 >/proc/fs/nfsd/max_block_size
	rpc.mountd || return
	rpc.nfsd 4 || return
	echo rdma 20049 >/proc/fs/nfsd/portlist
	if [ -z "$again" ] && [ -w /proc/fs/nfsd/v4_end_grace ]; then
		echo Y >/proc/fs/nfsd/v4_end_grace
	fi
}
nfs_client() { guest_modprobe nfsv4 rpcrdma; }
nfs_source() { echo "$GUEST_SERVER:/$1"; }

nfs-rdma_server() { nfs_server; }
nfs-rdma_client() { nfs_client; }
nfs-rdma_source() { nfs_source "$1"; }
nfs-rdma_type() { echo nfs4; }
nfs-rdma_opts() { echo vers=4.2,proto=rdma,port=20049; }

nfs-tcp_server() { nfs_server; }
nfs-tcp_client() { nfs_client; }
nfs-tcp_source() { nfs_source "$1"; }
nfs-tcp_type() { echo nfs4; }
nfs-tcp_opts() { echo vers=4.2,proto=tcp; }

nvme_nqn=nqn.2024-01.net.rdmafs:guest
# nvme-rdma_server: /dev/ram0 and /dev/ram1 as namespaces 1 and 2.
nvme-rdma_server() {
	local c=/sys/kernel/config/nvmet n
	guest_modprobe nvmet nvmet_rdma
	guest_ramdisks "$RDMAFS_SIZE" || return
	mkdir "$c/subsystems/$nvme_nqn" || return
	echo 1 >"$c/subsystems/$nvme_nqn/attr_allow_any_host"
	for n in 1 2; do
		mkdir "$c/subsystems/$nvme_nqn/namespaces/$n"
		echo "/dev/ram$((n - 1))" >"$c/subsystems/$nvme_nqn/namespaces/$n/device_path"
		echo 1 >"$c/subsystems/$nvme_nqn/namespaces/$n/enable" || return
	done
	mkdir "$c/ports/1"
	echo rdma >"$c/ports/1/addr_trtype"
	echo ipv4 >"$c/ports/1/addr_adrfam"
	echo "$GUEST_SERVER" >"$c/ports/1/addr_traddr"
	echo 4420 >"$c/ports/1/addr_trsvcid"
	ln -s "$c/subsystems/$nvme_nqn" "$c/ports/1/subsystems/$nvme_nqn"
}
# nvme-rdma_client: connects, and makes an ext4 on either namespace.
nvme-rdma_client() {
	local id=5a1b9f0e-6b0d-4a5e-9d8c-000000000001 i=0 n
	guest_modprobe nvme_rdma ext4
	echo "transport=rdma,traddr=$GUEST_SERVER,trsvcid=4420,nqn=$nvme_nqn,hostnqn=nqn.2014-08.org.nvmexpress:uuid:$id,hostid=$id" \
		>/dev/nvme-fabrics || return
	until [ -b /dev/nvme0n1 ] && [ -b /dev/nvme0n2 ]; do
		i=$((i + 1))
		[ $i -lt 200 ] || guest_fail "no /dev/nvme0n1 after 20 s" || return
		sleep 0.1
	done
	for n in 1 2; do
		guest_mkfs ext4 "/dev/nvme0n$n" || return
	done
}
nvme-rdma_source() { [ "$1" = export ] && echo /dev/nvme0n1 || echo /dev/nvme0n2; }
nvme-rdma_type() { echo ext4; }
nvme-rdma_opts() { echo defaults; }

local_server() { :; }
local_client() { :; }
local_source() { echo "/backing/$1"; }
local_type() { echo none; }
local_opts() { echo bind; }

# guest_mount FS NAME DIR [OPTS]: mount FS's export NAME on DIR.
guest_mount() {
	local opts
	opts=$("$1_opts")
	mkdir -p "$3"
	mount -t "$("$1_type")" -o "$opts${4:+,$4}" "$("$1_source" "$2")" "$3"
}
