#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The runner's own contract: what tests/guest/run promises to every other test
# (output, status, files, environment, two nodes) and that it notices a guest
# that fails, or vanishes, or whose checkers do. Everything here is on --fs local,
# NFS or NVMe: it tests the guest.
# shellcheck disable=SC2016 # the guest expands what stands in single quotes
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd -P)
. "$top/tests/lib/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# guest ARGUMENT...: stdout, stderr and status of a run in $out, $err, $rc.
guest() {
	"$top/tests/guest/run" --timeout 120 "$@" >"$tmp/stdout" 2>"$tmp/stderr"
	rc=$?
	out=$(tr -d '\0' <"$tmp/stdout")
	err=$(tail -n 30 "$tmp/stderr")
}

# The debug kernel is the same guest, but that it has checkers.
if [ "${RDMAFS_KERNEL:-uml}" = uml-debug ]; then
	guest --kernel uml-debug --fs local -- sh -c '
		echo off >/sys/kernel/debug/kmemleak; echo 0 >/proc/sys/kernel/prove_locking'
	is $rc 125 "a guest whose checkers were switched off fails"
	like "$err" "lockdep no longer checks" "who says so of lockdep"
	like "$err" "kmemleak no longer looks" "and of kmemleak"
	tap_skip "all else" "the same guest is tested without checkers"
	tap_done
	exit
fi

guest --fs local --out "$tmp/out" -- bash -c '
	echo to stdout; echo to stderr >&2; wc -c
	pwd -P; id -u
	head -c 300000 /dev/urandom >$RDMAFS_OUT/data; mkdir $RDMAFS_OUT/d; echo f >$RDMAFS_OUT/d/f
	touch here; ls $RDMAFS_BACKING/test
	mountpoint -q $RDMAFS_MNT && echo mounted
	mountpoint -q $RDMAFS_SCRATCH_MNT || ls $RDMAFS_SCRATCH_MNT | wc -l
	mount $RDMAFS_SCRATCH_MNT && touch $RDMAFS_SCRATCH_MNT/x && ls $RDMAFS_SCRATCH_SOURCE
	cd / && umount $RDMAFS_MNT && mount $RDMAFS_MNT && ls $RDMAFS_MNT/test
	unshare -Ur true && echo user namespace
	exit 42'
is $rc 42 "the command's status comes through" "$err"
is "$out" "$(printf '%s\n' 'to stdout' 0 /mnt/rdmafs/test 0 here mounted 0 x here 'user namespace')" \
	"stdout is the command's and nothing else; stdin is empty; the mounts are as promised"
like "$(cat "$tmp/stderr")" "to stderr" "stderr comes through"
is "$(stat -c %s "$tmp/out/data" 2>&1) $(cat "$tmp/out/d/f" 2>&1)" "300000 f" "files come back"

guest --fs local -- bash -c "
	gcc -O1 -Wall -pthread -o /tmp/registers '$top/tests/scenarios/inside/registers.c' && /tmp/registers >&2
	result=\$?
	head -c 2000000 /dev/urandom | tee >(sha256sum >&2); sleep 0.3; sleep 1000 & exit \$result"
is "$(sha256sum <"$tmp/stdout")" "$(grep -E '^[0-9a-f]{64}' "$tmp/stderr")" \
	"binary output arrives whole, and a process left behind does not hold the run"
if [ $rc = 77 ]; then
	tap_skip "threads keep their vector registers" "a processor without AVX"
else
	is "$rc $(grep -c '^0 of 8000 lost$' "$tmp/stderr")" "0 1" "threads keep their vector registers" "$err"
fi

guest --fs local -- sh -c 'echo c >/proc/sysrq-trigger'
is $rc 125 "a panic is the guest's failure"
like "$err" "Kernel panic" "the kernel log's tail is on stderr"

start=$SECONDS
guest --fs local --timeout 6 -- sleep 1000
is $rc 125 "a run over its time is ended"
like "$err" "was ended after 6 s" "and said to be"
[ $((SECONDS - start)) -lt 100 ]
tap $? "and not when it would be over anyway" "after $((SECONDS - start)) s"

# The short form has clients of two nodes and of three that vanish, and not the server before them;
# and of one node the first stage, the command's, and one of those after it.
stages=(booted ran unloaded)
[ "${RDMAFS_SCALE:-1}" != 1 ] ||
	stages=(booted connected served mounted ran unmounted unloaded scanned)
for stage in "${stages[@]}"; do
	guest --fs local --kill-at $stage -- true
	is "$rc $(grep -c "did not come to its end, but as far as: $stage\$" "$tmp/stderr")" "125 1" \
		"a machine that is gone at: $stage" "$err"
