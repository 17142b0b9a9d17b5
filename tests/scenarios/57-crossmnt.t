#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# File systems that are mounted below an export: tmpfs and ext4 in ext4, and subvolumes of btrfs.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario ext4 --backing ext4 --size 300M -- crossmnt
scenario btrfs --backing btrfs --size 400M -- crossmnt t_devices t_nested t_handles t_subvolumes
tap_done
