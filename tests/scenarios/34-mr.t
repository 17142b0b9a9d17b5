#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What I/O costs in messages and memory regions, and that what is idle holds none
# and what has ended leaves none.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario rxe -- mr
[ "$scenario_scale" != 1 ] || scenario recall -- recall
if [ "$scenario_kernel" = uml ]; then
	scenario siw --rdma siw -- mr cost large bursts
else
	leave_out siw "iWARP is tested in UML"
fi
tap_done
