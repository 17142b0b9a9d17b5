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
# With lockdep UML's own network driver is reported now and then when it comes up.
[ "$scenario_kernel" != uml ] || scenario stopped --nodes 2 -- policy.py stopped
tap_done
