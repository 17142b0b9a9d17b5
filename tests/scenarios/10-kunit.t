#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The KUnit suites, each case a test here. A suite that is missing, skips a case that
# is not for iWARP alone, or runs none fails.
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
"$top/tests/guest/run" --kernel "$kernel" --timeout 600 -- \
	"$top/tests/scenarios/inside/kunit" >"$log"
status=$?

# Cases are indented once; parameters of a case twice, suites not at all.
while read -r line; do
	case $line in
	# 48-hostile has those, on siw.
	'ok '*'SKIP for iWARP alone') ;;
	'ok '*SKIP*) tap 1 "${line#ok * }" "skipped" ;;
	'ok '*) tap 0 "${line#ok * }" ;;
	*) tap 1 "${line#not ok * }" ;;
	esac
done < <(grep -E '^    (ok|not ok) ' "$log")
is "$((${#suites[@]} + 1))" "$declared" "every suite of the sources is known by its name"
for suite in "${suites[@]}"; do
	grep -qE "^ok [0-9]+ $suite\$" "$log"
	tap $? "suite $suite"
done
if [ "$tap_failed" -gt 0 ]; then
	# What the modules say in cases that pass would leave no room for it.
	diag "$(grep -E -A8 'EXPECTATION|ASSERTION|not ok' "$log" | grep -v '^rdmafs: ' | tail -n 80)"
fi
is "$status" 0 "the guest had nothing to report"
tap_done
