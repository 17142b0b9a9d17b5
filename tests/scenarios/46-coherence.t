#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two mounts of one export, and tasks that meet in the middle of things: what an
# open, a truncate, a hole, a rename or a store into a mapping may not do to data.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

# Only Debian's kernel has large folios, which the rest is too slow there for.
if [ "$scenario_kernel" = debian ] && [ "$scenario_scale" -gt 1 ]; then
	scenario bytes --backing ext4 --size 400M --mount-opts actimeo=600 -- coherence neighbours one_byte
	tap_done
	exit
fi
for backing in tmpfs ext4; do
	[ "$scenario_scale" = 1 ] || [ "$backing" = ext4 ] || continue
	scenario "$backing" --backing "$backing" --size 400M --mount-opts actimeo=600 -- coherence
done
# What the checkers see is the same on each.
if with_checkers && [ "$scenario_scale" -gt 1 ]; then
	tap_done
	exit
fi
# Whose i_version is of no use.
scenario xfs --backing xfs --size 400M --mount-opts actimeo=600 -- coherence cookie_first
# Numbers of objects, which btrfs counts in each subvolume anew.
scenario btrfs --backing btrfs --size 400M -- coherence subvolumes
tap_done
