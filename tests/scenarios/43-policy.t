#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Mounts that share an RNIC: quotas, shares by weight, revocation, what is split,
# what is changed under load, overdue answers.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario rxe -- policy.py
# The short form has it where two machines are cheap.
[ "$scenario_kernel" != uml ] && [ "$scenario_scale" -gt 1 ] ||
	scenario stopped --nodes 2 -- policy.py stopped
tap_done
