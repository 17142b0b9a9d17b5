#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is changed while a client of the kernel's NFS server has a delegation of it.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs
scenario ext4 --backing ext4 --size 300M -- delegations
tap_done
