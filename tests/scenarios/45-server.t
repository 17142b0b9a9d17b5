#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What a server allows, bounds and promises: limits of its ports; changes are on
# stable storage when they are answered, and nothing else is written for them.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario limits -- server limits policy rights access squashed closing overlay
scenario settings -- server settings
scenario leases -- leases.py
for type in ext4-nojournal ext4 xfs btrfs; do
	[ "$scenario_scale" -eq 1 ] || [ "$type" = ext4-nojournal ] || continue
	scenario "durable $type" -- durable "$type"
done
tap_done
