#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Serial round trips, counted with a clock: two nodes, 20 ms each way, one
# operation at a time, so that its latency divided by 40 ms is their number. And
# what overlaps with what, with registration and service made long.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"

scenario 20ms --nodes 2 --net-delay 20ms -- roundtrips
if [ "$scenario_fs" = rdmafs ]; then
	scenario overlap -- overlap
	# A slow kernel's own time has to be little beside it.
	ms=10
	[ "$scenario_kernel" = uml ] || ms=100
	scenario overlap-write --nodes 2 --net-delay ${ms}ms -- overlap $ms
fi
tap_done
