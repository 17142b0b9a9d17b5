#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A server whose replies are not sound: what its clients make of them.
# RDMAFS_SEED   which lies it tells (default: others each time; printed)
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"

only_on rdmafs
# Every name and every attribute is asked for.
scenario unsound --backing ext4 --size 400M --mount-opts actimeo=0 -- \
	unsound ${RDMAFS_SEED:+"$RDMAFS_SEED"}
tap_done
