# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the programs share that have clients on several machines, and troubles for these: the
# machine that they run on is client 1, on node 2, and client N is on node N + 1; or all is one
# machine. Sourced after guest.sh.

# pass_on COMMAND...: its TAP, with our numbers; its last line is the plan.
pass_on() {
	local line tests=0 plan=none
	while IFS= read -r line; do
		case $line in
		'ok '*) tests=$((tests + 1)); tap 0 "${line#*- }" ;;
		'not ok '*) tests=$((tests + 1)); tap 1 "${line#*- }" ;;
		'1..'*) plan=${line#1..} ;;
		*) diag "${line#\# }" ;;
		esac
	done < <("$@" 2>&1)
	is "$tests" "$plan" "the log is read to its end"
}

# on CLIENT COMMAND...: on that client's machine.
on() {
	if [ "$1" = 1 ]; then
		"${@:2}"
	else
		guest-peer --node $(($1 + 1)) "${@:2}"
	fi
}
clients=1
[ "$RDMAFS_NODES" -lt 3 ] || clients=$((RDMAFS_NODES - 1))

# counter CLIENT KEY: of its mounts together.  NFS has none.
counter() {
	[ "$RDMAFS_FS" = rdmafs ] || { echo 0; return; }
	on "$1" sh -c 'cat /proc/fs/rdmafs/*:*/stats' | awk -v k="$2" '
		$1 == k { n += $2; found = 1 }
		END { if (found) print n }'
}
counted() { [ "$(counter "$1" "$2")" -gt "$3" ]; }
# counters KEY: of all clients together.
counters() {
	local c sum=0
	for ((c = 1; c <= clients; c++)); do
		sum=$((sum + $(counter $c "$1")))
	done
	echo $sum
}

# on_all COMMAND...: on all clients at a time.
on_all() {
	local c pids=() pid result=0
	for ((c = 1; c <= clients; c++)); do
		on $c "$@" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || result=1
	done
	return $result
}

# Every second time one request executes meanwhile, and so comes again: whosever it is, as all
# clients lose their connections.  Else one of them does, whatever it is at.  The caller counts in
# $lost_connections.
server_point() { guest-peer sh -c "echo $* >$points/points"; }
server_holds() { guest-peer grep -q "^req_run .* held [1-9]" "$points/points"; }
lose_connection() {
	local c held=$((lost_connections++ % 2)) who before=() result=0
	if [ $held = 1 ]; then
		mapfile -t who < <(seq $clients)
		server_point hold req_run && wait_for 60 server_holds || result=1
	else
		who=($((RANDOM % clients + 1)))
		sleep "$((RANDOM % 2)).$((RANDOM % 10))"
	fi
	for c in "${who[@]}"; do
		before[c]=$(counter "$c" reconnects)
		on "$c" sh -c "echo fail client_beat 1 0 >$points/points" || result=1
	done
	for c in "${who[@]}"; do
		wait_for 60 counted "$c" reconnects "${before[c]}" || result=1
	done
	[ $held = 0 ] || server_point release req_run || result=1
	return $result
}

# The server ends all sessions, and the clients have new ones.
end_session() {
	local before=() c
	for ((c = 1; c <= clients; c++)); do
		before[c]=$(counter $c session_resets)
	done
	# shellcheck disable=SC2016 # expanded there
	guest-peer bash -c 'for f in /proc/fs/rdmafs/client-*/abort; do echo 1 >$f; done'
	for ((c = 1; c <= clients; c++)); do
		wait_for 60 counted $c session_resets "${before[c]}" || return
	done
}

# The server's machine loses its power, and boots.
power_cycle() { guest-peer --kill && guest-peer --boot; }
