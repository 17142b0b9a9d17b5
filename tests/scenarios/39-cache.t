#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is kept in the client's cache after changes of its own, and what is not
# after those of others; where the change cookie is an i_version (tmpfs, ext4,
# btrfs) and where it is made from times (xfs).
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

for backing in tmpfs ext4 xfs btrfs; do
	[ "$scenario_scale" -eq 1 ] || [ "$backing" = tmpfs ] || [ "$backing" = xfs ] || continue
	scenario "$backing" --backing "$backing" --size 400M --mount-opts actimeo=600 -- cache
done
tap_done
