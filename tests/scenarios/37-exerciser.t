#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Random operations of every kind on one file, whose content is known: by one
# process, through two mounts in turn, directly alone, by several processes on
# pieces of their own, and appended to by several. A failure prints its seed.
#
# RDMAFS_SEED   first of the seeds (default 1)
# RDMAFS_SEEDS  how many, three times as many on tmpfs and ext4 (default 1); the short form has ext4
set -uo pipefail
. "$(dirname "$0")/../lib/scenario.sh"

seed=${RDMAFS_SEED:-1}
seeds=${RDMAFS_SEEDS:-1}
scenario ext4 --backing ext4 --size 600M -- exercise "$((seed + 100))" "$seeds"
[ "$scenario_scale" = 1 ] || { tap_done; exit; }
scenario tmpfs -- exercise "$seed" "$((3 * seeds))"
scenario ext4-more --backing ext4 --size 600M -- exercise "$((seed + 101))" "$((2 * seeds))"
scenario xfs --backing xfs --size 600M -- exercise "$((seed + 200))" "$seeds"
scenario btrfs --backing btrfs --size 600M -- exercise "$((seed + 300))" "$seeds"
tap_done
