#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Mounts that share an RNIC: quotas, shares by weight, revocation, what is split,
# what is changed under load, overdue answers.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

# The short form has both where a GiB of READs, and two machines, are cheap.
if [ "$scenario_kernel" != uml ] && [ "$scenario_scale" -gt 1 ]; then
	scenario rxe -- policy.py --without shares
else
	scenario rxe -- policy.py
	scenario stopped --nodes 2 -- policy.py stopped
fi
tap_done
