#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What goes wrong and must not go far: mounts that can't be, exports that say no,
# servers that stop, come back or do not, values that are none. Each ends with the
# right errno, in seconds, and a mount with one line that names the cause.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

if [ "$scenario_scale" -gt 1 ]; then
	scenario mount,server -- bad mounts exports quota unexport restart gone
else
	scenario mount -- bad mounts exports quota
	scenario server -- bad unexport restart gone
fi
scenario link --nodes 2 -- bad link
tap_done
