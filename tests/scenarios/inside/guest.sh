# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the scenarios' programs share inside a guest. Sourced first; the working
# directory is then a directory on the mount.

. "$RDMAFS_TOP/tests/lib/tap.sh"
inside=$RDMAFS_TOP/tests/scenarios/inside
scale=${RDMAFS_SCALE:-1}
: "$inside"

# only_parts "NAME..." [PART]...: leave unless all of these are, and there is one; what
# follows a colon is the part's own affair.
only_parts() {
	local known=" $1 " part
	shift
	[ $# -gt 0 ] || set -- ''
	for part; do
		case $known in
		*" ${part%%:*} "*) ;;
		*)
			echo "${0##*/}: no such part: '$part'; there are:${known% }" >&2
			exit 2
			;;
		esac
	done
}

# scaled N [LEAST]: N divided by the scale, at least LEAST (default 1).
scaled() {
	local n=$(($1 / scale)) least=${2:-1}
	echo $((n > least ? n : least))
}

# check NAME COMMAND...: passes if COMMAND does; its output is the reason if not.
check() {
	local check_name=$1 check_result=0 check_start=$SECONDS
	shift
	"$@" >/tmp/check.out 2>&1 || check_result=$?
	if [ $check_result = 0 ]; then
		tap 0 "$check_name"
	else
		tap 1 "$check_name" "status $check_result:" "$(tail -n 15 /tmp/check.out)"
	fi
	if [ $((SECONDS - check_start)) -ge 3 ]; then
		diag "$((SECONDS - check_start)) s"
	fi
	return $check_result
}

# fails_with MESSAGE NAME COMMAND...: passes if COMMAND fails and says MESSAGE.
fails_with() {
	local want=$1 name=$2 out result=0
	shift 2
	out=$("$@" 2>&1) || result=$?
	if [ $result -eq 0 ]; then
		tap 1 "$name" "it succeeded: $out"
	else
		like "$out" "$want" "$name"
	fi
}

# like_often LEAST TIMES REGEX NAME COMMAND...: passes as soon as COMMAND has printed something like
# it LEAST times, of so many times at most; for what can be seen only if the machine happens not to
# interrupt.
like_often() {
	local least=$1 times=$2 regex=$3 name=$4 said=() seen=0 i
	shift 4
	for ((i = 1; i <= times; i++)); do
		said+=("$("$@" 2>&1)")
		[[ ! ${said[-1]} =~ $regex ]] || seen=$((seen + 1))
		if [ $seen = "$least" ]; then
			tap 0 "$name"
			[ $i = "$least" ] || diag "seen $seen times of $i: ${said[*]}"
			return
		fi
	done
	tap 1 "$name" "seen $seen times of $times: ${said[*]}" $'\n'"want $least times something like: $regex"
}

# exerciser_without: in $without, what the exerciser is to be told that the server's file system does
# not do; anything else must not be missing.
exerciser_without() {
	without=()
	[ "$RDMAFS_FS" = rdmafs ] || return 0
	case $(guest-peer stat -f -c %T /backing/export) in
	tmpfs) without=(--without "zero range,collapse,insert") ;;
	btrfs) without=(--without "collapse,insert") ;;
	*) without=(--without '') ;;
	esac
	: "${without[@]}"
}

drop_caches() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
}

# Unmount and mount the run's mount, as a new session with nothing cached.
remount() {
	local here=$PWD result=0
	cd / || return
	umount "$RDMAFS_MNT" && mount "$RDMAFS_MNT" || result=1
	cd "$here" || return
	return $result
}

# wait_for SECONDS COMMAND...: until COMMAND passes.  Seconds in which it can't look do not
# count: where the whole machine stands still for minutes, only time goes on.  sleep(1) is a
# process, so that bash waits for one: without any it left a child unreaped now and then, which
# kill -0 finds.  COMMAND is a function now and then, which sees these variables
# in the place of the scenario's of the same names.
wait_for() {
	local wait_left=$1 wait_second=$SECONDS
	shift
	until "$@"; do
		if [ $SECONDS != "$wait_second" ]; then
			wait_second=$SECONDS
			wait_left=$((wait_left - 1))
		fi
		[ "$wait_left" -gt 0 ] || return 1
		sleep 0.1
	done
}

# The mount's directory below /proc/fs/rdmafs: named by the device number.
proc_of() {
	local minor major
	read -r major minor < <(stat -c '%Hd %Ld' "$1")
	echo "/proc/fs/rdmafs/$major:$minor"
}

# value KEY FILE: of "key value" lines.
value() {
	local lines line words found=1
	mapfile -t lines <"$2" || return
	for line in "${lines[@]}"; do
		read -ra words <<<"$line"
		if [ "${words[0]:-}" = "$1" ]; then
			printf '%s\n' "${words[1]:-}"
			found=0
		fi
	done
	return $found
}

# write_value FILE TEXT: the error that one write(2) of TEXT, a line's worth, gets, or "ok";
# ZERO in it stands for a byte of zero.  One process writes them all, off the mount.
write_value() {
	local said
	printf '%s %s\n' "$1" "$2" >&"${values[1]}"
	IFS= read -r -u "${values[0]}" said
	echo "$said"
}
start_values() {
	coproc values { cd / && exec python3 -uc 'import errno, os, sys
for line in sys.stdin.buffer:
	path, text = line[:-1].split(b" ", 1)
	try:
		with open(path, "wb", 0) as f:
			f.write(text.replace(b"ZERO", b"\0"))
		print("ok")
	except OSError as e:
		print(errno.errorcode[e.errno])'; }
}

# lost STATS: what a mount's connection came to, which is nothing.  Checkers may hold
# rxe up until it gives its peer up: there it may be made again, for the same session.
lost() {
	local key=reconnects
	[[ $RDMAFS_KERNEL != *-* ]] || key=session_resets
	echo "$(value protocol_errors "$1") $(value $key "$1")"
}

# Test points (tests/points/points.c; test kernels only), of this node's kernel.
points=/sys/module/rdmafs_points/parameters
have_points() { [ -d $points ]; }

# point_arm NAME [COUNT [KEY]]: the next COUNT (1) threads that come there are held.
point_arm() { echo "hold $*" >$points/points; }

# point_fail NAME [COUNT [KEY]]: the next COUNT (1) times it fails.
point_fail() { echo "fail $*" >$points/points; }

# point_wait NAME [COUNT]: until COUNT (1) threads are held there.
point_wait() { wait_for 60 point_is "$1" held "${2:-1}"; }

# point_is NAME arrived|held|failed|overdue N: it is N at least.
point_is() { [ "$(point_count "$1" "$2")" -ge "$3" ]; }
point_count() {
	awk -v name="$1" -v what="$2" '
		$1 == name { for (i = 2; i < NF; i += 2) if ($i == what) n = $(i + 1) }
		END { print n + 0 }' $points/points
}

# point_release NAME: who is held goes on, and nobody is held or fails any more.
point_release() { echo "release $1" >$points/points; }

# point_knob NAME VALUE: what is pretended (transport/points.h); 0 is nothing.
point_knob() { echo "$2" >"$points/$1"; }

# With two nodes: nothing arrives at either, until link_up.
link_down() {
	tc qdisc replace dev "$GUEST_DEV" root netem loss 100%
	guest-peer tc qdisc replace dev "$GUEST_DEV" root netem loss 100%
}
link_up() {
	guest-peer tc qdisc del dev "$GUEST_DEV" root
	tc qdisc del dev "$GUEST_DEV" root
}

# isnt HAVE UNWANTED NAME
isnt() {
	[ "$1" != "$2" ]
	tap $? "$3" "have: $1"
}
