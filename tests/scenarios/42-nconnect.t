#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# nconnect=N: a session over several connections, each of which carries its part,
# and all of which are made again when one of them goes.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario rxe --mount-opts nconnect=4 -- nconnect carry lose allow options leave
[ "$scenario_scale" = 1 ] || { tap_done; exit; }
scenario two --nodes 2 --mount-opts nconnect=4 -- nconnect carry lose
if [ "$scenario_kernel" = uml ]; then
	scenario siw --rdma siw --mount-opts nconnect=3 -- nconnect carry lose allow leave
	scenario two-siw --nodes 2 --rdma siw --mount-opts nconnect=4 -- nconnect carry again lose
else
	leave_out siw "iWARP is tested in UML"
fi
tap_done
