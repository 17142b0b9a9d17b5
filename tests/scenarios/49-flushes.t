#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What was acknowledged is on the disk at each flush, whatever becomes of the machine then.
# With RDMAFS_FAULTS=1 (make check-faults) of five thousand operations on each file system
# that many use.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

systems="ext4-nojournal xfs" operations=90 limit=1800
[ "$scenario_scale" -gt 1 ] || systems="ext4 ext4-nojournal xfs btrfs f2fs ext2" operations=750
[ -z "${RDMAFS_FAULTS:-}" ] || operations=5000 limit=7200
for system in $systems; do
	case $system in
	f2fs | ext2) [ "$operations" -le 750 ] || operations=750 ;;
	esac
	scenario "$system" --size 1500M --mem 3500M --timeout $limit -- flushes.py "$system" $operations
done
tap_done
