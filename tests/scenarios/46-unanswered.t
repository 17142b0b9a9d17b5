#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Calls whose answers are lost with the session: what was executed is not executed again, what was
# not is, and EIO says that nothing proves either.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario ext4 --backing ext4 -- unanswered.py
if [ "$scenario_scale" -eq 1 ]; then
	for backing in xfs btrfs; do
		scenario $backing --backing $backing --size 400M -- unanswered.py
	done
fi
tap_done
