#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What clients can do that say what they like, with a server that serves an export.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"

only_on rdmafs
if [ "$scenario_kernel" = debian ]; then
	leave_out proofs "Debian's kernel has no KUnit"
else
	scenario proofs --backing ext4 --size 100M -- proofs
fi
tap_done
