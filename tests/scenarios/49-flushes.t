#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What was acknowledged is on the disk at each flush, whatever becomes of the machine then.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

systems="ext4-nojournal xfs" calls=60
[ "$scenario_scale" -gt 1 ] || systems="ext4 ext4-nojournal xfs btrfs f2fs ext2" calls=500
for system in $systems; do
	scenario "$system" --size 1500M --mem 3500M -- flushes.py "$system" $calls
done
tap_done