done
if [ "${RDMAFS_SCALE:-1}" = 1 ]; then
	guest --nodes 2 --fs nfs-tcp --kill-at 1:served -- true
	is "$rc $(grep -c "node 1 did not come to its end, but as far as: served\$" "$tmp/stderr")" "125 1" \
		"a server that is gone before its client has come, which is not waited for" "$err"
fi
guest --nodes 3 --fs nfs-tcp --kill-at 3:mounted -- true
is "$rc $(grep -c "node 3 did not come to its end, but as far as: mounted\$" "$tmp/stderr")" "125 1" \
	"one of two clients, which does not go unnoticed" "$err"
guest --nodes 2 --fs nfs-tcp --kill-at 2:ran -- true
is "$rc $(grep -c "node 2 did not come to its end, but as far as: ran\$" "$tmp/stderr")" "125 1" \
	"a client that is gone before it has told the server to stop" "$err"
guest --fs local -- dmesg --console-level 1
is $rc 125 "a kernel log that does not come through"
like "$err" "log is not whole" "which is said"

guest --fs local -- no-such-command
is $rc 127 "a command that is not there"

guest --fs no-such-fs -- true
is "$rc $out" "2 " "bad usage"

guest --nodes 2 --net-delay 20ms --net-mtu 9000 --fs nfs-rdma --rdma rxe -- bash -c '
	cat /sys/class/net/$GUEST_DEV/mtu
	ping -q -c 2 -i 0.2 server >/dev/null; ping -q -c 30 -i 0.2 server | sed -n "s|.*= \([0-9]*\).*|\1|p"
	touch made-here; guest-peer ls /backing/export/test; guest-peer uname -n; guest-peer false; echo $?'
is "$(echo "$out" | tail -n +3)" "$(printf '%s\n' made-here node1 1)" "two nodes, NFS between them" "$err"
is "$(echo "$out" | head -n 1)" 9000 "packets are as large as they are to be"
like "$(echo "$out" | sed -n 2p)" '^[45][0-9]$' "a round trip takes twice the delay, and not three times"

guest --nodes 4 --fs nfs-tcp -- bash -c '
	echo one >f; guest-peer --node 3 bash -c "sleep 1000 >/dev/null 2>&1 & cat $RDMAFS_MNT/test/f; uname -n"
	guest-peer uname -n; guest-peer --node 4 cat $RDMAFS_MNT/test/f; guest-peer --node 4 uname -n
	guest-peer --node 3 --kill; guest-peer --node 3 cat $RDMAFS_MNT/test/f &
	guest-peer --node 3 --boot; wait $!; guest-peer --node 5 true; echo $?
	guest-peer --node 3 bash -c "cd $RDMAFS_MNT && sleep 1000 >/dev/null 2>&1 &"'
is "$rc $out" "0 $(printf '%s\n' one node3 node1 one node4 one 2)" \
	"four nodes: other clients, of which one loses its power, boots and does what it was asked for" "$err"
guest --nodes 2 --fs nfs-tcp --kill-at 1:ran -- true
is "$rc $(grep -c "no node came to 1:ran" "$tmp/stderr")" "125 1" "a kill that was not to be is noticed" "$err"

# A bash looks at its directory when it starts, so not from the mount.
guest --nodes 2 --fs nfs-tcp --backing ext4 --disks file -- bash -c '
	cd / && unset OLDPWD && guest-peer sh -c "echo lost >/run/memory"
	echo kept >$RDMAFS_MNT/test/f && sync && guest-peer --kill && guest-peer --boot &&
	cat $RDMAFS_MNT/test/f; guest-peer test -e /run/memory; echo $?'
is "$rc $out" "0 $(printf '%s\n' kept 1)" "a server without power boots on its disks" "$err"

# Other scenarios, and benchmarks, fail as well without these.
if [ "${RDMAFS_SCALE:-1}" != 1 ]; then
	tap_done
	exit
fi
guest --fs nvme-rdma --rdma siw -- bash -c 'echo $RDMAFS_DEV; findmnt -rno SOURCE,FSTYPE -T .'
is "$out" "$(printf '%s\n' /dev/nvme0n1 '/dev/nvme0n1 ext4')" "NVMe over siw is an ext4 on its device" "$err"

for backing in ext4 xfs btrfs; do
	guest --fs local --backing $backing --size 600M -- bash -c '
		findmnt -rno FSTYPE -T .; touch f; setfattr -n user.a -v b f && getfattr --only-values -n user.a f; echo
		setfacl -m u:1000:r f && getfacl -cn f | grep user:1000'
	is "$out" "$(printf '%s\n' $backing b user:1000:r--)" "backing $backing with xattrs and ACLs" "$err"
done

tap_done
