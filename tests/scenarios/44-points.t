#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The test points themselves: who is held, for how long, and what fails.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario points -- points

# What a test has forgotten fails its guest, whatever the test says.
if [ "$scenario_kernel" = debian ]; then
	leave_out forgotten "no test points"
elif asked_for forgotten; then
	err=$(mktemp)
	out=$("$scenario_top/tests/guest/run" --kernel "$scenario_kernel" --rdma "$scenario_rdma" \
		-- "$scenario_top/tests/scenarios/inside/points" forget 2>"$err")
	is $? 125 "a thread that is left at a point fails the guest"
	like "$out" $'(^|\n)ok 2 - which is counted' "though the test has nothing to say against it"
	like "$(cat "$err")" 'guest failed: .*rdmafs_points: overdue: nobody has let go of req_run' "and says why"
	rm -f "$err"
fi
tap_done
