#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Who had locks when the export or its server ended takes them again before others get any: the
# grace period, how it ends, and the records of who had locks.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario ext4 --backing ext4 --size 400M -- grace local
# Guests in QEMU are two at most.
[[ $scenario_kernel != uml* ]] ||
	scenario two-clients --nodes 3 --disks file --backing ext4 --size 400M -- grace power
tap_done
