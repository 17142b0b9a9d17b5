#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is granted and not used comes back when somebody waits, at once and together.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

if [ "$scenario_kernel" = debian ]; then
	leave_out rxe "no test points"
else
	scenario rxe -- lent
fi
tap_done
