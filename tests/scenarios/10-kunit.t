#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The KUnit suites, each case a test here. A suite that is missing, skips a case that
# is for its device, too, or runs none fails.
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd -P)
. "$top/tests/lib/tap.sh"

kernel=${RDMAFS_KERNEL:-uml}
if [ "$kernel" = debian ]; then
	echo "1..0 # SKIP Debian's kernel has no KUnit"
	exit 0
fi

# All that the sources have, but the one that needs a mount: 48-proofs.t runs that.
mapfile -t suites < <(sed -n 's/^\t\.name = "\(rdmafs_[a-z_]*\)",$/\1/p' "$top"/tests/kunit/*_kunit.c |
	grep -vx rdmafs_fs_proofs)
declared=$(cat "$top"/tests/kunit/*.c | grep -c '^kunit_test_suite\(s\)\?(')

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# run RDMA SKIPS [MODULE]...: a guest with this device runs them; cases may be left out for
# reasons that match. Cases are indented once; parameters of a case twice, suites not at all.
run() {
	local line failed=$tap_failed
	"$top/tests/guest/run" --kernel "$kernel" --rdma "$1" --timeout 600 -- \
		env "KUNIT_FILTER=${filter:-}" "$top/tests/scenarios/inside/kunit" "${@:3}" >"$log"
	status=$?
	while read -r line; do
		case $line in
		'ok '*SKIP*)
			[[ ${line#*SKIP } =~ $2 ]] || tap 1 "$1: ${line#ok * }" "skipped"
			;;
		'ok '*) tap 0 "$1: ${line#ok * }" ;;
		*) tap 1 "$1: ${line#not ok * }" ;;
		esac
	done < <(grep -E '^    (ok|not ok) ' "$log")
	if [ "$tap_failed" -gt "$failed" ]; then
		# What the modules say in cases that pass would leave no room for it.
		diag "$(grep -E -A8 'EXPECTATION|ASSERTION|not ok' "$log" | grep -v '^rdmafs: ' | tail -n 80)"
	fi
	is "$status" 0 "$1: the guest had nothing to report"
}

# 48-hostile has those that are for iWARP alone.
run rxe '^for iWARP alone$'
is "$((${#suites[@]} + 1))" "$declared" "every suite of the sources is known by its name"
for suite in "${suites[@]}"; do
	grep -qE "^ok [0-9]+ $suite\$" "$log"
	tap $? "suite $suite"
done

# What a live client and a live server do with each other, and with bare verbs; the
# hostile ones have siw in 48-hostile. The kernel with checkers is slow enough with one.
if [ "$kernel" = uml ]; then
	run siw iWARP xprt_loop
	filter='rdmafs_xprt_[ar]*' run siw iWARP xprt_hostile
	for suite in rdmafs_xprt_again rdmafs_xprt_recover rdmafs_xprt_requests; do
		grep -qE "^ok [0-9]+ $suite\$" "$log"
		tap $? "siw: suite $suite"
	done
fi
tap_done
