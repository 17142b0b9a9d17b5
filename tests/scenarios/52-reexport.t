#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A mount that the kernel's NFS server exports again, and its NFS clients.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs
scenario ext4 --backing ext4 --size 300M -- reexport
# Its handles are the longest, and NFSv3 has room for just that many bytes.
[ "$scenario_scale" -gt 1 ] || scenario btrfs --backing btrfs --size 400M -- reexport
tap_done
