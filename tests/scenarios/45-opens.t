#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is open stays open: over the end of its session, a restart of the server, and
# the loss of the file's last name, also while the server does not know of it.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"

only_on rdmafs
# Nothing is seen because it has expired.
scenario ext4 --backing ext4 --size 300M --mount-opts actimeo=600 -- opens proofs orphans forgotten tmpfile identity limits
scenario tmpfs --backing tmpfs --size 100M --mount-opts actimeo=600 -- opens orphans forgotten tmpfile
if [ "$scenario_scale" -eq 1 ]; then
	scenario xfs --backing xfs --size 400M --mount-opts actimeo=600 -- opens orphans forgotten tmpfile
	scenario btrfs --backing btrfs --size 400M --mount-opts actimeo=600 -- opens orphans forgotten tmpfile
fi
tap_done
