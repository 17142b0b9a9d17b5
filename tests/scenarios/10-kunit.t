#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The KUnit suites, each case a test here. A suite that is missing, skips a case
# or runs none fails.
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd -P)
. "$top/tests/lib/tap.sh"

kernel=${RDMAFS_KERNEL:-uml}
if [ "$kernel" = debian ]; then
	echo "1..0 # SKIP Debian's kernel has no KUnit"
	exit 0
fi

suites=(
	rdmafs_client_coherence
	rdmafs_proto_codec
	rdmafs_proto_dirent
	rdmafs_proto_status
	rdmafs_regpolicy_admit
	rdmafs_regpolicy_class
	rdmafs_regpolicy_domain
	rdmafs_regpolicy_entitle
	rdmafs_regpolicy_fair
	rdmafs_regpolicy_idle
	rdmafs_regpolicy_lent
	rdmafs_regpolicy_quota
	rdmafs_regpolicy_wait
	rdmafs_xprt_again
	rdmafs_xprt_connstate
	rdmafs_xprt_binding
	rdmafs_xprt_cost
	rdmafs_xprt_frame
	rdmafs_xprt_hostile
	rdmafs_xprt_hostile_accept
	rdmafs_xprt_hostile_bind
	rdmafs_xprt_hostile_early
	rdmafs_xprt_hostile_limits
	rdmafs_xprt_hostile_live
	rdmafs_xprt_hostile_server
	rdmafs_xprt_loop
	rdmafs_xprt_qp
	rdmafs_xprt_recover
	rdmafs_xprt_reqstate
	rdmafs_xprt_requests
	rdmafs_xprt_send
	rdmafs_xprt_slot
	rdmafs_xprt_source
	rdmafs_xprt_state
)

log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$top/tests/guest/run" --kernel "$kernel" --timeout 600 -- \
	"$top/tests/scenarios/inside/kunit" >"$log"
status=$?

# Cases are indented once; parameters of a case twice, suites not at all.
while read -r line; do
	case $line in
	'ok '*SKIP*) tap 1 "${line#ok * }" "skipped" ;;
	'ok '*) tap 0 "${line#ok * }" ;;
	*) tap 1 "${line#not ok * }" ;;
	esac
done < <(grep -E '^    (ok|not ok) ' "$log")
for suite in "${suites[@]}"; do
	grep -qE "^ok [0-9]+ $suite\$" "$log"
	tap $? "suite $suite"
done
if [ "$tap_failed" -gt 0 ]; then
	diag "$(grep -E 'EXPECTATION|ASSERTION|Expected|not ok|rdmafs: ' "$log" | tail -n 60)"
fi
is "$status" 0 "the guest had nothing to report"
tap_done
