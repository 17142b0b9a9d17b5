#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A file system that is frozen, as it is for a snapshot, is felt by those who use it,
# and by nobody else on the same server, nor on the same RNIC.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario ext4 --backing ext4 -- frozen
[ "$scenario_scale" -ne 1 ] || scenario xfs --backing xfs -- frozen
scenario sinks --backing ext4 -- sinks
tap_done
