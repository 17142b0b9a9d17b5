#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Large directories and large trees, in requests: a listing takes as many as its replies are, and
# what looks at each file after it, or without it, takes none for each file.  20,000 names in one
# directory and 6,000 files in a hundred; the long form has a million, and 100,000 in a thousand.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

# Long names, so that the large directory is more than is kept of one.
scenario short --backing ext4 -- directories 20000 247 100 60
scenario ahead --backing ext4 -- ahead
# Where two CPUs are emulated it would take a day.
if [ "$scenario_scale" = 1 ] && [ "$scenario_kernel" = uml ]; then
	scenario long --backing xfs --size 3000M --mem 3000M --timeout 7200 -- \
		directories 1000000 7 1000 100
fi
tap_done
