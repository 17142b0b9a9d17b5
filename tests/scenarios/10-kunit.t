#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The KUnit suites, each case a test here. A suite that is missing, skips a case that
# is for its device, too, or runs none fails, and so does one that has planned more cases than
# there are.
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd -P)
. "$top/tests/lib/tap.sh"

kernel=${RDMAFS_KERNEL:-uml}
if [ "$kernel" = debian ]; then
	echo "1..0 # SKIP Debian's kernel has no KUnit"
	exit 0
fi

# All that the sources have, but the six that need a mount: 48-proofs.t runs those.
mapfile -t suites < <(sed -n 's/^\t\.name = "\(rdmafs_[a-z_]*\)",$/\1/p' "$top"/tests/kunit/*_kunit.c |
	grep -vxE 'rdmafs_fs_(idmap|labels|locks|order|proofs|reclaim)')
declared=$(cat "$top"/tests/kunit/*.c | grep -c '^kunit_test_suite\(s\)\?(')

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# run RDMA SKIPS [MODULE]...: a guest with this device runs them; cases, and parameters of
# cases, may be left out for reasons that match. Cases are indented once; parameters of a case
# twice, suites not at all. Of a case that ran with one parameter KUnit says that it passed.
run() {
	local line planned failed=$tap_failed
	"$top/tests/guest/run" --kernel "$kernel" --rdma "$1" --timeout 1200 -- \
		env "KUNIT_FILTER=${filter:-}" "$top/tests/scenarios/inside/kunit" "${@:3}" >"$log"
	status=$?
	while IFS= read -r line; do
		case $line in
		'    '*'ok '*SKIP*)
			if [[ ${line#*SKIP } =~ $2 ]]; then
				line=${line#*ok * }
				tap_skip "$1: ${line%% #*}" "${line#*SKIP }"
			else
				tap 1 "$1: ${line#*ok * }" "skipped"
			fi
			;;
		'        '*) ;;
		'    ok '*) tap 0 "$1: ${line#*ok * }" ;;
		*) tap 1 "$1: ${line#*not ok * }" ;;
		esac
	done < <(grep -E '^ {4}( {4})?(ok|not ok) ' "$log")
	if [ "$tap_failed" -gt "$failed" ]; then
		# What the modules say in cases that pass would leave no room for it.
		diag "$(grep -E -A8 'EXPECTATION|ASSERTION|not ok' "$log" | grep -v '^rdmafs: ' | tail -n 80)"
	fi
	planned=$(sed -nE 's/^ {4}1\.\.([0-9]+)$/\1+/p' "$log" | tr -d '\n')
	is "$(grep -cE '^ {4}(ok|not ok) [0-9]+ ' "$log")" "$((${planned}0))" "$1: as many cases as are planned"
	is "$status" 0 "$1: the guest had nothing to report"
}

# ran RDMA SUITE...: they did, and all was well.
ran() {
	local suite
	for suite in "${@:2}"; do
		grep -qE "^ok [0-9]+ $suite\$" "$log"
		tap $? "$1: suite $suite"
	done
}

run rxe '^for iWARP alone$'
is "$((${#suites[@]} + 6))" "$declared" "every suite of the sources is known by its name"
ran rxe "${suites[@]}"

# What a live client and a live server do with each other, and with bare verbs; the
# hostile ones have siw in 48-hostile. The kernel with checkers is slow enough with one.
if [ "$kernel" = uml ]; then
	run siw iWARP xprt_loop
	ran siw rdmafs_xprt_loop
	filter='rdmafs_xprt_[afr]*' run siw iWARP xprt_hostile
	ran siw rdmafs_xprt_again rdmafs_xprt_fuzz rdmafs_xprt_fuzz_replies rdmafs_xprt_recover \
		rdmafs_xprt_requests
else
	tap_skip siw "iWARP is tested in UML"
fi
tap_done
