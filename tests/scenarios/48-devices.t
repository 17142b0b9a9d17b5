#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# There is less than there was, or than there should be: slots of a server that comes back,
# room for a device's mappings.  And what is only known of a device by measuring it.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario slots -- slots
[ "$scenario_scale" != 1 ] || scenario "slots, two connections" --mount-opts nconnect=2 -- slots
scenario mappings -- mappings
# Where there are checkers the long form alone has it.
if with_checkers && [ "$scenario_scale" != 1 ]; then
	leave_out message "it takes times, which checkers spoil"
else
	scenario message -- message
fi
if [ "$scenario_kernel" = uml ]; then
	scenario "message, siw" --rdma siw -- message
else
	leave_out "message, siw" "iWARP is tested in UML"
fi
tap_done
